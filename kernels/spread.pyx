# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Where arrays of floats differ in their bits, and how far apart their values are, in one pass."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

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


def compare(const real[::1] first, const real[::1] second, const int32_t[::1] elements=None):
    """Where two arrays differ, any NaN being equal to any other.

    Args:
        elements: the number of the element at each place, all different; None: the place.

    Returns:
        The places that differ, in their order; of these the place of the first element, and of the first of those
        elements that differ most, or -1; and by how many ulps the latter differs, 2^64 - 1 where one value is NaN.
    """
    cdef bint is_named = elements is not None
    cdef Py_ssize_t place, element, number, differing = 0, count = 0
    cdef Py_ssize_t least = 0, least_place = -1, most = 0, most_place = -1
    cdef uint64_t distance, greatest = 0
    # Memory that is not written to costs nothing.
    found = np.empty(first.shape[0] + 1, np.int64)
    cdef int64_t[::1] places = found
    with nogil:
        # Each place is written down, and kept if the next one does not take its room: no branch to guess.
        for place in range(first.shape[0]):
            places[differing] = place
            differing += _bits(&first[place]) != _bits(&second[place])
        for number in range(differing):
            place = places[number]
            if first[place] != first[place] and second[place] != second[place]:
                continue
            distance = _ulps(first[place], second[place], _bits(&first[place]), _bits(&second[place]))
            element = elements[place] if is_named else place
            if count == 0 or distance > greatest or (distance == greatest and element < most):
                most, most_place, greatest = element, place, distance
            if count == 0 or element < least:
                least, least_place = element, place
            places[count] = place
            count += 1
    return found[:count], least_place, most_place, greatest


def widen(const real[::1] values, const int64_t[::1] places, uint8_t[::1] differs, real[::1] least, real[::1] most):
    """Mark the elements at places, and take their values into the range of each, NaNs aside."""
    cdef Py_ssize_t number, place
    cdef real value, low, high
    with nogil:
        for number in range(places.shape[0]):
            place = places[number]
            value, low, high = values[place], least[place], most[place]
            differs[place] = 1
            least[place] = value if (value < low) | (low != low) else low
            most[place] = value if (value > high) | (high != high) else high
