"""Plans of Winograd's convolutions F(2x2, 3x3) of f32, with any dimension numbers.

The loops are compiled ahead of time; `winograd_tasks.h` states the formula and the order of additions. The
direct algorithm (`convolution.py`) computes results again that are not finite: they have its infinities and
NaNs.

Source: S. Winograd, Arithmetic complexity of computations (1980); A. Lavin and S. Gray, Fast algorithms for
convolutional neural networks (2016).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from ..launch.no_kernel import NoKernel
from . import convolution_tasks as tasks
from .convolution import (
    Axis,
    Convolution,
    DimensionNumbers,
    Writer,
    factor_runs,
    rhs_offsets,
    strides_of,
    supports,
)
from .convolution import prepare as prepare_direct
from .work_division import wanted_items

__all__ = ["TILE", "WINDOW", "is_axis", "prepare"]

WINDOW = 3
"""The size of windows along both spatial dimensions."""
TILE = 2
"""Windows of a tile along each spatial dimension; the tile reads 2 + 3 - 1 = 4 elements."""
_POSITIONS = 4
_MIN_BLOCK_TILES = 2
"""Minimum number of tiles of registers that multiply each panel of a work item."""
_FMAS_PER_SECOND = 2.5e10
"""Fused multiply-adds of the transformed product that a thread does in a second; measured on Zen 4."""


def is_axis(axis: Axis) -> bool:
    """Whether windows along this dimension are those that the formula serves."""
    return axis.window == WINDOW and axis.stride == axis.base_dilation == axis.window_dilation == 1


def prepare(
    shapes: Sequence[Sequence[int]],
    axes: Sequence[Axis],
    numbers: DimensionNumbers,
    *,
    threads: int | None = None,
    is_rhs_constant: bool = False,
    may_copy: bool = True,
) -> Convolution:
    """Prepare a convolution of f32 by Winograd's algorithm, `(lhs, rhs) -> result`.

    Args:
        shapes: shapes of lhs, rhs and the result.
        axes: the two spatial dimensions of lhs, each of which `is_axis`.
        numbers: dimension numbers; there are no groups.
        threads: maximum number of threads; None: all.
        is_rhs_constant: whether rhs has the same elements in all calls. The function then keeps its
            transform.
        may_copy: whether the direct algorithm may copy operands.

    Raises ValueError for other windows, and NoKernel if no loops exist.
    """
    dtype = np.dtype(np.float32)
    if len(axes) != 2 or not all(is_axis(axis) for axis in axes):
        raise ValueError(f"Winograd's convolutions have adjacent windows of 3x3 elements, not {axes}")
    if not supports(shapes, dtype):
        raise NoKernel(f"no loops convolve {dtype}{list(shapes[0])} with {list(shapes[1])}")

    @functools.cache
    def direct() -> Convolution:
        return prepare_direct(shapes, axes, numbers, dtype, threads=threads, may_copy=may_copy)

    def make(lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> Writer:
        return WinogradWriter(_winograd(axes, numbers, lhs, rhs, result, threads, is_rhs_constant), direct)

    return tasks.CachedByStrides(make, tuple(shapes[2]), dtype)


class WinogradWriter:
    """Writes results by a launch, and those that are not finite by the direct algorithm."""

    def __init__(self, launch: tasks.Winograd, direct: Callable[[], Convolution]) -> None:
        self.launch, self.direct = launch, direct

    def __call__(self, lhs: np.ndarray, rhs: np.ndarray, result: np.ndarray) -> None:
        if not self.launch(lhs, rhs, result):
            np.copyto(result, self.direct()(lhs, rhs), where=~np.isfinite(result))


def _winograd(
    axes: Sequence[Axis],
    numbers: DimensionNumbers,
    lhs: np.ndarray,
    rhs: np.ndarray,
    result: np.ndarray,
    threads: int | None,
    is_rhs_constant: bool,
) -> tasks.Winograd:
    """The launch for arrays with these strides."""
    lhs_strides, rhs_strides = strides_of(lhs, numbers.lhs), strides_of(rhs, numbers.rhs)
    features, outputs = (rhs.shape[dimension] for dimension in numbers.rhs[-2:])
    tile_rows, tile_columns = (-(-axis.windows // TILE) for axis in axes)
    tiles = result.shape[numbers.result[0]] * tile_rows * tile_columns
    level = tasks.best_level()
    rows = tasks.tile_shape("float32", level)[2]
    fmas = _POSITIONS**2 * tiles * features * outputs
    wanted_blocks = -(-wanted_items(fmas, threads) // -(-outputs // tasks.WINOGRAD_COLUMNS))
    wanted_blocks = min(wanted_blocks, tiles // (_MIN_BLOCK_TILES * rows))
    even_block = -(-tiles // max(1, wanted_blocks, -(-tiles // tasks.WINOGRAD_TILES)))
    block = min(tiles, -(-even_block // rows) * rows)
    k_block = -(-features // -(-features // tasks.K_BLOCK))
    offsets = rhs_offsets(axes, rhs_strides)
    factors = factor_runs(offsets, features, rhs_strides)
    layout = {
        "contraction": (features, outputs, k_block, -(-features // k_block)),
        "tiles": (tile_rows, tile_columns, tiles, axes[0].windows, axes[1].windows, block),
        "lhs_strides": (lhs_strides[0], lhs_strides[-1]),
        "factor_run": (factors.run, factors.first),
        "factor_strides": rhs_strides[-2:],
        "result_strides": strides_of(result, numbers.result),
    }
    tables = {
        "row_offsets": _tile_offsets(axes[0], lhs_strides[1]),
        "column_offsets": _tile_offsets(axes[1], lhs_strides[2]),
        "factor_offsets": offsets,
    }
    return tasks.Winograd(level, tables, layout, fmas / _FMAS_PER_SECOND, threads, is_rhs_constant)


def _tile_offsets(axis: Axis, stride: int) -> np.ndarray:
    """Offsets into lhs of the elements of each tile: [tile, position]; OUTSIDE in the padding."""
    tiles = -(-axis.windows // TILE)
    elements = np.arange(tiles)[:, np.newaxis] * TILE - axis.low + np.arange(_POSITIONS)
    return np.where((elements >= 0) & (elements < axis.size), elements * stride, tasks.OUTSIDE)
