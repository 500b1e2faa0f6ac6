# PJRT_Event: completes once, with or without an error, and tells whoever waits. Callbacks run without the GIL: jaxlib's
# may wait for threads that want it.

cdef struct Waiter:
    EventCallback callback
    void *user
    Waiter *next

cdef struct Event:
    Py_ssize_t references
    bint is_ready
    int code
    size_t message_size
    char *message
    Waiter *waiters

cdef Event READY
"""The event of operations that are already complete. It is neither counted nor freed."""


cdef Event *new_event() noexcept nogil:
    cdef Event *event = <Event *>calloc(1, sizeof(Event))
    if event == NULL:
        abort_for_lack_of_memory()
    event.references = 1
    return event


cdef Event *retain_event(Event *event) noexcept nogil:
    if event != &READY:
        retain(&event.references)
    return event


cdef void release_event(Event *event) noexcept nogil:
    if event != NULL and event != &READY and release(&event.references):
        free(event.message)
        free(event)


cdef inline bint is_complete(Event *event) noexcept nogil:
    cdef bint answer
    if event == &READY:
        return True
    take_lock()
    answer = event.is_ready
    release_lock()
    return answer


cdef Error *event_failure(Event *event) noexcept nogil:
    """A new error for an event that is complete; NULL if it did not fail."""
    if event.code == CODE_OK:
        return NULL
    return new_error(event.code, event.message, event.message_size)


cdef void complete_event(Event *event, int code, const char *message, size_t size) noexcept nogil:
    """Complete an event and run its callbacks. Call it without the GIL."""
    cdef Waiter *waiters, *waiter
    take_lock()
    if event.is_ready:
        release_lock()
        return
    event.code = code
    if code != CODE_OK:
        event.message = <char *>malloc(size + 1)
        if event.message == NULL:
            abort_for_lack_of_memory()
        memcpy(event.message, message, size)
        event.message_size = size
    event.is_ready = True
    waiters = event.waiters
    event.waiters = NULL
    release_lock()
    while waiters != NULL:
        waiter = waiters
        waiters = waiter.next
        waiter.callback(event_failure(event), waiter.user)
        free(waiter)


cdef void call_when_complete(Event *event, EventCallback callback, void *user) noexcept nogil:
    """Run a callback when the event completes, in order of registration; immediately if it is complete."""
    cdef Waiter *waiter, **last
    if not is_complete(event):
        waiter = <Waiter *>malloc(sizeof(Waiter))
        if waiter == NULL:
            abort_for_lack_of_memory()
        waiter.callback, waiter.user, waiter.next = callback, user, NULL
        take_lock()
        if not event.is_ready:
            last = &event.waiters
            while last[0] != NULL:
                last = &last[0].next
            last[0] = waiter
            release_lock()
            return
        release_lock()
        free(waiter)
    callback(event_failure(event), user)


cdef void _release_waiting_thread(Error *error, void *user) noexcept nogil:
    free(error)
    PyThread_release_lock(<PyThread_type_lock>user)


cdef void wait_for_event(Event *event) noexcept nogil:
    """Wait without the GIL until an event is complete."""
    cdef PyThread_type_lock arrival
    cdef PyThreadState *state = NULL
    if is_complete(event):
        return
    if PyGILState_Check():
        state = PyEval_SaveThread()
    arrival = PyThread_allocate_lock()
    if arrival == NULL:
        abort_for_lack_of_memory()
    PyThread_acquire_lock(arrival, 1)
    call_when_complete(event, _release_waiting_thread, arrival)
    PyThread_acquire_lock(arrival, 1)
    PyThread_release_lock(arrival)
    PyThread_free_lock(arrival)
    if state != NULL:
        PyEval_RestoreThread(state)


cdef Error *event_destroy(HandleArgs *args) noexcept nogil:
    release_event(<Event *>args.handle)
    return NULL


cdef Error *event_is_ready(BoolArgs *args) noexcept nogil:
    args.value = is_complete(<Event *>args.handle)
    return NULL


cdef Error *event_error(HandleArgs *args) noexcept nogil:
    if not is_complete(<Event *>args.handle):
        return plain_error(CODE_FAILED_PRECONDITION, b"the event is not complete")
    return event_failure(<Event *>args.handle)


cdef Error *event_await(HandleArgs *args) noexcept nogil:
    wait_for_event(<Event *>args.handle)
    return event_failure(<Event *>args.handle)


cdef Error *event_on_ready(EventOnReadyArgs *args) noexcept nogil:
    call_when_complete(args.event, args.callback, args.user)
    return NULL


cdef Error *event_create(HandleArgs *args) noexcept nogil:
    args.handle = new_event()
    return NULL


cdef Error *event_set(EventSetArgs *args) noexcept nogil:
    if is_complete(args.event):
        return plain_error(CODE_FAILED_PRECONDITION, b"the event is complete already")
    complete_event(args.event, args.code, args.message, args.message_size)
    return NULL


cdef void fill_event_slots() noexcept:
    READY.is_ready = True
    READY.code = CODE_OK
    offer(SLOT_Event_Destroy, <void *>event_destroy, &(<HandleArgs *>NULL).handle)
    offer(SLOT_Event_IsReady, <void *>event_is_ready, &(<BoolArgs *>NULL).value)
    offer(SLOT_Event_Error, <void *>event_error, &(<HandleArgs *>NULL).handle)
    offer(SLOT_Event_Await, <void *>event_await, &(<HandleArgs *>NULL).handle)
    offer(SLOT_Event_OnReady, <void *>event_on_ready, &(<EventOnReadyArgs *>NULL).user)
    offer(SLOT_Event_Create, <void *>event_create, &(<HandleArgs *>NULL).handle)
    offer(SLOT_Event_Set, <void *>event_set, &(<EventSetArgs *>NULL).message_size)
