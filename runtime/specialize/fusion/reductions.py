"""Fuses reductions with the elementwise operations before them: sums of squares, losses, statistics."""

from __future__ import annotations

import math

from ...ir import Block, Operation, captured_values
from ...ops.framework.op_registry import REDUCE
from ...ops.internal.fusion import REDUCTION_FUSION
from ...types import TensorType
from ..utils.rewriter import is_plain
from .elementwise import MIN_LARGE_SIZE, FusionGroup, Generates
from .grouping import CanGenerate, Grouping, ReducedSpace, is_rematerializable, reduced_space, replace_groups


def form_reduction_fusions(block: Block, generates: Generates, can_generate: CanGenerate) -> None:
    """Fuse reductions with the operations that compute their operands, which are then not written."""
    for space in dict.fromkeys(map(reduced_space, block.operations)):
        if space is not None and math.prod(space.shape) >= MIN_LARGE_SIZE:
            replace_groups(block, _ReductionGrouping(block, space, generates), can_generate, REDUCTION_FUSION)


class _ReductionGrouping(Grouping):
    """Finds the groups of one block in one space."""

    def __init__(self, block: Block, space: ReducedSpace, generates: Generates) -> None:
        self.space = space
        self.generates = generates
        super().__init__(block)

    def is_member(self, operation: Operation) -> bool:
        if len(operation.results) != 1 or is_rematerializable(operation):
            return False
        if operation.name == REDUCE:
            return reduced_space(operation) == self.space and not captured_values(operation.regions)
        values = (*operation.operands, operation.result)
        if operation.regions or not is_plain(operation):
            return False
        shapes = [value.type.shape for value in values if isinstance(value.type, TensorType)]
        if shapes[-1] != self.space.shape:
            return False
        if operation.name == "stablehlo.broadcast_in_dim":
            return True
        return all(shape in (self.space.shape, ()) for shape in shapes) and self.generates(operation)

    def joins(self, producer: int) -> bool:
        return self.operations[producer].name != REDUCE

    def pays(self, group: FusionGroup) -> bool:
        """Whether a group computes anything besides reductions and broadcasts."""
        bare = (REDUCE, "stablehlo.broadcast_in_dim")
        return any(self.operations[index].name not in bare for index in group.owned)
