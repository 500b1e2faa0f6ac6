"""The state of partitioning a function: the local value of each value, and conversions of shardings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ...program.ir import (
    Attribute,
    Block,
    Builder,
    DenseArrayAttribute,
    DenseElementsAttribute,
    IntegerAttribute,
    Operation,
    Region,
    StructAttribute,
    UnitAttribute,
    Value,
    constant_operation,
)
from ...program.ir.builder import binary_region, copy_region
from ...program.ir.location import UNKNOWN, Location
from ...program.ops.reduction.bodies import neutral
from ...program.ops.sharding.scope import Scope
from ...types import Array, ElementType, TensorType, Type, element_type, element_type_of
from ..specialize.inline import without_shardings
from .axis_shardings import Axes, AxisSharding, CannotPartition, Devices, replicated

CHANNEL: Final = StructAttribute("stablehlo", "channel_handle", {"handle": 1, "type": 1})
COMBINATION: Final = {"sum": "stablehlo.add", "max": "stablehlo.maximum", "min": "stablehlo.minimum"}
"""The operation that combines two partial results, by the reduction of unreduced axes."""

_I32: Final = element_type("i32")
_I64: Final = element_type("i64")


def i64_array(values: Iterable[int]) -> DenseArrayAttribute:
    """``array<i64: ...>``."""
    return DenseArrayAttribute(_I64, tuple(values))


def i64_attribute(value: int) -> IntegerAttribute:
    """``value : i64``."""
    return IntegerAttribute(value, _I64)


def static_tensor_type(value: Value) -> TensorType:
    """The type of a value that is a tensor.

    Raises:
        CannotPartition: the value is not a tensor of static shape.
    """
    if not isinstance(value.type, TensorType) or not value.type.is_static:
        raise CannotPartition(f"a value has the type {value.type}, but must be a tensor of static shape")
    return value.type


@dataclass
class Work:
    """The numbers of elements that operations read and write.

    Attributes:
        device_elements: the sum over all devices.
        program_elements: the count of the program that is not partitioned.
    """

    device_elements: int = 0
    program_elements: int = 0


def elements(operation: Operation) -> int:
    """The elements of an operation's operands and results."""
    types = [value.type for value in (*operation.operands, *operation.results)]
    return sum(math.prod(type.shape) for type in types if isinstance(type, TensorType) and type.is_static)


class Context:
    """The program of a device under construction, and the local values of the program's values.

    Args:
        devices: the devices.
        scope: the function that is partitioned.
        block: the block of the program of a device.
        values: the local value of each value of the program, with its sharding.
        work: the counted work of the new operations.
    """

    def __init__(
        self,
        devices: Devices,
        scope: Scope,
        block: Block,
        values: dict[Value, tuple[Value, AxisSharding]],
        work: Work,
    ) -> None:
        self.devices = devices
        self.scope = scope
        self.builder = Builder(block)
        self.values = values
        self.work = work
        self.location: Location = UNKNOWN
        self._index: Value | None = None

    def within(self, block: Block) -> Context:
        """A context for a block of a region, which may use the values here."""
        return Context(self.devices, self.scope, block, dict(self.values), self.work)

    def sharding(self, value: Value) -> AxisSharding:
        """The axes along which the program divides a value."""
        return self.devices.axis_sharding(self.scope.sharding_of(value), value.type)

    def local_type(self, value: Value) -> Type:
        """The type of a device's shard of a value."""
        return self.devices.local_type(value.type, self.sharding(value))

    def set_local(self, value: Value, local: Value, sharding: AxisSharding | None = None) -> None:
        """Set the local value of a value, converted to the sharding that the program gives the value."""
        target = self.sharding(value)
        if sharding is not None and sharding != target:
            local = self.resharded(local, sharding, target)
        self.values[value] = local, target

    def operand(self, value: Value, sharding: AxisSharding) -> Value:
        """A device's shard of a value under a sharding."""
        local, current = self.values[value]
        return self.resharded(local, current, sharding)

    def create(
        self,
        name: str,
        operands: Iterable[Value],
        types: Iterable[Type],
        attributes: Mapping[str, Attribute] | None = None,
        regions: Iterable[Region] = (),
    ) -> Operation:
        return self.append(Operation(name, operands, types, attributes, regions, self.location))

    def append(self, operation: Operation) -> Operation:
        """Append an operation of a device, whose work is counted."""
        self.builder.block.operations.append(operation)
        self.work.device_elements += elements(operation) * self.devices.count
        return operation

    def create_local(self, operation: Operation, operands: Sequence[Value], **changed: Attribute) -> None:
        """Append an operation of the program on local operands; its results have the program's shardings."""
        attributes = without_shardings(operation.attributes) | changed
        types = list(map(self.local_type, operation.results))
        created = self.create(operation.name, operands, types, attributes)
        for result, local in zip(operation.results, created.results, strict=True):
            self.set_local(result, local)

    def constant(self, array: Array) -> Value:
        type = TensorType(array.shape, element_type_of(array.dtype))
        return self.append(constant_operation(type, array, self.location)).result

    def device_entry(self, entries: Array) -> Value:
        """The entry of this device in a table with an entry for each device, as a scalar."""
        if self._index is None:
            type = TensorType((), element_type("ui32"))
            self._index = self.create("stablehlo.partition_id", (), [type]).result
        constant = self.constant(entries)
        element = static_tensor_type(constant).element_type
        sliced = self.create(
            "stablehlo.dynamic_slice",
            [constant, self._index],
            [TensorType((1,), element)],
            {"slice_sizes": i64_array([1])},
        )
        return self.create("stablehlo.reshape", [sliced.result], [TensorType((), element)]).result

    def all_reduced(self, value: Value, axes: Sequence[str], reduction: str | Region) -> Value:
        """The reduction of the values of the devices along axes.

        Args:
            value: what a device holds.
            axes: axes of the mesh.
            reduction: the computation, or the name of the reduction of unreduced axes.
        """
        body = reduction
        if isinstance(body, str):
            body = binary_region(COMBINATION[body], static_tensor_type(value).element_type)
        attributes = {**self._groups(axes), "use_global_device_ids": UnitAttribute()}
        return self.create("stablehlo.all_reduce", [value], [value.type], attributes, [body]).result

    def _groups(self, axes: Sequence[str]) -> dict[str, Attribute]:
        groups = self.devices.groups(axes)
        type = TensorType(groups.shape, _I64)
        return {"replica_groups": DenseElementsAttribute(type, groups), "channel_handle": CHANNEL}

    def resharded(self, value: Value, current: AxisSharding, target: AxisSharding) -> Value:
        """A value in another sharding: dimensions are gathered along ended axes, then divided along new ones.

        Raises:
            CannotPartition: a dimension would be gathered along some axes and unreduced along others.
        """
        if current == target:
            return value
        kept_axes = target.unreduced_by(current.reduction)
        ended_axes = [axis for axis in current.unreduced if axis not in kept_axes]
        if ended_axes:
            value = self.all_reduced(value, ended_axes, current.reduction)
        new_axes = [axis for axis in target.unreduced if axis not in current.unreduced_by(target.reduction)]
        for dimension, axes in enumerate(current.dimensions):
            common = _common(axes, target.dimensions[dimension])
            padded = [axis for axis in axes[len(common) :] if axis in new_axes]
            if padded and len(padded) < len(axes) - len(common):
                raise CannotPartition(
                    "a dimension would be gathered along some axes and unreduced along others"
                )
            if padded:
                value = self._padded_shard(value, dimension, axes[len(common) :], target.reduction)
                new_axes = [axis for axis in new_axes if axis not in padded]
            elif len(common) < len(axes):
                value = self._gathered(value, dimension, axes[len(common) :])
        if new_axes and target.reduction == "sum":
            # An equal value on each device is a partial maximum or minimum as it is.
            value = self._on_first_device(value, new_axes)
        for dimension, axes in enumerate(target.dimensions):
            common = _common(axes, current.dimensions[dimension])
            if len(common) < len(axes):
                value = self._sliced(value, dimension, axes[len(common) :])
        return value

    def _gathered(self, value: Value, dimension: int, axes: Axes) -> Value:
        """The shards of the devices along axes, concatenated."""
        attributes = {
            **self._groups(axes),
            "all_gather_dim": i64_attribute(dimension),
            "use_global_device_ids": UnitAttribute(),
        }
        type = self._resized(value, dimension, self.devices.size(axes))
        return self.create("stablehlo.all_gather", [value], [type], attributes).result

    def _resized(self, value: Value, dimension: int, factor: int) -> TensorType:
        type = static_tensor_type(value)
        shape = list(type.shape)
        shape[dimension] *= factor
        return type.with_shape(shape)

    def _starts(self, value: Value, dimension: int, axes: Axes, size: int) -> list[Value]:
        """The start indices of a device's shard along axes."""
        offset = self.device_entry((self.devices.positions(axes) * size).astype(np.int32))
        zero = self.constant(np.zeros((), np.int32))
        return [offset if index == dimension else zero for index in range(static_tensor_type(value).rank)]

    def _sliced(self, value: Value, dimension: int, axes: Axes) -> Value:
        """The shard of a device along axes."""
        type = static_tensor_type(value)
        shape = list(type.shape)
        count = self.devices.size(axes)
        if shape[dimension] % count:
            raise CannotPartition("a dimension does not divide evenly")
        shape[dimension] //= count
        starts = self._starts(value, dimension, axes, shape[dimension])
        attributes = {"slice_sizes": i64_array(shape)}
        return self.create(
            "stablehlo.dynamic_slice", [value, *starts], [type.with_shape(shape)], attributes
        ).result

    def _padded_shard(self, value: Value, dimension: int, axes: Axes, reduction: str) -> Value:
        """A device's shard along axes as a partial result: with what the reduction ignores around it."""
        size = static_tensor_type(value).shape[dimension]
        type = self._resized(value, dimension, self.devices.size(axes))
        starts = self._starts(value, dimension, axes, size)
        return self.create(
            "stablehlo.dynamic_update_slice", [self._identities(type, reduction), value, *starts], [type]
        ).result

    def _identities(self, type: TensorType, reduction: str) -> Value:
        """A tensor of the element that a reduction ignores."""
        element = type.element_type
        monoid = COMBINATION[reduction].removeprefix("stablehlo.")
        value = neutral(monoid, element) if isinstance(element, ElementType) else None
        if value is None:
            raise CannotPartition(f"{element} has no element that a {reduction} ignores")
        return self.constant(np.broadcast_to(value, type.shape))

    def _on_first_device(self, value: Value, axes: Sequence[str]) -> Value:
        """The value as partial sums along axes: the value on the first device, -0 on the others."""
        is_first = self.device_entry(self.devices.positions(axes) == 0)
        zeros = self._identities(static_tensor_type(value), "sum")
        return self.create("stablehlo.select", [is_first, value, zeros], [value.type]).result


def _common(axes: Axes, others: Axes) -> Axes:
    """The longest common prefix of two lists of axes."""
    count = 0
    while count < min(len(axes), len(others)) and axes[count] == others[count]:
        count += 1
    return axes[:count]


def replicated_region(context: Context, region: Region, captured: Iterable[Value]) -> Region:
    """A copy of a region that computes elements; its captured values are replicated."""
    return copy_region(region, {value: context.operand(value, replicated(value.type)) for value in captured})
