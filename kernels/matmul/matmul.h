/* GEMM of f32, f64 and integers of 32 and 64 bits: the tasks, and whether this processor has the instructions.

   Order of additions of floats. Each element's sum is cut into blocks of MATMUL_K_BLOCK products. A block is added
   from its first product to its last, by fused multiply-add from 0 on, and the blocks' sums are added in order.
   Nothing else changes a bit: vector width, the division into blocks and tasks, memory layouts, threads. Without an
   instruction `simd/software_fma.h` multiplies and adds, with the same bits but in 16 (f32) or 50 (f64) times the time
   of BLAS.

   A work item is a block of rows times a block of columns. It multiplies all rows with one panel of columns at a time,
   tile by tile, from the L1 cache. A panel is copied if its columns are not contiguous, or if there are enough rows to
   pay for it. Full panels of contiguous columns are copied by their first tile, beside the multiply-adds, which leave
   the processor time for it. Meanwhile the next panel and the tile's destination are prefetched, a little at a time: a
   processor waits for few cache misses at once, and later loads queue behind them. Rows are read where they are unless
   their distance makes them compete for a few lines of the L1 cache. Then one k block of them is copied at a time, to
   lie at a better distance: the rows of a tile are copied before the first tile that reads them, which prefetches the
   rows of the next one. The copy stays in the workspace for the work items that follow with the same rows. No thread
   reads another's copy: to write again to lines that another processor has read takes up to three times as long as to
   copy everything oneself (two Zen 4 cores). Partial sums lie before the copies until the last k block.

   A matrix times its own transpose is symmetric to the bit: only blocks on and above the diagonal are computed, and
   mirrored below it; of a block on the diagonal, each panel only down to the diagonal. */

#ifndef NIMBLEHLO_MATMUL_H
#define NIMBLEHLO_MATMUL_H

#include <stdint.h>
#include <string.h>

#include "launch/epilogue.h"
#include "simd/processor_level.h"
#include "simd/zip.h"

/* K_BLOCK: products of a block of a sum. DIRECT_ROWS: with at most this many rows, columns are read where they are.
   COPY_COLUMNS: rows are copied for so many columns, at least. WAY_BYTES: addresses at such a distance share one set
   of lines of the L1 cache. */
enum { MATMUL_K_BLOCK = 256, MATMUL_DIRECT_ROWS = 48, MATMUL_COPY_COLUMNS = 192, MATMUL_WAY_BYTES = 4096 };

/* Products of a chain in the order of two chains, half as many as a tile of the matrix unit adds (`matrix_unit.h`). */
enum { MATMUL_CHAIN = 16 };

/* Low tiles have at most LOW_ROWS rows and are wider; so are all tiles if k is at most LOW_K: wide panels then fit
   the L1 cache too. Tiles of a last panel of fewer vectors have more rows. */
enum { MATMUL_LOW_ROWS = 6, MATMUL_LOW_K = 128 };

/* Elements of the panel's k block, at most. */
enum { MATMUL_PANEL = MATMUL_K_BLOCK * 64 };

/* PREFETCH_BYTES: bytes per prefetch. MAX_PREFETCHES: consecutive prefetches, at most. CACHED_BYTES: right matrices
   up to this size are cached anyway. */
enum {
    MATMUL_PREFETCH_BYTES = 128, MATMUL_CACHE_LINE = 64, MATMUL_MAX_PREFETCHES = 4, MATMUL_CACHED_BYTES = 1 << 17
};

/* Values of k between prefetches; between those of rows where the loop of `unrolled_tile.h`, which takes UNROLLED_K
   values at a time, prefetches the panel. */
enum { MATMUL_MIN_INTERVAL = 8, MATMUL_MAX_INTERVAL = 16, MATMUL_UNROLLED_INTERVAL = 64, MATMUL_UNROLLED_K = 4 };

enum { MATMUL_MAX_WORKSPACES = 256 };

/* Bytes of a small right matrix that is copied element by element, at most, if its columns are not contiguous, and of
   the copies that a task has at a time. Stacks of 3x3 f32 take 0.22 of the time of transposed tiles, of 16x16, which
   have 1 KiB, 0.82 (Zen 4). */
enum { MATMUL_MAX_TRANSPOSED = 1 << 10, MATMUL_TRANSPOSED_BYTES = 1 << 13 };

/* Element types; integers are multiplied modulo two to the width. */
enum { MATMUL_FLOAT, MATMUL_DOUBLE, MATMUL_UINT32, MATMUL_UINT64 };

/* One operand. The outer dimension is the rows of the left matrices or the columns of the right ones. Strides are in
   bytes; `batch_strides` has one for each batching dimension. */
typedef struct {
    const char *address;
    const int64_t *batch_strides;
    int64_t outer_stride, k_stride;
} MatmulOperand;

/* The arguments of tasks. The t-th task does the work items from `t * items_per_task` on, in one of `workspace_count`
   workspaces of `workspace_bytes`: `workspace_busy` marks those in use, `copied_rows` whose rows each has copied
   (the number of a matrix's block of rows, or -1). Copies of k blocks are `copy_bytes` apart, or overwrite each other
   if that is 0 and are then made for each work item. `panels`: the right matrix, packed beforehand for
   all calls, or NULL: [k block][panel][k][column], `padded_columns` columns in all. `epilogue`: applied to each work
   item's block of the result, or NULL. */
typedef struct {
    MatmulOperand left, right;
    char *result, *panels;
    const Epilogue *epilogue;
    int64_t padded_columns;
    const int64_t *batch_sizes;
    int64_t batch_rank, batch, rows, columns, k_size, itemsize, kind, adds_two_chains;
    int64_t work_items, items_per_task, row_block, row_blocks, column_block, column_blocks, is_symmetric;
    char *workspace;
    int64_t copy_bytes, workspace_bytes, workspace_count;
    uint8_t workspace_busy[MATMUL_MAX_WORKSPACES];
    int64_t copied_rows[MATMUL_MAX_WORKSPACES];
} Matmul;

/* Prefetches into the L2 cache beside other work: `remaining` of them, `batch_size` after every `interval` values of
   k. `run_length` are contiguous, `run_position` of which are done; the next run begins `run_gap` bytes behind this
   one. The loop of `unrolled_tile.h` prefetches `cache_line`, and the next time the one `line_stride` bytes behind. */
typedef struct {
    const char *address, *cache_line;
    int64_t remaining, run_length, run_position, run_gap, interval, batch_size, line_stride;
} PanelPrefetch;

/* The operands and the result of a tile: one k block of some rows and columns. `partial_sums` has the sums of earlier k
   blocks, rows as whole vectors side by side, or is NULL. Strides are in bytes. `k` and `row` are the first indices of
   the tile; at `next_prefetch` it prefetches more of the next panel, and row by row its destination and, unless it is
   NULL, `next_rows`, which are copied to `next_copy` for the next tile. `packed` is where its columns are packed. */
typedef struct {
    const char *left, *right, *partial_sums, *next_rows;
    char *to, *next_copy, *packed;
    int64_t row_stride, k_stride, right_stride, to_stride, next_row_stride, k_size, k, row, next_prefetch;
    PanelPrefetch prefetch;
} MatmulTile;

#if (defined(__clang__) ? __clang_major__ >= 12 : defined(__GNUC__) && __GNUC__ >= 12) && \
    (defined(__x86_64__) || defined(__aarch64__))

static inline __attribute__((always_inline)) void matmul_prefetch(PanelPrefetch *prefetch) {
    for (int64_t i = 0; i < prefetch->batch_size && prefetch->remaining; i++, prefetch->remaining--) {
        __builtin_prefetch(prefetch->address, 0, 2);
        __builtin_prefetch(prefetch->address + MATMUL_CACHE_LINE, 0, 2);
        __builtin_prefetch(prefetch->address + MATMUL_PREFETCH_BYTES - 1, 0, 2);
        prefetch->address += MATMUL_PREFETCH_BYTES;
        if (++prefetch->run_position == prefetch->run_length) prefetch->run_position = 0,
            prefetch->address += prefetch->run_gap;
    }
}

/* Prefetch of the next panel what is due. Returns how many values of k follow until the next prefetch,
   at most up to `end_k`. */
static inline __attribute__((always_inline)) int64_t matmul_interval(MatmulTile *t, int64_t end_k) {
    int64_t max_interval = t->prefetch.line_stride ? MATMUL_UNROLLED_INTERVAL : MATMUL_MAX_INTERVAL;
    int64_t interval = t->prefetch.interval < max_interval ? t->prefetch.interval : max_interval;
    if (t->k >= t->next_prefetch) matmul_prefetch(&t->prefetch), t->next_prefetch += t->prefetch.interval;
    interval = interval < end_k - t->k ? interval : end_k - t->k;
    t->k += interval;
    return interval;
}

/* Distribute prefetches over `during_k` values of k of the tiles. */
static inline void matmul_time_prefetches(PanelPrefetch *prefetch, int64_t during_k) {
    int64_t gap = prefetch->remaining ? during_k / prefetch->remaining : during_k;
    /* Prefetch several at once where they are rare, so that page walks overlap, and where checking after each costs
       too much. */
    prefetch->batch_size = MATMUL_MAX_PREFETCHES;
    if (MATMUL_MAX_PREFETCHES <= gap && gap < MATMUL_MAX_PREFETCHES * MATMUL_MAX_PREFETCHES) prefetch->batch_size =
        gap / MATMUL_MAX_PREFETCHES + 1;
    prefetch->interval = gap * prefetch->batch_size;
    if (prefetch->interval < MATMUL_MIN_INTERVAL) prefetch->interval = MATMUL_MIN_INTERVAL;
    prefetch->cache_line = prefetch->address, prefetch->line_stride = 0;
}

/* Plan the next prefetch: some columns of one k block, during `during_k` values of k of the tiles. */
static void matmul_plan_prefetch(
    PanelPrefetch *prefetch, const Matmul *p, const char *from, int64_t columns, int64_t k_size,
        int64_t during_k) {
    const MatmulOperand *operand = &p->right;
    int64_t itemsize = p->itemsize, is_k_contiguous = operand->k_stride == itemsize;
    int64_t is_read = (is_k_contiguous || operand->outer_stride == itemsize)
        && p->k_size * p->columns * itemsize > MATMUL_CACHED_BYTES;
    int64_t bytes = (is_k_contiguous ? k_size : columns) * itemsize;
    prefetch->address = from, prefetch->run_position = 0;
    prefetch->run_length = (bytes + MATMUL_PREFETCH_BYTES - 1) / MATMUL_PREFETCH_BYTES;
    prefetch->run_gap = (is_k_contiguous ? operand->outer_stride : operand->k_stride) - prefetch->run_length
        * MATMUL_PREFETCH_BYTES;
    prefetch->remaining = is_read ? (is_k_contiguous ? columns : k_size) * prefetch->run_length : 0;
    matmul_time_prefetches(prefetch, during_k);
}

/* Plan the prefetch of a packed panel; `is_unrolled`: during the loop of `unrolled_tile.h`. */
static inline void matmul_plan_packed(
    PanelPrefetch *prefetch, const char *panel, int64_t bytes, int64_t during_k, int is_unrolled) {
    /* Lines that come one by one do not delay loads, and need no check of how many are left. */
    is_unrolled = is_unrolled && bytes * MATMUL_UNROLLED_K <= during_k * MATMUL_CACHE_LINE;
    prefetch->address = panel, prefetch->run_position = prefetch->run_gap = 0;
    prefetch->run_length = (bytes + MATMUL_PREFETCH_BYTES - 1) / MATMUL_PREFETCH_BYTES;
    prefetch->remaining = is_unrolled ? 0 : prefetch->run_length;
    matmul_time_prefetches(prefetch, during_k);
    if (is_unrolled) prefetch->interval = MATMUL_UNROLLED_INTERVAL, prefetch->line_stride = MATMUL_CACHE_LINE;
}

/* Whether rows are copied for a product with this many columns. */
static inline int matmul_copies_rows(const Matmul *p, int64_t rows, int64_t columns) {
    const MatmulOperand *left = &p->left;
    int64_t stride = left->k_stride == p->itemsize ? left->outer_stride
        : left->outer_stride == p->itemsize ? left->k_stride : 1;
    return rows > MATMUL_LOW_ROWS && p->k_size > MATMUL_LOW_K && columns >= MATMUL_COPY_COLUMNS
        && stride % MATMUL_WAY_BYTES == 0;
}

/* The distance of copied runs of so many bytes: an odd number of cache lines. */
static inline int64_t matmul_copy_stride(int64_t bytes) {
    return ((bytes + MATMUL_CACHE_LINE - 1) / MATMUL_CACHE_LINE | 1) * MATMUL_CACHE_LINE;
}

/* Bytes of the copy of a k block of rows. */
static int64_t matmul_copy_bytes(const Matmul *p) {
    int64_t is_k_contiguous = p->left.k_stride == p->itemsize;
    return (is_k_contiguous ? p->row_block : MATMUL_K_BLOCK)
        * matmul_copy_stride((is_k_contiguous ? MATMUL_K_BLOCK : p->row_block) * p->itemsize);
}

/* The number of partial sums of a workspace. */
static int64_t matmul_partial_sums(const Matmul *p) {
    return p->k_size > MATMUL_K_BLOCK ? p->row_block * p->column_block : 0;
}

/* Size of the k block that begins at `first`. */
static inline int64_t matmul_k_block_size(const Matmul *p, int64_t first) {
    int64_t remaining = p->k_size - first;
    return remaining < 0 ? 0 : remaining < MATMUL_K_BLOCK ? remaining : MATMUL_K_BLOCK;
}

/* The address of a packed panel of a k block. */
static inline char *matmul_panel(const Matmul *p, int64_t first_k, int64_t column) {
    return p->panels + (first_k * p->padded_columns + column * matmul_k_block_size(p, first_k)) * p->itemsize;
}

/* Copy some runs of bytes: rows whose values are contiguous along k, or values of k whose rows are. */
static void matmul_copy_runs(const char *from, int64_t stride, int64_t runs, int64_t bytes, char *to) {
    for (int64_t run = 0; run < runs; run++) memcpy(to + run * matmul_copy_stride(bytes), from + run * stride, bytes);
}

#define VECTOR_CODE "matmul/matmul_tiles.h"
#define FAMILY(name) matmul_##name
#include "simd/vector_kinds.h"

/* The bytes of a vector. */
static int64_t matmul_vector_bytes(void) {
#ifdef __x86_64__
    if (has_avx512()) return 64;
    if (has_avx2(1)) return 32;
#endif
    return 16;
}

/* Whether fused multiply-adds of floats are computed in software. */
static int matmul_is_software(void) {
#ifdef __x86_64__
    return matmul_vector_bytes() == 16;
#else
    return 0;
#endif
}

/* The functions of one element type and vector width. */
typedef struct {
    void (*multiply_block)(
        const Matmul *, const char *left, const char *right, char *to, int64_t rows, int64_t columns,
        char *workspace, int is_copied, int is_symmetric, int64_t first_column);
    void (*pack_panel)(const Matmul *, int64_t first_k, int64_t column);
    void (*mirror)(
        const char *from, int64_t row_stride, int64_t rows, int64_t columns, char *to, int64_t to_row_stride);
    void (*multiply_small)(
        const Matmul *, const char *left, const char *right, char *to, int64_t count, int64_t left_stride,
        int64_t right_stride);
    int64_t panel_columns;
} MatmulFunctions;

#define MATMUL_FUNCTIONS(name) \
    {matmul_##name##_multiply_block, matmul_##name##_pack_panel, matmul_##name##_mirror, \
     matmul_##name##_multiply_small, matmul_##name##_panel_columns}

static const MatmulFunctions *matmul_functions(const Matmul *p, int64_t vector_bytes) {
    static const MatmulFunctions functions[] = {
        MATMUL_FUNCTIONS(float), MATMUL_FUNCTIONS(double), MATMUL_FUNCTIONS(uint32), MATMUL_FUNCTIONS(uint64)};
#ifdef __x86_64__
    static const MatmulFunctions wide_functions[] = {
        MATMUL_FUNCTIONS(wide_float), MATMUL_FUNCTIONS(wide_double), MATMUL_FUNCTIONS(wide_uint32),
        MATMUL_FUNCTIONS(wide_uint64)};
    static const MatmulFunctions narrow_functions[] = {
        MATMUL_FUNCTIONS(narrow_float), MATMUL_FUNCTIONS(narrow_double), MATMUL_FUNCTIONS(narrow_uint32),
        MATMUL_FUNCTIONS(narrow_uint64)};
    if (vector_bytes == 64) return &wide_functions[p->kind];
    if (vector_bytes == 16) return &narrow_functions[p->kind];
#endif
    (void)vector_bytes;
    return &functions[p->kind];
}

/* Whether matrices are so small that one tile holds all columns and the overhead of each matrix counts. */
static int matmul_is_small(const Matmul *p, int64_t vector_bytes) {
    int64_t widest = vector_bytes * (vector_bytes == 32 ? 2 : 4);
    int64_t bytes = p->k_size * p->columns * p->itemsize;
    int is_copied = bytes && bytes <= MATMUL_MAX_TRANSPOSED;
    return !p->adds_two_chains && p->batch_rank > 0 && (p->right.outer_stride == p->itemsize || is_copied) &&
           p->columns * p->itemsize <= widest && p->rows <= MATMUL_DIRECT_ROWS && p->k_size <= MATMUL_K_BLOCK && p->work_items == p->batch;
}

/* Copy a small right matrix, so that its columns are contiguous. */
static inline void matmul_transpose_small(const Matmul *p, const char *from, char *to) {
    for (int64_t k = 0; k < p->k_size; k++, from += p->right.k_stride)
        for (int64_t column = 0; column < p->columns; column++, to += p->itemsize) {
            if (p->itemsize == 4) memcpy(to, from + column * p->right.outer_stride, 4);
            else memcpy(to, from + column * p->right.outer_stride, 8);
        }
}

/* Multiply consecutive small matrices whose columns are not contiguous: some are copied at a time. */
static void matmul_multiply_transposed(
    const Matmul *p, const MatmulFunctions *functions, const char *left, const char *right, char *to, int64_t count,
    int64_t left_stride, int64_t right_stride) {
    char copies[MATMUL_TRANSPOSED_BYTES];
    int64_t bytes = p->k_size * p->columns * p->itemsize, chunk = sizeof copies / bytes;
    Matmul copied = *p;
    copied.right.k_stride = p->columns * p->itemsize, copied.right.outer_stride = p->itemsize;
    for (int64_t matrices; count > 0; count -= matrices) {
        matrices = count < chunk ? count : chunk;
        for (int64_t matrix = 0; matrix < matrices; matrix++, right += right_stride)
            matmul_transpose_small(p, right, copies + matrix * bytes);
        functions->multiply_small(&copied, left, copies, to, matrices, left_stride, bytes);
        left += matrices * left_stride, to += matrices * p->rows * p->columns * p->itemsize;
    }
}

/* Multiply some small matrices, those along the last batching dimension in one call. */
static void matmul_multiply_small(const Matmul *p, int64_t vector_bytes, int64_t first, int64_t end) {
    int64_t last = p->batch_rank - 1, batch_size = p->batch_sizes[last];
    for (int64_t work_item = first, count; work_item < end; work_item += count) {
        int64_t outer_index = work_item / batch_size, position = work_item % batch_size;
        const char *left = p->left.address + position * p->left.batch_strides[last];
        const char *right = p->right.address + position * p->right.batch_strides[last];
        count = batch_size - position < end - work_item ? batch_size - position : end - work_item;
        for (int64_t axis = last - 1; axis >= 0; outer_index /= p->batch_sizes[axis], axis--) {
            left += outer_index % p->batch_sizes[axis] * p->left.batch_strides[axis];
            right += outer_index % p->batch_sizes[axis] * p->right.batch_strides[axis];
        }
        char *to = p->result + work_item * p->rows * p->columns * p->itemsize;
        int64_t left_stride = p->left.batch_strides[last], right_stride = p->right.batch_strides[last];
        const MatmulFunctions *functions = matmul_functions(p, vector_bytes);
        if (p->right.outer_stride == p->itemsize)
            functions->multiply_small(p, left, right, to, count, left_stride, right_stride);
        else matmul_multiply_transposed(p, functions, left, right, to, count, left_stride, right_stride);
    }
}

/* The address of a matrix of a stack. */
static const char *matmul_matrix(const Matmul *p, const MatmulOperand *operand, int64_t matrix) {
    const char *address = operand->address;
    for (int64_t axis = p->batch_rank - 1; axis >= 0; matrix /= p->batch_sizes[axis], axis--)
        address += matrix % p->batch_sizes[axis] * operand->batch_strides[axis];
    return address;
}

/* Take a workspace, if possible one that has copied these rows. */
static int64_t matmul_take_workspace(Matmul *p, int64_t rows) {
    for (int takes_any = 0;; takes_any = 1)
        for (int64_t slot = 0; slot < p->workspace_count; slot++) {
            if (!takes_any && __atomic_load_n(&p->copied_rows[slot], __ATOMIC_RELAXED) != rows) continue;
            if (!__atomic_exchange_n(&p->workspace_busy[slot], 1, __ATOMIC_ACQUIRE)) return slot;
        }
}

/* Multiply the matrices of a work item. */
static void matmul_multiply(Matmul *p, int64_t vector_bytes, int64_t work_item, int64_t slot) {
    const MatmulFunctions *functions = matmul_functions(p, vector_bytes);
    int64_t matrix = work_item / (p->row_blocks * p->column_blocks), row_block = work_item / p->column_blocks;
    int64_t row = row_block % p->row_blocks * p->row_block, column = work_item % p->column_blocks * p->column_block;
    int64_t rows = p->rows - row < p->row_block ? p->rows - row : p->row_block;
    int64_t columns = p->columns - column < p->column_block ? p->columns - column : p->column_block;
    const char *left = matmul_matrix(p, &p->left, matrix) + row * p->left.outer_stride;
    const char *right = matmul_matrix(p, &p->right, matrix) + column * p->right.outer_stride;
    char *matrix_result = p->result + matrix * p->rows * p->columns * p->itemsize;
    char *to = matrix_result + (row * p->columns + column) * p->itemsize;
    if (p->is_symmetric && column < row) return;
    functions->multiply_block(
        p, left, right, to, rows, columns, p->workspace + slot * p->workspace_bytes,
        p->copy_bytes && p->copied_rows[slot] == row_block, p->is_symmetric && column == row, column);
    __atomic_store_n(&p->copied_rows[slot], row_block, __ATOMIC_RELAXED);
    if (p->epilogue) epilogue_apply(p->epilogue, row, rows, column, columns);
    if (p->is_symmetric && column > row)
        functions->mirror(
            to, p->columns * p->itemsize, rows, columns,
            matrix_result + (column * p->columns + row) * p->itemsize, p->columns * p->itemsize);
}

static void matmul_task(int64_t task, void *product) {
    Matmul *p = product;
    int64_t first = task * p->items_per_task, vector_bytes = matmul_vector_bytes(), slot;
    int64_t end = first + p->items_per_task < p->work_items ? first + p->items_per_task : p->work_items;
    if (matmul_is_small(p, vector_bytes)) {
        matmul_multiply_small(p, vector_bytes, first, end);
        return;
    }
    slot = matmul_take_workspace(p, first / p->column_blocks);
    for (int64_t work_item = first; work_item < end; work_item++) matmul_multiply(p, vector_bytes, work_item, slot);
    __atomic_store_n(&p->workspace_busy[slot], 0, __ATOMIC_RELEASE);
}

/* The columns of a packed panel. */
static int64_t matmul_panel_columns(const Matmul *p) {
    return matmul_functions(p, matmul_vector_bytes())->panel_columns;
}

/* Pack one panel of one k block of the right matrix for all calls. */
static void matmul_pack_task(int64_t task, void *product) {
    const Matmul *p = product;
    const MatmulFunctions *functions = matmul_functions(p, matmul_vector_bytes());
    int64_t panels = (p->columns + functions->panel_columns - 1) / functions->panel_columns;
    functions->pack_panel(p, task / panels * MATMUL_K_BLOCK, task % panels * functions->panel_columns);
}

#else

static int64_t matmul_vector_bytes(void) { return 0; }
static int64_t matmul_panel_columns(const Matmul *p) { (void)p; return 1; }
static void matmul_pack_task(int64_t task, void *product) { (void)task, (void)product; }
static int matmul_is_software(void) { return 0; }
static int64_t matmul_partial_sums(const Matmul *p) { (void)p; return 0; }
static int matmul_copies_rows(const Matmul *p, int64_t rows, int64_t columns) {
    (void)p, (void)rows, (void)columns;
    return 0;
}
static void matmul_task(int64_t task, void *product) { (void)task, (void)product; }

#endif
#endif
