/* Windows that slide along rows, for one element type and instruction set. `convolution_loops.h` includes this;
   `sliding_tasks.h` says what the loops do. */

/* The vectors of windows of a tile: `elements` in the copy, `lanes` of each at `to` in the result. */
typedef struct {
    const CONV_ITEM *elements[SLIDING_VECTORS];
    CONV_ITEM *to[SLIDING_VECTORS];
    int64_t lanes[SLIDING_VECTORS], count;
} CONV_NAME(SlidingTile);

/* Copy a row of lhs from column `first` on, one phase after another. */
CONV_CODE void CONV_NAME(sliding_copy_row)(
    const ConvSliding *p, const CONV_ITEM *lhs, int64_t first, CONV_ITEM *copy) {
    int64_t step = p->column_step;
    for (int64_t phase = 0; phase < step; phase++, copy += p->pitch) {
        int64_t before = -first - phase, remaining = p->columns - first - phase;
        int64_t begin = before > 0 ? conv_min((before + step - 1) / step, p->pitch) : 0;
        int64_t end = remaining > 0 ? conv_min((remaining + step - 1) / step, p->pitch) : 0;
        if (end < begin) end = begin;
        for (int64_t i = 0; i < begin; i++) copy[i] = 0;
        CONV_NAME(conv_copy)(
            copy + begin, lhs + (first + phase + begin * step) * p->lhs_column_stride, step * p->lhs_column_stride,
            end - begin);
        for (int64_t i = end; i < p->pitch; i++) copy[i] = 0;
    }
}

/* Copy what a work item reads: [feature][row][phase][element]. */
CONV_CODE void CONV_NAME(sliding_copy)(
    const ConvSliding *p, const CONV_ITEM *lhs, int64_t first_row, int64_t first_column, CONV_ITEM *copy) {
    int64_t row_items = p->column_step * p->pitch;
    for (int64_t feature = 0; feature < p->features; feature++, lhs += p->lhs_feature_stride)
        for (int64_t row = first_row; row < first_row + p->copied_rows; row++, copy += row_items) {
            if (row < 0 || row >= p->rows) memset(copy, 0, row_items * sizeof(CONV_ITEM));
            else CONV_NAME(sliding_copy_row)(p, lhs + row * p->lhs_row_stride, first_column, copy);
        }
}

/* The output features of the tile that begins with this one: missing ones of a tile have factors of zero. */
CONV_INLINE int64_t CONV_NAME(sliding_tile_outputs)(const ConvSliding *p, int64_t output) {
    int64_t left = p->outputs - output;
    return left > 2 ? SLIDING_OUTPUTS : left;
}

/* Pack the factors, tile by tile: [k][output]. */
CONV_CODE void CONV_NAME(sliding_pack)(const ConvSliding *p, CONV_ITEM *to) {
    for (int64_t first = 0, outputs; first < p->outputs; first += outputs) {
        outputs = CONV_NAME(sliding_tile_outputs)(p, first);
        for (int64_t k = 0; k < p->k_size; k++)
            for (int64_t output = first; output < first + outputs; output++)
                *to++ = output < p->outputs
                    ? ((const CONV_ITEM *)p->rhs)[p->factor_offsets[k] + output * p->factor_output_stride] : 0;
    }
}

/* Multiply a tile of windows with the factors of `outputs` features, of which `stored` are in the result. */
CONV_INLINE void CONV_NAME(sliding_multiply)(
    int outputs, int vectors, const ConvSliding *p, const CONV_NAME(SlidingTile) *t, const CONV_ITEM *factors,
    int64_t output, int64_t stored) {
    CONV_VECTOR sums[SLIDING_OUTPUTS][SLIDING_VECTORS];
    const CONV_ITEM *elements[SLIDING_VECTORS];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) elements[v] = t->elements[v];
    for (int64_t k = 0; k < p->k_size;) {
        CONV_VECTOR totals[SLIDING_OUTPUTS][SLIDING_VECTORS];
        int64_t first = k, end = conv_min(k + p->k_block_size, p->k_size);
#pragma GCC unroll 4
        for (int o = 0; o < outputs; o++)
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++) totals[o][v] = (CONV_VECTOR){0};
        for (; k < end; k++, factors += outputs) {
            int64_t offset = p->copy_offsets[k];
            CONV_VECTOR windows[SLIDING_VECTORS];
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++) windows[v] = CONV_LOAD(elements[v] + offset);
#pragma GCC unroll 4
            for (int o = 0; o < outputs; o++) {
                CONV_VECTOR factor = CONV_BROADCAST(factors[o]);
#pragma GCC unroll 8
                for (int v = 0; v < vectors; v++) totals[o][v] = CONV_FMA(factor, windows[v], totals[o][v]);
            }
        }
#pragma GCC unroll 4
        for (int o = 0; o < outputs; o++)
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++) sums[o][v] = first ? sums[o][v] + totals[o][v] : totals[o][v];
    }
    for (int64_t o = 0; o < stored; o++)
        for (int64_t v = 0; v < t->count; v++)
            CONV_NAME(conv_store)(
                t->to[v] + (output + o) * p->result_output_stride, p->result_column_stride, t->lanes[v], sums[o][v], 0);
}

#if CONV_VECTORS == 4 && CONV_VECTOR_BYTES == 64
#define SLIDING_FOUR_OUTPUTS 4
#define SLIDING_TWO_OUTPUTS 8
#else
#define SLIDING_FOUR_OUTPUTS 2
#define SLIDING_TWO_OUTPUTS 4
#endif

CONV_CODE __attribute__((noinline)) void CONV_NAME(sliding_tile_4)(
    const ConvSliding *p, const CONV_NAME(SlidingTile) *t, const CONV_ITEM *factors, int64_t output, int64_t stored) {
    CONV_NAME(sliding_multiply)(4, SLIDING_FOUR_OUTPUTS, p, t, factors, output, stored);
}

CONV_CODE __attribute__((noinline)) void CONV_NAME(sliding_tile_2)(
    const ConvSliding *p, const CONV_NAME(SlidingTile) *t, const CONV_ITEM *factors, int64_t output, int64_t stored) {
    CONV_NAME(sliding_multiply)(2, SLIDING_TWO_OUTPUTS, p, t, factors, output, stored);
}

CONV_CODE __attribute__((noinline)) void CONV_NAME(sliding_tile_1)(
    const ConvSliding *p, const CONV_NAME(SlidingTile) *t, const CONV_ITEM *factors, int64_t output, int64_t stored) {
    CONV_NAME(sliding_multiply)(1, SLIDING_VECTORS, p, t, factors, output, stored);
}

/* Multiply some rows of windows with the factors of a tile's output features. */
CONV_CODE void CONV_NAME(sliding_multiply_rows)(
    const ConvSliding *p, const CONV_ITEM *copy, const CONV_ITEM *factors, CONV_ITEM *result, int64_t rows,
    int64_t columns, int64_t output) {
    int64_t outputs = CONV_NAME(sliding_tile_outputs)(p, output), stored = conv_min(outputs, p->outputs - output);
    int64_t vectors = outputs == 4 ? SLIDING_FOUR_OUTPUTS : outputs == 2 ? SLIDING_TWO_OUTPUTS : SLIDING_VECTORS;
    CONV_NAME(SlidingTile) t = {.count = 0};
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = 0; column < columns; column += CONV_LANES) {
            int is_last = row + 1 == rows && column + CONV_LANES >= columns;
            t.elements[t.count] = copy + row * p->row_step * p->column_step * p->pitch + column;
            t.to[t.count] = result + row * p->result_row_stride + column * p->result_column_stride;
            t.lanes[t.count++] = conv_min(CONV_LANES, columns - column);
            if (t.count < vectors && !is_last) continue;
            for (int64_t v = t.count; v < vectors; v++) t.elements[v] = t.elements[0];
            if (outputs == 4) CONV_NAME(sliding_tile_4)(p, &t, factors, output, stored);
            else if (outputs == 2) CONV_NAME(sliding_tile_2)(p, &t, factors, output, stored);
            else CONV_NAME(sliding_tile_1)(p, &t, factors, output, stored);
            t.count = 0;
        }
}

/* Do one work item: some rows of windows of an image. */
CONV_CODE void CONV_NAME(sliding_slide)(const ConvSliding *p, int64_t work_item, char *memory) {
    int64_t column = work_item % p->column_blocks * p->column_block, outer = work_item / p->column_blocks;
    int64_t row = outer % p->row_blocks * p->row_block, batch = outer / p->row_blocks;
    int64_t rows = conv_min(p->row_block, p->window_rows - row);
    int64_t columns = conv_min(p->column_block, p->window_columns - column);
    CONV_ITEM *copy = (CONV_ITEM *)conv_aligned(memory);
    /* Vectors at the end of the copy reach beyond it. */
    CONV_ITEM *factors = copy + p->features * p->copied_rows * p->column_step * p->pitch + CONV_LANES;
    CONV_NAME(sliding_copy)(
        p, (const CONV_ITEM *)p->lhs + batch * p->lhs_batch_stride, row * p->row_step - p->low_row,
        column * p->column_step - p->low_column, copy);
    CONV_NAME(sliding_pack)(p, factors);
    CONV_ITEM *result = (CONV_ITEM *)p->result + batch * p->result_batch_stride + row * p->result_row_stride
        + column * p->result_column_stride;
    for (int64_t output = 0, outputs; output < p->outputs; output += outputs) {
        outputs = CONV_NAME(sliding_tile_outputs)(p, output);
        CONV_NAME(sliding_multiply_rows)(p, copy, factors, result, rows, columns, output);
        factors += outputs * p->k_size;
    }
}

#undef SLIDING_FOUR_OUTPUTS
#undef SLIDING_TWO_OUTPUTS
