"""Programs whose `reduce_window` leaves padding out, as XLA's does.

The specification pads inputs with the initial values, which windows then combine like any other element. XLA
skips what is not an element of an input. Both are the same where initial values are the body's identity, as
the specification's section "reduce" asks for; elsewhere the outcome is implementation-defined.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nimblehlo.ir import (
    Block,
    Builder,
    DenseArrayAttribute,
    DenseElementsAttribute,
    Function,
    Module,
    Operation,
    Region,
    Value,
    copy_region,
)
from nimblehlo.types import ELEMENT_TYPES, TensorType

_WINDOW = "stablehlo.reduce_window"
_FLAG = TensorType((), ELEMENT_TYPES["i1"])


def without_padding(module: Module) -> Module | None:
    """The program with windows that skip padding; None where its functions have no window operation.

    Each window also reduces a flag, which is true for elements and false for padding. The body combines two
    values only if both are flagged. At last the initial value is combined with that of the flagged elements.
    """
    if not any(operation.name == _WINDOW for operation in module.walk()):
        return None
    body = [_function(item) if isinstance(item, Function) else item for item in module.body]
    return Module(body, name=module.name, attributes=module.attributes)


def _function(function: Function) -> Function:
    if function.body is None:
        return function
    old = function.body.block
    block = Block([argument.type for argument in old.arguments])
    builder, values = Builder(block), dict[Value, Value](zip(old.arguments, block.arguments, strict=True))
    for operation in old.operations:
        if operation.name == _WINDOW:
            results = _flagged(builder, operation, [values[operand] for operand in operation.operands])
            values.update(zip(operation.results, results, strict=True))
        else:
            builder.copy(operation, values)
    return function.with_body(Region([block]))


def _flagged(builder: Builder, operation: Operation, operands: Sequence[Value]) -> list[Value]:
    count = len(operation.results)
    inputs, initial = operands[:count], operands[count:]
    flags = _constant(builder, TensorType(inputs[0].type.shape, ELEMENT_TYPES["i1"]), True)
    no_flag = _constant(builder, _FLAG, False)
    shape = operation.results[0].type.shape
    types = [*[result.type for result in operation.results], TensorType(shape, ELEMENT_TYPES["i1"])]
    body = _flagged_body(operation, count)
    operands = [*inputs, flags, *initial, no_flag]
    window = builder.create(_WINDOW, operands, types, operation.attributes, [body])
    *reduced, is_any = window.results
    spread = [_broadcast(builder, value, result.type) for value, result in zip(initial, reduced, strict=True)]
    results = []
    for index in range(count):
        combined = _mapped(builder, operation, [*spread, *reduced], index)
        chosen = builder.create("stablehlo.select", [is_any, combined, spread[index]], [types[index]])
        results.append(chosen.result)
    return results


def _flagged_body(operation: Operation, count: int) -> Region:
    """The body on values and flags."""
    old = operation.regions[0].block
    types = [argument.type for argument in old.arguments]
    block = Block([*types[:count], _FLAG, *types[count:], _FLAG])
    left, right = block.arguments[: count + 1], block.arguments[count + 1 :]
    builder = Builder(block)
    combined = _copied_body(builder, old, [*left[:count], *right[:count]])
    both = builder.create("stablehlo.and", [left[count], right[count]], [_FLAG]).result
    either = builder.create("stablehlo.or", [left[count], right[count]], [_FLAG]).result
    chosen = []
    for one, other, result in zip(left, right, combined, strict=False):
        single = builder.create("stablehlo.select", [left[count], one, other], [one.type]).result
        chosen.append(builder.create("stablehlo.select", [both, result, single], [one.type]).result)
    builder.create("stablehlo.return", [*chosen, either])
    return Region([block])


def _copied_body(builder: Builder, old: Block, arguments: Sequence[Value]) -> list[Value]:
    values = dict[Value, Value](zip(old.arguments, arguments, strict=True))
    for nested in old.operations[:-1]:
        builder.copy(nested, values)
    return [values.get(operand, operand) for operand in old.terminator.operands]


def _mapped(builder: Builder, operation: Operation, operands: Sequence[Value], index: int) -> Value:
    """The body's result of this index on whole arrays."""
    region = copy_region(operation.regions[0], {})
    terminator = region.block.operations.pop()
    Builder(region.block).create("stablehlo.return", [terminator.operands[index]])
    type = operands[index].type
    dimensions = DenseArrayAttribute(ELEMENT_TYPES["i64"], tuple(range(len(type.shape))))
    return builder.create("stablehlo.map", operands, [type], {"dimensions": dimensions}, [region]).result


def _broadcast(builder: Builder, value: Value, type: TensorType) -> Value:
    attributes = {"broadcast_dimensions": DenseArrayAttribute(ELEMENT_TYPES["i64"], ())}
    return builder.create("stablehlo.broadcast_in_dim", [value], [type], attributes).result


def _constant(builder: Builder, type: TensorType, value: bool) -> Value:
    attributes = {"value": DenseElementsAttribute(type, np.full(type.shape, value))}
    return builder.create("stablehlo.constant", [], [type], attributes).result
