"""Elementwise operations on small tensors, constants, and operations that only move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir import Operation
from ...ir import Value as IrValue
from ..coverage import ViewOf, emits
from ..elementwise.elementwise import emit
from ..llvm.values import I64, Value, constant
from . import elements as tensors
from .elements import Elements, is_plain
from .emitter import ELEMENTWISE, EMIT_RULES, BlockEmitter, Bound, EmitRule, all_small

_MOVES = frozenset(
    f"stablehlo.{name}"
    for name in (
        "broadcast",
        "broadcast_in_dim",
        "concatenate",
        "pad",
        "reshape",
        "reverse",
        "slice",
        "transpose",
    )
)
"""Operations whose result's elements are elements of their operands, whatever the values."""

MAX_NUMBERED_ELEMENTS = 1 << 16
"""An operand with more elements is not numbered to find out where its elements go."""


def _elementwise_problem(operation: Operation, view_of: ViewOf) -> str | None:
    reason = all_small((*operation.operands, *operation.results))
    if reason is None and not (len(operation.results) == 1 and emits(operation)):
        return "is not generated"
    return reason


def _emit_elementwise(emitter: BlockEmitter, operation: Operation) -> Sequence[Bound]:
    count = tensors.element_count(operation.result.type)
    operands = [emitter.elements(operand).values for operand in operation.operands]
    columns = [values if len(values) == count else values * count for values in operands]
    results = [
        emit(emitter.builder, operation, [column[index] for column in columns]) for index in range(count)
    ]
    return [Elements(tuple(results))]


def _emit_constant(emitter: BlockEmitter, operation: Operation) -> Sequence[Bound]:
    attribute: Any = operation.attributes["value"]
    kind: Any = operation.result.type
    return [Elements(tuple([constant(kind.element_type, item) for item in attribute.array.reshape(-1)]))]


def _emit_iota(emitter: BlockEmitter, operation: Operation) -> Sequence[Bound]:
    kind: Any = operation.result.type
    numbers = emitter.view_of(operation).reference().reshape(-1)
    return [Elements(tuple([constant(kind.element_type, number) for number in numbers]))]


def _results_small(operation: Operation, view_of: ViewOf) -> str | None:
    return all_small(operation.results)


def _move_problem(operation: Operation, view_of: ViewOf) -> str | None:
    counts = [tensors.element_count(operand.type) for operand in operation.operands if is_plain(operand.type)]
    if len(counts) < len(operation.operands) or sum(counts) > MAX_NUMBERED_ELEMENTS:
        return "moves elements of a large tensor"
    return all_small(operation.results)


def _emit_move(emitter: BlockEmitter, operation: Operation) -> Sequence[Bound]:
    numbered, first = [], 0
    sources: list[tuple[IrValue, int]] = []
    for operand in operation.operands:
        kind: Any = operand.type
        count = tensors.element_count(kind)
        numbered.append(np.arange(first, first + count).reshape(kind.shape))
        sources += [(operand, position) for position in range(count)]
        first += count
    moved = np.asarray(emitter.view_of(operation).reference(*numbered)).reshape(-1)
    return [Elements(tuple([_element(emitter, *sources[number]) for number in moved]))]


def _element(emitter: BlockEmitter, value: IrValue, position: int) -> Value:
    """One element of a tensor of any size."""
    bound = emitter.bound[value]
    if isinstance(bound, Elements):
        return bound.values[position]
    return tensors.load_elements(emitter.builder, bound, [I64(position)]).scalar


EMIT_RULES[ELEMENTWISE] = EmitRule(_elementwise_problem, _emit_elementwise)
EMIT_RULES["stablehlo.constant"] = EmitRule(_results_small, _emit_constant)
EMIT_RULES["stablehlo.iota"] = EmitRule(_results_small, _emit_iota)
EMIT_RULES.update(dict.fromkeys(_MOVES, EmitRule(_move_problem, _emit_move)))
