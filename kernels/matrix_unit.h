/* Products of matrices by the processor's matrix unit (Intel's AMX): the tasks, and whether there is one.

   A panel holds a block of 32 lines, which are rows of the left matrix or columns of the right one: for each
   step along the terms two tiles of 16 lines and 64 bytes a line. The unit adds up the products of a pair of
   tiles, four bytes of a line at a time. Lines and terms that do not fill a tile are zeros.

   The order of floats. In each step of 32 terms the products with even numbers are added from the first to the
   last, as are those with odd numbers; the sum of both is added to the sum of the part, which has 16 steps. The
   sums of parts are added in order. Each addition is rounded to f32, to nearest, ties to even. The unit takes
   subnormal numbers as zeros: `least` tells whether there can be any. */

#ifndef NIMBLEHLO_MATRIX_UNIT_H
#define NIMBLEHLO_MATRIX_UNIT_H

#include <stdint.h>

enum { UNIT_LINES = 32, UNIT_STEP_BYTES = 64, UNIT_PANEL_STEP = 2048, UNIT_PACKED_BLOCKS = 4 };

/* Steps of a part: it stays in the first cache, and sums of few terms have small errors. Blocks of columns of a unit
   of work of several parts, at most. */
enum { UNIT_PART = 16, UNIT_GROUP = 16, UNIT_BLOCK_BYTES = 4096 };

enum { UNIT_SIGNED_SIGNED, UNIT_SIGNED_UNSIGNED, UNIT_UNSIGNED_SIGNED, UNIT_UNSIGNED_UNSIGNED, UNIT_BFLOAT16 };

/* One operand, as a stack of matrices of lines. Steps are in bytes. */
typedef struct {
    const char *address;
    int64_t matrix_step, line_step, term_step;
    int64_t lines, blocks;
    char *panels;
} UnitSide;

/* What tasks read. The first `pack_tasks` tasks pack `pack_size` units each: UNIT_PACKED_BLOCKS blocks of one matrix,
   those of the left operand first. The others, which must not be taken before them, wait until all is packed, and
   multiply `size` units each: `row_group` blocks of rows with `column_group` blocks of columns. `rounds`: whether
   results are bf16 instead of f32. */
typedef struct {
    UnitSide left, right;
    char *result;
    int64_t batch, terms, steps, kind, rounds;
    int64_t pack_tasks, pack_units, pack_size;
    int64_t units, size, row_group, row_groups, column_group, column_groups;
    /* Of each task that packs and operand, the least absolute value of bf16 but zeros: its bits less one. */
    uint16_t *least;
    int64_t packed;
} UnitProduct;

/* Whether no subnormal number can occur: none is an operand, and all products are multiples of 2 ** -126. The field
   of a number's exponent is the exponent plus 127, and a number is a multiple of 2 ** (exponent - 7). */
static int unit_keeps_all(const UnitProduct *p) {
    int fields[2];
    for (int side = 0; side < 2 && p->kind == UNIT_BFLOAT16; side++) {
        int least = 0xFFFF;
        for (int64_t task = 0; task < p->pack_tasks; task++)
            least = p->least[2 * task + side] < least ? p->least[2 * task + side] : least;
        fields[side] = (least + 1) >> 7;
    }
    return p->kind != UNIT_BFLOAT16 || (fields[0] && fields[1] && fields[0] + fields[1] >= 2 * (127 + 7) - 126);
}

#if defined(__x86_64__) && defined(__linux__) && \
    (defined(__clang__) ? __clang_major__ >= 12 : defined(__GNUC__) && __GNUC__ >= 11)

#include <cpuid.h>
#include <immintrin.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNIT_CODE __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16,amx-tile,amx-int8,amx-bf16")))
#define UNIT_INLINE static inline UNIT_CODE __attribute__((always_inline))

/* Whether the processor has the instructions, and the system lets this process use them. */
static int unit_is_available(void) {
    enum { PERMIT = 0x1023, TILES = 18, STATES = 0x600E6 };
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    if ((d >> 22 & 0xD) != 0xD || (b >> 30 & 3) != 3 || !(b >> 16 & 1)) return 0;
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a >> 5 & 1)) return 0;
    if (!__get_cpuid_count(0x1D, 1, &a, &b, &c, &d)) return 0;
    if ((b & 0xFFFF) != 64 || b >> 16 != 8 || (c & 0xFFFF) != 16) return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & STATES) != STATES) return 0;
    return syscall(SYS_arch_prctl, PERMIT, TILES) == 0;
}

/* Exchange lines and words of 16 lines of 16 words. */
UNIT_INLINE void unit_transpose(__m512i v[16]) {
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
UNIT_INLINE __m512i unit_words(const char *at, int64_t term_step, int item, int64_t terms, __mmask16 lines) {
    __m512i words = _mm512_setzero_si512();
    for (int part = 0; part < 4 / item && part < terms; part++, at += term_step) {
        __m512i one = item == 2 ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lines, at))
                                : _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lines, at));
        words = _mm512_or_si512(words, _mm512_sll_epi32(one, _mm_cvtsi32_si128(8 * item * part)));
    }
    return words;
}

/* Write one tile of up to 16 lines and 64 bytes of terms, of a line each row or, of the right operand, of a
   word each row. Returns the least of `least` and of the tile. */
UNIT_INLINE __m512i unit_pack_tile(
    const UnitSide *side, const char *at, int item, int is_right, int64_t lines, int64_t terms, char *to,
    __m512i least) {
    __m512i v[16];
    int by_words = 0;
    __mmask16 inside = (__mmask16)(lines >= 16 ? 0xFFFF : (1 << lines) - 1);
    if (side->term_step == item) {
        __mmask64 bytes = terms * item >= 64 ? ~0ULL : (1ULL << terms * item) - 1;
        for (int line = 0; line < 16; line++)
            v[line] = line < lines ? _mm512_maskz_loadu_epi8(bytes, at + line * side->line_step)
                                   : _mm512_setzero_si512();
    } else if (side->line_step == item) {
        by_words = 1;
        for (int word = 0, per = 4 / item; word < 16; word++)
            v[word] = unit_words(
                at + word * per * side->term_step, side->term_step, item, terms - word * per, inside);
    } else {
        char lines_of_terms[16][64] = {{0}};
        for (int line = 0; line < 16 && line < lines; line++)
            for (int term = 0; term < 64 / item && term < terms; term++)
                memcpy(lines_of_terms[line] + term * item, at + line * side->line_step + term * side->term_step,
                       item);
        for (int line = 0; line < 16; line++) v[line] = _mm512_loadu_si512(lines_of_terms[line]);
    }
    if (by_words != is_right) unit_transpose(v);
    for (int row = 0; row < 16; row++) {
        _mm512_storeu_si512(to + 64 * row, v[row]);
        if (item == 2) {
            __m512i size = _mm512_and_si512(v[row], _mm512_set1_epi16(0x7FFF));
            least = _mm512_min_epu16(least, _mm512_sub_epi16(size, _mm512_set1_epi16(1)));
        }
    }
    return least;
}

/* Pack some blocks of one matrix. */
UNIT_INLINE __m512i unit_pack_blocks(
    const UnitProduct *p, const UnitSide *side, int item, int is_right, int64_t matrix, int64_t first,
    __m512i least) {
    const char *source = side->address + matrix * side->matrix_step;
    char *panels = side->panels + matrix * side->blocks * p->steps * UNIT_PANEL_STEP;
    int64_t per = UNIT_STEP_BYTES / item;
    int64_t last = first + UNIT_PACKED_BLOCKS < side->blocks ? first + UNIT_PACKED_BLOCKS : side->blocks;
    /* Lines that are contiguous are read side by side, terms that are contiguous block by block. */
    int64_t together = side->term_step == item ? 1 : last - first;
    for (int64_t begin = first; begin < last; begin += together)
        for (int64_t step = 0; step < p->steps; step++)
            for (int64_t block = begin; block < begin + together; block++)
                for (int64_t half = 0; half < 2; half++) {
                    int64_t line = block * UNIT_LINES + half * 16;
                    if (line >= side->lines) break;
                    least = unit_pack_tile(
                        side, source + line * side->line_step + step * per * side->term_step, item, is_right,
                        side->lines - line, p->terms - step * per,
                        panels + (block * p->steps + step) * UNIT_PANEL_STEP + half * 1024, least);
                }
    return least;
}

UNIT_INLINE uint16_t unit_lowest(__m512i values) {
    uint16_t items[32], lowest = 0xFFFF;
    _mm512_storeu_si512(items, values);
    for (int i = 0; i < 32; i++) lowest = items[i] < lowest ? items[i] : lowest;
    return lowest;
}

UNIT_INLINE void unit_pack_all(const UnitProduct *p, int64_t task, int item) {
    __m512i least[2] = {_mm512_set1_epi8(-1), _mm512_set1_epi8(-1)};
    int64_t left_groups = (p->left.blocks + UNIT_PACKED_BLOCKS - 1) / UNIT_PACKED_BLOCKS;
    int64_t right_groups = (p->right.blocks + UNIT_PACKED_BLOCKS - 1) / UNIT_PACKED_BLOCKS;
    int64_t end = (task + 1) * p->pack_size < p->pack_units ? (task + 1) * p->pack_size : p->pack_units;
    for (int64_t unit = task * p->pack_size; unit < end; unit++) {
        int64_t right = unit - p->batch * left_groups;
        if (right < 0)
            least[0] = unit_pack_blocks(
                p, &p->left, item, 0, unit / left_groups, unit % left_groups * UNIT_PACKED_BLOCKS, least[0]);
        else
            least[1] = unit_pack_blocks(
                p, &p->right, item, 1, right / right_groups, right % right_groups * UNIT_PACKED_BLOCKS,
                least[1]);
    }
    for (int i = 0; i < 2; i++) p->least[2 * task + i] = unit_lowest(least[i]);
}

static UNIT_CODE void unit_pack(const UnitProduct *p, int64_t task) {
    if (p->kind == UNIT_BFLOAT16)
        unit_pack_all(p, task, 2);
    else
        unit_pack_all(p, task, 1);
}

#define UNIT_ADD(kind, total, left, right)                                              \
    do {                                                                                \
        if (kind == UNIT_BFLOAT16) _tile_dpbf16ps(total, left, right);                  \
        else if (kind == UNIT_SIGNED_SIGNED) _tile_dpbssd(total, left, right);          \
        else if (kind == UNIT_SIGNED_UNSIGNED) _tile_dpbsud(total, left, right);        \
        else if (kind == UNIT_UNSIGNED_SIGNED) _tile_dpbusd(total, left, right);        \
        else _tile_dpbuud(total, left, right);                                          \
    } while (0)

/* The sums of a block of rows with a block of columns, in tiles 0 to 3. */
UNIT_INLINE void unit_sums(
    int kind, int has_rows, int has_columns, const char *left, const char *right, int64_t steps) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t step = 0; step < steps; step++, left += UNIT_PANEL_STEP, right += UNIT_PANEL_STEP) {
        _tile_loadd(4, left, 64);
        _tile_loadd(6, right, 64);
        UNIT_ADD(kind, 0, 4, 6);
        if (has_columns) {
            _tile_loadd(7, right + 1024, 64);
            UNIT_ADD(kind, 1, 4, 7);
        }
        if (has_rows) {
            _tile_loadd(5, left + 1024, 64);
            UNIT_ADD(kind, 2, 5, 6);
        }
        if (has_rows && has_columns) UNIT_ADD(kind, 3, 5, 7);
    }
}

/* A block of sums that waits to be added to `total`, unless that is NULL, and to be written `to` the result, or to
   the total where that is NULL: what the unit stores can be read only a while later. */
typedef struct {
    char *to, *total;
    int64_t row_bytes, rows, columns;
    char sums[UNIT_BLOCK_BYTES] __attribute__((aligned(64)));
} UnitBlock;

UNIT_INLINE void unit_store(char *to, int64_t row_bytes) {
    _tile_stored(0, to, row_bytes);
    _tile_stored(1, to + 64, row_bytes);
    _tile_stored(2, to + 16 * row_bytes, row_bytes);
    _tile_stored(3, to + 16 * row_bytes + 64, row_bytes);
}

UNIT_INLINE __m512i unit_sum(int kind, const char *total, const char *sums) {
    __m512i a = _mm512_load_si512(total), b = _mm512_load_si512(sums);
    if (kind != UNIT_BFLOAT16) return _mm512_add_epi32(a, b);
    return _mm512_castps_si512(_mm512_add_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
}

UNIT_INLINE void unit_finish(const UnitBlock *block, int kind, int rounds) {
    uint32_t inside = block->columns >= UNIT_LINES ? ~0U : (1U << block->columns) - 1;
    const char *from = block->sums;
    char *to = block->to, *total = block->total;
    int64_t rows = block->rows < UNIT_LINES ? block->rows : UNIT_LINES;
    for (int64_t row = 0; row < rows; row++, to += block->row_bytes, from += 128) {
        __m512i low = _mm512_load_si512(from), high = _mm512_load_si512(from + 64);
        if (total) {
            low = unit_sum(kind, total + row * 128, from);
            high = unit_sum(kind, total + row * 128 + 64, from + 64);
        }
        if (!block->to) {
            _mm512_store_si512(total + row * 128, low);
            _mm512_store_si512(total + row * 128 + 64, high);
        } else if (rounds) {
            __m512bh both = _mm512_cvtne2ps_pbh(_mm512_castsi512_ps(high), _mm512_castsi512_ps(low));
            _mm512_mask_storeu_epi16(to, inside, (__m512i)both);
        } else {
            _mm512_mask_storeu_epi32(to, (__mmask16)inside, low);
            _mm512_mask_storeu_epi32(to + 64, (__mmask16)(inside >> 16), high);
        }
    }
}

/* Where tasks keep what they have not written yet. */
typedef struct {
    UnitBlock blocks[2];
    char totals[UNIT_GROUP][UNIT_BLOCK_BYTES] __attribute__((aligned(64)));
} UnitWork;

/* Multiply a block of rows with some blocks of columns, part by part. Each block of sums is finished after the sums
   of the next one, but for those that the unit itself stores where they belong. */
UNIT_INLINE void unit_multiply_rows(
    const UnitProduct *p, int kind, UnitWork *work, const char *left, const char *right, char *result,
    int64_t rows, int64_t columns, int64_t blocks) {
    int64_t item = p->rounds ? 2 : 4, row_bytes = p->right.lines * item, panel = p->steps * UNIT_PANEL_STEP;
    int number = 0, is_aligned = !p->rounds && rows >= UNIT_LINES && ((uintptr_t)result | row_bytes) % 64 == 0;
    for (int64_t first = 0; first < p->steps; first += UNIT_PART) {
        int64_t steps = p->steps - first < UNIT_PART ? p->steps - first : UNIT_PART;
        int is_last = first + steps == p->steps;
        for (int64_t j = 0; j < blocks; j++) {
            const char *a = left + first * UNIT_PANEL_STEP, *b = right + j * panel + first * UNIT_PANEL_STEP;
            int64_t here = columns - j * UNIT_LINES;
            if (rows > 16 && here > 16) unit_sums(kind, 1, 1, a, b, steps);
            else if (rows > 16) unit_sums(kind, 1, 0, a, b, steps);
            else if (here > 16) unit_sums(kind, 0, 1, a, b, steps);
            else unit_sums(kind, 0, 0, a, b, steps);
            char *to = result + j * UNIT_LINES * item;
            if (!first && !is_last) {
                unit_store(work->totals[j], 128);
            } else if (!first && is_aligned && here >= UNIT_LINES) {
                unit_store(to, row_bytes);
            } else {
                UnitBlock *block = &work->blocks[number];
                block->to = is_last ? to : NULL;
                block->total = first ? work->totals[j] : NULL;
                block->row_bytes = row_bytes;
                block->rows = rows;
                block->columns = here;
                unit_store(block->sums, 128);
                number = !number;
                unit_finish(&work->blocks[number], kind, p->rounds);
                work->blocks[number].rows = 0;
            }
        }
        /* The next part adds to the same totals. */
        unit_finish(&work->blocks[!number], kind, p->rounds);
        work->blocks[!number].rows = 0;
    }
}

UNIT_INLINE void unit_multiply_unit(const UnitProduct *p, int64_t unit, int kind, UnitWork *work) {
    int64_t groups = p->row_groups * p->column_groups, panel = p->steps * UNIT_PANEL_STEP;
    int64_t matrix = unit / groups, column = unit % groups / p->row_groups * p->column_group;
    int64_t first = unit % p->row_groups * p->row_group, item = p->rounds ? 2 : 4;
    int64_t blocks = p->right.blocks - column < p->column_group ? p->right.blocks - column : p->column_group;
    const char *right = p->right.panels + (matrix * p->right.blocks + column) * panel;
    for (int64_t i = first; i < first + p->row_group && i < p->left.blocks; i++)
        unit_multiply_rows(
            p, kind, work, p->left.panels + (matrix * p->left.blocks + i) * panel, right,
            p->result + ((matrix * p->left.lines + i * UNIT_LINES) * p->right.lines + column * UNIT_LINES) * item,
            p->left.lines - i * UNIT_LINES, p->right.lines - column * UNIT_LINES, blocks);
}

static UNIT_CODE void unit_multiply(const UnitProduct *p, int64_t task) {
    struct { uint8_t palette, start, rest[14]; uint16_t bytes[16]; uint8_t rows[16]; } layout = {.palette = 1};
    UnitWork work;
    work.blocks[0].rows = work.blocks[1].rows = 0;
    for (int tile = 0; tile < 8; tile++) {
        layout.bytes[tile] = 64;
        layout.rows[tile] = 16;
    }
    _tile_loadconfig(&layout);
    int64_t end = (task + 1) * p->size < p->units ? (task + 1) * p->size : p->units;
    for (int64_t unit = task * p->size; unit < end; unit++) {
        switch (p->kind) {
        case UNIT_BFLOAT16: unit_multiply_unit(p, unit, UNIT_BFLOAT16, &work); break;
        case UNIT_SIGNED_SIGNED: unit_multiply_unit(p, unit, UNIT_SIGNED_SIGNED, &work); break;
        case UNIT_SIGNED_UNSIGNED: unit_multiply_unit(p, unit, UNIT_SIGNED_UNSIGNED, &work); break;
        case UNIT_UNSIGNED_SIGNED: unit_multiply_unit(p, unit, UNIT_UNSIGNED_SIGNED, &work); break;
        default: unit_multiply_unit(p, unit, UNIT_UNSIGNED_UNSIGNED, &work);
        }
    }
    _tile_release();
}

static UNIT_CODE void unit_task(int64_t task, void *product) {
    UnitProduct *p = product;
    if (task < p->pack_tasks) {
        unit_pack(p, task);
        __atomic_fetch_add(&p->packed, 1, __ATOMIC_RELEASE);
        return;
    }
    while (__atomic_load_n(&p->packed, __ATOMIC_ACQUIRE) < p->pack_tasks) _mm_pause();
    if (unit_keeps_all(p)) unit_multiply(p, task - p->pack_tasks);
}

#else

static int unit_is_available(void) { return 0; }
static void unit_task(int64_t task, void *product) { (void)task, (void)product; }

#endif
#endif
