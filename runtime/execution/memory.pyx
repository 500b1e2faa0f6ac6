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

cdef extern from *:
    """
    #include <stdlib.h>
    #if defined(_WIN32)
    #include <malloc.h>
    static void *aligned_block(size_t alignment, size_t bytes) { return _aligned_malloc(bytes, alignment); }
    static void free_aligned(void *block) { _aligned_free(block); }
    static void forget_pages(void *first, size_t bytes) { (void)first; (void)bytes; }
    static void watch_forks(void (*before)(void), void (*in_parent)(void), void (*in_child)(void)) {
        (void)before; (void)in_parent; (void)in_child;
    }
    #else
    #include <pthread.h>
    static void watch_forks(void (*before)(void), void (*in_parent)(void), void (*in_child)(void)) {
        pthread_atfork(before, in_parent, in_child);
    }
    #include <sys/mman.h>
    static void *aligned_block(size_t alignment, size_t bytes) {
        void *block = NULL;
        if (posix_memalign(&block, alignment, bytes) != 0) return NULL;
    #if defined(MADV_HUGEPAGE)
        if (alignment > 4096) madvise(block, bytes & ~(alignment - 1), MADV_HUGEPAGE);
    #endif
        return block;
    }
    static void free_aligned(void *block) { free(block); }
    static void forget_pages(void *first, size_t bytes) { madvise(first, bytes, MADV_DONTNEED); }
    #endif

    #include <stdint.h>
    #include <stdio.h>
    #include <string.h>
    /* NaNs as bf16, f16, f32 and f64 alike, and large numbers as integers. */
    enum { NEW_WORD = 0x7ff5, FREED_WORD = 0xfff7, GUARD_BYTE = 0xa5, GUARD_BYTES = 64 };
    enum { PATTERN_BYTES = 1 << 12 };
    static uint16_t new_words[PATTERN_BYTES / 2], freed_words[PATTERN_BYTES / 2];
    static const char *pattern(uint16_t word) { return (const char *)(word == NEW_WORD ? new_words : freed_words); }
    static void make_patterns(void) {
        for (int index = 0; index < PATTERN_BYTES / 2; index++)
            new_words[index] = NEW_WORD, freed_words[index] = FREED_WORD;
    }
    static size_t chunk_bytes(size_t left) { return left < PATTERN_BYTES ? left : PATTERN_BYTES; }
    static void poison(void *data, size_t bytes, uint16_t word) {
        for (size_t done = 0; done < bytes; done += PATTERN_BYTES)
            memcpy((char *)data + done, pattern(word), chunk_bytes(bytes - done));
    }
    static void expect(int holds, const char *reason, void *data, size_t bytes) {
        if (holds) return;
        fprintf(stderr, "nimblehlo: %s, of %zu bytes at %p\\n", reason, bytes, data);
        fflush(stderr);
        abort();
    }
    static void set_guard(void *data, size_t bytes) { memset((char *)data + bytes, GUARD_BYTE, GUARD_BYTES); }
    static void check_guard(void *data, size_t bytes) {
        const unsigned char *guard = (const unsigned char *)data + bytes;
        for (size_t index = 0; index < GUARD_BYTES; index++)
            expect(guard[index] == GUARD_BYTE, "memory was written behind a block", data, bytes);
    }
    static void check_freed(void *data, size_t bytes) {
        for (size_t done = 0; done < bytes; done += PATTERN_BYTES)
            expect(!memcmp((char *)data + done, pattern(FREED_WORD), chunk_bytes(bytes - done)),
                   "a freed block was written to", data, bytes);
    }
    #if defined(MADV_HUGEPAGE)
    enum { HAS_HUGE_PAGES = 1 };
    #else
    enum { HAS_HUGE_PAGES = 0 };
    #endif
    """
    enum:
        HAS_HUGE_PAGES
    void *aligned_block(size_t alignment, size_t bytes) noexcept nogil
    void free_aligned(void *block) noexcept nogil
    void forget_pages(void *first, size_t bytes) noexcept nogil
    ctypedef void (*ForkHandler)() noexcept nogil
    void watch_forks(ForkHandler before, ForkHandler in_parent, ForkHandler in_child) noexcept
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
cdef size_t _MIN_CHECKED_BYTES = MIN_CHECKED_BYTES
cdef size_t _ALIGNMENT = 64
cdef size_t _HUGE_PAGE = 1 << 21
# Blocks of at least _MIN_SHARING and less than _MIN_HUGE bytes are cut from slabs of _SLAB_BYTES. Larger
# blocks begin at a huge page of their own.
cdef size_t _MIN_SHARING = 1 << 19
cdef size_t _MIN_HUGE = 1 << 22
cdef size_t _SLAB_BYTES = 1 << 23
# The largest page of the supported systems (Arm): memory is returned in multiples of it.
cdef size_t _PAGE = 1 << 16
# Runs that begin after the one which took a block before its unused end returns.
cdef uint32_t _MIN_RUNS_KEPT = 3
cdef const char *_CAPSULE = "mem_handler"

# Precedes the data of an array: the requested bytes, the number of the run in which the block was taken last, and
# whether the tag is part of a Block. That comes last, so that a write to the byte before the data is found.
cdef struct Tag:
    size_t bytes
    uint32_t run
    uint32_t is_large

# Precedes the data of a large array; as large as a cache line. A live block that is larger than its array is linked in
# `_partly_used` by `newer` and `older`; those of other live blocks are NULL.
cdef struct Block:
    Block *newer
    Block *older
    Block *next
    Block *previous
    size_t capacity
    Slab *slab
    Tag tag

# The header of memory from which blocks are cut in order: the end of the last block, and the number of
# blocks. As large as a cache line.
cdef struct Slab:
    size_t end
    size_t blocks
    size_t[6] unused

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

cdef PyThread_type_lock _lock = PyThread_allocate_lock()
cdef Block *_classes[8 * 64]
cdef Slab *_slab = NULL
cdef Block *_newest = NULL
cdef Block *_oldest = NULL
cdef size_t _idle = 0
cdef size_t _max_idle = 0
cdef size_t _live = 0
cdef size_t _peak = 0
cdef size_t _runs = 0
# The number of the run that began last, and the bytes of the blocks that runs have used, each once for a run.
cdef uint32_t _run = 0
cdef size_t _used = 0
# The ends of the list of live blocks that are larger than their arrays: `newer` is the one that was taken first.
cdef Block _partly_used
_partly_used.newer = _partly_used.older = &_partly_used


cdef inline Tag *_tag(void *data) noexcept nogil:
    return <Tag *>(<char *>data - sizeof(Tag))


cdef size_t _size_class(size_t bytes, size_t *capacity) noexcept nogil:
    """The class of a number of bytes; `capacity` is set to the bytes of a block of that class."""
    cdef size_t power = 0, units
    while bytes >> (power + 1):
        power += 1
    units = ((bytes - 1) >> (power - 3)) + 1
    capacity[0] = units << (power - 3)
    if units == 16:
        power, units = power + 1, 8
    return 8 * power + units - 8


cdef size_t _class_of(Block *block) noexcept nogil:
    cdef size_t capacity = 0
    return _size_class(block.capacity, &capacity)


cdef void _unlink(Block *block) noexcept nogil:
    """Remove an idle block from its class and from the list by age."""
    global _newest, _oldest, _idle
    if _poisons:
        check_freed(block + 1, block.tag.bytes)
    if block.previous != NULL:
        block.previous.next = block.next
    else:
        _classes[_class_of(block)] = block.next
    if block.next != NULL:
        block.next.previous = block.previous
    if block.newer != NULL:
        block.newer.older = block.older
    else:
        _newest = block.older
    if block.older != NULL:
        block.older.newer = block.newer
    else:
        _oldest = block.newer
    _idle -= block.capacity


cdef void _link(Block *block) noexcept nogil:
    """Add a freed block to its class and to the list by age."""
    global _newest, _oldest, _idle
    cdef size_t size_class = _class_of(block)
    block.previous = NULL
    block.next = _classes[size_class]
    if block.next != NULL:
        block.next.previous = block
    _classes[size_class] = block
    block.newer = NULL
    block.older = _newest
    if _newest != NULL:
        _newest.newer = block
    else:
        _oldest = block
    _newest = block
    _idle += block.capacity


cdef void _trim(size_t max_bytes) noexcept nogil:
    """Return idle blocks to the system, the oldest first, until at most `max_bytes` bytes are idle. Needs the lock."""
    cdef Block *block
    while _idle > max_bytes:
        block = _oldest
        _unlink(block)
        _return_to_system(block)


cdef void _trim_to_need() noexcept nogil:
    """Return the idle blocks that exceed the need. Needs the lock."""
    _trim(max(_max_idle, _peak - _live) if _runs else _max_idle)


cdef void _return_pages(size_t first, Block *block) noexcept nogil:
    """Return the pages of a block from an address on to the system; the block stays."""
    cdef size_t end = (<size_t>block + sizeof(Block) + block.capacity) & ~(_PAGE - 1)
    first = (first + _PAGE - 1) & ~(_PAGE - 1)
    if first < end:
        forget_pages(<void *>first, end - first)


cdef void _return_to_system(Block *block) noexcept nogil:
    """Free a block, or the pages that only it uses of a slab. Needs the lock for a block of a slab."""
    global _slab
    cdef Slab *slab = block.slab
    if slab == NULL:
        free_aligned(block)
        return
    slab.blocks -= 1
    if slab.blocks:
        _return_pages(<size_t>block, block)
        return
    if slab == _slab:
        _slab = NULL
    free_aligned(slab)


# What a signal handler raised while an allocation asked what memory is left, by thread.
cdef dict _interruptions = {}


cdef bint _is_left(size_t bytes) noexcept with gil:
    """Whether the system has a number of bytes left."""
    try:
        return shortage_of(bytes) is None
    except BaseException as error:
        if not isinstance(error, Exception):
            _interruptions[get_ident()] = error
        return False


cdef int _raise_interruption() except -1:
    """Raise what a signal handler raised in an allocation of this thread."""
    if _interruptions:
        error = _interruptions.pop(get_ident(), None)
        if error is not None:
            raise error
    return 0


cdef Block *_new_large(size_t bytes, size_t capacity) noexcept nogil:
    """Memory from the system for a number of bytes, in huge pages where they pay; NULL if there is too little."""
    cdef Block *block = NULL
    if bytes >= _MIN_CHECKED_BYTES and not _is_left(bytes):
        return NULL
    if HAS_HUGE_PAGES and _MIN_SHARING <= capacity < _MIN_HUGE:
        PyThread_acquire_lock(_lock, 1)
        block = _cut(capacity + sizeof(Block))
        PyThread_release_lock(_lock)
    if block == NULL:
        block = <Block *>aligned_block(
            _HUGE_PAGE if capacity >= _MIN_HUGE else _ALIGNMENT, capacity + sizeof(Block)
        )
        if block != NULL:
            block.slab = NULL
    return block


cdef Block *_cut(size_t bytes) noexcept nogil:
    """The next bytes of the newest slab, or of a new one; NULL if there is no memory. Needs the lock."""
    global _slab
    cdef Slab *slab = _slab
    cdef Block *block
    if slab == NULL or slab.end + bytes > _SLAB_BYTES:
        slab = <Slab *>aligned_block(_HUGE_PAGE, _SLAB_BYTES)
        if slab == NULL:
            return NULL
        slab.end, slab.blocks = sizeof(Slab), 0
        _slab = slab
    block = <Block *>(<char *>slab + slab.end)
    block.slab = slab
    slab.end += bytes
    slab.blocks += 1
    return block


cdef Block *_smallest_idle(size_t size_class) noexcept nogil:
    """The idle block of this class, or of the next larger one that has any but is not twice as large; NULL: there is
    none. Needs the lock."""
    cdef size_t candidate, end = min(size_class + 8, <size_t>(8 * 64))
    for candidate in range(size_class, end):
        if _classes[candidate] != NULL:
            return _classes[candidate]
    return NULL


cdef size_t _needed(Block *block) noexcept nogil:
    """The bytes of a block of the class of what was requested: it may be in a larger one."""
    cdef size_t capacity = 0
    _size_class(block.tag.bytes + _guard_bytes, &capacity)
    return capacity


cdef void _mark_taken(Block *block, size_t capacity) noexcept nogil:
    """Link a block that was idle in `_partly_used` if it has more bytes than its new array's class. Needs the lock."""
    if block.capacity == capacity:
        block.newer = block.older = NULL
        return
    block.newer, block.older = &_partly_used, _partly_used.older
    block.older.newer = block
    _partly_used.older = block


cdef void _unmark(Block *block) noexcept nogil:
    """Remove a block from `_partly_used` if it is there. Needs the lock."""
    if block.newer != NULL:
        block.newer.older, block.older.newer = block.older, block.newer
        block.newer = block.older = NULL


cdef void _return_unused_ends() noexcept nogil:
    """Return the ends of blocks whose arrays are smaller and outlive the next runs. Needs the lock.

    A result that the next call takes, and the caller then drops, has been freed by then: its block is used again as a
    whole.
    """
    cdef Block *block = _partly_used.newer
    while block != &_partly_used and _run - block.tag.run >= _MIN_RUNS_KEPT:
        _return_pages(<size_t>(block + 1) + block.tag.bytes + _guard_bytes, block)
        _unmark(block)
        block = _partly_used.newer


cdef void *_take_large(size_t bytes) noexcept nogil:
    global _live, _peak, _used
    cdef size_t capacity = 0
    cdef size_t size_class
    cdef uint32_t run
    cdef Block *block
    if bytes > (<size_t>-1) >> 2:
        return NULL
    size_class = _size_class(bytes + _guard_bytes, &capacity)
    PyThread_acquire_lock(_lock, 1)
    run = _run
    block = _smallest_idle(size_class)
    if block != NULL:
        _unlink(block)
        _mark_taken(block, capacity)
        if block.tag.run != run:
            _used += block.capacity
        block.tag = Tag(bytes, run, 1)
    else:
        _used += capacity
    _live += capacity
    _peak = max(_peak, _live)
    PyThread_release_lock(_lock)
    if block == NULL:
        block = _new_large(bytes, capacity)
        if block == NULL:
            _release_idle()
            block = _new_large(bytes, capacity)
            if block == NULL:
                _forget_live(capacity)
                return NULL
        block.capacity = capacity
        block.newer = block.older = NULL
        block.tag = Tag(bytes, run, 1)
    return <char *>block + sizeof(Block)


cdef void _forget_live(size_t capacity) noexcept nogil:
    """Subtract a block that could not be allocated from the live bytes."""
    global _live
    PyThread_acquire_lock(_lock, 1)
    _live -= capacity
    PyThread_release_lock(_lock)


cdef void _release_idle() noexcept nogil:
    PyThread_acquire_lock(_lock, 1)
    _trim(0)
    PyThread_release_lock(_lock)


cdef void *_take_small(size_t bytes) noexcept nogil:
    if bytes > (<size_t>-1) >> 2:
        return NULL
    cdef Tag *tag = <Tag *>malloc(bytes + sizeof(Tag) + _guard_bytes)
    if tag == NULL:
        return NULL
    tag[0] = Tag(bytes, 0, 0)
    return tag + 1


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
