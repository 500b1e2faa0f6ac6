"""`nimblehlo.explore`: which results depend on the order that the specification leaves open, and why."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo import Exploration, Options
from nimblehlo.checks.explorer.runs import ExploredExecutable, Run
from nimblehlo.checks.explorer.schedules import MAX_PERMUTED_UPDATES, Schedule, draw_schedules
from nimblehlo.cli import main
from tests.program.ops.bodies import combining, region
from tests.program.ops.reduction.test_options import SELECT, window_text
from tests.support.running import same_bits
from tests.support.timing import least

BASE = Schedule("lexicographic", "blocked")


def scatter_line(name: str, body: str, rows: int = 4, updates: int = 40) -> str:
    """A scatter of %x, %i, %u into %s."""
    operand, given = f"tensor<{rows}x{name}>", f"tensor<{updates}x{name}>"
    return f"""%s = "stablehlo.scatter"(%x, %i, %u) ({{ {body} }}) {{
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
    scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}
    : ({operand}, tensor<{updates}x1xi32>, {given}) -> {operand}"""


def scatter_text(name: str, body: str, rows: int = 4, updates: int = 40) -> str:
    """A program that scatters."""
    operand, given = f"tensor<{rows}x{name}>", f"tensor<{updates}x{name}>"
    return f"""func.func @main(%x: {operand}, %i: tensor<{updates}x1xi32>, %u: {given}) -> {operand} {{
  {scatter_line(name, body, rows, updates)}
  return %s : {operand}
}}"""


def scatter_inputs(dtype: Any, rows: int = 4, updates: int = 40, seed: int = 0) -> list[Any]:
    generator = np.random.default_rng(seed)
    values = (generator.standard_normal(updates) * 100).astype(dtype)
    return [
        np.ones(rows, dtype),
        generator.integers(-1, rows + 1, (updates, 1)).astype(np.int32),
        values,
    ]


def reduce_line(result: str, operand: str, size: int, name: str = "f32", initial: str = "%zero") -> str:
    """A sum."""
    return f"""{result} = stablehlo.reduce({operand} init: {initial}) applies stablehlo.add
    across dimensions = [0] : (tensor<{size}x{name}>, tensor<{name}>) -> tensor<{name}>"""


def assert_shown(
    text: Any, inputs: list[Any], exploration: Exploration, options: Options | None = None
) -> None:
    """What is reported is what the program, and each operation alone, gives under the two schedules."""
    for number, result in enumerate(exploration.results):
        for difference in (result.first, result.largest):
            if difference is not None:
                for schedule, value in zip(difference.schedules, difference.values, strict=True):
                    run = nimblehlo.execute(text, inputs, options=schedule.options(options))[number]
                    assert same_bits(np.asarray(run[difference.index]), np.asarray(value))
                assert not same_bits(*map(np.asarray, difference.values))
    for operation in exploration.operations:
        difference = operation.first
        for schedule, value in zip(difference.schedules, difference.values, strict=True):
            results = nimblehlo.execute(operation.module, operation.inputs, options=schedule.options(options))
            found = results[operation.result][difference.index]
            assert same_bits(np.asarray(found), np.asarray(value))
        assert nimblehlo.explore(operation.module, operation.inputs, options=options).depends


@pytest.mark.parametrize("name", ["f32", "f64", "bf16", "f16", "complex<f32>", "f8E5M2"])
def test_a_sum_of_floats_depends_on_the_schedule(name: str) -> None:
    dtype = nimblehlo.types.ELEMENT_TYPES[name].dtype
    text, inputs = scatter_text(name, combining("add", name)), scatter_inputs(dtype)
    before = [value.copy() for value in inputs]
    exploration = nimblehlo.explore(text, inputs)
    assert all(same_bits(one, other) for one, other in zip(before, inputs, strict=True))
    (result,) = exploration.results
    assert exploration.depends and result.depends and result.operations == (0,)
    assert result.first is not None and result.first.schedules[0] == BASE
    assert result.first.distance is not None and result.first.distance > 0
    (operation,) = exploration.operations
    assert operation.name == "stablehlo.scatter" and operation.option == "scatter_schedule"
    assert operation.location == "<text>:2:8"
    assert operation.results == ("0",) and operation.calls == 1
    assert len(exploration.schedules) == 32 and result.schedules > 10
    assert_shown(text, inputs, exploration)


@pytest.mark.parametrize("name", ["i32", "i8", "ui64", "i1"])
@pytest.mark.parametrize("operation", ["add", "minimum", "xor", "multiply"])
def test_its_integer_twin_depends_on_none(name: str, operation: str) -> None:
    dtype = nimblehlo.types.ELEMENT_TYPES[name].dtype
    text, inputs = scatter_text(name, combining(operation, name)), scatter_inputs(dtype)
    exploration = nimblehlo.explore(text, inputs)
    assert not exploration.depends and not exploration.operations and not exploration.explored
    assert exploration.results[0].first is None and exploration.results[0].elements == 0
    assert "no operation has an order that could matter" in str(exploration)


def test_without_duplicates_nothing_depends() -> None:
    text = scatter_text("f32", combining("add", "f32"), rows=40)
    inputs = scatter_inputs(np.float32, rows=40)
    inputs[1] = np.random.default_rng(1).permutation(40).astype(np.int32).reshape(40, 1)
    exploration = nimblehlo.explore(text, inputs)
    assert not exploration.depends and exploration.explored == 1


def test_overwriting_duplicates() -> None:
    body = region(["tensor<i32>"] * 2, "", ["%b : tensor<i32>"])
    text, inputs = scatter_text("i32", body), scatter_inputs(np.int32)
    exploration = nimblehlo.explore(text, inputs)
    assert exploration.depends
    largest = exploration.results[0].largest
    assert largest is not None
    assert largest.distance == abs(int(largest.values[0]) - int(largest.values[1]))
    assert_shown(text, inputs, exploration)


def test_nans_are_equal_whatever_their_bits_and_differ_from_numbers() -> None:
    text, inputs = scatter_text("f32", combining("add", "f32")), scatter_inputs(np.float32)
    inputs[2][:] = np.nan
    assert not nimblehlo.explore(text, inputs).depends
    inputs[2][:] = 0
    inputs[1][:] = 2
    inputs[2][:3] = [3e38, 3e38, -3e38]
    exploration = nimblehlo.explore(text, inputs)
    assert exploration.depends
    inputs[2][:3] = [3e38, 3e38, -np.inf]
    exploration = nimblehlo.explore(text, inputs)
    largest = exploration.results[0].largest
    assert largest is not None and largest.distance is None and "NaN at [2]" in str(exploration)
    assert_shown(text, inputs, exploration)


MIXED = f"""func.func private @total(%x: tensor<600xf32>, %zero: tensor<f32>) -> tensor<f32> {{
  {reduce_line("%0", "%x", 600)}
  return %0 : tensor<f32>
}}
func.func @main(%x: tensor<4xf32>, %i: tensor<40x1xi32>, %u: tensor<40xf32>, %v: tensor<600xf32>)
    -> (tensor<4xf32>, tensor<f32>, tensor<i1>, tensor<f32>, tensor<600xf32>) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  {scatter_line("f32", combining("add", "f32"))}
  %t = func.call @total(%v, %zero) : (tensor<600xf32>, tensor<f32>) -> tensor<f32>
  %p = stablehlo.compare GT, %t, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
  {reduce_line("%r", "%s", 4)}
  %q = stablehlo.multiply %r, %t : tensor<f32>
  %w = stablehlo.negate %v : tensor<600xf32>
  return %s, %t, %p, %q, %w : tensor<4xf32>, tensor<f32>, tensor<i1>, tensor<f32>, tensor<600xf32>
}}"""


def mixed_inputs() -> list[Any]:
    values = np.random.default_rng(7).random(600, np.float32) * 100
    return [*scatter_inputs(np.float32), values]


def test_each_result_has_the_operations_that_change_it() -> None:
    inputs = mixed_inputs()
    exploration = nimblehlo.explore(MIXED, inputs)
    assert [result.depends for result in exploration.results] == [True, True, False, True, False]
    operations = [(one.name, one.location) for one in exploration.operations]
    named = [{operations[number] for number in one.operations} for one in exploration.results]
    scatter, called = ("stablehlo.scatter", "<text>:9:8"), ("stablehlo.reduce", "<text>:2:8")
    assert named[0] == {scatter} and named[1] == {called}
    assert {scatter, called} <= named[3]
    assert not named[2] and not named[4]
    assert_shown(MIXED, inputs, exploration)
    lines = str(exploration).splitlines()
    assert lines[0].startswith("3 of 5 results depend on the schedule; 32 schedules of 3 operations")
    assert any(line == "responsible: stablehlo.scatter at <text>:9:8" for line in lines)


CONTROL = f"""func.func @main(%p: tensor<i1>, %n: tensor<i32>, %v: tensor<600xf32>)
    -> (tensor<f32>, tensor<f32>) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %begin = stablehlo.constant dense<0> : tensor<i32>
  %a = "stablehlo.if"(%p) ({{
    {reduce_line("%s", "%v", 600)}
    stablehlo.return %s : tensor<f32>
  }}, {{
    stablehlo.return %zero : tensor<f32>
  }}) : (tensor<i1>) -> tensor<f32>
  %i, %b = stablehlo.while(%k = %begin, %c = %zero) : tensor<i32>, tensor<f32>
    cond {{
      %m = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %m : tensor<i1>
    }} do {{
      %w = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<600xf32>
      %x = stablehlo.add %v, %w : tensor<600xf32>
      {reduce_line("%s", "%x", 600)}
      %l = stablehlo.add %k, %one : tensor<i32>
      stablehlo.return %l, %s : tensor<i32>, tensor<f32>
    }}
  return %a, %b : tensor<f32>, tensor<f32>
}}"""


def test_operations_in_branches_and_loops() -> None:
    values = np.random.default_rng(3).random(600, np.float32)
    inputs = [np.array(True), np.int32(12), values]
    exploration = nimblehlo.explore(CONTROL, inputs)
    assert [result.depends for result in exploration.results] == [True, True]
    locations = [
        [exploration.operations[number].location for number in result.operations]
        for result in exploration.results
    ]
    assert locations == [["<text>:7:10"], ["<text>:20:12"]]
    assert sorted(operation.calls for operation in exploration.operations) == [1, 12]
    assert_shown(CONTROL, inputs, exploration)
    inputs = [np.array(False), np.int32(0), values]
    assert not nimblehlo.explore(CONTROL, inputs).depends


def test_bodies_that_capture_values_are_shrunk_with_them() -> None:
    text = """func.func @main(%v: tensor<50xf32>, %f: tensor<f32>, %n: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.reduce"(%v, %n) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %g = stablehlo.multiply %b, %f : tensor<f32>
    %r = stablehlo.subtract %a, %g : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<50xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}"""
    inputs = [np.arange(50, dtype=np.float32), np.float32(0.3), np.float32(2)]
    exploration = nimblehlo.explore(text, inputs)
    (operation,) = exploration.operations
    assert len(operation.inputs) == 3 and float(operation.inputs[2]) == np.float32(0.3)
    assert_shown(text, inputs, exploration)


@pytest.mark.parametrize("name", ["f32", "bf16", "i32"])
def test_windows_and_selections(name: str) -> None:
    dtype = nimblehlo.types.ELEMENT_TYPES[name].dtype
    generator = np.random.default_rng(5)
    values = (generator.standard_normal(40) * 50).astype(dtype)
    operand = np.zeros(30, dtype)
    operand[[3, 14]] = 1
    programs = [
        (window_text(40, 7, 3, name), [values, np.zeros((), dtype)]),
        (SELECT.format(t=name, body=combining("add", name)), [operand, values[:14], np.zeros((), dtype)]),
    ]
    options = Options(accumulate="declared")
    for text, inputs in programs:
        exploration = nimblehlo.explore(text, inputs, options=options)
        assert exploration.explored == 1 and exploration.depends == (name != "i32")
        assert_shown(text, inputs, exploration, options)


def test_tuples_have_a_report_for_each_element() -> None:
    text = f"""func.func @main(%v: tensor<600xf32>) -> tuple<tensor<600xf32>, tuple<tensor<f32>>> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  {reduce_line("%0", "%v", 600)}
  %1 = stablehlo.tuple %0 : tuple<tensor<f32>>
  %2 = stablehlo.tuple %v, %1 : tuple<tensor<600xf32>, tuple<tensor<f32>>>
  return %2 : tuple<tensor<600xf32>, tuple<tensor<f32>>>
}}"""
    exploration = nimblehlo.explore(text, [np.random.default_rng(3).random(600, np.float32)])
    assert [(one.name, one.depends) for one in exploration.results] == [("0.0", False), ("0.1.0", True)]
    assert exploration.operations[0].results == ("0.1.0",)


@pytest.mark.parametrize(("initial", "depends"), [(0, False), (5, True)])
def test_init_values_may_be_counted_several_times(initial: int, depends: bool) -> None:
    line = reduce_line("%0", "%v", 9, "i32", "%n")
    constant = f"%n = stablehlo.constant dense<{initial}> : tensor<i32>"
    text = f"""func.func @main(%v: tensor<9xi32>) -> tensor<i32> {{
  {constant}
  {line}
  return %0 : tensor<i32>
}}"""
    inputs = [np.arange(9, dtype=np.int32)]
    exploration = nimblehlo.explore(text, inputs)
    assert exploration.depends == depends and exploration.explored == int(depends)
    assert_shown(text, inputs, exploration)


def test_results_that_hide_a_difference_do_not_depend() -> None:
    text = f"""func.func @main(%v: tensor<600xf32>) -> tensor<f32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  {reduce_line("%0", "%v", 600)}
  %1 = stablehlo.floor %0 : tensor<f32>
  return %1 : tensor<f32>
}}"""
    values = np.random.default_rng(3).random(600, np.float32)
    exploration = nimblehlo.explore(text, [values])
    assert exploration.explored == 1 and not exploration.depends and not exploration.operations


def test_operations_that_change_no_result_are_not_named() -> None:
    text = f"""func.func @main(%v: tensor<600xf32>, %w: tensor<600xf32>) -> (tensor<f32>, tensor<f32>) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  {reduce_line("%0", "%v", 600)}
  %1 = stablehlo.floor %0 : tensor<f32>
  {reduce_line("%2", "%w", 600)}
  return %1, %2 : tensor<f32>, tensor<f32>
}}"""
    generator = np.random.default_rng(3)
    inputs = [generator.random(600, np.float32), generator.random(600, np.float32)]
    exploration = nimblehlo.explore(text, inputs)
    assert exploration.explored == 2 and [one.depends for one in exploration.results] == [False, True]
    (operation,) = exploration.operations
    assert operation.location == "<text>:6:8" and operation.results == ("1",)


def test_runs_that_fail_are_found() -> None:
    text = f"""func.func @main(%v: tensor<600xf32>, %w: tensor<f32>) {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  {reduce_line("%0", "%v", 600)}
  check.expect_eq %0, %w : tensor<f32>
  return
}}"""
    values = np.random.default_rng(3).random(600, np.float32)
    inputs = [values, reduced(values)]
    exploration = nimblehlo.explore(text, inputs)
    assert exploration.depends and not exploration.results and exploration.failures
    (operation,) = exploration.operations
    assert operation.name == "stablehlo.reduce" and operation.fails and not operation.results
    failure = exploration.failures[0]
    with pytest.raises(nimblehlo.ExecutionError) as caught:
        nimblehlo.execute(text, inputs, options=failure.schedule.options())
    assert str(caught.value) == failure.message
    assert "changes: whether runs fail" in str(exploration) and failure.message in str(exploration)
    assert json.loads(exploration.to_json())["failures"][0]["message"] == failure.message
    with pytest.raises(nimblehlo.ExecutionError):
        nimblehlo.explore(text, [values, np.float32(0)])


def reduced(values: Any) -> Any:
    """The sum of values by the default tree."""
    text = f"""func.func @main(%v: tensor<600xf32>) -> tensor<f32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  {reduce_line("%0", "%v", 600)}
  return %0 : tensor<f32>
}}"""
    return nimblehlo.execute(text, [values])[0]


def test_what_has_no_option_is_named() -> None:
    text = """func.func @main(%a: tensor<3x3xf32>, %b: tensor<3x3xi32>)
    -> (tensor<3x3xf32>, tensor<3x3xi32>) {
  %0 = stablehlo.dot %a, %a : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  %1 = stablehlo.dot %b, %b : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi32>
  return %0, %1 : tensor<3x3xf32>, tensor<3x3xi32>
}"""
    exploration = nimblehlo.explore(text, [np.ones((3, 3), "f"), np.ones((3, 3), np.int32)])
    assert sum(exploration.unexplored.values()) == 1
    assert "not explored: 1 stablehlo.dot" in str(exploration)


def test_sizes_that_are_not_known() -> None:
    text = """func.func @main(%x: tensor<?xf32>, %i: tensor<?x1xi32>, %u: tensor<?xf32>) -> tensor<?xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
    scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<?xf32>, tensor<?x1xi32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}"""
    inputs = scatter_inputs(np.float32)
    exploration = nimblehlo.explore(text, inputs)
    assert exploration.depends
    assert str(exploration.results[0].type) == "tensor<4xf32>"
    assert_shown(text, inputs, exploration)


@pytest.mark.parametrize("compile", ["never", "auto", "eager"])
@pytest.mark.parametrize("kind", ["random", "shuffled"])
def test_runs_are_those_of_the_options(compile: Any, kind: str) -> None:
    """Each run of an exploration has the bits of a call under these options."""
    options = Options(compile=compile)
    for text, inputs in (
        (MIXED, mixed_inputs()),
        (CONTROL, [np.array(True), np.int32(3), np.random.default_rng(3).random(600, np.float32)]),
        (scatter_text("f64", combining("multiply", "f64")), scatter_inputs(np.float64)),
        (scatter_text("bf16", combining("add", "bf16")), scatter_inputs(ml_dtypes.bfloat16)),
    ):
        module = nimblehlo.load(text)
        executable = ExploredExecutable(module, "main", options)
        updates = MAX_PERMUTED_UPDATES if kind == "shuffled" else 10
        for schedule in draw_schedules(BASE, 9, 3, updates):
            found = executable.run(Run(schedule), tuple(inputs))
            wanted = nimblehlo.execute(module, inputs, options=schedule.options(options))
            assert all(same_bits(one, other) for one, other in zip(found, wanted, strict=True)), schedule


def test_other_baseline_schedules_and_accumulation() -> None:
    text, inputs = scatter_text("f32", combining("add", "f32")), scatter_inputs(np.float32)
    options = Options(scatter_schedule="reverse", accumulate="float64")
    exploration = nimblehlo.explore(text, inputs, options=options, schedules=8)
    assert exploration.schedules[0] == Schedule("reverse", "blocked") and len(exploration.schedules) == 8
    assert_shown(text, inputs, exploration, options)


def test_schedules_are_fixed_by_the_seed() -> None:
    few, many = draw_schedules(BASE, 5, 2, 10), draw_schedules(BASE, 40, 2, 10)
    assert many[:5] == few and few[0] == BASE and len(set(many)) == 40
    assert draw_schedules(BASE, 5, 3, 10) != few
    assert draw_schedules(BASE, 9, 0, 10)[8].scatter_schedule[0] == "random"
    assert draw_schedules(BASE, 9, 0, 10**6)[8].scatter_schedule[0] == "shuffled"
    for schedule in many:
        assert schedule.options().scatter_schedule == schedule.scatter_schedule


def test_many_updates_run_at_the_same_time() -> None:
    rows, updates = 300, 70_000
    text = scatter_text("f32", combining("add", "f32"), rows, updates)
    inputs = scatter_inputs(np.float32, rows, updates)
    exploration = nimblehlo.explore(text, inputs, schedules=6, seed=4)
    again = nimblehlo.explore(text, inputs, schedules=6, seed=4)
    first, other = exploration.results[0], again.results[0]
    assert first.first == other.first and first.largest == other.largest
    assert first.elements == other.elements > 200
    assert first.minimum is not None and first.maximum is not None
    runs = [nimblehlo.execute(text, inputs, options=one.options())[0] for one in exploration.schedules]
    assert same_bits(first.minimum, np.min(runs, axis=0)) and same_bits(first.maximum, np.max(runs, axis=0))
    assert_shown(text, inputs, exploration)


def test_bad_arguments_and_failing_programs() -> None:
    text, inputs = scatter_text("f32", combining("add", "f32")), scatter_inputs(np.float32)
    for schedules in (1, 0, 2.5):
        with pytest.raises(ValueError, match="schedules"):
            nimblehlo.explore(text, inputs, schedules=schedules)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed"):
        nimblehlo.explore(text, inputs, seed=-1)
    with pytest.raises(nimblehlo.ExecutionError, match="takes 3 inputs"):
        nimblehlo.explore(text, inputs[:2])
    with pytest.raises(nimblehlo.NimbleError, match="no function @other"):
        nimblehlo.explore(text, inputs, entry="other")


def test_json_holds_what_was_found(tmp_path: Path) -> None:
    exploration = nimblehlo.explore(MIXED, mixed_inputs())
    path = tmp_path / "found.json"
    text = exploration.to_json(path)
    found = json.loads(path.read_text())
    assert found == json.loads(text) and found["depends"] is True
    assert [one["depends"] for one in found["results"]] == [True, True, False, True, False]
    first = found["results"][0]["first"]
    assert found["schedules"][first["schedules"][1]]["scatter_schedule"] != "lexicographic"
    number = found["results"][0]["operations"][0]
    assert found["operations"][number]["location"] == "<text>:9:8"
    assert nimblehlo.load(found["operations"][number]["module"])


def test_the_spread_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    exploration = nimblehlo.explore(MIXED, mixed_inputs())
    path = tmp_path / "spread.png"
    figure = exploration.plot(path)
    assert len(figure.axes) == 3 and path.stat().st_size > 1000
    nothing = nimblehlo.explore(MIXED, [*mixed_inputs()[:3], np.zeros(600, "f")], entry="main", schedules=2)
    assert nothing.plot().axes is not None


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "scatter.mlir"
    program.write_text(scatter_text("f32", combining("add", "f32")))
    files = [tmp_path / f"{number}.npy" for number in range(3)]
    for file, value in zip(files, scatter_inputs(np.float32), strict=True):
        np.save(file, value)
    found = tmp_path / "found.json"
    arguments = ["explore", str(program), "--input", *map(str, files), "--json", str(found)]
    assert main([*arguments, "--schedules", "5", "--seed", "7"]) == 0
    shown = capsys.readouterr().out
    assert "1 of 1 results depend on the schedule; 5 schedules" in shown
    assert "responsible: stablehlo.scatter at" in shown and "scatter.mlir:2:8" in shown
    assert len(json.loads(found.read_text())["schedules"]) == 5
    assert main([*arguments, "--schedules", "1"]) == 1
    assert "schedules is 1" in capsys.readouterr().err


@pytest.mark.parametrize("rows", [10_000, 100_000])
def test_a_million_updates_take_no_more_than_forty_runs(rows: int) -> None:
    updates = 1_000_000
    text = scatter_text("f32", combining("add", "f32"), rows, updates)
    inputs = scatter_inputs(np.float32, rows, updates)
    options = Options(compile="eager")
    executable = nimblehlo.compile(text, options=options)

    def seconds(function: Any) -> float:
        start = time.process_time()
        function()
        return time.process_time() - start

    def run(times: int) -> None:
        for _ in range(times):
            executable(*inputs)

    def ratio() -> float:
        # Of a thread that goes on running, the time of the last milliseconds may not be counted yet.
        baseline = seconds(lambda: run(20)) / 20
        return seconds(lambda: nimblehlo.explore(text, inputs, options=options)) / baseline

    run(1)
    assert least(ratio, 40, attempts=10) < 40
