"""exp and functions based on it, of f32 arguments; results are correct once rounded to f32 or less."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

from llvmlite import ir

from ....kernels.launch.processor import has_fast_gather, has_two_register_permute
from ....kernels.named_tuples import NamedTuple
from ..llvm.values import integer
from ..llvm.vector_variants import ENTRIES
from .coefficients import (
    EXACT_POWER_OF_LONG_STEP,
    EXACT_POWER_OF_STEP,
    EXP,
    INVERSE_LOG_OF_2,
    LOG_OF_2,
    POWER_OF_LONG_STEP,
    POWER_OF_STEP,
    POWER_OF_TWO,
)
from .reals import (
    Real,
    bits_of,
    looked_up,
    polynomial,
    power_of_two,
    rounded_to_integer,
    times_power,
    where,
)

REACH = 110.0
"""exp of arguments beyond it, and of this, is infinite or zero in f32."""


class _Powers(NamedTuple):
    """A table of powers of two, and the polynomials between its entries.

    Attributes:
        entries_per_octave: the number of entries, n, from 1 up to 2; a power of two.
        rest: coefficients of (2^(t / n) - 1) / t.
        exact_rest: more coefficients of it.
    """

    entries_per_octave: int
    rest: Sequence[float]
    exact_rest: Sequence[float]

    @property
    def name(self) -> str:
        """The name of the table."""
        return f"powers_{self.entries_per_octave}"


_FINE_POWERS = _Powers(1024, POWER_OF_STEP, EXACT_POWER_OF_STEP)
_COARSE_POWERS = _Powers(ENTRIES, POWER_OF_LONG_STEP, EXACT_POWER_OF_LONG_STEP)


def _reduced(x: Real, tail: Real | None = None) -> tuple[Real, ir.Value]:
    """exp(r) - 1 and the exponent k, in the lowest bits.

    x + tail = r + k * log(2), where |r| <= log(2) / 2.
    """
    k, exponent = rounded_to_integer(x, 1 / math.log(2))
    r = _rest(x, k, LOG_OF_2, tail)
    return (r * r).fma(polynomial(r, EXP, in_registers=True), r), exponent


def _rest(x: Real, k: Real, step: tuple[float, float], tail: Real | None) -> Real:
    """x + tail - k * step."""
    high, low = step
    r = (-k).fma(low, (-k).fma(high, x))
    return r if tail is None else r + tail


def exp(
    x: Real,
    tail: Real | None = None,
    lower: float | None = -REACH,
    upper: float | None = REACH,
) -> Real:
    """exp(x + tail); error 6.9, with a tail 1.

    `lower`, `upper`: None if x is known to lie within REACH.
    """
    x = x.within(lower, upper)
    if has_fast_gather():
        return _exp_by_table(x, tail, _FINE_POWERS)
    if has_two_register_permute():
        return _exp_by_table(x, tail, _COARSE_POWERS)
    if tail is None:
        return exp_without_table(x)
    p, exponent = _reduced(x, tail)
    return times_power(p + 1.0, exponent)


def exp_without_table(x: Real) -> Real:
    """exp as 2^k * 2^t, as exact as f32 needs it: some 2^-49 is lost for the largest arguments."""
    t, k = _reduce_argument(x, None, 1)
    return times_power(t.fma(polynomial(t, POWER_OF_TWO), 1.0), k)


def _exp_by_table(x: Real, tail: Real | None, powers: _Powers) -> Real:
    """exp as 2^(k / n) * 2^(t / n), with fewer terms; n is the number of entries per octave.

    Without a tail it is as exact as f32 needs it: some 2^-49 is lost for the largest arguments. With one the
    result may be an integer that lies in the middle between two values of a narrow type, so the rounding
    errors of the entries count, too.
    """
    t, bits = _reduce_argument(x, tail, powers.entries_per_octave)
    rest = t * polynomial(t, powers.rest) if tail is None else _expm1_of_remainder(t, bits, powers)
    power = _table_power(x, bits, powers)
    return power.fma(rest, power)


def _reduce_argument(x: Real, tail: Real | None, entries_per_octave: int) -> tuple[Real, ir.Value]:
    """t and the lowest bits of the integer k.

    x + tail = (k + t) * log(2) / entries_per_octave, where |t| <= 0.5; with a tail of 0 no bit of x is lost.
    """
    high, low = (component * entries_per_octave for component in INVERSE_LOG_OF_2)
    k, bits = rounded_to_integer(x, high)
    t = x.fma(high, -k)
    return t if tail is None else tail.fma(high, x.fma(low, t)), bits


def _expm1_of_remainder(t: Real, bits: ir.Value, powers: _Powers) -> Real:
    """2^(t / entries_per_octave) - 1, plus the relative rounding error of the power from the table."""
    errors = _rounding_errors(powers.entries_per_octave)
    error = t.from_bits(looked_up(t.builder, f"{powers.name}_rounding_errors", errors, bits))
    return t.fma(polynomial(t, powers.exact_rest), error)


def _table_power(x: Real, bits: ir.Value, powers: _Powers) -> Real:
    """2^(k / entries_per_octave), where k is in the lowest bits; x has the builder."""
    builder, (type, mantissa, *_) = x.builder, x.layout
    exponent = builder.shl(bits, integer(type, mantissa - (powers.entries_per_octave.bit_length() - 1)))
    entry = looked_up(builder, powers.name, _powers(powers.entries_per_octave), bits)
    return x.from_bits(builder.add(entry, exponent))


_ONE = 1 << 256


@functools.cache
def _exact_powers(entries_per_octave: int) -> tuple[int, ...]:
    """2^(k / entries_per_octave) times `_ONE`."""
    root = 2 * _ONE
    for _ in range(entries_per_octave.bit_length() - 1):
        root = math.isqrt(root * _ONE)
    return tuple(
        itertools.accumulate(
            range(1, entries_per_octave), lambda power, _: power * root // _ONE, initial=_ONE
        )
    )


@functools.cache
def _powers(entries_per_octave: int) -> tuple[int, ...]:
    """The bits of 2^(k / entries_per_octave), minus those of k, which `_table_power` adds to the exponent."""
    return tuple(
        bits_of(power / _ONE) - (k << 52) // entries_per_octave
        for k, power in enumerate(_exact_powers(entries_per_octave))
    )


@functools.cache
def _rounding_errors(entries_per_octave: int) -> tuple[int, ...]:
    """The bits of each entry's relative rounding error, (p - f64(p)) / p, where p is the exact power."""
    entries = []
    for power in _exact_powers(entries_per_octave):
        rounded = int(power / _ONE * 2**52) * (_ONE >> 52)
        entries.append(bits_of((power - rounded) / power))
    return tuple(entries)


def expm1(x: Real) -> Real:
    """exp(x) - 1; error 1.8."""
    # A sum with a zero would lose the sign of -0.
    return where(x.compare("==", 0.0), x, _expm1(x.within(-REACH, REACH)))


def _expm1(x: Real) -> Real:
    """exp(x) - 1, where |x| <= REACH; -0 gives 0."""
    p, exponent = _reduced(x)
    scale = power_of_two(x, exponent)
    return scale.fma(p, scale - 1.0)


def logistic(x: Real) -> Real:
    """1 / (1 + exp(-x)); error 6.2."""
    return 1.0 / (1.0 + exp(-x))


def tanh(x: Real) -> Real:
    """The hyperbolic tangent; error 1.7.

    It is t / (t + 2), where t = exp(2 |x|) - 1; CPUs that gather quickly take a table.
    """
    if has_fast_gather():
        return _tanh_by_table(x)
    return tanh_by_quotient(x)


def tanh_by_quotient(x: Real) -> Real:
    """The hyperbolic tangent without a table."""
    t = _expm1((abs(x) * 2.0).within(None, 40.0))
    return (t / (t + 2.0)).with_sign_of(x)


_TANH_ENTRIES_PER_UNIT, _TANH_ENTRIES, _TANH_REACH = 64, 1024, 9.1
"""The table of tanh: entries in each 1; entries, a power of two; where tanh has long been 1 in f32."""
_TANH_SERIES = (-1 / 3, 2 / 15, -17 / 315)
"""tanh(d) is d + d^3 times the polynomial in d^2; the next term does not count up to half a step."""


def _tanh_by_table(x: Real) -> Real:
    """tanh(c + d) without a division, where c is the nearest multiple of the table's step; error 0.95.

    With T = tanh(c) and u = tanh(d) it is T + (1 - T^2) u / (1 + v), where v = T u and |v| <= 2^-7.
    """
    a = abs(x).within(None, _TANH_REACH)
    k, bits = rounded_to_integer(a, float(_TANH_ENTRIES_PER_UNIT))
    t = x.from_bits(looked_up(x.builder, "tangents", _tangents(), bits))
    d = (-k).fma(1 / _TANH_ENTRIES_PER_UNIT, a)
    z = d * d
    u = (d * z).fma(polynomial(z, _TANH_SERIES), d)
    v, rise = t * u, (-t).fma(t, 1.0) * u
    # 1 / (1 + v) = (1 - v) (1 + v^2 + v^4 + v^6 + ...)
    square = v * v
    falling = (-rise).fma(v, rise)
    series = square.fma(square.fma(square, square), square)
    return (t + falling.fma(series, falling)).with_sign_of(x)


@functools.cache
def _tangents() -> tuple[int, ...]:
    """The bits of tanh at each step up to the reach, and then those of 1."""
    one = 1 << 128
    growth, term, order = one, one, 1
    while term:
        term = term * 2 // (_TANH_ENTRIES_PER_UNIT * order)
        growth, order = growth + term, order + 1
    entries, power = [], one
    for _ in range(math.ceil(_TANH_REACH * _TANH_ENTRIES_PER_UNIT) + 1):
        entries.append(bits_of((power - one) / (power + one)))
        power = power * growth // one
    return (*entries, *[bits_of(1.0)] * (_TANH_ENTRIES - len(entries)))


def sinh(x: Real) -> Real:
    """The hyperbolic sine: (t + t / (t + 1)) / 2, where t = exp(|x|) - 1; error 2.2."""
    t = expm1(abs(x))
    return ((t + t / (t + 1.0)) * 0.5).with_sign_of(x)


def cosh(x: Real) -> Real:
    """The hyperbolic cosine; error 0.95."""
    e = exp(abs(x), tail=x.like(0.0))
    return (e + 1.0 / e) * 0.5
