"""Elementwise operations of PyTorch."""

from __future__ import annotations

import math
from typing import Any, Final

from .....types import BOOLEAN, ELEMENT_TYPES, SIGNED, UNSIGNED
from ....ir import Value
from ..emitter import F64, I1, Emitter, Number, element_type, is_complex, is_float, real_type, shape_of, wider
from ..table import NodeEmitter, Operand, converts

_UNARY: Final = {
    "acos": "chlo.acos",
    "acosh": "chlo.acosh",
    "asin": "chlo.asin",
    "asinh": "chlo.asinh",
    "atan": "chlo.atan",
    "atanh": "chlo.atanh",
    "ceil": "stablehlo.ceil",
    "cos": "stablehlo.cosine",
    "cosh": "chlo.cosh",
    "erf": "chlo.erf",
    "erfc": "chlo.erfc",
    "erfinv": "chlo.erf_inv",
    "exp": "stablehlo.exponential",
    "expm1": "stablehlo.exponential_minus_one",
    "floor": "stablehlo.floor",
    "lgamma": "chlo.lgamma",
    "log": "stablehlo.log",
    "log1p": "stablehlo.log_plus_one",
    "round": "stablehlo.round_nearest_even",
    "rsqrt": "stablehlo.rsqrt",
    "sigmoid": "stablehlo.logistic",
    "sin": "stablehlo.sine",
    "sinh": "chlo.sinh",
    "sqrt": "stablehlo.sqrt",
    "tan": "stablehlo.tan",
    "tanh": "stablehlo.tanh",
}
"""Operations that one of StableHLO or CHLO computes, in the type of the result."""

_I1: Final = ELEMENT_TYPES["i1"]
_WORDS: Final = {width: ELEMENT_TYPES[f"i{width}"] for width in (8, 16, 32, 64)}
"""The integers that have the bits of a float."""
_ROUNDING: Final = frozenset({"stablehlo.ceil", "stablehlo.floor", "stablehlo.round_nearest_even"})


def _unary(target: str) -> Any:
    def convert(e: NodeEmitter, x: Value) -> Value:
        x = e.convert(x, e.element)
        return x if target in _ROUNDING and not is_float(e.element) else e.unary(target, x)

    return convert


for _name, _target in _UNARY.items():
    converts(f"aten.{_name}.default")(_unary(_target))
converts("aten.special_erfinv.default")(_unary("chlo.erf_inv"))

_BINARY: Final = {
    "aten.atan2.default": "stablehlo.atan2",
    "aten.bitwise_and.Tensor": "stablehlo.and",
    "aten.bitwise_and.Scalar": "stablehlo.and",
    "aten.bitwise_or.Tensor": "stablehlo.or",
    "aten.bitwise_or.Scalar": "stablehlo.or",
    "aten.bitwise_xor.Tensor": "stablehlo.xor",
    "aten.bitwise_xor.Scalar": "stablehlo.xor",
    "aten.bitwise_left_shift.Tensor": "stablehlo.shift_left",
    "aten.div.Tensor": "stablehlo.divide",
    "aten.div.Scalar": "stablehlo.divide",
    "aten.maximum.default": "stablehlo.maximum",
    "aten.minimum.default": "stablehlo.minimum",
    "aten.nextafter.default": "chlo.next_after",
}


def _binary(target: str) -> Any:
    return lambda e, x, y: e.elementwise(target, x, y)


for _name, _target in _BINARY.items():
    converts(_name)(_binary(_target))

_COMPARISONS: Final = {"eq": "EQ", "ne": "NE", "ge": "GE", "gt": "GT", "le": "LE", "lt": "LT"}


def _comparison(direction: str) -> Any:
    return lambda e, x, y: e.compare(direction, *e.operands(x, y))


for _name, _target in _COMPARISONS.items():
    converts(f"aten.{_name}.Tensor", f"aten.{_name}.Scalar")(_comparison(_target))


@converts("aten.add.Tensor", "aten.add.Scalar")
def add(e: NodeEmitter, x: Operand, y: Operand, alpha: Number = 1) -> Value:
    name = "stablehlo.add" if e.element.category != BOOLEAN else "stablehlo.or"
    return e.elementwise(name, x, _scaled(e, y, alpha))


@converts("aten.sub.Tensor", "aten.sub.Scalar")
def sub(e: NodeEmitter, x: Operand, y: Operand, alpha: Number = 1) -> Value:
    return e.elementwise("stablehlo.subtract", x, _scaled(e, y, alpha))


@converts("aten.rsub.Tensor", "aten.rsub.Scalar")
def rsub(e: NodeEmitter, x: Operand, y: Operand, alpha: Number = 1) -> Value:
    return e.elementwise("stablehlo.subtract", y, _scaled(e, x, alpha))


def _scaled(e: NodeEmitter, y: Operand, alpha: Number) -> Operand:
    if alpha == 1:
        return y
    if not isinstance(y, Value):
        return y * alpha
    computed = wider(e.element)
    y = e.convert(y, computed)
    return e.multiply(y, e.like(y, alpha))


@converts("aten.mul.Tensor", "aten.mul.Scalar")
def mul(e: NodeEmitter, x: Operand, y: Operand) -> Value:
    return e.elementwise("stablehlo.multiply" if e.element.category != BOOLEAN else "stablehlo.and", x, y)


@converts("aten.div.Tensor_mode", "aten.div.Scalar_mode")
def div_mode(e: NodeEmitter, x: Operand, y: Operand, *, rounding_mode: str | None) -> Value:
    if rounding_mode is None:
        return e.elementwise("stablehlo.divide", x, y)
    a, b = (e.as_value(operand, e.element, e.type.shape) for operand in (x, y))
    if rounding_mode == "floor":
        return _floor_divide(e, a, b)
    quotient = e.divide(a, b)
    return _truncated(e, quotient) if is_float(e.element) else quotient


@converts("aten.floor_divide.default", "aten.floor_divide.Scalar")
def floor_divide(e: NodeEmitter, x: Operand, y: Operand) -> Value:
    return div_mode(e, x, y, rounding_mode="floor")


def _floor_divide(e: NodeEmitter, a: Value, b: Value) -> Value:
    """The quotient, rounded down: of floats from the exact remainder, as PyTorch computes it."""
    if e.element.category & UNSIGNED:
        return e.divide(a, b)
    zero, one = e.like(a, 0), e.like(a, 1)
    if is_float(e.element):
        rest = _remainder(e, a, b)
        exact = e.divide(e.subtract(a, rest), b)
        down = e.unary("stablehlo.floor", exact)
        near = e.compare("GT", e.subtract(exact, down), e.like(a, 0.5))
        rounded = e.select(near, e.add(down, one), down)
        ordinary = e.both(e.compare("NE", b, zero), e.one("stablehlo.is_finite", [a], shape_of(a), _I1))
        return e.select(ordinary, rounded, e.divide(a, b))
    quotient = e.divide(a, b)
    rest = e.binary("stablehlo.remainder", a, b)
    differs = e.compare("NE", e.compare("LT", rest, zero), e.compare("LT", b, zero))
    lower = e.both(e.compare("NE", rest, zero), differs)
    return e.select(lower, e.subtract(quotient, one), quotient)


def _remainder(e: NodeEmitter, a: Value, b: Value) -> Value:
    """The remainder with the sign of the divisor."""
    rest = e.binary("stablehlo.remainder", a, b)
    if element_type(a).category & UNSIGNED:
        return rest
    zero = e.like(a, 0)
    differs = e.compare("NE", e.compare("LT", rest, zero), e.compare("LT", b, zero))
    return e.select(e.both(e.compare("NE", rest, zero), differs), e.add(rest, b), rest)


@converts("aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor")
def remainder(e: NodeEmitter, x: Operand, y: Operand) -> Value:
    return _remainder(e, *(e.as_value(operand, e.element, e.type.shape) for operand in (x, y)))


@converts("aten.fmod.Tensor", "aten.fmod.Scalar")
def fmod(e: NodeEmitter, x: Operand, y: Operand) -> Value:
    return e.elementwise("stablehlo.remainder", x, y)


@converts("aten.pow.Tensor_Tensor", "aten.pow.Tensor_Scalar", "aten.pow.Scalar")
def pow(e: NodeEmitter, x: Operand, y: Operand) -> Value:
    if isinstance(x, Value) and not isinstance(y, Value) and (is_float(e.element) or y in (0, 1, 2, 3)):
        special = _power(e, e.convert(x, wider(e.element)), y)
        if special is not None:
            return e.convert(special, e.element)
    return e.elementwise("stablehlo.power", x, y)


def _power(e: NodeEmitter, x: Value, y: Number) -> Value | None:
    """A power by an exponent that PyTorch computes without logarithms; None for others."""
    if y == 0:
        return e.like(x, 1)
    if y == 1:
        return x
    if y == 2:
        return e.multiply(x, x)
    if y == 3:
        return e.multiply(e.multiply(x, x), x)
    if y == 0.5:
        return e.unary("stablehlo.sqrt", x)
    if y == -0.5:
        return e.unary("stablehlo.rsqrt", x)
    if y in (-1, -2):
        divisor = x if y == -1 else e.multiply(x, x)
        return e.divide(e.like(x, 1), divisor)
    return None


@converts("aten.bitwise_right_shift.Tensor")
def shift_right(e: NodeEmitter, x: Operand, y: Operand) -> Value:
    is_signed = e.element.category & SIGNED
    return e.elementwise(f"stablehlo.shift_right_{'arithmetic' if is_signed else 'logical'}", x, y)


def _other_than_nan(target: str) -> Any:
    def convert(e: NodeEmitter, x: Value, y: Value) -> Value:
        a, b = (e.as_value(operand, e.element, e.type.shape) for operand in (x, y))
        result = e.binary(target, a, b)
        if not is_float(e.element):
            return result
        return e.select(e.is_nan(a), b, e.select(e.is_nan(b), a, result))

    return convert


converts("aten.fmax.default")(_other_than_nan("stablehlo.maximum"))
converts("aten.fmin.default")(_other_than_nan("stablehlo.minimum"))


@converts("aten.neg.default")
def neg(e: NodeEmitter, x: Value) -> Value:
    return e.unary("stablehlo.negate", x)


@converts("aten.abs.default")
def absolute(e: NodeEmitter, x: Value) -> Value:
    if element_type(x).category & (UNSIGNED | BOOLEAN):
        return x
    return e.one("stablehlo.abs", [x], shape_of(x), real_type(element_type(x)))


@converts("aten.sign.default", "aten.sgn.default")
def sign(e: NodeEmitter, x: Value) -> Value:
    if is_complex(element_type(x)):
        return e.unary("stablehlo.sign", x)
    if element_type(x).category & (UNSIGNED | BOOLEAN):
        zero = e.like(x, 0)
        return e.convert(e.compare("NE", x, zero), element_type(x))
    result = e.unary("stablehlo.sign", x)
    # PyTorch's sign of NaN is 0.
    return e.select(e.is_nan(x), e.like(x, 0), result) if is_float(element_type(x)) else result


@converts("aten.trunc.default", "aten.fix.default")
def trunc(e: NodeEmitter, x: Value) -> Value:
    return _truncated(e, x) if is_float(element_type(x)) else x


def _truncated(e: NodeEmitter, x: Value) -> Value:
    below = e.compare("LT", x, e.like(x, 0))
    return e.select(below, e.unary("stablehlo.ceil", x), e.unary("stablehlo.floor", x))


@converts("aten.round.decimals")
def round_decimals(e: NodeEmitter, x: Value, *, decimals: int) -> Value:
    power = e.like(x, 10.0 ** abs(decimals))
    before, after = ("multiply", "divide") if decimals >= 0 else ("divide", "multiply")
    scaled = e.binary(f"stablehlo.{before}", x, power)
    return e.binary(f"stablehlo.{after}", e.unary("stablehlo.round_nearest_even", scaled), power)


@converts("aten.reciprocal.default")
def reciprocal(e: NodeEmitter, x: Value) -> Value:
    x = e.convert(x, e.element)
    return e.divide(e.like(x, 1), x)


@converts("aten.log2.default")
def log2(e: NodeEmitter, x: Value) -> Value:
    return _log_of_base(e, x, math.log(2))


@converts("aten.log10.default")
def log10(e: NodeEmitter, x: Value) -> Value:
    return _log_of_base(e, x, math.log(10))


def _log_of_base(e: NodeEmitter, x: Value, base: float) -> Value:
    """A logarithm in double precision where that exists, so that powers of the base are exact."""
    own = e.element
    computed = own if is_complex(own) else F64
    logarithm = e.unary("stablehlo.log", e.convert(x, computed))
    return e.convert(e.divide(logarithm, e.like(logarithm, base)), own)


@converts("aten.exp2.default")
def exp2(e: NodeEmitter, x: Value) -> Value:
    x = e.convert(x, e.element)
    return e.binary("stablehlo.power", e.like(x, 2), x)


@converts("aten.logical_not.default")
def logical_not(e: NodeEmitter, x: Value) -> Value:
    return e.negated(e.convert(x, _I1))


@converts("aten.bitwise_not.default")
def bitwise_not(e: NodeEmitter, x: Value) -> Value:
    return e.negated(x)


def _logical(target: str) -> Any:
    def convert(e: NodeEmitter, x: Operand, y: Operand) -> Value:
        a, b = (e.as_value(operand, _I1, e.type.shape) for operand in (x, y))
        return e.binary(target, a, b)

    return convert


for _name in ("and", "or", "xor"):
    converts(f"aten.logical_{_name}.default")(_logical(f"stablehlo.{_name}"))


@converts("aten.isnan.default")
def isnan(e: NodeEmitter, x: Value) -> Value:
    return e.is_nan(x)


@converts("aten.isfinite.default")
def isfinite(e: NodeEmitter, x: Value) -> Value:
    return e.one("stablehlo.is_finite", [x], shape_of(x), I1)


@converts("aten.isinf.default")
def isinf(e: NodeEmitter, x: Value) -> Value:
    if is_complex(element_type(x)):
        components = (_component(e, x, name) for name in ("real", "imag"))
        return e.either(*(isinf(e, component) for component in components))
    if not is_float(element_type(x)):
        return e.full(False, shape_of(x), _I1)
    infinity = e.broadcast(e.extreme(element_type(x), is_minimum=False), shape_of(x))
    return e.compare("EQ", e.unary("stablehlo.abs", x), infinity)


@converts("aten.signbit.default")
def signbit(e: NodeEmitter, x: Value) -> Value:
    type = element_type(x)
    if not is_float(type):
        return e.compare("LT", x, e.like(x, 0)) if type.category & SIGNED else e.full(False, shape_of(x), _I1)
    bits = e.one("stablehlo.bitcast_convert", [x], shape_of(x), _WORDS[type.width])
    return e.compare("LT", bits, e.like(bits, 0))


@converts("aten.copysign.Tensor", "aten.copysign.Scalar")
def copysign(e: NodeEmitter, x: Operand, y: Operand) -> Value:
    a, b = (e.as_value(operand, e.element, e.type.shape) for operand in (x, y))
    magnitude = e.unary("stablehlo.abs", a)
    return e.select(signbit(e, b), e.unary("stablehlo.negate", magnitude), magnitude)


@converts("aten.relu.default")
def relu(e: NodeEmitter, x: Value) -> Value:
    return e.binary("stablehlo.maximum", x, e.like(x, 0))


@converts("aten.clamp.default", "aten.clamp.Tensor")
def clamp(e: NodeEmitter, x: Value, min: Operand | None = None, max: Operand | None = None) -> Value:
    result = e.as_value(x, e.element, e.type.shape)
    if min is not None:
        result = e.binary("stablehlo.maximum", result, e.as_value(min, e.element, e.type.shape))
    if max is not None:
        result = e.binary("stablehlo.minimum", result, e.as_value(max, e.element, e.type.shape))
    return result


@converts("aten.clamp_min.default", "aten.clamp_min.Tensor")
def clamp_min(e: NodeEmitter, x: Value, min: Operand) -> Value:
    return clamp(e, x, min)


@converts("aten.clamp_max.default", "aten.clamp_max.Tensor")
def clamp_max(e: NodeEmitter, x: Value, max: Operand) -> Value:
    return clamp(e, x, None, max)


@converts("aten.where.self", "prims.where.default")
def where(e: NodeEmitter, condition: Value, x: Value, y: Value) -> Value:
    values = (e.as_value(operand, e.element, e.type.shape) for operand in (x, y))
    return e.select(e.as_value(condition, _I1, e.type.shape), *values)


@converts("aten.gelu.default")
def gelu(e: NodeEmitter, x: Value, *, approximate: str = "none") -> Value:
    """x Phi(x), by the error function or by its approximation with tanh."""
    own, x = element_type(x), e.convert(x, wider(element_type(x)))
    if approximate == "tanh":
        cube = e.multiply(e.multiply(x, x), x)
        inner = e.add(x, e.multiply(cube, e.like(x, 0.044715)))
        bent = e.unary("stablehlo.tanh", e.multiply(inner, e.like(x, math.sqrt(2 / math.pi))))
    else:
        bent = e.unary("chlo.erf", e.multiply(x, e.like(x, math.sqrt(0.5))))
    half = e.multiply(x, e.like(x, 0.5))
    return e.convert(e.multiply(half, e.add(bent, e.like(x, 1))), own)


@converts("aten._to_copy.default", "aten.to.dtype")
def to_copy(e: NodeEmitter, x: Value, *args: object, **options: object) -> Value:
    return e.convert(x, e.element)


@converts("prims.convert_element_type.default")
def convert_element_type(e: NodeEmitter, x: Value, dtype: object) -> Value:
    return e.convert(x, e.element)


def _component(e: NodeEmitter, x: Value, name: str) -> Value:
    return e.one(f"stablehlo.{name}", [x], shape_of(x), real_type(element_type(x)))


@converts("aten.view_as_real.default")
def view_as_real(e: NodeEmitter, x: Value) -> Value:
    shape = (*shape_of(x), 1)
    components = [e.reshape(_component(e, x, name), shape) for name in ("real", "imag")]
    return e.concatenate(components, len(shape) - 1)


@converts("aten.view_as_complex.default")
def view_as_complex(e: NodeEmitter, x: Value) -> Value:
    last, shape = len(shape_of(x)) - 1, shape_of(x)[:-1]
    components = [e.reshape(e.slice(x, last, index, index + 1), shape) for index in (0, 1)]
    return e.one("stablehlo.complex", components, shape, e.element)


@converts("aten.complex.default")
def make_complex(e: NodeEmitter, real: Value, imag: Value) -> Value:
    return e.one("stablehlo.complex", list(e.operands(real, imag)), e.type.shape, e.element)


@converts("aten.polar.default")
def polar(e: NodeEmitter, magnitude: Value, angle: Value) -> Value:
    x, angle = e.operands(magnitude, angle)
    components = [e.multiply(x, e.unary(f"stablehlo.{name}", angle)) for name in ("cosine", "sine")]
    return e.one("stablehlo.complex", components, e.type.shape, e.element)


@converts("aten.real.default", "prims.real.default")
def real(e: NodeEmitter, x: Value) -> Value:
    return _component(e, x, "real") if is_complex(element_type(x)) else x


@converts("aten.imag.default", "prims.imag.default")
def imag(e: NodeEmitter, x: Value) -> Value:
    return _component(e, x, "imag")


@converts("aten._conj.default", "aten.conj_physical.default", "aten._conj_physical.default")
def conj(e: NodeEmitter, x: Value) -> Value:
    return e.unary("chlo.conj", x) if is_complex(element_type(x)) else x


@converts("aten.angle.default")
def angle(e: NodeEmitter, x: Value) -> Value:
    if is_complex(element_type(x)):
        return e.binary("stablehlo.atan2", _component(e, x, "imag"), _component(e, x, "real"))
    x = e.convert(x, e.element)
    negative = e.compare("LT", x, e.like(x, 0))
    result = e.select(negative, e.like(x, math.pi), e.like(x, 0))
    return e.select(e.is_nan(x), x, result)


def _is_pole(e: Emitter, x: Value) -> Value:
    """Whether a number is 0 or a negative integer: a pole of zeta and of the derivatives of lgamma."""
    return e.both(e.compare("LE", x, e.like(x, 0)), e.compare("EQ", x, e.unary("stablehlo.floor", x)))


@converts("aten.digamma.default")
def digamma(e: NodeEmitter, x: Value) -> Value:
    """The derivative of lgamma; at 0 and -0, PyTorch gives the limits from either side."""
    x = e.convert(x, e.element)
    limit = e.divide(e.like(x, -1), x)
    return e.select(e.compare("EQ", x, e.like(x, 0)), limit, e.unary("chlo.digamma", x))


@converts("aten.polygamma.default")
def polygamma(e: NodeEmitter, order: int, x: Value) -> Value:
    """A derivative of digamma; at poles of an even one, PyTorch gives the limit from above, CHLO NaN."""
    if not order:
        return digamma(e, x)
    x = e.convert(x, e.element)
    result = e.binary("chlo.polygamma", e.like(x, order), x)
    if order % 2:
        return result
    return e.select(_is_pole(e, x), e.like(x, -math.inf), result)


@converts("aten.special_zeta.default")
def zeta(e: NodeEmitter, x: Operand, q: Operand) -> Value:
    """The Hurwitz zeta function; at poles, PyTorch gives infinity for all exponents, CHLO for even ones."""
    result = e.elementwise("chlo.zeta", x, q)
    exponent, start = (e.as_value(operand, e.element, e.type.shape) for operand in (x, q))
    infinite = e.both(_is_pole(e, start), e.compare("GE", exponent, e.like(exponent, 1)))
    return e.select(infinite, e.like(result, math.inf), result)
