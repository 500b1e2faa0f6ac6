"""`select_and_scatter` whose `select` is a comparison and whose `scatter` is a monoid.

In each window, the positions that lie in the operand are compared from the left in row-major order, and the
element so far selected stays where `comparison_direction` holds between it and the next one. The source's
values that fall on one result element are combined with init_value from the left in row-major order of the
source; sums and products of float16 and bfloat16 are computed in float32 and rounded once, or otherwise where
`accumulate` says so (`monoids.normalized`).

A task makes blocks of the result: it finds the choices of all windows that reach into a block, and then
combines each element with the values of those windows that chose it. So each element is written once, and
the bits do not depend on the number of threads.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..launch.compilation import flat
from ..launch.threads import division
from ..simd.monoids import computing_dtype, is_exact, normalized, storage_dtype, supports_element
from ..simd.monoids import supports as supports_monoid
from .reduce_window import Axis, axes_of, merged

_LARGE_BYTES = 1 << 22  # of results that are written past the caches
_LINE_BYTES = 1 << 15  # of the choices and values of a line of windows in a block
_BLOCK_BYTES = 1 << 17  # of those in a block
_MOST_BYTES = 1 << 27  # of those of all tasks
_MOST_TASKS = 64
_WITHIN = 4  # times as large as a window is a block at least
_CHOICE_BYTES = 4
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
    storage, computing = storage_dtype(element), computing_dtype(kind.element)
    source_size = prod(axis.windows for axis in axes)
    if prod(shape) == 0 or source_size == 0:
        return lambda operand, source, init_value: np.full(shape, init_value, dtype)
    blocks = _Blocks.of(axes, computing.itemsize)
    along, inner = blocks.along, blocks.inner
    units, offsets = blocks.units, prod(axis.window for axis in blocks.outer)
    unit_bytes = (prod(shape) + source_size) * storage.itemsize / units
    tasks, _ = division(units, unit_bytes, max(1, min(_MOST_TASKS, _MOST_BYTES // blocks.task_bytes)))
    tables = _numbers(blocks.outer), _numbers([along])
    apart = along.stride if inner == 1 else 1
    past_caches = int(prod(shape) * storage.itemsize >= _LARGE_BYTES)

    def run(operand: np.ndarray, source: np.ndarray, init_value: Any) -> np.ndarray:
        from . import select_and_scatter_loops as loops

        result = np.empty(shape, dtype)
        initial = np.asarray(init_value, dtype).reshape(1).astype(computing)
        is_same = not any(source.strides)
        values = source[(0,) * source.ndim].reshape(1) if is_same else source
        lines = blocks.lines
        rows, numbers = np.empty((2, tasks * blocks.room), np.int64)
        choices = np.empty(tasks * lines * blocks.pitch, np.int32)
        taken = np.empty(tasks * (1 if is_same else lines) * blocks.pitch, computing)
        pairs, ends = np.empty(tasks * blocks.pairs, np.int64), np.empty(tasks * (along.stride + 1), np.int64)
        folded = np.empty(tasks * blocks.pitch * along.stride if apart > 1 else 0, computing)
        body = loops.blocks(element, kind, comparison_direction, apart, along.window)
        numbers_of_blocks = (units, blocks.owned, blocks.block, blocks.chunk)
        room = (inner, offsets, blocks.room, lines, blocks.pitch, blocks.pairs)
        buffers = (rows, numbers, choices, taken, pairs, ends, folded)
        arrays = (flat(operand, storage), flat(values, storage), is_same, initial, past_caches)
        written = result.reshape(-1).view(storage)
        work = (np.zeros(1, np.int64), *numbers_of_blocks, *tables, *room, *buffers, *arrays, written)
        body(tasks, *work, threads=threads)
        return result

    return run


class _Blocks(NamedTuple):
    """How the result is divided into blocks: `block` lines along axis `owned` of the `outer` ones,
    `chunk` elements of `inner` columns along the last axis with windows.

    For one of them a task notes so many `lines` of choices, `pitch` apart, so many rows of windows
    (`room`), and numbers that say which windows an element lies in (`pairs`).
    """

    outer: list[Axis]
    along: Axis
    inner: int
    owned: int
    block: int
    chunk: int
    lines: int
    pitch: int
    room: int
    pairs: int
    task_bytes: int

    @classmethod
    def of(cls, axes: Sequence[Axis], itemsize: int) -> "_Blocks":
        """The blocks of an operand whose values are computed with in so many bytes."""
        *outer, along = merged(axes)
        inner = 1
        if outer and along.plain:
            inner, along = along.size, outer.pop()
        outer = outer or [Axis(1)]
        owned = next((number for number, axis in enumerate(outer) if not axis.plain), 0)
        axis, reach = outer[owned], -(-along.window // along.stride)
        window_bytes = inner * (_CHOICE_BYTES + itemsize)
        windows = max(_LINE_BYTES // window_bytes, _WITHIN * reach)
        chunk = min(along.size, windows * along.stride)
        pitch = ((chunk - 1) // along.stride + 1 + reach) * inner
        behind = prod(other.windows for other in outer[owned + 1 :])
        lines = max(1, _BLOCK_BYTES // (pitch // inner * window_bytes * behind))
        least = _WITHIN * axis.window if axis.window > axis.stride else 1
        block = min(axis.size, max(lines * axis.stride, least))
        lines = ((block + axis.window - 2) // axis.stride + 2) * behind
        room = min(
            prod(other.window for other in outer),
            max(prod(other.size for other in outer), prod(other.windows for other in outer)),
        )
        pairs = 3 * along.window * prod(-(-other.window // other.stride) for other in outer)
        task_bytes = lines * pitch * window_bytes // inner + 16 * room + 8 * pairs
        return cls(outer, along, inner, owned, block, chunk, lines, pitch, room, pairs, task_bytes)

    @property
    def units(self) -> int:
        """How many blocks there are."""
        outer = prod(axis.size for axis in self.outer[: self.owned])
        return outer * -(-self.outer[self.owned].size // self.block) * -(-self.along.size // self.chunk)


def _numbers(axes: Sequence[Axis]) -> np.ndarray:
    """The axes as loops read them."""
    return np.array([(a.size, a.window, a.stride, a.low, a.windows) for a in axes], np.int64).reshape(-1)
