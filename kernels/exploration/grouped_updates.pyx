# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Updates that lie side by side for each element, as `update_groups` puts them, applied in one order after another
without a sort.

A schedule says at which of an element's updates to begin and how far to go to the next one. Nothing here is compiled
at run time. What results is the same for any number of threads.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

import numpy as np

from ..launch.native import run_in_order

cdef extern from "schedule_differences.h":
    enum:
        GROUPED_FORWARD
        GROUPED_REVERSE
        GROUPED_SHUFFLED
        GROUPED_LANES
        GROUPED_MOST_SCHEDULES

    struct grouped_updates:
        int64_t size
        const int32_t *elements
        const int32_t *bounds
        const void *initials
        const void *values
        void *totals
        void *result
        uint64_t mixed
        int order, multiplies

    struct grouped_schedules:
        uint64_t mixed[16]
        int32_t orders[16]

    struct grouped_spread:
        grouped_updates updates
        int64_t vectors
        grouped_schedules schedules[4]
        void *least
        void *most
        uint8_t *differs

    struct grouped_extremes:
        int64_t first, most
        uint64_t distance

    uint64_t grouped_mixed(uint64_t key) nogil
    bint grouped_can_be_wide() nogil
    int64_t grouped_cut(const grouped_updates *own, int64_t chunk, int64_t chunks) nogil
    void grouped_apply(
        const grouped_updates *own, int64_t begin, int64_t end, bint is_double, bint is_wide
    ) nogil
    void grouped_compare(
        const grouped_spread *own, int64_t begin, int64_t end, grouped_extremes *extremes, bint is_double, bint is_wide
    ) nogil
    void grouped_join(const grouped_spread *own, grouped_extremes *known, const grouped_extremes *others) nogil

ctypedef fused real:
    float
    double

COMBINERS = ("add", "multiply")

cdef dict _ORDERS = {"lexicographic": GROUPED_FORWARD, "reverse": GROUPED_REVERSE, "shuffled": GROUPED_SHUFFLED}

SCHEDULES = tuple(_ORDERS)

MOST_SCHEDULES = GROUPED_MOST_SCHEDULES
"""How many schedules `spread` takes."""

cdef enum:
    # Elements are shared out in so many chunks at most, which have so many updates each at least.
    MOST_CHUNKS = 64
    LEAST_IN_CHUNK = 1 << 13

cdef double _SECONDS_AN_UPDATE = 1e-9


def supports(dtype, str combiner):
    """Whether `apply` combines values of this NumPy type so."""
    return combiner in COMBINERS and np.dtype(dtype) in (np.float32, np.float64)


cdef struct Chunks:
    grouped_spread spread
    grouped_extremes *extremes
    int64_t count
    bint is_double, is_wide


def apply(
    str combiner, const int32_t[::1] elements, const real[::1] initials, const int32_t[::1] bounds,
    const real[::1] values, str schedule, seed, real[::1] totals, real[::1] result=None,
    threads=None, bint may_be_wide=True,
):
    """Apply the updates of contested elements, and write these to `totals` in the order of `elements`, and to their
    places in `result` if there is one.

    Args:
        combiner: one of COMBINERS.
        elements, initials, bounds, values: as `update_groups.settle` returns them, or some of them that lie side by
            side but for `values`.
        schedule: one of SCHEDULES.
        seed: an integer from 0 on; of ``"shuffled"``.
        result: where elements are not contested, it is left as it is.
        threads: most threads to use; None: all.
        may_be_wide: False: no AVX-512, whatever the machine has.
    """
    cdef Chunks chunks
    if combiner not in COMBINERS or schedule not in _ORDERS:
        raise ValueError(f"no loop applies {combiner} in {schedule} order")
    if not elements.shape[0]:
        return
    _take(&chunks, combiner, elements, initials, bounds, values, totals, may_be_wide)
    chunks.spread.updates.result = &result[0] if result is not None else NULL
    chunks.spread.updates.mixed = grouped_mixed(_key(seed))
    chunks.spread.updates.order = _ORDERS[schedule]
    cdef double seconds = _SECONDS_AN_UPDATE * (bounds[elements.shape[0]] - bounds[0])
    run_in_order(<size_t>&_apply_chunk, <size_t>&chunks, chunks.count, seconds, threads)


def spread(
    str combiner, const int32_t[::1] elements, const real[::1] initials, const int32_t[::1] bounds,
    const real[::1] values, real[::1] plain, schedules, uint8_t[::1] differs, real[::1] least, real[::1] most,
    threads=None, bint may_be_wide=True,
):
    """Apply the updates of contested elements under some schedules, compare what results with what one schedule
    makes, any NaN being equal to any other, and take it into the range of each element, NaNs aside.

    Args:
        combiner, elements, initials, bounds, values: as in `apply`, of one element at least.
        plain: the totals to compare with.
        schedules: one to MOST_SCHEDULES pairs of one of SCHEDULES and a seed.
        differs: whether elements were found to differ; more are marked.
        least, most: the range of each element, of the totals in `plain` at least.
        threads, may_be_wide: as in `apply`.

    Returns:
        Three arrays, for each schedule: the place of the first element that differs, by its number in `elements`, or
        -1; the place of the first of those elements that differ most, or -1; and by how many ulps the latter
        differs, 2^64 - 1 where one value is NaN.
    """
    cdef Chunks chunks
    cdef Py_ssize_t number, chunk, padded = (len(schedules) + GROUPED_LANES - 1) // GROUPED_LANES * GROUPED_LANES
    if combiner not in COMBINERS or not 1 <= len(schedules) <= MOST_SCHEDULES:
        raise ValueError(f"no loop compares {combiner} under {len(schedules)} schedules")
    _take(&chunks, combiner, elements, initials, bounds, values, plain, may_be_wide)
    chunks.spread.vectors = padded // GROUPED_LANES
    for number in range(padded):
        # Vectors are filled up with the first schedule.
        name, seed = schedules[number if number < len(schedules) else 0]
        chunks.spread.schedules[number // GROUPED_LANES].orders[number % GROUPED_LANES] = _ORDERS[name]
        chunks.spread.schedules[number // GROUPED_LANES].mixed[number % GROUPED_LANES] = grouped_mixed(_key(seed))
    chunks.spread.differs, chunks.spread.least, chunks.spread.most = &differs[0], &least[0], &most[0]
    found = np.empty((chunks.count, padded, sizeof(grouped_extremes) // 8), np.int64)
    cdef int64_t[:, :, ::1] extremes = found
    chunks.extremes = <grouped_extremes *>&extremes[0, 0, 0]
    cdef double seconds = _SECONDS_AN_UPDATE * padded * (bounds[elements.shape[0]] - bounds[0])
    run_in_order(<size_t>&_compare_chunk, <size_t>&chunks, chunks.count, seconds, threads)
    for chunk in range(1, chunks.count):
        grouped_join(&chunks.spread, chunks.extremes, chunks.extremes + chunk * padded)
    joined = found[0, : len(schedules)]
    return joined[:, 0], joined[:, 1], joined[:, 2].view(np.uint64)


cdef uint64_t _key(seed) except? 0:
    return <uint64_t>(int(seed) % 2**64)


cdef void _take(
    Chunks *chunks, str combiner, const int32_t[::1] elements, const real[::1] initials, const int32_t[::1] bounds,
    const real[::1] values, real[::1] totals, bint may_be_wide
) noexcept:
    cdef grouped_updates *updates = &chunks.spread.updates
    cdef int64_t count = (bounds[elements.shape[0]] - bounds[0]) // LEAST_IN_CHUNK
    updates.size, updates.elements, updates.bounds = elements.shape[0], &elements[0], &bounds[0]
    updates.initials, updates.values, updates.totals = &initials[0], &values[0], &totals[0]
    updates.result, updates.multiplies = NULL, combiner == "multiply"
    chunks.count = max(1, min(MOST_CHUNKS, count))
    chunks.is_double, chunks.is_wide = real is double, may_be_wide and grouped_can_be_wide()


cdef void _apply_chunk(int64_t chunk, void *closure) noexcept nogil:
    cdef Chunks *own = <Chunks *>closure
    cdef const grouped_updates *updates = &own.spread.updates
    cdef int64_t begin = grouped_cut(updates, chunk, own.count), end = grouped_cut(updates, chunk + 1, own.count)
    grouped_apply(updates, begin, end, own.is_double, own.is_wide)


cdef void _compare_chunk(int64_t chunk, void *closure) noexcept nogil:
    cdef Chunks *own = <Chunks *>closure
    cdef const grouped_updates *updates = &own.spread.updates
    cdef int64_t begin = grouped_cut(updates, chunk, own.count), end = grouped_cut(updates, chunk + 1, own.count)
    cdef grouped_extremes *extremes = own.extremes + chunk * own.spread.vectors * GROUPED_LANES
    grouped_compare(&own.spread, begin, end, extremes, own.is_double, own.is_wide)
