/* The loops of convolutions for one element type and instruction set. `convolution_level.h` includes this once for
   each type, and defines CONV_ITEM, CONV_ITEM_NAME and, for floats, CONV_FMA; `convolution_tasks.h` says what the
   loops do. */

#define CONV_CODE static CONV_TARGET
#define CONV_INLINE static inline CONV_TARGET __attribute__((always_inline))
#define CONV_VECTOR CONV_NAME(conv_vector)
#define CONV_AT CONV_NAME(conv_at)
#define CONV_TILE CONV_NAME(conv_tile_work)
#if CONV_VECTOR_BYTES / CONV_ITEM_BYTES == 16
#define CONV_LANES 16
#elif CONV_VECTOR_BYTES / CONV_ITEM_BYTES == 8
#define CONV_LANES 8
#elif CONV_VECTOR_BYTES / CONV_ITEM_BYTES == 4
#define CONV_LANES 4
#else
#define CONV_LANES 2
#endif

typedef CONV_ITEM CONV_VECTOR __attribute__((vector_size(CONV_VECTOR_BYTES)));
typedef CONV_ITEM CONV_AT __attribute__((vector_size(CONV_VECTOR_BYTES), aligned(sizeof(CONV_ITEM)), may_alias));

/* The elements of even lanes of two vectors. */
#if CONV_LANES == 16
#define CONV_EVEN(low, high) \
    __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#else
#define CONV_EVEN(low, high) __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14)
#endif
#ifdef CONV_FMA
#define CONV_HAS_FLOATS
#else
#define CONV_FMA(a, b, c) ((a) * (b) + (c))
#endif
#define CONV_LOAD(at) ((CONV_VECTOR) * (const CONV_AT *)(at))
#define CONV_STORE(at, value) (*(CONV_AT *)(at) = (CONV_AT)(value))
#define CONV_BROADCAST(item) ((item) - (CONV_VECTOR){0})

/* Load items `stride` apart, at most a vector, of which the first `count`. */
CONV_INLINE CONV_VECTOR CONV_NAME(conv_load)(const CONV_ITEM *address, int64_t stride, int64_t count) {
    if (stride == 1 && count >= CONV_LANES) return CONV_LOAD(address);
#ifdef CONV_LOAD_PARTIAL
    if (stride == 1) return CONV_LOAD_PARTIAL(address, count);
#endif
    CONV_ITEM items[CONV_LANES] = {0};
    for (int64_t lane = 0; lane < conv_min(count, CONV_LANES); lane++) items[lane] = address[lane * stride];
    return CONV_LOAD(items);
}

/* Store at most a vector; `nontemporal`: bypass the caches if a whole aligned vector is written. */
CONV_INLINE void CONV_NAME(conv_store)(
    CONV_ITEM *address, int64_t stride, int64_t count, CONV_VECTOR value, int64_t nontemporal) {
    if (stride == 1 && count >= CONV_LANES) {
#ifdef CONV_STREAM
        if (nontemporal && (uintptr_t)address % CONV_VECTOR_BYTES == 0) {
            CONV_STREAM(address, value);
            return;
        }
#endif
        (void)nontemporal;
        CONV_STORE(address, value);
        return;
    }
#ifdef CONV_STORE_PARTIAL
    if (stride == 1) {
        CONV_STORE_PARTIAL(address, count, value);
        return;
    }
#endif
    CONV_ITEM items[CONV_LANES];
    CONV_STORE(items, value);
    for (int64_t lane = 0; lane < conv_min(count, CONV_LANES); lane++) address[lane * stride] = items[lane];
}

/* Transpose `rows` rows, at most a vector of them, of `columns` items, at most a vector: the items of a column are
   written to `to[column] + offset`, zeros behind them, `width` items in all. */
CONV_INLINE void CONV_NAME(conv_transpose_some)(
    const CONV_ITEM *from, int64_t row_stride, int64_t rows, int64_t columns, CONV_ITEM *const *to, int64_t offset,
    int64_t width) {
    CONV_VECTOR a[CONV_LANES];
    UNROLL for (int row = 0; row < CONV_LANES; row++)
        a[row] = row < rows ? CONV_NAME(conv_load)(from + row * row_stride, 1, columns) : (CONV_VECTOR){0};
    TRANSPOSE_VECTORS(CONV_VECTOR, CONV_LANES, a)
    UNROLL for (int column = 0; column < CONV_LANES; column++)
        if (column < columns) CONV_NAME(conv_store)(to[column] + offset, 1, width, a[column], 0);
}

/* The same, without a check of each vector where all are whole. */
CONV_CODE void CONV_NAME(conv_transpose)(
    const CONV_ITEM *from, int64_t row_stride, int64_t rows, int64_t columns, CONV_ITEM *const *to, int64_t offset,
    int64_t width) {
    if (rows >= CONV_LANES && columns >= CONV_LANES && width >= CONV_LANES)
        CONV_NAME(conv_transpose_some)(from, row_stride, CONV_LANES, CONV_LANES, to, offset, CONV_LANES);
    else CONV_NAME(conv_transpose_some)(from, row_stride, rows, columns, to, offset, width);
}

/* A tile: up to `count` rows of `lanes` items, for one k block. `left` has for each segment the addresses of `block`
   rows, from the tile's first on; if NULL, `packed` is [k][row] with `stride` items from one k to the next. `to`:
   the addresses of rows of the result. `accumulates`: the tile adds to it. `later`: prefetched, a cache line for each
   k. */
typedef struct {
    const CONV_ITEM *panel, *packed;
    const char *later;
    const CONV_ITEM *const *left;
    const ConvSegment *segments;
    int64_t segment_count, block, shift, stride, k_size, count, lanes, lane_stride, accumulates, nontemporal;
    CONV_ITEM *to[8];
} CONV_TILE;

CONV_INLINE void CONV_NAME(conv_add_outer_product)(
    int rows, int vectors, CONV_VECTOR totals[8][4], const CONV_ITEM *const left[8], int64_t k,
    const CONV_ITEM *panel) {
    CONV_VECTOR right[4];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) right[v] = CONV_LOAD(panel + v * CONV_LANES);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        CONV_VECTOR left_value = CONV_BROADCAST(left[r][k]);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) totals[r][v] = CONV_FMA(left_value, right[v], totals[r][v]);
    }
}

/* Store the sums of a tile whose rows are no whole vectors, or bypass the caches. */
static CONV_TARGET __attribute__((noinline)) void CONV_NAME(conv_store_sums)(
    int64_t vectors, const CONV_TILE *t, const CONV_VECTOR *sums) {
    for (int64_t r = 0; r < t->count; r++)
        for (int64_t v = 0; v < vectors; v++) {
            int64_t lanes = t->lanes - v * CONV_LANES;
            if (lanes <= 0) break;
            CONV_ITEM *to = t->to[r] + v * CONV_LANES * t->lane_stride;
            CONV_VECTOR sum = sums[r * vectors + v];
            if (t->accumulates) sum = CONV_NAME(conv_load)(to, t->lane_stride, lanes) + sum;
            CONV_NAME(conv_store)(to, t->lane_stride, lanes, sum, t->nontemporal);
        }
}

CONV_INLINE void CONV_NAME(conv_multiply_tile)(int rows, int vectors, const CONV_TILE *t) {
    CONV_VECTOR totals[8][4];
    const CONV_ITEM *panel = t->panel, *left[8];
    const char *later = t->later;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) totals[r][v] = (CONV_VECTOR){0};
    if (t->left) {
        for (int64_t s = 0; s < t->segment_count; s++) {
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) left[r] = t->left[s * t->block + r] + t->shift;
            int64_t length = t->segments[s].length;
            for (int64_t i = 0; i < length; i++, panel += vectors * CONV_LANES, later += CONV_CACHE_LINE) {
                __builtin_prefetch(later, 0, 2);
                CONV_NAME(conv_add_outer_product)(rows, vectors, totals, left, i, panel);
            }
        }
    } else {
        const CONV_ITEM *packed = t->packed;
        for (int64_t i = 0; i < t->k_size; i++, panel += vectors * CONV_LANES, packed += t->stride) {
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) left[r] = packed + r;
            CONV_NAME(conv_add_outer_product)(rows, vectors, totals, left, 0, panel);
        }
    }
    if (t->lane_stride != 1 || t->lanes < vectors * CONV_LANES || t->nontemporal) {
        CONV_VECTOR sums[8 * 4];
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) sums[r * vectors + v] = totals[r][v];
        CONV_NAME(conv_store_sums)(vectors, t, sums);
        return;
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        if (r >= t->count) break;
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            CONV_ITEM *to = t->to[r] + v * CONV_LANES;
            CONV_STORE(to, t->accumulates ? CONV_LOAD(to) + totals[r][v] : totals[r][v]);
        }
    }
}

#define CONV_TILE_FUNCTION(vectors, rows) CONV_NAMED(conv_tile_##vectors##_##rows, CONV_ITEM_NAME, CONV_LEVEL)
#define CONV_ONE_TILE(vectors, rows)                                                                       \
    static CONV_TARGET __attribute__((noinline)) void CONV_TILE_FUNCTION(vectors, rows)(const CONV_TILE *t) { \
        CONV_NAME(conv_multiply_tile)(rows, vectors, t);                                                  \
    }
/* Full tiles, and low ones for the last rows. */
#if CONV_VECTORS == 4
CONV_ONE_TILE(1, 8)
CONV_ONE_TILE(2, 8)
CONV_ONE_TILE(3, 8)
CONV_ONE_TILE(4, 1)
CONV_ONE_TILE(4, 4)
CONV_ONE_TILE(4, 6)
#if CONV_FULL_ROWS == 7
CONV_ONE_TILE(4, 7)
#endif
#else
CONV_ONE_TILE(1, 8)
CONV_ONE_TILE(2, 1)
CONV_ONE_TILE(2, 4)
CONV_ONE_TILE(2, 6)
#endif

CONV_CODE void CONV_NAME(conv_tile)(int64_t vectors, const CONV_TILE *t) {
#if CONV_VECTORS == 4
    if (vectors == 1) CONV_TILE_FUNCTION(1, 8)(t);
    else if (vectors == 2) CONV_TILE_FUNCTION(2, 8)(t);
    else if (vectors == 3) CONV_TILE_FUNCTION(3, 8)(t);
    else if (t->count == 1) CONV_TILE_FUNCTION(4, 1)(t);
    else if (t->count <= CONV_LOW_ROWS) CONV_TILE_FUNCTION(4, 4)(t);
#if CONV_FULL_ROWS == 7
    else if (t->count == 7) CONV_TILE_FUNCTION(4, 7)(t);
#endif
    else CONV_TILE_FUNCTION(4, 6)(t);
#else
    if (vectors == 1) CONV_TILE_FUNCTION(1, 8)(t);
    else if (t->count == 1) CONV_TILE_FUNCTION(2, 1)(t);
    else if (t->count <= CONV_LOW_ROWS) CONV_TILE_FUNCTION(2, 4)(t);
    else CONV_TILE_FUNCTION(2, 6)(t);
#endif
}

/* The number of products of a sum in a k block; the last block may have fewer than the others. */
CONV_INLINE int64_t CONV_NAME(conv_k_block_size)(const ConvProduct *p, int64_t k_block) {
    return conv_min(p->k_block_size, p->k_size - k_block * p->k_block_size);
}

/* The offset of a strip of a k block in the panels: [k block][group][strip][k][item]. */
CONV_INLINE int64_t CONV_NAME(conv_panel)(const ConvProduct *p, int64_t k_block, int64_t group, int64_t strip) {
    int64_t width = p->by_windows ? p->rows : p->vectors * CONV_LANES;
    return k_block * p->k_block_size * p->groups * p->padded +
           (group * p->padded + strip * width) * CONV_NAME(conv_k_block_size)(p, k_block);
}

/* The items of a strip's panel for each k. */
CONV_INLINE int64_t CONV_NAME(conv_width)(const ConvProduct *p, int64_t strip) {
    if (p->by_windows) return p->rows;
    return (strip + 1 < p->strips ? p->vectors : p->last_vectors) * CONV_LANES;
}

/* Compute the address in rhs of each product of a k block, for the first output feature. */
CONV_CODE int64_t CONV_NAME(conv_locate_factors)(const ConvProduct *p, int64_t k_block, const CONV_ITEM **factors) {
    int64_t count = 0;
    for (int64_t s = p->k_block_segments[k_block]; s < p->k_block_segments[k_block + 1]; s++) {
        const ConvSegment *segment = &p->segments[s];
        int64_t position = segment->position, feature = segment->skip;
        for (int64_t i = 0; i < segment->length; i++, feature++) {
            if (feature == p->features) position++, feature = 0;
            factors[count++] = (const CONV_ITEM *)p->rhs + p->factor_offsets[position] +
                               feature * p->factor_feature_stride;
        }
    }
    return count;
}

/* Pack a strip of a group for the `count` products whose factors these are. */
CONV_CODE void CONV_NAME(conv_pack_strip)(
    const ConvProduct *p, int64_t group, int64_t strip, const CONV_ITEM *const *factors, int64_t count, CONV_ITEM *to) {
    int64_t width = CONV_NAME(conv_width)(p, strip), stride = p->factor_output_stride;
    int64_t column = strip * (p->by_windows ? p->rows : p->vectors * CONV_LANES);
    int64_t valid_lanes = conv_min(width, p->columns - column), shift = (group * p->columns + column) * stride;
    for (int64_t k = 0; k < count; k++, to += width) {
        const CONV_ITEM *from = factors[k] + shift;
        if (stride == 1) {
            const CONV_ITEM *later = factors[conv_min(k + CONV_PREFETCHED_ROWS, count - 1)] + shift;
            for (int64_t lane = 0; lane < width; lane += CONV_LANES) {
                __builtin_prefetch(later + lane);
                /* Another task may have written the next strip already. */
                CONV_NAME(conv_store)(
                    to + lane, 1, width - lane, CONV_NAME(conv_load)(from + lane, 1, valid_lanes - lane), 0);
            }
            continue;
        }
        for (int64_t lane = 0; lane < valid_lanes; lane++) to[lane] = from[lane * stride];
        for (int64_t lane = valid_lanes; lane < width; lane++) to[lane] = 0;
    }
}

/* Pack consecutive factors in rhs of a strip's output features, which become columns of panels. */
CONV_CODE void CONV_NAME(conv_pack_transposed)(const ConvProduct *p, int64_t number) {
    int64_t runs = p->positions * p->features / p->factor_run, chunks = (p->factor_run + CONV_PACKED_FACTORS - 1)
        / CONV_PACKED_FACTORS;
    int64_t first = number % chunks * CONV_PACKED_FACTORS, run = number / chunks % runs, outer = number / chunks / runs;
    int64_t group = outer / p->strips, strip = outer % p->strips, width = CONV_NAME(conv_width)(p, strip);
    int64_t column = strip * (p->by_windows ? p->rows : p->vectors * CONV_LANES);
    int64_t count = conv_min(CONV_PACKED_FACTORS, p->factor_run - first), stride = p->factor_output_stride;
    int64_t valid = conv_min(width, p->columns - column), feature = run + first / p->positions;
    CONV_ITEM *to[CONV_PACKED_FACTORS];
    for (int64_t i = 0, offset = first % p->positions; i < count; i++) {
        int64_t k = p->factor_positions[offset] * p->features + feature, k_block = (uint32_t)k
            / (uint32_t)p->k_block_size;
        to[i] = (CONV_ITEM *)p->launch.panels + CONV_NAME(conv_panel)(p, k_block, group, strip) +
                (k - k_block * p->k_block_size) * width;
        if (++offset == p->positions) offset = 0, feature++;
    }
    const CONV_ITEM *from = (const CONV_ITEM *)p->rhs + p->first_factor + run * p->factor_feature_stride + first +
                            (group * p->columns + column) * stride;
    for (int64_t lane = 0; lane < width; lane += CONV_LANES, from += CONV_LANES * stride)
        for (int64_t i = 0; i < count; i += CONV_LANES)
            CONV_NAME(conv_transpose)(
                from + i, stride, valid - lane, conv_min(CONV_LANES, count - i), to + i, lane, width - lane);
}

/* Pack one of all strips of rhs for all work items. */
CONV_CODE void CONV_NAME(conv_pack)(const ConvProduct *p, int64_t number) {
    if (p->factor_run) {
        CONV_NAME(conv_pack_transposed)(p, number);
        return;
    }
    int64_t k_block = number / (p->groups * p->strips), group = number / p->strips % p->groups, strip =
        number % p->strips;
    const CONV_ITEM *factors[CONV_K_BLOCK];
    int64_t count = CONV_NAME(conv_locate_factors)(p, k_block, factors);
    CONV_ITEM *to = (CONV_ITEM *)p->launch.panels + CONV_NAME(conv_panel)(p, k_block, group, strip);
    CONV_NAME(conv_pack_strip)(p, group, strip, factors, count, to);
}

/* Copy the lhs elements of a segment for one window; zeros in the padding. */
CONV_CODE void CONV_NAME(conv_copy_segment)(
    const ConvProduct *p, const ConvBlock *block, int64_t window_row, int64_t row, const ConvSegment *segment,
    CONV_ITEM *to) {
    int64_t position = segment->position, feature = segment->skip, left = segment->length;
    for (; left; position++, feature = 0) {
        int64_t lhs_offset = conv_lhs_offset(p, block, window_row, row, position);
        int64_t count = conv_min(p->features - feature, left);
        const CONV_ITEM *from = (const CONV_ITEM *)p->lhs + lhs_offset + feature;
        if (lhs_offset < 0) for (int64_t i = 0; i < count; i++) to[i] = 0;
        else for (int64_t i = 0; i < count; i++) to[i] = from[i];
        to += count, left -= count;
    }
}

/* Compute the addresses of a block's rows for each segment of a k block. Segments of several positions of which the
   padding contains some are copied to `copies`, which holds a k block of each row. */
CONV_CODE void CONV_NAME(conv_locate_rows)(
    const ConvProduct *p, ConvBlock *block, int64_t filled, int64_t k_block, const CONV_ITEM *zeros,
    const CONV_ITEM **left, CONV_ITEM *copies) {
    const CONV_ITEM *lhs = (const CONV_ITEM *)p->lhs;
    for (int64_t s = p->k_block_segments[k_block]; s < p->k_block_segments[k_block + 1]; s++, left += filled) {
        const ConvSegment *segment = &p->segments[s];
        int64_t last_position = segment->position + (segment->skip + segment->length - 1) / p->features;
        const int64_t *lhs_offsets = block->located;
        if (segment->position != block->located_position) {
            conv_lhs_offsets(p, block, filled, segment->position, block->located);
            block->located_position = segment->position;
        }
        for (int64_t row = 0; row < filled; row++)
            left[row] = (lhs_offsets[row] < 0 ? zeros : lhs + lhs_offsets[row]) + segment->skip;
        if (last_position == segment->position) continue;
        /* The windows of a window row that have no padding follow each other. */
        for (int64_t number = 0; number < block->window_row_count; number++) {
            int64_t begin = block->window_rows[number], end = block->window_rows[number + 1];
            if (conv_is_outside(p, block, number, last_position)) continue;
            for (int64_t row; begin < end;) {
                if (lhs_offsets[begin] < 0 || conv_lhs_offset(p, block, number, begin, last_position) < 0)
                    row = begin++;
                else if (lhs_offsets[end - 1] < 0 || conv_lhs_offset(p, block, number, end - 1, last_position) < 0)
                    row = --end;
                else break;
                left[row] = copies + row * segment->length;
                CONV_NAME(conv_copy_segment)(p, block, number, row, segment, copies + row * segment->length);
            }
        }
        for (int64_t row = block->count; row < filled; row++) left[row] = left[block->count - 1];
        copies += filled * segment->length;
    }
}

/* Windows of a block whose elements are `stride` apart, or are in the padding if `lhs_offset` is negative. */
typedef struct {
    int64_t first, count, lhs_offset, stride;
} CONV_NAME(ConvSpan);

/* The spans of a block whose window rows are all inside or all in the padding; contiguous ones are one. */
CONV_CODE int64_t CONV_NAME(conv_spans_of_rows)(
    const ConvProduct *p, const ConvBlock *block, int64_t position, CONV_NAME(ConvSpan) *spans) {
    int64_t number = -1;
    for (int64_t window_row = 0; window_row < block->window_row_count; window_row++) {
        int64_t first = block->window_rows[window_row], count = block->window_rows[window_row + 1] - first;
        int64_t lhs_offset = conv_row_offset(p, block, window_row, block->rank, position);
        int64_t stride = count > 1 ? block->base[first + 1] - block->base[first] : 1;
        CONV_NAME(ConvSpan) *last = &spans[number < 0 ? 0 : number];
        int is_outside = lhs_offset < 0, is_next = number >= 0 && (last->lhs_offset < 0) == is_outside;
        if (is_next && !is_outside)
            is_next = stride == last->stride && lhs_offset == last->lhs_offset + last->count * stride;
        if (is_next) last->count += count;
        else spans[++number] = (CONV_NAME(ConvSpan)){first, count, lhs_offset, stride};
    }
    return number + 1;
}

/* The spans of a window row without base dilation, whose windows in the padding come first and last; at most three. */
CONV_CODE int64_t CONV_NAME(conv_spans_of_row)(
    const ConvProduct *p, const ConvBlock *block, int64_t window_row, int64_t position, CONV_NAME(ConvSpan) *spans) {
    int64_t first = block->window_rows[window_row], count = block->window_rows[window_row + 1] - first;
    const int64_t *along = conv_offsets_in_row(p, block, window_row, position);
    int64_t outer = conv_row_offset(p, block, window_row, block->rank - 1, position), begin = 0, end = count, number = 0;
    if (outer < 0) begin = count;
    while (begin < count && along[begin] < 0) begin++;
    while (end > begin && along[end - 1] < 0) end--;
    if (begin) spans[number++] = (CONV_NAME(ConvSpan)){first, begin, CONV_OUTSIDE, 0};
    if (begin < end) {
        int64_t stride = end - begin > 1 ? along[begin + 1] - along[begin] : 0;
        spans[number++] = (CONV_NAME(ConvSpan)){first + begin, end - begin, outer + along[begin], stride};
    }
    if (begin < end && end < count) spans[number++] = (CONV_NAME(ConvSpan)){first + end, count - end, CONV_OUTSIDE, 0};
    return number;
}

/* Divide the windows of a block into spans, for one position: by window rows if these are long. */
CONV_CODE int64_t CONV_NAME(conv_spans)(
    const ConvProduct *p, const ConvBlock *block, int64_t position, CONV_NAME(ConvSpan) *spans) {
    int64_t number = -1, next = 0, lhs_offsets[CONV_MAX_WIDTH];
    if (block->is_fixed) return CONV_NAME(conv_spans_of_rows)(p, block, position, spans);
    if (!p->has_base_dilation && block->window_row_count * 4 <= block->count) {
        int64_t count = 0;
        for (int64_t window_row = 0; window_row < block->window_row_count; window_row++)
            count += CONV_NAME(conv_spans_of_row)(p, block, window_row, position, spans + count);
        return count;
    }
    conv_lhs_offsets(p, block, block->count, position, lhs_offsets);
    for (int64_t row = 0; row < block->count; row++) {
        int64_t lhs_offset = lhs_offsets[row];
        CONV_NAME(ConvSpan) *span = &spans[number];
        int is_next = number >= 0 && (lhs_offset < 0) == (span->lhs_offset < 0);
        if (is_next && lhs_offset >= 0 && span->count == 1) span->stride = lhs_offset - span->lhs_offset, next =
            lhs_offset;
        if (!is_next || (lhs_offset >= 0 && lhs_offset != next)) {
            span = &spans[++number];
            span->first = row, span->count = 0, span->lhs_offset = lhs_offset, span->stride = 0;
        }
        span->count++;
        next = lhs_offset + span->stride;
    }
    return number + 1;
}

/* Copy items `stride` apart. The compiler vectorizes the loops with constant strides. */
CONV_INLINE void CONV_NAME(conv_copy)(CONV_ITEM *to, const CONV_ITEM *from, int64_t stride, int64_t count) {
#ifdef CONV_LOAD_PARTIAL
    if (stride == 1) {
        for (int64_t i = 0; i < count; i += CONV_LANES)
            CONV_NAME(conv_store)(to + i, 1, count - i, CONV_NAME(conv_load)(from + i, 1, count - i), 0);
        return;
    }
    if (stride == 2) {
        for (; count > 0; count -= CONV_LANES, to += CONV_LANES, from += 2 * CONV_LANES) {
            int64_t read = 2 * count - 1;
            CONV_VECTOR low = CONV_NAME(conv_load)(from, 1, read), high = {0};
            if (read > CONV_LANES) high = CONV_NAME(conv_load)(from + CONV_LANES, 1, read - CONV_LANES);
            CONV_NAME(conv_store)(to, 1, count, CONV_EVEN(low, high), 0);
        }
        return;
    }
#endif
    if (stride == 1) for (int64_t i = 0; i < count; i++) to[i] = from[i];
    else if (stride == 2) for (int64_t i = 0; i < count; i++) to[i] = from[2 * i];
    else {
        /* Four at a time: the loop's own instructions take as long as a copy. */
        for (; count >= 4; count -= 4, to += 4, from += 4 * stride)
            to[0] = from[0], to[1] = from[stride], to[2] = from[2 * stride], to[3] = from[3 * stride];
        for (int64_t i = 0; i < count; i++) to[i] = from[i * stride];
    }
}

/* The elements of a window along the last spatial dimension, for fixed positions along the others: `from` is the one of
   position 0; those of positions from `begin` on and before `end` are inside of lhs. */
typedef struct {
    const CONV_ITEM *from;
    int64_t begin, end;
} CONV_NAME(ConvRow);

/* Locate the rows of elements that the windows of a block have from this position on, the first of a row. */
CONV_CODE void CONV_NAME(conv_locate_element_rows)(
    const ConvProduct *p, const ConvBlock *block, int64_t position, const CONV_ITEM *lhs, CONV_NAME(ConvRow) *rows) {
    const ConvAxis *axis = &p->axes[p->row_axis];
    for (int64_t number = 0; number < block->window_row_count; number++)
        for (int64_t window = block->window_rows[number]; window < block->window_rows[number + 1]; window++) {
            int64_t index = conv_window_along(p, block, number, window, p->row_axis);
            int64_t begin = p->row_begins[index], end = p->row_ends[index];
            int64_t offset = begin < end ? conv_lhs_offset(p, block, number, window, position + begin) : -1;
            rows[window] = (CONV_NAME(ConvRow)){lhs + offset - begin, begin, end};
            if (offset < 0) rows[window] = (CONV_NAME(ConvRow)){lhs, axis->positions, 0};
        }
}

/* Pack `count` elements of up to a vector of rows, from position `first` on: those of a position are `stride` apart. */
CONV_CODE void CONV_NAME(conv_pack_rows)(
    const CONV_NAME(ConvRow) *rows, int64_t row_count, int64_t first, int64_t count, int64_t shift, int64_t lanes,
    CONV_ITEM *to, int64_t stride) {
    CONV_ITEM edges[CONV_LANES];
    CONV_VECTOR a[CONV_LANES];
    UNROLL for (int row = 0; row < CONV_LANES; row++) {
        a[row] = (CONV_VECTOR){0};
        if (row >= row_count) continue;
        int64_t begin = rows[row].begin - first, end = rows[row].end - first;
        const CONV_ITEM *from = rows[row].from + shift + first;
        if (begin <= 0 && end >= CONV_LANES) {
            a[row] = CONV_LOAD(from);
            continue;
        }
        for (int64_t i = 0; i < CONV_LANES; i++) edges[i] = i >= begin && i < end ? from[i] : 0;
        a[row] = CONV_LOAD(edges);
    }
    TRANSPOSE_VECTORS(CONV_VECTOR, CONV_LANES, a)
    UNROLL for (int i = 0; i < CONV_LANES; i++)
        if (i < count) CONV_NAME(conv_store)(to + i * stride, 1, lanes, a[i], 0);
}

/* Pack a k block of a block of windows whose elements are contiguous from position to position, by transposing. */
CONV_CODE void CONV_NAME(conv_pack_element_rows)(
    const ConvProduct *p, const ConvBlock *block, int64_t k_block, int64_t group, int64_t width, CONV_ITEM *to) {
    const CONV_ITEM *lhs = (const CONV_ITEM *)p->lhs + group * p->group_stride;
    int64_t k_begin = k_block * p->k_block_size, k_end = k_begin + CONV_NAME(conv_k_block_size)(p, k_block);
    int64_t filled = p->by_windows ? width : block->count, row_length = p->axes[p->row_axis].positions;
    CONV_NAME(ConvRow) rows[CONV_MAX_WIDTH];
    for (int64_t row = k_begin / p->features / row_length; row * row_length * p->features < k_end; row++) {
        int64_t position = row * row_length;
        CONV_NAME(conv_locate_element_rows)(p, block, position, lhs, rows);
        for (int64_t feature = 0; feature < p->features; feature++) {
            /* The positions of the row whose products with this feature are in the k block. */
            int64_t first = (k_begin - feature + p->features - 1) / p->features - position;
            int64_t last = (k_end - feature + p->features - 1) / p->features - position;
            first = first < 0 ? 0 : first, last = conv_min(last, row_length);
            for (int64_t i = first; i < last; i += CONV_LANES)
                for (int64_t lane = 0; lane < filled; lane += CONV_LANES)
                    CONV_NAME(conv_pack_rows)(
                        rows + lane, block->count - lane, i, conv_min(CONV_LANES, last - i), feature * p->feature_stride,
                        filled - lane, to + ((position + i) * p->features + feature - k_begin) * width + lane,
                        p->features * width);
        }
    }
}

/* Pack a k block of a block of windows: [k][width]. What lies CONV_PREFETCHED_POSITIONS further, if the next positions
   are as far apart as this one and the one before, is prefetched. */
CONV_CODE void CONV_NAME(conv_pack_windows)(
    const ConvProduct *p, const ConvBlock *block, int64_t k_block, int64_t group, int64_t width, CONV_ITEM *to) {
    const CONV_ITEM *lhs = (const CONV_ITEM *)p->lhs + group * p->group_stride;
    CONV_NAME(ConvSpan) spans[CONV_MAX_WIDTH];
    int64_t filled = p->by_windows ? width : block->count, previous = 0;
    for (int64_t s = p->k_block_segments[k_block]; s < p->k_block_segments[k_block + 1]; s++) {
        const ConvSegment *segment = &p->segments[s];
        int64_t count = CONV_NAME(conv_spans)(p, block, segment->position, spans);
        int64_t ahead = CONV_PREFETCHED_POSITIONS * (spans[0].lhs_offset - previous);
        previous = spans[0].lhs_offset;
        for (int64_t k = segment->skip; k < segment->skip + segment->length; k++, to += width) {
            for (int64_t i = 0; i < count; i++) {
                const CONV_ITEM *from = lhs + spans[i].lhs_offset + k * p->feature_stride;
                CONV_ITEM *lanes = to + spans[i].first;
                if (spans[i].lhs_offset < 0) {
                    memset(lanes, 0, spans[i].count * sizeof(CONV_ITEM));
                    continue;
                }
                for (int64_t lane = 0; spans[i].stride == 1 && lane < spans[i].count; lane += CONV_LANES)
                    __builtin_prefetch(from + ahead + lane);
                CONV_NAME(conv_copy)(lanes, from, spans[i].stride, spans[i].count);
            }
            for (int64_t lane = block->count; lane < filled; lane++) to[lane] = 0;
        }
    }
}

/* The memory of a task, and the k block that it is at. `panels`: the work item's own, if it packs them. */
typedef struct {
    ConvBlock *blocks;
    const CONV_ITEM **left;
    CONV_ITEM *packed, *panels, *zeros;
    int64_t begin, end, filled, k_block;
} CONV_NAME(ConvWorkItem);

/* The panel that a work item reads after this strip of its k block; NULL if there is none, or it packs its own. */
CONV_INLINE const char *CONV_NAME(conv_next_panel)(
    const ConvProduct *p, const CONV_NAME(ConvWorkItem) *w, int64_t number) {
    int64_t k_block = w->k_block + (number + 1 == w->end), next = number + 1 == w->end ? w->begin : number + 1;
    if (w->panels || k_block == p->k_block_count) return 0;
    return p->launch.panels + CONV_NAME(conv_panel)(p, k_block, next / p->strips, next % p->strips) * sizeof(CONV_ITEM);
}

/* Multiply a block of windows with the strips of a work item, for one k block. */
CONV_CODE void CONV_NAME(conv_multiply_block)(
    const ConvProduct *p, ConvBlock *block, const CONV_NAME(ConvWorkItem) *w) {
    CONV_TILE t = {.accumulates = w->k_block > 0, .k_size = CONV_NAME(conv_k_block_size)(p, w->k_block), .nontemporal =
        p->nontemporal, .lane_stride = p->lane_stride};
    int64_t packed_group = -1, full = p->vectors * CONV_LANES;
    if (p->is_direct) {
        CONV_NAME(conv_locate_rows)(p, block, w->filled, w->k_block, w->zeros, w->left, w->packed);
        t.segments = p->segments + p->k_block_segments[w->k_block];
        t.segment_count = p->k_block_segments[w->k_block + 1] - p->k_block_segments[w->k_block];
        t.block = w->filled;
    }
    for (int64_t number = w->begin; number < w->end; number++) {
        int64_t group = number / p->strips, strip = number % p->strips;
        const CONV_ITEM *panel = w->panels ? w->panels + (number - w->begin) * full * t.k_size
            : (const CONV_ITEM *)p->launch.panels + CONV_NAME(conv_panel)(p, w->k_block, group, strip);
        if (!p->is_direct && group != packed_group) {
            if (p->row_begins) CONV_NAME(conv_pack_element_rows)(p, block, w->k_block, group, w->filled, w->packed);
            else CONV_NAME(conv_pack_windows)(p, block, w->k_block, group, w->filled, w->packed);
            packed_group = group;
        }
        CONV_ITEM *result = (CONV_ITEM *)p->result;
        if (p->by_windows) {
            t.panel = w->packed, t.packed = panel, t.stride = p->rows, t.lanes = block->count;
            t.count = conv_min(p->rows, p->columns - strip * p->rows);
            result += block->first_result + (group * p->columns + strip * p->rows) * p->output_stride;
            for (int64_t r = 0; r < t.count; r++) t.to[r] = result + r * p->output_stride;
            CONV_NAME(conv_tile)(p->vectors, &t);
            continue;
        }
        const char *later = CONV_NAME(conv_next_panel)(p, w, number);
        int64_t width = CONV_NAME(conv_width)(p, strip), vectors = width / CONV_LANES;
        int64_t column = strip * full, rows = vectors == CONV_VECTORS ? p->rows : CONV_NARROW_ROWS;
        t.panel = panel, t.stride = w->filled, t.lanes = conv_min(width, p->columns - column);
        t.shift = group * p->group_stride;
        for (int64_t row = 0; row < block->count; row += rows) {
            t.left = p->is_direct ? w->left + row : 0;
            t.later = later ? later + row / rows * t.k_size * CONV_CACHE_LINE : (const char *)panel;
            t.packed = w->packed + row;
            t.count = conv_min(rows, block->count - row);
            for (int64_t r = 0; r < t.count; r++)
                t.to[r] = result + block->results[row + r] + group * p->columns + column;
            CONV_NAME(conv_tile)(vectors, &t);
        }
    }
}

/* Pack the strips of a work item for its k block. */
CONV_CODE void CONV_NAME(conv_pack_item)(const ConvProduct *p, const CONV_NAME(ConvWorkItem) *w) {
    const CONV_ITEM *factors[CONV_K_BLOCK];
    int64_t count = CONV_NAME(conv_locate_factors)(p, w->k_block, factors), full = p->vectors * CONV_LANES;
    for (int64_t number = w->begin; number < w->end; number++)
        CONV_NAME(conv_pack_strip)(
            p, number / p->strips, number % p->strips, factors, count, w->panels + (number - w->begin) * full * count);
}

/* The first output feature of a strip, or the end of them. */
CONV_INLINE int64_t CONV_NAME(conv_strip_column)(const ConvProduct *p, int64_t number) {
    return number / p->strips * p->columns + number % p->strips * p->vectors * CONV_LANES;
}

/* Do one work item: some windows, by blocks, times some strips. */
CONV_CODE void CONV_NAME(conv_multiply)(const ConvProduct *p, int64_t work_item, char *memory) {
    int64_t strip_count = p->groups * p->strips, strip_groups = (strip_count + p->strip_group - 1) / p->strip_group;
    int64_t span = p->by_windows ? p->inner : p->windows, items = (span + p->item_windows - 1) / p->item_windows;
    int64_t rows = p->launch.work_items / strip_groups;
    int64_t row = p->windows_first ? work_item % rows : work_item / strip_groups;
    int64_t strip_number = p->windows_first ? work_item / rows : work_item % strip_groups;
    int64_t first = row % items * p->item_windows, last = conv_min(first + p->item_windows, span);
    CONV_NAME(ConvWorkItem) w = {.blocks = (ConvBlock *)memory, .begin = strip_number * p->strip_group};
    w.end = conv_min(w.begin + p->strip_group, strip_count);
    w.filled = p->by_windows ? p->vectors * CONV_LANES : CONV_WINDOW_BLOCK;
    w.left = (const CONV_ITEM **)(w.blocks + (p->item_windows + p->block - 1) / p->block);
    w.packed = (CONV_ITEM *)conv_aligned(w.left + CONV_K_BLOCK * CONV_WINDOW_BLOCK);
    w.zeros = w.packed + CONV_MAX_WIDTH * CONV_K_BLOCK;
    if (p->packs_items) w.panels = (CONV_ITEM *)conv_aligned(w.zeros + p->groups * p->features + CONV_K_BLOCK);
    if (p->is_direct) memset(w.zeros, 0, (p->groups * p->features + CONV_K_BLOCK) * sizeof(CONV_ITEM));
    int64_t blocks = 0;
    for (int64_t window = first; window < last; window += p->block, blocks++)
        conv_locate_windows(
            p, row / items * span + window, conv_min(p->block, last - window), w.filled, &w.blocks[blocks]);
    for (w.k_block = 0; w.k_block < p->k_block_count; w.k_block++) {
        if (p->packs_items) CONV_NAME(conv_pack_item)(p, &w);
        for (int64_t block = 0; block < blocks; block++) {
            CONV_NAME(conv_multiply_block)(p, &w.blocks[block], &w);
            if (!p->epilogue || w.k_block + 1 < p->k_block_count) continue;
            int64_t column = CONV_NAME(conv_strip_column)(p, w.begin);
            epilogue_apply(
                p->epilogue, first + block * p->block, w.blocks[block].count, column,
                CONV_NAME(conv_strip_column)(p, w.end) - column);
        }
    }
}

/* Multiply windows, for `vectors` of groups from `group` on, the last vector with `last_lanes` items. */
CONV_INLINE void CONV_NAME(conv_multiply_lanes)(
    int vectors, const ConvProduct *p, const ConvBlock *block, int64_t group, int64_t last_lanes,
        const CONV_ITEM *zeros) {
    for (int64_t k_block = 0; k_block < p->k_block_count; k_block++) {
        CONV_VECTOR totals[CONV_GROUP_WINDOWS][4];
#pragma GCC unroll 4
        for (int r = 0; r < CONV_GROUP_WINDOWS; r++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) totals[r][v] = (CONV_VECTOR){0};
        for (int64_t s = p->k_block_segments[k_block]; s < p->k_block_segments[k_block + 1]; s++) {
            const ConvSegment *segment = &p->segments[s];
            const CONV_ITEM *left[CONV_GROUP_WINDOWS], *rhs = (const CONV_ITEM *)p->rhs + group;
            int64_t lhs_offsets[CONV_GROUP_WINDOWS], strides[CONV_GROUP_WINDOWS];
            conv_lhs_offsets(p, block, CONV_GROUP_WINDOWS, segment->position, lhs_offsets);
#pragma GCC unroll 4
            for (int r = 0; r < CONV_GROUP_WINDOWS; r++) {
                strides[r] = lhs_offsets[r] < 0 ? 0 : p->feature_stride;
                left[r] = lhs_offsets[r] < 0 ? zeros : (const CONV_ITEM *)p->lhs + group + lhs_offsets[r];
                left[r] += segment->skip * strides[r];
            }
            rhs += p->factor_offsets[segment->position] + segment->skip * p->factor_feature_stride;
            for (int64_t i = 0; i < segment->length; i++, rhs += p->factor_feature_stride) {
                CONV_VECTOR right[4];
#pragma GCC unroll 4
                for (int v = 0; v < vectors; v++) right[v] = CONV_NAME(conv_load)(rhs + v * CONV_LANES, 1, last_lanes);
#pragma GCC unroll 4
                for (int r = 0; r < CONV_GROUP_WINDOWS; r++) {
#pragma GCC unroll 4
                    for (int v = 0; v < vectors; v++)
                        totals[r][v] = CONV_FMA(
                            CONV_NAME(conv_load)(left[r] + v * CONV_LANES, 1, last_lanes), right[v], totals[r][v]);
                    left[r] += strides[r];
                }
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < CONV_GROUP_WINDOWS; r++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                if (r >= block->count) break;
                CONV_ITEM *to = (CONV_ITEM *)p->result + block->results[r] + group + v * CONV_LANES;
                CONV_VECTOR sum = totals[r][v];
                if (k_block) sum = CONV_NAME(conv_load)(to, 1, last_lanes) + sum;
                CONV_NAME(conv_store)(to, 1, last_lanes, sum, p->nontemporal);
            }
    }
}

/* Do one work item where vectors run along groups. */
CONV_CODE void CONV_NAME(conv_multiply_groups)(const ConvProduct *p, int64_t work_item, char *memory) {
    int64_t width = p->vectors * CONV_LANES, group_blocks = (p->groups + width - 1) / width;
    int64_t first = work_item / group_blocks * CONV_GROUP_WINDOWS, group = work_item % group_blocks * width;
    int64_t last = conv_min(group + width, p->groups), first_group = group;
    ConvBlock block;
    conv_locate_windows(p, first, conv_min(CONV_GROUP_WINDOWS, p->windows - first), CONV_GROUP_WINDOWS, &block);
    memset(memory, 0, CONV_MAX_WIDTH * sizeof(CONV_ITEM));
    const CONV_ITEM *zeros = (const CONV_ITEM *)memory;
    for (; group + CONV_VECTORS * CONV_LANES <= last; group += CONV_VECTORS * CONV_LANES)
        CONV_NAME(conv_multiply_lanes)(CONV_VECTORS, p, &block, group, CONV_LANES, zeros);
    for (; group + CONV_LANES <= last; group += CONV_LANES)
        CONV_NAME(conv_multiply_lanes)(1, p, &block, group, CONV_LANES, zeros);
    if (group < last) CONV_NAME(conv_multiply_lanes)(1, p, &block, group, last - group, zeros);
    if (p->epilogue) epilogue_apply(p->epilogue, first, block.count, first_group, last - first_group);
}

/* The elements to scale: `entries` for each window, at `lhs_offsets` from the first window's, by `factors`. */
typedef struct {
    int64_t entries, count, lhs_stride, result_stride, accumulates, nontemporal;
    const CONV_ITEM *lhs;
    CONV_ITEM *result;
    int64_t lhs_offsets[CONV_MAX_ENTRIES], factors[CONV_MAX_ENTRIES];
} CONV_NAME(ConvScaled);

/* Scale some windows, for `vectors` of channels from `channel` on, the last vector with `last_lanes` items. */
CONV_INLINE void CONV_NAME(conv_scale_channels)(
    int windows, int vectors, const CONV_NAME(ConvScaled) *s, const CONV_ITEM *factors, int64_t window,
    int64_t channel, int64_t last_lanes) {
    CONV_VECTOR totals[4][4], factor[4];
    CONV_ITEM *result = s->result + window * s->result_stride + channel;
    const CONV_ITEM *lhs = s->lhs + window * s->lhs_stride + channel;
#pragma GCC unroll 8
    for (int w = 0; w < windows; w++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            totals[w][v] = s->accumulates ? CONV_NAME(conv_load)(
                result + w * s->result_stride + v * CONV_LANES, 1, last_lanes)
                                   : (CONV_VECTOR){0};
    for (int64_t entry = 0; entry < s->entries; entry++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            factor[v] = CONV_NAME(conv_load)(factors + s->factors[entry] + channel + v * CONV_LANES, 1, last_lanes);
#pragma GCC unroll 8
        for (int w = 0; w < windows; w++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++)
                totals[w][v] = totals[w][v] + factor[v] * CONV_NAME(conv_load)(
                    lhs + s->lhs_offsets[entry] + w * s->lhs_stride + v * CONV_LANES, 1, last_lanes);
    }
#pragma GCC unroll 8
    for (int w = 0; w < windows; w++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            CONV_NAME(conv_store)(
                result + w * s->result_stride + v * CONV_LANES, 1, last_lanes, totals[w][v], s->nontemporal);
}

CONV_INLINE void CONV_NAME(conv_scale_windows)(
    int windows, const CONV_NAME(ConvScaled) *s, const CONV_ITEM *factors, int64_t window, int64_t channels) {
    int64_t channel = 0;
    for (; channel + CONV_VECTORS * CONV_LANES <= channels; channel += CONV_VECTORS * CONV_LANES)
        CONV_NAME(conv_scale_channels)(windows, CONV_VECTORS, s, factors, window, channel, CONV_LANES);
    for (; channel + CONV_LANES <= channels; channel += CONV_LANES)
        CONV_NAME(conv_scale_channels)(windows, 1, s, factors, window, channel, CONV_LANES);
    if (channel < channels)
        CONV_NAME(conv_scale_channels)(windows, 1, s, factors, window, channel, channels - channel);
}

/* Scale `vectors` of windows of one channel, the last vector with `last_lanes` items. */
CONV_INLINE void CONV_NAME(conv_scale_vectors)(
    int vectors, const CONV_NAME(ConvScaled) *s, const CONV_ITEM *lhs, const CONV_ITEM *factors, CONV_ITEM *result,
    int64_t lhs_stride, int64_t result_stride, int64_t last_lanes) {
    CONV_VECTOR totals[4];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        totals[v] = s->accumulates ? CONV_NAME(conv_load)(
            result + v * CONV_LANES * result_stride, result_stride, last_lanes)
                            : (CONV_VECTOR){0};
    for (int64_t entry = 0; entry < s->entries; entry++) {
        CONV_VECTOR factor = CONV_BROADCAST(factors[s->factors[entry]]);
        const CONV_ITEM *element = lhs + s->lhs_offsets[entry];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            totals[v] = totals[v] + factor * CONV_NAME(conv_load)(
                element + v * CONV_LANES * lhs_stride, lhs_stride, last_lanes);
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        CONV_NAME(conv_store)(
            result + v * CONV_LANES * result_stride, result_stride, last_lanes, totals[v], s->nontemporal);
}

CONV_INLINE void CONV_NAME(conv_scale_channel)(
    const CONV_NAME(ConvScaled) *s, const CONV_ITEM *lhs, const CONV_ITEM *factors, CONV_ITEM *result,
    int64_t lhs_stride, int64_t result_stride) {
    int64_t window = 0;
    for (; window + 4 * CONV_LANES <= s->count; window += 4 * CONV_LANES)
        CONV_NAME(conv_scale_vectors)(
            4, s, lhs + window * lhs_stride, factors, result + window * result_stride, lhs_stride, result_stride,
                CONV_LANES);
    for (; window < s->count; window += CONV_LANES)
        CONV_NAME(conv_scale_vectors)(
            1, s, lhs + window * lhs_stride, factors, result + window * result_stride, lhs_stride, result_stride,
            conv_min(CONV_LANES, s->count - window));
}

/* Scale a run of windows of one window row, at some positions, in some channels. */
CONV_CODE void CONV_NAME(conv_scale_run)(
    const ConvScaling *p, const CONV_NAME(ConvScaled) *s, int64_t first_channel, int64_t last_channel) {
    const CONV_ITEM *factors = (const CONV_ITEM *)p->factors;
    if (p->by_channels) {
        int64_t window = 0;
        for (; window + 4 <= s->count; window += 4)
            CONV_NAME(conv_scale_windows)(4, s, factors, window, p->channels);
        for (; window < s->count; window++) CONV_NAME(conv_scale_windows)(1, s, factors, window, p->channels);
        return;
    }
    for (int64_t channel = first_channel; channel < last_channel; channel++) {
        const CONV_ITEM *lhs = s->lhs + channel * p->lhs_channel_stride;
        CONV_ITEM *result = s->result + channel * p->result_channel_stride;
        if (s->lhs_stride == 1 && s->result_stride == 1)
            CONV_NAME(conv_scale_channel)(s, lhs, factors + channel, result, 1, 1);
        else if (s->lhs_stride == 2 && s->result_stride == 1)
            CONV_NAME(conv_scale_channel)(s, lhs, factors + channel, result, 2, 1);
        else
            CONV_NAME(conv_scale_channel)(s, lhs, factors + channel, result, s->lhs_stride, s->result_stride);
    }
}

#ifdef CONV_HAS_FLOATS
#include "row_tiles.h"
#endif

/* Do one work item. */
CONV_CODE void CONV_NAME(conv_scale)(const ConvScaling *p, int64_t work_item) {
    CONV_NAME(ConvScaled) s;
    s.nontemporal = p->nontemporal;
    int64_t channel = work_item % p->channel_blocks * p->channel_block, outer_index = work_item / p->channel_blocks;
    int64_t last_channel = conv_min(channel + p->channel_block, p->channels);
    int64_t begin = outer_index % p->row_blocks * p->row_block, window_row =
        outer_index / p->row_blocks * p->item_rows;
    int64_t end = begin + p->row_block, last_window_row = conv_min(window_row + p->item_rows, p->window_rows);
    const ConvAxis *innermost = &p->axes[p->rank - 1];
    for (; window_row < last_window_row; window_row++) {
        const int64_t *lhs_offsets[CONV_MAX_AXES];
        int64_t outer_row = window_row, result_offset = 0;
        for (int64_t axis = p->rank - 2; axis >= 0; axis--) {
            int64_t window = outer_row % p->axes[axis].count;
            outer_row /= p->axes[axis].count;
            result_offset += window * p->axes[axis].result_stride;
            lhs_offsets[axis] = p->axes[axis].lhs_offsets + window;
        }
#ifdef CONV_HAS_FLOATS
        if (p->column_step)
            CONV_NAME(conv_scale_tiles)(
                p, lhs_offsets, begin, conv_min(end, innermost->count) - begin, channel, last_channel - channel,
                (CONV_ITEM *)p->result + result_offset + begin * innermost->result_stride + channel);
#endif
        for (int64_t number = 0; number < p->run_count; number++) {
            const ConvRun *run = &p->runs[number];
            const int64_t *offsets_in_run = p->run_offsets + number * innermost->positions;
            int64_t low = begin <= run->first ? 0 : (begin - run->first + run->stride - 1) / run->stride;
            int64_t high = end <= run->first ? 0 : (end - run->first + run->stride - 1) / run->stride;
            s.count = conv_min(high, run->count) - low;
            if (s.count <= 0) continue;
            s.lhs = (const CONV_ITEM *)p->lhs + low * run->lhs_stride;
            s.result = (CONV_ITEM *)p->result + result_offset + (run->first + low * run->stride)
                * innermost->result_stride;
            s.lhs_stride = run->lhs_stride, s.result_stride = run->stride * innermost->result_stride;
            s.accumulates = 0;
            for (int64_t position = 0; position < p->positions || !s.accumulates;) {
                s.entries = 0;
                for (; position < p->positions && s.entries < CONV_MAX_ENTRIES; position++) {
                    const int64_t *position_indices = p->position_indices + position * p->rank;
                    int64_t lhs_offset = offsets_in_run[position_indices[p->rank - 1]];
                    for (int64_t axis = 0; axis < p->rank - 1; axis++)
                        lhs_offset += lhs_offsets[axis][position_indices[axis] * p->axes[axis].count];
                    if (lhs_offset < 0) continue;
                    s.lhs_offsets[s.entries] = lhs_offset;
                    s.factors[s.entries++] = p->factor_offsets[position];
                }
                CONV_NAME(conv_scale_run)(p, &s, channel, last_channel);
                s.accumulates = 1;
            }
        }
        if (p->epilogue)
            epilogue_apply(
                p->epilogue, window_row * innermost->count + begin, conv_min(end, innermost->count) - begin, channel,
                last_channel - channel);
    }
}

#include "planes_loops.h"
#include "sliding_loops.h"

#ifdef CONV_WINOGRAD
#include "winograd_loops.h"
#endif

#undef CONV_CODE
#undef CONV_INLINE
#undef CONV_VECTOR
#undef CONV_AT
#undef CONV_TILE
#undef CONV_LANES
#undef CONV_EVEN
#undef CONV_FMA
#undef CONV_HAS_FLOATS
#undef CONV_LOAD
#undef CONV_STORE
#undef CONV_BROADCAST
#undef CONV_ONE_TILE
#undef CONV_ITEM
#undef CONV_ITEM_BYTES
#undef CONV_ITEM_NAME
