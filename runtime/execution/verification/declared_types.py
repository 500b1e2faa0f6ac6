"""Compares the values of a run with the types that the program declares for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...program.ops.framework.rules import shapes_agree
from ...types import DYNAMIC, BufferType, TensorType, TupleType, TupleValue, Type


def type_violation(type: Type, value: Any, *, is_vectorized: bool = False) -> str | None:
    """Why a value is none of a declared type; None if it is one.

    A tensor is a NumPy array, or a scalar of NumPy, of the type's elements and rank. Its sizes are those that
    the type knows, and at most the bounds of others.

    Args:
        type: the declared type.
        value: the value.
        is_vectorized: whether the value may be an array of many values of the type, as where a reference
            evaluates the region of a reduction.
    """
    if isinstance(type, TupleType):
        if not isinstance(value, TupleValue) or len(value) != len(type.types):
            return f"is no tuple of type {type}"
        violations = map(type_violation, type.types, value)
        return next((reason for reason in violations if reason is not None), None)
    if not isinstance(type, (TensorType, BufferType)):
        return None
    if not isinstance(value, (np.ndarray, np.generic)):
        return f"is no array of type {type}, but {value!r}"
    if value.dtype != type.element_type.dtype:
        return f"has elements {value.dtype}, but its type is {type}"
    if is_vectorized:
        return None
    bounds = getattr(type, "bounds", None) or (DYNAMIC,) * value.ndim
    if not shapes_agree(value.shape, type.shape):
        return f"has shape {list(value.shape)}, but its type is {type}"
    if any(size > bound != DYNAMIC for size, bound in zip(value.shape, bounds, strict=True)):
        return f"has shape {list(value.shape)}, beyond the bounds of its type {type}"
    return None


def layout_violation(value: Any) -> str | None:
    """Why no step can read an array as it lies in memory; None if steps can.

    Steps read and return arrays of any strides, zero and negative ones included; elements must be aligned and
    in the machine's byte order, for which generated code is compiled.
    """
    if not isinstance(value, np.ndarray) or value.dtype == np.object_:
        return None
    if not value.flags.aligned:
        return f"is not aligned: its address is {value.ctypes.data}, its strides are {value.strides}"
    return None if value.dtype.isnative else f"has the byte order {value.dtype.byteorder}"
