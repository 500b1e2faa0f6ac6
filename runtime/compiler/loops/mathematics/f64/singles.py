"""Functions of f32 in the arithmetic of f64, without tables, as ufuncs of f32 compute them."""

from __future__ import annotations

from .. import error_functions, exponential
from ..reals import Real, where
from .arithmetic import clamped


def single_exponential(x: Real) -> Real:
    """exp(x)."""
    return exponential.exp_without_table(clamped(x, -exponential.REACH, exponential.REACH))


def single_logistic(x: Real) -> Real:
    """1 / (1 + exp(-x)); NaN keeps its sign."""
    return where(x.is_number(), 1.0 / (single_exponential(-x) + 1.0), x)


def single_erf(x: Real) -> Real:
    """The error function."""
    reach = error_functions.ERF_REACH
    return error_functions.erf_by_quotient(clamped(x, -reach, reach))


def single_erfc(x: Real) -> Real:
    """1 - erf(x)."""
    return error_functions.erfc_by_quotient(x, exponential.exp_without_table)
