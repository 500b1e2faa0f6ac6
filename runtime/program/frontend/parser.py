"""Parse the text of a module, of a type, or of a list of attributes.

Source: MLIR language reference, "Modules"; the func and builtin dialects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ...errors import ParseError
from ...types import FunctionType, Type
from ..ir import (
    Attribute,
    Function,
    Module,
    Operation,
    Source,
)
from .lexer import parse_error
from .module_items import location_names, module_item, module_of
from .operation_parser import OperationParser
from .resources import OPENING, parse_resources
from .statement_parser import BUILTIN_NAMES, NAME, STATEMENT


def parse(text: str, name: str = "<text>") -> Module:
    """Parse one module, or functions without a module around them.

    Args:
        text: the program as MLIR prints it, in pretty or generic form.
        name: the name of the text in errors and locations, usually its file name.

    Returns:
        the module; functions outside a module become the body of an unnamed one.

    Raises:
        ParseError: the text is malformed.
        UnsupportedError: no operation is declared under a name in pretty form.
    """
    if not text.isascii():
        _check_encoding(text, name)
    parser = Parser(text, name)
    with _typed_recursion_errors(name):
        return parser.module()


def parse_type(text: str, name: str = "<type>") -> Type:
    """Parse one type, such as ``tensor<3x4xf32>``.

    Args:
        text: the type as MLIR prints it; blanks around it are ignored.
        name: the name of the text in errors.

    Raises:
        ParseError: the text is malformed, or something follows the type.
    """
    if not text.isascii():
        _check_encoding(text, name)
    parser = Parser(text, name)
    with _typed_recursion_errors(name):
        parsed = parser.type()
    if parser.skip() != len(text):
        parser.fail_expecting("the end of the text after the type")
    return parsed


def parse_attributes(text: str, name: str = "<attributes>") -> list[Attribute]:
    """Parse attributes that commas separate, such as ``dense<1> : tensor<i32>, dense<2.0> : tensor<f32>``.

    Args:
        text: the attributes as MLIR prints them; the empty text has none.
        name: the name of the text in errors.

    Raises:
        ParseError: the text is malformed.
    """
    if not text.isascii():
        _check_encoding(text, name)
    parser = Parser(text, name)
    attributes: list[Attribute] = []
    with _typed_recursion_errors(name):
        while parser.skip() != len(text):
            if attributes:
                parser.expect(",")
            attributes.append(parser.attribute())
    return attributes


@contextmanager
def _typed_recursion_errors(name: str) -> Iterator[None]:
    """Raise a ParseError where the text of that name is nested deeper than functions may call each other."""
    try:
        yield
    except RecursionError:
        raise ParseError(f"{name}: nested too deeply for the depth of the calling code") from None


def _check_encoding(text: str, name: str) -> None:
    """Raise a ParseError at the first character that UTF-8 cannot encode."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        reason = "a lone surrogate is not a character"
        raise parse_error(reason, text, Source(name, text), error.start) from None


class Parser(OperationParser):
    """Parses one text: the last layer of the parser, which knows modules and functions."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text, name)
        self._resources: dict[str, tuple[int, int]] | None = None

    def module(self) -> Module:
        """Consume the whole text."""
        items: list[Function | Module | Operation] = []
        while self.skip() < len(self.text):
            next_character = self.text[self.position]
            if next_character in "#!" and self.alias_definition():
                continue
            if self.text.startswith(OPENING, self.position):
                parse_resources(self)
                continue
            items.append(self._item())
        return module_of(items)

    def _item(self) -> Function | Module | Operation:
        """Consume a module, a function or another operation of a module."""
        match = STATEMENT.match(self.text, self.position)
        if match is not None and match.group(1) is None and match.group(2) is not None:
            name = BUILTIN_NAMES.get(match.group(2), match.group(2))
            start = match.start(2)
            if name == "func.func":
                self.position = match.end()
                return self._function(start)
            if name == "builtin.module":
                self.position = match.end()
                return self._nested_module(start)
        operation = self.operation()
        if operation is None:
            self.fail_expecting("an operation")
        return module_item(operation, self.argument_names)

    def _nested_module(self, start: int) -> Module:
        name = self.symbol() if self.peek() == "@" else None
        attributes = self.attribute_dictionary() if self.accept("attributes") else {}
        items = self._module_body()
        location = self.optional_location() or self.location_at(start)
        return Module(items, name=name, attributes=attributes, location=location)

    def _module_body(self) -> list[Function | Module | Operation]:
        self.descend()
        outer = self.enter_isolated()
        self.expect("{")
        items: list[Function | Module | Operation] = []
        while not self.accept("}"):
            items.append(self._item())
        self.leave_isolated(outer)
        self.nesting -= 1
        return items

    def _function(self, start: int) -> Function:
        visibility = self.optional_keyword()
        if visibility is not None and visibility not in ("public", "private", "nested"):
            self.fail_expecting("a function's name", self.position - len(visibility))
        name = self.symbol()
        arguments, inputs, argument_attributes = self._function_arguments()
        results, result_attributes = self._function_results()
        attributes = dict(self.attribute_dictionary()) if self.accept("attributes") else {}
        body = None
        if self.peek() == "{":
            body = self.isolated_region(arguments) if arguments or not inputs else None
            if body is None:
                self.fail_expecting("arguments with names, since the function has a body", start)
        return Function(
            name,
            FunctionType(inputs, results),
            body,
            visibility=visibility,
            attributes=attributes,
            argument_attributes=argument_attributes,
            result_attributes=result_attributes,
            location=self.optional_location() or self.location_at(start),
            location_names=location_names(body, self.argument_names),
        )

    def _function_arguments(
        self,
    ) -> tuple[list[tuple[str, int, Type]], list[Type], list[Mapping[str, Attribute]]]:
        """Consume ``(%name: type {attributes} loc(...), ...)``; a declaration may omit the names.

        Returns:
            (name, offset, type) of each named argument; the types; the attributes.
        """
        arguments: list[tuple[str, int, Type]] = []
        types: list[Type] = []
        attributes: list[Mapping[str, Attribute]] = []
        self.expect("(")
        for _ in self.items(")"):
            match = self.match(NAME)
            if types and (match is None) != (not arguments):
                self.fail_expecting("names for all arguments or for none")
            if match is not None:
                self.expect(":")
            types.append(self.type())
            if match is not None:
                arguments.append((match.group(1), match.start(1), types[-1]))
            attributes.append(self.optional_attribute_dictionary())
            self.argument_location(self.position if match is None else match.start(1))
        return arguments, types, attributes

    def _function_results(self) -> tuple[list[Type], list[Mapping[str, Attribute]]]:
        types: list[Type] = []
        attributes: list[Mapping[str, Attribute]] = []
        if not self.accept("->"):
            return types, attributes
        if not self.accept("("):
            return [self.type()], [{}]
        for _ in self.items(")"):
            types.append(self.type())
            attributes.append(self.optional_attribute_dictionary())
        return types, attributes

    def resource_spans(self) -> dict[str, tuple[int, int]]:
        if self._resources is None:
            start = self.text.rfind(OPENING)
            self._resources = {}
            if start >= 0:
                saved = self.position
                self.position = start
                self._resources = parse_resources(self)
                self.position = saved
        return self._resources
