"""Assembly formats: the declared `assembly` of an operation, compiled once into actions that parse it.

A format is a list of items separated by blanks:

- ``$name``: a declared operand (a list where it is variadic) or an attribute in its compact spelling;
- ``operands``, ``regions``: all of them; ``attr-dict``;
- ``functional-type``, ``same-type``, ``complex-type``, ``select-type``, ``tuple-type``, ``pairwise-types``,
  ``type($name)``, ``types($name)``: types of operands, which are checked, and of results;
- ``( ... )?``: a group that may be absent; its first item decides;
- ``custom(name)``: a directive of `custom_assembly`;
- everything else is literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from ..ir import DenseElementsAttribute
from ..ops.framework.attribute_kinds import AttributeKind
from . import custom_assembly, operation_types
from .bare_attributes import bare_attribute
from .lexer import Pattern
from .regex_assembly import CACHED_DIRECTIVES, RegexFormat, cached, compile_regex_format
from .signature import ParseAction, Signature
from .statement_parser import OperationState, StatementParser

_TYPE_ITEM: Final = re.compile(r"type|custom\((?:call|constant|reduce|scan|while)\)")

_REGIONS: Final = Pattern(r"\(\s*\{")

_USES_BEFORE_REGEX: Final = 16
"""Compiling a regular expression takes about as long as parsing this many operations by actions."""


class AssemblyFormat:
    """The compiled assembly format of an operation.

    Attributes:
        steps: read every spelling, in order.
        quick: reads the usual spelling at once, or None.
    """

    __slots__ = ("_make_regex", "_uses", "actions", "regex_format")

    def __init__(
        self, actions: Sequence[ParseAction], make_quick: Callable[[], RegexFormat | None] | None = None
    ) -> None:
        self.actions = actions
        self.regex_format: RegexFormat | None = None
        self._make_regex = make_quick
        self._uses = 0

    def parse(self, parser: StatementParser, state: OperationState) -> None:
        """Consume what follows the operation's name."""
        if self.regex_format is not None:
            if self.regex_format.read(parser, state):
                return
        elif self._make_regex is not None:
            self._uses += 1
            if self._uses > _USES_BEFORE_REGEX:
                self.regex_format, self._make_regex = self._make_regex(), None
        for action in self.actions:
            action(parser, state)


def compile_assembly(assembly: str, signature: Signature) -> AssemblyFormat:
    """Compile the declared assembly format of an operation.

    Raises:
        ValueError: the format names an operand, result or attribute that the signature lacks.
    """
    actions = _Compiler(assembly.split(), signature).items(None)
    if signature.results and not _TYPE_ITEM.search(assembly):
        return AssemblyFormat([*actions, _constant_type])
    return AssemblyFormat(actions, lambda: compile_regex_format(assembly, signature))


def _constant_type(parser: StatementParser, state: OperationState) -> None:
    """Take the result type from the value: a format without types belongs to a constant."""
    for attribute in state.attributes.values():
        if isinstance(attribute, DenseElementsAttribute):
            state.result_types = (attribute.type,)


class _Compiler:
    def __init__(self, items: list[str], signature: Signature) -> None:
        self.remaining = items[::-1]
        self.signature = signature

    def items(self, close: str | None) -> list[ParseAction]:
        """Compile items up to the end, or up to the `close` that ends a group."""
        actions: list[ParseAction] = []
        while self.remaining:
            item = self.remaining.pop()
            if item == close:
                return actions
            actions.append(self._action(item))
        if close is not None:
            raise ValueError("a group is not closed")
        return actions

    def _action(self, item: str) -> ParseAction:
        if item == "(" and self._is_group():
            return self._group()
        if item.startswith("$"):
            return self._field(item[1:])
        if item.startswith("custom(") and item.endswith(")"):
            name = item[7:-1]
            action = custom_assembly.DIRECTIVES[name]
            return cached(name, action) if name in CACHED_DIRECTIVES else action
        if item.startswith(("type($", "types($")) and item.endswith(")"):
            return self._type_of(item[item.index("$") + 1 : -1])
        return _NAMED.get(item) or _literal(item)

    def _is_group(self) -> bool:
        depth = 0
        for item in reversed(self.remaining):
            if item == "(":
                depth += 1
            elif item in (")", ")?"):
                if depth == 0:
                    return item == ")?"
                depth -= 1
        return False

    def _group(self) -> ParseAction:
        first = self.remaining[-1]
        actions = self.items(")?")
        if first.startswith("$"):
            name = first[1:]
            if name in self.signature.operands:
                return _operand_group(actions)
            return _attribute_group(actions)
        return _literal_group(first, actions)

    def _field(self, name: str) -> ParseAction:
        if name in self.signature.operands:
            return _operand_list(name) if self.signature.operands[name] else _single_operand(name)
        if name in self.signature.attributes:
            kind, key = self.signature.attributes[name]
            return _attribute(kind, key)
        raise ValueError(f"${name} is neither an operand nor an attribute")

    def _type_of(self, name: str) -> ParseAction:
        if name in self.signature.operands:
            return _operand_types(name)
        if name in self.signature.results:
            return _result_types if self.signature.results[name] else _result_type
        raise ValueError(f"type(${name}) is neither an operand nor a result")


def _literal(text: str) -> ParseAction:
    def action(parser: StatementParser, state: OperationState) -> None:
        parser.expect(text)

    return action


def _single_operand(name: str) -> ParseAction:
    def action(parser: StatementParser, state: OperationState) -> None:
        operand = parser.operand()
        state.operands.append(operand)
        state.groups[name] = [operand]

    return action


def _operand_list(name: str) -> ParseAction:
    def action(parser: StatementParser, state: OperationState) -> None:
        state.groups[name] = operands = parser.operands()
        state.operands += operands

    return action


def _attribute(kind: AttributeKind, key: str) -> ParseAction:
    parse = bare_attribute(kind)

    def action(parser: StatementParser, state: OperationState) -> None:
        state.attributes[key] = parse(parser)

    return action


def _run(parser: StatementParser, state: OperationState, actions: list[ParseAction]) -> None:
    for action in actions:
        action(parser, state)


def _operand_group(actions: list[ParseAction]) -> ParseAction:
    """A group that is present where a value comes next; an absent group may be written ``()``."""

    def action(parser: StatementParser, state: OperationState) -> None:
        if parser.peek() == "%":
            _run(parser, state, actions)
        elif parser.accept("("):
            parser.expect(")")

    return action


def _attribute_group(actions: list[ParseAction]) -> ParseAction:
    def action(parser: StatementParser, state: OperationState) -> None:
        if parser.peek() not in "{:":
            _run(parser, state, actions)

    return action


def _literal_group(literal: str, actions: list[ParseAction]) -> ParseAction:
    def action(parser: StatementParser, state: OperationState) -> None:
        if parser.at(literal):
            _run(parser, state, actions)

    return action


def _operands(parser: StatementParser, state: OperationState) -> None:
    if parser.peek() == "(" and not _REGIONS.match(parser.text, parser.position):
        parser.fail("operands without parentheses", parser.position)
    state.operands += parser.operands()


def _regions(parser: StatementParser, state: OperationState) -> None:
    state.regions.append(parser.region())
    while parser.accept(","):
        state.regions.append(parser.region())


def _attribute_dictionary(parser: StatementParser, state: OperationState) -> None:
    if parser.peek() == "{":
        parser.add_attributes(state.attributes, parser.attribute_dictionary())


def _operand_types(name: str) -> ParseAction:
    def action(parser: StatementParser, state: OperationState) -> None:
        group = state.groups[name]
        position = parser.position
        types = parser.types() if len(group) > 1 else [parser.type()] if group else []
        parser.check_operand_types(group, types, position)

    return action


def _result_type(parser: StatementParser, state: OperationState) -> None:
    state.result_types = (*state.result_types, parser.type())


def _result_types(parser: StatementParser, state: OperationState) -> None:
    state.result_types = (*state.result_types, *parser.types())


_NAMED: Final[dict[str, ParseAction]] = {
    "operands": _operands,
    "regions": _regions,
    "attr-dict": _attribute_dictionary,
    "functional-type": operation_types.functional_type,
    "same-type": operation_types.same_type,
    "complex-type": operation_types.complex_type,
    "select-type": operation_types.select_type,
    "tuple-type": operation_types.tuple_type,
    "pairwise-types": operation_types.pairwise_types,
}
