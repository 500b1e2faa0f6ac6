"""Rewrites of `while`: hoists loop-invariant operations, and unrolls short loops.

A loop counts where ``cond`` compares a carried value with a bound from outside, and ``body`` adds a constant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ...ir import Block, Builder, Operation, Region, Value, tensor_type
from ...ops.elementwise.comparison import Compare
from ...types import INTEGER, ElementType, storage_range
from ..utils.effects import has_no_effect, is_pure
from ..utils.rewriter import Rewriter, defined_by, is_plain, splat, viewed
from ..utils.unused_results import operands_within

MAX_UNROLLED_ITERATIONS: Final = 8
"""Rounds of a loop that is unrolled."""

MAX_UNROLLED_OPERATIONS: Final = 512
"""Operations of all rounds together."""

_REMATERIALIZED: Final = frozenset(
    {
        "stablehlo.broadcast_in_dim",
        "stablehlo.constant",
        "stablehlo.convert",
        "stablehlo.iota",
        "stablehlo.reshape",
        "stablehlo.slice",
        "stablehlo.transpose",
    }
)
"""Cheap operations, which leave a loop only together with the operations that use them."""

_KEPT_IN_LOOPS: Final = frozenset(
    {
        "stablehlo.case",
        "stablehlo.composite",
        "stablehlo.custom_call",
        "stablehlo.gather",
        "stablehlo.if",
        "stablehlo.optimization_barrier",
        "stablehlo.while",
    }
)
"""Operations that stay in loops: they may fail or take long even if the loop does not run, or are
barriers."""


@dataclass(frozen=True, slots=True)
class Counter:
    """How a loop counts.

    Attributes:
        index: which of the carried values is the counter.
        limit: the loop runs while the counter is less than this.
        inclusive: whether the loop also runs while it is equal.
        increment: what each round adds, more than 0.
    """

    index: int
    limit: Value
    inclusive: bool
    increment: int


def match_counter(operation: Operation) -> Counter | None:
    """How a loop counts up; None where it does not."""
    cond, body = [region.block for region in operation.regions]
    (verdict,) = cond.terminator.operands
    comparison = defined_by(verdict, "stablehlo.compare")
    if comparison is None:
        return None
    lhs, rhs = comparison.operands
    direction = viewed(comparison, Compare).comparison_direction.value
    if direction in ("GT", "GE"):
        lhs, rhs, direction = rhs, lhs, {"GT": "LT", "GE": "LE"}[direction]
    if direction not in ("LT", "LE") or lhs.owner is not cond or not tensor_type(lhs).category & INTEGER:
        return None
    if rhs.owner is cond or (rhs.owner in cond.operations and splat(rhs) is None):
        return None
    increment = _added(body.terminator.operands[lhs.index], body.arguments[lhs.index])
    return (
        Counter(lhs.index, rhs, direction == "LE", increment)
        if increment is not None and increment > 0
        else None
    )


def _added(value: Value, argument: Value) -> int | None:
    """The constant that was added to an argument."""
    addition = defined_by(value, "stablehlo.add")
    if addition is None or argument not in addition.operands:
        return None
    lhs, rhs = addition.operands
    element = splat(rhs if lhs is argument else lhs)
    return None if element is None else int(element)


def declare_counter(operation: Operation, rewriter: Rewriter) -> None:
    """Enter the bounds of a loop's counter within the body."""
    loop_counter = match_counter(operation)
    if loop_counter is None:
        return
    start = rewriter.interval(operation.operands[loop_counter.index])
    limit = rewriter.interval(rewriter.current(loop_counter.limit))
    argument = operation.regions[1].block.arguments[loop_counter.index]
    element_type = tensor_type(argument).element_type
    if start is None or limit is None or not isinstance(element_type, ElementType):
        return
    last = limit[1] if loop_counter.inclusive else limit[1] - 1
    # A counter that wraps around has no bounds.
    if start[0] <= last and last + loop_counter.increment <= storage_range(element_type)[1]:
        rewriter.intervals.declare(argument, (start[0], last))


def trip_count(operation: Operation) -> int | None:
    """The trip count of a loop with constant bounds; None if it is unknown."""
    loop_counter = match_counter(operation)
    if loop_counter is None:
        return None
    start, limit = splat(operation.operands[loop_counter.index]), splat(loop_counter.limit)
    element_type = tensor_type(operation.operands[loop_counter.index]).element_type
    if start is None or limit is None or not isinstance(element_type, ElementType):
        return None
    end = int(limit) + loop_counter.inclusive
    count = max(0, -((int(start) - end) // loop_counter.increment))
    if int(start) + count * loop_counter.increment > storage_range(element_type)[1]:
        return None
    return count


def unroll(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """A loop of few rounds becomes these rounds, one after the other; one of none is its operands."""
    count = trip_count(operation)
    cond, body = operation.regions
    if count is None or count > MAX_UNROLLED_ITERATIONS or not is_pure(cond.block):
        return None
    if count * sum(1 for _ in body.walk()) > MAX_UNROLLED_OPERATIONS or not _types_stay(operation):
        return None
    carried = [rewriter.current(value) for value in operation.operands]
    for _ in range(count):
        values = dict(zip(body.block.arguments, carried, strict=True))
        copied = Block()
        for inner in body.block.operations[:-1]:
            Builder(copied).copy(inner, values)
        rewriter.insert_all(copied.operations)
        carried = [rewriter.current(values.get(value, value)) for value in body.block.terminator.operands]
    return carried


def _types_stay(operation: Operation) -> bool:
    """Whether what is carried has one type in all places."""
    types = tuple([operand.type for operand in operation.operands])
    body = operation.regions[1].type
    return types == tuple([result.type for result in operation.results]) == body.inputs == body.results


def drop_unchanged(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """A carried value that no round changes is used from outside of the loop."""
    if not _types_stay(operation):
        return None
    blocks = [region.block for region in operation.regions]
    returned = blocks[1].terminator.operands
    unchanged = [
        index
        for index, (argument, value) in enumerate(zip(blocks[1].arguments, returned, strict=True))
        if value is argument or value is operation.operands[index]
    ]
    if not unchanged:
        return None
    values = {block.arguments[index]: operation.operands[index] for block in blocks for index in unchanged}
    return _rebuilt(operation, [i for i in range(len(returned)) if i not in unchanged], values, rewriter)


def _rebuilt(
    operation: Operation, remaining: Sequence[int], values: Mapping[Value, Value], rewriter: Rewriter
) -> Sequence[Value]:
    """The loop without some carried values, whose arguments and results `values` replace."""
    regions = []
    for region in operation.regions:
        block = region.block
        new = Block([block.arguments[index].type for index in remaining])
        loop_values = dict(values)
        loop_values.update(zip([block.arguments[index] for index in remaining], new.arguments, strict=True))
        for inner in block.operations:
            Builder(new).copy(inner, loop_values)
        if region is operation.regions[1]:
            terminator = new.terminator
            terminator.operands = tuple([terminator.operands[index] for index in remaining])
        regions.append(Region([new]))
    loop = Operation(
        operation.name,
        [operation.operands[index] for index in remaining],
        [operation.results[index].type for index in remaining],
        operation.attributes,
        regions,
        operation.location,
    )
    results = dict(zip(remaining, rewriter.insert(loop), strict=True))
    return [results.get(index, operand) for index, operand in enumerate(operation.operands)]


def hoist(operation: Operation, rewriter: Rewriter) -> None:
    """Move out of a loop's body, in place, what computes the same in each round.

    What is moved runs even where the loop does not: it has no effect and cannot fail.
    """
    block = operation.regions[1].block
    outside = _Outside(block)
    hoisted = [inner for inner in block.operations[:-1] if outside.contains(inner)]
    for inner in hoisted:
        rewriter.insert(inner)
    if hoisted:
        hoisted_set = set(hoisted)
        block.operations = [inner for inner in block.operations if inner not in hoisted_set]
        rewriter.substitute(block)
        rewriter.rewrite_count += 1


class _Outside:
    """Which operations of a body depend on nothing of it."""

    def __init__(self, block: Block) -> None:
        self.loop_values: set[Value] = set(block.arguments)
        self.definitions: dict[Value, Operation] = {}
        self.hoistable: set[Operation] = set()
        for operation in block.operations[:-1]:
            depends = not self.loop_values.isdisjoint(operands_within(operation)) or not _may_move(operation)
            if depends:
                self.loop_values.update(operation.results)
                continue
            self.definitions.update(dict.fromkeys(operation.results, operation))
            if operation.name not in _REMATERIALIZED:
                self.need(operation)

    def need(self, operation: Operation) -> None:
        """Move an operation and the operations that it uses."""
        pending = [operation]
        while pending:
            inner_operation = pending.pop()
            if inner_operation not in self.hoistable:
                self.hoistable.add(inner_operation)
                pending += [
                    self.definitions[value]
                    for value in operands_within(inner_operation)
                    if value in self.definitions
                ]

    def contains(self, operation: Operation) -> bool:
        """Whether an operation leaves the loop."""
        return operation in self.hoistable


def _may_move(operation: Operation) -> bool:
    """Whether an operation may run though the loop may not."""
    return (
        operation.name.startswith("stablehlo.")
        and operation.name not in _KEPT_IN_LOOPS
        and is_plain(operation)
        and all(tensor_type(value).size for value in operation.operands)
        and has_no_effect(operation)
    )
