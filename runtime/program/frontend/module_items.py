"""Turn the operations ``func.func`` and ``builtin.module`` into functions and modules, and back.

The generic form of text and bytecode have them as operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import ParseError
from ...types import FunctionType
from ..ir import (
    Attribute,
    Block,
    DictionaryAttribute,
    Function,
    Module,
    Operation,
    Region,
    StringAttribute,
    TypeAttribute,
    Value,
)
from ..ir.attributes import ArrayAttribute


def module_of(items: Sequence[Function | Module | Operation]) -> Module:
    """The module that is the only item; otherwise an unnamed one of the items."""
    if len(items) == 1 and isinstance(items[0], Module):
        return items[0]
    return Module(items)


def location_names(body: Region | None, names: Mapping[Value, str]) -> Sequence[str | None]:
    """The names of a function's arguments, of the names of all values; empty if none has one."""
    arguments = body.blocks[0].arguments if body is not None and body.blocks else ()
    return [] if names.keys().isdisjoint(arguments) else [names.get(argument) for argument in arguments]


def module_item(operation: Operation, names: Mapping[Value, str]) -> Function | Module | Operation:
    """The function or module that an operation stands for; any other operation itself.

    Args:
        operation: the operation.
        names: the names that the locations of block arguments give.

    Raises:
        ParseError: a function has no name or no type.
    """
    if operation.name == "builtin.module":
        return _module(operation, names)
    return _function(operation, names) if operation.name == "func.func" else operation


def _module(operation: Operation, names: Mapping[Value, str]) -> Module:
    attributes = dict(operation.attributes)
    name = attributes.pop("sym_name", None)
    items = [
        module_item(nested, names)
        for region in operation.regions
        for block in region.blocks
        for nested in block.operations
    ]
    return Module(items, name=_text(name), attributes=attributes, location=operation.location)


def _function(operation: Operation, names: Mapping[Value, str]) -> Function:
    attributes = dict(operation.attributes)
    name = _text(attributes.pop("sym_name", None))
    type = attributes.pop("function_type", None)
    if name is None or not isinstance(type, TypeAttribute) or not isinstance(type.type, FunctionType):
        raise ParseError(
            "must have sym_name and function_type", operation="func.func", location=operation.location
        )
    body = operation.regions[0] if operation.regions and operation.regions[0].blocks else None
    argument_attributes = _dictionaries(attributes.pop("arg_attrs", None)) or None
    result_attributes = _dictionaries(attributes.pop("res_attrs", None)) or None
    counts = {
        "arguments in the body": (None if body is None else body.blocks[0].arguments, type.type.inputs),
        "dictionaries in arg_attrs": (argument_attributes, type.type.inputs),
        "dictionaries in res_attrs": (result_attributes, type.type.results),
    }
    for what, (actual, types) in counts.items():
        if actual is not None and len(actual) != len(types):
            raise ParseError(
                f"@{name} has {len(actual)} {what}, but its type {type.type} asks for {len(types)}",
                operation="func.func",
                location=operation.location,
            )
    return Function(
        name,
        type.type,
        body,
        visibility=_text(attributes.pop("sym_visibility", None)),
        argument_attributes=argument_attributes,
        result_attributes=result_attributes,
        attributes=attributes,
        location=operation.location,
        location_names=location_names(body, names),
    )


def _text(attribute: Attribute | None) -> str | None:
    return attribute.value if isinstance(attribute, StringAttribute) else None


def _dictionaries(attribute: Attribute | None) -> list[Mapping[str, Attribute]] | None:
    """The dictionaries of an attribute ``[{...}, {...}]``; None for another attribute or none."""
    if not isinstance(attribute, ArrayAttribute):
        return None
    return [each.values if isinstance(each, DictionaryAttribute) else {} for each in attribute]


def operation_of(item: Function | Module | Operation) -> Operation:
    """The operation that stands for a function or a module in the generic form; any other item itself."""
    if isinstance(item, Operation):
        return item
    attributes = dict(item.attributes)
    if isinstance(item, Module):
        if item.name is not None:
            attributes["sym_name"] = StringAttribute(item.name)
        block = Block()
        block.operations = [operation_of(nested) for nested in item.body]
        return Operation(
            "builtin.module", attributes=attributes, regions=[Region([block])], location=item.location
        )
    attributes["sym_name"] = StringAttribute(item.name)
    attributes["function_type"] = TypeAttribute(item.type)
    if item.visibility is not None:
        attributes["sym_visibility"] = StringAttribute(item.visibility)
    for name, values in (("arg_attrs", item.argument_attributes), ("res_attrs", item.result_attributes)):
        if any(values):
            attributes[name] = ArrayAttribute(tuple([DictionaryAttribute(each) for each in values]))
    region = Region() if item.body is None else item.body
    return Operation("func.func", attributes=attributes, regions=[region], location=item.location)
