"""Bounds the error of sums by the partial sums of several orders, which is tighter than by magnitudes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Final

import numpy as np

from ...program.ir import Operation
from ...program.ops.reduction.reduce import Reduce
from ...types import Array
from .ulps import SIGMAS, is_inexact

ORDERS: Final = 6
"""Random orders, besides the given one and the sorted ones."""
MAX_TERMS: Final = 1 << 20
"""Maximum terms of sums that are reordered."""


def summation_error(operation: Operation, operands: Sequence[Array], roundoff: float) -> Array | None:
    """The bound on the difference of two sums in any orders; None for operations other than sums by `reduce`.

    Each partial sum s is rounded by an error with a standard deviation of at most u |s| / sqrt(3).

    Args:
        operation: a reduction whose body adds.
        operands: the terms, and the initial value.
        roundoff: u, of the type in which the sum is accumulated.
    """
    terms = operands[0]
    if operation.name != Reduce.name or terms.size > MAX_TERMS or not terms.size:
        return None
    if terms.dtype.kind == "c" or not is_inexact(terms.dtype):
        return None
    view = Reduce(operation)
    layout = view.layout
    transposed = terms if layout.permutation is None else terms.transpose(layout.permutation)
    rows = np.ascontiguousarray(transposed).reshape(layout.sizes).astype(np.float64)
    initial = np.full((rows.shape[0], 1, rows.shape[2]), float(operands[1]))
    ascending = np.sort(rows, axis=1)
    random = np.random.default_rng(0)
    orders = [rows, rows[:, ::-1], ascending, ascending[:, ::-1]]
    orders += [rows[:, random.permutation(rows.shape[1])] for _ in range(ORDERS)]
    with np.errstate(all="ignore"):
        squares = [
            np.square(np.cumsum(np.concatenate([initial, one], axis=1), axis=1)).sum(axis=1) for one in orders
        ]
        largest = functools.reduce(np.fmax, squares)
        error: Array = SIGMAS * np.sqrt(2 / 3) * roundoff * np.sqrt(largest)
    return error.reshape(layout.result_shape)
