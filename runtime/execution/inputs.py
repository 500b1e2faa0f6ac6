"""Convert the inputs that users pass to the arrays that a program takes."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..errors import ExecutionError, counted
from ..program.ops.framework.rules import shape_text, shapes_agree
from ..types import (
    BOOLEAN,
    COMPLEX,
    FLOAT,
    INTEGER,
    TOKEN_VALUE,
    Array,
    BufferType,
    QuantizedType,
    TensorType,
    TokenType,
    TupleType,
    TupleValue,
    Type,
    storage_range,
)

_SCALAR_CATEGORIES = {bool: BOOLEAN, int: INTEGER | FLOAT | COMPLEX, float: FLOAT | COMPLEX, complex: COMPLEX}
"""Element type categories that each Python scalar type converts to."""


def convert_input(value: object, type: Type, index: int) -> Any:
    """An argument's value.

    Args:
        value: array, Python scalar, anything with ``__dlpack__`` or ``__array__``; a tuple for a TupleType.
        type: the argument's type.
        index: which input it is, for messages.

    Raises:
        ExecutionError: element type or shape differ, or it is not an array.
    """
    if isinstance(type, TensorType):
        return _convert_array(value, type, index)
    if isinstance(type, BufferType):
        return _convert_array(value, TensorType(type.shape, type.element_type), index)
    if isinstance(type, TupleType):
        if not isinstance(value, tuple) or len(value) != len(type.types):
            raise _error(index, f"must be a tuple of {counted(len(type.types), 'value')} for {type}")
        return TupleValue(
            [
                convert_input(member, member_type, index)
                for member, member_type in zip(value, type.types, strict=True)
            ]
        )
    if isinstance(type, TokenType):
        return TOKEN_VALUE
    raise _error(index, f"values of type {type} cannot be passed")


def _convert_array(value: object, type: TensorType, index: int) -> Array:
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        return _convert_scalar(value, type, index)
    array = as_array(value, f"input {index}")
    if array.dtype != type.dtype:
        if array.dtype.newbyteorder("=") != type.dtype:
            raise _error(index, f"has elements of {array.dtype.name}, but must have {type.dtype} for {type}")
        array = array.astype(type.dtype)
    if not shapes_agree(type.shape, array.shape):
        raise _error(index, f"has shape {shape_text(array.shape)}, but must have {shape_text(type.shape)}")
    for axis, bound in enumerate(type.bounds or ()):
        if 0 <= bound < array.shape[axis]:
            raise _error(index, f"has size {array.shape[axis]} in dimension {axis}, whose bound is {bound}")
    # NumPy's functions of floats give other last bits where strides are negative (see `Reverse.bind`).
    return np.array(array, order="C") if any(stride < 0 for stride in array.strides) else array


def as_array(value: object, what: str) -> Array:
    """Convert an argument of a call to an array.

    Args:
        value: an array, or anything with ``__dlpack__`` or ``__array__``, or what NumPy makes an array of; an
            array of JAX's typed random keys is converted to their words (`jax.random.key_data`).
        what: names it in the error.

    Raises:
        ExecutionError: it is not an array.
    """
    try:
        if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__"):
            array = np.asarray(value)
        elif hasattr(value, "__dlpack__"):
            array = np.from_dlpack(value)
        else:
            array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError, BufferError) as error:
        key_data = _random_key_data(value)
        if key_data is None:
            raise ExecutionError(f"{what} cannot be converted to an array: {error}") from error
        array = key_data
    if array.dtype.hasobject:
        shown = "is None" if value is None else f"has the type {value.__class__.__name__}"
        raise ExecutionError(f"{what} {shown}, which is not an array")
    return array


def _random_key_data(value: object) -> Array | None:
    """The data of an array of JAX's typed random keys, which NumPy cannot hold; None for any other value."""
    jax: Any = sys.modules.get("jax")
    if jax is None or not isinstance(value, jax.Array):
        return None
    is_key = jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(value)) if is_key else None


def _convert_scalar(value: complex, type: TensorType, index: int) -> Array:
    """A Python scalar as an array of rank 0, where the type can hold it."""
    element_type = type.element_type
    if type.rank != 0 or isinstance(element_type, QuantizedType):
        raise _error(index, f"is a scalar, but must be {type}")
    if not element_type.category & _SCALAR_CATEGORIES[_scalar_class(value)]:
        raise _error(index, f"is {value!r}, but must be {type}")
    if element_type.category & INTEGER and isinstance(value, int):
        low, high = storage_range(element_type)
        if not low <= value <= high:
            raise _error(index, f"is {value}, which {type} cannot hold")
    try:
        return np.array(value, type.dtype)
    except OverflowError:
        raise _error(index, f"is {value}, which {type} cannot hold") from None


def _scalar_class(value: complex) -> type:
    """The Python scalar type of a value, which may be an instance of a subclass."""
    return next(scalar for scalar in _SCALAR_CATEGORIES if isinstance(value, scalar))


def _error(index: int, reason: str) -> ExecutionError:
    return ExecutionError(f"input {index} {reason}")
