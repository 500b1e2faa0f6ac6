"""The NumPy implementations of slices at run-time indices: whole windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....types import Array
from ..framework import rules
from .dynamic_slice import DynamicSlice, DynamicUpdateSlice, TorchIndexSelect
from .index_space import as_indices


def _window(sizes: Sequence[int], shape: Sequence[int]) -> Callable[[Sequence[Any]], tuple[slice, ...]]:
    """The function from start indices to the window of these sizes, clamped so that it is within `shape`."""
    fixed = [slice(0, size) for size in sizes]
    moving = [(d, shape[d] - size, size) for d, size in enumerate(sizes) if size != shape[d]]

    def window(start_indices: Sequence[Any]) -> tuple[slice, ...]:
        slices = fixed.copy()
        for d, last, size in moving:
            start = int(start_indices[d])
            start = 0 if start < 0 else min(start, last)
            slices[d] = slice(start, start + size)
        return tuple(slices)

    return window


def bind_slice(view: DynamicSlice) -> Callable[..., Any]:
    """The function of operand and start_indices."""
    sizes = view.slice_sizes
    if view.operand.is_static:
        window = _window(sizes, view.operand.shape)
        return lambda operand, *start_indices: operand[window(start_indices)]

    def dynamic_slice(operand: Array, *start_indices: Array) -> Array:
        rules.check_actual_sizes(view, operand, *start_indices)
        return operand[_window(sizes, operand.shape)(start_indices)]

    return dynamic_slice


def bind_update(view: DynamicUpdateSlice) -> Callable[..., Any]:
    """The function of operand, update and start_indices; it takes `out` as `may_overwrite` says."""
    if view.operand.is_static and view.update.is_static:
        window = _window(view.update.shape, view.operand.shape)

        def update_slice(operand: Array, update: Array, *start_indices: Array, out: Any = (None,)) -> Array:
            result: Array = np.array(operand) if out[0] is None else out[0]
            result[window(start_indices)] = update
            return result

        return update_slice

    def dynamic_update_slice(operand: Array, update: Array, *start_indices: Array) -> Array:
        rules.check_actual_sizes(view, operand, update, *start_indices)
        result = np.array(operand)
        result[_window(update.shape, operand.shape)(start_indices)] = update
        return result

    return dynamic_update_slice


def bind_select(view: TorchIndexSelect) -> Callable[..., Any]:
    """The function of operand and index."""
    batch_dims, dim = view.batch_dims, view.dim

    def select(operand: Array, index: Array) -> Array:
        rules.check_actual_sizes(view, operand, index)
        shape = operand.shape
        view.reject_empty(shape, index)
        batch, size = math.prod(shape[:batch_dims]), shape[dim]
        before, after = math.prod(shape[batch_dims:dim]), math.prod(shape[dim + 1 :])
        chosen = index.shape[batch_dims:]
        clamped = np.clip(as_indices(index), 0, max(size - 1, 0)).reshape(batch, math.prod(chosen))
        batch_index = np.arange(batch)[:, np.newaxis]
        selected = operand.reshape(batch, before, size, after)[batch_index, :, clamped]
        return selected.transpose(0, 2, 1, 3).reshape((*shape[:dim], *chosen, *shape[dim + 1 :]))

    return select
