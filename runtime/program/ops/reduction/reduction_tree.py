"""Reduction trees: the order in which the values of a result element are combined.

The specification defines the order of the leaves, but not the shape of the tree.
`Options(reduction_tree=...)` selects a tree over the n values v0, v1, ... of a result element:

- ``"blocked"``: adjacent pairs, level by level: (v0 op v1), (v2 op v3), ..., until one value is left; an odd
  last value moves up unchanged. The result is ``body(init_value, total)``;
- ``"balanced"``: each node has the first half of its values, rounded up, as its left subtree, and the others
  as its right one. The result is ``body(init_value, total)``;
- ``"left"``: ``body(...body(body(init_value, v0), v1)..., vn-1)``;
- ``"right"``: ``body(v0, ...body(vn-2, body(vn-1, init_value))...)``;
- ``("random", seed)``: one to three init values are inserted at random positions among the values; then
  neighbours are combined in random order until one is left. The seed and n determine the tree, which is the
  same for all result elements.

If n is 0, the result is `init_value`, or the random tree of init values.

A schedule lists a tree in postfix order: the number of a value, INIT for an init value, BODY for a node whose
subtrees precede it. `reduction_tree_numpy` reduces by the same trees faster.

Source: specification, section "reduce".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from ....types import Array
from ..framework.elements import element, index_space
from .reducer import Arrays, Reducer

INIT: Final = -1
"""The leaf of a schedule that is an init value."""

BODY: Final = -2
"""The node of a schedule."""

MAX_INIT_VALUES: Final = 3
"""Maximum number of leaves of a random tree that are init values."""


def reduce(
    slices: Sequence[Array], init_values: Arrays, reducer: Reducer, schedule: Iterable[int]
) -> Arrays:
    """``reduce(slices) = exec(schedule)``: the values of slices, in lexicographic order of their indices.

    Args:
        slices: arrays of one shape, one for each operand.
        init_values: 0-dimensional.
        reducer: the body.
        schedule: of as many values as a slice has.
    """
    leaves = [tuple([element(array, index) for array in slices]) for index in index_space(slices[0].shape)]
    return execute(schedule, leaves, init_values, reducer)


def execute(
    schedule: Iterable[int], leaves: Sequence[Arrays], init_values: Arrays, reducer: Reducer
) -> Arrays:
    """``exec(schedule)``: ``exec(node) = body(exec(node.left), exec(node.right))``."""
    executed: list[Arrays] = []
    for step in schedule:
        if step == BODY:
            right = executed.pop()
            executed[-1] = reducer.combine(executed[-1], right)
        else:
            executed.append(init_values if step == INIT else leaves[step])
    (root,) = executed
    return root


def schedule(count: int, tree: Any) -> Iterator[int]:
    """The schedule of `count` values for a value of `Options(reduction_tree=...)`."""
    if isinstance(tree, tuple):
        is_init_value, ranks = random_tree(count, tree[1])
        numbers = iter(range(count))
        leaves = [INIT if is_init else next(numbers) for is_init in is_init_value]


        def last_gap(first: int, last: int) -> int:
            return first + int(ranks[first : last - 1].argmax()) + 1

        yield from _subtree(leaves, 0, len(leaves), last_gap)
    elif tree == "right":
        yield from range(count)
        yield INIT
        yield from [BODY] * count
    elif tree == "left":
        yield INIT
        for number in range(count):
            yield number
            yield BODY
    else:
        yield INIT
        if count:
            yield from _subtree(range(count), 0, count, _MIDDLE[tree])
            yield BODY


def _subtree(
    leaves: Sequence[int], first: int, last: int, middle: Callable[[int, int], int]
) -> Iterator[int]:
    """The schedule of the leaves from `first` to `last` - 1; `middle` is where the right subtree begins."""
    if last - first == 1:
        yield leaves[first]
        return
    split = middle(first, last)
    yield from _subtree(leaves, first, split, middle)
    yield from _subtree(leaves, split, last, middle)
    yield BODY


_MIDDLE: Final[dict[str, Callable[[int, int], int]]] = {
    "blocked": lambda first, last: first + (1 << (last - first - 1).bit_length() - 1),
    "balanced": lambda first, last: first + (last - first + 1) // 2,
}
"""The first leaf of the right subtree of a node."""


def random_tree(count: int, seed: int) -> tuple[Array, Array]:
    """A random tree over `count` values.

    Returns:
        Whether each leaf is an init value; and for each gap between neighbouring leaves its rank: the gap of
        the lowest rank is combined first.
    """
    generator = np.random.Generator(np.random.PCG64([seed, count]))
    initial = int(generator.integers(1, MAX_INIT_VALUES, endpoint=True))
    is_init_value = np.zeros(count + initial, np.bool_)
    is_init_value[generator.choice(count + initial, initial, replace=False)] = True
    return is_init_value, generator.permutation(count + initial - 1)
