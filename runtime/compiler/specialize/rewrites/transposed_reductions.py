"""Rewrites a reduction of a transpose that nothing else uses as a reduction of the transpose's operand.

The values of each result element stay in their order, or every order of combining them gives the same bits.
"""

from __future__ import annotations

from collections import Counter

from ....kernels.named_tuples import NamedTuple
from ....program.ir import Block, Operation, Region, Value, tensor_type, use_counts
from ....program.ops.reduction.reduce import Reduce
from ....program.ops.shape.layout import Transpose
from ..framework.rewriter import defined_by, dimensions, has_static_unquantized_types


class _ReductionOfTranspose(NamedTuple):
    """A reduction without its transpose.

    Attributes:
        source: the operand of the transpose.
        reduced_dims: the dimensions of `source` that are reduced.
        unreduced_dims: its other dimensions, in the order of the result's.
    """

    source: Value
    reduced_dims: list[int]
    unreduced_dims: list[int]


def reduce_before_transposing(region: Region) -> bool:
    """Make reductions of a transpose read its operand, in place; transposes that nothing uses are left.

    Returns:
        Whether there are such transposes.
    """
    if not any(map(_reduced_transpose, region.walk())):
        return False
    users = use_counts(region)
    blocks = [region.block, *(inner.block for operation in region.walk() for inner in operation.regions)]
    replaced: dict[Value, Value] = {}
    for block in blocks:
        _rebuild(block, users, replaced)
    region.block.replace_uses(replaced)
    return bool(replaced)


def _reduced_transpose(operation: Operation) -> Operation | None:
    """The transpose whose result a reduction of one input reduces; None for other operations."""
    is_reduction = operation.name == Reduce.name and len(operation.operands) == 2
    return defined_by(operation.operands[0], Transpose.name) if is_reduction else None


def _rebuild(block: Block, users: Counter[Value], replaced: dict[Value, Value]) -> None:
    operations: list[Operation] = []
    for operation in block.operations:
        match = _match(operation, users)
        if match is None:
            operations.append(operation)
            continue
        type = tensor_type(operation.result)
        sizes = tensor_type(match.source).shape
        unreduced_dims = sorted(match.unreduced_dims)
        rewritten = Operation(
            operation.name,
            (match.source, operation.operands[1]),
            [type.with_shape(tuple([sizes[d] for d in unreduced_dims]))],
            {**operation.attributes, **dimensions(dimensions=match.reduced_dims)},
            operation.regions,
            operation.location,
        )
        operations.append(rewritten)
        if unreduced_dims != match.unreduced_dims:
            order = dimensions(permutation=[unreduced_dims.index(d) for d in match.unreduced_dims])
            rewritten = Operation(Transpose.name, rewritten.results, [type], order, (), operation.location)
            operations.append(rewritten)
        replaced[operation.result] = rewritten.result
    block.operations = operations


def _match(operation: Operation, users: Counter[Value]) -> _ReductionOfTranspose | None:
    transpose = _reduced_transpose(operation)
    if transpose is None or users[transpose.result] != 1 or not has_static_unquantized_types(operation):
        return None
    view, permutation = Reduce.of(operation), Transpose.of(transpose).permutation
    reduced_result_dims = sorted(view.dimensions)
    reduced_dims = [permutation[d] for d in reduced_result_dims]
    if reduced_dims != sorted(reduced_dims) and not view.analysis.is_exact:
        return None
    unreduced_dims = [permutation[d] for d in range(len(permutation)) if d not in reduced_result_dims]
    return _ReductionOfTranspose(transpose.operands[0], sorted(reduced_dims), unreduced_dims)
