"""Programs whose inputs are constants."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...errors import UnsupportedError
from ...program.ir import Block, Builder, Function, Module, Region, Value
from ...types import Array, TensorType

MakeResults = Callable[[Builder, Sequence[Value]], Sequence[Value]]


def with_constant_inputs(
    module: Module,
    inputs: Sequence[Array],
    make_results: MakeResults = lambda _, values: values,
    *,
    hides_constants: bool = False,
) -> Module:
    """A program whose @main takes nothing, and has constants in place of its arguments.

    Args:
        module: the program.
        inputs: an array for each argument of @main.
        make_results: appends operations and returns what @main returns; takes what it returned.
        hides_constants: whether each constant goes through `optimization_barrier`, behind which compilers do
            not fold it.

    Raises:
        UnsupportedError: an argument is not a tensor.
    """
    main = module.functions["main"]
    assert main.body is not None
    old, block = main.body.block, Block()
    builder = Builder(block)
    values: dict[Value, Value] = {}
    for argument, array in zip(old.arguments, inputs, strict=True):
        if not isinstance(argument.type, TensorType):
            raise UnsupportedError(f"an argument of type {argument.type} cannot be a constant")
        created = builder.constant(argument.type, array)
        if hides_constants:
            created = builder.create("stablehlo.optimization_barrier", [created], [argument.type]).result
        values[argument] = created
    for operation in old.operations[:-1]:
        builder.copy(operation, values)
    results = make_results(builder, [values[operand] for operand in old.terminator.operands])
    builder.create("func.return", results)
    region = Region([block])
    others = [item for item in module.body if item is not main]
    return Module([*others, Function("main", region.type, region)], attributes=module.attributes)
