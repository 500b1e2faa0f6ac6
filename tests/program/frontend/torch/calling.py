"""Calls conversions of PyTorch's operations without PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import nimblehlo
from nimblehlo.program.frontend.torch.table import NodeEmitter, conversions
from nimblehlo.program.ir import Block, Builder, Function, Module, Region, Value
from nimblehlo.program.loading import load
from nimblehlo.program.ops.framework.verify import verify
from nimblehlo.types import Array, TensorType, element_type_of


def no_seed() -> Value:
    raise AssertionError("the operation takes no random bits")


def converted(
    name: str,
    arguments: Sequence[Any],
    results: Sequence[Array],
    *,
    used: Sequence[int] = (0, 1),
    is_contiguous: bool = True,
    **named: Any,
) -> list[Array]:
    """Run an operation.

    Args:
        name: the operation.
        arguments: an array stands for a tensor; arrays may be in lists. A function stands for a graph: it
            takes the emitter and the graph's operands, and returns the graph's results.
        results: arrays of the results' types and shapes.
        used: the results that others use.
        is_contiguous: whether PyTorch stores the first operand in row-major order.
        named: keyword arguments.
    """
    inputs: list[Array] = []
    block = Block()

    def as_value(argument: Any) -> Any:
        if isinstance(argument, list):
            return [as_value(each) for each in argument]
        if not isinstance(argument, np.ndarray):
            return argument
        value = Value(_type(argument), block, len(inputs))
        inputs.append(argument)
        block.arguments = (*block.arguments, value)
        return value

    e = NodeEmitter(block, no_seed, lambda graph, operands: graph(e, *operands))
    e.types, e.used = [_type(result) for result in results], frozenset(used)
    e.is_contiguous = is_contiguous
    given = conversions()[name](e, *map(as_value, arguments), **{k: as_value(v) for k, v in named.items()})
    values = list(given) if isinstance(given, (list, tuple)) else [given]
    assert [value.type for value in values] == list(e.types)
    Builder(block).create("func.return", values)
    region = Region([block])
    module = Module([Function("main", region.type, region)])
    verify(module)
    return nimblehlo.execute(load(module), inputs, options=nimblehlo.Options(compile="never"))


def _type(array: Array) -> TensorType:
    return TensorType(array.shape, element_type_of(array.dtype))
