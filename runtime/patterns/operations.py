"""The operations of which all functions are composed, on values of matching types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ..errors import NimbleError
from ..execution.inputs import convert_input
from ..program.ops.numerics.broadcast_shapes import broadcast_shapes
from ..program.ops.reduction.bodies import identity
from ..types import (
    BOOLEAN,
    ELEMENT_TYPES,
    INTEGER,
    Array,
    ElementType,
    TensorType,
    describe_categories,
    storage_range,
)
from .failures import violation_error
from .tape import Shape, Tape, Value

_WIDE_FLOATS: Final = frozenset(ELEMENT_TYPES[name] for name in ("f32", "f64", "bf16"))
_SMALL: Final = 1 << 53


def select(condition: Value, a: Value, b: Value) -> Value:
    """Elements of `a` where `condition`, booleans of the same shape, is true, and of `b` elsewhere."""
    return a.tape.add("stablehlo.select", (condition.index, a.index, b.index), a.shape, a.element_type)


def convert(value: Value, element_type: ElementType) -> Value:
    """The elements converted to another element type; as booleans, numbers except zero are true."""
    if value.element_type is element_type:
        return value
    return value.tape.add("stablehlo.convert", (value.index,), value.shape, element_type)


def constant(tape: Tape, number: complex, shape: Shape, element_type: ElementType, pattern: str) -> Value:
    """A Python number, broadcast.

    Raises:
        VerifyError: the element type cannot hold it.
    """
    return filled(tape, number_as(number, element_type, pattern), shape, element_type)


def number_as(number: complex, element_type: ElementType, pattern: str, label: str | None = None) -> Array:
    """A Python number as an array of rank 0.

    Raises:
        VerifyError: the element type cannot hold it.
    """
    if element_type in _WIDE_FLOATS and (
        type(number) is float or (type(number) is int and -_SMALL < number < _SMALL)
    ):
        return np.array(number, element_type.dtype)
    if element_type.category == BOOLEAN and number in (0, 1):
        number = bool(number)
    elif isinstance(number, bool):
        number = int(number)
    try:
        array: Array = convert_input(number, TensorType((), element_type), 0)
        return array
    except NimbleError:
        raise violation_error(pattern, f"{element_type} cannot represent {number!r}", label) from None


def filled(tape: Tape, element: Array, shape: Shape, element_type: ElementType) -> Value:
    """An array of rank 0, broadcast."""
    return tape.add("stablehlo.constant", (), shape, element_type, (("value", element.tobytes()),))


def like(value: Value, number: float) -> Value:
    """A number that all floats and integers can represent, in a value's type."""
    return filled(
        value.tape, np.array(number).astype(value.element_type.dtype), value.shape, value.element_type
    )


def broadcast_in_dim(value: Value, shape: Shape, dimensions: tuple[int, ...]) -> Value:
    """A value broadcast to `shape`, with its dimension d at ``dimensions[d]``."""
    attributes = (("broadcast_dimensions", dimensions),)
    return value.tape.add("stablehlo.broadcast_in_dim", (value.index,), shape, value.element_type, attributes)


def broadcast_to(value: Value, shape: Shape) -> Value:
    """A value broadcast to a shape, its last dimensions aligned."""
    if value.shape == shape:
        return value
    return broadcast_in_dim(value, shape, tuple(range(len(shape) - len(value.shape), len(shape))))


def broadcast_shape(shapes: Sequence[Shape], pattern: str, label: str | None = None) -> Shape:
    """The shape to which several shapes broadcast by NumPy's rules.

    Raises:
        VerifyError: they do not.
    """
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    try:
        return broadcast_shapes(*shapes)
    except ValueError:
        names = ", ".join(map(str, shapes))
        raise violation_error(
            pattern, f"operands have the shapes {names}, which do not broadcast", label
        ) from None


def reshape(value: Value, shape: Shape) -> Value:
    """The same elements in another shape."""
    if value.shape == shape:
        return value
    return value.tape.add("stablehlo.reshape", (value.index,), shape, value.element_type)


REDUCTIONS: Final = {
    "sum": "stablehlo.add",
    "product": "stablehlo.multiply",
    "min": "stablehlo.minimum",
    "max": "stablehlo.maximum",
    "and": "stablehlo.and",
    "or": "stablehlo.or",
}
"""The operation that combines two values, for each reduction."""


def reduce(value: Value, name: str, dimensions: tuple[int, ...], *, keep_dims: bool, pattern: str) -> Value:
    """A value reduced along dimensions.

    Args:
        value: the reduced value.
        name: one of REDUCTIONS.
        dimensions: ascending.
        keep_dims: the dimensions stay, with size 1.
        pattern: for the error.

    Raises:
        VerifyError: the reduction does not take these elements.
    """
    tape, element_type = value.tape, value.element_type
    initial = _initial(name, element_type, pattern)
    shape = tuple([size for d, size in enumerate(value.shape) if d not in dimensions])
    reduced = tape.add(
        "stablehlo.reduce",
        (value.index, filled(tape, initial, (), element_type).index),
        shape,
        element_type,
        (("dimensions", dimensions), ("body", REDUCTIONS[name])),
    )
    if not keep_dims:
        return reduced
    remaining_dims = tuple([d for d in range(len(value.shape)) if d not in dimensions])
    full = tuple([1 if d in dimensions else size for d, size in enumerate(value.shape)])
    return broadcast_in_dim(reduced, full, remaining_dims)


def _initial(name: str, element_type: ElementType, pattern: str) -> Array:
    """The initial value of a reduction, as an array of rank 0."""
    if name in ("and", "or") and not element_type.category & (BOOLEAN | INTEGER):
        accepted = describe_categories(BOOLEAN | INTEGER)
        raise violation_error(pattern, f"{name!r} needs {accepted} elements, but got {element_type}", "Z7")
    initial = identity(REDUCTIONS[name].removeprefix("stablehlo."), element_type)
    if initial is None:
        raise violation_error(pattern, f"{name!r} starts from 0, which {element_type} has not", "Z7")
    return initial


def max_integer(element_type: ElementType) -> int:
    """The largest value of an integer type."""
    return storage_range(element_type)[1]
