"""Elementwise operations: loops over the elements of their results.

A loop computes the elements of a chain of operations (`Emitter.chain`). A view in the chain, such as a
broadcast, is not made: the loop reads the elements of its operand at affine functions of the loop's indices.
So it reads the operands of operations that have an `ElementRule`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ....program.ir import Operation, tensor_type
from ....program.ir import Value as IrValue
from ....program.ir.affine import AffineExpr, identity_map, row_major_offset, row_major_strides
from ....program.ops.framework.declaration import declaration_of
from ....program.ops.shape.movement import MovementOp
from ..elementwise.emitted_operations import emits
from ..elementwise.rules import emit
from ..llvm.values import Value, constant_element
from .boxes import Side, merged_dimensions
from .elements import Elements, Storage
from .emitter import (
    Binding,
    EmitRule,
    Emitter,
    Index,
    Mode,
    Target,
    all_values,
    emit_rule_of,
)
from .movement import is_splat

MIN_ROW_ELEMENTS = 16
"""Elements of a row from which on loops over rows are as fast as one loop."""
MAX_TILE_ELEMENTS = 1 << 10
"""Maximum elements of shorter rows that become one loop: the copies of views stay in the L1 cache."""
TILE_MULTIPLE = 64
"""Elements that a loop computes at a time, at most: four vectors of f32 on AVX-512."""


def is_view(operation: Operation) -> bool:
    """Whether all elements of the operand are in the result, at affine functions of the indices."""
    movement = declaration_of(operation).movement
    return movement is not None and movement.keeps_all_elements


def _check(operation: Operation, mode: Mode) -> str | None:
    if len(operation.results) != 1 or operation.regions or not emits(operation):
        return "is not generated"
    shape = tensor_type(operation.result).shape
    for operand in operation.operands:
        if not Mode.ARRAYS.holds(operand.type) and tensor_type(operand).shape != shape:
            return "operands of several shapes"
    return None


def _emit(emitter: Emitter, operation: Operation) -> Sequence[Binding]:
    result_type = tensor_type(operation.result)
    chain = _Chain(emitter, operation)
    if emitter.mode.holds(result_type):
        return [
            Elements(tuple([chain.element([index] * len(chain.loads)) for index in range(result_type.size)]))
        ]
    target = emitter.allocate_result(operation.result)
    result_offset = row_major_offset(result_type.shape, identity_map(result_type.rank), result_type.rank)
    exprs = [result_offset, *chain.loads]
    sizes, strides = merged_dimensions(result_type.shape, [expr.strides for expr in exprs])
    sides = [AffineExpr(expr.offset, tuple(row)) for expr, row in zip(exprs, strides, strict=True)]
    if len(sizes) > 1 and sizes[-1] < MIN_ROW_ELEMENTS:
        _emit_tiles(emitter, chain, target, sizes, sides)
    else:
        for indices in emitter.independent_box(sizes):
            first, *offsets = [emitter.offset(indices, side.strides, side.offset) for side in sides]
            emitter.put(target, first, chain.element(offsets))
    return [emitter.result(target)]


def _emit_tiles(
    emitter: Emitter, chain: _Chain, target: Target, sizes: Sequence[int], sides: Sequence[AffineExpr]
) -> None:
    """Loops over short rows: several rows at a time become one loop, for which views are copied.

    Args:
        sides: the offsets into the target and of the chain's loads, functions of the indices of loops of
            those sizes.
    """
    split, rows = tile_of(sizes)
    inner = math.prod(sizes[split + 1 :])
    sources = chain.sources
    copies: dict[int, Target] = {}
    for number, (source, side) in enumerate(zip(sources, sides[1:], strict=True)):
        if side != sides[0] and isinstance(emitter.bindings.get(source), Storage):
            copies[number] = emitter.allocate_scratch(tensor_type(source).with_shape((rows * inner,)))
    for indices in emitter.box(sizes[:split]):
        starts = [emitter.offset(indices, side.strides[:split], side.offset) for side in sides]
        count, left = divmod(sizes[split], rows)
        for (number,) in emitter.box([count]):
            steps = [side.strides[split] * rows for side in sides]
            firsts = [emitter.offset([number], [step], at) for step, at in zip(steps, starts, strict=True)]
            _emit_tile(emitter, chain, target, copies, firsts, sides, (rows, *sizes[split + 1 :]))
        if left:
            firsts = [
                emitter.add(start, count * rows * side.strides[split])
                for start, side in zip(starts, sides, strict=True)
            ]
            _emit_tile(emitter, chain, target, copies, firsts, sides, (left, *sizes[split + 1 :]))


def tile_of(sizes: Sequence[int]) -> tuple[int, int]:
    """The outermost dimension of which a tile has several rows, and how many.

    Args:
        sizes: of the dimensions, of which a tile has all that follow that one.
    """
    split = len(sizes) - 1
    while split and math.prod(sizes[split:]) <= MAX_TILE_ELEMENTS:
        split -= 1
    return split, _tile_rows(sizes[split], math.prod(sizes[split + 1 :]))


def _tile_rows(rows: int, elements: int) -> int:
    """The number of rows of so many elements that become one loop."""
    if rows * elements <= MAX_TILE_ELEMENTS:
        return rows
    most = MAX_TILE_ELEMENTS // elements
    multiple = TILE_MULTIPLE // math.gcd(TILE_MULTIPLE, elements)
    return most // multiple * multiple or most


def _emit_tile(
    emitter: Emitter,
    chain: _Chain,
    target: Target,
    copies: Mapping[int, Target],
    starts: Sequence[Index],
    sides: Sequence[AffineExpr],
    sizes: Sequence[int],
) -> None:
    """A loop over the elements of some rows.

    Args:
        copies: the memory for the copies of views, by the numbers of their loads.
        starts: the offsets of the first row into the target and of the chain's loads.
        sizes: of the dimensions of the rows, the innermost ones of `sides`.
    """
    for number, copied in copies.items():
        binding = emitter.bindings[chain.sources[number]]
        source = Side(binding, starts[number + 1], sides[number + 1].strides[-len(sizes) :])
        _copy_tile(emitter, copied, source, sizes)
    for index in emitter.independent_loop(math.prod(sizes)):
        first, *offsets = [emitter.add(start, index) for start in starts]
        offsets = [index if number in copies else offset for number, offset in enumerate(offsets)]
        emitter.put(target, first, chain.element(offsets, copies))


def _copy_tile(emitter: Emitter, target: Target, source: Side, sizes: Sequence[int]) -> None:
    """Copy the elements of a view. Rows are not loops, so that LLVM makes vectors of several rows."""
    to = row_major_strides(sizes)
    for indices in emitter.independent_box(sizes[:-1]):
        first = emitter.offset(indices, to[:-1])
        at = emitter.offset(indices, source.strides[:-1], source.first)
        for index in range(sizes[-1]):
            element = emitter.at(source.binding, emitter.add(at, index * source.strides[-1]))
            emitter.put(target, emitter.add(first, index), element)


class _Chain:
    """The operations that one loop computes.

    Attributes:
        sources: the value in memory of each load, or a splat constant of the chain.
        loads: the offset of the element that each load reads of its source, a function of the result's
            indices.
        rules: the rules of operations that are not elementwise, but have one for an element; None of others.
        operand_loads: for each operation and each of its operands the number of the load; None if the loop
            computes the operand.
    """

    def __init__(self, emitter: Emitter, operation: Operation) -> None:
        self.emitter, self.result = emitter, operation.result
        operations = emitter.chain(operation)
        self.views = {fused.result: fused for fused in operations if is_view(fused)}
        self.splats = {fused.result: fused for fused in operations if is_splat(fused)}
        self.operations = [fused for fused in operations if not is_view(fused) and not is_splat(fused)]
        self.rules = {fused: emit_rule_of(fused).element(fused) for fused in self.operations}
        self.sources: list[IrValue] = []
        self.loads: list[AffineExpr] = []
        self.operand_loads: dict[Operation, list[int | None]] = {}
        computed = {fused.result for fused in self.operations}
        numbers: dict[tuple[IrValue, AffineExpr], int] = {}
        for fused in self.operations:
            self.operand_loads[fused] = [
                None if value in computed else self._load(value, map, numbers)
                for value, map in zip(fused.operands, self._operand_maps(fused), strict=True)
            ]

    def _operand_maps(self, operation: Operation) -> Sequence[Sequence[AffineExpr]]:
        rule = self.rules[operation]
        if rule is None:
            return [identity_map(tensor_type(self.result).rank)] * len(operation.operands)
        return rule.operand_maps(operation)

    def _load(
        self, value: IrValue, indices: Sequence[AffineExpr], numbers: dict[tuple[IrValue, AffineExpr], int]
    ) -> int:
        """The number of the load of a value at `indices`, which follows views to the value that it reads."""
        rank = tensor_type(self.result).rank
        while value in self.views:
            view = self.views[value]
            movement_map = MovementOp.of(view).only_map()
            indices = tuple([index.compose(indices, rank) for index in movement_map.indices])
            value = view.operands[0]
        offset = row_major_offset(tensor_type(value).shape, indices, rank)
        number = numbers.setdefault((value, offset), len(self.loads))
        if number == len(self.loads):
            self.sources.append(value)
            self.loads.append(offset)
        return number

    def element(self, offsets: Sequence[Index], copies: Mapping[int, Target] = MappingProxyType({})) -> Value:
        """The element of the result.

        Args:
            offsets: of the elements to read, in the order of `loads`.
            copies: tensors to read instead, by their numbers in that order.
        """
        emitter = self.emitter
        loaded: list[Value] = []
        for number, source in enumerate(self.sources):
            if source in self.splats:
                loaded.append(constant_element(self.splats[source]))
            else:
                binding: Binding | Target = copies[number] if number in copies else emitter.bindings[source]
                loaded.append(emitter.at(binding, offsets[number]))
        elements: dict[IrValue, Value] = {}
        for operation in self.operations:
            values = [
                elements[operand] if number is None else loaded[number]
                for operand, number in zip(operation.operands, self.operand_loads[operation], strict=True)
            ]
            rule = self.rules[operation]
            emit_one = emit if rule is None else rule.emit
            elements[operation.result] = emit_one(emitter.builder, operation, values)
        return elements[self.result]


ELEMENTWISE: Final = EmitRule(_check, _emit, all_values)
