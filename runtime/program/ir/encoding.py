"""Functions as bytes, for another process that goes on where this one has come to.

A function's values refer to each other in chains that are longer than calls may nest, so operations are rows
of numbers, types, attributes and locations, and `pickle` writes these rows. What reads them makes objects of
a program's classes alone, whatever the bytes are.
"""

from __future__ import annotations

import enum
import io
import pickle
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from ... import types
from ...types import FunctionType, FutureType, TensorType, TupleType, Type
from .attributes import DenseElementsAttribute, FunctionAttribute
from .location import Location, Source, SourceLocation
from .operation import Block, Function, Operation, Region, Value
from .record import Record

_PROTOCOL: Final = 5
_PACKAGE: Final = f"{__name__.split('.', 1)[0]}."

Decision = tuple[Operation, Record]
"""An operation, and what a pass has decided about it."""

_Row = tuple[Any, ...]


class NotEncodable(Exception):
    """A program has what means nothing to another process, such as a Python function."""


def encode(function: Function, decisions: Sequence[Decision] = (), extra: object = None) -> bytes:
    """The bytes of a function and its callees, which stay as they are.

    Args:
        function: any function.
        decisions: operations with a record each; those that the function does not have are left out. Records
            refer to operations and values of the function, or to copies of operations on its values.
        extra: plain values, types, attributes and records that refer to no operation or value.

    Raises:
        NotEncodable: it has a Python function.
    """
    flat, stream, referring = _Flat(), io.BytesIO(), io.BytesIO()
    functions = [flat.function(each) for each in (function, *function.callees)]
    decisions = tuple([one for one in decisions if one[0] in flat.operations])
    referred = [one for _, record in decisions for one in _operations_of(record)]
    copies = [flat.operation(one) for one in dict.fromkeys(referred) if one not in flat.operations]
    try:
        # Records may be the only ones to refer to a block.
        _ReferenceWriter(referring, flat).dump(decisions)
        _Writer(stream).dump((functions, copies, flat.outer_blocks, flat.source, extra))
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as error:
        raise NotEncodable(str(error)) from error
    return stream.getvalue() + referring.getvalue()


def decode(content: bytes) -> tuple[Function, Sequence[Decision], Any]:
    """The function, the decisions and `extra`, as given to `encode`.

    Raises:
        Exception: `encode` has not written these bytes.
    """
    stream = io.BytesIO(content)
    functions, copies, outer_blocks, source, extra = _Reader(stream).load()
    restored = _Restored(outer_blocks, source)
    function, *callees = [restored.function(row) for row in functions]
    function.callees = tuple(callees)
    for row in copies:
        restored.operation(row)
    decisions: Sequence[Decision] = _ReferenceReader(stream, restored).load()
    return function, decisions, extra


def _operations_of(record: Record) -> Iterator[Operation]:
    """The operations to which a record, or one within it, refers."""
    for name in type(record)._fields:
        value = getattr(record, name)
        if isinstance(value, Operation):
            yield value
        elif isinstance(value, Record):
            yield from _operations_of(value)


class _Flat:
    """Turns functions into rows, in which values and operations are numbers.

    Attributes:
        values, operations: the numbers, in the order of definition.
        outer_blocks: the argument types of blocks that are in no function; their arguments have numbers
            below 0.
        source: the text to which most locations refer.
    """

    def __init__(self) -> None:
        self.values: dict[Value, int] = {}
        self.operations: dict[Operation, int] = {}
        self.outer_blocks: list[tuple[Type, ...]] = []
        self.outer_count = 0
        self.source: Source | None = None

    def function(self, function: Function) -> _Row:
        return (
            function.name,
            function.type,
            function.visibility,
            function.attributes,
            function.argument_attributes,
            function.result_attributes,
            function.location,
            tuple(function.location_names),
            None if function.body is None else self.region(function.body),
        )

    def region(self, region: Region) -> _Row:
        return region.is_isolated, [self.block(block) for block in region.blocks]

    def block(self, block: Block) -> _Row:
        self.define(block.arguments)
        types = tuple([argument.type for argument in block.arguments])
        return types, [self.operation(operation) for operation in block.operations]

    def operation(self, operation: Operation) -> _Row:
        operands = tuple([self.number(operand) for operand in operation.operands])
        regions = tuple([self.region(region) for region in operation.regions])
        self.operations[operation] = len(self.operations)
        self.define(operation.results)
        types = tuple([result.type for result in operation.results])
        location = self.location(operation.location)
        return operation.name, operands, types, operation.attributes, regions, location

    def define(self, values: Sequence[Value]) -> None:
        for value in values:
            self.values[value] = len(self.values) - self.outer_count

    def number(self, value: Value) -> int:
        """The number of a value that an operation uses.

        Raises:
            NotEncodable: its operation comes later.
        """
        if value not in self.values:
            block = value.owner
            if not isinstance(block, Block):
                raise NotEncodable("an operation comes before one whose result it uses")
            for argument in block.arguments:
                self.outer_count += 1
                self.values[argument] = -self.outer_count
            self.outer_blocks.append(tuple([argument.type for argument in block.arguments]))
        return self.values[value]

    def location(self, location: Location) -> Location | int:
        """A location; the offset of one in the program's text."""
        if type(location) is not SourceLocation:
            return location
        if self.source is None:
            self.source = location.source
        return location.offset if location.source is self.source else location


class _Restored:
    """Turns the rows of `_Flat` into functions.

    Attributes:
        values, outer_values, operations: the objects by their numbers.
    """

    def __init__(self, outer_blocks: Sequence[tuple[Type, ...]], source: Source | None) -> None:
        self.values: list[Value] = []
        self.outer_values = [argument for types in outer_blocks for argument in Block(types).arguments]
        self.operations: list[Operation] = []
        self.source = source

    def function(self, row: _Row) -> Function:
        name, type, visibility, attributes, of_arguments, of_results, location, names, body = row
        return Function(
            name,
            type,
            None if body is None else self.region(body),
            visibility=visibility,
            attributes=attributes,
            argument_attributes=of_arguments,
            result_attributes=of_results,
            location=location,
            location_names=names,
        )

    def region(self, row: _Row) -> Region:
        is_isolated, blocks = row
        return Region([self.block(block) for block in blocks], is_isolated=is_isolated)

    def block(self, row: _Row) -> Block:
        types, operations = row
        block = Block(types)
        self.values += block.arguments
        block.operations = [self.operation(operation) for operation in operations]
        return block

    def operation(self, row: _Row) -> Operation:
        name, numbers, types, attributes, regions, location = row
        if type(location) is int:
            assert self.source is not None
            location = SourceLocation(self.source, location)
        values = self.values
        operands = [values[number] if number >= 0 else self.value(number) for number in numbers]
        inner = [self.region(region) for region in regions]
        operation = Operation(name, operands, types, attributes, inner, location)
        self.operations.append(operation)
        values += operation.results
        return operation

    def value(self, number: int) -> Value:
        """The value with a number."""
        return self.values[number] if number >= 0 else self.outer_values[~number]


def _reduced_dense(attribute: DenseElementsAttribute) -> tuple[Any, ...]:
    """How to make a constant again; of elements that repeat along a dimension one is written."""
    elements = attribute.array
    distinct = elements[tuple([slice(0, 1) if stride == 0 else slice(None) for stride in elements.strides])]
    content = np.ascontiguousarray(distinct).reshape(-1).view(np.uint8)
    return _dense, (attribute.type, distinct.shape, pickle.PickleBuffer(content))


def _dense(type: TensorType, shape: tuple[int, ...], content: bytes) -> DenseElementsAttribute:
    elements: types.Array = np.ndarray(shape, type.dtype, content)
    return DenseElementsAttribute(type, np.broadcast_to(elements, type.shape))


def _reduced_source(source: Source) -> tuple[Any, ...]:
    return _source, (source.name, source.line_starts.tobytes())


def _source(name: str, line_starts: bytes) -> Source:
    source = Source(name, "")
    source.line_starts = array("q", line_starts)
    return source


def _refuse_function(attribute: FunctionAttribute) -> tuple[Any, ...]:
    raise NotEncodable(f"{attribute.function} is a function of this process")


_REDUCED: Final[dict[type, Callable[[Any], tuple[Any, ...]]]] = {
    DenseElementsAttribute: _reduced_dense,
    FunctionAttribute: _refuse_function,
    Source: _reduced_source,
    # Not what the objects cache: hashes differ in each process.
    TensorType: lambda one: (TensorType, (one.shape, one.element_type, one.bounds)),
    TupleType: lambda one: (TupleType, (one.types,)),
    FutureType: lambda one: (FutureType, (one.types,)),
    FunctionType: lambda one: (FunctionType, (one.inputs, one.results)),
}
"""How objects are written for which `pickle` has no rule, or another one."""

_CALLED: Final = (_dense, _source, types.element_type, SourceLocation)
"""What reading may call besides the classes of records, enumerations and types."""


class _Writer(pickle.Pickler):
    """Writes rows."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, _PROTOCOL)
        self.dispatch_table = _REDUCED


class _ReferenceWriter(_Writer):
    """Writes records, in which operations and values are numbers."""

    def __init__(self, stream: io.BytesIO, flat: _Flat) -> None:
        super().__init__(stream)
        self._flat = flat

    def persistent_id(self, item: object) -> tuple[bool, int] | None:
        """Whether an object is a value, and its number; None if it is neither a value nor an operation."""
        if isinstance(item, Operation):
            return False, self._flat.operations[item]
        return (True, self._flat.number(item)) if isinstance(item, Value) else None


class _Reader(pickle.Unpickler):
    """Reads rows."""

    def find_class(self, module: str, name: str) -> Any:
        """A class of a program's data, or what `_CALLED` lists.

        Raises:
            pickle.UnpicklingError: it is another one.
        """
        if module.startswith(_PACKAGE) and "." not in name:
            named = super().find_class(module, name)
            is_class = isinstance(named, type)
            if is_class and (issubclass(named, (Record, enum.Enum)) or named.__module__ == types.__name__):
                return named
            if named in _CALLED:
                return named
        raise pickle.UnpicklingError(f"a program has no {module}.{name}")


class _ReferenceReader(_Reader):
    """Reads records."""

    def __init__(self, stream: io.BytesIO, restored: _Restored) -> None:
        super().__init__(stream)
        self._restored = restored

    def persistent_load(self, reference: tuple[bool, int]) -> Operation | Value:
        is_value, number = reference
        return self._restored.value(number) if is_value else self._restored.operations[number]
