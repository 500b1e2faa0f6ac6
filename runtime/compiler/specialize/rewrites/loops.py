"""Rewrites of `while`: hoists loop-invariant operations, and unrolls short loops.

A loop has a counter if ``cond`` compares a carried value with a loop-invariant bound and ``body`` adds a
constant to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ....program.ir import Block, Builder, Operation, Region, Value, tensor_type
from ....program.ir.record import Record
from ....program.ops.elementwise.comparison import Compare
from ....program.ops.framework.declaration import declaration_of
from ....types import INTEGER, ElementType, storage_range
from ..framework.operation_classes import creates, has_no_effect, is_pure, is_view
from ..framework.rewriter import Rewriter, defined_by, has_static_unquantized_types, splat
from ..framework.unused_results import operands_within

MAX_UNROLLED_ITERATIONS: Final = 8
"""Maximum iterations of a loop that is unrolled."""

MAX_UNROLLED_OPERATIONS: Final = 512
"""Maximum operations of all iterations together."""

_INDEX_ARITHMETIC: Final = frozenset(
    f"stablehlo.{name}"
    for name in (
        "add", "and", "compare", "multiply", "or", "select", "shift_left", "shift_right_arithmetic",
        "shift_right_logical", "subtract", "xor",
    )
)  # fmt: skip
MAX_INDEX_OPERATIONS: Final = 4
"""Operations on an iota that take less time than to write their result and to read it in each iteration."""
MIN_INDEX_BYTES: Final = 1 << 17
"""Bytes of a result from which such operations stay in a loop."""

class Counter(Record):
    """The counter of a loop.

    Attributes:
        index: which of the carried values is the counter.
        limit: the loop runs while the counter is less than this.
        inclusive: whether the loop also runs while it is equal.
        increment: what each iteration adds, more than 0.
    """

    index: int
    limit: Value
    inclusive: bool
    increment: int


def match_counter(operation: Operation) -> Counter | None:
    """The counter of a loop that counts up; None for any other loop."""
    cond, body = [region.block for region in operation.regions]
    (predicate,) = cond.terminator.operands
    comparison = defined_by(predicate, "stablehlo.compare")
    if comparison is None:
        return None
    lhs, rhs = comparison.operands
    direction = Compare.of(comparison).comparison_direction.value
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


def declare_counter_range(operation: Operation, rewriter: Rewriter) -> None:
    """Record the range of a loop's counter, for the rewrites of its body."""
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
    """Replace a loop of few iterations by copies of its body; a loop of no iterations is its operands."""
    count = trip_count(operation)
    cond, body = operation.regions
    if count is None or count > MAX_UNROLLED_ITERATIONS or not is_pure(cond.block):
        return None
    if count * sum(1 for _ in body.walk()) > MAX_UNROLLED_OPERATIONS or not _has_invariant_types(operation):
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


def _has_invariant_types(operation: Operation) -> bool:
    """Whether each carried value has the same type as operand, argument and result."""
    types = tuple([operand.type for operand in operation.operands])
    body = operation.regions[1].type
    return types == tuple([result.type for result in operation.results]) == body.inputs == body.results


def drop_invariant_values(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """A carried value that no iteration changes becomes a captured value."""
    if not _has_invariant_types(operation):
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
    """Move loop-invariant operations out of a loop's body, in place.

    They then run even if the loop has no iterations, so they must have no effect and must not fail.
    """
    block = operation.regions[1].block
    invariants = _LoopInvariants(block)
    hoisted = [inner for inner in block.operations[:-1] if invariants.contains(inner)]
    for inner in hoisted:
        rewriter.insert(inner)
    if hoisted:
        hoisted_set = set(hoisted)
        block.operations = [inner for inner in block.operations if inner not in hoisted_set]
        rewriter.substitute(block)
        rewriter.rewrite_count += 1


class _LoopInvariants:
    """The loop-invariant operations of a body that are worth hoisting."""

    def __init__(self, block: Block) -> None:
        self.loop_values: set[Value] = set(block.arguments)
        self.definitions: dict[Value, Operation] = {}
        self.hoistable: set[Operation] = set()
        self.index_operations: dict[Value, int] = {}
        for operation in block.operations[:-1]:
            uses_loop_value = not self.loop_values.isdisjoint(operands_within(operation))
            if uses_loop_value or not _is_speculatable(operation):
                self.loop_values.update(operation.results)
                continue
            self.definitions.update(dict.fromkeys(operation.results, operation))
            if not _leaves_with_users(operation) and not self._is_cheap_index(operation):
                self._add(operation)

    def _add(self, operation: Operation) -> None:
        """Hoist an operation and the operations that it uses."""
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

    def _is_cheap_index(self, operation: Operation) -> bool:
        """Whether an operation computes a large array from iotas and uniform constants, by few operations."""
        if operation.name not in _INDEX_ARITHMETIC:
            return False
        result = tensor_type(operation.result)
        if result.size * result.dtype.itemsize < MIN_INDEX_BYTES:
            return False
        counts = [self._count_of_index_operations(operand) for operand in operation.operands]
        count = 1 + sum([MAX_INDEX_OPERATIONS if each is None else each for each in counts])
        if count <= MAX_INDEX_OPERATIONS:
            self.index_operations[operation.result] = count
        return count <= MAX_INDEX_OPERATIONS

    def _count_of_index_operations(self, value: Value) -> int | None:
        """How many operations compute a value from iotas and uniform constants; None: by others."""
        while value not in self.index_operations:
            owner = value.owner
            if not isinstance(owner, Operation) or not _leaves_with_users(owner):
                return None
            if owner.name == "stablehlo.iota" or splat(value) is not None:
                return 0
            if len(owner.operands) != 1:
                return None
            (value,) = owner.operands
        return self.index_operations[value]

    def contains(self, operation: Operation) -> bool:
        """Whether an operation is hoisted."""
        return operation in self.hoistable


def _leaves_with_users(operation: Operation) -> bool:
    """Whether an operation is so cheap that it leaves a loop only together with those that use it."""
    return is_view(operation) or creates(operation) or operation.name == "stablehlo.convert"


def _is_speculatable(operation: Operation) -> bool:
    """Whether an operation may run even if the loop has no iterations."""
    return (
        declaration_of(operation).may_be_hoisted
        and has_static_unquantized_types(operation)
        and all(tensor_type(value).size for value in operation.operands)
        and has_no_effect(operation)
    )
