"""The forms in which a program is run.

- For the reference interpreter: constants stay, every value is returned, complex ones by their parts.
- Observed: constants become arguments, every value is returned. Values may be cut: the operations that use
  them are given the interpreter's values instead, so that each operation is judged by itself.
- Plain: constants become arguments, the results alone are returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from nimblehlo.checks.fuzzing.generator import Generator, RandomProgram, is_constant
from nimblehlo.program.ir import Block, Builder, Function, Module, Operation, Region, Value, captured_values
from nimblehlo.program.ops import lookup
from nimblehlo.types import COMPLEX, FunctionType, TensorType

from .equivalents import constant, emit, emit_function

Array = np.ndarray[Any, Any]


def observed_values(program: RandomProgram) -> list[Value]:
    """The tensors that a program makes, constants aside, in order."""
    values = [value for operation in program.block.operations for value in operation.results]
    return [value for value in values if isinstance(value.type, TensorType) and not is_constant(value)]


def constants(program: RandomProgram) -> list[Value]:
    """The constants of @main."""
    return [operation.result for operation in program.block.operations if is_constant(operation.results[0])]


def constant_array(value: Value) -> Array:
    """The array of a constant."""
    assert isinstance(value.owner, Operation)
    attribute: Any = value.owner.attributes["value"]
    return np.array(attribute.array)


def text_of(program: RandomProgram) -> str:
    """The program's text."""
    return str(module_of(program, [], {}, program.results))


def for_interpreter(
    program: RandomProgram, returned: Sequence[Value], stand_ins: Mapping[Value, Array]
) -> str:
    """The text that the interpreter is given.

    Args:
        stand_ins: the results of operations that it cannot run.
    """
    return str(module_of(program, [], {}, returned, stand_ins))


def for_runtime(
    program: RandomProgram, returned: Sequence[Value], cuts: Mapping[Value, Array]
) -> tuple[Module, list[Array]]:
    """A module and its inputs."""
    lifted = constants(program)
    module = module_of(program, lifted, cuts, returned)
    return module, [*map(constant_array, lifted), *cuts.values()]


def concatenated_components(arrays: Iterable[Array], returned: Sequence[Value]) -> list[Array]:
    """The values that `for_interpreter` returns, complex ones put together again."""
    remaining = iter(arrays)
    values = []
    for value in returned:
        array = next(remaining)
        if value.type.category == COMPLEX:
            joined = np.empty(array.shape, value.type.dtype)
            joined.real, joined.imag = array, next(remaining)
            array = joined
        values.append(array)
    return values


def module_of(
    program: RandomProgram,
    lifted: Sequence[Value],
    cuts: Mapping[Value, Array],
    returned: Sequence[Value],
    stand_ins: Mapping[Value, Array] | None = None,
) -> Module:
    """The program in one of its forms; with `stand_ins` that for the interpreter.

    Args:
        lifted: constants that become arguments.
        cuts: values that become arguments, behind those.
        returned: what it returns.
    """
    arguments = [value.type for value in (*lifted, *cuts)]
    block = Block(arguments)
    builder = Builder(block)
    values = dict(zip(lifted, block.arguments, strict=False))
    given = dict(zip(cuts, block.arguments[len(lifted) :], strict=True))
    made: dict[Value, Value] = {}
    for operation in program.block.operations:
        if operation.results and operation.results[0] in values:
            continue
        if stand_ins is None:
            builder.copy(operation, values)
        elif operation.results[0] in stand_ins:
            for result in operation.results:
                values[result] = constant(builder, result.type, stand_ins[result])
        else:
            emit(builder, operation, values)
        for result in operation.results:
            made[result] = values[result]
            values[result] = given.get(result, values[result])
    results = [made.get(value) or values[value] for value in returned]
    if stand_ins is not None:
        results = [part for result in results for part in _parts(builder, result)]
    builder.create("func.return", results)
    type = FunctionType(arguments, [result.type for result in results])
    functions = program.functions if stand_ins is None else map(emit_function, program.functions)
    return Module([*functions, Function("main", type, Region([block]))])


def _parts(builder: Builder, value: Value) -> list[Value]:
    """A value, or its real and its imaginary part where it is complex."""
    if value.type.category != COMPLEX:
        return [value]
    assert isinstance(value.type, TensorType)
    declaration: Any = lookup("stablehlo.real")
    part = value.type.with_element_type(declaration.result_element_type(value.type.element_type))
    return [builder.create(f"stablehlo.{name}", [value], [part]).result for name in ("real", "imag")]


def single_operation(
    operation: Operation, functions: Sequence[Function], values: Mapping[Value, Array]
) -> RandomProgram:
    """A program of one operation whose operands are constants.

    Args:
        values: an array for each operand and for each value that its regions use.
    """
    generator = Generator(0)
    generator.program.functions = list(functions)
    needed = dict.fromkeys([*operation.operands, *captured_values(operation.regions)])
    mapping = {value: generator.constant(value.type, values[value]) for value in needed}
    generator.builder.copy(operation, mapping)
    return generator.program
