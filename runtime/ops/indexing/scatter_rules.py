"""The semantics of scatters: destinations of updates, their order, and how they are combined.

Source: specification, section "scatter".
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ...errors import counted
from ...ir import Region as IrRegion
from ...types import Array, DType, ElementType, TensorType, Type
from ..framework.attribute_kinds import DIMENSIONS, I64
from ..framework.declaration import Attribute, Evaluate, Op, Operand, Region, Result
from ..numerics.element_types import rounding
from ..reduction.bodies import overwrites, vectorize_region
from ..reduction.reducer import Arrays, Body, Reducer
from . import index_space, shuffled_schedule
from .index_space import IndexedWindows

__all__ = ["Destinations", "ScatterNumbers", "ScatterRules"]

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


class ScatterNumbers(Op):
    """The dimension numbers of a scatter."""

    update_window_dims = Attribute(DIMENSIONS, (), of="scatter_dimension_numbers")
    inserted_window_dims = Attribute(DIMENSIONS, (), of="scatter_dimension_numbers")
    input_batching_dims = Attribute(DIMENSIONS, (), of="scatter_dimension_numbers")
    scatter_indices_batching_dims = Attribute(DIMENSIONS, (), of="scatter_dimension_numbers")
    scatter_dims_to_operand_dims = Attribute(DIMENSIONS, (), of="scatter_dimension_numbers")
    index_vector_dim = Attribute(I64, 0, of="scatter_dimension_numbers")


def windowed_dims(view: ScatterNumbers | ScatterRules, rank: int) -> dict[int, int]:
    """The dimensions of inputs that windows have, each with the corresponding one of the updates."""
    dropped = (view.inserted_window_dims, view.input_batching_dims)
    window_dims = index_space.remaining_sizes(range(rank), *dropped)
    return dict(zip(window_dims, view.update_window_dims, strict=True))


class ScatterRules(Op):
    """The semantics that `scatter` and its form by index components share."""

    takes_stored_values = True

    inputs: Operand[list[TensorType]]
    updates: Operand[list[TensorType]]
    update_window_dims: Attribute[tuple[int, ...]]
    inserted_window_dims: Attribute[tuple[int, ...]]
    input_batching_dims: Attribute[tuple[int, ...]]
    scatter_indices_batching_dims: Attribute[tuple[int, ...]]
    scatter_dims_to_operand_dims: Attribute[tuple[int, ...]]
    index_vector_dim: Any
    indices_are_sorted: Attribute[bool]
    unique_indices: Attribute[bool]
    update_computation: Region[IrRegion]
    results: Result[list[TensorType]]
    added_to_negative: Any = None

    @property
    def index_type(self) -> TensorType:
        """The type of the operand with the index vectors, or with the first of their components."""
        type = self.operation.operands[len(self.inputs)].type
        assert isinstance(type, TensorType)
        return type

    def infer(self) -> list[Type]:
        pairs = zip(self.inputs, self.results, strict=True)
        return [type.with_element_type(result.element_type) for type, result in pairs]

    @functools.cached_property
    def _wider_reducer(self) -> Reducer | None:
        """The reducer that combines values of narrower types in f64; None: update_computation does."""
        is_wide = self.ordering.accumulate == "float64"
        return self.analysis.wider_reducer("float64", self.results) if is_wide else None

    @property
    def combine(self) -> Callable[[Arrays, Arrays], Arrays] | None:
        """The combining function of `_wider_reducer`, or None."""
        return None if self._wider_reducer is None else self._wider_reducer.combine

    @property
    def accumulators(self) -> Sequence[DType]:
        """The NumPy types that results have while updates are applied: each is rounded, if not in f64."""
        reducer = self._wider_reducer
        return [result.dtype for result in self.results] if reducer is None else reducer.dtypes

    @functools.cached_property
    def analysis(self) -> Body:
        """The analysis of update_computation."""
        return Body(self.update_computation)

    @functools.cached_property
    def windowed_dims(self) -> dict[int, int]:
        """The dimensions of the inputs that windows have, each with the corresponding dimension of the
        updates.
        """
        return windowed_dims(self, self.inputs[0].rank)

    @property
    def window_sizes(self) -> list[int]:
        """The window's size along each dimension of the inputs."""
        sizes = [1] * self.inputs[0].rank
        for d, d_update in self.windowed_dims.items():
            sizes[d] = self.updates[0].shape[d_update]
        return sizes

    @property
    def keeps_order(self) -> bool:
        """Whether applying the windows one after another keeps the order of the updates of each element.

        Updates are in the row-major order of all their dimensions. All updates of a destination have the same
        index along a window dimension that no start index moves, so such a dimension may be anywhere.
        """
        shape = self.updates[0].shape
        moving = [
            d_update
            for d, d_update in self.windowed_dims.items()
            if d in self.scatter_dims_to_operand_dims and shape[d_update] > 1
        ]
        scattered = [d for d, size in enumerate(shape) if d not in self.update_window_dims and size > 1]
        return not any(window < other for window in moving for other in scattered)

    def schedule(self, size: int) -> Array | None:
        """The order of `size` updates under `Options(scatter_schedule=...)`; None: lexicographic, which is
        also the input of a shuffled schedule (`shuffled_schedule`).

        Raises:
            UnsupportedError: the schedule is a permutation of another size.
        """
        chosen = self.ordering.scatter_schedule
        if chosen == "lexicographic" or chosen[:1] == ("shuffled",):
            return None
        if chosen == "reverse":
            return np.arange(size)[::-1]
        if chosen[:1] == ("random",):
            return np.random.Generator(np.random.PCG64([chosen[1], size])).permutation(size)
        if len(chosen) != size:
            raise self.unsupported(
                f"scatter_schedule has {counted(len(chosen), 'number')}, but updates have {size}"
            )
        return np.array(chosen, np.int64)

    def bind_scatter(
        self, shape: Sequence[int], indices_shape: Sequence[int], updates_shape: Sequence[int]
    ) -> Callable[..., Any]:
        """The function of the operands and of update_computation for one set of shapes.

        It takes `out` as `may_overwrite` says.
        """
        dtypes, accumulators = [result.dtype for result in self.results], self.accumulators
        count = len(dtypes)
        chunks = self.chunks(shape, indices_shape, updates_shape)
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
                vectors = self.index_vectors([array[of_indices] for array in indices])
                result_index, update_index = destinations(vectors)
                converted = [
                    update[of_updates]
                    .reshape(-1)[update_index]
                    .astype(dtype, copy=False)
                    .astype(wide, copy=False)
                    for update, dtype, wide in zip(updates, dtypes, accumulators, strict=True)
                ]
                self.update(flat, result_index, converted, update_computation)
            return self.rounded(results)

        return scatter

    def may_overwrite(self) -> tuple[tuple[int, int], ...]:
        count = len(self.results)
        return tuple([(index, index) for index in range(count)]) if self.binds_to_shapes else ()

    @property
    def binds_to_shapes(self) -> bool:
        """Whether `bind` gives a function for one set of shapes: all are known."""
        return all(value.type.is_static for value in self.operation.operands)  # type: ignore[union-attr]

    def index_vectors(self, indices: Sequence[Array]) -> Array:
        """scatter_indices, or a chunk of them, from the operands."""
        return indices[0]

    def chunks(
        self, shape: Sequence[int], indices_shape: Sequence[int], updates_shape: Sequence[int]
    ) -> list[_UpdateChunk]:
        """The chunks of updates that are applied in sequence.

        Many updates are split into chunks, so that destinations take little memory, if the updates are in
        lexicographic order and their first dimension is one of index vectors, but no batching dimension.
        """
        total = math.prod(updates_shape)
        if not total or not math.prod(shape):
            return []
        dimension = int(self.index_vector_dim == 0)
        must_stay = 0 in self.update_window_dims or dimension in self.scatter_indices_batching_dims
        if total <= 2 * _UPDATES_PER_CHUNK or must_stay or self.ordering.scatter_schedule != "lexicographic":
            return [_UpdateChunk(Destinations(self, shape, indices_shape, updates_shape), (), ())]
        size, chunks, destinations = updates_shape[0], [], {}
        rows_per_chunk = max(1, _UPDATES_PER_CHUNK * size // total)
        for first in range(0, size, rows_per_chunk):
            count = min(rows_per_chunk, size - first)
            if count not in destinations:
                chunk_indices_shape = [*indices_shape[:dimension], count, *indices_shape[dimension + 1 :]]
                destinations[count] = Destinations(
                    self, shape, chunk_indices_shape, [count, *updates_shape[1:]]
                )
            rows = (slice(first, first + count),)
            chunks.append(_UpdateChunk(destinations[count], (slice(None),) * dimension + rows, rows))
        return chunks

    def update(
        self, results: list[Array], result_index: Array, updates: list[Array], update_computation: Evaluate
    ) -> None:
        """Apply updates to `results` in order."""
        if self.combines_by_value is not None:
            self.combines_by_value(results, result_index, updates)
            return
        for level in _levels(result_index):
            destinations = result_index[level]
            current = [result[destinations] for result in results]
            new = [update[level] for update in updates]
            if self.combine is not None:
                updated_values = self.combine(tuple(current), tuple(new))
            else:
                updated_values = self.vectorized(update_computation, *current, *new)
            for result, value in zip(results, updated_values, strict=True):
                result[destinations] = value

    def rounded(self, results: Sequence[Array]) -> tuple[Array, ...]:
        """The results in their own types."""
        rounded = []
        for array, result in zip(results, self.results, strict=True):
            element_type = result.element_type
            if array.dtype != result.dtype and isinstance(element_type, ElementType):
                array = rounding(array.dtype, element_type)(array)
            rounded.append(array)
        return tuple(rounded)

    @functools.cached_property
    def vectorized(self) -> Callable[..., tuple[Array, ...]]:
        """update_computation, vectorized."""
        return vectorize_region(self.update_computation)

    @functools.cached_property
    def combines_by_value(self) -> Callable[[list[Array], Array, list[Array]], None] | None:
        """The NumPy function that applies updates in order like update_computation, if there is one."""
        if overwrites(self.update_computation):
            return _overwrite
        combine = _BY_VALUE.get(self.analysis.monoid or "")
        # NumPy rounds products of complex arrays differently from products of complex scalars.
        is_plain = isinstance(self.results[0].element_type, ElementType)
        if combine is None or not is_plain or self.accumulators[0].kind not in "biuf":
            return None
        return functools.partial(_combine, combine)


class _UpdateChunk(NamedTuple):
    """A chunk of updates: their destinations, and the slices of scatter_indices and updates."""

    destinations: Destinations
    of_indices: tuple[slice, ...]
    of_updates: tuple[slice, ...]


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
