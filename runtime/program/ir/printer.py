"""Print ir as MLIR text: modules and functions in pretty form, operations in generic form.

The text parses to the same module, in this project and in MLIR.

Source: MLIR language reference, "Operations", "Attributes".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol, cast

import numpy as np

from ...types import (
    COMPLEX,
    ELEMENT_TYPES,
    FLOAT,
    Array,
    ElementType,
    QuantizedType,
    TensorType,
    Type,
    decimal_text,
)
from .attributes import (
    ArrayAttribute,
    Attribute,
    BoolAttribute,
    DenseArrayAttribute,
    DenseElementsAttribute,
    DenseResourceAttribute,
    DenseStringsAttribute,
    DialectAttribute,
    DictionaryAttribute,
    EnumAttribute,
    FieldValue,
    FloatAttribute,
    FunctionAttribute,
    IntegerAttribute,
    LocationAttribute,
    OpaqueAttribute,
    StringAttribute,
    StructAttribute,
    SymbolAttribute,
    TypeAttribute,
    UnitAttribute,
)
from .location import CallSiteLocation, FileLocation, FusedLocation, Location, NameLocation, SourceLocation
from .operation import Block, Function, Operation, Region, Value

MAX_LISTED_ELEMENTS: Final = 64
"""Maximum number of elements that are printed as a list; larger constants become hexadecimal digits."""

MAX_SHOWN_ELEMENTS: Final = 16
"""Maximum number of elements of a constant that a brief text shows."""

_BARE: Final = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)
_SYMBOL: Final = re.compile(r"[A-Za-z_][\w$.\-]*", re.ASCII)
_ENUMS_IN_ANGLES: Final = frozenset({"result_accuracy_mode"})


class PrintedModule(Protocol):
    """The attributes of `nimblehlo.program.ir.Module` that are printed."""

    name: str | None
    attributes: dict[str, Attribute]
    body: list[Any]
    location: Location


def print_module(module: PrintedModule, locations: bool = False) -> str:
    """The text of a module.

    Args:
        locations: whether each operation is followed by its ``loc(...)``.
    """
    printer = Printer(locations)
    printer.module(module)
    return "\n".join(printer.lines) + "\n"


class Printer:
    """Collects lines.

    Attributes:
        lines: the text so far.
    """

    def __init__(self, locations: bool = False) -> None:
        self.lines: list[str] = []
        self._locations = locations
        self._indent = ""
        self._names: dict[Value, str] = {}
        self._values = 0
        self._arguments = 0
        self._types: dict[Type, str] = {}

    def module(self, module: PrintedModule) -> None:
        name = f" {symbol_text(module.name)}" if module.name is not None else ""
        attributes = f" attributes {self.dictionary(module.attributes)}" if module.attributes else ""
        self._line(f"module{name}{attributes} {{")
        outer, self._indent = self._indent, self._indent + "  "
        for item in module.body:
            if isinstance(item, Function):
                self.function(item)
            elif isinstance(item, Operation):
                self.operation(item)
            else:
                self.module(item)
        self._indent = outer
        self._line("}" + self._location(module.location))

    def function(self, function: Function) -> None:
        """Print a function; its values are renumbered."""
        self._names, self._values, self._arguments = {}, 0, 0
        inputs = []
        arguments = function.body.blocks[0].arguments if function.body and function.body.blocks else None
        for index, type in enumerate(function.type.inputs):
            name = f"{self._argument(arguments[index])}: " if arguments is not None else ""
            inputs.append(name + self._attributed(type, function.argument_attributes[index]))
        results = ""
        if function.type.results:
            listed = ", ".join(map(self._attributed, function.type.results, function.result_attributes))
            plain = len(function.type.results) == 1 and not function.result_attributes[0]
            results = f" -> {listed}" if plain and not listed.startswith("(") else f" -> ({listed})"
        visibility = f"{function.visibility} " if function.visibility else ""
        attributes = f" attributes {self.dictionary(function.attributes)}" if function.attributes else ""
        head = f"func.func {visibility}{symbol_text(function.name)}({', '.join(inputs)}){results}{attributes}"
        if function.body is None:
            self._line(head + self._location(function.location))
            return
        self._line(head + " {")
        self._blocks(function.body, labelled=False)
        self._line("}" + self._location(function.location))

    def operation(self, operation: Operation) -> None:
        """Print an operation in generic form."""
        results = ""
        if operation.results:
            name = f"%{self._values}"
            self._values += 1
            count = len(operation.results)
            results = f"{name} = " if count == 1 else f"{name}:{count} = "
            for index, result in enumerate(operation.results):
                self._names[result] = name if count == 1 else f"{name}#{index}"
        operands = ", ".join(map(self._name, operation.operands))
        head = f"{results}{quoted(operation.name)}({operands})"
        attributes = f" {self.dictionary(operation.attributes)}" if operation.attributes else ""
        types = f" : {self._function_type(operation)}"
        tail = attributes + types + self._location(operation.location)
        if not operation.regions:
            self._line(head + tail)
            return
        self._line(head + " ({")
        for index, region in enumerate(operation.regions):
            if index:
                self._line("}, {")
            self._blocks(region, labelled=True)
        self._line("})" + tail)

    def _blocks(self, region: Region, labelled: bool) -> None:
        outer = self._indent
        for index, block in enumerate(region.blocks):
            if index or (labelled and block.arguments):
                self._indent = outer
                self._label(block, index)
            self._indent = outer + "  "
            for operation in block.operations:
                self.operation(operation)
        self._indent = outer

    def _label(self, block: Block, index: int) -> None:
        arguments = ", ".join(
            f"{self._argument(argument)}: {self.type(argument.type)}" for argument in block.arguments
        )
        self._line(f"^bb{index}{f'({arguments})' if arguments else ''}:")

    def _line(self, text: str) -> None:
        self.lines.append(self._indent + text)

    def _argument(self, value: Value) -> str:
        name = self._names[value] = f"%arg{self._arguments}"
        self._arguments += 1
        return name

    def _name(self, value: Value) -> str:
        """The name of a value; one that is defined outside gets its name at its first use."""
        return self._names.get(value) or self._argument(value)

    def _function_type(self, operation: Operation) -> str:
        inputs = ", ".join([self.type(operand.type) for operand in operation.operands])
        results = [self.type(result.type) for result in operation.results]
        if len(results) == 1 and not results[0].startswith("("):
            return f"({inputs}) -> {results[0]}"
        return f"({inputs}) -> ({', '.join(results)})"

    def _attributed(self, type: Type, attributes: Mapping[str, Attribute]) -> str:
        return f"{self.type(type)} {self.dictionary(attributes)}" if attributes else self.type(type)

    def _location(self, location: Location) -> str:
        return f" loc({location_text(location)})" if self._locations else ""

    def type(self, type: Type) -> str:
        text = self._types.get(type)
        if text is None:
            text = self._types[type] = str(type)
        return text

    def dictionary(self, attributes: Mapping[str, Attribute]) -> str:
        """``{name = attribute, ...}``, sorted by name."""
        return "{" + ", ".join(self._entry(name, attributes[name]) for name in sorted(attributes)) + "}"

    def _entry(self, name: str, attribute: Attribute) -> str:
        shown = name if _BARE.fullmatch(name) else quoted(name)
        return shown if isinstance(attribute, UnitAttribute) else f"{shown} = {self.attribute(attribute)}"

    def attribute(self, attribute: Attribute) -> str:
        """The text of an attribute with its type."""
        match attribute:
            case DenseElementsAttribute():
                return self.dense(attribute)
            case BoolAttribute(value):
                return "true" if value else "false"
            case IntegerAttribute(value, type):
                return f"{value} : {type}"
            case FloatAttribute(value, type):
                return f"{float_text(value, type)} : {type}"
            case StringAttribute(value):
                return quoted(value)
            case UnitAttribute():
                return "unit"
            case TypeAttribute(type):
                return self.type(type)
            case SymbolAttribute(root, nested):
                return "::".join(map(symbol_text, (root, *nested)))
            case ArrayAttribute(values):
                return f"[{self._joined(values)}]"
            case DenseArrayAttribute(element_type, values):
                listed = ", ".join(_scalar_text(value, element_type) for value in values)
                return f"array<{element_type}{': ' if values else ''}{listed}>"
            case DictionaryAttribute(values):
                return self.dictionary(values)
            case DenseStringsAttribute(type, values):
                return f"dense<{_string_lists(values, type)}> : {self.type(type)}"
            case DenseResourceAttribute(name, type):
                return (
                    f"dense_resource<{name if _BARE.fullmatch(name) else quoted(name)}> : {self.type(type)}"
                )
            case EnumAttribute(dialect, mnemonic, value):
                if mnemonic in _ENUMS_IN_ANGLES:
                    return f"#{dialect}.{mnemonic}<{value}>"
                return f"#{dialect}<{mnemonic} {value}>"
            case StructAttribute():
                return self.struct(attribute)
            case LocationAttribute(location):
                return f"loc({location_text(location)})"
            case OpaqueAttribute(text):
                return text
            case DialectAttribute():
                return str(attribute)
            case FunctionAttribute():
                return "#nimblehlo.function"

    def _joined(self, attributes: Iterable[Attribute]) -> str:
        return ", ".join(map(self.attribute, attributes))

    def struct(self, attribute: StructAttribute) -> str:
        """``#dialect.mnemonic<field = value, ...>``."""
        listed = ", ".join(f"{name} = {self._field(value)}" for name, value in attribute.fields.items())
        if not attribute.mnemonic:
            return f"<{listed}>"
        raw = "raw " if attribute.mnemonic == "conv" else ""
        return f"#{attribute.dialect}.{attribute.mnemonic}<{raw}{listed}>"

    def _field(self, value: FieldValue) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return float_text(value, _F64)
        if isinstance(value, str):
            return quoted(value)
        if isinstance(value, tuple):
            return f"[{', '.join(map(self._field, value))}]"
        if isinstance(value, Type):
            return self.type(value)
        return self.attribute(value)

    def dense(self, attribute: DenseElementsAttribute) -> str:
        """``dense<...> : type``: one element, lists, or hexadecimal digits for many elements."""
        array, type = attribute.array, attribute.type
        if attribute.is_splat:
            body = _element_text(array.flat[0], type)
        elif array.size > MAX_LISTED_ELEMENTS:
            body = f'"0x{np.ascontiguousarray(array).tobytes().hex().upper()}"'
        elif array.size == 0:
            body = ""
        else:
            body = _lists(array, type)
        return f"dense<{body}> : {self.type(type)}"


class BriefPrinter(Printer):
    """Leaves out the elements of large constants."""

    def dense(self, attribute: DenseElementsAttribute) -> str:
        if not self.is_large(attribute):
            return super().dense(attribute)
        return f"dense<{attribute.array.size} elements> : {self.type(attribute.type)}"

    def is_large(self, attribute: DenseElementsAttribute) -> bool:
        """Whether the elements are left out."""
        return attribute.array.size > MAX_SHOWN_ELEMENTS and any(attribute.array.strides)


_F64: Final = ELEMENT_TYPES["f64"]


def symbol_text(name: str) -> str:
    """``@name``, quoted where it is not an identifier."""
    return f"@{name if _SYMBOL.fullmatch(name) else quoted(name)}"


def quoted(text: str) -> str:
    """A string literal."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    escaped = [
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}"
        for byte in text.encode("utf-8", "surrogateescape")
    ]
    return '"' + "".join(escaped) + '"'


def float_text(value: float, type: ElementType) -> str:
    """A float literal that gives exactly `value` in its type: decimal, or bits where it is not finite."""
    if not np.isfinite(value):
        bits = np.array(value).astype(type.dtype).tobytes()[::-1].hex().upper()
        return f"0x{bits}"
    return decimal_text(value)


def _scalar_text(value: bool | int | float, type: ElementType) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return float_text(value, type) if type.category == FLOAT else str(int(value))


def _element_text(element: Any, type: TensorType) -> str:
    elements = type.element_type
    if isinstance(elements, QuantizedType):
        elements = elements.storage
    if elements.category == COMPLEX:
        return f"({_bits_text(element.real)}, {_bits_text(element.imag)})"
    if elements.category == FLOAT:
        return _bits_text(element)
    return _scalar_text(element.item(), elements)


def _bits_text(element: Any) -> str:
    """A float of an array: decimal, or its bits if it is not finite."""
    if np.isfinite(element):
        return float_text(float(element), _F64)
    return f"0x{np.asarray(element).tobytes()[::-1].hex().upper()}"


def _lists(array: Array, type: TensorType) -> str:
    if array.ndim == 0:
        return _element_text(array[()], type)
    return f"[{', '.join(_lists(array[index], type) for index in range(len(array)))}]"


def _string_lists(values: tuple[str, ...], type: Type) -> str:
    """Strings in nested lists of the type's shape, which is parsed from the type's text."""
    sizes = re.match(r"tensor<((?:\d+x)*)", str(type))
    shape = [int(size) for size in sizes[1].split("x")[:-1]] if sizes else []
    texts = [quoted(value) for value in values]
    if len(texts) == 1:
        return texts[0]
    for size in reversed(shape[1:]):
        texts = [f"[{', '.join(texts[start : start + size])}]" for start in range(0, len(texts), size)]
    return f"[{', '.join(texts)}]"


def location_text(location: Location) -> str:
    """The text within ``loc(...)``."""
    texts: list[str] = []
    # Locations may be nested deeper than functions may call each other.
    pending: list[Location | str] = [location]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            texts.append(item)
        else:
            pending += reversed(_location_items(item))
    return "".join(texts)


def _location_items(location: Location) -> list[Location | str]:
    """The texts and locations of which the text of a location consists."""
    match location:
        case FileLocation(file, line, column, end):
            until = "" if end is None else f" to {end[0]}:{end[1]}"
            return [f"{quoted(file)}:{line}:{column}{until}"]
        case NameLocation(name, child):
            return [quoted(name)] if child is None else [f"{quoted(name)}(", child, ")"]
        case CallSiteLocation(callee, caller):
            return ["callsite(", callee, " at ", caller, ")"]
        case FusedLocation(locations, metadata):
            about = "" if metadata is None else f"<{Printer().attribute(cast('Attribute', metadata))}>"
            items: list[Location | str] = [f"fused{about}["]
            for index, each in enumerate(locations):
                items += (", ", each) if index else (each,)
            return [*items, "]"]
        case SourceLocation():
            line, column = location.source.line_and_column(location.offset)
            return [f"{quoted(location.source.name)}:{line}:{column}"]
        case _:
            return ["unknown"]
