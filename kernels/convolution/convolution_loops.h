/* The loops of convolutions for one element type and one level of instructions. `convolution_level.h` includes this once
   for each type, and defines CONV_ITEM, CONV_ITEM_NAME and, for floats, CONV_FMA; `convolution_tasks.h` says what the
   loops do. */

#define CONV_CODE static CONV_TARGET
#define CONV_INLINE static inline CONV_TARGET __attribute__((always_inline))
#define CONV_VECTOR CONV_NAME(conv_vector)
#define CONV_AT CONV_NAME(conv_at)
#define CONV_TILE CONV_NAME(conv_tile_work)
enum { CONV_NAME(CONV_LANES) = CONV_VECTOR_BYTES / sizeof(CONV_ITEM) };
#define CONV_LANES CONV_NAME(CONV_LANES)

typedef CONV_ITEM CONV_VECTOR __attribute__((vector_size(CONV_VECTOR_BYTES)));
typedef CONV_ITEM CONV_AT __attribute__((vector_size(CONV_VECTOR_BYTES), aligned(sizeof(CONV_ITEM)), may_alias));

#ifndef CONV_FMA
#define CONV_FMA(a, b, c) ((a) * (b) + (c))
#endif
#define CONV_LOAD(at) ((CONV_VECTOR) * (const CONV_AT *)(at))
#define CONV_STORE(at, value) (*(CONV_AT *)(at) = (CONV_AT)(value))
#define CONV_REPEAT(item) ((item) - (CONV_VECTOR){0})

/* Items `step` apart; of a vector only the first `count`. */
CONV_INLINE CONV_VECTOR CONV_NAME(conv_load)(const CONV_ITEM *at, int64_t step, int64_t count) {
    if (step == 1 && count >= CONV_LANES) return CONV_LOAD(at);
#ifdef CONV_LOAD_SOME
    if (step == 1) return CONV_LOAD_SOME(at, count);
#endif
    CONV_ITEM items[CONV_LANES] = {0};
    for (int64_t lane = 0; lane < conv_least(count, CONV_LANES); lane++) items[lane] = at[lane * step];
    return CONV_LOAD(items);
}

/* `streams`: past the caches, where a whole line of them is written. */
CONV_INLINE void CONV_NAME(conv_store)(
    CONV_ITEM *at, int64_t step, int64_t count, CONV_VECTOR value, int64_t streams) {
    if (step == 1 && count >= CONV_LANES) {
#ifdef CONV_STREAM
        if (streams && (uintptr_t)at % CONV_VECTOR_BYTES == 0) {
            CONV_STREAM(at, value);
            return;
        }
#endif
        (void)streams;
        CONV_STORE(at, value);
        return;
    }
#ifdef CONV_STORE_SOME
    if (step == 1) {
        CONV_STORE_SOME(at, count, value);
        return;
    }
#endif
    CONV_ITEM items[CONV_LANES];
    CONV_STORE(items, value);
    for (int64_t lane = 0; lane < conv_least(count, CONV_LANES); lane++) at[lane * step] = items[lane];
}

/* A tile: up to `count` rows, each of `lanes` items, of one part of the terms. The left side has in `left` for each
   segment the addresses of `block` rows, from the first of the tile on; or else `packed`, [term][row] with `step`
   items from one term to the next. `to`: where rows go. `adds`: whether to what is there. */
typedef struct {
    const CONV_ITEM *panel, *packed;
    const CONV_ITEM *const *left;
    const ConvSegment *segments;
    int64_t segment_count, block, shift, step, terms, count, lanes, lane_step, adds, streams;
    CONV_ITEM *to[8];
} CONV_TILE;

CONV_INLINE void CONV_NAME(conv_add_terms)(
    int rows, int vectors, CONV_VECTOR totals[8][4], const CONV_ITEM *const left[8], int64_t term,
    const CONV_ITEM *panel) {
    CONV_VECTOR right[4];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) right[v] = CONV_LOAD(panel + v * CONV_LANES);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        CONV_VECTOR one = CONV_REPEAT(left[r][term]);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) totals[r][v] = CONV_FMA(one, right[v], totals[r][v]);
    }
}

CONV_INLINE void CONV_NAME(conv_multiply_tile)(int rows, int vectors, const CONV_TILE *t) {
    CONV_VECTOR totals[8][4];
    const CONV_ITEM *panel = t->panel, *left[8];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) totals[r][v] = (CONV_VECTOR){0};
    if (t->left) {
        for (int64_t s = 0; s < t->segment_count; s++) {
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) left[r] = t->left[s * t->block + r] + t->shift;
            int64_t length = t->segments[s].length;
            for (int64_t i = 0; i < length; i++, panel += vectors * CONV_LANES)
                CONV_NAME(conv_add_terms)(rows, vectors, totals, left, i, panel);
        }
    } else {
        const CONV_ITEM *packed = t->packed;
        for (int64_t i = 0; i < t->terms; i++, panel += vectors * CONV_LANES, packed += t->step) {
#pragma GCC unroll 8
            for (int r = 0; r < rows; r++) left[r] = packed + r;
            CONV_NAME(conv_add_terms)(rows, vectors, totals, left, 0, panel);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        if (r >= t->count) break;
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            int64_t lanes = t->lanes - v * CONV_LANES;
            if (lanes <= 0) break;
            CONV_ITEM *to = t->to[r] + v * CONV_LANES * t->lane_step;
            CONV_VECTOR before = (CONV_VECTOR){0};
            if (t->adds) before = CONV_NAME(conv_load)(to, t->lane_step, lanes);
            CONV_NAME(conv_store)(to, t->lane_step, lanes, before + totals[r][v], t->streams);
        }
    }
}

/* Rows of a tile of so many vectors: the sums fill the registers. */
#define CONV_ROWS_OF(vectors) ((vectors) == CONV_VECTORS ? 6 : 8)

#define CONV_ONE_TILE(vectors) \
    static CONV_TARGET __attribute__((noinline)) void CONV_NAMED(conv_tile_##vectors, CONV_ITEM_NAME, CONV_LEVEL)( \
        const CONV_TILE *t) { \
        CONV_NAME(conv_multiply_tile)(CONV_ROWS_OF(vectors), vectors, t); \
    }
CONV_ONE_TILE(1)
CONV_ONE_TILE(2)
#if CONV_VECTORS == 4
CONV_ONE_TILE(3)
CONV_ONE_TILE(4)
#endif

CONV_CODE void CONV_NAME(conv_tile)(int64_t vectors, const CONV_TILE *t) {
    switch (vectors) {
    case 1: CONV_NAMED(conv_tile_1, CONV_ITEM_NAME, CONV_LEVEL)(t); break;
    case 2: CONV_NAMED(conv_tile_2, CONV_ITEM_NAME, CONV_LEVEL)(t); break;
#if CONV_VECTORS == 4
    case 3: CONV_NAMED(conv_tile_3, CONV_ITEM_NAME, CONV_LEVEL)(t); break;
    case 4: CONV_NAMED(conv_tile_4, CONV_ITEM_NAME, CONV_LEVEL)(t); break;
#endif
    }
}

/* The terms of a part. */
CONV_INLINE int64_t CONV_NAME(conv_part)(const ConvProduct *p, int64_t part) {
    return conv_least(p->part, p->terms - part * p->part);
}

/* How far a strip of a part lies in the panels: [part][group][strip][term][item]. */
CONV_INLINE int64_t CONV_NAME(conv_panel)(const ConvProduct *p, int64_t part, int64_t group, int64_t strip) {
    int64_t width = p->by_windows ? p->rows : p->vectors * CONV_LANES;
    return part * p->part * p->groups * p->padded +
           (group * p->padded + strip * width) * CONV_NAME(conv_part)(p, part);
}

/* The items of a strip's panel for each term. */
CONV_INLINE int64_t CONV_NAME(conv_width)(const ConvProduct *p, int64_t strip) {
    if (p->by_windows) return p->rows;
    return (strip + 1 < p->strips ? p->vectors : p->last_vectors) * CONV_LANES;
}

/* Pack a strip of rhs. */
CONV_CODE void CONV_NAME(conv_pack)(const ConvProduct *p, int64_t number) {
    int64_t part = number / (p->groups * p->strips), group = number / p->strips % p->groups, strip = number % p->strips;
    int64_t width = CONV_NAME(conv_width)(p, strip);
    int64_t column = strip * (p->by_windows ? p->rows : p->vectors * CONV_LANES);
    int64_t here = conv_least(width, p->columns - column);
    CONV_ITEM *to = (CONV_ITEM *)p->panels + CONV_NAME(conv_panel)(p, part, group, strip);
    const CONV_ITEM *rhs = (const CONV_ITEM *)p->rhs + (group * p->columns + column) * p->factor_output_step;
    for (int64_t s = p->parts[part]; s < p->parts[part + 1]; s++) {
        const ConvSegment *segment = &p->segments[s];
        for (int64_t term = segment->skip; term < segment->skip + segment->length; term++, to += width) {
            const CONV_ITEM *from = rhs + p->factor_places[segment->position + term / p->features] +
                                    term % p->features * p->factor_feature_step;
            if (p->factor_output_step == 1) memcpy(to, from, here * sizeof(CONV_ITEM));
            else for (int64_t lane = 0; lane < here; lane++) to[lane] = from[lane * p->factor_output_step];
            for (int64_t lane = here; lane < width; lane++) to[lane] = 0;
        }
    }
}

/* Find where the rows of a block lie for each segment of a part. Windows that reach into the padding while their terms
   are merged are copied into `edge`. */
CONV_CODE void CONV_NAME(conv_find_rows)(
    const ConvProduct *p, const ConvBlock *block, int64_t filled, int64_t part, const CONV_ITEM *zeros,
    CONV_ITEM *edge, const CONV_ITEM **left) {
    const CONV_ITEM *lhs = (const CONV_ITEM *)p->lhs;
    int64_t at = 0;
    for (int64_t s = p->parts[part]; s < p->parts[part + 1]; s++, left += filled) {
        const ConvSegment *segment = &p->segments[s];
        int64_t last = segment->position + (segment->skip + segment->length - 1) / p->features;
        int64_t first = segment->position + segment->skip / p->features, skip = segment->skip % p->features;
        int64_t places[2][CONV_MOST_WIDTH];
        conv_find_places(p, block, filled, first, places[0]);
        if (first == last) {
            for (int64_t row = 0; row < filled; row++)
                left[row] = places[0][row] < 0 ? zeros + skip : lhs + places[0][row] + skip;
            at += segment->length;
            continue;
        }
        conv_find_places(p, block, filled, last, places[1]);
        for (int64_t row = 0; row < filled; row++) {
            if (places[0][row] >= 0 && places[1][row] >= 0) {
                left[row] = lhs + places[0][row] + skip;
                continue;
            }
            if (conv_is_outside(p, block, row, first)) {
                left[row] = zeros;
                continue;
            }
            /* Whole vectors are stored: the rest of the last one is overwritten, or lies between the rows. */
            CONV_ITEM *to = edge + row * (CONV_PART + CONV_LANES) + at;
            left[row] = to;
            int64_t start = skip, rest = segment->length;
            for (int64_t position = first; position <= last; position++, start = 0) {
                int64_t here = conv_least(p->features - start, rest), place = conv_place(p, block, row, position);
                for (int64_t i = 0; i < here; i += CONV_LANES) {
                    CONV_VECTOR items = {0};
                    if (place >= 0) items = CONV_NAME(conv_load)(lhs + place + start + i, 1, here - i);
                    CONV_STORE(to + i, items);
                }
                to += here;
                rest -= here;
            }
        }
        at += segment->length;
    }
}

/* Windows of a block that lie `step` apart, or in the padding where `place` is negative. */
typedef struct {
    int64_t first, count, place, step;
} CONV_NAME(ConvSpan);

/* Divide the windows of a block into spans, for one position: line by line where all of a line lies inside. */
CONV_CODE int64_t CONV_NAME(conv_spans)(
    const ConvProduct *p, const ConvBlock *block, int64_t position, CONV_NAME(ConvSpan) *spans) {
    int64_t number = -1, next = 0, places[CONV_MOST_WIDTH];
    if (!p->has_holes && block->line_count * 4 <= block->count) {
        for (; number + 1 < block->line_count; number++) {
            int64_t first = block->lines[number + 1], count = block->lines[number + 2] - first;
            CONV_NAME(ConvSpan) *span = &spans[number + 1];
            span->first = first, span->count = count, span->step = 0;
            span->place = conv_place(p, block, first, position);
            if (conv_is_outside(p, block, first, position)) continue;
            if (span->place < 0 || conv_place(p, block, first + count - 1, position) < 0) break;
            if (count > 1) span->step = conv_place(p, block, first + 1, position) - span->place;
        }
        if (number + 1 == block->line_count) return number + 1;
        number = -1;
    }
    conv_find_places(p, block, block->count, position, places);
    for (int64_t row = 0; row < block->count; row++) {
        int64_t place = places[row];
        CONV_NAME(ConvSpan) *span = &spans[number];
        int is_next = number >= 0 && (place < 0) == (span->place < 0);
        if (is_next && place >= 0 && span->count == 1) span->step = place - span->place, next = place;
        if (!is_next || (place >= 0 && place != next)) {
            span = &spans[++number];
            span->first = row, span->count = 0, span->place = place, span->step = 0;
        }
        span->count++;
        next = place + span->step;
    }
    return number + 1;
}

/* Copy items that lie `step` apart. Constant steps, as most are, make vectors of the loop. */
CONV_INLINE void CONV_NAME(conv_copy)(CONV_ITEM *to, const CONV_ITEM *from, int64_t step, int64_t count) {
    if (step == 1) for (int64_t i = 0; i < count; i++) to[i] = from[i];
    else if (step == 2) for (int64_t i = 0; i < count; i++) to[i] = from[2 * i];
    else for (int64_t i = 0; i < count; i++) to[i] = from[i * step];
}

/* Pack a part of the terms of a block of windows: [term][width]. */
CONV_CODE void CONV_NAME(conv_pack_windows)(
    const ConvProduct *p, const ConvBlock *block, int64_t part, int64_t group, int64_t width, CONV_ITEM *to) {
    const CONV_ITEM *lhs = (const CONV_ITEM *)p->lhs + group * p->group_step;
    CONV_NAME(ConvSpan) spans[CONV_MOST_WIDTH];
    for (int64_t s = p->parts[part]; s < p->parts[part + 1]; s++) {
        const ConvSegment *segment = &p->segments[s];
        int64_t count = CONV_NAME(conv_spans)(p, block, segment->position, spans);
        for (int64_t term = segment->skip; term < segment->skip + segment->length; term++, to += width) {
            for (int64_t i = 0; i < count; i++) {
                const CONV_ITEM *from = lhs + spans[i].place + term * p->feature_step;
                CONV_ITEM *lanes = to + spans[i].first;
                if (spans[i].place < 0) memset(lanes, 0, spans[i].count * sizeof(CONV_ITEM));
                else CONV_NAME(conv_copy)(lanes, from, spans[i].step, spans[i].count);
            }
            for (int64_t lane = block->count; lane < width; lane++) to[lane] = 0;
        }
    }
}

/* Multiply one unit: a block of windows with some strips. */
CONV_CODE void CONV_NAME(conv_multiply)(const ConvProduct *p, int64_t unit, char *memory) {
    int64_t flat = p->groups * p->strips, across = (flat + p->strip_group - 1) / p->strip_group;
    int64_t begin = unit % across * p->strip_group, end = conv_least(begin + p->strip_group, flat);
    int64_t filled = p->by_windows ? p->vectors * CONV_LANES : (p->block + 23) / 24 * 24;
    int64_t per = p->by_windows ? p->inner : p->windows, blocks = (per + p->block - 1) / p->block;
    int64_t first = unit / across / blocks * per + unit / across % blocks * p->block;
    ConvBlock block;
    conv_find(p, first, conv_least(p->block, per - first % per), filled, &block);
    CONV_ITEM *packed = (CONV_ITEM *)memory;
    const CONV_ITEM **left = (const CONV_ITEM **)(packed + CONV_MOST_WIDTH * CONV_PART);
    CONV_ITEM *zeros = (CONV_ITEM *)(left + CONV_PART * CONV_BLOCK);
    if (p->is_direct) memset(zeros, 0, (p->groups * p->features + CONV_PART) * sizeof(CONV_ITEM));
    for (int64_t part = 0; part < p->part_count; part++) {
        CONV_TILE t = {.adds = part > 0, .terms = CONV_NAME(conv_part)(p, part), .streams = p->streams};
        t.lane_step = p->lane_step;
        int64_t now = -1;
        if (p->is_direct) {
            CONV_NAME(conv_find_rows)(p, &block, filled, part, zeros, packed, left);
            t.segments = p->segments + p->parts[part];
            t.segment_count = p->parts[part + 1] - p->parts[part];
            t.block = filled;
        }
        for (int64_t number = begin; number < end; number++) {
            int64_t group = number / p->strips, strip = number % p->strips;
            const CONV_ITEM *panel = (const CONV_ITEM *)p->panels + CONV_NAME(conv_panel)(p, part, group, strip);
            if (!p->is_direct && group != now) {
                CONV_NAME(conv_pack_windows)(p, &block, part, group, filled, packed);
                now = group;
            }
            CONV_ITEM *result = (CONV_ITEM *)p->result;
            if (p->by_windows) {
                t.panel = packed, t.packed = panel, t.step = p->rows, t.lanes = block.count;
                t.count = conv_least(p->rows, p->columns - strip * p->rows);
                result += block.first_result + (group * p->columns + strip * p->rows) * p->output_step;
                for (int64_t r = 0; r < t.count; r++) t.to[r] = result + r * p->output_step;
                CONV_NAME(conv_tile)(p->vectors, &t);
                continue;
            }
            int64_t width = CONV_NAME(conv_width)(p, strip), vectors = width / CONV_LANES;
            int64_t column = strip * p->vectors * CONV_LANES, rows = CONV_ROWS_OF(vectors);
            t.panel = panel, t.step = filled, t.lanes = conv_least(width, p->columns - column);
            t.shift = group * p->group_step;
            for (int64_t row = 0; row < block.count; row += rows) {
                t.left = p->is_direct ? left + row : 0;
                t.packed = packed + row;
                t.count = conv_least(rows, block.count - row);
                for (int64_t r = 0; r < t.count; r++)
                    t.to[r] = result + block.results[row + r] + group * p->columns + column;
                CONV_NAME(conv_tile)(vectors, &t);
            }
        }
    }
}

/* Multiply windows of `vectors` of groups from `group` on, of the last of which there are `some` items. */
CONV_INLINE void CONV_NAME(conv_multiply_lanes)(
    int vectors, const ConvProduct *p, const ConvBlock *block, int64_t group, int64_t some, const CONV_ITEM *zeros) {
    for (int64_t part = 0; part < p->part_count; part++) {
        CONV_VECTOR totals[CONV_FEW][4];
#pragma GCC unroll 4
        for (int r = 0; r < CONV_FEW; r++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) totals[r][v] = (CONV_VECTOR){0};
        for (int64_t s = p->parts[part]; s < p->parts[part + 1]; s++) {
            const ConvSegment *segment = &p->segments[s];
            const CONV_ITEM *left[CONV_FEW], *rhs = (const CONV_ITEM *)p->rhs + group;
            int64_t places[CONV_FEW], steps[CONV_FEW];
            conv_find_places(p, block, CONV_FEW, segment->position, places);
#pragma GCC unroll 4
            for (int r = 0; r < CONV_FEW; r++) {
                steps[r] = places[r] < 0 ? 0 : p->feature_step;
                left[r] = places[r] < 0 ? zeros : (const CONV_ITEM *)p->lhs + group + places[r];
                left[r] += segment->skip * steps[r];
            }
            rhs += p->factor_places[segment->position] + segment->skip * p->factor_feature_step;
            for (int64_t i = 0; i < segment->length; i++, rhs += p->factor_feature_step) {
                CONV_VECTOR right[4];
#pragma GCC unroll 4
                for (int v = 0; v < vectors; v++) right[v] = CONV_NAME(conv_load)(rhs + v * CONV_LANES, 1, some);
#pragma GCC unroll 4
                for (int r = 0; r < CONV_FEW; r++) {
#pragma GCC unroll 4
                    for (int v = 0; v < vectors; v++)
                        totals[r][v] = CONV_FMA(
                            CONV_NAME(conv_load)(left[r] + v * CONV_LANES, 1, some), right[v], totals[r][v]);
                    left[r] += steps[r];
                }
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < CONV_FEW; r++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                if (r >= block->count) break;
                CONV_ITEM *to = (CONV_ITEM *)p->result + block->results[r] + group + v * CONV_LANES;
                CONV_VECTOR before = (CONV_VECTOR){0};
                if (part) before = CONV_NAME(conv_load)(to, 1, some);
                CONV_NAME(conv_store)(to, 1, some, before + totals[r][v], p->streams);
            }
    }
}

/* Multiply one unit where vectors run along groups. */
CONV_CODE void CONV_NAME(conv_multiply_groups)(const ConvProduct *p, int64_t unit, char *memory) {
    int64_t width = p->vectors * CONV_LANES, across = (p->groups + width - 1) / width;
    int64_t first = unit / across * CONV_FEW, group = unit % across * width;
    int64_t last = conv_least(group + width, p->groups);
    ConvBlock block;
    conv_find(p, first, conv_least(CONV_FEW, p->windows - first), CONV_FEW, &block);
    memset(memory, 0, CONV_MOST_WIDTH * sizeof(CONV_ITEM));
    const CONV_ITEM *zeros = (const CONV_ITEM *)memory;
    for (; group + CONV_VECTORS * CONV_LANES <= last; group += CONV_VECTORS * CONV_LANES)
        CONV_NAME(conv_multiply_lanes)(CONV_VECTORS, p, &block, group, CONV_LANES, zeros);
    for (; group + CONV_LANES <= last; group += CONV_LANES)
        CONV_NAME(conv_multiply_lanes)(1, p, &block, group, CONV_LANES, zeros);
    if (group < last) CONV_NAME(conv_multiply_lanes)(1, p, &block, group, last - group, zeros);
}

/* What is scaled: `entries` elements for each window, `places` from the first window's on, by `factors`. */
typedef struct {
    int64_t entries, count, lhs_step, result_step, adds, streams;
    const CONV_ITEM *lhs;
    CONV_ITEM *result;
    int64_t places[CONV_ENTRIES], factors[CONV_ENTRIES];
} CONV_NAME(ConvScaled);

/* Some windows, `vectors` of channels from `channel` on, of the last of which there are `some` items. */
CONV_INLINE void CONV_NAME(conv_scale_channels)(
    int windows, int vectors, const CONV_NAME(ConvScaled) *s, const CONV_ITEM *factors, int64_t window,
    int64_t channel, int64_t some) {
    CONV_VECTOR totals[4][4], factor[4];
    CONV_ITEM *result = s->result + window * s->result_step + channel;
    const CONV_ITEM *lhs = s->lhs + window * s->lhs_step + channel;
#pragma GCC unroll 4
    for (int w = 0; w < windows; w++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            totals[w][v] = s->adds ? CONV_NAME(conv_load)(result + w * s->result_step + v * CONV_LANES, 1, some)
                                   : (CONV_VECTOR){0};
    for (int64_t entry = 0; entry < s->entries; entry++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            factor[v] = CONV_NAME(conv_load)(factors + s->factors[entry] + channel + v * CONV_LANES, 1, some);
#pragma GCC unroll 4
        for (int w = 0; w < windows; w++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++)
                totals[w][v] = totals[w][v] + factor[v] * CONV_NAME(conv_load)(
                    lhs + s->places[entry] + w * s->lhs_step + v * CONV_LANES, 1, some);
    }
#pragma GCC unroll 4
    for (int w = 0; w < windows; w++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            CONV_NAME(conv_store)(
                result + w * s->result_step + v * CONV_LANES, 1, some, totals[w][v], s->streams);
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

/* `vectors` of windows of one channel, of the last of which there are `some` items. */
CONV_INLINE void CONV_NAME(conv_scale_line)(
    int vectors, const CONV_NAME(ConvScaled) *s, const CONV_ITEM *lhs, const CONV_ITEM *factors, CONV_ITEM *result,
    int64_t lhs_step, int64_t result_step, int64_t some) {
    CONV_VECTOR totals[4];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        totals[v] = s->adds ? CONV_NAME(conv_load)(result + v * CONV_LANES * result_step, result_step, some)
                            : (CONV_VECTOR){0};
    for (int64_t entry = 0; entry < s->entries; entry++) {
        CONV_VECTOR factor = CONV_REPEAT(factors[s->factors[entry]]);
        const CONV_ITEM *at = lhs + s->places[entry];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            totals[v] = totals[v] + factor * CONV_NAME(conv_load)(at + v * CONV_LANES * lhs_step, lhs_step, some);
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        CONV_NAME(conv_store)(result + v * CONV_LANES * result_step, result_step, some, totals[v], s->streams);
}

CONV_INLINE void CONV_NAME(conv_scale_channel)(
    const CONV_NAME(ConvScaled) *s, const CONV_ITEM *lhs, const CONV_ITEM *factors, CONV_ITEM *result,
    int64_t lhs_step, int64_t result_step) {
    int64_t window = 0;
    for (; window + 4 * CONV_LANES <= s->count; window += 4 * CONV_LANES)
        CONV_NAME(conv_scale_line)(
            4, s, lhs + window * lhs_step, factors, result + window * result_step, lhs_step, result_step, CONV_LANES);
    for (; window < s->count; window += CONV_LANES)
        CONV_NAME(conv_scale_line)(
            1, s, lhs + window * lhs_step, factors, result + window * result_step, lhs_step, result_step,
            conv_least(CONV_LANES, s->count - window));
}

/* Scale what a run of windows of one line has at some positions, in some channels. */
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
        const CONV_ITEM *lhs = s->lhs + channel * p->lhs_channel_step;
        CONV_ITEM *result = s->result + channel * p->result_channel_step;
        if (s->lhs_step == 1 && s->result_step == 1)
            CONV_NAME(conv_scale_channel)(s, lhs, factors + channel, result, 1, 1);
        else if (s->lhs_step == 2 && s->result_step == 1)
            CONV_NAME(conv_scale_channel)(s, lhs, factors + channel, result, 2, 1);
        else
            CONV_NAME(conv_scale_channel)(s, lhs, factors + channel, result, s->lhs_step, s->result_step);
    }
}

/* Scale one unit. */
CONV_CODE void CONV_NAME(conv_scale)(const ConvScaling *p, int64_t unit) {
    CONV_NAME(ConvScaled) s;
    s.streams = p->streams;
    int64_t channel = unit % p->channel_blocks * p->channel_block, rest = unit / p->channel_blocks;
    int64_t last_channel = conv_least(channel + p->channel_block, p->channels);
    int64_t begin = rest % p->line_blocks * p->line_block, line = rest / p->line_blocks * CONV_LINES;
    int64_t end = begin + p->line_block, last_line = conv_least(line + CONV_LINES, p->lines);
    const ConvAxis *innermost = &p->axes[p->rank - 1];
    for (; line < last_line; line++) {
        const int64_t *places[CONV_MOST_AXES];
        int64_t left = line, to = 0;
        for (int64_t axis = p->rank - 2; axis >= 0; axis--) {
            int64_t window = left % p->axes[axis].count;
            left /= p->axes[axis].count;
            to += window * p->axes[axis].result_step;
            places[axis] = p->axes[axis].places + window * p->axes[axis].positions;
        }
        for (int64_t number = 0; number < p->run_count; number++) {
            const ConvRun *run = &p->runs[number];
            const int64_t *in_line = p->line_places + number * innermost->positions;
            int64_t low = begin <= run->first ? 0 : (begin - run->first + run->step - 1) / run->step;
            int64_t high = end <= run->first ? 0 : (end - run->first + run->step - 1) / run->step;
            s.count = conv_least(high, run->count) - low;
            if (s.count <= 0) continue;
            s.lhs = (const CONV_ITEM *)p->lhs + low * run->lhs_step;
            s.result = (CONV_ITEM *)p->result + to + (run->first + low * run->step) * innermost->result_step;
            s.lhs_step = run->lhs_step, s.result_step = run->step * innermost->result_step;
            s.adds = 0;
            for (int64_t position = 0; position < p->positions || !s.adds;) {
                s.entries = 0;
                for (; position < p->positions && s.entries < CONV_ENTRIES; position++) {
                    const int64_t *along = p->along + position * p->rank;
                    int64_t place = in_line[along[p->rank - 1]];
                    for (int64_t axis = 0; axis < p->rank - 1; axis++) place += places[axis][along[axis]];
                    if (place < 0) continue;
                    s.places[s.entries] = place;
                    s.factors[s.entries++] = p->factor_places[position];
                }
                CONV_NAME(conv_scale_run)(p, &s, channel, last_channel);
                s.adds = 1;
            }
        }
    }
}

#undef CONV_CODE
#undef CONV_INLINE
#undef CONV_VECTOR
#undef CONV_AT
#undef CONV_TILE
#undef CONV_LANES
#undef CONV_FMA
#undef CONV_LOAD
#undef CONV_STORE
#undef CONV_REPEAT
#undef CONV_ROWS_OF
#undef CONV_ONE_TILE
#undef CONV_ITEM
#undef CONV_ITEM_NAME
