/* Products of bf16 by vectors of pairs (VDPBF16PS); `low_precision_matmul.h` includes this.

   The instruction adds the product of the high halves of two 32-bit words to a sum, then that of the low halves,
   each by fused multiply-add to nearest, ties to even; so the first k of a pair lies in the high half. The order of
   additions is that of `matmul.h`: PAIR_K_TILES k tiles of each sum are added from the first product to the last,
   from 0 on, and these sums in order. So products of bf16 have the bits of those of f32. */

/* K_TILES: k tiles of a k block. ROWS: rows of a tile, whose sums are in registers. DWORDS: 32-bit words of a row in
   a k tile. MAX_FUSED_BLOCKS: with at most this many blocks of rows, columns are packed by the tasks that multiply. */
enum { PAIR_K_TILES = 8, PAIR_ROWS = 8, PAIR_DWORDS = 16, PAIR_MAX_FUSED_BLOCKS = 4 };

static int pair_is_available(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bf16");
}

/* Whether it is faster than fused multiply-adds of f32: on Intel's processors it takes four times as long as those. */
static int pair_is_fast(void) {
    return pair_is_available() && !__builtin_cpu_is("intel");
}

/* The partial sums of a block of rows with a block of columns. */
typedef struct {
    char rows[LOWP_BLOCK][128] __attribute__((aligned(64)));
} PairSums;

/* A k block of a tile: `dwords` of each row. `sums` has the partial sums of earlier k blocks; the tile adds to them
   if `to` is NULL. */
typedef struct {
    const char *left, *right;
    char *to, *sums;
    int64_t dwords, columns, row_bytes, has_partial_sums, rounds_to_bf16;
} PairTile;

/* Store the sums of a row: some columns of the result. */
LOWP_INLINE void pair_store_row(char *to, int vectors, int64_t columns, int64_t rounds_to_bf16, const __m512 sums[2]) {
    uint32_t column_mask = columns >= LOWP_BLOCK ? ~0U : (1U << columns) - 1;
    if (rounds_to_bf16) {
        __m512bh bf16_row = _mm512_cvtne2ps_pbh(vectors == 2 ? sums[1] : sums[0], sums[0]);
        if (column_mask == ~0U) _mm512_storeu_si512(to, (__m512i)bf16_row);
        else _mm512_mask_storeu_epi16(to, column_mask, (__m512i)bf16_row);
        return;
    }
    for (int vector = 0; vector < vectors; vector++) {
        __mmask16 mask = (__mmask16)(column_mask >> 16 * vector);
        if (mask == 0xFFFF) _mm512_storeu_ps(to + 64 * vector, sums[vector]);
        else _mm512_mask_storeu_ps(to + 64 * vector, mask, sums[vector]);
    }
}

/* Multiply a k block of `rows` rows and `vectors` vectors of columns, both constants. */
LOWP_INLINE void pair_tile(int rows, int vectors, const PairTile *t) {
    __m512 sums[PAIR_ROWS][2];
    const char *left = t->left, *right = t->right;
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int vector = 0; vector < vectors; vector++) sums[row][vector] = _mm512_setzero_ps();
    for (int64_t dwords = t->dwords; dwords > 0; dwords -= PAIR_DWORDS) {
        int64_t dwords_here = dwords < PAIR_DWORDS ? dwords : PAIR_DWORDS;
        for (int64_t dword = 0; dword < dwords_here; dword++) {
            __m512bh columns[2];
            UNROLL for (int vector = 0; vector < vectors; vector++)
                columns[vector] = (__m512bh)_mm512_load_si512(right + 1024 * vector + 64 * dword);
            UNROLL for (int row = 0; row < rows; row++) {
                __m512bh pair = (__m512bh)_mm512_set1_epi32(*(const int32_t *)(left + 64 * row + 4 * dword));
                UNROLL for (int vector = 0; vector < vectors; vector++)
                    sums[row][vector] = _mm512_dpbf16_ps(sums[row][vector], pair, columns[vector]);
            }
        }
        left += LOWP_TILE_PAIR_BYTES, right += LOWP_TILE_PAIR_BYTES;
    }
    UNROLL for (int row = 0; row < rows; row++) {
        UNROLL for (int vector = 0; vector < vectors; vector++) {
            char *sums_address = t->sums + 128 * row + 64 * vector;
            if (t->has_partial_sums) sums[row][vector] = _mm512_add_ps(_mm512_load_ps(sums_address), sums[row][vector]);
            if (!t->to) _mm512_store_ps(sums_address, sums[row][vector]);
        }
        if (t->to) pair_store_row(t->to + row * t->row_bytes, vectors, t->columns, t->rounds_to_bf16, sums[row]);
    }
}

/* Dispatch to the tile of this size. */
static LOWP_CODE void pair_any_tile(int64_t rows, const PairTile *t) {
    switch ((rows < PAIR_ROWS ? rows : PAIR_ROWS) * 2 + (t->columns > 16)) {
#define PAIR_TILE(rows)                      \
    case (rows) * 2: pair_tile(rows, 1, t); return; \
    case (rows) * 2 + 1: pair_tile(rows, 2, t); return
        PAIR_TILE(1);
        PAIR_TILE(2);
        PAIR_TILE(3);
        PAIR_TILE(4);
        PAIR_TILE(5);
        PAIR_TILE(6);
        PAIR_TILE(7);
        PAIR_TILE(8);
    }
}

/* Multiply a k block of a block of rows with some blocks of columns, from block `first` of `all` on; `right` has
   panels of `right_k_tiles`. */
static LOWP_CODE void pair_multiply_k_block(
    const LowpProduct *p, const LowpRowBlock *all, int64_t k_tile, const char *right, int64_t right_k_tiles,
        int64_t first,
    int64_t blocks, PairSums *totals) {
    int64_t itemsize = p->rounds_to_bf16 ? 2 : 4, rows = all->rows < LOWP_BLOCK ? all->rows : LOWP_BLOCK;
    int is_last = k_tile + PAIR_K_TILES >= p->k_tiles;
    PairTile tile = {.row_bytes = p->right.outer_size * itemsize, .rounds_to_bf16 = p->rounds_to_bf16,
        .has_partial_sums = k_tile > 0};
    tile.dwords = is_last ? (p->k_size + 1) / 2 - k_tile * PAIR_DWORDS : PAIR_K_TILES * PAIR_DWORDS;
    for (int64_t block = 0; block < blocks; block++) {
        tile.columns = all->columns - (first + block) * LOWP_BLOCK;
        tile.right = right + block * right_k_tiles * LOWP_TILE_PAIR_BYTES;
        for (int64_t row = 0; row < rows; row += PAIR_ROWS) {
            tile.left = all->left + k_tile * LOWP_TILE_PAIR_BYTES + 64 * row;
            tile.sums = totals[block % LOWP_MAX_GROUP].rows[row];
            tile.to = is_last ? all->to + row * tile.row_bytes + (first + block) * LOWP_BLOCK * itemsize : NULL;
            pair_any_tile(rows - row, &tile);
        }
    }
}

/* K block by k block: that of a block of rows stays in the L1 cache. */
static void pair_multiply(const LowpProduct *p, int64_t task) {
    PairSums totals[LOWP_MAX_GROUP];
    for (int64_t work_item = task * p->items_per_task; work_item < lowp_items_end(p, task); work_item++)
        for (int64_t number = 0; number < p->row_group; number++) {
            LowpRowBlock all = lowp_row_block(p, work_item, number);
            for (int64_t k_tile = 0; all.rows > 0 && k_tile < p->k_tiles; k_tile += PAIR_K_TILES)
                pair_multiply_k_block(
                    p, &all, k_tile, all.right + k_tile * LOWP_TILE_PAIR_BYTES, p->k_tiles, 0, all.blocks, totals);
        }
}

/* Multiply the columns of a work item with all rows, of which there are few: some columns of a k block are packed
   and multiplied at a time. */
LOWP_INLINE __m512i pair_pack_and_multiply_item(const LowpProduct *p, int64_t work_item, __m512i min_magnitude) {
    PairSums totals[PAIR_MAX_FUSED_BLOCKS][LOWP_PACKED_BLOCKS];
    char panels[LOWP_PACKED_BLOCKS * PAIR_K_TILES * LOWP_TILE_PAIR_BYTES] __attribute__((aligned(64)));
    LowpRowBlock all = lowp_row_block(p, work_item, 0);
    int64_t matrix = work_item / p->column_groups, begin = work_item % p->column_groups * p->column_group;
    for (int64_t first = 0; first < all.blocks; first += LOWP_PACKED_BLOCKS) {
        int64_t blocks = all.blocks - first < LOWP_PACKED_BLOCKS ? all.blocks - first : LOWP_PACKED_BLOCKS;
        int64_t block = begin + first;
        for (int64_t k_tile = 0; k_tile < p->k_tiles; k_tile += PAIR_K_TILES) {
            int64_t k_tiles = p->k_tiles - k_tile < PAIR_K_TILES ? p->k_tiles - k_tile : PAIR_K_TILES;
            min_magnitude = lowp_pack_blocks(
                p, &p->right, LOWP_BF16_PAIRS, 1, matrix, block, block + blocks, k_tile, k_tiles, panels,
                    min_magnitude);
            for (int64_t number = 0; number < p->left.blocks; number++) {
                LowpRowBlock rows = lowp_row_block(p, work_item, number);
                pair_multiply_k_block(p, &rows, k_tile, panels, k_tiles, first, blocks, totals[number]);
            }
        }
    }
    return min_magnitude;
}

static LOWP_CODE void pair_pack_and_multiply(const LowpProduct *p, int64_t task) {
    __m512i min_magnitude = _mm512_set1_epi8(-1);
    int64_t first = task - p->pack_tasks;
    for (int64_t work_item = first * p->items_per_task; work_item < lowp_items_end(p, first); work_item++)
        min_magnitude = pair_pack_and_multiply_item(p, work_item, min_magnitude);
    p->min_magnitude[2 * task] = 0xFFFF;
    p->min_magnitude[2 * task + 1] = lowp_reduce_min(min_magnitude);
}
