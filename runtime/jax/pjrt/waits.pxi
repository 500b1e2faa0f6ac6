# Tracks whether the callers of a slow program wait for its results immediately. If they do, a worker gains nothing,
# and the two hand-overs (execution.pxi) cost time, so the next run happens on the calling thread. As soon as a caller does other
# work between a call and the wait for its results, the worker runs the program again.

cdef enum:
    MIN_PROMPT_WAITS = 4
    PROMPT_FRACTION = 16
    MAX_PROMPT_NANOSECONDS = 100_000_000
"""The worker runs a program unless callers have waited promptly MIN_PROMPT_WAITS times in a row: within
1 / PROMPT_FRACTION of the time of a run, which is all that a worker could save. Longer runs stay with the worker, which
costs them little."""

cdef struct Waits:
    Py_ssize_t references
    int64_t last_call, open_call, returned, run_nanoseconds
    int prompt
"""The callers of a program: the number of its last call; that number again until somebody waits for the call's results,
then 0; the time at which the call returned and the time of a run, in ns; the number of prompt waits in a row."""


cdef Waits *new_waits() noexcept nogil:
    cdef Waits *waits = <Waits *>allocate(sizeof(Waits))
    waits.references = 1
    return waits


cdef void release_waits(Waits *waits) noexcept nogil:
    if waits != NULL and release(&waits.references):
        free(waits)


cdef bint are_prompt(Waits *waits) noexcept nogil:
    """Whether the caller of a new call is likely to wait for it immediately.

    Must be called for each call: it counts an earlier call as not waited for, if nobody has waited for it yet.
    """
    cdef bint answer
    take_lock()
    if waits.open_call:
        waits.prompt = 0
    answer = waits.prompt >= MIN_PROMPT_WAITS and waits.run_nanoseconds <= MAX_PROMPT_NANOSECONDS
    release_lock()
    return answer


cdef void watch_results(Waits *waits, Buffer **results, Py_ssize_t count) noexcept nogil:
    """Record that a call returns now, and watch for waits for its results."""
    cdef Py_ssize_t index
    cdef int64_t now = PyTime_PerfCounterRaw()
    take_lock()
    waits.last_call += 1
    waits.open_call = waits.last_call if count else 0
    waits.returned = now
    waits.references += count
    for index in range(count):
        results[index].waits = waits
        results[index].call = waits.last_call
    release_lock()


cdef void note_wait(Buffer *buffer) noexcept nogil:
    """Record that a caller reads a buffer, or waits for it."""
    cdef Waits *waits = buffer.waits
    cdef int64_t now
    if waits == NULL or waits.open_call != buffer.call:
        return
    now = PyTime_PerfCounterRaw()
    take_lock()
    if waits.open_call == buffer.call:
        waits.open_call = 0
        waits.prompt = waits.prompt + 1 if (now - waits.returned) * PROMPT_FRACTION <= waits.run_nanoseconds else 0
    release_lock()
