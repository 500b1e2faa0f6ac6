"""The ways in which `scatter` applies its units, and which of them serves.

Owners have units distributed to them. Where caches hold what the owners have, each looks for its units
itself, or has some columns of all of them; and it searches for them where indices are sorted. Batches are
owners of what is theirs. One thread applies the units as they come, and so do several where indices are
unique and the result has its first values. Of windows that slide, each task applies those parts that lie in
its part of the input. What falls on few places and may be combined in any order is combined in tables of each
task instead.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..launch import threads as _threads
from ..launch.compilation import Kernel
from ..launch.prepared import BYTES_A_SECOND, AddressTable, ArrayParam, KernelCall, LaunchPlan
from ..launch.processor import prefers_shared_rows
from ..launch.threads import division
from ..simd.block_sizes import CACHE_LINE, NONTEMPORAL_BYTES
from ..simd.monoids import OVERWRITE, Combination, is_exact, storage_dtype
from .scatter_layout import Batches, Layout, Windows
from .scatter_tables import Tables

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
    """What stands for the arrays of a call.

    `addresses` are those of the first index of each component, which have the type of `index_sample`.
    `value_step` is 0 where one update stands for all. `initial` has the result's first values, or one for
    all of them; it is empty where they are there already.
    """

    addresses: AddressTable
    index_sample: np.ndarray
    least_index: int
    values: ArrayParam
    value_step: int
    schedule: np.ndarray
    initial: ArrayParam
    result: ArrayParam


class Promises(NamedTuple):
    """The attributes of scatter that promise something of the indices, named as in the specification."""

    indices_are_sorted: bool
    unique_indices: bool


class Loops:
    """The loops that scatter updates into one input: which there are, and what they are given."""

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
        has_any_order = kind.monoid != OVERWRITE and is_exact(kind)
        few_keys = last_key < _MOST_PRIVATE_KEYS and self._unit_count > 64 * last_key
        self._is_private = self.by_items and has_any_order and few_keys
        self._source_step = 0 if is_scheduled else plan.source_step
        row_bytes = plan.unit_items * self.storage.itemsize
        self._unit_is_short_row = row_bytes in _SHORT_ROWS_BYTES
        is_far = self._input_bytes >= _LEAST_MADE_BYTES
        self._makes_rows = plan.is_row and row_bytes >= _LEAST_ROW_BYTES and is_far
        batches = None if is_scheduled or self.by_items else plan.batches(input_size)
        self._batches = batches if batches and self._input_bytes <= _NEAR_BYTES * batches.number else None
        row = np.empty(0, np.int64) if plan.slide is None else np.array(plan.slide, np.int64)
        self._unit_arguments = (plan.units, plan.components, row)
        self._seconds = (self._work_bytes + self._input_bytes) / BYTES_A_SECOND
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

    def steps(self, starts: bool, threads: int | None) -> LaunchPlan:
        """What scatters all units, of `Arrays`. The result has no values yet if it `starts`."""
        if self._windows is not None:
            return self._windows_in_parts(self._windows, threads)
        if not self._has_owners(starts, threads):
            is_shared = self._is_private and self._work_bytes > _SERIAL_BYTES
            return self._in_tables() if is_shared else self._in_order()
        owners = min(_threads.chosen_threads(threads), _MOST_CHOOSING)
        if self._is_sorted and not self._makes_far_rows(starts):
            return self._sorted()
        if self.by_items and self._input_bytes <= owners * _CHOOSING_BYTES:
            return self._chosen_items(owners)
        if self._batches is not None:
            return self._in_batches(self._batches)
        if not self.by_items and self._divides_columns(threads):
            return self._columns(_threads.chosen_threads(threads))
        if not self.by_items and self._finds_few_units(threads):
            return self._chosen_runs(threads)
        return self._owned(starts)

    def _work(self, loop: Callable[..., Kernel], tasks: int, *arguments: Any) -> KernelCall:
        """A launch of that loop, for these elements and this combiner."""
        return KernelCall(loop(*self.kind), tasks, arguments, self._seconds)

    def _located(self, arrays: Arrays) -> tuple[Any, ...]:
        """What `scatter_units.locate` is given as `where`."""
        return (*self._unit_arguments, *arrays[:3], arrays.schedule)

    def _in_order(self) -> LaunchPlan:
        """Apply the units as they come, several at the same time where indices are unique."""
        tasks, size = 1, self._unit_count
        if self._is_unique and self._work_bytes > _SERIAL_BYTES:
            tasks, size = division(size, self._unit_bytes + 16)
        if not self.by_items:
            return self._runs_in_order(tasks, size, 0)

        def works(arrays: Arrays) -> list[KernelCall]:
            from .scatter_loops import update_items_in_order

            located = (size, self._unit_count, self._located(arrays), self._key_sample)
            items = (arrays.values, arrays.value_step, arrays.result)
            return [self._work(update_items_in_order, tasks, *located, *items)]

        return LaunchPlan((), works)

    def _finds_few_units(self, threads: int | None) -> bool:
        """Whether owners choose their runs among all, and the processors' own caches hold what they own."""
        few_threads = _threads.chosen_threads(threads) <= _MOST_RANGES
        can_choose = self._plan.slide is None and self._source_step > 0
        return can_choose and few_threads and self._input_bytes <= _NEAR_BYTES

    def _divides_columns(self, threads: int | None) -> bool:
        """Whether units are whole rows, of each of which every owner of columns has whole lines of cache."""
        plan = self._plan
        line_items = _threads.chosen_threads(threads) * CACHE_LINE // self.storage.itemsize
        is_whole = plan.is_row and len(plan.runs) == 1 and plan.piece == plan.grain and plan.length == 1
        can_divide = prefers_shared_rows() and self._finds_few_units(threads)
        return can_divide and is_whole and plan.grain % line_items == 0

    def _columns(self, owners: int) -> LaunchPlan:
        """Let owners of columns apply theirs of all units as they come."""

        def works(arrays: Arrays) -> list[KernelCall]:
            from .scatter_slice_loops import update_columns_of_rows

            plan = self._plan
            given = (self._source_step, self._located(arrays), self._key_sample, plan.grain)
            columns = (plan.grain // owners, self._unit_count, *given)
            rows = (arrays.values, arrays.initial, arrays.result)
            return [self._work(update_columns_of_rows, owners, *columns, *rows)]

        return LaunchPlan((), works)

    def _in_batches(self, batches: Batches) -> LaunchPlan:
        """Let owners of batches apply their units as they come."""
        work = (self._input_bytes + self._work_bytes) // batches.number
        tasks, each = division(batches.number, work, batches.number)
        return self._runs_in_order(tasks, each * batches.units, each * batches.keys)

    def _runs_in_order(self, tasks: int, size: int, width: int) -> LaunchPlan:
        def works(arrays: Arrays) -> list[KernelCall]:
            from .scatter_slice_loops import update_runs_in_order

            units = (size, self._unit_count, width, self._located(arrays), self._key_sample)
            runs = (*self._runs, arrays.values, arrays.initial, arrays.result)
            return [self._work(update_runs_in_order, tasks, *units, *runs)]

        return LaunchPlan((), works)

    def _chosen_runs(self, threads: int | None) -> LaunchPlan:
        """Let owners of ranges of keys, one for each thread, choose their units among all."""
        plan, keys = self._plan, self._plan.last_key + 1
        width = -(-keys // _threads.chosen_threads(threads))
        owners = -(-keys // width)

        def works(arrays: Arrays) -> list[KernelCall]:
            from .scatter_slice_loops import update_chosen_runs

            given = (self._source_step, self._located(arrays), self._key_sample, plan.grain)
            runs = (plan.runs, plan.piece, arrays.values, arrays.initial, arrays.result)
            return [self._work(update_chosen_runs, owners, owners, width, self._unit_count, *given, *runs)]

        return LaunchPlan((), works)

    def _windows_in_parts(self, plan: Windows, threads: int | None) -> LaunchPlan:
        """Apply windows that slide as they come; each task has a part of the input's places of its own."""
        count = math.prod(plan.units[:, 0].tolist())
        divided = int(plan.components[:, 2].argmax())
        bound, tasks = int(plan.components[divided, 1]), 1
        if self._work_bytes > _SERIAL_BYTES:
            tasks = min(_threads.chosen_threads(threads), _MOST_RANGES, bound)
        width = -(-bound // tasks)

        def works(arrays: Arrays) -> list[KernelCall]:
            from .scatter_window_loops import update_windows

            indexed = (plan.units, plan.components, *arrays[:3])
            runs = (plan.runs, plan.items, plan.inner, plan.piece, arrays.values, arrays.result)
            return [self._work(update_windows, tasks, count, divided, width, *indexed, *runs)]

        return LaunchPlan((), works)

    def _chosen_items(self, owners: int) -> LaunchPlan:
        """Let each owner choose its units among all."""

        def works(arrays: Arrays) -> list[KernelCall]:
            from .scatter_loops import update_chosen_items

            total = self._input_bytes // self.storage.itemsize
            size = -(-total // owners)
            tasks = -(-total // size)
            units = (tasks, size, self._unit_count, self._located(arrays), self._key_sample)
            items = (arrays.values, arrays.value_step, arrays.initial, arrays.result)
            return [self._work(update_chosen_items, tasks, *units, *items)]

        return LaunchPlan((), works)

    def _makes_far_rows(self, starts: bool) -> bool:
        """Whether rows are made one after the other, as the units are distributed to owners."""
        return starts and self._makes_rows and not self.by_items

    def _sorted(self) -> LaunchPlan:
        """Let each owner search for its units."""
        plan, width = self._plan, 1 << self._shift

        def works(arrays: Arrays) -> list[KernelCall]:
            from . import scatter_loops, scatter_slice_loops

            units = (self._owners, width, self._unit_count, self._located(arrays), self._key_sample)
            started = (arrays.initial, arrays.result)
            if self.by_items:
                items = (arrays.values, arrays.value_step, *started)
                return [self._work(scatter_loops.update_sorted_items, self._owners, *units, *items)]
            runs = (plan.grain, plan.runs, plan.piece, arrays.values, *started)
            return [self._work(scatter_slice_loops.update_sorted_runs, self._owners, *units, *runs)]

        return LaunchPlan((), works)

    def _owned(self, starts: bool) -> LaunchPlan:
        """Distribute the units to their owners, then let each owner apply its own; a bounded number at a
        time."""
        located, key = 1 if self.by_items else self._fields, self._key_dtype
        most = _CHUNK_BYTES // (located * key.itemsize + self._owned_bytes)
        most = max(1, min(self._unit_count, most))
        offsets = (-(-most // _TASK_UNITS), self._owners + 1)
        rooms = [(most if field < located else 0, key) for field in range(3)]
        rooms += [(most * self._owned_bytes // key.itemsize, key), (math.prod(offsets), np.dtype(np.int64))]

        def works(arrays: Arrays, *room: ArrayParam) -> list[KernelCall]:
            found = []
            for first in range(0, self._unit_count, most):
                found += self._owned_chunk(first, min(most, self._unit_count - first), starts, arrays, room)
                arrays = arrays._replace(initial=arrays.initial._replace(shape=0))
            return found

        return LaunchPlan(rooms, works)

    def _owned_chunk(
        self, first: int, count: int, starts: bool, arrays: Arrays, room: tuple[ArrayParam, ...]
    ) -> list[KernelCall]:
        from . import scatter_buckets, scatter_loops, scatter_slice_loops

        *located, keys, offsets = room
        tasks, step = -(-count // _TASK_UNITS), self._fields
        offsets = offsets._replace(shape=(tasks, self._owners + 1))
        units = (_TASK_UNITS, first, count, self._located(arrays), self._shift, offsets)
        start = ((1 << self._shift) * self._plan.grain, arrays.initial, arrays.result)
        if self.by_items:
            values = _behind(keys, self._owned_bytes // 2, self.storage)
            steps = [self._owned_bytes // array.dtype.itemsize for array in (keys, values)]
            given = (located[0], arrays.values, arrays.value_step, keys, steps[0], values, steps[1])
            items = (offsets, keys, steps[0], values._replace(is_written=False), steps[1], *start)
            return [
                self._work(lambda *_: scatter_buckets.distribute_values, tasks, *units, *given),
                self._work(scatter_loops.update_items, self._owners, *items),
            ]
        distribute = self._work(
            lambda *_: scatter_buckets.distribute_runs, tasks, *units, *located, keys, step
        )
        sources, slides = [_behind(keys, number * keys.dtype.itemsize) for number in (1, 2)]
        if step == 2:
            slides = slides._replace(shape=0)
        if self._makes_far_rows(starts) and first == 0:
            return [distribute, self._made_rows(offsets, keys, sources, located[0], arrays)]
        runs = (offsets, keys, sources, slides, step, *self._runs, arrays.values, *start)
        return [distribute, self._work(scatter_slice_loops.update_runs, self._owners, *runs)]

    def _made_rows(
        self, offsets: ArrayParam, keys: ArrayParam, sources: ArrayParam, grouped: ArrayParam, arrays: Arrays
    ) -> KernelCall:
        """Let owners group their units, and write each row of the result once."""
        from .scatter_slice_loops import make_rows

        plan = self._plan
        items = plan.length * plan.piece
        is_past = self._input_bytes >= NONTEMPORAL_BYTES and items == plan.grain
        units = (offsets, keys, sources, self._fields, grouped)
        rows = (1 << self._shift, plan.grain, items, arrays.values, arrays.initial, is_past, arrays.result)
        return self._work(make_rows, self._owners, *units, *rows)

    def _in_tables(self) -> LaunchPlan:
        """Let each task combine its units in tables of its own first."""
        tables = Tables(self.kind, self._unit_count, self._plan.last_key + 1)

        def works(arrays: Arrays, room: ArrayParam) -> list[KernelCall]:
            units = (self._located(arrays), self._key_sample, arrays.values, arrays.value_step)
            return tables.works(units, room, arrays.result, self._seconds)

        return LaunchPlan([tables.room], works)


def _behind(array: ArrayParam, offset: int, dtype: np.dtype[Any] | None = None) -> ArrayParam:
    """What of a flat array is so many bytes behind its beginning, seen in that type."""
    dtype = array.dtype if dtype is None else dtype
    size = math.prod(np.atleast_1d(array.shape)) * array.dtype.itemsize - offset
    return array._replace(shape=max(0, size // dtype.itemsize), dtype=dtype, offset=array.offset + offset)
