"""Text to ir: statements, regions, functions and modules, in pretty and generic form.

Source: MLIR language reference, "Operations", "Regions", "Modules"; the func and builtin dialects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from ..errors import ParseError
from ..ir import (
    Attribute,
    Block,
    DictionaryAttribute,
    Function,
    IntegerAttribute,
    Location,
    Module,
    Operation,
    Region,
    Source,
    StringAttribute,
    TypeAttribute,
    Value,
)
from ..ir.attributes import ArrayAttribute
from ..ops.declaration import lookup
from ..types import FLOAT, ElementType, FunctionType, Type
from .assembly import Form, compile_assembly, signature_of
from .attribute_parser import SIMPLE_DICTIONARY, AttributeParser
from .lexer import BARE_IDENTIFIER, SKIP, VALUE_NAME, VALUE_USE, parse_error, pattern
from .operation_types import OperationState, functional_type
from .other_dialects import FORMS
from .resources import OPENING, parse_resources
from .type_parser import FUNCTION_TYPE

_STATEMENT: Final = pattern(
    rf"(?:((?:{VALUE_NAME}(?:{SKIP}:{SKIP}\d++)?+{SKIP}(?:,{SKIP})?+)++)={SKIP})?+"
    rf'(?:({BARE_IDENTIFIER})|"([^"\\\n]*+)")'
)
_OPERAND: Final = pattern(f"({VALUE_USE})")
_OPERANDS: Final = pattern(rf"({VALUE_USE}(?:[ \t]*+,[ \t]*+{VALUE_USE})*+)")
_RESULT: Final = pattern(rf"({VALUE_NAME})(?:{SKIP}:{SKIP}(\d++))?+")
_NAME: Final = pattern(f"({VALUE_NAME})")
_LABEL: Final = pattern(r"\^([\w$.\-]++)")
_GENERIC: Final = pattern(
    rf"\(({VALUE_USE}(?:,[ ]?+{VALUE_USE})*+)?+\){SKIP}(?:<({SIMPLE_DICTIONARY})>)?+"
    rf"{SKIP}({SIMPLE_DICTIONARY})?+{SKIP}:{SKIP}({FUNCTION_TYPE})"
)

_BUILTIN_NAMES: Final = {
    "module": "builtin.module",
    "func": "func.func",
    "return": "func.return",
    "call": "func.call",
}
_ITEM_KINDS: Final = ("builtin.module", "func.func")
_FORMS: dict[str, Form] = {}


def parse(text: str, name: str = "<text>") -> Module:
    """Parse one module, or functions without a module around them.

    Args:
        text: the program as MLIR prints it, in pretty or generic form.
        name: what errors and locations call the text, usually its file name.

    Raises:
        ParseError: the text is malformed.
        UnsupportedError: an operation in pretty form is not known.
    """
    if not text.isascii():
        _check_encoding(text, name)
    parser = Parser(text, name)
    try:
        return parser.module()
    except RecursionError:
        raise ParseError(f"{name}: nested too deeply for the depth of the calling code") from None


def _check_encoding(text: str, name: str) -> None:
    """Raise where the text has characters that no bytes stand for."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        reason = "a lone surrogate is no character"
        raise parse_error(reason, text, Source(name, text), error.start) from None


def form_of(name: str) -> Form | None:
    """The compiled pretty form of an operation, or None where it has none."""
    form = FORMS.get(name)
    if form is None:
        declaration = lookup(name)
        if declaration is None or declaration.assembly is None:
            return None
        form = compile_assembly(declaration.assembly, signature_of(declaration))
    _FORMS[name] = form
    return form


class Parser(AttributeParser):
    """Parses one text."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text, name)
        self.values: dict[str, Value] = {}
        self.known_dimensions: dict[str, Attribute] = {}
        self.known_customs: dict[tuple[str, str], dict[str, Attribute]] = {}
        self._defined: list[str] = []
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
        if len(items) == 1 and isinstance(items[0], Module):
            return items[0]
        return Module(items)

    def _item(self) -> Function | Module | Operation:
        """Consume a module, a function or another operation of a module."""
        found = _STATEMENT.match(self.text, self.position)
        if found is not None and found.group(1) is None and found.group(2) is not None:
            name = _BUILTIN_NAMES.get(found.group(2), found.group(2))
            start = found.start(2)
            if name == "func.func":
                self.position = found.end()
                return self._function(start)
            if name == "builtin.module":
                self.position = found.end()
                return self._nested_module(start)
        operation = self._operation()
        if operation is None:
            self.fail("an operation")
        if operation.name in _ITEM_KINDS:
            return self._from_generic(operation)
        return operation

    def _nested_module(self, start: int) -> Module:
        name = self.symbol() if self.peek() == "@" else None
        attributes = self.attribute_dictionary() if self.accept("attributes") else {}
        items = self._module_body()
        location = self.optional_location() or self.location_at(start)
        return Module(items, name=name, attributes=attributes, location=location)

    def _module_body(self) -> list[Function | Module | Operation]:
        self.descend()
        outer = self._enter()
        self.expect("{")
        items: list[Function | Module | Operation] = []
        while not self.accept("}"):
            items.append(self._item())
        self._leave(outer)
        self.nesting -= 1
        return items

    def _enter(self) -> tuple[dict[str, Value], list[str]]:
        """Begin a region that sees no values from outside; what `_leave` restores."""
        outer = self.values, self._defined
        self.values, self._defined = {}, []
        return outer

    def _leave(self, outer: tuple[dict[str, Value], list[str]]) -> None:
        self.values, self._defined = outer

    def _function(self, start: int) -> Function:
        word = self.optional_keyword()
        if word is not None and word not in ("public", "private", "nested"):
            self.fail("a function's name", self.position - len(word))
        name = self.symbol()
        arguments, inputs, argument_attributes = self._function_arguments()
        results, result_attributes = self._function_results()
        attributes = dict(self.attribute_dictionary()) if self.accept("attributes") else {}
        body = None
        if self.peek() == "{":
            outer = self._enter()
            body = self.region(arguments) if arguments or not inputs else None
            self._leave(outer)
            if body is None:
                self.fail("arguments with names, since the function has a body", start)
        return Function(
            name,
            FunctionType(inputs, results),
            body,
            visibility=word,
            attributes=attributes,
            argument_attributes=argument_attributes,
            result_attributes=result_attributes,
            location=self.optional_location() or self.location_at(start),
        )

    def _function_arguments(
        self,
    ) -> tuple[list[tuple[str, int, Type]], list[Type], list[Mapping[str, Attribute]]]:
        """``(%name: type {attributes} loc(...), ...)``; a declaration may leave names out."""
        arguments: list[tuple[str, int, Type]] = []
        types: list[Type] = []
        attributes: list[Mapping[str, Attribute]] = []
        self.expect("(")
        for _ in self.items(")"):
            found = self.match(_NAME)
            if types and (found is None) != (not arguments):
                self.fail("names for all arguments or for none")
            if found is not None:
                self.expect(":")
            types.append(self.type())
            if found is not None:
                arguments.append((found.group(1), found.start(1), types[-1]))
            attributes.append(self.optional_attribute_dictionary())
            self.optional_location()
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

    def _from_generic(self, operation: Operation) -> Function | Module:
        """A function or module whose text is in generic form."""
        attributes = dict(operation.attributes)
        symbol = attributes.pop("sym_name", None)
        name = symbol.value if isinstance(symbol, StringAttribute) else None
        if operation.name == "builtin.module":
            nested = [
                each for region in operation.regions for block in region.blocks for each in block.operations
            ]
            items = [self._nested_item(each) for each in nested]
            return Module(items, name=name, attributes=attributes, location=operation.location)
        type = attributes.pop("function_type", None)
        if name is None or not isinstance(type, TypeAttribute) or not isinstance(type.type, FunctionType):
            raise ParseError(
                "must have sym_name and function_type", operation="func.func", location=operation.location
            )
        visibility = attributes.pop("sym_visibility", None)
        body = operation.regions[0] if operation.regions and operation.regions[0].blocks else None
        return Function(
            name,
            type.type,
            body,
            visibility=visibility.value if isinstance(visibility, StringAttribute) else None,
            argument_attributes=_dictionaries(attributes.pop("arg_attrs", None)),
            result_attributes=_dictionaries(attributes.pop("res_attrs", None)),
            attributes=attributes,
            location=operation.location,
        )

    def _nested_item(self, operation: Operation) -> Function | Module | Operation:
        return self._from_generic(operation) if operation.name in _ITEM_KINDS else operation

    def region(self, arguments: Sequence[tuple[str, int, Type]] = ()) -> Region:
        """Consume ``{...}``.

        Args:
            arguments: (name, offset, type) of each argument that the operation's own form gives.
        """
        self.descend()
        self.expect("{")
        outer = self._defined
        self._defined = []
        region = Region()
        if arguments or self.peek() != "^":
            block = self._begin_block(arguments)
            region.blocks.append(block)
            self._statements(block)
        while self.peek() == "^":
            region.blocks.append(self._labelled_block())
        self.expect("}")
        if len(region.blocks) == 1 and not region.blocks[0].operations and not region.blocks[0].arguments:
            region.blocks.clear()
        for name in self._defined:
            del self.values[name]
        self._defined = outer
        self.nesting -= 1
        return region

    def _labelled_block(self) -> Block:
        if self.match(_LABEL) is None:
            self.fail("a block's label")
        arguments: list[tuple[str, int, Type]] = []
        if self.accept("("):
            arguments = [self.block_argument() for _ in self.items(")")]
        self.expect(":")
        block = self._begin_block(arguments)
        self._statements(block)
        return block

    def block_argument(self) -> tuple[str, int, Type]:
        """Consume ``%name: type loc(...)``."""
        name, position = self.value_name()
        self.expect(":")
        type = self.type()
        self.optional_location()
        return name, position, type

    def value_name(self) -> tuple[str, int]:
        """Consume a value's name; the name and its offset."""
        found = self.match(_NAME)
        if found is None:
            self.fail("a value's name such as '%0'")
        return found.group(1), found.start(1)

    def _begin_block(self, arguments: Sequence[tuple[str, int, Type]]) -> Block:
        block = Block([type for _, _, type in arguments])
        for (name, position, _), value in zip(arguments, block.arguments, strict=True):
            self._define_value(name, value, position)
        return block

    def _define_value(self, name: str, value: Value, position: int) -> None:
        if name in self.values:
            self.fail_with(f"{name} is defined twice", position)
        self.values[name] = value
        self._defined.append(name)

    def _statements(self, block: Block) -> None:
        append = block.operations.append
        while (operation := self._operation()) is not None:
            append(operation)
        if self.peek() not in ("}", "^"):
            self.fail("an operation or '}'")

    def _operation(self) -> Operation | None:
        """Consume an operation with its results' names and its location; None where none comes next."""
        found = _STATEMENT.match(self.text, self.position)
        if found is None:
            return None
        self.position = found.end()
        results, name, quoted = found.groups()
        if name is not None:
            start = found.start(2)
            if "." not in name:
                name = _BUILTIN_NAMES.get(name, name)
            state = OperationState(name, start)
            form = _FORMS.get(name) or form_of(name)
            if form is None and "." not in name:
                self.fail("an operation's name with its dialect", start)
            if form is None:
                self.unsupported("the operation is not supported", name, start)
            form.parse(self, state)
        else:
            start = found.start(3) - 1
            state = OperationState(quoted, start)
            self.generic_rest(state)
        location: Location = self.optional_location() or self.location_at(start)
        operation = Operation(
            state.name, state.operands, state.result_types, state.attributes, state.regions, location
        )
        if results is None:
            return operation
        if ":" not in results and "," not in results and len(operation.results) == 1:
            self._define_value(results.split()[0], operation.results[0], found.start(1))
        else:
            self._define_results(operation, found.start(1))
        return operation

    def _define_results(self, operation: Operation, position: int) -> None:
        """Bind ``%a, %b:2`` to an operation's results."""
        end = self.position
        self.position = position
        values = operation.results
        bound = 0
        while True:
            found = self.match(_RESULT)
            if found is None:
                self.fail("a result's name")
            count = self.integer_value(found.group(2), found.start(2)) if found.group(2) else 1
            if not 0 < count <= len(values) - bound:
                self.fail_with(f"expected names for {len(values)} results of {operation.name}", position)
            self._define_value(found.group(1), values[bound], found.start(1))
            if count > 1:
                for index in range(count):
                    self._define_value(f"{found.group(1)}#{index}", values[bound + index], found.start(1))
            bound += count
            if not self.accept(","):
                break
        if bound != len(values):
            self.fail_with(f"expected names for {len(values)} results of {operation.name}", position)
        self.position = end

    def operand(self) -> Value:
        """Consume the use of one value."""
        found = self.match(_OPERAND)
        if found is None:
            self.fail("an operand such as '%0'")
        value = self.values.get(found.group(1))
        return value if value is not None else self._use(found.group(1), found.start(1))

    def operands(self) -> list[Value]:
        """Consume uses of values separated by commas; none is allowed."""
        found = _OPERANDS.match(self.text, self.position)
        if found is None:
            return []
        self.position = found.end()
        names = found.group(1)
        values: list[Value] = []
        for name in names.replace("\t", " ").split(","):
            value = self.values.get(name.strip())
            values.append(value if value is not None else self._use(name.strip(), found.start(1)))
        while self.accept(","):
            values.append(self.operand())
        return values

    def _use(self, name: str, position: int) -> Value:
        """The value of a name that is not bound as it stands: ``%x#0`` of one result, or an error."""
        base, _, index = name.partition("#")
        value = self.values.get(base)
        if value is not None and index == "0":
            return value
        if value is not None:
            self.fail_with(f"{base} has no result number {index}", position)
        self.fail_with(f"expected a value that is defined before its use; {name} is not", position)

    def generic_rest(self, state: OperationState) -> None:
        """Consume what follows the name in the generic form.

        ``(operands) <{properties}> ({regions}) {attributes} : functional-type``
        """
        if self._quick_generic_rest(state):
            return
        self.expect("(")
        state.operands += self.operands()
        self.expect(")")
        if self.peek() == "[":
            self.unsupported("successors are not supported", state.name, self.position)
        if self.accept("<"):
            self.add_attributes(state.attributes, self.attribute_dictionary())
            self.expect(">")
        if self.accept("("):
            state.regions += [self.region() for _ in self.items(")")]
        if self.peek() == "{":
            self.add_attributes(state.attributes, self.attribute_dictionary())
        self.expect(":")
        functional_type(self, state)

    def _quick_generic_rest(self, state: OperationState) -> bool:
        """The same with a single match, where there are no regions and all parts are known."""
        found = _GENERIC.match(self.text, self.position)
        if found is None:
            return False
        operands, properties, attributes, type_text = found.groups()
        type = self.known_function_types.get(type_text)
        names = operands.split(",") if operands else []
        values = [value for name in names if (value := self.values.get(name.strip())) is not None]
        if type is None or len(values) != len(names) or [each.type for each in values] != list(type.inputs):
            return False
        given: dict[str, Attribute] = {}
        for text in (properties, attributes):
            known = self.known_dictionaries.get(text) if text else {}
            if known is None or not given.keys().isdisjoint(known):
                return False
            given.update(known)
        state.operands = values
        state.attributes = given
        state.result_types = type.results
        self.position = found.end()
        return True

    def add_attributes(self, attributes: dict[str, Attribute], more: Mapping[str, Attribute]) -> None:
        """Add attributes, none of which may be there already."""
        for name in more:
            if name in attributes:
                self.fail_with(f"attribute {name} is given twice", self.position)
        attributes.update(more)

    def boolean(self) -> bool:
        """Consume ``true`` or ``false``; 1 and 0 are taken for them."""
        if self.accept("true") or self.accept("1"):
            return True
        if self.accept("false") or self.accept("0"):
            return False
        self.fail("true or false")

    def booleans(self) -> tuple[bool, ...]:
        """Consume ``[true, false]``."""
        self.expect("[")
        return tuple([self.boolean() for _ in self.items("]")])

    def symbol_name(self) -> StringAttribute:
        """Consume ``@name`` as the attribute that names an operation."""
        return StringAttribute(self.symbol())

    def int64_array(self, values: Sequence[Sequence[int]]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """An array of values that must fit."""
        try:
            return np.array(values, np.int64)
        except OverflowError:
            self.fail_with("an integer is out of the range of i64", self.position)

    def bare_number(self, type: ElementType) -> Attribute:
        """Consume a number whose type may be left out."""
        if type.category == FLOAT:
            return self.number(type)
        position = self.skip()
        return IntegerAttribute(self.in_range(self.integer(), type, position), type)

    def resource_places(self) -> dict[str, tuple[int, int]]:
        if self._resources is None:
            start = self.text.rfind(OPENING)
            self._resources = {}
            if start >= 0:
                saved = self.position
                self.position = start
                self._resources = parse_resources(self)
                self.position = saved
        return self._resources


def _dictionaries(attribute: Attribute | None) -> list[Mapping[str, Attribute]] | None:
    """``[{...}, {...}]`` as mappings."""
    if not isinstance(attribute, ArrayAttribute):
        return None
    return [each.values if isinstance(each, DictionaryAttribute) else {} for each in attribute]
