"""Locations of operations: in the parsed text, or in the source that the exporter recorded."""

from __future__ import annotations

from array import array

from .record import Record


class Source:
    """A parsed text: its name and where its lines start, not the text itself.

    Args:
        name: file name, or ``"<text>"``.
        text: the whole text; only the offsets of its lines are kept.
    """

    __slots__ = ("line_starts", "name")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        starts = array("q", [0])
        position = text.find("\n")
        while position >= 0:
            starts.append(position + 1)
            position = text.find("\n", position + 1)
        self.line_starts = starts

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Line and column, both counted from 1, of an offset in the text."""
        import bisect  # only messages need it

        line = bisect.bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1


class SourceLocation:
    """An offset in a parsed text; ``str()`` gives ``name:line:column``."""

    __slots__ = ("offset", "source")

    def __init__(self, source: Source, offset: int) -> None:
        self.source = source
        self.offset = offset

    def __str__(self) -> str:
        line, column = self.source.line_and_column(self.offset)
        return f"{self.source.name}:{line}:{column}"


class UnknownLocation(Record):
    """``loc(unknown)``."""

    def __str__(self) -> str:
        return "unknown location"


class FileLocation(Record):
    """``loc("file":line:column)``, or a range ``loc("file":line:column to line:column)``."""

    file: str
    line: int
    column: int
    end: tuple[int, int] | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class NameLocation(Record):
    """``loc("name"(child))``."""

    name: str
    child: Location | None = None

    def __str__(self) -> str:
        return self.name if self.child is None else f"{self.name} ({self.child})"


class CallSiteLocation(Record):
    """``loc(callsite(callee at caller))``."""

    callee: Location
    caller: Location

    def __str__(self) -> str:
        return f"{self.callee} called from {self.caller}"


class FusedLocation(Record):
    """``loc(fused<metadata>[...])``; the metadata is kept as text."""

    locations: tuple[Location, ...]
    metadata: str | None = None

    def __str__(self) -> str:
        return ", ".join(map(str, self.locations)) or "unknown location"


Location = SourceLocation | UnknownLocation | FileLocation | NameLocation | CallSiteLocation | FusedLocation

UNKNOWN = UnknownLocation()


def source_line(location: object) -> str | None:
    """``file:line`` of the innermost source line that a location names; None if it names none.

    Source: JAX's locations, in which the callee of a call site is the user's innermost frame.
    """
    if isinstance(location, FileLocation):
        return f"{location.file}:{location.line}"
    if isinstance(location, SourceLocation):
        return f"{location.source.name}:{location.source.line_and_column(location.offset)[0]}"
    if isinstance(location, NameLocation):
        return source_line(location.child)
    if isinstance(location, CallSiteLocation):
        return source_line(location.callee) or source_line(location.caller)
    if isinstance(location, FusedLocation):
        return next(filter(None, map(source_line, location.locations)), None)
    return None


def names_line(location: object) -> bool:
    return isinstance(location, SourceLocation) or source_line(location) is not None
