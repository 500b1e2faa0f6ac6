"""Functions on arrays that NumPy lacks, or that it defines differently from the specification.

They compute in the NumPy type of their arguments, accept and return NumPy scalars too, and broadcast. Complex
arguments are complex128; complex64 is widened to it by the caller, so that no intermediate value overflows.
SciPy's functions are imported when a program first needs them (`scipy_functions.py`).

Source: specification, section "Ops"; C99, annex G, for complex values that are not finite.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

import numpy as np

from ....types import Array, DType
from . import complex_functions, real_functions
from .broadcast_shapes import broadcast_shape
from .scipy_functions import scipy_functions

_MAX_ZETA_EXPONENT = 1e12
"""The exponent from which zeta equals its first term; SciPy returns NaN for much larger ones."""

_SPLIT_EXPONENTS = 700.0
"""exp of larger arguments is computed as a square."""
_SPLIT = 134217729.0
"""2^27 + 1: splits a f64 into two halves whose products are exact."""


def divide_integers(lhs: Array, rhs: Array) -> Array:
    """The quotient, rounded towards zero; all bits set where the divisor is zero; min / -1 wraps to min."""
    divisible = rhs != 0
    if lhs.dtype.itemsize < 8:
        # f64 quotients of such integers are precise enough that truncation is exact.
        quotient = np.full(broadcast_shape(lhs, rhs), -1.0)
        np.divide(lhs, rhs, quotient, where=divisible)
        return quotient.astype(np.int64).astype(lhs.dtype)
    floored = np.floor_divide(lhs, rhs)
    inexact = floored * rhs != lhs
    truncated: Array = floored + (((lhs < 0) != (rhs < 0)) & inexact).astype(floored.dtype)
    return np.where(divisible, truncated, np.full_like(truncated, ~truncated.dtype.type(0)))


def remainder_integers(lhs: Array, rhs: Array) -> Array:
    """The remainder of `divide_integers`, with the dividend's sign; the dividend if the divisor is zero."""
    return np.where(rhs == 0, lhs, np.fmod(lhs, rhs))


def power_integers(lhs: Array, rhs: Array) -> Array:
    """`lhs` multiplied by itself; for a negative exponent the reciprocal, truncated."""
    negative = rhs < 0
    # A base of 1 or -1 is its own reciprocal, and only the exponent's last bit matters.
    power = np.power(lhs, np.where(negative, rhs & rhs.dtype.type(1), rhs))
    return np.where(negative & (np.abs(lhs) != 1), np.zeros_like(power), power)


def multiply_high(lhs: Array, rhs: Array) -> Array:
    """The upper half of the product of 64-bit integers, signed or unsigned."""
    low_mask, half = lhs.dtype.type(0xFFFFFFFF), lhs.dtype.type(32)
    a_high, a_low = lhs >> half, lhs & low_mask
    b_high, b_low = rhs >> half, rhs & low_mask
    unsigned_carry = (a_low.astype(np.uint64) * b_low.astype(np.uint64)) >> np.uint64(32)
    middle = a_high * b_low + unsigned_carry.astype(lhs.dtype)
    lower = a_low * b_high + (middle & low_mask)
    upper: Array = a_high * b_high + (middle >> half) + (lower >> half)
    return upper


def maximum(dtype: DType, width: int) -> Callable[[Array, Array], Array]:
    """IEEE-754 `maximum` of floats of `width` bits: NaN where either is NaN, and +0 is greater than -0."""
    bits = np.dtype(f"i{dtype.itemsize}")
    magnitude_mask = bits.type((1 << (width - 1)) - 1)

    def greater(lhs: Array, rhs: Array) -> Array:
        # NumPy returns either zero. The greater one is negative only if both are.
        either: Array = np.maximum(lhs, rhs).view(bits)
        chosen: Array = either & (lhs.view(bits) & rhs.view(bits) | magnitude_mask)
        return chosen.view(dtype)

    return greater


def minimum(dtype: DType, width: int) -> Callable[[Array, Array], Array]:
    """IEEE-754 `minimum` of floats of `width` bits: NaN where either is NaN, and -0 is less than +0."""
    bits = np.dtype(f"i{dtype.itemsize}")
    sign_bit = ~bits.type((1 << (width - 1)) - 1)

    def less(lhs: Array, rhs: Array) -> Array:
        either: Array = np.minimum(lhs, rhs).view(bits)
        chosen: Array = either | (lhs.view(bits) | rhs.view(bits)) & sign_bit
        return chosen.view(dtype)

    return less


def reciprocal_square_root(operand: Array) -> Array:
    """1 / sqrt(operand)."""
    return np.reciprocal(np.sqrt(operand))


def round_ties_away(operand: Array) -> Array:
    """The nearest integer; of two, the one further from zero."""
    truncated = np.trunc(operand)
    carry = (np.abs(operand - truncated) >= 0.5).astype(truncated.dtype)
    rounded: Array = np.copysign(np.abs(truncated) + carry, operand)
    return rounded


def sign(operand: Array) -> Array:
    """-1, 1, the zero itself, or NaN."""
    return np.copysign(np.sign(operand), operand)


def complex_of(real: Array, imaginary: Array) -> Array:
    """The complex values with these parts."""
    result = np.empty(broadcast_shape(real, imaginary), np.result_type(real.dtype, np.complex64))
    result.real = real
    result.imag = imaginary
    return result


def multiply_complex(lhs: Array, rhs: Array) -> Array:
    """The product by its definition, of either width, each step rounded: NumPy fuses steps in some arrays."""
    a, b, c, d = lhs.real, lhs.imag, rhs.real, rhs.imag
    first = a * c
    result = np.empty(first.shape, lhs.dtype)
    np.subtract(first, b * d, out=result.real)
    np.add(a * d, b * c, out=result.imag)
    return result


def divide_complex(lhs: Array, rhs: Array) -> Array:
    """The quotient; infinite or zero as C99, annex G, defines it."""
    from ....kernels.math import complex_division

    quotient: Array = complex_division.divide(lhs, rhs)
    return quotient


def reciprocal_square_root_complex(operand: Array) -> Array:
    """1 / sqrt(operand)."""
    return divide_complex(np.ones_like(operand), complex_functions.square_root(operand))


def atan2_complex(lhs: Array, rhs: Array) -> Array:
    """-i * log((rhs + i * lhs) / sqrt(rhs^2 + lhs^2)), whose real part is the angle for real arguments.

    With x = rhs and y = lhs, the quotient's square is (x + i y) / (x - i y). The real part of the result is
    half the difference of the angles of x + i y and x - i y, up to pi, about which the quotient's logarithm
    decides. The imaginary part is half the difference of the logarithms of their moduli. Both are accurate
    where the quotient is near 1, too.
    """
    y, x = _scaled_together(lhs, rhs)
    plus = complex_of(x.real - y.imag, x.imag + y.real)
    minus = complex_of(x.real + y.imag, x.imag - y.real)
    squares = multiply_complex(x, x) + multiply_complex(y, y)
    logarithm = complex_functions.logarithm(divide_complex(plus, complex_functions.square_root(squares)))
    modulus = complex_functions.modulus
    size_x, size_y = modulus(x), modulus(y)
    cross = _sum_of_products(x.real, y.real, x.imag, y.imag)
    angle = real_functions.atan2(2 * cross, (size_x - size_y) * (size_x + size_y)) / 2
    is_opposite = (np.abs(logarithm.imag - angle) > np.pi / 2) & (angle != 0)
    angle = np.where(angle == 0, logarithm.imag, angle - is_opposite * np.copysign(np.pi, angle))
    # The squares of the moduli of x + i y and x - i y differ by four times this.
    difference = _sum_of_products(x.real, y.imag, -x.imag, y.real)
    smaller = np.where(difference > 0, modulus(plus), modulus(minus))
    size = real_functions.log_plus_one(4 * np.abs(difference) / (smaller * smaller)) / 4
    imaginary = np.where(difference == 0, -0.0, np.copysign(size, difference))
    is_finite = np.isfinite(logarithm) & np.isfinite(imaginary)
    return complex_of(
        np.where(is_finite, angle, logarithm.imag), np.where(is_finite, imaginary, -logarithm.real)
    )


def _scaled_together(a: Array, b: Array) -> tuple[Array, Array]:
    """Both operands times the power of two that scales their largest component to about 1."""
    largest_component = functools.reduce(
        np.maximum, [np.abs(component) for component in (a.real, a.imag, b.real, b.imag)]
    )
    exponent = np.where(np.isfinite(largest_component), np.frexp(largest_component)[1], 0)
    first, second = (
        complex_of(np.ldexp(value.real, -exponent), np.ldexp(value.imag, -exponent)) for value in (a, b)
    )
    return first, second


def _sum_of_products(a: Array, b: Array, c: Array, d: Array) -> Array:
    """a * b + c * d, exact except for one rounding of a part as small as an ulp of the products."""
    first, first_error = _exact_product(a, b)
    second, second_error = _exact_product(c, d)
    total, error = exact_sum(first, second)
    corrected: Array = total + (error + first_error + second_error)
    return corrected


def cbrt_complex(operand: Array) -> Array:
    """The cubic root with the angle nearest to zero."""
    # The eighth of a sum does not overflow; its root is scaled to match.
    large = np.abs(operand.real) + np.abs(operand.imag) > 1
    scale = np.where(large, 0.125, 1.0)
    scaled = complex_of(operand.real * scale, operand.imag * scale)
    modulus = real_functions.cbrt(complex_functions.modulus(scaled)) * np.where(large, 2.0, 1.0)
    angle = real_functions.atan2(operand.imag, operand.real) / 3
    imaginary = np.where(angle == 0, np.copysign(0.0, angle), modulus * real_functions.sine(angle))
    return complex_of(modulus * real_functions.cosine(angle), imaginary)


def exp_complex(operand: Array) -> Array:
    """exp(real) * (cos(imag), sin(imag)).

    The power of a great exponent is multiplied in two factors, because alone it may overflow. Where the angle
    is infinite or NaN, the result is NaN, but zero with the angle's sign for an exponent of -infinity, and
    (infinity, NaN) for one of infinity.
    """
    x, y = operand.real, operand.imag
    is_great = x > _SPLIT_EXPONENTS
    power = real_functions.exponential(np.where(is_great, x * 0.5, x))
    factor = np.where(is_great, power, 1.0)
    real = real_functions.cosine(y) * power * factor
    imaginary = np.where(y == 0, y, real_functions.sine(y) * power * factor)
    without_angle = np.isinf(x) & ~np.isfinite(y)
    real = np.where(without_angle, power, real)
    return complex_of(real, np.where(without_angle & (x < 0), np.copysign(0.0, y), imaginary))


def expm1_complex(operand: Array) -> Array:
    """exp(operand) - 1 without the cancellation near zero."""
    x, y = operand.real, operand.imag
    half_sine = real_functions.sine(y / 2)
    real = real_functions.exponential_minus_one(x) * real_functions.cosine(y) - 2 * half_sine * half_sine
    exponential = exp_complex(operand)
    near = np.abs(x) < 1
    return complex_of(np.where(near, real, exponential.real - 1), exponential.imag)


def exact_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded sum of f64 numbers and its rounding error."""
    total = a + b
    b_rounded = total - a
    return total, (a - (total - b_rounded)) + (b - b_rounded)


def _exact_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The rounded product and its rounding error."""
    product = a * b
    (high, low), (other_high, other_low) = _halves(a), _halves(b)
    error = (high * other_high - product) + high * other_low + low * other_high
    return product, error + low * other_low


def _halves(a: Array) -> tuple[Array, Array]:
    """Two numbers of half as many digits, whose sum it is."""
    scaled = _SPLIT * a
    high = scaled - (scaled - a)
    return high, a - high


def logistic_complex(operand: Array) -> Array:
    """1 / (1 + exp(-operand)), by whichever exponential is less than 1."""
    negative = operand.real < 0
    exponent = np.where(negative, operand, -operand)
    exponential = exp_complex(exponent)
    # Near the poles 1 + exp(z) is the small 2 * cos(y / 2)^2 + expm1(x) * cos(y) and the sine.
    x, y = exponent.real, exponent.imag
    half_cosine = real_functions.cosine(y / 2)
    near = 2 * half_cosine * half_cosine + real_functions.exponential_minus_one(x) * real_functions.cosine(y)
    is_near = np.isfinite(y) & (exponential.real < -0.5)
    denominator = complex_of(np.where(is_near, near, 1 + exponential.real), exponential.imag)
    return divide_complex(np.where(negative, exponential, np.ones_like(exponential)), denominator)


def power_complex(lhs: Array, rhs: Array) -> Array:
    """exp(rhs * log(lhs)); 1 for an exponent of zero. The exponent's rounding error grows with its size."""
    return np.power(lhs, rhs)


def power_complex_extended(lhs: Array, rhs: Array) -> Array:
    """`power_complex` in the widest type of the machine, for finite intermediate values."""
    power = power_complex(lhs, rhs)
    extended = np.power(lhs.astype(np.clongdouble), rhs.astype(np.clongdouble)).astype(power.dtype)
    return np.where(np.isfinite(power) & np.isfinite(extended), extended, power)


def sign_complex(operand: Array) -> Array:
    """operand / |operand|; zero for zero, NaN in both parts where either is NaN."""
    direction = divide_complex(operand, complex_functions.modulus(operand).astype(operand.dtype))
    missing = np.isnan(operand.real) | np.isnan(operand.imag)
    signed = np.where(operand == 0, np.zeros_like(direction), direction)
    return np.where(missing, complex(np.nan, np.nan), signed)


def square_complex(operand: Array) -> Array:
    """operand * operand as ((x - y) * (x + y), x * y * 2)."""
    x, y = operand.real, operand.imag
    # A factor may overflow while the other one is zero.
    balanced = np.isfinite(x) & (np.abs(x) == np.abs(y))
    return complex_of(np.where(balanced, 0.0, (x - y) * (x + y)), x * y * 2)


def lgamma(operand: Array) -> Array:
    """The logarithm of the gamma function's absolute value."""
    special = scipy_functions()
    operand = np.asarray(operand)
    value = np.asarray(special.gammaln(operand))
    if np.count_nonzero(np.isfinite(value)) < value.size:
        # SciPy returns an infinity for subnormal x although 1 / x is finite.
        magnitude = np.abs(operand)
        near_zero = (value == np.inf) & (magnitude < 1)
        value = np.where(near_zero, -np.log(np.where(near_zero, magnitude, 1)), value)
        value = np.where(magnitude == np.inf, np.inf, value)
    # Near its zeros at 1 and 2 SciPy's absolute error is small, but its relative error is not.
    near = (operand > 0.5) & (operand <= 2.5)
    if np.count_nonzero(near):
        chosen = operand[near]
        near_one = chosen < 1.35
        distance = chosen - (2.0 - near_one)
        value[near] = _lgamma_above_two(distance) - near_one * np.log1p(distance)
    return value


_SERIES_BLOCK = 1 << 12
_MAX_SMALL_SERIES = 1 << 8
"""Maximum number of elements for which NumPy's call overhead exceeds the computation."""


def _lgamma_above_two(distance: Array) -> Array:
    """lgamma(2 + z) for -0.65 <= z <= 0.5.

    It is z * (1 - euler) + the sum for k >= 2 of (-z)^k * (zeta(k) - 1) / k, the smallest terms first.
    """
    if distance.size > _SERIES_BLOCK:
        starts = range(0, distance.size, _SERIES_BLOCK)
        return np.concatenate([_lgamma_above_two(distance[k : k + _SERIES_BLOCK]) for k in starts])
    coefficients = _lgamma_coefficients()
    powers = np.empty((len(coefficients), distance.size))
    if distance.size > _MAX_SMALL_SERIES:
        # The same operations as below: `accumulate` needs fewer calls, but more time per element.
        powers[0] = distance
        for lower, higher in itertools.pairwise(powers):
            np.multiply(lower, distance, out=higher)
        powers *= coefficients
        terms: Array = powers[-1].copy()
        for row in powers[-2::-1]:
            terms += row
    else:
        powers[:] = distance
        np.multiply.accumulate(powers, out=powers)
        powers *= coefficients
        # `accumulate` adds one row after another, even if rows are short.
        terms = np.add.accumulate(powers[::-1])[-1]
    return (terms + (1 - np.euler_gamma)) * distance


@functools.cache
def _lgamma_coefficients() -> Array:
    """The coefficients of z^2 to z^33 in `_lgamma_above_two`; later terms are below 2^-53 of the sum."""
    special = scipy_functions()
    order = np.arange(2, 34)
    column: Array = np.where(order % 2, -1, 1) * special.zetac(order) / order
    return column[:, np.newaxis]


def digamma(operand: Array) -> Array:
    """The derivative of lgamma; NaN at its poles, except for 0 and -0: the limit from above, -infinity."""
    special = scipy_functions()
    operand = np.asarray(operand)
    value = np.asarray(special.psi(operand))
    if not np.count_nonzero(operand <= 0):
        return value
    pole = (operand < 0) & (operand == np.floor(operand))
    value = np.where(operand == 0, -np.inf, value)
    # Near a pole the result depends on the distance from it, which must not be rounded.
    distance = operand - np.rint(operand)
    beside = (operand < -0.5) & (np.abs(distance) < 0.05) & ~pole
    reflected = special.psi(1 - operand) - np.pi / np.tan(np.pi * np.where(beside, distance, 0.05))
    return np.where(pole, np.nan, np.where(beside, reflected, value))


def bessel_i1e(operand: Array) -> Array:
    """The exponentially scaled modified Bessel function of order 1."""
    special = scipy_functions()
    value: Array = np.copysign(special.i1e(operand), operand)
    return value


def bessel_i1e_complex(operand: Array) -> Array:
    """exp(-|real(operand)|) times the modified Bessel function of order 1."""
    special = scipy_functions()
    value: Array = special.ive(1, operand)
    return value


def zeta(x: Array, q: Array) -> Array:
    """The Hurwitz zeta function, for 1 <= x."""
    special = scipy_functions()
    value = np.asarray(special._zeta(x, q))
    # Where SciPy's result is missing or wrong, it is not finite.
    if np.count_nonzero(np.isfinite(value)) == value.size:
        return value
    value = np.where((x >= _MAX_ZETA_EXPONENT) & (q > 0), np.power(np.abs(q), -x), value)
    pole = (q <= 0) & (q == np.floor(q))
    # At a pole the terms of odd exponents have opposite signs on the two sides.
    value = np.where(pole & (np.fmod(x, 2) != 0), np.nan, value)
    return np.where(x < 1, np.nan, np.where(x == 1, np.inf, value))


def polygamma(n: Array, x: Array) -> Array:
    """The n-th derivative of digamma; NaN unless n is an integer that is not negative."""
    following = n + 1
    parity = np.fmod(n, 2)
    special = scipy_functions()
    factor = special.gamma(following) * (parity + parity - 1)
    value: Array = factor * zeta(following, x)
    is_integer = n == np.floor(n)
    if np.count_nonzero(is_integer) == np.count_nonzero(np.isfinite(value)) == value.size:
        return value
    value = np.where(n == 0, digamma(x), value)
    return np.where((n >= 0) & is_integer, value, np.nan)
