"""Reduces a program to the operations that a backend accepts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ...api import load
from ...program.ir import Block, Builder, Module, Operation, Value, main_module, used_values
from ...types import Array
from ..backends import Backend, BackendError
from ..differences.extraction import constant_array, main_block, static_program

MAX_NAMED: Final = 2
"""Operations that are tried because a message names them."""
MAX_REMOVED: Final = 4
"""Operations that are removed before a program counts as rejected."""
ENDED: Final = "ended its process"
"""The error text of a backend whose process ended."""


@dataclass(frozen=True)
class AcceptedProgram:
    """The operations of a program that a backend accepts.

    Attributes:
        module: the program without the operations that the backend rejects, and what needs their results.
        inputs: an array for each argument of that program.
        results: the backend's results.
    """

    module: Module
    inputs: Sequence[Array]
    results: Sequence[Array]


def accepted_program(
    module: Module, inputs: Sequence[Array], backend: Backend, message: str = ""
) -> AcceptedProgram | None:
    """The operations of a rejected program that the backend accepts; None if no operation is left.

    Operations that the message names are tried first. Otherwise bisection finds the shortest prefix of the
    program that the backend rejects. The operation that ends it is removed, with those that depend on it,
    until the backend accepts the rest.

    Args:
        module: a verified program.
        inputs: an array for each argument of @main.
        backend: rejects the program.
        message: its error message.

    Raises:
        BackendError: the backend's process ended, or took too long.
        NimbleError: the program does not run.
    """
    program = static_program(module, "main", inputs)
    block = main_block(program)
    operations = list(block.operations[:-1])
    for _ in range(MAX_REMOVED if operations else 0):
        for named in _named_operations(operations, message):
            accepted, _ = _run(block, _without(operations, named), inputs, backend)
            if accepted is not None:
                return accepted
        count = _first_rejected(block, operations, inputs, backend)
        operations = _without(operations, operations[count - 1])
        if all(constant_array(one) is not None for one in operations):
            return None
        accepted, message = _run(block, operations, inputs, backend)
        if accepted is not None:
            return accepted
    return None


def _named_operations(operations: Sequence[Operation], message: str) -> list[Operation]:
    """The first operations whose names a message has."""
    words = set(re.findall(r"[a-z_0-9]+", message))
    named = [one for one in operations if one.name.partition(".")[2] in words - {"constant"}]
    return named[:MAX_NAMED]


def _run(
    block: Block, operations: Sequence[Operation], inputs: Sequence[Array], backend: Backend
) -> tuple[AcceptedProgram | None, str]:
    """The results of some operations; or None, and why the backend rejects them."""
    if all(constant_array(one) is not None for one in operations):
        return None, ""
    candidate, needed = _program_of(block, operations, inputs)
    try:
        return AcceptedProgram(candidate, needed, backend.run(candidate, needed)), ""
    except BackendError as error:
        if ENDED in str(error):
            raise
        return None, str(error)


def _first_rejected(
    block: Block, operations: Sequence[Operation], inputs: Sequence[Array], backend: Backend
) -> int:
    """The length of the shortest prefix that the backend rejects."""
    low, high = 1, len(operations)
    while low < high:
        middle = (low + high) // 2
        if _is_rejected(block, operations[:middle], inputs, backend):
            high = middle
        else:
            low = middle + 1
    return high


def _is_rejected(
    block: Block, operations: Sequence[Operation], inputs: Sequence[Array], backend: Backend
) -> bool:
    candidate, needed = _program_of(block, operations, inputs)
    try:
        backend.run(candidate, needed)
    except BackendError as error:
        return ENDED not in str(error)
    return False


def _without(operations: Sequence[Operation], removed: Operation) -> list[Operation]:
    """The operations except one and those that depend on its results."""
    lost: set[Value] = set()
    accepted = []
    for operation in operations:
        if operation is removed or lost.intersection(used_values(operation)):
            lost.update(operation.results)
        else:
            accepted.append(operation)
    return accepted


def _program_of(
    block: Block, operations: Sequence[Operation], inputs: Sequence[Array]
) -> tuple[Module, list[Array]]:
    """A program of some operations, with the arguments that they need; it returns unused results."""
    used = {value for operation in operations for value in used_values(operation)}
    needed = [index for index, argument in enumerate(block.arguments) if argument in used]
    copied = Block([block.arguments[index].type for index in needed])
    values = {
        block.arguments[index]: argument for index, argument in zip(needed, copied.arguments, strict=True)
    }
    builder = Builder(copied)
    for operation in operations:
        builder.copy(operation, values)
    returned = [values[one] for operation in operations for one in operation.results if one not in used]
    return load(str(main_module(builder, returned))), [inputs[index] for index in needed]
