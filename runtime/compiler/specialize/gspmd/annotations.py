"""Detects modules with GSPMD shardings; other modules import nothing else of this package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ....program.ir import Attribute, Function, Module

GSPMD_SHARDING: Final = "mhlo.sharding"


def uses_gspmd(module: Module) -> bool:
    functions = module.functions.values()
    attributes = (each for function in functions for each in attributes_of_values(function))
    return any(GSPMD_SHARDING in each for each in attributes) or any(
        GSPMD_SHARDING in operation.attributes for operation in module.walk()
    )


def attributes_of_values(function: Function) -> Iterable[Mapping[str, Attribute]]:
    """The attributes of a function's arguments and results."""
    yield from function.argument_attributes
    yield from function.result_attributes
