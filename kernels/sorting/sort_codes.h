/* Sort codes: unsigned integers of an element's width and of the same order (`sort_encoding.py`). */

#ifndef NIMBLEHLO_SORT_CODES_H
#define NIMBLEHLO_SORT_CODES_H

#include "radix_sort.h"
#include "simd/processor_level.h"

/* Elements that are encoded or decoded at a time. */
enum { SORT_BLOCK = 1 << 10 };

/* How elements are encoded: the fields of `sort_encoding.Encoding`. */
enum { SORT_UNSIGNED, SORT_SIGNED, SORT_TOTAL, SORT_CANONICAL };
typedef struct {
    uint64_t mode, ones, sign, infinity, flip, nan;
} SortEncoding;

/* A row to be sorted. `item_bytes`: of an element, 1, 2, 4 or 8. `values` receives the sorted elements, or is NULL.

   Without `positions`, codes are sorted. With them, pairs are: numbers of 64 bits whose upper halves are 32 bits of a
   code, from bit `shift` on, and whose lower halves are positions. As all pairs differ, an unstable sort gives the
   stable order. `positions` receives the sorted positions; where `permutation` is not NULL, the row is the elements at
   the positions that it has, and these are what `positions` receives. */
typedef struct {
    int64_t item_bytes, length, shift;
    SortEncoding encoding;
    const struct SortCodes *codes;
    const void *elements;
    const uint32_t *permutation;
    void *values;
    uint32_t *positions;
} SortedRow;

/* The functions for elements of one width:

   encode: writes the codes of `count` elements; returns whether different elements may have one code.
   decode: writes the elements of codes; of elements with one code, the positive one.
   upper_halves: writes the upper halves of the pairs of at most SORT_BLOCK elements; returns as `encode`.
   paired_values: writes `values` from `begin` on, of sorted pairs; `has_shared_codes`: what `upper_halves` returned.
   restore: puts the zeros, and the NaNs, of a sorted row as they were, in the order in which they stood. */
typedef struct SortCodes {
    int (*encode)(const SortEncoding *, const void *elements, intptr_t count, void *codes);
    void (*decode)(const SortEncoding *, const void *codes, intptr_t count, void *elements);
    int (*upper_halves)(const SortedRow *, int64_t first, intptr_t count, uint32_t *halves);
    void (*paired_values)(const SortedRow *, const uint64_t *pairs, int64_t begin, int64_t count, int has_shared_codes);
    void (*restore)(const SortedRow *);
} SortCodes;

#define SORT_CODES(name, Number, CODE)                                                                              \
    static CODE int name##_encode(const SortEncoding *e, const void *from, intptr_t count, void *to) {              \
        const Number ones = (Number)e->ones, sign = (Number)e->sign, infinity = (Number)e->infinity;                \
        const Number flip = (Number)e->flip, nan = (Number)e->nan, magnitudes = ones ^ sign, *elements = from;      \
        Number has_shared_codes = 0, *codes = to;                                                                   \
        if (e->mode == SORT_UNSIGNED || e->mode == SORT_SIGNED) {                                                   \
            const Number flipped = e->mode == SORT_SIGNED ? flip ^ sign : flip;                                     \
            for (intptr_t i = 0; i < count; i++) codes[i] = elements[i] ^ flipped;                                  \
        } else if (e->mode == SORT_TOTAL) {                                                                         \
            for (intptr_t i = 0; i < count; i++)                                                                    \
                codes[i] = elements[i] ^ (elements[i] & sign ? ones : sign) ^ flip;                                 \
        } else {                                                                                                    \
            for (intptr_t i = 0; i < count; i++) {                                                                  \
                Number bits = elements[i], magnitude = bits & magnitudes;                                           \
                Number rising = magnitude ? bits ^ (bits & sign ? ones : sign) : sign;                              \
                codes[i] = magnitude > infinity ? nan : rising ^ flip;                                              \
                has_shared_codes |= (Number)(bits == sign) | (Number)(magnitude > infinity);                        \
            }                                                                                                       \
        }                                                                                                           \
        return has_shared_codes != 0;                                                                               \
    }                                                                                                               \
    static CODE void name##_decode(const SortEncoding *e, const void *from, intptr_t count, void *to) {             \
        const Number ones = (Number)e->ones, sign = (Number)e->sign, flip = (Number)e->flip, *codes = from;         \
        Number *elements = to;                                                                                      \
        if (e->mode == SORT_UNSIGNED || e->mode == SORT_SIGNED) {                                                   \
            const Number flipped = e->mode == SORT_SIGNED ? flip ^ sign : flip;                                     \
            for (intptr_t i = 0; i < count; i++) elements[i] = codes[i] ^ flipped;                                  \
            return;                                                                                                 \
        }                                                                                                           \
        for (intptr_t i = 0; i < count; i++) {                                                                      \
            Number rising = codes[i] ^ flip;                                                                        \
            elements[i] = rising ^ (rising & sign ? sign : ones);                                                   \
        }                                                                                                           \
    }                                                                                                               \
    static CODE int name##_upper_halves(const SortedRow *row, int64_t first, intptr_t count, uint32_t *halves) {    \
        Number codes[SORT_BLOCK];                                                                                   \
        const Number *elements = row->elements;                                                                     \
        const uint32_t *permutation = row->permutation;                                                             \
        const int shift = (int)row->shift;                                                                          \
        if (permutation)                                                                                            \
            for (intptr_t i = 0; i < count; i++) codes[i] = elements[permutation[first + i]];                       \
        int has_shared_codes = name##_encode(&row->encoding, permutation ? codes : elements + first, count, codes); \
        for (intptr_t i = 0; i < count; i++) halves[i] = (uint32_t)(codes[i] >> shift);                             \
        return has_shared_codes;                                                                                    \
    }                                                                                                               \
    static CODE void name##_paired_values(                                                                          \
        const SortedRow *row, const uint64_t *pairs, int64_t begin, int64_t count, int has_shared_codes) {          \
        Number codes[SORT_BLOCK], *values = row->values;                                                            \
        const Number *elements = row->elements;                                                                     \
        for (int64_t first = 0; first < count; first += SORT_BLOCK) {                                               \
            intptr_t block = count - first < SORT_BLOCK ? count - first : SORT_BLOCK;                               \
            const uint64_t *from = pairs + first;                                                                   \
            Number *to = values + begin + first;                                                                    \
            if (has_shared_codes) {                                                                                 \
                for (intptr_t i = 0; i < block; i++) to[i] = elements[(uint32_t)from[i]];                           \
            } else {                                                                                                \
                for (intptr_t i = 0; i < block; i++) codes[i] = (Number)(from[i] >> 32);                            \
                name##_decode(&row->encoding, codes, block, to);                                                    \
            }                                                                                                       \
        }                                                                                                           \
    }                                                                                                               \
    static CODE void name##_restore(const SortedRow *row) {                                                         \
        const Number magnitudes = (Number)(row->encoding.ones ^ row->encoding.sign), *elements = row->elements;     \
        const Number infinity = (Number)row->encoding.infinity;                                                     \
        Number *values = row->values;                                                                               \
        int64_t zero = 0, nan = 0;                                                                                  \
        while (zero < row->length && values[zero] & magnitudes) zero++;                                             \
        while (nan < row->length && (values[nan] & magnitudes) <= infinity) nan++;                                  \
        for (int64_t i = 0; i < row->length; i++) {                                                                 \
            const Number magnitude = elements[i] & magnitudes;                                                      \
            if (!magnitude) values[zero++] = elements[i];                                                           \
            else if (magnitude > infinity) values[nan++] = elements[i];                                             \
        }                                                                                                           \
    }

#define SORT_CODES_OF_LEVEL(level, CODE)                                               \
    SORT_CODES(codes_8_##level, uint8_t, CODE)                                         \
    SORT_CODES(codes_16_##level, uint16_t, CODE)                                       \
    SORT_CODES(codes_32_##level, uint32_t, CODE)                                       \
    SORT_CODES(codes_64_##level, uint64_t, CODE)                                       \
    static const SortCodes codes_##level[] = {                                         \
        SORT_CODES_FUNCTIONS(codes_8_##level), SORT_CODES_FUNCTIONS(codes_16_##level), \
        SORT_CODES_FUNCTIONS(codes_32_##level), SORT_CODES_FUNCTIONS(codes_64_##level)};
#define SORT_CODES_FUNCTIONS(name) \
    {name##_encode, name##_decode, name##_upper_halves, name##_paired_values, name##_restore}

#define SORT_V3 __attribute__((target("avx2")))
#define SORT_V4 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

SORT_CODES_OF_LEVEL(base, )
#if defined(__GNUC__) && defined(__x86_64__)
SORT_CODES_OF_LEVEL(v3, SORT_V3)
SORT_CODES_OF_LEVEL(v4, SORT_V4)
#endif

static int log2_bytes(int64_t item_bytes) { return item_bytes == 8 ? 3 : (int)item_bytes >> 1; }

/* The functions of this processor. */
static const SortCodes *sort_codes(int64_t item_bytes) {
#if defined(__GNUC__) && defined(__x86_64__)
    if (has_avx512()) return &codes_v4[log2_bytes(item_bytes)];
    if (has_avx2(0)) return &codes_v3[log2_bytes(item_bytes)];
#endif
    return &codes_base[log2_bytes(item_bytes)];
}

/* Writes the results of sorted pairs from `begin` on. */
static void write_pairs(
    const SortedRow *row, const uint64_t *pairs, int64_t begin, int64_t count, int has_shared_codes) {
    const uint32_t *permutation = row->permutation;
    uint32_t *positions = row->positions + begin;
    if (permutation)
        for (int64_t i = 0; i < count; i++) positions[i] = permutation[(uint32_t)pairs[i]];
    else
        for (int64_t i = 0; i < count; i++) positions[i] = (uint32_t)pairs[i];
    if (row->values) row->codes->paired_values(row, pairs, begin, count, has_shared_codes);
}

#endif
