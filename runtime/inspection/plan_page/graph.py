"""A plan as a graph: its steps with those of their regions, what each reads, and what it was fused from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from ...compiler.plan import Allocation, MemoryTimeline, Plan, Step
from ...compiler.specialize.framework.operation_classes import is_control_flow
from ...program.ir import Function, Operation, Region
from ...program.ir.record import IdentityRecord, Record
from ...program.ops.control.control import Call
from ...program.ops.framework.declaration import declaration_of
from .program_lines import ProgramLines


class InnerOperation(Record):
    """An operation that a step computes together with others.

    Attributes:
        operation: its name.
        results: the types of its results.
        location: its source location.
        lines: those of the program's text.
        inputs: the numbers of the operations inside the same step whose results it reads.
    """

    operation: str
    results: Sequence[str]
    location: str
    lines: Sequence[int]
    inputs: Sequence[int]


class PlanStep(IdentityRecord):
    """A step as a node.

    Attributes:
        path: which step it is, as profiles name it: ``"3"``, or ``"2.body.5"`` in the region of a step.
        parent: the number of the step in whose region it is; -1: none.
        operation: its operation; ``nimblehlo.`` begins the names of fusions.
        operands, results: their types.
        inputs: for each operand the number of the step that computes it, -1 - k for argument k of its plan,
            or None for a constant.
        implementation, reason: how it runs, and why.
        location: the operation's source location.
        lines: those of the program's text, for a fusion those of its operations too.
        inner: the operations, other than constants, that were fused or absorbed, or that a body consists of,
            in their order.
    """

    path: str
    parent: int
    operation: str
    operands: Sequence[str]
    results: Sequence[str]
    inputs: Sequence[int | None]
    implementation: str
    reason: str
    location: str
    lines: Sequence[int]
    inner: Sequence[InnerOperation]


class PlanGraph(IdentityRecord):
    """A plan whose steps are numbered in the order in which they run, a step before those of its regions.

    Attributes:
        steps: its nodes.
        peaks: for each step the most bytes alive during it, beyond the arguments and constants.
        allocations: memory by the numbers of steps: `slot` is the step that allocates it, `first` and `last`
            are the first and last step during which it is alive.
        results: for each result of the plan what computes it, as `PlanStep.inputs` states it.
    """

    steps: Sequence[PlanStep]
    peaks: Sequence[int]
    allocations: Sequence[Allocation]
    results: Sequence[int | None]


def plan_graph(function: Function, plan: Plan, timeline: MemoryTimeline, lines: ProgramLines) -> PlanGraph:
    """The graph of a plan.

    Args:
        function: the function from which the plan was lowered.
        plan: its plan.
        timeline: the live memory of a run (`nimblehlo.compiler.plan.memory_timeline`).
        lines: the program as it was given.
    """
    builder = _Builder(lines, {callee.name: callee for callee in function.callees})
    assert function.body is not None
    producers = builder.add_plan(plan, function.body, timeline, "", -1, 0)
    results = [producers.get(slot) for slot in plan.results]
    return PlanGraph(builder.steps, builder.peaks, builder.allocations, results)


class _Builder:
    """Numbers the steps of a plan and of the plans of its regions."""

    def __init__(self, lines: ProgramLines, callees: Mapping[str, Function]) -> None:
        self.lines, self.callees = lines, callees
        self.steps: list[PlanStep] = []
        self.peaks: list[int] = []
        self.allocations: list[Allocation] = []

    def add_plan(
        self,
        plan: Plan,
        region: Region | None,
        timeline: MemoryTimeline | None,
        prefix: str,
        parent: int,
        base: int,
    ) -> Mapping[int, int]:
        """Add the steps of a plan.

        Args:
            plan: of a function or a region.
            region: from which it was lowered, if that is known.
            timeline: its live memory; None where it runs within native code.
            prefix: of the paths of its steps.
            parent: the number of the step whose region it is.
            base: bytes that are alive outside of it.

        Returns:
            What computes the value of each slot, as `PlanStep.inputs` states it; constants are left out.
        """
        producers: dict[int, int] = {slot: -1 - index for index, slot in enumerate(plan.arguments)}
        first_numbers: list[int] = []
        operations = self.operations_of(plan, region)
        for index, step in enumerate(plan.steps):
            number = len(self.steps)
            first_numbers.append(number)
            operation = operations[index]
            path = f"{prefix}{index}"
            self.steps.append(self.new_step(step, operation, path, parent, producers))
            self.peaks.append(base + (timeline.peaks[index] if timeline is not None else 0))
            producers.update(dict.fromkeys(step.results, number))
            self.add_regions(step, operation, timeline, index, base)
        if timeline is not None:
            self.add_allocations(timeline, producers, [*first_numbers, len(self.steps)])
        return producers

    def add_regions(
        self, step: Step, operation: Operation | None, timeline: MemoryTimeline | None, index: int, base: int
    ) -> None:
        """Add the steps in the regions of the step that was added last."""
        number = len(self.steps) - 1
        path = self.steps[number].path
        regions = [*operation.regions] if operation is not None else []
        for position, (name, plan) in enumerate(step.region_plans()):
            inner = timeline.regions.get(id(plan)) if timeline is not None else None
            inner_base = base + (timeline.bases[index] if timeline is not None else 0)
            region = regions[position] if position < len(regions) else None
            self.add_plan(plan, region, inner, f"{path}.{name}.", number, inner_base)

    def add_allocations(
        self, timeline: MemoryTimeline, producers: Mapping[int, int], first_numbers: Sequence[int]
    ) -> None:
        """Add the allocations of a plan, whose step i and its regions begin at `first_numbers[i]`."""
        end = first_numbers[-1] - 1
        for one in timeline.allocations:
            last = first_numbers[one.last + 1] - 1 if one.last + 1 < len(first_numbers) else end
            first = first_numbers[one.first]
            self.allocations.append(Allocation(producers.get(one.slot, first), one.bytes, first, last))

    def new_step(
        self,
        step: Step,
        operation: Operation | None,
        path: str,
        parent: int,
        producers: Mapping[int, int],
    ) -> PlanStep:
        """The node of a step."""
        inner = self.inner_operations(step, operation)
        own = self.lines.lines_of(step.location, step.operation)
        regions = [] if operation is None or is_control_flow(operation) or inner else operation.regions
        of_steps = [self.lines.lines_of(one.location, one.name) for each in regions for one in each.walk()]
        lines = dict.fromkeys([*own, *chain.from_iterable([one.lines for one in inner]), *chain(*of_steps)])
        operands, results = step.types
        return PlanStep(
            path,
            parent,
            step.operation,
            self.type_texts(operands),
            self.type_texts(results),
            [producers.get(slot) for slot in (*step.operands, *step.captures)],
            str(step.implementation.kind),
            step.implementation.reason,
            self.lines.location_text(step.location),
            list(lines),
            inner,
        )

    def inner_operations(self, step: Step, operation: Operation | None) -> Sequence[InnerOperation]:
        """What a step computes in addition to what its regions' steps do."""
        absorbed = step.implementation.absorbed
        bodies = [] if operation is None or step.regions else operation.regions
        inside = [one for region in bodies for one in region.walk()]
        operations = [*absorbed, *inside] if inside or not absorbed else [*absorbed, operation]
        shown = [
            one
            for one in operations
            if one is not None and not one.is_constant and not declaration_of(one).is_terminator
        ]
        numbers = {result: number for number, one in enumerate(shown) for result in one.results}
        return [
            InnerOperation(
                one.name,
                self.type_texts([result.type for result in one.results]),
                self.lines.location_text(one.location),
                self.lines.lines_of(one.location, one.name),
                [numbers[operand] for operand in one.operands if operand in numbers],
            )
            for one in shown
        ]

    def type_texts(self, types: Sequence[object]) -> Sequence[str]:
        """Types as text."""
        return [str(type) for type in types]

    def operations_of(self, plan: Plan, region: Region | None) -> Sequence[Operation | None]:
        """The operation of each step; None where the region has none of its name and location.

        Steps are lowered in the order of their operations, constants and absorbed operations aside.
        """
        if region is None:
            return [None] * len(plan.steps)
        executed = list(self.executed_operations(region))
        position = 0
        operations: list[Operation | None] = []
        for step in plan.steps:
            found = next(
                (i for i in range(position, len(executed)) if _is_lowered_to(executed[i], step)), None
            )
            operations.append(None if found is None else executed[found])
            position = position if found is None else found + 1
        return operations

    def executed_operations(self, region: Region) -> Iterator[Operation]:
        """The operations of a region's block, with those of callees in place of calls."""
        for operation in region.block.operations:
            if operation.name != Call.name:
                yield operation
                continue
            body = self.callees[str(operation.attributes["callee"])].body
            assert body is not None
            yield from self.executed_operations(body)


def _is_lowered_to(operation: Operation, step: Step) -> bool:
    return operation.location is step.location and operation.name == step.operation
