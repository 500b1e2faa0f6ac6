"""Gives all results of a cluster one shape, which a loop nest over their elements needs.

A cluster is formed around operations of one shape, its cores, and takes in what these alone need. It would
hand on a value of another shape where another cluster then takes over the operation for which the value was
taken in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from ...ir import Operation, Value, used_values
from ...types import TensorType

Users = Mapping[Value, Sequence[int]]
"""The positions of the operations that use each value."""


class Owner(Protocol):
    """A group of operations, by their positions in a block.

    Attributes:
        owned: operations that nothing else computes.
        copied: operations that are computed elsewhere too.
    """

    owned: set[int]
    copied: set[int]


def leave_other_shapes(
    cluster: Owner,
    cores: Collection[int],
    operations: Sequence[Operation],
    position: Mapping[Operation, int],
    users: Users,
) -> None:
    """Take those operations out of a cluster whose results others need and are not of the cores' shape.

    What such an operation needs of the cluster, but for cores, is taken out too: the cluster may need the
    operation's result, which then must not depend on the cluster. No path leads from a core by another shape
    to a core of the same cluster.

    Args:
        cluster: changed in place.
        cores: the operations around which it was formed; it may have lost some, or all.
        operations: the block's.
        position: of each operation in the block.
        users: see `Users`.
    """
    if not cluster.owned:
        return
    shape = _shape(operations[max(cluster.owned.intersection(cores), default=max(cluster.owned))].result)
    waiting = [
        index
        for index in cluster.owned
        if _shape(operations[index].result) != shape
        and not cluster.owned.issuperset(users.get(operations[index].result, ()))
    ]
    while waiting:
        index = waiting.pop()
        if index in cluster.owned and index not in cores:
            cluster.owned.discard(index)
            waiting += _producers(operations[index], position)


def _producers(operation: Operation, position: Mapping[Operation, int]) -> list[int]:
    """The positions of the block's operations whose results an operation uses."""
    owners = [value.owner for value in used_values(operation)]
    return [position[owner] for owner in owners if isinstance(owner, Operation) and owner in position]


def _shape(value: Value) -> tuple[int, ...]:
    assert isinstance(value.type, TensorType)
    return value.type.shape
