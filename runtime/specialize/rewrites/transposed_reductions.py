"""Reductions of a transpose that nothing else takes: they reduce its operand, along other dimensions.

The values of each result element stay in their order, or every order of combining them gives the same bits.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ...ir import Block, Operation, Region, Value
from ...ops.reduction.reduce import Reduce
from ...ops.shape.layout import Transpose
from ..utils.rewriter import dimensions, is_plain, reduced_from, tensor_type, viewed


class _Untransposed(NamedTuple):
    """A reduction without its transpose.

    Attributes:
        source: what is transposed.
        reduced: its dimensions that are reduced.
        kept: the others, in the result's order.
    """

    source: Value
    reduced: list[int]
    kept: list[int]


def reduce_before_transposing(region: Region) -> None:
    """Let reductions take what a transpose takes, in place; transposes that nothing uses are left behind."""
    if not any(reduced_from(operation, Transpose.name) for operation in region.walk()):
        return
    users = Counter(operand for operation in region.walk() for operand in operation.operands)
    blocks = [region.block, *(inner.block for operation in region.walk() for inner in operation.regions)]
    replaced: dict[Value, Value] = {}
    for block in blocks:
        _rebuild(block, users, replaced)
    if replaced:
        for operation in region.walk():
            operation.operands = tuple([replaced.get(operand, operand) for operand in operation.operands])


def _rebuild(block: Block, users: Counter[Value], replaced: dict[Value, Value]) -> None:
    operations: list[Operation] = []
    for operation in block.operations:
        found = _untransposed(operation, users)
        if found is None:
            operations.append(operation)
            continue
        type = tensor_type(operation.result)
        sizes = tensor_type(found.source).shape
        kept = sorted(found.kept)
        made = Operation(
            operation.name,
            (found.source, operation.operands[1]),
            [type.with_shape(tuple([sizes[d] for d in kept]))],
            {**operation.attributes, **dimensions(dimensions=found.reduced)},
            operation.regions,
            operation.location,
        )
        operations.append(made)
        if kept != found.kept:
            order = dimensions(permutation=[kept.index(d) for d in found.kept])
            made = Operation(Transpose.name, made.results, [type], order, (), operation.location)
            operations.append(made)
        replaced[operation.result] = made.result
    block.operations = operations


def _untransposed(operation: Operation, users: Counter[Value]) -> _Untransposed | None:
    transpose = reduced_from(operation, Transpose.name)
    if transpose is None or users[transpose.result] != 1 or not is_plain(operation):
        return None
    view, permutation = viewed(operation, Reduce), viewed(transpose, Transpose).permutation
    taken = sorted(view.dimensions)
    reduced = [permutation[d] for d in taken]
    if reduced != sorted(reduced) and not view.analysis.is_exact:
        return None
    kept = [permutation[d] for d in range(len(permutation)) if d not in taken]
    return _Untransposed(transpose.operands[0], sorted(reduced), kept)
