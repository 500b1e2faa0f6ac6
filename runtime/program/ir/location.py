"""Locations of operations: in the parsed text, or in the source that the exporter recorded."""

from __future__ import annotations

from array import array
from typing import Final

from .record import Record

MAX_SHOWN: Final = 10_000
"""Maximum number of characters of a location in a message. Locations share the locations within them, so that
all text of one may be exponentially long."""


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
        return _shown(self)


class CallSiteLocation(Record):
    """``loc(callsite(callee at caller))``."""

    callee: Location
    caller: Location

    def __str__(self) -> str:
        return _shown(self)


class FusedLocation(Record):
    """``loc(fused<metadata>[...])``; the metadata is an attribute, or None."""

    locations: tuple[Location, ...]
    metadata: object = None

    def __str__(self) -> str:
        return _shown(self)


Location = SourceLocation | UnknownLocation | FileLocation | NameLocation | CallSiteLocation | FusedLocation

UNKNOWN = UnknownLocation()


def _shown(location: Location) -> str:
    """The text of a location in messages, of at most about `MAX_SHOWN` characters."""
    shown: list[str] = []
    size = 0
    # Locations may be nested deeper than functions may call each other.
    pending: list[Location | str] = [location]
    while pending:
        item = pending.pop()
        if not isinstance(item, str):
            nested = _components(item)
            if nested is not None:
                pending += reversed(nested)
                continue
            item = str(item)
        shown.append(item)
        size += len(item)
        if size > MAX_SHOWN:
            return "".join([*shown, "..."])
    return "".join(shown)


def _components(location: Location) -> list[Location | str] | None:
    """The texts and locations of which the text of a location consists; None if no location is within it."""
    if isinstance(location, NameLocation) and location.child is not None:
        return [f"{location.name} (", location.child, ")"]
    if isinstance(location, NameLocation):
        return [location.name]
    if isinstance(location, CallSiteLocation):
        return [location.callee, " called from ", location.caller]
    if not isinstance(location, FusedLocation):
        return None
    if not location.locations:
        return ["unknown location"]
    separated: list[Location | str] = []
    for each in location.locations:
        separated += [", ", each]
    return separated[1:]


def source_line(location: object) -> str | None:
    """``file:line`` of the innermost source line that a location names; None if it names none.

    Source: JAX's locations, in which the callee of a call site is the user's innermost frame.
    """
    pending = [location]
    visited: set[int] = set()
    while pending:
        item = pending.pop()
        if id(item) in visited:
            continue
        visited.add(id(item))
        if isinstance(item, FileLocation):
            return f"{item.file}:{item.line}"
        if isinstance(item, SourceLocation):
            return f"{item.source.name}:{item.source.line_and_column(item.offset)[0]}"
        pending += reversed(locations_within(item))
    return None


def locations_within(location: object) -> tuple[Location, ...]:
    """The locations directly within one, in their order."""
    if isinstance(location, NameLocation):
        return () if location.child is None else (location.child,)
    if isinstance(location, CallSiteLocation):
        return location.callee, location.caller
    return location.locations if isinstance(location, FusedLocation) else ()


def names_line(location: object) -> bool:
    return isinstance(location, SourceLocation) or source_line(location) is not None
