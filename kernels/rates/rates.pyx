# cython: language_level=3, boundscheck=False, wraparound=False
"""Runs the loops of `rates.h` on the threads of the pool, and tells their times."""

cimport numpy as cnp
from libc.stdint cimport int32_t, int64_t

from ..launch.native import run_independent

cnp.import_array()

cdef extern from "rates.h" nogil:
    enum:
        RATE_READ
        RATE_TRIAD
        RATE_COPY
        RATE_WRITE
        RATE_INSTRUCTIONS
        RATE_FUNCTIONS
        RATE_GATHER
        RATE_FLOAT
        RATE_DOUBLE
        RATE_INTEGER
        RATE_BF16
        RATE_INT8
        RATE_CHAINS
        RATE_VECTORS
        RATE_MAX_THREADS
    ctypedef struct RateLoop:
        int64_t kind, element, width, variant, moved_bytes, thread_bytes, degree, repeats, threads
        char *memory
        const int32_t *indices
        int64_t index_count, arrived, has_failed
        int64_t *start
        int64_t *end
    bint rate_has_dots(int element)
    int rate_vector_bytes()
    void rate_task(int64_t task, void *closure)
    void rate_no_task(int64_t task, void *closure)

KINDS = {
    "read": RATE_READ, "triad": RATE_TRIAD, "copy": RATE_COPY, "write": RATE_WRITE,
    "instructions": RATE_INSTRUCTIONS, "functions": RATE_FUNCTIONS, "gather": RATE_GATHER,
}
"""What a loop does."""
ARRAYS = {"read": 1, "triad": 3, "copy": 2, "write": 1}
"""Arrays that a loop which moves bytes reads and writes."""
ELEMENTS = {"f32": RATE_FLOAT, "f64": RATE_DOUBLE, "i32": RATE_INTEGER, "bf16": RATE_BF16, "i8": RATE_INT8}
"""The element types of loops."""
CHAINS = RATE_CHAINS
"""Instructions of a repetition of the kind ``instructions``."""
STEP_BYTES = RATE_VECTORS * 64
"""Arrays that a loop moves are multiples of this."""
MAX_THREADS = RATE_MAX_THREADS
"""Maximum number of threads that are measured."""
NO_TASK = <size_t>&rate_no_task
"""The address of a task that does nothing."""


def vector_bytes():
    """The bytes of this processor's widest vectors."""
    return rate_vector_bytes()


def has_dots(str element):
    """Whether one instruction multiplies and adds several narrow elements of a lane.

    Args:
        element: ``"bf16"`` or ``"i8"``.
    """
    return bool(rate_has_dots(ELEMENTS[element]))


def _check_threads_and_instructions(str kind, str element, int width, int variant, int threads):
    if not 1 <= threads <= RATE_MAX_THREADS:
        raise ValueError(f"threads must be from 1 to {RATE_MAX_THREADS}, not {threads}")
    if width not in (16, 32, 64) or width > rate_vector_bytes():
        raise ValueError(f"width must be 16, 32 or 64, at most {rate_vector_bytes()}, not {width}")
    if variant not in (0, 1, 2, 3):
        raise ValueError(f"variant must be from 0 to 3, not {variant}")
    if kind == "instructions" and element in ("bf16", "i8") and not rate_has_dots(ELEMENTS[element]):
        raise ValueError(f"this processor has no dot products of {element}")


def _check_memory(str kind, int width, int variant, cnp.ndarray memory, int64_t moved_bytes, int threads):
    cdef int64_t thread_bytes
    if memory is None or cnp.PyArray_TYPE(memory) != cnp.NPY_UINT8 or not memory.flags.c_contiguous:
        raise ValueError(f"{kind} needs memory, a contiguous array of uint8")
    if kind not in ("read", "gather") and not memory.flags.writeable:
        raise ValueError(f"{kind} needs memory that may be written")
    thread_bytes = cnp.PyArray_NBYTES(memory) // threads
    if moved_bytes % (RATE_VECTORS * 64) or not 0 <= moved_bytes <= thread_bytes // ARRAYS.get(kind, 1):
        raise ValueError(
            f"moved_bytes must be a multiple of {STEP_BYTES}, and {ARRAYS.get(kind, 1)} times as many at most "
            f"the {thread_bytes} bytes of a thread, not {moved_bytes}"
        )
    if variant & 1 and (<size_t>cnp.PyArray_DATA(memory) % width or thread_bytes % width):
        raise ValueError(f"stores past the caches need memory of each thread that is aligned to {width} bytes")


def _check_indices(cnp.ndarray indices, int64_t thread_bytes):
    if (
        indices is None or indices.ndim != 1 or cnp.PyArray_TYPE(indices) != cnp.NPY_INT32
        or not (indices.flags.c_contiguous and indices.flags.aligned and indices.dtype.isnative)
    ):
        raise ValueError("gather needs indices, a contiguous vector of int32")
    if indices.size and not 0 <= indices.min() <= indices.max() < thread_bytes // 4:
        raise ValueError(f"indices must be from 0 to below {thread_bytes // 4}, the elements of a thread")


def seconds_of(
    str kind, str element="i32", *, int width=16, int variant=0, cnp.ndarray memory=None, int64_t moved_bytes=0,
    int64_t degree=0, cnp.ndarray indices=None, int64_t repeats=1, int threads=1
):
    """Seconds from the first thread's begin of a loop to the last one's end; NaN if they did not run together.

    Args:
        kind: a name of `KINDS`.
        element: a name of `ELEMENTS`.
        width: bytes of the vectors, at most `vector_bytes()`.
        variant: of loops that move bytes: 1: stores past the caches, 2: prefetches, 3: both.
        memory: bytes that begin at a cache line, the same number for each thread.
        moved_bytes: bytes of each array that a thread moves, a multiple of `STEP_BYTES`.
        degree: multiply-adds of a function.
        indices: int32 indices of a gather's elements of 4 bytes.
        repeats: how often the loop is done.
        threads: how many threads do it, each on its own memory.

    Raises:
        ValueError: the loop would read or write beyond its memory, or this processor lacks its instructions.
    """
    cdef RateLoop loop
    cdef int number
    cdef int64_t start, end
    _check_threads_and_instructions(kind, element, width, variant, threads)
    if kind != "instructions":
        _check_memory(kind, width, variant, memory, moved_bytes, threads)
    if kind == "gather":
        _check_indices(indices, cnp.PyArray_NBYTES(memory) // threads)
    loop.kind, loop.element, loop.width, loop.variant = KINDS[kind], ELEMENTS[element], width, variant
    loop.moved_bytes, loop.degree, loop.repeats, loop.threads = moved_bytes, degree, repeats, threads
    loop.arrived = loop.has_failed = loop.index_count = loop.thread_bytes = 0
    loop.memory, loop.indices = NULL, NULL
    if memory is not None:
        loop.memory = <char *>cnp.PyArray_DATA(memory)
        loop.thread_bytes = cnp.PyArray_NBYTES(memory) // threads
    if indices is not None:
        loop.indices = <const int32_t *>cnp.PyArray_DATA(indices)
        loop.index_count = indices.shape[0]
    run_independent(<size_t>&rate_task, <size_t>&loop, threads, 1.0, threads)
    if loop.has_failed:
        return float("nan")
    start, end = loop.start[0], loop.end[0]
    for number in range(1, threads):
        start, end = min(start, loop.start[number]), max(end, loop.end[number])
    return (end - start) * 1e-9
