"""scatter: updates combined into slices of inputs, at places that an array holds (specification: scatter).

The updates are cut into *units* (`scatter_layout`), each a run of elements, or several, that begins where one
index vector says. Units are taken in the schedule's order, by default the lexicographic order of the updates'
index space, a bounded number at a time:

1. `find_keys`: where each unit begins in the input, or that it is out of bounds;
2. the units are distributed to owners, each of which has a range of those places; a unit stays behind those
   before it;
3. each owner applies its units in their order.

So each element of the result sees its updates in the schedule's order whatever the number of threads, and an
owner's part of the input stays in the cache. Step 2 is left out for one thread (for two, where units are
runs), for little work and for unique indices. Integers that fall on few places are combined in a table a task
instead.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import threads as _threads
from .compilation import flat
from .copying import copied
from .indexing import UNSIGNED_BY_SIZE, index_items
from .monoids import MONOIDS, OVERWRITE, Combination, normalized, storage_dtype
from .monoids import supports as _supports_monoid
from .scatter_layout import DimensionNumbers, Layout, layout
from .threads import division
from .workspace import borrowed

COMBINERS = (OVERWRITE, *MONOIDS)
_CHUNK = 1 << 20
_TASK_UNITS = 1 << 14
_OWNER_BYTES = 1 << 18
_LEAST_OWNERS = 64
_MOST_OWNERS = 256
_RUN_OWNERS = 8
_LEAST_RUN_THREADS = 3  # owners read runs out of order: 1.5 times the work, as measured
_SERIAL_BYTES = 1 << 19
_PRIVATE_TASKS = 16
_MOST_PRIVATE_KEYS = 1 << 14
_LEAST_INDEX = -(2**63)
_UFUNCS = {
    "add": np.add, "multiply": np.multiply, "minimum": np.minimum, "maximum": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
_NONE = np.empty(0, np.int64)
_NONE.flags.writeable = False


def supports(dtype: Any, combiner: str) -> bool:
    """Whether there are loops for this combiner on this element type."""
    if combiner == OVERWRITE:
        return np.dtype(dtype).itemsize in UNSIGNED_BY_SIZE
    return _supports_monoid(dtype, combiner)


def _combination(dtype: np.dtype, combiner: str) -> Combination:
    if not supports(dtype, combiner):
        raise ValueError(f"no kernel scatters {combiner} on {dtype}")
    if combiner == OVERWRITE:
        return Combination(np.dtype(UNSIGNED_BY_SIZE[dtype.itemsize]).name, OVERWRITE)
    return normalized(dtype, combiner)


class _Arrays(NamedTuple):
    """The arrays of a call, flat; `value_step` is 0 where one update stands for all."""

    indices: np.ndarray
    least_index: int
    values: np.ndarray
    value_step: int
    schedule: np.ndarray
    result: np.ndarray


class _Chunk(NamedTuple):
    """Units `first` to `first + units`, and what `find_keys` says of them."""

    first: int
    units: int
    keys: np.ndarray
    sources: np.ndarray
    slides: np.ndarray


class _Loops:
    """The loops that scatter updates into one input: which there are, and the calls."""

    def __init__(self, plan: Layout, kind: Combination, is_unique: bool, is_scheduled: bool) -> None:
        self.kind = kind
        self.storage = storage_dtype(kind.element)
        self.by_items = plan.is_single_items and not is_scheduled
        self._plan = plan
        self._is_unique = is_unique
        self._unit_bytes = 2 * plan.unit_items * self.storage.itemsize
        self._is_large = plan.unit_count * (16 + self._unit_bytes) > _SERIAL_BYTES
        last_key = plan.last_key
        wanted = min(_MOST_OWNERS, max(_LEAST_OWNERS, last_key * self.storage.itemsize // _OWNER_BYTES))
        if not self.by_items:
            wanted = _RUN_OWNERS
        self._shift = max(0, last_key.bit_length() - wanted.bit_length() + 1)
        self._owners = (last_key >> self._shift) + 1
        self._key_dtype = np.int32 if last_key < 2**31 else np.int64
        key_bytes = np.dtype(self._key_dtype).itemsize
        self._owned_bytes = 2 * max(key_bytes, self.storage.itemsize) if self.by_items else key_bytes
        is_integer = kind.element.startswith(("int", "uint")) and kind.monoid != OVERWRITE
        few_keys = last_key < _MOST_PRIVATE_KEYS and plan.unit_count > 64 * last_key
        self._is_private = self.by_items and is_integer and few_keys
        row = _NONE if plan.slide is None else np.array(plan.slide, np.int64)
        self._key_arguments = (plan.units, plan.components, row)

    def run(self, arrays: _Arrays, threads: int | None, units: int | None = None) -> None:
        """Scatter all units; with `units` = 0 only compile what that takes."""
        plan = self._plan
        total = plan.unit_count if units is None else units
        most_threads = _threads.chosen_threads(threads) if self._is_large else 1
        is_parallel = most_threads > 1
        is_owned = is_parallel and not self._is_private and not self._is_unique
        if not self.by_items:
            is_owned = is_owned and most_threads >= _LEAST_RUN_THREADS
        most = min(total, _CHUNK)
        with borrowed(
            (most, self._key_dtype),
            (0 if self.by_items else most, np.int64),
            (0 if plan.slide is None else most, np.int64),
            (most * self._owned_bytes if is_owned else 0, np.uint8),
        ) as (keys, sources, slides, owned):
            for first in range(0, max(1, total), _CHUNK):
                chunk = _Chunk(first, min(_CHUNK, total - first), keys, sources, slides)
                self._find_keys(chunk, arrays, threads)
                if is_owned:
                    self._apply_owned(chunk, arrays, owned, threads)
                elif is_parallel and self._is_private:
                    self._apply_private(chunk, arrays, threads)
                elif is_parallel and self._is_unique:
                    self._apply(chunk, _even_bounds(chunk.units, self._unit_bytes), arrays, threads)
                else:
                    self._apply(chunk, np.array([0, chunk.units]), arrays, threads)

    def _find_keys(self, chunk: _Chunk, arrays: _Arrays, threads: int | None) -> None:
        from .scatter_loops import find_keys

        tasks = -(-chunk.units // _TASK_UNITS)
        find_keys(
            tasks, _TASK_UNITS, chunk.first, chunk.units, *self._key_arguments, arrays.indices,
            arrays.least_index, arrays.schedule, chunk.keys, chunk.sources, chunk.slides, threads=threads,
        )  # fmt: skip

    def _apply(self, chunk: _Chunk, bounds: np.ndarray, arrays: _Arrays, threads: int | None) -> None:
        """Apply the units in their order, each task those between two bounds."""
        if self.by_items:
            values = (chunk.keys, 1, arrays.values, chunk.first, arrays.value_step)
            self._update_items(bounds, *values, arrays.result, threads)
        else:
            self._update_runs(bounds, np.empty(0, self._key_dtype), chunk, arrays, threads)

    def _update_items(
        self, bounds: np.ndarray, keys: np.ndarray, key_step: int, values: np.ndarray, first: int, step: int,
        result: np.ndarray, threads: int | None,
    ) -> None:  # fmt: skip
        from .scatter_loops import update_items

        loop = update_items(*self.kind)
        loop(_tasks(bounds), bounds, keys, key_step, values, first, step, result, threads=threads)

    def _update_runs(
        self, bounds: np.ndarray, order: np.ndarray, chunk: _Chunk, arrays: _Arrays, threads: int | None
    ) -> None:
        from .scatter_loops import update_runs

        plan = self._plan
        bound = 0 if plan.slide is None else plan.slide[2]
        update_runs(*self.kind)(
            _tasks(bounds), bounds, order, chunk.keys, chunk.sources, chunk.slides, bound, plan.runs,
            plan.length, plan.piece, arrays.values, arrays.result, threads=threads,
        )  # fmt: skip

    def _apply_owned(self, chunk: _Chunk, arrays: _Arrays, owned: np.ndarray, threads: int | None) -> None:
        """Distribute the units to their owners, then let each owner apply its own."""
        from . import scatter_loops

        tasks = -(-chunk.units // _TASK_UNITS)
        counts = np.zeros((tasks, self._owners), np.int64)
        ranges = (tasks, _TASK_UNITS, chunk.units, self._shift, chunk.keys)
        scatter_loops.count_owned(*ranges, counts, threads=threads)
        ends = np.cumsum(counts.T.reshape(-1))
        places = np.ascontiguousarray((ends.reshape(self._owners, tasks) - counts.T).T)
        bounds = np.concatenate(([0], ends[tasks - 1 :: tasks])) if tasks else np.zeros(1, np.int64)
        if self.by_items:
            values = (arrays.values, chunk.first, arrays.value_step)
            keys = owned.view(self._key_dtype)
            owned_values = owned[self._owned_bytes // 2 :].view(self.storage)
            steps = [self._owned_bytes // array.itemsize for array in (keys, owned_values)]
            views = (keys, steps[0], owned_values, steps[1])
            scatter_loops.distribute_values(*ranges, *values, places, *views, threads=threads)
            owned_items = (keys, steps[0], flat(owned_values), 0, steps[1])
            self._update_items(bounds, *owned_items, arrays.result, threads)
        else:
            order = owned.view(self._key_dtype)
            scatter_loops.distribute_units(*ranges, places, order, threads=threads)
            self._update_runs(bounds, order, chunk, arrays, threads)

    def _apply_private(self, chunk: _Chunk, arrays: _Arrays, threads: int | None) -> None:
        """Integers are combined exactly in any order: each task has a table of its own at first."""
        from .scatter_loops import update_private_items

        width = self._plan.last_key + 1
        tables = np.full((_PRIVATE_TASKS, width), _identity(self.kind.monoid, self.storage), self.storage)
        bounds = np.linspace(0, chunk.units, _PRIVATE_TASKS + 1).astype(np.int64)
        values = (arrays.values, chunk.first, arrays.value_step)
        loop = update_private_items(*self.kind)
        loop(_tasks(bounds), bounds, width, chunk.keys, *values, tables.reshape(-1), threads=threads)
        if chunk.units:
            combined = _UFUNCS[self.kind.monoid].reduce(tables, axis=0, dtype=self.storage)
            _UFUNCS[self.kind.monoid](arrays.result[:width], combined, out=arrays.result[:width])


def _tasks(bounds: np.ndarray) -> int:
    return len(bounds) - 1 if bounds[-1] > 0 else 0


def _even_bounds(count: int, unit_bytes: int) -> np.ndarray:
    tasks, size = division(count, unit_bytes + 16)
    return np.minimum(np.arange(tasks + 1, dtype=np.int64) * size, count)


def _identity(monoid: str, dtype: np.dtype) -> int:
    """The value that changes no integer that it is combined with."""
    limits = np.iinfo(dtype)
    known = {"multiply": 1, "minimum": limits.max, "maximum": limits.min}
    return int(np.array(-1).astype(dtype)) if monoid == "and" else int(known.get(monoid, 0))


class PreparedScatter:
    """What `prepare` returns."""

    def __init__(
        self, shapes: tuple[tuple[int, ...], ...], dtypes: Sequence[np.dtype], index_dtype: np.dtype,
        loops: Sequence[_Loops], schedule: np.ndarray, threads: int | None,
    ) -> None:  # fmt: skip
        self._shapes = shapes
        self._dtypes = dtypes
        self._index_dtype = index_dtype
        self._loops = loops
        self._schedule = schedule
        self._threads = threads

    def __call__(
        self, inputs: Sequence[np.ndarray], scatter_indices: np.ndarray, updates: Sequence[np.ndarray], *,
        in_place: bool = False, out: Sequence[np.ndarray] | None = None,
    ) -> list[np.ndarray]:  # fmt: skip
        """The results. `in_place` writes them into `inputs`, `out` into other arrays, C-contiguous ones.

        Raises ValueError where an array has not the shape and type prepared for, or cannot be written.
        """
        self._check(inputs, scatter_indices, updates)
        results = self._results(inputs, in_place, out)
        indices = index_items(scatter_indices)
        for loops, values, result in zip(self._loops, updates, results, strict=bool(self._loops)):
            self._run(loops, indices, values, result)
        return results

    def warm(self) -> None:
        """Compile now what the first call would compile."""
        indices = index_items(np.empty(0, self._index_dtype))
        for loops in self._loops:
            values = flat(np.empty(0, loops.storage))
            arrays = _Arrays(indices, 0, values, 1, self._schedule, values.copy())
            loops.run(arrays, self._threads, units=0)

    def _run(self, loops: _Loops, indices: np.ndarray, values: np.ndarray, result: np.ndarray) -> None:
        is_one = loops.by_items and values.size > 1 and not any(values.strides)
        items = flat(values.reshape(-1)[:1] if is_one else values, loops.storage)
        written = result.reshape(-1).view(loops.storage)
        least_index = 0 if self._index_dtype == np.uint64 else _LEAST_INDEX
        loops.run(
            _Arrays(indices, least_index, items, int(not is_one), self._schedule, written), self._threads
        )

    def _results(
        self, inputs: Sequence[np.ndarray], in_place: bool, out: Sequence[np.ndarray] | None
    ) -> list[np.ndarray]:
        written = inputs if in_place else out
        if written is None:
            return [copied(array, threads=self._threads) for array in inputs]
        for array, dtype in zip(written, self._dtypes, strict=True):
            fits = array.shape == self._shapes[0] and array.dtype == dtype
            if not (fits and array.flags.c_contiguous and array.flags.writeable):
                raise ValueError("results need C-contiguous, writeable arrays of the inputs' shape and types")
        if in_place:
            return list(written)
        return [copied(array, result, self._threads) for array, result in zip(inputs, written, strict=True)]

    def _check(
        self, inputs: Sequence[np.ndarray], scatter_indices: np.ndarray, updates: Sequence[np.ndarray]
    ) -> None:
        for name, arrays, shape in (
            ("inputs", inputs, self._shapes[0]),
            ("updates", updates, self._shapes[2]),
        ):
            found = [(array.shape, array.dtype) for array in arrays]
            if found != [(shape, dtype) for dtype in self._dtypes]:
                raise ValueError(f"{name} are {found}, but {shape} and {self._dtypes} were prepared for")
        if (scatter_indices.shape, scatter_indices.dtype) != (self._shapes[1], self._index_dtype):
            raise ValueError(
                f"scatter_indices has shape {scatter_indices.shape} and type {scatter_indices.dtype}, "
                f"but {self._shapes[1]} and {self._index_dtype} were prepared for"
            )


def prepare(
    input_shape: Sequence[int],
    scatter_indices_shape: Sequence[int],
    updates_shape: Sequence[int],
    dtypes: Sequence[Any],
    index_dtype: Any,
    combiner: str | Sequence[str],
    *,
    update_window_dims: Sequence[int],
    inserted_window_dims: Sequence[int],
    input_batching_dims: Sequence[int],
    scatter_indices_batching_dims: Sequence[int],
    scatter_dims_to_operand_dims: Sequence[int],
    index_vector_dim: int,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    schedule: np.ndarray | None = None,
    threads: int | None = None,
) -> PreparedScatter:
    """Decide how to scatter arrays of these shapes; nothing is compiled yet.

    `dtypes` has the element type of each input, `combiner` one of COMBINERS for all inputs or for each. The
    attributes are the specification's, and are taken to meet its constraints. `schedule` is the order in
    which updates are applied, an int64 permutation of the numbers of the updates' index space in
    lexicographic order; None is that order itself. With `unique_indices` the promise is relied upon: if it
    does not hold, which update of an element comes last is not known, nor is every update counted.
    `indices_are_sorted` promises what these loops do not need.
    Raises ValueError for shapes that do not fit, a combiner that `supports` denies, or a schedule of another
    size.
    """
    shapes = (tuple(input_shape), tuple(scatter_indices_shape), tuple(updates_shape))
    types = [np.dtype(dtype) for dtype in dtypes]
    combiners = [combiner] * len(types) if isinstance(combiner, str) else list(combiner)
    kinds = [_combination(dtype, name) for dtype, name in zip(types, combiners, strict=True)]
    order = _NONE if schedule is None else flat(np.asarray(schedule, np.int64))
    numbers = DimensionNumbers(
        update_window_dims, inserted_window_dims, input_batching_dims, scatter_indices_batching_dims,
        scatter_dims_to_operand_dims, index_vector_dim,
    )  # fmt: skip
    loops: list[_Loops] = []
    if math.prod(updates_shape) and math.prod(input_shape):
        _check_schedule(schedule, math.prod(updates_shape))
        plan = layout(*shapes, numbers, schedule is not None)
        loops = [_Loops(plan, kind, unique_indices, schedule is not None) for kind in kinds]
    return PreparedScatter(shapes, types, np.dtype(index_dtype), loops, order, threads)


def _check_schedule(schedule: np.ndarray | None, size: int) -> None:
    if schedule is None:
        return
    order = np.asarray(schedule).reshape(-1)
    if order.size != size or not np.array_equal(np.sort(order), np.arange(size)):
        raise ValueError(f"schedule must be a permutation of the numbers below {size}")
