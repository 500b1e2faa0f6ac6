"""Grouped updates against NumPy's `ufunc.at`, which applies updates one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nimblehlo.kernels import grouped_updates
from nimblehlo.ops import shuffling

SPECIAL = [0.0, -0.0, 1.5, -2.25, 1e-45, 1e30, -1e30, float("inf"), float("-inf"), float("nan")]


@given(
    st.integers(1, 9),
    st.data(),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from(["add", "multiply"]),
    st.integers(0, 2**66),
)
def test_updates_are_applied_in_the_schedule(
    size: int, data: st.DataObject, dtype: Any, combiner: str, seed: int
) -> None:
    drawn = data.draw(st.lists(st.tuples(st.integers(0, size - 1), st.sampled_from(SPECIAL)), max_size=70))
    destinations = np.array([destination for destination, _ in drawn], np.int64)
    values = np.array([value for _, value in drawn], dtype)
    starts, grouped = grouped_updates.group(destinations, size, values)
    assert grouped.tobytes() == values[np.argsort(destinations, kind="stable")].tobytes()
    assert starts.tolist() == np.searchsorted(np.sort(destinations), np.arange(size + 1)).tolist()
    orders = {
        "lexicographic": np.arange(len(drawn)),
        "reverse": np.arange(len(drawn))[::-1],
        "shuffled": shuffling.order(destinations, seed),
    }
    assert set(orders) == set(grouped_updates.SCHEDULES)
    for schedule, places in orders.items():
        found = np.array(np.resize(SPECIAL, size), dtype)
        wanted = found.copy()
        elements = np.random.default_rng(seed).permutation(size).astype(np.int32)
        bounds, arranged = grouped_updates.arrange(grouped, starts, elements)
        parts = [values[destinations == element] for element in elements]
        assert arranged.tobytes() == np.concatenate(parts).tobytes()
        assert bounds.tolist() == np.cumsum([0, *map(len, parts)]).tolist()
        grouped_updates.apply(combiner, elements, bounds, arranged, schedule, seed, found)
        with np.errstate(all="ignore"):
            getattr(np, combiner).at(wanted, destinations[places], values[places])
        assert np.array_equal(found, wanted, equal_nan=True)
        assert np.array_equal(np.signbit(found[found == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_updates_outside_are_left_out(dtype: Any) -> None:
    far = np.iinfo(dtype)
    destinations = np.array([2, -1, 0, 3, 2, far.min, far.max, 0, 2], dtype)
    starts, grouped = grouped_updates.group(destinations, 3, np.arange(9.0))
    assert starts.tolist() == [0, 2, 2, 5] and grouped.tolist() == [2, 7, 0, 4, 8]


def test_what_is_supported() -> None:
    assert grouped_updates.supports(np.float32, "add") and grouped_updates.supports(np.float64, "multiply")
    assert not grouped_updates.supports(np.float16, "add")
    assert not grouped_updates.supports(np.float32, "maximum")
    starts, grouped = grouped_updates.group(np.empty(0, np.int64), 0, np.empty(0, "f"))
    assert starts.tolist() == [0] and not grouped.size
    with pytest.raises(ValueError, match="no loop"):
        grouped_updates.apply("add", np.empty(0, "i"), starts, grouped, "random", 0, np.empty(0, "f"))
