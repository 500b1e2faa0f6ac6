/* Some elements' updates for grouped_updates.h on machines with AVX-512. */

#include <immintrin.h>

#define GROUPED_TARGET "avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"
#define GROUPED_WIDE static GROUPED_INLINE __attribute__((target(GROUPED_TARGET)))
#define GROUPED_WIDE_ENTRY static __attribute__((target(GROUPED_TARGET)))

/* Two halves of 64-bit numbers as one vector of their lower 32 bits. */
GROUPED_WIDE __m512i grouped_narrow(__m512i low, __m512i high) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi64_epi32(low)), _mm512_cvtepi64_epi32(high), 1);
}

/* The bits of 8 numbers. */
GROUPED_WIDE __m512i grouped_bits_wide(__m512i bits) {
    const long long *factors = (const long long *)grouped_factors;
    bits = _mm512_mullo_epi64(_mm512_xor_si512(bits, _mm512_srli_epi64(bits, 30)), _mm512_set1_epi64(factors[2]));
    bits = _mm512_mullo_epi64(_mm512_xor_si512(bits, _mm512_srli_epi64(bits, 27)), _mm512_set1_epi64(factors[3]));
    return _mm512_xor_si512(bits, _mm512_srli_epi64(bits, 31));
}

/* As `grouped_way`, of 16 numbers: elements by their factor with what keys add. */
GROUPED_WIDE void grouped_ways_wide(
    __m512i low, __m512i high, int32_t count, const int32_t *strides, __m512i *places, __m512i *steps) {
    __m512i wide = _mm512_set1_epi64(count);
    low = grouped_bits_wide(low);
    high = grouped_bits_wide(high);
    *places = grouped_narrow(
        _mm512_srli_epi64(_mm512_mul_epu32(low, wide), 32), _mm512_srli_epi64(_mm512_mul_epu32(high, wide), 32));
    *steps = _mm512_permutexvar_epi32(
        grouped_narrow(_mm512_srli_epi64(low, 60), _mm512_srli_epi64(high, 60)), _mm512_loadu_si512(strides));
}

/* 8 elements by their factor, with what the key adds. */
GROUPED_WIDE __m512i grouped_numbers_wide(__m256i elements, uint64_t mixed) {
    __m512i factor = _mm512_set1_epi64((long long)grouped_factors[0]);
    return _mm512_add_epi64(
        _mm512_mullo_epi64(_mm512_cvtepi32_epi64(elements), factor), _mm512_set1_epi64((long long)mixed));
}

/* Where to begin with the updates of 16 elements, and how far the next ones are, in any order. */
GROUPED_WIDE void grouped_begin_wide(
    const struct grouped_updates *own, __m512i elements, int32_t count, const int32_t *strides, __m512i *places,
    __m512i *steps) {
    *places = _mm512_set1_epi32(own->order == GROUPED_REVERSE ? count - 1 : 0);
    *steps = _mm512_set1_epi32(own->order == GROUPED_REVERSE ? count - 1 : 1);
    if (own->order == GROUPED_SHUFFLED) {
        __m512i low = grouped_numbers_wide(_mm512_castsi512_si256(elements), own->mixed);
        __m512i high = grouped_numbers_wide(_mm512_extracti64x4_epi64(elements, 1), own->mixed);
        grouped_ways_wide(low, high, count, strides, places, steps);
    }
}

/* As `grouped_lanes_f32`. */
GROUPED_WIDE_ENTRY void grouped_lanes_f32_wide(
    const struct grouped_updates *own, int64_t first, int32_t count, const int32_t *strides, int lanes) {
    __mmask16 some = (__mmask16)((1u << lanes) - 1);
    const float *values = own->values;
    __m512i elements = _mm512_maskz_loadu_epi32(some, own->elements + first), places, steps;
    __m512i begins = _mm512_maskz_loadu_epi32(some, own->bounds + first), end = _mm512_set1_epi32(count);
    __m512 zero = _mm512_setzero_ps(), folded = _mm512_maskz_loadu_ps(some, (const float *)own->initials + first);
    grouped_begin_wide(own, elements, count, strides, &places, &steps);
    if (count == 2) { /* Both orders' values are known. */
        folded = _mm512_mask_i32gather_ps(zero, some, _mm512_add_epi32(begins, places), values, sizeof(float));
        count = 0;
    }
    for (int32_t left = 0; left < count; left++) {
        __m512i at = _mm512_add_epi32(begins, places);
        __m512 value = _mm512_mask_i32gather_ps(zero, some, at, values, sizeof(float));
        folded = own->multiplies ? _mm512_mul_ps(folded, value) : _mm512_add_ps(folded, value);
        places = _mm512_add_epi32(places, steps);
        places = _mm512_mask_sub_epi32(places, _mm512_cmpge_epi32_mask(places, end), places, end);
    }
    _mm512_mask_storeu_ps((float *)own->totals + first, some, folded);
    if (own->result) _mm512_mask_i32scatter_ps(own->result, some, elements, folded, sizeof(float));
}

/* As `grouped_lanes_f64`. */
GROUPED_WIDE_ENTRY void grouped_lanes_f64_wide(
    const struct grouped_updates *own, int64_t first, int32_t count, const int32_t *strides, int lanes) {
    __mmask16 both = (__mmask16)((1u << lanes) - 1);
    const double *values = own->values;
    __m512i elements = _mm512_maskz_loadu_epi32(both, own->elements + first), all_places, all_steps;
    grouped_begin_wide(own, elements, count, strides, &all_places, &all_steps);
    for (int half = 0; half < 2; half++) {
        __mmask8 some = (__mmask8)(both >> (8 * half));
        int64_t from = first + 8 * half;
        __m256i begins = _mm256_maskz_loadu_epi32(some, own->bounds + from), end = _mm256_set1_epi32(count);
        __m256i places = half ? _mm512_extracti64x4_epi64(all_places, 1) : _mm512_castsi512_si256(all_places);
        __m256i steps = half ? _mm512_extracti64x4_epi64(all_steps, 1) : _mm512_castsi512_si256(all_steps);
        __m512d zero = _mm512_setzero_pd(), folded = _mm512_maskz_loadu_pd(some, (const double *)own->initials + from);
        int32_t others = count;
        if (count == 2) { /* Both orders' values are known. */
            folded = _mm512_mask_i32gather_pd(zero, some, _mm256_add_epi32(begins, places), values, sizeof(double));
            others = 0;
        }
        for (int32_t left = 0; left < others; left++) {
            __m256i at = _mm256_add_epi32(begins, places);
            __m512d value = _mm512_mask_i32gather_pd(zero, some, at, values, sizeof(double));
            folded = own->multiplies ? _mm512_mul_pd(folded, value) : _mm512_add_pd(folded, value);
            places = _mm256_add_epi32(places, steps);
            places = _mm256_mask_sub_epi32(places, _mm256_cmpge_epi32_mask(places, end), places, end);
        }
        _mm512_mask_storeu_pd((double *)own->totals + from, some, folded);
        if (own->result)
            _mm512_mask_i32scatter_pd(
                own->result, some, _mm256_maskz_loadu_epi32(some, own->elements + from), folded, sizeof(double));
    }
}
