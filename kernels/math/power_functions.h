/* x to the power of y, and the angle of a point, of f64.

   power is exp(y log(x)), where log(x) is a sum of two numbers; errors stay below 0.7 ulp. atan2 is the
   angle of a right triangle: errors stay below 0.6 ulp. Each operation is rounded as written, a fused multiply-add
   once: results have the same bits on every processor and for every vector width.

   Values for infinities, NaN, zeros and negative bases are those of C99, annex F.9.1.4 and F.9.4.4. */

#ifndef NIMBLEHLO_POWER_FUNCTIONS_H
#define NIMBLEHLO_POWER_FUNCTIONS_H

#include "angle_functions.h"
#include "exponential_functions.h"
#include "logarithm_functions.h"

/* A longer leg of a triangle beyond the first, or below the second, is scaled by the third. */
#define LONG_LEG 0x1p1000
#define SHORT_LEG 0x1p-900
#define LEG_SCALE 0x1p200

/* log(x), for finite numbers x > 0: 2 s + s^3 (2/3 + s^2 (2/5 + s^2 times a polynomial)), as in
   `double_double_logarithm`, with the first terms as sums. */
REAL_INLINE DoubleDouble precise_logarithm(double x) {
    const uint64_t one = (uint64_t)1 << 52, root = bits_of(ROOT_OF_HALF);
    int is_subnormal = x < MIN_NORMAL;
    uint64_t biased = bits_of(blend(is_subnormal, x * 0x1p54, x)) + (bits_of(1) - root);
    double k = double_from_bits(biased >> 52 | bits_of(0x1p52)) - (0x1p52 + 1023);
    double excess = double_from_bits((biased & (one - 1)) + root) - 1;
    k += blend(is_subnormal, -54, 0);
    DoubleDouble dividend = {excess, 0}, s = quotient(dividend, exact_sum(2, excess));
    DoubleDouble z = exact_square(s.high);
    z.low = FUSED_MULTIPLY_ADD(2 * s.high, s.low, z.low);
    double z_high = z.high;
    POLYNOMIAL(rest, z_high, LOG_REST_TERMS)
    DoubleDouble curve = ordered_sum(TWO_FIFTHS, z.high * rest);
    curve.low += TWO_FIFTHS_REST;
    DoubleDouble first = double_double_product(z, (DoubleDouble){TWO_THIRDS, TWO_THIRDS_REST});
    DoubleDouble second = double_double_product(double_double_product(z, z), curve);
    DoubleDouble slope = ordered_sum(first.high, second.high);
    slope.low += first.low + second.low;
    DoubleDouble term = double_double_product(s, slope);
    DoubleDouble of_mantissa = ordered_sum(2 * s.high, term.high);
    of_mantissa.low += FUSED_MULTIPLY_ADD(2, s.low, term.low);
    /* k LOG_OF_2 is exact. */
    DoubleDouble total = ordered_sum(k * LOG_OF_2, of_mantissa.high);
    total.low += FUSED_MULTIPLY_ADD(k, LOG_OF_2_REST, of_mantissa.low);
    return ordered_sum(total.high, total.low);
}

REAL_INLINE double power_of(double x, double y) {
    double magnitude = fabs(x);
    int is_regular = (magnitude > 0) & (magnitude < INFINITY);
    DoubleDouble logarithm = precise_logarithm(blend(is_regular, magnitude, 1));
    logarithm.high = blend(is_regular, logarithm.high, blend(magnitude > 0, magnitude, -INFINITY));
    DoubleDouble exponent = double_double_product((DoubleDouble){y, 0}, logarithm);
    exponent.low = blend(fabs(exponent.high) < MAX_EXPONENT + 40, exponent.low, 0);
    double size = exponential_of_sum(exponent.high, exponent.low);
    double half = 0.5 * y, truncated = blend(fabs(y) < 0x1p52, (fabs(y) + 0x1p52) - 0x1p52, fabs(y));
    double truncated_half = blend(fabs(half) < 0x1p52, (fabs(half) + 0x1p52) - 0x1p52, fabs(half));
    int is_integer = truncated == fabs(y), is_odd = is_integer & (truncated_half != fabs(half));
    double value = blend(is_odd, copysign(size, x), size);
    value = blend((x < 0) & (x > -INFINITY) & !is_integer, NAN, value);
    value = blend((x == x) & (y == y), value, x + y);
    return blend((x == 1) | (y == 0) | ((x == -1) & (fabs(y) == INFINITY)), 1, value);
}

/* The angle of the point (x, y). */
REAL_INLINE double atan2_of(double y, double x) {
    double width = fabs(x), height = fabs(y);
    int is_steep = height > width, is_left = copysign(1, x) < 0, are_numbers = (x == x) & (y == y);
    double longer = blend(is_steep, height, width), shorter = blend(is_steep, width, height);
    double scale = blend(longer > LONG_LEG, 1 / LEG_SCALE, blend(longer < SHORT_LEG, LEG_SCALE, 1));
    int is_infinite = longer == INFINITY;
    DoubleDouble opposite = {blend(is_infinite, blend(shorter == INFINITY, 1, 0), shorter * scale), 0};
    DoubleDouble adjacent = {blend(is_infinite | (longer == 0) | !are_numbers, 1, longer * scale), 0};
    DoubleDouble angle = angle_of(opposite, adjacent);
    double multiple = blend(is_steep, 1, blend(is_left, 2, 0)), sign = blend(is_steep == is_left, 1, -1);
    double value = shifted_angle(multiple, sign, angle);
    /* The quotient is exact enough for a small angle to the right of the origin. */
    double small = opposite.high / adjacent.high;
    value = blend(!is_steep & !is_left & (small < TINY_TANGENT), small, value);
    return blend(are_numbers, copysign(value, y), x + y);
}

REAL_INLINE void power_of_all(double *values, const double *exponents, intptr_t count) {
    for (intptr_t i = 0; i < count; i++) values[i] = power_of(values[i], exponents[i]);
}

REAL_INLINE void atan2_of_all(double *values, const double *others, intptr_t count) {
    for (intptr_t i = 0; i < count; i++) values[i] = atan2_of(values[i], others[i]);
}

#endif
