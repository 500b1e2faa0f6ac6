"""Elementwise operations: loops over the elements of their results.

A loop computes the elements of a chain of operations (`Emitter.chain`). A view in the chain, such as a
broadcast, is not made: the loop reads the elements of its operand at affine functions of the loop's indices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ...ir import Operation, tensor_type
from ...ir import Value as IrValue
from ...ir.affine import AffineExpr, identity_map, row_major_offset, row_major_strides
from ..coverage import ViewOf, emits
from ..elementwise.elementwise import emit
from ..llvm.values import Value, constant_element
from .boxes import Side, merged_dimensions
from .elements import Elements, Storage
from .emitter import ELEMENTWISE, EMIT_RULES, Bound, EmitRule, Emitter, Index, Mode, Target, all_values
from .movement import is_splat

VIEWS = frozenset(
    f"stablehlo.{name}" for name in ("broadcast", "broadcast_in_dim", "reshape", "reverse", "transpose")
)
"""Operations whose results have elements of their operand, at affine functions of the indices."""

MIN_ROW_ELEMENTS = 16
"""Elements of a row from which on loops over rows are as fast as one loop."""
TILE_ELEMENTS = 64
"""Elements of shorter rows that become one loop."""


def _check(operation: Operation, view_of: ViewOf, mode: Mode) -> str | None:
    if len(operation.results) != 1 or operation.regions or not emits(operation):
        return "is not generated"
    shape = tensor_type(operation.result).shape
    for operand in operation.operands:
        if not Mode.ARRAYS.holds(operand.type) and tensor_type(operand).shape != shape:
            return "operands of several shapes"
    return None


def _emit(emitter: Emitter, operation: Operation) -> Sequence[Bound]:
    kind = tensor_type(operation.result)
    chain = _Chain(emitter, operation)
    if emitter.mode.holds(kind):
        return [Elements(tuple([chain.element([index] * len(chain.loads)) for index in range(kind.size)]))]
    target = emitter.allocate_result(operation.result)
    result_offset = row_major_offset(kind.shape, identity_map(kind.rank), kind.rank)
    exprs = [result_offset, *chain.loads.values()]
    sizes, strides = merged_dimensions(kind.shape, [expr.strides for expr in exprs])
    sides = [AffineExpr(expr.offset, tuple(one)) for expr, one in zip(exprs, strides, strict=True)]
    if len(sizes) > 1 and sizes[-1] < MIN_ROW_ELEMENTS:
        _emit_tiles(emitter, chain, target, sizes, sides)
    else:
        for indices in emitter.box(sizes):
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
    split = len(sizes) - 1
    while split and math.prod(sizes[split:]) < TILE_ELEMENTS:
        split -= 1
    inner = math.prod(sizes[split + 1 :])
    max_rows = max(TILE_ELEMENTS // inner, 1)
    rows = max([n for n in range(1, sizes[split] + 1) if sizes[split] % n == 0 and n <= max_rows])
    tile_sizes = [rows, *sizes[split + 1 :]]
    count = rows * inner
    sources = list(chain.sources.values())
    copies: dict[int, Target] = {}
    for number, (source, side) in enumerate(zip(sources, sides[1:], strict=True)):
        if side != sides[0] and isinstance(emitter.bound.get(source), Storage):
            copies[number] = emitter.allocate_scratch(tensor_type(source).with_shape((count,)))
    for indices in emitter.box([*sizes[:split], sizes[split] // rows]):
        steps = [(*side.strides[:split], side.strides[split] * rows) for side in sides]
        starts = [
            emitter.offset(indices, step, side.offset) for side, step in zip(sides, steps, strict=True)
        ]
        for number, copied in copies.items():
            bound = emitter.bound[sources[number]]
            of_source = sides[number + 1].strides[split:]
            _copy_tile(emitter, copied, Side(bound, starts[number + 1], of_source), tile_sizes)
        for index in emitter.loop(count):
            first, *offsets = [emitter.add(start, index) for start in starts]
            offsets = [index if number in copies else offset for number, offset in enumerate(offsets)]
            emitter.put(target, first, chain.element(offsets, copies))


def _copy_tile(emitter: Emitter, target: Target, source: Side, sizes: Sequence[int]) -> None:
    """Copy the elements of a view. Rows are not loops, so that LLVM makes vectors of several rows."""
    to = row_major_strides(sizes)
    for indices in emitter.box(sizes[:-1]):
        first = emitter.offset(indices, to[:-1])
        at = emitter.offset(indices, source.strides[:-1], source.first)
        for index in range(sizes[-1]):
            element = emitter.at(source.bound, emitter.add(at, index * source.strides[-1]))
            emitter.put(target, emitter.add(first, index), element)


class _Chain:
    """The operations that one loop computes.

    Attributes:
        loads: the offset of the element that the loop reads of each value, a function of the result's
            indices; by the value that the chain's operations use, which may be a view of the one read.
    """

    def __init__(self, emitter: Emitter, operation: Operation) -> None:
        self.emitter, self.result = emitter, operation.result
        operations = emitter.chain(operation)
        self.operations = [one for one in operations if one.name not in VIEWS]
        self.views = {one.result: one for one in operations if one.name in VIEWS}
        self.splats = {one.result: one for one in self.operations if is_splat(one)}
        computed = {one.result for one in self.operations}
        self.sources: dict[IrValue, IrValue] = {}
        self.loads: dict[IrValue, AffineExpr] = {}
        for one in self.operations:
            for value in one.operands:
                if value not in computed and value not in self.loads:
                    self._enter(value)

    def _enter(self, value: IrValue) -> None:
        """Follow a value through views to the one that the loop reads."""
        kind = tensor_type(self.result)
        source, indices = value, identity_map(kind.rank)
        while source in self.views:
            view = self.views[source]
            (one,) = self.emitter.view_of(view).movement_maps()
            indices = tuple([index.of(indices, kind.rank) for index in one.indices])
            source = view.operands[0]
        self.sources[value] = source
        self.loads[value] = row_major_offset(tensor_type(source).shape, indices, kind.rank)

    def element(self, offsets: Sequence[Index], copies: Mapping[int, Target] = MappingProxyType({})) -> Value:
        """The element of the result.

        Args:
            offsets: of the elements to read, in the order of `loads`.
            copies: tensors to read instead, by their numbers in that order.
        """
        emitter = self.emitter
        elements: dict[IrValue, Value] = {value: constant_element(one) for value, one in self.splats.items()}
        for number, (value, source) in enumerate(self.sources.items()):
            if source in self.splats:
                elements[value] = elements[source]
            else:
                bound: Bound | Target = copies[number] if number in copies else emitter.bound[source]
                elements[value] = emitter.at(bound, offsets[number])
        for one in self.operations:
            if one.result not in elements:
                values = [elements[operand] for operand in one.operands]
                elements[one.result] = emit(emitter.builder, one, values)
        return elements[self.result]


EMIT_RULES[ELEMENTWISE] = EmitRule(_check, _emit, all_values)
