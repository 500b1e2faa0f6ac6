# PJRT_Executable and PJRT_LoadedExecutable: one structure for both, which counts who holds it. What is hot is in the
# structure; all else is asked of the Python object (`LoadedProgram` in program.py).

cdef struct Texts:
    Py_ssize_t count
    const char **items
    size_t *sizes

cdef struct LayoutList:
    Py_ssize_t count
    MemoryLayout **items

cdef struct Executable:
    Py_ssize_t references
    PyObject *program, *run
    Client *client
    bint is_deleted
    Py_ssize_t argument_count, result_count, device_count, partitions
    Device **devices
    LogicalDevice *logical_devices
    int *result_element_types, *result_ranks
    size_t *result_rank_sizes
    int64_t *result_dims, **result_layouts
    int *result_memories
    LayoutList argument_layout_texts, result_layout_texts
    Texts argument_shardings, result_shardings, argument_memory_kinds, result_memory_kinds
    NamedValue *costs
    Py_ssize_t cost_count
    char *donated
    bint donates, has_static_results, calls_python, is_synchronous, is_slow
    Waits *waits
    int short_runs
    unsigned int untimed_runs


cdef int _fill_lists(Executable *executable, object program) except -1:
    """Fill the lists that an executable answers with."""
    cdef Py_ssize_t index
    cdef int *kinds = <int *>allocate(executable.argument_count * sizeof(int))
    for index in range(executable.argument_count):
        kinds[index] = program.argument_memories[index]
    fill_memory_kinds(&executable.argument_memory_kinds, kinds, executable.argument_count)
    free(kinds)
    fill_memory_kinds(&executable.result_memory_kinds, executable.result_memories, executable.result_count)
    fill_layouts(&executable.argument_layout_texts, program.argument_layout_texts)
    fill_layouts(&executable.result_layout_texts, program.result_layout_texts)
    fill_texts(&executable.argument_shardings, program.argument_shardings)
    fill_texts(&executable.result_shardings, program.result_shardings)
    return 0


cdef int64_t *_layout_of(object minor_to_major) except? NULL:
    """A layout; NULL, which is the order of C, for None."""
    cdef int64_t *layout
    cdef Py_ssize_t index
    if minor_to_major is None:
        return NULL
    layout = <int64_t *>allocate(len(minor_to_major) * sizeof(int64_t))
    for index in range(len(minor_to_major)):
        layout[index] = minor_to_major[index]
    return layout


cdef Executable *executable_of(object program, Client *client) except NULL:
    """The structure for a `LoadedProgram`."""
    cdef Executable *executable = <Executable *>allocate(sizeof(Executable))
    cdef Py_ssize_t index, dims = 0
    executable.references = 1
    executable.client = client
    Py_INCREF(program)
    executable.program = <PyObject *>program
    run = program.run
    Py_INCREF(run)
    executable.run = <PyObject *>run
    executable.argument_count = program.argument_count
    executable.result_count = len(program.result_element_types)
    executable.result_element_types = <int *>allocate(executable.result_count * sizeof(int))
    executable.result_ranks = <int *>allocate(executable.result_count * sizeof(int))
    executable.result_rank_sizes = <size_t *>allocate(executable.result_count * sizeof(size_t))
    executable.result_memories = <int *>allocate(executable.result_count * sizeof(int))
    executable.result_dims = <int64_t *>allocate(sum(map(len, program.result_shapes)) * sizeof(int64_t))
    executable.result_layouts = <int64_t **>allocate(executable.result_count * sizeof(int64_t *))
    executable.has_static_results = True
    for index in range(executable.result_count):
        executable.result_element_types[index] = program.result_element_types[index]
        executable.result_ranks[index] = len(program.result_shapes[index])
        executable.result_rank_sizes[index] = executable.result_ranks[index]
        executable.result_memories[index] = program.result_memories[index]
        executable.result_layouts[index] = _layout_of(program.result_layouts[index])
        for size in program.result_shapes[index]:
            executable.result_dims[dims] = size
            dims += 1
            if size < 0:
                executable.has_static_results = False
    _fill_lists(executable, program)
    executable.calls_python = program.calls_python
    executable.is_synchronous = program.is_synchronous
    executable.is_slow = program.is_slow_at_first
    executable.waits = new_waits()
    executable.donated = <char *>allocate(executable.argument_count)
    for index in program.donated:
        executable.donated[index] = 1
        executable.donates = True
    executable.partitions = program.partitions
    devices = program.device_ids
    executable.device_count = len(devices)
    executable.devices = <Device **>allocate(executable.device_count * sizeof(Device *))
    executable.logical_devices = <LogicalDevice *>allocate(executable.device_count * sizeof(LogicalDevice))
    for index in range(executable.device_count):
        executable.devices[index] = client.devices[<int>devices[index]]
        executable.logical_devices[index].replica = <int>(index // executable.partitions)
        executable.logical_devices[index].partition = <int>(index % executable.partitions)
    return executable


cdef void release_executable(Executable *executable) noexcept nogil:
    cdef Py_ssize_t index
    if executable != NULL and release(&executable.references):
        drop(executable.run)
        drop(executable.program)
        free(executable.result_element_types)
        free(executable.result_ranks)
        free(executable.result_rank_sizes)
        free(executable.result_dims)
        free(executable.result_memories)
        for index in range(executable.result_count):
            free(executable.result_layouts[index])
        free(executable.result_layouts)
        free(executable.argument_layout_texts.items)
        free(executable.result_layout_texts.items)
        free_texts(&executable.argument_shardings)
        free_texts(&executable.result_shardings)
        free_texts(&executable.argument_memory_kinds)
        free_texts(&executable.result_memory_kinds)
        free_costs(executable)
        release_waits(executable.waits)
        free(executable.donated)
        free(executable.devices)
        free(executable.logical_devices)
        free(executable)


# ---- compiling

cdef Error *_compile(
    const ProgramText *program, const char *options, size_t options_size, Client *client, Executable **executable
) noexcept with gil:
    if lacks(program, &program.format_size):
        return short_structure()
    collect_dropped()
    try:
        compiled = compile_program(
            program.code[: program.code_size],
            program.format[: program.format_size].decode(),
            options[:options_size],
            client.device_count,
        )
        executable[0] = executable_of(compiled, client)
    except BaseException as exception:
        return error_of(exception)
    return NULL


cdef Error *client_compile(ClientCompileArgs *args) noexcept nogil:
    return _compile(args.program, args.options, args.options_size, args.client, &args.executable)


cdef Error *compile_for_topology(CompileArgs *args) noexcept nogil:
    return _compile(args.program, args.options, args.options_size, <Client *>args.topology, &args.executable)


cdef Error *client_load(ClientLoadArgs *args) noexcept nogil:
    retain(&args.executable.references)
    args.loaded = args.executable
    return NULL


cdef Error *executable_deserialize(DeserializeArgs *args) noexcept with gil:
    cdef const char *options = NULL
    if not lacks(args, &args.options_size):
        options = args.options
    try:
        compiled = deserialize_program(
            args.data[: args.size],
            None if options == NULL else options[: args.options_size],
            args.client.device_count,
        )
        args.executable = executable_of(compiled, args.client)
    except BaseException as exception:
        return error_of(exception)
    return NULL


# ---- questions about an executable

cdef Error *executable_destroy(HandleArgs *args) noexcept nogil:
    release_executable(<Executable *>args.handle)
    return NULL


cdef Error *executable_get(PointerArgs *args) noexcept nogil:
    retain(&(<Executable *>args.handle).references)
    args.value = args.handle
    return NULL


cdef Error *executable_delete(HandleArgs *args) noexcept nogil:
    (<Executable *>args.handle).is_deleted = True
    return NULL


cdef Error *executable_is_deleted(BoolArgs *args) noexcept nogil:
    args.value = (<Executable *>args.handle).is_deleted
    return NULL


cdef Error *executable_devices(ListArgs *args) noexcept nogil:
    args.items = (<Executable *>args.handle).devices
    args.count = (<Executable *>args.handle).device_count
    return NULL


cdef Error *executable_logical_devices(ListArgs *args) noexcept nogil:
    args.items = (<Executable *>args.handle).logical_devices
    args.count = (<Executable *>args.handle).device_count
    return NULL


cdef Error *executable_result_count(SizeArgs *args) noexcept nogil:
    args.value = (<Executable *>args.handle).result_count
    return NULL


cdef Error *_answer_text(StringArgs *args, const char *name) noexcept with gil:
    """Return an attribute of type bytes, which the program owns."""
    cdef bytes text
    try:
        text = getattr(_program(args.handle), name.decode())
    except BaseException as exception:
        return error_of(exception)
    args.text = text
    args.size = len(text)
    return NULL


cdef object _program(const void *executable):
    """The Python object behind an executable."""
    return <object>(<Executable *>executable).program


cdef Error *executable_name(StringArgs *args) noexcept nogil:
    return _answer_text(args, b"name")


cdef Error *executable_fingerprint(StringArgs *args) noexcept nogil:
    return _answer_text(args, b"fingerprint")


cdef Error *executable_replicas(SizeArgs *args) noexcept nogil:
    args.value = (<Executable *>args.handle).device_count // (<Executable *>args.handle).partitions
    return NULL


cdef Error *executable_partitions(SizeArgs *args) noexcept nogil:
    args.value = (<Executable *>args.handle).partitions
    return NULL


cdef Error *executable_code_size(Int64Args *args) noexcept nogil:
    args.value = -1
    return NULL


cdef Error *executable_result_types(ListArgs *args) noexcept nogil:
    args.items = (<Executable *>args.handle).result_element_types
    args.count = (<Executable *>args.handle).result_count
    return NULL


cdef Error *_answer_bytes(SerializeArgs *args, const char *name) noexcept with gil:
    """Return a copy of the bytes that a method of the program returns.

    jaxlib ends the process where it gets an error, so an exception that another thread raised in this one, as at
    the end of the process, does not become one: it comes again when this thread runs Python.
    """
    cdef bytes data = None
    cdef object interruption = None
    while data is None:
        try:
            data = getattr(_program(args.handle), name.decode())()
        except Exception as exception:
            return error_of(exception)
        except BaseException as exception:
            interruption = type(exception)
    if interruption is not None:
        PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), <PyObject *>interruption)
    args.size = len(data)
    args.holder = allocate(args.size)
    memcpy(args.holder, <const char *>data, args.size)
    args.data = <const char *>args.holder
    args.delete = free_holder
    return NULL


cdef Error *executable_serialize(SerializeArgs *args) noexcept nogil:
    return _answer_bytes(args, b"serialize")


cdef Error *executable_compile_options(SerializeArgs *args) noexcept nogil:
    return _answer_bytes(args, b"compile_options")


cdef Error *executable_device_assignment(SerializeArgs *args) noexcept nogil:
    return _answer_bytes(args, b"device_assignment")


cdef Error *executable_optimized_program(OptimizedProgramArgs *args) noexcept with gil:
    """Copy the program's text; a call without memory for it returns its size."""
    cdef ProgramText *program = args.program
    cdef bytes text
    try:
        text = _program(args.executable).text()
    except BaseException as exception:
        return error_of(exception)
    program.format = b"mlir"
    program.format_size = 4
    if program.code != NULL and program.code_size >= <size_t>len(text):
        memcpy(program.code, <const char *>text, len(text))
    program.code_size = len(text)
    return NULL


cdef Error *executable_memory(CompiledMemoryArgs *args) noexcept with gil:
    try:
        arguments, results, donated, temporaries, peak = _program(args.executable).memory()
    except BaseException as exception:
        return error_of(exception)
    args.arguments, args.results = arguments, results
    args.aliased, args.temporaries = donated, temporaries
    args.code = args.host_code = args.host_arguments = args.host_results = 0
    args.host_aliased = args.host_temporaries = 0
    if not lacks(args, &args.peak):
        args.peak = peak
    if not lacks(args, &args.peak_unpadded):
        args.total = args.total_allocated = args.peak_unpadded = peak
        args.indefinite = 0
    return NULL


cdef void fill_executable_slots() noexcept:
    offer_python(SLOT_Client_Compile, <void *>client_compile, &(<ClientCompileArgs *>NULL).executable)
    offer_python(SLOT_Compile, <void *>compile_for_topology, &(<CompileArgs *>NULL).executable)
    offer(SLOT_Client_Load, <void *>client_load, &(<ClientLoadArgs *>NULL).loaded)
    offer_python(SLOT_Executable_DeserializeAndLoad, <void *>executable_deserialize, &(<DeserializeArgs *>NULL).executable)
    offer(SLOT_Executable_Destroy, <void *>executable_destroy, &(<HandleArgs *>NULL).handle)
    offer(SLOT_LoadedExecutable_Destroy, <void *>executable_destroy, &(<HandleArgs *>NULL).handle)
    offer(SLOT_LoadedExecutable_GetExecutable, <void *>executable_get, &(<PointerArgs *>NULL).value)
    offer(SLOT_LoadedExecutable_Delete, <void *>executable_delete, &(<HandleArgs *>NULL).handle)
    offer(SLOT_LoadedExecutable_IsDeleted, <void *>executable_is_deleted, &(<BoolArgs *>NULL).value)
    offer(SLOT_LoadedExecutable_AddressableDevices, <void *>executable_devices, &(<ListArgs *>NULL).count)
    offer(SLOT_LoadedExecutable_AddressableDeviceLogicalIds, <void *>executable_logical_devices, &(<ListArgs *>NULL).count)
    offer_python(SLOT_LoadedExecutable_GetDeviceAssignment, <void *>executable_device_assignment, &(<SerializeArgs *>NULL).delete)
    offer_python(SLOT_LoadedExecutable_Fingerprint, <void *>executable_fingerprint, &(<StringArgs *>NULL).size)
    offer_python(SLOT_Executable_Fingerprint, <void *>executable_fingerprint, &(<StringArgs *>NULL).size)
    offer_python(SLOT_Executable_Name, <void *>executable_name, &(<StringArgs *>NULL).size)
    offer(SLOT_Executable_NumReplicas, <void *>executable_replicas, &(<SizeArgs *>NULL).value)
    offer(SLOT_Executable_NumPartitions, <void *>executable_partitions, &(<SizeArgs *>NULL).value)
    offer(SLOT_Executable_NumOutputs, <void *>executable_result_count, &(<SizeArgs *>NULL).value)
    offer(SLOT_Executable_SizeOfGeneratedCodeInBytes, <void *>executable_code_size, &(<Int64Args *>NULL).value)
    offer(SLOT_Executable_OutputElementTypes, <void *>executable_result_types, &(<ListArgs *>NULL).count)
    offer_python(SLOT_Executable_OptimizedProgram, <void *>executable_optimized_program, &(<OptimizedProgramArgs *>NULL).program)
    offer_python(SLOT_Executable_Serialize, <void *>executable_serialize, &(<SerializeArgs *>NULL).delete)
    offer_python(SLOT_Executable_GetCompileOptions, <void *>executable_compile_options, &(<SerializeArgs *>NULL).delete)
    offer_python(SLOT_Executable_GetCompiledMemoryStats, <void *>executable_memory, &(<CompiledMemoryArgs *>NULL).host_temporaries)
