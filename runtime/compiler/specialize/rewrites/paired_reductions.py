"""Rewrites a reduction over the last dimensions and others before a dimension that is kept, as means of
groups of features and of the channels of images are.

The default tree combines adjacent values, level by level: first those along the last dimensions, if their
number is a power of two. A few are combined as slices, elementwise; vectors of the reduction that is left run
along the dimension that is kept. More of them are rows, which a reduction of its own combines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ....program.ir import Operation, Value, tensor_type
from ....program.ir.builder import copy_region
from ....program.ops.reduction.bodies import monoid, neutral
from ....program.ops.reduction.reduce import Reduce
from ....program.ops.reduction.reducer import accumulator
from ....types import ElementType, TensorType
from ..framework.rewriter import Rewriter, dimensions
from .slicing import sliced

PAIRED_SIZES: Final = (2, 4, 8)
"""Sizes of the last dimension. Sums over 64 x 64 groups of so many elements, of each of 32, take 20, 33 and
165 us in place of 394, 407 and 450 on one thread of a Zen 5."""
MIN_ROW: Final = 16
"""Minimum number of values along the last dimensions that become a reduction of rows. Sums over all but the
channels of 2 to 16 images of 4 x 4 to 32 x 32 elements take 0.3 to 0.45 of the time on one thread of an Intel
Xeon with AVX-512."""
MIN_KEPT: Final = 8
"""Minimum size of the dimension that is kept: vectors run along it."""
MIN_ELEMENTS: Final = 1 << 12
"""Minimum number of elements for which the operations on slices, which are compiled, pay."""


def is_paired(operation: Operation) -> bool:
    """Whether an operation is such a reduction with few values along the last dimension."""
    if not _is_split(operation):
        return False
    shape, view = tensor_type(operation.operands[0]).shape, Reduce.of(operation)
    has_sizes = shape[-1] in PAIRED_SIZES and shape[-2] >= MIN_KEPT
    return has_sizes and len(shape) - 2 not in view.dimensions and _accumulates_in_own_type(view)


def has_rows(operation: Operation) -> bool:
    """Whether an operation is such a reduction with a power of two of values along the last dimensions."""
    if not _is_split(operation):
        return False
    view = Reduce.of(operation)
    size = math.prod([view.inputs[0].shape[d] for d in _last_dimensions(view)])
    return size >= MIN_ROW and size & (size - 1) == 0 and _accumulates_in_own_type(view)


def _is_split(operation: Operation) -> bool:
    """Whether an operation reduces one operand, of enough elements, along its last dimensions and others,
    between which one is kept."""
    if operation.name != Reduce.name or len(operation.operands) != 2:
        return False
    operand, result = tensor_type(operation.operands[0]), tensor_type(operation.result)
    if operand.element_type != result.element_type or operand.rank < 3 or not operand.is_static:
        return False
    view = Reduce.of(operation)
    is_split = 0 < len(_last_dimensions(view)) < len(view.dimensions)
    return is_split and math.prod(operand.shape) >= MIN_ELEMENTS


def _last_dimensions(view: Reduce) -> list[int]:
    """The dimensions that are reduced behind all that are kept."""
    rank = len(view.inputs[0].shape)
    kept = [d for d in range(rank) if d not in view.dimensions]
    return [*range(max(kept, default=-1) + 1, rank)]


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
    others = [d for d in view.dimensions if d != last]
    operands = combined, operation.operands[1]
    (result,) = rewriter.insert(_reduction(operation, operands, tensor_type(operation.result), others))
    return (result,)


def reduce_rows_first(operation: Operation, rewriter: Rewriter) -> tuple[Value] | None:
    """Reduce the rows of such a reduction first, as the default tree does, from a value that changes none."""
    if not has_rows(operation):
        return None
    operand, view = operation.operands[0], Reduce.of(operation)
    type, name, rows = tensor_type(operand), monoid(view.body), _last_dimensions(view)
    start = neutral(name, type.plain_element_type) if name is not None else None
    if start is None:
        return None
    initial = rewriter.constant(tensor_type(operation.operands[1]), start)
    reduced = _reduction(operation, (operand, initial), type.with_shape(type.shape[: rows[0]]), rows)
    (values,) = rewriter.insert(reduced)
    others = [d for d in view.dimensions if d not in rows]
    last = _reduction(operation, (values, operation.operands[1]), tensor_type(operation.result), others)
    (result,) = rewriter.insert(last)
    return (result,)


def _reduction(
    operation: Operation, operands: Sequence[Value], type: TensorType, dims: Sequence[int]
) -> Operation:
    """A reduction of the same kind along other dimensions."""
    attributes = {**operation.attributes, **dimensions(dimensions=dims)}
    regions = [copy_region(region, {}) for region in operation.regions]
    return Operation(operation.name, operands, [type], attributes, regions, operation.location)
