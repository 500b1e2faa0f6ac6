"""The background thread, which compiles while calls go on.

The thread starts with the first job and ends with the last. It changes no result: what it makes gives the
same bits as what runs meanwhile. A fork and the end of the interpreter wait for the job that runs, and for no
other.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...float_errors import without_warnings

_SWITCH_SECONDS = 2e-4
"""How long Python's lock stays with the thread of jobs while callers want it. By default it is 25 times as
long, and a call that gives the lock away with each step would wait for it each time."""

_HALF_A_MICROSECOND = 5e-7
"""Python keeps the interval in whole microseconds and cuts off what is left of one, which a number that it
has returned may fall short of by a rounding error."""

_MODULES_WITH_FORK_HOOKS = ("concurrent.futures.thread", "logging", "nimblehlo.codegen.llvm.machine")


class Job:
    """Something to do once.

    Args:
        action: what; it keeps its result itself. Where it raises, nothing has come of it, and that is logged.
        is_quick: whether it goes before those that take seconds.
    """

    __slots__ = ("action", "ended", "is_quick")

    def __init__(self, action: Callable[[], object], is_quick: bool) -> None:
        self.action = action
        self.is_quick = is_quick
        self.ended = False

    def run(self) -> None:
        """Do it."""
        try:
            without_warnings(self.action)
        except Exception as error:
            # Whoever asks for compilation at once has it raised.
            _warn(error)
        finally:
            self.ended = True


def _warn(error: Exception) -> None:
    """Log why a job has failed."""
    import logging

    reason = "compiling failed, and the reference goes on serving: %s: %s"
    logging.getLogger(__name__).warning(reason, type(error).__name__, error, exc_info=error)


class Background:
    """Jobs in their order, quick ones first, and the thread that does them."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.waiting: list[Job] = []
        self.running: Job | None = None
        self.run_by_callers: dict[Job, int] = {}
        self.thread: threading.Thread | None = None
        self.holds = 0
        self.is_ready_for_forks = False

    def submit(self, job: Job) -> Job:
        """Enter a job; returns it."""
        self.prepare_for_forks()
        with self.changed:
            self.waiting.append(job)
            if self.thread is None:
                self.thread = threading.Thread(target=self.work, name="nimblehlo compiling")
                self.thread.start()
        return job

    def finish(self, job: Job) -> None:
        """Wait for a job; one that has not begun is done by the caller."""
        with self.changed:
            if job in self.waiting:
                self.waiting.remove(job)
                self.run_by_callers[job] = threading.get_ident()
            else:
                while not job.ended:
                    self.changed.wait()
                return
        try:
            job.run()
        finally:
            # Other callers may have begun to wait for the job meanwhile.
            with self.changed:
                del self.run_by_callers[job]
                self.changed.notify_all()

    @property
    def is_busy(self) -> bool:
        """Whether a job runs, which slows down what else does."""
        return self.thread is not None

    def wait(self) -> None:
        """Wait until there is nothing left to do."""
        with self.changed:
            while self.waiting or self.running is not None:
                self.changed.wait()

    def work(self) -> None:
        """Run the thread: compile the jobs of the queue."""
        interval = sys.getswitchinterval()
        sys.setswitchinterval(min(interval, _SWITCH_SECONDS) + _HALF_A_MICROSECOND)
        while True:
            with self.changed:
                while self.holds:
                    self.changed.wait()
                if not self.waiting or not threading.main_thread().is_alive():
                    self.thread = None
                    sys.setswitchinterval(interval + _HALF_A_MICROSECOND)
                    self.changed.notify_all()
                    return
                job = next((one for one in self.waiting if one.is_quick), self.waiting[0])
                self.waiting.remove(job)
                self.running = job
            job.run()
            with self.changed:
                self.running = None
                self.changed.notify_all()

    def prepare_for_forks(self) -> None:
        """Let forks wait before anything else: before they take locks that a job may need.

        What is called before a fork is called in the reverse order of its registration.
        """
        if self.is_ready_for_forks:
            return
        self.is_ready_for_forks = True
        for name in _MODULES_WITH_FORK_HOOKS:
            importlib.import_module(name)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self.before_fork,
                after_in_parent=self.release,
                after_in_child=self.after_fork_in_child,
            )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let the thread begin no job meanwhile; who needs one does it."""
        with self.changed:
            self.holds += 1
        try:
            yield
        finally:
            self.release()

    def before_fork(self) -> None:
        """Let the job that runs come to its end, and none begin."""
        with self.changed:
            self.holds += 1
            while self.running is not None and self.thread is not threading.current_thread():
                self.changed.wait()

    def release(self) -> None:
        """Let jobs begin again that were held."""
        with self.changed:
            # A child has its own count, also where its fork was during a hold.
            self.holds = max(0, self.holds - 1)
            self.changed.notify_all()

    def after_fork_in_child(self) -> None:
        """Only the forking thread is left: jobs that other callers ran wait again."""
        self.changed = threading.Condition()
        interrupted = [
            job for job, thread in self.run_by_callers.items() if thread != threading.get_ident()
        ]
        for job in interrupted:
            del self.run_by_callers[job]
        self.waiting.extend(interrupted)
        self.running = self.thread = None
        self.holds = 0


BACKGROUND = Background()
"""This process's."""
