/* The first positions of updates, and f32 under some schedules, for grouped_updates.h with AVX-512: up to 128 updates
   are selected from registers, which takes a quarter of the time of gathers. */

#include <immintrin.h>

#include "simd/unroll.h"

#define GROUPED_WIDE static GROUPED_INLINE GROUPED_CODE

/* Truncate 16 integers of 64 bits to 32 bits. */
GROUPED_WIDE __m512i grouped_truncate(__m512i low, __m512i high) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(low)), _mm512_cvtepi64_epi32(high), 1);
}

/* The last rounds of the hash of 8 numbers. */
GROUPED_WIDE __m512i grouped_bits_wide(__m512i bits) {
    const long long *factors = (const long long *)grouped_factors;
    bits = _mm512_mullo_epi64(_mm512_xor_si512(bits, _mm512_srli_epi64(bits, 30)), _mm512_set1_epi64(factors[2]));
    bits = _mm512_mullo_epi64(_mm512_xor_si512(bits, _mm512_srli_epi64(bits, 27)), _mm512_set1_epi64(factors[3]));
    return _mm512_xor_si512(bits, _mm512_srli_epi64(bits, 31));
}

/* `grouped_first_position` and `grouped_increment` in shuffled order of 16 hashes: products of elements and their
   multiplier, plus the hashed key. */
GROUPED_WIDE void grouped_update_order_wide(
    __m512i low, __m512i high, int32_t count, const int32_t *strides, __m512i *positions, __m512i *increments) {
    __m512i wide = _mm512_set1_epi64(count);
    low = grouped_bits_wide(low);
    high = grouped_bits_wide(high);
    *positions = grouped_truncate(
        _mm512_srli_epi64(_mm512_mul_epu32(low, wide), 32), _mm512_srli_epi64(_mm512_mul_epu32(high, wide), 32));
    *increments = _mm512_permutexvar_epi32(
        grouped_truncate(_mm512_srli_epi64(low, 60), _mm512_srli_epi64(high, 60)), _mm512_loadu_si512(strides));
}

/* The first positions and the increments of an element under some schedules. */
GROUPED_WIDE void grouped_schedule_orders_wide(
    const uint64_t *hashed_keys, const int32_t *orders, int32_t element, int32_t count, const int32_t *strides,
    __m512i *positions, __m512i *increments) {
    __m512i number = _mm512_set1_epi64((long long)((uint64_t)element * grouped_factors[0]));
    __m512i low = _mm512_add_epi64(number, _mm512_loadu_si512(hashed_keys));
    __m512i high = _mm512_add_epi64(number, _mm512_loadu_si512(hashed_keys + 8));
    __m512i loaded = _mm512_loadu_si512(orders), last = _mm512_set1_epi32(count - 1);
    __mmask16 is_reverse = _mm512_cmpeq_epi32_mask(loaded, _mm512_set1_epi32(GROUPED_REVERSE));
    __mmask16 is_ordered = _mm512_cmpneq_epi32_mask(loaded, _mm512_set1_epi32(GROUPED_SHUFFLED));
    __m512i ordered_positions = _mm512_maskz_mov_epi32(is_reverse, last);
    __m512i ordered_increments = _mm512_mask_mov_epi32(_mm512_set1_epi32(1), is_reverse, last);
    grouped_update_order_wide(low, high, count, strides, positions, increments);
    *positions = _mm512_mask_mov_epi32(*positions, is_ordered, ordered_positions);
    *increments = _mm512_mask_mov_epi32(*increments, is_ordered, ordered_increments);
}

/* `grouped_schedule_orders` with AVX-512. */
GROUPED_WIDE void grouped_store_orders_wide(
    const uint64_t *hashed_keys, const int32_t *orders, int32_t element, int32_t count, const int32_t *strides,
    int32_t *positions, int32_t *increments) {
    __m512i first_positions, strides_of_lanes;
    grouped_schedule_orders_wide(hashed_keys, orders, element, count, strides, &first_positions, &strides_of_lanes);
    _mm512_storeu_si512(positions, first_positions);
    _mm512_storeu_si512(increments, strides_of_lanes);
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
    const struct grouped_updates *updates, int64_t number, int32_t count, const uint64_t *hashed_keys,
    const int32_t *orders, const int32_t *strides, float *totals) {
    const float *values = (const float *)updates->values + updates->bounds[number];
    int multiplies = updates->multiplies;
    __m512i positions, increments;
    __m512 total = _mm512_set1_ps(((const float *)updates->initials)[number]);
    grouped_schedule_orders_wide(
        hashed_keys, orders, updates->elements[number], count, strides, &positions, &increments);
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
