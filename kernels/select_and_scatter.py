"""`select_and_scatter` whose `select` is a comparison and whose `scatter` is a monoid.

In each window, the positions that lie in the operand are compared from the left in row-major order, and the
element so far selected stays where `comparison_direction` holds between it and the next one. The source's
values that fall on one result element are combined with init_value from the left in row-major order of the
source; sums and products of float16 and bfloat16 are computed in float32 and rounded once, or otherwise where
`accumulate` says so (`monoids.normalized`). A task owns a range of the
operand along one dimension and goes through all windows that reach into it, so that the bits do not depend
on the number of threads.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from .compilation import flat
from .monoids import (
    computing_dtype,
    computing_element,
    is_exact,
    normalized,
    storage_dtype,
    stored_element,
    supports_element,
)
from .monoids import supports as supports_monoid
from .threads import MOST_TASKS, division
from .window import Axis, axes_of, merged

_ENOUGH = 8
_MOST_NOTED = 4096
_MOST_PLACES = 1 << 22
DIRECTIONS = ("GE", "GT", "LE", "LT")

SelectAndScatter = Callable[[np.ndarray, np.ndarray, Any], np.ndarray]


def supports(dtype: Any, comparison_direction: str, monoid: str) -> bool:
    """Whether kernels select and scatter elements of this type in this way."""
    if comparison_direction not in DIRECTIONS or not supports_element(dtype) or np.dtype(dtype).kind in "bc":
        return False
    return supports_monoid(dtype, monoid)


def supports_tree(dtype: Any, monoid: str, tree: Any) -> bool:
    """Whether the scattered values are folded as a tree of reductions says: "blocked" is the order above."""
    if tree in ("blocked", "left"):
        return True
    return tree in ("balanced", "right") and is_exact(normalized(dtype, monoid))


def prepare(
    shape: Sequence[int],
    dtype: Any,
    comparison_direction: str,
    monoid: str,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Sequence[Sequence[int]] | None = None,
    *,
    accumulate: str = "wide",
    threads: int | None = None,
) -> SelectAndScatter:
    """A function `(operand, source, init_value) -> result`, the operand and the result of this shape.

    `comparison_direction` is "GE", "GT", "LE" or "LT". A source value whose window holds no element is
    dropped. Raises ValueError where no kernel serves. Source: the specification's section on
    select_and_scatter.
    """
    if not supports(dtype, comparison_direction, monoid):
        raise ValueError(
            f"no kernel selects by {comparison_direction} and scatters by {monoid} {np.dtype(dtype).name}"
        )
    axes = axes_of(shape, window_dimensions, window_strides, padding=padding)
    kind = normalized(dtype, monoid, accumulate)
    element = np.dtype(dtype).name
    storage = storage_dtype(element)
    source_size = prod(axis.windows for axis in axes)
    if prod(shape) == 0 or source_size == 0:
        return lambda operand, source, init_value: np.full(shape, init_value, dtype)
    *outer, row = merged(axes)
    inner = row.size if row.plain else 1
    if not row.plain:
        outer.append(row)
    outer = outer or [Axis(1)]
    room = min(prod(axis.window for axis in outer), prod(axis.size for axis in outer))
    owned, tasks, size = _division(outer, (prod(shape) + source_size) * storage.itemsize, room)
    table = np.array([(a.size, a.window, a.stride, a.low, a.windows) for a in outer], np.int64).reshape(-1)
    relative, tiles, apart = _relative(outer), _tiles(outer), inner == 1 and outer[-1].stride > 1
    computing = computing_dtype(kind.element)
    wide = computing if computing_element(kind.element) != stored_element(kind.element) else None

    def run(operand: np.ndarray, source: np.ndarray, init_value: Any) -> np.ndarray:
        from . import select_and_scatter_loops as loops

        result = np.empty(shape, dtype)
        folded = result.reshape(-1).view(storage) if wide is None else np.empty(result.size, wide)
        initial = np.empty(1, dtype)
        initial[:] = init_value
        initial = initial.view(storage) if wide is None else initial.astype(wide)
        places, targets = np.empty((2, tasks * room), np.int64)
        counters = np.empty(tasks * loops.COUNTERS * len(outer), np.int64)
        is_same = not any(source.strides)
        values = np.broadcast_to(source[(0,) * source.ndim], inner * outer[-1].windows) if is_same else source
        body = loops.windows(element, kind, comparison_direction, tiles, apart)
        shared = (size, owned, inner, table, relative, counters, room, places, targets)
        work = (*shared, flat(operand, storage), flat(values, storage), int(not is_same), initial, folded)
        body(tasks, *work, threads=threads)
        if wide is not None:
            round_tasks, items = division(folded.size, 2 * storage.itemsize)
            written = result.reshape(-1).view(storage)
            loops.rounded(kind.element)(round_tasks, items, folded, written, threads=threads)
        return result

    return run


def _relative(outer: list[Axis]) -> np.ndarray:
    """Where the positions of a window lie behind its first one; none where there are too many to note."""
    sizes, windows = [axis.size for axis in outer], [axis.window for axis in outer]
    if prod(windows) > _MOST_NOTED:
        return np.empty(0, np.int64)
    steps = [prod(sizes[number + 1 :]) for number in range(len(sizes))]
    offsets = np.indices(windows).reshape(len(windows), -1)
    return np.asarray(np.array(steps, np.int64) @ offsets, np.int64)


def _tiles(outer: list[Axis]) -> bool:
    """Whether each element lies in exactly one window."""
    return all(a.stride == a.window and 0 <= a.low <= a.windows * a.stride - a.size for a in outer)


def _division(outer: list[Axis], total_bytes: int, room: int) -> tuple[int, int, int]:
    """The axis along which the operand is divided, the number of tasks, and how many rows of that axis each
    one owns.

    Windows that reach into the rows of two tasks are looked at twice: tasks own many rows for a window's
    size. A task notes `room` places.
    """
    owned = max(range(min(2, len(outer))), key=lambda number: outer[number].size / outer[number].window)
    if outer[0].plain and outer[0].size >= _ENOUGH:
        owned = 0
    axis = outer[owned]
    tasks, size = division(axis.size, total_bytes / axis.size, max(1, min(MOST_TASKS, _MOST_PLACES // room)))
    if axis.window > 1 and tasks > 1:
        size = -(-max(size, _ENOUGH * axis.window) // axis.stride) * axis.stride
        tasks = -(-axis.size // size)
    return owned, tasks, size
