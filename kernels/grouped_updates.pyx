# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Updates of a scatter grouped by element, so that they are applied in one order after another without a sort.

The updates of each element lie side by side, in lexicographic order. A schedule says at which of them to begin and
how far to go to the next one. Nothing here is compiled at run time.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

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


cdef inline real _combined(real total, real value, bint multiplies) noexcept nogil:
    return total * value if multiplies else total + value


cdef inline bint _is_same(const real *one, const real *other) noexcept nogil:
    """Whether two values have the same bits."""
    if real is float:
        return (<const uint32_t *>one)[0] == (<const uint32_t *>other)[0]
    else:
        return (<const uint64_t *>one)[0] == (<const uint64_t *>other)[0]


def settle(str combiner, const int32_t[::1] starts, real[::1] grouped, real[::1] result):
    """Apply the updates of those elements of `result` that have one value in whatever order, in place.

    These are elements with one update, and those with two that make the same value in both orders. All others
    with updates are contested.

    Args:
        combiner: one of COMBINERS.
        starts, grouped: as `group` returns them; `grouped` is overwritten.
        result: at first the elements of the input.

    Returns:
        The contested elements, those with few updates first; what they are in the input; where the values of
        each of these begin, and at last their number; and the values: those that an element with two updates
        has in lexicographic order and in reverse, otherwise the updates.
    """
    cdef bint multiplies = combiner == "multiply"
    cdef Py_ssize_t element, size = result.shape[0], number, place
    cdef int32_t count, most = 0, at = 0
    cdef real forward, backward
    for element in range(size):
        most = max(most, starts[element + 1] - starts[element])
    firsts = np.zeros(most + 2, np.int32)
    is_contested = np.zeros(size, np.uint8)
    cdef int32_t[::1] first = firsts
    cdef uint8_t[::1] contested = is_contested
    with nogil:
        for element in range(size):
            place = starts[element]
            count = <int32_t>(starts[element + 1] - place)
            if count == 1:
                result[element] = _combined(result[element], grouped[place], multiplies)
            elif count == 2:
                forward = _combined(result[element], grouped[place], multiplies)
                forward = _combined(forward, grouped[place + 1], multiplies)
                backward = _combined(result[element], grouped[place + 1], multiplies)
                backward = _combined(backward, grouped[place], multiplies)
                if _is_same(&forward, &backward):
                    result[element] = forward
                    continue
                grouped[place], grouped[place + 1] = forward, backward
            if count > 1:
                contested[element] = 1
                first[count + 1] += 1
        for number in range(1, most + 2):
            first[number] += first[number - 1]
    elements = np.empty(first[most + 1], np.int32)
    cdef int32_t[::1] chosen = elements
    with nogil:
        for element in range(size):
            if contested[element]:
                count = starts[element + 1] - starts[element]
                chosen[first[count]] = <int32_t>element
                first[count] += 1
    bounds = np.empty(elements.shape[0] + 1, np.int32)
    initials = np.empty(elements.shape[0], np.asarray(grouped).dtype)
    cdef int32_t[::1] bound = bounds
    cdef real[::1] initial = initials
    with nogil:
        for number in range(chosen.shape[0]):
            bound[number] = at
            initial[number] = result[chosen[number]]
            at += starts[chosen[number] + 1] - starts[chosen[number]]
        bound[chosen.shape[0]] = at
    arranged = np.empty(at, np.asarray(grouped).dtype)
    cdef real[::1] values = arranged
    with nogil:
        at = 0
        for number in range(chosen.shape[0]):
            for place in range(starts[chosen[number]], starts[chosen[number] + 1]):
                values[at] = grouped[place]
                at += 1
    return elements, initials, bounds, arranged


cdef inline uint64_t _mixed(uint64_t element, uint64_t seed) noexcept nogil:
    cdef uint64_t bits = element * <uint64_t>0x9E3779B97F4A7C15 + seed * <uint64_t>0xD1B54A32D192ED03 + 1
    bits = (bits ^ (bits >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    bits = (bits ^ (bits >> 27)) * <uint64_t>0x94D049BB133111EB
    return bits ^ (bits >> 31)


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
    str combiner, const int32_t[::1] elements, const real[::1] initials, const int32_t[::1] bounds,
    const real[::1] values, str schedule, seed, real[::1] totals, real[::1] result=None,
):
    """Apply the updates of contested elements, and write these to `totals` in the order of `elements`, and to their
    places in `result` if there is one.

    Args:
        combiner: one of COMBINERS.
        elements, initials, bounds, values: as `settle` returns them.
        schedule: one of SCHEDULES.
        seed: an integer from 0 on; of ``"shuffled"``.
        result: where elements are not contested, it is left as it is.
    """
    if combiner not in COMBINERS or schedule not in SCHEDULES:
        raise ValueError(f"no loop applies {combiner} in {schedule} order")
    cdef uint64_t bits, key = <uint64_t>(int(seed) % 2**64)
    cdef bint multiplies = combiner == "multiply", shuffles = schedule == "shuffled"
    cdef bint reverses = schedule == "reverse", has_result = result is not None
    cdef uint32_t count, known = 0
    cdef uint32_t[16] strides
    cdef uint32_t[LANES] places, steps
    cdef real[LANES] folded
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
                folded[lane], own[lane] = initials[number + lane], &values[bounds[number + lane]]
                places[lane], steps[lane] = 0, 1
                if reverses:
                    places[lane] = steps[lane] = count - 1
                elif shuffles and count > 1:
                    bits = _mixed(<uint64_t>element, key)
                    places[lane] = <uint32_t>((<uint64_t><uint32_t>bits * count) >> 32)
                    if count > 2:
                        steps[lane] = strides[bits >> 60]
            if count == 2:
                for lane in range(lanes):
                    folded[lane] = own[lane][places[lane]]
            elif lanes == LANES:
                _fold(folded, own, places, steps, count, LANES, multiplies)
            else:
                _fold(folded, own, places, steps, count, lanes, multiplies)
            for lane in range(lanes):
                totals[number + lane] = folded[lane]
            if has_result:
                for lane in range(lanes):
                    result[elements[number + lane]] = folded[lane]
            number += lanes
