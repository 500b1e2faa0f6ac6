# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Updates of a scatter grouped by element, so that they are applied in one order after another without a sort.

The updates of each element lie side by side, in lexicographic order. A schedule says at which of them to begin and
how far to go to the next one. Nothing here is compiled at run time.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

import numpy as np

ctypedef fused real:
    float
    double

ctypedef fused integer:
    int32_t
    int64_t

COMBINERS = ("add", "multiply")
SCHEDULES = ("lexicographic", "reverse", "shuffled")
MOST = 2**31 - 1
"""Most updates and most elements."""

cdef uint32_t[16] _STRIDES = [
    2190947789, 2301948041, 2468911421, 2556617729, 2694076813, 2831206211, 3001871987, 3094792297,
    3250041787, 3360475813, 3501196571, 3682081619, 3814222513, 3901690021, 4058833151, 4172924863,
]


def supports(dtype, str combiner):
    """Whether `apply` combines values of this NumPy type so."""
    return combiner in COMBINERS and np.dtype(dtype) in (np.float32, np.float64)


def group(const integer[::1] destinations, Py_ssize_t size, const real[::1] values):
    """Group updates by the element that they go to, those of an element in their order.

    Args:
        destinations: the number of the element for each update, no more than MOST; updates whose number is not
            from 0 to `size` - 1 are left out.
        size: number of elements, no more than MOST.
        values: the updates.

    Returns:
        For each element where its updates begin, and at last their number; and the updates, grouped.
    """
    cdef Py_ssize_t count = destinations.shape[0], number
    starts = np.zeros(size + 1, np.int32)
    cdef int32_t[::1] begin = starts
    cdef int32_t at, total = 0, own
    cdef integer element
    # At first begin[e + 1] counts, then it is the place of the next update of e, at last where those of e end.
    with nogil:
        for number in range(count):
            element = destinations[number]
            if 0 <= element < size:
                begin[element + 1] += 1
        for number in range(1, size + 1):
            own = begin[number]
            begin[number] = total
            total += own
    result = np.empty(total, np.asarray(values).dtype)
    cdef real[::1] grouped = result
    with nogil:
        for number in range(count):
            element = destinations[number]
            if 0 <= element < size:
                at = begin[element + 1]
                begin[element + 1] = at + 1
                grouped[at] = values[number]
    return starts, result


def arrange(const real[::1] grouped, const int32_t[::1] starts, const int32_t[::1] elements):
    """The updates of some elements, one element after the other.

    Args:
        grouped, starts: as `group` returns them.
        elements: which ones, in any order.

    Returns:
        Where the updates of each of these elements begin, and at last their number; and the updates.
    """
    cdef Py_ssize_t number, place, total = 0
    for number in range(elements.shape[0]):
        total += starts[elements[number] + 1] - starts[elements[number]]
    bounds = np.empty(elements.shape[0] + 1, np.int32)
    result = np.empty(total, np.asarray(grouped).dtype)
    cdef int32_t[::1] bound = bounds
    cdef real[::1] arranged = result
    cdef int32_t at = 0
    with nogil:
        for number in range(elements.shape[0]):
            bound[number] = at
            for place in range(starts[elements[number]], starts[elements[number] + 1]):
                arranged[at] = grouped[place]
                at += 1
        bound[elements.shape[0]] = at
    return bounds, result


cdef inline uint64_t _mixed(uint64_t element, uint64_t seed) noexcept nogil:
    cdef uint64_t bits = element * <uint64_t>0x9E3779B97F4A7C15 + seed * <uint64_t>0xD1B54A32D192ED03 + 1
    bits = (bits ^ (bits >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    bits = (bits ^ (bits >> 27)) * <uint64_t>0x94D049BB133111EB
    return bits ^ (bits >> 31)


cdef inline real _combined(real total, real value, bint multiplies) noexcept nogil:
    return total * value if multiplies else total + value


cdef enum:
    LANES = 8  # Elements whose updates are combined side by side: one addition alone waits for the one before it.


cdef inline void _fold(
    real *totals, const real **values, uint32_t *places, const uint32_t *strides, uint32_t count, int lanes,
    bint multiplies,
) noexcept nogil:
    """Combine each of some values with `count` others one after the other, each time a stride further on, and
    round."""
    cdef uint32_t left, place
    cdef int lane
    for left in range(count):
        for lane in range(lanes):
            place = places[lane]
            totals[lane] = _combined(totals[lane], values[lane][place], multiplies)
            # Both are below 2^31, so that the sum does not wrap.
            place += strides[lane]
            places[lane] = place - (count & (0 - <uint32_t>(place >= count)))


def apply(
    str combiner, const int32_t[::1] elements, const int32_t[::1] bounds, const real[::1] values,
    str schedule, seed, real[::1] result,
):
    """Apply updates to elements of `result`, in place.

    It is quickest where elements with as many updates stand side by side.

    Args:
        combiner: one of COMBINERS.
        elements: to which ones.
        bounds, values: as `arrange` returns them for these elements.
        schedule: one of SCHEDULES.
        seed: an integer from 0 on; of ``"shuffled"``.
        result: at first the elements of the input.
    """
    if combiner not in COMBINERS or schedule not in SCHEDULES:
        raise ValueError(f"no loop applies {combiner} in {schedule} order")
    cdef uint64_t bits, key = <uint64_t>(int(seed) % 2**64)
    cdef bint multiplies = combiner == "multiply", shuffles = schedule == "shuffled"
    cdef bint reverses = schedule == "reverse"
    cdef uint32_t count, known = 0
    cdef uint32_t[16] strides
    cdef uint32_t[LANES] places, steps
    cdef real[LANES] totals
    cdef const real *own[LANES]
    cdef Py_ssize_t number = 0, element, way, end = elements.shape[0]
    cdef int lane, lanes
    with nogil:
        while number < end:
            count = <uint32_t>(bounds[number + 1] - bounds[number])
            lanes = 1
            while lanes < LANES and number + lanes < end and (
                <uint32_t>(bounds[number + lanes + 1] - bounds[number + lanes]) == count
            ):
                lanes += 1
            if shuffles and count != known and count > 2:  # dividing takes long
                known = count
                for way in range(16):
                    strides[way] = _STRIDES[way] % count
            for lane in range(lanes):
                element = elements[number + lane]
                totals[lane], own[lane] = result[element], &values[bounds[number + lane]]
                places[lane], steps[lane] = 0, 1
                if reverses:
                    places[lane] = steps[lane] = count - 1
                elif shuffles and count > 1:
                    bits = _mixed(<uint64_t>element, key)
                    places[lane] = <uint32_t>((<uint64_t><uint32_t>bits * count) >> 32)
                    if count > 2:
                        steps[lane] = strides[bits >> 60]
            if lanes == LANES:
                _fold(totals, own, places, steps, count, LANES, multiplies)
            else:
                _fold(totals, own, places, steps, count, lanes, multiplies)
            for lane in range(lanes):
                result[elements[number + lane]] = totals[lane]
            number += lanes
