"""Small products of stacks of matrices, tile by tile, in the order that `kernels/matmul/matmul.h` states.

The contracted dimension is cut into blocks. Fused multiply-adds sum the products of a block in order,
starting at 0, and the sums of the blocks are added in order. A product of complex matrices is one of floats:
each row of rhs is followed by the same row times i, and a row of lhs has the components of its elements.
"""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ....kernels.launch.processor import register_bytes
from ....kernels.named_tuples import NamedTuple
from ....program.ops.contraction.float_matmul import SummationOrder
from ....program.ops.numerics.element_types import real_type
from ..llvm.lanes import shuffle_lanes, splat
from ..llvm.loops import Loop
from ..llvm.values import I64, call, stored_type
from ..scalars import Storage
from .emitter import ArrayEmitter
from .product_elements import load_floats, multiplied_type, store_floats

_ROWS, _FEW_REGISTERS_ROWS = (8, 4, 2, 1), (4, 2, 1)
"""Rows of a tile; more rows read each column less often, but need more registers."""
_FEW_REGISTERS_BYTES = 512
"""Bytes of all vector registers up to which tiles have few rows: 16 registers of AVX2."""


class StackSizes(NamedTuple):
    """A stack of products [rows, k] by [k, columns]."""

    batch: int
    rows: int
    k: int
    columns: int


class MatrixProduct:
    """Generates a stack of products of floats.

    Args:
        sizes: of the product; `left` and `right` are row-major stacks of matrices.
        left, right, result: the operands and the result in memory.
    """

    components = 1
    """Floats of an element."""

    def __init__(
        self, emitter: ArrayEmitter, sizes: StackSizes, left: Storage, right: Storage, result: Storage
    ) -> None:
        self.emitter = emitter
        self.builder = emitter.builder
        self.sizes = sizes
        self.left, self.right, self.result = map(_floats_of, (left, right, result))
        element_type = multiplied_type(self.result.type.plain_element_type)
        self.scalar = stored_type(element_type)
        # Enough accumulators to hide the latency of additions, few enough for the registers.
        self.tile_items = register_bytes() // 2 // element_type.dtype.itemsize
        self.row_sizes = _ROWS if register_bytes() > _FEW_REGISTERS_BYTES else _FEW_REGISTERS_ROWS

    def emit(self, order: SummationOrder) -> None:
        builder, sizes = self.builder, self.sizes
        left_row, right_row = sizes.k * self.components, sizes.columns * self.components
        for number in self.emitter.loop(sizes.batch):
            left = builder.mul(number, I64(sizes.rows * left_row))
            right = builder.mul(number, I64(sizes.k * right_row))
            result = builder.mul(number, I64(sizes.rows * right_row))
            for row, rows, row_tiles in _tiles(sizes.rows, self.row_sizes):
                for at_row in self.emitter.loop(row_tiles):
                    first_row = builder.add(builder.mul(at_row, I64(rows)), I64(row))
                    start = builder.add(left, builder.mul(first_row, I64(left_row)))
                    row_start = builder.add(result, builder.mul(first_row, I64(right_row)))
                    for column, lanes, tiles in _tiles(right_row, self.lane_sizes(rows)):
                        for at in self.emitter.loop(tiles):
                            first = builder.add(builder.mul(at, I64(lanes)), I64(column))
                            column_start = builder.add(right, first)
                            self.emit_tile(
                                rows, lanes, order, start, column_start, builder.add(row_start, first)
                            )

    def lane_sizes(self, rows: int) -> list[int]:
        """The floats of a row of a tile: a power of two and all smaller ones, descending."""
        size = max(self.tile_items // rows, self.components)
        return [size >> k for k in range(size.bit_length()) if size >> k >= self.components]

    def emit_tile(
        self, rows: int, lanes: int, order: SummationOrder, left: ir.Value, right: ir.Value, result: ir.Value
    ) -> None:
        """Emit a tile of the result, summing along the contracted dimension in order."""
        builder, size = self.builder, self.sizes.k
        sums = self.accumulators(rows, lanes)
        k_block = order.k_block // self.components
        for start in range(0, size, k_block):
            before = self.values(sums) if start else []
            end = min(start + k_block, size)
            if order.half_tile:
                self.add_two_chains(sums, (start, end), order.half_tile, left, right)
            else:
                self.add_chain(sums, I64(start), I64(end), left, right)
            for accumulator, total in zip(sums, before, strict=False):
                builder.store(builder.fadd(total, self.value(accumulator)), accumulator)
        for row, accumulator in enumerate(sums):
            offset = builder.add(result, I64(row * self.sizes.columns * self.components))
            store_floats(builder, self.result, offset, self.value(accumulator))

    def accumulators(self, rows: int, lanes: int) -> list[ir.Value]:
        """Stack memory for the sums of each row of a tile."""
        type = ir.VectorType(self.scalar, lanes) if lanes > 1 else self.scalar
        with self.builder.goto_entry_block():
            return [self.builder.alloca(type) for _ in range(rows)]

    def value(self, accumulator: ir.Value) -> ir.Value:
        return self.builder.load(accumulator, typ=accumulator.allocated_type)

    def values(self, accumulators: Sequence[ir.Value]) -> list[ir.Value]:
        return [self.value(accumulator) for accumulator in accumulators]

    def clear(self, accumulators: Sequence[ir.Value]) -> None:
        """Set sums to 0."""
        for accumulator in accumulators:
            type = accumulator.allocated_type
            zero = ir.Constant(type, None if isinstance(type, ir.VectorType) else 0.0)
            self.builder.store(zero, accumulator)

    def add_chain(
        self, sums: Sequence[ir.Value], start: ir.Value, end: ir.Value, left: ir.Value, right: ir.Value
    ) -> None:
        """Set sums to those of the products from `start` to `end`, added in order."""
        self.clear(sums)
        with Loop(self.builder, start, end) as k_index:
            self.emit_products(sums, k_index, left, right)

    def add_two_chains(
        self, sums: Sequence[ir.Value], block: tuple[int, int], half: int, left: ir.Value, right: ir.Value
    ) -> None:
        """Set sums to those of a k block, to which the sums of two chains are added, pair by pair."""
        builder, (start, end) = self.builder, block
        rows, type = len(sums), sums[0].allocated_type
        chain = self.accumulators(rows, type.count if isinstance(type, ir.VectorType) else 1)
        self.clear(sums)

        def add_tile(first: ir.Value, size: int) -> None:
            middle, last = [builder.add(first, I64(offset)) for offset in (min(half, size), size)]
            self.add_chain(chain, first, middle, left, right)
            totals = self.values(chain)
            if size > half:
                self.add_chain(chain, middle, last, left, right)
                totals = [builder.fadd(*pair) for pair in zip(totals, self.values(chain), strict=True)]
            for accumulator, total in zip(sums, totals, strict=True):
                builder.store(builder.fadd(self.value(accumulator), total), accumulator)

        tiles, rest = divmod(end - start, 2 * half)
        for number in self.emitter.loop(tiles) if tiles else ():
            add_tile(builder.add(builder.mul(number, I64(2 * half)), I64(start)), 2 * half)
        if rest:
            add_tile(I64(end - rest), rest)

    def emit_products(
        self, sums: Sequence[ir.Value], k_index: ir.Value, left: ir.Value, right: ir.Value
    ) -> None:
        """Add the products of an index of the contracted dimension to the sums of a tile."""
        builder, type = self.builder, sums[0].allocated_type
        lanes = type.count if isinstance(type, ir.VectorType) else 1
        row_start = builder.add(right, builder.mul(k_index, I64(self.sizes.columns * self.components)))
        factors = self.factors(load_floats(builder, self.right, row_start, lanes if lanes > 1 else 0))
        first = builder.mul(k_index, I64(self.components)) if self.components > 1 else k_index
        for row, accumulator in enumerate(sums):
            at = builder.add(left, builder.add(first, I64(row * self.sizes.k * self.components)))
            offsets = [builder.add(at, I64(number)) if number else at for number in range(self.components)]
            components = [load_floats(builder, self.left, offset, 0) for offset in offsets]
            splats = [splat(builder, component, lanes) for component in components]
            total = self.added(builder.load(accumulator, typ=type), splats, factors)
            builder.store(total, accumulator)

    def factors(self, values: ir.Value) -> Sequence[ir.Value]:
        """What each component of an element of lhs multiplies, from elements of rhs."""
        return [values]

    def added(
        self, total: ir.Value, components: Sequence[ir.Value], factors: Sequence[ir.Value]
    ) -> ir.Value:
        """Sums, and the products of the components of an element of lhs, which are splats, with `factors`."""
        for component, factor in zip(components, factors, strict=True):
            total = call(self.builder, "llvm.fma", component, factor, total)
        return total


class ComplexMatrixProduct(MatrixProduct):
    """Generates a stack of products of complex numbers, whose components are adjacent lanes."""

    components = 2

    def factors(self, values: ir.Value) -> Sequence[ir.Value]:
        """Elements of rhs, and these times i."""
        exchanged = _exchanged(self.builder, values)
        return [values, _alternating(self.builder, self.builder.fneg(exchanged), exchanged)]


class RoundedComplexMatrixProduct(MatrixProduct):
    """Generates a stack of products of complex numbers, each of which is rounded before it is added."""

    components = 2

    def factors(self, values: ir.Value) -> Sequence[ir.Value]:
        """Elements of rhs, and these with their components exchanged."""
        return [values, _exchanged(self.builder, values)]

    def added(
        self, total: ir.Value, components: Sequence[ir.Value], factors: Sequence[ir.Value]
    ) -> ir.Value:
        builder = self.builder
        of_real, of_imaginary = map(builder.fmul, components, factors)
        products = builder.fsub(of_real, of_imaginary), builder.fadd(of_real, of_imaginary)
        return builder.fadd(total, _alternating(builder, *products))


def _floats_of(storage: Storage) -> Storage:
    """The components of complex numbers in memory; floats as they are."""
    element_type = storage.type.plain_element_type
    component = real_type(element_type)
    if component is element_type:
        return storage
    type = storage.type.with_shape((*storage.type.shape, 2)).with_element_type(component)
    return Storage(type, storage.pointer)


def _exchanged(builder: ir.IRBuilder, values: ir.Value) -> ir.Value:
    """Complex numbers in adjacent lanes with their components exchanged."""
    return shuffle_lanes(builder, values, [lane ^ 1 for lane in range(values.type.count)])


def _alternating(builder: ir.IRBuilder, even: ir.Value, odd: ir.Value) -> ir.Value:
    """The even lanes of one vector and the odd lanes of another."""
    count = even.type.count
    return shuffle_lanes(builder, even, [lane + lane % 2 * count for lane in range(count)], odd)


def _tiles(count: int, sizes: Sequence[int]) -> list[tuple[int, int, int]]:
    """A range cut into tiles, the largest first: (start, size, number) of the tiles of each size."""
    results, start = [], 0
    for size in sizes:
        number = (count - start) // size
        if number:
            results.append((start, size, number))
            start += number * size
    return results
