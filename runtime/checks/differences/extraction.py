"""Extracts programs: of one operation, of one region, or of a function that returns intermediate results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...errors import UnsupportedError
from ...program.ir import (
    Block,
    Builder,
    DenseElementsAttribute,
    Function,
    Module,
    Operation,
    Region,
    Value,
    builder_like,
    captured_values,
    main_module,
    set_types,
)
from ...program.ops.framework.declaration import Op
from ...program.ops.reduction.bodies import is_scalar_elementwise
from ...types import PLAIN, Array, TensorType, Type
from ..error_bounds.monte_carlo import static_function


def static_program(module: Module, entry: str, inputs: Sequence[Array]) -> Module:
    """The function `entry` with calls inlined, for the sizes of the inputs."""
    function = static_function(module, entry, inputs)
    assert function.body is not None
    return Module([Function("main", function.type, function.body)])


def main_block(module: Module) -> Block:
    """The body of @main."""
    body = module.functions["main"].body
    assert body is not None
    return body.block


def observable_values(module: Module) -> list[Value]:
    """The results of the operations of @main, in order: only plain tensors, without constants."""
    return [
        result
        for operation in main_block(module).operations
        if constant_array(operation) is None
        for result in operation.results
        if isinstance(result.type, TensorType) and result.type.category & PLAIN and result.type.is_static
    ]


def operations_before(value: Value) -> list[Operation]:
    """The operations on which a value depends, the one that defines it first."""
    operations: dict[Operation, None] = {}
    waiting = [value]
    while waiting:
        operation = waiting.pop().owner
        if isinstance(operation, Operation) and operation not in operations:
            operations[operation] = None
            waiting += [*operation.operands, *captured_values(operation.regions)]
    return list(operations)


def constant_array(operation: Operation) -> Array | None:
    """The array of a constant; None for other operations."""
    value = operation.constant_value
    return None if value is None else np.array(value.array)


def returning(module: Module, returned: Sequence[Value]) -> Module:
    """A copy of a program whose @main returns other values of its block."""
    block = main_block(module)
    values: dict[Value, Value] = {}
    builder = builder_like(block, values)
    for operation in block.operations[:-1]:
        builder.copy(operation, values)
    return main_module(builder, [values[value] for value in returned])


def returning_alone(module: Module, returned: Sequence[Value]) -> Module:
    """A copy of a program that returns some values of its block, with the operations that these need."""
    block = main_block(module)
    needed = {operation for value in returned for operation in operations_before(value)}
    values: dict[Value, Value] = {}
    builder = builder_like(block, values)
    for operation in block.operations[:-1]:
        if operation in needed:
            builder.copy(operation, values)
    return main_module(builder, [values[value] for value in returned])


def operation_program(operation: Operation, operands: Mapping[Value, Array]) -> tuple[Module, list[Array]]:
    """A program of one operation, whose arguments are its operands and what its regions use, and its inputs.

    Args:
        operation: the operation to extract.
        operands: the arrays of its operands and captured values.
    """
    needed = list(dict.fromkeys([*operation.operands, *captured_values(operation.regions)]))
    block = Block([value.type for value in needed])
    builder = Builder(block)
    copied = builder.copy(operation, dict(zip(needed, block.arguments, strict=True)))
    return main_module(builder, copied.results), [operands[value] for value in needed]


def region_program(region: Region, captured: Mapping[Value, Array]) -> tuple[Module, list[Array]]:
    """A program of a region: its arguments, then what it uses from outside; and the inputs for the latter.

    Args:
        region: a region of a control-flow operation.
        captured: the arrays of the values that it captures.
    """
    outside = captured_values([region])
    old = region.block
    block = Block([value.type for value in (*old.arguments, *outside)])
    inner = dict(zip((*old.arguments, *outside), block.arguments, strict=True))
    builder = Builder(block)
    for operation in old.operations[:-1]:
        builder.copy(operation, inner)
    module = main_module(builder, [inner[value] for value in old.terminator.operands])
    return module, [captured[value] for value in outside]


def body_program(region: Region, captured: Mapping[Value, Array], size: int) -> tuple[Module, list[Array]]:
    """A program of an elementwise region of scalars, on vectors of a size; as `region_program` has it.

    Raises:
        UnsupportedError: the region is not elementwise.
    """
    if not is_scalar_elementwise(region):
        raise UnsupportedError("the region is not elementwise")
    module, inputs = region_program(region, captured)
    main = module.functions["main"]
    assert main.body is not None
    set_types(main.body, lambda type: _vector(type, size))
    main.type = main.body.type
    for operation in main.body.block.operations:
        constant = constant_array(operation)
        if constant is not None:
            type = operation.results[0].type
            assert isinstance(type, TensorType)
            value = DenseElementsAttribute(type, np.full(type.shape, constant))
            operation.attributes = {**operation.attributes, "value": value}
    return module, [np.full(size, one) for one in inputs]


def _vector(type: Type, size: int) -> TensorType:
    assert isinstance(type, TensorType)
    return type.with_shape((size,))


def body_arguments(
    operation: Operation, region: Region, values: Mapping[Value, Array], size: int, seed: int
) -> list[Array]:
    """Vectors for a region's arguments: elements of the operands that the region is applied to.

    Args:
        operation: a reduction, a scatter, a sort or a map.
        region: a region of the operation.
        values: the arrays of the operation's operands.
        size: the size of each vector.
        seed: chooses the elements.

    Returns:
        An array for each argument; none where operands are empty.

    Raises:
        KeyError: a value is not known.
    """
    types = [argument.type for argument in region.block.arguments]
    applied = Op.of(operation).applied_operands(region)
    arrays = [values[operation.operands[number]] for number in applied]
    if len(arrays) != len(types) or any(not array.size for array in arrays):
        return []
    random = np.random.default_rng(seed)
    return [
        array.ravel()[random.integers(array.size, size=size)].astype(type.dtype)
        for array, type in zip(arrays, types, strict=True)
        if isinstance(type, TensorType)
    ]
