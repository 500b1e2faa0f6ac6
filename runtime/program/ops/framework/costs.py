"""Cost classes: what an operation costs on one element, in generated loops and in NumPy."""

from __future__ import annotations

import enum
from typing import Final

from ...ir.record import Record

EXPENSIVE_COST: Final = 16
"""Cost of an operation that takes several instructions, such as a division, or more."""
CHAIN_COST: Final = 16
"""Cost of the shortest dependency chain that is worth interleaving: of `rsqrt`."""
FUNCTION_COST: Final = 40
"""Cost of a transcendental function that takes less time than the memory accesses of an element."""
LONG_FUNCTION_COST: Final = 44
"""Cost of a function that takes more."""


class NumPyWork(enum.Enum):
    """What the NumPy implementation of an operation does for each element."""

    NONE = enum.auto()
    """Nothing: it returns a view, or is not estimated."""
    ARITHMETIC = enum.auto()
    """Arithmetic, or a transcendental function where the operation needs the wider carrier."""
    CHOICE = enum.auto()
    """A choice between operands, which takes branches or several passes on floats."""
    SELECTION = enum.auto()
    """A choice which does so on all types."""
    SCIPY = enum.auto()
    """A function of SciPy."""
    COPY = enum.auto()
    """A copy."""
    GATHER = enum.auto()
    """A read at an index."""
    REDUCTION = enum.auto()
    """Arithmetic, or a run of its region, on each element of the first operand."""


class Cost(Record):
    """The cost of an operation on one element.

    The unit is the time of an addition of f32 in a vectorized loop.

    Attributes:
        element: the time in a vectorized loop; it tells instructions from everything else.
        chain: the length of the dependency chain; it tells functions apart, and takes all other operations as
            additions.
        is_recomputed: whether a fusion may compute it for each of several users, or for each element of a
            larger loop, rather than store it.
        spills: whether four vectors of it do not fit 32 registers.
        numpy_work: what the NumPy implementation does for each element.
        numpy_calls: the number of calls of NumPy in that implementation.
    """

    element: int
    chain: int = 1
    is_recomputed: bool = True
    spills: bool = False
    numpy_work: NumPyWork = NumPyWork.ARITHMETIC
    numpy_calls: int = 1


UNKNOWN: Final = Cost(EXPENSIVE_COST, numpy_work=NumPyWork.NONE)
VIEW: Final = Cost(1, numpy_work=NumPyWork.NONE)
INSTRUCTION: Final = Cost(1)
CHOICE: Final = Cost(1, numpy_work=NumPyWork.CHOICE)
SELECTION: Final = Cost(1, numpy_work=NumPyWork.SELECTION)
INSTRUCTIONS: Final = Cost(EXPENSIVE_COST)
DIVISION: Final = Cost(EXPENSIVE_COST, is_recomputed=False)
RECIPROCAL_ROOT: Final = Cost(EXPENSIVE_COST, CHAIN_COST, is_recomputed=False)
FUNCTION: Final = Cost(EXPENSIVE_COST, FUNCTION_COST, is_recomputed=False)
SPILLING_FUNCTION: Final = Cost(EXPENSIVE_COST, FUNCTION_COST, is_recomputed=False, spills=True)
LONG_FUNCTION: Final = Cost(EXPENSIVE_COST, LONG_FUNCTION_COST, is_recomputed=False)
SCIPY_FUNCTION: Final = Cost(
    EXPENSIVE_COST, FUNCTION_COST, is_recomputed=False, numpy_work=NumPyWork.SCIPY
)
LONG_SCIPY_FUNCTION: Final = Cost(
    EXPENSIVE_COST, LONG_FUNCTION_COST, is_recomputed=False, numpy_work=NumPyWork.SCIPY
)
COPY: Final = Cost(EXPENSIVE_COST, numpy_work=NumPyWork.COPY)
GATHER: Final = Cost(EXPENSIVE_COST, numpy_work=NumPyWork.GATHER)
REDUCTION: Final = Cost(EXPENSIVE_COST, numpy_work=NumPyWork.REDUCTION)
