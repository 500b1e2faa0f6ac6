"""The shards of a tensor on the devices that run a program.

Source: Shardy's documentation, "Sharding representation"; xla/xla_data.proto of openxla/xla (OpSharding).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from ...errors import UnsupportedError
from ...program.ir.sharding import AxisRef, Mesh, TensorSharding
from ...program.ops.collectives.manual import reduced_partials
from ...types import Array
from . import wire

Slices = tuple[slice, ...]

_KIND, _TILE_DIMENSIONS, _TILE_DEVICES, _REPLICATES_LAST, _METADATA, _SUBGROUP_KINDS = 1, 3, 4, 6, 7, 8
_OPERATION_TYPE, _OPERATION_NAME = 1, 2
_REPLICATED, _OTHER, _UNREDUCED = 0, 3, 6

REPLICATED: Final = wire.encode([(_KIND, _REPLICATED)])
"""The OpSharding of a tensor of which every device has a copy."""


class Shards:
    """The shards of a tensor.

    Of an unreduced tensor each device holds a partial result; the reduction of all partial results is the
    tensor. `cut` gives the value to the first device, and zeros to the others if the reduction is a sum.

    Args:
        shape: the sizes of the tensor.
        sharding: how the tensor is divided; None: every device has all of it.
        meshes: the program's meshes by their names.
        partitions: the number of devices.

    Attributes:
        shape: the sizes of the tensor.
        shard_shape: the sizes of a shard.
        slices: for each device the slices of the tensor that it holds.
        op_sharding: the sharding as an OpSharding.

    Raises:
        UnsupportedError: a dimension does not divide evenly.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        sharding: TensorSharding | None,
        meshes: Mapping[str, Mesh],
        partitions: int,
    ) -> None:
        self.shape = shape
        counts, tiles, partials = _tiles(shape, sharding, meshes, partitions)
        self._reduction = "sum" if sharding is None else sharding.reduction
        for axis, (size, count) in enumerate(zip(shape, counts, strict=True)):
            if size < 0 or size % count:
                raise UnsupportedError(f"dimension {axis} of size {size} does not divide into {count} shards")
        self.shard_shape = tuple([size // count for size, count in zip(shape, counts, strict=True)])
        self.slices = [self._slices(tile) for tile in tiles]
        self.op_sharding = _op_sharding(counts, tiles, partials, self._reduction)
        self._holds_zeros = [self._reduction == "sum" and any(partial) for partial in partials]
        pairs = list(zip(tiles, partials, strict=True))
        self._holders: dict[tuple[int, ...], list[int]] = {}
        for tile, partial in dict.fromkeys(pairs):
            self._holders.setdefault(tile, []).append(pairs.index((tile, partial)))

    def _slices(self, tile: Sequence[int]) -> Slices:
        starts = [index * size for index, size in zip(tile, self.shard_shape, strict=True)]
        return tuple(
            [slice(start, start + size) for start, size in zip(starts, self.shard_shape, strict=True)]
        )

    def assembled(self, shards: Sequence[Array]) -> Array:
        """The tensor from the shards of the devices, as a new array where it is divided."""
        blocks = [
            (devices[0], reduced_partials([shards[device] for device in devices], self._reduction))
            for devices in self._holders.values()
        ]
        if len(blocks) == 1:
            return blocks[0][1]
        tensor = np.empty(self.shape, shards[0].dtype)
        for device, block in blocks:
            tensor[self.slices[device]] = block
        return tensor

    def cut(self, tensor: Array) -> list[Array]:
        """A copy of each device's shard of a tensor."""
        return [
            np.zeros(self.shard_shape, tensor.dtype) if is_zero else np.array(tensor[slices], order="C")
            for slices, is_zero in zip(self.slices, self._holds_zeros, strict=True)
        ]


def _tiles(
    shape: tuple[int, ...], sharding: TensorSharding | None, meshes: Mapping[str, Mesh], partitions: int
) -> tuple[list[int], list[tuple[int, ...]], list[tuple[int, ...]]]:
    """The shards of each dimension, and for each device the indices of its shard and partial result."""
    no_partials: list[tuple[int, ...]] = [()] * partitions
    undivided = [1] * len(shape), [(0,) * len(shape)] * partitions, no_partials
    if sharding is None:
        return undivided
    mesh = meshes[sharding.mesh] if isinstance(sharding.mesh, str) else sharding.mesh
    used = [*(axis for dimension in sharding.dimensions for axis in dimension.axes), *sharding.unreduced]
    if mesh.is_maximal or not used:
        return undivided
    if mesh.total_size != partitions:
        raise UnsupportedError(
            f"the mesh {mesh} has {mesh.total_size} devices, but {partitions} run the program"
        )
    dimensions = [dimension.axes for dimension in sharding.dimensions] or [()] * len(shape)
    counts = [math.prod([axis.size(mesh) for axis in axes]) for axes in dimensions]
    ranks = {device: rank for rank, device in enumerate(mesh.device_ids or range(partitions))}
    tiles, partials = [], []
    for device in range(partitions):
        coordinates = _coordinates(ranks[device], mesh)
        tile = []
        for axes in dimensions:
            index = 0
            for axis in axes:
                index = index * axis.size(mesh) + _position(coordinates, axis, mesh)
            tile.append(index)
        tiles.append(tuple(tile))
        partials.append(tuple([_position(coordinates, axis, mesh) for axis in sharding.unreduced]))
    return counts, tiles, partials


def _coordinates(rank: int, mesh: Mesh) -> dict[str, int]:
    """The coordinates of a device along the axes of a mesh, from its rank in row-major order."""
    sizes = [axis.size for axis in mesh.axes]
    indices = np.unravel_index(rank, sizes) if sizes else ()
    return {axis.name: int(index) for axis, index in zip(mesh.axes, indices, strict=True)}


def _position(coordinates: Mapping[str, int], axis: AxisRef, mesh: Mesh) -> int:
    """The coordinate along an axis or a sub-axis."""
    minor = mesh.sizes[axis.name] // axis.next_pre_size(mesh)
    return coordinates[axis.name] // minor % axis.size(mesh)


def _op_sharding(
    counts: Sequence[int],
    tiles: Sequence[tuple[int, ...]],
    partials: Sequence[tuple[int, ...]],
    reduction: str,
) -> bytes:
    """The OpSharding: devices tile by tile, and within a tile the devices of its partial results in turn.

    The metadata names the reduction of partial results that are no terms of a sum.
    """
    holders: dict[tuple[int, ...], dict[tuple[int, ...], list[int]]] = {}
    for device, (tile, partial) in enumerate(zip(tiles, partials, strict=True)):
        holders.setdefault(tile, {}).setdefault(partial, []).append(device)
    partial_count = len(set(partials))
    replicas = len(tiles) // (math.prod(counts) * partial_count)
    if replicas == len(tiles):
        return REPLICATED
    devices = [
        device
        for tile in itertools.product(*map(range, counts))
        for equal in zip(*[of_partial for _, of_partial in sorted(holders[tile].items())], strict=True)
        for device in equal
    ]
    subgroups = [
        (size, kind) for size, kind in ((replicas, _REPLICATED), (partial_count, _UNREDUCED)) if size > 1
    ]
    fields: list[tuple[int, int | bytes]] = [(_KIND, _OTHER)]
    fields.append((_TILE_DIMENSIONS, wire.pack([*counts, *(size for size, _ in subgroups)])))
    fields.append((_TILE_DEVICES, wire.pack(devices)))
    if partial_count > 1 and reduction != "sum":
        names = [(_OPERATION_TYPE, b"sdy::reduction_op"), (_OPERATION_NAME, reduction.upper().encode())]
        fields.append((_METADATA, wire.encode(names)))
    if partial_count > 1:
        fields.append((_SUBGROUP_KINDS, wire.pack([kind for _, kind in subgroups])))
    elif replicas > 1:
        fields.append((_REPLICATES_LAST, 1))
    return wire.encode(fields)
