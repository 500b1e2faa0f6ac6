"""Emits LLVM code for blocks of operations, by one rule for each operation.

An `Emitter` generates blocks of scalar work: tensors of few elements are LLVM values, and loops over elements
are unrolled. `nimblehlo.compiler.loops.arrays.ArrayEmitter` generates blocks on small arrays, which are in
memory, by the same rules: a rule asks its emitter for the elements of tensors, for memory and for loops.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Protocol, TypeAlias, TypeGuard

from llvmlite import ir

from ....options import Ordering
from ....program.ir import Block, Operation, Region, captured_values, plain_element_type, tensor_type
from ....program.ir import Value as IrValue
from ....program.ir.affine import AffineExpr
from ....program.ir.record import Record
from ....program.ops.framework.costs import FUNCTION_COST
from ....program.ops.framework.declaration import declaration_of
from ....program.ops.framework.facts import named_code
from ....program.ops.framework.traits import Memory, RegionRole
from ....types import TensorType, Type
from ..llvm.functions import Variable
from ..llvm.values import I64, Value, value_types
from . import elements as tensors
from .elements import MAX_ELEMENTS, Elements, Storage, is_large, is_plain, is_small
from .in_place_updates import memory_of, role_of

Binding = Elements | Storage
Index: TypeAlias = int | ir.Value
"""An offset or an index: an int where loops are unrolled, else an LLVM value."""


class Registers:
    """The elements of a result under construction, as LLVM values."""

    def __init__(self, type: TensorType) -> None:
        self.values: list[Value] = [()] * type.size


Target = Registers | Storage
"""The destination of an operation's result."""


class Mode(enum.Enum):
    """How a block holds tensors; the value is the maximum size of a tensor whose elements are LLVM values."""

    SCALARS = MAX_ELEMENTS
    ARRAYS = 1

    def holds(self, type: Type) -> TypeGuard[TensorType]:
        """Whether tensors of a type are LLVM values, each element one."""
        return is_plain(type) and 0 < tensors.element_count(type) <= self.value

    def bind(self, type: TensorType, values: list[ir.Value]) -> Binding:
        """The binding of a tensor, made of LLVM values popped from the front of `values` (see `flat`)."""
        if not self.holds(type):
            return Storage(type, values.pop(0))
        width, count = len(value_types(type.plain_element_type)), type.size
        elements = [tuple([values.pop(0) for _ in range(width)]) for _ in range(count)]
        return Elements(tuple(elements))


class ElementRule(Record):
    """How a loop over the elements of an operation's result computes one of them.

    Attributes:
        operand_maps: returns the index of the element that is read of each operand, as functions of the
            result's indices.
        emit: emits the result's element, computed from those of the operands.
    """

    operand_maps: Callable[[Operation], Sequence[Sequence[AffineExpr]]]
    emit: Callable[[ir.IRBuilder, Operation, Sequence[Value]], Value]


class EmitRule(Record):
    """How operations of one name are generated.

    Attributes:
        check: returns the reason why an operation of supported types cannot be generated, or None.
        emit: emits the operation; returns the bindings of its results.
        small_values: returns the operands and results that must be small in blocks of scalar work; None: the
            operation is only generated in blocks on arrays.
        is_outlined: whether equal operations in blocks on arrays share a function: LLVM takes much longer for
            one long function than for several short ones.
        multiplications: returns the approximate number of multiplications, or of what takes as long.
        alias: returns the storage of the result if the result is a view of an operand, or None; called in
            blocks on arrays.
        check_ordering: returns the reason why the operation cannot be generated for an evaluation order,
            or None; `check` assumes the default one.
        element: returns the rule by which the loop of an elementwise user, in blocks on arrays, computes the
            elements of the result; None if it cannot.
        takes_any_size: whether results may be large (`elements.is_large`).
        overwritable: returns the operands that the result with a number may overwrite, beside those of
            elementwise operations and updates.
    """

    check: Callable[[Operation, Mode], str | None]
    emit: Callable[[Any, Operation], Sequence[Binding]]
    small_values: Callable[[Operation], Iterable[IrValue]] | None = None
    is_outlined: bool = True
    multiplications: Callable[[Operation], int] = lambda operation: 0
    alias: Callable[[Any, Operation], Storage | None] = lambda emitter, operation: None
    check_ordering: Callable[[Operation, Ordering], str | None] = lambda operation, ordering: None
    element: Callable[[Operation], ElementRule | None] = lambda operation: None
    takes_any_size: bool = False
    overwritable: Callable[[Operation, int], Sequence[IrValue]] = lambda operation, number: ()


_CODEGEN: Final = __package__.rpartition(".")[0]


def emit_rule_of(operation: Operation) -> EmitRule:
    """The rule by which an operation is generated: its declaration names it."""
    rule: EmitRule = named_code(_CODEGEN, declaration_of(operation).block_rule)
    return rule


class EmissionObserver(Protocol):
    """Is told when the generation of each block and operation begins and ends."""

    def begin_block(self, emitter: Emitter, block: Block) -> None:
        """Called after a block's arguments are bound."""

    def begin_operation(self, emitter: Emitter, operation: Operation) -> None:
        """Called before an operation is generated; its operands are bound."""

    def end_operation(self, emitter: Emitter, operation: Operation, bindings: Sequence[Binding]) -> None:
        """Called after an operation was generated, before its results are bound to `bindings`."""

    def end_block(self, emitter: Emitter, block: Block) -> None:
        """Called after a block's last operation; the operands of its terminator are bound."""


class LoopCheck(Protocol):
    """Lets the caller of native code, and what it calls, stop it."""

    def emit_check(self, body: Block) -> None:
        """Emit the check at the beginning of each iteration of an inner loop with that body."""

    def emit_stop(self, condition: ir.Value) -> None:
        """Emit the end of the native code where a condition holds."""


class Emitter:
    """Generates blocks of scalar work at a builder's position; arrays are updated in place.

    The function's entry block must end in a branch, before which allocations are inserted.

    Args:
        builder: inserts the instructions.
        captured_bindings: the bindings of captured values.

    Attributes:
        bindings: the binding of each value.
        result_storage: the memory that callers request for some results.
        interruption: checks inner loops that may run long; None: there are none.
    """

    observer: ClassVar[EmissionObserver | None] = None
    """Observes the generation of all blocks, so that tests can verify the memory accesses of their code."""
    mode: ClassVar[Mode] = Mode.SCALARS

    def __init__(
        self,
        builder: ir.IRBuilder,
        captured_bindings: Mapping[IrValue, Binding] | None = None,
    ) -> None:
        self.builder = builder
        self.bindings: dict[IrValue, Binding] = dict(captured_bindings or {})
        self.result_storage: dict[IrValue, Storage] = {}
        self.interruption: LoopCheck | None = None

    def emit_block(self, block: Block, arguments: Sequence[Binding]) -> list[Binding]:
        """Generate a block's operations; returns the bindings of its terminator's operands."""
        self.bindings.update(zip(block.arguments, arguments, strict=True))
        observer = Emitter.observer
        if observer is not None:
            observer.begin_block(self, block)
        for operation in self.emitted(block):
            if observer is not None:
                observer.begin_operation(self, operation)
            bindings = self.emit_operation(operation)
            if observer is not None:
                observer.end_operation(self, operation, bindings)
            self.bindings.update(zip(operation.results, bindings, strict=True))
        if observer is not None:
            observer.end_block(self, block)
        return [self.bindings[value] for value in block.terminator.operands]

    def emitted(self, block: Block) -> Sequence[Operation]:
        """The operations of a block that are generated in sequence."""
        return block.operations[:-1]

    def emit_operation(self, operation: Operation) -> Sequence[Binding]:
        """Generate an operation; returns the bindings of its results."""
        return emit_rule_of(operation).emit(self, operation)

    def begin_statement(self, bindings: Iterable[Binding | Target | None]) -> None:
        """Begin a statement that reads tensors, which keeps their memory live up to it."""

    def chain(self, operation: Operation) -> list[Operation]:
        """The operations that an operation's loop computes, in topological order, itself last."""
        return [operation]

    def values_read(self, operation: Operation) -> list[IrValue]:
        """The values that the code of an operation and its chain reads.

        Branches are omitted: their code reads captured values itself.
        """
        operations = self.chain(operation)
        computed = {fused.result for fused in operations[:-1]}
        values = [value for fused in operations for value in fused.operands if value not in computed]
        if role_of(operation) is RegionRole.BRANCHES:
            return values
        return values + captured_values(operation.regions)

    def enter_loop(self) -> int:
        """A loop begins; returns what `leave_loop` needs."""
        return 0

    def leave_loop(self, first: int, carried: Sequence[Storage]) -> None:
        """A loop ends; its iterations read and wrote `carried`.

        Args:
            first: the result of `enter_loop`.
        """

    def may_replace(self, body: Block, argument: IrValue, value: IrValue) -> bool:
        """Whether an array that a loop's body computes may overwrite the previous iteration's array.

        Args:
            argument: the carried array.
            value: its value in the next iteration.
        """
        return False

    def allocates(self, type: Type) -> bool:
        """Whether operations allocate their results of a type."""
        return False

    def allocates_result(self, value: IrValue) -> bool:
        """Whether the operation that computes a value allocates its memory."""
        return isinstance(value.owner, Operation) and self.allocates(value.type)

    def apply_scalar_body(self, block: Block, items: Sequence[Value]) -> list[Value]:
        """Emit a scalar body for the given elements and return its results."""
        results = self.emit_block(block, [Elements((item,)) for item in items])
        return [result.scalar for result in results if isinstance(result, Elements)]

    def row_totals(self, reduction: Operation, values: Storage, rows: int, length: int) -> Target | None:
        """The totals of contiguous rows, by the reduction's tree; None if there is no code for whole rows."""
        return None

    def element(self, value: IrValue) -> Value:
        """The LLVM value of a tensor with one element."""
        return self.at(self.bindings[value], 0)

    def indices(self, values: Iterable[IrValue]) -> list[ir.Value]:
        """Integer tensors of one element as i64."""
        return [
            tensors.as_int64(self.builder, plain_element_type(value), self.element(value)) for value in values
        ]

    def at(self, binding: Binding | Target, offset: Index) -> Value:
        """The element of a tensor at an offset; a tensor with one element has it at every offset."""
        if isinstance(binding, Storage):
            return tensors.load_element(self.builder, binding, as_value(offset))
        value: Value = binding.values[0 if len(binding.values) == 1 else offset]
        return value

    def put(self, target: Target, offset: Index, value: Value) -> None:
        """Write an element at an offset."""
        if isinstance(target, Storage):
            tensors.store_element(self.builder, target, as_value(offset), value)
        else:
            target.values[offset] = value

    def storage(self, value: IrValue) -> Storage:
        """The memory of a tensor; a small tensor is copied to the stack."""
        binding = self.bindings[value]
        if isinstance(binding, Storage):
            return binding
        assert isinstance(value.type, TensorType)
        return tensors.spilled(self.builder, value.type, binding)

    def updated(self, operation: Operation) -> Storage:
        """The memory of an operation's first operand, or of a copy, to be updated."""
        return self.storage(operation.operands[0])

    def allocate_scratch(self, type: TensorType) -> Target:
        """A new destination for a tensor."""
        return Registers(type)

    def release_unwritten(self, storage: Storage, alias: Storage) -> None:
        """Release memory that was allocated for a result, but that the result does not use.

        Args:
            alias: another pointer to that memory.
        """

    def allocate_result(self, value: IrValue) -> Target:
        """The destination of a result: the one that the caller requests, or a new one."""
        return self.allocate_scratch(tensor_type(value))

    def result(self, target: Target) -> Binding:
        """The binding of a tensor whose elements have been stored in `target`."""
        if isinstance(target, Registers):
            return Elements(tuple(target.values))
        return tensors.all_elements(self.builder, target) if self.mode.holds(target.type) else target

    def loop(self, count: int) -> Iterator[Index]:
        """A loop over the nonempty range [0, count), unrolled: its body is generated for each index."""
        yield from range(count)

    def independent_loop(self, count: int) -> Iterator[Index]:
        """Like `loop`; what an iteration reads, no other writes. A body may be generated several times."""
        yield from self.loop(count)

    def box(self, sizes: Sequence[int]) -> Iterator[tuple[Index, ...]]:
        """Loops over the indices of a box."""
        if not sizes:
            yield ()
            return
        for index in self.loop(sizes[0]) if sizes[0] > 1 else (0,):
            for others in self.box(sizes[1:]):
                yield (index, *others)

    def independent_box(self, sizes: Sequence[int]) -> Iterator[tuple[Index, ...]]:
        """Like `box`; what an iteration of the innermost loop reads, no other of them writes."""
        if not sizes:
            yield ()
            return
        for outer in self.box(sizes[:-1]):
            for index in self.independent_loop(sizes[-1]) if sizes[-1] > 1 else (0,):
                yield (*outer, index)

    def add(self, *summands: Index) -> Index:
        """The sum of indices."""
        constant = sum([summand for summand in summands if isinstance(summand, int)])
        total: ir.Value = None
        for summand in summands:
            if not isinstance(summand, int):
                total = summand if total is None else self.builder.add(total, summand)
        if total is None:
            return constant
        return self.builder.add(total, I64(constant)) if constant else total

    def offset(self, indices: Sequence[Index], strides: Sequence[int], first: Index = 0) -> Index:
        """`first + sum(index * stride)`."""
        summands = [first]
        for index, stride in zip(indices, strides, strict=True):
            if isinstance(index, int):
                summands.append(index * stride)
            elif stride:
                summands.append(index if stride == 1 else self.builder.mul(index, I64(stride)))
        return self.add(*summands)


class ElementVariable:
    """An element that changes: a variable for each of its components."""

    def __init__(self, builder: ir.IRBuilder, initial: Value) -> None:
        self.components = [Variable(builder, component) for component in initial]

    def get(self) -> Value:
        return tuple([component.get() for component in self.components])

    def set(self, value: Value) -> None:
        for variable, component in zip(self.components, value, strict=True):
            variable.set(component)


def as_value(index: Index) -> ir.Value:
    return I64(index) if isinstance(index, int) else index


def check_nothing(operation: Operation, mode: Mode) -> str | None:
    """Accept every operation."""
    return None


def check_block(
    block: Block, mode: Mode = Mode.SCALARS, updates_in_place: bool = False
) -> str | None:
    """Why a block of operations cannot be generated; None if it can.

    Args:
        updates_in_place: whether operations may update large operands and return them, in blocks on arrays.
    """
    for operation in block.operations[:-1]:
        reason = check_operation(operation, mode, updates_in_place)
        if reason is not None:
            return f"{operation.name}: {reason}"
    return None


def check_operation(operation: Operation, mode: Mode, updates_in_place: bool = False) -> str | None:
    """Why an operation cannot be generated within a block; see `check_block`."""
    rule = emit_rule_of(operation)
    if mode is Mode.SCALARS:
        return _check_scalars(operation, rule) or rule.check(operation, mode)
    if role_of(operation).is_block:
        # Its regions may update large arrays, which are then results.
        return check_types(operation, updates_in_place) or check_regions(operation, mode, updates_in_place)
    is_update = updates_in_place and memory_of(operation) is Memory.UPDATES
    return check_types(operation, is_update or rule.takes_any_size) or rule.check(operation, mode)


def check_regions(operation: Operation, mode: Mode, updates_in_place: bool = False) -> str | None:
    """Why the blocks of an operation's regions cannot be generated within another block (`check_block`)."""
    reasons = (check_block(region.block, mode, updates_in_place) for region in operation.regions)
    return next((reason for reason in reasons if reason is not None), None)


def check_ordering(regions: Iterable[Region], ordering: Ordering) -> str | None:
    """Why the operations in regions cannot be generated for an evaluation order; None if they can."""
    if ordering == Ordering():
        return None
    for operation in [operation for region in regions for operation in region.walk()]:
        reason = emit_rule_of(operation).check_ordering(operation, ordering)
        if reason is not None:
            return f"{operation.name}: {reason}"
    return None


def _check_scalars(operation: Operation, rule: EmitRule) -> str | None:
    """Why an operation's types are not supported in blocks of scalar work."""
    if rule.small_values is None:
        return "is not generated"
    for value in rule.small_values(operation):
        if not is_small(value.type):
            return f"{value.type} is not small"
    for value in operation.operands:
        if not is_plain(value.type):
            return f"{value.type} is not generated"
    return None


def check_types(operation: Operation, may_be_large: bool = False) -> str | None:
    """Why an operation's types are not supported in blocks on arrays.

    Args:
        may_be_large: whether results may be large.
    """
    for value in (*operation.operands, *operation.results):
        if not is_plain(value.type) or not tensors.element_count(value.type):
            return f"{value.type} is not generated"
    if not may_be_large:
        for value in operation.results:
            if is_large(value.type):
                return f"{value.type} is not small"
    return None


def instructions(block: Block) -> int:
    """The approximate number of instructions of a block."""
    total = 0
    for operation in block.operations:
        for region in operation.regions:
            total += instructions(region.block)
        values = (*operation.operands[1:], *operation.results)
        elements = max(
            [tensors.element_count(value.type) for value in values if is_small(value.type)], default=1
        )
        total += elements * (FUNCTION_COST if declaration_of(operation).emit.function else 1)
    return total


def all_values(operation: Operation) -> Sequence[IrValue]:
    return (*operation.operands, *operation.results)
