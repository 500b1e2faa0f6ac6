# PJRT_Buffer: a NumPy array, or the promise of one that a worker computes. Its elements lie in C order, or in the
# layout that the caller has requested (layouts.pxi).

cdef struct Buffer:
    Py_ssize_t references
    PyObject *array
    Event *ready
    Memory *memory
    int element_type, rank, external_references, pins
    bint is_deleted
    Waits *waits
    int64_t call, *minor_to_major, dims[1]


cdef Buffer *new_buffer(Memory *memory, int element_type, int rank) noexcept nogil:
    """A buffer whose array, event and sizes the caller sets."""
    cdef Buffer *buffer = <Buffer *>allocate(sizeof(Buffer) + 2 * rank * sizeof(int64_t))
    buffer.references, buffer.ready = 1, &READY
    buffer.memory, buffer.element_type, buffer.rank = memory, element_type, rank
    return buffer


cdef Buffer *buffer_of(PyObject *array, int element_type, Memory *memory) noexcept:
    """A buffer that holds an array of that element type, whose reference it takes."""
    cdef int axis, rank = cnp.PyArray_NDIM(<cnp.ndarray>array)
    cdef Buffer *buffer = new_buffer(memory, element_type, rank)
    buffer.array = array
    for axis in range(rank):
        buffer.dims[axis] = cnp.PyArray_DIM(<cnp.ndarray>array, axis)
    return buffer


cdef Buffer *keep_array(object array, int element_type, Memory *memory) noexcept:
    """A buffer that holds an array of that element type."""
    Py_INCREF(array)
    return buffer_of(<PyObject *>array, element_type, memory)


cdef void release_buffer(Buffer *buffer) noexcept nogil:
    if release(&buffer.references):
        drop_array(buffer.array)
        release_event(buffer.ready)
        release_waits(buffer.waits)
        free(buffer)


cdef PyObject *pin(Buffer *buffer) noexcept nogil:
    """The array of a buffer, which stays until `unpin`; NULL if the buffer is deleted."""
    cdef PyObject *array
    take_lock()
    array = NULL if buffer.is_deleted else buffer.array
    if array != NULL:
        buffer.pins += 1
    release_lock()
    return array


cdef void unpin(Buffer *buffer) noexcept nogil:
    cdef PyObject *array = NULL
    take_lock()
    buffer.pins -= 1
    if buffer.pins == 0 and buffer.is_deleted:
        array = buffer.array
        buffer.array = NULL
    release_lock()
    drop_array(array)


cdef bint release_array(Buffer *buffer) noexcept nogil:
    """Delete what a buffer holds; whether nobody else looks at it."""
    cdef PyObject *array = NULL
    cdef bint is_alone
    take_lock()
    buffer.is_deleted = True
    is_alone = buffer.pins == 0
    if is_alone:
        array = buffer.array
        buffer.array = NULL
    release_lock()
    drop_array(array)
    return is_alone


cdef Error *deleted_buffer() noexcept nogil:
    return plain_error(CODE_INVALID_ARGUMENT, b"Array has been deleted or donated.")


cdef object array_of(Buffer *buffer):
    """The array of a buffer that is ready.

    Raises:
        ExecutionError: it is deleted.
    """
    # Another thread without the GIL may take the array away meanwhile; its reference lives while this one has it.
    cdef PyObject *array = buffer.array
    if buffer.is_deleted or array == NULL:
        raise ExecutionError("Array has been deleted or donated.")
    return <object>array


# ---- memory of the caller

cdef struct HostMemory:
    Event *done
    void *data
    void (*on_delete)(void *, void *) noexcept nogil
    void *user


cdef void _release_host_memory(object capsule) noexcept:
    cdef HostMemory *host = <HostMemory *>PyCapsule_GetPointer(capsule, b"nimblehlo.host_memory")
    with nogil:
        if host.done != NULL:
            complete_event(host.done, CODE_OK, NULL, 0)
            release_event(host.done)
        if host.on_delete != NULL:
            host.on_delete(host.data, host.user)
        free(host)


cdef object _host_array(
    const void *data, int element_type, const int64_t *dims, size_t rank, const int64_t *strides, bint is_writable
):
    """An array in the caller's memory.

    Raises:
        UnsupportedError: no dtype stands for the element type.
    """
    cdef cnp.npy_intp sizes[MAX_RANK], steps[MAX_RANK]
    cdef object dtype
    cdef size_t axis
    if rank > MAX_RANK:
        raise UnsupportedError(f"arrays of more than {MAX_RANK} dimensions are not supported")
    dtype = dtype_of(element_type)
    for axis in range(rank):
        sizes[axis] = dims[axis]
        if strides != NULL:
            steps[axis] = strides[axis]
    Py_INCREF(dtype)
    return new_array(
        dtype,
        <int>rank,
        sizes,
        steps if strides != NULL else NULL,
        <void *>data,
        cnp.NPY_ARRAY_WRITEABLE if is_writable else 0,
    )


cdef int hold_host_memory(
    cnp.ndarray array, const void *data, Event *done, void (*on_delete)(void *, void *) noexcept nogil, void *user
) except -1:
    """Arrange that the caller is notified when the array is freed: by the event, or the function."""
    cdef HostMemory *host = <HostMemory *>allocate(sizeof(HostMemory))
    host.done, host.data, host.on_delete, host.user = done, <void *>data, on_delete, user
    if done != NULL:
        retain_event(done)
    capsule = PyCapsule_New(host, b"nimblehlo.host_memory", _release_host_memory)
    cnp.set_array_base(array, capsule)
    return 0


cdef Buffer *_from_host(
    FromHostArgs *args, Memory *memory, const int64_t *minor_to_major, Event *done
) except NULL:
    """A buffer of the caller's data: in the caller's memory if that is requested and the data is in C order."""
    cdef cnp.ndarray array
    cdef bint keeps = args.semantics == IMMUTABLE_ZERO_COPY or args.semantics == MUTABLE_ZERO_COPY
    cdef const int64_t *strides = args.byte_strides if args.byte_strides_count else NULL
    array = _host_array(
        args.data, args.element_type, args.dims, args.rank, strides, args.semantics == MUTABLE_ZERO_COPY
    )
    if minor_to_major != NULL:
        return keep_laid_out(array, args.element_type, memory, minor_to_major, done)
    if keeps and cnp.PyArray_IS_C_CONTIGUOUS(array) and cnp.PyArray_ISALIGNED(array) and array.nbytes:
        hold_host_memory(array, args.data, done, NULL, NULL)
    else:
        array = copy_array(array)
        with nogil:
            complete_event(done, CODE_OK, NULL, 0)
    return keep_array(array, args.element_type, memory)


cdef Error *buffer_from_host(FromHostArgs *args) noexcept with gil:
    cdef Memory *memory = args.memory if args.memory != NULL else args.device.memories[0]
    cdef const int64_t *minor_to_major
    cdef Error *error = read_layout(args.layout, args.rank, &minor_to_major)
    cdef Event *done
    if error != NULL:
        return error
    collect_dropped()
    done = new_event()
    try:
        args.buffer = _from_host(args, memory, minor_to_major, done)
    except BaseException as exception:
        release_event(done)
        return error_of(exception)
    args.done = done
    return NULL


cdef Error *buffer_of_view(ViewArgs *args) noexcept with gil:
    cdef Memory *memory = args.device.memories[0]
    cdef int64_t strides[MAX_RANK]
    cdef const int64_t *minor_to_major
    cdef Error *error = read_layout(args.layout, args.rank, &minor_to_major)
    if error != NULL:
        return error
    if not lacks(args, &args.memory) and args.memory != NULL:
        memory = args.memory
    try:
        if minor_to_major != NULL:
            fill_strides(strides, args.dims, args.rank, minor_to_major, dtype_of(args.element_type).itemsize)
        array = _host_array(
            args.data, args.element_type, args.dims, args.rank, strides if minor_to_major != NULL else NULL, False
        )
        hold_host_memory(array, args.data, NULL, args.on_delete, args.on_delete_user)
        args.buffer = keep_array(array, args.element_type, memory)
        set_layout(args.buffer, minor_to_major)
    except BaseException as exception:
        return error_of(exception)
    return NULL


cdef Error *buffer_uninitialized(UninitializedBufferArgs *args) noexcept with gil:
    cdef Memory *memory = args.memory if args.memory != NULL else args.device.memories[0]
    cdef const int64_t *minor_to_major
    cdef Error *error = read_layout(args.layout, args.rank, &minor_to_major)
    if error != NULL:
        return error
    try:
        array = empty_array(args.element_type, args.dims, args.rank)
        args.buffer = keep_laid_out(array, args.element_type, memory, minor_to_major, NULL)
    except BaseException as exception:
        return error_of(exception)
    return NULL


cdef Error *buffer_of_error(ErrorBufferArgs *args) noexcept nogil:
    cdef Buffer *buffer
    cdef size_t axis
    buffer = new_buffer(args.memory, args.element_type, <int>args.rank)
    for axis in range(args.rank):
        buffer.dims[axis] = args.dims[axis]
    buffer.ready = new_event()
    complete_event(buffer.ready, args.code, args.message, args.message_size)
    args.buffer = buffer
    return NULL


# ---- questions about a buffer

cdef Error *buffer_destroy(HandleArgs *args) noexcept nogil:
    cdef Buffer *buffer = <Buffer *>args.handle
    if buffer != NULL:
        release_buffer(buffer)
    return NULL


cdef Error *buffer_delete(HandleArgs *args) noexcept nogil:
    cdef Buffer *buffer = <Buffer *>args.handle
    release_array(buffer)
    return NULL


cdef Error *buffer_is_deleted(BoolArgs *args) noexcept nogil:
    args.value = (<Buffer *>args.handle).is_deleted
    return NULL


cdef Error *buffer_element_type(IntArgs *args) noexcept nogil:
    args.value = (<Buffer *>args.handle).element_type
    return NULL


cdef Error *buffer_dimensions(ListArgs *args) noexcept nogil:
    cdef Buffer *buffer = <Buffer *>args.handle
    args.items = buffer.dims
    args.count = buffer.rank
    return NULL


cdef Error *buffer_layout(BufferLayoutArgs *args) noexcept nogil:
    memset(&args.layout, 0, sizeof(Layout))
    args.layout.header.struct_size = sizeof(Layout)
    args.layout.layout_type = LAYOUT_TILED
    args.layout.value.tiled.header.struct_size = sizeof(TiledLayout)
    args.layout.value.tiled.minor_to_major_size = args.buffer.rank
    if args.buffer.minor_to_major != NULL:
        args.layout.value.tiled.minor_to_major = args.buffer.minor_to_major
    elif args.buffer.rank:
        args.layout.value.tiled.minor_to_major = ROW_MAJOR[args.buffer.rank - 1]
    return NULL


cdef size_t buffer_bytes(Buffer *buffer) noexcept nogil:
    """The bytes that a buffer's array takes."""
    cdef size_t count = ITEM_BYTES[buffer.element_type]
    cdef int axis
    for axis in range(buffer.rank):
        count *= buffer.dims[axis]
    return count


cdef Error *buffer_size(SizeArgs *args) noexcept nogil:
    args.value = buffer_bytes(<Buffer *>args.handle)
    return NULL


cdef Error *buffer_device(PointerArgs *args) noexcept nogil:
    args.value = (<Buffer *>args.handle).memory.device
    return NULL


cdef Error *buffer_memory(PointerArgs *args) noexcept nogil:
    args.value = (<Buffer *>args.handle).memory
    return NULL


cdef Error *buffer_is_on_cpu(BoolArgs *args) noexcept nogil:
    # jaxlib would take the memory of such a buffer for an array in C order.
    args.value = (<Buffer *>args.handle).minor_to_major == NULL
    return NULL


cdef Error *buffer_ready_event(PointerArgs *args) noexcept nogil:
    note_wait(<Buffer *>args.handle)
    args.value = retain_event((<Buffer *>args.handle).ready)
    return NULL


cdef Error *buffer_pointer(PointerArgs *args) noexcept nogil:
    """The address of the elements, as soon as they are there."""
    cdef Buffer *buffer = <Buffer *>args.handle
    cdef PyObject *array
    note_wait(buffer)
    wait_for_event(buffer.ready)
    if buffer.ready.code != CODE_OK:
        return event_failure(buffer.ready)
    array = pin(buffer)
    if array == NULL:
        return deleted_buffer()
    args.value = array_data(array)
    unpin(buffer)
    return NULL


cdef Error *buffer_hold(HandleArgs *args) noexcept nogil:
    """Keep the array alive for a caller who has its address, even if the buffer is deleted."""
    cdef Buffer *buffer = <Buffer *>args.handle
    take_lock()
    buffer.external_references += 1
    buffer.pins += 1
    release_lock()
    return NULL


cdef Error *buffer_release(HandleArgs *args) noexcept nogil:
    cdef Buffer *buffer = <Buffer *>args.handle
    cdef bint is_held
    take_lock()
    is_held = buffer.external_references > 0
    if is_held:
        buffer.external_references -= 1
    release_lock()
    if not is_held:
        return plain_error(CODE_INVALID_ARGUMENT, b"the buffer has no external reference")
    unpin(buffer)
    return NULL


# ---- copies

cdef struct HostCopy:
    void *destination
    size_t offset, size
    Buffer *buffer
    Event *done


cdef void _finish_host_copy(Error *error, void *user) noexcept nogil:
    """Copy what a buffer holds, now that it is ready, and complete the copy's event."""
    cdef HostCopy *copy = <HostCopy *>user
    cdef PyObject *array = NULL
    if error == NULL:
        array = pin(copy.buffer)
        if array == NULL:
            error = deleted_buffer()
    if error == NULL:
        memcpy(copy.destination, <char *>array_data(array) + copy.offset, copy.size)
        unpin(copy.buffer)
        complete_event(copy.done, CODE_OK, NULL, 0)
    else:
        complete_event(copy.done, error.code, error.message, error.size)
        free(error)
    release_buffer(copy.buffer)
    release_event(copy.done)
    free(copy)


cdef Error *_copy_to_host(Buffer *buffer, void *destination, size_t offset, size_t size, Event **done) noexcept nogil:
    """Copy bytes of a buffer as soon as it is ready; `done` gets an event that tells when."""
    cdef HostCopy *copy
    if buffer.is_deleted:
        return deleted_buffer()
    note_wait(buffer)
    copy = <HostCopy *>allocate(sizeof(HostCopy))
    copy.destination, copy.offset, copy.size, copy.buffer = destination, offset, size, buffer
    retain(&buffer.references)
    copy.done = new_event()
    done[0] = retain_event(copy.done)
    call_when_complete(buffer.ready, _finish_host_copy, copy)
    return NULL


cdef Error *_copy_in_layout(ToHostArgs *args) noexcept with gil:
    try:
        copy_in_layout(array_of(args.buffer), args)
    except BaseException as exception:
        return error_of(exception)
    return NULL


cdef Error *_copy_transposed(ToHostArgs *args) noexcept nogil:
    """Copy a buffer into the layout that the caller requests."""
    cdef Error *error
    wait_for_event(args.buffer.ready)
    if args.buffer.ready.code != CODE_OK:
        return event_failure(args.buffer.ready)
    error = begin_python()
    if error == NULL:
        error = _copy_in_layout(args)
    if error == NULL:
        args.event = &READY
    return error


cdef int copy_in_layout(cnp.ndarray array, ToHostArgs *args) except -1:
    cdef TiledLayout *tiled = &args.layout.value.tiled
    cdef StridedLayout *strided = &args.layout.value.strided
    cdef size_t axis
    cdef cnp.ndarray transposed
    if args.layout.layout_type == LAYOUT_STRIDES:
        target = _host_array(
            args.destination, args.buffer.element_type, args.buffer.dims, args.buffer.rank, strided.byte_strides, True
        )
        target[...] = array
        return 0
    order = [tiled.minor_to_major[args.buffer.rank - 1 - axis] for axis in range(args.buffer.rank)]
    transposed = copy_array(array.transpose(order))
    memcpy(args.destination, cnp.PyArray_DATA(transposed), cnp.PyArray_NBYTES(transposed))
    return 0


cdef Error *buffer_to_host(ToHostArgs *args) noexcept nogil:
    cdef size_t needed
    cdef Error *refused
    cdef const int64_t *minor_to_major
    needed = buffer_bytes(args.buffer)
    if args.destination == NULL:
        args.size = needed
        return NULL
    if args.size < needed:
        return plain_error(CODE_INVALID_ARGUMENT, b"the destination is smaller than the buffer")
    if args.layout != NULL and args.buffer.rank:
        refused = read_layout(args.layout, args.buffer.rank, &minor_to_major)
        if refused != NULL:
            return refused
        if args.layout.layout_type == LAYOUT_STRIDES or not has_layout(args.buffer, minor_to_major):
            return _copy_transposed(args)
    return _copy_to_host(args.buffer, args.destination, 0, needed, &args.event)


cdef Error *buffer_copy_raw(CopyRawArgs *args) noexcept nogil:
    if args.offset < 0 or args.size < 0 or <size_t>(args.offset + args.size) > buffer_bytes(args.buffer):
        return plain_error(CODE_INVALID_ARGUMENT, b"the range lies outside of the buffer")
    return _copy_to_host(args.buffer, args.destination, args.offset, args.size, &args.event)


cdef Error *_copy_here(Buffer *buffer, Memory *memory, Buffer **copy) noexcept with gil:
    try:
        copy[0] = keep_laid_out(copy_array(array_of(buffer)), buffer.element_type, memory, buffer.minor_to_major, NULL)
    except BaseException as exception:
        return error_of(exception)
    return NULL


cdef Error *_copy_to_memory(Buffer *buffer, Memory *memory, Buffer **copy) noexcept nogil:
    cdef Error *error
    wait_for_event(buffer.ready)
    if buffer.ready.code != CODE_OK:
        return event_failure(buffer.ready)
    error = begin_python()
    return _copy_here(buffer, memory, copy) if error == NULL else error


cdef Error *buffer_copy_to_device(CopyArgs *args) noexcept nogil:
    return _copy_to_memory(args.buffer, (<Device *>args.target).memories[0], &args.copy)


cdef Error *buffer_copy_to_memory(CopyArgs *args) noexcept nogil:
    return _copy_to_memory(args.buffer, <Memory *>args.target, &args.copy)


cdef void fill_buffer_slots() noexcept:
    fill_row_major()
    offer_python(SLOT_Client_BufferFromHostBuffer, <void *>buffer_from_host, &(<FromHostArgs *>NULL).buffer)
    offer_python(SLOT_Client_CreateViewOfDeviceBuffer, <void *>buffer_of_view, &(<ViewArgs *>NULL).buffer)
    offer_python(SLOT_Client_CreateUninitializedBuffer, <void *>buffer_uninitialized, &(<UninitializedBufferArgs *>NULL).buffer)
    offer(SLOT_Client_CreateErrorBuffer, <void *>buffer_of_error, &(<ErrorBufferArgs *>NULL).buffer)
    offer(SLOT_Buffer_Destroy, <void *>buffer_destroy, &(<HandleArgs *>NULL).handle)
    offer(SLOT_Buffer_Delete, <void *>buffer_delete, &(<HandleArgs *>NULL).handle)
    offer(SLOT_Buffer_IsDeleted, <void *>buffer_is_deleted, &(<BoolArgs *>NULL).value)
    offer(SLOT_Buffer_ElementType, <void *>buffer_element_type, &(<IntArgs *>NULL).value)
    offer(SLOT_Buffer_Dimensions, <void *>buffer_dimensions, &(<ListArgs *>NULL).count)
    offer(SLOT_Buffer_UnpaddedDimensions, <void *>buffer_dimensions, &(<ListArgs *>NULL).count)
    offer(SLOT_Buffer_DynamicDimensionIndices, <void *>empty_list, &(<ListArgs *>NULL).count)
    offer(SLOT_Buffer_GetMemoryLayout, <void *>buffer_layout, &(<BufferLayoutArgs *>NULL).layout.layout_type)
    offer(SLOT_Buffer_OnDeviceSizeInBytes, <void *>buffer_size, &(<SizeArgs *>NULL).value)
    offer(SLOT_Buffer_Device, <void *>buffer_device, &(<PointerArgs *>NULL).value)
    offer(SLOT_Buffer_Memory, <void *>buffer_memory, &(<PointerArgs *>NULL).value)
    offer(SLOT_Buffer_IsOnCpu, <void *>buffer_is_on_cpu, &(<BoolArgs *>NULL).value)
    offer(SLOT_Buffer_ReadyEvent, <void *>buffer_ready_event, &(<PointerArgs *>NULL).value)
    offer(SLOT_Buffer_UnsafePointer, <void *>buffer_pointer, &(<PointerArgs *>NULL).value)
    offer(SLOT_Buffer_OpaqueDeviceMemoryDataPointer, <void *>buffer_pointer, &(<PointerArgs *>NULL).value)
    offer(SLOT_Buffer_IncreaseExternalReferenceCount, <void *>buffer_hold, &(<HandleArgs *>NULL).handle)
    offer(SLOT_Buffer_DecreaseExternalReferenceCount, <void *>buffer_release, &(<HandleArgs *>NULL).handle)
    offer(SLOT_Buffer_ToHostBuffer, <void *>buffer_to_host, &(<ToHostArgs *>NULL).event)
    offer(SLOT_Buffer_CopyRawToHost, <void *>buffer_copy_raw, &(<CopyRawArgs *>NULL).event)
    offer(SLOT_Buffer_CopyToDevice, <void *>buffer_copy_to_device, &(<CopyArgs *>NULL).copy)
    offer(SLOT_Buffer_CopyToMemory, <void *>buffer_copy_to_memory, &(<CopyArgs *>NULL).copy)
