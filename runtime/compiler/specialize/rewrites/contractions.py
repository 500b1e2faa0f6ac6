"""Rewrites of products: of mixed or narrow types, without elements, and by windows of one element."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from ....program.ir import Operation, StructAttribute, Value, tensor_type
from ....types import ELEMENT_TYPES, FLOAT, TensorType
from ..framework.rewriter import Rewriter, has_static_unquantized_types


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
