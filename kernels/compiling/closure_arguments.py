"""The arguments of kernels in closures: their types and encodings, which name no type of Numba's.

A process that runs kernels whose code is on the disk needs no Numba; `closures` has the code that loads the
arguments.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from ..named_tuples import NamedTuple


class Encoding(enum.Enum):
    """The encoding of an argument in a closure, an array of 64-bit values.

    The closure begins with the addresses of arrays, in the order of the arguments. The values of all
    arguments follow, and then a failure flag: it is not 0 once a task has failed.
    """

    VALUE = "an integer: its value"
    ARRAY = "an array: the values are its address and shape"
    ARRAY_PARAM = "an array whose address is the next one of the addresses: the values are its shape"
    ADDRESS_TABLE = "an array that consists of the next ones of the addresses: no values"


class ArrayType(NamedTuple):
    """The type of a C-contiguous array.

    Attributes:
        dtype: NumPy's text of the element type, such as "<f4".
    """

    dtype: str
    rank: int
    is_written: bool


class Argument(NamedTuple):
    """An argument's encoding, its type if it is an array, and how many addresses it has in the closure."""

    encoding: Encoding
    array: ArrayType | None = None
    addresses: int = 0


Arguments = tuple["Argument | tuple[Argument, ...]", ...]
"""The arguments that a closure encodes; members of tuples are encoded one by one."""


def array_type(dtype: np.dtype[Any], rank: int, is_written: bool) -> ArrayType:
    """The type of a C-contiguous array."""
    return ArrayType(dtype.str, rank, is_written)


def encoded_arguments(arguments: tuple[Any, ...]) -> Arguments:
    """The encoding of a call's arguments by `native.run_kernel`."""
    return tuple(
        [
            tuple(map(_encoded, argument)) if isinstance(argument, tuple) else _encoded(argument)
            for argument in arguments
        ]
    )


def _encoded(value: Any) -> Argument:
    if isinstance(value, np.ndarray):
        return Argument(Encoding.ARRAY, array_type(value.dtype, value.ndim, value.flags.writeable))
    return Argument(Encoding.VALUE)
