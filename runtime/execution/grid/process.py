"""A process of a grid, and its connections to the others and to the host."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...program.ir import Operation
from ...program.ops.collectives.process_grid import Grid, ProcessId
from ..executor import Limits
from .host import HostQueues, Queue
from .transport import LocalTransport, Pending, Values

Run = tuple[ProcessId, Any, list[Any]]
"""A process, the `ProcessProgram` that it runs, and the arguments."""

InfeedValues = deque[Callable[[], list[Any]]]
"""Functions whose results the infeed hands out, each once."""


class Process(ABC):
    """One process of a grid during a run.

    Attributes:
        id: its position.
        grid: the grid.
        transport: how it communicates.
        host: the host's queues.
        limits: those of the whole run.
    """

    id: ProcessId
    grid: Grid
    transport: LocalTransport
    host: HostQueues
    limits: Limits | None

    @abstractmethod
    def from_host(self, source: Queue, operation: Operation, missing: str) -> Pending:
        """Take the next item of a queue of the host; `missing` says what that is."""

    @abstractmethod
    def infeed(self, operation: Operation) -> Pending | None:
        """The next values of the infeed; None if nothing feeds it."""

    @abstractmethod
    def outfeed(self, values: Values) -> bool:
        """Write to the outfeed; False if there is none."""

    @abstractmethod
    def run_grid(
        self, grid: Grid, runs: Iterable[Run], infeed_values: InfeedValues | None = None
    ) -> list[list[Any]]:
        """Run the processes of another grid to their ends, and return the results of each.

        Args:
            grid: the grid.
            runs: what its processes run.
            infeed_values: what its infeed hands out in the place of the host; None: the host's queues
                serve it.
        """


def process_ids(id: ProcessId) -> list[Any]:
    """The ids of a process as the arguments that `specialize.process_ids` adds."""
    return [np.array(id.replica, np.uint32), np.array(id.partition, np.uint32)]
