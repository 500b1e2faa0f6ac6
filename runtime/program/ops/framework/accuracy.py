"""How far correct results of an operation may differ: what rounds, and how accurate functions are.

The specification leaves the accuracy of functions open. The figures are the largest measured errors of
LLVM's, C's and XLA's functions, and of the approximations into which StableHLO's pass expands CHLO's
functions. `checks/error_bounds/` turns them into bounds.
"""

from __future__ import annotations

import enum
from typing import Final

from ...ir.record import Record

DEFAULT_ULPS: Final = 4
"""Units in the last place of most functions of real numbers."""
DIGAMMA_ABSOLUTE: Final = 1e-14
"""The absolute error of digamma near its zeros, in f64."""


class Rounding(enum.Enum):
    """Where the rounding errors of an operation come from."""

    EXACT = enum.auto()
    """It moves, compares or selects values, or rounds them to integers: there are none. A modulus of complex
    numbers rounds nevertheless (`Facts.takes_modulus`)."""
    CORRECT = enum.auto()
    """Its result has only one correct value, although it rounds (IEEE 754, section 4.3)."""
    CORRECT_IF_REAL = enum.auto()
    """As CORRECT, on operands that are not complex."""
    LIBRARY = enum.auto()
    """Its accuracy is open: `Accuracy` bounds a function's, and rounding errors of the operands another's."""
    SUM = enum.auto()
    """It adds products or terms."""
    BODY = enum.auto()
    """Its region rounds."""


class ErrorTerm(enum.Enum):
    """An error of a function that depends on its operands (`checks/error_bounds/function_accuracy.py`)."""

    ANGLE = enum.auto()
    """Angles of complex numbers: the squares of the operands may overflow or underflow."""
    POWER = enum.auto()
    """Powers of complex numbers: exponent * log(base) is rounded before."""
    ZETA = enum.auto()
    """A sum of powers, which have both signs at negative numbers."""
    POLYGAMMA = enum.auto()
    """The same, times a factorial."""


class Accuracy(Record):
    """The accuracy of an elementwise function in libraries, in XLA, and in StableHLO's interpreter.

    Attributes:
        ulps: units in the last place of results for real numbers, in the type in which they are computed;
            None: those of CHLO's functions (`checks/error_bounds/function_accuracy.py`).
        narrow_ulps: units of types narrower than f32. Functions that XLA expands, and computes in f16
            operation by operation, have 2; other functions are rounded once, from f32.
        absolute: absolute error of results near zero in f64: CHLO's functions cross zero far from the origin.
        complex_absolute: the same, of complex results alone: exp(z) - 1 and log(z + 1) may be computed
            literally, with squares that underflow; half the difference of two exponentials loses small
            arguments, and so does the logarithm of a quotient that is near 1.
        relative: relative error of approximations in f64: series, exp(x + log(1 / 2)), exp(-x * x) for large
            x, and log(1 - x * x) for x near 1.
        underflowing: number of factors or terms that may underflow before the result: erfc has a factor
            exp(-x * x), and zeta is a sum of some two dozen powers and terms of Euler and Maclaurin's
            formula.
        term: an error that depends on the operands.
    """

    ulps: int | None = None
    narrow_ulps: int = 1
    absolute: float = 0.0
    complex_absolute: float = 0.0
    relative: float = 0.0
    underflowing: int = 0
    term: ErrorTerm | None = None
