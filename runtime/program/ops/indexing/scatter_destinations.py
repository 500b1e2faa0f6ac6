"""The destinations of a scatter's updates, computed for all updates at once.

Source: specification, section "scatter".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....types import Array
from .indexed_windows import IndexedWindows
from .scatter_rules import ScatterRules


def shapes_of(view: ScatterRules) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """The shapes of an input, of scatter_indices and of updates; all sizes must be static."""
    return view.inputs[0].shape, view.indices_shape, view.updates[0].shape


def destinations_of(view: ScatterRules) -> Destinations:
    """The destination indices of the updates; all sizes must be static."""
    return Destinations(view, *shapes_of(view))


class Destinations:
    """The destinations of updates, for one set of shapes.

    A call takes scatter_indices and returns the in-bounds destinations in the flattened inputs, in the
    schedule's order, and the indices of their updates in the flattened updates.
    """

    def __init__(
        self,
        view: ScatterRules,
        shape: Sequence[int],
        indices_shape: Sequence[int],
        updates_shape: Sequence[int],
    ) -> None:
        self.windows = windows = IndexedWindows(
            shape,
            indices_shape,
            view.index_vector_dim,
            view.scatter_dims_to_operand_dims,
            view.input_batching_dims,
            view.scatter_indices_batching_dims,
            [(d, updates_shape[d_update]) for d, d_update in view.windowed_dims.items()],
            view.update_window_dims,
        )
        chosen = view.ordering.scatter_schedule
        self.shuffle_seed: int | None = chosen[1] if chosen[:1] == ("shuffled",) else None
        self.schedule = view.schedule(math.prod(updates_shape))
        self.bounds: list[tuple[Array | int, int]] = []
        for d_operand in view.scatter_dims_to_operand_dims:
            d = view.windowed_dims.get(d_operand)
            offsets = 0 if d is None else windows.along(np.arange(updates_shape[d]), d)
            self.bounds.append((offsets, shape[d_operand]))

    def __call__(self, scatter_indices: Array) -> tuple[Array, Array | slice]:
        result_index, update_index = self.in_order(scatter_indices)
        if self.shuffle_seed is None:
            return result_index, update_index
        from . import shuffled_schedule  # most schedules are none

        order = shuffled_schedule.order(result_index, self.shuffle_seed)
        return result_index[order], order if isinstance(update_index, slice) else update_index[order]

    def in_order(self, scatter_indices: Array) -> tuple[Array, Array | slice]:
        """Destinations and update indices before updates are shuffled."""
        windows = self.windows
        full_start_index = windows.starts(scatter_indices)
        in_bounds: Any = True
        for start, (offsets, size) in zip(full_start_index, self.bounds, strict=True):
            index = windows.over_batch(start) + offsets
            in_bounds = in_bounds & (index >= 0) & (index < size)
        result_index = windows.positions(full_start_index).reshape(-1)
        if self.schedule is not None:
            update_index = self.schedule[np.broadcast_to(in_bounds, windows.shape).reshape(-1)[self.schedule]]
            return result_index[update_index], update_index
        if np.all(in_bounds):
            return result_index, slice(None)
        update_index = np.flatnonzero(np.broadcast_to(in_bounds, windows.shape))
        return result_index[update_index], update_index
