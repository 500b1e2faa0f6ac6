"""Branches, loops and clusters within blocks on small arrays."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ...ir import Block, Operation, Region
from ...ir import Value as IrValue
from ..blocks import (
    Bound,
    Elements,
    IsArray,
    Storage,
    case_conditions,
    count_limit,
    emit_cluster,
    emit_steps,
    updates_problem,
)
from ..blocks.arrays import CLUSTERS
from ..coverage import ViewOf
from ..llvm.values import I64
from .boxes import copy_all
from .emitter import (
    EMIT_RULES,
    IN_PLACE,
    ArrayEmitter,
    EmitRule,
    Variable,
    block_problem,
    bytes_of,
    inner_problem,
    is_array,
    is_large,
    is_single,
    must_update_in_place,
    operation_count,
    types_problem,
)

MAX_BYTES = 1 << 20
"""Bytes of the arrays that a step of a loop makes."""
MAX_WORK = 1 << 23
"""Products that it multiplies on one thread: more are better multiplied block by block."""
MAX_SHARED_WORK, MAX_WORK_PER_OPERATION = 1 << 20, 1 << 15
"""Products that it multiplies, in all and for each of its operations, where threads could share them: more of
them gain more by that than the steps of a plan cost."""
MAX_INNER_TRIPS = 1 << 12
"""A loop within a block that may take more is left to the plan: native code is not interrupted there."""


def while_problem(operation: Operation, view_of: ViewOf, max_work: int | None = None) -> str | None:
    """Why a `while` cannot be generated, or None where it can.

    Args:
        max_work: products that a step may multiply; None: so few that threads need not share them.
    """
    reason = types_problem(operation, frozenset({operation.name}))
    if reason is not None:
        return reason
    cond, body = (region.block for region in operation.regions)
    if max_work is None:
        max_work = min(MAX_SHARED_WORK, MAX_WORK_PER_OPERATION * operation_count(body))
    return (
        block_problem(cond, view_of)
        or block_problem(body, view_of, IN_PLACE, MAX_BYTES, max_work)
        or _updates_problem(operation, must_update_in_place)
    )


def _updates_problem(operation: Operation, is_in_place: IsArray) -> str | None:
    """Why such arrays cannot be updated in place alone."""
    cond, body = (region.block for region in operation.regions)
    return updates_problem(cond, (), is_in_place) or updates_problem(body, body.arguments, is_in_place, True)


def updated_in_place(operation: Operation) -> IsArray:
    """Which tensors a `while` that can be generated updates in place: all arrays, where that is possible."""
    return is_array if _updates_problem(operation, is_array) is None else must_update_in_place


def workspace_bytes(operation: Operation) -> int:
    """About how much memory the arrays take that a `while` makes."""
    return sum(bytes_of(region.block) for region in operation.regions)


def emit_while(
    emitter: ArrayEmitter, operation: Operation, homes: Sequence[Storage], budget: ir.Value | None = None
) -> ir.Value:
    """Generate a `while` that has no `while_problem`; returns whether `cond` still holds at its end.

    Args:
        homes: memory for each carried value: it holds the first ones, and then the last ones.
        budget: most steps to do, as i64; None: no limit.
    """
    carried = [
        _Carried(emitter, home, _made(operation.regions[1].block, number))
        for number, home in enumerate(homes)
    ]

    def settled(handed_on: list[Bound]) -> list[Bound]:
        places = [one.now for one in carried]
        return [
            _kept(emitter, bound, [place for place in places if place is not one.now])
            for one, bound in zip(carried, handed_on, strict=True)
        ]

    holds = emit_steps(emitter, operation, carried, budget, settled)
    for one in carried:
        one.leave()
    return holds


def _made(body: Block, number: int) -> IrValue | None:
    """The array that a body's operations make and hand on at a position, if they do so there first."""
    handed_on = body.terminator.operands
    value = handed_on[number]
    if not is_array(value.type) or is_large(value.type) or value.owner not in body.operations:
        return None
    return value if handed_on.index(value) == number else None


def _kept(emitter: ArrayEmitter, bound: Bound, homes: Sequence[Storage]) -> Bound:
    """What is handed on: a copy where it lies in the memory of another carried value."""
    if not isinstance(bound, Storage) or all(bound.pointer is not home.pointer for home in homes):
        return bound
    buffer = emitter.allocate_scratch(bound.type)
    copy_all(emitter, buffer, bound)
    return buffer


class _Carried:
    """A value that a loop carries: an element in registers, an array in its home.

    An array that each step makes anew takes turns between its home and another place: one step's is read
    while the next one's is written, and none is copied.

    Args:
        home: where it is at first, and is left at last.
        computed: the array that a step makes; None: it makes none.

    Attributes:
        now: where the array lies that the step reads.
    """

    def __init__(self, emitter: ArrayEmitter, home: Storage, computed: IrValue | None) -> None:
        self.emitter, self.home, self.computed, self.now = emitter, home, computed, home
        self.variable: Variable | None = None
        if is_single(home.type):
            self.variable = Variable(emitter, emitter.loaded(home).scalar)
        elif computed is not None:
            self.variable = Variable(emitter, (home.pointer, emitter.allocate_scratch(home.type).pointer))

    def read(self) -> Bound:
        if self.variable is None:
            return self.home
        parts = self.variable.get()
        if self.computed is None:
            return Elements((parts,))
        self.now, self.emitter.result_storage[self.computed] = (
            Storage(self.home.type, part) for part in parts
        )
        return self.now

    def write(self, bound: Bound) -> None:
        if isinstance(bound, Elements) and self.computed is None:
            assert self.variable is not None
            self.variable.set(bound.scalar)
            return
        next = None if self.computed is None else self.emitter.result_storage[self.computed]
        if isinstance(bound, Storage) and next is not None and bound.pointer is next.pointer:
            assert self.variable is not None
            self.variable.set((next.pointer, self.now.pointer))
        elif not isinstance(bound, Storage) or bound.pointer is not self.now.pointer:
            copy_all(self.emitter, self.now, bound)

    def leave(self) -> None:
        """Leave the last value in its home."""
        if self.variable is None:
            return
        builder, (place, *_) = self.emitter.builder, self.variable.get()
        if self.computed is None:
            self.emitter.put(self.home, I64(0), self.variable.get())
            return
        with builder.if_then(builder.icmp_unsigned("!=", place, self.home.pointer)):
            copy_all(self.emitter, self.home, Storage(self.home.type, place))


def _inner_problem(operation: Operation, view_of: ViewOf) -> str | None:
    limit = count_limit(operation)
    if limit is None or limit > MAX_INNER_TRIPS:
        return "an inner loop of an unknown or great number of steps"
    return inner_problem(operation, view_of)


def _emit_inner(emitter: ArrayEmitter, operation: Operation) -> Sequence[Bound]:
    homes = []
    for operand, result in zip(operation.operands, operation.results, strict=True):
        homes.append(emitter.allocate_result(result))
        copy_all(emitter, homes[-1], emitter.bound[operand])
    emit_while(emitter, operation, homes)
    return [emitter.result(home) for home in homes]


def _emit_if(emitter: ArrayEmitter, operation: Operation) -> Sequence[Bound]:
    return _emit_branches(emitter, operation, list(emitter.element(operation.operands[0])))


def _emit_case(emitter: ArrayEmitter, operation: Operation) -> Sequence[Bound]:
    (index,) = emitter.element(operation.operands[0])
    chosen = case_conditions(emitter.builder, index, operation)
    return _emit_branches(emitter, operation, chosen)


def _emit_branches(
    emitter: ArrayEmitter, operation: Operation, conditions: Sequence[ir.Value]
) -> Sequence[Bound]:
    """The first region whose condition holds, or the last one; all leave their results in one place."""
    builder = emitter.builder
    scratch_buffers = [emitter.allocate_result(result) for result in operation.results]
    end = builder.append_basic_block("joined")

    def branch(region: Region) -> None:
        for buffer, bound in zip(scratch_buffers, emitter.emit_block(region.block, []), strict=True):
            copy_all(emitter, buffer, bound)
        builder.branch(end)

    for condition, region in zip(conditions, operation.regions, strict=False):
        here, otherwise = builder.append_basic_block("branch"), builder.append_basic_block("otherwise")
        builder.cbranch(condition, here, otherwise)
        builder.position_at_end(here)
        branch(region)
        builder.position_at_end(otherwise)
    branch(operation.regions[-1])
    builder.position_at_end(end)
    return [emitter.result(buffer) for buffer in scratch_buffers]


def _emit_cluster(emitter: ArrayEmitter, operation: Operation) -> Sequence[Bound]:
    """Its operations one by one; what they make for its results goes where those are wanted."""
    computed = operation.regions[0].block.terminator.operands
    for value, result in zip(computed, operation.results, strict=True):
        if result in emitter.result_storage:
            emitter.result_storage[value] = emitter.result_storage[result]
    return emit_cluster(emitter, operation)


EMIT_RULES.update(dict.fromkeys(CLUSTERS, EmitRule(inner_problem, _emit_cluster, is_outlined=False)))
EMIT_RULES["stablehlo.while"] = EmitRule(_inner_problem, _emit_inner, is_outlined=False)
EMIT_RULES["stablehlo.if"] = EmitRule(inner_problem, _emit_if, is_outlined=False)
EMIT_RULES["stablehlo.case"] = EmitRule(inner_problem, _emit_case, is_outlined=False)
