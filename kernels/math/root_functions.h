/* The cube root of f64.

   |x| is 2^(3 k) m, where m is from 1/2 to 4; its root is m y^2, where y is the inverse one, a polynomial with one step
   of Halley's method. A step of Newton's method, with the cube's rounding errors, follows: errors stay below 0.51 ulp.
   Each step is rounded as written, multiply-adds once: results have the same bits on every processor and in every kind
   of vectors. */

#ifndef NIMBLEHLO_ROOT_FUNCTIONS_H
#define NIMBLEHLO_ROOT_FUNCTIONS_H

#include "real_arithmetic.h"

#define LEAST_NORMAL 0x1p-1022

REAL_INLINE double cbrt_of(double x) {
    double size = fabs(x);
    int is_small = size < LEAST_NORMAL;
    uint64_t bits = bits_of(chosen(is_small, size * 0x1p54, size));
    double exponent = number_of(bits >> 52 | bits_of(0x1p52)) - (0x1p52 + 1023);
    double third = FUSED_MULTIPLY_ADD(exponent, 1.0 / 3, TO_WHOLE) - TO_WHOLE, left = exponent - 3 * third;
    double m = number_of((bits & (((uint64_t)1 << 52) - 1)) | bits_of(1));
    POLYNOMIAL(start, m, INVERSE_CBRT_TERMS)
    double y = start * chosen(left > 0, CBRT_OF_HALF, chosen(left < 0, CBRT_OF_TWO, 1));
    m *= chosen(left > 0, 2, chosen(left < 0, 0.5, 1));
    double excess = FUSED_MULTIPLY_ADD(-m, y * y * y, 1);
    y = FUSED_MULTIPLY_ADD(y * excess, FUSED_MULTIPLY_ADD(excess, 2.0 / 9, 1.0 / 3), y);
    double square = y * y, root = m * square;
    double root_square = root * root, lost = FUSED_MULTIPLY_ADD(root, root, -root_square);
    double cube_excess = FUSED_MULTIPLY_ADD(root_square, root, -m) + lost * root;
    root = FUSED_MULTIPLY_ADD(cube_excess * square, -1.0 / 3, root);
    double value = copysign(root * power_of_two(chosen(is_small, third - 18, third)), x);
    /* Zeros, infinities and what is no number stay. */
    return chosen((size > 0) & (size < INFINITY), value, x + x);
}

REAL_INLINE void cbrt_of_all(double *values, intptr_t count) {
    for (intptr_t place = 0; place < count; place++) values[place] = cbrt_of(values[place]);
}

#endif
