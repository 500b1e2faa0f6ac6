"""Which parts of its operands a part of an operation's result needs.

A part has some of the indices along one dimension of its tensor, the same ones in operands and result; of an
operand that has no such dimension it needs the whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...ir import Attribute, DenseElementsAttribute
from ...ir.record import Record
from ...ops.elementwise.base import Elementwise
from ...ops.framework.declaration import Op
from ..utils.rewriter import dimensions, tensor_type


class OperandSharding(Record):
    """What a part of a result needs.

    Attributes:
        dims: for each operand the dimension along which it is cut; None: the whole is needed.
        attributes: those in which the operation on parts differs.
    """

    dims: tuple[int | None, ...]
    attributes: Mapping[str, Attribute] = {}


Rule = Callable[[Any, int, int], OperandSharding | None]
"""Of an operation's view, the dimension along which its results are cut, and a part's size: what that needs;
None: the whole result has to be made."""


def operand_sharding(view: Op, dim: int, size: int) -> OperandSharding | None:
    """What a part of an operation's results needs; None where the whole has to be made.

    Args:
        dim: the dimension along which the results are cut.
        size: how many indices a part has.
    """
    rule = _elementwise if isinstance(view, Elementwise) else _RULES.get(view.name)
    return rule(view, dim, size) if rule is not None else None


def _elementwise(view: Op, dim: int, size: int) -> OperandSharding:
    return OperandSharding(tuple([dim if operand.type.rank else None for operand in view.operation.operands]))  # type: ignore[union-attr]


def _reshape(view: Any, dim: int, size: int) -> OperandSharding | None:
    """A dimension with as many elements before it, and of the same size, has the same indices."""
    shape, result = view.operand.shape, view.result.shape
    for d, length in enumerate(shape):
        if length == result[dim] and math.prod(shape[:d]) == math.prod(result[:dim]):
            return OperandSharding((d,))
    return None


def _transpose(view: Any, dim: int, size: int) -> OperandSharding:
    return OperandSharding((view.permutation[dim],))


def _broadcast_in_dim(view: Any, dim: int, size: int) -> OperandSharding:
    sources: Sequence[int] = view.broadcast_dimensions
    source = sources.index(dim) if dim in sources else None
    return OperandSharding((source if source is not None and view.operand.shape[source] > 1 else None,))


def _slice(view: Any, dim: int, size: int) -> OperandSharding | None:
    starts, limits, strides = view.ranges()
    if starts[dim] or limits[dim] != view.operand.shape[dim] or strides[dim] != 1:
        return None
    return OperandSharding((dim,), dimensions(limit_indices=_with(limits, dim, size)))


def _dynamic_slice(view: Any, dim: int, size: int) -> OperandSharding | None:
    if view.slice_sizes[dim] != view.operand.shape[dim]:
        return None
    starts = [None] * view.operand.rank
    return OperandSharding((dim, *starts), dimensions(slice_sizes=_with(view.slice_sizes, dim, size)))


def _dot_general(view: Any, dim: int, size: int) -> OperandSharding:
    batching, rows = len(view.lhs_batching_dimensions), len(view.lhs_result_dimensions)
    if dim < batching:
        return OperandSharding((view.lhs_batching_dimensions[dim], view.rhs_batching_dimensions[dim]))
    if dim < batching + rows:
        return OperandSharding((view.lhs_result_dimensions[dim - batching], None))
    return OperandSharding((None, view.rhs_result_dimensions[dim - batching - rows]))


def _reduce(view: Any, dim: int, size: int) -> OperandSharding:
    remaining_dims = [d for d in range(view.inputs[0].rank) if d not in view.dimensions]
    count = len(view.inputs)
    return OperandSharding((*[remaining_dims[dim]] * count, *[None] * count))


def _concatenate(view: Any, dim: int, size: int) -> OperandSharding | None:
    return None if dim == view.dimension else OperandSharding((dim,) * len(view.inputs))


def _pad(view: Any, dim: int, size: int) -> OperandSharding | None:
    amounts = (view.edge_padding_low, view.edge_padding_high, view.interior_padding)
    return None if any(amount[dim] for amount in amounts) else OperandSharding((dim, None))


def _reverse(view: Any, dim: int, size: int) -> OperandSharding | None:
    return None if dim in view.dimensions else OperandSharding((dim,))


def _iota(view: Any, dim: int, size: int) -> OperandSharding | None:
    return None if dim == view.iota_dimension else OperandSharding(())


def _constant(view: Any, dim: int, size: int) -> OperandSharding | None:
    """All elements are one."""
    type, value = tensor_type(view.operation.result), view.operation.attributes["value"]
    if not isinstance(value, DenseElementsAttribute) or not value.is_splat:
        return None
    shard = type.with_shape(_with(type.shape, dim, size))
    array = np.broadcast_to(value.array.reshape(-1)[:1].reshape(()), shard.shape)
    return OperandSharding((), {"value": DenseElementsAttribute(shard, array)})


def _with(sizes: Sequence[int], dim: int, size: int) -> list[int]:
    """Sizes, one of them replaced."""
    return [size if d == dim else other for d, other in enumerate(sizes)]


_RULES: Final[Mapping[str, Rule]] = {
    "stablehlo.broadcast_in_dim": _broadcast_in_dim,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.constant": _constant,
    "stablehlo.dot_general": _dot_general,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.iota": _iota,
    "stablehlo.pad": _pad,
    "stablehlo.reduce": _reduce,
    "stablehlo.reshape": _reshape,
    "stablehlo.reverse": _reverse,
    "stablehlo.slice": _slice,
    "stablehlo.transpose": _transpose,
}
