/* asin, acos and atan of f64.

   All are the angle of a right triangle whose legs are sums of two numbers: c + t, where tan(c) is 0, 1/2 or 1, and
   t + t^3 times a polynomial in t^2 is the rest; errors stay below 0.6 ulp. Each operation is rounded as written, a
   fused multiply-add once: results have the same bits on every processor and for every vector width. */

#ifndef NIMBLEHLO_ANGLE_FUNCTIONS_H
#define NIMBLEHLO_ANGLE_FUNCTIONS_H

#include "real_arithmetic.h"

/* From the first on, atan(x) is pi / 2; below the second, atan(x) and asin(x) are x. */
#define MAX_TANGENT 0x1p100
#define TINY_TANGENT 0x1p-28

/* atan(opposite / adjacent), for 0 <= opposite <= adjacent. */
REAL_INLINE DoubleDouble angle_of(DoubleDouble opposite, DoubleDouble adjacent) {
    int is_second = opposite.high > 0.25 * adjacent.high, is_third = opposite.high > 0.75 * adjacent.high;
    double tangent = blend(is_third, 1, blend(is_second, 0.5, 0));
    double start = blend(is_third, ATAN_OF_ONE, blend(is_second, ATAN_OF_HALF, 0));
    double start_rest = blend(is_third, ATAN_OF_ONE_REST, blend(is_second, ATAN_OF_HALF_REST, 0));
    DoubleDouble dividend = exact_sum(opposite.high, -tangent * adjacent.high);
    DoubleDouble divisor = exact_sum(adjacent.high, tangent * opposite.high);
    dividend.low += FUSED_MULTIPLY_ADD(-tangent, adjacent.low, opposite.low);
    divisor.low += FUSED_MULTIPLY_ADD(tangent, opposite.low, adjacent.low);
    DoubleDouble t = quotient(dividend, divisor);
    double z = t.high * t.high;
    POLYNOMIAL(curve, z, ATAN_TERMS)
    DoubleDouble angle = ordered_sum(start, t.high);
    angle.low += FUSED_MULTIPLY_ADD(t.high * z, curve, start_rest + t.low);
    return angle;
}

/* multiple pi / 2 + sign angle. */
REAL_INLINE double shifted_angle(double multiple, double sign, DoubleDouble angle) {
    DoubleDouble total = exact_sum(multiple * HALF_PI, sign * angle.high);
    return total.high + (total.low + FUSED_MULTIPLY_ADD(sign, angle.low, multiple * HALF_PI_NEXT));
}

/* The smaller acute angle of the triangle with hypotenuse 1 and a leg of 0 <= `leg` <= 1. */
REAL_INLINE DoubleDouble smaller_angle(double leg, int *leg_is_longer) {
    DoubleDouble square = exact_square(leg), radicand = exact_sum(1, -square.high);
    radicand.low -= square.low;
    DoubleDouble other = square_root(radicand);
    int is_longer = leg > other.high;
    DoubleDouble opposite = {blend(is_longer, other.high, leg), blend(is_longer, other.low, 0)};
    DoubleDouble adjacent = {blend(is_longer, leg, other.high), blend(is_longer, 0, other.low)};
    *leg_is_longer = is_longer;
    return angle_of(opposite, adjacent);
}

REAL_INLINE double asin_of(double x) {
    double magnitude = fabs(x);
    int is_longer;
    DoubleDouble angle = smaller_angle(magnitude, &is_longer);
    double value = copysign(shifted_angle(blend(is_longer, 1, 0), blend(is_longer, -1, 1), angle), x);
    value = blend(magnitude >= TINY_TANGENT, value, x);
    return blend(magnitude <= 1, value, blend(x == x, NAN, x + x));
}

REAL_INLINE double acos_of(double x) {
    double magnitude = fabs(x);
    int is_longer;
    DoubleDouble angle = smaller_angle(magnitude, &is_longer);
    double multiple = blend(is_longer, blend(x < 0, 2, 0), 1), sign = blend((x < 0) == is_longer, -1, 1);
    return blend(magnitude <= 1, shifted_angle(multiple, sign, angle), blend(x == x, NAN, x + x));
}

REAL_INLINE double atan_of(double x) {
    double magnitude = blend(fabs(x) < MAX_TANGENT, fabs(x), MAX_TANGENT);
    int is_steep = magnitude > 1;
    DoubleDouble opposite = {blend(is_steep, 1, magnitude), 0}, adjacent = {blend(is_steep, magnitude, 1), 0};
    DoubleDouble angle = angle_of(opposite, adjacent);
    double value = copysign(shifted_angle(blend(is_steep, 1, 0), blend(is_steep, -1, 1), angle), x);
    return blend(magnitude >= TINY_TANGENT, blend(x == x, value, x + x), x);
}

OF_ALL(asin)
OF_ALL(acos)
OF_ALL(atan)

#endif
