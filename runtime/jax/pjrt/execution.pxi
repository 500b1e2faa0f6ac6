# Runs of programs. One that is quick runs on the calling thread, and so does one whose callers wait for the results at
# once; another becomes a task, so that the call returns at once and the buffers of its results are promises. A run
# that fails leaves the error in its results.

cdef enum:
    SLOW_NANOSECONDS = 2_000_000
    QUICK_NANOSECONDS = 1_500_000
    SHORT_NANOSECONDS = 187_500
    MIN_SHORT_RUNS = 16
    TIMED_EVERY = 16
"""A program moves to the worker after a run that is slow, and back after one that is quick. To wake the worker and then
the caller that waits for it takes 50 to 100 us on idle processors, and up to 300 us on busy ones: a tenth of a run of
1 ms, which is more than a caller's own work between two calls that could go on meanwhile.

After MIN_SHORT_RUNS short runs in a row only one of TIMED_EVERY runs is timed. A run counts as short below an
eighth of QUICK_NANOSECONDS, so that untimed runs are unlikely to be slow."""

cdef struct Task:
    Executable *executable
    Py_ssize_t device_count, pinned, unready
    Buffer **arguments
    char *must_keep
    Buffer **results
    Event *event
    Error *failure
    Task *next


cdef bint _is_excluded_from_donation(ExecuteOptions *options, Py_ssize_t index) noexcept nogil:
    """Whether the caller excludes an argument from the program's donations."""
    cdef size_t number
    if options == NULL or lacks(options, &options.non_donated_count):
        return False
    for number in range(options.non_donated_count):
        if options.non_donated[number] == index:
            return True
    return False


cdef Error *_check_donations(Executable *executable, ExecuteOptions *options, Buffer **arguments) noexcept nogil:
    """Reject a donated buffer that is an argument twice: one argument would read what the call overwrites."""
    cdef Py_ssize_t index, other
    for index in range(executable.argument_count):
        if not executable.donated[index] or _is_excluded_from_donation(options, index):
            continue
        for other in range(executable.argument_count):
            if other != index and arguments[other] == arguments[index]:
                if executable.donated[other]:
                    return plain_error(
                        CODE_INVALID_ARGUMENT, b"Attempt to donate the same buffer twice in Execute()"
                    )
                return plain_error(
                    CODE_INVALID_ARGUMENT,
                    b"Attempt to donate a buffer which is also used by the same call to Execute()",
                )
    return NULL


cdef object _read_only(object array):
    """A view of an array that the program may not write to."""
    view = array.view()
    view.flags.writeable = False
    return view


# ---- on the calling thread

cdef tuple _gather(Executable *executable, ExecuteOptions *options, Buffer **arguments):
    """The arrays of arguments that are ready; what is donated leaves its buffer.

    An array is read-only where the program may use its memory but others look at it.
    """
    cdef Py_ssize_t index
    cdef Buffer *buffer
    cdef tuple gathered = PyTuple_New(executable.argument_count)
    for index in range(executable.argument_count):
        buffer = arguments[index]
        array = array_of(buffer)
        if executable.donated[index] and _is_excluded_from_donation(options, index):
            array = _read_only(array)
        Py_INCREF(array)
        PyTuple_SET_ITEM(gathered, index, array)
    if executable.donates:
        for index in range(executable.argument_count):
            if executable.donated[index] and not _is_excluded_from_donation(options, index):
                if not release_array(arguments[index]):
                    array = _read_only(gathered[index])
                    Py_INCREF(array)
                    PyTuple_SetItem(gathered, index, array)
    return gathered


cdef object _result(list computed, Py_ssize_t index):
    """A result as an array; a token is an array of no booleans."""
    value = computed[index]
    return value if isinstance(value, cnp.ndarray) else _TOKEN.copy()


cdef inline int64_t _start(Executable *executable) noexcept nogil:
    """The time now in ns; 0 for most runs of a program that has been quick for long, for a look at the clock takes
    some 50 ns."""
    if executable.short_runs >= MIN_SHORT_RUNS:
        executable.untimed_runs += 1
        if executable.untimed_runs % TIMED_EVERY:
            return 0
    return PyTime_PerfCounterRaw()


cdef void _note_duration(Executable *executable, int64_t started) noexcept nogil:
    """Decide by what a run took, which `_start` has begun, where the next one runs."""
    cdef int64_t nanoseconds
    if not started:
        return
    nanoseconds = PyTime_PerfCounterRaw() - started
    executable.waits.run_nanoseconds = nanoseconds
    executable.short_runs = executable.short_runs + 1 if nanoseconds < SHORT_NANOSECONDS else 0
    if nanoseconds > SLOW_NANOSECONDS:
        executable.is_slow = True
    elif nanoseconds < QUICK_NANOSECONDS:
        executable.is_slow = False


cdef Error *_run_here(ExecuteArgs *args, Device *device) noexcept with gil:
    """Run a program of one device on the calling thread, with arguments that are ready."""
    cdef Executable *executable = args.executable
    cdef Py_ssize_t index
    cdef list computed
    cdef int64_t started
    cdef Error *error
    collect_dropped()
    try:
        gathered = _gather(executable, args.options, args.arguments[0])
        started = _start(executable)
        computed = PyObject_Call(<object>executable.run, gathered, NULL)
        _note_duration(executable, started)
        for index in range(executable.result_count):
            args.results[0][index] = keep_laid_out(
                _result(computed, index),
                executable.result_element_types[index],
                device.memories[executable.result_memories[index]],
                executable.result_layouts[index],
                NULL,
            )
        if args.complete != NULL:
            args.complete[0] = &READY
        return NULL
    except BaseException as exception:
        error = error_of(exception)
    if executable.is_synchronous or not executable.has_static_results:
        return error
    return _give_failure(args, device, error)


# ---- results that are to come, or do not come

cdef Buffer *_promise(Executable *executable, Py_ssize_t index, int64_t *dims, Memory *memory, Event *event) noexcept nogil:
    """A buffer for a result whose array is set when the event completes."""
    cdef Buffer *buffer = new_buffer(memory, executable.result_element_types[index], executable.result_ranks[index])
    memcpy(buffer.dims, dims, buffer.rank * sizeof(int64_t))
    set_layout(buffer, executable.result_layouts[index])
    buffer.ready = retain_event(event)
    return buffer


cdef void _promise_results(ExecuteArgs *args, Device *device, Event *event) noexcept nogil:
    """Fill the caller's lists with buffers whose arrays are still computed."""
    cdef Executable *executable = args.executable
    cdef Py_ssize_t index, number
    cdef Memory *memory
    cdef int64_t *dims
    for number in range(<Py_ssize_t>args.devices):
        if args.devices != 1:
            device = executable.devices[number]
        dims = executable.result_dims
        for index in range(executable.result_count):
            memory = device.memories[executable.result_memories[index]]
            args.results[number][index] = _promise(executable, index, dims, memory, event)
            dims += executable.result_ranks[index]
        if args.complete != NULL:
            args.complete[number] = retain_event(event)


cdef Error *_give_failure(ExecuteArgs *args, Device *device, Error *error) noexcept nogil:
    """Buffers of failed results; frees the error."""
    cdef Event *event = new_event()
    complete_event(event, error.code, error.message, error.size)
    free(error)
    _promise_results(args, device, event)
    release_event(event)
    return NULL


# ---- as a task

cdef Error *_enqueue(ExecuteArgs *args, Device *device) noexcept nogil:
    """Make a task of a call. It is submitted when all its arguments are ready."""
    cdef Executable *executable = args.executable
    cdef Py_ssize_t per_device = executable.argument_count
    cdef Py_ssize_t number, index, position
    cdef Buffer *buffer
    cdef Task *task = <Task *>allocate(sizeof(Task))
    retain(&executable.references)
    task.executable = executable
    task.device_count = args.devices
    task.event = new_event()
    task.arguments = <Buffer **>allocate(args.devices * per_device * sizeof(Buffer *))
    task.must_keep = <char *>allocate(per_device)
    task.results = <Buffer **>allocate(args.devices * executable.result_count * sizeof(Buffer *))
    for index in range(per_device):
        task.must_keep[index] = not executable.donated[index] or _is_excluded_from_donation(args.options, index)
    for number in range(task.device_count):
        for index in range(per_device):
            buffer = args.arguments[number][index]
            task.arguments[number * per_device + index] = buffer
            take_lock()
            buffer.references += 1
            buffer.pins += 1
            release_lock()
            if not task.must_keep[index]:
                release_array(buffer)
    _promise_results(args, device, task.event)
    for number in range(task.device_count):
        for index in range(executable.result_count):
            position = number * executable.result_count + index
            task.results[position] = args.results[number][index]
            retain(&task.results[position].references)
    task.pinned = task.device_count * per_device
    task.unready = task.pinned + 1
    count_task()
    for index in range(task.device_count * per_device):
        call_when_complete(task.arguments[index].ready, _note_argument, task)
    _note_argument(NULL, task)
    return NULL


cdef void _note_argument(Error *error, void *user) noexcept nogil:
    """An argument of a task is ready, or has failed."""
    cdef Task *task = <Task *>user
    cdef Py_ssize_t left
    take_lock()
    if error != NULL and task.failure == NULL:
        task.failure = error
        error = NULL
    task.unready -= 1
    left = task.unready
    release_lock()
    free(error)
    if left == 0:
        if task.failure != NULL:
            finish_task(task)
        else:
            submit(task)


cdef tuple _task_arguments(Task *task, Py_ssize_t number):
    """The arrays of a device's arguments; those that are donated leave their buffers."""
    cdef Py_ssize_t index, count = task.executable.argument_count
    cdef Buffer *buffer
    cdef tuple gathered = PyTuple_New(count)
    for index in range(count):
        buffer = task.arguments[number * count + index]
        if buffer.array == NULL:
            raise ExecutionError("Array has been deleted or donated.")
        array = <object>buffer.array
        if task.executable.donated[index]:
            if task.must_keep[index] or buffer.pins > 1:
                array = _read_only(array)
        Py_INCREF(array)
        PyTuple_SET_ITEM(gathered, index, array)
    return gathered


cdef void _unpin_arguments(Task *task) noexcept nogil:
    cdef Py_ssize_t index
    for index in range(task.pinned):
        unpin(task.arguments[index])
        release_buffer(task.arguments[index])
    task.pinned = 0


cdef void run_task(Task *task) noexcept with gil:
    """Run a program on a worker and fill its results, or note the failure. `finish_task` tells who waits."""
    cdef Executable *executable = task.executable
    cdef Py_ssize_t number, index, device_count = task.device_count
    cdef int64_t started
    cdef list computed
    collect_dropped()
    try:
        if device_count == 1:
            gathered = _task_arguments(task, 0)
            _unpin_arguments(task)
            started = _start(executable)
            computed = [PyObject_Call(<object>executable.run, gathered, NULL)]
            _note_duration(executable, started)
            del gathered
        else:
            shards = [_task_arguments(task, number) for number in range(device_count)]
            _unpin_arguments(task)
            computed = (<object>executable.program).run_partitioned(shards)
            del shards
        for number in range(device_count):
            for index in range(executable.result_count):
                array = _result(computed[number], index)
                if executable.result_layouts[index] != NULL:
                    array = laid_out(array, executable.result_layouts[index])
                fulfil(task.results[number * executable.result_count + index], array)
    except BaseException as exception:
        task.failure = error_of(exception)


cdef void fulfil(Buffer *buffer, object array) noexcept:
    """Store a computed array in its buffer, unless the buffer was deleted and nobody waits for it."""
    take_lock()
    if not buffer.is_deleted or buffer.pins:
        Py_INCREF(array)
        buffer.array = <PyObject *>array
    release_lock()


cdef void finish_task(Task *task) noexcept nogil:
    """Complete a task's event, with its failure if it has one, and free the task. The thread lacks the GIL."""
    cdef Executable *executable = task.executable
    cdef Py_ssize_t index, results = task.device_count * executable.result_count
    _unpin_arguments(task)
    if task.failure != NULL:
        complete_event(task.event, task.failure.code, task.failure.message, task.failure.size)
    else:
        complete_event(task.event, CODE_OK, NULL, 0)
    for index in range(results):
        release_buffer(task.results[index])
    release_event(task.event)
    release_executable(executable)
    free(task.failure)
    free(task.arguments)
    free(task.results)
    free(task.must_keep)
    free(task)
    uncount_task()


# ---- the function of the table

cdef Error *executable_execute(ExecuteArgs *args) noexcept nogil:
    cdef Error *error = NULL
    cdef Executable *executable = args.executable
    cdef Device *device
    cdef Py_ssize_t number, index
    cdef Buffer *buffer
    cdef bint is_ready = True
    if args.devices != <size_t>executable.device_count:
        return plain_error(CODE_INVALID_ARGUMENT, b"the number of devices is not the program's")
    if args.arguments_count != <size_t>executable.argument_count:
        return plain_error(CODE_INVALID_ARGUMENT, b"the number of arguments is not the program's")
    if executable.is_deleted:
        return plain_error(CODE_INVALID_ARGUMENT, b"the executable has been deleted")
    device = executable.devices[0]
    if not lacks(args, &args.device) and args.device != NULL:
        device = args.device
    for number in range(<Py_ssize_t>args.devices):
        for index in range(executable.argument_count):
            buffer = args.arguments[number][index]
            if buffer.is_deleted:
                return deleted_buffer()
            if buffer.ready != &READY:
                if executable.is_synchronous:
                    wait_for_event(buffer.ready)
                if not is_complete(buffer.ready):
                    is_ready = False
                elif buffer.ready.code != CODE_OK:
                    error = event_failure(buffer.ready)
                    return _give_failure(args, device, error) if executable.has_static_results else error
        if executable.donates:
            error = _check_donations(executable, args.options, args.arguments[number])
            if error != NULL:
                return error
    if executable.device_count == 1 and (executable.is_synchronous or not executable.has_static_results):
        for index in range(executable.argument_count):
            wait_for_event(args.arguments[0][index].ready)
        return _run_here(args, device)
    if executable.device_count != 1:
        return _enqueue(args, device)
    if not executable.is_slow and is_ready and not executable.calls_python:
        return _run_here(args, device)
    return _execute_slow(args, device, is_ready and not executable.calls_python)


cdef Error *_execute_slow(ExecuteArgs *args, Device *device, bint may_run_here) noexcept nogil:
    """Execute a program whose callers may go on meanwhile."""
    cdef Executable *executable = args.executable
    cdef bint runs_here = are_prompt(executable.waits) and may_run_here
    cdef Error *error = _run_here(args, device) if runs_here else _enqueue(args, device)
    if error == NULL:
        watch_results(executable.waits, args.results[0], executable.result_count)
    return error


cdef Error *execute_context_create(HandleArgs *args) noexcept nogil:
    """A context carries data of custom calls in C++, which no program here has."""
    args.handle = allocate(1)
    return NULL


cdef Error *execute_context_destroy(HandleArgs *args) noexcept nogil:
    free(args.handle)
    return NULL


cdef void fill_execution_slots() noexcept:
    offer(SLOT_ExecuteContext_Create, <void *>execute_context_create, &(<HandleArgs *>NULL).handle)
    offer(SLOT_ExecuteContext_Destroy, <void *>execute_context_destroy, &(<HandleArgs *>NULL).handle)
    offer_python(SLOT_LoadedExecutable_Execute, <void *>executable_execute, &(<ExecuteArgs *>NULL).complete)
