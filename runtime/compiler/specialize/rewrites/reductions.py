"""Rewrites of reductions that only reshape, or have no elements to combine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ....program.ir import Operation, Value, plain_element_type, tensor_type
from ....program.ops.reduction.bodies import monoid
from ....program.ops.reduction.reduce import Reduce
from ....types import BOOLEAN, FLOAT, INTEGER, SIGNED, storage_range
from ..framework.rewriter import Rewriter, has_static_unquantized_types, is_splat_of, splat
from .reshaping import broadcast, reshaped

_NEUTRAL: Final = {"add": 0, "multiply": 1, "or": 0, "xor": 0}
_NEUTRAL_OF_FLOATS: Final = {"add": -0.0, "multiply": 1.0, "minimum": math.inf, "maximum": -math.inf}


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
    name = monoid(view.body)
    if name is None or any(type.shape[d] != 1 for d in view.dimensions):
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
    """Whether an initial value changes nothing under a monoid."""
    if tensor_type(initial).category == FLOAT:
        return is_splat_of(initial, _NEUTRAL_OF_FLOATS[name])
    start = splat(initial)
    return start is not None and int(start) == _neutral(name, initial)


def _neutral(name: str, value: Value) -> int:
    """The integer or boolean that changes nothing under a monoid."""
    element_type = plain_element_type(value)
    low, high = (0, 1) if element_type.category == BOOLEAN else storage_range(element_type)
    if name == "and":
        return -1 if element_type.category == SIGNED else high
    if element_type.category == BOOLEAN and name in ("add", "multiply"):
        return 0 if name == "add" else 1
    return {"minimum": high, "maximum": low}.get(name, _NEUTRAL.get(name, 0))
