"""The loops of scatter, which chooses among them. Importing this module imports Numba.

`keys` holds for each unit where its run begins in the input, or -1 where the unit is out of bounds.
"""

import functools
from typing import Any

import numpy as np

from .arithmetic import combine, get, load, put, store
from .compilation import Kernel, kernel
from .memory import prefetch_read, prefetch_write
from .monoids import OVERWRITE

BLOCK = 1024
"""How many units are looked at in one go: what is computed of them stays in the nearest cache."""
PREFETCH_ITEMS = 16
"""How far ahead an owner's place is fetched: there are more owners than the processor follows by itself."""
PREFETCH_PLACES = 32
"""How many units of one element ahead their places in the result are fetched."""
PREFETCH_UNITS = 8
"""How many units ahead the first lines of a run are fetched."""
PREFETCH_LINES = 4


@kernel
def _line_bases(line: int, inner: int, loops: Any, bases: Any) -> None:
    """Add to `bases` how far the outer coordinates of that line of units move each of its members."""
    for axis in range(inner - 1, -1, -1):
        outer = line // loops[axis, 0]
        coordinate = line - outer * loops[axis, 0]
        line = outer
        for member in range(bases.size):
            bases[member] += coordinate * loops[axis, 1 + member]


@kernel
def _start(indices: Any, place: int, least_index: int) -> Any:
    """An index; far out of bounds if it is below `least_index`, as unsigned integers above 2**63 are."""
    start = np.int64(get(indices, place))
    return start if start >= least_index else np.int64(-(2**63))


@kernel
def _component(
    indices: Any, least_index: int, index_base: int, index_step: int, moved: int, move_step: int, bound: int,
    input_step: int, keys: Any, at: int, count: int,
) -> None:  # fmt: skip
    """Move the keys of one line of units by one component of their index vectors; -1 where it is out of
    bounds."""
    for step in range(count):
        start = _start(indices, index_base + step * index_step, least_index) + moved + step * move_step
        key = np.int64(get(keys, at + step))
        inside = (start >= 0) & (start < bound) & (key >= 0)
        put(keys, at + step, key + start * input_step if inside else np.int64(-1))


@kernel
def _slide(
    indices: Any, least_index: int, index_base: int, index_step: int, least: int, bound: int, slides: Any,
    at: int, count: int,
) -> None:  # fmt: skip
    """Where the runs of one line of units begin along the dimension that clips them, from `least` to
    `bound`."""
    for step in range(count):
        start = _start(indices, index_base + step * index_step, least_index)
        put(slides, at + step, min(max(start, least), bound))


@kernel
def _unit_line(
    at: int, count: int, inner: int, bases: Any, loops: Any, components: Any, slide: Any, indices: Any,
    least_index: int, keys: Any, sources: Any, slides: Any,
) -> None:  # fmt: skip
    """Keys, sources and slides of `count` units that differ in the innermost coordinate only."""
    index_step, key_step, source_step = loops[inner, 1], loops[inner, 2], loops[inner, 3]
    for step in range(count):
        put(keys, at + step, bases[1] + step * key_step)
    if sources.size > 0:
        for step in range(count):
            put(sources, at + step, bases[2] + step * source_step)
    for row in range(components.shape[0]):
        place, moved, move_step = bases[0] + components[row, 0], bases[3 + row], loops[inner, 4 + row]
        bound, input_step = components[row, 1], components[row, 2]
        if index_step == 1 and move_step == 0:  # the constants make this loop one of vectors
            _component(indices, least_index, place, 1, moved, 0, bound, input_step, keys, at, count)
        else:
            _component(
                indices, least_index, place, index_step, moved, move_step, bound, input_step, keys, at, count
            )
    if slides.size > 0:
        _slide(indices, least_index, bases[0] + slide[0], index_step, slide[1], slide[2], slides, at, count)


@kernel(parallel=True)
def find_keys(
    task: int, size: int, first: int, count: int, loops: Any, components: Any, slide: Any, indices: Any,
    least_index: int, schedule: Any, keys: Any, sources: Any, slides: Any,
) -> None:  # fmt: skip
    """Keys, sources (places in the updates) and slides of `count` units from number `first` on.

    `loops` has a row (size, index step, input step, update step, and a step for each component) for each
    dimension of the units' space, `components` a row (place in the index vector, bound, input step) for each
    component; `slide` is (place in the index vector, least, bound). Where `schedule` is not empty it names
    the units.
    """
    inner = loops.shape[0] - 1
    length = loops[inner, 0]
    bases = np.empty(loops.shape[1] - 1, np.int64)
    done, end = task * size, min(count, (task + 1) * size)
    while done < end:
        unit = first + done
        if schedule.size > 0:
            unit = schedule[unit]
        line = unit // length
        skipped = unit - line * length
        here = 1 if schedule.size > 0 else min(length - skipped, end - done, BLOCK)
        for member in range(bases.size):
            bases[member] = skipped * loops[inner, 1 + member]
        _line_bases(line, inner, loops, bases)
        _unit_line(
            done, here, inner, bases, loops, components, slide, indices, least_index, keys, sources, slides
        )
        done += here


@kernel(parallel=True)
def count_owned(task: int, size: int, count: int, shift: int, keys: Any, counts: Any) -> None:
    """How many of a task's units each owner has: a row of `counts`. An owner has the keys equal but for
    `shift` bits."""
    for unit in range(task * size, min(count, (task + 1) * size)):
        key = get(keys, unit)
        if key >= 0:
            counts[task, key >> shift] += 1


@kernel(parallel=True)
def distribute_values(
    task: int, size: int, count: int, shift: int, keys: Any, values: Any, first: int, value_step: int,
    places: Any, owned_keys: Any, key_step: int, owned_values: Any, owned_step: int,
) -> None:  # fmt: skip
    """Put keys and values at their owners' places, in their order; `places` has a row of next places a task.

    A key and its value lie side by side: `owned_keys` and `owned_values` are views of one memory, with these
    steps.
    """
    for unit in range(task * size, min(count, (task + 1) * size)):
        key = get(keys, unit)
        if key >= 0:
            place = places[task, key >> shift]
            places[task, key >> shift] = place + 1
            prefetch_write(owned_keys, (place + PREFETCH_ITEMS) * key_step)
            put(owned_keys, place * key_step, key)
            put(owned_values, place * owned_step, get(values, (first + unit) * value_step))


@kernel(parallel=True)
def distribute_units(
    task: int, size: int, count: int, shift: int, keys: Any, places: Any, owned_units: Any
) -> None:
    """Put the units' numbers at their owners' places, in their order."""
    for unit in range(task * size, min(count, (task + 1) * size)):
        key = get(keys, unit)
        if key >= 0:
            place = places[task, key >> shift]
            places[task, key >> shift] = place + 1
            prefetch_write(owned_units, place + PREFETCH_ITEMS)
            put(owned_units, place, unit)


@functools.cache
def update(element: str, combiner: str) -> Kernel:
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
def update_items(element: str, combiner: str) -> Kernel:
    """Units of one element. Task t has the units from `bounds[t]` to `bounds[t + 1]`."""
    apply = update(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int,
        bounds: Any,
        keys: Any,
        key_step: int,
        values: Any,
        first: int,
        value_step: int,
        result: Any,
    ) -> None:
        begin, end = bounds[task], bounds[task + 1]
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
def update_private_items(element: str, combiner: str) -> Kernel:
    """Units of one element, each task's into a row of its own, `width` long, in `tables`."""
    apply = update(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, bounds: Any, width: int, keys: Any, values: Any, first: int, value_step: int, tables: Any
    ) -> None:
        for unit in range(bounds[task], bounds[task + 1]):
            key = np.int64(get(keys, unit))
            if key >= 0:
                apply(tables, task * width + key, values, (first + unit) * value_step)

    return body


@functools.cache
def update_runs(element: str, combiner: str) -> Kernel:
    """Units of runs. `runs` has a row (input offset, update offset) for each run of a unit.

    Task t has the units `order[bounds[t]]` to `order[bounds[t + 1] - 1]`, or those numbers where `order` is
    empty. A run has `length` pieces of `piece` elements; with `slides`, only those pieces that are in bounds,
    from 0 to `bound`.
    """
    apply = update(element, combiner)

    @kernel
    def prefetch(unit: int, end: int, keys: Any, sources: Any, values: Any, result: Any) -> None:
        key, source = np.int64(get(keys, unit)), get(sources, unit)
        for line in range(0, min(end, PREFETCH_LINES * PREFETCH_ITEMS), PREFETCH_ITEMS):
            prefetch_write(result, key + line)
            prefetch_read(values, source + line)

    @kernel(parallel=True)
    def body(
        task: int, bounds: Any, order: Any, keys: Any, sources: Any, slides: Any, bound: int, runs: Any,
        length: int, piece: int, values: Any, result: Any,
    ) -> None:  # fmt: skip
        for position in range(bounds[task], bounds[task + 1]):
            unit = np.int64(get(order, position)) if order.size > 0 else position
            begin, end = 0, length * piece
            ahead = position + PREFETCH_UNITS
            if ahead < bounds[task + 1]:
                later = np.int64(get(order, ahead)) if order.size > 0 else ahead
                prefetch(later, end, keys, sources, values, result)
            key, source = np.int64(get(keys, unit)), get(sources, unit)
            if key < 0:
                continue
            if slides.size > 0:
                slide = get(slides, unit)
                begin, end = max(0, -slide) * piece, min(length, bound - slide) * piece
                key += slide * piece
            for run in range(runs.shape[0]):
                place, start = key + runs[run, 0], source + runs[run, 1]
                for item in range(begin, end):
                    apply(result, place + item, values, start + item)

    return body
