# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Where arrays of floats differ in their bits, and how far apart their values are, in one pass."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

ctypedef fused real:
    float
    double

ctypedef fused word:
    uint32_t
    uint64_t

cdef enum:
    # Of so many places or more, where one in `DENSE` differs, all are looked at side by side and none is listed.
    LEAST_DENSE = 1 << 12
    DENSE = 8
    BLOCK = 256

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


cdef inline bint _differ(real one, real other) noexcept nogil:
    """Whether two values differ in their bits, but not if both are NaN."""
    return (_bits(&one) != _bits(&other)) & ((one == one) | (other == other))


cdef struct Found:
    # The place of the first element that differs and its number, those of the one that differs most, how much so.
    Py_ssize_t first, least, greatest, most
    uint64_t distance
    Py_ssize_t count


cdef inline void _look(
    Found *found, const real *first, const real *second, const int32_t *elements, Py_ssize_t place
) noexcept nogil:
    """Take in that two values differ at a place."""
    cdef uint64_t distance = _ulps(first[place], second[place], _bits(&first[place]), _bits(&second[place]))
    cdef Py_ssize_t element = place if elements == NULL else elements[place]
    if found.count == 0 or distance > found.distance or (distance == found.distance and element < found.most):
        found.greatest, found.most, found.distance = place, element, distance
    if found.count == 0 or element < found.least:
        found.first, found.least = place, element
    found.count += 1


def compare(const real[::1] first, const real[::1] second, const int32_t[::1] elements=None):
    """Where two arrays differ, any NaN being equal to any other.

    Args:
        elements: the number of the element at each place, all different; None: the place.

    Returns:
        None where they do not differ. Else the places that do, in their order, or None for them where there are many;
        the place of the first element that differs, and of the first of those elements that differ most; and by how
        many ulps the latter differs, 2^64 - 1 where one value is NaN.
    """
    cdef const int32_t *names = &elements[0] if elements is not None and elements.shape[0] else NULL
    cdef Py_ssize_t place, number, differing = 0, size = first.shape[0]
    cdef Found found
    cdef int64_t[::1] places
    found.first = found.least = found.greatest = found.most = found.distance = found.count = 0
    with nogil:
        for place in range(size):
            differing += _bits(&first[place]) != _bits(&second[place])
    if size >= LEAST_DENSE and differing >= size // DENSE:
        with nogil:
            _look_everywhere(&found, &first[0], &second[0], names, size)
        return (None, found.first, found.greatest, found.distance) if found.count else None
    listed = np.empty(differing + 1, np.int64)
    places = listed
    with nogil:
        # Each place is written down, and kept if the next one does not take its room: no branch to guess.
        for place in range(size):
            places[found.count] = place
            found.count += _differ(first[place], second[place])
        differing = found.count
        found.count = 0
        for number in range(differing):
            _look(&found, &first[0], &second[0], names, places[number])
    return (listed[:differing], found.first, found.greatest, found.distance) if differing else None


cdef inline void _look_everywhere(
    Found *found, const real *first, const real *second, const int32_t *elements, Py_ssize_t size
) noexcept nogil:
    """Take in all differences, but only look closely at blocks that may hold the first one or the greatest."""
    cdef Py_ssize_t begin = 0, end, place
    cdef uint64_t most
    cdef int64_t least
    while begin < size:
        end = min(begin + BLOCK, size)
        if real is float:
            most = _most(<const uint32_t *>first, <const uint32_t *>second, begin, end)
        else:
            most = _most(<const uint64_t *>first, <const uint64_t *>second, begin, end)
        least = begin if elements == NULL else _least(elements, begin, end)
        if found.count == 0 or most >= found.distance or least < found.least:
            for place in range(begin, end):
                if _differ(first[place], second[place]):
                    _look(found, first, second, elements, place)
        begin = end


cdef inline int64_t _least(const int32_t *elements, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef int32_t least = elements[begin]
    cdef Py_ssize_t place
    for place in range(begin, end):
        least = min(least, elements[place])
    return least


cdef inline uint64_t _most(const word *first, const word *second, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """The greatest distance of values of f32 or f64 given by their bits; those of NaNs count as some."""
    cdef word most = 0, one, other, apart, sign = <word>1 << (8 * sizeof(word) - 1)
    cdef word infinity = <word>0x7F800000 if word is uint32_t else <word>(<uint64_t>0x7FF << 52)
    cdef word unknown = <word>_NAN
    cdef Py_ssize_t place
    for place in range(begin, end):
        one, other = first[place] & ~sign, second[place] & ~sign
        apart = one - other if one > other else other - one
        # Of infinity and its opposite the sum is a word still.
        apart = one + other if (first[place] ^ second[place]) & sign else apart
        apart = unknown if (one > infinity) | (other > infinity) else apart
        most = max(most, apart)
    return _NAN if most == unknown else most


def widen(
    const real[::1] plain, const real[::1] values, const int64_t[::1] places, uint8_t[::1] differs, real[::1] least,
    real[::1] most,
):
    """Mark the elements in which values differ from plain ones, and take them into the range of each, NaNs aside.

    Args:
        plain, values: what was compared.
        places: where they differ, as `compare` lists them.
        differs: whether elements were marked.
        least, most: their ranges, which hold the plain values.
    """
    cdef Py_ssize_t number, place
    with nogil:
        if places is None:
            for place in range(plain.shape[0]):
                differs[place] |= _differ(plain[place], values[place])
            for place in range(plain.shape[0]):
                least[place] = _lesser(values[place], least[place])
                most[place] = _greater(values[place], most[place])
        else:
            for number in range(places.shape[0]):
                place = places[number]
                differs[place] = 1
                least[place] = _lesser(values[place], least[place])
                most[place] = _greater(values[place], most[place])


cdef inline real _lesser(real value, real low) noexcept nogil:
    return value if (value < low) | (low != low) else low


cdef inline real _greater(real value, real high) noexcept nogil:
    return value if (value > high) | (high != high) else high
