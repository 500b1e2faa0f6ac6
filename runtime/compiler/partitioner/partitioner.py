"""Partitions a program whose values have shardings: the result is the program of one device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...program.ir import Block, Builder, Function, Module, Operation, Region, Value, referenced_functions
from ...program.ir.sharding import ManualAxes, ShardingPerValue, attached_sharding
from ...program.ops.framework.declaration import declaration_of
from ...program.ops.framework.op_registry import MESH
from ...program.ops.framework.traits import RegionRole
from ...program.ops.framework.verify import verify
from ...program.ops.sharding.scope import Scope, meshes_of
from ...types import FunctionType
from ..specialize.inline import without_shardings
from .axis_shardings import AxisSharding, CannotPartition, Devices, replicated
from .combining import combine_all_reduces
from .context import Context, Work, elements
from .rules import apply

MAX_REPETITION: Final = 2.0
"""The elements that all devices together may compute, as a multiple of those of the original program.

Operations that are not divided are repeated on each device: a program with many of them is faster on one
device. Programs with partial sums, or with values that differ from device to device, are always
partitioned."""

MAX_REPEATED_ELEMENTS: Final = 1 << 20
"""Elements that all devices together may always compute: they take less than a millisecond."""

_CALL: Final = "func.call"
_MANUAL: Final = "sdy.manual_computation"


def device_program(module: Module, partitions: int) -> Module | None:
    """The program of one device of a module whose values have shardings.

    Args:
        module: the module, verified, with the shardings that propagation gives.
        partitions: the number of devices of the mesh.

    Returns:
        A module whose `main` takes and returns the shards of a device, and is run by the processes (0, d) of
        a grid; None if there is no rule for an operation, or devices would repeat too much work.

    Raises:
        VerifyError: the program of a device violates a constraint; a defect of the rules.
    """
    try:
        local = _Partitioner(module, partitions).partitioned_module()
    except CannotPartition:
        return None
    verify(local)
    return local


def device_count(module: Module) -> int:
    """The number of devices on which the manual computations of a module run; 1 if it has none.

    Args:
        module: the module, verified.
    """
    if not any(operation.name == _MANUAL for operation in module.walk()):
        return 1
    return max([mesh.total_size for mesh in meshes_of(module).values()], default=1)


def _replace_sdy_constants(body: Region) -> None:
    """Replace sdy.constant, which sharding propagation needs, by stablehlo.constant."""
    for operation in body.walk():
        if operation.name == "sdy.constant":
            operation.name = "stablehlo.constant"
            operation.attributes = without_shardings(operation.attributes)


class _Partitioner:
    """Partitions the functions of one module, each once."""

    def __init__(self, module: Module, partitions: int) -> None:
        self.source = module
        self.meshes = meshes_of(module)
        meshes = {mesh for mesh in self.meshes.values() if mesh.total_size > 1}
        if len(meshes) != 1:
            raise CannotPartition("there is no mesh, or there are several")
        (mesh,) = meshes
        if mesh.total_size != partitions:
            raise CannotPartition("the mesh has another number of devices")
        self.devices = Devices(mesh)
        self.functions: dict[str, Function] = {}
        self.work = Work()
        self.must_run_on_devices = False

    def partitioned_module(self) -> Module:
        """The module of a device."""
        self.partitioned_function("main")
        max_work = max(MAX_REPETITION * self.work.program_elements, MAX_REPEATED_ELEMENTS)
        if self.work.device_elements > max_work and not self.must_run_on_devices:
            raise CannotPartition("the devices would repeat each other's work")
        meshes = [item for item in self.source.body if isinstance(item, Operation) and item.name == MESH]
        for function in self.functions.values():
            assert function.body is not None
            _replace_sdy_constants(function.body)
            if self.source.functions[function.name] is not function:
                combine_all_reduces(function)
        return Module(
            [*meshes, *self.functions.values()],
            name=self.source.name,
            location=self.source.location,
            producer=self.source.producer,
        )

    def partitioned_function(self, name: str) -> Function:
        function = self.source.functions[name]
        if function.body is None or self.functions.get(name) is function:
            raise CannotPartition("a function has no body, or bodies of manual computations call it as well")
        if name in self.functions:
            return self.functions[name]
        scope = Scope(self.meshes, function)
        for operation in function.body.walk():
            scope.owners.update({region.block: operation for region in operation.regions})
        source = function.body.block
        shardings = [self._axis_sharding(scope, value) for value in source.arguments]
        types = [
            self.devices.local_type(value.type, sharding)
            for value, sharding in zip(source.arguments, shardings, strict=True)
        ]
        results = self.result_shardings(function)
        result_types = [
            self.devices.local_type(type, sharding)
            for type, sharding in zip(function.type.results, results, strict=True)
        ]
        if name == "main":
            self.must_run_on_devices |= any(sharding.unreduced for sharding in results)
        block = Block(types)
        values = dict(zip(source.arguments, zip(block.arguments, shardings, strict=True), strict=True))
        context = Context(self.devices, scope, block, values, self.work)
        self.emit_block(source, context, results)
        created = function.with_body(Region([block]))
        created.type = FunctionType(types, result_types)
        created.argument_attributes = tuple(map(without_shardings, function.argument_attributes))
        created.result_attributes = tuple(map(without_shardings, function.result_attributes))
        created.attributes = without_shardings(function.attributes)
        self.functions[name] = created
        return created

    def _axis_sharding(self, scope: Scope, value: Value) -> AxisSharding:
        return self.devices.axis_sharding(scope.sharding_of(value), value.type)

    def result_shardings(self, function: Function) -> list[AxisSharding]:
        shardings = []
        for type, attributes in zip(function.type.results, function.result_attributes, strict=True):
            shardings.append(self.devices.axis_sharding(attached_sharding(attributes), type))
        return shardings

    def emit_block(self, source: Block, context: Context, results: Sequence[AxisSharding]) -> None:
        """Append the local operations of a block, and convert its values to the shardings of the results."""
        for operation in source.operations[:-1]:
            context.location = operation.location
            self.work.program_elements += elements(operation)
            self.emit_operation(operation, context)
        returned = [
            context.operand(value, sharding)
            for value, sharding in zip(source.terminator.operands, results, strict=True)
        ]
        context.builder.create(source.terminator.name, returned, location=source.terminator.location)

    def emit_operation(self, operation: Operation, context: Context) -> None:
        """Append the local operations of an operation."""
        if operation.name == _CALL:
            self.emit_call(operation, context)
        elif operation.name == _MANUAL:
            self.emit_manual_computation(operation, context)
        elif (role := declaration_of(operation).region_role) is RegionRole.LOOP:
            self.emit_while(operation, context)
        elif role is RegionRole.BRANCHES:
            self.emit_branches(operation, context)
        elif operation.name != "sdy.sharding_group":
            apply(operation, context)

    def emit_call(self, operation: Operation, context: Context) -> None:
        """Call the function of a device."""
        name = str(operation.attributes["callee"])
        source = self.source.functions[name]
        function = self.partitioned_function(name)
        assert source.body is not None
        scope = Scope(self.meshes, source)
        operands = [
            context.operand(value, self._axis_sharding(scope, argument))
            for value, argument in zip(operation.operands, source.body.block.arguments, strict=True)
        ]
        attributes = {"callee": operation.attributes["callee"]}
        created = context.create(_CALL, operands, function.type.results, attributes)
        shardings = self.result_shardings(source)
        for result, local, sharding in zip(operation.results, created.results, shardings, strict=True):
            context.set_local(result, local, sharding)

    def emit_while(self, operation: Operation, context: Context) -> None:
        """Partition a loop, which each device runs: the condition is equal on all devices."""
        shardings = [context.sharding(result) for result in operation.results]
        operands = [
            context.operand(value, sharding)
            for value, sharding in zip(operation.operands, shardings, strict=True)
        ]
        cond, body = operation.regions
        regions = [
            self.partitioned_region(cond, context, shardings, [AxisSharding(())]),
            self.partitioned_region(body, context, shardings, shardings),
        ]
        types = [value.type for value in operands]
        created = context.create(operation.name, operands, types, None, regions)
        for result, local in zip(operation.results, created.results, strict=True):
            context.set_local(result, local)

    def emit_branches(self, operation: Operation, context: Context) -> None:
        """Partition branches, which each device runs: the selector is equal on all devices."""
        shardings = [context.sharding(result) for result in operation.results]
        selector = context.operand(operation.operands[0], AxisSharding(()))
        regions = [self.partitioned_region(region, context, (), shardings) for region in operation.regions]
        types = list(map(context.local_type, operation.results))
        created = context.create(operation.name, [selector], types, None, regions)
        for result, local in zip(operation.results, created.results, strict=True):
            context.set_local(result, local)

    def partitioned_region(
        self,
        region: Region,
        context: Context,
        arguments: Sequence[AxisSharding],
        results: Sequence[AxisSharding],
    ) -> Region:
        """A region of control flow."""
        source = region.block
        types = [
            self.devices.local_type(value.type, sharding)
            for value, sharding in zip(source.arguments, arguments, strict=True)
        ]
        block = Block(types)
        inner = context.within(block)
        inner.values.update(zip(source.arguments, zip(block.arguments, arguments, strict=True), strict=True))
        self.emit_block(source, inner, results)
        return Region([block])

    def emit_manual_computation(self, operation: Operation, context: Context) -> None:
        """Append the body of a manual computation, which is already a device's program."""
        shardings = self.manual_shardings(operation)
        region = operation.regions[0]
        self.must_run_on_devices = True
        self.copy_callees(region)
        body = region.block
        locals = {
            argument: context.operand(value, sharding)
            for argument, value, sharding in zip(
                body.arguments, operation.operands, shardings[0], strict=True
            )
        }
        self.emit_manual_body(body, context, locals)
        for result, returned, sharding in zip(
            operation.results, body.terminator.operands, shardings[1], strict=True
        ):
            context.set_local(result, locals[returned], sharding)

    def manual_shardings(self, operation: Operation) -> tuple[list[AxisSharding], list[AxisSharding]]:
        """The shardings of the operands and results of a manual computation, along its manual axes alone."""
        manual = operation.attributes["manual_axes"]
        assert isinstance(manual, ManualAxes)

        def shardings(name: str, values: Sequence[Value]) -> list[AxisSharding]:
            attribute = operation.attributes[name]
            assert isinstance(attribute, ShardingPerValue)
            return [
                self.devices.axis_sharding(sharding.restricted_to(manual.names), value.type)
                for sharding, value in zip(attribute.shardings, values, strict=True)
            ]

        return shardings("in_shardings", operation.operands), shardings("out_shardings", operation.results)

    def emit_manual_body(self, block: Block, context: Context, locals: dict[Value, Value]) -> None:
        """Append the operations of a device's body except for the terminator; `locals` gets their values.

        A computation within it, along other axes, takes its shards of what the device holds, and what it
        leaves is put together again.
        """
        for operation in block.operations[:-1]:
            context.location = operation.location
            if operation.name == _MANUAL:
                self.emit_nested_computation(operation, context, locals)
            elif any(inner.name == _MANUAL for region in operation.regions for inner in region.walk()):
                regions = [
                    self.emitted_manual_region(region, context, locals) for region in operation.regions
                ]
                operands = tuple([locals[operand] for operand in operation.operands])
                copied = operation.clone(operands, regions)
                context.builder.block.operations.append(copied)
                locals.update(zip(operation.results, copied.results, strict=True))
            else:
                context.builder.copy(operation, locals)

    def emitted_manual_region(self, region: Region, context: Context, locals: dict[Value, Value]) -> Region:
        """A region within a device's body."""
        source = region.block
        block = Block([argument.type for argument in source.arguments])
        inner = {**locals, **dict(zip(source.arguments, block.arguments, strict=True))}
        self.emit_manual_body(source, context.within(block), inner)
        Builder(block).copy(source.terminator, inner)
        return Region([block])

    def emit_nested_computation(
        self, operation: Operation, context: Context, locals: dict[Value, Value]
    ) -> None:
        """Append a manual computation within the body of another one."""
        shardings = self.manual_shardings(operation)
        body = operation.regions[0].block
        inner = {
            argument: context.resharded(locals[operand], replicated(operand.type), sharding)
            for argument, operand, sharding in zip(
                body.arguments, operation.operands, shardings[0], strict=True
            )
        }
        self.emit_manual_body(body, context, inner)
        for result, returned, sharding in zip(
            operation.results, body.terminator.operands, shardings[1], strict=True
        ):
            locals[result] = context.resharded(inner[returned], sharding, replicated(result.type))

    def copy_callees(self, region: Region) -> None:
        """Copy the functions that the body of a manual computation calls, unchanged."""
        for function in referenced_functions(region, self.source.functions):
            name = function.name
            if self.functions.get(name) is function:
                continue
            if name in self.functions or function.body is None:
                raise CannotPartition("a function is called by the program and by a manual computation")
            if any(inner.name == _MANUAL for inner in function.body.walk()):
                raise CannotPartition("a function that a manual computation calls holds another one")
            self.functions[name] = function
