/* Functions of f32, computed in f64 and rounded. They are only as exact as that takes: the results have the bits of those
   of f64, rounded, for all arguments.

   exp(x) is 2^k 2^t, where x = (k + t) log(2); tanh(x) is p / (p + 2), where p = exp(2 |x|) - 1; erf(x) and erfc(x) are
   x and exp(-x^2) times quotients. */

#ifndef NIMBLEHLO_SINGLE_FUNCTIONS_H
#define NIMBLEHLO_SINGLE_FUNCTIONS_H

#include "real_arithmetic.h"

/* Beyond them, on both sides, exp, tanh, erf and erfc have the values of f32 that they have there. */
#define SINGLE_EXP_REACH 110
#define SINGLE_TANH_REACH 20
#define SINGLE_ERF_REACH 3.938
#define SINGLE_ERFC_REACH 10.2

/* x, or the nearer end of what reaches so far on both sides; NaN stays. */
REAL_INLINE double within_reach(double x, double reach) {
    return chosen(x > reach, reach, chosen(x < -reach, -reach, x));
}

/* exp(x), for |x| <= SINGLE_EXP_REACH. */
REAL_INLINE double single_power(double x) {
    double moved = FUSED_MULTIPLY_ADD(x, INVERSE_LOG_OF_2, TO_WHOLE);
    double t = FUSED_MULTIPLY_ADD(x, INVERSE_LOG_OF_2, TO_WHOLE - moved);
    POLYNOMIAL(slope, t, POWER_OF_TWO_TERMS)
    /* k stands in the last bits of what was moved. */
    return number_of(bits_of(FUSED_MULTIPLY_ADD(t, slope, 1)) + (bits_of(moved) << 52));
}

REAL_INLINE double single_exponential(double x) { return single_power(within_reach(x, SINGLE_EXP_REACH)); }

REAL_INLINE double single_logistic(double x) { return chosen(x == x, 1 / (1 + single_exponential(-x)), x); }

REAL_INLINE double single_tanh(double x) {
    double size = fabs(x), twice = 2 * chosen(size > SINGLE_TANH_REACH, SINGLE_TANH_REACH, size);
    double moved = FUSED_MULTIPLY_ADD(twice, INVERSE_LOG_OF_2, TO_WHOLE), minus_k = TO_WHOLE - moved;
    double r = FUSED_MULTIPLY_ADD(minus_k, LOG_OF_2_REST, FUSED_MULTIPLY_ADD(minus_k, LOG_OF_2, twice));
    POLYNOMIAL(curve, r, EXP_TERMS)
    double scale = power_of_two(-minus_k);
    double grown = FUSED_MULTIPLY_ADD(scale, FUSED_MULTIPLY_ADD(r * r, curve, r), scale - 1);
    return copysign(grown / (grown + 2), x);
}

REAL_INLINE double single_erf(double x) {
    x = within_reach(x, SINGLE_ERF_REACH);
    double z = x * x;
    POLYNOMIAL(dividend, z, ERF_DIVIDEND_TERMS)
    POLYNOMIAL(divisor, z, ERF_DIVISOR_TERMS)
    return FUSED_MULTIPLY_ADD(x, TWO_OVER_ROOT_PI, x * (z * dividend / divisor + TWO_OVER_ROOT_PI_REST));
}

REAL_INLINE double single_erfc(double x) {
    double size = fabs(x), within = chosen(size > SINGLE_ERFC_REACH, SINGLE_ERFC_REACH, size);
    POLYNOMIAL(dividend, within, ERFC_DIVIDEND_TERMS)
    POLYNOMIAL(divisor, within, ERFC_DIVISOR_TERMS)
    double value = single_power(-(within * within)) * dividend / divisor;
    return chosen(x < 0, 2 - value, value);
}

REAL_INLINE int all_singles_are_near(const float *values, intptr_t count) {
    int any_is_far = 0;
    for (intptr_t place = 0; place < count; place++) any_is_far |= !(fabsf(values[place]) < SINGLE_EXP_REACH);
    return !any_is_far;
}

REAL_INLINE void exponential_of_singles(float *to, const float *from, intptr_t count) {
    if (all_singles_are_near(from, count))
        for (intptr_t place = 0; place < count; place++) to[place] = (float)single_power(from[place]);
    else
        for (intptr_t place = 0; place < count; place++) to[place] = (float)single_exponential(from[place]);
}

REAL_INLINE void logistic_of_singles(float *to, const float *from, intptr_t count) {
    if (all_singles_are_near(from, count))
        for (intptr_t place = 0; place < count; place++) to[place] = (float)(1 / (1 + single_power(-from[place])));
    else
        for (intptr_t place = 0; place < count; place++) to[place] = (float)single_logistic(from[place]);
}

#define OF_SINGLES(name)                                                                                         \
    REAL_INLINE void name##_of_singles(float *to, const float *from, intptr_t count) {                           \
        for (intptr_t place = 0; place < count; place++) to[place] = (float)single_##name(from[place]);          \
    }

OF_SINGLES(tanh)
OF_SINGLES(erf)
OF_SINGLES(erfc)

#endif
