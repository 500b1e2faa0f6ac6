# Memory that native code works in, included by modules each of which keeps its own. They
# have `cnp` and `int64_t`.

from nimblehlo.kernels.launch.poison import most_kept as _most_kept

cdef enum:
    KEPT_ALIGNMENT = 64

cdef int64_t _MOST_KEPT_BYTES = _most_kept(1 << 26)
cdef cnp.ndarray _kept = None


cdef class AlignedMemory:
    """Memory that begins at a cache line. Some is kept between calls: the first touch of new pages costs more than
    copying.

    It comes from NumPy, so that limits on memory hold for it.
    """

    cdef cnp.ndarray array
    cdef char *memory

    def __cinit__(self, int64_t wanted):
        global _kept
        cdef cnp.npy_intp size = wanted + KEPT_ALIGNMENT
        self.array, _kept = _kept, None
        if self.array is None or cnp.PyArray_NBYTES(self.array) < size:
            self.array = cnp.PyArray_EMPTY(1, &size, cnp.NPY_UINT8, 0)
        self.memory = <char *>cnp.PyArray_DATA(self.array)
        self.memory += -<size_t>self.memory % KEPT_ALIGNMENT

    def __dealloc__(self):
        global _kept
        if self.array is not None and cnp.PyArray_NBYTES(self.array) <= _MOST_KEPT_BYTES:
            _kept = self.array
