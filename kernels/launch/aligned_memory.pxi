# Workspaces of native code. Modules that include this have `cnp` and `int64_t`, and each caches an array of its own.

from nimblehlo.kernels.launch.poison import max_cached_bytes as _max_cached_bytes

cdef enum:
    MEMORY_ALIGNMENT = 64

cdef int64_t _MAX_CACHED_BYTES = _max_cached_bytes(1 << 26)
cdef cnp.ndarray _cached = None


cdef class AlignedMemory:
    """Memory that begins at a cache line. The last array is cached between calls: page faults cost more than copying.

    It comes from NumPy, so that limits on memory hold for it.

    Args:
        bytes_needed: the minimum size in bytes.
        is_kept: whether it outlives the call: it is then no larger than needed, and is not cached later.
    """

    cdef cnp.ndarray array
    cdef char *memory
    cdef bint is_kept

    def __cinit__(self, int64_t bytes_needed, bint is_kept=False):
        global _cached
        cdef cnp.npy_intp size = bytes_needed + MEMORY_ALIGNMENT
        self.is_kept = is_kept
        if not is_kept:
            self.array, _cached = _cached, None
        if self.array is None or cnp.PyArray_NBYTES(self.array) < size:
            self.array = cnp.PyArray_EMPTY(1, &size, cnp.NPY_UINT8, 0)
        self.memory = <char *>cnp.PyArray_DATA(self.array)
        self.memory += -<size_t>self.memory % MEMORY_ALIGNMENT

    def __dealloc__(self):
        global _cached
        if not self.is_kept and self.array is not None and cnp.PyArray_NBYTES(self.array) <= _MAX_CACHED_BYTES:
            _cached = self.array
