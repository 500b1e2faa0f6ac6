"""The transcendental functions of CHLO.

Source: the public definition of the CHLO dialect.
"""

from __future__ import annotations

import numpy as np

from ....types import COMPLEX, FLOAT
from ..framework import costs
from ..framework.accuracy import DIGAMMA_ABSOLUTE, Accuracy, Rounding
from ..framework.emitters import Emit
from ..numerics import complex_functions, real_functions
from ..numerics import special_functions as special
from .elementwise import WIDE, ChloReal, ChloUnary


class ChloFunction(ChloUnary, cost=costs.FUNCTION, wide=WIDE):
    """Base of transcendental functions of floats and complex values."""


class ChloRealFunction(ChloReal, cost=costs.FUNCTION, wide=WIDE):
    """Base of transcendental functions of floats."""


class Acos(
    ChloFunction, name="chlo.acos", functions={FLOAT: real_functions.acos, COMPLEX: complex_functions.acos}
):
    """The arc cosine."""

    wider = "mpmath.acos"
    emit = Emit(
        function="trigonometry.acos",
        fast_function="f32.inverse_trigonometry.acos",
        f64_function="library.acos",
    )


class Acosh(
    ChloFunction, name="chlo.acosh", functions={FLOAT: real_functions.acosh, COMPLEX: complex_functions.acosh}
):
    """The inverse hyperbolic cosine."""

    wider = "mpmath.acosh"
    emit = Emit(function="logarithm.acosh", f64_function="library.acosh")


class Asin(
    ChloFunction, name="chlo.asin", functions={FLOAT: real_functions.asin, COMPLEX: complex_functions.asin}
):
    """The arc sine."""

    wider = "mpmath.asin"
    emit = Emit(
        function="trigonometry.asin",
        fast_function="f32.inverse_trigonometry.asin",
        f64_function="library.asin",
    )


class Asinh(
    ChloFunction, name="chlo.asinh", functions={FLOAT: real_functions.asinh, COMPLEX: complex_functions.asinh}
):
    """The inverse hyperbolic sine."""

    wider = "mpmath.asinh"
    emit = Emit(function="logarithm.asinh", f64_function="library.asinh")


class Atan(
    ChloFunction, name="chlo.atan", functions={FLOAT: real_functions.atan, COMPLEX: complex_functions.atan}
):
    """The arc tangent."""

    wider = "mpmath.atan"
    emit = Emit(
        function="trigonometry.atan",
        fast_function="f32.inverse_trigonometry.atan",
        f64_function="library.atan",
    )


class Atanh(
    ChloFunction, name="chlo.atanh", functions={FLOAT: real_functions.atanh, COMPLEX: complex_functions.atanh}
):
    """The inverse hyperbolic tangent."""

    cost = costs.SPILLING_FUNCTION
    wider = "mpmath.atanh"
    emit = Emit(function="logarithm.atanh", f64_function="library.atanh")


class BesselI1e(
    ChloFunction,
    name="chlo.bessel_i1e",
    functions={FLOAT: special.bessel_i1e, COMPLEX: special.bessel_i1e_complex},
):
    """The modified Bessel function of order 1, times exp(-abs(operand))."""

    cost = costs.SCIPY_FUNCTION


class Cosh(
    ChloFunction, name="chlo.cosh", functions={FLOAT: real_functions.cosh, COMPLEX: complex_functions.cosh}
):
    """The hyperbolic cosine."""

    accuracy = Accuracy(relative=1.5e-13)
    wider = "mpmath.cosh"
    emit = Emit(
        function="exponential.cosh", fast_function="f32.exponential.cosh", f64_function="library.cosh"
    )


class Sinh(
    ChloFunction, name="chlo.sinh", functions={FLOAT: real_functions.sinh, COMPLEX: complex_functions.sinh}
):
    """The hyperbolic sine."""

    cost = costs.LONG_FUNCTION
    accuracy = Accuracy(relative=1.5e-13, complex_absolute=1e-15)
    wider = "mpmath.sinh"
    emit = Emit(
        function="exponential.sinh", fast_function="f32.exponential.sinh", f64_function="library.sinh"
    )


class Square(
    ChloFunction,
    name="chlo.square",
    functions={FLOAT: np.square, COMPLEX: special.square_complex},
    wide=COMPLEX,
):
    """The operand times itself."""

    cost = costs.INSTRUCTION
    rounding = Rounding.CORRECT_IF_REAL
    wider = "square"
    emit = Emit(floats="square", complex_numbers="square_complex")


class Tan(
    ChloFunction,
    name="chlo.tan",
    functions={FLOAT: real_functions.tangent, COMPLEX: complex_functions.tangent},
):
    """The tangent."""

    cost = costs.LONG_FUNCTION
    wider = "mpmath.tan"
    emit = Emit(
        function="trigonometry.tan", fast_function="f32.trigonometry.tan", f64_function="library.tangent"
    )


class Digamma(ChloRealFunction, name="chlo.digamma", functions={FLOAT: special.digamma}):
    """The derivative of the logarithm of the gamma function."""

    cost = costs.LONG_SCIPY_FUNCTION
    accuracy = Accuracy(absolute=DIGAMMA_ABSOLUTE)
    wider = "mpmath.digamma"
    emit = Emit(function="gamma_functions.digamma")


class Erf(ChloRealFunction, name="chlo.erf", functions={FLOAT: real_functions.erf}):
    """The error function."""

    wider = "mpmath.erf"
    emit = Emit(
        function="error_functions.erf",
        fast_function="f32.error_functions.erf",
        narrow_function="narrow.erf",
        f64_function="library.erf",
    )


class ErfInv(ChloRealFunction, name="chlo.erf_inv", functions={FLOAT: real_functions.erf_inv}):
    """The inverse of the error function."""

    cost = costs.LONG_FUNCTION
    accuracy = Accuracy(relative=5e-11)
    wider = "mpmath.erfinv"
    emit = Emit(
        function="error_functions.erf_inv",
        fast_function="f32.error_functions.erf_inv",
        f64_function="library.erf_inv",
    )


class Erfc(ChloRealFunction, name="chlo.erfc", functions={FLOAT: real_functions.erfc}):
    """1 minus the error function."""

    accuracy = Accuracy(relative=2e-13, underflowing=1)
    wider = "mpmath.erfc"
    emit = Emit(
        function="error_functions.erfc",
        fast_function="f32.error_functions.erfc",
        f64_function="library.erfc",
    )


class Lgamma(ChloRealFunction, name="chlo.lgamma", functions={FLOAT: special.lgamma}):
    """The logarithm of the absolute value of the gamma function."""

    cost = costs.LONG_SCIPY_FUNCTION
    accuracy = Accuracy(absolute=1e-13)
    wider = "mpmath.lgamma"
    emit = Emit(function="gamma_functions.lgamma")
