"""`chlo.top_k` of few elements: a sorted list of the k greatest elements is updated while a row is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

from llvmlite import ir

from ....program.ir import Operation, plain_element_type
from ....program.ops.framework.declaration import Op
from ....types import FLOAT, SIGNED, ElementType
from ..elementwise.floats import total_order
from ..llvm.functions import Variable
from ..llvm.loops import While
from ..llvm.values import I32, I64, Value
from ..scalars import Binding, Storage
from ..scalars.emitter import EmitRule, Mode
from .emitter import ArrayEmitter

if TYPE_CHECKING:
    from ....program.ops.sorting.top_k import TopK

MAX_COMPARISONS = 1 << 15
"""Elements times k."""


def _check(operation: Operation, mode: Mode) -> str | None:
    view = cast("TopK", Op.of(operation))
    type = plain_element_type(operation.operands[0])
    if type.category == FLOAT and type.name not in ("f32", "f64", "bf16"):
        return f"selects {type}"
    if plain_element_type(operation.results[1]).name != "i32":
        return f"has indices of {view.indices.element_type}"
    return "has many elements" if view.operand.size * view.k > MAX_COMPARISONS else None


def _emit(emitter: ArrayEmitter, operation: Operation) -> Sequence[Binding]:
    view, builder = cast("TopK", Op.of(operation)), emitter.builder
    length, k, type = view.operand.shape[-1], view.k, plain_element_type(operation.operands[0])
    operand = emitter.storage(operation.operands[0])
    values, indices = map(emitter.allocate_result, operation.results)
    for row in emitter.loop(view.operand.size // length):
        first, best = builder.mul(row, I64(length)), builder.mul(row, I64(k))
        selection = _Selection(emitter, type, k, indices, best)
        for index in emitter.loop(length):
            selection.insert(emitter.at(operand, builder.add(first, index)), index)
        for number in emitter.loop(k):
            offset = builder.add(best, number)
            (index,) = emitter.at(indices, offset)
            value = emitter.at(operand, builder.add(first, builder.sext(index, I64)))
            emitter.put(values, offset, value)
    return [emitter.result(values), emitter.result(indices)]


class _Selection:
    """The k greatest elements of a row so far, in descending order; equal elements stay in their order."""

    def __init__(
        self, emitter: ArrayEmitter, type: ElementType, k: int, indices: Storage, first: ir.Value
    ) -> None:
        self.emitter = emitter
        self.builder = emitter.builder
        self.type = type
        self.k = k
        self.indices = indices
        self.first = first
        self.keys: ir.Value | None = None

    def insert(self, value: Value, index: ir.Value) -> None:
        """Insert an element behind those that are not less."""
        builder, k = self.builder, I64(self.k)
        key = self.key(value)
        if self.keys is None:
            with builder.goto_entry_block():
                self.keys = builder.alloca(ir.ArrayType(key.type, self.k))
        held = builder.select(builder.icmp_signed("<", index, k), index, k)
        slot = Variable(builder, held)
        with While(builder) as continue_if:
            offset = slot.get()
            before = builder.sub(offset, I64(1))
            is_some = builder.icmp_signed(">", offset, I64(0))
            other = builder.load(self.at(builder.select(is_some, before, I64(0))), typ=key.type)
            compare = builder.icmp_signed if self.is_signed else builder.icmp_unsigned
            continue_if(builder.and_(is_some, compare("<", other, key)))
            with builder.if_then(builder.icmp_signed("<", offset, k)):
                self.write_slot(offset, other, self.emitter.at(self.indices, builder.add(self.first, before)))
            slot.set(before)
        offset = slot.get()
        with builder.if_then(builder.icmp_signed("<", offset, k)):
            self.write_slot(offset, key, (builder.trunc(index, I32),))

    @property
    def is_signed(self) -> bool:
        return self.type.category in (FLOAT, SIGNED)

    def key(self, value: Value) -> ir.Value:
        """An integer that orders elements."""
        (element,) = value
        return total_order(self.builder, self.type, element) if self.type.category == FLOAT else element

    def at(self, slot: ir.Value) -> ir.Value:
        return self.builder.gep(self.keys, [I64(0), slot], inbounds=True)

    def write_slot(self, slot: ir.Value, key: ir.Value, index: Value) -> None:
        self.builder.store(key, self.at(slot))
        self.emitter.put(self.indices, self.builder.add(self.first, slot), index)


TOP_K: Final = EmitRule(_check, _emit)
