"""Runs the processes of a grid in turn, until all have ended or none can continue."""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextvars import Context, copy_context
from typing import Any, Final

import numpy as np

from ...errors import ExecutionError, NimbleError, failure_reason
from ...kernels.launch.free_memory import shortage_of
from ...program.ir import Operation
from ...program.ops.collectives.process_grid import Grid, ProcessId
from ...program.ops.framework.call_state import begin_process
from ..executor import Limits
from .coroutine import Coroutine, ProcessProgram
from .host import NO_QUEUES, HostQueues, Queue
from .process import InfeedValues, Process, Run
from .transport import LocalTransport, Pending, Values, deadlock_text

PROCESS_BYTES: Final = 1 << 10
"""Bytes of a process without its arrays, at least; CPython 3.13 takes 1.5 KB."""

_POLL_SECONDS: Final = 0.001
"""Seconds between two polls of empty host queues."""


class ScheduledProcess(Process):
    """A process and its coroutine.

    Attributes:
        scheduler: the run.
        results: its results, once it has ended.
        waits_for: what it waits for.
    """

    def __init__(self, id: ProcessId, scheduler: Scheduler) -> None:
        self.id = id
        self.scheduler = scheduler
        self.grid = scheduler.grid
        self.transport = scheduler.transport
        self.host = scheduler.host
        self.limits = scheduler.limits
        self.results: list[Any] | None = None
        self.waits_for: Pending | None = None
        self._context: Context = copy_context()
        self._coroutine: Coroutine | None = None

    def start(self, program: ProcessProgram, arguments: list[Any]) -> None:
        """Prepare to run a program."""
        self._context.run(begin_process)
        self._coroutine = program.run(arguments, self)

    def resume(self) -> None:
        """Run until the process waits, or ends.

        Raises:
            NimbleError: it failed; the reason names the process where there are several.
        """
        assert self._coroutine is not None
        try:
            while True:
                pending = self._context.run(next, self._coroutine)
                if not pending.is_complete:
                    self.waits_for = pending
                    pending.on_complete = self._wake
                    return
        except StopIteration as end:
            self.results, self._coroutine = end.value, None
        except NimbleError as error:
            if self.grid.size == 1:
                raise
            raise type(error)(
                f"process {self.id}: {error.reason}",
                operation=error.operation,
                label=error.label,
                location=error.location,
            ) from error

    def _wake(self) -> None:
        self.waits_for = None
        self.scheduler.ready.append(self)

    def from_host(self, source: Queue, operation: Operation, missing: str) -> Pending:
        pending = Pending(operation, lambda: missing)
        self.scheduler.wait_for_host(source, pending)
        return pending

    def infeed(self, operation: Operation) -> Pending | None:
        infeed_values = self.scheduler.infeed_values
        if infeed_values is not None:
            pending = Pending(operation, lambda: "the infeed, which has ended")
            if infeed_values:
                pending.complete(tuple(infeed_values.popleft()()))
            return pending
        source = self.host.infeed_of(self.grid.flattened_id(self.id))
        return None if source is None else self.from_host(source, operation, "the infeed")

    def outfeed(self, values: Values) -> bool:
        target = self.host.outfeed_of(self.grid.flattened_id(self.id))
        if target is not None:
            target.put(values)
        # Nothing reads the outfeed of `interpreter.run_parallel`.
        return target is not None or self.scheduler.is_nested

    def run_grid(
        self, grid: Grid, runs: Iterable[Run], infeed_values: InfeedValues | None = None
    ) -> list[list[Any]]:
        return Scheduler(grid, LocalTransport(grid), self.host, self.limits, infeed_values).run(runs)


class Scheduler:
    """One run of a grid.

    Args:
        grid: the grid.
        transport: how its processes communicate.
        host: the host's queues.
        limits: those of the whole run.
        infeed_values: functions whose results the infeed hands out, in the place of a queue: those of
            `interpreter.run_parallel`.
    """

    def __init__(
        self,
        grid: Grid,
        transport: LocalTransport,
        host: HostQueues = NO_QUEUES,
        limits: Limits | None = None,
        infeed_values: InfeedValues | None = None,
    ) -> None:
        self.grid = grid
        self.transport = transport
        self.host = host
        self.limits = limits
        self.infeed_values = infeed_values
        self.is_nested = infeed_values is not None
        self.ready: deque[ScheduledProcess] = deque()
        self._host_waits: list[tuple[Queue, Pending]] = []

    def run(self, programs: Iterable[Run]) -> list[list[Any]]:
        """Run processes; returns the results of each.

        Args:
            programs: for each process its id, what it runs, and the arguments.

        Raises:
            ExecutionError: there are too many processes for the memory that is left, a process failed, or no
                process can go on; names each with its operation.
        """
        processes = []
        try:
            shortage = shortage_of(self.grid.size * PROCESS_BYTES)
            if shortage:
                raise ExecutionError(f"{self.grid.size} processes take {shortage}")
            for id, program, arguments in programs:
                if self.limits is not None:
                    self.limits.check_time()
                process = ScheduledProcess(id, self)
                process.start(program, arguments)
                processes.append(process)
            self.ready.extend(processes)
            self._run(processes)
            self.transport.close()
        except BaseException as error:
            # Others would wait for ever after an interrupt, too.
            self.transport.fail(_as_failure(error))
            raise
        return [process.results or [] for process in processes]

    def _run(self, processes: Sequence[ScheduledProcess]) -> None:
        while True:
            while self.ready:
                self.ready.popleft().resume()
            if all(process.results is not None for process in processes):
                return
            if self._host_waits and self._wait_for_host_queues():
                continue
            if not self.transport.progress(lambda: waits_text(processes)):
                raise _deadlock(processes)

    def wait_for_host(self, source: Queue, pending: Pending) -> None:
        """Complete `pending` with the next item of a queue."""
        if not any(waited is source for waited, _ in self._host_waits) and _take(source, pending):
            return
        self._host_waits.append((source, pending))

    def _wait_for_host_queues(self) -> bool:
        """Wait until a queue has an item.

        Raises:
            ExecutionError: none came within the time that the host's queues have.
        """
        deadline = time.monotonic() + self.host.timeout
        while True:
            polled_queues: list[Queue] = []
            for wait in self._host_waits:
                source, pending = wait
                if not any(polled is source for polled in polled_queues):
                    polled_queues.append(source)
                    if _take(source, pending):
                        self._host_waits.remove(wait)
                        return True
            if time.monotonic() > deadline:
                _, pending = self._host_waits[0]
                raise ExecutionError(
                    f"waited for {self.host.timeout} seconds for {pending.missing()}",
                    operation=pending.operation.name,
                    location=pending.operation.location,
                )
            time.sleep(_POLL_SECONDS)


def _take(source: Queue, pending: Pending) -> bool:
    """Complete `pending` with the first item of a queue, if there is one."""
    try:
        item = source.get_nowait()
    except queue.Empty:
        return False
    pending.complete(tuple(map(np.asarray, item)) if isinstance(item, (tuple, list)) else (np.asarray(item),))
    return True


def waits_text(processes: Sequence[ScheduledProcess]) -> list[str]:
    """Describe the wait of each process: the operation, and the processes that it waits for."""
    texts = []
    for process in processes:
        pending = process.waits_for
        if pending is not None:
            where = f"{pending.operation.name} at {pending.operation.location}"
            texts.append(f"process {process.id} waits in {where} for {pending.missing()}")
    return texts


def _as_failure(error: BaseException) -> NimbleError:
    """What the other processes raise for an error or an interrupt of a run."""
    if isinstance(error, NimbleError):
        return error
    if isinstance(error, Exception):
        return ExecutionError(failure_reason(error))
    return ExecutionError(f"the run was stopped by {type(error).__name__}")


def _deadlock(processes: Sequence[ScheduledProcess]) -> ExecutionError:
    """The error for a deadlock."""
    first = next(process.waits_for for process in processes if process.waits_for is not None)
    return ExecutionError(
        deadlock_text(waits_text(processes), len(processes)),
        operation=first.operation.name,
        location=first.operation.location,
    )
