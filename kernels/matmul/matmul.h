/* Products of matrices of f32 and f64: the tasks, and whether this processor has the instructions for them.

   The order. PRODUCT_PART terms of each element's sum at a time are added from the first to the last, by fused
   multiply-add from 0 on, and these sums are added one after another. Nothing else changes a bit: the kind of vectors,
   how the matrices are cut, how they lie in memory, threads.

   A unit of work is a block of rows with a block of columns. Of the columns a panel at a time is multiplied with all
   rows, a tile after the other, from the first cache; it is copied where its columns do not lie side by side, or there
   are enough rows to pay for it: by the first tile, as it goes, if it can. Meanwhile the next panel is fetched, and
   where a tile's sums go, a little at a time: memory answers late, and the processor waits for few answers at once,
   what is read next behind them. Rows are copied where there are enough columns: once for all blocks of these, by tasks
   of their own or, where each thread has a block of rows to itself, by its first unit, or else by each unit. The sums of
   parts lie beside the copies until the last part.

   A matrix times its own transpose is symmetric to the bit: of its blocks those above the diagonal are computed, and
   written below it as well. */

#ifndef NIMBLEHLO_MATRIX_PRODUCT_H
#define NIMBLEHLO_MATRIX_PRODUCT_H

#include <stdint.h>

/* Terms of a part; most rows that read columns where they are; least columns for which rows are copied whose terms lie
   side by side. */
enum { PRODUCT_PART = 256, PRODUCT_DIRECT_ROWS = 48, PRODUCT_PACKED_COLUMNS = 192 };

/* Most rows of low tiles, which are wide, and most terms that have only such: so few of many columns stay in the first
   cache as well. */
enum { PRODUCT_LOW_ROWS = 6, PRODUCT_LOW_TERMS = 128 };

/* Most items of a panel and part. */
enum { PRODUCT_PANEL = PRODUCT_PART * 64 };

/* Bytes of a piece that is fetched, and of a cache's line; most pieces one after another; bytes of right matrices that
   are in the caches anyway; how many bytes before they are read those of a strip of rows are fetched: it takes long
   where another thread has just written them. */
enum { PRODUCT_PIECE = 128, PRODUCT_LINE = 64, PRODUCT_PIECES = 4, PRODUCT_FETCHED = 1 << 17, PRODUCT_AHEAD = 1 << 12 };

/* Least and most terms between what is fetched, and most where addresses are constants. */
enum { PRODUCT_LEAST_STRETCH = 8, PRODUCT_STRETCH = 16, PRODUCT_LONG_STRETCH = 32 };

/* Tasks of which each has a place to work at of its own. */
enum { PRODUCT_MOST_PLACES = 256, PRODUCT_OWN_WORK = 8 };

/* Looks at whether all rows are copied: a thread that copies some may have no processor for long. */
enum { PRODUCT_LOOKS = 20000 };

/* One operand: lines are rows of the left matrices or columns of the right ones. Steps are in bytes; those between
   matrices are one for each batching dimension. */
typedef struct {
    const char *address;
    const int64_t *matrix_steps;
    int64_t line_step, term_step;
} ProductSide;

/* Whether the rows of a block are copied: nobody has begun, somebody has, they are. */
enum { PRODUCT_NOT_PACKED, PRODUCT_BEING_PACKED, PRODUCT_PACKED };

/* What tasks read. The first `pack_tasks` tasks copy `pack_size` shares of the rows each, `pack_shares` of one matrix
   and block, to `packed`, where each part of a block takes `packed_bytes`. Or, where `packs_blocks`, the first task of a
   block copies all its rows: `states` tells how far it is. The others wait a while until all is copied, or else
   copy what they need; task `t` of these does the units from `t * size` on. `work` has `places` of `work_bytes`
   each: one for each of these tasks, or `busy` tells which are taken. */
typedef struct {
    ProductSide left, right;
    char *result;
    const int64_t *batch_sizes;
    int64_t batch_rank, batch, rows, columns, terms, item;
    int64_t units, size, row_block, row_blocks, column_block, column_blocks, is_symmetric;
    int64_t pack_tasks, pack_units, pack_size, pack_shares, packed_bytes, finished, packs_blocks;
    char *packed, *work;
    int64_t work_bytes, places;
    uint8_t busy[PRODUCT_MOST_PLACES], states[PRODUCT_MOST_PLACES];
} MatrixProduct;

/* What is fetched into the second cache beside other work: `left` pieces, each `stretch` terms some `together`. `run`
   of them lie side by side, of which `along` are done, and the next ones `jump` bytes behind these. */
typedef struct {
    const char *place;
    int64_t left, run, along, jump, stretch, together;
} ProductAhead;

/* What a tile reads and writes: one part's terms of some rows and columns. `before` has the sums of the parts before,
   rows as whole vectors side by side, if there were any; `copy` takes the columns as they are read, term by term, if
   they are wanted. Steps are in bytes. `term` and `row` are the next ones for which something is fetched: `ahead`, when
   it is `due`, and what is read and written at the end. */
typedef struct {
    const char *left, *right, *before;
    char *to, *copy;
    int64_t row_step, term_step, right_step, to_step, terms, term, row, due;
    ProductAhead ahead;
} ProductTile;

#if (defined(__clang__) ? __clang_major__ >= 12 : defined(__GNUC__) && __GNUC__ >= 12) && \
    (defined(__x86_64__) || defined(__aarch64__))

static inline __attribute__((always_inline)) void product_fetch(ProductAhead *ahead) {
    for (int64_t piece = 0; piece < ahead->together && ahead->left; piece++, ahead->left--) {
        __builtin_prefetch(ahead->place, 0, 2);
        __builtin_prefetch(ahead->place + PRODUCT_LINE, 0, 2);
        __builtin_prefetch(ahead->place + PRODUCT_PIECE - 1, 0, 2);
        ahead->place += PRODUCT_PIECE;
        if (++ahead->along == ahead->run) ahead->along = 0, ahead->place += ahead->jump;
    }
}

/* Fetch of the next panel what is due; how many terms follow until something is fetched again, at most `most`. */
static inline __attribute__((always_inline)) int64_t product_stretch(ProductTile *t, int64_t most) {
    int64_t stretch = t->ahead.stretch < most ? t->ahead.stretch : most;
    if (t->term >= t->due) product_fetch(&t->ahead), t->due += t->ahead.stretch;
    stretch = stretch < t->terms - t->term ? stretch : t->terms - t->term;
    t->term += stretch;
    return stretch;
}

/* What is fetched next: some columns of one part, during so many terms of tiles. */
static void product_look(
    ProductAhead *ahead, const MatrixProduct *p, const char *from, int64_t columns, int64_t terms, int64_t during) {
    const ProductSide *side = &p->right;
    int64_t item = p->item, is_turned = side->term_step == item;
    int64_t is_read = (is_turned || side->line_step == item) && p->terms * p->columns * item > PRODUCT_FETCHED;
    int64_t bytes = (is_turned ? terms : columns) * item, gap;
    ahead->place = from, ahead->along = 0;
    ahead->run = (bytes + PRODUCT_PIECE - 1) / PRODUCT_PIECE;
    ahead->jump = (is_turned ? side->line_step : side->term_step) - ahead->run * PRODUCT_PIECE;
    ahead->left = is_read ? (is_turned ? columns : terms) * ahead->run : 0;
    gap = ahead->left ? during / ahead->left : during;
    /* More at once where they are rare: pages are then looked up side by side; and where looking takes too long. */
    ahead->together = PRODUCT_PIECES;
    if (PRODUCT_PIECES <= gap && gap < PRODUCT_PIECES * PRODUCT_PIECES) ahead->together = gap / PRODUCT_PIECES + 1;
    ahead->stretch = gap * ahead->together;
    if (ahead->stretch < PRODUCT_LEAST_STRETCH) ahead->stretch = PRODUCT_LEAST_STRETCH;
}

/* Terms of the part that begins at `first`. */
static inline int64_t product_terms(const MatrixProduct *p, int64_t first) {
    int64_t left = p->terms - first;
    return left < 0 ? 0 : left < PRODUCT_PART ? left : PRODUCT_PART;
}

#define VECTOR_CODE "matmul/matmul_tiles.h"
#define FAMILY(name) product_##name
#include "simd/vector_kinds.h"

/* The bytes of a vector, 0 where there are not the instructions. */
static int64_t product_vector_bytes(void) {
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return 64;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 32 : 0;
#else
    return 16;
#endif
}

static void product_block(
    const MatrixProduct *p, int64_t vector_bytes, const char *left, const char *right, char *to, int64_t rows,
    int64_t columns, char *work, const char *packed) {
#ifdef __x86_64__
    if (vector_bytes == 64) {
        (p->item == 4 ? product_wide_float_multiply_block : product_wide_double_multiply_block)(
            p, left, right, to, rows, columns, work, packed);
        return;
    }
#endif
    (void)vector_bytes;
    (p->item == 4 ? product_float_multiply_block : product_double_multiply_block)(
        p, left, right, to, rows, columns, work, packed);
}

static void product_pack(
    const MatrixProduct *p, int64_t vector_bytes, const char *from, int64_t rows, int64_t share, char *to) {
#ifdef __x86_64__
    if (vector_bytes == 64) {
        (p->item == 4 ? product_wide_float_pack_share : product_wide_double_pack_share)(p, from, rows, share, to);
        return;
    }
#endif
    (void)vector_bytes;
    (p->item == 4 ? product_float_pack_share : product_double_pack_share)(p, from, rows, share, to);
}

static void product_mirror(
    const MatrixProduct *p, int64_t vector_bytes, const char *from, int64_t rows, int64_t columns, char *to) {
    int64_t step = p->columns * p->item;
#ifdef __x86_64__
    if (vector_bytes == 64) {
        (p->item == 4 ? product_wide_float_mirror : product_wide_double_mirror)(from, step, rows, columns, to);
        return;
    }
#endif
    (void)vector_bytes;
    (p->item == 4 ? product_float_mirror : product_double_mirror)(from, step, rows, columns, to);
}

/* Whether matrices are so small that a tile holds their columns, and little else is to be done for each. */
static int product_is_small(const MatrixProduct *p, int64_t vector_bytes) {
    int64_t widest = vector_bytes * (vector_bytes == 32 ? 2 : 4);
    return p->batch_rank > 0 && p->right.line_step == p->item && p->columns * p->item <= widest &&
           p->rows <= PRODUCT_DIRECT_ROWS && p->terms <= PRODUCT_PART && p->units == p->batch;
}

static void product_small(
    const MatrixProduct *p, int64_t vector_bytes, const char *left, const char *right, char *to, int64_t count,
    int64_t left_step, int64_t right_step) {
#ifdef __x86_64__
    if (vector_bytes == 64) {
        (p->item == 4 ? product_wide_float_multiply_small : product_wide_double_multiply_small)(
            p, left, right, to, count, left_step, right_step);
        return;
    }
#endif
    (void)vector_bytes;
    (p->item == 4 ? product_float_multiply_small : product_double_multiply_small)(
        p, left, right, to, count, left_step, right_step);
}

/* Do some small matrices, those along the last batching dimension at once. */
static void product_small_units(const MatrixProduct *p, int64_t vector_bytes, int64_t first, int64_t end) {
    int64_t last = p->batch_rank - 1, size = p->batch_sizes[last];
    for (int64_t unit = first, count; unit < end; unit += count) {
        int64_t rest = unit / size, along = unit % size;
        const char *left = p->left.address + along * p->left.matrix_steps[last];
        const char *right = p->right.address + along * p->right.matrix_steps[last];
        count = size - along < end - unit ? size - along : end - unit;
        for (int64_t axis = last - 1; axis >= 0; rest /= p->batch_sizes[axis], axis--) {
            left += rest % p->batch_sizes[axis] * p->left.matrix_steps[axis];
            right += rest % p->batch_sizes[axis] * p->right.matrix_steps[axis];
        }
        char *to = p->result + unit * p->rows * p->columns * p->item;
        product_small(
            p, vector_bytes, left, right, to, count, p->left.matrix_steps[last], p->right.matrix_steps[last]);
    }
}

/* Where a matrix of a stack begins. */
static const char *product_matrix(const MatrixProduct *p, const ProductSide *side, int64_t matrix) {
    const char *address = side->address;
    for (int64_t axis = p->batch_rank - 1; axis >= 0; matrix /= p->batch_sizes[axis], axis--)
        address += matrix % p->batch_sizes[axis] * side->matrix_steps[axis];
    return address;
}

static inline void product_pause(void) {
#ifdef __x86_64__
    _mm_pause();
#endif
}

/* Copy a share of the rows of a matrix's block. */
static void product_pack_block(MatrixProduct *p, int64_t vector_bytes, int64_t block, int64_t share) {
    int64_t parts = (p->terms + PRODUCT_PART - 1) / PRODUCT_PART, row = block % p->row_blocks * p->row_block;
    const char *left = product_matrix(p, &p->left, block / p->row_blocks) + row * p->left.line_step;
    product_pack(
        p, vector_bytes, left, p->rows - row < p->row_block ? p->rows - row : p->row_block, share,
        p->packed + block * parts * p->packed_bytes);
}

/* Copy some shares of the rows. */
static void product_pack_units(MatrixProduct *p, int64_t vector_bytes, int64_t first, int64_t end) {
    for (int64_t unit = first; unit < end; unit++)
        product_pack_block(p, vector_bytes, unit / p->pack_shares, unit % p->pack_shares);
    __atomic_fetch_add(&p->finished, 1, __ATOMIC_RELEASE);
}

/* Whether the rows of a matrix's block are copied, by this task or by another one that has begun, now or soon. */
static int product_has_block(MatrixProduct *p, int64_t vector_bytes, int64_t block) {
    uint8_t state = PRODUCT_NOT_PACKED, *at = &p->states[block];
    if (__atomic_compare_exchange_n(at, &state, PRODUCT_BEING_PACKED, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
        product_pack_block(p, vector_bytes, block, 0);
        __atomic_store_n(at, PRODUCT_PACKED, __ATOMIC_RELEASE);
        return 1;
    }
    for (int look = 0; look < PRODUCT_LOOKS; look++) {
        if (__atomic_load_n(at, __ATOMIC_ACQUIRE) == PRODUCT_PACKED) return 1;
        product_pause();
    }
    return 0;
}

/* Whether all shares of the rows are there, now or soon. */
static int product_has_packed(const MatrixProduct *p) {
    for (int look = 0; look < PRODUCT_LOOKS && p->pack_tasks; look++) {
        if (__atomic_load_n(&p->finished, __ATOMIC_ACQUIRE) == p->pack_tasks) return 1;
        product_pause();
    }
    return 0;
}

/* Multiply some units. */
static void product_units(MatrixProduct *p, int64_t vector_bytes, int64_t first, int64_t end, char *work) {
    int64_t parts = (p->terms + PRODUCT_PART - 1) / PRODUCT_PART, blocks = p->row_blocks * p->column_blocks;
    int has_all = product_has_packed(p);
    for (int64_t unit = first; unit < end; unit++) {
        int64_t matrix = unit / blocks, row_block = unit % blocks / p->column_blocks;
        int64_t block = matrix * p->row_blocks + row_block;
        int is_packed = p->packs_blocks ? product_has_block(p, vector_bytes, block) : has_all;
        int64_t row = row_block * p->row_block, column = unit % p->column_blocks * p->column_block;
        int64_t rows = p->rows - row < p->row_block ? p->rows - row : p->row_block;
        int64_t columns = p->columns - column < p->column_block ? p->columns - column : p->column_block;
        const char *left = product_matrix(p, &p->left, matrix) + row * p->left.line_step;
        const char *right = product_matrix(p, &p->right, matrix) + column * p->right.line_step;
        const char *packed = p->packed + block * parts * p->packed_bytes;
        char *whole = p->result + matrix * p->rows * p->columns * p->item;
        char *to = whole + (row * p->columns + column) * p->item;
        if (p->is_symmetric && column < row) continue;
        product_block(p, vector_bytes, left, right, to, rows, columns, work, is_packed ? packed : 0);
        if (p->is_symmetric && column > row)
            product_mirror(p, vector_bytes, to, rows, columns, whole + (column * p->columns + row) * p->item);
    }
}

static void product_task(int64_t task, void *product) {
    MatrixProduct *p = product;
    int64_t place = task - p->pack_tasks, first = place * p->size, vector_bytes = product_vector_bytes();
    int64_t end = first + p->size < p->units ? first + p->size : p->units;
    if (task < p->pack_tasks) {
        first = task * p->pack_size, end = first + p->pack_size;
        product_pack_units(p, vector_bytes, first, end < p->pack_units ? end : p->pack_units);
        return;
    }
    if (product_is_small(p, vector_bytes)) {
        product_small_units(p, vector_bytes, first, end);
        return;
    }
    if (p->units <= PRODUCT_OWN_WORK * p->size) {
        product_units(p, vector_bytes, first, end, p->work + place * p->work_bytes);
        return;
    }
    for (place = 0; __atomic_exchange_n(&p->busy[place], 1, __ATOMIC_ACQUIRE);) place = (place + 1) % p->places;
    product_units(p, vector_bytes, first, end, p->work + place * p->work_bytes);
    __atomic_store_n(&p->busy[place], 0, __ATOMIC_RELEASE);
}

#else

static int64_t product_vector_bytes(void) { return 0; }
static void product_task(int64_t task, void *product) { (void)task, (void)product; }

#endif
#endif
