/* Measured loops of one element type and vector width; `vector_kinds.h` includes this for each. */

/* Keep a vector in a register, as if something read and changed it, so that no iteration is left out. */
#if defined(__x86_64__) && VECTOR_BYTES == 64
#define KEEP(vector) __asm__ volatile("" : "+v"(vector))
#elif defined(__x86_64__)
#define KEEP(vector) __asm__ volatile("" : "+x"(vector))
#elif defined(__aarch64__)
#define KEEP(vector) __asm__ volatile("" : "+w"(vector))
#else
#define KEEP(vector) __asm__ volatile("" : "+m"(vector))
#endif

/* Instructions of the kind on independent vectors: additions of integers, multiply-adds of floats. */
static RATE_CODE void NAME(instructions)(int64_t repeats) {
    VECTOR sums[RATE_CHAINS] = {0}, factor = BROADCAST((ITEM)1), term = BROADCAST((ITEM)3);
    for (int64_t repeat = 0; repeat < repeats; repeat++) {
        UNROLL for (int chain = 0; chain < RATE_CHAINS; chain++) {
#ifdef HAS_INTEGER_ITEMS
            sums[chain] += term;
#else
            sums[chain] = FMA(sums[chain], factor, term);
#endif
            KEEP(sums[chain]);
        }
    }
    (void)factor;
}

#ifndef HAS_INTEGER_ITEMS

/* A function of `degree` multiply-adds of each element, in place. */
static RATE_CODE void NAME(functions)(char *memory, int64_t bytes, int64_t degree, int64_t repeats) {
    VECTOR term = BROADCAST((ITEM)0.5);
    for (int64_t repeat = 0; repeat < repeats; repeat++)
        for (char *end = memory + bytes, *at = memory; at < end; at += RATE_VECTORS * VECTOR_BYTES) {
            VECTOR x[RATE_VECTORS], sums[RATE_VECTORS];
            UNROLL for (int v = 0; v < RATE_VECTORS; v++) {
                x[v] = LOAD(at + v * VECTOR_BYTES);
                sums[v] = term;
            }
            for (int64_t number = 0; number < degree; number++)
                UNROLL for (int v = 0; v < RATE_VECTORS; v++) sums[v] = FMA(sums[v], x[v], term);
            UNROLL for (int v = 0; v < RATE_VECTORS; v++)
                *(NAME(Unaligned) *)(at + v * VECTOR_BYTES) = (NAME(Unaligned))sums[v];
        }
}

#else

/* Store a vector at an aligned address, past the caches where `streams`. */
INLINE void NAME(store)(char *address, VECTOR vector, int streams) {
#ifdef __x86_64__
#if VECTOR_BYTES == 64
    if (streams) { _mm512_stream_si512((__m512i *)address, (__m512i)vector); return; }
#elif VECTOR_BYTES == 32
    if (streams) { _mm256_stream_si256((__m256i *)address, (__m256i)vector); return; }
#else
    if (streams) { _mm_stream_si128((__m128i *)address, (__m128i)vector); return; }
#endif
#endif
    (void)streams;
    *(NAME(Unaligned) *)address = (NAME(Unaligned))vector;
}

/* Read `reads` arrays and write `writes`, each of `bytes` bytes, one behind the other; all three are constants but the
   bytes. */
INLINE void NAME(traffic)(int reads, int writes, int streams, int prefetches, char *memory, int64_t bytes) {
    VECTOR sums[RATE_VECTORS] = {0};
    const char *left = memory, *right = memory + bytes;
    char *to = memory + reads * bytes;
    for (int64_t at = 0; at < bytes; at += RATE_VECTORS * VECTOR_BYTES)
        UNROLL for (int v = 0; v < RATE_VECTORS; v++) {
            int64_t here = at + v * VECTOR_BYTES;
            if (prefetches && here % 64 == 0) {
                if (reads) __builtin_prefetch(left + here + RATE_PREFETCH_BYTES);
                if (reads > 1) __builtin_prefetch(right + here + RATE_PREFETCH_BYTES);
            }
            VECTOR value = reads ? LOAD(left + here) : sums[v];
            if (reads > 1) value ^= LOAD(right + here);
            if (writes) NAME(store)(to + here, value, streams);
            else sums[v] ^= value;
        }
    if (!writes) UNROLL for (int v = 0; v < RATE_VECTORS; v++) KEEP(sums[v]);
#ifdef __x86_64__
    if (streams) _mm_sfence();
#endif
}

/* The traffic of a kind in a variant, `repeats` times. */
static RATE_CODE void NAME(moves)(int kind, int variant, char *memory, int64_t bytes, int64_t repeats) {
#define MOVES(reads, writes)                                                              \
    do {                                                                                  \
        if (variant == 3) NAME(traffic)(reads, writes, 1, 1, memory, bytes);              \
        else if (variant == 2) NAME(traffic)(reads, writes, 0, 1, memory, bytes);         \
        else if (variant == 1) NAME(traffic)(reads, writes, 1, 0, memory, bytes);         \
        else NAME(traffic)(reads, writes, 0, 0, memory, bytes);                           \
    } while (0)
    for (int64_t repeat = 0; repeat < repeats; repeat++) {
        if (kind == RATE_READ) MOVES(1, 0);
        else if (kind == RATE_TRIAD) MOVES(2, 1);
        else if (kind == RATE_COPY) MOVES(1, 1);
        else MOVES(0, 1);
        __asm__ volatile("" : : : "memory");
    }
#undef MOVES
}

#endif

#undef KEEP
