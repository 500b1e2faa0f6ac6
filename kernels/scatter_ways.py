"""The ways in which `scatter` applies its units, and which of them serves.

Owners have units distributed to them. Where caches hold what the owners have, each looks for its units
itself, or has some columns of all of them; and it searches for them where indices are sorted. Batches are
owners of what is theirs. One thread applies the units as they come, and so do several where indices are
unique and the result has its first values. Of windows that slide, each task applies those parts that lie in
its part of the input. Integers that fall on few places are combined in tables of each task instead.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import threads as _threads
from .blocks import CACHE_LINE, PAST_CACHES_BYTES
from .compilation import flat
from .monoids import OVERWRITE, Combination, storage_dtype
from .processor import divides_lines
from .scatter_layout import Batches, Layout, Windows
from .threads import division
from .workspace import borrowed

__all__ = ["Arrays", "Loops", "Promises"]

_CHUNK_BYTES = 48 << 20
_TASK_UNITS = 1 << 14
_OWNER_BYTES = 1 << 18
_CHOOSING_BYTES = 16 << 20  # where caches hold so much, it costs less to look at all units
_MOST_CHOOSING = 8
_LEAST_OWNERS = 64
_MOST_OWNERS = 256
_SERIAL_BYTES = 3 << 20  # to wake another thread takes as long as to move so many
_SERIAL_NEAR_BYTES = 10 << 20  # the same where all owners look at all units, of a result that caches hold
_SERIAL_SHORT_BYTES = 24 << 20  # the same for short rows: memory is read by more than their lengths
_SHORT_ROWS_BYTES = range(64, 512)
_NEAR_BYTES = 1 << 20  # a processor's own cache holds such a result
_MOST_RANGES = 8
_LEAST_ROW_BYTES = 128
_LEAST_MADE_BYTES = 8 << 20  # all caches together hold less
_MOST_PRIVATE_KEYS = 1 << 14


class Arrays(NamedTuple):
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


class Loops:
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
        self._unit_count = plan.unit_count
        self._work_bytes = self._unit_count * (16 + self._unit_bytes)
        input_size, updates_size = sizes
        last_key = plan.last_key
        self._input_bytes = input_size * self.storage.itemsize
        wanted = min(_MOST_OWNERS, max(_LEAST_OWNERS, self._input_bytes // _OWNER_BYTES))
        self._shift = max(0, last_key.bit_length() - wanted.bit_length() + 1)
        self._owners = (last_key >> self._shift) + 1
        is_short = max(input_size, updates_size) < 2**31
        self._key_dtype = np.dtype(np.int32 if is_short else np.int64)
        self._key_sample = np.empty(0, self._key_dtype)
        self._fields = 2 + (plan.slide is not None)
        self._owned_bytes = self._fields * self._key_dtype.itemsize
        if self.by_items:
            self._owned_bytes = 2 * max(self._key_dtype.itemsize, self.storage.itemsize)
        is_integer = kind.element.startswith(("int", "uint")) and kind.monoid != OVERWRITE
        few_keys = last_key < _MOST_PRIVATE_KEYS and self._unit_count > 64 * last_key
        self._is_private = self.by_items and is_integer and few_keys
        self._source_step = 0 if is_scheduled else plan.source_step
        row_bytes = plan.unit_items * self.storage.itemsize
        self._unit_is_short_row = row_bytes in _SHORT_ROWS_BYTES
        is_far = self._input_bytes >= _LEAST_MADE_BYTES
        self._makes_rows = plan.is_row and row_bytes >= _LEAST_ROW_BYTES and is_far
        batches = None if is_scheduled or self.by_items else plan.batches(input_size)
        self._batches = batches if batches and self._input_bytes <= _NEAR_BYTES * batches.number else None
        row = np.empty(0, np.int64) if plan.slide is None else np.array(plan.slide, np.int64)
        self._unit_arguments = (plan.units, plan.components, row)
        bound = 0 if plan.slide is None else plan.slide[2]
        self._runs = (plan.grain, bound, plan.runs, plan.length, plan.piece)

    def starts_ranges(self, threads: int | None) -> bool:
        """Whether owners give the result its first values, where it has none yet."""
        return self._windows is None and self._plan.is_row and self._has_owners(True, threads)

    def _has_owners(self, starts: bool, threads: int | None) -> bool:
        """Whether ranges of keys have owners, which give the result its first values if it `starts`."""
        work_bytes = self._work_bytes + (self._input_bytes if starts else 0)
        if work_bytes <= _SERIAL_BYTES or self._is_private or (self._is_unique and not starts):
            return False
        if self._batches is not None:
            return True
        return work_bytes > self._serial_bytes() and _threads.chosen_threads(threads) > 1

    def _serial_bytes(self) -> int:
        """The bytes of work that one thread does in the time in which several do it."""
        if self._is_sorted or self._input_bytes > _NEAR_BYTES:
            return _SERIAL_BYTES
        return _SERIAL_SHORT_BYTES if self._unit_is_short_row else _SERIAL_NEAR_BYTES

    def run(self, arrays: Arrays, threads: int | None) -> None:
        """Scatter all units."""
        total, starts = self._unit_count, arrays.initial.size > 0
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
            elif not self.by_items and self._divides_columns(arrays, threads):
                self._apply_columns(total, arrays, threads)
            elif not self.by_items and self._finds_few_units(threads):
                self._apply_chosen_runs(total, arrays, threads)
            else:
                self._apply_owned(total, arrays, threads)
        elif self._is_private and self._work_bytes > _SERIAL_BYTES:
            self._apply_private(total, arrays, threads)
        else:
            self._apply_in_order(total, arrays, threads)

    def _located(self, arrays: Arrays) -> tuple[Any, ...]:
        """What `scatter_units.locate` is given as `where`."""
        return (*self._unit_arguments, *arrays[:3], arrays.schedule)

    def _apply_in_order(self, total: int, arrays: Arrays, threads: int | None) -> None:
        """Apply the units as they come, several at the same time where indices are unique."""
        from .scatter_loops import update_items_in_order

        tasks, size = (1, total) if total else (0, 1)
        if self._is_unique and self._work_bytes > _SERIAL_BYTES:
            tasks, size = division(total, self._unit_bytes + 16)
        if not self.by_items:
            self._apply_runs_in_order(tasks, size, 0, total, arrays, threads)
            return
        located = (tasks, size, total, self._located(arrays), self._key_sample)
        items = (arrays.values, arrays.value_step, arrays.result)
        update_items_in_order(*self.kind)(*located, *items, threads=threads)

    def _finds_few_units(self, threads: int | None) -> bool:
        """Whether owners choose their runs among all, and the processors' own caches hold what they own."""
        few_threads = _threads.chosen_threads(threads) <= _MOST_RANGES
        can_choose = self._plan.slide is None and self._source_step > 0
        return can_choose and few_threads and self._input_bytes <= _NEAR_BYTES

    def _divides_columns(self, arrays: Arrays, threads: int | None) -> bool:
        """Whether units are whole rows, of each of which every owner of columns has whole lines of cache."""
        plan = self._plan
        line_items = _threads.chosen_threads(threads) * CACHE_LINE // self.storage.itemsize
        is_whole = plan.is_row and len(plan.runs) == 1 and plan.piece == plan.grain and plan.length == 1
        return (
            divides_lines() and self._finds_few_units(threads) and is_whole
            and plan.grain % line_items == 0 and arrays.result.ctypes.data % CACHE_LINE == 0
        )

    def _apply_columns(self, total: int, arrays: Arrays, threads: int | None) -> None:
        """Let owners of columns apply theirs of all units as they come."""
        from .scatter_run_loops import update_columns_of_rows

        plan, owners = self._plan, _threads.chosen_threads(threads)
        given = (self._source_step, self._located(arrays), self._key_sample, plan.grain)
        columns = (plan.grain // owners, total, *given, arrays.values, arrays.initial, arrays.result)
        update_columns_of_rows(*self.kind)(owners, *columns, threads=threads)

    def _apply_batches(self, batches: Batches, total: int, arrays: Arrays, threads: int | None) -> None:
        """Let owners of batches apply their units as they come."""
        work = (self._input_bytes + self._work_bytes) // batches.number
        tasks, each = division(batches.number, work, batches.number)
        tasks = tasks if total else 0
        self._apply_runs_in_order(tasks, each * batches.units, each * batches.keys, total, arrays, threads)

    def _apply_runs_in_order(
        self, tasks: int, size: int, width: int, total: int, arrays: Arrays, threads: int | None
    ) -> None:
        from .scatter_run_loops import update_runs_in_order

        located = (self._located(arrays), self._key_sample)
        runs = (*self._runs, arrays.values, arrays.initial, arrays.result)
        update_runs_in_order(*self.kind)(tasks, size, total, width, *located, *runs, threads=threads)

    def _apply_chosen_runs(self, total: int, arrays: Arrays, threads: int | None) -> None:
        """Let owners of ranges of keys, one for each thread, choose their units among all."""
        from .scatter_run_loops import update_chosen_runs

        plan, keys = self._plan, self._plan.last_key + 1
        width = -(-keys // _threads.chosen_threads(threads))
        owners = -(-keys // width)
        given = (self._source_step, self._located(arrays), self._key_sample, plan.grain)
        runs = (plan.runs, plan.piece, arrays.values, arrays.initial, arrays.result)
        tasks = owners if total else 0
        update_chosen_runs(*self.kind)(tasks, owners, width, total, *given, *runs, threads=threads)

    def _apply_windows(self, plan: Windows, tasks: int, arrays: Arrays, threads: int | None) -> None:
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

    def _apply_chosen_items(self, owners: int, total: int, arrays: Arrays, threads: int | None) -> None:
        """Let each owner choose its units among all."""
        from .scatter_loops import update_chosen_items

        size = -(-arrays.result.size // max(1, owners))
        owners = -(-arrays.result.size // size)
        units = (owners, owners, size, total, self._located(arrays), self._key_sample)
        items = (arrays.values, arrays.value_step, arrays.initial, arrays.result)
        update_chosen_items(*self.kind)(*units, *items, threads=threads)

    def _makes_far_rows(self, starts: bool) -> bool:
        """Whether rows are made one after the other, as the units are distributed to owners."""
        return starts and self._makes_rows and not self.by_items

    def _apply_sorted(self, total: int, arrays: Arrays, threads: int | None) -> None:
        """Let each owner search for its units."""
        from . import scatter_loops, scatter_run_loops

        plan, width = self._plan, 1 << self._shift
        tasks = self._owners if total else 0
        units = (tasks, self._owners, width, total, self._located(arrays), self._key_sample)
        if self.by_items:
            items = (arrays.values, arrays.value_step, arrays.initial, arrays.result)
            scatter_loops.update_sorted_items(*self.kind)(*units, *items, threads=threads)
        else:
            runs = (plan.grain, plan.runs, plan.piece, arrays.values, arrays.initial, arrays.result)
            scatter_run_loops.update_sorted_runs(*self.kind)(*units, *runs, threads=threads)

    def _apply_owned(self, total: int, arrays: Arrays, threads: int | None) -> None:
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
        self, first: int, count: int, arrays: Arrays, room: Sequence[np.ndarray], threads: int | None
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
            runs = (*self._runs, arrays.values)
            update = scatter_run_loops.update_runs(*self.kind)
            update(owners, offsets, *records, *runs, *start, threads=threads)

    def _make_rows(
        self, owners: int, offsets: np.ndarray, records: np.ndarray, grouped: np.ndarray, arrays: Arrays,
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

    def _apply_private(self, total: int, arrays: Arrays, threads: int | None) -> None:
        from .scatter_tables import combine_in_tables

        where, sample = self._located(arrays), self._key_sample
        result = arrays.result[: self._plan.last_key + 1]
        combine_in_tables(self.kind, total, where, sample, arrays.values, arrays.value_step, result, threads)
