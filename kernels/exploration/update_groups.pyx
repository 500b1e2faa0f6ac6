# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Updates of a scatter grouped by element, and applied to those elements whose value hangs on no order.

Nothing here is compiled at run time. What results is the same for any number of threads.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

import numpy as np

from ..launch.native import run_in_order

ctypedef fused real:
    float
    double

ctypedef fused word:
    uint32_t
    uint64_t

ctypedef fused integer:
    int32_t
    int64_t

MOST = 2**31 - 1
"""Most updates and most elements."""

cdef enum:
    # Updates and elements are shared out in so many chunks at most, which have so many each at least.
    MOST_CHUNKS = 8
    LEAST_IN_CHUNK = 1 << 15
    # Updates of more elements are first sorted into buckets of neighbouring elements, whose counts stay in the cache.
    MOST_DIRECT = 1 << 14
    # Few buckets, as many as there are lines in the first cache, unless elements are so many that counts would not stay.
    FEW_BUCKETS = 1 << 8
    MOST_BUCKETS = 1 << 10
    MOST_IN_FEW = 1 << 20
    MOST_BUCKET_TASKS = 32
    BLOCK = 1 << 10
    # Elements with as many updates, or more, are not told apart by their number.
    CLASSES = 1 << 10

cdef double _SECONDS_AN_UPDATE = 2e-9


cdef Py_ssize_t _chunks(Py_ssize_t count):
    return max(1, min(MOST_CHUNKS, count // LEAST_IN_CHUNK))


cdef struct Grouping:
    const void *destinations
    const void *values
    bint has_wide_destinations, has_wide_values
    Py_ssize_t count, size, chunks, buckets, tasks
    int shift
    # By chunk and bucket: at first the number of updates, then where the next one goes.
    int32_t *places
    int32_t *starts
    # Updates in buckets: the element of the bucket that they go to and the bits of their values, in a word or in two.
    uint64_t *moved
    void *grouped


def room(Py_ssize_t updates, Py_ssize_t size, dtype):
    """The sizes and types of arrays that `group` and `settle` work in, of so many updates of so many elements."""
    itemsize = np.dtype(dtype).itemsize
    return (updates * itemsize // 4, np.uint64), (size + 1, np.int32), (updates, dtype), (size + 1, np.int32)


def group(const integer[::1] destinations, Py_ssize_t size, const real[::1] values, threads=None, lent=None):
    """Group updates by the element that they go to, those of an element in their order.

    Args:
        destinations: the number of the element for each update, no more than MOST; updates whose number is not
            from 0 to `size` - 1 are left out.
        size: number of elements, no more than MOST.
        values: the updates.
        threads: most threads to use; None: all.
        lent: arrays as `room` wants them, which the results may lie in; None: new ones.

    Returns:
        For each element where its updates begin, and at last their number; and the updates, grouped.
    """
    if lent is None:
        lent = [np.empty(*one) for one in room(values.shape[0], size, np.asarray(values).dtype)]
    cdef uint64_t[::1] moved = lent[0]
    cdef int32_t[::1] start = lent[1]
    cdef real[::1] grouped = lent[2]
    cdef Grouping grouping
    cdef Py_ssize_t chunk, bucket
    cdef int32_t total = 0, own
    cdef double seconds = _SECONDS_AN_UPDATE * destinations.shape[0]
    grouping.count, grouping.size = destinations.shape[0], size
    grouping.chunks = _chunks(grouping.count)
    grouping.shift = 0
    cdef Py_ssize_t most = FEW_BUCKETS if size <= MOST_IN_FEW else MOST_BUCKETS
    while size > MOST_DIRECT and (size - 1) >> grouping.shift >= most:
        grouping.shift += 1
    grouping.buckets = ((size - 1) >> grouping.shift) + 1 if size else 0
    grouping.tasks = min(MOST_BUCKET_TASKS, grouping.buckets)
    grouping.destinations = &destinations[0] if grouping.count else NULL
    grouping.values = &values[0] if grouping.count else NULL
    grouping.has_wide_destinations = integer is int64_t
    grouping.has_wide_values = real is double
    counted = np.zeros((grouping.chunks, grouping.buckets), np.int32)
    cdef int32_t[:, ::1] places = counted
    grouping.places = &places[0, 0] if grouping.buckets else NULL
    run_in_order(<size_t>&_count_chunk, <size_t>&grouping, grouping.chunks, seconds, threads)
    start[0] = 0
    grouping.starts = &start[0]
    for bucket in range(grouping.buckets):
        if grouping.shift == 0:
            start[bucket] = total
        for chunk in range(grouping.chunks):
            own = places[chunk, bucket]
            places[chunk, bucket] = total
            total += own
    start[size] = total
    grouping.grouped = &grouped[0] if total else NULL
    grouping.moved = &moved[0] if moved.shape[0] else NULL
    run_in_order(<size_t>&_move_chunk, <size_t>&grouping, grouping.chunks, seconds, threads)
    if grouping.shift:
        run_in_order(<size_t>&_group_buckets, <size_t>&grouping, grouping.tasks, seconds, threads)
    return lent[1], lent[2][:total]


cdef void _count_chunk(int64_t chunk, void *closure) noexcept nogil:
    """Count the updates of a chunk by bucket."""
    cdef Grouping *own = <Grouping *>closure
    if own.has_wide_destinations:
        _count(own, chunk, <const int64_t *>own.destinations)
    else:
        _count(own, chunk, <const int32_t *>own.destinations)


cdef inline void _count(Grouping *own, Py_ssize_t chunk, const integer *destinations) noexcept nogil:
    cdef Py_ssize_t number
    cdef int32_t *counts = own.places + chunk * own.buckets
    for number in range(chunk * own.count // own.chunks, (chunk + 1) * own.count // own.chunks):
        if 0 <= destinations[number] < own.size:
            counts[destinations[number] >> own.shift] += 1


cdef void _move_chunk(int64_t chunk, void *closure) noexcept nogil:
    """Move the updates of a chunk to their buckets."""
    cdef Grouping *own = <Grouping *>closure
    if own.has_wide_destinations and own.has_wide_values:
        _move(own, chunk, <const int64_t *>own.destinations, <const double *>own.values)
    elif own.has_wide_destinations:
        _move(own, chunk, <const int64_t *>own.destinations, <const float *>own.values)
    elif own.has_wide_values:
        _move(own, chunk, <const int32_t *>own.destinations, <const double *>own.values)
    else:
        _move(own, chunk, <const int32_t *>own.destinations, <const float *>own.values)


cdef inline void _move(
    Grouping *own, Py_ssize_t chunk, const integer *destinations, const real *values
) noexcept nogil:
    cdef Py_ssize_t number, bucket, place
    cdef int shift = own.shift
    cdef uint32_t key, mask = (<uint32_t>1 << shift) - 1
    cdef int32_t *places = own.places + chunk * own.buckets
    cdef uint64_t *moved = own.moved
    cdef real *grouped = <real *>own.grouped
    for number in range(chunk * own.count // own.chunks, (chunk + 1) * own.count // own.chunks):
        if 0 <= destinations[number] < own.size:
            bucket = destinations[number] >> shift
            place = places[bucket]
            places[bucket] = <int32_t>(place + 1)
            key = <uint32_t>destinations[number] & mask
            if not shift:
                grouped[place] = values[number]
            elif real is float:
                moved[place] = <uint64_t>(<const uint32_t *>values)[number] << 32 | key
            else:
                moved[2 * place] = key
                moved[2 * place + 1] = (<const uint64_t *>values)[number]


cdef void _group_buckets(int64_t task, void *closure) noexcept nogil:
    """Group the updates of some buckets by element."""
    cdef Grouping *own = <Grouping *>closure
    cdef Py_ssize_t bucket, first = task * own.buckets // own.tasks
    cdef Py_ssize_t last = (task + 1) * own.buckets // own.tasks
    # After they are moved, each bucket's last chunk tells where it ends.
    cdef int32_t *ends = own.places + (own.chunks - 1) * own.buckets
    cdef int32_t begin = ends[first - 1] if first else 0
    for bucket in range(first, last):
        if own.has_wide_values:
            _group(own, bucket, begin, ends[bucket], <uint64_t *>own.grouped)
        else:
            _group(own, bucket, begin, ends[bucket], <uint32_t *>own.grouped)
        begin = ends[bucket]


cdef inline void _group(
    Grouping *own, Py_ssize_t bucket, int32_t begin, int32_t end, word *grouped
) noexcept nogil:
    cdef Py_ssize_t first = bucket << own.shift, number, place
    cdef Py_ssize_t count = min(<Py_ssize_t>1 << own.shift, own.size - first)
    # At first they count, then they are the place of the element's next update, at last where its updates end.
    cdef int32_t *ends = own.starts + first + 1
    cdef const uint64_t *moved = own.moved
    cdef int32_t total = begin, updates
    cdef uint32_t key
    memset(ends, 0, count * sizeof(int32_t))
    for number in range(begin, end):
        key = <uint32_t>moved[number if word is uint32_t else 2 * number]
        ends[key] += 1
    for number in range(count):
        updates = ends[number]
        ends[number] = total
        total += updates
    for number in range(begin, end):
        key = <uint32_t>moved[number if word is uint32_t else 2 * number]
        place = ends[key]
        ends[key] = <int32_t>(place + 1)
        if word is uint32_t:
            grouped[place] = <uint32_t>(moved[number] >> 32)
        else:
            grouped[place] = moved[2 * number + 1]


cdef struct Settling:
    const int32_t *starts
    void *grouped
    void *result
    bint is_wide, multiplies
    Py_ssize_t size, chunks
    # By chunk: its contested elements, and their number.
    int32_t *found
    Py_ssize_t counts[8]
    # By chunk and number of updates: at first the number of elements, then where the next one goes.
    int32_t *places
    # The contested elements in their order, and what is made of them.
    Py_ssize_t contested
    int32_t *elements
    int32_t *bounds
    void *initials
    void *values


def settle(str combiner, const int32_t[::1] starts, real[::1] grouped, real[::1] result, threads=None, lent=None):
    """Apply the updates of those elements of `result` that have one value in whatever order, in place.

    These are elements with one update, and those with two that make the same value in both orders. All others
    with updates are contested.

    Args:
        combiner: one of `grouped_updates.COMBINERS`.
        starts, grouped: as `group` returns them; `grouped` is overwritten.
        result: at first the elements of the input.
        threads: most threads to use; None: all.
        lent: as in `group`; of the results only the values may lie in them, in the first one.

    Returns:
        The contested elements, those with few updates first; what they are in the input; where the values of
        each of these begin, and at last their number; and the values: those that an element with two updates
        has in lexicographic order and in reverse, otherwise the updates.
    """
    cdef Settling settling
    cdef Py_ssize_t chunk, number
    cdef int32_t total = 0, own
    cdef double seconds = _SECONDS_AN_UPDATE * (result.shape[0] + grouped.shape[0])
    settling.size = result.shape[0]
    settling.chunks = _chunks(settling.size + grouped.shape[0])
    settling.is_wide = real is double
    settling.multiplies = combiner == "multiply"
    settling.starts = &starts[0]
    settling.grouped = &grouped[0] if grouped.shape[0] else NULL
    settling.result = &result[0] if settling.size else NULL
    cdef int32_t[::1] found = np.empty(settling.size + 1, np.int32) if lent is None else lent[3]
    cdef int32_t[:, ::1] places = np.zeros((settling.chunks, CLASSES), np.int32)
    settling.found, settling.places = &found[0], &places[0, 0]
    run_in_order(<size_t>&_settle_chunk, <size_t>&settling, settling.chunks, seconds, threads)
    for number in range(CLASSES):
        for chunk in range(settling.chunks):
            own = places[chunk, number]
            places[chunk, number] = total
            total += own
    settling.contested = total
    elements, bounds = np.empty(total, np.int32), np.empty(total + 1, np.int32)
    cdef int32_t[::1] chosen = elements, bound = bounds
    settling.elements, settling.bounds = &chosen[0] if total else NULL, &bound[0]
    run_in_order(<size_t>&_order_chunk, <size_t>&settling, settling.chunks, seconds, threads)
    bound[0] = 0
    for number in range(total):
        bound[number + 1] = bound[number] + starts[chosen[number] + 1] - starts[chosen[number]]
    initials = np.empty(total, np.asarray(grouped).dtype)
    arranged = np.empty(bound[total], initials.dtype) if lent is None else lent[0].view(initials.dtype)[: bound[total]]
    cdef real[::1] initial = initials, values = arranged
    settling.initials = &initial[0] if total else NULL
    settling.values = &values[0] if total else NULL
    run_in_order(<size_t>&_arrange_chunk, <size_t>&settling, settling.chunks, seconds, threads)
    return elements, initials, bounds, arranged


cdef void _settle_chunk(int64_t chunk, void *closure) noexcept nogil:
    """Settle elements of a chunk, and note those that are contested."""
    cdef Settling *own = <Settling *>closure
    if own.is_wide:
        _settle(own, chunk, <double *>own.grouped, <double *>own.result)
    else:
        _settle(own, chunk, <float *>own.grouped, <float *>own.result)


cdef inline real _combined(real total, real value, bint multiplies) noexcept nogil:
    return total * value if multiplies else total + value


cdef inline bint _is_same(const real *one, const real *other) noexcept nogil:
    """Whether two values have the same bits."""
    if real is float:
        return (<const uint32_t *>one)[0] == (<const uint32_t *>other)[0]
    else:
        return (<const uint64_t *>one)[0] == (<const uint64_t *>other)[0]


cdef inline void _settle(Settling *own, Py_ssize_t chunk, real *grouped, real *result) noexcept nogil:
    cdef Py_ssize_t first = chunk * own.size // own.chunks, end = (chunk + 1) * own.size // own.chunks
    cdef const int32_t *starts = own.starts
    cdef int32_t *found = own.found + first
    cdef int32_t *places = own.places + chunk * CLASSES
    cdef int32_t[BLOCK] once, often
    cdef Py_ssize_t element, number, block, begin, stop, singles, others, contested = 0, place
    cdef int32_t count
    cdef bint multiplies = own.multiplies
    cdef Py_ssize_t blocks = (end - first + BLOCK - 1) // BLOCK
    for block in range(blocks):
        begin = first + block * BLOCK
        stop = min(begin + BLOCK, end)
        singles = others = 0
        # Each element is written down, and kept if the next one does not take its room: no branch to guess.
        for element in range(begin, stop):
            count = starts[element + 1] - starts[element]
            once[singles] = often[others] = <int32_t>element
            singles += count == 1
            others += count > 1
        for number in range(singles):
            element = once[number]
            result[element] = _combined(result[element], grouped[starts[element]], multiplies)
        for number in range(others):
            element, place = often[number], starts[often[number]]
            count = <int32_t>(starts[element + 1] - place)
            if count == 2 and _settles_pair(&result[element], &grouped[place], multiplies):
                continue
            found[contested] = <int32_t>element
            contested += 1
            places[min(count, CLASSES - 1)] += 1
    own.counts[chunk] = contested


cdef inline bint _settles_pair(real *result, real *updates, bint multiplies) noexcept nogil:
    """Apply two updates if they make the same value in both orders; else both values take their place."""
    cdef real forward = _combined(_combined(result[0], updates[0], multiplies), updates[1], multiplies)
    cdef real backward = _combined(_combined(result[0], updates[1], multiplies), updates[0], multiplies)
    if _is_same(&forward, &backward):
        result[0] = forward
        return True
    updates[0], updates[1] = forward, backward
    return False


cdef void _order_chunk(int64_t chunk, void *closure) noexcept nogil:
    """Put the contested elements of a chunk where they belong, by the number of their updates."""
    cdef Settling *own = <Settling *>closure
    cdef const int32_t *found = own.found + chunk * own.size // own.chunks
    cdef int32_t *places = own.places + chunk * CLASSES
    cdef int32_t count
    cdef Py_ssize_t number
    for number in range(own.counts[chunk]):
        count = min(own.starts[found[number] + 1] - own.starts[found[number]], CLASSES - 1)
        own.elements[places[count]] = found[number]
        places[count] += 1


cdef void _arrange_chunk(int64_t chunk, void *closure) noexcept nogil:
    """Put what a share of the contested elements is made of side by side."""
    cdef Settling *own = <Settling *>closure
    if own.is_wide:
        _arrange(own, chunk, <const double *>own.grouped, <const double *>own.result)
    else:
        _arrange(own, chunk, <const float *>own.grouped, <const float *>own.result)


cdef inline void _arrange(
    Settling *own, Py_ssize_t chunk, const real *grouped, const real *result
) noexcept nogil:
    cdef real *initials = <real *>own.initials
    cdef real *values = <real *>own.values
    cdef const real *updates
    cdef Py_ssize_t number, place
    for number in range(chunk * own.contested // own.chunks, (chunk + 1) * own.contested // own.chunks):
        initials[number] = result[own.elements[number]]
        updates = grouped + own.starts[own.elements[number]]
        for place in range(own.bounds[number], own.bounds[number + 1]):
            values[place] = updates[place - own.bounds[number]]
