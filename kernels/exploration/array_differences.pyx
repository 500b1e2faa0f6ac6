# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Comparison of arrays of floats: which elements differ in their bits, and by how many ulps, in one pass."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

ctypedef fused real:
    float
    double

ctypedef fused bits_type:
    uint32_t
    uint64_t

cdef enum:
    # In arrays of at least this size of which one element in `DENSE` differs, indices are not listed.
    MIN_DENSE = 1 << 12
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


cdef inline uint64_t _ulps(real first, real second, uint64_t first_bits, uint64_t second_bits) noexcept nogil:
    """The distance of two values in ulps; `_NAN` if one is NaN."""
    cdef uint64_t sign, magnitude, second_magnitude
    if first != first or second != second:
        return _NAN
    sign = <uint64_t>1 << (8 * sizeof(real) - 1)
    magnitude, second_magnitude = first_bits & (sign - 1), second_bits & (sign - 1)
    if (first_bits ^ second_bits) & sign:
        return magnitude + second_magnitude
    return magnitude - second_magnitude if magnitude > second_magnitude else second_magnitude - magnitude


cdef inline bint _differ(real first, real second) noexcept nogil:
    """Whether two values differ in their bits, but not if both are NaN."""
    return (_bits(&first) != _bits(&second)) & ((first == first) | (second == second))


cdef struct Differences:
    # Index and number of the first element that differs, and of the one that differs most; its distance.
    Py_ssize_t first_index, first_element, largest_index, largest_element
    uint64_t distance
    Py_ssize_t count


cdef inline void _record(
    Differences *differences, const real *first, const real *second, const int32_t *elements, Py_ssize_t index
) noexcept nogil:
    """Record that two values differ."""
    cdef uint64_t distance = _ulps(first[index], second[index], _bits(&first[index]), _bits(&second[index]))
    cdef Py_ssize_t element = index if elements == NULL else elements[index]
    if differences.count == 0 or distance > differences.distance or (distance == differences.distance and element
        < differences.largest_element):
        differences.largest_index, differences.largest_element, differences.distance = index, element, distance
    if differences.count == 0 or element < differences.first_element:
        differences.first_index, differences.first_element = index, element
    differences.count += 1


def compare(const real[::1] first, const real[::1] second, const int32_t[::1] elements=None):
    """The elements in which two arrays differ; all NaNs are equal.

    Args:
        elements: the number of the element at each index, all different; None: the index.

    Returns:
        None if they do not differ. Otherwise the indices that do, in order, or None if there are many; the index of the
        first element that differs; the index of the first of those elements that differ most; and its distance
        in ulps, 2^64 - 1 if one value is NaN.
    """
    cdef const int32_t *numbers = &elements[0] if elements is not None and elements.shape[0] else NULL
    cdef Py_ssize_t index, number, differing = 0, size = first.shape[0]
    cdef Differences differences
    cdef int64_t[::1] indices
    differences.first_index = differences.first_element = differences.largest_index = 0
    differences.largest_element = differences.distance = differences.count = 0
    with nogil:
        for index in range(size):
            differing += _bits(&first[index]) != _bits(&second[index])
    if size >= MIN_DENSE and differing >= size // DENSE:
        with nogil:
            _record_all(&differences, &first[0], &second[0], numbers, size)
        return (None, differences.first_index, differences.largest_index,
            differences.distance) if differences.count else None
    indices_array = np.empty(differing + 1, np.int64)
    indices = indices_array
    with nogil:
        # Branch-free compaction: store every index, and advance past those that differ.
        for index in range(size):
            indices[differences.count] = index
            differences.count += _differ(first[index], second[index])
        differing = differences.count
        differences.count = 0
        for number in range(differing):
            _record(&differences, &first[0], &second[0], numbers, indices[number])
    return (indices_array[:differing], differences.first_index, differences.largest_index,
        differences.distance) if differing else None


cdef inline void _record_all(
    Differences *differences, const real *first, const real *second, const int32_t *elements, Py_ssize_t size
) noexcept nogil:
    """Record all differences, scanning only blocks that may hold the first or the largest one."""
    cdef Py_ssize_t begin = 0, end, index
    cdef uint64_t block_distance
    cdef int64_t block_first
    while begin < size:
        end = min(begin + BLOCK, size)
        if real is float:
            block_distance = _max_distance(<const uint32_t *>first, <const uint32_t *>second, begin, end)
        else:
            block_distance = _max_distance(<const uint64_t *>first, <const uint64_t *>second, begin, end)
        block_first = begin if elements == NULL else _min_element(elements, begin, end)
        if differences.count == 0 or block_distance >= differences.distance or block_first < differences.first_element:
            for index in range(begin, end):
                if _differ(first[index], second[index]):
                    _record(differences, first, second, elements, index)
        begin = end


cdef inline int64_t _min_element(const int32_t *elements, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef int32_t result = elements[begin]
    cdef Py_ssize_t index
    for index in range(begin, end):
        result = min(result, elements[index])
    return result


cdef inline uint64_t _max_distance(
    const bits_type *first, const bits_type *second, Py_ssize_t begin, Py_ssize_t end
) noexcept nogil:
    """The largest distance of values of f32 or f64 given by their bits, and `_NAN` if any value is NaN."""
    cdef bits_type result = 0, a, b, distance, sign = <bits_type>1 << (8 * sizeof(bits_type) - 1)
    cdef bits_type infinity = <bits_type>0x7F800000 if bits_type is uint32_t else <bits_type>(<uint64_t>0x7FF << 52)
    cdef bits_type nan_distance = <bits_type>_NAN
    cdef Py_ssize_t index
    for index in range(begin, end):
        a, b = first[index] & ~sign, second[index] & ~sign
        distance = a - b if a > b else b - a
        # The distance of infinity and -infinity does not overflow.
        distance = a + b if (first[index] ^ second[index]) & sign else distance
        distance = nan_distance if (a > infinity) | (b > infinity) else distance
        result = max(result, distance)
    return _NAN if result == nan_distance else result


def widen(
    const real[::1] reference, const real[::1] values, const int64_t[::1] indices, uint8_t[::1] differs,
    real[::1] minimum, real[::1] maximum,
):
    """Mark the elements whose values differ from reference ones, and extend their ranges, ignoring NaNs.

    Args:
        reference, values: the compared arrays.
        indices: the indices that differ, as `compare` returns them.
        differs: the marks.
        minimum, maximum: the ranges, which contain the reference values.
    """
    cdef Py_ssize_t number, index
    with nogil:
        if indices is None:
            for index in range(reference.shape[0]):
                differs[index] |= _differ(reference[index], values[index])
            for index in range(reference.shape[0]):
                minimum[index] = _minimum(values[index], minimum[index])
                maximum[index] = _maximum(values[index], maximum[index])
        else:
            for number in range(indices.shape[0]):
                index = indices[number]
                differs[index] = 1
                minimum[index] = _minimum(values[index], minimum[index])
                maximum[index] = _maximum(values[index], maximum[index])


cdef inline real _minimum(real value, real low) noexcept nogil:
    return value if (value < low) | (low != low) else low


cdef inline real _maximum(real value, real high) noexcept nogil:
    return value if (value > high) | (high != high) else high
