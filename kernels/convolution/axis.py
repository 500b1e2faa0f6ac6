"""A spatial dimension of a convolution."""

from __future__ import annotations

from math import gcd

import numpy as np

from ..named_tuples import NamedTuple
from . import convolution_tasks as tasks


class Axis(NamedTuple):
    """One spatial dimension of lhs and its windows; `windows` is their number."""

    size: int
    window: int
    windows: int
    stride: int = 1
    low: int = 0
    base_dilation: int = 1
    window_dilation: int = 1
    is_reversed: bool = False

    def offsets(self, stride: int) -> np.ndarray:
        """Offsets into lhs, whose elements are `stride` apart: [window, position]; OUTSIDE in the padding."""
        starts = np.arange(self.windows)[:, np.newaxis] * self.stride - self.low
        positions = np.arange(self.window) * self.window_dilation
        elements, remainders = np.divmod(starts + positions, self.base_dilation)
        inside = (remainders == 0) & (elements >= 0) & (elements < self.size)
        return np.where(inside, elements * stride, tasks.OUTSIDE)


def phases(axis: Axis) -> list[tuple[Axis, slice, slice]]:
    """Axes without base dilation, each with its slices of rhs and of windows; the former may be empty."""
    dilation = axis.base_dilation
    if dilation == 1:
        return [(axis, slice(None), slice(None))]
    window_step = dilation // gcd(axis.stride, dilation)
    position_step = dilation // gcd(axis.window_dilation, dilation)
    phases = []
    for first in range(min(window_step, axis.windows)):
        starts = (
            first * axis.stride - axis.low + np.arange(min(position_step, axis.window)) * axis.window_dilation
        )
        inside = np.flatnonzero(starts % dilation == 0)
        position = int(inside[0]) if len(inside) else axis.window
        positions = range(position, axis.window, position_step)
        undilated_axis = Axis(
            axis.size,
            len(positions),
            len(range(first, axis.windows, window_step)),
            window_step * axis.stride // dilation,
            -(int(starts[position]) // dilation) if positions else 0,
            1,
            position_step * axis.window_dilation // dilation,
            axis.is_reversed,
        )
        begin, end = (positions[0], positions[-1]) if positions else (0, -1)
        if axis.is_reversed:
            begin, end = axis.window - 1 - end, axis.window - 1 - begin
        chosen = slice(begin, end + 1, position_step) if positions else slice(0, 0)
        phases.append((undilated_axis, chosen, slice(first, None, window_step)))
    return phases
