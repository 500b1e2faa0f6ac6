"""Runs a call with a time limit on another thread, which is abandoned where the call does not end.

Python cannot stop a thread that is in native code, such as a routine of LAPACK or a sort. So the thread that
called waits for another one until the deadline, and returns an error then. Steps and launches of tasks
notice the deadline themselves; only a single native function that takes longer than `GRACE` after it is
abandoned. It ends on its own, and its result is dropped. Until then it holds references to all that it reads
and writes.

The exit of the process does not wait for abandoned functions for longer than `GRACE` either. The C library
would run the destructors of shared libraries beside them, which free memory that the functions use; so a
process with such functions ends without destructors.
"""

from __future__ import annotations

import atexit
import contextvars
import ctypes
import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any, Final

from ..kernels.launch.native import LaunchStopped, request_stop, withdraw_stop

GRACE: Final = 0.3
"""Seconds for which a call may go on after its deadline: launches check between tasks, every 0.05 s."""

_MAX_WAIT: Final = 0.05
"""Seconds between two looks for signals."""

_MAX_IDLE_THREADS: Final = 8
"""Maximum threads that wait for the next call; starting one takes 0.1 ms."""


Outcome = tuple[Any, BaseException | None]
"""What a call returned, or what it raised."""


class Abandoned(Exception):
    """A call was still running some time after its deadline."""


class _Call:
    """A function to call in a copy of the present context; `outcome` receives its outcome."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function: Callable[[], Any] | None = function
        self.context = contextvars.copy_context()
        self.outcome: SimpleQueue[Outcome] = SimpleQueue()

    def run(self) -> Outcome:
        function, self.function = self.function, None
        assert function is not None
        try:
            return self.context.run(function), None
        except BaseException as error:
            return None, error


class _Thread:
    """A daemon thread that runs one call after the other."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[_Call] = SimpleQueue()
        self.current: _Call | None = None
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self._serve, name="nimblehlo-call", daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        is_kept = True
        while is_kept:
            call = self.calls.get()
            outcome = call.run()
            with self.lock:
                self.current = None
                withdraw_stop(threading.get_ident())
            is_kept = _threads.give_back(self)
            call.outcome.put(outcome)
            del call, outcome

    def begin(self, call: _Call) -> None:
        with self.lock:
            self.current = call
        self.calls.put(call)

    def stop(self, call: _Call) -> None:
        """Let no further task of a call's launches begin."""
        with self.lock:
            if self.current is call and self.thread.ident is not None:
                request_stop(self.thread.ident)


class _Threads:
    """The threads of this process that run calls."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.idle: list[_Thread] = []
        self.busy: set[_Thread] = set()

    def take(self) -> _Thread:
        """A thread that runs nothing."""
        with self.lock:
            thread = self.idle.pop() if self.idle else None
        if thread is None:
            thread = _Thread()
        with self.lock:
            self.busy.add(thread)
        return thread

    def give_back(self, thread: _Thread) -> bool:
        """Note that a thread runs nothing; whether it is to wait for another call."""
        with self.lock:
            self.busy.discard(thread)
            if len(self.idle) >= _MAX_IDLE_THREADS:
                return False
            self.idle.append(thread)
        return True

    def forget(self) -> None:
        """In a child process: the threads are its parent's."""
        self.__init__()  # type: ignore[misc]

    def leave(self) -> None:
        """At exit: wait a little for calls that go on, and let the process end beside those that remain."""
        deadline = perf_counter() + GRACE
        for thread in list(self.busy):
            call = thread.current
            if call is not None:
                thread.stop(call)
                try:
                    call.outcome.get(timeout=max(0.0, deadline - perf_counter()))
                except Empty:
                    _end_without_destructors()
                    return


def _end_without_destructors() -> None:
    """Let the process end by `_exit`, with its status, as soon as the interpreter is finalized.

    `on_exit` (glibc) calls functions in the reverse order, so this one precedes all destructors.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "on_exit"):
        library.on_exit(library._exit, None)


_threads = _Threads()
atexit.register(lambda: _threads.leave())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.forget)


def call_until(deadline: float, function: Callable[[], Any]) -> Any:
    """Call a function on another thread, in a copy of this context, and return what it returns.

    Args:
        deadline: when it must end, as a time of `time.perf_counter`.
        function: stops by itself soon after that, unless a native function goes on.

    Raises:
        Abandoned: it goes on `GRACE` seconds after the deadline.
    """
    try:
        thread = _threads.take()
    except RuntimeError:
        # The system starts no further thread: steps alone notice the deadline.
        return function()
    call = _Call(function)
    del function
    thread.begin(call)
    try:
        value, error = _outcome(thread, call, deadline)
    except BaseException:
        # A signal handler raised: the call is no longer waited for.
        thread.stop(call)
        raise
    if error is not None:
        try:
            raise error
        finally:
            del error
    return value


def compile_until(deadline: float, function: Callable[[], Any]) -> Any:
    """Like `call_until`, for code that a call waits for.

    Raises:
        LaunchStopped: it goes on `GRACE` seconds after the deadline.
    """
    try:
        return call_until(deadline, function)
    except Abandoned:
        raise LaunchStopped from None


def _outcome(thread: _Thread, call: _Call, deadline: float) -> Outcome:
    outcome = _outcome_until(deadline, call)
    if outcome is None:
        thread.stop(call)
        outcome = _outcome_until(perf_counter() + GRACE, call)
    if outcome is None:
        raise Abandoned
    return outcome


def _outcome_until(deadline: float, call: _Call) -> Outcome | None:
    """Wait for the end of a call; None if it goes on.

    A signal interrupts a wait only where the system delivers it to this thread, so waits are short.
    """
    while True:
        left = deadline - perf_counter()
        try:
            return call.outcome.get(timeout=max(0.0, min(left, _MAX_WAIT)))
        except Empty:
            if left <= _MAX_WAIT:
                return None
