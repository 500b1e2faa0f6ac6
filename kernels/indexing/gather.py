"""gather: slices of an operand, from starts that an array holds (specification: gather).

A *slice* here is one slice of the specification, or a part of a large one. Slices are numbered in row-major
order; a task copies a range of them, block by block: it computes the starts of a block first, clamped once a
slice, then copies the items, by size, whatever their type.

The kernel reads the indices by *components*: an array of the batch's shape, in any layout, for each component
of the index vectors, so that broadcast and sliced indices need no memory of their own.
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
    row_major_strides,
    total_size,
)

_MAX_RUNS = 1024
_MAX_RUN_BYTES = 1 << 18
_MAX_LAYOUTS = 16
_OPERAND, _RESULT = -2, -1


class _Geometry(NamedTuple):
    """The shapes and dimension numbers of a gather.

    Attributes:
        slice_space, window: the dimensions of the batch and of a slice; their last strides are those in the
            operand and in the result.
        index_components: the numbers of the index components that can move a slice.
        component_rows: a row of `_slice_offsets` for each of them.
    """

    slice_space: list[Dimension]
    window: list[Dimension]
    index_components: Sequence[int]
    component_rows: np.ndarray
    item_size: int


class _Loops:
    """The arguments of the kernel for one layout of the index components."""

    def __init__(self, geometry: _Geometry, component_strides: Sequence[Sequence[int]]) -> None:
        slice_space = merged(
            Dimension(d.size, (*strides, *d.strides))
            for d, strides in zip(geometry.slice_space, zip(*component_strides, strict=True), strict=True)
        ) if component_strides else merged(geometry.slice_space)  # fmt: skip
        none = (0,) * len(component_strides)
        window = [Dimension(d.size, (*none, *d.strides)) for d in geometry.window]
        item_size = geometry.item_size
        contiguous = bool(window) and window[-1].strides[_OPERAND:] == (1, 1)
        run = window.pop().size if contiguous else 1
        run, slice_space, window = _split(run, item_size, slice_space, window, none)
        if not slice_space:
            slice_space = [Dimension(1, (*none, 0, 0))]
        self._slice_count = total_size(slice_space)
        self._run_bytes = run * item_size
        self._runs = np.stack([offsets(window, _OPERAND), offsets(window, _RESULT)], axis=1) * item_size
        rows = [
            (d.size, d.strides[_OPERAND] * item_size, d.strides[_RESULT] * item_size, *d.strides[:_OPERAND])
            for d in slice_space
        ]
        self._loops = np.array(rows, np.int64)
        self._component_rows = geometry.component_rows * np.array([1, 1, item_size], np.int64)
        self._division = division(self._slice_count, 2.0 * run * total_size(window) * item_size)
        aligned_quantities = (self._run_bytes, *self._loops[:, 2].tolist(), *self._runs[:, 1].tolist())
        self._is_cache_line_aligned = all(quantity % CACHE_LINE == 0 for quantity in aligned_quantities)

    def run(
        self, operand: np.ndarray, index_components: Sequence[np.ndarray], sample: np.ndarray,
        result: np.ndarray, threads: int | None,
    ) -> None:  # fmt: skip
        """Launch the kernel."""
        from . import gather_loops

        exceeds_cache = result.nbytes >= nontemporal_store_bytes(gathered=True)
        nontemporal = exceeds_cache and self._is_cache_line_aligned and result.ctypes.data % CACHE_LINE == 0
        loops = (self._division.size, self._slice_count, self._loops, self._component_rows)
        addresses = np.array(
            [component.__array_interface__["data"][0] for component in index_components], np.int64
        )
        arrays = (flat(operand, np.uint8), result.reshape(-1).view(np.uint8))
        rest = (self._runs, self._run_bytes, nontemporal)
        gather_loops.gather_runs(
            self._division.tasks, *loops, addresses, sample, *arrays, *rest, threads=threads
        )


class PreparedGather:
    """A prepared gather, the result of `prepare`; `result_shape` is the shape of the gather's result."""

    def __init__(
        self, geometry: _Geometry, result_shape: tuple[int, ...], operand_shape: tuple[int, ...],
        indices_shape: tuple[int, ...], index_dtype: np.dtype, index_vector_dim: int, threads: int | None,
    ) -> None:  # fmt: skip
        self.result_shape = result_shape
        self._geometry = geometry
        self._operand_shape = operand_shape
        self._indices_shape = indices_shape
        self._index_dtype = index_dtype
        self._threads = threads
        self._loops: dict[tuple[tuple[int, ...], ...], _Loops] = {}
        is_native = index_dtype.kind in "iu" and index_dtype.isnative and index_dtype != np.uint64
        self._sample: np.ndarray = np.empty(0, index_dtype if is_native else np.int64)
        before = (slice(None),) * index_vector_dim
        has_vectors = index_vector_dim < len(indices_shape)
        self._component_slices: list[tuple[Any, ...]] = [
            (*before, number) if has_vectors else () for number in geometry.index_components
        ]

    def __call__(self, operand: np.ndarray, start_indices: np.ndarray) -> np.ndarray:
        """Gather the slices.

        Args:
            operand, start_indices: arrays of the prepared shapes and types.

        Raises ValueError if an array has another shape or item size than prepared for.
        """
        self._check(operand, start_indices)
        result = np.empty(self.result_shape, operand.dtype)
        if result.size:
            slices = self._component_slices
            components = [self._native(np.asarray(start_indices[indices])) for indices in slices]
            loops = self._loops_for(tuple([component.strides for component in components]))
            loops.run(operand, components, self._sample, result, self._threads)
        return result

    def _loops_for(self, byte_strides: tuple[tuple[int, ...], ...]) -> _Loops:
        """The kernel arguments for index components of these strides in bytes."""
        loops = self._loops.get(byte_strides)
        if loops is None:
            if len(self._loops) >= _MAX_LAYOUTS:
                self._loops.clear()
            size = self._sample.itemsize
            strides = [[stride // size for stride in component_strides] for component_strides in byte_strides]
            loops = self._loops[byte_strides] = _Loops(self._geometry, strides)
        return loops

    def _native(self, component: np.ndarray) -> np.ndarray:
        """An index component as integers that the kernel reads; unsigned 64-bit integers as signed ones.

        A value of 2**63 or more becomes negative, and the kernel takes it for `clamped_negative`.
        """
        dtype = self._sample.dtype
        if component.dtype == np.uint64:
            component = component.view(np.int64)
        elif component.dtype != dtype:
            component = component.astype(dtype)
        if not component.flags.aligned or any(stride % dtype.itemsize for stride in component.strides):
            component = component.copy()
        return component

    def _check(self, operand: np.ndarray, start_indices: np.ndarray) -> None:
        item_size = self._geometry.item_size
        if operand.shape != self._operand_shape or operand.itemsize != item_size:
            raise ValueError(
                f"operand has shape {operand.shape} and items of {operand.itemsize} bytes, "
                f"but {self._operand_shape} and {item_size} were prepared for"
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

    The dimension numbers are the specification's, and are taken to meet its constraints.

    Args:
        operand_shape, start_indices_shape: sizes of the operand and of the index array.
        item_size: bytes of an element: 1, 2, 4, 8 or 16.
        index_dtype: the integer type of the start indices.
        offset_dims, collapsed_slice_dims, operand_batching_dims, start_indices_batching_dims,
        start_index_map, index_vector_dim, slice_sizes: as the operation's attributes.
        indices_are_sorted: a promise that these loops do not need: any order is as fast.
        threads: most threads to use; None: all.

    Raises:
        ValueError: the slices do not fit the operand, or the item size is another.

    Source: specification, section "gather".
    """
    batch_shape, _, length, _ = index_vector_layout(start_indices_shape, index_vector_dim)
    if len(start_index_map) != length:
        raise ValueError(
            f"start_index_map has {len(start_index_map)} elements, but index vectors have {length}"
        )
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
    operand_steps, result_steps = row_major_strides(operand_shape), row_major_strides(result_shape)
    batching = {
        axis - (axis > index_vector_dim): operand_steps[dim]
        for dim, axis in zip(operand_batching_dims, start_indices_batching_dims, strict=True)
    }
    slice_space = [
        Dimension(size_of[axis], (batching.get(number, 0), result_steps[axis]))
        for number, axis in enumerate(batch_dims)
    ]
    window = merged(
        Dimension(slice_sizes[dim], (operand_steps[dim], result_steps[axis]))
        for dim, axis in zip(window_dims, offset_dims, strict=True)
    )
    index_type = np.dtype(index_dtype)
    component_rows = _component_rows(start_index_map, operand_shape, slice_sizes, index_type)
    used = [number for number, row in enumerate(component_rows.tolist()) if row[0] > 0]
    geometry = _Geometry(slice_space, window, used, component_rows[used], item_size)
    return PreparedGather(
        geometry,
        result_shape,
        tuple(operand_shape),
        tuple(start_indices_shape),
        index_type,
        index_vector_dim,
        threads,
    )


def _component_rows(
    start_index_map: Sequence[int],
    operand_shape: Sequence[int],
    slice_sizes: Sequence[int],
    index_dtype: np.dtype,
) -> np.ndarray:
    """The rows of `component_rows` of `_slice_offsets`."""
    operand_steps = row_major_strides(operand_shape)
    rows = []
    for dim in start_index_map:
        largest = operand_shape[dim] - slice_sizes[dim]
        clamped_negative = largest if index_dtype == np.uint64 else 0
        rows.append((largest, clamped_negative, operand_steps[dim]))
    return np.array(rows, np.int64).reshape(len(rows), 3)


def _split(
    run: int, item_size: int, slice_space: list[Dimension], window: list[Dimension], none: tuple[int, ...]
) -> tuple[int, list[Dimension], list[Dimension]]:
    """Split large slices, so that tasks can divide them and a slice has few runs."""
    if run * item_size > _MAX_RUN_BYTES:
        chunks = next(
            (p for p in range(2, 4096) if run % p == 0 and run // p * item_size <= _MAX_RUN_BYTES), 1
        )
        run //= chunks
        window = [*window, Dimension(chunks, (*none, run, run))]
    has_few_slices = total_size(slice_space) < 64
    while window and (total_size(window) > _MAX_RUNS or has_few_slices):
        slice_space = [*slice_space, window[0]]
        window = window[1:]
        has_few_slices = total_size(slice_space) < 64
    return run, merged(slice_space), window
