"""Schedules, which references execute node by node, against reductions of whole arrays by the same trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nimblehlo.program.ops.reduction.cumulative import SCAN_BLOCK, SCAN_GROUP, scan_schedule
from nimblehlo.program.ops.reduction.cumulative_numpy import scan
from nimblehlo.program.ops.reduction.reducer import Arrays, Reducer
from nimblehlo.program.ops.reduction.reduction_tree import BODY, INIT, execute, schedule
from nimblehlo.program.ops.reduction.reduction_tree_numpy import reduce_by_tree

F32 = np.dtype(np.float32)


def decayed_sum(left: Arrays, right: Arrays) -> Arrays:
    return (left[0] * F32.type(0.3) + right[0],)


REDUCER = Reducer(decayed_sum, [F32])
"""Neither associative nor commutative: each tree gives other bits."""
INITIAL = (np.array(0.7, F32),)


def values_of(count: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(count).standard_normal(count).astype(F32)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 8, 37, 300])
@pytest.mark.parametrize("tree", ["blocked", "balanced", "left", "right", ("random", 3)])
def test_schedules_are_the_trees_of_whole_arrays(count: int, tree: Any) -> None:
    values = values_of(count)
    (got,) = execute(schedule(count, tree), [(value,) for value in values], INITIAL, REDUCER)
    (wanted,) = reduce_by_tree((values.reshape(1, count, 1),), INITIAL, REDUCER, tree)
    assert np.asarray(got).tobytes() == wanted.tobytes()


def test_each_value_is_a_leaf_in_order() -> None:
    for tree in ("blocked", "balanced", "left", "right", ("random", 5)):
        steps = list(schedule(11, tree))
        assert [step for step in steps if step >= 0] == list(range(11))
        assert steps.count(BODY) == 11 + steps.count(INIT) - 1


@pytest.mark.parametrize("count", [1, 2, SCAN_GROUP, SCAN_GROUP + 1, SCAN_BLOCK, 2 * SCAN_BLOCK + 30])
def test_schedules_of_scans_are_those_of_whole_arrays(count: int) -> None:
    values = values_of(count)
    (wanted,) = scan((values.reshape(1, count, 1),), INITIAL, REDUCER)
    edges = {0, 1, SCAN_GROUP - 1, SCAN_GROUP, 40, SCAN_BLOCK - 1, SCAN_BLOCK, 2 * SCAN_BLOCK + 20, count - 1}
    for position in sorted(edge for edge in edges if edge < count):
        pads = [INITIAL] * (count - 1 - position)
        leaves = [*pads, *[(value,) for value in values[: position + 1]]]
        (got,) = execute(scan_schedule(count, position), leaves, INITIAL, REDUCER)
        assert np.asarray(got).tobytes() == wanted[0, position, 0].tobytes(), position
