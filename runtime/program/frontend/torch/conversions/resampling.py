"""Adaptive average pooling and the gradients of interpolations: products with a matrix along each dimension.

These operations are linear and separable. Element [i, o] of the matrix of a dimension is the weight of the
operand's index i in the result's index o; the gradient multiplies with the transposed matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .....types import Array
from ....ir import Value
from ..emitter import Emitter, element_type, shape_of, wider
from ..table import NodeEmitter, converts


def adaptive_weights(size: int, result: int) -> Array:
    """The averages over ``result`` windows that cover ``size`` elements."""
    weights = np.zeros((size, result))
    for index in range(result):
        start, limit = index * size // result, -(-(index + 1) * size // result)
        weights[start:limit, index] = 1 / (limit - start)
    return weights


def _sources(size: int, result: int, align_corners: bool, scale: float | None) -> Array:
    """The position in the operand of each element of the result."""
    index = np.arange(result)
    if align_corners:
        return index * ((size - 1) / (result - 1) if result > 1 else 0.0)
    return (index + 0.5) * (1 / scale if scale else size / result) - 0.5


def _add_weights(size: int, positions: Array, weights: Array, matrix: Array) -> None:
    """Add the weight of each result to the operand's position, clamped to the bounds."""
    np.add.at(matrix, (np.clip(positions, 0, size - 1), np.arange(matrix.shape[1])), weights)


def linear_weights(size: int, result: int, align_corners: bool, scale: float | None) -> Array:
    source = np.maximum(_sources(size, result, align_corners, scale), 0)
    first = np.floor(source).astype(np.int64)
    matrix = np.zeros((size, result))
    _add_weights(size, first, 1 - (source - first), matrix)
    _add_weights(size, first + 1, source - first, matrix)
    return matrix


def cubic_weights(size: int, result: int, align_corners: bool, scale: float | None) -> Array:
    """Cubic convolution with the coefficient -0.75, as PyTorch has it."""
    source = _sources(size, result, align_corners, scale)
    first = np.floor(source).astype(np.int64)
    matrix, a = np.zeros((size, result)), -0.75
    for offset in (-1, 0, 1, 2):
        t = np.abs(source - (first + offset))
        near = ((a + 2) * t - (a + 3)) * t * t + 1
        far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
        _add_weights(size, first + offset, np.where(t <= 1, near, far), matrix)
    return matrix


def nearest_weights(size: int, result: int, scale: float | None, *, exact: bool) -> Array:
    ratio = np.float32(1 / scale if scale else size / result)
    index = np.arange(result, dtype=np.float32) + np.float32(0.5 if exact else 0)
    matrix = np.zeros((size, result))
    _add_weights(size, np.floor(index * ratio).astype(np.int64), np.ones(result), matrix)
    return matrix


def _along(e: Emitter, x: Value, dim: int, matrix: Array) -> Value:
    """The product with a matrix [size, result] along a dimension."""
    weights = e.dense(matrix.astype(element_type(x).dtype), element_type(x))
    product = e.dot(x, weights, ([dim], [0]))
    last = len(shape_of(x)) - 1
    order = [d if d < dim else d - 1 for d in range(last + 1)]
    order[dim] = last
    return e.transpose(product, order)


def resampled(e: NodeEmitter, x: Value, matrices: Sequence[Array]) -> Value:
    """The value multiplied by a matrix along each of its last dimensions."""
    wide = e.convert(x, wider(element_type(x)))
    outer = len(shape_of(x)) - len(matrices)
    for number, matrix in enumerate(matrices):
        wide = _along(e, wide, outer + number, matrix)
    return e.finish(wide)


@converts("aten._adaptive_avg_pool2d.default", "aten._adaptive_avg_pool3d.default")
def adaptive_avg_pool(e: NodeEmitter, x: Value, output_size: Sequence[int]) -> Value:
    sizes = shape_of(x)[-len(output_size) :]
    return resampled(e, x, [adaptive_weights(*pair) for pair in zip(sizes, output_size, strict=True)])


def _adaptive_backward(rank: int) -> Any:
    def convert(e: NodeEmitter, gradient: Value, x: Value) -> Value:
        pairs = zip(shape_of(x)[-rank:], shape_of(gradient)[-rank:], strict=True)
        return resampled(e, gradient, [adaptive_weights(*pair).T for pair in pairs])

    return convert


for _rank in (2, 3):
    converts(f"aten._adaptive_avg_pool{_rank}d_backward.default")(_adaptive_backward(_rank))

Weights = Callable[[int, int, float | None], Array]


def _backward(
    e: NodeEmitter, gradient: Value, input_size: Sequence[int], scales: Any, weights: Weights
) -> Value:
    """The gradient of an interpolation, from the weights of (size, result's size, scale)."""
    sizes = zip(input_size[2:], shape_of(gradient)[2:], scales or [None] * len(input_size[2:]), strict=True)
    return resampled(e, gradient, [weights(*each).T for each in sizes])


def _smooth_backward(weights: Callable[[int, int, bool, float | None], Array]) -> Any:
    def convert(
        e: NodeEmitter,
        gradient: Value,
        output_size: object,
        input_size: Sequence[int],
        align_corners: bool,
        *scales: float | None,
    ) -> Value:
        def of_dimension(size: int, result: int, scale: float | None) -> Array:
            return weights(size, result, align_corners, scale)

        return _backward(e, gradient, input_size, scales, of_dimension)

    return convert


for _name in ("linear1d", "bilinear2d", "trilinear3d"):
    converts(f"aten.upsample_{_name}_backward.default")(_smooth_backward(linear_weights))
converts("aten.upsample_bicubic2d_backward.default")(_smooth_backward(cubic_weights))


def _nearest_backward(*, exact: bool) -> Any:
    def convert(
        e: NodeEmitter,
        gradient: Value,
        output_size: object,
        input_size: Sequence[int],
        *scales: float | None,
    ) -> Value:
        def of_dimension(size: int, result: int, scale: float | None) -> Array:
            return nearest_weights(size, result, scale, exact=exact)

        return _backward(e, gradient, input_size, scales, of_dimension)

    return convert


for _rank in (1, 2, 3):
    converts(f"aten.upsample_nearest{_rank}d_backward.default")(_nearest_backward(exact=False))
    converts(f"aten._upsample_nearest_exact{_rank}d_backward.default")(_nearest_backward(exact=True))
