# The tables of attributes and types, and the reader of an entry. An entry is decoded at its first use: by the decoder
# of its dialect, which is Python code, or here where a program has one for each operation.

# The descriptors of the fields of a location.
cdef object LOCATION_FILE = vars(FileLocation)["file"]
cdef object LOCATION_LINE = vars(FileLocation)["line"]
cdef object LOCATION_COLUMN = vars(FileLocation)["column"]
cdef object LOCATION_END = vars(FileLocation)["end"]


cdef struct Entry:
    Py_ssize_t start
    Py_ssize_t end
    # The number of the dialect that encodes it.
    Py_ssize_t dialect
    # Whether it is encoded as its text.
    bint is_text
    # Of a decoded entry, with all entries that it refers to, each counted as often as others refer to it: the bytes of
    # types and the number of attributes; and how deep they are nested.
    uint64_t expanded_size
    int depth


cdef class _Table:
    """The attributes of one file, or its types: their encodings, and the decoded ones."""

    cdef Entry *entries
    cdef Py_ssize_t size
    cdef list decoded
    cdef str kind

    def __cinit__(self, Py_ssize_t size, str kind):
        self.entries = <Entry *>PyMem_Calloc(size + 1, sizeof(Entry))
        if self.entries == NULL:
            raise MemoryError
        self.size = size
        self.decoded = [None] * size
        self.kind = kind

    def __dealloc__(self):
        PyMem_Free(self.entries)

    cdef int read_offsets(self, ByteCursor offsets, ByteCursor data, list dialects) except -1:
        """Read the groups of entries: a dialect, the number of its entries, the size and the form of each."""
        cdef Py_ssize_t index = 0, count, dialect
        cdef uint64_t size_and_form
        cdef Entry *entry
        while index < self.size:
            dialect = item_number(offsets, offsets.varint(), dialects, "dialect")
            count = offsets.count()
            if count > self.size - index:
                offsets.fail(f"expected {self.size} attributes or types, found more")
            for _ in range(count):
                entry = &self.entries[index]
                size_and_form = offsets.varint()
                entry.start = data.skip(size_and_form >> 1)
                entry.end = data.position
                entry.dialect = dialect
                entry.is_text = not size_and_form & 1
                index += 1
        return 0

    cdef inline Py_ssize_t require(self, uint64_t index, ByteCursor cursor) except -1:
        """The index of an entry, which must exist; the bytes before `cursor` refer to it."""
        if index >= <uint64_t>self.size:
            cursor.fail(f"{self.kind} {index} does not exist, since there are {self.size}")
        return <Py_ssize_t>index


cdef class EntryTables:
    """The attributes and types of one file, each decoded at its first use.

    Args:
        offsets, data: the sections of the entries' sizes and encodings.
        dialects: the names of the dialects.
        strings: the file's strings.
        version: the version of the container.
        decoder_of: the decoder of a dialect by the dialect's name; None if the dialect has none.

    Attributes:
        strings, version: as given.
        resources: the resources of dialects in their order.

    Raises:
        ParseError: the sections are malformed.
    """

    cdef readonly list strings
    cdef readonly int version
    cdef public list resources
    cdef list dialects
    cdef list decoders
    cdef object decoder_of
    cdef ByteCursor data
    cdef _Table attributes
    cdef _Table types
    cdef list locations
    cdef _Table properties
    cdef int nesting
    # What the references of the entry that is being decoded have added so far.
    cdef uint64_t expanded_size
    cdef int depth
    cdef uint64_t expanded_types_size
    cdef uint64_t max_expanded_size

    def __init__(
        self,
        ByteCursor offsets not None,
        ByteCursor data not None,
        list dialects not None,
        list strings not None,
        int version,
        decoder_of,
    ):
        self.strings = strings
        self.version = version
        self.resources = []
        self.dialects = dialects
        self.decoders = [None] * len(dialects)
        self.decoder_of = decoder_of
        self.data = data
        self.max_expanded_size = max_expanded_size(len(data.content))
        attribute_count = offsets.count()
        type_count = offsets.count()
        self.attributes = _Table(attribute_count, "attribute")
        self.types = _Table(type_count, "type")
        self.attributes.read_offsets(offsets, data, dialects)
        self.types.read_offsets(offsets, data, dialects)
        self.locations = [None] * attribute_count
        self.properties = _Table(0, "properties")

    def read_properties(self, ByteCursor section not None):
        """Read the section of the operations' properties: the size and the encoding of each.

        Raises:
            ParseError: the section is malformed.
        """
        cdef Py_ssize_t index
        cdef Py_ssize_t count = 0 if section.is_empty else section.count()
        self.properties = _Table(count, "properties")
        for index in range(count):
            self.properties.entries[index].start = section.skip(section.varint())
            self.properties.entries[index].end = section.position

    cdef EntryReader properties_reader(self, uint64_t number, ByteCursor cursor):
        """A reader of the properties of a number, to which the bytes before `cursor` refer."""
        cdef Entry *entry = &self.properties.entries[self.properties.require(number, cursor)]
        return self.reader(entry.start, entry.end)

    cdef object attribute(self, uint64_t number, ByteCursor cursor):
        """The attribute of a number, to which the bytes before `cursor` refer."""
        cdef Py_ssize_t index = self.attributes.require(number, cursor)
        cdef Entry *entry = &self.attributes.entries[index]
        cdef object attribute = self.attributes.decoded[index]
        if attribute is None:
            attribute = self._decode_attribute(entry)
            self.attributes.decoded[index] = attribute
        self._refer(entry)
        return attribute

    cdef object type(self, uint64_t number, ByteCursor cursor):
        """The type of a number, to which the bytes before `cursor` refer."""
        cdef Py_ssize_t index = self.types.require(number, cursor)
        cdef Entry *entry = &self.types.entries[index]
        cdef object type = self.types.decoded[index]
        if type is None:
            type = self._decode_type(entry)
            self.types.decoded[index] = type
        self._refer(entry)
        return type

    cdef inline void _refer(self, Entry *entry):
        """Add what an entry stands for to the entry that refers to it."""
        self.expanded_size += entry.expanded_size
        self.depth = max(self.depth, entry.depth)

    cdef object location(self, uint64_t number, ByteCursor cursor):
        """The location of a number; unknown if the attribute is no location."""
        cdef Py_ssize_t index = self.attributes.require(number, cursor)
        cdef object location = self.locations[index]
        if location is None:
            if self.attributes.decoded[index] is None:
                location = self._file_location(&self.attributes.entries[index])
            if location is None:
                attribute = self.attribute(number, cursor)
                location = attribute.location if isinstance(attribute, LocationAttribute) else UNKNOWN
            self.locations[index] = location
        return location

    cdef object _file_location(self, Entry *entry):
        """The location of an entry that is a file, a line and a column; None if it is something else.

        A program has one for each operation; it becomes no attribute on the way.
        """
        cdef EntryReader reader
        if entry.is_text or self.dialects[entry.dialect] != "builtin" or entry.start == entry.end:
            return None
        if self.data.data[entry.start] != FILE_LOCATION_BYTE:
            return None
        reader = self._enter(entry, 1)
        reader.position += 1
        location = reader.file_location()
        self._leave(reader, entry)
        return location

    cdef object _decode_attribute(self, Entry *entry):
        cdef EntryReader reader = self._enter(entry, 1)
        if entry.is_text:
            from ..parser import parse_attributes

            parsed = parse_attributes(reader.text(), reader.name)
            if len(parsed) != 1:
                reader.fail(f"expected the text of one attribute, found {len(parsed)}")
            attribute = parsed[0]
        else:
            attribute = self._decoder(entry).attribute(reader)
        if isinstance(attribute, LocationAttribute):
            # Locations, which are call stacks, may be nested to any depth.
            self.depth = -1
        self._leave(reader, entry)
        return attribute

    cdef object _decode_type(self, Entry *entry):
        cdef EntryReader reader = self._enter(entry, entry.end - entry.start)
        if entry.is_text:
            from ..parser import parse_type

            type = parse_type(reader.text(), reader.name)
        else:
            type = self._decoder(entry).type(reader)
        self.expanded_types_size += self.expanded_size
        if self.expanded_types_size > self.max_expanded_size:
            reader.fail(f"types would take more than {self.max_expanded_size} bytes without references to others")
        self._leave(reader, entry)
        return type

    cdef object _decoder(self, Entry *entry):
        decoder = self.decoders[entry.dialect]
        if decoder is None:
            dialect = self.dialects[entry.dialect]
            decoder = self.decoder_of(dialect)
            if decoder is None:
                raise UnsupportedError(
                    f"{self.data.name}: the dialect {dialect} encodes attributes and types in an unknown way"
                )
            self.decoders[entry.dialect] = decoder
        return decoder

    cdef EntryReader _enter(self, Entry *entry, uint64_t size):
        """Begin to decode an entry of a size. One that refers to itself exceeds the depth of nesting."""
        cdef EntryReader reader = self.reader(entry.start, entry.end)
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self._fail_nesting(reader)
        reader.outer_expanded_size, reader.outer_depth = self.expanded_size, self.depth
        self.expanded_size, self.depth = size, 0
        return reader

    cdef int _leave(self, EntryReader reader, Entry *entry) except -1:
        if reader.position < reader.end:
            reader.fail(f"{reader.end - reader.position} bytes are left after an attribute or a type")
        self.nesting -= 1
        entry.expanded_size, entry.depth = self.expanded_size, self.depth + 1
        if entry.depth > MAX_NESTING:
            self._fail_nesting(reader)
        if entry.expanded_size > self.max_expanded_size:
            reader.fail(f"an attribute stands for more than {self.max_expanded_size} others")
        self.expanded_size, self.depth = reader.outer_expanded_size, reader.outer_depth
        return 0

    cdef int _fail_nesting(self, EntryReader reader) except -1:
        reader.fail(f"attributes and types are nested deeper than {MAX_NESTING} levels")

    cpdef EntryReader reader(self, Py_ssize_t start, Py_ssize_t end):
        """A reader of a range of the bytecode that refers to attributes and types."""
        cdef EntryReader reader = EntryReader.__new__(EntryReader)
        reader.open(self.data.content, start, end, self.data.name)
        reader.tables = self
        return reader


cdef class EntryReader(ByteCursor):
    """Reads an encoded attribute or type, or properties; they refer to others by their numbers."""

    cdef EntryTables tables
    # What the entry that refers to this one has added so far.
    cdef uint64_t outer_expanded_size
    cdef int outer_depth

    def __init__(self):
        raise TypeError("EntryTables.reader makes the readers of entries")

    @property
    def version(self):
        """The version of the container."""
        return self.tables.version

    cpdef object attribute(self):
        """Consume a reference to an attribute."""
        return self.tables.attribute(self.varint(), self)

    def optional_attribute(self):
        """Consume a reference to an attribute, or its absence."""
        cdef uint64_t value = self.varint()
        return self.tables.attribute(value >> 1, self) if value & 1 else None

    cpdef object type(self):
        """Consume a reference to a type."""
        return self.tables.type(self.varint(), self)

    def string(self):
        """Consume a reference to a string."""
        strings = self.tables.strings
        return strings[item_number(self, self.varint(), strings, "string")]

    def attributes(self):
        """Consume a list of references to attributes."""
        return tuple([self.attribute() for _ in range(self.count())])

    def types(self):
        """Consume a list of references to types."""
        return tuple([self.type() for _ in range(self.count())])

    def named_attributes(self):
        """Consume a list of references to names, which are string attributes, and to attributes."""
        cdef dict attributes = {}
        for _ in range(self.count()):
            name = self.string_attribute()
            attributes[name] = self.attribute()
        return attributes

    cpdef object string_attribute(self):
        """Consume a reference to a string attribute; its text."""
        value = self.attribute()
        if not isinstance(value, StringAttribute):
            self.fail("expected a reference to a string")
        return value.value

    cpdef object file_location(self):
        """Consume the file, the line and the column of a location."""
        cdef object location = new_instance(FileLocation)
        set_field(LOCATION_FILE, location, self.string_attribute())
        set_field(LOCATION_LINE, location, self.varint())
        set_field(LOCATION_COLUMN, location, self.varint())
        set_field(LOCATION_END, location, None)
        return location

    def blob(self):
        """Consume a number of bytes, then the bytes."""
        return self.bytes(self.varint())

    def resource(self):
        """Consume a reference to a resource."""
        resources = self.tables.resources
        return resources[item_number(self, self.varint(), resources, "resource")]


cpdef Py_ssize_t item_number(ByteCursor cursor, uint64_t number, list items, kind) except -1:
    """The number of an item, which must exist; the bytes before `cursor` refer to it."""
    if number >= <uint64_t>len(items):
        cursor.fail(f"{kind} {number} does not exist, since there are {len(items)}")
    return <Py_ssize_t>number
