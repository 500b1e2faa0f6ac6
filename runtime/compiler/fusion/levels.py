"""Joins operations of a block into groups that can each become one operation.

A group must not use its own results through an operation outside of it. So each operation has a *level*,
which grows along every path from one group to another, and only operations of one level join.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...program.ir import Block, Value, used_values
from ..specialize.framework.disjoint_set import DisjointSet
from ..specialize.framework.operation_classes import has_no_effect

if TYPE_CHECKING:
    from .groups import FusionGroup
    from .refusals import Refusal, Refusals


class LevelGrouping:
    """Base of classes that group the operations of a block; subclasses say which operations may be grouped.

    Args:
        block: is not changed.
        max_members: operations of a group.

    Attributes:
        operations: the block's.
        producer_of: the position of the operation of the block that defines a value.
        max_sizes: of the groups of some operations, by position, where it is less than `max_members`.
        levels: by position; see the module's docstring.
        groups: by position.
    """

    def __init__(self, block: Block, max_members: int) -> None:
        self.operations = block.operations
        self.producer_of = {
            result: index for index, operation in enumerate(self.operations) for result in operation.results
        }
        self.max_members = max_members
        self.max_sizes: dict[int, int] = {}
        self.levels: list[int] = []
        self.groups = DisjointSet(0, max_members)

    def is_groupable(self, index: int) -> bool:
        """Whether an operation may be in a group."""
        raise NotImplementedError

    def costs_nothing(self, index: int) -> bool:
        """Whether every group can compute an operation again, so that it has no level."""
        raise NotImplementedError

    def may_join(self, index: int, operand: Value, producer: int) -> bool:
        raise NotImplementedError

    def refusal(self, index: int, operand: Value, producer: int, group: FusionGroup | None) -> Refusal | None:
        """Why an operation is not fused with that of one of its operands; None if other passes tell.

        Args:
            index, producer: their positions.
            operand: the operand.
            group: the fusion of the first; None: it is in none.
        """
        raise NotImplementedError

    def level_refusal(self, index: int, producer: int) -> Refusal:
        """Why two operations that may join are in different groups."""
        from .refusals import Gate, Refusal

        max_size = min(self.groups.max_size(index), self.groups.max_size(producer))
        if self.groups.size(index) + self.groups.size(producer) > max_size:
            return Refusal(Gate.LEVEL, f"a fusion of these has at most {max_size} operations")
        return Refusal(Gate.LEVEL, "another step has to run between them")

    def note_refusals(self, refusals: Refusals, groups: Sequence[FusionGroup]) -> None:
        """Note for each use of a value why these groups do not join it with the operation that it is of."""
        group_of = {index: group for group in groups for index in group.owned}
        for index, operation in enumerate(self.operations):
            group = group_of.get(index)
            members = group.owned | group.copied if group is not None else ()
            for operand in operation.operands:
                producer = self.producer(operand)
                if producer is not None and producer not in members:
                    refusal = self.refusal(index, operand, producer, group)
                    if refusal is not None:
                        refusals.note(operand, operation, refusal)

    def find_levels(self) -> None:
        """Set the level of each operation, and join the operations that may be in one group."""
        self.levels = levels = [-1] * len(self.operations)
        self.groups = DisjointSet(len(self.operations), self.max_members, self.max_sizes)
        producer = self.producer
        latest_effect = -1
        for index, operation in enumerate(self.operations):
            if self.is_groupable(index):
                self.join(index)
            elif not self.costs_nothing(index):
                producers = [producer(value) for value in used_values(operation)]
                level = max([levels[one] for one in producers if one is not None], default=-1)
                if not has_no_effect(operation):
                    latest_effect = level = max(level, latest_effect)
                levels[index] = level

    def join(self, index: int) -> None:
        """Set the level of an operation, and join it with the operations of that level which it uses."""
        joinable: dict[int, int] = {}
        level = 0
        for operand in self.operations[index].operands:
            producer = self.producer(operand)
            if producer is None:
                continue
            if self.may_join(index, operand, producer):
                joinable[self.groups.root(producer)] = self.levels[producer]
                level = max(level, self.levels[producer])
            else:
                level = max(level, self.levels[producer] + 1)
        joined = [root for root, other in joinable.items() if other == level]
        max_size = min([self.groups.max_size(one) for one in (index, *joined)])
        if 1 + sum(self.groups.size(root) for root in joined) > max_size:
            level, joined = level + 1, []
        self.levels[index] = level
        for root in joined:
            self.groups.unite(index, root)

    def producer(self, value: Value) -> int | None:
        """The position of the operation of this block that defines a value."""
        return self.producer_of.get(value)
