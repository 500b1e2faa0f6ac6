"""What the code of a block depends on, as text: blocks of equal descriptions share their code."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir import Block, Value
from ..ir.printer import Printer


def block_description(block: Block) -> str:
    """A block's operations with their types, attributes and regions; no locations, no names."""
    printer = Printer()
    return "\n".join(_lines(block, {}, printer))


def _lines(block: Block, outer: dict[Value, int], printer: Printer) -> Iterator[str]:
    numbers = dict(outer)
    for argument in block.arguments:
        numbers[argument] = len(numbers)
    yield f"block ({', '.join([str(argument.type) for argument in block.arguments])})"
    for operation in block.operations:
        operands = [str(numbers[operand]) for operand in operation.operands]
        types = [str(result.type) for result in operation.results]
        kept = {name: value for name, value in operation.attributes.items() if "." not in name}
        attributes = printer.dictionary(kept)
        yield f"{operation.name} ({', '.join(operands)}) {attributes} -> {', '.join(types)}"
        for region in operation.regions:
            yield from _lines(region.block, numbers, printer)
        for result in operation.results:
            numbers[result] = len(numbers)
