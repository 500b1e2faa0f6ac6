"""Calls of prepared launches from native loops, by addresses: without arrays of Python's where possible."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nimblehlo.kernels.launch.native import Launch, LoopCall, NativeFunction, record_launches
from nimblehlo.kernels.launch.poison import POISON

TASK = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))

# Python's lock is kept, and an exception that is set is raised.
SOLVER = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def numbers_at(address: int, count: int) -> Any:
    return (ctypes.c_int64 * count).from_address(address)


def as_task(function: Callable[[list[int]], None]) -> tuple[Any, int]:
    """A task of a function of the closure's values, and its address."""
    task = TASK(lambda task, closure: function(closure[:4]))
    address = ctypes.cast(task, ctypes.c_void_p).value
    assert address is not None
    return task, address


def solve(call: LoopCall, operands: list[Any], results: list[Any]) -> int:
    addresses = [np.array([array.ctypes.data for array in arrays]) for arrays in (operands, results)]
    return SOLVER(call.solver)(id(call), *[array.ctypes.data for array in addresses])


@pytest.mark.parametrize("scratch_bytes", [8, 100, 60_000, 200_000, 8 << 20])
def test_scratch_memory_is_on_the_stack_or_the_heap_if_it_is_small(scratch_bytes: int) -> None:
    """It is on the stack up to LOOP_STACK_BYTES, and on the heap up to LOOP_HEAP_BYTES.

    The first launch writes the difference to the second scratch array, the other one copies it.
    """
    seen: list[int] = []

    def subtract(closure: list[int]) -> None:
        a, b = (numbers_at(address, 2) for address in closure[:2])
        seen.append(closure[2])
        numbers_at(closure[2], 2)[:] = [a[0] - b[0], a[1] - b[1]]
        numbers_at(closure[3], 1)[0] = -1

    def copy(closure: list[int]) -> None:
        numbers_at(closure[1], 2)[:] = numbers_at(closure[0], 2)[:]

    (first, first_address), (second, second_address) = as_task(subtract), as_task(copy)
    function = NativeFunction(
        [16, 16],
        [((2,), np.int64)],
        [
            Launch(first_address, 1, ((0, 0), (1, 0), (4, 0), (3, 0)), (), 1e-6, first),
            Launch(second_address, 1, ((4, 0), (2, 0)), (0, 0), 1e-6, second),
        ],
        scratch=[((scratch_bytes,), np.int8), ((2,), np.int64)],
    )
    pair = ((2,), np.int64)
    # The function's second argument is the loop's first operand.
    call = LoopCall(function, (1, 0), [pair, pair], [pair])
    assert call.is_native == (scratch_bytes < 8 << 20 and POISON == "0")
    result, operands = np.zeros(2, np.int64), [np.array([1, 2]), np.array([10, 30])]
    for _ in range(3):
        result[:] = 0
        assert solve(call, operands, [result]) == 0
        assert result.tolist() == [9, 28]
    assert len(seen) == 3
    if call.is_native:
        assert all(address % 64 == 0 for address in seen)


def test_recorded_launches_of_loops_have_scratch_memory_too() -> None:
    def negate(closure: list[int]) -> None:
        numbers_at(closure[2], 1)[0] = -numbers_at(closure[0], 1)[0]
        numbers_at(closure[1], 1)[0] = numbers_at(closure[2], 1)[0]

    task, address = as_task(negate)
    number = ((1,), np.int64)
    launch = Launch(address, 1, ((0, 0), (1, 0), (2, 0)), (0,), 1e-4, task)
    function = NativeFunction([8], [number], [launch], scratch=[number])
    call = LoopCall(function, (0,), [number], [number])
    launches: list[Any] = []
    result = np.zeros(1, np.int64)
    record_launches(launches)
    try:
        assert solve(call, [np.array([7])], [result]) == 0
    finally:
        record_launches(None)
    assert result.tolist() == [-7] and len(launches) == 1


@pytest.mark.skipif(POISON != "0", reason="poisoned calls need objects of Python's")
def test_the_first_calls_are_timed_and_all_are_counted() -> None:
    """TIMED_LOOP_CALLS of them."""
    timed_calls, seconds = 256, [0.002]
    task, address = as_task(lambda closure: time.sleep(seconds[0]))
    number = ((1,), np.int64)
    function = NativeFunction([8], [number], [Launch(address, 1, (), (), 1e-6, task)])
    call = LoopCall(function, (0,), [number], [number])
    assert call.seconds == 0.0
    for calls in range(1, 4):
        assert solve(call, [np.array([7])], [np.zeros(1, np.int64)]) == 0
        assert call.seconds >= 0.002 * calls
    seconds[0] = 0.0
    for _ in range(timed_calls - 3):
        solve(call, [np.array([7])], [np.zeros(1, np.int64)])
    timed, seconds[0] = call.seconds, 0.001
    for _ in range(timed_calls // 4):
        solve(call, [np.array([7])], [np.zeros(1, np.int64)])
    assert call.seconds == pytest.approx(1.25 * timed)


def test_functions_of_python_are_called_with_arrays() -> None:
    number = ((1,), np.int64)
    call = LoopCall(lambda a, b: 10 * a - b, (0, 1), [number, number], [number])
    result = np.zeros(1, np.int64)
    assert not call.is_native and solve(call, [np.array([7]), np.array([1])], [result]) == 0
    assert result.tolist() == [69]
    call = LoopCall(lambda a: a, (0, 1), [number, number], [number])
    with pytest.raises(TypeError):
        solve(call, [np.array([7]), np.array([1])], [result])
