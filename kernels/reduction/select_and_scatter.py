"""`select_and_scatter` whose `select` is a comparison and whose `scatter` is a monoid.

In each window, the positions inside the operand are compared from the left in row-major order, and the
selected element stays if `comparison_direction` holds between it and the next one. The source's values that
fall on one result element are combined with init_value from the left in row-major order of the source; sums
and products of float16 and bfloat16 are computed in float32 and rounded once, unless `accumulate` says
otherwise (`monoids.normalized`).

A task computes blocks of the result: first the choices of all windows that reach into a block, then each
element from the values of the windows that chose it. So each element is written once, and the bits do not
depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from ..launch.compilation import flat, kernel_at
from ..launch.no_kernel import NoKernel
from ..launch.threads import TASK_BYTES, division
from ..named_tuples import NamedTuple
from ..simd.block_sizes import NONTEMPORAL_BYTES
from ..simd.monoids import computing_dtype, is_exact, normalized, storage_dtype, supports_element
from ..simd.monoids import supports as supports_monoid
from .window_axes import Axis, axes_of, axis_table, merged

_ROW_BYTES = 1 << 15  # choices and values of a row of windows in a block
_BLOCK_BYTES = 1 << 17  # choices and values in a block
_MAX_SCRATCH_BYTES = 1 << 27  # choices and values of all tasks
_MAX_TASKS = 64
_MIN_WINDOWS_PER_BLOCK = 4  # a block has at least this many window sizes
_CHOICE_BYTES = 4
DIRECTIONS = ("GE", "GT", "LE", "LT")

SelectAndScatter = Callable[[np.ndarray, np.ndarray, Any], np.ndarray]


def supports(dtype: Any, comparison_direction: str, monoid: str) -> bool:
    """Whether kernels exist for this element type, comparison and monoid."""
    if comparison_direction not in DIRECTIONS or not supports_element(dtype) or np.dtype(dtype).kind in "bc":
        return False
    return supports_monoid(dtype, monoid)


def supports_tree(dtype: Any, monoid: str, tree: Any) -> bool:
    """Whether the scattered values are reduced by that tree: "blocked" is the order above."""
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
    """Prepare a selection and scattering, `(operand, source, init_value) -> result`.

    A source value whose window holds no element is dropped.

    Args:
        shape: sizes of the operand and of the result.
        dtype: element type of all arrays.
        comparison_direction: of the selection: "GE", "GT", "LE" or "LT".
        monoid: the name of the function that combines scattered values (`monoids`).
        window_dimensions: size of the window along each dimension.
        window_strides: for each dimension; None: ones.
        padding: (low, high) for each dimension; None: none.
        accumulate: the type of the sums, as in `monoids.normalized`.
        threads: maximum number of threads; None: all.

    Raises:
        NoKernel: no kernel supports the operands.

    Source: specification, section "select_and_scatter".
    """
    if not supports(dtype, comparison_direction, monoid):
        raise NoKernel(
            f"no kernel selects by {comparison_direction} and scatters by {monoid} {np.dtype(dtype).name}"
        )
    axes = axes_of(shape, window_dimensions, window_strides, padding=padding)
    kind = normalized(dtype, monoid, accumulate)
    element = np.dtype(dtype).name
    storage, computing = storage_dtype(element), computing_dtype(kind.element)
    source_size = prod(axis.windows for axis in axes)
    if prod(shape) == 0 or source_size == 0:
        return lambda operand, source, init_value: np.full(shape, init_value, dtype)
    bytes_moved = (prod(shape) + source_size) * storage.itemsize
    blocks = _Blocks.of(axes, computing.itemsize, min(_MAX_TASKS, bytes_moved // TASK_BYTES))
    row_axis, inner = blocks.row_axis, blocks.inner
    work_items, offsets = blocks.work_items, prod(axis.window for axis in blocks.outer)
    work_item_bytes = bytes_moved / work_items
    if work_item_bytes >= TASK_BYTES / 2:
        # A block that moves a little less is a task too: with two blocks in each there would be half as many.
        work_item_bytes = max(work_item_bytes, TASK_BYTES)
    tasks, size = division(
        work_items, work_item_bytes, max(1, min(_MAX_TASKS, _MAX_SCRATCH_BYTES // blocks.task_bytes))
    )
    tables = axis_table(blocks.outer), axis_table([row_axis])
    column_stride = row_axis.stride if inner == 1 else 1
    nontemporal = int(prod(shape) * storage.itemsize >= NONTEMPORAL_BYTES)

    def run(operand: np.ndarray, source: np.ndarray, init_value: Any) -> np.ndarray:
        result = np.empty(shape, dtype)
        initial = np.asarray(init_value, dtype).reshape(1).astype(computing)
        is_same = not any(source.strides)
        values = source[(0,) * source.ndim].reshape(1) if is_same else source
        window_rows = blocks.window_rows
        row_starts, position_numbers = np.empty((2, tasks * blocks.max_rows), np.int64)
        choices = np.empty(tasks * window_rows * blocks.row_pitch, np.int32)
        window_values = np.empty(tasks * (1 if is_same else window_rows) * blocks.row_pitch, computing)
        pairs, ends = np.empty(tasks * blocks.pairs, np.int64), np.empty(
            tasks * (row_axis.stride + 1), np.int64
        )
        phase_results = np.empty(
            tasks * blocks.row_pitch * row_axis.stride if column_stride > 1 else 0, computing
        )
        options = (element, kind, comparison_direction, column_stride, row_axis.window)
        body = kernel_at(f"{__package__}.select_and_scatter_loops", "blocks", *options)
        block_sizes = (size, work_items, blocks.block_axis, blocks.block, blocks.chunk)
        sizes = (inner, offsets, blocks.max_rows, window_rows, blocks.row_pitch, blocks.pairs)
        buffers = (row_starts, position_numbers, choices, window_values, pairs, ends, phase_results)
        arrays = (flat(operand, storage), flat(values, storage), is_same, initial, nontemporal)
        result_items = result.reshape(-1).view(storage)
        arguments = (*block_sizes, *tables, *sizes, *buffers, *arrays, result_items)
        body(tasks, *arguments, threads=threads)
        return result

    return run


class _Blocks(NamedTuple):
    """The blocks of the result, which tasks compute in sequence.

    Attributes:
        outer, row_axis, inner: the axes before the last one with windows, that axis, and the columns of
            its elements.
        block_axis, block: the axis of `outer` along which blocks are cut, and their size along it.
        chunk: the size of a block along `row_axis`.
        window_rows, row_pitch: the rows of choices that a task stores for a block, and the elements from one
            row to the next.
        max_rows: the most rows of windows of a block.
        pairs: the numbers that a task stores to say which windows contain an element.
        task_bytes: the scratch memory of a task.
    """

    outer: list[Axis]
    row_axis: Axis
    inner: int
    block_axis: int
    block: int
    chunk: int
    window_rows: int
    row_pitch: int
    max_rows: int
    pairs: int
    task_bytes: int

    @classmethod
    def of(cls, axes: Sequence[Axis], itemsize: int, wanted: int) -> _Blocks:
        """The blocks of an operand whose values are computed in `itemsize` bytes; at least `wanted` ones
        where these are not too small for the windows."""
        *outer, row_axis = merged(axes)
        inner = 1
        if outer and row_axis.is_unwindowed:
            inner, row_axis = row_axis.size, outer.pop()
        outer = outer or [Axis(1)]
        block_axis = next((number for number, axis in enumerate(outer) if not axis.is_unwindowed), 0)
        axis, reach = outer[block_axis], -(-row_axis.window // row_axis.stride)
        window_bytes = inner * (_CHOICE_BYTES + itemsize)
        windows = max(_ROW_BYTES // window_bytes, _MIN_WINDOWS_PER_BLOCK * reach)
        chunk = min(row_axis.size, windows * row_axis.stride)
        row_pitch = ((chunk - 1) // row_axis.stride + 1 + reach) * inner
        inner_windows = prod(other.windows for other in outer[block_axis + 1 :])
        window_rows = max(1, _BLOCK_BYTES // (row_pitch // inner * window_bytes * inner_windows))
        min_rows = _MIN_WINDOWS_PER_BLOCK * axis.window if axis.window > axis.stride else 1
        others = prod(other.size for other in outer[:block_axis]) * -(-row_axis.size // chunk)
        wanted_rows = -(-axis.size // max(1, -(-wanted // others)))
        block_rows = min(window_rows * axis.stride, -(-wanted_rows // axis.stride) * axis.stride)
        block = min(axis.size, max(block_rows, min_rows))
        window_rows = ((block + axis.window - 2) // axis.stride + 2) * inner_windows
        max_rows = min(
            prod(other.window for other in outer),
            max(prod(other.size for other in outer), prod(other.windows for other in outer)),
        )
        pairs = 3 * row_axis.window * prod(-(-other.window // other.stride) for other in outer)
        task_bytes = window_rows * row_pitch * window_bytes // inner + 16 * max_rows + 8 * pairs
        return cls(
            outer, row_axis, inner, block_axis, block, chunk, window_rows, row_pitch, max_rows, pairs,
            task_bytes,
        )  # fmt: skip

    @property
    def work_items(self) -> int:
        """The number of blocks."""
        outer = prod(axis.size for axis in self.outer[: self.block_axis])
        return outer * -(
            -self.outer[self.block_axis].size // self.block
        ) * -(-self.row_axis.size // self.chunk)
