/* Products by the processor's matrix unit (Intel's AMX); `low_precision_matmul.h` includes this.

   Order of additions of floats: that of two chains, which `low_precision_matmul.h` states. The unit adds the products
   of the low halves of a k tile's dwords from the first to the last, and those of the high halves; the sum of both is
   added to the sum of the k block. So the first 16 numbers of a k tile are packed into the low halves, the others into
   the high ones. */

#ifdef __linux__

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AMX_CODE __attribute__((target(LOWP_TARGET ",amx-tile,amx-int8,amx-bf16")))
#define AMX_INLINE static inline AMX_CODE __attribute__((always_inline))

/* K tiles of a k block, which stays in the L1 cache; BF16: of floats, whose bits depend on it. */
enum { AMX_K_TILES = 16, AMX_BF16_K_TILES = LOWP_K_BLOCK / 32 };

/* Whether the processor has the instructions, and the system lets this process use them. */
static int amx_is_available(void) {
    enum { PERMIT = 0x1023, TILES = 18, STATES = 0x600E6 };
    unsigned a, b, c, d, low, high;
    if (!may_use_extensions()) return 0;
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

#define AMX_MULTIPLY_ADD(kind, total, left, right)                                              \
    do {                                                                                \
        if (kind == LOWP_BF16) _tile_dpbf16ps(total, left, right);                \
        else if (kind == LOWP_S8S8) _tile_dpbssd(total, left, right);          \
        else if (kind == LOWP_S8U8) _tile_dpbsud(total, left, right);        \
        else if (kind == LOWP_U8S8) _tile_dpbusd(total, left, right);        \
        else _tile_dpbuud(total, left, right);                                          \
    } while (0)

/* The sums of a block of rows with a block of columns, in tiles 0 to 3. */
AMX_INLINE void amx_sums(
    int kind, int has_rows, int has_columns, const char *left, const char *right, int64_t k_tiles) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t k_tile = 0; k_tile < k_tiles; k_tile++, left += LOWP_TILE_PAIR_BYTES, right += LOWP_TILE_PAIR_BYTES) {
        _tile_loadd(4, left, 64);
        _tile_loadd(6, right, 64);
        AMX_MULTIPLY_ADD(kind, 0, 4, 6);
        if (has_columns) {
            _tile_loadd(7, right + 1024, 64);
            AMX_MULTIPLY_ADD(kind, 1, 4, 7);
        }
        if (has_rows) {
            _tile_loadd(5, left + 1024, 64);
            AMX_MULTIPLY_ADD(kind, 2, 5, 6);
        }
        if (has_rows && has_columns) AMX_MULTIPLY_ADD(kind, 3, 5, 7);
    }
}

/* A block of sums that is still to be added to `total`, unless that is NULL, and stored `to` the result, or to the
   total if `to` is NULL: what the unit stores can be read only some time later. */
typedef struct {
    char *to, *total;
    int64_t row_bytes, rows, columns;
    char sums[LOWP_BLOCK_BYTES] __attribute__((aligned(64)));
} AmxBlock;

AMX_INLINE void amx_store(char *to, int64_t row_bytes) {
    _tile_stored(0, to, row_bytes);
    _tile_stored(1, to + 64, row_bytes);
    _tile_stored(2, to + 16 * row_bytes, row_bytes);
    _tile_stored(3, to + 16 * row_bytes + 64, row_bytes);
}

AMX_INLINE __m512i amx_add(int kind, const char *total, const char *sums) {
    __m512i a = _mm512_load_si512(total), b = _mm512_load_si512(sums);
    if (kind != LOWP_BF16) return _mm512_add_epi32(a, b);
    return _mm512_castps_si512(_mm512_add_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b)));
}

AMX_INLINE void amx_finish(const AmxBlock *block, int kind, int rounds_to_bf16) {
    uint32_t column_mask = block->columns >= LOWP_BLOCK ? ~0U : (1U << block->columns) - 1;
    const char *from = block->sums;
    char *to = block->to, *total = block->total;
    int64_t rows = block->rows < LOWP_BLOCK ? block->rows : LOWP_BLOCK;
    for (int64_t row = 0; row < rows; row++, to += block->row_bytes, from += 128) {
        __m512i low = _mm512_load_si512(from), high = _mm512_load_si512(from + 64);
        if (total) {
            low = amx_add(kind, total + row * 128, from);
            high = amx_add(kind, total + row * 128 + 64, from + 64);
        }
        if (!block->to) {
            _mm512_store_si512(total + row * 128, low);
            _mm512_store_si512(total + row * 128 + 64, high);
        } else if (rounds_to_bf16) {
            __m512bh bf16_row = _mm512_cvtne2ps_pbh(_mm512_castsi512_ps(high), _mm512_castsi512_ps(low));
            _mm512_mask_storeu_epi16(to, column_mask, (__m512i)bf16_row);
        } else {
            _mm512_mask_storeu_epi32(to, (__mmask16)column_mask, low);
            _mm512_mask_storeu_epi32(to + 64, (__mmask16)(column_mask >> 16), high);
        }
    }
}

/* A task's sums that are not stored yet. */
typedef struct {
    AmxBlock blocks[2];
    char totals[LOWP_MAX_GROUP][LOWP_BLOCK_BYTES] __attribute__((aligned(64)));
} AmxWorkspace;

/* Multiply a block of rows with some blocks of columns, k block by k block. Each block of sums is finished after the
   next one is computed, unless the unit itself can store it to the result. */
AMX_INLINE void amx_multiply_rows(const LowpProduct *p, int kind, AmxWorkspace *workspace, const LowpRowBlock *all) {
    int64_t itemsize = p->rounds_to_bf16 ? 2 : 4, row_bytes = p->right.outer_size * itemsize, panel =
        p->k_tiles * LOWP_TILE_PAIR_BYTES;
    int64_t rows = all->rows, most_k_tiles = kind == LOWP_BF16 ? AMX_BF16_K_TILES : AMX_K_TILES;
    int number = 0, is_aligned = !p->rounds_to_bf16 && rows >= LOWP_BLOCK && ((uintptr_t)all->to | row_bytes) % 64 == 0;
    for (int64_t first = 0; first < p->k_tiles; first += most_k_tiles) {
        int64_t k_tiles = p->k_tiles - first < most_k_tiles ? p->k_tiles - first : most_k_tiles;
        int is_last = first + k_tiles == p->k_tiles;
        for (int64_t j = 0; j < all->blocks; j++) {
            int64_t begin = first * LOWP_TILE_PAIR_BYTES, remaining_columns = all->columns - j * LOWP_BLOCK;
            const char *a = all->left + begin, *b = all->right + j * panel + begin;
            if (rows > 16 && remaining_columns > 16) amx_sums(kind, 1, 1, a, b, k_tiles);
            else if (rows > 16) amx_sums(kind, 1, 0, a, b, k_tiles);
            else if (remaining_columns > 16) amx_sums(kind, 0, 1, a, b, k_tiles);
            else amx_sums(kind, 0, 0, a, b, k_tiles);
            char *to = all->to + j * LOWP_BLOCK * itemsize;
            if (!first && !is_last) {
                amx_store(workspace->totals[j], 128);
            } else if (!first && is_aligned && remaining_columns >= LOWP_BLOCK) {
                amx_store(to, row_bytes);
            } else {
                AmxBlock *block = &workspace->blocks[number];
                block->to = is_last ? to : NULL;
                block->total = first ? workspace->totals[j] : NULL;
                block->row_bytes = row_bytes;
                block->rows = rows;
                block->columns = remaining_columns;
                amx_store(block->sums, 128);
                number = !number;
                amx_finish(&workspace->blocks[number], kind, p->rounds_to_bf16);
                workspace->blocks[number].rows = 0;
            }
        }
        /* The next k block adds to the same totals. */
        amx_finish(&workspace->blocks[!number], kind, p->rounds_to_bf16);
        workspace->blocks[!number].rows = 0;
    }
}

AMX_INLINE void amx_multiply_item(const LowpProduct *p, int64_t work_item, int kind, AmxWorkspace *workspace) {
    for (int64_t number = 0; number < p->row_group; number++) {
        LowpRowBlock block = lowp_row_block(p, work_item, number);
        if (block.rows > 0) amx_multiply_rows(p, kind, workspace, &block);
    }
}

static AMX_CODE void amx_multiply(const LowpProduct *p, int64_t task) {
    struct { uint8_t palette, start, rest[14]; uint16_t bytes[16]; uint8_t rows[16]; } layout = {.palette = 1};
    AmxWorkspace workspace;
    workspace.blocks[0].rows = workspace.blocks[1].rows = 0;
    for (int tile = 0; tile < 8; tile++) {
        layout.bytes[tile] = 64;
        layout.rows[tile] = 16;
    }
    _tile_loadconfig(&layout);
    int64_t end = lowp_items_end(p, task);
    for (int64_t work_item = task * p->items_per_task; work_item < end; work_item++) {
        switch (p->kind) {
        case LOWP_BF16: amx_multiply_item(p, work_item, LOWP_BF16, &workspace); break;
        case LOWP_S8S8: amx_multiply_item(p, work_item, LOWP_S8S8, &workspace); break;
        case LOWP_S8U8: amx_multiply_item(p, work_item, LOWP_S8U8, &workspace); break;
        case LOWP_U8S8: amx_multiply_item(p, work_item, LOWP_U8S8, &workspace); break;
        default: amx_multiply_item(p, work_item, LOWP_U8U8, &workspace);
        }
    }
    _tile_release();
}

#else

static int amx_is_available(void) { return 0; }
static void amx_multiply(const LowpProduct *p, int64_t task) { (void)p, (void)task; }

#endif
