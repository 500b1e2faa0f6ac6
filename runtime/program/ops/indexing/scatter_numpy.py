"""The NumPy implementation of scatters: destinations and updates of whole arrays.

Updates by one ufunc are applied by `ufunc.at`. For other update computations updates are grouped into levels
that share no destination, and a level is one call of the vectorized computation. Many updates are split into
chunks, so that destinations take little memory.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ....kernels.named_tuples import NamedTuple
from ....types import Array, ElementType
from ..framework import rules
from ..framework.declaration import Evaluate
from ..reduction.bodies import VectorizedRegion, overwrites, vectorize_region
from .scatter_destinations import Destinations, shapes_of
from .scatter_rules import ScatterRules

_BY_VALUE: Final[dict[str, np.ufunc]] = {
    "add": np.add,
    "multiply": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
"""Updates whose NumPy function combines one element at a time, in order, exactly as the operation does."""

_UPDATES_PER_CHUNK: Final = 1 << 18
"""About how many updates are applied at a time, so that destinations and values stay in the cache."""


def bind(view: ScatterRules) -> Callable[..., Any]:
    """The function of the operands and of update_computation; it takes `out` as `may_overwrite` says."""
    if view.binds_to_shapes:
        return _bind_to_shapes(view, *shapes_of(view))

    def scatter(*operands: Array, update_computation: Evaluate) -> Any:
        rules.check_actual_sizes(view, *operands)
        count = len(view.inputs)
        shapes = operands[0].shape, operands[count].shape, operands[-1].shape
        return _bind_to_shapes(view, *shapes)(*operands, update_computation=update_computation)

    return scatter


def _bind_to_shapes(
    view: ScatterRules, shape: Sequence[int], indices_shape: Sequence[int], updates_shape: Sequence[int]
) -> Callable[..., Any]:
    """The function for one set of shapes."""
    dtypes, accumulators = [result.dtype for result in view.results], view.accumulators
    count = len(dtypes)
    chunks = _chunks(view, shape, indices_shape, updates_shape)
    update = _Update(view)
    nowhere = (None,) * count

    def scatter(*operands: Array, update_computation: Evaluate, out: Any = nowhere) -> Any:
        inputs, indices, updates = operands[:count], operands[count:-count], operands[-count:]
        results = [
            array
            if target is not None and target.dtype == wide
            else np.array(array.astype(dtype, copy=False), wide, order="C")
            for array, target, dtype, wide in zip(inputs, out, dtypes, accumulators, strict=True)
        ]
        flat = [result.reshape(-1) for result in results]
        for destinations, of_indices, of_updates in chunks:
            vectors = view.index_vectors([array[of_indices] for array in indices])
            result_index, update_index = destinations(vectors)
            converted = [
                array[of_updates].reshape(-1)[update_index].astype(dtype, copy=False).astype(wide, copy=False)
                for array, dtype, wide in zip(updates, dtypes, accumulators, strict=True)
            ]
            update(flat, result_index, converted, update_computation)
        return view.rounded(results)

    return scatter


class _UpdateChunk(NamedTuple):
    """A chunk of updates: their destinations, and the slices of scatter_indices and updates."""

    destinations: Destinations
    of_indices: tuple[slice, ...]
    of_updates: tuple[slice, ...]


def _chunks(
    view: ScatterRules, shape: Sequence[int], indices_shape: Sequence[int], updates_shape: Sequence[int]
) -> list[_UpdateChunk]:
    """The chunks of updates that are applied in sequence.

    Many updates are split into chunks, so that destinations take little memory, if the updates are in
    lexicographic order and their first dimension is one of index vectors, but no batching dimension.
    """
    total = math.prod(updates_shape)
    if not total or not math.prod(shape):
        return []
    dimension = int(view.index_vector_dim == 0)
    must_stay = 0 in view.update_window_dims or dimension in view.scatter_indices_batching_dims
    if total <= 2 * _UPDATES_PER_CHUNK or must_stay or view.ordering.scatter_schedule != "lexicographic":
        return [_UpdateChunk(Destinations(view, shape, indices_shape, updates_shape), (), ())]
    size, chunks, destinations = updates_shape[0], [], {}
    rows_per_chunk = max(1, _UPDATES_PER_CHUNK * size // total)
    for first in range(0, size, rows_per_chunk):
        count = min(rows_per_chunk, size - first)
        if count not in destinations:
            chunk_indices_shape = [*indices_shape[:dimension], count, *indices_shape[dimension + 1 :]]
            destinations[count] = Destinations(
                view, shape, chunk_indices_shape, [count, *updates_shape[1:]]
            )
        rows = (slice(first, first + count),)
        chunks.append(_UpdateChunk(destinations[count], (slice(None),) * dimension + rows, rows))
    return chunks


class _Update:
    """Applies updates to the flattened results, in order."""

    def __init__(self, view: ScatterRules) -> None:
        self._view = view
        self._combine = view.combine

    @functools.cached_property
    def _by_value(self) -> Callable[[list[Array], Array, list[Array]], None] | None:
        return _by_value(self._view)

    @functools.cached_property
    def _vectorized(self) -> VectorizedRegion:
        return vectorize_region(self._view.update_computation)

    def __call__(
        self, results: list[Array], result_index: Array, updates: list[Array], update_computation: Evaluate
    ) -> None:
        if self._by_value is not None:
            self._by_value(results, result_index, updates)
            return
        for level in _levels(result_index):
            destinations = result_index[level]
            current = [result[destinations] for result in results]
            new = [update[level] for update in updates]
            if self._combine is not None:
                updated_values = self._combine(tuple(current), tuple(new))
            else:
                updated_values = self._vectorized(update_computation, *current, *new)
            for result, value in zip(results, updated_values, strict=True):
                result[destinations] = value


def _by_value(view: ScatterRules) -> Callable[[list[Array], Array, list[Array]], None] | None:
    """The NumPy function that applies updates in order like update_computation, if there is one."""
    if overwrites(view.update_computation):
        return _overwrite
    combine = _BY_VALUE.get(view.analysis.monoid or "")
    # NumPy rounds products of complex arrays differently from products of complex scalars.
    is_plain = isinstance(view.results[0].element_type, ElementType)
    if combine is None or not is_plain or view.accumulators[0].kind not in "biuf":
        return None
    return functools.partial(_combine, combine)


def _overwrite(results: list[Array], result_index: Array, updates: list[Array]) -> None:
    for result, update in zip(results, updates, strict=True):
        result[result_index] = update


def _combine(combine: np.ufunc, results: list[Array], result_index: Array, updates: list[Array]) -> None:
    combine.at(results[0], result_index, updates[0])


def _levels(result_index: Array) -> list[Array]:
    """Updates in groups that share no destination: the k-th has the k-th update of each destination."""
    order = np.argsort(result_index, kind="stable")
    by_destination = result_index[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = by_destination[1:] != by_destination[:-1]
    firsts = np.flatnonzero(is_first)
    repeats = np.arange(len(order)) - np.repeat(firsts, np.diff(firsts, append=len(order)))
    by_level = order[np.argsort(repeats, kind="stable")]
    return np.split(by_level, np.cumsum(np.bincount(repeats))[:-1])
