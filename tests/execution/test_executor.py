"""The executor: steps, slots, lifetimes, regions, errors and the overhead of a step."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nimblehlo.compiler.plan import Plan, Prepared, Step
from nimblehlo.errors import ExecutionError
from nimblehlo.execution.executor import Runner
from tests.support.timing import least

BF16 = np.dtype(ml_dtypes.bfloat16)


def step(
    function: Callable[..., Any],
    operands: tuple[int, ...],
    results: tuple[int, ...],
    releases: tuple[int, ...] = (),
    **rest: Any,
) -> Step:
    types: tuple[tuple[()], tuple[()]] = ((), ())
    return Step(
        Prepared(function), operands, results, "test.op", "file:1:2", types, releases=releases, **rest
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
    """The processor time of this thread for a call: the least of three means."""
    times = []
    for _ in range(3):
        start = time.thread_time()
        for _ in range(calls):
            function()
        times.append((time.thread_time() - start) / calls)
    return min(times)


def slowness() -> float:
    """How much slower this machine is at present than one on which the limits hold as they stand."""
    a = np.ones(8, np.float32)
    return max(1.0, least_seconds(lambda: np.add(a, a)) / ADD_SECONDS)


def test_a_step_costs_at_most_a_microsecond() -> None:
    def kernel(a: Any, b: Any) -> Any:
        return a

    steps = [step(kernel, (index, 0), (index + 1,), (index,) if index else ()) for index in range(100)]
    runner = Runner(Plan(steps, 101, (0,), (100,), {}))

    def extra_seconds() -> float:
        alone = least_seconds(lambda: [kernel(0, 0) for _ in range(100)], 100) / 100
        return (least_seconds(lambda: runner.run((0,)), 100) / 100 - alone) / slowness()

    assert least(extra_seconds, 1e-6) < 1e-6


@pytest.mark.usefixtures("unverified")
def test_a_call_of_one_step_costs_at_most_five_microseconds() -> None:
    import nimblehlo

    executable = nimblehlo.compile("""
    func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
      %0 = stablehlo.add %a, %b : tensor<8xf32>
      return %0 : tensor<8xf32>
    }
    """)
    a = np.ones(8, np.float32)
    assert least(lambda: least_seconds(lambda: executable(a, a)) / slowness(), 5e-6) < 5e-6


LOOP = """
func.func @main(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c, %v = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %w = stablehlo.add %v, %x : tensor<4xf32>
    stablehlo.return %j, %w : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}
"""


@pytest.mark.usefixtures("unverified")
def test_an_iteration_costs_at_most_a_microsecond_beyond_its_steps() -> None:
    import nimblehlo

    executable = nimblehlo.compile(LOOP, options=nimblehlo.Options(compile="never"))
    a, n, x = np.array(1, np.int32), np.array(2000, np.int32), np.ones(4, np.float32)

    def extra_seconds() -> float:
        alone = least_seconds(lambda: (np.less(a, n), np.add(a, a), np.add(x, x)), 200)
        return least_seconds(lambda: executable(n, x), 1) / 2000 - alone

    assert least(extra_seconds, 1e-6) < 1e-6


def loop(count: int, **body: Any) -> Plan:
    """A while over a counter and a value: slots 0 and 1; slot 2 is what both regions capture."""
    cond = Plan([step(lambda i: np.array(i < count), (0,), (3,), (0,))], 4, (0, 1, 2), (3,), {})
    turn = Plan([step(lambda i: i + 1, (0,), (3,), (0,)), *body["steps"]], 6, (0, 1, 2), body["results"], {})
    control = step(
        lambda: None,
        (0, 1),
        (3, 4),
        (0, 1),
        regions={"cond": cond, "body": turn},
        captures=(2,),
        control="while",
    )
    return Plan([control], 5, (0, 1, 2), (3, 4), {})


def test_a_while_owns_what_it_carries_but_not_what_it_captures() -> None:
    seen: list[Any] = []

    def add(a: Any, b: Any, out: Any = None) -> Any:
        seen.append(None if out is None else id(out[0]))
        return np.add(a, b, out=None if out is None else out[0])

    steps = [step(add, (1, 2), (4,), (1, 2), overwrites=((0, 0), (1, 0)))]
    start, captured = np.ones(3), np.ones(3)
    number, value = Runner(loop(4, steps=steps, results=(3, 4))).run((0, start, captured))
    assert number == 4 and value.tolist() == [5] * 3
    assert start.tolist() == captured.tolist() == [1] * 3
    assert seen == [None, id(value), id(value), id(value)]


def test_a_while_may_exchange_and_drop_values() -> None:
    runner = Runner(loop(3, steps=[step(lambda i: [i], (0,), (4,))], results=(3, 2)))
    assert runner.run((0, "start", "captured")) == [3, "captured"]
    assert runner.run((5, "start", "captured")) == [5, "start"]


def test_errors_in_a_loop_name_the_step_within() -> None:
    def fail(value: Any) -> Any:
        raise RuntimeError("no luck")

    inner = Step(Prepared(fail), (1,), (4,), "test.inner", "file:7:8", ((), ()), releases=(1,))
    with pytest.raises(ExecutionError, match="no luck") as caught:
        Runner(loop(3, steps=[inner], results=(3, 4))).run((0, 1, 2))
    assert (caught.value.operation, caught.value.location) == ("test.inner", "file:7:8")


@pytest.mark.parametrize(("selector", "expected"), [(0, 10), (1, 20), (2, 30), (3, 30), (-1, 30)])
def test_case_takes_the_last_branch_for_indices_out_of_range(selector: int, expected: int) -> None:
    branches = [Plan([], 2, (0,), (1,), {1: number}) for number in (10, 20, 30)]
    control = step(
        lambda: None, (0,), (2,), (0, 1), regions={"branches": branches}, captures=(1,), control="case"
    )
    plan = Plan([control], 3, (0, 1), (2,), {})
    assert Runner(plan).run((np.array(selector, np.int32), 5)) == [expected]


def test_a_branch_may_overwrite_what_only_it_uses() -> None:
    branch = Plan([step(np.negative, (0,), (1,), (0,), overwrites=((0, 0),))], 2, (0,), (1,), {})
    regions = {"true_branch": branch, "false_branch": Plan([], 1, (0,), (0,), {})}
    control = step(lambda: None, (0,), (2,), (0, 1), regions=regions, captures=(1,), control="if")
    runner = Runner(Plan([control], 3, (0, 1), (2,), {}))
    array = np.ones(3)
    address = array.ctypes.data
    values = [np.array(True), array]
    del array
    (result,) = runner.run(values)
    assert result.ctypes.data == address and result.tolist() == [-1] * 3
    (kept,) = runner.run((np.array(False), result))
    assert kept is result


def test_more_operands_than_the_stack_takes() -> None:
    count = 40
    slots = tuple(range(count))
    plan = Plan([step(lambda *values: sum(values), slots, (count,))], count + 1, slots, (count,), {})
    assert Runner(plan).run(tuple(range(count))) == [sum(range(count))]


UFUNCS = [
    np.add, np.subtract, np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    np.multiply, np.maximum, np.arctan2, np.negative, np.sqrt, np.tanh, np.isfinite, np.divmod, np.matmul,
]  # fmt: skip
UFUNC_TYPES = [
    np.bool, np.int8, np.uint32, np.int64, np.float16, np.float32, np.float64, np.complex64, ">i4", BF16,
]  # fmt: skip
"""The last two have no inner loop that the executor calls."""


def ufunc_operands(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Iterator[tuple[Any, Any]]:
    """Pairs of arrays with extremes: contiguous, strided, transposed, of another shape, repeated."""
    values = np.arange(np.prod(shape, dtype=int) * 2) % 5
    if dtype.kind in "iu":
        extremes = [np.iinfo(dtype).min, np.iinfo(dtype).max]
    else:
        extremes = [True, False] if dtype.kind == "b" else [np.nan, np.inf]
    a = np.array([*extremes, *values], dtype)[: values.size].reshape(2, *shape)
    b = np.array([*values, *extremes], dtype)[-values.size or 2 :][: values.size].reshape(2, *shape)
    yield a[0].copy(), b[1].copy()
    yield np.moveaxis(a, 0, -1).copy()[..., 0], b[0].copy()
    yield a[0].copy().T, b[1].copy().T
    yield a[0].copy(), b[0][..., :1].copy() if shape else b[0]
    repeated = np.broadcast_to(b.reshape(-1)[:1] if shape else b[0], shape)
    yield a[0].copy(), repeated
    yield repeated, a[1].copy()


@pytest.mark.parametrize("shape", [(), (1,), (3,), (0,), (2, 3), (500,), (501,)])
@pytest.mark.parametrize("function", UFUNCS)
def test_ufuncs_do_what_numpy_does(function: np.ufunc, shape: tuple[int, ...]) -> None:
    results = tuple(range(2, 2 + function.nout))
    runner = Runner(Plan([step(function, (0, 1)[: function.nin], results)], 4, (0, 1), results, {}))
    for dtype in map(np.dtype, UFUNC_TYPES):
        for operands in ufunc_operands(dtype, shape):
            with np.errstate(all="ignore"):
                try:
                    expected = function(*operands[: function.nin])
                except (TypeError, ValueError):
                    with pytest.raises(ExecutionError):
                        runner(*operands)
                    continue
            for got, wanted in zip(
                runner(*operands), expected if function.nout > 1 else [expected], strict=True
            ):
                assert type(got) is np.ndarray and got.dtype == wanted.dtype and got.shape == wanted.shape
                assert got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(("function", "is_same"), [(np.add, True), (np.less, False)])
def test_a_ufunc_writes_to_an_operand_of_the_results_type(function: np.ufunc, is_same: bool) -> None:
    steps = [
        step(np.negative, (0,), (1,), ()),
        step(lambda a: a.ctypes.data, (1,), (2,), ()),
        step(function, (1, 0), (3,), (1,), overwrites=((0, 0),)),
    ]
    a = np.float32([1, 2, 3])
    address, result = Runner(Plan(steps, 4, (0,), (2, 3), {}))(a)
    assert (result.ctypes.data == address) == is_same
    np.testing.assert_array_equal(result, function(-a, a))
    assert a.tolist() == [1, 2, 3]


def test_a_called_runner_lets_numpy_ignore_errors_in_all_steps_and_restores_its_state() -> None:
    def divided(a: Any, b: Any) -> Any:
        return np.divide(a, b)

    def failing(a: Any) -> Any:
        raise ValueError("no")

    zeros = np.zeros(3)
    body = Plan([step(divided, (0, 1), (2,), (0,))], 3, (0, 1), (2,), {})
    branch = step(
        lambda: None, (0,), (2,), (), regions={"branches": [body]}, captures=(1, 1), control="case"
    )
    for steps in [
        [step(divided, (1, 1), (2,))],
        [step(np.add, (1, 1), (3,)), step(divided, (3, 1), (2,))],
        [branch],
    ]:
        with np.errstate(all="raise"):
            runner = Runner(Plan(steps, 4, (0, 1), (2,), {}))
            assert np.isnan(runner(np.int32(0), zeros)[0]).all()
            assert np.geterr()["invalid"] == "raise"
    with np.errstate(all="raise"):
        with pytest.raises(ExecutionError, match="no"):
            Runner(Plan([step(failing, (0,), (1,))], 2, (0,), (1,), {}))(zeros)
        assert np.geterr()["invalid"] == "raise"


def test_a_called_runner_holds_no_value_between_calls_and_may_call_itself() -> None:
    def halved(a: Any) -> Any:
        return runner(a // 2)[0] + a if a[0] else a

    def copied(a: Any) -> tuple[Any, Any]:
        copies.append(a.copy())
        references.append(weakref.ref(copies[-1]))
        return copies.pop(), a

    copies: list[Any] = []
    references: list[weakref.ref[Any]] = []
    # Slot 1 is not released, and slot 4 is no result of the program.
    steps = [step(copied, (0,), (1, 4)), step(halved, (1,), (2,))]
    runner = Runner(Plan(steps, 5, (0,), (2, 3), {3: 7}))
    for _ in range(2):
        array = np.array([11])
        references.append(weakref.ref(array))
        value, constant = runner(array)
        assert (value.tolist(), constant) == ([11 + 5 + 2 + 1], 7)
        del array
    assert len(references) == 12 and all(reference() is None for reference in references)
    with pytest.raises(TypeError, match="takes 1 values, but got 2"):
        runner(1, 2)
    with pytest.raises(TypeError, match="keyword"):
        runner(a=1)  # type: ignore[call-arg]
