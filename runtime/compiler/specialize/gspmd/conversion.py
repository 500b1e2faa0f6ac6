"""Converts a module with GSPMD shardings to a module with shardings of the sdy dialect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ....errors import UnsupportedError, VerifyError, counted
from ....program.ir import (
    Attribute,
    Block,
    Builder,
    Function,
    IntegerAttribute,
    Module,
    Operation,
    Region,
    StringAttribute,
    Value,
    used_values,
)
from ....program.ir.hlo_sharding import MAX_LISTED_DEVICES, TILED, HloSharding, parse_hlo_sharding
from ....program.ir.sharding import ManualAxes, ShardingPerValue, TensorSharding
from ....program.ops.framework.op_registry import MESH
from ....program.ops.framework.rules import call_target
from ....program.ops.framework.verify import verify
from ....types import TensorType, Type
from .annotations import GSPMD_SHARDING, attributes_of_values, uses_gspmd
from .manual import FULL_TO_SHARD, SHARD_TO_FULL, ManualRegion, ManualRegions, manual_regions
from .meshes import Meshes, device_count

PARTITIONS: Final = "mhlo.num_partitions"

_ANNOTATION: Final = "Sharding"
_SHARD_BOUNDARIES: Final = (FULL_TO_SHARD, SHARD_TO_FULL)
_SDY_SHARDING: Final = "sdy.sharding"
_UNSPECIFIED: Final = re.compile(r"unspecified_dims=\[\s*(\d{1,9}(?:\s*,\s*\d{1,9})*)?\s*\]")

_Values = dict[Value, Value]


def to_shardy(module: Module, *, verifies: bool = True) -> Module:
    """Convert the GSPMD shardings of a module to the sdy dialect.

    The attribute ``mhlo.sharding`` becomes ``sdy.sharding``, the custom call `Sharding` a
    `sdy.sharding_constraint`, and the operations between `SPMDFullToShardShape` and `SPMDShardToFullShape` a
    `sdy.manual_computation`.

    Args:
        module: a module, which is not changed; it is returned itself if it has no GSPMD sharding.
        verifies: whether to check the new module, too.

    Raises:
        VerifyError: a sharding is malformed, or does not fit its value.
        UnsupportedError: the operations between these calls cannot form a manual computation, or all
            shardings together list more than `MAX_LISTED_DEVICES` devices.
    """
    if not uses_gspmd(module):
        return module
    converted = _Converter(module).module()
    if verifies:
        verify(converted)
    return converted


class _Converter:
    def __init__(self, module: Module) -> None:
        self.source = module
        self.parsed: dict[Attribute, tuple[HloSharding, ...]] = {}
        self.listed_devices = 0
        for function in module.functions.values():
            for attributes in attributes_of_values(function):
                self.parse(attributes, "func.func", function.location)
        for operation in module.walk():
            self.parse(operation.attributes, operation.name, operation.location)
        shardings = [sharding for of_value in self.parsed.values() for sharding in of_value]
        try:
            self.count = device_count(shardings) or _partition_count(module)
        except ValueError as error:
            raise VerifyError(f"{GSPMD_SHARDING}: {error}", location=module.location) from None
        symbols = [
            name.value
            for item in module.body
            if isinstance(item, Operation)
            and isinstance(name := item.attributes.get("sym_name"), StringAttribute)
        ]
        self.meshes = Meshes(shardings, self.count, [*symbols, *module.functions])

    def parse(self, attributes: Mapping[str, Attribute], name: str, location: object) -> None:
        """Parse the sharding among attributes, if there is one."""
        attribute = attributes.get(GSPMD_SHARDING)
        if attribute is None or attribute in self.parsed:
            return
        if not isinstance(attribute, StringAttribute):
            raise VerifyError(f"{GSPMD_SHARDING} must be a string", operation=name, location=location)
        try:
            parsed = self.parsed[attribute] = parse_hlo_sharding(attribute.value)
        except ValueError as error:
            raise VerifyError(
                f"{GSPMD_SHARDING} = {attribute.value[:200]!r} {error}", operation=name, location=location
            ) from None
        self.listed_devices += sum(len(sharding.devices) for sharding in parsed)
        if self.listed_devices > MAX_LISTED_DEVICES:
            reason = f"the shardings of the program list more than {MAX_LISTED_DEVICES} devices in all"
            raise UnsupportedError(reason, operation=name, location=location)

    def module(self) -> Module:
        items = [self.function(item) if isinstance(item, Function) else item for item in self.source.body]
        meshes = [
            Operation(MESH, attributes={"sym_name": StringAttribute(name), "mesh": mesh})
            for name, mesh in self.meshes.meshes.items()
        ]
        return Module(
            [*(meshes if self.count > 1 else ()), *items],
            name=self.source.name,
            attributes=self.source.attributes,
            location=self.source.location,
            producer=self.source.producer,
        )

    def function(self, function: Function) -> Function:
        """A function with shardings of sdy."""
        body = None if function.body is None else self.region(function.body, {})
        converted = function.with_body(body)
        converted.argument_attributes = tuple(
            [
                self.attributes(attributes, [type], function, is_operation=False)
                for attributes, type in zip(function.argument_attributes, function.type.inputs, strict=True)
            ]
        )
        converted.result_attributes = tuple(
            [
                self.attributes(attributes, [type], function, is_operation=False)
                for attributes, type in zip(function.result_attributes, function.type.results, strict=True)
            ]
        )
        return converted

    def attributes(
        self,
        attributes: Mapping[str, Attribute],
        types: Sequence[Type],
        owner: Function | Operation,
        *,
        is_operation: bool,
    ) -> dict[str, Attribute]:
        """The attributes with sdy's sharding instead of GSPMD's."""
        converted = {name: value for name, value in attributes.items() if name != GSPMD_SHARDING}
        if GSPMD_SHARDING not in attributes or self.count < 2:
            return converted
        shardings = self.parsed[attributes[GSPMD_SHARDING]]
        if len(shardings) != len(types):
            numbers = f"{counted(len(shardings), 'sharding')} for {counted(len(types), 'value')}"
            raise self.error(owner, f"has {numbers}")
        per_value = [
            self.tensor_sharding(sharding, type, owner)
            for sharding, type in zip(shardings, types, strict=True)
        ]
        of_tensors = [sharding for sharding in per_value if sharding is not None]
        if len(of_tensors) == len(per_value) and of_tensors:
            converted[_SDY_SHARDING] = ShardingPerValue(tuple(of_tensors)) if is_operation else of_tensors[0]
        return converted

    def tensor_sharding(
        self,
        sharding: HloSharding,
        type: Type,
        owner: Function | Operation,
        *,
        mesh: str | None = None,
        open_dimensions: Iterable[int] = (),
    ) -> TensorSharding | None:
        """The sharding of a value; None for manual, maximal and unknown shardings."""
        if not isinstance(type, TensorType) or sharding.kind not in (TILED, "replicated"):
            return None
        if sharding.kind == TILED and len(sharding.tiles) != type.rank:
            raise self.error(owner, f"divides {counted(len(sharding.tiles), 'dimension')} of {type}")
        return self.meshes.tensor_sharding(sharding, type.rank, mesh or self.meshes.default, open_dimensions)

    def error(self, owner: Function | Operation, reason: str) -> VerifyError:
        """The error for a sharding that does not fit."""
        name = owner.name if isinstance(owner, Operation) else "func.func"
        return VerifyError(f"{GSPMD_SHARDING} {reason}", operation=name, location=owner.location)

    def region(self, region: Region, values: _Values) -> Region:
        converted = Region(is_isolated=region.is_isolated)
        for block in region.blocks:
            new = Block([argument.type for argument in block.arguments])
            values.update(zip(block.arguments, new.arguments, strict=True))
            self.block(block, new, values)
            converted.blocks.append(new)
        return converted

    def block(self, block: Block, new: Block, values: _Values) -> None:
        """Append the converted operations of a block."""
        if not block.operations:
            return
        builder, end = Builder(new), block.terminator
        self.operations(block.operations[:-1], end.operands, builder, values)
        self.copy(end, builder, values)

    def operations(
        self, operations: Sequence[Operation], returned: Sequence[Value], builder: Builder, values: _Values
    ) -> None:
        """Append converted operations, and the manual computations that compute `returned`."""
        regions = None if self.count < 2 else manual_regions(operations, returned)
        if regions is None:
            for operation in operations:
                self.operation(operation, builder, values)
            return
        _Emitter(self, regions, builder, values).emit(operations, returned)

    def operation(self, operation: Operation, builder: Builder, values: _Values) -> None:
        """Append the conversion of an operation outside of manual regions."""
        target = call_target(operation)
        if GSPMD_SHARDING not in operation.attributes or target not in (_ANNOTATION, *_SHARD_BOUNDARIES):
            self.copy(operation, builder, values)
            return
        if len(operation.operands) != 1 or len(operation.results) != 1:
            raise self.error(
                operation, f"is on a call of @{target}, which must have one operand and one result"
            )
        (operand,), result = operation.operands, operation.result
        if operand.type != result.type:
            raise self.error(
                operation,
                f"is on a call of @{target} outside of a manual computation: its operand and result must "
                f"have the same type, but have {operand.type} and {result.type}",
            )
        sharding = self.one_sharding(operation)
        constrained = self.tensor_sharding(
            sharding, operand.type, operation, open_dimensions=_open_dimensions(operation)
        )
        if constrained is None or self.count < 2:
            values[result] = values[operand]
            return
        created = builder.create(
            "sdy.sharding_constraint",
            [values[operand]],
            [result.type],
            {"sharding": constrained},
            location=operation.location,
        )
        values[result] = created.result

    def one_sharding(self, operation: Operation) -> HloSharding:
        shardings = (
            self.parsed[operation.attributes[GSPMD_SHARDING]]
            if GSPMD_SHARDING in operation.attributes
            else ()
        )
        if len(shardings) != 1:
            raise self.error(operation, f"has {len(shardings)} shardings for one value")
        return shardings[0]

    def copy(self, operation: Operation, builder: Builder, values: _Values) -> None:
        regions = [self.region(region, values) for region in operation.regions]
        copied = operation.clone(tuple([values[operand] for operand in operation.operands]), regions)
        if GSPMD_SHARDING in operation.attributes:
            types = [result.type for result in operation.results]
            copied.attributes = self.attributes(operation.attributes, types, operation, is_operation=True)
        builder.block.operations.append(copied)
        values.update(zip(operation.results, copied.results, strict=True))

    def sharding_of(self, value: Value) -> HloSharding | None:
        """The GSPMD sharding of a value; None if the program states none."""
        if isinstance(value.owner, Operation):
            attributes: Mapping[str, Attribute] = value.owner.attributes
            index = value.index
        else:
            functions = self.source.functions.values()
            owner = value.owner
            holders = [each for each in functions if each.body is not None and owner in each.body.blocks]
            attributes = holders[0].argument_attributes[value.index] if holders else {}
            index = 0
        shardings = self.parsed[attributes[GSPMD_SHARDING]] if GSPMD_SHARDING in attributes else ()
        return shardings[index] if index < len(shardings) else None


class _Emitter:
    """Appends the operations of a block that has manual regions."""

    def __init__(
        self, converter: _Converter, regions: ManualRegions, builder: Builder, values: _Values
    ) -> None:
        self.converter = converter
        self.regions = regions
        self.builder = builder
        self.values = values
        self.emitted: set[ManualRegion] = set()
        self.defined_by = {
            output.result: region
            for region in dict.fromkeys(regions.region_of.values())
            for output in region.outputs
        }

    def emit(self, operations: Sequence[Operation], returned: Sequence[Value]) -> None:
        """Append all operations; a manual region comes before the first use of a result."""
        for operation in operations:
            if operation in self.regions.outside_operations:
                self.require(used_values(operation))
                self.converter.operation(operation, self.builder, self.values)
        for region in dict.fromkeys(self.regions.region_of.values()):
            self.emit_region(region)
        self.require(returned)

    def require(self, values: Iterable[Value]) -> None:
        """Append the manual regions that compute these values."""
        for value in values:
            region = self.defined_by.get(value)
            if region is not None:
                self.emit_region(region)

    def emit_region(self, region: ManualRegion) -> None:
        """Append a region as a manual computation."""
        if region in self.emitted:
            return
        self.emitted.add(region)
        operands = [*(entry.operands[0] for entry in region.inputs), *region.captured]
        self.require(operands)
        missing = next((value for value in operands if value not in self.values), None)
        if missing is not None:
            raise UnsupportedError(
                "the operations between SPMDFullToShardShape and SPMDShardToFullShape need their own results",
                operation=region.operations[0].name,
                location=region.operations[0].location,
            )
        shardings = _RegionShardings(self.converter, region)
        block = Block([*(entry.result.type for entry in region.inputs), *(v.type for v in region.captured)])
        inner = dict(self.values)
        sources = [*(entry.result for entry in region.inputs), *region.captured]
        inner.update(zip(sources, block.arguments, strict=True))
        boundaries = {*region.inputs, *region.outputs}
        body = [operation for operation in region.operations if operation not in boundaries]
        returned = [output.operands[0] for output in region.outputs]
        self.converter.operations(body, returned, Builder(block), inner)
        location = (region.inputs or region.outputs or region.operations)[0].location
        Builder(block).create("sdy.return", [inner[value] for value in returned], location=location)
        created = self.builder.create(
            "sdy.manual_computation",
            [self.values[value] for value in operands],
            [output.result.type for output in region.outputs],
            shardings.attributes(),
            [Region([block])],
            location,
        )
        for output, result in zip(region.outputs, created.results, strict=True):
            self.values[output.result] = result


class _RegionShardings:
    """The mesh, the manual axes and the shardings of a manual region."""

    def __init__(self, converter: _Converter, region: ManualRegion) -> None:
        self.converter = converter
        self.region = region
        for boundary in (*region.inputs, *region.outputs):
            if len(boundary.operands) != 1 or len(boundary.results) != 1:
                raise converter.error(boundary, "is on a call that must have one operand and one result")
        outer = [(entry, converter.sharding_of(entry.operands[0])) for entry in region.inputs]
        outer += [(output, converter.one_sharding(output)) for output in region.outputs]
        self.outer: list[HloSharding] = []
        for boundary, sharding in outer:
            if sharding is None or sharding.kind not in (TILED, "replicated"):
                raise converter.error(
                    boundary, "is on a call whose sharding must be tiled or replicated"
                )
            self.outer.append(sharding)
        tiled = [sharding for sharding in self.outer if sharding.kind == TILED]
        self.mesh = converter.meshes.axes(tiled[0]).mesh if tiled else converter.meshes.default
        self.manual = self._manual_axes()

    def _manual_axes(self) -> tuple[str, ...]:
        """The axes along which the values of the region are shards."""
        meshes, converter = self.converter.meshes, self.converter
        names: set[frozenset[str]] = set()
        boundaries = [*self.region.inputs, *self.region.outputs]
        for boundary, outer in zip(boundaries, self.outer, strict=True):
            if boundary in self.region.inputs:
                inner: HloSharding | None = converter.one_sharding(boundary)
            else:
                inner = converter.sharding_of(boundary.operands[0]) or HloSharding("manual")
            assert inner is not None
            if not inner.is_manual:
                raise converter.error(
                    boundary,
                    "is on a call whose value within the manual computation must be sharded as manual",
                )
            names.add(meshes.manual_axes(inner, self.mesh) - meshes.manual_axes(outer, self.mesh))
        if len(names) != 1:
            raise converter.error(
                boundaries[0], "gives the values of one manual computation different sets of manual axes"
            )
        return tuple([axis.name for axis in meshes.meshes[self.mesh].axes if axis.name in next(iter(names))])

    def attributes(self) -> dict[str, Attribute]:
        """The attributes of the manual computation."""
        count = len(self.region.inputs)
        inputs = [
            self._sharding(sharding, entry.operands[0].type, entry)
            for sharding, entry in zip(self.outer[:count], self.region.inputs, strict=True)
        ]
        inputs += [
            self._sharding(HloSharding("replicated"), value.type, self.region.operations[0])
            for value in self.region.captured
        ]
        outputs = [
            self._sharding(sharding, output.result.type, output)
            for sharding, output in zip(self.outer[count:], self.region.outputs, strict=True)
        ]
        return {
            "in_shardings": ShardingPerValue(tuple(inputs)),
            "out_shardings": ShardingPerValue(tuple(outputs)),
            "manual_axes": ManualAxes(self.manual),
        }

    def _sharding(self, sharding: HloSharding, type: Type, owner: Operation) -> TensorSharding:
        """The sharding along the manual axes; others may divide a value further."""
        rank = type.rank if isinstance(type, TensorType) else 0
        is_partial = len(self.manual) < len(self.converter.meshes.meshes[self.mesh].axes)
        full_sharding = self.converter.tensor_sharding(
            sharding, type, owner, mesh=self.mesh, open_dimensions=range(rank) if is_partial else ()
        )
        if full_sharding is None:
            raise self.converter.error(owner, f"is on a value of type {type}, which cannot be sharded")
        return full_sharding.restricted_to(self.manual)


def _partition_count(module: Module) -> int:
    """The number of partitions that a module's attributes state; 1 by default."""
    attribute = module.attributes.get(PARTITIONS)
    return max(1, attribute.value) if isinstance(attribute, IntegerAttribute) else 1


def _open_dimensions(operation: Operation) -> tuple[int, ...]:
    """The dimensions that propagation may divide further."""
    config = operation.attributes.get("backend_config")
    text = config.value if isinstance(config, StringAttribute) else ""
    if not text:
        return ()
    match = _UNSPECIFIED.fullmatch(text)
    if match is None:
        raise VerifyError(
            f"backend_config = {text[:200]!r} is not of the form 'unspecified_dims=[0,1]'",
            operation=operation.name,
            location=operation.location,
        )
    return tuple([int(number) for number in (match[1] or "").split(",") if number.strip()])
