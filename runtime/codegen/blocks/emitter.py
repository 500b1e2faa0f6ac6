"""The frame in which blocks of scalar work become straight LLVM code.

Callers hand in `view_of`, which gives an operation's declared view (its attributes under the
specification's names), so that this layer needs to know no declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from llvmlite import ir

from ...ir import Block, Operation
from ...ir import Value as IrValue
from ...ir.record import Record
from ...types import TensorType
from ..coverage import MATHEMATICS, ViewOf
from ..llvm.values import I64, Value
from . import elements as tensors
from .elements import Elements, Storage, is_small

Bound = Elements | Storage


class EmitRule(Record):
    """How operations of one kind are generated.

    Attributes:
        problem: why an operation cannot be generated, or None; called with the operation and its view.
        emit: generates it; returns what its results are bound to.
    """

    problem: Callable[[Operation, ViewOf], str | None]
    emit: Callable[[BlockEmitter, Operation], Sequence[Bound]]


MATHEMATICAL = 40
"""About how many instructions a mathematical function has."""

EMIT_RULES: dict[str, EmitRule] = {}
"""The forms of operations by name; the modules of this folder enter theirs."""

ELEMENTWISE = ""
"""Under this name stands the form of all other operations."""


def emit_rule_of(operation: Operation) -> EmitRule:
    """How an operation is generated."""
    return EMIT_RULES.get(operation.name) or EMIT_RULES[ELEMENTWISE]


class Watch(Protocol):
    """Sees a block's operations as they are generated."""

    def enter(self, emitter: Emitter, block: Block) -> None:
        """A block begins, whose arguments are bound."""

    def begin(self, emitter: Emitter, operation: Operation) -> None:
        """An operation begins, whose operands are bound."""

    def end(self, emitter: Emitter, operation: Operation, bounds: Sequence[Bound]) -> None:
        """An operation was generated; its results are going to be bound."""

    def leave(self, emitter: Emitter, block: Block) -> None:
        """A block ends: it hands on the operands of its terminator."""


class Emitter:
    """Generates the code of blocks at the place where a builder stands; what their values are bound to.

    Args:
        builder: where to generate.
        view_of: gives an operation's view.
        environment: what the values that blocks use from outside are bound to.
    """

    watch: ClassVar[Watch | None] = None
    """What sees the memory that blocks read and write as they are generated: tests verify it."""

    def __init__(
        self, builder: ir.IRBuilder, view_of: ViewOf, environment: Mapping[IrValue, Bound] | None = None
    ) -> None:
        self.builder = builder
        self.view_of = view_of
        self.bound: dict[IrValue, Bound] = dict(environment or {})

    def emit_block(self, block: Block, arguments: Sequence[Bound]) -> list[Bound]:
        """Generate a block's operations; returns what its terminator hands on."""
        self.bound.update(zip(block.arguments, arguments, strict=True))
        watch = Emitter.watch
        if watch is not None:
            watch.enter(self, block)
        for operation in self.emitted(block):
            if watch is not None:
                watch.begin(self, operation)
            bounds = self.emit_operation(operation)
            if watch is not None:
                watch.end(self, operation, bounds)
            self.bound.update(zip(operation.results, bounds, strict=True))
        if watch is not None:
            watch.leave(self, block)
        return [self.bound[value] for value in block.terminator.operands]

    def emitted(self, block: Block) -> Sequence[Operation]:
        """The operations of a block that are generated one after the other."""
        return block.operations[:-1]

    def emit_operation(self, operation: Operation) -> Sequence[Bound]:
        """Generate an operation; returns what its results are bound to."""
        raise NotImplementedError

    def storage(self, value: IrValue) -> Storage:
        """A tensor in memory: where it is, or a copy of a small one on the stack."""
        bound = self.bound[value]
        if isinstance(bound, Storage):
            return bound
        assert isinstance(value.type, TensorType)
        return tensors.spilled(self.builder, value.type, bound)


class BlockEmitter(Emitter):
    """Generates blocks of scalar work: small tensors are LLVM values, one for each element."""

    def emit_operation(self, operation: Operation) -> Sequence[Bound]:
        return emit_rule_of(operation).emit(self, operation)

    def elements(self, value: IrValue) -> Elements:
        """What a small tensor is bound to."""
        bound = self.bound[value]
        return bound if isinstance(bound, Elements) else tensors.all_elements(self.builder, bound)

    def at(self, bound: Bound, position: int) -> Value:
        """One element of a tensor of any size."""
        if isinstance(bound, Elements):
            return bound.values[position]
        return tensors.load_elements(self.builder, bound, [I64(position)]).scalar

    def index(self, value: IrValue) -> ir.Value:
        """A 0-dimensional integer tensor as i64."""
        return self.indices(value)[0]

    def indices(self, value: IrValue) -> list[ir.Value]:
        """The elements of an integer tensor as i64."""
        kind: Any = value.type
        return [
            tensors.as_int64(self.builder, kind.element_type, element)
            for element in self.elements(value).values
        ]


def block_problem(block: Block, view_of: ViewOf) -> str | None:
    """Why a block of operations cannot be generated, or None where it can."""
    for operation in block.operations[:-1]:
        rule = emit_rule_of(operation)
        reason = rule.problem(operation, view_of)
        if reason is not None:
            return f"{operation.name}: {reason}"
    return None


def instructions(block: Block) -> int:
    """About how many instructions the code of a block has."""
    total = 0
    for operation in block.operations:
        for region in operation.regions:
            total += instructions(region.block)
        values = (*operation.operands[1:], *operation.results)
        elements = max(
            [tensors.element_count(value.type) for value in values if is_small(value.type)], default=1
        )
        total += elements * (MATHEMATICAL if operation.name in MATHEMATICS else 1)
    return total


def all_small(values: Iterable[IrValue]) -> str | None:
    for value in values:
        if not is_small(value.type):
            return f"{value.type} is not small"
    return None
