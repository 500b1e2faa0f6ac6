"""Modules of one function, of a block or of one operation; and the functions that operations reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...types import Type
from .attributes import ArrayAttribute, Attribute, StringAttribute, SymbolAttribute
from .builder import Builder
from .location import UNKNOWN, Location
from .module import Module
from .operation import Block, Function, Operation, Region, Value


def main_module(
    builder: Builder,
    results: Iterable[Value],
    functions: Iterable[Function] = (),
    location: Location = UNKNOWN,
) -> Module:
    """A module whose function ``main`` is the builder's block and returns some of its values.

    Args:
        builder: of a block without terminator.
        results: the values that ``main`` returns.
        functions: the other functions of the module, which come first.
        location: of ``main`` and its terminator.
    """
    builder.create("func.return", results, location=location)
    region = Region([builder.block])
    return Module([*functions, Function("main", region.type, region, location=location)])


def operation_module(
    operation: Operation, captured: Sequence[Value] = (), types: Sequence[Type] | None = None
) -> Module:
    """A module whose function ``main`` is one operation.

    Args:
        operation: the operation, whose operands become arguments, each one of its own.
        captured: the values that its regions use from outside, which become the last arguments.
        types: of the arguments; None: those of the values.
    """
    values = (*operation.operands, *captured)
    block = Block([value.type for value in values] if types is None else types)
    builder = Builder(block)
    # Of a value that occurs several times, regions use the last argument.
    copied = builder.copy(operation, dict(zip(values, block.arguments, strict=True)))
    copied.operands = tuple(block.arguments[: len(operation.operands)])
    return main_module(builder, copied.results, location=operation.location)


def argument_names(function: Function) -> tuple[str | None, ...]:
    """For each argument of a function its name in the program's source; None where there is none.

    Source: JAX, which writes it as the attribute ``jax.arg_info``; other producers name the locations of
    arguments.
    """
    attributes = [each.get("jax.arg_info") for each in function.argument_attributes]
    location_names = function.location_names or [None] * len(attributes)
    return tuple(
        [
            attribute.value if isinstance(attribute, StringAttribute) else name
            for attribute, name in zip(attributes, location_names, strict=True)
        ]
    )


def referenced_functions(region: Region, functions: Mapping[str, Function]) -> list[Function]:
    """The functions that operations of a region reference, and those that these functions reference.

    Args:
        region: the region.
        functions: those of the module, by name.
    """
    referenced: dict[str, Function] = {}
    pending = [region]
    while pending:
        for operation in pending.pop().walk():
            for name in symbols(operation.attributes.values()):
                function = functions.get(name)
                if function is not None and name not in referenced:
                    referenced[name] = function
                    if function.body is not None:
                        pending.append(function.body)
    return list(referenced.values())


def symbols(attributes: Iterable[Attribute]) -> Iterator[str]:
    """The symbols in attributes and in lists of attributes."""
    for attribute in attributes:
        if isinstance(attribute, SymbolAttribute):
            yield attribute.root
        elif isinstance(attribute, ArrayAttribute):
            yield from symbols(attribute.values)
