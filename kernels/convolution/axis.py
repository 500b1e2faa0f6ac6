"""A spatial dimension of a convolution."""

from __future__ import annotations

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
