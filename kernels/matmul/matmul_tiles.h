/* GEMM for one element type and vector width: `vector_kinds.h` includes this for each. */

/* ROWS, VECTORS: rows and vectors of columns of a full tile, whose sums are in registers; LOW_VECTORS: vectors of a
   low one. KEEP pins a sum to its register: otherwise the compiler moves sums about and runs out of registers. */
#if VECTOR_BYTES == 64
#define ROWS 14
#define VECTORS 2
#define LOW_VECTORS 4
#define MIDDLE_ROWS 9
#define KEEP(sum, one, columns) __asm__("" : "+v"(sum) : "v"(one), "v"(columns))
#elif VECTOR_BYTES == 32
#define ROWS 6
#define VECTORS 2
#define LOW_VECTORS 2
#define MIDDLE_ROWS 6
#define KEEP(sum, one, columns) __asm__("" : "+x"(sum) : "x"(one), "x"(columns))
#else
#define ROWS 6
#define VECTORS 4
#define LOW_VECTORS 4
#define MIDDLE_ROWS 6
#define KEEP(sum, one, columns)
#endif

/* Prefetch the sums that a tile reads, the row that it writes at its end, and a row to copy for the next tile. */
INLINE void NAME(fetch_row)(const MatmulTile *t, int64_t row, int vectors) {
    const char *address = t->to + row * t->to_stride, *partial_sums = t->partial_sums + row * vectors * sizeof(VECTOR);
    __builtin_prefetch(address, 1);
    __builtin_prefetch(address + vectors * sizeof(VECTOR) - 1, 1);
    if (t->partial_sums)
        UNROLL for (int number = 0; number < vectors; number++) __builtin_prefetch(
            partial_sums + number * sizeof(VECTOR));
    if (t->next_rows)
        for (int64_t byte = 0; byte < t->k_size * (int64_t)sizeof(ITEM); byte += MATMUL_CACHE_LINE) {
            __builtin_prefetch(t->next_rows + row * t->next_row_stride + byte, 0, 2);
            __builtin_prefetch(t->next_copy + row * t->row_stride + byte, 1, 2);
        }
}

/* Whether the loop of `unrolled_tile.h` adds the outer products of so many rows. */
#if VECTOR_BYTES == 64 && !defined(HAS_INTEGER_ITEMS)
#include "matmul/unrolled_tile.h"
#define IS_UNROLLED(rows, packs, k_stride) \
    ((rows) > MATMUL_LOW_ROWS && !(packs) && (k_stride) == (int64_t)sizeof(ITEM))
#else
#define IS_UNROLLED(rows, packs, k_stride) 0
#endif

/* Add the outer products up to the columns' address `end`, whose distance is a multiple of `right_stride`; pack the
   columns meanwhile if `packs`. `is_half`: the second half of the last vector may be left out. There are too few
   registers for an address of each row: there is one for each three. The loop compares the address of the columns,
   which has to advance anyway. */
INLINE void NAME(add_outer_products)(
    int rows, int vectors, int packs, int is_half, const char **row_addresses, int64_t row_stride, int64_t k_stride,
    const char **right, int64_t right_stride, const char *end, char **packed, PanelPrefetch *prefetch,
    VECTOR sums[ROWS][LOW_VECTORS]) {
#if VECTOR_BYTES == 64 && !defined(HAS_INTEGER_ITEMS)
    if (IS_UNROLLED(rows, packs, k_stride))
        NAME(add_unrolled)(
            rows, vectors, is_half, row_addresses, row_stride, right, right_stride, end, prefetch, sums);
#else
    (void)prefetch, (void)is_half;
#endif
    for (; *right != end; *right += right_stride) {
        VECTOR columns[LOW_VECTORS];
        UNROLL for (int number = 0; number < vectors; number++)
            columns[number] = LOAD(*right + number * sizeof(VECTOR));
        if (packs)
            UNROLL for (int number = 0; number < vectors; number++, *packed += sizeof(VECTOR))
                *(NAME(Unaligned) *)*packed = columns[number];
        UNROLL for (int row = 0; row < rows; row++) {
            VECTOR left_value = BROADCAST(*(const NAME(Item) *)(row_addresses[row / 3] + row % 3 * row_stride));
            UNROLL for (int number = 0; number < vectors; number++) {
                sums[row][number] = FMA(left_value, columns[number], sums[row][number]);
                KEEP(sums[row][number], left_value, columns[number]);
            }
        }
        UNROLL for (int group = 0; group < (rows + 2) / 3; group++) {
            row_addresses[group] += k_stride;
            /* Keeps the compiler from computing an address for each row. */
            __asm__("" : "+r"(row_addresses[group]));
        }
    }
}

/* Prefetch what is due, and add the outer products up to the next prefetch, or to `end_k`, to the sums. */
INLINE void NAME(add_interval)(
    int rows, int vectors, int packs, int is_half, int64_t end_k, MatmulTile *t, const char **row_addresses,
    const char **right, char **packed, VECTOR sums[ROWS][LOW_VECTORS]) {
    int64_t between_rows = rows > MATMUL_LOW_ROWS ? MATMUL_MAX_INTERVAL : MATMUL_MIN_INTERVAL;
    const char *end = *right + matmul_interval(t, end_k) * t->right_stride;
    for (; t->row < rows && t->row * between_rows < t->k; t->row++) NAME(fetch_row)(t, t->row, vectors);
    NAME(add_outer_products)(
        rows, vectors, packs, is_half, row_addresses, t->row_stride, t->k_stride, right, t->right_stride, end, packed,
        &t->prefetch, sums);
}

/* Store a row of a tile's sums, whose last vector has `last_lanes` columns. */
INLINE void NAME(store_row)(char *to, int vectors, int64_t last_lanes, const VECTOR sums[LOW_VECTORS]) {
    UNROLL for (int number = 0; number < vectors; number++) {
        char *address = to + number * sizeof(VECTOR);
        if (number < vectors - 1 || last_lanes == LANES) *(NAME(Unaligned) *)address = sums[number];
        else STORE_PARTIAL(address, last_lanes, sums[number]);
    }
}

/* Write the sums of one k block, added to the earlier ones, for `rows` rows and `vectors` vectors of columns; the last
   vector has `last_lanes` columns, at most half of LANES if `is_half`. The columns are packed meanwhile if `packs`. But
   for `last_lanes`, the numbers are constants. */
INLINE void NAME(tile)(int rows, int vectors, int packs, int is_half, int64_t last_lanes, MatmulTile *t) {
    VECTOR sums[ROWS][LOW_VECTORS];
    char *packed = t->packed;
    const char *row_addresses[(ROWS + 2) / 3], *right = t->right, *partial_sums = t->partial_sums;
    UNROLL for (int group = 0; group < (rows + 2) / 3; group++)
        row_addresses[group] = t->left + 3 * group * t->row_stride;
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int number = 0; number < vectors; number++) sums[row][number] = (VECTOR){0};
    for (t->k = t->row = t->next_prefetch = 0; t->k < t->k_size;)
        NAME(add_interval)(rows, vectors, packs, is_half, t->k_size, t, row_addresses, &right, &packed, sums);
    UNROLL for (int row = 0; row < rows; row++) {
        UNROLL for (int number = 0; number < vectors && partial_sums; number++)
            sums[row][number] = LOAD(partial_sums + (row * vectors + number) * sizeof(VECTOR)) + sums[row][number];
        NAME(store_row)(t->to + row * t->to_stride, vectors, last_lanes, sums[row]);
    }
}

#ifndef HAS_INTEGER_ITEMS
/* `tile` in the order of two chains. The registers are full, so the totals and the first chains are in the L1 cache. */
INLINE void NAME(two_chain_tile)(int rows, int vectors, int packs, int64_t last_lanes, MatmulTile *t) {
    VECTOR sums[ROWS][LOW_VECTORS], memory[2][ROWS * LOW_VECTORS], *totals = memory[0], *first_chains = memory[1];
    char *packed = t->packed;
    const char *row_addresses[(ROWS + 2) / 3], *right = t->right, *partial_sums = t->partial_sums;
    /* Keeps the compiler from moving the vectors in memory to registers. */
    __asm__("" : "+r"(totals), "+r"(first_chains));
    UNROLL for (int group = 0; group < (rows + 2) / 3; group++)
        row_addresses[group] = t->left + 3 * group * t->row_stride;
    memset(totals, 0, rows * vectors * sizeof(VECTOR));
    int is_second = 0;
    for (t->k = t->row = t->next_prefetch = 0; t->k < t->k_size; is_second = !is_second) {
        int64_t end_k = t->k + MATMUL_CHAIN < t->k_size ? t->k + MATMUL_CHAIN : t->k_size;
        UNROLL for (int row = 0; row < rows; row++)
            UNROLL for (int number = 0; number < vectors; number++) sums[row][number] = (VECTOR){0};
        /* A chain at once: loops of one length are predicted. */
        for (; t->k >= t->next_prefetch; t->next_prefetch += t->prefetch.interval) matmul_prefetch(&t->prefetch);
        if (t->row < rows) NAME(fetch_row)(t, t->row++, vectors);
        const char *end = right + (end_k - t->k) * t->right_stride;
        NAME(add_outer_products)(
            rows, vectors, packs, 0, row_addresses, t->row_stride, t->k_stride, &right, t->right_stride, end, &packed,
            &t->prefetch, sums);
        t->k = end_k;
        VECTOR *total = totals, *first_chain = first_chains;
        if (is_second)
            UNROLL for (int row = 0; row < rows; row++)
                UNROLL for (int number = 0; number < vectors; number++)
                    *total++ += *first_chain++ + sums[row][number];
        else if (end_k < t->k_size)
            UNROLL for (int row = 0; row < rows; row++)
                UNROLL for (int number = 0; number < vectors; number++) *first_chain++ = sums[row][number];
        else
            UNROLL for (int row = 0; row < rows; row++)
                UNROLL for (int number = 0; number < vectors; number++) *total++ += sums[row][number];
    }
    for (int number = 0; partial_sums && number < rows * vectors; number++)
        totals[number] = LOAD(partial_sums + number * sizeof(VECTOR)) + totals[number];
    for (int row = 0; row < rows; row++)
        NAME(store_row)(t->to + row * t->to_stride, vectors, last_lanes, totals + row * vectors);
}
#endif

#define TILE(rows, vectors)                             \
    case (vectors) * 16 + (rows):                       \
        NAME(tile)(rows, vectors, 0, 0, last_lanes, t); \
        return
#define LOW_TILES(vectors) \
    TILE(1, vectors); TILE(2, vectors); TILE(3, vectors); TILE(4, vectors); TILE(5, vectors); TILE(6, vectors);
#if LOW_VECTORS == 4
#define ALL_LOW_TILES LOW_TILES(1) LOW_TILES(2) LOW_TILES(3) LOW_TILES(4)
#else
#define ALL_LOW_TILES LOW_TILES(1) LOW_TILES(2)
#endif
#define HIGH_TILES(vectors)                                                  \
    TILE(7, vectors); TILE(8, vectors); TILE(9, vectors); TILE(10, vectors); \
    TILE(11, vectors); TILE(12, vectors); TILE(13, vectors); TILE(14, vectors);
#define MIDDLE_TILES TILE(7, 3); TILE(8, 3); TILE(9, 3);

#if ROWS == 14
#define ALL_TILES ALL_LOW_TILES HIGH_TILES(1) HIGH_TILES(2) MIDDLE_TILES
#define PACKING_TILES                                                                     \
    TILE(MATMUL_LOW_ROWS - 1, LOW_VECTORS); TILE(MATMUL_LOW_ROWS, LOW_VECTORS);           \
    TILE(11, VECTORS); TILE(12, VECTORS); TILE(13, VECTORS); TILE(14, VECTORS);
#else
#define ALL_TILES ALL_LOW_TILES
#define PACKING_TILES TILE(MATMUL_LOW_ROWS - 1, LOW_VECTORS); TILE(MATMUL_LOW_ROWS, LOW_VECTORS);
#endif

#if VECTOR_BYTES == 64 && !defined(HAS_INTEGER_ITEMS)
/* Dispatch to a tile whose last vector has no more columns than half a vector, if there is one: Zen 4 multiplies these
   in half the time. A single vector would wait for the rows' items. Returns whether there is one. */
static CODE int NAME(dispatch_half_tile)(int64_t vectors, int64_t rows, int64_t last_lanes, MatmulTile *t) {
#define HALF_TILE(rows, vectors)                        \
    case (vectors) * 16 + (rows):                       \
        NAME(tile)(rows, vectors, 0, 1, last_lanes, t); \
        return 1;
    switch (vectors * 16 + rows) {
        HALF_TILE(7, 2) HALF_TILE(8, 2) HALF_TILE(9, 2) HALF_TILE(10, 2)
        HALF_TILE(11, 2) HALF_TILE(12, 2) HALF_TILE(13, 2) HALF_TILE(14, 2)
        HALF_TILE(7, 3) HALF_TILE(8, 3) HALF_TILE(9, 3)
    }
    return 0;
#undef HALF_TILE
}
#endif

/* Dispatch to the tile of this size; one that packs its columns has full vectors. */
static CODE void NAME(dispatch_tile)(int64_t rows, int64_t columns, MatmulTile *t) {
    int64_t vectors = (columns + LANES - 1) / LANES, last_lanes = columns - (vectors - 1) * LANES;
#if VECTOR_BYTES == 64 && !defined(HAS_INTEGER_ITEMS)
    if (last_lanes <= LANES / 2 && NAME(dispatch_half_tile)(vectors, rows, last_lanes, t)) return;
#endif
    switch (vectors * 16 + rows) { ALL_TILES }
}

#undef TILE
#define TILE(rows, vectors)                        \
    case (vectors) * 16 + (rows):                  \
        NAME(tile)(rows, vectors, 1, 0, LANES, t); \
        return

static CODE void NAME(dispatch_packing_tile)(int64_t rows, int64_t columns, MatmulTile *t) {
    switch (columns / LANES * 16 + rows) { PACKING_TILES }
}

#ifndef HAS_INTEGER_ITEMS
/* The same in the order of two chains, which is that of narrow floats: of f32 only. */
#undef TILE
#define TILE(rows, vectors)                                                           \
    case (vectors) * 16 + (rows):                                                     \
        if (sizeof(ITEM) == 4) NAME(two_chain_tile)(rows, vectors, 0, last_lanes, t); \
        return

static CODE void NAME(dispatch_two_chain_tile)(int64_t rows, int64_t columns, MatmulTile *t) {
    int64_t vectors = (columns + LANES - 1) / LANES, last_lanes = columns - (vectors - 1) * LANES;
    switch (vectors * 16 + rows) { ALL_TILES }
}

#undef TILE
#define TILE(rows, vectors)                                                      \
    case (vectors) * 16 + (rows):                                                \
        if (sizeof(ITEM) == 4) NAME(two_chain_tile)(rows, vectors, 1, LANES, t); \
        return

static CODE void NAME(dispatch_packing_two_chain_tile)(int64_t rows, int64_t columns, MatmulTile *t) {
    switch (columns / LANES * 16 + rows) { PACKING_TILES }
}
#endif

/* Multiply a tile, and pack its columns if `packs`. */
INLINE void NAME(multiply_tile)(const Matmul *p, int packs, int64_t rows, int64_t columns, MatmulTile *t) {
#ifndef HAS_INTEGER_ITEMS
    if (p->adds_two_chains) {
        if (packs) NAME(dispatch_packing_two_chain_tile)(rows, columns, t);
        else NAME(dispatch_two_chain_tile)(rows, columns, t);
        return;
    }
#else
    (void)p;
#endif
    if (packs) NAME(dispatch_packing_tile)(rows, columns, t);
    else NAME(dispatch_tile)(rows, columns, t);
}

/* Whether a full panel can be packed by the tile of its first strip, which is so high. */
INLINE int NAME(has_packing_tile)(int64_t rows, int is_low) {
    return rows >= (is_low || ROWS == MATMUL_LOW_ROWS ? MATMUL_LOW_ROWS - 1 : ROWS - 3);
}

/* A tile of a single k block, whose columns may end within the last vector. */
INLINE void NAME(small_tile)(
    int rows, int vectors, int last_lanes, const char *left, int64_t row_stride, int64_t k_stride, const char *right,
    int64_t right_stride, int64_t k_size, char *to, int64_t to_stride) {
    VECTOR sums[MATMUL_LOW_ROWS][LOW_VECTORS];
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int number = 0; number < vectors; number++) sums[row][number] = (VECTOR){0};
    for (int64_t k = 0; k < k_size; k++, left += k_stride, right += right_stride) {
        VECTOR columns[LOW_VECTORS];
        UNROLL for (int number = 0; number < vectors; number++) {
            const char *address = right + number * sizeof(VECTOR);
            columns[number] = number < vectors - 1 ? LOAD(address) : LOAD_PARTIAL(address, last_lanes);
        }
        UNROLL for (int row = 0; row < rows; row++) {
            VECTOR left_value = BROADCAST(*(const NAME(Item) *)(left + row * row_stride));
            UNROLL for (int number = 0; number < vectors; number++)
                sums[row][number] = FMA(left_value, columns[number], sums[row][number]);
        }
    }
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int number = 0; number < vectors; number++) {
            char *address = to + row * to_stride + number * sizeof(VECTOR);
            if (number < vectors - 1) *(NAME(Unaligned) *)address = sums[row][number];
            else STORE_PARTIAL(address, last_lanes, sums[row][number]);
        }
}

#undef TILE
#define TILE(rows, vectors)                                                                                         \
    case (vectors) * 16 + (rows):                                                                                   \
        NAME(small_tile)(                                                                                           \
            rows, vectors, last_lanes, left_row, row_stride, p->left.k_stride, right, p->right.k_stride, p->k_size, \
            result_row, to_stride);                                                                                 \
        break

/* Multiply consecutive small matrices, whose columns are contiguous and fit a tile. */
static CODE void NAME(multiply_small)(
    const Matmul *p, const char *left, const char *right, char *to, int64_t count, int64_t left_stride,
    int64_t right_stride) {
    int64_t itemsize = sizeof(ITEM), to_stride = p->columns * itemsize, row_stride = p->left.outer_stride;
    int64_t vectors = (p->columns + LANES - 1) / LANES;
    int last_lanes = (int)(p->columns - (vectors - 1) * LANES);
    for (; count > 0; count--, left += left_stride, right += right_stride)
        for (int64_t row = 0; row < p->rows; row += MATMUL_LOW_ROWS) {
            int64_t rows = p->rows - row < MATMUL_LOW_ROWS ? p->rows - row : MATMUL_LOW_ROWS;
            const char *left_row = left + row * row_stride;
            char *result_row = to;
            to += rows * to_stride;
            switch (vectors * 16 + rows) {
                ALL_LOW_TILES
            }
        }
}

/* Store the first items of a vector, at least one. */
INLINE void NAME(store_first)(ITEM *to, int64_t count, VECTOR vector) {
    if (count < LANES) STORE_PARTIAL(to, count, vector);
    else *(NAME(Unaligned) *)to = vector;
}

/* Transpose `row_count` rows, at most LANES, of LANES columns; the last row is repeated behind them. Only the first
   `capacity` items of the result are written. `to_stride` is in items. */
INLINE void NAME(transpose)(
    const char *from, int64_t row_stride, int64_t row_count, ITEM *to, int64_t to_stride, int64_t capacity) {
    VECTOR a[LANES];
    UNROLL for (int row = 0; row < LANES; row++)
        a[row] = LOAD(from + (row < row_count ? row : row_count - 1) * row_stride);
    TRANSPOSE_VECTORS(VECTOR, LANES, a)
    if ((LANES - 1) * to_stride + LANES <= capacity)
        UNROLL for (int column = 0; column < LANES; column++) *(NAME(Unaligned) *)(to + column * to_stride) = a[column];
    else
        UNROLL for (int column = 0; column < LANES; column++) NAME(store_first)(
            to + column * to_stride, capacity - column * to_stride, a[column]);
}

/* Write a block transposed. */
static CODE void NAME(mirror)(
    const char *from, int64_t stride, int64_t rows, int64_t columns, char *to, int64_t to_stride) {
    int64_t itemsize = sizeof(ITEM), full_rows = rows / LANES * LANES, full_columns = columns / LANES * LANES;
    for (int64_t column = 0; column < full_columns; column += LANES)
        for (int64_t row = 0; row < full_rows; row += LANES)
            NAME(transpose)(
                from + row * stride + column * itemsize, stride, LANES,
                    (ITEM *)(to + column * to_stride + row * itemsize), to_stride / itemsize,
                LANES * to_stride);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < full_rows ? full_columns : 0; column < columns; column++)
            *(NAME(Item) *)(to + column * to_stride + row * itemsize) =
                *(const NAME(Item) *)(from + row * stride + column * itemsize);
}

/* Pack one k block of a panel: for each k the items of `outer_size` columns, contiguous and padded to `width` with
   anything. Each k overwrites the padding of the one before. */
INLINE void NAME(pack)(
    const char *from, int64_t outer_stride, int64_t k_stride, int64_t outer_size, int64_t width, int64_t k_size,
    ITEM *to) {
    int64_t itemsize = sizeof(ITEM), last = (outer_size - 1) / LANES * LANES, k = 0;
    if (outer_stride == itemsize)
        for (; k < k_size; k++, from += k_stride, to += width) {
            for (int64_t outer = 0; outer < last; outer += LANES) *(NAME(Unaligned) *)(to + outer) =
                LOAD(from + outer * itemsize);
            VECTOR last_vector = outer_size - last == LANES ? LOAD(from + last * itemsize) : LOAD_PARTIAL(
                from + last * itemsize, outer_size - last);
            NAME(store_first)(to + last, (k_size - k) * width - last, last_vector);
        }
    else if (k_stride == itemsize)
        for (; k + LANES <= k_size; k += LANES)
            for (int64_t outer = last; outer >= 0; outer -= LANES)
                NAME(transpose)(
                    from + outer * outer_stride + k * itemsize, outer_stride,
                    outer_size - outer < LANES ? outer_size - outer : LANES, to + k * width + outer, width,
                    (k_size - k) * width - outer);
    for (; k < k_size; k++)
        for (int64_t outer = 0; outer < width; outer++)
            to[k * width + outer] =
                outer < outer_size ? *(const NAME(Item) *)(from + outer * outer_stride + k * k_stride) : 0;
}

/* The number of strips of equal height that rows are divided into: with fewer vectors of columns, more rows have their
   sums in registers. */
INLINE int64_t NAME(strips)(int64_t rows, int64_t vectors) {
    int64_t height = vectors <= VECTORS ? ROWS : vectors == 3 ? MIDDLE_ROWS : MATMUL_LOW_ROWS;
    return (rows + height - 1) / height;
}

enum { NAME(panel_columns) = VECTORS * LANES };

/* Pack one panel of one k block for all calls. */
static CODE void NAME(pack_panel)(const Matmul *p, int64_t first_k, int64_t column) {
    int64_t columns = p->columns - column < VECTORS * LANES ? p->columns - column : VECTORS * LANES;
    const char *from = p->right.address + column * p->right.outer_stride + first_k * p->right.k_stride;
    NAME(pack)(
        from, p->right.outer_stride, p->right.k_stride, columns, (columns + LANES - 1) / LANES * LANES,
        matmul_k_block_size(p, first_k), (ITEM *)matmul_panel(p, first_k, column));
}

/* Multiply a block of rows with a block of columns, k block by k block and panel by panel. `workspace` holds a panel,
   then the partial sums: for each panel all rows, as whole vectors; then the copies of the rows, which have been made
   if `is_copied`. If `is_symmetric`, the rows below a panel's square on the diagonal are mirrored instead.
   `first_column`: of the block in the matrix. */
static CODE void NAME(multiply_block)(
    const Matmul *p, const char *left, const char *right, char *to, int64_t rows, int64_t columns,
    char *workspace, int is_copied, int is_symmetric, int64_t first_column) {
    int64_t itemsize = sizeof(ITEM), column_stride = p->right.outer_stride, right_stride = p->right.k_stride;
    int64_t is_direct = column_stride == itemsize && right_stride && rows <= MATMUL_DIRECT_ROWS;
    int64_t is_low = !p->panels && (rows <= MATMUL_LOW_ROWS || p->k_size <= MATMUL_LOW_K);
    int64_t first_panel = columns < VECTORS * LANES ? columns : VECTORS * LANES;
    int64_t width = (is_low ? LOW_VECTORS : VECTORS) * LANES;
    int copies_rows = matmul_copies_rows(p, rows, p->copy_bytes ? p->columns : columns);
    int copies_strips = copies_rows && !is_copied && p->left.k_stride == itemsize;
    char *all_partial_sums = workspace + MATMUL_PANEL * itemsize;
    char *copies = all_partial_sums + matmul_partial_sums(p) * itemsize;
    ITEM *panel = (ITEM *)workspace;
    MatmulTile t;
    t.next_row_stride = p->left.outer_stride;
    if (p->panels)
        matmul_plan_packed(
            &t.prefetch, matmul_panel(p, 0, first_column), first_panel * matmul_k_block_size(p, 0) * itemsize, 1, 0);
    else matmul_plan_prefetch(&t.prefetch, p, right, columns < width ? columns : width, matmul_k_block_size(p, 0), 1);
    while (t.prefetch.remaining) matmul_prefetch(&t.prefetch);
    for (int64_t first = 0; first < p->k_size; first += MATMUL_K_BLOCK) {
        int64_t is_last = first + MATMUL_K_BLOCK >= p->k_size;
        const char *from = right + first * right_stride, *left_block = left + first * p->left.k_stride;
        char *copy = copies + first / MATMUL_K_BLOCK * p->copy_bytes;
        t.k_size = matmul_k_block_size(p, first);
        t.row_stride = p->left.outer_stride, t.k_stride = p->left.k_stride;
        if (copies_rows && p->left.k_stride == itemsize) t.row_stride = matmul_copy_stride(t.k_size * itemsize);
        else if (copies_rows) t.k_stride = matmul_copy_stride(rows * itemsize);
        if (copies_rows && !is_copied && !copies_strips)
            matmul_copy_runs(left_block, p->left.k_stride, t.k_size, rows * itemsize, copy);
        for (int64_t column = 0; column < columns; column += width) {
            int64_t panel_columns = columns - column < width ? columns - column : width;
            int64_t padded_columns = (panel_columns + LANES - 1) / LANES * LANES, remaining_columns =
                columns - column - panel_columns;
            int64_t strips = NAME(strips)(rows, padded_columns / LANES);
            t.right = from + column * column_stride, t.right_stride = right_stride;
            if (p->panels) {
                int64_t next_k = remaining_columns ? first : first + MATMUL_K_BLOCK;
                int64_t next_column = remaining_columns ? column + panel_columns : 0;
                int64_t next_columns = remaining_columns && remaining_columns < width ? remaining_columns : first_panel;
                matmul_plan_packed(
                    &t.prefetch, matmul_panel(p, next_k, first_column + next_column),
                    next_columns * matmul_k_block_size(p, next_k) * itemsize, strips * t.k_size,
                    IS_UNROLLED(rows / strips, 0, t.k_stride));
            } else if (remaining_columns)
                matmul_plan_prefetch(
                    &t.prefetch, p, t.right + panel_columns * column_stride,
                        remaining_columns < width ? remaining_columns : width,
                    t.k_size, strips * t.k_size);
            else
                matmul_plan_prefetch(
                    &t.prefetch, p, from + MATMUL_K_BLOCK * right_stride, columns < width ? columns : width,
                    matmul_k_block_size(p, first + MATMUL_K_BLOCK), strips * t.k_size);
            /* The last, partial vector is always copied. */
            int is_packed = p->panels || !is_direct || panel_columns != padded_columns;
            int packs = is_packed && !p->panels && column_stride == itemsize && right_stride && panel_columns == width
                && NAME(has_packing_tile)(rows / strips, is_low);
            if (is_packed && !packs && !p->panels)
                NAME(pack)(t.right, column_stride, right_stride, panel_columns, padded_columns, t.k_size, panel);
            t.packed = p->panels ? matmul_panel(p, first, first_column + column) : (char *)panel;
            t.to_stride = is_last ? p->columns * itemsize : padded_columns * itemsize;
            for (int64_t strip = 0; strip < strips; strip++) {
                int64_t row = rows * strip / strips, height = rows * (strip + 1) / strips - row;
                if (is_symmetric && row >= column + panel_columns && !(copies_strips && !column)) break;
                char *sums = all_partial_sums + (column * rows + row * padded_columns) * itemsize;
                t.partial_sums = first ? sums : 0;
                t.to = is_last ? to + (row * p->columns + column) * itemsize : sums;
                t.left = (copies_rows ? copy : left_block) + row * t.row_stride;
                t.next_rows = 0;
                if (copies_strips && !column) {
                    const char *strip_rows = left_block + row * p->left.outer_stride;
                    char *strip_copy = copy + row * t.row_stride;
                    matmul_copy_runs(strip_rows, p->left.outer_stride, height, t.k_size * itemsize, strip_copy);
                    if (strip + 1 < strips)
                        t.next_rows = strip_rows + height * p->left.outer_stride,
                        t.next_copy = strip_copy + height * t.row_stride;
                }
                if (is_packed && !(packs && !strip)) t.right = t.packed, t.right_stride = padded_columns * itemsize;
                NAME(multiply_tile)(p, packs && !strip, height, is_last ? panel_columns : padded_columns, &t);
            }
        }
    }
    int64_t stride = p->columns * itemsize;
    for (int64_t column = 0, end = width; is_symmetric && end < columns; column = end, end += width)
        NAME(mirror)(
            to + column * stride + end * itemsize, stride, width, columns - end,
            to + end * stride + column * itemsize, stride);
}

#undef TILE
#undef LOW_TILES
#undef ALL_LOW_TILES
#undef HIGH_TILES
#undef MIDDLE_TILES
#undef ALL_TILES
#undef PACKING_TILES
#undef ROWS
#undef VECTORS
#undef LOW_VECTORS
#undef MIDDLE_ROWS
#undef KEEP
#undef IS_UNROLLED
