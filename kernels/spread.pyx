# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Where arrays of floats differ in their bits, and how far apart their values are, in one pass."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

ctypedef fused real:
    float
    double

cdef uint64_t _NAN = <uint64_t>0xFFFFFFFFFFFFFFFF


def supports(dtype):
    """Whether there are loops for this NumPy type."""
    return np.dtype(dtype) in (np.float32, np.float64)


cdef inline uint64_t _bits(const real *value) noexcept nogil:
    if real is float:
        return (<const uint32_t *>value)[0]
    else:
        return (<const uint64_t *>value)[0]


cdef inline bint _differ(real one, real other, uint64_t bits, uint64_t other_bits) noexcept nogil:
    """Whether bits differ, and not both values are NaN."""
    return (bits != other_bits) & ((one == one) | (other == other))


cdef inline uint64_t _ulps(real one, real other, uint64_t bits, uint64_t other_bits) noexcept nogil:
    """Steps between two values; `_NAN` where one is NaN."""
    cdef uint64_t sign, size, other_size
    if one != one or other != other:
        return _NAN
    sign = <uint64_t>1 << (8 * sizeof(real) - 1)
    size, other_size = bits & (sign - 1), other_bits & (sign - 1)
    if (bits ^ other_bits) & sign:
        return size + other_size
    return size - other_size if size > other_size else other_size - size


def compare(const real[::1] first, const real[::1] second):
    """Where two arrays differ, any NaN being equal to any other.

    Returns:
        The places that differ, ascending; the first of those that differ most, or -1; and by how many ulps,
        2^64 - 1 where one value is NaN.
    """
    cdef Py_ssize_t place, count = 0, most = -1
    cdef uint64_t bits, other_bits, distance, greatest = 0
    # Memory that is not written to costs nothing.
    found = np.empty(first.shape[0], np.int64)
    cdef int64_t[::1] places = found
    with nogil:
        for place in range(first.shape[0]):
            bits, other_bits = _bits(&first[place]), _bits(&second[place])
            if _differ(first[place], second[place], bits, other_bits):
                distance = _ulps(first[place], second[place], bits, other_bits)
                if count == 0 or distance > greatest:
                    most, greatest = place, distance
                places[count] = place
                count += 1
    return found[:count], most, greatest


def widen(const real[::1] values, const int64_t[::1] places, uint8_t[::1] differs, real[::1] least, real[::1] most):
    """Mark the elements at places, and take their values into the range of each, NaNs aside."""
    cdef Py_ssize_t number, place
    cdef real value
    with nogil:
        for number in range(places.shape[0]):
            place = places[number]
            value = values[place]
            differs[place] = 1
            if value < least[place] or least[place] != least[place]:
                least[place] = value
            if value > most[place] or most[place] != most[place]:
                most[place] = value
