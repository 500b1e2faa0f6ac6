# Threads that run tasks. Tasks that call no Python functions of the user run one after the other, for they hold
# the GIL most of the time. A task with such a function has a thread for itself, so that the function may wait
# for any other task.

cdef enum:
    MAX_TASKS = 64
    POLL_MICROSECONDS = 500
    MAX_POLLS = 2000
"""Tasks from which a call waits, and for how long, up to a second: these tasks may wait for the function that made
the call."""

cdef struct Worker:
    PyThread_type_lock signal
    Task *task
    Worker *next

cdef Worker *_idle = NULL
cdef Task *_first_queued = NULL
cdef Task *_last_queued = NULL
cdef bint _is_queue_served = False
cdef Py_ssize_t _task_count = 0
cdef Py_ssize_t _finished_count = 0


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
    """Count a new task, after waiting while there are too many."""
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
    global _task_count, _finished_count
    take_lock()
    _task_count -= 1
    _finished_count += 1
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


cdef void _keep_thread_state() noexcept nogil:
    """Give this thread its state of Python for good. To make one for each task and to free it, mapped memory
    included, takes 50 to 80 us beside a long program, in part while the caller waits for the results."""
    if not is_finalizing():
        PyGILState_Ensure()
        PyEval_SaveThread()


cdef void _work(void *user) noexcept nogil:
    """The main loop of a worker."""
    global _idle
    cdef Worker *worker = <Worker *>user
    _keep_thread_state()
    while True:
        _run_tasks(worker.task)
        take_lock()
        worker.next = _idle
        _idle = worker
        release_lock()
        PyThread_acquire_lock(worker.signal, 1)


cdef void _forget_tasks() noexcept nogil:
    """In the child of a fork: no worker and no task is there any more. Their memory is left."""
    global _idle, _first_queued, _last_queued, _is_queue_served, _task_count
    renew_lock()
    _idle = NULL
    _first_queued = _last_queued = NULL
    _is_queue_served = False
    _task_count = 0


def forget_tasks():
    """Make the plugin usable in the child of a fork. What was to be computed in the parent never comes there."""
    _forget_tasks()


def wait_for_tasks():
    """Wait, at the interpreter's exit, until as many tasks have run as there are now. An interrupt ends the wait."""
    cdef PyThread_type_lock held = _held_lock()
    cdef Py_ssize_t last = _finished_count + _task_count
    try:
        while _task_count and _finished_count < last:
            with nogil:
                _sleep(held)
            PyErr_CheckSignals()
    finally:
        _free_held_lock(held)


atexit.register(wait_for_tasks)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_tasks)
