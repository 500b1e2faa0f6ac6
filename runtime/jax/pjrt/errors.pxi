# PJRT_Error: a code and a text. jaxlib reads both through the error's own table of functions.

cdef ErrorTable ERROR_TABLE


cdef void _destroy_error(Error *error) noexcept nogil:
    free(error)


cdef void _error_text(const Error *error, const char **message, size_t *size) noexcept nogil:
    message[0] = error.message
    size[0] = error.size


cdef int _error_code(const Error *error) noexcept nogil:
    return error.code


cdef void _no_payloads(const Error *error, PayloadVisitor visitor, void *user) noexcept nogil:
    pass


cdef Error *new_error(int code, const char *message, size_t size) noexcept nogil:
    """An error with a copy of the text."""
    cdef Error *error = <Error *>malloc(sizeof(Error) + size + 1)
    if error == NULL:
        abort_for_lack_of_memory()
    error.table = &ERROR_TABLE
    error.code = code
    error.size = size
    error.message = <char *>error + sizeof(Error)
    memcpy(error.message, message, size)
    error.message[size] = 0
    return error


cdef Error *plain_error(int code, const char *message) noexcept nogil:
    return new_error(code, message, strlen(message))


cdef Error *error_of(object exception) noexcept:
    """The error for a Python exception.

    An interrupt is raised again on the main thread when that thread runs Python code, because PJRT cannot represent it.
    """
    cdef int code = CODE_INTERNAL
    cdef bytes text
    try:
        number, message = describe(exception)
        code = number
        text = message.encode("utf-8", "replace")
    except BaseException:
        text = b"NimbleHLO failed, and so did the description of its error"
    if isinstance(exception, KeyboardInterrupt):
        PyErr_SetInterrupt()
    return new_error(code, text, len(text))


cdef Error *short_structure() noexcept nogil:
    return plain_error(
        CODE_INVALID_ARGUMENT,
        b"an argument structure is shorter than NimbleHLO reads: the caller's version of PJRT does not fit",
    )


cdef Error *unimplemented(void *arguments) noexcept nogil:
    """The implementation of all functions of the table that the plugin does not support."""
    return plain_error(CODE_UNIMPLEMENTED, b"NimbleHLO does not implement this function of PJRT")


cdef void error_destroy(HandleArgs *args) noexcept nogil:
    if not lacks(args, &args.handle):
        free(args.handle)


cdef void error_message(ErrorMessageArgs *args) noexcept nogil:
    if not lacks(args, &args.message_size):
        _error_text(args.error, &args.message, &args.message_size)


cdef Error *error_get_code(IntArgs *args) noexcept nogil:
    args.value = (<Error *>args.handle).code
    return NULL


cdef Error *error_for_each_payload(HandleArgs *args) noexcept nogil:
    # An error here would be queried for payloads itself, endlessly.
    return NULL


cdef void fill_error_table() noexcept:
    ERROR_TABLE.struct_size = sizeof(ErrorTable)
    ERROR_TABLE.instance_size = sizeof(Error *)
    ERROR_TABLE.extensions = NULL
    ERROR_TABLE.destroy = _destroy_error
    ERROR_TABLE.message = _error_text
    ERROR_TABLE.get_code = _error_code
    ERROR_TABLE.for_each_payload = _no_payloads
    API.slots[<int>SLOT_Error_Destroy] = <void *>error_destroy
    API.slots[<int>SLOT_Error_Message] = <void *>error_message
    offer(SLOT_Error_GetCode, <void *>error_get_code, &(<IntArgs *>NULL).value)
    API.slots[<int>SLOT_Error_ForEachPayload] = <void *>error_for_each_payload
