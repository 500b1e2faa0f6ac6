"""Rewrites a reduction over a short last dimension and others before a dimension that is kept, as means of
groups of features are.

The default tree combines adjacent values, level by level: first those along the last dimension, if their
number is a power of two. They are combined as slices, elementwise; vectors of the reduction that is left run
along the dimension that is kept.
"""

from __future__ import annotations

import math
from typing import Final

from ....program.ir import Operation, Value, tensor_type
from ....program.ops.reduction.bodies import monoid
from ....program.ops.reduction.reduce import Reduce
from ....program.ops.reduction.reducer import accumulator
from ....types import ElementType
from ..framework.rewriter import Rewriter, dimensions
from .slicing import sliced

PAIRED_SIZES: Final = (2, 4, 8)
"""Sizes of the last dimension. Sums over 64 x 64 groups of so many elements, of each of 32, take 20, 33 and
165 us in place of 394, 407 and 450 on one thread of a Zen 5."""
MIN_KEPT: Final = 8
"""Minimum size of the dimension that is kept: vectors run along it."""
MIN_ELEMENTS: Final = 1 << 12
"""Minimum number of elements for which the operations on slices, which are compiled, pay."""


def is_paired(operation: Operation) -> bool:
    """Whether an operation is such a reduction, of one operand and by one elementwise operation."""
    if operation.name != Reduce.name or len(operation.operands) != 2:
        return False
    operand, result = tensor_type(operation.operands[0]), tensor_type(operation.result)
    if operand.element_type != result.element_type or operand.rank < 3 or not operand.is_static:
        return False
    view, last = Reduce.of(operation), operand.rank - 1
    if last not in view.dimensions or last - 1 in view.dimensions or len(view.dimensions) < 2:
        return False
    has_sizes = operand.shape[last] in PAIRED_SIZES and operand.shape[last - 1] >= MIN_KEPT
    return has_sizes and math.prod(operand.shape) >= MIN_ELEMENTS and _accumulates_in_own_type(view)


def _accumulates_in_own_type(view: Reduce) -> bool:
    """Whether a reduction is by one operation, and accumulates in its operands' type, as slices would."""
    element_type, name = view.inputs[0].element_type, monoid(view.body)
    if name is None or not isinstance(element_type, ElementType):
        return False
    return accumulator(element_type, name, "wide") == element_type.dtype


def combine_pairs_first(operation: Operation, rewriter: Rewriter) -> tuple[Value] | None:
    """Combine the elements along the last dimension of such a reduction first, as the default tree does."""
    if not is_paired(operation):
        return None
    operand, view = operation.operands[0], Reduce.of(operation)
    shape, last = tensor_type(operand).shape, tensor_type(operand).rank - 1
    name = f"stablehlo.{monoid(view.body)}"
    values = [
        sliced(operand, ([*[0] * last, n], [*shape[:last], n + 1], [1] * len(shape)), rewriter)
        for n in range(shape[last])
    ]
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=True)
        values = [rewriter.create(name, pair, pair[0].type) for pair in pairs]
    type = tensor_type(operand).with_shape(shape[:last])
    combined = rewriter.create("stablehlo.reshape", values, type)
    reduced = Operation(
        operation.name,
        (combined, operation.operands[1]),
        [operation.result.type],
        {**operation.attributes, **dimensions(dimensions=[d for d in view.dimensions if d != last])},
        operation.regions,
        operation.location,
    )
    (result,) = rewriter.insert(reduced)
    return (result,)
