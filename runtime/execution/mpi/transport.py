"""Brings values to processes of the grid on other ranks, and ends a run on all ranks.

Each rank runs its own processes as a grid within one process of the system does. A collective of processes
on several ranks is executed once all members on a rank have arrived there: the rank sends every other rank
what that one's members need, receives the same, and computes the results of its own. `all_reduce` of many
elements cuts them into one range for each rank: each rank combines the values of its range, and sends the
result to the others, which receive it directly into their results. Partial results follow the nodes of
the one tree, so that the bits are those of any other transport.

Beyond `MAX_DIRECT_RANKS` ranks, `all_reduce` and `reduce_scatter` halve and double between neighbours
(`halving.py`), where each rank has as many processes, a power of two, in the order of the group.

THE END OF A RUN. An idle rank reports, with the numbers of messages that it has sent and received, along a
tree of ranks to rank 0 (`idle_reports.py`). Once all ranks are idle and no message is in transit, rank 0 asks
all of them again: if the numbers are still the same, either all processes have ended, or none can go on. A
rank that fails tells all others, which fail with its error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ... import errors
from ...errors import ExecutionError, NimbleError
from ...program.ir import NameLocation, Operation
from ...program.ops.collectives.base import GroupOperation, Member
from ...program.ops.collectives.process_grid import Grid, ProcessId
from ...program.ops.collectives.reduction import AllReduce, Node, own_nodes
from ...types import Array
from ..grid.transport import LocalTransport, Rendezvous, Values, deadlock_text, description_of
from .halved_exchange import halving_of, is_halved
from .halving import Halving, Message
from .idle_reports import Idle, children_of, joined, parent_of
from .messages import ArrayType, Mailbox, Messenger, new_arrays

MIN_RANGED_BYTES: Final = 1 << 16
"""Minimum bytes of an operand that `all_reduce` splits into ranges; one round is faster for smaller ones."""

_MAX_SLEEP_SECONDS: Final = 0.001
_TRANSFER_SLEEP_SECONDS: Final = 1e-5
"""The pause between two polls while arrays are in transit: MPI only makes progress during polls. Without a
pause, ranks that share processors block each other: `all_reduce` of 64 MB over 4 ranks on 2 cores takes
0.05 s, with `sched_yield` in its place 0.17 s."""

_LAST_MESSAGE_POLLS: Final = 250
"""Polls for the last messages of a rank that has ended, with a pause of `_MAX_SLEEP_SECONDS` after each. On a
busy machine a time could pass without any poll."""

_SPINS: Final = 100
"""Polls without a pause before a rank yields the processor."""

_POLLS_BETWEEN_CHECKS: Final = 50
"""Polls between two checks whether a rank has died: at most 0.05 s."""


class _Exchange:
    """A collective that this rank executes with others.

    Attributes:
        rendezvous: the members that are here.
        positions: for each rank the positions of its members in the group.
        payloads: by rank, what it has sent, in each of the rounds.
        ranges: for each rank its number among those that take part.
        results: of `all_reduce` in ranges: the arrays that are being filled.
        order: the ranks in the order of the group.
        halving, finish: the state of halving and doubling, and a function that returns its results.
    """

    def __init__(self, rendezvous: Rendezvous, positions: Mapping[int, list[int]]) -> None:
        self.rendezvous = rendezvous
        self.positions = positions
        self.payloads: list[dict[int, Values]] = [{}, {}]
        self.ranges = {rank: index for index, rank in enumerate(sorted(positions))}
        self.results: list[Array] = []
        self.order = sorted(positions, key=lambda rank: positions[rank][0])
        self.halving: Halving | None = None
        self.finish: Callable[[], Sequence[Values]] = list
        self.view: GroupOperation = next(iter(rendezvous.members.values()))[0]

    def range_of(self, rank: int, array: Array) -> Array:
        """A rank's range of the elements of an array."""
        index, count = self.ranges[rank], len(self.ranges)
        size = array.size
        return array.reshape(-1)[size * index // count : size * (index + 1) // count]

    def ranges_of_results(self, rank: int) -> tuple[Array, ...]:
        return tuple([self.range_of(rank, result) for result in self.results])

    def store_ranges(self) -> None:
        """Copy the ranges that were received before the results were allocated."""
        for rank, ranges in self.payloads[1].items():
            for target, array in zip(self.ranges_of_results(rank), ranges, strict=True):
                if not np.may_share_memory(target, array):
                    target[...] = array


class MPITransport(LocalTransport):
    """Transfers values between the processes of a grid over the ranks of a communicator.

    Args:
        grid: the grid.
        messenger: that of the communicator; all ranks make the transports of it in the same order.
        rank_of: tells on which rank a process runs.
    """

    def __init__(self, grid: Grid, messenger: Messenger, rank_of: Callable[[ProcessId], int]) -> None:
        super().__init__(grid)
        self.rank = messenger.rank
        self.ranks = messenger.rank_count
        self.rank_of = rank_of
        self.messenger = messenger
        self.mailbox: Mailbox = messenger.open(self._deliver, self._allocate)
        self._executed: dict[Hashable, int] = {}
        self._exchanges: dict[Hashable, _Exchange] = {}
        self._early: dict[Hashable, list[tuple[int, int, str, Values]]] = {}
        self._idle: dict[int, Idle] = {}
        self._asked: dict[int, Idle] = {}
        self._round = 0
        self._question = 0
        self._last_report: Idle | None = None
        self._sent_report: Idle | None = None
        self._children = children_of(self.rank, self.ranks)
        self._has_finished = False

    def is_ready(self, rendezvous: Rendezvous) -> bool:
        here = sum(self.rank_of(process) == self.rank for process in rendezvous.group)
        return len(rendezvous.members) == here

    def execute(self, rendezvous: Rendezvous) -> None:
        if len(rendezvous.members) == len(rendezvous.group):
            super().execute(rendezvous)
            return
        positions: dict[int, list[int]] = {}
        for position, process in enumerate(rendezvous.group):
            positions.setdefault(self.rank_of(process), []).append(position)
        exchange = _Exchange(rendezvous, positions)
        name = exchange.view.name, exchange.view.channel, rendezvous.group
        number = self._executed[name] = self._executed.get(name, 0) + 1
        identity = *name, number
        self._exchanges[identity] = exchange
        if is_halved(exchange.view, positions, len(rendezvous.group)):
            self._start_halving(identity, exchange)
        elif self._is_ranged(exchange):
            self._send_ranges(identity, exchange)
        else:
            self._send_payloads(identity, exchange)
        for source, step, description, values in self._early.pop(identity, ()):
            self._enter(identity, exchange, source, step, description, values)

    def _start_halving(self, identity: Hashable, exchange: _Exchange) -> None:
        """Send the first halves of this rank's node of the tree."""
        positions, size = exchange.positions[self.rank], len(exchange.rendezvous.group)
        computation = exchange.rendezvous.regions["computation"]
        operands = {position: self._operands(exchange, position) for position in positions}
        rank = exchange.order.index(self.rank)
        exchange.halving, exchange.finish = halving_of(
            exchange.view, computation, operands, rank, len(exchange.order), size
        )
        self._send_halves(identity, exchange, exchange.halving.start())

    def _send_halves(self, identity: Hashable, exchange: _Exchange, messages: Sequence[Message]) -> None:
        """Send messages of halving and doubling; continue once it has ended."""
        description = self._described(exchange)
        for step, receiver, arrays in messages:
            self.mailbox.send(exchange.order[receiver], ("exchange", identity, step, description), arrays)
        assert exchange.halving is not None
        if exchange.halving.has_ended:
            del self._exchanges[identity]
            self._complete(exchange, exchange.finish())

    def _is_ranged(self, exchange: _Exchange) -> bool:
        operands = exchange.rendezvous.members[self._first_member(exchange)][1]
        return isinstance(exchange.view, AllReduce) and any(
            operand.nbytes >= MIN_RANGED_BYTES for operand in operands
        )

    def _first_member(self, exchange: _Exchange) -> ProcessId:
        return exchange.rendezvous.group[exchange.positions[self.rank][0]]

    def _operands(self, exchange: _Exchange, position: int) -> Values:
        return exchange.rendezvous.members[exchange.rendezvous.group[position]][1]

    def _described(self, exchange: _Exchange) -> str:
        view, operands, _ = exchange.rendezvous.members[self._first_member(exchange)]
        return str(description_of(view, operands))

    def _post(self, identity: Hashable, exchange: _Exchange, step: int, values: Mapping[int, Values]) -> None:
        """Send each rank its values of a step, and enter this rank's own."""
        description = self._described(exchange)
        for rank, arrays in values.items():
            if rank != self.rank:
                self.mailbox.send(rank, ("exchange", identity, step, description), arrays)
        self._enter(identity, exchange, self.rank, step, description, values[self.rank])

    def _send_payloads(self, identity: Hashable, exchange: _Exchange) -> None:
        """Send each rank the payloads of local members for its members."""
        size = len(exchange.rendezvous.group)
        self._post(
            identity,
            exchange,
            0,
            {
                rank: tuple(
                    array
                    for position in exchange.positions[self.rank]
                    for array in exchange.view.payload(
                        Member(position, size), self._operands(exchange, position), receivers
                    )
                )
                for rank, receivers in exchange.positions.items()
            },
        )

    def _send_ranges(self, identity: Hashable, exchange: _Exchange) -> None:
        """Send each rank its range of the local nodes of the reduction tree."""
        nodes = self._local_tree_nodes(exchange)
        self._post(
            identity,
            exchange,
            0,
            {
                rank: tuple(
                    exchange.range_of(rank, array) for of_operand in nodes for array in of_operand.values()
                )
                for rank in exchange.positions
            },
        )

    def _local_tree_nodes(self, exchange: _Exchange) -> list[dict[Node, Array]]:
        """For each operand the values of the highest tree nodes all of whose processes are local."""
        size, here = len(exchange.rendezvous.group), exchange.positions[self.rank]
        nodes = []
        for number, reduction in enumerate(self._reductions(exchange)):
            values = {
                position: np.ascontiguousarray(self._operands(exchange, position)[number]).reshape(-1)
                for position in here
            }
            reduced: dict[Node, Array] = {}
            for node, positions in own_nodes(size, here).items():
                leaves = {(0, position): values[position] for position in positions}
                reduced[node] = reduction.reduce(leaves, size, node) if node[0] else leaves[node]
            nodes.append(reduced)
        return nodes

    def _reductions(self, exchange: _Exchange) -> list[Any]:
        view = exchange.view
        assert isinstance(view, AllReduce)
        computation = exchange.rendezvous.regions["computation"]
        return [view.reduction(type, computation) for type in view.operands]

    def _enter(
        self,
        identity: Hashable,
        exchange: _Exchange,
        source: int,
        step: int,
        description: str,
        values: Values,
    ) -> None:
        """Record the values of a rank; continue once all ranks have sent theirs."""
        own = self._described(exchange)
        if description != own:
            operation = exchange.view.operation
            raise ExecutionError(
                f"is executed as {own}, but on rank {source} as {description}",
                operation=operation.name,
                location=operation.location,
            )
        if exchange.halving is not None:
            sender = exchange.order.index(source)
            self._send_halves(identity, exchange, exchange.halving.receive(step, sender, values))
            return
        payloads = exchange.payloads[step]
        payloads[source] = values
        if len(payloads) < len(exchange.positions):
            return
        if not self._is_ranged(exchange):
            del self._exchanges[identity]
            self._combine_payloads(exchange)
        elif step == 0:
            self._combine_ranges(identity, exchange)
        else:
            del self._exchanges[identity]
            exchange.store_ranges()
            self._complete(exchange, [tuple(exchange.results)] * len(exchange.positions[self.rank]))

    def _combine_payloads(self, exchange: _Exchange) -> None:
        """Compute the results of the local members from the payloads of all members."""
        size = len(exchange.rendezvous.group)
        payloads: list[Values] = [()] * size
        for rank, positions in exchange.positions.items():
            arrays = exchange.payloads[0][rank]
            # Each member sends as many arrays as the others, or none.
            array_counts = [self._array_count(exchange, position) for position in positions]
            first = 0
            for position, count in zip(positions, array_counts, strict=True):
                payloads[position] = arrays[first : first + count]
                first += count
        here = exchange.positions[self.rank]
        results = exchange.view.combine(payloads, here, **exchange.rendezvous.regions)
        self._complete(exchange, results)

    def _array_count(self, exchange: _Exchange, position: int) -> int:
        """The number of arrays that a member sends to the local members, computed as for a local member."""
        here = exchange.positions[self.rank]
        member = Member(position, len(exchange.rendezvous.group))
        return len(exchange.view.payload(member, self._operands(exchange, here[0]), here))

    def _complete(self, exchange: _Exchange, results: Sequence[Values]) -> None:
        for position, values in zip(exchange.positions[self.rank], results, strict=True):
            exchange.rendezvous.members[exchange.rendezvous.group[position]][2].complete(values)

    def _combine_ranges(self, identity: Hashable, exchange: _Exchange) -> None:
        """Reduce this rank's range of the values of all ranks, and send the result to the others."""
        size = len(exchange.rendezvous.group)
        reductions = self._reductions(exchange)
        nodes: list[dict[Node, Array]] = [{} for _ in reductions]
        for rank, positions in exchange.positions.items():
            arrays = iter(exchange.payloads[0][rank])
            names = list(own_nodes(size, positions))
            for of_operand in nodes:
                of_operand.update({name: next(arrays) for name in names})
        operands = self._operands(exchange, exchange.positions[self.rank][0])
        exchange.results = [
            np.empty(operand.shape, reduction.body.element_types[0].dtype)
            for operand, reduction in zip(operands, reductions, strict=True)
        ]
        reduced = exchange.ranges_of_results(self.rank)
        for reduction, of_operand, result in zip(reductions, nodes, reduced, strict=True):
            reduction.reduce(of_operand, size, out=result)
        self.messenger.scratch.release(
            [array for rank, arrays in exchange.payloads[0].items() if rank != self.rank for array in arrays]
        )
        exchange.payloads[0].clear()
        self._post(identity, exchange, 1, dict.fromkeys(exchange.positions, reduced))

    def _allocate(self, source: int, content: Any, types: Sequence[ArrayType]) -> Sequence[Array]:
        """Memory for received arrays; a range of a result is received into the result."""
        if content[0] == "exchange":
            _, identity, step, _ = content
            exchange = self._exchanges.get(identity)
            if step == 0:
                return self.messenger.scratch.take(types)
            if exchange is not None and exchange.results:
                ranges = exchange.ranges_of_results(source)
                if [(array.dtype, array.shape) for array in ranges] == list(types):
                    return ranges
        return new_arrays(types)

    def send(self, route: Hashable, process: ProcessId, operation: Operation, values: Values) -> None:
        target = self._target(route)
        if target == self.rank:
            super().send(route, process, operation, values)
            return
        content = "values", route, process, operation.name, str(operation.location)
        self.mailbox.send(target, content, values)

    def _target(self, route: Hashable) -> int:
        """The rank to which a route leads. Host channels without a queue connect processes of one rank."""
        assert isinstance(route, tuple)
        end = route[-1]
        return self.rank_of(end) if isinstance(end, ProcessId) else self.rank

    def _deliver(self, source: int, content: Any, arrays: Values) -> None:
        """Handle a received message."""
        kind, *details = content
        if kind == "exchange":
            identity, step, description = details
            exchange = self._exchanges.get(identity)
            if exchange is None:
                self._early.setdefault(identity, []).append((source, step, description, arrays))
            else:
                self._enter(identity, exchange, source, step, description, arrays)
        elif kind == "values":
            route, process, name, location = details
            super().send(route, process, Operation(name, location=NameLocation(location)), arrays)
        elif kind == "idle":
            self._record_report(source, details[0])
        elif kind == "question":
            self._ask(details[0])
        elif kind == "finish":
            self._has_finished = True
            self._tell_children("finish")
        else:
            error_class, reason, operation, label, location = details
            raise getattr(errors, error_class)(reason, operation=operation, label=label, location=location)

    def progress(self, waits: Callable[[], list[str]]) -> bool:
        waits_now = tuple(waits())
        self._wait_for_message(waits_now)
        return True

    def close(self) -> None:
        while not self._has_finished or self.messenger.has_outgoing:
            self._wait_for_message(None)
        self.mailbox.close()

    def _wait_for_message(self, waits: tuple[str, ...] | None) -> None:
        """Wait until a message was received, or the run has ended."""
        polls, pause = 0, 1e-5
        while not self.messenger.poll():
            self._report_idle(waits)
            if self._has_finished and not self.messenger.has_outgoing:
                return
            polls += 1
            if polls % _POLLS_BETWEEN_CHECKS == 0 and self._check_liveness():
                return
            if self.messenger.is_transferring:
                time.sleep(_TRANSFER_SLEEP_SECONDS)
            elif polls > _SPINS:
                time.sleep(pause)
                pause = min(2 * pause, _MAX_SLEEP_SECONDS)

    def _check_liveness(self) -> bool:
        """Check that no rank has ended; returns whether a message was received since.

        A rank's end may be detected before its last message is received.

        Raises:
            ExecutionError: a rank has ended, and no message follows.
        """
        try:
            self.messenger.monitor.check()
        except ExecutionError:
            for _ in range(_LAST_MESSAGE_POLLS):
                if self.messenger.poll():
                    return True
                time.sleep(_MAX_SLEEP_SECONDS)
            raise
        return False

    def _report_idle(self, waits: tuple[str, ...] | None) -> None:
        """Report that this rank is idle, if the report differs from the last one."""
        unreceived = ""
        if waits is None:
            try:
                self.require_received()
            except ExecutionError as error:
                unreceived = str(error)
        idle = Idle(self.mailbox.sent, self.mailbox.received, waits, unreceived, self._question)
        if idle == self._last_report:
            return
        self._last_report = idle
        self._record_report(self.rank, idle)

    def _record_report(self, rank: int, idle: Idle) -> None:
        """Record the report of this rank or of a child, and report to the parent, or decide on rank 0.

        Raises:
            ExecutionError: the run has ended in a deadlock, or values were not received.
        """
        self._idle[rank] = idle
        if len(self._idle) <= len(self._children):
            return
        total = joined(self._idle.values())
        if self.rank == 0:
            self._judge(total)
        elif total.round >= self._question and total != self._sent_report:
            self._sent_report = total
            self.mailbox.send(parent_of(self.rank), ("idle", total), is_counted=False)

    def _judge(self, total: Idle) -> None:
        """On rank 0: decide whether the run has ended, from the reports about all ranks."""
        if total.ranks < self.ranks or total.sent != total.received:
            return
        if self._round == 0:
            self._request_reports()
        elif all(each.round == self._round for each in self._idle.values()):
            asked = {rank: each._replace(round=self._round) for rank, each in self._asked.items()}
            if asked == self._idle:
                self._finish_run(total)
            else:
                self._request_reports()

    def _request_reports(self) -> None:
        """Request a new report from all ranks, whether they are still idle."""
        self._asked = dict(self._idle)
        self._round += 1
        self._ask(self._round)

    def _ask(self, question: int) -> None:
        """Answer a question with the next report, and have the ranks below this one answer it."""
        self._question = question
        self._last_report = None
        self._tell_children("question", question)

    def _tell_children(self, *content: object) -> None:
        for rank in self._children:
            self.mailbox.send(rank, content, is_counted=False)

    def _finish_run(self, total: Idle) -> None:
        """End the run, because all ranks are idle and no message is in transit."""
        if total.waits:
            raise ExecutionError(deadlock_text(list(total.waits), self.grid.size))
        if total.unreceived:
            raise ExecutionError(total.unreceived)
        self._has_finished = True
        self._tell_children("finish")

    def fail(self, error: NimbleError) -> None:
        if self._has_finished:
            return
        self._has_finished = True
        type_name = type(error).__name__ if hasattr(errors, type(error).__name__) else "ExecutionError"
        content = "failure", type_name, error.reason, error.operation, error.label, error.location
        for rank in range(self.ranks):
            if rank != self.rank:
                self.mailbox.send(rank, content, is_counted=False)
        self.messenger.abandon()
