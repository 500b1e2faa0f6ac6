"""The loops of convolutions: windows as rows of matrices, and scaled elements. Importing this module imports
Numba.
"""

import functools
from typing import Any

import numpy as np

from .compilation import kernel
from .memory import copy_bytes
from .product_loops import clear, edge_size, multiply_rows
from .tiles import lanes


@functools.cache
def convolve(kind: str) -> Any:
    """The kernel whose tasks convolve `size` blocks of windows each, of one of the groups.

    The windows of a block are copied into the rows of a matrix and multiplied with the group's panels.
    `places` holds, for each dimension, each window along it and each position in it, how far into lhs the
    element lies, or -1 where there is none; `lhs` is an array of bytes.
    """
    multiply = multiply_rows(kind)
    one = lanes(kind)
    item = 8 if kind.endswith("64") else 4

    @kernel(parallel=True)
    def convolve_blocks(
        task: int, size: int, total: int, blocks: int, block: int, rows: int, columns: int, terms: int,
        chunk: int, items: int, features: int, lhs: Any, batch_step: int, group_step: int, dimensions: Any,
        places: Any, panels: Any, result: Any, result_step: int, zero: float,
    ) -> None:  # fmt: skip
        edge = np.empty(edge_size(block, one), panels.dtype)
        matrix = np.empty(block * terms * item, np.uint8)
        rank = dimensions.shape[0]
        window = np.zeros(rank, np.int64)
        position = np.zeros(rank, np.int64)
        for number in range(task * size, min((task + 1) * size, total)):
            group, first = number // blocks, number % blocks * block
            count = min(block, rows - first)
            for row in range(count):
                rest = first + row
                for axis in range(rank - 1, -1, -1):
                    window[axis] = rest % dimensions[axis, 0]
                    rest //= dimensions[axis, 0]
                    position[axis] = 0
                base = rest * batch_step + group * group_step
                at = row * terms * item
                for _ in range(terms // features):
                    start = base
                    is_inside = True
                    for axis in range(rank):
                        along = window[axis] * dimensions[axis, 1] + position[axis]
                        place = places[dimensions[axis, 2] + along]
                        is_inside &= place >= 0
                        start += place
                    if is_inside:
                        copy_bytes(matrix, at, lhs, start * item, features * item)
                    else:
                        clear(matrix, at, features * item)
                    at += features * item
                    for axis in range(rank - 1, -1, -1):
                        position[axis] += 1
                        if position[axis] < dimensions[axis, 1]:
                            break
                        position[axis] = 0
            multiply(
                count, columns, terms, chunk, matrix.ctypes.data, terms, 1,
                panels.ctypes.data + group * items * item,
                result, first * result_step + group * columns, result_step, zero, edge,
            )  # fmt: skip

    return convolve_blocks


@kernel(parallel=True)
def scale(
    task: int, size: int, positions: int, channels: int, outputs: int, lhs: Any, batch_step: int,
    dimensions: Any, places: Any, scales: Any, result: Any,
) -> None:  # fmt: skip
    """Convolve `size` windows where each group has one input feature.

    `scales` is [position, group * output feature], `result` [windows, group * output feature]. Products are
    rounded and added one after another, from the first position on; those in the padding are left out.
    """
    rank = dimensions.shape[0]
    window = np.zeros(rank, np.int64)
    position = np.zeros(rank, np.int64)
    width = channels * outputs
    for row in range(task * size, min((task + 1) * size, result.size // width)):
        rest = row
        for axis in range(rank - 1, -1, -1):
            window[axis] = rest % dimensions[axis, 0]
            rest //= dimensions[axis, 0]
            position[axis] = 0
        to = row * width
        clear(result, to, width)
        for number in range(positions):
            start = rest * batch_step
            is_inside = True
            for axis in range(rank):
                place = places[dimensions[axis, 2] + window[axis] * dimensions[axis, 1] + position[axis]]
                is_inside &= place >= 0
                start += place
            if is_inside:
                factor = number * width
                if outputs == 1:
                    for channel in range(channels):
                        product = lhs[np.uint64(start + channel)] * scales[np.uint64(factor + channel)]
                        result[np.uint64(to + channel)] += product
                else:
                    for channel in range(channels):
                        element = lhs[np.uint64(start + channel)]
                        for output in range(outputs):
                            at = channel * outputs + output
                            result[np.uint64(to + at)] += element * scales[np.uint64(factor + at)]
            for axis in range(rank - 1, -1, -1):
                position[axis] += 1
                if position[axis] < dimensions[axis, 1]:
                    break
                position[axis] = 0
