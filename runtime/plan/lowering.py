"""From a specialized function to a Plan: slots, lifetimes, and the way in which each operation runs."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import DenseElementsAttribute, Function, Operation, Region, Value, captured_values
from ..ops.declaration import Op
from ..ops.verify import TERMINATORS, view_of
from ..options import Options
from .choice import choose
from .plan import Plan, Step


def lower(function: Function, options: Options) -> Plan:
    """The plan of a function without calls.

    Args:
        function: result of `nimblehlo.specialize.specialize`.
        options: says which ways are open.
    """
    assert function.body is not None
    return _Lowering(options).lower_region(function.body, ())


class _Lowering:
    """Lowers regions, outermost first."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def lower_region(self, region: Region, captures: Sequence[Value]) -> Plan:
        """A plan whose arguments are the block's arguments and then the captured values."""
        block = region.block
        slots: dict[Value, int] = {}
        arguments = []
        for value in (*block.arguments, *captures):
            arguments.append(slots.setdefault(value, len(slots)))
        constants: dict[int, object] = {}
        steps = []
        for operation in block.operations:
            if operation.name in TERMINATORS:
                continue
            for result in operation.results:
                slots[result] = len(slots)
            constant = operation.attributes.get("value") if operation.name == "stablehlo.constant" else None
            if isinstance(constant, DenseElementsAttribute):
                constants[slots[operation.result]] = constant.array
            else:
                steps.append(self.lower_operation(operation, slots))
        results = tuple([slots[operand] for operand in block.terminator.operands])
        _release(steps, arguments, results, constants)
        return Plan(steps, len(slots), tuple(arguments), results, constants)

    def lower_operation(self, operation: Operation, slots: dict[Value, int]) -> Step:
        """The step of one operation."""
        view = view_of(operation)
        captures = captured_values(operation.regions)
        choice = choose(view, self.options)
        return Step(
            function=choice.function,
            operands=tuple([slots[operand] for operand in operation.operands]),
            results=tuple([slots[result] for result in operation.results]),
            operation=operation.name,
            location=operation.location,
            way=choice.way,
            reason=choice.reason,
            detail=_detail(operation),
            regions=self.lower_regions(view, captures) if choice.needs_regions else {},
            captures=tuple([slots[value] for value in captures]) if choice.needs_regions else (),
        )

    def lower_regions(self, view: Op, captures: Sequence[Value]) -> dict[str, Plan | Sequence[Plan]]:
        """Plans of an operation's regions under their declared names."""
        plans: dict[str, Plan | Sequence[Plan]] = {}
        for declared in view.declared_regions:
            regions = getattr(view, declared.name)
            if declared.variadic:
                plans[declared.name] = [self.lower_region(region, captures) for region in regions]
            else:
                plans[declared.name] = self.lower_region(regions, captures)
        return plans


def _release(
    steps: list[Step], arguments: Sequence[int], results: Sequence[int], constants: dict[int, object]
) -> None:
    """Let each step release the slots that it uses last."""
    alive = {*results, *constants}
    for step in reversed(steps):
        last = {*step.operands, *step.captures, *step.results} - alive
        step.releases = tuple(sorted(last))
        alive |= last


def _detail(operation: Operation) -> str:
    operands = ", ".join(str(operand.type) for operand in operation.operands)
    results = ", ".join(str(result.type) for result in operation.results)
    return f"({operands}) -> {results}"
