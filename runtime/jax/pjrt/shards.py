"""How a tensor is divided among the devices that run a program.

Source: Shardy's documentation, "Sharding representation"; xla/xla_data.proto of openxla/xla (OpSharding).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...errors import UnsupportedError
from ...ir.sharding import AxisRef, Mesh, TensorSharding
from . import wire

Array = np.ndarray[Any, Any]
Slices = tuple[slice, ...]

_KIND, _TILE_DIMENSIONS, _TILE_DEVICES, _REPLICATES_LAST = 1, 3, 4, 6
_REPLICATED, _OTHER = 0, 3

REPLICATED: Final = wire.encode([(_KIND, _REPLICATED)])
"""The OpSharding of a tensor that every device has whole."""


class Shards:
    """The shards of a tensor.

    Args:
        shape: the sizes of the whole tensor.
        sharding: how it is divided; None: every device has all of it.
        meshes: the program's meshes by their names.
        partitions: the number of devices.

    Attributes:
        shape: the sizes of the whole tensor.
        shard_shape: the sizes of a shard.
        slices: for each device what it holds of the tensor.
        op_sharding: the same as an OpSharding.

    Raises:
        UnsupportedError: a dimension does not divide evenly, or devices hold terms of a sum.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        sharding: TensorSharding | None,
        meshes: Mapping[str, Mesh],
        partitions: int,
    ) -> None:
        self.shape = shape
        counts, tiles = _tiles(shape, sharding, meshes, partitions)
        for axis, (size, count) in enumerate(zip(shape, counts, strict=True)):
            if size < 0 or size % count:
                raise UnsupportedError(f"dimension {axis} of size {size} does not divide into {count} shards")
        self.shard_shape = tuple([size // count for size, count in zip(shape, counts, strict=True)])
        self.slices = [self._slices(tile) for tile in tiles]
        self.op_sharding = _op_sharding(counts, tiles)
        self._first_holders = [tiles.index(tile) for tile in dict.fromkeys(tiles)]

    def _slices(self, tile: Sequence[int]) -> Slices:
        starts = [index * size for index, size in zip(tile, self.shard_shape, strict=True)]
        return tuple(
            [slice(start, start + size) for start, size in zip(starts, self.shard_shape, strict=True)]
        )

    def assembled(self, shards: Sequence[Array]) -> Array:
        """The whole tensor from the shards of the devices, as a new array where it is divided."""
        if len(self._first_holders) == 1:
            return shards[0]
        whole = np.empty(self.shape, shards[0].dtype)
        for device in self._first_holders:
            whole[self.slices[device]] = shards[device]
        return whole

    def cut(self, whole: Array) -> list[Array]:
        """A copy of its shard for each device."""
        return [np.array(whole[slices], order="C") for slices in self.slices]


def _tiles(
    shape: tuple[int, ...], sharding: TensorSharding | None, meshes: Mapping[str, Mesh], partitions: int
) -> tuple[list[int], list[tuple[int, ...]]]:
    """Into how many shards each dimension is divided, and which of them each device has."""
    whole = [1] * len(shape), [(0,) * len(shape)] * partitions
    if sharding is None:
        return whole
    mesh = meshes[sharding.mesh] if isinstance(sharding.mesh, str) else sharding.mesh
    if sharding.unreduced:
        raise UnsupportedError("arrays whose devices hold terms of a reduction are not offered")
    if mesh.is_maximal or not sharding.dimensions:
        return whole
    if mesh.total_size != partitions:
        raise UnsupportedError(
            f"the mesh {mesh} has {mesh.total_size} devices, but {partitions} run the program"
        )
    counts = [dimension.shard_count(mesh) for dimension in sharding.dimensions]
    places = {device: place for place, device in enumerate(mesh.device_ids or range(partitions))}
    tiles = []
    for device in range(partitions):
        coordinates = _coordinates(places[device], mesh)
        tile = []
        for dimension in sharding.dimensions:
            index = 0
            for axis in dimension.axes:
                index = index * axis.size(mesh) + _position(coordinates, axis, mesh)
            tile.append(index)
        tiles.append(tuple(tile))
    return counts, tiles


def _coordinates(place: int, mesh: Mesh) -> dict[str, int]:
    """The coordinates of a device along the axes of a mesh, from its place in row-major order."""
    sizes = [axis.size for axis in mesh.axes]
    indices = np.unravel_index(place, sizes) if sizes else ()
    return {axis.name: int(index) for axis, index in zip(mesh.axes, indices, strict=True)}


def _position(coordinates: Mapping[str, int], axis: AxisRef, mesh: Mesh) -> int:
    """The coordinate along an axis or a sub-axis."""
    minor = mesh.sizes[axis.name] // axis.next_pre_size(mesh)
    return coordinates[axis.name] // minor % axis.size(mesh)


def _op_sharding(counts: Sequence[int], tiles: Sequence[tuple[int, ...]]) -> bytes:
    if math.prod(counts) == 1:
        return REPLICATED
    holders: dict[tuple[int, ...], list[int]] = {}
    for device, tile in enumerate(tiles):
        holders.setdefault(tile, []).append(device)
    devices = [device for tile in itertools.product(*map(range, counts)) for device in holders[tile]]
    replicas = len(tiles) // math.prod(counts)
    fields: list[tuple[int, int | bytes]] = [(_KIND, _OTHER)]
    fields.append((_TILE_DIMENSIONS, wire.pack([*counts, replicas] if replicas > 1 else counts)))
    fields.append((_TILE_DEVICES, wire.pack(devices)))
    if replicas > 1:
        fields.append((_REPLICATES_LAST, 1))
    return wire.encode(fields)
