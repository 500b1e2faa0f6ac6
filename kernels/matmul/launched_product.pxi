# Products of arrays of known layouts as launches, for native loops. `matmul.pyx` includes this.

cdef extern from "launched_product.h" nogil:
    enum:
        LAUNCHED_WORKSPACE_BYTES

    int64_t launched_try_workspace()
    void launched_release_workspace(int64_t slot)
    void launched_product_task(int64_t task, void *closure) noexcept


cdef class ProductLayout:
    """All of a product but the addresses of its arrays.

    Args:
        lhs, rhs: arrays with the layouts of the operands; their elements are not read.
    """

    cdef Matmul product
    cdef cnp.npy_intp shape[MAX_RANK]
    cdef int64_t batch
    # Their strides are part of the product.
    cdef cnp.ndarray lhs, rhs

    def __cinit__(self, cnp.ndarray lhs not None, cnp.ndarray rhs not None):
        self.lhs, self.rhs = lhs, rhs
        self.batch = describe(&self.product, lhs, rhs, self.shape)


def launched_product(cnp.ndarray lhs not None, cnp.ndarray rhs not None, threads=None):
    """`multiply` as a `NativeFunction` of C-contiguous arrays; None if its workspace is too large, or nothing is added.

    Args:
        lhs, rhs: arrays with the layouts that `multiply` would get, of different addresses; their elements are not read.
        threads: maximum number of threads; None: all.

    Raises:
        ValueError: as for `multiply`.
        MemoryError: there is no memory for a workspace.
    """
    from ..launch.native import Launch, NativeFunction

    cdef ProductLayout layout = ProductLayout(lhs, rhs)
    cdef Matmul *product = &layout.product
    cdef int64_t tasks = 1, slot, most_threads = chosen_threads(threads)
    if not layout.batch * product.rows * product.columns * product.k_size or _MAX_CACHED_BYTES == 0:
        return None
    divide(product, layout.batch, available_threads())
    if most_threads > 1:
        tasks = set_tasks(product, layout.batch)
    else:
        product.items_per_task = product.work_items
    if set_workspace_bytes(product, min(tasks, most_threads)) > LAUNCHED_WORKSPACE_BYTES:
        return None
    # Tasks wait for a workspace, of which there is one from now on.
    slot = launched_try_workspace()
    if slot < 0:
        raise MemoryError
    launched_release_workspace(slot)
    cdef size_t address = <size_t>product
    launch = Launch(
        <size_t>&launched_product_task, tasks, ((0, 0), (1, 0), (2, 0)), (address,), seconds_of(product, layout.batch),
        layout,
    )
    result = tuple([layout.shape[axis] for axis in range(cnp.PyArray_NDIM(lhs))]), (<object>lhs).dtype
    return NativeFunction([cnp.PyArray_NBYTES(lhs), cnp.PyArray_NBYTES(rhs)], [result], [launch], threads)
