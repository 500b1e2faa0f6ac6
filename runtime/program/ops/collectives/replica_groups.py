"""The attribute ``replica_groups``: lists of ids, or axes of a mesh.

Source: specification, sections "Replica groups" and "StableHLO Mesh".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ....kernels.named_tuples import NamedTuple
from ....types import ELEMENT_TYPES, TensorType
from ...ir import Attribute, DenseElementsAttribute, OpaqueAttribute, StructAttribute, SymbolAttribute
from ...ir.attributes import FieldValue
from ...ir.sharding import AxisRef, Mesh, MeshAxis, SubAxis
from ..framework.attribute_kinds import AttributeKind, array_of

MESH_AXES: Final = "replica_group_mesh_axes"
_SUB_AXIS: Final = re.compile(r"\(\s*(\d+)\s*\)\s*(\d+)")
_NO_ID: Final = -1
"""Fills the rows of groups that are shorter than others."""


class ReplicaGroups(NamedTuple):
    """Groups of ids.

    Attributes:
        rows: the ids of each group; None if `mesh_name` names a mesh that is not known yet.
        is_ragged: whether a row was filled up with -1.
        mesh_name: the symbol of the mesh.
    """

    rows: tuple[tuple[int, ...], ...] | None
    is_ragged: bool = False
    mesh_name: str | None = None

    @property
    def ids(self) -> list[int]:
        """All ids in order; none where they are not known yet."""
        return [identifier for row in self.rows or () for identifier in row]

    @property
    def group_size(self) -> int | None:
        """The number of ids in each group; None if it is not known or differs."""
        sizes = {len(row) for row in self.rows or ()}
        return sizes.pop() if len(sizes) == 1 else None


class _ReplicaGroups(AttributeKind[ReplicaGroups]):
    """``dense<...> : tensor<NxMxi64>``, or ``#stablehlo.replica_group_mesh_axes<...>``."""

    description = "a two-dimensional constant of i64 or #stablehlo.replica_group_mesh_axes"

    def decode(self, attribute: Attribute) -> ReplicaGroups:
        if isinstance(attribute, StructAttribute) and attribute.mnemonic == MESH_AXES:
            return _groups_of_axes(attribute.fields)
        array = array_of(attribute, 2, np.int64)
        if array is None:
            raise self.mismatch(attribute)
        rows = tuple(
            tuple(identifier for identifier in row if identifier != _NO_ID) for row in array.tolist()
        )
        return ReplicaGroups(rows, any(len(row) < array.shape[1] for row in rows))

    def encode(self, value: ReplicaGroups) -> Attribute:
        return dense_groups(value.rows or ())


REPLICA_GROUPS: Final = _ReplicaGroups()


def dense_groups(rows: Sequence[Sequence[int]]) -> DenseElementsAttribute:
    """Groups of ids as a constant."""
    width = max(map(len, rows), default=0)
    array = np.full((len(rows), width), _NO_ID, np.int64)
    for filled, row in zip(array, rows, strict=True):
        filled[: len(row)] = row
    return DenseElementsAttribute(TensorType(array.shape, ELEMENT_TYPES["i64"]), array)


def resolved_groups(attribute: StructAttribute, mesh: Mesh) -> DenseElementsAttribute:
    """The groups of axes of a mesh that the attribute names, as lists of ids.

    Raises:
        ValueError: the mesh has no such axes.
    """
    return dense_groups(mesh_groups(mesh, _axes(attribute.fields)))


def _groups_of_axes(fields: Mapping[str, Any]) -> ReplicaGroups:
    """The groups that axes make; ValueError if the fields are malformed."""
    axes, mesh = _axes(fields), fields.get("mesh")
    if isinstance(mesh, SymbolAttribute):
        return ReplicaGroups(None, mesh_name=str(mesh))
    if not isinstance(mesh, StructAttribute) or mesh.mnemonic != "mesh":
        raise ValueError("must have a mesh: a symbol or #stablehlo.mesh")
    return ReplicaGroups(mesh_groups(_mesh(mesh.fields), axes))


def _mesh(fields: Mapping[str, FieldValue]) -> Mesh:
    axes = fields.get("axes")
    if not isinstance(axes, tuple):
        raise ValueError("must have a mesh with axes")
    mesh_axes = []
    for axis in axes:
        named = axis.fields if isinstance(axis, StructAttribute) else {}
        name, size = named.get("name"), named.get("size")
        if not isinstance(name, str) or not isinstance(size, int):
            raise ValueError("must have a mesh whose axes each have a name and a size")
        mesh_axes.append(MeshAxis(name, size))
    devices = fields.get("device_ids", ())
    if isinstance(devices, DenseElementsAttribute):
        devices = tuple(devices.array.reshape(-1).tolist())
    listed = devices if isinstance(devices, tuple) else (None,)
    device_ids = [device for device in listed if type(device) is int]
    if len(device_ids) != len(listed):
        raise ValueError("must have a mesh whose device_ids are a constant of i64")
    mesh = Mesh(tuple(mesh_axes), tuple(device_ids))
    if min([axis.size for axis in mesh_axes], default=1) < 1 or len(mesh.sizes) != len(mesh_axes):
        raise ValueError(
            f"has the mesh {mesh.body()}, whose axes must have different names and sizes above 0"
        )
    if device_ids and sorted(device_ids) != list(range(mesh.total_size)):
        raise ValueError(f"has the mesh {mesh.body()}, whose device_ids must be 0 to {mesh.total_size - 1}")
    return mesh


def _axes(fields: Mapping[str, FieldValue]) -> list[AxisRef]:
    axes = fields.get("axes")
    if not isinstance(axes, tuple):
        raise ValueError("must have axes")
    return [_axis(axis) for axis in axes]


def _axis(axis: object) -> AxisRef:
    """An axis from ``"x"`` or ``#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>``."""
    if isinstance(axis, str):
        return AxisRef(axis)
    fields = axis.fields if isinstance(axis, StructAttribute) and axis.mnemonic == "axis_ref" else {}
    name, sub_axis = fields.get("name"), fields.get("sub_axis_info")
    if not isinstance(name, str):
        raise ValueError("must have axes that are each #stablehlo.axis_ref")
    if sub_axis is None:
        return AxisRef(name)
    if isinstance(sub_axis, StructAttribute):
        pre_size, size = sub_axis.fields.get("pre_size"), sub_axis.fields.get("size")
        if isinstance(pre_size, int) and isinstance(size, int):
            return AxisRef(name, SubAxis(pre_size, size))
    match = _SUB_AXIS.fullmatch(sub_axis.text) if isinstance(sub_axis, OpaqueAttribute) else None
    if match is None:
        raise ValueError("must have sub-axes such as (1)2")
    return AxisRef(name, SubAxis(int(match[1]), int(match[2])))


def mesh_groups(mesh: Mesh, axes: Sequence[AxisRef]) -> tuple[tuple[int, ...], ...]:
    """The groups of devices along some axes: the devices of a group differ in their positions on these alone.

    Args:
        mesh: the devices, in row-major order of its axes.
        axes: axes and sub-axes of it, from major to minor in the order within a group.

    Raises:
        ValueError: the mesh has no such axis or sub-axis, or two of them overlap.
    """
    factors = _factors(mesh, axes)
    sizes = [size for _, size in factors]
    along = []
    for axis in axes:
        along.append(next(index for index, (reference, _) in enumerate(factors) if reference is axis))
    devices = np.array(mesh.device_ids or range(mesh.total_size), np.int64).reshape(sizes)
    others = [index for index in range(len(factors)) if index not in along]
    group_size = int(np.prod([sizes[index] for index in along], dtype=np.int64))
    groups = devices.transpose([*others, *along]).reshape(-1, group_size)
    return tuple(map(tuple, groups.tolist()))


def _factors(mesh: Mesh, axes: Sequence[AxisRef]) -> list[tuple[AxisRef | None, int]]:
    """The mesh's axes cut where the sub-axes begin and end: who refers to each factor, and its size."""
    for axis in axes:
        if axis.name not in mesh.sizes:
            raise ValueError(f"names the axis {axis.body()}, which the mesh {mesh.body()} does not have")
    factors: list[tuple[AxisRef | None, int]] = []
    for mesh_axis in mesh.axes:
        position = 1
        for axis in sorted(
            (each for each in axes if each.name == mesh_axis.name), key=lambda each: each.pre_size
        ):
            size, end = axis.size(mesh), axis.next_pre_size(mesh)
            if axis.pre_size < position or size < 1 or axis.pre_size % position or mesh_axis.size % end:
                raise ValueError(f"names the axis {axis.body()}, which does not divide {mesh_axis.body()}")
            factors += [(None, axis.pre_size // position), (axis, size)]
            position = end
        factors.append((None, mesh_axis.size // position))
    return factors
