"""Products of stacks of matrices, [batch, row, term] with [batch, term, column], of integers.

The right matrices are copied into panels, of which a task multiplies some with a block of rows. Sums are
exact modulo two to the width.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..launch.scratch import borrow_scratch
from ..launch.threads import division

__all__ = ["kind_of", "prepare"]

Product = Callable[[np.ndarray, np.ndarray], np.ndarray]

_PART = 256
"""Terms that are added up before they are added to the sum."""
_ROW_BLOCK = 192
"""Most rows that are multiplied with one panel after the other: of _PART terms they stay in the cache."""
_COLUMN_BLOCK = 256
"""Most columns of a unit of work, unless a panel has more."""
_UNITS = 16
"""So many units, or more, are made of a product that is worth them."""
_UNIT_TERMS = 1 << 20
"""Least terms of a unit for which a product is divided further."""
_OWN_PANELS = 1 << 22
"""Most terms of matrices that pack the panels of their own, where there are many."""
_PANEL_BYTES = 1 << 25
"""Bytes of panels that are made at a time, unless one matrix has more."""
_ITEMS_A_WORD = {"bytes": 4, "pairs": 2}
_TERM_BYTES = 1 / 16
"""The bytes whose transport takes as long as one multiplication and addition."""


def kind_of(lhs: np.dtype[Any], rhs: np.dtype[Any], result: np.dtype[Any], terms: int) -> str | None:
    """The kind of tiles (`tiles`) that multiplies such items, or None where no kernel does."""
    from . import integer_matmul_tiles

    if any(dtype.kind not in "iu" for dtype in (lhs, rhs, result)):
        return None
    largest = prod(max(-int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)) for dtype in (lhs, rhs))
    fits = result.itemsize <= 4 or (largest * terms < 1 << 31 and result.kind == "i")
    if fits and lhs == rhs == np.int8 and integer_matmul_tiles.supports("bytes"):
        return "bytes"
    short = all(np.can_cast(dtype, np.int16) for dtype in (lhs, rhs))
    if fits and short and integer_matmul_tiles.supports("pairs"):
        return "pairs"
    return "int32" if result.itemsize <= 4 else "int64"


def prepare(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    lhs_dtype: Any,
    rhs_dtype: Any,
    result_dtype: Any,
    *,
    threads: int | None = None,
) -> Product:
    """A function of [batch, row, term] and [batch, term, column] of these shapes that multiplies them.

    Args:
        lhs_shape, rhs_shape: without a size of zero.
        lhs_dtype, rhs_dtype, result_dtype: types of NumPy.
        threads: most threads to use; None: all.

    Raises ValueError where no kernel serves.
    """
    lhs_type, rhs_type, dtype = np.dtype(lhs_dtype), np.dtype(rhs_dtype), np.dtype(result_dtype)
    (batch, rows, terms), columns = lhs_shape, rhs_shape[2]
    kind = kind_of(lhs_type, rhs_type, dtype, terms)
    if kind is None or 0 in (batch, rows, terms, columns):
        raise ValueError(f"no kernel multiplies {lhs_type}{lhs_shape} and {rhs_type}{rhs_shape} as {dtype}")
    from . import integer_matmul_loops

    strips, padded = integer_matmul_loops.panel_widths(kind, columns)
    per, words, items, matrices, grid = _layout(kind, (batch, rows, terms, columns), padded)
    computed = np.dtype(kind if per == 1 else np.int32)
    multiply, pack = integer_matmul_loops.products(kind), integer_matmul_loops.pack(kind)

    def run(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        left = _left(lhs, kind, computed, per, words)
        right = rhs if per > 1 else rhs.astype(computed, copy=False)
        result = np.empty((batch, rows, columns), computed)
        left_steps, right_steps, sample = _steps(left), _steps(right), np.empty(0, right.dtype)
        with borrow_scratch((matrices * items, computed)) as (panels,):
            for first in range(0, batch, matrices or batch):
                count = min(matrices or batch, batch - first)
                source = right[first:].ctypes.data
                if matrices:
                    pack(
                        *division(count * strips, 4 * terms * padded / strips), count * strips, strips, items,
                        columns, terms, _PART * per, source, sample, *map(int, right_steps), panels,
                        threads=threads,
                    )  # fmt: skip
                units = count * grid.row_blocks * grid.column_blocks
                multiply(
                    *division(units, grid.rows * grid.columns * words * _TERM_BYTES), units, *grid, rows,
                    columns, words, _PART, items, left[first:].ctypes.data, left_steps, source, sample,
                    right_steps, panels, result[first:].reshape(-1), threads=threads,
                )  # fmt: skip
        return result.astype(dtype, copy=False)

    return run


class _Layout(NamedTuple):
    """How operands are laid out for the loops.

    Attributes:
        per: how many elements a word has.
        words: how many words a row of lhs has.
        items: how many items the panels of one matrix of rhs take.
        matrices: how many matrices of rhs lie in panels at a time; 0: none do, each product packs its own.
        grid: how a matrix of results is divided.
    """

    per: int
    words: int
    items: int
    matrices: int
    grid: "_Grid"


def _layout(kind: str, sizes: tuple[int, int, int, int], padded: int) -> _Layout:
    """The layout for numbers of matrices, rows, terms and columns; `padded`: columns in whole strips."""
    batch, rows, terms, columns = sizes
    per = _ITEMS_A_WORD.get(kind, 1)
    words = -(-terms // per)
    items = padded * (words + -(-words // _PART))
    if per == 1 and batch >= 8 and rows * terms * columns <= _OWN_PANELS:
        return _Layout(per, words, items, 0, _Grid(rows, 1, columns, 1))
    item_bytes = np.dtype(kind if per == 1 else np.int32).itemsize
    matrices = max(1, min(batch, _PANEL_BYTES // (items * item_bytes)))
    return _Layout(per, words, items, matrices, _grid(kind, batch, rows, words, columns))


class _Grid(NamedTuple):
    """How a matrix of results is divided: blocks of `rows` rows, and of `columns` columns."""

    rows: int
    row_blocks: int
    columns: int
    column_blocks: int


def _grid(kind: str, batch: int, rows: int, terms: int, columns: int) -> _Grid:
    """Blocks of the same size, about, that are whole tiles."""
    from . import integer_matmul_tiles

    width = integer_matmul_tiles.VECTORS * integer_matmul_tiles.lanes(kind)
    down, across = -(-rows // _ROW_BLOCK), max(1, columns // max(_COLUMN_BLOCK, width))
    wanted = min(_UNITS, batch * rows * terms * columns // _UNIT_TERMS)
    while batch * down * across < wanted:
        if columns // across >= max(rows // down, 2 * width):
            across *= 2
        elif rows // down >= 2 * integer_matmul_tiles.ROWS:
            down *= 2
        else:
            break
    block, group = _rounded(rows, down, integer_matmul_tiles.ROWS), _rounded(columns, across, width)
    return _Grid(block, -(-rows // block), group, -(-columns // group))


def _rounded(total: int, parts: int, multiple: int) -> int:
    """The size of a part, as a multiple."""
    return -(-total // (parts * multiple)) * multiple


def _steps(array: np.ndarray) -> np.ndarray:
    """The strides in items."""
    return np.array(array.strides, np.int64) // array.itemsize


def _left(lhs: np.ndarray, kind: str, computed: np.dtype[Any], per: int, words: int) -> np.ndarray:
    """The left operand in the items that tiles of this kind take."""
    if per == 1:
        return lhs.astype(computed, copy=False)
    part = np.dtype(np.uint8 if kind == "bytes" else np.int16)
    if lhs.shape[2] == words * per:
        filled = np.empty(lhs.shape, part)
    else:
        filled = np.zeros((*lhs.shape[:2], words * per), part)
    target = filled[:, :, : lhs.shape[2]]
    if kind == "bytes":
        np.bitwise_xor(lhs.view(np.uint8), np.uint8(128), out=target)
    else:
        target[...] = lhs
    return filled.view(np.int32)
