"""Shardings of values, and computations for one device: operations of the sdy dialect (Shardy).

They say how a program is to be divided among devices. They change no value: a program computes the same
without them. The exception is the body of a `sdy.manual_computation`, which is written for one device.

Source: the sdy dialect's operations.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Final

from ....errors import counted
from ....types import ANY, BUFFER, TENSOR, BufferType, TensorType, Type
from ...ir import Operation, captured_values
from ...ir import Region as IrRegion
from ...ir.sharding import ManualAxes, Mesh, ShardingPerValue, TensorSharding
from ..control.control import results_are
from ..framework.attribute_kinds import I64, STRING, DialectData, NumberedEnum
from ..framework.declaration import Attribute, Constraint, Op, Operand, Region, Result, constraint
from ..framework.rules import all_types_agree, first, types_text
from ..shape.creation import ConstantOp
from .checks import (
    common_mesh,
    mesh_axes_violation,
    mesh_devices_violation,
    sharding_violation,
    shardings_violation,
    unreduced_violation,
)
from .scope import SHARDING_KIND, SHARDINGS, ShardingOp

SHAPED: Final = TENSOR | BUFFER


class Direction(enum.IntEnum):
    """The directions in which shardings may propagate, by MLIR's numbers: FORWARD is from operands to
    results.
    """

    NONE = 0
    FORWARD = 1
    BACKWARD = 2
    BOTH = 3


class Reduction(enum.IntEnum):
    """The function that combines the values of several devices, by MLIR's numbers."""

    sum = 0
    max = 1
    min = 2


class MeshOp(Op, name="sdy.mesh", assembly="custom(symbol_name) = $mesh attr-dict"):
    """Declares a mesh of devices, at the top level of a module."""

    sym_name = Attribute(STRING)
    mesh = Attribute(DialectData(Mesh))

    @constraint
    def C1(self) -> str | None:
        """axes have sizes of at least 1 and names of their own"""
        return mesh_axes_violation(self.mesh)

    @constraint
    def C2(self) -> str | None:
        """device_ids is empty, or a permutation of 0, 1, ...; without axes at most one device"""
        return mesh_devices_violation(self.mesh)


def valid_sharding(name: str, operand: str) -> Constraint:
    """A sharding must be valid for the type of an operand, if it is present."""

    def check(view: ShardingOp) -> str | None:
        sharding, type = getattr(view, name), getattr(view, operand)
        if view.scope is None or sharding is None:
            return None
        return sharding_violation(sharding, type, view.scope.mesh(sharding), view.scope.manual_axes)

    return Constraint(check, f"{name} is valid for type({operand})")


class Constrained(ShardingOp, assembly="$input $sharding attr-dict : same-type"):
    """Base of operations that constrain the sharding of a value, or of its uses from there on."""

    partition = "identity"

    input = Operand(ANY)
    sharding = Attribute(SHARDING_KIND)
    result = Result(ANY)

    C1 = valid_sharding("sharding", "input")

    @constraint
    def C2(self) -> str | None:
        """unreduced axes of the input are reduced by their reduction, others become unreduced by a sum"""
        if self.scope is None:
            return None
        value = self.operation.operands[0]
        while isinstance(value.owner, Operation) and value.owner.name == PropagationBarrier.name:
            value = value.owner.operands[0]
        before = self.scope.sharding_of(value)
        mesh = self.scope.mesh(self.sharding)
        if before is None or mesh is None or self.scope.mesh(before) != mesh:
            return None
        return unreduced_violation(before, self.sharding, mesh, introduces="sum", removes=before.reduction)

    def infer(self) -> list[Type]:
        return [self.input]


class ShardingConstraint(Constrained, name="sdy.sharding_constraint"):
    """Says how a value is to be sharded."""


class Reshard(Constrained, name="sdy.reshard"):
    """Changes the sharding of a value."""


class ShardingGroup(
    ShardingOp,
    name="sdy.sharding_group",
    assembly="$input group_id = $group_id attr-dict : type($input)",
    pure=False,
):
    """Adds a value to a group whose values all have the same sharding."""

    input = Operand(TENSOR)
    group_id = Attribute(I64)


class PropagationBarrier(
    ShardingOp,
    name="sdy.propagation_barrier",
    assembly="$input allowed_direction = $allowed_direction attr-dict : same-type",
):
    """Lets shardings propagate in only one direction, or in none."""

    partition = "identity"

    input = Operand(TENSOR)
    allowed_direction = Attribute(NumberedEnum(Direction))
    result = Result(TENSOR)

    @constraint
    def C1(self) -> str | None:
        """allowed_direction != BOTH"""
        return "allowed_direction is BOTH" if self.allowed_direction is Direction.BOTH else None

    def infer(self) -> list[Type]:
        return [self.input]


class ShardingConstant(ConstantOp, ShardingOp, name="sdy.constant", assembly="custom(constant)"):
    """A constant, whose uses may be sharded in different ways."""


class Edge(ShardingOp):
    """Base of operations that represent values which must have the same sharding."""

    @constraint
    def C1(self) -> str | None:
        """the shape of the input is known"""
        type = self.operation.operands[0].type
        is_static = not isinstance(type, TensorType) or type.is_static
        return None if is_static else f"the input is {type}"

    @constraint
    def C2(self) -> str | None:
        """the input has no other use"""
        count = 1 if self.scope is None else self.scope.use_count(self.operation.operands[0])
        return None if count == 1 else f"the input has {counted(count, 'use')}"

    def infer(self) -> list[Type]:
        return [self.operation.operands[0].type]


class DataFlowEdge(
    Edge, name="sdy.data_flow_edge", assembly="$input ( sharding = $sharding )? attr-dict : same-type"
):
    """Represents a result of an operation with regions, and all values that flow into it."""

    input = Operand(SHAPED)
    sharding = Attribute(SHARDING_KIND, None)
    result = Result(SHAPED)

    @constraint
    def C3(self) -> str | None:
        """the input is no result of an operation of sdy but of a computation"""
        name = getattr(self.operation.operands[0].owner, "name", "")
        if not name.startswith("sdy.") or name in ("sdy.named_computation", "sdy.manual_computation"):
            return None
        return f"the input is a result of {name}"

    C4 = valid_sharding("sharding", "input")


class FunctionDataFlowEdge(Edge, name="sdy.func_data_flow_edge", assembly="$operand attr-dict : same-type"):
    """Represents an argument of a function or a result of a call, and the values that flow into it."""

    operand = Operand(SHAPED)
    result = Result(SHAPED)

    @constraint
    def C3(self) -> str | None:
        """operand is an argument of a function or a result of a call"""
        if self.scope is None:
            return None
        owner = self.operation.operands[0].owner
        if not isinstance(owner, Operation):
            outer = self.scope.owners.get(owner)
            return None if outer is None else f"operand belongs to a region of {outer.name}"
        return None if owner.name == "func.call" else f"operand is a result of {owner.name}"


class ShardingReturn(ShardingOp, name="sdy.return", assembly="attr-dict ( $results : types($results) )?"):
    """Ends the body of a computation of sdy."""

    is_terminator = True

    results = Operand(ANY, variadic=True)


def body_violation(view: NamedComputation | SdyManualComputation) -> str | None:
    """body ends with sdy.return and uses no values from outside"""
    body: IrRegion = view.body
    if body.block.terminator.name != "sdy.return":
        return f"body ends with {body.block.terminator.name}"
    captured = captured_values([body])
    return f"body uses {counted(len(captured), 'value')} from outside" if captured else None


class NamedComputation(
    ShardingOp,
    name="sdy.named_computation",
    assembly=(
        "custom(computation_name) ( $operands ) ( in_shardings = $in_shardings )? "
        "( out_shardings = $out_shardings )? custom(isolated_body) attr-dict : functional-type"
    ),
):
    """A named part of a function; inlining replaces it by its body."""

    operands = Operand(ANY, variadic=True)
    computation_name = Attribute(STRING, key="name")
    in_shardings = Attribute(SHARDINGS, None)
    out_shardings = Attribute(SHARDINGS, None)
    body = Region()
    results = Result(ANY, variadic=True)

    C1 = Constraint(body_violation)

    @constraint
    def C2(self) -> str | None:
        """input_types(body) = type(operands...)"""
        inputs = self.body.type.inputs
        if all_types_agree(inputs, self.operands):
            return None
        return f"body takes {types_text(inputs)}, but the operands are {types_text(self.operands)}"

    @constraint
    def C3(self) -> str | None:
        """type(results...) = output_types(body)"""
        return results_are(self.results, self.body.type.results, "body returns")

    @constraint
    def C4(self) -> str | None:
        """in_shardings and out_shardings are valid for the operands and the results"""
        return first(
            _per_value(self, "in_shardings", self.in_shardings, self.operands),
            _per_value(self, "out_shardings", self.out_shardings, self.results),
        )


def _per_value(
    view: ShardingOp, name: str, shardings: ShardingPerValue | None, types: Sequence[Type]
) -> str | None:
    if view.scope is None or shardings is None:
        return None
    meshes = [view.scope.mesh(sharding) for sharding in shardings.shardings]
    reason = shardings_violation(shardings, types, meshes, view.scope.manual_axes)
    return None if reason is None else f"{name}: {reason}"


class SdyManualComputation(
    ShardingOp,
    name="sdy.manual_computation",
    assembly=(
        "( $tensors ) in_shardings = $in_shardings out_shardings = $out_shardings "
        "manual_axes = $manual_axes custom(isolated_body) attr-dict : functional-type"
    ),
):
    """A body that is written for one device along its manual axes: it sees shards and communicates itself."""

    tensors = Operand(ANY, variadic=True)
    in_shardings = Attribute(SHARDINGS)
    out_shardings = Attribute(SHARDINGS)
    manual_axes = Attribute(DialectData(ManualAxes))
    body = Region()
    results = Result(ANY, variadic=True)

    C1 = Constraint(body_violation)

    @constraint
    def C2(self) -> str | None:
        """manual_axes are not manual in a computation around it"""
        outer = () if self.scope is None else self.scope.manual_axes
        bound = next((name for name in self.manual_axes.names if name in outer), None)
        return None if bound is None else f"the axis {bound!r} is manual in a computation around it"

    @constraint
    def C3(self) -> str | None:
        """in_shardings and out_shardings are valid for tensors and results"""
        return first(
            *(
                _per_value(self, name, shardings, types) if types or shardings.shardings else None
                for name, shardings, types, _ in self._sides()
            )
        )

    @constraint
    def C4(self) -> str | None:
        """size(tensors) = size(inputs(body)) and size(results) = size(outputs(body))"""
        for name, _, types, inner in self._sides():
            if len(types) != len(inner):
                return f"{name} are for {counted(len(types), 'value')}, but body has {len(inner)}"
        return None

    @constraint
    def C5(self) -> str | None:
        """manual axes come before others in each dimension's sharding"""
        manual = self.manual_axes.names
        for name, shardings, _, _ in self._sides():
            for sharding in shardings.shardings:
                for dimension in sharding.dimensions:
                    is_manual = [axis.name in manual for axis in dimension.axes]
                    if is_manual != sorted(is_manual, reverse=True):
                        return f"{name}: {dimension.body()} has a manual axis behind one that is not"
        return None

    @constraint
    def C6(self) -> str | None:
        """sizes are divisible by those of the manual axes, and body has the types of the shards"""
        if self.scope is None:
            return None
        for name, shardings, types, inner in self._sides():
            for index, (sharding, type, local) in enumerate(
                zip(shardings.shardings, types, inner, strict=False)
            ):
                reason = self._local_violation(sharding, type, local)
                if reason is not None:
                    return f"{name}, value {index}: {reason}"
        return None

    @constraint
    def C7(self) -> str | None:
        """all shardings name the same mesh or an empty one, which has the manual axes"""
        shardings = [*self.in_shardings.shardings, *self.out_shardings.shardings]
        if self.scope is None or not shardings:
            return None
        mesh = self.mesh()
        if mesh is None:
            return "the shardings name different meshes" if self.manual_axes.names else None
        unknown = next((name for name in self.manual_axes.names if name not in mesh.sizes), None)
        return None if unknown is None else f"the mesh {mesh.body()} has no axis {unknown!r}"

    def mesh(self) -> Mesh | None:
        """The mesh of all shardings; None if there are none, or where it is not known here."""
        shardings = [*self.in_shardings.shardings, *self.out_shardings.shardings]
        if self.scope is None:
            return None
        meshes = [self.scope.mesh(sharding) for sharding in shardings]
        return common_mesh([mesh for mesh in meshes if mesh is not None])

    def _sides(self) -> list[tuple[str, ShardingPerValue, Sequence[Type], Sequence[Type]]]:
        """Name, shardings, outer types and inner types of the inputs and of the outputs."""
        inner = self.body.type
        return [
            ("in_shardings", self.in_shardings, self.tensors, inner.inputs),
            ("out_shardings", self.out_shardings, self.results, inner.results),
        ]

    def _local_violation(self, sharding: TensorSharding, type: Type, local: Type) -> str | None:
        assert self.scope is not None
        mesh = self.scope.mesh(sharding)
        if not isinstance(type, (TensorType, BufferType)) or mesh is None:
            return None
        manual = sharding.restricted_to(self.manual_axes.names)
        shape = manual.local_shape(type.shape, mesh)
        if manual.global_shape(shape, mesh) != tuple(type.shape):
            return f"{type} is not divisible by the sizes of the manual axes"
        expected = type.with_shape(shape) if isinstance(type, TensorType) else type
        return None if expected == local else f"body has {local}, but the shard is {expected}"
