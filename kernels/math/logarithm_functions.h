/* log, log(1 + x) and the inverse hyperbolic functions of f64.

   u is 2^k m, where m is from sqrt(1/2) to sqrt(2); log(m) is 2 atanh(s) = 2 s + s^3 times a polynomial in s^2, where
   s = (m - 1) / (m + 1). u and s are sums of two numbers, which keeps the digits of what is near 1: errors stay below
   0.6 ulp. Each operation is rounded as written, a fused multiply-add once: results have the same bits on every
   processor and for every vector width. */

#ifndef NIMBLEHLO_LOGARITHM_FUNCTIONS_H
#define NIMBLEHLO_LOGARITHM_FUNCTIONS_H

#include "real_arithmetic.h"

/* Below the first, log(1 + x) is x - x^2 / 2; below the second, asinh(x) and atanh(x) are x. From the third on,
   sqrt(x^2 + 1) and sqrt(x^2 - 1) are x. */
#define TINY_EXCESS 0x1p-40
#define TINY_ARGUMENT 0x1p-28
#define LARGE_ARGUMENT 0x1p28
/* The greatest k for which 2^-k is a normal number. */
#define MAX_SCALE 1022

/* log(u 2^doublings), for normal numbers u > 0. */
REAL_INLINE DoubleDouble double_double_logarithm(DoubleDouble u, double doublings) {
    const uint64_t one = (uint64_t)1 << 52, root = bits_of(ROOT_OF_HALF);
    uint64_t biased = bits_of(u.high) + (bits_of(1) - root);
    double k = double_from_bits(biased >> 52 | bits_of(0x1p52)) - (0x1p52 + 1023);
    double m = double_from_bits((biased & (one - 1)) + root);
    double excess = m - 1, excess_low = u.low * power_of_two(-blend(k < MAX_SCALE, k, MAX_SCALE));
    DoubleDouble divisor = ordered_sum(2, excess);
    double inverse = 1 / divisor.high, s = excess * inverse;
    double rest = FUSED_MULTIPLY_ADD(-s, divisor.high, excess);
    double s_low = (rest + FUSED_MULTIPLY_ADD(1 - s, excess_low, -s * divisor.low)) * inverse;
    double z = s * s;
    POLYNOMIAL(curve, z, LOG_TERMS)
    k += doublings;
    DoubleDouble total = ordered_sum(k * LOG_OF_2, 2 * s);
    total.low += FUSED_MULTIPLY_ADD(k, LOG_OF_2_REST, FUSED_MULTIPLY_ADD(s * z, curve, 2 * s_low));
    return total;
}

REAL_INLINE double logarithm_of(double x) {
    int is_subnormal = x < MIN_NORMAL;
    DoubleDouble u = {blend(is_subnormal, x * 0x1p54, x), 0};
    DoubleDouble total = double_double_logarithm(u, blend(is_subnormal, -54, 0));
    double value = blend(x < INFINITY, total.high + total.low, x + x);
    return blend(x > 0, value, blend(x == 0, -INFINITY, blend(x == x, NAN, x + x)));
}

REAL_INLINE double log_plus_one_of(double x) {
    DoubleDouble total = double_double_logarithm(exact_sum(1, x), 0);
    double value = blend(x < INFINITY, total.high + total.low, x + x);
    value = blend(fabs(x) < TINY_EXCESS, FUSED_MULTIPLY_ADD(-0.5 * x, x, x), value);
    return blend(x > -1, value, blend(x == -1, -INFINITY, blend(x == x, NAN, x + x)));
}

/* The logarithm of |x| + sqrt(x^2 + square_added). */
REAL_INLINE double logarithm_with_root(double magnitude, double square_added) {
    int is_large = magnitude >= LARGE_ARGUMENT;
    double squared = blend(is_large, 1, magnitude);
    DoubleDouble square = exact_square(squared), radicand = exact_sum(square.high, square_added);
    radicand.low += square.low;
    DoubleDouble root = square_root(radicand), u = exact_sum(root.high, squared);
    u.high = blend(is_large, magnitude, u.high), u.low = blend(is_large, 0, u.low + root.low);
    DoubleDouble total = double_double_logarithm(u, blend(is_large, 1, 0));
    return total.high + total.low;
}

REAL_INLINE double asinh_of(double x) {
    double magnitude = fabs(x), value = copysign(logarithm_with_root(magnitude, 1), x);
    return blend((magnitude >= TINY_ARGUMENT) & (magnitude < INFINITY), value, x);
}

REAL_INLINE double acosh_of(double x) {
    double value = blend(x < INFINITY, logarithm_with_root(x, -1), x + x);
    return blend(x >= 1, value, blend(x == x, NAN, x + x));
}

REAL_INLINE double atanh_of(double x) {
    double magnitude = fabs(x);
    DoubleDouble total = double_double_logarithm(quotient(exact_sum(1, magnitude), exact_sum(1, -magnitude)), 0);
    double value = copysign(blend(magnitude == 1, INFINITY, 0.5 * (total.high + total.low)), x);
    value = blend(magnitude >= TINY_ARGUMENT, value, x);
    return blend(magnitude <= 1, value, blend(x == x, NAN, x + x));
}

OF_ALL(logarithm)
OF_ALL(log_plus_one)
OF_ALL(asinh)
OF_ALL(acosh)
OF_ALL(atanh)

#endif
