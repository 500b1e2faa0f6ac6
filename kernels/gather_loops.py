"""The loops of gather, which chooses among them. Importing this module imports Numba."""

from typing import Any

import numpy as np

from .compilation import kernel
from .memory import copy_bytes

BLOCK = 1024


@kernel
def _unit_offsets(
    first: int, count: int, loops: Any, components: Any, indices: Any, starts: Any, places: Any
) -> None:
    """Where `count` units from number `first` begin in the operand (`starts`) and in the result (`places`).

    `loops` has a row (size, index step, operand step, result step) for each dimension of the units' space,
    `components` a row (place in the index vector, largest start, start for a negative index, operand step)
    for each component. `places` may be empty.
    """
    inner = loops.shape[0] - 1
    length, index_step = loops[inner, 0], loops[inner, 1]
    start_step, place_step = loops[inner, 2], loops[inner, 3]
    done = 0
    while done < count:
        line = (first + done) // length
        skipped = first + done - line * length
        here = min(length - skipped, count - done)
        index_base, start_base, place_base = skipped * index_step, skipped * start_step, skipped * place_step
        for axis in range(inner - 1, -1, -1):
            outer = line // loops[axis, 0]
            coordinate = line - outer * loops[axis, 0]
            line = outer
            index_base += coordinate * loops[axis, 1]
            start_base += coordinate * loops[axis, 2]
            place_base += coordinate * loops[axis, 3]
        for step in range(here):
            starts[np.uint64(done + step)] = start_base + step * start_step
        if places.size > 0:
            for step in range(here):
                places[np.uint64(done + step)] = place_base + step * place_step
        for row in range(components.shape[0]):
            component_base = index_base + components[row, 0]
            largest, for_negative, operand_step = components[row, 1], components[row, 2], components[row, 3]
            for step in range(here):
                start = np.int64(indices[np.uint64(component_base + step * index_step)])
                start = for_negative if start < 0 else min(start, largest)
                starts[np.uint64(done + step)] += start * operand_step
        done += here


@kernel(parallel=True)
def gather_items(
    task: int, size: int, total: int, loops: Any, components: Any, indices: Any, operand: Any, result: Any
) -> None:
    """Units of one item each, which follow each other in the result."""
    starts = np.empty(BLOCK, np.int64)
    places = np.empty(0, np.int64)
    end = min(total, (task + 1) * size)
    for first in range(task * size, end, BLOCK):
        count = min(BLOCK, end - first)
        _unit_offsets(first, count, loops, components, indices, starts, places)
        for step in range(count):
            result[np.uint64(first + step)] = operand[np.uint64(starts[np.uint64(step)])]


@kernel(parallel=True)
def gather_runs(
    task: int, size: int, total: int, loops: Any, components: Any, indices: Any, operand: Any, result: Any,
    runs: Any, run_bytes: int,
) -> None:  # fmt: skip
    """Units of runs of `run_bytes` bytes at each row (operand offset, result offset) of `runs`, in bytes."""
    starts = np.empty(BLOCK, np.int64)
    places = np.empty(BLOCK, np.int64)
    end = min(total, (task + 1) * size)
    for first in range(task * size, end, BLOCK):
        count = min(BLOCK, end - first)
        _unit_offsets(first, count, loops, components, indices, starts, places)
        for step in range(count):
            start, place = starts[np.uint64(step)], places[np.uint64(step)]
            for run in range(runs.shape[0]):
                copy_bytes(result, place + runs[run, 1], operand, start + runs[run, 0], run_bytes)


@kernel(parallel=True)
def gather_scattered(
    task: int, size: int, total: int, loops: Any, components: Any, indices: Any, operand: Any, result: Any,
    items: Any,
) -> None:  # fmt: skip
    """Units of items that do not follow each other; `items` has a row (operand offset, result offset) for
    each."""
    starts = np.empty(BLOCK, np.int64)
    places = np.empty(BLOCK, np.int64)
    end = min(total, (task + 1) * size)
    for first in range(task * size, end, BLOCK):
        count = min(BLOCK, end - first)
        _unit_offsets(first, count, loops, components, indices, starts, places)
        for item in range(items.shape[0]):
            from_start, from_place = items[item, 0], items[item, 1]
            for step in range(count):
                place = np.uint64(places[np.uint64(step)] + from_place)
                result[place] = operand[np.uint64(starts[np.uint64(step)] + from_start)]
