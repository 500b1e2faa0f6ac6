# Layouts of arrays: the order of their dimensions in memory. A layout is a pointer to the dimensions from the minor to
# the major one, or NULL for the order of C. Arrays are not tiled.

cdef struct MemoryLayout:
    size_t size
    const char *text

cdef int64_t ROW_MAJOR[MAX_RANK][MAX_RANK]
"""For each rank the layout in C order."""


cdef void fill_row_major() noexcept nogil:
    """Fill the layouts in C order of all ranks."""
    cdef int rank, index
    for rank in range(1, MAX_RANK + 1):
        for index in range(rank):
            ROW_MAJOR[rank - 1][index] = rank - 1 - index


cdef bint _is_row_major(const int64_t *minor_to_major, size_t rank) noexcept nogil:
    cdef size_t index
    for index in range(rank):
        if minor_to_major[index] != <int64_t>(rank - 1 - index):
            return False
    return True


cdef Error *read_layout(Layout *layout, size_t rank, const int64_t **minor_to_major) noexcept nogil:
    """The layout that a caller requests; C order by default, and for strides."""
    cdef TiledLayout *tiled
    cdef size_t index
    cdef unsigned long long seen = 0
    minor_to_major[0] = NULL
    if layout == NULL or layout.layout_type != LAYOUT_TILED or layout.value.tiled.minor_to_major_size == 0:
        return NULL
    tiled = &layout.value.tiled
    if tiled.tiles:
        return plain_error(CODE_UNIMPLEMENTED, b"NimbleHLO does not tile arrays")
    for index in range(tiled.minor_to_major_size):
        if 0 <= tiled.minor_to_major[index] < <int64_t>rank:
            seen |= <unsigned long long>1 << tiled.minor_to_major[index]
    if tiled.minor_to_major_size != rank or rank > MAX_RANK or seen != (<unsigned long long>-1) >> (64 - rank):
        return plain_error(CODE_INVALID_ARGUMENT, b"a layout does not name each dimension of its array once")
    if not _is_row_major(tiled.minor_to_major, rank):
        minor_to_major[0] = tiled.minor_to_major
    return NULL


cdef void set_layout(Buffer *buffer, const int64_t *minor_to_major) noexcept nogil:
    """Record the layout of a buffer's array."""
    if minor_to_major != NULL:
        buffer.minor_to_major = &buffer.dims[buffer.rank]
        memcpy(buffer.minor_to_major, minor_to_major, buffer.rank * sizeof(int64_t))


cdef bint has_layout(Buffer *buffer, const int64_t *minor_to_major) noexcept nogil:
    """Whether a buffer's array has a layout."""
    cdef int index
    if buffer.minor_to_major == NULL or minor_to_major == NULL:
        return buffer.minor_to_major == NULL and minor_to_major == NULL
    for index in range(buffer.rank):
        if buffer.minor_to_major[index] != minor_to_major[index]:
            return False
    return True


cdef void fill_strides(
    int64_t *strides, const int64_t *dims, size_t rank, const int64_t *minor_to_major, int64_t itemsize
) noexcept nogil:
    """The strides in bytes of an array in a layout."""
    cdef size_t index
    for index in range(rank):
        strides[minor_to_major[index]] = itemsize
        itemsize *= dims[minor_to_major[index]]


cdef object laid_out(cnp.ndarray array, const int64_t *minor_to_major):
    """A copy of an array in a layout."""
    cdef Py_ssize_t index, rank = cnp.PyArray_NDIM(array)
    cdef list major_to_minor = [minor_to_major[rank - 1 - index] for index in range(rank)]
    return copy_array(array.transpose(major_to_minor)).transpose(np.argsort(major_to_minor))


cdef Buffer *keep_laid_out(
    cnp.ndarray array, int element_type, Memory *memory, const int64_t *minor_to_major, Event *done
) except NULL:
    """A buffer with an array in a layout: a copy, after which the event is complete, unless it is the order of C."""
    cdef Buffer *buffer
    if minor_to_major == NULL:
        return keep_array(array, element_type, memory)
    buffer = keep_array(laid_out(array, minor_to_major), element_type, memory)
    set_layout(buffer, minor_to_major)
    if done != NULL:
        with nogil:
            complete_event(done, CODE_OK, NULL, 0)
    return buffer


# ---- layouts as objects of PJRT, which are texts such as {1,0}

cdef enum:
    LAYOUT_TEXT_BYTES = 3 * MAX_RANK + 3
"""Braces, the end, and for each dimension two digits and a comma."""


cdef MemoryLayout *new_memory_layout(const int64_t *minor_to_major, size_t rank) noexcept nogil:
    """A layout that the caller frees; NULL for C order."""
    cdef MemoryLayout *layout = <MemoryLayout *>allocate(sizeof(MemoryLayout) + LAYOUT_TEXT_BYTES)
    cdef char *text = <char *>(layout + 1)
    cdef size_t index
    if minor_to_major == NULL and rank:
        minor_to_major = ROW_MAJOR[rank - 1]
    layout.text = text
    layout.size = snprintf(text, LAYOUT_TEXT_BYTES, b"{")
    for index in range(rank):
        layout.size += snprintf(
            text + layout.size, LAYOUT_TEXT_BYTES - layout.size, b"%s%d", b"," if index else b"", <int>minor_to_major[index]
        )
    layout.size += snprintf(text + layout.size, LAYOUT_TEXT_BYTES - layout.size, b"}")
    return layout


cdef Error *layout_destroy(HandleArgs *args) noexcept nogil:
    free(args.handle)
    return NULL


cdef Error *layout_serialize(SerializeArgs *args) noexcept nogil:
    cdef MemoryLayout *layout = <MemoryLayout *>args.handle
    args.size = layout.size
    args.holder = allocate(layout.size)
    memcpy(args.holder, layout.text, layout.size)
    args.data = <const char *>args.holder
    args.delete = free_holder
    return NULL


cdef Error *default_layout(DefaultLayoutArgs *args) noexcept nogil:
    """The default layout of arrays: C order."""
    if args.rank > MAX_RANK:
        return plain_error(CODE_UNIMPLEMENTED, b"NimbleHLO does not offer arrays of more than 64 dimensions")
    args.layout = new_memory_layout(NULL, args.rank)
    return NULL


cdef Error *layout_of_buffer(PointerArgs *args) noexcept nogil:
    cdef Buffer *buffer = <Buffer *>args.handle
    args.value = new_memory_layout(buffer.minor_to_major, buffer.rank)
    return NULL
