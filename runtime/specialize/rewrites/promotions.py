"""Drop a widening conversion whose reduction then accumulates in the wider type.

`is_promotable` of the specification lets the body of a reduction have a wider type than its inputs: a sum of
bf16 in f32 needs no array of f32.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np

from ...ir import Block, DenseElementsAttribute, Operation, Region, Value
from ...ops.elementwise.base import Elementwise
from ...ops.framework.declaration import lookup
from ...ops.reduction.bodies import monoid
from ...ops.reduction.reduce import Reduce
from ...types import TensorType
from ..utils.rewriter import is_plain, reduced_from, splat, tensor_type, viewed

_MIN_REDUCED: Final = 1 << 15
"""Elements of the operand for each of the result. A conversion and a shorter reduction become one loop, up to
four times as fast; a longer reduction takes half the time on the narrow type (docs/strategies.md)."""
_NARROW: Final = ("bf16", "f16")
_CONVERT: Final = "stablehlo.convert"


def promote_reductions(region: Region) -> None:
    """Let reductions to f32 take narrower floats, in place; conversions that nothing uses are left behind."""
    if not any(reduced_from(operation, _CONVERT) for operation in region.walk()):
        return
    users = Counter(operand for operation in region.walk() for operand in operation.operands)
    for operation in list(region.walk()):
        for inner in operation.regions:
            _promote(inner.block, users)
    _promote(region.block, users)


def _promote(block: Block, users: Counter[Value]) -> None:
    operations: list[Operation] = []
    for operation in block.operations:
        initial = _narrow_initial(operation, users)
        if initial is not None:
            (converted,) = operation.operands[0].owner.operands  # type: ignore[union-attr]
            operations.append(initial)
            operation.operands = (converted, initial.result)
        operations.append(operation)
    block.operations = operations


def _narrow_initial(operation: Operation, users: Counter[Value]) -> Operation | None:
    """The constant init_value in the type of the operand of the conversion; None: the conversion stays.

    Conversions of what an elementwise operation computes stay: they become one loop with that.
    """
    convert = reduced_from(operation, _CONVERT)
    if convert is None or users[convert.result] != 1 or not is_plain(operation):
        return None
    (source,) = convert.operands
    type, producer = tensor_type(source), source.owner
    is_computed = isinstance(producer, Operation) and issubclass(lookup(producer.name) or Reduce, Elementwise)
    if str(type.element_type) not in _NARROW or str(tensor_type(convert.result).element_type) != "f32":
        return None
    if type.size < _MIN_REDUCED * tensor_type(operation.result).size:
        return None
    init = splat(operation.operands[1])
    if is_computed or init is None or monoid(viewed(operation, Reduce).body) is None:
        return None
    narrow = np.asarray(init).astype(type.dtype)
    if narrow.astype(np.float32).tobytes() != np.asarray(init).tobytes():
        return None
    scalar = TensorType((), type.element_type)
    attributes = {"value": DenseElementsAttribute(scalar, narrow)}
    return Operation("stablehlo.constant", (), [scalar], attributes, (), operation.location)
