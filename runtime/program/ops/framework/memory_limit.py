"""The limit on the memory of tensors, so that none exceeds what the process may have."""

from __future__ import annotations

import contextlib
import functools
import math
import os
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from ....errors import ExecutionError
from ....kernels.launch.free_memory import MIN_CHECKED_BYTES, as_memory_error, limits, shortage_of
from ....types import TensorType, Type
from ...ir import Function, Operation
from .declaration import source_name

MAX_ELEMENTS: Final = 2**57
"""Maximum number of elements of a tensor. 2^57 elements of 16 bytes take 2^61 bytes, which fit into a signed
64-bit size, and no processor addresses more than 2^57 bytes."""


@functools.cache
def usable_bytes() -> int:
    """The bytes of memory that the machine, control groups and resource limits let the process have, the
    maximum of a result; if unknown, the bytes that can be addressed.
    """
    totals = [limit.total for limit in limits()]
    with contextlib.suppress(AttributeError, OSError, ValueError):
        totals.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(totals, default=int(np.iinfo(np.intp).max))


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
                operation=source_name(operation),
                location=operation.location,
            )


def require_addressable_arguments(function: Function) -> None:
    """There must be arrays of the types of a function's arguments.

    Raises:
        ExecutionError: none can have one of them.
    """
    for index, type in enumerate(function.type.inputs):
        if not is_addressable(type):
            raise ExecutionError(
                f"argument {index} of @{function.name}, {type}, has more elements than can be addressed",
                location=function.location,
            )


def require_memory(operation: Operation, *types: Type) -> None:
    """Results of an operation must fit into memory.

    Raises:
        ExecutionError: one does not.
    """
    require_addressable(operation, types)
    for type in types:
        needed = bytes_of(type)
        if needed >= MIN_CHECKED_BYTES and needed > usable_bytes():
            raise ExecutionError(
                f"the result {type} would take {needed} bytes, "
                f"but the process may have {usable_bytes()}",
                operation=source_name(operation),
                location=operation.location,
            )


def require_free_memory(operation: Operation, *types: Type) -> None:
    """There must be memory for results of an operation that is about to run.

    Raises:
        ExecutionError: there is not.
    """
    require_memory(operation, *types)
    shortage = shortage_of(sum(map(bytes_of, types)))
    if shortage:
        raise ExecutionError(
            f"the results take {shortage}", operation=source_name(operation), location=operation.location
        )


@contextlib.contextmanager
def typed_shortage(what: str) -> Iterator[None]:
    """Report a shortage of memory within the context as an error of the program.

    Args:
        what: what cannot be done, the beginning of the reason: ``"@main cannot be compiled"``.

    Raises:
        ExecutionError: an allocation failed within the context, or a library could not be loaded for want of
            memory.
    """
    try:
        yield
    except (MemoryError, ImportError, OSError) as error:
        shortage = as_memory_error(error)
        if not isinstance(shortage, MemoryError):
            raise
        raise ExecutionError(f"{what}: {str(shortage) or 'not enough memory'}") from None
