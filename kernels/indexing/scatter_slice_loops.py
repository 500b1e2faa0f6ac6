"""The loops that apply a scatter's updates where a unit is of runs of elements. Importing this module imports
Numba.

`update_runs_in_order` takes units as `scatter_units.locate` finds them, the others those of one owner after
the other.
"""

import functools
from typing import Any

import numpy as np

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import get, put
from ..simd.monoids import OVERWRITE, storage_dtype
from ..simd.searches import COMPRESS_PADDING, select_in_range
from .scatter_buckets import BLOCK, confine, first_unit, locate
from .scatter_loops import FAR_BYTES
from .scatter_slices import (
    LINE_BYTES,
    NEAR_SHARE,
    begins_lines,
    combine_run,
    combine_short_run,
    copy_run,
    fetch_lines,
    make_row,
    own_part,
    return_part,
    run_lanes,
    start_columns,
    start_range,
)

PREFETCHED_LINES = 128
"""How many lines of runs are fetched ahead."""
NEAR_BYTES = 1 << 20
"""Where a task has just written so much of the result, the processor's own cache holds it."""
PREFETCH_LINES = 4
"""How many lines of a run are: the processor follows by itself then."""


@kernel
def _units_ahead(items: int, itemsize: int) -> int:
    """How many units ahead their runs are fetched."""
    lines = min(-(-items * itemsize // LINE_BYTES), PREFETCH_LINES)
    return max(2, PREFETCHED_LINES // lines)


@kernel
def _is_far(size: int, initial: Any, result: Any) -> bool:
    """Whether so many elements of the result, which a task works on, must be fetched. More of them are near
    where the task has just written them."""
    return size * result.itemsize > (NEAR_BYTES if initial.size > 0 else FAR_BYTES)


@functools.cache
def _apply_runs(element: str, combiner: str) -> Kernel:
    """Units of runs from number `begin` to `end`, in order.

    `runs` has a row (input offset, update offset) for each run of a unit. A run has `length` pieces of
    `piece` elements; with `slides`, only those pieces that are in bounds, from 0 to `bound`. Places in the
    result are fetched where it `is_far`.
    """
    line_items, vector_items = LINE_BYTES // storage_dtype(element).itemsize, run_lanes(element)
    two_lines = 2 * line_items

    @kernel
    def slid(
        key: int, source: int, slide: int, bound: int, runs: Any, length: int, piece: int, values: Any,
        result: Any,
    ) -> None:  # fmt: skip
        begin, end = max(0, -slide) * piece, min(length, bound - slide) * piece
        for run in range(runs.shape[0]):
            place, start = key + slide * piece + runs[run, 0], source + runs[run, 1]
            combine_run(element, combiner, result, place + begin, values, start + begin, end - begin)

    @kernel(inline=True)
    def rows(
        begin: int, end: int, keys: Any, sources: Any, step: int, grain: int, items: int, lines: int,
        ahead: int, is_far: bool, is_short: bool, values: Any, result: Any,
    ) -> None:  # fmt: skip
        nearer = ahead // NEAR_SHARE
        for unit in range(begin, end):
            far, near = min(unit + ahead, end - 1) * step, min(unit + nearer, end - 1) * step
            fetch_lines(values, np.int64(get(sources, far)), np.int64(get(sources, near)), lines)
            if is_far:
                far_key = max(np.int64(get(keys, far)), np.int64(0))
                near_key = max(np.int64(get(keys, near)), np.int64(0))
                fetch_lines(result, far_key * grain, near_key * grain, lines)
            key = np.int64(get(keys, unit * step))
            if key >= 0:
                source = np.int64(get(sources, unit * step))
                if is_short:
                    combine_short_run(element, combiner, result, key * grain, values, source, items)
                else:
                    combine_run(element, combiner, result, key * grain, values, source, items)

    @kernel
    def body(
        begin: int, end: int, keys: Any, sources: Any, slides: Any, step: int, grain: int,
        bound: int, runs: Any, length: int, piece: int, is_far: bool, values: Any, result: Any,
    ) -> None:  # fmt: skip
        items = length * piece
        lines = min(-(-items * values.itemsize // LINE_BYTES), PREFETCH_LINES)
        ahead = _units_ahead(items, values.itemsize)
        if slides.size == 0 and runs.shape[0] == 1:
            # The same with constants, which become quicker loops.
            if items == line_items and step == 1:
                rows(
                    begin, end, keys, sources, 1, grain, line_items, 1, ahead, is_far, False, values,
                    result,
                )  # fmt: skip
            elif items == two_lines and step == 1:
                rows(
                    begin, end, keys, sources, 1, grain, two_lines, 2, ahead, is_far, False, values,
                    result,
                )  # fmt: skip
            elif items < vector_items:
                rows(
                    begin, end, keys, sources, step, grain, items, 1, ahead, is_far, True, values,
                    result,
                )  # fmt: skip
            else:
                rows(
                    begin, end, keys, sources, step, grain, items, lines, ahead, is_far, False, values,
                    result,
                )  # fmt: skip
            return
        nearer = ahead // NEAR_SHARE
        for unit in range(begin, end):
            far, near = min(unit + ahead, end - 1) * step, min(unit + nearer, end - 1) * step
            fetch_lines(values, np.int64(get(sources, far)), np.int64(get(sources, near)), lines)
            if is_far:
                far_key = max(np.int64(get(keys, far)), np.int64(0))
                near_key = max(np.int64(get(keys, near)), np.int64(0))
                fetch_lines(result, far_key * grain, near_key * grain, lines)
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
        start_range(task, offsets.shape[1] - 1, size, initial, result)
        is_far = _is_far(size, initial, result)
        for row in range(offsets.shape[0]):
            begin, end = offsets[row, task], offsets[row, task + 1]
            apply(
                begin, end, keys, sources, slides, step, grain, bound, runs, length, piece, is_far,
                values, result,
            )  # fmt: skip

    return body


@functools.cache
def update_runs_in_order(element: str, combiner: str) -> Kernel:
    """Units of runs, `size` for each task.

    Where `initial` is not empty, task t gives the t-th `width` grains of the result their first values.
    """
    apply = _apply_runs(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, size: int, count: int, width: int, where: Any, sample: Any, grain: int, bound: int,
        runs: Any, length: int, piece: int, values: Any, initial: Any, result: Any,
    ) -> None:  # fmt: skip
        start_range(task, -(-count // size), width * grain, initial, result)
        keys, sources = np.empty(BLOCK, sample.dtype), np.empty(BLOCK, sample.dtype)
        slides = np.empty(BLOCK if where[2].size > 0 else 0, sample.dtype)
        is_far = _is_far(width * grain if width > 0 else result.size, initial, result)
        end = min(count, (task + 1) * size)
        for first in range(task * size, end, BLOCK):
            own = min(BLOCK, end - first)
            locate(0, first, own, where, keys, sources, slides)
            apply(
                0, own, keys, sources, slides, 1, grain, bound, runs, length, piece, is_far, values,
                result,
            )  # fmt: skip

    return body


@functools.cache
def update_chosen_runs(element: str, combiner: str) -> Kernel:
    """Units of runs that do not slide. Owner t has `width` grains, the last one all that are left, and
    chooses its units among all; the updates of unit n begin at n times `source_step`."""
    apply = _apply_runs(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, owners: int, width: int, count: int, source_step: int, where: Any, sample: Any, grain: int,
        runs: Any, piece: int, values: Any, initial: Any, result: Any,
    ) -> None:  # fmt: skip
        start_range(task, owners, width * grain, initial, result)
        part = own_part(task, owners, width * grain, result)
        keys, nothing = np.empty(BLOCK, sample.dtype), np.empty(0, sample.dtype)
        room = BLOCK + COMPRESS_PADDING
        own, sources = np.empty(room, sample.dtype), np.empty(room, sample.dtype)
        is_far = _is_far(width * grain, initial, result)
        for first in range(0, count, BLOCK):
            here = min(BLOCK, count - first)
            locate(0, first, here, where, keys, nothing, nothing)
            start = first * source_step
            chosen = select_in_range(keys, here, task * width, width, start, source_step, own, sources)
            apply(0, chosen, own, sources, nothing, 1, grain, 0, runs, 1, piece, is_far, values, part)
        return_part(task, width * grain, part, result)

    return body


@functools.cache
def update_columns_of_rows(element: str, combiner: str) -> Kernel:
    """Units of a whole row each, as they come. Owner t has `width` columns of all rows; the updates of unit n
    begin at n times `source_step`, so that the processor sees by itself which come next."""
    line_items = LINE_BYTES // storage_dtype(element).itemsize
    two_lines = 2 * line_items

    @kernel(inline=True)
    def rows(
        count: int, keys: Any, first: int, source_step: int, grain: int, items: int, values: Any, result: Any
    ) -> None:
        for unit in range(count):
            key = np.int64(get(keys, unit))
            if key >= 0:
                source = (first + unit) * source_step
                combine_run(element, combiner, result, key * grain, values, source, items)

    @kernel(parallel=True)
    def body(
        task: int, width: int, count: int, source_step: int, where: Any, sample: Any, grain: int, values: Any,
        initial: Any, result: Any,
    ) -> None:  # fmt: skip
        column = task * width
        if initial.size > 0:
            start_columns(column, width, grain, initial, result)
        keys, nothing = np.empty(BLOCK, sample.dtype), np.empty(0, sample.dtype)
        own_values, own_result = values[column:], result[column:]
        for first in range(0, count, BLOCK):
            here = min(BLOCK, count - first)
            locate(0, first, here, where, keys, nothing, nothing)
            # The same with constants, which become quicker loops.
            if width == line_items:
                rows(here, keys, first, source_step, grain, line_items, own_values, own_result)
            elif width == two_lines:
                rows(here, keys, first, source_step, grain, two_lines, own_values, own_result)
            else:
                rows(here, keys, first, source_step, grain, width, own_values, own_result)

    return body


@functools.cache
def update_sorted_runs(element: str, combiner: str) -> Kernel:
    """Units of runs whose keys ascend. Owner t has `width` grains, the last one all that are left, and
    searches for where its units begin and end; those of others that are among them are left out."""
    apply = _apply_runs(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, owners: int, width: int, count: int, where: Any, sample: Any, grain: int, runs: Any,
        piece: int, values: Any, initial: Any, result: Any,
    ) -> None:  # fmt: skip
        start_range(task, owners, width * grain, initial, result)
        keys, sources = np.empty(BLOCK, sample.dtype), np.empty(BLOCK, sample.dtype)
        nothing = np.empty(0, sample.dtype)
        is_far = _is_far(width * grain, initial, result)
        least = task * width
        end = first_unit(least + width, count, where)
        for first in range(first_unit(least, count, where), end, BLOCK):
            here = min(BLOCK, end - first)
            locate(0, first, here, where, keys, sources, nothing)
            confine(keys, here, least, width)
            apply(0, here, keys, sources, nothing, 1, grain, 0, runs, 1, piece, is_far, values, result)

    return body


@functools.cache
def make_rows(element: str, combiner: str) -> Kernel:
    """The result of units of one run each. Owner t has `rows` grains, the last one all that are left, and of
    each row of `offsets` the units from the t-th offset to the next one.

    The owner groups its units by key, in `grouped`, so that it writes each element of the result once.
    `past_caches`: grains, which the units fill, are written past the caches where they are whole lines.
    """
    is_overwritten = combiner == OVERWRITE

    @kernel
    def group(
        task: int, offsets: Any, keys: Any, sources: Any, step: int, first: int, ends: Any, grouped: Any
    ) -> int:
        begin = 0
        for row in range(offsets.shape[0]):
            begin += offsets[row, task] - offsets[row, 0]
            for unit in range(offsets[row, task], offsets[row, task + 1]):
                place = np.int64(get(keys, unit * step)) - first
                put(ends, place, 1 if is_overwritten else get(ends, place) + 1)
        total = begin
        for row in range(ends.size):
            own = int(get(ends, row))
            put(ends, row, total + own if is_overwritten else total)
            total += own
        for row in range(offsets.shape[0]):
            for unit in range(offsets[row, task], offsets[row, task + 1]):
                place = np.int64(get(keys, unit * step)) - first
                at = np.int64(get(ends, place))
                if is_overwritten:
                    put(grouped, at - 1, get(sources, unit * step))
                else:
                    put(grouped, at, get(sources, unit * step))
                    put(ends, place, at + 1)
        return begin

    @kernel(parallel=True)
    def body(
        task: int, offsets: Any, keys: Any, sources: Any, step: int, grouped: Any, rows: int, grain: int,
        items: int, values: Any, initial: Any, past_caches: int, result: Any,
    ) -> None:  # fmt: skip
        first = task * rows
        own = rows if task < offsets.shape[1] - 2 else result.size // grain - first
        ends = np.zeros(own, keys.dtype)
        begin = group(task, offsets, keys, sources, step, first, ends, grouped)
        ahead, last = _units_ahead(items, values.itemsize), np.int64(get(ends, own - 1)) - 1
        in_lines = past_caches != 0 and begins_lines(result, items)
        is_one = initial.size == 1
        one = np.empty(grain if is_one else 0, result.dtype)
        for column in range(one.size):
            put(one, column, get(initial, 0))
        begun = one if is_one else initial
        for row in range(own):
            place, end = (first + row) * grain, np.int64(get(ends, row))
            start = 0 if is_one else place
            make_row(
                element, combiner, result, place, begun, start, items, values, grouped, begin, end, ahead,
                last, in_lines,
            )  # fmt: skip
            if items < grain:
                copy_run(result, place + items, begun, start + items, grain - items)
            begin = end

    return body
