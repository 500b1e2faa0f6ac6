"""Groups runs of small steps, each of which would cost more than its work, into fusions of one step.

Operations are taken in their order. One that cannot be taken and needs nothing of the fusion goes before it;
one that needs something of it ends the fusion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...ir import Block, DenseElementsAttribute, Operation, Region, Value, used_values
from ...ops.framework.verify import TERMINATORS
from ...ops.internal.fusion import STEP_FUSION
from ...types import TensorType
from ..utils.effects import CONTROL_FLOW, has_no_effect
from .elementwise import MAX_ARRAYS, FusionGroup, Generates, boundary, replace, users_of

CanGenerate = Callable[[list[Operation]], bool]
"""Whether native code can be generated for some operations together."""

MIN_STEPS: Final = 4.0
"""How many steps make up for the call of native code."""
MAX_OPERATIONS: Final = 200
MAX_ELEMENTS: Final = 1 << 13
"""Elements that an operation may make, all in its regions together: more are worth loops that are joined."""
MAX_BYTES: Final = 1 << 17
"""Bytes that the operations of a fusion make: they lie on the stack."""
MAX_INLINE_CONSTANT_ELEMENTS: Final = 64
"""Elements of constants that a fusion holds; others are its operands."""

_VIEWS: Final = frozenset({"stablehlo.reshape", "stablehlo.slice", "stablehlo.transpose"})
"""What costs no step its elements: only half of another step."""
_SLOW_OPS: Final = frozenset({"chlo.top_k"})
"""What is slow in NumPy and in a kernel of many elements: worth native code of its own."""


def form_step_fusions(region: Region, generates: Generates, leaves_alone: Generates) -> None:
    """Group the operations of a region and of the control flow in it, in place.

    Args:
        generates: whether native code on small arrays can be generated for an operation.
        leaves_alone: which control flow to leave as it is.
    """
    for operation in region.block.operations:
        if operation.name in CONTROL_FLOW and not leaves_alone(operation):
            for inner in operation.regions:
                form_step_fusions(inner, generates, leaves_alone)
    if sum(map(_cost_in_steps, region.block.operations)) >= MIN_STEPS:
        grouping = _Grouping(region.block, generates)
        fusions = grouping.fusions()
        if fusions:
            replace(region.block, fusions, grouping.users, STEP_FUSION)


class _Grouping:
    """Finds the fusions of one block."""

    def __init__(self, block: Block, generates: Generates) -> None:
        self.operations = block.operations
        self.users = users_of(block)
        self.generates = generates
        self.constants = {
            operation.result: index
            for index, operation in enumerate(self.operations)
            if operation.name == "stablehlo.constant"
        }

    def fusions(self) -> list[FusionGroup]:
        """The fusions that pay."""
        groups: list[FusionGroup] = []
        members: list[int] = []
        produced: set[Value] = set()
        size = result_bytes = 0
        for index, operation in enumerate(self.operations):
            if operation.name in TERMINATORS or operation.name == "stablehlo.constant":
                continue
            can_fuse = _is_small(operation) and has_no_effect(operation) and self.generates(operation)
            operation_count, operation_bytes = sum(1 for _ in operation.walk()), _result_bytes(operation)
            fits = size + operation_count <= MAX_OPERATIONS and result_bytes + operation_bytes <= MAX_BYTES
            if not (can_fuse and fits) and (can_fuse or not produced.isdisjoint(used_values(operation))):
                groups += self.finished(members)
                members, produced, size, result_bytes = [], set(), 0, 0
            if can_fuse:
                members.append(index)
                produced.update(operation.results)
                size, result_bytes = size + operation_count, result_bytes + operation_bytes
        return groups + self.finished(members)

    def finished(self, members: list[int]) -> list[FusionGroup]:
        """The fusion of some operations, if it pays."""
        if sum(_cost_in_steps(self.operations[index]) for index in members) < MIN_STEPS:
            return []
        group = FusionGroup(0, 0, members)
        used_by_members = {value for index in members for value in used_values(self.operations[index])}
        fits_space = [
            self.constants[value]
            for value in used_by_members if value in self.constants and _is_inline_constant(value)
        ]
        group.copied.update(fits_space)
        operands, results = boundary(self.operations, group.owned, group.copied, self.users)
        return [group] if results and len(operands) + len(results) <= MAX_ARRAYS else []


def _cost_in_steps(operation: Operation) -> float:
    """What an operation costs beside its elements, in steps."""
    if operation.name in TERMINATORS or operation.name == "stablehlo.constant":
        return 0.0
    if operation.name in _SLOW_OPS:
        return MIN_STEPS
    return 0.5 if operation.name in _VIEWS else 1.0


def _result_bytes(operation: Operation) -> int:
    """Bytes of what an operation makes, all in its regions together."""
    produced = [value.type for inner in operation.walk() for value in inner.results]
    return sum(type.size * type.dtype.itemsize for type in produced if isinstance(type, TensorType))


def _is_small(operation: Operation) -> bool:
    """Whether an operation makes few elements."""
    produced = [value.type for inner in operation.walk() for value in inner.results]
    return sum(type.size if isinstance(type, TensorType) else 0 for type in produced) <= MAX_ELEMENTS


def _is_inline_constant(value: Value) -> bool:
    """Whether a constant is part of the code: equal fusions share it."""
    assert isinstance(value.owner, Operation) and isinstance(value.type, TensorType)
    attribute = value.owner.attributes.get("value")
    return isinstance(attribute, DenseElementsAttribute) and value.type.size <= MAX_INLINE_CONSTANT_ELEMENTS
