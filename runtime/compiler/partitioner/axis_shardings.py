"""The division of values among devices along the axes of a mesh."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ...kernels.named_tuples import NamedTuple
from ...program.ir.sharding import AxisRef, Mesh, TensorSharding
from ...types import TensorType, Type

Axes = tuple[str, ...]


class CannotPartition(Exception):
    """The reason why a program cannot be partitioned; `device_program` catches it."""


class AxisSharding(NamedTuple):
    """The division of a tensor among devices.

    Attributes:
        dimensions: for each dimension the axes along which it is divided, from major to minor.
        unreduced: the axes, sorted, along which each device holds a partial result.
        reduction: ``"sum"``, ``"max"`` or ``"min"``: the reduction of partial results that gives the tensor;
            "sum" where there are no unreduced axes.
    """

    dimensions: tuple[Axes, ...]
    unreduced: Axes = ()
    reduction: str = "sum"

    def used(self) -> set[str]:
        """The axes along which dimensions are divided."""
        return {axis for axes in self.dimensions for axis in axes}

    def unreduced_by(self, reduction: str) -> Axes:
        """The axes along which each device holds a partial result of that reduction."""
        return self.unreduced if self.reduction == reduction else ()

    def with_dimensions(self, dimensions: Iterable[Axes]) -> AxisSharding:
        """The sharding with other axes of the dimensions and the same unreduced axes."""
        return self._replace(dimensions=tuple(dimensions))

    def with_unreduced(self, unreduced: Iterable[str], reduction: str) -> AxisSharding:
        """The sharding with partial results of a reduction along axes, in any order."""
        axes = tuple(sorted(unreduced))
        return AxisSharding(self.dimensions, axes, reduction if axes else "sum")


def replicated(type: Type) -> AxisSharding:
    """The sharding of a value of which each device holds a copy."""
    return AxisSharding(((),) * (type.rank if isinstance(type, TensorType) else 0))


class Devices:
    """The devices of a mesh. Process (0, d) of the grid is device d.

    Args:
        mesh: the mesh.

    Attributes:
        mesh: the mesh.
        count: the number of devices.
    """

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.count = mesh.total_size
        self._sizes = mesh.sizes
        numbers = np.array(mesh.device_ids or range(self.count))
        self._numbers = numbers.reshape([axis.size for axis in mesh.axes])

    def axis_sharding(self, sharding: TensorSharding | None, type: Type) -> AxisSharding:
        """The axes along which a sharding of the program divides a value.

        Raises:
            CannotPartition: the sharding has sub-axes, or another mesh.
        """
        if sharding is None or not isinstance(type, TensorType):
            return replicated(type)
        dimensions = [self._names(dimension.axes) for dimension in sharding.dimensions]
        divided = AxisSharding(tuple(dimensions) or replicated(type).dimensions)
        return divided.with_unreduced(self._names(sharding.unreduced), sharding.reduction)

    def _names(self, axes: Sequence[AxisRef]) -> Axes:
        """The names of the axes with more than one device."""
        if any(axis.sub_axis is not None or axis.name not in self._sizes for axis in axes):
            raise CannotPartition("a sharding has sub-axes")
        return tuple([axis.name for axis in axes if self._sizes[axis.name] > 1])

    def size(self, axes: Sequence[str]) -> int:
        """The number of devices along axes."""
        return math.prod([self._sizes[axis] for axis in axes])

    def local_type(self, type: Type, sharding: AxisSharding) -> Type:
        """The type of a device's shard.

        Raises:
            CannotPartition: a dimension does not divide evenly.
        """
        if not isinstance(type, TensorType) or not any(sharding.dimensions):
            return type
        counts = list(map(self.size, sharding.dimensions))
        if any(size % count for size, count in zip(type.shape, counts, strict=True)):
            raise CannotPartition("a dimension does not divide evenly")
        return type.with_shape([size // count for size, count in zip(type.shape, counts, strict=True)])

    def groups(self, axes: Sequence[str]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """The devices that differ along axes alone: a row for each group, in the order of the axes."""
        names = [axis.name for axis in self.mesh.axes]
        last = [names.index(axis) for axis in axes]
        first = [index for index in range(len(names)) if index not in last]
        return np.ascontiguousarray(
            self._numbers.transpose(first + last).reshape(-1, self.size(axes)), np.int64
        )

    def positions(self, axes: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The position of each device along axes, in row-major order of the axes."""
        groups = self.groups(axes)
        positions = np.empty(self.count, np.int64)
        positions[groups] = np.arange(groups.shape[1])
        return positions
