"""Verifies that a plan's steps compute the operations of the program on the right values.

The plan and its function are walked in parallel: each slot holds a value of the function, and the slots that
a step reads must hold the operation's operands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...compiler.implementation import operands_of
from ...compiler.plan import Plan, Step
from ...program.ir import Block, Function, Operation, Region, Value, captured_values
from ...program.ops.control.control import Call
from ...program.ops.framework.declaration import declaration_of
from .plans import InvalidPlan

Values = dict[Value, object]
"""An identity for each value of a block in one call: a constant's array, or a unique object."""


def verify_translation(function: Function, plan: Plan) -> None:
    """Verify a plan against the function that it was planned from.

    Raises:
        InvalidPlan: a step does another operation, or reads or writes another value.
    """
    assert function.body is not None
    callees = {callee.name: callee for callee in function.callees}
    _Translation(plan, callees).verify(function.body, ())


class _Translation:
    """Walks a plan and a block in parallel.

    Attributes:
        held: the value that each slot holds.
        steps: the remaining steps.
        absorbed: operations that the step of a later operation computes.
    """

    def __init__(self, plan: Plan, callees: Mapping[str, Function]) -> None:
        self.plan = plan
        self.callees = callees
        self.held: dict[int, object] = dict(plan.constants)
        self.steps: Iterator[Step] = iter(plan.steps)
        self.absorbed = {operation for step in plan.steps for operation in step.implementation.absorbed}

    def verify(self, region: Region, captures: Sequence[Value]) -> None:
        """Verify the plan of a region, whose last arguments are the captured values."""
        values: Values = {}
        arguments = (*region.block.arguments, *captures)
        if len(arguments) != len(self.plan.arguments):
            raise InvalidPlan(
                f"a plan takes {len(self.plan.arguments)} values instead of {len(arguments)}"
            )
        self.write("the arguments", self.plan.arguments, arguments, values)
        self.block(region.block, values)
        rest = next(self.steps, None)
        if rest is not None:
            raise InvalidPlan(f"{rest.operation} at {rest.location} is the step of no operation")
        self.read("the end of the plan", self.plan.results, region.block.terminator.operands, values)

    def block(self, block: Block, values: Values) -> None:
        for operation in block.operations:
            constant = operation.constant_value
            if constant is not None:
                values[operation.result] = constant.array
            elif operation.name == Call.name:
                self.call(operation, values)
            elif not declaration_of(operation).is_terminator and operation not in self.absorbed:
                self.operation(operation, values)

    def call(self, call: Operation, values: Values) -> None:
        """The steps of a callee replace its call."""
        body = self.callees[str(call.attributes["callee"])].body
        assert body is not None
        inner: Values = {
            argument: values[operand]
            for argument, operand in zip(body.block.arguments, call.operands, strict=True)
        }
        self.block(body.block, inner)
        returned = [inner[value] for value in body.block.terminator.operands]
        values.update(zip(call.results, returned, strict=True))

    def operation(self, operation: Operation, values: Values) -> None:
        step = next(self.steps, None)
        where = f"{operation.name} at {operation.location}"
        if step is None or step.operation != operation.name:
            actual = "no step" if step is None else f"the step of {step.operation}"
            raise InvalidPlan(f"{where} has {actual}")
        self.read(where, step.operands, operands_of(step.implementation, operation), values)
        if step.regions:
            captures = captured_values(operation.regions)
            self.read(where, step.captures, captures, values)
            for region, (_, plan) in zip(operation.regions, step.region_plans(), strict=True):
                _Translation(plan, self.callees).verify(region, captures)
        self.write(where, step.results, operation.results, values)

    def read(self, where: str, slots: Sequence[int], expected: Sequence[Value], values: Values) -> None:
        """Check that slots hold the expected values."""
        if len(slots) != len(expected):
            raise InvalidPlan(f"{where} reads {len(slots)} slots for {len(expected)} values")
        for number, (slot, value) in enumerate(zip(slots, expected, strict=True)):
            if self.held.get(slot) is not values[value]:
                raise InvalidPlan(
                    f"{where} reads slot {slot} as value {number}, but that holds another value"
                )

    def write(self, where: str, slots: Sequence[int], results: Sequence[Value], values: Values) -> None:
        if len(slots) != len(results):
            raise InvalidPlan(f"{where} writes {len(slots)} slots for {len(results)} values")
        for slot, result in zip(slots, results, strict=True):
            self.held[slot] = values[result] = object()
