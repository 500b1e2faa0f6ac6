"""Changes programs at random: tokens, numbers, types, names, bracketed groups, lines, characters.

Most mutants stay close to a valid program, so that they get past the parser; all follow from the seed alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from nimblehlo.program.ops import declarations
from nimblehlo.types import ELEMENT_TYPES

_TOKEN: Final = re.compile(
    r"""(?P<blank>\s+|//[^\n]*)
    |(?P<operation>"?(?:stablehlo|chlo|check|func|builtin)\.[a-z_0-9]+"?)
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<value>%[\w$.\-]+(?:\#\d+)?)
    |(?P<name>[@\#!^][\w$.\-]+)
    |(?P<size>(?:\d+|\?)x(?=[\d?a-z!]))
    |(?P<element>(?:u?i\d+|bf16|f\d+(?:E\d+M\d+\w*)?|ui\d+)(?!\w))
    |(?P<number>-?\d+\.\d*(?:[eE][+-]?\d+)?|-?0x[0-9A-Fa-f]+|-?\d+)
    |(?P<word>[A-Za-z_][\w$.]*)
    |(?P<mark>->|.)""",
    re.VERBOSE | re.DOTALL,
)
_TYPE: Final = re.compile(r"tensor<(?:[^<>]|<[^<>]*>)*>|tuple<[^<>]*>|!stablehlo\.token")
_OPEN: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}

SMALL_NUMBERS: Final = ("-2", "-1", "0", "1", "2", "3", "4", "5", "7", "8", "16")
EXTREME_NUMBERS: Final = (
    "100000",
    "2147483647",
    "2147483648",
    "-2147483649",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551616",
    "1" + 60 * "0",
    "0x7FC00000",
    "0xFFFFFFFFFFFFFFFFFF",
    "1.0",
    "-0.0",
    "1.0e400",
    "1.0e-400",
)
SIZES: Final = ("0x", "1x", "2x", "3x", "4x", "7x", "?x", "")
EXTREME_SIZES: Final = (
    "65536x",
    "1000000x",
    "2147483648x",
    "4294967296x",
    "9223372036854775807x",
    "99999999999999999999x",
)
ODD_TYPES: Final = (
    "tensor<*xf32>",
    "tensor<?xf32>",
    "tensor<?x3xf32, #stablehlo.bounds<4, ?>>",
    "tensor<2x!quant.uniform<i8:f32, 0.5:1>>",
    "tensor<2x2x!quant.uniform<i8:f32:0, {0.5:1, 0.25:2}>>",
    "tensor<2x2x!quant.uniform<i8:f32:9, {0.5:1}>>",
    "tensor<!quant.uniform<i4<-7:7>:f16, 0.0:-3>>",
    "tensor<2xcomplex<f32>>",
    "tensor<complex<i32>>",
    "tensor<index>",
    "tensor<none>",
    "tensor<2xi129>",
    "tuple<>",
    "tuple<tensor<f32>, tuple<tensor<2xi1>>>",
    "!stablehlo.token",
    "!stablehlo.future<tensor<f32>>",
    "memref<2xf32>",
    "() -> ()",
    "f32",
    "none",
    "vector<2xf32>",
    "!a.b<c>",
)
ODD_ATTRIBUTES: Final = (
    "unit",
    "true",
    "-1",
    "3 : i128",
    "1.0 : f32",
    '"text"',
    "@symbol",
    "@a::@b",
    "[]",
    "[[]]",
    "[1, true]",
    "{}",
    "{a = 1}",
    "array<i64>",
    "array<i64: 0>",
    "array<i64: -1, 5>",
    "array<i64: 9223372036854775807, 1>",
    "array<i1: true>",
    "array<i8: 1>",
    "dense<> : tensor<0xi64>",
    "dense<1> : tensor<i64>",
    "dense<1> : tensor<2x2xi64>",
    "dense<-1> : tensor<1xi64>",
    "dense<2.0> : tensor<3xf32>",
    "dense<0> : tensor<1000000x1000000xi64>",
    'dense<"0x00"> : tensor<1000000xi8>',
    "tensor<2xf32>",
    "f32",
    "#stablehlo<precision DEFAULT>",
    "#stablehlo<comparison_direction LT>",
    "#stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [9]>",
    "#stablehlo.gather<offset_dims = [0], index_vector_dim = 1>",
    "#stablehlo.scatter<update_window_dims = [0], index_vector_dim = -1>",
    "#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>",
    "#stablehlo.conv<raw input_batch_dimension = 0>",
    "#other<x>",
    "loc(unknown)",
)


@dataclass(frozen=True)
class Program:
    """A text cut into tokens.

    Attributes:
        text: the text.
        tokens: its tokens in order; together they are the text.
        kinds: for each kind of token the positions its source location.
        groups: (position of the opening, position of the closing bracket) of each bracketed group.
        types: the types that occur.
        lines: the lines.
    """

    text: str
    tokens: tuple[str, ...]
    kinds: dict[str, list[int]]
    groups: list[tuple[int, int]]
    types: list[str]
    lines: list[str]


def cut(text: str) -> Program:
    """The program of a text."""
    tokens: list[str] = []
    kinds: dict[str, list[int]] = {}
    for position, found in enumerate(_TOKEN.finditer(text)):
        tokens.append(found.group())
        kinds.setdefault(str(found.lastgroup), []).append(position)
    return Program(text, tuple(tokens), kinds, _groups(tokens), _TYPE.findall(text), text.split("\n"))


def _groups(tokens: Sequence[str]) -> list[tuple[int, int]]:
    found, open_brackets = [], []
    for position, token in enumerate(tokens):
        if token in _OPEN:
            open_brackets.append(position)
        elif open_brackets and token == _OPEN[tokens[open_brackets[-1]]]:
            found.append((open_brackets.pop(), position))
    return found


class Mutator:
    """Makes mutants of a corpus.

    Args:
        texts: the programs to start from.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.programs = [cut(text) for text in texts]
        words = {token for program in self.programs for token in program.tokens if token[:1].isalpha()}
        self.words = sorted(words)
        self.operations = sorted(declaration.name for declaration in declarations())
        self.elements = [*ELEMENT_TYPES, "index", "tf32", "i3", "ui1", "f80"]
        self.random = random.Random()

    def mutant(self, seed: int, index: int) -> str:
        """The mutant of that number; the same for the same corpus, seed and number."""
        self.random.seed((seed << 40) + index)
        program = self._program()
        if self.random.random() < 0.08:
            return self.random.choice(_TEXT_CHANGES)(self, program)
        tokens = list(program.tokens)
        for _ in range(self.random.choice((1, 1, 1, 1, 2, 2, 3))):
            if len(tokens) != len(program.tokens):
                program = cut("".join(tokens))
                tokens = list(program.tokens)
            if tokens:
                tokens = self.random.choices(_TOKEN_CHANGES, _TOKEN_WEIGHTS)[0](self, program, tokens)
        return "".join(tokens)

    def _program(self) -> Program:
        return self.random.choice(self.programs)

    def _position(self, program: Program, *kinds: str) -> int | None:
        """A position with a token of one of these kinds."""
        places = program.kinds.get(self.random.choice(kinds)) or program.kinds.get(kinds[0])
        return self.random.choice(places) if places else None

    def _replaced(self, tokens: list[str], position: int | None, new: str) -> list[str]:
        """`tokens` with another token at a position, or wherever the same token stands."""
        if position is None:
            return tokens
        old = tokens[position]
        if self.random.random() < 0.5:
            return [new if token == old else token for token in tokens]
        tokens[position] = new
        return tokens


Tokens = list[str]


def _delete(mutator: Mutator, program: Program, tokens: Tokens) -> Tokens:
    start = mutator.random.randrange(len(tokens))
    return tokens[:start] + tokens[start + mutator.random.randint(1, 4) :]


def _duplicate(mutator: Mutator, program: Program, tokens: Tokens) -> Tokens:
    start = mutator.random.randrange(len(tokens))
    end = start + mutator.random.randint(1, 8)
    return tokens[:end] + tokens[start:end] * mutator.random.choice((1, 1, 2)) + tokens[end:]


def _swap(mutator: Mutator, program: Program, tokens: Tokens) -> Tokens:
    first = mutator._position(program, "word", "value", "number", "name", "element", "size", "string")
    second = mutator._position(program, "word", "value", "number", "name", "element", "size", "string")
    if first is not None and second is not None:
        tokens[first], tokens[second] = tokens[second], tokens[first]
    return tokens


def _number(mutator: Mutator, program: Program, tokens: Tokens) -> Tokens:
    numbers = EXTREME_NUMBERS if mutator.random.random() < 0.2 else SMALL_NUMBERS
    return mutator._replaced(tokens, mutator._position(program, "number"), mutator.random.choice(numbers))


def _size(mutator: Mutator, program: Program, tokens: Tokens) -> Tokens:
    sizes = EXTREME_SIZES if mutator.random.random() < 0.2 else SIZES
    return mutator._replaced(tokens, mutator._position(program, "size"), mutator.random.choice(sizes))


def _element(mutator: Mutator, program: Program, tokens: Tokens) -> Tokens:
    new = mutator.random.choice(mutator.elements)
    return mutator._replaced(tokens, mutator._position(program, "element"), new)


def _operation(mutator: Mutator, program: Program, tokens: Tokens) -> Tokens:
    position = mutator._position(program, "operation")
    new = mutator.random.choice(mutator.operations)
    if position is not None and tokens[position].startswith('"'):
        new = f'"{new}"'
    return mutator._replaced(tokens, position, new)


def _word(mutator: Mutator, program: Program, tokens: Tokens) -> Tokens:
    new = mutator.random.choice(mutator.words)
    return mutator._replaced(tokens, mutator._position(program, "word", "name"), new)


def _value(mutator: Mutator, program: Program, tokens: Tokens) -> Tokens:
    """Let a value stand where a later one stood."""
    positions = program.kinds.get("value", [])
    if len(positions) > 1:
        later = mutator.random.randrange(1, len(positions))
        tokens[positions[later]] = tokens[positions[mutator.random.randrange(later)]]
    return tokens


def _group(mutator: Mutator, program: Program, tokens: Tokens) -> Tokens:
    """Take a bracketed group away, or put another of the same brackets in its place."""
    if not program.groups:
        return tokens
    start, end = mutator.random.choice(program.groups)
    other = mutator._program() if mutator.random.random() < 0.6 else program
    new: Sequence[str] = ()
    fitting = [pair for pair in other.groups if other.tokens[pair[0]] == program.tokens[start]]
    if fitting and mutator.random.random() < 0.8:
        first, last = mutator.random.choice(fitting)
        new = other.tokens[first : last + 1]
    return [*tokens[:start], *new, *tokens[end + 1 :]]


def _type(mutator: Mutator, program: Program, tokens: Tokens) -> Tokens:
    """Put another type in the place of one, or of all that are the same."""
    if not program.types:
        return tokens
    old = mutator.random.choice(program.types)
    others = mutator._program().types
    known = program.types if mutator.random.random() < 0.5 else others
    new = mutator.random.choice(ODD_TYPES if mutator.random.random() < 0.3 or not known else known)
    text = "".join(tokens)
    if mutator.random.random() < 0.6:
        return [text.replace(old, new)]
    places = [found.start() for found in re.finditer(re.escape(old), text)]
    if not places:
        return tokens
    start = mutator.random.choice(places)
    return [text[:start], new, text[start + len(old) :]]


_ATTRIBUTE: Final = re.compile(
    r"(\b[a-z_]\w*\s*=\s*)((?:array|dense)<[^<>]*>(?:\s*:\s*tensor<[^<>]*>)?|#\w+[.\w]*<[^<>]*>|\[[^\]\[]*\]|-?\d[\w.]*"
    r"(?:\s*:\s*\w+)?|\"[^\"]*\"|true|false|@\w+)"
)


def _attribute(mutator: Mutator, program: Program, tokens: Tokens) -> Tokens:
    """Give an attribute another value, from elsewhere or an odd one."""
    text = "".join(tokens)
    places = list(_ATTRIBUTE.finditer(text))
    if not places:
        return _number(mutator, program, tokens)
    place = mutator.random.choice(places)
    new = mutator.random.choice(ODD_ATTRIBUTES)
    others = _ATTRIBUTE.findall(mutator._program().text)
    if others and mutator.random.random() < 0.4:
        new = mutator.random.choice(others)[1]
    return [text[: place.start(2)], new, text[place.end(2) :]]


_TOKEN_CHANGES: Final = (
    _delete, _duplicate, _swap, _number, _size, _element, _operation, _word, _value, _group, _type, _attribute
)  # fmt: skip
_TOKEN_WEIGHTS: Final = (1, 1, 1, 9, 5, 6, 4, 2, 4, 3, 6, 12)


def _truncate(mutator: Mutator, program: Program) -> str:
    return program.text[: mutator.random.randrange(len(program.text) + 1)]


def _flip(mutator: Mutator, program: Program) -> str:
    """Change single bytes; what is no UTF-8 then is replaced."""
    content = bytearray(program.text.encode())
    for _ in range(mutator.random.randint(1, 4)):
        content[mutator.random.randrange(len(content))] ^= 1 << mutator.random.randrange(8)
    return content.decode("utf-8", "replace")


def _insert(mutator: Mutator, program: Program) -> str:
    position = mutator.random.randrange(len(program.text) + 1)
    new = mutator.random.choice('"<>(){}[]%@#!^:=,-\\/.x0\n \0') * mutator.random.choice((1, 2, 3))
    return program.text[:position] + new + program.text[position:]


def _splice(mutator: Mutator, program: Program) -> str:
    """The head of one program and the tail of another."""
    other = mutator._program().lines
    head = program.lines[: mutator.random.randrange(len(program.lines) + 1)]
    return "\n".join(head + other[mutator.random.randrange(len(other)) :])


def _lines(mutator: Mutator, program: Program) -> str:
    """Move, copy or drop lines, or bring one from another program."""
    lines = list(program.lines)
    for _ in range(mutator.random.randint(1, 3)):
        source = mutator._program().lines if mutator.random.random() < 0.3 else lines
        line = mutator.random.choice(source or [""])
        position = mutator.random.randrange(len(lines) + 1)
        lines[position : position + mutator.random.choice((0, 0, 1))] = [line]
    return "\n".join(lines)


def _nest(mutator: Mutator, program: Program) -> str:
    """Put a group deep into brackets of its own kind, or one program's lines into regions."""
    depth = mutator.random.choice((3, 100, 127, 129, 2000))
    if not program.groups or mutator.random.random() < 0.2:
        return '"a.b"() ({\n' * depth + program.text + "\n}) : () -> ()" * depth
    start, end = mutator.random.choice(program.groups)
    tokens = program.tokens
    opening, closing = tokens[start], tokens[end]
    if opening == "<" and tokens[start - 1] in ("tensor", "tuple", "complex"):
        opening, closing = tokens[start - 1] + "<", ">"
    return "".join(
        [
            *tokens[:start],
            *[opening] * depth,
            *tokens[start : end + 1],
            *[closing] * depth,
            *tokens[end + 1 :],
        ]
    )


def _huge(mutator: Mutator, program: Program) -> str:
    """A literal, name or list of great length in the place of a token."""
    length = mutator.random.choice((500, 5000, 20000))
    new = mutator.random.choice(
        (
            "9" * length,
            "1." + "0" * length,
            "0x" + "F" * length,
            "a" * length,
            f'"{"a" * length}"',
            '"' + "\\00" * length + '"',
            "[" + "1, " * length + "1]",
            "%a, " * length,
            "1x" * (length // 10) + "f32",
        )
    )
    tokens = list(program.tokens)
    tokens[mutator.random.randrange(len(tokens))] = new
    return "".join(tokens)


_TEXT_CHANGES: Final[Sequence[Callable[[Mutator, Program], str]]] = (
    _truncate, _flip, _flip, _insert, _insert, _splice, _splice, _lines, _lines, _lines, _nest, _huge
)  # fmt: skip
