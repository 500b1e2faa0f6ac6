"""Elementwise functions that are composed of several operations of StableHLO or CHLO.

Each takes values of one shape and element type. Where NumPy has such a function, the composition does what
NumPy does.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..types import COMPLEX, FLOAT, SIGNED, UNSIGNED, ElementType, element_type_of
from . import operations as ops
from .element_types import BOOL
from .tape import Value

Emit = Callable[..., Value]


def operation(name: str) -> Emit:
    """The operation itself."""

    def emit(*values: Value) -> Value:
        first = values[0]
        operands = tuple([value.index for value in values])
        return first.tape.add(name, operands, first.shape, first.element_type)

    return emit


def comparison(direction: str) -> Emit:
    """The comparison of elements in one direction."""
    attributes = (("comparison_direction", direction),)
    return lambda a, b: a.tape.add("stablehlo.compare", (a.index, b.index), a.shape, BOOL, attributes)


def by_category(categories: int, emit: Emit, other: Emit) -> Emit:
    """Use one composition for elements of some categories, another for all others."""
    return lambda value, *rest: (emit if value.element_type.category & categories else other)(value, *rest)


def scaled(factor: float, emit: Emit | None = None) -> Emit:
    """A function, then a multiplication by a number."""

    def scale(value: Value) -> Value:
        result = emit(value) if emit else value
        return multiply(result, ops.like(result, factor))

    return scale


add = operation("stablehlo.add")
subtract = operation("stablehlo.subtract")
multiply = operation("stablehlo.multiply")
divide = operation("stablehlo.divide")
remainder = operation("stablehlo.remainder")
maximum = operation("stablehlo.maximum")
minimum = operation("stablehlo.minimum")
floor = operation("stablehlo.floor")
ceil = operation("stablehlo.ceil")
logical_and = operation("stablehlo.and")
logical_or = operation("stablehlo.or")
logical_xor = operation("stablehlo.xor")
logical_not = operation("stablehlo.not")
plain_power = operation("stablehlo.power")
negate = operation("stablehlo.negate")
exp = operation("stablehlo.exponential")
log = operation("stablehlo.log")
log_plus_one = operation("stablehlo.log_plus_one")
less = comparison("LT")
greater = comparison("GT")
equal = comparison("EQ")
not_equal = comparison("NE")


def identity(value: Value) -> Value:
    """The value itself."""
    return value


def zero(value: Value) -> Value:
    """Zeros like a value."""
    return ops.like(value, 0)


def is_nan(value: Value) -> Value:
    """Whether elements differ from themselves."""
    return not_equal(value, value)


def is_number(value: Value) -> Value:
    """Whether elements equal themselves."""
    return equal(value, value)


def predicate(name: str) -> Emit:
    """An operation whose results are booleans."""
    return lambda value: value.tape.add(name, (value.index,), value.shape, BOOL)


def on_components(test: Emit, join: Emit) -> Emit:
    """A predicate of floats, applied to both components of complex elements."""
    return lambda value: join(test(real(value)), test(imag(value)))


def component(name: str) -> Emit:
    """An operation from complex elements to their real type."""
    return lambda value: value.tape.add(name, (value.index,), value.shape, component_type(value.element_type))


def component_type(element_type: ElementType) -> ElementType:
    """The element type of a complex type's components."""
    return element_type_of(np.zeros((), element_type.dtype).real.dtype)


real = component("stablehlo.real")
imag = component("stablehlo.imag")
absolute = by_category(
    COMPLEX, component("stablehlo.abs"), by_category(SIGNED | FLOAT, operation("stablehlo.abs"), identity)
)
sign = by_category(UNSIGNED, lambda value: minimum(value, ops.like(value, 1)), operation("stablehlo.sign"))
trunc = by_category(
    FLOAT, lambda value: ops.select(less(value, zero(value)), ceil(value), floor(value)), identity
)
shift_right = by_category(
    UNSIGNED, operation("stablehlo.shift_right_logical"), operation("stablehlo.shift_right_arithmetic")
)
is_infinite = by_category(
    COMPLEX,
    on_components(predicate("chlo.is_inf"), logical_or),
    by_category(FLOAT, predicate("chlo.is_inf"), is_nan),
)
is_finite = by_category(
    COMPLEX,
    on_components(predicate("stablehlo.is_finite"), logical_and),
    by_category(FLOAT, predicate("stablehlo.is_finite"), is_number),
)
conjugate = by_category(COMPLEX, operation("chlo.conj"), identity)


def square(value: Value) -> Value:
    """The product with itself."""
    return multiply(value, value)


def reciprocal(value: Value) -> Value:
    """1 divided by it."""
    return divide(ops.like(value, 1), value)


def exp2(value: Value) -> Value:
    """2 to the power."""
    return plain_power(ops.like(value, 2), value)


log2 = scaled(1 / math.log(2), log)
log10 = scaled(1 / math.log(10), log)


def floored_remainder(a: Value, b: Value) -> Value:
    """The remainder with the divisor's sign."""
    left = remainder(a, b)
    if a.element_type.category == UNSIGNED:
        return left
    none = zero(a)
    differs = logical_and(not_equal(left, none), logical_xor(less(left, none), less(b, none)))
    result = ops.select(differs, add(left, b), left)
    if a.element_type.category != FLOAT:
        return result
    signed_zero = ops.select(less(b, none), ops.like(b, -0.0), none)
    return ops.select(equal(left, none), signed_zero, result)


def floor_divide(a: Value, b: Value) -> Value:
    """The largest integer that is not above the quotient."""
    if a.element_type.category == UNSIGNED:
        return divide(a, b)
    if a.element_type.category == FLOAT:
        return _floor_divide_floats(a, b)
    none, left = zero(a), remainder(a, b)
    differs = logical_and(not_equal(left, none), logical_xor(less(left, none), less(b, none)))
    quotient = divide(a, b)
    return ops.select(differs, subtract(quotient, ops.like(a, 1)), quotient)


def _floor_divide_floats(a: Value, b: Value) -> Value:
    """Computed from the remainder, which is exact even if the quotient is not."""
    none, one = zero(a), ops.like(a, 1)
    left, plain = remainder(a, b), divide(a, b)
    quotient = divide(subtract(a, left), b)
    differs = logical_and(not_equal(left, none), logical_xor(less(left, none), less(b, none)))
    quotient = ops.select(differs, subtract(quotient, one), quotient)
    below = floor(quotient)
    nearest = ops.select(greater(subtract(quotient, below), ops.like(a, 0.5)), add(below, one), below)
    # A quotient of zero has the sign of a / b.
    quotient_floor = ops.select(equal(quotient, none), multiply(plain, none), nearest)
    return ops.select(equal(b, none), plain, quotient_floor)


def power(base: Value, exponent: Value) -> Value:
    """A power; a square where the exponent is the constant 2."""
    *_, attributes = exponent.tape.nodes[exponent.index]
    two = (("value", np.array(2).astype(base.element_type.dtype).tobytes()),)
    return square(base) if attributes == two else plain_power(base, exponent)


def ignoring_nan(pick: Emit) -> Emit:
    """The larger or the smaller of two elements; of a NaN and a number, the number."""

    def choose(a: Value, b: Value) -> Value:
        return ops.select(is_nan(a), b, ops.select(is_nan(b), a, pick(a, b)))

    return choose


def log_add_exp(a: Value, b: Value) -> Value:
    """log(exp(a) + exp(b)), which does not overflow."""
    distance = subtract(a, b)
    small = log_plus_one(exp(negate(absolute(distance))))
    # The difference of equal infinities is NaN.
    return ops.select(equal(a, b), add(a, ops.like(a, math.log(2))), add(maximum(a, b), small))


def rectified(value: Value) -> Value:
    """The maximum of a number and zero; a NaN stays."""
    return maximum(value, zero(value))
