"""Plans of convolutions with few output features, whose windows slide along rows of lhs.

The loops are compiled ahead of time; `sliding_tasks.h` says what they do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..named_tuples import NamedTuple
from . import convolution_tasks as tasks
from .axis import Axis
from .work_division import wanted_items

_FMAS_PER_SECOND = 2e10
_MAX_OUTPUTS = 32
"""Maximum output features: with more, packing windows takes a small part of the time."""
_FEW_OUTPUTS = 8
_MIN_READS = 8
"""How often the windows must read an element that is copied if there are more than `_FEW_OUTPUTS`."""
_MIN_FMAS = 4
"""Minimum multiply-adds of an element that is copied by steps of three and more: they have no loop of
vectors."""
_MIN_POSITIONS = 2
"""Minimum positions of a window: single elements are read once for each output feature anyway."""
_MAX_COPIED_ELEMENTS = 1 << 15
"""Maximum elements of rows that a work item copies, unless one row of windows reads more: copies stay in the
L2 cache."""
_MAX_ROW_ELEMENTS = 1 << 17
"""Maximum elements of the rows of lhs that one row of windows reads."""
_MAX_PRODUCTS = 1 << 13
"""Maximum products of a sum: each work item packs all factors."""
_COLUMN_BLOCK = 1 << 11
"""Windows of a row that one work item has, at most."""


class Layout(NamedTuple):
    """How the arrays of a convolution lie in memory.

    Attributes:
        dtype: the element type of all.
        lhs, result: strides in items, as (batch, spatial..., feature).
        rhs: the same as (spatial..., input feature, output feature).
        factor_offsets: the offset into rhs of each position, in items.
        offsets: bytes from the beginning of rhs and of the result to the slices to use.
    """

    dtype: np.dtype[Any]
    lhs: Sequence[int]
    rhs: Sequence[int]
    result: Sequence[int]
    factor_offsets: np.ndarray
    offsets: Sequence[int]


def sliding(
    batch: int, axes: Sequence[Axis], features: tuple[int, int], arrays: Layout, threads: int | None
) -> tasks.Sliding | None:
    """The launch of a convolution without groups, if windows that slide along rows pay; None elsewhere.

    Args:
        batch: the size of the batch dimension.
        axes: the spatial dimensions.
        features: numbers of input and of output features.
        arrays: how lhs, rhs and the result lie in memory.
        threads: maximum number of threads; None: all.
    """
    if any(axis.base_dilation > 1 for axis in axes) or not may_slide(axes, features[1], arrays.dtype):
        return None
    missing = 2 - len(axes)
    rows, columns = Axis(1, 1, 1) if missing else axes[0], axes[-1]
    lhs_strides, result_strides = (
        (strides[0], *[0] * missing, *strides[1:]) for strides in (arrays.lhs, arrays.result)
    )
    inputs, outputs = features
    k = rows.window * columns.window * inputs
    lanes = tasks.tile_shape(arrays.dtype.name, tasks.best_level())[0]
    has_contiguous_rows = inputs == 1 or lhs_strides[-1] > 1
    # Sums of contiguous output features are stored one by one.
    stores_items = result_strides[-1] == 1 < outputs
    if not has_contiguous_rows or (stores_items and k * (lanes - outputs) < 2 * lanes * outputs):
        return None
    column_block = min(columns.windows, _COLUMN_BLOCK)
    pitch = -(-_read_elements(columns, column_block) // columns.stride)
    row_items = pitch * columns.stride
    if inputs * _read_elements(rows, 1) * row_items > _MAX_ROW_ELEMENTS or k > _MAX_PRODUCTS:
        return None
    fmas = batch * rows.windows * columns.windows * k * outputs
    wanted = wanted_items(fmas, threads)
    items = batch * -(-columns.windows // column_block)
    row_block = -(-rows.windows // max(1, wanted // items))
    while row_block > 1 and inputs * _read_elements(rows, row_block) * row_items > _MAX_COPIED_ELEMENTS:
        row_block = -(-row_block // 2)
    copied_rows = _read_elements(rows, row_block)
    layout = {
        "sizes": (batch, inputs, outputs, rows.size, columns.size, rows.windows, columns.windows),
        "windows": (rows.low, columns.low, rows.stride, columns.stride),
        "lhs_strides": lhs_strides,
        "result_strides": result_strides,
        "contraction": (k, -(-k // -(-k // tasks.K_BLOCK)), arrays.rhs[-1]),
        "blocks": (row_block, column_block, copied_rows, pitch),
    }
    in_row = np.arange(columns.window) * columns.window_dilation
    in_row = in_row % columns.stride * pitch + in_row // columns.stride
    offsets = np.add.outer(np.arange(rows.window) * rows.window_dilation * row_items, in_row)
    tables = {
        "copy_offsets": _of_products(offsets, np.arange(inputs) * copied_rows * row_items),
        "factor_offsets": _of_products(arrays.factor_offsets, np.arange(inputs) * arrays.rhs[-2]),
    }
    seconds = fmas / _FMAS_PER_SECOND
    return tasks.Sliding(
        arrays.dtype.name, tasks.best_level(), tables, layout, arrays.offsets, seconds, threads
    )


def may_slide(axes: Sequence[Axis], outputs: int, dtype: np.dtype[Any]) -> bool:
    """Whether packing windows along rows of lhs takes longer than reading copies of the rows."""
    if not 1 <= len(axes) <= 2:
        return False
    lanes, row = tasks.tile_shape(dtype.name, tasks.best_level())[0], axes[-1]
    windows = row.windows * math.gcd(row.stride, row.base_dilation) // row.base_dilation
    positions, steps = math.prod(axis.window for axis in axes), math.prod(axis.stride for axis in axes)
    if positions < _MIN_POSITIONS or outputs > _MAX_OUTPUTS or 4 * windows <= lanes:
        return False
    if outputs > _FEW_OUTPUTS and positions < _MIN_READS * steps:
        return False
    return row.stride <= 2 or positions * outputs > _MIN_FMAS * steps


def _of_products(positions: np.ndarray, features: np.ndarray) -> np.ndarray:
    """The offsets of all products, by position, then feature."""
    offsets: np.ndarray = np.add.outer(positions.ravel(), features)
    return offsets.ravel()


def _read_elements(axis: Axis, windows: int) -> int:
    """The elements along an axis, padding included, that consecutive windows read."""
    return (windows - 1) * axis.stride + (axis.window - 1) * axis.window_dilation + 1
