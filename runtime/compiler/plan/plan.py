"""The plan that the executor runs: steps over numbered slots. Data only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from ...program.ir import Attribute, Operation
from ...program.ops.framework.declaration import Op, lookup
from ...program.ops.framework.traits import Memory
from ...types import Type
from ..implementation import Implementation, OverwritePairs, Runnable


class Step:
    """One call of an implementation on the values of some slots.

    Attributes:
        implementation: what runs.
        operands, results: the slots that it reads and writes.
        releases: slots whose values are not used after this step. The branches of an `if` or `case` consume
            those that they capture: they may overwrite them.
        overwrites: the pairs of `Implementation.may_overwrite` that the executor uses, if the step releases
            the operand's array and nothing else refers to it.
        control: the operation, if the executor runs the regions itself, without `implementation`.
        regions: plans of the operation's regions by name; a list for a variadic region.
        captures: slots that the regions use in addition to their arguments, in the order of the last
            arguments of the region plans.
        operation, location: the operation and where it is in the program, for messages.
        types: of the operands and of the results, for `Executable.explain`.
        attributes: those of the operation, for profiles.
        sources: the operations of the fused program that it computes, several if they are joined; for
            `Executable.explain`.
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
        "sources",
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
        overwrites: OverwritePairs = (),
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
        self.sources: tuple[Operation, ...] = ()

    @property
    def function(self) -> Runnable:
        """The function that the executor calls; see `Implementation.function`."""
        return self.implementation.function

    @property
    def memory(self) -> Memory:
        """Where the results may be: what the operation declares, unless its code never returns views."""
        return (lookup(self.operation) or Op).memory if self.implementation.may_alias else Memory.COPY

    def remapped(self, slot_map: Mapping[int, int]) -> Step:
        """The step on the slots to which `slot_map` maps its own, without releases."""
        operands, results, captures = [
            tuple([slot_map[slot] for slot in slots])
            for slots in (self.operands, self.results, self.captures)
        ]
        return self.copied_to(operands, results, self.location, self.sources, captures)

    def copied_to(
        self,
        operands: tuple[int, ...],
        results: tuple[int, ...],
        location: object,
        sources: tuple[Operation, ...],
        captures: tuple[int, ...] = (),
    ) -> Step:
        """The step on other slots and for other operations, without releases."""
        copied = Step(
            self.implementation, operands, results, self.operation, location, self.types, self.regions,
            captures, (), self.overwrites, self.control, self.attributes,
        )  # fmt: skip
        copied.sources = sources
        return copied

    def region_plans(self) -> Iterator[tuple[str, Plan]]:
        """The plans of the regions, each with the region's name, which several regions may share."""
        for name, plans in self.regions.items():
            for plan in [plans] if isinstance(plans, Plan) else plans:
                yield name, plan

    @property
    def detail(self) -> str:
        """The types as text."""
        operands, results = [", ".join(map(str, types)) for types in self.types]
        return f"({operands}) -> {results}"


class Plan:
    """Steps in order, with the slots of arguments, results and constants.

    Attributes:
        steps: the steps to run.
        slot_count: number of slots.
        arguments: slot of each argument.
        results: slot of each result.
        constants: the values of slots from the start.
        slot_bytes: the bytes of each slot's value; 0 if they are unknown before the run.
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
    """The steps of a plan and, recursively, of the plans of their regions."""
    for step in plan.steps:
        yield step
        for _, subplan in step.region_plans():
            yield from all_steps(subplan)
