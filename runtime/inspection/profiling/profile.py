"""Profiles of calls, as text and as JSON."""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...kernels.launch.spans import Span
from ...types import Array
from ..tables import STEP_COLUMNS, Column, Table, Terminal, fitted, report_html, wrapped
from .bound import Bound
from .chrome_trace import Interval, events
from .machine import Machine

DEFAULT_ROWS: Final = 30
"""Steps that a table shows."""


@dataclass(frozen=True, slots=True)
class StepFigures:
    """The figures of one step of the plan.

    Attributes:
        path: which step of the plan it is, such as ``"3"``, or ``"2.body.5"`` within the region of a step.
        operation: its operation; ``nimblehlo.`` begins the names of fusions.
        types: of its operands and results.
        location: the operation's source location.
        source_line: ``file:line`` of the source, if the location names one.
        implementation: a value of `ImplementationKind`, such as ``"numpy"`` or ``"generated"``.
        reason: why it was chosen.
        calls: calls of the step, in all profiled calls of the program.
        native_calls: calls at the end of which native code had replaced its first implementation.
        seconds: of all these calls.
        self_seconds: seconds without those of the steps in its regions.
        longest_seconds: of the longest call.
        bytes: bytes of its operands and results, for one call; 0 where sizes are unknown.
        multiplications: multiply-add pairs of products and convolutions, for one call; 0 for others.
        machine_share: the share of the least time in which this machine could move its operands and results,
            which caches may hold, and do the multiply-adds of products.
    """

    path: str
    operation: str
    types: str
    location: str
    source_line: str | None
    implementation: str
    reason: str
    calls: int
    native_calls: int
    seconds: float
    self_seconds: float
    longest_seconds: float
    bytes: int
    multiplications: int
    machine_share: float

    def details(self) -> dict[str, Any]:
        """The fields that do not change from run to run."""
        names = ("path", "types", "implementation", "reason", "location", "bytes")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Profile:
    """The times of some calls of an executable, step by step.

    Attributes:
        program: name and type of the function.
        call_starts: the clock's seconds (`time.perf_counter`) at the start of each call.
        call_seconds: seconds of each call.
        steps: what each step took, in the order of the plan.
        spans: what threads compiled, loaded and waited for meanwhile.
        machine: the speed of the machine.
        step_numbers: for each recorded run of a step its index in `steps`.
        step_times: of these runs the start, by the same clock, and the duration, in seconds.
        thread: identifier of the calling thread.
        bound: the least time of a call; None for programs of grids.
        warm_up_seconds: seconds of each call before the profiled ones.
        warm_up_spans: what threads compiled, loaded and waited for during these.
    """

    program: str
    call_starts: Sequence[float]
    call_seconds: Sequence[float]
    steps: Sequence[StepFigures]
    spans: Sequence[Span]
    machine: Machine
    step_numbers: Array = field(repr=False)
    step_times: Array = field(repr=False)
    thread: int = 0
    bound: Bound | None = None
    warm_up_seconds: Sequence[float] = ()
    warm_up_spans: Sequence[Span] = ()

    @property
    def seconds(self) -> float:
        return sum(self.call_seconds)

    @property
    def outside_steps(self) -> float:
        """Seconds of the calls outside of all steps: checks of inputs, the executor, results."""
        return self.seconds - sum(step.self_seconds for step in self.steps)

    def slowest(self, count: int | None = None) -> list[StepFigures]:
        """The steps by the time that they took themselves, the slowest first.

        Args:
            count: how many; None: all.
        """
        return sorted(self.steps, key=lambda step: -step.self_seconds)[:count]

    def table(self, rows: int | None = DEFAULT_ROWS, output: Terminal = Terminal()) -> str:  # noqa: B008
        """A table of the steps by the time that they took themselves.

        Args:
            rows: maximum number of steps that are shown; None: all.
            output: the width that its lines fit, and whether they are coloured.
        """
        program, *sentences = self.summary()
        summary, rest = (
            chain.from_iterable(wrapped(text, output) for text in texts)
            for texts in (sentences, self._rest_lines(rows))
        )
        table = self.steps_table(rows).lines(output)
        return "\n".join([fitted(program, output), *summary, "", *table, *rest])

    def summary(self) -> list[str]:
        """The program, its calls and the machine, a line for each."""
        calls = len(self.call_seconds)
        median, slowest = duration(statistics.median(self.call_seconds)), duration(max(self.call_seconds))
        spread = f" (the median {median}, the slowest {slowest})" if calls > 1 else ""
        return [
            f"{self.program}",
            *self._warm_up_lines(),
            f"{calls} call{'' if calls == 1 else 's'} in {duration(self.seconds)}{spread}, "
            f"of which {duration(self.outside_steps)} outside of steps",
            f"machine: {self.machine.bytes_per_second / 1e9:.1f} GB/s, "
            f"{self.machine.multiplications_per_second / 1e9:.1f} G multiply-adds/s (f32), "
            f"{self.machine.threads} thread{'' if self.machine.threads == 1 else 's'}",
            *self._bound_line(),
        ]

    def _warm_up_lines(self) -> list[str]:
        """What the calls before the profiled ones took."""
        count = len(self.warm_up_seconds)
        if not count:
            return []
        compiling = sum(span.seconds for span in self.warm_up_spans if span.thread == self.thread)
        waiting = f", {duration(compiling)} of them to compile and wait" if compiling else ""
        seconds = duration(sum(self.warm_up_seconds))
        return [f"{count} warm-up call{'' if count == 1 else 's'} in {seconds}{waiting}"]

    def steps_table(self, rows: int | None = DEFAULT_ROWS) -> Table:
        """The steps, the slowest first.

        Args:
            rows: maximum number of steps that are shown; None: all.
        """
        ranks = {"time": 0, "%": 1, "calls": 5, "a call": 6, "GB/s": 7, "share": 3}
        columns = [Column(title, right=True, rank=rank) for title, rank in ranks.items()]
        columns += [*STEP_COLUMNS, Column("how", shrinks=True, least=22)]
        columns += [Column("at", shrinks=True, least=16, rank=4)]
        return Table(columns, [self._row(step) for step in self.slowest(rows)])

    def _rest_lines(self, rows: int | None) -> list[str]:
        """The steps that a table leaves out, and what the calling thread waited for."""
        lines = []
        left_out = len(self.steps) - (len(self.steps) if rows is None else min(rows, len(self.steps)))
        if left_out:
            seconds = sum(step.self_seconds for step in self.slowest()[-left_out:])
            lines.append(f"{duration(seconds):>9} {self._percent(seconds):5.1f}  {left_out} more steps")
        waits = [span for span in self.spans if span.thread == self.thread]
        for kind in dict.fromkeys(span.kind for span in waits):
            seconds = sum(span.seconds for span in waits if span.kind == kind)
            lines.append(f"{duration(seconds):>9} {self._percent(seconds):5.1f}  of these to {kind}")
        if beside := self._seconds_beside_compiling():
            told = "of these while other threads compiled, which slows calls"
            lines.append(f"{duration(beside):>9} {self._percent(beside):5.1f}  {told}")
        return lines

    def _seconds_beside_compiling(self) -> float:
        """Seconds of the calls in which other threads compiled or loaded code."""
        starts = np.array(self.call_starts)
        ends = starts + np.array(self.call_seconds)
        others = [span for span in self.spans if span.thread != self.thread and span.kind != "wait"]
        seconds, counted = 0.0, -math.inf
        for span in sorted(others, key=lambda span: span.start):
            start, counted = max(span.start, counted), max(span.start + span.seconds, counted)
            seconds += float(np.maximum(np.minimum(ends, counted) - np.maximum(starts, start), 0).sum())
        return seconds

    def _repr_html_(self) -> str:
        """The summary and the slowest steps for a notebook."""
        title, *lines = self.summary()
        return report_html(title, [*lines, *self._rest_lines(DEFAULT_ROWS)], self.steps_table())

    def _bound_line(self) -> list[str]:
        if self.bound is None:
            return []
        fastest = min(self.call_seconds)
        return [
            f"bound: a call takes at least {duration(self.bound.seconds)} ({self.bound.limit}); "
            f"the fastest took {duration(fastest)}, "
            f"which reaches {100 * self.bound.share(fastest):.0f} % of it"
        ]

    def _percent(self, seconds: float) -> float:
        return 100.0 * seconds / self.seconds if self.seconds else 0.0

    def _row(self, step: StepFigures) -> tuple[str, ...]:
        speed = step.bytes * step.calls / step.self_seconds / 1e9 if step.self_seconds else 0.0
        how = step.implementation
        if step.native_calls:
            how += f", native in {step.native_calls} of {step.calls} calls"
        return (
            duration(step.self_seconds),
            f"{self._percent(step.self_seconds):.1f}",
            str(step.calls),
            duration(step.self_seconds / step.calls),
            f"{speed:.2f}",
            f"{100 * step.machine_share:.1f}%",
            step.path,
            step.operation,
            step.types,
            f"{how}: {step.reason}",
            step.source_line or "",
        )

    def as_dict(self) -> dict[str, Any]:
        """All figures by name, without the single runs of steps."""
        return {
            "program": self.program,
            "call_seconds": list(self.call_seconds),
            "warm_up_seconds": list(self.warm_up_seconds),
            "outside_steps": self.outside_steps,
            "machine": {
                **self.machine.as_dict(),
                "bytes_per_second": self.machine.bytes_per_second,
                "multiplications_per_second": self.machine.multiplications_per_second,
            },
            "bound": None if self.bound is None else self.bound.as_dict(),
            "steps": [asdict(step) for step in self.steps],
            "spans": [{name: getattr(span, name) for name in Span._fields} for span in self.spans],
        }

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Store all figures (`as_dict`) in a JSON file."""
        Path(path).write_text(json.dumps(self.as_dict(), indent=1), encoding="utf-8")

    def to_perfetto(self, path: str | os.PathLike[str]) -> None:
        """Store a file that https://ui.perfetto.dev opens (`nimblehlo.inspection.profiling.chrome_trace`)."""
        trace = {"traceEvents": self.events(), "displayTimeUnit": "ns"}
        Path(path).write_text(json.dumps(trace), encoding="utf-8")

    def events(self) -> list[dict[str, Any]]:
        """The events of that file, in the Trace Event Format."""
        times = zip(self.call_starts, self.call_seconds, strict=True)
        calls = [
            Interval("call", f"call {number}", *interval, {"program": self.program})
            for number, interval in enumerate(times)
        ]
        details = [step.details() for step in self.steps]
        runs = zip(self.step_numbers.tolist(), self.step_times.tolist(), strict=True)
        steps = [
            Interval("step", self.steps[number].operation, start, seconds, details[number])
            for number, (start, seconds) in runs
        ]
        return events(calls, steps, self.spans, self.thread)

    def __str__(self) -> str:
        return self.table()


def duration(seconds: float) -> str:
    """A duration with a fitting unit."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if abs(seconds) >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds / 1e-9:.0f} ns"
