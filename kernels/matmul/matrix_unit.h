/* Products by the processor's matrix unit (Intel's AMX); `low_precision_matmul.h` includes this.

   The order of floats. In each step of 32 terms the products with even numbers are added from the first to the
   last, as are those with odd numbers; the sum of both is added to the sum of the part, which has 16 steps. The
   sums of parts are added in order. Each addition is rounded to f32, to nearest, ties to even. */

#ifdef __linux__

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNIT_CODE __attribute__((target(NARROW_TARGET ",amx-tile,amx-int8,amx-bf16")))
#define UNIT_INLINE static inline UNIT_CODE __attribute__((always_inline))

/* Steps of a part: it stays in the first cache, and sums of few terms have small errors. */
enum { UNIT_PART = 16 };

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

#define UNIT_ADD(kind, total, left, right)                                              \
    do {                                                                                \
        if (kind == NARROW_BFLOAT16) _tile_dpbf16ps(total, left, right);                \
        else if (kind == NARROW_SIGNED_SIGNED) _tile_dpbssd(total, left, right);          \
        else if (kind == NARROW_SIGNED_UNSIGNED) _tile_dpbsud(total, left, right);        \
        else if (kind == NARROW_UNSIGNED_SIGNED) _tile_dpbusd(total, left, right);        \
        else _tile_dpbuud(total, left, right);                                          \
    } while (0)

/* The sums of a block of rows with a block of columns, in tiles 0 to 3. */
UNIT_INLINE void unit_sums(
    int kind, int has_rows, int has_columns, const char *left, const char *right, int64_t steps) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t step = 0; step < steps; step++, left += NARROW_PANEL_STEP, right += NARROW_PANEL_STEP) {
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
    char sums[NARROW_BLOCK_BYTES] __attribute__((aligned(64)));
} UnitBlock;

UNIT_INLINE void unit_store(char *to, int64_t row_bytes) {
    _tile_stored(0, to, row_bytes);
    _tile_stored(1, to + 64, row_bytes);
    _tile_stored(2, to + 16 * row_bytes, row_bytes);
    _tile_stored(3, to + 16 * row_bytes + 64, row_bytes);
}

UNIT_INLINE __m512i unit_sum(int kind, const char *total, const char *sums) {
    __m512i a = _mm512_load_si512(total), b = _mm512_load_si512(sums);
    if (kind != NARROW_BFLOAT16) return _mm512_add_epi32(a, b);
    return _mm512_castps_si512(_mm512_add_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
}

UNIT_INLINE void unit_finish(const UnitBlock *block, int kind, int rounds) {
    uint32_t inside = block->columns >= NARROW_LINES ? ~0U : (1U << block->columns) - 1;
    const char *from = block->sums;
    char *to = block->to, *total = block->total;
    int64_t rows = block->rows < NARROW_LINES ? block->rows : NARROW_LINES;
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
    char totals[NARROW_GROUP][NARROW_BLOCK_BYTES] __attribute__((aligned(64)));
} UnitWork;

/* Multiply a block of rows with some blocks of columns, part by part. Each block of sums is finished after the sums
   of the next one, but for those that the unit itself stores where they belong. */
UNIT_INLINE void unit_multiply_rows(const NarrowProduct *p, int kind, UnitWork *work, const NarrowRows *all) {
    int64_t item = p->rounds ? 2 : 4, row_bytes = p->right.lines * item, panel = p->steps * NARROW_PANEL_STEP;
    int64_t rows = all->rows;
    int number = 0, is_aligned = !p->rounds && rows >= NARROW_LINES && ((uintptr_t)all->to | row_bytes) % 64 == 0;
    for (int64_t first = 0; first < p->steps; first += UNIT_PART) {
        int64_t steps = p->steps - first < UNIT_PART ? p->steps - first : UNIT_PART;
        int is_last = first + steps == p->steps;
        for (int64_t j = 0; j < all->blocks; j++) {
            int64_t begin = first * NARROW_PANEL_STEP, here = all->columns - j * NARROW_LINES;
            const char *a = all->left + begin, *b = all->right + j * panel + begin;
            if (rows > 16 && here > 16) unit_sums(kind, 1, 1, a, b, steps);
            else if (rows > 16) unit_sums(kind, 1, 0, a, b, steps);
            else if (here > 16) unit_sums(kind, 0, 1, a, b, steps);
            else unit_sums(kind, 0, 0, a, b, steps);
            char *to = all->to + j * NARROW_LINES * item;
            if (!first && !is_last) {
                unit_store(work->totals[j], 128);
            } else if (!first && is_aligned && here >= NARROW_LINES) {
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

UNIT_INLINE void unit_multiply_unit(const NarrowProduct *p, int64_t unit, int kind, UnitWork *work) {
    for (int64_t number = 0; number < p->row_group; number++) {
        NarrowRows block = narrow_rows(p, unit, number);
        if (block.rows > 0) unit_multiply_rows(p, kind, work, &block);
    }
}

static UNIT_CODE void unit_multiply(const NarrowProduct *p, int64_t task) {
    struct { uint8_t palette, start, rest[14]; uint16_t bytes[16]; uint8_t rows[16]; } layout = {.palette = 1};
    UnitWork work;
    work.blocks[0].rows = work.blocks[1].rows = 0;
    for (int tile = 0; tile < 8; tile++) {
        layout.bytes[tile] = 64;
        layout.rows[tile] = 16;
    }
    _tile_loadconfig(&layout);
    int64_t end = narrow_units_end(p, task);
    for (int64_t unit = task * p->size; unit < end; unit++) {
        switch (p->kind) {
        case NARROW_BFLOAT16: unit_multiply_unit(p, unit, NARROW_BFLOAT16, &work); break;
        case NARROW_SIGNED_SIGNED: unit_multiply_unit(p, unit, NARROW_SIGNED_SIGNED, &work); break;
        case NARROW_SIGNED_UNSIGNED: unit_multiply_unit(p, unit, NARROW_SIGNED_UNSIGNED, &work); break;
        case NARROW_UNSIGNED_SIGNED: unit_multiply_unit(p, unit, NARROW_UNSIGNED_SIGNED, &work); break;
        default: unit_multiply_unit(p, unit, NARROW_UNSIGNED_UNSIGNED, &work);
        }
    }
    _tile_release();
}

#else

static int unit_is_available(void) { return 0; }
static void unit_multiply(const NarrowProduct *p, int64_t task) { (void)p, (void)task; }

#endif
