"""Exceptions: everything that goes wrong is a `NimbleError` of the right kind."""

from __future__ import annotations

from types import CodeType
from typing import Any, Final

INTERNAL_ERROR: Final = "an internal error of NimbleHLO"
REPORT_IT: Final = "please report the program, its inputs and this message as a bug"


class NimbleError(Exception):
    """Base of all errors raised for a program or its inputs.

    Attributes:
        operation: name of the operation at fault, such as ``stablehlo.gather``, or None.
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
    """The error text for an exception that ended a step of a run.

    What a program, its inputs or the machine can cause has a text of its own. Anything else is a defect of
    this runtime, whose report needs the exception.
    """
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}" if str(error) else "not enough memory"
    if isinstance(error, RecursionError):
        return "regions are nested too deeply for the depth of the calling code"
    if isinstance(error, OSError):
        return f"the operating system reports: {error}"
    return f"{INTERNAL_ERROR} ({type(error).__name__}: {error}): {REPORT_IT}"


def raised_by_signal_handler(error: BaseException) -> bool:
    """Whether a handler of a signal raised an exception: a harness stops a call that takes too long so.

    Such an exception is no failure of what the signal interrupted, and goes to the caller as it is.
    """
    import signal
    import traceback

    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    codes = {code for handler in handlers if (code := _code_of(handler)) is not None}
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))


def _code_of(function: Any) -> CodeType | None:
    """The code of a Python function, a method, a partial call of one, or an object that can be called."""
    while hasattr(function, "func"):
        function = function.func
    if not callable(function):
        return None
    called = function if hasattr(function, "__code__") else type(function).__call__
    return getattr(called, "__code__", None)


def counted(number: int, noun: str) -> str:
    """A number and a noun that agrees with it: ``"1 operand"``, ``"2 operands"``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


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
