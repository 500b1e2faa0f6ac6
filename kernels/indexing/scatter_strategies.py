"""Strategies that apply the update slices of `scatter`, and the choice among them.

A single thread applies slices in order. Of several, each filters the slices of its range of destinations out
of all of them, or finds them by binary search if indices are sorted; batches are ranges by themselves. Each
row of a large result is written once, after the slices of a range were grouped by row. If indices are unique
and the result is initialized, each task applies a range of slices. Windows placed by an index are clipped:
each task applies those in its range of the input. Reorderable updates to few destinations are reduced in
tables private to each task.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..launch import threads as _threads
from ..launch.compilation import kernel_at
from ..launch.prepared import BYTES_A_SECOND, AddressTable, ArrayParam, KernelCall, LaunchPlan
from ..launch.threads import division
from ..named_tuples import NamedTuple
from ..simd.block_sizes import NONTEMPORAL_BYTES
from ..simd.monoids import OVERWRITE, Combination, is_exact, storage_dtype
from .scatter_layout import (
    BOUND,
    CLIPPED_BOUND,
    COMPONENT_INPUT_STRIDE,
    SIZE,
    Batches,
    SliceLayout,
    WindowLayout,
)
from .scatter_tables import Tables

__all__ = ["Arrays", "Promises", "ScatterStrategy"]

_PARTITION_BYTES = 1 << 18
_MIN_SORTED_PARTITIONS = 64
_MAX_SORTED_PARTITIONS = 256
_SERIAL_BYTES = 5 << 20  # waking another thread takes as long as moving these bytes
_CACHED_BYTES = 1 << 20  # smaller results stay in the cache of one core
_MAX_PARTITIONS = 8  # partitions of which each task locates all slices, unless applying them takes longer
_LOCATED_BYTES = 16  # locating a slice takes as long as moving these bytes
_MIN_ROW_BYTES = 128
_MIN_GROUPED_BYTES = 8 << 20  # all caches together hold less
_MAX_TABLE_DESTINATIONS = 1 << 14


class Arrays(NamedTuple):
    """The arrays of a call, as parameters of kernels.

    `addresses` are those of the first index of each component, of the type of `index_dtype_tag`.
    `value_stride` is 0 if one update stands for all. `initial` has the result's initial values, or one for
    all of them; it is empty if the result is already initialized.
    """

    addresses: AddressTable
    index_dtype_tag: np.ndarray
    min_index: int
    values: ArrayParam
    value_stride: int
    schedule: np.ndarray
    initial: ArrayParam
    result: ArrayParam


class Promises(NamedTuple):
    """The attributes of scatter that make promises about the indices, named as in the specification."""

    indices_are_sorted: bool = False
    unique_indices: bool = False


class ScatterStrategy:
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
        self._work_bytes = self._slice_count * (_LOCATED_BYTES + self._slice_bytes)
        input_size, updates_size = sizes
        last_destination = layout.last_destination
        self._input_bytes = input_size * self.storage.itemsize
        partitions = min(
            _MAX_SORTED_PARTITIONS, max(_MIN_SORTED_PARTITIONS, self._input_bytes // _PARTITION_BYTES)
        )
        self._shift = max(0, last_destination.bit_length() - partitions.bit_length() + 1)
        is_short = max(input_size, updates_size) < 2**31
        self._destination_dtype = np.dtype(np.int32 if is_short else np.int64)
        self._destination_dtype_tag = np.empty(0, self._destination_dtype)
        is_reorderable = kind.monoid != OVERWRITE and is_exact(kind)
        is_small = last_destination < _MAX_TABLE_DESTINATIONS and self._slice_count > 64 * last_destination
        self._uses_tables = self.by_items and is_reorderable and is_small
        self._update_stride = 0 if is_scheduled else layout.update_stride
        self._can_filter = self._update_stride > 0 and layout.clipped_component is None
        row_bytes = layout.slice_items * self.storage.itemsize
        is_large = self._input_bytes >= _MIN_GROUPED_BYTES
        self._reduces_rows = layout.is_row and row_bytes >= _MIN_ROW_BYTES and is_large
        batches = None if is_scheduled or self.by_items else layout.batches(input_size)
        self._batches = (
            batches if batches and self._input_bytes <= _CACHED_BYTES * batches.batch_count else None
        )
        clipped_axis = np.empty(0, np.int64) if layout.clipped_component is None else np.array(
            layout.clipped_component, np.int64
        )
        self._space_arguments = (layout.slice_space, layout.components, clipped_axis)
        self._seconds = (self._work_bytes + self._input_bytes) / BYTES_A_SECOND
        bound = 0 if layout.clipped_component is None else layout.clipped_component[CLIPPED_BOUND]
        self._run_arguments = (layout.row_items, bound, layout.runs, layout.chunk_count, layout.chunk_items)

    def initializes_result(self, threads: int | None) -> bool:
        """Whether the kernels copy the input into the result."""
        return self._windows is None and self._layout.is_row and self._is_partitioned(True, threads)

    def _is_partitioned(self, initializes: bool, threads: int | None) -> bool:
        """Whether ranges of destinations are applied by different tasks."""
        work_bytes = self._work_bytes + (self._input_bytes if initializes else 0)
        if work_bytes <= _SERIAL_BYTES or self._uses_tables or (self._is_unique and not initializes):
            return False
        return self._batches is not None or (self._can_filter and _threads.chosen_threads(threads) > 1)

    def launches(self, initializes: bool, threads: int | None) -> LaunchPlan:
        """The launches that scatter all slices of `Arrays`; they initialize the result if `initializes`."""
        if self._windows is not None:
            return self._partitioned_windows(self._windows, threads)
        if not self._is_partitioned(initializes, threads):
            is_shared = self._uses_tables and self._work_bytes > _SERIAL_BYTES
            return self._in_tables() if is_shared else self._in_order()
        if self._is_sorted and not (initializes and self._reduces_rows):
            return self._sorted()
        if self._batches is not None:
            return self._by_batch(self._batches)
        partitions = self._partitions(threads)
        if self.by_items:
            return self._filtered_items(partitions)
        return self._filtered_runs(partitions, initializes and self._reduces_rows)

    def _partitions(self, threads: int | None) -> int:
        """The partitions for some threads: each locates all slices, in less time than it applies its own."""
        max_partitions = max(_MAX_PARTITIONS, self._slice_bytes // _LOCATED_BYTES)
        return min(_threads.chosen_threads(threads), max_partitions, _threads.MAX_TASKS)

    def _launch(self, module: str, loop: str, tasks: int, *arguments: Any) -> KernelCall:
        """A launch of that kernel of a module beside this one for these elements and this combiner."""
        kernel = kernel_at(f"{__package__}.{module}", loop, *self.kind)
        return KernelCall(kernel, tasks, arguments, self._seconds)

    def _slice_geometry(self, arrays: Arrays) -> tuple[Any, ...]:
        """The argument `geometry` of the kernels: `slice_space`, `components`, `clipped_component`,
        `addresses`, `index_dtype_tag`, `min_index`, `schedule`, in the order in which `scatter_locations`
        unpacks them.

        A plain tuple, since Numba has another type for a NamedTuple, and compiled kernels are for this one.
        """
        indices = (arrays.addresses, arrays.index_dtype_tag, arrays.min_index)
        return (*self._space_arguments, *indices, arrays.schedule)

    def _in_order(self) -> LaunchPlan:
        """Apply the slices in order, in parallel if indices are unique."""
        tasks, size = 1, self._slice_count
        if self._is_unique and self._work_bytes > _SERIAL_BYTES:
            tasks, size = division(size, self._slice_bytes + _LOCATED_BYTES)
        if not self.by_items:
            return self._runs_in_order(tasks, size, 0)

        def calls(arrays: Arrays) -> list[KernelCall]:
            task_slices = (size, self._slice_count, self._slice_geometry(arrays), self._destination_dtype_tag)
            items = (arrays.values, arrays.value_stride, arrays.result)
            return [self._launch("scatter_loops", "update_items_in_order", tasks, *task_slices, *items)]

        return LaunchPlan((), calls)

    def _by_batch(self, batches: Batches) -> LaunchPlan:
        """Each task applies the slices of its batches in order."""
        work = (self._input_bytes + self._work_bytes) // batches.batch_count
        tasks, task_batches = division(batches.batch_count, work, batches.batch_count)
        return self._runs_in_order(
            tasks, task_batches * batches.slices_per_batch, task_batches * batches.destinations_per_batch
        )

    def _runs_in_order(self, tasks: int, size: int, width: int) -> LaunchPlan:
        def calls(arrays: Arrays) -> list[KernelCall]:
            task_slices = (
                size, self._slice_count, width, self._slice_geometry(arrays), self._destination_dtype_tag
            )
            runs = (*self._run_arguments, arrays.values, arrays.initial, arrays.result)
            return [self._launch("scatter_slice_loops", "update_runs_in_order", tasks, *task_slices, *runs)]

        return LaunchPlan((), calls)

    def _filtered_runs(self, partitions: int, reduces_rows: bool) -> LaunchPlan:
        """Each task filters the slices of its range of destinations; if `reduces_rows`, it groups them by row
        and writes each row of the result once."""
        layout, destination_count = self._layout, self._layout.last_destination + 1
        width = -(-destination_count // partitions)
        partitions = -(-destination_count // width)

        def calls(arrays: Arrays) -> list[KernelCall]:
            filtered_slices = (
                partitions, width, self._slice_count, self._update_stride, self._slice_geometry(arrays),
                self._destination_dtype_tag, layout.row_items,
            )  # fmt: skip
            values = (layout.chunk_items, arrays.values, arrays.initial)
            if not reduces_rows:
                runs = (layout.is_row, layout.runs, *values, arrays.result)
                loop = "scatter_slice_loops", "update_filtered_runs"
                return [self._launch(*loop, partitions, *filtered_slices, *runs)]
            fills_rows = layout.chunk_items == layout.row_items
            is_nontemporal = self._input_bytes >= NONTEMPORAL_BYTES and fills_rows
            rows = (*values, is_nontemporal, arrays.result)
            return [self._launch("scatter_slice_loops", "reduce_rows", partitions, *filtered_slices, *rows)]

        return LaunchPlan((), calls)

    def _partitioned_windows(self, layout: WindowLayout, threads: int | None) -> LaunchPlan:
        """Apply windows in order; each task has a range of the input along one dimension."""
        count = math.prod(layout.slice_space[:, SIZE].tolist())
        partitioned_component = int(layout.components[:, COMPONENT_INPUT_STRIDE].argmax())
        bound, tasks = int(layout.components[partitioned_component, BOUND]), 1
        if self._work_bytes > _SERIAL_BYTES:
            tasks = min(self._partitions(threads), bound)
        width = -(-bound // tasks)

        def calls(arrays: Arrays) -> list[KernelCall]:
            indices = (arrays.addresses, arrays.index_dtype_tag, arrays.min_index)
            indexed = (layout.slice_space, layout.components, *indices)
            runs = (layout.runs, layout.items, layout.inner, layout.chunk_items, arrays.values, arrays.result)
            windows = (count, partitioned_component, width, *indexed, *runs)
            return [self._launch("scatter_window_loops", "update_windows", tasks, *windows)]

        return LaunchPlan((), calls)

    def _filtered_items(self, partitions: int) -> LaunchPlan:
        """Each task filters the single-element slices of its range of destinations."""

        def calls(arrays: Arrays) -> list[KernelCall]:
            total = self._input_bytes // self.storage.itemsize
            size = -(-total // partitions)
            tasks = -(-total // size)
            filtered_slices = (
                tasks, size, self._slice_count, self._slice_geometry(arrays), self._destination_dtype_tag
            )
            items = (arrays.values, arrays.value_stride, arrays.initial, arrays.result)
            return [self._launch("scatter_loops", "update_filtered_items", tasks, *filtered_slices, *items)]

        return LaunchPlan((), calls)

    def _sorted(self) -> LaunchPlan:
        """Each task finds its slices by binary search."""
        layout, width = self._layout, 1 << self._shift
        partitions = (layout.last_destination >> self._shift) + 1

        def calls(arrays: Arrays) -> list[KernelCall]:
            sorted_slices = (
                partitions,
                width,
                self._slice_count,
                self._slice_geometry(arrays),
                self._destination_dtype_tag,
            )
            results = (arrays.initial, arrays.result)
            if self.by_items:
                items = (arrays.values, arrays.value_stride, *results)
                loop = "scatter_loops", "update_sorted_items"
                return [self._launch(*loop, partitions, *sorted_slices, *items)]
            runs = (layout.row_items, layout.runs, layout.chunk_items, arrays.values, *results)
            loop = "scatter_slice_loops", "update_sorted_runs"
            return [self._launch(*loop, partitions, *sorted_slices, *runs)]

        return LaunchPlan((), calls)

    def _in_tables(self) -> LaunchPlan:
        """Each task reduces its slices in tables of its own first."""
        task_tables = Tables(self.kind, self._slice_count, self._layout.last_destination + 1)

        def calls(arrays: Arrays, tables_scratch: ArrayParam) -> list[KernelCall]:
            all_slices = (
                self._slice_geometry(arrays), self._destination_dtype_tag, arrays.values, arrays.value_stride
            )
            return task_tables.calls(all_slices, tables_scratch, arrays.result, self._seconds)

        return LaunchPlan([task_tables.scratch], calls)
