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
        LoopSplit: they differ within `box`.
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
        LoopSplit: as `copied_element`.
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


def _loop_split(expr: AffineExpr, box: Box, index: int) -> LoopSplit:
    """A split, at `index` of the expression, of the loop along which this varies most.

    One part has its elements on one side, unless the other loops reach across in each iteration: then that
    loop is halved.
    """
    varying = [d for d, stride in enumerate(expr.strides) if stride and box[d][1] - box[d][0] > 1]
    loop = max(varying, key=lambda d: abs(expr.strides[d]))
    stride, (first, stop) = expr.strides[loop], box[loop]
    others = AffineExpr(expr.offset, tuple([0 if d == loop else s for d, s in enumerate(expr.strides)]))
    crossings = [_crossing(stride, rest, index) for rest in index_range(others, box)]
    inside = [crossing for crossing in crossings if first < crossing < stop]
    return LoopSplit(loop, min(inside, default=(first + stop) // 2))


def _crossing(stride: int, rest: int, index: int) -> int:
    """The first iteration of a loop in which `stride` times its number, plus `rest`, is on the last side of
    `index`."""
    return -((rest - index) // stride) if stride > 0 else (rest - index) // -stride + 1
