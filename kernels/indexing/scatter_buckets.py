"""Where the units of a scatter lie, block by block, and which owner each belongs to. Importing this module
imports Numba.

What is the same for all blocks of a call is one argument of all loops of scatter, `where`: a tuple of
`units`, `components` and `slide`, which are those of `scatter_layout.Layout`, the addresses of the first
index of each component, an array whose items have their type, the least index that counts, and the
`schedule`, which names the units where it is not empty.
"""

from typing import Any

import numpy as np

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import get, put
from ..simd.copy_bytes import item_at, prefetch_pages
from .scatter_destinations import move_keys

BLOCK = 1 << 14
"""How many units are looked at in one go: what is computed of them stays in a processor's own caches."""


@kernel
def _line_bases(line: int, inner: int, units: Any, bases: Any) -> None:
    """Add to `bases` how far the outer coordinates of that line of units move each of its members."""
    for axis in range(inner - 1, -1, -1):
        outer = line // units[axis, 0]
        coordinate = line - outer * units[axis, 0]
        line = outer
        for member in range(bases.size):
            bases[member] += coordinate * units[axis, 1 + member]


@kernel
def start_at(sample: Any, address: int, place: int, least_index: int, added: int) -> Any:
    """An index, with `added` if it is negative; far out of bounds if it is below `least_index`, as unsigned
    integers above 2**63 are."""
    start = np.int64(item_at(sample, address, place))
    start = start if start >= least_index else np.int64(-(2**63))
    return start + added if start < 0 else start


@kernel
def _component(
    sample: Any, address: int, least_index: int, index_base: int, index_step: int, component: Any, moved: int,
    move_step: int, keys: Any, at: int, count: int,
) -> None:  # fmt: skip
    """Move the keys of one line of units by one component of their index vectors; -1 where it is out of
    bounds."""
    bound, input_step, added = component[1], component[2], component[3]
    for step in range(count):
        start = start_at(sample, address, index_base + step * index_step, least_index, added)
        start += moved + step * move_step
        key = np.int64(get(keys, at + step))
        inside = (start >= 0) & (start < bound) & (key >= 0)
        put(keys, at + step, key + start * input_step if inside else np.int64(-1))


@kernel
def _slide(
    sample: Any, address: int, least_index: int, index_base: int, index_step: int, slide: Any, slides: Any,
    at: int, count: int,
) -> None:  # fmt: skip
    """Where the runs of one line of units begin along the dimension that clips them, from the least start
    that matters to the bound."""
    for step in range(count):
        start = start_at(sample, address, index_base + step * index_step, least_index, slide[3])
        put(slides, at + step, min(max(start, slide[1]), slide[2]))


def _by_component(begins: int) -> Kernel:
    @kernel
    def move(
        sample: Any, address: int, first: int, index_step: int, least_index: int, moved: int, row: Any,
        base: int, keys: Any, at: int, count: int,
    ) -> None:  # fmt: skip
        if index_step != 1:
            move_keys(
                64, begins, sample, address, first, index_step, least_index, moved, row, base, keys, at, count
            )
        elif moved == 0 and sample.itemsize <= 4 and keys.itemsize == 4:
            move_keys(32, begins, sample, address, first, 1, least_index, moved, row, base, keys, at, count)
        else:
            move_keys(64, begins, sample, address, first, 1, least_index, moved, row, base, keys, at, count)

    return move


_begin = _by_component(begins=1)
"""Write the keys of one line of units, whose first one lies at `base`, by the first component of their index
vectors."""
_move = _by_component(begins=0)
"""Move the keys of one line of units by one component of their index vectors."""


@kernel
def _line(
    at: int, count: int, inner: int, bases: Any, where: Any, keys: Any, sources: Any, slides: Any
) -> None:
    """Keys, sources and slides of `count` units that differ in the innermost coordinate only."""
    units, components, slide, addresses, sample, least_index, _ = where
    index_step, key_step, source_step = units[inner, 1], units[inner, 2], units[inner, 3]
    if sources.size > 0:
        for step in range(count):
            put(sources, at + step, bases[2] + step * source_step)
    if slides.size > 0:
        _slide(sample, addresses[slide[0]], least_index, bases[0], index_step, slide, slides, at, count)
    rows = components.shape[0]
    begins = key_step == 0 and rows > 0 and units[inner, 4] == 0
    if not begins:
        for step in range(count):
            put(keys, at + step, bases[1] + step * key_step)
    for row in range(rows):
        component, address = components[row], addresses[components[row, 0]]
        moved, move_step = bases[3 + row], units[inner, 4 + row]
        if move_step != 0:
            _component(
                sample, address, least_index, bases[0], index_step, component, moved, move_step, keys, at,
                count,
            )  # fmt: skip
            continue
        first = bases[0]
        if index_step == 1:
            prefetch_pages(sample, address, first + count, min(count, BLOCK))
        if begins and row == 0:
            _begin(
                sample, address, first, index_step, least_index, moved, component, bases[1], keys, at, count
            )
        else:
            _move(sample, address, first, index_step, least_index, moved, component, 0, keys, at, count)


@kernel
def locate(at: int, first: int, count: int, where: Any, keys: Any, sources: Any, slides: Any) -> None:
    """Keys of `count` units from number `first` on, -1 where a unit is out of bounds; where the arrays are
    not empty, also sources (places in the updates) and slides. They are written from place `at` on."""
    units, schedule = where[0], where[6]
    inner = units.shape[0] - 1
    length = units[inner, 0]
    bases = np.empty(units.shape[1] - 1, np.int64)
    done = 0
    while done < count:
        unit = first + done
        if schedule.size > 0:
            unit = schedule[unit]
        line = unit // length
        skipped = unit - line * length
        here = 1 if schedule.size > 0 else min(length - skipped, count - done)
        for member in range(bases.size):
            bases[member] = skipped * units[inner, 1 + member]
        _line_bases(line, inner, units, bases)
        _line(at + done, here, inner, bases, where, keys, sources, slides)
        done += here


@kernel
def first_unit(least: int, count: int, where: Any) -> int:
    """The number of the first of `count` units whose key is `least` or more, where units lie along one line
    and one component moves them, to ascending keys; some number from 0 to `count` where they do not
    ascend."""
    units, components, addresses, sample, least_index = where[0], where[1], where[3], where[4], where[5]
    component, index_step = components[0], units[0, 1]
    address, bound = addresses[component[0]], -(-least // component[2])
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        start = np.int64(item_at(sample, address, middle * index_step))
        # Below the least index are unsigned numbers from 2**63 on.
        if start >= least_index and (start + component[3] if start < 0 else start) < bound:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def confine(keys: Any, count: int, least: int, width: int) -> None:
    """Make those of the first `count` keys -1 that are not from `least` to `least + width - 1`."""
    for unit in range(count):
        key = np.int64(get(keys, unit))
        put(keys, unit, key if (key >= least) & (key < least + width) else np.int64(-1))


@kernel
def _share(begin: int, end: int, keys: Any, shift: int, offsets: Any) -> Any:
    """Where each owner's units are to lie among those from `begin` to `end`: in `offsets`, and in an array to
    be counted on."""
    owners = offsets.size - 1
    places = np.zeros(owners, np.int64)
    for unit in range(begin, end):
        key = np.int64(get(keys, unit))
        if key >= 0:
            put(places, key >> shift, get(places, key >> shift) + 1)
    place = begin
    for owner in range(owners):
        put(offsets, owner, place)
        place += get(places, owner)
        put(places, owner, get(offsets, owner))
    put(offsets, owners, place)
    return places


@kernel(parallel=True)
def distribute_values(
    task: int, size: int, first: int, count: int, where: Any, shift: int, offsets: Any, keys: Any,
    values: Any, value_step: int, owned_keys: Any, key_step: int, owned_values: Any, owned_step: int,
) -> None:  # fmt: skip
    """Put the keys and values of `size` units owner by owner, in their order: those of an owner from one of
    `offsets` to the next. An owner has the keys that are equal but for `shift` bits.

    `keys` has room for one a unit. A key and its value then lie side by side: `owned_keys` and `owned_values`
    are views of one memory, with these steps.
    """
    nothing = np.empty(0, keys.dtype)
    begin, end = task * size, min(count, (task + 1) * size)
    locate(begin, first + begin, end - begin, where, keys, nothing, nothing)
    places = _share(begin, end, keys, shift, offsets[task])
    for unit in range(begin, end):
        key = np.int64(get(keys, unit))
        if key >= 0:
            place = get(places, key >> shift)
            put(places, key >> shift, place + 1)
            put(owned_keys, place * key_step, get(keys, unit))
            put(owned_values, place * owned_step, get(values, (first + unit) * value_step))


@kernel(parallel=True)
def distribute_runs(
    task: int, size: int, first: int, count: int, where: Any, shift: int, offsets: Any, keys: Any,
    sources: Any, slides: Any, owned: Any, step: int,
) -> None:  # fmt: skip
    """Put `size` units owner by owner, as `distribute_values` does: records of `step` numbers, key, source
    and, if the units slide, slide. `keys`, `sources` and `slides` have room for one a unit, or are empty."""
    begin, end = task * size, min(count, (task + 1) * size)
    locate(begin, first + begin, end - begin, where, keys, sources, slides)
    places = _share(begin, end, keys, shift, offsets[task])
    for unit in range(begin, end):
        key = np.int64(get(keys, unit))
        if key >= 0:
            place = get(places, key >> shift)
            put(places, key >> shift, place + 1)
            put(owned, place * step, get(keys, unit))
            put(owned, place * step + 1, get(sources, unit))
            if slides.size > 0:
                put(owned, place * step + 2, get(slides, unit))
