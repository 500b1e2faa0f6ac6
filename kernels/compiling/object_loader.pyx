# cython: language_level=3
"""Loads relocatable object files into this process without LLVM (Linux, x86-64 and AArch64).

`object_file.h` reads and links a file, `code_memory.h` has the memory. What they do not know raises
`UnsupportedObject`: `object_code` then has LLVM load the file. Loaded code stays until the process ends.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

cdef extern from "code_memory.h" nogil:
    ctypedef struct ObjectFile:
        uint64_t symbol_count, code_bytes, data_bytes

    enum:
        STUB_BYTES
    const char *OUT_OF_MEMORY
    const char *open_object(ObjectFile *object, const uint8_t *bytes, uint64_t size, uint64_t max_alignment)
    void close_object(ObjectFile *object)
    const char *undefined_symbol(const ObjectFile *object, uint64_t symbol)
    const char *exported_symbol(const ObjectFile *object, uint64_t symbol)
    uint64_t address_of(
        const ObjectFile *object, uint64_t symbol, const uint8_t *code, const uint8_t *data, const uint64_t *undefined
    )
    const char *write_object(const ObjectFile *object, uint8_t *code, uint8_t *data, const uint64_t *undefined)
    bint relocate(int machine, uint32_t type, uint8_t *field, uint64_t place, uint64_t value)
    bint write_stub(int machine, uint8_t *stub, uint64_t place, uint64_t entry)
    uint64_t page_bytes()
    bint find_blocks(const ObjectFile *object, uint8_t **code, uint8_t **data)
    void clear_blocks(const ObjectFile *object, uint8_t *code, uint8_t *data)
    bint seal_code(const ObjectFile *object, uint8_t *code, uint8_t *data)
    uint64_t address_in_process(const char *name)


class UnsupportedObject(ValueError):
    """An object file has something that the loader does not know, or is damaged."""


def load_object(bytes code not None, names, dict symbols not None):
    """Load an object file; returns the addresses of some of its symbols, valid until the process ends.

    Args:
        code: the file.
        names: the symbols, which the file defines.
        symbols: the addresses of external symbols that are not those of a library in the process.

    Raises:
        UnsupportedObject: the file has something that the loader does not know, or a symbol is missing.
        MemoryError: there is no memory for the code.
    """
    cdef ObjectFile object
    cdef uint64_t *undefined = NULL
    cdef const char *reason = open_object(&object, code, len(code), page_bytes())
    try:
        _check(reason)
        undefined = <uint64_t *>calloc(object.symbol_count, sizeof(uint64_t))
        if undefined is NULL:
            raise MemoryError(OUT_OF_MEMORY.decode())
        _find_undefined(&object, symbols, undefined)
        return _load(&object, names, undefined)
    finally:
        free(undefined)
        close_object(&object)


cdef _check(const char *reason):
    """Raise for the reason why a file cannot be loaded, unless that is NULL."""
    if reason is OUT_OF_MEMORY:
        raise MemoryError(reason.decode())
    if reason is not NULL:
        raise UnsupportedObject(f"the object file cannot be loaded: {reason.decode()}")


cdef _find_undefined(const ObjectFile *object, dict symbols, uint64_t *undefined):
    """Store the addresses of all undefined symbols."""
    cdef uint64_t symbol
    cdef const char *name
    for symbol in range(object.symbol_count):
        name = undefined_symbol(object, symbol)
        if name is NULL:
            continue
        address = symbols.get(name.decode("utf-8", "replace"))
        undefined[symbol] = address_in_process(name) if address is None else address
        if not undefined[symbol]:
            raise UnsupportedObject(f"the object file needs {name.decode('utf-8', 'replace')}, which is not there")


cdef _load(const ObjectFile *object, names, const uint64_t *undefined):
    """Load an open file; returns the addresses of the symbols that `names` has."""
    cdef uint8_t *code
    cdef uint8_t *data
    cdef uint64_t symbol
    cdef const char *name
    exported = {}
    for symbol in range(object.symbol_count):
        name = exported_symbol(object, symbol)
        if name is not NULL:
            exported[name.decode("utf-8", "replace")] = symbol
    missing = [wanted for wanted in names if wanted not in exported]
    if missing:
        raise UnsupportedObject(f"the object file does not define {', '.join(missing)}")
    if not find_blocks(object, &code, &data):
        raise MemoryError("no address space for compiled code")
    cdef const char *reason = write_object(object, code, data, undefined)
    if reason is not NULL:
        clear_blocks(object, code, data)
        _check(reason)
    if not seal_code(object, code, data):
        clear_blocks(object, code, data)
        raise MemoryError("the system gives no executable mapping for compiled code")
    return [address_of(object, exported[wanted], code, data, undefined) for wanted in names]


def relocated(int machine, uint32_t type, bytes field not None, uint64_t place, uint64_t value):
    """The field of a relocation after it, for tests: of any processor that the loader knows.

    Args:
        machine: the number of the processor in ELF files.
        type: of the relocation.
        field: the bytes before it, 4 or 8 as the type has.
        place: the address of the field.
        value: the address that it refers to, with the addend; of a type that needs one, its entry's.

    Raises:
        UnsupportedObject: the type is unknown, or the value does not fit.
    """
    # No field has more bytes than are added.
    result = bytearray(field) + bytes(8)
    cdef uint8_t *start = result
    if not relocate(machine, type, start, place, value):
        raise UnsupportedObject("the relocation cannot be made")
    return bytes(result[: len(field)])


def stub(int machine, uint64_t place, uint64_t entry):
    """The bytes of a jump at an address to the address in an entry, for tests; see `relocated`."""
    cdef uint8_t result[STUB_BYTES]
    cdef int i
    for i in range(STUB_BYTES):
        result[i] = 0
    if not write_stub(machine, result, place, entry):
        raise UnsupportedObject("the stub does not reach its entry")
    return bytes(result[:STUB_BYTES])
