"""The kernel of gather. Importing this module imports Numba."""

from typing import Any

import numpy as np

from ..launch.compilation import kernel
from ..simd.copy_bytes import copy_bytes, copy_nontemporal, item_at

BLOCK = 1024


@kernel
def _add_component(
    address: int, sample: np.ndarray, base: int, index_stride: int, component: Any, count: int, first: int,
    operand_offsets: Any,
) -> None:  # fmt: skip
    """Add one index component to the operand offsets of a fiber of slices."""
    largest, clamped_negative, component_stride = component[0], component[1], component[2]
    for i in range(count):
        start = np.int64(item_at(sample, address, base + i * index_stride))
        start = clamped_negative if start < 0 else min(start, largest)
        operand_offsets[np.uint64(first + i)] += start * component_stride


@kernel
def _slice_offsets(
    first: int, count: int, loops: Any, component_rows: Any, index_components: Any, sample: np.ndarray,
    operand_offsets: Any, result_offsets: Any,
) -> None:  # fmt: skip
    """Offsets in the operand and in the result of `count` slices from number `first` on.

    `loops` has a row (size, operand stride, result stride, a stride for each index component) for each
    dimension of the slices' iteration space; `component_rows` a row (largest start, start for a negative
    index, operand stride) for each component; `index_components` the addresses of the index components, whose
    items have the type of `sample`.
    """
    inner = loops.shape[0] - 1
    length, operand_stride, result_stride = loops[inner, 0], loops[inner, 1], loops[inner, 2]
    done = 0
    while done < count:
        fiber = (first + done) // length
        coordinate = first + done - fiber * length
        fiber_count = min(length - coordinate, count - done)
        operand_base, result_base = coordinate * operand_stride, coordinate * result_stride
        rest = fiber
        for axis in range(inner - 1, -1, -1):
            outer = rest // loops[axis, 0]
            outer_coordinate = rest - outer * loops[axis, 0]
            rest = outer
            operand_base += outer_coordinate * loops[axis, 1]
            result_base += outer_coordinate * loops[axis, 2]
        for i in range(fiber_count):
            operand_offsets[np.uint64(done + i)] = operand_base + i * operand_stride
        for i in range(fiber_count):
            result_offsets[np.uint64(done + i)] = result_base + i * result_stride
        for row in range(component_rows.shape[0]):
            index_stride = loops[inner, 3 + row]
            base = coordinate * index_stride
            rest = fiber
            for axis in range(inner - 1, -1, -1):
                outer = rest // loops[axis, 0]
                base += (rest - outer * loops[axis, 0]) * loops[axis, 3 + row]
                rest = outer
            _add_component(
                index_components[row], sample, base, index_stride, component_rows[row], fiber_count, done,
                operand_offsets,
            )  # fmt: skip
        done += fiber_count


@kernel(parallel=True)
def gather_runs(
    task: int, size: int, total: int, loops: Any, component_rows: Any, index_components: Any,
    sample: np.ndarray, operand: np.ndarray, result: np.ndarray, runs: Any, run_bytes: int, nontemporal: bool,
) -> None:  # fmt: skip
    """Copy slices of runs of `run_bytes` bytes at each row (operand offset, result offset) of `runs`, in
    bytes.

    Starts are clamped. With `nontemporal`, stores bypass the caches; runs are whole cache lines of the result
    then.
    """
    operand_offsets = np.empty(BLOCK, np.int64)
    result_offsets = np.empty(BLOCK, np.int64)
    end = min(total, (task + 1) * size)
    for first in range(task * size, end, BLOCK):
        count = min(BLOCK, end - first)
        _slice_offsets(
            first, count, loops, component_rows, index_components, sample, operand_offsets, result_offsets
        )  # fmt: skip
        for i in range(count):
            operand_offset, result_offset = operand_offsets[np.uint64(i)], result_offsets[np.uint64(i)]
            if nontemporal:
                for run in range(runs.shape[0]):
                    copy_nontemporal(
                        result, result_offset + runs[run, 1], operand, operand_offset + runs[run, 0],
                        run_bytes,
                    )  # fmt: skip
            else:
                for run in range(runs.shape[0]):
                    copy_bytes(
                        result, result_offset + runs[run, 1], operand, operand_offset + runs[run, 0],
                        run_bytes,
                    )  # fmt: skip
