"""Orders of operations keep what depends on what, and take less memory."""

from __future__ import annotations

import random

import pytest

from nimblehlo.compiler.loops.arrays.memory_schedule import MIN_BYTES, Statement, order_by_memory


def statement(reads: set[int], defines: set[int], predecessors: set[int]) -> Statement:
    none = frozenset[int]()
    return Statement(frozenset(reads), frozenset(defines), none, (), frozenset(predecessors))


@pytest.mark.parametrize("seed", range(20))
def test_random_blocks(seed: int) -> None:
    chosen = random.Random(seed)
    statements = []
    for number in range(60):
        reads = {chosen.randrange(number) for _ in range(chosen.randint(0, 3))} if number else set()
        predecessors = {chosen.randrange(number)} if number and not chosen.randrange(4) else set()
        statements.append(statement(reads, {number}, reads | predecessors))
    sizes = [chosen.choice([64, MIN_BYTES]) for _ in statements]
    # Nothing has a lower peak than the order in which these statements are written, if that is the only one.
    only = [
        statement(set(one.reads), set(one.defines), {*one.predecessors, max(number - 1, 0)} - {number})
        for number, one in enumerate(statements)
    ]
    written, most = order_by_memory(only, sizes, frozenset({59}))
    assert list(written) == list(range(60))
    order, live_bytes = order_by_memory(statements, sizes, frozenset({59}))
    assert sorted(order) == list(range(60))
    assert max(live_bytes) <= max(most)
    position = {number: index for index, number in enumerate(order)}
    for number, one in enumerate(statements):
        assert all(position[other] < position[number] for other in one.predecessors)


def test_makers_stand_beside_their_only_readers() -> None:
    count = 8
    makers = [statement(set(), {number}, set()) for number in range(count)]
    readers = [statement({number}, set(), {number}) for number in range(count)]
    order, live_bytes = order_by_memory([*makers, *readers], [MIN_BYTES] * count, frozenset())
    assert max(live_bytes) == MIN_BYTES
    assert [order.index(count + number) - order.index(number) for number in range(count)] == [1] * count


def test_small_blocks_keep_their_order() -> None:
    makers = [statement(set(), {number}, set()) for number in range(2)]
    readers = [statement({number}, set(), {number}) for number in range(2)]
    order, live_bytes = order_by_memory([*makers, *readers], [MIN_BYTES // 2 - 1] * 2, frozenset())
    assert list(order) == [0, 1, 2, 3]
    assert max(live_bytes) < MIN_BYTES


def test_a_move_may_lower_what_the_schedules_leave() -> None:
    """An array is computed after the peak, although that lengthens the lifetime of its operands."""
    small, large = MIN_BYTES // 8, MIN_BYTES
    statements = [
        statement(set(), {0}, set()),
        statement({0}, {1}, {0}),
        statement({0}, {2}, {0}),
        statement({2}, {3}, {2}),
        statement({1, 3}, set(), {1, 3}),
    ]
    _, live_bytes = order_by_memory(statements, [small, large, large, small, small], frozenset())
    assert max(live_bytes) == small + large + small
