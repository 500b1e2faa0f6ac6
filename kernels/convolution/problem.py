"""A convolution without the layouts of its arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..launch.no_kernel import NoKernel
from ..named_tuples import NamedTuple
from . import convolution_tasks as tasks
from .axis import Axis


class DimensionNumbers(NamedTuple):
    """Dimensions of lhs and the result as (batch, spatial..., feature), of rhs as (spatial..., input feature,
    output feature)."""

    lhs: Sequence[int]
    rhs: Sequence[int]
    result: Sequence[int]


class Problem(NamedTuple):
    """A convolution without the layouts of its arrays; `groups`: (feature groups, batch groups)."""

    batch: int
    axes: tuple[Axis, ...]
    features: int
    outputs: int
    numbers: DimensionNumbers
    groups: tuple[int, int]
    dtype: np.dtype[Any]
    threads: int | None
    is_rhs_constant: bool = False


def supports(shapes: Sequence[Sequence[int]], dtype: Any) -> bool:
    """Whether loops exist for lhs, rhs and the result of these shapes, all of this element type."""
    has_elements = all(0 not in shape for shape in shapes)
    fits_axes = len(shapes[0]) - 2 < tasks.MAX_AXES
    return has_elements and fits_axes and bool(tasks.supports(np.dtype(dtype).name, tasks.best_level()))


def problem_of(
    shapes: Sequence[Sequence[int]],
    axes: Sequence[Axis],
    numbers: DimensionNumbers,
    dtype: np.dtype[Any],
    groups: tuple[int, int],
    threads: int | None,
) -> Problem:
    lhs, rhs, result = shapes
    if not supports(shapes, dtype):
        raise NoKernel(f"no loops convolve {dtype}{list(lhs)} with {list(rhs)}")
    features, outputs = (rhs[d] for d in numbers.rhs[-2:])
    batch = result[numbers.result[0]]
    return Problem(batch, tuple(axes), features, outputs, numbers, groups, dtype, threads)
