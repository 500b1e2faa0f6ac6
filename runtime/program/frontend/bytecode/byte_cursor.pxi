# A position in bytecode: the primitive encodings. Whoever wrote the bytecode is not trusted: each read is checked
# against the end of the cursor's range first, and a cursor's range lies within the bytes that it holds.
#
# Source: MLIR's document "Bytecode Format", section "Primitives".

cdef enum:
    # The bytes after the first one of the longest integer.
    MAX_EXTRA_BYTES = 8
    # The bit of a section's number that says that the content is aligned.
    IS_ALIGNED = 0x80


cdef class ByteCursor:
    """Reads a range of the bytecode from front to back.

    Args:
        content: the whole bytecode, so that errors name the offset in the file.
        start, end: the range.
        name: the name of the bytecode in errors.
    """

    cdef readonly object content
    cdef readonly object name
    cdef readonly Py_ssize_t position
    cdef readonly Py_ssize_t end
    cdef const unsigned char *data

    def __init__(self, bytes content not None, Py_ssize_t start, Py_ssize_t end, str name not None):
        self.open(content, start, end, name)

    cdef int open(self, bytes content, Py_ssize_t start, Py_ssize_t end, object name) except -1:
        if not 0 <= start <= end <= len(content):
            raise ValueError(f"bytes {start} to {end} of {len(content)}")
        self.content = content
        self.data = content
        self.position = start
        self.end = end
        self.name = name
        return 0

    @property
    def is_empty(self):
        """Whether nothing is left."""
        return self.position >= self.end

    def fail(self, reason, position=None):
        """Raise a ParseError that names the offset: that of the cursor if `position` is None."""
        offset = self.position if position is None else position
        raise ParseError(f"{self.name}: malformed bytecode: {reason}, at byte {offset}")

    cdef ByteCursor sub_range(self, Py_ssize_t start, Py_ssize_t end):
        cdef ByteCursor cursor = ByteCursor.__new__(ByteCursor)
        cursor.open(self.content, start, end, self.name)
        return cursor

    def range(self, uint64_t size):
        """Consume `size` bytes; a cursor over them."""
        cdef Py_ssize_t start = self.skip(size)
        return self.sub_range(start, self.position)

    cpdef Py_ssize_t skip(self, uint64_t size) except -1:
        """Consume `size` bytes; the offset of the first."""
        cdef Py_ssize_t start = self.position
        if size > <uint64_t>(self.end - start):
            self.fail(f"expected {size} bytes, but {self.end - start} are left")
        self.position = start + <Py_ssize_t>size
        return start

    def bytes(self, uint64_t size):
        """Consume and return `size` bytes."""
        cdef Py_ssize_t start = self.skip(size)
        return self.content[start : self.position]

    def text(self):
        """Consume a text that a zero ends; bytes that are not UTF-8 become surrogate escapes."""
        end = self.content.find(0, self.position, self.end)
        if end < 0:
            self.fail("expected a zero that ends a text")
        text = decode(self.content[self.position : end])
        self.position = end + 1
        return text

    cpdef int byte(self) except -1:
        """Consume one byte."""
        if self.position >= self.end:
            self.fail("expected a byte, but none is left")
        self.position += 1
        return self.data[self.position - 1]

    def boolean(self):
        """Consume a byte that says whether something is so."""
        return self.byte() != 0

    cpdef uint64_t varint(self) except? 0xDEADDEADDEADDEAD:
        """Consume an unsigned integer of 64 bits: the first byte's low zeros count the bytes after it."""
        cdef Py_ssize_t left = self.end - self.position
        cdef const unsigned char *data = self.data + self.position
        cdef uint64_t value = 0
        cdef int extra = 0
        cdef int index
        if left <= 0:
            self.fail("expected an integer, but no byte is left")
        if data[0] & 1:
            self.position += 1
            return data[0] >> 1
        while extra < MAX_EXTRA_BYTES and not data[0] >> extra & 1:
            extra += 1
        if extra >= left:
            self.fail("expected an integer, but it ends beyond its section")
        self.position += extra + 1
        if extra == MAX_EXTRA_BYTES:
            for index in range(MAX_EXTRA_BYTES):
                value |= <uint64_t>data[index + 1] << 8 * index
            return value
        for index in range(extra + 1):
            value |= <uint64_t>data[index] << 8 * index
        return value >> (extra + 1)

    cpdef int64_t signed(self) except? 0x5EADDEADDEADDEAD:
        """Consume a signed integer of 64 bits, in zigzag encoding."""
        cdef uint64_t value = self.varint()
        return <int64_t>(value >> 1 ^ (0 - (value & 1)))

    def varint_with_flag(self):
        """Consume an unsigned integer whose low bit is a flag."""
        cdef uint64_t value = self.varint()
        return value >> 1, value & 1 == 1

    cpdef Py_ssize_t count(self) except -1:
        """Consume the number of the items that follow, each of which takes at least a byte."""
        cdef Py_ssize_t start = self.position
        cdef uint64_t count = self.varint()
        if count > <uint64_t>(self.end - self.position):
            self.fail(f"{count} items do not fit into {self.end - self.position} bytes", start)
        return <Py_ssize_t>count

    def list(self, read_item):
        """Consume the number of items, then the items."""
        return tuple([read_item() for _ in range(self.count())])

    def signed_list(self):
        """Consume a list of signed integers."""
        return tuple([self.signed() for _ in range(self.count())])

    def integer_bits(self, width):
        """Consume the bits of an integer, or of a float, of a known width, as an unsigned integer."""
        if width <= 8:
            return self.byte() & (1 << width) - 1
        if width <= 64:
            return (<object>self.signed()) & (1 << width) - 1
        bits = 0
        for index in range(self.count()):
            bits |= ((<object>self.signed()) & (1 << 64) - 1) << 64 * index
        return bits & (1 << width) - 1

    def align(self, alignment):
        """Consume the bytes before the next offset that is a multiple of `alignment`."""
        if alignment <= 0 or alignment & (alignment - 1):
            self.fail(f"the alignment {alignment} is not a power of two")
        self.skip(-(<object>self.position) % alignment)

    def section(self):
        """Consume a section; its number and a cursor over its content."""
        cdef int first = self.byte()
        cdef uint64_t size = self.varint()
        if first & IS_ALIGNED:
            self.align(self.varint())
        return first & ~IS_ALIGNED, self.range(size)


def decode(text):
    """A text of the bytecode; bytes that are not UTF-8 become surrogate escapes."""
    return text.decode("utf-8", "surrogateescape")
