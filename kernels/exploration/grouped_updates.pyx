# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Apply updates that `update_groups` grouped by element, in many orders, without sorting.

A schedule is the first update of each element and a stride to the next one, modulo their number. The module needs no
compiler at run time. Results do not depend on the number of threads.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

import numpy as np

from ..launch.native import run_in_order

cdef extern from "grouped_updates.h":
    enum:
        GROUPED_FORWARD
        GROUPED_REVERSE
        GROUPED_SHUFFLED
        GROUPED_LANES
        GROUPED_MAX_SCHEDULES

    struct grouped_updates:
        int64_t size
        const int32_t *elements
        const int32_t *bounds
        const void *initials
        const void *values
        void *totals
        void *result
        uint64_t hashed_key
        int order, multiplies

    struct grouped_comparison:
        grouped_updates updates
        int64_t vectors
        const uint64_t *hashed_keys
        const int32_t *orders
        void *minimum
        void *maximum
        uint8_t *differs

    struct grouped_extremes:
        int64_t first, largest
        uint64_t distance

    uint64_t grouped_hash_key(uint64_t key) nogil
    bint grouped_can_be_wide() nogil
    int64_t grouped_chunk_begin(const grouped_updates *updates, int64_t chunk, int64_t chunks) nogil
    void grouped_apply(
        const grouped_updates *updates, int64_t begin, int64_t end, bint is_double, bint is_wide
    ) nogil
    void grouped_compare(
        const grouped_comparison *comparison, int64_t begin, int64_t end, grouped_extremes *extremes, bint is_double,
        bint is_wide
    ) nogil
    void grouped_merge_extremes(const grouped_comparison *updates, grouped_extremes *merged,
        const grouped_extremes *later) nogil

ctypedef fused real:
    float
    double

COMBINERS = ("add", "multiply")

cdef dict _ORDERS = {"lexicographic": GROUPED_FORWARD, "reverse": GROUPED_REVERSE, "shuffled": GROUPED_SHUFFLED}

SCHEDULES = tuple(_ORDERS)

MAX_SCHEDULES = GROUPED_MAX_SCHEDULES
"""The maximum number of schedules of a call of `compare_schedules`."""

cdef enum:
    # Elements are divided into at most MAX_CHUNKS chunks, of at least MIN_CHUNK_UPDATES updates each.
    MAX_CHUNKS = 64
    MIN_CHUNK_UPDATES = 1 << 13

cdef double _SECONDS_PER_UPDATE = 1e-9


def supports(dtype, str combiner):
    """Whether there are loops for this NumPy type and combiner."""
    return combiner in COMBINERS and np.dtype(dtype) in (np.float32, np.float64)


cdef struct Chunks:
    grouped_comparison comparison
    grouped_extremes *extremes
    int64_t count
    bint is_double, is_wide


def apply(
    str combiner, const int32_t[::1] elements, const real[::1] initials, const int32_t[::1] bounds,
    const real[::1] values, str schedule, seed, real[::1] totals, real[::1] result=None,
    threads=None, bint may_be_wide=True,
):
    """Apply the updates of order-dependent elements under one schedule.

    Args:
        combiner: one of COMBINERS.
        elements, initials, bounds, values: as `update_groups.combine_order_independent` returns them; the first
            three may be slices.
        schedule: one of SCHEDULES.
        seed: a non-negative integer; for ``"shuffled"``.
        totals: receives the elements' values, in the order of `elements`.
        result: None, or an array whose order-dependent elements are overwritten.
        threads: maximum number of threads; None: all.
        may_be_wide: False: do not use AVX-512.
    """
    cdef Chunks chunks
    if combiner not in COMBINERS or schedule not in _ORDERS:
        raise ValueError(f"no loop applies {combiner} in {schedule} order")
    if not elements.shape[0]:
        return
    _describe(&chunks, combiner, elements, initials, bounds, values, totals, may_be_wide)
    chunks.comparison.updates.result = &result[0] if result is not None else NULL
    chunks.comparison.updates.hashed_key = grouped_hash_key(_seed_bits(seed))
    chunks.comparison.updates.order = _ORDERS[schedule]
    cdef double seconds = _SECONDS_PER_UPDATE * (bounds[elements.shape[0]] - bounds[0])
    run_in_order(<size_t>&_apply_chunk, <size_t>&chunks, chunks.count, seconds, threads)


def compare_schedules(
    str combiner, const int32_t[::1] elements, const real[::1] initials, const int32_t[::1] bounds,
    const real[::1] values, real[::1] reference, schedules, uint8_t[::1] differs, real[::1] minimum, real[::1] maximum,
    threads=None, bint may_be_wide=True,
):
    """Apply the updates of order-dependent elements under some schedules, and compare the results with those of one.

    Any NaN equals any other.

    Args:
        combiner, elements, initials, bounds, values: as in `apply`, of one element at least.
        reference: the totals to compare with.
        schedules: one to MAX_SCHEDULES pairs of one of SCHEDULES and a seed.
        differs: marks of elements that differ; more are set.
        minimum, maximum: the range of each element, which contains `reference`; it is extended, ignoring NaNs.
        threads, may_be_wide: as in `apply`.

    Returns:
        Three arrays with an entry for each schedule: the index in `elements` of the first element that differs, or -1;
        of the first of those that differ most, or -1; and its distance in ulps, 2^64 - 1 if one value is NaN.
    """
    cdef Chunks chunks
    cdef uint64_t hashed_keys[GROUPED_MAX_SCHEDULES]
    cdef int32_t orders[GROUPED_MAX_SCHEDULES]
    cdef Py_ssize_t number, chunk, padded = (len(schedules) + GROUPED_LANES - 1) // GROUPED_LANES * GROUPED_LANES
    if combiner not in COMBINERS or not 1 <= len(schedules) <= MAX_SCHEDULES:
        raise ValueError(f"no loop compares {combiner} under {len(schedules)} schedules")
    _describe(&chunks, combiner, elements, initials, bounds, values, reference, may_be_wide)
    chunks.comparison.vectors = padded // GROUPED_LANES
    for number in range(padded):
        # Vectors are padded with the first schedule.
        name, seed = schedules[number if number < len(schedules) else 0]
        orders[number], hashed_keys[number] = _ORDERS[name], grouped_hash_key(_seed_bits(seed))
    chunks.comparison.orders, chunks.comparison.hashed_keys = orders, hashed_keys
    chunks.comparison.differs = &differs[0]
    chunks.comparison.minimum, chunks.comparison.maximum = &minimum[0], &maximum[0]
    results = np.empty((chunks.count, padded, sizeof(grouped_extremes) // 8), np.int64)
    cdef int64_t[:, :, ::1] extremes = results
    chunks.extremes = <grouped_extremes *>&extremes[0, 0, 0]
    cdef double seconds = _SECONDS_PER_UPDATE * padded * (bounds[elements.shape[0]] - bounds[0])
    run_in_order(<size_t>&_compare_chunk, <size_t>&chunks, chunks.count, seconds, threads)
    for chunk in range(1, chunks.count):
        grouped_merge_extremes(&chunks.comparison, chunks.extremes, chunks.extremes + chunk * padded)
    merged = results[0, : len(schedules)]
    return merged[:, 0], merged[:, 1], merged[:, 2].view(np.uint64)


cdef uint64_t _seed_bits(seed) except? 0:
    return <uint64_t>(int(seed) % 2**64)


cdef void _describe(
    Chunks *chunks, str combiner, const int32_t[::1] elements, const real[::1] initials, const int32_t[::1] bounds,
    const real[::1] values, real[::1] totals, bint may_be_wide
) noexcept:
    cdef grouped_updates *updates = &chunks.comparison.updates
    cdef int64_t count = (bounds[elements.shape[0]] - bounds[0]) // MIN_CHUNK_UPDATES
    updates.size, updates.elements, updates.bounds = elements.shape[0], &elements[0], &bounds[0]
    updates.initials, updates.values, updates.totals = &initials[0], &values[0], &totals[0]
    updates.result, updates.multiplies = NULL, combiner == "multiply"
    chunks.count = max(1, min(MAX_CHUNKS, count))
    chunks.is_double, chunks.is_wide = real is double, may_be_wide and grouped_can_be_wide()


cdef void _apply_chunk(int64_t chunk, void *closure) noexcept nogil:
    cdef Chunks *chunks = <Chunks *>closure
    cdef const grouped_updates *updates = &chunks.comparison.updates
    cdef int64_t begin = grouped_chunk_begin(updates, chunk, chunks.count), end = grouped_chunk_begin(updates,
        chunk + 1, chunks.count)
    grouped_apply(updates, begin, end, chunks.is_double, chunks.is_wide)


cdef void _compare_chunk(int64_t chunk, void *closure) noexcept nogil:
    cdef Chunks *chunks = <Chunks *>closure
    cdef const grouped_updates *updates = &chunks.comparison.updates
    cdef int64_t begin = grouped_chunk_begin(updates, chunk, chunks.count), end = grouped_chunk_begin(updates,
        chunk + 1, chunks.count)
    cdef grouped_extremes *extremes = chunks.extremes + chunk * chunks.comparison.vectors * GROUPED_LANES
    grouped_compare(&chunks.comparison, begin, end, extremes, chunks.is_double, chunks.is_wide)
