"""`all_reduce` and `reduce_scatter` of many ranks by `halving.Halving`: the operands, the tree and the
results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from ...program.ops.collectives.base import GroupOperation
from ...program.ops.collectives.reduction import AllReduce, Node, ProcessReduction, ReduceScatter, own_nodes
from ...program.ops.framework.declaration import Evaluate
from ...types import Array
from ..grid.transport import Values
from .halving import Halving, share_order

MAX_DIRECT_RANKS: Final = 16
"""Ranks that send to each other directly, at most: two rounds of few messages take less time than many
rounds."""


def is_halved(view: GroupOperation, positions: Mapping[int, Sequence[int]], size: int) -> bool:
    """Whether the ranks of a collective halve and double.

    Each must have one node of the reduction tree: as many members as the others, a power of two, which follow
    each other in the group. All ranks decide in the same way.

    Args:
        view: the collective.
        positions: for each rank the positions of its members in the group.
        size: the members of the group.
    """
    count = len(positions)
    if count <= MAX_DIRECT_RANKS or not isinstance(view, (AllReduce, ReduceScatter)) or size % count:
        return False
    block = size // count
    if block & (block - 1):
        return False
    blocks = sorted([list(members) for members in positions.values()])
    return blocks == [list(range(first, first + block)) for first in range(0, size, block)]


def halving_of(
    view: GroupOperation,
    computation: Evaluate,
    operands: Mapping[int, Values],
    rank: int,
    count: int,
    size: int,
) -> tuple[Halving, Callable[[], list[Values]]]:
    """The state of a rank, and a function that returns the results of its members once that has ended.

    Args:
        view: the collective.
        computation: evaluates its region.
        operands: those of the members that are here, by position in the group.
        rank: the rank's number in the order of the group.
        count: the number of ranks.
        size: the members of the group.
    """
    block = size // count
    scatters = isinstance(view, ReduceScatter)
    assert isinstance(view, (AllReduce, ReduceScatter))
    types = [view.operand] if isinstance(view, ReduceScatter) else view.operands
    reductions = [view.reduction(type, computation) for type in types]
    shape = next(iter(operands.values()))[0].shape

    def flat(position: int, number: int) -> Array:
        array = operands[position][number]
        if not isinstance(view, ReduceScatter):
            return np.ascontiguousarray(array).reshape(-1)
        slices = np.split(array, size, view.scatter_dimension)
        order = [block * one + member for one in share_order(count) for member in range(block)]
        return np.concatenate([slices[position].reshape(-1) for position in order])

    values = [
        _own_node(reduction, {position: flat(position, number) for position in operands}, size)
        for number, reduction in enumerate(reductions)
    ]
    results = [
        np.empty(operand.shape, reduction.body.element_types[0].dtype)
        for operand, reduction in zip(next(iter(operands.values())), reductions, strict=True)
    ]
    whole = None if scatters else [result.reshape(-1) for result in results]
    halving = Halving(count, rank, values, _combination(reductions, block, size), whole)

    def finished() -> list[Values]:
        if not isinstance(view, ReduceScatter):
            return [tuple(results)] * block
        slice_shape = list(shape)
        slice_shape[view.scatter_dimension] //= size
        return [(part.reshape(slice_shape),) for part in np.split(halving.shares[0], block)]

    return halving, finished


def _own_node(reduction: ProcessReduction, values: Mapping[int, Array], size: int) -> Array:
    """The value of the node of the tree that has the members of a rank."""
    ((node, positions),) = own_nodes(size, list(values)).items()
    leaves: dict[Node, Array] = {(0, position): values[position] for position in positions}
    return reduction.reduce(leaves, size, node) if node[0] else leaves[node]


def _combination(
    reductions: Sequence[ProcessReduction], block: int, size: int
) -> Callable[[int, int, Sequence[Array], Sequence[Array]], list[Array]]:
    """The function that combines the values of two neighbouring blocks of ranks to those of the node
    above."""
    own_level = block.bit_length() - 1
    top = (size - 1).bit_length()

    def combine(level: int, number: int, left: Sequence[Array], right: Sequence[Array]) -> list[Array]:
        above = own_level + level
        below = [(above - 1, 2 * number), (above - 1, 2 * number + 1)]
        root = None if above == top else (above, number)
        return [
            reduction.reduce(dict(zip(below, halves, strict=True)), size, root)
            for reduction, *halves in zip(reductions, left, right, strict=True)
        ]

    return combine
