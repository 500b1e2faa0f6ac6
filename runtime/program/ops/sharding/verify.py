"""Verification of shardings in a module: attributes of functions and operations, and operations of sdy.

Source: the verifiers of the sdy dialect's attributes `sdy.sharding`, `sdy.sharding_rule` and
`sdy.propagation_edges`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from ....errors import VerifyError, counted
from ....types import BufferType, TensorType, Type
from ...ir import ArrayAttribute, Attribute, Block, Function, Module, Operation, Value
from ...ir.sharding import ManualAxes, Mesh, ShardingPerValue, TensorSharding
from ...ir.sharding_rules import EdgeValue, PropagationEdges, ShardingRule, TensorMapping, factor_name
from ..framework.op_registry import SHARDING_ATTRIBUTES
from ..framework.rules import first
from .checks import common_mesh, sharding_violation, shardings_violation
from .scope import COMPUTATIONS, Scope, meshes_of

SHARDING_ATTRIBUTE: Final = "sdy.sharding"
_GROUPS: Final = ("reduction", "need_replication", "permutation")


def verify_shardings(module: Module, verify: Callable[[Operation, Scope], None]) -> None:
    """Check the shardings of a module's functions, and the operations of sdy in them.

    Args:
        module: a module whose operations have been verified except for what depends on the program around
            them.
        verify: checks the constraints of an operation of sdy in the scope of its function.

    Raises:
        VerifyError: a constraint does not hold.
    """
    meshes = meshes_of(module)
    for item in module.body:
        if isinstance(item, Function):
            _Verifier(meshes, item, verify).verify()


class _Verifier:
    """Walks one function."""

    def __init__(
        self, meshes: Mapping[str, Mesh], function: Function, verify: Callable[[Operation, Scope], None]
    ) -> None:
        self.scope = Scope(meshes, function)
        self.function = function
        self.verify_in_scope = verify

    def verify(self) -> None:
        function = self.function
        for kind, types, each in (
            ("argument", function.type.inputs, function.argument_attributes),
            ("result", function.type.results, function.result_attributes),
        ):
            for index, (type, attributes) in enumerate(zip(types, each, strict=False)):
                if SHARDING_ATTRIBUTE in attributes:
                    self.verify_value(f"{kind} {index}", type, attributes[SHARDING_ATTRIBUTE])
        if SHARDING_ATTRIBUTE in function.attributes:
            reason = self.per_value_violation(function.attributes[SHARDING_ATTRIBUTE], ())
            self.fail_if(reason, "func.func", SHARDING_ATTRIBUTE, function.location)
        if function.body is not None:
            self.verify_block(function.body.block, "func.func")

    def verify_value(self, name: str, type: Type, attribute: Attribute) -> None:
        """The sharding of an argument or a result of the function."""
        reason: str | None
        if isinstance(attribute, TensorSharding):
            reason = sharding_violation(attribute, type, self.scope.mesh(attribute))
        else:
            reason = "must be an attribute #sdy.sharding"
        reason = None if reason is None else f"{name}: {reason}"
        self.fail_if(reason, "func.func", SHARDING_ATTRIBUTE, self.function.location)

    def fail_if(self, reason: str | None, operation: str, label: str, location: object) -> None:
        """Raise a VerifyError with the reason, if there is one."""
        if reason is not None:
            raise VerifyError(reason, operation=operation, label=label, location=location)

    def verify_block(self, block: Block, owner: str) -> None:
        """Operations of a block of an operation of that name, each ahead of those in its regions."""
        terminator = block.terminator
        if terminator.name == "sdy.return" and owner not in COMPUTATIONS:
            reason = f"must end the body of a computation of sdy, but ends one of {owner}"
            raise VerifyError(reason, operation="sdy.return", location=terminator.location)
        for operation in block.operations:
            self.verify_operation(operation)
            outer = self.scope.manual_axes
            manual = operation.attributes.get("manual_axes")
            if isinstance(manual, ManualAxes):
                self.scope.manual_axes = outer.union(manual.names)
            for region in operation.regions:
                self.scope.owners[region.block] = operation
                self.verify_block(region.block, operation.name)
            self.scope.manual_axes = outer

    def verify_operation(self, operation: Operation) -> None:
        """The attributes of an operation, then the constraints of one of sdy."""
        attributes = operation.attributes
        if not SHARDING_ATTRIBUTES.isdisjoint(attributes):
            for name in sorted(SHARDING_ATTRIBUTES.intersection(attributes)):
                reason = self.attribute_violation(operation, name, attributes[name])
                self.fail_if(reason, operation.name, name, operation.location)
        if operation.name.startswith("sdy."):
            self.verify_in_scope(operation, self.scope)

    def attribute_violation(self, operation: Operation, name: str, attribute: Attribute) -> str | None:
        """Why an attribute of sdy is not one of this operation."""
        if name == SHARDING_ATTRIBUTE:
            return self.per_value_violation(attribute, [result.type for result in operation.results])
        if name == "sdy.sharding_rule":
            if not isinstance(attribute, ShardingRule):
                return "must be an attribute #sdy.op_sharding_rule"
            operands = [operand.type for operand in operation.operands]
            return rule_violation(attribute, operands, [result.type for result in operation.results])
        if name == "sdy.propagation_edges":
            if not isinstance(attribute, PropagationEdges):
                return "must be an attribute #sdy.propagation_edges"
            return self.edges_violation(operation, attribute)
        values = attribute.values if isinstance(attribute, ArrayAttribute) else (None,)
        if not all(isinstance(value, PropagationEdges) for value in values):
            return "must be a list of attributes #sdy.propagation_edges"
        return first(*(steps_violation(value) for value in values if isinstance(value, PropagationEdges)))

    def per_value_violation(self, attribute: Attribute, types: Sequence[Type]) -> str | None:
        """Why an attribute is not a sharding for each result."""
        if not isinstance(attribute, ShardingPerValue):
            return "must be an attribute #sdy.sharding_per_value"
        meshes = [self.scope.mesh(sharding) for sharding in attribute.shardings]
        return shardings_violation(attribute, types, meshes, self.scope.manual_axes)

    def edges_violation(self, operation: Operation, edges: PropagationEdges) -> str | None:
        """Edges name values of the operation, some of which have shardings, and axes of their mesh."""
        reason = steps_violation(edges)
        if reason is not None:
            return reason
        ends: list[EdgeValue] = []
        for step in edges.steps:
            for each in step.axes:
                ends += (each.source, *each.targets)
        values = [_value(operation, end) for end in ends]
        shardings = [self.scope.sharding_of(value) for value in values if value is not None]
        meshes = [self.scope.mesh(sharding) for sharding in shardings if sharding is not None]
        if not meshes:
            return "none of the values has a sharding"
        mesh = common_mesh([mesh for mesh in meshes if mesh is not None])
        if mesh is None:
            return "the values' shardings name different meshes"
        axes = [each.axis.name for step in edges.steps for each in step.axes]
        unknown = next((name for name in axes if name not in mesh.sizes), None)
        if unknown is not None:
            return f"the mesh {mesh.body()} has no axis {unknown!r}"
        if operation.name == "sdy.func_data_flow_edge":
            return None
        missing = next((end for end, value in zip(ends, values, strict=True) if value is None), None)
        return None if missing is None else f"there is no {missing.kind} {missing.index}"


def _value(operation: Operation, end: EdgeValue) -> Value | None:
    values: Sequence[Value] = operation.results if end.kind == "result" else operation.operands
    return values[end.index] if 0 <= end.index < len(values) else None


def steps_violation(edges: PropagationEdges) -> str | None:
    """Steps have numbers of their own that are not negative; a value spreads to others, to each once."""
    seen: set[int] = set()
    for step in edges.steps:
        if step.index < 0 or step.index in seen:
            return f"step {step.index} is negative" if step.index < 0 else f"step {step.index} occurs twice"
        seen.add(step.index)
        for each in step.axes:
            if each.source in each.targets:
                return f"{each.source.body()} is both the source and a target in step {step.index}"
            if len(set(each.targets)) != len(each.targets):
                return f"a target is named twice in step {step.index}"
    return None


def rule_violation(rule: ShardingRule, operands: Sequence[Type], results: Sequence[Type]) -> str | None:
    """The reason why a sharding rule is not valid for an operation with these operands and results."""
    used: dict[str, set[int]] = {"operand": set(), "result": set()}
    for kind, types, mappings in (("operand", operands, rule.operands), ("result", results, rule.results)):
        if len(types) != len(mappings):
            return f"has {counted(len(mappings), f'{kind} mapping')} for {counted(len(types), kind)}"
        if not mappings:
            return f"an operation without {kind}s cannot have a sharding rule"
        for index, (type, mapping) in enumerate(zip(types, mappings, strict=True)):
            reason = _mapping_violation(rule, type, mapping)
            if reason is not None:
                return f"{kind} {index}: {reason}"
            used[kind].update(*mapping.dimensions)
    unused = set(range(len(rule.factor_sizes))).difference(*used.values())
    if unused:
        return f"the factor {factor_name(min(unused))} is not used"
    groups = {name: getattr(rule, name) for name in (*_GROUPS, "blocked_propagation")}
    reason = first(*(_group_violation(name, each, len(rule.factor_sizes)) for name, each in groups.items()))
    if reason is not None:
        return reason
    special = [factor for name in _GROUPS for factor in groups[name]]
    if len(set(special)) != len(special):
        return f"a factor may be in one of {', '.join(_GROUPS)} alone"
    reduced = used["result"].intersection(rule.reduction)
    return f"the factor {factor_name(min(reduced))} is reduced, but is in a result" if reduced else None


def _mapping_violation(rule: ShardingRule, type: Type, mapping: TensorMapping) -> str | None:
    is_shaped = isinstance(type, BufferType) or (isinstance(type, TensorType) and type.is_static)
    if not is_shaped or not isinstance(type, (TensorType, BufferType)):
        return f"the sizes of {type} are not known"
    if len(mapping.dimensions) != len(type.shape):
        return f"the mapping {mapping.body()} has rank {len(mapping.dimensions)}, but the type is {type}"
    seen: set[int] = set()
    for factors in mapping.dimensions:
        reason = _factors_violation(rule, factors, seen)
        if reason is not None:
            return reason
        seen.update(factors)
    return None


def _factors_violation(rule: ShardingRule, factors: tuple[int, ...], seen: Collection[int]) -> str | None:
    """Why a dimension cannot be a product of these factors; `seen` has those of other dimensions."""
    if not factors:
        return "a dimension has no factor"
    for position, factor in enumerate(factors):
        if factor >= len(rule.factor_sizes):
            return f"the factor {factor_name(factor)} has no size"
        if factor in seen or factor in factors[:position]:
            return f"the factor {factor_name(factor)} is used twice"
        if len(factors) > 1 and rule.factor_sizes[factor] == 1:
            return f"the factor {factor_name(factor)} has size 1, so it must be the only factor"
    return None


def _group_violation(name: str, factors: tuple[int, ...], count: int) -> str | None:
    """Factors of a group are sorted, unique and in range."""
    if list(factors) != sorted(set(factors)):
        return f"the factors of {name} must be sorted and unique"
    if factors and factors[-1] >= count:
        return f"the factor {factor_name(factors[-1])} of {name} has no size"
    return None
