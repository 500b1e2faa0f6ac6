"""Generated code that kernels apply to blocks of their results."""

from __future__ import annotations

from ..named_tuples import NamedTuple


class BlockCode(NamedTuple):
    """Elementwise code for any rows and columns of a matrix: an epilogue of a kernel (`epilogue.h`).

    Attributes:
        address: of the task of a loop nest with two loops.
        accesses: for each pointer among its arguments the number of its array, and bytes from the array's
            first element. Arrays are the operands, then the result.
        strides: bytes from row to row and from column to column, for each pointer.
        integers: the arguments that follow the pointers.
        seconds: estimated for an element.
    """

    address: int
    accesses: tuple[tuple[int, int], ...]
    strides: tuple[tuple[int, int], ...]
    integers: tuple[int, ...]
    seconds: float
