"""`nimblehlo.manual_computation`: what specialization makes of `sdy.manual_computation` on several devices.

The body runs as the processes of a grid of one replica, a process for each device of the mesh: process (0, d)
is device d. Each sees the shards of the operands along the manual axes, and the results are joined from
all shards. Devices that differ only on other axes compute the same shard. A computation within the body of
another one runs in the process that reaches it: the process slices its operands along the inner axes, and the
devices along these exchange the shards of the results.

Along axes on which an operand is unreduced the first device gets the value, and the others partial
results that do not change it: zeros for a sum. An unreduced result is the reduction of all devices' partial
results.

Source: Shardy's documentation, "Sharding representation" and the operation `sdy.manual_computation`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ....kernels.launch.native import check_stop
from ....types import ANY, Array, DType
from ...ir.sharding import AxisRef, ManualAxes, Mesh, ShardingPerValue, TensorSharding
from ..framework.attribute_kinds import BOOL, DialectData
from ..framework.declaration import Attribute, Operand, Region, Result
from ..framework.traits import RegionRole
from .base import GroupOperation, Values
from .process_grid import Grid, ProcessGroup, ProcessId

_COMBINE: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "sum": np.add,
    "max": np.maximum,
    "min": np.minimum,
}

Coordinates = Mapping[str, int]
"""The position of a device on each axis of a mesh."""


class ManualComputation(GroupOperation, name="nimblehlo.manual_computation"):
    """Runs a body on the devices of a mesh, on shards of its operands."""

    region_role = RegionRole.PROCESSES

    tensors = Operand(ANY, variadic=True)
    mesh = Attribute(DialectData(Mesh))
    in_shardings = Attribute(DialectData(ShardingPerValue))
    out_shardings = Attribute(DialectData(ShardingPerValue))
    manual_axes = Attribute(DialectData(ManualAxes))
    is_nested = Attribute(BOOL)
    body = Region()
    results = Result(ANY, variadic=True)

    @property
    def grid(self) -> Grid:
        """A process for each device."""
        return Grid(1, self.mesh.total_size)

    def scratch_elements(self) -> int:
        return self.mesh.total_size

    @functools.cached_property
    def devices(self) -> dict[ProcessId, Coordinates]:
        """The position of each device in the mesh, in the order of the devices."""
        sizes = [axis.size for axis in self.mesh.axes]
        numbers = self.mesh.device_ids or range(self.mesh.total_size)
        names = [axis.name for axis in self.mesh.axes]
        positions = {}
        for device, index in zip(numbers, np.ndindex(*sizes), strict=True):
            check_stop()
            positions[ProcessId(0, device)] = dict(zip(names, index, strict=True))
        return dict(sorted(positions.items()))

    def group_of(self, process: ProcessId) -> ProcessGroup:
        """The devices that differ from one on manual axes alone, in the order of the mesh."""
        own, manual = self.devices[process], self.manual_axes.names
        members = [
            (tuple(coordinates.values()), device)
            for device, coordinates in self.devices.items()
            if all(coordinates[axis] == own[axis] for axis in coordinates if axis not in manual)
        ]
        return tuple(device for _, device in sorted(members))

    def shards_of(self, process: ProcessId, tensors: Sequence[Any]) -> list[Any]:
        """The shards of the operands that a device receives."""
        coordinates = self.devices[process]
        shards = []
        for sharding, value in zip(self.in_shardings.shardings, tensors, strict=True):
            range_of = self._ranges(sharding, coordinates)
            if any(count > 1 for _, count in range_of):
                value = np.ascontiguousarray(value[_slices(range_of, value.shape)])
            if sharding.reduction == "sum" and any(self._partial_index(sharding, coordinates)):
                value = np.zeros_like(value)
            shards.append(value)
        return shards

    def are_replicated(self) -> bool:
        """Whether no result is divided or unreduced along manual axes."""
        return not any(
            axis.name in self.manual_axes.names
            for sharding in self.out_shardings.shardings
            for axes in (*(dimension.axes for dimension in sharding.dimensions), sharding.unreduced)
            for axis in axes
        )

    def joined(self, shards: Mapping[ProcessId, Sequence[Any]]) -> Values:
        """The results, from those of devices in the order of the mesh.

        Where several devices hold the same shard, the first device's is taken.
        """
        return tuple(
            self._joined(sharding, {device: values[index] for device, values in shards.items()})
            for index, sharding in enumerate(self.out_shardings.shardings)
        )

    def _joined(self, sharding: TensorSharding, shards: Mapping[ProcessId, Any]) -> Any:
        partials: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
        for device, shard in shards.items():
            coordinates = self.devices[device]
            position = tuple(index for index, _ in self._ranges(sharding, coordinates))
            partials.setdefault(position, {}).setdefault(self._partial_index(sharding, coordinates), shard)
        blocks = {
            position: reduced_partials(list(of_block.values()), sharding.reduction)
            for position, of_block in partials.items()
        }
        first: Any = next(iter(blocks.values()))
        counts = [count for _, count in self._ranges(sharding, self.devices[next(iter(shards))])]
        if all(count == 1 for count in counts):
            return first
        shape = [size * count for size, count in zip(first.shape, counts, strict=True)]
        result: Array = np.empty(shape, first.dtype)
        for position, block in blocks.items():
            result[_slices(list(zip(position, counts, strict=True)), shape)] = block
        return result

    def _partial_index(self, sharding: TensorSharding, coordinates: Coordinates) -> tuple[int, ...]:
        """The index of a device's partial result of a value that is unreduced along manual axes."""
        axes = [axis for axis in sharding.unreduced if axis.name in self.manual_axes.names]
        return tuple([self._position(axis, coordinates) for axis in axes])

    def _ranges(self, sharding: TensorSharding, coordinates: Coordinates) -> list[tuple[int, int]]:
        """For each dimension the number of a device's shard along manual axes, and how many there are."""
        ranges = []
        for dimension in sharding.dimensions:
            index, count = 0, 1
            for axis in dimension.axes:
                if axis.name in self.manual_axes.names:
                    size = axis.size(self.mesh)
                    index, count = index * size + self._position(axis, coordinates), count * size
            ranges.append((index, count))
        return ranges

    def _position(self, axis: AxisRef, coordinates: Coordinates) -> int:
        """A device's position on an axis or a sub-axis."""
        minor = self.mesh.sizes[axis.name] // axis.next_pre_size(self.mesh)
        position: int = coordinates[axis.name] // minor % axis.size(self.mesh)
        return position

    def combine(self, payloads: Sequence[Values], receivers: Sequence[int], **regions: Any) -> list[Values]:
        """The results of a nested computation: the shards of the devices of a group, joined."""
        members = {self.member_at(position): values for position, values in enumerate(payloads)}
        return [self.joined(members)] * len(receivers)

    def member_at(self, position: int) -> ProcessId:
        """The device at a position of the first group."""
        return self.group_of(next(iter(self.devices)))[position]

    def reference(self, *tensors: Any, body: Any) -> Any:
        raise self.unsupported("is only supported in a grid of processes")


def reduced_partials(partials: Sequence[Array], reduction: str) -> Array:
    """The reduction of the partial results that devices hold.

    Adjacent pairs are combined, level by level, as in `ops.collectives.reduction`; floats narrower than f32
    are accumulated in f32.

    Args:
        partials: arrays of one type, in the order of the devices; the only one is returned as it is.
        reduction: "sum", "max" or "min".
    """
    if len(partials) == 1:
        return partials[0]
    dtype = partials[0].dtype
    values = [partial.astype(accumulator_dtype(dtype), copy=False) for partial in partials]
    while len(values) > 1:
        pairs = [_COMBINE[reduction](*values[index : index + 2]) for index in range(0, len(values) - 1, 2)]
        values = pairs + values[2 * len(pairs) :]
    return values[0].astype(dtype, copy=False)


def accumulator_dtype(dtype: DType) -> DType:
    """The type in which partial results are reduced."""
    is_narrow_float = dtype.itemsize < 4 and (dtype.kind == "f" or "float" in dtype.name)
    return np.dtype(np.float32) if is_narrow_float else dtype


def _slices(ranges: Sequence[tuple[int, int]], shape: Sequence[int]) -> tuple[slice, ...]:
    """The elements of a shard within the whole tensor."""
    slices = []
    for (index, count), size in zip(ranges, shape, strict=True):
        shard = size // count
        slices.append(slice(index * shard, (index + 1) * shard))
    return tuple(slices)
