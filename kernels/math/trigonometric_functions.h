/* sin, cos and tan of f64.

   x is k pi/2 plus a remainder of at most pi/4, computed with 159 bits of pi/2 as an unevaluated sum of two numbers,
   both of which the polynomials use; errors stay below 0.8 ulp. Magnitudes from 2^30 on are left to the C library. */

#ifndef NIMBLEHLO_TRIGONOMETRIC_FUNCTIONS_H
#define NIMBLEHLO_TRIGONOMETRIC_FUNCTIONS_H

#include "real_arithmetic.h"

#define MAX_REDUCED 0x1p30

/* first - second as an unevaluated sum of two numbers, without an error. */
#define EXACT_DIFFERENCE(difference, low, first, second)                          \
    double difference = (first) - (second), low##_shifted = difference - (first); \
    double low = ((first) - (difference - low##_shifted)) - ((second) + low##_shifted);

/* The sine and the cosine of what is left of an argument without its whole quarter turns. */
typedef struct { uint64_t quarter; Sum sine, cosine; } Reduced;

/* For |x| < MAX_REDUCED. */
REAL_INLINE Reduced without_quarters(double x) {
    double shifted = FUSED_MULTIPLY_ADD(x, INVERSE_HALF_PI, ROUND_TO_INTEGER), k = shifted - ROUND_TO_INTEGER;
    /* x is near k HALF_PI: the difference is exact. */
    double multiple = k * HALF_PI, multiple_low = FUSED_MULTIPLY_ADD(k, HALF_PI, -multiple);
    double nearer = x - multiple;
    EXACT_DIFFERENCE(near, near_low, nearer, multiple_low)
    double next = k * HALF_PI_NEXT, next_low = FUSED_MULTIPLY_ADD(k, HALF_PI_NEXT, -next);
    EXACT_DIFFERENCE(last, last_low, near, next)
    double low_sum = (near_low + last_low) - FUSED_MULTIPLY_ADD(k, HALF_PI_REST, next_low);
    double r = last + low_sum, low = (last - r) + low_sum;
    double z = r * r, half = 0.5 * z, without = 1 - half;
    POLYNOMIAL(sine_curve, z, SIN_TERMS)
    POLYNOMIAL(cosine_curve, z, COS_TERMS)
    double sine_low = FUSED_MULTIPLY_ADD(z * r, sine_curve, FUSED_MULTIPLY_ADD(-half, low, low));
    double cosine_low = ((1 - without) - half) + FUSED_MULTIPLY_ADD(z * z, cosine_curve, -r * low);
    Reduced reduced = {bits_of(shifted), ordered_sum(r, sine_low), ordered_sum(without, cosine_low)};
    return reduced;
}

/* sin(x + quarter_turns pi/2), for |x| < MAX_REDUCED. */
REAL_INLINE double shifted_sine(double x, int quarter_turns) {
    Reduced reduced = without_quarters(x);
    uint64_t quarter = reduced.quarter + (uint64_t)quarter_turns;
    double sine = reduced.sine.high, cosine = reduced.cosine.high;
    double value = double_from_bits(bits_of(blend((int)(quarter & 1), cosine, sine)) ^ (quarter >> 1 & 1) << 63);
    /* Zeros keep their signs. */
    return blend(quarter_turns == 0 && x == 0, x, value);
}

/* tan(x), for |x| < MAX_REDUCED. */
REAL_INLINE double reduced_tangent(double x) {
    Reduced reduced = without_quarters(x);
    int is_odd = (int)(reduced.quarter & 1);
    Sum dividend = {
        blend(is_odd, -reduced.cosine.high, reduced.sine.high), blend(is_odd, -reduced.cosine.low, reduced.sine.low)};
    Sum divisor = {
        blend(is_odd, reduced.sine.high, reduced.cosine.high), blend(is_odd, reduced.sine.low, reduced.cosine.low)};
    Sum tangent = quotient(dividend, divisor);
    return blend(x == 0, x, tangent.high + tangent.low);
}

REAL_INLINE int any_is_large(const double *values, intptr_t count) {
    int found = 0;
    for (intptr_t i = 0; i < count; i++) found |= !(fabs(values[i]) < MAX_REDUCED);
    return found;
}

/* Replace each x by sin(x + quarter_turns pi/2), where `quarter_turns` is 0 or 1. */
REAL_INLINE void shifted_sine_of_all(double *values, intptr_t count, int quarter_turns) {
    if (any_is_large(values, count)) {
        for (intptr_t i = 0; i < count; i++) {
            double x = values[i];
            if (fabs(x) < MAX_REDUCED) values[i] = shifted_sine(x, quarter_turns);
            else values[i] = quarter_turns ? cos(x) : sin(x);
        }
        return;
    }
    for (intptr_t i = 0; i < count; i++) values[i] = shifted_sine(values[i], quarter_turns);
}

REAL_INLINE void tangent_of_all(double *values, intptr_t count) {
    if (any_is_large(values, count))
        for (intptr_t i = 0; i < count; i++)
            values[i] = fabs(values[i]) < MAX_REDUCED ? reduced_tangent(values[i]) : tan(values[i]);
    else
        for (intptr_t i = 0; i < count; i++) values[i] = reduced_tangent(values[i]);
}

REAL_INLINE void sine_of_all(double *values, intptr_t count) { shifted_sine_of_all(values, count, 0); }

REAL_INLINE void cosine_of_all(double *values, intptr_t count) { shifted_sine_of_all(values, count, 1); }

#endif
