"""The custom call ``tridiagonal_solve_perturbed_ffi``: tridiagonal systems that may be singular.

JAX 0.10 emits it on a CPU for `lax.linalg.tridiagonal_solve(..., perturb_singular=True)`, on which inverse
iteration for eigenvectors rests. Gaussian elimination with partial pivoting; a pivot so small that dividing
by it would overflow is perturbed by a multiple of the rounding of the largest element of the factor.

Source: LAPACK's routines LAGTF and LAGTS (job -1), and where these leave it open, JAX.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ....types import Array, TensorType
from ..framework import rules
from .view import CustomCallView

TARGET: Final = "tridiagonal_solve_perturbed_ffi"
_ELEMENTS: Final = ("f32", "f64", "complex<f32>", "complex<f64>")


def verify(view: CustomCallView) -> None:
    """Check operands (diagonals dl, d, du [..., n], right-hand sides b [..., n, k]) and result [..., n, k].

    Raises:
        VerifyError: their types do not fit.
    """
    if len(view.inputs) != 4 or len(view.results) != 1:
        raise view.verify_error(f"@{TARGET} must have four inputs and one result", "I1")
    types = {**dict(zip(("dl", "d", "du", "b"), view.inputs, strict=True)), "result": view.results[0]}
    for name, type in types.items():
        min_size = 2 if name in ("b", "result") else 1
        if not isinstance(type, TensorType) or type.rank < min_size:
            reason = f"{name} is {type}, but must be a tensor of rank {min_size} or more"
            raise view.verify_error(f"@{TARGET}: {reason}", "I1")
    b = types["b"]
    if str(b.element_type) not in _ELEMENTS:
        reason = f"b has elements {b.element_type}, but must have one of {', '.join(_ELEMENTS)}"
        raise view.verify_error(f"@{TARGET}: {reason}", "I1")
    violation = rules.first(
        *(rules.same_element_type(name, type, "b", b) for name, type in types.items()),
        *(rules.same_shape(name, types[name], "[..., n] of b", b.shape[:-1]) for name in ("dl", "d", "du")),
        rules.same_shape("result", types["result"], "shape(b)", b.shape),
    )
    if violation is not None:
        raise view.verify_error(f"@{TARGET}: {violation}", "I1")


def run(view: CustomCallView, dl: Array, d: Array, du: Array, b: Array) -> tuple[Array, ...]:
    """Solve all systems of a batch; layouts are a matter of how JAX's kernel is called."""
    return (solve(dl, d, du, b),)


def solve(dl: Array, d: Array, du: Array, b: Array) -> Array:
    """The solutions of tridiagonal systems, pivots perturbed where they are too small.

    Args:
        dl, d, du: the diagonals, [..., n]; the first element of dl and the last one of du are not used.
        b: the right-hand sides, [..., n, k].

    Returns:
        An array like `b`.
    """
    n = b.shape[-2]
    if b.size == 0:
        return np.zeros_like(b)
    batch = d.shape[:-1]
    # Rows first, so that each step works on contiguous arrays of all systems.
    lower, diagonal, upper = (np.moveaxis(array, -1, 0).reshape(n, -1) for array in (dl, d, du))
    sides = np.moveaxis(b, -2, 0).reshape(n, -1, b.shape[-1])
    with np.errstate(all="ignore"):
        if n == 1:
            eps = np.finfo(b.dtype).eps
            pivot, row = _perturbed(eps * np.abs(diagonal[0]), diagonal[0], sides[0])
            solution = (row / pivot[:, None])[None]
        else:
            factor, reduced, largest = _eliminated(lower, diagonal, upper, sides)
            solution = _substituted(factor, reduced, np.finfo(b.dtype).eps * largest)
    return np.ascontiguousarray(np.moveaxis(solution.reshape(n, *batch, b.shape[-1]), 0, -2))


def _eliminated(lower: Array, diagonal: Array, upper: Array, sides: Array) -> tuple[Array, Array, Array]:
    """The upper factor, right-hand sides to match, and the largest magnitude in the factor.

    Args:
        lower, diagonal, upper: [n, systems].
        sides: [n, systems, k].

    Returns:
        [n, 3, systems] (diagonal, and two diagonals above), [n, systems, k], [systems].
    """
    n, zero = len(diagonal), diagonal.dtype.type(0)
    factor = np.zeros((n, 3, diagonal.shape[1]), diagonal.dtype)
    reduced = np.empty_like(sides)
    factor[0, 0], factor[0, 1], reduced[0] = diagonal[0], upper[0], sides[0]
    largest = np.maximum(np.abs(factor[0, 0]), np.abs(factor[0, 1]))
    scale = np.abs(factor[0, 0]) + np.abs(factor[0, 1])
    for k in range(n - 1):
        here, is_last = factor[k].copy(), k == n - 2
        below, right = lower[k + 1], upper[k + 1]
        scale_below = np.abs(below) + np.abs(diagonal[k + 1]) + (0 if is_last else np.abs(right))
        relative = np.where(here[0] == 0, 0, np.abs(here[0]) / scale)
        swaps = (below != 0) & ~(np.abs(below) / scale_below <= relative)
        # A row without an element to eliminate has multiplier zero, even if the pivot is zero.
        keeps = np.where(below == 0, zero, below / here[0])
        exchanges = here[0] / below
        right_above = zero if is_last else right
        factor[k, 0] = np.where(swaps, below, here[0])
        factor[k, 1] = np.where(swaps, diagonal[k + 1], here[1])
        factor[k, 2] = np.where(swaps, right_above, zero)
        factor[k + 1, 0] = np.where(
            swaps, here[1] - exchanges * diagonal[k + 1], diagonal[k + 1] - keeps * here[1]
        )
        factor[k + 1, 0] = np.where(below == 0, diagonal[k + 1], factor[k + 1, 0])
        factor[k + 1, 1] = np.where(swaps, -exchanges * right_above, right)
        row, swaps_sides = reduced[k].copy(), swaps[:, None]
        reduced[k] = np.where(swaps_sides, sides[k + 1], row)
        eliminated = np.where((below == 0)[:, None], sides[k + 1], sides[k + 1] - keeps[:, None] * row)
        reduced[k + 1] = np.where(swaps_sides, row - exchanges[:, None] * sides[k + 1], eliminated)
        scale = np.where(swaps, np.abs(factor[k + 1, 0]) + np.abs(factor[k + 1, 1]), scale_below)
        if not is_last:
            largest = np.maximum(largest, np.abs(factor[k]).max(axis=0))
    return factor, reduced, np.maximum(largest, np.abs(factor[n - 1, 0]))


def _substituted(factor: Array, reduced: Array, perturbation: Array) -> Array:
    """Solve the upper triangular systems from the last row on."""
    solution = np.empty_like(reduced)
    n = len(factor)
    one = factor.dtype.type(1)
    for k in range(n - 1, -1, -1):
        row = reduced[k].copy()
        for above in range(1, min(3, n - k)):
            row -= factor[k, above][:, None] * solution[k + above]
        pivot, row = _perturbed(perturbation, factor[k, 0], row)
        solution[k] = row * (one / pivot)[:, None]
    return solution


def _perturbed(perturbation: Array, pivots: Array, rows: Array) -> tuple[Array, Array]:
    """Pivots and rows of right-hand sides such that neither quotients nor reciprocals overflow.

    Args:
        perturbation: the least change of a pivot, [systems].
        pivots: [systems].
        rows: [systems, k].
    """
    info: Any = np.finfo(pivots.dtype)
    min_change = max(info.tiny, (1 / info.max) * (1 + info.eps))
    max_inverse = 1 / info.dtype.type(min_change)
    min_change = info.dtype.type(min_change)
    change = np.copysign(np.maximum(np.abs(perturbation), min_change), pivots.real)
    largest = np.abs(rows).max(axis=-1, initial=0)
    pivots, rows = pivots.copy(), rows.copy()
    waiting = np.abs(pivots) < 1
    while waiting.any():
        size = np.abs(pivots)
        is_tiny = size < min_change
        overflows = (size == 0) | (largest * min_change > size)
        shifted = waiting & np.where(is_tiny, overflows, largest > size * max_inverse)
        scaled = waiting & is_tiny & ~shifted
        pivots = np.where(shifted, pivots + change, np.where(scaled, pivots * max_inverse, pivots))
        rows = np.where(scaled[:, None], rows * max_inverse, rows)
        change = np.where(shifted, change * 2, change)
        waiting = shifted & (np.abs(pivots) < 1)
    return pivots, rows
