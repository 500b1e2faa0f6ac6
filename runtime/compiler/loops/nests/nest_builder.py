"""Builds the loop nests that compute the body of a fusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ....program.ir import Block, DenseElementsAttribute, Operation, Value, plain_element_type, tensor_type
from ....program.ir.affine import AffineExpr, Box, identity_map, index_range, row_major_offset
from ....program.ops.framework.declaration import Op
from ....types import SIGNED
from ...fusion.gather_index_map import GatherMap, gather_map_of, read_through_views
from ...fusion.movement_index_map import LoopSplit, copied_element
from ...implementation import NoCode
from ...specialize.framework.operation_classes import is_gather, is_iota, is_movement
from .loop_schedule import merge_interleaved_stores
from .nest import (
    Access,
    Apply,
    Constant,
    Gather,
    GatherIndex,
    Iota,
    Load,
    Nest,
    Node,
    StartIndex,
)

if TYPE_CHECKING:
    from ....program.ops.shape.creation import Iota as IotaOp

MAX_NESTS = 32
"""Maximum loop nests of a fusion. Two dimensions rolled by nine offsets each take 25. Zen 4: 24 to 30 nests
take half to four fifths of NumPy's time, and LLVM 0.1 to 0.3 s for chains of functions in each."""

_Element = tuple[Value, tuple[AffineExpr, ...]]
"""An element of a value, with its indices as affine expressions of the loop indices."""

_NARROW = 1 << 31
"""Minimum elements of an array whose offsets do not fit 32 bits."""


def nests_of(block: Block) -> list[Nest]:
    """The nests that together compute what a block returns.

    Args:
        block: constants of one element, iotas, moves
            (`nimblehlo.compiler.fusion.movement_index_map`), elementwise operations, and gathers
            from arguments of the block or views of them; all results have one shape.

    Raises:
        NoCode: there would be too many nests, or the results have several shapes.
    """
    results = block.terminator.operands
    shape = tensor_type(results[0]).shape
    if any(tensor_type(result).shape != shape for result in results):
        raise NoCode("its results have several shapes")
    if 0 in shape:
        return []
    pending: list[Box] = [tuple([(0, size) for size in shape])]
    nests: list[Nest] = []
    while pending:
        box = pending.pop()
        try:
            nests.append(_BoxNest(block, box).nest)
        except LoopSplit as split:
            first, stop = box[split.loop]
            pending.append((*box[: split.loop], (split.index, stop), *box[split.loop + 1 :]))
            pending.append((*box[: split.loop], (first, split.index), *box[split.loop + 1 :]))
        if len(nests) + len(pending) > MAX_NESTS:
            raise NoCode(f"it takes more than {MAX_NESTS} loop nests")
    return merge_interleaved_stores(nests)


class _BoxNest:
    """Builds the nest of one box of the results' elements."""

    def __init__(self, block: Block, box: Box) -> None:
        self.box = box
        self.arguments = {value: number for number, value in enumerate(block.arguments)}
        self.nodes: list[Node] = []
        self.node_ids: dict[Any, int] = {}
        self.accesses: list[Access] = []
        self.iota_maps: list[AffineExpr] = []
        self.start_indices: list[StartIndex] = []
        results = block.terminator.operands
        identity = identity_map(len(box))
        stores = [self.node_of(result, identity) for result in results]
        for number, result in enumerate(results, len(block.arguments)):
            self.add_access(number, result, identity)
        self.nest = Nest(
            tuple([stop - first for first, stop in box]),
            tuple(self.accesses),
            tuple(self.iota_maps),
            tuple(self.nodes),
            tuple(stores),
            tuple(self.start_indices),
        )

    def node_of(self, value: Value, indices: tuple[AffineExpr, ...]) -> int:
        """The node of an element; adds it and the nodes on which it depends."""
        pending = [(value, indices)]
        while pending:
            point = pending[-1]
            inputs = [] if point in self.node_ids else self.operands(point)
            missing = [other for other in inputs if other not in self.node_ids]
            if missing:
                pending += reversed(missing)
                continue
            if point not in self.node_ids:
                self.node_ids[point] = self.build_node(point, inputs)
            pending.pop()
        return self.node_ids[value, indices]

    def operands(self, point: _Element) -> list[_Element]:
        value, indices = point
        owner = value.owner
        if value in self.arguments or not isinstance(owner, Operation):
            return []
        if is_movement(owner):
            return [copied_element(owner, indices, self.box)]
        if is_gather(owner):
            gather_map = gather_map_of(owner, indices, len(self.box))
            return [(index.value, index.indices) for index in gather_map.dynamic_indices]
        return [(operand, indices if tensor_type(operand).shape else ()) for operand in owner.operands]

    def build_node(self, point: _Element, operands: Sequence[_Element]) -> int:
        """The node of an element whose operands have nodes."""
        value, indices = point
        if value in self.arguments:
            return self.node(Load(self.add_access(self.arguments[value], value, indices)))
        operation = value.owner
        assert isinstance(operation, Operation)
        if is_movement(operation):
            return self.node_ids[operands[0]]
        if is_gather(operation):
            return self.gather(operation, gather_map_of(operation, indices, len(self.box)))
        element_type = plain_element_type(value)
        if operation.is_constant:
            return self.node(Constant(element_type, _only_element(operation)))
        if is_iota(operation):
            expr = indices[cast("IotaOp", Op.of(operation)).iota_dimension]
            self.iota_maps.append(self.relative_to_box(expr))
            return self.node(Iota(len(self.iota_maps) - 1, element_type))
        return self.node(Apply(operation, tuple([self.node_ids[operand] for operand in operands])))

    def gather(self, operation: Operation, gather_map: GatherMap) -> int:
        """The node of a gather's element."""
        array, indices = read_through_views(operation.operands[0], gather_map, self.box, self.arguments)
        loops = len(self.box)
        dimensions = loops + len(gather_map.dynamic_indices)
        full_map = row_major_offset(tensor_type(array).shape, indices, dimensions)
        expr = self.relative_to_box(AffineExpr(full_map.offset, full_map.strides[:loops]))
        dynamic_indices: list[GatherIndex] = []
        for index, stride in zip(gather_map.dynamic_indices, full_map.strides[loops:], strict=True):
            number = self.node_ids[index.value, index.indices]
            constant_map = self.constant_index(number, index.largest)
            if constant_map is None:
                self.start_indices.append(StartIndex(index.largest, stride))
                dynamic_indices.append(
                    GatherIndex(number, plain_element_type(index.value), len(self.start_indices) - 1)
                )
            else:
                expr = expr.plus(constant_map.scaled(stride))
        self.accesses.append(Access(self.arguments[array], plain_element_type(array), expr))
        access = len(self.accesses) - 1
        if not dynamic_indices:
            return self.node(Load(access))
        return self.node(Gather(access, tuple(dynamic_indices), tensor_type(array).size < _NARROW))

    def constant_index(self, number: int, largest: int) -> AffineExpr | None:
        """An index that is affine or constant, and always within its dimension; None for any other index."""
        node = self.nodes[number]
        loops = len(self.box)
        if isinstance(node, Constant):
            index = int(node.value)
            return AffineExpr(index, (0,) * loops) if 0 <= index <= largest else None
        if not isinstance(node, Iota):
            return None
        expr = self.iota_maps[node.index_map]
        min_index, max_index = index_range(expr, [(0, stop - first) for first, stop in self.box])
        width = node.element_type.width - (node.element_type.category == SIGNED)
        return expr if min_index >= 0 and max_index <= largest and max_index < 1 << width else None

    def node(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def add_access(self, array: int, value: Value, indices: Sequence[AffineExpr]) -> int:
        """An access to an element of an array in row-major order."""
        expr = row_major_offset(tensor_type(value).shape, indices, len(self.box))
        self.accesses.append(Access(array, plain_element_type(value), self.relative_to_box(expr)))
        return len(self.accesses) - 1

    def relative_to_box(self, expr: AffineExpr) -> AffineExpr:
        """An expression whose loop indices count from the first corner of the box."""
        offset = expr.offset
        for stride, (first, _) in zip(expr.strides, self.box, strict=True):
            offset += stride * first
        return expr._replace(offset=offset)


def _only_element(constant: Operation) -> np.generic:
    value = constant.attributes["value"]
    assert isinstance(value, DenseElementsAttribute)
    element: np.generic = value.array[(0,) * value.array.ndim]
    return element
