"""Calls during which NumPy does not warn of overflow, division by zero or invalid operations: the
specification has no such errors.

`numpy.errstate` takes a microsecond, as long as a small step. What it changes is a context variable, which is
looked for here once, as what its context differs in, and is set without the rest.
"""

import contextvars
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

__all__ = ["ERRORS_IGNORED", "without_warnings"]

Result = TypeVar("Result")


def _error_variable() -> tuple[contextvars.ContextVar[Any], Any] | None:
    """The variable and its value where errors are ignored; None if it is not one variable."""
    outside = contextvars.copy_context()
    with np.errstate(all="ignore"):
        inside = contextvars.copy_context()
    changed = [(variable, value) for variable, value in inside.items() if outside.get(variable) is not value]
    return changed[0] if len(changed) == 1 else None


ERRORS_IGNORED = _error_variable()
"""See `_error_variable`."""


def without_warnings(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call the function while NumPy ignores floating-point errors; return its result."""
    if ERRORS_IGNORED is None:
        with np.errstate(all="ignore"):
            return function(*arguments)
    variable, value = ERRORS_IGNORED
    before = variable.set(value)
    try:
        return function(*arguments)
    finally:
        variable.reset(before)
