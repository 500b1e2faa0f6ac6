"""Removes operations from a program's body, and replaces their results by other values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np

from ...program.ir import (
    Block,
    Builder,
    Function,
    Module,
    Operation,
    Region,
    Value,
    builder_like,
    referenced_functions,
)
from ...program.ir.builder import used_values
from ...types import PLAIN, TensorType, Type

Replacement = Literal["argument", "value", "zero"]
"""The replacement of a result: an argument, the value that the operation computed, or zeros."""

MAX_CONSTANT_BYTES: Final = 1 << 20
"""Bytes of a value that becomes a constant of the program."""


class CannotMinimize(Exception):
    """A program cannot be made smaller in this way."""


def is_replaceable(type: Type) -> bool:
    """Whether other values of a type can be made."""
    return isinstance(type, TensorType) and type.is_static


def non_constant_operations(block: Block) -> list[Operation]:
    """The operations of a function's block without its terminator, and without constants: their users bring
    these along.
    """
    return [one for one in block.operations[:-1] if not one.is_constant]


def constant(builder: Builder, type: Type, value: object) -> Value:
    """A constant, of which `value` has one element or all.

    Raises:
        CannotMinimize: there are no constants of the type.
    """
    if not isinstance(type, TensorType) or not type.is_static or not type.category & PLAIN:
        raise CannotMinimize(f"there are no constants of {type}")
    return builder.constant(type, np.asarray(value).astype(type.dtype))


def entry_of(module: Module, entry: str) -> Block:
    """The block of the function that is made smaller."""
    body = module.functions[entry].body
    assert body is not None
    return body.block


def with_entry(module: Module, entry: str, block: Block) -> Module:
    """The module with another body of a function, and without the functions that nobody calls."""
    function = module.functions[entry]
    region = Region([block])
    replaced = Function(
        entry, region.type, region, visibility=function.visibility, location=function.location
    )
    used = [replaced, *referenced_functions(region, module.functions)]
    items = [replaced if item is function else item for item in module.body]
    items = [item for item in items if not isinstance(item, Function) or item in used]
    return Module(items, name=module.name, attributes=module.attributes)


def without(
    module: Module,
    entry: str,
    dropped: Iterable[Operation],
    replacement: Replacement,
    values: Mapping[Value, Any],
) -> tuple[Module, dict[Value, Any]]:
    """The program without some operations, and what is known of its values.

    Results that no remaining operation uses are returned. Operations whose results cannot be replaced remain.

    Args:
        module, entry: the program.
        dropped: operations of the entry function's block.
        replacement: the kind of values that replace their results.
        values: arrays of the program's values, as far as they are known.

    Raises:
        CannotMinimize: a result cannot be replaced.
    """
    old = entry_of(module, entry)
    remaining = _remaining(old, set(dropped))
    used = {value for operation in remaining for value in used_values(operation)}
    block = Block()
    copying = _Copying(block, values, replacement)
    returned = [value for value in old.terminator.operands if isinstance(value.owner, Operation)]
    had_results = bool(old.terminator.operands)
    constants = {one: None for one in old.operations if one.is_constant and one.results[0] in used}
    remaining_set = {*remaining, *constants}
    arguments = [value for value in old.arguments if value in used]
    arguments += _new_arguments(old, remaining_set, used, replacement)
    block.arguments = tuple([Value(value.type, block, index) for index, value in enumerate(arguments)])
    copying.mapping.update(zip(arguments, block.arguments, strict=True))
    for operation in old.operations[:-1]:
        if operation in remaining_set:
            copying.copy(operation)
    results = [value for value in returned if value.owner in remaining_set]
    results += [value for one in remaining for value in one.results if value not in used]
    results = list(dict.fromkeys(results)) if had_results else []
    copying.builder.create("func.return", [copying.mapping[value] for value in results])
    renamed = {copying.mapping[value]: array for value, array in values.items() if value in copying.mapping}
    return with_entry(module, entry, block), renamed


def _remaining(block: Block, dropped: set[Operation]) -> list[Operation]:
    """The operations that remain: no constants, and those whose results cannot be replaced."""
    needed: set[Value] = set()
    remaining = []
    for operation in reversed(non_constant_operations(block)):
        must_stay = any(value in needed and not is_replaceable(value.type) for value in operation.results)
        if operation not in dropped or must_stay:
            remaining.append(operation)
            needed.update(used_values(operation))
    return remaining[::-1]


def _new_arguments(
    block: Block, remaining: set[Operation], used: set[Value], replacement: Replacement
) -> list[Value]:
    if replacement != "argument":
        return []
    missing = [one for one in block.operations[:-1] if one not in remaining]
    return [value for operation in missing for value in operation.results if value in used]


class _Copying:
    """Copies operations to a block, with replacements for missing operands."""

    def __init__(self, block: Block, values: Mapping[Value, Any], replacement: Replacement) -> None:
        self.builder = Builder(block)
        self.values = values
        self.kind = replacement
        self.mapping: dict[Value, Value] = {}

    def copy(self, operation: Operation) -> None:
        for value in used_values(operation):
            if value not in self.mapping:
                self.mapping[value] = self.replacement(value)
        self.builder.copy(operation, self.mapping)

    def replacement(self, value: Value) -> Value:
        if self.kind == "zero":
            return constant(self.builder, value.type, 0)
        array = self.values.get(value)
        if array is None or array.nbytes > MAX_CONSTANT_BYTES:
            raise CannotMinimize(f"a value of {value.type} is not known")
        return constant(self.builder, value.type, array)


def with_results(module: Module, entry: str, results: Sequence[Value]) -> Module:
    """The program that returns these of its values, without the operations that no result needs."""
    old, needed = entry_of(module, entry), set(results)
    mapping: dict[Value, Value] = {}
    builder = builder_like(old, mapping)
    remaining = []
    for operation in reversed(old.operations[:-1]):
        if not operation.results or not needed.isdisjoint(operation.results):
            remaining.append(operation)
            needed.update(used_values(operation))
    for operation in reversed(remaining):
        builder.copy(operation, mapping)
    builder.create("func.return", [mapping[value] for value in results])
    return with_entry(module, entry, builder.block)


def rewritten(
    module: Module, entry: str, rewrite: Callable[[Operation, Builder, dict[Value, Value]], bool]
) -> Module:
    """The program with other operations in place of those for which `rewrite` appends them.

    Args:
        rewrite: adds the replacements of the operation's results to a mapping of values, and returns True; or
            leaves the operation as it is, and returns False.
    """
    old = entry_of(module, entry)
    mapping: dict[Value, Value] = {}
    builder = builder_like(old, mapping)
    for operation in old.operations:
        if not rewrite(operation, builder, mapping):
            builder.copy(operation, mapping)
    return with_entry(module, entry, builder.block)
