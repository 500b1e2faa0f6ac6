"""Removes common subexpressions and dead code."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from ....program.ir import (
    Attribute,
    DenseElementsAttribute,
    DictionaryAttribute,
    Operation,
    Region,
    StructAttribute,
    Value,
)
from ....program.ops.framework.declaration import declaration_of
from .operation_classes import has_no_effect
from .unused_results import drop_unused_results

MAX_COMPARED_OPERATIONS = 16
"""Maximum operations of a region that is compared with others."""
MAX_COMPARED_BYTES = 1 << 10
"""Maximum bytes of a constant that are part of its key, instead of a checksum."""


def remove_common_subexpressions(region: Region) -> set[Operation]:
    """Replace each operation that repeats an earlier one of the same or an enclosing block, in place.

    Returns:
        The operations that use results of earlier ones in place of replaced ones.
    """
    cleaner = _Cleaner()
    cleaner.visit(region, {})
    return cleaner.changed


class _Cleaner:
    """The state of the pass: the replacements of values, and the operations that use them."""

    def __init__(self) -> None:
        self.values: dict[Value, Value] = {}
        self.changed: set[Operation] = set()
        self.kinds = OperationKeys()

    def visit(self, region: Region, visible: dict[Hashable, Operation]) -> None:
        """Clean a region; `visible` has the earlier operations around it, and is unchanged afterwards."""
        added: list[Hashable] = []
        key: Hashable
        remaining: list[Operation] = []
        values = self.values
        for operation in region.block.operations:
            operands = operation.operands
            operation.replace_operands(values)
            if operation.operands is not operands:
                self.changed.add(operation)
            if not declaration_of(operation).is_terminator and operation.results:
                key = operation.operands, self.kinds.key_of(operation)
                equal_operation = visible.get(key)
                if equal_operation is not None:
                    values.update(zip(operation.results, equal_operation.results, strict=True))
                    continue
                if has_no_effect(operation):
                    visible[key] = operation
                    added.append(key)
            for inner in operation.regions:
                self.visit(inner, visible)
            remaining.append(operation)
        for key in added:
            del visible[key]
        region.block.operations = remaining


class OperationKeys:
    """Keys of operations, for common-subexpression elimination."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.number_by_id: dict[int, int] = {}
        self.referenced: list[object] = []

    def key_of(self, operation: Operation) -> Hashable:
        """A key that is equal for operations with the same results from the same operands."""
        number_by_id, attributes = self.number_by_id, operation.attributes
        return (
            operation.name,
            number_by_id.get(id(attributes)) or self.number(attributes, _frozen_attributes(attributes)),
            *[number_by_id.get(id(one.type)) or self.number(one.type, one.type) for one in operation.results],
            *[self.region_key(region) for region in operation.regions],
        )

    def number(self, item: object, hashable: Hashable) -> int:
        """A number of an object, equal for objects with equal `hashable`; cached by the object's identity.

        Operations share types and attributes, so this is faster than comparing them each time.
        """
        number = self.number_by_id[id(item)] = self.numbers.setdefault(hashable, len(self.numbers) + 1)
        self.referenced.append(item)  # so that nothing else gets its identity
        return number

    def region_key(self, region: Region) -> Hashable:
        """A key that is equal for equal regions; each large region has a unique key."""
        block = region.block
        if len(block.operations) > MAX_COMPARED_OPERATIONS:
            return id(region)
        numbers: dict[Value, int] = {value: number for number, value in enumerate(block.arguments)}
        keys: list[Hashable] = [tuple([argument.type for argument in block.arguments])]
        for operation in block.operations:
            operands = tuple([numbers.get(operand, operand) for operand in operation.operands])
            attributes = _frozen_attributes(operation.attributes)
            types = tuple([result.type for result in operation.results])
            inner = tuple([self.region_key(nested) for nested in operation.regions])
            keys.append((operation.name, operands, attributes, types, inner))
            for result in operation.results:
                numbers[result] = len(numbers)
        return tuple(keys)


def _frozen_attributes(attributes: Mapping[str, Attribute]) -> Hashable:
    """All attributes of an operation, sorted by name."""
    return tuple([(name, _frozen(attributes[name])) for name in sorted(attributes)])


def _frozen(attribute: Attribute) -> Hashable:
    """A hashable form of an attribute, which differs for different attributes."""
    if isinstance(attribute, DenseElementsAttribute):
        # The hash of the attribute is that of its type, which many constants share.
        array = attribute.array
        if attribute.is_splat:
            return attribute.type, array[(0,) * array.ndim].tobytes()
        if array.nbytes <= MAX_COMPARED_BYTES:
            return attribute.type, array.tobytes()
        import zlib  # few programs need it

        return attribute.type, zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data), attribute
    if isinstance(attribute, DictionaryAttribute):
        return tuple([(name, _frozen(value)) for name, value in sorted(attribute.values.items())])
    if isinstance(attribute, StructAttribute):
        return (
            attribute.dialect,
            attribute.mnemonic,
            tuple(sorted(attribute.fields.items(), key=lambda f: f[0])),
        )
    return attribute


def remove_dead_code(region: Region) -> None:
    """Remove the operations whose results nothing uses and that have no effect, in place."""
    _remove_unused(region, set())


def _remove_unused(region: Region, used: set[Value]) -> None:
    """Walk a region backwards; `used` collects the values that are used, including captured ones."""
    remaining: list[Operation] = []
    for operation in reversed(region.block.operations):
        is_unused = used.isdisjoint(operation.results) and not declaration_of(operation).is_terminator
        if is_unused and has_no_effect(operation):
            continue
        if operation.regions or len(operation.results) > 1:
            drop_unused_results(operation, used)
        used.update(operation.operands)
        for inner in operation.regions:
            _remove_unused(inner, used)
        remaining.append(operation)
    remaining.reverse()
    region.block.operations = remaining
