/* Depthwise convolutions of planes for one element type and instruction set. `convolution_loops.h` includes this;
   `planes_tasks.h` says what the loops do. */

/* Copy the rows of some planes that a work item reads, from row `first` on. */
CONV_CODE void CONV_NAME(planes_copy)(
    const ConvPlanes *p, const CONV_ITEM *lhs, int64_t first, int64_t channels, CONV_ITEM *copy) {
    int64_t begin = first < 0 ? 0 : first, end = conv_min(first + p->copied_rows, p->rows);
    int64_t used = conv_min(p->columns, p->pitch - p->low_column), row = begin, column = 0;
    memset(copy, 0, p->copied_rows * p->pitch * CONV_LANES * sizeof(CONV_ITEM));
    for (int64_t element = begin * p->columns, last = end * p->columns; element < last; element += CONV_LANES) {
        int64_t count = conv_min(CONV_LANES, last - element);
        CONV_ITEM unused[CONV_LANES], *to[CONV_LANES];
        for (int64_t i = 0; i < count; i++) {
            to[i] = column < used ? copy + ((row - first) * p->pitch + p->low_column + column) * CONV_LANES : unused;
            if (++column == p->columns) column = 0, row++;
        }
        CONV_NAME(conv_transpose)(lhs + element, p->lhs_channel_stride, channels, count, to, 0, CONV_LANES);
    }
}

/* The same where channels are contiguous in lhs. */
CONV_CODE void CONV_NAME(planes_copy_vectors)(
    const ConvPlanes *p, const CONV_ITEM *lhs, int64_t first, int64_t channels, CONV_ITEM *copy) {
    int64_t low = conv_min(p->low_column, p->pitch), used = conv_min(p->columns, p->pitch - low);
    int64_t high = p->pitch - low - used;
    for (int64_t row = first; row < first + p->copied_rows; row++, copy += p->pitch * CONV_LANES) {
        const CONV_ITEM *from = lhs + row * p->lhs_row_stride;
        CONV_ITEM *to = copy + low * CONV_LANES;
        if (row < 0 || row >= p->rows) {
            memset(copy, 0, p->pitch * CONV_LANES * sizeof(CONV_ITEM));
            continue;
        }
        memset(copy, 0, low * CONV_LANES * sizeof(CONV_ITEM));
        memset(to + used * CONV_LANES, 0, high * CONV_LANES * sizeof(CONV_ITEM));
        for (int64_t column = 0; column < used; column++, from += p->lhs_column_stride, to += CONV_LANES)
            CONV_STORE(to, channels == CONV_LANES ? CONV_LOAD(from) : CONV_NAME(conv_load)(from, 1, channels));
    }
}

/* Copy the factors of some channels: a vector for each position. */
CONV_CODE void CONV_NAME(planes_copy_factors)(
    const ConvPlanes *p, int64_t channel, int64_t channels, CONV_ITEM *to) {
    const CONV_ITEM *from = (const CONV_ITEM *)p->rhs + channel * p->factor_output_stride;
    for (int64_t position = 0; position < p->positions; position++)
        CONV_STORE(
            to + position * CONV_LANES,
            CONV_NAME(conv_load)(from + p->factor_offsets[position], p->factor_output_stride, channels));
}

/* Write the sums of some planes, `count` elements of each. */
CONV_CODE void CONV_NAME(planes_store)(
    const ConvPlanes *p, const CONV_ITEM *sums, int64_t count, int64_t channels, CONV_ITEM *result) {
    for (int64_t element = 0; element < count; element += CONV_LANES) {
        int64_t lanes = conv_min(CONV_LANES, count - element);
        CONV_ITEM *to[CONV_LANES];
        for (int64_t channel = 0; channel < CONV_LANES; channel++) to[channel] = result
            + channel * p->result_channel_stride;
        CONV_NAME(conv_transpose)(sums + element * CONV_LANES, CONV_LANES, lanes, channels, to, element, lanes);
    }
}

/* Scale some windows of a row, `step` elements apart, of a vector of channels, of which `channels` are stored. */
CONV_INLINE void CONV_NAME(planes_scale_windows)(
    int windows, int64_t step, const ConvPlanes *p, const CONV_ITEM *copy, const CONV_ITEM *factors, int64_t channels,
    CONV_ITEM *result, int64_t result_stride, int64_t nontemporal) {
    CONV_VECTOR totals[PLANES_WINDOWS];
#pragma GCC unroll 8
    for (int w = 0; w < windows; w++) totals[w] = (CONV_VECTOR){0};
    for (int64_t position = 0; position < p->positions; position++, factors += CONV_LANES) {
        const CONV_ITEM *elements = copy + p->copy_offsets[position] * CONV_LANES;
        CONV_VECTOR factor = CONV_LOAD(factors);
#pragma GCC unroll 8
        for (int w = 0; w < windows; w++)
            totals[w] = totals[w] + factor * CONV_LOAD(elements + w * step * CONV_LANES);
    }
#pragma GCC unroll 8
    for (int w = 0; w < windows; w++)
        CONV_NAME(conv_store)(result + w * result_stride, 1, channels, totals[w], nontemporal);
}

/* Scale a row of windows, PLANES_WINDOWS at a time. */
CONV_INLINE void CONV_NAME(planes_scale_row)(
    int64_t step, const ConvPlanes *p, const CONV_ITEM *copy, const CONV_ITEM *factors, int64_t channels,
    CONV_ITEM *result, int64_t result_stride, int64_t nontemporal) {
    int64_t window = 0;
#define PLANES_SCALE(windows)                                                                                    \
    CONV_NAME(planes_scale_windows)(                                                                             \
        windows, step, p, copy + window * step * CONV_LANES, factors, channels, result + window * result_stride, \
        result_stride, nontemporal)
    for (; window + PLANES_WINDOWS <= p->window_columns; window += PLANES_WINDOWS) PLANES_SCALE(PLANES_WINDOWS);
    if (window + 4 <= p->window_columns) PLANES_SCALE(4), window += 4;
    if (window + 2 <= p->window_columns) PLANES_SCALE(2), window += 2;
    if (window < p->window_columns) PLANES_SCALE(1);
#undef PLANES_SCALE
}

/* Do one work item: some rows of windows of a vector of channels. */
CONV_CODE void CONV_NAME(planes_scale)(const ConvPlanes *p, int64_t work_item, char *memory) {
    int64_t channel_blocks = (p->channels + CONV_LANES - 1) / CONV_LANES;
    int64_t reads_vectors = p->lhs_channel_stride == 1, stores_vectors = p->result_channel_stride == 1;
    int64_t batch = work_item / (p->blocks * channel_blocks), outer = work_item % (p->blocks * channel_blocks);
    /* Work items that follow each other read neighbouring memory. */
    int64_t number = reads_vectors ? outer / channel_blocks : outer % p->blocks;
    int64_t channel = (reads_vectors ? outer % channel_blocks : outer / p->blocks) * CONV_LANES;
    int64_t first = number * p->block, rows = conv_min(p->block, p->window_rows - first);
    int64_t channels = conv_min(CONV_LANES, p->channels - channel), row_items = p->window_columns * CONV_LANES;
    CONV_ITEM *copy = (CONV_ITEM *)conv_aligned(memory), *sums = copy + p->copied_rows * p->pitch * CONV_LANES;
    CONV_ITEM *factors = stores_vectors ? sums : sums + p->block * row_items;
    const CONV_ITEM *lhs = (const CONV_ITEM *)p->lhs + batch * p->lhs_batch_stride + channel * p->lhs_channel_stride;
    CONV_ITEM *result = (CONV_ITEM *)p->result + batch * p->result_batch_stride + channel * p->result_channel_stride;
    if (reads_vectors) CONV_NAME(planes_copy_vectors)(p, lhs, first * p->row_step - p->low_row, channels, copy);
    else CONV_NAME(planes_copy)(p, lhs, first * p->row_step - p->low_row, channels, copy);
    CONV_NAME(planes_copy_factors)(p, channel, channels, factors);
    for (int64_t row = 0; row < rows; row++) {
        const CONV_ITEM *copied = copy + row * p->row_step * p->pitch * CONV_LANES;
        CONV_ITEM *to = stores_vectors ? result + (first + row) * p->result_row_stride : sums + row * row_items;
        int64_t stride = stores_vectors ? p->result_column_stride : CONV_LANES;
        int64_t nontemporal = stores_vectors && p->nontemporal, stored = stores_vectors ? channels : CONV_LANES;
        if (p->column_step == 1 && stored == CONV_LANES)
            CONV_NAME(planes_scale_row)(1, p, copied, factors, CONV_LANES, to, stride, nontemporal);
        else CONV_NAME(planes_scale_row)(p->column_step, p, copied, factors, stored, to, stride, nontemporal);
    }
    if (!stores_vectors)
        CONV_NAME(planes_store)(p, sums, rows * p->window_columns, channels, result + first * p->window_columns);
}
