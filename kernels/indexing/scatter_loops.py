"""The loops that apply a scatter's updates where a unit is one element. Importing this module imports Numba.

Those whose names end in `_in_order` take units as `scatter_units.locate` finds them, the others those of one
owner after the other.
"""

import functools
from typing import Any

import numpy as np

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import combine, get, load, put, store
from ..simd.block_sizes import INTERLEAVED_TABLES
from ..simd.copy_bytes import prefetch_write
from ..simd.monoids import OVERWRITE
from ..simd.searches import select_in_range
from .scatter_buckets import BLOCK, confine, first_unit, locate
from .scatter_slices import own_part, return_part, start_range

PREFETCH_PLACES = 32
"""How many units of one element ahead their places in the result are fetched."""
FAR_BYTES = 1 << 18
"""So much of the result is near soon: the places in it need not be fetched."""


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
    """Units of one element from number `begin` to `end`, in order. Places of a result that is not small are
    fetched."""
    apply = _update(element, combiner)

    @kernel
    def body(
        begin: int, end: int, keys: Any, key_step: int, values: Any, first: int, value_step: int, result: Any
    ) -> None:
        fetched = max(begin, end - PREFETCH_PLACES)
        if result.size * result.itemsize <= FAR_BYTES:
            fetched = begin
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
        start_range(task, offsets.shape[1] - 1, size, initial, result)
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
        start_range(task, owners, size, initial, result)
        part = own_part(task, owners, size, result)
        keys, nothing = np.empty(BLOCK, sample.dtype), np.empty(0, sample.dtype)
        room = BLOCK + PREFETCH_PLACES  # more than COMPRESS_PADDING behind those that are chosen
        own, sources = np.zeros(room, sample.dtype), np.empty(room, sample.dtype)
        least = task * size
        width = size if task < owners - 1 else result.size - least
        is_far = width * result.itemsize > FAR_BYTES
        for first in range(0, count, BLOCK):
            here = min(BLOCK, count - first)
            locate(0, first, here, where, keys, nothing, nothing)
            start = first * value_step
            chosen = select_in_range(keys, here, least, width, start, value_step, own, sources)
            if is_far:
                for unit in range(chosen):
                    prefetch_write(part, np.int64(get(own, unit + PREFETCH_PLACES)))
                    apply(part, np.int64(get(own, unit)), values, np.int64(get(sources, unit)))
            else:
                for unit in range(chosen):
                    apply(part, np.int64(get(own, unit)), values, np.int64(get(sources, unit)))
        return_part(task, size, part, result)

    return body


@functools.cache
def update_sorted_items(element: str, combiner: str) -> Kernel:
    """Units of one element whose keys ascend. Owner t has `size` elements, the last one all that are left,
    and searches for where its units begin and end; those of others that are among them are left out."""
    apply = _apply_items(element, combiner)

    @kernel(parallel=True)
    def body(
        task: int, owners: int, size: int, count: int, where: Any, sample: Any, values: Any, value_step: int,
        initial: Any, result: Any,
    ) -> None:  # fmt: skip
        start_range(task, owners, size, initial, result)
        keys, nothing = np.empty(BLOCK, sample.dtype), np.empty(0, sample.dtype)
        least = task * size
        end = first_unit(least + size, count, where)
        for first in range(first_unit(least, count, where), end, BLOCK):
            here = min(BLOCK, end - first)
            locate(0, first, here, where, keys, nothing, nothing)
            confine(keys, here, least, size)
            apply(0, here, keys, 1, values, first, value_step, result)

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
    """Units of one element, `size` for each task, which has `ways` tables of `width` elements in `tables`, 1
    or WAYS: neighbouring units go to different ones, so that they need not wait for each other. A table
    begins with an element that takes what is out of bounds, so that nothing hangs on a condition. `identity`
    has the value with which tables begin."""
    apply = _update(element, combiner)

    @kernel(inline=True)
    def combine_values(
        here: int, keys: Any, tables: Any, apart: int, values: Any, first: int, value_step: int
    ) -> None:  # fmt: skip
        whole = here - here % INTERLEAVED_TABLES
        for unit in range(0, whole, INTERLEAVED_TABLES):
            for way in range(INTERLEAVED_TABLES):
                place = np.int64(get(keys, unit + way)) + way * apart + 1
                apply(tables, place, values, (first + unit + way) * value_step)
        for unit in range(whole, here):
            apply(tables, np.int64(get(keys, unit)) + 1, values, (first + unit) * value_step)

    @kernel
    def combine_one(here: int, keys: Any, tables: Any, apart: int, value: Any) -> None:
        whole = here - here % INTERLEAVED_TABLES
        for unit in range(0, whole, INTERLEAVED_TABLES):
            for way in range(INTERLEAVED_TABLES):
                place = np.int64(get(keys, unit + way)) + way * apart + 1
                store(element, tables, place, combine(element, combiner, load(element, tables, place), value))
        for unit in range(whole, here):
            place = np.int64(get(keys, unit)) + 1
            store(element, tables, place, combine(element, combiner, load(element, tables, place), value))

    @kernel(parallel=True)
    def body(
        task: int, size: int, count: int, where: Any, sample: Any, values: Any, value_step: int, ways: int,
        width: int, identity: Any, tables: Any,
    ) -> None:  # fmt: skip
        keys, nothing = np.empty(BLOCK, sample.dtype), np.empty(0, sample.dtype)
        own = tables[task * ways * width : (task + 1) * ways * width]
        for place in range(own.size):
            put(own, place, get(identity, 0))
        apart = width if ways > 1 else 0
        end = min(count, (task + 1) * size)
        for first in range(task * size, end, BLOCK):
            here = min(BLOCK, end - first)
            locate(0, first, here, where, keys, nothing, nothing)
            if value_step == 0:
                combine_one(here, keys, own, apart, load(element, values, 0))
            else:
                combine_values(here, keys, own, apart, values, first, 1)

    return body


@functools.cache
def combine_tables(element: str, combiner: str) -> Kernel:
    """The first `keys` elements of `result` combined with those of `count` tables, as `update_tables` makes
    them; each task has `size` elements."""
    apply = _update(element, combiner)

    @kernel(parallel=True)
    def body(task: int, size: int, keys: int, count: int, width: int, tables: Any, result: Any) -> None:
        for table in range(count):
            for key in range(task * size, min(keys, (task + 1) * size)):
                apply(result, key, tables, table * width + 1 + key)

    return body
