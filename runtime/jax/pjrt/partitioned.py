"""Programs for several devices.

jaxlib's propagation decides how values are divided where the program does not say so, as it does for XLA. A
program whose operations all have rules runs as the program of each device on a grid (`partitioner`).
Others run whole, on arrays assembled from the devices' shards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...ir import Attribute, Module, Operation
from ...ir.sharding import Mesh, TensorSharding
from ...types import TensorType, Type
from .shards import Array, Shards

_PIPELINE = "builtin.module(sdy-propagation-pipeline)"


def propagated(module: Any) -> Any:
    """A jaxlib module with shardings of all its results.

    Raises:
        UnsupportedError: the shardings contradict each other.
    """
    from jaxlib.mlir import ir, passmanager

    with module.context:
        operation = module.operation.clone()
        try:
            passmanager.PassManager.parse(_PIPELINE).run(operation)
        except (ValueError, ir.MLIRError) as error:
            raise UnsupportedError(f"jaxlib cannot propagate the shardings: {error}") from None
    return operation


class PartitionedProgram:
    """Runs a program of several devices.

    Args:
        module: the program with all its shardings.
        partitions: the number of devices.
        run: runs the whole program on arrays, or the program of a device on a grid.
        is_local: whether it is the program of a device.

    Attributes:
        arguments, results: how each argument and result is divided.

    Raises:
        UnsupportedError: a sharding is not offered.
    """

    def __init__(self, module: Module, partitions: int, run: Callable[..., Any], is_local: bool) -> None:
        function = module.functions["main"]
        meshes = _meshes(module)
        self.arguments = _shards(function.type.inputs, function.argument_attributes, meshes, partitions)
        self.results = _shards(function.type.results, function.result_attributes, meshes, partitions)
        self._partitions = partitions
        self._run = run
        self._is_local = is_local

    def __call__(self, shards: Sequence[tuple[Array, ...]]) -> list[list[Any]]:
        """Run it.

        Args:
            shards: the arrays of the arguments for each device.

        Returns:
            New arrays of the results for each device.
        """
        if self._is_local:
            of_devices: list[list[Any]] = self._run(shards)
            return of_devices
        arguments = [
            shards_of.assembled([device[index] for device in shards])
            for index, shards_of in enumerate(self.arguments)
        ]
        results = self._run(*arguments)
        divided = [
            shards_of.cut(result) if isinstance(result, np.ndarray) else [result] * self._partitions
            for shards_of, result in zip(self.results, results, strict=True)
        ]
        return [[result[device] for result in divided] for device in range(self._partitions)]


def _meshes(module: Module) -> dict[str, Mesh]:
    """The meshes that a program declares."""
    meshes = {}
    for item in module.body:
        if isinstance(item, Operation) and item.name == "sdy.mesh":
            mesh, name = item.attributes["mesh"], item.attributes["sym_name"]
            assert isinstance(mesh, Mesh)
            meshes[str(getattr(name, "value", name))] = mesh
    return meshes


def _shards(
    types: Sequence[Type],
    attributes: Sequence[Mapping[str, Attribute]],
    meshes: Mapping[str, Mesh],
    partitions: int,
) -> list[Shards]:
    divided = []
    for type, named in zip(types, attributes, strict=True):
        if "mhlo.sharding" in named:
            raise UnsupportedError("shardings of GSPMD are not offered: set jax_use_shardy_partitioner")
        sharding = named.get("sdy.sharding")
        assert sharding is None or isinstance(sharding, TensorSharding)
        shape = type.shape if isinstance(type, TensorType) else (0,)
        divided.append(Shards(shape, sharding, meshes, partitions))
    return divided
