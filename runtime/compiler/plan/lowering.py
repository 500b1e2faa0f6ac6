"""Lowers a specialized function to a Plan: slots, lifetimes, and the implementation of each operation."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

from ...options import Options
from ...program.ir import (
    Attribute,
    Block,
    Function,
    Operation,
    Region,
    Value,
    captured_values,
)
from ...program.ir.structural_key import structural_key
from ...program.ops.control.control import Call, Case, If, While
from ...program.ops.framework.declaration import Op, declaration_of
from ...program.ops.framework.memory_limit import bytes_of
from ...program.ops.intermediate.fusion import StepFusion
from ...types import Type
from .. import passes
from ..implementation import UNCOMPILED, Implementation, ImplementationKind, OverwritePairs, operands_of
from ..specialize.framework.constant_arguments import constant_arguments
from ..specialize.framework.operation_classes import is_fusion
from .choice import choose
from .fusion_passes import fuse_operations
from .implementations.attention import Attention, AttentionFusion, find_attentions
from .implementations.epilogues import EpilogueFusion, find_epilogues
from .implementations.run_time_types import has_unknown_sizes
from .plan import Plan, Step, all_steps
from .tiering.profiles import ProfiledLoop
from .tiering.tiers import share_profiles, start_expected_compilations, tierings

if TYPE_CHECKING:
    from .implementations.native_loops import DecidedLoop

_CONTROL: Final[dict[type[Op], Literal["while", "if", "case"]]] = {While: "while", If: "if", Case: "case"}
"""The operations that the executor runs itself."""

_MIN_OVERWRITTEN_BYTES = 1 << 12
"""Bytes of an array from which writing in place saves time."""

Choose = Callable[[Op, Options], Implementation]
"""Chooses the implementation of an operation, whose view has the ordering of the options."""


def lower(
    function: Function,
    options: Options,
    choose: Choose = choose,
    native_loops: Mapping[Operation, DecidedLoop] | None = None,
) -> Plan:
    """The plan of a function, with the steps of its callees in place of the calls.

    Args:
        function: the result of `nimblehlo.compiler.specialize.specialize`; its operations are fused in place.
        options: those of the Executable.
        choose: chooses the implementation of each operation, outermost operations first.
        native_loops: what `fuse_operations` returned for the function; None: it has not run yet.
    """
    assert function.body is not None
    if native_loops is None:
        native_loops = fuse_operations(function, options)
    plan = _Lowering(options, choose, function, native_loops).lower_region(function.body, ())
    implementations = [step.implementation for step in all_steps(plan)]
    tiered = tierings(implementations)
    share_profiles(tiered, [one for one in implementations if isinstance(one, ProfiledLoop)])
    start_expected_compilations(tiered)
    return plan


class _Slots(dict[Value, int]):
    """The slot of each value of a region; `sizes` has the bytes of each slot's value."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def add(self, size: int) -> int:
        """A new slot for a value of `size` bytes."""
        self.sizes.append(size)
        return len(self.sizes) - 1

    def slot_of(self, value: Value) -> int:
        """The slot of a value, a new one if it has none."""
        slot = self.get(value)
        if slot is None:
            slot = self[value] = self.add(bytes_of(value.type))
        return slot


class _Lowering:
    """Lowers regions, outermost first."""

    def __init__(
        self,
        options: Options,
        choose: Choose,
        function: Function | None = None,
        native_loops: Mapping[Operation, DecidedLoop] | None = None,
    ) -> None:
        self.options = options
        self.choose = choose
        self.callees = {callee.name: callee for callee in function.callees} if function else {}
        self.constant_arguments = constant_arguments(function) if function else frozenset()
        self.native_loops = native_loops or {}
        self.ordering = options.ordering
        self.called: dict[str, Plan] = {}
        self.shared_steps: dict[tuple[Any, ...], Step] = {}
        """Steps whose functions equal operations share, by the name, types and attributes of the operation,
        compared by identity; the program keeps these objects alive."""
        self.bodies: dict[tuple[object, ...], tuple[Plan, Block, object]] = {}
        """The plans of fusions' bodies by structural keys, with the objects that these identify."""
        self.enclosing: list[Implementation] = []
        """The implementations whose regions contain the operation, outermost first."""

    @functools.cached_property
    def uncompiled(self) -> _Lowering:
        """Lowers the bodies of step fusions, which are compiled as a whole, not their steps; these share the
        functions of equal operations."""
        return _Lowering(replace(self.options, compile="never"), self.choose)

    def joins(self, name: str) -> bool:
        """Whether steps are joined by a pattern of `passes.PASSES`."""
        return passes.is_enabled(name, self.options.last_pass)

    def lower_region(self, region: Region, captures: Sequence[Value]) -> Plan:
        """A plan whose arguments are the block's arguments and then the captured values."""
        block = region.block
        slots = _Slots()
        arguments = [slots.slot_of(value) for value in (*block.arguments, *captures)]
        constants: dict[int, object] = {}
        steps: list[Step] = []
        epilogues = find_epilogues(region) if self.joins("join-epilogues") else {}
        attentions = find_attentions(region, epilogues.values()) if self.joins("join-attention") else {}
        absorbed = {*epilogues.values(), *[one for found in attentions.values() for one in found.absorbed]}
        for operation in block.operations:
            if declaration_of(operation).is_terminator or operation in absorbed:
                continue
            if operation.name == Call.name:
                steps += self.lower_call(operation, slots, constants)
                continue
            for result in operation.results:
                slots.slot_of(result)
            constant = operation.constant_value
            if constant is not None:
                constants[slots[operation.result]] = constant.array
            elif operation in epilogues:
                steps += self.lower_epilogue(epilogues[operation], operation, slots)
            elif operation in attentions:
                steps += self.lower_attention(attentions[operation], slots)
            else:
                steps.append(self.lower_operation(operation, slots))
        results = tuple([slots[operand] for operand in block.terminator.operands])
        _release(steps, arguments, results, constants)
        return Plan(steps, len(slots.sizes), tuple(arguments), results, constants, slots.sizes)

    def lower_body(self, region: Region) -> Plan:
        """The plan of a step fusion's body; steps of equal bodies share functions that know no locations."""
        if not all(map(_is_bound_by_structure, region.walk())):
            return self.lower_region(region, ())
        key, referenced = structural_key(region.block)
        cached = self.bodies.get(key)
        if cached is not None:
            return _copied_plan(cached[0], cached[1], region.block)
        plan = self.lower_region(region, ())
        self.bodies[key] = plan, region.block, referenced
        return plan

    def lower_call(self, call: Operation, slots: _Slots, constants: dict[int, object]) -> list[Step]:
        """The callee's steps on slots of the caller; the callee's constants are added to `constants`."""
        name = str(call.attributes["callee"])
        plan = self.called.get(name)
        if plan is None:
            body = self.callees[name].body
            assert body is not None
            plan = self.called[name] = self.lower_region(body, ())
        slot_map = dict(zip(plan.arguments, [slots[operand] for operand in call.operands], strict=True))
        for slot in range(plan.slot_count):
            if slot not in slot_map:
                slot_map[slot] = slots.add(plan.slot_bytes[slot])
        constants.update({slot_map[slot]: value for slot, value in plan.constants.items()})
        slots.update(zip(call.results, [slot_map[slot] for slot in plan.results], strict=True))
        return [step.remapped(slot_map) for step in plan.steps]

    def lower_operation(self, operation: Operation, slots: dict[Value, int]) -> Step:
        """The step of one operation; equal operations share a function that is not compiled."""
        types = [value.type for value in (*operation.operands, *operation.results)]
        cache_key = (operation.name, len(operation.operands), id(operation.attributes), *map(id, types))
        cached = self.shared_steps.get(cache_key)
        if cached is not None:
            operands = tuple([slots[operand] for operand in operation.operands])
            results = tuple([slots[result] for result in operation.results])
            return cached.copied_to(operands, results, operation.location, (operation,))
        view = self.view_of(operation)
        step = self.new_step(view, slots)
        is_uncompiled = self.choose is choose and step.implementation.kind in UNCOMPILED
        if is_uncompiled and _is_determined_by_types(view):
            self.shared_steps[cache_key] = step
        return step

    def view_of(self, operation: Operation) -> Op:
        """The view of an operation with what is known of its surroundings."""
        view = Op.of(operation)
        view.ordering = self.ordering
        if self.constant_arguments:
            view.constant_arguments = [
                number
                for number, value in enumerate(operation.operands)
                if value in self.constant_arguments
            ]
        return view

    def lower_epilogue(self, product: Operation, fusion: Operation, slots: _Slots) -> list[Step]:
        """One step for a product and the fusion that uses it; two steps if the fusion has no native code."""
        slots.slot_of(product.result)
        first, second = self.lower_operation(product, slots), self.lower_operation(fusion, slots)
        is_generated = second.implementation.kind in (ImplementationKind.GENERATED, ImplementationKind.TIERED)
        if not is_generated or first.implementation.kind is not ImplementationKind.KERNEL:
            return [first, second]
        implementation = EpilogueFusion(
            first.implementation, self.view_of(product), second.implementation, fusion, self.options.threads
        )
        return [_joined(implementation, (product, fusion), second, slots, product.attributes)]

    def lower_attention(self, attention: Attention, slots: _Slots) -> list[Step]:
        """One step for an attention; three steps if its rows have no native code."""
        for operation in attention.absorbed:
            slots.slot_of(operation.result)
        steps = [self.lower_operation(operation, slots) for operation in attention.operations]
        implementations = tuple([step.implementation for step in steps])
        if implementations[1].kind not in (ImplementationKind.GENERATED, ImplementationKind.TIERED):
            return steps
        implementation = AttentionFusion(attention, implementations, self.options.threads)
        attributes = attention.output.attributes
        return [_joined(implementation, attention.operations, steps[-1], slots, attributes)]

    def new_step(self, view: Op, slots: dict[Value, int]) -> Step:
        """The step of an operation that shares no function with others."""
        operation = view.operation
        implementation = self.chosen(view)
        for enclosing in self.enclosing:
            implementation.set_enclosing(enclosing)
        takes_regions = implementation.takes_regions
        captures = captured_values(operation.regions) if takes_regions else []
        runs_in_executor = type(view) in _CONTROL and implementation.function == view.reference
        step = Step(
            implementation,
            operands=tuple([slots[operand] for operand in operation.operands]),
            results=tuple([slots[result] for result in operation.results]),
            operation=operation.name,
            location=operation.location,
            types=(
                [operand.type for operand in operation.operands],
                [result.type for result in operation.results],
            ),
            regions=self.lower_regions(view, implementation, captures) if takes_regions else {},
            captures=tuple([slots[value] for value in captures]),
            overwrites=_overwrites(implementation, operation),
            control=_CONTROL[type(view)] if runs_in_executor else None,
            attributes=operation.attributes,
        )
        step.sources = (operation,)
        return step

    def chosen(self, view: Op) -> Implementation:
        """The implementation of an operation; passes may have decided what is compiled of a loop."""
        decided = self.native_loops.get(view.operation)
        if decided is None or self.choose is not choose:
            return self.choose(view, self.options)
        return choose(view, self.options, decided.loop_of(view.operation))

    def lower_regions(
        self, view: Op, implementation: Implementation, captures: Sequence[Value]
    ) -> dict[str, Plan | Sequence[Plan]]:
        """Plans of an operation's regions under their declared names."""
        if isinstance(view, StepFusion):
            return {"body": self.uncompiled.lower_body(view.body)}
        plans: dict[str, Plan | Sequence[Plan]] = {}
        self.enclosing.append(implementation)
        for declared in view.declared_regions:
            regions = getattr(view, declared.name)
            if declared.variadic:
                plans[declared.name] = [self.lower_region(region, captures) for region in regions]
            else:
                plans[declared.name] = self.lower_region(regions, captures)
        self.enclosing.pop()
        return plans


def _joined(
    implementation: Implementation,
    operations: Sequence[Operation],
    alone: Step,
    slots: dict[Value, int],
    attributes: Mapping[str, Attribute],
) -> Step:
    """The step of the last of some operations that also computes the others, given its step alone."""
    operands = operands_of(implementation, operations[-1])
    step = Step(
        implementation,
        tuple([slots[operand] for operand in operands]),
        alone.results,
        alone.operation,
        alone.location,
        ([operand.type for operand in operands], alone.types[1]),
        attributes=attributes,
    )
    step.sources = tuple(operations)
    return step


def _is_bound_by_structure(operation: Operation) -> bool:
    """Whether `bind` gives the same function for equal operations wherever these are in the program."""
    facts = declaration_of(operation)
    is_computed_here = facts.binds_by_types or facts.reduces or is_fusion(operation)
    return is_computed_here or operation.is_constant or facts.is_terminator


def _copied_plan(plan: Plan, block: Block, other: Block) -> Plan:
    """The plan of a block for another one that is equal, but for locations."""
    operation_of = dict(zip(block.operations, other.operations, strict=True))
    steps = [_copied_step(step, operation_of[step.sources[0]]) for step in plan.steps]
    return Plan(steps, plan.slot_count, plan.arguments, plan.results, plan.constants, plan.slot_bytes)


def _copied_step(step: Step, operation: Operation) -> Step:
    """The step of one operation for an equal operation, whose values have the same slots."""
    copied = step.copied_to(step.operands, step.results, operation.location, (operation,), step.captures)
    copied.releases = step.releases
    if step.regions:
        pairs = zip(step.sources[0].regions, operation.regions, strict=True)
        blocks = iter([(old.block, new.block) for old, new in pairs])
        copied.regions = {
            name: _copied_plan(plans, *next(blocks))
            if isinstance(plans, Plan)
            else [_copied_plan(plan, *next(blocks)) for plan in plans]
            for name, plans in step.regions.items()
        }
    return copied


def _is_determined_by_types(view: Op) -> bool:
    """Whether `bind` gives the same function for all operations with these types and attributes."""
    return view.binds_by_types and not has_unknown_sizes(view)


def _release(
    steps: list[Step], arguments: Sequence[int], results: Sequence[int], constants: dict[int, object]
) -> None:
    """Make each step release the slots that no later step uses."""
    alive = {*results, *constants}
    for step in reversed(steps):
        last = {*step.operands, *step.captures, *step.results} - alive
        step.releases = tuple(sorted(last))
        alive |= last


def _overwrites(implementation: Implementation, operation: Operation) -> OverwritePairs:
    """The pairs of `may_overwrite` whose operand and result are large and of the same type."""
    operands, results = operation.operands, operation.results
    pairs = implementation.may_overwrite
    return tuple(
        [pair for pair in pairs if _is_large_and_same(operands[pair[0]].type, results[pair[1]].type)]
    )


def _is_large_and_same(operand: Type, result: Type) -> bool:
    return operand == result and bytes_of(operand) >= _MIN_OVERWRITTEN_BYTES
