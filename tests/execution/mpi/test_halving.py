"""Halving and doubling on simulated ranks: the bits of the tree, and how much each rank sends."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from nimblehlo.execution.mpi.halving import (
    Halving,
    Message,
    class_range,
    owner,
    share_order,
    steps_of,
    traffic_of,
)
from nimblehlo.execution.mpi.idle_reports import FAN_OUT, Idle, children_of, joined, parent_of

Array = np.ndarray[Any, Any]


def tree(values: list[Array]) -> Array:
    """Adjacent pairs, level by level, an odd last one carried up."""
    while len(values) > 1:
        pairs = [values[n] + values[n + 1] for n in range(0, len(values) - 1, 2)]
        values = pairs + values[len(values) - len(values) % 2 :]
    return values[0]


def combine(level: int, block: int, left: Sequence[Array], right: Sequence[Array]) -> list[Array]:
    return [one + other for one, other in zip(left, right, strict=True)]


def exchanged(ranks: list[Halving], seed: int | None) -> Counter[int]:
    """Deliver all messages, in order or, with a seed, in any; returns how many each rank sent."""
    waiting: deque[tuple[int, Message]] = deque()
    sent: Counter[int] = Counter()
    generator = np.random.default_rng(seed)

    def send(sender: int, messages: list[Message]) -> None:
        sent[sender] += len(messages)
        waiting.extend((sender, message) for message in messages)

    for number, rank in enumerate(ranks):
        send(number, rank.start())
    while waiting:
        if seed is not None:
            waiting.rotate(int(generator.integers(len(waiting))))
        sender, (step, receiver, arrays) = waiting.popleft()
        send(receiver, ranks[receiver].receive(step, sender, arrays))
    assert all(rank.has_ended for rank in ranks)
    return sent


def made(count: int, sizes: Sequence[int], *, reduces_all: bool) -> tuple[list[Halving], list[Array]]:
    generator = np.random.default_rng(count)
    values = [[generator.standard_normal(size, np.float32) for size in sizes] for _ in range(count)]
    ranks = [
        Halving(count, rank, own, combine, [np.empty_like(one) for one in own] if reduces_all else None)
        for rank, own in enumerate(values)
    ]
    return ranks, [tree([own[number] for own in values]) for number in range(len(sizes))]


@pytest.mark.parametrize("count", [2, 3, 5, 7, 8, 12, 17, 31, 33, 64, 100])
@pytest.mark.parametrize("seed", [None, 1])
def test_all_ranks_have_the_bits_of_the_tree(count: int, seed: int | None) -> None:
    ranks, expected = made(count, (3 * count + 5, 1, 0, 2), reduces_all=True)
    exchanged(ranks, seed)
    for rank in ranks:
        assert rank.results is not None
        for result, root in zip(rank.results, expected, strict=True):
            assert result.tobytes() == root.tobytes()


@pytest.mark.parametrize("count", [2, 5, 17, 48])
def test_each_rank_has_its_share(count: int) -> None:
    ranks, (expected,) = made(count, (3 * count,), reduces_all=False)
    exchanged(ranks, 2)
    for place, number in enumerate(share_order(count)):
        assert ranks[number].shares[0].tobytes() == expected[3 * place : 3 * place + 3].tobytes()


@pytest.mark.parametrize("count", [1000, 10_000])
@pytest.mark.parametrize("size", [1 << 20])
def test_what_a_thousand_and_ten_thousand_ranks_send(count: int, size: int) -> None:
    """Directly, each would send 2 (count - 1) messages, and as many elements."""
    levels = (count - 1).bit_length()
    found = [traffic_of(count, rank, size, doubles=True) for rank in range(0, count, 7)]
    found += [traffic_of(count, rank, size, doubles=True) for rank in range(count - 20, count)]
    assert {one.depth for one in found} == {2 * levels}
    assert 2 * levels - 1 <= np.median([one.messages for one in found]) <= 2 * levels
    # The last blocks have fewer ranks, which have several classes each.
    assert max(one.messages for one in found) <= 20 * levels
    assert max(one.elements for one in found) <= 2.1 * size


def test_counted_traffic_is_what_is_sent() -> None:
    ranks, _ = made(37, (500,), reduces_all=True)
    sent = exchanged(ranks, None)
    assert [sent[rank] for rank in range(37)] == [
        traffic_of(37, rank, 500, doubles=True).messages for rank in range(37)
    ]


@pytest.mark.parametrize("count", [8, 13])
def test_classes_divide_the_elements(count: int) -> None:
    """At each level the classes of a block's ranks are disjoint, and together all elements."""
    for level in range((count - 1).bit_length() + 1):
        ranges = [class_range(count, level, residue, 100) for residue in range(1 << level)]
        covered = sorted(element for one in ranges for element in range(one.start, one.stop))
        assert covered == list(range(100))
    for rank in range(count):
        for step in steps_of(count, rank):
            assert all(owner(count, step.level, step.block, residue) == rank for residue in step.classes)


@pytest.mark.parametrize("ranks", [1, 2, 17, 18, 300, 10_000])
def test_every_rank_reports_to_one_parent(ranks: int) -> None:
    reached = [child for rank in range(ranks) for child in children_of(rank, ranks)]
    assert sorted(reached) == list(range(1, ranks))
    for rank in range(1, ranks):
        assert rank in children_of(parent_of(rank), ranks) and len(children_of(rank, ranks)) <= FAN_OUT


def test_reports_are_joined() -> None:
    one, other = Idle(3, 2, None, "", 2), Idle(1, 2, ("a waits",), "unreceived", 1, 5)
    assert joined([one, other]) == Idle(4, 4, ("a waits",), "unreceived", 1, 6)
    assert joined([one, one]).waits is None
