/* Winograd's convolutions for one instruction set. `convolution_loops.h` includes this for f32; `winograd_tasks.h` says
   what the loops do. */

/* Transform four vectors `stride` apart along one axis of a tile of inputs. */
CONV_INLINE void CONV_NAME(winograd_input)(CONV_VECTOR *d, int stride) {
    CONV_VECTOR d0 = d[0], d1 = d[stride], d2 = d[2 * stride], d3 = d[3 * stride];
    d[0] = d0 - d2, d[stride] = d1 + d2, d[2 * stride] = d2 - d1, d[3 * stride] = d1 - d3;
}

/* Transform three factors `stride` apart into four. */
CONV_INLINE void CONV_NAME(winograd_factor)(const CONV_VECTOR *g, int stride, CONV_VECTOR *to, int to_stride) {
    CONV_VECTOR half = CONV_BROADCAST((CONV_ITEM)0.5), outer = g[0] + g[2 * stride];
    to[0] = g[0], to[to_stride] = (outer + g[stride]) * half;
    to[2 * to_stride] = (outer - g[stride]) * half, to[3 * to_stride] = g[2 * stride];
}

/* Transform four sums `stride` apart into two results. */
CONV_INLINE void CONV_NAME(winograd_result)(const CONV_VECTOR *m, int stride, CONV_VECTOR *to, int to_stride) {
    to[0] = m[0] + m[stride] + m[2 * stride];
    to[to_stride] = m[stride] - m[2 * stride] - m[3 * stride];
}

/* The output features of a group, and those padded to whole vectors. */
CONV_INLINE int64_t CONV_NAME(winograd_columns)(const ConvWinograd *p, int64_t group) {
    return conv_min(WINOGRAD_COLUMNS, p->columns - group * WINOGRAD_COLUMNS);
}

CONV_INLINE int64_t CONV_NAME(winograd_padded)(const ConvWinograd *p, int64_t group) {
    return (CONV_NAME(winograd_columns)(p, group) + CONV_LANES - 1) / CONV_LANES * CONV_LANES;
}

CONV_INLINE int64_t CONV_NAME(winograd_k_size)(const ConvWinograd *p, int64_t k_block) {
    return conv_min(p->k_block_size, p->features - k_block * p->k_block_size);
}

/* The panels of a k block of a group; WINOGRAD_LANES items follow those of a position, so that what is written to the
   16 positions at a time is in different sets of the L1 cache. */
CONV_INLINE CONV_ITEM *CONV_NAME(winograd_panels)(const ConvWinograd *p, int64_t group, int64_t k_block) {
    int64_t items = group * (WINOGRAD_COLUMNS * p->features + WINOGRAD_LANES * p->k_block_count);
    items += k_block * (p->k_block_size * CONV_NAME(winograd_padded)(p, group) + WINOGRAD_LANES);
    return (CONV_ITEM *)p->launch.panels + WINOGRAD_POSITIONS * items;
}

/* Transform the factors of an input feature and a vector of output features of a group, from `column` on: those of
   position i of a window are `lanes` items, `offsets[i]` behind `from`. */
CONV_INLINE void CONV_NAME(winograd_pack_vector)(
    const ConvWinograd *p, int64_t feature, int64_t group, int64_t column, const CONV_ITEM *from,
    const int64_t *offsets, int64_t lanes) {
    int64_t padded = CONV_NAME(winograd_padded)(p, group), full = CONV_VECTORS * CONV_LANES;
    int64_t k_block = feature / p->k_block_size, k = feature % p->k_block_size;
    int64_t k_size = CONV_NAME(winograd_k_size)(p, k_block);
    int64_t strip = column / full * full, width = conv_min(full, padded - strip);
    CONV_ITEM *to = CONV_NAME(winograd_panels)(p, group, k_block) + strip * k_size + k * width + column - strip;
    CONV_VECTOR g[9], by_columns[12], u[16];
#pragma GCC unroll 9
    for (int i = 0; i < 9; i++) g[i] = CONV_NAME(conv_load)(from + offsets[i], 1, lanes);
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) CONV_NAME(winograd_factor)(g + i, 3, by_columns + i, 3);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) CONV_NAME(winograd_factor)(by_columns + 3 * i, 1, u + 4 * i, 1);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) CONV_STORE(to + i * (k_size * padded + WINOGRAD_LANES), u[i]);
}

/* Copy factors of `count` input features, from `feature` on, and a vector of output features, from `output` on, of which
   there are `lanes`: a vector for each position of each input feature, in the order of rhs if `factor_run`. */
CONV_CODE void CONV_NAME(winograd_copy_factors)(
    const ConvWinograd *p, int64_t feature, int64_t count, int64_t output, int64_t lanes, CONV_ITEM *copies) {
    int64_t stride = p->factor_output_stride;
    const CONV_ITEM *from = (const CONV_ITEM *)p->rhs + feature * p->factor_feature_stride + output * stride;
    int64_t run = p->factor_run > 9 ? count * 9 : 9;
    for (int64_t first = 0; first < count * 9; first += run, from += p->factor_feature_stride) {
        if (!p->factor_run) {
            for (int i = 0; i < 9; i++)
                CONV_STORE(
                    copies + (first + i) * CONV_LANES,
                    CONV_NAME(conv_load)(from + p->factor_offsets[i], stride, lanes));
            continue;
        }
        for (int64_t i = 0; i < run; i += CONV_LANES) {
            CONV_ITEM *to[CONV_LANES];
            for (int64_t column = 0; column < CONV_LANES; column++) to[column] = copies + (first + i + column)
                * CONV_LANES;
            CONV_NAME(conv_transpose)(
                from + p->first_factor + i, stride, lanes, conv_min(CONV_LANES, run - i), to, 0, CONV_LANES);
        }
    }
}

/* Transform the factors of some input features. */
CONV_CODE void CONV_NAME(winograd_pack)(const ConvWinograd *p, int64_t number) {
    int64_t first = number * WINOGRAD_PACKED_FEATURES, end = conv_min(first + WINOGRAD_PACKED_FEATURES, p->features);
    CONV_ITEM copies[WINOGRAD_PACKED_FEATURES * 9 * CONV_LANES];
    int64_t offsets[9], group_count = (p->columns + WINOGRAD_COLUMNS - 1) / WINOGRAD_COLUMNS;
    for (int i = 0; i < 9; i++) offsets[i] = CONV_LANES * (p->factor_run ? p->factor_offsets[i] - p->first_factor : i);
    if (p->factor_output_stride == 1) {
        for (int64_t feature = first; feature < end; feature++) {
            const CONV_ITEM *from = (const CONV_ITEM *)p->rhs + feature * p->factor_feature_stride;
            for (int64_t group = 0; group < group_count; group++, from += WINOGRAD_COLUMNS)
                for (int64_t column = 0; column < CONV_NAME(winograd_columns)(p, group); column += CONV_LANES)
                    CONV_NAME(winograd_pack_vector)(
                        p, feature, group, column, from + column, p->factor_offsets,
                        CONV_NAME(winograd_columns)(p, group) - column);
        }
        return;
    }
    for (int64_t group = 0; group < group_count; group++)
        for (int64_t column = 0; column < CONV_NAME(winograd_columns)(p, group); column += CONV_LANES) {
            int64_t lanes = CONV_NAME(winograd_columns)(p, group) - column;
            CONV_NAME(winograd_copy_factors)(
                p, first, end - first, group * WINOGRAD_COLUMNS + column, conv_min(lanes, CONV_LANES), copies);
            for (int64_t feature = first; feature < end; feature++)
                CONV_NAME(winograd_pack_vector)(
                    p, feature, group, column, copies + (feature - first) * 9 * CONV_LANES, offsets, CONV_LANES);
        }
}

/* The memory of a work item: transformed inputs [position][tile][feature] of a k block, sums
   [position][tile][WINOGRAD_COLUMNS], addresses of the rows of the inputs, zeros, and copies of inputs or results whose
   features are not contiguous. */
typedef struct {
    CONV_ITEM *inputs, *sums, *zeros, *copies;
    const CONV_ITEM **left;
    int64_t row_stride, position_stride, sum_stride;
} CONV_NAME(WinogradMemory);

/* Tiles of one row of tiles of a batch element: `count` of them, from `column` on. */
typedef struct {
    int64_t batch, row, column, count;
} CONV_NAME(WinogradRun);

/* The run that begins at a tile, of at most `count` tiles. */
CONV_INLINE CONV_NAME(WinogradRun) CONV_NAME(winograd_run)(const ConvWinograd *p, int64_t tile, int64_t count) {
    CONV_NAME(WinogradRun) run = {.column = tile % p->tile_columns, .row = tile / p->tile_columns % p->tile_rows};
    run.batch = tile / p->tile_columns / p->tile_rows;
    run.count = conv_min(count, p->tile_columns - run.column);
    return run;
}

/* Transform a vector of features of a tile, the first `count`. */
CONV_INLINE void CONV_NAME(winograd_transform_vector)(
    const CONV_ITEM *const *elements, int64_t feature, int64_t count, CONV_ITEM *to, int64_t position_stride) {
    CONV_VECTOR d[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        d[i] = count == CONV_LANES ? CONV_LOAD(elements[i] + feature)
                                   : CONV_NAME(conv_load)(elements[i] + feature, 1, count);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) CONV_NAME(winograd_input)(d + i, 4);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) CONV_NAME(winograd_input)(d + 4 * i, 1);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) CONV_STORE(to + i * position_stride, d[i]);
}

/* Transform features of a run of tiles that are contiguous in lhs. */
CONV_CODE void CONV_NAME(winograd_transform_contiguous)(
    const ConvWinograd *p, const CONV_NAME(WinogradMemory) *w, const CONV_NAME(WinogradRun) *run, const CONV_ITEM *lhs,
    int64_t k_size, CONV_ITEM *to) {
    const int64_t *rows = p->row_offsets + 4 * run->row, *columns = p->column_offsets + 4 * run->column;
    for (int64_t tile = 0; tile < run->count; tile++, columns += 4, to += w->row_stride) {
        const CONV_ITEM *elements[16];
        for (int i = 0; i < 16; i++) {
            int64_t offset = rows[i / 4] + columns[i % 4];
            elements[i] = offset < 0 ? w->zeros : lhs + offset;
        }
        int64_t k = 0;
        for (; k + CONV_LANES <= k_size; k += CONV_LANES)
            CONV_NAME(winograd_transform_vector)(elements, k, CONV_LANES, to + k, w->position_stride);
        if (k < k_size) CONV_NAME(winograd_transform_vector)(elements, k, k_size - k, to + k, w->position_stride);
    }
}

/* Copy a row of elements of some features: [element][feature]. `offset`: of the row; `offsets`: of elements. */
CONV_CODE void CONV_NAME(winograd_copy_row)(
    const CONV_ITEM *lhs, int64_t feature_stride, int64_t features, int64_t offset, const int64_t *offsets,
    int64_t width, CONV_ITEM *copy) {
    int64_t begin = 0, end = offset < 0 ? 0 : width;
    while (end > 0 && offsets[end - 1] < 0) end--;
    while (begin < end && offsets[begin] < 0) begin++;
    memset(copy, 0, begin * CONV_LANES * sizeof(CONV_ITEM));
    memset(copy + end * CONV_LANES, 0, (width - end) * CONV_LANES * sizeof(CONV_ITEM));
    if (begin == end) return;
    lhs += offset + offsets[begin];
    int64_t is_contiguous = offsets[end - 1] - offsets[begin] == end - 1 - begin;
    for (int64_t x = begin; is_contiguous && x < end; x += CONV_LANES, lhs += CONV_LANES) {
        CONV_ITEM *to[CONV_LANES];
        for (int64_t i = 0; i < CONV_LANES; i++) to[i] = copy + (x + i) * CONV_LANES;
        CONV_NAME(conv_transpose)(lhs, feature_stride, features, conv_min(CONV_LANES, end - x), to, 0, CONV_LANES);
    }
    for (int64_t feature = 0; !is_contiguous && feature < features; feature++)
        for (int64_t x = begin; x < end; x++)
            copy[x * CONV_LANES + feature] = lhs[feature * feature_stride + offsets[x] - offsets[begin]];
}

/* Transform features of a run of tiles that are not contiguous in lhs: a vector of features is copied for all tiles. */
CONV_CODE void CONV_NAME(winograd_transform_strided)(
    const ConvWinograd *p, const CONV_NAME(WinogradMemory) *w, const CONV_NAME(WinogradRun) *run, const CONV_ITEM *lhs,
    int64_t k_size, CONV_ITEM *to) {
    const int64_t *rows = p->row_offsets + 4 * run->row, *columns = p->column_offsets + 4 * run->column;
    int64_t offsets[2 * WINOGRAD_TILES + 2], width = 2 * run->count + 2;
    for (int64_t x = 0; x < width; x++)
        offsets[x] = x < width - 2 ? columns[x / 2 * 4 + x % 2] : columns[(run->count - 1) * 4 + x - width + 4];
    for (int64_t k = 0; k < k_size; k += CONV_LANES) {
        int64_t lanes = conv_min(CONV_LANES, k_size - k);
        for (int64_t row = 0; row < 4; row++)
            CONV_NAME(winograd_copy_row)(
                lhs + k * p->feature_stride, p->feature_stride, lanes, rows[row], offsets, width,
                w->copies + row * width * CONV_LANES);
        for (int64_t tile = 0; tile < run->count; tile++) {
            const CONV_ITEM *elements[16];
            for (int i = 0; i < 16; i++) elements[i] = w->copies + (i / 4 * width + 2 * tile + i % 4) * CONV_LANES;
            CONV_NAME(winograd_transform_vector)(
                elements, 0, lanes, to + tile * w->row_stride + k, w->position_stride);
        }
    }
}

/* Transform `k_size` features, from `feature` on, of `count` tiles. */
CONV_CODE void CONV_NAME(winograd_transform_inputs)(
    const ConvWinograd *p, const CONV_NAME(WinogradMemory) *w, int64_t first, int64_t count, int64_t feature,
    int64_t k_size) {
    for (int64_t tile = 0; tile < count;) {
        CONV_NAME(WinogradRun) run = CONV_NAME(winograd_run)(p, first + tile, count - tile);
        const CONV_ITEM *lhs = (const CONV_ITEM *)p->lhs;
        lhs += run.batch * p->lhs_batch_stride + feature * p->feature_stride;
        CONV_ITEM *to = w->inputs + tile * w->row_stride;
        if (p->feature_stride == 1) CONV_NAME(winograd_transform_contiguous)(p, w, &run, lhs, k_size, to);
        else CONV_NAME(winograd_transform_strided)(p, w, &run, lhs, k_size, to);
        tile += run.count;
    }
}

/* Multiply the transformed inputs of `count` tiles with the panels of a k block of a group. */
CONV_CODE void CONV_NAME(winograd_multiply_tiles)(
    const ConvWinograd *p, const CONV_NAME(WinogradMemory) *w, int64_t count, int64_t group, int64_t k_block) {
    int64_t k_size = CONV_NAME(winograd_k_size)(p, k_block), padded = CONV_NAME(winograd_padded)(p, group);
    int64_t full = CONV_VECTORS * CONV_LANES;
    ConvSegment segment = {.length = k_size};
    CONV_TILE t = {.accumulates = k_block > 0, .k_size = k_size, .segments = &segment, .segment_count = 1};
    t.lane_stride = 1;
    const CONV_ITEM *panel = CONV_NAME(winograd_panels)(p, group, k_block);
    for (int64_t position = 0; position < WINOGRAD_POSITIONS; position++) {
        t.shift = position * w->position_stride;
        for (int64_t strip = 0; strip < padded; strip += full) {
            int64_t width = conv_min(full, padded - strip), vectors = width / CONV_LANES;
            int64_t rows = vectors == CONV_VECTORS ? CONV_FULL_ROWS : CONV_NARROW_ROWS;
            int64_t prefetched = 0, lines = width * (int64_t)sizeof(CONV_ITEM) / CONV_CACHE_LINE;
            const CONV_ITEM *next = panel + k_size * width;
            t.panel = panel, t.lanes = width;
            for (int64_t row = 0; row < count; row += rows, prefetched++) {
                t.left = w->left + row, t.count = conv_min(rows, count - row);
                t.later = prefetched < lines ? (const char *)next + prefetched * k_size * CONV_CACHE_LINE
                                             : (const char *)panel;
                CONV_ITEM *to = w->sums + position * w->sum_stride + row * WINOGRAD_COLUMNS + strip;
                for (int64_t r = 0; r < t.count; r++) t.to[r] = to + r * WINOGRAD_COLUMNS;
                CONV_NAME(conv_tile)(vectors, &t);
            }
            panel = next;
        }
        panel += WINOGRAD_LANES;
    }
}

/* Transform the sums of a vector of output features of a tile. */
CONV_INLINE void CONV_NAME(winograd_transform_sums)(const CONV_ITEM *sums, int64_t sum_stride, CONV_VECTOR y[4]) {
    CONV_VECTOR m[16], by_columns[8];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) m[i] = CONV_LOAD(sums + i * sum_stride);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) CONV_NAME(winograd_result)(m + i, 4, by_columns + i, 4);
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) CONV_NAME(winograd_result)(by_columns + 4 * i, 1, y + 2 * i, 1);
}

/* Write the results of a run of tiles where output features are contiguous. Adds zeros to `check`, or NaN where a
   result is not finite. */
CONV_CODE CONV_VECTOR CONV_NAME(winograd_store_contiguous)(
    const ConvWinograd *p, const CONV_ITEM *sums, int64_t sum_stride, const CONV_NAME(WinogradRun) *run,
    int64_t lanes, CONV_ITEM *result, CONV_VECTOR check) {
    int64_t rows = conv_min(2, p->result_rows - 2 * run->row);
    for (int64_t tile = 0; tile < run->count; tile++, sums += WINOGRAD_COLUMNS) {
        int64_t column = 2 * (run->column + tile), columns = conv_min(2, p->result_columns - column);
        CONV_ITEM *first = result + column * p->result_column_stride;
        for (int64_t lane = 0; lane < lanes; lane += CONV_LANES) {
            CONV_VECTOR y[4];
            CONV_NAME(winograd_transform_sums)(sums + lane, sum_stride, y);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                if (i / 2 >= rows || i % 2 >= columns) continue;
                CONV_ITEM *to = first + i / 2 * p->result_row_stride + i % 2 * p->result_column_stride;
                check = check + (y[i] - y[i]);
                CONV_NAME(conv_store)(to + lane, 1, lanes - lane, y[i], 0);
            }
        }
    }
    return check;
}

/* Store a row of windows of some output features: [window][output feature]. */
CONV_CODE void CONV_NAME(winograd_store_row)(
    const ConvWinograd *p, const CONV_ITEM *from, int64_t windows, int64_t features, CONV_ITEM *result) {
    if (p->result_column_stride == 1) {
        CONV_ITEM *to[CONV_LANES];
        for (int64_t i = 0; i < CONV_LANES; i++) to[i] = result + i * p->output_stride;
        for (int64_t x = 0; x < windows; x += CONV_LANES) {
            int64_t count = conv_min(CONV_LANES, windows - x);
            CONV_NAME(conv_transpose)(from + x * CONV_LANES, CONV_LANES, count, features, to, x, count);
        }
        return;
    }
    for (int64_t feature = 0; feature < features; feature++)
        for (int64_t x = 0; x < windows; x++)
            result[feature * p->output_stride + x * p->result_column_stride] = from[x * CONV_LANES + feature];
}

/* The same where output features are not contiguous: a vector of features of all tiles is copied first. */
CONV_CODE CONV_VECTOR CONV_NAME(winograd_store_strided)(
    const ConvWinograd *p, const CONV_ITEM *sums, int64_t sum_stride, const CONV_NAME(WinogradRun) *run,
    int64_t lanes, CONV_ITEM *result, CONV_ITEM *copies, CONV_VECTOR check) {
    int64_t rows = conv_min(2, p->result_rows - 2 * run->row), width = 2 * run->count;
    int64_t columns = conv_min(width, p->result_columns - 2 * run->column);
    result += 2 * run->column * p->result_column_stride;
    for (int64_t first = 0; first < lanes; first += CONV_LANES) {
        for (int64_t tile = 0; tile < run->count; tile++) {
            CONV_VECTOR y[4];
            CONV_NAME(winograd_transform_sums)(sums + tile * WINOGRAD_COLUMNS + first, sum_stride, y);
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++) {
                CONV_STORE(copies + (i / 2 * width + 2 * tile + i % 2) * CONV_LANES, y[i]);
                if (i / 2 < rows && 2 * tile + i % 2 < columns) check = check + (y[i] - y[i]);
            }
        }
        for (int64_t row = 0; row < rows; row++)
            CONV_NAME(winograd_store_row)(
                p, copies + row * width * CONV_LANES, columns, conv_min(CONV_LANES, lanes - first),
                result + first * p->output_stride + row * p->result_row_stride);
    }
    return check;
}

/* Apply the epilogue to the windows of a run of tiles, whose first result is at `offset`. */
CONV_CODE void CONV_NAME(winograd_finish_run)(
    const ConvWinograd *p, const CONV_NAME(WinogradRun) *run, int64_t lanes, int64_t offset) {
    int64_t rows = conv_min(2, p->result_rows - 2 * run->row), row = offset / p->columns + 2 * run->column;
    for (int64_t i = 0; i < rows; i++, row += p->result_row_stride / p->columns)
        epilogue_apply(
            p->epilogue, row, conv_min(2 * run->count, p->result_columns - 2 * run->column), offset % p->columns,
            lanes);
}

/* Transform the sums of `count` tiles into results. Returns whether all are finite. */
CONV_CODE int CONV_NAME(winograd_transform_results)(
    const ConvWinograd *p, const CONV_NAME(WinogradMemory) *w, int64_t first, int64_t count, int64_t group) {
    int64_t lanes = CONV_NAME(winograd_columns)(p, group);
    CONV_VECTOR check = {0};
    for (int64_t tile = 0; tile < count;) {
        CONV_NAME(WinogradRun) run = CONV_NAME(winograd_run)(p, first + tile, count - tile);
        CONV_ITEM *result = (CONV_ITEM *)p->result + run.batch * p->result_batch_stride +
                            2 * run.row * p->result_row_stride + group * WINOGRAD_COLUMNS * p->output_stride;
        const CONV_ITEM *sums = w->sums + tile * WINOGRAD_COLUMNS;
        check = p->output_stride == 1
            ? CONV_NAME(winograd_store_contiguous)(p, sums, w->sum_stride, &run, lanes, result, check)
            : CONV_NAME(winograd_store_strided)(p, sums, w->sum_stride, &run, lanes, result, w->copies, check);
        if (p->epilogue) CONV_NAME(winograd_finish_run)(p, &run, lanes, result - (const CONV_ITEM *)p->result);
        tile += run.count;
    }
    CONV_ITEM total = 0;
    for (int lane = 0; lane < CONV_LANES; lane++) total += check[lane];
    return total == 0;
}

/* Do one work item: a block of tiles, for one group of output features. Returns whether all results are finite. */
CONV_CODE int CONV_NAME(winograd_multiply)(const ConvWinograd *p, int64_t work_item, char *memory) {
    int64_t group = work_item / p->blocks, first = work_item % p->blocks * p->block;
    int64_t count = conv_min(p->block, p->tiles - first);
    CONV_NAME(WinogradMemory) w = {.row_stride = winograd_row_stride(p->k_block_size)};
    w.position_stride = winograd_position_stride(p->block, w.row_stride);
    w.sum_stride = winograd_position_stride(p->block, WINOGRAD_COLUMNS);
    w.inputs = (CONV_ITEM *)conv_aligned(memory);
    w.sums = w.inputs + WINOGRAD_POSITIONS * w.position_stride;
    w.copies = w.sums + WINOGRAD_POSITIONS * w.sum_stride;
    w.zeros = w.copies + WINOGRAD_COPIED;
    w.left = (const CONV_ITEM **)(w.zeros + CONV_K_BLOCK);
    memset(w.zeros, 0, CONV_K_BLOCK * sizeof(CONV_ITEM));
    for (int64_t row = 0; row < p->block + CONV_NARROW_ROWS; row++)
        w.left[row] = w.inputs + conv_min(row, count - 1) * w.row_stride;
    for (int64_t k_block = 0; k_block < p->k_block_count; k_block++) {
        int64_t k_size = CONV_NAME(winograd_k_size)(p, k_block);
        CONV_NAME(winograd_transform_inputs)(p, &w, first, count, k_block * p->k_block_size, k_size);
        CONV_NAME(winograd_multiply_tiles)(p, &w, count, group, k_block);
    }
    return CONV_NAME(winograd_transform_results)(p, &w, first, count, group);
}
