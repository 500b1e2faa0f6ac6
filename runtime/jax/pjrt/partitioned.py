"""Programs for several devices.

jaxlib's propagation decides how values are divided where the program does not say so, as it does for XLA. A
program whose operations all have rules runs as the program of each device on a grid (`partitioner`).
Others run whole, on arrays assembled from the devices' shards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...compiler.specialize.inline import MANUAL
from ...errors import UnsupportedError
from ...program.ir import Attribute, FunctionAttribute, Module, Operation, Value
from ...program.ir.sharding import Mesh, ShardingPerValue, TensorSharding, attached_sharding
from ...program.ops.custom_calls.host_functions import FUNCTION, PARTITIONED_TARGET
from ...program.ops.framework.rules import call_target
from ...program.ops.sharding.scope import meshes_of
from ...types import Array, TensorType, Type
from .shards import Shards

_SHARDINGS: Final = ("in_shardings", "out_shardings")
_NO_SUMS: Final = ("max", "min")
_STATED: Final = "nimblehlo.stated_"
_PIPELINE = "builtin.module(sdy-propagation-pipeline)"


def propagated(module: Any) -> Any:
    """A jaxlib module with shardings of all its results.

    Raises:
        UnsupportedError: the shardings contradict each other.
    """
    from jaxlib.mlir import ir, passmanager

    with module.context:
        operation = module.operation.clone()
        _store_stated_shardings(operation)
        try:
            passmanager.PassManager.parse(_PIPELINE).run(operation)
        except (ValueError, ir.MLIRError) as error:
            raise UnsupportedError(f"jaxlib cannot propagate the shardings: {error}") from None
    return operation


def _store_stated_shardings(module: Any) -> None:
    """Store the shardings of manual computations whose values are partial maxima or minima.

    jaxlib's propagation writes these shardings anew, and then calls the reduction a sum.
    """
    from jaxlib.mlir import ir

    def store(operation: Any) -> Any:
        if operation.name == MANUAL:
            for name in _SHARDINGS:
                if any(f"unreduced={reduction}" in str(operation.attributes[name]) for reduction in _NO_SUMS):
                    operation.attributes[_STATED + name] = operation.attributes[name]
        return ir.WalkResult.ADVANCE

    module.walk(store)


def restore_reductions(module: Module) -> None:
    """Restore the reductions of partial results that a program states for its manual computations.

    Args:
        module: what `propagated` returned, loaded; it is changed.
    """
    for operation in module.walk():
        for name in _SHARDINGS:
            attributes = dict(operation.attributes)
            stated = attributes.pop(_STATED + name, None)
            if isinstance(stated, ShardingPerValue):
                attributes[name] = _with_reductions(attributes[name], stated)
                operation.attributes = attributes


def _with_reductions(shardings: Attribute, stated: ShardingPerValue) -> ShardingPerValue:
    assert isinstance(shardings, ShardingPerValue)
    pairs = zip(shardings.shardings, stated.shardings, strict=True)
    return ShardingPerValue(tuple([each.with_reduction(original.reduction) for each, original in pairs]))


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
        UnsupportedError: a sharding is not supported.
    """

    def __init__(self, module: Module, partitions: int, run: Callable[..., Any], is_local: bool) -> None:
        function = module.functions["main"]
        meshes = meshes_of(module)
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


def divide_callbacks(module: Module, partitions: int) -> None:
    """Make callbacks that JAX calls for each device receive the shards of their operands.

    Args:
        module: the program with all its shardings.
        partitions: the number of devices.

    Raises:
        UnsupportedError: a sharding is not supported.
    """
    meshes = meshes_of(module)
    for operation in module.walk():
        function = operation.attributes.get(FUNCTION)
        if isinstance(function, FunctionAttribute) and call_target(operation) == PARTITIONED_TARGET:
            shards = [
                Shards(_shape(operand.type), sharding_of(operand, module), meshes, partitions)
                for operand in operation.operands
            ]
            divided = FunctionAttribute(_called_for_each(function.function, shards, partitions))
            operation.attributes = {**operation.attributes, FUNCTION: divided}


def _called_for_each(
    function: Callable[..., object], operand_shards: Sequence[Shards], partitions: int
) -> Callable[..., Any]:
    """A function that calls `function` for each device in turn, with the device's shards."""

    def call(*operands: Array | None) -> Any:
        divided = [
            [None] * partitions if operand is None else shards.cut(operand)
            for operand, shards in zip(operands, operand_shards, strict=True)
        ]
        return [function(*[arrays[device] for arrays in divided]) for device in range(partitions)][-1]

    return call


def sharding_of(value: Value, module: Module) -> TensorSharding | None:
    """The sharding that propagation has assigned to a value."""
    if isinstance(value.owner, Operation):
        return attached_sharding(value.owner.attributes, value.index)
    for function in module.functions.values():
        if function.body is not None and value.owner in function.body.blocks:
            return attached_sharding(function.argument_attributes[value.index])
    return None


def _shards(
    types: Sequence[Type],
    attributes: Sequence[Mapping[str, Attribute]],
    meshes: Mapping[str, Mesh],
    partitions: int,
) -> list[Shards]:
    divided = []
    for type, named in zip(types, attributes, strict=True):
        divided.append(Shards(_shape(type), attached_sharding(named), meshes, partitions))
    return divided


def _shape(type: Type) -> tuple[int, ...]:
    """The shape of a tensor; a token is an array of nothing."""
    return type.shape if isinstance(type, TensorType) else (0,)
