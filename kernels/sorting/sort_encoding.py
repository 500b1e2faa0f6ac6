"""Encodes the compared values as unsigned integers of the same order."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..named_tuples import NamedTuple

UNSIGNED, SIGNED, TOTAL, CANONICAL = range(4)
_INFINITIES = {"bfloat16": 0x7F80, "float16": 0x7C00, "float32": 0x7F800000, "float64": 0x7FF0000000000000}

Comparison = Literal["FLOAT", "TOTALORDER", "CANONICAL"]


class Key(NamedTuple):
    """A value that a comparator compares: the number of its operand, and how."""

    operand: int
    descending: bool = False
    comparison: Comparison = "TOTALORDER"


class Encoding(NamedTuple):
    """The encoding of the bits of an element as an unsigned integer of the same order.

    `mode` says how: UNSIGNED, SIGNED, TOTAL or CANONICAL. `ones` has all bits of the element set, `sign` the
    highest bit, `infinity` the bits of +inf. The ascending integer is xored with `flip`; `nan` is the code of
    all NaNs.
    """

    mode: int
    ones: int
    sign: int
    infinity: int
    flip: int
    nan: int

    @property
    def as_array(self) -> np.ndarray:
        """The encoding as a kernel argument."""
        return np.array(self, np.uint64)


def encoding_of(dtype: Any, key: Key) -> Encoding:
    """The encoding of a key of that element type."""
    dtype = np.dtype(dtype)
    ones = (1 << dtype.itemsize * 8) - 1
    flip = ones if key.descending else 0
    infinity = _INFINITIES.get(dtype.name, 0)
    mode = SIGNED if dtype.kind == "i" else UNSIGNED
    if infinity:
        mode = TOTAL if key.comparison == "TOTALORDER" else CANONICAL
    nan = 0 if key.descending and key.comparison == "CANONICAL" else ones
    return Encoding(mode, ones, ones ^ ones >> 1, infinity, flip, nan)


def bits_dtype(dtype: np.dtype) -> np.dtype:
    """The unsigned integers as which kernels read elements of up to 8 bytes."""
    return np.dtype(f"uint{min(8, dtype.itemsize) * 8}")
