/* Products of matrices and vectors for one element type and one kind of vector: `vector_kinds.h` includes this for
   each. */

/* Lines of a tile. */
#if VECTOR_BYTES == 64
#define LINES 8
#else
#define LINES 4
#endif
#define CHAINS ((int)(VECTOR_PRODUCT_BYTES / sizeof(ITEM)))
#define REGISTERS (CHAINS / LANES)
/* Terms that are read at once where there are many columns; vectors of few. */
#define GROUP 4
#define FEW_VECTORS 4
#define AHEAD (4 * GROUP)

/* Elements of a matrix, `stored` in so many bytes, a constant: of f32 two hold the high half, which is bf16. */
#if LANES * 4 == VECTOR_BYTES
typedef uint16_t NAME(Half) __attribute__((vector_size(VECTOR_BYTES / 2), aligned(1), may_alias));
typedef uint32_t NAME(Word) __attribute__((vector_size(VECTOR_BYTES)));

INLINE VECTOR NAME(widened)(NAME(Half) halves) { return (VECTOR)(__builtin_convertvector(halves, NAME(Word)) << 16); }

INLINE VECTOR NAME(read)(int stored, const char *address) {
    return stored == sizeof(ITEM) ? LOAD(address) : NAME(widened)(*(const NAME(Half) *)address);
}

INLINE VECTOR NAME(read_some)(int stored, const char *address, int count) {
    NAME(Half) halves = {0};
    if (stored == sizeof(ITEM)) return SOME(address, count);
    __builtin_memcpy(&halves, address, count * stored);
    return NAME(widened)(halves);
}

#define READ(address) NAME(read)(stored, address)
#define READ_SOME(address, count) NAME(read_some)(stored, address, count)
#else
#define READ(address) LOAD(address)
#define READ_SOME(address, count) SOME(address, count)
#endif

/* The sums of chains added by halves, and 0. */
INLINE ITEM NAME(total)(VECTOR *sums) {
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

/* Some lines, a constant, whose terms lie side by side. */
INLINE void NAME(dots_of)(
    int stored, int lines, const char *vector, const char *matrix, int64_t line_step, int64_t terms, char *to) {
    int64_t item = sizeof(ITEM), term = 0;
    VECTOR sums[LINES][REGISTERS];
    UNROLL for (int line = 0; line < lines; line++)
        UNROLL for (int number = 0; number < REGISTERS; number++) sums[line][number] = (VECTOR){0};
    for (; term + CHAINS <= terms; term += CHAINS)
        UNROLL for (int number = 0; number < REGISTERS; number++) {
            int64_t at = term + number * LANES;
            VECTOR factors = LOAD(vector + at * item);
            UNROLL for (int line = 0; line < lines; line++)
                sums[line][number] =
                    FUSED(factors, READ(matrix + line * line_step + at * stored), sums[line][number]);
        }
    UNROLL for (int number = 0; number < REGISTERS; number++) {
        int64_t at = term + number * LANES, left = terms - at;
        int count = left < LANES ? (int)left : LANES;
        if (count <= 0) break;
        VECTOR factors = SOME(vector + at * item, count);
        UNROLL for (int line = 0; line < lines; line++)
            sums[line][number] =
                FUSED(factors, READ_SOME(matrix + line * line_step + at * stored, count), sums[line][number]);
    }
    UNROLL for (int line = 0; line < lines; line++) ((NAME(Item) *)to)[line] = NAME(total)(sums[line]);
}

INLINE void NAME(any_dots)(
    int stored, const char *vector, const char *matrix, int64_t line_step, int64_t lines, int64_t terms, char *to) {
    int64_t line = 0;
    for (; line + LINES <= lines; line += LINES)
        NAME(dots_of)(stored, LINES, vector, matrix + line * line_step, line_step, terms, to + line * sizeof(ITEM));
    for (; line < lines; line++)
        NAME(dots_of)(stored, 1, vector, matrix + line * line_step, line_step, terms, to + line * sizeof(ITEM));
}

/* The sums of chains added by halves, and 0, of lines side by side. */
INLINE VECTOR NAME(added)(VECTOR *sums) {
    UNROLL for (int half = CHAINS / 2; half > 0; half /= 2)
        UNROLL for (int chain = 0; chain < half; chain++) sums[chain] = sums[chain] + sums[chain + half];
    return sums[0] + (VECTOR){0};
}

/* At most as many lines side by side as a vector has, the chains' sums in registers. */
INLINE VECTOR NAME(column)(
    int stored, int count, const char *vector, const char *matrix, int64_t term_step, int64_t terms) {
    VECTOR sums[CHAINS];
    int64_t term = 0;
    UNROLL for (int chain = 0; chain < CHAINS; chain++) sums[chain] = (VECTOR){0};
    for (; term + CHAINS <= terms; term += CHAINS)
        UNROLL for (int chain = 0; chain < CHAINS; chain++, matrix += term_step) {
            VECTOR one = REPEATED(((const NAME(Item) *)vector)[term + chain]);
            sums[chain] = FUSED(one, count == LANES ? READ(matrix) : READ_SOME(matrix, count), sums[chain]);
        }
    UNROLL for (int chain = 0; chain < CHAINS; chain++, matrix += term_step)
        if (term + chain < terms) {
            VECTOR one = REPEATED(((const NAME(Item) *)vector)[term + chain]);
            sums[chain] = FUSED(one, count == LANES ? READ(matrix) : READ_SOME(matrix, count), sums[chain]);
        }
    return NAME(added)(sums);
}

/* As many as a vector has, or fewer. */
#define COLUMNS(address) (lines - number * LANES < LANES ? READ_SOME(address, (int)(lines % LANES)) : READ(address))

/* Write the last vector's, if they are fewer. */
INLINE void NAME(leave)(VECTOR sum, int64_t count, char *to) {
    if (count >= LANES) *(NAME(Loose) *)to = sum;
    else
        for (int64_t place = 0; place < count; place++) ((NAME(Item) *)to)[place] = sum[place];
}

/* At most VECTOR_PRODUCT_MOST_COLUMNS lines that lie side by side, some terms at a time, which are in chains of their
   own: what is read lies side by side. The chains' sums are apart by no power of two, which caches keep badly. */
INLINE void NAME(many_columns)(
    int stored, const char *vector, const char *matrix, int64_t term_step, int64_t lines, int64_t terms, char *to) {
    VECTOR sums[CHAINS * (VECTOR_PRODUCT_MOST_COLUMNS / LANES + 1)];
    int64_t vectors = (lines + LANES - 1) / LANES, apart = vectors + 1, term = 0;
    const NAME(Item) *factors = (const NAME(Item) *)vector;
    for (int chain = 0; chain < CHAINS; chain++)
        for (int64_t number = 0; number < vectors; number++) sums[chain * apart + number] = (VECTOR){0};
    for (; term + GROUP <= terms; term += GROUP, matrix += GROUP * term_step) {
        VECTOR ones[GROUP], *chains = sums + term % CHAINS * apart;
        UNROLL for (int one = 0; one < GROUP; one++) ones[one] = REPEATED(factors[term + one]);
        for (int64_t number = 0; number < lines / LANES; number++)
            UNROLL for (int one = 0; one < GROUP; one++) {
                const char *place = matrix + one * term_step + number * LANES * stored;
                __builtin_prefetch(place + AHEAD * term_step);
                chains[one * apart + number] = FUSED(ones[one], READ(place), chains[one * apart + number]);
            }
        if (lines % LANES)
            UNROLL for (int one = 0; one < GROUP; one++)
                chains[one * apart + vectors - 1] = FUSED(
                    ones[one],
                    READ_SOME(matrix + one * term_step + lines / LANES * LANES * stored, (int)(lines % LANES)),
                    chains[one * apart + vectors - 1]);
    }
    for (; term < terms; term++, matrix += term_step) {
        VECTOR *chain = sums + term % CHAINS * apart;
        for (int64_t number = 0; number < vectors; number++)
            chain[number] = FUSED(REPEATED(factors[term]), COLUMNS(matrix + number * LANES * stored), chain[number]);
    }
    for (int64_t number = 0; number < vectors; number++) {
        VECTOR halves[CHAINS];
        UNROLL for (int chain = 0; chain < CHAINS; chain++) halves[chain] = sums[chain * apart + number];
        NAME(leave)(NAME(added)(halves), lines - number * LANES, to + number * sizeof(VECTOR));
    }
}

INLINE void NAME(any_columns)(
    int stored, const char *vector, const char *matrix, int64_t term_step, int64_t lines, int64_t terms, char *to) {
    if (lines > FEW_VECTORS * LANES) {
        NAME(many_columns)(stored, vector, matrix, term_step, lines, terms, to);
        return;
    }
    for (int64_t first = 0; first < lines; first += LANES, matrix += LANES * stored, to += sizeof(VECTOR)) {
        VECTOR sum = first + LANES <= lines
                         ? NAME(column)(stored, LANES, vector, matrix, term_step, terms)
                         : NAME(column)(stored, (int)(lines % LANES), vector, matrix, term_step, terms);
        NAME(leave)(sum, lines - first, to);
    }
}

#define TILES(name, stored)                                                                        \
    static CODE void NAME(name##dots)(                                                             \
        const char *vector, const char *matrix, int64_t step, int64_t lines, int64_t terms, char *to) { \
        NAME(any_dots)(stored, vector, matrix, step, lines, terms, to);                            \
    }                                                                                              \
    static CODE void NAME(name##columns)(                                                          \
        const char *vector, const char *matrix, int64_t step, int64_t lines, int64_t terms, char *to) { \
        NAME(any_columns)(stored, vector, matrix, step, lines, terms, to);                         \
    }

TILES(, sizeof(ITEM))
#if LANES * 4 == VECTOR_BYTES
TILES(half_, 2)
#endif

#undef TILES
#undef READ
#undef READ_SOME
#undef COLUMNS
#undef CHAINS
#undef REGISTERS
#undef GROUP
#undef FEW_VECTORS
#undef AHEAD
#undef LINES
