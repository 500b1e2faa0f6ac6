"""Products of stacks of matrices, [batch, row, term] with [batch, term, column], where BLAS is not at its
best: stacks of small matrices of floats, and integers.

The order. Each element's terms are added from the first to the last, of floats by fused multiply-add: this is
what OpenBLAS does where a matrix has few terms. Whether it does so for some shapes on this processor can be
found out by comparing. Sums of integers are exact modulo two to the width.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from .threads import division
from .workspace import borrowed

__all__ = ["kind_of", "prepare"]

Product = Callable[[np.ndarray, np.ndarray], np.ndarray]

_ROW_BLOCK = 96
"""Rows that are multiplied with one panel after the other; a multiple of a tile's rows."""
_ITEMS_A_WORD = {"bytes": 4, "pairs": 2}
_TERM_BYTES = 1 / 16
"""The bytes whose transport takes as long as one multiplication and addition."""


def kind_of(lhs: np.dtype[Any], rhs: np.dtype[Any], result: np.dtype[Any], terms: int) -> str | None:
    """The kind of tiles (`tiles`) that multiplies such items, or None where no kernel does."""
    from . import tiles

    if result.kind == "f":
        kind = f"float{8 * result.itemsize}" if result.itemsize in (4, 8) and lhs == rhs == result else None
    elif any(dtype.kind not in "iu" for dtype in (lhs, rhs, result)):
        return None
    else:
        kind = _integer_kind(lhs, rhs, result, terms)
    return kind if kind is not None and tiles.supports(kind) else None


def _integer_kind(lhs: np.dtype[Any], rhs: np.dtype[Any], result: np.dtype[Any], terms: int) -> str:
    from . import tiles

    largest = prod(max(-int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)) for dtype in (lhs, rhs))
    fits = result.itemsize <= 4 or (largest * terms < 1 << 31 and result.kind == "i")
    if fits and lhs == rhs == np.int8 and tiles.supports("bytes"):
        return "bytes"
    short = all(np.can_cast(dtype, np.int16) for dtype in (lhs, rhs))
    if fits and short and tiles.supports("pairs"):
        return "pairs"
    return "int32" if result.itemsize <= 4 else "int64"


def prepare(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    lhs_dtype: Any,
    rhs_dtype: Any,
    result_dtype: Any,
    *,
    zero: float = 0.0,
    threads: int | None = None,
) -> Product:
    """A function of [batch, row, term] and [batch, term, column] of these shapes that multiplies them.

    Args:
        lhs_shape, rhs_shape: without a size of zero.
        lhs_dtype, rhs_dtype, result_dtype: types of NumPy.
        zero: 0.0 or -0.0, which is added to each sum of floats.
        threads: most threads to use; None: all.

    Raises ValueError where no kernel serves.
    """
    lhs_type, rhs_type, dtype = np.dtype(lhs_dtype), np.dtype(rhs_dtype), np.dtype(result_dtype)
    (batch, rows, terms), columns = lhs_shape, rhs_shape[2]
    kind = kind_of(lhs_type, rhs_type, dtype, terms)
    if kind is None or 0 in (batch, rows, terms, columns):
        raise ValueError(f"no kernel multiplies {lhs_type}{lhs_shape} and {rhs_type}{rhs_shape} as {dtype}")
    from . import product_loops

    strips, padded = product_loops.panel_widths(kind, columns)
    per = _ITEMS_A_WORD.get(kind, 1)
    words = -(-terms // per)
    items = padded * (words + 1)
    computed = np.dtype(kind if per == 1 else np.int32)
    is_fused = per == 1 and batch >= 8
    block = rows if is_fused else min(rows, _ROW_BLOCK)
    blocks = -(-rows // block)
    tasks, size = division(batch * blocks, block * columns * words * _TERM_BYTES)
    pack_tasks, pack_size = division(batch * strips, 4 * terms * padded / strips)
    multiply, pack = product_loops.products(kind), product_loops.pack(kind)

    def run(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        left = _left(lhs, kind, computed, per, words)
        right = rhs if per > 1 else rhs.astype(computed, copy=False)
        result = np.empty((batch, rows, columns), computed)
        right_steps, sample = _steps(right), np.empty(0, right.dtype)
        source = right.ctypes.data
        with borrowed((0 if is_fused else batch * items, computed)) as (panels,):
            if not is_fused:
                pack(
                    pack_tasks, pack_size, batch * strips, strips, items, columns, terms, terms, source,
                    sample, *map(int, right_steps), panels, threads=threads,
                )  # fmt: skip
            multiply(
                tasks, size, batch * blocks, blocks, block, rows, columns, words, items, left.ctypes.data,
                _steps(left), source, sample, right_steps, panels, result.reshape(-1), zero, threads=threads,
            )  # fmt: skip
        return result.astype(dtype, copy=False)

    return run


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
