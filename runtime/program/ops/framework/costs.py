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
    COMPLEX_PASSES = enum.auto()
    """Arithmetic, which takes several passes or no vectors on complex numbers."""
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


class FunctionClass(enum.Enum):
    """The fewest multiply-adds that compute a function, whatever the algorithm.

    The values are those of elements narrower than f32, of f32, and of f64, by the shortest published loops:
    an estimate refined by Newton's method; a reduction of the argument, a polynomial (with a table of a
    register for f64), and a scaling. They bound the time from below (`inspection/profiling/work.py`).
    """

    QUOTIENT = (2, 4, 5)
    """A division or a root: an estimate by one instruction, and its refinement."""
    EXPONENTIAL = (4, 8, 10)
    """An exponential, a logarithm, or a function of these."""
    LONG = (4, 9, 12)
    """A trigonometric function, a power, a special function."""

    @property
    def label(self) -> str:
        """The name in lower case."""
        return self.name.lower()


class Work(enum.Enum):
    """The least arithmetic of an operation, whatever the algorithm.

    `inspection/profiling/work.py` counts it.
    """

    NONE = enum.auto()
    """None that is counted: it moves data, or there is no bound for it."""
    ELEMENTS = enum.auto()
    """Its function, or one instruction, for each element of the result."""
    COMBINATIONS = enum.auto()
    """An instruction for each element of the first operand that is not among those of the result."""
    COMPARISONS = enum.auto()
    """The comparisons that tell all orders of the elements along a dimension from each other."""
    TRANSFORM = enum.auto()
    """The multiply-adds of a Fourier transform by the split radix."""
    CUBE = enum.auto()
    """The multiply-adds of a factorization of each matrix: a sixth of the cube of its size."""
    SQUARE = enum.auto()
    """The multiply-adds of a triangular system: half of the square of its size for each column."""


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
        function: the class of the function that it computes on real elements; None: it is an instruction.
    """

    element: int
    chain: int = 1
    is_recomputed: bool = True
    spills: bool = False
    numpy_work: NumPyWork = NumPyWork.ARITHMETIC
    numpy_calls: int = 1
    function: FunctionClass | None = None


UNKNOWN: Final = Cost(EXPENSIVE_COST, numpy_work=NumPyWork.NONE)
VIEW: Final = Cost(1, numpy_work=NumPyWork.NONE)
INSTRUCTION: Final = Cost(1)
COMPLEX_PASSES: Final = Cost(1, numpy_work=NumPyWork.COMPLEX_PASSES)
CHOICE: Final = Cost(1, numpy_work=NumPyWork.CHOICE)
SELECTION: Final = Cost(1, numpy_work=NumPyWork.SELECTION)
INSTRUCTIONS: Final = Cost(EXPENSIVE_COST)
DIVISION: Final = Cost(EXPENSIVE_COST, is_recomputed=False, function=FunctionClass.QUOTIENT)
RECIPROCAL_ROOT: Final = Cost(
    EXPENSIVE_COST, CHAIN_COST, is_recomputed=False, function=FunctionClass.QUOTIENT
)
FUNCTION: Final = Cost(
    EXPENSIVE_COST, FUNCTION_COST, is_recomputed=False, function=FunctionClass.EXPONENTIAL
)
SPILLING_FUNCTION: Final = Cost(
    EXPENSIVE_COST, FUNCTION_COST, is_recomputed=False, spills=True, function=FunctionClass.EXPONENTIAL
)
LONG_FUNCTION: Final = Cost(
    EXPENSIVE_COST, LONG_FUNCTION_COST, is_recomputed=False, function=FunctionClass.LONG
)
SCIPY_FUNCTION: Final = Cost(
    EXPENSIVE_COST,
    FUNCTION_COST,
    is_recomputed=False,
    numpy_work=NumPyWork.SCIPY,
    function=FunctionClass.LONG,
)
LONG_SCIPY_FUNCTION: Final = Cost(
    EXPENSIVE_COST,
    LONG_FUNCTION_COST,
    is_recomputed=False,
    numpy_work=NumPyWork.SCIPY,
    function=FunctionClass.LONG,
)
COPY: Final = Cost(EXPENSIVE_COST, numpy_work=NumPyWork.COPY)
GATHER: Final = Cost(EXPENSIVE_COST, numpy_work=NumPyWork.GATHER)
REDUCTION: Final = Cost(EXPENSIVE_COST, numpy_work=NumPyWork.REDUCTION)
