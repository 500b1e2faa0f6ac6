"""The runner of a program's plan on a grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...compiler.plan import Plan
from ...program.ops.collectives.process_grid import Grid, ProcessId
from ..executor import Limits
from .coroutine import ProcessProgram, check_grid
from .host import NO_QUEUES, HostQueues
from .process import Run, process_ids
from .scheduler import Scheduler
from .transport import LocalTransport


class GridRunner:
    """Runs a plan as every process of a grid; may be used by many threads at the same time.

    Args:
        plan: the plan, which all processes share.
        grid: the grid.
        reads_ids: whether the plan's last two arguments are the ids of the process.
        host: the host's queues.
        processes: those that run here; None: all.
        connect: creates the transport of values between processes for each run; None: all processes run here.

    Raises:
        VerifyError: a constraint does not hold on this grid.
    """

    def __init__(
        self,
        plan: Plan,
        grid: Grid,
        reads_ids: bool,
        host: HostQueues | None = None,
        *,
        processes: Sequence[ProcessId] | None = None,
        connect: Callable[[], LocalTransport] | None = None,
    ) -> None:
        check_grid(plan, grid)
        self.grid = grid
        self._program = ProcessProgram(plan)
        self._reads_ids = reads_ids
        self._host = host or NO_QUEUES
        self._processes = tuple(grid.processes if processes is None else processes)
        self._connect = connect or (lambda: LocalTransport(grid))

    def run(self, arguments: Sequence[Any], limits: Limits | None = None) -> list[Any]:
        """The concatenated results of all processes that run here.

        Args:
            arguments: the concatenated arguments of these processes; a list is emptied.
            limits: those of the whole run.

        Raises:
            ExecutionError: a process failed, or no process can go on.
        """
        count = len(arguments) // max(1, len(self._processes))
        runs: list[Run] = []
        for number, id in enumerate(self._processes):
            own = list(arguments[number * count : (number + 1) * count])
            runs.append((id, self._program, own + process_ids(id) if self._reads_ids else own))
        if isinstance(arguments, list):
            arguments.clear()
        scheduler = Scheduler(self.grid, self._connect(), self._host, limits)
        return [value for results in scheduler.run(runs) for value in results]
