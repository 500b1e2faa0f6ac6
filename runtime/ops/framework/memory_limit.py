"""The limit on the memory of tensors, so that none exceeds the memory of the machine."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Final

import numpy as np

from ...errors import ExecutionError
from ...ir import Operation
from ...types import TensorType, Type


def _machine_bytes() -> int:
    """The bytes of the machine's memory; if unknown, the number of bytes that can be addressed."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return int(np.iinfo(np.intp).max)


PHYSICAL_MEMORY_BYTES: Final = _machine_bytes()
"""The bytes of the machine's memory, the maximum of a result."""
MAX_ELEMENTS: Final = 2**57
"""Maximum number of elements of a tensor. 2^57 elements of 16 bytes take 2^61 bytes, which fit into a signed
64-bit size, and no processor addresses more than 2^57 bytes."""


def bytes_of(type: Type) -> int:
    """The bytes of a tensor of known sizes; 0 for other types."""
    if not isinstance(type, TensorType) or not type.is_static:
        return 0
    return type.size * type.dtype.itemsize


def is_addressable(type: Type) -> bool:
    """Whether an array can have a type's dimension sizes, where sizes of 0 do not reduce the product of the
    others.
    """
    if not isinstance(type, TensorType) or not type.is_static:
        return True
    return 0 < type.size <= MAX_ELEMENTS or math.prod([max(size, 1) for size in type.shape]) <= MAX_ELEMENTS


def require_addressable(operation: Operation, types: Iterable[Type]) -> None:
    """There must be arrays of the types of an operation's results.

    Raises:
        ExecutionError: none can have one of them.
    """
    for type in types:
        if not is_addressable(type):
            raise ExecutionError(
                f"the result {type} has more elements than can be addressed",
                operation=operation.name,
                location=operation.location,
            )


def require_memory(operation: Operation, *types: Type) -> None:
    """Results of an operation must fit into memory.

    Raises:
        ExecutionError: one does not.
    """
    require_addressable(operation, types)
    for type in types:
        needed = bytes_of(type)
        if needed > PHYSICAL_MEMORY_BYTES:
            raise ExecutionError(
                f"the result {type} would take {needed} bytes, but the machine has {PHYSICAL_MEMORY_BYTES}",
                operation=operation.name,
                location=operation.location,
            )
