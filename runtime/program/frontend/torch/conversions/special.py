"""Special functions of PyTorch that neither StableHLO nor CHLO has, composed in double precision.

Source: Numerical Recipes, section 6.2, and DLMF, section 8.12, for the incomplete gamma functions; Abramowitz
and Stegun, sections 7.1 and 9.6, for the others.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from .....types import ELEMENT_TYPES, Array
from ....ir import Value
from ..emitter import F64, I1, I32, Emitter, element_type, shape_of
from ..table import NodeEmitter, Operand, converts, unsupported

_LARGE: Final = 1e5
"""The order from which incomplete gamma functions are computed by their asymptotic expansion."""
_MAX_TERMS: Final = 20_000
"""The limit of the terms of a series; orders below `_LARGE` take fewer than 5,000."""
_EPSILON: Final = 2.0**-52


def _in_double(compute: Callable[[Emitter, Value], Value]) -> Any:
    """A conversion that computes a function in f64."""

    def convert(e: NodeEmitter, x: Value) -> Value:
        return e.convert(compute(e, e.convert(x, F64)), e.element)

    return convert


# Incomplete gamma functions


def _prefactor(e: Emitter, a: Value, x: Value) -> Value:
    """x^a exp(-x) / Gamma(a)."""
    logarithm = e.subtract(e.multiply(a, e.unary("stablehlo.log", x)), e.add(x, e.unary("chlo.lgamma", a)))
    return e.unary("stablehlo.exponential", logarithm)


def _iterated(
    e: Emitter,
    active: Value,
    initial: Sequence[Value],
    body: Callable[[Emitter, Value, Sequence[Value]], tuple[Value, Sequence[Value]]],
) -> Sequence[Value]:
    """Which elements have not converged, and values after a body was applied to those that had not yet.

    The body takes the number of the pass, from 1, as f64, and the values; it returns which elements have
    converged, and the next values.
    """
    every = list(range(len(shape_of(active))))

    def condition(inner: Emitter, values: Sequence[Value]) -> Value:
        count, still, *_ = values
        any_active = inner.reduce("stablehlo.or", still, every) if every else still
        return inner.both(any_active, inner.compare("LT", count, inner.full(_MAX_TERMS, (), F64)))

    def step(inner: Emitter, values: Sequence[Value]) -> Sequence[Value]:
        count, still, *current = values
        number = inner.add(count, inner.full(1, (), F64))
        converged, following = body(inner, inner.broadcast(number, shape_of(active)), current)
        chosen = [inner.select(still, *pair) for pair in zip(following, current, strict=True)]
        return [number, inner.both(still, inner.negated(converged)), *chosen]

    return e.while_loop([e.full(0, (), F64), active, *initial], condition, step)[1:]


def _lower_series(e: Emitter, a: Value, x: Value, active: Value) -> Value:
    """The sum of x^n / ((a + 1) ... (a + n)): P(a, x) Gamma(a + 1) / (x^a exp(-x)); NaN if it is too long."""

    def body(inner: Emitter, number: Value, values: Sequence[Value]) -> tuple[Value, Sequence[Value]]:
        term, summed = values
        term = inner.multiply(term, inner.divide(x, inner.add(a, number)))
        summed = inner.add(summed, term)
        small = inner.compare("LE", term, inner.multiply(summed, inner.like(summed, _EPSILON)))
        return small, [term, summed]

    one = e.like(x, 1)
    is_open, _, summed = _iterated(e, active, [one, one], body)
    return e.select(is_open, e.like(x, math.nan), summed)


def _upper_fraction(e: Emitter, a: Value, x: Value, active: Value) -> Value:
    """The continued fraction of Q(a, x) Gamma(a) / (x^a exp(-x)), by Lentz's method; NaN if too long."""
    tiny = e.like(x, 1e-300)

    def off_zero(inner: Emitter, value: Value) -> Value:
        near = inner.compare("LT", inner.unary("stablehlo.abs", value), tiny)
        return inner.select(near, tiny, value)

    def body(inner: Emitter, number: Value, values: Sequence[Value]) -> tuple[Value, Sequence[Value]]:
        c, d, result = values
        one, two = inner.like(x, 1), inner.like(x, 2)
        numerator = inner.multiply(number, inner.subtract(a, number))
        b = inner.add(inner.subtract(inner.add(x, one), a), inner.multiply(two, number))
        d = inner.divide(one, off_zero(inner, inner.add(inner.multiply(numerator, d), b)))
        c = off_zero(inner, inner.add(b, inner.divide(numerator, c)))
        factor = inner.multiply(c, d)
        change = inner.unary("stablehlo.abs", inner.subtract(factor, one))
        return inner.compare("LE", change, inner.like(x, _EPSILON)), [c, d, inner.multiply(result, factor)]

    first = e.subtract(e.add(x, e.like(x, 1)), a)
    d = e.divide(e.like(x, 1), off_zero(e, first))
    is_open, _, _, result = _iterated(e, active, [e.like(x, 1e300), d, d], body)
    return e.select(is_open, e.like(x, math.nan), result)


@functools.cache
def _temme() -> tuple[tuple[float, ...], ...]:
    """The coefficients of the powers of eta in c_0, c_1 and c_2.

    With mu = x / a - 1, eta^2 / 2 is mu - log(1 + mu), and c_0 is 1 / mu - 1 / eta. Each further function
    follows from the one before it by a coefficient of Stirling's series for the gamma function.
    """
    count, stirling = 17, (Fraction(1), Fraction(1, 12), Fraction(1, 288))
    # mu / eta, from mu mu' = eta (1 + mu).
    ratio = [Fraction(1)]
    for n in range(2, count + 1):
        convolution = sum((ratio[i - 1] * (n + 1 - i) * ratio[n - i] for i in range(2, n)), Fraction(0))
        ratio.append((ratio[-1] - convolution) / (n + 1))
    inverse = [Fraction(1)]
    for n in range(1, count):
        inverse.append(-sum((ratio[i] * inverse[n - i] for i in range(1, n + 1)), Fraction(0)))
    rows = [inverse[1:]]
    for k in (1, 2):
        pairs = zip(rows[0], enumerate(rows[-1][2:], 2), strict=False)
        rows.append([(-1) ** k * stirling[k] * first + n * before for first, (n, before) in pairs])
    return tuple([tuple([float(each) for each in row[:12]]) for row in rows])


def _polynomial(e: Emitter, coefficients: Sequence[float], x: Value) -> Value:
    """A polynomial, by Horner's rule; the first coefficient is the constant one."""
    result = e.like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        result = e.add(e.multiply(result, x), e.like(x, coefficient))
    return result


def _of_large_order(e: Emitter, a: Value, x: Value, *, upper: bool) -> Value:
    """P or Q for an order from `_LARGE` on, by Temme's uniform asymptotic expansion (DLMF, section 8.12).

    Where x / a is not within 0.15 of 1, the result is 0 or 1 in double precision, as it is at this bound.
    """
    bound, half = e.like(x, 0.15), e.like(x, 0.5)
    mu = e.binary("stablehlo.minimum", e.divide(e.subtract(x, a), a), bound)
    mu = e.binary("stablehlo.maximum", mu, e.unary("stablehlo.negate", bound))
    # The series of 2 (mu - log(1 + mu)) / mu^2, which does not cancel for a small mu.
    series = _polynomial(e, [2 * (-1) ** k / (k + 2) for k in range(20)], mu)
    eta = e.multiply(mu, e.unary("stablehlo.sqrt", series))
    z = e.multiply(eta, e.unary("stablehlo.sqrt", e.multiply(a, half)))
    sums = [_polynomial(e, row, eta) for row in _temme()]
    expansion = sums[2]
    for summed in (sums[1], sums[0]):
        expansion = e.add(summed, e.divide(expansion, a))
    gauss = e.unary("stablehlo.exponential", e.unary("stablehlo.negate", e.multiply(z, z)))
    root = e.unary("stablehlo.sqrt", e.multiply(a, e.like(a, 2 * math.pi)))
    correction = e.multiply(e.divide(gauss, root), expansion)
    argument = z if upper else e.unary("stablehlo.negate", z)
    main = e.multiply(half, e.unary("chlo.erfc", argument))
    return e.add(main, correction) if upper else e.subtract(main, correction)


def _incomplete_gamma(e: NodeEmitter, a: Operand, x: Operand, *, upper: bool) -> Value:
    a, x = (e.as_value(operand, F64, e.type.shape) for operand in (a, x))
    zero, one, nan = e.like(x, 0), e.like(x, 1), e.like(x, math.nan)
    infinity = e.like(x, math.inf)
    finite = e.both(e.compare("LT", x, infinity), e.compare("LT", a, infinity))
    regular = e.both(e.both(e.compare("GT", x, zero), e.compare("GT", a, zero)), finite)
    is_large, by_series = e.compare("GE", a, e.like(a, _LARGE)), e.compare("LT", x, e.add(a, one))
    iterated = e.both(regular, e.negated(is_large))
    series = _lower_series(e, a, x, e.both(iterated, by_series))
    fraction = _upper_fraction(e, a, x, e.both(iterated, e.negated(by_series)))
    prefactor = _prefactor(e, a, x)
    lower = e.divide(e.multiply(prefactor, series), a)
    other = e.multiply(prefactor, fraction)
    wanted = (e.subtract(one, lower), other) if upper else (lower, e.subtract(one, other))
    result = e.select(is_large, _of_large_order(e, a, x, upper=upper), e.select(by_series, *wanted))
    # The limits: P is 0 at x = 0 and 1 at a = 0 and at infinite x.
    is_zero = e.either(e.compare("EQ", x, zero), e.both(e.compare("EQ", a, infinity), _is_finite(e, x)))
    is_one = e.either(e.compare("EQ", a, zero), e.both(e.compare("EQ", x, infinity), _is_finite(e, a)))
    none, all = (one, zero) if upper else (zero, one)
    result = e.select(regular, result, e.select(is_one, all, e.select(is_zero, none, nan)))
    invalid = e.either(e.compare("LT", x, zero), e.compare("LT", a, zero))
    both_zero = e.both(e.compare("EQ", x, zero), e.compare("EQ", a, zero))
    missing = e.either(e.is_nan(x), e.is_nan(a))
    return e.convert(e.select(e.either(e.either(invalid, both_zero), missing), nan, result), e.element)


def _is_finite(e: Emitter, x: Value) -> Value:
    """Where a value is finite."""
    return e.one("stablehlo.is_finite", [x], shape_of(x), I1)


@converts("aten.igamma.default", "aten.special_gammainc.default", "prims.igamma.default")
def igamma(e: NodeEmitter, a: Operand, x: Operand) -> Value:
    return _incomplete_gamma(e, a, x, upper=False)


@converts("aten.igammac.default", "aten.special_gammaincc.default", "prims.igammac.default")
def igammac(e: NodeEmitter, a: Operand, x: Operand) -> Value:
    return _incomplete_gamma(e, a, x, upper=True)


# Modified Bessel functions of the first kind


@functools.cache
def _chebyshev(order: int, *, far: bool) -> Array:
    """The coefficients of exp(-x) I(x) for x up to 8, or of sqrt(x) exp(-x) I(x) in 8 / x beyond.

    The series of I at 0, and its asymptotic expansion from 1,000 on, give the values at the nodes.
    """

    def near(t: Array) -> Array:
        return np.array([_scaled_bessel(order, 4 * (each + 1)) for each in t])

    def beyond(t: Array) -> Array:
        inverse = (t + 1) / 16
        return np.array([_far_bessel(order, each) for each in inverse])

    coefficients: Array = np.polynomial.chebyshev.chebinterpolate(beyond if far else near, 26 if far else 30)
    return coefficients


def _scaled_bessel(order: int, x: float) -> float:
    """exp(-x) I(x) by the series of I, whose terms are all positive."""
    term = math.exp(-x) * (x / 2) ** order
    total, k = term, 0
    while term > total * 1e-18:
        k += 1
        term *= (x / 2) ** 2 / (k * (k + order))
        total += term
    return total


def _far_bessel(order: int, inverse: float) -> float:
    """sqrt(x) exp(-x) I(x) at 1 / x: by the series up to 700, else by the asymptotic expansion."""
    if inverse > 1 / 700:
        return math.sqrt(1 / inverse) * _scaled_bessel(order, 1 / inverse)
    term = total = 1.0
    for k in range(1, 12):
        term *= -(4 * order * order - (2 * k - 1) ** 2) * inverse / (8 * k)
        total += term
    return total / math.sqrt(2 * math.pi)


def _clenshaw(e: Emitter, coefficients: Array, t: Value) -> Value:
    """A sum of Chebyshev polynomials."""
    twice, before, current = e.multiply(t, e.like(t, 2)), e.like(t, 0), e.like(t, 0)
    for coefficient in coefficients[:0:-1].tolist():
        following = e.add(e.subtract(e.multiply(twice, current), before), e.like(t, coefficient))
        before, current = current, following
    return e.add(e.subtract(e.multiply(t, current), before), e.like(t, float(coefficients[0])))


def _bessel(order: int, *, scaled: bool) -> Callable[[Emitter, Value], Value]:
    def compute(e: Emitter, x: Value) -> Value:
        magnitude, eight = e.unary("stablehlo.abs", x), e.like(x, 8)
        one = e.like(x, 1)
        small = e.binary("stablehlo.minimum", magnitude, eight)
        large = e.binary("stablehlo.maximum", magnitude, eight)
        first = e.subtract(e.multiply(small, e.like(x, 0.25)), one)
        near = _clenshaw(e, _chebyshev(order, far=False), first)
        second = e.subtract(e.divide(e.like(x, 16), large), one)
        beyond = e.multiply(
            _clenshaw(e, _chebyshev(order, far=True), second), e.unary("stablehlo.rsqrt", large)
        )
        result = e.select(e.compare("LE", magnitude, eight), near, beyond)
        if not scaled:
            result = e.multiply(result, e.unary("stablehlo.exponential", magnitude))
        odd = e.select(e.compare("LT", x, e.like(x, 0)), e.unary("stablehlo.negate", result), result)
        return e.select(e.is_nan(x), x, odd if order else result)

    return compute


for _order in (0, 1):
    for _suffix in ("", "e"):
        _convert = converts(f"prims.bessel_i{_order}{_suffix}.default")(
            _in_double(_bessel(_order, scaled=bool(_suffix)))
        )
        if not _suffix:
            converts(f"aten.special_modified_bessel_i{_order}.default")(_convert)


# The scaled complementary error function


def _erfcx(e: Emitter, x: Value) -> Value:
    """exp(x^2) erfc(x); beyond 20, where erfc is near the smallest numbers, by its asymptotic expansion."""
    limit = e.like(x, 20)
    near = e.binary("stablehlo.minimum", x, limit)
    square = e.multiply(near, near)
    product = e.multiply(e.unary("stablehlo.exponential", square), e.unary("chlo.erfc", near))
    far = e.binary("stablehlo.maximum", x, limit)
    inverse = e.divide(e.like(x, 0.5), e.multiply(far, far))
    expansion = e.like(x, 1)
    for k in (9, 7, 5, 3, 1):
        expansion = e.subtract(e.like(x, 1), e.multiply(e.multiply(inverse, e.like(x, k)), expansion))
    beyond = e.divide(e.multiply(expansion, e.like(x, 1 / math.sqrt(math.pi))), far)
    return e.select(e.compare("GT", x, limit), beyond, product)


converts("prims.erfcx.default")(_in_double(_erfcx))


@converts("aten.logcumsumexp.default")
def logcumsumexp(e: NodeEmitter, x: Value, dim: int) -> Value:
    """Logarithms of sums of exponentials of all elements up to each one, by doubled distances."""
    shape, type = shape_of(x), element_type(x)
    if type.name.startswith("complex"):
        raise unsupported("logcumsumexp of complex numbers is not supported")
    if not shape or not math.prod(shape):
        return x
    dim = dim % len(shape)
    distance = 1
    while distance < shape[dim]:
        low, high = [0] * len(shape), [0] * len(shape)
        low[dim], high[dim] = distance, -distance
        x = _log_of_sum(e, x, e.pad(x, e.full(-math.inf, (), type), low, high))
        distance *= 2
    return x


def _log_of_sum(e: Emitter, x: Value, y: Value) -> Value:
    """log(exp(x) + exp(y)), without overflow."""
    largest = e.binary("stablehlo.maximum", x, y)
    difference = e.unary("stablehlo.negate", e.unary("stablehlo.abs", e.subtract(x, y)))
    added = e.add(largest, e.unary("stablehlo.log_plus_one", e.unary("stablehlo.exponential", difference)))
    infinite = e.both(e.compare("EQ", x, y), e.negated(_is_finite(e, x)))
    return e.select(infinite, x, added)


@converts("prims.frexp.default")
def frexp(e: NodeEmitter, x: Value) -> list[Value]:
    """A mantissa from 0.5 up to 1, and the exponent of 2."""
    type = element_type(x)
    width, fraction = type.width, {"f64": 52, "f32": 23, "f16": 10, "bf16": 7}[type.name]
    word, bias = ELEMENT_TYPES[f"i{width}"], (1 << (width - 2 - fraction)) - 1
    lifted = e.multiply(x, e.like(x, 2.0**fraction))
    is_subnormal = e.compare("LT", e.unary("stablehlo.abs", x), e.like(x, 2.0 ** (1 - bias)))
    bits = e.one("stablehlo.bitcast_convert", [e.select(is_subnormal, lifted, x)], shape_of(x), word)
    shifted = e.binary("stablehlo.shift_right_logical", bits, e.like(bits, fraction))
    stored = e.both(shifted, e.like(bits, 2 * bias + 1))
    offset = e.select(is_subnormal, e.like(bits, bias - 1 + fraction), e.like(bits, bias - 1))
    exponent = e.convert(e.subtract(stored, offset), I32)
    sign_and_fraction = e.both(bits, e.like(bits, ~((2 * bias + 1) << fraction)))
    mantissa_bits = e.either(sign_and_fraction, e.like(bits, (bias - 1) << fraction))
    mantissa = e.one("stablehlo.bitcast_convert", [mantissa_bits], shape_of(x), type)
    without = e.either(e.compare("EQ", x, e.like(x, 0)), e.negated(_is_finite(e, x)))
    return [e.select(without, x, mantissa), e.select(without, e.like(exponent, 0), exponent)]
