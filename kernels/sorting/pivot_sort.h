/* Sorts one long row by several threads where vectors are compressed fast: the numbers are divided by pivots into a
   group for each thread, which NumPy sorts.

   `pivot_choose` takes the pivots from a sample. The row is read in chunks. The tasks of PIVOT_COUNT count the numbers
   of a chunk that belong to each group. `pivot_divide` says where the groups begin. The tasks of PIVOT_DISTRIBUTE copy
   the numbers of a chunk to their groups, vector by vector. The tasks of PIVOT_SORT sort a group each and write its
   results. The sorted order is unique, so that neither the sample nor the threads matter to the result.

   Numbers are the codes of the elements, or the pairs with their positions: see `SortedRow`. */

#ifndef NIMBLEHLO_PIVOT_SORT_H
#define NIMBLEHLO_PIVOT_SORT_H

#include "sort_codes.h"

/* PIVOT_MIN_REST: one thread sorts the row unless one number of so many is outside the largest group. */
enum { PIVOT_MAX_GROUPS = 16, PIVOT_MAX_CHUNKS = 16, PIVOT_SAMPLES = 1 << 10, PIVOT_MIN_REST = 4 };

enum { PIVOT_SAMPLE, PIVOT_COUNT, PIVOT_DISTRIBUTE, PIVOT_SORT };

/* `stage`: what tasks do. `numbers` has as many numbers as the row; without positions it is `row.values`. `pivots` has
   the least number of each group. `next`: how many numbers of each group a chunk has, then where its next one goes.
   `has_shared_codes`: whether different elements may have one code. */
typedef struct {
    SortedRow row;
    int64_t stage, chunk, chunks, groups, has_shared_codes;
    void *numbers;
    uint64_t pivots[PIVOT_MAX_GROUPS];
    int64_t next[PIVOT_MAX_CHUNKS][PIVOT_MAX_GROUPS], begins[PIVOT_MAX_GROUPS + 1];
    uint8_t chunk_has_shared_codes[PIVOT_MAX_CHUNKS];
} PivotSort;

#if defined(__GNUC__) && defined(__x86_64__)

#include <immintrin.h>

/* Writes numbers of the row, at most SORT_BLOCK; returns whether different elements may have one code. To follow a
   permutation takes long: its halves are stored in `row.positions`, which are written last, when they are counted. */
static SORT_V4 int pivot_numbers(const PivotSort *s, int64_t first, intptr_t count, void *numbers) {
    const SortedRow *row = &s->row;
    if (!row->positions) {
        const char *elements = (const char *)row->elements + first * row->item_bytes;
        return row->codes->encode(&row->encoding, elements, count, numbers);
    }
    uint32_t halves[SORT_BLOCK], *stored = row->permutation ? row->positions + first : NULL;
    uint64_t *pairs = numbers;
    int has_shared_codes = 0;
    if (stored && s->stage == PIVOT_DISTRIBUTE) memcpy(halves, stored, count * sizeof *stored);
    else has_shared_codes = row->codes->upper_halves(row, first, count, halves);
    if (stored && s->stage == PIVOT_COUNT) memcpy(stored, halves, count * sizeof *stored);
    for (intptr_t i = 0; i < count; i++) pairs[i] = (uint64_t)halves[i] << 32 | (uint64_t)(first + i);
    return has_shared_codes;
}

/* The functions for numbers of `bits` bits. Vectors behind the last number of a block have a mask of those that are. */
#define PIVOT_LANES(bits) (512 / bits)
#define PIVOT_EXISTING(bits, count, i) \
    (count - i < PIVOT_LANES(bits) ? (1u << (count - i)) - 1 : (1u << PIVOT_LANES(bits)) - 1)

#define PIVOT_NUMBERS(name, Number, bits, log2_bytes)                                                                  \
    static SORT_V4 void name##_choose(PivotSort *s) {                                                                  \
        Number samples[PIVOT_SAMPLES];                                                                                 \
        int64_t stride = s->row.length / PIVOT_SAMPLES;                                                                \
        for (intptr_t i = 0; i < PIVOT_SAMPLES; i++) pivot_numbers(s, i * stride, 1, samples + i);                     \
        sort_by_numpy(log2_bytes, samples, PIVOT_SAMPLES);                                                             \
        s->pivots[0] = 0;                                                                                              \
        for (int64_t group = 1; group < s->groups; group++)                                                            \
            s->pivots[group] = samples[group * PIVOT_SAMPLES / s->groups];                                             \
    }                                                                                                                  \
    static SORT_V4 void name##_count(PivotSort *s, int64_t chunk) {                                                    \
        Number numbers[SORT_BLOCK];                                                                                    \
        int64_t begin = chunk * s->chunk, end = s->row.length - begin < s->chunk ? s->row.length : begin + s->chunk;   \
        int64_t *counts = s->next[chunk];                                                                              \
        int has_shared_codes = 0;                                                                                      \
        memset(counts, 0, sizeof s->next[chunk]);                                                                      \
        for (int64_t first = begin; first < end; first += SORT_BLOCK) {                                                \
            intptr_t count = end - first < SORT_BLOCK ? end - first : SORT_BLOCK, previous_count = count;              \
            has_shared_codes |= pivot_numbers(s, first, count, numbers);                                               \
            for (int64_t group = 1; group < s->groups; group++) {                                                      \
                __m512i pivot = _mm512_set1_epi##bits(s->pivots[group]);                                               \
                intptr_t above_count = 0;                                                                              \
                for (intptr_t i = 0; i < count; i += PIVOT_LANES(bits)) {                                              \
                    uint32_t existing = PIVOT_EXISTING(bits, count, i);                                                \
                    __m512i items = _mm512_maskz_loadu_epi##bits(existing, numbers + i);                               \
                    above_count += __builtin_popcount(_mm512_mask_cmpge_epu##bits##_mask(existing, items, pivot));     \
                }                                                                                                      \
                counts[group - 1] += previous_count - above_count;                                                     \
                previous_count = above_count;                                                                          \
            }                                                                                                          \
            counts[s->groups - 1] += previous_count;                                                                   \
        }                                                                                                              \
        s->chunk_has_shared_codes[chunk] = (uint8_t)has_shared_codes;                                                  \
    }                                                                                                                  \
    static SORT_V4 void name##_distribute(PivotSort *s, int64_t chunk) {                                               \
        Number numbers[SORT_BLOCK];                                                                                    \
        int64_t begin = chunk * s->chunk, end = s->row.length - begin < s->chunk ? s->row.length : begin + s->chunk;   \
        for (int64_t first = begin; first < end; first += SORT_BLOCK) {                                                \
            intptr_t count = end - first < SORT_BLOCK ? end - first : SORT_BLOCK;                                      \
            pivot_numbers(s, first, count, numbers);                                                                   \
            for (int64_t group = 0; group < s->groups; group++) {                                                      \
                int is_last = group + 1 == s->groups;                                                                  \
                __m512i low = _mm512_set1_epi##bits(s->pivots[group]);                                                 \
                __m512i high = _mm512_set1_epi##bits(is_last ? 0 : s->pivots[group + 1]);                              \
                Number *to = (Number *)s->numbers + s->next[chunk][group];                                             \
                for (intptr_t i = 0; i < count; i += PIVOT_LANES(bits)) {                                              \
                    uint32_t existing = PIVOT_EXISTING(bits, count, i);                                                \
                    __m512i items = _mm512_maskz_loadu_epi##bits(existing, numbers + i);                               \
                    uint32_t chosen = _mm512_mask_cmpge_epu##bits##_mask(existing, items, low);                        \
                    if (!is_last) chosen = _mm512_mask_cmplt_epu##bits##_mask(chosen, items, high);                    \
                    int chosen_count = __builtin_popcount(chosen);                                                     \
                    __m512i compressed = _mm512_maskz_compress_epi##bits(chosen, items);                               \
                    _mm512_mask_storeu_epi##bits(to, (1u << chosen_count) - 1, compressed);                            \
                    to += chosen_count;                                                                                \
                }                                                                                                      \
                s->next[chunk][group] = to - (Number *)s->numbers;                                                     \
            }                                                                                                          \
        }                                                                                                              \
    }

PIVOT_NUMBERS(pivot_32, uint32_t, 32, 2)
PIVOT_NUMBERS(pivot_64, uint64_t, 64, 3)

/* Whether vectors are compressed. */
static int pivot_is_available(void) { return has_avx512(); }

static int pivot_is_wide(const PivotSort *s) { return s->row.positions || s->row.item_bytes == 8; }

/* Choose the pivots. */
static void pivot_choose(PivotSort *s) {
    s->stage = PIVOT_SAMPLE;
    if (pivot_is_wide(s)) pivot_64_choose(s);
    else pivot_32_choose(s);
}

/* Say where the groups begin; returns whether one thread would sort most of the row. */
static int pivot_divide(PivotSort *s) {
    int64_t begin = 0, largest = 0;
    s->has_shared_codes = 0;
    for (int64_t group = 0; group < s->groups; group++) {
        s->begins[group] = begin;
        for (int64_t chunk = 0; chunk < s->chunks; chunk++) {
            int64_t count = s->next[chunk][group];
            s->next[chunk][group] = begin;
            begin += count;
        }
        if (begin - s->begins[group] > largest) largest = begin - s->begins[group];
    }
    s->begins[s->groups] = begin;
    for (int64_t chunk = 0; chunk < s->chunks; chunk++) s->has_shared_codes |= s->chunk_has_shared_codes[chunk];
    return (begin - largest) * PIVOT_MIN_REST < begin;
}

static void pivot_sort_group(const PivotSort *s, int64_t group) {
    const SortedRow *row = &s->row;
    const int64_t begin = s->begins[group], count = s->begins[group + 1] - begin;
    char *numbers = (char *)s->numbers + begin * (pivot_is_wide(s) ? 8 : 4);
    sort_by_numpy(pivot_is_wide(s) ? 3 : 2, numbers, count);
    if (row->positions) write_pairs(row, (const uint64_t *)numbers, begin, count, (int)s->has_shared_codes);
    else row->codes->decode(&row->encoding, numbers, count, numbers);
}

static void pivot_task(int64_t task, void *closure) {
    PivotSort *s = closure;
    int is_wide = pivot_is_wide(s);
    if (s->stage == PIVOT_COUNT) (is_wide ? pivot_64_count : pivot_32_count)(s, task);
    else if (s->stage == PIVOT_DISTRIBUTE) (is_wide ? pivot_64_distribute : pivot_32_distribute)(s, task);
    else pivot_sort_group(s, task);
}

#else

static int pivot_is_available(void) { return 0; }
static void pivot_choose(PivotSort *s) { (void)s; }
static int pivot_divide(PivotSort *s) { return (void)s, 1; }
static void pivot_task(int64_t task, void *closure) { (void)task, (void)closure; }

#endif
#endif
