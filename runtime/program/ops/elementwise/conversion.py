"""Operations that convert elements: to other types, by reinterpreting their bits, or to a lower precision.

Source: specification, section "Ops".
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ....types import (
    BOOLEAN,
    COMPLEX,
    DYNAMIC,
    FLOAT,
    INTEGER,
    PLAIN,
    QUANTIZED,
    QUANTIZED_PER_TENSOR,
    TENSOR,
    AnyElementType,
    Array,
    DType,
    ElementType,
    QuantizedType,
    TensorType,
    Type,
)
from ...ir import Builder, Value
from ..framework import constraints, costs, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import I32
from ..framework.declaration import Attribute, Constraint, Op, Operand, Result, constraint
from ..framework.emitters import Emit
from ..framework.traits import Memory
from ..numerics import element_types
from ..numerics.element_types import ArrayFunction
from ..numerics.quantization import dequantizer, quantizer, with_lookup_table
from .base import Elementwise


class Convert(Elementwise, name="stablehlo.convert", assembly="$operand attr-dict : same-type"):
    """Values of another element type."""

    partition = "convert"
    cost = costs.INSTRUCTION
    rounding = Rounding.CORRECT_IF_REAL
    wider = "convert"
    emit = Emit(by_attributes="convert")
    memory = Memory.MAY_FORWARD
    interval = "convert"

    operand = Operand(PLAIN)
    result = Result(PLAIN)
    C1 = constraints.same_shape("operand", "result")

    def plain_function(self, element_type: ElementType) -> ArrayFunction:
        return element_types.converter(element_type, self.result.plain_element_type)

    @property
    def is_exact_between_floats(self) -> bool:
        """Whether operand and result are floats, and the result's type has all values of the operand's."""
        source, target = self.operand.plain_element_type, self.result.plain_element_type
        return source.category == target.category == FLOAT and _has_all_values(source, target)

    def infer(self) -> list[Type] | None:
        return None


@functools.cache
def _has_all_values(source: ElementType, target: ElementType) -> bool:
    """Whether `target` has all values of another float type; zeros of both signs are one value.

    NumPy's rules of casting do not say so: ml_dtypes lets types of one width become each other.
    """
    if source.width >= 32:
        return source.width <= target.width
    values = np.arange(1 << source.width).astype(f"u{source.dtype.itemsize}").view(source.dtype)
    with np.errstate(all="ignore"):
        converted_values = element_types.converter(source, target)(values)
        numbers, converted_numbers = values.astype(np.float64), converted_values.astype(np.float64)
    return np.array_equal(numbers, converted_numbers, equal_nan=True)


def converted(builder: Builder, value: Value, type: Type) -> Value:
    """A value converted to a type of its shape; itself, if it has that type."""
    return value if value.type == type else builder.create(Convert.name, [value], [type]).result


def _same_expressed_type(view: UniformQuantize | UniformDequantize) -> str | None:
    """expressed_type(operand) = expressed_type(result); a type that is not quantized expresses itself"""
    expressed, expected = (rules.expressed_type(type.element_type) for type in (view.operand, view.result))
    if expressed is expected:
        return None
    return f"operand expresses {expressed}, but result {expected}"


class UniformQuantize(
    Elementwise, name="stablehlo.uniform_quantize", assembly="$operand attr-dict : same-type"
):
    """The nearest stored values; quantized operands are dequantized first."""

    takes_stored_values = True

    operand = Operand(FLOAT | QUANTIZED)
    result = Result(QUANTIZED)
    C1 = constraints.same_shape("operand", "result")

    C2 = Constraint(_same_expressed_type)

    @functools.cached_property
    def function(self) -> ArrayFunction:
        to_floats, from_floats = dequantizer(self.operand), quantizer(self.result)
        if rules.quantization_dimension(self.result) is not None:
            return lambda operand: from_floats(to_floats(operand))
        return with_lookup_table(self.operand, lambda operand: from_floats(to_floats(operand)))


class UniformDequantize(
    Elementwise, name="stablehlo.uniform_dequantize", assembly="$operand attr-dict : same-type"
):
    """The expressed values of quantized elements."""

    takes_stored_values = True

    operand = Operand(QUANTIZED)
    result = Result(FLOAT)
    C1 = constraints.same_shape("operand", "result")

    C2 = Constraint(_same_expressed_type)

    @functools.cached_property
    def function(self) -> ArrayFunction:
        return with_lookup_table(self.operand, dequantizer(self.operand))


class ReducePrecision(
    Elementwise,
    name="stablehlo.reduce_precision",
    assembly="$operand , format = custom(exponent_mantissa) attr-dict : same-type",
):
    """Rounds to a floating-point format with fewer exponent and mantissa bits."""

    cost = costs.Cost(costs.EXPENSIVE_COST, numpy_calls=16)
    rounding = Rounding.EXACT
    emit = Emit(by_attributes="reduce_precision")

    operand = Operand(FLOAT | QUANTIZED_PER_TENSOR)
    exponent_bits = Attribute(I32)
    mantissa_bits = Attribute(I32)
    output = Result(FLOAT | QUANTIZED_PER_TENSOR)
    C1 = constraints.same_baseline_type("operand", "output")

    C2 = constraints.at_least(1, "exponent_bits")
    C3 = constraints.not_negative("mantissa_bits")

    def plain_function(self, element_type: ElementType) -> ArrayFunction:
        return _precision_reducer(element_type, self.exponent_bits, self.mantissa_bits)


def _precision_reducer(element_type: ElementType, exponent_bits: int, mantissa_bits: int) -> ArrayFunction:
    """The function that rounds arrays of `element_type` to a format.

    Mantissas are rounded to nearest, ties to even; then values above the exponent range become
    infinite and values below it zero, with their sign. NaN stays NaN if the format has mantissa bits.
    """
    dtype = element_type.dtype
    import ml_dtypes

    layout: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    pattern = np.dtype(f"u{dtype.itemsize}")
    work = np.dtype(np.uint64 if dtype.itemsize == 8 else np.uint32)
    sign_mask = (1 << (element_type.width - 1)) if layout.nexp + layout.nmant < element_type.width else 0
    max_finite, bias = (_code(value, dtype) for value in (layout.max, 1))
    bias >>= layout.nmant
    infinity = np.asarray(np.inf).astype(dtype)

    def reduce(operand: Array) -> Array:
        bits = np.asarray(operand).view(pattern).astype(work)
        sign = bits & work.type(sign_mask)
        magnitude = bits ^ sign
        if mantissa_bits < layout.nmant:
            magnitude = _round_bits(magnitude, layout.nmant - mantissa_bits)
        overflow = magnitude > max_finite
        if exponent_bits < layout.nexp:
            reach = (1 << (exponent_bits - 1)) - 1
            exponent = magnitude >> work.type(layout.nmant)
            overflow |= exponent > bias + reach
            magnitude = np.where(exponent <= bias - reach, work.type(0), magnitude)
        reduced = (sign | magnitude).astype(pattern).view(dtype)
        signed_infinity = np.where(sign != 0, -infinity, infinity)
        rounded = np.where(overflow, signed_infinity, reduced)
        return np.where(np.isnan(operand), operand if mantissa_bits > 0 else infinity, rounded)

    return reduce


def _code(value: object, dtype: DType) -> int:
    """The bits of a positive value."""
    return int(np.asarray(value).astype(dtype).view(f"u{dtype.itemsize}"))


def _round_bits(magnitude: Array, dropped: int) -> Array:
    """Clear the lowest `dropped` bits, rounding to nearest, ties to even."""
    work = magnitude.dtype.type
    lsb = (magnitude >> work(dropped)) & work(1)
    rounded = magnitude + (work((1 << (dropped - 1)) - 1) + lsb)
    result: Array = (rounded >> work(dropped)) << work(dropped)
    return result


def _storage(element_type: AnyElementType) -> ElementType:
    return element_type.storage if isinstance(element_type, QuantizedType) else element_type


class BitcastConvert(Op, name="stablehlo.bitcast_convert", assembly="operands attr-dict : functional-type"):
    """The operand's bits read as another type, the lowest bits first."""

    partition = "elementwise"
    rounding = Rounding.EXACT
    depends_on_digits = True
    emit = Emit(by_attributes="bitcast_convert")
    memory = Memory.MAY_FORWARD

    takes_stored_values = True

    operand = Operand(TENSOR)
    result = Result(TENSOR)

    @constraint
    def C1(self) -> str | None:
        """shape(result) = shape(operand) except for a last dimension that makes up for differing widths"""
        operand, result = self.operand, self.result
        operand_bits, result_bits = (_storage(t.element_type).width for t in (operand, result))
        if operand_bits == result_bits:
            return rules.same_shape("result", result, "operand", operand.shape)
        if operand_bits > result_bits:
            return _split_mismatch("result", result, result_bits, "operand", operand, operand_bits)
        return _split_mismatch("operand", operand, operand_bits, "result", result, result_bits)

    @constraint
    def C2(self) -> str | None:
        """is_complex(operand) = is_complex(result)"""
        operand, result = self.operand.element_type, self.result.element_type
        if (operand.category == COMPLEX) == (result.category == COMPLEX):
            return None
        return f"operand has elements {operand}, but result has {result}"

    def bind(self) -> ArrayFunction:
        return self.function

    def reference(self, operand: Array) -> Any:
        return self.function(operand)

    @functools.cached_property
    def function(self) -> ArrayFunction:
        source, target = (_storage(t.element_type) for t in (self.operand, self.result))
        return _bitcaster(source, target)


def _split_mismatch(
    name: str, narrow: TensorType, narrow_bits: int, other: str, wide: TensorType, wide_bits: int
) -> str | None:
    """An element of the wider type is split over an additional last dimension of the narrower type."""
    if narrow.rank != wide.rank + 1:
        return f"{name} has rank {narrow.rank}, but must have one dimension more than {other}, {wide}"
    *leading, last = narrow.shape
    if not rules.shapes_agree(tuple(leading), wide.shape):
        return f"{name} is {narrow}, but {other} is {wide}"
    if last != DYNAMIC and last * narrow_bits != wide_bits:
        return (
            f"dimension {wide.rank} of {name} has {last} elements of {narrow_bits} bits, not {wide_bits} bits"
        )
    return None


@functools.cache
def _bitcaster(source: ElementType, target: ElementType) -> ArrayFunction:
    """The function from arrays of `source` to the same bits as `target`."""
    if source.width == target.width and source.width >= 8:
        # Without `asarray`, which stand-ins for arrays refuse (`ufunc_traces.py`).
        return lambda operand: operand.view(target.dtype)
    if source.width > target.width >= 8:
        return lambda operand: np.ascontiguousarray(np.asarray(operand)[..., np.newaxis]).view(target.dtype)
    if target.width > source.width >= 8:
        return lambda operand: np.ascontiguousarray(operand).view(target.dtype)[..., 0]
    return _bitcast_sub_byte(source, target)


def _bitcast_sub_byte(source: ElementType, target: ElementType) -> ArrayFunction:
    """A bitcast between element types narrower than the byte in which NumPy stores an element."""

    def convert(operand: Array) -> Array:
        operand = np.asarray(operand)
        octets = np.ascontiguousarray(operand[..., np.newaxis]).view(np.uint8)
        bits = np.unpackbits(octets, axis=-1, bitorder="little")[..., : source.width]
        if target.width < source.width:
            bits = bits.reshape(*operand.shape, source.width // target.width, target.width)
        elif target.width > source.width:
            bits = bits.reshape(*operand.shape[:-1], target.width)
        return _from_octets(np.packbits(bits, axis=-1, bitorder="little"), target)

    return convert


def _from_octets(octets: Array, target: ElementType) -> Array:
    """Elements of `target` from the bytes in the last dimension."""
    if target.width >= 8:
        return np.ascontiguousarray(octets).view(target.dtype)[..., 0]
    codes = octets[..., 0]
    if target.category & (BOOLEAN | INTEGER):
        return codes.astype(target.dtype)
    return codes.view(target.dtype)
