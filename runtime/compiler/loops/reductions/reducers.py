"""Reducers, and reductions of contiguous values level by level, as LLVM code.

Reductions combine adjacent pairs, level by level, in order, as `program/ops/reduction/reduction_tree.py` says
for "blocked"; reducers that give the same bits in every order combine halves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llvmlite import ir

from ....kernels.simd.narrow_floats import constant_like
from ....program.ir import Block, Operation, plain_element_type, tensor_type
from ....program.ir import Value as IrValue
from ....types import FLOAT, ElementType
from ..llvm.functions import aligned_scratch
from ..llvm.lanes import halves
from ..llvm.loops import Loop
from ..llvm.values import BIT, I32, I64, Value, rounded, stored_type, value_types
from ..llvm.vector_loops import QuickVectorLoop
from ..regions.region_function import OperandArrays
from ..scalars import Binding, Elements, Emitter
from ..scalars.emitter import instructions
from .iteration_space import accumulator_types, is_order_independent, reducer_declaration

_MAX_UNROLLED_VALUES = 16
"""Maximum values that are reduced without a loop."""
_MAX_UNROLLED_INSTRUCTIONS = 200
"""Maximum instructions of the code for them, approximately."""


class Reducer:
    """Combines elements by the body of a reduction of one input or several.

    Args:
        builder: where to generate.
        operation: the reduction.
        accumulate: see `accumulator_types`.
        captured_bindings: the bindings of the values that the body captures.

    Attributes:
        types: the accumulator's element type for each input.
    """

    def __init__(
        self,
        builder: ir.IRBuilder,
        operation: Operation,
        accumulate: str = "wide",
        captured_bindings: Mapping[IrValue, Binding] | None = None,
    ) -> None:
        self.builder = builder
        self.operation = operation
        self.captured_bindings = captured_bindings
        self.body: Block = operation.regions[0].block
        self.types = accumulator_types(operation, accumulate)

    @property
    def code(self) -> str:
        """The code of the operation on floats that the body applies (`Emit.floats`), if it does nothing else.
        """
        return reducer_declaration(self.body).emit.floats

    @property
    def identity(self) -> float | None:
        """The float that pads a sum or a product; None for other bodies."""
        return reducer_declaration(self.body).float_identity

    @property
    def is_order_independent(self) -> bool:
        """Whether every order gives the same bits."""
        return len(self.types) == 1 and is_order_independent(self.body)

    @property
    def is_min_or_max(self) -> bool:
        """Whether this is the maximum or minimum of real floats."""
        return len(self.types) == 1 and is_min_or_max(self.body)

    @property
    def is_widening(self) -> bool:
        """Whether the accumulator is wider than what the body takes."""
        return len(self.types) == 1 and self.types[0] is not plain_element_type(self.body.arguments[0])

    def to_accumulators(self, values: Sequence[Value]) -> list[Value]:
        """Convert elements of all inputs to the accumulators' types."""
        if not self.is_widening:
            return [*values]
        return [(rounded(self.builder, self.types[0], values[0][0]),)]

    def combine(self, left: Sequence[Value], right: Sequence[Value]) -> list[Value]:
        """Combine the elements of all inputs with others."""
        if self.is_widening:
            by = self.builder.fadd if self.code == "add" else self.builder.fmul
            return [(by(left[0][0], right[0][0]),)]
        arguments = [Elements((value,)) for value in (*left, *right)]
        results = Emitter(self.builder, self.captured_bindings).emit_block(self.body, arguments)
        return [result.scalar for result in results if isinstance(result, Elements)]

    def reduce(self, values: Sequence[Sequence[Value]]) -> Sequence[Value]:
        """Reduce the elements of all inputs, at least one."""
        while len(values) > 1:
            paired = len(values) & ~1
            pairs = [self.combine(*values[k : k + 2]) for k in range(0, paired, 2)]
            values = [*pairs, *values[paired:]]
        return values[0]

    def finish(self, initial: Sequence[Value], totals: Sequence[Value]) -> list[Value]:
        """The results from the init values and the totals."""
        results, finished = self.combine(self.to_accumulators(initial), totals), []
        for value, accumulator, result in zip(results, self.types, self.operation.results, strict=True):
            type = plain_element_type(result)
            finished.append(value if accumulator is type else (rounded(self.builder, type, value[0]),))
        return finished

    def arrays(self, pointers: Sequence[ir.Value]) -> OperandArrays:
        """Arrays of the accumulators of all inputs."""
        return OperandArrays(self.builder, self.types, pointers)

    def allocate(self, count: int) -> OperandArrays:
        """Stack memory for `count` elements of each input."""
        with self.builder.goto_entry_block():
            pointers = [aligned_scratch(self.builder, stored_type(type), count) for type in self.types]
        return self.arrays(pointers)


def emit_reduce(
    reducer: Reducer, values: OperandArrays, scratch: tuple[OperandArrays, OperandArrays], count: int
) -> list[Value]:
    """Reduce a constant number of contiguous values: one loop a level, the last values unrolled.

    Args:
        values: the arrays of the values, which are not written.
        scratch: two buffers for half as many values, rounded up; the second may be that of the values.
    """
    builder, exact = reducer.builder, reducer.is_order_independent
    if exact and not reducer.is_min_or_max:
        return _accumulate(reducer, values, count)
    source, (target, other) = values, scratch
    affordable_count = max(_MAX_UNROLLED_INSTRUCTIONS // instructions(reducer.body), 2)
    unrolled_count = min(_MAX_UNROLLED_VALUES, affordable_count)
    extreme = None
    if count > unrolled_count and reducer.is_min_or_max:
        extreme = MinMaxReducer(builder, reducer.body, reducer.types[0])
    is_first = True
    while count > unrolled_count:
        half, next_count = count // 2, count - count // 2
        with QuickVectorLoop(builder, I64(0), I64(half), True) as index:
            even = index if exact else builder.shl(index, I64(1))
            odd = builder.add(even, I64(next_count if exact else 1))
            left, right = source.load(even), source.load(odd)
            if extreme is None:
                result = reducer.combine(left, right)
            else:
                if is_first:
                    extreme.observe(left[0][0], right[0][0])
                result = [(extreme.select(left[0][0], right[0][0]),)]
            target.store(index, result)
        if next_count > half:
            odd_values = source.load(I64(half if exact else count - 1))
            if extreme is not None and is_first:
                extreme.observe(odd_values[0][0])
            target.store(I64(half), odd_values)
        source, target, other, count, is_first = target, other, target, next_count, False
    total = reducer.reduce([source.load(I64(k)) for k in range(count)])
    return [*total] if extreme is None else [(extreme.total(total[0][0]),)]


def _accumulate(reducer: Reducer, values: OperandArrays, count: int) -> list[Value]:
    """Combine contiguous values one by one into one accumulator, which LLVM splits into vectors of them."""
    total = reducer.allocate(1)
    total.store(I64(0), values.load(I64(0)))
    if count > 1:
        with Loop(reducer.builder, I64(1), I64(count)) as index:
            total.store(I64(0), reducer.combine(total.load(I64(0)), values.load(index)))
    return [*total.load(I64(0))]


def is_min_or_max(body: Block) -> bool:
    """Whether a reducer is the maximum or minimum of real floats."""
    input_type = tensor_type(body.arguments[0])
    return input_type.category == FLOAT and reducer_declaration(body).emit.floats in ("maximum", "minimum")


class MinMaxReducer:
    """Maximum or minimum of floats by one comparison a pair; NaN and signed zeros are tracked separately.

    A NaN makes the total NaN. A total of zero is +0 for a maximum, -0 for a minimum, if there is such a zero.

    Args:
        lanes: of vectors; None for scalars.
    """

    def __init__(
        self, builder: ir.IRBuilder, body: Block, accumulator: ElementType, lanes: int | None = None
    ) -> None:
        self.builder = builder
        self.is_maximum = reducer_declaration(body).emit.floats == "maximum"
        self.real = value_types(accumulator)[0]
        self.integer = ir.IntType(64 if self.real == ir.DoubleType() else 32)
        self.type, self.bits, flag = (
            type if lanes is None else ir.VectorType(type, lanes) for type in (self.real, self.integer, BIT)
        )
        with builder.goto_entry_block():
            self.nan = builder.alloca(flag)
            self.min_bits = builder.alloca(self.bits)
        builder.store(constant_like(flag, 0), self.nan)
        # The bits of +0 are the smallest unsigned number; those of -0 are the smallest signed one.
        no_zero = -1 if self.is_maximum else (1 << (self.integer.width - 1)) - 1
        builder.store(constant_like(self.bits, no_zero), self.min_bits)

    def select(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """The greater or lesser of two observed values, or of results of this."""
        wins = self.builder.fcmp_ordered(">" if self.is_maximum else "<", a, b)
        return self.builder.select(wins, a, b)

    def observe(self, *values: ir.Value) -> None:
        """Track NaN and signed zeros of one value or two."""
        self.track_nan(*values)
        for value in values:
            self.track_zero(value)

    def track_nan(self, *values: ir.Value) -> None:
        """Track whether one of two values is NaN."""
        builder = self.builder
        has_nan = builder.fcmp_unordered("uno", values[0], values[-1])
        builder.store(builder.or_(builder.load(self.nan), has_nan), self.nan)

    def track_zero(self, value: ir.Value) -> None:
        """Track whether there is the zero that a zero total must be."""
        builder = self.builder
        bits, min_bits = builder.bitcast(value, self.bits), builder.load(self.min_bits)
        builder.store(builder.select(self._less(bits, min_bits), bits, min_bits), self.min_bits)

    def across(self, value: ir.Value) -> ir.Value:
        """Reduce the lanes of a vector."""
        while value.type.count > 1:
            value = self.select(*halves(self.builder, value))
        return self.builder.extract_element(value, I32(0))

    def is_zero(self, value: ir.Value) -> ir.Value:
        """Whether a scalar is zero, of either sign."""
        return self.builder.fcmp_ordered("==", value, ir.Constant(self.real, 0.0))

    def total(self, value: ir.Value) -> ir.Value:
        """The total, given the last remaining value."""
        builder = self.builder
        has_nan, min_bits = builder.load(self.nan), builder.load(self.min_bits)
        if isinstance(self.type, ir.VectorType):
            has_nan, min_bits = self._of_lanes(has_nan, min_bits)
        zero = self.integer(0 if self.is_maximum else 1 << (self.integer.width - 1))
        has_preferred_zero = builder.icmp_signed("==", min_bits, zero)
        is_zero = self.is_zero(value)
        value = builder.select(
            builder.and_(has_preferred_zero, is_zero), builder.bitcast(zero, self.real), value
        )
        return builder.select(has_nan, ir.Constant(self.real, float("nan")), value)

    def _of_lanes(self, nan: ir.Value, bits: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Reduce the flags and the bits of all lanes."""
        builder = self.builder
        flags = ir.IntType(nan.type.count)
        has_nan = builder.icmp_unsigned("!=", builder.bitcast(nan, flags), flags(0))
        while bits.type.count > 1:
            first, second = halves(builder, bits)
            bits = builder.select(self._less(first, second), first, second)
        return has_nan, builder.extract_element(bits, I32(0))

    def _less(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Whether bits are less, in the order in which those of the zero are the least."""
        compared = self.builder.icmp_unsigned if self.is_maximum else self.builder.icmp_signed
        return compared("<", a, b)
