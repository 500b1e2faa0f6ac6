"""Elementwise operations on small tensors, constants, and operations that only move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...ir import Operation
from ...ir.affine import AffineExpr, row_major_offset
from ..coverage import ViewOf, emits
from ..elementwise.elementwise import emit
from ..llvm.values import Value, constant
from . import elements as tensors
from .elements import Elements, is_plain
from .emitter import ELEMENTWISE, EMIT_RULES, BlockEmitter, Bound, EmitRule, all_small

MOVES = frozenset(
    f"stablehlo.{name}"
    for name in (
        "broadcast", "broadcast_in_dim", "concatenate", "pad", "reverse", "slice", "transpose",
    )
)  # fmt: skip
"""Operations whose result's elements are elements of their operands, whatever the values."""


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
    if not all(is_plain(operand.type) for operand in operation.operands):
        return "has elements or sizes that are not generated"
    return all_small(operation.results)


def _emit_move(emitter: BlockEmitter, operation: Operation) -> Sequence[Bound]:
    values: dict[int, Value] = {}
    for box in boxes(emitter.view_of(operation)):
        bound = emitter.bound[operation.operands[box.operand]]
        sources = tensors.offsets(box.source, box.sizes)
        for target, source in zip(tensors.offsets(box.target, box.sizes), sources, strict=True):
            values[target] = emitter.at(bound, source)
    return [Elements(tuple([values[position] for position in range(len(values))]))]


class MovedBox(NamedTuple):
    """A box of elements that are copied from an operand.

    Attributes:
        operand: its number.
        sizes: of the box.
        target, source: offsets in the result and in the operand.
    """

    operand: int
    sizes: tuple[int, ...]
    target: AffineExpr
    source: AffineExpr


def boxes(view: Any) -> list[MovedBox]:
    """The boxes of which the result of a data-movement operation is made; later ones overwrite earlier."""
    operands, shape = view.operation.operands, view.operation.result.type.shape
    return [
        MovedBox(
            one.operand,
            one.sizes,
            row_major_offset(shape, one.result_indices, len(shape)),
            row_major_offset(operands[one.operand].type.shape, one.indices, len(shape)),
        )
        for one in reversed(view.movement_maps())
        if 0 not in one.sizes
    ]


def _emit_reshape(emitter: BlockEmitter, operation: Operation) -> Sequence[Bound]:
    return [emitter.elements(operation.operands[0])]


EMIT_RULES[ELEMENTWISE] = EmitRule(_elementwise_problem, _emit_elementwise)
EMIT_RULES["stablehlo.constant"] = EmitRule(_results_small, _emit_constant)
EMIT_RULES["stablehlo.iota"] = EmitRule(_results_small, _emit_iota)
EMIT_RULES["stablehlo.reshape"] = EmitRule(_move_problem, _emit_reshape)
EMIT_RULES.update(dict.fromkeys(MOVES, EmitRule(_move_problem, _emit_move)))
