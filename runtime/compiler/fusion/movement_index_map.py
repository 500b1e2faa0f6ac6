"""Data movement as functions of loop indices: the operand element that each result element copies.

The maps are affine. If the operand depends on the indices, as in `concatenate` and `pad`, `LoopSplit` says
where to split a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from ...program.ir import Operation, Value, tensor_type
from ...program.ir.affine import AffineExpr, Box, index_range
from ...program.ops.framework.declaration import Op
from ..specialize.framework.operation_classes import is_movement
from ..specialize.framework.rewriter import has_static_unquantized_types

if TYPE_CHECKING:
    from ...program.ops.shape.movement import MovementMap, MovementOp

class LoopSplit(Exception):
    """Raised if a loop must be split before an element has one source.

    Attributes:
        loop: the number of the loop.
        index: the first index of its second part.
    """

    def __init__(self, loop: int, index: int) -> None:
        super().__init__(loop, index)
        self.loop = loop
        self.index = index


def is_movement_op(operation: Operation) -> bool:
    """Whether an operation is a data movement for which `copied_element` finds the operand element."""
    if not is_movement(operation) or not has_static_unquantized_types(operation):
        return False
    maps = cast("MovementOp", Op.of(operation)).movement_maps()
    return maps is not None and all(stride == 1 for one in maps for stride in one.strides)


def copied_element(
    operation: Operation, indices: Sequence[AffineExpr], box: Box
) -> tuple[Value, tuple[AffineExpr, ...]]:
    """The operand that the element at `indices` of the result copies, and the indices in it.

    Raises:
        LoopSplit: they differ within `box`, but not within its parts.
        InseparableLoops: they differ within any parts.
    """
    view = cast("MovementOp", Op.of(operation))
    for one in view.movement_maps() or ():
        if _is_inside(one, view.operation.result, indices, box):
            local = [index.scaled(1, -start) for index, start in zip(indices, one.starts, strict=True)]
            operand_indices = tuple([index.compose(local, len(box)) for index in one.indices])
            return operation.operands[one.operand], operand_indices
    raise ValueError("an index lies outside of the result")


def _is_inside(one: MovementMap, result: Value, indices: Sequence[AffineExpr], box: Box) -> bool:
    """Whether all elements of a result are in the box of a map; False if none is.

    Raises:
        LoopSplit, InseparableLoops: as `copied_element`.
    """
    sizes = zip(indices, one.starts, one.sizes, tensor_type(result).shape, strict=True)
    for index, start, size, result_size in sizes:
        if size == result_size:
            continue
        min_index, max_index = index_range(index, box)
        if max_index < start or min_index >= start + size:
            return False
        if min_index < start:
            raise _loop_split(index, box, start)
        if max_index >= start + size:
            raise _loop_split(index, box, start + size)
    return True


class InseparableLoops(Exception):
    """Raised if no split of one loop separates the elements on both sides of an index."""


def _loop_split(expr: AffineExpr, box: Box, index: int) -> LoopSplit:
    """The split after which each part is on one side of `index`.

    Raises:
        InseparableLoops: the expression depends on more than one loop.
    """
    varying = [d for d, stride in enumerate(expr.strides) if stride and box[d][1] - box[d][0] > 1]
    if len(varying) != 1:
        raise InseparableLoops("the index at which to split depends on several loops")
    (loop,) = varying
    stride = expr.strides[loop]
    fixed = expr.offset + sum(other * box[d][0] for d, other in enumerate(expr.strides) if d != loop)
    if stride > 0:
        return LoopSplit(loop, -((fixed - index) // stride))
    return LoopSplit(loop, (fixed - index) // -stride + 1)
