"""Fuses reductions with the elementwise operations around them: sums of squares, means, statistics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...program.ir import Block, Operation, Value, captured_values
from ...program.ops.intermediate.fusion import REDUCTION_FUSION
from ...types import TensorType
from ..specialize.framework.operation_classes import is_broadcast, is_reduction, is_reshape
from ..specialize.framework.rewriter import has_static_unquantized_types
from .grouping import ReducedSpace, SpaceGrouping, TilingPredicate, reduced_space, replace_groups
from .groups import FusionGroup, OperationPredicate, is_rematerializable

if TYPE_CHECKING:
    from .refusals import Refusals


MIN_REDUCED_SIZE = 1 << 13
"""Elements of a space from which its reductions are fused: below, a launch takes longer than the work."""


def form_reduction_fusions(
    block: Block,
    has_emitter: OperationPredicate,
    has_tiling: TilingPredicate,
    refusals: Refusals | None = None,
) -> None:
    """Fuse reductions with the operations that compute their operands, which are then not written, and with
    those on their results.

    Args:
        refusals: where it is noted why operations are not fused.
    """
    for space in dict.fromkeys(map(reduced_space, block.operations)):
        if space is not None and math.prod(space.shape) >= MIN_REDUCED_SIZE:
            grouping = _ReductionGrouping(block, space, has_emitter)
            replace_groups(block, grouping, has_tiling, REDUCTION_FUSION, refusals)


def note_unfused_reductions(block: Block, refusals: Refusals, reason: str) -> None:
    """Note for the reductions of a block why there is no loop that they could share.

    Args:
        refusals: where it is noted.
        reason: why that is so for all reductions; empty: their sizes and dimensions decide.
    """
    from .refusals import Gate, Refusal

    for operation in filter(is_reduction, block.operations):
        space = reduced_space(operation)
        if space is None:
            own_reason = "only reductions of one operand, over adjacent dimensions, are fused"
        else:
            own_reason = f"a reduction of {math.prod(space.shape)} elements is too small to be fused"
        refusals.note_around(block, [operation], Refusal(Gate.WORK, reason or own_reason))


class _ReductionGrouping(SpaceGrouping):
    """Finds the groups of one block in one space.

    Attributes:
        reduced_values: see `_find_reduced_values`; found before members, which depend on them.
    """

    def __init__(self, block: Block, space: ReducedSpace, has_emitter: OperationPredicate) -> None:
        self.space = space
        self.reduced_values = _find_reduced_values(block, space, has_emitter)
        super().__init__(block, space.shape, has_emitter, self.is_member)

    def is_member(self, operation: Operation) -> bool:
        """Whether an operation may be in a group."""
        if len(operation.results) != 1 or is_rematerializable(operation):
            return False
        if operation.result in self.reduced_values:
            return True
        if operation.regions or not has_static_unquantized_types(operation):
            return False
        shapes = _shapes(operation)
        if shapes[-1] != self.space.shape:
            return False
        if is_broadcast(operation):
            return True
        return all(shape in (self.space.shape, ()) for shape in shapes) and self.has_emitter(operation)

    def may_join(self, index: int, operand: Value, producer: int) -> bool:
        if not self.members[producer]:
            return False
        operation = self.operations[index]
        is_on_reduced = not is_reduction(operation) and operation.result in self.reduced_values
        return is_on_reduced or operand not in self.reduced_values

    def pays(self, group: FusionGroup) -> bool:
        """Whether a group computes anything besides reductions, broadcasts and reshapes."""
        members = [self.operations[index] for index in group.owned]
        return not all(is_reduction(one) or is_broadcast(one) or is_reshape(one) for one in members)


def _find_reduced_values(block: Block, space: ReducedSpace, has_emitter: OperationPredicate) -> set[Value]:
    """The results of a block's reductions over a space, and the values that a group computes from them."""
    reduced_values: set[Value] = set()
    for operation in block.operations:
        if len(operation.results) == 1 and not is_rematerializable(operation):
            if is_reduction(operation):
                is_found = reduced_space(operation) == space and not captured_values(operation.regions)
            else:
                is_read = not reduced_values.isdisjoint(operation.operands)
                is_found = is_read and _is_finishing(operation, space, has_emitter)
            if is_found:
                reduced_values.add(operation.result)
    return reduced_values


def _is_finishing(operation: Operation, space: ReducedSpace, has_emitter: OperationPredicate) -> bool:
    """Whether a group computes an operation on results of reductions: it is elementwise on values of their
    shape, but for dimensions of size 1.
    """
    if operation.regions or not has_static_unquantized_types(operation):
        return False
    shapes = [shape for shape in _shapes(operation) if shape]
    kept = [size for size in (*space.shape[: space.first], *space.shape[space.last :]) if size != 1]
    if any([size for size in shape if size != 1] != kept for shape in shapes):
        return False
    return is_reshape(operation) or (len(set(shapes)) <= 1 and has_emitter(operation))


def _shapes(operation: Operation) -> list[tuple[int, ...]]:
    """The shapes of an operation's operands, and last of its result."""
    values = (*operation.operands, operation.result)
    return [value.type.shape for value in values if isinstance(value.type, TensorType)]
