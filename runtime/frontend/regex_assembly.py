"""Assembly formats as regular expressions: one match parses an operation in MLIR's usual spelling.

Where the expression does not match, or the text uses types or values that no earlier statement defined, the
actions of `assembly` parse the operation: they accept every spelling and report errors.
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
from .signature import ParseAction, Signature
from .statement_parser import OperationState, StatementParser
from .type_parser import FUNCTION_TYPE, FUNCTION_TYPE_PATTERN, PLAIN_TYPE, TYPE_LIST, TYPE_PATTERN

GroupHandler = Callable[[StatementParser, OperationState, Any], bool]
"""Handles the text of a capturing group; returns False to leave the operation to the actions."""


class Fragment(NamedTuple):
    """A fragment of a regular expression; with one capturing group if it has a handler, else with none."""

    expression: str
    take: GroupHandler | None = None


class RegexFormat:
    """A compiled regular expression and the handlers of its capturing groups.

    Types at the end are matched separately: their expression is slow to compile and already compiled.
    """

    __slots__ = ("expression", "last", "takes")

    def __init__(self, fragments: Sequence[Fragment]) -> None:
        self.last = _COMPILED.get(fragments[-1].expression)
        leading = fragments if self.last is None else fragments[:-1]
        self.expression = re.compile("".join(SKIP + fragment.expression for fragment in leading), re.ASCII)
        self.takes = [fragment.take for fragment in fragments if fragment.take is not None]

    def read(self, parser: StatementParser, state: OperationState) -> bool:
        """Consume what follows an operation's name; return False and consume nothing if it does not match."""
        match = self.expression.match(parser.text, parser.position)
        if match is None:
            return False
        texts, end = match.groups(), match.end()
        if self.last is not None:
            match = self.last.match(parser.text, end)
            if match is None:
                return False
            texts, end = (*texts, match[1]), match.end()
        for take, text in zip(self.takes, texts, strict=True):
            if not take(parser, state, text):
                state.clear()
                return False
        parser.position = end
        return True


def compile_regex_format(assembly: str, signature: Signature) -> RegexFormat | None:
    """Compile the regular expression of an assembly format; None if an item of the format has none."""
    pieces = _fragments(_expanded(assembly).split(), signature)
    return None if pieces is None else RegexFormat(pieces)


def _expanded(assembly: str) -> str:
    return assembly.replace("custom(call)", "$callee ( operands ) attr-dict : functional-type")


def _fragments(items: list[str], signature: Signature) -> list[Fragment] | None:
    fragments: list[Fragment] = []
    remaining = items[::-1]
    while remaining:
        item = remaining.pop()
        end = _group_length(remaining) if item == "(" else None
        if end is None:
            item_fragments = _item_fragments(item, signature)
        else:
            group = [remaining.pop() for _ in range(end)]
            remaining.pop()
            inner = _fragments(group, signature)
            item_fragments = None if inner is None else _optional(inner)
        if item_fragments is None:
            return None
        fragments += item_fragments
    return fragments


def _group_length(remaining: list[str]) -> int | None:
    """The number of items in the group after ``(``; None if the parenthesis is a literal."""
    close = next((n for n, item in enumerate(reversed(remaining)) if item in ("(", ")", ")?")), None)
    return close if close is not None and remaining[-1 - close] == ")?" else None


def _optional(fragments: list[Fragment]) -> list[Fragment] | None:
    """An optional group as one fragment; the group is absent only where its first literal is absent."""
    takes = [fragment.take for fragment in fragments if fragment.take is not None]
    if len(takes) != 1 or fragments[0].take is not None:
        return None
    (take,) = takes

    def take_if_there(parser: StatementParser, state: OperationState, text: str | None) -> bool:
        return text is None or take(parser, state, text)

    present = "".join(SKIP + fragment.expression for fragment in fragments)
    return [Fragment(f"(?:{present}|(?!{SKIP}{fragments[0].expression}))", take_if_there)]


def cached(name: str, action: ParseAction) -> ParseAction:
    """The action of a custom directive, extended to cache the attributes that each text stands for."""

    def remember(parser: StatementParser, state: OperationState) -> None:
        outer, state.attributes = state.attributes, {}
        start = parser.skip()
        action(parser, state)
        parser.cached_directives[name, parser.text[start : parser.position]] = state.attributes
        state.attributes = {**outer, **state.attributes}

    return remember


def _item_fragments(item: str, signature: Signature) -> list[Fragment] | None:
    if item.startswith("$"):
        return _part(item[1:], signature)
    if item in _NAMED:
        return _NAMED[item]
    if item.startswith("custom("):
        expression = CACHED_DIRECTIVES.get(item[7:-1])
        return None if expression is None else [Fragment(expression, _custom(item[7:-1]))]
    if item.startswith("type($"):
        return _type_of(item[6:-1], signature)
    if item.startswith("types($"):
        return _type_of(item[7:-1], signature)
    if item in ("(", ")") or re.fullmatch(r"[\w,:=\[\]{}]+|->", item):
        return [Fragment(re.escape(item) + (r"(?![\w$.])" if item[-1].isalnum() else ""))]
    return None


def _part(name: str, signature: Signature) -> list[Fragment] | None:
    if name in signature.operands:
        return _NAMED["operands"] if signature.operands[name] else [Fragment(f"({VALUE_USE})", _operand)]
    kind, key = signature.attributes[name]
    if kind is kinds.I64:
        return [Fragment(r"(-?+\d{1,18})(?![\w.])", _integer(key))]
    if kind is kinds.DIMENSIONS:
        return [Fragment(r"(\[[\d, \-]*+\])", _dimensions(key))]
    if kind is kinds.BOOL:
        return [Fragment(r"(true|false)(?![\w$.])", _boolean(key))]
    if kind is kinds.SYMBOL:
        return [Fragment(r"@([A-Za-z_][\w$.\-]*+)(?!::)", _symbol(key))]
    if isinstance(kind, kinds.Enum):
        return [Fragment(r"([A-Za-z_][\w$.]*+)", _enum(kind, key))]
    return None


def _type_of(name: str, signature: Signature) -> list[Fragment] | None:
    """Types of results, or of all operands where there is one declared operand."""
    if signature.results.get(name) is False:
        return [Fragment(f"({PLAIN_TYPE})", _append_result_type)]
    return [Fragment(f"({TYPE_LIST})", _operand_types)] if list(signature.operands) == [name] else None


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


def _integer(key: str) -> GroupHandler:
    type = ELEMENT_TYPES["i64"]

    def take(parser: StatementParser, state: OperationState, text: str) -> bool:
        state.attributes[key] = IntegerAttribute(int(text), type)
        return True

    return take


def _dimensions(key: str) -> GroupHandler:
    type = ELEMENT_TYPES["i64"]

    def take(parser: StatementParser, state: OperationState, text: str) -> bool:
        cached = parser.cached_dimensions.get(text)
        if cached is None:
            try:
                values = tuple(map(int, text[1:-1].split(","))) if len(text) > 2 else ()
                cached = parser.cached_dimensions[text] = DenseArrayAttribute(type, values)
            except ValueError:
                return False
        state.attributes[key] = cached
        return True

    return take


def _boolean(key: str) -> GroupHandler:
    attributes = {"true": BoolAttribute(True), "false": BoolAttribute(False)}

    def take(parser: StatementParser, state: OperationState, text: str) -> bool:
        state.attributes[key] = attributes[text]
        return True

    return take


def _symbol(key: str) -> GroupHandler:
    def take(parser: StatementParser, state: OperationState, text: str) -> bool:
        state.attributes[key] = SymbolAttribute(text)
        return True

    return take


def _enum(kind: kinds.Enum, key: str) -> GroupHandler:
    attributes: dict[str, Attribute] = {
        member.value: EnumAttribute(kind.dialect, kind.mnemonic, member.value) for member in kind.members
    }

    def take(parser: StatementParser, state: OperationState, text: str) -> bool:
        value = attributes.get(text)
        if value is None:
            return False
        state.attributes[key] = value
        return True

    return take


def _custom(name: str) -> GroupHandler:
    def take(parser: StatementParser, state: OperationState, text: str) -> bool:
        cached = parser.cached_directives.get((name, text))
        if cached is None:
            return False
        state.attributes.update(cached)
        return True

    return take


def _constant(parser: StatementParser, state: OperationState, text: str) -> bool:
    cached = parser.cached_splats.get(text)
    if cached is None:
        return False
    state.attributes["value"] = cached
    state.result_types = (cached.type,)
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
    type = parser.cached_function_types.get(text)
    if type is None or not _same_types(state.operands, type.inputs):
        return False
    state.result_types = type.results
    return True


def _same_type(parser: StatementParser, state: OperationState, text: str) -> bool:
    type = parser.cached_types.get(text)
    if type is None:
        return False
    for operand in state.operands:
        if operand.type is not type and operand.type != type:
            return False
    state.result_types = (type,)
    return True


def _predicate_type(parser: StatementParser, state: OperationState, text: str) -> bool:
    return _same_types(state.operands[:1], [parser.cached_types.get(text)])  # type: ignore[list-item]


def _branch_type(parser: StatementParser, state: OperationState, text: str) -> bool:
    type = parser.cached_types.get(text)
    if type is None or not _same_types(state.operands[1:], (type, type)):
        return False
    state.result_types = (type,)
    return True


def _operand_types(parser: StatementParser, state: OperationState, text: str) -> bool:
    single = parser.cached_types.get(text)
    types = parser.cached_type_lists.get(text) if single is None else [single]
    return types is not None and _same_types(state.operands, types)


def _append_result_type(parser: StatementParser, state: OperationState, text: str) -> bool:
    type = parser.cached_types.get(text)
    if type is None:
        return False
    state.result_types = (*state.result_types, type)
    return True


_INTEGERS: Final = r"\[[\d, \-]*+\]"
_LETTERS: Final = r"\[[\w, ]*+\]"

CACHED_DIRECTIVES: Final = {
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
"""Custom directives that parse attributes only, with the expression of their usual spelling."""

_COMPILED: Final = {f"({PLAIN_TYPE})": TYPE_PATTERN, f"({FUNCTION_TYPE})": FUNCTION_TYPE_PATTERN}
"""Expressions of types, and their compiled patterns."""

_NAMED: Final = {
    "operands": [Fragment(rf"((?:{VALUE_USE}(?:,[ ]?+{VALUE_USE})*+)?+)(?![,%])", _operands)],
    "attr-dict": [Fragment(r"(?!\{)")],
    "functional-type": [Fragment(f"({FUNCTION_TYPE})", _functional_type)],
    "same-type": [Fragment(f"({PLAIN_TYPE})", _same_type)],
    "select-type": [
        Fragment(f"({PLAIN_TYPE})", _predicate_type),
        Fragment(","),
        Fragment(f"({PLAIN_TYPE})", _branch_type),
    ],
    "custom(reduce)": [
        Fragment(r"\("),
        Fragment(f"({VALUE_USE})", _operand),
        Fragment(rf"init{SKIP}:"),
        Fragment(f"({VALUE_USE})", _operand),
        Fragment(rf"\){SKIP}applies"),
        Fragment(r"(stablehlo\.\w++)", _applied),
        Fragment(rf"across{SKIP}dimensions{SKIP}="),
        Fragment(rf"({_INTEGERS})", _dimensions("dimensions")),
        Fragment(":"),
        Fragment(f"({FUNCTION_TYPE})", _functional_type),
    ],
    "custom(constant)": [Fragment(rf"dense{SKIP}({SPLAT})", _constant)],
}
