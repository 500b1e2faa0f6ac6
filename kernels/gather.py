"""gather: slices of an operand, from starts that an array holds (specification: gather).

A *unit* is one slice (or a part of one, where slices are large). Units are numbered in row-major order; a
task takes a range of them, block by block: the starts of a block are computed first, clamped once a slice,
then the items are copied. Items are moved by size, whatever their type.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .compilation import flat
from .indexing import (
    UNSIGNED_BY_SIZE,
    Dimension,
    index_items,
    index_vector_layout,
    merged,
    offsets,
    row_major_steps,
    total_size,
)
from .threads import division

_MOST_RUNS = 1024
_MOST_RUN_BYTES = 1 << 18
_INDICES, _OPERAND, _RESULT = range(3)


class _Loops:
    """Which loops gather, and what they are given."""

    def __init__(
        self,
        units: list[Dimension],
        window: list[Dimension],
        components: np.ndarray,
        item_size: int,
        operand_size: int,
    ) -> None:
        item_size, units, window, components = _widened(item_size, units, window, components, operand_size)
        contiguous = bool(window) and window[-1].steps[_OPERAND:] == (1, 1)
        run = window.pop().size if contiguous else 1
        run, units, window = _split(run, item_size, units, window)
        if not units:
            units = [Dimension(1, (0, 0, 0))]
        self._units = total_size(units)
        self._kernel = "gather_items"
        self._dtype: Any = UNSIGNED_BY_SIZE[item_size]
        self._extra: tuple[Any, ...] = ()
        scale = 1
        if run > 1:
            self._kernel, self._dtype, scale = "gather_runs", np.uint8, item_size
        elif window or tuple(d.steps[_RESULT] for d in units) != row_major_steps([d.size for d in units]):
            self._kernel = "gather_scattered"
        if self._kernel != "gather_items":
            table = np.stack([offsets(window, _OPERAND), offsets(window, _RESULT)], axis=1) * scale
            self._extra = (table,) if run == 1 else (table, run * item_size)
        rows = [
            (d.size, d.steps[_INDICES], d.steps[_OPERAND] * scale, d.steps[_RESULT] * scale) for d in units
        ]
        self._loops = np.array(rows, np.int64)
        self._components = components * np.array([1, 1, 1, scale], np.int64)
        self._division = division(self._units, 2.0 * run * total_size(window) * item_size)

    def run(
        self, tasks: int, operand: np.ndarray, indices: np.ndarray, result: np.ndarray, threads: int | None
    ) -> None:
        """Run the loops on flat arrays; with no tasks, only compile them."""
        loops = (self._division.size, self._units, self._loops, self._components)
        arrays = (index_items(indices), flat(operand, self._dtype), result.reshape(-1).view(self._dtype))
        from . import gather_loops

        getattr(gather_loops, self._kernel)(tasks, *loops, *arrays, *self._extra, threads=threads)

    @property
    def tasks(self) -> int:
        """How many tasks a call runs."""
        return self._division.tasks


class PreparedGather:
    """What `prepare` returns. `result_shape` is the result's shape."""

    def __init__(
        self, operand_shape: tuple[int, ...], indices_shape: tuple[int, ...], result_shape: tuple[int, ...],
        index_dtype: np.dtype, item_size: int, loops: _Loops | None, threads: int | None,
    ) -> None:  # fmt: skip
        self.result_shape = result_shape
        self._operand_shape = operand_shape
        self._indices_shape = indices_shape
        self._index_dtype = index_dtype
        self._item_size = item_size
        self._loops = loops
        self._threads = threads

    def __call__(
        self, operand: np.ndarray, start_indices: np.ndarray, out: np.ndarray | None = None
    ) -> np.ndarray:
        """The gathered slices, in `out` where it is given (C-contiguous, of the result's shape and type).

        Raises ValueError where an array has another shape or item size than was prepared for.
        """
        self._check(operand, start_indices)
        result = np.empty(self.result_shape, operand.dtype) if out is None else out
        if (
            result.shape != self.result_shape
            or result.dtype != operand.dtype
            or not result.flags.c_contiguous
        ):
            raise ValueError(
                f"out must be a C-contiguous array of shape {self.result_shape} and type {operand.dtype}"
            )
        if self._loops is not None:
            self._loops.run(self._loops.tasks, operand, start_indices, result, self._threads)
        return result

    def warm(self) -> None:
        """Compile now what the first call would compile."""
        if self._loops is not None:
            items: np.ndarray = np.empty(0, UNSIGNED_BY_SIZE[self._item_size])
            self._loops.run(0, items, np.empty(0, self._index_dtype), items.copy(), 1)

    def _check(self, operand: np.ndarray, start_indices: np.ndarray) -> None:
        if operand.shape != self._operand_shape or operand.itemsize != self._item_size:
            raise ValueError(
                f"operand has shape {operand.shape} and items of {operand.itemsize} bytes, "
                f"but {self._operand_shape} and {self._item_size} were prepared for"
            )
        if start_indices.shape != self._indices_shape or start_indices.dtype != self._index_dtype:
            raise ValueError(
                f"start_indices has shape {start_indices.shape} and type {start_indices.dtype}, "
                f"but {self._indices_shape} and {self._index_dtype} were prepared for"
            )


def prepare(
    operand_shape: Sequence[int],
    start_indices_shape: Sequence[int],
    item_size: int,
    index_dtype: Any,
    *,
    offset_dims: Sequence[int],
    collapsed_slice_dims: Sequence[int],
    operand_batching_dims: Sequence[int],
    start_indices_batching_dims: Sequence[int],
    start_index_map: Sequence[int],
    index_vector_dim: int,
    slice_sizes: Sequence[int],
    indices_are_sorted: bool = False,
    threads: int | None = None,
) -> PreparedGather:
    """Decide how to gather from arrays of these shapes; nothing is compiled yet.

    The attributes are the specification's, and are taken to meet its constraints. `item_size` is the size of
    an element in bytes: 1, 2, 4, 8 or 16. `indices_are_sorted` promises what these loops do not need: any
    order is as fast.
    Raises ValueError where the slices do not fit the operand, or for another item size.
    """
    if item_size not in UNSIGNED_BY_SIZE:
        raise ValueError(f"item_size is {item_size}, but must be one of {sorted(UNSIGNED_BY_SIZE)}")
    if any(not 0 <= size <= dim for size, dim in zip(slice_sizes, operand_shape, strict=True)):
        raise ValueError(
            f"slice_sizes {tuple(slice_sizes)} do not fit an operand of shape {tuple(operand_shape)}"
        )
    layout = index_vector_layout(start_indices_shape, index_vector_dim)
    removed = {*collapsed_slice_dims, *operand_batching_dims}
    window_dims = [dim for dim in range(len(operand_shape)) if dim not in removed]
    batch_dims = [d for d in range(len(layout[0]) + len(offset_dims)) if d not in offset_dims]
    size_of = dict(zip(batch_dims, layout[0], strict=True))
    size_of.update(zip(offset_dims, (slice_sizes[dim] for dim in window_dims), strict=True))
    result_shape = [size_of[axis] for axis in range(len(size_of))]
    operand_steps, result_steps = row_major_steps(operand_shape), row_major_steps(result_shape)
    batching = {
        axis - (axis > index_vector_dim): operand_steps[dim]
        for dim, axis in zip(operand_batching_dims, start_indices_batching_dims, strict=True)
    }
    units = merged(
        Dimension(size_of[axis], (index_step, batching.get(number, 0), result_steps[axis]))
        for number, (axis, index_step) in enumerate(zip(batch_dims, layout[1], strict=True))
    )
    window = merged(
        Dimension(slice_sizes[dim], (0, operand_steps[dim], result_steps[axis]))
        for dim, axis in zip(window_dims, offset_dims, strict=True)
    )
    index_type = np.dtype(index_dtype)
    components = _components(start_index_map, *layout[2:], operand_shape, slice_sizes, index_type)
    if math.prod(result_shape) and not all(slice_sizes):
        raise ValueError(
            f"slice_sizes {tuple(slice_sizes)} leave no element to copy for a result of {result_shape}"
        )
    operand_size = math.prod(operand_shape)
    loops = _Loops(units, window, components, item_size, operand_size) if math.prod(result_shape) else None
    return PreparedGather(
        tuple(operand_shape),
        tuple(start_indices_shape),
        tuple(result_shape),
        index_type,
        item_size,
        loops,
        threads,
    )


def _components(
    start_index_map: Sequence[int], length: int, step: int,
    operand_shape: Sequence[int], slice_sizes: Sequence[int], index_dtype: np.dtype,
) -> np.ndarray:  # fmt: skip
    """The rows of `components` of `_unit_offsets`, for the components that can move a slice."""
    if len(start_index_map) != length:
        raise ValueError(
            f"start_index_map has {len(start_index_map)} elements, but index vectors have {length}"
        )
    operand_steps = row_major_steps(operand_shape)
    rows = []
    for number, dim in enumerate(start_index_map):
        largest = operand_shape[dim] - slice_sizes[dim]
        if largest > 0:
            rows.append(
                (number * step, largest, largest if index_dtype == np.uint64 else 0, operand_steps[dim])
            )
    return np.array(rows, np.int64).reshape(len(rows), 4)


def _widened(
    item_size: int,
    units: list[Dimension],
    window: list[Dimension],
    components: np.ndarray,
    operand_size: int,
) -> tuple[int, list[Dimension], list[Dimension], np.ndarray]:
    """The same gather in larger items, where such are always moved whole: a pair of float32 as 8 bytes."""
    if not window or window[-1].steps[_OPERAND:] != (1, 1):
        return item_size, units, window, components
    moved = [step for d in (*units, *window[:-1]) for step in d.steps[_OPERAND:]]
    common = math.gcd(window[-1].size, operand_size, *moved, *components[:, 3].tolist())
    factor = 1
    while item_size * factor < 16 and common % (factor * 2) == 0:
        factor *= 2
    wide = [
        Dimension(d.size, (d.steps[0], d.steps[1] // factor, d.steps[2] // factor))
        for d in (*units, *window[:-1])
    ]
    last = [Dimension(window[-1].size // factor, (0, 1, 1))] if window[-1].size > factor else []
    return (
        item_size * factor,
        wide[: len(units)],
        wide[len(units) :] + last,
        components // np.array([1, 1, 1, factor]),
    )


def _split(
    run: int, item_size: int, units: list[Dimension], window: list[Dimension]
) -> tuple[int, list[Dimension], list[Dimension]]:
    """Make units of parts of large slices: they can be divided then, and a unit has few runs."""
    if run * item_size > _MOST_RUN_BYTES:
        pieces = next(
            (p for p in range(2, 4096) if run % p == 0 and run // p * item_size <= _MOST_RUN_BYTES), 1
        )
        run //= pieces
        window = [*window, Dimension(pieces, (0, run, run))]
    few_units = total_size(units) < 64
    while window and (total_size(window) > _MOST_RUNS or few_units):
        units = [*units, window[0]]
        window = window[1:]
        few_units = total_size(units) < 64
    return run, merged(units), window
