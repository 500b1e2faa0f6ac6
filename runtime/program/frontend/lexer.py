"""The lexer: a cursor over a module's text, which matches literals, names and strings and reports errors.

There is no list of tokens: each grammar rule matches one compiled pattern at the cursor. Patterns use
possessive quantifiers throughout, so that malformed text cannot make them backtrack.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

from ...errors import ParseError, UnsupportedError
from ..ir import Source, SourceLocation

SKIP: Final = r"[ \t\r\n]*+"
"""White space, which comments are by then: `Cursor` blanks them."""
BARE_IDENTIFIER: Final = r"[A-Za-z_][\w$.]*+"
VALUE_NAME: Final = r"%[\w$.\-]++"
VALUE_USE: Final = r"%[\w$.\-]++(?:#\d{1,9})?+"
MAX_NESTING: Final = 128
"""Maximum nesting depth of regions, types, attributes and locations."""
MAX_INTEGER_DIGITS: Final = 400
"""Maximum number of digits in an integer literal."""

_SHOWN_WIDTH: Final = 100
_ESCAPE: Final = rb'\\(?:([0-9A-Fa-f]{2})|(["\\])|(n)|(t))?'


def max_expanded_size(size: int) -> int:
    """How large what a program of `size` characters or bytes states may be, if all is written out.

    Aliases and entries of bytecode may refer to others any number of times, so that each level can double
    what the levels below it stand for. What compilers write expands by less than the size of the program.
    """
    return (1 << 20) + 16 * size


class LazyPattern:
    """A regular expression that is compiled at its first use, because most programs use few of them.

    Attributes:
        match, fullmatch, search, sub, finditer: the methods of `re.Pattern`.
    """

    __slots__ = ("_expression", "finditer", "fullmatch", "match", "search", "sub")

    match: Callable[[str, int], re.Match[str] | None]
    fullmatch: Callable[[str], re.Match[str] | None]
    search: Callable[[str], re.Match[str] | None]
    sub: Callable[[str, str], str]
    finditer: Callable[[str], Iterator[re.Match[str]]]

    def __init__(self, expression: str) -> None:
        self._expression = expression

    def __getattr__(self, name: str) -> Any:
        """Compile the expression when a method is first used."""
        if name not in LazyPattern.__slots__ or name == "_expression":
            raise AttributeError(name)
        method = getattr(re.compile(self._expression, re.ASCII), name)
        setattr(self, name, method)
        return method


def token_pattern(expression: str) -> LazyPattern:
    """A pattern that skips white space, then matches `expression` at the cursor."""
    return LazyPattern(SKIP + expression)


_WHITE_SPACE: Final = token_pattern("")
_STRING: Final = token_pattern(r'"')
_STRING_BODY: Final = LazyPattern(r'[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+"')
_SYMBOL: Final = token_pattern(r'@(?:([A-Za-z_0-9$.\-][\w$.\-]*+)|(?="))')
_KEYWORD: Final = token_pattern(f"({BARE_IDENTIFIER})")
_INTEGER: Final = token_pattern(r"(-?+(?:0x[0-9A-Fa-f]++|\d++))(?![.\w])")
NUMBER: Final = token_pattern(r"(?:(-?+\d++\.\d*+(?:[eE][+\-]?+\d++)?+)|(-?+(?:0x[0-9A-Fa-f]++|\d++)))")

_STRING_OR_COMMENT: Final = LazyPattern(r'"[^"\\\n]*+(?:\\[^\n][^"\\\n]*+)*+"|(//[^\n]*+)')

_IDENTIFIER_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$.")


def without_comments(text: str) -> str:
    """A text of the same length with a space for each character of a comment.

    Source: MLIR language reference, "Notation": a comment begins with ``//`` outside of strings and ends with
    its line.
    """
    if "//" not in text:
        return text
    chunks: list[str] = []
    end = 0
    for match in _STRING_OR_COMMENT.finditer(text):
        start = match.start(1)
        if start >= 0:
            chunks += text[end:start], " " * (match.end() - start)
            end = match.end()
    return "".join([*chunks, text[end:]]) if chunks else text


@functools.cache
def _tokens(literal: str) -> tuple[tuple[str, ...], bool]:
    """The tokens of a literal, and whether the last one is a word, which must end where the literal ends."""
    return tuple(literal.split()), literal[-1] in _IDENTIFIER_CHARACTERS


class Cursor:
    """A position in a text, and the grammar rules that every layer of the parser uses.

    Args:
        text: the text.
        name: file name, or ``"<text>"``, for errors and locations.

    Attributes:
        text: the text with its comments blanked, so that offsets are those of the original.
        position: offset of the first character that is not consumed.
        nesting: how many nested constructs the cursor is within.
        deepest: the maximum of `nesting` so far, in which aliases count as what they stand for.
    """

    def __init__(self, text: str, name: str) -> None:
        self.text = without_comments(text)
        self.source = Source(name, text)
        self.position = 0
        self.nesting = 0
        self.deepest = 0

    def match(self, expression: LazyPattern) -> re.Match[str] | None:
        """Consume the match of `expression` at the cursor; None, consuming nothing, without a match."""
        match = expression.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
        return match

    def accept(self, literal: str) -> bool:
        """Consume `literal` if it is next; whether it was."""
        end = self._end_of(literal)
        if end < 0:
            return False
        self.position = end
        return True

    def expect(self, literal: str) -> None:
        """Consume `literal`.

        Raises:
            ParseError: it is not next.
        """
        if not self.accept(literal):
            self.fail_expecting(f"'{literal}'")

    def at(self, literal: str) -> bool:
        """Whether `literal` is next."""
        return self._end_of(literal) >= 0

    def _end_of(self, literal: str) -> int:
        """The offset after `literal`, if it follows white space and comments at the cursor; -1 if not."""
        text, position = self.text, self.position
        tokens, is_word = _tokens(literal)
        for token in tokens:
            if not text.startswith(token, position):
                position = _WHITE_SPACE.match(text, position).end()  # type: ignore[union-attr]
                if not text.startswith(token, position):
                    return -1
            position += len(token)
        if is_word and text[position : position + 1] in _IDENTIFIER_CHARACTERS:
            return -1
        return position

    def skip(self) -> int:
        """Consume white space and comments; the offset after them."""
        match = _WHITE_SPACE.match(self.text, self.position)
        assert match is not None
        self.position = match.end()
        return self.position

    def peek(self) -> str:
        """The next character after white space and comments, or an empty string at the end."""
        position = self.skip()
        return self.text[position : position + 1]

    def descend(self) -> None:
        """Enter a nested construct; the caller decrements `nesting` at its end.

        Raises:
            ParseError: constructs nest deeper than `MAX_NESTING`.
        """
        self.nesting += 1
        if self.nesting > self.deepest:
            self.reach(self.nesting)

    def reach(self, nesting: int) -> None:
        """Note that a construct is nested so deep.

        Raises:
            ParseError: it is nested deeper than `MAX_NESTING`.
        """
        if nesting > self.deepest:
            self.deepest = nesting
            if nesting > MAX_NESTING:
                self.fail(f"nested deeper than {MAX_NESTING} levels", self.position)

    def keyword(self, expected: str = "a keyword") -> str:
        """Consume a bare identifier."""
        match = self.match(_KEYWORD)
        if match is None:
            self.fail_expecting(expected)
        return match.group(1)

    def optional_keyword(self) -> str | None:
        """Consume a bare identifier; None, consuming nothing, if none is next."""
        match = self.match(_KEYWORD)
        return None if match is None else match.group(1)

    def symbol(self) -> str:
        """Consume ``@name`` or ``@"name"`` and return the name."""
        match = self.match(_SYMBOL)
        if match is None:
            self.fail_expecting("a symbol such as '@name'")
        return match.group(1) or self.string()

    def integer(self, expected: str = "an integer") -> int:
        """Consume an integer literal, decimal or hexadecimal."""
        match = self.match(_INTEGER)
        if match is None:
            self.fail_expecting(expected)
        return self.integer_value(match.group(1), match.start(1))

    def integer_value(self, literal: str, position: int) -> int:
        """The value of the integer literal at `position`, decimal or hexadecimal."""
        if len(literal) > MAX_INTEGER_DIGITS:
            self.fail(f"an integer of more than {MAX_INTEGER_DIGITS} digits", position)
        return int(literal, 16) if "x" in literal else int(literal)

    def items(self, close: str) -> Iterator[None]:
        """Yield before each item of a comma-separated list; the commas and the final `close` are consumed."""
        if self.accept(close):
            return
        while True:
            yield
            if self.accept(close):
                return
            if not self.accept(","):
                self.fail_expecting(f"',' or '{close}'")

    def integers(self) -> tuple[int, ...]:
        """Consume ``[1, 2]``."""
        self.expect("[")
        return tuple([self.integer() for _ in self.items("]")])

    def string(self) -> str:
        """Consume a string literal; bytes that are not UTF-8 become surrogate escapes."""
        start = self.match(_STRING)
        if start is None:
            self.fail_expecting("a string")
        end = self.string_end(start.end())
        body = self.text[start.end() : end - 1]
        self.position = end
        return self.unescape(body, start.end()) if "\\" in body else body

    def string_end(self, start: int) -> int:
        """The offset after the closing quote of a string whose contents begin at `start`."""
        quote = self.text.find('"', start)
        if quote >= 0 and self.text.find("\\", start, quote) < 0 and self.text.find("\n", start, quote) < 0:
            return quote + 1
        match = _STRING_BODY.match(self.text, start)
        if match is None:
            self.fail("expected '\"' that ends the string", start - 1)
        return match.end()

    def unescape(self, body: str, position: int) -> str:
        """Replace the escapes in `body`, the contents of a string literal that begins at `position`."""

        def character(match: re.Match[bytes]) -> bytes:
            if match[1]:
                return bytes([int(match[1], 16)])
            if match[2]:
                return match[2]
            if match[3] or match[4]:
                return b"\n" if match[3] else b"\t"
            self.fail(r"expected '\\', '\"', '\n', '\t' or two hexadecimal digits after '\'", position)

        encoded = re.sub(_ESCAPE, character, body.encode("utf-8", "surrogateescape"))
        return encoded.decode("utf-8", "surrogateescape")

    def balanced(self) -> str:
        """Consume and return the text before the first comma or closing bracket outside nested brackets.

        The contents of strings are ignored, and the ``>`` of ``->`` is not a bracket.
        """
        start = position = self.skip()
        open_brackets: list[str] = []
        while True:
            match = _BALANCED.match(self.text, position)
            assert match is not None
            position = match.end()
            character = self.text[position : position + 1]
            if character == '"':
                position = self.string_end(position + 1)
            elif character and character in "<([{":
                open_brackets.append(_CLOSING[character])
                position += 1
            elif open_brackets and character == open_brackets[-1]:
                open_brackets.pop()
                position += 1
            elif not open_brackets and (not character or character in ">)]},"):
                self.position = position
                return self.text[start:position].rstrip()
            elif open_brackets and character == ",":
                position += 1
            else:
                self.fail_expecting(f"'{open_brackets[-1]}'", position)

    def location_at(self, position: int) -> SourceLocation:
        """The source location of the offset `position`."""
        return SourceLocation(self.source, position)

    def fail_expecting(self, expected: str, position: int | None = None) -> NoReturn:
        """Raise a ParseError that says what was expected at `position`, or at the cursor."""
        if position is None:
            position = self.skip()
        actual = "end of text" if position >= len(self.text) else None
        self.fail(f"expected {expected}" + (f", found the {actual}" if actual else ""), position)

    def fail(self, reason: str, position: int) -> NoReturn:
        """Raise a ParseError that shows the source line of `position` with a caret below the character."""
        raise parse_error(reason, self.text, self.source, position)

    def unsupported(self, reason: str, operation: str, position: int) -> NoReturn:
        """Raise an UnsupportedError for an operation at `position`."""
        raise UnsupportedError(reason, operation=operation, location=self.location_at(position))


_BALANCED: Final = LazyPattern(r"(?:[^\"<>()\[\]{},\-]++|->|-)*+")
_CLOSING: Final = {"<": ">", "(": ")", "[": "]", "{": "}"}


def parse_error(reason: str, text: str, source: Source, position: int) -> ParseError:
    """A ParseError that shows file:line:column, the source line (abridged if long) and a caret below it."""
    position = min(position, len(text))
    line, column = source.line_and_column(position)
    start = position - column + 1
    end = text.find("\n", position)
    end = len(text) if end < 0 else end
    shown_start = max(start, position - _SHOWN_WIDTH // 2)
    shown_end = min(end, shown_start + _SHOWN_WIDTH)
    before = "..." if shown_start > start else ""
    after = "..." if shown_end < end else ""
    shown = "".join(c if c.isprintable() else " " for c in text[shown_start:shown_end])
    caret = " " * (len(before) + position - shown_start) + "^"
    error = ParseError(f"{source.name}:{line}:{column}: {reason}\n{before}{shown}{after}\n{caret}")
    error.location = f"{source.name}:{line}:{column}"
    return error


def split(text: str) -> list[tuple[int, str]]:
    """Split a text with several programs, separated by ``// -----`` at the end of a line.

    Returns:
        (number of its first line, counted from 0; text) of each program.
    """
    programs: list[tuple[int, str]] = []
    start = line = 0
    for match in _SEPARATOR.finditer(text):
        program_text = text[start : match.end()]
        programs.append((line, text[start : match.start()]))
        line += program_text.count("\n")
        start = match.end()
    programs.append((line, text[start:]))
    return programs


_SEPARATOR: Final = LazyPattern(r"// -----[ \t\r]*(?:\n|\Z)")
