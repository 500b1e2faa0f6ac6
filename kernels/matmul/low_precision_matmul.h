/* Products of matrices of bytes and of bf16 by instructions that add up several products: the tasks, and which of these
   instructions there are.

   A panel holds a block of 32 lines, which are rows of the left matrix or columns of the right one: for each
   step along the terms two tiles of 16 lines and 64 bytes a line. What multiplies adds up the products of a pair of
   tiles, four bytes of a line at a time. Lines and terms that do not fill a tile are zeros.

   There are two ways. `matrix_unit.h` has that of the processor's matrix unit (Intel's AMX), `bfloat16_pairs.h` that of
   vectors of pairs of bf16 (VDPBF16PS); both state the order in which they add. Both take subnormal numbers as zeros:
   `least` tells whether there can be any. */

#ifndef NIMBLEHLO_NARROW_PRODUCT_H
#define NIMBLEHLO_NARROW_PRODUCT_H

#include <stdint.h>

enum { NARROW_LINES = 32, NARROW_STEP_BYTES = 64, NARROW_PANEL_STEP = 2048, NARROW_PACKED_BLOCKS = 4 };

/* The sums of a block of rows with a block of columns, in bytes; blocks of columns of a unit of work of several parts,
   at most. */
enum { NARROW_BLOCK_BYTES = 4096, NARROW_GROUP = 16 };

/* What is multiplied, the last by vectors, all else by the matrix unit. */
enum {
    NARROW_SIGNED_SIGNED,
    NARROW_SIGNED_UNSIGNED,
    NARROW_UNSIGNED_SIGNED,
    NARROW_UNSIGNED_UNSIGNED,
    NARROW_BFLOAT16,
    NARROW_PAIRS
};

/* One operand, as a stack of matrices of lines. Steps are in bytes. */
typedef struct {
    const char *address;
    int64_t matrix_step, line_step, term_step;
    int64_t lines, blocks;
    char *panels;
} NarrowSide;

/* What tasks read. The first `pack_tasks` tasks pack `pack_size` units each: NARROW_PACKED_BLOCKS blocks of one matrix,
   those of the left operand first. The others, which must not be taken before them, wait until all is packed, and
   multiply `size` units each: `row_group` blocks of rows with `column_group` blocks of columns. `is_late`: whether they
   pack columns, each of which one unit multiplies. `rounds`: whether results are bf16 instead of f32. */
typedef struct {
    NarrowSide left, right;
    char *result;
    int64_t batch, terms, steps, kind, rounds, is_late;
    int64_t pack_tasks, pack_units, pack_size;
    int64_t units, size, row_group, row_groups, column_group, column_groups;
    /* Of each of the tasks that pack and operand, the least absolute value of bf16 but zeros: its bits less one. */
    uint16_t *least;
    int64_t least_tasks, packed;
} NarrowProduct;

/* Bytes of an element of the operands. */
static inline int narrow_item(int64_t kind) { return kind == NARROW_BFLOAT16 || kind == NARROW_PAIRS ? 2 : 1; }

/* Whether no subnormal number can occur: none is an operand, and all products are multiples of 2 ** -126. The field
   of a number's exponent is the exponent plus 127, and a number is a multiple of 2 ** (exponent - 7). */
static int narrow_keeps_all(const NarrowProduct *p) {
    int fields[2];
    if (narrow_item(p->kind) == 1) return 1;
    for (int side = 0; side < 2; side++) {
        int least = 0xFFFF;
        for (int64_t task = 0; task < p->least_tasks; task++)
            least = p->least[2 * task + side] < least ? p->least[2 * task + side] : least;
        fields[side] = (least + 1) >> 7;
    }
    return fields[0] && fields[1] && fields[0] + fields[1] >= 2 * (127 + 7) - 126;
}

#if defined(__x86_64__) && (defined(__clang__) ? __clang_major__ >= 12 : defined(__GNUC__) && __GNUC__ >= 11)

#include <immintrin.h>
#include <string.h>

#include "simd/unroll.h"

#define NARROW_TARGET "avx512f,avx512bw,avx512vl,avx512bf16"
#define NARROW_CODE __attribute__((target(NARROW_TARGET)))
#define NARROW_INLINE static inline NARROW_CODE __attribute__((always_inline))

/* Exchange lines and words of 16 lines of 16 words. */
NARROW_INLINE void narrow_transpose(__m512i v[16]) {
    __m512i w[16];
    for (int i = 0; i < 16; i += 2) {
        w[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
        w[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        v[i] = _mm512_unpacklo_epi64(w[i], w[i + 2]);
        v[i + 1] = _mm512_unpackhi_epi64(w[i], w[i + 2]);
        v[i + 2] = _mm512_unpacklo_epi64(w[i + 1], w[i + 3]);
        v[i + 3] = _mm512_unpackhi_epi64(w[i + 1], w[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        w[i] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0x88);
        w[i + 4] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0xDD);
        w[i + 8] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0x88);
        w[i + 12] = _mm512_shuffle_i32x4(v[i + 8], v[i + 12], 0xDD);
    }
    for (int i = 0; i < 8; i++) {
        v[i] = _mm512_shuffle_i32x4(w[i], w[i + 8], 0x88);
        v[i + 8] = _mm512_shuffle_i32x4(w[i], w[i + 8], 0xDD);
    }
}

/* A word for each of up to 16 lines, of the terms that lie side by side in it. */
NARROW_INLINE __m512i narrow_words(const char *at, int64_t term_step, int item, int64_t terms, __mmask16 lines) {
    __m512i words = _mm512_setzero_si512();
    for (int part = 0; part < 4 / item && part < terms; part++, at += term_step) {
        __m512i one = item == 2 ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lines, at))
                                : _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lines, at));
        words = _mm512_or_si512(words, _mm512_sll_epi32(one, _mm_cvtsi32_si128(8 * item * part)));
    }
    return words;
}

/* Write a row of a tile, of pairs the first term to the high half. Returns the least of `least` and of the row. */
NARROW_INLINE __m512i narrow_put(__m512i row, int kind, char *to, __m512i least) {
    if (kind == NARROW_PAIRS) row = _mm512_rol_epi32(row, 16);
    _mm512_storeu_si512(to, row);
    if (narrow_item(kind) == 1) return least;
    __m512i size = _mm512_and_si512(row, _mm512_set1_epi16(0x7FFF));
    return _mm512_min_epu16(least, _mm512_sub_epi16(size, _mm512_set1_epi16(1)));
}

/* Write one tile of up to 16 lines and 64 bytes of terms, of a line each row or, of the right operand, of a
   word each row. Returns the least of `least` and of the tile. */
NARROW_INLINE __m512i narrow_pack_tile(
    const NarrowSide *side, const char *at, int kind, int is_right, int64_t lines, int64_t terms, char *to,
    __m512i least) {
    __m512i v[16];
    int item = narrow_item(kind);
    if (side->term_step == item) {
        __mmask64 bytes = terms * item >= 64 ? ~0ULL : (1ULL << terms * item) - 1;
        for (int line = 0; line < 16; line++)
            v[line] = line < lines ? _mm512_maskz_loadu_epi8(bytes, at + line * side->line_step)
                                   : _mm512_setzero_si512();
    } else {
        char lines_of_terms[16][64] = {{0}};
        for (int line = 0; line < 16 && line < lines; line++)
            for (int term = 0; term < 64 / item && term < terms; term++)
                memcpy(lines_of_terms[line] + term * item, at + line * side->line_step + term * side->term_step,
                       item);
        for (int line = 0; line < 16; line++) v[line] = _mm512_loadu_si512(lines_of_terms[line]);
    }
    if (is_right) narrow_transpose(v);
    for (int row = 0; row < 16; row++) least = narrow_put(v[row], kind, to + 64 * row, least);
    return least;
}

/* Write the tiles of a step, of `lines` that lie side by side, a word each row: what lies side by side is read at a
   time. Blocks are `block_bytes` apart. */
NARROW_INLINE __m512i narrow_pack_words(
    const NarrowSide *side, const char *at, int kind, int is_right, int64_t lines, int64_t terms, char *to,
    int64_t block_bytes, __m512i least) {
    int item = narrow_item(kind);
    int64_t word_step = 4 / item * side->term_step;
    for (int64_t word = 0; word < 16; word++)
        for (int64_t line = 0; line < lines; line += 16) {
            int64_t left = lines - line;
            __m512i row = narrow_words(
                at + word * word_step + line * item, side->term_step, item, terms - word * (4 / item),
                (__mmask16)(left >= 16 ? 0xFFFF : (1 << left) - 1));
            char *tile = to + line / NARROW_LINES * block_bytes + line % NARROW_LINES * 64;
            least = narrow_put(row, kind, tile + 64 * word, least);
        }
    for (int64_t line = 0; line < lines && !is_right; line += 16) {
        char *tile = to + line / NARROW_LINES * block_bytes + line % NARROW_LINES * 64;
        __m512i v[16];
        for (int row = 0; row < 16; row++) v[row] = _mm512_load_si512(tile + 64 * row);
        narrow_transpose(v);
        for (int row = 0; row < 16; row++) _mm512_store_si512(tile + 64 * row, v[row]);
    }
    return least;
}

/* Pack some steps of some blocks of one matrix `to` panels of so many steps. */
NARROW_INLINE __m512i narrow_pack_blocks(
    const NarrowProduct *p, const NarrowSide *side, int kind, int is_right, int64_t matrix, int64_t first, int64_t last,
    int64_t first_step, int64_t steps, char *to, __m512i least) {
    int64_t item = narrow_item(kind), per = NARROW_STEP_BYTES / item, block_bytes = steps * NARROW_PANEL_STEP;
    int64_t end = last * NARROW_LINES < side->lines ? last * NARROW_LINES : side->lines;
    const char *lines = side->address + matrix * side->matrix_step;
    int is_by_words = side->line_step == item && side->term_step != item;
    /* Lines that are contiguous are read side by side, terms that are contiguous block by block. */
    int64_t together = is_by_words ? end - first * NARROW_LINES : 16;
    for (int64_t line = first * NARROW_LINES; line < end; line += together)
        for (int64_t step = 0; step < steps; step++) {
            int64_t term = (first_step + step) * per, place = line - first * NARROW_LINES;
            const char *at = lines + line * side->line_step + term * side->term_step;
            char *tile = to + place / NARROW_LINES * block_bytes + step * NARROW_PANEL_STEP + place % NARROW_LINES * 64;
            if (is_by_words)
                least = narrow_pack_words(
                    side, at, kind, is_right, end - line, p->terms - term, tile, block_bytes, least);
            else
                least = narrow_pack_tile(side, at, kind, is_right, end - line, p->terms - term, tile, least);
        }
    return least;
}

NARROW_INLINE uint16_t narrow_lowest(__m512i values) {
    uint16_t items[32], lowest = 0xFFFF;
    _mm512_storeu_si512(items, values);
    for (int i = 0; i < 32; i++) lowest = items[i] < lowest ? items[i] : lowest;
    return lowest;
}

NARROW_INLINE __m512i narrow_pack_side(
    const NarrowProduct *p, const NarrowSide *side, int kind, int is_right, int64_t unit, __m512i least) {
    int64_t groups = (side->blocks + NARROW_PACKED_BLOCKS - 1) / NARROW_PACKED_BLOCKS;
    int64_t matrix = unit / groups, first = unit % groups * NARROW_PACKED_BLOCKS;
    int64_t last = first + NARROW_PACKED_BLOCKS < side->blocks ? first + NARROW_PACKED_BLOCKS : side->blocks;
    char *to = side->panels + (matrix * side->blocks + first) * p->steps * NARROW_PANEL_STEP;
    return narrow_pack_blocks(p, side, kind, is_right, matrix, first, last, 0, p->steps, to, least);
}

NARROW_INLINE void narrow_pack_all(const NarrowProduct *p, int64_t task, int kind) {
    __m512i least[2] = {_mm512_set1_epi8(-1), _mm512_set1_epi8(-1)};
    int64_t left_groups = (p->left.blocks + NARROW_PACKED_BLOCKS - 1) / NARROW_PACKED_BLOCKS;
    int64_t end = (task + 1) * p->pack_size < p->pack_units ? (task + 1) * p->pack_size : p->pack_units;
    for (int64_t unit = task * p->pack_size; unit < end; unit++) {
        int64_t right = unit - p->batch * left_groups;
        if (right < 0) least[0] = narrow_pack_side(p, &p->left, kind, 0, unit, least[0]);
        else least[1] = narrow_pack_side(p, &p->right, kind, 1, right, least[1]);
    }
    for (int i = 0; i < 2; i++) p->least[2 * task + i] = narrow_lowest(least[i]);
}

static NARROW_CODE void narrow_pack(const NarrowProduct *p, int64_t task) {
    switch (p->kind) {
    case NARROW_BFLOAT16: narrow_pack_all(p, task, NARROW_BFLOAT16); break;
    case NARROW_PAIRS: narrow_pack_all(p, task, NARROW_PAIRS); break;
    default: narrow_pack_all(p, task, NARROW_SIGNED_SIGNED);
    }
}

/* A block of rows that is multiplied with some blocks of columns: their first panels, where the result begins, and how
   many rows and columns there are from there on. */
typedef struct {
    const char *left, *right;
    char *to;
    int64_t rows, columns, blocks;
} NarrowRows;

static int64_t narrow_units_end(const NarrowProduct *p, int64_t task) {
    return (task + 1) * p->size < p->units ? (task + 1) * p->size : p->units;
}

/* Block `number` of the rows of a unit of work. */
static NarrowRows narrow_rows(const NarrowProduct *p, int64_t unit, int64_t number) {
    int64_t groups = p->row_groups * p->column_groups, panel = p->steps * NARROW_PANEL_STEP;
    int64_t matrix = unit / groups, column = unit % groups / p->row_groups * p->column_group;
    int64_t row = unit % p->row_groups * p->row_group + number, item = p->rounds ? 2 : 4;
    int64_t place = (matrix * p->left.lines + row * NARROW_LINES) * p->right.lines + column * NARROW_LINES;
    int64_t blocks = p->right.blocks - column;
    return (NarrowRows){
        .left = p->left.panels + (matrix * p->left.blocks + row) * panel,
        .right = p->right.panels + (matrix * p->right.blocks + column) * panel,
        .to = p->result + place * item,
        .rows = p->left.lines - row * NARROW_LINES,
        .columns = p->right.lines - column * NARROW_LINES,
        .blocks = blocks < p->column_group ? blocks : p->column_group,
    };
}

#include "bfloat16_pairs.h"
#include "matrix_unit.h"

static void narrow_task(int64_t task, void *product) {
    NarrowProduct *p = product;
    if (task < p->pack_tasks) {
        narrow_pack(p, task);
        __atomic_fetch_add(&p->packed, 1, __ATOMIC_RELEASE);
        return;
    }
    while (__atomic_load_n(&p->packed, __ATOMIC_ACQUIRE) < p->pack_tasks) _mm_pause();
    if (p->is_late) pair_multiply_late(p, task);
    else if (!narrow_keeps_all(p)) return;
    else if (p->kind == NARROW_PAIRS) pair_multiply(p, task - p->pack_tasks);
    else unit_multiply(p, task - p->pack_tasks);
}

#else

static int unit_is_available(void) { return 0; }
static int pair_is_available(void) { return 0; }
static int pair_is_quick(void) { return 0; }
static void narrow_task(int64_t task, void *product) { (void)task, (void)product; }

#endif
#endif
