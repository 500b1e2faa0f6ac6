"""The events of a profile as a file that Perfetto opens.

Calls, their steps and the steps of their regions are nested on the track of the calling thread, which also
shows what that thread compiled and waited for; each other thread has a track.

Source: "Trace Event Format", the JSON that Chrome's tracing and Perfetto read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from ..ir.record import Record
from ..kernels.launch.spans import Span

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
    tracks = {thread: (1, "calls")}
    for span in spans:
        tracks.setdefault(span.thread, (len(tracks) + 1, span.thread_name))
    events = [_name("process_name", 0, "nimblehlo")]
    events += [_name("thread_name", number, name) for number, name in tracks.values()]
    events += [_event(interval, 1, origin) for interval in (*calls, *steps)]
    events += [_event(interval, tracks[one][0], origin) for one, interval in _intervals(spans)]
    return events


def _intervals(spans: Iterable[Span]) -> Iterator[tuple[int, Interval]]:
    for span in spans:
        yield span.thread, Interval(span.kind, f"{span.kind} {span.name}", span.start, span.seconds, {})


def _name(kind: str, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": _PROCESS, "tid": track, "args": {"name": name}}


def _event(interval: Interval, track: int, origin: float) -> dict[str, Any]:
    # Perfetto drops an event that begins before the one before it has ended, by however little.
    start = round((interval.start - origin) * _NANOSECONDS_PER_SECOND)
    end = round((interval.start + interval.seconds - origin) * _NANOSECONDS_PER_SECOND)
    return {
        "ph": "X",
        "cat": interval.category,
        "name": interval.name,
        "pid": _PROCESS,
        "tid": track,
        "ts": start / 1000,
        "dur": (end - start) / 1000,
        "args": interval.details,
    }
