"""Checks of elementwise arithmetic: integer division, shifts, conversions, saturation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ops.chlo.broadcast import BroadcastBinary
from ..ops.elementwise import arithmetic, bitwise, conversion
from ..ops.framework.declaration import Array, Op
from ..ops.numerics import element_types
from ..ops.numerics.broadcast_shapes import broadcast_pair
from ..ops.numerics.quantization import dequantizer
from ..ops.numerics.quantized_operation import expressed_view
from ..types import COMPLEX, FLOAT, INTEGER, SIGNED, ElementType, QuantizedType, TensorType, storage_range
from .findings import Violation

Inspect = Callable[[Sequence[Any], Sequence[Any]], Violation | None]
"""Takes the operands and the results of one run of an operation."""


def first_index(marked: Array) -> tuple[int, ...]:
    """Where the first True is."""
    return tuple(map(int, np.unravel_index(int(np.argmax(marked)), marked.shape)))


def number(value: Any) -> Any:
    """An element as Python's own number."""
    array = np.asarray(value)
    if array.dtype.kind in "biufc":
        return array.item()
    return int(array) if "int" in array.dtype.name else float(array)


def index_text(index: Sequence[int]) -> str:
    """An index, for messages."""
    return "[" + ", ".join(map(str, index)) + "]"


def _integers(view: Op, *kinds: type[Op]) -> ElementType | None:
    """The element type, where the operation is one of those kinds, or broadcasts for one, and on integers."""
    if not issubclass(view.elementwise if isinstance(view, BroadcastBinary) else type(view), kinds):
        return None
    element_type = getattr(view.operation.operands[0].type, "element_type", None)
    is_integer = isinstance(element_type, ElementType) and element_type.category & INTEGER
    return element_type if is_integer else None


def _pair(view: Op, lhs: Array, rhs: Array) -> tuple[Array, Array]:
    """Both operands in one shape."""
    if isinstance(view, BroadcastBinary):
        lhs, rhs = view.align(lhs, rhs), view.align(rhs, lhs)
    return broadcast_pair(lhs, rhs)


def division_by_zero(view: Op) -> Inspect | None:
    """`divide` and `remainder` of integers by zero."""
    element_type = _integers(view, arithmetic.Divide, arithmetic.Remainder)
    if element_type is None:
        return None
    dtype = element_types.carrier(element_type)

    def inspect(operands: Sequence[Array], results: Sequence[Array]) -> Violation | None:
        rhs = operands[1].astype(dtype, copy=False)
        if np.count_nonzero(rhs) == rhs.size or not results[0].size:
            return None
        lhs, rhs = _pair(view, operands[0], rhs)
        zero = rhs == 0
        index = first_index(zero)
        value = number(lhs[index]), 0
        return Violation(index, value, f"{value[0]} is divided by 0 at {index_text(index)}", int(zero.sum()))

    return inspect


def division_overflow(view: Op) -> Inspect | None:
    """`divide` and `remainder` of the least signed integer by -1."""
    element_type = _integers(view, arithmetic.Divide, arithmetic.Remainder)
    if element_type is None or not element_type.category & SIGNED:
        return None
    dtype, (low, _) = element_types.carrier(element_type), storage_range(element_type)

    def inspect(operands: Sequence[Array], results: Sequence[Array]) -> Violation | None:
        least = operands[0].astype(dtype, copy=False) == low
        if not np.count_nonzero(least):
            return None
        least, rhs = _pair(view, least, operands[1].astype(dtype, copy=False))
        overflows = least & (rhs == -1)
        if not overflows.any():
            return None
        index = first_index(overflows)
        message = f"{low}, the least {element_type}, is divided by -1 at {index_text(index)}"
        return Violation(index, (low, -1), message, int(overflows.sum()))

    return inspect


def shift_amount(view: Op) -> Inspect | None:
    """Shifts by the width of the element type or more; amounts are unsigned."""
    element_type = _integers(view, bitwise.Shift)
    if element_type is None:
        return None
    to_bits, _ = element_types.unsigned_bits(element_type)
    width = element_type.width

    def inspect(operands: Sequence[Array], results: Sequence[Array]) -> Violation | None:
        excessive = to_bits(operands[1]) >= width
        if not np.count_nonzero(excessive) or not results[0].size:
            return None
        _, excessive = _pair(view, operands[0], excessive)
        _, rhs = _pair(view, operands[0], operands[1])
        index = first_index(excessive)
        amount = number(rhs[index])
        message = f"an {element_type} of {width} bits is shifted by {amount} at {index_text(index)}"
        return Violation(index, amount, message, int(excessive.sum()))

    return inspect


def float_to_integer(view: Op) -> Inspect | None:
    """`convert` of floats, or of real parts, that no integer of the result's type is next to: NaN as well."""
    if not isinstance(view, conversion.Convert):
        return None
    source, target = view.operand.element_type, view.result.element_type
    if not source.category & (FLOAT | COMPLEX) or not target.category & INTEGER:
        return None
    low, high = storage_range(target)
    dtype = element_types.carrier(element_types.real_type(source))
    least, beyond = dtype.type(low), dtype.type(high + 1)

    def is_outside(operand: Array) -> Array:
        truncated = np.trunc(operand.real.astype(dtype, copy=False))
        outside: Array = ~((truncated >= least) & (truncated < beyond))
        return outside

    def inspect(operands: Sequence[Array], results: Sequence[Array]) -> Violation | None:
        outside = is_outside(operands[0])
        if not np.count_nonzero(outside):
            return None
        index = first_index(outside)
        value = number(operands[0][index])
        message = f"{value} at {index_text(index)} is outside of {target}, which has {low} to {high}"
        return Violation(index, value, message, int(np.count_nonzero(outside)))

    return inspect


def quantized_saturation(view: Op) -> Inspect | None:
    """Values out of the range of a result's quantized type, which became its least or greatest value."""
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


def _dequantizer(type: Any) -> Callable[[Any], Any]:
    return dequantizer(type) if isinstance(type, TensorType) else lambda value: value


def _has_extreme(stored: Array, type: TensorType) -> bool:
    """Whether an element is the least or the greatest one: a saturated one is."""
    element_type = type.element_type
    assert isinstance(element_type, QuantizedType)
    values = stored.astype(element_types.carrier(element_type.storage), copy=False)
    extreme = (values == element_type.storage_min) | (values == element_type.storage_max)
    return bool(np.count_nonzero(extreme))


def _saturated(values: Array, type: TensorType) -> Violation | None:
    """Which values of the expressed type a quantized type cannot represent."""
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
