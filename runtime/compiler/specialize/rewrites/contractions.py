"""Rewrites of products and reductions that only convert, only reshape, or have no elements to combine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from ....program.ir import Operation, StructAttribute, Value, plain_element_type, tensor_type
from ....program.ops.reduction.bodies import monoid
from ....program.ops.reduction.reduce import Reduce
from ....types import BOOLEAN, ELEMENT_TYPES, FLOAT, INTEGER, SIGNED, TensorType, storage_range
from ..framework.rewriter import Rewriter, has_static_unquantized_types, is_splat_of, splat
from .reshaping import broadcast, reshaped


def product_of_mixed_types(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A product of mixed kinds of element types becomes a product of one kind between conversions.

    Implementations then serve products of one kind only.
    """
    from ....program.ops.contraction.mixed_matmul import product_types

    types = [tensor_type(value) for value in (*operation.operands[:2], operation.result)]
    around = product_types(*[type.element_type for type in types])
    if around is None:
        return None
    lhs, rhs, product = [
        TensorType(type.shape, element_type) for type, element_type in zip(types, around, strict=True)
    ]
    operands = [
        rewriter.create("stablehlo.convert", [value], type)
        for value, type in zip(operation.operands, (lhs, rhs), strict=False)
    ]
    result = rewriter.create(
        operation.name, [*operands, *operation.operands[2:]], product, operation.attributes
    )
    return rewriter.create("stablehlo.convert", [result], types[2])


def product_over_empty(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A product whose contracted dimensions have no elements is zero."""
    lhs, rhs, result = [tensor_type(value) for value in (*operation.operands[:2], operation.result)]
    if not has_static_unquantized_types(operation) or not result.size or lhs.size or rhs.size:
        return None
    return rewriter.constant(result, 0)


def pointwise_convolution(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A convolution by windows of one element becomes a product of matrices, if that has the same bits.

    A product packs no windows, and can have an epilogue.
    """
    if not has_static_unquantized_types(operation):
        return None
    from ....program.ops.contraction.convolution import Convolution
    from ....program.ops.contraction.convolution_algorithms import is_matmul

    view = Convolution.of(operation)
    lhs, rhs, result = [tensor_type(value) for value in (*operation.operands, operation.result)]
    if not is_matmul(view, view.windows(rhs.shape, view.static_padding()), lhs.shape, rhs.shape):
        return None
    matrix_type = TensorType((lhs.shape[-1], result.shape[-1]), rhs.element_type)
    matrix = rewriter.create("stablehlo.reshape", [operation.operands[1]], matrix_type)
    numbers = StructAttribute(
        "stablehlo",
        "dot",
        {"lhs_contracting_dimensions": (lhs.rank - 1,), "rhs_contracting_dimensions": (0,)},
    )
    return rewriter.create(
        "stablehlo.dot_general", [operation.operands[0], matrix], result, {"dot_dimension_numbers": numbers}
    )


_MIN_CONVERTED_MULTIPLICATIONS: Final = 1 << 18
"""Multiplications of a product from which on separate conversions are faster than converting inside it."""


def low_precision_dot(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A product of narrow floats that is computed in f32 becomes an f32 product between conversions.

    Conversions then run on all threads, fuse with the producers of the operands and the users of the result,
    and several products share the conversion of one operand.
    """
    types = [tensor_type(value) for value in (*operation.operands, operation.result)]
    if all(type.dtype == np.float32 or type.category != FLOAT for type in types):
        return None
    from ....program.ops.contraction.dot_general import DotGeneral

    view = DotGeneral.of(operation)
    contracted_size = math.prod([types[0].shape[d] for d in view.lhs_contracting_dimensions])
    if types[2].size * contracted_size < _MIN_CONVERTED_MULTIPLICATIONS or not view.is_converted:
        return None
    lhs, rhs, result = [TensorType(type.shape, ELEMENT_TYPES["f32"]) for type in types]
    operands = [
        rewriter.create("stablehlo.convert", [value], type)
        for value, type in zip(operation.operands, (lhs, rhs), strict=True)
    ]
    product = rewriter.create(operation.name, operands, result, operation.attributes)
    return rewriter.create("stablehlo.convert", [product], types[2])


_NEUTRAL: Final = {"add": 0, "multiply": 1, "or": 0, "xor": 0}
_NEUTRAL_OF_FLOATS: Final = {"add": -0.0, "multiply": 1.0, "minimum": math.inf, "maximum": -math.inf}


def reduce_over_unit_dimensions(operation: Operation, rewriter: Rewriter) -> tuple[Value] | None:
    """A reduction over dimensions of size 1, from a neutral initial value, is a reshape.

    A sum of floats from +0 adds that, in any order once or more often: a -0 becomes +0.
    """
    if len(operation.results) != 1 or not has_static_unquantized_types(operation):
        return None
    value, initial = operation.operands
    type, result = tensor_type(value), tensor_type(operation.result)
    if type.element_type != result.element_type or not type.category & (INTEGER | BOOLEAN | FLOAT):
        return None
    view = Reduce.of(operation)
    name = monoid(view.body)
    if name is None or any(type.shape[d] != 1 for d in view.dimensions):
        return None
    if _is_neutral(initial, name):
        return (reshaped(value, operation.result, rewriter),)
    if type.category != FLOAT or name != "add" or not is_splat_of(initial, 0.0):
        return None
    operands = [rewriter.constant(result, 0), reshaped(value, operation.result, rewriter)]
    return (rewriter.create("stablehlo.add", operands, result),)


def reduce_of_empty(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """A reduction of tensors without elements holds the initial values alone."""
    if 0 not in tensor_type(operation.operands[0]).shape:
        return None
    initial = operation.operands[len(operation.results) :]
    types = [tensor_type(result) for result in operation.results]
    if any(tensor_type(v).element_type != t.element_type for v, t in zip(initial, types, strict=True)):
        return None
    return [broadcast(value, (), type, rewriter) for value, type in zip(initial, types, strict=True)]


def _is_neutral(initial: Value, name: str) -> bool:
    """Whether an initial value changes nothing under a monoid."""
    if tensor_type(initial).category == FLOAT:
        return is_splat_of(initial, _NEUTRAL_OF_FLOATS[name])
    start = splat(initial)
    return start is not None and int(start) == _neutral(name, initial)


def _neutral(name: str, value: Value) -> int:
    """The integer or boolean that changes nothing under a monoid."""
    element_type = plain_element_type(value)
    low, high = (0, 1) if element_type.category == BOOLEAN else storage_range(element_type)
    if name == "and":
        return -1 if element_type.category == SIGNED else high
    if element_type.category == BOOLEAN and name in ("add", "multiply"):
        return 0 if name == "add" else 1
    return {"minimum": high, "maximum": low}.get(name, _NEUTRAL.get(name, 0))
