"""Pooling of PyTorch, and its gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .....kernels.named_tuples import NamedTuple
from .....types import Array, TensorType
from ....ir import Value
from ..emitter import I64, Emitter, Shape, element_type, shape_of, wider
from ..table import NodeEmitter, converts
from .convolutions import per_dim
from .reductions import picker
from .scatters import scatter_along


class Windows(NamedTuple):
    """The windows of a pooling over the last dimensions.

    Attributes:
        sizes, stride, padding, dilation: for each pooled dimension.
        spatial: the sizes of the pooled dimensions of the operand.
        results: those of the result.
    """

    sizes: Sequence[int]
    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    spatial: Shape
    results: Shape

    def attributes(self, rank: int) -> dict[str, Any]:
        """The attributes of a `reduce_window` over an operand of that rank."""
        outer = rank - len(self.sizes)
        high = []
        for n, k, s, p, d, m in zip(
            self.spatial, self.sizes, self.stride, self.padding, self.dilation, self.results, strict=True
        ):
            high.append((m - 1) * s + d * (k - 1) + 1 - n - p)
        return {
            "window_dimensions": (1,) * outer + tuple(self.sizes),
            "window_strides": (1,) * outer + tuple(self.stride),
            "window_dilations": (1,) * outer + tuple(self.dilation),
            "padding": ((0, 0),) * outer + tuple(zip(self.padding, high, strict=True)),
        }


def _windows(
    x: Shape,
    results: Shape,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    rank: int,
) -> Windows:
    sizes = per_dim(kernel_size, rank)
    strides = per_dim(stride, rank) if stride else sizes
    outer = len(x) - rank
    return Windows(
        sizes, strides, per_dim(padding, rank), per_dim(dilation, rank), x[outer:], results[outer:]
    )


def _max_pool(rank: int) -> Any:
    def convert(
        e: NodeEmitter,
        x: Value,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> list[Value]:
        windows = _windows(shape_of(x), e.type.shape, kernel_size, stride, padding, dilation, rank)
        attributes = windows.attributes(len(shape_of(x)))
        type = element_type(x)
        lowest = e.extreme(type, is_minimum=True)
        if 1 not in e.used:
            body = [e.combiner("stablehlo.maximum", type)]
            values = e.one("stablehlo.reduce_window", [x, lowest], e.type.shape, type, body, **attributes)
            return [values, e.full(0, e.type.shape, I64)]
        scalars = [TensorType((), t) for t in (type, I64, type, I64)]
        return list(
            e.create(
                "stablehlo.reduce_window",
                [x, _positions(e, shape_of(x), rank), lowest, e.full((1 << 63) - 1, (), I64)],
                [TensorType(e.type.shape, type), TensorType(e.type.shape, I64)],
                [e.region(scalars, picker("GT"))],
                **attributes,
            )
        )

    return convert


def _positions(e: Emitter, shape: Shape, rank: int) -> Value:
    """The number of each element among those of the pooled dimensions, in row-major order."""
    outer = len(shape) - rank
    count = math.prod(shape[outer:])
    numbers = e.reshape(e.iota((count,), 0), shape[outer:])
    return e.broadcast(numbers, shape)


for _rank in (1, 2, 3):
    converts(f"aten.max_pool{_rank}d_with_indices.default")(_max_pool(_rank))


def _max_pool_backward(rank: int) -> Any:
    def convert(e: NodeEmitter, gradient: Value, x: Value, *args: Any) -> Value:
        """The gradient of each maximum is added at its index, the last argument."""
        shape, indices = shape_of(x), args[-1]
        outer = shape[: len(shape) - rank]
        planes = [(*outer, math.prod(s[len(s) - rank :])) for s in (shape, shape_of(gradient))]
        zero = e.full(0, planes[0], element_type(gradient))
        updates, positions = (e.reshape(value, planes[1]) for value in (gradient, indices))
        return e.reshape(scatter_along(e, "stablehlo.add", zero, -1, positions, updates), shape)

    return convert


for _rank in (2, 3):
    converts(
        f"aten.max_pool{_rank}d_with_indices_backward.default",
        f"aten.adaptive_max_pool{_rank}d_backward.default",
        f"aten.fractional_max_pool{_rank}d_backward.default",
    )(_max_pool_backward(_rank))


def _divisors(windows: Windows, count_include_pad: bool, divisor_override: int | None) -> Array:
    """The number by which the sum of each window is divided, of the result's spatial shape."""
    counts: Array = np.ones(())
    for n, k, s, p, m in zip(
        windows.spatial, windows.sizes, windows.stride, windows.padding, windows.results, strict=True
    ):
        start = np.arange(m) * s - p
        low, high = (-p, n + p) if count_include_pad else (0, n)
        counts = np.multiply.outer(counts, np.minimum(start + k, high) - np.maximum(start, low))
    return np.full(counts.shape, divisor_override) if divisor_override else counts


def _divided(e: Emitter, x: Value, divisors: Array) -> Value:
    constant = e.dense(divisors.astype(element_type(x).dtype), element_type(x))
    if (divisors == divisors.flat[0]).all():
        return e.divide(x, e.like(x, divisors.flat[0].item()))
    return e.divide(x, e.broadcast(constant, shape_of(x)))


def _avg_pool(rank: int) -> Any:
    def convert(
        e: NodeEmitter,
        x: Value,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Value:
        windows = _windows(shape_of(x), e.type.shape, kernel_size, stride, padding, (1,), rank)
        x = e.convert(x, wider(element_type(x)))
        type = element_type(x)
        summed = e.one(
            "stablehlo.reduce_window",
            [x, e.full(0, (), type)],
            e.type.shape,
            type,
            [e.combiner("stablehlo.add", type)],
            **windows.attributes(len(shape_of(x))),
        )
        return e.finish(_divided(e, summed, _divisors(windows, count_include_pad, divisor_override)))

    return convert


for _rank in (1, 2, 3):
    converts(f"aten.avg_pool{_rank}d.default")(_avg_pool(_rank))


def _avg_pool_backward(rank: int) -> Any:
    def convert(
        e: NodeEmitter,
        gradient: Value,
        x: Value,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Value:
        """Each element gets the gradients of the windows that hold it: a sum over windows of these."""
        windows = _windows(shape_of(x), shape_of(gradient), kernel_size, stride, padding, (1,), rank)
        wide = e.convert(gradient, wider(element_type(gradient)))
        divided = _divided(e, wide, _divisors(windows, count_include_pad, divisor_override))
        type, outer = element_type(divided), len(shape_of(x)) - rank
        low, high = [0] * outer, [0] * outer
        for n, k, s, p, m in zip(
            windows.spatial, windows.sizes, windows.stride, windows.padding, windows.results, strict=True
        ):
            low.append(k - 1 - p)
            high.append(n + k - 1 - (k - 1 - p) - ((m - 1) * s + 1))
        interior = [0] * outer + [s - 1 for s in windows.stride]
        padded = e.pad(divided, e.full(0, (), type), low, high, interior)
        return e.finish(
            e.one(
                "stablehlo.reduce_window",
                [padded, e.full(0, (), type)],
                shape_of(x),
                type,
                [e.combiner("stablehlo.add", type)],
                window_dimensions=(1,) * outer + tuple(windows.sizes),
            )
        )

    return convert


for _rank in (2, 3):
    converts(f"aten.avg_pool{_rank}d_backward.default")(_avg_pool_backward(_rank))
