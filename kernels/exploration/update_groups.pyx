# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Group the updates of a scatter by element, and apply those whose order cannot change the result.

The module needs no compiler at run time. Results do not depend on the number of threads.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

import numpy as np

from ..launch.native import run_in_order

ctypedef fused real:
    float
    double

ctypedef fused bits_type:
    uint32_t
    uint64_t

ctypedef fused integer:
    int32_t
    int64_t

MAX_COUNT = 2**31 - 1
"""Limit of updates and of elements."""

cdef enum:
    # Updates and elements are divided into at most MAX_CHUNKS chunks, of at least MIN_CHUNK_SIZE each.
    MAX_CHUNKS = 8
    MIN_CHUNK_SIZE = 1 << 15
    # Updates of more elements are first sorted into buckets of consecutive elements, whose counts stay in the cache.
    MAX_UNBUCKETED_ELEMENTS = 1 << 14
    # As many buckets as the L1 cache has lines; more if a bucket's counts would not fit the cache.
    DEFAULT_BUCKETS = 1 << 8
    MAX_BUCKETS = 1 << 10
    MAX_DEFAULT_ELEMENTS = 1 << 20
    MAX_BUCKET_TASKS = 32
    BLOCK = 1 << 10
    # Contested elements are sorted by their number of updates up to this one.
    COUNT_CLASSES = 1 << 10

cdef double _SECONDS_PER_UPDATE = 2e-9


cdef Py_ssize_t _chunks(Py_ssize_t count):
    return max(1, min(MAX_CHUNKS, count // MIN_CHUNK_SIZE))


cdef struct Grouping:
    const void *destinations
    const void *values
    bint has_wide_destinations, has_wide_values
    Py_ssize_t count, size, chunks, buckets, tasks
    int shift
    # [chunk, bucket]: first the number of updates, then the index for the next one.
    int32_t *offsets
    int32_t *starts
    # Updates in buckets: the element within the bucket and the bits of the value, in one or two integers.
    uint64_t *bucketed
    void *grouped


def scratch_arrays(Py_ssize_t updates, Py_ssize_t size, dtype):
    """The sizes and types of the scratch arrays of `group` and `combine_order_independent`."""
    itemsize = np.dtype(dtype).itemsize
    return (updates * itemsize // 4, np.uint64), (size + 1, np.int32), (updates, dtype), (size + 1, np.int32)


def group(const integer[::1] destinations, Py_ssize_t size, const real[::1] values, threads=None, scratch=None):
    """Group updates by destination element, preserving their order.

    Args:
        destinations: the element for each update; updates outside [0, size) are ignored.
        size: number of elements, at most MAX_COUNT.
        values: the updates, at most MAX_COUNT.
        threads: maximum number of threads; None: all.
        scratch: arrays as `scratch_arrays` says, which the results may be views of; None: new ones.

    Returns:
        For each element the index of its first update, then their number; and the grouped updates.
    """
    if scratch is None:
        scratch = [np.empty(*one) for one in scratch_arrays(values.shape[0], size, np.asarray(values).dtype)]
    cdef uint64_t[::1] bucketed = scratch[0]
    cdef int32_t[::1] start = scratch[1]
    cdef real[::1] grouped = scratch[2]
    cdef Grouping grouping
    cdef Py_ssize_t chunk, bucket
    cdef int32_t total = 0, count
    cdef double seconds = _SECONDS_PER_UPDATE * destinations.shape[0]
    grouping.count, grouping.size = destinations.shape[0], size
    grouping.chunks = _chunks(grouping.count)
    grouping.shift = 0
    cdef Py_ssize_t max_buckets = DEFAULT_BUCKETS if size <= MAX_DEFAULT_ELEMENTS else MAX_BUCKETS
    while size > MAX_UNBUCKETED_ELEMENTS and (size - 1) >> grouping.shift >= max_buckets:
        grouping.shift += 1
    grouping.buckets = ((size - 1) >> grouping.shift) + 1 if size else 0
    grouping.tasks = min(MAX_BUCKET_TASKS, grouping.buckets)
    grouping.destinations = &destinations[0] if grouping.count else NULL
    grouping.values = &values[0] if grouping.count else NULL
    grouping.has_wide_destinations = integer is int64_t
    grouping.has_wide_values = real is double
    counts = np.zeros((grouping.chunks, grouping.buckets), np.int32)
    cdef int32_t[:, ::1] offsets = counts
    grouping.offsets = &offsets[0, 0] if grouping.buckets else NULL
    run_in_order(<size_t>&_count_chunk, <size_t>&grouping, grouping.chunks, seconds, threads)
    start[0] = 0
    grouping.starts = &start[0]
    for bucket in range(grouping.buckets):
        if grouping.shift == 0:
            start[bucket] = total
        for chunk in range(grouping.chunks):
            count = offsets[chunk, bucket]
            offsets[chunk, bucket] = total
            total += count
    start[size] = total
    grouping.grouped = &grouped[0] if total else NULL
    grouping.bucketed = &bucketed[0] if bucketed.shape[0] else NULL
    run_in_order(<size_t>&_bucket_chunk, <size_t>&grouping, grouping.chunks, seconds, threads)
    if grouping.shift:
        run_in_order(<size_t>&_group_buckets, <size_t>&grouping, grouping.tasks, seconds, threads)
    return scratch[1], scratch[2][:total]


cdef void _count_chunk(int64_t chunk, void *closure) noexcept nogil:
    """Count the updates of a chunk by bucket."""
    cdef Grouping *grouping = <Grouping *>closure
    if grouping.has_wide_destinations:
        _count(grouping, chunk, <const int64_t *>grouping.destinations)
    else:
        _count(grouping, chunk, <const int32_t *>grouping.destinations)


cdef inline void _count(Grouping *grouping, Py_ssize_t chunk, const integer *destinations) noexcept nogil:
    cdef Py_ssize_t number
    cdef int32_t *counts = grouping.offsets + chunk * grouping.buckets
    for number in range(chunk * grouping.count // grouping.chunks, (chunk + 1) * grouping.count // grouping.chunks):
        if 0 <= destinations[number] < grouping.size:
            counts[destinations[number] >> grouping.shift] += 1


cdef void _bucket_chunk(int64_t chunk, void *closure) noexcept nogil:
    """Copy the updates of a chunk to their buckets."""
    cdef Grouping *grouping = <Grouping *>closure
    if grouping.has_wide_destinations and grouping.has_wide_values:
        _bucket(grouping, chunk, <const int64_t *>grouping.destinations, <const double *>grouping.values)
    elif grouping.has_wide_destinations:
        _bucket(grouping, chunk, <const int64_t *>grouping.destinations, <const float *>grouping.values)
    elif grouping.has_wide_values:
        _bucket(grouping, chunk, <const int32_t *>grouping.destinations, <const double *>grouping.values)
    else:
        _bucket(grouping, chunk, <const int32_t *>grouping.destinations, <const float *>grouping.values)


cdef inline void _bucket(
    Grouping *grouping, Py_ssize_t chunk, const integer *destinations, const real *values
) noexcept nogil:
    cdef Py_ssize_t number, bucket, offset
    cdef int shift = grouping.shift
    cdef uint32_t local_element, mask = (<uint32_t>1 << shift) - 1
    cdef int32_t *offsets = grouping.offsets + chunk * grouping.buckets
    cdef uint64_t *bucketed = grouping.bucketed
    cdef real *grouped = <real *>grouping.grouped
    for number in range(chunk * grouping.count // grouping.chunks, (chunk + 1) * grouping.count // grouping.chunks):
        if 0 <= destinations[number] < grouping.size:
            bucket = destinations[number] >> shift
            offset = offsets[bucket]
            offsets[bucket] = <int32_t>(offset + 1)
            local_element = <uint32_t>destinations[number] & mask
            if not shift:
                grouped[offset] = values[number]
            elif real is float:
                bucketed[offset] = <uint64_t>(<const uint32_t *>values)[number] << 32 | local_element
            else:
                bucketed[2 * offset] = local_element
                bucketed[2 * offset + 1] = (<const uint64_t *>values)[number]


cdef void _group_buckets(int64_t task, void *closure) noexcept nogil:
    """Group the updates of some buckets by element."""
    cdef Grouping *grouping = <Grouping *>closure
    cdef Py_ssize_t bucket, first = task * grouping.buckets // grouping.tasks
    cdef Py_ssize_t last = (task + 1) * grouping.buckets // grouping.tasks
    # After the copies the offset of a bucket's last chunk is the bucket's end.
    cdef int32_t *ends = grouping.offsets + (grouping.chunks - 1) * grouping.buckets
    cdef int32_t begin = ends[first - 1] if first else 0
    for bucket in range(first, last):
        if grouping.has_wide_values:
            _group(grouping, bucket, begin, ends[bucket], <uint64_t *>grouping.grouped)
        else:
            _group(grouping, bucket, begin, ends[bucket], <uint32_t *>grouping.grouped)
        begin = ends[bucket]


cdef inline void _group(
    Grouping *grouping, Py_ssize_t bucket, int32_t begin, int32_t end, bits_type *grouped
) noexcept nogil:
    cdef Py_ssize_t first = bucket << grouping.shift, number, offset
    cdef Py_ssize_t count = min(<Py_ssize_t>1 << grouping.shift, grouping.size - first)
    # First counts of updates, then the index for the element's next update, which ends as the end of its updates.
    cdef int32_t *ends = grouping.starts + first + 1
    cdef const uint64_t *bucketed = grouping.bucketed
    cdef int32_t total = begin, updates
    cdef uint32_t local_element
    memset(ends, 0, count * sizeof(int32_t))
    for number in range(begin, end):
        local_element = <uint32_t>bucketed[number if bits_type is uint32_t else 2 * number]
        ends[local_element] += 1
    for number in range(count):
        updates = ends[number]
        ends[number] = total
        total += updates
    for number in range(begin, end):
        local_element = <uint32_t>bucketed[number if bits_type is uint32_t else 2 * number]
        offset = ends[local_element]
        ends[local_element] = <int32_t>(offset + 1)
        if bits_type is uint32_t:
            grouped[offset] = <uint32_t>(bucketed[number] >> 32)
        else:
            grouped[offset] = bucketed[2 * number + 1]


cdef struct CombineArgs:
    const int32_t *starts
    void *grouped
    void *result
    bint is_wide, multiplies
    Py_ssize_t size, chunks
    # The order-dependent elements of each chunk, and the number of elements of each chunk.
    int32_t *order_dependent_elements
    Py_ssize_t counts[8]
    # [chunk, number of updates]: first the number of elements, then the index for the next one.
    int32_t *offsets
    # The order-dependent elements, sorted, and their values.
    Py_ssize_t order_dependent_count
    int32_t *elements
    int32_t *bounds
    void *initials
    void *values


def combine_order_independent(
    str combiner, const int32_t[::1] starts, real[::1] grouped, real[::1] result, threads=None, scratch=None
):
    """Apply in place the updates of those elements of `result` whose value does not depend on the order.

    These are elements with one update, and those with two that give the same value in both orders. All others
    with updates are order-dependent.

    Args:
        combiner: one of `grouped_updates.COMBINERS`.
        starts, grouped: as `group` returns them; `grouped` is overwritten.
        result: a copy of the scatter's input.
        threads: maximum number of threads; None: all.
        scratch: as in `group`; of the results only the values may be a view, of the first array.

    Returns:
        The order-dependent elements, sorted by their number of updates; their initial values; for each the index of its
        first value, then the number of values; and the values: for an element with two updates its results in
        lexicographic and in reverse order, otherwise the updates.
    """
    cdef CombineArgs args
    cdef Py_ssize_t chunk, number
    cdef int32_t total = 0, count
    cdef double seconds = _SECONDS_PER_UPDATE * (result.shape[0] + grouped.shape[0])
    args.size = result.shape[0]
    args.chunks = _chunks(args.size + grouped.shape[0])
    args.is_wide = real is double
    args.multiplies = combiner == "multiply"
    args.starts = &starts[0]
    args.grouped = &grouped[0] if grouped.shape[0] else NULL
    args.result = &result[0] if args.size else NULL
    cdef int32_t[::1] order_dependent_elements = (
        np.empty(args.size + 1, np.int32) if scratch is None else scratch[3]
    )
    cdef int32_t[:, ::1] offsets = np.zeros((args.chunks, COUNT_CLASSES), np.int32)
    args.order_dependent_elements, args.offsets = &order_dependent_elements[0], &offsets[0, 0]
    run_in_order(<size_t>&_combine_chunk, <size_t>&args, args.chunks, seconds, threads)
    for number in range(COUNT_CLASSES):
        for chunk in range(args.chunks):
            count = offsets[chunk, number]
            offsets[chunk, number] = total
            total += count
    args.order_dependent_count = total
    elements, bounds = np.empty(total, np.int32), np.empty(total + 1, np.int32)
    cdef int32_t[::1] chosen = elements, bound = bounds
    args.elements, args.bounds = &chosen[0] if total else NULL, &bound[0]
    run_in_order(<size_t>&_order_chunk, <size_t>&args, args.chunks, seconds, threads)
    bound[0] = 0
    for number in range(total):
        bound[number + 1] = bound[number] + starts[chosen[number] + 1] - starts[chosen[number]]
    initials = np.empty(total, np.asarray(grouped).dtype)
    order_dependent_values = np.empty(bound[total],
        initials.dtype) if scratch is None else scratch[0].view(initials.dtype)[: bound[total]]
    cdef real[::1] initial = initials, values = order_dependent_values
    args.initials = &initial[0] if total else NULL
    args.values = &values[0] if total else NULL
    run_in_order(<size_t>&_gather_order_dependent_chunk, <size_t>&args, args.chunks, seconds, threads)
    return elements, initials, bounds, order_dependent_values


cdef void _combine_chunk(int64_t chunk, void *closure) noexcept nogil:
    """Combine the order-independent elements of a chunk, and record the order-dependent ones."""
    cdef CombineArgs *args = <CombineArgs *>closure
    if args.is_wide:
        _combine_order_independent(args, chunk, <double *>args.grouped, <double *>args.result)
    else:
        _combine_order_independent(args, chunk, <float *>args.grouped, <float *>args.result)


cdef inline real _combined(real total, real value, bint multiplies) noexcept nogil:
    return total * value if multiplies else total + value


cdef inline bint _is_identical(const real *first, const real *second) noexcept nogil:
    """Whether two values have the same bits."""
    if real is float:
        return (<const uint32_t *>first)[0] == (<const uint32_t *>second)[0]
    else:
        return (<const uint64_t *>first)[0] == (<const uint64_t *>second)[0]


cdef inline void _combine_order_independent(
    CombineArgs *args, Py_ssize_t chunk, real *grouped, real *result
) noexcept nogil:
    cdef Py_ssize_t first = chunk * args.size // args.chunks, end = (chunk
        + 1) * args.size // args.chunks
    cdef const int32_t *starts = args.starts
    cdef int32_t *order_dependent_elements = args.order_dependent_elements + first
    cdef int32_t *offsets = args.offsets + chunk * COUNT_CLASSES
    cdef int32_t[BLOCK] single_elements, multiple_elements
    cdef Py_ssize_t element, number, block, begin, stop, single_count, multiple_count, order_dependent_count = 0, offset
    cdef int32_t count
    cdef bint multiplies = args.multiplies
    cdef Py_ssize_t blocks = (end - first + BLOCK - 1) // BLOCK
    for block in range(blocks):
        begin = first + block * BLOCK
        stop = min(begin + BLOCK, end)
        single_count = multiple_count = 0
        # Branch-free compaction: store every element in both lists, and advance the one it belongs to.
        for element in range(begin, stop):
            count = starts[element + 1] - starts[element]
            single_elements[single_count] = multiple_elements[multiple_count] = <int32_t>element
            single_count += count == 1
            multiple_count += count > 1
        for number in range(single_count):
            element = single_elements[number]
            result[element] = _combined(result[element], grouped[starts[element]], multiplies)
        for number in range(multiple_count):
            element, offset = multiple_elements[number], starts[multiple_elements[number]]
            count = <int32_t>(starts[element + 1] - offset)
            if count == 2 and _combine_if_commutative(&result[element], &grouped[offset], multiplies):
                continue
            order_dependent_elements[order_dependent_count] = <int32_t>element
            order_dependent_count += 1
            offsets[min(count, COUNT_CLASSES - 1)] += 1
    args.counts[chunk] = order_dependent_count


cdef inline bint _combine_if_commutative(real *result, real *updates, bint multiplies) noexcept nogil:
    """Apply two updates if they give the same value in both orders; otherwise store both values over them."""
    cdef real forward = _combined(_combined(result[0], updates[0], multiplies), updates[1], multiplies)
    cdef real backward = _combined(_combined(result[0], updates[1], multiplies), updates[0], multiplies)
    if _is_identical(&forward, &backward):
        result[0] = forward
        return True
    updates[0], updates[1] = forward, backward
    return False


cdef void _order_chunk(int64_t chunk, void *closure) noexcept nogil:
    """Sort the order-dependent elements of a chunk by their number of updates (a counting sort)."""
    cdef CombineArgs *args = <CombineArgs *>closure
    cdef const int32_t *order_dependent_elements = args.order_dependent_elements + chunk * args.size // args.chunks
    cdef int32_t *offsets = args.offsets + chunk * COUNT_CLASSES
    cdef int32_t count
    cdef Py_ssize_t number
    for number in range(args.counts[chunk]):
        count = min(args.starts[order_dependent_elements[number] + 1] - args.starts[order_dependent_elements[number]],
            COUNT_CLASSES - 1)
        args.elements[offsets[count]] = order_dependent_elements[number]
        offsets[count] += 1


cdef void _gather_order_dependent_chunk(int64_t chunk, void *closure) noexcept nogil:
    """Gather the initial and other values of a chunk of the order-dependent elements."""
    cdef CombineArgs *args = <CombineArgs *>closure
    if args.is_wide:
        _gather_order_dependent(args, chunk, <const double *>args.grouped, <const double *>args.result)
    else:
        _gather_order_dependent(args, chunk, <const float *>args.grouped, <const float *>args.result)


cdef inline void _gather_order_dependent(
    CombineArgs *args, Py_ssize_t chunk, const real *grouped, const real *result
) noexcept nogil:
    cdef real *initials = <real *>args.initials
    cdef real *values = <real *>args.values
    cdef const real *updates
    cdef Py_ssize_t number, offset
    for number in range(chunk * args.order_dependent_count // args.chunks,
        (chunk + 1) * args.order_dependent_count // args.chunks):
        initials[number] = result[args.elements[number]]
        updates = grouped + args.starts[args.elements[number]]
        for offset in range(args.bounds[number], args.bounds[number + 1]):
            values[offset] = updates[offset - args.bounds[number]]
