"""Python queues as the other end of infeed, outfeed, and transfers between processes and the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class Queue(Protocol):
    """The common interface of `queue.Queue` and `multiprocessing.Queue`."""

    def put(self, item: Any, /) -> None:
        """Add an item at the end."""

    def get_nowait(self) -> Any:
        """Take the first item; raises `queue.Empty`."""


@dataclass(frozen=True)
class HostQueues:
    """The host's end of the streams and host channels of a grid.

    An item is a tuple with an array for each value that the operation transfers; an array alone stands for a
    tuple of one.

    Attributes:
        infeed: what ``infeed`` reads: a queue for all processes, or one for each process in row-major order.
        outfeed: where ``outfeed`` writes, likewise.
        send: for the id of a channel the queue to which ``send`` with ``is_host_transfer`` writes.
        recv: for the id of a channel the queue from which ``recv`` with ``is_host_transfer`` reads. A channel
            that has no queue connects the processes themselves: what one sends the next one that asks gets.
        timeout: seconds that a process waits for an item.
    """

    infeed: Queue | Sequence[Queue] | None = None
    outfeed: Queue | Sequence[Queue] | None = None
    send: Mapping[int, Queue] = field(default_factory=dict)
    recv: Mapping[int, Queue] = field(default_factory=dict)
    timeout: float = 60.0

    def infeed_of(self, process: int) -> Queue | None:
        return _of_process(self.infeed, process)

    def outfeed_of(self, process: int) -> Queue | None:
        return _of_process(self.outfeed, process)


def _of_process(queues: Queue | Sequence[Queue] | None, process: int) -> Queue | None:
    return queues[process] if isinstance(queues, Sequence) else queues


NO_QUEUES = HostQueues()
