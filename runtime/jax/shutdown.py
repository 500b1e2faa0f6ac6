"""Stops daemon threads that use JAX before the interpreter shuts down.

Until Python 3.13 the interpreter ends a daemon thread with ``pthread_exit`` as soon as the thread asks for
the GIL after the shutdown began. The forced unwinding aborts the process where it meets the C++ of jaxlib,
whichever backend the thread uses. A thread that an exception has ended before is not unwound.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from types import FrameType
from typing import Final

MAX_WAIT: Final = 30.0
"""Maximum number of seconds that the interpreter's exit waits: a thread may be within a long compilation."""

_POLL: Final = 0.01
_CALM_POLLS: Final = 5
"""Polls in a row that must see no thread in JAX: between two calls of JAX a thread is not in it."""

_REPEAT: Final = 1.0
"""Seconds after which a thread that caught the exception and continued is interrupted again."""


def stop_daemon_threads() -> None:
    """Raise SystemExit in daemon threads of `threading` that are within JAX, and wait until no thread is left
    in JAX. The exception comes when a thread runs Python again; `threading` ends a thread silently that it
    leaves. A thread that is elsewhere, such as one that waits for a queue, is left alone.
    """
    deadline = time.monotonic() + MAX_WAIT
    interrupted: dict[int, float] = {}
    calm_polls = 0
    while calm_polls < _CALM_POLLS and (now := time.monotonic()) < deadline:
        daemons = _daemon_threads()
        if not daemons:
            return
        frames = sys._current_frames()
        threads = [ident for ident in daemons & frames.keys() if _is_in_jax(frames[ident])]
        for thread in threads:
            if now - interrupted.get(thread, -_REPEAT) >= _REPEAT:
                interrupted[thread] = now
                _raise_in(thread, SystemExit)
        calm_polls = 0 if threads else calm_polls + 1
        time.sleep(_POLL)


def _daemon_threads() -> set[int]:
    """Identifiers of the daemon threads that `threading` has started, without the calling one.

    Threads of jaxlib and of the plugin count as dummy threads while they run Python. They do what other
    threads wait for, and come to an end by themselves.
    """
    own = threading.get_ident()
    threads = [
        thread.ident
        for thread in threading.enumerate()
        if thread.daemon and not isinstance(thread, threading._DummyThread)
    ]
    return {ident for ident in threads if ident is not None and ident != own}


def _is_in_jax(frame: FrameType | None) -> bool:
    """Whether a function of JAX is on a stack."""
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] == "jax":
            return True
        frame = frame.f_back
    return False


def _raise_in(thread: int, exception: type[BaseException]) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(exception))
