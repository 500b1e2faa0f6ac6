"""Estimates the memory that a run of a plan takes, from the types of its values, in all and step by step."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from ...program.ir.record import IdentityRecord, Record
from ...program.ops.framework.traits import Memory
from ...types import Array
from .plan import Plan, Step, all_steps


class MemoryEstimate(Record):
    """The estimated bytes that a call uses.

    Sizes that depend on data do not count, nor does the scratch memory of kernels. The workspaces of native
    loops, which hold the arrays of an iteration, and of groups of small steps count unless the estimate is
    one of values only.

    A call holds the sum of arguments, results and temporaries, less aliased, at its peak. As in XLA's buffer
    assignment, an array that is released before a result is allocated takes no memory beyond the result's.

    Attributes:
        arguments: of the inputs.
        results: of the results.
        temporaries: of all values but arguments and constants, at their peak, less the results.
        constants: of the program's constants.
        aliased: of the results that share the memory of inputs which a call may consume.
    """

    arguments: int = 0
    results: int = 0
    temporaries: int = 0
    constants: int = 0
    aliased: int = 0

    def figures(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in type(self)._fields}

    def maximum(self, other: MemoryEstimate) -> MemoryEstimate:
        """The larger figure of each kind."""
        return MemoryEstimate(*map(max, self.figures().values(), other.figures().values()))


class Allocation(Record):
    """Memory that a run allocates for a value.

    Attributes:
        slot: the slot of the value; results that overwrite or alias it have other slots.
        bytes: its size.
        first, last: numbers of the first and the last step during which it is alive; the last one is the
            number of steps if the run returns it.
    """

    slot: int
    bytes: int
    first: int
    last: int


class MemoryTimeline(IdentityRecord):
    """The live memory of a run of a plan, step by step, beyond its arguments and constants.

    Attributes:
        peaks: for each step the most bytes that are alive during it, with those in its regions and its
            scratch memory.
        bases: for each step the bytes that are alive outside of it while its regions run.
        allocations: in the order in which they end.
        regions: the timelines of the plans of regions, by `id` of the plan.
    """

    peaks: Sequence[int]
    bases: Sequence[int]
    allocations: Sequence[Allocation]
    regions: Mapping[int, MemoryTimeline]


def memory_timeline(plan: Plan, donated: Collection[int] = ()) -> MemoryTimeline:
    """The live memory of a run of a function's plan after each of its steps.

    The peak may be less than that of `memory_use`, which also counts results that are copied at the end.

    Args:
        plan, donated: see `memory_use`.
    """
    arguments = [_Buffer(0, is_owned=index in donated) for index in range(len(plan.arguments))]
    return _LivenessSimulation(plan, arguments, counts_scratch=True).timeline()


def memory_use(plan: Plan, donated: Collection[int] = (), counts_scratch: bool = True) -> MemoryEstimate:
    """Estimate the memory that a run of a function's plan uses.

    Args:
        plan: the plan of a function.
        donated: numbers of the arguments that a run may consume.
        counts_scratch: whether to count the workspaces of each native `while` and each group of small steps,
            which generates their code; otherwise only the values of the plan count.
    """
    arguments = [_Buffer(0, is_owned=index in donated) for index in range(len(plan.arguments))]
    run = _LivenessSimulation(plan, arguments, counts_scratch)
    constants = {
        id(value): _held_bytes(value)
        for subplan in _all_plans(plan)
        for value in subplan.constants.values()
        if isinstance(value, np.ndarray)
    }
    aliased = run.bytes_of_results_in({arguments[index] for index in donated})
    return MemoryEstimate(
        arguments=sum(plan.slot_bytes[slot] for slot in plan.arguments),
        results=sum(plan.slot_bytes[slot] for slot in plan.results),
        temporaries=run.bytes_beyond_results(aliased),
        constants=sum(constants.values()),
        aliased=aliased,
    )


def _held_bytes(array: Array) -> int:
    """The memory behind an array; broadcast elements count once."""
    sizes = [size for size, stride in zip(array.shape, array.strides, strict=True) if stride]
    return math.prod(sizes) * array.itemsize if array.size else 0


def _all_plans(plan: Plan) -> Iterator[Plan]:
    yield plan
    for step in all_steps(plan):
        for _, subplan in step.region_plans():
            yield subplan


class _Buffer:
    """Memory, the slot that it was allocated for, and the number of slots that refer to it."""

    __slots__ = ("bytes", "is_owned", "slot", "slots")

    def __init__(self, bytes: int, is_owned: bool = True, slot: int = -1) -> None:
        self.bytes = bytes
        self.is_owned = is_owned
        self.slot = slot
        self.slots = 0


class _LivenessSimulation:
    """Simulates a run of a plan: which buffers are alive after each step.

    Args:
        plan: what is run.
        arguments: the buffers of its arguments, which exist from the start.
        counts_scratch: whether to count the memory that steps use inside.
    """

    def __init__(self, plan: Plan, arguments: Sequence[_Buffer], counts_scratch: bool) -> None:
        self.plan, self.counts_scratch = plan, counts_scratch
        self.buffers: dict[int, _Buffer] = {}
        self.strided: set[int] = set()
        self.events: list[tuple[int, _Buffer | None]] = []
        self.step_ends: list[int] = []
        self.region_runs: dict[int, _LivenessSimulation] = {}
        for slot, buffer in zip(plan.arguments, arguments, strict=True):
            self._bind(slot, buffer)
        for slot in plan.constants:
            self._bind(slot, _Buffer(0, is_owned=False))
        self._release_unused()
        for step in plan.steps:
            self._run_step(step)
            self.step_ends.append(len(self.events))

    def timeline(self) -> MemoryTimeline:
        """The live memory during each step."""
        live_bytes = start = 0
        peaks, bases, allocations = [], [], []
        first_steps: dict[_Buffer, int] = {}
        for number, end in enumerate(self.step_ends):
            peak_bytes, base = live_bytes, None
            for bytes, buffer in self.events[start:end]:
                if buffer is None:
                    base = live_bytes if base is None else base
                    peak_bytes = max(peak_bytes, live_bytes + bytes)
                    continue
                live_bytes += bytes
                peak_bytes = max(peak_bytes, live_bytes)
                if bytes > 0:
                    first_steps[buffer] = number
                elif buffer in first_steps:
                    first = first_steps.pop(buffer)
                    allocations.append(Allocation(buffer.slot, buffer.bytes, first, number))
            peaks.append(peak_bytes)
            bases.append(live_bytes if base is None else base)
            start = end
        returned = len(self.step_ends)
        for buffer, first in first_steps.items():
            allocations.append(Allocation(buffer.slot, buffer.bytes, first, returned))
        regions = {plan: run.timeline() for plan, run in self.region_runs.items()}
        return MemoryTimeline(peaks, bases, allocations, regions)

    def peak(self) -> int:
        """The most bytes at the same time beyond those at the start."""
        live_bytes = peak_bytes = 0
        for bytes, buffer in self.events:
            if buffer is None:
                peak_bytes = max(peak_bytes, live_bytes + bytes)
            else:
                live_bytes += bytes
                peak_bytes = max(peak_bytes, live_bytes)
        return peak_bytes

    def bytes_beyond_results(self, aliased: int = 0) -> int:
        """The bytes that a run holds at its peak beyond its results; copies of results count at its end.

        Args:
            aliased: bytes of the results that share the memory of arguments.
        """
        self.events.append((self._copied_bytes(), None))
        result_bytes = sum(self.plan.slot_bytes[slot] for slot in self.plan.results)
        return max(0, self.peak() - (result_bytes - aliased))

    def _copied_bytes(self) -> int:
        """Bytes of the results that are copied at the end, as something else refers to their memory."""
        arguments = {self.buffers[slot] for slot in self.plan.arguments}
        copied_bytes = 0
        handed_over: set[_Buffer] = set()
        for slot in self.plan.results:
            buffer, size = self.buffers[slot], self.plan.slot_bytes[slot]
            has_its_size = buffer.bytes == size or buffer in arguments
            is_returnable = buffer.is_owned and has_its_size and slot not in self.strided
            if is_returnable and buffer not in handed_over:
                handed_over.add(buffer)
            else:
                copied_bytes += size
        return copied_bytes

    def bytes_of_results_in(self, buffers: Collection[_Buffer]) -> int:
        """The bytes of the results in the given buffers, one result in each."""
        slots = {
            self.buffers[slot]: slot
            for slot in self.plan.results
            if slot not in self.strided and self.buffers[slot] in buffers
        }
        return sum(self.plan.slot_bytes[slot] for slot in slots.values())

    def _release_unused(self) -> None:
        """Release the arguments that the plan does not use: a run does not keep them."""
        used = {*self.plan.results}
        for step in self.plan.steps:
            used.update(step.operands, step.captures)
        for slot in {*self.plan.arguments} - used:
            self._release(slot)

    def _bind(self, slot: int, buffer: _Buffer) -> None:
        self.buffers[slot] = buffer
        buffer.slots += 1

    def _allocate(self, slot: int, bytes: int | None = None) -> None:
        buffer = _Buffer(self.plan.slot_bytes[slot] if bytes is None else bytes, slot=slot)
        self._bind(slot, buffer)
        self.events.append((buffer.bytes, buffer))

    def _run_step(self, step: Step) -> None:
        released = frozenset[int]()
        if step.control == "while":
            self._run_while(step)
        elif step.control is None:
            self._run_call(step)
        else:
            released = self._run_branch(step)
        if self.counts_scratch:
            self.events.append((step.implementation.scratch_bytes, None))
        for slot in step.releases:
            if slot not in released:
                self._release(slot)

    def _run_call(self, step: Step) -> None:
        for index, slot in enumerate(step.results):
            source = self._source(step, index)
            if source is None:
                self._allocate(slot)
            else:
                self._bind(slot, self.buffers[source])

    def _run_branch(self, step: Step) -> frozenset[int]:
        """Count an `if` or `case`, whose branches consume the captured values that no later step uses.

        Returns:
            The slots of the consumed values, whose memory the branches release or return.
        """
        (branches,) = [list(step.regions.values())] if step.control == "if" else step.regions.values()
        consumed = frozenset(
            slot for slot in step.captures if slot in step.releases and self._is_uniquely_referenced(slot)
        )
        result_bytes = [self.plan.slot_bytes[slot] for slot in step.results]
        for branch in branches if isinstance(branches, Sequence) else [branches]:
            assert isinstance(branch, Plan)
            captured = [
                _Buffer(self.buffers[slot].bytes) if slot in consumed else _Buffer(0, is_owned=False)
                for slot in step.captures
            ]
            run = self._inner_run(branch, captured)
            self.events.append((run.peak(), None))
            # A view keeps all of its buffer alive.
            in_branch = [run.buffers[slot].bytes for slot in branch.results]
            result_bytes = list(map(max, result_bytes, in_branch))
            self.strided.update(
                slot for slot, inner in zip(step.results, branch.results, strict=True) if inner in run.strided
            )
        for slot in consumed:
            self._release(slot)
        for slot, bytes in zip(step.results, result_bytes, strict=True):
            self._allocate(slot, bytes)
        return consumed

    def _run_while(self, step: Step) -> None:
        """Count a `while`, whose carried values are in the memory of its results."""
        cond, body = step.regions["cond"], step.regions["body"]
        assert isinstance(cond, Plan)
        assert isinstance(body, Plan)
        captured = [_Buffer(0, is_owned=False) for _ in step.captures]
        carried = []
        for index, slot in enumerate(step.results):
            if body.results[index] == body.arguments[index]:
                self._bind(slot, self.buffers[step.operands[index]])
                carried.append(_Buffer(0, is_owned=False))
            else:
                self._bind_loop_result(step, index, slot)
                carried.append(_Buffer(self.plan.slot_bytes[slot]))
        tested = [_Buffer(0, is_owned=False) for _ in cond.arguments]
        self.events.append((self._inner_run(cond, tested).peak(), None))
        self.events.append((self._inner_run(body, [*carried, *captured]).peak(), None))

    def _inner_run(self, plan: Plan, arguments: Sequence[_Buffer]) -> _LivenessSimulation:
        """The simulation of a region's plan."""
        run = self.region_runs[id(plan)] = _LivenessSimulation(plan, arguments, self.counts_scratch)
        return run

    def _bind_loop_result(self, step: Step, index: int, slot: int) -> None:
        """The loop takes over an initial value that no later step uses, and copies any other."""
        operand = step.operands[index]
        is_released = operand in step.releases and self._is_uniquely_referenced(operand)
        if is_released and operand not in self.strided:
            self._bind(slot, self.buffers[operand])
        else:
            self._allocate(slot)

    def _source(self, step: Step, index: int) -> int | None:
        """The operand whose memory a result shares; None if the result has its own."""
        result = step.results[index]
        memory = step.memory
        if memory.keeps_order and index < len(step.operands):
            operand = step.operands[index]
            is_copied = memory is Memory.FLAT_VIEW and operand in self.strided
            return None if is_copied else operand
        if memory is Memory.STRIDED_VIEW:
            self.strided.add(result)
            return step.operands[0]
        for operand_index, result_index in step.overwrites:
            operand = step.operands[operand_index]
            if result_index == index and operand in step.releases and self._is_uniquely_referenced(operand):
                return operand
        return None

    def _is_uniquely_referenced(self, slot: int) -> bool:
        """Whether no other slot and no caller refers to the memory of a slot's value."""
        buffer = self.buffers[slot]
        return buffer.is_owned and buffer.slots == 1

    def _release(self, slot: int) -> None:
        buffer = self.buffers[slot]
        buffer.slots -= 1
        if not buffer.slots and buffer.is_owned:
            self.events.append((-buffer.bytes, buffer))
