# Threads that run tasks. Tasks that call no Python functions of the user run one after the other, for they hold
# Python's lock most of the time. A task with such a function has a thread for itself, so that the function may wait
# for any other task.

cdef enum:
    MAX_TASKS = 64
    POLL_MICROSECONDS = 500
    MAX_POLLS = 2000
    GRACE_MICROSECONDS = 50_000
"""A call waits while there are so many tasks, but not longer than a second: it may come from a function for which
these tasks wait. At exit other threads get 50 ms to reach a place where they stay."""

cdef struct Worker:
    PyThread_type_lock signal
    unsigned long thread
    Task *task
    Worker *next
    Worker *next_of_all

cdef Worker *_idle = NULL
cdef Worker *_all_workers = NULL
cdef Task *_first_queued = NULL
cdef Task *_last_queued = NULL
cdef bint _is_queue_served = False
cdef Py_ssize_t _task_count = 0


cdef void _sleep(PyThread_type_lock held) noexcept nogil:
    """Sleep by waiting for a lock that nobody releases."""
    PyThread_acquire_lock_timed(held, POLL_MICROSECONDS, 0)


cdef PyThread_type_lock _held_lock() noexcept nogil:
    cdef PyThread_type_lock lock = PyThread_allocate_lock()
    if lock == NULL:
        abort_for_lack_of_memory()
    PyThread_acquire_lock(lock, 1)
    return lock


cdef void _free_held_lock(PyThread_type_lock lock) noexcept nogil:
    PyThread_release_lock(lock)
    PyThread_free_lock(lock)


cdef Py_ssize_t _count_of_tasks() noexcept nogil:
    cdef Py_ssize_t count
    take_lock()
    count = _task_count
    release_lock()
    return count


cdef void count_task() noexcept nogil:
    """Note a new task; wait before while there are too many."""
    global _task_count
    cdef PyThread_type_lock held
    cdef PyThreadState *state = NULL
    cdef int polls = 0
    if _count_of_tasks() >= MAX_TASKS:
        if PyGILState_Check():
            state = PyEval_SaveThread()
        held = _held_lock()
        while _count_of_tasks() >= MAX_TASKS and polls < MAX_POLLS:
            _sleep(held)
            polls += 1
        _free_held_lock(held)
        if state != NULL:
            PyEval_RestoreThread(state)
    take_lock()
    _task_count += 1
    release_lock()


cdef void uncount_task() noexcept nogil:
    global _task_count
    take_lock()
    _task_count -= 1
    release_lock()


cdef void submit(Task *task) noexcept nogil:
    """Have a task run by a thread."""
    global _idle, _first_queued, _last_queued, _is_queue_served
    cdef Worker *worker = NULL
    take_lock()
    if not task.executable.calls_python:
        if _is_queue_served:
            if _last_queued == NULL:
                _first_queued = task
            else:
                _last_queued.next = task
            _last_queued = task
            release_lock()
            return
        _is_queue_served = True
    if _idle != NULL:
        worker = _idle
        _idle = worker.next
    release_lock()
    if worker != NULL:
        worker.task = task
        PyThread_release_lock(worker.signal)
        return
    worker = <Worker *>allocate(sizeof(Worker))
    worker.signal = _held_lock()
    worker.task = task
    if PyThread_start_new_thread(_work, worker) == <unsigned long>-1:
        # No thread can be had: the calling one does the work.
        _free_held_lock(worker.signal)
        free(worker)
        _run_tasks(task)


cdef Task *_following(bint served_queue) noexcept nogil:
    """The next task of the queue for the thread that serves it."""
    global _first_queued, _last_queued, _is_queue_served
    cdef Task *task = NULL
    if not served_queue:
        return NULL
    take_lock()
    task = _first_queued
    if task == NULL:
        _is_queue_served = False
    else:
        _first_queued = task.next
        if _first_queued == NULL:
            _last_queued = NULL
    release_lock()
    return task


cdef void _run_tasks(Task *task) noexcept nogil:
    """Run a task, and those of the queue if it came from there."""
    cdef bint serves_queue
    while task != NULL:
        serves_queue = not task.executable.calls_python
        if is_finalizing():
            task.failure = shutting_down()
        else:
            run_task(task)
        finish_task(task)
        task = _following(serves_queue)


cdef bint is_worker(unsigned long thread) noexcept nogil:
    """Whether a thread runs tasks."""
    cdef Worker *worker
    cdef bint answer = False
    take_lock()
    worker = _all_workers
    while worker != NULL:
        if worker.thread == thread:
            answer = True
        worker = worker.next_of_all
    release_lock()
    return answer


cdef void _work(void *user) noexcept nogil:
    """What a worker does until the process ends."""
    global _idle, _all_workers
    cdef Worker *worker = <Worker *>user
    worker.thread = PyThread_get_thread_ident()
    take_lock()
    worker.next_of_all = _all_workers
    _all_workers = worker
    release_lock()
    while True:
        _run_tasks(worker.task)
        take_lock()
        worker.next = _idle
        _idle = worker
        release_lock()
        PyThread_acquire_lock(worker.signal, 1)


cdef void _forget_tasks() noexcept nogil:
    """In the child of a fork: no worker and no task is there any more. Their memory is left."""
    global LOCK, _idle, _all_workers, _first_queued, _last_queued, _is_queue_served, _task_count, _calls, _parked
    LOCK = PyThread_allocate_lock()
    _idle = NULL
    _first_queued = _last_queued = NULL
    _is_queue_served = False
    _all_workers = NULL
    _task_count = _calls = _parked = 0


def forget_tasks():
    """Make the plugin usable in the child of a fork. What was to be computed in the parent never comes there."""
    _forget_tasks()


def close():
    """Wait until every task has run, at the interpreter's exit. Calls of other threads do not return from now on.

    An interrupt ends the wait.
    """
    global _is_closing, _closing_thread
    cdef PyThread_type_lock held = _held_lock()
    _closing_thread = PyThread_get_thread_ident()
    _is_closing = True
    try:
        while _task_count or _calls:
            with nogil:
                _sleep(held)
            PyErr_CheckSignals()
        if _parked:
            # Other threads call programs. They get the time to come here, where they stay.
            with nogil:
                PyThread_acquire_lock_timed(held, GRACE_MICROSECONDS, 0)
    finally:
        _free_held_lock(held)


atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_tasks)
