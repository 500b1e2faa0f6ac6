"""Reductions in the order of their references: by adjacent pairs, level by level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

from ....options import Ordering
from ....program.ir import Operation
from ....program.ir.affine import row_major_strides
from ....program.ops.framework.declaration import Op
from ....types import TensorType
from ..llvm.values import Value
from .boxes import Side, copy, merged_dimensions, window
from .control import check_body
from .elements import Storage, element_pointer
from .emitter import Binding, EmitRule, Emitter, Index, Mode, Target, all_values, as_value
from .movement import constant_tensor

if TYPE_CHECKING:
    from ....program.ops.intermediate.arg_reduce import ArgReduce
    from ....program.ops.reduction.reduce import Reduce
    from ....program.ops.reduction.reduce_window import ReduceWindow

MAX_REDUCED_BYTES = 1 << 16
"""Bytes of operands that are reduced together, in all rows or in one: their levels lie on the stack."""
MAX_LENGTH_IN_REGISTERS = 8
"""Maximum length of a reduced dimension whose levels stay in registers: vectors then have several totals."""


def _check(operation: Operation, mode: Mode) -> str | None:
    return _check_reduction(cast("Reduce", Op.of(operation)), mode)


def _check_ordering(operation: Operation, ordering: Ordering) -> str | None:
    return _check_reduction_ordering(cast("Reduce", Op.of(operation)), ordering)


def _check_reduction(view: Reduce, mode: Mode) -> str | None:
    row_bytes = _bytes(view) // (view.layout.sizes[0] if _reduces_row_by_row(view) else 1)
    if row_bytes > MAX_REDUCED_BYTES:
        return f"reduces more than {MAX_REDUCED_BYTES} bytes"
    reason = check_types(view) or _check_reduction_ordering(view, view.ordering)
    return reason or check_body(view.body, mode)


def _bytes(view: Reduce) -> int:
    """Bytes of the operands."""
    return sum(type.size * type.dtype.itemsize for type in view.inputs)


def _reduces_row_by_row(view: Reduce) -> bool:
    """Whether the first of the [outer, length, inner] dimensions is a loop around all levels."""
    return view.layout.permutation is None and _bytes(view) > MAX_REDUCED_BYTES


def _check_reduction_ordering(view: Reduce, ordering: Ordering) -> str | None:
    if view.analysis.wider_reducer(ordering.accumulate, view.results) is not None:
        return "accumulates in a wider type"
    return check_tree(ordering)


def check_tree(ordering: Ordering) -> str | None:
    """Why generated code does not reduce by the tree of an ordering, or None if it does."""
    tree = ordering.reduction_tree
    return None if tree == "blocked" else f"reduces by the tree {tree!r}"


def check_types(view: Reduce | ReduceWindow) -> str | None:
    """Why a reduction or scan does not accumulate in its own element types, or None if it does."""
    types = [type.element_type for type in view.inputs]
    if types != list(view.analysis.element_types) or types != [type.element_type for type in view.results]:
        return "its body has other element types"
    return None


def _emit(emitter: Emitter, operation: Operation) -> Sequence[Binding]:
    count = len(operation.results)
    inputs = [emitter.bindings[value] for value in operation.operands[:count]]
    return _reduced(emitter, operation, cast("Reduce", Op.of(operation)), inputs)


def _check_positions(operation: Operation, mode: Mode) -> str | None:
    view = _with_positions(operation)
    if _reduces_row_by_row(view):
        # The positions are a constant of the code.
        return f"reduces more than {MAX_REDUCED_BYTES} bytes"
    return _check_reduction(view, mode)


def _check_ordering_of_positions(operation: Operation, ordering: Ordering) -> str | None:
    return _check_reduction_ordering(_with_positions(operation), ordering)


def _with_positions(operation: Operation) -> Reduce:
    """The reduction whose positions are an operand."""
    return cast("ArgReduce", Op.of(operation)).reduction


def _emit_position(emitter: Emitter, operation: Operation) -> Sequence[Binding]:
    view = cast("ArgReduce", Op.of(operation))
    positions = constant_tensor(emitter, view.positions_type.with_shape(view.operand.shape), view.positions)
    inputs = [emitter.bindings[operation.operands[0]], positions]
    return _reduced(emitter, operation, _with_positions(operation), inputs)


def _reduced(
    emitter: Emitter, operation: Operation, view: Reduce, inputs: Sequence[Binding]
) -> Sequence[Binding]:
    """Combine adjacent pairs, and then the initial values with the totals."""
    tree = _Tree(emitter, view, [emitter.element(value) for value in operation.operands[-len(inputs) :]])
    columns = [tree.in_order(binding, type) for binding, type in zip(inputs, view.inputs, strict=True)]
    outer, length, inner = view.layout.sizes
    if length <= MAX_LENGTH_IN_REGISTERS:
        emitter.begin_statement(columns)
        results = [emitter.allocate_result(result) for result in operation.results]
        tree.reduce_in_registers(columns, results, outer)
        return [emitter.result(result) for result in results]
    if not _reduces_row_by_row(view):
        totals = tree.totals(columns, outer)
        results = [emitter.allocate_result(result) for result in operation.results]
        tree.finish(totals, results, outer)
        return [emitter.result(result) for result in results]
    results = [emitter.allocate_result(result) for result in operation.results]
    for row in emitter.loop(outer):
        totals = tree.totals([_row(emitter, column, row, (length, inner)) for column in columns], 1)
        tree.finish(totals, [_row(emitter, result, row, (inner,)) for result in results], 1)
    return [emitter.result(result) for result in results]


def _row(emitter: Emitter, tensor: Binding | Target, row: Index, sizes: Sequence[int]) -> Storage:
    """A row, of these sizes, of a tensor in memory."""
    assert isinstance(tensor, Storage)
    start = emitter.offset([row], [math.prod(sizes)])
    pointer = element_pointer(emitter.builder, tensor, as_value(start))
    return Storage(tensor.type.with_shape(tuple(sizes)), pointer)


class _Tree:
    """Reduces several tensors of [outer, length, inner] along their middle dimension together.

    Args:
        initial: the initial values.
    """

    def __init__(self, emitter: Emitter, view: Reduce, initial: Sequence[Value]) -> None:
        self.emitter = emitter
        self.view = view
        self.initial = initial

    def totals(self, columns: Sequence[Binding | Target], outer: int) -> Sequence[Binding | Target]:
        """Combine adjacent pairs of `outer` rows: level by level, or contiguous rows in registers."""
        _, length, inner = self.view.layout.sizes
        if inner == len(columns) == 1 and isinstance(columns[0], Storage):
            rows = self.emitter.row_totals(self.view.operation, columns[0], outer, length)
            if rows is not None:
                return [rows]
        while length > 1:
            self.emitter.begin_statement(columns)
            columns = self.halved(columns, outer, length)
            length = -(-length // 2)
        self.emitter.begin_statement(columns)
        return columns

    def reduce_in_registers(
        self, columns: Sequence[Binding | Target], targets: Sequence[Target], outer: int
    ) -> None:
        """Reduce `outer` rows one element of the results after the other."""
        emitter, (_, length, inner) = self.emitter, self.view.layout.sizes
        sizes, strides = merged_dimensions([outer, inner], [[length * inner, 1], [inner, 1]])
        for indices in emitter.independent_box(sizes):
            first = emitter.offset(indices, strides[0])
            offsets = [emitter.add(first, k * inner) for k in range(length)]
            elements = [[emitter.at(column, offset) for column in columns] for offset in offsets]
            while len(elements) > 1:
                pairs = zip(elements[::2], elements[1::2], strict=False)
                last = elements[len(elements) // 2 * 2 :]
                elements = [self.combined(left, right) for left, right in pairs] + last
            offset = emitter.offset(indices, strides[1])
            self.put(targets, offset, self.combined(self.initial, elements[0]))

    def combined(self, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        return self.emitter.apply_scalar_body(self.view.body.block, [*left, *right])

    def finish(self, totals: Sequence[Binding | Target], targets: Sequence[Target], outer: int) -> None:
        """Combine the initial values with the totals of `outer` rows."""
        for index in self.emitter.independent_loop(outer * self.view.layout.sizes[2]):
            items = [self.emitter.at(total, index) for total in totals]
            self.put(targets, index, self.combined(self.initial, items))

    def in_order(self, binding: Binding, type: TensorType) -> Binding | Target:
        """An operand in that order: a copy where its dimensions are reduced in between others."""
        permutation = self.view.layout.permutation
        if permutation is None or type.size == 1:
            return binding
        strides = row_major_strides(type.shape)
        sizes = tuple([type.shape[d] for d in permutation])
        computed = self.emitter.allocate_scratch(type.with_shape(sizes))
        source = Side(binding, 0, [strides[d] for d in permutation])
        copy(self.emitter, window(computed, sizes), source, sizes)
        return computed

    def halved(self, columns: Sequence[Binding | Target], outer: int, length: int) -> list[Binding | Target]:
        """Adjacent pairs combined; a last one without a partner as it is."""
        emitter, inner = self.emitter, self.view.layout.sizes[2]
        half = -(-length // 2)
        types = [type.with_shape((outer, half, inner)) for type in self.view.inputs]
        targets = [emitter.allocate_scratch(type) for type in types]
        sizes, strides = merged_dimensions(
            [outer, length // 2, inner], [[length * inner, 2 * inner, 1], [half * inner, inner, 1]]
        )
        for indices in emitter.independent_box(sizes):
            left = emitter.offset(indices, strides[0])
            items = [
                [emitter.at(column, at) for column in columns] for at in (left, emitter.add(left, inner))
            ]
            self.put(targets, emitter.offset(indices, strides[1]), self.combined(*items))
        if length % 2:
            for indices in emitter.independent_box([outer, inner]):
                last = emitter.offset(indices, [length * inner, 1], (length - 1) * inner)
                values = [emitter.at(column, last) for column in columns]
                self.put(targets, emitter.offset(indices, [half * inner, 1], (half - 1) * inner), values)
        return [*targets]

    def put(self, targets: Sequence[Target], offset: Index, values: Sequence[Value]) -> None:
        for target, value in zip(targets, values, strict=True):
            self.emitter.put(target, offset, value)


REDUCE: Final = EmitRule(_check, _emit, all_values, check_ordering=_check_ordering)
ARG_REDUCE: Final = EmitRule(_check_positions, _emit_position, check_ordering=_check_ordering_of_positions)
