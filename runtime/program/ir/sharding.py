"""Meshes of devices and how tensors are divided among them: the attributes of the sdy dialect (Shardy).

A *mesh* is a grid of devices with named axes. A *sharding* says for each dimension of a tensor along which
axes it is divided, from the major axis to the minor one; each device holds one block, the *shard*. An axis
of size ``k1 * k2 * ...`` can be split into *sub-axes*: ``"x":(m)k`` has size k, and m is the product of the
sizes of the sub-axes before it.

Source: Shardy's documentation, "Sharding representation"; the sdy dialect's attributes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ...types import DYNAMIC
from .attributes import Attribute, DialectAttribute
from .printer import quoted, symbol_text


class SdyAttribute(DialectAttribute):
    """Base of the attributes of the sdy dialect."""

    dialect = "sdy"


def joined(attributes: Iterable[DialectAttribute]) -> str:
    """The bodies of attributes, separated by commas."""
    return ", ".join([attribute.body() for attribute in attributes])


class MeshAxis(SdyAttribute):
    """``"x"=2``: an axis of a mesh."""

    mnemonic = "mesh_axis"

    name: str
    size: int

    def body(self) -> str:
        return f"{quoted(self.name)}={self.size}"


class Mesh(SdyAttribute):
    """``<["x"=2, "y"=4], device_ids=[...]>``.

    Attributes:
        axes: the axes, from major to minor.
        device_ids: the devices in row-major order of the axes; empty: 0, 1, 2, ... A mesh without axes may
            name one device (a *maximal* mesh).
    """

    mnemonic = "mesh"

    axes: tuple[MeshAxis, ...]
    device_ids: tuple[int, ...] = ()

    def body(self) -> str:
        devices = f", device_ids=[{', '.join(map(str, self.device_ids))}]" if self.device_ids else ""
        return f"<[{joined(self.axes)}]{devices}>"

    @property
    def sizes(self) -> Mapping[str, int]:
        """The size of each axis by its name."""
        return {axis.name: axis.size for axis in self.axes}

    @property
    def total_size(self) -> int:
        """The number of devices."""
        return math.prod([axis.size for axis in self.axes])

    @property
    def is_empty(self) -> bool:
        """Whether the mesh has no axes and no device, and is chosen later."""
        return not self.axes and not self.device_ids

    @property
    def is_maximal(self) -> bool:
        """Whether the mesh names a single device instead of axes."""
        return not self.axes and len(self.device_ids) == 1

    def sort_key(self, axis: AxisRef) -> tuple[int, int, float]:
        """The order of axes and sub-axes within this mesh; unknown names come last."""
        names = [each.name for each in self.axes]
        position = names.index(axis.name) if axis.name in names else len(names)
        size = axis.sub_axis.size if axis.sub_axis is not None else math.inf
        return position, axis.pre_size, size

    def sorted_and_merged(self, axes: Iterable[AxisRef]) -> tuple[AxisRef, ...]:
        """Axes in the order of the mesh, neighbouring sub-axes joined."""
        merged: list[AxisRef] = []
        for axis in sorted(axes, key=self.sort_key):
            append_axis(merged, axis, self)
        return tuple(merged)


def mesh_of(axes: tuple[MeshAxis, ...], device_ids: tuple[int, ...]) -> Mesh:
    """The mesh of these axes; the device ids 0, 1, ... are omitted."""
    mesh = Mesh(axes, device_ids)
    if axes and mesh.total_size == len(device_ids) and device_ids == tuple(range(len(device_ids))):
        return Mesh(axes)
    return mesh


class SubAxis(SdyAttribute):
    """``(m)k``: the sub-axis of size k that comes after sub-axes of m devices in all."""

    mnemonic = "sub_axis_info"

    pre_size: int
    size: int

    def body(self) -> str:
        return f"({self.pre_size}){self.size}"

    @property
    def next_pre_size(self) -> int:
        """The pre-size of the sub-axis after it."""
        return self.pre_size * self.size


class AxisRef(SdyAttribute):
    """``"x"`` or ``"x":(1)2``: an axis of a mesh, or a sub-axis of it."""

    mnemonic = "axis_ref"

    name: str
    sub_axis: SubAxis | None = None

    def body(self) -> str:
        return quoted(self.name) + (f":{self.sub_axis.body()}" if self.sub_axis is not None else "")

    @property
    def pre_size(self) -> int:
        """The pre-size of the sub-axis; 1 for a whole axis."""
        return 1 if self.sub_axis is None else self.sub_axis.pre_size

    def size(self, mesh: Mesh) -> int:
        """The number of devices of `mesh` along the axis."""
        return mesh.sizes[self.name] if self.sub_axis is None else self.sub_axis.size

    def next_pre_size(self, mesh: Mesh) -> int:
        """The end of the sub-axis within its axis."""
        return mesh.sizes[self.name] if self.sub_axis is None else self.sub_axis.next_pre_size

    def contains(self, other: AxisRef) -> bool:
        """Whether `other` is this axis or a sub-axis of it."""
        if self.name != other.name or self.sub_axis is None:
            return self.name == other.name
        if other.sub_axis is None:
            return False
        return self.pre_size <= other.pre_size and self.sub_axis.next_pre_size >= other.sub_axis.next_pre_size

    def overlaps(self, other: AxisRef) -> bool:
        """Whether the ranges of both sub-axes within one axis overlap."""
        if self.name != other.name or self.sub_axis is None or other.sub_axis is None:
            return self.name == other.name
        return self.pre_size < other.sub_axis.next_pre_size and other.pre_size < self.sub_axis.next_pre_size

    def is_suffix_of(self, other: AxisRef, mesh: Mesh) -> bool:
        """Whether the axis is the minor sub-axis of `other`, or all of it."""
        return other.contains(self) and self.next_pre_size(mesh) == other.next_pre_size(mesh)

    def without_suffix(self, suffix: AxisRef) -> AxisRef | None:
        """The major part that is left without the minor part `suffix`; None if nothing is left."""
        if suffix.pre_size == self.pre_size:
            return None
        return AxisRef(self.name, SubAxis(self.pre_size, suffix.pre_size // self.pre_size))

    def can_merge(self, other: AxisRef) -> bool:
        """Whether `other` is the next sub-axis after this one."""
        if self.name != other.name or self.sub_axis is None or other.sub_axis is None:
            return False
        return self.sub_axis.next_pre_size == other.pre_size

    def merged(self, other: AxisRef, mesh: Mesh) -> AxisRef:
        """This sub-axis merged with the next one; their axis if they cover it."""
        assert self.sub_axis is not None and other.sub_axis is not None
        size = self.sub_axis.size * other.sub_axis.size
        if size == mesh.sizes[self.name]:
            return AxisRef(self.name)
        return AxisRef(self.name, SubAxis(self.pre_size, size))


def append_axis(axes: list[AxisRef], axis: AxisRef, mesh: Mesh) -> None:
    """Append an axis to a list from major to minor; a sub-axis is merged with the sub-axis before it."""
    if axes and axes[-1].can_merge(axis):
        axes[-1] = axes[-1].merged(axis, mesh)
    else:
        axes.append(axis)


class DimensionSharding(SdyAttribute):
    """``{"x", "y":(1)2, ?}p1``: how a dimension is divided.

    Attributes:
        axes: the axes along which it is divided, from major to minor.
        is_closed: whether propagation may not divide it further; open dimensions have a ``?``.
        priority: in which round of propagation it counts, 0 first; None if none is given.
    """

    mnemonic = "dimension_sharding"

    axes: tuple[AxisRef, ...]
    is_closed: bool = True
    priority: int | None = None

    def body(self) -> str:
        entries = [axis.body() for axis in self.axes] + ([] if self.is_closed else ["?"])
        priority = "" if self.priority is None else f"p{self.priority}"
        return f"{{{', '.join(entries)}}}{priority}"

    def shard_count(self, mesh: Mesh) -> int:
        """The number of shards of the dimension."""
        return math.prod([axis.size(mesh) for axis in self.axes])


class TensorSharding(SdyAttribute):
    """``<@mesh, [{"x"}, {?}], replicated={"y"}, unreduced={"z"}>``.

    Attributes:
        mesh: the symbol of the mesh, or the mesh itself.
        dimensions: the sharding of each dimension.
        replicated: axes along which all devices hold the same, and no dimension may be divided.
        unreduced: axes along which each device holds one term of a reduction.
        reduction: ``"sum"``, ``"max"`` or ``"min"``: which reduction that is.
    """

    mnemonic = "sharding"

    mesh: str | Mesh
    dimensions: tuple[DimensionSharding, ...]
    replicated: tuple[AxisRef, ...] = ()
    unreduced: tuple[AxisRef, ...] = ()
    reduction: str = "sum"

    def body(self) -> str:
        text = f"<{self.mesh_text}, [{joined(self.dimensions)}]"
        if self.replicated:
            text += f", replicated={{{joined(self.replicated)}}}"
        if self.unreduced:
            reduction = "" if self.reduction == "sum" else self.reduction
            text += f", unreduced={reduction}{{{joined(self.unreduced)}}}"
        return text + ">"

    @property
    def mesh_text(self) -> str:
        """The mesh as the text names it: ``@name`` or ``mesh<[...]>``."""
        return symbol_text(self.mesh) if isinstance(self.mesh, str) else f"mesh{self.mesh.body()}"

    @property
    def is_fully_replicated(self) -> bool:
        """Whether no dimension is divided."""
        return not any(dimension.axes for dimension in self.dimensions)

    def axes(self) -> Iterator[AxisRef]:
        for dimension in self.dimensions:
            yield from dimension.axes
        yield from self.replicated
        yield from self.unreduced

    def local_shape(self, shape: Sequence[int], mesh: Mesh) -> tuple[int, ...]:
        """The shape of a shard; the last shards of a dimension that does not divide evenly are padded.

        Args:
            shape: the shape of the whole tensor, DYNAMIC for unknown sizes.
            mesh: the mesh that the sharding names.
        """
        counts = self._shard_counts(shape, mesh)
        pairs = zip(shape, counts, strict=True)
        return tuple([size if size == DYNAMIC else -(-size // count) for size, count in pairs])

    def global_shape(self, shape: Sequence[int], mesh: Mesh) -> tuple[int, ...]:
        """The shape of the whole tensor whose shards have that shape."""
        counts = self._shard_counts(shape, mesh)
        pairs = zip(shape, counts, strict=True)
        return tuple([size if size == DYNAMIC else size * count for size, count in pairs])

    def _shard_counts(self, shape: Sequence[int], mesh: Mesh) -> list[int]:
        """The number of shards of each dimension; a maximal sharding lists no dimensions."""
        if not self.dimensions:
            return [1] * len(shape)
        return [dimension.shard_count(mesh) for dimension in self.dimensions]

    def with_reduction(self, reduction: str) -> TensorSharding:
        """The sharding with partial results of another reduction."""
        return TensorSharding(self.mesh, self.dimensions, self.replicated, self.unreduced, reduction)

    def restricted_to(self, names: Collection[str]) -> TensorSharding:
        """The sharding along the axes of these names alone."""

        def restricted(axes: Iterable[AxisRef]) -> tuple[AxisRef, ...]:
            return tuple([axis for axis in axes if axis.name in names])

        dimensions = [
            DimensionSharding(restricted(dimension.axes), dimension.is_closed, dimension.priority)
            for dimension in self.dimensions
        ]
        unreduced = restricted(self.unreduced)
        return TensorSharding(
            self.mesh, tuple(dimensions), restricted(self.replicated), unreduced, self.reduction
        )


class ShardingPerValue(SdyAttribute):
    """``<[<@mesh, [{}]>, ...]>``: a sharding for each operand or result of an operation."""

    mnemonic = "sharding_per_value"

    shardings: tuple[TensorSharding, ...]

    def body(self) -> str:
        return f"<[{joined(self.shardings)}]>"


class ManualAxes(SdyAttribute):
    """``{"x", "y"}``: the axes along which a body is written for one device."""

    mnemonic = "manual_axes"

    names: tuple[str, ...]

    def body(self) -> str:
        return f"{{{', '.join(map(quoted, self.names))}}}"


class AxisList(SdyAttribute):
    """``{"x", "y":(1)2}``."""

    mnemonic = "axis_ref_list"

    axes: tuple[AxisRef, ...]

    def body(self) -> str:
        return f"{{{joined(self.axes)}}}"


class AxisLists(SdyAttribute):
    """``[{"x"}, {}]``: axes for each dimension."""

    mnemonic = "list_of_axis_ref_lists"

    lists: tuple[AxisList, ...]

    def body(self) -> str:
        return f"[{joined(self.lists)}]"


class AllToAllParameter(SdyAttribute):
    """``{"x"}: 0->2``: axes that move from dividing one dimension to dividing another."""

    mnemonic = "all_to_all_param"

    axes: tuple[AxisRef, ...]
    source_dimension: int
    target_dimension: int

    def body(self) -> str:
        return f"{{{joined(self.axes)}}}: {self.source_dimension}->{self.target_dimension}"


class AllToAllParameters(SdyAttribute):
    """``[{"x"}: 0->2, {"y"}: 1->3]``."""

    mnemonic = "all_to_all_param_list"

    parameters: tuple[AllToAllParameter, ...]

    def body(self) -> str:
        return f"[{joined(self.parameters)}]"


def attached_sharding(attributes: Mapping[str, Attribute], index: int = 0) -> TensorSharding | None:
    """The sharding that the attribute ``sdy.sharding`` gives a value; None if there is none.

    Args:
        attributes: those of an argument or a result of a function, or of an operation.
        index: which of the operation's results.
    """
    attribute = attributes.get("sdy.sharding")
    if isinstance(attribute, ShardingPerValue):
        return attribute.shardings[index] if index < len(attribute.shardings) else None
    return attribute if isinstance(attribute, TensorSharding) else None
