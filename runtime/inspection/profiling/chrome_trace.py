"""The events of a profile as a file that Perfetto opens.

Calls, their steps and the steps of their regions are nested on the track of the calling thread, which also
shows what that thread compiled and waited for; each other thread has a track.

Source: "Trace Event Format", the JSON that Chrome's tracing and Perfetto read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from ...kernels.launch.spans import Span
from ...program.ir.record import Record

_PROCESS: Final = 1
_NANOSECONDS_PER_SECOND: Final = 1e9


class Interval(Record):
    """Something on a thread's track.

    Attributes:
        category: ``"call"``, ``"step"``, or the kind of a span.
        name: what is shown.
        start, seconds: when it began, and how long it took.
        details: what is shown of it when it is selected.
    """

    category: str
    name: str
    start: float
    seconds: float
    details: dict[str, Any]


def events(
    calls: Sequence[Interval], steps: Iterable[Interval], spans: Sequence[Span], thread: int
) -> list[Any]:
    """The events of a file, with times in microseconds from the earliest of them, in whole nanoseconds.

    Args:
        calls: the calls of the program; at least one.
        steps: the runs of its steps.
        spans: what threads compiled and waited for.
        thread: identifier of the calling thread.
    """
    origin = min([call.start for call in calls] + [span.start for span in spans])
    names = {thread: "calls"}
    tracks: dict[int, list[Interval]] = {thread: [*calls, *steps]}
    for span in spans:
        names.setdefault(span.thread, span.thread_name)
        tracks.setdefault(span.thread, []).append(_interval(span))
    events = [_name("process_name", 0, "nimblehlo")]
    events += [_name("thread_name", number, names[one]) for number, one in enumerate(tracks, 1)]
    for number, intervals in enumerate(tracks.values(), 1):
        events += [_event(placed, number) for placed in _nested(intervals, origin)]
    return events


class _Placed:
    """An interval on its track.

    Attributes:
        interval: what is shown.
        start, end: in nanoseconds from the origin of the file.
    """

    def __init__(self, interval: Interval, origin: float) -> None:
        self.interval = interval
        self.start = round((interval.start - origin) * _NANOSECONDS_PER_SECOND)
        self.end = round((interval.start + interval.seconds - origin) * _NANOSECONDS_PER_SECOND)


def _nested(intervals: Iterable[Interval], origin: float) -> list[_Placed]:
    """A track's intervals by their start, each one within the interval that holds it or after it.

    Calls and spans are timed by another clock than steps, and clocks differ by some hundred nanoseconds.
    Perfetto drops an event that crosses the end of another by a nanosecond. Such an interval therefore begins
    at that end, if less than half of it comes before, or else ends there.
    """
    placed = sorted((_Placed(one, origin) for one in intervals), key=lambda one: (one.start, -one.end))
    open_intervals: list[_Placed] = []
    for one in placed:
        while open_intervals and 2 * open_intervals[-1].end <= one.start + one.end:
            one.start = max(one.start, open_intervals.pop().end)
        if open_intervals:
            one.end = min(one.end, open_intervals[-1].end)
        open_intervals.append(one)
    return placed


def _interval(span: Span) -> Interval:
    return Interval(span.kind, f"{span.kind} {span.name}", span.start, span.seconds, {})


def _name(kind: str, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": _PROCESS, "tid": track, "args": {"name": name}}


def _event(placed: _Placed, track: int) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": placed.interval.category,
        "name": placed.interval.name,
        "pid": _PROCESS,
        "tid": track,
        "ts": placed.start / 1000,
        "dur": (placed.end - placed.start) / 1000,
        "args": placed.interval.details,
    }
