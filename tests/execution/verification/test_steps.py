"""Steps that do more than they declare are found as they run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo.compiler.plan import Plan, Prepared, Step
from nimblehlo.compiler.plan.buffer_uses import BufferUses
from nimblehlo.execution.executor import Runner
from nimblehlo.execution.verification import verification_level
from nimblehlo.execution.verification.steps import CheckedRunner, InvalidStep
from nimblehlo.types import DYNAMIC, ELEMENT_TYPES, TensorType, TupleType, TupleValue

Array = np.ndarray[Any, Any]


def step(function: Any, operands: tuple[int, ...], results: tuple[int, ...], **rest: Any) -> Step:
    return Step(Prepared(function), operands, results, rest.pop("name", "test.op"), None, ((), ()), **rest)


def run(steps: list[Step], count: int, arguments: Any, results: tuple[int, ...], **rest: Any) -> list[Any]:
    plan = Plan(steps, count, tuple(range(len(arguments))), results, rest.get("constants", {}))
    return CheckedRunner(plan, Runner).run(arguments)


def zeros() -> Array:
    return np.zeros(2000, np.float32)


def add_one(a: Array, out: Any = (None,)) -> Array:
    return np.add(a, 1, out=out[0])


def write(a: Array) -> Array:
    a[7] = 1
    return a + 1


def test_what_is_declared_may_be_done() -> None:
    view = step(lambda a: a.reshape(40, 50), (1,), (2,), name="stablehlo.reshape")
    steps = [step(lambda: zeros(), (), (1,)), view, step(np.sum, (2,), (3,), releases=(1, 2))]
    assert run(steps, 4, [zeros()], (3,)) == [0]
    values = [zeros()]
    address = values[0].ctypes.data
    (result,) = run([step(add_one, (0,), (1,), releases=(0,), overwrites=((0, 0),))], 2, values, (1,))
    assert result.ctypes.data == address and (result == 1).all()


def test_an_operand_that_a_step_changes_is_found() -> None:
    with pytest.raises(InvalidStep, match="changed slot 0"):
        run([step(write, (0,), (1,), releases=(0,))], 2, (zeros(),), (1,))


def test_a_changed_argument_is_found() -> None:
    """The step writes to memory that none of its operands has."""
    array = zeros()

    def elsewhere(a: Array) -> Array:
        array[3] = 5
        return a + 1

    with pytest.raises(InvalidStep, match="argument 0 was changed"):
        run([step(elsewhere, (1,), (2,))], 3, (array, zeros()), (2,))


def test_a_changed_constant_is_found() -> None:
    constant = zeros()

    def elsewhere(a: Array) -> Array:
        constant[0] = 5
        return a + 1

    with pytest.raises(InvalidStep, match="constant"):
        run([step(elsewhere, (0,), (1,))], 3, (zeros(),), (1,), constants={2: constant})


def test_a_value_that_changes_between_two_steps_is_found() -> None:
    kept: list[Array] = []

    def make(a: Array) -> Array:
        kept.append(a + 1)
        return kept[0]

    def later(a: Array) -> Array:
        kept[0][5] = 3
        return a + 1

    steps = [step(make, (0,), (1,)), step(later, (0,), (2,)), step(np.add, (1, 2), (3,), releases=(1, 2))]
    with pytest.raises(InvalidStep, match="reads slot 1, whose elements are others"):
        run(steps, 4, (zeros(),), (3,))


def test_a_view_that_is_not_declared_is_found() -> None:
    with pytest.raises(InvalidStep, match="returns slot 1 in the memory of slot 0"):
        run([step(lambda a: a[:10], (0,), (1,))], 2, (zeros(),), (1,))


def test_memory_of_another_value_is_not_given_for_a_result() -> None:
    """A view whose array nothing refers to looks free to the executor: its owner is lost."""
    array = zeros()

    def hidden(a: Array) -> Array:
        return np.frombuffer(memoryview(a), a.dtype)

    steps = [
        step(hidden, (0,), (1,), name="stablehlo.reshape"),
        step(add_one, (1,), (2,), releases=(1,), overwrites=((0, 0),)),
    ]
    forced = _Forced(add_one)
    steps[1].implementation = Prepared(forced)
    with pytest.raises(InvalidStep, match="memory slot 0 shares"):
        _run_forced(steps, array)
    assert forced.calls == 0


class _Forced:
    """A function that counts its calls."""

    def __init__(self, function: Any) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *operands: Any, out: Any = (None,)) -> Any:
        self.calls += 1
        return self.function(*operands, out=out)


def _run_forced(steps: list[Step], array: Array) -> None:
    """Run steps as an executor would that gives each operand's memory away as its step declares."""

    class Forcing:
        def __init__(self, plan: Plan) -> None:
            self.plan = plan

        def run(self, arguments: Any, limits: Any = None) -> list[Any]:
            frame = dict(zip(self.plan.arguments, arguments, strict=True))
            for one in self.plan.steps:
                operands = [frame[slot] for slot in one.operands]
                given = {"out": (operands[0],)} if one.overwrites else {}
                frame[one.results[0]] = one.function(*operands, **given)
            return [frame[slot] for slot in self.plan.results]

    CheckedRunner(Plan(steps, 3, (0,), (2, 0), {}), Forcing).run((array,))


def test_memory_is_given_only_as_it_is_declared() -> None:
    steps = [step(add_one, (0,), (2,), overwrites=((0, 0),))]
    checked = CheckedRunner(Plan(steps, 3, (0, 1), (2,), {}), lambda plan: plan)
    function = checked.runner.steps[0].function
    uses = function.uses
    function.uses = BufferUses(uses.reads, uses.writes, uses.may_alias, ())
    array = zeros()
    with pytest.raises(InvalidStep, match="undeclared"):
        function(array, out=(array,))


def test_regions_and_loops_are_checked() -> None:
    body = Plan([step(write, (0,), (1,), releases=(0,))], 2, (0,), (1,), {})
    cond = Plan([step(lambda a: a[0] < 3, (0,), (1,))], 2, (0,), (1,), {})
    loop = step(None, (0,), (1,), regions={"cond": cond, "body": body}, control="while")
    with pytest.raises(InvalidStep, match="changed slot 0"):
        run([loop], 2, (zeros(),), (1,))


def test_programs_are_checked_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
    func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.sine %a : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    """
    array = np.ones(4, np.float32)
    with verification_level("steps"):
        (result,) = nimblehlo.compile(text)(array)
    assert result == pytest.approx(np.sin(array))

    from nimblehlo.compiler.plan import choice

    def wrong(operand: Array) -> Array:
        operand[0] = 7
        return operand + 1

    monkeypatch.setattr(choice, "numpy_for", lambda view, threads: wrong)
    with verification_level("steps"), pytest.raises(InvalidStep):
        nimblehlo.compile(text, options=nimblehlo.Options(compile="never"))(array)


F32, I32 = ELEMENT_TYPES["f32"], ELEMENT_TYPES["i32"]


@pytest.mark.parametrize(
    ("type", "result", "reason"),
    [
        (TensorType((3,), F32), np.zeros(2, np.float32), r"result 0 has shape \[2\]"),
        (TensorType((DYNAMIC, 2), F32), np.zeros((5, 3), np.float32), r"result 0 has shape \[5, 3\]"),
        (TensorType((DYNAMIC,), F32, (4,)), np.zeros(5, np.float32), "beyond the bounds"),
        (TensorType((2,), I32), np.zeros(2, np.float32), "result 0 has elements float32"),
        (TensorType((2,), F32), np.zeros(2, ">f4"), "result 0 has elements >f4"),
        (TensorType((2,), F32), np.zeros(9, np.uint8)[1:].view(np.float32), "result 0 is not aligned"),
        (TensorType((), F32), 1.0, "result 0 is no array"),
        (TupleType((TensorType((2,), F32),)), TupleValue([zeros()]), r"result 0 has shape \[2000\]"),
    ],
)
def test_results_of_other_types_than_declared_are_found(type: Any, result: Any, reason: str) -> None:
    broken = step(lambda: result, (), (0,))
    broken.types = ((), (type,))
    with pytest.raises(InvalidStep, match=reason):
        run([broken], 1, (), (0,))


def test_results_of_declared_types_pass() -> None:
    good = step(lambda: (np.zeros((3, 2), np.float32).T, np.float32(1)), (), (0, 1))
    good.types = ((), (TensorType((DYNAMIC, 3), F32, (2, DYNAMIC)), TensorType((), F32)))
    assert run([good], 2, (), (1,)) == [1]


def test_results_of_loops_are_compared_with_their_types() -> None:
    """The executor runs loops itself: the step that reads such a result, or the end of the run, finds it."""
    body = Plan([step(lambda a: a[:2], (0,), (1,), name="stablehlo.slice")], 2, (0,), (1,), {})
    cond = Plan([step(lambda a: np.bool_(len(a) > 2), (0,), (1,))], 2, (0,), (1,), {})
    loop = step(None, (0,), (1,), regions={"cond": cond, "body": body}, control="while", releases=(0,))
    loop.types = ((TensorType((2000,), F32),), (TensorType((2000,), F32),))
    with pytest.raises(InvalidStep, match=r"result 0 has shape \[2\]"):
        run([loop], 2, (zeros(),), (1,))


def test_regions_that_references_call_may_run_on_arrays() -> None:
    """Only element types are compared there."""
    region = Plan([step(np.add, (0, 1), (2,))], 3, (0, 1), (2,), {})
    scalar = TensorType((), F32)
    region.steps[0].types = ((scalar, scalar), (scalar,))
    steps = [step(lambda a, body: body(a, a)[0], (0,), (1,), regions={"body": region})]
    assert run(steps, 2, (zeros(),), (1,))[0].shape == (2000,)
    with pytest.raises(InvalidStep, match="operand 0 has elements float64"):
        run(steps, 2, (zeros().astype(np.float64),), (1,))


def test_programs_whose_reference_returns_another_shape_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
    func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.sine %a : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    """
    from nimblehlo.compiler.plan import choice

    monkeypatch.setattr(choice, "numpy_for", lambda view, threads: lambda operand: np.sin(operand)[:3])
    with verification_level("steps"), pytest.raises(InvalidStep, match=r"sine .* result 0 has shape \[3\]"):
        nimblehlo.compile(text, options=nimblehlo.Options(compile="never"))(np.ones(4, np.float32))
