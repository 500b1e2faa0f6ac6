"""Converts a tape to a module of StableHLO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..program.ir import Attribute, Block, Builder, DenseElementsAttribute, Function, Module, Region
from ..program.ir import Value as IrValue
from ..program.ir.builder import binary_region
from ..program.ops.framework.declaration import lookup
from ..program.ops.framework.encoding import encode_attributes
from ..program.ops.framework.verify import verify
from ..types import TensorType
from .tape import INPUT, Node


def module_of(nodes: Sequence[Node], results: Sequence[int]) -> Module:
    """The verified module whose function ``main`` performs the operations on a tape."""
    types = [TensorType(shape, element_type) for _, _, shape, element_type, _ in nodes]
    block = Block([type for node, type in zip(nodes, types, strict=True) if node[0] == INPUT])
    builder, arguments = Builder(block), iter(block.arguments)
    values: list[IrValue] = []
    for (name, operands, _, _, plain), type in zip(nodes, types, strict=True):
        if name == INPUT:
            values.append(next(arguments))
            continue
        attributes, regions = _attributes_and_regions(name, dict(plain), type)
        operation = builder.create(name, [values[index] for index in operands], [type], attributes, regions)
        values.append(operation.result)
    builder.create("func.return", [values[index] for index in results])
    region = Region([block])
    module = Module([Function("main", region.type, region, visibility="public")])
    verify(module)
    return module


def _attributes_and_regions(
    name: str, values: dict[str, Any], type: TensorType
) -> tuple[dict[str, Attribute], list[Region]]:
    """The attributes and regions of an operation, from plain values."""
    if name == "stablehlo.constant":
        return {"value": _constant(values["value"], type)}, []
    declaration = lookup(name)
    assert declaration is not None
    scalar = TensorType((), type.element_type)
    regions = [_region(values.pop(field.name), scalar) for field in declaration.declared_regions]
    return encode_attributes(name, values), regions


def _constant(value: Any, type: TensorType) -> DenseElementsAttribute:
    if isinstance(value, DenseElementsAttribute):
        return value
    element = np.frombuffer(value, type.dtype).reshape(())
    return DenseElementsAttribute(type, np.broadcast_to(element, type.shape))


def _region(name: Any, type: TensorType) -> Region:
    """A body of two arguments: the operation of that name, None: it returns the second one."""
    if name is not None:
        return binary_region(name, type.element_type)
    block = Block([type, type])
    return Builder(block).region([block.arguments[1]])
