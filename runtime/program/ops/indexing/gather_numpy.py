"""The NumPy implementation of gathers: `take` of elements, or of rows that slices contain whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....types import Array
from ..framework import rules
from .gather import DynamicGather, Gather, GatherRules
from .indexed_windows import IndexedWindows


def bind(view: Gather) -> Callable[..., Any]:
    """The function of operand and start_indices."""
    if view.operand.is_static and view.start_indices.is_static:
        return _bind_to_shapes(view, view.operand.shape, view.start_indices.shape, view.slice_sizes)

    def gather(operand: Array, start_indices: Array) -> Array:
        rules.check_actual_sizes(view, operand, start_indices)
        bound = _bind_to_shapes(view, operand.shape, start_indices.shape, view.slice_sizes)
        return bound(operand, start_indices)

    return gather


def bind_dynamic(view: DynamicGather) -> Callable[..., Any]:
    """The function of operand, start_indices and slice_sizes."""

    def gather(operand: Array, start_indices: Array, slice_sizes: Array) -> Array:
        sizes = view.at_run_time(operand, start_indices, slice_sizes).required_integers("slice_sizes")
        return _bind_to_shapes(view, operand.shape, start_indices.shape, sizes)(operand, start_indices)

    return gather


def _bind_to_shapes(
    view: GatherRules, shape: Sequence[int], indices_shape: Sequence[int], slice_sizes: Sequence[int]
) -> Callable[[Array, Array], Array]:
    """The function of operand and start_indices for one set of shapes."""
    # The trailing dimensions that slices and the result contain whole are copied as rows of `row_shape`.
    rank = view.rank_without_rows(shape, slice_sizes)
    row_shape = tuple(shape[rank:])
    windows = IndexedWindows(
        shape[:rank],
        indices_shape,
        view.index_vector_dim,
        view.start_index_map,
        view.operand_batching_dims,
        view.start_indices_batching_dims,
        [(d, slice_sizes[d]) for d in view.windowed_dims if d < rank],
        [result_dim for d, result_dim in view.windowed_dims.items() if d < rank],
    )
    limits = np.array([[shape[d] - slice_sizes[d]] for d in view.start_index_map], np.int64).reshape(-1, 1)
    empty_slices = [d for d in view.collapsed_slice_dims if slice_sizes[d] == 0]

    def gather(operand: Array, start_indices: Array) -> Array:
        full_start_index = np.minimum(np.maximum(windows.starts(start_indices), 0), limits)
        if empty_slices and 0 not in windows.shape:
            _reject_missing_elements(view, empty_slices, shape, full_start_index)
        positions = windows.positions(full_start_index)
        if not row_shape:
            return operand.reshape(-1).take(positions)
        rows = operand.reshape(-1, math.prod(row_shape)).take(positions, axis=0)
        return rows.reshape(*positions.shape, *row_shape)

    return gather


def _reject_missing_elements(
    view: GatherRules, dimensions: Sequence[int], shape: Sequence[int], full_start_index: Array
) -> None:
    """A slice of size 0 reads one element along a collapsed dimension, so the operand must have one."""
    for d in dimensions:
        is_indexed = d in view.start_index_map
        start = int(full_start_index[view.start_index_map.index(d)].max()) if is_indexed else 0
        if start >= shape[d]:
            raise view.missing_element(d, start, shape[d])
