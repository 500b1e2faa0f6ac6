"""Control of Python's garbage collection."""

from __future__ import annotations

import functools
import gc
import os
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

Work = TypeVar("Work", bound=Callable[..., Any])

_MAX_FROZEN_BY_PYTHON: Final = 1000
"""CPython 3.12 freezes some 400 objects of its own when it starts; a program freezes thousands."""


_pausing: Final[set[int]] = set()
"""The threads within a function that has paused garbage collection."""


def gc_paused(function: Work) -> Work:
    """Pause garbage collection during a function that creates many long-lived objects."""

    @functools.wraps(function)
    def run(*arguments: Any, **settings: Any) -> Any:
        if not gc.isenabled():
            return function(*arguments, **settings)
        thread = threading.get_ident()
        try:
            _pausing.add(thread)
            gc.disable()
            return function(*arguments, **settings)
        finally:
            gc.enable()
            _pausing.discard(thread)

    return run  # type: ignore[return-value]


def _resume_in_child() -> None:
    """Collect garbage in a child process where other threads, which it does not have, have paused that."""
    others = _pausing - {threading.get_ident()}
    if others:
        _pausing.difference_update(others)
        if not _pausing:
            gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_resume_in_child)


def mark_long_lived() -> None:
    """Move all objects to the oldest generation, which spares one collection of them.

    Objects that a program has frozen stay frozen, so nothing is moved then.
    """
    if gc.get_freeze_count() <= _MAX_FROZEN_BY_PYTHON:
        gc.freeze()
        gc.unfreeze()
