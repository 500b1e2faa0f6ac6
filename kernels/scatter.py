"""scatter: updates combined into slices of inputs, at places that an array holds (specification: scatter).

The updates are cut into *units* (`scatter_layout`), each a run of elements, or several, that begins where one
index vector says. Units are taken in the schedule's order, by default the lexicographic order of the updates'
index space:

1. the units are distributed to owners, each of which has a range of the places where units begin; a unit
   stays behind those before it;
2. each owner applies its units in their order. Where its range of places is a range of the result too, it
   first gives that its first values, so that what it works on is in the cache; rows that are not very short
   are made one after the other then, from the first value and all updates.

So each element of the result sees its updates in the schedule's order whatever the number of threads. Where
caches hold what the owners have, each looks for its units itself, and it searches for them where indices are
sorted. Batches are owners of what is theirs. One thread applies the units as they come, and so do several
where indices are unique and the result has its first values. Of windows that slide, each task applies those
parts that lie in its part of the input. Integers that fall on few places are combined in tables of each task
instead.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import threads as _threads
from .blocks import PAST_CACHES_BYTES
from .compilation import flat
from .copying import copied
from .indexing import UNSIGNED_BY_SIZE, index_items, row_major_steps
from .monoids import MONOIDS, OVERWRITE, Combination, normalized, storage_dtype
from .monoids import supports as _supports_monoid
from .scatter_layout import Batches, DimensionNumbers, Layout, Windows, layout, windows
from .threads import division
from .workspace import borrowed

COMBINERS = (OVERWRITE, *MONOIDS)
_CHUNK_BYTES = 48 << 20
_TASK_UNITS = 1 << 14
_OWNER_BYTES = 1 << 18
_CHOOSING_BYTES = 2 << 20  # a processor's own cache holds about so much
_MOST_CHOOSING = 8
_LEAST_OWNERS = 64
_MOST_OWNERS = 256
_SERIAL_BYTES = 1 << 19
_NEAR_BYTES = 1 << 20  # a processor's own cache holds such a result
_MOST_RANGES = 8
_LEAST_ROW_BYTES = 32
_MOST_PRIVATE_KEYS = 1 << 14
_LEAST_INDEX = -(2**63)
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
    """The arrays of a call, flat.

    `addresses` are those of the first index of each component, which have the type of `index_sample`.
    `value_step` is 0 where one update stands for all. `initial` has the result's first values, or one for
    all of them; it is empty where they are there already.
    """

    addresses: np.ndarray
    index_sample: np.ndarray
    least_index: int
    values: np.ndarray
    value_step: int
    schedule: np.ndarray
    initial: np.ndarray
    result: np.ndarray


class Promises(NamedTuple):
    """The attributes of scatter that promise something of the indices, named as in the specification."""

    indices_are_sorted: bool
    unique_indices: bool


class _Loops:
    """The loops that scatter updates into one input: which there are, and the calls."""

    def __init__(
        self, plan: Layout, sliding: Windows | None, kind: Combination, promises: Promises,
        is_scheduled: bool, sizes: tuple[int, int],
    ) -> None:  # fmt: skip
        self.kind = kind
        self.storage = storage_dtype(kind.element)
        self.by_items = plan.is_single_items and not is_scheduled and sliding is None
        self._plan = plan
        self._windows = sliding
        self._is_unique = promises.unique_indices
        self._is_sorted = promises.indices_are_sorted and plan.is_searchable and not is_scheduled
        self._unit_bytes = 2 * plan.unit_items * self.storage.itemsize
        self._work_bytes = plan.unit_count * (16 + self._unit_bytes)
        input_size, updates_size = sizes
        last_key = plan.last_key
        self._input_bytes = input_size * self.storage.itemsize
        wanted = min(_MOST_OWNERS, max(_LEAST_OWNERS, self._input_bytes // _OWNER_BYTES))
        self._shift = max(0, last_key.bit_length() - wanted.bit_length() + 1)
        self._owners = (last_key >> self._shift) + 1
        is_short = max(input_size, updates_size) < 2**31
        self._key_dtype = np.dtype(np.int32 if is_short else np.int64)
        self._fields = 2 + (plan.slide is not None)
        self._owned_bytes = self._fields * self._key_dtype.itemsize
        if self.by_items:
            self._owned_bytes = 2 * max(self._key_dtype.itemsize, self.storage.itemsize)
        is_integer = kind.element.startswith(("int", "uint")) and kind.monoid != OVERWRITE
        few_keys = last_key < _MOST_PRIVATE_KEYS and plan.unit_count > 64 * last_key
        self._is_private = self.by_items and is_integer and few_keys
        self._source_step = 0 if is_scheduled else plan.source_step
        row_bytes = plan.unit_items * self.storage.itemsize
        self._makes_rows = plan.is_row and row_bytes >= _LEAST_ROW_BYTES
        batches = None if is_scheduled or self.by_items else plan.batches(input_size)
        self._batches = batches if batches and self._input_bytes <= _NEAR_BYTES * batches.number else None
        row = _NONE if plan.slide is None else np.array(plan.slide, np.int64)
        self._unit_arguments = (plan.units, plan.components, row)

    def starts_ranges(self, threads: int | None) -> bool:
        """Whether owners give the result its first values, where it has none yet."""
        return self._windows is None and self._plan.is_row and self._has_owners(True, threads)

    def _has_owners(self, starts: bool, threads: int | None) -> bool:
        """Whether ranges of keys have owners, which give the result its first values if it `starts`."""
        work_bytes = self._work_bytes + (self._input_bytes if starts else 0)
        if work_bytes <= _SERIAL_BYTES or self._is_private or (self._is_unique and not starts):
            return False
        return self._batches is not None or _threads.chosen_threads(threads) > 1

    def run(self, arrays: _Arrays, threads: int | None) -> None:
        """Scatter all units."""
        self._run(arrays, self._plan.unit_count, arrays.initial.size > 0, threads)

    def warm(self, arrays: _Arrays, threads: int | None) -> None:
        """Compile what `run` takes."""
        self._run(arrays, 0, self._plan.is_row, threads)

    def _run(self, arrays: _Arrays, total: int, starts: bool, threads: int | None) -> None:
        if self._windows is not None:
            self._apply_windows(self._windows, min(total, 1), arrays, threads)
        elif self._has_owners(starts, threads):
            owners = min(_threads.chosen_threads(threads), _MOST_CHOOSING)
            if self._is_sorted and not self._makes_far_rows(starts):
                self._apply_sorted(total, arrays, threads)
            elif self.by_items and self._input_bytes <= owners * _CHOOSING_BYTES:
                self._apply_chosen_items(owners if total else 0, total, arrays, threads)
            elif self._batches is not None:
                self._apply_batches(self._batches, total, arrays, threads)
            elif not self.by_items and self._finds_few_units(threads):
                self._apply_chosen_runs(total, arrays, threads)
            else:
                self._apply_owned(total, arrays, threads)
        elif self._is_private and self._work_bytes > _SERIAL_BYTES:
            self._apply_private(total, arrays, threads)
        else:
            self._apply_in_order(total, arrays, threads)

    def _located(self, arrays: _Arrays) -> tuple[Any, ...]:
        """What `scatter_units.locate` is given as `where`."""
        return (*self._unit_arguments, *arrays[:3], arrays.schedule)

    def _runs(self) -> tuple[Any, ...]:
        """What the loops are given of the runs of a unit."""
        plan = self._plan
        bound = 0 if plan.slide is None else plan.slide[2]
        return plan.grain, bound, plan.runs, plan.length, plan.piece

    def _apply_in_order(self, total: int, arrays: _Arrays, threads: int | None) -> None:
        """Apply the units as they come, several at the same time where indices are unique."""
        from .scatter_loops import update_items_in_order

        tasks, size = (1, total) if total else (0, 1)
        if self._is_unique and self._work_bytes > _SERIAL_BYTES:
            tasks, size = division(total, self._unit_bytes + 16)
        if not self.by_items:
            self._apply_runs_in_order(tasks, size, 0, total, arrays, threads)
            return
        sample = np.empty(0, self._key_dtype)
        located = (tasks, size, total, self._located(arrays), sample)
        items = (arrays.values, arrays.value_step, arrays.result)
        update_items_in_order(*self.kind)(*located, *items, threads=threads)

    def _finds_few_units(self, threads: int | None) -> bool:
        """Whether owners choose their runs among all, and the processors' own caches hold what they own."""
        few_threads = _threads.chosen_threads(threads) <= _MOST_RANGES
        can_choose = self._plan.slide is None and self._source_step > 0
        return can_choose and few_threads and self._input_bytes <= _NEAR_BYTES

    def _apply_batches(self, batches: Batches, total: int, arrays: _Arrays, threads: int | None) -> None:
        """Let owners of batches apply their units as they come."""
        work = (self._input_bytes + self._work_bytes) // batches.number
        tasks, each = division(batches.number, work, batches.number)
        tasks = tasks if total else 0
        self._apply_runs_in_order(tasks, each * batches.units, each * batches.keys, total, arrays, threads)

    def _apply_runs_in_order(
        self, tasks: int, size: int, width: int, total: int, arrays: _Arrays, threads: int | None
    ) -> None:
        from .scatter_run_loops import update_runs_in_order

        located = (self._located(arrays), np.empty(0, self._key_dtype))
        runs = (*self._runs(), arrays.values, arrays.initial, arrays.result)
        update_runs_in_order(*self.kind)(tasks, size, total, width, *located, *runs, threads=threads)

    def _apply_chosen_runs(self, total: int, arrays: _Arrays, threads: int | None) -> None:
        """Let owners of ranges of keys, one for each thread, choose their units among all."""
        from .scatter_run_loops import update_chosen_runs

        plan, keys = self._plan, self._plan.last_key + 1
        width = -(-keys // _threads.chosen_threads(threads))
        owners = -(-keys // width)
        given = (self._source_step, self._located(arrays), np.empty(0, self._key_dtype), plan.grain)
        runs = (plan.runs, plan.piece, arrays.values, arrays.initial, arrays.result)
        tasks = owners if total else 0
        update_chosen_runs(*self.kind)(tasks, owners, width, total, *given, *runs, threads=threads)

    def _apply_windows(self, plan: Windows, tasks: int, arrays: _Arrays, threads: int | None) -> None:
        """Apply windows that slide as they come; each task has a part of the input's places of its own."""
        from .scatter_window_loops import update_windows

        count = math.prod(plan.units[:, 0].tolist())
        divided = int(plan.components[:, 2].argmax())
        bound = int(plan.components[divided, 1])
        if self._work_bytes > _SERIAL_BYTES:
            tasks *= min(_threads.chosen_threads(threads), _MOST_RANGES, bound)
        width = -(-bound // max(1, tasks))
        indexed = (plan.units, plan.components, *arrays[:3])
        runs = (plan.runs, plan.items, plan.inner, plan.piece, arrays.values, arrays.result)
        update_windows(*self.kind)(tasks, count, divided, width, *indexed, *runs, threads=threads)

    def _apply_chosen_items(self, owners: int, total: int, arrays: _Arrays, threads: int | None) -> None:
        """Let each owner choose its units among all."""
        from .scatter_loops import update_chosen_items

        size = -(-arrays.result.size // max(1, owners))
        owners = -(-arrays.result.size // size)
        sample = np.empty(0, self._key_dtype)
        items = (arrays.values, arrays.value_step, arrays.initial, arrays.result)
        update = update_chosen_items(*self.kind)
        update(owners, owners, size, total, self._located(arrays), sample, *items, threads=threads)

    def _makes_far_rows(self, starts: bool) -> bool:
        """Whether rows are made one after the other, as the units are distributed to owners."""
        return starts and self._makes_rows and not self.by_items and self._input_bytes > _NEAR_BYTES

    def _apply_sorted(self, total: int, arrays: _Arrays, threads: int | None) -> None:
        """Let each owner search for its units."""
        from . import scatter_loops, scatter_run_loops

        plan, width = self._plan, 1 << self._shift
        tasks = self._owners if total else 0
        units = (tasks, self._owners, width, total, self._located(arrays), np.empty(0, self._key_dtype))
        if self.by_items:
            items = (arrays.values, arrays.value_step, arrays.initial, arrays.result)
            scatter_loops.update_sorted_items(*self.kind)(*units, *items, threads=threads)
        else:
            runs = (plan.grain, plan.runs, plan.piece, arrays.values, arrays.initial, arrays.result)
            scatter_run_loops.update_sorted_runs(*self.kind)(*units, *runs, threads=threads)

    def _apply_owned(self, total: int, arrays: _Arrays, threads: int | None) -> None:
        """Distribute the units to their owners, then let each owner apply its own; a bounded number at a
        time."""
        located = 1 if self.by_items else self._fields
        most = min(total, _CHUNK_BYTES // (located * self._key_dtype.itemsize + self._owned_bytes))
        wanted = [(most if field < located else 0, self._key_dtype) for field in range(3)]
        with borrowed(*wanted, (most * self._owned_bytes, np.uint8)) as room:
            initial = arrays.initial
            for first in range(0, max(1, total), max(1, most)):
                chunk = arrays._replace(initial=initial)
                self._apply_chunk(first, min(most, total - first), chunk, room, threads)
                initial = initial[:0]

    def _apply_chunk(
        self, first: int, count: int, arrays: _Arrays, room: Sequence[np.ndarray], threads: int | None
    ) -> None:
        from . import scatter_loops, scatter_run_loops, scatter_units

        *located, owned = room
        tasks = -(-count // _TASK_UNITS)
        offsets = np.empty((tasks, self._owners + 1), np.int64)
        units = (tasks, _TASK_UNITS, first, count, self._located(arrays), self._shift, offsets)
        start = ((1 << self._shift) * self._plan.grain, arrays.initial, arrays.result)
        keys = owned.view(self._key_dtype)
        owners = self._owners if tasks else 0
        if self.by_items:
            values = owned[self._owned_bytes // 2 :].view(self.storage)
            steps = [self._owned_bytes // array.itemsize for array in (keys, values)]
            given = (located[0], arrays.values, arrays.value_step, keys, steps[0], values, steps[1])
            scatter_units.distribute_values(*units, *given, threads=threads)
            items = (offsets, keys, steps[0], flat(values), steps[1])
            scatter_loops.update_items(*self.kind)(owners, *items, *start, threads=threads)
        else:
            step = self._fields
            scatter_units.distribute_runs(*units, *located, keys, step, threads=threads)
            records = (keys, keys[1:], keys[2 : len(keys) * (step - 2)], step)
            if arrays.initial.size > 0 and self._makes_rows:
                self._make_rows(owners, offsets, keys, located[0], arrays, threads)
                return
            runs = (*self._runs(), arrays.values)
            update = scatter_run_loops.update_runs(*self.kind)
            update(owners, offsets, *records, *runs, *start, threads=threads)

    def _make_rows(
        self, owners: int, offsets: np.ndarray, records: np.ndarray, grouped: np.ndarray, arrays: _Arrays,
        threads: int | None,
    ) -> None:  # fmt: skip
        """Let owners group their units, and write each row of the result once."""
        from .scatter_run_loops import make_rows

        plan, initial, result = self._plan, arrays.initial, arrays.result
        items = plan.length * plan.piece
        initial_step = plan.grain
        if initial.size == 1:
            initial, initial_step = flat(np.repeat(initial, plan.grain)), 0
        is_large = result.nbytes >= PAST_CACHES_BYTES and items == plan.grain
        past_caches = is_large and (items * result.itemsize) % 64 == result.ctypes.data % 64 == 0
        units = (offsets, records, records[1:], 2, grouped)
        rows = (1 << self._shift, plan.grain, items, arrays.values, initial, initial_step)
        make_rows(*self.kind)(owners, *units, *rows, past_caches, result, threads=threads)

    def _apply_private(self, total: int, arrays: _Arrays, threads: int | None) -> None:
        from .scatter_tables import combine_in_tables

        where, sample = self._located(arrays), np.empty(0, self._key_dtype)
        result = arrays.result[: self._plan.last_key + 1]
        combine_in_tables(self.kind, total, where, sample, arrays.values, arrays.value_step, result, threads)


def _is_dense(array: np.ndarray) -> bool:
    """Whether an array's elements lie one after the other, or are one for all."""
    return array.flags.c_contiguous or not any(array.strides)


class PreparedScatter:
    """What `prepare` returns."""

    def __init__(
        self, shapes: tuple[tuple[int, ...], ...], dtypes: Sequence[np.dtype], index_dtype: np.dtype,
        components: int, component_step: int | None, loops: Sequence[_Loops], schedule: np.ndarray,
        threads: int | None,
    ) -> None:  # fmt: skip
        self._shapes = shapes
        self._dtypes = dtypes
        self._index_dtype = index_dtype
        self._components = components
        self._component_step = component_step
        self._loops = loops
        self._schedule = schedule
        self._threads = threads

    def __call__(
        self, inputs: Sequence[np.ndarray], columns: Sequence[np.ndarray], updates: Sequence[np.ndarray], *,
        in_place: bool = False, out: Sequence[np.ndarray] | None = None,
    ) -> list[np.ndarray]:  # fmt: skip
        """The results. `in_place` writes them into `inputs`, `out` into other arrays, C-contiguous ones.

        `columns` are the arrays of indices: one, or one for each component of the index vectors.
        Raises ValueError where an array has not the shape and type prepared for, or cannot be written.
        """
        self._check(inputs, columns, updates)
        results = inputs if in_place else out
        if results is None:
            results = [np.empty(array.shape, array.dtype) for array in inputs]
        else:
            self._check_written(results)
        indices = [index_items(column) for column in columns]
        for number, (array, result) in enumerate(zip(inputs, results, strict=True)):
            if self._loops:
                self._run(self._loops[number], indices, array, updates[number], result)
            elif array is not result:
                copied(array, result, self._threads)
        return list(results)

    def warm(self) -> None:
        """Compile now what the first call would compile."""
        indices = index_items(np.empty(0, self._index_dtype))
        for loops in self._loops:
            values = flat(np.empty(0, loops.storage))
            arrays = _Arrays(_NONE, indices, 0, values, 1, self._schedule, values, values.copy())
            loops.warm(arrays, self._threads)

    def _run(
        self, loops: _Loops, indices: list[np.ndarray], array: np.ndarray, values: np.ndarray,
        result: np.ndarray,
    ) -> None:  # fmt: skip
        is_one = loops.by_items and values.size > 1 and not any(values.strides)
        items = flat(values.reshape(-1)[:1] if is_one else values, loops.storage)
        written = result.reshape(-1).view(loops.storage)
        initial = flat(written[:0])
        if array is not result and loops.starts_ranges(self._threads) and _is_dense(array):
            initial = flat(array if array.flags.c_contiguous else array.reshape(-1)[:1], loops.storage)
        elif array is not result:
            copied(array, result, self._threads)
        least_index = 0 if self._index_dtype == np.uint64 else _LEAST_INDEX
        indexed = (self._addresses(indices), indices[0][:0], least_index)
        arrays = _Arrays(*indexed, items, int(not is_one), self._schedule, initial, written)
        loops.run(arrays, self._threads)

    def _addresses(self, indices: list[np.ndarray]) -> np.ndarray:
        """Where the indices of each component begin."""
        starts = np.array([column.ctypes.data for column in indices], np.int64)
        if self._component_step is None:
            return starts
        return starts + np.arange(self._components) * (self._component_step * indices[0].itemsize)

    def _check_written(self, written: Sequence[np.ndarray]) -> None:
        for array, dtype in zip(written, self._dtypes, strict=True):
            fits = array.shape == self._shapes[0] and array.dtype == dtype
            if not (fits and array.flags.c_contiguous and array.flags.writeable):
                raise ValueError("results need C-contiguous, writeable arrays of the inputs' shape and types")

    def _check(
        self, inputs: Sequence[np.ndarray], columns: Sequence[np.ndarray], updates: Sequence[np.ndarray]
    ) -> None:
        for name, arrays, shape in (
            ("inputs", inputs, self._shapes[0]),
            ("updates", updates, self._shapes[2]),
        ):
            found = [(array.shape, array.dtype) for array in arrays]
            if found != [(shape, dtype) for dtype in self._dtypes]:
                raise ValueError(f"{name} are {found}, but {shape} and {self._dtypes} were prepared for")
        count = self._components if self._component_step is None else 1
        wanted = [(self._shapes[1], self._index_dtype)] * count
        given = [(column.shape, column.dtype) for column in columns]
        if given != wanted:
            raise ValueError(f"indices are {given}, but {wanted} were prepared for")


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
    added_to_negative: Sequence[int] | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    schedule: np.ndarray | None = None,
    threads: int | None = None,
) -> PreparedScatter:
    """Decide how to scatter arrays of these shapes; nothing is compiled yet.

    `dtypes` has the element type of each input, `combiner` one of COMBINERS for all inputs or for each. The
    attributes are the specification's, and are taken to meet its constraints. Where `index_vector_dim` is the
    rank of the indices, each component of the index vectors has an array of that shape, a column; to a
    negative index `added_to_negative` of its component is added before anything else. `schedule` is the order
    in which updates are applied, an int64 permutation of the numbers of the updates' index space in
    lexicographic order; None is that order itself. With `unique_indices` the promise is relied upon: if it
    does not hold, which update of an element comes last is not known, nor is every update counted. So it is
    with `indices_are_sorted`: if that does not hold, some updates may not be applied.
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
    components = len(scatter_dims_to_operand_dims)
    loops: list[_Loops] = []
    if math.prod(updates_shape) and math.prod(input_shape):
        _check_schedule(schedule, math.prod(updates_shape))
        added = added_to_negative or (0,) * components
        plan = layout(*shapes, numbers, schedule is not None, added)
        sliding = None if schedule is not None else windows(*shapes, numbers, added)
        sizes = (math.prod(input_shape), math.prod(updates_shape))
        promises = Promises(indices_are_sorted, unique_indices)
        loops = [_Loops(plan, sliding, kind, promises, schedule is not None, sizes) for kind in kinds]
    has_vectors = index_vector_dim < len(shapes[1])
    step = row_major_steps(shapes[1])[index_vector_dim] if has_vectors else None
    return PreparedScatter(shapes, types, np.dtype(index_dtype), components, step, loops, order, threads)


def _check_schedule(schedule: np.ndarray | None, size: int) -> None:
    if schedule is None:
        return
    order = np.asarray(schedule).reshape(-1)
    if order.size != size or not np.array_equal(np.sort(order), np.arange(size)):
        raise ValueError(f"schedule must be a permutation of the numbers below {size}")
