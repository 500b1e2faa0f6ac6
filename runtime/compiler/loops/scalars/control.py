"""Branches, loops and fusions within blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from llvmlite import ir

from ....program.ir import Block, Operation, Region, captured_values
from ....program.ir import Value as IrValue
from ..llvm.functions import Variable
from ..llvm.loops import While
from ..llvm.values import I64, Value
from .boxes import copy_all
from .elements import Elements, Storage, is_plain
from .emitter import (
    Binding,
    ElementVariable,
    EmitRule,
    Emitter,
    Mode,
    check_block,
    check_regions,
    instructions,
)
from .interruption import check_interruption, is_checked

MAX_INSTRUCTIONS = 4000
"""Maximum instructions of a loop of scalar work; more take seconds to compile."""


def check_body(region: Region, mode: Mode) -> str | None:
    """Why the body of a reduction or an update of single elements cannot be generated.

    In blocks on arrays it may be part of an outlined function.
    """
    block = region.block
    if mode is Mode.ARRAYS:
        for value in (*block.arguments, *block.terminator.operands):
            if not mode.holds(value.type):
                return f"its body has {value.type}"
        if captured_values([region]):
            return "its body captures values"
    return check_interruption(block.operations) or check_block(block)


def _emit_if(emitter: Emitter, operation: Operation) -> Sequence[Binding]:
    return _emit_branches(emitter, operation, list(emitter.element(operation.operands[0])))


def _emit_case(emitter: Emitter, operation: Operation) -> Sequence[Binding]:
    """The last region is the default of `case`."""
    (index,) = emitter.element(operation.operands[0])
    numbers = range(len(operation.regions) - 1)
    chosen = [emitter.builder.icmp_signed("==", index, index.type(number)) for number in numbers]
    return _emit_branches(emitter, operation, chosen)


def _emit_branches(
    emitter: Emitter, operation: Operation, conditions: Sequence[ir.Value]
) -> Sequence[Binding]:
    """The first region whose condition holds, or the last one; each ends in a common block."""
    builder = emitter.builder
    end = builder.append_basic_block("joined")
    arrivals: list[tuple[list[Binding], ir.Block]] = []
    targets = [
        emitter.allocate_result(result) if emitter.allocates(result.type) else None
        for result in operation.results
    ]
    for number, (result, target) in enumerate(zip(operation.results, targets, strict=True)):
        if not isinstance(target, Storage):
            continue
        is_new = result not in emitter.result_storage
        for region in operation.regions:
            value = _updated_array(emitter, region.block, number)
            if value is not None and (is_new or _may_write(emitter, region, target, value)):
                emitter.result_storage[value] = target
    for number, region in enumerate(operation.regions):
        otherwise = None
        if number < len(conditions):
            here = builder.append_basic_block("branch")
            otherwise = builder.append_basic_block("otherwise")
            builder.cbranch(conditions[number], here, otherwise)
            builder.position_at_end(here)
        bindings = emitter.emit_block(region.block, [])
        for k, target in enumerate(targets):
            if target is not None:
                copy_all(emitter, target, bindings[k])
                bindings[k] = emitter.result(target)
        arrivals.append((bindings, builder.block))
        builder.branch(end)
        if otherwise is not None:
            builder.position_at_end(otherwise)
    builder.position_at_end(end)
    columns = [[bindings[k] for bindings, _ in arrivals] for k in range(len(operation.results))]
    blocks = [block for _, block in arrivals]
    return [_joined(builder, column, blocks) for column in columns]


def _may_write(emitter: Emitter, region: Region, target: Storage, value: IrValue) -> bool:
    """Whether a branch may compute a value in memory that was wanted for the result, which it may read.

    Otherwise that memory is written where the branch ends.
    """
    holding: list[IrValue] = []
    for captured in captured_values([region]):
        binding = emitter.bindings.get(captured)
        if binding is None:
            return False
        if isinstance(binding, Storage) and binding.pointer is target.pointer:
            holding.append(captured)
    return not holding or (len(holding) == 1 and emitter.may_replace(region.block, holding[0], value))


def _joined(builder: ir.IRBuilder, column: Sequence[Binding], blocks: Sequence[ir.Block]) -> Binding:
    """Merge the bindings of a result in each branch (`column`) with phi nodes; arrays are the same in all."""
    first = column[0]
    if isinstance(first, Storage):
        return first
    values: list[Value] = []
    for position in range(len(first.values)):
        phis = []
        for component in range(len(first.values[position])):
            phi = builder.phi(first.values[position][component].type)
            for binding, block in zip(column, blocks, strict=True):
                assert isinstance(binding, Elements)
                phi.add_incoming(binding.values[position][component], block)
            phis.append(phi)
        values.append(tuple(phis))
    return Elements(tuple(values))


def check_loop(operation: Operation) -> str | None:
    """Why a `while` cannot be generated on scalars; None if it can, except for updates of arrays."""
    for operand in operation.operands:
        if not is_plain(operand.type):
            return f"carries {operand.type}"
    reason = check_regions(operation, Mode.SCALARS)
    if reason is None and sum(instructions(region.block) for region in operation.regions) > MAX_INSTRUCTIONS:
        return f"has more than {MAX_INSTRUCTIONS} instructions"
    return reason


def _check_inner_loop(operation: Operation, mode: Mode) -> str | None:
    if mode is Mode.SCALARS:
        return check_loop(operation)
    return check_regions(operation, mode)


def emit_while(
    emitter: Emitter, operation: Operation, initial: Sequence[Binding], budget: ir.Value | None = None
) -> tuple[list[Binding], ir.Value]:
    """Generate a `while` that `check_while` accepts.

    Args:
        initial: the bindings of its operands; carried arrays overwrite those in memory.
        budget: maximum iterations, as i64; None: no limit.

    Returns:
        The bindings of the results, and whether `cond` still holds for them, so that iterations are left.
    """
    builder = emitter.builder
    cond, body = (region.block for region in operation.regions)
    carried = [_Carried(emitter, body, number, binding) for number, binding in enumerate(initial)]
    left = None if budget is None else Variable(builder, budget)
    first = emitter.enter_loop()
    with While(builder) as continue_if:
        (condition,) = emitter.emit_block(cond, [carry.read() for carry in carried])
        (holds,) = emitter.at(condition, 0)
        has_budget = None if left is None else builder.icmp_signed(">", left.get(), I64(0))
        continue_if(holds if has_budget is None else builder.and_(holds, has_budget))
        if budget is None and emitter.interruption is not None and is_checked(operation):
            emitter.interruption.emit_check(body)
        returned = emitter.emit_block(body, [carry.read() for carry in carried])
        buffers = [carry.current for carry in carried if carry.current is not None]
        next_values = [
            _preserved(emitter, binding, [buffer for buffer in buffers if buffer is not carry.current])
            for carry, binding in zip(carried, returned, strict=True)
        ]
        for carry, binding in zip(carried, next_values, strict=True):
            carry.write(binding)
        if left is not None:
            left.set(builder.sub(left.get(), I64(1)))
    emitter.leave_loop(first, [storage for carry in carried for storage in carry.storages])
    return [carry.last() for carry in carried], holds


def _updated_array(emitter: Emitter, body: Block, number: int) -> IrValue | None:
    """The array that a body computes and returns at a position, if this is the first position that returns
    it."""
    returned = body.terminator.operands
    value = returned[number]
    if not emitter.allocates_result(value) or value.owner not in body.operations:
        return None
    return value if returned.index(value) == number else None


def _preserved(emitter: Emitter, binding: Binding, buffers: Sequence[Storage]) -> Binding:
    """The value to carry: a copy if its memory belongs to another carried value."""
    if not isinstance(binding, Storage) or all(binding.pointer is not buffer.pointer for buffer in buffers):
        return binding
    buffer = emitter.allocate_scratch(binding.type)
    copy_all(emitter, buffer, binding)
    return emitter.result(buffer)


class _Carried:
    """A value that a loop carries: elements in registers, or an array in memory.

    A newly computed array overwrites the previous one if nothing reads the previous one later.
    Otherwise it has two buffers: an iteration reads one and writes the other, so that nothing is copied.

    Args:
        body: of the loop.
        number: the position of the value among the carried ones.
        initial: its first binding; the memory of an array also gets its last value.

    Attributes:
        computed: the array that an iteration computes, or None.
        home: the memory of the first and last array.
        current: the memory that the iteration reads.
        following: the memory for the array that it computes.
        buffers: the pointers to `current` and to the other buffer; None: there is one buffer.
        storages: all memory of the array.
    """

    def __init__(self, emitter: Emitter, body: Block, number: int, initial: Binding) -> None:
        self.emitter, self.computed = emitter, _updated_array(emitter, body, number)
        self.home = self.current = self.following = initial if isinstance(initial, Storage) else None
        self.storages = [] if self.home is None else [self.home]
        self.buffers: ElementVariable | None = None
        self.elements: list[ElementVariable] = []
        if isinstance(initial, Elements):
            self.elements = [ElementVariable(emitter.builder, value) for value in initial.values]
        elif self.computed is not None and not emitter.may_replace(
            body, body.arguments[number], self.computed
        ):
            other = emitter.allocate_scratch(initial.type)
            assert isinstance(other, Storage)
            self.storages.append(other)
            self.buffers = ElementVariable(emitter.builder, (initial.pointer, other.pointer))

    def read(self) -> Binding:
        if self.home is None:
            return Elements(tuple([element.get() for element in self.elements]))
        current = self.following = self.home
        if self.buffers is not None:
            current, self.following = [Storage(self.home.type, pointer) for pointer in self.buffers.get()]
        if self.computed is not None:
            self.emitter.result_storage[self.computed] = self.following
        self.current = current
        return current

    def write(self, binding: Binding) -> None:
        if self.current is None:
            assert isinstance(binding, Elements)
            for element, value in zip(self.elements, binding.values, strict=True):
                element.set(value)
            return
        pointer = binding.pointer if isinstance(binding, Storage) else None
        if self.buffers is not None and self.following is not None:
            if pointer is self.following.pointer:
                self.buffers.set((pointer, self.current.pointer))
                return
            self.emitter.release_unwritten(self.storages.pop(), self.following)
        copy_all(self.emitter, self.current, binding)

    def last(self) -> Binding:
        """The binding of the last value; an array is in its home storage."""
        if self.home is None or self.buffers is None:
            return self.read()
        builder, (home, _) = self.emitter.builder, self.buffers.get()
        with builder.if_then(builder.icmp_unsigned("!=", home, self.home.pointer)):
            copy_all(self.emitter, self.home, Storage(self.home.type, home))
        return self.home


def _emit_inner_loop(emitter: Emitter, operation: Operation) -> Sequence[Binding]:
    initial: list[Binding] = []
    for operand, result in zip(operation.operands, operation.results, strict=True):
        initial.append(emitter.bindings[operand])
        if emitter.allocates(result.type):
            home = emitter.allocate_result(result)
            copy_all(emitter, home, initial[-1])
            initial[-1] = emitter.result(home)
    return emit_while(emitter, operation, initial)[0]


def _emit_fusion(emitter: Emitter, operation: Operation) -> Sequence[Binding]:
    """Emit a fusion's operations one by one, into the memory requested for its results."""
    block = operation.regions[0].block
    for value, result in zip(block.terminator.operands, operation.results, strict=True):
        if result in emitter.result_storage:
            emitter.result_storage[value] = emitter.result_storage[result]
    return emitter.emit_block(block, [emitter.bindings[operand] for operand in operation.operands])


def _predicate(operation: Operation) -> Sequence[IrValue]:
    return operation.operands[:1]


def _no_values(operation: Operation) -> Sequence[IrValue]:
    return ()


FUSION: Final = EmitRule(check_regions, _emit_fusion, _no_values, is_outlined=False)
ROW_FUSION: Final = EmitRule(check_regions, _emit_fusion, is_outlined=False)
WHILE: Final = EmitRule(_check_inner_loop, _emit_inner_loop, _no_values, is_outlined=False)
IF: Final = EmitRule(check_regions, _emit_if, _predicate, is_outlined=False)
CASE: Final = EmitRule(check_regions, _emit_case, _predicate, is_outlined=False)
