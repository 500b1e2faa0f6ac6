"""The loop that applies a scatter's updates where windows slide, each whole. Importing this module imports
Numba."""

import functools
from typing import Any

import numpy as np

from ..launch.compilation import Kernel, kernel
from .scatter_buckets import start_at
from .scatter_slices import combine_run, combine_short_run, run_lanes


@functools.cache
def update_windows(element: str, combiner: str) -> Kernel:
    """Windows in order. Task t applies the parts of all windows that lie in the t-th `width` places along
    component number `divided`.

    `units`, `components`, `runs`, `items`, `inner` and `piece` are those of `scatter_layout.Windows`,
    `addresses`, `sample` and `least_index` as in `scatter_units`.
    """
    vector_items = run_lanes(element)

    @kernel
    def apply_part(
        starts: Any, low: Any, high: Any, base: int, source: int, runs: Any, items: int, inner: int,
        piece: int, values: Any, result: Any,
    ) -> None:  # fmt: skip
        """What of a window lies from `low` to `high` along each component."""
        begin, end = 0, items
        if inner >= 0:
            begin = max(0, low[inner] - starts[inner]) * piece
            end = min(items // piece, high[inner] - starts[inner]) * piece
        for run in range(runs.shape[0]):
            is_inside = True
            for number in range(starts.size):
                place = starts[number] + runs[run, 2 + number]
                is_inside &= (number == inner) | ((place >= low[number]) & (place < high[number]))
            if is_inside and begin < end:
                place, first = base + runs[run, 0] + begin, source + runs[run, 1] + begin
                combine_run(element, combiner, result, place, values, first, end - begin)

    @kernel(parallel=True)
    def body(
        task: int, count: int, divided: int, width: int, units: Any, components: Any, addresses: Any,
        sample: Any, least_index: int, runs: Any, items: int, inner: int, piece: int, values: Any,
        result: Any,
    ) -> None:  # fmt: skip
        starts = np.empty(components.shape[0], np.int64)
        low, high = np.zeros(starts.size, np.int64), components[:, 1].copy()
        low[divided] = task * width
        high[divided] = min(high[divided], low[divided] + width)
        length = units[units.shape[0] - 1, 0]
        for line in range(count // length):
            index, line_base, line_source, rest = 0, 0, 0, line
            for axis in range(units.shape[0] - 2, -1, -1):
                coordinate = rest % units[axis, 0]
                rest //= units[axis, 0]
                index += coordinate * units[axis, 1]
                line_base += coordinate * units[axis, 2]
                line_source += coordinate * units[axis, 3]
            for step in range(length):
                at = index + step * units[units.shape[0] - 1, 1]
                base = line_base + step * units[units.shape[0] - 1, 2]
                source = line_source + step * units[units.shape[0] - 1, 3]
                is_inside, is_touched = True, True
                for number in range(starts.size):
                    component = components[number]
                    start = start_at(sample, addresses[component[0]], at, least_index, component[3])
                    starts[number] = start
                    base += start * component[2]
                    is_inside &= (start >= low[number]) & (start <= high[number] - component[4])
                    is_touched &= (start > low[number] - component[4]) & (start < high[number])
                if is_inside:
                    if items < vector_items:
                        for run in range(runs.shape[0]):
                            place, first = base + runs[run, 0], source + runs[run, 1]
                            combine_short_run(element, combiner, result, place, values, first, items)
                    else:
                        for run in range(runs.shape[0]):
                            place, first = base + runs[run, 0], source + runs[run, 1]
                            combine_run(element, combiner, result, place, values, first, items)
                elif is_touched:
                    apply_part(starts, low, high, base, source, runs, items, inner, piece, values, result)

    return body
