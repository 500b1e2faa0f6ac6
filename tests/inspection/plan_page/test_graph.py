"""The graph of a plan: its steps, what they read and compute, their lines, and the live memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, Options
from nimblehlo.compiler.implementation import ImplementationKind
from nimblehlo.compiler.plan import memory_timeline
from nimblehlo.inspection.plan_page import PlanGraph, plan_graph, read_profile, run_times
from nimblehlo.inspection.plan_page.page import IMPLEMENTATION_WORDS
from nimblehlo.inspection.plan_page.program_lines import MAX_LINES, ProgramLines
from tests.inspection.profiling.test_profile import LOOP

ROOT = Path(__file__).resolve().parents[3]

FUSED = """
func.func @main(%x: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = func.call @scaled(%x) : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0]
    : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %2 = stablehlo.tanh %1 : tensor<512x512xf32>
  %3 = stablehlo.negate %2 : tensor<512x512xf32>
  return %3 : tensor<512x512xf32>
}
func.func private @scaled(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<512x512xf32>
  %1 = stablehlo.sine %0 : tensor<512x512xf32>
  return %1 : tensor<512x512xf32>
}
"""


def graph_of(program: object, **options: str) -> PlanGraph:
    module = nimblehlo.load(program)
    executable = nimblehlo.compile(module, options=Options(**options))
    assert executable._static_program is not None
    function, plan = executable._static_program.function, executable._static_program.plan
    return plan_graph(function, plan, memory_timeline(plan), ProgramLines(module))


def test_a_fusion_has_its_operations_and_their_lines() -> None:
    graph = graph_of(FUSED)
    before, product, after = graph.steps
    assert before.operation == after.operation == "nimblehlo.fusion"
    assert [one.operation for one in before.inner] == ["stablehlo.multiply", "stablehlo.sine"]
    assert [one.operation for one in after.inner] == ["stablehlo.tanh", "stablehlo.negate"]
    lines = str(nimblehlo.load(FUSED)).splitlines()
    assert ["sine" in lines[line - 1] for line in before.inner[1].lines] == [True]
    assert {line for one in after.inner for line in one.lines} == set(after.lines)
    assert product.inputs == [0, -2] and after.inputs == [1] and before.inputs == [-1]
    assert not product.inner


def test_a_product_with_an_epilogue_is_one_step_with_both_inside() -> None:
    text = """func.func @main(%x: tensor<4096x64xf32>, %w: tensor<64x512xf32>) -> tensor<4096x512xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<4096x64xf32>, tensor<64x512xf32>) -> tensor<4096x512xf32>
  %1 = stablehlo.negate %0 : tensor<4096x512xf32>
  %2 = stablehlo.abs %1 : tensor<4096x512xf32>
  return %2 : tensor<4096x512xf32>
}"""
    (step,) = graph_of(text).steps
    names = [one.operation for one in step.inner]
    assert names == ["stablehlo.dot_general", "stablehlo.negate", "stablehlo.abs"]


def test_steps_of_regions_follow_their_step() -> None:
    graph = graph_of(LOOP, compile="never")
    assert [step.path for step in graph.steps] == ["0", "0.cond.0", "0.body.0", "0.body.1"]
    assert [step.parent for step in graph.steps] == [-1, 0, 0, 0]
    assert graph.steps[3].operation == "stablehlo.sine" and graph.steps[3].inputs == [-2]


def test_bodies_are_steps_or_inside_of_their_operation() -> None:
    text = """func.func @main(%x: tensor<8x900xf32>, %z: tensor<f32>) -> tensor<8xf32> {
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [1]
    : (tensor<8x900xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}"""
    reduce, body = graph_of(text, compile="never").steps
    assert not reduce.inner and body.operation == "stablehlo.maximum" and body.parent == 0
    (generated,) = graph_of(text, compile="eager").steps
    assert [one.operation for one in generated.inner] == ["stablehlo.maximum"]


@pytest.mark.parametrize("count", [MAX_LINES - 1, MAX_LINES, MAX_LINES + 1])
def test_lines_of_operations_of_one_location(count: int) -> None:
    """JAX gives all operations of a line of Python one location: steps are linked to those of their name."""
    lines = [f"%{index + 1} = stablehlo.sine %{index} : tensor<3xf32> loc(#line)" for index in range(count)]
    text = "\n".join([
        "func.func @main(%0: tensor<3xf32>) -> tensor<3xf32> {",
        *lines,
        f"%{count + 1} = stablehlo.negate %{count} : tensor<3xf32> loc(#line)",
        f"return %{count + 1} : tensor<3xf32>",
        "}",
        '#line = loc("model.py":5:1)',
    ])  # fmt: skip
    graph = graph_of(text, compile="never")
    assert graph.steps[0].lines == [3 + index for index in range(min(count, MAX_LINES))]
    assert graph.steps[-1].lines == [3 + count] and graph.steps[-1].location == "model.py:5:1"


@pytest.mark.parametrize("example", ["transformer", "convolution_step", "graph_network", "kmeans"])
@pytest.mark.parametrize("mode", ["auto", "never"])
def test_examples_have_lines_and_memory(example: str, mode: str) -> None:
    path = ROOT / "examples" / f"{example}.mlir"
    executable = nimblehlo.compile(path, options=Options(compile=mode))
    graph = graph_of(path, compile=mode)
    assert all(step.lines for step in graph.steps if step.operation.startswith("stablehlo."))
    parents = {step.parent for step in graph.steps}
    fusions = [number for number, step in enumerate(graph.steps) if step.operation.endswith("fusion")]
    assert all(graph.steps[number].inner or number in parents for number in fusions)
    memory = executable.memory()
    assert 0 < max(graph.peaks) <= memory.results + memory.temporaries
    for one in graph.allocations:
        assert one.bytes > 0 and 0 <= one.first <= one.last < len(graph.steps)
        assert one.slot in range(one.first, one.last + 1)


def test_live_memory_of_a_chain() -> None:
    """Each of three sorts takes a result of its own, and the first one ends when the second has read it."""
    sort = """"stablehlo.sort"({}) ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }}) : (tensor<1000xf32>) -> tensor<1000xf32>"""
    text = f"""func.func @main(%x: tensor<1000xf32>) -> tensor<1000xf32> {{
  %0 = {sort.format("%x")}
  %1 = stablehlo.cosine %0 : tensor<1000xf32>
  %2 = {sort.format("%1")}
  %3 = {sort.format("%2")}
  return %3 : tensor<1000xf32>
}}"""
    graph = graph_of(text, compile="never")
    steps = [number for number, step in enumerate(graph.steps) if step.parent < 0]
    assert [graph.steps[number].path for number in steps] == ["0", "1", "2", "3"]
    assert [graph.peaks[number] for number in steps] == [4000, 8000, 8000, 8000]
    first, second, third, last = steps
    lives = [(one.slot, one.first, one.last) for one in graph.allocations if one.bytes == 4000]
    # A sort is alive until the last step of the body of the step that reads it.
    assert lives == [
        (first, first, second),
        (second, second, third + 1),
        (third, third, last + 1),
        (last, last, last + 1),
    ]


def test_times_of_this_plan_and_of_another() -> None:
    module = nimblehlo.load(LOOP)
    executable = nimblehlo.compile(module, options=Options(compile="never"))
    profile = executable.profile([np.int32(7), np.ones(300, np.float32)], calls=2)
    graph = graph_of(LOOP, compile="never")
    times = run_times(graph, profile.as_dict(), "now")
    by_path = {step.path: step.self_seconds / 2 for step in profile.steps}
    assert times.own_seconds == [by_path[step.path] for step in graph.steps]
    assert times.unmatched == 0.0 and times.calls == 2
    # The plan of another version: one step more at its start, and one that this plan does not have.
    other = profile.as_dict()
    for step in other["steps"]:
        step["path"] = f"1{step['path'][1:]}"
    other["steps"][0]["operation"] = "stablehlo.case"
    moved = run_times(graph, other, "before")
    assert moved.own_seconds[0] is None and moved.own_seconds[1:] == times.own_seconds[1:]
    assert moved.unmatched == times.own_seconds[0]


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"steps": [{"path": "0"}], "call_seconds": []}', '{"steps": []}']
)
def test_a_file_that_is_no_profile(tmp_path: Path, text: str) -> None:
    path = tmp_path / "profile.json"
    path.write_text(text)
    with pytest.raises(ExecutionError, match="is not a profile"):
        read_profile(path)
    path.write_text(json.dumps({"steps": [], "call_seconds": [1.0]}))
    assert read_profile(path)["steps"] == []


def test_every_kind_has_words() -> None:
    assert set(IMPLEMENTATION_WORDS) == set(ImplementationKind)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("self_seconds", "x"), ("self_seconds", float("nan")), ("self_seconds", True), ("path", ["0"]),
        ("types", None), ("machine_share", float("inf")), ("call_seconds", [None]), ("call_seconds", 1.0),
        ("bound", {"seconds": "x"}), ("bound", [1.0]),
    ],
)  # fmt: skip
def test_values_of_other_types_are_no_profile(tmp_path: Path, name: str, value: object) -> None:
    step = {"path": "0", "operation": "a", "types": "()", "location": "", "self_seconds": 1.0}
    profile: dict[str, Any] = {"steps": [step], "call_seconds": [1.0], "bound": None}
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(profile))
    assert read_profile(path) == profile
    (profile if name in profile else step)[name] = value  # type: ignore[assignment]
    path.write_text(json.dumps(profile))
    with pytest.raises(ExecutionError, match="is not a profile"):
        read_profile(path)
