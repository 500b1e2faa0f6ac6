"""Checks at run time that steps return what their types say, and change, share and overwrite no more memory
than they declare.

The checks wrap the functions of the steps, so that the executor decides as usual which memory a step may
overwrite. A checksum of each value is taken when it is written, or first read, and compared at each later
use, so that any change in between is found.
"""

from __future__ import annotations

import copy
import functools
import threading
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...compiler.plan import Plan, Prepared, Step
from ...compiler.plan.buffer_uses import BufferUses, buffer_uses
from ...errors import ExecutionError
from ...types import Array, TupleValue, Type
from ..executor import Limits
from .declared_types import layout_violation, type_violation

MAX_BYTES: Final = 1 << 22
"""The checksum of a larger array covers this many bytes, half from its beginning and half from its end."""
FLAT_DIMENSIONS: Final = 32
"""Maximum number of dimensions that NumPy's iterator `flat`, which copies only what is sliced, serves."""


class InvalidStep(AssertionError):
    """A step returned another type than declared, or changed, shared or overwrote memory that it does not
    declare; a defect of its implementation.
    """


class CheckedRunner:
    """Runs a plan and checks each step that calls a Python function.

    Args:
        plan: the plan.
        runner: makes a runner of a plan.
    """

    def __init__(self, plan: Plan, runner: Callable[[Plan], Any]) -> None:
        self.result_types = _types_of_slots(plan, plan.results)
        self.constants = [(value, _checksum(value)) for value in _constants(plan) if _is_array(value)]
        self.runner = runner(_checked(plan, {}, is_vectorized=False))

    def run(self, arguments: Any, limits: Limits | None = None) -> list[Any]:
        """See `nimblehlo.execution.executor.Runner.run`.

        Raises:
            InvalidStep: a step changed, shared or overwrote memory that it does not declare.
        """
        lent = () if isinstance(arguments, list) else tuple(arguments)
        before = [_checksum(value) for value in lent]
        try:
            results: list[Any] = self.runner.run(arguments, limits)
        except ExecutionError as error:
            if isinstance(error.__cause__, InvalidStep):
                raise error.__cause__ from None
            raise
        for number, (value, checksum) in enumerate(zip(lent, before, strict=True)):
            if _checksum(value) != checksum:
                raise InvalidStep(f"argument {number} was changed")
        for value, checksum in self.constants:
            if _checksum(value) != checksum:
                raise InvalidStep(f"a constant of shape {value.shape} was changed")
        for number, (value, type) in enumerate(zip(results, self.result_types, strict=True)):
            reason = None if type is None else type_violation(type, value)
            if reason is not None:
                raise InvalidStep(f"result {number} {reason}")
        return results


def _types_of_slots(plan: Plan, slots: Sequence[int]) -> list[Type | None]:
    """The types with which the steps of a plan read or write slots; None for those that no step uses."""
    types: dict[int, Type] = {}
    for step in plan.steps:
        for step_slots, step_types in zip((step.operands, step.results), step.types, strict=True):
            types.update(zip(step_slots, step_types, strict=False))
    return [types.get(slot) for slot in slots]


def _constants(plan: Plan) -> list[Any]:
    constants = list(plan.constants.values())
    for step in plan.steps:
        for _, region in step.region_plans():
            constants += _constants(region)
    return constants


def _checked(plan: Plan, checked_plans: dict[tuple[int, bool], Plan], *, is_vectorized: bool) -> Plan:
    """The plan with checked functions, also in regions; a plan that occurs again is checked once.

    Args:
        plan: the plan.
        checked_plans: those that are checked already, by identity and `is_vectorized`.
        is_vectorized: whether the plan may be run on arrays of many values of its types: it belongs to a
            region which the function of a step calls.
    """
    checked = checked_plans.get((id(plan), is_vectorized))
    if checked is None:
        checked = checked_plans[id(plan), is_vectorized] = copy.copy(plan)
        frames = _Frames(plan, is_vectorized)
        checked.steps = [
            _checked_step(step, number, frames, checked_plans) for number, step in enumerate(plan.steps)
        ]
    return checked


def _checked_step(
    step: Step, number: int, frames: _Frames, checked_plans: dict[tuple[int, bool], Plan]
) -> Step:
    is_vectorized = frames.is_vectorized or step.control is None
    checked = copy.copy(step)
    implementation = step.implementation
    checked.implementation = Prepared(
        _CheckedFunction(step, number, frames), implementation.kind, implementation.reason
    )
    checked.regions = {
        name: _checked(regions, checked_plans, is_vectorized=is_vectorized)
        if isinstance(regions, Plan)
        else [_checked(region, checked_plans, is_vectorized=is_vectorized) for region in regions]
        for name, regions in step.regions.items()
    }
    return checked


class _RecordedValue:
    """A value of a slot: its array, which is not kept alive by this, and its checksum."""

    __slots__ = ("array", "checksum")

    def __init__(self, array: Array) -> None:
        self.array = weakref.ref(array)
        self.checksum = _checksum(array)


class _Frame:
    """The verifier's record of the values of one run of a plan.

    Attributes:
        seen: by slot, the values that were written or read and are not released.
        starts, ends: by slot, the addresses of the first byte of a value and of the one behind its last byte.
        number: of the step that was done last.
    """

    def __init__(self, slot_count: int) -> None:
        self.seen: dict[int, _RecordedValue] = {}
        self.starts = np.zeros(slot_count, np.uint64)
        self.ends = np.zeros(slot_count, np.uint64)
        self.number = -1

    def enter(self, slot: int, array: Array) -> None:
        """Note a slot's value."""
        self.seen[slot] = _RecordedValue(array)
        self.starts[slot], self.ends[slot] = _bounds(array)

    def remove(self, slot: int) -> None:
        """Forget a slot's value."""
        self.seen.pop(slot, None)
        self.starts[slot] = self.ends[slot] = 0

    def sharing(self, array: Array) -> list[int]:
        """The slots whose values may share memory with an array."""
        first, end = _bounds(array)
        overlapping = np.flatnonzero((self.starts < end) & (self.ends > first))
        return [slot for slot in overlapping.tolist() if self.seen[slot].array() is not None]


class _Frames:
    """The runs of a plan, of which each thread has at most one at a time."""

    def __init__(self, plan: Plan, is_vectorized: bool) -> None:
        self.slot_count = plan.slot_count
        self.is_vectorized = is_vectorized
        self.releases = [step.releases for step in plan.steps]
        self.local = threading.local()

    def begin(self, number: int) -> _Frame:
        """The run of which a step is about to be done: a number that was done begins another run."""
        frame: _Frame | None = getattr(self.local, "frame", None)
        if frame is None or number <= frame.number:
            frame = self.local.frame = _Frame(self.slot_count)
        for slots in self.releases[max(frame.number, 0) : number]:
            for slot in slots:
                frame.remove(slot)
        frame.number = number
        return frame


class _CheckedFunction:
    """A step's function, checked at each call."""

    def __init__(self, step: Step, number: int, frames: _Frames) -> None:
        self.step, self.number, self.frames = step, number, frames
        self.function = step.function
        self.uses: BufferUses = buffer_uses(step)
        self.where = f"step {number}, {step.operation} at {step.location},"
        self.operand_types, self.result_types = step.types

    def __call__(self, *operands: Any, out: Any = None, **regions: Any) -> Any:
        frame = self.frames.begin(self.number)
        self.check_types("operand", self.operand_types, operands)
        read = dict(zip(self.step.operands, operands, strict=True))
        read.update(zip(self.step.captures, _captures(regions), strict=False))
        for slot, value in read.items():
            self.check_unchanged(slot, value, frame, "reads")
        overwritten = self.overwritten(out, read, frame)
        keywords = {} if out is None else {"out": out}
        result = self.function(*operands, **keywords, **regions)
        for slot, value in read.items():
            if slot not in overwritten:
                self.check_unchanged(slot, value, frame, "changed")
        results = result if type(result) is tuple else (result,)
        self.check_types("result", self.result_types, results)
        self.check_layouts(results)
        self.check_results(results, read, overwritten, frame)
        return result

    def check_types(self, what: str, types: Sequence[Type], values: Sequence[Any]) -> None:
        """Values must have the element types and the shapes that the step declares."""
        if types and len(types) != len(values):
            raise InvalidStep(f"{self.where} has {len(values)} {what}s for {len(types)} types")
        for number, (type, value) in enumerate(zip(types, values, strict=False)):
            reason = type_violation(type, value, is_vectorized=self.frames.is_vectorized)
            if reason is not None:
                raise InvalidStep(f"{self.where} {what} {number} {reason}")

    def check_layouts(self, results: Sequence[Any]) -> None:
        """Results must lie in memory as other steps read arrays."""
        for number, value in enumerate(results):
            reason = layout_violation(value)
            if reason is not None:
                raise InvalidStep(f"{self.where} result {number} {reason}")

    def check_unchanged(self, slot: int, value: Any, frame: _Frame, verb: str) -> None:
        """A slot's value must have the elements that it was written with."""
        if not _is_array(value):
            return
        previous = frame.seen.get(slot)
        if previous is None or previous.array() is None:
            frame.enter(slot, value)
        elif previous.array() is not value:
            raise InvalidStep(f"{self.where} reads another array in slot {slot} than was written there")
        elif previous.checksum != _checksum(value):
            reason = "whose elements are others than were written there"
            raise InvalidStep(f"{self.where} {verb} slot {slot}, {reason}")

    def overwritten(self, out: Any, read: Mapping[int, Any], frame: _Frame) -> set[int]:
        """The slots whose memory the step may write results to: no other live slot may share it."""
        overwritten: set[int] = set()
        for number, array in enumerate(out or ()):
            if array is None:
                continue
            result = self.step.results[number]
            slots = {slot for slot, value in read.items() if value is array}
            declared = {operand for operand, written in self.uses.may_overwrite if written == result}
            if not slots <= declared or slots & set(self.step.captures):
                raise InvalidStep(f"{self.where} is given slots {sorted(slots)} to overwrite undeclared")
            for slot in frame.sharing(array):
                if slot not in slots:
                    reason = f"whose memory slot {slot} shares"
                    raise InvalidStep(f"{self.where} is given slot {min(slots)}, {reason}")
            overwritten |= slots
        return overwritten

    def check_results(
        self, results: Sequence[Any], read: Mapping[int, Any], overwritten: set[int], frame: _Frame
    ) -> None:
        """Check that results have memory of their own, unless they are declared views or written to `out`."""
        declared = overwritten | self.uses.may_alias
        allowed = {
            other
            for slot in self.uses.may_alias
            for array in _arrays(read.get(slot))
            for other in frame.sharing(array)
        }
        for slot, value in zip(self.step.results, results, strict=False):
            if not _is_array(value):
                continue
            for other in frame.sharing(value):
                if other not in declared | allowed and other not in self.step.results:
                    raise InvalidStep(f"{self.where} returns slot {slot} in the memory of slot {other}")
            frame.enter(slot, value)
        for slot in overwritten:
            frame.remove(slot)


def _captures(regions: Mapping[str, Any]) -> Sequence[Any]:
    """The values that regions capture: all of a step's have the same."""
    for region in regions.values():
        for one in region if isinstance(region, list) else [region]:
            captures: Sequence[Any] = one.captures
            return captures
    return ()


def _arrays(value: Any) -> Iterator[Array]:
    """The arrays of a value: the value itself, or the elements of a tuple."""
    if isinstance(value, TupleValue):
        for item in value:
            yield from _arrays(item)
    elif _is_array(value):
        yield value


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype != np.object_


def _bounds(array: Array) -> tuple[int, int]:
    """The addresses of an array's first byte and of the one behind its last byte."""
    first = last = array.ctypes.data
    if not array.size:
        return first, first
    for size, stride in zip(array.shape, array.strides, strict=True):
        first += min(0, (size - 1) * stride)
        last += max(0, (size - 1) * stride)
    return first, last + array.itemsize


def _checksum(value: Any) -> int:
    """A checksum of an array's elements, in order."""
    if not _is_array(value):
        return 0
    if not value.size:
        return 0
    count = MAX_BYTES // value.itemsize // 2
    is_whole = value.flags.c_contiguous or value.size <= 2 * count or value.ndim > FLAT_DIMENSIONS
    flat: Any = np.ascontiguousarray(value).reshape(-1) if is_whole else value.flat
    chunks = [flat[:]] if value.size <= 2 * count else [flat[:count], flat[-count:]]
    return functools.reduce(lambda checksum, chunk: zlib.crc32(chunk.view(np.uint8), checksum), chunks, 0)
