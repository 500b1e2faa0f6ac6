"""Rewrites a product with a dot algorithm as products without one, of rounded or split operands."""

from __future__ import annotations

import functools
from typing import Final

from ....program.ir import EnumAttribute, IntegerAttribute, Operation, Value, plain_element_type, tensor_type
from ....program.ops.contraction.dot_algorithm import working_type
from ....program.ops.contraction.dot_general import DotGeneral
from ....program.ops.contraction.low_precision_matmul import (
    NarrowOrder,
    implementation_of,
    supports_sizes,
    supports_types,
)
from ....program.ops.contraction.matmul import PRECISION_CONFIG, Precision
from ....types import ELEMENT_TYPES, FLOAT, INTEGER, TF32, ElementType, TensorType
from ..framework.rewriter import Rewriter

_BOOLEAN: Final = ELEMENT_TYPES["i1"]
_I32: Final = ELEMENT_TYPES["i32"]
_TF32_FORMAT: Final = {
    "exponent_bits": IntegerAttribute(8, _I32),
    "mantissa_bits": IntegerAttribute(10, _I32),
}
_NOT_EQUAL: Final = {"comparison_direction": EnumAttribute("stablehlo", "comparison_direction", "NE")}


def dot_of_components(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A product by an algorithm is the sum of products without one, by `ops.contraction.dot_algorithm`.

    Rounding and splitting an operand then run on all threads, fuse with its producer, and serve all products
    that share the operand.
    """
    view = DotGeneral.of(operation)
    algorithm = view.algorithm
    types = [tensor_type(value) for value in (*operation.operands, operation.result)]
    if algorithm is None or algorithm.components is None:
        return None
    if not all(type.category & (FLOAT | INTEGER) for type in types):
        return None
    precisions = (algorithm.lhs_precision_type, algorithm.rhs_precision_type)
    lhs_components, rhs_components = [
        _components(operand, precision, algorithm.components, rewriter)
        for operand, precision in zip(operation.operands, precisions, strict=True)
    ]
    multiply = functools.partial(_product, operation, view.matrix_sizes, rewriter)
    *minor, total = [multiply(lhs_components[i], rhs_components[j]) for i, j in algorithm.pairs]
    if minor:
        total = _sum(minor, total, rewriter)
    accumulated = _converted(total, algorithm.accumulation_type, rewriter)
    return _converted(accumulated, plain_element_type(operation.result), rewriter)


def _components(value: Value, precision: ElementType, count: int, rewriter: Rewriter) -> list[Value]:
    """The components of an operand (`ops.contraction.dot_algorithm`) in the precision's type; tf32 in f32."""
    remainder = _converted(value, working_type(precision), rewriter)
    splits: list[Value] = []
    while True:
        splits.append(_rounded(remainder, precision, rewriter))
        if len(splits) == count:
            return splits
        component, type = _converted(splits[-1], working_type(precision), rewriter), tensor_type(remainder)
        truth = TensorType(type.shape, _BOOLEAN)
        is_finite = rewriter.create("stablehlo.is_finite", [component], truth)
        left = rewriter.create("stablehlo.subtract", [remainder, component], type)
        remainder = rewriter.create("stablehlo.select", [is_finite, left, rewriter.constant(type, 0)], type)


def _rounded(value: Value, precision: ElementType, rewriter: Rewriter) -> Value:
    if precision is TF32:
        return rewriter.create("stablehlo.reduce_precision", [value], value.type, _TF32_FORMAT)
    return _converted(value, precision, rewriter)


def _product(
    operation: Operation, sizes: tuple[int, int, int], rewriter: Rewriter, left: Value, right: Value
) -> Value:
    """The product of two components, in f32 or f64, where narrower instructions have not the same bits."""
    lhs, rhs = plain_element_type(left), plain_element_type(right)
    target = working_type(lhs)
    is_narrow = supports_types(lhs, rhs, target) and supports_sizes(NarrowOrder.F32, *sizes)
    if not is_narrow or implementation_of(NarrowOrder.F32) is None:
        left, right = (_converted(value, target, rewriter) for value in (left, right))
    attributes = {name: value for name, value in operation.attributes.items() if name != "algorithm"}
    # By default, products of narrow floats are added in another order than those of f32.
    attributes["precision_config"] = PRECISION_CONFIG.encode((Precision.HIGHEST, Precision.HIGHEST))
    type = TensorType(tensor_type(operation.result).shape, target)
    return rewriter.create(operation.name, [left, right], type, attributes)


def _sum(minor: list[Value], total: Value, rewriter: Rewriter) -> Value:
    """The sum of products, in order; where the small ones give NaN, the largest one alone counts."""
    type = tensor_type(total)
    remainder = functools.reduce(lambda a, b: rewriter.create("stablehlo.add", [a, b], type), minor)
    is_nan = rewriter.create(
        "stablehlo.compare", [remainder, remainder], TensorType(type.shape, _BOOLEAN), _NOT_EQUAL
    )
    corrected_sum = rewriter.create("stablehlo.add", [remainder, total], type)
    return rewriter.create("stablehlo.select", [is_nan, total, corrected_sum], type)


def _converted(value: Value, element_type: ElementType, rewriter: Rewriter) -> Value:
    """A value in another type; tf32 is held in f32."""
    target = working_type(element_type) if element_type is TF32 else element_type
    if plain_element_type(value) is target:
        return value
    return rewriter.create("stablehlo.convert", [value], TensorType(tensor_type(value).shape, target))

