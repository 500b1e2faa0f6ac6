"""The cost of a call of a program, under the names of XLA's cost analysis."""

from __future__ import annotations

import math

from ...compiler.plan import MemoryEstimate
from ...inspection.profiling.work import multiply_adds
from ...program.ir import Module, Operation
from ...program.ops.elementwise.base import Elementwise, Transcendental
from ...program.ops.framework.costs import NumPyWork
from ...program.ops.framework.declaration import declaration_of, lookup
from ...types import TensorType, Type


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
            flops += _flops(operation)
    accessed_bytes = memory.arguments + memory.results + 2 * memory.temporaries
    return {"flops": flops, "transcendentals": transcendentals, "bytes accessed": float(accessed_bytes)}


def _flops(operation: Operation) -> float:
    """The arithmetic operations of an operation that is not elementwise."""
    if declaration_of(operation).cost.numpy_work is NumPyWork.REDUCTION:
        return _size(operation.operands[0].type)
    operands, results = (
        [_static(value.type) for value in values] for values in (operation.operands, operation.results)
    )
    return 2.0 * multiply_adds(operation.name, operands, results, operation.attributes)


def _static(type: Type) -> Type:
    """A type with 1 for each unknown size."""
    return type.with_shape(tuple(map(abs, type.shape))) if isinstance(type, TensorType) else type


def _size(type: Type) -> float:
    """The number of elements of a tensor; unknown sizes count as one."""
    return float(math.prod(map(abs, type.shape))) if isinstance(type, TensorType) else 0.0
