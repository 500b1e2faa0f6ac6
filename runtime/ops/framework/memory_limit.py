"""No tensor is allocated that the machine's memory cannot hold."""

from __future__ import annotations

import os
from typing import Final

import numpy as np

from ...errors import ExecutionError
from ...ir import Operation
from ...types import TensorType, Type


def _machine_bytes() -> int:
    """The machine's memory; where it does not tell, what an address may reach."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return int(np.iinfo(np.intp).max)


PHYSICAL_MEMORY_BYTES: Final = _machine_bytes()
"""The largest tensor that is computed."""


def bytes_of(type: Type) -> int:
    """How much memory a tensor of known sizes takes; 0 for other types."""
    if not isinstance(type, TensorType) or not type.is_static:
        return 0
    return type.size * type.dtype.itemsize


def require_memory(operation: Operation, *types: Type) -> None:
    """Results of an operation must fit into memory.

    Raises:
        ExecutionError: one does not.
    """
    for type in types:
        needed = bytes_of(type)
        if needed > PHYSICAL_MEMORY_BYTES:
            raise ExecutionError(
                f"the result {type} would take {needed} bytes, but the machine has {PHYSICAL_MEMORY_BYTES}",
                operation=operation.name,
                location=operation.location,
            )
