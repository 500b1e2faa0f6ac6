"""Values of element types at which implementations differ: extremes, specials, subnormals."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from ...types import ELEMENT_TYPES, SIGNED, Array


def integer_values(name: str) -> Array:
    """All values of a narrow integer type; of a wide one its extremes and numbers between them."""
    declared = ELEMENT_TYPES[name]
    signed = declared.category == SIGNED
    low = -(1 << (declared.width - 1)) if signed else 0
    high = low + (1 << declared.width) - 1
    if declared.width <= 4:
        numbers = list(range(low, high + 1))
    else:
        chosen = {low, low + 1, high, high - 1, 0, 1, 2, 3, 7, 100, declared.width, declared.width - 1}
        chosen |= {high // 3, high // 2 + 1, high // 7, -1, -2, -3, -100, low // 3}
        numbers = sorted(number for number in chosen if low <= number <= high)
    if declared.width == 64:
        return np.array(numbers, declared.dtype)
    return np.array(numbers, np.int64).astype(declared.dtype)


def all_values(name: str) -> Array:
    """Every value of a floating-point type of at most 8 bits."""
    declared = ELEMENT_TYPES[name]
    return np.arange(1 << declared.width).astype(np.uint8).view(declared.dtype)


def float_values(name: str, seed: int = 0) -> Array:
    """Values of a floating-point type: specials, subnormals, extremes, halves, and random ones."""
    declared = ELEMENT_TYPES[name]
    if declared.width <= 8:
        return all_values(name)
    layout: Any = ml_dtypes.finfo(declared.dtype)  # type: ignore[no-untyped-call]
    largest, smallest = float(layout.max), float(layout.smallest_subnormal)
    fixed = [0.0, -0.0, math.inf, -math.inf, math.nan, largest, -largest, smallest, -smallest, 1.0, -1.0]
    fixed += [float(layout.tiny), 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.0, -3.0, 0.25, 10.0, -10.0, 88.0, -88.0]
    random = np.random.default_rng(seed)
    bits = random.integers(0, 1 << 62, 60, dtype=np.int64).astype(f"u{declared.dtype.itemsize}")
    values = np.concatenate([np.array(fixed), random.standard_normal(40) * 3]).astype(declared.dtype)
    return np.concatenate([values, bits.view(declared.dtype)])
