"""Gives all results of a fusion one shape, as a loop nest over their elements requires.

A fusion is formed around operations of one shape, its cores, and absorbs the operations that only these use.
If another fusion then takes over the user of an absorbed operation, the operation's result, which may have
another shape, becomes a result of the first fusion.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from ...ir import Operation, Value, tensor_type, used_values

Users = Mapping[Value, Sequence[int]]
"""The positions of the operations that use each value."""


class OperationGroup(Protocol):
    """A group of operations, by their positions in a block.

    Attributes:
        owned: operations that only this group computes.
        copied: operations that are computed outside of the group too.
    """

    owned: set[int]
    copied: set[int]


def drop_other_shapes(
    fusion: OperationGroup,
    cores: Collection[int],
    operations: Sequence[Operation],
    position: Mapping[Operation, int],
    users: Users,
) -> None:
    """Remove the operations of a fusion that are used outside and have another shape than the cores.

    The producers of such an operation are removed too, except cores: the fusion may use the operation's
    result, which then must not depend on the fusion. No path leads from a core over another shape to a core
    of the same fusion.

    Args:
        fusion: changed in place.
        cores: the operations around which it was formed; it may have lost some, or all.
        operations: the block's.
        position: of each operation in the block.
        users: see `Users`.
    """
    if not fusion.owned:
        return
    last_core = max(fusion.owned.intersection(cores), default=max(fusion.owned))
    shape = tensor_type(operations[last_core].result).shape
    pending = [
        index
        for index in fusion.owned
        if tensor_type(operations[index].result).shape != shape
        and not fusion.owned.issuperset(users.get(operations[index].result, ()))
    ]
    while pending:
        index = pending.pop()
        if index in fusion.owned and index not in cores:
            fusion.owned.discard(index)
            pending += _producers(operations[index], position)


def _producers(operation: Operation, position: Mapping[Operation, int]) -> list[int]:
    """The positions of the block's operations whose results an operation uses."""
    definers = [value.owner for value in used_values(operation)]
    return [position[owner] for owner in definers if isinstance(owner, Operation) and owner in position]

