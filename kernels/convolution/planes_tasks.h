/* Depthwise convolutions of planes: in lhs either the elements of a channel are contiguous, row by row, or the channels
   of an element are. The same holds for the result, whose layout may be the other one.

   A work item copies some rows of a vector of channels, so that its channels are contiguous and zeros surround them,
   scales the copies with the channels in vectors, and writes the sums to the result. The order of additions is that of
   scaled elements in `convolution_tasks.h`: factors are finite, so that what the padding adds to a sum are zeros.
   They change no bit, since a sum that begins with +0 is never -0. */

#ifndef NIMBLEHLO_PLANES_TASKS_H
#define NIMBLEHLO_PLANES_TASKS_H

enum { PLANES_WINDOWS = 8 /* scaled together */ };

/* The arguments of plane tasks; strides and offsets are in items.

   `rows`, `columns`: of a plane of lhs; `window_rows`, `window_columns`: of a plane of the result. `low_row`,
   `low_column`: the padding before them. `row_step`, `column_step`: strides of windows. A work item is `block` rows of
   windows, which read `copied_rows` of `pitch` elements, and a vector of channels; `blocks` are those of a plane.
   Strides of rows and columns, and `nontemporal`, are used for an array in which the channels of an element are
   contiguous.
   `copy_offsets`: of each position in a copy of planes, in vectors; `factor_offsets`: into rhs. */
typedef struct {
    const char *lhs, *rhs;
    char *result;
    int64_t channels, rows, columns, window_rows, window_columns, low_row, low_column, row_step, column_step;
    int64_t lhs_batch_stride, lhs_row_stride, lhs_column_stride, lhs_channel_stride;
    int64_t result_batch_stride, result_row_stride, result_column_stride, result_channel_stride, nontemporal;
    int64_t block, blocks, copied_rows, pitch, positions, factor_output_stride;
    const int64_t *copy_offsets, *factor_offsets;
    int64_t kind, level;
    ConvLaunch launch;
} ConvPlanes;

#endif
