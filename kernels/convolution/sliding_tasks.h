/* Products of windows that slide along rows of lhs, for few output features: packing windows would take longer than
   multiplying them.

   A work item copies the rows of lhs that its windows read, with zeros where the padding is, and the elements of every
   `column_step`th column side by side. The elements that neighbouring windows have at one position are then contiguous
   in the copy, wherever they begin: vectors of them are multiplied with the factors of some output features. The order
   of additions is that of products in `convolution_tasks.h`. */

#ifndef NIMBLEHLO_SLIDING_TASKS_H
#define NIMBLEHLO_SLIDING_TASKS_H

enum {
    SLIDING_VECTORS = 8, /* of a tile, at most */
    SLIDING_OUTPUTS = 4, /* output features of a tile, at most */
};

/* The arguments of sliding tasks; strides and offsets are in items.

   `rows`, `columns`: of lhs; `window_rows`, `window_columns`: of the result. `low_row`, `low_column`: the padding before
   them. `row_step`, `column_step`: strides of windows. A work item is `row_block` rows of `column_block` windows, which
   read `copied_rows` rows, each of `column_step` phases of `pitch` elements; `row_blocks` and `column_blocks` are those
   of an image. `copy_offsets`, `factor_offsets`: of each product of a sum in a copy, and in rhs. */
typedef struct {
    const char *lhs, *rhs;
    char *result;
    int64_t features, outputs, rows, columns, window_rows, window_columns, low_row, low_column, row_step, column_step;
    int64_t lhs_batch_stride, lhs_row_stride, lhs_column_stride, lhs_feature_stride;
    int64_t result_batch_stride, result_row_stride, result_column_stride, result_output_stride;
    int64_t row_block, row_blocks, column_block, column_blocks, copied_rows, pitch, factor_output_stride;
    int64_t k_size, k_block_size;
    const int64_t *copy_offsets, *factor_offsets;
    int64_t kind, level;
    ConvLaunch launch;
} ConvSliding;

#endif
