"""Inlines calls, and composites for which no function is registered, so that a program is one function.

What the sdy dialect says of several devices is dropped on the way, since a program runs on one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ..errors import UnsupportedError, VerifyError
from ..ir import (
    ArrayAttribute,
    Attribute,
    Block,
    Builder,
    Function,
    Module,
    Operation,
    Region,
    SymbolAttribute,
    Value,
)
from ..ops.families import FAMILY_OF, SHARDING_ATTRIBUTES

if TYPE_CHECKING:
    from ..ops.shape_custom_calls import ReplacedTarget

MOST_OPERATIONS = 5_000_000
"""Calls that call twice what is below them grow without bound; past this size a program is rejected."""

_CALLS: Final = frozenset(
    {
        "func.call",
        "stablehlo.composite",
        "stablehlo.custom_call",
        *(name for name in FAMILY_OF if name.startswith("sdy.")),
    }
)
"""Operations that may become others."""
MANY_DEVICES: Final = frozenset(
    {
        "sdy.all_reduce",
        "sdy.manual_computation",
        "sdy.reduce_scatter",
        "sdy.replicated_to_unreduced",
        "sdy.sharded_to_unreduced",
    }
)
"""Operations of sdy that may need several devices."""


def inline_calls(module: Module, function: Function) -> Function:
    """A copy of `function` in which the body of each callee stands in the place of its call.

    Raises:
        UnsupportedError: the result would have more than MOST_OPERATIONS operations.
    """
    inliner = _Inliner(module)
    assert function.body is not None
    return function.with_body(inliner.copy_region(function.body, {}))


class _Inliner:
    """Copies regions and replaces calls on the way."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.functions: Mapping[str, Function] = module.functions
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
        append = builder.block.operations.append
        for operation in operations:
            if operation.name not in _CALLS:
                operands = tuple([values[operand] for operand in operation.operands])
                regions = [self.copy_region(region, values) for region in operation.regions]
                copied = operation.again(operands, regions)
                if not SHARDING_ATTRIBUTES.isdisjoint(copied.attributes):
                    copied.attributes = _without_shardings(copied.attributes)
                append(copied)
                values.update(zip(operation.results, copied.results, strict=True))
            else:
                self.copy_call(operation, builder, values)

    def copy_call(self, call: Operation, builder: Builder, values: dict[Value, Value]) -> None:
        """Append what a call becomes: its callee's operations, those that stand for its target, or a copy."""
        if call.name.startswith("sdy."):
            self.drop_sharding(call, builder, values)
            return
        callee, target = self.callee(call), _target(call)
        if callee is not None:
            self.inline(call, callee, builder, values)
            return
        operands = [values[operand] for operand in call.operands]
        if target is None:
            regions = [self.copy_region(region, values) for region in call.regions]
            copied = call.again(tuple(operands), regions)
            builder.block.operations.append(copied)
            results: Sequence[Value] = copied.results
        else:
            from .replace_calls import replace_call

            results = replace_call(call, target, operands, self.called_regions(call), builder)
        values.update(zip(call.results, results, strict=True))

    def drop_sharding(self, operation: Operation, builder: Builder, values: dict[Value, Value]) -> None:
        """Let an operation's operands stand for its results, or append the body of a computation."""
        if operation.name in MANY_DEVICES:
            from .sharding import require_one_device

            require_one_device(operation, self.module)
        if operation.regions:
            self.inline_block(operation, operation.regions[0].block, builder, values)
            return
        if operation.name == "sdy.constant":
            attributes = {"value": operation.attributes["value"]}
            types = [result.type for result in operation.results]
            location = operation.location
            made = builder.create("stablehlo.constant", (), types, attributes, location=location)
            results: Sequence[Value] = made.results
        else:
            results = [values[operand] for operand in operation.operands[: len(operation.results)]]
        values.update(zip(operation.results, results, strict=True))

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
        self.inline_block(call, callee.body.block, builder, values)

    def inline_block(
        self, call: Operation, block: Block, builder: Builder, values: dict[Value, Value]
    ) -> None:
        """Append a block's operations, where the call's operands are its arguments."""
        inner = dict(zip(block.arguments, [values[operand] for operand in call.operands], strict=True))
        self.copy_operations(block, builder, inner, keep_terminator=False)
        returned = [inner[operand] for operand in block.terminator.operands]
        values.update(zip(call.results, returned, strict=True))


def _without_shardings(attributes: Mapping[str, Attribute]) -> Mapping[str, Attribute]:
    return {name: value for name, value in attributes.items() if not name.startswith("sdy.")}


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
