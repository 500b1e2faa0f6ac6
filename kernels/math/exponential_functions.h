/* exp, the logistic function and tanh of f64.

   exp(x) is 2^k (1 + p), where p is a polynomial in what k log(2) leaves of x: errors stay below 0.7 ulp. tanh(x) is a
   polynomial for |x| < 0.9, and 1 - 2 / (exp(2 x) + 1) beyond: errors stay below 1 ulp. Each step is rounded as written,
   multiply-adds once: results have the same bits on every processor and in every kind of vectors. */

#ifndef NIMBLEHLO_EXPONENTIAL_FUNCTIONS_H
#define NIMBLEHLO_EXPONENTIAL_FUNCTIONS_H

#include "real_arithmetic.h"

/* Beyond them exp is infinite, and 0; within the third 2^k is a normal number. */
#define MOST_EXPONENT 710
#define LEAST_EXPONENT -746
#define NORMAL_EXPONENTS 708
/* From it on tanh is 1. */
#define MOST_TANH 20

/* exp(x) as 2^k times another number. What k LOG_OF_2 leaves of x is exact, and so is what its sum with 1 loses. */
#define SCALED_POWER(power, k, x)                                                          \
    double k = FUSED_MULTIPLY_ADD(x, INVERSE_LOG_OF_2, TO_WHOLE) - TO_WHOLE;               \
    double k##_left = FUSED_MULTIPLY_ADD(-k, LOG_OF_2, x);                                 \
    double k##_sum = 1 + k##_left, k##_lost = (1 - k##_sum) + k##_left;                    \
    double k##_rest = FUSED_MULTIPLY_ADD(-k, LOG_OF_2_REST, k##_left);                     \
    POLYNOMIAL(k##_curve, k##_rest, EXP_TERMS)                                             \
    k##_lost = FUSED_MULTIPLY_ADD(-k, LOG_OF_2_REST, k##_lost);                            \
    double power = k##_sum + FUSED_MULTIPLY_ADD(k##_rest * k##_rest, k##_curve, k##_lost);

/* exp(x), for |x| < NORMAL_EXPONENTS. */
REAL_INLINE double near_exponential(double x) {
    SCALED_POWER(power, k, x)
    return power * power_of_two(k);
}

REAL_INLINE double exponential_of(double x) {
    double within = chosen(x > MOST_EXPONENT, MOST_EXPONENT, chosen(x < LEAST_EXPONENT, LEAST_EXPONENT, x));
    SCALED_POWER(power, k, within)
    /* In two steps: 2^k alone may be no number. */
    double half = (k * 0.5 + TO_WHOLE) - TO_WHOLE;
    /* Negated factors may give NaN another sign. */
    return chosen(x == x, power * power_of_two(half) * power_of_two(k - half), x + x);
}

REAL_INLINE double logistic_of(double x) { return chosen(x == x, 1 / (1 + exponential_of(-x)), x + x); }

/* tanh(x), for 0 <= x < 0.9. */
REAL_INLINE double small_tanh(double x) {
    double z = x * x, cube = x * z;
    POLYNOMIAL(slope, z, TANH_TERMS)
    return x + FUSED_MULTIPLY_ADD(cube, TANH_SLOPE, cube * FUSED_MULTIPLY_ADD(z, slope, TANH_SLOPE_REST));
}

REAL_INLINE double tanh_of(double x) {
    double size = fabs(x), within = chosen(size < MOST_TANH, size, MOST_TANH);
    double large = 1 - 2 / (near_exponential(2 * within) + 1);
    return chosen(x == x, copysign(chosen(size < 0.9, small_tanh(size), large), x), x + x);
}

REAL_INLINE int all_are_near(const double *values, intptr_t count) {
    int any_is_far = 0;
    for (intptr_t place = 0; place < count; place++) any_is_far |= !(fabs(values[place]) < NORMAL_EXPONENTS);
    return !any_is_far;
}

REAL_INLINE void exponential_of_all(double *values, intptr_t count) {
    if (all_are_near(values, count))
        for (intptr_t place = 0; place < count; place++) values[place] = near_exponential(values[place]);
    else
        for (intptr_t place = 0; place < count; place++) values[place] = exponential_of(values[place]);
}

REAL_INLINE void logistic_of_all(double *values, intptr_t count) {
    if (all_are_near(values, count))
        for (intptr_t place = 0; place < count; place++) values[place] = 1 / (1 + near_exponential(-values[place]));
    else
        for (intptr_t place = 0; place < count; place++) values[place] = logistic_of(values[place]);
}

REAL_INLINE void tanh_of_all(double *values, intptr_t count) {
    for (intptr_t place = 0; place < count; place++) values[place] = tanh_of(values[place]);
}

#endif
