# cython: language_level=3, boundscheck=False, wraparound=False
"""Fourier transforms along the last dimensions of arrays, compiled ahead of time: `fft.h` holds the tasks."""

cimport numpy as cnp
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

import functools
import math

import numpy as np

from ..launch import threads as _threads
from ..launch.native import run_in_order

cnp.import_array()

include "launch/aligned_memory.pxi"

cdef extern from "numpy/arrayobject.h":
    # Takes the reference to the element type that it is given.
    cnp.ndarray PyArray_Empty(int rank, cnp.npy_intp *shape, cnp.dtype dtype, int fortran)

cdef extern from "fft.h" nogil:
    enum:
        FOURIER_COMPLEX
        FOURIER_FROM_REAL
        FOURIER_TO_REAL
        FOURIER_MOST_RADIX
        FOURIER_MOST_PASSES
        FOURIER_MOST_PLACES

    ctypedef struct Fourier:
        int64_t kind, size, length, room, passes
        int64_t radices[24]
        const void *table
        const void *halves
        int64_t source_step, source_gap, target_step, is_inverse, is_whole, has_real_target, streams

    ctypedef struct FourierRun:
        const Fourier *transform
        const char *source
        char *target
        int64_t item, lines, inner, source_outer, source_inner, target_outer, target_inner, blocks, size
        char *work
        int64_t work_bytes, places
        uint8_t busy[64]

    int64_t fourier_vector_bytes()
    void fourier_task(int64_t task, void *closure) noexcept

cdef enum:
    MOST_RANK = 64
    # Longer lines would leave the second cache.
    MOST_SIZE = 8192
    MAX_TASKS = 64
    # Bytes of a result from which on it is written past the caches: such ones rarely wait there for their reader.
    LARGE = 1 << 22

# What a value takes in one pass on one thread, about, with vectors of one byte; least seconds of a task.
cdef double _SECONDS_A_BYTE = 5e-9, _TASK_SECONDS = 2e-5

cdef int64_t _vector_bytes = fourier_vector_bytes()


def serves(sizes):
    """Whether lines of these sizes are transformed here: short ones whose sizes have small factors alone."""
    return _vector_bytes > 0 and all([0 < size <= MOST_SIZE and _radices(size) is not None for size in sizes])


def thread_count(threads):
    """How many threads transforms use, of at most so many; None: of all."""
    return _threads.way_of_running(threads)[1]


@functools.lru_cache(1000)
def _radices(size):
    """The factors of a size in the order of passes; None where one is too large."""
    found = []
    for prime in (3, 5, 7, 11, 13, 17, 19, 23, 29, 31):
        while size % prime == 0:
            found.append(prime)
            size //= prime
    twos = size.bit_length() - 1
    if size != 1 << twos:
        return None
    while twos:
        radix = 3 if twos == 3 or twos > 4 else 2 if twos > 1 else 1
        found.append(1 << radix)
        twos -= radix
    return tuple(found[::-1])


# Bits behind the point of integers that stand for fractions; pi in them.
_BITS = 160
_PI = 0x3243F6A8885A308D313198A2E03707344A4093822 << _BITS >> 160


def _turned(angle):
    """Cosine and sine of a small angle, all three as integers times 2^-160."""
    cosine, sine, term, power = 0, 0, 1 << _BITS, 0
    while term:
        if power % 2:
            sine += -term if power % 4 == 3 else term
        else:
            cosine += -term if power % 4 == 2 else term
        power += 1
        term = (term * angle >> _BITS) // power
    return cosine, sine


@functools.lru_cache(100)
def _roots(size):
    """The roots of unity exp(-2 pi i k / size), rounded to the nearest f64: the same on every machine.

    Returns:
        `size` pairs of real and imaginary part.
    """
    # Those of an eighth of a turn by one rotation after another, in integers; their error is below 2^-140.
    step, one = math.gcd(8, size), 1 << _BITS
    cosine, sine = _turned(2 * _PI * step // (8 * size))
    re, im, eighth = one, 0, []
    for _ in range(size // step):
        eighth.append((re / one, im / one))
        re, im = (re * cosine - im * sine) >> _BITS, (re * sine + im * cosine) >> _BITS
    eighth.append((math.sqrt(0.5), math.sqrt(0.5)))
    found = []
    for index in range(size):
        number, rest = divmod(8 * index, size)
        along, across = eighth[rest // step]
        if number % 2:
            across, along = eighth[(size - rest) // step]
        quarter = number // 2
        re, im = [(along, across), (-across, along), (-along, -across), (across, -along)][quarter]
        found.append((re, -im))
    return found


@functools.lru_cache(100)
def _tables(length, dtype):
    """The factors of all passes of transforms of `length` values."""
    values, rest, roots = [], length, _roots(length)
    for radix in _radices(length):
        groups, step = rest // radix, length // rest
        values += [roots[group * k * step % length] for group in range(groups) for k in range(1, radix)]
        values += roots[:: length // radix]
        rest = groups
    return np.array(values, np.float64).reshape(-1, 2).astype(dtype)


@functools.lru_cache(100)
def _halves(size, dtype):
    """The roots with which the values of a real line of that size follow from those of its pairs."""
    return np.array(_roots(size)[: size // 4 + 1], np.float64).astype(dtype)


cdef class _Line:
    """How the lines along one dimension are transformed.

    Args:
        kind: one of the kinds in `fft.h`.
        size: of a line; that of the real one where a side is real.
        item: bytes of a real number.
        is_inverse: whether the roots are conjugated and results are divided by the size.
    """

    cdef Fourier fourier
    cdef object table, halves
    cdef int64_t item

    def __cinit__(self, int64_t kind, int64_t size, int64_t item, bint is_inverse):
        cdef bint by_pairs = kind != FOURIER_COMPLEX and size % 2 == 0
        cdef int64_t length = size // 2 if by_pairs else size
        dtype = np.dtype(f"f{item}")
        radices = _radices(length)
        memset(&self.fourier, 0, sizeof(Fourier))
        self.item = item
        self.fourier.kind, self.fourier.size, self.fourier.length = kind, size, length
        self.fourier.room, self.fourier.passes = length + 1, len(radices)
        for position, radix in enumerate(radices):
            self.fourier.radices[position] = radix
        self.table = _tables(length, dtype)
        self.fourier.table = cnp.PyArray_DATA(<cnp.ndarray>self.table)
        if by_pairs:
            self.halves = _halves(size, dtype)
            self.fourier.halves = cnp.PyArray_DATA(<cnp.ndarray>self.halves)
        self.fourier.is_inverse = is_inverse
        self.fourier.has_real_target = kind == FOURIER_TO_REAL and not by_pairs

    cdef int run(
        self, cnp.ndarray source, cnp.ndarray target, int axis, bint is_spaced, bint is_whole, threads
    ) except -1:
        """Transform all lines along a dimension of contiguous arrays.

        Args:
            is_spaced: whether a real line is that of the real parts of complex numbers.
            is_whole: whether all of a real line's transform is written, and not its first half.
        """
        cdef Fourier fourier = self.fourier
        cdef FourierRun run
        cdef int64_t rank = cnp.PyArray_NDIM(source), item = self.item, values, tasks
        cdef bint by_pairs = fourier.length != fourier.size
        cdef double seconds
        cdef int position
        run.transform = &fourier
        run.source, run.target = <char *>cnp.PyArray_DATA(source), <char *>cnp.PyArray_DATA(target)
        run.item, run.lines, run.inner = item, 1, 1
        for position in range(rank):
            if position < axis:
                run.lines *= cnp.PyArray_DIM(source, position)
            elif position > axis:
                run.inner *= cnp.PyArray_DIM(source, position)
        run.lines *= run.inner
        run.source_inner = run.target_inner = 2 * item
        run.source_outer = run.inner * cnp.PyArray_DIM(source, axis) * cnp.PyArray_ITEMSIZE(source)
        run.target_outer = run.inner * cnp.PyArray_DIM(target, axis) * cnp.PyArray_ITEMSIZE(target)
        fourier.source_gap, fourier.is_whole = 1, is_whole
        fourier.streams = cnp.PyArray_NBYTES(target) >= LARGE
        fourier.source_step = fourier.target_step = 2 * item * run.inner
        if fourier.kind == FOURIER_FROM_REAL:
            fourier.source_gap = 2 if is_spaced else 1
            fourier.source_step = fourier.source_gap * item * (2 if by_pairs else 1)
        elif fourier.kind == FOURIER_TO_REAL:
            fourier.target_step = item * (2 if by_pairs else 1)
        values = _vector_bytes // item
        run.blocks = (run.lines + values - 1) // values
        seconds = <double>run.lines * fourier.length * (fourier.passes + 3) * item * _SECONDS_A_BYTE / _vector_bytes
        tasks = max(1, min(min(run.blocks, MAX_TASKS), <int64_t>(seconds / _TASK_SECONDS)))
        run.size = (run.blocks + tasks - 1) // tasks
        tasks = (run.blocks + run.size - 1) // run.size
        run.places = 1
        if tasks > 1:
            run.places = min(tasks, min(<int64_t>FOURIER_MOST_PLACES, <int64_t>thread_count(threads)))
        run.work_bytes = 4 * (fourier.room * _vector_bytes // 64 + 1) * 64
        cdef AlignedMemory memory = AlignedMemory(run.places * run.work_bytes)
        run.work = memory.memory
        memset(run.busy, 0, sizeof(run.busy))
        if tasks > 1:
            run_in_order(<size_t>&fourier_task, <size_t>&run, tasks, seconds, threads)
        else:
            with nogil:
                fourier_task(0, &run)
        return 0


cdef class Transform:
    """Transforms over the last dimensions of arrays; with an array it gives the transformed one.

    Args:
        kind: "FFT", "IFFT", "RFFT" or "IRFFT".
        sizes: of the dimensions, the real ones where a side is real; see `serves`.
        item: bytes of a real number.
        threads: most threads to use; None: all.

    A transform "FFT" over one dimension also takes real arrays, and gives for complex ones whose imaginary parts are
    all +0 the bits that it gives for the real parts.
    """

    cdef list complex_lines
    cdef _Line real_line
    cdef bint is_to_real, takes_real, is_whole
    cdef object threads, real_type, complex_type
    cdef int64_t half, size

    def __init__(self, kind, sizes, item, threads=None):
        is_inverse = kind in ("IFFT", "IRFFT")
        self.threads, self.size = threads, sizes[len(sizes) - 1]
        self.half = self.size // 2 + 1
        self.real_type, self.complex_type = np.dtype(f"f{item}"), np.dtype(f"c{2 * item}")
        self.is_to_real = kind == "IRFFT"
        self.is_whole = kind == "FFT" and len(sizes) == 1
        self.takes_real = kind == "RFFT" or self.is_whole
        self.complex_lines = [
            (position - len(sizes), _Line(FOURIER_COMPLEX, size, item, is_inverse))
            for position, size in enumerate(sizes)
            if kind in ("FFT", "IFFT") or position < len(sizes) - 1
        ][::-1]
        if self.takes_real:
            self.real_line = _Line(FOURIER_FROM_REAL, self.size, item, False)
        elif self.is_to_real:
            self.real_line = _Line(FOURIER_TO_REAL, self.size, item, True)

    def __call__(self, operand):
        cdef cnp.ndarray source = operand if cnp.PyArray_ISCARRAY_RO(operand) else np.array(operand, order="C")
        cdef cnp.ndarray target
        cdef int rank = cnp.PyArray_NDIM(source), last = rank - 1
        cdef bint is_complex = cnp.PyArray_ISCOMPLEX(source), is_own = False
        cdef _Line line
        if self.takes_real and (not is_complex or (self.size % 2 == 0 and _is_real(source))):
            target = self.empty(source, self.complex_type, self.size if self.is_whole else self.half)
            self.real_line.run(source, target, last, is_complex, self.is_whole, self.threads)
            if self.is_whole:
                return target
            source, is_own = target, True
        for axis, line in self.complex_lines:
            target = source
            if not is_own:
                target = self.empty(source, self.complex_type, cnp.PyArray_DIM(source, last))
            line.run(source, target, rank + axis, False, False, self.threads)
            source, is_own = target, True
        if self.is_to_real:
            target = self.empty(source, self.real_type, self.size)
            self.real_line.run(source, target, last, False, False, self.threads)
            return target
        return source

    cdef cnp.ndarray empty(self, cnp.ndarray source, cnp.dtype dtype, int64_t size):
        """An array with the sizes of another, but for the last one."""
        cdef cnp.npy_intp shape[MOST_RANK]
        cdef int rank = cnp.PyArray_NDIM(source), position
        for position in range(rank):
            shape[position] = cnp.PyArray_DIM(source, position)
        shape[rank - 1] = size
        Py_INCREF(dtype)
        return PyArray_Empty(rank, shape, dtype, 0)


cdef bint _is_real(cnp.ndarray array):
    """Whether all imaginary parts are +0: a transform of the real parts alone takes half the work."""
    cdef Py_ssize_t index, count = cnp.PyArray_SIZE(array)
    cdef const uint32_t *narrow = <const uint32_t *>cnp.PyArray_DATA(array)
    cdef const uint64_t *wide = <const uint64_t *>cnp.PyArray_DATA(array)
    cdef bint is_wide = cnp.PyArray_ITEMSIZE(array) == 16
    with nogil:
        for index in range(count):
            if (wide[2 * index + 1] if is_wide else narrow[2 * index + 1]) != 0:
                return False
    return True
