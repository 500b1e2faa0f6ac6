"""Reductions of small arrays in the order of their references: by adjacent pairs, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from llvmlite import ir

from ...ir import Operation
from ...ir.affine import row_major_strides
from ..blocks import Bound, Elements
from ..blocks.reductions import order_problem
from ..coverage import ViewOf
from ..llvm.values import I64, Value
from .boxes import Side, copy
from .elementwise import constant_array
from .emitter import EMIT_RULES, ArrayEmitter, EmitRule, body_problem

MAX_REDUCED_BYTES = 1 << 16
"""Bytes of operands: their levels lie on the stack."""


def _problem(operation: Operation, view_of: ViewOf) -> str | None:
    return _reduction_problem(view_of(operation), view_of)


def _reduction_problem(view: Any, view_of: ViewOf) -> str | None:
    if sum(type.size * type.dtype.itemsize for type in view.inputs) > MAX_REDUCED_BYTES:
        return "reduces a large tensor"
    return order_problem(view) or body_problem(view.body, view_of)


def _emit(emitter: ArrayEmitter, operation: Operation) -> Sequence[Bound]:
    count = len(operation.results)
    inputs = [emitter.bound[value] for value in operation.operands[:count]]
    return _reduced(emitter, operation, emitter.view_of(operation), inputs)


def _position_problem(operation: Operation, view_of: ViewOf) -> str | None:
    return _reduction_problem(_with_positions(operation, view_of), view_of)


def _with_positions(operation: Operation, view_of: ViewOf) -> Any:
    """The reduction whose positions are an operand."""
    view = view_of(operation)
    reduction = view.reduction
    reduction.ordering = view.ordering
    return reduction


def _emit_position(emitter: ArrayEmitter, operation: Operation) -> Sequence[Bound]:
    view = emitter.view_of(operation)
    positions = constant_array(emitter, view.positions_type.with_shape(view.operand.shape), view.positions)
    inputs = [emitter.bound[operation.operands[0]], positions]
    return _reduced(emitter, operation, _with_positions(operation, emitter.view_of), inputs)


def _reduced(
    emitter: ArrayEmitter, operation: Operation, view: Any, inputs: Sequence[Bound]
) -> Sequence[Bound]:
    """Fold tensors beside each other, and then the initial values with the totals."""
    initial = [emitter.element(value) for value in operation.operands[-len(inputs) :]]
    fold = _Fold(emitter, view)
    columns = [fold.arranged(bound) for bound in inputs]
    length = fold.sizes[1]
    while length > 1:
        columns = fold.halved(columns, length)
        length = -(-length // 2)
    scratch_buffers = [emitter.allocate_result(result) for result in operation.results]
    with emitter.loop(fold.sizes[0] * fold.sizes[2]) as index:
        items = [*initial, *(emitter.at(column, index) for column in columns)]
        for room, value in zip(scratch_buffers, emitter.applied(view.body.block, items), strict=True):
            emitter.put(room, index, value)
    return [emitter.result(room) for room in scratch_buffers]


class _Fold:
    """Folds arrays of [outer, length, inner] along their middle dimension.

    Attributes:
        sizes: of these dimensions at first.
    """

    def __init__(self, emitter: ArrayEmitter, view: Any) -> None:
        self.emitter = emitter
        self.block = view.body.block
        self.layout = view.layout
        self.sizes = self.layout.sizes

    def arranged(self, storage: Bound) -> Bound:
        """An operand in that order: a copy where its dimensions are reduced in between others."""
        emitter, permutation = self.emitter, self.layout.permutation
        if permutation is None or isinstance(storage, Elements):
            return storage
        shape, strides = storage.type.shape, row_major_strides(storage.type.shape)
        sizes = [shape[d] for d in permutation]
        computed = emitter.allocate_scratch(storage.type.with_shape(tuple(sizes)))
        source = Side(storage, I64(0), [strides[d] for d in permutation])
        copy(emitter, Side(computed, I64(0), row_major_strides(sizes)), source, sizes)
        return computed

    def halved(self, columns: Sequence[Bound], length: int) -> list[Bound]:
        """Adjacent pairs combined; a last one without a partner as it is."""
        emitter, builder = self.emitter, self.emitter.builder
        outer, _, inner = self.sizes
        half = -(-length // 2)
        scratch_buffers = [
            emitter.allocate_scratch(column.type.with_shape((outer, half, inner)))  # type: ignore[union-attr]
            for column in columns
        ]
        with ExitStack() as loops:
            line = loops.enter_context(emitter.loop(outer))
            to, start = builder.mul(line, I64(half * inner)), builder.mul(line, I64(length * inner))
            with emitter.loop(length // 2) as pair, emitter.loop(inner) as index:
                offset = builder.add(builder.mul(pair, I64(inner)), index)
                left = builder.add(start, builder.add(builder.mul(pair, I64(2 * inner)), index))
                right = builder.add(left, I64(inner))
                items: list[Value] = [emitter.at(column, at) for at in (left, right) for column in columns]
                self.write(scratch_buffers, builder.add(to, offset), emitter.applied(self.block, items))
            if length % 2:
                with emitter.loop(inner) as index:
                    last = builder.add(start, builder.add(index, I64((length - 1) * inner)))
                    offset = builder.add(to, builder.add(index, I64((half - 1) * inner)))
                    self.write(scratch_buffers, offset, [emitter.at(column, last) for column in columns])
        return list(scratch_buffers)

    def write(self, scratch_buffers: Sequence[Any], offset: ir.Value, values: Sequence[Value]) -> None:
        for room, value in zip(scratch_buffers, values, strict=True):
            self.emitter.put(room, offset, value)


EMIT_RULES["stablehlo.reduce"] = EmitRule(_problem, _emit)
EMIT_RULES["nimblehlo.position_reduce"] = EmitRule(_position_problem, _emit_position)
