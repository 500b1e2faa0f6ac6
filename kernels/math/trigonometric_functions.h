/* sin, cos and tan of f64.

   x is k pi/2 plus a remainder of at most pi/4, computed with 159 bits of pi/2 as an unevaluated sum of two numbers,
   both of which the polynomials use; errors stay below 0.8 ulp. For magnitudes from 2^30 on the remainder is a product
   of integers with the digits of 2/pi that decide it. Each operation is rounded as written, a fused multiply-add once:
   results have the same bits on every processor and for every vector width. */

#ifndef NIMBLEHLO_TRIGONOMETRIC_FUNCTIONS_H
#define NIMBLEHLO_TRIGONOMETRIC_FUNCTIONS_H

#include "real_arithmetic.h"

#define MAX_REDUCED 0x1p30

/* first - second as an unevaluated sum of two numbers, without an error. */
#define EXACT_DIFFERENCE(difference, low, first, second)                          \
    double difference = (first) - (second), low##_shifted = difference - (first); \
    double low = ((first) - (difference - low##_shifted)) - ((second) + low##_shifted);

/* The sine and cosine of an argument less a multiple of pi / 2, and that multiple. */
typedef struct { uint64_t quarter; DoubleDouble sine, cosine; } Reduced;

/* The sine and cosine of r + low, and the number of quarter turns before it. */
REAL_INLINE Reduced reduced_pair(uint64_t quarter, double r, double low) {
    double z = r * r, half = 0.5 * z, without = 1 - half;
    POLYNOMIAL(sine_curve, z, SIN_TERMS)
    POLYNOMIAL(cosine_curve, z, COS_TERMS)
    double sine_low = FUSED_MULTIPLY_ADD(z * r, sine_curve, FUSED_MULTIPLY_ADD(-half, low, low));
    double cosine_low = ((1 - without) - half) + FUSED_MULTIPLY_ADD(z * z, cosine_curve, -r * low);
    Reduced reduced = {quarter, ordered_sum(r, sine_low), ordered_sum(without, cosine_low)};
    return reduced;
}

/* For |x| < MAX_REDUCED. */
REAL_INLINE Reduced reduce_by_half_pi(double x) {
    double shifted = FUSED_MULTIPLY_ADD(x, INVERSE_HALF_PI, ROUND_TO_INTEGER), k = shifted - ROUND_TO_INTEGER;
    /* x is near k HALF_PI: the difference is exact. */
    double multiple = k * HALF_PI, multiple_low = FUSED_MULTIPLY_ADD(k, HALF_PI, -multiple);
    double nearer = x - multiple;
    EXACT_DIFFERENCE(near, near_low, nearer, multiple_low)
    double next = k * HALF_PI_NEXT, next_low = FUSED_MULTIPLY_ADD(k, HALF_PI_NEXT, -next);
    EXACT_DIFFERENCE(last, last_low, near, next)
    double low_sum = (near_low + last_low) - FUSED_MULTIPLY_ADD(k, HALF_PI_REST, next_low);
    double r = last + low_sum, low = (last - r) + low_sum;
    return reduced_pair(bits_of(shifted), r, low);
}

/* For MAX_REDUCED <= |x| < infinity. The product of x and 2/pi is needed modulo 4: of 2/pi only digits whose product is
   below 4 count, and 256 of these leave an error below 2^-200, where no remainder is below 2^-62. Source: M. H. Payne
   and R. N. Hanek, "Radian reduction for trigonometric functions", SIGNUM Newsletter 18(1), 1983. */
static Reduced reduce_large_by_half_pi(double x) {
    /* After a word of zeros the digits of 2/pi. */
    static const uint32_t digits[] = {
        0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a,
        0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41,
        0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf,
        0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08,
        0x56033046, 0xfc7b6bab, 0xf0cfbc20, 0x9af4361d,
    };
    const uint64_t one = (uint64_t)1 << 52;
    uint64_t mantissa = (bits_of(x) & (one - 1)) | one, carry = 0;
    /* |x| is mantissa 2^exponent; the digit at `first` of 2/pi 2^exponent has the weight 2. */
    int exponent = (int)(bits_of(x) >> 52 & 0x7ff) - 1075, first = exponent + 30, word = 0;
    uint32_t window[8], product[9] = {0};
    for (int i = 0; i < 8; i++) {
        const uint32_t *from = digits + first / 32 + i;
        window[i] = (uint32_t)(((uint64_t)from[0] << 32 | from[1]) >> (32 - first % 32));
    }
    for (int i = 7; i >= 0; i--, carry >>= 32) {
        carry += (mantissa & 0xffffffff) * window[i];
        product[i] = (uint32_t)carry;
    }
    carry = 0;
    for (int i = 6; i >= 0; i--, carry >>= 32) {
        carry += (mantissa >> 32) * window[i + 1] + product[i];
        product[i] = (uint32_t)carry;
    }
    uint64_t quarter = product[0] >> 30;
    for (int i = 0; i < 8; i++) product[i] = product[i] << 2 | product[i + 1] >> 30;
    double sign = 1;
    if (product[0] >> 31) {
        quarter++, sign = -1;
        for (int i = 0; i < 8; i++) product[i] = ~product[i];
    }
    while (word < 4 && !product[word]) word++;
    DoubleDouble fraction = ordered_sum(product[word] * 0x1p96, product[word + 1] * 0x1p64);
    fraction = ordered_sum(fraction.high, fraction.low + product[word + 2] * 0x1p32 + product[word + 3]);
    DoubleDouble half_pi = {HALF_PI, HALF_PI_NEXT}, angle = double_double_product(fraction, half_pi);
    double scale = sign * copysign(power_of_two(-32 * (word + 4)), x);
    angle = ordered_sum(angle.high * scale, angle.low * scale);
    return reduced_pair(x < 0 ? -quarter : quarter, angle.high, angle.low);
}

/* sin(x + quarter_turns pi/2) of a reduced x. */
REAL_INLINE double sine_of_reduced(double x, Reduced reduced, int quarter_turns) {
    uint64_t quarter = reduced.quarter + (uint64_t)quarter_turns;
    double sine = reduced.sine.high, cosine = reduced.cosine.high;
    double value = double_from_bits(bits_of(blend((int)(quarter & 1), cosine, sine)) ^ (quarter >> 1 & 1) << 63);
    /* Zeros keep their signs. */
    return blend(quarter_turns == 0 && x == 0, x, value);
}

/* tan(x) of a reduced x. */
REAL_INLINE double tangent_of_reduced(double x, Reduced reduced) {
    int is_odd = (int)(reduced.quarter & 1);
    DoubleDouble dividend = {
        blend(is_odd, -reduced.cosine.high, reduced.sine.high), blend(is_odd, -reduced.cosine.low, reduced.sine.low)};
    DoubleDouble divisor = {
        blend(is_odd, reduced.sine.high, reduced.cosine.high), blend(is_odd, reduced.sine.low, reduced.cosine.low)};
    DoubleDouble tangent = quotient(dividend, divisor);
    return blend(x == 0, x, tangent.high + tangent.low);
}

REAL_INLINE int any_is_large(const double *values, intptr_t count) {
    int is_any = 0;
    for (intptr_t i = 0; i < count; i++) is_any |= !(fabs(values[i]) < MAX_REDUCED);
    return is_any;
}

/* sin(x + quarter_turns pi/2), for any x. */
REAL_INLINE double full_range_shifted_sine(double x, int quarter_turns) {
    if (fabs(x) < MAX_REDUCED) return sine_of_reduced(x, reduce_by_half_pi(x), quarter_turns);
    return fabs(x) < INFINITY ? sine_of_reduced(x, reduce_large_by_half_pi(x), quarter_turns) : x - x;
}

/* tan(x), for any x. */
REAL_INLINE double full_range_tangent(double x) {
    if (fabs(x) < MAX_REDUCED) return tangent_of_reduced(x, reduce_by_half_pi(x));
    return fabs(x) < INFINITY ? tangent_of_reduced(x, reduce_large_by_half_pi(x)) : x - x;
}

/* Replace each x by sin(x + quarter_turns pi/2), where `quarter_turns` is 0 or 1. */
REAL_INLINE void shifted_sine_of_all(double *values, intptr_t count, int quarter_turns) {
    if (any_is_large(values, count)) {
        for (intptr_t i = 0; i < count; i++) values[i] = full_range_shifted_sine(values[i], quarter_turns);
        return;
    }
    for (intptr_t i = 0; i < count; i++)
        values[i] = sine_of_reduced(values[i], reduce_by_half_pi(values[i]), quarter_turns);
}

REAL_INLINE void tangent_of_all(double *values, intptr_t count) {
    if (any_is_large(values, count))
        for (intptr_t i = 0; i < count; i++) values[i] = full_range_tangent(values[i]);
    else
        for (intptr_t i = 0; i < count; i++) values[i] = tangent_of_reduced(values[i], reduce_by_half_pi(values[i]));
}

REAL_INLINE void sine_of_all(double *values, intptr_t count) { shifted_sine_of_all(values, count, 0); }

REAL_INLINE void cosine_of_all(double *values, intptr_t count) { shifted_sine_of_all(values, count, 1); }

#endif
