"""Function, Region, Block, Operation and Value: the program in memory.

Constants are the only operations that it knows: passes make and look for them everywhere.

Source: specification, section "Programs".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from ...types import ElementType, FunctionType, TensorType, Type
from .attributes import Attribute, DenseElementsAttribute
from .location import UNKNOWN, Location


class Value:
    """An operation's result or a block's argument.

    Attributes:
        type: its type.
        owner: the Operation or the Block that defines it.
        index: which of the owner's results or arguments it is.
    """

    __slots__ = ("index", "owner", "type")

    def __init__(self, type: Type, owner: Operation | Block, index: int) -> None:
        self.type = type
        self.owner = owner
        self.index = index

    @property
    def constant_value(self) -> DenseElementsAttribute | None:
        """The `constant_value` of the operation whose result it is; None for a block's argument."""
        return self.owner.constant_value if isinstance(self.owner, Operation) else None

    def __repr__(self) -> str:
        return f"Value({self.type})"


class Operation:
    """An operation of any dialect.

    Attributes:
        name: with its dialect, such as ``"stablehlo.add"``.
        operands: the values that it uses.
        results: the values that it defines.
        attributes: inherent and discardable attributes by name. Operations share these mappings, so that they
            are replaced, never changed.
        regions: its regions.
        location: its source location.
    """

    __slots__ = ("attributes", "location", "name", "operands", "regions", "results")

    def __init__(
        self,
        name: str,
        operands: Iterable[Value] = (),
        result_types: Iterable[Type] = (),
        attributes: Mapping[str, Attribute] | None = None,
        regions: Iterable[Region] = (),
        location: Location = UNKNOWN,
    ) -> None:
        self.name = name
        self.operands: Sequence[Value] = tuple(operands)
        types = tuple(result_types)
        if len(types) == 1:
            self.results: tuple[Value, ...] = (Value(types[0], self, 0),)
        else:
            self.results = tuple([Value(type, self, index) for index, type in enumerate(types)])
        self.attributes: Mapping[str, Attribute] = attributes or _NO_ATTRIBUTES
        self.regions = tuple(regions)
        self.location = location

    def clone(self, operands: Sequence[Value], regions: Sequence[Region] = ()) -> Operation:
        """A copy of the operation on other operands, with other regions and results of its own."""
        copied = Operation.__new__(Operation)
        copied.name = self.name
        copied.operands = operands
        results = self.results
        if len(results) == 1:
            copied.results = (Value(results[0].type, copied, 0),)
        else:
            copied.results = tuple([Value(result.type, copied, result.index) for result in results])
        copied.attributes = self.attributes
        copied.regions = tuple(regions)
        copied.location = self.location
        return copied

    def replace_operands(self, values: Mapping[Value, Value]) -> None:
        """Replace the operands that are keys of `values`; the operands within regions stay."""
        if not values.keys().isdisjoint(self.operands):
            self.operands = tuple([values.get(operand, operand) for operand in self.operands])

    @property
    def result(self) -> Value:
        (result,) = self.results
        return result

    @property
    def is_constant(self) -> bool:
        """Whether it is a constant, whose result is the attribute ``value``."""
        return self.name == _CONSTANT

    @property
    def constant_value(self) -> DenseElementsAttribute | None:
        """The elements of a constant; None for other operations."""
        value = self.attributes.get("value") if self.name == _CONSTANT else None
        return value if isinstance(value, DenseElementsAttribute) else None

    def walk(self) -> Iterator[Operation]:
        """This operation, then those in its regions, outermost first."""
        yield self
        for region in self.regions:
            yield from region.walk()

    def __repr__(self) -> str:
        return f"Operation({self.name} at {self.location})"


_NO_ATTRIBUTES: Final[Mapping[str, Attribute]] = {}
_CONSTANT: Final = "stablehlo.constant"


def constant_operation(type: TensorType, value: object, location: Location = UNKNOWN) -> Operation:
    """A constant.

    Args:
        type: its type, with static sizes.
        value: its elements as an attribute or an array, or the one value of all of them.
        location: its location.
    """
    if not isinstance(value, DenseElementsAttribute):
        array = np.asarray(value, type.dtype)
        if array.shape != type.shape:
            array = np.broadcast_to(array, type.shape)
        value = DenseElementsAttribute(type, array.view())
    return Operation(_CONSTANT, (), [type], {"value": value}, (), location)


class Block:
    """A sequence of operations with arguments; the last operation is the terminator."""

    __slots__ = ("arguments", "operations")

    def __init__(self, argument_types: Iterable[Type] = ()) -> None:
        self.arguments = tuple([Value(type, self, index) for index, type in enumerate(argument_types)])
        self.operations: list[Operation] = []

    @property
    def terminator(self) -> Operation:
        return self.operations[-1]

    def replace_uses(self, values: Mapping[Value, Value]) -> None:
        """Replace the operands of all operations, including nested ones, that are keys of `values`."""
        if values:
            for operation in self.operations:
                for nested in operation.walk():
                    nested.replace_operands(values)


class Region:
    """The blocks of a function or of an operation; StableHLO's regions have one.

    Attributes:
        blocks: its blocks.
        is_isolated: whether it is known to use no values from outside (MLIR's IsolatedFromAbove).
    """

    __slots__ = ("blocks", "is_isolated")

    def __init__(self, blocks: Iterable[Block] = (), *, is_isolated: bool = False) -> None:
        self.blocks = list(blocks)
        self.is_isolated = is_isolated

    @property
    def block(self) -> Block:
        (block,) = self.blocks
        return block

    @property
    def type(self) -> FunctionType:
        """Types of the only block's arguments and of its terminator's operands."""
        block = self.block
        return FunctionType(
            [argument.type for argument in block.arguments],
            [operand.type for operand in block.terminator.operands],
        )

    def walk(self) -> Iterator[Operation]:
        """Iterate over all operations, including nested ones."""
        for block in self.blocks:
            for operation in block.operations:
                yield operation
                for region in operation.regions:
                    yield from region.walk()


class Function:
    """A function of a module.

    Attributes:
        name: its symbol.
        type: types of its inputs and outputs.
        body: its region, or None for a declaration.
        visibility: ``"public"``, ``"private"`` or ``"nested"``; None if the text says nothing (public).
        attributes: its own attributes.
        argument_attributes, result_attributes: a mapping for each input and output.
        location_names: for each input the name that its location gives, or None; empty if none gives one.
        callees: the functions that only this one calls, which outlining has made of repeated subgraphs.
    """

    __slots__ = (
        "argument_attributes",
        "attributes",
        "body",
        "callees",
        "location",
        "location_names",
        "name",
        "result_attributes",
        "type",
        "visibility",
    )

    def __init__(
        self,
        name: str,
        type: FunctionType,
        body: Region | None = None,
        *,
        visibility: str | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        argument_attributes: Sequence[Mapping[str, Attribute]] | None = None,
        result_attributes: Sequence[Mapping[str, Attribute]] | None = None,
        location: Location = UNKNOWN,
        location_names: Sequence[str | None] = (),
    ) -> None:
        self.name = name
        self.type = type
        self.body = body
        self.visibility = visibility
        self.attributes = dict(attributes) if attributes else {}
        self.argument_attributes = tuple(argument_attributes or [{} for _ in type.inputs])
        self.result_attributes = tuple(result_attributes or [{} for _ in type.results])
        self.callees: Sequence[Function] = ()
        self.location = location
        self.location_names = location_names

    @property
    def bodies(self) -> list[Region]:
        """The body, and those of the callees."""
        return [each.body for each in (self, *self.callees) if each.body is not None]

    def with_body(self, body: Region | None) -> Function:
        """A function that is the same except for its body."""
        return Function(
            self.name,
            self.type,
            body,
            visibility=self.visibility,
            attributes=self.attributes,
            argument_attributes=self.argument_attributes,
            result_attributes=self.result_attributes,
            location=self.location,
            location_names=self.location_names,
        )

    @property
    def is_public(self) -> bool:
        """Whether users may call it."""
        return self.visibility in (None, "public")

    def __repr__(self) -> str:
        return f"Function(@{self.name} : {self.type})"


def tensor_type(value: Value) -> TensorType:
    assert isinstance(value.type, TensorType)
    return value.type


def plain_element_type(value: Value) -> ElementType:
    """The element type of a value that is a tensor and not quantized."""
    return tensor_type(value).plain_element_type
