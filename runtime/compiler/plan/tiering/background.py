"""The background thread, which compiles while calls go on.

The thread starts with the first job and ends with the last one. The code that it compiles gives the same bits
as the code that runs meanwhile. A fork and the end of the interpreter wait only for the job that runs. Where
jobs that wait would take long, other processes compile the code of the next ones ahead
(`loops/llvm/compiler_processes.py`).
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ....errors import raised_by_signal_handler
from ....kernels.launch import library_pages
from ....kernels.launch.free_memory import as_memory_error
from ....kernels.launch.native import LaunchStopped
from ...cost_model import (
    OPTIMIZING_SECONDS,
    OPTIMIZING_SECONDS_PER_BYTE,
    OPTIMIZING_SECONDS_PER_BYTE_OF_STEPS,
    UNROLLING_SHARE,
)
from ...float_errors import ignoring_float_errors
from .time_limit import within_time_limit

if TYPE_CHECKING:
    from ...loops.llvm.quick_code import QuickCode

_SWITCH_SECONDS = 2e-4
"""Seconds that the background thread may hold the GIL while callers wait for it. Python's default is 25
times as long, and a call that releases the lock in each step would wait that long in each."""

MIN_WAITING_SECONDS = 0.1
"""Expected seconds of the jobs that wait from which other processes compile ahead. A process takes 0.05 s to
start on Zen 4 and 0.1 to 0.25 s on Sapphire Rapids, in which the calls and the thread go on. With 0.25 s the
thread optimized the loop of time warping itself, while quick code that a call waited for could not be made;
with 0.5, a call of a tree search waited 1.9 to 2.8 s for LLVM."""

MIN_REQUESTED_SECONDS = 0.1
"""Expected seconds of the jobs with priority so far from which they do, if nothing is on the disk: the quick
code of these jobs will take longer to optimize."""

_IDLE_SECONDS, _MAIN_THREAD_CHECK_SECONDS = 1.0, 0.05
"""Seconds for which processes that have nothing to compile stay; and between two looks whether the main
thread has ended, which waits for this one."""

_POLL_SECONDS, _MAX_POLLING_SECONDS = 2e-3, 10.0
"""Seconds between two looks whether a process has compiled what the jobs that wait load: the thread does not
wait for one answer, as other answers, and jobs that need none, may come first. And after which it does wait,
for a process that may have been stopped."""

_ROUNDING_SECONDS = 5e-7
"""Added to an interval before Python truncates it to whole microseconds: an interval that Python returned may
be too small by a rounding error."""

_MODULES_WITH_FORK_HOOKS = (
    "logging",
    "nimblehlo.compiler.loops.llvm.machine",
    "nimblehlo.kernels.launch.compilation",
)


class Job:
    """An action to run once, and to forget then.

    Args:
        action: stores its result itself. An exception that it raises is logged.
        has_priority: whether it precedes the jobs that take seconds.
        ahead: has another process compile what the action then loads; None: no other process can.
        seconds: that the action is expected to take, with optimizing its code if that follows.
        is_there: tells, after `ahead`, whether the action need wait for no other process, and for no other
            thread; None: it may.
        runs_beside: whether the action mostly waits for another process, so that a thread of its own runs it.
        soon: has another process generate the quick code that the action then loads, a text at each step;
            None: it has none.
        benefit: tells what calls save by the action, in relation to its time, as far as that is known by now;
            jobs with equal priority are begun in its descending order. Where it is negative, other processes
            get the job once no job with priority waits or is run by a caller.

    Attributes:
        is_ahead: whether another process compiles what the action loads.
    """

    __slots__ = (
        "action",
        "ahead",
        "benefit",
        "ended",
        "has_priority",
        "is_ahead",
        "is_there",
        "runs_beside",
        "seconds",
        "soon",
    )

    def __init__(
        self,
        action: Callable[[], object],
        has_priority: bool,
        ahead: Callable[[], object] | None = None,
        seconds: float = 0.0,
        is_there: Callable[[], bool] | None = None,
        benefit: Callable[[], float] = lambda: 0.0,
        runs_beside: bool = False,
        soon: Iterator[object] | None = None,
    ) -> None:
        self.action = action
        self.has_priority = has_priority
        self.ahead = ahead
        self.seconds = seconds
        self.is_there = is_there
        self.benefit = benefit
        self.runs_beside = runs_beside
        self.soon = soon
        self.is_ahead = self.ended = False

    def can_load(self) -> bool:
        """Whether the action only loads what another process has compiled."""
        return self.is_ahead and self.is_there is not None and self.is_there()

    def run(self) -> None:
        """Do it, and log why it failed.

        Raises:
            LaunchStopped, KeyboardInterrupt: the call that runs it was stopped; it has not ended.
        """
        try:
            ignoring_float_errors(self.action)
        except LaunchStopped:
            raise
        except Exception as error:
            if raised_by_signal_handler(error):
                raise
            # `Options(compile="eager")` prepares code without a job and raises.
            _warn(error)
        self.end()

    def run_in_background(self) -> None:
        """Run it in a thread that no error ends: no call was stopped there."""
        try:
            self.run()
        except BaseException as error:
            _warn(error)
            self.end()

    def end(self) -> None:
        """Note that it has ended."""
        # Steps keep their jobs, and the action refers to the operands of a call.
        self.action = _nothing
        self.ended = True


_END = object()
"""What an iterator at its end returns."""


def _nothing() -> None:
    """The action of a job that has ended."""


def _warn(error: BaseException) -> None:
    """Log why a job failed."""
    import logging

    if isinstance(error, Exception):
        error = as_memory_error(error)
    reason = "compiling failed, so NumPy continues to run: %s: %s"
    # Where memory is short, no trace says more.
    trace = None if isinstance(error, MemoryError) else error
    logging.getLogger(__name__).warning(reason, type(error).__name__, error, exc_info=trace)


def _log_debug(what: str, error: Exception) -> None:
    import logging

    logging.getLogger(__name__).debug("%s: %s: %s", what, type(error).__name__, error)


def compiling_job(
    action: Callable[[], object],
    compile_texts_ahead: Callable[..., Iterator[None]] | None,
    is_quick: bool,
    seconds: float,
) -> Job:
    """A job that prepares code for which calls may wait.

    Args:
        action, seconds: as of `Job`.
        compile_texts_ahead: that of the code's `Implementation`; None: no other process compiles it.
        is_quick: whether the action loads quick code.
    """
    ahead = soon = None
    if compile_texts_ahead is not None and is_quick:
        soon = compile_texts_ahead(quickly=True)
    elif compile_texts_ahead is not None:
        ahead = functools.partial(_compile_all_ahead, compile_texts_ahead)
    return Job(action, has_priority=True, ahead=ahead, seconds=seconds, soon=soon)


def _compile_all_ahead(compile_texts_ahead: Callable[[], Iterator[None]]) -> None:
    """Have another process compile all texts of a code."""
    for _ in compile_texts_ahead():
        pass


class Background:
    """A queue of jobs, quick ones first, and the thread that runs them.

    Jobs that wait for another process have a queue and a thread of their own (`beside`).
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.waiting: list[Job] = []
        self.running: Job | None = None
        self.run_by_callers: dict[Job, int] = {}
        self.threads_of_jobs: dict[Job, threading.Thread] = {}
        self.thread: threading.Thread | None = None
        self.beside: list[Job] = []
        self.running_beside: Job | None = None
        self.thread_beside: threading.Thread | None = None
        self.holds = 0
        self.switch_interval: float | None = None
        self.is_ready_for_forks = False
        self.processes_lock = threading.Lock()
        self.has_processes = self.is_idle = False
        self.priority_seconds = 0.0
        self.is_cache_empty = False

    def submit(self, job: Job) -> Job:
        """Add a job to the queue, and return it."""
        self.prepare_for_forks()
        if job.runs_beside and self._add_beside(job):
            return job
        if job.soon is not None or job.ahead is not None:
            _find_cache()
        if self.thread is None:
            # Code on the disk is loaded without any of the time that jobs are expected to take.
            self.is_cache_empty = not _has_compiled_code()
        with self.changed:
            self._add(job)
            self.priority_seconds += job.seconds if job.has_priority and self.is_cache_empty else 0.0
            waiting = self._ordered()
        try:
            self._use_processes(waiting)
        except Exception as error:  # the thread compiles, and the call of the submitter goes on
            if raised_by_signal_handler(error):
                raise
            _log_debug("no other process compiles", error)
        return job

    def _use_processes(self, waiting: Sequence[Job]) -> None:
        """Start processes for jobs that wait, where that pays, and have them optimize quick code.

        The thread would do so after the job that it runs. A process takes as long to start as to compile a
        loop, so it starts while this process makes texts. Only the thread writes to it: an interrupted call
        would leave half a text.
        """
        is_worth_it = (
            self.has_processes
            or sum(job.seconds for job in waiting) >= MIN_WAITING_SECONDS
            or self.priority_seconds >= MIN_REQUESTED_SECONDS
        )
        if self.holds or self.thread is None or not is_worth_it:
            return
        with self._one_thread() as may_use:
            if may_use:
                self._start_processes()
                if self.thread is threading.current_thread() and not _need_processes(waiting):
                    self._submit_to_processes([job for job in waiting if job.ahead is not None])

    @contextmanager
    def _one_thread(self) -> Iterator[bool]:
        """Use the processes within the context, unless another thread does so; whether this thread may."""
        is_free = self.processes_lock.acquire(blocking=False)
        try:
            yield is_free
        finally:
            if is_free:
                self.processes_lock.release()

    def work_meanwhile(self) -> bool:
        """Do what takes little time, such as one text, while a thread waits for the code of another job.

        Returns:
            Whether there was something to do.

        Raises:
            LaunchStopped, KeyboardInterrupt: the call that waits was stopped.
        """
        if self.thread is threading.current_thread():
            # They would have nothing to compile until the job ends for whose code the thread waits.
            self._compile_more_ahead()
        return self._load_code() or self.make_text()

    def _load_code(self) -> bool:
        """Load code that another process has optimized; whether there is some."""
        with self.changed:
            job = None if self.holds else next((one for one in self.waiting if one.can_load()), None)
            if job is None:
                return False
            self._take(job)
        self._run_for_caller(job)
        return True

    def make_text(self) -> bool:
        """Have another process generate quick code of the first job that waits for that: of its next text.

        A thread calls this while it waits for the code of another job, which may be there before all texts
        of this one are.

        Returns:
            Whether there was such a job.

        Raises:
            LaunchStopped, KeyboardInterrupt: the call that waits was stopped.
        """
        with self.changed:
            job = None if self.holds else next((one for one in self._ordered() if one.soon is not None), None)
            if job is None:
                return False
            soon, job.soon = job.soon, None
        assert soon is not None
        try:
            if ignoring_float_errors(next, soon, _END) is not _END:
                job.soon = soon
        except LaunchStopped:
            raise
        except Exception as error:  # the action raises it again, and has it logged
            if raised_by_signal_handler(error):
                raise
        return True

    def _start_processes(self) -> None:
        """Start the processes that compile ahead, where that is possible."""
        from ...loops.llvm.compiler_processes import PROCESSES

        self.has_processes = PROCESSES.start()

    def _add(self, job: Job) -> None:
        """Add a job to the queue for whoever takes it first; the caller has the lock."""
        self.waiting.append(job)
        if self.thread is None:
            self._start()
        self.changed.notify_all()

    def _add_beside(self, job: Job) -> bool:
        """Add a job to the queue of those that wait for another process; whether a thread runs it."""
        with self.changed:
            self.beside.append(job)
            if self.thread_beside is None:
                thread = threading.Thread(target=self._work_beside, name="nimblehlo waiting for a process")
                self.thread_beside = thread
                try:
                    thread.start()
                except RuntimeError as error:
                    self.thread_beside = None
                    self.beside.remove(job)
                    _log_debug("no thread waits for a process", error)
                    return False
        return True

    def _work_beside(self) -> None:
        """Run the thread of jobs that wait for another process."""
        while True:
            with self.changed:
                self.running_beside = None
                self.changed.notify_all()
                while self.holds:
                    self.changed.wait()
                if not self.beside or not threading.main_thread().is_alive():
                    self.thread_beside = None
                    return
                job = self.running_beside = self.beside.pop(0)
            job.run_in_background()

    def _start(self) -> None:
        """Start the thread, where the system and the state of the interpreter allow it; or calls compile."""
        thread = threading.Thread(target=self.work, name="nimblehlo compiling")
        self.thread = thread
        try:
            thread.start()
        except RuntimeError as error:
            self.thread = None
            _log_debug("no thread compiles", error)

    def run(self, job: Job) -> None:
        """Run a job that is not in the queue; other callers may wait for it.

        Raises:
            LaunchStopped: the time of the present call is over (`time_limit`).
        """
        self.prepare_for_forks()
        within_time_limit(functools.partial(self._run_new, job))

    def _run_new(self, job: Job) -> None:
        with self.changed:
            self.run_by_callers[job] = threading.get_ident()
        self._run_for_caller(job)

    def finish(self, job: Job, seconds: float | None = None) -> None:
        """Wait for a job; the caller runs it if the thread has not begun it.

        Args:
            job: a job of the queues.
            seconds: after which the caller goes on without it, while a thread runs it; None: it waits for
                the end.

        Raises:
            LaunchStopped: the time of the present call is over (`time_limit`).
        """
        within_time_limit(functools.partial(self._finish, job, seconds))

    def _finish(self, job: Job, seconds: float | None) -> None:
        end = None if seconds is None else time.monotonic() + seconds
        with self.changed:
            while job not in self.waiting or (end is not None and self._starts_thread_of(job)):
                left = _seconds_until(end)
                if job.ended or left == 0.0:
                    return
                self.changed.wait(left)
            self._take(job)
        self._run_for_caller(job)

    def _starts_thread_of(self, job: Job) -> bool:
        """Have a thread of its own run a job that waits, so that the caller, who has the lock, can go on
        without it; whether it does."""
        if self.holds:
            return False
        thread = threading.Thread(target=self._run_beside_caller, args=(job,), name="nimblehlo compiling")
        self.waiting.remove(job)
        self.threads_of_jobs[job] = thread
        try:
            thread.start()
        except RuntimeError as error:
            del self.threads_of_jobs[job]
            self.waiting.append(job)
            _log_debug("no thread compiles for a call", error)
            return False
        return True

    def _run_beside_caller(self, job: Job) -> None:
        """Run the thread of one job for which a caller waits."""
        job.run_in_background()
        with self.changed:
            del self.threads_of_jobs[job]
            self.changed.notify_all()

    def wait_for(self, jobs: Sequence[Job], seconds: float | None = None) -> None:
        """Wait for jobs that the thread or other callers run, unless the thread is held.

        The caller runs those that wait, beside the thread: one makes a text while LLVM compiles another.

        Args:
            jobs: of the queue.
            seconds: after which the caller begins no other job, and goes on; None: it waits for the end.

        Raises:
            LaunchStopped: the time of the present call is over (`time_limit`).
        """
        within_time_limit(functools.partial(self._wait_for, jobs, seconds))

    def _wait_for(self, jobs: Sequence[Job], seconds: float | None) -> None:
        end = None if seconds is None else time.monotonic() + seconds
        while _seconds_until(end) != 0.0 and (job := self._taken_by_caller(jobs)) is not None:
            self._run_for_caller(job)
        with self.changed:
            while not all(job.ended for job in jobs) and (self.running is not None or not self.holds):
                begun, left = {*self.run_by_callers, *self.threads_of_jobs}, _seconds_until(end)
                if left == 0.0 or (self.thread is None and begun.isdisjoint(jobs)):
                    # The thread ends with the main thread, and leaves jobs in the queue.
                    return
                self.changed.wait(left)

    def _taken_by_caller(self, jobs: Sequence[Job]) -> Job | None:
        """The first of some jobs that waits, and not for another process; None if there is none."""
        with self.changed:
            for job in () if self.holds else jobs:
                if job in self.waiting and not job.is_ahead:
                    self._take(job)
                    return job
        return None

    def _take(self, job: Job) -> None:
        """Note that the caller, who has the lock, runs a job."""
        self.waiting.remove(job)
        self.run_by_callers[job] = threading.get_ident()

    def _run_for_caller(self, job: Job) -> None:
        """Run a job that the caller has taken."""
        try:
            job.run()
        finally:
            # Other callers may wait for the job by now.
            with self.changed:
                del self.run_by_callers[job]
                if not job.ended:
                    self._add(job)
                self.changed.notify_all()

    @property
    def is_busy(self) -> bool:
        """Whether a job runs, which slows calls down."""
        return (self.thread is not None and not self.is_idle) or self.thread_beside is not None

    def wait(self) -> None:
        """Wait until the queues are empty and no job runs."""
        with self.changed:
            while self.waiting or self.beside or self._runs_any:
                self.changed.wait()

    @property
    def _runs_any(self) -> bool:
        """Whether a thread of this object runs a job."""
        return (self.running or self.running_beside) is not None or bool(self.threads_of_jobs)

    def work(self) -> None:
        """Run the thread: compile the jobs of the queue."""
        self.switch_interval = sys.getswitchinterval()
        sys.setswitchinterval(min(self.switch_interval, _SWITCH_SECONDS) + _ROUNDING_SECONDS)
        last_run = time.monotonic()
        while True:
            with self.changed:
                if self.is_held():
                    self.changed.wait()
                    continue
                if self.has_processes or not library_pages.is_due():
                    self.wait_for_a_job()
                if self.is_held():
                    continue
                if not self.waiting or not threading.main_thread().is_alive():
                    library_pages.release()
                    self.end_processes()
                    self._restore_switch_interval()
                    self.thread = None
                    self.priority_seconds = 0.0
                    self.changed.notify_all()
                    return
                order = self._ordered()
                # A fork waits for it, too.
                self.running = order[0]
                has_callers = bool(self.run_by_callers or self.threads_of_jobs)
            if not has_callers and not any(one.has_priority or one.ahead or one.is_ahead for one in order):
                # Neither a job nor a caller waits for code of processes, and this job takes seconds.
                self.end_processes()
            # While other processes compile for jobs, this thread runs the first one.
            self._try_to_compile_ahead([*order[1:], *order[:1]] if order[0].has_priority else order)
            with self.changed:
                waits = time.monotonic() - last_run > _MAX_POLLING_SECONDS
                # Loading takes less than 1 ms.
                order = sorted(self._ordered(), key=lambda one: not one.can_load())
                job = self.running = next((one for one in order if waits or self._may_run(one)), None)
                if job is not None:
                    self.waiting.remove(job)
            if job is not None:
                job.run_in_background()
                last_run = time.monotonic()
            with self.changed:
                self.running = None
                self.changed.notify_all()
                if job is None and self.waiting:
                    self.wait_for_an_answer()

    def _restore_switch_interval(self) -> None:
        """Let threads hold the GIL for as long as before the thread began, if it has begun."""
        if self.switch_interval is not None:
            sys.setswitchinterval(self.switch_interval + _ROUNDING_SECONDS)
            self.switch_interval = None

    def _ordered(self) -> list[Job]:
        """The jobs that wait, in the order in which the thread runs them: last those of other processes."""
        return sorted(self.waiting, key=lambda one: (not one.has_priority, one.is_ahead, -one.benefit()))

    def _may_run(self, job: Job) -> bool:
        """Whether the thread should run a job now: not where it would wait for another process, or compile
        in its place, while jobs may come that other code needs; nor a kernel of Numba, which takes seconds
        and much memory, while other processes compile.
        """
        if job.is_ahead:
            return job.is_there is None or job.is_there()
        if job.has_priority:
            return True
        if job.ahead is None:
            return not any(one.is_ahead for one in self.waiting)
        return not self.has_processes

    def wait_for_an_answer(self) -> None:
        """Wait for another job, or for a short time until a process answers or a job may run."""
        from ...loops.llvm.compiler_processes import PROCESSES

        library_pages.release_while_idle()
        end = time.monotonic() + _MAIN_THREAD_CHECK_SECONDS
        while not self.changed.wait(_POLL_SECONDS) and time.monotonic() < end:
            # No more than that, as calls wait for the GIL meanwhile. Callers may have read an answer, too.
            if PROCESSES.have_answers or any(one.is_ahead and self._may_run(one) for one in self.waiting):
                return

    def wait_for_a_job(self) -> None:
        """Wait for a short time for another job, for which processes can go on and LLVM's pages stay."""
        end = time.monotonic() + _IDLE_SECONDS
        self.is_idle = True
        while not self.waiting and threading.main_thread().is_alive():
            left = end - time.monotonic()
            if left <= 0.0:
                break
            self.changed.wait(min(left, _MAIN_THREAD_CHECK_SECONDS))
        self.is_idle = False

    def compile_ahead(self, jobs: Sequence[Job]) -> None:
        """Have other processes compile the code of jobs, in their order, where that pays.

        Those without priority follow once processes compile nothing for others, which they would slow down.
        The thread runs those that take little longer than a process to start, which would add its memory.
        """
        has_priority = _need_processes(jobs)
        jobs = [job for job in jobs if job.ahead is not None and job.has_priority == has_priority]
        if not self.has_processes and sum(job.seconds for job in jobs) < MIN_WAITING_SECONDS:
            return
        with self._one_thread() as may_use:
            if may_use:
                self._start_processes()
                self._submit_to_processes(jobs, has_priority)

    def _compile_more_ahead(self) -> None:
        """Have other processes compile the code of jobs that wait, if they have too little to compile."""
        with self.changed:
            waiting = [] if self.holds else self._ordered()
        if self.has_processes:
            self._try_to_compile_ahead(waiting)

    def _try_to_compile_ahead(self, jobs: Sequence[Job]) -> None:
        """See `compile_ahead`. This thread compiles what other processes do not."""
        try:
            self.compile_ahead(jobs)
        except Exception as error:
            _log_debug("no other process compiles", error)

    def _submit_to_processes(self, jobs: Sequence[Job], is_urgent: bool = False) -> None:
        """Have the processes compile the code of jobs until they have enough."""
        from ...loops.llvm.compiler_processes import PROCESSES

        PROCESSES.read_available()
        # The first optimized code of a loop that is quick soon comes before the last one of another loop.
        is_run_for_caller = bool(self.run_by_callers or self.threads_of_jobs)
        is_more_to_come = is_run_for_caller or any(job.has_priority for job in tuple(self.waiting))
        for job in jobs:
            if is_more_to_come and job.benefit() < 0.0:
                continue
            if not PROCESSES.want_more(is_urgent):
                return
            ahead, job.ahead, job.is_ahead = job.ahead, None, True
            assert ahead is not None
            # The action raises the error again, and has it logged.
            with suppress(Exception):
                ignoring_float_errors(ahead)

    def end_processes(self) -> None:
        """End the processes that compile ahead."""
        if self.has_processes:
            from ...loops.llvm.compiler_processes import PROCESSES

            with self.processes_lock:
                self.has_processes = False
                PROCESSES.close()

    def prepare_for_forks(self) -> None:
        """Register the fork hooks after those of the modules that a job may use.

        Python calls the hooks before a fork in reverse order, so a fork waits for the job before it takes a
        lock that the job may need.
        """
        if self.is_ready_for_forks:
            return
        self.is_ready_for_forks = True
        for name in _MODULES_WITH_FORK_HOOKS:
            importlib.import_module(name)
        self._fill_waits()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self.before_fork,
                after_in_parent=self.release,
                after_in_child=self.after_fork_in_child,
            )

    def _fill_waits(self) -> None:
        """Let threads that wait for compiler processes work meanwhile."""
        from ...loops.llvm.compiler_processes import PROCESSES

        PROCESSES.meanwhile = self.work_meanwhile

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the thread from beginning a job within the context; callers that need a job run it."""
        with self.changed:
            self.holds += 1
        try:
            yield
        finally:
            self.release()

    def is_held(self) -> bool:
        """Whether the thread begins no job."""
        return self.holds > 0

    def before_fork(self) -> None:
        """Wait for the jobs that run, and keep others from beginning."""
        with self.changed:
            self.holds += 1
            current = threading.current_thread()
            while (
                (self.running is not None and self.thread is not current)
                or (self.running_beside is not None and self.thread_beside is not current)
                or any(thread is not current for thread in self.threads_of_jobs.values())
            ):
                self.changed.wait()

    def release(self) -> None:
        """Let the thread begin jobs again."""
        with self.changed:
            # A child has its own count, even if it was forked within `held`.
            self.holds = max(0, self.holds - 1)
            self.changed.notify_all()

    def after_fork_in_child(self) -> None:
        """Put the jobs back that other callers ran: only the forking thread exists in the child."""
        self.changed, self.processes_lock = threading.Condition(), threading.Lock()
        interrupted = [job for job, thread in self.run_by_callers.items() if thread != threading.get_ident()]
        for job in interrupted:
            del self.run_by_callers[job]
        self.waiting += [*interrupted, *self.threads_of_jobs, *self.beside]
        self.beside = []
        self.running = self.running_beside = self.thread = self.thread_beside = None
        self._restore_switch_interval()
        self.threads_of_jobs = {}
        self.holds = 0
        self.has_processes = self.is_idle = False


def _seconds_until(end: float | None) -> float | None:
    """The seconds that are left until a time of the monotonic clock; None: there is no limit."""
    return None if end is None else max(0.0, end - time.monotonic())


def _need_processes(jobs: Sequence[Job]) -> bool:
    """Whether other processes compile, or should compile, code of jobs with priority."""
    return any(job.has_priority and (job.is_ahead or job.ahead is not None) for job in jobs)


def _find_cache() -> None:
    """Find the cache of generated code, before the thread needs it."""
    from ...loops.llvm import machine

    machine.find_cache()


def _has_compiled_code() -> bool:
    """Whether any generated code is loaded or on the disk."""
    from ...loops.llvm.expected_code import has_compiled_code

    return has_compiled_code()


BACKGROUND = Background()
"""The background compiler of this process."""


def optimize_quick_code(
    seconds_of_calls: Callable[[], float],
    expected_seconds: Callable[[], float] = lambda: 0.0,
    share_of: Callable[[str], float] | None = None,
) -> None:
    """Have the quick code that this thread has loaded optimized once the code of other jobs is there.

    First comes what takes calls the most time for each second of optimizing it: LLVM takes up to 30 times as
    long for code of which calls spend as much time. A loop that LLVM unrolls is optimized without unrolling
    before.

    Args:
        seconds_of_calls: the time of the code in a call of the program; 0.0 before that is known.
        expected_seconds: stands for it until then.
        share_of: the share of the code of a key in that time, as far as that is known by now; None: that of
            its size.
    """
    from ...loops.llvm import machine

    codes = machine.quick_codes()
    if share_of is None:
        all_bytes = sum([code.size for code in codes.values()]) or 1
        share_of = {key: code.size / all_bytes for key, code in codes.items()}.__getitem__
    rates = {key: share_of(key) / _optimizing_seconds(code) for key, code in codes.items()}
    # The first job begins at once.
    for key in sorted(codes, key=lambda key: -rates[key]):
        code, share = codes[key], functools.partial(share_of, key)
        saved = functools.partial(_first_known, seconds_of_calls, expected_seconds, share)
        if code.unrolls_late:
            if not code.is_rough:
                _submit_optimization(key, code.size, True, saved, roughly=True)
            saved = functools.partial(_saved_by_unrolling, seconds_of_calls, share)
        _submit_optimization(key, code.size, code.fast_compile, saved)


def _optimizing_seconds(code: QuickCode) -> float:
    """Expected until the first optimized code is there that follows quick code, in seconds."""
    return _seconds_to_optimize(code.size, code.fast_compile or (code.unrolls_late and not code.is_rough))


def _seconds_to_optimize(size: int, fast_compile: bool) -> float:
    """Expected to optimize a text of so many bytes; `fast_compile`: LLVM unrolls none of its loops."""
    per_byte = OPTIMIZING_SECONDS_PER_BYTE_OF_STEPS if fast_compile else OPTIMIZING_SECONDS_PER_BYTE
    return OPTIMIZING_SECONDS + per_byte * size


def _first_known(
    seconds_of_calls: Callable[[], float], expected_seconds: Callable[[], float], share: Callable[[], float]
) -> float:
    """The time of a share of the code in a call of the program, or what is expected of it."""
    return share() * (seconds_of_calls() or expected_seconds())


def _saved_by_unrolling(seconds_of_calls: Callable[[], float], share: Callable[[], float]) -> float:
    """The time that unrolling a share of the code saves in a call of the program; before it is known, other
    code comes first."""
    return UNROLLING_SHARE * share() * seconds_of_calls() or -1.0


def _submit_optimization(
    key: str, size: int, fast_compile: bool, saved: Callable[[], float], roughly: bool = False
) -> None:
    """Have quick code optimized.

    Args:
        key: of the code.
        size: bytes of its text.
        fast_compile: whether LLVM unrolls none of its loops.
        saved: about the seconds that a call of the program saves by that; 0.0 before they are known.
        roughly: see `machine.optimize`.
    """
    from ...loops.llvm import machine

    seconds = _seconds_to_optimize(size, fast_compile)
    is_ahead = machine.is_ahead(key, roughly)
    job = Job(
        functools.partial(machine.optimize, key, roughly),
        has_priority=False,
        ahead=None if is_ahead else functools.partial(machine.optimize_ahead, key, roughly),
        seconds=seconds,
        is_there=functools.partial(machine.is_there, key, roughly),
        benefit=lambda: saved() / seconds,
    )
    job.is_ahead = is_ahead
    BACKGROUND.submit(job)
