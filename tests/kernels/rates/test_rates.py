"""The loops that measure the machine do their work, and tell its time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from nimblehlo.kernels.rates import rates
from tests.support.timing import least


def memory_of(size: int) -> Any:
    memory = np.zeros(size + 64, np.uint8)
    return memory[-memory.ctypes.data % 64 :][:size]


def best(kind: str, element: str = "i32", **settings: Any) -> float:
    return min(rates.seconds_of(kind, element, **settings) for _ in range(7))


@pytest.mark.parametrize("variant", range(4))
def test_a_copy_copies_every_byte(variant: int) -> None:
    size = 4 * rates.STEP_BYTES
    memory = memory_of(2 * size)
    memory[:size] = np.random.default_rng(0).integers(0, 256, size)
    rates.seconds_of("copy", width=rates.vector_bytes(), variant=variant, memory=memory, moved_bytes=size)
    assert (memory[size:] == memory[:size]).all() and memory[:size].any()


def test_a_triad_reads_two_arrays() -> None:
    size = rates.STEP_BYTES
    memory = memory_of(3 * size)
    memory[: 2 * size] = np.random.default_rng(0).integers(0, 256, 2 * size)
    rates.seconds_of("triad", width=rates.vector_bytes(), memory=memory, moved_bytes=size)
    assert (memory[2 * size :] == (memory[:size] ^ memory[size : 2 * size])).all()


@pytest.mark.parametrize(("element", "dtype"), [("f32", np.float32), ("f64", np.float64)])
def test_a_function_has_its_multiply_adds(element: str, dtype: Any) -> None:
    """x -> 0.5 -> 0.5 x + 0.5 -> (0.5 x + 0.5) x + 0.5, exactly."""
    size = rates.STEP_BYTES
    memory = memory_of(size)
    memory.view(dtype)[:] = 3
    rates.seconds_of(
        "functions", element, width=rates.vector_bytes(), memory=memory, moved_bytes=size, degree=2
    )
    assert (memory.view(dtype) == (0.5 * 3 + 0.5) * 3 + 0.5).all()


@pytest.mark.parametrize("element", ["f32", "f64", "i32"])
def test_no_iteration_is_left_out(element: str) -> None:
    """Ten times the repetitions take about ten times as long."""

    def distance() -> float:
        once, ten = [
            best("instructions", element, width=rates.vector_bytes(), repeats=repeats)
            for repeats in (3000, 30000)
        ]
        return abs(math.log10(ten / once) - 1)

    assert least(distance, 0.4) < 0.4


@pytest.mark.parametrize("element", ["bf16", "i8"])
def test_dot_products_have_times_where_the_processor_has_them(element: str) -> None:
    if rates.has_dots(element):
        assert best("instructions", element, width=64, repeats=1000) > 0


def test_threads_that_do_not_run_together_have_no_time() -> None:
    """More threads than the pool uses for a launch: the caller would do the tasks one after the other."""
    assert math.isnan(rates.seconds_of("instructions", "f32", repeats=1, threads=rates.MAX_THREADS))


STEP = rates.STEP_BYTES


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("instructions", {"threads": 0}),
        ("instructions", {"threads": rates.MAX_THREADS + 1}),
        ("instructions", {"width": 2 * rates.vector_bytes()}),
        ("instructions", {"width": 24}),
        ("read", {"moved_bytes": STEP}),
        ("gather", {"indices": np.zeros(4, np.int32)}),
        ("read", {"memory": memory_of(2 * STEP).view(np.float32), "moved_bytes": STEP}),
        ("read", {"memory": memory_of(2 * STEP)[::2], "moved_bytes": STEP}),
        ("copy", {"memory": memory_of(2 * STEP - 1), "moved_bytes": STEP}),
        ("write", {"memory": memory_of(2 * STEP - 1), "moved_bytes": STEP, "threads": 2}),
        ("functions", {"memory": memory_of(STEP), "moved_bytes": 2 * STEP}),
        ("write", {"memory": memory_of(STEP), "moved_bytes": STEP // 2}),
        ("write", {"memory": memory_of(STEP), "moved_bytes": -STEP}),
        ("write", {"memory": memory_of(STEP + 1)[1:], "moved_bytes": STEP, "variant": 1}),
        ("write", {"memory": memory_of(STEP), "moved_bytes": STEP, "variant": 4}),
        ("gather", {"memory": memory_of(64)}),
        ("gather", {"memory": memory_of(64), "indices": np.zeros(4, np.int64)}),
        ("gather", {"memory": memory_of(64), "indices": np.full(4, 16, np.int32)}),
        ("gather", {"memory": memory_of(64), "indices": np.full(4, 8, np.int32), "threads": 2}),
        ("gather", {"memory": memory_of(64), "indices": np.full(4, -1, np.int32)}),
    ],
)
def test_loops_that_would_leave_their_memory_are_refused(kind: str, settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"threads|width|memory|moved_bytes|variant|indices"):
        rates.seconds_of(kind, **settings)
