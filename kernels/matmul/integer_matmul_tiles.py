"""Matrix multiplication tiles: LLVM code that keeps a block of sums in registers.

A tile is the product of some rows of one matrix and some vectors of columns of another, summed over k in
ascending order. Its `kind` says how products are added:

- "int32", "int64": modulo two to the width;
- "pairs": a 32-bit word holds two int16, whose products are added to an int32;
- "bytes": a 32-bit word holds four bytes, unsigned on the left and signed on the right, added to an int32.

Importing this module imports Numba.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils as numba_cgutils

from ..launch.processor import has
from ..simd.vectors import I64, intrinsic, literal

cgutils: Any = numba_cgutils

ROWS = 6
"""Rows of a full tile: with `VECTORS` vectors of columns they fill the registers without spilling."""


def _vector_bytes() -> int:
    return 64 if has("avx512f") and has("avx512bw") else 32 if has("avx2") else 16


VECTOR_BYTES = _vector_bytes()
VECTORS = 4 if VECTOR_BYTES == 64 else 2


def supports(kind: str) -> bool:
    """Whether this processor has fast instructions for tiles of this kind."""
    if kind == "bytes":
        return VECTOR_BYTES == 64 and has("avx512vnni")
    return kind != "pairs" or has("sse2")


def _item(kind: str) -> Any:
    return ir.IntType(64 if kind == "int64" else 32)


def lanes(kind: str) -> int:
    """Number of lanes of a vector."""
    return VECTOR_BYTES // (8 if kind.endswith("64") else 4)


_PAIRS = {64: "llvm.x86.avx512.pmaddw.d.512", 32: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.sse2.pmadd.wd"}


def _function(builder: Any, name: str, parameters: list[Any], result: Any) -> Any:
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, parameters), name)


def _multiply_add(builder: Any, kind: str, left: Any, right: Any, total: Any) -> Any:
    """`total` plus the products of two vectors."""
    if kind.startswith("int"):
        return builder.add(total, builder.mul(left, right))
    if kind == "bytes":
        function = _function(builder, "llvm.x86.avx512.vpdpbusd.512", [total.type] * 3, total.type)
        return builder.call(function, [total, left, right])
    short = ir.VectorType(ir.IntType(16), total.type.count * 2)
    function = _function(builder, _PAIRS[VECTOR_BYTES], [short, short], total.type)
    products = builder.call(function, [builder.bitcast(left, short), builder.bitcast(right, short)])
    return builder.add(total, products)


def _splat(builder: Any, value: Any, vector: Any) -> Any:
    """A vector whose lanes are all `value`."""
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.IntType(32)(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [ir.IntType(32)(0)] * vector.count)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), mask)


class _Tile:
    """The code of one tile."""

    def __init__(self, builder: Any, kind: str, vectors: int) -> None:
        self.builder, self.kind, self.vectors = builder, kind, vectors
        self.item = _item(kind)
        self.vector = ir.VectorType(self.item, lanes(kind))
        self.align = 8 if kind.endswith("64") else 4

    def pointer(self, address: Any) -> Any:
        return self.builder.inttoptr(address, self.item.as_pointer())

    def load(self, pointer: Any, offset: Any, number: int) -> Any:
        return self.builder.load(self._vector_pointer(pointer, offset, number), align=self.align)

    def store(self, value: Any, pointer: Any, offset: Any, number: int) -> None:
        self.builder.store(value, self._vector_pointer(pointer, offset, number), align=self.align)

    def _vector_pointer(self, pointer: Any, offset: Any, number: int) -> Any:
        start = self.builder.add(offset, I64(number * self.vector.count))
        return self.builder.bitcast(self.builder.gep(pointer, [start]), self.vector.as_pointer())

    def sums(
        self, last: Any, left: Any, row_stride: Any, k_stride: Any, panel: Any, k: Any
    ) -> list[list[Any]]:
        """The sums of the tile's rows; the panel begins with their initial values."""
        builder = self.builder
        rows = [self._row_pointer(left, row_stride, last, number) for number in range(ROWS)]
        starts = [self.load(panel, I64(0), number) for number in range(self.vectors)]
        totals = [[cgutils.alloca_once(builder, self.vector) for _ in starts] for _ in rows]
        for row in totals:
            for slot, start in zip(row, starts, strict=True):
                builder.store(start, slot)
        width = I64(self.vectors * self.vector.count)
        with cgutils.for_range(builder, k) as loop:
            offset = builder.mul(builder.add(loop.index, I64(1)), width)
            right = [self.load(panel, offset, number) for number in range(self.vectors)]
            k_offset = builder.mul(loop.index, k_stride)
            for source, row in zip(rows, totals, strict=True):
                one = _splat(builder, builder.load(builder.gep(source, [k_offset])), self.vector)
                for slot, vector in zip(row, right, strict=True):
                    builder.store(_multiply_add(builder, self.kind, one, vector, builder.load(slot)), slot)
        return [[builder.load(slot) for slot in row] for row in totals]

    def _row_pointer(self, left: Any, row_stride: Any, last: Any, number: int) -> Any:
        """The address of a row; rows after the last one repeat it."""
        inside = self.builder.icmp_signed("<", I64(number), last)
        row = self.builder.select(inside, I64(number), last)
        return self.builder.gep(left, [self.builder.mul(row_stride, row)])

    def write(self, sums: list[list[Any]], target: Any, target_stride: Any, adds: Any) -> None:
        """Store the sums, or add them to the target if `adds`."""
        builder = self.builder
        with builder.if_else(adds) as (add, replace):
            for branch, is_adding in ((add, True), (replace, False)):
                with branch:
                    for row, vectors in enumerate(sums):
                        offset = builder.mul(target_stride, I64(row))
                        for number, value in enumerate(vectors):
                            if is_adding:
                                value = builder.add(self.load(target, offset, number), value)
                            self.store(value, target, offset, number)


@intrinsic
def tile(
    typing_context: Any, kind: Any, vectors: Any, last: Any, left: Any, row_stride: Any, k_stride: Any,
    panel: Any, k: Any, target: Any, target_stride: Any, adds: Any,
) -> Any:  # fmt: skip
    """Compute one tile of ROWS rows and store it, or add it to the target.

    Args:
        kind, vectors: constants: the kind of products, and the number of vectors per row.
        last: index of the last valid row; the rows after it repeat it.
        left: address of the rows' first word; words are `row_stride` and `k_stride` apart.
        panel: address of the initial sums, which the vectors of each k follow.
        k: the contracted size.
        target: address of the first result; rows are `target_stride` words apart.
        adds: whether to add to the target.
    """
    name, vector_count = literal(kind), literal(vectors)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, _, last, left, row_stride, k_stride, panel, k, target, target_stride, adds = arguments
        code = _Tile(builder, name, vector_count)
        sums = code.sums(last, code.pointer(left), row_stride, k_stride, code.pointer(panel), k)
        code.write(sums, code.pointer(target), target_stride, builder.trunc(adds, ir.IntType(1)))
        return context.get_dummy_value()

    return types.void(kind, vectors, *[types.intp] * 9), generate
