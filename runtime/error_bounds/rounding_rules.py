"""How far the result of one operation may be off in a correct implementation, for operands that are exact.

The specification leaves open how accurate functions are, and in which order sums are added. A rule gives for
each element of a result a bound on the distance of two correct implementations:

- data movement, comparisons, integers, booleans and rounding to integers: 0;
- addition, subtraction, multiplication, division, square root and conversion are rounded correctly (IEEE 754,
  section 4.3): 0;
- other functions: some units in the last place;
- sums of n products or numbers: 2 `LAMBDA` sqrt(n) u times the sum of magnitudes. Theorem 2.4 of N. J. Higham
  and T. Mary, "A New Approach to Probabilistic Rounding Error Analysis", SIAM J. Sci. Comput. 41(5), 2019,
  gives a probability of 0.73 for the factor of 2 where all rounding errors are as large as they can be;
- factorizations, solvers and custom calls: what their results move by where operands move by rounding errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..ir import Operation, Region
from ..ops.framework.declaration import Op
from ..ops.reduction.bodies import monoid
from ..types import COMPLEX, FLOAT
from .function_accuracy import ULPS, function_error
from .magnitudes import magnitude_sums
from .operation_kinds import base_name, category, is_correctly_rounded, is_exact, is_modulus
from .ulps import Array, component_dtype, is_inexact, layout_of, ulp, unit_roundoff, wide_dtype

Bounds = list[Array | None]
"""For each result a bound for each element as f64; None: all are exact."""
Rule = Callable[[Sequence[Array], Sequence[Array]], Bounds]
"""Takes the operands and the results."""

LAMBDA: Final = 2.0
SOLVER_FACTOR: Final = 16.0
"""How many times the error of LAPACK-like routines may exceed what rounding the operands causes."""

_SUMS: Final = frozenset(
    {"dot_general", "dot", "einsum", "unary_einsum", "convolution", "dynamic_conv", "fft"}
)
_WITH_BODIES: Final = frozenset({"reduce", "reduce_window", "scatter", "select_and_scatter", "map", "scan"})


def rounding_rule(view: Op) -> Rule | None:
    """The rule of an operation; None where its results are exact."""
    operation = view.operation
    name = base_name(operation)
    if is_exact(operation) or not any(category(one) & (FLOAT | COMPLEX) for one in operation.results):
        return None
    if is_correctly_rounded(operation):
        return _double_rounding if name == "convert" else None
    if operation.regions and name in _WITH_BODIES and all(map(_is_exact_body, operation.regions)):
        return None
    if name in _SUMS or (name in _WITH_BODIES and _adds(operation)):
        return lambda operands, results: _sum_bounds(operation, operands, results)
    if _is_function(operation):
        return lambda operands, results: [
            function_error(operation.name, operands, one) if is_inexact(one.dtype) else None
            for one in results
        ]
    if name in _WITH_BODIES:
        return lambda operands, results: [_body_bound(operands, result) for result in results]
    return lambda operands, results: _solver_bounds(view, operands, results)


def _is_function(operation: Operation) -> bool:
    """Whether it is an elementwise function of real or complex numbers."""
    name = base_name(operation)
    is_special = operation.name.startswith("chlo.") and not operation.regions and name != "ragged_dot"
    rounds = name in ("multiply", "divide", "sqrt") or is_modulus(operation)
    return operation.name in ULPS or rounds or is_special


def _double_rounding(operands: Sequence[Array], results: Sequence[Array]) -> Bounds:
    """A conversion from f64 to a type below f32 may pass f32, which rounds twice."""
    operand, result = operands[0], results[0]
    narrow = is_inexact(result.dtype) and component_dtype(result.dtype).itemsize < 4
    wide = component_dtype(operand.dtype).itemsize == 8
    return [ulp(result) if narrow and wide else None]


def _is_exact_body(region: Region) -> bool:
    """Whether a body computes nothing that is rounded."""
    return all(
        is_exact(inner)
        or inner.name == "stablehlo.return"
        or not any(category(result) & (FLOAT | COMPLEX) for result in inner.results)
        for inner in region.walk()
    )


def _adds(operation: Operation) -> bool:
    """Whether bodies add or multiply two numbers, which is what magnitudes can be summed for."""
    return monoid(operation.regions[-1]) in ("add", "multiply")


def _sum_bounds(operation: Operation, operands: Sequence[Array], results: Sequence[Array]) -> Bounds:
    """Sums in any order: a multiple of the sum of magnitudes, which is computed in f64."""
    sums = magnitude_sums(operation, operands, results)
    bounds: Bounds = []
    for result, magnitudes in zip(results, sums, strict=True):
        if magnitudes is None:
            bounds.append(None)
            continue
        count = max(max((operand.size for operand in operands), default=1) / max(result.size, 1), 1.0) + 1
        if base_name(operation) in ("scatter", "select_and_scatter", "reduce_window"):
            count = float(max((operand.size for operand in operands), default=1)) + 1
        if base_name(operation) in _SUMS:
            count = _contracted_size(operation, operands, results)
        roundoff = max(_accumulator_roundoff(operation, result.dtype), float(np.finfo(np.float64).eps) / 2)
        with np.errstate(all="ignore"):
            bound = ulp(result) + 2 * LAMBDA * np.sqrt(count) * roundoff * magnitudes
        largest = float(layout_of(result.dtype).max)
        bounds.append(np.where(magnitudes < largest / 4, bound, np.inf))
    return bounds


def _contracted_size(operation: Operation, operands: Sequence[Array], results: Sequence[Array]) -> float:
    """How many products are added in an element of a result: for a product of sizes m k and k n that is k."""
    if base_name(operation) == "fft":
        return float(max(operands[0].size, results[0].size))
    sizes = float(operands[0].size) * float(operands[-1].size) / max(float(results[0].size), 1.0)
    return (
        max(np.sqrt(sizes), 1.0) + 1 if base_name(operation) != "convolution" else float(operands[1].size) + 1
    )


def _accumulator_roundoff(operation: Operation, dtype: np.dtype[Any]) -> float:
    """Products accumulate in f32 or more; reductions in the type of their body."""
    from .wide_types import algorithm_epsilon

    if base_name(operation) in _SUMS:
        return max(min(unit_roundoff(dtype), 2.0**-24), algorithm_epsilon(operation) / 2)
    return unit_roundoff(dtype)


def _body_bound(operands: Sequence[Array], result: Array) -> Array | None:
    """Bodies that are no sum: the rounding errors of as many steps as there are elements."""
    if not is_inexact(result.dtype):
        return None
    count = max((operand.size for operand in operands), default=1) / max(result.size, 1) + 1
    largest = [
        np.abs(one.astype(wide_dtype(one.dtype))) for one in (*operands, result) if is_inexact(one.dtype)
    ]
    scale = max((float(np.max(one, initial=0.0, where=np.isfinite(one))) for one in largest), default=0.0)
    return np.full(result.shape, 2 * LAMBDA * count * unit_roundoff(result.dtype) * scale)


def _solver_bounds(view: Op, operands: Sequence[Array], results: Sequence[Array]) -> Bounds:
    """What results move by where operands move by rounding errors, and a backward error that grows with n."""
    random = np.random.default_rng(0)
    moved: list[Sequence[Any]] = []
    for _ in range(4):
        changed = [_relatively_moved(operand, random) for operand in operands]
        returned = view.reference(*changed)
        moved.append(returned if isinstance(returned, tuple) else (returned,))
    bounds: Bounds = []
    for index, result in enumerate(results):
        if not is_inexact(result.dtype):
            bounds.append(None)
            continue
        wide = result.astype(wide_dtype(result.dtype))
        with np.errstate(all="ignore"):
            spread = [np.abs(np.asarray(one[index]).astype(wide.dtype) - wide) for one in moved]
        finite = np.maximum.reduce([np.where(np.isfinite(one), one, 0.0) for one in spread])
        scale = float(np.max(np.abs(wide), initial=0.0, where=np.isfinite(wide)))
        count = max((max(operand.shape, default=1) for operand in operands), default=1)
        largest = SOLVER_FACTOR * float(finite.max(initial=0.0))
        bounds.append(
            np.full(result.shape, largest + SOLVER_FACTOR * count * unit_roundoff(result.dtype) * scale)
        )
    return bounds


def _relatively_moved(operand: Array, random: np.random.Generator) -> Array:
    if not is_inexact(operand.dtype):
        return operand
    factor = 1 + unit_roundoff(operand.dtype) * random.uniform(-2, 2, operand.shape)
    with np.errstate(all="ignore"):
        return (operand.astype(wide_dtype(operand.dtype)) * factor).astype(operand.dtype)
