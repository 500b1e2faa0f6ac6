"""Fuses runs of small steps, whose calls cost more than their work, into one step.

Operations are considered in the order of the block. An operation that cannot be fused runs before the fusion
if it uses none of its results; otherwise it ends the fusion.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ...program.ir import Block, DenseElementsAttribute, Operation, Region, Value, used_values
from ...program.ops.framework.declaration import declaration_of
from ...program.ops.intermediate.fusion import STEP_FUSION
from ...types import TensorType
from ..specialize.framework.operation_classes import has_no_effect, is_control_flow
from .groups import FusionGroup, OperationPredicate, boundary, replace, users_of
from .operation_kinds import OperationKinds

if TYPE_CHECKING:
    from .refusals import Refusals

MIN_STEPS: Final = 4.0
"""Steps that cost as much as one call of native code."""
MAX_STEP_FUSION_OPERATIONS: Final = 200
MAX_WORK: Final = 1 << 15
"""Elements of the results of an operation and of its regions, a function counting FUNCTION_WORK: one thread
takes some 5 us for so many, twice the time of a step. Threads would share more, and fused loop nests gain."""
FUNCTION_WORK: Final = 4
"""Elements of arithmetic that take as long as one of a mathematical function, in vectors of f32."""
MAX_SLOW_ELEMENTS: Final = 1 << 15
"""Elements of the operands of an operation that is slow on few elements (`Op.is_slow_on_few`)."""
MAX_STEP_FUSION_ARRAYS: Final = 80
"""Operands and results of a fusion together: native code takes up to 96 arguments, with its own."""
MAX_BYTES: Final = 1 << 19
"""Bytes of the results of a fusion's operations, which stay in the L2 cache."""
MAX_INLINE_CONSTANT_ELEMENTS: Final = 64
"""Elements of a constant that becomes part of the code; larger constants are operands."""


def form_step_fusions(
    region: Region,
    has_emitter: OperationPredicate,
    stays_unfused: OperationPredicate,
    refusals: Refusals | None = None,
    kinds: OperationKinds | None = None,
) -> None:
    """Group the operations of a region and of the control flow in it, in place.

    Args:
        has_emitter: whether native code on small arrays can be generated for an operation.
        stays_unfused: tells which control flow keeps its regions unfused.
        refusals: where it is noted why operations are not fused.
        kinds: those of the region's operations, if they are shared with other passes.
    """
    kinds = kinds or OperationKinds()
    for operation in region.block.operations:
        if is_control_flow(operation) and not stays_unfused(operation):
            for inner in operation.regions:
                form_step_fusions(inner, has_emitter, stays_unfused, refusals, kinds)
    cost_in_steps, may_be_fused = kinds.by_kind(_cost_in_steps), kinds.by_kind(_may_be_fused)
    if sum(map(cost_in_steps, filter(may_be_fused, region.block.operations))) >= MIN_STEPS:
        grouping = _StepGrouping(region.block, has_emitter, kinds)
        fusions = grouping.fusions()
        if fusions:
            replace(region.block, fusions, grouping.users, STEP_FUSION, refusals)


class _StepGrouping:
    """Finds the fusions of one block."""

    def __init__(self, block: Block, has_emitter: OperationPredicate, kinds: OperationKinds) -> None:
        self.operations = block.operations
        self.users = users_of(block)
        self.can_fuse = kinds.by_kind(lambda operation: _may_be_fused(operation) and has_emitter(operation))
        self.cost_in_steps = kinds.by_kind(_cost_in_steps)
        self.sizes = kinds.by_kind(_sizes)
        self.constants = {
            operation.result: index
            for index, operation in enumerate(self.operations)
            if operation.is_constant
        }

    def fusions(self) -> list[FusionGroup]:
        """The fusions that are faster than their steps one by one."""
        groups: list[FusionGroup] = []
        members: list[int] = []
        produced: set[Value] = set()
        size = result_bytes = 0
        for index, operation in enumerate(self.operations):
            if declaration_of(operation).is_terminator or operation.is_constant:
                continue
            can_fuse = self.can_fuse(operation)
            operation_count, operation_bytes = self.sizes(operation) if can_fuse else (0, 0)
            fits = (
                size + operation_count <= MAX_STEP_FUSION_OPERATIONS
                and result_bytes + operation_bytes <= MAX_BYTES
            )
            if not (fits if can_fuse else produced.isdisjoint(used_values(operation))):
                groups += self.finished(members)
                members, produced, size, result_bytes = [], set(), 0, 0
            if can_fuse:
                members.append(index)
                produced.update(operation.results)
                size, result_bytes = size + operation_count, result_bytes + operation_bytes
        return groups + self.finished(members)

    def finished(self, members: list[int]) -> list[FusionGroup]:
        """The fusions of these operations that are faster than their steps.

        There is one, unless it would have too many arrays: then each half becomes what it would alone.
        """
        if sum([self.cost_in_steps(self.operations[index]) for index in members]) < MIN_STEPS:
            return []
        group = FusionGroup(0, 0, members)
        used_by_members = {value for index in members for value in used_values(self.operations[index])}
        group.copied.update(
            self.constants[value]
            for value in used_by_members
            if value in self.constants and _is_inline_constant(value)
        )
        operands, results = boundary(self.operations, group, self.users)
        if len(operands) + len(results) > MAX_STEP_FUSION_ARRAYS:
            middle = len(members) // 2
            return self.finished(members[:middle]) + self.finished(members[middle:])
        return [group] if results else []


def _cost_in_steps(operation: Operation) -> float:
    """The fixed cost of an operation, in steps."""
    facts = declaration_of(operation)
    if facts.is_terminator or operation.is_constant:
        return 0.0
    if facts.is_slow_on_few:
        return MIN_STEPS
    return 0.5 if facts.movement is not None and facts.movement.is_cheap_view else 1.0


def _sizes(operation: Operation) -> tuple[int, int]:
    """The number of operations that an operation and its regions are, and the bytes of their results, without
    views of operands."""
    count = sum(1 for _ in operation.walk())
    writing = [inner for inner in operation.walk() if not declaration_of(inner).memory.keeps_order]
    produced = [value.type for inner in writing for value in inner.results]
    return count, sum(type.size * type.dtype.itemsize for type in produced if isinstance(type, TensorType))


def _may_be_fused(operation: Operation) -> bool:
    """Whether an operation has no effect and takes little time, without a check of code generation."""
    if declaration_of(operation).is_slow_on_few and _elements(operation.operands) > MAX_SLOW_ELEMENTS:
        return False
    return sum(map(_work, operation.walk())) <= MAX_WORK and has_no_effect(operation)


def _work(operation: Operation) -> int:
    """The elements of an operation's results, without its regions'; functions count several times."""
    return _elements(operation.results) * (FUNCTION_WORK if declaration_of(operation).emit.function else 1)


def _elements(values: Iterable[Value]) -> int:
    return sum(value.type.size for value in values if isinstance(value.type, TensorType))


def _is_inline_constant(value: Value) -> bool:
    """Whether a constant becomes part of a fusion's code, which equal fusions share."""
    assert isinstance(value.owner, Operation) and isinstance(value.type, TensorType)
    attribute = value.owner.attributes.get("value")
    return isinstance(attribute, DenseElementsAttribute) and value.type.size <= MAX_INLINE_CONSTANT_ELEMENTS
