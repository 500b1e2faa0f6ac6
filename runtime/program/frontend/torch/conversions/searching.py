"""Searches of PyTorch: positions in sorted sequences, histograms, most frequent values, nonzeros."""

from __future__ import annotations

import math

from ....ir import Value
from ..emitter import I32, I64, Emitter, Number, element_type, positive, shape_of
from ..table import NodeEmitter, Operand, converts, promoted, unsupported
from .indexing import take_along
from .reductions import cumulative, extreme_with_index
from .scatters import ASSIGN, ranks, scatter_along
from .sorting import sort_with_indices


def positions(e: Emitter, sequence: Value, values: Value, *, right: bool) -> Value:
    """Where values would be inserted into sorted sequences, which are along the last dimension.

    Args:
        e: appends the operations.
        sequence: of shape [n], or of the values' shape but for the last dimension.
        values: of any shape.
        right: whether behind elements that equal the value, as behind NaN.
    """
    if len(shape_of(sequence)) == 1 and len(shape_of(values)) != 1:
        flat = e.reshape(values, (math.prod(shape_of(values)),))
        return e.reshape(positions(e, sequence, flat, right=right), shape_of(values))
    n, shape = shape_of(sequence)[-1], shape_of(values)
    low, high = e.full(0, shape, I64), e.full(n, shape, I64)
    one, last = e.full(1, shape, I64), e.full(max(n - 1, 0), shape, I64)
    # A binary search of n elements ends after as many passes as n has binary digits.
    for _ in range(n.bit_length() if math.prod(shape) else 0):
        middle = e.binary("stablehlo.shift_right_logical", e.add(low, high), one)
        element = take_along(e, sequence, -1, e.binary("stablehlo.minimum", middle, last))
        is_before = e.negated(e.compare("GT" if right else "GE", element, values))
        active = e.compare("LT", low, high)
        low, high = (
            e.select(e.both(active, is_before), e.add(middle, one), low),
            e.select(e.both(active, e.negated(is_before)), middle, high),
        )
    return low


@converts("aten.searchsorted.Tensor", "aten.searchsorted.Scalar")
def searchsorted(
    e: NodeEmitter,
    sequence: Value,
    values: Operand,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Value | None = None,
) -> Value:
    if sorter is not None:
        sequence = take_along(e, sequence, -1, sorter)
    type = promoted((sequence, values))
    searched = e.as_value(values, type)
    return e.finish(positions(e, e.convert(sequence, type), searched, right=right or side == "right"))


@converts("aten.bucketize.Tensor", "aten.bucketize.Scalar")
def bucketize(
    e: NodeEmitter, values: Operand, boundaries: Value, *, out_int32: bool = False, right: bool = False
) -> Value:
    return searchsorted(e, boundaries, values, right=right)


def _range(e: Emitter, x: Value, low: Number, high: Number, margin: float) -> tuple[Value, Value]:
    """The bounds of a histogram: those of the elements where none are given; equal ones get a margin."""
    type = element_type(x)
    first, last = e.full(low, (), type), e.full(high, (), type)
    if low == high and all(shape_of(x)):
        dims = list(range(len(shape_of(x))))
        first, last = e.reduce("stablehlo.minimum", x, dims), e.reduce("stablehlo.maximum", x, dims)
    equal = e.compare("EQ", first, last)
    added = e.full(margin, (), type)
    return e.select(equal, e.subtract(first, added), first), e.select(equal, e.add(last, added), last)


@converts("aten.histc.default")
def histc(e: NodeEmitter, x: Value, bins: int = 100, min: Number = 0, max: Number = 0) -> Value:
    """The number of elements in intervals of equal width; others are not counted."""
    type, shape = element_type(x), shape_of(x)
    count = math.prod(shape)
    if not count:
        return e.full(0, e.type.shape, e.element)
    first, last = _range(e, x, min, max, 1)
    flat = e.reshape(x, (count,))
    low, high = (e.broadcast(each, (count,)) for each in (first, last))
    scaled = e.multiply(e.subtract(flat, low), e.full(bins, (count,), type))
    bucket = e.convert(e.divide(scaled, e.subtract(high, low)), I64)
    bucket = e.binary("stablehlo.minimum", bucket, e.full(bins - 1, (count,), I64))
    inside = e.both(e.compare("GE", flat, low), e.compare("LE", flat, high))
    outside = e.full(bins, (count,), I64)
    ones = e.full(1, (count,), e.element)
    zeros = e.full(0, (bins,), e.element)
    return scatter_along(e, "stablehlo.add", zeros, 0, e.select(inside, bucket, outside), ones)


@converts("aten.mode.default")
def mode(e: NodeEmitter, x: Value, dim: int = -1, keepdim: bool = False) -> list[Value]:
    """The smallest of the most frequent values along a dimension, and the position of the last such one."""
    if not shape_of(x):
        return [x, e.full(0, (), I64)]
    shape, dim = shape_of(x), positive(dim, len(shape_of(x)))
    values, indices = sort_with_indices(e, x, dim, descending=False)
    position = e.iota(shape, dim)
    before = e.concatenate([e.slice(values, dim, 0, 1), e.slice(values, dim, 0, shape[dim] - 1)], dim)
    starts = e.select(e.compare("NE", values, before), position, e.full(0, shape, I64))
    lengths = e.subtract(position, cumulative(e, "stablehlo.maximum", starts, dim))
    last = extreme_with_index(e, lengths, dim, "GT")[1]
    chosen = e.keep_dims(last, shape, [dim])
    results = [take_along(e, each, dim, chosen) for each in (values, indices)]
    return e.reshaped(results)


@converts("aten.nonzero_static.default")
def nonzero_static(e: NodeEmitter, x: Value, *, size: int, fill_value: int = -1) -> Value:
    """The indices of the first elements that are not 0, and a fill value in further rows."""
    shape = shape_of(x)
    count = math.prod(shape)
    flat = e.reshape(x, (count,))
    is_nonzero = e.compare("NE", flat, e.like(flat, 0))
    row = e.select(is_nonzero, ranks(e, is_nonzero), e.full(size, (count,), I64))
    numbers = scatter_along(e, ASSIGN, e.full(-1, (size,), I64), 0, row, e.iota((count,), 0))
    is_filled = e.compare("LT", numbers, e.like(numbers, 0))
    columns = []
    for dim, extent in enumerate(shape):
        stride = math.prod(shape[dim + 1 :])
        index = e.divide(numbers, e.like(numbers, max(stride, 1)))
        index = e.binary("stablehlo.remainder", index, e.like(index, max(extent, 1)))
        columns.append(e.reshape(e.select(is_filled, e.like(index, fill_value), index), (size, 1)))
    return e.concatenate(columns, 1) if columns else e.full(0, e.type.shape, I64)


@converts("aten.histogram.bins_tensor", "aten.histogram.bin_ct")
def histogram(
    e: NodeEmitter,
    x: Value,
    bins: Value | int = 100,
    *,
    range: list[float] | None = None,
    weight: Value | None = None,
    density: bool = False,
) -> list[Value]:
    """The sums of weights in intervals, of which the last one holds its upper edge too, and their edges."""
    type, count = element_type(x), math.prod(shape_of(x))
    if not count:
        raise unsupported("makes a histogram of no elements")
    edges = _edges(e, x, bins, range) if isinstance(bins, int) else bins
    number = shape_of(edges)[0] - 1
    flat = e.reshape(x, (count,))
    ends = [e.broadcast(e.reshape(e.slice(edges, 0, i, i + 1), ()), (count,)) for i in (0, number)]
    bucket = e.subtract(positions(e, edges, flat, right=True), e.full(1, (count,), I64))
    bucket = e.binary("stablehlo.minimum", bucket, e.full(number - 1, (count,), I64))
    inside = e.both(e.compare("GE", flat, ends[0]), e.compare("LE", flat, ends[1]))
    bucket = e.select(inside, bucket, e.full(number, (count,), I64))
    weights = e.full(1, (count,), type) if weight is None else e.reshape(weight, (count,))
    sums = scatter_along(e, "stablehlo.add", e.full(0, (number,), type), 0, bucket, weights)
    if density:
        widths = e.subtract(e.slice(edges, 0, 1, number + 1), e.slice(edges, 0, 0, number))
        total = e.broadcast(e.reduce("stablehlo.add", sums, [0]), (number,))
        sums = e.divide(e.divide(sums, total), widths)
    return [sums, edges]


def _edges(e: Emitter, x: Value, bins: int, range: list[float] | None) -> Value:
    """Equidistant edges of intervals."""
    low, high = range or (0.0, 0.0)
    type, shape = element_type(x), (bins + 1,)
    first, last = (e.broadcast(each, shape) for each in _range(e, x, low, high, 0.5))
    index = e.convert(e.iota(shape, 0, I32), type)
    step = e.divide(e.subtract(last, first), e.full(bins, shape, type))
    # PyTorch counts from the nearer end.
    from_last = e.subtract(last, e.multiply(e.subtract(e.full(bins, shape, type), index), step))
    is_low = e.compare("LT", index, e.full((bins + 1) // 2, shape, type))
    return e.select(is_low, e.add(first, e.multiply(index, step)), from_last)
