"""Transcendental functions of one operand.

Source: specification, section "Ops".
"""

from __future__ import annotations

from ...types import COMPLEX, FLOAT
from ..framework import costs
from ..framework.accuracy import DEFAULT_ULPS, Accuracy
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


class Cosine(
    Transcendental,
    name="stablehlo.cosine",
    functions={FLOAT: real_functions.cosine, COMPLEX: complex_functions.cosine},
):
    """The cosine."""

    cost = costs.LONG_FUNCTION
    wider = "mpmath.cos"
    finiteness = Finiteness.KEPT


class Exponential(
    Transcendental,
    name="stablehlo.exponential",
    functions={FLOAT: real_functions.exponential, COMPLEX: special.exp_complex},
):
    """e to the power of the operand."""

    wider = "mpmath.exp"


class ExponentialMinusOne(
    Transcendental,
    name="stablehlo.exponential_minus_one",
    functions={FLOAT: real_functions.exponential_minus_one, COMPLEX: special.expm1_complex},
):
    """e to the power of the operand, minus 1."""

    accuracy = Accuracy(DEFAULT_ULPS, narrow_ulps=2, complex_absolute=1e-15)
    wider = "mpmath.expm1"


class Log(
    Transcendental,
    name="stablehlo.log",
    functions={FLOAT: real_functions.logarithm, COMPLEX: complex_functions.logarithm},
):
    """The natural logarithm."""

    cost = costs.SPILLING_FUNCTION
    wider = "mpmath.log"


class LogPlusOne(
    Transcendental,
    name="stablehlo.log_plus_one",
    functions={FLOAT: real_functions.log_plus_one, COMPLEX: complex_functions.log_plus_one},
):
    """The natural logarithm of the operand plus 1."""

    cost = costs.SPILLING_FUNCTION
    accuracy = Accuracy(DEFAULT_ULPS, complex_absolute=1e-15)
    wider = "mpmath.log1p"


class Logistic(
    Transcendental,
    name="stablehlo.logistic",
    functions={FLOAT: real_functions.logistic, COMPLEX: special.logistic_complex},
):
    """1 / (1 + exp(-operand))."""

    accuracy = Accuracy(DEFAULT_ULPS, narrow_ulps=2)
    wider = "mpmath.logistic"
    finiteness = Finiteness.KEPT


class Sine(
    Transcendental,
    name="stablehlo.sine",
    functions={FLOAT: real_functions.sine, COMPLEX: complex_functions.sine},
):
    """The sine."""

    cost = costs.LONG_FUNCTION
    wider = "mpmath.sin"
    finiteness = Finiteness.KEPT


class Tan(
    Transcendental,
    name="stablehlo.tan",
    functions={FLOAT: real_functions.tangent, COMPLEX: complex_functions.tangent},
):
    """The tangent."""

    cost = costs.LONG_FUNCTION
    wider = "mpmath.tan"


class Tanh(
    Transcendental,
    name="stablehlo.tanh",
    functions={FLOAT: real_functions.tanh, COMPLEX: complex_functions.tanh},
):
    """The hyperbolic tangent."""

    wider = "mpmath.tanh"
    finiteness = Finiteness.KEPT
