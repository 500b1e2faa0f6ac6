"""What is done with one mutant: load it, compile it, and run it where that is cheap."""

from __future__ import annotations

import contextlib
import enum
import math
import signal
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from nimblehlo import NimbleError, Options, compile, load
from nimblehlo.program.ir import Module
from nimblehlo.types import DYNAMIC, TOKEN_VALUE, TensorType, TokenType, TupleType, TupleValue, Type
from tests.support.internal_errors import internal_error

LARGEST_INPUT = 1 << 12
"""Elements of the largest input that is made."""
LARGEST_RUN = 1 << 16
"""Elements of the largest value in a program that is run in full."""
ABSURD = 1 << 31
"""Elements that no run can hold: such a program must fail at once."""
LONGEST_RUN = 1.0
"""Seconds after which a run is stopped: a mutated loop need not end."""


class Phase(enum.IntEnum):
    """How far a mutant gets."""

    LOAD = 0
    COMPILE = 1
    RUN = 2
    DONE = 3


class Outcome(NamedTuple):
    """What came of one mutant.

    Attributes:
        phase: where a `NimbleError` came out, or DONE.
        cause: what a step of a run failed with that the runtime did not foresee, None otherwise.
        is_repeated: whether the same program came before, and was not run again.
    """

    phase: Phase
    cause: BaseException | None = None
    is_repeated: bool = False


class _Stopped(BaseException):
    """Raised in a run that takes long; no part of the runtime catches it."""


def attempt(text: str, options: Options, enter: Callable[[Phase], None]) -> Outcome:
    """Load, compile and run a text.

    Args:
        text: the program.
        options: how to compile.
        enter: called as each phase begins.

    Raises:
        Exception: anything else that came out: a defect.
    """
    phase = Phase.LOAD
    enter(phase)
    try:
        module = load(text)
        phase = Phase.COMPILE
        enter(phase)
        for name, function in module.functions.items():
            if function.body is not None:
                executable = compile(module, entry=name, options=options)
                inputs = [value_of(type) for type in executable.input_types]
                if all(value is not None for value in inputs):
                    phase = Phase.RUN
                    enter(phase)
                    if is_cheap(module):
                        run(executable, inputs)
    except NimbleError as error:
        is_hidden = phase < Phase.RUN and error.__cause__ is not None
        if is_hidden or internal_error(error) is not None:
            raise error.__cause__ or error  # noqa: B904 - a defect that the last line of defence has hidden
        return Outcome(phase, error.__cause__)
    return Outcome(Phase.DONE)


def value_of(type: Type) -> Any:
    """A small value of a type, None if there is none."""
    if isinstance(type, TensorType):
        shape = [2 if size == DYNAMIC else size for size in type.shape]
        if math.prod(max(size, 1) for size in shape) > LARGEST_INPUT:
            return None
        return (np.arange(math.prod(shape)) % 2).reshape(shape).astype(type.dtype)
    if isinstance(type, TupleType):
        values = [value_of(part) for part in type.types]
        return None if any(value is None for value in values) else TupleValue(values)
    return TOKEN_VALUE if isinstance(type, TokenType) else None


def is_cheap(module: Module) -> bool:
    """Whether all values are small, or one is so large that the run must fail."""
    largest = 0
    for operation in module.walk():
        for result in operation.results:
            if isinstance(result.type, TensorType):
                largest = max(largest, math.prod(max(size, 2) for size in result.type.shape))
    return largest <= LARGEST_RUN or largest >= ABSURD


def run(executable: Callable[..., Any], inputs: list[Any], seconds: float = LONGEST_RUN) -> Any:
    """The results of a run; None if it takes more than these seconds."""
    with contextlib.suppress(_Stopped), _stopped_after(seconds):
        return executable(*inputs)
    return None


@contextlib.contextmanager
def _stopped_after(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _Stopped

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
