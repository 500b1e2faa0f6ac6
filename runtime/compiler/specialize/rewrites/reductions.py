"""Rewrites of reductions that only reshape, or have no elements to combine."""

from __future__ import annotations

from collections.abc import Sequence

from ....program.ir import Operation, Value, plain_element_type, tensor_type
from ....program.ops.reduction.bodies import monoid, neutral
from ....program.ops.reduction.reduce import Reduce
from ....types import BOOLEAN, FLOAT, INTEGER
from ..framework.rewriter import Rewriter, has_static_unquantized_types, is_splat_of, splat
from .reshaping import broadcast, reshaped


def reduce_over_unit_dimensions(operation: Operation, rewriter: Rewriter) -> tuple[Value] | None:
    """A reduction over dimensions of size 1, from a neutral initial value, is a reshape.

    A sum of floats from +0 adds that, in any order once or more often: a -0 becomes +0.
    """
    if len(operation.results) != 1 or not has_static_unquantized_types(operation):
        return None
    value, initial = operation.operands
    type, result = tensor_type(value), tensor_type(operation.result)
    if type.element_type != result.element_type or not type.category & (INTEGER | BOOLEAN | FLOAT):
        return None
    view = Reduce.of(operation)
    name = monoid(view.body) if all(type.shape[d] == 1 for d in view.dimensions) else None
    if name is None:
        return None
    if _is_neutral(initial, name):
        return (reshaped(value, operation.result, rewriter),)
    if type.category != FLOAT or name != "add" or not is_splat_of(initial, 0.0):
        return None
    operands = [rewriter.constant(result, 0), reshaped(value, operation.result, rewriter)]
    return (rewriter.create("stablehlo.add", operands, result),)


def reduce_of_empty(operation: Operation, rewriter: Rewriter) -> Sequence[Value] | None:
    """A reduction of tensors without elements holds the initial values alone."""
    if 0 not in tensor_type(operation.operands[0]).shape:
        return None
    initial = operation.operands[len(operation.results) :]
    types = [tensor_type(result) for result in operation.results]
    if any(tensor_type(v).element_type != t.element_type for v, t in zip(initial, types, strict=True)):
        return None
    return [broadcast(value, (), type, rewriter) for value, type in zip(initial, types, strict=True)]


def _is_neutral(initial: Value, name: str) -> bool:
    """Whether an initial value changes no bit under a monoid."""
    element, start = neutral(name, plain_element_type(initial)), splat(initial)
    if element is None or start is None:
        return False
    is_float = tensor_type(initial).category == FLOAT
    return is_splat_of(initial, float(element)) if is_float else int(start) == int(element)
