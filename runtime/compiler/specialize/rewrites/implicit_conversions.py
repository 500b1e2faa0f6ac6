"""Makes the conversions explicit that surround bodies of other element types.

A reduction converts its operands if its body has another element type, and converts its results back if they
have the operands' type. The operations themselves implement promotions, so these stay implicit.

Source: the StableHLO project's RFC on quantization of reductions; specification, `is_promotable`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ....program.ir import Operation, Region, Value, tensor_type
from ....program.ops.framework.rules import body_element_types, expressed_type, is_promotable
from ....types import AnyElementType, QuantizedType

_BODIES: Final = {
    "stablehlo.reduce": 0,
    "stablehlo.reduce_window": 0,
    "stablehlo.scatter": 0,
    "stablehlo.select_and_scatter": 1,
}
"""Operations whose bodies may have other element types, and the index of the body among their regions."""


def make_conversions_explicit(region: Region) -> None:
    """Replace implicit conversions by operations; changes the region in place."""
    for block in region.blocks:
        values: dict[Value, Value] = {}
        operations: list[Operation] = []
        for operation in block.operations:
            operation.replace_operands(values)
            for inner in operation.regions:
                make_conversions_explicit(inner)
                inner.block.replace_uses(values)
            operations += _explicit(operation, values) if operation.name in _BODIES else [operation]
        block.operations = operations


def _explicit(operation: Operation, values: dict[Value, Value]) -> list[Operation]:
    """An operation between explicit conversions; enters the replacements of its results into `values`."""
    emitted: list[Operation] = []
    element_types = body_element_types(operation.regions[_BODIES[operation.name]])
    if operation.name != "stablehlo.select_and_scatter":
        operation.operands = _converted_operands(operation, element_types, emitted)
    types = [
        tensor_type(result).with_element_type(element_type)
        for result, element_type in zip(operation.results, element_types, strict=True)
    ]
    if types == [result.type for result in operation.results]:
        return [*emitted, operation]
    inner = Operation(
        operation.name, operation.operands, types, operation.attributes, operation.regions, operation.location
    )
    emitted.append(inner)
    for result, reduced in zip(operation.results, inner.results, strict=True):
        values[result] = _converted(reduced, tensor_type(result).element_type, operation, emitted)
    return emitted


def _converted_operands(
    operation: Operation, element_types: Sequence[AnyElementType], emitted: list[Operation]
) -> tuple[Value, ...]:
    """The operands in the body's types, except those that the operation itself promotes."""
    count = len(element_types)
    operands = list(operation.operands)
    start = count if len(operands) == 2 * count else count + 1
    for position, element_type in enumerate(element_types):
        for operand_index in (position, start + position):
            source = tensor_type(operands[operand_index]).element_type
            both_plain = not isinstance(source, QuantizedType) and not isinstance(element_type, QuantizedType)
            if not both_plain or not is_promotable(source, element_type):
                operands[operand_index] = _converted(
                    operands[operand_index], element_type, operation, emitted
                )
    return tuple(operands)


def _converted(
    value: Value, target: AnyElementType, operation: Operation, emitted: list[Operation]
) -> Value:
    """A value in another element type, by the operations that the table of conversions names."""
    source = tensor_type(value).element_type
    if source == target:
        return value
    expressed = expressed_type(source), expressed_type(target)
    conversions: list[tuple[str, AnyElementType]] = []
    if isinstance(source, QuantizedType) and (expressed[0] != expressed[1] or target == expressed[1]):
        conversions.append(("stablehlo.uniform_dequantize", expressed[0]))
    if expressed[0] != expressed[1]:
        conversions.append(("stablehlo.convert", expressed[1]))
    if isinstance(target, QuantizedType):
        conversions.append(("stablehlo.uniform_quantize", target))
    for name, element_type in conversions:
        type = tensor_type(value).with_element_type(element_type)
        emitted.append(Operation(name, [value], [type], {}, (), operation.location))
        value = emitted[-1].result
    return value

