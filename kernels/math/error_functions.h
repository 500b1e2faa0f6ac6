/* erf, erfc and erf_inv of f64.

   Below 3/4, erf is a polynomial; from there on erfc is exp(-x^2) times a slowly varying function, a polynomial in t
   = 4 / (4 + x). The rounding errors of x^2, of t and of the products are computed as well: errors of erf stay about
   one ulp, those of erfc below three, where it is small. erf_inv(x) / x is one of three polynomials in w = -log(1 -
   x^2), or in its square root: errors stay below 2.3 ulps. Each operation is rounded as written, a fused
   multiply-add once: results have the same bits on every processor and for every vector width. */

#ifndef NIMBLEHLO_ERROR_FUNCTIONS_H
#define NIMBLEHLO_ERROR_FUNCTIONS_H

#include "real_arithmetic.h"

/* Values that are checked together for tail values. */
enum { ERF_INV_BLOCK = 32 };

/* erf(x), for |x| < 3/4. */
REAL_INLINE double small_erf(double x) {
    double z = x * x;
    POLYNOMIAL(slope, z, ERF_TERMS)
    return x + FUSED_MULTIPLY_ADD(x, ERF_SLOPE, x * FUSED_MULTIPLY_ADD(z, slope, ERF_SLOPE_REST));
}

/* erfc(x), for x >= 3/4. */
REAL_INLINE double large_erfc(double x) {
    /* Beyond, it is 0. */
    x = blend(x > 28, 28, x);
    double below = x + 4, t = 4 / below;
    /* The rounding error of t, relative to t. */
    double t_low = (FUSED_MULTIPLY_ADD(-t, below, 4) - t * (x - (below - 4))) * 0.25;
    double at = (t - 0.5) + t * t_low;
    POLYNOMIAL(slope, at, ERFC_TERMS)
    double rising = at * slope, scaled = ERFC_MIDDLE + rising;
    double scaled_low = ((ERFC_MIDDLE - scaled) + rising) + ERFC_MIDDLE_REST;
    /* exp(-x^2) = 2^k (1 + exp_minus_1). */
    double square = x * x, square_low = FUSED_MULTIPLY_ADD(x, x, -square);
    double k = (ROUND_TO_INTEGER - square * INVERSE_LOG_OF_2) - ROUND_TO_INTEGER;
    double r = FUSED_MULTIPLY_ADD(-k, LOG_OF_2_REST, FUSED_MULTIPLY_ADD(-k, LOG_OF_2, -square) - square_low);
    POLYNOMIAL(curve, r, EXP_TERMS)
    double exp_minus_1 = FUSED_MULTIPLY_ADD(r * r, curve, r);
    double product = scaled * t, product_low = FUSED_MULTIPLY_ADD(scaled, t, -product);
    product_low += FUSED_MULTIPLY_ADD(product, t_low, scaled_low * t);
    product += FUSED_MULTIPLY_ADD(product, exp_minus_1, FUSED_MULTIPLY_ADD(product_low, exp_minus_1, product_low));
    /* In two factors: 2^k alone may underflow or overflow. */
    double half = (k * 0.5 + ROUND_TO_INTEGER) - ROUND_TO_INTEGER;
    return product * power_of_two(half) * power_of_two(k - half);
}

REAL_INLINE double erf_of(double x) {
    double magnitude = fabs(x);
    return copysign(blend(magnitude < 0.75, small_erf(magnitude), 1 - large_erfc(magnitude)), x);
}

REAL_INLINE double erfc_of(double x) {
    double magnitude = fabs(x), tail = large_erfc(magnitude);
    return blend(magnitude < 0.75, 1 - small_erf(x), blend(x < 0, 2 - tail, tail));
}

/* -log(y), for y from 2^-60 to 1; the absolute error is far below 1 ulp of 1. */
REAL_INLINE double minus_log(double y) {
    /* y = 2^e m, where m is from sqrt(1/2) on. */
    uint64_t root_bits = bits_of(ROOT_OF_HALF), shifted_bits = bits_of(y) + ((uint64_t)1023 << 52) - root_bits;
    double e = double_from_bits(shifted_bits >> 52 | bits_of(0x1p52)) - (0x1p52 + 1023);
    double m = double_from_bits((shifted_bits & (((uint64_t)1 << 52) - 1)) + root_bits);
    double s = (m - 1) / (m + 1), z = s * s;
    POLYNOMIAL(curve, z, LOG_TERMS)
    double product_low = FUSED_MULTIPLY_ADD(s * z, curve, e * LOG_OF_2_REST);
    return -FUSED_MULTIPLY_ADD(e, LOG_OF_2, FUSED_MULTIPLY_ADD(2, s, product_low));
}

/* erf_inv(x), for w = -log(1 - x^2) below ERF_INV_NEAR. */
REAL_INLINE double erf_inv_center(double x, double w) {
    double t = w - ERF_INV_NEAR / 2;
    POLYNOMIAL(slope, t, ERF_INV_NEAR_TERMS)
    /* Zeros keep their signs. */
    return copysign(FUSED_MULTIPLY_ADD(x, NEAR_SLOPE, x * FUSED_MULTIPLY_ADD(w, slope, NEAR_SLOPE_REST)), x);
}

/* erf_inv(x), for other w. */
REAL_INLINE double erf_inv_tail(double x, double w) {
    double root = sqrt(w), t = root - 3;
    POLYNOMIAL(middle_slope, t, ERF_INV_MIDDLE_TERMS)
    double middle = FUSED_MULTIPLY_ADD(t, middle_slope, MIDDLE_SLOPE_REST);
    t = root - 5;
    POLYNOMIAL(tail_slope, t, ERF_INV_FAR_TERMS)
    double tail = FUSED_MULTIPLY_ADD(t, tail_slope, FAR_SLOPE_REST);
    int is_tail = w >= ERF_INV_FAR;
    return FUSED_MULTIPLY_ADD(x, blend(is_tail, FAR_SLOPE, MIDDLE_SLOPE), x * blend(is_tail, tail, middle));
}

REAL_INLINE void erf_inv_of_block(double *values, intptr_t count) {
    double w[ERF_INV_BLOCK];
    int all_are_central = 1;
    for (intptr_t i = 0; i < count; i++) {
        double x = values[i], inside = blend(fabs(x) < 1, x, 0);
        w[i] = minus_log(FUSED_MULTIPLY_ADD(-inside, inside, 1));
        all_are_central &= (w[i] < ERF_INV_NEAR) & (fabs(x) < 1);
    }
    if (all_are_central) {
        for (intptr_t i = 0; i < count; i++) values[i] = erf_inv_center(values[i], w[i]);
        return;
    }
    for (intptr_t i = 0; i < count; i++) {
        double x = values[i], at = w[i], magnitude = fabs(x);
        double value = blend(at < ERF_INV_NEAR, erf_inv_center(x, at), erf_inv_tail(x, at));
        /* NaN if |x| > 1 or x is NaN. */
        values[i] = blend(magnitude < 1, value, blend(magnitude == 1, copysign(INFINITY, x), NAN));
    }
}

OF_ALL(erf)
OF_ALL(erfc)

REAL_INLINE void erf_inv_of_all(double *values, intptr_t count) {
    for (; count >= ERF_INV_BLOCK; count -= ERF_INV_BLOCK, values += ERF_INV_BLOCK)
        erf_inv_of_block(values, ERF_INV_BLOCK);
    erf_inv_of_block(values, count);
}

#endif
