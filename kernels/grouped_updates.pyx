# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Updates that lie side by side for each element, as `update_groups` puts them, applied in one order after another
without a sort.

A schedule says at which of an element's updates to begin and how far to go to the next one. Nothing here is compiled
at run time.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np

cdef extern from "grouped_updates.h":
    enum:
        GROUPED_FORWARD
        GROUPED_REVERSE
        GROUPED_SHUFFLED

    struct grouped_updates:
        const int32_t *elements
        const int32_t *bounds
        const void *initials
        const void *values
        void *totals
        void *result
        uint64_t key
        int order, multiplies

    void grouped_apply(const grouped_updates *own, int64_t size, bint is_double, bint may_be_wide) nogil

ctypedef fused real:
    float
    double

COMBINERS = ("add", "multiply")

cdef dict _ORDERS = {"lexicographic": GROUPED_FORWARD, "reverse": GROUPED_REVERSE, "shuffled": GROUPED_SHUFFLED}

SCHEDULES = tuple(_ORDERS)


def supports(dtype, str combiner):
    """Whether `apply` combines values of this NumPy type so."""
    return combiner in COMBINERS and np.dtype(dtype) in (np.float32, np.float64)


def apply(
    str combiner, const int32_t[::1] elements, const real[::1] initials, const int32_t[::1] bounds,
    const real[::1] values, str schedule, seed, real[::1] totals, real[::1] result=None,
    bint may_be_wide=True,
):
    """Apply the updates of contested elements, and write these to `totals` in the order of `elements`, and to their
    places in `result` if there is one.

    Args:
        combiner: one of COMBINERS.
        elements, initials, bounds, values: as `update_groups.settle` returns them.
        schedule: one of SCHEDULES.
        seed: an integer from 0 on; of ``"shuffled"``.
        result: where elements are not contested, it is left as it is.
        may_be_wide: False: no AVX-512, whatever the machine has.
    """
    if combiner not in COMBINERS or schedule not in _ORDERS:
        raise ValueError(f"no loop applies {combiner} in {schedule} order")
    if not elements.shape[0]:
        return
    cdef grouped_updates updates
    updates.elements, updates.bounds, updates.initials = &elements[0], &bounds[0], &initials[0]
    updates.values, updates.totals = &values[0], &totals[0]
    updates.result = &result[0] if result is not None else NULL
    updates.key = <uint64_t>(int(seed) % 2**64)
    updates.order, updates.multiplies = _ORDERS[schedule], combiner == "multiply"
    with nogil:
        grouped_apply(&updates, elements.shape[0], real is double, may_be_wide)
