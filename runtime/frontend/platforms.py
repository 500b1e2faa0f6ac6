"""Programs that JAX exported for several platforms: their first argument is the number of the platform.

Source: JAX, `jax.export.export(..., platforms=...)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ..ir import DenseElementsAttribute, Function, Module, Operation, StringAttribute
from ..types import FunctionType, TensorType

PLATFORM: Final = "cpu"
"""JAX's name of the platform that programs run on here."""
_NUMBER: Final = "_platform_index"
"""What the attribute ``jax.global_constant`` of the argument says."""


def choose_platform(module: Module, platforms: Sequence[str]) -> None:
    """Put a constant in place of the argument with the platform's number, so that `main` does not take it.

    Args:
        module: as it was exported; it is changed, if it is for several platforms and this one is among them.
        platforms: their names, in the order of their numbers.
    """
    main = module.functions.get("main")
    if main is None or main.body is None or PLATFORM not in platforms:
        return
    for index, attributes in enumerate(main.argument_attributes):
        mark = attributes.get("jax.global_constant")
        if isinstance(mark, StringAttribute) and mark.value == _NUMBER:
            _replace_argument(main, index, list(platforms).index(PLATFORM))
            return


def _replace_argument(function: Function, index: int, number: int) -> None:
    """Put a constant in place of an argument of a function that none calls."""
    assert function.body is not None
    block = function.body.block
    argument = block.arguments[index]
    type = argument.type
    assert isinstance(type, TensorType)
    value = DenseElementsAttribute(type, np.full(type.shape, number, type.dtype))
    constant = Operation("stablehlo.constant", (), [type], {"value": value}, (), function.location)
    for operation in function.body.walk():
        if argument in operation.operands:
            operation.operands = tuple(
                [constant.result if operand is argument else operand for operand in operation.operands]
            )
    block.operations.insert(0, constant)
    block.arguments = (*block.arguments[:index], *block.arguments[index + 1 :])
    for position, left in enumerate(block.arguments):
        left.index = position
    types, attributes = list(function.type.inputs), list(function.argument_attributes)
    del types[index], attributes[index]
    function.type = FunctionType(types, function.type.results)
    function.argument_attributes = tuple(attributes)
