"""The geometry of windows: strides, padding and dilations. Nothing here reads elements.

Source: specification, sections "reduce_window", "select_and_scatter" and "convolution".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from ....kernels.launch.native import check_stop
from ....kernels.named_tuples import NamedTuple
from ....types import DYNAMIC, Array
from ..framework import rules


class Window(NamedTuple):
    """The windows along one dimension.

    Attributes:
        size: elements of a window.
        stride: from the start of one window to the next, in positions of the dilated and padded operand.
        low, high: padding before and after the operand; negative: the number of positions that are cut off.
        base_dilation, window_dilation: distance between neighbouring elements of the operand and of a window.
    """

    size: int
    stride: int = 1
    low: int = 0
    high: int = 0
    base_dilation: int = 1
    window_dilation: int = 1

    def count(self, size: int) -> int:
        """Number of windows on a dimension of `size`; DYNAMIC where that or the window's size is unknown."""
        if DYNAMIC in (size, self.size):
            return DYNAMIC
        padded = self.low + dilated(size, self.base_dilation) + self.high
        window = dilated(self.size, self.window_dilation)
        return 0 if padded <= 0 or window > padded else (padded - window) // self.stride + 1

    def span(self, position: int, size: int, count: int) -> tuple[slice, slice] | None:
        """Windows whose element at `position` is an element of the operand, and which elements these are.

        Returns:
            A slice of the windows and one of the operand's elements, None if all is padding.
        """
        offset = position * self.window_dilation - self.low
        return overlap(count, self.stride, offset, size, self.base_dilation)

    @property
    def is_trivial(self) -> bool:
        """Whether each window is one element and each element one window."""
        return self == (1, 1, 0, 0, 1, 1)


def dilated(size: int, dilation: int) -> int:
    """Size of a dimension with `dilation - 1` holes between neighbours."""
    return 0 if size == 0 else (size - 1) * dilation + 1


@functools.lru_cache(maxsize=4096)
def overlap(count: int, stride: int, offset: int, size: int, dilation: int) -> tuple[slice, slice] | None:
    """Solve ``stride * o + offset = dilation * i`` for 0 <= o < count and 0 <= i < size.

    Returns:
        A slice of the solutions o and one of their i, None if there is no solution.
    """
    common = math.gcd(stride, dilation)
    if offset % common:
        return None
    window_stride = dilation // common
    first = -offset // common * pow(stride // common, -1, window_stride) % window_stride
    if stride * first + offset < 0:
        first += -(-(-offset - stride * first) // (stride * window_stride)) * window_stride
    last = min(count - 1, (dilation * (size - 1) - offset) // stride)
    if last < first:
        return None
    start, solutions = (stride * first + offset) // dilation, (last - first) // window_stride + 1
    input_stride = stride // common
    return (
        slice(first, first + (solutions - 1) * window_stride + 1, window_stride),
        slice(start, start + (solutions - 1) * input_stride + 1, input_stride),
    )


def _indices(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All indices of an array, in row-major order, one at a time; `np.ndindex` counts them all beforehand."""
    if not sizes:
        yield ()
        return
    for index in range(sizes[0]):
        for rest in _indices(sizes[1:]):
            yield (index, *rest)


def window_positions(
    windows: Sequence[Window], shape: Sequence[int], counts: Sequence[int]
) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]] | None]:
    """For each position in a window, in row-major order: which windows have an operand's element there.

    Yields:
        Slices of the windows and of the operand, None if all windows have padding there.
    """
    # Spans are not listed beforehand: a window in the padding may have far more positions than the operand.
    for position in _indices([window.size for window in windows]):
        check_stop()
        axis_spans = [
            window.span(index, size, count)
            for window, size, count, index in zip(windows, shape, counts, position, strict=True)
        ]
        pairs = [pair for pair in axis_spans if pair is not None]
        if len(pairs) < len(axis_spans):
            yield None
        else:
            yield tuple([pair[0] for pair in pairs]), tuple([pair[1] for pair in pairs])


def element_positions(
    windows: Sequence[Window], shape: Sequence[int], counts: Sequence[int], start: int, stop: int
) -> Array:
    """The offsets of the elements of windows `start` to `stop` - 1, in row-major order.

    Returns:
        Positions in the flattened operand, its size for padding and holes; [windows, elements of a window].
    """
    positions = np.zeros((stop - start, 1), np.int64)
    is_inside = np.ones((stop - start, 1), np.bool_)
    coordinates = np.unravel_index(np.arange(start, stop), tuple(counts)) if counts else ()
    for window, size, coordinate in zip(windows, shape, coordinates, strict=True):
        offsets = np.arange(window.size) * window.window_dilation - window.low
        coordinates_along = coordinate[:, np.newaxis] * window.stride + offsets
        elements, holes = np.divmod(coordinates_along, window.base_dilation)
        inside = (holes == 0) & (elements >= 0) & (elements < size)
        positions = (positions[:, :, np.newaxis] * size + elements[:, np.newaxis]).reshape(stop - start, -1)
        is_inside = (is_inside[:, :, np.newaxis] & inside[:, np.newaxis]).reshape(stop - start, -1)
    return np.where(is_inside, positions, math.prod(shape))


def cumulative_axis(windows: Sequence[Window], shape: Sequence[int]) -> int | None:
    """The dimension along which windows hold all elements up to, or from, their position; None otherwise."""
    axes = [axis for axis, window in enumerate(windows) if not window.is_trivial]
    if len(axes) != 1:
        return None
    size = shape[axes[0]]
    if windows[axes[0]] in (Window(size, low=size - 1), Window(size, high=size - 1)):
        return axes[0]
    return None


def padding_shape(padding: Sequence[Sequence[int]], rank: int, what: str) -> str | None:
    """`padding` must have `rank` pairs; `what` describes that number."""
    if any(len(pair) != 2 for pair in padding):
        return f"padding has shape [{len(padding)}, {len(padding[0])}], but must have two columns"
    return rules.length_is("padding", len(padding), rank, what)
