/* GEMM of integers of 8 and 16 bits and of bf16 by instructions that add up several products: the tasks, and which
   instructions there are.

   An operand's outer dimension is the rows of the left matrix or the columns of the right one. A panel holds a block
   of 32 of them: for each k tile a pair of tiles of 16 by 64 bytes. The instructions add up the products of a pair
   of tiles, four bytes of k at a time. Tiles are padded with zeros.

   There are two implementations: `matrix_unit.h` uses the matrix unit (Intel's AMX), `vector_dots.h` vectors of dot
   products (VDPBF16PS, VNNI). Of bf16, both treat subnormal numbers as zeros: `min_magnitude` tells whether any can
   occur.

   Order of additions of bf16, "two chains". A sum is cut into k blocks of 256 products, and these into k tiles of 32.
   In each k tile the first 16 products are added from the first to the last, by fused multiply-add from 0 on, and so
   are the others. The sum of both chains is added to the sum of the k block, which begins at 0, and the sums of k blocks
   are added in order. Each addition is rounded to f32, to nearest, ties to even. So no sum of a k block is -0, and
   products of padding, which are +0, change no bit. `matmul.h` has the same order of products of f32, for all other
   processors. */

#ifndef NIMBLEHLO_LOW_PRECISION_MATMUL_H
#define NIMBLEHLO_LOW_PRECISION_MATMUL_H

#include <stdint.h>

/* Products of a chain and of a k block of bf16. */
enum { LOWP_CHAIN = 16, LOWP_K_BLOCK = 256 };

enum { LOWP_BLOCK = 32, LOWP_TILE_ROW_BYTES = 64, LOWP_TILE_PAIR_BYTES = 2048, LOWP_PACKED_BLOCKS = 4 };

/* BLOCK_BYTES: of the sums of a block of rows with a block of columns. MAX_BLOCKS: blocks of columns of a work item, at
   most; MAX_GROUP: with several k blocks. */
enum { LOWP_BLOCK_BYTES = 4096, LOWP_MAX_BLOCKS = 128, LOWP_MAX_GROUP = 16 };

/* With at most this many blocks of rows, columns are packed by the tasks that compute dot products with them. */
enum { DOTS_MAX_FUSED_BLOCKS = 4 };

/* Element types and instruction: those with DOTS by vectors, the others by the matrix unit. */
enum {
    LOWP_S8S8,
    LOWP_S8U8,
    LOWP_U8S8,
    LOWP_U8U8,
    LOWP_BF16,
    LOWP_BF16_DOTS,
    LOWP_BF16_CHAIN_DOTS,
    LOWP_S8S8_DOTS,
    LOWP_U8S8_DOTS,
    LOWP_S16_DOTS
};

/* One operand, a stack of matrices. Strides are in bytes. */
typedef struct {
    const char *address;
    int64_t batch_stride, outer_stride, k_stride;
    int64_t outer_size, blocks;
    char *panels;
} LowpOperand;

/* The arguments of tasks. The first `pack_tasks` tasks pack `pack_items_per_task` items each: LOWP_PACKED_BLOCKS blocks
   of one matrix, those of the left operand first. The other tasks, which must start after them, wait until all is
   packed, and do `items_per_task` work items each: `row_group` blocks of rows times `column_group` blocks of columns.
   `fuses_packing`: these tasks pack the columns, each of which belongs to one work item. `rounds_to_bf16`: results are
   bf16 instead of f32. */
typedef struct {
    LowpOperand left, right;
    char *result;
    int64_t batch, k_size, k_tiles, kind, rounds_to_bf16, fuses_packing;
    int64_t pack_tasks, pack_items, pack_items_per_task;
    int64_t work_items, items_per_task, row_group, row_groups, column_group, column_groups;
    /* For each task that packs and each operand the smallest magnitude of bf16 but zero: its bits less one. The last
       one of `magnitude_tasks` is that of a right operand that was packed by an earlier call. */
    uint16_t *min_magnitude;
    int64_t magnitude_tasks, packed_tasks;
} LowpProduct;

/* Bytes of an element of the operands, and whether these are bf16. */
static inline int lowp_is_bf16(int64_t kind) {
    return kind == LOWP_BF16 || kind == LOWP_BF16_DOTS || kind == LOWP_BF16_CHAIN_DOTS;
}

static inline int lowp_itemsize(int64_t kind) { return lowp_is_bf16(kind) || kind == LOWP_S16_DOTS ? 2 : 1; }

/* Whether no subnormal number can occur: none is an operand, and all products are multiples of 2 ** -126. The field
   of a number's exponent is the exponent plus 127, and a number is a multiple of 2 ** (exponent - 7). */
static int lowp_has_no_subnormals(const LowpProduct *p) {
    int exponents[2];
    if (!lowp_is_bf16(p->kind)) return 1;
    for (int operand = 0; operand < 2; operand++) {
        int min_magnitude = 0xFFFF;
        for (int64_t task = 0; task < p->magnitude_tasks; task++)
            min_magnitude = p->min_magnitude[2 * task + operand] < min_magnitude
                ? p->min_magnitude[2 * task + operand] : min_magnitude;
        exponents[operand] = (min_magnitude + 1) >> 7;
    }
    return exponents[0] && exponents[1] && exponents[0] + exponents[1] >= 2 * (127 + 7) - 126;
}

#if defined(__x86_64__) && (defined(__clang__) ? __clang_major__ >= 12 : defined(__GNUC__) && __GNUC__ >= 11)

#include <immintrin.h>
#include <string.h>

#include "simd/processor_level.h"
#include "simd/unroll.h"

#define LOWP_TARGET "avx512f,avx512bw,avx512vl,avx512bf16,avx512vnni"
#define LOWP_CODE __attribute__((target(LOWP_TARGET)))
#define LOWP_INLINE static inline LOWP_CODE __attribute__((always_inline))

/* Transpose 16 by 16 words of 32 bits. */
LOWP_INLINE void lowp_transpose(__m512i v[16]) {
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

/* Row `k` of up to 32 contiguous rows or columns of 16-bit numbers, or zeros behind the last k. */
LOWP_INLINE __m512i lowp_load_halves(const char *at, int64_t k_stride, int64_t k, int64_t k_size, __mmask32 outer_size) {
    return k < k_size ? _mm512_maskz_loadu_epi16(outer_size, at + k * k_stride) : _mm512_setzero_si512();
}

/* The same of bytes. */
LOWP_INLINE __m256i lowp_load_bytes(const char *at, int64_t k_stride, int64_t k, int64_t k_size, __mmask32 outer_size) {
    return k < k_size ? _mm256_maskz_loadu_epi8(outer_size, at + k * k_stride) : _mm256_setzero_si256();
}

/* A 32-bit word of k for each of up to 32 rows or columns, which are contiguous: a row of both tiles. The word has four
   consecutive bytes, or halves that are `k_distance` apart. */
LOWP_INLINE void lowp_load_dwords(
    const char *at, int64_t k_stride, int itemsize, int64_t k_distance, int64_t k_size, __mmask32 outer_size,
    __m512i to[2]) {
    if (itemsize == 2) {
        const __m512i first_half = _mm512_set_epi16(
            47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1,
            32, 0);
        __m512i a = lowp_load_halves(at, k_stride, 0, k_size, outer_size);
        __m512i b = lowp_load_halves(at, k_stride, k_distance, k_size, outer_size);
        to[0] = _mm512_permutex2var_epi16(a, first_half, b);
        to[1] = _mm512_permutex2var_epi16(a, _mm512_add_epi16(first_half, _mm512_set1_epi16(16)), b);
        return;
    }
    __m256i a = lowp_load_bytes(at, k_stride, 0, k_size, outer_size);
    __m256i b = lowp_load_bytes(at, k_stride, 1, k_size, outer_size);
    __m256i c = lowp_load_bytes(at, k_stride, 2, k_size, outer_size);
    __m256i d = lowp_load_bytes(at, k_stride, 3, k_size, outer_size);
    __m256i ab[2] = {_mm256_unpacklo_epi8(a, b), _mm256_unpackhi_epi8(a, b)};
    __m256i cd[2] = {_mm256_unpacklo_epi8(c, d), _mm256_unpackhi_epi8(c, d)};
    __m512i quarters[2]; /* of 128 bits: four words of the first tile, four of the second one, twice */
    for (int i = 0; i < 2; i++)
        quarters[i] = _mm512_inserti64x4(
            _mm512_castsi256_si512(_mm256_unpacklo_epi16(ab[i], cd[i])), _mm256_unpackhi_epi16(ab[i], cd[i]), 1);
    to[0] = _mm512_shuffle_i32x4(quarters[0], quarters[1], 0x88);
    to[1] = _mm512_shuffle_i32x4(quarters[0], quarters[1], 0xDD);
}

/* Store a row of a tile; of bf16 for dot products the first k goes to the high half, and to signed bytes on the left
   of signed ones 128 is added. Returns the minimum of `min_magnitude` and the row's. */
LOWP_INLINE __m512i lowp_store_row(__m512i row, int kind, int is_right, char *to, __m512i min_magnitude) {
    if (kind == LOWP_BF16_DOTS) row = _mm512_rol_epi32(row, 16);
    if (kind == LOWP_S8S8_DOTS && !is_right) row = _mm512_xor_si512(row, _mm512_set1_epi8(-128));
    _mm512_storeu_si512(to, row);
    if (!lowp_is_bf16(kind)) return min_magnitude;
    __m512i magnitude = _mm512_and_si512(row, _mm512_set1_epi16(0x7FFF));
    return _mm512_min_epu16(min_magnitude, _mm512_sub_epi16(magnitude, _mm512_set1_epi16(1)));
}

/* The halves of a vector, of 16 numbers each, as the low and the high halves of its 32-bit words. */
LOWP_INLINE __m512i lowp_interleave_chains(__m512i row) {
    const __m512i order = _mm512_set_epi16(
        31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1,
        16, 0);
    return _mm512_permutexvar_epi16(order, row);
}

/* Pack a tile of up to 16 rows or columns by 64 bytes of k; the right operand's is transposed by 32-bit words.
   Returns the minimum of `min_magnitude` and the tile's. */
LOWP_INLINE __m512i lowp_pack_tile(
    const LowpOperand *operand, const char *at, int kind, int is_right, int64_t outer_size, int64_t k_size, char *to,
    __m512i min_magnitude) {
    __m512i v[16];
    int itemsize = lowp_itemsize(kind);
    if (operand->k_stride == itemsize) {
        __mmask64 bytes = k_size * itemsize >= 64 ? ~0ULL : (1ULL << k_size * itemsize) - 1;
        for (int outer = 0; outer < 16; outer++)
            v[outer] = outer < outer_size ? _mm512_maskz_loadu_epi8(bytes, at + outer * operand->outer_stride)
                                   : _mm512_setzero_si512();
    } else {
        char rows[16][64] = {{0}};
        for (int outer = 0; outer < 16 && outer < outer_size; outer++)
            for (int k = 0; k < 64 / itemsize && k < k_size; k++)
                memcpy(rows[outer] + k * itemsize, at + outer * operand->outer_stride + k * operand->k_stride,
                       itemsize);
        for (int outer = 0; outer < 16; outer++) v[outer] = _mm512_loadu_si512(rows[outer]);
    }
    if (kind == LOWP_BF16)
        for (int row = 0; row < 16; row++) v[row] = lowp_interleave_chains(v[row]);
    if (is_right) lowp_transpose(v);
    for (int row = 0; row < 16; row++) min_magnitude = lowp_store_row(
        v[row], kind, is_right, to + 64 * row, min_magnitude);
    return min_magnitude;
}

/* Pack the tiles of one k tile from contiguous rows or columns, one 32-bit word of k at a time, and prefetch the next
   k tile. Blocks are `block_bytes` apart. */
LOWP_INLINE __m512i lowp_pack_outer_contiguous(
    const LowpOperand *operand, const char *at, int kind, int is_right, int64_t outer_size, int64_t k_size, char *to,
    int64_t block_bytes, __m512i min_magnitude) {
    int itemsize = lowp_itemsize(kind);
    /* In two chains, a word has a number of each. */
    int64_t k_step = kind == LOWP_BF16 ? 1 : 4 / itemsize, k_distance = kind == LOWP_BF16 ? LOWP_CHAIN : 1;
    for (int64_t dword = 0; dword < 16; dword++)
        for (int64_t outer = 0; outer < outer_size; outer += LOWP_BLOCK) {
            const char *from = at + dword * k_step * operand->k_stride + outer * itemsize;
            int64_t remaining = outer_size - outer, remaining_k = k_size - dword * k_step;
            uint32_t mask = remaining >= LOWP_BLOCK ? ~0U : (1U << remaining) - 1;
            __m512i rows[2];
            for (int64_t k = 0; k < 4 / itemsize; k++)
                __builtin_prefetch(from + (LOWP_TILE_ROW_BYTES / itemsize + k * k_distance) * operand->k_stride);
            lowp_load_dwords(from, operand->k_stride, itemsize, k_distance, remaining_k, mask, rows);
            for (int half = 0; half < 2; half++)
                min_magnitude = lowp_store_row(
                    rows[half], kind, is_right, to + outer / LOWP_BLOCK * block_bytes + 1024 * half + 64 * dword,
                    min_magnitude);
        }
    for (int64_t outer = 0; outer < outer_size && !is_right; outer += 16) {
        char *tile = to + outer / LOWP_BLOCK * block_bytes + outer % LOWP_BLOCK * 64;
        __m512i v[16];
        for (int row = 0; row < 16; row++) v[row] = _mm512_load_si512(tile + 64 * row);
        lowp_transpose(v);
        for (int row = 0; row < 16; row++) _mm512_store_si512(tile + 64 * row, v[row]);
    }
    return min_magnitude;
}

/* Pack some k tiles of some blocks of one matrix `to` panels of `k_tiles`. */
LOWP_INLINE __m512i lowp_pack_blocks(
    const LowpProduct *p, const LowpOperand *operand, int kind, int is_right, int64_t matrix, int64_t first,
        int64_t last,
    int64_t first_k_tile, int64_t k_tiles, char *to, __m512i min_magnitude) {
    int64_t itemsize = lowp_itemsize(kind), k_per_tile = LOWP_TILE_ROW_BYTES / itemsize, block_bytes =
        k_tiles * LOWP_TILE_PAIR_BYTES;
    int64_t end = last * LOWP_BLOCK < operand->outer_size ? last * LOWP_BLOCK : operand->outer_size;
    const char *matrix_address = operand->address + matrix * operand->batch_stride;
    int is_outer_contiguous = operand->outer_stride == itemsize && operand->k_stride != itemsize;
    /* A contiguous outer dimension is read across all blocks, a contiguous k block by block. */
    int64_t rows_at_once = is_outer_contiguous ? end - first * LOWP_BLOCK : 16;
    for (int64_t outer = first * LOWP_BLOCK; outer < end; outer += rows_at_once)
        for (int64_t k_tile = 0; k_tile < k_tiles; k_tile++) {
            int64_t k = (first_k_tile + k_tile) * k_per_tile, block_offset = outer - first * LOWP_BLOCK;
            const char *at = matrix_address + outer * operand->outer_stride + k * operand->k_stride;
            char *tile = to + block_offset / LOWP_BLOCK * block_bytes + k_tile * LOWP_TILE_PAIR_BYTES + block_offset
                % LOWP_BLOCK * 64;
            if (is_outer_contiguous)
                min_magnitude = lowp_pack_outer_contiguous(
                    operand, at, kind, is_right, end - outer, p->k_size - k, tile, block_bytes, min_magnitude);
            else
                min_magnitude = lowp_pack_tile(
                    operand, at, kind, is_right, end - outer, p->k_size - k, tile, min_magnitude);
        }
    return min_magnitude;
}

LOWP_INLINE uint16_t lowp_reduce_min(__m512i values) {
    uint16_t items[32], lowest = 0xFFFF;
    _mm512_storeu_si512(items, values);
    for (int i = 0; i < 32; i++) lowest = items[i] < lowest ? items[i] : lowest;
    return lowest;
}

LOWP_INLINE __m512i lowp_pack_operand(
    const LowpProduct *p, const LowpOperand *operand, int kind, int is_right, int64_t work_item,
        __m512i min_magnitude) {
    int64_t groups = (operand->blocks + LOWP_PACKED_BLOCKS - 1) / LOWP_PACKED_BLOCKS;
    int64_t matrix = work_item / groups, first = work_item % groups * LOWP_PACKED_BLOCKS;
    int64_t last = first + LOWP_PACKED_BLOCKS < operand->blocks ? first + LOWP_PACKED_BLOCKS : operand->blocks;
    char *to = operand->panels + (matrix * operand->blocks + first) * p->k_tiles * LOWP_TILE_PAIR_BYTES;
    return lowp_pack_blocks(p, operand, kind, is_right, matrix, first, last, 0, p->k_tiles, to, min_magnitude);
}

LOWP_INLINE void lowp_pack_items(const LowpProduct *p, int64_t task, int kind) {
    __m512i min_magnitude[2] = {_mm512_set1_epi8(-1), _mm512_set1_epi8(-1)};
    int64_t left_groups = (p->left.blocks + LOWP_PACKED_BLOCKS - 1) / LOWP_PACKED_BLOCKS;
    int64_t end = (task + 1) * p->pack_items_per_task < p->pack_items ? (task + 1) * p->pack_items_per_task
        : p->pack_items;
    for (int64_t work_item = task * p->pack_items_per_task; work_item < end; work_item++) {
        int64_t right_item = work_item - p->batch * left_groups;
        if (right_item < 0) min_magnitude[0] = lowp_pack_operand(p, &p->left, kind, 0, work_item, min_magnitude[0]);
        else min_magnitude[1] = lowp_pack_operand(p, &p->right, kind, 1, right_item, min_magnitude[1]);
    }
    for (int i = 0; i < 2; i++) p->min_magnitude[2 * task + i] = lowp_reduce_min(min_magnitude[i]);
}

static LOWP_CODE void lowp_pack(const LowpProduct *p, int64_t task) {
    switch (p->kind) {
    case LOWP_BF16: lowp_pack_items(p, task, LOWP_BF16); break;
    case LOWP_BF16_DOTS:
    case LOWP_BF16_CHAIN_DOTS: lowp_pack_items(p, task, LOWP_BF16_DOTS); break;
    case LOWP_S8S8_DOTS: lowp_pack_items(p, task, LOWP_S8S8_DOTS); break;
    case LOWP_S16_DOTS: lowp_pack_items(p, task, LOWP_S16_DOTS); break;
    default: lowp_pack_items(p, task, LOWP_S8S8);
    }
}

/* A block of rows and the blocks of columns that it is multiplied with: their first panels, the address of the
   result, and how many rows and columns follow from there on. */
typedef struct {
    const char *left, *right;
    char *to;
    int64_t rows, columns, blocks;
} LowpRowBlock;

static int64_t lowp_items_end(const LowpProduct *p, int64_t task) {
    return (task + 1) * p->items_per_task < p->work_items ? (task + 1) * p->items_per_task : p->work_items;
}

/* Block `number` of the rows of a work item. */
static LowpRowBlock lowp_row_block(const LowpProduct *p, int64_t work_item, int64_t number) {
    int64_t groups = p->row_groups * p->column_groups, panel = p->k_tiles * LOWP_TILE_PAIR_BYTES;
    int64_t matrix = work_item / groups, column = work_item % groups / p->row_groups * p->column_group;
    int64_t row = work_item % p->row_groups * p->row_group + number, itemsize = p->rounds_to_bf16 ? 2 : 4;
    int64_t block_offset = (matrix * p->left.outer_size + row * LOWP_BLOCK) * p->right.outer_size + column * LOWP_BLOCK;
    int64_t blocks = p->right.blocks - column;
    return (LowpRowBlock){
        .left = p->left.panels + (matrix * p->left.blocks + row) * panel,
        .right = p->right.panels + (matrix * p->right.blocks + column) * panel,
        .to = p->result + block_offset * itemsize,
        .rows = p->left.outer_size - row * LOWP_BLOCK,
        .columns = p->right.outer_size - column * LOWP_BLOCK,
        .blocks = blocks < p->column_group ? blocks : p->column_group,
    };
}

#include "vector_dots.h"
#include "matrix_unit.h"

static void lowp_task(int64_t task, void *product) {
    LowpProduct *p = product;
    if (task < p->pack_tasks) {
        lowp_pack(p, task);
        __atomic_fetch_add(&p->packed_tasks, 1, __ATOMIC_RELEASE);
        return;
    }
    while (__atomic_load_n(&p->packed_tasks, __ATOMIC_ACQUIRE) < p->pack_tasks) _mm_pause();
    if (p->fuses_packing) dots_pack_and_multiply(p, task);
    else if (!lowp_has_no_subnormals(p)) return;
    else if (p->kind >= LOWP_BF16_DOTS) dots_multiply(p, task - p->pack_tasks);
    else amx_multiply(p, task - p->pack_tasks);
}

#else

static int amx_is_available(void) { return 0; }
static int dots_are_available(int of_integers) { return (void)of_integers, 0; }
static int dots_of_bf16_are_fast(void) { return 0; }
static void lowp_task(int64_t task, void *product) { (void)task, (void)product; }

#endif
#endif
