# cython: language_level=3
"""Reads the program of bytecode: operations, regions, blocks and values. Native, with checks of all bounds.

Source: MLIR's document "Bytecode Format", section "IR Section".
"""

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int64_t, uint64_t

from ....errors import ParseError, UnsupportedError
from ...ir import (
    UNKNOWN, Block, DictionaryAttribute, FileLocation, LocationAttribute, NameLocation, Operation, Region,
    StringAttribute, Value
)
from ..lexer import MAX_NESTING as _MAX_NESTING
from ..lexer import max_expanded_size
from . import container_format as _format

cdef int MAX_NESTING = _MAX_NESTING
# The first byte of the encoding of a location of a file, an integer.
cdef int FILE_LOCATION_BYTE = _format.FILE_LOCATION << 1 | 1
cdef int LAZY_REGIONS = _format.LAZY_REGIONS
cdef int USE_LIST_ORDERS = _format.USE_LIST_ORDERS
cdef int OPTIONAL_ARGUMENT_LOCATIONS = _format.OPTIONAL_ARGUMENT_LOCATIONS
cdef int NATIVE_SEGMENT_SIZES = _format.NATIVE_SEGMENT_SIZES
cdef int PROGRAM_SECTION = _format.Section.PROGRAM
cdef int HAS_ATTRIBUTES = _format.OperationMask.ATTRIBUTES
cdef int HAS_RESULTS = _format.OperationMask.RESULTS
cdef int HAS_OPERANDS = _format.OperationMask.OPERANDS
cdef int HAS_SUCCESSORS = _format.OperationMask.SUCCESSORS
cdef int HAS_REGIONS = _format.OperationMask.REGIONS
cdef int HAS_USE_LIST_ORDERS = _format.OperationMask.USE_LIST_ORDERS
cdef int HAS_PROPERTIES = _format.OperationMask.PROPERTIES

include "program/ir/new_operation.pxi"
include "byte_cursor.pxi"
include "entry_tables.pxi"


cdef class ValueScope:
    """The values of a region that are defined already.

    The values of a region are numbered after all values that the region around it states, defined or not.
    A scope holds defined values only: what a file states takes no memory before it is there.
    """

    cdef ValueScope outer
    cdef Py_ssize_t first
    cdef Py_ssize_t limit
    cdef list values

    @staticmethod
    cdef ValueScope create(ValueScope outer, Py_ssize_t first, Py_ssize_t count):
        cdef ValueScope scope = ValueScope.__new__(ValueScope)
        scope.outer, scope.first, scope.limit, scope.values = outer, first, first + count, []
        return scope


cdef class ProgramReader:
    """Reads the operations of one file.

    Args:
        container: the file's sections.
        dialects: the properties and versions of operations.

    Attributes:
        argument_names: the names that the locations of block arguments give.
    """

    cdef ByteCursor program
    cdef object dialects
    cdef EntryTables tables
    cdef list names
    cdef ValueScope scope
    cdef int nesting
    cdef dict upgraded
    cdef readonly dict argument_names

    def __init__(self, container, dialects):
        self.program = container.section(PROGRAM_SECTION)
        self.dialects = dialects
        self.tables = container.tables
        self.names = container.operation_names
        self.scope = ValueScope.create(None, 0, 0)
        self.nesting = 0
        self.upgraded = {}
        self.argument_names = {}

    def operations(self):
        """The operations at the top level."""
        return self._read_block(self.program).operations

    cdef object _read_block(self, ByteCursor cursor):
        cdef uint64_t value = cursor.varint()
        cdef uint64_t count = value >> 1
        cdef object block = Block()
        cdef list operations
        if count > <uint64_t>(cursor.end - cursor.position):
            cursor.fail(f"{count} operations do not fit into {cursor.end - cursor.position} bytes")
        if value & 1:
            self._read_arguments(cursor, block)
        operations = block.operations
        for _ in range(count):
            operations.append(self._read_operation(cursor))
        return block

    cdef int _read_arguments(self, ByteCursor cursor, object block) except -1:
        cdef list types = [], locations = []
        cdef uint64_t number
        cdef bint has_location
        for _ in range(cursor.count()):
            number, has_location = cursor.varint(), True
            if self.tables.version >= OPTIONAL_ARGUMENT_LOCATIONS:
                number, has_location = number >> 1, number & 1
            types.append(self.tables.type(number, cursor))
            locations.append(self.tables.location(cursor.varint(), cursor) if has_location else None)
        block.arguments = tuple([new_value(types[index], block, index) for index in range(len(types))])
        for argument, location in zip(block.arguments, locations):
            if isinstance(location, NameLocation):
                self.argument_names[argument] = location.name
        self._define(cursor, block.arguments)
        if self.tables.version >= USE_LIST_ORDERS and cursor.byte():
            self._skip_use_list_orders(cursor, len(types))
        return 0

    cdef int _define(self, ByteCursor cursor, tuple values) except -1:
        cdef ValueScope scope = self.scope
        cdef list defined = scope.values
        if len(values) > scope.limit - scope.first - len(defined):
            cursor.fail("a region defines more values than it states")
        for value in values:
            defined.append(value)
        return 0

    cdef int _skip_use_list_orders(self, ByteCursor cursor, Py_ssize_t values) except -1:
        """Consume the orders of uses, which say nothing about the program."""
        cdef uint64_t count
        for _ in range(cursor.count() if values > 1 else 1):
            if values > 1:
                cursor.varint()
            count = cursor.varint() >> 1
            while count:
                cursor.varint()
                count -= 1
        return 0

    cdef object _read_operation(self, ByteCursor cursor):
        cdef Py_ssize_t start = cursor.position
        cdef uint64_t number = cursor.varint()
        cdef int mask
        cdef object operation
        cdef tuple upgraded, types = (), operands = ()
        if number >= <uint64_t>len(self.names):
            cursor.fail(f"operation name {number} does not exist", start)
        mask = cursor.byte()
        location = self.tables.location(cursor.varint(), cursor)
        upgraded = self._read_attributes(cursor, number, mask)
        if mask & HAS_RESULTS:
            types = self._read_types(cursor)
        if mask & HAS_OPERANDS:
            operands = self._read_operands(cursor)
        if mask & HAS_SUCCESSORS:
            raise UnsupportedError("successors are not supported", operation=upgraded[0], location=location)
        if mask & HAS_USE_LIST_ORDERS:
            self._skip_use_list_orders(cursor, len(types))
        operation = new_operation(upgraded[0], operands, types, upgraded[1], location)
        if types:
            self._define(cursor, operation.results)
        if mask & HAS_REGIONS:
            operation.regions = self._read_regions(cursor)
        return operation

    cdef tuple _read_types(self, ByteCursor cursor):
        cdef Py_ssize_t count = cursor.count()
        if count == 1:
            return (self.tables.type(cursor.varint(), cursor),)
        return tuple([self.tables.type(cursor.varint(), cursor) for _ in range(count)])

    cdef tuple _read_operands(self, ByteCursor cursor):
        cdef Py_ssize_t count = cursor.count()
        if count == 1:
            return (self._read_operand(cursor),)
        if count == 2:
            return (self._read_operand(cursor), self._read_operand(cursor))
        return tuple([self._read_operand(cursor) for _ in range(count)])

    cdef object _read_operand(self, ByteCursor cursor):
        cdef uint64_t number = cursor.varint()
        cdef uint64_t index
        cdef ValueScope scope = self.scope
        while number < <uint64_t>scope.first:
            scope = scope.outer
        index = number - <uint64_t>scope.first
        if index >= <uint64_t>len(scope.values):
            cursor.fail(f"value {number} is used before it is defined")
        return scope.values[<Py_ssize_t>index]

    cdef tuple _read_attributes(self, ByteCursor cursor, uint64_t number, int mask):
        """The present name of an operation, and its attributes with its properties; operations share them."""
        attributes = cursor.varint() if mask & HAS_ATTRIBUTES else None
        properties = cursor.varint() if mask & HAS_PROPERTIES else None
        key = number if attributes is None and properties is None else (number, attributes, properties)
        upgraded = self.upgraded.get(key)
        if upgraded is None:
            upgraded = self.upgraded[key] = self._upgrade(cursor, number, attributes, properties)
        return upgraded

    cdef tuple _upgrade(self, ByteCursor cursor, uint64_t number, attribute_number, property_number):
        name = self.names[number]
        attributes = {}
        if property_number is not None:
            attributes = self._properties(name, property_number, cursor)
        if attribute_number is not None:
            attributes = {**attributes, **self._dictionary(attribute_number, cursor)}
        return self.dialects.upgrade(name.name, attributes)

    cdef object _dictionary(self, uint64_t number, ByteCursor cursor):
        attribute = self.tables.attribute(number, cursor)
        if not isinstance(attribute, DictionaryAttribute):
            cursor.fail("the attributes of an operation are no dictionary")
        return attribute.values

    cdef object _properties(self, name, uint64_t number, ByteCursor cursor):
        """The properties of an operation: native ones, or a dictionary where the writer did not know it."""
        cdef EntryReader reader = self.tables.properties_reader(number, cursor)
        if name.is_registered:
            properties = self._native_properties(name.name, reader)
        else:
            properties = self._dictionary(reader.varint(), reader)
        if not reader.is_empty:
            reader.fail(f"{reader.end - reader.position} bytes are left after the properties of {name.name}")
        return properties

    cdef dict _native_properties(self, name, EntryReader reader):
        """The attributes among the properties in their order, then the numbers of operands in each segment."""
        cdef dict properties = {}
        for attribute, is_optional in self.dialects.property_names(name):
            if not is_optional:
                properties[attribute] = reader.attribute()
                continue
            if reader.position >= reader.end:
                # Earlier versions of the operation end before attributes that came later.
                break
            value = reader.optional_attribute()
            if value is not None:
                properties[attribute] = value
        if reader.position < reader.end and self.tables.version >= NATIVE_SEGMENT_SIZES:
            properties.update(self.dialects.segment_sizes(name, reader))
        return properties

    cdef tuple _read_regions(self, ByteCursor cursor):
        cdef uint64_t value = cursor.varint()
        cdef uint64_t count = value >> 1
        cdef bint is_isolated = value & 1
        cdef ByteCursor content = cursor
        if count > <uint64_t>(cursor.end - cursor.position):
            cursor.fail(f"{count} regions do not fit into {cursor.end - cursor.position} bytes")
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            cursor.fail(f"regions are nested deeper than {MAX_NESTING} levels")
        outer = self.scope
        if is_isolated:
            self.scope = ValueScope.create(None, 0, 0)
        if is_isolated and self.tables.version >= LAZY_REGIONS:
            position = cursor.position
            number, content = cursor.section()
            if number != PROGRAM_SECTION:
                cursor.fail("expected the section of isolated regions", position)
        regions = tuple([self._read_region(content) for _ in range(count)])
        if content is not cursor and not content.is_empty:
            content.fail("bytes are left after the last region of an operation")
        self.scope = outer
        self.nesting -= 1
        return regions

    cdef object _read_region(self, ByteCursor cursor):
        cdef Py_ssize_t blocks = cursor.count()
        cdef ValueScope outer = self.scope
        region = Region()
        if not blocks:
            return region
        self.scope = ValueScope.create(outer, outer.limit, cursor.count())
        region.blocks += [self._read_block(cursor) for _ in range(blocks)]
        self.scope = outer
        return region
