"""The loops of gather. Importing this module imports Numba."""

from typing import Any

import numpy as np

from ..launch.compilation import kernel
from ..simd.copy_bytes import copy_bytes, copy_nontemporal, item_at

BLOCK = 1024


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
    have the type of `sample`. `inside` may be empty.
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


@kernel(parallel=True)
def gather_runs(
    task: int, size: int, total: int, loops: Any, components: Any, columns: Any, sample: Any, operand: Any,
    result: Any, filling: Any, runs: Any, run_bytes: int, past_caches: bool,
) -> None:  # fmt: skip
    """Units of runs of `run_bytes` bytes at each row (operand offset, result offset) of `runs`, in bytes.

    `filling` is what a run gets in a unit whose indices lie outside; where it is empty, such units are moved
    inside. `past_caches`: the caches do not keep the result, in which runs are whole lines.
    """
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
            elif past_caches:
                for run in range(runs.shape[0]):
                    copy_nontemporal(result, place + runs[run, 1], operand, start + runs[run, 0], run_bytes)
            else:
                for run in range(runs.shape[0]):
                    copy_bytes(result, place + runs[run, 1], operand, start + runs[run, 0], run_bytes)
