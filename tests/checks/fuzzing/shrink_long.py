"""Making long programs that fail smaller: results and operations are dropped in chunks, large ones first."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nimblehlo.checks.fuzzing.generator import RandomProgram, is_constant, uses
from nimblehlo.program.ir import Block, Builder, Operation, Value
from nimblehlo.types import PLAIN, TensorType

from .equivalents import constant

Array = np.ndarray[Any, Any]
Values = dict[Value, Array]
Fails = Callable[[RandomProgram], bool]


def shrunk_in_chunks(program: RandomProgram, fails: Fails, values: Values, seconds: float) -> RandomProgram:
    """The program without the results and the operations that it fails without: constants stand in their
    place.

    Args:
        program: with `returned`.
        fails: whether a program still fails.
        values: what the constants are: each value that an operation of the program makes.
        seconds: after which no more is tried.
    """
    return _Shrinking(program, fails, values, time.monotonic() + seconds).program


class _Shrinking:
    def __init__(self, program: RandomProgram, fails: Fails, values: Values, deadline: float) -> None:
        self.program, self.fails, self.values, self.deadline = program, fails, values, deadline
        self.in_chunks(lambda: list(self.program.returned), lambda chunk: self.try_without((), chunk))
        self.in_chunks(lambda: _droppable(self.program), lambda chunk: self.try_without(chunk, ()))

    def in_chunks(self, items: Callable[[], list[Any]], try_without: Callable[[Sequence[Any]], bool]) -> None:
        """Drop chunks of items; of half the size, once no chunk of a size can be dropped."""
        size = max(1, len(items()) // 2)
        while True:
            start, is_smaller = 0, False
            while start < len(items()) and time.monotonic() < self.deadline:
                if try_without(items()[start : start + size]):
                    is_smaller = True
                else:
                    start += size
            if time.monotonic() > self.deadline or (size == 1 and not is_smaller):
                return
            size = max(1, size // 2) if not is_smaller or size > 1 else 1

    def is_made(self, value: Value, dropped: set[Operation]) -> bool:
        """Whether an operation of the program, none of the dropped ones, makes a tensor."""
        is_tensor = isinstance(value.type, TensorType) and value in self.values and not is_constant(value)
        return is_tensor and value.owner not in dropped

    def try_without(self, operations: Sequence[Operation], results: Sequence[Value]) -> bool:
        """Have a program without these operations and results, if it fails.

        Where nothing else is returned any more, what the operations use is.
        """
        dropped, left_out = set(operations), set(results)
        returned = [
            value for value in self.program.returned if value not in left_out and value.owner not in dropped
        ]
        if not returned:
            used = dict.fromkeys(value for operation in operations for value in uses(operation))
            returned = [value for value in used if self.is_made(value, dropped)]
        if not returned:
            return False
        candidate, values = _without(self.program, dropped, returned, self.values)
        if not self.fails(candidate):
            return False
        self.program, self.values = candidate, values
        return True


def _droppable(program: RandomProgram) -> list[Operation]:
    """The operations in whose place constants may stand, the last ones first."""
    return [
        operation
        for operation in reversed(program.block.operations)
        if not is_constant(operation.results[0])
        and all(isinstance(one.type, TensorType) and one.type.category & PLAIN for one in operation.results)
    ]


def _without(
    program: RandomProgram, dropped: set[Operation], returned: Sequence[Value], values: Values
) -> tuple[RandomProgram, Values]:
    """What is needed of a program, with constants in place of operations, and the values of what remains."""
    needed, kept = set(returned), []
    for operation in reversed(program.block.operations):
        if not needed.isdisjoint(operation.results):
            kept.append(operation)
            if operation not in dropped:
                needed.update(uses(operation))
    candidate = RandomProgram(Block(), program.functions)
    builder = Builder(candidate.block)
    mapping: dict[Value, Value] = {}
    for operation in reversed(kept):
        if operation in dropped:
            for value in operation.results:
                assert isinstance(value.type, TensorType)
                mapping[value] = constant(builder, value.type, values[value])
        else:
            builder.copy(operation, mapping)
    candidate.returned = [mapping[value] for value in returned]
    return candidate, {mapping[value]: array for value, array in values.items() if value in mapping}
