/* exp, the logistic function and tanh of f64.

   exp(x) is 2^k (1 + p), where p is a polynomial in the reduced argument x - k log(2): errors stay below 0.7 ulp.
   tanh(x) is a polynomial for |x| < 0.9, and 1 - 2 / (exp(2 x) + 1) beyond: errors stay below 1 ulp. Each operation
   is rounded as written, a fused multiply-add once: results have the same bits on every processor and for every
   vector width. */

#ifndef NIMBLEHLO_EXPONENTIAL_FUNCTIONS_H
#define NIMBLEHLO_EXPONENTIAL_FUNCTIONS_H

#include "real_arithmetic.h"

/* Beyond the first two, exp is infinite, and 0; within the third, 2^k is a normal number. */
#define MAX_EXPONENT 710
#define MIN_EXPONENT -746
#define NORMAL_EXPONENTS 708
/* From here on tanh is 1. */
#define TANH_SATURATION 20

/* exp(x + low) as 2^k times `power`, where low = -0.0 costs nothing. `k_high` is exact, and so is `k_lost` before
   more is added, the rounding error of `k_sum`. */
#define SCALED_POWER(power, k, x, low)                                                       \
    double k = FUSED_MULTIPLY_ADD(x, INVERSE_LOG_OF_2, ROUND_TO_INTEGER) - ROUND_TO_INTEGER; \
    double k##_high = FUSED_MULTIPLY_ADD(-k, LOG_OF_2, x);                                   \
    double k##_sum = 1 + k##_high, k##_lost = (1 - k##_sum) + k##_high;                      \
    double k##_reduced = FUSED_MULTIPLY_ADD(-k, LOG_OF_2_REST, k##_high) + (low);            \
    POLYNOMIAL(k##_curve, k##_reduced, EXP_TERMS)                                            \
    k##_lost = FUSED_MULTIPLY_ADD(-k, LOG_OF_2_REST, k##_lost) + (low);                      \
    double power = k##_sum + FUSED_MULTIPLY_ADD(k##_reduced * k##_reduced, k##_curve, k##_lost);

/* exp(x), for |x| < NORMAL_EXPONENTS. */
REAL_INLINE double exponential_in_range(double x) {
    SCALED_POWER(power, k, x, -0.0)
    return power * power_of_two(k);
}

/* exp(x + low), where low is small. */
REAL_INLINE double exponential_of_sum(double x, double low) {
    double clamped = blend(x > MAX_EXPONENT, MAX_EXPONENT, blend(x < MIN_EXPONENT, MIN_EXPONENT, x));
    SCALED_POWER(power, k, clamped, low)
    /* In two factors: 2^k alone may underflow or overflow. */
    double half = (k * 0.5 + ROUND_TO_INTEGER) - ROUND_TO_INTEGER;
    /* Negation could change the sign of NaN. */
    return blend(x == x, power * power_of_two(half) * power_of_two(k - half), x + x);
}

REAL_INLINE double exponential_of(double x) { return exponential_of_sum(x, -0.0); }

REAL_INLINE double logistic_of(double x) { return blend(x == x, 1 / (1 + exponential_of(-x)), x + x); }

/* tanh(x), for 0 <= x < 0.9. */
REAL_INLINE double small_tanh(double x) {
    double z = x * x, cube = x * z;
    POLYNOMIAL(slope, z, TANH_TERMS)
    return x + FUSED_MULTIPLY_ADD(cube, TANH_SLOPE, cube * FUSED_MULTIPLY_ADD(z, slope, TANH_SLOPE_REST));
}

REAL_INLINE double tanh_of(double x) {
    double magnitude = fabs(x), clamped = blend(magnitude < TANH_SATURATION, magnitude, TANH_SATURATION);
    double large = 1 - 2 / (exponential_in_range(2 * clamped) + 1);
    return blend(x == x, copysign(blend(magnitude < 0.9, small_tanh(magnitude), large), x), x + x);
}

REAL_INLINE int all_are_in_range(const double *values, intptr_t count) {
    int any_is_out = 0;
    for (intptr_t i = 0; i < count; i++) any_is_out |= !(fabs(values[i]) < NORMAL_EXPONENTS);
    return !any_is_out;
}

REAL_INLINE void exponential_of_all(double *values, intptr_t count) {
    if (all_are_in_range(values, count))
        for (intptr_t i = 0; i < count; i++) values[i] = exponential_in_range(values[i]);
    else
        for (intptr_t i = 0; i < count; i++) values[i] = exponential_of(values[i]);
}

REAL_INLINE void logistic_of_all(double *values, intptr_t count) {
    if (all_are_in_range(values, count))
        for (intptr_t i = 0; i < count; i++) values[i] = 1 / (1 + exponential_in_range(-values[i]));
    else
        for (intptr_t i = 0; i < count; i++) values[i] = logistic_of(values[i]);
}

OF_ALL(tanh)

#endif
