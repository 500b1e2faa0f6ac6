/* Comparisons for schedule_differences.h on machines with AVX-512. */

#include "simd/unroll.h"

/* As `grouped_schedule_ways`. */
GROUPED_WIDE void grouped_schedule_ways_wide(
    const struct grouped_schedules *schedules, int32_t element, int32_t count, const int32_t *strides,
    __m512i *places, __m512i *steps) {
    __m512i number = _mm512_set1_epi64((long long)((uint64_t)element * grouped_factors[0]));
    __m512i low = _mm512_add_epi64(number, _mm512_loadu_si512(schedules->mixed));
    __m512i high = _mm512_add_epi64(number, _mm512_loadu_si512(schedules->mixed + 8));
    __m512i orders = _mm512_loadu_si512(schedules->orders), last = _mm512_set1_epi32(count - 1);
    __mmask16 is_reverse = _mm512_cmpeq_epi32_mask(orders, _mm512_set1_epi32(GROUPED_REVERSE));
    __mmask16 is_named = _mm512_cmpneq_epi32_mask(orders, _mm512_set1_epi32(GROUPED_SHUFFLED));
    __m512i named_places = _mm512_maskz_mov_epi32(is_reverse, last);
    __m512i named_steps = _mm512_mask_mov_epi32(_mm512_set1_epi32(1), is_reverse, last);
    grouped_ways_wide(low, high, count, strides, places, steps);
    *places = _mm512_mask_mov_epi32(*places, is_named, named_places);
    *steps = _mm512_mask_mov_epi32(*steps, is_named, named_steps);
}

/* Some of up to 64 values that are held in registers. */
GROUPED_WIDE __m512 grouped_pick_64_wide(const __m512 *held, __m512i places) {
    __mmask16 is_upper = _mm512_test_epi32_mask(places, _mm512_set1_epi32(32));
    __m512 lower = _mm512_permutex2var_ps(held[0], places, held[1]);
    return _mm512_mask_mov_ps(lower, is_upper, _mm512_permutex2var_ps(held[2], places, held[3]));
}

/* Some of up to 16 times `parts` values that are held in registers. */
GROUPED_WIDE __m512 grouped_pick_wide(const __m512 *held, __m512i places, int parts) {
    if (parts == 1) return _mm512_permutexvar_ps(places, held[0]);
    if (parts == 2) return _mm512_permutex2var_ps(held[0], places, held[1]);
    if (parts == 4) return grouped_pick_64_wide(held, places);
    __mmask16 is_upper = _mm512_test_epi32_mask(places, _mm512_set1_epi32(64));
    return _mm512_mask_mov_ps(grouped_pick_64_wide(held, places), is_upper, grouped_pick_64_wide(held + 4, places));
}

/* Totals once `count` values are added or multiplied, which are held in registers as far as there are `parts`. */
GROUPED_WIDE __m512 grouped_total_wide(
    __m512 totals, const float *values, int32_t count, int multiplies, __m512i places, __m512i steps, int parts) {
    __m512 held[8];
    __m512i end = _mm512_set1_epi32(count);
    UNROLL
    for (int part = 0; part < parts; part++) {
        int32_t rest = count - 16 * part;
        __mmask16 some = (__mmask16)(rest >= 16 ? 0xFFFF : rest > 0 ? (1 << rest) - 1 : 0);
        held[part] = _mm512_maskz_loadu_ps(some, values + 16 * part);
    }
    for (int32_t left = 0; left < count; left++) {
        __m512 value = parts ? grouped_pick_wide(held, places, parts) : _mm512_i32gather_ps(places, values, 4);
        totals = multiplies ? _mm512_mul_ps(totals, value) : _mm512_add_ps(totals, value);
        places = _mm512_add_epi32(places, steps);
        places = _mm512_min_epu32(places, _mm512_sub_epi32(places, end));
    }
    return totals;
}

/* As `grouped_fold_f32`. */
GROUPED_WIDE void grouped_fold_f32_wide(
    const struct grouped_updates *updates, int64_t number, int32_t count, const struct grouped_schedules *schedules,
    const int32_t *strides, float *totals) {
    const float *values = (const float *)updates->values + updates->bounds[number];
    int multiplies = updates->multiplies;
    __m512i places, steps;
    __m512 total = _mm512_set1_ps(((const float *)updates->initials)[number]);
    grouped_schedule_ways_wide(schedules, updates->elements[number], count, strides, &places, &steps);
    if (count == 2) /* Both orders' values are known. */
        total = _mm512_mask_blend_ps(
            _mm512_test_epi32_mask(places, places), _mm512_set1_ps(values[0]), _mm512_set1_ps(values[1]));
    else if (count <= 16)
        total = grouped_total_wide(total, values, count, multiplies, places, steps, 1);
    else if (count <= 32)
        total = grouped_total_wide(total, values, count, multiplies, places, steps, 2);
    else if (count <= 64)
        total = grouped_total_wide(total, values, count, multiplies, places, steps, 4);
    else if (count <= 128)
        total = grouped_total_wide(total, values, count, multiplies, places, steps, 8);
    else
        total = grouped_total_wide(total, values, count, multiplies, places, steps, 0);
    _mm512_storeu_ps(totals, total);
}

/* As `grouped_fold_f64`. */
GROUPED_WIDE void grouped_fold_f64_wide(
    const struct grouped_updates *updates, int64_t number, int32_t count, const struct grouped_schedules *schedules,
    const int32_t *strides, double *totals) {
    const double *values = (const double *)updates->values + updates->bounds[number];
    __m512i all_places, all_steps;
    grouped_schedule_ways_wide(schedules, updates->elements[number], count, strides, &all_places, &all_steps);
    for (int half = 0; half < 2; half++) {
        __m256i places = half ? _mm512_extracti64x4_epi64(all_places, 1) : _mm512_castsi512_si256(all_places);
        __m256i steps = half ? _mm512_extracti64x4_epi64(all_steps, 1) : _mm512_castsi512_si256(all_steps);
        __m256i end = _mm256_set1_epi32(count);
        __m512d total = _mm512_set1_pd(((const double *)updates->initials)[number]);
        if (count == 2) total = _mm512_i32gather_pd(places, values, 8); /* Both orders' values are known. */
        for (int32_t left = 0; count != 2 && left < count; left++) {
            __m512d value = _mm512_i32gather_pd(places, values, 8);
            total = updates->multiplies ? _mm512_mul_pd(total, value) : _mm512_add_pd(total, value);
            places = _mm256_add_epi32(places, steps);
            places = _mm256_min_epu32(places, _mm256_sub_epi32(places, end));
        }
        _mm512_storeu_pd(totals + 8 * half, total);
    }
}

/* As `grouped_widen_f32`. */
GROUPED_WIDE void grouped_widen_f32_wide(const float *totals, int64_t vectors, float *least, float *most) {
    __m512 low = _mm512_set1_ps(*least), high = _mm512_set1_ps(*most);
    if (*least != *least) {
        grouped_widen_f32(totals, vectors, least, most);
        return;
    }
    /* Where the first operand is NaN, the second one is the result. */
    for (int64_t vector = 0; vector < vectors; vector++) {
        low = _mm512_min_ps(_mm512_loadu_ps(totals + 16 * vector), low);
        high = _mm512_max_ps(_mm512_loadu_ps(totals + 16 * vector), high);
    }
    *least = _mm512_reduce_min_ps(low);
    *most = _mm512_reduce_max_ps(high);
}

/* As `grouped_widen_f64`. */
GROUPED_WIDE void grouped_widen_f64_wide(const double *totals, int64_t vectors, double *least, double *most) {
    __m512d low = _mm512_set1_pd(*least), high = _mm512_set1_pd(*most);
    if (*least != *least) {
        grouped_widen_f64(totals, vectors, least, most);
        return;
    }
    for (int64_t half = 0; half < 2 * vectors; half++) {
        low = _mm512_min_pd(_mm512_loadu_pd(totals + 8 * half), low);
        high = _mm512_max_pd(_mm512_loadu_pd(totals + 8 * half), high);
    }
    *least = _mm512_reduce_min_pd(low);
    *most = _mm512_reduce_max_pd(high);
}

GROUPED_WIDE_ENTRY void grouped_compare_f32_wide(
    const struct grouped_spread *own, int64_t begin, int64_t end, struct grouped_extremes *extremes) {
    grouped_compare_by_f32(own, begin, end, extremes, grouped_fold_f32_wide, grouped_widen_f32_wide);
}

GROUPED_WIDE_ENTRY void grouped_compare_f64_wide(
    const struct grouped_spread *own, int64_t begin, int64_t end, struct grouped_extremes *extremes) {
    grouped_compare_by_f64(own, begin, end, extremes, grouped_fold_f64_wide, grouped_widen_f64_wide);
}
