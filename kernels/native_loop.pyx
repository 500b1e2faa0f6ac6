# cython: language_level=3, boundscheck=False, wraparound=False
"""Calls of a loop's native code on the arrays that it carries.

Such code is `int64 loop(void **state, void **captured, int64 most_steps)`: it reads the carried values and leaves
the last ones in their memory, and returns 1 while steps are left to do, otherwise 0. Behind `captured` stands
memory that it works in.
"""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t

from time import perf_counter

cnp.import_array()

include "aligned_memory.pxi"

ctypedef int64_t (*Loop)(void **, void **, int64_t) noexcept nogil

cdef enum:
    MOST_POINTERS = 64

cdef int64_t _MOST_STEPS = <int64_t>1 << 40


cdef class LoopFunction:
    """One loop's native code.

    Args:
        address: of the code.
        unchanged: for each carried value whether all steps hand on what they got, so that it is only read.
        needed: bytes of memory that it works in.
        first_steps: how many steps the first of a call's runs of native code does.
        seconds: about how long such a run lasts at most: between two of them a signal can stop the loop.
    """

    cdef Loop function
    cdef tuple unchanged
    cdef int64_t needed, first_steps
    cdef double seconds

    def __cinit__(self, size_t address, tuple unchanged, int64_t needed, int64_t first_steps, double seconds):
        self.function = <Loop>address
        self.unchanged = unchanged
        self.needed = needed
        self.first_steps = first_steps
        self.seconds = seconds

    def __call__(self, values, captured, count_steps, out=None):
        """The values that the loop ends with, a tuple.

        Args:
            values: the arrays that it starts with.
            captured: the arrays that it uses beside them.
            count_steps: called with the number of steps after each run that leaves some to do.
            out: None, or for each carried value None or its array, C-contiguous, where that may be overwritten.
        """
        cdef Py_ssize_t carried = len(values), count = carried + len(captured), index
        cdef AlignedMemory work = AlignedMemory(self.needed) if self.needed else None
        cdef void *fixed[MOST_POINTERS]
        cdef void **pointers = fixed
        cdef list state = [], kept = []
        cdef cnp.ndarray array
        if len(self.unchanged) != carried:
            raise ValueError(f"carries {len(self.unchanged)} values, but got {carried}")
        if count + 1 > MOST_POINTERS:
            pointers = <void **>PyMem_Malloc((count + 1) * sizeof(void *))
            if pointers == NULL:
                raise MemoryError
        try:
            for index in range(carried):
                array = <cnp.ndarray?>values[index]
                if not self.unchanged[index]:
                    if out is None or out[index] is None:
                        array = cnp.PyArray_NewCopy(array, cnp.NPY_CORDER)
                elif not cnp.PyArray_ISCARRAY_RO(array):
                    array = cnp.PyArray_NewCopy(array, cnp.NPY_CORDER)
                state.append(array)
                pointers[index] = cnp.PyArray_DATA(array)
            for index in range(count - carried):
                array = <cnp.ndarray?>captured[index]
                if not cnp.PyArray_ISCARRAY_RO(array):
                    array = cnp.PyArray_NewCopy(array, cnp.NPY_CORDER)
                    kept.append(array)
                pointers[carried + index] = cnp.PyArray_DATA(array)
            pointers[count] = NULL if work is None else work.memory
            self.run(pointers, pointers + carried, count_steps)
        finally:
            if pointers != fixed:
                PyMem_Free(pointers)
        return tuple(state)

    cdef int run(self, void **state, void **captured, object count_steps) except -1:
        cdef int64_t steps = self.first_steps, goes_on
        cdef double start
        while True:
            start = perf_counter()
            with nogil:
                goes_on = self.function(state, captured, steps)
            if not goes_on:
                return 0
            PyErr_CheckSignals()
            count_steps(steps)
            if perf_counter() - start < self.seconds / 2 and steps < _MOST_STEPS:
                steps *= 2
