/* erf, erfc and erf_inv of f64.

   Below 3/4, erf is a polynomial; from there on erfc is exp(-x^2) times a function that changes little, a polynomial in
   t = 4 / (4 + x). What roundings of x^2, of t and of the products leave is computed as well: errors of erf stay about
   one ulp, those of erfc below three, where it is small. erf_inv(x) / x is one of three polynomials in
   w = -log(1 - x^2), or in its root: errors stay below 2.3 ulps. Each step is rounded as written, multiply-adds once:
   results have the same bits on every processor and in every kind of vectors. */

#ifndef NIMBLEHLO_ERROR_FUNCTIONS_H
#define NIMBLEHLO_ERROR_FUNCTIONS_H

#include "real_arithmetic.h"

/* So many values are looked at together for whether one of them is far out. */
enum { ERF_INV_TOGETHER = 32 };

/* erf(x), for |x| < 3/4. */
REAL_INLINE double small_erf(double x) {
    double z = x * x;
    POLYNOMIAL(slope, z, ERF_TERMS)
    return x + FUSED_MULTIPLY_ADD(x, ERF_SLOPE, x * FUSED_MULTIPLY_ADD(z, slope, ERF_SLOPE_REST));
}

/* erfc(x), for x >= 3/4. */
REAL_INLINE double large_erfc(double x) {
    /* Beyond, it is 0. */
    x = chosen(x > 28, 28, x);
    double below = x + 4, t = 4 / below;
    /* What is left of t, as a part of it. */
    double t_rest = (FUSED_MULTIPLY_ADD(-t, below, 4) - t * (x - (below - 4))) * 0.25;
    double at = (t - 0.5) + t * t_rest;
    POLYNOMIAL(slope, at, ERFC_TERMS)
    double rising = at * slope, scaled = ERFC_MIDDLE + rising;
    double scaled_rest = ((ERFC_MIDDLE - scaled) + rising) + ERFC_MIDDLE_REST;
    /* exp(-x^2) = 2^k (1 + grown). */
    double square = x * x, square_rest = FUSED_MULTIPLY_ADD(x, x, -square);
    double k = (TO_WHOLE - square * INVERSE_LOG_OF_2) - TO_WHOLE;
    double r = FUSED_MULTIPLY_ADD(-k, LOG_OF_2_REST, FUSED_MULTIPLY_ADD(-k, LOG_OF_2, -square) - square_rest);
    POLYNOMIAL(curve, r, EXP_TERMS)
    double grown = FUSED_MULTIPLY_ADD(r * r, curve, r);
    double product = scaled * t, rest = FUSED_MULTIPLY_ADD(scaled, t, -product);
    rest += FUSED_MULTIPLY_ADD(product, t_rest, scaled_rest * t);
    product += FUSED_MULTIPLY_ADD(product, grown, FUSED_MULTIPLY_ADD(rest, grown, rest));
    /* In two steps: 2^k alone may be no number. */
    double half = (k * 0.5 + TO_WHOLE) - TO_WHOLE;
    return product * power_of_two(half) * power_of_two(k - half);
}

REAL_INLINE double erf_of(double x) {
    double size = fabs(x);
    return copysign(chosen(size < 0.75, small_erf(size), 1 - large_erfc(size)), x);
}

REAL_INLINE double erfc_of(double x) {
    double size = fabs(x), tail = large_erfc(size);
    return chosen(size < 0.75, 1 - small_erf(x), chosen(x < 0, 2 - tail, tail));
}

/* -log(y), for y from 2^-60 to 1; its error is small beside 1. */
REAL_INLINE double minus_log(double y) {
    /* y = 2^e m, where m is from sqrt(1/2) on. */
    uint64_t least = bits_of(ROOT_OF_HALF), moved = bits_of(y) + ((uint64_t)1023 << 52) - least;
    double e = number_of(moved >> 52 | bits_of(0x1p52)) - (0x1p52 + 1023);
    double m = number_of((moved & (((uint64_t)1 << 52) - 1)) + least);
    double s = (m - 1) / (m + 1), z = s * s;
    POLYNOMIAL(curve, z, LOG_TERMS)
    double rest = FUSED_MULTIPLY_ADD(s * z, curve, e * LOG_OF_2_REST);
    return -FUSED_MULTIPLY_ADD(e, LOG_OF_2, FUSED_MULTIPLY_ADD(2, s, rest));
}

/* erf_inv(x), for w = -log(1 - x^2) below ERF_INV_NEAR. */
REAL_INLINE double near_erf_inv(double x, double w) {
    double t = w - ERF_INV_NEAR / 2;
    POLYNOMIAL(slope, t, ERF_INV_NEAR_TERMS)
    /* Zeros keep their signs. */
    return copysign(FUSED_MULTIPLY_ADD(x, NEAR_SLOPE, x * FUSED_MULTIPLY_ADD(w, slope, NEAR_SLOPE_REST)), x);
}

/* The same for other w. */
REAL_INLINE double far_erf_inv(double x, double w) {
    double root = sqrt(w), t = root - 3;
    POLYNOMIAL(middle_slope, t, ERF_INV_MIDDLE_TERMS)
    double middle = FUSED_MULTIPLY_ADD(t, middle_slope, MIDDLE_SLOPE_REST);
    t = root - 5;
    POLYNOMIAL(far_slope, t, ERF_INV_FAR_TERMS)
    double far = FUSED_MULTIPLY_ADD(t, far_slope, FAR_SLOPE_REST);
    int is_far = w >= ERF_INV_FAR;
    return FUSED_MULTIPLY_ADD(x, chosen(is_far, FAR_SLOPE, MIDDLE_SLOPE), x * chosen(is_far, far, middle));
}

REAL_INLINE void erf_inv_of_few(double *values, intptr_t count) {
    double w[ERF_INV_TOGETHER];
    int all_are_near = 1;
    for (intptr_t place = 0; place < count; place++) {
        double x = values[place], inside = chosen(fabs(x) < 1, x, 0);
        w[place] = minus_log(FUSED_MULTIPLY_ADD(-inside, inside, 1));
        all_are_near &= (w[place] < ERF_INV_NEAR) & (fabs(x) < 1);
    }
    if (all_are_near) {
        for (intptr_t place = 0; place < count; place++) values[place] = near_erf_inv(values[place], w[place]);
        return;
    }
    for (intptr_t place = 0; place < count; place++) {
        double x = values[place], at = w[place], size = fabs(x);
        double value = chosen(at < ERF_INV_NEAR, near_erf_inv(x, at), far_erf_inv(x, at));
        /* Beyond 1 and of what is no number there is none. */
        values[place] = chosen(size < 1, value, chosen(size == 1, copysign(INFINITY, x), NAN));
    }
}

REAL_INLINE void erf_of_all(double *values, intptr_t count) {
    for (intptr_t place = 0; place < count; place++) values[place] = erf_of(values[place]);
}

REAL_INLINE void erfc_of_all(double *values, intptr_t count) {
    for (intptr_t place = 0; place < count; place++) values[place] = erfc_of(values[place]);
}

REAL_INLINE void erf_inv_of_all(double *values, intptr_t count) {
    for (; count >= ERF_INV_TOGETHER; count -= ERF_INV_TOGETHER, values += ERF_INV_TOGETHER)
        erf_inv_of_few(values, ERF_INV_TOGETHER);
    erf_inv_of_few(values, count);
}

#endif
