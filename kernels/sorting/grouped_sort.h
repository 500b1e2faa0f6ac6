/* Sorts one long row by several threads: the numbers are divided into groups by their leading bits, each of which stays
   in the cache of a core while it is sorted by the remaining bits (`radix_sort.h`).

   The row is read in chunks. The tasks of GROUPED_COUNT count the prefixes of a chunk: the leading bits of a number's
   difference from the least of a sample. `grouped_divide` makes groups of adjacent prefixes. The tasks of
   GROUPED_DISTRIBUTE copy the numbers of a chunk to their groups, in order. The tasks of GROUPED_SORT sort a group each
   and write its results. The sorted order is unique, so that neither the sample nor the threads matter to the result.

   Numbers are the codes of the elements, or the pairs with their positions: see `SortedRow`. */

#ifndef NIMBLEHLO_GROUPED_SORT_H
#define NIMBLEHLO_GROUPED_SORT_H

#include "sort_codes.h"

/* GROUPED_BYTES: target size of a group: a group and as much scratch fit the L2 cache. GROUPED_DIGIT_BITS: of a digit
   within a group: the cache lines to which the digits' values lead fit the L1 cache. GROUPED_COUNTERS: tables in which
   successive numbers are counted in turn: an increment waits for the one before it of the same count. GROUPED_MIN_REST:
   one thread sorts the row unless one number of so many is outside the largest group. */
enum {
    GROUPED_PREFIX_BITS = 11, GROUPED_PREFIXES = 1 << GROUPED_PREFIX_BITS, GROUPED_DIGIT_BITS = 9, GROUPED_COUNTERS = 2,
    GROUPED_MAX_GROUPS = 256, GROUPED_MAX_CHUNKS = 16, GROUPED_BYTES = 1 << 18, GROUPED_SAMPLES = 1 << 10,
    GROUPED_MIN_REST = 4
};

enum { GROUPED_SAMPLE, GROUPED_COUNT, GROUPED_DISTRIBUTE, GROUPED_SORT };

/* `stage`: what tasks do. `numbers` and `scratch` have as many numbers as the row; without positions `scratch` may be
   `row.values`. `counts` has GROUPED_PREFIXES counts for each chunk, `next` where the chunk's next number of each group
   goes. `has_shared_codes`: whether different elements may have one code. */
typedef struct {
    SortedRow row;
    int64_t stage, chunk, chunks;
    void *numbers, *scratch;
    uint32_t *counts, *next;
    uint8_t *chunk_has_shared_codes;
    int64_t group_count, shift, has_shared_codes;
    uint64_t base, chunk_min[GROUPED_MAX_CHUNKS], chunk_max[GROUPED_MAX_CHUNKS];
    uint8_t groups[GROUPED_PREFIXES];
    int64_t begins[GROUPED_MAX_GROUPS + 1];
    uint64_t min_codes[GROUPED_MAX_GROUPS], max_codes[GROUPED_MAX_GROUPS];
} GroupedSort;

/* Writes the codes of elements, or the upper halves of their pairs; returns whether different elements may have one. To
   follow a permutation takes long: its halves are stored in `scratch` when they are counted. */
static int grouped_encode(const GroupedSort *s, int64_t first, intptr_t count, void *codes) {
    uint32_t *stored = s->row.permutation && s->stage != GROUPED_SAMPLE ? (uint32_t *)s->scratch + first : NULL;
    if (stored && s->stage == GROUPED_DISTRIBUTE) return memcpy(codes, stored, count * sizeof *stored), 0;
    if (s->row.positions) {
        int has_shared_codes = s->row.codes->upper_halves(&s->row, first, count, codes);
        if (stored) memcpy(stored, codes, count * sizeof *stored);
        return has_shared_codes;
    }
    const char *elements = (const char *)s->row.elements + first * s->row.item_bytes;
    return s->row.codes->encode(&s->row.encoding, elements, count, codes);
}

/* The functions for codes of `Number`:

   prefixes: writes the prefixes of codes.
   sample: chooses the prefixes; returns how many numbers of the sample have the most frequent one.
   count, distribute_codes, distribute_pairs: what tasks do. */
#define GROUPED_ELEMENTS(name, Number, CODE)                                                                          \
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
        intptr_t stride = s->row.length / GROUPED_SAMPLES;                                                            \
        for (intptr_t i = 0; i < GROUPED_SAMPLES; i++) grouped_encode(s, i * stride, 1, codes + i);                   \
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
        Number codes[SORT_BLOCK];                                                                                     \
        uint32_t prefixes[SORT_BLOCK], counters[GROUPED_COUNTERS][GROUPED_PREFIXES];                                  \
        uint32_t *counts = s->counts + chunk * GROUPED_PREFIXES;                                                      \
        int64_t begin = chunk * s->chunk, end = s->row.length - begin < s->chunk ? s->row.length : begin + s->chunk;  \
        int has_shared_codes = 0;                                                                                     \
        Number low = (Number)-1, high = 0;                                                                            \
        memset(counters, 0, sizeof counters);                                                                         \
        for (int64_t first = begin; first < end; first += SORT_BLOCK) {                                               \
            intptr_t count = end - first < SORT_BLOCK ? end - first : SORT_BLOCK;                                     \
            has_shared_codes |= grouped_encode(s, first, count, codes);                                               \
            name##_prefixes(s, codes, count, prefixes);                                                               \
            for (intptr_t i = 0; i < count; i++) {                                                                    \
                low = codes[i] < low ? codes[i] : low;                                                                \
                high = codes[i] > high ? codes[i] : high;                                                             \
            }                                                                                                         \
            for (intptr_t i = 0; i < count; i++) counters[i % GROUPED_COUNTERS][prefixes[i]]++;                       \
        }                                                                                                             \
        for (intptr_t prefix = 0; prefix < GROUPED_PREFIXES; prefix++)                                                \
            counts[prefix] = counters[0][prefix] + counters[1][prefix];                                               \
        s->chunk_has_shared_codes[chunk] = (uint8_t)has_shared_codes;                                                 \
        s->chunk_min[chunk] = low, s->chunk_max[chunk] = high;                                                        \
    }                                                                                                                 \
    static inline CODE void name##_distribute(const GroupedSort *s, int64_t chunk, const int has_positions) {         \
        Number codes[SORT_BLOCK], *numbers = s->numbers;                                                              \
        uint64_t *pairs = s->numbers;                                                                                 \
        uint32_t prefixes[SORT_BLOCK], *next = s->next + chunk * GROUPED_MAX_GROUPS;                                  \
        int64_t begin = chunk * s->chunk, end = s->row.length - begin < s->chunk ? s->row.length : begin + s->chunk;  \
        for (int64_t first = begin; first < end; first += SORT_BLOCK) {                                               \
            intptr_t count = end - first < SORT_BLOCK ? end - first : SORT_BLOCK;                                     \
            grouped_encode(s, first, count, codes);                                                                   \
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
GROUPED_ELEMENTS(grouped_32_v3, uint32_t, SORT_V3)
GROUPED_ELEMENTS(grouped_64_v3, uint64_t, SORT_V3)
GROUPED_ELEMENTS(grouped_32_v4, uint32_t, SORT_V4)
GROUPED_ELEMENTS(grouped_64_v4, uint64_t, SORT_V4)
#endif

/* The functions of this processor, and of codes of 4 or 8 bytes. */
typedef struct {
    int64_t (*sample)(GroupedSort *);
    void (*count)(GroupedSort *, int64_t chunk);
    void (*distribute)(const GroupedSort *, int64_t chunk);
    void (*distribute_pairs)(const GroupedSort *, int64_t chunk);
} GroupedFunctions;

#define GROUPED_FUNCTIONS(name) {name##_sample, name##_count, name##_distribute_codes, name##_distribute_pairs}

static const GroupedFunctions *grouped_functions(const GroupedSort *s) {
    const int is_wide = s->row.item_bytes == 8 && !s->row.positions;
    static const GroupedFunctions functions[] = {GROUPED_FUNCTIONS(grouped_32), GROUPED_FUNCTIONS(grouped_64)};
#if defined(__GNUC__) && defined(__x86_64__)
    static const GroupedFunctions v3_functions[] = {GROUPED_FUNCTIONS(grouped_32_v3), GROUPED_FUNCTIONS(grouped_64_v3)};
    static const GroupedFunctions v4_functions[] = {GROUPED_FUNCTIONS(grouped_32_v4), GROUPED_FUNCTIONS(grouped_64_v4)};
    if (has_avx512()) return &v4_functions[is_wide];
    if (has_avx2(0)) return &v3_functions[is_wide];
#endif
    return &functions[is_wide];
}

/* Sorts the numbers of a group by their codes, from bit `first_bit` on, which are in [low, high]; returns the array
   that has the sorted numbers. */
#define GROUPED_NUMBERS(name, Number, log2_bytes)                                                       \
    static Number *grouped_sort_##name(                                                                 \
        Number *numbers, Number *scratch, intptr_t count, uint64_t low, uint64_t high, int first_bit) { \
        uint64_t range = high - low;                                                                    \
        int bits = 0;                                                                                   \
        Number from = (Number)low << first_bit;                                                         \
        for (; range; range >>= 1) bits++;                                                              \
        int digits = (bits + GROUPED_DIGIT_BITS - 1) / GROUPED_DIGIT_BITS;                              \
        if (digits && !sorts_by_digits(count))                                                          \
            return sort_by_numpy(log2_bytes, numbers, count), numbers;                                  \
        int digit_bits = digits ? (bits + digits - 1) / digits : 0;                                     \
        switch (digits) {                                                                               \
        case 0: return numbers;                                                                         \
        case 1: return name##_by_digits(numbers, scratch, count, from, first_bit, digit_bits, 1);       \
        case 2: return name##_by_digits(numbers, scratch, count, from, first_bit, digit_bits, 2);       \
        case 3: return name##_by_digits(numbers, scratch, count, from, first_bit, digit_bits, 3);       \
        default: return name##_by_digits(numbers, scratch, count, from, first_bit, digit_bits, digits); \
        }                                                                                               \
    }

GROUPED_NUMBERS(uint32, uint32_t, 2)
GROUPED_NUMBERS(uint64, uint64_t, 3)

/* Whether `count` numbers of a group are too many for one thread. If a prefix is one code, they are sorted already. */
static int grouped_is_most(const GroupedSort *s, int64_t count, int64_t total) {
    return s->shift && (total - count) * GROUPED_MIN_REST < total;
}

/* Make groups of adjacent prefixes; returns whether one thread would sort most of the row. */
static int grouped_divide(GroupedSort *s) {
    int64_t number_bytes = s->row.positions ? 8 : s->row.item_bytes, group = 0, size = 0, begin = 0, largest = 0;
    int64_t target = GROUPED_BYTES / number_bytes, min_target = 2 * s->row.length / (GROUPED_MAX_GROUPS - 1) + 1;
    uint64_t min_code = UINT64_MAX, max_code = 0, last_code = s->base;
    s->has_shared_codes = 0;
    for (int64_t chunk = 0; chunk < s->chunks; chunk++) {
        s->has_shared_codes |= s->chunk_has_shared_codes[chunk];
        min_code = s->chunk_min[chunk] < min_code ? s->chunk_min[chunk] : min_code;
        max_code = s->chunk_max[chunk] > max_code ? s->chunk_max[chunk] : max_code;
    }
    if (max_code - min_code < GROUPED_MAX_GROUPS) target = 0; /* each code is a group */
    else if (target < min_target) target = min_target; /* any two adjacent groups exceed the target */
    s->begins[0] = 0, s->min_codes[0] = min_code;
    for (int64_t prefix = 0; prefix < GROUPED_PREFIXES; prefix++) {
        int64_t count = 0;
        for (int64_t chunk = 0; chunk < s->chunks; chunk++) count += s->counts[chunk * GROUPED_PREFIXES + prefix];
        if (size && count && size + count > target) {
            s->max_codes[group] = last_code;
            begin += size, size = 0;
            s->begins[++group] = begin;
            s->min_codes[group] = s->base + ((uint64_t)prefix << s->shift);
        }
        if (count) last_code = s->base + ((uint64_t)(prefix + 1) << s->shift) - 1;
        s->groups[prefix] = (uint8_t)group;
        size += count;
        if (size > largest) largest = size;
    }
    s->max_codes[group] = max_code;
    s->group_count = group + 1;
    s->begins[s->group_count] = s->row.length;
    for (int64_t number = 0; number < s->group_count; number++) s->next[number] = (uint32_t)s->begins[number];
    for (int64_t chunk = 0; chunk + 1 < s->chunks; chunk++) {
        uint32_t *now = s->next + chunk * GROUPED_MAX_GROUPS, *then = now + GROUPED_MAX_GROUPS;
        memcpy(then, now, GROUPED_MAX_GROUPS * sizeof *then);
        for (int64_t prefix = 0; prefix < GROUPED_PREFIXES; prefix++)
            then[s->groups[prefix]] += s->counts[chunk * GROUPED_PREFIXES + prefix];
    }
    return grouped_is_most(s, largest, s->row.length);
}

static void grouped_sort_group(const GroupedSort *s, int64_t group) {
    int64_t begin = s->begins[group], count = s->begins[group + 1] - begin;
    uint64_t low = s->min_codes[group], high = s->max_codes[group];
    if (s->row.positions) {
        uint64_t *numbers = (uint64_t *)s->numbers + begin, *scratch = (uint64_t *)s->scratch + begin;
        const uint64_t *sorted = grouped_sort_uint64(numbers, scratch, count, low, high, 32);
        write_pairs(&s->row, sorted, begin, count, (int)s->has_shared_codes);
    } else if (s->row.item_bytes == 4) {
        uint32_t *numbers = (uint32_t *)s->numbers + begin, *values = (uint32_t *)s->row.values + begin;
        const uint32_t *sorted = grouped_sort_uint32(numbers, values, count, low, high, 0);
        s->row.codes->decode(&s->row.encoding, sorted, count, values);
    } else {
        uint64_t *numbers = (uint64_t *)s->numbers + begin, *values = (uint64_t *)s->row.values + begin;
        const uint64_t *sorted = grouped_sort_uint64(numbers, values, count, low, high, 0);
        s->row.codes->decode(&s->row.encoding, sorted, count, values);
    }
}

/* Choose the prefixes by a sample; returns whether one thread would sort most of the row. */
static int grouped_is_skewed(GroupedSort *s) {
    return grouped_is_most(s, grouped_functions(s)->sample(s), GROUPED_SAMPLES);
}

static void grouped_task(int64_t task, void *closure) {
    GroupedSort *s = closure;
    if (s->stage == GROUPED_COUNT) grouped_functions(s)->count(s, task);
    else if (s->stage == GROUPED_SORT) grouped_sort_group(s, task);
    else if (s->row.positions) grouped_functions(s)->distribute_pairs(s, task);
    else grouped_functions(s)->distribute(s, task);
}

#endif
