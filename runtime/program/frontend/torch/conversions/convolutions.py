"""Convolutions of PyTorch, and their gradients."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Final

from .....kernels.named_tuples import NamedTuple
from ....ir import Value
from ..emitter import Emitter, element_type, shape_of, wider
from ..table import NodeEmitter, converts
from .reductions import total

MAX_PATCH_ELEMENTS: Final = 1 << 22
"""The elements of patches up to which a weight's gradient is a product: beyond, they leave the caches."""

MIN_DEPTHWISE_GROUPS: Final = 8
"""The groups of one output each from which on a weight's gradient is a convolution by groups."""

POINTWISE_OUTPUTS: Final = 8
"""A group's outputs for each element of the gradient's plane up to which the gradient of a weight of single
elements is a product, whose patches are `x` itself. On one thread of a Sapphire Rapids it takes 0.3 to 0.9 of
the time of the convolution, and up to 1.4 where outputs are more."""

MAX_PATCHES: Final = 32
"""The elements of a kernel up to which that is so: each has a slice of its own, which must be compiled."""


class Geometry(NamedTuple):
    """How a convolution's windows lie, for each spatial dimension."""

    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    groups: int


def per_dim(values: Sequence[int], rank: int) -> list[int]:
    """One value for each spatial dimension; PyTorch lets one value stand for all."""
    return list(values) * rank if len(values) == 1 else list(values)


@converts("aten.convolution.default")
def convolution(
    e: NodeEmitter,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Value:
    rank = len(shape_of(weight)) - 2
    geometry = Geometry(per_dim(stride, rank), per_dim(padding, rank), per_dim(dilation, rank), groups)
    unbatched = len(shape_of(x)) == rank + 1
    if unbatched:
        x = e.reshape(x, (1, *shape_of(x)))
    shape = (1, *e.type.shape) if unbatched else e.type.shape
    if transposed:
        result = _transposed(e, x, weight, geometry, shape[2:])
    else:
        result = _forward(e, x, weight, geometry)
    if bias is not None:
        result = e.add(result, e.broadcast_in_dim(bias, shape_of(result), [1]))
    return e.reshape(result, e.type.shape)


def _forward(e: Emitter, x: Value, weight: Value, geometry: Geometry) -> Value:
    """The convolution of [N, C, ...] with [O, C / groups, ...]."""
    rank = len(shape_of(weight)) - 2
    sizes = zip(shape_of(x)[2:], shape_of(weight)[2:], *geometry[:3], strict=True)
    spatial = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes]
    return _convolve(
        e,
        x,
        weight,
        (shape_of(x)[0], shape_of(weight)[0], *spatial),
        window_strides=tuple(geometry.stride),
        padding=tuple([(p, p) for p in geometry.padding]),
        lhs_dilation=(1,) * rank,
        rhs_dilation=tuple(geometry.dilation),
        feature_group_count=geometry.groups,
    )


def _transposed(e: Emitter, x: Value, weight: Value, geometry: Geometry, spatial: Sequence[int]) -> Value:
    """The transposed convolution of [N, C, ...] with [C, O / groups, ...], whose result has spatial sizes."""
    channels, per_group, *kernel = shape_of(weight)
    groups = geometry.groups
    if groups > 1:
        weight = e.reshape(weight, (groups, channels // groups, per_group, *kernel))
        order = [0, 2, 1, *range(3, 3 + len(kernel))]
        weight = e.reshape(e.transpose(weight, order), (groups * per_group, channels // groups, *kernel))
    else:
        weight = e.transpose(weight, [1, 0, *range(2, 2 + len(kernel))])
    padding = []
    for n, k, s, p, d, size in zip(shape_of(x)[2:], kernel, *geometry[:3], spatial, strict=True):
        low = d * (k - 1) - p
        padding.append((low, size - ((n - 1) * s + 1) - low + d * (k - 1)))
    return _convolve(
        e,
        x,
        e.reverse(weight, range(2, 2 + len(kernel))),
        (shape_of(x)[0], groups * per_group, *spatial),
        window_strides=(1,) * len(kernel),
        padding=tuple(padding),
        lhs_dilation=tuple(geometry.stride),
        rhs_dilation=tuple(geometry.dilation),
        feature_group_count=groups,
    )


def _gradient_of_weight(
    e: Emitter, x: Value, gradient: Value, geometry: Geometry, kernel: Sequence[int]
) -> Value:
    """The gradient of the weight [O, C / groups, ...] of a convolution of `x` whose result has a gradient.

    Channels become the batch, and the batch the channels: each window is as large as the gradient. Where a
    window has at least as many elements as a group has outputs, a product with patches of `x` takes 0.1 to
    0.7 of the time of this convolution; else it takes up to 1.8. Many groups of one output are convolved side
    by side, without patches: 0.2 to 0.5 of the time.
    """
    rank, groups = len(kernel), geometry.groups
    padding = []
    for n, m, k, s, p, d in zip(shape_of(x)[2:], shape_of(gradient)[2:], kernel, *geometry[:3], strict=True):
        padding.append((p, d * (k - 1) + s * (m - 1) + 1 - n - p))
    count = math.prod(shape_of(gradient)[2:])
    patches = math.prod(kernel)
    patch_elements = patches * math.prod(shape_of(x)[:2]) * count
    is_small = patches <= MAX_PATCHES and 0 < patch_elements <= MAX_PATCH_ELEMENTS
    outputs = shape_of(gradient)[1] // groups
    is_depthwise = outputs == 1 and groups >= MIN_DEPTHWISE_GROUPS
    max_outputs = count * (POINTWISE_OUTPUTS if patches == 1 else 1)
    if is_small and not is_depthwise and outputs <= max_outputs:
        return _product_with_patches(e, x, gradient, geometry, kernel, padding)
    return _convolve(
        e,
        x,
        gradient,
        (shape_of(gradient)[1], shape_of(x)[1] // groups, *kernel),
        window_strides=tuple(geometry.dilation),
        padding=tuple(padding),
        lhs_dilation=(1,) * rank,
        rhs_dilation=tuple(geometry.stride),
        batch_group_count=groups,
        swapped=True,
    )


def _product_with_patches(
    e: Emitter,
    x: Value,
    gradient: Value,
    geometry: Geometry,
    kernel: Sequence[int],
    padding: Sequence[tuple[int, int]],
) -> Value:
    """The gradient of the weight: a sum over the batch of products of [O, S] and patches [kernel, C, S].

    Each group of channels has products of its own.
    """
    batch, channels = shape_of(x)[:2]
    outputs, *sizes = shape_of(gradient)[1:]
    count, groups, type = math.prod(sizes), geometry.groups, element_type(x)
    low, high = ([0, 0, *amounts] for amounts in zip(*padding, strict=True))
    padded = e.pad(x, e.full(0, (), type), low, high)
    patches = []
    for position in itertools.product(*map(range, kernel)):
        patch = padded
        for dim, (k, m, s, d) in enumerate(
            zip(position, sizes, geometry.stride, geometry.dilation, strict=True), start=2
        ):
            patch = e.slice(patch, dim, d * k, d * k + s * (m - 1) + 1, s)
        patches.append(e.reshape(patch, (batch, 1, groups, channels // groups, count)))
    flat = e.reshape(gradient, (batch, groups, outputs // groups, count))
    products = e.dot(flat, e.concatenate(patches, 1), ([3], [4]), ([0, 1], [0, 2]), wider(type))
    summed = e.transpose(total(e, products, [0]), [0, 1, 3, 2])
    return e.convert(e.reshape(summed, (outputs, channels // groups, *kernel)), type)


def _convolve(
    e: Emitter,
    x: Value,
    weight: Value,
    shape: Sequence[int],
    *,
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    swapped: bool = False,
) -> Value:
    """A convolution whose spatial dimensions come last; `swapped`: batch and features change roles."""
    spatial = tuple(range(2, len(shape)))
    batch, feature = (1, 0) if swapped else (0, 1)
    return e.one(
        "stablehlo.convolution",
        [x, weight],
        shape,
        element_type(x),
        window_strides=window_strides,
        padding=padding,
        lhs_dilation=lhs_dilation,
        rhs_dilation=rhs_dilation,
        input_batch_dimension=batch,
        input_feature_dimension=feature,
        input_spatial_dimensions=spatial,
        kernel_input_feature_dimension=0 if swapped else 1,
        kernel_output_feature_dimension=1 if swapped else 0,
        kernel_spatial_dimensions=spatial,
        output_batch_dimension=1 if swapped else 0,
        output_feature_dimension=0 if swapped else 1,
        output_spatial_dimensions=spatial,
        feature_group_count=feature_group_count,
        batch_group_count=batch_group_count,
    )


@converts("aten.convolution_backward.default")
def convolution_backward(
    e: NodeEmitter,
    gradient: Value,
    x: Value,
    weight: Value,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> list[Value | None]:
    """The gradients of the operand, the weight and the bias; None for those that are not asked for.

    A transposed convolution is the gradient of a convolution of its result's gradient.
    """
    kernel = shape_of(weight)[2:]
    rank = len(kernel)
    geometry = Geometry(per_dim(stride, rank), per_dim(padding, rank), per_dim(dilation, rank), groups)
    results: list[Value | None] = [None, None, None]
    if output_mask[0] and transposed:
        computed = _forward(e, gradient, weight, geometry)
        # Where output_padding is not below the stride, the result's last elements come from no operand's.
        for dim, size in enumerate(shape_of(x)[2:], start=2):
            computed = e.slice(computed, dim, 0, size)
        results[0] = computed
    elif output_mask[0]:
        results[0] = _transposed(e, gradient, weight, geometry, shape_of(x)[2:])
    if output_mask[1]:
        operands = (gradient, x) if transposed else (x, gradient)
        results[1] = _gradient_of_weight(e, *operands, geometry, kernel)
    if output_mask[2]:
        results[2] = total(e, gradient, [0, *range(2, 2 + rank)])
    return results
