"""What a program that runs as a process of a grid sees of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from ..executor import Limits
from ..ir import Operation
from ..ops.collectives.parallel import RunParallel
from ..ops.collectives.process_grid import Grid, ProcessId
from .host import HostQueues, Queue
from .transport import Pending, Transport, Values


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
    transport: Transport
    host: HostQueues
    limits: Limits | None

    @abstractmethod
    def from_host(self, source: Queue, operation: Operation, missing: str) -> Pending:
        """Take the next item of a queue of the host; `missing` says what that is."""

    @abstractmethod
    def infeed(self, operation: Operation) -> Pending | None:
        """The next values of the infeed; None where nothing feeds it."""

    @abstractmethod
    def outfeed(self, values: Values) -> bool:
        """Write to the outfeed; False where nothing takes it."""

    @abstractmethod
    def run_parallel(self, view: RunParallel, functions: Any, inputs: Sequence[Any]) -> list[Any]:
        """Run the programs of `interpreter.run_parallel`.

        Args:
            view: the operation.
            functions: the program of each function by its name.
            inputs: those of all processes.

        Returns:
            The results of all processes.
        """
