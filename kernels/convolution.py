"""Convolutions of [batch, spatial..., feature] with [spatial..., input feature, output feature].

Windows are copied, block by block, into the rows of a matrix that stays in the cache, which is multiplied
with the panels of rhs. Where each group has one input feature, elements are scaled and added.

The order. Of each window, the terms are taken in row-major order of position and input feature; PART of them
at a time are added up by fused multiply-add, and these sums added one after another. Scaled elements are
rounded and added in the order of positions, without those in the padding. Integers are exact modulo two to
the width.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .compilation import flat
from .dot import PART
from .threads import division
from .workspace import borrowed

__all__ = ["Axis", "prepare", "prepare_scaling", "supports"]

Convolution = Callable[[np.ndarray, np.ndarray], np.ndarray]

_BLOCK = 48
"""Windows that are copied at a time; a multiple of a tile's rows."""
_TERM_BYTES = 1 / 16
"""The bytes whose transport takes as long as one multiplication and addition."""


class Axis(NamedTuple):
    """One spatial dimension of lhs, and how windows lie along it; `windows` is how many there are."""

    size: int
    window: int
    windows: int
    stride: int = 1
    low: int = 0
    base_dilation: int = 1
    window_dilation: int = 1

    def places(self, step: int) -> np.ndarray:
        """Where the windows have their elements, `step` apart, -1 outside: [window, position]."""
        starts = np.arange(self.windows)[:, np.newaxis] * self.stride - self.low
        elements, holes = np.divmod(
            starts + np.arange(self.window) * self.window_dilation, self.base_dilation
        )
        inside = (holes == 0) & (elements >= 0) & (elements < self.size)
        return np.where(inside, elements * step, -1)


def _tables(axes: Sequence[Axis], features: int) -> tuple[np.ndarray, np.ndarray]:
    """What loops read of the axes: (count, window, where its places begin) of each, and the places."""
    dimensions, places, at, step = [], [np.zeros(0, np.int64)], 0, features
    for axis in reversed(axes):
        found = axis.places(step).astype(np.int64).reshape(-1)
        dimensions.append((axis.windows, axis.window, at))
        places.append(found)
        at += found.size
        step *= axis.size
    return np.array(dimensions[::-1], np.int64).reshape(-1, 3), np.concatenate(places)


def supports(dtype: Any) -> bool:
    """Whether windows of this element type, which lhs, rhs and the result must have, can be multiplied."""
    from . import tiles

    dtype = np.dtype(dtype)
    return dtype.name in ("float32", "float64", "int32", "int64") and tiles.supports(dtype.name)


def prepare(
    batch: int,
    axes: Sequence[Axis],
    rhs_features: tuple[int, int],
    dtype: Any,
    *,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    zero: float = 0.0,
    threads: int | None = None,
) -> Convolution:
    """A function of lhs and rhs, laid out as above, that convolves them.

    Args:
        batch: size of the batch dimension of lhs.
        axes: its spatial dimensions.
        rhs_features: input and output features of rhs.
        dtype: the element type of all.
        feature_group_count, batch_group_count: as in the specification.
        zero: 0.0 or -0.0, which is added to each sum of floats.
        threads: most threads to use; None: all.

    Raises ValueError where no kernel serves. Source: the specification's section on convolution.
    """
    dtype = np.dtype(dtype)
    features, outputs = rhs_features
    groups = max(feature_group_count, batch_group_count)
    terms = prod(axis.window for axis in axes) * features
    windows = batch // batch_group_count * prod(axis.windows for axis in axes)
    if not supports(dtype) or 0 in (windows, terms, outputs):
        raise ValueError(f"no kernel convolves {windows} windows of {terms} terms of {dtype}")
    from . import convolution_loops, product_loops

    kind = dtype.name
    chunk = PART if dtype.kind == "f" else terms
    columns, input_features = outputs // groups, features * feature_group_count
    strips, padded = product_loops.panel_widths(kind, columns)
    items = padded * (terms + -(-terms // chunk))
    batch_step = prod(axis.size for axis in axes) * input_features
    group_step = features if batch_group_count == 1 else batch // groups * batch_step
    dimensions, places = _tables(axes, input_features)
    blocks = -(-windows // _BLOCK)
    tasks, size = division(groups * blocks, _BLOCK * terms * (columns * _TERM_BYTES + dtype.itemsize))
    pack_tasks, pack_size = division(groups * strips, 4 * terms * padded / strips)
    shape = (batch // batch_group_count, *(axis.windows for axis in axes), outputs)

    def run(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        factors = np.ascontiguousarray(rhs)
        result = np.empty(shape, dtype)
        with borrowed((groups * items, dtype)) as (panels,):
            product_loops.pack(kind)(
                pack_tasks, pack_size, groups * strips, strips, items, columns, terms, chunk,
                factors.ctypes.data, np.empty(0, dtype), columns, outputs, 1, panels, threads=threads,
            )  # fmt: skip
            convolution_loops.convolve(kind)(
                tasks, size, groups * blocks, blocks, _BLOCK, windows, columns, terms, chunk, items, features,
                flat(lhs, np.uint8), batch_step, group_step, dimensions, places, panels, result.reshape(-1),
                outputs, zero, threads=threads,
            )  # fmt: skip
        return result

    return run


def prepare_scaling(
    batch: int, axes: Sequence[Axis], groups: int, outputs: int, dtype: Any, *, threads: int | None = None
) -> Convolution:
    """The same for one input feature a group, float32 or float64, rhs finite, and no groups of batches.

    Args:
        batch, axes, dtype, threads: as in `prepare`.
        groups: feature_group_count, which is the number of features of lhs.
        outputs: features of the result.
    """
    dimensions, places = _tables(axes, groups)
    batch_step = prod(axis.size for axis in axes) * groups
    windows = batch * prod(axis.windows for axis in axes)
    positions = prod(axis.window for axis in axes)
    tasks, size = division(windows, (positions / 2 + 1) * outputs * np.dtype(dtype).itemsize)
    shape = (batch, *(axis.windows for axis in axes), outputs)

    def run(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        from . import convolution_loops

        result = np.empty(shape, dtype)
        convolution_loops.scale(
            tasks, size, positions, groups, outputs // groups, flat(lhs), batch_step, dimensions, places,
            flat(rhs), result.reshape(-1), threads=threads,
        )  # fmt: skip
        return result

    return run
