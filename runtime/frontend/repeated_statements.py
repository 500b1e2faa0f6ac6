"""Parse statements that differ only in the names of values once, as layers of a model repeat them.

The operation follows from the statement's text, the types of its operands and the first character after it.
Regions in braces span lines; only regions that the assembly format implies (``applies``) are repeated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import is_
from typing import Final

from ..ir import Operation, Region, SourceLocation, Value, copy_region
from .lexer import VALUE_USE

MAX_STATEMENT_LENGTH: Final = 2000
"""Longer statements (in characters) are not cached: they hold constants."""

_SPLIT: Final = re.compile(f"({VALUE_USE})", re.ASCII).split
_NEXT: Final = re.compile(r"\n[ \t]*+([%}])").match
"""A line break before a character that cannot continue a statement."""
_LOCATION: Final = " loc("


class StatementText:
    """A statement's text, from the operation's name to its end or its location.

    Attributes:
        literal_text: the text between the names of values, after the character that follows the statement.
        names: the names of values.
        end: offset after it.
        has_no_location: whether no location follows.
    """

    __slots__ = ("end", "has_no_location", "literal_text", "names")

    def __init__(self, text: str, end: int, follower: str) -> None:
        segments = _SPLIT(text)
        self.literal_text = (follower, *segments[::2])
        self.names = segments[1::2]
        self.end = end
        self.has_no_location = follower is not _LOCATION


def statement_text_at(text: str, start: int) -> StatementText | None:
    """The text of the statement whose name begins at `start`; None where its end is not certain."""
    end = text.find("\n", start, start + MAX_STATEMENT_LENGTH)
    if end < 0:
        return None
    location = text.find(_LOCATION, start, end)
    if location >= 0:
        return StatementText(text[start:location], location, _LOCATION)
    match = _NEXT(text, end)
    return None if match is None else StatementText(text[start:end], end, match[1])


class RepeatedStatements:
    """Cache of statements: the operation that each text first became, and its offset."""

    def __init__(self) -> None:
        self._statements: dict[tuple[str, ...], tuple[Operation, int]] = {}

    def replay(self, statement: StatementText, values: Mapping[str, Value], start: int) -> Operation | None:
        """Copy the cached operation for the statement at `start`; None if the cache has none."""
        cached = self._statements.get(statement.literal_text)
        if cached is None:
            return None
        first, first_start = cached
        operands: list[Value] = []
        for name, first_operand in zip(statement.names, first.operands, strict=True):
            operand = values.get(name)
            if operand is None or (
                operand.type is not first_operand.type and operand.type != first_operand.type
            ):
                return None
            operands.append(operand)
        if not first.regions:
            return first.again(tuple(operands))
        return first.again(
            tuple(operands), [_copy_region(region, start - first_start) for region in first.regions]
        )

    def store(
        self, statement: StatementText, values: Mapping[str, Value], operation: Operation, start: int
    ) -> None:
        """Cache the operation of the statement at `start`, if each name in it is the name of an operand."""
        operands = operation.operands
        # Where a value is used twice, the order of the operands cannot be told.
        if len(set(operands)) == len(operands) == len(statement.names) and all(
            map(is_, map(values.get, statement.names), operands)
        ):
            self._statements[statement.literal_text] = operation, start


def _copy_region(region: Region, shift: int) -> Region:
    """Copy a region, with its source locations moved by `shift` characters."""
    copied = copy_region(region, {})
    for operation in copied.walk():
        location = operation.location
        if isinstance(location, SourceLocation):
            operation.location = SourceLocation(location.source, location.offset + shift)
    return copied
