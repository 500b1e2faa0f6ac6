"""Reads at indices: PyTorch's advanced indexing, gathers and embeddings.

PyTorch raises an IndexError for indices that are out of bounds; here they are clamped, as StableHLO's gather
clamps them, unless the sanitizer is on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .....kernels.named_tuples import NamedTuple
from ....ir import Value
from ....ops.numerics.broadcast_shapes import broadcast_shapes
from ..emitter import I1, I64, Emitter, Shape, element_type, positive, shape_of
from ..table import NodeEmitter, converts, unsupported
from .movement import take


class IndexVectors(NamedTuple):
    """The indices of an indexing expression.

    Attributes:
        vectors: index vectors of shape [*shape, number of dims].
        dims: the indexed dimensions.
        shape: the shape to which the indices broadcast.
        position: the dimension of the result at which `shape` begins.
    """

    vectors: Value
    dims: list[int]
    shape: Shape
    position: int

    def window_dims(self, rank: int) -> tuple[int, ...]:
        """The dimensions of the result that are not indexed."""
        count = len(self.shape)
        outside = range(count + rank - len(self.dims))
        return tuple([d for d in outside if not self.position <= d < self.position + count])


def from_start(e: Emitter, index: Value, size: int) -> Value:
    """Indices as i64, those that count from the end counted from the start."""
    index = e.convert(index, I64)
    shifted = e.add(index, e.like(index, size))
    return e.select(e.compare("LT", index, e.like(index, 0)), shifted, index)


def index_vectors(e: Emitter, x: Value, indices: Sequence[Value | None]) -> IndexVectors:
    """The index vectors of ``x[indices]``.

    Raises:
        UnsupportedError: an index is a mask, whose number of elements depends on its values.
    """
    sizes = shape_of(x)
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    present = [index for index in indices if index is not None]
    if any(element_type(index) is I1 for index in present):
        raise unsupported("indexes by a mask, so that the result's size depends on values")
    shape = broadcast_shapes(*map(shape_of, present))
    columns = [
        e.reshape(e.broadcast(from_start(e, index, sizes[dim]), shape), (*shape, 1))
        for dim, index in zip(dims, present, strict=True)
    ]
    adjacent = dims == list(range(dims[0], dims[0] + len(dims)))
    return IndexVectors(e.concatenate(columns, len(shape)), dims, shape, dims[0] if adjacent else 0)


def take_rows(e: Emitter, x: Value, indices: Value) -> Value:
    """The rows of a matrix at indices of shape [n]."""
    vectors = index_vectors(e, x, [indices])
    columns = shape_of(x)[1]
    return e.one(
        "stablehlo.gather",
        [x, vectors.vectors],
        (shape_of(indices)[0], columns),
        element_type(x),
        offset_dims=(1,),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=1,
        slice_sizes=(1, columns),
    )


@converts("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index(e: NodeEmitter, x: Value, indices: Sequence[Value | None]) -> Value:
    vectors = index_vectors(e, x, indices)
    sizes = shape_of(x)
    return e.one(
        "stablehlo.gather",
        [x, vectors.vectors],
        e.type.shape,
        element_type(x),
        offset_dims=vectors.window_dims(len(sizes)),
        collapsed_slice_dims=tuple(vectors.dims),
        start_index_map=tuple(vectors.dims),
        index_vector_dim=len(vectors.shape),
        slice_sizes=tuple([1 if d in vectors.dims else size for d, size in enumerate(sizes)]),
    )


@converts("aten._unsafe_masked_index.default")
def masked_index(
    e: NodeEmitter, x: Value, mask: Value, indices: Sequence[Value | None], fill: complex
) -> Value:
    if 0 in shape_of(x):
        return e.full(fill, e.type.shape, element_type(x))
    taken = index(e, x, indices)
    filling = e.full(fill, shape_of(taken), element_type(x))
    return e.select(e.broadcast(mask, shape_of(taken)), taken, filling)


@converts("aten.index_select.default")
def index_select(e: NodeEmitter, x: Value, dim: int, indices: Value) -> Value:
    if not shape_of(x):
        return e.reshape(x, e.type.shape)
    dim = positive(dim, len(shape_of(x)))
    flat = e.reshape(indices, (math.prod(shape_of(indices)),))
    return index(e, x, [None] * dim + [flat])


@converts("aten.embedding.default")
def embedding(e: NodeEmitter, weight: Value, indices: Value, *options: object, **named: object) -> Value:
    return index(e, weight, [indices])


@converts("aten.take.default")
def take_flat(e: NodeEmitter, x: Value, indices: Value) -> Value:
    count = math.prod(shape_of(x))
    counted = from_start(e, indices, count)
    vectors = e.reshape(counted, (math.prod(shape_of(indices)), 1))
    return take(e, e.reshape(x, (count,)), vectors, shape_of(indices))


def take_along(e: Emitter, x: Value, dim: int, indices: Value) -> Value:
    """Element ``x[i, ..., indices[i, ..., k], ..., j]`` at ``[i, ..., k, ..., j]``."""
    shape = shape_of(indices)
    if not math.prod(shape):
        return e.full(0, shape, element_type(x))
    dim = positive(dim, len(shape))
    others = tuple([d for d in range(len(shape)) if d != dim])
    for other in others:
        x = e.slice(x, other, 0, shape[other])
    vectors = from_start(e, indices, shape_of(x)[dim])
    return e.one(
        "stablehlo.gather",
        [x, e.reshape(vectors, (*shape, 1))],
        shape,
        element_type(x),
        collapsed_slice_dims=(dim,),
        operand_batching_dims=others,
        start_indices_batching_dims=others,
        start_index_map=(dim,),
        index_vector_dim=len(shape),
        slice_sizes=(1,) * len(shape),
    )


@converts("aten.gather.default")
def gather(e: NodeEmitter, x: Value, dim: int, indices: Value, *, sparse_grad: bool = False) -> Value:
    if not shape_of(x):
        return e.broadcast(x, shape_of(indices))
    if not shape_of(indices):
        indices = e.reshape(indices, (1,) * len(shape_of(x)))
    return e.reshape(take_along(e, x, dim, indices), e.type.shape)
