# cython: language_level=3, boundscheck=False, wraparound=False
"""The memory pool of arrays that are allocated during a run: large blocks are recycled.

Touching a new page of the system takes longer than most operations on its elements. So a run installs a memory handler
in NumPy (NEP 49), which serves temporaries, results, kernels and NumPy itself. An array keeps a reference to the
handler that allocated it. It may outlive the run and the program, and any thread may free it.

Blocks of MIN_POOLED_BYTES bytes and more are rounded up to size classes, eight for each power of two. A freed block
becomes idle in its class. It serves requests of that class and of smaller ones, of more than half of its bytes. The
oldest idle blocks return to the system when the idle bytes exceed the largest need of all programs (`Retention`), which
is the peak that was measured in their last runs, or more for arrays of many sizes. During a run, idle and live blocks
together may have as many bytes as the peak so far, so that a first run recycles memory, too. Where an array that is
smaller than its block outlives the next runs, such as a result that the caller keeps, the rest of the block returns.

A page of 4 KiB from the system takes a microsecond or more, and huge pages take a tenth of that time. So blocks that
are too small for huge pages of their own are cut from a slab that several blocks share. A block that returns to the
system is not cut again: its pages return at once, and the slab returns with its last block.

The kernel may end a process that touches more memory than is left, which no error reports. So a handler asks what is
left before it takes a block of MIN_CHECKED_BYTES bytes or more from the system, and refuses it if that is too little:
NumPy raises MemoryError, whichever array of a program it was for. A limited handler also counts the bytes of one run's
arrays, and refuses an allocation that exceeds a limit.

For tests, the environment variable `NIMBLEHLO_POISON_MEMORY` makes wrong uses of memory visible. With the value `1`, a
block is filled with NaNs when it is allocated, with other NaNs when it is freed, and ends with a guard. A write to a
guard or to an idle block aborts the process. With `exact`, no block is recycled: each has the requested size, so that
an allocator below this one can guard its end.
"""

cdef extern from *:
    """
    /* The headers of NumPy 2.0 declare by default what NumPy 1.19 has; memory handlers (NEP 49) came with 1.22. */
    #define NPY_TARGET_VERSION NPY_2_0_API_VERSION
    """

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.pythread cimport (
    PyThread_acquire_lock,
    PyThread_allocate_lock,
    PyThread_release_lock,
    PyThread_type_lock,
)
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset, strcpy

from threading import get_ident

from ..kernels.launch import poison as poisoning
from ..kernels.launch.free_memory import MIN_CHECKED_BYTES, shortage_of

cnp.import_array()

cdef extern from "memory_pages.h":
    enum:
        HAS_HUGE_PAGES
    void *aligned_block(size_t alignment, size_t bytes) noexcept nogil
    void free_aligned(void *block) noexcept nogil
    void forget_pages(void *first, size_t bytes) noexcept nogil
    ctypedef void (*ForkHandler)() noexcept nogil
    void watch_forks(ForkHandler before, ForkHandler in_parent, ForkHandler in_child) noexcept

cdef extern from "memory_poison.h":
    enum:
        NEW_WORD
        FREED_WORD
        GUARD_BYTES
    void make_patterns() noexcept nogil
    void poison(void *data, size_t bytes, int word) noexcept nogil
    void expect(bint holds, const char *reason, void *data, size_t bytes) noexcept nogil
    void set_guard(void *data, size_t bytes) noexcept nogil
    void check_guard(void *data, size_t bytes) noexcept nogil
    void check_freed(void *data, size_t bytes) noexcept nogil

cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyDataMemAllocator:
        void *ctx
        void *(*malloc)(void *, size_t) noexcept nogil
        void *(*calloc)(void *, size_t, size_t) noexcept nogil
        void *(*realloc)(void *, void *, size_t) noexcept nogil
        void (*free)(void *, void *, size_t) noexcept nogil
    ctypedef struct PyDataMem_Handler:
        char name[127]
        uint8_t version
        PyDataMemAllocator allocator
    object PyDataMem_SetHandler(object handler)

MIN_POOLED_BYTES = 1 << 16
"""Bytes from which a block is recycled."""

cdef bint _poisons = poisoning.POISON != "0"
cdef bint _is_exact = poisoning.POISON == "exact"
cdef size_t _guard_bytes = GUARD_BYTES if poisoning.POISON == "1" else 0
make_patterns()

cdef size_t _MIN_POOLED_BYTES = MIN_POOLED_BYTES
cdef const char *_CAPSULE = "mem_handler"

include "memory_blocks.pxi"

# The bytes of a limited run's arrays, and their limit.
cdef struct Account:
    size_t live
    size_t limit

cdef struct LimitedHandler:
    PyDataMem_Handler handler
    Account account

# The bytes that are alive when a run begins, and those that runs have used by then.
cdef struct Watch:
    size_t live
    size_t used


cdef bint _enter(Account *account, size_t bytes) noexcept nogil:
    """Add requested bytes to an account; whether its limit allows them."""
    cdef bint is_allowed
    if account == NULL:
        return True
    PyThread_acquire_lock(_lock, 1)
    is_allowed = bytes <= account.limit and account.live <= account.limit - bytes
    if is_allowed:
        account.live += bytes
    PyThread_release_lock(_lock)
    return is_allowed


cdef void _leave(Account *account, size_t bytes) noexcept nogil:
    if account != NULL:
        PyThread_acquire_lock(_lock, 1)
        account.live -= bytes
        PyThread_release_lock(_lock)


cdef void *_malloc(void *context, size_t bytes) noexcept nogil:
    cdef void *data = NULL
    if not _enter(<Account *>context, bytes):
        return NULL
    if bytes < _MIN_POOLED_BYTES or _is_exact:
        data = _take_small(bytes)
    else:
        data = _take_large(bytes)
    if data == NULL:
        _leave(<Account *>context, bytes)
    elif _poisons:
        poison(data, bytes, NEW_WORD)
        if _guard_bytes:
            set_guard(data, bytes)
    return data


cdef void _poison_freed(void *data) noexcept nogil:
    """Fill a block before it is freed, and check its guard."""
    cdef Tag *tag = _tag(data)
    expect(tag.is_large <= 1, "memory was written before a block", data, tag.bytes)
    if _guard_bytes:
        check_guard(data, tag.bytes)
    poison(data, tag.bytes, FREED_WORD)


cdef void *_calloc(void *context, size_t count, size_t size) noexcept nogil:
    cdef void *data
    if size and count > (<size_t>-1) // size:
        return NULL
    data = _malloc(context, count * size)
    if data != NULL:
        memset(data, 0, count * size)
    return data


cdef void _free(void *context, void *data, size_t size) noexcept nogil:
    """Free a block; `size` is ignored, as NumPy passes another one for arrays without elements."""
    global _live
    if data == NULL:
        return
    _leave(<Account *>context, _tag(data).bytes)
    if _poisons:
        _poison_freed(data)
    if not _tag(data).is_large:
        free(_tag(data))
        return
    PyThread_acquire_lock(_lock, 1)
    _live -= _needed(<Block *>data - 1)
    _unmark(<Block *>data - 1)
    _link(<Block *>data - 1)
    _trim_to_need()
    PyThread_release_lock(_lock)


cdef void *_realloc(void *context, void *data, size_t bytes) noexcept nogil:
    cdef void *reallocated
    if data == NULL:
        return _malloc(context, bytes)
    reallocated = _malloc(context, bytes)
    if reallocated != NULL:
        memcpy(reallocated, data, min(bytes, _tag(data).bytes))
        _free(context, data, 0)
    return reallocated


cdef void _fill(PyDataMem_Handler *handler, void *context) noexcept:
    strcpy(handler.name, "nimblehlo")
    handler.version = 1
    handler.allocator.ctx = context
    handler.allocator.malloc = _malloc
    handler.allocator.calloc = _calloc
    handler.allocator.realloc = _realloc
    handler.allocator.free = _free


cdef PyDataMem_Handler _plain_handler
_fill(&_plain_handler, NULL)

RECYCLING = PyCapsule_New(&_plain_handler, _CAPSULE, NULL)
"""The handler that recycles blocks without a limit."""


cdef void _forget(object capsule) noexcept:
    free(PyCapsule_GetPointer(capsule, _CAPSULE))


def limited(max_bytes):
    """A memory handler for one run.

    Allocation fails if the run's live arrays would exceed `max_bytes` bytes.
    """
    cdef LimitedHandler *limited_handler = <LimitedHandler *>calloc(1, sizeof(LimitedHandler))
    if limited_handler == NULL:
        raise MemoryError
    limited_handler.account.limit = min(max_bytes, (<size_t>-1) >> 1)
    _fill(&limited_handler.handler, &limited_handler.account)
    return PyCapsule_New(limited_handler, _CAPSULE, _forget)


def run_with(handler, function, argument, Retention retention=None):
    """Call `function(argument)` while a handler allocates the arrays of this thread.

    Args:
        retention: follows the peak of all large arrays, including those of concurrent runs.
    """
    cdef Watch start = _begin_watch()
    before = PyDataMem_SetHandler(handler)
    try:
        return function(argument)
    finally:
        PyDataMem_SetHandler(before)
        if retention is not None:
            retention.follow(_peak - start.live if _peak > start.live else 0, _used - start.used)
        _end_watch()
        _raise_interruption()


cdef Watch _begin_watch() noexcept nogil:
    """Begin to measure the peak and the bytes that a run uses."""
    global _peak, _run, _runs
    cdef Watch start
    PyThread_acquire_lock(_lock, 1)
    _peak = _live
    start.live, start.used = _live, _used
    _runs += 1
    _run += 1
    PyThread_release_lock(_lock)
    return start


cdef void _end_watch() noexcept nogil:
    """End a run: return the memory that only it and earlier ones needed."""
    global _runs
    PyThread_acquire_lock(_lock, 1)
    _runs -= 1
    _trim_to_need()
    _return_unused_ends()
    PyThread_release_lock(_lock)


# The claim of a program, in a list of all claims.
cdef struct Claim:
    Claim *next
    Claim *previous
    size_t bytes

cdef Claim _claims
_claims.next = _claims.previous = &_claims
_claims.bytes = 0


cdef void _set_max_idle() noexcept nogil:
    """Set the limit of idle bytes to the largest claim. Needs the lock."""
    global _max_idle
    cdef Claim *claim = _claims.next
    cdef size_t max_bytes = 0
    while claim != &_claims:
        max_bytes = max(max_bytes, claim.bytes)
        claim = claim.next
    _max_idle = max_bytes
    _trim_to_need()


cdef enum:
    # Runs after whose number a claim forgets larger needs of earlier ones.
    _WINDOW = 8


cdef class Retention:
    """A program's claim on idle memory, for as long as this object lives.

    The claim follows the needs of the last runs: a program's first runs may need more than later ones, for
    which its code is compiled. A run needs the blocks that it uses, of which at most twice the peak count: a
    program whose arrays differ in size uses more bytes in blocks than are ever alive.

    Args:
        bytes: the peak of a run; a quarter is added, as blocks are larger than requested.
        max_bytes: the maximum claim; None: no limit.
    """

    cdef Claim claim
    cdef size_t max_bytes
    cdef size_t min_need
    cdef size_t earlier_need
    cdef size_t recent_need
    cdef size_t recent_runs

    def __cinit__(self, bytes, max_bytes=None):
        self.max_bytes = (<size_t>-1) >> 2 if max_bytes is None else max_bytes
        self.min_need = min(bytes, (<size_t>-1) >> 2)
        self.earlier_need = self.recent_need = self.recent_runs = 0
        self.claim.bytes = self._claimed(self.min_need)
        PyThread_acquire_lock(_lock, 1)
        self.claim.previous = &_claims
        self.claim.next = _claims.next
        _claims.next.previous = &self.claim
        _claims.next = &self.claim
        _set_max_idle()
        PyThread_release_lock(_lock)

    cdef size_t _claimed(self, size_t bytes) noexcept nogil:
        return min(bytes + bytes // 4, self.max_bytes)

    cdef void follow(self, size_t peak, size_t used) noexcept nogil:
        """Set the claim to the largest need of the last runs, at least `_WINDOW` of which count.

        Args:
            peak: the most bytes that were alive in the run.
            used: the bytes of the blocks that it used.
        """
        cdef size_t claimed
        PyThread_acquire_lock(_lock, 1)
        self.recent_need = max(self.recent_need, min(max(peak, used), 2 * peak))
        claimed = self._claimed(max(self.min_need, max(self.earlier_need, self.recent_need)))
        self.recent_runs += 1
        if self.recent_runs == _WINDOW:
            self.earlier_need, self.recent_need, self.recent_runs = self.recent_need, 0, 0
        if claimed != self.claim.bytes:
            self.claim.bytes = claimed
            _set_max_idle()
        PyThread_release_lock(_lock)

    def __dealloc__(self):
        PyThread_acquire_lock(_lock, 1)
        self.claim.previous.next = self.claim.next
        self.claim.next.previous = self.claim.previous
        if self.claim.bytes == _max_idle:
            _set_max_idle()
        PyThread_release_lock(_lock)


def idle_bytes():
    """The number of idle bytes."""
    return _idle


def release_idle():
    """Return all idle memory to the system."""
    _release_idle()


cdef void _lock_for_fork() noexcept nogil:
    PyThread_acquire_lock(_lock, 1)


cdef void _unlock_after_fork() noexcept nogil:
    PyThread_release_lock(_lock)


# The system's own handlers: in a child process Python frees the arrays of other threads' locals before it
# calls the functions of `os.register_at_fork`.
watch_forks(_lock_for_fork, _unlock_after_fork, _unlock_after_fork)
