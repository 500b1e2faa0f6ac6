"""Calls a program under a timeline, and makes its profile."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ...compiler.plan import Step
from ...execution.executor import StepTiming, Timeline
from ...execution.program import Program
from ...kernels.launch.spans import Span, observed
from ...options import Options
from ...program.ir import source_line
from . import work
from .bound import Bound, step_seconds
from .machine import Machine
from .profile import Profile, StepFigures
from .stored_machine import measured


def profile(
    program: Program,
    arguments: tuple[Any, ...],
    name: str,
    options: Options,
    *,
    calls: int,
    warm_up: int,
    bound: Bound | None = None,
) -> Profile:
    """Call a program, and record the time of each of its steps.

    Args:
        program: what is called.
        arguments: values that fit its arguments.
        name: of the function, with its type.
        options: those of the program.
        calls: how many calls are profiled.
        warm_up: how many calls precede them.
        bound: the least time of a call; None: it is unknown.

    Raises:
        ValueError: `calls` is less than 1, or `warm_up` less than 0.
        ExecutionError: the run failed.
    """
    if calls < 1 or warm_up < 0:
        raise ValueError(f"calls is {calls} and warm_up {warm_up}, but must be at least 1 and 0")
    speed = measured(options.threads)
    warm_up_seconds, warm_up_spans = _warmed_up(program, arguments, options, warm_up)
    timeline = Timeline(options.max_steps, None, options.max_bytes)
    recorded = program.with_limits(timeline.start)
    starts, seconds = [], []
    spans: list[Span] = []
    with observed(spans.append):
        for _ in range(calls):
            inputs = _lent(arguments, options)
            start = time.perf_counter()
            recorded.run(inputs)
            seconds.append(time.perf_counter() - start)
            starts.append(start)
    timings = timeline.steps()
    numbers, times = timeline.stored_intervals()
    paths = _paths(timings)
    order = sorted(range(len(timings)), key=lambda number: paths[number][0])
    position = {number: index for index, number in enumerate(order)}
    return Profile(
        name,
        starts,
        seconds,
        [_figures(timings[number], paths[number][1], speed) for number in order],
        spans,
        speed,
        _renumbered(numbers, position),
        times,
        threading.get_ident(),
        bound,
        warm_up_seconds=warm_up_seconds,
        warm_up_spans=warm_up_spans,
    )


def _warmed_up(
    program: Program, arguments: tuple[Any, ...], options: Options, calls: int
) -> tuple[list[float], list[Span]]:
    """Call a program: the seconds of each call, and what threads compiled and waited for."""
    seconds: list[float] = []
    spans: list[Span] = []
    with observed(spans.append):
        for _ in range(calls):
            inputs = _lent(arguments, options)
            start = time.perf_counter()
            program.run(inputs)
            seconds.append(time.perf_counter() - start)
    return seconds, spans


def _lent(arguments: tuple[Any, ...], options: Options) -> tuple[Any, ...]:
    """The arguments; copies where calls may reuse their memory."""
    return tuple([value.copy() for value in arguments]) if options.donate else arguments


def _renumbered(numbers: Any, position: Mapping[int, int]) -> Any:
    for index, number in enumerate(numbers.tolist()):
        numbers[index] = position[number]
    return numbers


def _paths(timings: Sequence[StepTiming]) -> list[tuple[tuple[Any, ...], str]]:
    """For each step its sort key in the order of the plan, and its path as text."""
    paths: dict[int, tuple[tuple[Any, ...], str]] = {}

    def path(number: int) -> tuple[tuple[Any, ...], str]:
        if number not in paths:
            step, parent, index = timings[number][:3]
            if parent is None:
                paths[number] = ((index,), str(index))
            else:
                key, text = path(parent)
                region = _region_of(timings[parent].step, step)
                paths[number] = ((*key, region, index), f"{text}.{region}.{index}")
        return paths[number]

    return [path(number) for number in range(len(timings))]


def _region_of(parent: Step, step: Step) -> str:
    names = [name for name, plan in parent.region_plans() if any(inner is step for inner in plan.steps)]
    return names[0] if names else "region"


def _figures(timing: StepTiming, path: str, speed: Machine) -> StepFigures:
    step = timing.step
    moved_bytes, multiplications = work.moved_bytes(step), work.multiplications(step)
    own_seconds = timing.seconds - timing.nested_seconds
    spent = max(own_seconds, 1e-9)
    share = timing.calls * step_seconds(step, speed) / spent
    return StepFigures(
        path, step.operation, step.detail, str(step.location), source_line(step.location),
        step.implementation.kind, step.implementation.reason, timing.calls, timing.native_calls,
        timing.seconds, own_seconds, timing.longest_seconds, moved_bytes, multiplications, share,
    )  # fmt: skip
