"""A specialized function with its plan and runner; an Executable has one for each set of argument types."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from . import verification
from .boundary import DirectCall, memory_of, results_of, with_donations
from .executor import Limits, Runner
from .float_errors import ERRORS_IGNORED, without_warnings
from .ir import Function
from .ir.record import Record
from .kernels.launch.native import wake_workers
from .kernels.launch.poison import POISON
from .memory import MIN_POOLED_BYTES, RECYCLING, Retention, limited, run_with
from .ops.framework.call_state import needs_call_state, new_call
from .ops.framework.memory_limit import PHYSICAL_MEMORY_BYTES
from .ops.framework.op_registry import COMMUNICATING
from .options import Options
from .plan import Choose, Memory, Plan, all_steps, choose, lower, memory_use
from .types import DType

if TYPE_CHECKING:
    from .grid.host import HostQueues
    from .grid.transport import Transport
    from .ops.collectives.process_grid import Grid, ProcessId

MIN_WAKE_BYTES = 1 << 21
"""Bytes of a program's values from which a call wakes worker threads at once: waking takes 30 us."""


class Placement(Record):
    """On which processes a program runs.

    Attributes:
        input_count: how many inputs a process takes.
        grid: the processes; None: one.
        host: the host's queues.
        runs_on_grid: whether it runs on the grid even if it does not communicate.
        processes: those that run here; None: all.
        connect: makes for each run what brings values from process to process; None: all of them are here.
    """

    input_count: int
    grid: Grid | None = None
    host: HostQueues | None = None
    runs_on_grid: bool = False
    processes: Sequence[ProcessId] | None = None
    connect: Callable[[], Transport] | None = None

    @property
    def process_count(self) -> int:
        """How many processes run here."""
        if self.processes is not None:
            return len(self.processes)
        return 1 if self.grid is None else self.grid.size

    def runner(self, function: Function, plan: Plan) -> Callable[[Plan], Any] | None:
        """A function that makes the runner of a plan on a grid; None if the function needs no grid."""
        reads_ids = len(function.type.inputs) > self.input_count
        communicates = any(step.operation in COMMUNICATING for step in all_steps(plan))
        if not (self.runs_on_grid or reads_ids or communicates):
            return None
        from .grid.runner import GridRunner
        from .ops.collectives.process_grid import ONE_PROCESS

        grid = self.grid or ONE_PROCESS
        return lambda plan: GridRunner(
            plan, grid, reads_ids, self.host, processes=self.processes, connect=self.connect
        )


def _runner_of(
    function: Function,
    plan: Plan,
    options: Options,
    runner: Callable[[Plan], Any],
    placement: Placement | None,
) -> Any:
    """The runner of a function's plan, which verifies it if requested (`nimblehlo.verification`)."""
    on_grid = placement.runner(function, plan) if placement else None
    if verification.level() == "off":
        return (on_grid or runner)(plan)
    checks_steps = on_grid is None
    return verification.verified_runner(function, plan, options, on_grid or runner, checks_steps=checks_steps)


class Program:
    """A specialized function, lowered.

    Args:
        function: what `nimblehlo.specialize.specialize` returned.
        options: says which ways are open.
        choose: see `nimblehlo.plan.lower`.
        runner: makes what runs the plan.
        placement: the processes that run it; None: one alone, which communicates with nobody.
    """

    def __init__(
        self,
        function: Function,
        options: Options,
        choose: Choose = choose,
        runner: Callable[[Plan], Any] = Runner,
        placement: Placement | None = None,
    ) -> None:
        if options.linear_algebra == "library":
            from .ops.numerics.decompositions import use_library

            bodies = [part.body for part in (function, *function.callees) if part.body is not None]
            use_library(operation for body in bodies for operation in body.walk())
        self.function = function
        self.type = function.type
        self._plan = lower(function, options, choose)
        count, processes = len(self.type.inputs), 1
        if placement is not None:
            count, processes = placement.input_count, placement.process_count
        donated = range(count) if options.donate == "all" else options.donate
        self._donated_arguments = donated
        self.memory_of_values = memory_use(self._plan, donated, counts_scratch=False)
        self._types = function.type.results
        self._options = options
        self._has_call_state = any(needs_call_state(step.operation) for step in all_steps(self._plan))
        self._runner = _runner_of(function, self._plan, options, runner, placement)
        self._constants = memory_of(self._plan.constants.values())
        self._types *= processes
        self._donated = [count * process + index for process in range(processes) for index in donated]
        limits = (options.max_steps, options.timeout, options.max_bytes)
        self._new_limits: Callable[[], Limits] | None = (
            None if limits == (None, None, None) else functools.partial(Limits, *limits)
        )
        memory = self.memory_of_values
        needed = (memory.results + memory.temporaries) * processes
        is_large = needed + memory.arguments >= MIN_POOLED_BYTES
        self._handler = RECYCLING if is_large or POISON != "0" else None
        self._is_plain = not self._has_call_state and self._handler is None and options.max_bytes is None
        self._retention = Retention(needed, PHYSICAL_MEMORY_BYTES // 4) if self._handler else None
        self._wakes_threads = needed + memory.arguments >= MIN_WAKE_BYTES and options.threads != 1

    @functools.cached_property
    def memory(self) -> Memory:
        """The bytes that a call takes, those included that native loops use inside."""
        return memory_use(self._plan, self._donated_arguments)

    def run(self, arguments: tuple[Any, ...]) -> list[Any]:
        """The results, which belong to the caller, for arguments that fit."""
        if self._wakes_threads:
            wake_workers()
        return without_warnings(self._results if self._is_plain else self._run, arguments)

    def _run(self, arguments: tuple[Any, ...]) -> list[Any]:
        """Run with the state of a call, if it needs one."""
        if not self._has_call_state:
            return self._run_within_memory(arguments)
        with new_call(self._options):
            return self._run_within_memory(arguments)

    def _run_within_memory(self, arguments: tuple[Any, ...]) -> list[Any]:
        """Run with the memory that it may use."""
        handler = self._handler
        if self._options.max_bytes is not None:
            handler = limited(self._options.max_bytes)
        if handler is None:
            return self._results(arguments)
        return run_with(handler, self._results, arguments, self._retention)

    def _results(self, arguments: tuple[Any, ...]) -> list[Any]:
        limits = None if self._new_limits is None else self._new_limits()
        arguments_to_run = with_donations(arguments, self._donated) if self._donated else arguments
        run = self._runner.run
        return results_of(run, arguments_to_run, limits, self._types, arguments, self._constants)

    def direct_call(
        self,
        dtypes: tuple[DType | None, ...],
        shapes: tuple[tuple[int, ...] | None, ...],
        other: Callable[..., list[Any]] | None = None,
    ) -> DirectCall | None:
        """What calls it with the least overhead; None where a run needs more than its arguments.

        Args:
            dtypes, shapes: see `nimblehlo.boundary.fit_as_they_are`.
            other: is called with inputs that do not fit as they are.
        """
        has_limits = self._new_limits is not None or self._options.max_bytes is not None
        if self._donated or self._has_call_state or has_limits or ERRORS_IGNORED is None:
            return None
        return DirectCall(
            dtypes,
            shapes,
            self._runner.run,
            self._types,
            self._constants,
            ERRORS_IGNORED,
            wake_workers if self._wakes_threads else None,
            None if self._handler is None else (self._handler, self._retention),
            other,
        )

    def under(self, new_limits: Callable[[], Limits]) -> Program:
        """The program, whose runs are under the limits that `new_limits` makes, such as a `Timeline`."""
        program = copy(self)
        program._new_limits = new_limits
        return program

    @property
    def plan(self) -> Plan:
        """Its plan."""
        return self._plan

    def explain(self) -> str:
        """Its plan as text."""
        from .explanation import plan_text

        return plan_text(self._plan, self.memory)
