/* GEMVs of short vectors, such as those of a stack of 3 x 3 matrices: each chain of a sum has one product at most.

   The sums are those of `gemv_tiles.h` in all bits. Chains without a product are zero: adding them changes nothing but
   a zero's sign, and no sum is -0. So is a product by multiplication that of a fused multiply-add from 0 on.
   Work items cost nothing here: a task goes through its matrices row by row. `gemv.h` includes this file behind the
   type `Gemv`. */

#ifndef NIMBLEHLO_GEMV_SHORT_H
#define NIMBLEHLO_GEMV_SHORT_H

#include <stdint.h>

/* The most products of a sum where a matrix is a vector too, and of others: vectors of longer rows take less time than
   these scalars, from 7 on half as much (Zen 4). Outer sizes of short matrices: longer ones repay a work item. */
enum { GEMV_MAX_SHORT_DOT = 8, GEMV_MAX_SHORT_K = 6, GEMV_MAX_SHORT_OUTER = 16 };

/* The sum for `K` products, at most as many as `chains`: the second half of the chains is added to the first, and so on. */
#define GEMV_SHORT_SUM(type, chains, K) \
    static inline type gemv_short_##type##_##K(const char *vector, const char *matrix, int64_t k_stride) { \
        type sums[K]; \
        for (int k = 0; k < K; k++) \
            sums[k] = ((const type *)vector)[k] * *(const type *)(matrix + k * k_stride); \
        for (int half = chains / 2; half; half /= 2) \
            for (int k = 0; k < half && k + half < K; k++) sums[k] += sums[k + half]; \
        return sums[0] + 0; \
    }

/* The rows of the matrices from `first` on. `advance` moves to the next matrix of the stack. */
#define GEMV_SHORT_CASE(type, K) \
    case K: \
        for (; count; count--, gemv_next_matrix(p, indices, &vector, &matrix)) \
            for (int64_t row = 0; row < p->outer_size; row++) \
                *result++ = gemv_short_##type##_##K(vector, matrix + row * p->outer_stride, p->k_stride); \
        break;

#define GEMV_SHORT_EACH(MACRO, ...) \
    MACRO(__VA_ARGS__, 1) MACRO(__VA_ARGS__, 2) MACRO(__VA_ARGS__, 3) MACRO(__VA_ARGS__, 4) \
    MACRO(__VA_ARGS__, 5) MACRO(__VA_ARGS__, 6) MACRO(__VA_ARGS__, 7) MACRO(__VA_ARGS__, 8)

GEMV_SHORT_EACH(GEMV_SHORT_SUM, float, 16)
GEMV_SHORT_EACH(GEMV_SHORT_SUM, double, 8)

/* Whether a product is one of short vectors: of floats that are not converted. */
static int gemv_is_short(const Gemv *p) {
    int64_t max_k = p->outer_size == 1 ? GEMV_MAX_SHORT_DOT : GEMV_MAX_SHORT_K;
    return p->kind <= 1 && p->stored_itemsize == p->itemsize && p->k_size <= max_k &&
        p->outer_size <= GEMV_MAX_SHORT_OUTER && p->batch_rank > 0 && p->batch_rank <= GEMV_MAX_SHORT_RANK;
}

/* Move to the next matrix of a stack. */
static inline void gemv_next_matrix(const Gemv *p, int64_t *indices, const char **vector, const char **matrix) {
    for (int64_t axis = p->batch_rank - 1; axis >= 0; axis--) {
        *vector += p->vector_strides[axis], *matrix += p->matrix_strides[axis];
        if (++indices[axis] < p->batch_sizes[axis]) return;
        *vector -= indices[axis] * p->vector_strides[axis], *matrix -= indices[axis] * p->matrix_strides[axis];
        indices[axis] = 0;
    }
}

/* Compute the products of the matrices from `first` to `end`. */
static void gemv_run_short(const Gemv *p, int64_t first, int64_t end) {
    const char *vector = p->vector, *matrix = p->matrix;
    int64_t indices[GEMV_MAX_SHORT_RANK], rest = first, count = end - first;
    for (int64_t axis = p->batch_rank - 1; axis >= 0; axis--) {
        indices[axis] = rest % p->batch_sizes[axis], rest /= p->batch_sizes[axis];
        vector += indices[axis] * p->vector_strides[axis], matrix += indices[axis] * p->matrix_strides[axis];
    }
    if (p->itemsize == sizeof(float)) {
        float *result = (float *)p->result + first * p->outer_size;
        switch (p->k_size) { GEMV_SHORT_EACH(GEMV_SHORT_CASE, float) }
    } else {
        double *result = (double *)p->result + first * p->outer_size;
        switch (p->k_size) { GEMV_SHORT_EACH(GEMV_SHORT_CASE, double) }
    }
}

#endif
