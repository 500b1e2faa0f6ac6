"""Converts arrays of other libraries by DLPack or ``__array__``, and results back to these libraries."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import NimbleError
from ..execution.inputs import as_array
from ..types import Array, DType, element_type_of
from .element_types import element_type_named
from .failures import violation_error


def array_of(value: object, what: str, pattern: str) -> Array:
    """An operand as an array with an element type of StableHLO.

    Args:
        value: an array, a number, nested lists, or anything with ``__dlpack__`` or ``__array__``.
        what: names the operand in the error.
        pattern: for the error.

    Raises:
        VerifyError: the value cannot become such an array.
    """
    try:
        array = value if type(value) is np.ndarray else _as_array(value, what, pattern)
        element_type_of(array.dtype)
        return array
    except NimbleError as error:
        raise violation_error(pattern, error.reason) from error
    except KeyError:
        if not array.dtype.isnative:
            return array_of(array.astype(array.dtype.newbyteorder("=")), what, pattern)
        reason = f"{what} has elements of {array.dtype}, which is not an element type of StableHLO"
        raise violation_error(pattern, reason) from None


def library_of(operands: Iterable[object]) -> Any:
    """The library of the first operand that is an array, but not one of NumPy; None if there is none."""
    for operand in operands:
        if isinstance(operand, (np.ndarray, np.generic)) or not hasattr(operand, "__dlpack__"):
            continue
        if hasattr(operand, "__array_namespace__"):
            return operand.__array_namespace__()
        return _module_of(operand)
    return None


def as_array_of(library: Any, array: Array) -> Any:
    """Convert an array to a library; None returns it unchanged."""
    if not hasattr(library, "from_dlpack"):
        return array
    if _is_supported_by_dlpack(array.dtype):
        return library.from_dlpack(array)
    if hasattr(library, "__array_api_version__"):
        return library.asarray(array)
    carrier = library.from_dlpack(array.view(_carrier(array.dtype)))
    return carrier.view(getattr(library, array.dtype.name))


def _as_array(value: Any, what: str, pattern: str) -> Array:
    """An object as a NumPy array. Elements that NumPy cannot take through DLPack become integers of the same
    bits.
    """
    if str(getattr(value, "dtype", "")).startswith("torch."):
        dtype = element_type_named(value.dtype, pattern).dtype
        if not _is_supported_by_dlpack(dtype):
            carrier = value.view(getattr(_module_of(value), _carrier(dtype).name))
            return as_array(carrier, what).view(dtype)
    return as_array(value, what)


def _module_of(value: object) -> Any:
    return sys.modules.get(type(value).__module__.partition(".")[0])


def _is_supported_by_dlpack(dtype: DType) -> bool:
    """Whether NumPy supports an element type through DLPack, which it does not for those of ml_dtypes."""
    return dtype.isbuiltin == 1


def _carrier(dtype: DType) -> DType:
    """The integer type that carries the bits of an element type."""
    return np.dtype(np.int16 if dtype.itemsize == 2 else np.uint8)
