"""gather: slices of an operand, from starts that an array holds (specification: gather).

A *unit* is one slice (or a part of one, where slices are large). Units are numbered in row-major order; a
task takes a range of them, block by block: the starts of a block are computed first, clamped once a slice,
then the items are copied. Items are moved by size, whatever their type.

The indices may come as one array of index vectors, or as a *column* for each of their elements: arrays of the
batch's shape in any layout, so that broadcast and sliced indices need no memory of their own.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..launch.compilation import flat
from ..launch.processor import nontemporal_store_bytes
from ..launch.threads import division
from ..simd.block_sizes import CACHE_LINE
from .index_arithmetic import (
    UNSIGNED_BY_SIZE,
    Dimension,
    index_vector_layout,
    merged,
    offsets,
    row_major_steps,
    total_size,
)

_MOST_RUNS = 1024
_MOST_RUN_BYTES = 1 << 18
_MOST_LAYOUTS = 16
_OPERAND, _RESULT = -2, -1


class _Geometry(NamedTuple):
    """What the shapes and the dimension numbers say.

    Attributes:
        units, window: the dimensions of the batch and of a slice; their last steps are those in the operand
            and in the result.
        columns: the numbers of the columns of indices that matter.
        components: a row of `_unit_offsets` for each of them.
    """

    units: list[Dimension]
    window: list[Dimension]
    columns: Sequence[int]
    components: np.ndarray
    item_size: int


class _Loops:
    """What the loops are given where the columns lie in some way."""

    def __init__(self, geometry: _Geometry, column_steps: Sequence[Sequence[int]]) -> None:
        units = merged(
            Dimension(d.size, (*steps, *d.steps))
            for d, steps in zip(geometry.units, zip(*column_steps, strict=True), strict=True)
        ) if column_steps else merged(geometry.units)  # fmt: skip
        none = (0,) * len(column_steps)
        window = [Dimension(d.size, (*none, *d.steps)) for d in geometry.window]
        item_size = geometry.item_size
        contiguous = bool(window) and window[-1].steps[_OPERAND:] == (1, 1)
        run = window.pop().size if contiguous else 1
        run, units, window = _split(run, item_size, units, window, none)
        if not units:
            units = [Dimension(1, (*none, 0, 0))]
        self._units = total_size(units)
        self._run_bytes = run * item_size
        self._runs = np.stack([offsets(window, _OPERAND), offsets(window, _RESULT)], axis=1) * item_size
        rows = [
            (d.size, d.steps[_OPERAND] * item_size, d.steps[_RESULT] * item_size, *d.steps[:_OPERAND])
            for d in units
        ]
        self._loops = np.array(rows, np.int64)
        self._components = geometry.components * np.array([1, 1, 1, item_size], np.int64)
        self._division = division(self._units, 2.0 * run * total_size(window) * item_size)
        places = (self._run_bytes, *self._loops[:, 2].tolist(), *self._runs[:, 1].tolist())
        self._in_lines = all(place % CACHE_LINE == 0 for place in places)

    def run(
        self, operand: np.ndarray, columns: Sequence[np.ndarray], sample: np.ndarray, result: np.ndarray,
        fill_value: np.ndarray | None, threads: int | None,
    ) -> None:  # fmt: skip
        """Run the loops."""
        from . import gather_loops

        is_large = result.nbytes >= nontemporal_store_bytes(gathered=True)
        past_caches = is_large and self._in_lines and result.ctypes.data % CACHE_LINE == 0
        loops = (self._division.size, self._units, self._loops, self._components)
        addresses = np.array([column.__array_interface__["data"][0] for column in columns], np.int64)
        arrays = (flat(operand, np.uint8), result.reshape(-1).view(np.uint8), self._filling(fill_value))
        rest = (self._runs, self._run_bytes, past_caches)
        gather_loops.gather_runs(
            self._division.tasks, *loops, addresses, sample, *arrays, *rest, threads=threads
        )

    def _filling(self, fill_value: np.ndarray | None) -> np.ndarray:
        """What a run outside of the operand is filled with."""
        if fill_value is None:
            return np.empty(0, np.uint8)
        items = np.ascontiguousarray(fill_value).reshape(1).view(np.uint8)
        return np.tile(items, self._run_bytes // items.size)


class ColumnGather:
    """What `prepare_columns` returns. `result_shape` is the result's shape."""

    def __init__(
        self, geometry: _Geometry, result_shape: tuple[int, ...], operand_shape: tuple[int, ...],
        batch_shape: tuple[int, ...], index_dtype: np.dtype, column_count: int, threads: int | None,
    ) -> None:  # fmt: skip
        self.result_shape = result_shape
        self._column_count = column_count
        self._geometry = geometry
        self._operand_shape = operand_shape
        self._batch_shape = batch_shape
        self._index_dtype = index_dtype
        self._threads = threads
        self._loops: dict[tuple[tuple[int, ...], ...], _Loops] = {}
        is_native = index_dtype.kind in "iu" and index_dtype.isnative and index_dtype != np.uint64
        self._sample: np.ndarray = np.empty(0, index_dtype if is_native else np.int64)

    def __call__(
        self,
        operand: np.ndarray,
        columns: Sequence[np.ndarray],
        fill_value: np.ndarray | None = None,
    ) -> np.ndarray:
        """The gathered slices.

        Args:
            operand, columns: arrays of the shapes and types that were prepared for.
            fill_value: of rank 0 and the operand's type: what a slice consists of whose indices would have
                to be moved; None: they are moved.

        Raises ValueError where an array has another shape or item size than was prepared for.
        """
        self._check(operand, columns)
        result = np.empty(self.result_shape, operand.dtype)
        if result.size:
            native = [self._native(columns[number]) for number in self._geometry.columns]
            loops = self._loops_for(tuple([column.strides for column in native]))
            loops.run(operand, native, self._sample, result, fill_value, self._threads)
        return result

    def _loops_for(self, strides: tuple[tuple[int, ...], ...]) -> _Loops:
        """The loops for columns of these strides in bytes."""
        loops = self._loops.get(strides)
        if loops is None:
            if len(self._loops) >= _MOST_LAYOUTS:
                self._loops.clear()
            size = self._sample.itemsize
            steps = [[stride // size for stride in column] for column in strides]
            loops = self._loops[strides] = _Loops(self._geometry, steps)
        return loops

    def _native(self, column: np.ndarray) -> np.ndarray:
        """A column as integers that the loops read; unsigned 64-bit integers as signed ones.

        A value of 2**63 or more becomes negative: `for_negative` says what the loops take it for.
        """
        dtype = self._sample.dtype
        if column.dtype == np.uint64:
            column = column.view(np.int64)
        elif column.dtype != dtype:
            column = column.astype(dtype)
        if not column.flags.aligned or any(stride % dtype.itemsize for stride in column.strides):
            column = column.copy()
        return column

    def _check(self, operand: np.ndarray, columns: Sequence[np.ndarray]) -> None:
        item_size = self._geometry.item_size
        if operand.shape != self._operand_shape or operand.itemsize != item_size:
            raise ValueError(
                f"operand has shape {operand.shape} and items of {operand.itemsize} bytes, "
                f"but {self._operand_shape} and {item_size} were prepared for"
            )
        for column in columns:
            if column.shape != self._batch_shape or column.dtype != self._index_dtype:
                raise ValueError(
                    f"a column of indices has shape {column.shape} and type {column.dtype}, "
                    f"but {self._batch_shape} and {self._index_dtype} were prepared for"
                )
        if len(columns) != self._column_count:
            raise ValueError(f"there are {len(columns)} columns of indices, not {self._column_count}")


class PreparedGather:
    """What `prepare` returns. `result_shape` is the result's shape."""

    def __init__(
        self,
        by_columns: ColumnGather,
        indices_shape: tuple[int, ...],
        index_dtype: np.dtype,
        index_vector_dim: int,
    ) -> None:
        self.result_shape = by_columns.result_shape
        self._by_columns = by_columns
        self._indices_shape = indices_shape
        self._index_dtype = index_dtype
        before = (slice(None),) * index_vector_dim
        length = indices_shape[index_vector_dim] if index_vector_dim < len(indices_shape) else None
        self._columns: list[tuple[Any, ...]] = (
            [()] if length is None else [(*before, number) for number in range(length)]
        )

    def __call__(self, operand: np.ndarray, start_indices: np.ndarray) -> np.ndarray:
        """The gathered slices.

        Raises ValueError where an array has another shape or item size than was prepared for.
        """
        if start_indices.shape != self._indices_shape or start_indices.dtype != self._index_dtype:
            raise ValueError(
                f"start_indices has shape {start_indices.shape} and type {start_indices.dtype}, "
                f"but {self._indices_shape} and {self._index_dtype} were prepared for"
            )
        columns = [start_indices[where] for where in self._columns]
        return self._by_columns(operand, [np.asarray(column) for column in columns])


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
    batch_shape, _, length, _ = index_vector_layout(start_indices_shape, index_vector_dim)
    if len(start_index_map) != length:
        raise ValueError(
            f"start_index_map has {len(start_index_map)} elements, but index vectors have {length}"
        )
    by_columns = prepare_columns(
        operand_shape,
        batch_shape,
        item_size,
        index_dtype,
        offset_dims=offset_dims,
        collapsed_slice_dims=collapsed_slice_dims,
        operand_batching_dims=operand_batching_dims,
        batching_dims=[axis - (axis > index_vector_dim) for axis in start_indices_batching_dims],
        start_index_map=start_index_map,
        slice_sizes=slice_sizes,
        threads=threads,
    )
    return PreparedGather(by_columns, tuple(start_indices_shape), np.dtype(index_dtype), index_vector_dim)


def prepare_columns(
    operand_shape: Sequence[int],
    batch_shape: Sequence[int],
    item_size: int,
    index_dtype: Any,
    *,
    offset_dims: Sequence[int],
    collapsed_slice_dims: Sequence[int],
    operand_batching_dims: Sequence[int],
    batching_dims: Sequence[int],
    start_index_map: Sequence[int],
    slice_sizes: Sequence[int],
    added_to_negative: Sequence[int] | None = None,
    is_filled: bool = False,
    threads: int | None = None,
) -> ColumnGather:
    """Decide how to gather where the indices come as a column for each element of an index vector.

    Args:
        batch_shape: the shape of each column.
        batching_dims: the dimensions of the columns that go with `operand_batching_dims`.
        added_to_negative: for each column what is added to negative indices before anything else.
        is_filled: whether calls give a `fill_value`.

    The rest is as for `prepare`.
    """
    if item_size not in UNSIGNED_BY_SIZE:
        raise ValueError(f"item_size is {item_size}, but must be one of {sorted(UNSIGNED_BY_SIZE)}")
    if any(not 0 <= size <= dim for size, dim in zip(slice_sizes, operand_shape, strict=True)):
        raise ValueError(
            f"slice_sizes {tuple(slice_sizes)} do not fit an operand of shape {tuple(operand_shape)}"
        )
    removed = {*collapsed_slice_dims, *operand_batching_dims}
    window_dims = [dim for dim in range(len(operand_shape)) if dim not in removed]
    batch_dims = [d for d in range(len(batch_shape) + len(offset_dims)) if d not in offset_dims]
    size_of = dict(zip(batch_dims, batch_shape, strict=True))
    size_of.update(zip(offset_dims, (slice_sizes[dim] for dim in window_dims), strict=True))
    result_shape = tuple(size_of[axis] for axis in range(len(size_of)))
    if math.prod(result_shape) and not all(slice_sizes):
        raise ValueError(
            f"slice_sizes {tuple(slice_sizes)} leave no element to copy for a result of {result_shape}"
        )
    operand_steps, result_steps = row_major_steps(operand_shape), row_major_steps(result_shape)
    batching = {
        axis: operand_steps[dim] for dim, axis in zip(operand_batching_dims, batching_dims, strict=True)
    }
    units = [
        Dimension(size_of[axis], (batching.get(number, 0), result_steps[axis]))
        for number, axis in enumerate(batch_dims)
    ]
    window = merged(
        Dimension(slice_sizes[dim], (operand_steps[dim], result_steps[axis]))
        for dim, axis in zip(window_dims, offset_dims, strict=True)
    )
    index_type = np.dtype(index_dtype)
    components = _components(start_index_map, operand_shape, slice_sizes, index_type, added_to_negative)
    moving = [number for number, row in enumerate(components.tolist()) if row[0] > 0 or is_filled]
    geometry = _Geometry(units, window, moving, components[moving], item_size)
    return ColumnGather(
        geometry,
        result_shape,
        tuple(operand_shape),
        tuple(batch_shape),
        index_type,
        len(start_index_map),
        threads,
    )


def _components(
    start_index_map: Sequence[int], operand_shape: Sequence[int], slice_sizes: Sequence[int],
    index_dtype: np.dtype, added_to_negative: Sequence[int] | None,
) -> np.ndarray:  # fmt: skip
    """The rows of `components` of `_unit_offsets`."""
    operand_steps = row_major_steps(operand_shape)
    added = added_to_negative or (0,) * len(start_index_map)
    rows = []
    for dim, addend in zip(start_index_map, added, strict=True):
        largest = operand_shape[dim] - slice_sizes[dim]
        for_negative = largest if index_dtype == np.uint64 else 0
        rows.append((largest, for_negative, addend, operand_steps[dim]))
    return np.array(rows, np.int64).reshape(len(rows), 4)


def _split(
    run: int, item_size: int, units: list[Dimension], window: list[Dimension], none: tuple[int, ...]
) -> tuple[int, list[Dimension], list[Dimension]]:
    """Make units of parts of large slices: they can be divided then, and a unit has few runs."""
    if run * item_size > _MOST_RUN_BYTES:
        pieces = next(
            (p for p in range(2, 4096) if run % p == 0 and run // p * item_size <= _MOST_RUN_BYTES), 1
        )
        run //= pieces
        window = [*window, Dimension(pieces, (*none, run, run))]
    few_units = total_size(units) < 64
    while window and (total_size(window) > _MOST_RUNS or few_units):
        units = [*units, window[0]]
        window = window[1:]
        few_units = total_size(units) < 64
    return run, merged(units), window
