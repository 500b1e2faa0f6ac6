"""Bounds the time for which a call with a time limit waits for code.

Nothing can stop LLVM or Numba, so another thread compiles, for which the call waits until its deadline. The
thread goes on then, and later calls find its code.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, TypeVar

Result = TypeVar("Result")

Runs = Callable[[Callable[[], Any]], Any]
"""Calls a function and returns what it returns, or raises `LaunchStopped` at the deadline of the call."""

RUNS_UNTIL_DEADLINE: Final[ContextVar[Runs | None]] = ContextVar("runs_until_deadline", default=None)
"""Set by a call with a time limit that runs on the thread of its caller."""


def within_time_limit(function: Callable[[], Result]) -> Result:
    """Call a function that may compile, or wait for code, and return what it returns.

    Raises:
        LaunchStopped: the time of the present call is over; the function goes on.
    """
    runs = RUNS_UNTIL_DEADLINE.get()
    return function() if runs is None else runs(function)
