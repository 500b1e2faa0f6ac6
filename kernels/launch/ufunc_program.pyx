# cython: language_level=3, boundscheck=False, wraparound=False
"""Programs that run loops of NumPy's on one row after another: `ufunc_program.h`.

Such a program needs no compiler. Its results have the bits that the same functions of NumPy give on whole arrays.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t

import numpy as np

cdef extern from "ufunc_program.h":
    ctypedef void (*RowLoop)(char **, const cnp.npy_intp *, const cnp.npy_intp *, void *) noexcept nogil
    enum:
        ROW_ARRAYS
        ROW_MOST_VALUES
        ROW_SCRATCH_BYTES
        ROW_SCRATCH
        ROW_CONSTANT
        ROW_APPLY
        ROW_FOLD
        ROW_REDUCE
        ROW_GREATEST
        ROW_LEAST

    void row_program(int64_t task, void *closure) noexcept nogil
    RowLoop row_sum_f32, row_sum_f64
    RowLoop row_f32_to_f64, row_f64_to_f32, row_i32_to_f32, row_i32_to_f64, row_i8_to_f32, row_i8_to_i32
    RowLoop row_copy_8, row_copy_16, row_copy_32, row_copy_64
    RowLoop row_choice_8, row_choice_16, row_choice_32, row_choice_64

ARRAYS = ROW_ARRAYS
"""How many pointers come before a program; where it takes fewer arrays, any fill the rest."""
MOST_VALUES = ROW_MOST_VALUES
SCRATCH_BYTES = ROW_SCRATCH_BYTES
SCRATCH, CONSTANT = ROW_SCRATCH, ROW_CONSTANT
APPLY, FOLD, REDUCE, GREATEST, LEAST = ROW_APPLY, ROW_FOLD, ROW_REDUCE, ROW_GREATEST, ROW_LEAST

cdef dict _FOLDS = {
    (np.add, "f4"): <size_t>row_sum_f32,
    (np.add, "f8"): <size_t>row_sum_f64,
}
cdef dict _CASTS = {
    ("f4", "f8"): <size_t>row_f32_to_f64,
    ("f8", "f4"): <size_t>row_f64_to_f32,
    ("i4", "f4"): <size_t>row_i32_to_f32,
    ("i4", "f8"): <size_t>row_i32_to_f64,
    ("b1", "f4"): <size_t>row_i8_to_f32,
    ("b1", "i4"): <size_t>row_i8_to_i32,
}
cdef dict _COPIES = {
    1: <size_t>row_copy_8, 2: <size_t>row_copy_16, 4: <size_t>row_copy_32, 8: <size_t>row_copy_64,
}
cdef dict _CHOICES = {
    1: <size_t>row_choice_8, 2: <size_t>row_choice_16, 4: <size_t>row_choice_32, 8: <size_t>row_choice_64,
}


def address():
    """The address of the task that runs a program, for `native.Launch`."""
    return <size_t>row_program


def loop_of(cnp.ufunc function, tuple dtypes):
    """The address of a ufunc's loop on operands and results of these types, and of the loop's data; None where it has
    no such loop."""
    cdef int number, place
    cdef list numbers = [dtype.num for dtype in dtypes]
    if len(numbers) != function.nargs:
        return None
    for number in range(function.ntypes):
        for place in range(function.nargs):
            if function.types[number * function.nargs + place] != numbers[place]:
                break
        else:
            if function.functions[number] == NULL:
                return None
            return <size_t>function.functions[number], <size_t>function.data[number]
    return None


def fold_of(cnp.ufunc function, dtype):
    """The same for a ufunc that folds pairs of values, by the quickest loop."""
    address = _FOLDS.get((function, dtype.str[1:]))
    return loop_of(function, (dtype, dtype, dtype)) if address is None else (address, 0)


def cast_of(source, target):
    """The address of the loop that converts elements as NumPy does; None where there is none."""
    if source == target:
        return _COPIES.get(source.itemsize)
    return _CASTS.get((source.str[1:], target.str[1:]))


def choice_of(dtype):
    """The address of the loop that chooses elements by booleans; None where there is none."""
    return _CHOICES.get(np.dtype(dtype).itemsize)
