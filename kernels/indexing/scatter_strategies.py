"""Strategies that apply the update slices of `scatter`, and the choice among them.

By default slices are bucketed by destination, and one task applies each bucket. If the result fits the
caches, each task filters its slices out of all of them, or applies a range of columns of every slice; if
indices are sorted, each task finds its slices by binary search. Batches are partitions by themselves. A
single thread applies slices in order; several threads do if indices are unique and the result is initialized.
Windows placed by an index are clipped: each task applies what lies in its range of the input. Reorderable
updates to few destinations are reduced in tables private to each task.
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
from .scatter_layout import Batches, SliceLayout, WindowLayout
from .scatter_tables import Tables

__all__ = ["Arrays", "Promises", "ScatterLoops"]

_CHUNK_BYTES = 48 << 20
_TASK_SLICES = 1 << 14
_BUCKET_BYTES = 1 << 18
_FILTERED_BYTES = 16 << 20  # up to this result size per task, filtering beats bucketing
_MAX_FILTERING_TASKS = 8
_MIN_BUCKETS = 64
_MAX_BUCKETS = 256
_SERIAL_BYTES = 3 << 20  # waking another thread takes as long as moving these bytes
_SERIAL_CACHED_BYTES = 10 << 20  # the same if every task filters all slices of a cached result
_SERIAL_SHORT_BYTES = 24 << 20  # the same for short rows: hardware reads more than their bytes
_SHORT_ROWS_BYTES = range(64, 512)
_CACHED_BYTES = 1 << 20  # a core's own cache holds such a result
_MAX_PARTITIONS = 8
_MIN_ROW_BYTES = 128
_MIN_GROUPED_BYTES = 8 << 20  # all caches together hold less
_MAX_TABLE_DESTINATIONS = 1 << 14


class Arrays(NamedTuple):
    """The arrays of a call, as parameters of kernels.

    `addresses` are those of the first index of each component, of the type of `index_sample`. `value_stride`
    is 0 if one update stands for all. `initial` has the result's initial values, or one for all of them; it
    is empty if the result is already initialized.
    """

    addresses: AddressTable
    index_sample: np.ndarray
    min_index: int
    values: ArrayParam
    value_stride: int
    schedule: np.ndarray
    initial: ArrayParam
    result: ArrayParam


class Promises(NamedTuple):
    """The attributes of scatter that make promises about the indices, named as in the specification."""

    indices_are_sorted: bool
    unique_indices: bool


class ScatterLoops:
    """The kernels that scatter updates into one input, and their arguments."""

    def __init__(
        self, layout: SliceLayout, windows: WindowLayout | None, kind: Combination, promises: Promises,
        is_scheduled: bool, sizes: tuple[int, int],
    ) -> None:  # fmt: skip
        self.kind = kind
        self.storage = storage_dtype(kind.element)
        self.by_items = layout.is_single_items and not is_scheduled and windows is None
        self._layout = layout
        self._windows = windows
        self._is_unique = promises.unique_indices
        self._is_sorted = promises.indices_are_sorted and layout.is_searchable and not is_scheduled
        self._slice_bytes = 2 * layout.slice_items * self.storage.itemsize
        self._slice_count = layout.slice_count
        self._work_bytes = self._slice_count * (16 + self._slice_bytes)
        input_size, updates_size = sizes
        last_destination = layout.last_destination
        self._input_bytes = input_size * self.storage.itemsize
        bucket_count = min(_MAX_BUCKETS, max(_MIN_BUCKETS, self._input_bytes // _BUCKET_BYTES))
        self._shift = max(0, last_destination.bit_length() - bucket_count.bit_length() + 1)
        self._bucket_count = (last_destination >> self._shift) + 1
        is_short = max(input_size, updates_size) < 2**31
        self._destination_dtype = np.dtype(np.int32 if is_short else np.int64)
        self._destination_sample = np.empty(0, self._destination_dtype)
        self._fields = 2 + (layout.clipped_component is not None)
        self._bucketed_bytes = self._fields * self._destination_dtype.itemsize
        if self.by_items:
            self._bucketed_bytes = 2 * max(self._destination_dtype.itemsize, self.storage.itemsize)
        is_reorderable = kind.monoid != OVERWRITE and is_exact(kind)
        is_small = last_destination < _MAX_TABLE_DESTINATIONS and self._slice_count > 64 * last_destination
        self._uses_tables = self.by_items and is_reorderable and is_small
        self._update_stride = 0 if is_scheduled else layout.update_stride
        row_bytes = layout.slice_items * self.storage.itemsize
        self._has_short_rows = row_bytes in _SHORT_ROWS_BYTES
        is_large = self._input_bytes >= _MIN_GROUPED_BYTES
        self._can_reduce_rows = layout.is_row and row_bytes >= _MIN_ROW_BYTES and is_large
        batches = None if is_scheduled or self.by_items else layout.batches(input_size)
        self._batches = batches if batches and self._input_bytes <= _CACHED_BYTES * batches.number else None
        clipped_axis = np.empty(0, np.int64) if layout.clipped_component is None else np.array(
            layout.clipped_component, np.int64
        )
        self._space_arguments = (layout.slice_space, layout.components, clipped_axis)
        self._seconds = (self._work_bytes + self._input_bytes) / BYTES_A_SECOND
        bound = 0 if layout.clipped_component is None else layout.clipped_component[2]
        self._run_arguments = (layout.row_items, bound, layout.runs, layout.chunk_count, layout.chunk_items)

    def initializes_result(self, threads: int | None) -> bool:
        """Whether the kernels copy the input into the result."""
        return self._windows is None and self._layout.is_row and self._is_partitioned(True, threads)

    def _is_partitioned(self, initializes: bool, threads: int | None) -> bool:
        """Whether ranges of destinations are applied by different tasks."""
        work_bytes = self._work_bytes + (self._input_bytes if initializes else 0)
        if work_bytes <= _SERIAL_BYTES or self._uses_tables or (self._is_unique and not initializes):
            return False
        if self._batches is not None:
            return True
        return work_bytes > self._serial_bytes() and _threads.chosen_threads(threads) > 1

    def _serial_bytes(self) -> int:
        """The bytes of work up to which one thread is faster than several."""
        if self._is_sorted or self._input_bytes > _CACHED_BYTES:
            return _SERIAL_BYTES
        return _SERIAL_SHORT_BYTES if self._has_short_rows else _SERIAL_CACHED_BYTES

    def launches(self, initializes: bool, threads: int | None) -> LaunchPlan:
        """The launches that scatter all slices of `Arrays`; they initialize the result if `initializes`."""
        if self._windows is not None:
            return self._partitioned_windows(self._windows, threads)
        if not self._is_partitioned(initializes, threads):
            is_shared = self._uses_tables and self._work_bytes > _SERIAL_BYTES
            return self._in_tables() if is_shared else self._in_order()
        partitions = min(_threads.chosen_threads(threads), _MAX_FILTERING_TASKS)
        if self._is_sorted and not self._reduces_rows(initializes):
            return self._sorted()
        if self.by_items and self._input_bytes <= partitions * _FILTERED_BYTES:
            return self._filtered_items(partitions)
        if self._batches is not None:
            return self._by_batch(self._batches)
        if not self.by_items and self._can_divide_columns(threads):
            return self._by_columns(_threads.chosen_threads(threads))
        if not self.by_items and self._can_filter(threads):
            return self._filtered_runs(threads)
        return self._bucketed(initializes)

    def _launch(self, loop: Callable[..., Kernel], tasks: int, *arguments: Any) -> KernelCall:
        """A launch of that kernel for these elements and this combiner."""
        return KernelCall(loop(*self.kind), tasks, arguments, self._seconds)

    def _slice_geometry(self, arrays: Arrays) -> tuple[Any, ...]:
        """The argument `geometry` of `scatter_buckets.locate_slices`."""
        return (*self._space_arguments, *arrays[:3], arrays.schedule)

    def _in_order(self) -> LaunchPlan:
        """Apply the slices in order, in parallel if indices are unique."""
        tasks, size = 1, self._slice_count
        if self._is_unique and self._work_bytes > _SERIAL_BYTES:
            tasks, size = division(size, self._slice_bytes + 16)
        if not self.by_items:
            return self._runs_in_order(tasks, size, 0)

        def calls(arrays: Arrays) -> list[KernelCall]:
            from .scatter_loops import update_items_in_order

            located = (size, self._slice_count, self._slice_geometry(arrays), self._destination_sample)
            items = (arrays.values, arrays.value_stride, arrays.result)
            return [self._launch(update_items_in_order, tasks, *located, *items)]

        return LaunchPlan((), calls)

    def _can_filter(self, threads: int | None) -> bool:
        """Whether tasks filter their runs out of all, and a core's own caches hold a task's range of the
        result."""
        has_few_threads = _threads.chosen_threads(threads) <= _MAX_PARTITIONS
        can_choose = self._layout.clipped_component is None and self._update_stride > 0
        return can_choose and has_few_threads and self._input_bytes <= _CACHED_BYTES

    def _can_divide_columns(self, threads: int | None) -> bool:
        """Whether slices are complete rows, of each of which every task has whole cache lines."""
        layout = self._layout
        cache_line_items = _threads.chosen_threads(threads) * CACHE_LINE // self.storage.itemsize
        is_whole_row = layout.is_row and len(
            layout.runs
        ) == 1 and layout.chunk_items == layout.row_items and layout.chunk_count == 1
        can_divide = prefers_shared_rows() and self._can_filter(threads)
        return can_divide and is_whole_row and layout.row_items % cache_line_items == 0

    def _by_columns(self, partitions: int) -> LaunchPlan:
        """Each task applies its columns of all slices in order."""

        def calls(arrays: Arrays) -> list[KernelCall]:
            from .scatter_slice_loops import update_columns_of_rows

            layout = self._layout
            located = (
                self._update_stride, self._slice_geometry(arrays), self._destination_sample, layout.row_items
            )
            columns = (layout.row_items // partitions, self._slice_count, *located)
            rows = (arrays.values, arrays.initial, arrays.result)
            return [self._launch(update_columns_of_rows, partitions, *columns, *rows)]

        return LaunchPlan((), calls)

    def _by_batch(self, batches: Batches) -> LaunchPlan:
        """Each task applies the slices of its batches in order."""
        work = (self._input_bytes + self._work_bytes) // batches.number
        tasks, task_batches = division(batches.number, work, batches.number)
        return self._runs_in_order(
            tasks, task_batches * batches.slice_space, task_batches * batches.destination_count
        )

    def _runs_in_order(self, tasks: int, size: int, width: int) -> LaunchPlan:
        def calls(arrays: Arrays) -> list[KernelCall]:
            from .scatter_slice_loops import update_runs_in_order

            slice_args = (
                size, self._slice_count, width, self._slice_geometry(arrays), self._destination_sample
            )
            runs = (*self._run_arguments, arrays.values, arrays.initial, arrays.result)
            return [self._launch(update_runs_in_order, tasks, *slice_args, *runs)]

        return LaunchPlan((), calls)

    def _filtered_runs(self, threads: int | None) -> LaunchPlan:
        """Each task, one a thread, filters the slices of its range of destinations."""
        layout, destination_count = self._layout, self._layout.last_destination + 1
        width = -(-destination_count // _threads.chosen_threads(threads))
        partitions = -(-destination_count // width)

        def calls(arrays: Arrays) -> list[KernelCall]:
            from .scatter_slice_loops import update_filtered_runs

            located = (
                self._update_stride, self._slice_geometry(arrays), self._destination_sample, layout.row_items
            )
            runs = (layout.runs, layout.chunk_items, arrays.values, arrays.initial, arrays.result)
            return [
                self._launch(
                    update_filtered_runs, partitions, partitions, width, self._slice_count, *located, *runs
                )
            ]

        return LaunchPlan((), calls)

    def _partitioned_windows(self, layout: WindowLayout, threads: int | None) -> LaunchPlan:
        """Apply windows in order; each task has a range of the input along one dimension."""
        count = math.prod(layout.slice_space[:, 0].tolist())
        partitioned_component = int(layout.components[:, 2].argmax())
        bound, tasks = int(layout.components[partitioned_component, 1]), 1
        if self._work_bytes > _SERIAL_BYTES:
            tasks = min(_threads.chosen_threads(threads), _MAX_PARTITIONS, bound)
        width = -(-bound // tasks)

        def calls(arrays: Arrays) -> list[KernelCall]:
            from .scatter_window_loops import update_windows

            indexed = (layout.slice_space, layout.components, *arrays[:3])
            runs = (layout.runs, layout.items, layout.inner, layout.chunk_items, arrays.values, arrays.result)
            return [self._launch(update_windows, tasks, count, partitioned_component, width, *indexed, *runs)]

        return LaunchPlan((), calls)

    def _filtered_items(self, partitions: int) -> LaunchPlan:
        """Each task filters the single-element slices of its range of destinations."""

        def calls(arrays: Arrays) -> list[KernelCall]:
            from .scatter_loops import update_filtered_items

            total = self._input_bytes // self.storage.itemsize
            size = -(-total // partitions)
            tasks = -(-total // size)
            slice_args = (
                tasks, size, self._slice_count, self._slice_geometry(arrays), self._destination_sample
            )
            items = (arrays.values, arrays.value_stride, arrays.initial, arrays.result)
            return [self._launch(update_filtered_items, tasks, *slice_args, *items)]

        return LaunchPlan((), calls)

    def _reduces_rows(self, initializes: bool) -> bool:
        """Whether rows are reduced one after the other, with the slices bucketed."""
        return initializes and self._can_reduce_rows and not self.by_items

    def _sorted(self) -> LaunchPlan:
        """Each task finds its slices by binary search."""
        layout, width = self._layout, 1 << self._shift

        def calls(arrays: Arrays) -> list[KernelCall]:
            from . import scatter_loops, scatter_slice_loops

            slice_args = (
                self._bucket_count, width, self._slice_count, self._slice_geometry(arrays),
                self._destination_sample,
            )  # fmt: skip
            results = (arrays.initial, arrays.result)
            if self.by_items:
                items = (arrays.values, arrays.value_stride, *results)
                return [
                    self._launch(scatter_loops.update_sorted_items, self._bucket_count, *slice_args, *items)
                ]
            runs = (layout.row_items, layout.runs, layout.chunk_items, arrays.values, *results)
            return [
                self._launch(scatter_slice_loops.update_sorted_runs, self._bucket_count, *slice_args, *runs)
            ]

        return LaunchPlan((), calls)

    def _bucketed(self, initializes: bool) -> LaunchPlan:
        """Bucket the slices by destination, then apply each bucket; a bounded number of slices at a time."""
        field_count, dtype = 1 if self.by_items else self._fields, self._destination_dtype
        max_slices = _CHUNK_BYTES // (field_count * dtype.itemsize + self._bucketed_bytes)
        max_slices = max(1, min(self._slice_count, max_slices))
        offsets_shape = (-(-max_slices // _TASK_SLICES), self._bucket_count + 1)
        scratch_shapes = [(max_slices if field < field_count else 0, dtype) for field in range(3)]
        scratch_shapes += [
            (max_slices * self._bucketed_bytes // dtype.itemsize, dtype),
            (math.prod(offsets_shape), np.dtype(np.int64)),
        ]  # fmt: skip

        def calls(arrays: Arrays, *scratch: ArrayParam) -> list[KernelCall]:
            launches = []
            for first in range(0, self._slice_count, max_slices):
                launches += self._bucketed_chunk(
                    first, min(max_slices, self._slice_count - first), initializes, arrays, scratch
                )
                arrays = arrays._replace(initial=arrays.initial._replace(shape=0))
            return launches

        return LaunchPlan(scratch_shapes, calls)

    def _bucketed_chunk(
        self, first: int, count: int, initializes: bool, arrays: Arrays, scratch: tuple[ArrayParam, ...]
    ) -> list[KernelCall]:
        from . import scatter_buckets, scatter_loops, scatter_slice_loops

        *located_fields, destinations, offsets = scratch
        tasks, record_stride = -(-count // _TASK_SLICES), self._fields
        offsets = offsets._replace(shape=(tasks, self._bucket_count + 1))
        slice_args = (_TASK_SLICES, first, count, self._slice_geometry(arrays), self._shift, offsets)
        start = ((1 << self._shift) * self._layout.row_items, arrays.initial, arrays.result)
        if self.by_items:
            values = _view_at(destinations, self._bucketed_bytes // 2, self.storage)
            strides = [self._bucketed_bytes // array.dtype.itemsize for array in (destinations, values)]
            distributed = (
                located_fields[0], arrays.values, arrays.value_stride, destinations, strides[0], values,
                strides[1],
            )  # fmt: skip
            items = (offsets, destinations, strides[0], values._replace(is_written=False), strides[1], *start)
            return [
                self._launch(lambda *_: scatter_buckets.distribute_values, tasks, *slice_args, *distributed),
                self._launch(scatter_loops.update_items, self._bucket_count, *items),
            ]
        distribute = self._launch(
            lambda *_: scatter_buckets.distribute_runs, tasks, *slice_args, *located_fields, destinations,
            record_stride,
        )  # fmt: skip
        update_offsets, clamped_starts = [
            _view_at(destinations, number * destinations.dtype.itemsize) for number in (1, 2)
        ]
        if record_stride == 2:
            clamped_starts = clamped_starts._replace(shape=0)
        if self._reduces_rows(initializes) and first == 0:
            return [
                distribute,
                self._reduced_rows(offsets, destinations, update_offsets, located_fields[0], arrays),
            ]  # fmt: skip
        runs = (
            offsets, destinations, update_offsets, clamped_starts, record_stride, *self._run_arguments,
            arrays.values, *start,
        )  # fmt: skip
        return [distribute, self._launch(scatter_slice_loops.update_runs, self._bucket_count, *runs)]

    def _reduced_rows(
        self, offsets: ArrayParam, destinations: ArrayParam, sources: ArrayParam, grouped: ArrayParam,
        arrays: Arrays,
    ) -> KernelCall:  # fmt: skip
        """Group each bucket's slices by row, and write each row of the result once."""
        from .scatter_slice_loops import reduce_rows

        layout = self._layout
        items = layout.chunk_count * layout.chunk_items
        is_nontemporal = self._input_bytes >= NONTEMPORAL_BYTES and items == layout.row_items
        slice_args = (offsets, destinations, sources, self._fields, grouped)
        rows = (
            1 << self._shift, layout.row_items, items, arrays.values, arrays.initial, is_nontemporal,
            arrays.result,
        )  # fmt: skip
        return self._launch(reduce_rows, self._bucket_count, *slice_args, *rows)

    def _in_tables(self) -> LaunchPlan:
        """Each task reduces its slices in tables of its own first."""
        task_tables = Tables(self.kind, self._slice_count, self._layout.last_destination + 1)

        def calls(arrays: Arrays, tables_scratch: ArrayParam) -> list[KernelCall]:
            located = (
                self._slice_geometry(arrays), self._destination_sample, arrays.values, arrays.value_stride
            )
            return task_tables.calls(located, tables_scratch, arrays.result, self._seconds)

        return LaunchPlan([task_tables.room], calls)


def _view_at(array: ArrayParam, offset: int, view_dtype: np.dtype[Any] | None = None) -> ArrayParam:
    """A view of a flat array from `offset` bytes on, as `view_dtype`."""
    view_dtype = array.dtype if view_dtype is None else view_dtype
    size = math.prod(np.atleast_1d(array.shape)) * array.dtype.itemsize - offset
    return array._replace(
        shape=max(0, size // view_dtype.itemsize), dtype=view_dtype, offset=array.offset + offset
    )
