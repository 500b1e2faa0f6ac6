"""The elementwise operations that are generated, with their element types and emitters.

These tables are read before any code is generated, so this module does not import LLVM: they name the
emitters, and `elementwise` resolves the names.

Source: specification, section "Ops"; the definition of CHLO.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ..ir import BoolAttribute, EnumAttribute, FloatAttribute, IntegerAttribute, Operation
from ..types import BOOLEAN, COMPLEX, FLOAT, INTEGER, SIGNED, ElementType, TensorType

INTEGERS: Final[dict[str, tuple[int, str]]] = {
    "stablehlo.abs": (SIGNED, "absolute"),
    "stablehlo.add": (BOOLEAN | INTEGER, "add"),
    "stablehlo.and": (BOOLEAN | INTEGER, "bitwise_and"),
    "stablehlo.count_leading_zeros": (INTEGER, "count_leading_zeros"),
    "stablehlo.divide": (INTEGER, "divide"),
    "stablehlo.maximum": (BOOLEAN | INTEGER, "maximum"),
    "stablehlo.minimum": (BOOLEAN | INTEGER, "minimum"),
    "stablehlo.multiply": (BOOLEAN | INTEGER, "multiply"),
    "stablehlo.negate": (INTEGER, "negate"),
    "stablehlo.not": (BOOLEAN | INTEGER, "bitwise_not"),
    "stablehlo.or": (BOOLEAN | INTEGER, "bitwise_or"),
    "stablehlo.popcnt": (INTEGER, "count_bits"),
    "stablehlo.power": (INTEGER, "power"),
    "stablehlo.remainder": (INTEGER, "remainder"),
    "stablehlo.shift_left": (INTEGER, "shift_left"),
    "stablehlo.shift_right_arithmetic": (INTEGER, "shift_right_arithmetic"),
    "stablehlo.shift_right_logical": (INTEGER, "shift_right_logical"),
    "stablehlo.sign": (SIGNED, "sign"),
    "stablehlo.subtract": (INTEGER, "subtract"),
    "stablehlo.xor": (BOOLEAN | INTEGER, "bitwise_xor"),
    "chlo.mulhi": (INTEGER, "multiply_high"),
}
"""Operations on these categories of integers and booleans; emitted by `elementwise/integers.py`."""

FLOATS: Final[dict[str, str]] = {
    "stablehlo.abs": "absolute",
    "stablehlo.add": "add",
    "stablehlo.ceil": "ceil",
    "stablehlo.divide": "divide",
    "stablehlo.floor": "floor",
    "stablehlo.imag": "no_imaginary_part",
    "stablehlo.maximum": "maximum",
    "stablehlo.minimum": "minimum",
    "stablehlo.multiply": "multiply",
    "stablehlo.negate": "negate",
    "stablehlo.real": "same",
    "stablehlo.remainder": "remainder",
    "stablehlo.round_nearest_afz": "round_nearest_afz",
    "stablehlo.round_nearest_even": "round_nearest_even",
    "stablehlo.sign": "sign",
    "stablehlo.sqrt": "square_root",
    "stablehlo.subtract": "subtract",
    "chlo.conj": "same",
    "chlo.square": "square",
}
"""Operations on floats, computed in the carrier type and rounded; emitted by `elementwise/floats.py`."""

PREDICATES: Final[dict[str, str]] = {
    "stablehlo.is_finite": "is_finite",
    "chlo.is_inf": "is_infinite",
    "chlo.is_neg_inf": "is_negative_infinity",
    "chlo.is_pos_inf": "is_positive_infinity",
}
"""Operations on floats with a boolean result; emitted by `elementwise/floats.py`."""

COMPLEX_NUMBERS: Final[dict[str, str]] = {
    "stablehlo.add": "add_complex",
    "stablehlo.imag": "imaginary_part",
    "stablehlo.maximum": "maximum_complex",
    "stablehlo.minimum": "minimum_complex",
    "stablehlo.multiply": "multiply_complex",
    "stablehlo.negate": "negate_complex",
    "stablehlo.real": "real_part",
    "stablehlo.subtract": "subtract_complex",
    "chlo.conj": "conjugate",
    "chlo.square": "square_complex",
}
"""Operations on complex values; emitted by `elementwise/floats.py`."""

COMPLEX64_FUNCTIONS: Final[dict[str, str]] = {
    "stablehlo.abs": "absolute",
    "stablehlo.divide": "divide",
    "stablehlo.exponential": "exponential",
    "stablehlo.log": "log",
    "stablehlo.rsqrt": "rsqrt",
    "stablehlo.sign": "sign",
    "stablehlo.sqrt": "sqrt",
}
"""Operations on complex<f32>; emitted by `elementwise/complex64.py`."""

MATHEMATICS: Final[dict[str, str]] = {
    "stablehlo.atan2": "trigonometry.atan2",
    "stablehlo.cbrt": "roots.cbrt",
    "stablehlo.cosine": "trigonometry.cos",
    "stablehlo.exponential": "exponential.exp",
    "stablehlo.exponential_minus_one": "exponential.expm1",
    "stablehlo.log": "logarithm.log",
    "stablehlo.log_plus_one": "logarithm.log1p",
    "stablehlo.logistic": "exponential.logistic",
    "stablehlo.power": "logarithm.power",
    "stablehlo.rsqrt": "roots.rsqrt",
    "stablehlo.sine": "trigonometry.sin",
    "stablehlo.tan": "trigonometry.tan",
    "stablehlo.tanh": "exponential.tanh",
    "chlo.acos": "trigonometry.acos",
    "chlo.acosh": "logarithm.acosh",
    "chlo.asin": "trigonometry.asin",
    "chlo.asinh": "logarithm.asinh",
    "chlo.atan": "trigonometry.atan",
    "chlo.atanh": "logarithm.atanh",
    "chlo.cosh": "exponential.cosh",
    "chlo.digamma": "gamma_functions.digamma",
    "chlo.erf": "error_functions.erf",
    "chlo.erf_inv": "error_functions.erf_inv",
    "chlo.erfc": "error_functions.erfc",
    "chlo.lgamma": "gamma_functions.lgamma",
    "chlo.sinh": "exponential.sinh",
    "chlo.tan": "trigonometry.tan",
}
"""Functions of floats narrower than f64; emitted by the modules of `mathematics`."""

MATHEMATICS_OF_NARROW_FLOATS: Final[dict[str, str]] = {
    "stablehlo.exponential": "narrow.exp",
    "stablehlo.exponential_minus_one": "narrow.expm1",
    "stablehlo.log": "narrow.log",
    "stablehlo.log_plus_one": "narrow.log1p",
    "stablehlo.logistic": "narrow.logistic",
    "stablehlo.rsqrt": "roots.rsqrt_by_steps",
    "stablehlo.tanh": "narrow.tanh",
    "chlo.erf": "narrow.erf",
}
"""Functions of `MATHEMATICS` that are computed in f32 for floats of at most `MAX_NARROW_SIGNIFICANT_BITS`."""

MAX_NARROW_SIGNIFICANT_BITS: Final = 8

MATHEMATICS_OF_F64: Final[dict[str, str]] = {
    "stablehlo.atan2": "library.atan2",
    "stablehlo.cbrt": "library.cbrt",
    "stablehlo.cosine": "library.cosine",
    "stablehlo.exponential": "library.exponential",
    "stablehlo.exponential_minus_one": "library.exponential_minus_one",
    "stablehlo.log": "library.logarithm",
    "stablehlo.log_plus_one": "library.log_plus_one",
    "stablehlo.logistic": "library.logistic",
    "stablehlo.power": "library.power",
    "stablehlo.rsqrt": "roots.rsqrt_by_steps",
    "stablehlo.sine": "library.sine",
    "stablehlo.tan": "library.tangent",
    "stablehlo.tanh": "library.tanh",
    "chlo.acos": "library.acos",
    "chlo.acosh": "library.acosh",
    "chlo.asin": "library.asin",
    "chlo.asinh": "library.asinh",
    "chlo.atan": "library.atan",
    "chlo.atanh": "library.atanh",
    "chlo.cosh": "library.cosh",
    "chlo.erf": "library.erf",
    "chlo.erf_inv": "library.erf_inv",
    "chlo.erfc": "library.erfc",
    "chlo.sinh": "library.sinh",
    "chlo.tan": "library.tangent",
}
"""Functions of f64 with the references' bits: calls of `kernels/math`, or emitted by `mathematics`."""

COMPLEX128_FUNCTIONS: Final[dict[str, str]] = {"stablehlo.exponential": "exponential"}
"""Operations on complex<f64>; emitted by `elementwise/complex128.py`."""


def emits(operation: Operation) -> bool:
    """Whether there is code for an operation, by its name, element types and attributes."""
    types = element_types(operation)
    if types is None:
        return False
    *operands, result = types
    if operation.name not in WITH_ATTRIBUTES:
        return covers(operation.name, operands[-1])
    is_covered, _ = WITH_ATTRIBUTES[operation.name]
    return is_covered(operation, operands, result)


def element_types(operation: Operation) -> list[ElementType] | None:
    """The element types of the operands, and of the one result; None if there are others."""
    if len(operation.results) != 1 or not operation.operands:
        return None
    types = [value.type for value in (*operation.operands, *operation.results)]
    elements = [
        type.element_type
        for type in types
        if isinstance(type, TensorType) and isinstance(type.element_type, ElementType)
    ]
    return elements if len(elements) == len(types) else None


def covers(name: str, type: ElementType) -> bool:
    """Whether there is code for an operation that depends only on name and element type."""
    if type.category == COMPLEX:
        functions = COMPLEX64_FUNCTIONS if type.width == 64 else COMPLEX128_FUNCTIONS
        return name in COMPLEX_NUMBERS or name in functions
    if type.category != FLOAT:
        return name in INTEGERS and INTEGERS[name][0] & type.category != 0
    functions = MATHEMATICS_OF_F64 if type.width == 64 else MATHEMATICS
    return name in functions or name in FLOATS or name in PREDICATES


def is_narrow_function(name: str, type: ElementType) -> bool:
    """Whether a function of floats is computed in f32."""
    return name in MATHEMATICS_OF_NARROW_FLOATS and _significant_bits(type) <= MAX_NARROW_SIGNIFICANT_BITS


def _significant_bits(type: ElementType) -> int:
    """Bits of a float's significand, the one that is not stored included."""
    from .llvm.float_formats import FORMATS

    if type.name in FORMATS:
        return FORMATS[type.name].mantissa_bits + 1
    return {"bf16": 8, "f8E8M0FNU": 1}.get(type.name, 24)


def _always(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> bool:
    return True


def _clamp(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> bool:
    return all(covers(f"stablehlo.{name}", result) for name in ("maximum", "minimum"))


def _compare(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> bool:
    return isinstance(operation.attributes.get("comparison_direction"), EnumAttribute)


def _bitcast_convert(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> bool:
    """Each element is reinterpreted as exactly one element."""
    (source,) = operands
    return source.width == result.width and (source.category == COMPLEX) == (result.category == COMPLEX)


def _reduce_precision(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> bool:
    bits = [operation.attributes.get(f"{field}_bits") for field in ("exponent", "mantissa")]
    return all(isinstance(attribute, IntegerAttribute) for attribute in bits)


def _next_after(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> bool:
    from .llvm.float_formats import has_ordered_bit_patterns

    return has_ordered_bit_patterns(result)


def _constant_like(operation: Operation, operands: Sequence[ElementType], result: ElementType) -> bool:
    return isinstance(operation.attributes.get("value"), (BoolAttribute, FloatAttribute, IntegerAttribute))


WITH_ATTRIBUTES: Final[
    dict[str, tuple[Callable[[Operation, Sequence[ElementType], ElementType], bool], str]]
] = {
    "stablehlo.bitcast_convert": (_bitcast_convert, "bitcast_convert"),
    "stablehlo.clamp": (_clamp, "clamp"),
    "stablehlo.compare": (_compare, "compare"),
    "stablehlo.complex": (_always, "complex_number"),
    "stablehlo.convert": (_always, "convert"),
    "stablehlo.reduce_precision": (_reduce_precision, "reduce_precision"),
    "stablehlo.select": (_always, "select"),
    "chlo.constant_like": (_constant_like, "constant_like"),
    "chlo.next_after": (_next_after, "next_after"),
}
"""Operations whose code depends on more than the name and one element type: whether there is code for one,
and the name of its rule in `elementwise/attribute_rules.py`."""
