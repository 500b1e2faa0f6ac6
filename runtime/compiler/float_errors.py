"""Calls functions while NumPy ignores overflow, division by zero and invalid operations: the specification
has no such errors.

`numpy.errstate` takes a microsecond, as long as a small step. It sets one context variable of NumPy, which is
private. At import this module finds the variable and its value by comparing the contexts outside and inside
of `numpy.errstate`, and then sets the variable directly.
"""

import contextvars
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

__all__ = ["ERRSTATE", "ignoring_float_errors"]

Result = TypeVar("Result")


def _error_variable() -> tuple[contextvars.ContextVar[Any], Any] | None:
    """The variable that `numpy.errstate` sets and its value if errors are ignored; None if it sets several.
    """
    outside = contextvars.copy_context()
    with np.errstate(all="ignore"):
        inside = contextvars.copy_context()
    changed = [(variable, value) for variable, value in inside.items() if outside.get(variable) is not value]
    return changed[0] if len(changed) == 1 else None


ERRSTATE = _error_variable()
"""The context variable, and its value if NumPy ignores all errors; None: only `numpy.errstate` serves."""


def ignoring_float_errors(function: Callable[..., Result], *arguments: object) -> Result:
    """Call the function while NumPy ignores floating-point errors; return its result."""
    if ERRSTATE is None:
        with np.errstate(all="ignore"):
            return function(*arguments)
    variable, value = ERRSTATE
    before = variable.set(value)
    try:
        return function(*arguments)
    finally:
        variable.reset(before)
