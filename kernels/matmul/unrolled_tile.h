/* The inner loop of a full tile with few instructions besides its multiply-adds: several values of k at a time, for
   rows whose values are contiguous along k. `matmul_tiles.h` includes this for each float of 64-byte vectors.

   A core that two hardware threads share issues half as many instructions for each, and a tile of 14 x 2 vectors that
   advances its addresses after each value of k waits for instructions rather than for multiply-adds. A product of
   128 x 768 x 3072 with a packed matrix takes 0.92 of the time with this loop, and 0.90 while the other hardware thread
   is busy (Sapphire Rapids). Inline assembly fixes the instructions and their order: GCC otherwise computes an address
   for each row and value of k, runs out of registers, and keeps sums in memory.

   The order of additions is that of one value of k at a time. */

#if LANES == 16
#define SUFFIX "s"
#else
#define SUFFIX "d"
#endif

/* ROW_ITEM broadcasts the item `offset` bytes behind an address plus `scale` strides. ADD_PRODUCT multiplies in the
   order of FMA(item, columns, sum), which decides which of two NaNs is the result; ADD_HALF_PRODUCT only the first half
   of each, and makes the other half of the sum zero. */
#define FIRST_ITEM(to, address, offset) \
    __asm__ volatile("vbroadcasts" SUFFIX " %c2(%1), %0" : "=v"(to) : "r"(address), "i"(offset))
#define ROW_ITEM(to, address, stride, scale, offset)                     \
    __asm__ volatile("vbroadcasts" SUFFIX " %c3(%1,%2," #scale "), %0" \
                     : "=v"(to)                                          \
                     : "r"(address), "r"(stride), "i"(offset))
#define ADD_PRODUCT(sum, item, columns) \
    __asm__ volatile("vfmadd231p" SUFFIX " %2, %1, %0" : "+v"(sum) : "v"(item), "v"(columns))
#define ADD_HALF_PRODUCT(sum, item, columns) \
    __asm__ volatile("vfmadd231p" SUFFIX " %t2, %t1, %t0" : "+v"(sum) : "v"(item), "v"(columns))

/* Add the outer product of one value of k, the `number`-th from the addresses on. `is_half`: the last vector has no
   more columns than half a vector. */
INLINE void NAME(add_outer_product)(
    int rows, int vectors, int is_half, int number, const char *const *row_addresses, int64_t row_stride,
    const char *right, VECTOR sums[ROWS][LOW_VECTORS]) {
    VECTOR columns[LOW_VECTORS], item;
    UNROLL for (int vector = 0; vector < vectors; vector++) columns[vector] = LOAD(right + vector * sizeof(VECTOR));
    UNROLL for (int row = 0; row < rows; row++) {
        const char *address = row_addresses[row / 3];
        if (row % 3 == 0) FIRST_ITEM(item, address, number * (int)sizeof(ITEM));
        else if (row % 3 == 1) ROW_ITEM(item, address, row_stride, 1, number * (int)sizeof(ITEM));
        else ROW_ITEM(item, address, row_stride, 2, number * (int)sizeof(ITEM));
        UNROLL for (int vector = 0; vector < vectors - is_half; vector++)
            ADD_PRODUCT(sums[row][vector], item, columns[vector]);
        if (is_half) ADD_HALF_PRODUCT(sums[row][vectors - 1], item, columns[vectors - 1]);
    }
}

/* Add the outer products up to the last multiple of MATMUL_UNROLLED_K before the columns' address `end`. Prefetch a
   cache line for each multiple. */
INLINE void NAME(add_unrolled)(
    int rows, int vectors, int is_half, const char **row_addresses, int64_t row_stride, const char **right,
    int64_t right_stride, const char *end, PanelPrefetch *prefetch, VECTOR sums[ROWS][LOW_VECTORS]) {
    const char *columns = *right, *cache_line = prefetch->cache_line;
    int64_t line_stride = prefetch->line_stride;
    /* What has been stored is in memory: the instructions read it, which the compiler is not told. */
    __asm__ volatile("" : : : "memory");
    for (int64_t left = (end - columns) / right_stride / MATMUL_UNROLLED_K; left; left--) {
        __builtin_prefetch(cache_line, 0, 2);
        cache_line += line_stride;
        UNROLL for (int number = 0; number < MATMUL_UNROLLED_K; number++) {
            NAME(add_outer_product)(rows, vectors, is_half, number, row_addresses, row_stride, columns, sums);
            columns += right_stride;
            __asm__ volatile("" : "+r"(columns));
        }
        UNROLL for (int group = 0; group < (rows + 2) / 3; group++) {
            row_addresses[group] += MATMUL_UNROLLED_K * sizeof(ITEM);
            __asm__ volatile("" : "+r"(row_addresses[group]));
        }
    }
    *right = columns, prefetch->cache_line = cache_line;
}

#undef FIRST_ITEM
#undef ROW_ITEM
#undef ADD_PRODUCT
#undef ADD_HALF_PRODUCT
#undef SUFFIX
