"""Finds the operations that produce NaN or infinity from finite operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ...program.ops.elementwise.base import Elementwise
from ...program.ops.framework.declaration import Op
from ...program.ops.framework.facts import Finiteness
from ...program.ops.reduction.bodies import monoid
from ...types import COMPLEX, FLOAT, Array, TensorType, Type
from .elements import Inspect, first_index, index_text, number
from .findings import Violation

MIN_WIDTH: Final = 16
"""Bits of the types that are common: some narrower ones have neither zero nor negative numbers."""


def non_finite(view: Op) -> Inspect | None:
    """NaN and infinities in results of an operation whose operands, there, are finite."""
    results = [position for position, one in enumerate(view.operation.results) if _is_float(one.type)]
    if any(monoid(region) is None for region in view.operation.regions):
        return None  # the operations of the body are checked themselves
    if not results or view.finiteness is Finiteness.MOVED:
        return None
    if view.finiteness is Finiteness.KEPT and _has_common_types(view):
        return None
    floats = [position for position, one in enumerate(view.operation.operands) if _is_float(one.type)]
    is_elementwise = isinstance(view, Elementwise)

    def inspect(operands: Sequence[Array], values: Sequence[Array]) -> Violation | None:
        for position in results:
            result = values[position]
            finite = np.isfinite(result)
            if np.count_nonzero(finite) == result.size:
                continue
            created = _creates_non_finite(
                ~np.asarray(finite), [operands[operand] for operand in floats], is_elementwise
            )
            if created is not None:
                return _violation(np.asarray(result), created, position if len(values) > 1 else None)
        return None

    return inspect


def _creates_non_finite(marked: Array, operands: Sequence[Array], is_elementwise: bool) -> Array | None:
    """The marked elements of a result whose operands are finite; None if there are none."""
    for operand in operands:
        finite = np.isfinite(operand)
        if is_elementwise and np.shape(operand) in (marked.shape, ()):
            marked = marked & finite
        elif np.count_nonzero(finite) != np.size(operand):
            return None
    return marked if marked.any() else None


def _violation(result: Array, created: Array, position: int | None) -> Violation:
    index = first_index(created)
    value = number(result[index])
    which = "" if position is None else f" in result {position}"
    message = f"makes {value} out of finite numbers at {index_text(index)}{which}"
    return Violation(index, value, message, int(np.count_nonzero(created)))


def _is_float(type: Type) -> bool:
    return isinstance(type, TensorType) and bool(type.category & (FLOAT | COMPLEX))


def _has_common_types(view: Op) -> bool:
    types = [result.type.element_type for result in view.operation.results]  # type: ignore[union-attr]
    return all(type.category == FLOAT and type.width >= MIN_WIDTH for type in types)
