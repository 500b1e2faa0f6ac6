/* Fused multiply-adds on x86-64 processors that have no instruction for them, with the bits of those that do.

   A sum that is rounded to odd and then to nearest has the bits of one that is only rounded to nearest, if the first
   rounding keeps at least two bits more than the second. Source: S. Boldo, G. Melquiond, "Emulation of FMA and
   correctly rounded sums: proved algorithms using rounding to odd", IEEE Transactions on Computers 57(4), 2008. */

#ifndef NIMBLEHLO_SOFTWARE_FMA_H
#define NIMBLEHLO_SOFTWARE_FMA_H

#include <emmintrin.h>
#include <math.h>
#include <stdint.h>

typedef double SoftwareDoubles __attribute__((vector_size(16)));
typedef int64_t SoftwareBits __attribute__((vector_size(16)));

/* a + b; the rounding error is stored. It is NaN if the sum is no finite number. */
static inline __attribute__((always_inline)) SoftwareDoubles software_sum(
    SoftwareDoubles a, SoftwareDoubles b, SoftwareDoubles *error) {
    SoftwareDoubles sum = a + b, b_rounded = sum - a;
    *error = (a - (sum - b_rounded)) + (b - b_rounded);
    return sum;
}

/* a + b, rounded to odd: of the two neighbours of an inexact sum the one whose last bit is 1. */
static inline __attribute__((always_inline)) SoftwareDoubles software_sum_to_odd(SoftwareDoubles a, SoftwareDoubles b) {
    SoftwareDoubles error, sum = software_sum(a, b, &error), zero = {0, 0};
    SoftwareBits bits = (SoftwareBits)sum, one = {1, 1};
    SoftwareBits is_inexact = (SoftwareBits)((error < zero) | (error > zero)), is_even = (bits & one) - one;
    /* 1 if the exact sum has the greater magnitude, else -1. */
    SoftwareBits direction = one | (SoftwareBits)((error < zero) ^ (sum < zero));
    return (SoftwareDoubles)(bits + (is_inexact & is_even & direction));
}

/* a * b + c of two numbers: the product is exact. */
static inline __attribute__((always_inline)) __m128d software_fma_of_singles(__m128d a, __m128d b, __m128d c) {
    return (__m128d)software_sum_to_odd((SoftwareDoubles)(a * b), (SoftwareDoubles)c);
}

/* a * b + c, rounded once. Calls are cheap beside the additions, and code stays small. */
static __attribute__((noinline, unused)) __m128 software_fma_float(__m128 a, __m128 b, __m128 c) {
    __m128d low = software_fma_of_singles(_mm_cvtps_pd(a), _mm_cvtps_pd(b), _mm_cvtps_pd(c));
    __m128d high = software_fma_of_singles(
        _mm_cvtps_pd(_mm_movehl_ps(a, a)), _mm_cvtps_pd(_mm_movehl_ps(b, b)), _mm_cvtps_pd(_mm_movehl_ps(c, c)));
    return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
}

/* Upper and lower parts of a number, of 26 bits each; their sum is exact. */
static inline __attribute__((always_inline)) SoftwareDoubles software_upper_bits(SoftwareDoubles number) {
    SoftwareDoubles scaled = number * 0x1.0000002p27;
    return scaled - (scaled - number);
}

/* a * b + c, rounded once. Numbers whose products or errors could overflow or underflow go to the C library. */
static __attribute__((noinline, unused)) __m128d software_fma_double(
    __m128d a_given, __m128d b_given, __m128d c_given) {
    SoftwareDoubles a = (SoftwareDoubles)a_given, b = (SoftwareDoubles)b_given, c = (SoftwareDoubles)c_given;
    SoftwareBits magnitude_mask = {INT64_MAX, INT64_MAX};
    SoftwareDoubles zero = {0, 0}, a_size = (SoftwareDoubles)((SoftwareBits)a & magnitude_mask);
    SoftwareDoubles b_size = (SoftwareDoubles)((SoftwareBits)b & magnitude_mask);
    SoftwareDoubles c_size = (SoftwareDoubles)((SoftwareBits)c & magnitude_mask);
    SoftwareBits is_zero = (SoftwareBits)((a == zero) | (b == zero));
    SoftwareBits is_moderate = (SoftwareBits)(
        (a_size > 0x1p-450) & (a_size < 0x1p450) & (b_size > 0x1p-450) & (b_size < 0x1p450) & (c_size < 0x1p900));
    if (_mm_movemask_pd((__m128d)(is_moderate | is_zero)) != 3)
        return (__m128d){__builtin_fma(a[0], b[0], c[0]), __builtin_fma(a[1], b[1], c[1])};
    SoftwareDoubles a_upper = software_upper_bits(a), b_upper = software_upper_bits(b);
    SoftwareDoubles a_lower = a - a_upper, b_lower = b - b_upper, product = a * b;
    SoftwareDoubles product_error =
        ((a_upper * b_upper - product) + a_upper * b_lower + a_lower * b_upper) + a_lower * b_lower;
    SoftwareDoubles minor_error, total_error, minor = software_sum(c, product_error, &minor_error);
    SoftwareDoubles total = software_sum(product, minor, &total_error);
    SoftwareBits sum = (SoftwareBits)(total + software_sum_to_odd(minor_error, total_error));
    return (__m128d)((sum & ~is_zero) | ((SoftwareBits)(product + c) & is_zero));
}

#endif
