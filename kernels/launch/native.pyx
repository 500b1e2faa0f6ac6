# cython: language_level=3, boundscheck=False, wraparound=False
"""Calls of generated native code on arrays, at the cost of a microsecond.

A generated function is a task, `void (int64 task, void *closure)`. Its closure is an array of 64-bit words: a
pointer for each access to an operand or a result, then integers that are fixed when the function is made.
"""

cimport numpy as cnp
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

import threading
from time import perf_counter

import numpy as np

from . import threads as _threads

cdef extern from "numpy/arrayobject.h":
    # Takes the reference to the element type that it is given.
    object PyArray_Empty(int rank, cnp.npy_intp *shape, cnp.dtype dtype, int fortran)

cdef extern from "task_pool.h" nogil:
    ctypedef void (*Task "PoolTask")(int64_t, void *) noexcept
    ctypedef bint (*Question "PoolQuestion")() noexcept
    bint pool_is_offered()
    void pool_alert()
    enum:
        POOL_BRIEF
        POOL_SHORT
        POOL_LONG
    bint pool_run(
        Task function, void *closure, int64_t tasks, int64_t threads, int length, bint in_order, Question stops
    ) noexcept

cdef extern from "Python.h":
    # Without Cython's check of its result: the exception is raised where the launch ends.
    int PyErr_CheckSignals() noexcept

cnp.import_array()

ctypedef void (*Driver)(int64_t, int64_t, int64_t, int64_t) noexcept nogil

cdef enum:
    MOST_WORDS = 96
    MOST_RANK = 64
    # A kernel's failure that is none of its tasks': its launch was stopped.
    INTERRUPTED = 2


# Launches that take longer wake the pool's threads; two threads save half of the time, and waking costs 0.1 ms.
cdef double LONG_SECONDS = 3e-4
# Launches that take less are brief; what they must take to be shared at all.
cdef double SHORT_SECONDS = 3e-5, BRIEF_SECONDS = 1e-5
cdef double LEAST_SECONDS = BRIEF_SECONDS if pool_is_offered() else _threads.LEAST_SECONDS


def alert():
    """Have the pool's threads woken for a long launch that will follow soon."""
    pool_alert()


cdef int length_of(double seconds) noexcept nogil:
    """What the pool is told of a launch that takes so long."""
    return POOL_LONG if seconds > LONG_SECONDS else POOL_SHORT if seconds > SHORT_SECONDS else POOL_BRIEF


cdef bint is_interrupted() noexcept nogil:
    """Whether a handler of a signal raised an exception. Only Python's main thread runs handlers."""
    with gil:
        return PyErr_CheckSignals() != 0


cdef int run_pooled(
    Task function, void *closure, Py_ssize_t tasks, int64_t threads, double seconds, bint in_order
) except -1:
    """Run all tasks by the pool; raises what a signal's handler raised meanwhile."""
    cdef bint is_stopped
    cdef Question stops = is_interrupted
    if seconds < LONG_SECONDS:
        stops = NULL
    with nogil:
        is_stopped = pool_run(function, closure, tasks, threads, length_of(seconds), in_order, stops)
    return -1 if is_stopped else 0


cdef int run_tasks(Task function, void *closure, Py_ssize_t tasks, double seconds, threads) except -1:
    """Run all tasks of a native function.

    Args:
        function: which one.
        closure: what it is given beside the task's number.
        tasks: how many there are.
        seconds: how long all of them take on one thread, about.
        threads: most threads to use; None: all.
    """
    cdef int64_t driver = 0, count = 1
    if tasks > 1 and seconds > LEAST_SECONDS:
        driver, count = _threads.way_of_running(threads)
    if count == 1 or pool_is_offered():
        run_pooled(function, closure, tasks, count, seconds, False)
    elif driver:
        with _threads.launches(), nogil:
            (<Driver>driver)(<int64_t>function, <int64_t>closure, tasks, count)
    elif seconds > _threads.HAND_OFF_SECONDS:
        start = perf_counter()
        by_python_threads(function, closure, tasks, count)
        _threads.count_hand_off(perf_counter() - start)
    else:
        with nogil:
            every(function, closure, tasks, 0, 1)
    return 0


# What a signal's handler raised while tasks of a kernel were run.
cdef object _raised = None


cdef int check_signals() except -1 with gil:
    return PyErr_CheckSignals()


cdef bint keeps_interrupt() noexcept nogil:
    """As `is_interrupted`, for compiled functions, which return before anything can be raised."""
    global _raised
    with gil:
        try:
            check_signals()
        except BaseException as error:
            _raised = error
            return True
    return False


cdef void drive(int64_t function, int64_t closure, int64_t tasks, int64_t threads) noexcept nogil:
    """What kernels launch their tasks by; a launch that a signal stopped is noted where failures of tasks are."""
    if pool_run(<Task>function, <void *>closure, tasks, threads, POOL_LONG, False, keeps_interrupt):
        (<int64_t *>closure)[0] = INTERRUPTED


def raise_failure(int64_t failure, str kernel):
    """Raise what ended a kernel early: what a signal's handler raised, or that a task could not have memory."""
    global _raised
    if failure == INTERRUPTED:
        error, _raised = _raised, None
        raise error
    raise MemoryError(f"{kernel}: a task could not have its memory")


def pool_driver():
    """The address of a driver (`threads.driver`) that lets the pool run tasks; 0 where there is no pool."""
    return <size_t>drive if pool_is_offered() else 0


_threads.offer_pool(pool_driver())


def run_in_order(size_t function, size_t closure, Py_ssize_t tasks, double seconds, threads):
    """Run tasks of which later ones may wait for earlier ones: each is taken after all earlier ones.

    Args:
        function: its address.
        closure: the address that it is given beside the task's number.
        tasks, seconds, threads: as for other tasks.
    """
    cdef int64_t count = 1
    if seconds > LEAST_SECONDS:
        count = _threads.way_of_running(threads)[1]
    run_pooled(<Task>function, <void *>closure, tasks, count, seconds, True)


def run_by_shares(size_t function, size_t closure, Py_ssize_t tasks, double seconds, threads):
    """The same tasks, of which each thread begins with a share of neighbouring ones, the calling one with the first."""
    run_tasks(<Task>function, <void *>closure, tasks, seconds, threads)


cdef int by_python_threads(Task function, void *closure, Py_ssize_t tasks, Py_ssize_t count) except -1:
    """The same tasks by threads of Python's, while there is no driver."""
    cdef Py_ssize_t first
    workers = []
    try:
        for first in range(1, min(count, tasks)):
            arguments = (<size_t>function, <size_t>closure, tasks, first, count)
            worker = threading.Thread(target=_share, args=arguments)
            workers.append(worker)
            worker.start()
        with nogil:
            every(function, closure, tasks, 0, count)
    finally:
        for worker in workers:
            if worker.ident is not None:
                worker.join()
    return 0


cdef void every(Task function, void *closure, Py_ssize_t tasks, Py_ssize_t first, Py_ssize_t step) noexcept nogil:
    cdef Py_ssize_t task = first
    while task < tasks:
        function(task, closure)
        task += step


def _share(size_t function, size_t closure, Py_ssize_t tasks, Py_ssize_t first, Py_ssize_t step):
    with nogil:
        every(<Task>function, <void *>closure, tasks, first, step)


cdef class Launch:
    """One generated function with all that a call of it needs but for the arrays.

    Args:
        address: of the function.
        tasks: how many there are.
        accesses: for each pointer of the closure the number of the array (operands first, then results) and
            an offset in bytes.
        integers: the words that follow the pointers.
        seconds: how long a call takes on one thread, about.
        kept: what the integers tell the addresses of.
        kernel: the name of a kernel, which notes in one more word that a task failed; None: no task can.
    """

    cdef Task function
    cdef Py_ssize_t tasks
    cdef Py_ssize_t pointers
    cdef Py_ssize_t words
    cdef double seconds
    cdef int64_t *template
    cdef Py_ssize_t *arrays
    cdef object kept
    cdef str kernel

    def __cinit__(
        self, size_t address, Py_ssize_t tasks, tuple accesses, tuple integers, double seconds, object kept=None,
        str kernel=None,
    ):
        cdef Py_ssize_t index
        self.kept = kept
        self.kernel = kernel
        if kernel is not None:
            integers = (*integers, 0)
        self.function = <Task>address
        self.tasks = tasks
        self.seconds = seconds
        self.pointers = len(accesses)
        self.words = len(accesses) + len(integers)
        self.template = <int64_t *>malloc(max(self.words, 1) * sizeof(int64_t))
        self.arrays = <Py_ssize_t *>malloc(max(self.pointers, 1) * sizeof(Py_ssize_t))
        if self.template == NULL or self.arrays == NULL:
            raise MemoryError
        for index in range(self.pointers):
            self.arrays[index], self.template[index] = accesses[index]
        for index in range(self.pointers, self.words):
            self.template[index] = integers[index - self.pointers]

    def __dealloc__(self):
        free(self.template)
        free(self.arrays)

    cdef void fill(self, char **data, int64_t *closure) noexcept:
        """Write the closure for arrays whose memory begins at `data`."""
        cdef Py_ssize_t index
        memcpy(closure, self.template, self.words * sizeof(int64_t))
        for index in range(self.pointers):
            closure[index] += <int64_t>data[self.arrays[index]]

    cdef int run(self, char **data, object threads) except -1:
        """Run all tasks on the arrays whose memory begins at `data`."""
        cdef int64_t fixed[MOST_WORDS]
        cdef int64_t *closure = fixed
        if self.words > MOST_WORDS:
            closure = <int64_t *>malloc(self.words * sizeof(int64_t))
            if closure == NULL:
                raise MemoryError
        try:
            self.fill(data, closure)
            run_tasks(self.function, closure, self.tasks, self.seconds, threads)
            if self.kernel is not None and closure[self.words - 1]:
                raise_failure(closure[self.words - 1], self.kernel)
        finally:
            if closure != fixed:
                free(closure)
        return 0


cdef struct Call:
    Task function
    int64_t tasks
    int64_t *closure


# `first` tells for each block which call is its first, and at last how many calls there are.
cdef struct Sequence:
    Task before
    void *closure
    int64_t *first
    Call *calls


cdef void run_block(int64_t block, void *closure) noexcept nogil:
    cdef Sequence *sequence = <Sequence *>closure
    cdef int64_t number, task
    sequence.before(block, sequence.closure)
    for number in range(sequence.first[block], sequence.first[block + 1]):
        for task in range(sequence.calls[number].tasks):
            sequence.calls[number].function(task, sequence.calls[number].closure)


cdef class Sequel:
    """Launches for each block of what another function makes block by block: they follow on it at once.

    Args:
        blocks: for each block its launches, which are run one after the other.
        threads: most threads that it may use; None: all.
    """

    cdef list blocks
    cdef object threads
    cdef int64_t pooled
    cdef Py_ssize_t calls, words
    cdef double seconds

    def __init__(self, blocks, threads=None):
        self.blocks = [list(block) for block in blocks]
        self.threads = threads
        self.calls = self.words = 0
        self.seconds = 0
        # Asking for each call would cost a loop as much as what it launches.
        self.pooled = _threads.way_of_running(threads)[1] if pool_is_offered() else 0
        for block in self.blocks:
            for launch in block:
                self.calls += 1
                self.words += (<Launch>launch).words
                self.seconds += (<Launch>launch).seconds

    def run(self, size_t function, size_t closure, double seconds, list arrays):
        """Run `function` and then the launches, for each block.

        Args:
            function: the address of what makes a block, given its number and the closure.
            closure: the closure's address.
            seconds: how long it takes for all blocks on one thread, about.
            arrays: those that the launches number, C-contiguous.
        """
        cdef Py_ssize_t count = len(self.blocks), number = 0, index
        cdef int64_t threads
        cdef size_t bytes_needed = (
            len(arrays) * sizeof(char *) + (count + 1 + self.words) * sizeof(int64_t) + self.calls * sizeof(Call)
        )
        cdef char *memory = <char *>malloc(bytes_needed)
        cdef char **data = <char **>memory
        cdef int64_t *words
        cdef Sequence sequence
        cdef Launch launch
        if memory == NULL:
            raise MemoryError
        try:
            for index in range(len(arrays)):
                data[index] = <char *>cnp.PyArray_DATA(<cnp.ndarray?>arrays[index])
            sequence.before, sequence.closure = <Task>function, <void *>closure
            sequence.calls = <Call *>(data + len(arrays))
            sequence.first = <int64_t *>(sequence.calls + self.calls)
            words = sequence.first + count + 1
            for index in range(count):
                sequence.first[index] = number
                for launch in <list>self.blocks[index]:
                    launch.fill(data, words)
                    sequence.calls[number] = Call(launch.function, launch.tasks, words)
                    words += launch.words
                    number += 1
            sequence.first[count] = number
            seconds += self.seconds
            if self.pooled:
                threads = self.pooled if seconds > LEAST_SECONDS else 1
                run_pooled(run_block, &sequence, count, threads, seconds, False)
            else:
                run_tasks(run_block, &sequence, count, seconds, self.threads)
        finally:
            free(memory)


cdef class NativeFunction:
    """A function from arrays to arrays that runs launches, one after the other.

    Args:
        operands: the bytes that each operand must have.
        results: shape and element type of each result.
        launches: what to run.
        threads: most threads that it may use; None: all.
        scratch: shape and element type of memory that is needed beside; the launches number it after the results.
    """

    cdef tuple operands
    cdef tuple shapes
    cdef tuple dtypes
    cdef Py_ssize_t results
    cdef list launches
    cdef object threads

    def __init__(self, operands, results, launches, threads=None, scratch=()):
        self.operands = tuple(operands)
        self.results = len(results)
        made = [*results, *scratch]
        self.shapes = tuple([tuple(shape) for shape, _ in made])
        self.dtypes = tuple([np.dtype(dtype) for _, dtype in made])
        self.launches = [launch for launch in launches]
        self.threads = threads

    def __call__(self, *operands, out=None):
        """The result, or a tuple of results where there are several.

        Args:
            out: for each result None or an array to write to: C-contiguous, of its shape and element type.

        Raises:
            ValueError: an operand is not of the size for which this was made.
        """
        cdef char *fixed[MOST_WORDS]
        cdef char **data = fixed
        cdef Py_ssize_t count = len(operands)
        if count != len(self.operands):
            raise ValueError(f"takes {len(self.operands)} operands, but got {count}")
        if count + len(self.shapes) > MOST_WORDS:
            data = <char **>malloc((count + len(self.shapes)) * sizeof(char *))
            if data == NULL:
                raise MemoryError
        try:
            return self.run(operands, out, data)
        finally:
            if data != fixed:
                free(data)

    cdef object run(self, tuple operands, object out, char **data):
        """Run all launches.

        Args:
            operands: the arrays.
            out: None, or for each result None or an array to write to.
            data: an array with an element for each operand, result and room, which this fills.
        """
        cdef Py_ssize_t count = len(operands), index
        cdef cnp.ndarray array
        cdef list kept = []
        cdef list results = []
        cdef object given
        for index in range(count):
            array = <cnp.ndarray?>operands[index]
            if not cnp.PyArray_ISCARRAY_RO(array):
                array = np.array(array, order="C")
                kept.append(array)
            if cnp.PyArray_NBYTES(array) != <Py_ssize_t>self.operands[index]:
                raise ValueError(f"operand {index} has {array.nbytes} bytes, but must have {self.operands[index]}")
            data[index] = <char *>cnp.PyArray_DATA(array)
        for index in range(len(self.shapes)):
            given = None if out is None or index >= self.results else out[index]
            array = _empty(self.shapes[index], self.dtypes[index]) if given is None else given
            (results if index < self.results else kept).append(array)
            data[count + index] = <char *>cnp.PyArray_DATA(array)
        for launch in self.launches:
            (<Launch>launch).run(data, self.threads)
        return results[0] if len(results) == 1 else tuple(results)


cdef cnp.ndarray _empty(tuple shape, cnp.dtype dtype):
    cdef cnp.npy_intp sizes[MOST_RANK]
    cdef Py_ssize_t axis, rank = len(shape)
    if rank > MOST_RANK:
        return np.empty(shape, dtype)
    for axis in range(rank):
        sizes[axis] = shape[axis]
    Py_INCREF(dtype)
    return <cnp.ndarray>PyArray_Empty(<int>rank, sizes, dtype, 0)
