"""Making programs that fail smaller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nimblehlo.checks.fuzzing.generator import CannotGenerate, Generator, RandomProgram, is_constant, uses
from nimblehlo.program.ir import Block, Builder, Operation, Value
from nimblehlo.types import PLAIN, TensorType

from .equivalents import constant

Array = np.ndarray[Any, Any]


def shrunk(
    program: RandomProgram, fails: Callable[[RandomProgram], bool], values: dict[Value, Array]
) -> RandomProgram:
    """The program without the operations that it fails without: constants stand in their place.

    Args:
        fails: whether a program still fails.
        values: what the constants are; random values where one is missing.
    """
    changed = True
    while changed:
        changed = False
        for operation in reversed(list(program.block.operations)):
            if is_constant(operation.results[0]) or operation not in program.block.operations:
                continue
            if not all(isinstance(value.type, TensorType) for value in operation.results):
                continue
            try:
                candidate, moved = _without(program, operation, values)
            except CannotGenerate:
                continue
            if any(map(is_constant, candidate.results)) or not fails(candidate):
                continue
            program, values, changed = candidate, moved, True
            break
    return program


def _without(
    program: RandomProgram, dropped: Operation, values: dict[Value, Array]
) -> tuple[RandomProgram, dict[Value, Array]]:
    """The program with constants in place of an operation, and the values of what remains."""
    candidate = RandomProgram(Block(), program.functions)
    builder = Builder(candidate.block)
    mapping: dict[Value, Value] = {}
    used = {value for other in program.block.operations if other is not dropped for value in uses(other)}
    for operation in program.block.operations:
        if operation is dropped:
            for value in operation.results:
                if value in used:
                    mapping[value] = _stand_in(builder, value, values)
        elif not is_constant(operation.results[0]) or operation.result in used:
            builder.copy(operation, mapping)
    return candidate, {mapping[value]: array for value, array in values.items() if value in mapping}


def _stand_in(builder: Builder, value: Value, values: dict[Value, Array]) -> Value:
    assert isinstance(value.type, TensorType)
    if not value.type.category & PLAIN:
        raise CannotGenerate("there are no quantized constants")
    array = values.get(value)
    return constant(builder, value.type, Generator(0).array(value.type) if array is None else array)
