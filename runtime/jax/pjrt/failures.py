"""Converts exceptions to status codes and texts of PJRT."""

from __future__ import annotations

from typing import Final

from ...errors import (
    ExecutionError,
    NimbleError,
    UnsupportedError,
    failure_reason,
    raised_by_signal_handler,
)
from ..ffi.errors import HandlerError

CANCELLED: Final = 1
INVALID_ARGUMENT: Final = 3
RESOURCE_EXHAUSTED: Final = 8
UNIMPLEMENTED: Final = 12
INTERNAL: Final = 13


def describe(exception: BaseException) -> tuple[int, str]:
    """The status code and the message of an exception."""
    if isinstance(exception, KeyboardInterrupt):
        return CANCELLED, "interrupted"
    if raised_by_signal_handler(exception):
        return CANCELLED, _ended_by(exception)
    if isinstance(exception, UnsupportedError):
        return UNIMPLEMENTED, str(exception)
    if isinstance(exception, HandlerError):
        return exception.code, str(exception)
    if isinstance(exception, ExecutionError):
        return INTERNAL, str(exception)
    if isinstance(exception, NimbleError):
        return INVALID_ARGUMENT, str(exception)
    if isinstance(exception, MemoryError):
        return RESOURCE_EXHAUSTED, failure_reason(exception)
    if isinstance(exception, Exception):
        return INTERNAL, failure_reason(exception)
    return CANCELLED, _ended_by(exception)


def _ended_by(exception: BaseException) -> str:
    return f"ended by {type(exception).__name__}: {exception}"
