"""The trip count of a `while` that counts up to a constant."""

from __future__ import annotations

from ....program.ir import EnumAttribute, Operation
from ....program.ir import Value as IrValue
from ....types import SIGNED, TensorType


def count_limit(operation: Operation) -> int | None:
    """The constant limit of a `while` that counts up a signed integer by a constant; None for other loops."""
    cond, body = (region.block for region in operation.regions)
    test = cond.terminator.operands[0].owner
    if not isinstance(test, Operation) or test.name != "stablehlo.compare":
        return None
    direction = test.attributes.get("comparison_direction")
    counter, limit = test.operands
    if not isinstance(direction, EnumAttribute) or direction.value not in ("LT", "LE"):
        return None
    if counter.owner is not cond:
        return None
    argument, step = body.arguments[counter.index], body.terminator.operands[counter.index].owner
    if not isinstance(step, Operation) or step.name != "stablehlo.add" or argument not in step.operands:
        return None
    others = [_integer(operand) for operand in step.operands if operand is not argument]
    is_positive = len(others) == 1 and others[0] is not None and others[0] > 0
    return _integer(limit) if is_positive else None


def _integer(value: IrValue) -> int | None:
    """The value of a constant of one signed integer."""
    attribute, type = value.constant_value, value.type
    if attribute is None or not isinstance(type, TensorType):
        return None
    return int(attribute.array.flat[0]) if type.category == SIGNED and attribute.array.size == 1 else None
