"""Finds the operations of a block between `SPMDFullToShardShape` and `SPMDShardToFullShape`.

`SPMDFullToShardShape` converts a global value to a shard, the value of one device. An operation that uses a
shard computes a shard too. Operations that depend on no argument, such as constants, are copied to their
users.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ....errors import UnsupportedError
from ....program.ir import Operation, Value, used_values
from ....program.ops.framework.rules import call_target
from ..framework.disjoint_set import DisjointSet

FULL_TO_SHARD: Final = "SPMDFullToShardShape"
SHARD_TO_FULL: Final = "SPMDShardToFullShape"

_ANY_LEVEL: Final = -1
"""The level of values that depend on no argument, which may be used on any level."""


class ManualRegion:
    """Operations that become one manual computation.

    Attributes:
        operations: all operations in the order of the block, inputs and outputs included.
        inputs: the operations that convert global values to shards.
        outputs: the operations that convert shards to global values.
        captured: the global values that other operations of the region use.
    """

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.inputs: list[Operation] = []
        self.outputs: list[Operation] = []
        self.captured: dict[Value, None] = {}


class ManualRegions:
    """The manual regions of a sequence of operations.

    Args:
        operations: a block's operations without its terminator, or those of a manual region.
        returned: the values that the block returns, which must be global.

    Attributes:
        region_of: the region of each operation that is in one.
        outside_operations: the operations that are needed outside of all regions.

    Raises:
        UnsupportedError: a shard is never converted to a global value.
    """

    def __init__(self, operations: Sequence[Operation], returned: Sequence[Value]) -> None:
        self._levels: dict[Value, int] = {}
        self.region_of: dict[Operation, ManualRegion] = {}
        levels = [self._set_level(operation) for operation in operations]
        for value in returned:
            if self._levels.get(value, 0) > 0 and isinstance(value.owner, Operation):
                raise _unsupported(value.owner, "its result leaves the function without SPMDShardToFullShape")
        self._group_regions(operations, levels)
        self.outside_operations = self._outside_operations(operations, levels, returned)
        self._fill_regions(operations, levels)

    def _set_level(self, operation: Operation) -> int:
        """Set the level of an operation's results; returns the level of the operation."""
        used = [self._levels.get(value, 0) for value in used_values(operation)]
        level = max(used, default=_ANY_LEVEL)
        target = call_target(operation)
        results = level
        if target == FULL_TO_SHARD:
            level = results = max(level, 0) + 1
        elif target == SHARD_TO_FULL:
            # A value that depends on no argument becomes a shard here.
            level = 1 if level == _ANY_LEVEL else level
            if level == 0:
                raise _unsupported(operation, "no SPMDFullToShardShape leads to its operand")
            results = level - 1
        self._levels.update(dict.fromkeys(operation.results, results))
        return level

    def _group_regions(self, operations: Sequence[Operation], levels: Sequence[int]) -> None:
        """Group operations that use each other's shards into regions."""
        numbers = {operation: index for index, operation in enumerate(operations)}
        groups = DisjointSet(len(operations), len(operations))
        for index, (operation, level) in enumerate(zip(operations, levels, strict=True)):
            for value in used_values(operation) if level > 0 else ():
                if self._levels.get(value, 0) > 0 and isinstance(value.owner, Operation):
                    groups.unite(numbers[value.owner], index)
        regions: dict[int, ManualRegion] = {}
        for index, (operation, level) in enumerate(zip(operations, levels, strict=True)):
            if level > 0:
                self.region_of[operation] = regions.setdefault(groups.root(index), ManualRegion())

    def _is_boundary(self, operation: Operation, level: int) -> bool:
        return level == 1 and call_target(operation) in (FULL_TO_SHARD, SHARD_TO_FULL)

    def _outside_operations(
        self, operations: Sequence[Operation], levels: Sequence[int], returned: Sequence[Value]
    ) -> set[Operation]:
        """The operations outside of regions; those of `_ANY_LEVEL` only if used there, or nowhere."""
        uses: dict[Value, list[Operation]] = {}
        for operation in operations:
            for value in used_values(operation):
                uses.setdefault(value, []).append(operation)
        level_of = dict(zip(operations, levels, strict=True))
        outside: set[Operation] = set()
        result_values = set(returned)
        for operation, level in zip(reversed(operations), reversed(levels), strict=True):
            users = [user for result in operation.results for user in uses.get(result, ())]
            is_used = any(
                user in outside or (call_target(user) == FULL_TO_SHARD and level_of[user] == 1)
                for user in users
            ) or not result_values.isdisjoint(operation.results)
            if level == 0 or (level == _ANY_LEVEL and (is_used or not users)):
                outside.add(operation)
        return outside

    def _fill_regions(self, operations: Sequence[Operation], levels: Sequence[int]) -> None:
        """Assign operations to regions; each region copies the operations of `_ANY_LEVEL` that it uses."""
        order = {operation: index for index, operation in enumerate(operations)}
        members: dict[ManualRegion, set[Operation]] = {}
        for operation, level in zip(operations, levels, strict=True):
            region = self.region_of.get(operation)
            if region is None:
                continue
            if self._is_boundary(operation, level):
                is_input = call_target(operation) == FULL_TO_SHARD
                (region.inputs if is_input else region.outputs).append(operation)
            pending = [operation]
            while pending:
                member = pending.pop()
                if member in members.setdefault(region, set()):
                    continue
                members[region].add(member)
                if member in region.inputs:
                    continue
                for value in used_values(member):
                    owner = value.owner
                    value_level = self._levels.get(value, 0)
                    if value_level == _ANY_LEVEL and isinstance(owner, Operation):
                        pending.append(owner)
                    elif value_level == 0:
                        region.captured[value] = None
        for region, chosen in members.items():
            region.operations = sorted(chosen, key=order.__getitem__)


def manual_regions(block: Sequence[Operation], returned: Sequence[Value]) -> ManualRegions | None:
    """The manual regions of a sequence of operations; None if it has none."""
    if not any(call_target(operation) in (FULL_TO_SHARD, SHARD_TO_FULL) for operation in block):
        return None
    return ManualRegions(block, returned)


def _unsupported(operation: Operation, reason: str) -> UnsupportedError:
    return UnsupportedError(reason, operation=operation.name, location=operation.location)
