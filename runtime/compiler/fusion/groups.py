"""Groups of a block's operations, and the fusion operations that replace them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ...program.ir import Block, Builder, Operation, Value, used_values
from ...program.ops.intermediate.fusion import FUSION
from ...types import PLAIN
from ..specialize.framework.operation_classes import is_broadcast, is_iota
from .scheduling import canonical_order, topological_order

if TYPE_CHECKING:
    from .refusals import Refusals

OperationPredicate = Callable[[Operation], bool]
"""A property of an operation, such as whether native code can be generated for it."""


class FusionGroup:
    """Some operations of a block, by their positions.

    Attributes:
        size: elements of its results.
        level: that of its operations (see `levels`).
        owned: operations that only this group computes; other operations may use their results.
        copied: operations that are computed outside of the group too.
        max_members: how many operations may be owned and copied; None: any number.
        built: the results, and the fusion operation that computes them, if it was built already.
    """

    def __init__(self, size: int, level: int, owned: Iterable[int], max_members: int | None = None) -> None:
        self.size = size
        self.level = level
        self.owned = set(owned)
        self.copied: set[int] = set()
        self.max_members = max_members
        self.built: tuple[list[Value], Operation] | None = None

    @property
    def members(self) -> list[int]:
        """All operations in order."""
        return sorted(self.owned | self.copied)


def boundary(
    operations: list[Operation], group: FusionGroup, users: dict[Value, list[int]]
) -> tuple[list[Value], list[Value]]:
    """The operands and the results of a fusion, in the order of the block."""
    return operands_of(operations, group), results_of(operations, group, users)


def operands_of(operations: list[Operation], group: FusionGroup) -> list[Value]:
    """The operands of a fusion, in the order of the block."""
    members = [operations[index] for index in group.members]
    inside = {result for member in members for result in member.results}
    used = dict.fromkeys([value for member in members for value in used_values(member)])
    return [value for value in used if value not in inside]


def results_of(
    operations: list[Operation], group: FusionGroup, users: dict[Value, list[int]]
) -> list[Value]:
    """The results of a fusion, in the order of the block: what operations outside of it use."""
    owned = group.owned
    results = [result for index in sorted(owned) for result in operations[index].results]
    return [result for result in results if not owned.issuperset(users.get(result, ()))]


def users_of(block: Block) -> dict[Value, list[int]]:
    """The positions of the operations that use each value, themselves or in their regions."""
    users: dict[Value, list[int]] = {}
    for index, operation in enumerate(block.operations):
        for value in used_values(operation):
            users.setdefault(value, []).append(index)
    return users


def replace(
    block: Block,
    fusions: list[FusionGroup],
    users: dict[Value, list[int]],
    name: str = FUSION,
    refusals: Refusals | None = None,
) -> None:
    """Replace the operations that fusions own by fusion operations.

    Args:
        block: changed in place.
        users: see `users_of`; updated.
        name: of the fusion operations.
        refusals: what was noted about the operations, carried over to the fusions.
    """
    operations = block.operations
    # The operands of an operation that one fusion copies may be results of another fusion.
    operands_by_group = [operands_of(operations, group) for group in fusions]
    for group, operands in zip(fusions, operands_by_group, strict=True):
        for value in operands:
            users[value].append(max(group.owned))
    replaced: dict[Value, Value] = {}
    readers: set[int] = set()
    inserted: dict[int, Operation] = {}
    removed: set[int] = set()
    for group, operands in zip(fusions, operands_by_group, strict=True):
        results = results_of(operations, group, users)
        if group.built is not None and group.built[0] == results:
            fusion = group.built[1]
        else:
            fusion = fusion_operation([operations[index] for index in group.members], operands, results, name)
        new_results = dict(zip(results, fusion.results, strict=True))
        if refusals is not None:
            refusals.fused(fusion, [operations[index] for index in group.members], new_results)
        replaced.update(new_results)
        for result in results:
            readers.update(users[result])
        inserted[max(group.owned)] = fusion
        removed |= group.owned
    remaining = []
    for index, operation in enumerate(operations):
        if index in inserted:
            remaining.append(inserted[index])
        elif index not in removed:
            remaining.append(operation)
    for fusion in inserted.values():
        fusion.replace_operands(replaced)
    for index in readers - removed:
        for nested in operations[index].walk():
            nested.replace_operands(replaced)
    block.operations = topological_order(remaining)


def fusion_operation(
    members: list[Operation], operands: list[Value], results: list[Value], name: str
) -> Operation:
    """The operation that computes what `members` compute; equal members give equal bodies."""
    members = canonical_order(members, results)
    outside = set(operands)
    inputs = _inputs(members, outside, separate_broadcasts=name != FUSION)
    operands = [value for value, _ in inputs]
    body = Block([operand.type for operand in operands])
    values: dict[Value, Value] = {}
    argument_of: dict[Operation, Value] = {}
    for (value, reader), argument in zip(inputs, body.arguments, strict=True):
        if reader is None:
            values[value] = argument
        else:
            argument_of[reader] = argument
    builder = Builder(body)
    for operation in members:
        if operation in argument_of:
            copied = builder.copy(operation, {operation.operands[0]: argument_of[operation]})
            values[operation.result] = copied.result
        else:
            builder.copy(operation, values)
    region = builder.region([values[result] for result in results])
    region.is_isolated = True
    return Operation(
        name,
        operands,
        [result.type for result in results],
        regions=[region],
        location=members[-1].location,
    )


def _inputs(
    members: list[Operation], outside: set[Value], separate_broadcasts: bool
) -> list[tuple[Value, Operation | None]]:
    """The arguments of a fusion's body: a value from outside, and the only member that reads it, or None.

    Args:
        separate_broadcasts: whether each of several broadcasts of one value gets an argument of its own,
            since their dimensions may differ.
    """
    used = [(value, member) for member in members for value in used_values(member) if value in outside]
    if not separate_broadcasts:
        return list(dict.fromkeys([(value, None) for value, _ in used]))
    uses = Counter([value for value, _ in used])
    separated = [is_broadcast(member) and uses[value] > 1 for value, member in used]
    pairs = zip(used, separated, strict=True)
    return list(dict.fromkeys([(value, member if separate else None) for (value, member), separate in pairs]))


def is_rematerializable(operation: Operation) -> bool:
    """Whether computing an operation again costs nothing: an iota, or a constant of one repeated element."""
    if operation.operands:
        return False
    if not operation.is_constant:
        return is_iota(operation)
    value = operation.constant_value
    return value is not None and value.type.category & PLAIN != 0 and value.has_one_value
