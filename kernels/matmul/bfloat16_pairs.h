/* Products of bf16 by vectors of pairs (VDPBF16PS); `low_precision_matmul.h` includes this.

   The instruction adds the product of the high halves of two words to a sum, then that of the low halves, each by
   fused multiply-add to nearest, ties to even; so the first of two terms lies in the high half. The order is that of
   `matmul.h`: PAIR_STEPS steps of each element's sum at a time are added from the first term to the last, from
   0 on, and these sums one after another. So products of bf16 have the bits of those of f32. */

/* Steps of a part; rows of a tile, whose sums registers hold; words of a line in a step; most blocks of rows beside
   which columns are packed late. */
enum { PAIR_STEPS = 8, PAIR_ROWS = 8, PAIR_WORDS = 16, PAIR_LATE_BLOCKS = 4 };

static int pair_is_available(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bf16");
}

/* Whether it multiplies more terms than fused multiply-adds of f32 do: not where it takes four times as long as those,
   as in Intel's vector units. */
static int pair_is_quick(void) {
    return pair_is_available() && !__builtin_cpu_is("intel");
}

/* The sums of the parts so far of a block of rows with a block of columns. */
typedef struct {
    char rows[NARROW_LINES][128] __attribute__((aligned(64)));
} PairSums;

/* A part of a tile: `words` of each line. `before` has the sums of the parts before, if there were any; NULL `to`: the
   sums go there as well. */
typedef struct {
    const char *left, *right;
    char *to, *sums;
    int64_t words, columns, row_bytes, has_before, rounds;
} PairTile;

/* Write the sums of a row: some columns of the result. */
NARROW_INLINE void pair_leave(char *to, int vectors, int64_t columns, int64_t rounds, const __m512 sums[2]) {
    uint32_t inside = columns >= NARROW_LINES ? ~0U : (1U << columns) - 1;
    if (rounds) {
        __m512bh both = _mm512_cvtne2ps_pbh(vectors == 2 ? sums[1] : sums[0], sums[0]);
        if (inside == ~0U) _mm512_storeu_si512(to, (__m512i)both);
        else _mm512_mask_storeu_epi16(to, inside, (__m512i)both);
        return;
    }
    for (int vector = 0; vector < vectors; vector++) {
        __mmask16 mask = (__mmask16)(inside >> 16 * vector);
        if (mask == 0xFFFF) _mm512_storeu_ps(to + 64 * vector, sums[vector]);
        else _mm512_mask_storeu_ps(to + 64 * vector, mask, sums[vector]);
    }
}

/* Add up a part for `rows` rows and `vectors` vectors of columns, both constants. */
NARROW_INLINE void pair_tile(int rows, int vectors, const PairTile *t) {
    __m512 sums[PAIR_ROWS][2];
    const char *left = t->left, *right = t->right;
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int vector = 0; vector < vectors; vector++) sums[row][vector] = _mm512_setzero_ps();
    for (int64_t words = t->words; words > 0; words -= PAIR_WORDS) {
        int64_t here = words < PAIR_WORDS ? words : PAIR_WORDS;
        for (int64_t word = 0; word < here; word++) {
            __m512bh columns[2];
            UNROLL for (int vector = 0; vector < vectors; vector++)
                columns[vector] = (__m512bh)_mm512_load_si512(right + 1024 * vector + 64 * word);
            UNROLL for (int row = 0; row < rows; row++) {
                __m512bh pair = (__m512bh)_mm512_set1_epi32(*(const int32_t *)(left + 64 * row + 4 * word));
                UNROLL for (int vector = 0; vector < vectors; vector++)
                    sums[row][vector] = _mm512_dpbf16_ps(sums[row][vector], pair, columns[vector]);
            }
        }
        left += NARROW_PANEL_STEP, right += NARROW_PANEL_STEP;
    }
    UNROLL for (int row = 0; row < rows; row++) {
        UNROLL for (int vector = 0; vector < vectors; vector++) {
            char *place = t->sums + 128 * row + 64 * vector;
            if (t->has_before) sums[row][vector] = _mm512_add_ps(_mm512_load_ps(place), sums[row][vector]);
            if (!t->to) _mm512_store_ps(place, sums[row][vector]);
        }
        if (t->to) pair_leave(t->to + row * t->row_bytes, vectors, t->columns, t->rounds, sums[row]);
    }
}

/* The tile of some rows and columns. */
static NARROW_CODE void pair_any_tile(int64_t rows, const PairTile *t) {
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

/* Multiply a part of a block of rows with that of some blocks of columns, from block `first` of `all` on; `right` are
   panels of so many steps. */
static NARROW_CODE void pair_part(
    const NarrowProduct *p, const NarrowRows *all, int64_t step, const char *right, int64_t right_steps, int64_t first,
    int64_t blocks, PairSums *totals) {
    int64_t item = p->rounds ? 2 : 4, rows = all->rows < NARROW_LINES ? all->rows : NARROW_LINES;
    int is_last = step + PAIR_STEPS >= p->steps;
    PairTile tile = {.row_bytes = p->right.lines * item, .rounds = p->rounds, .has_before = step > 0};
    tile.words = is_last ? (p->terms + 1) / 2 - step * PAIR_WORDS : PAIR_STEPS * PAIR_WORDS;
    for (int64_t block = 0; block < blocks; block++) {
        tile.columns = all->columns - (first + block) * NARROW_LINES;
        tile.right = right + block * right_steps * NARROW_PANEL_STEP;
        for (int64_t row = 0; row < rows; row += PAIR_ROWS) {
            tile.left = all->left + step * NARROW_PANEL_STEP + 64 * row;
            tile.sums = totals[block % NARROW_GROUP].rows[row];
            tile.to = is_last ? all->to + row * tile.row_bytes + (first + block) * NARROW_LINES * item : NULL;
            pair_any_tile(rows - row, &tile);
        }
    }
}

/* Part by part: that of a block of rows stays in the first cache. */
static void pair_multiply(const NarrowProduct *p, int64_t task) {
    PairSums totals[NARROW_GROUP];
    for (int64_t unit = task * p->size; unit < narrow_units_end(p, task); unit++)
        for (int64_t number = 0; number < p->row_group; number++) {
            NarrowRows all = narrow_rows(p, unit, number);
            for (int64_t step = 0; all.rows > 0 && step < p->steps; step += PAIR_STEPS)
                pair_part(p, &all, step, all.right + step * NARROW_PANEL_STEP, p->steps, 0, all.blocks, totals);
        }
}

/* The columns of a unit with all rows, which are few: some columns of a part are packed and multiplied at a time. */
NARROW_INLINE __m512i pair_unit_late(const NarrowProduct *p, int64_t unit, __m512i least) {
    PairSums totals[PAIR_LATE_BLOCKS][NARROW_PACKED_BLOCKS];
    char panels[NARROW_PACKED_BLOCKS * PAIR_STEPS * NARROW_PANEL_STEP] __attribute__((aligned(64)));
    NarrowRows all = narrow_rows(p, unit, 0);
    int64_t matrix = unit / p->column_groups, begin = unit % p->column_groups * p->column_group;
    for (int64_t first = 0; first < all.blocks; first += NARROW_PACKED_BLOCKS) {
        int64_t blocks = all.blocks - first < NARROW_PACKED_BLOCKS ? all.blocks - first : NARROW_PACKED_BLOCKS;
        int64_t block = begin + first;
        for (int64_t step = 0; step < p->steps; step += PAIR_STEPS) {
            int64_t steps = p->steps - step < PAIR_STEPS ? p->steps - step : PAIR_STEPS;
            least = narrow_pack_blocks(
                p, &p->right, NARROW_PAIRS, 1, matrix, block, block + blocks, step, steps, panels, least);
            for (int64_t number = 0; number < p->left.blocks; number++) {
                NarrowRows rows = narrow_rows(p, unit, number);
                pair_part(p, &rows, step, panels, steps, first, blocks, totals[number]);
            }
        }
    }
    return least;
}

static NARROW_CODE void pair_multiply_late(const NarrowProduct *p, int64_t task) {
    __m512i least = _mm512_set1_epi8(-1);
    int64_t first = task - p->pack_tasks;
    for (int64_t unit = first * p->size; unit < narrow_units_end(p, first); unit++)
        least = pair_unit_late(p, unit, least);
    p->least[2 * task] = 0xFFFF;
    p->least[2 * task + 1] = narrow_lowest(least);
}
