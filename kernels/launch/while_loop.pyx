# cython: language_level=3, boundscheck=False, wraparound=False
"""Calls of the native code of a `while` on the arrays that it carries.

The code is `int64 loop(void **state, void **captured, int64 max_iterations)`: it updates the carried values in place,
and returns 1 while iterations are left, otherwise 0. The pointer after the captured values is its workspace. It runs
the whole loop, or one shard of it. Shards that run one after the other share a workspace, so that there are as many as
threads: nothing stays there between two runs of the code.

Code of a whole loop gets the address of a `Monitor` after its workspace. It calls the monitor's function now and then
in inner loops that may run long, and returns 2 at once if that does not return 0, or if an operation that it calls
(`native.LoopCall`) has set an exception.
"""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals, PyErr_Occurred
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from time import perf_counter

from . import threads as _threads
from .native import run_in_order

cnp.import_array()

include "aligned_memory.pxi"
include "unique_reference.pxi"

cdef extern from *:
    """
    #if defined(__GNUC__)
    enum { SHARES_WORKSPACES = 1 };
    /* The number of a workspace that no other thread uses: there are as many as threads. */
    static int64_t take_workspace(uint8_t *are_taken, int64_t count) {
        for (int64_t number = 0;; number = (number + 1) % count)
            if (!__atomic_test_and_set(&are_taken[number], __ATOMIC_ACQUIRE)) return number;
    }
    static void return_workspace(uint8_t *is_taken) { __atomic_clear(is_taken, __ATOMIC_RELEASE); }
    #else
    enum { SHARES_WORKSPACES = 0 };
    static int64_t take_workspace(uint8_t *are_taken, int64_t count) { (void)are_taken; (void)count; return 0; }
    static void return_workspace(uint8_t *is_taken) { (void)is_taken; }
    #endif
    """
    enum:
        SHARES_WORKSPACES
    int64_t take_workspace(uint8_t *are_taken, int64_t count) noexcept nogil
    void return_workspace(uint8_t *is_taken) noexcept nogil

ctypedef int64_t (*Loop)(void **, void **, int64_t) noexcept nogil

cdef enum:
    MAX_POINTERS = 64
    # The task pool has no more threads.
    MAX_SHARED_WORKSPACES = 256

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


# The pointers of a shard: carried values, captured values, first row, workspace. Where shards share workspaces, these
# lie one after the other at `workspaces`; otherwise that is NULL.
cdef struct LoopRun:
    Loop function
    void **pointers
    int64_t carried, pointers_per_shard, iterations, is_unfinished
    char *workspaces
    int64_t workspace_bytes, workspace_count
    uint8_t[MAX_SHARED_WORKSPACES] are_taken


cdef void run_shard(int64_t shard, void *closure) noexcept nogil:
    """Run some iterations of one shard, or those until it ends."""
    cdef LoopRun *loop_run = <LoopRun *>closure
    cdef void **state = loop_run.pointers + shard * loop_run.pointers_per_shard
    cdef int64_t is_unfinished, number = 0
    if loop_run.workspaces != NULL:
        number = take_workspace(loop_run.are_taken, loop_run.workspace_count)
        state[loop_run.pointers_per_shard - 1] = loop_run.workspaces + number * loop_run.workspace_bytes
    is_unfinished = loop_run.function(state, state + loop_run.carried, loop_run.iterations)
    if loop_run.workspaces != NULL:
        return_workspace(&loop_run.are_taken[number])
    if is_unfinished:
        loop_run.is_unfinished = is_unfinished


def workspaces_of(int64_t shards, threads):
    """How many workspaces the shards of a loop need.

    Args:
        shards: how many there are.
        threads: maximum number of threads; None: all.
    """
    cdef int64_t count = min(shards, <int64_t>_threads.chosen_threads(threads))
    return count if SHARES_WORKSPACES and count <= MAX_SHARED_WORKSPACES else shards


cdef bint is_owned(cnp.ndarray array):
    """Whether only the caller's variable refers to an array and its memory."""
    cdef PyObject *base = cnp.PyArray_BASE(array)
    if not is_uniquely_referenced(<PyObject *>array) or not cnp.PyArray_ISCARRAY(array):
        return False
    if base == NULL:
        return cnp.PyArray_CHKFLAGS(array, cnp.NPY_ARRAY_OWNDATA)
    if not is_uniquely_referenced(base) or type(<object>base) is not cnp.ndarray:
        return False
    return cnp.PyArray_CHKFLAGS(<cnp.ndarray>base, cnp.NPY_ARRAY_OWNDATA)


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
        is_overwritten: for each carried value whether the loop from its first iteration on never uses an element of
            the initial value, whose copy then need not be one. Empty: it may use all.
    """

    cdef Loop function
    cdef tuple is_invariant, is_overwritten
    cdef int64_t workspace_bytes, first_iterations
    cdef double seconds
    cdef LoopShards shards

    def __cinit__(
        self, size_t address, tuple is_invariant, int64_t workspace_bytes, int64_t first_iterations, double seconds,
        LoopShards shards=None, tuple is_overwritten=(),
    ):
        self.function = <Loop>address
        self.is_invariant = is_invariant
        self.workspace_bytes = workspace_bytes + -workspace_bytes % MEMORY_ALIGNMENT
        self.first_iterations = first_iterations
        self.seconds = seconds
        self.shards = shards
        self.is_overwritten = is_overwritten

    def __call__(self, values, captured, count_iterations, out=None):
        """Return the final values of the loop, a tuple.

        Args:
            values: the initial values. A list has those of a later iteration and loses them: arrays to which nothing
                else refers are overwritten.
            captured: the captured values.
            count_iterations: called with the number of iterations after each run but the last.
            out: None, or for each carried value None or its array, C-contiguous, where that may be overwritten.
        """
        cdef Py_ssize_t carried = len(values), count = carried + len(captured), index
        cdef int64_t shards = 1 if self.shards is None else self.shards.count
        cdef int64_t workspaces = 1 if self.shards is None else workspaces_of(shards, self.shards.threads)
        cdef AlignedMemory workspace = AlignedMemory(workspaces * self.workspace_bytes) if self.workspace_bytes else None
        cdef void *fixed[MAX_POINTERS]
        cdef void **pointers = fixed
        cdef LoopRun loop_run
        cdef list state = [], temporaries = [], errors = []
        cdef Monitor monitor = Monitor(check_inner_loop, <void *>count_iterations, <void *>errors)
        cdef cnp.ndarray array
        cdef bint are_left = type(values) is list
        memset(&loop_run, 0, sizeof(LoopRun))
        loop_run.function, loop_run.carried, loop_run.pointers_per_shard = self.function, carried, count + 2
        if len(self.is_invariant) != carried:
            raise ValueError(f"carries {len(self.is_invariant)} values, but got {carried}")
        if shards * loop_run.pointers_per_shard > MAX_POINTERS:
            pointers = <void **>PyMem_Malloc(shards * loop_run.pointers_per_shard * sizeof(void *))
            if pointers == NULL:
                raise MemoryError
        try:
            for index in range(carried):
                array = <cnp.ndarray?>values[index]
                if are_left:
                    (<list>values)[index] = None
                if not self.is_invariant[index]:
                    if (out is None or out[index] is None) and not (are_left and is_owned(array)):
                        if not are_left and self.is_overwritten and self.is_overwritten[index]:
                            array = cnp.PyArray_EMPTY(array.ndim, array.shape, cnp.PyArray_TYPE(array), 0)
                        else:
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
                if workspaces < shards and workspace is not None:
                    loop_run.workspaces, loop_run.workspace_bytes = workspace.memory, self.workspace_bytes
                    loop_run.workspace_count = workspaces
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
