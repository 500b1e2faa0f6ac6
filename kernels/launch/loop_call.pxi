# Operations that native loops call. `native.pyx` includes this.

cdef enum:
    LOOP_STACK_BYTES = 65536
    LOOP_HEAP_BYTES = 1 << 23
    SCRATCH_ALIGNMENT = 64
    # Calls of each launch that are timed: the clock takes 0.05 us, and the shortest launches some.
    TIMED_LOOP_CALLS = 256

# Scratch memory of a call that is on the stack or the heap: more is allocated as arrays, on which limits on memory
# hold, as is all of it where memory is poisoned.
cdef Py_ssize_t _MAX_SCRATCH_BYTES = _max_cached_bytes(LOOP_HEAP_BYTES)


# What `run_launch` needs of a launch.
cdef struct LaunchFields:
    Task function
    int64_t tasks, threads
    Py_ssize_t pointers, arg_count
    double seconds
    int64_t *template
    Py_ssize_t *arrays


cdef class LoopCall:
    """An operation that native loops call.

    Launches whose scratch memory is on the stack or the heap run without the GIL and without objects of Python's,
    others and functions of Python's with them.

    Args:
        function: takes arrays, and returns one or a tuple.
        positions: for each argument of the function the number of the operand.
        operands, results: shape and element type of each.
    """

    cdef object function
    cdef NativeFunction native
    cdef tuple positions
    cdef list operand_types, result_types
    cdef Py_ssize_t operands, results, scratch_arrays, scratch_bytes, launches
    cdef Py_ssize_t *numbers
    # From the beginning of the scratch memory, in bytes.
    cdef Py_ssize_t *scratch_offsets
    cdef LaunchFields *fields
    cdef int64_t calls, timed_calls, nanoseconds

    def __cinit__(self, function, positions, operands, results):
        self.function = function
        self.native = function if type(function) is NativeFunction else None
        self.positions = tuple(positions)
        self.operand_types = [(tuple(shape), np.dtype(dtype)) for shape, dtype in operands]
        self.result_types = [(tuple(shape), np.dtype(dtype)) for shape, dtype in results]
        self.operands, self.results = len(self.positions), len(self.result_types)
        self.scratch_arrays = self.scratch_bytes = self.launches = 0
        self.calls = self.timed_calls = self.nanoseconds = 0
        self.numbers, self.scratch_offsets, self.fields = NULL, NULL, NULL
        if self.native is not None:
            self.set_launches()

    def __dealloc__(self):
        free(self.numbers)
        free(self.scratch_offsets)
        free(self.fields)

    cdef int set_launches(self) except -1:
        """Prepare calls without the GIL; there are none if a launch has too many arguments or may fail, or if the call
        needs too much scratch memory."""
        cdef Launch launch
        cdef Py_ssize_t index, count = len(self.native.launches)
        self.scratch_arrays = self.native.arrays - self.results
        self.numbers = <Py_ssize_t *>malloc(max(self.operands, 1) * sizeof(Py_ssize_t))
        self.scratch_offsets = <Py_ssize_t *>malloc(max(self.scratch_arrays, 1) * sizeof(Py_ssize_t))
        self.fields = <LaunchFields *>malloc(max(count, 1) * sizeof(LaunchFields))
        if self.numbers == NULL or self.scratch_offsets == NULL or self.fields == NULL:
            raise MemoryError
        if self.operands + self.native.arrays > MAX_KERNEL_ARGS or not self.scratch_fits():
            return 0
        for index in range(self.operands):
            self.numbers[index] = self.positions[index]
        for index in range(count):
            launch = <Launch>self.native.launches[index]
            if launch.arg_count > MAX_KERNEL_ARGS or launch.kernel is not None:
                return 0
            self.fields[index] = LaunchFields(
                launch.function, launch.tasks, 1, launch.pointers, launch.arg_count, launch.seconds, launch.template,
                launch.arrays,
            )
            if launch.tasks > 1 and launch.seconds > MIN_PARALLEL_SECONDS and pool_is_available():
                self.fields[index].threads = _threads.chosen_threads(self.native.threads)
        self.launches = count
        return 0

    cdef bint scratch_fits(self) except -1:
        """Whether the scratch arrays need no objects of Python's; sets their offsets and the bytes of all."""
        cdef Py_ssize_t index, size, offset = 0
        cdef ArrayType *type
        for index in range(self.scratch_arrays):
            type = &self.native.types[self.results + index]
            size = cnp.PyArray_MultiplyList(type.sizes, type.rank) * (<cnp.dtype>type.dtype).itemsize
            self.scratch_offsets[index] = offset
            offset += size + -size % SCRATCH_ALIGNMENT
        self.scratch_bytes = offset
        return not self.scratch_arrays or offset <= _MAX_SCRATCH_BYTES

    @property
    def solver(self):
        """The address of `int64 solve(LoopCall, void **operands, void **results)`, to be called without the GIL. It
        returns 0, or 1 with an exception of Python's set. Operands and results are C-contiguous. A result is an operand's
        memory only where a launch reads each element before it writes it; others do not overlap."""
        if not self.launches:
            return <size_t>&solve_with_objects
        if self.scratch_bytes > LOOP_STACK_BYTES:
            return <size_t>&solve_with_heap
        return <size_t>&solve_with_scratch if self.scratch_arrays else <size_t>&solve_launches

    @property
    def seconds(self):
        """The time of all calls without the GIL, from that of the first ones; 0.0 if there were none."""
        return 1e-9 * self.nanoseconds / max(self.timed_calls, 1) * self.calls

    @property
    def is_native(self):
        """Whether calls need neither the GIL nor objects of Python's."""
        return self.launches > 0

    cdef int call_function(self, char **operands, char **results) except -1:
        """Call the function on arrays that lie at addresses."""
        cdef list arrays = [], targets = []
        cdef Py_ssize_t index
        check_stop()
        for index in range(len(self.operand_types)):
            arrays.append(array_at(operands[index], self.operand_types[index], False))
        for index in range(self.results):
            targets.append(array_at(results[index], self.result_types[index], True))
        arguments = [arrays[number] for number in self.positions]
        if self.native is not None:
            self.native(*arguments, out=targets)
            return 0
        values = self.function(*arguments)
        if self.results == 1 and not isinstance(values, tuple):
            values = (values,)
        for target, value in zip(targets, values, strict=True):
            if cnp.PyArray_CopyInto(<cnp.ndarray>target, np.asarray(value)) < 0:
                return -1
        return 0


cdef object array_at(char *memory, tuple type, bint is_writeable):
    """An array of a shape and an element type that lies at an address."""
    cdef cnp.npy_intp sizes[64]
    cdef tuple shape = type[0]
    cdef cnp.dtype dtype = type[1]
    cdef int axis, rank = len(shape), flags = cnp.NPY_ARRAY_C_CONTIGUOUS | cnp.NPY_ARRAY_ALIGNED
    for axis in range(rank):
        sizes[axis] = shape[axis]
    if is_writeable:
        flags |= cnp.NPY_ARRAY_WRITEABLE
    Py_INCREF(dtype)
    return PyArray_NewFromDescr(cnp.ndarray, dtype, rank, sizes, NULL, memory, flags, None)


cdef int64_t solve_with_objects(LoopCall call, char **operands, char **results) noexcept nogil:
    """Solve by a call of Python's; see `LoopCall.solver`."""
    with gil:
        try:
            call.call_function(operands, results)
            return 0
        except BaseException as error:
            PyErr_SetObject(type(error), error)
            return 1


cdef int64_t solve_launches(LoopCall call, char **operands, char **results) noexcept nogil:
    """Solve by launches without scratch memory; see `LoopCall.solver`."""
    return run_launches(call, operands, results, NULL)


cdef int64_t solve_with_scratch(LoopCall call, char **operands, char **results) noexcept nogil:
    """Solve by launches whose scratch memory is on the stack; see `LoopCall.solver`."""
    cdef char memory[LOOP_STACK_BYTES + SCRATCH_ALIGNMENT]
    return run_launches(call, operands, results, memory + (-<size_t>memory) % SCRATCH_ALIGNMENT)


cdef int64_t solve_with_heap(LoopCall call, char **operands, char **results) noexcept nogil:
    """Solve by launches whose scratch memory is on the heap; see `LoopCall.solver`."""
    cdef char *memory = <char *>malloc(call.scratch_bytes + SCRATCH_ALIGNMENT)
    cdef int64_t outcome
    if memory == NULL:
        return solve_with_objects(call, operands, results)
    outcome = run_launches(call, operands, results, memory + (-<size_t>memory) % SCRATCH_ALIGNMENT)
    free(memory)
    return outcome


cdef int64_t run_launches(LoopCall call, char **operands, char **results, char *scratch) noexcept nogil:
    """Run all launches on the arrays and the scratch memory at these addresses."""
    cdef char *data[MAX_KERNEL_ARGS]
    cdef Py_ssize_t index, first = call.operands + call.results
    cdef bint is_timed = call.calls < TIMED_LOOP_CALLS
    cdef int64_t start = monotonic_nanoseconds() if is_timed else 0
    if _is_recording:
        return solve_with_objects(call, operands, results)
    for index in range(call.operands):
        data[index] = operands[call.numbers[index]]
    for index in range(call.results):
        data[call.operands + index] = results[index]
    for index in range(call.scratch_arrays):
        data[first + index] = scratch + call.scratch_offsets[index]
    for index in range(call.launches):
        if run_launch(&call.fields[index], data):
            return 1
    # Threads that count at once may lose a call.
    call.calls += 1
    if is_timed:
        call.timed_calls += 1
        call.nanoseconds += monotonic_nanoseconds() - start
    return 0


cdef bint run_launch(LaunchFields *launch, char **data) noexcept nogil:
    """Run all tasks on the arrays at these addresses. Returns whether they were stopped."""
    cdef int64_t closure[MAX_KERNEL_ARGS]
    cdef Py_ssize_t index
    cdef StopCheck stop_check = is_interrupted
    memcpy(closure, launch.template, launch.arg_count * sizeof(int64_t))
    for index in range(launch.pointers):
        closure[index] += <int64_t>data[launch.arrays[index]]
    if launch.seconds < LONG_SECONDS:
        stop_check = NULL
    return pool_run(
        launch.function, closure, launch.tasks, launch.threads, launch_length(launch.seconds), False, stop_check
    )
