"""The dimensions of windowed operations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..named_tuples import NamedTuple

SIZE, WINDOW, STRIDE, BASE_DILATION, WINDOW_DILATION, LOW, WINDOWS = range(7)
"""The columns of `axis_table`."""
FIELDS = WINDOWS + 1
"""Numbers of an axis in `axis_table`."""
MAX_CONSTANT_STRIDE = 2
"""Maximum stride for which loops are compiled; with greater ones they load elements one by one."""


class Axis(NamedTuple):
    """One dimension of the operand and its windows."""

    size: int
    window: int = 1
    stride: int = 1
    base_dilation: int = 1
    window_dilation: int = 1
    low: int = 0
    high: int = 0

    @property
    def dilated(self) -> int:
        return (self.size - 1) * self.base_dilation + 1 if self.size else 0

    @property
    def windows(self) -> int:
        """The number of windows: the size of the result."""
        padded = self.low + self.dilated + self.high
        span = (self.window - 1) * self.window_dilation + 1
        return 0 if padded <= 0 or span > padded else (padded - span) // self.stride + 1

    @property
    def is_unwindowed(self) -> bool:
        """Whether every element is a window."""
        return self == Axis(self.size)


def axes_of(
    shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    base_dilations: Sequence[int] | None = None,
    window_dilations: Sequence[int] | None = None,
    padding: Sequence[Sequence[int]] | None = None,
) -> list[Axis]:
    """The dimensions of a windowed operation; None stands for the attribute's default.

    Raises ValueError if lengths differ, or a size that must be positive is not.
    """
    rank = len(shape)
    ones = (1,) * rank
    attributes = [window_dimensions, window_strides or ones, base_dilations or ones, window_dilations or ones]
    paddings = [(0, 0)] * rank if padding is None else padding
    if any(len(attribute) != rank for attribute in (*attributes, paddings)) or any(
        value < 1 for c in attributes for value in c
    ):
        raise ValueError(
            f"the windows {attributes} with padding {paddings} do not fit the shape {tuple(shape)}"
        )
    return [
        Axis(size, window, stride, base_dilation, window_dilation, *edge)
        for size, window, stride, base_dilation, window_dilation, edge in zip(
            shape, *attributes, paddings, strict=True
        )
    ]


def merged(axes: Sequence[Axis]) -> list[Axis]:
    """The axes with neighbouring unwindowed ones collapsed, without those of size 1."""
    collapsed: list[Axis] = []
    for axis in axes:
        if axis == Axis(1):
            continue
        if axis.is_unwindowed and collapsed and collapsed[-1].is_unwindowed:
            collapsed[-1] = Axis(collapsed[-1].size * axis.size)
        else:
            collapsed.append(axis)
    return collapsed or [Axis(1)]


def axis_table(axes: Sequence[Axis]) -> np.ndarray:
    """The axes as kernels read them: int64, `FIELDS` numbers an axis."""
    return np.array([(*axis[:WINDOWS], axis.windows) for axis in axes], np.int64).reshape(-1)
