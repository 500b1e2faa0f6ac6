/* exp(x) - 1, sinh and cosh of f64.

   exp(x) is 2^k (1 + p), where p is a sum of two numbers; so is what is added to it: errors stay below 0.7 ulp. Each
   operation is rounded as written, a fused multiply-add once: results have the same bits on every processor and for
   every vector width. */

#ifndef NIMBLEHLO_HYPERBOLIC_FUNCTIONS_H
#define NIMBLEHLO_HYPERBOLIC_FUNCTIONS_H

#include "exponential_functions.h"

/* From the first on down, exp(x) - 1 is -1; from the second on, sinh and cosh are infinite; below the third, exp(x) - 1
   is x, and below the fourth, sinh(x) is x. */
#define MINUS_ONE_EXPONENT -40
#define MAX_HYPERBOLIC 710.5
#define TINY_EXPONENT 0x1p-54
#define TINY_HYPERBOLIC 0x1p-28

/* p, where exp(x) is 2^k (1 + p). */
REAL_INLINE DoubleDouble power_excess(double x, double *exponent) {
    double k = FUSED_MULTIPLY_ADD(x, INVERSE_LOG_OF_2, ROUND_TO_INTEGER) - ROUND_TO_INTEGER;
    double high = FUSED_MULTIPLY_ADD(-k, LOG_OF_2, x), reduced = FUSED_MULTIPLY_ADD(-k, LOG_OF_2_REST, high);
    double reduced_low = FUSED_MULTIPLY_ADD(-k, LOG_OF_2_REST, high - reduced);
    DoubleDouble square = exact_square(reduced), excess = ordered_sum(reduced, 0.5 * square.high);
    POLYNOMIAL(curve, reduced, EXP_CUBE_TERMS)
    double square_low = FUSED_MULTIPLY_ADD(reduced, reduced_low, 0.5 * square.low);
    excess.low += FUSED_MULTIPLY_ADD(square.high * reduced, curve, reduced_low + square_low);
    *exponent = k;
    return excess;
}

REAL_INLINE double exponential_minus_one_of(double x) {
    double clamped = blend(x > MAX_EXPONENT, MAX_EXPONENT, blend(x < MINUS_ONE_EXPONENT, MINUS_ONE_EXPONENT, x)), k;
    DoubleDouble excess = power_excess(clamped, &k);
    /* Half of the result: 2^k alone may overflow. */
    double half_power = power_of_two(k - 1);
    DoubleDouble start = exact_sum(half_power, -0.5), total = exact_sum(start.high, half_power * excess.high);
    double half = total.high + (total.low + FUSED_MULTIPLY_ADD(half_power, excess.low, start.low));
    return blend(x == x, blend(fabs(x) < TINY_EXPONENT, x, 2 * half), x + x);
}

/* (exp(x) + sign exp(-x)) / 4, for x >= 0. */
REAL_INLINE DoubleDouble half_hyperbolic(double x, double sign) {
    double k;
    DoubleDouble excess = power_excess(blend(x < MAX_HYPERBOLIC, x, MAX_HYPERBOLIC), &k);
    /* A quarter of the power: its half may overflow. */
    DoubleDouble power = ordered_sum(1, excess.high), sixteenth = {0.0625, 0};
    double scale = power_of_two(k - 2);
    power = ordered_sum(power.high, power.low + excess.low);
    power.high *= scale, power.low *= scale;
    DoubleDouble inverse = quotient(sixteenth, power), total = exact_sum(power.high, sign * inverse.high);
    total.low += FUSED_MULTIPLY_ADD(sign, inverse.low, power.low);
    return total;
}

/* (exp(x) + sign exp(-x)) / 2, for x >= 0. */
REAL_INLINE double hyperbolic(double x, double sign) {
    DoubleDouble half = half_hyperbolic(x, sign);
    return 2 * (half.high + half.low);
}

REAL_INLINE double sinh_of(double x) {
    double magnitude = fabs(x), value = copysign(hyperbolic(magnitude, -1), x);
    return blend(magnitude >= TINY_HYPERBOLIC, blend(magnitude < MAX_HYPERBOLIC, value, x * INFINITY), x);
}

REAL_INLINE double cosh_of(double x) {
    double magnitude = fabs(x);
    return blend(x == x, blend(magnitude < MAX_HYPERBOLIC, hyperbolic(magnitude, 1), INFINITY), x + x);
}

OF_ALL(exponential_minus_one)
OF_ALL(sinh)
OF_ALL(cosh)

#endif
