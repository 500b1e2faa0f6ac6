"""Rewrites products with transposes as products with what is transposed.

A right matrix that is constant is packed once for all calls, but not one that an operation computes, and
large constants are not folded. A product with a vector reads matrices in both orders of their dimensions, but
native loops would copy a transpose. The bits are the same: the order of additions depends on the number of
terms alone, and the contracted dimensions stay in their order.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ....program.ir import Block, Operation, Value, tensor_type
from ....program.ops.contraction.dot_general import DotGeneral
from ....program.ops.shape.layout import Transpose
from ..framework.rewriter import Rewriter, defined_by, has_static_unquantized_types
from .contractions import attributes_with_dimensions, multiply_by


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


def vector_product_of_transpose(operation: Operation, rewriter: Rewriter) -> Value | None:
    """A product of a transposed matrix and a vector multiplies what is transposed."""
    for side, number in (("lhs", 0), ("rhs", 1)):
        transpose = defined_by(operation.operands[number], Transpose.name)
        if transpose is None or not has_static_unquantized_types(operation):
            continue
        view = DotGeneral.of(operation)
        # The other operand is a vector if it has no columns or rows in the result.
        if view.matrix_sizes[2 - 2 * number] != 1:
            continue
        dims = _source_dimensions(view, side, transpose)
        if dims is not None:
            operands = list(operation.operands)
            operands[number] = transpose.operands[0]
            attributes = attributes_with_dimensions(operation, side, *dims)
            return rewriter.create(operation.name, operands, tensor_type(operation.result), attributes)
    return None


def _multiply_by_source(operation: Operation, transpose: Operation) -> bool:
    """Give a product the transpose's operand, unless the result's dimensions would change their order."""
    dims = _source_dimensions(DotGeneral.of(operation), "rhs", transpose)
    if dims is not None:
        multiply_by(operation, transpose.operands[0], *dims)
    return dims is not None


def _source_dimensions(
    view: DotGeneral, side: str, transpose: Operation
) -> tuple[Sequence[int], Sequence[int]] | None:
    """The contracting and batching dimensions of an operand before it is transposed; None if the result's
    dimensions would change their order.

    Args:
        side: "lhs" or "rhs".
    """
    permutation = Transpose.of(transpose).permutation
    contracting, batching, others = [
        [permutation[d] for d in getattr(view, f"{side}_{kind}_dimensions")]
        for kind in ("contracting", "batching", "result")
    ]
    return (contracting, batching) if others == sorted(others) else None
