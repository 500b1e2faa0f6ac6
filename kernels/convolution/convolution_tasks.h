/* Convolutions: products of windows with factors, and scaled elements. `convolution_loops.h` holds the loops, once for
   each element type and instruction set; here is what they read, which of them serves, and the tasks.

   Products. A block of windows is the left or the right side of a product of matrices. Sums stay in registers: those
   of some rows of the left side, of which each element is multiplied with vectors of the right side.

   - Where the result's features are contiguous, vectors run along them: the right side is rhs, packed into panels.
     Rows are windows, read where they lie in lhs if its features are contiguous, or else packed.
   - Elsewhere vectors run along windows, which are packed, and the rows are features of the result.
   - Where each group has one feature of the result, and groups are contiguous in all arrays, vectors run along them:
     nothing is packed.

   The order of floats. Of each window the terms are taken in row-major order of position and input feature; what lies
   in the padding is zero. They are divided into the fewest parts of at most CONV_PART terms, all but the last of one
   size. The terms of a part are added to +0 by fused multiply-add, and the sums of the parts to +0 one after another.
   Scaled elements are rounded and added to +0 in the order of positions, without those in the
   padding. Integers are exact modulo two to the width. */

#ifndef NIMBLEHLO_CONVOLUTION_TASKS_H
#define NIMBLEHLO_CONVOLUTION_TASKS_H

#include <stdint.h>
#include <string.h>

enum {
    CONV_PART = 160,       /* most terms of a part: its panel stays in the first cache */
    CONV_MOST_AXES = 16,
    CONV_BLOCK = 48,       /* most windows that are rows: whole tiles of either height */
    CONV_MOST_WIDTH = 64,  /* most items of the vectors of a tile */
    CONV_CHANNELS = 16,    /* of which lines are scaled together where vectors run along lines */
    CONV_LINES = 8,        /* that are scaled one after another */
    CONV_FEW = 4,          /* windows that are rows where vectors run along groups */
    CONV_ENTRIES = 256,    /* positions of which elements are scaled at a time */
    CONV_LARGE = 1 << 22,  /* bytes of a result from which it is written past the caches: they could keep little of it */
};
enum { CONV_FLOAT32, CONV_FLOAT64, CONV_INT32, CONV_INT64, CONV_KINDS };

/* A dimension along which windows lie. `places` has [window][position]: how many items into lhs, or CONV_OUTSIDE. */
#define CONV_OUTSIDE (INT64_MIN / 32)
typedef struct {
    int64_t count, positions, result_step;
    const int64_t *places;
} ConvAxis;

/* Terms that lie side by side in memory, inside of one part: `length` of them, from `skip` after the first feature of
   a position on. */
typedef struct {
    int64_t position, skip, length;
} ConvSegment;

/* What tasks of products read. Axes are in the order in which the result has them in memory, steps are in items.

   `has_holes`: whether there is base dilation. `merged`: how many positions along the last spatial dimension lie side by side wherever none is in the padding, or
   one. `along`: [position][axis]. `factor_places`: [position], items into rhs. `part`: terms of one. `parts`: where
   the segments of each begin. `inner`: windows that are `lane_step` apart in the result, where `by_windows`. `by_groups`: a unit is
   CONV_FEW windows of as many groups as `vectors` hold. `streams`: whether what is written is
   large, and written once: then it goes past the caches. The first `pack_tasks` tasks pack
   `pack_size` strips of rhs each. The others wait for them, and do `size` units each: a block of windows, and of the
   groups and strips `strip_group`. Each takes one of `slots` parts of `memory` for itself. */
typedef struct {
    const char *lhs, *rhs;
    char *result, *panels, *memory;
    int64_t rank, positions, features, has_holes, merged, groups, columns, terms, part, part_count;
    ConvAxis axes[CONV_MOST_AXES];
    const int64_t *along, *factor_places, *parts;
    const ConvSegment *segments;
    int64_t feature_step, group_step, output_step, lane_step, factor_feature_step, factor_output_step;
    int64_t by_windows, by_groups, is_direct, windows, inner, block, rows, vectors, last_vectors, streams;
    int64_t strips, padded, strip_group;
    int64_t pack_tasks, pack_size, units, size, slots, slot_bytes, packed;
    int32_t *busy;
    int64_t kind, level;
} ConvProduct;

/* Windows along the innermost axis that have the same positions inside of lhs: each `step`th from `first` on. */
typedef struct {
    int64_t first, step, count, lhs_step;
} ConvRun;

/* What tasks of scaling read. The last axis is the one of lines; `line_places` has for each of its runs the place of
   each position, `factor_places` where the factors of each position begin. A unit is CONV_LINES lines, `line_block`
   windows of each, and `channel_block` channels. */
typedef struct {
    const char *lhs, *factors;
    char *result;
    int64_t rank, positions, channels;
    ConvAxis axes[CONV_MOST_AXES];
    const int64_t *along, *line_places, *factor_places;
    const ConvRun *runs;
    int64_t run_count, lines, line_blocks, line_block, channel_blocks, channel_block;
    int64_t by_channels, lhs_channel_step, result_channel_step, streams;
    int64_t units, size, kind, level;
} ConvScaling;

typedef void (*ConvTask)(void *plan, int64_t task, char *memory);

/* Whether no number is an infinity or NaN: the bits of such a one's exponent are all set. */
static inline int conv_are_finite_float32(const uint32_t *bits, int64_t count) {
    uint32_t found = 0;
    for (int64_t i = 0; i < count; i++) found |= (bits[i] & 0x7f800000u) == 0x7f800000u;
    return !found;
}

static inline int conv_are_finite_float64(const uint64_t *bits, int64_t count) {
    uint64_t found = 0, exponent = UINT64_C(0x7ff) << 52;
    for (int64_t i = 0; i < count; i++) found |= (bits[i] & exponent) == exponent;
    return !found;
}

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))

#define CONV_JOIN(a, b, c) a##_##b##_##c
#define CONV_NAMED(a, b, c) CONV_JOIN(a, b, c)
#define CONV_NAME(name) CONV_NAMED(name, CONV_ITEM_NAME, CONV_LEVEL)

static inline int64_t conv_least(int64_t a, int64_t b) { return a < b ? a : b; }

/* A block of windows: where they lie, and where they go. `places` has what varies with the position, along `axes`. A
   line is of windows that differ along the last of these alone; `lines` has where each begins, and where the last ends. */
typedef struct {
    int64_t count, first_result;
    int64_t base[CONV_MOST_WIDTH], results[CONV_MOST_WIDTH], starts_line[CONV_MOST_WIDTH];
    const int64_t *places[CONV_MOST_WIDTH][CONV_MOST_AXES];
    int64_t rank, line_count;
    int64_t lines[CONV_MOST_WIDTH + 1];
    int axes[CONV_MOST_AXES];
} ConvBlock;

/* Find the windows from number `first` on; those behind the last one are like it, up to `filled`. */
static void conv_find(const ConvProduct *p, int64_t first, int64_t count, int64_t filled, ConvBlock *block) {
    int64_t window[CONV_MOST_AXES], rest = first, kept = 0, row = 0;
    for (int64_t axis = p->rank - 1; axis >= 0; axis--) {
        window[axis] = rest % p->axes[axis].count;
        rest /= p->axes[axis].count;
    }
    for (int axis = 0; axis < p->rank; axis++)
        if (p->axes[axis].positions > 1) block->axes[kept++] = axis;
    block->rank = kept;
    block->count = count;
    block->line_count = 0;
    int64_t last = kept ? block->axes[kept - 1] : -1;
    for (int64_t changed = 0; row < count; row++) {
        int64_t base = 0, result = 0;
        for (int64_t axis = 0, i = 0; axis < p->rank; axis++) {
            const ConvAxis *a = &p->axes[axis];
            const int64_t *places = a->places + window[axis] * a->positions;
            result += window[axis] * a->result_step;
            if (a->positions > 1) block->places[row][i++] = places;
            else base += *places;
        }
        block->base[row] = base;
        block->results[row] = result;
        block->starts_line[row] = row == 0 || changed != last || base != block->base[row - 1];
        if (block->starts_line[row]) block->lines[block->line_count++] = row;
        for (changed = p->rank - 1; changed >= 0 && ++window[changed] == p->axes[changed].count; changed--)
            window[changed] = 0;
    }
    block->lines[block->line_count] = count;
    for (; row < filled; row++) {
        block->base[row] = block->base[count - 1];
        block->results[row] = block->results[count - 1];
        block->starts_line[row] = 0;
        for (int64_t i = 0; i < kept; i++) block->places[row][i] = block->places[count - 1][i];
    }
    block->first_result = block->results[0];
}

/* Where the element at a position of one window lies; negative: in the padding. */
static inline int64_t conv_place(const ConvProduct *p, const ConvBlock *block, int64_t row, int64_t position) {
    const int64_t *along = p->along + position * p->rank;
    int64_t place = block->base[row];
    for (int64_t i = 0; i < block->rank; i++) place += block->places[row][i][along[block->axes[i]]];
    return place;
}

/* Whether all of a window lies in the padding that differs from a position only along the last axis. */
static inline int conv_is_outside(const ConvProduct *p, const ConvBlock *block, int64_t row, int64_t position) {
    const int64_t *along = p->along + position * p->rank;
    int64_t place = block->base[row];
    for (int64_t i = 0; i < block->rank - 1; i++) place += block->places[row][i][along[block->axes[i]]];
    return place < 0;
}

/* Where the elements at a position of so many windows lie; negative: in the padding. */
static inline void conv_find_places(
    const ConvProduct *p, const ConvBlock *block, int64_t count, int64_t position, int64_t *places) {
    const int64_t *along = p->along + position * p->rank;
    int64_t last = block->rank - 1, outside = 0;
    for (int64_t row = 0; row < count; row++) {
        if (block->starts_line[row]) {
            outside = block->base[row];
            for (int64_t i = 0; i < last; i++) outside += block->places[row][i][along[block->axes[i]]];
        }
        places[row] = last < 0 ? outside : outside + block->places[row][last][along[block->axes[last]]];
    }
}

#define CONV_LEVEL baseline
#define CONV_TARGET
#define CONV_VECTOR_BYTES 16
#if defined(__aarch64__)
#include <arm_neon.h>
#define CONV_VECTORS 4
#define CONV_FMA_FLOAT32(a, b, c) vfmaq_f32(c, a, b)
#define CONV_FMA_FLOAT64(a, b, c) vfmaq_f64(c, a, b)
#else
#define CONV_VECTORS 2
#endif
#include "convolution_level.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define CONV_LEVEL avx2
#define CONV_TARGET __attribute__((target("avx2,fma")))
#define CONV_VECTOR_BYTES 32
#define CONV_VECTORS 2
#define CONV_STREAM(at, value) _mm256_stream_si256((__m256i *)(at), (__m256i)(value))
#define CONV_FMA_FLOAT32(a, b, c) (CONV_VECTOR) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#define CONV_FMA_FLOAT64(a, b, c) (CONV_VECTOR) _mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c))
#include "convolution_level.h"

#define CONV_LEVEL avx512
#define CONV_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")))
#define CONV_VECTOR_BYTES 64
#define CONV_VECTORS 4
#define CONV_STREAM(at, value) _mm512_stream_si512((__m512i *)(at), (__m512i)(value))
#define CONV_FMA_FLOAT32(a, b, c) (CONV_VECTOR) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#define CONV_FMA_FLOAT64(a, b, c) (CONV_VECTOR) _mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c))
#define CONV_MASK(n) ((1u << (n)) - 1)
#define CONV_LOAD_SOME(at, n)                                                         \
    (sizeof(CONV_ITEM) == 4 ? (CONV_VECTOR)_mm512_maskz_loadu_epi32(CONV_MASK(n), at) \
                            : (CONV_VECTOR)_mm512_maskz_loadu_epi64(CONV_MASK(n), at))
#define CONV_STORE_SOME(at, n, v)                                                                 \
    (sizeof(CONV_ITEM) == 4 ? _mm512_mask_storeu_epi32(at, CONV_MASK(n), (__m512i)(v))            \
                            : _mm512_mask_storeu_epi64(at, CONV_MASK(n), (__m512i)(v)))
#include "convolution_level.h"
#endif

/* What loops of one element type at one level there are. */
typedef struct {
    void (*pack)(const ConvProduct *, int64_t);
    void (*multiply)(const ConvProduct *, int64_t, char *);
    void (*multiply_groups)(const ConvProduct *, int64_t, char *);
    void (*scale)(const ConvScaling *, int64_t);
    int64_t vector_bytes, vectors;
} ConvLoops;

#define CONV_LOOPS(item, level, bytes, vectors) \
    { CONV_NAMED(conv_pack, item, level), CONV_NAMED(conv_multiply, item, level), \
      CONV_NAMED(conv_multiply_groups, item, level), CONV_NAMED(conv_scale, item, level), bytes, vectors }

static const ConvLoops conv_loops[][CONV_KINDS] = {
#if defined(__aarch64__)
    {CONV_LOOPS(float32, baseline, 16, 4), CONV_LOOPS(float64, baseline, 16, 4),
     CONV_LOOPS(int32, baseline, 16, 4), CONV_LOOPS(int64, baseline, 16, 4)},
#else
    {{0}, {0}, CONV_LOOPS(int32, baseline, 16, 2), CONV_LOOPS(int64, baseline, 16, 2)},
    {CONV_LOOPS(float32, avx2, 32, 2), CONV_LOOPS(float64, avx2, 32, 2), CONV_LOOPS(int32, avx2, 32, 2),
     CONV_LOOPS(int64, avx2, 32, 2)},
    {CONV_LOOPS(float32, avx512, 64, 4), CONV_LOOPS(float64, avx512, 64, 4), CONV_LOOPS(int32, avx512, 64, 4),
     CONV_LOOPS(int64, avx512, 64, 4)},
#endif
};

/* The best level of this processor. */
static int conv_best_level(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 1;
#endif
    return 0;
}

static int conv_serves(int64_t kind, int64_t level) { return conv_loops[level][kind].multiply != 0; }

static void conv_vectors(int64_t kind, int64_t level, int64_t *lanes, int64_t *vectors) {
    *lanes = conv_loops[level][kind].vector_bytes / (kind == CONV_FLOAT64 || kind == CONV_INT64 ? 8 : 4);
    *vectors = conv_loops[level][kind].vectors;
}

static void conv_product_task(int64_t task, void *product) {
    ConvProduct *p = product;
    const ConvLoops *loops = &conv_loops[p->level][p->kind];
    if (task < p->pack_tasks) {
        for (int64_t i = task * p->pack_size; i < (task + 1) * p->pack_size; i++)
            if (i < p->part_count * p->groups * p->strips) loops->pack(p, i);
        __atomic_fetch_add(&p->packed, 1, __ATOMIC_RELEASE);
        return;
    }
    while (__atomic_load_n(&p->packed, __ATOMIC_ACQUIRE) < p->pack_tasks) {
#if defined(__x86_64__)
        _mm_pause();
#endif
    }
    int64_t slot = 0;
    while (__atomic_exchange_n(&p->busy[slot], 1, __ATOMIC_ACQUIRE)) slot = (slot + 1) % p->slots;
    int64_t first = (task - p->pack_tasks) * p->size;
    void (*multiply)(const ConvProduct *, int64_t, char *) = p->by_groups ? loops->multiply_groups : loops->multiply;
    for (int64_t unit = first; unit < conv_least(first + p->size, p->units); unit++)
        multiply(p, unit, p->memory + slot * p->slot_bytes);
    __atomic_store_n(&p->busy[slot], 0, __ATOMIC_RELEASE);
}

static void conv_scaling_task(int64_t task, void *scaling) {
    const ConvScaling *p = scaling;
    for (int64_t unit = task * p->size; unit < conv_least((task + 1) * p->size, p->units); unit++)
        conv_loops[p->level][p->kind].scale(p, unit);
}

#else

static int conv_best_level(void) { return 0; }
static int conv_serves(int64_t kind, int64_t level) { return (void)kind, (void)level, 0; }
static void conv_vectors(int64_t kind, int64_t level, int64_t *lanes, int64_t *vectors) {
    (void)kind, (void)level, *lanes = *vectors = 1;
}
static void conv_product_task(int64_t task, void *product) { (void)task, (void)product; }
static void conv_scaling_task(int64_t task, void *scaling) { (void)task, (void)scaling; }

#endif
#endif
