# cython: language_level=3, boundscheck=False, wraparound=False
"""Calls of Fortran routines by their address, once for each problem of a batch.

A Fortran routine takes addresses alone, and after them the lengths of its character arguments.
"""

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uintptr_t

cnp.import_array()

# Arguments in excess are not seen, as the caller removes what it has passed. A 1 is the length of a character.
cdef extern from *:
    """
    #include <stdint.h>
    #define MOST_ARGUMENTS 20
    typedef uintptr_t at;
    typedef void (*routine)(at, at, at, at, at, at, at, at, at, at, at, at, at, at, at, at, at, at, at, at);
    static void call_routine(at address, const at *p) {
        ((routine) address)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12],
                            p[13], p[14], p[15], p[16], p[17], p[18], p[19]);
    }
    """
    enum:
        MOST_ARGUMENTS
    void call_routine(uintptr_t address, const uintptr_t *arguments) noexcept nogil


def capsule_address(capsule) -> int:
    """The address of a function in a capsule, such as those of `scipy.linalg.cython_lapack`."""
    return <uintptr_t> PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))


def call_for_each(uintptr_t address, Py_ssize_t count, bint has_wide_integers, arguments) -> None:
    """Call a routine `count` times.

    Args:
        address: where the routine is.
        count: how many problems there are.
        has_wide_integers: whether the routine's integers have 64 bits, and not 32.
        arguments: characters, integers, arrays. An array whose first dimension has size `count` gives its i-th
            part to the i-th call; all calls share any other. What the routine writes to is the caller's to have
            made large enough.

    Raises:
        OverflowError: an integer is too large for the routine.
        ValueError: there are too many arguments.
    """
    cdef uintptr_t passed[MOST_ARGUMENTS]
    cdef Py_ssize_t strides[MOST_ARGUMENTS]
    cdef int64_t wide[MOST_ARGUMENTS]
    cdef int32_t narrow[MOST_ARGUMENTS]
    cdef char characters[MOST_ARGUMENTS]
    cdef Py_ssize_t used = len(arguments), position = 0, problem
    cdef cnp.ndarray array
    if used > MOST_ARGUMENTS - 4:
        raise ValueError(f"a routine has {used} arguments")
    for argument in arguments:
        strides[position] = 0
        if isinstance(argument, str):
            characters[position] = ord(argument)
            passed[position] = <uintptr_t> &characters[position]
        elif isinstance(argument, int) and has_wide_integers:
            wide[position] = argument
            passed[position] = <uintptr_t> &wide[position]
        elif isinstance(argument, int):
            narrow[position] = argument
            passed[position] = <uintptr_t> &narrow[position]
        else:
            array = argument
            passed[position] = <uintptr_t> cnp.PyArray_DATA(array)
            if cnp.PyArray_NDIM(array) > 0 and cnp.PyArray_DIM(array, 0) == count:
                strides[position] = cnp.PyArray_STRIDE(array, 0)
        position += 1
    for position in range(used, MOST_ARGUMENTS):
        passed[position] = 1
    with nogil:
        for problem in range(count):
            call_routine(address, passed)
            for position in range(used):
                passed[position] += strides[position]
