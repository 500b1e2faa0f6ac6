"""Groups reductions along trailing dimensions with what surrounds them: softmax, normalisations, losses.

All values of such a group are functions of a row and a column of one space, the shape that its reductions have:
tensors of that shape, tensors of its leading dimensions (one element a row), and what is broadcast between the
two. A group may not use its own results by way of other operations: for this each operation gets a *level*, which
grows along every way from one group to another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ..ir import Block, Operation, Value, captured_values
from ..ops.cluster import ROW_CLUSTER
from ..ops.reduction import Reduce
from ..ops.verify import view_of
from ..types import DYNAMIC, TensorType
from .clusters import Generates, _Cluster, boundary, cluster_operation, is_single, replace
from .effects import has_no_effect
from .moves import is_static_tensor

HasRowForm = Callable[[Block], bool]
"""Whether native code can be generated for a group, by the block of its operations."""

LEAST_ROWS = 16
"""Rows are what threads share."""
SMALL = 1 << 16
"""A space of so few elements needs no threads."""
LEAST_ELEMENTS = 1 << 10
"""A space of fewer elements is not worth native code."""
MOST_MEMBERS = 120


class Space(NamedTuple):
    """The shape that a group's reductions have; the first `row_rank` dimensions number the rows."""

    shape: tuple[int, ...]
    row_rank: int

    @property
    def is_large_enough(self) -> bool:
        size, rows = math.prod(self.shape), math.prod(self.shape[: self.row_rank])
        return size >= LEAST_ELEMENTS and (rows >= LEAST_ROWS or size <= SMALL)

    def holds(self, shape: tuple[int, ...]) -> bool:
        """Whether tensors of a shape can be values of the space: but for sizes of 1 its own, or the rows'."""
        sizes = [size for size in shape if size != 1]
        rows = [size for size in self.shape[: self.row_rank] if size != 1]
        return shape == self.shape or sizes == rows


def form_row_clusters(block: Block, generates: Generates, has_row_form: HasRowForm) -> None:
    """Put one operation in the place of each group of a block that can become a loop over rows."""
    spaces = dict.fromkeys(map(space_of, block.operations))
    for space in spaces:
        if space is not None and space.is_large_enough:
            groups = _Grouping(block, space, generates).clusters()
            replace(block, [group for group in groups if has_row_form(_body_of(block, group))], ROW_CLUSTER)


def space_of(operation: Operation) -> Space | None:
    """The space of a reduction of one operand along trailing dimensions."""
    if operation.name != Reduce.name or len(operation.operands) != 2:
        return None
    type = operation.operands[0].type
    if not isinstance(type, TensorType) or DYNAMIC in type.shape:
        return None
    dimensions = sorted(view_of(operation).dimensions)  # type: ignore[attr-defined]
    row_rank = len(type.shape) - len(dimensions)
    if not dimensions or dimensions != list(range(row_rank, len(type.shape))):
        return None
    return Space(tuple(type.shape), row_rank)


def _body_of(block: Block, cluster: _Cluster) -> Block:
    """A block of a group's operations alone."""
    users = _users(block)
    operands, results = boundary(block.operations, cluster.owned, cluster.copied, users)
    members = [block.operations[index] for index in cluster.members]
    return cluster_operation(members, operands, results, ROW_CLUSTER).regions[0].block


def _users(block: Block) -> dict[Value, list[int]]:
    users: dict[Value, list[int]] = {}
    for index, operation in enumerate(block.operations):
        for value in (*operation.operands, *captured_values(operation.regions)):
            users.setdefault(value, []).append(index)
    return users


class _Grouping:
    """Finds the groups of one block in one space."""

    def __init__(self, block: Block, space: Space, generates: Generates) -> None:
        self.operations = block.operations
        self.space = space
        self.generates = generates
        self.position = {operation: index for index, operation in enumerate(self.operations)}
        self.members = [self.is_member(operation) for operation in self.operations]
        self.levels = [-1] * len(self.operations)
        self.parent = list(range(len(self.operations)))
        self.counts = [1] * len(self.operations)

    def is_member(self, operation: Operation) -> bool:
        """Whether an operation may be in a group."""
        if len(operation.results) != 1:
            return False
        values = (*operation.operands, operation.result)
        if not all(is_static_tensor(value.type) for value in values):
            return False
        if operation.name == Reduce.name:
            return space_of(operation) == self.space and not captured_values(operation.regions)
        if not self.space.holds(_shape(operation.result)) or _is_free(operation):
            return False
        if operation.name == "stablehlo.reshape":
            return self.space.holds(_shape(operation.operands[0]))
        if operation.name == "stablehlo.broadcast_in_dim":
            return True
        shapes = {_shape(value) for value in values} - {()}
        return not operation.regions and len(shapes) <= 1 and self.generates(operation)

    def clusters(self) -> list[_Cluster]:
        """The groups with a reduction and something around it."""
        self.find_levels()
        groups: dict[int, list[int]] = {}
        for index, is_member in enumerate(self.members):
            if is_member:
                groups.setdefault(self.root(index), []).append(index)
        found = []
        for group in groups.values():
            reductions = [index for index in group if self.operations[index].name == Reduce.name]
            if reductions and len(group) > 1:
                found.append(
                    self.with_free(_Cluster(math.prod(self.space.shape), self.levels[group[0]], group))
                )
        return found

    def with_free(self, cluster: _Cluster) -> _Cluster:
        """The group with the constants and iotas that it uses."""
        for index in cluster.owned:
            for operand in self.operations[index].operands:
                producer = self.producer(operand)
                if producer is not None and _is_free(self.operations[producer]):
                    cluster.copied.add(producer)
        return cluster

    def find_levels(self) -> None:
        latest_effect = -1
        for index, operation in enumerate(self.operations):
            if self.members[index]:
                self.join(index)
            elif not _is_free(operation):
                values = (*operation.operands, *captured_values(operation.regions))
                level = max([self.level_of(value) for value in values], default=-1)
                if not has_no_effect(operation):
                    latest_effect = level = max(level, latest_effect)
                self.levels[index] = level

    def join(self, index: int) -> None:
        """Set a member's level, and join it with the members of the same level that it uses."""
        used: dict[int, int] = {}
        level = 0
        for operand in self.operations[index].operands:
            producer = self.producer(operand)
            if producer is not None and self.members[producer]:
                used[self.root(producer)] = self.levels[producer]
                level = max(level, self.levels[producer])
            else:
                level = max(level, self.level_of(operand) + 1)
        joined = [root for root, other in used.items() if other == level]
        if 1 + sum(self.counts[root] for root in joined) > MOST_MEMBERS:
            level, joined = level + 1, []
        self.levels[index] = level
        for root in joined:
            self.unite(index, root)

    def level_of(self, value: Value) -> int:
        producer = self.producer(value)
        return -1 if producer is None else self.levels[producer]

    def producer(self, value: Value) -> int | None:
        return self.position.get(value.owner) if isinstance(value.owner, Operation) else None

    def root(self, index: int) -> int:
        while self.parent[index] != index:
            self.parent[index] = self.parent[self.parent[index]]
            index = self.parent[index]
        return index

    def unite(self, a: int, b: int) -> None:
        a, b = self.root(a), self.root(b)
        if a != b:
            self.parent[b] = a
            self.counts[a] += self.counts[b]


def _is_free(operation: Operation) -> bool:
    """Whether an operation costs nothing where it is computed again: an iota, a constant of one element."""
    if operation.name == "stablehlo.iota":
        return True
    value = operation.attributes.get("value")
    return operation.name == "stablehlo.constant" and is_single(value)  # type: ignore[arg-type]


def _shape(value: Value) -> tuple[int, ...]:
    assert isinstance(value.type, TensorType)
    return tuple(value.type.shape)
