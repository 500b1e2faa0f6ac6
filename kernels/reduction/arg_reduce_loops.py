"""The kernels of `arg_reduce`, one for each element type."""

import functools
from typing import Any

import numpy as np

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import get, load, put, store
from ..simd.block_sizes import ARGUMENT_BLOCK, ARGUMENT_GROUP
from ..simd.extremes import first_extreme
from ..simd.searches import first_equal


@functools.cache
def keeps_left(direction: str) -> Kernel:
    """Whether the body keeps the left value: it is better, or a NaN."""
    if direction == "maximum":

        @kernel(inline=True)
        def greater(left: Any, right: Any) -> bool:
            return bool((left > right) | (left != left))

        return greater

    @kernel(inline=True)
    def less(left: Any, right: Any) -> bool:
        return bool((left < right) | (left != left))

    return less


@functools.cache
def rows(element: str, direction: str) -> Kernel:
    """The best value and index of each block of each row, arrays [outer, blocks].

    A last block that is too short for a search begins in the one before it, which changes no result.
    """

    @kernel(parallel=True)
    def body(
        task: int,
        size: int,
        outer: int,
        blocks: int,
        length: int,
        operand: np.ndarray,
        indices: np.ndarray,
        values: np.ndarray,
        best_indices: np.ndarray,
    ) -> None:
        for work_item in range(task * size, min((task + 1) * size, outer * blocks)):
            row = work_item // blocks
            start = row * length + (work_item - row * blocks) * ARGUMENT_BLOCK
            end = min(start + ARGUMENT_BLOCK, (row + 1) * length)
            start = min(start, end - ARGUMENT_GROUP)
            best_position = first_extreme(element, direction, operand, start, end)
            best = load(element, operand, best_position)
            if indices.size == 0:
                put(best_indices, work_item, best_indices.dtype.type(best_position - row * length))
            else:
                index = get(indices, best_position)
                while best == best and best_position < end:
                    index = min(index, get(indices, best_position))
                    best_position = first_equal(element, operand, best_position + 1, end, best)
                put(best_indices, work_item, index)
            if best == 0:
                for position in range(end - 1, start - 1, -1):
                    if load(element, operand, position) == 0:
                        best = load(element, operand, position)
                        break
            put(values, work_item, best)

    return body


@functools.cache
def finish(element: str, direction: str) -> Kernel:
    """Reduce the initial value and the blocks' results from the left."""
    keeps = keeps_left(direction)

    @kernel(parallel=True)
    def body(
        task: int,
        size: int,
        outer: int,
        blocks: int,
        values: np.ndarray,
        block_indices: np.ndarray,
        init_value: np.ndarray,
        init_index: np.ndarray,
        value: Any,
        index: Any,
    ) -> None:
        for row in range(task * size, min((task + 1) * size, outer)):
            best, best_index = load(element, init_value, 0), get(init_index, 0)
            for block in range(row * blocks, (row + 1) * blocks):
                other, other_index = get(values, block), get(block_indices, block)
                keeps_value = keeps(best, other)
                if not (keeps_value or (best == other and best_index < other_index)):
                    best_index = other_index
                best = best if keeps_value else other
            store(element, value, row, best)
            put(index, row, best_index)

    return body
