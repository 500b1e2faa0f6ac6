"""Integer matrix multiplication of stacks of matrices, [batch, row, k] by [batch, k, column].

The right matrices are packed into panels; a task multiplies a block of rows by some panels. Sums wrap modulo
two to the width of the result.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..launch.scratch import borrow_scratch
from ..launch.threads import division

__all__ = ["kind_of", "prepare"]

Product = Callable[[np.ndarray, np.ndarray], np.ndarray]

_K_BLOCK = 256
"""Size of a block of the contracted dimension."""
_ROW_BLOCK = 192
"""Maximum rows of a block: with _K_BLOCK columns of lhs they stay in the cache while panels change."""
_COLUMN_BLOCK = 256
"""Maximum columns of a work item, unless a panel has more."""
_MIN_WORK_ITEMS = 16
"""Minimum number of work items of a product that is large enough for them."""
_ITEM_PRODUCTS = 1 << 20
"""Multiply-adds per work item from which on a product is divided further."""
_MAX_TASK_PACKED = 1 << 22
"""Maximum multiply-adds of a matrix, one of many, whose task packs the panels itself."""
_PANEL_BYTES = 1 << 25
"""Maximum bytes of panels that are packed at a time, unless one matrix has more."""
_ELEMENTS_PER_WORD = {"bytes": 4, "pairs": 2}
_PRODUCT_BYTES = 1 / 16
"""Bytes whose transfer takes as long as one multiply-add."""


def kind_of(lhs: np.dtype[Any], rhs: np.dtype[Any], result: np.dtype[Any], k: int) -> str | None:
    """The kind of tiles (`integer_matmul_tiles`) for these element types; None if no kernel supports them."""
    from . import integer_matmul_tiles

    if any(dtype.kind not in "iu" for dtype in (lhs, rhs, result)):
        return None
    largest = prod(max(-int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)) for dtype in (lhs, rhs))
    fits = result.itemsize <= 4 or (largest * k < 1 << 31 and result.kind == "i")
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
    """Make a function that multiplies [batch, row, k] by [batch, k, column] arrays of these shapes.

    Args:
        lhs_shape, rhs_shape: shapes without a size of zero.
        lhs_dtype, rhs_dtype, result_dtype: NumPy element types.
        threads: maximum number of threads; None: all.

    Raises ValueError if no kernel supports the operands.
    """
    lhs_type, rhs_type, dtype = np.dtype(lhs_dtype), np.dtype(rhs_dtype), np.dtype(result_dtype)
    (batch, rows, k), columns = lhs_shape, rhs_shape[2]
    kind = kind_of(lhs_type, rhs_type, dtype, k)
    if kind is None or 0 in (batch, rows, k, columns):
        raise ValueError(f"no kernel multiplies {lhs_type}{lhs_shape} and {rhs_type}{rhs_shape} as {dtype}")
    from . import integer_matmul_loops

    strips, padded = integer_matmul_loops.panel_widths(kind, columns)
    word_elements, words, items, matrices, grid = _layout(kind, (batch, rows, k, columns), padded)
    computed = np.dtype(kind if word_elements == 1 else np.int32)
    multiply, pack = integer_matmul_loops.products(kind), integer_matmul_loops.pack(kind)

    def run(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        left = _left(lhs, kind, computed, word_elements, words)
        right = rhs if word_elements > 1 else rhs.astype(computed, copy=False)
        result = np.empty((batch, rows, columns), computed)
        left_strides, right_strides, sample = _strides(left), _strides(right), np.empty(0, right.dtype)
        with borrow_scratch((matrices * items, computed)) as (panels,):
            for first in range(0, batch, matrices or batch):
                count = min(matrices or batch, batch - first)
                source = right[first:].ctypes.data
                if matrices:
                    pack(
                        *division(count * strips, 4 * k * padded / strips), count * strips, strips, items,
                        columns, k, _K_BLOCK * word_elements, source, sample, *map(int, right_strides),
                        panels, threads=threads,
                    )  # fmt: skip
                work_items = count * grid.row_blocks * grid.column_blocks
                multiply(
                    *division(work_items, grid.rows * grid.columns * words * _PRODUCT_BYTES), work_items,
                    *grid, rows, columns, words, _K_BLOCK, items, left[first:].ctypes.data, left_strides,
                    source, sample, right_strides, panels, result[first:].reshape(-1), threads=threads,
                )  # fmt: skip
        return result.astype(dtype, copy=False)

    return run


class _Layout(NamedTuple):
    """The layout of packed operands.

    Attributes:
        word_elements: elements per word.
        words: words per row of lhs.
        items: words of all panels of one matrix of rhs.
        matrices: matrices of rhs that are packed at a time; 0: each task packs its own.
        grid: blocks of a result matrix.
    """

    word_elements: int
    words: int
    items: int
    matrices: int
    grid: "_Grid"


def _layout(kind: str, sizes: tuple[int, int, int, int], padded: int) -> _Layout:
    """The layout for sizes (batch, rows, k, columns); `padded`: columns rounded up to whole strips."""
    batch, rows, k, columns = sizes
    word_elements = _ELEMENTS_PER_WORD.get(kind, 1)
    words = -(-k // word_elements)
    items = padded * (words + -(-words // _K_BLOCK))
    if word_elements == 1 and batch >= 8 and rows * k * columns <= _MAX_TASK_PACKED:
        return _Layout(word_elements, words, items, 0, _Grid(rows, 1, columns, 1))
    item_bytes = np.dtype(kind if word_elements == 1 else np.int32).itemsize
    matrices = max(1, min(batch, _PANEL_BYTES // (items * item_bytes)))
    return _Layout(word_elements, words, items, matrices, _grid(kind, batch, rows, words, columns))


class _Grid(NamedTuple):
    """The blocks of a result matrix: `rows` rows by `columns` columns each."""

    rows: int
    row_blocks: int
    columns: int
    column_blocks: int


def _grid(kind: str, batch: int, rows: int, words: int, columns: int) -> _Grid:
    """Blocks of about the same size that consist of whole tiles."""
    from . import integer_matmul_tiles

    width = integer_matmul_tiles.VECTORS * integer_matmul_tiles.lanes(kind)
    down, across = -(-rows // _ROW_BLOCK), max(1, columns // max(_COLUMN_BLOCK, width))
    wanted = min(_MIN_WORK_ITEMS, batch * rows * words * columns // _ITEM_PRODUCTS)
    while batch * down * across < wanted:
        if columns // across >= max(rows // down, 2 * width):
            across *= 2
        elif rows // down >= 2 * integer_matmul_tiles.ROWS:
            down *= 2
        else:
            break
    block, group = _rounded(rows, down, integer_matmul_tiles.ROWS), _rounded(columns, across, width)
    return _Grid(block, -(-rows // block), group, -(-columns // group))


def _rounded(total: int, count: int, multiple: int) -> int:
    """The size of one of `count` equal blocks, rounded up to a multiple."""
    return -(-total // (count * multiple)) * multiple


def _strides(array: np.ndarray) -> np.ndarray:
    """The strides in elements."""
    return np.array(array.strides, np.int64) // array.itemsize


def _left(lhs: np.ndarray, kind: str, computed: np.dtype[Any], word_elements: int, words: int) -> np.ndarray:
    """The left operand, packed into the words that tiles of this kind load."""
    if word_elements == 1:
        return lhs.astype(computed, copy=False)
    element_type = np.dtype(np.uint8 if kind == "bytes" else np.int16)
    if lhs.shape[2] == words * word_elements:
        padded = np.empty(lhs.shape, element_type)
    else:
        padded = np.zeros((*lhs.shape[:2], words * word_elements), element_type)
    target = padded[:, :, : lhs.shape[2]]
    if kind == "bytes":
        np.bitwise_xor(lhs.view(np.uint8), np.uint8(128), out=target)
    else:
        target[...] = lhs
    return padded.view(np.int32)
