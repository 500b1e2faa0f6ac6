"""Branches and loops within blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from llvmlite import ir

from ...ir import DenseElementsAttribute, EnumAttribute, Operation, Region
from ...ir import Value as IrValue
from ...types import SIGNED, TensorType
from ..coverage import ViewOf
from ..llvm.values import I64, Value
from .elements import Elements, Storage, is_plain, is_small
from .emitter import EMIT_RULES, BlockEmitter, Bound, EmitRule, Emitter, block_problem, instructions


def _branches_problem(operation: Operation, view_of: ViewOf) -> str | None:
    if not is_small(operation.operands[0].type):
        return "selects by what is no small tensor"
    for region in operation.regions:
        reason = block_problem(region.block, view_of)
        if reason is not None:
            return reason
    return None


def _emit_if(emitter: BlockEmitter, operation: Operation) -> Sequence[Bound]:
    (condition,) = emitter.elements(operation.operands[0]).scalar
    return _emit_branches(emitter, operation, [condition], operation.regions)


def _emit_case(emitter: BlockEmitter, operation: Operation) -> Sequence[Bound]:
    (index,) = emitter.elements(operation.operands[0]).scalar
    chosen = case_conditions(emitter.builder, index, operation)
    return _emit_branches(emitter, operation, chosen, operation.regions)


def case_conditions(builder: ir.IRBuilder, index: ir.Value, operation: Operation) -> list[ir.Value]:
    """Whether each region of a `case` but the last is chosen; where none of them is, that one."""
    return [
        builder.icmp_signed("==", index, index.type(number)) for number in range(len(operation.regions) - 1)
    ]


def _emit_branches(
    emitter: BlockEmitter, operation: Operation, conditions: Sequence[ir.Value], regions: Sequence[Region]
) -> Sequence[Bound]:
    """The first region whose condition holds, or the last one; each ends in a common block."""
    builder = emitter.builder
    end = builder.append_basic_block("joined")
    arrivals: list[tuple[list[Bound], ir.Block]] = []
    for number, region in enumerate(regions):
        otherwise = None
        if number < len(conditions):
            here = builder.append_basic_block("branch")
            otherwise = builder.append_basic_block("otherwise")
            builder.cbranch(conditions[number], here, otherwise)
            builder.position_at_end(here)
        arrivals.append((emitter.emit_block(region.block, []), builder.block))
        builder.branch(end)
        if otherwise is not None:
            builder.position_at_end(otherwise)
    builder.position_at_end(end)
    columns = [[results[k] for results, _ in arrivals] for k in range(len(operation.results))]
    blocks = [block for _, block in arrivals]
    return [_joined(builder, column, blocks) for column in columns]


def _joined(builder: ir.IRBuilder, column: Sequence[Bound], blocks: Sequence[ir.Block]) -> Bound:
    """What a result is bound to after branches that bound it to `column`; arrays are the same in all."""
    first = column[0]
    if isinstance(first, Storage):
        return first
    values: list[Value] = []
    for position in range(len(first.values)):
        parts = []
        for part in range(len(first.values[position])):
            phi = builder.phi(first.values[position][part].type)
            for bound, block in zip(column, blocks, strict=True):
                assert isinstance(bound, Elements)
                phi.add_incoming(bound.values[position][part], block)
            parts.append(phi)
        values.append(tuple(parts))
    return Elements(tuple(values))


MAX_INSTRUCTIONS = 4000
"""A loop with more would take seconds to compile."""


def loop_problem(operation: Operation, view_of: ViewOf) -> str | None:
    """Why a `while` cannot be generated, or None where it can; updates of arrays apart."""
    for operand in operation.operands:
        if not is_plain(operand.type):
            return f"carries {operand.type}"
    for region in operation.regions:
        reason = block_problem(region.block, view_of)
        if reason is not None:
            return reason
    if sum(instructions(region.block) for region in operation.regions) > MAX_INSTRUCTIONS:
        return "is too much code"
    return None


def _inner_loop_problem(operation: Operation, view_of: ViewOf) -> str | None:
    """Native code is not interrupted within a step of the outermost loop: each must come to an end."""
    if count_limit(operation) is None:
        return "an inner loop has no known number of steps"
    return loop_problem(operation, view_of)


def count_limit(operation: Operation) -> int | None:
    """Up to which constant a `while` counts a signed integer by a positive constant; None: it does not."""
    cond, body = (region.block for region in operation.regions)
    test = cond.terminator.operands[0].owner
    if not isinstance(test, Operation) or test.name != "stablehlo.compare":
        return None
    direction = test.attributes.get("comparison_direction")
    counter, limit = test.operands
    if not isinstance(direction, EnumAttribute) or direction.value not in ("LT", "LE"):
        return None
    if counter.owner is not cond:
        return None
    argument, step = body.arguments[counter.index], body.terminator.operands[counter.index].owner
    if not isinstance(step, Operation) or step.name != "stablehlo.add" or argument not in step.operands:
        return None
    others = [_integer(operand) for operand in step.operands if operand is not argument]
    is_positive = len(others) == 1 and others[0] is not None and others[0] > 0
    return _integer(limit) if is_positive else None


def _integer(value: IrValue) -> int | None:
    """The value of a constant of one signed integer."""
    operation, type = value.owner, value.type
    if not isinstance(operation, Operation) or operation.name != "stablehlo.constant":
        return None
    attribute = operation.attributes.get("value")
    if not isinstance(attribute, DenseElementsAttribute) or not isinstance(type, TensorType):
        return None
    return int(attribute.array.flat[0]) if type.category == SIGNED and attribute.array.size == 1 else None


def emit_loop(
    emitter: BlockEmitter, operation: Operation, initial: Sequence[Bound], budget: ir.Value | None = None
) -> tuple[list[Bound], ir.Value]:
    """Generate a `while`.

    Args:
        initial: what its operands are bound to.
        budget: most steps to do, as i64; None: no limit.

    Returns:
        What the results are bound to, and whether `cond` holds for them: whether steps are left to do.
    """
    carried = [_Carried(emitter.builder, bound) for bound in initial]
    holds = emit_steps(emitter, operation, carried, budget)
    return [one.read() for one in carried], holds


class Carried(Protocol):
    """A value that a loop carries."""

    def read(self) -> Bound: ...

    def write(self, bound: Bound) -> None: ...


def emit_steps(
    emitter: Emitter,
    operation: Operation,
    carried: Sequence[Carried],
    budget: ir.Value | None,
    settled: Callable[[list[Bound]], list[Bound]] = list,
) -> ir.Value:
    """Generate the steps of a `while`; returns whether `cond` still holds after them.

    Args:
        carried: the values that it carries: at first those that it starts with, then the last ones.
        budget: most steps to do, as i64; None: no limit.
        settled: makes what `body` hands on such that its values can be written one after the other.
    """
    builder = emitter.builder
    cond, body = (region.block for region in operation.regions)
    left = None if budget is None else _Carried(builder, Elements(((budget,),)))
    head, step, end = (builder.append_basic_block(name) for name in ("cond", "body", "end"))
    builder.branch(head)
    builder.position_at_end(head)
    (condition,) = emitter.emit_block(cond, [one.read() for one in carried])
    assert isinstance(condition, Elements)
    (holds,) = condition.scalar
    goes_on = holds
    if left is not None:
        goes_on = builder.and_(holds, builder.icmp_signed(">", left.read().scalar[0], I64(0)))
    builder.cbranch(goes_on, step, end)
    builder.position_at_end(step)
    handed_on = settled(emitter.emit_block(body, [one.read() for one in carried]))
    for one, bound in zip(carried, handed_on, strict=True):
        one.write(bound)
    if left is not None:
        left.write(Elements(((builder.sub(left.read().scalar[0], I64(1)),),)))
    builder.branch(head)
    builder.position_at_end(end)
    return holds


class _Carried:
    """A value that a loop carries: elements on the stack, which become registers; arrays in place."""

    def __init__(self, builder: ir.IRBuilder, initial: Bound) -> None:
        self.builder = builder
        self.array = initial if isinstance(initial, Storage) else None
        self.scratch_buffers: list[list[ir.Value]] = []
        if isinstance(initial, Elements):
            with builder.goto_entry_block():
                self.scratch_buffers = [
                    [builder.alloca(part.type) for part in value] for value in initial.values
                ]
            self.write(initial)

    def read(self) -> Any:
        if self.array is not None:
            return self.array
        return Elements(
            tuple(
                [
                    tuple([self.builder.load(room) for room in scratch_buffers])
                    for scratch_buffers in self.scratch_buffers
                ]
            )
        )

    def write(self, bound: Bound) -> None:
        if isinstance(bound, Storage):
            return
        for scratch_buffers, value in zip(self.scratch_buffers, bound.values, strict=True):
            for room, part in zip(scratch_buffers, value, strict=True):
                self.builder.store(part, room)


def _emit_inner_loop(emitter: BlockEmitter, operation: Operation) -> Sequence[Bound]:
    results, _ = emit_loop(emitter, operation, [emitter.bound[operand] for operand in operation.operands])
    return results


def _cluster_problem(operation: Operation, view_of: ViewOf) -> str | None:
    return block_problem(operation.regions[0].block, view_of)


def emit_cluster(emitter: Emitter, operation: Operation) -> Sequence[Bound]:
    """The operations of a cluster, one by one."""
    operands = [emitter.bound[operand] for operand in operation.operands]
    return emitter.emit_block(operation.regions[0].block, operands)


EMIT_RULES["nimblehlo.cluster"] = EmitRule(_cluster_problem, emit_cluster)
EMIT_RULES["stablehlo.while"] = EmitRule(_inner_loop_problem, _emit_inner_loop)
EMIT_RULES["stablehlo.if"] = EmitRule(_branches_problem, _emit_if)
EMIT_RULES["stablehlo.case"] = EmitRule(_branches_problem, _emit_case)
