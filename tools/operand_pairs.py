"""Pairs of values of f32 on which tools measure functions of two numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_EDGES = """
    0 1e-45 1e-40 5.9e-39 1.1754944e-38 1e-30 1e-10 2.98e-8 1e-3 0.33333334 0.5 0.70710677 0.9999999 1
    1.0000001 1.4142135 1.5 2 2.5 3 4 7 10 88.5 126 127 128 129 148 149 150 1000001 8388607 8388607.5 8388608
    8388609 16777214 16777215 16777216 16777218 33554434 4294967296 1.0995116e12 1.8446744e19 1.2676506e30
    1.7014118e38 3.4028233e38 3.4028235e38 inf nan
"""
"""Zero, subnormal numbers, both sides of normal ones, of 1 and of overflow, integers of both parities up to
where all are even, fractions, and the numbers at which sides of triangles are scaled."""


def edge_pairs() -> tuple[Array, Array]:
    """All pairs of numbers at which functions have special values, or change their algorithm."""
    magnitudes = np.array(_EDGES.split(), np.float32)
    lhs, rhs = np.meshgrid(*[np.concatenate([magnitudes, -magnitudes])] * 2)
    return lhs.reshape(-1), rhs.reshape(-1)


def random_pairs(generator: np.random.Generator, count: int) -> Iterator[tuple[Array, Array]]:
    """`count` pairs of each kind: of any bits, of normal distribution, and such that powers fill the range of
    f32, with bases of all magnitudes and with those near 1.
    """
    lhs, rhs = (generator.integers(0, 1 << 32, count, np.uint32).view(np.float32) for _ in range(2))
    yield lhs, rhs
    lhs, rhs = (generator.standard_normal(count).astype(np.float32) for _ in range(2))
    yield lhs, rhs
    for spread in (87.0, 1e-3):
        logarithm = generator.uniform(-spread, spread, count)
        exponent = generator.uniform(-100, 100, count) / np.maximum(np.abs(logarithm), 1e-6)
        yield np.exp(logarithm).astype(np.float32), exponent.astype(np.float32)


def integral_pairs(generator: np.random.Generator, count: int) -> tuple[Array, Array]:
    """Pairs of a number of either sign and an integer."""
    lhs = np.exp(generator.uniform(-9, 9, count)) * generator.choice([-1.0, 1.0], count)
    return lhs.astype(np.float32), generator.integers(-40, 41, count).astype(np.float32)
