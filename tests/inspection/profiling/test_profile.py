"""Profiles: what they hold, and the file for Perfetto."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler.plan import all_steps
from nimblehlo.compiler.plan.implementations.native_loops import NativeLoop
from nimblehlo.inspection.profiling import work
from nimblehlo.inspection.profiling.chrome_trace import Interval, events
from nimblehlo.kernels.launch.spans import Span, observed, span
from tests.inspection.profiling import trace_processor
from tests.support.timing import least

LOOP = """
func.func @main(%n: tensor<i32>, %x: tensor<300xf32>) -> tensor<300xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<300xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %w = stablehlo.sine %v : tensor<300xf32>
      stablehlo.return %j, %w : tensor<i32>, tensor<300xf32>
    }
  return %0#1 : tensor<300xf32>
}
"""

PRODUCTS = """
func.func @main(%a: tensor<2x3x5xf32>, %b: tensor<2x5x7xf32>,
    %i: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x4xf32>)
    -> (tensor<2x3x7xf32>, tensor<1x6x6x4xf32>) {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]
    : (tensor<2x3x5xf32>, tensor<2x5x7xf32>) -> tensor<2x3x7xf32>
  %1 = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x6x6x4xf32>
  return %0, %1 : tensor<2x3x7xf32>, tensor<1x6x6x4xf32>
}
"""


def profile_of_loop(calls: int = 2) -> nimblehlo.inspection.profiling.Profile:
    executable = nimblehlo.compile(LOOP, options=Options(compile="never"))
    return executable.profile([np.int32(7), np.ones(300, np.float32)], calls=calls, warm_up=1)


def test_steps_and_their_nesting() -> None:
    profile = profile_of_loop()
    figures = {step.path: step for step in profile.steps}
    assert figures["0"].operation == "stablehlo.while" and figures["0"].calls == 2
    assert figures["0.cond.0"].operation == "stablehlo.compare" and figures["0.cond.0"].calls == 16
    assert [figures[f"0.body.{index}"].calls for index in (0, 1)] == [14, 14]
    sine = next(step for step in profile.steps if step.operation == "stablehlo.sine")
    assert sine.bytes == 2 * 1200 and sine.source_line == "<text>:11"
    assert sine.implementation == "numpy" and "compilation is off" in sine.reason
    nested = sum(step.self_seconds for step in profile.steps)
    assert figures["0"].seconds == pytest.approx(nested)
    assert sum(profile.call_seconds) >= nested
    assert profile.outside_steps == pytest.approx(profile.seconds - nested)


@pytest.mark.parametrize(("mode", "native_calls"), [("auto", 3), ("eager", 0)])
def test_native_loops_that_have_replaced_plans_count_as_native(
    mode: Any, native_calls: int, unverified: None
) -> None:
    text = """
    func.func @main(%n: tensor<i32>) -> tensor<i32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %r = stablehlo.while(%i = %zero) : tensor<i32>
      cond {
        %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j : tensor<i32>
      }
      return %r : tensor<i32>
    }"""
    executable = nimblehlo.compile(text, options=Options(compile=mode))
    ((program,), inputs) = executable._cached_programs(), [np.int32(5)]
    (loop,) = [step.implementation for step in program.plan.steps if step.operation == "stablehlo.while"]
    assert isinstance(loop, NativeLoop)
    executable(*inputs)
    assert executable.profile(inputs).steps[0].native_calls == 0
    loop.native = loop.prepare()
    (figures,) = executable.profile(inputs, calls=3).steps
    assert (figures.calls, figures.native_calls) == (3, native_calls)


def test_times_are_those_of_the_clock(unverified: None) -> None:
    """Steps are timed by the processor's counter, calls by the clock."""
    text = """
    func.func @main(%a: tensor<400000xf32>) -> tensor<400000xf32> {
      %0 = "stablehlo.sort"(%a) ({
      ^bb0(%x: tensor<f32>, %y: tensor<f32>):
        %1 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }) : (tensor<400000xf32>) -> tensor<400000xf32>
      return %0 : tensor<400000xf32>
    }"""
    executable = nimblehlo.compile(text, options=Options(compile="never"))
    inputs = [np.random.default_rng(0).random(400_000, np.float32)]

    def missing_share() -> float:
        """The share of the calls' time that is no step's, which another process may have taken."""
        profile = executable.profile(inputs, calls=3, warm_up=1)
        for (start, seconds), call, whole in zip(
            profile.step_times, profile.call_starts, profile.call_seconds, strict=True
        ):
            error = 1e-5 + 1e-4 * whole
            assert call - error <= start <= start + seconds <= call + whole + error
        return abs(1 - sum(step.self_seconds for step in profile.steps) / profile.seconds)

    assert least(missing_share, 0.2) < 0.2


def test_the_table_begins_with_the_slowest_step() -> None:
    profile = profile_of_loop()
    slowest = max(profile.steps, key=lambda step: step.self_seconds)
    rows = profile.table(1).partition("  operation")[2].splitlines()
    assert f" {slowest.path} " in rows[1] and f" {slowest.operation} " in rows[1]
    assert f"{len(profile.steps) - 1} more steps" in rows[2]


def test_json_and_chrome_trace(tmp_path: Path) -> None:
    profile = profile_of_loop(1)
    profile.to_json(tmp_path / "profile.json")
    stored = json.loads((tmp_path / "profile.json").read_text())
    assert [step["path"] for step in stored["steps"]] == [step.path for step in profile.steps]
    profile.to_perfetto(tmp_path / "trace.json")
    made = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert made == profile.events()
    intervals = [event for event in made if event["ph"] == "X"]
    (call,) = [event for event in intervals if event["cat"] == "call"]
    steps = [event for event in intervals if event["cat"] == "step"]
    assert len(steps) == sum(step.calls for step in profile.steps)
    (loop,) = [event for event in steps if event["name"] == "stablehlo.while"]
    for event in steps:
        outer = call if event is loop else loop
        assert outer["ts"] <= event["ts"]
        assert event["ts"] + event["dur"] <= outer["ts"] + outer["dur"] + 1e-3


def test_perfetto_finds_the_slowest_step(project_root: Path, tmp_path: Path) -> None:
    """In Perfetto's own trace processor."""
    executable = nimblehlo.compile(project_root / "examples" / "transformer.mlir")
    profile = executable.profile([np.load(project_root / "examples" / "transformer.input0.npy")])
    profile.to_perfetto(tmp_path / "trace.json")
    query = """
    select slice.name, slice.dur, thread.name as track, outer.name as call
    from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)
    left join slice as outer on outer.id = slice.parent_id
    where slice.category = 'step' order by slice.dur desc"""
    found = trace_processor.rows(tmp_path / "trace.json", query, tmp_path)
    slowest = max(profile.steps, key=lambda step: step.longest_seconds)
    assert found[0]["name"] == slowest.operation
    assert found[0]["dur"] == pytest.approx(1e9 * slowest.longest_seconds, abs=3)
    assert (found[0]["track"], found[0]["call"]) == ("calls", "call 0")
    assert len(found) == sum(step.calls for step in profile.steps)
    stats = trace_processor.rows(
        tmp_path / "trace.json", "select name, value from stats where severity != 'info' and value", tmp_path
    )
    assert not stats


def test_intervals_that_cross_are_nested_in_perfetto(tmp_path: Path) -> None:
    """Spans are timed by another clock than steps, so a span may seem to outlast its step."""
    microsecond = 1e-6
    call = Interval("call", "call 0", 0.0, 100 * microsecond, {})
    starts_and_ends = {"a": (10, 50), "b": (50, 90), "c": (90, 100.2)}
    steps = [
        Interval("step", name, start * microsecond, (end - start) * microsecond, {})
        for name, (start, end) in starts_and_ends.items()
    ]
    wait = Span("wait", "of a", 1, "calls", 30 * microsecond, 20.4 * microsecond)
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": events([call], steps, [wait], 1)}))
    query = """
    select slice.name, slice.ts, slice.ts + slice.dur as end, outer.name as outer
    from slice left join slice as outer on outer.id = slice.parent_id order by slice.ts"""
    found = [tuple(row.values()) for row in trace_processor.rows(tmp_path / "trace.json", query, tmp_path)]
    assert found == [
        ("call 0", 0, 100_000, None),
        ("a", 10_000, 50_000, "call 0"),
        ("wait of a", 30_000, 50_000, "a"),
        ("b", 50_000, 90_000, "call 0"),
        ("c", 90_000, 100_000, "call 0"),
    ]


def test_work_of_products() -> None:
    executable = nimblehlo.compile(PRODUCTS)
    (program,) = executable._cached_programs()
    counted = {step.operation: work.multiplications(step) for step in all_steps(program.plan)}
    assert counted["stablehlo.dot_general"] == 2 * 3 * 7 * 5
    assert counted["stablehlo.convolution"] == 6 * 6 * 4 * 3 * 3 * 3


def test_limits_hold_in_a_profiled_call() -> None:
    executable = nimblehlo.compile(LOOP, options=Options(compile="never", max_steps=20))
    executable.profile([np.int32(1), np.ones(300, np.float32)])
    with pytest.raises(nimblehlo.ExecutionError, match="max_steps = 20"):
        executable.profile([np.int32(100), np.ones(300, np.float32)])


def test_donated_inputs_stay_for_the_next_call() -> None:
    text = LOOP.replace("stablehlo.sine %v", "stablehlo.negate %v").replace("300", "4000")
    executable = nimblehlo.compile(text, options=Options(donate="all"))
    x = np.ones(4000, np.float32)
    executable.profile([np.int32(3), x], calls=3)
    assert (x == 1).all()


@pytest.mark.parametrize(("calls", "warm_up"), [(0, 0), (1, -1)])
def test_impossible_numbers_of_calls(calls: int, warm_up: int) -> None:
    executable = nimblehlo.compile(LOOP)
    with pytest.raises(ValueError, match="must be at least"):
        executable.profile([np.int32(1), np.ones(300, np.float32)], calls=calls, warm_up=warm_up)


def test_a_table_tells_what_other_threads_compiled_meanwhile() -> None:
    profile = replace(profile_of_loop(), call_starts=[0.0, 10.0], call_seconds=[3.0, 2.0], thread=1, spans=[])
    assert "other threads" not in profile.table()
    assert "2 calls in 5 s (the median 2.5 s, the slowest 3 s), of which" in profile.table()
    spans = [
        Span("compile", "a", 2, "other", 1.0, 3.0),
        Span("load", "b", 3, "another", 2.5, 8.0),  # shares a part of a, and reaches into the second call
        Span("wait", "c", 2, "other", 11.0, 1.0),
        Span("compile", "d", 1, "this", 0.0, 1.0),
    ]
    lines = replace(profile, spans=spans).table().splitlines()
    last = " ".join(lines[-1].split())
    assert last == "2.5 s 50.0 of these while other threads compiled, which slows calls"
    assert lines[-2].split()[:2] == ["1", "s"] and "of these to compile" in lines[-2]


@pytest.mark.usefixtures("empty_cache")
def test_compilations_are_spans() -> None:
    """No other test has a program with this constant."""
    text = """
    func.func @main(%x: tensor<4000xf32>) -> tensor<4000xf32> {
      %s = stablehlo.constant dense<0.7315> : tensor<f32>
      %c = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4000xf32>
      %0 = stablehlo.multiply %x, %c : tensor<4000xf32>
      %1 = stablehlo.tanh %0 : tensor<4000xf32>
      return %1 : tensor<4000xf32>
    }
    """
    spans: list[Span] = []
    with observed(spans.append):
        nimblehlo.compile(text, options=Options(compile="eager"))
    # Programs of earlier tests may still be compiled in the background.
    own = [one for one in spans if one.thread == threading.get_ident()]
    assert {one.kind for one in own} == {"compile"}
    assert all(one.seconds > 0 for one in own)


def test_spans_are_told_to_observers_alone() -> None:
    told: list[Any] = []
    with span("wait", "nobody"):
        pass
    with observed(told.append), span("wait", "somebody"):
        pass
    assert [one.name for one in told] == ["somebody"]


def test_profile_of_a_grid() -> None:
    text = """
    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %0 = "stablehlo.all_reduce"(%x) ({
        ^bb0(%a: tensor<f32>, %b: tensor<f32>):
          %s = stablehlo.add %a, %b : tensor<f32>
          stablehlo.return %s : tensor<f32>
      }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<3xf32>) -> tensor<3xf32>
      %1 = stablehlo.negate %0 : tensor<3xf32>
      return %1 : tensor<3xf32>
    }
    """
    executable = nimblehlo.compile(text, grid=nimblehlo.Grid(2, 1))
    profile = executable.profile([[np.ones(3, np.float32)], [np.ones(3, np.float32)]])
    with pytest.raises(nimblehlo.UnsupportedError, match="not supported"):
        executable.trace([[np.ones(3, np.float32)], [np.ones(3, np.float32)]])
    negate = next(step for step in profile.steps if step.operation == "stablehlo.negate")
    assert negate.calls == 2
