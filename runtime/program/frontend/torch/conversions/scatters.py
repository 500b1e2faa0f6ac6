"""Writes at indices: PyTorch's scatters and assignments to indexed elements.

Updates of one element are applied in the order of their indices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from .....types import INTEGER
from ....ir import Value
from ..emitter import I1, I64, Emitter, Number, element_type, positive, shape_of, wider
from ..table import NodeEmitter, Operand, converts, unsupported
from .indexing import from_start, index_vectors
from .movement import strided_indices, take
from .reductions import cumulative

ASSIGN: Final = "second"
"""The combination that keeps the update."""

_COMBINATIONS: Final = {
    "sum": "stablehlo.add",
    "add": "stablehlo.add",
    "mean": "stablehlo.add",
    "prod": "stablehlo.multiply",
    "multiply": "stablehlo.multiply",
    "amax": "stablehlo.maximum",
    "amin": "stablehlo.minimum",
}
"""The operation that combines an element with its updates, by PyTorch's name of the reduction."""


def adding(x: Value) -> str:
    """The operation that adds elements of a value's type."""
    return "stablehlo.or" if element_type(x) is I1 else "stablehlo.add"


@converts("aten.index_put.default", "aten._unsafe_index_put.default")
def index_put(
    e: NodeEmitter, x: Value, indices: Sequence[Value | None], values: Value, accumulate: bool = False
) -> Value:
    present = [index for index in indices if index is not None]
    if len(present) == 1 and element_type(present[0]) is I1:
        return _masked_put(e, x, indices, values, accumulate)
    vectors = index_vectors(e, x, indices)
    sizes, rank = shape_of(x), len(shape_of(x))
    others = [size for d, size in enumerate(sizes) if d not in vectors.dims]
    shape = (*others[: vectors.position], *vectors.shape, *others[vectors.position :])
    updates = e.broadcast(e.convert(values, element_type(x)), shape)
    name = adding(x) if accumulate else ASSIGN
    return e.one(
        "stablehlo.scatter",
        [x, vectors.vectors, updates],
        sizes,
        element_type(x),
        [e.combiner(name, element_type(x))],
        update_window_dims=vectors.window_dims(rank),
        inserted_window_dims=tuple(vectors.dims),
        scatter_dims_to_operand_dims=tuple(vectors.dims),
        index_vector_dim=len(vectors.shape),
    )


def _masked_put(
    e: NodeEmitter, x: Value, indices: Sequence[Value | None], values: Value, accumulate: bool
) -> Value:
    """An assignment of values that broadcast to the elements under a mask."""
    dim = next(number for number, index in enumerate(indices) if index is not None)
    mask = indices[dim]
    assert mask is not None
    sizes, covered = shape_of(x), len(shape_of(mask))
    after = len(sizes) - dim - covered
    shape = shape_of(values)
    if len(shape) > after and shape[len(shape) - after - 1] != 1:
        raise unsupported("assigns values to the elements under a mask, so that sizes depend on values")
    flat = e.reshape(values, shape[len(shape) - min(after, len(shape)) :]) if len(shape) > after else values
    updates = e.broadcast(e.convert(flat, element_type(x)), sizes)
    if accumulate:
        updates = e.add(x, updates)
    return e.select(e.broadcast_in_dim(mask, sizes, range(dim, dim + covered)), updates, x)


@converts("aten._unsafe_masked_index_put_accumulate.default")
def masked_index_put(
    e: NodeEmitter, x: Value, mask: Value, indices: Sequence[Value | None], values: Value
) -> Value:
    zero = e.full(0, shape_of(values), element_type(values))
    chosen = e.select(e.broadcast(mask, shape_of(values)), values, zero)
    return index_put(e, x, indices, chosen, True)


def scatter_along(e: Emitter, name: str, x: Value, dim: int, indices: Value, updates: Value) -> Value:
    """Combine each update with the element ``x[i, ..., indices[i, ..., k], ..., j]``."""
    type = element_type(x)
    if not shape_of(x):
        flat = [e.reshape(value, (math.prod(shape_of(value)),)) for value in (x, indices, updates)]
        return e.reshape(scatter_along(e, name, flat[0], 0, flat[1], flat[2]), ())
    if not shape_of(indices):
        ones = (1,) * len(shape_of(x))
        indices, updates = e.reshape(indices, ones), e.reshape(updates, ones)
    shape = shape_of(indices)
    dim = positive(dim, len(shape))
    for other in range(len(shape)):
        updates = e.slice(updates, other, 0, shape[other])
    columns = [
        from_start(e, indices, shape_of(x)[d]) if d == dim else e.iota(shape, d) for d in range(len(shape))
    ]
    vectors = e.concatenate([e.reshape(column, (*shape, 1)) for column in columns], len(shape))
    every = tuple(range(len(shape)))
    return e.one(
        "stablehlo.scatter",
        [x, vectors, updates],
        shape_of(x),
        type,
        [e.combiner(name, type)],
        inserted_window_dims=every,
        scatter_dims_to_operand_dims=every,
        index_vector_dim=len(shape),
    )


def scatter_rows(e: Emitter, name: str, x: Value, rows: Value, updates: Value) -> Value:
    """Combine each ``updates[k]`` with ``x[rows[k]]``; rows that are out of bounds are dropped."""
    (count,), rank = shape_of(rows), len(shape_of(x))
    return e.one(
        "stablehlo.scatter",
        [x, e.reshape(rows, (count, 1)), updates],
        shape_of(x),
        element_type(x),
        [e.combiner(name, element_type(x))],
        update_window_dims=tuple(range(1, rank)),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
        index_vector_dim=1,
    )


@converts("aten.scatter.src", "aten.scatter.value", "aten.scatter.reduce", "aten.scatter.value_reduce")
def scatter(
    e: NodeEmitter, x: Value, dim: int, indices: Value, source: Operand, *, reduce: str | None = None
) -> Value:
    name = ASSIGN if reduce is None else _COMBINATIONS[reduce]
    shape = None if isinstance(source, Value) else shape_of(indices)
    return scatter_along(e, name, x, dim, indices, e.as_value(source, element_type(x), shape))


@converts("aten.scatter_add.default")
def scatter_add(e: NodeEmitter, x: Value, dim: int, indices: Value, source: Value) -> Value:
    return scatter_along(e, adding(x), x, dim, indices, source)


@converts("aten.scatter_reduce.two")
def scatter_reduce(
    e: NodeEmitter,
    x: Value,
    dim: int,
    indices: Value,
    source: Value,
    reduce: str,
    *,
    include_self: bool = True,
) -> Value:
    name, own = _COMBINATIONS[reduce], element_type(x)
    x, source = (e.convert(value, wider(own)) for value in (x, source))
    if not include_self:
        start = e.broadcast(e.initial(name, element_type(x)), shape_of(source))
        x = scatter_along(e, ASSIGN, x, dim, indices, start)
    result = scatter_along(e, name, x, dim, indices, source)
    if reduce == "mean":
        result = _averaged(e, result, dim, indices, shape_of(source), include_self)
    return e.convert(result, own)


@converts("aten.index_reduce.default")
def index_reduce(
    e: NodeEmitter,
    x: Value,
    dim: int,
    indices: Value,
    source: Value,
    reduce: str,
    *,
    include_self: bool = True,
) -> Value:
    dim = positive(dim, len(shape_of(x)))
    # A scalar is a source of one element, whose one index may be a scalar too or not.
    scalar = not (shape_of(source) and shape_of(indices))
    one = e.reshape(indices, ()) if scalar else indices
    broadcast = e.broadcast_in_dim(one, shape_of(source), [] if scalar else [dim])
    return scatter_reduce(e, x, dim, broadcast, source, reduce, include_self=include_self)


@converts("aten.put.default")
def put(e: NodeEmitter, x: Value, indices: Value, source: Value, accumulate: bool = False) -> Value:
    """Writes to elements by their numbers in row-major order."""
    flat, positions, updates = (
        e.reshape(value, (math.prod(shape_of(value)),)) for value in (x, indices, source)
    )
    return e.reshape(index_put(e, flat, [positions], updates, accumulate), shape_of(x))


def _averaged(
    e: NodeEmitter, x: Value, dim: int, indices: Value, shape: Sequence[int], include_self: bool
) -> Value:
    """Sums divided by the number of their terms."""
    counts = e.full(int(include_self), shape_of(x), I64)
    counts = scatter_along(e, "stablehlo.add", counts, dim, indices, e.full(1, shape, I64))
    counts = e.binary("stablehlo.maximum", counts, e.like(counts, 1))
    divisor = e.convert(counts, element_type(x))
    if element_type(x).category & INTEGER:
        rest = e.binary("stablehlo.remainder", x, divisor)
        quotient = e.divide(x, divisor)
        lower = e.compare("LT", rest, e.like(rest, 0))
        return e.select(lower, e.subtract(quotient, e.like(quotient, 1)), quotient)
    return e.divide(x, divisor)


@converts("aten.index_add.default")
def index_add(
    e: NodeEmitter, x: Value, dim: int, indices: Value, source: Value, *, alpha: Number = 1
) -> Value:
    if alpha != 1:
        source = e.multiply(source, e.like(source, alpha))
    if not shape_of(x):
        return scatter_along(e, adding(x), x, 0, indices, source)
    dim = positive(dim, len(shape_of(x)))
    return index_put(e, x, [None] * dim + [indices], source, True)


def ranks(e: Emitter, mask: Value) -> Value:
    """The number of true elements before each element of a vector."""
    counted = e.convert(mask, I64)
    return e.subtract(cumulative(e, "stablehlo.add", counted, 0), counted)


@converts("aten.masked_scatter.default")
def masked_scatter(e: NodeEmitter, x: Value, mask: Value, source: Value) -> Value:
    """Elements of the source, in order, in place of those under the mask."""
    shape = e.type.shape
    x, mask = e.broadcast(x, shape), e.broadcast(mask, shape)
    count = math.prod(shape)
    before = ranks(e, e.reshape(mask, (count,)))
    elements = e.reshape(source, (math.prod(shape_of(source)),))
    return e.select(mask, take(e, elements, e.reshape(before, (count, 1)), shape), x)


@converts("aten.masked_scatter_backward.default")
def masked_scatter_backward(e: NodeEmitter, gradient: Value, mask: Value, sizes: Sequence[int]) -> Value:
    """The gradients under the mask, in order, and 0 for elements of the source that were not used."""
    shape = shape_of(gradient)
    count, size = math.prod(shape), math.prod(e.type.shape)
    flat = e.reshape(e.broadcast(mask, shape), (count,))
    # Indices that are out of bounds are dropped.
    destination = e.select(flat, ranks(e, flat), e.full(size, (count,), I64))
    zeros = e.full(0, (size,), element_type(gradient))
    used = scatter_along(e, ASSIGN, zeros, 0, destination, e.reshape(gradient, (count,)))
    return e.reshape(used, e.type.shape)


@converts("aten.diagonal_scatter.default")
def diagonal_scatter(
    e: NodeEmitter, x: Value, source: Value, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Value:
    """The operand with other elements where the indices along two dimensions differ by the offset."""
    shape, rank = shape_of(x), len(shape_of(x))
    first, second = positive(dim1, rank), positive(dim2, rank)
    row, column = e.iota(shape, first), e.iota(shape, second)
    on_diagonal = e.compare("EQ", column, e.add(row, e.like(row, offset)))
    # Element k of the source's last dimension belongs to row max(-offset, 0) + k.
    low, high = [0] * (rank - 1), [0] * (rank - 1)
    low[-1] = max(-offset, 0)
    high[-1] = shape[first] - low[-1] - shape_of(source)[-1]
    rows = e.pad(e.convert(source, element_type(x)), e.full(0, (), element_type(x)), low, high)
    others = [d for d in range(rank) if d not in (first, second)]
    mapped = e.transpose(rows, [*sorted(range(rank - 1), key=[*others, first].__getitem__)])
    return e.select(on_diagonal, e.broadcast_in_dim(mapped, shape, sorted([*others, first])), x)


@converts("aten.as_strided_scatter.default", "prims.as_strided_scatter.default")
def as_strided_scatter(
    e: NodeEmitter,
    x: Value,
    source: Value,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Value:
    """The operand with other elements at regular addresses."""
    indices = strided_indices(e, x, size, stride, storage_offset or 0)
    count = math.prod(shape_of(x))
    rows, updates = e.dense(indices.reshape(-1)), e.reshape(source, (indices.size,))
    return e.reshape(scatter_rows(e, ASSIGN, e.reshape(x, (count,)), rows, updates), shape_of(x))
