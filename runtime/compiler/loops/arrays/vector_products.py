"""Small products of matrices and vectors, in the order that `kernels/matmul/gemv.h` states.

Product i of a sum goes to accumulator i modulo their number: fused multiply-adds add the products to each
accumulator, which starts at 0. Then the accumulators are added by halves, and 0 is added to the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llvmlite import ir

from ....kernels.launch.processor import register_bytes
from ....kernels.named_tuples import NamedTuple
from ....program.ir.affine import row_major_strides
from ..llvm.lanes import halves, shuffle_lanes
from ..llvm.values import I64, call, stored_type
from ..scalars import Storage
from ..scalars.boxes import merged_dimensions
from ..scalars.emitter import as_value
from .emitter import ArrayEmitter
from .product_elements import load_floats, multiplied_type, store_floats

_ROWS = 4
"""Rows that are read side by side."""


class MatrixLayout(NamedTuple):
    """Where a stack of matrices lies in memory. Strides count elements; one of the last two is 1.

    Attributes:
        batch_sizes, batch_strides: of the dimensions of the stack.
        row_stride: between the rows of a matrix.
        k_stride: between the elements of a row.
    """

    batch_sizes: Sequence[int]
    batch_strides: Sequence[int]
    row_stride: int
    k_stride: int


class GemvEmitter:
    """Generates the products of a stack of vectors with a stack of matrices.

    Args:
        vector, matrix, result: the operands and the result in memory.
        sizes: the rows of each matrix, and the contracted size.
        layout: of the matrices.
        accumulator_count: the number of accumulators of a sum.
    """

    def __init__(
        self,
        emitter: ArrayEmitter,
        vector: Storage,
        matrix: Storage,
        result: Storage,
        sizes: tuple[int, int],
        layout: MatrixLayout,
        accumulator_count: int,
    ) -> None:
        self.emitter, self.builder = emitter, emitter.builder
        self.vector, self.matrix, self.result = vector, matrix, result
        self.rows, self.k = sizes
        self.layout = layout
        self.accumulator_count = accumulator_count
        self.scalar = stored_type(multiplied_type(result.type.plain_element_type))

    def emit(self) -> None:
        """Products along the contiguous dimension of the matrices."""
        if self.layout.k_stride == 1:
            self.emit_dots()
        else:
            self.emit_columns()

    def batch(self) -> Iterator[tuple[ir.Value, ir.Value, ir.Value]]:
        """Loops over the stack: the offsets of the vector, the matrix and the result."""
        sizes, strides = self.layout.batch_sizes, self.layout.batch_strides
        lengths, (matrix_strides, numbers) = merged_dimensions(sizes, [strides, row_major_strides(sizes)])
        for indices in self.emitter.box(lengths):
            matrix = as_value(self.emitter.offset(indices, matrix_strides))
            number = as_value(self.emitter.offset(indices, numbers))
            vector, result = [self.builder.mul(number, I64(size)) for size in (self.k, self.rows)]
            yield vector, matrix, result

    def emit_dots(self) -> None:
        """Products with matrices whose rows are contiguous: each lane is an accumulator."""
        builder = self.builder
        for vector, matrix, result in self.batch():
            tiled_rows = self.rows // _ROWS * _ROWS
            tiles = (0, tiled_rows // _ROWS, _ROWS), (tiled_rows, self.rows - tiled_rows, 1)
            for first, count, step in tiles:
                if count:
                    for tile in self.emitter.loop(count):
                        row = builder.add(builder.mul(tile, I64(step)), I64(first))
                        start = builder.add(matrix, builder.mul(row, I64(self.layout.row_stride)))
                        self.dots(step, vector, start, builder.add(result, row))

    def dots(self, rows: int, vector: ir.Value, matrix: ir.Value, result: ir.Value) -> None:
        """The sums of some rows."""
        builder, unrolled_k = self.builder, self.k // self.accumulator_count * self.accumulator_count
        sums = self.zeroed_accumulators(rows, self.accumulator_count)

        def add(k_index: ir.Value, count: int) -> None:
            factors = self.load(self.vector, builder.add(vector, k_index), count, self.accumulator_count)
            for row, accumulator in enumerate(sums):
                offset = builder.add(matrix, builder.add(k_index, I64(row * self.layout.row_stride)))
                self.add_to(
                    accumulator, factors, self.load(self.matrix, offset, count, self.accumulator_count)
                )

        if unrolled_k:
            for step in self.emitter.loop(unrolled_k // self.accumulator_count):
                add(builder.mul(step, I64(self.accumulator_count)), self.accumulator_count)
        if unrolled_k < self.k:
            add(I64(unrolled_k), self.k - unrolled_k)
        for row, accumulator in enumerate(sums):
            total = self.value(accumulator)
            while total.type.count > 1:
                total = builder.fadd(*halves(builder, total))
            element = builder.extract_element(total, I64(0))
            self.store_sums(builder.add(result, I64(row)), element)

    def emit_columns(self) -> None:
        """Products with matrices whose columns are contiguous: accumulators are vectors, lanes rows."""
        builder, rest = self.builder, self.rows
        lanes = register_bytes() // 32 // multiplied_type(self.result.type.plain_element_type).dtype.itemsize
        for vector, matrix, result in self.batch():
            first = 0
            while rest:
                count = rest // lanes
                if count:
                    for tile in self.emitter.loop(count):
                        row = builder.add(builder.mul(tile, I64(lanes)), I64(first))
                        self.columns(lanes, vector, builder.add(matrix, row), builder.add(result, row))
                first, rest, lanes = first + count * lanes, rest % lanes, lanes // 2

    def columns(self, lanes: int, vector: ir.Value, matrix: ir.Value, result: ir.Value) -> None:
        """The sums of some rows."""
        builder, unrolled_k = self.builder, self.k // self.accumulator_count * self.accumulator_count
        sums = self.zeroed_accumulators(self.accumulator_count, lanes)

        def add(first: ir.Value, count: int) -> None:
            for number, accumulator in enumerate(sums[:count]):
                k_index = builder.add(first, I64(number))
                factor = self.load(self.vector, builder.add(vector, k_index), 1, 1)
                offset = builder.add(matrix, builder.mul(k_index, I64(self.layout.k_stride)))
                row = self.load(self.matrix, offset, lanes, lanes)
                self.add_to(accumulator, shuffle_lanes(builder, factor, [0] * lanes), row)

        if unrolled_k:
            for step in self.emitter.loop(unrolled_k // self.accumulator_count):
                add(builder.mul(step, I64(self.accumulator_count)), self.accumulator_count)
        if unrolled_k < self.k:
            add(I64(unrolled_k), self.k - unrolled_k)
        totals = [self.value(accumulator) for accumulator in sums]
        while len(totals) > 1:
            half = len(totals) // 2
            totals = [builder.fadd(*pair) for pair in zip(totals[:half], totals[half:], strict=True)]
        self.store_sums(result, totals[0])

    def zeroed_accumulators(self, count: int, lanes: int) -> list[ir.Value]:
        """Stack memory for `count` vectors, which are set to 0."""
        type = ir.VectorType(self.scalar, lanes)
        with self.builder.goto_entry_block():
            accumulators = [self.builder.alloca(type) for _ in range(count)]
        for accumulator in accumulators:
            self.builder.store(ir.Constant(type, None), accumulator)
        return accumulators

    def value(self, accumulator: ir.Value) -> ir.Value:
        return self.builder.load(accumulator, typ=accumulator.allocated_type)

    def add_to(self, accumulator: ir.Value, factors: ir.Value, values: ir.Value) -> None:
        total = call(self.builder, "llvm.fma", factors, values, self.value(accumulator))
        self.builder.store(total, accumulator)

    def load(self, storage: Storage, position: ir.Value, count: int, lanes: int) -> ir.Value:
        """`count` contiguous elements, followed by zeros up to `lanes`."""
        value = load_floats(self.builder, storage, position, count)
        if count == lanes:
            return value
        zeros = ir.Constant(value.type, None)
        return shuffle_lanes(self.builder, value, [*range(count), *[count] * (lanes - count)], zeros)

    def store_sums(self, offset: ir.Value, total: ir.Value) -> None:
        """Add 0 to sums and write them."""
        zero = ir.Constant(total.type, None) if isinstance(total.type, ir.VectorType) else total.type(0.0)
        store_floats(self.builder, self.result, offset, self.builder.fadd(total, zero))
