"""Small products of bf16, f16, f32, f64, complex<f32> and complex<f64>, in the summation order of
`nimblehlo.program.ops.contraction.float_matmul`. Narrow floats are widened to f32 where they are read.

`matrix_products` generates products of matrices, `vector_products` those of matrices and vectors of floats.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final, cast

from llvmlite import ir

from ....program.ir import Operation, plain_element_type, tensor_type
from ....program.ir.affine import AffineExpr, identity_map, row_major_strides
from ....program.ops.contraction.float_matmul import SummationOrder
from ....program.ops.framework.declaration import Op
from ....types import COMPLEX, ELEMENT_TYPES, FLOAT, ElementType, TensorType
from ..llvm.values import Value, call
from ..scalars import Binding, Storage
from ..scalars.boxes import Side, copy, merged_dimensions, window
from ..scalars.emitter import ElementRule, EmitRule, Mode
from .emitter import ArrayEmitter
from .matrix_products import ComplexMatrixProduct, MatrixProduct, RoundedComplexMatrixProduct, StackSizes
from .product_elements import WIDENED_TYPES, multiplied_type
from .vector_products import GemvEmitter, MatrixLayout

if TYPE_CHECKING:
    from ....program.ops.contraction.dot_general import DotGeneral

MAX_ELEMENTS = 1 << 14
"""Maximum elements of an operand that must be transposed into scratch memory."""
MAX_COLUMN_ELEMENTS = 1 << 18
"""Maximum elements of a matrix whose columns are contiguous where a vector is multiplied with it: the code
reads one cache line of each row after the other. The kernel, which keeps the accumulators of many columns in
memory and serves no smaller matrices, takes 0.82 times as long for 520 x 520 and 800 x 800 f32, and 0.72 for
1100 x 1100 (Zen 4)."""


def _product(operation: Operation) -> DotGeneral:
    return cast("DotGeneral", Op.of(operation))


def _order(view: DotGeneral) -> SummationOrder | None:
    """The order in which products are added; None if it is not generated."""
    return view.widened_order or view.summation_order


def _summation_order(view: DotGeneral) -> SummationOrder:
    """`_order` of a product for which `_check` finds no reason."""
    order = _order(view)
    assert order is not None
    return order


def _is_generated(types: Collection[ElementType]) -> bool:
    """Whether code is generated for operands and a result of these element types."""
    if len(types) == 1 and all(type.category & (FLOAT | COMPLEX) and type.width >= 32 for type in types):
        return True
    return all(type in (*WIDENED_TYPES, ELEMENT_TYPES["f32"]) for type in types)


def _check(operation: Operation, mode: Mode) -> str | None:
    view = _product(operation)
    types = {plain_element_type(value) for value in (*operation.operands, operation.result)}
    if not _is_generated(types) or view.algorithm is not None:
        return "has element types that are not generated"
    order = _order(view)
    if order is None:
        return "sums in an order that is not generated"
    for side, type in enumerate((view.lhs, view.rhs)):
        if type.size > MAX_ELEMENTS and _is_copied(view, side, order):
            return f"would copy an operand of more than {MAX_ELEMENTS} elements"
    if order.chain_bytes and _sizes(view).k > order.k_block:
        return f"sums more than {order.k_block} products"
    if order.chain_bytes and _column_elements(view) > MAX_COLUMN_ELEMENTS:
        return f"reads columns of a matrix of more than {MAX_COLUMN_ELEMENTS} elements"
    return None


def _column_elements(view: DotGeneral) -> int:
    """The elements of a matrix that is multiplied with a vector; 0 if its rows are contiguous."""
    layout, sizes = _matrix_layout(view), _sizes(view)
    if layout is None or layout.k_stride == 1:
        return 0
    return sizes.rows * sizes.columns * sizes.k


def _multiplications(operation: Operation) -> int:
    view = _product(operation)
    return math.prod(_sizes(view)) * (4 if view.result.category == COMPLEX else 1)


def _sizes(view: DotGeneral) -> StackSizes:
    def of(shape: Sequence[int], dimensions: Sequence[int]) -> int:
        return math.prod([shape[d] for d in dimensions])

    return StackSizes(
        of(view.lhs.shape, view.lhs_batching_dimensions),
        of(view.lhs.shape, view.lhs_result_dimensions),
        of(view.lhs.shape, view.lhs_contracting_dimensions),
        of(view.rhs.shape, view.rhs_result_dimensions),
    )


def _emit(emitter: ArrayEmitter, operation: Operation) -> Sequence[Binding]:
    view = _product(operation)
    operands, orders = [emitter.storage(operand) for operand in view.operation.operands], _orders(view)
    result = emitter.allocate_result(operation.result)
    sizes, order = _sizes(view), _summation_order(view)
    if not order.chain_bytes:
        left, right = [_in_order(emitter, *pair) for pair in zip(operands, orders, strict=True)]
        _matrix_product(view, order)(emitter, sizes, left, right, result).emit(order)
        return [emitter.result(result)]
    side = _matrix_side(view)
    vector, matrix = _in_order(emitter, operands[1 - side], orders[1 - side]), operands[side]
    rows, layout = sizes.rows * sizes.columns, _matrix_layout(view)
    if layout is None:
        batch, row, k = _matrix_dimensions(view)
        matrix = _in_order(emitter, matrix, (*batch, *row, *k))
        layout = MatrixLayout((sizes.batch,), (rows * sizes.k,), sizes.k, 1)
    accumulator_count = order.chain_bytes // multiplied_type(view.result.plain_element_type).dtype.itemsize
    GemvEmitter(emitter, vector, matrix, result, (rows, sizes.k), layout, accumulator_count).emit()
    return [emitter.result(result)]


def _matrix_product(view: DotGeneral, order: SummationOrder) -> type[MatrixProduct]:
    """What generates the products of matrices of the view's element type."""
    if view.result.category != COMPLEX:
        return MatrixProduct
    return ComplexMatrixProduct if order.is_fused else RoundedComplexMatrixProduct


def _orders(view: DotGeneral) -> tuple[Sequence[int], Sequence[int]]:
    """The dimensions of both operands, ordered as stacks of [row, k] and of [k, column]."""
    return (
        (*view.lhs_batching_dimensions, *view.lhs_result_dimensions, *view.lhs_contracting_dimensions),
        (*view.rhs_batching_dimensions, *view.rhs_contracting_dimensions, *view.rhs_result_dimensions),
    )


def _is_copied(view: DotGeneral, side: int, order: SummationOrder) -> bool:
    """Whether the code copies an operand: 0 for lhs, 1 for rhs."""
    if order.chain_bytes and side == _matrix_side(view):
        return _matrix_layout(view) is None
    return not _is_in_order((view.lhs, view.rhs)[side].shape, _orders(view)[side])


def _matrix_side(view: DotGeneral) -> int:
    """The operand of a product with vectors that has the matrices: 0 for lhs, 1 for rhs."""
    return 0 if _sizes(view).columns == 1 else 1


def _matrix_dimensions(view: DotGeneral) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """The dimensions of the matrices of a product with vectors: batching, rows, and the contracted ones."""
    if _matrix_side(view) == 0:
        return view.lhs_batching_dimensions, view.lhs_result_dimensions, view.lhs_contracting_dimensions
    return view.rhs_batching_dimensions, view.rhs_result_dimensions, view.rhs_contracting_dimensions


def _matrix_layout(view: DotGeneral) -> MatrixLayout | None:
    """The layout in memory of the matrices of a product with vectors; None if they must be copied."""
    shape = (view.lhs, view.rhs)[_matrix_side(view)].shape
    strides = row_major_strides(shape)
    batch, rows, k = [
        ([shape[d] for d in dimensions], [strides[d] for d in dimensions])
        for dimensions in _matrix_dimensions(view)
    ]
    (_, (row_strides,)), (_, (k_strides,)) = [
        merged_dimensions(sizes, [of_sizes]) for sizes, of_sizes in (rows, k)
    ]
    if len(row_strides) > 1 or len(k_strides) > 1:
        return None
    row_stride, k_stride = sum(row_strides), sum(k_strides) or 1
    return MatrixLayout(*batch, row_stride, k_stride) if 1 in (row_stride, k_stride) else None


def _is_in_order(shape: Sequence[int], dimensions: Sequence[int]) -> bool:
    large = [d for d in dimensions if shape[d] > 1]
    return large == sorted(large)


def _in_order(emitter: ArrayEmitter, storage: Storage, dimensions: Sequence[int]) -> Storage:
    """An array with its dimensions in the given order; a copy unless it is stored in that order."""
    shape = storage.type.shape
    sizes = [shape[d] for d in dimensions]
    ordered_type = storage.type.with_shape(tuple(sizes))
    if _is_in_order(shape, dimensions):
        return Storage(ordered_type, storage.pointer)
    computed, strides = emitter.allocate_scratch(ordered_type), row_major_strides(shape)
    copy(emitter, window(computed, sizes), Side(storage, 0, [strides[d] for d in dimensions]), sizes)
    return computed


def _outer_product(operation: Operation) -> ElementRule | None:
    """The rule of an element of a product that contracts one element: it is one product of two elements."""
    view = _product(operation)
    order = _summation_order(view)
    is_widened = view.widened_order is not None
    if order.chain_bytes or is_widened or view.result.category == COMPLEX or _sizes(view).k != 1:
        return None
    if _is_copied(view, 0, order) or _is_copied(view, 1, order):
        return None
    return ElementRule(_factor_maps, _emit_factors)


def _factor_maps(operation: Operation) -> tuple[Sequence[AffineExpr], Sequence[AffineExpr]]:
    """The indices of the elements of both operands that an outer product multiplies."""
    view, rank = _product(operation), tensor_type(operation.result).rank
    batching = len(view.lhs_batching_dimensions)
    result, zero = identity_map(rank), AffineExpr(0, (0,) * rank)
    split = batching + len(view.lhs_result_dimensions)

    def operand_map(
        type: TensorType, dimensions: Sequence[int], indices: Sequence[AffineExpr]
    ) -> list[AffineExpr]:
        by_dimension = dict(zip(dimensions, indices, strict=True))
        return [by_dimension.get(dimension, zero) for dimension in range(type.rank)]

    lhs_dimensions = (*view.lhs_batching_dimensions, *view.lhs_result_dimensions)
    rhs_dimensions = (*view.rhs_batching_dimensions, *view.rhs_result_dimensions)
    return (
        operand_map(view.lhs, lhs_dimensions, result[:split]),
        operand_map(view.rhs, rhs_dimensions, (*result[:batching], *result[split:])),
    )


def _emit_factors(builder: ir.IRBuilder, operation: Operation, factors: Sequence[Value]) -> Value:
    """The product of two elements, added to 0 before it is rounded like every first product of a sum."""
    (left,), (right,) = factors
    return (call(builder, "llvm.fma", left, right, ir.Constant(left.type, 0.0)),)


DOT_GENERAL: Final = EmitRule(
    _check, _emit, multiplications=_multiplications, element=_outer_product
)
