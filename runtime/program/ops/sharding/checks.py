"""Checks meshes, lists of axes and shardings by the rules that the operations of sdy share.

Each function returns None if its rule holds, and otherwise the reason with the offending values.

Source: the constraints of the sdy dialect's attributes Mesh, AxisRefList, DimensionSharding, TensorSharding.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence

from ....errors import counted
from ....types import BufferType, TensorType, TupleType, Type
from ...ir.sharding import AxisRef, DimensionSharding, Mesh, ShardingPerValue, SubAxis, TensorSharding
from ..framework.rules import first


class AxisUse:
    """The axes that one sharding or one operation has named so far; no two of them may overlap."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.sizes = mesh.sizes
        self.seen: set[AxisRef] = set()

    def add(self, axes: Iterable[AxisRef], *, what: str | None = None) -> str | None:
        """Enter a list of axes.

        Args:
            axes: the list, from major to minor.
            what: what to call a list that must be in the order of the mesh; None for any order.
        """
        axes = list(axes)
        if what is not None and axes != sorted(axes, key=self.mesh.sort_key):
            return f"the {what} axes {_text(axes)} are not in the order of the mesh {self.mesh.body()}"
        before: AxisRef | None = None
        for axis in axes:
            if axis.name not in self.sizes:
                return f"the mesh {self.mesh.body()} has no axis {axis.name!r}"
            if axis in self.seen:
                return f"the axis {axis.body()} is named twice"
            if before is not None and before.can_merge(axis):
                return f"the sub-axes {before.body()} and {axis.body()} must be written as one"
            self.seen.add(axis)
            before = axis
        return None

    def sub_axes(self) -> str | None:
        """Why the sub-axes are not disjoint parts of their axes; None if they are."""
        by_name: dict[str, list[AxisRef]] = {}
        for axis in sorted(self.seen, key=self.mesh.sort_key):
            if axis.sub_axis is not None:
                by_name.setdefault(axis.name, []).append(axis)
        for name, axes in by_name.items():
            if AxisRef(name) in self.seen:
                return f"both the axis {name!r} and its sub-axis {axes[0].body()} are named"
            reason = first(*(self._sub_axis(axis) for axis in axes))
            if reason is not None:
                return reason
            for left, right in itertools.pairwise(axes):
                if left.next_pre_size(self.mesh) > right.pre_size:
                    return f"the sub-axes {left.body()} and {right.body()} overlap"
        return None

    def _sub_axis(self, axis: AxisRef) -> str | None:
        sub_axis, size = axis.sub_axis, self.sizes[axis.name]
        assert sub_axis is not None
        if sub_axis.pre_size < 1:
            return f"the sub-axis {axis.body()} must have a pre-size of at least 1"
        if sub_axis.size <= 1:
            return f"the sub-axis {axis.body()} must have a size of at least 2"
        if size % sub_axis.next_pre_size:
            return f"the sub-axis {axis.body()} does not divide its axis, whose size is {size}"
        if sub_axis.size == size:
            return f"the sub-axis {axis.body()} is the whole axis"
        return None


def _text(axes: Iterable[AxisRef]) -> str:
    return f"{{{', '.join([axis.body() for axis in axes])}}}"


def mesh_axes_violation(mesh: Mesh) -> str | None:
    """Axes must have sizes of at least 1 and different names."""
    names: set[str] = set()
    for axis in mesh.axes:
        if axis.size < 1:
            return f"the axis {axis.name!r} must have a size of at least 1, but has {axis.size}"
        if axis.name in names:
            return f"there are several axes {axis.name!r}"
        names.add(axis.name)
    return None


def mesh_devices_violation(mesh: Mesh) -> str | None:
    """Devices must be a permutation of 0, 1, 2, ..., or one device if there are no axes."""
    negative = [device for device in mesh.device_ids if device < 0]
    if negative:
        return f"device {negative[0]} is negative"
    if not mesh.axes:
        count = len(mesh.device_ids)
        return None if count <= 1 else f"there are no axes, but {count} device_ids"
    if not mesh.device_ids:
        return None
    if len(mesh.device_ids) != mesh.total_size:
        return (
            f"has {counted(len(mesh.device_ids), 'device_id')}, "
            f"but the axes have {counted(mesh.total_size, 'device')}"
        )
    if sorted(mesh.device_ids) != list(range(mesh.total_size)):
        return f"device_ids must be a permutation of 0 to {mesh.total_size - 1}, but are {mesh.device_ids}"
    return None


def mesh_violation(mesh: Mesh) -> str | None:
    """All constraints on meshes."""
    return first(mesh_axes_violation(mesh), mesh_devices_violation(mesh))


def sharding_violation(
    sharding: TensorSharding, type: Type | None, mesh: Mesh | None, manual_axes: Collection[str] = ()
) -> str | None:
    """Why a sharding is not valid for a value of a type; None if it is.

    Args:
        sharding: the sharding.
        type: the type of the value; None if the sharding is that of an operation without results.
        mesh: the mesh that the sharding names; None: there is no such mesh.
        manual_axes: axes of the computations around it that are manual.
    """
    if mesh is None:
        return f"there is no mesh {sharding.mesh_text}"
    if isinstance(sharding.mesh, Mesh) and (reason := mesh_violation(mesh)) is not None:
        return reason
    names_nothing = not (sharding.dimensions or sharding.replicated or sharding.unreduced)
    if mesh.is_maximal or (type is None and sharding.is_fully_replicated):
        return None if names_nothing else f"a sharding on one device must be empty, but is {sharding.body()}"
    if isinstance(type, TupleType):
        if len(type.types) != 1:
            return f"only tuples of one value can have a sharding, but the type is {type}"
        type = type.types[0]
    if not isinstance(type, (TensorType, BufferType)):
        return None if names_nothing else f"the sharding of a {type} must be empty, but is {sharding.body()}"
    if len(sharding.dimensions) != len(type.shape):
        return f"the sharding has rank {len(sharding.dimensions)}, but the type is {type}"
    return _axes_violation(sharding, mesh, manual_axes)


def _axes_violation(sharding: TensorSharding, mesh: Mesh, manual_axes: Collection[str]) -> str | None:
    use = AxisUse(mesh)
    for index, dimension in enumerate(sharding.dimensions):
        reason = first(_priority_violation(index, dimension), use.add(dimension.axes))
        if reason is not None:
            return reason
    reason = first(
        use.add(sharding.replicated, what="replicated"), use.add(sharding.unreduced, what="unreduced")
    )
    if reason is not None:
        return reason
    bound = next((axis.name for axis in sharding.axes() if axis.name in manual_axes), None)
    if bound is not None:
        return f"the axis {bound!r} is manual in a computation around it"
    return use.sub_axes()


def _priority_violation(index: int, dimension: DimensionSharding) -> str | None:
    if dimension.priority is None or dimension.axes or not dimension.is_closed:
        return None
    return f"dimension {index} is empty and closed, but has a priority"


def shardings_violation(
    per_value: ShardingPerValue,
    types: Sequence[Type],
    meshes: Sequence[Mesh | None],
    manual_axes: Collection[str] = (),
) -> str | None:
    """Why there is not a valid sharding for each value; None if there is.

    Args:
        per_value: the shardings.
        types: the types of the values.
        meshes: the mesh that each sharding names, or None if there is none of its name.
        manual_axes: those of `sharding_violation`.
    """
    shardings = per_value.shardings
    if not types and len(shardings) == 1:
        mesh = meshes[0]
        if (mesh is not None and mesh.is_maximal) or shardings[0].is_fully_replicated:
            return sharding_violation(shardings[0], None, mesh, manual_axes)
    if len(shardings) != len(types):
        return f"has {counted(len(shardings), 'sharding')} for {counted(len(types), 'value')}"
    for index, (sharding, type, mesh) in enumerate(zip(shardings, types, meshes, strict=True)):
        reason = sharding_violation(sharding, type, mesh, manual_axes)
        if reason is not None:
            return reason if len(types) == 1 else f"value {index}: {reason}"
    return None


def common_mesh(meshes: Iterable[Mesh]) -> Mesh | None:
    """The mesh that all nonempty meshes are equal to; None if they differ or there is none."""
    common: Mesh | None = None
    for mesh in meshes:
        if common is None or common.is_empty:
            common = mesh
        elif not mesh.is_empty and mesh != common:
            return None
    return common


def axes_without(axes: Iterable[AxisRef], others: Sequence[AxisRef], mesh: Mesh) -> list[AxisRef]:
    """Axes without the parts that `others` name."""
    left = list(axes)
    for other in others:
        left = [remainder for axis in left for remainder in _without(axis, other, mesh)]
    return left


def _without(axis: AxisRef, other: AxisRef, mesh: Mesh) -> list[AxisRef]:
    if not axis.overlaps(other):
        return [axis]
    remainders = []
    if axis.pre_size < other.pre_size:
        remainders.append((axis.pre_size, other.pre_size))
    if other.next_pre_size(mesh) < axis.next_pre_size(mesh):
        remainders.append((other.next_pre_size(mesh), axis.next_pre_size(mesh)))
    return [AxisRef(axis.name, SubAxis(start, end // start)) for start, end in remainders]


def unreduced_violation(
    operand: TensorSharding,
    result: TensorSharding,
    mesh: Mesh,
    *,
    introduces: str | None,
    removes: str | None,
) -> str | None:
    """Why an operation may not change its operand's unreduced axes to those of its result; None if it may.

    Args:
        operand, result: the shardings, both on `mesh`.
        mesh: the mesh.
        introduces: the reduction that axes may have which become unreduced; None: none may become so.
        removes: the reduction that axes must have which the operation reduces; None: it reduces none.
    """
    introduced = axes_without(result.unreduced, operand.unreduced, mesh)
    if introduced and result.reduction != introduces:
        if introduces is None:
            return f"the axis {introduced[0].body()} becomes unreduced"
        return f"axes become unreduced by {result.reduction}, but must do so by {introduces}"
    removed = axes_without(operand.unreduced, result.unreduced, mesh)
    if removed and operand.reduction != removes:
        return f"the axes {_text(removed)} are unreduced by {operand.reduction}, but are reduced by {removes}"
    overlaps = any(left.overlaps(right) for left in operand.unreduced for right in result.unreduced)
    if overlaps and operand.reduction != result.reduction:
        return f"unreduced axes change from {operand.reduction} to {result.reduction}"
    return None
