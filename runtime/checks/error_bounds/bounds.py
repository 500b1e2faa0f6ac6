"""Bounds for each element of a program's results, and the comparison of other results with them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from ...api import execute, load
from ...errors import ExecutionError, NimbleError
from ...inspection.tables import report_html
from ...options import Options
from ...program.ir import Module, source_line
from ...program.ops.framework.declaration import declaration_of
from ...program.ops.framework.facts import ORDERS_WITH_OPTIONS
from ...types import Array
from .double_double import distance_from_double_double
from .double_double_program import results_in_double_double
from .monte_carlo import Call, NoisyProgram, NoisyRun, flushed, perturbed
from .ulps import (
    SIGMAS,
    distance,
    is_flushable,
    is_inexact,
    is_subnormal,
    root_mean_square,
    ulp,
    unit_roundoff,
    wide_dtype,
)
from .wide_types import narrowest_epsilon, wide_array, widened

DEFAULT_NOISY_RUNS: Final = 12
"""Random runs: the estimate of an element's standard deviation then has a relative error of about 20 %."""
TRUE_ERROR_FACTOR: Final = 4.0
"""The bound of a result as a multiple of its error against wider arithmetic, if that exceeds the spread."""
LOST_DIGITS_RUNS: Final = 4
"""Random runs that look for the operation that loses digits: in one, the errors before it may be zero."""
MORE_NOISY_RUNS: Final = (6, 14, 28)
"""More random runs, while a result exceeds its bound, because the first ones may underestimate the spread."""
_ORDERS: Final[tuple[tuple[Any, Any], ...]] = (
    ("reverse", "left"),
    (("random", 1), "right"),
    (("random", 2), ("random", 2)),
)
"""Schedules of scatter and trees of reductions under which the program runs as well."""
MORE_ORDERS: Final = 24
"""More orders of updates and terms if a result exceeds its bound."""


@dataclass(frozen=True)
class LostDigits:
    """The operation that loses most digits.

    Attributes:
        operation: its name.
        location: its source location.
        source: ``file:line`` of the user's code, or None.
        digits: decimal digits by which its result is less accurate than its operands.
    """

    operation: str
    location: str
    source: str | None
    digits: float

    def __str__(self) -> str:
        return f"{self.operation} at {self.source or self.location} loses {self.digits:.1f} digits"


@dataclass(frozen=True)
class ResultBound:
    """The error bound of a result.

    Attributes:
        value: NimbleHLO's result.
        bound: for each element as f64, the maximum distance of a correct one; 0: it must be equal; infinite:
            any value is correct.
        may_vary: for integers and booleans which elements depend on rounding, or on what the specification
            leaves open; all False for floats.
        others: other correct results, each with bounds of its own.
    """

    value: Array
    bound: Array
    may_vary: Array
    others: tuple[ResultBound, ...] = ()

    @property
    def ulps(self) -> Array:
        """The bound in units in the last place of our result; 0 for integers and booleans."""
        if not is_inexact(self.value.dtype):
            return np.zeros(self.value.shape)
        with np.errstate(over="ignore"):
            return self.bound / ulp(self.value)


@dataclass(frozen=True)
class BoundViolation:
    """A result that exceeds its bound.

    Attributes:
        result: the index of the result.
        index: the index of the element that exceeds its bound most, or None if type or shape differ.
        reason: a sentence with the values and the bound.
        elements: the number of elements that exceed their bounds.
        excess: the largest distance, as a multiple of the bound; infinite where elements have to be equal.
    """

    result: int
    index: tuple[int, ...] | None
    reason: str
    elements: int
    excess: float

    def __str__(self) -> str:
        return f"result {self.result}: {self.reason}"


class Accuracy:
    """The result of `accuracy`.

    Attributes:
        results: a bound for each result.
        true_errors: for each result the distance of its elements from those in wider arithmetic, as f64; None
            if the program was not run in wider arithmetic.
        lost_digits: the operation that loses most digits; None if none loses a digit.
        draws: the number of random runs.
    """

    def __init__(self, estimate: _Estimate) -> None:
        self._estimate = estimate
        self.results = estimate.bounds()
        self.true_errors = estimate.true_errors
        self.draws = len(estimate.noisy_results)

    @functools.cached_property
    def lost_digits(self) -> LostDigits | None:
        """The operation that loses most digits."""
        return self._estimate.lost_digits()

    def violations(self, actual: Sequence[object]) -> list[BoundViolation]:
        """The results that exceed their bounds.

        Args:
            actual: another implementation's results.
        """
        exceeding = violations(self.results, actual)
        if not exceeding or any(one.index is None for one in exceeding):
            return exceeding
        for add_runs in self._further_runs():
            if exceeding and add_runs():
                self.results, self.draws = self._estimate.bounds(), len(self._estimate.noisy_results)
                exceeding = violations(self.results, actual)
        return exceeding

    def complete(self) -> None:
        """Make all runs that `violations` makes where a result exceeds its bound, so that the bounds are the
        widest ones whatever they are compared with.
        """
        for add_runs in self._further_runs():
            add_runs()
        self.results, self.draws = self._estimate.bounds(), len(self._estimate.noisy_results)

    def _further_runs(self) -> list[Callable[[], bool]]:
        """What adds runs to the estimate, and returns whether it did."""
        estimate = self._estimate
        noisy = [functools.partial(estimate.add_more_noisy_runs, count) for count in MORE_NOISY_RUNS]
        # Most results of many elements are within their bounds after few more runs.
        return [estimate.add_choices, *noisy[:-1], estimate.add_orders, noisy[-1]]

    departures = violations
    """The former name of `violations`."""

    def _repr_html_(self) -> str:
        """The bounds for a notebook."""
        title = "How far another correct implementation's results may differ"
        return report_html(title, str(self).splitlines())

    def __str__(self) -> str:
        lines = []
        for index, result in enumerate(self.results):
            kind = f"result {index}: {result.value.dtype}{list(result.value.shape)}"
            if not is_inexact(result.value.dtype):
                varying = int(result.may_vary.sum())
                lines.append(f"{kind}: {f'{varying} elements depend on rounding' if varying else 'exact'}")
                continue
            ulps = result.ulps[np.isfinite(result.ulps)]
            median = np.median(ulps) if ulps.size else 0.0
            lines.append(f"{kind}: at most {ulps.max(initial=0.0):.3g} ulp, median {median:.3g}")
        if self.lost_digits is not None:
            lines.append(str(self.lost_digits))
        return "\n".join(lines)


def accuracy(
    module: object,
    inputs: Sequence[object] = (),
    *,
    entry: str = "main",
    draws: int = DEFAULT_NOISY_RUNS,
    seed: int = 0,
    options: Options | None = None,
) -> Accuracy:
    """Compute bounds on the differences between a correct implementation's results and NimbleHLO's.

    The program runs `draws` times with random errors within the limits of each operation's rounding rule,
    under other orders of reductions and scatters, and in wider arithmetic: in f64 where it has narrower
    types, and small programs of f64 in sums of two f64 numbers. The bound of an
    element is six standard deviations of what these runs give. Where one operation alone rounds, the bound is
    that operation's. Integers, booleans and data movement are exact unless they depend on a rounded value.

    Args:
        module: what `nimblehlo.load` takes.
        inputs: what `nimblehlo.execute` takes.
        entry: the function to run.
        draws: the number of random runs, at least 2.
        seed: the seed of the random errors.
        options: the options of the run without random errors.

    Raises:
        NimbleError: what `nimblehlo.execute` raises.
        ValueError: there are fewer than 2 draws.
    """
    if draws < 2:
        raise ValueError(f"draws is {draws}, but a spread needs at least 2")
    estimate = _Estimate(load(module), inputs, entry, seed, options or Options())
    estimate.add_noisy_runs(draws)
    return Accuracy(estimate)


class _Estimate:
    """The runs of a program, from which bounds follow."""

    def __init__(
        self, module: Module, inputs: Sequence[object], entry: str, seed: int, options: Options
    ) -> None:
        plain = replace(options, compile="never", sanitize=False)
        self._module, self._entry, self._options, self._inputs = module, entry, plain, inputs
        self._random = np.random.default_rng(seed)
        self._program = NoisyProgram(module, entry, inputs, plain)
        self.values = [np.asarray(one) for one in execute(module, inputs, entry=entry, options=options)]
        probe = NoisyRun(np.random.default_rng(seed))
        self._safe_run(probe)
        self._is_alone = probe.rounding_calls <= 1
        self._choices = probe.choices
        self._chooses_once = self._is_alone and probe.choosing_calls == 1
        calls = probe.rounding_calls + probe.flushing_calls + probe.open_calls + probe.choosing_calls
        self.is_random = calls > 0 or any(map(is_flushable, self._program.arguments))
        self.noisy_results: list[list[Array]] = []
        self._others: list[tuple[list[Array], list[list[Array]]]] = []
        # Random trees combine several initial values: only where that does not change the result.
        orders = _ORDERS[: 2 if self._choices > 1 else 3]
        self._noiseless_results = self._orders(orders) if probe.rounding_calls or self._has_orders() else []
        self._noiseless_results += self._flushed_runs()
        self._has_more_orders = False
        unknown: list[Array | None] = [None for _ in self.values]
        self.true_errors = self._true_errors() if probe.rounding_calls else unknown

    def _flushed_runs(self) -> list[list[Array]]:
        """The results if all subnormal inputs are flushed, and no operation has an error."""
        if not any(map(is_flushable, self._program.arguments)):
            return []
        run = self._safe_run(NoisyRun(), [flushed(one) for one in self._program.arguments])
        return [] if run is None else [run]

    def add_noisy_runs(self, count: int) -> None:
        """Add random runs."""
        for _ in range(count if self.is_random else 0):
            run = NoisyRun(self._random, self._is_alone, choice=0 if self._chooses_once else None)
            results = self._safe_run(run, self._perturbed_arguments())
            if results is not None:
                self.noisy_results.append(results)

    def add_more_noisy_runs(self, count: int) -> bool:
        """Add random runs, up to a limit; returns whether there are any."""
        missing = DEFAULT_NOISY_RUNS + sum(MORE_NOISY_RUNS) - len(self.noisy_results)
        if not self.is_random or missing <= 0:
            return False
        self.add_noisy_runs(min(count, missing))
        return True

    def add_choices(self) -> bool:
        """Run the program with other correct results of the only reduction that has any, if there is one."""
        if not self._chooses_once or self._others:
            return False
        for choice in range(1, self._choices):
            plain = self._safe_run(NoisyRun(choice=choice))
            noisy = [NoisyRun(self._random, is_alone=True, choice=choice) for _ in range(DEFAULT_NOISY_RUNS)]
            perturbed_runs = [self._safe_run(run, self._perturbed_arguments()) for run in noisy]
            if plain is not None:
                self._others.append((plain, [run for run in perturbed_runs if run is not None]))
        return bool(self._others)

    def _perturbed_arguments(self) -> list[Array]:
        """The inputs, subnormal numbers flushed in half of the runs."""
        zero = [np.zeros(()) for _ in self._program.arguments]
        return [
            perturbed(one, none, self._random) if is_flushable(one) else one
            for one, none in zip(self._program.arguments, zero, strict=True)
        ]

    def _safe_run(self, run: NoisyRun, arguments: Sequence[Array] | None = None) -> list[Array] | None:
        """The results; None if the errors make the program fail, as an index that rounds may."""
        try:
            return self._program.run(run, arguments)
        except ExecutionError:
            return None

    def _has_orders(self) -> bool:
        """Whether the order in which an operation combines values is unspecified."""
        return any(declaration_of(one).open_order in ORDERS_WITH_OPTIONS for one in self._module.walk())

    def add_orders(self) -> bool:
        """Run the program under more orders of scatters and reductions; returns whether it has any."""
        if self._has_more_orders or not self._has_orders():
            return False
        self._has_more_orders = True
        # Random trees combine several initial values: only where that does not change the result.
        trees: list[Any] = [("random", seed) if self._choices == 1 else "left" for seed in range(MORE_ORDERS)]
        self._noiseless_results += self._orders([(("random", seed), tree) for seed, tree in enumerate(trees)])
        return True

    def _orders(self, orders: Sequence[tuple[Any, Any]]) -> list[list[Array]]:
        results = []
        for schedule, tree in orders:
            options = replace(self._options, scatter_schedule=schedule, reduction_tree=tree)
            try:
                run = execute(self._module, self._inputs, entry=self._entry, options=options)
            except NimbleError:
                continue
            results.append([np.asarray(one) for one in run])
        return results

    def _true_errors(self) -> list[Array | None]:
        unknown: list[Array | None] = [None for _ in self.values]
        if narrowest_epsilon(self._module) <= np.finfo(np.float64).eps:
            return self._f64_errors() or unknown
        try:
            wide = execute(
                widened(self._module),
                [wide_array(one) for one in self._program.arguments],
                entry=self._entry,
                options=self._options,
            )
        except (NimbleError, AssertionError):
            return unknown
        return [
            distance(wide_array(value), np.asarray(one)) if is_inexact(value.dtype) else None
            for value, one in zip(self.values, wide, strict=True)
        ]

    def _f64_errors(self) -> list[Array | None] | None:
        """The errors of a program of f64, against sums of two f64 numbers; None if it is not run so."""
        try:
            wide = results_in_double_double(self._module, self._entry, self._program.arguments, self._options)
        except NimbleError:
            return None
        return [
            distance_from_double_double(value, one) if value.dtype == np.float64 else None
            for value, one in zip(self.values, wide, strict=True)
        ]

    def bounds(self) -> list[ResultBound]:
        results = []
        for index, value in enumerate(self.values):
            others = [_farthest(plain[index], [run[index] for run in runs]) for plain, runs in self._others]
            results.append(replace(self._bound(index, value), others=tuple(others)))
        return results

    def _bound(self, index: int, value: Array) -> ResultBound:
        others = [one[index] for one in (*self.noisy_results, *self._noiseless_results)]
        if self._is_alone or not is_inexact(value.dtype):
            return _farthest(value, others)
        distances = [distance(one, value) for one in others if one.shape == value.shape]
        with np.errstate(all="ignore"):
            bound = root_mean_square(distances, SIGMAS) + np.zeros(value.shape)
            true_error = self.true_errors[index]
            if true_error is not None:
                bound = np.maximum(bound, np.minimum(TRUE_ERROR_FACTOR * true_error, 4 * bound))
        return _within(value, bound)

    def lost_digits(self) -> LostDigits | None:
        """The operation whose result has lost the most digits relative to its operands."""
        plain = NoisyRun(records=True)
        if not self.is_random or self._safe_run(plain) is None:
            return None
        worst: tuple[float, Call | None] = 0.0, None
        for seed in range(LOST_DIGITS_RUNS):
            noisy = NoisyRun(np.random.default_rng(seed), records=True)
            self._safe_run(noisy)
            for call, other in zip(plain.calls, noisy.calls, strict=False):
                if call.step is not other.step:
                    break
                lost = _digits_lost(call, other)
                if lost > worst[0]:
                    worst = lost, call
        if worst[1] is None or worst[0] < 1:
            return None
        operation = worst[1].step.operation
        return LostDigits(
            operation.name, str(operation.location), source_line(operation.location), round(worst[0], 2)
        )


def _farthest(value: Array, others: Sequence[Array]) -> ResultBound:
    """The largest distance from other results; differing integers and booleans are marked as varying."""
    fitting = [one for one in others if one.shape == value.shape]
    if is_inexact(value.dtype):
        distances = [distance(one, value) for one in fitting]
        return _within(value, np.max(distances, axis=0, initial=0.0) if distances else np.zeros(value.shape))
    varies = np.zeros(value.shape, np.bool_)
    for one in fitting:
        varies |= one != value
    return ResultBound(value, np.zeros(value.shape), varies)


def _within(value: Array, bound: Array) -> ResultBound:
    """A bound for floats; an unknown distance is infinite."""
    bounded = np.where(np.isnan(bound), np.inf, bound) + _flushed(value)
    return ResultBound(value, bounded, np.zeros(value.shape, np.bool_))


def _flushed(value: Array) -> Array:
    """The error bound of a subnormal result that is flushed to zero."""
    if value.dtype.kind == "c":
        return np.asarray(np.hypot(_flushed(value.real), _flushed(value.imag)))
    return np.where(is_subnormal(value), np.abs(value.astype(np.float64)), 0.0)


def _digits_lost(call: Call, other: Call) -> float:
    """Decimal digits by which the results' relative error exceeds that of the operands."""
    operands = [_relative_error(a, b) for a, b in zip(call.operands, other.operands, strict=False)]
    results = [_relative_error(a, b) for a, b in zip(call.results, other.results, strict=False)]
    inexact = [one.dtype for one in (*call.operands, *call.results) if is_inexact(one.dtype)]
    max_roundoff = max((unit_roundoff(dtype) for dtype in inexact), default=0.0)
    if not inexact or not max_roundoff:
        return 0.0
    before, after = max([*operands, max_roundoff]), max([*results, max_roundoff])
    return math.log10(min(after, 1.0) / min(before, 1.0))


def _relative_error(a: Array, b: Array) -> float:
    """The norm of the difference of two arrays by the norm of the first."""
    if not is_inexact(a.dtype) or a.shape != b.shape or not a.size:
        return 0.0
    differences, size = distance(a, b), np.abs(a.astype(wide_dtype(a.dtype)))
    finite = np.isfinite(differences) & np.isfinite(size)
    norm = float(np.sqrt(np.sum(np.square(size[finite]))))
    return float(np.sqrt(np.sum(np.square(differences[finite])))) / norm if norm else 0.0


def violations(bounds: Sequence[ResultBound], actual: Sequence[object]) -> list[BoundViolation]:
    """The results that exceed their bounds.

    Args:
        bounds: those of all results.
        actual: another implementation's results.
    """
    arrays = [np.asarray(one) for one in actual]
    if len(arrays) != len(bounds):
        return [BoundViolation(0, None, f"{len(arrays)} results instead of {len(bounds)}", 0, math.inf)]
    pairs = enumerate(zip(bounds, arrays, strict=True))
    judged = [violation_of(index, bound, array) for index, (bound, array) in pairs]
    return [one for one in judged if one is not None]


def violation_of(index: int, bound: ResultBound, actual: Array) -> BoundViolation | None:
    """How a result exceeds its bound; None if it does not.

    Args:
        index: the index of the result, for the report.
        bound: NimbleHLO's result and its bound.
        actual: the other implementation's result.
    """
    value = bound.value
    if actual.dtype != value.dtype or actual.shape != value.shape:
        forms = f"{actual.dtype}{list(actual.shape)} instead of {value.dtype}{list(value.shape)}"
        return BoundViolation(index, None, forms, actual.size, math.inf)
    excess = _excess(bound, actual)
    beyond = excess > 0
    if not beyond.any():
        return None
    worst = tuple(int(i) for i in np.unravel_index(int(np.argmax(excess)), value.shape))
    reason = f"{actual[worst]} instead of {value[worst]} at {list(worst)}"
    if is_inexact(value.dtype):
        with np.errstate(over="ignore"):
            ulps, allowed = (one[worst] / ulp(value)[worst] for one in (distance(actual, value), bound.bound))
        reason += f", {ulps:.4g} ulp apart where {allowed:.4g} are allowed"
    reason += f" ({int(beyond.sum())} of {value.size} elements)"
    return BoundViolation(index, worst, reason, int(beyond.sum()), float(excess[worst]))


def _excess(bound: ResultBound, actual: Array) -> Array:
    """The error of each element divided by its bound; 0 within the bound, infinite for a bound of 0."""
    if not is_inexact(bound.value.dtype):
        excess = np.where((actual != bound.value) & ~bound.may_vary, np.inf, 0.0)
    else:
        ulps = distance(actual, bound.value)
        with np.errstate(all="ignore"):
            excess = np.where(ulps <= bound.bound, 0.0, ulps / bound.bound)
            excess = np.where(np.isnan(excess), np.inf, excess)
    for other in bound.others:
        excess = np.minimum(excess, _excess(other, actual))
    return excess
