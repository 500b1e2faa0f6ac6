/* Updates of some elements for grouped_updates.h with AVX-512. */

#include <immintrin.h>

#define GROUPED_TARGET "avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"
#define GROUPED_WIDE static GROUPED_INLINE __attribute__((target(GROUPED_TARGET)))
#define GROUPED_WIDE_ENTRY static __attribute__((target(GROUPED_TARGET)))

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

/* `grouped_update_order` of 16 numbers: products of elements and their multiplier, plus the hashed key. */
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

/* The products of 8 elements and their multiplier, plus the hashed key. */
GROUPED_WIDE __m512i grouped_hash_elements_wide(__m256i elements, uint64_t hashed_key) {
    __m512i factor = _mm512_set1_epi64((long long)grouped_factors[0]);
    return _mm512_add_epi64(
        _mm512_mullo_epi64(_mm512_cvtepi32_epi64(elements), factor), _mm512_set1_epi64((long long)hashed_key));
}

/* The first positions and strides of the updates of 16 elements, in any order. */
GROUPED_WIDE void grouped_begin_wide(
    const struct grouped_updates *updates, __m512i elements, int32_t count, const int32_t *strides, __m512i *positions,
    __m512i *increments) {
    *positions = _mm512_set1_epi32(updates->order == GROUPED_REVERSE ? count - 1 : 0);
    *increments = _mm512_set1_epi32(updates->order == GROUPED_REVERSE ? count - 1 : 1);
    if (updates->order == GROUPED_SHUFFLED) {
        __m512i low = grouped_hash_elements_wide(_mm512_castsi512_si256(elements), updates->hashed_key);
        __m512i high = grouped_hash_elements_wide(_mm512_extracti64x4_epi64(elements, 1), updates->hashed_key);
        grouped_update_order_wide(low, high, count, strides, positions, increments);
    }
}

/* `grouped_lanes_f32` with AVX-512. */
GROUPED_WIDE_ENTRY void grouped_lanes_f32_wide(
    const struct grouped_updates *updates, int64_t first, int32_t count, const int32_t *strides, int lanes) {
    __mmask16 mask = (__mmask16)((1u << lanes) - 1);
    const float *values = updates->values;
    __m512i elements = _mm512_maskz_loadu_epi32(mask, updates->elements + first), positions, increments;
    __m512i begins = _mm512_maskz_loadu_epi32(mask, updates->bounds + first), end = _mm512_set1_epi32(count);
    __m512 zero = _mm512_setzero_ps(), totals = _mm512_maskz_loadu_ps(mask, (const float *)updates->initials + first);
    grouped_begin_wide(updates, elements, count, strides, &positions, &increments);
    if (count == 2) { /* The results of both orders are stored. */
        totals = _mm512_mask_i32gather_ps(zero, mask, _mm512_add_epi32(begins, positions), values, sizeof(float));
        count = 0;
    }
    for (int32_t step = 0; step < count; step++) {
        __m512i indices = _mm512_add_epi32(begins, positions);
        __m512 value = _mm512_mask_i32gather_ps(zero, mask, indices, values, sizeof(float));
        totals = updates->multiplies ? _mm512_mul_ps(totals, value) : _mm512_add_ps(totals, value);
        positions = _mm512_add_epi32(positions, increments);
        positions = _mm512_mask_sub_epi32(positions, _mm512_cmpge_epi32_mask(positions, end), positions, end);
    }
    _mm512_mask_storeu_ps((float *)updates->totals + first, mask, totals);
    if (updates->result) _mm512_mask_i32scatter_ps(updates->result, mask, elements, totals, sizeof(float));
}

/* `grouped_lanes_f64` with AVX-512. */
GROUPED_WIDE_ENTRY void grouped_lanes_f64_wide(
    const struct grouped_updates *updates, int64_t first, int32_t count, const int32_t *strides, int lanes) {
    __mmask16 full_mask = (__mmask16)((1u << lanes) - 1);
    const double *values = updates->values;
    __m512i elements = _mm512_maskz_loadu_epi32(full_mask, updates->elements + first), all_positions, all_increments;
    grouped_begin_wide(updates, elements, count, strides, &all_positions, &all_increments);
    for (int half = 0; half < 2; half++) {
        __mmask8 mask = (__mmask8)(full_mask >> (8 * half));
        int64_t from = first + 8 * half;
        __m256i begins = _mm256_maskz_loadu_epi32(mask, updates->bounds + from), end = _mm256_set1_epi32(count);
        __m256i positions = half ? _mm512_extracti64x4_epi64(all_positions, 1) : _mm512_castsi512_si256(all_positions);
        __m256i increments = half ? _mm512_extracti64x4_epi64(all_increments, 1) : _mm512_castsi512_si256(
            all_increments);
        __m512d zero = _mm512_setzero_pd(), totals =
            _mm512_maskz_loadu_pd(mask, (const double *)updates->initials + from);
        int32_t remaining_count = count;
        if (count == 2) { /* The results of both orders are stored. */
            totals = _mm512_mask_i32gather_pd(zero, mask, _mm256_add_epi32(begins, positions), values, sizeof(double));
            remaining_count = 0;
        }
        for (int32_t step = 0; step < remaining_count; step++) {
            __m256i indices = _mm256_add_epi32(begins, positions);
            __m512d value = _mm512_mask_i32gather_pd(zero, mask, indices, values, sizeof(double));
            totals = updates->multiplies ? _mm512_mul_pd(totals, value) : _mm512_add_pd(totals, value);
            positions = _mm256_add_epi32(positions, increments);
            positions = _mm256_mask_sub_epi32(positions, _mm256_cmpge_epi32_mask(positions, end), positions, end);
        }
        _mm512_mask_storeu_pd((double *)updates->totals + from, mask, totals);
        if (updates->result)
            _mm512_mask_i32scatter_pd(
                updates->result, mask, _mm256_maskz_loadu_epi32(mask, updates->elements + from), totals,
                    sizeof(double));
    }
}
