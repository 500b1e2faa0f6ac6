"""Launches of kernels that are prepared once."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from nimblehlo.kernels.compilation import kernel
from nimblehlo.kernels.prepared import Given, Work, prepared

F32, I64 = np.dtype(np.float32), np.dtype(np.int64)
COUNT, TASKS = 1000, 7
SIZE = -(-COUNT // TASKS)


@kernel(parallel=True)
def scale(task: int, size: int, factors: Any, operand: Any, room: Any) -> None:
    for place in range(task * size, min((task + 1) * size, operand.size)):
        room[place] = operand[place] * factors[place % factors.size]


@kernel(parallel=True)
def shift(task: int, size: int, room: Any, by: int, counts: Any, result: Any) -> None:
    counts[task] = min((task + 1) * size, room.size) - task * size
    for place in range(task * size, min((task + 1) * size, room.size)):
        result[place] = room[place] + by


def function(threads: int | None, asked: list[int]) -> Any:
    """`operand * (2, 3, 2, 3, ...) + 5`, and how many elements each task computes."""

    def works() -> list[Work]:
        asked.append(1)
        operand, result = Given(0, COUNT, F32, is_written=False), Given(1, COUNT, F32)
        counts, room = Given(2, TASKS, I64), Given(3, COUNT, F32)
        factors = np.array([2, 3], np.int64)
        return [
            Work(scale, TASKS, (SIZE, factors, operand, room), 1.0),
            Work(shift, TASKS, (SIZE, room, 5, counts, result), 1.0),
        ]

    results = [((COUNT,), F32), ((TASKS,), I64)]
    return prepared(works, [4 * COUNT], results, [((COUNT,), F32)], threads)


@pytest.mark.parametrize("threads", [1, 2, None])
def test_works_follow_on_each_other(threads: int | None) -> None:
    asked: list[int] = []
    run = function(threads, asked)
    assert not asked
    for seed in range(3):
        operand = np.random.default_rng(seed).standard_normal(COUNT).astype(np.float32)
        gc.collect()
        result, counts = run(operand)
        want = operand * np.resize(np.array([2, 3], np.float32), COUNT) + np.float32(5)
        np.testing.assert_array_equal(result, want)
        assert counts.tolist() == [SIZE] * (TASKS - 1) + [COUNT - SIZE * (TASKS - 1)]
    assert len(asked) == 1


def test_operands_that_lie_apart_are_copied() -> None:
    operand = np.arange(2 * COUNT, dtype=np.float32)[::2]
    np.testing.assert_array_equal(function(1, [])(operand)[0][:3], [5, 11, 13])


def test_operands_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match="operand 0 has 40 bytes, but must have 4000"):
        function(1, [])(np.zeros(10, np.float32))


def test_code_is_shared_by_arguments_of_equal_types() -> None:
    before = len(scale._addresses)
    for threads in (1, 2):
        function(threads, [])(np.zeros(COUNT, np.float32))
    assert len(scale._addresses) == max(before, 1)
