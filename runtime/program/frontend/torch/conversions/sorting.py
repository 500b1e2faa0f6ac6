"""Sorts and selections of PyTorch: NaN is the largest value, and equal values keep their order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from .....types import TensorType
from ....ir import Value
from ..emitter import I1, I32, I64, Emitter, element_type, is_float, positive, shape_of
from ..table import NodeEmitter, converts, unsupported
from .indexing import take_along


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


def _at_position(e: Emitter, x: Value, dim: int, position: int) -> list[Value]:
    """The element at a position of the sorted values along a dimension, and its index; both without it."""
    if not shape_of(x):
        return [x, e.full(0, (), I64)]
    shape, dim = shape_of(x), positive(dim, len(shape_of(x)))
    rest = shape[:dim] + shape[dim + 1 :]
    results = sort_with_indices(e, x, dim, descending=False)
    return [e.reshape(e.slice(each, dim, position, position + 1), rest) for each in results]


def _median(e: Emitter, x: Value, dim: int) -> list[Value]:
    """The lower one of two medians, and its index. A NaN is the median: the last one in the order."""
    size = shape_of(x)[dim] if shape_of(x) else 1
    middle = _at_position(e, x, dim, (size - 1) // 2)
    if not is_float(element_type(x)) or not shape_of(x):
        return middle
    last = _at_position(e, x, dim, size - 1)
    has_nan = e.is_nan(last[0])
    return [e.select(has_nan, *pair) for pair in zip(last, middle, strict=True)]


def _nanmedian(e: Emitter, x: Value, dim: int) -> list[Value]:
    """The median of the values other than NaN, which sort as the largest."""
    if not is_float(element_type(x)) or not shape_of(x):
        return _median(e, x, dim)
    shape, dim = shape_of(x), positive(dim, len(shape_of(x)))
    counts = e.reduce("stablehlo.add", e.convert(e.negated(e.is_nan(x)), I64), [dim], keep=True)
    one = e.like(counts, 1)
    before = e.binary("stablehlo.maximum", e.subtract(counts, one), e.like(counts, 0))
    middle = e.binary("stablehlo.shift_right_logical", before, one)
    results = sort_with_indices(e, x, dim, descending=False)
    return [e.reshape(take_along(e, each, dim, middle), shape[:dim] + shape[dim + 1 :]) for each in results]


@converts("aten.kthvalue.default")
def kthvalue(e: NodeEmitter, x: Value, k: int, dim: int = -1, keepdim: bool = False) -> list[Value]:
    return e.reshaped(_at_position(e, x, dim, k - 1))


def _of_all(along: Callable[[Emitter, Value, int], list[Value]]) -> Any:
    def convert(e: NodeEmitter, x: Value) -> Value:
        count, type = math.prod(shape_of(x)), element_type(x)
        if not count and not is_float(type):
            raise unsupported(f"the median of no elements of {type} is undefined")
        return along(e, e.reshape(x, (count,)), 0)[0] if count else e.full(math.nan, (), type)

    return convert


def _of_dim(along: Callable[[Emitter, Value, int], list[Value]]) -> Any:
    def convert(e: NodeEmitter, x: Value, dim: int, keepdim: bool = False) -> list[Value]:
        return e.reshaped(along(e, x, dim))

    return convert


for _name, _function in {"median": _median, "nanmedian": _nanmedian}.items():
    converts(f"aten.{_name}.default")(_of_all(_function))
    converts(f"aten.{_name}.dim")(_of_dim(_function))
