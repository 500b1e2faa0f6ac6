/* The cube root of f64.

   |x| is 2^(3 k) m, where m is from 1/2 to 4; its root is m y^2, where y is the inverse root: a polynomial, then one
   step of Halley's method. A step of Newton's method follows, with the rounding errors of the cube: errors stay
   below 0.51 ulp. Each operation is rounded as written, a fused multiply-add once: results have the same bits on
   every processor and for every vector width. */

#ifndef NIMBLEHLO_ROOT_FUNCTIONS_H
#define NIMBLEHLO_ROOT_FUNCTIONS_H

#include "real_arithmetic.h"

REAL_INLINE double cbrt_of(double x) {
    double magnitude = fabs(x);
    int is_subnormal = magnitude < MIN_NORMAL;
    uint64_t bits = bits_of(blend(is_subnormal, magnitude * 0x1p54, magnitude));
    double exponent = double_from_bits(bits >> 52 | bits_of(0x1p52)) - (0x1p52 + 1023);
    double third = FUSED_MULTIPLY_ADD(exponent, 1.0 / 3, ROUND_TO_INTEGER) - ROUND_TO_INTEGER, exponent_remainder =
        exponent - 3 * third;
    double m = double_from_bits((bits & (((uint64_t)1 << 52) - 1)) | bits_of(1));
    POLYNOMIAL(start, m, INVERSE_CBRT_TERMS)
    double y = start * blend(exponent_remainder > 0, CBRT_OF_HALF, blend(exponent_remainder < 0, CBRT_OF_TWO, 1));
    m *= blend(exponent_remainder > 0, 2, blend(exponent_remainder < 0, 0.5, 1));
    double excess = FUSED_MULTIPLY_ADD(-m, y * y * y, 1);
    y = FUSED_MULTIPLY_ADD(y * excess, FUSED_MULTIPLY_ADD(excess, 2.0 / 9, 1.0 / 3), y);
    double square = y * y, root = m * square;
    double root_square = root * root, square_error = FUSED_MULTIPLY_ADD(root, root, -root_square);
    double cube_excess = FUSED_MULTIPLY_ADD(root_square, root, -m) + square_error * root;
    root = FUSED_MULTIPLY_ADD(cube_excess * square, -1.0 / 3, root);
    double value = copysign(root * power_of_two(blend(is_subnormal, third - 18, third)), x);
    /* Zeros, infinities and NaN are their own roots. */
    return blend((magnitude > 0) & (magnitude < INFINITY), value, x + x);
}

OF_ALL(cbrt)

#endif
