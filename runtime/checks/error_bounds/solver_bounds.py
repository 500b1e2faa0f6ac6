"""Error bounds of factorizations, solvers and custom calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...program.ops.framework.declaration import Op
from ...program.ops.linalg.linalg import TriangularSolve
from ...types import Array
from .reduction_bounds import Bounds
from .ulps import is_inexact, ulp, unit_roundoff, wide_dtype

SOLVER_FACTOR: Final = 16.0
"""The maximum error of LAPACK-like routines, as a multiple of the change that rounding the operands
causes."""


def solver_bounds(view: Op, operands: Sequence[Array], results: Sequence[Array]) -> Bounds:
    """The change of results under rounding errors of the operands, plus a backward error that grows with
    n."""
    random = np.random.default_rng(0)
    perturbed: list[Sequence[Any]] = []
    for _ in range(4):
        changed = [_perturbed(operand, random) for operand in operands]
        returned = view.reference(*changed)
        perturbed.append(returned if isinstance(returned, tuple) else (returned,))
    bounds: Bounds = []
    for index, result in enumerate(results):
        if not is_inexact(result.dtype):
            bounds.append(None)
            continue
        wide = result.astype(wide_dtype(result.dtype))
        with np.errstate(all="ignore"):
            errors = [np.abs(np.asarray(one[index]).astype(wide.dtype) - wide) for one in perturbed]
        finite = np.maximum.reduce([np.where(np.isfinite(one), one, 0.0) for one in errors])
        scale = float(np.max(np.abs(wide), initial=0.0, where=np.isfinite(wide)))
        count = max((max(operand.shape, default=1) for operand in operands), default=1)
        largest = SOLVER_FACTOR * float(finite.max(initial=0.0))
        bounds.append(
            np.full(result.shape, largest + SOLVER_FACTOR * count * unit_roundoff(result.dtype) * scale)
        )
    return bounds


def _perturbed(operand: Array, random: np.random.Generator) -> Array:
    if not is_inexact(operand.dtype):
        return operand
    factor = 1 + unit_roundoff(operand.dtype) * random.uniform(-2, 2, operand.shape)
    with np.errstate(all="ignore"):
        return (operand.astype(wide_dtype(operand.dtype)) * factor).astype(operand.dtype)


def triangular_bounds(view: TriangularSolve, operands: Sequence[Array], results: Sequence[Array]) -> Bounds:
    """Substitution: 2 (n + 1) u |inv(A)| |A| |x|, element by element.

    Source: N. J. Higham, "Accuracy and Stability of Numerical Algorithms", theorem 8.5.
    """
    result = results[0]
    wide = [np.asarray(one, wide_dtype(one.dtype)) for one in (*operands, result)]
    matrix, solution = wide[0], np.abs(wide[2])
    matrix = np.tril(matrix) if view.lower else np.triu(matrix)
    size = matrix.shape[-1]
    if view.unit_diagonal:
        matrix = matrix * (1 - np.eye(size)) + np.eye(size)
    if view.transpose_a not in ("NO_TRANSPOSE", "TRANSPOSE_INVALID"):
        matrix = np.swapaxes(matrix, -1, -2)
    if not np.isfinite(matrix).all() or not np.isfinite(solution).all() or not size:
        return [np.full(result.shape, np.inf)]
    try:
        inverse = np.abs(np.linalg.inv(matrix))
    except np.linalg.LinAlgError:
        return [np.full(result.shape, np.inf)]
    magnitudes = np.abs(matrix)
    with np.errstate(all="ignore"):
        error = inverse @ (magnitudes @ solution) if view.left_side else solution @ magnitudes @ inverse
    return [ulp(result) + 4 * (size + 1) * unit_roundoff(result.dtype) * error]
