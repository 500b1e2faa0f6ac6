"""Groups of a block's operations around reductions, each of which can become one native loop nest."""

from __future__ import annotations

from collections.abc import Callable

from ...ir import Block, Operation, Value, used_values
from ...ir.record import Record
from ...ops.framework.verify import view_of
from ...ops.reduction.reduce import Reduce
from ...types import DYNAMIC, TensorType
from ..utils.effects import has_no_effect
from .disjoint_set import DisjointSet
from .elementwise import FusionGroup, boundary, fusion_operation, is_single, replace, users_of

CanGenerate = Callable[[Block], bool]
"""Whether native code can be generated for a group, by the block of its operations."""

MAX_MEMBERS = 120


class ReducedSpace(Record):
    """The shape that a reduction has; its dimensions from `first` up to `last` are reduced."""

    shape: tuple[int, ...]
    first: int
    last: int


def reduced_space(operation: Operation) -> ReducedSpace | None:
    """The space of a reduction of one operand along adjacent dimensions."""
    if operation.name != Reduce.name or len(operation.operands) != 2:
        return None
    type = operation.operands[0].type
    if not isinstance(type, TensorType) or DYNAMIC in type.shape:
        return None
    dimensions = sorted(view_of(operation).dimensions)  # type: ignore[attr-defined]
    if not dimensions or dimensions != list(range(dimensions[0], dimensions[-1] + 1)):
        return None
    return ReducedSpace(tuple(type.shape), dimensions[0], dimensions[-1] + 1)


def replace_groups(block: Block, grouping: Grouping, can_generate: CanGenerate, name: str) -> None:
    """Put one operation of that name in the place of each group that has a form."""
    profitable = grouping.fusions()
    if profitable:
        fusion_set = _FusionSet(block, can_generate, name)
        for group in profitable:
            extended = grouping.with_broadcasts(group, fusion_set.users)
            if extended is None or not fusion_set.takes(extended):
                fusion_set.takes(group)
        replace(block, fusion_set.groups, fusion_set.users, name)


class _FusionSet:
    """The groups of a block that have a form beside each other.

    A group may copy an operation that reads a value inside another group, which has to hand on that value too
    then, and may have no form with one more result.

    Attributes:
        users: of each value, those among the groups that read it by way of what they copy included.
    """

    def __init__(self, block: Block, can_generate: CanGenerate, name: str) -> None:
        self.operations = block.operations
        self.users = users_of(block)
        self.can_generate = can_generate
        self.name = name
        self.groups: list[FusionGroup] = []
        self.fusion_of: dict[Value, FusionGroup] = {}

    def takes(self, group: FusionGroup) -> bool:
        """Take a group if it has a form, and those taken before keep theirs."""
        if not self.can_generate_now(group):
            return False
        consumer = max(group.owned)
        read_values = boundary(self.operations, group.owned, group.copied, self.users)[0]
        for value in read_values:
            self.users[value].append(consumer)
        affected = {self.fusion_of[value]: None for value in read_values if value in self.fusion_of}
        if not all(map(self.can_generate_now, affected)):
            for value in read_values:
                self.users[value].pop()
            return False
        self.groups.append(group)
        for index in group.owned:
            self.fusion_of.update(dict.fromkeys(self.operations[index].results, group))
        return True

    def can_generate_now(self, group: FusionGroup) -> bool:
        """Whether a group has a form with the results that it has to hand on now; notes its operation."""
        operands, results = boundary(self.operations, group.owned, group.copied, self.users)
        if group.operation_and_results is not None and group.operation_and_results[0] == results:
            return True
        members = [self.operations[index] for index in group.members]
        built = fusion_operation(members, operands, results, self.name)
        if not self.can_generate(built.regions[0].block):
            return False
        group.operation_and_results = results, built
        return True


class Grouping:
    """Finds the groups of one block's operations; subclasses say which operations may be in one.

    A group may not use its own results by way of other operations: for this each operation gets a *level*,
    which grows along every way from one group to another.
    """

    def __init__(self, block: Block) -> None:
        self.operations = block.operations
        self.position = {operation: index for index, operation in enumerate(self.operations)}
        self.members = [self.is_member(operation) for operation in self.operations]
        self.levels = [-1] * len(self.operations)
        self.groups = DisjointSet(len(self.operations), MAX_MEMBERS)

    def is_member(self, operation: Operation) -> bool:
        """Whether an operation may be in a group."""
        raise NotImplementedError

    def joins(self, producer: int) -> bool:
        """Whether a member is in one group with those that use its result."""
        return True

    def pays(self, fusion: FusionGroup) -> bool:
        """Whether a group with a reduction and something else is quicker than its operations one by one."""
        return True

    def pays_alone(self) -> bool:
        """Whether a reduction with nothing around it is quicker as a group."""
        return False

    def fusions(self) -> list[FusionGroup]:
        """The groups with a reduction and something around it, or one that pays alone."""
        self.find_levels()
        groups: dict[int, list[int]] = {}
        for index, is_member in enumerate(self.members):
            if is_member:
                groups.setdefault(self.groups.root(index), []).append(index)
        profitable = []
        for group in groups.values():
            fusion = FusionGroup(0, self.levels[group[0]], group)
            has_reduction = any(self.operations[index].name == Reduce.name for index in group)
            if has_reduction and (len(group) > 1 or self.pays_alone()) and self.pays(fusion):
                profitable.append(self.with_rematerialized(fusion))
        return profitable

    def with_rematerialized(self, fusion: FusionGroup) -> FusionGroup:
        """The group with the constants and iotas that it uses."""
        for index in fusion.owned:
            for operand in self.operations[index].operands:
                producer = self.producer(operand)
                if producer is not None and is_rematerializable(self.operations[producer]):
                    fusion.copied.add(producer)
        return fusion

    def with_broadcasts(self, fusion: FusionGroup, users: dict[Value, list[int]]) -> FusionGroup | None:
        """The group with the broadcasts that it reads, of which it hands on none; None: nothing changes.

        What is read in their place is smaller, and groups that read one broadcast, such as a mask, are equal.
        """
        extended = FusionGroup(fusion.size, fusion.level, fusion.owned)
        extended.copied |= fusion.copied
        pending = sorted(fusion.owned)
        while pending:
            index = pending.pop()
            result = self.operations[index].results[0]
            if self.is_broadcast(index) and not fusion.owned.issuperset(users.get(result, ())):
                extended.owned.discard(index)
                extended.copied.add(index)
            for operand in self.operations[index].operands:
                producer = self.producer(operand)
                if producer is None or producer in extended.owned or producer in extended.copied:
                    continue
                if is_rematerializable(self.operations[producer]) or self.is_broadcast(producer):
                    extended.copied.add(producer)
                    pending.append(producer)
        return extended if extended.copied != fusion.copied else None

    def is_broadcast(self, index: int) -> bool:
        """Whether an operation may be in a group and only makes a value larger."""
        operation = self.operations[index]
        if not self.members[index] or operation.name != "stablehlo.broadcast_in_dim":
            return False
        operand_type, built = operation.operands[0].type, operation.results[0].type
        return (
            isinstance(operand_type, TensorType) and isinstance(built, TensorType)
            and operand_type.size < built.size
        )

    def find_levels(self) -> None:
        latest_effect = -1
        for index, operation in enumerate(self.operations):
            if self.members[index]:
                self.join(index)
            elif not is_rematerializable(operation):
                values = used_values(operation)
                level = max([self.level_of(value) for value in values], default=-1)
                if not has_no_effect(operation):
                    latest_effect = level = max(level, latest_effect)
                self.levels[index] = level

    def join(self, index: int) -> None:
        """Set a member's level, and join it with the members of the same level that it uses."""
        joinable: dict[int, int] = {}
        level = 0
        for operand in self.operations[index].operands:
            producer = self.producer(operand)
            if producer is not None and self.members[producer] and self.joins(producer):
                joinable[self.groups.root(producer)] = self.levels[producer]
                level = max(level, self.levels[producer])
            else:
                level = max(level, self.level_of(operand) + 1)
        joined = [root for root, other in joinable.items() if other == level]
        if 1 + sum(self.groups.size(root) for root in joined) > MAX_MEMBERS:
            level, joined = level + 1, []
        self.levels[index] = level
        for root in joined:
            self.groups.unite(index, root)

    def level_of(self, value: Value) -> int:
        producer = self.producer(value)
        return -1 if producer is None else self.levels[producer]

    def producer(self, value: Value) -> int | None:
        return self.position.get(value.owner) if isinstance(value.owner, Operation) else None


def is_rematerializable(operation: Operation) -> bool:
    """Whether an operation costs nothing where it is computed again: an iota, a constant of one element."""
    if operation.name == "stablehlo.iota":
        return True
    value = operation.attributes.get("value")
    return operation.name == "stablehlo.constant" and is_single(value)  # type: ignore[arg-type]
