"""Specialize programs that JAX exported for several platforms, whose first argument is the platform's index.

Source: JAX, `jax.export.export(..., platforms=...)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...types import FunctionType, TensorType
from ..ir import Function, Module, StringAttribute, constant_operation

PLATFORM: Final = "cpu"
"""JAX's name of the platform whose branch programs run here."""
_PLATFORM_INDEX: Final = "_platform_index"
"""Value of the attribute ``jax.global_constant`` of the argument that holds the platform's index."""


def choose_platform(module: Module, platforms: Sequence[str]) -> None:
    """Replace the platform-index argument of `main` by a constant.

    Args:
        module: the exported module; it changes only if `platforms` contains `PLATFORM`.
        platforms: the names of the platforms; each position is the platform's index.
    """
    main = module.functions.get("main")
    if main is None or main.body is None or PLATFORM not in platforms:
        return
    for index, attributes in enumerate(main.argument_attributes):
        mark = attributes.get("jax.global_constant")
        if isinstance(mark, StringAttribute) and mark.value == _PLATFORM_INDEX:
            _replace_argument(main, index, list(platforms).index(PLATFORM))
            return


def _replace_argument(function: Function, index: int, value: int) -> None:
    """Replace an argument by a constant, in a function without callers."""
    assert function.body is not None
    block = function.body.block
    argument = block.arguments[index]
    type = argument.type
    assert isinstance(type, TensorType)
    constant = constant_operation(type, value, function.location)
    for operation in function.body.walk():
        if argument in operation.operands:
            operation.operands = tuple(
                [constant.result if operand is argument else operand for operand in operation.operands]
            )
    block.operations.insert(0, constant)
    block.arguments = (*block.arguments[:index], *block.arguments[index + 1 :])
    for position, remaining in enumerate(block.arguments):
        remaining.index = position
    types, attributes = list(function.type.inputs), list(function.argument_attributes)
    del types[index], attributes[index]
    names = list(function.location_names)
    function.location_names = [*names[:index], *names[index + 1 :]]
    function.type = FunctionType(types, function.type.results)
    function.argument_attributes = tuple(attributes)
