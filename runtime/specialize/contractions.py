"""Rewrites of products and reductions whose operand only has its dimensions in another order or number."""

from __future__ import annotations

from typing import Final

from ..ir import Operation, StructAttribute, Value
from ..ops.movement import Transpose
from ..ops.reduction import Reduce
from ..ops.regions import monoid
from ..types import BOOLEAN, INTEGER, SIGNED, storage_range
from .reshaping import reshaped
from .rewriting import Rewriter, defined_by, is_plain, splat, tensor_type, viewed


def dot_of_transpose(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A product of a transpose takes other dimensions of its operand; those left keep their order."""
    if not any(defined_by(operand, "stablehlo.transpose") for operand in operation.operands):
        return None
    from ..ops.contraction import DotGeneral

    view = viewed(operation, DotGeneral)
    struct = operation.attributes.get("dot_dimension_numbers")
    if not isinstance(struct, StructAttribute):
        return None
    for position, side in enumerate(("lhs", "rhs")):
        inner = defined_by(operation.operands[position], "stablehlo.transpose")
        if inner is None:
            continue
        permutation = viewed(inner, Transpose).permutation
        names = [f"{side}_batching_dimensions", f"{side}_contracting_dimensions"]
        taken = {d for name in names for d in getattr(view, name)}
        left = [permutation[d] for d in range(len(permutation)) if d not in taken]
        if left != sorted(left):
            continue
        fields = dict(struct.fields)
        for name in names:
            fields[name] = tuple([permutation[d] for d in getattr(view, name)])
        operands = list(operation.operands)
        operands[position] = inner.operands[0]
        numbers = StructAttribute(struct.dialect, struct.mnemonic, fields)
        attributes = {**operation.attributes, "dot_dimension_numbers": numbers}
        return rewriter.create(operation.name, operands, operation.result.type, attributes)
    return None


_NEUTRAL: Final = {"add": 0, "multiply": 1, "or": 0, "xor": 0}


def reduce_nothing(operation: Operation, rewriter: Rewriter) -> tuple[Value] | None:
    """A reduction of integers over dimensions of size 1, from a neutral initial value, is a reshape."""
    if len(operation.results) != 1 or not is_plain(operation):
        return None
    value, initial = operation.operands
    type = tensor_type(value)
    if not type.category & (INTEGER | BOOLEAN):
        return None
    view = viewed(operation, Reduce)
    name, start = monoid(view.body), splat(initial)
    if name is None or start is None:
        return None
    if any(type.shape[d] != 1 for d in view.dimensions) or operation.result.type.category != type.category:
        return None
    if type.element_type != tensor_type(operation.result).element_type or int(start) != _neutral(name, value):
        return None
    return (reshaped(value, operation.result, rewriter),)


def _neutral(name: str, value: Value) -> int:
    """The value that changes nothing under a monoid."""
    element_type = tensor_type(value).element_type
    low, high = (0, 1) if element_type.category == BOOLEAN else storage_range(element_type)  # type: ignore[arg-type]
    if name == "and":
        return -1 if element_type.category == SIGNED else high
    if element_type.category == BOOLEAN and name in ("add", "multiply"):
        return 0 if name == "add" else 1
    return {"minimum": high, "maximum": low}.get(name, _NEUTRAL.get(name, 0))
