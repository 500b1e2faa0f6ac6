"""Runs the processes of one grid on all ranks of a communicator, over MPI.

The extra ``nimblehlo[mpi]`` brings mpi4py and MPICH; another MPI of the system serves as well.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from .api import GridExecutable
from .compiler.partitioner.partitioner import device_count, device_program
from .compiler.specialize.gspmd.conversion import to_shardy
from .errors import NimbleError, UnsupportedError, counted
from .execution.grid.host import HostQueues
from .execution.mpi.liveness import RankMonitor
from .execution.mpi.messages import Messenger
from .execution.mpi.transport import MPITransport
from .execution.program import Placement, Program
from .options import Options
from .program.ir import Function, Module
from .program.loading import load
from .program.ops.collectives.process_grid import Grid, ProcessId

if TYPE_CHECKING:
    from mpi4py.MPI import Comm

__all__ = ["MPIExecutable", "compile", "execute"]

_PAUSE_SECONDS: Final = 1e-4
"""Seconds between two checks whether all ranks have started."""


def compile(
    module: object,
    *,
    grid: Grid | None = None,
    entry: str = "main",
    options: Options | None = None,
    host: HostQueues | None = None,
    communicator: Comm | None = None,
) -> MPIExecutable:
    """Prepare a program to run on a grid over all ranks; every rank calls it with the same arguments.

    Args:
        module, entry, options, host: see `nimblehlo.compile`; a rank's queues serve its own processes.
        grid: the grid; None: one replica for each rank, or, of a program with manual computations on at
            least as many devices, a partition for each device. Such a partition takes and returns whole
            arrays, or its shards of those for which the program says how they are divided. Rank r of R runs
            the processes from number ``r * grid.size // R`` to ``(r + 1) * grid.size // R``, in row-major
            order.
        communicator: the ranks; None: all.

    Raises:
        NimbleError: what `nimblehlo.compile` raises, mpi4py or MPI is missing, or the grid has fewer
            processes than there are ranks.
    """
    world = communicator or _world()
    loaded = load(module)
    if grid is None and entry == "main":
        loaded, grid = _on_devices(loaded, world.Get_size())
    chosen = grid or Grid(world.Get_size())
    if chosen.size < world.Get_size():
        raise NimbleError(f"the grid is {chosen}, but there are {counted(world.Get_size(), 'rank')}")
    return MPIExecutable(loaded, entry, options or Options(), chosen, host, world)


def _on_devices(module: Module, ranks: int) -> tuple[Module, Grid | None]:
    """The program of a device and the grid of the devices; the module itself if it has no devices."""
    module = to_shardy(module)
    count = device_count(module)
    local = device_program(module, count) if count >= max(2, ranks) else None
    return (module, None) if local is None else (local, Grid(1, count))


def execute(
    module: object,
    inputs: Sequence[Sequence[Any]] = (),
    *,
    grid: Grid | None = None,
    entry: str = "main",
    options: Options | None = None,
    host: HostQueues | None = None,
    communicator: Comm | None = None,
) -> list[list[Any]]:
    """Run a program on a grid over all ranks; every rank calls it.

    Args:
        inputs: for each process that runs on this rank a sequence of inputs, see `nimblehlo.execute`.
        module, grid, entry, options, host, communicator: see `compile`.

    Returns:
        For each process that runs on this rank a list of its results.

    Raises:
        NimbleError: what `nimblehlo.execute` raises; on all ranks, with the text of the first error.
    """
    executable = compile(
        module, grid=grid, entry=entry, options=options, host=host, communicator=communicator
    )
    return executable(inputs or [()] * len(executable.processes))


class MPIExecutable(GridExecutable):
    """A program that is ready to run on a grid over all ranks; see `GridExecutable`.

    All ranks must call it equally often, and in one thread. An error on one rank ends the call on all.

    Attributes:
        grid: the grid.
        communicator: the ranks.
    """

    def __init__(
        self,
        module: Module,
        entry: str,
        options: Options,
        grid: Grid,
        host: HostQueues | None,
        communicator: Comm,
    ) -> None:
        self.communicator = communicator
        self._monitor = RankMonitor.of(communicator)
        self._messenger: Messenger | None = None
        rank, ranks = communicator.Get_rank(), communicator.Get_size()
        bounds = range(grid.size * rank // ranks, grid.size * (rank + 1) // ranks)
        self._own = tuple(grid.process(number) for number in bounds)
        super().__init__(module, entry, options, grid, host)

    @property
    def processes(self) -> Sequence[ProcessId]:
        """The processes that run on this rank, in row-major order of the grid."""
        return self._own

    def rank_of(self, process: ProcessId) -> int:
        ranks = self.communicator.Get_size()
        return ((self.grid.flattened_id(process) + 1) * ranks - 1) // self.grid.size

    def __call__(self, *inputs: Any) -> list[list[Any]]:
        """Run it; see `GridExecutable.__call__`.

        Args:
            inputs: one sequence that has a sequence of inputs for each process that runs on this rank.

        Raises:
            NimbleError: on all ranks, with the text of the first error.
        """
        transport = self._connect()
        self._transport: MPITransport | None = transport
        try:
            results = super().__call__(*inputs)
            if self._transport is not None:
                # A program that does not communicate ends on all ranks together, too.
                transport.close()
            return results
        except NimbleError as error:
            transport.fail(error)
            # Messages may still be on their way in it.
            self._messenger = None
            raise

    def _connect(self) -> MPITransport:
        if self._messenger is None:
            self._messenger = Messenger(self._duplicate(), self._monitor)
        return MPITransport(self.grid, self._messenger, self.rank_of)

    def _duplicate(self) -> Comm:
        """A communicator that nothing else uses.

        Raises:
            ExecutionError: a rank has ended.
        """
        duplicate, request = self.communicator.Idup()
        while not request.Test():
            self._monitor.check()
            time.sleep(_PAUSE_SECONDS)
        return duplicate

    def _take_transport(self) -> MPITransport:
        transport, self._transport = self._transport, None
        assert transport is not None
        return transport

    def _lowered(self, function: Function) -> Program:
        placement = Placement(
            len(self.input_types),
            self.grid,
            self._host,
            runs_on_grid=True,
            processes=self._own,
            connect=self._take_transport,
        )
        return Program(function, self.options, placement=placement)


def _world() -> Comm:
    """The communicator of all ranks.

    Raises:
        UnsupportedError: mpi4py or the MPI library is missing.
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise UnsupportedError(
            f"running over MPI needs mpi4py and an MPI library ({error}): pip install 'nimblehlo[mpi]'"
        ) from None
    return MPI.COMM_WORLD
