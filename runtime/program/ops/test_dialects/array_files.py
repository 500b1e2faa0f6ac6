"""Arrays of every element type in NumPy's files.

NumPy's format names NumPy's own element types alone; others are written as bare bytes of the same size.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ....types import Array, TensorType, Type

_NUMPY_OWN: Final = 1
"""The `isbuiltin` of NumPy's own element types."""


def for_file(array: Array) -> Array:
    """The array as `numpy.save` and `numpy.savez` can write it."""
    if array.dtype.isbuiltin == _NUMPY_OWN:
        return array
    return array.view(np.dtype((np.void, array.dtype.itemsize)))


def from_file(array: Any, type: Type | None) -> Any:
    """The result of `numpy.load`; bare bytes of the right size become elements of `type`."""
    if (
        array.dtype.kind == "V"
        and isinstance(type, TensorType)
        and array.dtype.itemsize == type.dtype.itemsize
    ):
        return array.view(type.dtype)
    return array
