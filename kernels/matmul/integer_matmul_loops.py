"""The loops of integer matrix multiplication: packing panels, and multiplying rows of tiles.

A panel is a strip of columns of the right matrix in the order in which `integer_matmul_tiles` loads it: for
each chunk of k the initial sums, then a row for each k. As many panels as possible have the width of a full
tile; the rest are one vector wide, the last one padded with zeros. Importing this module imports Numba.
"""

import functools
from typing import Any

import numpy as np

from ..launch.compilation import kernel
from ..simd.copy_bytes import item_at
from .integer_matmul_tiles import ROWS, VECTORS, lanes, tile


@kernel
def clear(array: Any, at: int, count: int) -> None:
    """Zero a range of an array. Threads would contend for the reference count of a view of it."""
    for index in range(at, at + count):
        array[np.uint64(index)] = 0


def panel_widths(kind: str, columns: int) -> tuple[int, int]:
    """(number of panels for `columns` columns, number of columns of all panels)."""
    vector_lanes = lanes(kind)
    full = columns // (VECTORS * vector_lanes)
    single = -(-(columns - full * VECTORS * vector_lanes) // vector_lanes)
    return full + single, (full * VECTORS + single) * vector_lanes


@functools.cache
def _tile_of(kind: str) -> Any:
    """The kernel that multiplies up to ROWS rows by one chunk of a panel, and writes ROWS rows."""
    vector_lanes = lanes(kind)

    @kernel
    def run(
        last: int, width: int, left: int, row_stride: int, k_stride: int, panel: int, k: int, target: int,
        target_stride: int, adds: int,
    ) -> None:  # fmt: skip
        if width == vector_lanes:
            tile(kind, 1, last, left, row_stride, k_stride, panel, k, target, target_stride, adds)
        else:
            tile(kind, VECTORS, last, left, row_stride, k_stride, panel, k, target, target_stride, adds)

    return run


@functools.cache
def _pack_chunk(kind: str) -> Any:
    """The kernel that packs one chunk of a panel: k in [first, stop) of `valid_columns` columns."""
    word_elements = {"pairs": 2, "bytes": 4}.get(kind, 1)
    bits = 32 // word_elements
    mask = (1 << bits) - 1
    is_bytes = kind == "bytes"

    @kernel
    def copy_elements(
        source: int, sample: Any, base: int, k_stride: int, column_stride: int, first: int, stop: int,
        valid_columns: int, width: int, panel: Any, at: int,
    ) -> None:  # fmt: skip
        clear(panel, at, width)
        for k_index in range(first, stop):
            at += width
            begin = base + k_index * k_stride
            if column_stride == 1:
                for lane in range(valid_columns):
                    panel[np.uint64(at + lane)] = item_at(sample, source, begin + lane)
            else:
                for lane in range(valid_columns):
                    panel[np.uint64(at + lane)] = item_at(sample, source, begin + lane * column_stride)
            clear(panel, at + valid_columns, width - valid_columns)

    @kernel
    def pack_words(
        source: int, sample: Any, base: int, k_stride: int, column_stride: int, first: int, stop: int,
        valid_columns: int, width: int, panel: Any, at: int,
    ) -> None:  # fmt: skip
        start = at
        clear(panel, at, width)
        for word in range(first, stop, word_elements):
            at += width
            clear(panel, at, width)
            for element in range(min(word_elements, stop - word)):
                begin = base + (word + element) * k_stride
                shift = np.int32(element * bits)
                for lane in range(valid_columns):
                    value = np.int32(item_at(sample, source, begin + lane * column_stride))
                    panel[np.uint64(at + lane)] |= (value & np.int32(mask)) << shift
                    if is_bytes:
                        # The left operand stores bytes plus 128; the initial sums compensate.
                        panel[np.uint64(start + lane)] -= value << np.int32(7)

    return copy_elements if word_elements == 1 else pack_words


@functools.cache
def _pack_matrix(kind: str) -> Any:
    """The kernel that packs some panels of one matrix."""
    write = _pack_chunk(kind)
    word_elements = {"pairs": 2, "bytes": 4}.get(kind, 1)
    vector_lanes = lanes(kind)

    @kernel
    def run(
        first: int, stop: int, columns: int, k: int, chunk: int, source: int, sample: Any, base: int,
        k_stride: int, column_stride: int, panels: Any, at: int,
    ) -> None:  # fmt: skip
        full = VECTORS * vector_lanes
        full_strips = columns // full
        rows = (k + word_elements - 1) // word_elements + (k + chunk - 1) // chunk
        for strip in range(first, stop):
            width = full if strip < full_strips else vector_lanes
            column = (
                strip * full
                if strip < full_strips
                else full_strips * full + (strip - full_strips) * vector_lanes
            )
            valid_columns = min(width, columns - column)
            index = at + column * rows
            for begin in range(0, k, chunk):
                end = min(k, begin + chunk)
                write(
                    source, sample, base + column * column_stride, k_stride, column_stride, begin, end,
                    valid_columns, width, panels, index,
                )  # fmt: skip
                index += width * ((end - begin + word_elements - 1) // word_elements + 1)

    return run


@functools.cache
def pack(kind: str) -> Any:
    """The kernel whose tasks pack `size` panels each, of `strips` for each matrix."""
    matrix = _pack_matrix(kind)

    @kernel(parallel=True)
    def pack_panels(
        task: int, size: int, total: int, strips: int, items: int, columns: int, k: int, chunk: int,
        source: int, sample: Any, matrix_stride: int, k_stride: int, column_stride: int, panels: Any,
    ) -> None:  # fmt: skip
        for number in range(task * size, min((task + 1) * size, total)):
            matrix_index, strip = number // strips, number % strips
            matrix(
                strip, strip + 1, columns, k, chunk, source, sample, matrix_index * matrix_stride, k_stride,
                column_stride, panels, matrix_index * items,
            )  # fmt: skip

    return pack_panels


@kernel
def edge_size(rows: int, vector_lanes: int) -> int:
    """Number of elements of the buffer in which `multiply_rows` stores tiles that exceed the result."""
    return (rows + ROWS - 1) // ROWS * ROWS * VECTORS * vector_lanes


@functools.cache
def multiply_rows(kind: str) -> Any:
    """The kernel that multiplies rows by all panels of a matrix, one chunk of a panel after the other."""
    one_tile = _tile_of(kind)
    vector_lanes = lanes(kind)
    item = 8 if kind.endswith("64") else 4

    @kernel
    def run(
        rows: int, columns: int, k: int, chunk: int, left: int, row_stride: int, k_stride: int,
        panels: int, result: Any, at: int, result_stride: int, edge: Any,
    ) -> None:  # fmt: skip
        column = 0
        while column < columns:
            width = VECTORS * vector_lanes if columns - column >= VECTORS * vector_lanes else vector_lanes
            valid_columns = min(width, columns - column)
            panel = panels
            for begin in range(0, k, chunk):
                chunk_k = min(chunk, k - begin)
                for row in range(0, rows, ROWS):
                    last = min(ROWS, rows - row) - 1
                    target, stride = (
                        result.ctypes.data + (at + row * result_stride + column) * item,
                        result_stride,
                    )
                    if valid_columns < width or last < ROWS - 1:
                        target, stride = edge.ctypes.data + row * width * item, width
                    source = left + (row * row_stride + begin * k_stride) * item
                    one_tile(
                        last, width, source, row_stride, k_stride, panel, chunk_k, target, stride,
                        1 if begin else 0,
                    )  # fmt: skip
                panel += width * (chunk_k + 1) * item
            for row in range(0 if valid_columns < width else rows // ROWS * ROWS, rows):
                to = at + row * result_stride + column
                for lane in range(valid_columns):
                    result[to + lane] = edge[row * width + lane]
            panels += width * (k + (k + chunk - 1) // chunk) * item
            column += width

    return run


@functools.cache
def products(kind: str) -> Any:
    """The kernel whose tasks do `size` work items each: a block of rows times a block of columns.

    If `panels` is empty, a work item is a whole matrix, and the task packs its panels.
    """
    matrix, multiply = _pack_matrix(kind), multiply_rows(kind)
    vector_lanes = lanes(kind)
    item = 8 if kind.endswith("64") else 4

    @kernel(parallel=True)
    def multiply_blocks(
        task: int, size: int, total: int, block: int, blocks: int, group: int, groups: int, rows: int,
        columns: int, k: int, chunk: int, items: int, left: int, left_strides: Any, source: int,
        sample: Any, right_strides: Any, panels: Any, result: Any,
    ) -> None:  # fmt: skip
        edge = np.empty(edge_size(block, vector_lanes), panels.dtype)
        packed = np.empty(items if panels.size == 0 else 0, panels.dtype)
        full_strips = columns // (VECTORS * vector_lanes)
        strips = (
            full_strips + (columns - full_strips * VECTORS * vector_lanes + vector_lanes - 1) // vector_lanes
        )
        for number in range(task * size, min((task + 1) * size, total)):
            matrix_index, index = number // (blocks * groups), number % (blocks * groups)
            row, column = index // groups * block, index % groups * group
            address = panels.ctypes.data + matrix_index * items * item
            if panels.size == 0:
                matrix(
                    0, strips, columns, k, chunk, source, sample, matrix_index * right_strides[0],
                    right_strides[1], right_strides[2], packed, 0,
                )  # fmt: skip
                address = packed.ctypes.data
            address += column * (k + (k + chunk - 1) // chunk) * item
            multiply(
                min(block, rows - row), min(group, columns - column), k, chunk,
                left + (matrix_index * left_strides[0] + row * left_strides[1]) * item, left_strides[1],
                left_strides[2], address, result, (matrix_index * rows + row) * columns + column, columns,
                edge,
            )  # fmt: skip

    return multiply_blocks
