"""Inlines calls, and composites for which no function is registered, so that a program is one function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import UnsupportedError, VerifyError
from ..ir import (
    ArrayAttribute,
    Block,
    Builder,
    Function,
    Module,
    Operation,
    Region,
    SymbolAttribute,
    Value,
)

if TYPE_CHECKING:
    from ..ops.shape_custom_calls import ReplacedTarget

MOST_OPERATIONS = 5_000_000
"""Calls that call twice what is below them grow without bound; past this size a program is rejected."""


def inline_calls(module: Module, function: Function) -> Function:
    """A copy of `function` in which the body of each callee stands in the place of its call.

    Raises:
        UnsupportedError: the result would have more than MOST_OPERATIONS operations.
    """
    inliner = _Inliner(module.functions)
    assert function.body is not None
    return function.with_body(inliner.copy_region(function.body, {}))


class _Inliner:
    """Copies regions and replaces calls on the way."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.functions = functions
        self.count = 0

    def copy_region(self, region: Region, values: dict[Value, Value]) -> Region:
        """A copy of a region; `values` maps what it uses from outside."""
        block = region.block
        new = Block([argument.type for argument in block.arguments])
        values.update(zip(block.arguments, new.arguments, strict=True))
        self.copy_operations(block, Builder(new), values, keep_terminator=True)
        return Region([new])

    def copy_operations(
        self, block: Block, builder: Builder, values: dict[Value, Value], *, keep_terminator: bool
    ) -> None:
        """Append copies of a block's operations."""
        self.count += len(block.operations)
        if self.count > MOST_OPERATIONS:
            raise UnsupportedError(
                f"the program has more than {MOST_OPERATIONS} operations with its calls inlined"
            )
        operations = block.operations if keep_terminator else block.operations[:-1]
        for operation in operations:
            callee = self.callee(operation)
            target = _target(operation)
            if callee is not None:
                self.inline(operation, callee, builder, values)
            elif target is not None:
                operands = [values[operand] for operand in operation.operands]
                regions = self.called_regions(operation)
                from .replace_calls import replace_call

                results = replace_call(operation, target, operands, regions, builder)
                values.update(zip(operation.results, results, strict=True))
            else:
                copied = Operation(
                    operation.name,
                    [values[operand] for operand in operation.operands],
                    [result.type for result in operation.results],
                    operation.attributes,
                    [self.copy_region(region, values) for region in operation.regions]
                    if operation.regions
                    else (),
                    operation.location,
                )
                builder.block.operations.append(copied)
                for result, copy in zip(operation.results, copied.results, strict=True):
                    values[result] = copy

    def callee(self, operation: Operation) -> Function | None:
        """The function whose body takes an operation's place; None where none does."""
        if operation.name == "func.call":
            return self.functions[_symbol(operation, "callee")]
        if operation.name == "stablehlo.composite":
            from ..ops.composite import Composite

            if Composite(operation).registered is None:
                return self.functions[_symbol(operation, "decomposition")]
        return None

    def called_regions(self, call: Operation) -> list[Region]:
        """Copies of the bodies of the functions that a custom call names, as regions.

        Raises:
            VerifyError: there is no such function.
        """
        regions = []
        called = call.attributes.get("called_computations")
        for symbol in called.values if isinstance(called, ArrayAttribute) else ():
            function = self.functions.get(str(symbol))
            if function is None or function.body is None:
                raise VerifyError(
                    f"there is no function @{symbol}", operation=call.name, location=call.location
                )
            region = self.copy_region(function.body, {})
            region.block.terminator.name = "stablehlo.return"
            regions.append(region)
        return regions

    def inline(self, call: Operation, callee: Function, builder: Builder, values: dict[Value, Value]) -> None:
        """Append the callee's operations and let the call's results stand for what it returns."""
        assert callee.body is not None
        block = callee.body.block
        inner = dict(zip(block.arguments, [values[operand] for operand in call.operands], strict=True))
        self.copy_operations(block, builder, inner, keep_terminator=False)
        returned = [inner[operand] for operand in block.terminator.operands]
        values.update(zip(call.results, returned, strict=True))


def _target(operation: Operation) -> ReplacedTarget | None:
    """What stands for a custom call, where something does."""
    if operation.name != "stablehlo.custom_call":
        return None
    from .replace_calls import replaced_target

    return replaced_target(operation)


def _symbol(operation: Operation, key: str) -> str:
    attribute = operation.attributes[key]
    assert isinstance(attribute, SymbolAttribute)
    return str(attribute)
