"""From a tape to a module, and from a call to the program that was compiled for it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

import numpy as np

from ..api import Executable
from ..errors import UnsupportedError
from ..ir import (
    Attribute,
    Block,
    Builder,
    DenseElementsAttribute,
    Function,
    Module,
    Region,
    StructAttribute,
)
from ..ir import Value as IrValue
from ..ops.attribute_kinds import Enum
from ..ops.declaration import Op, lookup
from ..ops.verify import verify
from ..options import Options
from ..types import ElementType, FunctionType, TensorType
from .arrays import array_of, given_to, library_of
from .element_types import element_type_named, is_number
from .failures import broken
from .operands import lift, value_of
from .tape import INPUT, Node, Tape, Value, active_tape
from .traced import Traced

MOST_PROGRAMS: Final = 256
"""How many compiled programs are kept; those that were used last stay."""

_STRUCTS: Final = {"dimension_numbers": "gather", "scatter_dimension_numbers": "scatter"}
"""The mnemonic of the struct that holds dimension numbers."""

_DEFAULT: Final = Options()

Record = Callable[..., Any]


def trace(function: Callable[..., Any], *argument_types: Any) -> Module:
    """The program of a function of patterns.

    Args:
        function: takes a traced value for each argument type and returns one, or a tuple or list of them.
            Arrays that it takes from around it become constants.
        argument_types: for each argument a `nimblehlo.types.TensorType`, a pair of shape and element type, or
            anything with ``shape`` and ``dtype``, such as an array.

    Returns:
        A verified Module whose function ``main`` has the results of `function`.

    Raises:
        VerifyError: a constraint of a pattern does not hold, or something is no type.
        UnsupportedError: traced values do not take what `function` does with them, or a size is unknown.
    """
    tape = Tape(Traced, keeps_arrays=True)
    arguments = [_argument(tape, type) for type in argument_types]
    with tape:
        found = function(*arguments)
        results = [value_of(tape, result, "trace") for result in _listed(found)]
    return module_of(tape.nodes, [result.index for result in results])


def compute(
    record: Record, operands: Sequence[Any], names: Sequence[str], pattern: str, options: Options | None
) -> Any:
    """What a pattern does: within another one it is recorded, otherwise it is run.

    Args:
        record: from the operands as traced values to the results; Python's numbers come as they are.
        operands: what the user gave.
        names: of the operands, for errors.
        pattern: for errors.
        options: how it is run.

    Returns:
        A traced value or an array, which is of the first operand's library that is not NumPy's; a tuple where
        `record` returns several.
    """
    outer = active_tape()
    if outer is not None:
        return record(*[lift(outer, operand, pattern) for operand in operands])
    for operand in operands:
        if isinstance(operand, Value):
            operand.tape.check(operand, pattern)
    tape = Tape(Traced)
    values = [
        operand if is_number(operand) else tape.array(array_of(operand, name, pattern))
        for operand, name in zip(operands, names, strict=True)
    ]
    with tape:
        found = record(*values)
        results = [value_of(tape, result, pattern) for result in _listed(found)]
    arrays = _executable(tape, tuple([result.index for result in results]), options)(*tape.arrays)
    library = library_of(operands)
    if library is not None:
        arrays = [given_to(library, array) for array in arrays]
    return tuple(arrays) if isinstance(found, (tuple, list)) else arrays[0]


def _listed(found: Any) -> Sequence[Any]:
    return found if isinstance(found, (tuple, list)) else (found,)


def _argument(tape: Tape, type: Any) -> Any:
    """A new input of a type that a user gave."""
    if isinstance(type, tuple) and len(type) == 2:
        shape, dtype = type
    else:
        shape, dtype = getattr(type, "shape", None), getattr(type, "dtype", None)
    if shape is None or dtype is None:
        raise broken("trace", f"{type!r} is no type: give a TensorType, (shape, dtype), or what has both")
    if isinstance(type, TensorType):
        dtype = type.element_type
        if not isinstance(dtype, ElementType):
            raise UnsupportedError("arguments of quantized types are not offered", operation="trace")
    element_type = element_type_named(dtype, "trace")
    sizes = tuple(map(int, shape))
    if min(sizes, default=0) < 0:
        raise UnsupportedError("sizes of arguments must be known", operation="trace")
    return tape.argument(sizes, element_type)


_programs: OrderedDict[Hashable, Executable] = OrderedDict()
_lock = threading.Lock()


def _executable(tape: Tape, results: tuple[int, ...], options: Options | None) -> Executable:
    """The program of a tape, compiled when it is met for the first time."""
    key = (tuple(tape.nodes), results, options)
    with _lock:
        found = _programs.get(key)
        if found is not None:
            _programs.move_to_end(key)
            return found
    made = Executable(module_of(tape.nodes, results), "main", options or _DEFAULT)
    with _lock:
        _programs[key] = made
        if len(_programs) > MOST_PROGRAMS:
            _programs.popitem(last=False)
    return made


def module_of(nodes: Sequence[Node], results: Sequence[int]) -> Module:
    """The module whose function ``main`` does what is on a tape, verified."""
    types = [TensorType(shape, element_type) for _, _, shape, element_type, _ in nodes]
    block = Block([type for node, type in zip(nodes, types, strict=True) if node[0] == INPUT])
    builder, arguments = Builder(block), iter(block.arguments)
    values: list[IrValue] = []
    for (name, operands, _, _, plain), type in zip(nodes, types, strict=True):
        if name == INPUT:
            values.append(next(arguments))
            continue
        attributes, regions = _parts(name, dict(plain), type)
        made = builder.create(name, [values[index] for index in operands], [type], attributes, regions)
        values.append(made.result)
    outputs = [values[index] for index in results]
    builder.create("func.return", outputs)
    function_type = FunctionType([value.type for value in block.arguments], [value.type for value in outputs])
    module = Module([Function("main", function_type, Region([block]), visibility="public")])
    verify(module)
    return module


def _parts(name: str, values: dict[str, Any], type: TensorType) -> tuple[dict[str, Attribute], list[Region]]:
    """The attributes and regions that stand for plain values."""
    if name == "stablehlo.constant":
        return {"value": _constant(values["value"], type)}, []
    declaration = lookup(name)
    assert declaration is not None
    scalar = TensorType((), type.element_type)
    regions = [_region(values[part.name], scalar) for part in declaration.declared_regions]
    return _attributes(declaration, values), regions


def _attributes(declaration: type[Op], values: dict[str, Any]) -> dict[str, Attribute]:
    """The attributes that stand for plain values under their declared names."""
    attributes: dict[str, Attribute] = {}
    fields: dict[str, dict[str, Any]] = {}
    for part in declaration.declared_attributes:
        if part.name in values and part.of is not None:
            fields.setdefault(part.of, {})[part.field or part.name] = values[part.name]
        elif part.name in values:
            value = values[part.name]
            value = part.kind.members[value] if isinstance(part.kind, Enum) else value
            attributes[part.key or part.name] = part.kind.encode(value)
    for struct, held in fields.items():
        attributes[struct] = StructAttribute("stablehlo", _STRUCTS[struct], held)
    return attributes


def _constant(value: Any, type: TensorType) -> DenseElementsAttribute:
    if isinstance(value, DenseElementsAttribute):
        return value
    element = np.frombuffer(value, type.dtype).reshape(())
    return DenseElementsAttribute(type, np.broadcast_to(element, type.shape))


def _region(name: Any, type: TensorType) -> Region:
    """A body of two arguments: the operation of that name, None: it returns the second one."""
    block = Block([type, type])
    builder = Builder(block)
    result = block.arguments[1]
    if name is not None:
        result = builder.create(name, block.arguments, [type]).result
    builder.create("stablehlo.return", [result])
    return Region([block])
