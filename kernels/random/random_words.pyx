# cython: language_level=3, boundscheck=False, wraparound=False
"""The words of counter-based random generators."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

import numpy as np

cdef extern from "random_words.h" nogil:
    void three_fry_words(uint64_t key, uint64_t counter, int64_t count, uint32_t *words)
    void philox_words(uint64_t key, uint64_t counter, uint64_t high, int64_t count, uint32_t *words)


def three_fry(uint64_t key, uint64_t counter, int64_t count):
    """Threefry2x32 of `count` counters from `counter` on: ui32 of shape (count, 2).

    The first words of a key and of a counter are its lower halves.
    """
    words = np.empty((count, 2), np.uint32)
    cdef uint32_t[:, ::1] view = words
    if count:
        with nogil:
            three_fry_words(key, counter, count, &view[0, 0])
    return words


def philox(uint64_t key, uint64_t counter, uint64_t high, int64_t count):
    """Philox4x32 of `count` counters of 128 bits: ui32 of shape (count, 4).

    The first counter has the lower half `counter` and the upper half `high`; the first word of a key, and of a
    counter, is its lowest one.
    """
    words = np.empty((count, 4), np.uint32)
    cdef uint32_t[:, ::1] view = words
    if count:
        with nogil:
            philox_words(key, counter, high, count, &view[0, 0])
    return words
