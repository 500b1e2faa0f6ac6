"""Small products of matrices and vectors, in the order that `kernels/matmul/gemv.h` states.

A term goes to the chain of its number modulo theirs; chains are added up by fused multiply-add from 0 on, and
then by halves, and 0 to the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from ...kernels.launch.processor import register_bytes
from ..blocks import Storage
from ..blocks.elements import element_pointer
from ..llvm.values import I64, stored_type
from .emitter import ArrayEmitter

_LINES = 4
"""Lines that are read beside each other."""


class VectorProduct:
    """Generates the products of a stack of vectors with a stack of matrices.

    Args:
        vector, matrix, result: where they lie.
        sizes: how many matrices there are, their lines, and the terms of each.
        chains: how many there are of a sum.
    """

    def __init__(
        self,
        emitter: ArrayEmitter,
        vector: Storage,
        matrix: Storage,
        result: Storage,
        sizes: tuple[int, int, int],
        chains: int,
    ) -> None:
        self.emitter, self.builder = emitter, emitter.builder
        self.vector, self.matrix, self.result = vector, matrix, result
        self.batch, self.lines, self.terms = sizes
        self.chains = chains
        self.scalar = stored_type(result.type.element_type)  # type: ignore[arg-type]

    def emit_dots(self) -> None:
        """Where the terms of a line lie side by side: a lane is a chain."""
        builder = self.builder
        for number in self.emitter.loop(self.batch):
            vector = builder.mul(number, I64(self.terms))
            matrix = builder.mul(number, I64(self.lines * self.terms))
            result = builder.mul(number, I64(self.lines))
            whole = self.lines // _LINES * _LINES
            for first, count, step in ((0, whole // _LINES, _LINES), (whole, self.lines - whole, 1)):
                if count:
                    for tile in self.emitter.loop(count):
                        line = builder.add(builder.mul(tile, I64(step)), I64(first))
                        start = builder.add(matrix, builder.mul(line, I64(self.terms)))
                        self.dots(step, vector, start, builder.add(result, line))

    def dots(self, lines: int, vector: ir.Value, matrix: ir.Value, result: ir.Value) -> None:
        """Some lines' sums."""
        builder, whole = self.builder, self.terms // self.chains * self.chains
        sums = self.scratch_buffers(lines, self.chains)

        def add(term: ir.Value, count: int) -> None:
            factors = self.load(self.vector, builder.add(vector, term), count, self.chains)
            for line, room in enumerate(sums):
                offset = builder.add(matrix, builder.add(term, I64(line * self.terms)))
                self.add_to(room, factors, self.load(self.matrix, offset, count, self.chains))

        if whole:
            for step in self.emitter.loop(whole // self.chains):
                add(builder.mul(step, I64(self.chains)), self.chains)
        if whole < self.terms:
            add(I64(whole), self.terms - whole)
        for line, room in enumerate(sums):
            total, count = self.value(room), self.chains
            while count > 1:
                count //= 2
                halves = [lanes_of(builder, total, range(first, first + count)) for first in (0, count)]
                total = builder.fadd(*halves)
            element = builder.extract_element(total, I64(0))
            self.leave(builder.add(result, I64(line)), element)

    def emit_columns(self) -> None:
        """Where lines lie side by side: a lane is a line, and each chain has a vector."""
        builder, rest = self.builder, self.lines
        lanes = register_bytes() // 32 // self.item
        for number in self.emitter.loop(self.batch):
            vector = builder.mul(number, I64(self.terms))
            matrix = builder.mul(number, I64(self.lines * self.terms))
            result = builder.mul(number, I64(self.lines))
            first = 0
            while rest:
                count = rest // lanes
                if count:
                    for tile in self.emitter.loop(count):
                        line = builder.add(builder.mul(tile, I64(lanes)), I64(first))
                        self.columns(lanes, vector, builder.add(matrix, line), builder.add(result, line))
                first, rest, lanes = first + count * lanes, rest % lanes, lanes // 2

    def columns(self, lanes: int, vector: ir.Value, matrix: ir.Value, result: ir.Value) -> None:
        """Some lines' sums."""
        builder, whole = self.builder, self.terms // self.chains * self.chains
        sums = self.scratch_buffers(self.chains, lanes)

        def add(first: ir.Value, count: int) -> None:
            for chain, room in enumerate(sums[:count]):
                term = builder.add(first, I64(chain))
                factor = self.load(self.vector, builder.add(vector, term), 1, 1)
                offset = builder.add(matrix, builder.mul(term, I64(self.lines)))
                line = self.load(self.matrix, offset, lanes, lanes)
                self.add_to(room, lanes_of(builder, factor, [0] * lanes), line)

        if whole:
            for step in self.emitter.loop(whole // self.chains):
                add(builder.mul(step, I64(self.chains)), self.chains)
        if whole < self.terms:
            add(I64(whole), self.terms - whole)
        totals = [self.value(room) for room in sums]
        while len(totals) > 1:
            half = len(totals) // 2
            totals = [builder.fadd(*pair) for pair in zip(totals[:half], totals[half:], strict=True)]
        self.leave(result, totals[0])

    @property
    def item(self) -> int:
        """Bytes of an element: vectors are aligned no better."""
        return self.result.type.dtype.itemsize

    def scratch_buffers(self, count: int, lanes: int) -> list[ir.Value]:
        """So many vectors of zeros."""
        type = ir.VectorType(self.scalar, lanes)
        with self.builder.goto_entry_block():
            scratch_buffers = [self.builder.alloca(type) for _ in range(count)]
        for room in scratch_buffers:
            self.builder.store(ir.Constant(type, None), room)
        return scratch_buffers

    def value(self, room: ir.Value) -> ir.Value:
        return self.builder.load(room, typ=room.allocated_type)

    def add_to(self, room: ir.Value, factors: ir.Value, values: ir.Value) -> None:
        fused = fused_function(self.builder.module, factors.type)
        self.builder.store(self.builder.call(fused, [factors, values, self.value(room)]), room)

    def load(self, storage: Storage, position: ir.Value, count: int, lanes: int) -> ir.Value:
        """Elements side by side, and zeros behind them."""
        builder, pointer = self.builder, element_pointer(self.builder, storage, position)
        value = builder.load(pointer, typ=ir.VectorType(self.scalar, count), align=self.item)
        if count == lanes:
            return value
        return lanes_of(builder, value, [*range(count), *[count] * (lanes - count)])

    def leave(self, offset: ir.Value, total: ir.Value) -> None:
        """Write sums, 0 added to each."""
        zero = ir.Constant(total.type, None) if isinstance(total.type, ir.VectorType) else total.type(0.0)
        pointer = element_pointer(self.builder, self.result, offset)
        self.builder.store(self.builder.fadd(total, zero), pointer, align=self.item)


def lanes_of(builder: ir.IRBuilder, vector: ir.Value, lanes: Sequence[int]) -> ir.Value:
    """Some lanes of a vector; from its length on they are zeros."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))
    return builder.shuffle_vector(vector, ir.Constant(vector.type, None), mask)


def fused_function(module: ir.Module, type: ir.Type) -> ir.Function:
    """The fused multiply-add of a type."""
    element: Any = type.element if isinstance(type, ir.VectorType) else type
    bits = 32 if isinstance(element, ir.FloatType) else 64
    name = f"llvm.fma.v{type.count}f{bits}" if element is not type else f"llvm.fma.f{bits}"
    known: Any = module.globals.get(name)
    return known or ir.Function(module, ir.FunctionType(type, [type] * 3), name)
