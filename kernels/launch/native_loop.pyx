# cython: language_level=3, boundscheck=False, wraparound=False
"""Calls of a loop's native code on the arrays that it carries.

Such code is `int64 loop(void **state, void **captured, int64 most_steps)`: it reads the carried values and leaves
the last ones in their memory, and returns 1 while steps are left to do, otherwise 0. Behind `captured` stands
memory that it works in. It does the whole loop, or one of the parts into which that is cut.
"""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t

from time import perf_counter

from .native import run_in_order

cnp.import_array()

include "aligned_memory.pxi"

ctypedef int64_t (*Loop)(void **, void **, int64_t) noexcept nogil

cdef enum:
    MOST_POINTERS = 64

cdef int64_t _MOST_STEPS = <int64_t>1 << 40


# A part's pointers are those of the carried values, of the captured ones, and of its memory to work in.
cdef struct Round:
    Loop function
    void **pointers
    int64_t carried, pointers_a_part, steps, goes_on


cdef void run_part(int64_t part, void *closure) noexcept nogil:
    """Some steps of one part. All parts do the same steps."""
    cdef Round *round = <Round *>closure
    cdef void **state = round.pointers + part * round.pointers_a_part
    cdef int64_t goes_on = round.function(state, state + round.carried, round.steps)
    if part == 0:
        round.goes_on = goes_on


cdef class Parts:
    """Into what parts a loop is cut.

    Args:
        count: how many there are.
        rows: of one; behind the captured values a part is given the number of its first row.
        distances: for each carried value the bytes between the parts' memory: 0 where all have the same, None where
            each has the whole in memory of its own.
        seconds: what a step of all parts takes on one thread, about.
        threads: most threads to use; None: all.
    """

    cdef int64_t count, rows
    cdef tuple distances
    cdef double seconds
    cdef object threads

    def __cinit__(self, int64_t count, int64_t rows, tuple distances, double seconds, threads):
        self.count, self.rows, self.distances = count, rows, distances
        self.seconds, self.threads = seconds, threads


cdef class LoopFunction:
    """One loop's native code.

    Args:
        address: of the code.
        unchanged: for each carried value whether all steps hand on what they got, so that it is only read.
        needed: bytes of memory that it works in.
        first_steps: how many steps the first of a call's runs of native code does.
        seconds: about how long such a run lasts at most: between two of them a signal can stop the loop.
        parts: where the code does one part of the loop.
    """

    cdef Loop function
    cdef tuple unchanged
    cdef int64_t needed, first_steps
    cdef double seconds
    cdef Parts parts

    def __cinit__(
        self, size_t address, tuple unchanged, int64_t needed, int64_t first_steps, double seconds, Parts parts=None
    ):
        self.function = <Loop>address
        self.unchanged = unchanged
        self.needed = needed + -needed % KEPT_ALIGNMENT
        self.first_steps = first_steps
        self.seconds = seconds
        self.parts = parts

    def __call__(self, values, captured, count_steps, out=None):
        """The values that the loop ends with, a tuple.

        Args:
            values: the arrays that it starts with.
            captured: the arrays that it uses beside them.
            count_steps: called with the number of steps after each run that leaves some to do.
            out: None, or for each carried value None or its array, C-contiguous, where that may be overwritten.
        """
        cdef Py_ssize_t carried = len(values), count = carried + len(captured), index
        cdef int64_t parts = 1 if self.parts is None else self.parts.count
        cdef AlignedMemory work = AlignedMemory(parts * self.needed) if self.needed else None
        cdef void *fixed[MOST_POINTERS]
        cdef void **pointers = fixed
        cdef Round round = Round(self.function, NULL, carried, count + 2, 0, 0)
        cdef list state = [], kept = []
        cdef cnp.ndarray array
        if len(self.unchanged) != carried:
            raise ValueError(f"carries {len(self.unchanged)} values, but got {carried}")
        if parts * round.pointers_a_part > MOST_POINTERS:
            pointers = <void **>PyMem_Malloc(parts * round.pointers_a_part * sizeof(void *))
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
            if self.parts is not None:
                self.enter_parts(pointers, state, count, kept)
            round.pointers = pointers
            self.run(&round, count_steps)
        finally:
            if pointers != fixed:
                PyMem_Free(pointers)
        return tuple(state)

    cdef int enter_parts(self, void **pointers, list state, Py_ssize_t count, list kept) except -1:
        """Enter the pointers of all parts, given those of a loop that is not cut; what they need is added to `kept`."""
        cdef int64_t part, number, rows = self.parts.rows
        cdef cnp.npy_intp parts = self.parts.count
        cdef cnp.ndarray firsts = cnp.PyArray_EMPTY(1, &parts, cnp.NPY_INT64, 0)
        cdef cnp.ndarray array
        cdef void **own
        cdef char *work = <char *>pointers[count]
        kept.append(firsts)
        for part in range(parts):
            own = pointers + part * (count + 2)
            (<int64_t *>cnp.PyArray_DATA(firsts))[part] = part * rows
            for number in range(count):
                own[number] = pointers[number]
                distance = self.parts.distances[number] if number < len(state) else 0
                if distance is not None:
                    own[number] = <char *>pointers[number] + part * <int64_t>distance
                elif part > 0:
                    array = cnp.PyArray_NewCopy(state[number], cnp.NPY_CORDER)
                    kept.append(array)
                    own[number] = cnp.PyArray_DATA(array)
            own[count] = <int64_t *>cnp.PyArray_DATA(firsts) + part
            own[count + 1] = work + part * self.needed
        return 0

    cdef int run(self, Round *round, object count_steps) except -1:
        cdef double start
        round.steps = self.first_steps
        while True:
            start = perf_counter()
            if self.parts is None:
                with nogil:
                    run_part(0, round)
            else:
                seconds = self.parts.seconds * round.steps
                run_in_order(<size_t>&run_part, <size_t>round, self.parts.count, seconds, self.parts.threads)
            if not round.goes_on:
                return 0
            PyErr_CheckSignals()
            count_steps(round.steps)
            if perf_counter() - start < self.seconds / 2 and round.steps < _MOST_STEPS:
                round.steps *= 2
