"""Moves a gather of few elements before the elementwise operations whose results it reads.

For example, a loss gathers one element of each row of `log_softmax`. The maxima and sums of the rows need all
elements, but the last subtractions only the gathered ones. Without this pass a language model's loss takes
1.1 times as long, values of chosen actions 1.3 times, and rows sampled from a normalized table 3 times
(docs/strategies.md).
"""

from __future__ import annotations

from typing import Final

from ...program.ir import Operation, Region, Value, tensor_type, used_values
from ...program.ops.elementwise.base import Elementwise
from ...program.ops.framework.declaration import declaration_of
from ...program.ops.indexing.gather import Gather
from ...program.ops.shape.broadcasting import BroadcastInDim
from ..specialize.framework.cleanup import remove_dead_code
from ..specialize.framework.constants import Budget
from ..specialize.framework.operation_classes import creates, is_broadcast, is_gather, is_reduction
from ..specialize.framework.rewriter import Rewriter, has_static_unquantized_types, splat
from ..specialize.stages import Specialization
from .elementwise import MIN_LARGE_SIZE
from .movement_index_map import is_movement_op

_MIN_SIZE_RATIO: Final = 4
"""A gather moves if its operand has at least this many times as many elements as its result."""
_MAX_OPERATIONS: Final = 24


def gather_early(state: Specialization) -> None:
    """Gather from the operands of elementwise operations in place of their results."""
    gather_from_operands(state.body)
    remove_dead_code(state.body)


def gather_from_operands(region: Region) -> None:
    """Make gathers of few elements read the operands of elementwise operations instead of their results.

    Changes the region in place. Operations whose results become unused stay.
    """
    gathers = list(filter(is_gather, region.walk()))
    if any(map(_may_move, gathers)):
        rewrites = {Gather.name: [_EarlyGathers(region).rewrite]}
        Rewriter(rewrites, {}, {}, Budget(), is_gather).visit(region)


def _may_move(gather: Operation) -> bool:
    """Whether a gather reads few elements of many that elementwise operations compute."""
    operand = gather.operands[0]
    if not has_static_unquantized_types(gather) or not _is_computed(operand):
        return False
    size = tensor_type(operand).size
    return size >= MIN_LARGE_SIZE and 0 < tensor_type(gather.result).size * _MIN_SIZE_RATIO <= size


def _is_computed(value: Value) -> bool:
    owner = value.owner
    return isinstance(owner, Operation) and has_static_unquantized_types(owner) and _is_elementwise(owner)


def _is_elementwise(operation: Operation) -> bool:
    declaration = declaration_of(operation)
    return issubclass(declaration, Elementwise) and not operation.regions and len(operation.results) == 1


class _EarlyGathers:
    """The rewrite of gathers, and the users of each value of the program before it."""

    def __init__(self, region: Region) -> None:
        self.users: dict[Value, list[Operation]] = {}
        self._record_users(region)

    def _record_users(self, region: Region) -> None:
        for operation in region.block.operations:
            for value in used_values(operation):
                self.users.setdefault(value, []).append(operation)
            for inner in operation.regions:
                self._record_users(inner)

    def rewrite(self, operation: Operation, rewriter: Rewriter) -> Value | None:
        """The gathered elements, computed from gathered elements of the operands; None: the gather stays."""
        operand, start_indices = operation.operands
        if not _may_move(operation) or self.users.get(operand) != [operation]:
            return None
        selected: dict[Value, bool] = {}
        if not self._select(operand, selected):
            return None
        from .gathered_elements import GatheredElements  # few gathers move

        gathered = GatheredElements(Gather.of(operation), start_indices, rewriter)
        gathered_values: dict[Value, Value] = {}
        for value, is_here in selected.items():
            gathered_values[value] = (
                gathered.computed(value, gathered_values) if is_here else gathered.of(value)
            )
        return gathered_values[operand]

    def _select(self, value: Value, selected: dict[Value, bool]) -> bool:
        """Add the values to gather from, operands first, with whether their elements are computed.

        Returns:
            Whether gathering from them pays.
        """
        if value in selected:
            return True
        owner = value.owner
        is_computed_here = isinstance(owner, Operation) and not self._is_in_memory(value)
        if isinstance(owner, Operation) and is_computed_here and splat(value) is None:
            if len(selected) >= _MAX_OPERATIONS:
                return False
            if not _is_elementwise(owner) and not _is_ordered_broadcast(owner):
                return False
            if _is_elementwise(owner) and not all(
                self._select(operand, selected) for operand in _operands_of_full_shape(owner)
            ):
                return False
        selected[value] = is_computed_here
        return True

    def _is_in_memory(self, value: Value) -> bool:
        """Whether a value is written to memory anyway: another operation computes it, or needs it there."""
        owner = value.owner
        assert isinstance(owner, Operation)
        if not has_static_unquantized_types(owner):
            return True
        if not _is_elementwise(owner):
            return not is_movement_op(owner) and not creates(owner)
        users = self.users.get(value, ())
        return not all(_is_elementwise(user) or _reads_fused(user) for user in users)


def _reads_fused(operation: Operation) -> bool:
    """Whether an operation, like elementwise ones, does not need its operands in memory."""
    return is_reduction(operation) or is_gather(operation) or is_broadcast(operation)


def _operands_of_full_shape(operation: Operation) -> list[Value]:
    """The operands of an elementwise operation that have its shape; the others have one element."""
    shape = tensor_type(operation.result).shape
    return [operand for operand in operation.operands if tensor_type(operand).shape == shape]


def _is_ordered_broadcast(operation: Operation) -> bool:
    """Whether an operation is a broadcast that keeps the order of its operand's dimensions."""
    if operation.name != BroadcastInDim.name:
        return False
    to = list(BroadcastInDim.of(operation).broadcast_dimensions)
    return to == sorted(to)
