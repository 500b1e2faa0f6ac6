/* sin and cos of f64.

   x is k pi/2 and a rest of at most pi/4, for which pi/2 is known to 159 bits: the rest has a second part, which the
   polynomials' values take into account; errors stay below 0.8 ulp. Numbers from 2^30 on are left to the C library. */

#ifndef NIMBLEHLO_TRIGONOMETRIC_FUNCTIONS_H
#define NIMBLEHLO_TRIGONOMETRIC_FUNCTIONS_H

#include "real_arithmetic.h"

#define MOST_REDUCED 0x1p30

/* first - second in two parts, without an error. */
#define EXACT_DIFFERENCE(difference, rest, first, second)                                         \
    double difference = (first) - (second), rest##_moved = difference - (first);                  \
    double rest = ((first) - (difference - rest##_moved)) - ((second) + rest##_moved);

/* sin(x + turns pi/2), for |x| < MOST_REDUCED. */
REAL_INLINE double turned_sine(double x, int turns) {
    double moved = FUSED_MULTIPLY_ADD(x, INVERSE_HALF_PI, TO_WHOLE), k = moved - TO_WHOLE;
    uint64_t quarter = bits_of(moved) + (uint64_t)turns;
    /* x lies near k HALF_PI: their difference is exact. */
    double multiple = k * HALF_PI, multiple_rest = FUSED_MULTIPLY_ADD(k, HALF_PI, -multiple);
    double nearer = x - multiple;
    EXACT_DIFFERENCE(near, near_rest, nearer, multiple_rest)
    double next = k * HALF_PI_NEXT, next_rest = FUSED_MULTIPLY_ADD(k, HALF_PI_NEXT, -next);
    EXACT_DIFFERENCE(last, last_rest, near, next)
    double small = (near_rest + last_rest) - FUSED_MULTIPLY_ADD(k, HALF_PI_REST, next_rest);
    double r = last + small, rest = (last - r) + small;
    double z = r * r, half = 0.5 * z, without = 1 - half;
    POLYNOMIAL(sine_curve, z, SIN_TERMS)
    POLYNOMIAL(cosine_curve, z, COS_TERMS)
    double sine = r + FUSED_MULTIPLY_ADD(z * r, sine_curve, FUSED_MULTIPLY_ADD(-half, rest, rest));
    double cosine = without + (((1 - without) - half) + FUSED_MULTIPLY_ADD(z * z, cosine_curve, -r * rest));
    double value = number_of(bits_of(chosen((int)(quarter & 1), cosine, sine)) ^ (quarter >> 1 & 1) << 63);
    /* Zeros keep their signs. */
    return chosen(turns == 0 && x == 0, x, value);
}

/* sin(x + turns pi/2) in place of each x, where `turns` is 0 or 1. */
REAL_INLINE void turned_sines_of_all(double *values, intptr_t count, int turns) {
    int any_is_great = 0;
    for (intptr_t place = 0; place < count; place++) any_is_great |= !(fabs(values[place]) < MOST_REDUCED);
    if (any_is_great) {
        for (intptr_t place = 0; place < count; place++) {
            double x = values[place];
            if (fabs(x) < MOST_REDUCED) values[place] = turned_sine(x, turns);
            else values[place] = turns ? cos(x) : sin(x);
        }
        return;
    }
    for (intptr_t place = 0; place < count; place++) values[place] = turned_sine(values[place], turns);
}

REAL_INLINE void sine_of_all(double *values, intptr_t count) { turned_sines_of_all(values, count, 0); }

REAL_INLINE void cosine_of_all(double *values, intptr_t count) { turned_sines_of_all(values, count, 1); }

#endif
