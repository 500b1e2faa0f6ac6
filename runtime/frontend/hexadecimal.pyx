# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Decodes hexadecimal digits of a text straight into an array, without a copy of the text."""

from cpython.unicode cimport PyUnicode_1BYTE_KIND, PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND, PyUnicode_READ


cdef unsigned char[256] VALUES


cdef void _fill() noexcept:
    cdef int character
    for character in range(256):
        VALUES[character] = 0xFF
    for character in range(10):
        VALUES[ord("0") + character] = character
    for character in range(6):
        VALUES[ord("a") + character] = 10 + character
        VALUES[ord("A") + character] = 10 + character


_fill()


def decode(str text not None, Py_ssize_t start, unsigned char[::1] out not None):
    """Decode two digits for each byte of `out`, from offset `start` of `text`.

    Returns:
        -1, or how far from `start` the first character lies that is no hexadecimal digit.

    Raises:
        ValueError: the text ends before `out` is full.
    """
    cdef Py_ssize_t count = out.shape[0]
    if start < 0 or start + 2 * count > PyUnicode_GET_LENGTH(text):
        raise ValueError("the text ends before the digits do")
    if count == 0:
        return -1
    if PyUnicode_KIND(text) == PyUnicode_1BYTE_KIND:
        return _decode_bytes(<const unsigned char*> PyUnicode_DATA(text) + start, &out[0], count)
    return _decode_wide(text, start, &out[0], count)


cdef Py_ssize_t _decode_bytes(const unsigned char* digits, unsigned char* out, Py_ssize_t count) noexcept:
    cdef Py_ssize_t index
    cdef unsigned char high, low, wrong = 0
    for index in range(count):
        high = VALUES[digits[2 * index]]
        low = VALUES[digits[2 * index + 1]]
        wrong |= high | low
        out[index] = (high << 4) | (low & 0x0F)
    if wrong & 0xF0 == 0:
        return -1
    for index in range(2 * count):
        if VALUES[digits[index]] == 0xFF:
            return index
    return -1


cdef Py_ssize_t _decode_wide(str text, Py_ssize_t start, unsigned char* out, Py_ssize_t count):
    """The same for a text that holds characters beyond Latin-1 elsewhere."""
    cdef int kind = PyUnicode_KIND(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef Py_ssize_t index
    cdef Py_UCS4 character
    cdef unsigned char value
    for index in range(2 * count):
        character = PyUnicode_READ(kind, data, start + index)
        value = VALUES[character] if character < 256 else 0xFF
        if value == 0xFF:
            return index
        out[index >> 1] = (out[index >> 1] & 0x0F) | (value << 4) if index & 1 == 0 else (out[index >> 1] & 0xF0) | value
    return -1
