"""The exception for errors that handlers return."""

from __future__ import annotations

from ...errors import ExecutionError


class HandlerError(ExecutionError):
    """A handler returned an error.

    Attributes:
        code: its status code.
    """

    code: int
