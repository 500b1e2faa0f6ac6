"""Reductions and scans of PyTorch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from .....types import ELEMENT_TYPES, TensorType
from ....ir import Value
from ..emitter import I1, I64, Emitter, Number, element_type, is_complex, is_float, positive, shape_of, wider
from ..table import NodeEmitter, converts

Dims = Sequence[int] | int | None


def dims_of(x: Value, dim: Dims) -> list[int]:
    """The reduced dimensions, counted from the start; None and an empty list stand for all."""
    rank = len(shape_of(x))
    if isinstance(dim, int):
        dim = [dim]
    if not dim:
        return list(range(rank))
    return sorted({positive(each, rank) for each in dim} & set(range(rank)))


def total(e: Emitter, x: Value, dims: Sequence[int], *, keep: bool = False) -> Value:
    """The sum along dimensions, in the type of the value."""
    name = "stablehlo.or" if element_type(x) is I1 else "stablehlo.add"
    return e.reduce(name, x, dims, keep=keep)


@converts("aten.sum.default", "aten.sum.dim_IntList")
def sum(e: NodeEmitter, x: Value, dim: Dims = None, keepdim: bool = False, **options: object) -> Value:
    x = e.convert(x, wider(e.element))
    return e.finish(total(e, x, dims_of(x, dim)))


@converts("prims.sum.default")
def prims_sum(e: NodeEmitter, x: Value, dims: Dims, **options: object) -> Value:
    return sum(e, x, dims)


@converts("aten.mean.default", "aten.mean.dim")
def mean(e: NodeEmitter, x: Value, dim: Dims = None, keepdim: bool = False, **options: object) -> Value:
    x = e.convert(x, wider(e.element))
    dims = dims_of(x, dim)
    summed = total(e, x, dims)
    count = math.prod(shape_of(x)[d] for d in dims)
    return e.finish(e.divide(summed, e.like(summed, count)))


@converts("aten.prod.default", "aten.prod.dim_int")
def prod(e: NodeEmitter, x: Value, dim: Dims = None, keepdim: bool = False, **options: object) -> Value:
    x = e.convert(x, wider(e.element))
    name = "stablehlo.and" if e.element is I1 else "stablehlo.multiply"
    return e.finish(e.reduce(name, x, dims_of(x, dim)))


def _extreme(target: str) -> Any:
    def convert(e: NodeEmitter, x: Value, dim: Dims = None, keepdim: bool = False) -> Value:
        return e.finish(e.reduce(target, x, dims_of(x, dim)))

    return convert


converts("aten.amax.default", "aten.max.default")(_extreme("stablehlo.maximum"))
converts("aten.amin.default", "aten.min.default")(_extreme("stablehlo.minimum"))


def _of_truth(target: str) -> Any:
    def convert(e: NodeEmitter, x: Value, dim: Dims = None, keepdim: bool = False) -> Value:
        return e.finish(e.reduce(target, e.convert(x, I1), dims_of(x, dim)))

    return convert


converts("aten.any.default", "aten.any.dim", "aten.any.dims")(_of_truth("stablehlo.or"))
converts("aten.all.default", "aten.all.dim", "aten.all.dims")(_of_truth("stablehlo.and"))


def variance_and_mean(e: Emitter, x: Value, dims: Sequence[int], correction: Number) -> tuple[Value, Value]:
    """The variance and the mean along dimensions, which stay with size 1."""
    count = math.prod(shape_of(x)[d] for d in dims)
    summed = total(e, x, dims, keep=True)
    average = e.divide(summed, e.like(summed, count))
    deviation = e.subtract(x, e.broadcast(average, shape_of(x)))
    if is_complex(element_type(x)):
        squares = e.multiply(deviation, e.unary("chlo.conj", deviation))
        real = ELEMENT_TYPES["f32" if element_type(x).width == 64 else "f64"]
        squares = e.convert(squares, real)
    else:
        squares = e.multiply(deviation, deviation)
    square_sum = total(e, squares, dims, keep=True)
    divisor = max(float(count) - float(correction.real), 0.0)
    return e.divide(square_sum, e.like(square_sum, divisor)), average


def _moments(e: NodeEmitter, x: Value, dim: Dims, correction: Number | None) -> tuple[Value, Value]:
    x = e.convert(x, wider(element_type(x)))
    return variance_and_mean(e, x, dims_of(x, dim), 1 if correction is None else correction)


@converts("aten.var.correction", "prims.var.default")
def var(
    e: NodeEmitter,
    x: Value,
    dim: Dims = None,
    correction: Number | None = None,
    *,
    keepdim: bool = False,
    output_dtype: object = None,
) -> Value:
    return e.finish(_moments(e, x, dim, correction)[0])


@converts("aten.var.dim", "aten.var.default")
def var_dim(e: NodeEmitter, x: Value, dim: Any = None, unbiased: bool = True, keepdim: bool = False) -> Value:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return e.finish(_moments(e, x, dim, int(unbiased))[0])


@converts("aten.std.correction")
def std(
    e: NodeEmitter, x: Value, dim: Dims = None, *, correction: Number | None = None, keepdim: bool = False
) -> Value:
    return e.finish(e.unary("stablehlo.sqrt", _moments(e, x, dim, correction)[0]))


@converts("aten.var_mean.correction")
def var_mean(
    e: NodeEmitter, x: Value, dim: Dims = None, *, correction: Number | None = None, keepdim: bool = False
) -> list[Value]:
    results = _moments(e, x, dim, correction)
    typed = zip(results, e.types, strict=True)
    return [e.reshape(e.convert(value, type.plain_element_type), type.shape) for value, type in typed if type]


def extreme_with_index(
    e: Emitter, x: Value, dim: int, direction: str, *, index: Value | None = None
) -> tuple[Value, Value]:
    """The extreme along a dimension, and the position of the first one; NaN counts as extreme.

    Args:
        e: appends the operations.
        x: at least of rank 1.
        dim: counted from the start.
        direction: ``"GT"`` for the maximum, ``"LT"`` for the minimum.
        index: the position of each element; None: its index along `dim`.
    """
    type = element_type(x)
    counted = e.iota(shape_of(x), dim) if index is None else index
    shape = [size for d, size in enumerate(shape_of(x)) if d != dim]
    initial = [e.extreme(type, is_minimum=direction == "GT"), e.full(0, (), I64)]
    values, indices = e.create(
        "stablehlo.reduce",
        [x, counted, *initial],
        [TensorType(shape, type), TensorType(shape, I64)],
        [e.region([TensorType((), t) for t in (type, I64, type, I64)], picker(direction))],
        dimensions=(dim,),
    )
    return values, indices


def picker(direction: str) -> Any:
    """The body that chooses among two values with their positions; of equal ones, the first position."""

    def body(e: Emitter, arguments: Sequence[Value]) -> Sequence[Value]:
        x, i, y, j = arguments
        better = e.compare(direction, x, y)
        if is_float(element_type(x)):
            better = e.either(better, e.is_nan(x))
        first = e.both(e.compare("EQ", x, y), e.compare("LT", i, j))
        return [e.select(better, x, y), e.select(e.either(better, first), i, j)]

    return body


_DIRECTIONS: Final = {"max": "GT", "min": "LT"}


def _with_index(direction: str) -> Any:
    def convert(e: NodeEmitter, x: Value, dim: int, keepdim: bool = False) -> list[Value]:
        if not shape_of(x):
            return [x, e.full(0, (), I64)]
        results = extreme_with_index(e, x, positive(dim, len(shape_of(x))), direction)
        return e.reshaped(results)

    return convert


def _index(direction: str) -> Any:
    def convert(e: NodeEmitter, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
        if dim is None or not shape_of(x):
            x, dim = e.reshape(x, (math.prod(shape_of(x)),)), 0
        return e.finish(extreme_with_index(e, x, positive(dim, len(shape_of(x))), direction)[1])

    return convert


for _name, _direction in _DIRECTIONS.items():
    converts(f"aten.{_name}.dim")(_with_index(_direction))
    converts(f"aten.arg{_name}.default")(_index(_direction))


def windows_before(rank: int, dim: int, size: int) -> dict[str, Any]:
    """The attributes of windows that hold an element and all before it along a dimension."""
    return {
        "window_dimensions": tuple([size if d == dim else 1 for d in range(rank)]),
        "padding": tuple([(size - 1, 0) if d == dim else (0, 0) for d in range(rank)]),
    }


def cumulative(e: Emitter, name: str, x: Value, dim: int) -> Value:
    """Each element combined with all before it along a dimension."""
    sizes, type = shape_of(x), element_type(x)
    if not sizes or not math.prod(sizes):
        return x
    dim = positive(dim, len(sizes))
    operands = [x, e.initial(name, type)]
    attributes = windows_before(len(sizes), dim, sizes[dim])
    return e.one("stablehlo.reduce_window", operands, sizes, type, [e.combiner(name, type)], **attributes)


@converts("aten.cumsum.default")
def cumsum(e: NodeEmitter, x: Value, dim: int, **options: object) -> Value:
    return e.finish(cumulative(e, "stablehlo.add", e.convert(x, wider(e.element)), dim))


@converts("aten.cumprod.default")
def cumprod(e: NodeEmitter, x: Value, dim: int, **options: object) -> Value:
    return e.finish(cumulative(e, "stablehlo.multiply", e.convert(x, wider(e.element)), dim))


def _running_extreme(direction: str) -> Any:
    """The extreme of all elements up to each one, and the position of the last of equal ones."""

    def body(e: Emitter, arguments: Sequence[Value]) -> Sequence[Value]:
        x, i, y, j = arguments
        later = e.either(e.compare("EQ", x, y), e.both(e.is_nan(x), e.is_nan(y)))
        better = e.either(e.compare(direction, x, y), e.both(e.is_nan(x), e.negated(e.is_nan(y))))
        takes = e.either(better, e.both(later, e.compare("GT", i, j)))
        return [e.select(takes, x, y), e.select(takes, i, j)]

    def convert(e: NodeEmitter, x: Value, dim: int) -> list[Value]:
        sizes, type = shape_of(x), element_type(x)
        if not sizes or not math.prod(sizes):
            return [x, e.full(0, sizes, I64)]
        dim = positive(dim, len(sizes))
        scalars = [TensorType((), t) for t in (type, I64, type, I64)]
        initial = [e.extreme(type, is_minimum=direction == "GT"), e.full(-1, (), I64)]
        return list(
            e.create(
                "stablehlo.reduce_window",
                [x, e.iota(sizes, dim), *initial],
                [TensorType(sizes, type), TensorType(sizes, I64)],
                [e.region(scalars, body)],
                **windows_before(len(sizes), dim, sizes[dim]),
            )
        )

    return convert


converts("aten.cummax.default")(_running_extreme("GT"))
converts("aten.cummin.default")(_running_extreme("LT"))


@converts("aten.count_nonzero.default", "aten.count_nonzero.dim_IntList")
def count_nonzero(e: NodeEmitter, x: Value, dim: Dims = None) -> Value:
    counted = e.convert(e.convert(x, I1), I64)
    return e.finish(total(e, counted, dims_of(x, dim)))


@converts("aten._weight_norm_interface_backward.default")
def weight_norm_backward(
    e: NodeEmitter, gradient: Value, v: Value, g: Value, norms: Value, dim: int
) -> list[Value]:
    """The gradients of a direction and of a length, from that of ``v * g / norm(v)``."""
    type, shape = wider(element_type(v)), shape_of(v)
    gradient, v, g, norms = (e.convert(each, type) for each in (gradient, v, g, norms))
    dims = [d for d in range(len(shape)) if d != positive(dim, len(shape))]
    product = total(e, e.multiply(gradient, v), dims, keep=True)
    length, norm = (e.reshape(each, shape_of(product)) for each in (g, norms))
    of_length = e.divide(product, norm)
    along = e.multiply(v, e.broadcast(e.divide(of_length, norm), shape))
    of_direction = e.multiply(e.broadcast(e.divide(length, norm), shape), e.subtract(gradient, along))
    return [
        e.convert(value, e.element_of(number))
        for number, value in enumerate((of_direction, e.reshape(of_length, shape_of(g))))
    ]
