"""Control of Python's garbage collection."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any, Final, TypeVar

Work = TypeVar("Work", bound=Callable[..., Any])

_MAX_FROZEN_BY_PYTHON: Final = 1000
"""CPython 3.12 freezes some 400 objects of its own when it starts; a program freezes thousands."""


def gc_paused(function: Work) -> Work:
    """Pause garbage collection during a function that creates many long-lived objects."""

    @functools.wraps(function)
    def run(*arguments: Any, **settings: Any) -> Any:
        if not gc.isenabled():
            return function(*arguments, **settings)
        gc.disable()
        try:
            return function(*arguments, **settings)
        finally:
            gc.enable()

    return run  # type: ignore[return-value]


def mark_long_lived() -> None:
    """Move all objects to the oldest generation, which spares one collection of them.

    Objects that a program has frozen stay frozen, so nothing is moved then.
    """
    if gc.get_freeze_count() <= _MAX_FROZEN_BY_PYTHON:
        gc.freeze()
        gc.unfreeze()
