"""Statements that are equal but for the names of values, as layers of a model repeat them: parsed once.

What a statement stands for follows from its text, the types of its operands and the first character after it.
Regions in braces take more than one line, so that only those which a statement's form makes are repeated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from operator import is_
from typing import Final

from ..ir import Region, SourceLocation, Value, copy_region
from ..types import Type
from .lexer import VALUE_USE
from .operation_types import OperationState

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
    """

    __slots__ = ("end", "names", "pieces")

    def __init__(self, text: str, end: int, follower: str) -> None:
        parts = _SPLIT(text)
        self.pieces = (follower, *parts[::2])
        self.names = parts[1::2]
        self.end = end


class Statement:
    """What a statement stands for, apart from its operands."""

    __slots__ = ("attributes", "operand_types", "position", "regions", "result_types")

    def __init__(self, state: OperationState) -> None:
        self.position = state.position
        self.operand_types: Sequence[Type] = [operand.type for operand in state.operands]
        self.result_types = state.result_types
        self.attributes = state.attributes
        self.regions = state.regions


def line_at(text: str, start: int) -> Line | None:
    """The line of the statement whose name begins at `start`; None where its end cannot be told."""
    end = text.find("\n", start, start + LONGEST)
    if end < 0:
        return None
    location = text.rfind(_LOCATION, start, end)
    if location >= 0:
        return Line(text[start:location], location, _LOCATION)
    found = _NEXT(text, end)
    return None if found is None else Line(text[start:end], end, found[1])


class RepeatedStatements:
    """The statements of one text."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], Statement] = {}

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
            self._known[line.pieces] = Statement(state)


def _region_again(region: Region, moved: int) -> Region:
    """A copy of a region for a statement that stands so many characters further on."""
    copied = copy_region(region, {})
    for operation in copied.walk():
        location = operation.location
        if isinstance(location, SourceLocation):
            operation.location = SourceLocation(location.source, location.offset + moved)
    return copied
