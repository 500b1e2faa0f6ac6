# cython: language_level=3, boundscheck=False, wraparound=False
"""Ufunc programs, which run NumPy's inner loops on one row after another: `ufunc_program.h`.

Such a program needs no compiler. Its results have the bits that the same functions of NumPy give on whole arrays.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t

import numpy as np

from .ufunc_loops import loop_of

cdef extern from "ufunc_program.h":
    ctypedef void (*UfuncLoop)(char **, const cnp.npy_intp *, const cnp.npy_intp *, void *) noexcept nogil
    enum:
        PROGRAM_ARRAYS
        PROGRAM_MAX_VALUES
        PROGRAM_SCRATCH_BYTES
        PROGRAM_SCRATCH
        PROGRAM_CONSTANT
        PROGRAM_APPLY
        PROGRAM_TREE_REDUCE
        PROGRAM_REDUCE
        PROGRAM_MAXIMUM
        PROGRAM_MINIMUM

    void ufunc_program(int64_t task, void *closure) noexcept nogil
    UfuncLoop loop_sum_f32, loop_sum_f64
    UfuncLoop loop_f32_to_f64, loop_f64_to_f32, loop_i32_to_f32, loop_i32_to_f64, loop_i8_to_f32, loop_i8_to_i32
    UfuncLoop loop_copy_8, loop_copy_16, loop_copy_32, loop_copy_64
    UfuncLoop loop_select_8, loop_select_16, loop_select_32, loop_select_64

ARRAYS = PROGRAM_ARRAYS
"""The number of pointers before a program; those beyond its arrays are unused."""
MAX_VALUES = PROGRAM_MAX_VALUES
SCRATCH_BYTES = PROGRAM_SCRATCH_BYTES
SCRATCH, CONSTANT = PROGRAM_SCRATCH, PROGRAM_CONSTANT
APPLY, TREE_REDUCE, REDUCE = PROGRAM_APPLY, PROGRAM_TREE_REDUCE, PROGRAM_REDUCE
MAXIMUM, MINIMUM = PROGRAM_MAXIMUM, PROGRAM_MINIMUM

cdef dict _PAIRWISE_LOOPS = {
    (np.add, "f4"): <size_t>loop_sum_f32,
    (np.add, "f8"): <size_t>loop_sum_f64,
}
cdef dict _CAST_LOOPS = {
    ("f4", "f8"): <size_t>loop_f32_to_f64,
    ("f8", "f4"): <size_t>loop_f64_to_f32,
    ("i4", "f4"): <size_t>loop_i32_to_f32,
    ("i4", "f8"): <size_t>loop_i32_to_f64,
    ("b1", "f4"): <size_t>loop_i8_to_f32,
    ("b1", "i4"): <size_t>loop_i8_to_i32,
}
cdef dict _COPY_LOOPS = {
    1: <size_t>loop_copy_8, 2: <size_t>loop_copy_16, 4: <size_t>loop_copy_32, 8: <size_t>loop_copy_64,
}
cdef dict _SELECT_LOOPS = {
    1: <size_t>loop_select_8, 2: <size_t>loop_select_16, 4: <size_t>loop_select_32, 8: <size_t>loop_select_64,
}

cdef set _OWN_LOOPS = {*_CAST_LOOPS.values(), *_COPY_LOOPS.values(), *_SELECT_LOOPS.values()}


def address():
    """The address of the task that runs a program, for `native.Launch`."""
    return <size_t>ufunc_program


def is_own_loop(size_t address):
    """Whether an address is that of a loop of this module, which reads an element before it writes that one."""
    return address in _OWN_LOOPS


def pairwise_loop_of(function, dtype):
    """The addresses for a ufunc that combines pairs of values in a reduction, of the fastest loop."""
    address = _PAIRWISE_LOOPS.get((function, dtype.str[1:]))
    return loop_of(function, (dtype, dtype, dtype)) if address is None else (address, 0)


def cast_loop_of(source, target):
    """The address of the loop that converts elements as NumPy does; None where there is none."""
    if source == target:
        return _COPY_LOOPS.get(source.itemsize)
    return _CAST_LOOPS.get((source.str[1:], target.str[1:]))


def select_loop_of(dtype):
    """The address of the loop of `select`; None where there is none."""
    return _SELECT_LOOPS.get(np.dtype(dtype).itemsize)
