"""The loops of gather, which chooses among them. Importing this module imports Numba."""

from typing import Any

import numpy as np

from .compilation import kernel
from .memory import copy_bytes, item_at

BLOCK = 1024
LONG_LINE = 16
"""Units that lie in a line from which on a line is gathered by itself."""


@kernel
def _add_starts(
    address: int, sample: Any, base: int, index_step: int, component: Any, here: int, done: int,
    starts: Any, inside: Any,
) -> None:  # fmt: skip
    """Add to `starts` where a line of indices moves its units to; `inside` notes which lie inside."""
    largest, for_negative, wrap, operand_step = component[0], component[1], component[2], component[3]
    if inside.size > 0:
        for step in range(here):
            start = np.int64(item_at(sample, address, base + step * index_step))
            start = start + wrap if start < 0 else start
            inside[np.uint64(done + step)] &= start >= 0 and start <= largest
            start = for_negative if start < 0 else min(start, largest)
            starts[np.uint64(done + step)] += start * operand_step
    elif index_step == 1:
        for step in range(here):
            start = np.int64(item_at(sample, address, base + step))
            start = start + wrap if start < 0 else start
            start = for_negative if start < 0 else min(start, largest)
            starts[np.uint64(done + step)] += start * operand_step
    else:
        for step in range(here):
            start = np.int64(item_at(sample, address, base + step * index_step))
            start = start + wrap if start < 0 else start
            start = for_negative if start < 0 else min(start, largest)
            starts[np.uint64(done + step)] += start * operand_step


@kernel
def _unit_offsets(
    first: int, count: int, loops: Any, components: Any, columns: Any, sample: Any, starts: Any, places: Any,
    inside: Any,
) -> None:  # fmt: skip
    """Where `count` units from number `first` begin in the operand (`starts`) and in the result (`places`).

    `loops` has a row (size, operand step, result step, a step for each column of indices) for each dimension
    of the units' space; `components` a row (largest start, start for a negative index, what is added to a
    negative index first, operand step) for each column; `columns` the addresses of the columns, whose items
    have the type of `sample`. `places` and `inside` may be empty.
    """
    inner = loops.shape[0] - 1
    length, start_step, place_step = loops[inner, 0], loops[inner, 1], loops[inner, 2]
    if inside.size > 0:
        for step in range(count):
            inside[np.uint64(step)] = True
    done = 0
    while done < count:
        line = (first + done) // length
        skipped = first + done - line * length
        here = min(length - skipped, count - done)
        start_base, place_base = skipped * start_step, skipped * place_step
        rest = line
        for axis in range(inner - 1, -1, -1):
            outer = rest // loops[axis, 0]
            coordinate = rest - outer * loops[axis, 0]
            rest = outer
            start_base += coordinate * loops[axis, 1]
            place_base += coordinate * loops[axis, 2]
        for step in range(here):
            starts[np.uint64(done + step)] = start_base + step * start_step
        if places.size > 0:
            for step in range(here):
                places[np.uint64(done + step)] = place_base + step * place_step
        for row in range(components.shape[0]):
            index_step = loops[inner, 3 + row]
            base = skipped * index_step
            rest = line
            for axis in range(inner - 1, -1, -1):
                outer = rest // loops[axis, 0]
                base += (rest - outer * loops[axis, 0]) * loops[axis, 3 + row]
                rest = outer
            _add_starts(columns[row], sample, base, index_step, components[row], here, done, starts, inside)
        done += here


@kernel(inline=True)
def _gather_line(
    address: int, sample: Any, base: int, index_step: int, component: Any, operand: Any, operand_step: int,
    start: int, start_step: int, result: Any, filling: Any,
) -> None:  # fmt: skip
    """Gather `result`, a line of units that one column of indices moves, the first of them from `start`."""
    largest, for_negative, wrap = component[0], component[1], component[2]
    if filling.size > 0:
        outside = filling[0]
        for step in range(result.size):
            index = np.int64(item_at(sample, address, base + step * index_step))
            index = index + wrap if index < 0 else index
            moved = for_negative if index < 0 else min(index, largest)
            item = operand[np.uint64(start + step * start_step + moved * operand_step)]
            result[np.uint64(step)] = item if index >= 0 and index <= largest else outside
    else:
        for step in range(result.size):
            index = np.int64(item_at(sample, address, base + step * index_step))
            index = index + wrap if index < 0 else index
            moved = for_negative if index < 0 else min(index, largest)
            result[np.uint64(step)] = operand[np.uint64(start + step * start_step + moved * operand_step)]


@kernel
def _gather_by_one_column(
    first: int, end: int, loops: Any, components: Any, columns: Any, sample: Any, operand: Any, result: Any,
    filling: Any,
) -> None:  # fmt: skip
    """The units from `first` to `end` of `gather_items`, line by line."""
    inner = loops.shape[0] - 1
    length, start_step, index_step = loops[inner, 0], loops[inner, 1], loops[inner, 3]
    operand_step = components[0, 3]
    while first < end:
        line = first // length
        skipped = first - line * length
        here = min(length - skipped, end - first)
        start, base, rest = skipped * start_step, skipped * index_step, line
        for axis in range(inner - 1, -1, -1):
            outer = rest // loops[axis, 0]
            coordinate = rest - outer * loops[axis, 0]
            rest = outer
            start += coordinate * loops[axis, 1]
            base += coordinate * loops[axis, 3]
        line_of_result = result[first : first + here]
        if index_step == 1 and operand_step == 1 and start_step == 0:
            # The same with constants, which become quicker loops.
            _gather_line(
                columns[0], sample, base, 1, components[0], operand, 1, start, 0, line_of_result, filling
            )
        else:
            _gather_line(
                columns[0], sample, base, index_step, components[0], operand, operand_step, start, start_step,
                line_of_result, filling,
            )  # fmt: skip
        first += here


@kernel(parallel=True)
def gather_items(
    task: int, size: int, total: int, loops: Any, components: Any, columns: Any, sample: Any, operand: Any,
    result: Any, filling: Any,
) -> None:  # fmt: skip
    """Units of one item each, which follow each other in the result.

    `filling` is what a unit gets whose indices lie outside; where it is empty, such units are moved inside.
    """
    if components.shape[0] == 1 and loops[loops.shape[0] - 1, 0] >= LONG_LINE:
        end = min(total, (task + 1) * size)
        _gather_by_one_column(
            task * size, end, loops, components, columns, sample, operand, result, filling
        )
        return
    starts = np.empty(BLOCK, np.int64)
    places = np.empty(0, np.int64)
    inside = np.empty(BLOCK if filling.size > 0 else 0, np.bool_)
    end = min(total, (task + 1) * size)
    for first in range(task * size, end, BLOCK):
        count = min(BLOCK, end - first)
        _unit_offsets(first, count, loops, components, columns, sample, starts, places, inside)
        if filling.size > 0:
            for step in range(count):
                item = operand[np.uint64(starts[np.uint64(step)])]
                result[np.uint64(first + step)] = item if inside[np.uint64(step)] else filling[0]
        else:
            for step in range(count):
                result[np.uint64(first + step)] = operand[np.uint64(starts[np.uint64(step)])]


@kernel(parallel=True)
def gather_runs(
    task: int, size: int, total: int, loops: Any, components: Any, columns: Any, sample: Any, operand: Any,
    result: Any, filling: Any, runs: Any, run_bytes: int,
) -> None:  # fmt: skip
    """Units of runs of `run_bytes` bytes at each row (operand offset, result offset) of `runs`, in bytes."""
    starts = np.empty(BLOCK, np.int64)
    places = np.empty(BLOCK, np.int64)
    inside = np.empty(BLOCK if filling.size > 0 else 0, np.bool_)
    end = min(total, (task + 1) * size)
    for first in range(task * size, end, BLOCK):
        count = min(BLOCK, end - first)
        _unit_offsets(first, count, loops, components, columns, sample, starts, places, inside)
        for step in range(count):
            start, place = starts[np.uint64(step)], places[np.uint64(step)]
            if filling.size > 0 and not inside[np.uint64(step)]:
                for run in range(runs.shape[0]):
                    copy_bytes(result, place + runs[run, 1], filling, 0, run_bytes)
            elif run_bytes == 32:
                for run in range(runs.shape[0]):
                    copy_bytes(result, place + runs[run, 1], operand, start + runs[run, 0], 32)
            else:
                for run in range(runs.shape[0]):
                    copy_bytes(result, place + runs[run, 1], operand, start + runs[run, 0], run_bytes)


@kernel(parallel=True)
def gather_scattered(
    task: int, size: int, total: int, loops: Any, components: Any, columns: Any, sample: Any, operand: Any,
    result: Any, filling: Any, items: Any,
) -> None:  # fmt: skip
    """Units of items that do not follow each other; `items` has a row (operand offset, result offset) for
    each."""
    starts = np.empty(BLOCK, np.int64)
    places = np.empty(BLOCK, np.int64)
    inside = np.empty(BLOCK if filling.size > 0 else 0, np.bool_)
    end = min(total, (task + 1) * size)
    for first in range(task * size, end, BLOCK):
        count = min(BLOCK, end - first)
        _unit_offsets(first, count, loops, components, columns, sample, starts, places, inside)
        for item in range(items.shape[0]):
            from_start, from_place = items[item, 0], items[item, 1]
            for step in range(count):
                place = np.uint64(places[np.uint64(step)] + from_place)
                value = operand[np.uint64(starts[np.uint64(step)] + from_start)]
                if filling.size > 0 and not inside[np.uint64(step)]:
                    value = filling[0]
                result[place] = value
