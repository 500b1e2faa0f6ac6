"""Small matrix products of f32 and f64, in the summation order of
`nimblehlo.program.ops.contraction.float_matmul`.

The contracted dimension is cut into blocks. Fused multiply-adds sum the products of a block in order,
starting at 0, and the sums of the blocks are added in order. `vector_products` has matrix-vector products.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from llvmlite import ir

from ....kernels.launch.processor import register_bytes
from ....program.ir import Operation, plain_element_type, tensor_type
from ....program.ir.affine import AffineExpr, identity_map, row_major_strides
from ....program.ops.framework.declaration import Op
from ....types import FLOAT, TensorType
from ..llvm.lanes import splat
from ..llvm.values import I64, Value, call, stored_type
from ..scalars import Binding, Storage
from ..scalars.boxes import Side, copy, merged_dimensions, window
from ..scalars.elements import element_pointer
from ..scalars.emitter import ElementRule, EmitRule, Mode
from .emitter import ArrayEmitter
from .vector_products import GemvEmitter, MatrixLayout

if TYPE_CHECKING:
    from ....program.ops.contraction.dot_general import DotGeneral

MAX_ELEMENTS = 1 << 14
"""Maximum elements of an operand that must be transposed into scratch memory."""
_ROWS, _FEW_REGISTERS_ROWS = (8, 4, 2, 1), (4, 2, 1)
"""Rows of a tile; more rows read each column less often, but need more registers."""
_FEW_REGISTERS_BYTES = 512
"""Bytes of all vector registers up to which tiles have few rows: 16 registers of AVX2."""


class _Sizes(NamedTuple):
    """A stack of products [rows, k] by [k, columns]."""

    batch: int
    rows: int
    k: int
    columns: int


def _product(operation: Operation) -> DotGeneral:
    return cast("DotGeneral", Op.of(operation))


def _summation_order(view: DotGeneral) -> tuple[int, int]:
    """The `summation_order` of a product for which `_check` finds no reason."""
    order = view.summation_order
    assert order is not None
    return order


def _check(operation: Operation, mode: Mode) -> str | None:
    view = _product(operation)
    types = {plain_element_type(value) for value in (*operation.operands, operation.result)}
    is_plain_float = all(type.category == FLOAT and type.width >= 32 for type in types)
    if len(types) > 1 or not is_plain_float or view.algorithm is not None:
        return "has element types that are not generated"
    order = view.summation_order
    if order is None:
        return "sums in an order that is not generated"
    k_block, chain_bytes = order
    for side, type in enumerate((view.lhs, view.rhs)):
        if type.size > MAX_ELEMENTS and _is_copied(view, side, chain_bytes):
            return f"would copy an operand of more than {MAX_ELEMENTS} elements"
    return f"sums more than {k_block} products" if chain_bytes and _sizes(view).k > k_block else None


def _multiplications(operation: Operation) -> int:
    return math.prod(_sizes(_product(operation)))


def _sizes(view: DotGeneral) -> _Sizes:
    def of(shape: Sequence[int], dimensions: Sequence[int]) -> int:
        return math.prod([shape[d] for d in dimensions])

    return _Sizes(
        of(view.lhs.shape, view.lhs_batching_dimensions),
        of(view.lhs.shape, view.lhs_result_dimensions),
        of(view.lhs.shape, view.lhs_contracting_dimensions),
        of(view.rhs.shape, view.rhs_result_dimensions),
    )


def _emit(emitter: ArrayEmitter, operation: Operation) -> Sequence[Binding]:
    view = _product(operation)
    operands, orders = [emitter.storage(operand) for operand in view.operation.operands], _orders(view)
    result = emitter.allocate_result(operation.result)
    sizes, (k_block, chain_bytes) = _sizes(view), _summation_order(view)
    if not chain_bytes:
        left, right = [_in_order(emitter, *pair) for pair in zip(operands, orders, strict=True)]
        _Product(emitter, sizes, left, right, result).emit(k_block)
        return [emitter.result(result)]
    side = _matrix_side(view)
    vector, matrix = _in_order(emitter, operands[1 - side], orders[1 - side]), operands[side]
    rows, layout = sizes.rows * sizes.columns, _matrix_layout(view)
    if layout is None:
        batch, row, k = _matrix_dimensions(view)
        matrix = _in_order(emitter, matrix, (*batch, *row, *k))
        layout = MatrixLayout((sizes.batch,), (rows * sizes.k,), sizes.k, 1)
    accumulator_count = chain_bytes // result.type.dtype.itemsize
    GemvEmitter(emitter, vector, matrix, result, (rows, sizes.k), layout, accumulator_count).emit()
    return [emitter.result(result)]


def _orders(view: DotGeneral) -> tuple[Sequence[int], Sequence[int]]:
    """The dimensions of both operands, ordered as stacks of [row, k] and of [k, column]."""
    return (
        (*view.lhs_batching_dimensions, *view.lhs_result_dimensions, *view.lhs_contracting_dimensions),
        (*view.rhs_batching_dimensions, *view.rhs_contracting_dimensions, *view.rhs_result_dimensions),
    )


def _is_copied(view: DotGeneral, side: int, chain_bytes: int) -> bool:
    """Whether the code copies an operand: 0 for lhs, 1 for rhs; `chain_bytes` as in `summation_order`."""
    if chain_bytes and side == _matrix_side(view):
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


class _Product:
    """Generates a stack of products, tile by tile."""

    def __init__(
        self, emitter: ArrayEmitter, sizes: _Sizes, left: Storage, right: Storage, result: Storage
    ) -> None:
        self.emitter = emitter
        self.builder = emitter.builder
        self.sizes = sizes
        self.left, self.right, self.result = left, right, result
        self.scalar = stored_type(result.type.plain_element_type)
        # Enough accumulators to hide the latency of additions, few enough for the registers.
        self.tile_items = register_bytes() // 2 // self.item
        self.row_sizes = _ROWS if register_bytes() > _FEW_REGISTERS_BYTES else _FEW_REGISTERS_ROWS

    def emit(self, k_block: int) -> None:
        builder, sizes = self.builder, self.sizes
        for number in self.emitter.loop(sizes.batch):
            left = builder.mul(number, I64(sizes.rows * sizes.k))
            right = builder.mul(number, I64(sizes.k * sizes.columns))
            result = builder.mul(number, I64(sizes.rows * sizes.columns))
            for row, rows, row_tiles in _tiles(sizes.rows, self.row_sizes):
                for at_row in self.emitter.loop(row_tiles):
                    first_row = builder.add(builder.mul(at_row, I64(rows)), I64(row))
                    start = builder.add(left, builder.mul(first_row, I64(sizes.k)))
                    row_start = builder.add(result, builder.mul(first_row, I64(sizes.columns)))
                    for column, lanes, tiles in _tiles(sizes.columns, _halves(self.tile_items // rows)):
                        for at in self.emitter.loop(tiles):
                            first = builder.add(builder.mul(at, I64(lanes)), I64(column))
                            self.emit_tile(
                                rows,
                                lanes,
                                k_block,
                                start,
                                builder.add(right, first),
                                builder.add(row_start, first),
                            )

    def emit_tile(
        self, rows: int, lanes: int, k_block: int, left: ir.Value, right: ir.Value, result: ir.Value
    ) -> None:
        """Emit a tile of the result, summing along the contracted dimension in order."""
        builder, sizes = self.builder, self.sizes
        type = ir.VectorType(self.scalar, lanes) if lanes > 1 else self.scalar
        zero = ir.Constant(type, None) if lanes > 1 else ir.Constant(type, 0.0)
        with builder.goto_entry_block():
            sums = [builder.alloca(type) for _ in range(rows)]
        for start in range(0, sizes.k, k_block):
            before = [builder.load(accumulator, typ=type) for accumulator in sums] if start else []
            for accumulator in sums:
                builder.store(zero, accumulator)
            for k_index in self.emitter.loop(min(start + k_block, sizes.k), start):
                offset = builder.add(right, builder.mul(k_index, I64(sizes.columns)))
                values = self.load(self.right, offset, type)
                for row, accumulator in enumerate(sums):
                    at = builder.add(left, builder.add(k_index, I64(row * sizes.k)))
                    factor = splat(builder, self.load(self.left, at, self.scalar), lanes)
                    total = call(builder, "llvm.fma", factor, values, builder.load(accumulator, typ=type))
                    builder.store(total, accumulator)
            for accumulator, total in zip(sums, before, strict=False):
                builder.store(builder.fadd(total, builder.load(accumulator, typ=type)), accumulator)
        for row, accumulator in enumerate(sums):
            offset = builder.add(result, I64(row * sizes.columns))
            pointer = element_pointer(builder, self.result, offset)
            builder.store(builder.load(accumulator, typ=type), pointer, align=self.item)

    @property
    def item(self) -> int:
        """Bytes of an element, which is the alignment of vectors."""
        return self.result.type.dtype.itemsize

    def load(self, storage: Storage, position: ir.Value, type: ir.Type) -> ir.Value:
        pointer = element_pointer(self.builder, storage, position)
        return self.builder.load(pointer, typ=type, align=self.item)


def _halves(size: int) -> list[int]:
    """A power of two and all smaller ones, descending."""
    return [size >> k for k in range(size.bit_length())]


def _tiles(count: int, sizes: Sequence[int]) -> list[tuple[int, int, int]]:
    """A range cut into tiles, the largest first: (start, size, number) of the tiles of each size."""
    results, start = [], 0
    for size in sizes:
        number = (count - start) // size
        if number:
            results.append((start, size, number))
            start += number * size
    return results


def _outer_product(operation: Operation) -> ElementRule | None:
    """The rule of an element of a product that contracts one element: it is one product of two elements."""
    view = _product(operation)
    _, chain_bytes = _summation_order(view)
    if chain_bytes or _sizes(view).k != 1 or _is_copied(view, 0, 0) or _is_copied(view, 1, 0):
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
