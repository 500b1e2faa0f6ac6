"""A plan as a coroutine, which runs until it has to wait, and is resumed when the awaited operation is
complete.

The executor runs the steps that do not communicate. This module runs communicating operations, and `while`,
`if` and `case` around them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from ...compiler.plan import Plan, Step
from ...compiler.plan.implementations.communication import Communication
from ...errors import (
    ExecutionError,
    NimbleError,
    UnsupportedError,
    counted,
    failure_reason,
    raised_by_signal_handler,
)
from ...kernels.launch.native import LaunchStopped
from ...program.ops.collectives.asynchronous import AsyncDone, AsyncStart
from ...program.ops.collectives.base import Collective, CommunicatingOp, zeros
from ...program.ops.collectives.channels import Infeed, Outfeed, Recv, Send
from ...program.ops.collectives.manual import ManualComputation
from ...program.ops.collectives.movement import CollectivePermute, PairwiseOperation
from ...program.ops.collectives.parallel import RunParallel
from ...program.ops.collectives.process_grid import Grid, ProcessGroup, ProcessId
from ...program.ops.framework.rules import check_actual_sizes, with_actual_shapes
from ...types import TOKEN_VALUE, TensorType
from ..executor import Runner
from .process import Process, Run, process_ids
from .transport import Pending, Values

Coroutine = Generator[Pending, None, list[Any]]
"""Yields the operations that it waits for; returns the values of the results."""


class ProcessProgram:
    """A plan that any number of processes run at the same time.

    Args:
        plan: the plan.

    Raises:
        UnsupportedError: an operation communicates in a region other than those of control flow.
    """

    def __init__(self, plan: Plan) -> None:
        self.runner = Runner(plan)
        self.argument_count = len(plan.arguments)
        self._segments: list[tuple[int, int, _Action | None]] = []
        first = 0
        for index, step in enumerate(plan.steps):
            if communicates(step):
                self._segments.append((first, index, _action(step)))
                first = index + 1
        self._segments.append((first, len(plan.steps), None))

    def run(self, arguments: list[Any], process: Process) -> Coroutine:
        """Run as a process; `arguments` is emptied."""
        frame = self.runner.new_frame(arguments)
        for first, last, action in self._segments:
            if first < last:
                self.runner.run_range(frame, first, last, process.limits)
            if action is not None:
                self.runner.count_step(last, process.limits)
                yield from action.store_results(frame, process)
        return self.runner.take_results(frame)

    def run_alone(self, arguments: list[Any]) -> list[Any]:
        """The results of a program that does not communicate."""
        return self.runner.run(arguments)


def _wait_for(pending: Pending) -> Generator[Pending, None, None]:
    """Yield until the values are there."""
    if not pending.is_complete:
        yield pending


def communicates(step: Step) -> bool:
    """Whether a step, or one in its regions, runs on a grid."""
    return isinstance(step.implementation, Communication) or any(
        communicates(inner) for plan in _plans(step) for inner in plan.steps
    )


def communications(plan: Plan) -> Iterator[CommunicatingOp]:
    """The operations of a plan that communicate, except for those in programs that it runs in parallel."""
    for step in plan.steps:
        view = step.implementation.view if isinstance(step.implementation, Communication) else None
        if view is not None:
            yield view
        runs_grid = isinstance(view, RunParallel) or (
            isinstance(view, ManualComputation) and not view.is_nested
        )
        if not runs_grid:
            for inner in _plans(step):
                yield from communications(inner)


def _plans(step: Step) -> list[Plan]:
    return [plan for _, plan in step.region_plans()]


class _Action:
    """A step that this coroutine runs instead of the executor."""

    def __init__(self, step: Step) -> None:
        self.step = step

    def store_results(self, frame: list[Any], process: Process) -> Generator[Pending, None, None]:
        """Run the step and store its results in the frame."""
        step = self.step
        try:
            values = yield from self.run(frame, process)
        except NimbleError:
            raise
        except Exception as error:
            if raised_by_signal_handler(error):
                raise
            if isinstance(error, LaunchStopped) and process.limits is not None:
                raise process.limits.late_in_running_step() from None
            raise ExecutionError(
                failure_reason(error), operation=step.operation, location=step.location
            ) from error
        for slot, value in zip(step.results, values, strict=True):
            frame[slot] = value
        for slot in step.releases:
            frame[slot] = None

    def run(self, frame: list[Any], process: Process) -> Coroutine:
        """The results of the step."""
        raise NotImplementedError

    def operands(self, frame: list[Any]) -> Values:
        return tuple([frame[slot] for slot in self.step.operands])

    def captures(self, frame: list[Any]) -> Values:
        """The values that the regions capture."""
        return tuple([frame[slot] for slot in self.step.captures])


class _While(_Action):
    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.cond, self.body = ProcessProgram(_plan(step, "cond")), ProcessProgram(_plan(step, "body"))

    def run(self, frame: list[Any], process: Process) -> Coroutine:
        carried, captures = list(self.operands(frame)), self.captures(frame)
        for slot in self.step.releases:
            frame[slot] = None
        while True:
            (holds,) = yield from self.cond.run([*carried, *captures], process)
            if not holds:
                return carried
            arguments = [*carried, *captures]
            carried.clear()
            carried = yield from self.body.run(arguments, process)


class _Branch(_Action):
    """`if` and `case`."""

    def __init__(self, step: Step) -> None:
        super().__init__(step)
        if step.control == "if":
            plans: Sequence[Plan] = [_plan(step, "true_branch"), _plan(step, "false_branch")]
        else:
            plans = _plans(step)
        self.branches = [ProcessProgram(plan) for plan in plans]

    def run(self, frame: list[Any], process: Process) -> Coroutine:
        (selector,) = self.operands(frame)
        if self.step.control == "if":
            selected = 0 if selector else 1
        else:
            index = int(selector)
            selected = index if 0 <= index < len(self.branches) else -1
        return (yield from self.branches[selected].run(list(self.captures(frame)), process))


class _Communication(_Action):
    view: CommunicatingOp

    def __init__(self, step: Step) -> None:
        super().__init__(step)
        assert isinstance(step.implementation, Communication)
        self.view = step.implementation.view
        types = [value.type for value in (*self.view.operation.operands, *self.view.operation.results)]
        self.is_static = all(type.is_static for type in types if isinstance(type, TensorType))

    def actual_view(self, operands: Values) -> Any:
        """The view with the operands' sizes.

        Raises:
            ExecutionError: a constraint does not hold for them.
        """
        if self.is_static:
            return self.view
        check_actual_sizes(self.view, *operands)
        return with_actual_shapes(self.view, operands)

    def failed(self, reason: str) -> ExecutionError:
        return ExecutionError(reason, operation=self.view.name, location=self.step.location)


class _CollectiveAction(_Communication):
    view: Collective

    def __init__(self, step: Step) -> None:
        super().__init__(step)
        for plan in _plans(step):
            for inner in filter(communicates, plan.steps):
                raise _unsupported_region_error(inner)
        self.regions = {name: Runner(plan) for name, plan in step.regions.items() if isinstance(plan, Plan)}
        self._groups: tuple[Grid, dict[ProcessId, ProcessGroup]] | None = None

    def run(self, frame: list[Any], process: Process) -> Coroutine:
        operands = self.operands(frame)
        view: Collective = self.actual_view(operands)
        group = self.group_of(process.id, process.grid)
        if group is None:
            return list(view.results_outside(process.id))
        captures, limits = self.captures(frame), process.limits
        regions: dict[str, Callable[..., Values]] = {
            name: lambda *arguments, runner=runner: tuple(runner.run([*arguments, *captures], limits))
            for name, runner in self.regions.items()
        }
        pending = process.transport.execute_together(process.id, group, view, operands, regions)
        yield from _wait_for(pending)
        return list(pending.values)

    def group_of(self, process: ProcessId, grid: Grid) -> ProcessGroup | None:
        if self._groups is None or self._groups[0] != grid:
            self._groups = grid, {member: group for group in self.view.groups(grid) for member in group}
        return self._groups[1].get(process)


class _PointToPointAction(_Communication):
    """Base of the actions that send values from source to target processes."""

    view: PairwiseOperation

    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self._routes: tuple[Grid, dict[ProcessId, ProcessId], dict[ProcessId, ProcessId]] | None = None

    def routes(self, grid: Grid) -> tuple[dict[ProcessId, ProcessId], dict[ProcessId, ProcessId]]:
        """The target of each source, and the source of each target."""
        if self._routes is None or self._routes[0] != grid:
            pairs = self.view.routes(grid)
            self._routes = grid, dict(pairs), {target: source for source, target in pairs}
        return self._routes[1:]

    def route(self, source: ProcessId, target: ProcessId) -> Hashable:
        """The route between two processes: those of a `send` and its `recv` are the same."""
        kind = "permute" if isinstance(self.view, CollectivePermute) else "channel"
        return kind, self.view.channel, source, target


class _Permute(_PointToPointAction):
    view: CollectivePermute

    def run(self, frame: list[Any], process: Process) -> Coroutine:
        operands = self.operands(frame)
        view = self.actual_view(operands)
        targets, sources = self.routes(process.grid)
        target, source = targets.get(process.id), sources.get(process.id)
        if target is not None:
            process.transport.send(self.route(process.id, target), process.id, view.operation, operands)
        if source is None:
            return [zeros(view.operand)]
        route = self.route(source, process.id)
        pending = process.transport.receive(route, view.operation, f"process {source}")
        yield from _wait_for(pending)
        return list(pending.values)


class _Send(_PointToPointAction):
    view: Send

    def run(self, frame: list[Any], process: Process) -> Coroutine:
        *values, _ = self.operands(frame)
        queue = process.host.send.get(self.view.channel) if self.view.is_host_transfer else None
        if queue is not None:
            queue.put(tuple(map(np.array, values)))
        elif self.view.is_host_transfer:
            process.transport.send(
                ("host", self.view.channel), process.id, self.view.operation, tuple(values)
            )
        else:
            target = self.routes(process.grid)[0].get(process.id)
            if target is not None:
                route = self.route(process.id, target)
                process.transport.send(route, process.id, self.view.operation, tuple(values))
        yield from ()
        return [TOKEN_VALUE]


class _Recv(_PointToPointAction):
    view: Recv

    def run(self, frame: list[Any], process: Process) -> Coroutine:
        operation, channel = self.view.operation, self.view.channel
        queue = process.host.recv.get(channel) if self.view.is_host_transfer else None
        if queue is not None:
            pending = process.from_host(queue, operation, f"the host on channel {channel}")
        elif self.view.is_host_transfer:
            pending = process.transport.receive(("host", channel), operation, f"a send on channel {channel}")
        else:
            source = self.routes(process.grid)[1].get(process.id)
            if source is None:
                return [*map(zeros, self.view.results[:-1]), TOKEN_VALUE]
            route = self.route(source, process.id)
            pending = process.transport.receive(route, operation, f"process {source} on channel {channel}")
        yield from _wait_for(pending)
        return [*_checked_values(self, pending.values), TOKEN_VALUE]


class _Infeed(_Communication):
    view: Infeed

    def run(self, frame: list[Any], process: Process) -> Coroutine:
        pending = process.infeed(self.view.operation)
        if pending is None:
            raise self.failed("no queue is given from which the infeed reads")
        yield from _wait_for(pending)
        return [*_checked_values(self, pending.values), TOKEN_VALUE]


class _Outfeed(_Communication):
    view: Outfeed

    def run(self, frame: list[Any], process: Process) -> Coroutine:
        *values, _ = self.operands(frame)
        if not process.outfeed(tuple(map(np.array, values))):
            raise self.failed("no queue is given to which the outfeed writes")
        yield from ()
        return [TOKEN_VALUE]


def _checked_values(action: _Infeed | _Recv, values: Values) -> Values:
    """Check that received values have the result types.

    Raises:
        ExecutionError: they are not.
    """
    types = action.view.results[:-1]
    if len(values) != len(types):
        raise action.failed(
            f"got {counted(len(values), 'value')}, but has {counted(len(types), 'result')} and a token"
        )
    for index, (value, type) in enumerate(zip(values, types, strict=True)):
        if value.dtype != type.dtype or not type.with_shape(value.shape).shape == _with_actual_sizes(
            type.shape, value.shape
        ):
            raise action.failed(f"got {value.dtype.name}{list(value.shape)}, but results[{index}] is {type}")
    return values


def _with_actual_sizes(declared: Sequence[int], actual: Sequence[int]) -> tuple[int, ...]:
    """The declared sizes, with the actual sizes of unknown ones."""
    if len(declared) != len(actual):
        return tuple(declared)
    sizes = zip(declared, actual, strict=True)
    return tuple([size if size >= 0 else actual_size for size, actual_size in sizes])


class AsyncOperation:
    """The value of a future: an operation in progress.

    Attributes:
        coroutine: what runs it; it has been started.
        pending: what it waits for; None once it has completed.
        results: the results, once it has completed.
    """

    def __init__(self, coroutine: Coroutine) -> None:
        self.coroutine = coroutine
        self.results: list[Any] = []
        self.pending: Pending | None = None
        self.resume()

    def resume(self) -> None:
        """Run until the operation waits again, or ends."""
        try:
            self.pending = next(self.coroutine)
        except StopIteration as end:
            self.pending, self.results = None, end.value


class _AsyncStart(_Communication):
    view: AsyncStart

    def __init__(self, step: Step) -> None:
        super().__init__(step)
        self.body = ProcessProgram(_plan(step, "body"))

    def run(self, frame: list[Any], process: Process) -> Coroutine:
        arguments = self.operands(frame) if self.view.body.block.arguments else ()
        yield from ()
        return [AsyncOperation(self.body.run([*arguments, *self.captures(frame)], process))]


class _AsyncDone(_Communication):
    def run(self, frame: list[Any], process: Process) -> Coroutine:
        (operation,) = self.operands(frame)
        while operation.pending is not None:
            yield from _wait_for(operation.pending)
            operation.resume()
        return list(operation.results)


class _RunParallel(_Communication):
    view: RunParallel

    def __init__(self, step: Step) -> None:
        super().__init__(step)
        plans = _plans(step)
        self.functions = dict(zip(self.view.symbols, map(ProcessProgram, plans), strict=True))
        grid = self.view.grid
        for name, plan in zip(self.view.symbols, plans, strict=True):
            if any(name in row for row in self.view.programs):
                check_grid(plan, grid)

    def run(self, frame: list[Any], process: Process) -> Coroutine:
        yield from ()
        inputs = iter(self.operands(frame))
        runs: list[Run] = []
        names = [name for row in self.view.programs for name in row]
        for id, name in zip(self.view.grid.processes, names, strict=True):
            program = self.functions[name]
            own = [next(inputs) for _ in range(program.argument_count - 2)]
            runs.append((id, program, own + process_ids(id)))
        infeed_values = deque([self._infeed_function(name) for name in self.view.infeed or ()])
        results = process.run_grid(self.view.grid, runs, infeed_values)
        return [value for of_process in results for value in of_process]

    def _infeed_function(self, name: str) -> Callable[[], list[Any]]:
        """The function that gives the infeed its values."""
        return lambda: self.functions[name].run_alone(process_ids(ProcessId(0, 0)))


class _Manual(_Communication):
    view: ManualComputation

    def __init__(self, step: Step) -> None:
        super().__init__(step)
        plan = _plan(step, "body")
        self.body = ProcessProgram(plan)
        if not self.view.is_nested:
            check_grid(plan, self.view.grid)

    def run(self, frame: list[Any], process: Process) -> Coroutine:
        view = self.view
        tensors, captures = self.operands(frame), self.captures(frame)
        if view.is_nested:
            return (yield from self._run_nested(tensors, captures, process))

        def runs() -> Iterator[Run]:
            # One at a time: the scheduler looks at the memory and the time that are left before each.
            for device in view.devices:
                shards = view.shards_of(device, tensors)
                yield device, self.body, [*shards, *process_ids(device), *captures]

        results = process.run_grid(view.grid, runs())
        shards_of = dict(zip(view.devices, results, strict=True))
        first = view.group_of(next(iter(view.devices)))
        return list(view.joined({device: shards_of[device] for device in first}))

    def _run_nested(self, tensors: Values, captures: Values, process: Process) -> Coroutine:
        """Run as a device of the computation around this one."""
        view = self.view
        shards = view.shards_of(process.id, tensors)
        results = yield from self.body.run([*shards, *captures], process)
        if view.are_replicated():
            return results
        group = view.group_of(process.id)
        pending = process.transport.execute_together(process.id, group, view, tuple(results), {})
        yield from _wait_for(pending)
        return list(pending.values)


def check_grid(plan: Plan, grid: Grid) -> None:
    """Check those constraints of the communicating operations that depend on the grid.

    Raises:
        VerifyError: one does not hold.
    """
    for view in communications(plan):
        if isinstance(view, Collective) and view.replica_groups.rows is None:
            raise view.verify_error("replica_groups names a mesh that is not known")
        view.check_grid(grid)


_ACTIONS: dict[type, type[_Communication]] = {
    AsyncDone: _AsyncDone,
    AsyncStart: _AsyncStart,
    CollectivePermute: _Permute,
    Infeed: _Infeed,
    Outfeed: _Outfeed,
    Recv: _Recv,
    ManualComputation: _Manual,
    RunParallel: _RunParallel,
    Send: _Send,
}


def _action(step: Step) -> _Action:
    """The action that runs a communicating step."""
    if isinstance(step.implementation, Communication):
        view = step.implementation.view
        return _ACTIONS.get(type(view), _CollectiveAction)(step)
    if step.control == "while":
        return _While(step)
    if step.control in ("if", "case"):
        return _Branch(step)
    raise _unsupported_region_error(step)


def _unsupported_region_error(step: Step) -> UnsupportedError:
    """The error for an operation that communicates in a region that computes elements."""
    return UnsupportedError(
        "communicates in a region that is not part of control flow",
        operation=step.operation,
        location=step.location,
    )


def _plan(step: Step, name: str) -> Plan:
    """The plan of a step's region."""
    plan = step.regions[name]
    assert isinstance(plan, Plan)
    return plan
