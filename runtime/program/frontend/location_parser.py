"""Parse locations, and the aliases of attributes, types and locations.

Source: MLIR language reference, "Builtin dialect", location attributes; "Attribute value aliases".
"""

from __future__ import annotations

import re
from typing import Final

from ...types import Type
from ..ir import (
    UNKNOWN,
    Attribute,
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    Location,
    LocationAttribute,
    NameLocation,
    OpaqueAttribute,
)
from .lexer import SKIP, LazyPattern, max_expanded_size, token_pattern
from .type_parser import TypeParser

_LOCATION: Final = token_pattern(r"loc[ ]?+\((?:#([A-Za-z_][\w$]*+)\))?+")
_NUMBER: Final = r"(0x[0-9A-Fa-f]++|\d++)"
_COLON: Final = f"{SKIP}:{SKIP}"
_FILE_LOCATION: Final = token_pattern(
    rf'"([^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+)"{_COLON}{_NUMBER}'
    rf"(?:{_COLON}{_NUMBER}(?:{SKIP}to(?![\w$.]){SKIP}{_NUMBER}?+{_COLON}{_NUMBER})?+)?+"
)
_MAX_NUMBER: Final = 2**32 - 1
"""The maximum line or column that a location of MLIR can hold."""
_ALIAS: Final = token_pattern(r"#([A-Za-z_][\w$]*+)(?![.<\w$])")
_DEFINITION_LINE: Final = LazyPattern(r"[ \t]*+([#!][A-Za-z_][\w$]*+)[ \t]*+=")
_DEFINITION: Final = token_pattern(r"([#!])([A-Za-z_][\w$]*+)[ \t]*+=")


class LocationParser(TypeParser):
    """Parses locations and resolves aliases, which may be defined after their use."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text, name)
        self._locations: dict[str, Location] = {}
        self._aliases: dict[str, Attribute | Type | Location | None] = {}
        self._alias_starts: dict[str, int] | None = None
        self._alias_ends: dict[int, int] = {}
        # The characters and the levels of nesting that each alias stands for.
        self._alias_extents: dict[str, tuple[int, int]] = {}
        self._max_expanded_size = max_expanded_size(len(text))
        self._expanded_size = 0
        self._expanded_types_size = 0

    def optional_location(self) -> Location | None:
        """Consume ``loc(...)``; None, consuming nothing, if it is not next."""
        match = _LOCATION.match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        name = match.group(1)
        if name is not None:
            cached = self._locations.get(name)
            if cached is None:
                cached = self._locations[name] = self._location_alias(name, match.start(1) - 1)
            return cached
        location = self.location()
        self.expect(")")
        return location

    def location(self) -> Location:
        """Consume the text within ``loc(...)``."""
        match = _FILE_LOCATION.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
            return self._file_location(match)
        self.descend()
        location = self._nested_location()
        self.nesting -= 1
        return location

    def _file_location(self, match: re.Match[str]) -> FileLocation:
        """The location ``"file":line[:column[ to [line]:column]]``; without a column it is 0."""
        file, line, column, end_line, end_column = match.groups()
        name = self.unescape(file, match.start(1)) if "\\" in file else file
        first_line = self._number(line, match.start(2))
        if column is None:
            return FileLocation(name, first_line, 0)
        first_column = self._number(column, match.start(3))
        if end_column is None:
            return FileLocation(name, first_line, first_column)
        last_line = first_line if end_line is None else self._number(end_line, match.start(4))
        return FileLocation(
            name, first_line, first_column, (last_line, self._number(end_column, match.start(5)))
        )

    def _number(self, literal: str, position: int) -> int:
        """The line or column that a literal states.

        Raises:
            ParseError: it exceeds 32 bits.
        """
        value = self.integer_value(literal, position)
        if value > _MAX_NUMBER:
            self.fail_expecting("a line or column of at most 32 bits", position)
        return value

    def _nested_location(self) -> Location:
        next_character = self.peek()
        if next_character == '"':
            name = self.string()
            if self.accept(":"):
                self.fail_expecting("a line")
            if not self.accept("("):
                return NameLocation(name)
            child = self.location()
            self.expect(")")
            return NameLocation(name, child)
        if next_character == "#":
            match = self.match(_ALIAS)
            if match is not None:
                return self._location_alias(match.group(1), match.start(1) - 1)
            return self._opaque_location()
        position = self.position
        kind = self.keyword("a location")
        if kind == "unknown":
            return UNKNOWN
        if kind == "callsite":
            self.expect("(")
            callee = self.location()
            self.expect("at")
            caller = self.location()
            self.expect(")")
            return CallSiteLocation(callee, caller)
        if kind == "fused":
            return self._fused_location()
        self.fail_expecting("a location", position)

    def _opaque_location(self) -> Location:
        """A location of another dialect; its text serves as its name."""
        return NameLocation(self.balanced())

    def _fused_location(self) -> FusedLocation:
        metadata = None
        if self.accept("<"):
            metadata = self.attribute()
            self.expect(">")
        self.expect("[")
        locations = tuple([self.location() for _ in self.items("]")])
        return FusedLocation(locations, metadata)

    def _location_alias(self, name: str, position: int) -> Location:
        value = self.alias("#" + name, position)
        if isinstance(value, LocationAttribute):
            return value.location
        if isinstance(value, OpaqueAttribute):
            return NameLocation(value.text)
        self.fail(f"expected a location, but #{name} is another attribute", position)

    def type_alias(self, name: str, position: int) -> Type:
        value = self.alias("!" + name, position)
        assert isinstance(value, Type)
        return value

    def alias(self, name: str, position: int) -> Attribute | Type | Location:
        """The attribute, type or location that an alias used at `position` stands for.

        Args:
            name: the alias with its ``#`` or ``!``.
            position: offset of the use, for errors.

        Raises:
            ParseError: the alias is not defined, is defined by itself, or stands for too much.
        """
        if name not in self._aliases:
            self._resolve_all()
        if name not in self._aliases:
            self._resolve_at(name, position)
        value = self._aliases[name]
        if value is None:
            self.fail(f"alias {name} stands for itself", position)
        size, levels = self._alias_extents[name]
        self._expanded_size += size
        if name[0] == "!":
            self._expanded_types_size += size
            self._check_expanded_size(self._expanded_types_size, "the aliases of types", position)
        self.reach(self.nesting + levels)
        return value

    def alias_definition(self) -> bool:
        """Consume ``#name = attribute`` or ``!name = type``; whether one was next."""
        match = self.match(_DEFINITION)
        if match is None:
            return False
        start = match.start(1)
        cached_end = self._alias_ends.get(start)
        if cached_end is not None:
            self.position = cached_end
            return True
        name = match.group(1) + match.group(2)
        if name in self._aliases:
            self.fail(f"alias {name} is defined twice", start)
        self._define(name, start)
        return True

    def _define(self, name: str, start: int) -> None:
        """Parse the definition whose right-hand side is at the cursor."""
        self._aliases[name] = None
        outer = self._expanded_size, self.deepest
        self._expanded_size, self.deepest = 0, self.nesting
        value = self.type() if name[0] == "!" else self.attribute()
        size = self.position - start + self._expanded_size
        self._check_expanded_size(size, f"the alias {name}", start)
        # Locations, which are call stacks, may be nested to any depth.
        levels = 0 if isinstance(value, LocationAttribute) else self.deepest - self.nesting
        self._expanded_size, self.deepest = outer
        self._aliases[name], self._alias_extents[name] = value, (size, levels)
        self._alias_ends[start] = self.position

    def _check_expanded_size(self, size: int, what: str, position: int) -> None:
        if size > self._max_expanded_size:
            characters = f"more than {self._max_expanded_size} characters"
            self.fail(f"{what} would have {characters} written out", position)

    def _resolve_all(self) -> None:
        """Parse all definitions that begin a line, in the order of the text.

        MLIR prints an alias after the aliases that it uses, so this order keeps the recursion shallow.
        """
        if self._alias_starts is not None:
            return
        starts: dict[str, int] = {}
        self._alias_starts = starts
        for start in self.source.line_starts:
            match = _DEFINITION_LINE.match(self.text, start)
            if match is not None:
                starts.setdefault(match.group(1), match.start(1))
        for name in starts:
            if name not in self._aliases:
                self._resolve_at(name, starts[name])

    def _resolve_at(self, name: str, use: int) -> None:
        """Parse the definition of one alias before the parser reaches it."""
        assert self._alias_starts is not None
        start = self._alias_starts.get(name)
        if start is None:
            self.fail(f"expected an alias that is defined; {name} is not", use)
        saved = self.position
        self.position = start
        self.match(_DEFINITION)
        self.descend()
        self._define(name, start)
        self.nesting -= 1
        self.position = saved
