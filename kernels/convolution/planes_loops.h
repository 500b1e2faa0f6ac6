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

/* Do one work item: some rows of windows of a vector of channels. */
CONV_CODE void CONV_NAME(planes_scale)(const ConvPlanes *p, int64_t work_item, char *memory) {
    int64_t channel_blocks = (p->channels + CONV_LANES - 1) / CONV_LANES, outer = work_item / p->blocks;
    int64_t first = work_item % p->blocks * p->block, rows = conv_min(p->block, p->window_rows - first);
    int64_t channel = outer % channel_blocks * CONV_LANES, batch = outer / channel_blocks;
    int64_t channels = conv_min(CONV_LANES, p->channels - channel), row_items = p->window_columns * CONV_LANES;
    CONV_ITEM *copy = (CONV_ITEM *)conv_aligned(memory), *sums = copy + p->copied_rows * p->pitch * CONV_LANES;
    CONV_ITEM *factors = sums + p->block * row_items;
    const CONV_ITEM *lhs = (const CONV_ITEM *)p->lhs + batch * p->lhs_batch_stride + channel * p->lhs_channel_stride;
    CONV_ITEM *result = (CONV_ITEM *)p->result + batch * p->result_batch_stride + channel * p->result_channel_stride;
    CONV_NAME(planes_copy)(p, lhs, first * p->row_step - p->low_row, channels, copy);
    CONV_NAME(planes_copy_factors)(p, channel, channels, factors);
    CONV_NAME(ConvScaled) s = {.entries = p->positions, .lhs_stride = p->column_step * CONV_LANES};
    s.result_stride = CONV_LANES;
    for (int64_t position = 0; position < p->positions; position++) {
        s.lhs_offsets[position] = p->copy_offsets[position] * CONV_LANES;
        s.factors[position] = position * CONV_LANES;
    }
    for (int64_t row = 0; row < rows; row++) {
        int64_t window = 0;
        s.lhs = copy + row * p->row_step * p->pitch * CONV_LANES, s.result = sums + row * row_items;
        for (; window + PLANES_WINDOWS <= p->window_columns; window += PLANES_WINDOWS)
            CONV_NAME(conv_scale_channels)(PLANES_WINDOWS, 1, &s, factors, window, 0, CONV_LANES);
        for (; window < p->window_columns; window++)
            CONV_NAME(conv_scale_channels)(1, 1, &s, factors, window, 0, CONV_LANES);
    }
    CONV_NAME(planes_store)(p, sums, rows * p->window_columns, channels, result + first * p->window_columns);
}
