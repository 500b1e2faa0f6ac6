/* Comparisons for schedule_differences.h with AVX-512. */

#include "simd/unroll.h"

/* `grouped_schedule_orders` with AVX-512. */
GROUPED_WIDE void grouped_schedule_orders_wide(
    const struct grouped_schedules *schedules, int32_t element, int32_t count, const int32_t *strides,
    __m512i *positions, __m512i *increments) {
    __m512i number = _mm512_set1_epi64((long long)((uint64_t)element * grouped_factors[0]));
    __m512i low = _mm512_add_epi64(number, _mm512_loadu_si512(schedules->hashed_key));
    __m512i high = _mm512_add_epi64(number, _mm512_loadu_si512(schedules->hashed_key + 8));
    __m512i orders = _mm512_loadu_si512(schedules->orders), last = _mm512_set1_epi32(count - 1);
    __mmask16 is_reverse = _mm512_cmpeq_epi32_mask(orders, _mm512_set1_epi32(GROUPED_REVERSE));
    __mmask16 is_ordered = _mm512_cmpneq_epi32_mask(orders, _mm512_set1_epi32(GROUPED_SHUFFLED));
    __m512i ordered_positions = _mm512_maskz_mov_epi32(is_reverse, last);
    __m512i ordered_increments = _mm512_mask_mov_epi32(_mm512_set1_epi32(1), is_reverse, last);
    grouped_update_order_wide(low, high, count, strides, positions, increments);
    *positions = _mm512_mask_mov_epi32(*positions, is_ordered, ordered_positions);
    *increments = _mm512_mask_mov_epi32(*increments, is_ordered, ordered_increments);
}

/* Select from up to 64 values in registers. */
GROUPED_WIDE __m512 grouped_pick_64_wide(const __m512 *loaded, __m512i positions) {
    __mmask16 is_upper = _mm512_test_epi32_mask(positions, _mm512_set1_epi32(32));
    __m512 lower = _mm512_permutex2var_ps(loaded[0], positions, loaded[1]);
    return _mm512_mask_mov_ps(lower, is_upper, _mm512_permutex2var_ps(loaded[2], positions, loaded[3]));
}

/* Select from up to 16 * `registers` values in registers. */
GROUPED_WIDE __m512 grouped_pick_wide(const __m512 *loaded, __m512i positions, int registers) {
    if (registers == 1) return _mm512_permutexvar_ps(positions, loaded[0]);
    if (registers == 2) return _mm512_permutex2var_ps(loaded[0], positions, loaded[1]);
    if (registers == 4) return grouped_pick_64_wide(loaded, positions);
    __mmask16 is_upper = _mm512_test_epi32_mask(positions, _mm512_set1_epi32(64));
    return _mm512_mask_mov_ps(
        grouped_pick_64_wide(loaded, positions), is_upper, grouped_pick_64_wide(loaded + 4, positions));
}

/* Combine `count` values with the totals, from `registers`, or from memory if that is 0. */
GROUPED_WIDE __m512 grouped_total_wide(
    __m512 totals, const float *values, int32_t count, int multiplies, __m512i positions, __m512i increments,
        int registers) {
    __m512 loaded[8];
    __m512i end = _mm512_set1_epi32(count);
    UNROLL
    for (int number = 0; number < registers; number++) {
        int32_t remaining = count - 16 * number;
        __mmask16 mask = (__mmask16)(remaining >= 16 ? 0xFFFF : remaining > 0 ? (1 << remaining) - 1 : 0);
        loaded[number] = _mm512_maskz_loadu_ps(mask, values + 16 * number);
    }
    for (int32_t step = 0; step < count; step++) {
        __m512 value = registers ? grouped_pick_wide(loaded, positions, registers) : _mm512_i32gather_ps(
            positions, values, 4);
        totals = multiplies ? _mm512_mul_ps(totals, value) : _mm512_add_ps(totals, value);
        positions = _mm512_add_epi32(positions, increments);
        positions = _mm512_min_epu32(positions, _mm512_sub_epi32(positions, end));
    }
    return totals;
}

/* `grouped_apply_schedules_f32` with AVX-512. */
GROUPED_WIDE void grouped_apply_schedules_f32_wide(
    const struct grouped_updates *updates, int64_t number, int32_t count, const struct grouped_schedules *schedules,
    const int32_t *strides, float *totals) {
    const float *values = (const float *)updates->values + updates->bounds[number];
    int multiplies = updates->multiplies;
    __m512i positions, increments;
    __m512 total = _mm512_set1_ps(((const float *)updates->initials)[number]);
    grouped_schedule_orders_wide(schedules, updates->elements[number], count, strides, &positions, &increments);
    if (count == 2) /* The results of both orders are stored. */
        total = _mm512_mask_blend_ps(
            _mm512_test_epi32_mask(positions, positions), _mm512_set1_ps(values[0]), _mm512_set1_ps(values[1]));
    else if (count <= 16)
        total = grouped_total_wide(total, values, count, multiplies, positions, increments, 1);
    else if (count <= 32)
        total = grouped_total_wide(total, values, count, multiplies, positions, increments, 2);
    else if (count <= 64)
        total = grouped_total_wide(total, values, count, multiplies, positions, increments, 4);
    else if (count <= 128)
        total = grouped_total_wide(total, values, count, multiplies, positions, increments, 8);
    else
        total = grouped_total_wide(total, values, count, multiplies, positions, increments, 0);
    _mm512_storeu_ps(totals, total);
}

/* `grouped_apply_schedules_f64` with AVX-512. */
GROUPED_WIDE void grouped_apply_schedules_f64_wide(
    const struct grouped_updates *updates, int64_t number, int32_t count, const struct grouped_schedules *schedules,
    const int32_t *strides, double *totals) {
    const double *values = (const double *)updates->values + updates->bounds[number];
    __m512i all_positions, all_increments;
    grouped_schedule_orders_wide(schedules, updates->elements[number], count, strides, &all_positions, &all_increments);
    for (int half = 0; half < 2; half++) {
        __m256i positions = half ? _mm512_extracti64x4_epi64(all_positions, 1) : _mm512_castsi512_si256(all_positions);
        __m256i increments = half ? _mm512_extracti64x4_epi64(all_increments, 1) : _mm512_castsi512_si256(
            all_increments);
        __m256i end = _mm256_set1_epi32(count);
        __m512d total = _mm512_set1_pd(((const double *)updates->initials)[number]);
        if (count == 2) total = _mm512_i32gather_pd(positions, values, 8); /* The results of both orders are stored. */
        for (int32_t step = 0; count != 2 && step < count; step++) {
            __m512d value = _mm512_i32gather_pd(positions, values, 8);
            total = updates->multiplies ? _mm512_mul_pd(total, value) : _mm512_add_pd(total, value);
            positions = _mm256_add_epi32(positions, increments);
            positions = _mm256_min_epu32(positions, _mm256_sub_epi32(positions, end));
        }
        _mm512_storeu_pd(totals + 8 * half, total);
    }
}

/* `grouped_widen_f32` with AVX-512. */
GROUPED_WIDE void grouped_widen_f32_wide(const float *totals, int64_t vectors, float *minimum, float *maximum) {
    __m512 low = _mm512_set1_ps(*minimum), high = _mm512_set1_ps(*maximum);
    if (*minimum != *minimum) {
        grouped_widen_f32(totals, vectors, minimum, maximum);
        return;
    }
    /* These instructions return the second operand if the first is NaN. */
    for (int64_t vector = 0; vector < vectors; vector++) {
        low = _mm512_min_ps(_mm512_loadu_ps(totals + 16 * vector), low);
        high = _mm512_max_ps(_mm512_loadu_ps(totals + 16 * vector), high);
    }
    *minimum = _mm512_reduce_min_ps(low);
    *maximum = _mm512_reduce_max_ps(high);
}

/* `grouped_widen_f64` with AVX-512. */
GROUPED_WIDE void grouped_widen_f64_wide(const double *totals, int64_t vectors, double *minimum, double *maximum) {
    __m512d low = _mm512_set1_pd(*minimum), high = _mm512_set1_pd(*maximum);
    if (*minimum != *minimum) {
        grouped_widen_f64(totals, vectors, minimum, maximum);
        return;
    }
    for (int64_t half = 0; half < 2 * vectors; half++) {
        low = _mm512_min_pd(_mm512_loadu_pd(totals + 8 * half), low);
        high = _mm512_max_pd(_mm512_loadu_pd(totals + 8 * half), high);
    }
    *minimum = _mm512_reduce_min_pd(low);
    *maximum = _mm512_reduce_max_pd(high);
}

GROUPED_WIDE_ENTRY void grouped_compare_f32_wide(
    const struct grouped_comparison *comparison, int64_t begin, int64_t end, struct grouped_extremes *extremes) {
    grouped_compare_by_f32(comparison, begin, end, extremes, grouped_apply_schedules_f32_wide, grouped_widen_f32_wide);
}

GROUPED_WIDE_ENTRY void grouped_compare_f64_wide(
    const struct grouped_comparison *comparison, int64_t begin, int64_t end, struct grouped_extremes *extremes) {
    grouped_compare_by_f64(comparison, begin, end, extremes, grouped_apply_schedules_f64_wide, grouped_widen_f64_wide);
}
