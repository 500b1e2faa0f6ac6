"""Communication that changes how a value is sharded, not the value: collectives of the sdy dialect.

A value of the program is the whole tensor, whatever its sharding, so these operations hand it on. A reduction
along axes of several devices is rejected: the program does not hold the partial result of each device.

Source: the sdy dialect's operations that implement CollectiveOpInterface.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from ....errors import counted
from ....types import Type
from ...ir.sharding import (
    AllToAllParameters,
    AxisList,
    AxisLists,
    AxisRef,
    DimensionSharding,
    Mesh,
    TensorSharding,
    append_axis,
)
from ..framework.attribute_kinds import DialectData, NumberedEnum
from ..framework.declaration import Attribute, Constraint, Operand, Result, constraint
from ..framework.rules import first
from .checks import AxisUse, unreduced_violation
from .operations import SHAPED, Reduction, valid_sharding
from .scope import SHARDING_KIND, ShardingOp

_OPERAND: Final = "$tensor out_sharding = $out_sharding attr-dict : same-type"
"""The assembly format of a collective operation, after the axes."""
AXES: Final = DialectData(AxisList)
AXES_OF_DIMENSIONS: Final = DialectData(AxisLists)


REDUCTION: Final = NumberedEnum(Reduction)


class SdyCollective(ShardingOp):
    """Base of collectives: the operand's sharding and what the operation does give the result's."""

    partition = "identity"

    needs_sharding = True
    """Whether the operand must have a sharding; others are taken to be whole on each device."""

    tensor = Operand(SHAPED)
    out_sharding = Attribute(SHARDING_KIND)
    result = Result(SHAPED)

    C1 = valid_sharding("out_sharding", "tensor")

    @constraint
    def C2(self) -> str | None:
        """the sharding of tensor is on the mesh of out_sharding; it may be missing where it is not needed"""
        current = self._operand_sharding()
        if self.scope is None or current is None:
            return self._missing()
        if self.scope.mesh(current) == self.scope.mesh(self.out_sharding):
            return None
        return f"tensor is on {current.mesh_text}, but out_sharding on {self.out_sharding.mesh_text}"

    def infer(self) -> list[Type]:
        return [self.tensor]

    def reduced_axes(self) -> Iterable[AxisRef]:
        """The axes along which values of several devices become one."""
        return ()

    def _missing(self) -> str | None:
        """The reason if the operand lacks a sharding that is needed."""
        is_missing = self.needs_sharding and self.scope is not None and self._operand_sharding() is None
        return "tensor has no sharding" if is_missing else None

    def _operand_sharding(self) -> TensorSharding | None:
        """The sharding that the program gives the operand."""
        return None if self.scope is None else self.scope.sharding_of(self.operation.operands[0])

    def before(self) -> TensorSharding:
        """The operand's sharding; without one it is whole on each device."""
        current = self._operand_sharding()
        if current is not None:
            return current
        closed = DimensionSharding(())
        return TensorSharding(self.out_sharding.mesh, (closed,) * len(self.out_sharding.dimensions))

    def overlap_violation(self, axes: Iterable[AxisRef], others: Iterable[AxisRef]) -> str | None:
        """The first of `axes` that overlaps with one that divides the operand, or with one of `others`."""
        dividing = [axis for dimension in self.before().dimensions for axis in dimension.axes]
        pairs = itertools.product(axes, (*dividing, *others))
        overlap = next(((axis, other) for axis, other in pairs if axis.overlaps(other)), None)
        return None if overlap is None else f"the axis {overlap[0].body()} overlaps with {overlap[1].body()}"

    def mesh(self) -> Mesh | None:
        """The mesh of `out_sharding`, None if it is not known here."""
        return None if self.scope is None else self.scope.mesh(self.out_sharding)


def _differs(index: int, expected: object, result: DimensionSharding) -> str | None:
    """Why a dimension of the result is not sharded as expected; `expected` may be a reason already."""
    if isinstance(expected, str) or expected == result.axes:
        return expected if isinstance(expected, str) else None
    assert isinstance(expected, tuple)
    required = DimensionSharding(expected).body()
    return f"dimension {index} of out_sharding is {result.body()}, but must have the axes {required}"


def axes_after_gather(
    index: int, dimension: DimensionSharding, axes: Sequence[AxisRef], mesh: Mesh
) -> tuple[AxisRef, ...] | str:
    """The axes of a dimension without the minor ones `axes`; a reason where these are not its minor ones."""
    left = list(dimension.axes)
    for axis in reversed(axes):
        if not left or not axis.is_suffix_of(left[-1], mesh):
            return f"the axis {axis.body()} is not the last of dimension {index}, {dimension.body()}"
        major = left.pop().without_suffix(axis)
        if major is not None:
            left.append(major)
    return tuple(left)


def axes_after_slice(
    index: int, dimension: DimensionSharding, axes: Sequence[AxisRef], mesh: Mesh
) -> tuple[AxisRef, ...]:
    """The axes of a dimension and behind them `axes`."""
    longer = list(dimension.axes)
    for axis in axes:
        append_axis(longer, axis, mesh)
    return tuple(longer)


def _gives_out_sharding(
    name: str, expected: Callable[[int, DimensionSharding, Sequence[AxisRef], Mesh], object]
) -> Constraint:
    """An operation's axes for each dimension, applied to the operand's sharding, must give `out_sharding`.

    Args:
        name: the attribute that has the axes.
        expected: gives the axes of a dimension of the result, or a text that says why there are none.
    """

    def check(view: SdyCollective) -> str | None:
        lists: AxisLists = getattr(view, name)
        mesh = view.mesh()
        if mesh is None:
            return None
        use = AxisUse(mesh)
        reason = first(*(use.add(each.axes) for each in lists.lists))
        if reason is not None:
            return reason
        before, after = view.before().dimensions, view.out_sharding.dimensions
        if len(lists.lists) != len(after):
            rank = counted(len(lists.lists), "dimension")
            return f"has axes for {rank}, but out_sharding has {len(after)}"
        dimensions = enumerate(zip(before, lists.lists, after, strict=True))
        return first(
            *(
                _differs(d, expected(d, sharding, axes.axes, mesh), to)
                for d, (sharding, axes, to) in dimensions
            )
        )

    return Constraint(check, f"the sharding of tensor and {name} give out_sharding")


class SdyAllGather(SdyCollective, name="sdy.all_gather", assembly=f"$gathering_axes {_OPERAND}"):
    """Joins the shards along axes: dimensions are no longer divided along them."""

    gathering_axes = Attribute(AXES_OF_DIMENSIONS)

    C3 = _gives_out_sharding("gathering_axes", axes_after_gather)


class SdyAllSlice(SdyCollective, name="sdy.all_slice", assembly=f"$slicing_axes {_OPERAND}"):
    """Keeps of each shard the slice that belongs to the device: dimensions are divided along more axes."""

    needs_sharding = False

    slicing_axes = Attribute(AXES_OF_DIMENSIONS)

    C3 = _gives_out_sharding("slicing_axes", axes_after_slice)


class SdyAllToAll(SdyCollective, name="sdy.all_to_all", assembly=f"$params {_OPERAND}"):
    """Divides other dimensions along axes than before."""

    params = Attribute(DialectData(AllToAllParameters))

    @constraint
    def C3(self) -> str | None:
        """params is not empty, and its axes are valid"""
        if not self.params.parameters:
            return "params is empty"
        mesh = self.mesh()
        if mesh is None:
            return None
        use = AxisUse(mesh)
        return first(*(use.add(each.axes) for each in self.params.parameters))

    @constraint
    def C4(self) -> str | None:
        """dimensions of params are in range, each named once, and the source dimensions sorted"""
        rank = len(self.tensor.shape)
        seen: set[int] = set()
        for each in self.params.parameters:
            for dimension in (each.source_dimension, each.target_dimension):
                if not 0 <= dimension < rank:
                    return f"dimension {dimension} is out of range for the rank {rank}"
                if dimension in seen:
                    return f"dimension {dimension} is named twice"
                seen.add(dimension)
        sources = [each.source_dimension for each in self.params.parameters]
        return None if sources == sorted(sources) else f"the source dimensions {sources} are not sorted"

    @constraint
    def C5(self) -> str | None:
        """moving axes from source to target dimensions in the sharding of tensor gives out_sharding"""
        mesh = self.mesh()
        if mesh is None:
            return None
        before, after = self.before().dimensions, self.out_sharding.dimensions
        expected: list[object] = [dimension.axes for dimension in before]
        for each in self.params.parameters:
            source, target = each.source_dimension, each.target_dimension
            expected[source] = axes_after_gather(source, before[source], each.axes, mesh)
            expected[target] = axes_after_slice(target, before[target], each.axes, mesh)
        return first(*(_differs(index, axes, after[index]) for index, axes in enumerate(expected)))


class SdyCollectivePermute(SdyCollective, name="sdy.collective_permute", assembly=_OPERAND):
    """Moves shards between devices: dimensions are divided along other axes into as many shards."""

    @constraint
    def C2(self) -> str | None:
        """tensor has a sharding of the same rank on the same mesh, or on one whose devices alone differ"""
        current, mesh = self._operand_sharding(), self.mesh()
        before = None if self.scope is None or current is None else self.scope.mesh(current)
        if mesh is None or before is None or current is None:
            return self._missing()
        if mesh.axes != before.axes or len(current.dimensions) != len(self.out_sharding.dimensions):
            return f"tensor has the sharding {current.body()} on the mesh {before.body()}"
        if current.mesh != self.out_sharding.mesh and mesh.device_ids == before.device_ids:
            return f"the meshes {current.mesh_text} and {self.out_sharding.mesh_text} have the same devices"
        return None

    @constraint
    def C3(self) -> str | None:
        """each dimension is divided into as many shards as before"""
        mesh = self.mesh()
        if mesh is None:
            return None
        pairs = zip(self.before().dimensions, self.out_sharding.dimensions, strict=True)
        for index, (before, after) in enumerate(pairs):
            counts = before.shard_count(mesh), after.shard_count(mesh)
            if counts[0] != counts[1]:
                return f"dimension {index} is divided into {counts[0]} shards before and {counts[1]} after"
        return None


class SdyReducing(SdyCollective):
    """Base of collectives that reduce along axes."""

    needs_sharding = False

    reduction_op = Attribute(REDUCTION, Reduction.sum)

    def transition_violation(self) -> str | None:
        """unreduced axes are kept, or reduced by their reduction"""
        mesh = self.mesh()
        if mesh is None:
            return None
        reduction = self.reduction_op.name
        return unreduced_violation(self.before(), self.out_sharding, mesh, introduces=None, removes=reduction)


class SdyAllReduce(
    SdyReducing, name="sdy.all_reduce", assembly=f"( $reduction_op )? $reduction_axes {_OPERAND}"
):
    """Reduces the values of all devices along axes."""

    reduction_axes = Attribute(AXES)

    @constraint
    def C3(self) -> str | None:
        """both shardings divide dimensions along the same axes"""
        before, after = self.before(), self.out_sharding
        if self.scope is None or (before.is_fully_replicated and after.is_fully_replicated):
            return None
        axes = [[dimension.axes for dimension in sharding.dimensions] for sharding in (before, after)]
        if before.mesh == after.mesh and axes[0] == axes[1]:
            return None
        return f"tensor has the sharding {before.body()}, but out_sharding is {after.body()}"

    @constraint
    def C4(self) -> str | None:
        """reduction_axes are valid and in the order of the mesh"""
        mesh = self.mesh()
        return None if mesh is None else AxisUse(mesh).add(self.reduction_axes.axes, what="reduction")

    @constraint
    def C5(self) -> str | None:
        """reduction_axes divide no dimension, and are neither replicated before nor unreduced after"""
        if self.scope is None:
            return None
        others = (*self.before().replicated, *self.out_sharding.unreduced)
        return self.overlap_violation(self.reduction_axes.axes, others)

    C6 = Constraint(SdyReducing.transition_violation)

    def reduced_axes(self) -> Iterable[AxisRef]:
        axes: AxisList = self.reduction_axes
        return axes.axes


class SdyReduceScatter(
    SdyReducing, name="sdy.reduce_scatter", assembly=f"( $reduction_op )? $reduce_scatter_axes {_OPERAND}"
):
    """Reduces the values of all devices along axes; each device keeps one slice of the result."""

    reduce_scatter_axes = Attribute(AXES_OF_DIMENSIONS)

    C3 = Constraint(SdyReducing.transition_violation)
    C4 = _gives_out_sharding("reduce_scatter_axes", axes_after_slice)

    def reduced_axes(self) -> Iterable[AxisRef]:
        return [axis for each in self.reduce_scatter_axes.lists for axis in each.axes]


class ToUnreduced(SdyCollective):
    """Base of operations after which axes are unreduced."""

    def becoming_unreduced(self) -> Sequence[AxisRef]:
        raise NotImplementedError

    def sum_violation(self) -> str | None:
        """out_sharding is unreduced by a sum"""
        reduction = self.out_sharding.reduction
        return None if reduction == "sum" else f"out_sharding is unreduced by {reduction}"

    def unreduced_after_violation(self) -> str | None:
        """the unreduced axes of out_sharding are those of tensor and the axes that become unreduced"""
        mesh = self.mesh()
        if mesh is None:
            return None
        required = mesh.sorted_and_merged([*self.before().unreduced, *self.becoming_unreduced()])
        after: TensorSharding = self.out_sharding
        if required == after.unreduced:
            return None
        return f"out_sharding is {after.body()}, but its unreduced axes must be {AxisList(required).body()}"

class ShardedToUnreduced(ToUnreduced, name="sdy.sharded_to_unreduced", assembly=f"$axes {_OPERAND}"):
    """Turns axes that divide dimensions into unreduced axes."""

    axes = Attribute(AXES_OF_DIMENSIONS)

    C3 = Constraint(ToUnreduced.sum_violation)
    C4 = _gives_out_sharding("axes", axes_after_gather)
    C5 = Constraint(ToUnreduced.unreduced_after_violation)

    def becoming_unreduced(self) -> Sequence[AxisRef]:
        return [axis for each in self.axes.lists for axis in each.axes]


class ReplicatedToUnreduced(ToUnreduced, name="sdy.replicated_to_unreduced", assembly=f"$axes {_OPERAND}"):
    """Turns axes along which a value is replicated into unreduced axes."""

    axes = Attribute(AXES)

    C3 = Constraint(ToUnreduced.sum_violation)

    @constraint
    def C4(self) -> str | None:
        """both shardings divide dimensions in the same way"""
        before, after = self.before(), self.out_sharding
        if self.scope is None or before.dimensions == after.dimensions:
            return None
        return f"tensor has the sharding {before.body()}, but out_sharding is {after.body()}"

    @constraint
    def C5(self) -> str | None:
        """axes is not empty, valid, and in the order of the mesh"""
        if not self.axes.axes:
            return "axes is empty"
        mesh = self.mesh()
        return None if mesh is None else AxisUse(mesh).add(self.axes.axes, what="unreduced")

    @constraint
    def C6(self) -> str | None:
        """axes neither divide dimensions of tensor nor are unreduced there"""
        return self.overlap_violation(self.axes.axes, self.before().unreduced)

    C7 = Constraint(ToUnreduced.unreduced_after_violation)

    def becoming_unreduced(self) -> Sequence[AxisRef]:
        axes: AxisList = self.axes
        return axes.axes
