/* GEMV of f32, f64 and integers of 32 and 64 bits: the tasks.

   Order of additions of floats. A sum has as many chains as fit GEMV_CHAIN_BYTES: the product number k goes to chain k
   modulo their number, by fused multiply-add from 0 on. Then the second half of the chains is added to the first,
   and so on until one is left, and 0 to that, so that no sum is -0. Longer sums are cut into blocks of
   GEMV_K_BLOCK products, whose sums are added in order. Nothing else changes a bit: vector width, which
   operand is the vector, memory layouts, the division into tasks, threads.

   The matrix's outer dimension is the one that is not contracted. A work item is a block of it times a k block. A
   matrix of bf16 is widened as it is read: the time goes to memory traffic.

   Solvers multiply by the same matrix again and again. Where the last product ended at the matrix's end, dot products
   read it from there, and find in the cache what that product read last: of a matrix of 2.5 times the L2 cache, this
   takes a quarter of the time off. Sums of columns go from the first k to the last, by their order of additions; they
   prefetch only what the last product did not read: prefetches take 0.15 of the time where the matrix is cached. */

#ifndef NIMBLEHLO_GEMV_H
#define NIMBLEHLO_GEMV_H

#include <stddef.h>
#include <stdint.h>

/* CHAIN_BYTES: of the chains of one sum. K_BLOCK: products of a block. COLUMNS, MAX_COLUMNS: columns of a work item if
   these are contiguous: the chains of few stay in the L1 cache; more give longer contiguous reads from memory.
   MAX_CACHED_BYTES: of matrices that stay in the L3 cache between products: prefetches make those of 4096 x 2048 f32
   and more faster, and those of 1600 x 1024 slower (Zen 4, 32 MB). */
enum {
    GEMV_CHAIN_BYTES = 64,
    GEMV_K_BLOCK = 1 << 15,
    GEMV_COLUMNS = 256,
    GEMV_MAX_COLUMNS = 1024,
    GEMV_MAX_CACHED_BYTES = 1 << 23,
    GEMV_MAX_SHORT_RANK = 8
};

/* The arguments of tasks: task `t` does the work items from `t * items_per_task` on. The vector's k is contiguous, and
   the matrices' k or outer dimension. Elements of the matrix have `stored_itemsize` bytes. Strides are in bytes. The
   result is [k block, matrix, outer]. */
typedef struct {
    const char *vector, *matrix;
    const int64_t *vector_strides, *matrix_strides, *batch_sizes;
    char *result;
    int64_t batch_rank, batch, outer_size, k_size, outer_stride, k_stride, itemsize, stored_itemsize, kind;
    int64_t k_blocks, block, blocks, work_items, items_per_task, is_backward, is_cached;
} Gemv;

/* The matrix of the last product, if this ended at the matrix's end. Another thread's product may come between: then
   the order is another, and the results are the same. */
static const char *gemv_read_to_the_end;

/* The matrix of the last product. */
static const char *gemv_last_matrix;

/* Decide in which order a product goes through its work items, and whether its matrix is in the caches. */
static void gemv_choose_order(Gemv *p) {
    int64_t bytes = p->batch * p->outer_size * p->k_size * p->stored_itemsize;
    int is_last = p->matrix == __atomic_exchange_n(&gemv_last_matrix, p->matrix, __ATOMIC_RELAXED);
    p->is_cached = is_last && bytes <= GEMV_MAX_CACHED_BYTES;
    int is_dots = p->k_stride == p->stored_itemsize;
    p->is_backward = is_dots && p->matrix == __atomic_load_n(&gemv_read_to_the_end, __ATOMIC_RELAXED);
    __atomic_store_n(&gemv_read_to_the_end, p->is_backward ? NULL : p->matrix, __ATOMIC_RELAXED);
}

#if (defined(__clang__) ? __clang_major__ >= 12 : defined(__GNUC__) && __GNUC__ >= 12) && \
    (defined(__x86_64__) || defined(__aarch64__))

#define VECTOR_CODE "matmul/gemv_tiles.h"
#define FAMILY(name) gemv_##name
#include "simd/vector_kinds.h"

typedef void GemvTile(const char *, const char *, int64_t, int64_t, int64_t, char *);

/* The functions of one element type and vector width, [is_bf16][layout]: for a matrix of the vector's type, then for
   one of bf16, or NULL; of each, for contiguous columns, for contiguous k, and for columns of a cached matrix. */
#define GEMV_OWN_TILES(name) {gemv_##name##_columns, gemv_##name##_dots, gemv_##name##_cached_columns}
#define GEMV_BF16_TILES(name) {gemv_##name##_bf16_columns, gemv_##name##_bf16_dots, gemv_##name##_bf16_columns}
#define GEMV_TILES(name) {GEMV_OWN_TILES(name), {0}}
#define GEMV_FLOAT_TILES(name) {GEMV_OWN_TILES(name), GEMV_BF16_TILES(name)}

/* The function for a work item, by layout and vector width. */
static GemvTile *gemv_tile(const Gemv *p, int64_t vector_bytes) {
    static GemvTile *const tiles[][2][3] = {
        GEMV_FLOAT_TILES(float), GEMV_TILES(double), GEMV_TILES(uint32), GEMV_TILES(uint64)};
    int layout = p->k_stride == p->stored_itemsize ? 1 : p->is_cached ? 2 : 0;
    int is_bf16 = p->stored_itemsize < p->itemsize;
#ifdef __x86_64__
    static GemvTile *const wide_tiles[][2][3] = {
        GEMV_FLOAT_TILES(wide_float), GEMV_TILES(wide_double), GEMV_TILES(wide_uint32), GEMV_TILES(wide_uint64)};
    static GemvTile *const narrow_tiles[][2][3] = {
        GEMV_FLOAT_TILES(narrow_float), GEMV_TILES(narrow_double), GEMV_TILES(narrow_uint32),
        GEMV_TILES(narrow_uint64)};
    if (vector_bytes == 64) return wide_tiles[p->kind][is_bf16][layout];
    if (vector_bytes == 16) return narrow_tiles[p->kind][is_bf16][layout];
#endif
    (void)vector_bytes;
    return tiles[p->kind][is_bf16][layout];
}

#include "gemv_short.h"

/* Compute some work items. */
static void gemv_run(const Gemv *p, int64_t first, int64_t end, int64_t vector_bytes) {
    if (gemv_is_short(p)) {
        gemv_run_short(p, first, end);
        return;
    }
    GemvTile *tile = gemv_tile(p, vector_bytes);
    int64_t stride = p->k_stride == p->stored_itemsize ? p->outer_stride : p->k_stride;
    for (int64_t number = first; number < end; number++) {
        int64_t work_item = p->is_backward ? p->work_items - 1 - number : number;
        int64_t outer = work_item % p->blocks * p->block, k_block = work_item / p->blocks % p->k_blocks;
        int64_t matrix_index = work_item / p->blocks / p->k_blocks, outer_index = matrix_index, k =
            k_block * GEMV_K_BLOCK;
        int64_t outer_size = p->outer_size - outer < p->block ? p->outer_size - outer : p->block;
        int64_t k_size = p->k_size - k < GEMV_K_BLOCK ? p->k_size - k : GEMV_K_BLOCK;
        const char *vector = p->vector + k * p->itemsize;
        const char *matrix = p->matrix + outer * p->outer_stride + k * p->k_stride;
        for (int64_t axis = p->batch_rank - 1; axis > 0; outer_index /= p->batch_sizes[axis], axis--) {
            vector += outer_index % p->batch_sizes[axis] * p->vector_strides[axis];
            matrix += outer_index % p->batch_sizes[axis] * p->matrix_strides[axis];
        }
        if (p->batch_rank) vector += outer_index * p->vector_strides[0], matrix += outer_index * p->matrix_strides[0];
        tile(vector, matrix, stride, outer_size, k_size,
            p->result + ((k_block * p->batch + matrix_index) * p->outer_size + outer) * p->itemsize);
    }
}

#else

static void gemv_run(const Gemv *p, int64_t first, int64_t end, int64_t vector_bytes) {
    (void)p, (void)first, (void)end, (void)vector_bytes;
}

#endif

/* Compute the work items of a task. */
static void gemv_run_task(const Gemv *p, int64_t task, int64_t vector_bytes) {
    int64_t first = task * p->items_per_task, end = first + p->items_per_task;
    gemv_run(p, first, end < p->work_items ? end : p->work_items, vector_bytes);
}

#endif
