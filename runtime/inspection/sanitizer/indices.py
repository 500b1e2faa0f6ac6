"""Checks of the indices of `gather`, `scatter` and dynamic slices: bounds, order and uniqueness."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...options import Ordering
from ...program.ops.framework.declaration import Op
from ...program.ops.framework.rules import constant_operand, with_actual_shapes
from ...program.ops.indexing import index_space
from ...program.ops.indexing.dynamic_slice import DynamicSlice, DynamicUpdateSlice, TorchIndexSelect
from ...program.ops.indexing.gather import GatherRules
from ...program.ops.indexing.scatter import Scatter
from ...program.ops.indexing.scatter_destinations import destinations_of
from ...program.ops.intermediate.partial_windows import out_of_bounds_components
from ...types import Array, TensorType
from .elements import Inspect, first_index, index_text, number
from .findings import Violation


def _once_for_constants(view: Op, positions: Iterable[int], inspect: Inspect) -> Inspect:
    """A check that depends on some operands, evaluated once if these are constants."""
    values = (*view.operation.operands, *view.operation.results)
    if not all(isinstance(value.type, TensorType) and value.type.is_static for value in values):
        return inspect
    if any(constant_operand(view.operation, position) is None for position in positions):
        return inspect
    violations: list[Violation | None] = []

    def remember(operands: Sequence[Array], results: Sequence[Array]) -> Violation | None:
        if not violations:
            violations.append(inspect(operands, results))
        return violations[0]

    return remember


def unique_indices(view: Op) -> Inspect | None:
    """A `scatter` with unique_indices in which two updates have the same destination."""
    if not isinstance(view, Scatter) or not view.unique_indices:
        return None
    count = len(view.inputs)

    plain = copy.copy(view)
    plain.ordering = Ordering()
    cache: dict[tuple[Any, ...], Any] = {}

    def inspect(operands: Sequence[Array], results: Sequence[Array]) -> Violation | None:
        shape, indices, updates = operands[0].shape, operands[count], operands[count + 1].shape
        if not operands[0].size or not operands[count + 1].size:
            return None
        destinations = cache.get((shape, indices.shape, updates))
        if destinations is None:
            cache.clear()
            destinations = destinations_of(with_actual_shapes(plain, operands))
            cache[shape, indices.shape, updates] = destinations
        positions, chosen = destinations(indices)
        if _all_differ(positions, operands[0].size):
            return None
        order = np.argsort(positions, kind="stable")
        repeats = order[1:][positions[order[1:]] == positions[order[:-1]]]
        second = int(repeats.min())
        first = int(np.argmax(positions == positions[second]))
        numbers = np.arange(np.prod(updates, dtype=np.int64))[chosen]
        pair = [_unravel(numbers[one], updates) for one in (first, second)]
        target = _unravel(positions[second], shape)
        message = (
            f"unique_indices, but the updates at {index_text(pair[0])} and {index_text(pair[1])} both go to "
            f"{index_text(target)} of inputs"
        )
        return Violation(pair[1], target, message, len(repeats))

    return _once_for_constants(view, [count], inspect)


def _all_differ(positions: Array, size: int) -> bool:
    """Whether no position below `size` occurs twice."""
    if len(positions) * 8 < size:
        return len(np.unique(positions)) == len(positions)
    seen = np.zeros(size, np.bool_)
    seen[positions] = True
    return int(np.count_nonzero(seen)) == len(positions)


def indices_are_sorted(view: Op) -> Inspect | None:
    """A `gather` or `scatter` with indices_are_sorted whose windows do not start in ascending order.

    Index vectors are compared in order. There is no finding if they ascend with batching dimensions included,
    or without them, as the specification says.
    """
    if not isinstance(view, (GatherRules, Scatter)) or not getattr(view, "indices_are_sorted", False):
        return None
    if isinstance(view, Scatter):
        position, map = len(view.inputs), view.scatter_dims_to_operand_dims
        batching = tuple(zip(view.input_batching_dims, view.scatter_indices_batching_dims, strict=True))
    else:
        position, map = 1, view.start_index_map
        batching = tuple(zip(view.operand_batching_dims, view.start_indices_batching_dims, strict=True))
    index_vector_dim = view.index_vector_dim

    def inspect(operands: Sequence[Array], results: Sequence[Array]) -> Violation | None:
        indices = operands[position]
        vectors = index_space.index_vectors(indices, index_vector_dim)
        batch = index_space.batch_sizes(indices.shape, index_vector_dim)
        rows = dict(zip(map, vectors, strict=True))
        starts = [rows[d] for d in sorted(rows)]
        descends = _descends(starts, vectors.shape[1])
        if not np.count_nonzero(descends):
            return None
        for d, at in batching:
            rows[d] = np.indices(batch)[at - (at > index_vector_dim)].reshape(-1)
        descends &= _descends([rows[d] for d in sorted(rows)], vectors.shape[1])
        if not np.count_nonzero(descends):
            return None
        at = int(np.argmax(descends)) + 1
        index, value = _unravel(at, batch), tuple([int(row[at]) for row in starts])
        previous = tuple([int(row[at - 1]) for row in starts])
        message = (
            f"indices_are_sorted, but {index_text(value)} at {index_text(index)} "
            f"comes after {index_text(previous)}"
        )
        return Violation(index, value, message, int(np.count_nonzero(descends)))

    return _once_for_constants(view, [position], inspect)


def _descends(rows: Sequence[Array], count: int) -> Array:
    """Whether each vector is lexicographically less than the one before; `rows` are the components."""
    less = np.zeros(max(count - 1, 0), np.bool_)
    is_equal = np.ones_like(less)
    for row in rows:
        less |= is_equal & (row[1:] < row[:-1])
        is_equal &= row[1:] == row[:-1]
    return less


def clamped_indices(view: Op) -> Inspect | None:
    """Start indices of windows, and other indices, that were clamped."""
    if isinstance(view, GatherRules):
        return _once_for_constants(view, range(1, len(view.operation.operands)), _clamped_gather(view))
    if isinstance(view, (DynamicSlice, DynamicUpdateSlice)):
        return _clamped_slice(view)
    return _clamped_selection(view) if isinstance(view, TorchIndexSelect) else None


def _clamped_gather(view: GatherRules) -> Inspect:
    map, index_vector_dim = view.start_index_map, view.index_vector_dim
    static = view.integers("slice_sizes")

    def inspect(operands: Sequence[Array], results: Sequence[Array]) -> Violation | None:
        operand, indices = operands[0], operands[1]
        sizes = operands[2].tolist() if static is None else static
        vectors = index_space.index_vectors(indices, index_vector_dim)
        last = np.array([operand.shape[d] - sizes[d] for d in map], np.int64).reshape(-1, 1)
        outside = (vectors < 0) | (vectors > last)
        if not np.count_nonzero(outside):
            return None
        away = outside.any(axis=0)
        at = int(np.argmax(away))
        index = _unravel(at, index_space.batch_sizes(indices.shape, index_vector_dim))
        value, used = vectors[:, at].tolist(), np.clip(vectors[:, at], 0, last[:, 0]).tolist()
        where = f"{index_text(value)} at {index_text(index)}"
        message = f"the index vector {where} was clamped to {index_text(used)}"
        return Violation(index, tuple(value), message, int(np.count_nonzero(away)))

    return inspect


def _clamped_slice(view: DynamicSlice | DynamicUpdateSlice) -> Inspect:
    first = 1 if isinstance(view, DynamicSlice) else 2

    def inspect(operands: Sequence[Array], results: Sequence[Array]) -> Violation | None:
        sizes = view.slice_sizes if isinstance(view, DynamicSlice) else operands[1].shape
        starts = [int(start) for start in operands[first:]]
        last = [extent - size for extent, size in zip(operands[0].shape, sizes, strict=True)]
        used = [min(max(start, 0), limit) for start, limit in zip(starts, last, strict=True)]
        if used == starts:
            return None
        d = next(d for d, start in enumerate(starts) if start != used[d])
        message = f"the start index {index_text(starts)} was clamped to {index_text(used)}"
        return Violation((d,), tuple(starts), message)

    return _once_for_constants(view, range(first, len(view.operation.operands)), inspect)


def _clamped_selection(view: TorchIndexSelect) -> Inspect:
    def inspect(operands: Sequence[Array], results: Sequence[Array]) -> Violation | None:
        index = index_space.as_indices(operands[1])
        size = operands[0].shape[view.dim]
        outside = (index < 0) | (index >= size)
        if not np.count_nonzero(outside):
            return None
        at = first_index(outside)
        value = number(index[at])
        message = f"index {value} at {index_text(at)} was clamped to {min(max(value, 0), size - 1)}"
        return Violation(at, value, message, int(np.count_nonzero(outside)))

    return inspect


def dropped_updates(view: Op) -> Inspect | None:
    """Updates of `scatter` that are out of bounds."""
    if not isinstance(view, Scatter):
        return None
    count = len(view.inputs)

    def inspect(operands: Sequence[Array], results: Sequence[Array]) -> Violation | None:
        shape, indices, updates = operands[0].shape, operands[count], operands[count + 1].shape
        vectors, outside = out_of_bounds_components(view, shape, indices, updates)
        if not np.count_nonzero(outside) or not operands[count + 1].size:
            return None
        away = outside.any(axis=0)
        at = int(np.argmax(away))
        batch = index_space.batch_sizes(indices.shape, view.index_vector_dim)
        starts = dict(zip(view.scatter_dims_to_operand_dims, vectors[:, at].tolist(), strict=True))
        sizes = [updates[d] for d in view.update_window_dims]
        offsets = _first_outside(view, shape, starts, sizes)
        index = tuple(index_space.combine(_unravel(at, batch), offsets, view.update_window_dims))
        value = tuple(vectors[:, at].tolist())
        message = f"the update at {index_text(index)} was dropped: its index vector is {index_text(value)}"
        return Violation(index, value, message, int(np.count_nonzero(away)))

    return _once_for_constants(view, [count], inspect)


def _first_outside(
    view: Scatter, shape: Sequence[int], starts: dict[int, int], sizes: Sequence[int]
) -> list[int]:
    """The first index, in a window that does not fit, of an element that is out of bounds."""
    windowed_dims = list(view.windowed_dims)
    offsets = [0] * len(windowed_dims)
    if any(not 0 <= start < shape[d] for d, start in starts.items()):
        return offsets
    # The start is in bounds, so the window exceeds an upper bound, first along the last such dimension.
    ends = [(position, shape[d] - starts[d]) for position, d in enumerate(windowed_dims) if d in starts]
    last_window_dim, offset = max((position, end) for position, end in ends if end < sizes[position])
    offsets[last_window_dim] = offset
    return offsets


def _unravel(position: Any, shape: Sequence[int]) -> tuple[int, ...]:
    """The index of a position in a flattened array; () where the shape has no dimensions."""
    return tuple(map(int, np.unravel_index(int(position), tuple(shape)))) if shape else ()
