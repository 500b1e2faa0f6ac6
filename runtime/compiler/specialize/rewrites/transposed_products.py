"""Rewrites a product with a transposed constant as a product with the constant.

A right matrix that is constant is packed once for all calls, but not one that an operation computes, and
large constants are not folded. The bits are the same: the order of additions depends on the number of terms
alone, and the contracted dimensions stay in their order.
"""

from __future__ import annotations

from collections.abc import Collection

from ....program.ir import Block, Operation, Value
from ....program.ops.contraction.dot_general import DotGeneral
from ....program.ops.shape.layout import Transpose
from ..framework.rewriter import defined_by, has_static_unquantized_types
from .contractions import multiply_by


def multiply_before_transposing(block: Block, constant_arguments: Collection[Value] = ()) -> bool:
    """Make products read the constant that a transpose reads, in place; unused transposes are left.

    Args:
        block: the body of a function. Products in its loops stay: those of few rows are faster if their
            matrix is transposed before the loop (`loop_products.py`).
        constant_arguments: for which each call of the function passes a constant.

    Returns:
        Whether there are such products.
    """
    is_changed = False
    for operation in block.operations:
        if operation.name != DotGeneral.name or not has_static_unquantized_types(operation):
            continue
        transpose = defined_by(operation.operands[1], Transpose.name)
        if transpose is None:
            continue
        matrix = transpose.operands[0]
        if matrix.constant_value is not None or matrix in constant_arguments:
            is_changed |= _multiply_by_source(operation, transpose)
    return is_changed


def _multiply_by_source(operation: Operation, transpose: Operation) -> bool:
    """Give a product the transpose's operand, unless the result's dimensions would change their order."""
    view, permutation = DotGeneral.of(operation), Transpose.of(transpose).permutation
    batching, contracting, columns = (
        tuple([permutation[d] for d in dims])
        for dims in (
            view.rhs_batching_dimensions, view.rhs_contracting_dimensions, view.rhs_result_dimensions
        )
    )
    if list(columns) != sorted(columns):
        return False
    multiply_by(operation, transpose.operands[0], contracting, batching)
    return True
