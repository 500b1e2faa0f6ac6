"""The loops that apply a scatter's updates. Importing this module imports Numba.

Those whose names end in `_in_order` take units as `scatter_units.locate` finds them, the others those of one
owner after the other.
"""

import functools
from typing import Any

import numpy as np

from .arithmetic import combine, get, load, put, store
from .compilation import Kernel, kernel
from .memory import prefetch_write
from .monoids import OVERWRITE
from .scatter_runs import LINE_BYTES, combine_run, copy_run, fetch_lines
from .scatter_units import BLOCK, locate
from .searches import positions_within

PREFETCH_PLACES = 32
"""How many units of one element ahead their places in the result are fetched."""
PREFETCHED_LINES = 64
"""How many lines of runs are fetched ahead."""
PREFETCH_LINES = 4
"""How many lines of a run are: the processor follows by itself then."""


@kernel
def _start_range(task: int, owners: int, size: int, initial: Any, result: Any) -> None:
    """Give an owner's part of the result its first values: those of `initial`, or its one value for all.

    Where `initial` is empty, they are there already. An owner has `size` elements, the last one all that are
    left.
    """
    if initial.size == 0:
        return
    begin = task * size
    end = begin + size if task < owners - 1 else result.size
    if initial.size > 1:
        copy_run(result, begin, initial, begin, end - begin)
        return
    for place in range(begin, end):
        put(result, place, get(initial, 0))


@functools.cache
def _update(element: str, combiner: str) -> Kernel:
    """One element of `result` combined with one of `values`."""
    if combiner == OVERWRITE:

        @kernel
        def overwrite(result: Any, place: int, values: Any, source: int) -> None:
            store(element, result, place, load(element, values, source))

        return overwrite

    @kernel
    def combined(result: Any, place: int, values: Any, source: int) -> None:
        value = combine(element, combiner, load(element, result, place), load(element, values, source))
        store(element, result, place, value)

    return combined


@functools.cache
def _apply_items(element: str, combiner: str) -> Kernel:
    """Units of one element from number `begin` to `end`, in order."""
    apply = _update(element, combiner)

    @kernel
    def body(
        begin: int, end: int, keys: Any, key_step: int, values: Any, first: int, value_step: int, result: Any
    ) -> None:
        fetched = max(begin, end - PREFETCH_PLACES)
        for unit in range(begin, fetched):
            later = np.int64(get(keys, (unit + PREFETCH_PLACES) * key_step))
            prefetch_write(result, max(later, 0))
            key = np.int64(get(keys, unit * key_step))
            if key >= 0:
                apply(result, key, values, (first + unit) * value_step)
        for unit in range(fetched, end):
            key = np.int64(get(keys, unit * key_step))
            if key >= 0:
                apply(result, key, values, (first + unit) * value_step)

    return body


@functools.cache
def update_items(element: str, combiner: str) -> Kernel:
    """Units of one element. Owner t has `size` elements, and of each row of `offsets` the units from the t-th
    offset to the next one."""
    apply = _apply_items(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, offsets: Any, keys: Any, key_step: int, values: Any, value_step: int, size: int,
        initial: Any, result: Any,
    ) -> None:  # fmt: skip
        _start_range(task, offsets.shape[1] - 1, size, initial, result)
        for row in range(offsets.shape[0]):
            begin, end = offsets[row, task], offsets[row, task + 1]
            apply(begin, end, keys, key_step, values, 0, value_step, result)

    return body


@functools.cache
def update_chosen_items(element: str, combiner: str) -> Kernel:
    """Units of one element. Owner t has `size` elements, the last one all that are left, and chooses its
    units among all."""
    apply = _update(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, owners: int, size: int, count: int, where: Any, sample: Any, values: Any, value_step: int,
        initial: Any, result: Any,
    ) -> None:  # fmt: skip
        _start_range(task, owners, size, initial, result)
        keys, nothing = np.empty(BLOCK, sample.dtype), np.empty(0, sample.dtype)
        chosen = np.empty(BLOCK + 1, np.int32)
        least = task * size
        own = size if task < owners - 1 else result.size - least
        for first in range(0, count, BLOCK):
            here = min(BLOCK, count - first)
            locate(0, first, here, where, keys, nothing, nothing)
            for number in range(positions_within(keys, here, least, own, chosen)):
                unit = np.int64(get(chosen, number))
                apply(result, np.int64(get(keys, unit)), values, (first + unit) * value_step)

    return body


@functools.cache
def update_items_in_order(element: str, combiner: str) -> Kernel:
    """Units of one element, `size` for each task."""
    apply = _apply_items(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, size: int, count: int, where: Any, sample: Any, values: Any, value_step: int, result: Any
    ) -> None:
        keys, nothing = np.empty(BLOCK, sample.dtype), np.empty(0, sample.dtype)
        end = min(count, (task + 1) * size)
        for first in range(task * size, end, BLOCK):
            here = min(BLOCK, end - first)
            locate(0, first, here, where, keys, nothing, nothing)
            apply(0, here, keys, 1, values, first, value_step, result)

    return body


@functools.cache
def update_tables(element: str, combiner: str) -> Kernel:
    """Units of one element, `size` for each task, which has `ways` tables of `width` elements in `tables`:
    neighbouring units go to different ones, so that they need not wait for each other."""
    apply = _update(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, size: int, count: int, where: Any, sample: Any, values: Any, value_step: int, ways: int,
        width: int, tables: Any,
    ) -> None:  # fmt: skip
        keys, nothing = np.empty(BLOCK, sample.dtype), np.empty(0, sample.dtype)
        end = min(count, (task + 1) * size)
        for first in range(task * size, end, BLOCK):
            here = min(BLOCK, end - first)
            locate(0, first, here, where, keys, nothing, nothing)
            for unit in range(here):
                key = np.int64(get(keys, unit))
                if key >= 0:
                    table = task * ways + (unit & (ways - 1))
                    apply(tables, table * width + key, values, (first + unit) * value_step)

    return body


@functools.cache
def _apply_runs(element: str, combiner: str) -> Kernel:
    """Units of runs from number `begin` to `end`, in order.

    `runs` has a row (input offset, update offset) for each run of a unit. A run has `length` pieces of
    `piece` elements; with `slides`, only those pieces that are in bounds, from 0 to `bound`.
    """

    @kernel
    def slid(
        key: int, source: int, slide: int, bound: int, runs: Any, length: int, piece: int, values: Any,
        result: Any,
    ) -> None:  # fmt: skip
        begin, end = max(0, -slide) * piece, min(length, bound - slide) * piece
        for run in range(runs.shape[0]):
            place, start = key + slide * piece + runs[run, 0], source + runs[run, 1]
            combine_run(element, combiner, result, place + begin, values, start + begin, end - begin)

    @kernel
    def rows(
        begin: int, end: int, keys: Any, sources: Any, step: int, grain: int, items: int, lines: int,
        ahead: int, values: Any, result: Any,
    ) -> None:  # fmt: skip
        for unit in range(begin, end):
            later = min(unit + ahead, end - 1) * step
            fetch_lines(values, np.int64(get(sources, later)), lines)
            fetch_lines(result, max(np.int64(get(keys, later)), np.int64(0)) * grain, lines)
            key = np.int64(get(keys, unit * step))
            if key >= 0:
                source = np.int64(get(sources, unit * step))
                combine_run(element, combiner, result, key * grain, values, source, items)

    @kernel
    def body(
        begin: int, end: int, keys: Any, sources: Any, slides: Any, step: int, grain: int, bound: int,
        runs: Any, length: int, piece: int, values: Any, result: Any,
    ) -> None:  # fmt: skip
        items = length * piece
        lines = min(-(-items * values.itemsize // LINE_BYTES), PREFETCH_LINES)
        ahead = max(2, PREFETCHED_LINES // lines)
        if slides.size == 0 and runs.shape[0] == 1:
            rows(begin, end, keys, sources, step, grain, items, lines, ahead, values, result)
            return
        for unit in range(begin, end):
            later = min(unit + ahead, end - 1) * step
            fetch_lines(values, np.int64(get(sources, later)), lines)
            fetch_lines(result, max(np.int64(get(keys, later)), np.int64(0)) * grain, lines)
            key, source = np.int64(get(keys, unit * step)) * grain, np.int64(get(sources, unit * step))
            if key < 0:
                continue
            if slides.size > 0:
                slide = np.int64(get(slides, unit * step))
                slid(key, source, slide, bound, runs, length, piece, values, result)
            else:
                for run in range(runs.shape[0]):
                    combine_run(
                        element, combiner, result, key + runs[run, 0], values, source + runs[run, 1], items
                    )

    return body


@functools.cache
def update_runs(element: str, combiner: str) -> Kernel:
    """Units of runs. Owner t has `size` elements, and of each row of `offsets` the units from the t-th offset
    to the next one."""
    apply = _apply_runs(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, offsets: Any, keys: Any, sources: Any, slides: Any, step: int, grain: int, bound: int,
        runs: Any, length: int, piece: int, values: Any, size: int, initial: Any, result: Any,
    ) -> None:  # fmt: skip
        _start_range(task, offsets.shape[1] - 1, size, initial, result)
        for row in range(offsets.shape[0]):
            begin, end = offsets[row, task], offsets[row, task + 1]
            apply(begin, end, keys, sources, slides, step, grain, bound, runs, length, piece, values, result)

    return body


@functools.cache
def update_runs_in_order(element: str, combiner: str) -> Kernel:
    """Units of runs, `size` for each task."""
    apply = _apply_runs(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, size: int, count: int, where: Any, sample: Any, grain: int, bound: int, runs: Any,
        length: int, piece: int, values: Any, result: Any,
    ) -> None:  # fmt: skip
        keys, sources = np.empty(BLOCK, sample.dtype), np.empty(BLOCK, sample.dtype)
        slides = np.empty(BLOCK if where[2].size > 0 else 0, sample.dtype)
        end = min(count, (task + 1) * size)
        for first in range(task * size, end, BLOCK):
            here = min(BLOCK, end - first)
            locate(0, first, here, where, keys, sources, slides)
            apply(0, here, keys, sources, slides, 1, grain, bound, runs, length, piece, values, result)

    return body
