/* Products of matrices and vectors of f32 and f64: the tasks.

   The order. A sum has as many chains as elements have room in VECTOR_PRODUCT_BYTES: a term goes to the chain of its
   number modulo theirs, which are added up by fused multiply-add from 0 on. Then the second half of the chains is added
   to the first, and so on until one is left, and 0 to that, so that no sum is -0. Of more than VECTOR_PRODUCT_PART
   terms so many at a time are added up, and these sums one after another. Nothing else changes a bit: the kind of
   vectors, which operand is the vector, how the matrices lie in memory and are cut, threads.

   A unit of work is a block of the lines of a matrix with a part of the terms. A matrix of bf16 is read as one of f32,
   of which it has the high halves: what takes the time is to fetch it. */

#ifndef NIMBLEHLO_VECTOR_PRODUCT_H
#define NIMBLEHLO_VECTOR_PRODUCT_H

#include <stdint.h>

/* Bytes of a chain's sums; terms of a part; most lines of a unit whose lines lie side by side: the chains' sums of few
   stay in the first cache, many are read from memory in longer pieces. */
enum {
    VECTOR_PRODUCT_BYTES = 64,
    VECTOR_PRODUCT_PART = 1 << 15,
    VECTOR_PRODUCT_COLUMNS = 256,
    VECTOR_PRODUCT_MOST_COLUMNS = 1024
};

/* What tasks read: task `t` does the units from `t * size` on. Terms of the vector lie side by side, and either terms
   or lines of the matrices, whose elements are `stored` in so many bytes. Steps are in bytes. The result is
   [part, matrix, line]. */
typedef struct {
    const char *vector, *matrix;
    const int64_t *vector_steps, *matrix_steps, *batch_sizes;
    char *result;
    int64_t batch_rank, batch, lines, terms, line_step, term_step, item, stored;
    int64_t parts, block, blocks, units, size;
} VectorProduct;

#if (defined(__clang__) ? __clang_major__ >= 12 : defined(__GNUC__) && __GNUC__ >= 12) && \
    (defined(__x86_64__) || defined(__aarch64__))

#define VECTOR_CODE "matmul/gemv_tiles.h"
#define FAMILY(name) vector_##name
#include "simd/vector_kinds.h"

typedef void VectorTile(const char *, const char *, int64_t, int64_t, int64_t, char *);

/* What does a unit's lines: `vector_bytes` says which instructions there are. */
static VectorTile *vector_tile(const VectorProduct *p, int64_t vector_bytes) {
    int is_dots = p->term_step == p->stored, is_half = p->stored < p->item;
#ifdef __x86_64__
    if (vector_bytes == 64) {
        if (is_half) return is_dots ? vector_wide_float_half_dots : vector_wide_float_half_columns;
        if (p->item == 4) return is_dots ? vector_wide_float_dots : vector_wide_float_columns;
        return is_dots ? vector_wide_double_dots : vector_wide_double_columns;
    }
#endif
    (void)vector_bytes;
    if (is_half) return is_dots ? vector_float_half_dots : vector_float_half_columns;
    if (p->item == 4) return is_dots ? vector_float_dots : vector_float_columns;
    return is_dots ? vector_double_dots : vector_double_columns;
}

/* Do some units. */
static void vector_product_units(const VectorProduct *p, int64_t first, int64_t end, int64_t vector_bytes) {
    VectorTile *tile = vector_tile(p, vector_bytes);
    int64_t step = p->term_step == p->stored ? p->line_step : p->term_step;
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
