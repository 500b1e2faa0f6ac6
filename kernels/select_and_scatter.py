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
from .threads import division
from .window import Axis, axes_of, merged

_ENOUGH = 8
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
    owned, tasks, size = _division(outer, (prod(shape) + source_size) * storage.itemsize)
    table = np.array([(a.size, a.window, a.stride, a.low, a.windows) for a in outer], np.int64).reshape(-1)
    computing = computing_dtype(kind.element)
    wide = computing if computing_element(kind.element) != stored_element(kind.element) else None
    place = np.dtype(np.int32 if prod(axis.size for axis in outer) < 1 << 31 else np.int64)

    def run(operand: np.ndarray, source: np.ndarray, init_value: Any) -> np.ndarray:
        from . import select_and_scatter_loops as loops

        result = np.full(shape, init_value, dtype)
        folded = result.reshape(-1).view(storage) if wide is None else result.astype(wide).reshape(-1)
        best, chosen = np.empty(tasks * inner, computing_dtype(element)), np.empty(tasks * inner, place)
        counters = np.empty(tasks * loops.COUNTERS * len(outer), np.int64)
        values = flat(operand, storage), flat(source, storage)
        body = loops.windows(element, kind, comparison_direction)
        work = (size, owned, inner, table, counters, best, chosen, *values, folded)
        body(tasks, *work, threads=threads)
        if wide is not None:
            round_tasks, items = division(folded.size, 2 * storage.itemsize)
            written = result.reshape(-1).view(storage)
            loops.rounded(kind.element)(round_tasks, items, folded, written, threads=threads)
        return result

    return run


def _division(outer: list[Axis], total_bytes: int) -> tuple[int, int, int]:
    """The axis along which the operand is divided, the number of tasks, and how many rows of that axis each
    one owns.

    Windows that reach into the rows of two tasks are looked at twice: tasks own many rows for a window's
    size.
    """
    owned = max(range(min(2, len(outer))), key=lambda number: outer[number].size / outer[number].window)
    if outer[0].plain and outer[0].size >= _ENOUGH:
        owned = 0
    axis = outer[owned]
    tasks, size = division(axis.size, total_bytes / axis.size)
    if axis.window > 1 and tasks > 1:
        size = -(-max(size, _ENOUGH * axis.window) // axis.stride) * axis.stride
        tasks = -(-axis.size // size)
    return owned, tasks, size
