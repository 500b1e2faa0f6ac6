"""Error bounds of one operation of a correct implementation, for exact operands.

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

from collections.abc import Sequence
from typing import Any

from ...program.ir import Operation
from ...program.ops.elementwise.conversion import Convert
from ...program.ops.framework.declaration import Op
from ...program.ops.linalg.linalg import TriangularSolve
from ...types import COMPLEX, FLOAT, Array
from .function_accuracy import function_error
from .operation_kinds import category, is_correctly_rounded, is_exact
from .reduction_bounds import Bounds, Rule, is_exact_body, reduction_rule
from .solver_bounds import solver_bounds, triangular_bounds
from .ulps import component_dtype, is_inexact, ulp, unit_roundoff


def rounding_rule(view: Op) -> Rule | None:
    """The rule of an operation; None if its results are exact."""
    operation = view.operation
    if is_exact(operation) or not any(category(one) & (FLOAT | COMPLEX) for one in operation.results):
        return None
    if is_correctly_rounded(operation):
        return _double_rounding if isinstance(view, Convert) else None
    rule = reduction_rule(operation)
    if rule is not None:
        return rule
    accuracy = view.accuracy
    if accuracy is not None:
        return lambda operands, results: [
            function_error(accuracy, operands, one) if is_inexact(one.dtype) else None
            for one in results
        ]
    if isinstance(view, TriangularSolve):
        return lambda operands, results: triangular_bounds(view, operands, results)
    return lambda operands, results: solver_bounds(view, operands, results)


def loses_digits(operation: Operation) -> bool:
    """Whether an operation rounds what it computes, so that a compiler that fuses it may keep more digits."""
    if not any(category(one) & (FLOAT | COMPLEX) for one in operation.results) or is_exact(operation):
        return False
    if operation.name == Convert.name and category(operation.operands[0]) & FLOAT:
        return unit_roundoff(_dtype(operation.results[0])) > unit_roundoff(_dtype(operation.operands[0]))
    return not operation.regions or not all(map(is_exact_body, operation.regions))


def _dtype(value: Any) -> Any:
    return value.type.dtype


def _double_rounding(operands: Sequence[Array], results: Sequence[Array]) -> Bounds:
    """A conversion from f64 to a type below f32 may pass f32, which rounds twice."""
    operand, result = operands[0], results[0]
    narrow = is_inexact(result.dtype) and component_dtype(result.dtype).itemsize < 4
    wide = component_dtype(operand.dtype).itemsize == 8
    return [ulp(result) if narrow and wide else None]
