"""Small convolutions, in the order of additions that `kernels/convolution/convolution_tasks.h` states.

A convolution is a nest of loops over batches, groups, windows and output features, each of which steps
through lhs, rhs and the result by strides. Along one of these dimensions the code has vectors: an operand is
contiguous along it, or constant. Windows that padding cuts are read from a copy of lhs with zeros around it.
`convolution_layouts` chooses the dimension, and lays out the copies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, cast

import numpy as np
from llvmlite import ir

from ....kernels.launch.processor import register_bytes
from ....kernels.named_tuples import NamedTuple
from ....program.ir import Operation
from ....program.ops.framework.declaration import Op
from ....types import ELEMENT_TYPES, FLOAT, INTEGER, SIGNED, ElementType, TensorType
from ..llvm.lanes import splat
from ..llvm.loops import Loop, min_index
from ..llvm.values import BIT, I8, I64, POINTER, call, stored_type
from ..scalars import Binding, Storage
from ..scalars.boxes import Side, copy
from ..scalars.elements import element_pointer
from ..scalars.emitter import EmitRule, Index, Mode, as_value
from ..scalars.movement import constant_tensor
from .convolution_layouts import Copy, LoopDimension, Problem, layout_of, problem_of, undilated
from .emitter import ArrayEmitter
from .product_elements import WIDENED_TYPES, load_floats, multiplied_type, store_floats

if TYPE_CHECKING:
    from ....program.ops.contraction.convolution import Convolution

MAX_COPIED_ELEMENTS = 1 << 15
"""Maximum elements of all copies of operands together, which are on the stack: 256 KB of f64."""
MAX_TERMS = 1 << 12
"""Maximum products of a sum: tables in the code hold the offsets of their factors."""
MAX_SUBPROBLEMS = 16
"""Maximum subproblems of a convolution with base dilation, each of which has code of its own."""
_MAX_UNROLLED_TERMS = 4
"""Maximum products of a sum for which the loop over them is unrolled."""


def _convolution(operation: Operation) -> Convolution:
    return cast("Convolution", Op.of(operation))


def _is_generated(types: Sequence[ElementType]) -> bool:
    """Whether code is generated for operands and a result of these element types."""
    if all(type.category & INTEGER and type.width >= 8 for type in types):
        return True
    if all(type in (*WIDENED_TYPES, ELEMENT_TYPES["f32"]) for type in types):
        return True
    return all(type is ELEMENT_TYPES["f64"] for type in types)


def _check(operation: Operation, mode: Mode) -> str | None:
    view = _convolution(operation)
    if not _is_generated([type.plain_element_type for type in (view.lhs, view.rhs, view.result)]):
        return "has element types that are not generated"
    reason = _reason_of_order(view) if view.is_float else None
    if reason is not None:
        return reason
    problem = _problem(view)
    problems = list(dict.fromkeys([problem, *undilated(problem)]))
    if problem.terms > MAX_TERMS or len(problems) > MAX_SUBPROBLEMS:
        return f"adds more than {MAX_TERMS} products, or has more than {MAX_SUBPROBLEMS} subproblems"
    copies = [copy for each in problems if each.terms for copy in layout_of(each).copies]
    if sum(copy.size for copy in copies) > MAX_COPIED_ELEMENTS:
        return f"would copy operands to more than {MAX_COPIED_ELEMENTS} elements"
    return None


def _reason_of_order(view: Convolution) -> str | None:
    """Why the order of additions of a convolution of floats is not generated; None if it is."""
    from ....kernels.convolution.convolution import supports
    from ....program.ops.contraction.convolution_algorithms import is_winograd

    if not supports([view.lhs.shape, view.rhs.shape, view.result.shape], view.conversions[-1].dtype):
        return "adds in an order that is not generated"
    windows = view.windows(view.rhs.shape, view.static_padding())
    if is_winograd(view, windows, view.lhs.shape, view.rhs.shape):
        return "is computed by Winograd's algorithm"
    return None


def _problem(view: Convolution) -> Problem:
    from ....program.ops.contraction.convolution_algorithms import axes

    windows = view.windows(view.rhs.shape, view.static_padding())
    return problem_of(
        axes(view, windows, view.lhs.shape),
        (view.feature_group_count, view.batch_group_count),
        (view.lhs.shape, view.rhs.shape, view.result.shape),
        (view.input_dimensions, view.kernel_dimensions, view.output_dimensions),
        multiplied_type(view.result.plain_element_type).dtype.itemsize,
        register_bytes(),
    )


def _multiplications(operation: Operation) -> int:
    view = _convolution(operation)
    outputs = view.rhs.shape[view.kernel_output_feature_dimension]
    return view.result.size * math.prod(view.rhs.shape) // max(1, outputs)


def _emit(emitter: ArrayEmitter, operation: Operation) -> Sequence[Binding]:
    view = _convolution(operation)
    lhs, rhs = [emitter.storage(operand) for operand in operation.operands]
    result = emitter.allocate_result(operation.result)
    problem = _problem(view)
    subproblems = undilated(problem)

    def emit(problems: Sequence[Problem], is_fused: bool = True) -> None:
        for each in problems:
            _Sums(emitter, each, (lhs, rhs), result, is_fused).emit()

    if not view.is_float or (subproblems == [problem] and not view.is_depthwise):
        emit(subproblems)
        return [emitter.result(result)]
    # Zeros around lhs and between its elements matter only where rhs has infinities or NaNs.
    with emitter.builder.if_else(_are_finite(emitter, rhs)) as (finite, otherwise):
        with finite:
            emit(subproblems, is_fused=not view.is_depthwise)
        with otherwise:
            emit([problem])
    return [emitter.result(result)]


_EXPONENTS: Final = {"f32": 0x7F800000, "f64": 0x7FF << 52, "bf16": 0x7F80, "f16": 0x7C00}
"""The bits of the exponent of a float, all of which infinities and NaNs have set."""


def _are_finite(emitter: ArrayEmitter, storage: Storage) -> ir.Value:
    """Whether no element of an array of floats is an infinity or NaN."""
    builder, element_type = emitter.builder, storage.type.plain_element_type
    bits = ir.IntType(element_type.width)
    exponent = bits(_EXPONENTS[element_type.name])
    with builder.goto_entry_block():
        found = builder.alloca(BIT)
    builder.store(BIT(0), found)
    for index in emitter.loop(storage.type.size):
        pointer = builder.gep(storage.pointer, [index], inbounds=True, source_etype=bits)
        masked = builder.and_(builder.load(pointer, typ=bits), exponent)
        is_special = builder.icmp_unsigned("==", masked, exponent)
        builder.store(builder.or_(builder.load(found, typ=BIT), is_special), found)
    return builder.not_(builder.load(found, typ=BIT))


class _Offsets:
    """The offset of a factor of each product of a sum: a multiple of its number, or an element of a table."""

    def __init__(self, emitter: ArrayEmitter, offsets: Sequence[int]) -> None:
        self.builder, self.offsets = emitter.builder, offsets
        self.step = offsets[1] if len(offsets) > 1 else 0
        self.table: Storage | None = None
        if list(offsets) != [number * self.step for number in range(len(offsets))]:
            type = TensorType((len(offsets),), ELEMENT_TYPES["i64"])
            table = constant_tensor(emitter, type, np.array(offsets))
            assert isinstance(table, Storage)
            self.table = table

    def at(self, number: Index) -> ir.Value:
        """The offset of a product's factor."""
        if isinstance(number, int):
            return I64(self.offsets[number])
        if self.table is None:
            return self.builder.mul(number, I64(self.step))
        return self.builder.load(element_pointer(self.builder, self.table, number), typ=I64)


class _Operand(NamedTuple):
    """An operand in memory.

    Attributes:
        terms: the offsets of its factors of each product of a sum.
        lane, row: the strides along lanes and rows.
    """

    storage: Storage
    terms: _Offsets
    lane: int
    row: int


class _Sums:
    """Generates the sums of one subproblem.

    Args:
        operands: lhs and rhs in memory.
        result: the memory of the result.
        is_fused: whether fused multiply-adds add the products, in blocks; if not, each is rounded and added.
    """

    def __init__(
        self,
        emitter: ArrayEmitter,
        problem: Problem,
        operands: tuple[Storage, Storage],
        result: Storage,
        is_fused: bool,
    ) -> None:
        self.emitter, self.builder = emitter, emitter.builder
        self.problem, self.is_fused = problem, is_fused
        self.lhs, self.rhs = operands
        self.result = result
        self.element_type = multiplied_type(result.type.plain_element_type)
        self.is_float = self.element_type.category == FLOAT

    def emit(self) -> None:
        if not self.problem.terms:
            self.clear_result()
            return
        emitter, layout = self.emitter, layout_of(self.problem)
        self.layout = layout
        scalar = stored_type(self.element_type)
        self.type = ir.VectorType(scalar, layout.lanes) if layout.lanes > 1 else scalar
        storages = self.copied(self.lhs, layout.lhs.copy), self.copied(self.rhs, layout.rhs.copy)
        terms = [_Offsets(emitter, offsets) for offsets in layout.terms]
        strides = zip(layout.lane.strides, layout.row.strides, strict=True)
        self.operands = [
            _Operand(storage, offsets, *of_side)
            for storage, offsets, of_side in zip(storages, terms, strides, strict=False)
        ]
        firsts = layout.lhs.first, layout.rhs.first, self.problem.result.first
        for indices in emitter.box([loop.size for loop in layout.outer]):
            starts: Sequence[Index] = [
                emitter.offset(indices, [loop.strides[side] for loop in layout.outer], first)
                for side, first in enumerate(firsts)
            ]
            for row_starts in self.tiles(layout.row, layout.rows, starts):
                for tile_starts in self.tiles(layout.lane, layout.lanes, row_starts):
                    self.emit_tile(tile_starts)

    def clear_result(self) -> None:
        """Set the results of sums of no products to 0."""
        problem, result = self.problem, self.problem.result
        type = self.result.type.with_shape(())
        zero = constant_tensor(self.emitter, type, np.zeros((), type.dtype))
        strides = (result.batch, result.group, result.output, *result.spatial)
        source = Side(zero, 0, [0] * len(strides))
        copy(self.emitter, Side(self.result, result.first, strides), source, problem.sizes)

    def copied(self, operand: Storage, plan: Copy | None) -> Storage:
        """A copy of an operand with zeros where no box is copied; the operand if there is no plan."""
        if plan is None:
            return operand
        target = self.emitter.allocate_scratch(operand.type.with_shape((plan.size,)))
        if plan.has_zeros:
            _clear(self.builder, target)
        for box in plan.boxes:
            to = Side(target, box.target_first, box.target)
            copy(self.emitter, to, Side(operand, box.source_first, box.source), box.sizes)
        return target

    def tiles(self, loop: LoopDimension, size: int, starts: Sequence[Index]) -> Iterator[Sequence[Index]]:
        """A loop over the tiles of a dimension; the last one may overlap the one before it.

        Args:
            starts: the offsets of the first elements in lhs, rhs and the result.
        """
        if size == loop.size:
            yield starts
            return
        for number in self.emitter.loop(-(-loop.size // size)):
            first = self.builder.mul(number, I64(size))
            if loop.size % size:
                first = min_index(self.builder, first, I64(loop.size - size))
            yield [
                self.emitter.offset([first], [stride], start)
                for stride, start in zip(loop.strides, starts, strict=True)
            ]

    def emit_tile(self, starts: Sequence[Index]) -> None:
        """Emit a tile of the result, of which `starts` has the first offsets in lhs, rhs and the result."""
        builder, terms = self.builder, self.problem.terms
        block = _block_size(terms) if self.is_fused and self.is_float else terms
        sums = self.accumulators()
        if block == terms:
            self.add_products(sums, starts, I64(0), I64(terms))
        else:
            totals = self.accumulators()
            for number in self.emitter.loop(-(-terms // block)):
                first = builder.mul(number, I64(block))
                last = min_index(builder, builder.add(first, I64(block)), I64(terms))
                self.add_products(sums, starts, first, last)
                is_first = builder.icmp_signed("==", number, I64(0))
                for total, accumulator in zip(totals, sums, strict=True):
                    value = self.value(accumulator)
                    added = builder.fadd(self.value(total), value)
                    builder.store(builder.select(is_first, value, added), total)
            sums = totals
        self.store([self.value(accumulator) for accumulator in sums], starts[2])

    def accumulators(self) -> list[ir.Value]:
        """Stack memory for the sums of each row of a tile."""
        with self.builder.goto_entry_block():
            return [self.builder.alloca(self.type) for _ in range(self.layout.rows)]

    def value(self, accumulator: ir.Value) -> ir.Value:
        return self.builder.load(accumulator, typ=accumulator.allocated_type)

    def add_products(
        self, sums: Sequence[ir.Value], starts: Sequence[Index], first: ir.Value, last: ir.Value
    ) -> None:
        """Set sums to those of the products from `first` to `last`, added in order."""
        for accumulator in sums:
            self.builder.store(ir.Constant(self.type, None), accumulator)
        if self.problem.terms <= _MAX_UNROLLED_TERMS:
            for number in range(self.problem.terms):
                self.add_product(sums, starts, number)
        else:
            with Loop(self.builder, first, last, rolled=True) as number:
                self.add_product(sums, starts, number)

    def add_product(self, sums: Sequence[ir.Value], starts: Sequence[Index], number: Index) -> None:
        """Add the product with a number to each sum of a tile."""
        lhs, rhs = [
            self.factors(operand, self.emitter.add(start, operand.terms.at(number)))
            for operand, start in zip(self.operands, starts, strict=False)
        ]
        for accumulator, left, right in zip(sums, lhs, rhs, strict=True):
            self.builder.store(self.added(self.value(accumulator), left, right), accumulator)

    def factors(self, operand: _Operand, offset: Index) -> list[ir.Value]:
        """The factors of each row of a tile."""
        if not operand.row:
            return [self.load(operand, offset)] * self.layout.rows
        rows = range(self.layout.rows)
        return [self.load(operand, self.emitter.add(offset, number * operand.row)) for number in rows]

    def added(self, total: ir.Value, left: ir.Value, right: ir.Value) -> ir.Value:
        if not self.is_float:
            return self.builder.add(total, self.builder.mul(left, right))
        if self.is_fused:
            return call(self.builder, "llvm.fma", left, right, total)
        return self.builder.fadd(total, self.builder.fmul(left, right))

    def load(self, operand: _Operand, offset: Index) -> ir.Value:
        """The factors of a row of a tile: contiguous elements, or one in all lanes."""
        lanes = self.layout.lanes
        is_vector = operand.lane == 1 and lanes > 1
        value = self.numbers(operand.storage, as_value(offset), lanes if is_vector else 0)
        return value if is_vector else splat(self.builder, value, lanes)

    def numbers(self, storage: Storage, offset: ir.Value, lanes: int) -> ir.Value:
        """Elements as numbers of the type that is added: a vector, or a scalar if `lanes` is 0."""
        builder, element_type = self.builder, storage.type.plain_element_type
        if self.is_float:
            return load_floats(builder, storage, offset, lanes)
        stored, wanted = stored_type(element_type), stored_type(self.element_type)
        if lanes:
            stored, wanted = ir.VectorType(stored, lanes), ir.VectorType(wanted, lanes)
        value = builder.load(
            element_pointer(builder, storage, offset), typ=stored, align=element_type.dtype.itemsize
        )
        if element_type.width > self.element_type.width:
            return builder.trunc(value, wanted)
        return (builder.sext if element_type.category == SIGNED else builder.zext)(value, wanted)

    def store(self, rows: Sequence[ir.Value], start: Index) -> None:
        """Write the sums of a tile."""
        layout, emitter = self.layout, self.emitter
        lane, row = layout.lane.result, layout.row.result
        is_vector = lane == 1 or layout.lanes == 1
        shape = len(rows), layout.lanes
        target = self.result if is_vector else emitter.allocate_scratch(self.result.type.with_shape(shape))
        for number, value in enumerate(rows):
            offset = as_value(emitter.add(start, number * row)) if is_vector else I64(number * layout.lanes)
            if self.is_float:
                store_floats(self.builder, target, offset, value)
            else:
                pointer = element_pointer(self.builder, target, offset)
                self.builder.store(value, pointer, align=self.element_type.dtype.itemsize)
        if not is_vector:
            copy(emitter, Side(self.result, start, (row, lane)), Side(target, 0, (layout.lanes, 1)), shape)


def _block_size(terms: int) -> int:
    """The number of products of a block of a sum: blocks are the fewest of at most K_BLOCK, of one size."""
    from ....kernels.convolution.convolution_tasks import K_BLOCK

    return -(-terms // -(-terms // K_BLOCK))


def _clear(builder: ir.IRBuilder, storage: Storage) -> None:
    """Set all elements of an array to 0."""
    type = ir.FunctionType(ir.VoidType(), [POINTER, I8, I64, BIT])
    memset = builder.module.declare_intrinsic("llvm.memset", [POINTER, I64], type)
    size = storage.type.size * storage.type.dtype.itemsize
    builder.call(memset, [storage.pointer, I8(0), I64(size), BIT(0)])


CONVOLUTION: Final = EmitRule(_check, _emit, multiplications=_multiplications)
