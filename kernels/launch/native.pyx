# cython: language_level=3, boundscheck=False, wraparound=False
"""Calls of native code on arrays, at the cost of a microsecond.

A native function is a task, `void (int64 task, void *closure)`. The closure of a generated one is an array of 64-bit
arguments: a pointer for each access to an operand or a result, then integers that are fixed at compile time. Kernels
of Numba and C have closures of their own (`prepared.py`).
"""

cimport numpy as cnp
from cpython.exc cimport PyErr_SetObject
from cpython.list cimport PyList_GET_ITEM
from cpython.number cimport PyNumber_Index
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

import threading

import numpy as np

from . import threads as _threads
from .poison import max_cached_bytes as _max_cached_bytes

cdef extern from "numpy/arrayobject.h":
    # Steals the reference to the element type.
    object PyArray_Empty(int rank, cnp.npy_intp *shape, cnp.dtype dtype, int fortran)
    # Steals the reference to the element type.
    object PyArray_NewFromDescr(
        type subtype, cnp.dtype dtype, int rank, cnp.npy_intp *shape, cnp.npy_intp *strides, void *data, int flags,
        object base,
    )

cdef extern from "monotonic_clock.h" nogil:
    int64_t monotonic_nanoseconds()


cdef extern from "task_pool.h" nogil:
    ctypedef void (*Task "PoolTask")(int64_t, void *) noexcept
    ctypedef bint (*StopCheck "PoolStopCheck")() noexcept
    bint pool_is_available()
    void pool_wake_ahead()
    void pool_assume_processors(int processors)
    void pool_leave_processors(int processors)
    enum:
        POOL_BRIEF
        POOL_SHORT
        POOL_LONG
        POOL_SOON_NANOSECONDS
    bint pool_run(
        Task function, void *closure, int64_t tasks, int64_t threads, int length, bint in_order, StopCheck stop_check
    ) noexcept

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident() noexcept
    void PyErr_SetNone(object type) noexcept
    # Without Cython's check of its result: the exception is raised where the launch ends.
    int PyErr_CheckSignals() noexcept

cnp.import_array()

include "vectorcall.pxi"

cdef enum:
    MAX_KERNEL_ARGS = 96


# Longer launches wake the pool's threads: two threads save half of the time, and waking costs 0.1 ms.
cdef double LONG_SECONDS = 3e-4
# Shorter launches are brief; shorter than BRIEF_SECONDS they run on the caller's thread.
cdef double SHORT_SECONDS = 3e-5, BRIEF_SECONDS = 1e-5
# Shorter launches of one task keep Python's lock: giving it away and taking it again costs 0.1 us, and threads that
# wait for it ask for it after milliseconds.
cdef double MAX_LOCKED_SECONDS = 3e-6
# Calls of kernels count as long where they have more than one task.
cdef double KERNEL_SECONDS = 1.0
# Where there is no pool, longer work is shared with threads of Python's, which cost 0.1 ms each.
cdef double MIN_UNPOOLED_SECONDS = 1e-3
cdef double MIN_PARALLEL_SECONDS = BRIEF_SECONDS if pool_is_available() else MIN_UNPOOLED_SECONDS


def has_pool():
    """Whether the pool runs tasks; otherwise threads of Python's do."""
    return bool(pool_is_available())


def waking_limits():
    """Seconds from which a launch always wakes the pool's threads, and seconds after a launch within which a shorter one
    does."""
    return LONG_SECONDS, POOL_SOON_NANOSECONDS * 1e-9


def wake_workers():
    """Wake the pool's threads ahead of a long launch."""
    pool_wake_ahead()


def assume_processors(int processors):
    """Let the pool use threads as if there were so many processors, for tests; 0: those that there are."""
    pool_assume_processors(processors)


# How many processors launches leave, by the names of those for which they do.
cdef dict _left_processors = {}


def leave_processors(str owner, int processors):
    """Let launches use so many threads less, from the next one on, because something else compiles for them.

    Args:
        owner: what needs the processors; its former demand ends.
        processors: how many it needs.
    """
    _left_processors[owner] = processors
    pool_leave_processors(sum(_left_processors.values()))


cdef int launch_length(double seconds) noexcept nogil:
    """The pool's class of a launch of this duration."""
    return POOL_LONG if seconds > LONG_SECONDS else POOL_SHORT if seconds > SHORT_SECONDS else POOL_BRIEF


class LaunchStopped(Exception):
    """Another thread asked for the end of this thread's launches."""


# The identifiers of threads whose launches are to stop.
cdef set _stopped_threads = set()


def request_stop(ident):
    """Let no further task of a thread's launches begin: they end with `LaunchStopped`.

    Args:
        ident: the thread's identifier.
    """
    _stopped_threads.add(ident)


def withdraw_stop(ident):
    """Let a thread's launches run again."""
    _stopped_threads.discard(ident)


def check_stop():
    """End a long loop of Python as launches end.

    Raises:
        LaunchStopped: another thread asked for the end of this thread's launches.
    """
    if _stopped_threads and <object>PyThread_get_thread_ident() in _stopped_threads:
        raise LaunchStopped


cdef bint is_interrupted() noexcept nogil:
    """Whether a signal handler raised an exception, or a stop was requested; an exception is set then. Only Python's
    main thread runs handlers."""
    with gil:
        if _stopped_threads and <object>PyThread_get_thread_ident() in _stopped_threads:
            PyErr_SetNone(LaunchStopped)
            return True
        return PyErr_CheckSignals() != 0


# Where launches are recorded: None, or a list.
cdef list _launches = None
cdef bint _is_recording = False


def record_launches(list launches):
    """Run the tasks of all launches one after the other on their callers' threads, and note how long each took.

    Args:
        launches: a tuple is appended for each launch: nanoseconds of the monotonic clock at its start, the number of
            threads that it might use, whether its tasks begin in order, its estimated seconds on one thread, and an
            int64 array of the nanoseconds of each task; None: launches run as usual again.
    """
    global _launches, _is_recording
    _launches = launches
    _is_recording = launches is not None


cdef int record_launch(
    Task function, void *closure, Py_ssize_t tasks, int64_t threads, double seconds, bint in_order
) except -1:
    """Run all tasks on this thread, and append the launch to the record."""
    cdef cnp.npy_intp size = tasks
    cdef cnp.ndarray durations = cnp.PyArray_EMPTY(1, &size, cnp.NPY_INT64, 0)
    cdef int64_t *nanoseconds = <int64_t *>cnp.PyArray_DATA(durations)
    cdef int64_t start = monotonic_nanoseconds(), now = start, end
    cdef Py_ssize_t task
    with nogil:
        for task in range(tasks):
            function(task, closure)
            end = monotonic_nanoseconds()
            nanoseconds[task] = end - now
            now = end
    _launches.append((start, threads, bool(in_order), seconds, durations))
    return 0


cdef int run_pooled(
    Task function, void *closure, Py_ssize_t tasks, int64_t threads, double seconds, bint in_order
) except -1:
    """Run all tasks by the pool; raise what a signal handler raised meanwhile, or LaunchStopped."""
    cdef bint is_stopped
    cdef StopCheck stop_check = is_interrupted
    if _launches is not None:
        return record_launch(function, closure, tasks, threads, seconds, in_order)
    if seconds < LONG_SECONDS:
        stop_check = NULL
    with nogil:
        is_stopped = pool_run(function, closure, tasks, threads, launch_length(seconds), in_order, stop_check)
    return -1 if is_stopped else 0


cdef int run_tasks(Task function, void *closure, Py_ssize_t tasks, double seconds, threads) except -1:
    """Run all tasks of a native function.

    Args:
        function: the task.
        closure: its second argument.
        tasks: how many there are.
        seconds: estimated duration of all tasks on one thread.
        threads: maximum number of threads; None: all.
    """
    cdef int64_t count = 1
    if tasks > 1 and seconds > MIN_PARALLEL_SECONDS:
        count = _threads.chosen_threads(threads)
    if count == 1 or pool_is_available():
        run_pooled(function, closure, tasks, count, seconds, False)
    else:
        run_on_python_threads(function, closure, tasks, count)
    return 0


def run_kernel(kernel, Py_ssize_t tasks, list arguments, threads):
    """Run the tasks of a parallel kernel.

    Args:
        kernel: a `compilation.TaskKernel`.
        tasks: how many there are.
        arguments: integers, C-contiguous arrays, and tuples of these, which follow the task's number.
        threads: maximum number of threads; None: all.

    Raises:
        ValueError: the arguments are too many or of another kind.
        MemoryError: a task could not allocate memory.
    """
    cdef int64_t closure[MAX_KERNEL_ARGS]
    cdef Py_ssize_t count = 0
    cdef list kinds = []
    for argument in arguments:
        count = add_argument(argument, closure, count, kinds)
    key = tuple(kinds)
    address = kernel.addresses.get(key)
    if address is None:
        address = kernel.address_for(key, tuple(arguments))
    closure[count] = 0
    # `threads.division` makes several tasks of long work only.
    run_tasks(<Task><size_t>address, closure, tasks, KERNEL_SECONDS if tasks > 1 else 0, threads)
    if closure[count]:
        raise_failure(kernel.name)


cdef Py_ssize_t add_argument(object value, int64_t *closure, Py_ssize_t count, list kinds) except -1:
    """Append an argument to a closure and its kind to a list; returns how many values the closure has."""
    cdef cnp.ndarray array
    cdef Py_ssize_t axis
    if type(value) is tuple:
        kinds.append(len(value))
        for member in <tuple>value:
            count = add_argument(member, closure, count, kinds)
        return count
    if isinstance(value, np.ndarray):
        array = value
        if count + array.ndim + 2 > MAX_KERNEL_ARGS or not cnp.PyArray_IS_C_CONTIGUOUS(array):
            raise ValueError(f"takes C-contiguous arrays and at most {MAX_KERNEL_ARGS} values")
        kinds.append((array.dtype, array.ndim, bool(cnp.PyArray_ISWRITEABLE(array))))
        closure[count] = <int64_t>cnp.PyArray_DATA(array)
        for axis in range(array.ndim):
            closure[count + 1 + axis] = array.shape[axis]
        return count + 1 + array.ndim
    if count + 2 > MAX_KERNEL_ARGS:
        raise ValueError(f"takes at most {MAX_KERNEL_ARGS} values")
    kinds.append(None)
    closure[count] = PyNumber_Index(value)
    return count + 1


cdef struct KernelMemory:
    # The memory that a task of a kernel allocates, as the code that Numba generates counts references to it and reads
    # the address of the elements. A process that runs kernels need not load Numba's own runtime.
    size_t references
    void *destructor
    void *destructor_argument
    void *data
    size_t size
    void *allocator


cdef void *allocate_kernel_memory(size_t size, unsigned int alignment) noexcept nogil:
    """Memory with one reference, whose elements begin at a multiple of `alignment`; NULL if there is none."""
    cdef size_t extra = sizeof(KernelMemory) + alignment
    cdef KernelMemory *memory = NULL
    cdef size_t first
    if size <= <size_t>-1 - extra:
        memory = <KernelMemory *>malloc(extra + size)
    if memory != NULL:
        first = <size_t>(memory + 1) + alignment - 1
        memory[0] = KernelMemory(1, NULL, NULL, <void *>(first - first % alignment), size, NULL)
    return memory


cdef void free_kernel_memory(void *memory) noexcept nogil:
    free(memory)


def kernel_symbols():
    """The addresses of the functions that the machine code of kernels calls, by Numba's names for them."""
    return {
        "NRT_MemInfo_alloc_aligned": <size_t>&allocate_kernel_memory,
        "NRT_MemInfo_call_dtor": <size_t>&free_kernel_memory,
    }


cdef object raise_failure(str kernel):
    raise MemoryError(f"{kernel}: could not allocate memory for a task")


def run_independent(size_t function, size_t closure, Py_ssize_t tasks, double seconds, threads):
    """Run tasks of which none waits for another: each thread begins with consecutive ones.

    Args:
        function: the task's address.
        closure: its second argument.
        tasks, seconds, threads: see `run_tasks`.
    """
    run_tasks(<Task>function, <void *>closure, tasks, seconds, threads)


def run_in_order(size_t function, size_t closure, Py_ssize_t tasks, double seconds, threads):
    """Run tasks of which later ones may wait for earlier ones: they begin in order.

    Args:
        function: the task's address.
        closure: its second argument.
        tasks, seconds, threads: see `run_tasks`.
    """
    cdef int64_t count = 1
    if seconds > MIN_PARALLEL_SECONDS:
        count = _threads.chosen_threads(threads)
    run_pooled(<Task>function, <void *>closure, tasks, count, seconds, True)


cdef int run_on_python_threads(Task function, void *closure, Py_ssize_t tasks, Py_ssize_t count) except -1:
    """Run tasks by Python's threads."""
    cdef Py_ssize_t first
    workers = []
    try:
        for first in range(1, min(count, tasks)):
            arguments = (<size_t>function, <size_t>closure, tasks, first, count)
            worker = threading.Thread(target=_run_strided, args=arguments)
            workers.append(worker)
            worker.start()
        with nogil:
            run_strided(function, closure, tasks, 0, count)
    finally:
        for worker in workers:
            if worker.ident is not None:
                worker.join()
    return 0


cdef void run_strided(Task function, void *closure, Py_ssize_t tasks, Py_ssize_t first,
    Py_ssize_t stride) noexcept nogil:
    cdef Py_ssize_t task = first
    while task < tasks:
        function(task, closure)
        task += stride


def _run_strided(size_t function, size_t closure, Py_ssize_t tasks, Py_ssize_t first, Py_ssize_t stride):
    with nogil:
        run_strided(<Task>function, <void *>closure, tasks, first, stride)


cdef class Launch:
    """A generated function with all of its arguments but the arrays.

    Args:
        address: of the function.
        tasks: how many there are.
        accesses: for each pointer of the closure the number of the array (operands first, then results) and
            an offset in bytes.
        integers: the arguments that follow the pointers.
        seconds: estimated duration of a call on one thread.
        keep_alive: objects whose addresses are among the integers.
        kernel: the name of a kernel whose last argument receives the failure of a task; None: no task fails.
    """

    cdef Task function
    cdef Py_ssize_t tasks
    cdef Py_ssize_t pointers
    cdef Py_ssize_t arg_count
    cdef double seconds
    cdef int64_t *template
    cdef Py_ssize_t *arrays
    cdef object keep_alive
    cdef str kernel

    def __cinit__(
        self, size_t address, Py_ssize_t tasks, tuple accesses, tuple integers, double seconds, object keep_alive=None,
        str kernel=None,
    ):
        cdef Py_ssize_t index
        self.keep_alive = keep_alive
        self.kernel = kernel
        if kernel is not None:
            integers = (*integers, 0)
        self.function = <Task>address
        self.tasks = tasks
        self.seconds = seconds
        self.pointers = len(accesses)
        self.arg_count = len(accesses) + len(integers)
        self.template = <int64_t *>malloc(max(self.arg_count, 1) * sizeof(int64_t))
        self.arrays = <Py_ssize_t *>malloc(max(self.pointers, 1) * sizeof(Py_ssize_t))
        if self.template == NULL or self.arrays == NULL:
            raise MemoryError
        for index in range(self.pointers):
            self.arrays[index], self.template[index] = accesses[index]
        for index in range(self.pointers, self.arg_count):
            self.template[index] = integers[index - self.pointers]

    def __dealloc__(self):
        free(self.template)
        free(self.arrays)

    cdef void fill(self, char **data, int64_t *closure) noexcept:
        """Write the closure for arrays whose memory begins at `data`."""
        cdef Py_ssize_t index
        memcpy(closure, self.template, self.arg_count * sizeof(int64_t))
        for index in range(self.pointers):
            closure[index] += <int64_t>data[self.arrays[index]]

    cdef int run(self, char **data, object threads) except -1:
        """Run all tasks on the arrays whose memory begins at `data`."""
        cdef int64_t fixed[MAX_KERNEL_ARGS]
        cdef int64_t *closure = fixed
        if self.arg_count > MAX_KERNEL_ARGS:
            closure = <int64_t *>malloc(self.arg_count * sizeof(int64_t))
            if closure == NULL:
                raise MemoryError
        try:
            self.fill(data, closure)
            if self.tasks == 1 and 0 < self.seconds < MAX_LOCKED_SECONDS:
                self.function(0, closure)
            else:
                run_tasks(self.function, closure, self.tasks, self.seconds, threads)
            if self.kernel is not None and closure[self.arg_count - 1]:
                raise_failure(self.kernel)
        finally:
            if closure != fixed:
                free(closure)
        return 0


# The element type and the shape of a result or a scratch array.
cdef struct ArrayType:
    int rank
    cnp.npy_intp *sizes
    PyObject *dtype


cdef class NativeFunction:
    """A function from arrays to arrays that runs launches in order.

    Args:
        operands: the bytes that each operand must have.
        results: shape and element type of each result.
        launches: what to run.
        threads: maximum number of threads; None: all.
        scratch: shape and element type of temporary arrays; the launches number them after the results.
    """

    cdef Vectorcall vectorcall
    cdef Py_ssize_t operands, results, arrays
    cdef Py_ssize_t *operand_bytes
    cdef ArrayType *types
    cdef cnp.npy_intp *sizes
    cdef tuple dtypes
    cdef list launches
    cdef object threads

    def __cinit__(self, operands, results, launches, threads=None, scratch=()):
        cdef Py_ssize_t index, axis
        cdef cnp.npy_intp *sizes
        cdef list shapes = [tuple(shape) for shape, _ in (*results, *scratch)]
        self.vectorcall = _call_native
        self.operands, self.results, self.arrays = len(operands), len(results), len(shapes)
        self.dtypes = tuple([np.dtype(dtype) for _, dtype in (*results, *scratch)])
        self.launches = [<Launch?>launch for launch in launches]
        self.threads = threads
        self.operand_bytes = <Py_ssize_t *>malloc(max(self.operands, 1) * sizeof(Py_ssize_t))
        self.types = <ArrayType *>malloc(max(self.arrays, 1) * sizeof(ArrayType))
        self.sizes = sizes = <cnp.npy_intp *>malloc(max(sum(map(len, shapes)), 1) * sizeof(cnp.npy_intp))
        if self.operand_bytes == NULL or self.types == NULL or sizes == NULL:
            raise MemoryError
        for index in range(self.operands):
            self.operand_bytes[index] = operands[index]
        for index in range(self.arrays):
            self.types[index] = ArrayType(len(shapes[index]), sizes, <PyObject *>self.dtypes[index])
            for axis in range(self.types[index].rank):
                sizes[axis] = shapes[index][axis]
            sizes += self.types[index].rank

    def __dealloc__(self):
        free(self.operand_bytes)
        free(self.types)
        free(self.sizes)

    def __call__(self, *operands, out=None):
        """The result, or a tuple of results where there are several.

        Args:
            out: for each result None or an array to write to: C-contiguous, of its shape and element type.

        Raises:
            ValueError: an operand has another size than the launches expect.
        """
        return self.call(tuple_items(operands), len(operands), out)

    cdef object call(self, PyObject *const *operands, Py_ssize_t count, object out):
        """See `__call__`."""
        cdef void *fixed[2 * MAX_KERNEL_ARGS]
        cdef void **memory = fixed
        cdef Py_ssize_t arrays = self.operands + self.arrays, index
        if count != self.operands:
            raise ValueError(f"takes {self.operands} operands, but got {count}")
        if arrays > MAX_KERNEL_ARGS:
            memory = <void **>malloc(2 * arrays * sizeof(void *))
            if memory == NULL:
                raise MemoryError
        # The arrays that this call owns.
        cdef PyObject **owned = <PyObject **>(memory + arrays)
        for index in range(arrays):
            owned[index] = NULL
        try:
            self.fill(operands, out, <char **>memory, owned)
            for index in range(len(self.launches)):
                (<Launch>PyList_GET_ITEM(self.launches, index)).run(<char **>memory, self.threads)
            return self.taken(owned + self.operands)
        finally:
            for index in range(arrays):
                Py_XDECREF(owned[index])
            if memory != fixed:
                free(memory)

    cdef int fill(self, PyObject *const *operands, object out, char **data, PyObject **owned) except -1:
        """Check the operands, and allocate the other arrays.

        Args:
            operands: the arrays.
            out: None, or for each result None or an array to write to.
            data: receives the address of each operand, result and scratch array.
            owned: receives the arrays among these that the call owns.
        """
        cdef Py_ssize_t index, first = self.operands
        cdef cnp.ndarray array
        cdef ArrayType *type
        for index in range(first):
            array = <cnp.ndarray?><object>operands[index]
            if not cnp.PyArray_ISCARRAY_RO(array):
                array = np.array(array, order="C")
                Py_INCREF(array)
                owned[index] = <PyObject *>array
            if cnp.PyArray_NBYTES(array) != self.operand_bytes[index]:
                raise ValueError(f"operand {index} has {array.nbytes} bytes, but must have {self.operand_bytes[index]}")
            data[index] = <char *>cnp.PyArray_DATA(array)
        for index in range(self.arrays):
            type = &self.types[index]
            provided = None if out is None or index >= self.results else out[index]
            if provided is None:
                Py_INCREF(<object>type.dtype)
                array = <cnp.ndarray>PyArray_Empty(type.rank, type.sizes, <cnp.dtype>type.dtype, 0)
            else:
                array = <cnp.ndarray?>provided
            Py_INCREF(array)
            owned[first + index] = <PyObject *>array
            data[first + index] = <char *>cnp.PyArray_DATA(array)
        return 0

    cdef object taken(self, PyObject **owned):
        """The results, from the arrays that the call owns."""
        cdef tuple results
        cdef Py_ssize_t index
        if self.results == 1:
            return <object>owned[0]
        results = PyTuple_New(self.results)
        for index in range(self.results):
            Py_INCREF(<object>owned[index])
            PyTuple_SET_ITEM(results, index, <object>owned[index])
        return results


include "loop_call.pxi"


cdef object _call_native(object function, PyObject *const *operands, size_t count, PyObject *names):
    """The vectorcall function of native functions."""
    cdef Py_ssize_t operand_count = PyVectorcall_NARGS(count)
    if names == NULL:
        return (<NativeFunction>function).call(operands, operand_count, None)
    if <object>names != ("out",):
        raise TypeError(f"takes no keyword arguments {<object>names} but out")
    return (<NativeFunction>function).call(operands, operand_count, <object>operands[operand_count])


# Only the member's address is computed, so any object will do.
cdef PyObject *_any = <PyObject *>None
enable_vectorcall(NativeFunction, <char *>&(<NativeFunction>_any).vectorcall - <char *>_any)
