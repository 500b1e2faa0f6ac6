"""Errors of patterns: the reason, the pattern, the constraint, and the line of the user's code."""

from __future__ import annotations

import sys
from types import FrameType

from ..errors import UnsupportedError, VerifyError

_PACKAGE = __name__.rpartition(".")[0]
_PASSED_THROUGH = ("numpy", "torch", "contextlib")


def violation_error(pattern: str, reason: str, label: str | None = None) -> VerifyError:
    """The error for a violated constraint.

    Args:
        pattern: name of the pattern, or of the function that a traced value was given to.
        reason: what is wrong, with the operand and the values.
        label: the constraint in docs/patterns.md.
    """
    return VerifyError(reason, operation=pattern, label=label, location=_caller())


def unsupported_error(function: str, reason: str) -> UnsupportedError:
    """The error for operations that traced values do not support."""
    return UnsupportedError(reason, operation=function, location=_caller())


def _caller() -> str | None:
    """The line of the user's code that is being run."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if not module.startswith(_PACKAGE) and module.partition(".")[0] not in _PASSED_THROUGH:
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return None
