"""Statements that are equal but for the names of values, as layers of a model repeat them: parsed once.

What a statement stands for follows from its text, the types of its operands and the first character after it.
Regions in braces take more than one line, so that only those which a statement's form makes are repeated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import is_
from typing import Final, NamedTuple

from ..ir import Attribute, Region, SourceLocation, Value, copy_region
from ..types import Type
from .lexer import VALUE_USE
from .operation_types import OperationState

LONGEST: Final = 2000
"""Statements of more characters are not remembered: they hold constants."""

_SPLIT: Final = re.compile(f"({VALUE_USE})", re.ASCII).split
_NEXT: Final = re.compile(r"\n[ \t]*+([%}])").match
"""A line break before what no statement goes on with."""
_LOCATION: Final = " loc("


class Line(NamedTuple):
    """A statement's text, from the operation's name to its end or its location."""

    pieces: Sequence[str]
    """What stands around the names of values, and what follows."""
    names: Sequence[str]
    """The names of values."""
    end: int
    """Offset after it."""


class Statement(NamedTuple):
    """What a statement stands for, apart from its operands."""

    operand_types: Sequence[Type]
    result_types: Sequence[Type]
    attributes: dict[str, Attribute]
    regions: Sequence[Region]
    position: int
    """Where it began."""


def line_at(text: str, start: int) -> Line | None:
    """The line of the statement whose name begins at `start`; None where its end cannot be told."""
    end = text.find("\n", start, start + LONGEST)
    if end < 0:
        return None
    location = text.rfind(_LOCATION, start, end)
    if location >= 0:
        end, follower = location, _LOCATION
    else:
        found = _NEXT(text, end)
        if found is None:
            return None
        follower = found[1]
    pieces = _SPLIT(text[start:end])
    return Line((follower, *pieces[::2]), pieces[1::2], end)


class RepeatedStatements:
    """The statements of one text."""

    def __init__(self) -> None:
        self._known: dict[Sequence[str], Statement] = {}

    def read(self, line: Line, values: Mapping[str, Value], state: OperationState) -> bool:
        """Enter what the line stands for; False, entering nothing, where that is not known."""
        known = self._known.get(line.pieces)
        if known is None:
            return False
        operands = [values.get(name) for name in line.names]
        for operand, type in zip(operands, known.operand_types, strict=True):
            if operand is None or (operand.type is not type and operand.type != type):
                return False
        state.operands = operands  # type: ignore[assignment]
        state.result_types = known.result_types
        state.attributes = known.attributes
        if known.regions:
            moved = state.position - known.position
            state.regions = [_region_again(region, moved) for region in known.regions]
        return True

    def remember(self, line: Line, values: Mapping[str, Value], state: OperationState, end: int) -> None:
        """Keep what the line stood for, where it was read up to `end` and each name in it is an operand's."""
        operands = state.operands
        if end != line.end or len(operands) != len(line.names):
            return
        # Where a value is used twice, the order of the operands cannot be told.
        if len(set(operands)) == len(operands) and all(map(is_, map(values.get, line.names), operands)):
            types = [operand.type for operand in operands]
            self._known[line.pieces] = Statement(
                types, state.result_types, state.attributes, state.regions, state.position
            )


def _region_again(region: Region, moved: int) -> Region:
    """A copy of a region for a statement that stands so many characters further on."""
    copied = copy_region(region, {})
    for operation in copied.walk():
        location = operation.location
        if isinstance(location, SourceLocation):
            operation.location = SourceLocation(location.source, location.offset + moved)
    return copied
