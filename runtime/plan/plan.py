"""What the executor runs: steps over numbered slots. Data only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from ..types import Type


class Step:
    """One call of a function on the values of some slots.

    Attributes:
        function: called with the operands' values and, by name, the regions; returns one value, or a plain
            tuple of as many values as there are results.
        operands, results: slots that it reads and writes.
        releases: slots whose values are not used after this step.
        overwrites: pairs of an operand's position and a result's: where the operand's array is released and
            nothing else refers to it, `function` may write the result into it. It is then called with
            ``out``, for each result an array or None; it may leave the array alone and return another.
        control: the operation, where the executor itself runs the regions in the place of `function`.
        regions: plans of the operation's regions by name; a list for a variadic region.
        captures: slots that the regions use beside their own arguments, in the order of the region plans'
            last arguments.
        operation, location: what it stands for, for messages.
        implementation: ``"reference"`` or ``"kernel"``, as `Executable.explain` shows it.
        reason: why this implementation was chosen.
        types: of the operands and of the results, for `Executable.explain`.
    """

    __slots__ = (
        "captures",
        "control",
        "function",
        "implementation",
        "location",
        "operands",
        "operation",
        "overwrites",
        "reason",
        "regions",
        "releases",
        "results",
        "types",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        operands: tuple[int, ...],
        results: tuple[int, ...],
        operation: str,
        location: object,
        implementation: str,
        reason: str,
        types: tuple[Sequence[Type], Sequence[Type]],
        regions: Mapping[str, Plan | Sequence[Plan]] | None = None,
        captures: tuple[int, ...] = (),
        releases: tuple[int, ...] = (),
        overwrites: tuple[tuple[int, int], ...] = (),
        control: Literal["while", "if", "case"] | None = None,
    ) -> None:
        self.function = function
        self.operands = operands
        self.results = results
        self.operation = operation
        self.location = location
        self.implementation = implementation
        self.reason = reason
        self.types = types
        self.regions = regions or {}
        self.captures = captures
        self.releases = releases
        self.overwrites = overwrites
        self.control = control

    def remapped(self, slot_map: Mapping[int, int]) -> Step:
        """The step on the slots that `slot_map` has for its own, which are not released yet."""
        operands, results, captures = [
            tuple([slot_map[slot] for slot in slots]) for slots in (
                self.operands, self.results, self.captures
            )
        ]
        return self.copied_to(operands, results, self.location, captures)

    def copied_to(
        self,
        operands: tuple[int, ...],
        results: tuple[int, ...],
        location: object,
        captures: tuple[int, ...] = (),
    ) -> Step:
        """The step on other slots and for another place, whose slots are not released yet."""
        return Step(
            self.function,
            operands,
            results,
            self.operation,
            location,
            self.implementation,
            self.reason,
            self.types,
            self.regions,
            captures,
            overwrites=self.overwrites,
            control=self.control,
        )

    @property
    def detail(self) -> str:
        """The types as text."""
        operands, results = [", ".join(map(str, types)) for types in self.types]
        return f"({operands}) -> {results}"


class Plan:
    """Steps in order, and where values come from and go to.

    Attributes:
        steps: what to run.
        slot_count: number of slots.
        arguments: slot of each argument.
        results: slot of each result.
        constants: values that stand in slots from the start.
        slot_bytes: size of each slot's value; 0 where it is not known before the run.
    """

    __slots__ = ("arguments", "constants", "results", "slot_bytes", "slot_count", "steps")

    def __init__(
        self,
        steps: list[Step],
        slot_count: int,
        arguments: tuple[int, ...],
        results: tuple[int, ...],
        constants: dict[int, Any],
        slot_bytes: Sequence[int] = (),
    ) -> None:
        self.steps = steps
        self.slot_count = slot_count
        self.arguments = arguments
        self.results = results
        self.constants = constants
        self.slot_bytes = slot_bytes


def all_steps(plan: Plan) -> Iterator[Step]:
    """The steps of a plan, and of the plans of their regions."""
    for step in plan.steps:
        yield step
        for region in step.regions.values():
            for subplan in [region] if isinstance(region, Plan) else region:
                yield from all_steps(subplan)
