"""Statements that are equal but for the names of values, as layers of a model repeat them: parsed once.

What a statement stands for follows from its text, the types of its operands and the first character after it.
Regions in braces take more than one line, so that only those which a statement's form makes are repeated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import is_
from typing import Final

from ..ir import Operation, Region, SourceLocation, Value, copy_region
from .lexer import VALUE_USE

LONGEST: Final = 2000
"""Statements of more characters are not remembered: they hold constants."""

_SPLIT: Final = re.compile(f"({VALUE_USE})", re.ASCII).split
_NEXT: Final = re.compile(r"\n[ \t]*+([%}])").match
"""A line break before what no statement goes on with."""
_LOCATION: Final = " loc("


class Line:
    """A statement's text, from the operation's name to its end or its location.

    Attributes:
        pieces: what stands around the names of values, and what follows.
        names: the names of values.
        end: offset after it.
        is_whole: whether no location follows.
    """

    __slots__ = ("end", "is_whole", "names", "pieces")

    def __init__(self, text: str, end: int, follower: str) -> None:
        parts = _SPLIT(text)
        self.pieces = (follower, *parts[::2])
        self.names = parts[1::2]
        self.end = end
        self.is_whole = follower is not _LOCATION


def line_at(text: str, start: int) -> Line | None:
    """The line of the statement whose name begins at `start`; None where its end cannot be told."""
    end = text.find("\n", start, start + LONGEST)
    if end < 0:
        return None
    location = text.find(_LOCATION, start, end)
    if location >= 0:
        return Line(text[start:location], location, _LOCATION)
    found = _NEXT(text, end)
    return None if found is None else Line(text[start:end], end, found[1])


class RepeatedStatements:
    """The statements of one text: the operation that each first was, and where it stood."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], tuple[Operation, int]] = {}

    def again(self, line: Line, values: Mapping[str, Value], start: int) -> Operation | None:
        """The operation for which the line at `start` stands, None where that is not known."""
        known = self._known.get(line.pieces)
        if known is None:
            return None
        first, place = known
        operands: list[Value] = []
        for name, like in zip(line.names, first.operands, strict=True):
            operand = values.get(name)
            if operand is None or (operand.type is not like.type and operand.type != like.type):
                return None
            operands.append(operand)
        if not first.regions:
            return first.again(tuple(operands))
        return first.again(tuple(operands), [_region_again(one, start - place) for one in first.regions])

    def remember(self, line: Line, values: Mapping[str, Value], operation: Operation, start: int) -> None:
        """Keep the operation for which the line at `start` stands, where each name in it is an operand's."""
        operands = operation.operands
        # Where a value is used twice, the order of the operands cannot be told.
        if len(set(operands)) == len(operands) == len(line.names) and all(
            map(is_, map(values.get, line.names), operands)
        ):
            self._known[line.pieces] = operation, start


def _region_again(region: Region, moved: int) -> Region:
    """A copy of a region for a statement that stands so many characters further on."""
    copied = copy_region(region, {})
    for operation in copied.walk():
        location = operation.location
        if isinstance(location, SourceLocation):
            operation.location = SourceLocation(location.source, location.offset + moved)
    return copied
