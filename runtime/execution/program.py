"""A specialized function with its plan and runner; an Executable has one for each set of argument types."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from ..compiler.plan import Choose, MemoryEstimate, Plan, all_steps, choose, lower, memory_use
from ..kernels.launch.native import wake_workers
from ..kernels.launch.poison import POISON
from ..options import Options
from ..program.ir import Function, Operation
from ..program.ir.record import Record
from ..program.ops.framework.call_state import needs_call_state, new_call
from ..program.ops.framework.declaration import Op, lookup
from ..program.ops.framework.memory_limit import usable_bytes
from ..program.ops.framework.op_registry import COMMUNICATING
from ..types import TensorType, TupleType, Type
from . import verification
from .boundary import ProgramCall, base_addresses
from .executor import Limits, Runner
from .memory import MIN_POOLED_BYTES, RECYCLING, Retention

if TYPE_CHECKING:
    from ..compiler.explanation import WhyNotFused
    from ..compiler.plan.implementations.native_loops import DecidedLoop
    from ..program.ops.collectives.process_grid import Grid, ProcessId
    from .grid.host import HostQueues
    from .grid.transport import LocalTransport

MIN_WAKE_BYTES = 1 << 21
"""Bytes of a program's values from which a call wakes worker threads at once: waking takes 30 us."""


MAX_UNGUARDED_ELEMENTS = 1 << 13
"""Maximum elements of a value for which the native code of any operation takes less than about a second: a
convolution of all by all takes n^2 operations, and a decomposition 25 n^1.5 at most."""


class Placement(Record):
    """The processes on which a program runs.

    Attributes:
        input_count: how many inputs a process takes.
        grid: the processes; None: one.
        host: the host's queues.
        runs_on_grid: whether it runs on the grid even if it does not communicate.
        processes: those that run here; None: all.
        connect: creates the transport of values between processes for each run; None: all processes run here.
    """

    input_count: int
    grid: Grid | None = None
    host: HostQueues | None = None
    runs_on_grid: bool = False
    processes: Sequence[ProcessId] | None = None
    connect: Callable[[], LocalTransport] | None = None

    @property
    def process_count(self) -> int:
        """The number of processes of this rank."""
        if self.processes is not None:
            return len(self.processes)
        return 1 if self.grid is None else self.grid.size

    def runner(self, function: Function, plan: Plan) -> Callable[[Plan], Any] | None:
        """A function that creates the runner of a plan on a grid; None if the function needs no grid."""
        reads_ids = len(function.type.inputs) > self.input_count
        communicates = any(step.operation in COMMUNICATING for step in all_steps(plan))
        if not (self.runs_on_grid or reads_ids or communicates):
            return None
        from ..program.ops.collectives.process_grid import ONE_PROCESS
        from .grid.runner import GridRunner

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
    """The runner of a function's plan, which verifies it if requested
    (`nimblehlo.execution.verification`).
    """
    on_grid = placement.runner(function, plan) if placement else None
    if verification.level() == "off":
        return (on_grid or runner)(plan)
    checks_steps = on_grid is None
    return verification.verified_runner(function, plan, options, on_grid or runner, checks_steps=checks_steps)


def _max_retained_bytes() -> int:
    """Maximum bytes of idle memory that a program keeps for its next run: a quarter of what it may have."""
    return usable_bytes() // 4


def _may_be_abandoned(function: Function, plan: Plan, placement: Placement | None) -> bool:
    """Whether a call with a time limit runs on a thread that can be abandoned (`timed_calls`): its native
    functions may be long or are compiled by the call, and no communication between ranks needs this thread.
    """
    if placement is not None and placement.connect is not None:
        return False
    if any(step.implementation.compiles_when_called for step in all_steps(plan)):
        return True
    operations = _operations(function)
    values = (value for operation in operations for value in (*operation.operands, *operation.results))
    if any(_element_count(value.type) > MAX_UNGUARDED_ELEMENTS for value in values):
        return True
    return _uncounted_elements(function) > MAX_UNGUARDED_ELEMENTS


def _element_count(type: Type) -> float:
    """The elements of a value; infinite where its sizes are unknown."""
    if isinstance(type, TupleType):
        return sum(map(_element_count, type.types))
    return type.size if isinstance(type, TensorType) else 0


def _uncounted_elements(function: Function) -> float:
    """About how many elements a run handles that the sizes of its values do not tell; infinite where these
    are unknown.
    """
    elements = 0.0
    for operation in _operations(function):
        types = [value.type for value in operation.results]
        if any(isinstance(type, TensorType) and not type.is_static for type in types):
            return math.inf
        declaration = lookup(operation.name)
        if declaration is not None and declaration.scratch_elements is not Op.scratch_elements:
            elements = max(elements, declaration(operation).scratch_elements())
    return elements


def _operations(function: Function) -> Iterator[Operation]:
    """All operations of a function and of those that it calls."""
    bodies = [item.body for item in (function, *function.callees) if item.body is not None]
    return (operation for body in bodies for operation in body.walk())


class Program:
    """A specialized function, lowered.

    Args:
        function: what `nimblehlo.compiler.specialize.specialize` returned.
        options: those of the Executable.
        choose: see `nimblehlo.compiler.plan.lower`.
        runner: creates the runner of the plan.
        placement: the processes that run it; None: one process, which does not communicate.
        native_loops: see `nimblehlo.compiler.plan.lower`.

    Attributes:
        call: its call with arguments that fit.
    """

    def __init__(
        self,
        function: Function,
        options: Options,
        choose: Choose = choose,
        runner: Callable[[Plan], Any] = Runner,
        placement: Placement | None = None,
        native_loops: Mapping[Operation, DecidedLoop] | None = None,
    ) -> None:
        if options.linear_algebra == "library":
            from ..program.ops.numerics.decompositions import use_library

            use_library(_operations(function))
        self.function = function
        self.type = function.type
        self.plan = lower(function, options, choose, native_loops)
        count, processes = len(self.type.inputs), 1
        if placement is not None:
            count, processes = placement.input_count, placement.process_count
        donated = range(count) if options.donate == "all" else options.donate
        self._donated_arguments = donated
        self.memory_of_values = memory_use(self.plan, donated, counts_scratch=False)
        limits = (options.max_steps, options.timeout, options.max_bytes)
        has_call_state = any(needs_call_state(step.operation) for step in all_steps(self.plan))
        memory = self.memory_of_values
        needed = (memory.results + memory.temporaries) * processes
        all_bytes = needed + memory.arguments
        is_small = all_bytes < MIN_POOLED_BYTES and 8 * _uncounted_elements(function) < MIN_POOLED_BYTES
        handler = None if is_small and POISON == "0" else RECYCLING
        self.call = ProgramCall(
            _runner_of(function, self.plan, options, runner, placement),
            self.type.results * processes,
            base_addresses(self.plan.constants.values()),
            donated=[count * process + index for process in range(processes) for index in donated],
            wake=wake_workers if all_bytes >= MIN_WAKE_BYTES and options.threads != 1 else None,
            handler=handler,
            retention=Retention(needed, _max_retained_bytes()) if handler else None,
            max_bytes=options.max_bytes,
            needed_bytes=needed - memory.aliased * processes,
            new_state=functools.partial(new_call, options) if has_call_state else None,
            new_limits=None if limits == (None, None, None) else functools.partial(Limits, *limits),
            may_be_abandoned=options.timeout is not None
            and _may_be_abandoned(function, self.plan, placement),
        )

    @functools.cached_property
    def memory(self) -> MemoryEstimate:
        """The bytes that a call takes, including the workspaces of native code."""
        return memory_use(self.plan, self._donated_arguments)

    def run(self, arguments: tuple[Any, ...]) -> list[Any]:
        """The results, which belong to the caller, for arguments that fit."""
        return self.call.run(arguments)

    def with_limits(self, new_limits: Callable[[], Limits]) -> Program:
        """A copy of the program whose runs have the limits that `new_limits` creates, such as a `Timeline`.
        """
        program = copy(self)
        program.call = self.call.with_limits(new_limits)
        return program

    def explain(self, why: WhyNotFused) -> str:
        """Its plan as text, with the reasons why steps are not one."""
        from ..compiler.explanation import plan_text

        return plan_text(self.plan, self.memory, why)
