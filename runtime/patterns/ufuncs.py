"""NumPy's universal functions of traced values, as operations of StableHLO and CHLO.

A table row states the element types in which a function computes and the operations that compose it. Operands
of other types are converted as NumPy converts them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..kernels.named_tuples import NamedTuple
from ..types import BOOLEAN, COMPLEX, FLOAT, INTEGER, PLAIN, ElementType
from . import compositions as do
from . import operations as ops
from .element_types import BOOL, common_element_type, computation_type
from .failures import unsupported_error, violation_error
from .operands import as_traced, cast_and_broadcast, shape_of
from .tape import Value

INEXACT: Final = FLOAT | COMPLEX
REAL: Final = INTEGER | FLOAT
NUMBERS: Final = INTEGER | FLOAT | COMPLEX
BITS: Final = BOOLEAN | INTEGER


class Function(NamedTuple):
    """An elementwise function.

    Attributes:
        name: for errors.
        categories: of the elements that it computes in.
        emit: from values of one shape and element type to the result.
        ufunc: the function of NumPy that says in which type to compute for other elements; None: in booleans.
    """

    name: str
    categories: int
    emit: Callable[..., Value]
    ufunc: np.ufunc | None


def apply(function: Function, *operands: Any) -> Value:
    """Apply a function to traced values, arrays and numbers, which are broadcast.

    Raises:
        VerifyError: shapes do not broadcast, or there is no such function of these elements.
    """
    name = function.name
    if _have_one_type(operands) and operands[0].element_type.category & function.categories:
        return function.emit(*operands)
    tape, values = as_traced(operands, name)
    element_type = _type_to_compute_in(function, common_element_type(values, name))
    shape = ops.broadcast_shape([shape_of(value) for value in values], name)
    return function.emit(*[cast_and_broadcast(tape, value, shape, element_type, name) for value in values])


def _have_one_type(operands: Sequence[object]) -> bool:
    """Whether all operands are values of one type on one tape, so that none has to be converted."""
    first = operands[0]
    if not isinstance(first, Value) or not first.tape.is_open:
        return False
    for other in operands[1:]:
        if not isinstance(other, Value) or other.tape is not first.tape:
            return False
        if other.element_type is not first.element_type or other.shape != first.shape:
            return False
    return True


def _type_to_compute_in(function: Function, element_type: ElementType) -> ElementType:
    if element_type.category & function.categories:
        return element_type
    if function.ufunc is None:
        return BOOL
    computed_type = computation_type(function.ufunc, element_type)
    if computed_type is None or not computed_type.category & function.categories:
        raise violation_error(function.name, f"does not support elements of type {element_type}")
    return computed_type


def apply_ufunc(ufunc: np.ufunc, method: str, operands: Sequence[object], settings: dict[str, Any]) -> Any:
    """Apply a NumPy ufunc to traced values, for ``__array_ufunc__``.

    Raises:
        UnsupportedError: StableHLO has no equivalent, or a method or setting is requested.
    """
    name = f"numpy.{ufunc.__name__}"
    unsupported_options = [method] * (method != "__call__") + [
        key for key, value in settings.items() if value is not None
    ]
    if unsupported_options:
        raise unsupported_error(name, f"{unsupported_options[0]} is not supported for traced values")
    if ufunc is np.divmod:
        return apply(FUNCTIONS[np.floor_divide], *operands), apply(FUNCTIONS[np.remainder], *operands)
    function = FUNCTIONS.get(ufunc) or _of_scipy(ufunc)
    if function is None:
        raise unsupported_error(name, "is not supported for traced values")
    return apply(function, *operands)


def _of_scipy(ufunc: np.ufunc) -> Function | None:
    """SciPy's functions are known by their names, so that SciPy need not be imported."""
    name = ufunc.__name__
    special = sys.modules.get("scipy.special")
    return SPECIAL.get(name) if getattr(special, name, None) is ufunc else None


def _table(*rows: tuple[np.ufunc, int, Callable[..., Value]]) -> dict[np.ufunc, Function]:
    return {
        ufunc: Function(f"numpy.{ufunc.__name__}", categories, emit, ufunc)
        for ufunc, categories, emit in rows
    }


def _inexact(**names: str) -> dict[str, Function]:
    """Functions of floats that NumPy lacks."""
    return {name: Function(name, FLOAT, do.operation(operation), np.exp) for name, operation in names.items()}


ARITHMETIC: Final = _table(
    (np.add, PLAIN, do.add),
    (np.subtract, NUMBERS, do.subtract),
    (np.multiply, PLAIN, do.multiply),
    (np.true_divide, INEXACT, do.divide),
    (np.floor_divide, REAL, do.floor_divide),
    (np.remainder, REAL, do.floored_remainder),
    (np.fmod, REAL, do.remainder),
    (np.power, NUMBERS, do.power),
    (np.negative, NUMBERS, do.negate),
    (np.positive, NUMBERS, do.identity),
    (np.absolute, PLAIN, do.absolute),
    (np.fabs, FLOAT, do.absolute),
    (np.sign, NUMBERS, do.sign),
    (np.square, NUMBERS, do.square),
    (np.reciprocal, NUMBERS, do.reciprocal),
    (np.conjugate, NUMBERS, do.conjugate),
    (np.maximum, PLAIN, do.maximum),
    (np.minimum, PLAIN, do.minimum),
    (np.fmax, PLAIN, do.ignoring_nan(do.maximum)),
    (np.fmin, PLAIN, do.ignoring_nan(do.minimum)),
)
ROUNDING: Final = _table(
    (np.floor, PLAIN & ~COMPLEX, do.by_category(FLOAT, do.floor, do.identity)),
    (np.ceil, PLAIN & ~COMPLEX, do.by_category(FLOAT, do.ceil, do.identity)),
    (np.trunc, PLAIN & ~COMPLEX, do.trunc),
    (np.rint, FLOAT, do.operation("stablehlo.round_nearest_even")),
)
BITWISE: Final = _table(
    (np.bitwise_and, BITS, do.logical_and),
    (np.bitwise_or, BITS, do.logical_or),
    (np.bitwise_xor, BITS, do.logical_xor),
    (np.invert, BITS, do.logical_not),
    (np.left_shift, INTEGER, do.operation("stablehlo.shift_left")),
    (np.right_shift, INTEGER, do.shift_right),
)
LOGICAL: Final[dict[np.ufunc, Function]] = {
    ufunc: Function(f"numpy.{ufunc.__name__}", BOOLEAN, emit, None)
    for ufunc, emit in (
        (np.logical_and, do.logical_and),
        (np.logical_or, do.logical_or),
        (np.logical_xor, do.logical_xor),
        (np.logical_not, do.logical_not),
    )
}
COMPARISONS: Final = _table(
    (np.equal, PLAIN, do.equal),
    (np.not_equal, PLAIN, do.not_equal),
    (np.less, PLAIN, do.less),
    (np.less_equal, PLAIN, do.comparison("LE")),
    (np.greater, PLAIN, do.greater),
    (np.greater_equal, PLAIN, do.comparison("GE")),
    (np.isnan, PLAIN, do.is_nan),
    (np.isinf, PLAIN, do.is_infinite),
    (np.isfinite, PLAIN, do.is_finite),
)
TRANSCENDENTAL: Final = _table(
    (np.exp, INEXACT, do.exp),
    (np.exp2, FLOAT, do.exp2),
    (np.expm1, INEXACT, do.operation("stablehlo.exponential_minus_one")),
    (np.log, INEXACT, do.log),
    (np.log2, FLOAT, do.log2),
    (np.log10, FLOAT, do.log10),
    (np.log1p, INEXACT, do.log_plus_one),
    (np.logaddexp, FLOAT, do.log_add_exp),
    (np.sqrt, INEXACT, do.operation("stablehlo.sqrt")),
    (np.cbrt, FLOAT, do.operation("stablehlo.cbrt")),
    (np.sin, INEXACT, do.operation("stablehlo.sine")),
    (np.cos, INEXACT, do.operation("stablehlo.cosine")),
    (np.tan, INEXACT, do.operation("stablehlo.tan")),
    (np.tanh, INEXACT, do.operation("stablehlo.tanh")),
    (np.sinh, INEXACT, do.operation("chlo.sinh")),
    (np.cosh, INEXACT, do.operation("chlo.cosh")),
    (np.arcsin, INEXACT, do.operation("chlo.asin")),
    (np.arccos, INEXACT, do.operation("chlo.acos")),
    (np.arctan, INEXACT, do.operation("chlo.atan")),
    (np.arcsinh, INEXACT, do.operation("chlo.asinh")),
    (np.arccosh, INEXACT, do.operation("chlo.acosh")),
    (np.arctanh, INEXACT, do.operation("chlo.atanh")),
    (np.arctan2, FLOAT, do.operation("stablehlo.atan2")),
    (np.deg2rad, FLOAT, do.scaled(math.pi / 180)),
    (np.radians, FLOAT, do.scaled(math.pi / 180)),
    (np.rad2deg, FLOAT, do.scaled(180 / math.pi)),
    (np.degrees, FLOAT, do.scaled(180 / math.pi)),
)
FUNCTIONS: Final[dict[np.ufunc, Function]] = {
    **ARITHMETIC,
    **ROUNDING,
    **BITWISE,
    **LOGICAL,
    **COMPARISONS,
    **TRANSCENDENTAL,
}
"""The supported universal functions of NumPy."""

SPECIAL: Final = _inexact(
    expit="stablehlo.logistic",
    erf="chlo.erf",
    erfc="chlo.erfc",
    erfinv="chlo.erf_inv",
    gammaln="chlo.lgamma",
    psi="chlo.digamma",
)
"""The supported functions of scipy.special."""

RSQRT: Final = Function("rsqrt", INEXACT, do.operation("stablehlo.rsqrt"), np.sqrt)
RELU: Final = Function("relu", REAL, do.rectified, np.maximum)
REAL_PART: Final = Function("real", PLAIN, do.by_category(COMPLEX, do.real, do.identity), np.add)
IMAGINARY_PART: Final = Function("imag", PLAIN, do.by_category(COMPLEX, do.imag, do.zero), np.add)
