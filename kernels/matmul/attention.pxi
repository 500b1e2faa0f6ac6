# Attention: a product, a computation on the rows of its result, and a product with that, as one launch. `matmul.pyx`
# includes this.

cdef extern from "matmul/attention.h" nogil:
    enum:
        ATTENTION_MAX_ARGS

    ctypedef struct Attention:
        Matmul scores, output
        void (*rows)(int64_t task, void *args) noexcept
        int64_t args[ATTENTION_MAX_ARGS]
        int64_t arg_count, scores_arg, weights_arg, is_transposed, scores_bytes, output_bytes

    void attention_task(int64_t task, void *attention) noexcept

cdef enum:
    ATTENTION_INTEGERS = 3
    # Bytes of a block of scores, at most, unless it has fewer rows than MIN_ATTENTION_ROWS. Larger blocks pack the
    # columns of both products less often, but leave the L2 cache (1 MB a core of Zen 4).
    MAX_SCORES_BYTES = 1 << 18
    MIN_ATTENTION_ROWS = 24

MAX_ATTENTION_OPERANDS = ATTENTION_MAX_ARGS - ATTENTION_INTEGERS - 1
"""Maximum number of operands of the computation on rows."""


cdef class FusedAttention:
    """The product of `query` and `key`, a computation on its rows, and a product of that with `value`.

    Args:
        rows: the address of a task of `loops.reductions.rows` with one result, of the shape and the element type of
            the first product.
        seconds: its estimated seconds on one thread.
        scores_operand: the number of the scores, the first product, among the operands of the rows' task.
        weights_are_rhs: whether the weights, its result, are the right operand of the second product, transposed.
        threads: maximum number of threads; None: all.
    """

    cdef size_t rows
    cdef double seconds
    cdef Py_ssize_t scores_operand
    cdef bint weights_are_rhs
    cdef object threads

    def __init__(self, size_t rows, double seconds, Py_ssize_t scores_operand, bint weights_are_rhs, threads=None):
        self.rows, self.seconds, self.threads = rows, seconds, threads
        self.scores_operand, self.weights_are_rhs = scores_operand, weights_are_rhs

    def __call__(self, cnp.ndarray query not None, cnp.ndarray key not None, cnp.ndarray value not None, *row_operands):
        """Return the second product.

        Args:
            query, key: stacks [..., row, k] and [..., k, column], as for `multiply`.
            value: the other operand of the second product: [..., column, feature], or [..., feature, column] if the
                weights are its right operand.
            row_operands: the operands of the computation on rows, without the first product.

        Raises:
            ValueError: as for `multiply`.
        """
        cdef Attention attention
        cdef Matmul *scores = &attention.scores
        cdef Matmul *output = &attention.output
        cdef cnp.npy_intp score_shape[MAX_RANK]
        cdef cnp.npy_intp shape[MAX_RANK]
        cdef int64_t batch = describe(scores, query, key, score_shape), batch_strides[MAX_RANK]
        cdef int rank = cnp.PyArray_NDIM(query), axis
        cdef Py_ssize_t number = 0
        cdef cnp.ndarray array
        cdef AlignedMemory workspace
        # The weights exist block by block only: an array without memory gives the second product its shape.
        cdef object weights = np.broadcast_to(np.zeros((), query.dtype), [score_shape[axis] for axis in range(rank)])
        cdef cnp.ndarray right = value.swapaxes(rank - 1, rank - 2) if self.weights_are_rhs else value
        describe(output, weights, right, shape)
        output.left.outer_stride, output.left.k_stride = scores.columns * scores.itemsize, scores.itemsize
        if self.weights_are_rhs:
            # Weights are not packed if they are the left operand, and the order of factors changes no bit.
            shape[rank - 2], shape[rank - 1] = output.columns, output.rows
        cdef cnp.ndarray result = result_of(output, value, shape)
        scores.row_blocks = (scores.rows + attention_rows(scores) - 1) // attention_rows(scores)
        scores.row_block = block_size(scores.rows, scores.row_blocks, 1)
        scores.row_blocks = (scores.rows + scores.row_block - 1) // scores.row_block
        scores.column_block = block_size(scores.columns, 1, WIDTH)
        output.row_block, output.column_block = scores.row_block, block_size(output.columns, 1, WIDTH)
        scores.column_blocks = output.column_blocks = 1
        scores.is_symmetric = output.is_symmetric = 0
        attention.rows = <void (*)(int64_t, void *) noexcept nogil>self.rows
        attention.is_transposed = self.weights_are_rhs
        attention.scores_arg, attention.weights_arg = self.scores_operand, len(row_operands) + 1
        attention.arg_count = attention.weights_arg + 1 + ATTENTION_INTEGERS
        if attention.arg_count > ATTENTION_MAX_ARGS:
            raise ValueError(f"more than {MAX_ATTENTION_OPERANDS} operands")
        arrays = [one if cnp.PyArray_ISCARRAY_RO(one) else np.array(one, order="C") for one in row_operands]
        for array in arrays:
            number += number == self.scores_operand
            attention.args[number] = <int64_t>cnp.PyArray_DATA(array)
            number += 1
        workspace = allocate_attention(&attention, batch * scores.row_blocks)
        run_independent(
            <size_t>&attention_task, <size_t>&attention, batch * scores.row_blocks,
            self.seconds + seconds_of(scores, batch) + seconds_of(output, batch), self.threads,
        )
        return result


cdef int64_t attention_rows(Matmul *scores) noexcept:
    """Rows of a block of scores, at most."""
    return max(MIN_ATTENTION_ROWS, MAX_SCORES_BYTES // (scores.columns * scores.itemsize))


cdef AlignedMemory allocate_attention(Attention *attention, int64_t tasks):
    """Allocate workspaces that both products use, each with blocks of scores, weights and results behind it."""
    cdef Matmul *scores = &attention.scores
    cdef Matmul *output = &attention.output
    cdef AlignedMemory workspace
    cdef int64_t matmul_bytes = max(matmul_workspace_bytes(scores), matmul_workspace_bytes(output))
    cdef int64_t slot
    scores.copy_bytes = output.copy_bytes = 0
    attention.scores_bytes = block_size(scores.row_block * scores.columns * scores.itemsize, 1, MEMORY_ALIGNMENT)
    scores.workspace_count = min(tasks, max(MIN_WORKSPACES, available_threads()), MATMUL_MAX_WORKSPACES)
    attention.output_bytes = attention.is_transposed * block_size(
        output.row_block * output.columns * output.itemsize, 1, MEMORY_ALIGNMENT
    )
    scores.workspace_bytes = matmul_bytes + 2 * attention.scores_bytes + attention.output_bytes
    for slot in range(scores.workspace_count):
        scores.workspace_busy[slot], scores.copied_rows[slot] = 0, 0
    workspace = AlignedMemory(scores.workspace_count * scores.workspace_bytes)
    scores.workspace = workspace.memory
    return workspace


cdef int64_t matmul_workspace_bytes(Matmul *product) noexcept:
    """Bytes of a workspace that copies rows for each block."""
    cdef int64_t copies = matmul_copies_rows(product, product.row_block, product.column_block)
    return block_size(
        (MATMUL_PANEL + matmul_partial_sums(product)) * product.itemsize + copies * matmul_copy_bytes(product),
        1, MEMORY_ALIGNMENT,
    )
