"""Convolutions: of floats by loops that were compiled ahead of time, of grouped operands by NumPy.

Loops multiply windows with rhs directly, or by Winograd's algorithm, which `is_winograd` chooses.

For NumPy, operands have batches first and features last. Windows of lhs are copied into the rows of
matrices (im2col), MAX_PATCH_ELEMENTS elements at a time, and multiplied by rhs, groups side by side. Where
each group has one input feature (depthwise), scaled copies of lhs are added instead.

Source: specification, section "convolution".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ....kernels.convolution import convolution, winograd
from ....kernels.convolution.convolution_tasks import K_BLOCK
from ....types import ELEMENT_TYPES, Array, DType
from ..reduction.window_geometry import Window, window_positions
from .float_matmul import has_native_matmul
from .matmul import Multiply, Precision, narrow_order

if TYPE_CHECKING:
    from .convolution_rules import ConvolutionRules

_MIN_OUTPUTS_FOR_MATMUL: Final = 128
"""Minimum number of output features for which low-precision products by copied windows (im2col) pay off."""
_MIN_MULTIPLICATIONS: Final = 1 << 20
"""Minimum number of multiplications for which such products are faster than loops, which copy nothing."""
_MIN_WINOGRAD_TILES: Final = 24
"""Minimum number of tiles of 2x2 windows for which transforming rhs in each call pays. F(2x2, 3x3) saves 20
of the 36 multiplications for each tile and pair of features, but writes and reads 16 transformed factors for
each pair. Measured on Zen 4: with 64 features 25 tiles take 0.6 of the time of direct convolution, with 512
features 16 tiles take 1.1 of it."""
_MIN_WINOGRAD_FEATURES: Final = 16
_MIN_WINOGRAD_OUTPUTS: Final = 8
"""Minimum numbers of input and output features for which the saved multiplications pay for transforming the
16 elements of a tile of each feature. Measured on Zen 4: 16 input and 8 output features take 0.75 of the time
of direct convolution, 3 and 64 take 1.3 of it."""
MAX_PATCH_ELEMENTS: Final = 1 << 22
"""Maximum number of window elements copied at a time, unless a single row of windows has more."""


def native_convolution(
    view: Any,
    windows: Sequence[Window],
    lhs: Sequence[int],
    rhs: Sequence[int],
    threads: int | None,
    *,
    is_rhs_constant: bool = False,
    may_copy: bool = True,
) -> Multiply | None:
    """The convolution of floats of these shapes by `nimblehlo.kernels.convolution`; None if it does not
    support them.

    The order in which it adds is its own, so that references call it too.

    Args:
        view: the convolution.
        windows: along each spatial dimension.
        lhs, rhs: the shapes.
        threads: maximum number of threads to use; None: all.
        is_rhs_constant: whether rhs has the same elements in all calls: it is packed once.
        may_copy: whether the function may copy operands and return a transposed view.
    """
    if not view.is_float:
        return None
    shapes = tuple(lhs), tuple(rhs), view.result_shape(lhs, rhs, windows)
    if not convolution.supports(shapes, view.conversions[-1].dtype):
        return None
    outputs = rhs[view.kernel_output_feature_dimension]
    is_copied = not all(window.is_trivial for window in windows)
    prefers_matmul = outputs // view.feature_group_count >= _MIN_OUTPUTS_FOR_MATMUL or not is_copied
    multiplications = math.prod(shapes[2]) * math.prod(rhs)
    has_matmul = prefers_matmul and narrow_order(view) is not None
    if has_matmul and multiplications >= _MIN_MULTIPLICATIONS * outputs:
        return None
    groups = view.feature_group_count, view.batch_group_count
    enter_lhs, enter_rhs, leave, computed = view.conversions
    prepare = functools.partial(_prepare, is_rhs_constant=True) if is_rhs_constant else _prepare_cached
    if not may_copy:
        prepare = functools.partial(prepare, may_copy=False)
    if is_winograd(view, windows, lhs, rhs):
        prepare = functools.partial(prepare, is_winograd=True)
    convolve = prepare(shapes, axes(view, windows, lhs), numbers(view), computed.dtype, groups, threads)
    if all(type.dtype == computed.dtype for type in (view.lhs, view.rhs, view.result)):
        return convolve
    return lambda a, b: np.asarray(leave(convolve(enter_lhs(a), enter_rhs(b))))


def _prepare(
    shapes: Sequence[Sequence[int]],
    axes: Sequence[convolution.Axis],
    numbers: convolution.DimensionNumbers,
    dtype: DType,
    groups: tuple[int, int],
    threads: int | None,
    is_rhs_constant: bool = False,
    is_winograd: bool = False,
    may_copy: bool = True,
) -> Multiply:
    """`prepare` of `nimblehlo.kernels.convolution.winograd`, or of `convolution` there.

    `groups` are feature_group_count and batch_group_count.
    """
    if is_winograd:
        return winograd.prepare(
            shapes, axes, numbers, threads=threads, is_rhs_constant=is_rhs_constant, may_copy=may_copy
        )
    return convolution.prepare(
        shapes,
        axes,
        numbers,
        dtype,
        feature_group_count=groups[0],
        batch_group_count=groups[1],
        threads=threads,
        is_rhs_constant=is_rhs_constant,
        may_copy=may_copy,
    )


_prepare_cached = functools.lru_cache(1 << 8)(_prepare)


def is_winograd(view: Any, windows: Sequence[Window], lhs: Sequence[int], rhs: Sequence[int]) -> bool:
    """Whether loops convolve floats of these shapes by Winograd's algorithm.

    The error of a result is relative to all products of its window's elements and factors of one input
    feature, instead of those that the result adds: precisions above DEFAULT exclude it. Shapes and
    attributes alone decide, so that all modes of execution give the same bits.

    Args:
        view: the convolution.
        windows: along each spatial dimension.
        lhs, rhs: the shapes.
    """
    if any(type.element_type is not ELEMENT_TYPES["f32"] for type in (view.lhs, view.rhs, view.result)):
        return False
    if any(precision is not Precision.DEFAULT for precision in view.precision_config or ()):
        return False
    if view.feature_group_count * view.batch_group_count > 1 or len(windows) != 2:
        return False
    if not all(winograd.is_axis(axis) for axis in axes(view, windows, lhs)):
        return False
    counts = [window.count(lhs[d]) for window, d in zip(windows, view.input_spatial_dimensions, strict=True)]
    tiles = lhs[view.input_batch_dimension] * math.prod([-(-count // winograd.TILE) for count in counts])
    features, outputs = rhs[view.kernel_input_feature_dimension], rhs[view.kernel_output_feature_dimension]
    has_features = features >= _MIN_WINOGRAD_FEATURES and outputs >= _MIN_WINOGRAD_OUTPUTS
    return has_features and bool(tiles >= _MIN_WINOGRAD_TILES)


def is_matmul(view: Any, windows: Sequence[Window], lhs: Sequence[int], rhs: Sequence[int]) -> bool:
    """Whether a convolution of floats of these shapes is a product of lhs and rhs as a matrix, to the bit.

    Windows are single elements, lhs and the result have features last and their other dimensions in the same
    order, rhs has output features behind input features, and all terms of a sum fit into one block. Products
    with a vector add in an order of their own.

    Args:
        view: the convolution.
        windows: along each spatial dimension.
        lhs, rhs: the shapes.
    """
    types = {type.dtype for type in (view.lhs, view.rhs, view.result)}
    if (
        not view.is_float
        or len(types) > 1
        or types != {view.conversions[-1].dtype}
        or not has_native_matmul()
    ):
        return False
    is_grouped = view.feature_group_count * view.batch_group_count > 1
    if is_grouped or not all(window.is_trivial for window in windows):
        return False
    if view.input_dimensions != view.output_dimensions or view.input_feature_dimension != len(lhs) - 1:
        return False
    if view.kernel_input_feature_dimension > view.kernel_output_feature_dimension:
        return False
    features, outputs = lhs[-1], rhs[view.kernel_output_feature_dimension]
    return features <= K_BLOCK and min(features, outputs, math.prod(lhs[:-1])) > 1


def axes(
    view: ConvolutionRules, windows: Sequence[Window], lhs: Sequence[int]
) -> tuple[convolution.Axis, ...]:
    """The spatial dimensions of an lhs of this shape with the geometry of their windows."""
    axes = []
    for w, d, is_reversed in zip(windows, view.input_spatial_dimensions, view.window_reversal, strict=True):
        geometry = (w.stride, w.low, w.base_dilation, w.window_dilation)
        axes.append(convolution.Axis(lhs[d], w.size, w.count(lhs[d]), *geometry, is_reversed=is_reversed))
    return tuple(axes)


def numbers(view: ConvolutionRules) -> convolution.DimensionNumbers:
    """The dimension numbers of operands and result, in order."""
    return convolution.DimensionNumbers(view.input_dimensions, view.kernel_dimensions, view.output_dimensions)


def grouped(lhs: Array, rhs: Array, features: int, batches: int) -> tuple[Array, Array]:
    """[batch, spatial..., feature] and [spatial..., input feature, output feature] by groups.

    Args:
        features, batches: how many groups there are of features, and of batches.
    """
    groups = max(features, batches)
    outputs = rhs.reshape(*rhs.shape[:-1], groups, rhs.shape[-1] // groups)
    grouped_rhs = np.moveaxis(outputs, -2, 0)
    if batches > 1:
        return lhs.reshape(batches, lhs.shape[0] // batches, *lhs.shape[1:]), grouped_rhs
    inputs = lhs.reshape(*lhs.shape[:-1], features, lhs.shape[-1] // features)
    return np.moveaxis(inputs, -2, 0), grouped_rhs


def ungrouped(product: Array) -> Array:
    """[group, batch, windows..., output feature] with groups and features merged."""
    features = np.moveaxis(product, 0, -2)
    return features.reshape(*features.shape[:-2], features.shape[-2] * features.shape[-1])


def convolve_depthwise(lhs: Array, rhs: Array, windows: Sequence[Window], counts: Sequence[int]) -> Array:
    """The convolution where groups have one input feature: the sum of lhs scaled by each element of a kernel.

    Args:
        lhs: [group, batch, spatial..., 1].
        rhs: [group, spatial..., 1, output feature], finite: what it scales beside lhs is 0.

    Returns:
        [group, batch, windows..., output feature].
    """
    groups, batch = lhs.shape[:2]
    # Groups are last in memory, as usually in lhs: inner loops run along them.
    memory = np.zeros((batch, *counts, groups, rhs.shape[-1]), lhs.dtype)
    total = np.moveaxis(memory, -2, 0)
    shape = lhs.shape[2:-1]
    positions = np.ndindex(*[window.size for window in windows])
    for position, spans in zip(positions, window_positions(windows, shape, counts), strict=True):
        if spans is not None:
            outputs, elements = spans
            scale = rhs[(slice(None), *position)].reshape(groups, 1, *[1] * len(counts), rhs.shape[-1])
            total[(slice(None), slice(None), *outputs)] += lhs[(slice(None), slice(None), *elements)] * scale
    return total


def convolve_by_im2col(
    lhs: Array, rhs: Array, windows: Sequence[Window], counts: Sequence[int], multiply: Multiply, dtype: DType
) -> Array:
    """The convolution as products of matrices whose rows are windows.

    Args:
        lhs: [group, batch, spatial..., input feature].
        rhs: [group, spatial..., input feature, output feature].
        multiply: the product of stacks of matrices, with results of `dtype`.

    Returns:
        [group, batch, windows..., output feature].
    """
    groups, batch = lhs.shape[:2]
    outputs = rhs.shape[-1]
    matrices = rhs.reshape(groups, math.prod(rhs.shape[1:-1]), outputs)
    result = np.zeros((groups, batch, *counts, outputs), dtype)
    if not result.size or not matrices.size:
        return result
    for batches, rows in _blocks(batch, counts, groups * matrices.shape[1]):
        chosen, remaining_counts = list(windows), list(counts)
        if counts:
            chosen[0] = windows[0]._replace(low=windows[0].low - rows.start * windows[0].stride)
            remaining_counts[0] = rows.stop - rows.start
        rows_of_windows = _patches(lhs[:, batches], chosen, remaining_counts)
        rows_of_windows = rows_of_windows.reshape(groups, -1, matrices.shape[1])
        product = multiply(rows_of_windows, matrices)
        block = (slice(None), batches, rows) if counts else (slice(None), batches)
        result[block] = product.reshape(result[block].shape)
    return result


def _blocks(batch: int, counts: Sequence[int], window_elements: int) -> Iterator[tuple[slice, slice]]:
    """Slices of batches and of the first spatial dimension, of at most MAX_PATCH_ELEMENTS elements each.

    Args:
        batch: number of batches.
        counts: windows along each spatial dimension.
        window_elements: elements of a window.
    """
    first = counts[0] if counts else 1
    row_elements = window_elements * math.prod(counts[1:])
    rows_per_block = max(1, MAX_PATCH_ELEMENTS // max(row_elements, 1))
    if rows_per_block >= first:
        batches_per_block = rows_per_block // first
        for start in range(0, batch, batches_per_block):
            yield slice(start, min(start + batches_per_block, batch)), slice(0, first)
        return
    for start in range(batch):
        for top in range(0, first, rows_per_block):
            yield slice(start, start + 1), slice(top, min(top + rows_per_block, first))


def _patches(lhs: Array, windows: Sequence[Window], counts: Sequence[int]) -> Array:
    """The windows of [group, batch, spatial..., feature]: [group, batch, windows..., window..., feature]."""
    shape = lhs.shape[2:-1]
    sizes = [window.size for window in windows]
    if all(window.is_trivial for window in windows):
        return lhs
    patches = np.zeros((*lhs.shape[:2], *counts, *sizes, lhs.shape[-1]), lhs.dtype)
    leading = (slice(None), slice(None))
    if math.prod(counts) < math.prod(sizes):
        # The same equation, where windows and positions within a window change places.
        exchanged = [
            Window(count, window.window_dilation, window.low, 0, window.base_dilation, window.stride)
            for window, count in zip(windows, counts, strict=True)
        ]
        for output, spans in zip(np.ndindex(*counts), window_positions(exchanged, shape, sizes), strict=True):
            if spans is not None:
                patches[(*leading, *output, *spans[0])] = lhs[(*leading, *spans[1])]
        return patches
    for position, spans in zip(np.ndindex(*sizes), window_positions(windows, shape, counts), strict=True):
        if spans is not None:
            patches[(*leading, *spans[0], *position)] = lhs[(*leading, *spans[1])]
    return patches
