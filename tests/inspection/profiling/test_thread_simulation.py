"""The simulation of more threads than there are, counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.inspection.profiling.machine import Machine
from nimblehlo.inspection.profiling.thread_simulation import (
    RecordedCall,
    RecordedLaunch,
    is_shared,
    makespan,
    record,
    shared_bandwidth,
    simulate,
)
from tests.inspection.profiling.test_machine import made_up


def machine() -> Machine:
    """The made-up machine with costs: 10 us to wake threads, 1 us of a launch, 0.1 us to begin a task."""
    one = made_up()
    costs = {
        "seconds launch 2": 1e-6,
        "seconds wake 2": 1e-5,
        "seconds task 1": 1e-7,
        "seconds steal 2": 2e-7,
    }
    return Machine(one.threads, one.measured_threads, one.cache_bytes, {**one.figures, **costs})


def launch(*tasks: float, before: float = 0.0, **fields: Any) -> RecordedLaunch:
    one = RecordedLaunch("0", "op", before, 128, False, sum(tasks), tasks, 0.0)
    return one._replace(**fields)


@pytest.mark.parametrize(
    ("tasks", "threads", "expected"),
    [
        ([1.0] * 8, 1, 8.0),
        ([1.0] * 8, 2, 4.0),
        ([1.0] * 8, 8, 1.0),
        ([1.0] * 9, 4, 3.0),
        ([5.0, 1.0, 1.0, 1.0], 2, 5.0),  # the second thread takes what is left of the first one's share
        ([1.0, 1.0, 5.0, 5.0], 2, 7.0),  # the first thread takes the last task of the second one's share
        ([1.0, 1.0, 1.0, 5.0], 2, 6.0),  # consecutive tasks: the long one begins last
    ],
)
def test_tasks_without_costs(tasks: list[float], threads: int, expected: float) -> None:
    assert makespan(tasks, [0.0] * threads, 0.0, 0.0, in_order=False) == pytest.approx(expected)


def test_tasks_in_order_are_one_share() -> None:
    """Two threads: 0 and 1 begin, then 2 and 3 by whoever is ready."""
    assert makespan([1.0, 1.0, 5.0, 5.0], [0.0, 0.0], 0.0, 0.0, in_order=True) == pytest.approx(6.0)


def test_costs_of_tasks() -> None:
    """Shares of four: the caller begins one task for nothing."""
    cost = makespan([1.0] * 8, [0.0, 0.0], 0.25, 100.0, in_order=False)
    assert cost == pytest.approx(4 * 1.25)
    # The caller's share is two tasks; it takes the third from the other one's share, which takes the fourth.
    assert makespan([1.0] * 4, [0.0, 2.5], 0.0, 0.5, in_order=False) == pytest.approx(3.5)


def test_threads_that_come_late_find_no_task() -> None:
    assert makespan([1.0] * 4, [0.0, 9.0], 0.0, 0.0, in_order=False) == pytest.approx(4.0)


def test_a_call_of_steps_and_launches() -> None:
    """Threads sleep at the begin, so that they have to be woken; they are awake at the second launch."""
    call = RecordedCall((launch(*[1e-3] * 8, before=1e-3), launch(*[1e-3] * 8, before=1e-5)), 2e-3)
    assert call.seconds == pytest.approx(19.01e-3) and call.serial_seconds == pytest.approx(3.01e-3)
    total, (first, second) = simulate(call, machine(), 2)
    assert first.woken and not second.woken
    assert first.seconds == pytest.approx(1e-6 + 4e-3 + 1e-5 + 4e-7, rel=1e-3)
    assert second.seconds == pytest.approx(1e-6 + 4e-3 + 1e-6 + 4e-7, rel=1e-3)
    assert total == pytest.approx(3.01e-3 + first.seconds + second.seconds)


def test_short_launches_do_not_wake_threads() -> None:
    call = RecordedCall((launch(*[1e-5] * 8, before=1e-3),), 0.0)
    assert simulate(call, machine(), 2)[0] == pytest.approx(call.seconds)


def test_one_thread_runs_what_one_thread_ran() -> None:
    call = RecordedCall((launch(1e-3, 2e-3), launch(5e-3, threads=1), launch(7e-3)), 1e-3)
    assert [is_shared(one) for one in call.launches] == [True, False, False]
    assert simulate(call, machine(), 1)[0] == pytest.approx(call.seconds)


def test_memory_bounds_a_launch() -> None:
    """1 GB at 2 x 10 GB/s by two threads, and at most the sockets' bandwidth by many."""
    moved = 1e9
    call = RecordedCall((launch(*[1e-3] * 128, bytes=moved),), 0.0)
    done = simulate(call, machine(), 2)[1][0]
    assert done.by_memory == pytest.approx(moved / shared_bandwidth(machine(), moved, 2))
    assert done.seconds == pytest.approx(max(done.by_tasks, done.by_memory))
    assert shared_bandwidth(machine(), moved, 32) == pytest.approx(16 * shared_bandwidth(machine(), moved, 2))
    faster = Machine(2, (1, 2), (1000, 10_000, 100_000), {k: 10 * v for k, v in machine().figures.items()})
    assert shared_bandwidth(faster, 1e12, 64) == pytest.approx(460e9, rel=1e-3)
    assert shared_bandwidth(faster, 1e12, 128) == pytest.approx(2 * 460e9, rel=1e-3)


TEXT = """
func.func @main(%x: tensor<512x4096xf32>) -> tensor<512x4096xf32> {
  %0 = stablehlo.exponential %x : tensor<512x4096xf32>
  return %0 : tensor<512x4096xf32>
}
"""


def test_tasks_are_recorded_and_results_stay(unverified: None) -> None:
    executable = nimblehlo.compile(TEXT, options=Options(compile="eager"))
    x = np.random.default_rng(0).random((512, 4096), np.float32)
    (expected,) = executable(x)
    results = []

    def run() -> None:
        results.append(executable(x)[0])

    call = record(run, lambda: executable.profile([x]), 3)
    assert len(results) == 4 and all((result == expected).all() for result in results)
    (one,) = [launch for launch in call.launches if launch.operation]
    assert len(one.tasks) > 8 and all(seconds > 0 for seconds in one.tasks)
    assert one.bytes == 2 * x.nbytes and one.step == "0"
