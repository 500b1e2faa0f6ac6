/* Convolutions: windows times factors, or scaled elements. `convolution_loops.h` holds the loops, once for each
   element type and instruction set; this file has their parameters, their choice, and the tasks.

   Products (implicit GEMM). A block of windows is the left or the right operand of a matrix product. Sums stay in
   registers: those of some rows of the left operand, each element of which is multiplied with vectors of the right
   one.

   - Where the result's features are contiguous, vectors run along them: the right operand is rhs, packed into
     panels. Rows are windows, read from lhs directly if its features are contiguous, and packed otherwise.

   - Elsewhere vectors run along windows, which are packed, and rows are features of the result.

   - Where each group has one feature of the result and groups are contiguous in all arrays, vectors run along
     groups, and nothing is packed.

   Order of additions of floats. The products of a window are ordered by position, then input feature, row-major;
   elements in the padding are zero. They are divided into the fewest k blocks of at most CONV_K_BLOCK products, all
   but the last of one size. The products of a block are added to +0 by fused multiply-add, and the sums of the
   blocks are added in order, as in a product of matrices. Scaled elements are rounded and added to +0 in the order of
   positions, without those in the padding. Integers are exact modulo two to the width. */

#ifndef NIMBLEHLO_CONVOLUTION_TASKS_H
#define NIMBLEHLO_CONVOLUTION_TASKS_H

#include <stdint.h>
#include <string.h>

#include "launch/epilogue.h"
#include "simd/processor_level.h"
#include "simd/zip.h"

enum {
    CONV_K_BLOCK = 160,               /* products of a block, at most: its panel stays in the L1 cache */
    CONV_MAX_AXES = 16,
    CONV_WINDOW_BLOCK = 56,           /* windows that are rows, at most: whole tiles of 7 or 8 rows */
    CONV_NARROW_ROWS = 8,             /* of a tile with fewer vectors than a full one has */
    CONV_MAX_WIDTH = 64,              /* items of the vectors of a tile, at most */
    CONV_CHANNELS = 16,               /* scaled together if vectors run along windows */
    CONV_WINDOW_ROWS = 8,             /* of a work item of scaling, at most */
    CONV_GROUP_WINDOWS = 4,           /* windows of a tile if vectors run along groups */
    CONV_MAX_ENTRIES = 256,           /* positions that are scaled at a time */
    CONV_TILED_WINDOWS = 7,           /* of a row that are scaled in registers: planes of networks are multiples */
    CONV_FEW_TILED_WINDOWS = 4,       /* of the last tile of a row, at most, if there are so few */
    CONV_MAX_TILED_POSITIONS = 7,     /* of such a window in a row */
    CONV_MAX_TILED_ROWS = CONV_MAX_ENTRIES / 3, /* rows of elements of windows with three positions in a row */
    CONV_NONTEMPORAL_BYTES = 1 << 22, /* stores of larger results bypass the caches */
    CONV_LOW_ROWS = 4,                /* of tiles for the last rows */
    CONV_PACKED_FACTORS = 256,        /* of an output feature, which are transposed together */
    CONV_PREFETCHED_ROWS = 12,        /* packing prefetches this many rows of rhs ahead */
    CONV_PREFETCHED_POSITIONS = 4,    /* and of windows the elements of this many positions ahead */
    CONV_CACHE_LINE = 64,             /* bytes */
};
enum { CONV_FLOAT32, CONV_FLOAT64, CONV_INT32, CONV_INT64, CONV_KINDS };

/* A dimension of windows. `lhs_offsets` is [position][window], in items, or CONV_OUTSIDE in the padding. */
#define CONV_OUTSIDE (INT64_MIN / 32)
typedef struct {
    int64_t count, positions, result_stride;
    const int64_t *lhs_offsets;
} ConvAxis;

/* Products whose lhs elements are contiguous, inside one k block: `length` of them, from `skip` after the first
   feature of a position on. They may continue in the next positions, which then are `features` items apart in lhs. */
typedef struct {
    int64_t position, skip, length;
} ConvSegment;

/* The tasks of a launch. The first `pack_tasks` pack rhs into `panels`, `packs_per_task` of `pack_items` each. The
   others wait for them, and do `items_per_task` of `work_items` each, in one of `slots` workspaces of `slot_bytes` in
   `memory`, which `busy` marks. */
typedef struct {
    char *panels, *memory;
    int64_t pack_items, pack_tasks, packs_per_task, packed_tasks, work_items, items_per_task, slots, slot_bytes;
    int32_t *busy;
} ConvLaunch;

/* The arguments of product tasks. Axes are in the result's memory order; strides and offsets are in items.

   `position_indices`: [position][axis]. `factor_offsets`: of each position, into rhs. `k_block_segments`: the
   first segment of each k block. `inner`: windows that are `lane_stride` apart in the result, with `by_windows`.
   `by_groups`: a work item is CONV_GROUP_WINDOWS windows of as many groups as `vectors` hold. `nontemporal`: the
   result is large and written once, so stores bypass the caches. A packing task packs strips of rhs into
   `launch.panels`, unless `packs_items`: each work item packs what it needs. A work item is `item_windows` windows, by
   blocks, and `strip_group` of the groups and strips; with `windows_first`, work items of the same strips follow each
   other.

   `factor_run`: if not 0, factors are packed by transposing: so many of an output feature are contiguous in rhs, all or
   those of one input feature, from `first_factor` on. `factor_positions`: the position of each of the latter.

   `row_axis`: the axis of the last spatial dimension. `row_begins`, `row_ends`: the positions along it of each window
   that are inside of lhs, if elements are contiguous from position to position and windows are packed by transposing;
   otherwise NULL.

   `epilogue`: applied to the windows of each block and the features of each work item, or NULL. Rows of the result are
   windows, and its columns features, which are contiguous. */
typedef struct {
    const char *lhs, *rhs;
    char *result;
    const Epilogue *epilogue;
    int64_t rank, positions, features, has_base_dilation, groups, columns, k_size, k_block_size, k_block_count;
    ConvAxis axes[CONV_MAX_AXES];
    const int64_t *position_indices, *factor_offsets, *k_block_segments;
    const ConvSegment *segments;
    int64_t feature_stride, group_stride, output_stride, lane_stride, factor_feature_stride, factor_output_stride;
    int64_t by_windows, by_groups, is_direct, windows, inner, block, rows, vectors, last_vectors, nontemporal;
    int64_t strips, padded, strip_group, packs_items, item_windows, windows_first;
    int64_t factor_run, first_factor, row_axis;
    const int64_t *factor_positions, *row_begins, *row_ends;
    int64_t kind, level;
    ConvLaunch launch;
} ConvProduct;

/* A block of windows: their offsets in lhs and in the result. `window_rows` has the first window of each window row,
   and the end. The windows of a row differ along the last of `axes` alone, or, if `is_fixed`, along an axis with a
   single position and without padding, so that all are inside or all outside. `lhs_offsets` has what varies with the position,
   along `axes`, for the first window of each window row; `located` has the lhs offsets of one position,
   `located_position` (-1: of none). */
typedef struct {
    int64_t count, first_result;
    int64_t base[CONV_MAX_WIDTH], results[CONV_MAX_WIDTH];
    const int64_t *lhs_offsets[CONV_MAX_WIDTH][CONV_MAX_AXES];
    int64_t rank, window_row_count, is_fixed, located_position;
    int64_t located[CONV_MAX_WIDTH];
    int64_t window_rows[CONV_MAX_WIDTH + 1];
    int axes[CONV_MAX_AXES];
} ConvBlock;

#include "planes_tasks.h"
#include "sliding_tasks.h"
#include "winograd_tasks.h"

/* Windows along the innermost axis with the same positions inside lhs: each `stride`th from `first` on. */
typedef struct {
    int64_t first, stride, count, lhs_stride;
} ConvRun;

/* The arguments of scaling tasks. A window row is the windows along the last axis; `run_offsets` has the lhs offset of
   each position for each of its runs, `factor_offsets` the factors of each position. `column_step`: if not 0, rows have
   no runs, but tiles: windows are so many elements apart, the first begins `low_column` before the first of `columns`
   elements of lhs, which are `column_stride` apart. A work item is `item_rows`
   window rows, `row_block` windows of each, and `channel_block` channels. `epilogue`: as of products, with
   `by_channels`. */
typedef struct {
    const char *lhs, *factors;
    char *result;
    const Epilogue *epilogue;
    int64_t rank, positions, channels;
    ConvAxis axes[CONV_MAX_AXES];
    const int64_t *position_indices, *run_offsets, *factor_offsets;
    const ConvRun *runs;
    int64_t run_count, window_rows, item_rows, row_blocks, row_block, channel_blocks, channel_block;
    int64_t by_channels, lhs_channel_stride, result_channel_stride, nontemporal;
    int64_t column_step, low_column, columns, column_stride;
    int64_t work_items, items_per_task, kind, level;
} ConvScaling;

typedef void (*ConvTask)(void *plan, int64_t task, char *memory);

/* Whether no number is an infinity or NaN, whose exponents have all bits set. */
static inline int conv_are_finite_float32(const uint32_t *bits, int64_t count) {
    uint32_t non_finite = 0;
    for (int64_t i = 0; i < count; i++) non_finite |= (bits[i] & 0x7f800000u) == 0x7f800000u;
    return !non_finite;
}

static inline int conv_are_finite_float64(const uint64_t *bits, int64_t count) {
    uint64_t non_finite = 0, exponent = UINT64_C(0x7ff) << 52;
    for (int64_t i = 0; i < count; i++) non_finite |= (bits[i] & exponent) == exponent;
    return !non_finite;
}

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))

#define CONV_JOIN(a, b, c) a##_##b##_##c
#define CONV_NAMED(a, b, c) CONV_JOIN(a, b, c)
#define CONV_NAME(name) CONV_NAMED(name, CONV_ITEM_NAME, CONV_LEVEL)

static inline int64_t conv_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline void *conv_aligned(const void *at) { return (char *)at + -(uintptr_t)at % CONV_CACHE_LINE; }

/* Make each window of a block a window row of its own. */
static void conv_separate_windows(ConvBlock *block) {
    int64_t number = block->window_row_count - 1;
    for (int64_t i = block->count - 1; i >= 0; i--) {
        while (i < block->window_rows[number]) number--;
        if (number < i) memcpy(block->lhs_offsets[i], block->lhs_offsets[number], sizeof block->lhs_offsets[i]);
        block->window_rows[i] = i;
    }
    block->window_row_count = block->count;
}

/* Locate the windows from number `first` on; the last one is repeated up to `filled`. */
static void conv_locate_windows(const ConvProduct *p, int64_t first, int64_t count, int64_t filled, ConvBlock *block) {
    int64_t window[CONV_MAX_AXES], window_index = first, inner = p->rank - 1;
    for (int64_t axis = p->rank - 1; axis >= 0; axis--) {
        window[axis] = window_index % p->axes[axis].count;
        window_index /= p->axes[axis].count;
    }
    while (inner > 0 && p->axes[inner].count == 1) inner--;
    block->rank = block->window_row_count = 0;
    for (int axis = 0; axis < p->rank; axis++)
        if (p->axes[axis].positions > 1) block->axes[block->rank++] = axis;
    block->located_position = -1;
    block->count = count;
    const ConvAxis *along = &p->axes[inner];
    int has_long_rows = block->rank && block->axes[block->rank - 1] == inner, has_outside = 0;
    for (int64_t row = 0, end; row < count; row = end) {
        const int64_t *offsets = along->lhs_offsets + window[inner], *varying[CONV_MAX_AXES];
        int64_t base = 0, result = window[inner] * along->result_stride, varying_axes = 0;
        end = conv_min(count, row + along->count - window[inner]);
        for (int64_t axis = 0; axis < p->rank; axis++) {
            const ConvAxis *a = &p->axes[axis];
            const int64_t *lhs_offsets = a->lhs_offsets + window[axis];
            if (a->positions > 1) varying[varying_axes++] = lhs_offsets;
            else if (axis != inner) base += *lhs_offsets;
            if (axis != inner) result += window[axis] * a->result_stride;
        }
        for (int64_t i = row; i < end; i++) {
            block->base[i] = base + (along->positions > 1 ? 0 : offsets[i - row]);
            has_outside |= offsets[i - row] < 0;
            block->results[i] = result + (i - row) * along->result_stride;
        }
        block->window_rows[block->window_row_count] = row;
        memcpy(block->lhs_offsets[block->window_row_count++], varying, varying_axes * sizeof *varying);
        window[inner] = 0;
        for (int64_t axis = inner - 1; axis >= 0 && ++window[axis] == p->axes[axis].count; axis--) window[axis] = 0;
    }
    block->is_fixed = !has_long_rows && !has_outside;
    if (!has_long_rows && has_outside) conv_separate_windows(block);
    block->window_rows[block->window_row_count] = count;
    for (int64_t row = count; row < filled; row++) {
        block->base[row] = block->base[count - 1];
        block->results[row] = block->results[count - 1];
    }
    block->first_result = block->results[0];
}

/* The lhs offset of a position of the first window of a window row, along the first `rank` of the block's axes. */
static inline int64_t conv_row_offset(
    const ConvProduct *p, const ConvBlock *block, int64_t window_row, int64_t rank, int64_t position) {
    const int64_t *position_indices = p->position_indices + position * p->rank;
    int64_t lhs_offset = block->base[block->window_rows[window_row]];
    for (int64_t i = 0; i < rank; i++) {
        int axis = block->axes[i];
        lhs_offset += block->lhs_offsets[window_row][i][position_indices[axis] * p->axes[axis].count];
    }
    return lhs_offset;
}

/* The lhs offsets of a position along the last of the block's axes, from the first window of a window row on. */
static inline const int64_t *conv_offsets_in_row(
    const ConvProduct *p, const ConvBlock *block, int64_t window_row, int64_t position) {
    int64_t last = block->rank - 1, axis = block->axes[last];
    int64_t position_index = p->position_indices[position * p->rank + axis];
    return block->lhs_offsets[window_row][last] + position_index * p->axes[axis].count;
}

/* The lhs offset of a position of one window, of this window row; negative: in the padding. */
static inline int64_t conv_lhs_offset(
    const ConvProduct *p, const ConvBlock *block, int64_t window_row, int64_t row, int64_t position) {
    if (!block->rank) return block->base[row];
    if (block->is_fixed)
        return conv_row_offset(p, block, window_row, block->rank, position) + block->base[row] -
               block->base[block->window_rows[window_row]];
    return conv_row_offset(p, block, window_row, block->rank - 1, position) +
           conv_offsets_in_row(p, block, window_row, position)[row - block->window_rows[window_row]];
}

/* The index of a window of a window row along an axis with several positions. */
static inline int64_t conv_window_along(
    const ConvProduct *p, const ConvBlock *block, int64_t window_row, int64_t window, int64_t axis) {
    int64_t i = 0;
    while (block->axes[i] != axis) i++;
    int64_t first = block->lhs_offsets[window_row][i] - p->axes[axis].lhs_offsets;
    int is_along = !block->is_fixed && i == block->rank - 1;
    return first + (is_along ? window - block->window_rows[window_row] : 0);
}

/* Whether the padding contains this position of all windows of a window row, by the axes but the last. */
static inline int conv_is_outside(const ConvProduct *p, const ConvBlock *block, int64_t window_row, int64_t position) {
    return conv_row_offset(p, block, window_row, block->rank - 1, position) < 0;
}

/* The lhs offsets of a position of `filled` windows, of which those after the block's last one repeat it; negative: in
   the padding. */
static inline void conv_lhs_offsets(
    const ConvProduct *p, const ConvBlock *block, int64_t filled, int64_t position, int64_t *lhs_offsets) {
    if (!block->rank) {
        memcpy(lhs_offsets, block->base, filled * sizeof(int64_t));
        return;
    }
    for (int64_t number = 0; number < block->window_row_count; number++) {
        int64_t row = block->window_rows[number], count = block->window_rows[number + 1] - row;
        if (block->is_fixed) {
            int64_t first = conv_lhs_offset(p, block, number, row, position), shift = first - block->base[row];
            for (int64_t i = 0; i < count; i++) lhs_offsets[row + i] = block->base[row + i] + shift;
            continue;
        }
        int64_t outer = conv_row_offset(p, block, number, block->rank - 1, position);
        const int64_t *along = conv_offsets_in_row(p, block, number, position);
        for (int64_t i = 0; i < count; i++) lhs_offsets[row + i] = outer + along[i];
    }
    for (int64_t row = block->count; row < filled; row++) lhs_offsets[row] = lhs_offsets[block->count - 1];
}

#define CONV_LEVEL baseline
#define CONV_TARGET
#define CONV_VECTOR_BYTES 16
#define CONV_FULL_ROWS 6
#if defined(__aarch64__)
#include <arm_neon.h>
#define CONV_VECTORS 4
#define CONV_FMA_FLOAT32(a, b, c) vfmaq_f32(c, a, b)
#define CONV_FMA_FLOAT64(a, b, c) vfmaq_f64(c, a, b)
#else
#include "simd/software_fma.h"
#define CONV_VECTORS 2
#define CONV_FMA_FLOAT32(a, b, c) (CONV_VECTOR) software_fma_float((__m128)(a), (__m128)(b), (__m128)(c))
#define CONV_FMA_FLOAT64(a, b, c) (CONV_VECTOR) software_fma_double((__m128d)(a), (__m128d)(b), (__m128d)(c))
#endif
#include "convolution_level.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define CONV_LEVEL avx2
#define CONV_TARGET __attribute__((target("avx2,fma")))
#define CONV_VECTOR_BYTES 32
#define CONV_FULL_ROWS 6
#define CONV_VECTORS 2
#define CONV_STREAM(at, value) _mm256_stream_si256((__m256i *)(at), (__m256i)(value))
#define CONV_FMA_FLOAT32(a, b, c) (CONV_VECTOR) _mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c))
#define CONV_FMA_FLOAT64(a, b, c) (CONV_VECTOR) _mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c))
#include "convolution_level.h"

#define CONV_LEVEL avx512
#define CONV_TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma")))
#define CONV_VECTOR_BYTES 64
#define CONV_FULL_ROWS 7
#define CONV_VECTORS 4
#define CONV_STREAM(at, value) _mm512_stream_si512((__m512i *)(at), (__m512i)(value))
#define CONV_FMA_FLOAT32(a, b, c) (CONV_VECTOR) _mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c))
#define CONV_FMA_FLOAT64(a, b, c) (CONV_VECTOR) _mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c))
#define CONV_MASK(n) ((1u << (n)) - 1)
#define CONV_LOAD_PARTIAL(at, n)                                                      \
    (sizeof(CONV_ITEM) == 4 ? (CONV_VECTOR)_mm512_maskz_loadu_epi32(CONV_MASK(n), at) \
                            : (CONV_VECTOR)_mm512_maskz_loadu_epi64(CONV_MASK(n), at))
#define CONV_STORE_PARTIAL(at, n, v)                                                   \
    (sizeof(CONV_ITEM) == 4 ? _mm512_mask_storeu_epi32(at, CONV_MASK(n), (__m512i)(v)) \
                            : _mm512_mask_storeu_epi64(at, CONV_MASK(n), (__m512i)(v)))
#include "convolution_level.h"
#endif

/* The loops of one element type and instruction set. */
typedef struct {
    void (*pack)(const ConvProduct *, int64_t);
    void (*multiply)(const ConvProduct *, int64_t, char *);
    void (*multiply_groups)(const ConvProduct *, int64_t, char *);
    void (*scale)(const ConvScaling *, int64_t);
    void (*scale_planes)(const ConvPlanes *, int64_t, char *);
    void (*slide)(const ConvSliding *, int64_t, char *);
    int64_t vector_bytes, vectors, full_rows;
} ConvLoops;

#define CONV_LOOPS(item, level, bytes, vectors, full_rows)                        \
    { CONV_NAMED(conv_pack, item, level), CONV_NAMED(conv_multiply, item, level), \
      CONV_NAMED(conv_multiply_groups, item, level), CONV_NAMED(conv_scale, item, level), \
      CONV_NAMED(planes_scale, item, level), CONV_NAMED(sliding_slide, item, level), bytes, vectors, full_rows }

static const ConvLoops conv_loops[][CONV_KINDS] = {
#if defined(__aarch64__)
    {CONV_LOOPS(float32, baseline, 16, 4, 6), CONV_LOOPS(float64, baseline, 16, 4, 6),
     CONV_LOOPS(int32, baseline, 16, 4, 6), CONV_LOOPS(int64, baseline, 16, 4, 6)},
#else
    {CONV_LOOPS(float32, baseline, 16, 2, 6), CONV_LOOPS(float64, baseline, 16, 2, 6),
     CONV_LOOPS(int32, baseline, 16, 2, 6), CONV_LOOPS(int64, baseline, 16, 2, 6)},
    {CONV_LOOPS(float32, avx2, 32, 2, 6), CONV_LOOPS(float64, avx2, 32, 2, 6), CONV_LOOPS(int32, avx2, 32, 2, 6),
     CONV_LOOPS(int64, avx2, 32, 2, 6)},
    {CONV_LOOPS(float32, avx512, 64, 4, 7), CONV_LOOPS(float64, avx512, 64, 4, 7), CONV_LOOPS(int32, avx512, 64, 4, 7),
     CONV_LOOPS(int64, avx512, 64, 4, 7)},
#endif
};

/* The best level of this processor. */
static int conv_best_level(void) {
#if defined(__x86_64__)
    if (has_avx512()) return 2;
    if (has_avx2(1)) return 1;
#endif
    return 0;
}

static int conv_supports(int64_t kind, int64_t level) { return conv_loops[level][kind].multiply != 0; }

static void conv_tile_shape(int64_t kind, int64_t level, int64_t *lanes, int64_t *vectors, int64_t *rows) {
    *rows = conv_loops[level][kind].full_rows;
    *lanes = conv_loops[level][kind].vector_bytes / (kind == CONV_FLOAT64 || kind == CONV_INT64 ? 8 : 4);
    *vectors = conv_loops[level][kind].vectors;
}

/* Begin a task: the range of its pack items or work items. Returns its workspace's number; -1 for a task that packs. */
static int64_t conv_begin_task(ConvLaunch *l, int64_t task, int64_t *begin, int64_t *end) {
    if (task < l->pack_tasks) {
        *begin = task * l->packs_per_task, *end = conv_min(*begin + l->packs_per_task, l->pack_items);
        return -1;
    }
    *begin = (task - l->pack_tasks) * l->items_per_task;
    *end = conv_min(*begin + l->items_per_task, l->work_items);
    while (__atomic_load_n(&l->packed_tasks, __ATOMIC_ACQUIRE) < l->pack_tasks) {
#if defined(__x86_64__)
        _mm_pause();
#endif
    }
    int64_t slot = 0;
    while (__atomic_exchange_n(&l->busy[slot], 1, __ATOMIC_ACQUIRE)) slot = (slot + 1) % l->slots;
    return slot;
}

static void conv_end_task(ConvLaunch *l, int64_t slot) {
    if (slot < 0) __atomic_fetch_add(&l->packed_tasks, 1, __ATOMIC_RELEASE);
    else __atomic_store_n(&l->busy[slot], 0, __ATOMIC_RELEASE);
}

static void conv_product_task(int64_t task, void *product) {
    ConvProduct *p = product;
    const ConvLoops *loops = &conv_loops[p->level][p->kind];
    void (*multiply)(const ConvProduct *, int64_t, char *) = p->by_groups ? loops->multiply_groups : loops->multiply;
    int64_t item, end, slot = conv_begin_task(&p->launch, task, &item, &end);
    for (; item < end; item++) {
        if (slot < 0) loops->pack(p, item);
        else multiply(p, item, p->launch.memory + slot * p->launch.slot_bytes);
    }
    conv_end_task(&p->launch, slot);
}

/* The Winograd loops of each instruction set, for f32. */
typedef struct {
    void (*pack)(const ConvWinograd *, int64_t);
    int (*multiply)(const ConvWinograd *, int64_t, char *);
} WinogradLoops;

#define WINOGRAD_LOOPS(level) \
    { CONV_NAMED(winograd_pack, float32, level), CONV_NAMED(winograd_multiply, float32, level) }

static const WinogradLoops winograd_loops[] = {
    WINOGRAD_LOOPS(baseline),
#if defined(__x86_64__)
    WINOGRAD_LOOPS(avx2),
    WINOGRAD_LOOPS(avx512),
#endif
};

static void winograd_task(int64_t task, void *convolution) {
    ConvWinograd *p = convolution;
    const WinogradLoops *loops = &winograd_loops[p->level];
    int64_t item, end, slot = conv_begin_task(&p->launch, task, &item, &end);
    for (; item < end; item++) {
        if (slot < 0) loops->pack(p, item);
        else if (!loops->multiply(p, item, p->launch.memory + slot * p->launch.slot_bytes))
            __atomic_store_n(&p->non_finite, 1, __ATOMIC_RELAXED);
    }
    conv_end_task(&p->launch, slot);
}

static void conv_planes_task(int64_t task, void *planes) {
    ConvPlanes *p = planes;
    int64_t item, end, slot = conv_begin_task(&p->launch, task, &item, &end);
    for (; item < end; item++)
        conv_loops[p->level][p->kind].scale_planes(p, item, p->launch.memory + slot * p->launch.slot_bytes);
    conv_end_task(&p->launch, slot);
}

static void conv_sliding_task(int64_t task, void *sliding) {
    ConvSliding *p = sliding;
    int64_t item, end, slot = conv_begin_task(&p->launch, task, &item, &end);
    for (; item < end; item++)
        conv_loops[p->level][p->kind].slide(p, item, p->launch.memory + slot * p->launch.slot_bytes);
    conv_end_task(&p->launch, slot);
}

static void conv_scaling_task(int64_t task, void *scaling) {
    const ConvScaling *p = scaling;
    for (int64_t work_item = task * p->items_per_task;
        work_item < conv_min((task + 1) * p->items_per_task, p->work_items); work_item++)
        conv_loops[p->level][p->kind].scale(p, work_item);
}

#else

static int conv_best_level(void) { return 0; }
static int conv_supports(int64_t kind, int64_t level) { return (void)kind, (void)level, 0; }
static void conv_tile_shape(int64_t kind, int64_t level, int64_t *lanes, int64_t *vectors, int64_t *rows) {
    (void)kind, (void)level, *lanes = *vectors = *rows = 1;
}
static void conv_product_task(int64_t task, void *product) { (void)task, (void)product; }
static void conv_scaling_task(int64_t task, void *scaling) { (void)task, (void)scaling; }
static void conv_planes_task(int64_t task, void *planes) { (void)task, (void)planes; }
static void conv_sliding_task(int64_t task, void *sliding) { (void)task, (void)sliding; }
static void winograd_task(int64_t task, void *convolution) { (void)task, (void)convolution; }

#endif
#endif
