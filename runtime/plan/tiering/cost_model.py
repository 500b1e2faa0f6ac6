"""How long steps take, about: what decides between waiting for the compiler and going without.

The figures are of a 2020s server processor; they need to be right within a factor of three.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from ...ir import Block, Operation
from ...ops.elementwise.base import Elementwise
from ...ops.framework.declaration import Op, lookup
from ...ops.reduction.reduce import Reduce
from ...ops.shape.layout import Concatenate
from ...ops.shape.slicing import Pad
from ...specialize.fusion.gather_index_map import GATHERS
from ...types import COMPLEX, FLOAT, TensorType, Type

_STEP = 6e-7
"""Seconds that a reference step costs beside its elements."""
_PLAIN, _CHOSEN, _NARROW, _INDEXED, _EXPENSIVE, _SPECIAL = 1e-9, 3e-9, 6e-9, 10e-9, 15e-9, 60e-9
"""Seconds an element in NumPy: arithmetic; choices between operands, which take branches or several passes;
floats narrower than f32, which are converted; elements that indices choose; transcendental functions; those
in SciPy."""
_CALLS = {"stablehlo.count_leading_zeros": 9, "stablehlo.reduce_precision": 16}
"""How many calls of NumPy a reference makes where these are many."""
_CHOICES = frozenset(f"stablehlo.{name}" for name in ("clamp", "maximum", "minimum"))
_LOADING_SCIPY = 0.1
"""Seconds to import SciPy's functions."""
_NATIVE_SHARE = 0.15
"""Native code's share of NumPy's time, on one thread."""

BYTES_A_SECOND = 1e10
"""What computing is worth in bytes moved, where work is divided."""

_LOADING = 0.045
"""Seconds to import llvmlite."""
_COMPILING, _COMPILING_PLAIN, _COMPILING_EXPENSIVE, _COMPILING_SPECIAL = 0.025, 0.0005, 0.012, 0.06
"""Seconds to compile a nest; more for each operation: plain, transcendental, or one of SciPy."""


IN_SCIPY = frozenset(f"chlo.{name}" for name in ("bessel_i1e", "digamma", "lgamma", "polygamma", "zeta"))
"""Operations whose references import SciPy."""


class Estimate(NamedTuple):
    """Estimates for a block.

    Attributes:
        reference_seconds: by references, one call.
        native_seconds_an_element: of the results, on one thread.
        compile_seconds: to make its native code.
    """

    reference_seconds: float
    native_seconds_an_element: float
    compile_seconds: float


def estimate(block: Block) -> Estimate:
    """Estimates for a block of elementwise operations, moves and reductions."""
    reference = work = slowest = 0.0
    compiling = _COMPILING
    for operation in block.operations[:-1]:
        declaration = _declaration(operation)
        size = _size(operation)
        reference += _STEP * _CALLS.get(operation.name, 1)
        if issubclass(declaration, Elementwise):
            seconds = _seconds_an_element(operation, declaration)
            work += size * seconds
            slowest = max(slowest, seconds)
            compiling += _compiling(seconds)
        elif operation.name in GATHERS:
            work += size * _INDEXED
        elif issubclass(declaration, (Concatenate, Pad)):
            work += size * _PLAIN
        elif issubclass(declaration, Reduce):
            work += _size_of(operation.operands[0].type) * _PLAIN
    last = block.terminator.operands[0].type
    elements = last.size if isinstance(last, TensorType) else 1
    native = max(work, elements * _PLAIN) * _NATIVE_SHARE / max(elements, 1)
    compiling += loading_seconds()
    if slowest >= _SPECIAL and "scipy.special" not in sys.modules:
        reference += _LOADING_SCIPY
    return Estimate(reference + work, native, compiling)


def _compiling(seconds: float) -> float:
    """What an operation adds to the compilation, by what it takes for an element."""
    if seconds < _EXPENSIVE:
        return _COMPILING_PLAIN
    return _COMPILING_EXPENSIVE if seconds < _SPECIAL else _COMPILING_SPECIAL


def seconds_of_operations(block: Block) -> float:
    """What NumPy takes for one element in all operations of a region."""
    seconds = 0.0
    for operation in block.operations[:-1]:
        declaration = _declaration(operation)
        if issubclass(declaration, Elementwise):
            seconds += _seconds_an_element(operation, declaration)
        else:
            seconds += _PLAIN
        seconds += sum(seconds_of_operations(region.block) for region in operation.regions)
    return max(seconds, _PLAIN)


def loading_seconds() -> float:
    """What it takes to load the compiler into this process; 0 where that has been done."""
    return 0.0 if "llvmlite.binding" in sys.modules else _LOADING


def saved_seconds(operation: Operation) -> float:
    """What native code saves on an operation because NumPy has no quick loop for it, or takes many calls."""
    declaration = _declaration(operation)
    if not issubclass(declaration, Elementwise):
        return 0.0
    calls = _STEP * (_CALLS.get(operation.name, 1) - 1)
    return calls + _size(operation) * (_seconds_an_element(operation, declaration) - _PLAIN)


def _declaration(operation: Operation) -> type[Op]:
    return lookup(operation.name) or Op


def _size(operation: Operation) -> int:
    return _size_of(operation.results[0].type)


def _size_of(type: Type) -> int:
    return type.size if isinstance(type, TensorType) else 1


def _is_size_of_complex(operation: Operation) -> bool:
    """Whether an operation takes absolute values of complex numbers: each is a square root."""
    if operation.name != "stablehlo.abs":
        return False
    type = operation.operands[0].type
    return isinstance(type, TensorType) and bool(type.element_type.category & COMPLEX)


def _seconds_an_element(operation: Operation, declaration: type[Elementwise]) -> float:
    """What NumPy takes for one element of an elementwise operation."""
    type = operation.results[0].type
    if not isinstance(type, TensorType):
        return _PLAIN
    category, width = type.element_type.category, type.element_type.width
    if declaration.wide & category or _is_size_of_complex(operation):
        return _SPECIAL if operation.name in IN_SCIPY else _EXPENSIVE
    if category & (FLOAT | COMPLEX) and width < 32:
        return _NARROW
    is_chosen = operation.name == "stablehlo.select" or (operation.name in _CHOICES and category == FLOAT)
    return _CHOSEN if is_chosen else _PLAIN
