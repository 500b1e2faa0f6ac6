"""Estimated costs of operations on one element, by which loops are tiled and interleaved.

Declarations state the cost of an operation (`program/ops/framework/costs.py`). This module does not import
LLVM.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...kernels.launch.processor import vector_bytes
from ...program.ir import Operation, Value, plain_element_type
from ...program.ops.framework.costs import CHAIN_COST, FUNCTION_COST, LONG_FUNCTION_COST
from ...program.ops.framework.declaration import declaration_of
from .elementwise.emitted_operations import is_function_in_f32

_INTERLEAVE_COUNT, _INTERLEAVE_COUNT_IN_F32, _INTERLEAVE_COUNT_OF_SPILLING = 4, 8, 2
_MIN_INTERLEAVE_COUNT = 2
_ELEMENTS_PER_REST = 16
"""There are fewer vectors in a group if one of 16 elements of the loop, or more, fills a group only then.
LLVM computes elements that fill none by vectors of half the width, one after the other. exp and log of rows
of 100 to 200 elements take 0.55 to 0.75 of the time (Sapphire Rapids)."""
_MAX_COST_OF_SPILLING = 45
"""Where four vectors of a function do not fit 32 registers, two take 6 to 17 % less time (Zen 4) up to this
cost, as the processor looks ahead as far as the next two. In longer chains four take less time."""
_MAX_LIVE_RESULTS = 2
"""Results of a chain that are live at once where eight vectors of it, with operands and constants, fit 32
registers. Random bits by Threefry have three: eight vectors take up to 1.5 times as long as four (Zen 4)."""


def takes_longer_than_memory(operations: Sequence[Operation]) -> bool:
    """Whether the operations take longer than the memory accesses of an element."""
    return _chain_cost(operations) >= LONG_FUNCTION_COST


def interleave_count(operations: Sequence[Operation], elements: int | None = None) -> int:
    """The number of vectors of elements that a loop should interleave; 0 where LLVM may choose.

    In a long dependency chain, the next element's instructions lie beyond the processor's reorder window, so
    they must be interleaved in the code. Chains in f32 are shorter, but for long functions: eight vectors of
    sine or atan2 take 1.15 to 1.3 times as long as four (Zen 5). Too many live vectors would be spilled.

    Args:
        operations: on an element.
        elements: the number of elements of the loop, if it is known.
    """
    count = _count_of_long_loop(operations)
    if elements is not None and count > _MIN_INTERLEAVE_COUNT:
        types = [plain_element_type(result) for operation in operations for result in operation.results]
        lanes = vector_bytes() // max([type.dtype.itemsize for type in types])
        least_rest = elements % (lanes * _MIN_INTERLEAVE_COUNT)
        while count > _MIN_INTERLEAVE_COUNT:
            if _ELEMENTS_PER_REST * (elements % (lanes * count) - least_rest) < elements:
                break
            count //= 2
    return count


def _count_of_long_loop(operations: Sequence[Operation]) -> int:
    """`interleave_count` of a loop of many elements."""
    cost = _chain_cost(operations)
    if cost < CHAIN_COST:
        return 0
    are_few = _live_results(operations) <= _MAX_LIVE_RESULTS
    if cost >= FUNCTION_COST and are_few and _are_short_and_in_f32(operations):
        return _INTERLEAVE_COUNT_IN_F32
    spills = any(declaration_of(operation).cost.spills for operation in operations)
    return _INTERLEAVE_COUNT_OF_SPILLING if spills and cost <= _MAX_COST_OF_SPILLING else _INTERLEAVE_COUNT


def _live_results(operations: Sequence[Operation]) -> int:
    """The maximum number of these results that are live at once."""
    last_use = {
        operand: number for number, operation in enumerate(operations) for operand in operation.operands
    }
    live: set[Value] = set()
    max_live = 0
    for number, operation in enumerate(operations):
        if operation.is_constant:
            continue
        live -= {operand for operand in operation.operands if last_use[operand] == number}
        live |= {result for result in operation.results if result in last_use}
        max_live = max(max_live, len(live))
    return max_live


def _chain_cost(operations: Sequence[Operation]) -> int:
    """The cost of operations of which each needs the result of the one before."""
    return sum([declaration_of(operation).cost.chain for operation in operations])


def _are_short_and_in_f32(operations: Sequence[Operation]) -> bool:
    """Whether no function among these is long, or computed in f64."""
    functions = [one for one in operations if declaration_of(one).emit.function]
    return all(
        declaration_of(one).cost.chain < LONG_FUNCTION_COST
        and is_function_in_f32(one, plain_element_type(one.result))
        for one in functions
    )


def cost_of(operation: Operation) -> int:
    """The cost of an operation on one element."""
    return declaration_of(operation).cost.element
