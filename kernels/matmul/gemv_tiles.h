/* GEMV for one element type and vector width: `vector_kinds.h` includes this for each. */

/* Rows that are multiplied at a time. */
#if VECTOR_BYTES == 64
#define TILE_ROWS 8
#else
#define TILE_ROWS 4
#endif
#define CHAINS ((int)(GEMV_CHAIN_BYTES / sizeof(ITEM)))
#define REGISTERS (CHAINS / LANES)
/* Contiguous columns: K_GROUP chains are updated together, with K_DEPTH values of k each, so that a chain is loaded and
   stored once for these. More rows at once collide in the sets of the L1 cache if their stride is a power of two. */
#if VECTOR_BYTES > 16
#define K_GROUP 2
#define K_DEPTH 4
#else
/* Fused multiply-add in software has no registers to spare. */
#define K_GROUP 4
#define K_DEPTH 1
#endif
/* Values of k that `stored_columns` prefetches ahead, into L2, which took less time than into L1 (Zen 4). */
#define PREFETCH_DISTANCE (4 * CHAINS)

/* Load elements of a matrix, of `stored_itemsize` bytes, a constant: bf16 is the high half of an f32. */
#if LANES * 4 == VECTOR_BYTES
typedef uint16_t NAME(Half) __attribute__((vector_size(VECTOR_BYTES / 2), aligned(1), may_alias));
typedef uint32_t NAME(Bits) __attribute__((vector_size(VECTOR_BYTES)));

INLINE VECTOR NAME(widened)(NAME(Half) halves) { return (VECTOR)(__builtin_convertvector(halves, NAME(Bits)) << 16); }

INLINE VECTOR NAME(read)(int stored_itemsize, const char *address) {
    return stored_itemsize == sizeof(ITEM) ? LOAD(address) : NAME(widened)(*(const NAME(Half) *)address);
}

INLINE VECTOR NAME(read_some)(int stored_itemsize, const char *address, int count) {
    NAME(Half) halves = {0};
    if (stored_itemsize == sizeof(ITEM)) return LOAD_PARTIAL(address, count);
    __builtin_memcpy(&halves, address, count * stored_itemsize);
    return NAME(widened)(halves);
}

#define READ(address) NAME(read)(stored_itemsize, address)
#define READ_SOME(address, count) NAME(read_some)(stored_itemsize, address, count)
#else
#define READ(address) LOAD(address)
#define READ_SOME(address, count) LOAD_PARTIAL(address, count)
#endif

/* Add up the chains of one sum by halves, and 0. */
INLINE ITEM NAME(add_chains_and_lanes)(VECTOR *sums) {
    UNROLL for (int half = REGISTERS / 2; half > 0; half /= 2)
        UNROLL for (int number = 0; number < half; number++) sums[number] = sums[number] + sums[number + half];
    VECTOR sum = sums[0];
#if LANES == 16
    sum = sum + __builtin_shufflevector(sum, sum, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    sum = sum + __builtin_shufflevector(sum, sum, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    sum = sum + __builtin_shufflevector(sum, sum, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    sum = sum + __builtin_shufflevector(sum, sum, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
#elif LANES == 8
    sum = sum + __builtin_shufflevector(sum, sum, 4, 5, 6, 7, 0, 1, 2, 3);
    sum = sum + __builtin_shufflevector(sum, sum, 2, 3, 0, 1, 6, 7, 4, 5);
    sum = sum + __builtin_shufflevector(sum, sum, 1, 0, 3, 2, 5, 4, 7, 6);
#elif LANES == 4
    sum = sum + __builtin_shufflevector(sum, sum, 2, 3, 0, 1);
    sum = sum + __builtin_shufflevector(sum, sum, 1, 0, 3, 2);
#else
    sum = sum + __builtin_shufflevector(sum, sum, 1, 0);
#endif
    return sum[0] + 0;
}

/* Dot products of some rows, a constant number, whose k is contiguous. */
INLINE void NAME(row_dots)(
    int stored_itemsize, int rows, const char *vector, const char *matrix, int64_t row_stride, int64_t k_size,
        char *to) {
    int64_t itemsize = sizeof(ITEM), k = 0;
    VECTOR sums[TILE_ROWS][REGISTERS];
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int number = 0; number < REGISTERS; number++) sums[row][number] = (VECTOR){0};
    for (; k + CHAINS <= k_size; k += CHAINS)
        UNROLL for (int number = 0; number < REGISTERS; number++) {
            int64_t offset = k + number * LANES;
            VECTOR vector_values = LOAD(vector + offset * itemsize);
            UNROLL for (int row = 0; row < rows; row++)
                sums[row][number] =
                    FMA(vector_values, READ(matrix + row * row_stride + offset * stored_itemsize), sums[row][number]);
        }
    UNROLL for (int number = 0; number < REGISTERS; number++) {
        int64_t offset = k + number * LANES, remaining = k_size - offset;
        int count = remaining < LANES ? (int)remaining : LANES;
        if (count <= 0) break;
        VECTOR vector_values = LOAD_PARTIAL(vector + offset * itemsize, count);
        UNROLL for (int row = 0; row < rows; row++)
            sums[row][number] =
                FMA(vector_values, READ_SOME(matrix + row * row_stride + offset * stored_itemsize, count),
                    sums[row][number]);
    }
    UNROLL for (int row = 0; row < rows; row++) ((NAME(Item) *)to)[row] = NAME(add_chains_and_lanes)(sums[row]);
}

/* Dot products of rows whose elements have `stored_itemsize` bytes. */
INLINE void NAME(stored_dots)(
    int stored_itemsize, const char *vector, const char *matrix, int64_t row_stride, int64_t rows, int64_t k_size,
        char *to) {
    int64_t row = 0;
    for (; row + TILE_ROWS <= rows; row += TILE_ROWS)
        NAME(row_dots)(stored_itemsize, TILE_ROWS, vector, matrix + row * row_stride, row_stride, k_size,
            to + row * sizeof(ITEM));
    for (; row < rows; row++)
        NAME(row_dots)(stored_itemsize, 1, vector, matrix + row * row_stride, row_stride, k_size,
            to + row * sizeof(ITEM));
}

/* Add up the chains by halves, and 0, for a vector of columns. */
INLINE VECTOR NAME(add_chains)(VECTOR *sums) {
    UNROLL for (int half = CHAINS / 2; half > 0; half /= 2)
        UNROLL for (int chain = 0; chain < half; chain++) sums[chain] = sums[chain] + sums[chain + half];
    return sums[0] + (VECTOR){0};
}

/* A vector of columns, or what is left of them. */
#define COLUMNS(address) (columns - number * LANES < LANES ? READ_SOME(address, (int)(columns % LANES)) : READ(address))

/* Store a vector of sums, or its first columns. */
INLINE void NAME(store_columns)(VECTOR sum, int64_t count, char *to) {
    if (count >= LANES) *(NAME(Unaligned) *)to = sum;
    else
        for (int64_t lane = 0; lane < count; lane++) ((NAME(Item) *)to)[lane] = sum[lane];
}

/* Update K_GROUP chains of contiguous columns from `sums` on with `depth` values of k each, CHAINS apart.
   `prefetches`, a constant, is whether the matrix is prefetched. */
INLINE void NAME(update_chains)(
    int stored_itemsize, int prefetches, int depth, const NAME(Item) *vector, const char *matrix, int64_t k_stride,
        int64_t columns, VECTOR *sums, int64_t chain_stride) {
    VECTOR vector_values[K_DEPTH][K_GROUP];
    int64_t number = 0;
    UNROLL for (int level = 0; level < depth; level++)
        UNROLL for (int chain = 0; chain < K_GROUP; chain++)
            vector_values[level][chain] = BROADCAST(vector[level * CHAINS + chain]);
    for (; number < columns / LANES; number++)
        UNROLL for (int chain = 0; chain < K_GROUP; chain++) {
            VECTOR sum = sums[chain * chain_stride + number];
            UNROLL for (int level = 0; level < depth; level++) {
                const char *address =
                    matrix + (level * CHAINS + chain) * k_stride + number * LANES * stored_itemsize;
                if (prefetches) __builtin_prefetch(address + PREFETCH_DISTANCE * k_stride, 0, 2);
                sum = FMA(vector_values[level][chain], READ(address), sum);
            }
            sums[chain * chain_stride + number] = sum;
        }
    if (columns % LANES)
        UNROLL for (int chain = 0; chain < K_GROUP; chain++)
            UNROLL for (int level = 0; level < depth; level++)
                sums[chain * chain_stride + number] = FMA(
                    vector_values[level][chain],
                    READ_SOME(matrix + (level * CHAINS + chain) * k_stride + number * LANES * stored_itemsize,
                        (int)(columns % LANES)),
                    sums[chain * chain_stride + number]);
}

/* The sums of at most GEMV_MAX_COLUMNS contiguous columns. Chains are in memory; each is updated with
   contiguous reads. The stride of chains is odd: powers of two collide in cache sets. */
INLINE void NAME(stored_columns)(
    int stored_itemsize, int prefetches, const char *vector, const char *matrix, int64_t k_stride, int64_t columns,
        int64_t k_size, char *to) {
    VECTOR sums[CHAINS * (GEMV_MAX_COLUMNS / LANES + 1)];
    int64_t vectors = (columns + LANES - 1) / LANES, chain_stride = vectors + 1, k = 0;
    const NAME(Item) *vector_elements = (const NAME(Item) *)vector;
    for (int chain = 0; chain < CHAINS; chain++)
        for (int64_t number = 0; number < vectors; number++) sums[chain * chain_stride + number] = (VECTOR){0};
    for (; k + K_DEPTH * CHAINS <= k_size; k += K_DEPTH * CHAINS, matrix += K_DEPTH * CHAINS * k_stride)
        for (int chain = 0; chain < CHAINS; chain += K_GROUP)
            NAME(update_chains)(stored_itemsize, prefetches, K_DEPTH, vector_elements + k + chain,
                matrix + chain * k_stride, k_stride, columns, sums + chain * chain_stride, chain_stride);
    for (; k + K_GROUP <= k_size; k += K_GROUP, matrix += K_GROUP * k_stride)
        NAME(update_chains)(stored_itemsize, prefetches, 1, vector_elements + k, matrix, k_stride, columns,
            sums + k % CHAINS * chain_stride, chain_stride);
    for (; k < k_size; k++, matrix += k_stride) {
        VECTOR *chain = sums + k % CHAINS * chain_stride;
        for (int64_t number = 0; number < vectors; number++)
            chain[number] = FMA(BROADCAST(vector_elements[k]), COLUMNS(matrix + number * LANES * stored_itemsize),
                chain[number]);
    }
    for (int64_t number = 0; number < vectors; number++) {
        VECTOR halves[CHAINS];
        UNROLL for (int chain = 0; chain < CHAINS; chain++) halves[chain] = sums[chain * chain_stride + number];
        NAME(store_columns)(NAME(add_chains)(halves), columns - number * LANES, to + number * sizeof(VECTOR));
    }
}

/* The function `tile` of a work item, as `stored`. */
#define TILE(tile, stored, ...)                                                                                 \
    static CODE void NAME(tile)(                                                                                \
        const char *vector, const char *matrix, int64_t stride, int64_t outer_size, int64_t k_size, char *to) { \
        NAME(stored)(__VA_ARGS__, vector, matrix, stride, outer_size, k_size, to);                              \
    }

TILE(dots, stored_dots, sizeof(ITEM))
TILE(columns, stored_columns, sizeof(ITEM), 1)
TILE(cached_columns, stored_columns, sizeof(ITEM), 0)
#if LANES * 4 == VECTOR_BYTES
TILE(bf16_dots, stored_dots, 2)
TILE(bf16_columns, stored_columns, 2, 1)
#endif

#undef TILE
#undef READ
#undef READ_SOME
#undef COLUMNS
#undef CHAINS
#undef REGISTERS
#undef K_GROUP
#undef K_DEPTH
#undef PREFETCH_DISTANCE
#undef TILE_ROWS
