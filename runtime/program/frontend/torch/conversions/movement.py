"""Operations of PyTorch that move elements: views, slices, concatenations, paddings."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from .....types import Array
from ....ir import Value
from ..emitter import Emitter, Shape, element_type, positive, shape_of
from ..table import NodeEmitter, converts, unsupported

_END: Final = (1 << 63) - 1
"""PyTorch's limit of a slice without one."""


@converts(
    "aten.alias.default",
    "aten.clone.default",
    "aten.contiguous.default",
    "aten.detach.default",
    "aten.detach_.default",
    "aten.lift_fresh.default",
    "aten.lift_fresh_copy.default",
    "aten.lift.default",
    "aten.positive.default",
    "aten.resolve_conj.default",
    "aten.resolve_neg.default",
    "aten.alias_copy.default",
    "aten.detach_copy.default",
)
def same(e: NodeEmitter, x: Value, **options: object) -> Value:
    return x


@converts(
    "aten.view.default",
    "aten._unsafe_view.default",
    "aten.reshape.default",
    "aten._reshape_alias.default",
    "aten.view_copy.default",
    "aten.squeeze.default",
    "aten.squeeze.dim",
    "aten.squeeze.dims",
    "aten.squeeze_copy.dims",
    "aten.unsqueeze.default",
    "aten.unsqueeze_copy.default",
)
def view(e: NodeEmitter, x: Value, *args: object) -> Value:
    """The same elements, in row-major order, in the shape of the result."""
    return e.reshape(x, e.type.shape)


@converts("aten.view.dtype", "aten.view_copy.dtype")
def view_dtype(e: NodeEmitter, x: Value, dtype: object) -> Value:
    own, other = element_type(x), e.element
    shape, result = shape_of(x), e.type.shape
    if own.width < other.width:
        x = e.reshape(x, (*shape[:-1], result[-1], other.width // own.width))
        return e.one("stablehlo.bitcast_convert", [x], result, other)
    inner = (*shape, own.width // other.width) if own.width > other.width else shape
    return e.reshape(e.one("stablehlo.bitcast_convert", [x], inner, other), result)


@converts("aten.expand.default", "aten.expand_copy.default")
def expand(e: NodeEmitter, x: Value, *args: object, **options: object) -> Value:
    return e.broadcast(x, e.type.shape)


@converts("prims.broadcast_in_dim.default")
def broadcast_in_dim(e: NodeEmitter, x: Value, shape: Sequence[int], dimensions: Sequence[int]) -> Value:
    return e.broadcast_in_dim(x, shape, dimensions)


@converts("aten.permute.default", "aten.permute_copy.default", "prims.transpose.default")
def permute(e: NodeEmitter, x: Value, dims: Sequence[int]) -> Value:
    return e.transpose(x, [positive(dim, len(dims)) for dim in dims])


@converts("aten.transpose.int", "aten.transpose_copy.int")
def transpose(e: NodeEmitter, x: Value, dim0: int, dim1: int) -> Value:
    order = list(range(len(shape_of(x))))
    if not order:
        return x
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return e.transpose(x, order)


@converts("aten.t.default", "aten.t_copy.default")
def t(e: NodeEmitter, x: Value) -> Value:
    return e.transpose(x, list(range(len(shape_of(x))))[::-1])


@converts("aten.select.int", "aten.select_copy.int")
def select(e: NodeEmitter, x: Value, dim: int, index: int) -> Value:
    sizes = shape_of(x)
    dim = positive(dim, len(sizes))
    start = index + sizes[dim] if index < 0 else index
    return e.reshape(e.slice(x, dim, start, start + 1), e.type.shape)


@converts("aten.slice.Tensor", "aten.slice_copy.Tensor")
def slice(
    e: NodeEmitter, x: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Value:
    first, limit, dim = _bounds(shape_of(x), dim, start, end)
    return e.slice(x, dim, first, max(first, limit), step)


def _bounds(sizes: Shape, dim: int, start: int | None, end: int | None) -> tuple[int, int, int]:
    """The first index and the limit of a slice, and the dimension, counted from the start."""
    dim = positive(dim, len(sizes))
    size = sizes[dim]
    first, limit = (0 if start is None else start), (_END if end is None else end)
    first, limit = (bound + size if bound < 0 else bound for bound in (first, limit))
    return min(max(first, 0), size), min(max(limit, 0), size), dim


@converts("aten.slice_scatter.default")
def slice_scatter(
    e: NodeEmitter,
    x: Value,
    source: Value,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Value:
    sizes = shape_of(x)
    first, limit, dim = _bounds(sizes, dim, start, end)
    source = e.convert(source, element_type(x))
    if first >= limit:
        return x
    if step == 1:
        chunks = [e.slice(x, dim, 0, first), source, e.slice(x, dim, limit, sizes[dim])]
        return e.concatenate([chunk for chunk in chunks if shape_of(chunk)[dim]], dim)
    rank, count = len(sizes), shape_of(source)[dim]
    low, high, interior = [0] * rank, [0] * rank, [0] * rank
    low[dim], interior[dim] = first, step - 1
    high[dim] = sizes[dim] - first - (count - 1) * step - 1
    padded = e.pad(source, e.full(0, (), element_type(x)), low, high, interior)
    positions = np.zeros(sizes[dim], bool)
    positions[first:limit:step] = True
    chosen = e.broadcast_in_dim(e.dense(positions), sizes, [dim])
    return e.select(chosen, padded, x)


@converts("aten.select_scatter.default")
def select_scatter(e: NodeEmitter, x: Value, source: Value, dim: int, index: int) -> Value:
    sizes = list(shape_of(x))
    dim = positive(dim, len(sizes))
    index = index + sizes[dim] if index < 0 else index
    sizes[dim] = 1
    return slice_scatter(e, x, e.reshape(source, sizes), dim, index, index + 1)


@converts("aten.cat.default")
def cat(e: NodeEmitter, tensors: Sequence[Value], dim: int = 0) -> Value:
    # An empty tensor of rank 1 is left out, whatever the rank of the others.
    values = [value for value in tensors if shape_of(value) != (0,)] or list(tensors[:1])
    dim = positive(dim, len(shape_of(values[0])))
    return e.concatenate([e.convert(value, e.element) for value in values], dim)


@converts("aten.stack.default")
def stack(e: NodeEmitter, tensors: Sequence[Value], dim: int = 0) -> Value:
    dim = positive(dim, len(e.type.shape))
    shape = list(e.type.shape)
    shape[dim] = 1
    return e.concatenate([e.reshape(e.convert(value, e.element), shape) for value in tensors], dim)


@converts("aten.split_with_sizes.default", "aten.split_with_sizes_copy.default")
def split_with_sizes(e: NodeEmitter, x: Value, split_sizes: Sequence[int], dim: int = 0) -> list[Value]:
    dim = positive(dim, len(shape_of(x)))
    limits = np.cumsum([0, *split_sizes]).tolist()
    return [e.slice(x, dim, start, limit) for start, limit in itertools.pairwise(limits)]


@converts("aten.split.Tensor", "aten.split_copy.Tensor")
def split(e: NodeEmitter, x: Value, split_size: int, dim: int = 0) -> list[Value]:
    size = shape_of(x)[dim]
    counts = [min(split_size, size - start) for start in range(0, size, split_size)] if split_size else [0]
    return split_with_sizes(e, x, counts or [0], dim)


@converts("aten.unbind.int", "aten.unbind_copy.int")
def unbind(e: NodeEmitter, x: Value, dim: int = 0) -> list[Value]:
    sizes = shape_of(x)
    dim = positive(dim, len(sizes))
    rest = sizes[:dim] + sizes[dim + 1 :]
    return [e.reshape(e.slice(x, dim, index, index + 1), rest) for index in range(sizes[dim])]


@converts("aten.flip.default")
def flip(e: NodeEmitter, x: Value, dims: Sequence[int]) -> Value:
    rank = len(shape_of(x))
    return e.reverse(x, sorted({positive(dim, rank) for dim in dims})) if rank and dims else x


@converts("aten.roll.default")
def roll(e: NodeEmitter, x: Value, shifts: Sequence[int], dims: Sequence[int] = ()) -> Value:
    shape = shape_of(x)
    if not dims:
        (shift,) = shifts
        return e.reshape(roll(e, e.reshape(x, (math.prod(shape),)), [shift], [0]), shape)
    for shift, each in zip(shifts, dims, strict=True):
        dim = positive(each, len(shape))
        if shape[dim] and shift % shape[dim]:
            cut = shape[dim] - shift % shape[dim]
            x = e.concatenate([e.slice(x, dim, cut, shape[dim]), e.slice(x, dim, 0, cut)], dim)
    return x


@converts("aten.repeat.default")
def repeat(e: NodeEmitter, x: Value, repeats: Sequence[int]) -> Value:
    sizes = (1,) * (len(repeats) - len(shape_of(x))) + shape_of(x)
    shape = [n for pair in zip(repeats, sizes, strict=True) for n in pair]
    spread = e.broadcast_in_dim(e.reshape(x, sizes), shape, range(1, 2 * len(sizes), 2))
    return e.reshape(spread, e.type.shape)


@converts("aten.constant_pad_nd.default")
def constant_pad_nd(e: NodeEmitter, x: Value, pad: Sequence[int], value: complex = 0) -> Value:
    rank = len(shape_of(x))
    low, high = [0] * rank, [0] * rank
    for number, dim in enumerate(range(rank - 1, rank - 1 - len(pad) // 2, -1)):
        low[dim], high[dim] = pad[2 * number], pad[2 * number + 1]
    return e.pad(x, e.full(value, (), element_type(x)), low, high)


@converts("aten.as_strided.default", "aten.as_strided_copy.default", "prims.as_strided.default")
def as_strided(
    e: NodeEmitter, x: Value, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Value:
    """The elements at regular addresses of a value in row-major order."""
    indices = strided_indices(e, x, size, stride, storage_offset or 0)
    flat = e.reshape(x, (math.prod(shape_of(x)),))
    return take(e, flat, e.dense(indices.reshape(-1, 1)), size)


def strided_indices(
    e: NodeEmitter, x: Value, size: Sequence[int], stride: Sequence[int], offset: int
) -> Array:
    """The numbers, in row-major order, of the elements of a value at regular addresses.

    Raises:
        UnsupportedError: the value is not stored in row-major order, or addresses lie outside of it.
    """
    if not e.is_contiguous:
        raise unsupported("as_strided reads an operand that is not stored in row-major order")
    indices = np.full(tuple(size), offset, np.int64)
    for dim, (count, step) in enumerate(zip(size, stride, strict=True)):
        indices += step * np.arange(count).reshape([-1 if d == dim else 1 for d in range(len(size))])
    if indices.size and not 0 <= indices.min() <= indices.max() < math.prod(shape_of(x)):
        raise unsupported("as_strided reads elements outside of its operand")
    return indices


def take(e: NodeEmitter, flat: Value, indices: Value, shape: Sequence[int]) -> Value:
    """The elements of a vector at indices of shape [n, 1], in another shape."""
    count = shape_of(indices)[0]
    taken = e.one(
        "stablehlo.gather",
        [flat, indices],
        (count,),
        element_type(flat),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=1,
        slice_sizes=(1,),
    )
    return e.reshape(taken, shape)


@converts("aten.diagonal.default", "aten.diagonal_copy.default")
def diagonal(e: NodeEmitter, x: Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Value:
    sizes = shape_of(x)
    first, second = positive(dim1, len(sizes)), positive(dim2, len(sizes))
    count = e.type.shape[-1]
    if not count:
        return e.full(0, e.type.shape, element_type(x))
    positions = np.arange(count)
    indices = np.stack([positions + max(-offset, 0), positions + max(offset, 0)], 1)
    slices = [1 if d in (first, second) else size for d, size in enumerate(sizes)]
    return e.one(
        "stablehlo.gather",
        [x, e.dense(indices.astype(np.int64))],
        e.type.shape,
        element_type(x),
        offset_dims=tuple(range(len(sizes) - 2)),
        collapsed_slice_dims=tuple(sorted((first, second))),
        start_index_map=(first, second),
        index_vector_dim=1,
        slice_sizes=tuple(slices),
    )


@converts("aten.unfold.default", "aten.unfold_copy.default")
def unfold(e: NodeEmitter, x: Value, dimension: int, size: int, step: int) -> Value:
    """Windows along a dimension; the elements of a window are in a new last dimension."""
    sizes = shape_of(x)
    if not sizes:
        return e.reshape(x, e.type.shape)
    dim = positive(dimension, len(sizes))
    starts = np.arange(e.type.shape[dim])[:, None] * step
    # A gather puts the elements of a window where the dimension is; they are moved to the end.
    slices = [size if d == dim else n for d, n in enumerate(sizes)]
    windows = e.one(
        "stablehlo.gather",
        [x, e.dense(starts.astype(np.int64))],
        (len(starts), *slices),
        element_type(x),
        offset_dims=tuple(range(1, len(sizes) + 1)),
        start_index_map=(dim,),
        index_vector_dim=1,
        slice_sizes=tuple(slices),
    )
    order = [d + 1 for d in range(len(sizes))]
    order[dim] = 0
    return e.transpose(windows, [*order, dim + 1])


@converts("aten.copy.default")
def copy(e: NodeEmitter, x: Value, source: Value, non_blocking: bool = False) -> Value:
    return e.broadcast(e.convert(source, element_type(x)), shape_of(x))


@converts(*[f"aten.replication_pad{rank}d_backward.default" for rank in (1, 2, 3)])
def replication_pad_backward(e: NodeEmitter, gradient: Value, x: Value, padding: Sequence[int]) -> Value:
    """The gradient of a value that is padded by its elements at the edges: these get that of the padding.

    The amounts are of the last dimension first; negative ones crop.
    """
    last = len(shape_of(gradient)) - 1
    for number, (low, high) in enumerate(zip(padding[::2], padding[1::2], strict=True)):
        dim = last - number
        gradient = _without_replicas(e, gradient, dim, low, high)
    return e.finish(gradient)


def _without_replicas(e: Emitter, x: Value, dim: int, low: int, high: int) -> Value:
    """Values along a dimension whose first and last elements get the sums of `low` and `high` more."""
    amounts = [[0] * len(shape_of(x)) for _ in range(2)]
    amounts[0][dim], amounts[1][dim] = max(-low, 0), max(-high, 0)
    x = e.pad(x, e.full(0, (), element_type(x)), *amounts)
    low, high = max(low, 0), max(high, 0)
    size = shape_of(x)[dim]
    if size - low - high == 1:
        return e.reduce("stablehlo.add", x, [dim], keep=True)
    first = e.reduce("stablehlo.add", e.slice(x, dim, 0, low + 1), [dim], keep=True)
    final = e.reduce("stablehlo.add", e.slice(x, dim, size - high - 1, size), [dim], keep=True)
    return e.concatenate([first, e.slice(x, dim, low + 1, size - high - 1), final], dim)
