"""Folds operations whose operands are constants, within bounds of size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import NimbleError
from ..ir import Builder, DenseElementsAttribute, Operation, Region, Value
from ..ops.declaration import Array
from ..ops.verify import view_of
from ..types import PLAIN, TensorType
from .effects import has_no_effect

MOST_ELEMENTS = 1 << 14
"""Largest operand or result of an operation that is folded; splats count as one element."""

_NEVER_FOLDED = frozenset({"stablehlo.custom_call", "stablehlo.optimization_barrier"})
"""A user's function must run when the program runs; a barrier keeps apart what is on its sides."""

Known = dict[Value, DenseElementsAttribute]


def fold_constants(region: Region, known: Known | None = None) -> None:
    """Replace operations on constants by constants, in place; regions inside see the constants around them."""
    known = {} if known is None else known
    block = region.block
    operations, block.operations = block.operations, []
    builder = Builder(block)
    values: dict[Value, Value] = {}
    for operation in operations:
        operation.operands = tuple([values.get(operand, operand) for operand in operation.operands])
        for inner in operation.regions:
            _substitute(inner, values)
            fold_constants(inner, known)
        if operation.name == "stablehlo.constant":
            attribute = operation.attributes["value"]
            if isinstance(attribute, DenseElementsAttribute):
                known[operation.result] = attribute
            block.operations.append(operation)
            continue
        folded = _fold(operation, known)
        if folded is None:
            block.operations.append(operation)
            continue
        constant = builder.create(
            "stablehlo.constant", (), [folded.type], {"value": folded}, (), operation.location
        )
        values[operation.result] = constant.result
        known[constant.result] = folded


def _substitute(region: Region, values: dict[Value, Value]) -> None:
    """Let the operations of a region use what stands for the values that they used."""
    if values:
        for operation in region.walk():
            operation.operands = tuple([values.get(operand, operand) for operand in operation.operands])


def _fold(operation: Operation, known: Known) -> DenseElementsAttribute | None:
    """The constant that the operation computes, or None."""
    if len(operation.results) != 1 or operation.regions or not operation.name.startswith("stablehlo."):
        return None
    type = operation.result.type
    if not isinstance(type, TensorType) or not type.is_static or not type.category & PLAIN:
        return None
    operands = [known.get(operand) for operand in operation.operands]
    if not all(operand is not None and _is_small(operand) for operand in operands):
        return None
    if operation.name in _NEVER_FOLDED or not has_no_effect(operation):
        return None
    spreads_splat = operation.name == "stablehlo.broadcast_in_dim"
    if type.size > MOST_ELEMENTS and not spreads_splat:
        return None
    arrays = [operand.array for operand in operands if operand is not None]
    return _evaluate(view_of(operation).reference, arrays, type)


def _is_small(constant: DenseElementsAttribute) -> bool:
    return constant.array.size <= MOST_ELEMENTS or constant.is_splat


def _evaluate(
    reference: Callable[..., Array], arrays: list[Array], type: TensorType
) -> DenseElementsAttribute | None:
    """Run a reference on constants; None where it fails (the run will say why) or the result is too large."""
    if type.size > MOST_ELEMENTS and any(array.size != 1 and any(array.strides) for array in arrays):
        return None
    with np.errstate(all="ignore"):
        try:
            result = np.asarray(reference(*arrays))
        except NimbleError:
            return None
    if result.dtype != type.dtype or result.shape != type.shape:
        return None
    if any(result.strides) or result.size <= 1:
        return DenseElementsAttribute(type, np.array(result, order="C")) if result.size <= MOST_ELEMENTS else None
    splat = result[(slice(0, 1),) * result.ndim].copy()
    return DenseElementsAttribute(type, np.broadcast_to(splat.reshape(()), type.shape))
