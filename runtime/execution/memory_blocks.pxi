# The blocks of the pool of arrays: their size classes, the idle ones, and memory from the system. `memory` includes this
# file; its docstring says what becomes of a block.

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
