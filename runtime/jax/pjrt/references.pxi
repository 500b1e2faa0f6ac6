# References to Python objects that are given up on threads which do not hold the GIL. A destructor that waits for the
# GIL can end the process at the interpreter's exit, or wait for a thread that waits for it.

cdef PyObject **_DROPPED = NULL
cdef Py_ssize_t _dropped_count = 0
cdef Py_ssize_t _dropped_capacity = 0
cdef bint _is_collection_pending = False
cdef size_t _waiting_bytes = 0

cdef enum:
    MAX_WAITING = 256
    MAX_WAITING_BYTES = 1 << 16
"""Maximum number and bytes of arrays whose release waits for a call that holds the GIL."""


cdef unsigned long _main_thread = PyThread_get_thread_ident()


cdef bint begin_call() noexcept nogil:
    """Whether a function may use Python.

    While the interpreter is shutting down, calls of other threads than the main one never return: the interpreter
    ends a thread that asks for the GIL then, and such an end within jaxlib's code would abort the process.
    """
    if not is_finalizing():
        return True
    if PyThread_get_thread_ident() != _main_thread:
        _park()
    return False


cdef void _park() noexcept nogil:
    """Wait for ever, without the GIL."""
    cdef PyThread_type_lock lock = PyThread_allocate_lock()
    if PyGILState_Check():
        PyEval_SaveThread()
    PyThread_acquire_lock(lock, 1)
    PyThread_acquire_lock(lock, 1)


cdef Error *shutting_down() noexcept nogil:
    return plain_error(CODE_CANCELLED, b"the Python interpreter is shutting down")


cdef Error *begin_python() noexcept nogil:
    """The error for a call that may not use Python; NULL if it may."""
    return NULL if begin_call() else shutting_down()


cdef void drop(PyObject *value) noexcept nogil:
    """Release a reference: now if the thread holds the GIL, otherwise in the next thread that does."""
    _drop(value, MAX_WAITING_BYTES)


cdef void drop_array(PyObject *array) noexcept nogil:
    """Give up a reference to an array. A small one that owns its memory may wait for a next call: to have Python
    collect it takes a third of a microsecond, a twentieth of a call of a small program."""
    cdef bint owns_memory = array != NULL and cnp.PyArray_CHKFLAGS(<cnp.ndarray>array, cnp.NPY_ARRAY_OWNDATA)
    _drop(array, cnp.PyArray_NBYTES(<cnp.ndarray>array) if owns_memory else MAX_WAITING_BYTES)


cdef void _drop(PyObject *value, size_t size) noexcept nogil:
    """Release a reference to an object of `size` bytes."""
    global _is_collection_pending, _waiting_bytes
    cdef bint schedules
    if value == NULL or is_finalizing():
        return
    if PyGILState_Check():
        Py_DecRef(value)
        return
    take_lock()
    _remember(value)
    _waiting_bytes += size
    schedules = not _is_collection_pending and (
        _waiting_bytes >= MAX_WAITING_BYTES or _dropped_count >= MAX_WAITING
    )
    if schedules:
        _is_collection_pending = True
    release_lock()
    if schedules and Py_AddPendingCall(_collect, NULL) != 0:
        # The queue of pending calls is full; the next call of a function that holds the GIL collects.
        _is_collection_pending = False


cdef void _remember(PyObject *value) noexcept nogil:
    global _DROPPED, _dropped_count, _dropped_capacity
    if _dropped_count == _dropped_capacity:
        _dropped_capacity = 2 * _dropped_capacity + 64
        _DROPPED = <PyObject **>realloc(_DROPPED, _dropped_capacity * sizeof(PyObject *))
        if _DROPPED == NULL:
            abort_for_lack_of_memory()
    _DROPPED[_dropped_count] = value
    _dropped_count += 1


cdef int _collect(void *unused) noexcept:
    global _is_collection_pending
    _is_collection_pending = False
    collect_dropped()
    return 0


cdef void collect_dropped() noexcept:
    """Release the references that were dropped without the GIL. The caller holds the GIL."""
    global _dropped_count, _waiting_bytes
    cdef PyObject *value
    while _dropped_count:
        take_lock()
        value = NULL
        if _dropped_count:
            _dropped_count -= 1
            value = _DROPPED[_dropped_count]
        if _dropped_count == 0:
            _waiting_bytes = 0
        release_lock()
        if value != NULL:
            Py_DecRef(value)

