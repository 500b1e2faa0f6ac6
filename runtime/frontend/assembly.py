"""Pretty forms: the declared `assembly` of an operation, compiled once into steps that parse it.

A form is a list of items separated by blanks:

- ``$name``: a declared operand (a list where it is variadic) or an attribute in its bare form;
- ``operands``, ``regions``: all of them; ``attr-dict``;
- ``functional-type``, ``same-type``, ``complex-type``, ``select-type``, ``tuple-type``, ``pairwise-types``,
  ``type($name)``, ``types($name)``: types of operands, which are checked, and of results;
- ``( ... )?``: a group that may be absent; its first item decides;
- ``custom(name)``: a form of `custom_assembly`;
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
from .quick_forms import CACHED_CUSTOMS, QuickForm, cached, quick_form
from .signature import Signature, Step
from .statement_parser import OperationState, StatementParser

_TYPE_ITEM: Final = re.compile(r"type|custom\((?:call|constant|reduce|scan|while)\)")

_REGIONS: Final = Pattern(r"\(\s*\{")

_USES_BEFORE_QUICK: Final = 16
"""A pattern takes as long to make as so many operations to read step by step, about."""


class Form:
    """A compiled pretty form.

    Attributes:
        steps: read every spelling, in order.
        quick: reads the usual spelling at once, or None.
    """

    __slots__ = ("_make_quick", "_uses", "quick", "steps")

    def __init__(
        self, steps: Sequence[Step], make_quick: Callable[[], QuickForm | None] | None = None
    ) -> None:
        self.steps = steps
        self.quick: QuickForm | None = None
        self._make_quick = make_quick
        self._uses = 0

    def parse(self, parser: StatementParser, state: OperationState) -> None:
        """Consume what follows the operation's name."""
        if self.quick is not None:
            if self.quick.read(parser, state):
                return
        elif self._make_quick is not None:
            self._uses += 1
            if self._uses > _USES_BEFORE_QUICK:
                self.quick, self._make_quick = self._make_quick(), None
        for step in self.steps:
            step(parser, state)


def compile_assembly(form: str, signature: Signature) -> Form:
    """The form that a declaration describes.

    Raises:
        ValueError: the form names what the signature lacks.
    """
    steps = _Compiler(form.split(), signature).items(None)
    if signature.results and not _TYPE_ITEM.search(form):
        return Form([*steps, _constant_type])
    return Form(steps, lambda: quick_form(form, signature))


def _constant_type(parser: StatementParser, state: OperationState) -> None:
    """A form without types is that of a constant, whose type is its value's."""
    for attribute in state.attributes.values():
        if isinstance(attribute, DenseElementsAttribute):
            state.result_types = (attribute.type,)


class _Compiler:
    def __init__(self, items: list[str], signature: Signature) -> None:
        self.remaining = items[::-1]
        self.signature = signature

    def items(self, close: str | None) -> list[Step]:
        """Steps up to the end, or to the `close` that ends a group."""
        steps: list[Step] = []
        while self.remaining:
            item = self.remaining.pop()
            if item == close:
                return steps
            steps.append(self._step(item))
        if close is not None:
            raise ValueError("a group is not closed")
        return steps

    def _step(self, item: str) -> Step:
        if item == "(" and self._is_group():
            return self._group()
        if item.startswith("$"):
            return self._part(item[1:])
        if item.startswith("custom(") and item.endswith(")"):
            name = item[7:-1]
            step = custom_assembly.FORMS[name]
            return cached(name, step) if name in CACHED_CUSTOMS else step
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

    def _group(self) -> Step:
        first = self.remaining[-1]
        steps = self.items(")?")
        if first.startswith("$"):
            name = first[1:]
            if name in self.signature.operands:
                return _operand_group(steps)
            return _attribute_group(steps)
        return _literal_group(first, steps)

    def _part(self, name: str) -> Step:
        if name in self.signature.operands:
            return _operand_list(name) if self.signature.operands[name] else _single_operand(name)
        if name in self.signature.attributes:
            kind, key = self.signature.attributes[name]
            return _attribute(kind, key)
        raise ValueError(f"${name} is neither an operand nor an attribute")

    def _type_of(self, name: str) -> Step:
        if name in self.signature.operands:
            return _operand_types(name)
        if name in self.signature.results:
            return _result_types if self.signature.results[name] else _result_type
        raise ValueError(f"type(${name}) is neither an operand nor a result")


def _literal(text: str) -> Step:
    def step(parser: StatementParser, state: OperationState) -> None:
        parser.expect(text)

    return step


def _single_operand(name: str) -> Step:
    def step(parser: StatementParser, state: OperationState) -> None:
        operand = parser.operand()
        state.operands.append(operand)
        state.groups[name] = [operand]

    return step


def _operand_list(name: str) -> Step:
    def step(parser: StatementParser, state: OperationState) -> None:
        state.groups[name] = operands = parser.operands()
        state.operands += operands

    return step


def _attribute(kind: AttributeKind, key: str) -> Step:
    parse = bare_attribute(kind)

    def step(parser: StatementParser, state: OperationState) -> None:
        state.attributes[key] = parse(parser)

    return step


def _run(parser: StatementParser, state: OperationState, steps: list[Step]) -> None:
    for step in steps:
        step(parser, state)


def _operand_group(steps: list[Step]) -> Step:
    """Present where a value comes next; where it is absent, ``()`` may say so."""

    def step(parser: StatementParser, state: OperationState) -> None:
        if parser.peek() == "%":
            _run(parser, state, steps)
        elif parser.accept("("):
            parser.expect(")")

    return step


def _attribute_group(steps: list[Step]) -> Step:
    def step(parser: StatementParser, state: OperationState) -> None:
        if parser.peek() not in "{:":
            _run(parser, state, steps)

    return step


def _literal_group(literal: str, steps: list[Step]) -> Step:
    def step(parser: StatementParser, state: OperationState) -> None:
        if parser.at(literal):
            _run(parser, state, steps)

    return step


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


def _operand_types(name: str) -> Step:
    def step(parser: StatementParser, state: OperationState) -> None:
        group = state.groups[name]
        position = parser.position
        types = parser.types() if len(group) > 1 else [parser.type()] if group else []
        parser.check_operand_types(group, types, position)

    return step


def _result_type(parser: StatementParser, state: OperationState) -> None:
    state.result_types = (*state.result_types, parser.type())


def _result_types(parser: StatementParser, state: OperationState) -> None:
    state.result_types = (*state.result_types, *parser.types())


_NAMED: Final[dict[str, Step]] = {
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
