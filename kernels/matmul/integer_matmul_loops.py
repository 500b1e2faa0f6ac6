"""The loops of products of matrices: panels, rows of tiles.

A panel is a strip of columns of the right matrix, stored as `tiles` reads it: for each chunk of terms the
start values, then a row for each term. As many panels as possible have the width of a full tile; the rest are
as wide as one vector, the last one filled up with zeros. Importing this module imports Numba.
"""

import functools
from typing import Any

import numpy as np

from ..launch.compilation import kernel
from ..simd.copy_bytes import item_at
from .integer_matmul_tiles import ROWS, VECTORS, lanes, tile


@kernel
def clear(array: Any, at: int, count: int) -> None:
    """Write zeros into a part of an array. A view of it would count references, which all threads share."""
    for place in range(at, at + count):
        array[np.uint64(place)] = 0


def panel_widths(kind: str, columns: int) -> tuple[int, int]:
    """The number of panels for so many columns, and the columns that they have in all."""
    one = lanes(kind)
    full = columns // (VECTORS * one)
    single = -(-(columns - full * VECTORS * one) // one)
    return full + single, (full * VECTORS + single) * one


@functools.cache
def _tile_of(kind: str) -> Any:
    """The kernel that multiplies up to ROWS rows with one chunk of a panel, and writes ROWS rows."""
    one = lanes(kind)

    @kernel
    def run(
        last: int, width: int, left: int, row_step: int, term_step: int, panel: int, terms: int, target: int,
        target_step: int, adds: int,
    ) -> None:  # fmt: skip
        if width == one:
            tile(kind, 1, last, left, row_step, term_step, panel, terms, target, target_step, adds)
        else:
            tile(kind, VECTORS, last, left, row_step, term_step, panel, terms, target, target_step, adds)

    return run


@functools.cache
def _pack_chunk(kind: str) -> Any:
    """The kernel that writes one chunk of a panel: terms `first` to `stop` - 1 of `here` columns."""
    per = {"pairs": 2, "bytes": 4}.get(kind, 1)
    bits = 32 // per
    mask = (1 << bits) - 1
    is_bytes = kind == "bytes"

    @kernel
    def plain(
        source: int, sample: Any, base: int, term_step: int, column_step: int, first: int, stop: int,
        here: int, width: int, panel: Any, at: int,
    ) -> None:  # fmt: skip
        clear(panel, at, width)
        for term in range(first, stop):
            at += width
            begin = base + term * term_step
            if column_step == 1:
                for lane in range(here):
                    panel[np.uint64(at + lane)] = item_at(sample, source, begin + lane)
            else:
                for lane in range(here):
                    panel[np.uint64(at + lane)] = item_at(sample, source, begin + lane * column_step)
            clear(panel, at + here, width - here)

    @kernel
    def several(
        source: int, sample: Any, base: int, term_step: int, column_step: int, first: int, stop: int,
        here: int, width: int, panel: Any, at: int,
    ) -> None:  # fmt: skip
        start = at
        clear(panel, at, width)
        for word in range(first, stop, per):
            at += width
            clear(panel, at, width)
            for part in range(min(per, stop - word)):
                begin = base + (word + part) * term_step
                shift = np.int32(part * bits)
                for lane in range(here):
                    value = np.int32(item_at(sample, source, begin + lane * column_step))
                    panel[np.uint64(at + lane)] |= (value & np.int32(mask)) << shift
                    if is_bytes:
                        # The left bytes are 128 larger than what they stand for.
                        panel[np.uint64(start + lane)] -= value << np.int32(7)

    return plain if per == 1 else several


@functools.cache
def _pack_matrix(kind: str) -> Any:
    """The kernel that writes some panels of one matrix."""
    write = _pack_chunk(kind)
    per = {"pairs": 2, "bytes": 4}.get(kind, 1)
    one = lanes(kind)

    @kernel
    def run(
        first: int, stop: int, columns: int, terms: int, chunk: int, source: int, sample: Any, base: int,
        term_step: int, column_step: int, panels: Any, at: int,
    ) -> None:  # fmt: skip
        full = VECTORS * one
        wide = columns // full
        rows = (terms + per - 1) // per + (terms + chunk - 1) // chunk
        for strip in range(first, stop):
            width = full if strip < wide else one
            column = strip * full if strip < wide else wide * full + (strip - wide) * one
            here = min(width, columns - column)
            place = at + column * rows
            for begin in range(0, terms, chunk):
                end = min(terms, begin + chunk)
                write(
                    source, sample, base + column * column_step, term_step, column_step, begin, end, here,
                    width, panels, place,
                )  # fmt: skip
                place += width * ((end - begin + per - 1) // per + 1)

    return run


@functools.cache
def pack(kind: str) -> Any:
    """The kernel whose tasks pack `size` panels each, of `strips` for each matrix."""
    matrix = _pack_matrix(kind)

    @kernel(parallel=True)
    def pack_panels(
        task: int, size: int, total: int, strips: int, items: int, columns: int, terms: int, chunk: int,
        source: int, sample: Any, matrix_step: int, term_step: int, column_step: int, panels: Any,
    ) -> None:  # fmt: skip
        for number in range(task * size, min((task + 1) * size, total)):
            which, strip = number // strips, number % strips
            matrix(
                strip, strip + 1, columns, terms, chunk, source, sample, which * matrix_step, term_step,
                column_step, panels, which * items,
            )  # fmt: skip

    return pack_panels


@kernel
def edge_size(rows: int, one: int) -> int:
    """Items that `multiply_rows` needs for tiles of so many rows that do not fit into the result."""
    return (rows + ROWS - 1) // ROWS * ROWS * VECTORS * one


@functools.cache
def multiply_rows(kind: str) -> Any:
    """The kernel that multiplies rows with all panels of a matrix, one chunk of a panel after the other."""
    one_tile = _tile_of(kind)
    one = lanes(kind)
    item = 8 if kind.endswith("64") else 4

    @kernel
    def run(
        rows: int, columns: int, terms: int, chunk: int, left: int, row_step: int, term_step: int,
        panels: int, result: Any, at: int, result_step: int, edge: Any,
    ) -> None:  # fmt: skip
        column = 0
        while column < columns:
            width = VECTORS * one if columns - column >= VECTORS * one else one
            here = min(width, columns - column)
            panel = panels
            for begin in range(0, terms, chunk):
                here_terms = min(chunk, terms - begin)
                for row in range(0, rows, ROWS):
                    last = min(ROWS, rows - row) - 1
                    target, step = result.ctypes.data + (at + row * result_step + column) * item, result_step
                    if here < width or last < ROWS - 1:
                        target, step = edge.ctypes.data + row * width * item, width
                    source = left + (row * row_step + begin * term_step) * item
                    one_tile(
                        last, width, source, row_step, term_step, panel, here_terms, target, step,
                        1 if begin else 0,
                    )  # fmt: skip
                panel += width * (here_terms + 1) * item
            for row in range(0 if here < width else rows // ROWS * ROWS, rows):
                to = at + row * result_step + column
                for lane in range(here):
                    result[to + lane] = edge[row * width + lane]
            panels += width * (terms + (terms + chunk - 1) // chunk) * item
            column += width

    return run


@functools.cache
def products(kind: str) -> Any:
    """The kernel whose tasks multiply `size` units each: a block of rows with a block of columns.

    Where `panels` is empty, a unit is a whole matrix, and packs the panels of its own.
    """
    matrix, multiply = _pack_matrix(kind), multiply_rows(kind)
    one = lanes(kind)
    item = 8 if kind.endswith("64") else 4

    @kernel(parallel=True)
    def multiply_units(
        task: int, size: int, total: int, block: int, blocks: int, group: int, groups: int, rows: int,
        columns: int, terms: int, chunk: int, items: int, left: int, left_steps: Any, source: int,
        sample: Any, right_steps: Any, panels: Any, result: Any,
    ) -> None:  # fmt: skip
        edge = np.empty(edge_size(block, one), panels.dtype)
        packed = np.empty(items if panels.size == 0 else 0, panels.dtype)
        wide = columns // (VECTORS * one)
        strips = wide + (columns - wide * VECTORS * one + one - 1) // one
        for number in range(task * size, min((task + 1) * size, total)):
            which, place = number // (blocks * groups), number % (blocks * groups)
            row, column = place // groups * block, place % groups * group
            address = panels.ctypes.data + which * items * item
            if panels.size == 0:
                matrix(
                    0, strips, columns, terms, chunk, source, sample, which * right_steps[0], right_steps[1],
                    right_steps[2], packed, 0,
                )  # fmt: skip
                address = packed.ctypes.data
            address += column * (terms + (terms + chunk - 1) // chunk) * item
            multiply(
                min(block, rows - row), min(group, columns - column), terms, chunk,
                left + (which * left_steps[0] + row * left_steps[1]) * item, left_steps[1], left_steps[2],
                address, result, (which * rows + row) * columns + column, columns, edge,
            )  # fmt: skip

    return multiply_units
