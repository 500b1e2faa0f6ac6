"""The cost of a call of a program, under the names of XLA's cost analysis."""

from __future__ import annotations

import math

from ...ir import Module, Operation
from ...ops.contraction.convolution import Convolution
from ...ops.contraction.dot_general import DotGeneral
from ...ops.elementwise.base import Elementwise, Transcendental
from ...ops.framework.declaration import lookup
from ...plan import MemoryEstimate
from ...types import TensorType, Type

_REDUCING = frozenset({"stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.scatter", "stablehlo.sort"})
"""Operations with a body that runs about once for each element of an operand."""


def cost_of(module: Module, memory: MemoryEstimate) -> dict[str, float]:
    """An estimate of the work of a call.

    Args:
        module: the program. Bodies of loops count once, and so does each function.
        memory: what a call needs.

    Returns:
        ``flops``: arithmetic operations on elements, two for each term of a product; ``transcendentals``:
        functions of elements; ``bytes accessed``: bytes of arguments and results, and those of temporaries
        twice, for they are written and read.
    """
    flops = transcendentals = 0.0
    for operation in module.walk():
        declaration = lookup(operation.name)
        if declaration is None or not operation.results:
            continue
        count = _size(operation.results[0].type)
        if issubclass(declaration, Transcendental):
            transcendentals += count
        elif issubclass(declaration, Elementwise):
            flops += count
        else:
            flops += _flops(operation, count)
    accessed_bytes = memory.arguments + memory.results + 2 * memory.temporaries
    return {"flops": flops, "transcendentals": transcendentals, "bytes accessed": float(accessed_bytes)}


def _flops(operation: Operation, count: float) -> float:
    """The arithmetic operations of an operation that is not elementwise, for results of `count` elements."""
    if operation.name == "stablehlo.dot_general":
        view = DotGeneral(operation)
        return 2 * count * float(math.prod([view.lhs.shape[d] for d in view.lhs_contracting_dimensions]))
    if operation.name == "stablehlo.convolution":
        # Each element of the result sums over the kernel's elements for its output feature.
        numbers = Convolution(operation)
        features = abs(numbers.rhs.shape[numbers.kernel_output_feature_dimension])
        return 2 * count * _size(numbers.rhs) / float(max(1, features))
    return _size(operation.operands[0].type) if operation.name in _REDUCING else 0.0


def _size(type: Type) -> float:
    """The number of elements of a tensor; unknown sizes count as one."""
    return float(math.prod(map(abs, type.shape))) if isinstance(type, TensorType) else 0.0
