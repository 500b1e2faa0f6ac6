"""The shards of its operands that a shard of an operation's result needs.

A shard has a range of indices along one dimension, the same range in operands and result. An operand without
such a dimension is needed whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ....program.ir import Attribute, DenseElementsAttribute, tensor_type
from ....program.ir.affine import identity_map
from ....program.ir.record import Record
from ....program.ops.framework.declaration import Op
from ....program.ops.shape.layout import Reshape
from ....program.ops.shape.movement import MovementOp
from ....program.ops.shape.slicing import Slice
from ..framework.rewriter import dimensions

if TYPE_CHECKING:
    from ....program.ops.contraction.dot_general import DotGeneral
    from ....program.ops.indexing.dynamic_slice import DynamicSlice
    from ....program.ops.indexing.gather import Gather
    from ....program.ops.indexing.scatter_rules import ScatterRules
    from ....program.ops.intermediate.arg_reduce import ArgReduce
    from ....program.ops.reduction.reduce import Reduce
    from ....program.ops.shape.creation import Iota


class OperandSharding(Record):
    """The operands that a shard of a result needs.

    Attributes:
        dims: for each operand the dimension along which it is sharded; None for the whole operand.
        attributes: the attributes that differ for the operation on shards.
    """

    dims: tuple[int | None, ...]
    attributes: Mapping[str, Attribute] = {}


Rule = Callable[[Any, int, int], OperandSharding | None]
"""Maps a view, the sharded dimension of its results and the size of a shard to the sharding of its operands;
None if the whole result has to be computed."""


def operand_sharding(view: Op, dim: int, size: int) -> OperandSharding | None:
    """The operands that a shard of the results needs; None if the whole result has to be computed.

    Args:
        view: the operation.
        dim: the dimension along which the results are sharded.
        size: size of a shard along it.
    """
    return RULES[view.loop_sharding](view, dim, size) if view.loop_sharding else None


def _elementwise(view: Op, dim: int, size: int) -> OperandSharding:
    operands = view.operation.operands
    return OperandSharding(tuple([dim if tensor_type(operand).rank else None for operand in operands]))


def _movement(view: MovementOp, dim: int, size: int) -> OperandSharding | None:
    """An operand is sharded along its dimension that has the same index as the result's."""
    maps, length = view.movement_maps(), tensor_type(view.operation.result).shape[dim]
    dims: list[int | None] = []
    for one in maps or ():
        depending = one.depends_on(dim)
        if (one.starts[dim], one.strides[dim], one.sizes[dim]) != (0, 1, length) or len(depending) > 1:
            return None
        for d in depending:
            operand = tensor_type(view.operation.operands[one.operand])
            if one.indices[d] != identity_map(len(one.sizes))[dim] or operand.shape[d] != length:
                return None
        dims.append(next(iter(depending), None))
    return OperandSharding(tuple(dims)) if maps else None


def _reshape(view: Reshape, dim: int, size: int) -> OperandSharding | None:
    """The other dimensions may be merged or split."""
    for dims, result_dims in view.dimension_groups() or ():
        if result_dims == [dim] and len(dims) == 1:
            return OperandSharding(tuple(dims))
    return None


def _slice(view: Slice, dim: int, size: int) -> OperandSharding | None:
    cut = _movement(view, dim, size)
    limits = dimensions(limit_indices=_with(view.limit_indices, dim, size))
    return None if cut is None else OperandSharding(cut.dims, limits)


def _dynamic_slice(view: DynamicSlice, dim: int, size: int) -> OperandSharding | None:
    if view.slice_sizes[dim] != view.operand.shape[dim]:
        return None
    starts = [None] * view.operand.rank
    return OperandSharding((dim, *starts), dimensions(slice_sizes=_with(view.slice_sizes, dim, size)))


def _dot_general(view: DotGeneral, dim: int, size: int) -> OperandSharding | None:
    """A shard must add its products in the order of the whole, which depends on sizes."""
    batching, rows = len(view.lhs_batching_dimensions), len(view.lhs_result_dimensions)
    dims: tuple[int | None, int | None]
    if dim < batching:
        dims = view.lhs_batching_dimensions[dim], view.rhs_batching_dimensions[dim]
    elif dim < batching + rows:
        dims = view.lhs_result_dimensions[dim - batching], None
    else:
        dims = None, view.rhs_result_dimensions[dim - batching - rows]
    lhs, rhs = [
        type.shape if along is None else _with(type.shape, along, size)
        for type, along in zip((view.lhs, view.rhs), dims, strict=True)
    ]
    return OperandSharding(dims) if view.keeps_order(lhs, rhs) else None


def _gather(view: Gather, dim: int, size: int) -> OperandSharding | None:
    """A shard has some of the slices, or a part of each slice, which then contains the whole dimension."""
    if dim in view.batch_dims:
        index_dims = [d for d in range(view.start_indices.rank) if d != view.index_vector_dim]
        along = index_dims[view.batch_dims.index(dim)]
        pairs = zip(view.start_indices_batching_dims, view.operand_batching_dims, strict=True)
        return OperandSharding((dict(pairs).get(along), along))
    (d,) = [d for d, result_dim in view.windowed_dims.items() if result_dim == dim]
    if view.slice_sizes[d] != view.operand.shape[d]:
        return None
    return OperandSharding((d, None), dimensions(slice_sizes=_with(view.slice_sizes, d, size)))


def _scatter(view: ScatterRules, dim: int, size: int) -> OperandSharding | None:
    """A shard gets the updates of its batches, or a part of each window, which has the whole dimension."""
    index_operands = len(view.operation.operands) - 2 * len(view.inputs)
    index_along: int | None = None
    batching = dict(zip(view.input_batching_dims, view.scatter_indices_batching_dims, strict=True))
    if dim in batching:
        index_along = batching[dim]
        index_dims = [d for d in range(len(view.indices_shape)) if d != view.index_vector_dim]
        update_dims = [d for d in range(view.updates[0].rank) if d not in view.update_window_dims]
        along = update_dims[index_dims.index(index_along)]
    elif dim in view.windowed_dims and dim not in view.scatter_dims_to_operand_dims:
        along = view.windowed_dims[dim]
        if view.updates[0].shape[along] != view.inputs[0].shape[dim]:
            return None
    else:
        return None
    inputs, updates = [dim] * len(view.inputs), [along] * len(view.inputs)
    return OperandSharding((*inputs, *[index_along] * index_operands, *updates))


def _reduce(view: Reduce, dim: int, size: int) -> OperandSharding:
    along = _remaining_dimension(view.inputs[0].rank, view.dimensions, dim)
    count = len(view.inputs)
    return OperandSharding((*[along] * count, *[None] * count))


def _arg_reduce(view: ArgReduce, dim: int, size: int) -> OperandSharding:
    return OperandSharding((_remaining_dimension(view.operand.rank, view.dimensions, dim), None, None))


def _remaining_dimension(rank: int, reduced: Sequence[int], dim: int) -> int:
    """The dimension of an operand that a reduction keeps as this one of its result."""
    return [d for d in range(rank) if d not in reduced][dim]


def _whole_dimension(view: Op, dim: int, size: int) -> OperandSharding | None:
    whole = getattr(view, view.whole_dimension)
    return None if dim == whole else OperandSharding((dim,) * len(view.operation.operands))


def _iota(view: Iota, dim: int, size: int) -> OperandSharding | None:
    return None if dim == view.iota_dimension else OperandSharding(())


def _constant(view: Op, dim: int, size: int) -> OperandSharding | None:
    """Only splat constants can be sharded."""
    type, value = tensor_type(view.operation.result), view.operation.attributes["value"]
    if not isinstance(value, DenseElementsAttribute) or not value.is_splat:
        return None
    shard = type.with_shape(_with(type.shape, dim, size))
    array = np.broadcast_to(value.array.reshape(-1)[:1].reshape(()), shard.shape)
    return OperandSharding((), {"value": DenseElementsAttribute(shard, array)})


def _with(sizes: Sequence[int], dim: int, size: int) -> list[int]:
    """Sizes, one of them replaced."""
    return [size if d == dim else other for d, other in enumerate(sizes)]


RULES: Final[Mapping[str, Rule]] = {
    "arg_reduce": _arg_reduce,
    "constant": _constant,
    "dot_general": _dot_general,
    "dynamic_slice": _dynamic_slice,
    "elementwise": _elementwise,
    "gather": _gather,
    "iota": _iota,
    "movement": _movement,
    "reduce": _reduce,
    "reshape": _reshape,
    "scatter": _scatter,
    "slice": _slice,
    "whole_dimension": _whole_dimension,
}
"""The rules by the names under which declarations state them."""
