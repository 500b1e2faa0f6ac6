"""Transcendental functions of one operand.

Source: specification, section "Ops".
"""

from __future__ import annotations

from ....types import COMPLEX, FLOAT
from ..framework import costs
from ..framework.accuracy import DEFAULT_ULPS, Accuracy
from ..framework.emitters import Emit
from ..framework.facts import Finiteness
from ..numerics import complex_functions, real_functions
from ..numerics import special_functions as special
from .base import Transcendental


class Cbrt(
    Transcendental,
    name="stablehlo.cbrt",
    functions={FLOAT: real_functions.cbrt, COMPLEX: special.cbrt_complex},
):
    """The cube root."""

    cost = costs.LONG_FUNCTION
    wider = "mpmath.cbrt"
    emit = Emit(function="roots.cbrt", fast_function="f32.roots.cbrt", f64_function="library.cbrt")


class Cosine(
    Transcendental,
    name="stablehlo.cosine",
    functions={FLOAT: real_functions.cosine, COMPLEX: complex_functions.cosine},
):
    """The cosine."""

    cost = costs.LONG_FUNCTION
    wider = "mpmath.cos"
    finiteness = Finiteness.KEPT
    emit = Emit(
        function="trigonometry.cos", fast_function="f32.trigonometry.cos", f64_function="library.cosine"
    )


class Exponential(
    Transcendental,
    name="stablehlo.exponential",
    functions={FLOAT: real_functions.exponential, COMPLEX: special.exp_complex},
):
    """e to the power of the operand."""

    wider = "mpmath.exp"
    emit = Emit(
        complex64="exponential",
        complex128="exponential",
        function="exponential.exp",
        fast_function="f32.exponential.exp",
        narrow_function="narrow.exp",
        f64_function="library.exponential",
    )


class ExponentialMinusOne(
    Transcendental,
    name="stablehlo.exponential_minus_one",
    functions={FLOAT: real_functions.exponential_minus_one, COMPLEX: special.expm1_complex},
):
    """e to the power of the operand, minus 1."""

    accuracy = Accuracy(DEFAULT_ULPS, narrow_ulps=2, complex_absolute=1e-15)
    wider = "mpmath.expm1"
    emit = Emit(
        function="exponential.expm1",
        fast_function="f32.exponential.expm1",
        narrow_function="narrow.expm1",
        f64_function="library.exponential_minus_one",
    )


class Log(
    Transcendental,
    name="stablehlo.log",
    functions={FLOAT: real_functions.logarithm, COMPLEX: complex_functions.logarithm},
):
    """The natural logarithm."""

    cost = costs.SPILLING_FUNCTION
    wider = "mpmath.log"
    emit = Emit(
        complex64="log",
        function="logarithm.log",
        fast_function="f32.logarithm.log",
        narrow_function="narrow.log",
        f64_function="library.logarithm",
    )


class LogPlusOne(
    Transcendental,
    name="stablehlo.log_plus_one",
    functions={FLOAT: real_functions.log_plus_one, COMPLEX: complex_functions.log_plus_one},
):
    """The natural logarithm of the operand plus 1."""

    cost = costs.SPILLING_FUNCTION
    accuracy = Accuracy(DEFAULT_ULPS, complex_absolute=1e-15)
    wider = "mpmath.log1p"
    emit = Emit(
        function="logarithm.log1p",
        fast_function="f32.logarithm.log1p",
        narrow_function="narrow.log1p",
        f64_function="library.log_plus_one",
    )


class Logistic(
    Transcendental,
    name="stablehlo.logistic",
    functions={FLOAT: real_functions.logistic, COMPLEX: special.logistic_complex},
):
    """1 / (1 + exp(-operand))."""

    accuracy = Accuracy(DEFAULT_ULPS, narrow_ulps=2)
    wider = "mpmath.logistic"
    finiteness = Finiteness.KEPT
    emit = Emit(
        function="exponential.logistic", narrow_function="narrow.logistic", f64_function="library.logistic"
    )


class Sine(
    Transcendental,
    name="stablehlo.sine",
    functions={FLOAT: real_functions.sine, COMPLEX: complex_functions.sine},
):
    """The sine."""

    cost = costs.LONG_FUNCTION
    wider = "mpmath.sin"
    finiteness = Finiteness.KEPT
    emit = Emit(
        function="trigonometry.sin", fast_function="f32.trigonometry.sin", f64_function="library.sine"
    )


class Tan(
    Transcendental,
    name="stablehlo.tan",
    functions={FLOAT: real_functions.tangent, COMPLEX: complex_functions.tangent},
):
    """The tangent."""

    cost = costs.LONG_FUNCTION
    wider = "mpmath.tan"
    emit = Emit(
        function="trigonometry.tan", fast_function="f32.trigonometry.tan", f64_function="library.tangent"
    )


class Tanh(
    Transcendental,
    name="stablehlo.tanh",
    functions={FLOAT: real_functions.tanh, COMPLEX: complex_functions.tanh},
):
    """The hyperbolic tangent."""

    wider = "mpmath.tanh"
    finiteness = Finiteness.KEPT
    emit = Emit(
        function="exponential.tanh",
        fast_function="f32.exponential.tanh",
        narrow_function="narrow.tanh",
        half_function="f32.exponential.tanh",
        f64_function="library.tanh",
    )
