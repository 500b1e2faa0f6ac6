"""Elementwise arithmetic and mathematical functions.

Source: specification, section "Ops".
"""

from __future__ import annotations

import functools

import numpy as np

from ....types import (
    BOOLEAN,
    COMPLEX,
    ELEMENT_TYPES,
    FLOAT,
    INTEGER,
    PLAIN,
    QUANTIZED_PER_TENSOR,
    SIGNED,
    TENSOR,
    ElementType,
    QuantizedType,
    TensorType,
)
from ..framework import constraints, costs, rules
from ..framework.accuracy import DEFAULT_ULPS, Accuracy, ErrorTerm, Rounding
from ..framework.declaration import Constraint, Op, Operand, Result, constraint
from ..framework.emitters import Emit
from ..framework.facts import Finiteness
from ..framework.traits import Memory
from ..numerics import complex64_functions as single_complex
from ..numerics import complex_functions, element_types, real_functions
from ..numerics import special_functions as special
from ..numerics.element_types import ArrayFunction
from .base import COMPUTED, Arithmetic, Binary, Elementwise, Transcendental, Unary


def real_component_type(view: Abs | ComplexComponent) -> str | None:
    """baseline_element_type(result) = baseline_element_type(operand), real for complex elements"""
    operand: TensorType = view.operand
    if isinstance(operand.element_type, ElementType):
        operand = operand.with_element_type(element_types.real_type(operand.element_type))
    return rules.same_baseline_element_type("result", view.result, "operand", operand)


class Abs(
    Unary, name="stablehlo.abs", functions={SIGNED | FLOAT: np.absolute, COMPLEX: complex_functions.modulus}
):
    """The absolute value; a complex number's modulus."""

    cost = costs.INSTRUCTION
    takes_modulus = True
    accuracy = Accuracy()
    rounding = Rounding.EXACT
    wider = "abs"
    emit = Emit(
        integers="absolute", integer_types=SIGNED, floats="absolute", keeps_digits=True, complex64="absolute"
    )

    single_complex = staticmethod(single_complex.absolute)

    operand = Operand(SIGNED | COMPUTED)
    result = Result(SIGNED | FLOAT | QUANTIZED_PER_TENSOR)
    C1 = constraints.same_shape("operand", "result")

    C2 = Constraint(real_component_type)

    @classmethod
    def result_element_type(cls, element_type: ElementType) -> ElementType:
        return element_types.real_type(element_type)


def _same_quantized_type(what: str) -> Constraint:
    """Quantized operands and results must have the same storage or expressed type."""

    def check(view: Add) -> str | None:
        values = [getattr(type, what) for type in view.quantized()]
        if all(value == values[0] for value in values):
            return None
        return f"the {what} types of lhs, rhs and result are {', '.join(map(str, values))}"

    return Constraint(check, f"{what}_type(lhs) = {what}_type(rhs) = {what}_type(result)")


def _result_axis(name: str) -> Constraint:
    """A per-axis quantized operand must have the result's quantization dimension."""

    def check(view: Add) -> str | None:
        axis, expected = map(rules.quantization_dimension, (getattr(view, name), view.result))
        if axis is None or axis == expected:
            return None
        return f"the quantization dimension of {name} is {axis}, but that of result is {expected}"

    return Constraint(check, f"is_per_axis_quantized({name}) implies the axis of {name} is that of result")


class Add(Binary, name="stablehlo.add", functions={PLAIN: np.add}):
    """The sum; for booleans OR."""

    partition = "linear"
    cost = costs.INSTRUCTION
    rounding = Rounding.CORRECT
    wider = "add"
    emit = Emit(integers="add", integer_types=BOOLEAN | INTEGER, floats="add", complex_numbers="add_complex")
    interval = "add"
    float_identity = -0.0
    any_order_on = BOOLEAN | INTEGER

    lhs = Operand(TENSOR)
    rhs = Operand(TENSOR)
    result = Result(TENSOR)

    def quantized(self) -> list[QuantizedType]:
        """The quantized ones among the element types of lhs, rhs and result."""
        types = [type.element_type for type in self.named_types().values()]
        return [type for type in types if isinstance(type, QuantizedType)]

    @constraint
    def C1(self) -> str | None:
        """without quantized tensors: type(lhs) = type(rhs) = type(result)"""
        alike = constraints.same_shape if self.quantized() else constraints.same_type
        return alike("lhs", "rhs", "result").check(self)

    @constraint
    def C2(self) -> str | None:
        """is_quantized(lhs) and is_quantized(rhs) and is_quantized(result), or none of them is"""
        if len(self.quantized()) in (0, 3):
            return None
        return f"lhs is {self.lhs}, rhs {self.rhs}, result {self.result}: all or none must be quantized"

    C3 = _same_quantized_type("storage")
    C4 = _same_quantized_type("expressed")

    @constraint
    def C5(self) -> str | None:
        """(is_per_axis_quantized(lhs) or is_per_axis_quantized(rhs)) = is_per_axis_quantized(result)"""
        lhs, rhs, result = (
            rules.quantization_dimension(type) is not None for type in self.named_types().values()
        )
        if (lhs or rhs) == result:
            return None
        return f"lhs is {self.lhs}, rhs {self.rhs}, but result {self.result}"

    C6 = _result_axis("lhs")
    C7 = _result_axis("rhs")


class Atan2(
    Binary,
    name="stablehlo.atan2",
    functions={FLOAT: real_functions.atan2, COMPLEX: special.atan2_complex},
    wide=FLOAT | COMPLEX,
):
    """The angle of the point (rhs, lhs)."""

    cost = costs.LONG_FUNCTION
    accuracy = Accuracy(DEFAULT_ULPS, complex_absolute=1e-15, term=ErrorTerm.ANGLE)
    wider = "mpmath.atan2"
    emit = Emit(
        function="trigonometry.atan2",
        fast_function="f32.inverse_trigonometry.atan2",
        f64_function="library.atan2",
    )

    lhs = Operand(COMPUTED)
    rhs = Operand(COMPUTED)
    result = Result(COMPUTED)


def _f32_or_f64(name: str) -> Constraint:
    """An operand must have elements of type f32 or f64."""

    def check(view: Op) -> str | None:
        type = getattr(view, name)
        if type.element_type in (ELEMENT_TYPES["f32"], ELEMENT_TYPES["f64"]):
            return None
        return f"{name} must have elements of type f32 or f64, but is {type}"

    return Constraint(check, f"{name} has elements of type f32 or f64")


class Complex(
    Elementwise,
    name="stablehlo.complex",
    assembly="operands attr-dict : complex-type",
    functions={FLOAT: special.complex_of},
):
    """Complex values from their real and imaginary parts."""

    rounding = Rounding.EXACT
    emit = Emit(by_attributes="complex_number")

    lhs = Operand(FLOAT)
    rhs = Operand(FLOAT)
    result = Result(COMPLEX)

    @classmethod
    def is_defined(cls, element_type: ElementType) -> bool:
        return element_type.name in ("f32", "f64")

    @classmethod
    def result_element_type(cls, element_type: ElementType) -> ElementType:
        return element_types.complex_type(element_type)

    @classmethod
    @functools.cache
    def function_of(cls, element_type: ElementType) -> ArrayFunction:
        return special.complex_of

    I1 = _f32_or_f64("lhs")
    I2 = _f32_or_f64("rhs")
    C1 = constraints.same_type("lhs", "rhs")
    C2 = constraints.same_shape("lhs", "result")

    @constraint
    def C3(self) -> str | None:
        """element_type(result) = complex<element_type(lhs)>"""
        if element_types.real_type(self.result.plain_element_type) is self.lhs.plain_element_type:
            return None
        return f"result has elements {self.result.element_type}, but lhs has {self.lhs.element_type}"


class Divide(
    Arithmetic,
    name="stablehlo.divide",
    functions={INTEGER: special.divide_integers, FLOAT: np.divide, COMPLEX: special.divide_complex},
    wide=COMPLEX,
):
    """The quotient; of integers rounded towards zero."""

    cost = costs.DIVISION
    rounding = Rounding.CORRECT_IF_REAL
    accuracy = Accuracy()
    wider = "divide"
    emit = Emit(integers="divide", floats="divide", complex64="divide")

    single_complex = staticmethod(single_complex.divide)


class ComplexComponent(Unary):
    """Base of operations that return a component of complex numbers."""

    rounding = Rounding.EXACT
    memory = Memory.STRIDED_VIEW

    operand = Operand(FLOAT | COMPLEX)
    result = Result(FLOAT)
    C1 = constraints.same_shape("operand", "result")

    C2 = Constraint(real_component_type)

    @classmethod
    def result_element_type(cls, element_type: ElementType) -> ElementType:
        return element_types.real_type(element_type)


class Imag(ComplexComponent, name="stablehlo.imag"):
    """The imaginary part; zero for real elements."""

    emit = Emit(floats="no_imaginary_part", keeps_digits=True, complex_numbers="imaginary_part")

    @classmethod
    @functools.cache
    def function_of(cls, element_type: ElementType) -> ArrayFunction:
        if element_type.category == COMPLEX:
            return lambda operand: operand.imag
        zero = np.zeros((), np.float32).astype(element_type.dtype)
        return lambda operand: np.full_like(operand, zero)


class Real(ComplexComponent, name="stablehlo.real"):
    """The real part; real elements themselves."""

    emit = Emit(floats="same", keeps_digits=True, complex_numbers="real_part")

    @classmethod
    @functools.cache
    def function_of(cls, element_type: ElementType) -> ArrayFunction:
        return lambda operand: operand.real


class Multiply(
    Binary,
    name="stablehlo.multiply",
    functions={BOOLEAN | INTEGER | FLOAT: np.multiply, COMPLEX: special.multiply_complex},
):
    """The product; for booleans AND."""

    cost = costs.COMPLEX_PASSES
    rounding = Rounding.CORRECT_IF_REAL
    accuracy = Accuracy()
    wider = "multiply"
    emit = Emit(
        integers="multiply",
        integer_types=BOOLEAN | INTEGER,
        floats="multiply",
        complex_numbers="multiply_complex",
    )
    interval = "multiply"
    float_identity = 1.0
    any_order_on = BOOLEAN | INTEGER


class Negate(Unary, name="stablehlo.negate", functions={INTEGER | FLOAT | COMPLEX: np.negative}):
    """The operand with the opposite sign."""

    partition = "linear"
    cost = costs.COMPLEX_PASSES
    rounding = Rounding.EXACT
    wider = "negate"
    finiteness = Finiteness.KEPT
    emit = Emit(integers="negate", floats="negate", keeps_digits=True, complex_numbers="negate_complex")

    operand = Operand(INTEGER | COMPUTED)
    result = Result(INTEGER | COMPUTED)


class Power(
    Arithmetic,
    name="stablehlo.power",
    functions={INTEGER: special.power_integers, FLOAT: real_functions.power, COMPLEX: special.power_complex},
    wide=FLOAT | COMPLEX,
):
    """lhs to the power of rhs."""

    cost = costs.LONG_FUNCTION
    accuracy = Accuracy(DEFAULT_ULPS, term=ErrorTerm.POWER)
    wider = "mpmath.power"
    emit = Emit(
        integers="power",
        function="logarithm.power",
        fast_function="f32.logarithm.power",
        f64_function="library.power",
    )

    @classmethod
    def carrier_function(cls, element_type: ElementType) -> ArrayFunction:
        if element_type.name == "complex<f64>":
            return special.power_complex_extended
        return super().carrier_function(element_type)


class Remainder(
    Arithmetic, name="stablehlo.remainder", functions={INTEGER: special.remainder_integers, FLOAT: np.fmod}
):
    """The remainder of lhs divided by rhs, with the sign of lhs."""

    cost = costs.DIVISION
    rounding = Rounding.EXACT
    emit = Emit(integers="remainder", floats="remainder")
    interval = "remainder"

    def verify(self) -> None:
        super().verify()
        if self.computed_type.category == COMPLEX:
            raise self.unsupported("the specification does not define the remainder of complex numbers")


class RoundingToInteger(Unary):
    """Base of operations that round to integers."""

    rounding = Rounding.EXACT
    finiteness = Finiteness.KEPT

    operand = Operand(FLOAT | QUANTIZED_PER_TENSOR)
    result = Result(FLOAT | QUANTIZED_PER_TENSOR)


class Rsqrt(
    Transcendental,
    name="stablehlo.rsqrt",
    functions={FLOAT: special.reciprocal_square_root, COMPLEX: special.reciprocal_square_root_complex},
):
    """1 / sqrt(operand)."""

    cost = costs.RECIPROCAL_ROOT
    accuracy = Accuracy(ulps=2)
    wider = "rsqrt"
    emit = Emit(
        complex64="rsqrt",
        function="roots.rsqrt",
        narrow_function="roots.rsqrt_by_steps",
        half_function="roots.rsqrt_by_steps",
        f64_function="roots.rsqrt_by_steps",
    )

    single_complex = staticmethod(single_complex.rsqrt)


class Sign(
    Unary,
    name="stablehlo.sign",
    functions={SIGNED: np.sign, FLOAT: special.sign, COMPLEX: special.sign_complex},
    wide=COMPLEX,
):
    """-1, 0 or 1; a complex number's direction."""

    takes_modulus = True
    rounding = Rounding.EXACT
    accuracy = Accuracy()
    wider = "sign"
    finiteness = Finiteness.KEPT
    emit = Emit(integers="sign", integer_types=SIGNED, floats="sign", keeps_digits=True, complex64="sign")

    single_complex = staticmethod(single_complex.sign)

    operand = Operand(SIGNED | COMPUTED)
    result = Result(SIGNED | COMPUTED)


class Sqrt(
    Transcendental,
    name="stablehlo.sqrt",
    functions={FLOAT: np.sqrt, COMPLEX: complex_functions.square_root},
    wide=COMPLEX,
):
    """The square root."""

    cost = costs.DIVISION
    rounding = Rounding.CORRECT_IF_REAL
    accuracy = Accuracy()
    wider = "sqrt"
    emit = Emit(floats="square_root", complex64="sqrt")

    single_complex = staticmethod(single_complex.sqrt)


class Subtract(Arithmetic, name="stablehlo.subtract", functions={INTEGER | FLOAT | COMPLEX: np.subtract}):
    """The difference."""

    partition = "linear"
    cost = costs.INSTRUCTION
    rounding = Rounding.CORRECT
    wider = "subtract"
    emit = Emit(integers="subtract", floats="subtract", complex_numbers="subtract_complex")
    interval = "subtract"


class Ceil(RoundingToInteger, name="stablehlo.ceil", functions={FLOAT: np.ceil}):
    """The least integer that is not less."""

    wider = "ceil"
    emit = Emit(floats="ceil", keeps_digits=True)


class Floor(RoundingToInteger, name="stablehlo.floor", functions={FLOAT: np.floor}):
    """The greatest integer that is not greater."""

    wider = "floor"
    emit = Emit(floats="floor", keeps_digits=True)


class RoundNearestAfz(
    RoundingToInteger, name="stablehlo.round_nearest_afz", functions={FLOAT: special.round_ties_away}
):
    """The nearest integer; of two the one that is farther from zero."""

    emit = Emit(floats="round_nearest_afz", keeps_digits=True)


class RoundNearestEven(RoundingToInteger, name="stablehlo.round_nearest_even", functions={FLOAT: np.rint}):
    """The nearest integer; of two the even one."""

    emit = Emit(floats="round_nearest_even", keeps_digits=True)
