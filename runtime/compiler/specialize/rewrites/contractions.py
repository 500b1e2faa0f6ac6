"""Rewrites of products: of mixed or narrow types, of no or single terms, and by windows of one element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from ....program.ir import Attribute, Operation, StructAttribute, Value, tensor_type
from ....program.ops.framework.attribute_kinds import PADDING
from ....types import ELEMENT_TYPES, FLOAT, TensorType
from ..framework.rewriter import Rewriter, defined_by, has_static_unquantized_types, is_splat_of


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


def product_of_single_terms(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A product of matrices and vectors that contracts one element multiplies elementwise.

    0 is added to each sum of such a product (`kernels/matmul/gemv.h`), so that a -0 becomes +0. A product of
    complex numbers whose components are rounded before they are added is one too.
    """
    if not has_static_unquantized_types(operation):
        return None
    from ....program.ops.contraction.dot_general import DotGeneral

    view = DotGeneral.of(operation)
    rows, k, columns = view.matrix_sizes
    if k != 1 or 1 not in (rows, columns):
        return None
    order = view.summation_order
    if order is None or (order.is_fused and not order.chain_bytes):
        return None
    batch = range(len(view.lhs_batching_dimensions))
    split, result = len(batch) + len(view.lhs_result_dimensions), tensor_type(operation.result)
    lhs_dims = (*view.lhs_batching_dimensions, *view.lhs_result_dimensions)
    rhs_dims = (*view.rhs_batching_dimensions, *view.rhs_result_dimensions)
    lhs = _factor(operation.operands[0], lhs_dims, range(split), result, rewriter)
    rhs = _factor(operation.operands[1], rhs_dims, (*batch, *range(split, result.rank)), result, rewriter)
    term = rewriter.create("stablehlo.multiply", [lhs, rhs], result)
    return rewriter.create("stablehlo.add", [term, rewriter.constant(result, 0)], result)


def _factor(
    value: Value, dims: Sequence[int], to: Sequence[int], result: TensorType, rewriter: Rewriter
) -> Value:
    """An operand of a product in the result's shape: each of `dims` goes to a dimension of the result.

    Its other dimensions are contracted, and have one element.
    """
    from .reshaping import broadcast

    type, target = tensor_type(value), dict(zip(dims, to, strict=True))
    ordered = sorted(dims)
    if len(ordered) < type.rank:
        shape = tuple([type.shape[d] for d in ordered])
        value = rewriter.create("stablehlo.reshape", [value], type.with_shape(shape))
    return broadcast(value, [target[d] for d in ordered], result, rewriter)


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


def convolution_of_padded(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A convolution of lhs with zeros around it takes lhs without them, and pads itself.

    Padding then copies nothing, and what computes lhs can be an epilogue of what it follows.
    """
    from ....program.ops.contraction.convolution import Convolution
    from ....program.ops.shape.slicing import Pad

    inner = defined_by(operation.operands[0], Pad.name)
    if inner is None or not has_static_unquantized_types(operation) or not is_splat_of(inner.operands[1], 0):
        return None
    view, pad = Convolution.of(operation), Pad.of(inner)
    amounts = list(zip(pad.edge_padding_low, pad.edge_padding_high, pad.interior_padding, strict=True))
    spatial = view.input_spatial_dimensions
    if any(any(edges) for d, edges in enumerate(amounts) if d not in spatial):
        return None
    # A pad removes elements where it is negative; zeros between lhs's elements would also lie in the padding.
    if any(min(low, high) < 0 or interior for low, high, interior in amounts):
        return None
    if max(view.lhs_dilation, default=1) > 1:
        return None
    padding = tuple(
        [
            (low + amounts[d][0], high + amounts[d][1])
            for d, (low, high) in zip(spatial, view.static_padding(), strict=True)
        ]
    )
    rhs = tensor_type(operation.operands[1])
    # Windows of one element are a product of matrices, which may add in another order. Padding ends that, and
    # padding that the convolution crops begins it.
    paddings = (view.static_padding(), padding)
    if any(all(window.is_trivial for window in view.windows(rhs.shape, each)) for each in paddings):
        return None
    attributes = {**operation.attributes, "padding": PADDING.encode(padding)}
    operands = [inner.operands[0], operation.operands[1]]
    return rewriter.create(operation.name, operands, tensor_type(operation.result), attributes)


def multiply_by(
    operation: Operation, matrix: Value, contracting: Sequence[int], batching: Sequence[int] = ()
) -> None:
    """Give a product another right operand, in place.

    Args:
        operation: a `dot_general`.
        matrix: the operand.
        contracting, batching: its contracting and batching dimensions, as many as the operand before it had.
    """
    operation.operands = (operation.operands[0], matrix)
    operation.attributes = attributes_with_dimensions(operation, "rhs", contracting, batching)


def attributes_with_dimensions(
    operation: Operation, side: str, contracting: Sequence[int], batching: Sequence[int]
) -> dict[str, Attribute]:
    """The attributes of a `dot_general` with other dimensions of an operand.

    Args:
        side: "lhs" or "rhs".
        contracting, batching: as many as before.
    """
    numbers = operation.attributes["dot_dimension_numbers"]
    assert isinstance(numbers, StructAttribute)
    fields = {**numbers.fields, f"{side}_contracting_dimensions": tuple(contracting)}
    if batching:
        fields[f"{side}_batching_dimensions"] = tuple(batching)
    replaced = StructAttribute(numbers.dialect, numbers.mnemonic, fields)
    return {**operation.attributes, "dot_dimension_numbers": replaced}


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
