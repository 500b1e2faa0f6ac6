# cython: language_level=3
"""Native sorts: of rows by a task each (`row_sort.h`), of one long row by several threads (`pivot_sort.h` where NumPy
sorts fast, `grouped_sort.h` elsewhere), and functions that sort unsigned integers, for kernels to call
(`radix_sort.h`)."""

cimport numpy as cnp
from libc.stdint cimport int64_t, intptr_t, uint8_t, uint32_t, uint64_t

import numpy as np

from ..launch.native import run_in_order, run_independent
from ..launch.threads import chosen_threads, division

cdef extern from "radix_sort.h" nogil:
    ctypedef int (*NumPySort)(void *numbers, intptr_t count, void *array) noexcept
    ctypedef struct NumPySortOfSize:
        NumPySort sort
        void *array
    NumPySortOfSize numpy_sorts[4]
    int RADIX_MIN_COUNT
    bint uses_digits
    bint has_fast_quicksort()
    int sort_uint8(void *numbers, intptr_t count, void *scratch)
    int sort_uint16(void *numbers, intptr_t count, void *scratch)
    int sort_uint32(void *numbers, intptr_t count, void *scratch)
    int sort_uint64(void *numbers, intptr_t count, void *scratch)
    int sort_upper_half(void *numbers, intptr_t count, void *scratch)

cdef extern from "row_sort.h" nogil:
    ctypedef struct SortEncoding:
        uint64_t mode, ones, sign, infinity, flip, nan

    ctypedef struct SortedRow
    ctypedef struct SortCodes:
        void (*restore)(const SortedRow *) noexcept

    ctypedef struct SortedRow:
        int64_t item_bytes, length, shift
        SortEncoding encoding
        const SortCodes *codes
        const void *elements
        const uint32_t *permutation
        void *values
        uint32_t *positions

    ctypedef struct RowSort:
        SortedRow first
        int64_t rows, rows_per_task, lacks_memory

    ctypedef struct RowGather:
        int64_t item_bytes, length, total, size
        const void *source
        const uint32_t *positions
        void *result

    const SortCodes *sort_codes(int64_t item_bytes)
    SortedRow row_at(const SortedRow *first, int64_t number)
    void sort_rows_task(int64_t task, void *closure) noexcept
    void gather_rows_task(int64_t task, void *closure) noexcept

cdef extern from "grouped_sort.h" nogil:
    enum:
        GROUPED_PREFIXES
        GROUPED_MAX_GROUPS
        GROUPED_MAX_CHUNKS
        GROUPED_SAMPLE
        GROUPED_COUNT
        GROUPED_DISTRIBUTE
        GROUPED_SORT

    ctypedef struct GroupedSort:
        SortedRow row
        int64_t stage, chunk, chunks
        void *numbers
        void *scratch
        uint32_t *counts
        uint32_t *next
        uint8_t *chunk_has_shared_codes
        int64_t group_count, has_shared_codes

    bint grouped_is_skewed(GroupedSort *s)
    bint grouped_divide(GroupedSort *s)
    void grouped_task(int64_t task, void *closure) noexcept

cdef extern from "pivot_sort.h" nogil:
    enum:
        PIVOT_MAX_GROUPS
        PIVOT_MAX_CHUNKS
        PIVOT_COUNT
        PIVOT_DISTRIBUTE
        PIVOT_SORT

    ctypedef struct PivotSort:
        SortedRow row
        int64_t stage, chunk, chunks, groups, has_shared_codes
        void *numbers

    bint pivot_is_available()
    void pivot_choose(PivotSort *s)
    bint pivot_divide(PivotSort *s)
    void pivot_task(int64_t task, void *closure) noexcept

cdef extern from "numpy/arrayobject.h":
    ctypedef int (*ArraySort)(void *start, cnp.npy_intp count, void *array) noexcept nogil
    ctypedef struct PyArray_ArrFuncs:
        ArraySort sort[3]
    PyArray_ArrFuncs *PyDataType_GetArrFuncs(cnp.PyArray_Descr *descriptor)

cnp.import_array()

MIN_SCRATCH_COUNT = RADIX_MIN_COUNT
"""The count of numbers from which scratch is used."""

cdef enum:
    # Elements of a chunk, at least: fewer are sorted in the time in which a thread is woken.
    MIN_CHUNK = 1 << 16

# Estimated time of an element in each stage of a grouped sort, and in the sort of a row, on one thread.
cdef double _SECONDS_PER_ITEM = 1e-9
cdef double _ROW_SECONDS_PER_ITEM = 1e-8

# Bytes that could be moved in the time in which one item is sorted, or gathered.
cdef enum:
    BYTES_PER_ITEM = 64
    GATHERED_BYTES_PER_ITEM = 16

MIN_GROUPED_LENGTH = 4 * MIN_CHUNK
"""The shortest row that several threads sort."""


cdef list _sorted_arrays = []


cdef int use_numpy_sort(int log2_bytes) except -1:
    """Enter NumPy's function for unsigned integers of that size, which needs neither the interpreter's lock nor scratch.

    It stays NULL where NumPy has none.
    """
    cdef cnp.ndarray array = np.empty(1, f"u{1 << log2_bytes}")
    cdef PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(cnp.PyArray_DESCR(array))
    _sorted_arrays.append(array)
    if functions != NULL:
        # For single bytes the stable sort is a counting sort, and the faster one.
        numpy_sorts[log2_bytes].sort = <NumPySort>functions.sort[2 if log2_bytes == 0 else 0]
        numpy_sorts[log2_bytes].array = <void *>array
    return 0


for _log2_bytes in range(4):
    use_numpy_sort(_log2_bytes)


def sort_by_digits(bint chosen) -> bool:
    """Choose whether long arrays are sorted by digits, else by NumPy; the results are the same.

    Returns:
        The choice before.
    """
    global uses_digits
    before, uses_digits = uses_digits, chosen
    return before


sort_by_digits(not has_fast_quicksort())


def sort_address(dtype, bint by_upper_half=False) -> int:
    """The address of `int (void *numbers, intptr_t count, void *scratch)`, which sorts unsigned integers and returns
    nonzero if it lacks memory. It needs no interpreter's lock.

    Args:
        dtype: their type. `scratch` is as large as they are; without it, or with fewer than `MIN_SCRATCH_COUNT`
            numbers, NumPy sorts them.
        by_upper_half: whether numbers of 64 bits with equal upper halves are already in the order of the lower halves.

    Returns:
        The address, or 0 where NumPy has no such function.

    Raises:
        ValueError: they are not unsigned integers.
    """
    descriptor = np.dtype(dtype)
    if descriptor.kind != "u":
        raise ValueError(f"dtype is {descriptor}, but must be an unsigned integer type")
    cdef int log2_bytes = descriptor.itemsize.bit_length() - 1
    if numpy_sorts[log2_bytes].sort == NULL:
        return 0
    if log2_bytes == 0:
        return <size_t>&sort_uint8
    if log2_bytes == 1:
        return <size_t>&sort_uint16
    if log2_bytes == 2:
        return <size_t>&sort_uint32
    return <size_t>&sort_upper_half if by_upper_half else <size_t>&sort_uint64


cdef bint sort_by_pivots(SortedRow row, int64_t groups, threads) except -1:
    """Sort one row by several threads, unless most elements are in one of the groups; returns whether it is sorted."""
    cdef PivotSort sort
    cdef double seconds = row.length * _SECONDS_PER_ITEM
    sort.row, sort.groups = row, min(groups, <int64_t>PIVOT_MAX_GROUPS)
    sort.chunk = max(<int64_t>MIN_CHUNK, (row.length + PIVOT_MAX_CHUNKS - 1) // PIVOT_MAX_CHUNKS)
    sort.chunks = (row.length + sort.chunk - 1) // sort.chunk
    pivot_choose(&sort)
    sort.stage = PIVOT_COUNT
    run_in_order(<size_t>&pivot_task, <size_t>&sort, sort.chunks, seconds, threads)
    if pivot_divide(&sort):
        return False
    cdef cnp.ndarray pairs = np.empty(row.length if row.positions != NULL else 0, np.uint64)
    sort.numbers = cnp.PyArray_DATA(pairs) if row.positions != NULL else row.values
    sort.stage = PIVOT_DISTRIBUTE
    run_in_order(<size_t>&pivot_task, <size_t>&sort, sort.chunks, seconds, threads)
    sort.stage = PIVOT_SORT
    run_in_order(<size_t>&pivot_task, <size_t>&sort, sort.groups, 4 * seconds, threads)
    if sort.has_shared_codes and row.positions == NULL:
        row.codes.restore(&row)
    return True


cdef bint sort_in_groups(SortedRow row, threads) except -1:
    """Sort one row by several threads, unless most elements are in one of the groups; returns whether it is sorted."""
    cdef GroupedSort sort
    cdef double seconds = row.length * _SECONDS_PER_ITEM
    cdef bint has_positions = row.positions != NULL
    sort.row, sort.stage = row, GROUPED_SAMPLE
    sort.chunk = max(<int64_t>MIN_CHUNK, (row.length + GROUPED_MAX_CHUNKS - 1) // GROUPED_MAX_CHUNKS)
    sort.chunks = (row.length + sort.chunk - 1) // sort.chunk
    if grouped_is_skewed(&sort):
        return False
    numbers_dtype = np.uint64 if has_positions or row.item_bytes == 8 else np.uint32
    cdef cnp.ndarray scratch = np.empty(row.length if has_positions else 0, numbers_dtype)
    sort.scratch = cnp.PyArray_DATA(scratch) if has_positions else row.values
    cdef cnp.ndarray counts = np.empty(sort.chunks * GROUPED_PREFIXES, np.uint32)
    cdef cnp.ndarray next_numbers = np.zeros(sort.chunks * GROUPED_MAX_GROUPS, np.uint32)
    cdef cnp.ndarray shared = np.empty(sort.chunks, np.uint8)
    sort.counts, sort.next = <uint32_t *>cnp.PyArray_DATA(counts), <uint32_t *>cnp.PyArray_DATA(next_numbers)
    sort.chunk_has_shared_codes = <uint8_t *>cnp.PyArray_DATA(shared)
    sort.stage = GROUPED_COUNT
    run_in_order(<size_t>&grouped_task, <size_t>&sort, sort.chunks, seconds, threads)
    if grouped_divide(&sort):
        return False
    cdef cnp.ndarray numbers = np.empty(row.length, numbers_dtype)
    sort.numbers = cnp.PyArray_DATA(numbers)
    sort.stage = GROUPED_DISTRIBUTE
    run_in_order(<size_t>&grouped_task, <size_t>&sort, sort.chunks, seconds, threads)
    sort.stage = GROUPED_SORT
    run_in_order(<size_t>&grouped_task, <size_t>&sort, sort.group_count, 4 * seconds, threads)
    if sort.has_shared_codes and not has_positions:
        row.codes.restore(&row)
    return True


def sort_rows(uint64_t[::1] encoding, cnp.ndarray elements, cnp.ndarray values, cnp.ndarray positions, int64_t length,
    threads, int64_t shift=0, cnp.ndarray permutation=None):
    """Sort rows of `length` elements; few long ones by several threads each.

    Args:
        encoding: `sort_encoding.Encoding.as_array`.
        elements: flat unsigned integers of at most 8 bytes, which may not share memory with the results.
        values: receives the sorted elements, or None.
        positions: receives the positions of the sorted elements in their rows, as uint32, or None.
        length: elements of a row.
        threads: maximum number of threads; None: all.
        shift: with `positions`, the lowest of the 32 bits of a code by which rows are sorted.
        permutation: with `positions`, the elements' positions after an earlier sort, whose order equal elements keep.

    Returns:
        How many rows several threads sorted.

    Raises:
        MemoryError: there is no memory for scratch.
    """
    cdef RowSort sort
    cdef SortedRow *row = &sort.first
    cdef int64_t number, sorted_count = 0, rows = cnp.PyArray_SIZE(elements) // length
    row.item_bytes, row.length, row.shift = cnp.PyArray_ITEMSIZE(elements), length, shift
    row.codes = sort_codes(row.item_bytes)
    row.encoding = (<SortEncoding *>&encoding[0])[0]
    row.elements = cnp.PyArray_DATA(elements)
    row.permutation = NULL if permutation is None else <uint32_t *>cnp.PyArray_DATA(permutation)
    row.values = NULL if values is None else cnp.PyArray_DATA(values)
    row.positions = NULL if positions is None else <uint32_t *>cnp.PyArray_DATA(positions)
    cdef bint has_groups = row.positions != NULL or row.item_bytes > 2
    cdef bint has_pivots = not uses_digits and pivot_is_available()
    cdef int64_t chosen = chosen_threads(threads)
    if length < MIN_GROUPED_LENGTH or not has_groups or rows >= chosen:
        sort_each_row(&sort, rows, threads)
        return 0
    cdef SortedRow first = row[0]
    for number in range(rows):
        row[0] = row_at(&first, number)
        if sort_by_pivots(row[0], chosen, threads) if has_pivots else sort_in_groups(row[0], threads):
            sorted_count += 1
        else:
            sort_each_row(&sort, 1, threads)
    return sorted_count


cdef int sort_each_row(RowSort *sort, int64_t rows, threads) except -1:
    sort.rows, sort.lacks_memory = rows, 0
    tasks, sort.rows_per_task = division(rows, sort.first.length * <double>BYTES_PER_ITEM)
    cdef double seconds = rows * sort.first.length * _ROW_SECONDS_PER_ITEM
    run_independent(<size_t>&sort_rows_task, <size_t>sort, tasks, seconds, threads)
    if sort.lacks_memory:
        raise MemoryError
    return 0


def gather_rows(cnp.ndarray source, cnp.ndarray positions, cnp.ndarray result, int64_t item_bytes, int64_t length,
    threads):
    """Write the elements of rows in the order of their positions.

    Args:
        source, result: arrays of contiguous elements of `item_bytes` bytes: 1, 2, 4, 8 or 16.
        positions: for each element of `result`, the position in its row, as uint32.
        length: elements of a row.
        threads: maximum number of threads; None: all.
    """
    cdef RowGather gather
    gather.item_bytes, gather.length, gather.total = item_bytes, length, cnp.PyArray_SIZE(positions)
    gather.source, gather.result = cnp.PyArray_DATA(source), cnp.PyArray_DATA(result)
    gather.positions = <uint32_t *>cnp.PyArray_DATA(positions)
    tasks, gather.size = division(gather.total, GATHERED_BYTES_PER_ITEM)
    run_independent(<size_t>&gather_rows_task, <size_t>&gather, tasks, gather.total * _SECONDS_PER_ITEM, threads)
