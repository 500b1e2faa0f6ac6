"""Launches of kernels that are prepared once."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from nimblehlo.kernels.launch.compilation import kernel
from nimblehlo.kernels.launch.prepared import AddressTable, ArrayParam, KernelCall, prepare_launches

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

    def works() -> list[KernelCall]:
        asked.append(1)
        operand, result = ArrayParam(0, COUNT, F32, is_written=False), ArrayParam(1, COUNT, F32)
        counts, room = ArrayParam(2, TASKS, I64), ArrayParam(3, COUNT, F32)
        factors = np.array([2, 3], np.int64)
        return [
            KernelCall(scale, TASKS, (SIZE, factors, operand, room), 1.0),
            KernelCall(shift, TASKS, (SIZE, room, 5, counts, result), 1.0),
        ]

    results = [((COUNT,), F32), ((TASKS,), I64)]
    return prepare_launches(works, [4 * COUNT], results, [((COUNT,), F32)], threads)


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
    before = len(scale.addresses)
    for threads in (1, 2):
        function(threads, [])(np.zeros(COUNT, np.float32))
    assert len(scale.addresses) == max(before, 1)


@kernel(parallel=True)
def collect(task: int, table: Any, where: Any, part: Any, result: Any) -> None:
    from_places, by, matrix = where
    for column in range(table.shape[1]):
        first = result[task, 0] if column == 0 else 0
        result[task, column] = first + table[task, column] + by * matrix[task, column] + part[column]
    result[task, 0] += from_places[0] - from_places[task + 1]


def test_tuples_addresses_parts_and_arrays_of_any_rank() -> None:
    table = np.arange(6, dtype=np.int64).reshape(2, 3) * 100
    matrix = np.arange(6, dtype=np.int64).reshape(2, 3)

    def works() -> list[KernelCall]:
        where = (AddressTable(((0, 0), (0, 16), (0, 40))), 7, matrix)
        part = ArrayParam(1, 3, I64, is_written=False, offset=16)
        return [
            KernelCall(
                collect,
                2,
                (ArrayParam(0, (2, 3), I64, is_written=False), where, part, ArrayParam(2, (2, 3), I64)),
                1.0,
            )
        ]

    run = prepare_launches(works, [48, 40], [((2, 3), I64)])
    out = np.zeros((2, 3), np.int64)
    assert run(table, np.arange(5, dtype=np.int64), out=(out,)) is out
    want = table + 7 * matrix + [2, 3, 4]
    want[:, 0] -= [16, 40]
    np.testing.assert_array_equal(out, want)


@kernel(parallel=True)
def reserve(task: int, sizes: Any, result: Any) -> None:
    room = np.empty(sizes[task], np.uint8)
    result[task] = room.size


@pytest.mark.parametrize("threads", [1, 2])
def test_tasks_that_cannot_have_memory(threads: int) -> None:
    works = [KernelCall(reserve, 4, (ArrayParam(0, 4, I64, is_written=False), ArrayParam(1, 4, I64)), 1.0)]
    run = prepare_launches(lambda: works, [32], [((4,), I64)], threads=threads)
    with pytest.raises(MemoryError, match="reserve: could not allocate memory for a task"):
        run(np.array([1, 2, 1 << 60, 3]))
    assert run(np.arange(4)).tolist() == [0, 1, 2, 3]
