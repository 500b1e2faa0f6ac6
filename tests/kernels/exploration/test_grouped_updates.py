"""Grouped updates against NumPy's `ufunc.at`, which applies updates in sequence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nimblehlo.kernels.exploration import array_differences, grouped_updates, update_groups
from nimblehlo.program.ops.indexing import shuffled_schedule

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
    starts, grouped = update_groups.group(destinations, size, values)
    assert grouped.tobytes() == values[np.argsort(destinations, kind="stable")].tobytes()
    assert starts.tolist() == np.searchsorted(np.sort(destinations), np.arange(size + 1)).tolist()
    orders = {
        "lexicographic": np.arange(len(drawn)),
        "reverse": np.arange(len(drawn))[::-1],
        "shuffled": shuffled_schedule.order(destinations, seed),
    }
    assert set(orders) == set(grouped_updates.SCHEDULES)
    for schedule, places in orders.items():
        found = np.array(np.resize(SPECIAL, size), dtype)
        wanted = found.copy()
        order_dependent = update_groups.combine_order_independent(combiner, starts, grouped.copy(), found)
        elements, initials = order_dependent[:2]
        assert (np.diff(starts)[elements] > 1).all() and (np.diff(np.diff(starts)[elements]) >= 0).all()
        assert initials.tobytes() == wanted[elements].tobytes()
        totals = np.empty(elements.size, dtype)
        grouped_updates.apply(combiner, *order_dependent, schedule, seed, totals, found)
        assert totals.tobytes() == found[elements].tobytes()
        alone = np.empty(elements.size, dtype)
        grouped_updates.apply(combiner, *order_dependent, schedule, seed, alone)
        assert alone.tobytes() == totals.tobytes()
        grouped_updates.apply(combiner, *order_dependent, schedule, seed, alone, may_be_wide=False)
        assert np.array_equal(alone, totals, equal_nan=True)
        with np.errstate(all="ignore"):
            getattr(np, combiner).at(wanted, destinations[places], values[places])
        assert np.array_equal(found, wanted, equal_nan=True)
        assert np.array_equal(np.signbit(found[found == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_updates_outside_are_left_out(dtype: Any) -> None:
    far = np.iinfo(dtype)
    destinations = np.array([2, -1, 0, 3, 2, far.min, far.max, 0, 2], dtype)
    starts, grouped = update_groups.group(destinations, 3, np.arange(9.0))
    assert starts.tolist() == [0, 2, 2, 5] and grouped.tolist() == [2, 7, 0, 4, 8]


def test_what_is_supported() -> None:
    assert grouped_updates.supports(np.float32, "add") and grouped_updates.supports(np.float64, "multiply")
    assert not grouped_updates.supports(np.float16, "add")
    assert not grouped_updates.supports(np.float32, "maximum")
    starts, grouped = update_groups.group(np.empty(0, np.int64), 0, np.empty(0, "f"))
    assert starts.tolist() == [0] and not grouped.size
    order_dependent = update_groups.combine_order_independent("add", starts, grouped, np.empty(0, "f"))
    with pytest.raises(ValueError, match="no loop"):
        grouped_updates.apply("add", *order_dependent, "random", 0, np.empty(0, "f"))


def test_elements_whose_value_hangs_on_no_order_are_settled() -> None:
    destinations = np.array([0, 1, 1, 2, 2, 3, 3, 3], np.int32)
    values = np.array([1, 2, 3, 1, 1e30, 1, 1, 1], np.float32)
    result = np.array([1, 1, -1e30, 1, 7], np.float32)
    starts, grouped = update_groups.group(destinations, 5, values)
    elements, initials, bounds, made = update_groups.combine_order_independent("add", starts, grouped, result)
    assert elements.tolist() == [2, 3] and initials.tolist() == [np.float32(-1e30), 1]
    assert bounds.tolist() == [0, 2, 5] and made.tolist() == [0, 1, 1, 1, 1]
    assert result[[0, 1, 4]].tolist() == [2, 6, 7]


@pytest.mark.parametrize("size", [1, 300, 16_384, 16_385, 150_000])
@pytest.mark.parametrize("types", [(np.int32, np.float32), (np.int64, np.float64)])
def test_many_updates_are_grouped_alike_by_any_number_of_threads(size: int, types: tuple[Any, Any]) -> None:
    generator = np.random.default_rng(size)
    destinations = generator.integers(-2, size + 2, 200_000).astype(types[0])
    # Some elements have more updates than are told apart.
    destinations[::9], destinations[1::9] = size // 2, size - 1
    values = generator.standard_normal(destinations.size).astype(types[1])
    inside = np.flatnonzero((destinations >= 0) & (destinations < size))
    order = inside[np.argsort(destinations[inside], kind="stable")]
    initials = generator.standard_normal(size).astype(types[1])
    wanted = initials.copy()
    np.add.at(wanted, destinations[inside][::-1], values[inside][::-1])
    for threads in (1, 2, 3, 8):
        starts, grouped = update_groups.group(destinations, size, values, threads)
        assert np.array_equal(grouped, values[order])
        assert np.array_equal(starts, np.searchsorted(destinations[order], np.arange(size + 1)))
        found = initials.copy()
        order_dependent = update_groups.combine_order_independent("add", starts, grouped, found, threads)
        counts = np.minimum(np.diff(starts)[order_dependent[0]], 1023)
        assert (np.diff(counts) >= 0).all() and np.array_equal(order_dependent[1], found[order_dependent[0]])
        grouped_updates.apply("add", *order_dependent, "reverse", 0, np.empty(counts.size, types[1]), found)
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("may_be_wide", [True, False])
@pytest.mark.parametrize(
    ("size", "updates", "count"), [(5, 3000, 1), (40, 3000, 16), (300, 6000, 17), (20_000, 60_000, 64)]
)
def test_schedules_at_the_same_time_are_those_one_after_the_other(
    dtype: Any, may_be_wide: bool, size: int, updates: int, count: int
) -> None:
    generator = np.random.default_rng(size)
    # Elements have from one update to hundreds.
    destinations = (size * generator.random(updates) ** 3).astype(np.int32)
    values = generator.standard_normal(updates).astype(dtype)
    values[generator.integers(0, updates, updates // 50)] = generator.choice(SPECIAL, updates // 50)
    first = np.zeros(size, dtype)
    first[::7] = np.nan
    order_dependent = update_groups.combine_order_independent(
        "add", *update_groups.group(destinations, size, values), first
    )
    plain = np.empty(order_dependent[0].size, dtype)
    grouped_updates.apply("add", *order_dependent, "lexicographic", 0, plain)
    names = ["reverse", "lexicographic", *["shuffled"] * count]
    schedules = [(name, 3 * number) for number, name in enumerate(names[:count])]
    differs, least, most = np.zeros(plain.size, np.uint8), plain.copy(), plain.copy()
    wanted = differs.copy(), least.copy(), most.copy()
    found = grouped_updates.compare_schedules(
        "add", *order_dependent, plain, schedules, differs, least, most, may_be_wide=may_be_wide
    )
    for (name, seed), *extremes in zip(schedules, *found, strict=True):
        totals = np.empty_like(plain)
        grouped_updates.apply("add", *order_dependent, name, seed, totals)
        comparison = array_differences.compare(plain, totals, order_dependent[0])
        assert extremes[:2] == ([-1, -1] if comparison is None else list(comparison[1:3]))
        if comparison is not None:
            assert extremes[2] == comparison[3]
            array_differences.widen(plain, totals, None, *wanted)
    assert differs.tolist() == wanted[0].tolist()
    for one, other in zip((least, most), wanted[1:], strict=True):
        assert np.array_equal(one, other, equal_nan=True)


def test_what_has_no_loop_is_refused() -> None:
    elements, bounds = np.zeros(1, np.int32), np.array([0, 3], np.int32)
    one, flag = np.zeros(1, np.float32), np.zeros(1, np.uint8)
    operands = (elements, one, bounds, np.ones(3, np.float32), one.copy())
    for combiner, schedules in (("add", []), ("add", [("shuffled", 1)] * 65), ("minimum", [("reverse", 0)])):
        with pytest.raises(ValueError, match="no loop compares"):
            grouped_updates.compare_schedules(combiner, *operands, schedules, flag, one.copy(), one.copy())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [300, 40_000])
def test_scratch_arrays_change_no_result(dtype: Any, size: int) -> None:
    generator = np.random.default_rng(size)
    destinations, values = generator.integers(-1, size + 1, 90_000), generator.standard_normal(90_000)
    operands = (destinations, size, values.astype(dtype))
    scratch = [np.full(count, 7, kind) for count, kind in update_groups.scratch_arrays(90_000, size, dtype)]
    results = np.ones(size, dtype), np.ones(size, dtype)
    wanted = update_groups.group(*operands)
    found = update_groups.group(*operands, None, scratch)
    assert all(one.tobytes() == other.tobytes() for one, other in zip(found, wanted, strict=True))
    known = update_groups.combine_order_independent("add", *wanted, results[0])
    order_dependent = update_groups.combine_order_independent("add", *found, results[1], None, scratch)
    assert np.shares_memory(order_dependent[3], scratch[0]) and results[0].tobytes() == results[1].tobytes()
    assert all(one.tobytes() == other.tobytes() for one, other in zip(order_dependent, known, strict=True))
