/* Sorts one long row by several threads: the numbers are divided into groups by their leading bits, each of which stays
   in the cache of a core while it is sorted by the remaining bits (`radix_sort.h`).

   The row is read in chunks. The tasks of GROUPED_COUNT count the prefixes of a chunk: the leading bits of a number's
   difference from the least of a sample. `grouped_divide` makes groups of adjacent prefixes. The tasks of
   GROUPED_DISTRIBUTE copy the numbers of a chunk to their groups, in order. The tasks of GROUPED_SORT sort a group each
   and write its results. The sorted order is unique, so that neither the sample nor the threads matter to the result.

   Numbers are the codes of the elements (`sort_encoding.py`). If positions are wanted, codes have 32 bits, which are
   above the positions in numbers of 64 bits. */

#ifndef NIMBLEHLO_GROUPED_SORT_H
#define NIMBLEHLO_GROUPED_SORT_H

#include "radix_sort.h"
#include "simd/processor_level.h"

/* GROUPED_BYTES: target size of a group: a group and as much scratch fit the L2 cache. GROUPED_DIGIT_BITS: of a digit
   within a group: the cache lines to which the digits' values lead fit the L1 cache. GROUPED_COUNTERS: tables in which
   successive numbers are counted in turn: an increment waits for the one before it of the same count. */
enum {
    GROUPED_PREFIX_BITS = 11, GROUPED_PREFIXES = 1 << GROUPED_PREFIX_BITS, GROUPED_DIGIT_BITS = 9, GROUPED_COUNTERS = 2,
    GROUPED_MAX_GROUPS = 256, GROUPED_BYTES = 1 << 18, GROUPED_SAMPLES = 1 << 10, GROUPED_BLOCK = 1 << 10
};

enum { GROUPED_COUNT, GROUPED_DISTRIBUTE, GROUPED_SORT };

/* How elements are encoded: the fields of `sort_encoding.Encoding`. */
enum { GROUPED_UNSIGNED, GROUPED_SIGNED, GROUPED_TOTAL, GROUPED_CANONICAL };
typedef struct { uint64_t mode, ones, sign, infinity, flip, nan; } GroupedEncoding;

/* `stage`: what tasks do. `item_bytes`: of an element, 4 or 8. `position_bytes`: of a position, 4 or 8, or 0 without
   positions; `values` is NULL if positions alone are wanted. `numbers` and `scratch` have `length` numbers; without
   positions `scratch` may be `values`. `counts` has GROUPED_PREFIXES counts for each chunk, `next` for each chunk where
   its next number of each group goes. `is_mixed`: whether different elements of a chunk may have one code. */
typedef struct {
    int64_t stage, item_bytes, position_bytes, length, chunk, chunks;
    GroupedEncoding encoding;
    const void *elements;
    void *numbers, *scratch, *values, *positions;
    uint32_t *counts, *next;
    uint8_t *is_mixed;
    int64_t group_count, shift, any_mixed;
    uint64_t base;
    uint8_t groups[GROUPED_PREFIXES];
    int64_t begins[GROUPED_MAX_GROUPS + 1];
    uint64_t min_codes[GROUPED_MAX_GROUPS], max_codes[GROUPED_MAX_GROUPS];
} GroupedSort;

/* The functions for elements of `Number`:

   encode: writes the codes of `count` elements; returns whether different elements may have one code.
   prefixes: writes the prefixes of codes.
   sample: chooses the prefixes; returns how many numbers of the sample have the most frequent one.
   count, distribute_codes, distribute_pairs: what tasks do. */
#define GROUPED_ELEMENTS(name, Number, CODE)                                                                          \
    static CODE int name##_encode(const GroupedEncoding *e, const Number *elements, intptr_t count, Number *codes) {  \
        const Number ones = (Number)e->ones, sign = (Number)e->sign, infinity = (Number)e->infinity;                  \
        const Number flip = (Number)e->flip, nan = (Number)e->nan, magnitudes = ones ^ sign;                          \
        Number is_mixed = 0;                                                                                          \
        if (e->mode == GROUPED_UNSIGNED || e->mode == GROUPED_SIGNED) {                                               \
            const Number flipped = e->mode == GROUPED_SIGNED ? flip ^ sign : flip;                                    \
            for (intptr_t i = 0; i < count; i++) codes[i] = elements[i] ^ flipped;                                    \
        } else if (e->mode == GROUPED_TOTAL) {                                                                        \
            for (intptr_t i = 0; i < count; i++)                                                                      \
                codes[i] = elements[i] ^ (elements[i] & sign ? ones : sign) ^ flip;                                   \
        } else {                                                                                                      \
            for (intptr_t i = 0; i < count; i++) {                                                                    \
                Number bits = elements[i], magnitude = bits & magnitudes;                                             \
                Number rising = magnitude ? bits ^ (bits & sign ? ones : sign) : sign;                                \
                codes[i] = magnitude > infinity ? nan : rising ^ flip;                                                \
                is_mixed |= (Number)(bits == sign) | (Number)(magnitude > infinity);                                  \
            }                                                                                                         \
        }                                                                                                             \
        return is_mixed != 0;                                                                                         \
    }                                                                                                                 \
    static CODE void name##_prefixes(const GroupedSort *s, const Number *codes, intptr_t count, uint32_t *prefixes) { \
        const Number base = (Number)s->base;                                                                          \
        const int shift = (int)s->shift;                                                                              \
        for (intptr_t i = 0; i < count; i++) {                                                                        \
            Number above = codes[i] > base ? (Number)(codes[i] - base) >> shift : 0;                                  \
            prefixes[i] = (uint32_t)(above < GROUPED_PREFIXES ? above : GROUPED_PREFIXES - 1);                        \
        }                                                                                                             \
    }                                                                                                                 \
    static CODE int64_t name##_sample(GroupedSort *s) {                                                               \
        Number codes[GROUPED_SAMPLES], low, high;                                                                     \
        uint32_t prefixes[GROUPED_SAMPLES], counts[GROUPED_PREFIXES], max_count = 0;                                  \
        const Number *elements = s->elements;                                                                         \
        intptr_t stride = s->length / GROUPED_SAMPLES;                                                                \
        for (intptr_t i = 0; i < GROUPED_SAMPLES; i++) codes[i] = elements[i * stride];                               \
        name##_encode(&s->encoding, codes, GROUPED_SAMPLES, codes);                                                   \
        low = high = codes[0];                                                                                        \
        for (intptr_t i = 1; i < GROUPED_SAMPLES; i++) {                                                              \
            low = codes[i] < low ? codes[i] : low;                                                                    \
            high = codes[i] > high ? codes[i] : high;                                                                 \
        }                                                                                                             \
        s->base = low, s->shift = 0;                                                                                  \
        while ((Number)(high - low) >> s->shift >= GROUPED_PREFIXES) s->shift++;                                      \
        name##_prefixes(s, codes, GROUPED_SAMPLES, prefixes);                                                         \
        memset(counts, 0, sizeof counts);                                                                             \
        for (intptr_t i = 0; i < GROUPED_SAMPLES; i++) counts[prefixes[i]]++;                                         \
        for (intptr_t i = 0; i < GROUPED_SAMPLES; i++)                                                                \
            if (counts[prefixes[i]] > max_count) max_count = counts[prefixes[i]];                                     \
        return max_count;                                                                                             \
    }                                                                                                                 \
    static CODE void name##_count(GroupedSort *s, int64_t chunk) {                                                    \
        Number codes[GROUPED_BLOCK];                                                                                  \
        uint32_t prefixes[GROUPED_BLOCK], counters[GROUPED_COUNTERS][GROUPED_PREFIXES];                               \
        uint32_t *counts = s->counts + chunk * GROUPED_PREFIXES;                                                      \
        int64_t begin = chunk * s->chunk, end = s->length - begin < s->chunk ? s->length : begin + s->chunk;          \
        int is_mixed = 0;                                                                                             \
        memset(counters, 0, sizeof counters);                                                                         \
        for (int64_t first = begin; first < end; first += GROUPED_BLOCK) {                                            \
            intptr_t count = end - first < GROUPED_BLOCK ? end - first : GROUPED_BLOCK;                               \
            is_mixed |= name##_encode(&s->encoding, (const Number *)s->elements + first, count, codes);               \
            name##_prefixes(s, codes, count, prefixes);                                                               \
            for (intptr_t i = 0; i < count; i++) counters[i % GROUPED_COUNTERS][prefixes[i]]++;                       \
        }                                                                                                             \
        for (intptr_t prefix = 0; prefix < GROUPED_PREFIXES; prefix++)                                                \
            counts[prefix] = counters[0][prefix] + counters[1][prefix];                                               \
        s->is_mixed[chunk] = (uint8_t)is_mixed;                                                                       \
    }                                                                                                                 \
    static inline CODE void name##_distribute(const GroupedSort *s, int64_t chunk, const int has_positions) {         \
        Number codes[GROUPED_BLOCK], *numbers = s->numbers;                                                           \
        uint64_t *pairs = s->numbers;                                                                                 \
        uint32_t prefixes[GROUPED_BLOCK], *next = s->next + chunk * GROUPED_MAX_GROUPS;                               \
        int64_t begin = chunk * s->chunk, end = s->length - begin < s->chunk ? s->length : begin + s->chunk;          \
        for (int64_t first = begin; first < end; first += GROUPED_BLOCK) {                                            \
            intptr_t count = end - first < GROUPED_BLOCK ? end - first : GROUPED_BLOCK;                               \
            name##_encode(&s->encoding, (const Number *)s->elements + first, count, codes);                           \
            name##_prefixes(s, codes, count, prefixes);                                                               \
            uint32_t group = s->groups[prefixes[0]], low = prefixes[0], high = prefixes[0];                           \
            for (intptr_t i = 1; i < count; i++) {                                                                    \
                low = prefixes[i] < low ? prefixes[i] : low;                                                          \
                high = prefixes[i] > high ? prefixes[i] : high;                                                       \
            }                                                                                                         \
            if (s->groups[low] == s->groups[high]) {                                                                  \
                /* Counting one by one would make each number wait for the one before it. */                          \
                if (has_positions)                                                                                    \
                    for (intptr_t i = 0; i < count; i++)                                                              \
                        pairs[next[group] + i] = (uint64_t)codes[i] << 32 | (uint64_t)(first + i);                    \
                else                                                                                                  \
                    memcpy(numbers + next[group], codes, count * sizeof(Number));                                     \
                next[group] += (uint32_t)count;                                                                       \
            } else if (has_positions)                                                                                 \
                for (intptr_t i = 0; i < count; i++)                                                                  \
                    pairs[next[s->groups[prefixes[i]]]++] = (uint64_t)codes[i] << 32 | (uint64_t)(first + i);         \
            else                                                                                                      \
                for (intptr_t i = 0; i < count; i++) numbers[next[s->groups[prefixes[i]]]++] = codes[i];              \
        }                                                                                                             \
    }                                                                                                                 \
    static CODE void name##_distribute_codes(const GroupedSort *s, int64_t chunk) { name##_distribute(s, chunk, 0); } \
    static CODE void name##_distribute_pairs(const GroupedSort *s, int64_t chunk) { name##_distribute(s, chunk, 1); }

GROUPED_ELEMENTS(grouped_32, uint32_t, )
GROUPED_ELEMENTS(grouped_64, uint64_t, )
#if defined(__GNUC__) && defined(__x86_64__)
GROUPED_ELEMENTS(grouped_32_v3, uint32_t, __attribute__((target("avx2"))))
GROUPED_ELEMENTS(grouped_64_v3, uint64_t, __attribute__((target("avx2"))))
GROUPED_ELEMENTS(grouped_32_v4, uint32_t, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))))
GROUPED_ELEMENTS(grouped_64_v4, uint64_t, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))))
#endif

/* The functions of this processor, and of elements of 4 or 8 bytes. */
typedef struct {
    int64_t (*sample)(GroupedSort *);
    void (*count)(GroupedSort *, int64_t chunk);
    void (*distribute)(const GroupedSort *, int64_t chunk);
    void (*distribute_pairs)(const GroupedSort *, int64_t chunk);
} GroupedFunctions;

#define GROUPED_FUNCTIONS(name) {name##_sample, name##_count, name##_distribute_codes, name##_distribute_pairs}

static const GroupedFunctions *grouped_functions(const GroupedSort *s) {
    static const GroupedFunctions functions[] = {GROUPED_FUNCTIONS(grouped_32), GROUPED_FUNCTIONS(grouped_64)};
#if defined(__GNUC__) && defined(__x86_64__)
    static const GroupedFunctions v3_functions[] = {GROUPED_FUNCTIONS(grouped_32_v3), GROUPED_FUNCTIONS(grouped_64_v3)};
    static const GroupedFunctions v4_functions[] = {GROUPED_FUNCTIONS(grouped_32_v4), GROUPED_FUNCTIONS(grouped_64_v4)};
    if (has_avx512()) return &v4_functions[s->item_bytes == 8];
    if (has_avx2(0)) return &v3_functions[s->item_bytes == 8];
#endif
    return &functions[s->item_bytes == 8];
}

/* Writes the elements of codes; of elements with one code, the positive one. */
#define GROUPED_DECODE(name, Number)                                                                                  \
    static void name##_decode(const GroupedEncoding *e, const Number *codes, intptr_t count, Number *elements) {      \
        const Number ones = (Number)e->ones, sign = (Number)e->sign, flip = (Number)e->flip;                          \
        if (e->mode == GROUPED_UNSIGNED || e->mode == GROUPED_SIGNED) {                                               \
            const Number flipped = e->mode == GROUPED_SIGNED ? flip ^ sign : flip;                                    \
            for (intptr_t i = 0; i < count; i++) elements[i] = codes[i] ^ flipped;                                    \
            return;                                                                                                   \
        }                                                                                                             \
        for (intptr_t i = 0; i < count; i++) {                                                                        \
            Number rising = codes[i] ^ flip;                                                                          \
            elements[i] = rising ^ (rising & sign ? sign : ones);                                                     \
        }                                                                                                             \
    }

GROUPED_DECODE(grouped_32, uint32_t)
GROUPED_DECODE(grouped_64, uint64_t)

/* Sorts the numbers of a group by their codes, from bit `first_bit` on, which are in [low, high]; returns the array
   that has the sorted numbers. */
#define GROUPED_NUMBERS(name, Number, log2_bytes)                                                                     \
    static Number *grouped_sort_##name(                                                                               \
        Number *numbers, Number *scratch, intptr_t count, uint64_t low, uint64_t high, int first_bit) {               \
        uint64_t range = high - low;                                                                                  \
        int bits = 0;                                                                                                 \
        Number from = (Number)low << first_bit;                                                                       \
        if (count < RADIX_MIN_COUNT) return numpy_sorts[log2_bytes](numbers, count, 0), numbers;                      \
        for (; range; range >>= 1) bits++;                                                                            \
        int digits = (bits + GROUPED_DIGIT_BITS - 1) / GROUPED_DIGIT_BITS;                                            \
        int digit_bits = digits ? (bits + digits - 1) / digits : 0;                                                   \
        switch (digits) {                                                                                             \
        case 0: return numbers;                                                                                       \
        case 1: return name##_by_digits(numbers, scratch, count, from, first_bit, digit_bits, 1);                     \
        case 2: return name##_by_digits(numbers, scratch, count, from, first_bit, digit_bits, 2);                     \
        case 3: return name##_by_digits(numbers, scratch, count, from, first_bit, digit_bits, 3);                     \
        default: return name##_by_digits(numbers, scratch, count, from, first_bit, digit_bits, digits);               \
        }                                                                                                             \
    }

GROUPED_NUMBERS(uint32, uint32_t, 2)
GROUPED_NUMBERS(uint64, uint64_t, 3)

/* Make groups of adjacent prefixes; returns the numbers of the largest group. */
static int64_t grouped_divide(GroupedSort *s) {
    int64_t number_bytes = s->position_bytes ? 8 : s->item_bytes, group = 0, size = 0, begin = 0, largest = 0;
    int64_t target = GROUPED_BYTES / number_bytes, min_target = 2 * s->length / (GROUPED_MAX_GROUPS - 1) + 1;
    uint64_t ones = s->encoding.ones;
    if (target < min_target) target = min_target; /* any two adjacent groups exceed the target */
    s->any_mixed = 0;
    for (int64_t chunk = 0; chunk < s->chunks; chunk++) s->any_mixed |= s->is_mixed[chunk];
    s->begins[0] = 0, s->min_codes[0] = 0;
    for (int64_t prefix = 0; prefix < GROUPED_PREFIXES; prefix++) {
        int64_t count = 0;
        for (int64_t chunk = 0; chunk < s->chunks; chunk++) count += s->counts[chunk * GROUPED_PREFIXES + prefix];
        if (size && size + count > target) {
            s->max_codes[group] = s->base + ((uint64_t)prefix << s->shift) - 1;
            begin += size, size = 0;
            s->begins[++group] = begin;
            s->min_codes[group] = s->base + ((uint64_t)prefix << s->shift);
        }
        s->groups[prefix] = (uint8_t)group;
        size += count;
        if (size > largest) largest = size;
    }
    s->max_codes[group] = ones;
    s->group_count = group + 1;
    s->begins[s->group_count] = s->length;
    for (int64_t number = 0; number < s->group_count; number++) s->next[number] = (uint32_t)s->begins[number];
    for (int64_t chunk = 0; chunk + 1 < s->chunks; chunk++) {
        uint32_t *now = s->next + chunk * GROUPED_MAX_GROUPS, *then = now + GROUPED_MAX_GROUPS;
        memcpy(then, now, GROUPED_MAX_GROUPS * sizeof *then);
        for (int64_t prefix = 0; prefix < GROUPED_PREFIXES; prefix++)
            then[s->groups[prefix]] += s->counts[chunk * GROUPED_PREFIXES + prefix];
    }
    return largest;
}

/* Write the positions and the elements of sorted numbers. */
static void grouped_unpack(const GroupedSort *s, const uint64_t *numbers, int64_t begin, int64_t count) {
    uint32_t codes[GROUPED_BLOCK], *values = s->values;
    const uint32_t *elements = s->elements;
    if (s->position_bytes == 4)
        for (int64_t i = 0; i < count; i++) ((uint32_t *)s->positions)[begin + i] = (uint32_t)numbers[i];
    else
        for (int64_t i = 0; i < count; i++) ((uint64_t *)s->positions)[begin + i] = (uint32_t)numbers[i];
    for (int64_t first = 0; first < count && values; first += GROUPED_BLOCK) {
        intptr_t block = count - first < GROUPED_BLOCK ? count - first : GROUPED_BLOCK;
        const uint64_t *from = numbers + first;
        uint32_t *to = values + begin + first;
        if (s->any_mixed) {
            for (intptr_t i = 0; i < block; i++) to[i] = elements[(uint32_t)from[i]];
        } else {
            for (intptr_t i = 0; i < block; i++) codes[i] = (uint32_t)(from[i] >> 32);
            grouped_32_decode(&s->encoding, codes, block, to);
        }
    }
}

static void grouped_sort_group(const GroupedSort *s, int64_t group) {
    int64_t begin = s->begins[group], count = s->begins[group + 1] - begin;
    uint64_t low = s->min_codes[group], high = s->max_codes[group];
    if (s->position_bytes) {
        uint64_t *numbers = (uint64_t *)s->numbers + begin, *scratch = (uint64_t *)s->scratch + begin;
        grouped_unpack(s, grouped_sort_uint64(numbers, scratch, count, low, high, 32), begin, count);
    } else if (s->item_bytes == 4) {
        uint32_t *numbers = (uint32_t *)s->numbers + begin, *values = (uint32_t *)s->values + begin;
        const uint32_t *sorted = grouped_sort_uint32(numbers, values, count, low, high, 0);
        grouped_32_decode(&s->encoding, sorted, count, values);
    } else {
        uint64_t *numbers = (uint64_t *)s->numbers + begin, *values = (uint64_t *)s->values + begin;
        const uint64_t *sorted = grouped_sort_uint64(numbers, values, count, low, high, 0);
        grouped_64_decode(&s->encoding, sorted, count, values);
    }
}

/* Choose the prefixes by a sample. Returns whether one prefix is so frequent in it that a single thread would sort more
   than its share. */
static int grouped_is_skewed(GroupedSort *s, int64_t threads) {
    return grouped_functions(s)->sample(s) * (threads > 2 ? threads : 2) > GROUPED_SAMPLES;
}

static void grouped_task(int64_t task, void *closure) {
    GroupedSort *s = closure;
    if (s->stage == GROUPED_COUNT) grouped_functions(s)->count(s, task);
    else if (s->stage == GROUPED_SORT) grouped_sort_group(s, task);
    else if (s->position_bytes) grouped_functions(s)->distribute_pairs(s, task);
    else grouped_functions(s)->distribute(s, task);
}

#endif
