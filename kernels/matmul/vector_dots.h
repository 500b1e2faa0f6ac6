/* Products by vectors of dot products of 32-bit words; `low_precision_matmul.h` includes this.

   Of bf16 (VDPBF16PS), the instruction adds the product of the high halves of two words to a sum, then that of the low
   halves, each by fused multiply-add to nearest, ties to even; so the first k of a pair lies in the high half. The
   order of additions of BF16_DOTS is that of `matmul.h`: DOTS_K_TILES k tiles of each sum are added from the first
   product to the last, from 0 on, and these sums in order. So products of bf16 have the bits of those of f32. That of
   BF16_CHAIN_DOTS is that of two chains (`low_precision_matmul.h`), which are half a k tile each.

   Of integers (VNNI), it adds two products of signed halves (VPDPWSSD), or four products of an unsigned byte on the
   left with a signed one on the right (VPDPBUSD), modulo 2 ** 32. Signed bytes on the left are packed plus 128; sums
   begin at minus 128 times the sum of their column. */

/* K_TILES: k tiles of a k block. ROWS: rows of a tile, at most, whose sums are in registers: a block of 32 rows has
   three tiles of almost equal height. CHAIN_ROWS: the same in the order of two chains, which takes three sums for each
   element: with more rows, those in memory take up to 2.1 times as long (Zen 4, 1024 x 1024 x 1024). DWORDS: 32-bit
   words of a row in a k tile. */
enum { DOTS_K_TILES = 8, DOTS_ROWS = 11, DOTS_CHAIN_ROWS = 4, DOTS_DWORDS = 16 };

/* Whether the processor has the instructions for bf16, or for integers. */
static int dots_are_available(int of_integers) {
    if (!may_use_extensions() || !has_avx512()) return 0;
    return of_integers ? __builtin_cpu_supports("avx512vnni") : __builtin_cpu_supports("avx512bf16");
}

/* Whether those for bf16 are faster than fused multiply-adds of f32: on Intel's processors they take four times as
   long as those. */
static int dots_of_bf16_are_fast(void) {
    return dots_are_available(0) && !__builtin_cpu_is("intel");
}

/* The partial sums of a block of rows with a block of columns. */
typedef struct {
    char rows[LOWP_BLOCK][128] __attribute__((aligned(64)));
} DotSums;

/* What the sums of a block of columns begin at, of signed bytes. */
typedef struct {
    __m512i vectors[2];
} DotStart;

/* A k block of a tile: `dwords` of each row. `sums` has the partial sums of earlier k blocks; the tile adds to them
   if `to` is NULL. Sums of signed bytes begin at `start`. At each k tile it prefetches `prefetches` cache lines from `next_left` on. */
typedef struct {
    const char *left, *right, *next_left;
    char *to, *sums;
    const DotStart *start;
    int64_t dwords, columns, row_bytes, has_partial_sums, rounds_to_bf16, prefetches;
} DotTile;

/* Add the products of two vectors of words to a sum. */
LOWP_INLINE __m512i dots_add(int kind, __m512i sum, __m512i left, __m512i right) {
    if (lowp_is_bf16(kind))
        return _mm512_castps_si512(_mm512_dpbf16_ps(_mm512_castsi512_ps(sum), (__m512bh)left, (__m512bh)right));
    return kind == LOWP_S16_DOTS ? _mm512_dpwssd_epi32(sum, left, right) : _mm512_dpbusd_epi32(sum, left, right);
}

/* Of two NaNs, the sum is the first: a compiler may swap the operands of an intrinsic function. */
LOWP_INLINE __m512i dots_add_sums(int kind, __m512i a, __m512i b) {
    __m512i sum;
    if (!lowp_is_bf16(kind)) return _mm512_add_epi32(a, b);
    __asm__("vaddps %2, %1, %0" : "=v"(sum) : "v"(a), "v"(b));
    return sum;
}

/* Store the sums of a row: some columns of the result. */
LOWP_INLINE void dots_store_row(char *to, int vectors, int64_t columns, int64_t rounds_to_bf16, const __m512i sums[2]) {
    uint32_t column_mask = columns >= LOWP_BLOCK ? ~0U : (1U << columns) - 1;
    if (rounds_to_bf16) {
        __m512bh bf16_row =
            _mm512_cvtne2ps_pbh(_mm512_castsi512_ps(sums[vectors - 1]), _mm512_castsi512_ps(sums[0]));
        if (column_mask == ~0U) _mm512_storeu_si512(to, (__m512i)bf16_row);
        else _mm512_mask_storeu_epi16(to, column_mask, (__m512i)bf16_row);
        return;
    }
    for (int vector = 0; vector < vectors; vector++) {
        __mmask16 mask = (__mmask16)(column_mask >> 16 * vector);
        if (mask == 0xFFFF) _mm512_storeu_si512(to + 64 * vector, sums[vector]);
        else _mm512_mask_storeu_epi32(to + 64 * vector, mask, sums[vector]);
    }
}

/* Add the products of a word of `rows` rows and `vectors` vectors of columns, which are constants, to sums. */
LOWP_INLINE void dots_add_dword(
    int kind, int rows, int vectors, const char *left, const char *right, __m512i sums[][2]) {
    __m512i columns[2];
    UNROLL for (int vector = 0; vector < vectors; vector++) columns[vector] = _mm512_load_si512(right + 1024 * vector);
    UNROLL for (int row = 0; row < rows; row++) {
        __m512i word = _mm512_set1_epi32(*(const int32_t *)(left + 64 * row));
        UNROLL for (int vector = 0; vector < vectors; vector++)
            sums[row][vector] = dots_add(kind, sums[row][vector], word, columns[vector]);
    }
}

/* Prefetch what is due at a k tile. */
LOWP_INLINE void dots_prefetch(DotTile *t) {
    for (int64_t line = 0; line < t->prefetches; line++, t->next_left += LOWP_TILE_ROW_BYTES)
        __builtin_prefetch(t->next_left, 0, 2);
}

/* Add the sums of a k block to the partial sums, and store them. */
LOWP_INLINE void dots_store(int kind, int rows, int vectors, const DotTile *t, __m512i sums[][2]) {
    UNROLL for (int row = 0; row < rows; row++) {
        UNROLL for (int vector = 0; vector < vectors; vector++) {
            char *sums_address = t->sums + 128 * row + 64 * vector;
            if (t->has_partial_sums)
                sums[row][vector] = dots_add_sums(kind, sums[row][vector], _mm512_load_si512(sums_address));
            if (!t->to) _mm512_store_si512(sums_address, sums[row][vector]);
        }
        if (t->to) dots_store_row(t->to + row * t->row_bytes, vectors, t->columns, t->rounds_to_bf16, sums[row]);
    }
}

/* Multiply a k block of `rows` rows and `vectors` vectors of columns; these and the kind are constants. */
LOWP_INLINE void dots_tile(int kind, int rows, int vectors, DotTile *t) {
    __m512i sums[DOTS_ROWS][2];
    const char *left = t->left, *right = t->right;
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int vector = 0; vector < vectors; vector++)
            sums[row][vector] = kind == LOWP_S8S8_DOTS ? t->start->vectors[vector] : _mm512_setzero_si512();
    for (int64_t dwords = t->dwords; dwords > 0; dwords -= DOTS_DWORDS) {
        dots_prefetch(t);
        for (int64_t dword = 0; dword < DOTS_DWORDS && dword < dwords; dword++)
            dots_add_dword(kind, rows, vectors, left + 4 * dword, right + 64 * dword, sums);
        left += LOWP_TILE_PAIR_BYTES, right += LOWP_TILE_PAIR_BYTES;
    }
    dots_store(kind, rows, vectors, t, sums);
}

/* The sums of the products of a chain. */
LOWP_INLINE void dots_add_chain(
    int rows, int vectors, const char *left, const char *right, __m512i sums[DOTS_CHAIN_ROWS][2]) {
    enum { CHAIN_DWORDS = LOWP_CHAIN / 2 };
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int vector = 0; vector < vectors; vector++) sums[row][vector] = _mm512_setzero_si512();
    UNROLL for (int dword = 0; dword < CHAIN_DWORDS; dword++)
        dots_add_dword(LOWP_BF16_CHAIN_DOTS, rows, vectors, left + 4 * dword, right + 64 * dword, sums);
}

/* Add the sums of some rows of two tiles. */
LOWP_INLINE void dots_add_rows(int rows, int vectors, __m512i a[][2], __m512i b[][2], __m512i to[][2]) {
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int vector = 0; vector < vectors; vector++)
            to[row][vector] = dots_add_sums(LOWP_BF16_CHAIN_DOTS, a[row][vector], b[row][vector]);
}

/* `dots_tile` of bf16 in the order of two chains, which are half a k tile each. The sums of both chains and the totals
   are in registers. A last chain is as long as the others: the products of padding change no bit. */
LOWP_INLINE void dots_chain_tile(int rows, int vectors, DotTile *t) {
    __m512i sums[2][DOTS_CHAIN_ROWS][2], totals[DOTS_CHAIN_ROWS][2];
    const char *left = t->left, *right = t->right;
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int vector = 0; vector < vectors; vector++) totals[row][vector] = _mm512_setzero_si512();
    for (int64_t dwords = t->dwords; dwords > 0; dwords -= DOTS_DWORDS) {
        dots_prefetch(t);
        dots_add_chain(rows, vectors, left, right, sums[0]);
        if (dwords > DOTS_DWORDS / 2) {
            dots_add_chain(rows, vectors, left + 2 * DOTS_DWORDS, right + 32 * DOTS_DWORDS, sums[1]);
            dots_add_rows(rows, vectors, sums[1], sums[0], sums[0]);
            dots_add_rows(rows, vectors, sums[0], totals, totals);
        } else dots_add_rows(rows, vectors, totals, sums[0], totals);
        left += LOWP_TILE_PAIR_BYTES, right += LOWP_TILE_PAIR_BYTES;
    }
    dots_store(LOWP_BF16_CHAIN_DOTS, rows, vectors, t, totals);
}

/* Dispatch to the tile of this size. */
LOWP_INLINE void dispatch_dots_size(int kind, int64_t rows, DotTile *t) {
    switch (rows * 2 + (t->columns > 16)) {
#define DOTS_TILE(rows)                                           \
    case (rows) * 2: dots_tile(kind, rows, 1, t); return;         \
    case (rows) * 2 + 1: dots_tile(kind, rows, 2, t); return
        DOTS_TILE(1);
        DOTS_TILE(2);
        DOTS_TILE(3);
        DOTS_TILE(4);
        DOTS_TILE(5);
        DOTS_TILE(6);
        DOTS_TILE(7);
        DOTS_TILE(8);
        DOTS_TILE(9);
        DOTS_TILE(10);
        DOTS_TILE(11);
#undef DOTS_TILE
    }
}

LOWP_INLINE void dispatch_dots_chain_size(int64_t rows, DotTile *t) {
    switch (rows * 2 + (t->columns > 16)) {
#define DOTS_TILE(rows)                                           \
    case (rows) * 2: dots_chain_tile(rows, 1, t); return;         \
    case (rows) * 2 + 1: dots_chain_tile(rows, 2, t); return
        DOTS_TILE(1);
        DOTS_TILE(2);
        DOTS_TILE(3);
        DOTS_TILE(4);
#undef DOTS_TILE
    }
}

/* Dispatch to the tile of this kind and size. */
static LOWP_CODE void dispatch_dots(int64_t kind, int64_t rows, DotTile *t) {
    switch (kind) {
    case LOWP_S8S8_DOTS: dispatch_dots_size(LOWP_S8S8_DOTS, rows, t); break;
    case LOWP_U8S8_DOTS: dispatch_dots_size(LOWP_U8S8_DOTS, rows, t); break;
    case LOWP_S16_DOTS: dispatch_dots_size(LOWP_S16_DOTS, rows, t); break;
    case LOWP_BF16_CHAIN_DOTS: dispatch_dots_chain_size(rows, t); break;
    default: dispatch_dots_size(LOWP_BF16_DOTS, rows, t);
    }
}

/* Where the sums of some blocks of columns of signed bytes begin: minus 128 times the sums of `k_tiles`, of panels of
   as many. What pads the left operand up to whole k tiles is multiplied by zeros. */
static LOWP_CODE void dots_find_starts(const char *right, int64_t blocks, int64_t k_tiles, DotStart *starts) {
    for (int64_t block = 0; block < blocks; block++) {
        __m512i sums[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
        for (int64_t k_tile = 0; k_tile < k_tiles; k_tile++, right += LOWP_TILE_PAIR_BYTES)
            for (int64_t dword = 0; dword < DOTS_DWORDS; dword++)
                for (int vector = 0; vector < 2; vector++)
                    sums[vector] = _mm512_dpbusd_epi32(
                        sums[vector], _mm512_set1_epi8(-128), _mm512_load_si512(right + 1024 * vector + 64 * dword));
        for (int vector = 0; vector < 2; vector++)
            starts[block].vectors[vector] = _mm512_sub_epi32(_mm512_setzero_si512(), sums[vector]);
    }
}

/* Multiply a k block of a block of rows with some blocks of columns, from block `first` of `all` on; `right` has
   panels of `right_k_tiles`; `starts` has an element for each block, or is NULL: of zeros. Meanwhile the k block is prefetched that follows in the panels of the left operand, and
   that will be read next. */
static LOWP_CODE void dots_multiply_k_block(
    const LowpProduct *p, const LowpRowBlock *all, int64_t k_tile, const char *right, int64_t right_k_tiles,
    int64_t first, int64_t blocks, const DotStart *starts, DotSums *totals) {
    static const DotStart zeros;
    int64_t itemsize = p->rounds_to_bf16 ? 2 : 4, rows = all->rows < LOWP_BLOCK ? all->rows : LOWP_BLOCK;
    int64_t max_rows = p->kind == LOWP_BF16_CHAIN_DOTS ? DOTS_CHAIN_ROWS : DOTS_ROWS;
    int64_t strips = (rows + max_rows - 1) / max_rows;
    int is_last = k_tile + DOTS_K_TILES >= p->k_tiles;
    DotTile tile = {.row_bytes = p->right.outer_size * itemsize, .rounds_to_bf16 = p->rounds_to_bf16,
        .has_partial_sums = k_tile > 0, .next_left = all->left + (k_tile + DOTS_K_TILES) * LOWP_TILE_PAIR_BYTES};
    int64_t per_dword = 4 / lowp_itemsize(p->kind), dwords = (p->k_size + per_dword - 1) / per_dword;
    tile.prefetches = (LOWP_TILE_PAIR_BYTES / LOWP_TILE_ROW_BYTES + strips * blocks - 1) / (strips * blocks);
    tile.dwords = is_last ? dwords - k_tile * DOTS_DWORDS : DOTS_K_TILES * DOTS_DWORDS;
    for (int64_t block = 0; block < blocks; block++) {
        tile.columns = all->columns - (first + block) * LOWP_BLOCK;
        tile.start = starts ? &starts[block] : &zeros;
        tile.right = right + block * right_k_tiles * LOWP_TILE_PAIR_BYTES;
        for (int64_t strip = 0; strip < strips; strip++) {
            int64_t row = rows * strip / strips, height = rows * (strip + 1) / strips - row;
            tile.left = all->left + k_tile * LOWP_TILE_PAIR_BYTES + 64 * row;
            tile.sums = totals[block % LOWP_MAX_GROUP].rows[row];
            tile.to = is_last ? all->to + row * tile.row_bytes + (first + block) * LOWP_BLOCK * itemsize : NULL;
            dispatch_dots(p->kind, height, &tile);
        }
    }
}

/* K block by k block: that of a block of rows stays in the L1 cache. */
static void dots_multiply(const LowpProduct *p, int64_t task) {
    DotSums totals[LOWP_MAX_GROUP];
    DotStart starts[LOWP_MAX_BLOCKS];
    for (int64_t work_item = task * p->items_per_task; work_item < lowp_items_end(p, task); work_item++)
        for (int64_t number = 0; number < p->row_group; number++) {
            LowpRowBlock all = lowp_row_block(p, work_item, number);
            if (p->kind == LOWP_S8S8_DOTS && !number) dots_find_starts(all.right, all.blocks, p->k_tiles, starts);
            for (int64_t k_tile = 0; all.rows > 0 && k_tile < p->k_tiles; k_tile += DOTS_K_TILES)
                dots_multiply_k_block(
                    p, &all, k_tile, all.right + k_tile * LOWP_TILE_PAIR_BYTES, p->k_tiles, 0, all.blocks,
                    k_tile ? NULL : starts, totals);
        }
}

/* Multiply the columns of a work item with all rows, of which there are few: some columns of a k block are packed
   and multiplied at a time. */
LOWP_INLINE __m512i dots_pack_and_multiply_item(
    const LowpProduct *p, int kind, int64_t work_item, __m512i min_magnitude) {
    DotSums totals[DOTS_MAX_FUSED_BLOCKS][LOWP_PACKED_BLOCKS];
    DotStart starts[LOWP_PACKED_BLOCKS];
    char panels[LOWP_PACKED_BLOCKS * DOTS_K_TILES * LOWP_TILE_PAIR_BYTES] __attribute__((aligned(64)));
    LowpRowBlock all = lowp_row_block(p, work_item, 0);
    int64_t matrix = work_item / p->column_groups, begin = work_item % p->column_groups * p->column_group;
    for (int64_t first = 0; first < all.blocks; first += LOWP_PACKED_BLOCKS) {
        int64_t blocks = all.blocks - first < LOWP_PACKED_BLOCKS ? all.blocks - first : LOWP_PACKED_BLOCKS;
        int64_t block = begin + first;
        for (int64_t k_tile = 0; k_tile < p->k_tiles; k_tile += DOTS_K_TILES) {
            int64_t k_tiles = p->k_tiles - k_tile < DOTS_K_TILES ? p->k_tiles - k_tile : DOTS_K_TILES;
            min_magnitude = lowp_pack_blocks(
                p, &p->right, kind, 1, matrix, block, block + blocks, k_tile, k_tiles, panels, min_magnitude);
            if (p->kind == LOWP_S8S8_DOTS) dots_find_starts(panels, blocks, k_tiles, starts);
            for (int64_t number = 0; number < p->left.blocks; number++) {
                LowpRowBlock rows = lowp_row_block(p, work_item, number);
                dots_multiply_k_block(p, &rows, k_tile, panels, k_tiles, first, blocks, starts, totals[number]);
            }
        }
    }
    return min_magnitude;
}

LOWP_INLINE void dots_pack_and_multiply_items(const LowpProduct *p, int kind, int64_t task) {
    __m512i min_magnitude = _mm512_set1_epi8(-1);
    int64_t first = task - p->pack_tasks;
    for (int64_t work_item = first * p->items_per_task; work_item < lowp_items_end(p, first); work_item++)
        min_magnitude = dots_pack_and_multiply_item(p, kind, work_item, min_magnitude);
    p->min_magnitude[2 * task] = 0xFFFF;
    p->min_magnitude[2 * task + 1] = lowp_reduce_min(min_magnitude);
}

static LOWP_CODE void dots_pack_and_multiply(const LowpProduct *p, int64_t task) {
    switch (p->kind) {
    case LOWP_BF16_DOTS:
    case LOWP_BF16_CHAIN_DOTS: dots_pack_and_multiply_items(p, LOWP_BF16_DOTS, task); break;
    case LOWP_S16_DOTS: dots_pack_and_multiply_items(p, LOWP_S16_DOTS, task); break;
    default: dots_pack_and_multiply_items(p, LOWP_U8S8_DOTS, task);
    }
}
