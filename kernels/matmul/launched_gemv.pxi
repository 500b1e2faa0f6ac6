# GEMVs of arrays of known layouts as launches, for native loops. `gemv.pyx` includes this.

cdef extern from "launched_gemv.h" nogil:
    void launched_gemv_begin(int64_t task, void *closure) noexcept
    void launched_gemv_task(int64_t task, void *closure) noexcept


cdef class GemvLayout:
    """All of a product but the addresses of its arrays.

    Args:
        lhs, rhs: arrays with the layouts of the operands; their elements are not read.
    """

    cdef Gemv product
    cdef cnp.npy_intp shape[MAX_RANK]
    # Their strides are part of the product.
    cdef cnp.ndarray vector, matrix
    cdef bint is_left, is_in_place

    def __cinit__(self, cnp.ndarray lhs not None, cnp.ndarray rhs not None):
        cdef Gemv *product = &self.product
        self.is_left = describe(product, lhs, rhs, self.shape)
        self.matrix, self.vector = (lhs, rhs) if self.is_left else (rhs, lhs)
        self.is_in_place = is_vector_in_place(product, self.vector, self.is_left) and is_matrix_in_place(
            product, self.matrix, self.is_left
        )
        set_layout(product, self.vector, self.matrix, self.is_left)


def launched_product(cnp.ndarray lhs not None, cnp.ndarray rhs not None, threads=None):
    """`multiply` as a `NativeFunction` of C-contiguous arrays; None if nothing is added, there are several k blocks, or
    an operand is copied.

    Args:
        lhs, rhs: arrays with the layouts that `multiply` would get; their elements are not read.
        threads: maximum number of threads; None: all.

    Raises:
        ValueError: as for `multiply`.
    """
    from ..launch.native import Launch, NativeFunction

    cdef GemvLayout layout = GemvLayout(lhs, rhs)
    cdef Gemv *product = &layout.product
    if not layout.is_in_place or not bytes_of(product):
        return None
    cdef int64_t tasks = divide(product, threads), matrix = 0 if layout.is_left else 1
    if product.k_blocks > 1:
        return None
    accesses = (1 - matrix, 0), (matrix, 0), (2, 0), (3, 0)
    begin = Launch(<size_t>&launched_gemv_begin, 1, accesses, (<size_t>product,), 0.0, layout)
    run = Launch(<size_t>&launched_gemv_task, tasks, ((3, 0),), (_vector_bytes,), seconds_of(product))
    result = tuple([layout.shape[axis] for axis in range(cnp.PyArray_NDIM(lhs))]), (<object>lhs).dtype
    sizes = [cnp.PyArray_NBYTES(lhs), cnp.PyArray_NBYTES(rhs)]
    return NativeFunction(sizes, [result], [begin, run], threads, [((sizeof(Gemv),), np.uint8)])
