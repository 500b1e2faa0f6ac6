# cython: language_level=3, boundscheck=False, wraparound=False
"""Calls of the native code of a `while` on the arrays that it carries.

The code is `int64 loop(void **state, void **captured, int64 max_iterations)`: it updates the carried values in place,
and returns 1 while iterations are left, otherwise 0. The pointer after the captured values is its workspace. It runs
the whole loop, or one shard of it.

Code of a whole loop gets the address of a `Monitor` after its workspace. It calls the monitor's function now and then
in inner loops that may run long, and returns 2 at once if that does not return 0, or if an operation that it calls
(`native.LoopCall`) has set an exception.
"""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals, PyErr_Occurred
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t

from time import perf_counter

from .native import run_in_order

cnp.import_array()

include "aligned_memory.pxi"

ctypedef int64_t (*Loop)(void **, void **, int64_t) noexcept nogil

cdef enum:
    MAX_POINTERS = 64

cdef int64_t _MAX_ITERATIONS = <int64_t>1 << 40


# Inner loops call `check` with the number of iterations since the last call.
cdef struct Monitor:
    int64_t (*check)(Monitor *, int64_t) noexcept nogil
    void *count_iterations
    void *errors


cdef int64_t check_inner_loop(Monitor *monitor, int64_t iterations) noexcept nogil:
    """Handle signals and count iterations; returns whether the loop is to stop, with the reason in `errors`."""
    with gil:
        try:
            PyErr_CheckSignals()
            (<object>monitor.count_iterations)(iterations)
            return 0
        except BaseException as error:
            (<list>monitor.errors).append(error)
            return 1


# The pointers of a shard: carried values, captured values, first row, workspace.
cdef struct LoopRun:
    Loop function
    void **pointers
    int64_t carried, pointers_per_shard, iterations, is_unfinished


cdef void run_shard(int64_t shard, void *closure) noexcept nogil:
    """Run some iterations of one shard, or those until it ends."""
    cdef LoopRun *loop_run = <LoopRun *>closure
    cdef void **state = loop_run.pointers + shard * loop_run.pointers_per_shard
    cdef int64_t is_unfinished = loop_run.function(state, state + loop_run.carried, loop_run.iterations)
    if is_unfinished:
        loop_run.is_unfinished = is_unfinished


cdef class LoopShards:
    """How a loop is sharded.

    Args:
        count: the number of shards.
        rows: of a shard; the argument after the captured values is the number of the shard's first row.
        shard_strides: for each carried value the bytes between the shards' memory: 0 where they share it, None where
            each has a copy of the whole value.
        seconds: estimated duration of an iteration of all shards on one thread.
        threads: maximum number of threads; None: all.
    """

    cdef int64_t count, rows
    cdef tuple shard_strides
    cdef double seconds
    cdef object threads

    def __cinit__(self, int64_t count, int64_t rows, tuple shard_strides, double seconds, threads):
        self.count, self.rows, self.shard_strides = count, rows, shard_strides
        self.seconds, self.threads = seconds, threads


cdef class NativeWhile:
    """The native code of a `while`.

    Args:
        address: of the code.
        is_invariant: for each carried value whether no iteration changes it, so that it is only read.
        workspace_bytes: size of the workspace.
        first_iterations: iterations of the first run of the code in a call.
        seconds: target duration of a run: between runs a signal can stop the loop.
        shards: how the loop is sharded; None: the code runs the whole loop.
    """

    cdef Loop function
    cdef tuple is_invariant
    cdef int64_t workspace_bytes, first_iterations
    cdef double seconds
    cdef LoopShards shards

    def __cinit__(
        self, size_t address, tuple is_invariant, int64_t workspace_bytes, int64_t first_iterations, double seconds,
        LoopShards shards=None,
    ):
        self.function = <Loop>address
        self.is_invariant = is_invariant
        self.workspace_bytes = workspace_bytes + -workspace_bytes % MEMORY_ALIGNMENT
        self.first_iterations = first_iterations
        self.seconds = seconds
        self.shards = shards

    def __call__(self, values, captured, count_iterations, out=None):
        """Return the final values of the loop, a tuple.

        Args:
            values: the initial values.
            captured: the captured values.
            count_iterations: called with the number of iterations after each run but the last.
            out: None, or for each carried value None or its array, C-contiguous, where that may be overwritten.
        """
        cdef Py_ssize_t carried = len(values), count = carried + len(captured), index
        cdef int64_t shards = 1 if self.shards is None else self.shards.count
        cdef AlignedMemory workspace = AlignedMemory(shards * self.workspace_bytes) if self.workspace_bytes else None
        cdef void *fixed[MAX_POINTERS]
        cdef void **pointers = fixed
        cdef LoopRun loop_run = LoopRun(self.function, NULL, carried, count + 2, 0, 0)
        cdef list state = [], temporaries = [], errors = []
        cdef Monitor monitor = Monitor(check_inner_loop, <void *>count_iterations, <void *>errors)
        cdef cnp.ndarray array
        if len(self.is_invariant) != carried:
            raise ValueError(f"carries {len(self.is_invariant)} values, but got {carried}")
        if shards * loop_run.pointers_per_shard > MAX_POINTERS:
            pointers = <void **>PyMem_Malloc(shards * loop_run.pointers_per_shard * sizeof(void *))
            if pointers == NULL:
                raise MemoryError
        try:
            for index in range(carried):
                array = <cnp.ndarray?>values[index]
                if not self.is_invariant[index]:
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
                    temporaries.append(array)
                pointers[carried + index] = cnp.PyArray_DATA(array)
            pointers[count] = NULL if workspace is None else workspace.memory
            pointers[count + 1] = &monitor
            if self.shards is not None:
                self.fill_shard_pointers(pointers, state, count, temporaries)
            loop_run.pointers = pointers
            self.run(&loop_run, count_iterations)
            if errors:
                raise errors[0]
        finally:
            if pointers != fixed:
                PyMem_Free(pointers)
        return tuple(state)

    cdef int fill_shard_pointers(self, void **pointers, list state, Py_ssize_t count, list temporaries) except -1:
        """Fill the pointers of all shards from those of the unsharded loop; arrays they need go to `temporaries`."""
        cdef int64_t shard, number, rows = self.shards.rows
        cdef cnp.npy_intp shards = self.shards.count
        cdef cnp.ndarray first_rows = cnp.PyArray_EMPTY(1, &shards, cnp.NPY_INT64, 0)
        cdef cnp.ndarray array
        cdef void **shard_pointers
        cdef char *workspace = <char *>pointers[count]
        temporaries.append(first_rows)
        for shard in range(shards):
            shard_pointers = pointers + shard * (count + 2)
            (<int64_t *>cnp.PyArray_DATA(first_rows))[shard] = shard * rows
            for number in range(count):
                shard_pointers[number] = pointers[number]
                stride = self.shards.shard_strides[number] if number < len(state) else 0
                if stride is not None:
                    shard_pointers[number] = <char *>pointers[number] + shard * <int64_t>stride
                elif shard > 0:
                    array = cnp.PyArray_NewCopy(state[number], cnp.NPY_CORDER)
                    temporaries.append(array)
                    shard_pointers[number] = cnp.PyArray_DATA(array)
            shard_pointers[count] = <int64_t *>cnp.PyArray_DATA(first_rows) + shard
            shard_pointers[count + 1] = workspace + shard * self.workspace_bytes
        return 0

    cdef int run(self, LoopRun *loop_run, object count_iterations) except -1:
        cdef double start
        loop_run.iterations = self.first_iterations
        while True:
            start = perf_counter()
            loop_run.is_unfinished = 0
            if self.shards is None:
                with nogil:
                    run_shard(0, loop_run)
            else:
                seconds = self.shards.seconds * loop_run.iterations
                run_in_order(<size_t>&run_shard, <size_t>loop_run, self.shards.count, seconds, self.shards.threads)
            if loop_run.is_unfinished != 1:
                return -1 if PyErr_Occurred() != NULL else 0
            PyErr_CheckSignals()
            count_iterations(loop_run.iterations)
            if perf_counter() - start < self.seconds / 2 and loop_run.iterations < _MAX_ITERATIONS:
                loop_run.iterations *= 2
