/* Functions of f32, computed in f64 and rounded. They are just accurate enough that results have the bits of the
   functions of f64, rounded, for all arguments.

   exp(x) is 2^k 2^t, where x = (k + t) log(2); tanh(x) is p / (p + 2), where p = exp(2 |x|) - 1; erf(x) and erfc(x)
   are x and exp(-x^2) times rational functions. */

#ifndef NIMBLEHLO_SINGLE_FUNCTIONS_H
#define NIMBLEHLO_SINGLE_FUNCTIONS_H

#include "real_arithmetic.h"

/* Larger magnitudes give the same f32 as these. */
#define MAX_SINGLE_EXP 110
#define MAX_SINGLE_TANH 20
#define MAX_SINGLE_ERF 3.938
#define MAX_SINGLE_ERFC 10.2

/* x clamped to [-limit, limit]; NaN stays. */
REAL_INLINE double clamp(double x, double limit) {
    return blend(x > limit, limit, blend(x < -limit, -limit, x));
}

/* exp(x), for |x| <= MAX_SINGLE_EXP. */
REAL_INLINE double single_power(double x) {
    double shifted = FUSED_MULTIPLY_ADD(x, INVERSE_LOG_OF_2, ROUND_TO_INTEGER);
    double t = FUSED_MULTIPLY_ADD(x, INVERSE_LOG_OF_2, ROUND_TO_INTEGER - shifted);
    POLYNOMIAL(slope, t, POWER_OF_TWO_TERMS)
    /* k is in the last bits of `shifted`. */
    return double_from_bits(bits_of(FUSED_MULTIPLY_ADD(t, slope, 1)) + (bits_of(shifted) << 52));
}

REAL_INLINE double single_exponential(double x) { return single_power(clamp(x, MAX_SINGLE_EXP)); }

REAL_INLINE double single_logistic(double x) { return blend(x == x, 1 / (1 + single_exponential(-x)), x); }

REAL_INLINE double single_tanh(double x) {
    double magnitude = fabs(x), twice = 2 * blend(magnitude > MAX_SINGLE_TANH, MAX_SINGLE_TANH, magnitude);
    double shifted = FUSED_MULTIPLY_ADD(twice, INVERSE_LOG_OF_2, ROUND_TO_INTEGER), minus_k =
        ROUND_TO_INTEGER - shifted;
    double r = FUSED_MULTIPLY_ADD(minus_k, LOG_OF_2_REST, FUSED_MULTIPLY_ADD(minus_k, LOG_OF_2, twice));
    POLYNOMIAL(curve, r, EXP_TERMS)
    double scale = power_of_two(-minus_k);
    double exp_minus_1 = FUSED_MULTIPLY_ADD(scale, FUSED_MULTIPLY_ADD(r * r, curve, r), scale - 1);
    return copysign(exp_minus_1 / (exp_minus_1 + 2), x);
}

REAL_INLINE double single_erf(double x) {
    x = clamp(x, MAX_SINGLE_ERF);
    double z = x * x;
    POLYNOMIAL(dividend, z, ERF_DIVIDEND_TERMS)
    POLYNOMIAL(divisor, z, ERF_DIVISOR_TERMS)
    return FUSED_MULTIPLY_ADD(x, TWO_OVER_ROOT_PI, x * (z * dividend / divisor + TWO_OVER_ROOT_PI_REST));
}

REAL_INLINE double single_erfc(double x) {
    double magnitude = fabs(x), clamped = blend(magnitude > MAX_SINGLE_ERFC, MAX_SINGLE_ERFC, magnitude);
    POLYNOMIAL(dividend, clamped, ERFC_DIVIDEND_TERMS)
    POLYNOMIAL(divisor, clamped, ERFC_DIVISOR_TERMS)
    double value = single_power(-(clamped * clamped)) * dividend / divisor;
    return blend(x < 0, 2 - value, value);
}

REAL_INLINE int all_singles_are_in_range(const float *values, intptr_t count) {
    int any_is_out = 0;
    for (intptr_t i = 0; i < count; i++) any_is_out |= !(fabsf(values[i]) < MAX_SINGLE_EXP);
    return !any_is_out;
}

REAL_INLINE void exponential_of_singles(float *to, const float *from, intptr_t count) {
    if (all_singles_are_in_range(from, count))
        for (intptr_t i = 0; i < count; i++) to[i] = (float)single_power(from[i]);
    else
        for (intptr_t i = 0; i < count; i++) to[i] = (float)single_exponential(from[i]);
}

REAL_INLINE void logistic_of_singles(float *to, const float *from, intptr_t count) {
    if (all_singles_are_in_range(from, count))
        for (intptr_t i = 0; i < count; i++) to[i] = (float)(1 / (1 + single_power(-from[i])));
    else
        for (intptr_t i = 0; i < count; i++) to[i] = (float)single_logistic(from[i]);
}

#define OF_SINGLES(name)                                                               \
    REAL_INLINE void name##_of_singles(float *to, const float *from, intptr_t count) { \
        for (intptr_t i = 0; i < count; i++) to[i] = (float)single_##name(from[i]);    \
    }

OF_SINGLES(tanh)
OF_SINGLES(erf)
OF_SINGLES(erfc)

#endif
