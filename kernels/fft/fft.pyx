# cython: language_level=3, boundscheck=False, wraparound=False
"""Fast Fourier transforms along the last dimensions of arrays; `fft.h` holds the tasks."""

cimport numpy as cnp
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

import functools
import math

import numpy as np

from ..launch import threads as _threads
from ..launch.native import run_in_order
from ..simd.block_sizes import NONTEMPORAL_BYTES

cnp.import_array()

include "launch/aligned_memory.pxi"

cdef extern from "numpy/arrayobject.h":
    # Steals the reference to the element type.
    cnp.ndarray PyArray_Empty(int rank, cnp.npy_intp *shape, cnp.dtype dtype, int fortran)

cdef extern from "fft.h" nogil:
    enum:
        FFT_COMPLEX
        FFT_FROM_REAL
        FFT_TO_REAL
        FFT_MAX_RADIX
        FFT_MAX_PASSES
        FFT_MAX_WORKSPACES

    ctypedef struct Fft:
        int64_t kind, size, length, buffer_length, passes
        int64_t radices[24]
        const void *table
        const void *real_roots
        int64_t source_stride, source_gap, target_stride, is_inverse, is_full_spectrum, is_nontemporal, has_real_target

    ctypedef struct FftRun:
        const Fft *plan
        const char *source
        char *target
        int64_t itemsize, fibers, inner, source_outer, source_inner, target_outer, target_inner, blocks, blocks_per_task
        char *workspace
        int64_t workspace_bytes, workspace_count
        uint8_t workspace_busy[64]

    int64_t fft_vector_bytes()
    void fft_task(int64_t task, void *closure) noexcept

cdef enum:
    MAX_RANK = 64
    # Longer fibers would exceed the L2 cache.
    MAX_SIZE = 8192
    MAX_TASKS = 64

# Estimated time of a byte in one pass on one thread, times the bytes of a vector; shortest task.
cdef double _SECONDS_PER_BYTE = 5e-9, _MIN_TASK_SECONDS = 2e-5

cdef int64_t _NONTEMPORAL_BYTES = NONTEMPORAL_BYTES

cdef int64_t _vector_bytes = fft_vector_bytes()


def supports(sizes):
    """Whether fibers of these sizes are supported: short ones whose sizes have small prime factors."""
    return _vector_bytes > 0 and all([0 < size <= MAX_SIZE and _radices(size) is not None for size in sizes])


def thread_count(threads):
    """The number of threads that transforms use, at most `threads`; None: all."""
    return _threads.chosen_threads(threads)


@functools.lru_cache(1000)
def _radices(size):
    """The factors of a size in the order of passes; None where one is too large."""
    factors = []
    for prime in (3, 5, 7, 11, 13, 17, 19, 23, 29, 31):
        while size % prime == 0:
            factors.append(prime)
            size //= prime
    twos = size.bit_length() - 1
    if size != 1 << twos:
        return None
    while twos:
        radix = 3 if twos == 3 or twos > 4 else 2 if twos > 1 else 1
        factors.append(1 << radix)
        twos -= radix
    return tuple(factors[::-1])


# Fraction bits of fixed-point numbers; pi.
_BITS = 160
_PI = 0x3243F6A8885A308D313198A2E03707344A4093822 << _BITS >> 160


def _cosine_and_sine(angle):
    """Cosine and sine of a small angle, in fixed point."""
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
        `size` pairs of real and imaginary component.
    """
    # An eighth of a turn by repeated rotation, in fixed point; the error is below 2^-140.
    reduced_step, one = math.gcd(8, size), 1 << _BITS
    cosine, sine = _cosine_and_sine(2 * _PI * reduced_step // (8 * size))
    re, im, eighth = one, 0, []
    for _ in range(size // reduced_step):
        eighth.append((re / one, im / one))
        re, im = (re * cosine - im * sine) >> _BITS, (re * sine + im * cosine) >> _BITS
    eighth.append((math.sqrt(0.5), math.sqrt(0.5)))
    roots = []
    for index in range(size):
        octant, remainder = divmod(8 * index, size)
        by_re, by_im = eighth[remainder // reduced_step]
        if octant % 2:
            by_im, by_re = eighth[(size - remainder) // reduced_step]
        quarter = octant // 2
        re, im = [(by_re, by_im), (-by_im, by_re), (-by_re, -by_im), (by_im, -by_re)][quarter]
        roots.append((re, -im))
    return roots


@functools.lru_cache(100)
def _tables(length, dtype):
    """The factors of all passes of transforms of `length` values."""
    values, remaining, roots = [], length, _roots(length)
    for radix in _radices(length):
        groups, stride = remaining // radix, length // remaining
        values += [roots[group * k * stride % length] for group in range(groups) for k in range(1, radix)]
        values += roots[:: length // radix]
        remaining = groups
    return np.array(values, np.float64).reshape(-1, 2).astype(dtype)


@functools.lru_cache(100)
def _real_roots(size, dtype):
    """The roots that turn the transform of pairs into that of a real fiber of this size."""
    return np.array(_roots(size)[: size // 4 + 1], np.float64).astype(dtype)


cdef class _FiberTransform:
    """The transform of the fibers along one dimension.

    Args:
        kind: one of the kinds in `fft.h`.
        size: of a fiber; of the real one if the operand or the result is real.
        itemsize: bytes of a real number.
        is_inverse: whether the roots are conjugated and results are divided by the size.
    """

    cdef Fft plan
    cdef object table, real_roots
    cdef int64_t itemsize

    def __cinit__(self, int64_t kind, int64_t size, int64_t itemsize, bint is_inverse):
        cdef bint packs_pairs = kind != FFT_COMPLEX and size % 2 == 0
        cdef int64_t length = size // 2 if packs_pairs else size
        dtype = np.dtype(f"f{itemsize}")
        radices = _radices(length)
        memset(&self.plan, 0, sizeof(Fft))
        self.itemsize = itemsize
        self.plan.kind, self.plan.size, self.plan.length = kind, size, length
        self.plan.buffer_length, self.plan.passes = length + 1, len(radices)
        for position, radix in enumerate(radices):
            self.plan.radices[position] = radix
        self.table = _tables(length, dtype)
        self.plan.table = cnp.PyArray_DATA(<cnp.ndarray>self.table)
        if packs_pairs:
            self.real_roots = _real_roots(size, dtype)
            self.plan.real_roots = cnp.PyArray_DATA(<cnp.ndarray>self.real_roots)
        self.plan.is_inverse = is_inverse
        self.plan.has_real_target = kind == FFT_TO_REAL and not packs_pairs

    cdef double describe(
        self, Fft *plan, FftRun *run, cnp.ndarray source, cnp.ndarray target, int axis, bint is_spaced,
        bint is_full_spectrum, bint is_last
    ) noexcept:
        """Describe the transform of all fibers along a dimension of contiguous arrays, but for the workspaces.

        Args:
            plan, run: receive the description.
            is_spaced: whether a real fiber is the real components of complex numbers.
            is_full_spectrum: whether all of a real fiber's transform is written, not only its first half.
            is_last: whether no other transform reads the target: the stores of a large one bypass the caches.

        Returns:
            Estimated seconds on one thread.
        """
        cdef int64_t rank = cnp.PyArray_NDIM(source), itemsize = self.itemsize, values
        cdef int position
        plan[0] = self.plan
        cdef bint packs_pairs = plan.length != plan.size
        memset(run, 0, sizeof(FftRun))
        run.plan = plan
        run.source, run.target = <char *>cnp.PyArray_DATA(source), <char *>cnp.PyArray_DATA(target)
        run.itemsize, run.fibers, run.inner = itemsize, 1, 1
        for position in range(rank):
            if position < axis:
                run.fibers *= cnp.PyArray_DIM(source, position)
            elif position > axis:
                run.inner *= cnp.PyArray_DIM(source, position)
        run.fibers *= run.inner
        run.source_inner = run.target_inner = 2 * itemsize
        run.source_outer = run.inner * cnp.PyArray_DIM(source, axis) * cnp.PyArray_ITEMSIZE(source)
        run.target_outer = run.inner * cnp.PyArray_DIM(target, axis) * cnp.PyArray_ITEMSIZE(target)
        plan.source_gap, plan.is_full_spectrum = 1, is_full_spectrum
        plan.is_nontemporal = is_last and cnp.PyArray_NBYTES(target) >= _NONTEMPORAL_BYTES
        plan.source_stride = plan.target_stride = 2 * itemsize * run.inner
        if plan.kind == FFT_FROM_REAL:
            plan.source_gap = 2 if is_spaced else 1
            plan.source_stride = plan.source_gap * itemsize * (2 if packs_pairs else 1)
        elif plan.kind == FFT_TO_REAL:
            plan.target_stride = itemsize * (2 if packs_pairs else 1)
        values = _vector_bytes // itemsize
        run.blocks = run.blocks_per_task = (run.fibers + values - 1) // values
        run.workspace_count = 1
        run.workspace_bytes = 4 * (plan.buffer_length * _vector_bytes // 64 + 1) * 64
        return <double>run.fibers * plan.length * (plan.passes + 3) * itemsize * _SECONDS_PER_BYTE / _vector_bytes

    cdef int run(
        self, cnp.ndarray source, cnp.ndarray target, int axis, bint is_spaced, bint is_full_spectrum, bint is_last,
        threads
    ) except -1:
        """Transform all fibers along a dimension of contiguous arrays; see `describe`."""
        cdef Fft plan
        cdef FftRun run
        cdef double seconds = self.describe(
            &plan, &run, source, target, axis, is_spaced, is_full_spectrum, is_last
        )
        cdef int64_t tasks = max(1, min(min(run.blocks, MAX_TASKS), <int64_t>(seconds / _MIN_TASK_SECONDS)))
        run.blocks_per_task = (run.blocks + tasks - 1) // tasks
        tasks = (run.blocks + run.blocks_per_task - 1) // run.blocks_per_task
        if tasks > 1:
            run.workspace_count = min(tasks, min(<int64_t>FFT_MAX_WORKSPACES, <int64_t>thread_count(threads)))
        cdef AlignedMemory memory = AlignedMemory(run.workspace_count * run.workspace_bytes)
        run.workspace = memory.memory
        if tasks > 1:
            run_in_order(<size_t>&fft_task, <size_t>&run, tasks, seconds, threads)
        else:
            with nogil:
                fft_task(0, &run)
        return 0


cdef class Transform:
    """A transform over the last dimensions of arrays.

    Args:
        kind: "FFT", "IFFT", "RFFT" or "IRFFT".
        sizes: of the dimensions, the real ones if the operand or the result is real; see `supports`.
        itemsize: bytes of a real number.
        threads: maximum number of threads; None: all.

    An "FFT" over one dimension also takes real arrays. For complex ones whose imaginary components are all +0 it gives
    the bits that it gives for the real components.
    """

    cdef list complex_transforms
    cdef _FiberTransform real_transform
    cdef bint is_to_real, accepts_real, is_full_spectrum
    cdef object threads, real_type, complex_type
    cdef int64_t half, size

    def __init__(self, kind, sizes, itemsize, threads=None):
        is_inverse = kind in ("IFFT", "IRFFT")
        self.threads, self.size = threads, sizes[len(sizes) - 1]
        self.half = self.size // 2 + 1
        self.real_type, self.complex_type = np.dtype(f"f{itemsize}"), np.dtype(f"c{2 * itemsize}")
        self.is_to_real = kind == "IRFFT"
        self.is_full_spectrum = kind == "FFT" and len(sizes) == 1
        self.accepts_real = kind == "RFFT" or self.is_full_spectrum
        self.complex_transforms = [
            (position - len(sizes), _FiberTransform(FFT_COMPLEX, size, itemsize, is_inverse))
            for position, size in enumerate(sizes)
            if kind in ("FFT", "IFFT") or position < len(sizes) - 1
        ][::-1]
        if self.accepts_real:
            self.real_transform = _FiberTransform(FFT_FROM_REAL, self.size, itemsize, False)
        elif self.is_to_real:
            self.real_transform = _FiberTransform(FFT_TO_REAL, self.size, itemsize, True)

    def __call__(self, operand):
        return self.transformed(operand if cnp.PyArray_ISCARRAY_RO(operand) else np.array(operand, order="C"), None)

    cdef int apply(
        self, _Stages stages, _FiberTransform fiber, cnp.ndarray source, cnp.ndarray target, int axis, bint is_spaced,
        bint is_full_spectrum, bint is_last
    ) except -1:
        """Transform fibers, or append that to the stages where these are not None; see `_FiberTransform.describe`."""
        if stages is None:
            return fiber.run(source, target, axis, is_spaced, is_full_spectrum, is_last, self.threads)
        return stages.append(fiber, source, target, axis, is_spaced, is_full_spectrum, is_last)

    cdef cnp.ndarray transformed(self, cnp.ndarray source, _Stages stages):
        """The transform of a C-contiguous array. Where the stages are not None, they receive what it takes, and the
        values of the result are undefined."""
        cdef cnp.ndarray target
        cdef int rank = cnp.PyArray_NDIM(source), last = rank - 1
        cdef bint is_complex = cnp.PyArray_ISCOMPLEX(source), owns_source = False, is_last
        cdef _FiberTransform fiber
        if self.accepts_real and (not is_complex or (self.size % 2 == 0 and is_real_array(source))):
            target = self.empty(source, self.complex_type, self.size if self.is_full_spectrum else self.half)
            is_last = self.is_full_spectrum or not self.complex_transforms
            self.apply(
                stages, self.real_transform, source, target, last, is_complex, self.is_full_spectrum, is_last
            )
            if self.is_full_spectrum:
                return target
            source, owns_source = target, True
        for axis, fiber in self.complex_transforms:
            target = source
            if not owns_source:
                target = self.empty(source, self.complex_type, cnp.PyArray_DIM(source, last))
            is_last = not owns_source and len(self.complex_transforms) == 1 and not self.is_to_real
            self.apply(stages, fiber, source, target, rank + axis, False, False, is_last)
            source, owns_source = target, True
        if self.is_to_real:
            target = self.empty(source, self.real_type, self.size)
            self.apply(stages, self.real_transform, source, target, last, False, False, True)
            return target
        return source

    cdef cnp.ndarray empty(self, cnp.ndarray source, cnp.dtype dtype, int64_t size):
        """Allocate an array of the source's shape, but for the last size."""
        cdef cnp.npy_intp shape[MAX_RANK]
        cdef int rank = cnp.PyArray_NDIM(source), position
        for position in range(rank):
            shape[position] = cnp.PyArray_DIM(source, position)
        shape[rank - 1] = size
        Py_INCREF(dtype)
        return PyArray_Empty(rank, shape, dtype, 0)


cdef bint is_real_array(cnp.ndarray array):
    """Whether all imaginary components are +0: transforming the real components alone is half the work."""
    with nogil:
        return has_real_values(cnp.PyArray_DATA(array), cnp.PyArray_SIZE(array), cnp.PyArray_ITEMSIZE(array) == 16)


cdef bint has_real_values(const void *values, int64_t count, bint is_wide) noexcept nogil:
    """Whether the imaginary components of complex numbers are +0; `is_wide`: of f64."""
    cdef int64_t index
    for index in range(count):
        if ((<const uint64_t *>values)[2 * index + 1] if is_wide else (<const uint32_t *>values)[2 * index + 1]) != 0:
            return False
    return True


include "transform_call.pxi"
