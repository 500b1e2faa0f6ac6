"""Checks of elementwise arithmetic: integer division, shifts, conversions, saturation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...program.ir import Value
from ...program.ops.elementwise import conversion
from ...program.ops.framework.declaration import Op
from ...program.ops.numerics import element_types
from ...program.ops.numerics.quantization import dequantizer
from ...program.ops.numerics.quantized_operation import expressed_view
from ...types import AnyElementType, Array, QuantizedType, TensorType, Type, storage_range
from . import unspecified_elements
from .findings import Violation
from .unspecified_elements import aligned_pair

Inspect = Callable[[Sequence[Any], Sequence[Any]], Violation | None]
"""A function of the operands and the results of one run of an operation."""


def first_index(marked: Array) -> tuple[int, ...]:
    """The index of the first True."""
    return tuple(map(int, np.unravel_index(int(np.argmax(marked)), marked.shape)))


def number(value: object) -> Any:
    """An element as Python's own number."""
    array = np.asarray(value)
    if array.dtype.kind in "biufc":
        return array.item()
    return int(array) if "int" in array.dtype.name else float(array)


def index_text(index: Sequence[int]) -> str:
    """An index, for messages."""
    return "[" + ", ".join(map(str, index)) + "]"


def _inspect(
    marks: unspecified_elements.MarkOpenElements | None, describe: Callable[..., tuple[Any, str]]
) -> Inspect | None:
    """Report marked elements.

    Args:
        marks: which elements of the result are to be reported.
        describe: the value and the message for the operands and the index of the first of them.
    """
    if marks is None:
        return None

    def inspect(operands: Sequence[Array], results: Sequence[Array]) -> Violation | None:
        marked = marks(operands)
        if marked is None or not np.count_nonzero(marked):
            return None
        index = first_index(marked)
        value, message = describe(operands, index)
        return Violation(index, value, message, int(np.count_nonzero(marked)))

    return inspect


def _element_type(value: Value) -> AnyElementType:
    assert isinstance(value.type, TensorType)
    return value.type.element_type


def division_by_zero(view: Op) -> Inspect | None:
    """`divide` and `remainder` of integers by zero."""

    def describe(operands: Sequence[Array], index: tuple[int, ...]) -> tuple[Any, str]:
        lhs, _ = aligned_pair(view, operands[0], operands[1])
        value = number(lhs[index]), 0
        return value, f"{value[0]} is divided by 0 at {index_text(index)}"

    return _inspect(unspecified_elements.division_by_zero(view), describe)


def division_overflow(view: Op) -> Inspect | None:
    """`divide` and `remainder` of the smallest signed integer by -1."""

    def describe(operands: Sequence[Array], index: tuple[int, ...]) -> tuple[Any, str]:
        element_type: Any = _element_type(view.operation.operands[0])
        low, _ = storage_range(element_type)
        return (low, -1), f"{low}, the minimum of {element_type}, is divided by -1 at {index_text(index)}"

    return _inspect(unspecified_elements.division_overflow(view), describe)


def shift_amount(view: Op) -> Inspect | None:
    """Shifts by the width of the element type or more; amounts are unsigned."""

    def describe(operands: Sequence[Array], index: tuple[int, ...]) -> tuple[Any, str]:
        element_type: Any = _element_type(view.operation.operands[0])
        _, rhs = aligned_pair(view, operands[0], operands[1])
        amount = number(rhs[index])
        width = element_type.width
        return amount, f"an {element_type} of {width} bits is shifted by {amount} at {index_text(index)}"

    return _inspect(unspecified_elements.shift_amount(view), describe)


def float_to_integer(view: Op) -> Inspect | None:
    """`convert` of NaN, and of floats or real parts out of the range of the integer type."""

    def describe(operands: Sequence[Array], index: tuple[int, ...]) -> tuple[Any, str]:
        target: Any = _element_type(view.operation.results[0])
        low, high = storage_range(target)
        value = number(operands[0][index])
        return value, f"{value} at {index_text(index)} is outside of {target}, which has {low} to {high}"

    return _inspect(unspecified_elements.float_to_integer(view), describe)


def quantized_saturation(view: Op) -> Inspect | None:
    """Values out of the range of a result's quantized type, which were clamped to that range."""
    quantized = [
        (position, type)
        for position, type in enumerate(result.type for result in view.operation.results)
        if isinstance(type, TensorType) and isinstance(type.element_type, QuantizedType)
    ]
    if not quantized or view.operation.regions:
        return None
    if isinstance(view, conversion.UniformQuantize):
        to_floats = dequantizer(view.operand)
        expressed: Callable[..., Any] = lambda operand: to_floats(operand)  # noqa: E731
    elif view.takes_stored_values or not view.operation.operands:
        return None
    else:
        entries = [_dequantizer(operand.type) for operand in view.operation.operands]
        reference = expressed_view(view).reference
        expressed = lambda *operands: reference(  # noqa: E731
            *[enter(operand) for enter, operand in zip(entries, operands, strict=True)]
        )

    def inspect(operands: Sequence[Array], results: Sequence[Array]) -> Violation | None:
        if not any(_has_extreme(results[position], type) for position, type in quantized):
            return None
        values = expressed(*operands)
        values = values if isinstance(values, tuple) else (values,)
        for position, type in quantized:
            violation = _saturated(np.asarray(values[position]), type)
            if violation is not None:
                return violation
        return None

    return inspect


def _dequantizer(type: Type) -> Callable[[Any], Any]:
    return dequantizer(type) if isinstance(type, TensorType) else lambda value: value


def _has_extreme(stored: Array, type: TensorType) -> bool:
    """Whether an element is the smallest or largest value of the type, as every saturated element is."""
    element_type = type.element_type
    assert isinstance(element_type, QuantizedType)
    values = stored.astype(element_types.carrier(element_type.storage), copy=False)
    extreme = (values == element_type.storage_min) | (values == element_type.storage_max)
    return bool(np.count_nonzero(extreme))


def _saturated(values: Array, type: TensorType) -> Violation | None:
    """Mark the values of the expressed type that a quantized type cannot represent."""
    element_type = type.element_type
    assert isinstance(element_type, QuantizedType)
    shape = [1] * values.ndim
    if element_type.quantization_dimension is not None:
        shape[element_type.quantization_dimension] = -1
    scales = np.array(element_type.scales, np.float64).reshape(shape)
    zero_points = np.array(element_type.zero_points, np.float64).reshape(shape)
    scaled = np.rint(values.astype(np.float64) / scales + zero_points)
    outside = (scaled < element_type.storage_min) | (scaled > element_type.storage_max)
    if not outside.any():
        return None
    index = first_index(outside)
    value, limits = number(values[index]), (element_type.storage_min, element_type.storage_max)
    message = f"{value} at {index_text(index)} is stored as {scaled[index]:.0f}, outside of {list(limits)}"
    return Violation(index, value, message, int(outside.sum()))
