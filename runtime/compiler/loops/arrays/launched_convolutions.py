"""Convolutions in the types and layouts of the kernels that native loops launch.

What a kernel would convert or copy in each call becomes operations of the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....kernels.named_tuples import NamedTuple
from ....program.ir import Block, Builder, Operation, StructAttribute, Value, tensor_type
from ....program.ir.attributes import FieldValue
from ....types import ElementType
from ...specialize.framework.rewriter import dimensions

if TYPE_CHECKING:
    from ....program.ops.contraction.convolution import Convolution

_CONVOLUTION = "stablehlo.convolution"


class _Form(NamedTuple):
    """How operands and the result are transposed around a convolution.

    Attributes:
        lhs, rhs: the order of dimensions in which the convolution reads an operand.
        result: the dimension of the convolution's result that is each dimension of the result.
        numbers: the dimension numbers of lhs, rhs and the result.
    """

    lhs: Sequence[int]
    rhs: Sequence[int]
    result: Sequence[int]
    numbers: tuple[Sequence[int], Sequence[int], Sequence[int]]


def in_kernel_form(operation: Operation) -> list[Operation]:
    """The operations that compute a convolution of floats as its kernel does; the last one has the result.

    It is the convolution alone if that has the form of its kernel.
    """
    if operation.name != _CONVOLUTION:
        return [operation]
    from ....program.ops.contraction.convolution import Convolution
    from ....program.ops.contraction.convolution_algorithms import native_convolution
    from ....program.ops.contraction.matmul import PRECISION_CONFIG, Precision

    view = Convolution.of(operation)
    windows = view.windows(view.rhs.shape, view.static_padding())
    if not view.is_float or native_convolution(view, windows, view.lhs.shape, view.rhs.shape, 1) is None:
        return [operation]
    builder, form, computed = Builder(Block()), _form(view), view.conversions[-1]
    lhs, rhs = [
        _transposed(builder, _converted(builder, operand, computed), order)
        for operand, order in zip(operation.operands, (form.lhs, form.rhs), strict=True)
    ]
    shape = view.result.shape
    sizes = dict(zip(form.result, shape, strict=True))
    type = view.result.with_shape(tuple([sizes[d] for d in range(len(shape))])).with_element_type(computed)
    attributes = {**operation.attributes, "dimension_numbers": _numbers(operation, form)}
    if any(each.element_type is not computed for each in (view.lhs, view.rhs, view.result)):
        # Winograd's algorithm serves operands of f32, but not those that are converted to it.
        attributes["precision_config"] = PRECISION_CONFIG.encode((Precision.HIGHEST,) * 2)
    convolved = builder.create(_CONVOLUTION, [lhs, rhs], [type], attributes, location=operation.location)
    _converted(builder, _transposed(builder, convolved.result, form.result), view.result.plain_element_type)
    return builder.block.operations


def _converted(builder: Builder, value: Value, element_type: ElementType) -> Value:
    type = tensor_type(value)
    if type.element_type is element_type:
        return value
    return builder.create("stablehlo.convert", [value], [type.with_element_type(element_type)]).result


def _transposed(builder: Builder, value: Value, order: Sequence[int]) -> Value:
    type = tensor_type(value)
    if list(order) == list(range(type.rank)):
        return value
    transposed = type.with_shape(tuple([type.shape[d] for d in order]))
    return builder.create("stablehlo.transpose", [value], [transposed], dimensions(permutation=order)).result


def _form(view: Convolution) -> _Form:
    """The form in which the kernel needs no copies, where it would make some."""
    from ....kernels.convolution.copies import (
        copies_lhs,
        prefers_contiguous_features,
        prefers_contiguous_groups,
    )
    from ....kernels.convolution.problem import problem_of
    from ....program.ops.contraction.convolution_algorithms import axes, numbers

    windows = view.windows(view.rhs.shape, view.static_padding())
    shapes = view.lhs.shape, view.rhs.shape, view.result.shape
    groups = view.feature_group_count, view.batch_group_count
    of_axes, computed = axes(view, windows, shapes[0]), view.conversions[-1]
    problem = problem_of(shapes, of_axes, numbers(view), computed.dtype, groups, None)
    (lhs, rhs, result), in_order = problem.numbers, range(view.lhs.rank)
    if not view.is_depthwise and prefers_contiguous_groups(problem):
        order = (*lhs[1:], lhs[0])
        return _Form(order, rhs, _inverse(result), ((in_order[-1], *in_order[:-1]), in_order, in_order))
    if not view.is_depthwise and prefers_contiguous_features(problem, shapes):
        if copies_lhs(problem):
            return _Form(lhs, in_order, _inverse(result), (in_order, rhs, in_order))
        return _Form(in_order, in_order, _inverse(result), (lhs, rhs, in_order))
    return _Form(in_order, in_order, in_order, problem.numbers)


def _inverse(order: Sequence[int]) -> list[int]:
    """The position of each dimension in an order."""
    return sorted(range(len(order)), key=lambda position: order[position])


def _numbers(operation: Operation, form: _Form) -> StructAttribute:
    """The dimension numbers of a form."""
    numbers = operation.attributes["dimension_numbers"]
    assert isinstance(numbers, StructAttribute)
    lhs, rhs, result = [tuple(each) for each in form.numbers]
    fields: dict[str, FieldValue] = {
        "input_batch_dimension": lhs[0],
        "input_spatial_dimensions": lhs[1:-1],
        "input_feature_dimension": lhs[-1],
        "kernel_spatial_dimensions": rhs[:-2],
        "kernel_input_feature_dimension": rhs[-2],
        "kernel_output_feature_dimension": rhs[-1],
        "output_batch_dimension": result[0],
        "output_spatial_dimensions": result[1:-1],
        "output_feature_dimension": result[-1],
    }
    return StructAttribute(numbers.dialect, numbers.mnemonic, fields)
