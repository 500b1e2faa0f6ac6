# Lists that an executable answers with, and the extensions that tell how arguments and results are divided, and in
# which layouts they are.

cdef ShardingsExtension SHARDINGS
cdef LayoutsExtension LAYOUTS


cdef int fill_texts(Texts *texts, list values) except -1:
    """A pointer to bytes that the list owns."""
    cdef Py_ssize_t index
    cdef bytes value
    texts.count = len(values)
    texts.items = <const char **>allocate(texts.count * sizeof(char *))
    texts.sizes = <size_t *>allocate(texts.count * sizeof(size_t))
    for index in range(texts.count):
        value = values[index]
        texts.items[index] = value
        texts.sizes[index] = len(value)
    return 0


cdef void fill_memory_kinds(Texts *texts, int *kinds, Py_ssize_t count) noexcept nogil:
    """The names of memory kinds, by their numbers."""
    cdef Py_ssize_t index
    texts.count = count
    texts.items = <const char **>allocate(count * sizeof(char *))
    texts.sizes = <size_t *>allocate(count * sizeof(size_t))
    for index in range(count):
        texts.items[index] = MEMORY_KIND_NAMES[kinds[index]]
        texts.sizes[index] = strlen(texts.items[index])


cdef void free_texts(Texts *texts) noexcept nogil:
    free(texts.items)
    free(texts.sizes)


cdef Error *answer_texts(SizedListsArgs *args, Texts *texts, Py_ssize_t count) noexcept nogil:
    """Return texts; null pointers if there are none."""
    cdef bint has_texts = 0 < count == texts.count
    args.count = count
    args.items = texts.items if has_texts else NULL
    args.sizes = texts.sizes if has_texts else NULL
    return NULL


cdef Error *argument_shardings(SizedListsArgs *args) noexcept nogil:
    cdef Executable *executable = <Executable *>args.handle
    return answer_texts(args, &executable.argument_shardings, executable.argument_count)


cdef Error *result_shardings(SizedListsArgs *args) noexcept nogil:
    cdef Executable *executable = <Executable *>args.handle
    return answer_texts(args, &executable.result_shardings, executable.result_count)


cdef Error *argument_memory_kinds(SizedListsArgs *args) noexcept nogil:
    cdef Executable *executable = <Executable *>args.handle
    return answer_texts(args, &executable.argument_memory_kinds, executable.argument_count)


cdef Error *result_memory_kinds(SizedListsArgs *args) noexcept nogil:
    cdef Executable *executable = <Executable *>args.handle
    return answer_texts(args, &executable.result_memory_kinds, executable.result_count)


cdef int fill_layouts(LayoutList *layouts, list texts) except -1:
    """Make layouts of texts, which the list keeps."""
    cdef Py_ssize_t index
    cdef bytes text
    cdef MemoryLayout *layout
    layouts.count = len(texts)
    layouts.items = <MemoryLayout **>allocate(layouts.count * (sizeof(MemoryLayout *) + sizeof(MemoryLayout)))
    layout = <MemoryLayout *>(layouts.items + layouts.count)
    for index in range(layouts.count):
        text = texts[index]
        layout.text, layout.size = text, len(text)
        layouts.items[index] = layout
        layout += 1
    return 0


cdef Error *layouts_of_arguments(CountedListArgs *args) noexcept nogil:
    cdef Executable *executable = <Executable *>args.handle
    args.count, args.items = executable.argument_layout_texts.count, executable.argument_layout_texts.items
    return NULL


cdef Error *layouts_of_results(CountedListArgs *args) noexcept nogil:
    cdef Executable *executable = <Executable *>args.handle
    args.count, args.items = executable.result_layout_texts.count, executable.result_layout_texts.items
    return NULL


cdef Error *result_dimensions(SizedListsArgs *args) noexcept nogil:
    """The sizes of all results one after the other, and the ranks."""
    cdef Executable *executable = <Executable *>args.handle
    args.count = executable.result_count
    args.items = executable.result_dims
    args.sizes = executable.result_rank_sizes
    return NULL


# ---- the cost of a call

cdef Error *_fill_cost(Executable *executable) noexcept with gil:
    cdef NamedValue *values
    cdef Py_ssize_t index = 0
    cdef bytes name
    cdef float cost
    try:
        costs = (<object>executable.program).cost()
        names = [text.encode() for text in costs]
        values = <NamedValue *>allocate(len(costs) * sizeof(NamedValue))
        for name, cost in zip(names, costs.values()):
            values[index].header.struct_size = sizeof(NamedValue)
            values[index].name = strdup(name)
            values[index].name_size = len(name)
            values[index].value_kind = VALUE_FLOAT
            memcpy(&values[index].value, &cost, sizeof(float))
            values[index].value_size = 1
            index += 1
    except BaseException as exception:
        return error_of(exception)
    executable.costs = values
    executable.cost_count = index
    return NULL


cdef Error *executable_cost(CountedListArgs *args) noexcept nogil:
    cdef Executable *executable = <Executable *>args.handle
    cdef Error *error = NULL
    if executable.costs == NULL:
        error = _fill_cost(executable)
    args.count = executable.cost_count
    args.items = executable.costs
    return error


cdef void free_costs(Executable *executable) noexcept nogil:
    cdef Py_ssize_t index
    for index in range(executable.cost_count):
        free(<void *>executable.costs[index].name)
    free(executable.costs)


cdef void fill_extensions() noexcept:
    offer_python(SLOT_Executable_GetCostAnalysis, <void *>executable_cost, &(<CountedListArgs *>NULL).items)
    offer(SLOT_Executable_OutputMemoryKinds, <void *>result_memory_kinds, &(<SizedListsArgs *>NULL).sizes)
    offer(SLOT_Executable_ParameterMemoryKinds, <void *>argument_memory_kinds, &(<SizedListsArgs *>NULL).sizes)
    offer(SLOT_Executable_OutputDimensions, <void *>result_dimensions, &(<SizedListsArgs *>NULL).sizes)
    SHARDINGS.base.struct_size = sizeof(ShardingsExtension)
    SHARDINGS.base.extension_type = EXTENSION_SHARDINGS
    SHARDINGS.functions[0] = entry_point(SLOTS + 0, <void *>argument_shardings, &(<SizedListsArgs *>NULL).sizes)
    SHARDINGS.functions[1] = entry_point(SLOTS + 1, <void *>result_shardings, &(<SizedListsArgs *>NULL).sizes)
    SHARDINGS.base.next = &LAYOUTS.base
    LAYOUTS.base.struct_size = sizeof(LayoutsExtension)
    LAYOUTS.base.extension_type = EXTENSION_LAYOUTS
    LAYOUTS.functions[0] = entry_point(SLOTS + 2, <void *>layout_destroy, &(<HandleArgs *>NULL).handle)
    LAYOUTS.functions[1] = entry_point(SLOTS + 3, <void *>layout_serialize, &(<SerializeArgs *>NULL).delete)
    LAYOUTS.functions[2] = entry_point(SLOTS + 4, <void *>default_layout, &(<DefaultLayoutArgs *>NULL).layout)  # of a client
    LAYOUTS.functions[3] = entry_point(SLOTS + 5, <void *>layout_of_buffer, &(<PointerArgs *>NULL).value)
    LAYOUTS.functions[4] = entry_point(SLOTS + 6, <void *>default_layout, &(<DefaultLayoutArgs *>NULL).layout)  # of a topology
    LAYOUTS.functions[5] = entry_point(SLOTS + 7, <void *>layouts_of_results, &(<CountedListArgs *>NULL).items)
    LAYOUTS.functions[6] = entry_point(SLOTS + 8, <void *>layouts_of_arguments, &(<CountedListArgs *>NULL).items)
    API.header.extensions = &SHARDINGS.base
