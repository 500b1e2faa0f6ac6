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

_CALL_SECONDS = 6e-7
"""Seconds that a reference step costs beside its elements."""
_ARITHMETIC, _SELECTION, _LOW_PRECISION, _GATHERED, _TRANSCENDENTAL, _SCIPY = (
    1e-9, 3e-9, 6e-9, 10e-9, 15e-9, 60e-9,
)  # fmt: skip
"""Seconds an element in NumPy: arithmetic; choices between operands, which take branches or several passes;
floats narrower than f32, which are converted; elements that indices choose; transcendental functions; those
in SciPy."""
_CALLS = {"stablehlo.count_leading_zeros": 9, "stablehlo.reduce_precision": 16}
"""How many calls of NumPy a reference makes where these are many."""
_CHOICES = frozenset(f"stablehlo.{name}" for name in ("clamp", "maximum", "minimum"))
_SCIPY_IMPORT_SECONDS = 0.1
"""Seconds to import SciPy's functions."""
_NATIVE_FRACTION = 0.15
"""Native code's share of NumPy's time, on one thread."""

BYTES_PER_SECOND = 1e10
"""What computing is worth in bytes moved, where work is divided."""

_LLVMLITE_IMPORT_SECONDS = 0.045
"""Seconds to import llvmlite."""
_COMPILING, _COMPILING_PLAIN, _COMPILING_EXPENSIVE, _COMPILING_SPECIAL = 0.025, 0.0005, 0.012, 0.06
"""Seconds to compile a nest; more for each operation: plain, transcendental, or one of SciPy."""


SCIPY_OPERATIONS = frozenset(
    f"chlo.{name}" for name in ("bessel_i1e", "digamma", "lgamma", "polygamma", "zeta")
)
"""Operations whose references import SciPy."""


class Estimate(NamedTuple):
    """Estimates for a block.

    Attributes:
        reference_seconds: by references, one call.
        native_seconds_an_element: of the results, on one thread.
        compile_seconds: to make its native code.
    """

    reference_seconds: float
    native_seconds_per_element: float
    compile_seconds: float


def estimate(block: Block) -> Estimate:
    """Estimates for a block of elementwise operations, moves and reductions."""
    call_seconds = work = slowest = 0.0
    total_compile_seconds = _COMPILING
    for operation in block.operations[:-1]:
        declaration = _declaration(operation)
        size = _size(operation)
        call_seconds += _CALL_SECONDS * _CALLS.get(operation.name, 1)
        if issubclass(declaration, Elementwise):
            seconds = _seconds_an_element(operation, declaration)
            work += size * seconds
            slowest = max(slowest, seconds)
            total_compile_seconds += _compiling(seconds)
        elif operation.name in GATHERS:
            work += size * _GATHERED
        elif issubclass(declaration, (Concatenate, Pad)):
            work += size * _ARITHMETIC
        elif issubclass(declaration, Reduce):
            work += _size_of(operation.operands[0].type) * _ARITHMETIC
    result_type = block.terminator.operands[0].type
    elements = result_type.size if isinstance(result_type, TensorType) else 1
    native = max(work, elements * _ARITHMETIC) * _NATIVE_FRACTION / max(elements, 1)
    total_compile_seconds += compiler_load_seconds()
    if slowest >= _SCIPY and "scipy.special" not in sys.modules:
        call_seconds += _SCIPY_IMPORT_SECONDS
    return Estimate(call_seconds + work, native, total_compile_seconds)


def _compiling(seconds: float) -> float:
    """What an operation adds to the compilation, by what it takes for an element."""
    if seconds < _TRANSCENDENTAL:
        return _COMPILING_PLAIN
    return _COMPILING_EXPENSIVE if seconds < _SCIPY else _COMPILING_SPECIAL


def seconds_of_operations(block: Block) -> float:
    """What NumPy takes for one element in all operations of a region."""
    seconds = 0.0
    for operation in block.operations[:-1]:
        declaration = _declaration(operation)
        if issubclass(declaration, Elementwise):
            seconds += _seconds_an_element(operation, declaration)
        else:
            seconds += _ARITHMETIC
        seconds += sum(seconds_of_operations(region.block) for region in operation.regions)
    return max(seconds, _ARITHMETIC)


def compiler_load_seconds() -> float:
    """What it takes to load the compiler into this process; 0 where that has been done."""
    return 0.0 if "llvmlite.binding" in sys.modules else _LLVMLITE_IMPORT_SECONDS


def native_saving_seconds(operation: Operation) -> float:
    """What native code saves on an operation because NumPy has no quick loop for it, or takes many calls."""
    declaration = _declaration(operation)
    if not issubclass(declaration, Elementwise):
        return 0.0
    calls = _CALL_SECONDS * (_CALLS.get(operation.name, 1) - 1)
    return calls + _size(operation) * (_seconds_an_element(operation, declaration) - _ARITHMETIC)


def _declaration(operation: Operation) -> type[Op]:
    return lookup(operation.name) or Op


def _size(operation: Operation) -> int:
    return _size_of(operation.results[0].type)


def _size_of(type: Type) -> int:
    return type.size if isinstance(type, TensorType) else 1


def _is_complex_magnitude(operation: Operation) -> bool:
    """Whether an operation takes absolute values of complex numbers: each is a square root."""
    if operation.name != "stablehlo.abs":
        return False
    type = operation.operands[0].type
    return isinstance(type, TensorType) and bool(type.element_type.category & COMPLEX)


def _seconds_an_element(operation: Operation, declaration: type[Elementwise]) -> float:
    """What NumPy takes for one element of an elementwise operation."""
    type = operation.results[0].type
    if not isinstance(type, TensorType):
        return _ARITHMETIC
    category, width = type.element_type.category, type.element_type.width
    if declaration.wide & category or _is_complex_magnitude(operation):
        return _SCIPY if operation.name in SCIPY_OPERATIONS else _TRANSCENDENTAL
    if category & (FLOAT | COMPLEX) and width < 32:
        return _LOW_PRECISION
    is_selection = operation.name == "stablehlo.select" or (operation.name in _CHOICES and category == FLOAT)
    return _SELECTION if is_selection else _ARITHMETIC
