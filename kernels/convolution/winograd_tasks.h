/* Winograd's convolutions F(2x2, 3x3): each tile of 2x2 windows of 3x3 elements takes 16 products for each pair of an
   input and an output feature, where windows one by one take 36. `winograd_loops.h` holds the loops, once for each
   instruction set; this file has their parameters.

   Source: S. Winograd, Arithmetic complexity of computations (1980); A. Lavin and S. Gray, Fast algorithms for
   convolutional neural networks (2016).

   Formula. A tile reads elements d of 4x4 positions, zero in the padding, of each input feature; g are the factors of
   the window. With

       B' = [1 0 -1 0; 0 1 1 0; 0 -1 1 0; 0 1 0 -1],  G = [1 0 0; .5 .5 .5; .5 -.5 .5; 0 0 1],
       A' = [1 1 1 0; 0 1 -1 -1]

   the results are A' M A, where M is the sum over input features of (B' d B) times (G g G') element by element.

   Order of additions. Each transform first goes along columns (of the tile's rows 0 to 3), then along rows:

   - inputs: d0 - d2, d1 + d2, d2 - d1, d1 - d3;
   - factors: g0, ((g0 + g2) + g1) / 2, ((g0 + g2) - g1) / 2, g2;
   - results: (m0 + m1) + m2, (m1 - m2) - m3.

   M is summed as products are in `convolution_tasks.h`: input features are divided into the fewest k blocks of at most
   CONV_K_BLOCK, all but the last of one size; the products of a block are added to +0 by fused multiply-add, and the
   sums of the blocks are added in order.

   A result depends only on the elements of its own window. If one of these or of the factors is not finite, or a sum
   overflows, so is the result: then `non_finite` is set, and the caller computes such results directly. */

#ifndef NIMBLEHLO_WINOGRAD_TASKS_H
#define NIMBLEHLO_WINOGRAD_TASKS_H

enum {
    WINOGRAD_COLUMNS = 64,        /* output features of a work item, at most */
    WINOGRAD_TILES = 56,          /* of a work item, at most: whole tiles of 7 or 8 rows */
    WINOGRAD_PACKED_FEATURES = 8, /* input features whose factors a packing work item transforms */
    WINOGRAD_POSITIONS = 16,      /* of a tile */
    WINOGRAD_LANES = 16,          /* items of a vector, at most */
    WINOGRAD_COPIED = 4 * (2 * WINOGRAD_TILES + 2) * WINOGRAD_LANES, /* items of inputs that are copied at a time */
};

/* The arguments of Winograd tasks; strides and offsets are in items.

   `row_offsets` and `column_offsets`: lhs offsets [tile row][4] and [tile column][4], CONV_OUTSIDE in the padding.
   `factor_offsets`: of the 9 positions of a window, into rhs. `factor_run`, `first_factor`: as in ConvProduct. `launch.panels`: transformed factors [group of
   WINOGRAD_COLUMNS output features][k block][position of a tile][strip][k][item], groups padded to whole vectors, with
   a gap behind each position. A packing task transforms factors. A work item is `block` tiles, the last of the `blocks`
   fewer, and a group of output features. `epilogue`: as in ConvProduct. */
typedef struct {
    const char *lhs, *rhs;
    char *result;
    const Epilogue *epilogue;
    int64_t features, columns, k_block_size, k_block_count;
    int64_t tile_rows, tile_columns, tiles, result_rows, result_columns;
    const int64_t *row_offsets, *column_offsets, *factor_offsets;
    int64_t factor_run, first_factor;
    int64_t lhs_batch_stride, feature_stride, factor_feature_stride, factor_output_stride;
    int64_t result_batch_stride, result_row_stride, result_column_stride, output_stride;
    int64_t block, blocks, non_finite, level;
    ConvLaunch launch;
} ConvWinograd;

/* Strides of the memory of a work item, in items: an odd number of cache lines, so that what the 16 positions of a tile
   hold is in different sets of the caches. */
static inline int64_t winograd_position_stride(int64_t rows, int64_t width) {
    return ((rows * width + WINOGRAD_LANES - 1) / WINOGRAD_LANES | 1) * WINOGRAD_LANES;
}

/* The items from one tile to the next of `k_size` transformed features, whose last vector is whole. */
static inline int64_t winograd_row_stride(int64_t k_size) {
    return ((k_size + WINOGRAD_LANES - 1) / WINOGRAD_LANES + 1) * WINOGRAD_LANES;
}

#endif
