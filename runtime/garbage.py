"""When Python looks for garbage."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any, TypeVar

Work = TypeVar("Work", bound=Callable[..., Any])


def gc_paused(function: Work) -> Work:
    """The function, during which no garbage is looked for: for work that makes many objects that live on."""

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


def let_live() -> None:
    """Count all objects that there are among those that live long, which spares looking at them once."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
