"""Sorts and selections of PyTorch: NaN is the largest value, and equal values keep their order."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....types import TensorType
from ...ir import Value
from .emitter import I1, I32, I64, Emitter, element_type, is_float, positive, shape_of
from .table import NodeEmitter, converts


def sort_with_indices(e: Emitter, x: Value, dim: int, *, descending: bool) -> tuple[Value, Value]:
    """The sorted values along a dimension, and their former positions."""
    shape, type = shape_of(x), element_type(x)
    direction = "GT" if descending else "LT"

    def comparator(inner: Emitter, arguments: Sequence[Value]) -> Sequence[Value]:
        a, b = arguments[:2]
        if not is_float(type):
            return [inner.compare(direction, a, b)]
        ordered = [_canonical(inner, value) for value in (a, b)]
        return [inner.compare(direction, *ordered, total_order=True)]

    scalars = [TensorType((), t) for t in (type, type, I64, I64)]
    values, indices = e.create(
        "stablehlo.sort",
        [x, e.iota(shape, dim)],
        [TensorType(shape, type), TensorType(shape, I64)],
        [e.region(scalars, comparator)],
        dimension=dim,
        is_stable=True,
    )
    return values, indices


def _canonical(e: Emitter, x: Value) -> Value:
    """A value whose total order is PyTorch's order: one zero, and a NaN that is the largest value."""
    zero = e.like(x, 0)
    x = e.select(e.compare("EQ", x, zero), zero, x)
    return e.select(e.is_nan(x), e.like(x, math.nan), x)


@converts("aten.sort.default", "aten.sort.stable")
def sort(
    e: NodeEmitter, x: Value, dim: int = -1, descending: bool = False, *, stable: bool | None = None
) -> list[Value]:
    if not shape_of(x):
        return [x, e.full(0, (), I64)]
    return list(sort_with_indices(e, x, positive(dim, len(shape_of(x))), descending=descending))


@converts("aten.argsort.stable", "aten.argsort.default")
def argsort(
    e: NodeEmitter, x: Value, dim: int = -1, descending: bool = False, *, stable: bool | None = None
) -> Value:
    return sort(e, x, dim, descending)[1]


@converts("aten.topk.default")
def topk(
    e: NodeEmitter, x: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> list[Value]:
    if not shape_of(x):
        return [e.reshape(x, e.type.shape), e.full(0, e.type.shape, I64)]
    dim = positive(dim, len(shape_of(x)))
    if not largest or element_type(x) is I1:
        results = sort_with_indices(e, x, dim, descending=largest)
        return [e.slice(value, dim, 0, k) for value in results]
    last = len(shape_of(x)) - 1
    order = list(range(last + 1))
    order[dim], order[last] = last, dim
    moved = e.transpose(x, order)
    if is_float(element_type(x)):
        moved = e.select(e.is_nan(moved), e.like(moved, math.nan), moved)
    shape = (*shape_of(moved)[:-1], k)
    types = [TensorType(shape, element_type(x)), TensorType(shape, I32)]
    values, indices = e.create("chlo.top_k", [moved], types, k=k)
    return [e.transpose(values, order), e.convert(e.transpose(indices, order), I64)]


@converts("aten.kthvalue.default")
def kthvalue(e: NodeEmitter, x: Value, k: int, dim: int = -1, keepdim: bool = False) -> list[Value]:
    results = sort(e, x, dim)
    if shape_of(x):
        dim = positive(dim, len(shape_of(x)))
        results = [e.slice(value, dim, k - 1, k) for value in results]
    return [e.reshape(value, type.shape) for value, type in zip(results, e.types, strict=True) if type]


@converts("aten.median.default")
def median_of_all(e: NodeEmitter, x: Value) -> Value:
    return median(e, e.reshape(x, (math.prod(shape_of(x)),)), 0)[0]


@converts("aten.median.dim")
def median(e: NodeEmitter, x: Value, dim: int, keepdim: bool = False) -> list[Value]:
    size = shape_of(x)[dim] if shape_of(x) else 1
    values, indices = kthvalue(e, x, (size + 1) // 2, dim)
    if not is_float(element_type(x)) or not shape_of(x):
        return [values, indices]
    # A NaN is the median: the last one of those that sort as the largest.
    last = kthvalue(e, x, size, dim)
    has_nan = e.is_nan(last[0])
    return [e.select(has_nan, last[0], values), e.select(has_nan, last[1], indices)]
