"""Python queues as the other end of infeed, outfeed, and transfers between processes and the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class Queue(Protocol):
    """The common interface of `queue.Queue` and `multiprocessing.Queue`."""

    def put(self, item: object, /) -> None:
        """Add an item at the end."""

    def get_nowait(self) -> Any:
        """Take the first item; raises `queue.Empty`."""


@dataclass(frozen=True)
class HostQueues:
    """The host's end of the streams and host channels of a grid.

    An item is a tuple with an array for each value that the operation transfers; an array alone stands for a
    tuple of one.

    Attributes:
        infeed: what ``infeed`` reads: a queue for all processes, or one for each process in row-major order;
            None: a program with ``infeed`` ends with an ExecutionError.
        outfeed: where ``outfeed`` writes, likewise.
        send: maps the id of a channel to the queue to which ``send`` with ``is_host_transfer`` writes.
        recv: maps the id of a channel to the queue from which ``recv`` with ``is_host_transfer`` reads.
            Without a queue, a channel connects the processes: an item goes to the first one that receives.
        timeout: seconds that a process waits for an item before it fails with an ExecutionError.
    """

    infeed: Queue | Sequence[Queue] | None = None
    outfeed: Queue | Sequence[Queue] | None = None
    send: Mapping[int, Queue] = field(default_factory=dict)
    recv: Mapping[int, Queue] = field(default_factory=dict)
    timeout: float = 60.0

    def infeed_of(self, process: int) -> Queue | None:
        """The queue that `infeed` of a process reads, by its flattened id."""
        return _of_process(self.infeed, process)

    def outfeed_of(self, process: int) -> Queue | None:
        """The queue to which `outfeed` of a process writes, by its flattened id."""
        return _of_process(self.outfeed, process)


def _of_process(queues: Queue | Sequence[Queue] | None, process: int) -> Queue | None:
    return queues[process] if isinstance(queues, Sequence) else queues


NO_QUEUES = HostQueues()
