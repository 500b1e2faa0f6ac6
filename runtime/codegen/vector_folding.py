"""Folds of many floats into one by adjacent pairs, a vector of pairs at a time, as LLVM code.

The even lanes of two neighbouring vectors are combined with the odd ones, which leaves the next level of the
tree in order. Where the number of values is no power of two, values that change nothing follow: the tree is
the same, for a value without a neighbour goes up as it is.
"""

from __future__ import annotations

from llvmlite import ir

from ..ir import Block, Operation
from ..types import FLOAT, ElementType
from .blocks import INT64
from .folding import F32, Loop
from .space import combines_by, folded_type
from .values import I32, stored_type

VECTOR_BYTES = 64
_NEUTRAL = {"stablehlo.add": -0.0, "stablehlo.multiply": 1.0}
"""What, combined with any value, gives that value; so with itself."""


def neutral(operation: Operation) -> float | None:
    """The value that changes nothing where vectors serve a reduction; else None."""
    folded = folded_type(operation, F32)
    if not folded.category & FLOAT or folded.width < 32:
        return None
    return _NEUTRAL.get(combines_by(operation.regions[0].block) or "")


def emit_vector_fold(
    builder: ir.IRBuilder, body: Block, folded: ElementType, values: ir.Value, count: int
) -> ir.Value:
    """The total of `count` values, a power of two and some vectors at least; their memory is written over."""
    add = combines_by(body) == "stablehlo.add"
    type = ir.VectorType(stored_type(folded), VECTOR_BYTES // folded.dtype.itemsize)

    vectors_at = builder.bitcast(values, type.as_pointer())

    def combined(even: ir.Value, odd: ir.Value) -> ir.Value:
        return builder.fadd(even, odd) if add else builder.fmul(even, odd)

    def vector(first: ir.Value) -> ir.Value:
        return builder.load(builder.gep(vectors_at, [first], inbounds=True), align=VECTOR_BYTES)

    def total(first: ir.Value, vectors: int) -> ir.Value:
        """The level of the tree at which so many neighbouring vectors have become one."""
        if vectors == 1:
            return vector(first)
        half = vectors // 2
        left, right = total(first, half), total(builder.add(first, INT64(half)), half)
        even, odd = (_alternate(builder, left, right, k) for k in (0, 1))
        return combined(even, odd)

    vectors = count // type.count
    while vectors > type.count:
        left = vectors // type.count
        with Loop(builder, INT64(0), INT64(left)) as number:
            level = total(builder.mul(number, INT64(type.count)), type.count)
            builder.store(level, builder.gep(vectors_at, [number], inbounds=True), align=VECTOR_BYTES)
        vectors = left
    last = total(INT64(0), vectors)
    while last.type.count > 2:
        half = last.type.count // 2
        last = combined(*(_lanes(builder, last, range(k, 2 * half, 2)) for k in (0, 1)))
    return combined(*(builder.extract_element(last, ir.Constant(I32, k)) for k in (0, 1)))


def _alternate(builder: ir.IRBuilder, left: ir.Value, right: ir.Value, first: int) -> ir.Value:
    """Every second lane of two vectors."""
    return _lanes(builder, left, range(first, 2 * left.type.count, 2), right)


def _lanes(builder: ir.IRBuilder, vector: ir.Value, lanes: range, other: ir.Value | None = None) -> ir.Value:
    """Some lanes of a vector, or of two taken as one."""
    mask = ir.Constant(ir.VectorType(I32, len(lanes)), [I32(lane) for lane in lanes])
    return builder.shuffle_vector(vector, vector if other is None else other, mask)
