"""Reductions of segments: PyTorch's bags of embeddings and ``segment_reduce``."""

from __future__ import annotations

import math
from typing import Any, Final

from ....ir import Value
from ..emitter import I64, Emitter, Number, element_type, shape_of, wider
from ..table import NodeEmitter, converts, unsupported
from .indexing import take_rows
from .reductions import cumulative
from .scatters import adding, scatter_rows
from .searching import positions

_SUM, _MEAN, _MAX = range(3)
"""PyTorch's numbers of the modes of a bag."""

_REDUCTIONS: Final = {
    "sum": ("stablehlo.add", 0.0),
    "mean": ("stablehlo.add", math.nan),
    "max": ("stablehlo.maximum", -math.inf),
    "min": ("stablehlo.minimum", math.inf),
    "prod": ("stablehlo.multiply", 1.0),
}
"""The operation that combines the elements of a segment, and the result of a segment without elements."""


def _segment_of(e: Emitter, offsets: Value, count: int) -> Value:
    """The number of the segment of each of `count` elements, from the offsets of the segments."""
    behind = positions(e, e.convert(offsets, I64), e.iota((count,), 0), right=True)
    return e.subtract(behind, e.like(behind, 1))


def _broadcast_to_rows(e: Emitter, x: Value, like: Value) -> Value:
    """One value for each row, broadcast to a matrix."""
    return e.broadcast_in_dim(e.convert(x, element_type(like)), shape_of(like), [0])


@converts("aten._embedding_bag.default", "aten._embedding_bag_forward_only.default")
def embedding_bag(
    e: NodeEmitter,
    weight: Value,
    indices: Value,
    offsets: Value,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: Value | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> list[Value]:
    """The reduced rows of each bag; the bag of each index; the sizes of the bags; the rows of maxima."""
    (count,), bags = shape_of(indices), e.type.shape[0]
    type = wider(element_type(weight))
    bag = _segment_of(e, e.slice(offsets, 0, 0, bags), count) if bags else e.full(0, (count,), I64)
    counted = e.compare("NE", e.convert(indices, I64), e.full(padding_idx, (count,), I64))
    # Rows that do not count go to no bag.
    target = e.select(counted, bag, e.full(bags, (count,), I64))
    rows = e.convert(take_rows(e, weight, indices), type)
    if per_sample_weights is not None:
        rows = e.multiply(rows, _broadcast_to_rows(e, per_sample_weights, rows))
    sizes = scatter_rows(e, "stablehlo.add", e.full(0, (bags,), I64), target, e.full(1, (count,), I64))
    shape = (bags, shape_of(weight)[1])
    has_rows = e.broadcast_in_dim(e.compare("GT", sizes, e.like(sizes, 0)), shape, [0])
    if mode == _MAX:
        lowest = e.broadcast(e.extreme(type, is_minimum=True), shape)
        reduced = scatter_rows(e, "stablehlo.maximum", lowest, target, rows)
        reduced = e.select(has_rows, reduced, e.like(reduced, 0))
        largest = _rows_of_maxima(e, reduced, target, rows, indices)
    else:
        reduced = scatter_rows(e, "stablehlo.add", e.full(0, shape, type), target, rows)
        largest = None
    if mode == _MEAN:
        divisor = e.binary("stablehlo.maximum", sizes, e.like(sizes, 1))
        reduced = e.divide(reduced, _broadcast_to_rows(e, divisor, reduced))
    return [e.finish(reduced), *_other_results(e, target if mode == _MAX else bag, sizes, largest)]


def _rows_of_maxima(e: Emitter, reduced: Value, target: Value, rows: Value, indices: Value) -> Value:
    """For each element of a bag's maximum the index of the first row that has it; 0 without rows."""
    bags, columns = shape_of(reduced)
    count = shape_of(target)[0]
    own = take_rows(
        e, reduced, e.binary("stablehlo.minimum", target, e.full(max(bags - 1, 0), (count,), I64))
    )
    position = e.iota((count, columns), 0)
    is_largest = e.compare("EQ", rows, own)
    candidates = e.select(is_largest, position, e.full(count, (count, columns), I64))
    first = scatter_rows(e, "stablehlo.minimum", e.full(count, (bags, columns), I64), target, candidates)
    flat = e.reshape(first, (bags * columns,))
    chosen = e.binary("stablehlo.minimum", flat, e.full(max(count - 1, 0), shape_of(flat), I64))
    column = e.reshape(e.convert(indices, I64), (count, 1))
    indices_of_maxima = e.reshape(take_rows(e, column, chosen), (bags * columns,))
    has_rows = e.compare("LT", flat, e.full(count, shape_of(flat), I64))
    return e.reshape(e.select(has_rows, indices_of_maxima, e.like(indices_of_maxima, 0)), (bags, columns))


def _other_results(e: NodeEmitter, bag: Value, sizes: Value, largest: Value | None) -> list[Value]:
    """The results after the first one in the types that PyTorch declares; what it leaves empty is zero."""
    results = []
    for value, type in zip((bag, sizes, largest), e.types[1:], strict=True):
        assert type is not None
        if value is None or shape_of(value) != type.shape:
            results.append(e.full(0, type.shape, type.plain_element_type))
        else:
            results.append(e.convert(value, type.plain_element_type))
    return results


@converts("aten.segment_reduce.default")
def segment_reduce(
    e: NodeEmitter,
    data: Value,
    reduce: str,
    *,
    lengths: Value | None = None,
    indices: Value | None = None,
    offsets: Value | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Number | None = None,
) -> Value:
    """Segments of rows, reduced."""
    lengths_or_offsets = lengths if lengths is not None else offsets
    if axis or indices is not None or lengths_or_offsets is None or len(shape_of(lengths_or_offsets)) != 1:
        raise unsupported("reduces segments along another axis than the first one")
    count, segments = shape_of(data)[0], e.type.shape[0]
    if offsets is not None:
        starts = e.slice(e.convert(offsets, I64), 0, 0, segments)
        limits = e.slice(e.convert(offsets, I64), 0, 1, segments + 1)
    else:
        limits = cumulative(e, "stablehlo.add", e.convert(lengths_or_offsets, I64), 0)
        starts = e.subtract(limits, e.convert(lengths_or_offsets, I64))
    sizes = e.subtract(limits, starts)
    # The segment of an element is the number of segments that end before it.
    segment = positions(e, limits, e.iota((count,), 0), right=True)
    name, empty = _REDUCTIONS[reduce]
    type, shape = element_type(data), e.type.shape
    start = e.full(initial, shape, type) if initial is not None else e.broadcast(e.initial(name, type), shape)
    reduced = scatter_rows(e, name, start, segment, data)
    counts = e.broadcast_in_dim(sizes, shape, [0])
    if reduce == "mean":
        divisor = e.binary("stablehlo.maximum", counts, e.like(counts, 1))
        reduced = e.divide(reduced, e.convert(divisor, type))
    without = e.compare("EQ", counts, e.like(counts, 0))
    return e.select(without, e.full(empty if initial is None else initial, shape, type), reduced)


@converts("aten._embedding_bag_backward.default")
def embedding_bag_backward(
    e: NodeEmitter,
    gradient: Value,
    indices: Value,
    offsets: Value,
    bag: Value,
    sizes: Value,
    largest: Value,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    *rest: Any,
) -> Value:
    """The gradient of the matrix whose rows are in bags."""
    if sparse:
        raise unsupported("has a sparse gradient")
    bag = _bag_of(e, gradient, indices, offsets, bag)
    settings = num_weights, scale_grad_by_freq, mode, *rest
    return embedding_bag_dense_backward(e, gradient, indices, bag, sizes, largest, *settings)


def _bag_of(e: Emitter, gradient: Value, indices: Value, offsets: Value, bag: Value) -> Value:
    """The bag of each index, also where PyTorch did not compute it with the result."""
    (count,) = shape_of(indices)
    if shape_of(bag) == (count,):
        return bag
    return _segment_of(e, e.slice(offsets, 0, 0, shape_of(gradient)[0]), count)


@converts("aten._embedding_bag_dense_backward.default")
def embedding_bag_dense_backward(
    e: NodeEmitter,
    gradient: Value,
    indices: Value,
    bag: Value,
    sizes: Value,
    largest: Value,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Value | None,
    padding_idx: int = -1,
) -> Value:
    """The gradient of the matrix whose rows are in bags, of which each index has one."""
    (count,) = shape_of(indices)
    own = e.element
    gradient = e.convert(gradient, wider(own))
    if mode == _MAX:
        return e.convert(_gradient_of_maxima(e, gradient, sizes, largest), own)
    if mode == _MEAN:
        divisor = e.binary("stablehlo.maximum", sizes, e.like(sizes, 1))
        gradient = e.divide(gradient, _broadcast_to_rows(e, divisor, gradient))
    rows = take_rows(e, gradient, bag)
    if per_sample_weights is not None:
        rows = e.multiply(rows, _broadcast_to_rows(e, per_sample_weights, rows))
    wide = e.convert(indices, I64)
    if scale_grad_by_freq:
        zero, ones = e.full(0, (num_weights, 1), I64), e.full(1, (count, 1), I64)
        frequency = take_rows(e, scatter_rows(e, "stablehlo.add", zero, wide, ones), wide)
        rows = e.divide(rows, _broadcast_to_rows(e, e.reshape(frequency, (count,)), rows))
    counted = e.compare("NE", wide, e.full(padding_idx, (count,), I64))
    target = e.select(counted, wide, e.full(num_weights, (count,), I64))
    zeros = e.full(0, e.type.shape, element_type(rows))
    return e.convert(scatter_rows(e, adding(rows), zeros, target, rows), own)


def _gradient_of_maxima(e: NodeEmitter, gradient: Value, sizes: Value, largest: Value) -> Value:
    """The gradient of each bag's maxima, at the rows that have them; bags without rows have none."""
    num_weights, columns = e.type.shape
    shape = shape_of(gradient)
    has_rows = e.broadcast_in_dim(e.compare("GT", sizes, e.like(sizes, 0)), shape, [0])
    row = e.multiply(e.convert(largest, I64), e.full(columns, shape, I64))
    target = e.select(has_rows, e.add(row, e.iota(shape, 1)), e.full(num_weights * columns, shape, I64))
    zeros = e.full(0, (num_weights * columns,), element_type(gradient))
    flat = (shape[0] * columns,)
    summed = scatter_rows(e, adding(gradient), zeros, e.reshape(target, flat), e.reshape(gradient, flat))
    return e.reshape(summed, e.type.shape)


@converts("aten._embedding_bag_per_sample_weights_backward.default")
def embedding_bag_weights_backward(
    e: NodeEmitter,
    gradient: Value,
    weight: Value,
    indices: Value,
    offsets: Value,
    bag: Value,
    mode: int,
    padding_idx: int = -1,
) -> Value:
    """The gradient of the weights by which sums count rows: each row times its bag's gradient."""
    (count,) = shape_of(indices)
    type = wider(e.element)
    bag = _bag_of(e, gradient, indices, offsets, bag)
    rows = [e.convert(take_rows(e, *pair), type) for pair in ((gradient, bag), (weight, indices))]
    products = e.reduce("stablehlo.add", e.multiply(*rows), [1])
    counted = e.compare("NE", e.convert(indices, I64), e.full(padding_idx, (count,), I64))
    return e.convert(e.select(counted, products, e.like(products, 0)), e.element)
