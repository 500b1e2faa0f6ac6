/* Products of matrices and vectors of f32 and f64: the tasks.

   The order. A sum has as many chains as elements have room in VECTOR_PRODUCT_BYTES: a term goes to the chain of its
   number modulo theirs, which are added up by fused multiply-add from 0 on. Then the second half of the chains is added
   to the first, and so on until one is left, and 0 to that, so that no sum is -0. Of more than VECTOR_PRODUCT_PART
   terms so many at a time are added up, and these sums one after another. Nothing else changes a bit: the kind of
   vectors, which operand is the vector, how the matrices lie in memory and are cut, threads.

   A unit of work is a block of the lines of a matrix with a part of the terms. */

#ifndef NIMBLEHLO_VECTOR_PRODUCT_H
#define NIMBLEHLO_VECTOR_PRODUCT_H

#include <stdint.h>

#include "unroll.h"

/* Bytes of a chain's sums; terms of a part; most lines of a unit whose lines lie side by side. */
enum { VECTOR_PRODUCT_BYTES = 64, VECTOR_PRODUCT_PART = 1 << 15, VECTOR_PRODUCT_COLUMNS = 256 };

/* What tasks read: task `t` does the units from `t * size` on. Terms of the vector lie side by side, and either terms or
   lines of the matrices. Steps are in bytes. The result is [part, matrix, line]. */
typedef struct {
    const char *vector, *matrix;
    const int64_t *vector_steps, *matrix_steps, *batch_sizes;
    char *result;
    int64_t batch_rank, batch, lines, terms, line_step, term_step, item;
    int64_t parts, block, blocks, units, size;
} VectorProduct;

#if (defined(__clang__) ? __clang_major__ >= 12 : defined(__GNUC__) && __GNUC__ >= 12) && \
    (defined(__x86_64__) || defined(__aarch64__))

#ifdef __x86_64__

#include <immintrin.h>

#define VECTOR_WIDE_CODE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#define VECTOR_CODE_256 __attribute__((target("avx2,fma")))

/* Masks of the first elements: those of `count` begin `count` before the end of the ones. */
static const int32_t vector_masks_of_4[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
static const int64_t vector_masks_of_8[8] = {-1, -1, -1, -1};

#define ITEM float
#define LANES 16
#define LINES 8
#define CODE VECTOR_WIDE_CODE
#define NAME(name) vector_wide_float_##name
#define REPEATED(item) (VECTOR)_mm512_set1_ps(item)
#define FUSED(a, b, sum) (VECTOR)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(sum))
#define SOME(address, count) (VECTOR)_mm512_maskz_loadu_ps((__mmask16)((1u << (count)) - 1), address)
#include "vector_tiles.h"

#define ITEM double
#define LANES 8
#define LINES 8
#define CODE VECTOR_WIDE_CODE
#define NAME(name) vector_wide_double_##name
#define REPEATED(item) (VECTOR)_mm512_set1_pd(item)
#define FUSED(a, b, sum) (VECTOR)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(sum))
#define SOME(address, count) (VECTOR)_mm512_maskz_loadu_pd((__mmask8)((1u << (count)) - 1), address)
#include "vector_tiles.h"

#define ITEM float
#define LANES 8
#define LINES 4
#define CODE VECTOR_CODE_256
#define NAME(name) vector_float_##name
#define REPEATED(item) (VECTOR)_mm256_set1_ps(item)
#define FUSED(a, b, sum) (VECTOR)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(sum))
#define SOME(address, count)                                                                                 \
    (VECTOR)_mm256_maskload_ps(                                                                              \
        (const float *)(address), _mm256_loadu_si256((const __m256i *)(vector_masks_of_4 + 8 - (count))))
#include "vector_tiles.h"

#define ITEM double
#define LANES 4
#define LINES 4
#define CODE VECTOR_CODE_256
#define NAME(name) vector_double_##name
#define REPEATED(item) (VECTOR)_mm256_set1_pd(item)
#define FUSED(a, b, sum) (VECTOR)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(sum))
#define SOME(address, count)                                                                                 \
    (VECTOR)_mm256_maskload_pd(                                                                              \
        (const double *)(address), _mm256_loadu_si256((const __m256i *)(vector_masks_of_8 + 4 - (count))))
#include "vector_tiles.h"

#else

#include <arm_neon.h>

static inline float32x4_t vector_some_floats(const char *address, int count) {
    float items[4] = {0, 0, 0, 0};
    __builtin_memcpy(items, address, count * sizeof(float));
    return vld1q_f32(items);
}

static inline float64x2_t vector_some_doubles(const char *address, int count) {
    double items[2] = {0, 0};
    __builtin_memcpy(items, address, count * sizeof(double));
    return vld1q_f64(items);
}

#define ITEM float
#define LANES 4
#define LINES 4
#define CODE
#define NAME(name) vector_float_##name
#define REPEATED(item) (VECTOR)vdupq_n_f32(item)
#define FUSED(a, b, sum) (VECTOR)vfmaq_f32((float32x4_t)(sum), (float32x4_t)(a), (float32x4_t)(b))
#define SOME(address, count) (VECTOR)vector_some_floats(address, count)
#include "vector_tiles.h"

#define ITEM double
#define LANES 2
#define LINES 4
#define CODE
#define NAME(name) vector_double_##name
#define REPEATED(item) (VECTOR)vdupq_n_f64(item)
#define FUSED(a, b, sum) (VECTOR)vfmaq_f64((float64x2_t)(sum), (float64x2_t)(a), (float64x2_t)(b))
#define SOME(address, count) (VECTOR)vector_some_doubles(address, count)
#include "vector_tiles.h"

#endif

typedef void VectorTile(const char *, const char *, int64_t, int64_t, int64_t, char *);

/* What does a unit's lines: `vector_bytes` says which instructions there are. */
static VectorTile *vector_tile(const VectorProduct *p, int64_t vector_bytes) {
    int is_dots = p->term_step == p->item;
#ifdef __x86_64__
    if (vector_bytes == 64) {
        if (p->item == 4) return is_dots ? vector_wide_float_dots : vector_wide_float_columns;
        return is_dots ? vector_wide_double_dots : vector_wide_double_columns;
    }
#endif
    (void)vector_bytes;
    if (p->item == 4) return is_dots ? vector_float_dots : vector_float_columns;
    return is_dots ? vector_double_dots : vector_double_columns;
}

/* Do some units. */
static void vector_product_units(const VectorProduct *p, int64_t first, int64_t end, int64_t vector_bytes) {
    VectorTile *tile = vector_tile(p, vector_bytes);
    int64_t step = p->term_step == p->item ? p->line_step : p->term_step;
    for (int64_t unit = first; unit < end; unit++) {
        int64_t line = unit % p->blocks * p->block, part = unit / p->blocks % p->parts;
        int64_t number = unit / p->blocks / p->parts, rest = number, term = part * VECTOR_PRODUCT_PART;
        int64_t lines = p->lines - line < p->block ? p->lines - line : p->block;
        int64_t terms = p->terms - term < VECTOR_PRODUCT_PART ? p->terms - term : VECTOR_PRODUCT_PART;
        const char *vector = p->vector + term * p->item;
        const char *matrix = p->matrix + line * p->line_step + term * p->term_step;
        for (int64_t axis = p->batch_rank - 1; axis > 0; rest /= p->batch_sizes[axis], axis--) {
            vector += rest % p->batch_sizes[axis] * p->vector_steps[axis];
            matrix += rest % p->batch_sizes[axis] * p->matrix_steps[axis];
        }
        if (p->batch_rank) vector += rest * p->vector_steps[0], matrix += rest * p->matrix_steps[0];
        tile(vector, matrix, step, lines, terms, p->result + ((part * p->batch + number) * p->lines + line) * p->item);
    }
}

#else

static void vector_product_units(const VectorProduct *p, int64_t first, int64_t end, int64_t vector_bytes) {
    (void)p, (void)first, (void)end, (void)vector_bytes;
}

#endif
#endif
