# cython: language_level=3
"""Functions that sort unsigned integers, for native loops to call: see `radix_sort.h`; and the sort of one long row by
several threads: see `grouped_sort.h`."""

cimport numpy as cnp
from libc.stdint cimport int64_t, intptr_t, uint8_t, uint32_t, uint64_t

import numpy as np

from ..launch.native import run_in_order
from ..launch.threads import chosen_threads

cdef extern from "radix_sort.h" nogil:
    ctypedef int (*SortFunction)(void *numbers, intptr_t count, void *scratch)
    SortFunction numpy_sorts[4]
    int RADIX_MIN_COUNT
    int sort_uint16(void *numbers, intptr_t count, void *scratch)
    int sort_uint32(void *numbers, intptr_t count, void *scratch)
    int sort_uint64(void *numbers, intptr_t count, void *scratch)
    int sort_upper_half(void *numbers, intptr_t count, void *scratch)

cdef extern from "grouped_sort.h" nogil:
    enum:
        GROUPED_PREFIXES
        GROUPED_MAX_GROUPS
        GROUPED_COUNT
        GROUPED_DISTRIBUTE
        GROUPED_SORT

    ctypedef struct GroupedEncoding:
        uint64_t mode, ones, sign, infinity, flip, nan

    ctypedef struct GroupedSort:
        int64_t stage, item_bytes, position_bytes, length, chunk, chunks
        GroupedEncoding encoding
        const void *elements
        void *numbers
        void *scratch
        void *values
        void *positions
        uint32_t *counts
        uint32_t *next
        uint8_t *is_mixed
        int64_t group_count, shift, any_mixed

    bint grouped_is_skewed(GroupedSort *s, int64_t threads)
    int64_t grouped_divide(GroupedSort *s)
    void grouped_task(int64_t task, void *closure) noexcept

cdef extern from "numpy/arrayobject.h":
    ctypedef int (*NumPySort)(void *start, cnp.npy_intp count, void *array) noexcept nogil
    ctypedef struct PyArray_ArrFuncs:
        NumPySort sort[3]
    PyArray_ArrFuncs *PyDataType_GetArrFuncs(cnp.PyArray_Descr *descriptor)

cnp.import_array()

MIN_SCRATCH_COUNT = RADIX_MIN_COUNT
"""The count of numbers from which scratch is used."""

cdef enum:
    # Elements of a chunk, at least: fewer are sorted in the time in which a thread is woken.
    MIN_CHUNK = 1 << 16
    MAX_CHUNKS = 16

# Estimated time of an element in each stage on one thread.
cdef double _SECONDS_PER_ITEM = 1e-9

MIN_GROUPED_LENGTH = 4 * MIN_CHUNK
"""The shortest row that `sort_grouped` sorts."""


cdef SortFunction numpy_sort(dtype) except? NULL:
    """NumPy's function for unsigned integers of that type, which needs neither the interpreter's lock nor scratch."""
    cdef cnp.dtype descriptor = np.dtype(dtype)
    cdef PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(<cnp.PyArray_Descr *>descriptor)
    # For single bytes the stable sort is a counting sort, and the faster one.
    return <SortFunction>functions.sort[2 if descriptor.itemsize == 1 else 0] if functions != NULL else NULL


numpy_sorts[0], numpy_sorts[1] = numpy_sort(np.uint8), numpy_sort(np.uint16)
numpy_sorts[2], numpy_sorts[3] = numpy_sort(np.uint32), numpy_sort(np.uint64)


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
    if numpy_sorts[log2_bytes] == NULL:
        return 0
    if log2_bytes == 0:
        return <size_t>numpy_sorts[0]
    if log2_bytes == 1:
        return <size_t>&sort_uint16
    if log2_bytes == 2:
        return <size_t>&sort_uint32
    return <size_t>&sort_upper_half if by_upper_half else <size_t>&sort_uint64


def sort_grouped(uint64_t[::1] encoding, cnp.ndarray elements, cnp.ndarray values, cnp.ndarray positions, threads):
    """Sort one row in groups, unless most elements are in one of them.

    Args:
        encoding: the words of `sort_encoding.Encoding`.
        elements: at least MIN_GROUPED_LENGTH elements as uint32 or uint64; uint32 if `positions` is not None.
        values: receives the sorted elements, or None. It may not share memory with `elements`.
        positions: receives the positions of the sorted elements, of 4 or 8 bytes, or None.
        threads: maximum number of threads; None: all.

    Returns:
        None if nothing was sorted. Otherwise whether different elements may have one code: `values` have the positive
        one of these then, unless there are positions.
    """
    cdef GroupedSort sort
    cdef int64_t thread_count = chosen_threads(threads), largest
    cdef double seconds
    sort.item_bytes, sort.length = cnp.PyArray_ITEMSIZE(elements), cnp.PyArray_SIZE(elements)
    sort.position_bytes = 0 if positions is None else cnp.PyArray_ITEMSIZE(positions)
    sort.chunk = max(<int64_t>MIN_CHUNK, (sort.length + MAX_CHUNKS - 1) // MAX_CHUNKS)
    sort.chunks = (sort.length + sort.chunk - 1) // sort.chunk
    sort.encoding = (<GroupedEncoding *>&encoding[0])[0]
    numbers_dtype = np.uint64 if positions is not None or sort.item_bytes == 8 else np.uint32
    cdef cnp.ndarray counts = np.empty(sort.chunks * GROUPED_PREFIXES, np.uint32)
    cdef cnp.ndarray next_numbers = np.zeros(sort.chunks * GROUPED_MAX_GROUPS, np.uint32)
    cdef cnp.ndarray is_mixed = np.empty(sort.chunks, np.uint8)
    sort.elements = cnp.PyArray_DATA(elements)
    sort.values = NULL if values is None else cnp.PyArray_DATA(values)
    sort.positions = NULL if positions is None else cnp.PyArray_DATA(positions)
    sort.counts, sort.next = <uint32_t *>cnp.PyArray_DATA(counts), <uint32_t *>cnp.PyArray_DATA(next_numbers)
    sort.is_mixed = <uint8_t *>cnp.PyArray_DATA(is_mixed)
    seconds = sort.length * _SECONDS_PER_ITEM
    if grouped_is_skewed(&sort, thread_count):
        return None
    sort.stage = GROUPED_COUNT
    run_in_order(<size_t>&grouped_task, <size_t>&sort, sort.chunks, seconds, threads)
    largest = grouped_divide(&sort)
    if largest * max(2, thread_count) > sort.length:
        return None
    cdef cnp.ndarray numbers = np.empty(sort.length, numbers_dtype)
    cdef cnp.ndarray scratch = values if positions is None else np.empty(sort.length, numbers_dtype)
    sort.numbers, sort.scratch = cnp.PyArray_DATA(numbers), cnp.PyArray_DATA(scratch)
    sort.stage = GROUPED_DISTRIBUTE
    run_in_order(<size_t>&grouped_task, <size_t>&sort, sort.chunks, seconds, threads)
    sort.stage = GROUPED_SORT
    run_in_order(<size_t>&grouped_task, <size_t>&sort, sort.group_count, 4 * seconds, threads)
    return bool(sort.any_mixed)
