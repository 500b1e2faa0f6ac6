"""Control of Python's garbage collection."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any, TypeVar

Work = TypeVar("Work", bound=Callable[..., Any])


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
    """Move all objects to the oldest generation, which spares one collection of them."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
