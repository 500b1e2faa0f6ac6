"""Verifies that each step of a plan reads the values that its operation has in the program.

Every slot of a plan has one value: an argument, a constant, or the result of one step. From the buffer uses
that the steps declare (`nimblehlo.compiler.plan.buffer_uses`), the verifier derives when each slot is
written, read, overwritten and released. It rejects a plan that reads a value before it is written or after it
is released.
"""

from __future__ import annotations

from ...compiler.plan import Plan, Step
from ...compiler.plan.buffer_uses import buffer_uses
from ...types import Type
from ..executor import possible_overwrites


class InvalidPlan(AssertionError):
    """A step of a plan may see a wrong value; a defect of the planner."""


def verify_plan(plan: Plan) -> None:
    """Verify a plan and the plans of its steps' regions.

    Raises:
        InvalidPlan: a read may see a wrong value.
    """
    _Lifetimes(plan).verify()


class _Lifetimes:
    """Tracks the lifetimes of a plan's slots.

    Attributes:
        alive: slots that hold a value.
        ended: for each other slot the step that released it.
        types: the type of each slot's value.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.alive: set[int] = set()
        self.ended: dict[int, str] = {}
        self.types: dict[int, Type] = {}
        self.retained = {*plan.results, *plan.constants}

    def verify(self) -> None:
        plan = self.plan
        for kind, slots in (("argument", plan.arguments), ("constant", tuple(plan.constants))):
            for slot in slots:
                self._write(slot, f"the {kind}s")
        arguments = set(self.alive)
        for number, step in enumerate(plan.steps):
            self._step(step, f"step {number}, {step.operation} at {step.location},")
        for slot in plan.results:
            self._read(slot, "the end of the plan")
        lost = self.alive - self.retained - arguments
        if lost:
            raise InvalidPlan(f"slots {sorted(lost)} are never released")

    def _step(self, step: Step, where: str) -> None:
        self._overwrites(step, where)
        uses = buffer_uses(step)
        for slot in uses.reads:
            self._read(slot, where)
        self._regions(step, where)
        for slot in uses.writes:
            self._write(slot, where)
        self._types(step, where)
        for slot in step.releases:
            self._release(slot, step, where)

    def _read(self, slot: int, where: str) -> None:
        if slot in self.ended:
            raise InvalidPlan(f"{where} reads slot {slot} after its release by {self.ended[slot]}")
        if slot not in self.alive:
            raise InvalidPlan(f"{where} reads slot {slot} before it is written")

    def _write(self, slot: int, where: str) -> None:
        if not 0 <= slot < self.plan.slot_count:
            raise InvalidPlan(f"{where} writes slot {slot} of {self.plan.slot_count}")
        if slot in self.alive or slot in self.ended:
            raise InvalidPlan(f"{where} writes slot {slot}, which has another value")
        self.alive.add(slot)

    def _release(self, slot: int, step: Step, where: str) -> None:
        if slot in self.retained:
            raise InvalidPlan(f"{where} releases slot {slot}, which is a result or a constant")
        if slot not in (*step.operands, *step.captures, *step.results):
            raise InvalidPlan(f"{where} releases slot {slot}, which it does not use")
        self._read(slot, where)
        self.alive.remove(slot)
        self.ended[slot] = where

    def _types(self, step: Step, where: str) -> None:
        """A slot must be read as the type that it was written as."""
        operands, results = step.types
        if not operands and not results:
            return
        for slots, types in ((step.operands, operands), (step.results, results)):
            if len(slots) != len(types):
                raise InvalidPlan(f"{where} has {len(slots)} slots for {len(types)} values")
            for slot, type in zip(slots, types, strict=True):
                expected = self.types.setdefault(slot, type)
                if expected != type:
                    raise InvalidPlan(f"{where} uses slot {slot} as {type}, but it holds {expected}")

    def _overwrites(self, step: Step, where: str) -> None:
        """An operand that may be overwritten is read at no other position of its step, and by nothing later.

        That no other array shares its memory, the executor finds out when the step runs
        (`array_ownership.pxi`), and the checks of running steps (`steps`) look at it again.
        """
        for operand, result in step.overwrites:
            if not (0 <= operand < len(step.operands) and 0 <= result < len(step.results)):
                raise InvalidPlan(f"{where} overwrites operand {operand} by result {result}: there is none")
            types = step.types
            if types[0] and types[0][operand] != types[1][result]:
                message = f"{types[0][operand]} by {types[1][result]}"
                raise InvalidPlan(f"{where} overwrites operand {operand}, {message}")
        for operand, result in possible_overwrites(step):
            slot = step.operands[operand]
            if slot in self.retained or slot not in step.releases:
                raise InvalidPlan(f"{where} overwrites slot {slot}, which is read later")
            if slot in step.captures:
                raise InvalidPlan(f"{where} overwrites slot {slot}, which its regions use")
            for index, other in enumerate(step.operands):
                if other == slot and (index, result) not in step.overwrites:
                    raise InvalidPlan(
                        f"{where} overwrites slot {slot}, which it also reads as operand {index}"
                    )

    def _regions(self, step: Step, where: str) -> None:
        for name, region in step.region_plans():
            count = len(region.arguments) - len(step.captures)
            if count < 0:
                message = f"{len(step.captures)} captured values, but takes {len(region.arguments)}"
                raise InvalidPlan(f"{where} gives its region {name} {message}")
            carried = len(step.operands) if step.control == "while" else 0
            if step.control is not None and count != carried:
                raise InvalidPlan(f"{where} gives its region {name} {carried} values, which takes {count}")
            if step.control in ("if", "case") and len(region.results) != len(step.results):
                message = f"{len(region.results)} values for {len(step.results)} results"
                raise InvalidPlan(f"{where} gets from its region {name} {message}")
            verify_plan(region)
