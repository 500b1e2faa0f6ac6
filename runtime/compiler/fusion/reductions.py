"""Fuses reductions with the elementwise operations around them: sums of squares, means, statistics."""

from __future__ import annotations

import math

from ...program.ir import Block, Operation, Value, captured_values
from ...program.ops.internal.fusion import REDUCTION_FUSION
from ...types import TensorType
from ..specialize.utils.operation_classes import is_broadcast, is_reduction, is_reshape
from ..specialize.utils.rewriter import has_static_unquantized_types
from .elementwise import MIN_LARGE_SIZE
from .grouping import ReducedSpace, SpaceGrouping, TilingPredicate, reduced_space, replace_groups
from .groups import FusionGroup, OperationPredicate, is_rematerializable


def form_reduction_fusions(
    block: Block, has_emitter: OperationPredicate, has_tiling: TilingPredicate
) -> None:
    """Fuse reductions with the operations that compute their operands, which are then not written, and with
    those on their results."""
    for space in dict.fromkeys(map(reduced_space, block.operations)):
        if space is not None and math.prod(space.shape) >= MIN_LARGE_SIZE:
            replace_groups(block, _ReductionGrouping(block, space, has_emitter), has_tiling, REDUCTION_FUSION)


class _ReductionGrouping(SpaceGrouping):
    """Finds the groups of one block in one space.

    Attributes:
        reduced_values: the results of reductions, and the values that members compute from them.
    """

    def __init__(self, block: Block, space: ReducedSpace, has_emitter: OperationPredicate) -> None:
        self.space = space
        self.reduced_values: set[Value] = set()
        super().__init__(block, space.shape, has_emitter)

    def is_member(self, operation: Operation) -> bool:
        if len(operation.results) != 1 or is_rematerializable(operation):
            return False
        if is_reduction(operation):
            is_member = reduced_space(operation) == self.space and not captured_values(operation.regions)
            if is_member:
                self.reduced_values.add(operation.result)
            return is_member
        values = (*operation.operands, operation.result)
        if operation.regions or not has_static_unquantized_types(operation):
            return False
        shapes = [value.type.shape for value in values if isinstance(value.type, TensorType)]
        if self.is_on_reduced(operation, shapes):
            self.reduced_values.add(operation.result)
            return True
        if shapes[-1] != self.space.shape:
            return False
        if is_broadcast(operation):
            return True
        return all(shape in (self.space.shape, ()) for shape in shapes) and self.has_emitter(operation)

    def is_on_reduced(self, operation: Operation, shapes: list[tuple[int, ...]]) -> bool:
        """Whether an operation is on results of reductions, elementwise but for dimensions of size 1."""
        if self.reduced_values.isdisjoint(operation.operands):
            return False
        shape, first, last = self.space.shape, self.space.first, self.space.last
        kept = [size for size in (*shape[:first], *shape[last:]) if size != 1]
        if any([size for size in one if size != 1] != kept for one in shapes if one):
            return False
        if is_reshape(operation):
            return True
        return len({one for one in shapes if one}) <= 1 and self.has_emitter(operation)

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
