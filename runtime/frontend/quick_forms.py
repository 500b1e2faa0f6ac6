"""A pretty form as one pattern, which reads an operation as MLIR usually prints it with a single match.

What the pattern does not match, or refers to what has not been seen before, is left to the steps of
`assembly`, which read every spelling and report what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from ..ir import (
    Attribute,
    BoolAttribute,
    DenseArrayAttribute,
    EnumAttribute,
    IntegerAttribute,
    SymbolAttribute,
    Value,
)
from ..ops.framework import attribute_kinds as kinds
from ..types import ELEMENT_TYPES, TensorType, Type
from . import custom_assembly
from .dense import SPLAT
from .lexer import SKIP, VALUE_USE
from .signature import Signature, Step
from .statement_parser import OperationState, StatementParser
from .type_parser import FUNCTION_TYPE, FUNCTION_TYPE_PATTERN, PLAIN_TYPE, TYPE_LIST, TYPE_PATTERN

Take = Callable[[StatementParser, OperationState, Any], bool]
"""Takes what a piece matched; False: leave the operation to the steps."""


class Piece(NamedTuple):
    """A part of a pattern: an expression with one capturing group where it has a `take`, else with none."""

    expression: str
    take: Take | None = None


class QuickForm:
    """A compiled pattern and what takes each of its groups.

    Types that stand last are matched by themselves: their pattern, which takes long to compile, is there.
    """

    __slots__ = ("expression", "last", "takes")

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.last = _COMPILED.get(pieces[-1].expression)
        matched = pieces if self.last is None else pieces[:-1]
        self.expression = re.compile("".join(SKIP + piece.expression for piece in matched), re.ASCII)
        self.takes = [piece.take for piece in pieces if piece.take is not None]

    def read(self, parser: StatementParser, state: OperationState) -> bool:
        """Consume what follows an operation's name; False, consuming nothing, where it is not as usual."""
        found = self.expression.match(parser.text, parser.position)
        if found is None:
            return False
        texts, end = found.groups(), found.end()
        if self.last is not None:
            found = self.last.match(parser.text, end)
            if found is None:
                return False
            texts, end = (*texts, found[1]), found.end()
        for take, text in zip(self.takes, texts, strict=True):
            if not take(parser, state, text):
                state.clear()
                return False
        parser.position = end
        return True


def quick_form(form: str, signature: Signature) -> QuickForm | None:
    """The pattern of a form, or None where one of its items has none."""
    pieces = _pieces(_expanded(form).split(), signature)
    return None if pieces is None else QuickForm(pieces)


def _expanded(form: str) -> str:
    return form.replace("custom(call)", "$callee ( operands ) attr-dict : functional-type")


def _pieces(items: list[str], signature: Signature) -> list[Piece] | None:
    pieces: list[Piece] = []
    rest = items[::-1]
    while rest:
        item = rest.pop()
        end = _end_of_group(rest) if item == "(" else None
        if end is None:
            found = _pieces_of(item, signature)
        else:
            group = [rest.pop() for _ in range(end)]
            rest.pop()
            inner = _pieces(group, signature)
            found = None if inner is None else _optional(inner)
        if found is None:
            return None
        pieces += found
    return pieces


def _end_of_group(rest: list[str]) -> int | None:
    """How many items a group has whose ``(`` has been taken; None: the parenthesis is a literal."""
    close = next((n for n, item in enumerate(reversed(rest)) if item in ("(", ")", ")?")), None)
    return close if close is not None and rest[-1 - close] == ")?" else None


def _optional(pieces: list[Piece]) -> list[Piece] | None:
    """A group that may be absent, as one piece; it is absent only where its first literal does not come."""
    takes = [piece.take for piece in pieces if piece.take is not None]
    if len(takes) != 1 or pieces[0].take is not None:
        return None
    (take,) = takes

    def take_if_there(parser: StatementParser, state: OperationState, text: str | None) -> bool:
        return text is None or take(parser, state, text)

    present = "".join(SKIP + piece.expression for piece in pieces)
    return [Piece(f"(?:{present}|(?!{SKIP}{pieces[0].expression}))", take_if_there)]


def cached(name: str, step: Step) -> Step:
    """The step of a custom form of attributes, which remembers what each text stands for."""

    def remember(parser: StatementParser, state: OperationState) -> None:
        outer, state.attributes = state.attributes, {}
        start = parser.skip()
        step(parser, state)
        parser.known_customs[name, parser.text[start : parser.position]] = state.attributes
        state.attributes = {**outer, **state.attributes}

    return remember


def _pieces_of(item: str, signature: Signature) -> list[Piece] | None:
    if item.startswith("$"):
        return _part(item[1:], signature)
    if item in _NAMED:
        return _NAMED[item]
    if item.startswith("custom("):
        expression = CACHED_CUSTOMS.get(item[7:-1])
        return None if expression is None else [Piece(expression, _custom(item[7:-1]))]
    if item.startswith("type($"):
        return _type_of(item[6:-1], signature)
    if item.startswith("types($"):
        return _type_of(item[7:-1], signature)
    if item in ("(", ")") or re.fullmatch(r"[\w,:=\[\]{}]+|->", item):
        return [Piece(re.escape(item) + (r"(?![\w$.])" if item[-1].isalnum() else ""))]
    return None


def _part(name: str, signature: Signature) -> list[Piece] | None:
    if name in signature.operands:
        return _NAMED["operands"] if signature.operands[name] else [Piece(f"({VALUE_USE})", _operand)]
    kind, key = signature.attributes[name]
    if kind is kinds.I64:
        return [Piece(r"(-?+\d{1,18})(?![\w.])", _integer(key))]
    if kind is kinds.DIMENSIONS:
        return [Piece(r"(\[[\d, \-]*+\])", _dimensions(key))]
    if kind is kinds.BOOL:
        return [Piece(r"(true|false)(?![\w$.])", _boolean(key))]
    if kind is kinds.SYMBOL:
        return [Piece(r"@([A-Za-z_][\w$.\-]*+)(?!::)", _symbol(key))]
    if isinstance(kind, kinds.Enum):
        return [Piece(r"([A-Za-z_][\w$.]*+)", _enum(kind, key))]
    return None


def _type_of(name: str, signature: Signature) -> list[Piece] | None:
    """Types of results, or of all operands where there is one declared operand."""
    if signature.results.get(name) is False:
        return [Piece(f"({PLAIN_TYPE})", _type_of_result)]
    return [Piece(f"({TYPE_LIST})", _operand_types)] if list(signature.operands) == [name] else None


def _operand(parser: StatementParser, state: OperationState, text: str) -> bool:
    value = parser.values.get(text)
    if value is None:
        return False
    state.operands.append(value)
    return True


def _operands(parser: StatementParser, state: OperationState, text: str) -> bool:
    if not text:
        return True
    values = parser.values
    for name in text.split(","):
        value = values.get(name.strip())
        if value is None:
            return False
        state.operands.append(value)
    return True


def _integer(key: str) -> Take:
    type = ELEMENT_TYPES["i64"]

    def take(parser: StatementParser, state: OperationState, text: str) -> bool:
        state.attributes[key] = IntegerAttribute(int(text), type)
        return True

    return take


def _dimensions(key: str) -> Take:
    type = ELEMENT_TYPES["i64"]

    def take(parser: StatementParser, state: OperationState, text: str) -> bool:
        known = parser.known_dimensions.get(text)
        if known is None:
            try:
                values = tuple(map(int, text[1:-1].split(","))) if len(text) > 2 else ()
                known = parser.known_dimensions[text] = DenseArrayAttribute(type, values)
            except ValueError:
                return False
        state.attributes[key] = known
        return True

    return take


def _boolean(key: str) -> Take:
    known = {"true": BoolAttribute(True), "false": BoolAttribute(False)}

    def take(parser: StatementParser, state: OperationState, text: str) -> bool:
        state.attributes[key] = known[text]
        return True

    return take


def _symbol(key: str) -> Take:
    def take(parser: StatementParser, state: OperationState, text: str) -> bool:
        state.attributes[key] = SymbolAttribute(text)
        return True

    return take


def _enum(kind: kinds.Enum, key: str) -> Take:
    known: dict[str, Attribute] = {
        member.value: EnumAttribute(kind.dialect, kind.mnemonic, member.value) for member in kind.members
    }

    def take(parser: StatementParser, state: OperationState, text: str) -> bool:
        value = known.get(text)
        if value is None:
            return False
        state.attributes[key] = value
        return True

    return take


def _custom(name: str) -> Take:
    def take(parser: StatementParser, state: OperationState, text: str) -> bool:
        known = parser.known_customs.get((name, text))
        if known is None:
            return False
        state.attributes.update(known)
        return True

    return take


def _constant(parser: StatementParser, state: OperationState, text: str) -> bool:
    known = parser.known_splats.get(text)
    if known is None:
        return False
    state.attributes["value"] = known
    state.result_types = (known.type,)
    return True


def _same_types(operands: Sequence[Value], types: Sequence[Type]) -> bool:
    if len(operands) != len(types):
        return False
    for operand, type in zip(operands, types, strict=True):
        if operand.type is not type and operand.type != type:
            return False
    return True


def _applied(parser: StatementParser, state: OperationState, text: str) -> bool:
    operand = state.operands[0].type
    if not isinstance(operand, TensorType):
        return False
    region = custom_assembly.applied_region(text, operand, parser.location_at(state.position))
    state.regions.append(region)
    return True


def _functional_type(parser: StatementParser, state: OperationState, text: str) -> bool:
    type = parser.known_function_types.get(text)
    if type is None or not _same_types(state.operands, type.inputs):
        return False
    state.result_types = type.results
    return True


def _same_type(parser: StatementParser, state: OperationState, text: str) -> bool:
    type = parser.known_types.get(text)
    if type is None:
        return False
    for operand in state.operands:
        if operand.type is not type and operand.type != type:
            return False
    state.result_types = (type,)
    return True


def _predicate_type(parser: StatementParser, state: OperationState, text: str) -> bool:
    return _same_types(state.operands[:1], [parser.known_types.get(text)])  # type: ignore[list-item]


def _chosen_type(parser: StatementParser, state: OperationState, text: str) -> bool:
    type = parser.known_types.get(text)
    if type is None or not _same_types(state.operands[1:], (type, type)):
        return False
    state.result_types = (type,)
    return True


def _operand_types(parser: StatementParser, state: OperationState, text: str) -> bool:
    single = parser.known_types.get(text)
    types = parser.known_type_lists.get(text) if single is None else [single]
    return types is not None and _same_types(state.operands, types)


def _type_of_result(parser: StatementParser, state: OperationState, text: str) -> bool:
    type = parser.known_types.get(text)
    if type is None:
        return False
    state.result_types = (*state.result_types, type)
    return True


_INTEGERS: Final = r"\[[\d, \-]*+\]"
_LETTERS: Final = r"\[[\w, ]*+\]"

CACHED_CUSTOMS: Final = {
    "slice_ranges": r"(\[[\d, :]*+\])",
    "dot_dimension_numbers": (
        rf"((?:batching_dims = {_INTEGERS} x {_INTEGERS}, )?+contracting_dims = {_INTEGERS} x {_INTEGERS})"
    ),
    "precision_config": rf"((?:, precision = {_LETTERS})?+)(?!,)",
    "precision_config_and_algorithm": rf"((?:, precision = {_LETTERS})?+)(?!,)",
    "exponent_mantissa": r"(e\d++m\d++)",
    "convolution_dimensions": rf"({_LETTERS}x{_LETTERS}->{_LETTERS})",
    "window_attributes": r"([\w \[\],=\-]*+)(?=\})",
}
"""Custom forms of attributes alone, with the expression of their usual spelling."""

_COMPILED: Final = {f"({PLAIN_TYPE})": TYPE_PATTERN, f"({FUNCTION_TYPE})": FUNCTION_TYPE_PATTERN}
"""Expressions of types, and their patterns."""

_NAMED: Final = {
    "operands": [Piece(rf"((?:{VALUE_USE}(?:,[ ]?+{VALUE_USE})*+)?+)(?![,%])", _operands)],
    "attr-dict": [Piece(r"(?!\{)")],
    "functional-type": [Piece(f"({FUNCTION_TYPE})", _functional_type)],
    "same-type": [Piece(f"({PLAIN_TYPE})", _same_type)],
    "select-type": [
        Piece(f"({PLAIN_TYPE})", _predicate_type),
        Piece(","),
        Piece(f"({PLAIN_TYPE})", _chosen_type),
    ],
    "custom(reduce)": [
        Piece(r"\("),
        Piece(f"({VALUE_USE})", _operand),
        Piece(rf"init{SKIP}:"),
        Piece(f"({VALUE_USE})", _operand),
        Piece(rf"\){SKIP}applies"),
        Piece(r"(stablehlo\.\w++)", _applied),
        Piece(rf"across{SKIP}dimensions{SKIP}="),
        Piece(rf"({_INTEGERS})", _dimensions("dimensions")),
        Piece(":"),
        Piece(f"({FUNCTION_TYPE})", _functional_type),
    ],
    "custom(constant)": [Piece(rf"dense{SKIP}({SPLAT})", _constant)],
}
