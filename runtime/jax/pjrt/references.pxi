# References to Python objects that are given up on threads which do not hold Python's lock. Whoever waits for the
# lock in a destruction can end the process at the interpreter's exit, or wait for a thread that waits for it.

cdef PyObject **_DROPPED = NULL
cdef Py_ssize_t _dropped_count = 0
cdef Py_ssize_t _dropped_capacity = 0
cdef bint _is_collection_pending = False


cdef bint _is_closing = False
cdef unsigned long _closing_thread = 0
cdef Py_ssize_t _calls = 0
cdef Py_ssize_t _parked = 0


cdef bint begin_call() noexcept nogil:
    """Note that a function is about to use Python; `end_call` follows. False if Python is no more.

    At exit, calls of other threads than the one that ends the process never return. The interpreter ends a thread
    that asks for its lock then, and such an end within jaxlib's code would abort the process.
    """
    global _calls
    if (_is_closing or is_finalizing()) and not _may_still_call():
        _park()
    if is_finalizing():
        return False
    take_lock()
    _calls += 1
    release_lock()
    return True


cdef void end_call() noexcept nogil:
    global _calls
    take_lock()
    _calls -= 1
    release_lock()


cdef Error *ended(Error *error) noexcept nogil:
    """Note the end of a call, and give what it returns."""
    end_call()
    return error


cdef bint _may_still_call() noexcept nogil:
    """Whether the thread ends the process, or runs a task for which the end waits."""
    cdef unsigned long thread = PyThread_get_thread_ident()
    return thread == _closing_thread or is_worker(thread)


cdef void _park() noexcept nogil:
    """Wait for ever, without Python's lock."""
    global _parked
    cdef PyThread_type_lock lock = PyThread_allocate_lock()
    if PyGILState_Check():
        PyEval_SaveThread()
    take_lock()
    _parked += 1
    release_lock()
    PyThread_acquire_lock(lock, 1)
    PyThread_acquire_lock(lock, 1)


cdef Error *shutting_down() noexcept nogil:
    return plain_error(CODE_CANCELLED, b"the Python interpreter is shutting down")


cdef void drop(PyObject *value) noexcept nogil:
    """Give up a reference: at once if the thread holds Python's lock, else as soon as one does that runs Python."""
    cdef bint schedules
    if value == NULL or is_finalizing():
        return
    if PyGILState_Check():
        Py_DecRef(value)
        return
    global _is_collection_pending
    take_lock()
    _remember(value)
    schedules = not _is_collection_pending
    _is_collection_pending = True
    release_lock()
    if schedules and Py_AddPendingCall(_collect, NULL) != 0:
        # The queue of pending calls is full; the next call of a function that holds the lock collects.
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
    """Give up what was dropped without Python's lock. The caller holds it."""
    global _dropped_count
    cdef PyObject *value
    while _dropped_count:
        take_lock()
        value = NULL
        if _dropped_count:
            _dropped_count -= 1
            value = _DROPPED[_dropped_count]
        release_lock()
        if value != NULL:
            Py_DecRef(value)

