"""`Options(scatter_schedule=("shuffled", seed))`: the updates of each element in an order of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nimblehlo import Options
from nimblehlo.program.ops.indexing import shuffled_schedule
from tests.program.ops.bodies import combining, region
from tests.program.ops.reduction.test_options import DTYPES, draw, every_way, scatter_text
from tests.support.running import same_bits


@given(st.lists(st.integers(0, 6), max_size=60), st.integers(0, 2**70))
def test_an_order_is_a_permutation_that_follows_the_rule(destinations: list[int], seed: int) -> None:
    order = shuffled_schedule.order(np.array(destinations, np.int64), seed).tolist()
    assert sorted(order) == list(range(len(destinations)))
    for element in set(destinations):
        own = [number for number, destination in enumerate(destinations) if destination == element]
        found = [number for number in order if destinations[number] == element]
        first, stride = shuffled_schedule.draw(np.array([element]), np.array([len(own)]), seed)
        assert found == [own[(int(first[0]) + j * int(stride[0])) % len(own)] for j in range(len(own))]


@pytest.mark.parametrize(("count", "orders"), [(2, 2), (3, 6), (4, 8), (5, 20)])
def test_few_updates_come_in_many_orders(count: int, orders: int) -> None:
    found = {tuple(shuffled_schedule.order(np.zeros(count, np.int64), seed).tolist()) for seed in range(600)}
    assert len(found) == orders


def test_elements_have_orders_of_their_own() -> None:
    order = shuffled_schedule.order(np.repeat(np.arange(100), 2), 3)
    assert 25 < np.count_nonzero(order[::2] % 2) < 75


@pytest.mark.parametrize("name", ["f32", "bf16", "i8", "complex<f32>", "f64"])
@pytest.mark.parametrize("width", [1, 3])
def test_scatters_shuffle_their_updates(name: str, width: int) -> None:
    rows, count = 4, 60
    dtype = DTYPES[name]
    indices = np.random.default_rng(3).integers(-1, rows + 1, (count, 1)).astype(np.int32)
    operand, updates = draw(dtype, rows, width), draw(dtype, count, width)
    inside = (indices[:, 0] >= 0) & (indices[:, 0] < rows)
    numbers = np.flatnonzero(np.repeat(inside, width))
    places = (indices * width + np.arange(width)).reshape(-1)[numbers]
    last = region([f"tensor<{name}>"] * 2, "", [f"%b : tensor<{name}>"])
    results = set()
    for seed in range(4):
        order = numbers[shuffled_schedule.order(places, seed)]
        for body in (last, combining("add", name)):
            wanted = operand.copy()
            for number in order:
                at = indices[number // width, 0], number % width
                value = updates[number // width, number % width]
                wanted[at] = value if body is last else wanted[at] + value
            text = scatter_text(rows, count, width, name, body)
            schedule: Any = ("shuffled", seed)
            (found,) = every_way(text, operand, indices, updates, scatter_schedule=schedule)
            assert same_bits(found, wanted), seed
            results.add(found.tobytes())
    assert len(results) > 2


def test_other_seeds_are_refused() -> None:
    for value in (("shuffled", -1), ("shuffled", 1.5), ("shuffled",)):
        with pytest.raises(ValueError, match="scatter_schedule"):
            Options(scatter_schedule=value)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="reduction_tree"):
        Options(reduction_tree=("shuffled", 1))  # type: ignore[arg-type]
