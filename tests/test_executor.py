"""The executor: steps, slots, lifetimes, regions, errors and what a step costs."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nimblehlo.errors import ExecutionError
from nimblehlo.executor import Runner
from nimblehlo.plan import Plan, Step


def step(
    function: Callable[..., Any],
    operands: tuple[int, ...],
    results: tuple[int, ...],
    releases: tuple[int, ...] = (),
    **rest: Any,
) -> Step:
    return Step(
        function, operands, results, "test.op", "file:1:2", "reference", "", "", releases=releases, **rest
    )


def test_values_go_through_slots() -> None:
    plan = Plan(
        [step(lambda a, b: a - b, (1, 0), (3,)), step(lambda a, b: a * b, (3, 2), (4,))],
        5,
        (0, 1),
        (4, 3),
        {2: 10},
    )
    assert Runner(plan).run((1, 3)) == [20, 2]


def test_several_results() -> None:
    plan = Plan([step(lambda a: (a, a + 1), (0,), (1, 2)), step(lambda a: (), (1,), ())], 3, (0,), (2, 1), {})
    assert Runner(plan).run((5,)) == [6, 5]


@pytest.mark.parametrize(
    ("function", "results"),
    [(lambda: (1, 2), (0,)), (lambda: 1, (0, 1)), (lambda: 1, ()), (lambda: (), (0,))],
)
def test_a_wrong_number_of_results_is_an_error(
    function: Callable[..., Any], results: tuple[int, ...]
) -> None:
    with pytest.raises(ExecutionError, match=r"test\.op.*file:1:2"):
        Runner(Plan([step(function, (), results)], 2, (), (), {})).run(())


def test_errors_name_the_operation() -> None:
    def fail() -> None:
        raise RuntimeError("no luck")

    with pytest.raises(ExecutionError, match="RuntimeError: no luck") as caught:
        Runner(Plan([step(fail, (), (0,))], 1, (), (0,), {})).run(())
    assert (caught.value.operation, caught.value.location) == ("test.op", "file:1:2")
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_interrupts_pass_through() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Runner(Plan([step(interrupt, (), (0,))], 1, (), (0,), {})).run(())


class Array(np.ndarray):
    """An array that weak references can follow."""


def test_values_die_after_their_last_use() -> None:
    references: list[weakref.ref[Any]] = []
    alive: list[bool] = []

    def make() -> Any:
        array = np.zeros(3).view(Array)
        references.append(weakref.ref(array))
        return array

    def look() -> int:
        gc.collect()
        alive.append(references[0]() is not None)
        return 0

    plan = Plan(
        [
            step(make, (), (0,)),
            step(look, (), (1,), (1,)),
            step(lambda a: 1, (0,), (1,), (0, 1)),
            step(look, (), (1,)),
        ],
        2,
        (),
        (1,),
        {},
    )
    Runner(plan).run(())
    assert alive == [True, False]


def test_regions_capture_values() -> None:
    region = Plan([step(lambda a, b: a + b, (0, 1), (2,))], 3, (0, 1), (2,), {})
    plan = Plan(
        [step(lambda a, body: body(a)[0] * 2, (0,), (2,), regions={"body": region}, captures=(1,))],
        3,
        (0, 1),
        (2,),
        {},
    )
    assert Runner(plan).run((3, 4)) == [14]


def test_variadic_regions_come_as_a_list() -> None:
    regions = [Plan([], 2, (0,), (1,), {1: number}) for number in (10, 20)]
    plan = Plan(
        [
            step(
                lambda index, branches: branches[index](),
                (0,),
                (2,),
                regions={"branches": regions},
                captures=(1,),
            )
        ],
        3,
        (0, 1),
        (2,),
        {},
    )
    assert Runner(plan).run((1, 0)) == [20]


def test_the_number_of_arguments_is_checked() -> None:
    with pytest.raises(TypeError, match="takes 1"):
        Runner(Plan([], 1, (0,), (0,), {})).run((1, 2))


ADD_SECONDS = 0.45e-6
"""NumPy's sum of two arrays of 8 floats where the limits hold as they stand; a busy machine takes longer."""


def least_seconds(function: Callable[[], Any], calls: int = 2000) -> float:
    times = []
    for _ in range(15):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        times.append((time.perf_counter() - start) / calls)
    return min(times)


def test_a_step_costs_at_most_a_microsecond() -> None:
    def kernel(a: Any, b: Any) -> Any:
        return a

    steps = [step(kernel, (index, 0), (index + 1,), (index,) if index else ()) for index in range(100)]
    runner = Runner(Plan(steps, 101, (0,), (100,), {}))
    alone = least_seconds(lambda: [kernel(0, 0) for _ in range(100)], 100) / 100
    a = np.ones(8, np.float32)
    slowness = max(1.0, least_seconds(lambda: np.add(a, a)) / ADD_SECONDS)
    assert least_seconds(lambda: runner.run((0,)), 100) / 100 - alone < 1e-6 * slowness


def test_a_call_of_one_step_costs_at_most_five_microseconds() -> None:
    import nimblehlo

    executable = nimblehlo.compile("""
    func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.add %a, %b : tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    """)
    a = np.ones(8, np.float32)
    slowness = max(1.0, least_seconds(lambda: np.add(a, a)) / ADD_SECONDS)
    assert least_seconds(lambda: executable(a, a)) < 5e-6 * slowness
