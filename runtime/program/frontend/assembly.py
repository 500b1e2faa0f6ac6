"""Compile an operation's assembly format, the declared `assembly`, into parse actions.

A format is a list of items separated by blanks:

- ``$name``: a declared operand (a list where it is variadic) or an attribute in its compact spelling;
- ``operands``, ``regions``: all of them; ``attr-dict``;
- ``functional-type``, ``same-type`` and the other functions of `operation_types`, ``type($name)``,
  ``types($name)``: types of operands, which are checked, and of results;
- ``( ... )?``: an optional group, present if the text continues with its first item;
- ``custom(name)``: a directive of `custom_assembly`;
- any other item is a literal.
"""

from __future__ import annotations

from typing import Any, Final

from ..ops.framework.attribute_kinds import AttributeKind
from . import custom_assembly, operation_types
from .bare_attributes import bare_attribute
from .lexer import LazyPattern
from .signature import ParseAction, Signature
from .statement_parser import OperationState, StatementParser

_REGIONS: Final = LazyPattern(r"\(\s*\{")


def compile_assembly(assembly: str, signature: Signature) -> list[ParseAction]:
    """Compile an assembly format into the actions that parse what follows the operation's name, in order.

    Raises:
        ValueError: the format names an operand, result or attribute that the signature lacks.
    """
    return _Compiler(assembly.split(), signature).items(None)


class _Compiler:
    def __init__(self, items: list[str], signature: Signature) -> None:
        self.remaining = items[::-1]
        self.signature = signature

    def items(self, close: str | None) -> list[ParseAction]:
        """Compile the remaining items, or those before `close`, the item that ends a group."""
        actions: list[ParseAction] = []
        while self.remaining:
            item = self.remaining.pop()
            if item == close:
                return actions
            actions.append(self._action(item))
        if close is not None:
            raise ValueError("a group has no end")
        return actions

    def _action(self, item: str) -> ParseAction:
        if item == "(" and self._is_group():
            return self._group()
        if item.startswith("$"):
            return self._field(item[1:])
        if item.startswith("custom(") and item.endswith(")"):
            return custom_assembly.DIRECTIVES[item[7:-1]]
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


def _attribute(kind: AttributeKind[Any], key: str) -> ParseAction:
    def action(parser: StatementParser, state: OperationState) -> None:
        state.attributes[key] = bare_attribute(parser, kind)

    return action


def _run(parser: StatementParser, state: OperationState, actions: list[ParseAction]) -> None:
    for action in actions:
        action(parser, state)


def _operand_group(actions: list[ParseAction]) -> ParseAction:
    """An optional group that begins with operands; ``()`` also stands for its absence."""

    def action(parser: StatementParser, state: OperationState) -> None:
        if parser.peek() == "%":
            _run(parser, state, actions)
        elif parser.accept("("):
            parser.expect(")")

    return action


def _attribute_group(actions: list[ParseAction]) -> ParseAction:
    """An optional group that begins with an attribute written as a keyword."""

    def action(parser: StatementParser, state: OperationState) -> None:
        if parser.peek().isalpha():
            _run(parser, state, actions)

    return action


def _literal_group(literal: str, actions: list[ParseAction]) -> ParseAction:
    def action(parser: StatementParser, state: OperationState) -> None:
        if parser.at(literal):
            _run(parser, state, actions)

    return action


def _operands(parser: StatementParser, state: OperationState) -> None:
    if parser.peek() == "(" and not _REGIONS.match(parser.text, parser.position):
        parser.fail_expecting("operands without parentheses", parser.position)
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
    "select-type": operation_types.stablehlo_select_type,
    "tuple-type": operation_types.tuple_type,
    "pairwise-types": operation_types.pairwise_types,
    "compared-type": operation_types.compared_type,
    "selected-type": operation_types.arith_select_type,
    "index-type": operation_types.index_type,
    "element-type": operation_types.element_type,
}
