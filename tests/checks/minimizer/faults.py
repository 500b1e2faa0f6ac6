"""Faults put into programs: what a wrong compiler would make of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import nimblehlo
from nimblehlo import Options
from nimblehlo.checks.minimizer.search import FaultPredicate
from nimblehlo.execution.array_files import random_inputs
from nimblehlo.program.ir import Builder, Function, Module, Operation, Region, Value
from nimblehlo.program.ir.builder import copy_region
from tests.checks.fuzzing.long_programs import long_program

Change = Callable[[Operation], bool]


def program(seed: int, operations: int) -> Module:
    """A random program of at least so many operations."""
    made = long_program(seed, operations)
    Builder(made.block).create("func.return", made.results)
    region = Region([made.block])
    return Module([Function("main", region.type, region), *made.functions])


def _rename(name: str, wrong: str) -> Change:
    def change(operation: Operation) -> bool:
        if operation.name == f"stablehlo.{name}":
            operation.name = f"stablehlo.{wrong}"
            return True
        return False

    return change


def _flip(name: str) -> Change:
    """The operands of a binary operation in the wrong order."""

    def change(operation: Operation) -> bool:
        if operation.name == f"stablehlo.{name}":
            operation.operands = tuple(operation.operands[::-1])
            return True
        return False

    return change


def _after(producer: str, inner: Change) -> Change:
    """A change of operations alone that take what another operation makes, as a wrong fusion would do it."""

    def change(operation: Operation) -> bool:
        owners = [operand.owner for operand in operation.operands]
        names = [owner.name for owner in owners if isinstance(owner, Operation)]
        return f"stablehlo.{producer}" in names and inner(operation)

    return change


class Fault(NamedTuple):
    """A fault, and the least operations of the program that shows it."""

    name: str
    change: Change


FAULTS = [
    Fault("maximum as minimum", _rename("maximum", "minimum")),
    Fault("tanh as logistic", _rename("tanh", "logistic")),
    Fault("cosine as sine", _rename("cosine", "sine")),
    Fault("subtract flipped", _flip("subtract")),
    Fault("divide flipped", _flip("divide")),
    Fault("add after multiply as subtract", _after("multiply", _rename("add", "subtract"))),
    Fault("multiply after tanh as add", _after("tanh", _rename("multiply", "add"))),
    Fault("subtract after broadcast flipped", _after("broadcast_in_dim", _flip("subtract"))),
    Fault("floor as ceil", _rename("floor", "ceil")),
    Fault("cbrt as sqrt", _rename("cbrt", "sqrt")),
]


def wrong(module: Module, change: Change) -> tuple[Module, bool]:
    """The module with a fault in each operation that the fault concerns, and whether there is one."""
    items = []
    has_changed = False
    for item in module.body:
        if isinstance(item, Function) and item.body is not None:
            values: dict[Value, Value] = {}
            body = copy_region(item.body, values)
            for operation in body.walk():
                has_changed |= change(operation)
            items.append(item.with_body(body))
        else:
            items.append(item)
    return Module(items), has_changed


def shown_by(change: Change) -> FaultPredicate:
    """Whether the results of a program differ from those with the fault, by one bit."""

    def run(module: Module) -> list[Any]:
        executable = nimblehlo.compile(module, options=Options(compile="never"))
        return executable(*random_inputs(executable.input_types, 0))

    def fails(module: Module) -> bool:
        changed, has_changed = wrong(module, change)
        if not has_changed:
            return False
        with np.errstate(all="ignore"):
            try:
                right, other = run(module), run(changed)
            except nimblehlo.NimbleError:
                return False
        return any(left.tobytes() != right.tobytes() for left, right in zip(right, other, strict=True))

    return fails
