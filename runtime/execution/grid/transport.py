"""Transfers values between processes.

Processes pass their values and get a `Pending`, for which they wait unless it is complete. What a
group computes is defined by its operation (`ops.collectives`): a transport only brings operands and results
where they are needed, and never changes the bits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from ...errors import ExecutionError, NimbleError
from ...program.ir import Operation
from ...program.ops.collectives.base import GroupOperation
from ...program.ops.collectives.process_grid import Grid, ProcessGroup, ProcessId

Values = tuple[Any, ...]

MAX_NAMED_PROCESSES = 8
"""Maximum number of processes that a message names."""


def _waits_for_nothing() -> str:
    """The waits of a complete `Pending`: none."""
    return "nothing"


class Pending:
    """Values that a process waits for.

    Attributes:
        operation: the operation that waits.
        values: the values, once they are there.
        is_complete: whether they are.
        missing: says for what it waits, in words.
        on_complete: is called when they are there.
    """

    __slots__ = ("is_complete", "missing", "on_complete", "operation", "values")

    def __init__(self, operation: Operation, missing: Callable[[], str]) -> None:
        self.operation = operation
        self.missing = missing
        self.values: Values = ()
        self.is_complete = False
        self.on_complete: Callable[[], None] | None = None

    def complete(self, values: Values) -> None:
        """Set the values.

        Nothing refers to the others that take part any more: values would live until garbage is collected.
        """
        self.values = values
        self.is_complete = True
        wake, self.on_complete = self.on_complete, None
        self.missing = _waits_for_nothing
        if wake is not None:
            wake()


class Rendezvous:
    """One joint execution of a collective by a group."""

    def __init__(self, group: ProcessGroup) -> None:
        self.group = group
        self.members: dict[ProcessId, tuple[GroupOperation, Values, Pending]] = {}
        self.regions: Mapping[str, Any] = {}

    def missing(self) -> str:
        """The processes that have not arrived."""
        return named_processes([process for process in self.group if process not in self.members])

    def join(
        self, process: ProcessId, view: GroupOperation, operands: Values, regions: Mapping[str, Any]
    ) -> Pending:
        """Enter a process's operands.

        Raises:
            ExecutionError: its operation differs from that of the first process.
        """
        if self.members:
            first, (other, values, _) = next(iter(self.members.items()))
            if view is not other or any(map(_differ, operands, values)):
                self._require_same(view, operands, other, values, first)
        else:
            self.regions = regions
        pending = Pending(view.operation, self.missing)
        self.members[process] = view, operands, pending
        return pending

    def _require_same(
        self, view: GroupOperation, operands: Values, other: GroupOperation, values: Values, first: ProcessId
    ) -> None:
        described, expected = description_of(view, operands), description_of(other, values)
        for name, value in described.items():
            if value != expected[name]:
                raise ExecutionError(
                    f"has {name} {value}, but process {first} of its group has {expected[name]}",
                    operation=view.name,
                    location=view.operation.location,
                )

    @property
    def operands(self) -> list[Values]:
        """The operands of all members, in the order of the group."""
        return [self.members[process][1] for process in self.group]


def _differ(value: Any, other: Any) -> bool:
    return bool(value.shape != other.shape or value.dtype != other.dtype)


def description_of(view: GroupOperation, operands: Values) -> dict[str, Any]:
    """The properties that all members of a group must share."""
    attributes = {
        field.name: getattr(view, field.name)
        for field in view.declared_attributes
        if field.name != "channel_type"
    }
    operand_texts = [f"{value.dtype.name}{list(value.shape)}" for value in operands]
    return {"operands": f"({', '.join(operand_texts)})", **attributes}


def named_processes(processes: Sequence[ProcessId]) -> str:
    shown = ", ".join(map(str, processes[:MAX_NAMED_PROCESSES]))
    more = f" and {len(processes) - MAX_NAMED_PROCESSES} more" if len(processes) > MAX_NAMED_PROCESSES else ""
    return f"process{'es' if len(processes) != 1 else ''} {shown}{more}"


def deadlock_text(waits: Sequence[str], process_count: int) -> str:
    """The message of a deadlock: the waits of each process.

    Args:
        waits: a text for each process that waits.
        process_count: the number of processes; the others have ended.
    """
    named_waits = [*waits[:MAX_NAMED_PROCESSES]]
    if len(waits) > MAX_NAMED_PROCESSES:
        named_waits.append(f"{len(waits) - MAX_NAMED_PROCESSES} more processes wait")
    if len(waits) < process_count:
        named_waits.append(f"{process_count - len(waits)} of {process_count} processes have ended")
    return f"deadlock, no process can go on: {'; '.join(named_waits)}"


class LocalTransport:
    """Transfers values between the processes of a grid that all run in this process of the operating system.

    Args:
        grid: the grid.
    """

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self._open: dict[Hashable, list[Rendezvous]] = {}
        self._sent: dict[Hashable, deque[tuple[ProcessId, Operation, Values]]] = {}
        self._receivers: dict[Hashable, deque[Pending]] = {}

    def execute_together(
        self,
        process: ProcessId,
        group: ProcessGroup,
        view: GroupOperation,
        operands: Values,
        regions: Mapping[str, Any],
    ) -> Pending:
        """Execute a collective with the other processes of a group.

        Processes meet by the operation's name, its channel and the group, each in the order of its program.

        Args:
            process: who asks.
            group: the processes that take part.
            view: the operation.
            operands: what the process brings along.
            regions: see `Op.reference`.
        """
        key = view.name, view.channel, group
        waiting = self._open.setdefault(key, [])
        rendezvous = next((each for each in waiting if process not in each.members), None)
        if rendezvous is None:
            rendezvous = Rendezvous(group)
            waiting.append(rendezvous)
        pending = rendezvous.join(process, view, operands, regions)
        if self.is_ready(rendezvous):
            waiting.remove(rendezvous)
            self.execute(rendezvous)
        return pending

    def is_ready(self, rendezvous: Rendezvous) -> bool:
        """Whether all local processes of a group have arrived."""
        return len(rendezvous.members) == len(rendezvous.group)

    def execute(self, rendezvous: Rendezvous) -> None:
        """Compute the results of the members of a group."""
        view, _, _ = rendezvous.members[rendezvous.group[0]]
        results = view.exchange(rendezvous.operands, **rendezvous.regions)
        for process, values in zip(rendezvous.group, results, strict=True):
            rendezvous.members[process][2].complete(values)

    def send(self, route: Hashable, process: ProcessId, operation: Operation, values: Values) -> None:
        """Send values along a route; does not wait until they are received."""
        receivers = self._receivers.get(route)
        if receivers:
            receivers.popleft().complete(values)
        else:
            self._sent.setdefault(route, deque()).append((process, operation, values))

    def receive(self, route: Hashable, operation: Operation, source: str) -> Pending:
        """Receive the first values on a route that nobody has received.

        Args:
            route: what `send` is given.
            operation: who receives.
            source: who sends, in words.
        """
        pending = Pending(operation, lambda: source)
        sent = self._sent.get(route)
        if sent:
            pending.complete(sent.popleft()[2])
        else:
            self._receivers.setdefault(route, deque()).append(pending)
        return pending

    def progress(self, waits: Callable[[], list[str]]) -> bool:
        """Wait until values from other ranks are received; False if there are no other ranks.

        Args:
            waits: tells who waits for what.

        Raises:
            NimbleError: the run has failed elsewhere.
        """
        return False

    def fail(self, error: NimbleError) -> None:
        """Notify all processes that the run has failed here."""

    def close(self) -> None:
        """End a run: all processes here have ended.

        Raises:
            ExecutionError: values were sent that nobody has received.
        """
        self.require_received()

    def require_received(self) -> None:
        """Check that all values that were sent here were received.

        Raises:
            ExecutionError: some were not.
        """
        for sent in self._sent.values():
            for process, operation, _ in sent:
                raise ExecutionError(
                    f"process {process} sent values that no process has received",
                    operation=operation.name,
                    location=operation.location,
                )
