"""The frame in which blocks of operations on small arrays become LLVM code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from ...ir import Block, Operation, Region, captured_values
from ...ir import Value as IrValue
from ...types import TensorType, Type
from .. import blocks
from ..blocks import BlockEmitter, Bound, Elements, Emitter, Storage, is_plain
from ..blocks.elements import as_int64, element_count, load_elements, store_elements
from ..coverage import ViewOf
from ..description import operations_description
from ..llvm.functions import aligned_scratch, opaque
from ..llvm.values import I64, POINTER, Value, stored_type
from .chains import chain, fused_into_users, is_splat

MAX_ELEMENTS = 1 << 14
"""Arrays with more elements are not made."""
MAX_COPIED_ELEMENTS = 1 << 12
"""Arrays with more elements are updated in place alone."""
MAX_BYTES = 1 << 17
"""Bytes on the stack for the arrays of a block."""
MAX_WORK = 1 << 15
"""Products that the operations of a block multiply: more are better shared among threads."""
MAX_OPERATIONS = 400
"""Operations of a block, those of its regions included: more would take seconds to compile."""


@dataclass(frozen=True, slots=True)
class EmitRule:
    """How operations of one kind are generated.

    Attributes:
        problem: why an operation whose types are plain cannot be generated, or None.
        emit: generates it; returns what its results are bound to.
        is_apart: whether it becomes a function of its own, which equal operations share: LLVM takes much
            longer for one that is long than for some that are short.
        work: about how many products it multiplies.
        alias: where its result lies without anything being made, or None.
    """

    problem: Callable[[Operation, ViewOf], str | None]
    emit: Callable[[ArrayEmitter, Operation], Sequence[Bound]]
    is_outlined: bool = True
    work: Callable[[Operation, ViewOf], int] = lambda operation, view_of: 0
    alias: Callable[[ArrayEmitter, Operation], Storage | None] = lambda emitter, operation: None


IN_PLACE = frozenset({"stablehlo.dynamic_update_slice", "stablehlo.scatter"})
"""What updates arrays in place, large ones always."""

CONSTANTS = frozenset({"stablehlo.constant", "stablehlo.iota"})
"""Their results are memory of the code's, which nothing changes."""

_LINE = 64
"""Bytes of a cache line."""

EMIT_RULES: dict[str, EmitRule] = {}
"""The forms of operations by name; the modules of this folder enter theirs."""

ELEMENTWISE = ""
"""Under this name stands the form of all other operations."""


def emit_rule_of(operation: Operation) -> EmitRule:
    """How an operation is generated."""
    return EMIT_RULES.get(operation.name) or EMIT_RULES[ELEMENTWISE]


def _is_elementwise(operation: Operation) -> bool:
    """Whether an operation makes an array element by element."""
    is_one = emit_rule_of(operation) is EMIT_RULES[ELEMENTWISE] and len(operation.results) == 1
    return is_one and is_array(operation.result.type)


def is_single(type: Type) -> bool:
    """Whether tensors of a type are one element, which is held as an LLVM value."""
    return is_plain(type) and element_count(type) == 1


def is_large(type: Type) -> bool:
    """Whether tensors of a type are never made anew."""
    return is_plain(type) and element_count(type) > MAX_ELEMENTS


def must_update_in_place(type: Type) -> bool:
    """Whether tensors of a type must be updated in place: copies would take long."""
    return is_plain(type) and element_count(type) > MAX_COPIED_ELEMENTS


def is_array(type: Type) -> bool:
    """Whether tensors of a type have several elements, which lie in memory."""
    return is_plain(type) and element_count(type) > 1


def block_problem(
    block: Block,
    view_of: ViewOf,
    in_place: frozenset[str] = frozenset(),
    max_bytes: int = MAX_BYTES,
    max_work: int = MAX_WORK,
) -> str | None:
    """Why a block of operations cannot be generated, or None where it can.

    Args:
        in_place: names of operations that may give large arrays, those of their operands.
        max_bytes, max_work: of all its operations together.
    """
    if operation_count(block) > MAX_OPERATIONS:
        return "is too much code"
    if bytes_of(block) > max_bytes:
        return "needs too much memory"
    reason = _problem(block, view_of, in_place)
    if reason is None and products_of(block, view_of) > max_work:
        return "has many products"
    return reason


def operation_count(block: Block) -> int:
    """How many operations a block has, those of its regions included."""
    return sum(1 for _ in _walk(block))


def products_of(block: Block, view_of: ViewOf) -> int:
    """About how many products the operations of a block multiply that has no `block_problem`."""
    return sum(emit_rule_of(operation).work(operation, view_of) for operation in _walk(block))


def _problem(block: Block, view_of: ViewOf, in_place: frozenset[str]) -> str | None:
    for operation in block.operations[:-1]:
        reason = types_problem(operation, in_place) or emit_rule_of(operation).problem(operation, view_of)
        if reason is not None:
            return f"{operation.name}: {reason}"
    return None


def step_problem(operation: Operation, view_of: ViewOf) -> str | None:
    """Why an operation cannot be generated among others of a block, or None where it can."""
    reason = types_problem(operation) or emit_rule_of(operation).problem(operation, view_of)
    if reason is None and sum(emit_rule_of(one).work(one, view_of) for one in operation.walk()) > MAX_WORK:
        return "has many products"
    return reason


def types_problem(operation: Operation, in_place: frozenset[str] = frozenset()) -> str | None:
    """Why an operation's types are none that are generated."""
    for value in (*operation.operands, *operation.results):
        if not is_plain(value.type) or not element_count(value.type):
            return f"{value.type} is not generated"
    if operation.name not in in_place:
        for value in operation.results:
            if is_large(value.type):
                return f"{value.type} is not small"
    return None


def inner_problem(operation: Operation, view_of: ViewOf) -> str | None:
    """Why the blocks of an operation's regions cannot be generated within another block."""
    for region in operation.regions:
        reason = _problem(region.block, view_of, frozenset())
        if reason is not None:
            return reason
    return None


def body_problem(region: Region, view_of: ViewOf) -> str | None:
    """Why the body of a reduction or an update of single elements cannot be generated."""
    block = region.block
    for value in (*block.arguments, *block.terminator.operands):
        if not is_single(value.type):
            return f"its body has {value.type}"
    if captured_values([region]):
        return "its body uses values from outside"
    return blocks.block_problem(block, view_of)


def _walk(block: Block) -> Iterator[Operation]:
    for operation in block.operations:
        yield from operation.walk()


def bytes_of(block: Block) -> int:
    """Bytes of the arrays that the operations of a block make, those in their regions included.

    Constants are in the code.
    """
    making = [operation for operation in _walk(block) if operation.name not in CONSTANTS]
    computed = [value.type for operation in making for value in operation.results]
    tensors = [type for type in computed if isinstance(type, TensorType) and not is_large(type)]
    return sum(_scratch_bytes(type) for type in tensors)


def _scratch_bytes(type: TensorType) -> int:
    """Bytes of memory for an array, in whole cache lines."""
    return -(-type.size * type.dtype.itemsize // _LINE) * _LINE


class Workspace:
    """Memory for arrays, which begins at a cache line.

    Args:
        pointer: to it, of the function that is generated.
        size: its bytes.
    """

    def __init__(self, pointer: ir.Value, size: int) -> None:
        self.pointer, self.left, self.used = pointer, size, 0

    def taken(self, builder: ir.IRBuilder, type: TensorType) -> ir.Value | None:
        """Memory for an array; None where it is used up."""
        size, place = _scratch_bytes(type), self.used
        if size > self.left:
            return None
        self.left, self.used = self.left - size, place + size
        return builder.gep(self.pointer, [I64(place)], inbounds=True, source_etype=ir.IntType(8))


class ArrayEmitter(Emitter):
    """Generates blocks of work on small arrays, in a function whose entry block ends in a branch.

    Args:
        workspace: where arrays lie that it makes; None: on the stack.
        is_in_place: tells which tensors are updated in place.

    Attributes:
        result_storage: memory of their own for some results, where they are wanted.
        unchanging: values in memory that nothing writes to while the function runs.
        made_later: elementwise operations whose elements the loop of their only user makes.
    """

    def __init__(
        self,
        builder: ir.IRBuilder,
        view_of: ViewOf,
        environment: Mapping[IrValue, Bound] | None = None,
        workspace: Workspace | None = None,
        is_in_place: Callable[[Type], bool] = is_large,
    ) -> None:
        super().__init__(builder, view_of, environment)
        self.workspace = workspace
        self.is_in_place = is_in_place
        self.functions: dict[str, ir.Function] = {}
        self.result_storage: dict[IrValue, Storage] = {}
        self.unchanging: set[IrValue] = set()
        self.fused_operations: set[Operation] = set()

    def emitted(self, block: Block) -> Sequence[Operation]:
        later = fused_into_users(block, _is_elementwise, IN_PLACE)
        self.fused_operations |= later
        return [operation for operation in block.operations[:-1] if operation not in later]

    def emit_operation(self, operation: Operation) -> Sequence[Bound]:
        rule = emit_rule_of(operation)
        if operation.name in CONSTANTS:
            self.unchanging.add(operation.result)
        alias = rule.alias(self, operation)
        if alias is not None:
            return [alias]
        is_updated = operation.name in IN_PLACE and self.is_in_place(operation.operands[0].type)
        is_outlined = rule.is_outlined and not is_updated and any(_is_made(v.type) for v in operation.results)
        return self.emit_outlined(operation) if is_outlined else rule.emit(self, operation)

    def chain(self, operation: Operation) -> list[Operation]:
        """The operations that an operation's loop makes, it last, each behind those that it uses."""
        takes_splats = emit_rule_of(operation) is EMIT_RULES[ELEMENTWISE]
        return chain(operation, lambda one: one in self.fused_operations or (takes_splats and is_splat(one)))

    def emit_outlined(self, operation: Operation) -> list[Bound]:
        """Generate an operation, and those that its loop makes, as a call of a function of its own.

        Returns:
            What its results are bound to.
        """
        operations = self.chain(operation)
        key = operations_description(operations)
        computed = {one.result for one in operations[:-1]}
        used = [operand for one in operations for operand in one.operands if operand not in computed]
        operands = list(dict.fromkeys(used))
        scratch_buffers = [self.allocate_result(result) for result in operation.results]
        arguments = [part for value in operands for part in _parts(self.bound[value])]
        arguments += [room.pointer for room in scratch_buffers]
        function = self.functions.get(key)
        if function is None:
            function = self.functions[key] = self.function_of(operation, operands, arguments)
        self.builder.call(function, arguments)
        return [self.result(room) for room in scratch_buffers]

    def function_of(
        self, operation: Operation, operands: Sequence[IrValue], arguments: Sequence[ir.Value]
    ) -> ir.Function:
        """The function of an operation: it takes the parts of its operands, and where its results go."""
        module = self.builder.module
        types = [
            POINTER if isinstance(argument.type, ir.PointerType) else argument.type for argument in arguments
        ]
        type = ir.FunctionType(ir.VoidType(), types)
        function = ir.Function(module, type, module.get_unique_name("step"))
        function.linkage = "internal"
        function.attributes.add("noinline")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        start = builder.append_basic_block("start")
        builder.branch(start)
        builder.position_at_end(start)
        parts = list(function.args)
        emitter = ArrayEmitter(builder, self.view_of)
        emitter.fused_operations = self.fused_operations
        for value in operands:
            emitter.bound[value] = _taken(self.bound[value], parts)
        for result, pointer in zip(operation.results, parts, strict=True):
            # What is written is memory of its own.
            pointer.add_attribute("noalias")
            emitter.result_storage[result] = Storage(result.type, pointer)  # type: ignore[arg-type]
        emit_rule_of(operation).emit(emitter, operation)
        builder.ret_void()
        return function

    def element(self, value: IrValue) -> Value:
        """What a tensor of one element is bound to."""
        bound = self.bound[value]
        assert isinstance(bound, Elements)
        return bound.scalar

    def indices(self, values: Iterable[IrValue]) -> list[ir.Value]:
        """Integer tensors of one element as i64."""
        return [as_int64(self.builder, element_type(value), self.element(value)) for value in values]

    def at(self, bound: Bound, position: ir.Value) -> Value:
        """The element of a tensor at a position; of a single one, that."""
        if isinstance(bound, Elements):
            return bound.scalar
        return load_elements(self.builder, bound, [position]).scalar

    def put(self, storage: Storage, position: ir.Value, value: Value) -> None:
        """Write an element to a position."""
        store_elements(self.builder, storage, [position], Elements((value,)))

    def allocate_scratch(self, type: TensorType) -> Storage:
        """Memory for a tensor."""
        with self.builder.goto_entry_block():
            place = self.workspace.taken(self.builder, type) if self.workspace is not None else None
        if place is not None:
            return Storage(type, place)
        stored = stored_type(element_type_of(type))
        with self.builder.goto_entry_block():
            pointer = opaque(aligned_scratch(self.builder, stored, max(element_count(type), 1)))
        return Storage(type, pointer)

    def allocate_result(self, value: IrValue) -> Storage:
        """Memory for a result: where the caller wants it, or of its own."""
        result_storage = self.result_storage.get(value)
        return self.allocate_scratch(value.type) if result_storage is None else result_storage  # type: ignore[arg-type]

    def result(self, storage: Storage) -> Bound:
        """What a result that was written to memory is bound to."""
        return self.loaded(storage) if is_single(storage.type) else storage

    def loaded(self, storage: Storage) -> Elements:
        """A single element in memory."""
        return load_elements(self.builder, storage, [I64(0)])

    def applied(self, block: Block, items: Sequence[Value]) -> list[Value]:
        """What a body of single elements makes of some."""
        emitter = BlockEmitter(self.builder, self.view_of)
        results = emitter.emit_block(block, [Elements((item,)) for item in items])
        return [result.scalar for result in results if isinstance(result, Elements)]

    @contextmanager
    def loop(self, count: int | ir.Value, first: ir.Value | None = None) -> Iterator[ir.Value]:
        """A loop over [first, count), at least one step; yields the index."""
        builder = self.builder
        before = builder.block
        body = builder.append_basic_block("body")
        builder.branch(body)
        builder.position_at_end(body)
        index = builder.phi(I64)
        index.add_incoming(I64(0) if first is None else first, before)
        yield index
        following = builder.add(index, I64(1), flags=("nuw", "nsw"))
        index.add_incoming(following, builder.block)
        end = builder.append_basic_block("end")
        limit = I64(count) if isinstance(count, int) else count
        builder.cbranch(builder.icmp_signed("<", following, limit), body, end)
        builder.position_at_end(end)


class Variable:
    """An element that changes: memory on the stack, which becomes registers."""

    def __init__(self, emitter: ArrayEmitter, initial: Value) -> None:
        self.builder = emitter.builder
        with self.builder.goto_entry_block():
            self.scratch_buffers = [self.builder.alloca(part.type) for part in initial]
        self.set(initial)

    def get(self) -> Value:
        return tuple([self.builder.load(room) for room in self.scratch_buffers])

    def set(self, value: Value) -> None:
        for room, part in zip(self.scratch_buffers, value, strict=True):
            self.builder.store(part, room)


def _is_made(type: Type) -> bool:
    """Whether an operation makes an array of a type."""
    return not is_single(type) and not is_large(type)


def _parts(bound: Bound) -> list[ir.Value]:
    """The arguments that a value becomes."""
    return [bound.pointer] if isinstance(bound, Storage) else list(bound.scalar)


def _taken(like: Bound, parts: list[ir.Value]) -> Bound:
    """A value bound to arguments, taken from the front of `parts`, as `like` is."""
    if isinstance(like, Storage):
        return Storage(like.type, parts.pop(0))
    return Elements((tuple([parts.pop(0) for _ in like.scalar]),))


def element_type(value: IrValue) -> Any:
    """The element type of a tensor."""
    return element_type_of(value.type)


def element_type_of(type: Any) -> Any:
    """The element type of a type of tensors."""
    return type.element_type
