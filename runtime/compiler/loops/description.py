"""Texts that determine the code of blocks and operations: equal descriptions share their code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...program.ir import Attribute, Block, Operation, Value
from ...program.ir.printer import Printer
from ...program.ops.framework.rules import call_target


def block_description(block: Block) -> str:
    """A block's operations with their types, attributes and regions; no locations, no names."""
    printer = Printer()
    return "\n".join(_lines(block, {}, printer))


def operation_description(operation: Operation, captured: Sequence[Value]) -> str:
    """An operation, its regions, and the types of its operands and of the captured values.

    Args:
        captured: the values that the regions capture.
    """
    outer: dict[Value, int] = {}
    numbers = [outer.setdefault(value, len(outer)) for value in (*operation.operands, *captured)]
    types = [str(value.type) for value in outer]
    lines = [f"{operation.name} {numbers} of {', '.join(types)}, {len(operation.operands)} operands"]
    printer = Printer()
    for region in operation.regions:
        lines.extend(_lines(region.block, outer, printer))
    return "\n".join(lines)


def operations_description(operations: Sequence[Operation]) -> str:
    """A sequence of operations, and the types of the operands that others compute."""
    results = {result for operation in operations for result in operation.results}
    outer: dict[Value, int] = {}
    for operand in [operand for operation in operations for operand in operation.operands]:
        if operand not in results:
            outer.setdefault(operand, len(outer))
    types = ", ".join([str(value.type) for value in outer])
    return "\n".join([types, *_operation_lines(operations, outer, Printer())])


def attributes_description(operation: Operation) -> str:
    """An operation's own attributes."""
    return Printer().dictionary(_described_attributes(operation))


def constants_description(values: Sequence[Value]) -> str:
    """Describe the contents of constants; other values add nothing."""
    owners = [value.owner for value in values]
    constants = [owner if isinstance(owner, Operation) and owner.is_constant else None for owner in owners]
    return "\n".join(["" if one is None else attributes_description(one) for one in constants])


def _described_attributes(operation: Operation) -> dict[str, Attribute]:
    """The attributes that decide what an operation computes.

    Attributes of other dialects, whose names have a dot, do not decide it. Custom calls are the exception:
    their targets are defined outside of StableHLO, and JAX passes parameters to them in such attributes.
    """
    attributes = operation.attributes
    if call_target(operation) is not None:
        return dict(attributes)
    return {name: value for name, value in attributes.items() if "." not in name} if attributes else {}


def _lines(block: Block, outer: dict[Value, int], printer: Printer) -> Iterator[str]:
    numbers = dict(outer)
    for argument in block.arguments:
        numbers[argument] = len(numbers)
    yield f"block ({', '.join([str(argument.type) for argument in block.arguments])})"
    yield from _operation_lines(block.operations, numbers, printer)


def _operation_lines(
    operations: Sequence[Operation], numbers: dict[Value, int], printer: Printer
) -> Iterator[str]:
    """The lines of operations in order; adds the numbers of their results to `numbers`."""
    for operation in operations:
        operands = [str(numbers[operand]) for operand in operation.operands]
        types = [str(result.type) for result in operation.results]
        attributes = printer.dictionary(_described_attributes(operation)) if operation.attributes else "{}"
        yield f"{operation.name} ({', '.join(operands)}) {attributes} -> {', '.join(types)}"
        for region in operation.regions:
            yield from _lines(region.block, numbers, printer)
        for result in operation.results:
            numbers[result] = len(numbers)
