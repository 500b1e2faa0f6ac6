"""Judges a computation's results against XLA:CPU's.

Integers and booleans are equal. Floats agree within `ULPS` units in the last place, each element by itself.
What lies farther apart is a difference unless one of these rules explains it:

- TRUE_VALUE: XLA's results of the program in f64 (`error_bounds.wide_types`) tell the true values, and our
  results are about as near to them as XLA's.
- TRUE_DIGITS: the same with 60 digits (`digits.py`), for programs of elementwise operations.
- CONDITIONING: XLA's own results move by as much when its floating-point inputs move by one unit in the last
  place, and the results of its operations by their accuracy (`perturbation.py`).
- COMPLEX_NON_FINITE: both complex values have a component that is not finite. C99, LLVM and XLA give
  different other components, and the specification leaves them open.
- BOOLEAN_BYTES: inputs hold booleans whose byte is neither 0 nor 1, which XLA passes on; with 1 in their
  place its results are ours.
- INITIAL_VALUES: reductions have initial values that are not the body's identity, which may be combined any
  number of times (`error_bounds.initial_values`), as XLA skips padding: ours are those of the references.
- OTHER_VECTORS: the results are factors of a matrix, which are unique up to the choice of vectors
  (`tests/support/factors.py`): ours are factors of the same matrix, and as orthogonal as XLA's.
- UNSPECIFIED: the elements depend on what the specification leaves open (`error_bounds.open_values`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import ml_dtypes
import numpy as np

import nimblehlo
from nimblehlo import Module, NimbleError, Options
from nimblehlo.checks.error_bounds.ulps import is_inexact
from nimblehlo.checks.error_bounds.wide_types import narrowest_epsilon, wide_array, widened
from tests.checks.error_bounds.open_results import open_elements, other_results
from tests.support.factors import common_factors

from .digits import NotElementwise, evaluated
from .perturbation import perturbed, perturbed_program
from .truth import xla_program

Array = np.ndarray[Any, Any]

EXACT = "exact"
WITHIN_BOUND = "within bound"
EXPLAINED = "explained: "
TRUE_VALUE = "as near to the value in f64 as XLA's"
TRUE_DIGITS = "as near to the value in 60 digits as XLA's"
CONDITIONING = "XLA's result moves as far with rounding errors added"
COMPLEX_NON_FINITE = "complex values with a component that is not finite"
BOOLEAN_BYTES = "booleans whose byte is neither 0 nor 1, and XLA's result with 1 in its place"
INITIAL_VALUES = "initial values that are not the identity: XLA combines them another number of times"
OTHER_VECTORS = "other vectors of the same decomposition"
UNSPECIFIED = "the specification leaves the value open"
DIFFERENCE = "difference"

ULPS = 16
"""How many units in the last place two implementations of a function, or of a short sum, may be apart."""
FARTHER = 4
"""How many times XLA's largest error our error may be: rounding errors are random."""
MOST_LOST = 1 << 12
"""How many units in the last place of the largest value our error may be, whatever XLA's error is."""
DRAWS = 4
"""How many perturbations tell how well a program is conditioned."""

_COUPLING = frozenset(
    [
        "chlo.ragged_dot",
        "chlo.scan",
        "stablehlo.batch_norm_grad",
        "stablehlo.batch_norm_inference",
        "stablehlo.batch_norm_training",
        "stablehlo.cholesky",
        "stablehlo.convolution",
        "stablehlo.custom_call",
        "stablehlo.dot_general",
        "stablehlo.fft",
        "stablehlo.reduce",
        "stablehlo.reduce_window",
        "stablehlo.scatter",
        "stablehlo.select_and_scatter",
        "stablehlo.sort",
        "stablehlo.triangular_solve",
        "stablehlo.while",
    ]
)
"""Operations that make an element of a result from several of an operand: errors spread over a result."""


@dataclass(frozen=True)
class Verdict:
    """What came of comparing a computation's results.

    Attributes:
        kind: EXACT, WITHIN_BOUND, the rules that explain what lies farther apart, or DIFFERENCE.
        detail: which results differ, and how.
    """

    kind: str
    detail: str = ""


@dataclass(frozen=True)
class Call:
    """An execution of a program whose results differ.

    Attributes:
        text: the program.
        inputs: what it was executed on.
        ours, theirs: the results here, and XLA's.
    """

    text: str
    inputs: Sequence[Array]
    ours: Sequence[Array]
    theirs: Sequence[Array]

    @functools.cached_property
    def module(self) -> Module:
        """The program."""
        return nimblehlo.load(self.text)

    @functools.cached_property
    def couples(self) -> bool:
        """Whether a result's elements have errors of several elements of an operand."""
        return any(operation.name in _COUPLING for operation in self.module.walk())

    def norm(self, errors: Array) -> Array:
        """Errors by element, or the greatest of them for all where the program couples elements."""
        errors = np.where(np.isfinite(errors), errors, 0.0)
        return np.full_like(errors, errors.max(initial=0.0)) if self.couples else errors


Masks = list[Array]
"""For each result which elements a rule explains."""


def judge(text: str, inputs: Sequence[Array], ours: Sequence[Array], theirs: Sequence[Array]) -> Verdict:
    """The verdict on `ours`, where XLA's results of the program `text` on `inputs` are `theirs`."""
    if len(ours) != len(theirs):
        return Verdict(DIFFERENCE, f"{len(ours)} results instead of {len(theirs)}")
    for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        if mine.dtype != other.dtype or mine.shape != other.shape:
            forms = f"{mine.dtype}{mine.shape}, not {other.dtype}{other.shape}"
            return Verdict(DIFFERENCE, f"result {index} is {forms}")
    if all(same_values(mine, other) for mine, other in zip(ours, theirs, strict=True)):
        return Verdict(EXACT)
    apart = [~agreeing(mine, other) for mine, other in zip(ours, theirs, strict=True)]
    if not any(mask.any() for mask in apart):
        return Verdict(WITHIN_BOUND)
    call = Call(text, inputs, ours, theirs)
    detail = _described(call, apart)
    used = []
    for name, rule in _RULES.items():
        explained = rule(call)
        if isinstance(explained, str):
            detail += f"; {explained}"
            continue
        left = [mask & ~reason for mask, reason in zip(apart, explained, strict=True)]
        if any((mask != rest).any() for mask, rest in zip(apart, left, strict=True)):
            used.append(name)
        apart = left
        if not any(mask.any() for mask in apart):
            return Verdict(EXPLAINED + " + ".join(used), detail)
        detail += f"; after {name}: {_described(call, apart)}"
    return Verdict(DIFFERENCE, detail)


def same_values(mine: Array, other: Array) -> bool:
    """Whether two arrays have the same bits, any NaN for a NaN."""
    if mine.tobytes() == other.tobytes():
        return True
    if not is_inexact(mine.dtype):
        return False
    if mine.dtype.kind == "c":
        pairs = (mine.real, other.real), (mine.imag, other.imag)
        return all(same_values(a.copy(), b.copy()) for a, b in pairs)
    a, b = mine.astype(np.float64), other.astype(np.float64)
    return bool(np.all((np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b)))))


def agreeing(mine: Array, other: Array) -> Array:
    """Where elements agree within `ULPS`; numbers below the smallest normal one count as zero."""
    if not is_inexact(mine.dtype):
        return np.asarray(mine == other)
    kinds = ml_dtypes.finfo(mine.dtype)
    a, b = wide_array(mine), wide_array(other)
    with np.errstate(all="ignore"):
        greater = np.maximum(np.abs(a), np.abs(b))
        near = np.abs(a - b) <= ULPS * float(kinds.eps) * greater + float(kinds.tiny)
    return np.where(np.isfinite(a) & np.isfinite(b), near, _equal_specials(a, b))


def _equal_specials(a: Array, b: Array) -> Array:
    """Where both are NaN, or the same infinity."""
    if a.dtype.kind == "c":
        return _equal_specials(a.real, b.real) & _equal_specials(a.imag, b.imag)
    return np.asarray((np.isnan(a) & np.isnan(b)) | (a == b))


def _described(call: Call, apart: Masks) -> str:
    """How many elements differ, and the first of each result."""
    parts = []
    for index, mask in enumerate(apart):
        if mask.any():
            mine, other = call.ours[index], call.theirs[index]
            first = tuple(np.argwhere(mask)[0])
            form = f"{mask.sum()} of result {index}, {mine.dtype}{list(mine.shape)}"
            parts.append(f"{form}, such as {mine[first]} for {other[first]}")
    return ", ".join(parts)


def _complex_non_finite(call: Call) -> Masks | str:
    return [
        ~np.isfinite(mine) & ~np.isfinite(other) if mine.dtype.kind == "c" else np.zeros(mine.shape, bool)
        for mine, other in zip(call.ours, call.theirs, strict=True)
    ]


def _true_value(call: Call) -> Masks | str:
    epsilon = narrowest_epsilon(call.module)
    if epsilon <= np.finfo(np.float64).eps:
        return "no wider type"
    try:
        true = xla_program(str(widened(call.module)))([wide_array(value) for value in call.inputs])
    except (jax.errors.JaxRuntimeError, NimbleError) as error:
        return f"no value in f64: {str(error).splitlines()[0]}"
    return [
        _nearer(call, wide_array(mine), wide_array(other), exact, epsilon, mine.dtype)
        for mine, other, exact in zip(call.ours, call.theirs, true, strict=True)
    ]


def _nearer(call: Call, mine: Array, other: Array, exact: Array, epsilon: float, dtype: Any) -> Array:
    """Where `mine` is about as near to `exact` as `other` is."""
    if not is_inexact(dtype):
        return np.asarray(mine == exact)
    kind = ml_dtypes.finfo(dtype)
    with np.errstate(all="ignore"):
        overflows = np.abs(exact) >= float(kind.max) * (1 - ULPS * epsilon)
        scale = call.norm(np.abs(exact))
        farther = np.minimum(
            FARTHER * call.norm(np.abs(other - exact)), min(MOST_LOST * epsilon, 0.05) * scale
        )
        allowed = np.maximum(farther, ULPS * epsilon * scale)
        near = np.abs(mine - exact) <= allowed + float(kind.tiny)
        large = overflows & (np.abs(mine) >= float(kind.max) * (1 - ULPS * epsilon))
    return np.where(np.isfinite(mine) & np.isfinite(exact), near, _equal_specials(mine, exact)) | large


def _true_digits(call: Call) -> Masks | str:
    try:
        true = evaluated(call.module, call.inputs)
    except NotElementwise as error:
        return f"not evaluated in many digits: {error}"
    epsilon = narrowest_epsilon(call.module)
    return [
        _nearer(call, wide_array(mine), wide_array(other), exact, epsilon, mine.dtype)
        for mine, other, exact in zip(call.ours, call.theirs, true, strict=True)
    ]


def _conditioning(call: Call) -> Masks | str:
    random = np.random.default_rng(0)
    bases = xla_program(call.text)(call.inputs)
    moved = [
        xla_program(str(perturbed_program(call.module, random)))(
            [perturbed(value, random) for value in call.inputs]
        )
        for _ in range(DRAWS)
    ]
    return [
        _moving(call, mine, other, base, [results[index] for results in moved])
        for index, (mine, other, base) in enumerate(zip(call.ours, call.theirs, bases, strict=True))
    ]


def _moving(call: Call, mine: Array, other: Array, base: Array, moved: Sequence[Array]) -> Array:
    """Where `mine` is no farther from `other` than perturbed results are from `base`."""
    if not is_inexact(mine.dtype):
        changed = np.logical_or.reduce([value != base for value in moved])
        few = (mine != other).sum() <= FARTHER * changed.sum()
        return np.full(mine.shape, few) if call.couples else changed
    a, b, unmoved = wide_array(mine), wide_array(other), wide_array(base)
    with np.errstate(all="ignore"):
        distances = [np.abs(wide_array(value) - unmoved) for value in moved]
        spread = np.maximum.reduce([np.where(np.isfinite(one), one, 0.0) for one in distances])
        near = np.abs(a - b) <= FARTHER * call.norm(spread)
    unstable = np.logical_or.reduce([np.isfinite(value) != np.isfinite(base) for value in moved])
    return np.where(np.isfinite(a) & np.isfinite(b), near, unstable)


def _boolean_bytes(call: Call) -> Masks | str:
    inputs = [value.view(np.uint8) != 0 if value.dtype == np.bool_ else value for value in call.inputs]
    if all(value.tobytes() == given.tobytes() for value, given in zip(inputs, call.inputs, strict=True)):
        return "booleans are 0 or 1"
    results = xla_program(call.text)(inputs)
    return [agreeing(mine, result) for mine, result in zip(call.ours, results, strict=True)]


def _initial_values(call: Call) -> Masks | str:
    alternatives = other_results(call.module, call.inputs)
    if not alternatives:
        return "initial values are identities"
    plain = nimblehlo.execute(call.module, call.inputs, options=Options(compile="never"))
    return [
        np.logical_or.reduce([agreeing(results[index], other) for results in alternatives])
        & agreeing(mine, np.asarray(plain[index]))
        for index, (mine, other) in enumerate(zip(call.ours, call.theirs, strict=True))
    ]


def _other_vectors(call: Call) -> Masks | str:
    try:
        ours, theirs = common_factors(call.text, call.ours), common_factors(call.text, call.theirs)
    except ValueError as error:  # of results that are no factors
        return f"no factors: {error}"
    if ours is None or theirs is None:
        return "no vectors of a decomposition"
    for mine, other in zip(ours, theirs, strict=True):
        bound = ULPS * mine.shape[-1] * np.finfo(mine.dtype).eps * np.abs(other).max(initial=0.0)
        if not np.allclose(mine, other, rtol=0, atol=bound, equal_nan=True):
            return "factors of other matrices"
    return [np.ones(mine.shape, bool) for mine in call.ours]


def _unspecified(call: Call) -> Masks | str:
    try:
        return open_elements(call.module, call.inputs)
    except NimbleError as error:
        return f"the program cannot run with other values: {error}"


_RULES: dict[str, Callable[[Call], Masks | str]] = {
    COMPLEX_NON_FINITE: _complex_non_finite,
    TRUE_VALUE: _true_value,
    TRUE_DIGITS: _true_digits,
    CONDITIONING: _conditioning,
    BOOLEAN_BYTES: _boolean_bytes,
    INITIAL_VALUES: _initial_values,
    OTHER_VECTORS: _other_vectors,
    UNSPECIFIED: _unspecified,
}
