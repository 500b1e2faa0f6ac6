"""The plan that the executor runs: steps over numbered slots. Data only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from ..ir.attributes import Attribute
from ..types import Type
from .implementation import Implementation, Pairs, Runnable


class Step:
    """One call of an implementation on the values of some slots.

    Attributes:
        implementation: what runs.
        operands, results: slots that it reads and writes.
        releases: slots whose values are not used after this step.
        overwrites: those of the implementation's pairs of an operand and a result that it makes use of, where
            the operand's array is released and nothing else refers to it.
        control: the operation, where the executor itself runs the regions in the place of `implementation`.
        regions: plans of the operation's regions by name; a list for a variadic region.
        captures: slots that the regions use beside their own arguments, in the order of the region plans'
            last arguments.
        operation, location: what it stands for, for messages.
        types: of the operands and of the results, for `Executable.explain`.
        attributes: those of the operation, for profiles.
    """

    __slots__ = (
        "attributes",
        "captures",
        "control",
        "implementation",
        "location",
        "operands",
        "operation",
        "overwrites",
        "regions",
        "releases",
        "results",
        "types",
    )

    def __init__(
        self,
        implementation: Implementation,
        operands: tuple[int, ...],
        results: tuple[int, ...],
        operation: str,
        location: object,
        types: tuple[Sequence[Type], Sequence[Type]],
        regions: Mapping[str, Plan | Sequence[Plan]] | None = None,
        captures: tuple[int, ...] = (),
        releases: tuple[int, ...] = (),
        overwrites: Pairs = (),
        control: Literal["while", "if", "case"] | None = None,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        self.implementation = implementation
        self.operands = operands
        self.results = results
        self.operation = operation
        self.location = location
        self.types = types
        self.regions = regions or {}
        self.captures = captures
        self.releases = releases
        self.overwrites = overwrites
        self.control = control
        self.attributes = attributes or {}

    @property
    def function(self) -> Runnable:
        """The function that the executor calls; see `Implementation.function`."""
        return self.implementation.function

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
            self.implementation, operands, results, self.operation, location, self.types, self.regions,
            captures, (), self.overwrites, self.control, self.attributes,
        )  # fmt: skip

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
