# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Updates that lie side by side for each element, as `update_groups` puts them, applied in one order after another
without a sort.

A schedule says at which of an element's updates to begin and how far to go to the next one. Nothing here is compiled
at run time.
"""

from libc.stdint cimport int32_t, uint32_t, uint64_t

import numpy as np

ctypedef fused real:
    float
    double

COMBINERS = ("add", "multiply")
SCHEDULES = ("lexicographic", "reverse", "shuffled")

cdef uint32_t[16] _STRIDES = [
    2190947789, 2301948041, 2468911421, 2556617729, 2694076813, 2831206211, 3001871987, 3094792297,
    3250041787, 3360475813, 3501196571, 3682081619, 3814222513, 3901690021, 4058833151, 4172924863,
]


def supports(dtype, str combiner):
    """Whether `apply` combines values of this NumPy type so."""
    return combiner in COMBINERS and np.dtype(dtype) in (np.float32, np.float64)


cdef inline real _combined(real total, real value, bint multiplies) noexcept nogil:
    return total * value if multiplies else total + value


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
        elements, initials, bounds, values: as `update_groups.settle` returns them.
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
