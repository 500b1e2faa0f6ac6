"""Exceptions: everything that goes wrong is a `NimbleError` of the right kind."""

from __future__ import annotations


class NimbleError(Exception):
    """Base of all errors raised for a program or its inputs.

    Attributes:
        operation: name of the operation at fault, such as ``"stablehlo.gather"``, or None.
        label: the specification's label of the violated constraint, such as ``"C21"``, or None.
        location: the operation's source location, as text (``"model.mlir:12:8"``), or None.
        reason: what is wrong, in words.
    """

    def __init__(
        self, reason: str, *, operation: str | None = None, label: str | None = None, location: object = None
    ) -> None:
        self.reason = reason
        self.operation = operation
        self.label = label
        self.location = None if location is None else str(location)
        prefix = f"{operation}: " if operation else ""
        marked = f"({label}) " if label else ""
        suffix = f", at {self.location}" if self.location else ""
        super().__init__(f"{prefix}{marked}{reason}{suffix}")


def failure_reason(error: Exception) -> str:
    """The error text for an exception that ended a step of a run."""
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}"
    if isinstance(error, RecursionError):
        return "regions are nested too deeply for the depth of the calling code"
    return f"failed with {type(error).__name__}: {error}"


class ParseError(NimbleError):
    """The text or bytecode of a module is malformed.

    The message holds file:line:column, the line, a caret below the column and what was expected.
    """


class VerifyError(NimbleError):
    """A module breaks a constraint of the specification."""


class UnsupportedError(NimbleError):
    """A module asks for something that this runtime does not offer."""


class ExecutionError(NimbleError):
    """Inputs do not fit the program, or running it failed."""


class UndefinedBehaviorError(ExecutionError):
    """A run met behaviour that the specification leaves undefined."""
