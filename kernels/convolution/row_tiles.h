/* Scaled elements of contiguous channels, for one element type and instruction set: tiles of a few windows of a row.
   `convolution_loops.h` includes this. The sums of a tile are in registers, and an element is loaded once for all of
   its windows that read it, row of elements by row: the order of a window's additions is that of its positions.
   Elements in the padding are zeros, whose products change no sum of finite factors. */

#define ROW_TILE_VECTORS (CONV_LANES * CONV_ITEM_BYTES == 64 ? 2 : 1)

static const CONV_ITEM CONV_NAME(row_zeros)[2 * CONV_LANES] = {0};

/* The rows of elements that the windows of a row read: the address of each and the factors of its positions. */
typedef struct {
    const CONV_ITEM *rows[CONV_MAX_TILED_ROWS], *factors;
    const int64_t *factor_offsets[CONV_MAX_TILED_ROWS];
    int64_t count, columns, column_stride, result_stride, nontemporal;
} CONV_NAME(ConvTiledRows);

/* Scale `windows` windows, `step` elements apart, for `vectors` of channels, the last with `last_lanes` items; the
   first window begins at element `first`, and `stored` of them are in the result. */
CONV_INLINE void CONV_NAME(row_tile)(
    int positions, int step, int windows, int vectors, const CONV_NAME(ConvTiledRows) *r, int64_t first, int64_t stored,
    int64_t channel, int64_t last_lanes, CONV_ITEM *result) {
    CONV_VECTOR totals[CONV_TILED_WINDOWS][2];
    UNROLL for (int w = 0; w < windows; w++)
        UNROLL for (int v = 0; v < vectors; v++) totals[w][v] = (CONV_VECTOR){0};
    for (int64_t row = 0; row < r->count; row++) {
        CONV_VECTOR factors[CONV_MAX_TILED_POSITIONS][2];
        UNROLL for (int position = 0; position < positions; position++)
            UNROLL for (int v = 0; v < vectors; v++)
                factors[position][v] = CONV_NAME(conv_load)(
                    r->factors + r->factor_offsets[row][position] + channel + v * CONV_LANES, 1, last_lanes);
        const CONV_ITEM *next = r->rows[row] + first * r->column_stride + channel;
#pragma GCC unroll 32
        for (int column = 0; column < (windows - 1) * step + positions; column++, next += r->column_stride) {
            int is_inside = (uint64_t)(first + column) < (uint64_t)r->columns;
            const CONV_ITEM *element = is_inside ? next : CONV_NAME(row_zeros);
            UNROLL for (int v = 0; v < vectors; v++) {
                CONV_VECTOR value = CONV_NAME(conv_load)(element + v * CONV_LANES, 1, last_lanes);
                UNROLL for (int w = 0; w < windows; w++) {
                    int position = column - w * step;
                    if (position >= 0 && position < positions)
                        totals[w][v] = totals[w][v] + factors[position][v] * value;
                }
            }
        }
    }
    UNROLL for (int w = 0; w < windows; w++) {
        if (w >= stored) break;
        UNROLL for (int v = 0; v < vectors; v++)
            CONV_NAME(conv_store)(
                result + w * r->result_stride + v * CONV_LANES, 1, last_lanes, totals[w][v], r->nontemporal);
    }
}

/* The tiles of all channels. */
CONV_INLINE void CONV_NAME(row_tiles_of_windows)(
    int positions, int step, int windows, const CONV_NAME(ConvTiledRows) *r, int64_t first, int64_t stored,
    int64_t channels, CONV_ITEM *result) {
    int64_t channel = 0, width = ROW_TILE_VECTORS * CONV_LANES;
    for (; channel + width <= channels; channel += width)
        CONV_NAME(row_tile)(
            positions, step, windows, ROW_TILE_VECTORS, r, first, stored, channel, CONV_LANES, result + channel);
    for (; ROW_TILE_VECTORS > 1 && channel + CONV_LANES <= channels; channel += CONV_LANES)
        CONV_NAME(row_tile)(positions, step, windows, 1, r, first, stored, channel, CONV_LANES, result + channel);
    if (channel < channels)
        CONV_NAME(row_tile)(
            positions, step, windows, 1, r, first, stored, channel, channels - channel, result + channel);
}

#define ROW_TILE_NAME(positions, step) CONV_NAMED(row_tiles_##positions##_##step, CONV_ITEM_NAME, CONV_LEVEL)
/* Scale `count` windows of a row, of which the first begins at element `first`, for so many channels. */
#define ROW_TILES(positions, step)                                                                               \
    CONV_CODE void ROW_TILE_NAME(positions, step)(                                                               \
        const CONV_NAME(ConvTiledRows) *r, int64_t first, int64_t count, int64_t channels, CONV_ITEM *result) {  \
        for (; count > CONV_FEW_TILED_WINDOWS; count -= CONV_TILED_WINDOWS) {                                    \
            CONV_NAME(row_tiles_of_windows)(positions, step, CONV_TILED_WINDOWS, r, first, count, channels, result); \
            first += CONV_TILED_WINDOWS * step, result += CONV_TILED_WINDOWS * r->result_stride;                 \
        }                                                                                                        \
        if (count > 0)                                                                                           \
            CONV_NAME(row_tiles_of_windows)(                                                                     \
                positions, step, CONV_FEW_TILED_WINDOWS, r, first, count, channels, result);                     \
    }

ROW_TILES(3, 1)
ROW_TILES(3, 2)
ROW_TILES(5, 1)
ROW_TILES(5, 2)
ROW_TILES(7, 1)
ROW_TILES(7, 2)

/* Scale some windows of a row, from number `begin` on, for `channels` from `channel` on; `lhs_offsets`: along each axis
   but the last. */
CONV_CODE void CONV_NAME(conv_scale_tiles)(
    const ConvScaling *p, const int64_t *const *lhs_offsets, int64_t begin, int64_t count, int64_t channel,
    int64_t channels, CONV_ITEM *result) {
    CONV_NAME(ConvTiledRows) r = {.factors = (const CONV_ITEM *)p->factors + channel, .columns = p->columns};
    r.column_stride = p->column_stride, r.result_stride = p->axes[p->rank - 1].result_stride;
    r.nontemporal = p->nontemporal;
    int64_t width = p->axes[p->rank - 1].positions, first = begin * p->column_step - p->low_column;
    for (int64_t position = 0; position < p->positions; position += width) {
        const int64_t *position_indices = p->position_indices + position * p->rank;
        int64_t lhs_offset = 0;
        for (int64_t axis = 0; axis < p->rank - 1; axis++)
            lhs_offset += lhs_offsets[axis][position_indices[axis] * p->axes[axis].count];
        if (lhs_offset < 0) continue;
        r.rows[r.count] = (const CONV_ITEM *)p->lhs + lhs_offset + channel;
        r.factor_offsets[r.count++] = p->factor_offsets + position;
    }
    if (width == 3 && p->column_step == 1) ROW_TILE_NAME(3, 1)(&r, first, count, channels, result);
    else if (width == 3) ROW_TILE_NAME(3, 2)(&r, first, count, channels, result);
    else if (width == 5 && p->column_step == 1) ROW_TILE_NAME(5, 1)(&r, first, count, channels, result);
    else if (width == 5) ROW_TILE_NAME(5, 2)(&r, first, count, channels, result);
    else if (p->column_step == 1) ROW_TILE_NAME(7, 1)(&r, first, count, channels, result);
    else ROW_TILE_NAME(7, 2)(&r, first, count, channels, result);
}

#undef ROW_TILE_VECTORS
#undef ROW_TILE_NAME
#undef ROW_TILES
