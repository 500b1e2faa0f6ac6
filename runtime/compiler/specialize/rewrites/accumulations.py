"""Rewrites of loops that add updated zeros to arrays which they carry."""

from __future__ import annotations

import numpy as np

from ....program.ir import Block, Builder, Operation, Value, tensor_type
from ....types import FLOAT, INTEGER
from ..framework.rewriter import Rewriter, defined_by, dimensions, has_static_unquantized_types, splat


def update_sums(operation: Operation, rewriter: Rewriter) -> None:
    """``a + update(0, w)`` becomes an update of a window of a, in place, in the body of a loop.

    The gradient of a loop that reads a window of an array in each iteration is such a sum in JAX: it adds to
    all elements, of which those outside of the window stay as they are. That holds for floats too where a
    has no -0, which plus 0 is 0. A sum is -0 only if both of its operands are.
    """
    block = operation.regions[1].block
    sums = _values_without_negative_zero(operation)
    replaced: dict[Value, Value] = {}
    operations: list[Operation] = []
    for inner in block.operations:
        inner.replace_operands(replaced)
        update = _added_update(inner, sums)
        if update is None:
            operations.append(inner)
            continue
        is_first = update is inner.operands[0].owner
        builder = Builder(Block())
        result = _updated(builder, inner.operands[is_first], update, is_first)
        operations += builder.block.operations
        replaced[inner.result] = result
        sums.add(result)
    if replaced:
        block.operations = operations
        block.replace_uses(replaced)
        rewriter.rewrite_count += 1


def _added_update(operation: Operation, sums: set[Value]) -> Operation | None:
    """The update of a window of zeros that an operation adds to an array of which it changes nothing else."""
    if operation.name != "stablehlo.add" or not has_static_unquantized_types(operation):
        return None
    for value, array in (operation.operands, operation.operands[::-1]):
        update = defined_by(value, "stablehlo.dynamic_update_slice")
        if update is None or not (tensor_type(array).category & INTEGER or array in sums):
            continue
        zeros, window = update.operands[:2]
        element = splat(zeros)
        is_small = 2 * tensor_type(window).size <= tensor_type(array).size
        if element is not None and element == 0 and is_small:
            return update
    return None


def _updated(builder: Builder, array: Value, update: Operation, is_first: bool) -> Value:
    """An array with the window of an update added to its own.

    Args:
        is_first: whether the update is the first operand of the sum.
    """
    _, window, *starts = update.operands
    sizes = dimensions(slice_sizes=tensor_type(window).shape)
    before = builder.create("stablehlo.dynamic_slice", [array, *starts], [window.type], sizes).result
    summands = [window, before] if is_first else [before, window]
    total = builder.create("stablehlo.add", summands, [window.type]).result
    return builder.create("stablehlo.dynamic_update_slice", [array, total, *starts], [array.type]).result


def _values_without_negative_zero(operation: Operation) -> set[Value]:
    """Values of a loop's body of floats, none of which is -0: sums of such values with any others.

    A carried value is one if it begins as one, and if the body returns one where it gets one.
    """
    block = operation.regions[1].block
    pairs = zip(block.arguments, operation.operands, strict=True)
    arguments = {argument for argument, initial in pairs if _has_no_negative_zero(initial)}
    while True:
        values = set(arguments)
        for inner in block.operations:
            is_sum = inner.name == "stablehlo.add" and not values.isdisjoint(inner.operands)
            if is_sum and tensor_type(inner.result).category & FLOAT:
                values.add(inner.result)
        returned = zip(block.arguments, block.terminator.operands, strict=True)
        kept = {argument for argument, value in returned if argument in arguments and value in values}
        if kept == arguments:
            return values
        arguments = kept


def _has_no_negative_zero(value: Value) -> bool:
    """Whether a value is a splat of floats that is not -0."""
    element = splat(value)
    if element is None or not tensor_type(value).category & FLOAT:
        return False
    return bool(element != 0 or not np.signbit(element))
