"""The base classes of collective operations: groups, channels, and the rules about them.

Source: specification, section "Collective ops".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ....errors import counted
from ....kernels.named_tuples import NamedTuple
from ....types import ELEMENT_TYPES, PLAIN, QUANTIZED_PER_TENSOR, Array, QuantizedType, TensorType
from ..framework import rules
from ..framework.declaration import Attribute, Constraint, Op, Operand
from .process_grid import ONE_PROCESS, Grid, GroupMode, ProcessGroup, ProcessId
from .replica_groups import ReplicaGroups

TENSORS = PLAIN | QUANTIZED_PER_TENSOR
Values = tuple[Any, ...]


class Member(NamedTuple):
    """A process in a group: its position, and the number of processes in the group."""

    position: int
    group_size: int


class CommunicatingOp(Op):
    """Base of operations that communicate with other processes or the host.

    The grid runs them (`nimblehlo.execution.grid`). Such an operation has effects: it is never removed,
    folded, repeated or moved past another one.
    """

    partition = "refuse"

    pure: ClassVar[bool] = False
    takes_stored_values: ClassVar[bool] = True
    channel_id: int | None = None

    @property
    def channel(self) -> int:
        """The channel's id; 0 where the operation names none."""
        return self.channel_id or 0

    @property
    def mode(self) -> GroupMode:
        """How ids name processes: the division of the grid into groups."""
        return GroupMode.CROSS_PARTITION if self.channel > 0 else GroupMode.CROSS_REPLICA

    def check_grid(self, grid: Grid) -> None:
        """Check the constraints that depend on the size of the grid.

        Raises:
            VerifyError: one does not hold; names its label.
        """


class GroupOperation(CommunicatingOp):
    """Base of operations that the processes of a group execute together."""

    def payload(self, member: Member, operands: Values, receivers: Sequence[int]) -> Values:
        """The data that a member sends to other members of its group.

        Args:
            member: the member that sends.
            operands: the sender's operands.
            receivers: the positions, in the group, of the members that receive.
        """
        return operands

    def combine(self, payloads: Sequence[Values], receivers: Sequence[int], **regions: Any) -> list[Values]:
        """The results of some members of a group.

        Args:
            payloads: for each member, in the order of the group, what `payload` gives for these receivers.
            receivers: the positions, in the group, of the members whose results are computed.
            regions: see `Op.reference`.
        """
        raise NotImplementedError

    def exchange(self, members: Sequence[Values], **regions: Any) -> list[Values]:
        """The results of each process of a group.

        Args:
            members: the operands of each process, in the order of the group.
            regions: see `Op.reference`.
        """
        positions = range(len(members))
        payloads = [
            self.payload(Member(position, len(members)), members[position], positions)
            for position in positions
        ]
        return self.combine(payloads, positions, **regions)


class Collective(GroupOperation):
    """Base of operations whose groups of processes are given by `replica_groups`.

    Class attributes:
        size_label, range_label: labels of the rules about the number of ids and about their range.
    """

    size_label: ClassVar[str]
    range_label: ClassVar[str]
    replica_groups: ReplicaGroups

    def groups(self, grid: Grid) -> tuple[ProcessGroup, ...]:
        """The groups of processes that execute the operation together."""
        return self.mode.groups(self.replica_groups.rows or (), grid)

    def process_group_size(self) -> int | None:
        """The number of processes in each group; None if that depends on the grid."""
        if self.mode is GroupMode.CROSS_REPLICA_AND_PARTITION:
            return None
        return self.replica_groups.group_size

    def results_outside(self, process: ProcessId) -> Values:
        """The results of a process that is in no group.

        Raises:
            VerifyError: every process must be in one.
        """
        raise self.verify_error(f"process {process} is in no group", self.size_label)

    def reference(self, *operands: Any, **regions: Any) -> Any:
        """The operation on a grid of one process."""
        groups = self.groups(ONE_PROCESS)
        return self.exchange([operands], **regions)[0] if groups else self.results_outside(ProcessId(0, 0))

    def check_grid(self, grid: Grid) -> None:
        name, count = self.mode.id_count(grid)
        ids = self.replica_groups.ids
        above = [identifier for identifier in ids if identifier >= count]
        if above:
            raise self.verify_error(
                f"replica_groups has the id {above[0]}, but {name} is {count}: the grid is {grid}",
                self.range_label,
            )
        if self.size_label != self.range_label and len(ids) != count:
            raise self.verify_error(
                f"replica_groups has {counted(len(ids), 'id')}, but {name} is {count}: the grid is {grid}",
                self.size_label,
            )


class WithGlobalIds(Collective):
    """Base of collectives whose groups may be lists of flattened ids."""

    use_global_device_ids: bool

    @property
    def mode(self) -> GroupMode:
        if self.use_global_device_ids:
            return GroupMode.FLATTENED_IDS
        return GroupMode.CROSS_REPLICA_AND_PARTITION if self.channel > 0 else GroupMode.CROSS_REPLICA


class Rooted(Collective):
    """Base of collectives in which one process of each group, the root, sends or gets the values.

    With has_dynamic_root, the last operand has the position of the root for each of the other operands.
    """

    size_label: ClassVar[str] = "C2"
    range_label: ClassVar[str] = "C2"
    operands: Operand[list[TensorType]]
    has_dynamic_root: Attribute[bool]

    @property
    def data_operands(self) -> list[TensorType]:
        """The operands without the roots."""
        return self.operands[:-1] if self.has_dynamic_root else self.operands

    def roots_mismatch(self) -> str | None:
        """The last operand must name a root for each of the others."""
        count = len(self.operands)
        if count < 2:
            return f"has {counted(count, 'operand')}, but has_dynamic_root = true asks for at least 2"
        expected = TensorType((count - 1,), ELEMENT_TYPES["i32"])
        return rules.type_is("the last operand", self.operands[-1], expected)

    def roots(self, operands: Values, group_size: int, label: str) -> list[int]:
        """The position of each value's root in the group.

        Args:
            operands: the values, and with has_dynamic_root the roots.
            group_size: the number of processes in the group.
            label: of the constraint that a root outside the group violates.

        Raises:
            ExecutionError: there is no such process.
        """
        if not self.has_dynamic_root:
            return [0] * len(operands)
        roots: list[int] = operands[-1].tolist()
        reason = rules.in_range("the root", roots, 0, group_size, "the size of the group")
        if reason is not None:
            raise self.execution_error(reason, label)
        return roots


def unique_ids() -> Constraint:
    """No id may be in the groups twice."""
    return Constraint(
        lambda view: rules.unique("replica_groups", view.replica_groups.ids), "is_unique(replica_groups)"
    )


def ids_cover_range(*, may_be_ragged: bool = False) -> Constraint:
    """The ids must be those from 0 to the number of ids."""

    def check(view: Collective) -> str | None:
        groups = view.replica_groups
        if groups.is_ragged and not may_be_ragged:
            return "replica_groups has the id -1"
        return rules.in_range("replica_groups", groups.ids, 0, len(groups.ids), "size(replica_groups)")

    return Constraint(
        check, "0 <= replica_groups < size(replica_groups), which is the number of ids of the group mode"
    )


def global_ids_need_channel() -> Constraint:
    """Flattened ids need a channel."""

    def check(view: WithGlobalIds) -> str | None:
        if not view.use_global_device_ids or view.channel > 0:
            return None
        return f"channel_id is {view.channel}, but must be positive where use_global_device_ids = true"

    return Constraint(check, "If use_global_device_ids = true, then channel_id > 0")


def zeros(type: TensorType) -> Array:
    """The result of a process that receives nothing: zeros, or stored zero points of a quantized type."""
    element_type = type.element_type
    if isinstance(element_type, QuantizedType):
        zero_point = min(max(element_type.zero_points[0], element_type.storage_min), element_type.storage_max)
        return np.full(type.shape, zero_point, type.dtype)
    return np.zeros(type.shape, type.dtype)
