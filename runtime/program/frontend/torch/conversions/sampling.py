"""Samples of images at positions of a grid, their gradients, and interpolation with antialiasing.

Source: PyTorch, ``torch.nn.functional.grid_sample`` and ``interpolate``.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from .....kernels.named_tuples import NamedTuple
from .....types import Array
from ....ir import Value
from ..emitter import I1, I64, Emitter, element_type, shape_of, wider
from ..table import NodeEmitter, converts, unsupported
from .resampling import resampled

_INTERPOLATIONS: Final = ("bilinear", "nearest", "bicubic")
_BILINEAR, _NEAREST, _ = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)
"""PyTorch's numbers of interpolations and of paddings."""


class _Source(NamedTuple):
    """A coordinate of each sample, in elements of the image, and its derivative by the grid's number."""

    coordinate: Value
    derivative: Value


def _source(e: Emitter, grid: Value, size: int, padding: int, align_corners: bool) -> _Source:
    factor = (size - 1) / 2 if align_corners else size / 2
    shift = factor - (0 if align_corners else 0.5)
    coordinate = e.add(e.multiply(grid, e.like(grid, factor)), e.like(grid, shift))
    source = _Source(coordinate, e.like(grid, factor))
    if padding == _REFLECTION:
        source = _reflected(e, source, size, align_corners)
    if padding in (_BORDER, _REFLECTION):
        zero, last = e.like(grid, 0), e.like(grid, size - 1)
        inside = e.both(e.compare("GT", source.coordinate, zero), e.compare("LT", source.coordinate, last))
        clipped = e.binary("stablehlo.minimum", e.binary("stablehlo.maximum", source.coordinate, zero), last)
        source = _Source(clipped, e.select(inside, source.derivative, zero))
    return source


def _reflected(e: Emitter, source: _Source, size: int, align_corners: bool) -> _Source:
    """Coordinates reflected at the centres, or at the outer edges, of the first and the last element."""
    low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
    x, derivative = source
    zero = e.like(x, 0)
    if span == 0:
        return _Source(zero, zero)
    distance = e.subtract(x, e.like(x, low))
    is_below = e.compare("LT", distance, zero)
    distance = e.unary("stablehlo.abs", distance)
    extra = e.binary("stablehlo.remainder", distance, e.like(x, span))
    flips = e.unary("stablehlo.floor", e.divide(distance, e.like(x, span)))
    is_odd = e.compare("NE", e.binary("stablehlo.remainder", flips, e.like(x, 2)), zero)
    folded = e.add(e.select(is_odd, e.subtract(e.like(x, span), extra), extra), e.like(x, low))
    is_opposite = e.compare("NE", is_below, is_odd)
    return _Source(folded, e.select(is_opposite, e.unary("stablehlo.negate", derivative), derivative))


class _Corner(NamedTuple):
    """One of the elements that a sample reads.

    Attributes:
        element: its position in the plane, within the bounds.
        is_inside: whether it is an element of the image.
        weights: the weight along each dimension.
        signs: 1 or -1 for each dimension: how the weight changes with the coordinate.
    """

    element: Value
    is_inside: Value
    weights: list[Value]
    signs: list[int]


def _corners(e: Emitter, sources: Sequence[_Source], spatial: Sequence[int], mode: int) -> Iterator[_Corner]:
    rounding = "stablehlo.round_nearest_even" if mode == _NEAREST else "stablehlo.floor"
    firsts = [e.unary(rounding, source.coordinate) for source in sources]
    one = e.like(firsts[0], 1)
    choices = [(0,)] * len(sources) if mode == _NEAREST else [(0, 1)] * len(sources)
    for offsets in itertools.product(*choices):
        index = e.full(0, shape_of(one), I64)
        is_inside, weights = e.full(True, shape_of(one), I1), []
        for source, first, offset, size in zip(sources, firsts, offsets, spatial, strict=True):
            element = e.add(first, one) if offset else first
            zero, last = e.like(element, 0), e.like(element, size - 1)
            within = e.both(e.compare("GE", element, zero), e.compare("LE", element, last))
            is_inside = e.both(is_inside, within)
            # A coordinate that is not a number reads the first element.
            integer = e.convert(e.select(within, element, zero), I64)
            index = e.add(e.multiply(index, e.like(index, size)), integer)
            fraction = e.subtract(source.coordinate, first)
            weights.append(one if mode == _NEAREST else fraction if offset else e.subtract(one, fraction))
        yield _Corner(index, is_inside, weights, [1 if offset else -1 for offset in offsets])


def _elements(e: Emitter, planes: Value, index: Value) -> Value:
    """The elements of [N, C, S] at positions [N, P], as [N, C, P]."""
    (batch, channels, _), (_, count) = shape_of(planes), shape_of(index)
    return e.one(
        "stablehlo.gather",
        [planes, e.reshape(index, (batch, count, 1))],
        (batch, channels, count),
        element_type(planes),
        offset_dims=(1,),
        collapsed_slice_dims=(2,),
        operand_batching_dims=(0,),
        start_indices_batching_dims=(0,),
        start_index_map=(2,),
        index_vector_dim=2,
        slice_sizes=(1, channels, 1),
    )


def _added(e: Emitter, planes: Value, index: Value, updates: Value) -> Value:
    """[N, C, S] with updates [N, C, P] added at positions [N, P]."""
    (batch, _, _), (_, count) = shape_of(planes), shape_of(index)
    return e.one(
        "stablehlo.scatter",
        [planes, e.reshape(index, (batch, count, 1)), updates],
        shape_of(planes),
        element_type(planes),
        [e.combiner("stablehlo.add", element_type(planes))],
        update_window_dims=(1,),
        inserted_window_dims=(2,),
        input_batching_dims=(0,),
        scatter_indices_batching_dims=(0,),
        scatter_dims_to_operand_dims=(2,),
        index_vector_dim=2,
    )


class _Samples:
    """The samples of images [N, C, ...] at the positions of a grid [N, ..., coordinates].

    Narrow floats are computed in f32, as sums are, so that positions are as exact as the grid.

    Attributes:
        type: the type in which samples are computed.
        planes: the images as [N, C, S].
        sources: the coordinates by dimension, each [N, P]; the grid has them in reverse order.
        corners: the elements that each sample reads.
    """

    def __init__(
        self, e: Emitter, x: Value, grid: Value, mode: int, padding: int, align_corners: bool
    ) -> None:
        batch, channels, *spatial = shape_of(x)
        rank = len(spatial)
        if mode not in (_BILINEAR, _NEAREST):
            raise unsupported(f"the interpolation {_INTERPOLATIONS[mode]} is not supported")
        self.type = wider(element_type(x))
        self.planes = e.convert(e.reshape(x, (batch, channels, math.prod(spatial))), self.type)
        rows = e.reshape(grid, (batch, math.prod(shape_of(grid)[1:-1]), rank))
        rows = e.convert(rows, self.type)
        self.shape = shape_of(rows)[:2]
        columns = [e.reshape(e.slice(rows, 2, d, d + 1), self.shape) for d in range(rank)][::-1]
        self.sources = [
            _source(e, column, size, padding, align_corners)
            for column, size in zip(columns, spatial, strict=True)
        ]
        self.corners = list(_corners(e, self.sources, spatial, mode))

    def over_channels(self, e: Emitter, x: Value) -> Value:
        """One value for each sample, [N, P], for all channels."""
        shape = (*shape_of(self.planes)[:2], self.shape[1])
        return e.broadcast_in_dim(x, shape, [0, 2])

    def weight(self, e: Emitter, corner: _Corner, *, without: int | None = None) -> Value:
        """The product of a corner's weights, 0 outside of the image."""
        used = [weight for dim, weight in enumerate(corner.weights) if dim != without]
        product = functools.reduce(e.multiply, used) if used else e.like(corner.weights[0], 1)
        return e.select(corner.is_inside, product, e.like(product, 0))


@converts("aten.grid_sampler_3d.default")
def grid_sampler(
    e: NodeEmitter, x: Value, grid: Value, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Value:
    samples = _Samples(e, x, grid, interpolation_mode, padding_mode, align_corners)
    result = None
    for corner in samples.corners:
        weight = samples.over_channels(e, samples.weight(e, corner))
        term = e.multiply(_elements(e, samples.planes, corner.element), weight)
        result = term if result is None else e.add(result, term)
    assert result is not None
    return e.finish(result)


@converts("aten.grid_sampler_2d_backward.default", "aten.grid_sampler_3d_backward.default")
def grid_sampler_backward(
    e: NodeEmitter,
    gradient: Value,
    x: Value,
    grid: Value,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> list[Value | None]:
    """The gradients of the images and of the grid, of which the mask says which are wanted."""
    samples = _Samples(e, x, grid, interpolation_mode, padding_mode, align_corners)
    rank = len(samples.sources)
    updates = e.reshape(gradient, (*shape_of(samples.planes)[:2], samples.shape[1]))
    updates = e.convert(updates, samples.type)
    of_planes = e.like(samples.planes, 0)
    of_coordinates = [e.full(0, samples.shape, samples.type) for _ in range(rank)]
    for corner in samples.corners:
        weight = samples.over_channels(e, samples.weight(e, corner))
        of_planes = _added(e, of_planes, corner.element, e.multiply(updates, weight))
        products = e.multiply(updates, _elements(e, samples.planes, corner.element))
        summed = e.reduce("stablehlo.add", products, [1])
        for dim in range(rank if interpolation_mode == _BILINEAR else 0):
            change = e.multiply(summed, samples.weight(e, corner, without=dim))
            combine = e.add if corner.signs[dim] > 0 else e.subtract
            of_coordinates[dim] = combine(of_coordinates[dim], change)
    columns = [
        e.reshape(e.multiply(each, source.derivative), (*samples.shape, 1))
        for each, source in zip(of_coordinates, samples.sources, strict=True)
    ]
    results = (e.reshape(of_planes, shape_of(x)), e.reshape(e.concatenate(columns[::-1], 2), shape_of(grid)))
    return [
        e.convert(value, element_type(x)) if wanted else None
        for value, wanted in zip(results, output_mask, strict=True)
    ]


# Interpolation with antialiasing


def _triangle_filter(t: Array) -> Array:
    weights: Array = np.maximum(1 - np.abs(t), 0)
    return weights


def _cubic_filter(t: Array) -> Array:
    """Cubic convolution with the coefficient -0.5."""
    t, a = np.abs(t), -0.5
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    weights: Array = np.where(t < 1, near, np.where(t < 2, far, 0))
    return weights


_FILTERS: Final[dict[str, tuple[Callable[[Array], Array], float]]] = {
    "bilinear": (_triangle_filter, 1.0),
    "bicubic": (_cubic_filter, 2.0),
}
"""The filter of an interpolation, and the distance beyond which it is 0."""


def antialiased_weights(size: int, result: int, align_corners: bool, scale: float | None, name: str) -> Array:
    """The weights of the operand's elements, widened where the result is smaller, normalized."""
    kernel, support = _FILTERS[name]
    if align_corners:
        ratio = (size - 1) / (result - 1) if result > 1 else 0.0
    else:
        ratio = 1 / scale if scale else size / result
    width = max(ratio, 1.0)
    matrix = np.zeros((size, result))
    for index in range(result):
        center = ratio * (index + 0.5)
        start = max(int(center - support * width + 0.5), 0)
        limit = min(int(center + support * width + 0.5), size)
        weights = kernel((np.arange(start, limit) - center + 0.5) / width)
        total = weights.sum()
        matrix[start:limit, index] = weights / total if total else weights
    return matrix


def _antialiased(name: str, *, backward: bool) -> Any:
    def convert(e: NodeEmitter, x: Value, output_size: Sequence[int], *rest: Any) -> Value:
        input_size, align_corners, *scales = rest if backward else (shape_of(x), *rest)
        sizes = zip(input_size[2:], output_size, scales or [None] * len(output_size), strict=True)
        matrices = [antialiased_weights(n, m, align_corners, scale, name) for n, m, scale in sizes]
        return resampled(e, x, [matrix.T for matrix in matrices] if backward else matrices)

    return convert


for _name in _FILTERS:
    converts(f"aten._upsample_{_name}2d_aa.default")(_antialiased(_name, backward=False))
    converts(f"aten._upsample_{_name}2d_aa_backward.default")(_antialiased(_name, backward=True))
