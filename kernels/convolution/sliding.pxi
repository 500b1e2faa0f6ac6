# Launches of windows that slide along rows, for `convolution_tasks.pyx`.


cdef extern from "convolution_tasks.h" nogil:
    enum:
        SLIDING_OUTPUTS

    ctypedef struct ConvSliding:
        const char *lhs
        const char *rhs
        char *result
        int64_t features, outputs, rows, columns, window_rows, window_columns
        int64_t low_row, low_column, row_step, column_step
        int64_t lhs_batch_stride, lhs_row_stride, lhs_column_stride, lhs_feature_stride
        int64_t result_batch_stride, result_row_stride, result_column_stride, result_output_stride
        int64_t row_block, row_blocks, column_block, column_blocks, copied_rows, pitch, factor_output_stride
        int64_t k_size, k_block_size
        const int64_t *copy_offsets
        const int64_t *factor_offsets
        int64_t kind, level
        ConvLaunch launch

    void conv_sliding_task(int64_t task, void *sliding) noexcept


cdef class Sliding(PackingLaunch):
    """Windows that slide along rows. `layout` has the fields of `ConvSliding` that depend on shapes and strides.

    Args:
        name: the element type.
        level: the instruction set.
        tables: `copy_offsets` and `factor_offsets`.
        layout: the fields.
        offsets: bytes from the beginning of rhs and of the result to the slices to use.
        seconds, threads: see `PackingLaunch`.
    """

    cdef ConvSliding plan
    cdef int64_t rhs_offset, result_offset

    def __init__(self, name, level, tables, layout, offsets, seconds, threads=None):
        cdef ConvSliding *p = &self.plan
        cdef int64_t batch, lanes, vectors, rows, items
        super().__init__(seconds, threads, False)
        self.rhs_offset, self.result_offset = offsets
        p.kind, p.level = _KINDS[name], level
        p.copy_offsets = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["copy_offsets"], self.keep_alive))
        p.factor_offsets = <const int64_t *>cnp.PyArray_DATA(as_integers(tables["factor_offsets"], self.keep_alive))
        (batch, p.features, p.outputs, p.rows, p.columns, p.window_rows, p.window_columns) = layout["sizes"]
        (p.low_row, p.low_column, p.row_step, p.column_step) = layout["windows"]
        p.lhs_batch_stride, p.lhs_row_stride, p.lhs_column_stride, p.lhs_feature_stride = layout["lhs_strides"]
        (p.result_batch_stride, p.result_row_stride, p.result_column_stride,
            p.result_output_stride) = layout["result_strides"]
        p.k_size, p.k_block_size, p.factor_output_stride = layout["contraction"]
        p.row_block, p.column_block, p.copied_rows, p.pitch = layout["blocks"]
        p.row_blocks = (p.window_rows + p.row_block - 1) // p.row_block
        p.column_blocks = (p.window_columns + p.column_block - 1) // p.column_block
        p.launch.pack_tasks, p.launch.work_items = 0, batch * p.row_blocks * p.column_blocks
        self.tasks = divide_items(p.launch.work_items, MAX_TASKS, &p.launch.items_per_task)
        conv_tile_shape(p.kind, level, &lanes, &vectors, &rows)
        items = p.features * p.copied_rows * p.column_step * p.pitch + lanes
        items += (p.outputs + SLIDING_OUTPUTS) * p.k_size
        p.launch.slot_bytes = rounded(CONV_CACHE_LINE + items * np.dtype(name).itemsize)

    cdef PackingTasks packing_tasks(self) noexcept:
        return PackingTasks(
            <size_t>&launched_sliding_begin, <size_t>&launched_sliding_task, <size_t>&self.plan, &self.plan.launch,
            self.rhs_offset, self.result_offset,
        )

    def __call__(self, cnp.ndarray lhs, cnp.ndarray rhs, cnp.ndarray result):
        """Write the result for arrays with the strides that were prepared."""
        cdef ConvSliding plan = self.plan
        plan.lhs, plan.rhs = <char *>cnp.PyArray_DATA(lhs), <char *>cnp.PyArray_DATA(rhs) + self.rhs_offset
        plan.result = <char *>cnp.PyArray_DATA(result) + self.result_offset
        self.run(<size_t>conv_sliding_task, <size_t>&plan, &plan.launch)
