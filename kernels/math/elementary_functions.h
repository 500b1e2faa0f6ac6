/* Functions of f64, and of f32 in the arithmetic of f64 and of f32. Written by tools/c_functions.py from the
   functions of these names in runtime/compiler/loops/mathematics, which say how they are computed. Each
   operation is rounded as written, a fused multiply-add once: results have the same bits on every processor
   and for every vector width. */

#ifndef NIMBLEHLO_ELEMENTARY_FUNCTIONS_H
#define NIMBLEHLO_ELEMENTARY_FUNCTIONS_H

#include "real_arithmetic.h"

#define LOG_OF_2 0.6931471805598903
#define LOG_OF_2_REST 5.497923018708371e-14
#define HALF_PI 1.5707963267948966
#define HALF_PI_NEXT 6.123233995736766e-17
#define NORMAL_EXPONENTS 708.0
#define TINY_HYPERBOLIC 3.725290298461914e-09
#define TINY_EXCESS 9.094947017729282e-13
#define ERF_INV_NEAR_END 5.0
#define MAX_REDUCED 1073741824.0
#define MAX_SINGLE_EXP 110.0

/* The unevaluated sum high + low, where low is small: it has about twice the digits of one number. */
typedef struct { double high, low; } DoubleDouble;

/* power * 2^exponent. */
typedef struct { double power, exponent; } ScaledPower;

/* The sine and the cosine of an argument less a multiple of pi / 2, and that multiple in the lowest bits. */
typedef struct { uint64_t quarter; DoubleDouble sine, cosine; } Reduced;

/* |x| = turns * pi / 2 + (angle + tail), where |angle| < 0.9 and the tail is small. The number of quarter turns is
   in the lowest bits. */
typedef struct { float angle, tail; uint32_t turns; } ReducedAngle;

/* 2^k of an integer k within the range of normal exponents. */
REAL_INLINE double power_of_two(double k) {
    return double_from_bits(bits_of_double(k + 6755399441056767.0) << 52);
}

/* The rounded sum and its rounding error. */
REAL_INLINE DoubleDouble exact_sum(double a, double b) {
    double v0 = a + b;
    double v1 = v0 - a;
    return (DoubleDouble){v0, (a - (v0 - v1)) + (b - v1)};
}

/* `exact_sum` where a is zero or |a| >= |b|. */
REAL_INLINE DoubleDouble ordered_sum(double a, double b) {
    double v0 = a + b;
    return (DoubleDouble){v0, (a - v0) + b};
}

/* first + second. */
REAL_INLINE DoubleDouble double_double_sum(DoubleDouble first, DoubleDouble second) {
    double v0 = first.high + second.high;
    double v1 = v0 - first.high;
    double v2 = ((first.high - (v0 - v1)) + (second.high - v1)) + (first.low + second.low);
    double v3 = v0 + v2;
    return (DoubleDouble){v3, (v0 - v3) + v2};
}

/* first * second. */
REAL_INLINE DoubleDouble double_double_product(DoubleDouble first, DoubleDouble second) {
    double v0 = first.high * second.high;
    double v1 = FUSED_MULTIPLY_ADD(first.high, second.high, -v0) + FUSED_MULTIPLY_ADD(first.high, second.low,
        first.low * second.high);
    return (DoubleDouble){v0, v1};
}

/* dividend / divisor. */
REAL_INLINE DoubleDouble quotient(DoubleDouble dividend, DoubleDouble divisor) {
    double v0 = dividend.high / divisor.high;
    double v1 = FUSED_MULTIPLY_ADD(-v0, divisor.high, dividend.high) + (dividend.low - (v0 * divisor.low));
    return (DoubleDouble){v0, v1 / divisor.high};
}

/* The square root; 0 of 0. */
REAL_INLINE DoubleDouble square_root(DoubleDouble square) {
    double v0 = sqrt(square.high);
    double v1 = blend_doubles(v0 > 0.0, (FUSED_MULTIPLY_ADD(-v0, v0, square.high) + square.low) / (v0 * 2.0), 0.0);
    return (DoubleDouble){v0, v1};
}

/* exp(x), for |x| < NORMAL_EXPONENTS; error 0.7. */
REAL_INLINE double exponential_in_range(double x) {
    double v0 = FUSED_MULTIPLY_ADD(x, 1.4426950408889634, 6755399441055744.0) - 6755399441055744.0;
    double v1 = FUSED_MULTIPLY_ADD(-v0, 0.6931471805598903, x);
    double v2 = v1 + 1.0;
    double v3 = FUSED_MULTIPLY_ADD(-v0, 5.497923018708371e-14, v1);
    double v4 = v3 * v3;
    double v5 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.6086622588118762e-10, v4, 2.5052071108803928e-08), v4,
        2.7557319247205175e-06);
    double v6 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v5, v4, 0.00019841269841263304), v4, 0.008333333333333333);
    double v7 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(2.0918129682872186e-09, v4, 2.755726330085884e-07), v4,
        2.4801587336421897e-05);
    double v8 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v7, v4, 0.0013888888888879082), v4, 0.04166666666666668);
    double v9 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v6, v4, 0.16666666666666666), v3, FUSED_MULTIPLY_ADD(v8, v4,
        0.5));
    double v10 = FUSED_MULTIPLY_ADD(v3 * v3, v9, FUSED_MULTIPLY_ADD(-v0, 5.497923018708371e-14, (1.0 - v2) + v1));
    double v11 = (v2 + v10) * double_from_bits(bits_of_double(v0 + 6755399441056767.0) << 52);
    return v11;
}

/* (exp(x) + sign exp(-x)) / 4, for x >= 0. */
REAL_INLINE DoubleDouble half_hyperbolic(double x, double sign) {
    double v0 = blend_doubles(x < 710.5, x, 710.5);
    double v1 = FUSED_MULTIPLY_ADD(v0, 1.4426950408889634, 6755399441055744.0) - 6755399441055744.0;
    double v2 = FUSED_MULTIPLY_ADD(-v1, 0.6931471805598903, v0);
    double v3 = FUSED_MULTIPLY_ADD(-v1, 5.497923018708371e-14, v2);
    double v4 = FUSED_MULTIPLY_ADD(-v1, 5.497923018708371e-14, v2 - v3);
    double v5 = v3 * v3;
    double v6 = v5 * 0.5;
    double v7 = v3 + v6;
    double v8 = v3 * v3;
    double v9 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(2.091467958547083e-09, v8, 2.755727366084684e-07), v8,
        2.480158732553376e-05);
    double v10 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v9, v8, 0.0013888888888883752), v8, 0.04166666666666667);
    double v11 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.6084322963222681e-10, v8, 2.5052078014151406e-08), v8,
        2.755731923994778e-06);
    double v12 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v11, v8, 0.00019841269841266418), v8, 0.008333333333333333);
    double v13 = FUSED_MULTIPLY_ADD(v10, v3, FUSED_MULTIPLY_ADD(v12, v8, 0.16666666666666666));
    double v14 = v4 + FUSED_MULTIPLY_ADD(v3, v4, FUSED_MULTIPLY_ADD(v3, v3, -v5) * 0.5);
    double v15 = v7 + 1.0;
    double v16 = ((1.0 - v15) + v7) + (((v3 - v7) + v6) + FUSED_MULTIPLY_ADD(v5 * v3, v13, v14));
    double v17 = v15 + v16;
    double v18 = double_from_bits(bits_of_double((v1 - 2.0) + 6755399441056767.0) << 52);
    double v19 = v17 * v18;
    double v20 = ((v15 - v17) + v16) * v18;
    double v21 = 0.0625 / v19;
    double v22 = sign * v21;
    double v23 = v19 + v22;
    double v24 = v23 - v19;
    double v25 = FUSED_MULTIPLY_ADD(sign, (FUSED_MULTIPLY_ADD(-v21, v19, 0.0625) + (0.0 - (v21 * v20))) / v19, v20);
    return (DoubleDouble){v23, ((v19 - (v23 - v24)) + (v22 - v24)) + v25};
}

/* log(u 2^doublings), for normal numbers u > 0. */
REAL_INLINE DoubleDouble double_double_logarithm(DoubleDouble u, double doublings) {
    uint64_t v0 = bits_of_double(u.high) + UINT64_C(0x95f619980c433);
    double v1 = double_from_bits((v0 & UINT64_C(0xfffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
    double v2 = double_from_bits((v0 >> 52) | UINT64_C(0x4330000000000000)) - 4503599627371519.0;
    double v3 = v1 - 1.0;
    uint64_t v4 = bits_of_double(-blend_doubles(v2 < 1022.0, v2, 1022.0) + 6755399441056767.0);
    double v5 = v3 + 2.0;
    double v6 = 1.0 / v5;
    double v7 = v3 * v6;
    double v8 = FUSED_MULTIPLY_ADD(1.0 - v7, u.low * double_from_bits(v4 << 52), -v7 * ((2.0 - v5) + v3));
    double v9 = v7 * v7;
    double v10 = v2 + doublings;
    double v11 = v10 * 0.6931471805598903;
    double v12 = v7 * 2.0;
    double v13 = v11 + v12;
    double v14 = v9 * v9;
    double v15 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.15331636699545695, v14, 0.22222211099711295), v14,
        0.39999999999899033);
    double v16 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.1461749869387011, v14, 0.18182891680439733), v14,
        0.28571428626190487);
    double v17 = FUSED_MULTIPLY_ADD(v15, v9, FUSED_MULTIPLY_ADD(v16, v14, 0.666666666666667));
    double v18 = FUSED_MULTIPLY_ADD(v7 * v9, v17, ((FUSED_MULTIPLY_ADD(-v7, v5, v3) + v8) * v6) * 2.0);
    double v19 = ((v11 - v13) + v12) + FUSED_MULTIPLY_ADD(v10, 5.497923018708371e-14, v18);
    return (DoubleDouble){v13, v19};
}

/* -log(y), for y from 2^-60 to 1; the absolute error is far below 1 ulp of 1. */
REAL_INLINE double minus_log(double y) {
    uint64_t v0 = bits_of_double(y) + UINT64_C(0x95f619980c433);
    double v1 = double_from_bits((v0 & UINT64_C(0xfffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
    double v2 = double_from_bits((v0 >> 52) | UINT64_C(0x4330000000000000)) - 4503599627371519.0;
    double v3 = (v1 - 1.0) / (v1 + 1.0);
    double v4 = v3 * v3;
    double v5 = v4 * v4;
    double v6 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.15331636699545695, v5, 0.22222211099711295), v5,
        0.39999999999899033);
    double v7 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.1461749869387011, v5, 0.18182891680439733), v5,
        0.28571428626190487);
    double v8 = FUSED_MULTIPLY_ADD(v6, v4, FUSED_MULTIPLY_ADD(v7, v5, 0.666666666666667));
    double v9 = FUSED_MULTIPLY_ADD(v3, 2.0, FUSED_MULTIPLY_ADD(v3 * v4, v8, v2 * 5.497923018708371e-14));
    return -FUSED_MULTIPLY_ADD(v2, 0.6931471805598903, v9);
}

/* erf_inv(x), for w = -log(1 - x^2) below NEAR_END; error 2.3. */
REAL_INLINE double erf_inv_center(double x, double w) {
    double v0 = w - 2.5;
    double v1 = v0 * v0;
    double v2 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(-7.177495311532216e-20, v1, 4.145539926636719e-18), v1,
        -4.548056556046135e-17);
    double v3 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v2, v1, -7.889491910374859e-15), v1, 6.765343558331482e-13);
    double v4 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v3, v1, -2.9152934468350055e-11), v1, 4.2607921356588607e-10);
    double v5 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v4, v1, 4.3232723103675954e-08), v1, -4.3432281254945584e-06);
    double v6 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v5, v1, 0.00020359528755803895), v1, 0.00022692259238136944);
    double v7 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(3.4397118221917743e-19, v1, -3.700949862636189e-17), v1,
        2.0078470436443033e-15);
    double v8 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v7, v1, -5.638253552598092e-14), v1, -7.798689112465036e-13);
    double v9 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v8, v1, 1.9248962789022888e-10), v1, -1.1926367555678642e-08);
    double v10 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v9, v1, 3.706434114395641e-07), v1, 5.861990714456605e-06);
    double v11 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v10, v1, -0.0017616961267060039), v1, 0.24607297026321356);
    double v12 = FUSED_MULTIPLY_ADD(w, FUSED_MULTIPLY_ADD(v6, v0, v11), -3.8332932499128993e-17);
    return copysign(FUSED_MULTIPLY_ADD(x, 0.886226925452758, x * v12), x);
}

/* The sine and the cosine of r + low, and the number of quarter turns before it. */
REAL_INLINE Reduced reduced_pair(uint64_t quarter, double r, double low) {
    double v0 = r * r;
    double v1 = v0 * 0.5;
    double v2 = 1.0 - v1;
    double v3 = v0 * v0;
    double v4 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.6058531618986147e-10, v3, 2.7557319219339167e-06), v3,
        0.008333333333333331);
    double v5 = FUSED_MULTIPLY_ADD(-7.586697117706918e-13, v3, -2.5052106232447578e-08);
    double v6 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v5, v3, -0.00019841269841265065), v3, -0.16666666666666666);
    double v7 = FUSED_MULTIPLY_ADD(v0 * r, FUSED_MULTIPLY_ADD(v4, v0, v6), FUSED_MULTIPLY_ADD(-v1, low, low));
    double v8 = v0 * v0;
    double v9 = FUSED_MULTIPLY_ADD(-1.1470460887609959e-11, v8, -2.7557319221402824e-07);
    double v10 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(4.7458719020432915e-14, v8, 2.087675579108042e-09), v8,
        2.4801587301584645e-05);
    double v11 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v9, v8, -0.0013888888888888887), v0, FUSED_MULTIPLY_ADD(v10,
        v8, 0.041666666666666664));
    double v12 = ((1.0 - v2) - v1) + FUSED_MULTIPLY_ADD(v0 * v0, v11, -r * low);
    double v13 = r + v7;
    double v14 = v2 + v12;
    return (Reduced){quarter, {v13, (r - v13) + v7}, {v14, (v2 - v14) + v12}};
}

/* The remainder of |x| < MAX_REDUCED. */
REAL_INLINE Reduced reduce_by_half_pi(double x) {
    double v0 = FUSED_MULTIPLY_ADD(x, 0.6366197723675814, 6755399441055744.0);
    double v1 = v0 - 6755399441055744.0;
    double v2 = v1 * 1.5707963267948966;
    double v3 = FUSED_MULTIPLY_ADD(v1, 1.5707963267948966, -v2);
    double v4 = x - v2;
    double v5 = v4 - v3;
    double v6 = v5 - v4;
    double v7 = v1 * 6.123233995736766e-17;
    double v8 = v5 - v7;
    double v9 = v8 - v5;
    double v10 = FUSED_MULTIPLY_ADD(v1, -1.4973849048591698e-33, FUSED_MULTIPLY_ADD(v1, 6.123233995736766e-17, -v7));
    double v11 = (((v4 - (v5 - v6)) - (v3 + v6)) + ((v5 - (v8 - v9)) - (v7 + v9))) - v10;
    double v12 = v8 + v11;
    double v13 = (v8 - v12) + v11;
    double v14 = v12 * v12;
    double v15 = v14 * 0.5;
    double v16 = 1.0 - v15;
    double v17 = v14 * v14;
    double v18 = FUSED_MULTIPLY_ADD(1.6058531618986147e-10, v17, 2.7557319219339167e-06);
    double v19 = FUSED_MULTIPLY_ADD(-7.586697117706918e-13, v17, -2.5052106232447578e-08);
    double v20 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v19, v17, -0.00019841269841265065), v17, -0.16666666666666666);
    double v21 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v18, v17, 0.008333333333333331), v14, v20);
    double v22 = FUSED_MULTIPLY_ADD(v14 * v12, v21, FUSED_MULTIPLY_ADD(-v15, v13, v13));
    double v23 = v14 * v14;
    double v24 = FUSED_MULTIPLY_ADD(-1.1470460887609959e-11, v23, -2.7557319221402824e-07);
    double v25 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(4.7458719020432915e-14, v23, 2.087675579108042e-09), v23,
        2.4801587301584645e-05);
    double v26 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v24, v23, -0.0013888888888888887), v14, FUSED_MULTIPLY_ADD(v25,
        v23, 0.041666666666666664));
    double v27 = ((1.0 - v16) - v15) + FUSED_MULTIPLY_ADD(v14 * v14, v26, -v12 * v13);
    double v28 = v12 + v22;
    double v29 = v16 + v27;
    return (Reduced){bits_of_double(v0), {v28, (v12 - v28) + v22}, {v29, (v16 - v29) + v27}};
}

/* sin(x) of a reduced x; error 0.8. */
REAL_INLINE double sine_of_reduced(double x, Reduced reduced) {
    double v0 = blend_doubles((int)(reduced.quarter & 1), reduced.cosine.high, reduced.sine.high);
    double v1 = blend_doubles(x == 0.0, x, double_from_bits(bits_of_double(v0) ^ ((reduced.quarter >> 1) << 63)));
    return v1;
}

/* cos(x) of a reduced x; error 0.8. */
REAL_INLINE double cosine_of_reduced(double x, Reduced reduced) {
    double v0 = blend_doubles((int)(reduced.quarter & 1), reduced.sine.high, reduced.cosine.high);
    uint64_t v1 = bits_of_double(v0) ^ (((reduced.quarter + UINT64_C(0x1)) >> 1) << 63);
    return double_from_bits(v1);
}

/* tan(x) of a reduced x; error 1. */
REAL_INLINE double tangent_of_reduced(double x, Reduced reduced) {
    int v0 = (int)(reduced.quarter & 1);
    double v1 = blend_doubles(v0, -reduced.cosine.high, reduced.sine.high);
    double v2 = blend_doubles(v0, reduced.sine.high, reduced.cosine.high);
    double v3 = v1 / v2;
    double v4 = blend_doubles(v0, -reduced.cosine.low, reduced.sine.low) - (v3 * blend_doubles(v0, reduced.sine.low,
        reduced.cosine.low));
    double v5 = blend_doubles(x == 0.0, x, v3 + ((FUSED_MULTIPLY_ADD(-v3, v2, v1) + v4) / v2));
    return v5;
}

/* exp(x). */
REAL_INLINE double single_exponential(double x) {
    double v0 = blend_doubles(x > 110.0, 110.0, blend_doubles(x < -110.0, -110.0, x));
    double v1 = FUSED_MULTIPLY_ADD(v0, 1.4426950408889634, 6755399441055744.0);
    double v2 = FUSED_MULTIPLY_ADD(v0, 1.4426950408889634, -(v1 - 6755399441055744.0));
    double v3 = v2 * v2;
    double v4 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(7.0716276672710415e-09, v3, 1.3215448732985857e-06), v3,
        0.00015403530428739626);
    double v5 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v4, v3, 0.00961812910761698), v3, 0.24022650695910078);
    double v6 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.0207030781192805e-07, v3, 1.52526679020531e-05), v3,
        0.001333355820765808);
    double v7 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v6, v3, 0.05550410866462249), v3, 0.6931471805599464);
    uint64_t v8 = bits_of_double(FUSED_MULTIPLY_ADD(v2, FUSED_MULTIPLY_ADD(v5, v2, v7), 1.0));
    return double_from_bits(v8 + (bits_of_double(v1) << 52));
}

/* 1 / (1 + exp(-x)); NaN keeps its sign. */
REAL_INLINE double single_logistic(double x) {
    double v0 = -x;
    double v1 = blend_doubles(v0 > 110.0, 110.0, blend_doubles(v0 < -110.0, -110.0, v0));
    double v2 = FUSED_MULTIPLY_ADD(v1, 1.4426950408889634, 6755399441055744.0);
    double v3 = FUSED_MULTIPLY_ADD(v1, 1.4426950408889634, -(v2 - 6755399441055744.0));
    double v4 = v3 * v3;
    double v5 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(7.0716276672710415e-09, v4, 1.3215448732985857e-06), v4,
        0.00015403530428739626);
    double v6 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v5, v4, 0.00961812910761698), v4, 0.24022650695910078);
    double v7 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.0207030781192805e-07, v4, 1.52526679020531e-05), v4,
        0.001333355820765808);
    double v8 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v7, v4, 0.05550410866462249), v4, 0.6931471805599464);
    uint64_t v9 = bits_of_double(FUSED_MULTIPLY_ADD(v3, FUSED_MULTIPLY_ADD(v6, v3, v8), 1.0));
    double v10 = blend_doubles(x == x, 1.0 / (double_from_bits(v9 + (bits_of_double(v2) << 52)) + 1.0), x);
    return v10;
}

/* The error function. */
REAL_INLINE double single_erf(double x) {
    double v0 = blend_doubles(x > 3.938, 3.938, blend_doubles(x < -3.938, -3.938, x));
    double v1 = v0 * v0;
    double v2 = v1 * v1;
    double v3 = FUSED_MULTIPLY_ADD(-9.020219853775938e-12, v2, -1.9796858903220504e-08);
    double v4 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v3, v2, -1.040967966487697e-05), v2, -0.0017896347840846768);
    double v5 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(-5.766527629054113e-14, v2, -5.394757975395365e-10), v2,
        -5.36828351474235e-07);
    double v6 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v5, v2, -0.0001655209193734774), v2, -0.016719484885079475);
    double v7 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v4, v2, -0.08175571947524998), v1, FUSED_MULTIPLY_ADD(v6, v2,
        -0.37612638903183754));
    double v8 = v1 * v1;
    double v9 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(5.236591561470027e-14, v8, 5.411738955178304e-10), v8,
        5.704424782824225e-07);
    double v10 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v9, v8, 0.00018585444157691704), v8, 0.020162075082999848);
    double v11 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(8.753406858319034e-12, v8, 2.0808860162658278e-08), v8,
        1.1762925716589142e-05);
    double v12 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v11, v8, 0.002242128757949599), v8, 0.12823190954386718);
    double v13 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v10, v8, 0.517362359726186), v1, FUSED_MULTIPLY_ADD(v12, v8,
        1.0));
    double v14 = FUSED_MULTIPLY_ADD(v0, 1.1283791670955126, v0 * (((v1 * v7) / v13) + 1.533545961316588e-17));
    return v14;
}

/* 1 - erf(x). */
REAL_INLINE double single_erfc(double x) {
    double v0 = fabs(x);
    double v1 = blend_doubles(v0 > 10.2, 10.2, v0);
    double v2 = -(v1 * v1);
    double v3 = FUSED_MULTIPLY_ADD(v2, 1.4426950408889634, 6755399441055744.0);
    double v4 = FUSED_MULTIPLY_ADD(v2, 1.4426950408889634, -(v3 - 6755399441055744.0));
    double v5 = v4 * v4;
    double v6 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(7.0716276672710415e-09, v5, 1.3215448732985857e-06), v5,
        0.00015403530428739626);
    double v7 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v6, v5, 0.00961812910761698), v5, 0.24022650695910078);
    double v8 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.0207030781192805e-07, v5, 1.52526679020531e-05), v5,
        0.001333355820765808);
    double v9 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v8, v5, 0.05550410866462249), v5, 0.6931471805599464);
    uint64_t v10 = bits_of_double(FUSED_MULTIPLY_ADD(v4, FUSED_MULTIPLY_ADD(v7, v4, v9), 1.0));
    double v11 = v1 * v1;
    double v12 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(2.7970140258500145e-05, v11, 0.0031540161183211835), v11,
        0.090748154788939);
    double v13 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v12, v11, 0.9071976516641536), v11, 3.1282929354382074);
    double v14 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.065733017760746e-06, v11, 0.0003677378786352488), v11,
        0.019479287630401992);
    double v15 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v14, v11, 0.32586543878256763), v11, 1.9431553526021783);
    double v16 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v15, v11, 3.6075216469954525), v11, 1.0);
    double v17 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v13, v11, 2.69543166152241), v1, v16);
    double v18 = v1 * v1;
    double v19 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.8889625913671881e-06, v18, 0.0006527429004065236), v18,
        0.03485109310160611);
    double v20 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v19, v18, 0.5945209829948277), v18, 3.716486847389892);
    double v21 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v20, v18, 7.867635147688529), v18, 3.823810828617928);
    double v22 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(4.95757828115464e-05, v18, 0.005615135906143799), v18,
        0.1636173025357017);
    double v23 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v22, v18, 1.6856562257339565), v18, 6.275073141247765);
    double v24 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v23, v18, 6.922230124922006), v18, 1.0);
    double v25 = (double_from_bits(v10 + (bits_of_double(v3) << 52)) * v17) / FUSED_MULTIPLY_ADD(v21, v1, v24);
    return blend_doubles(x < 0.0, 2.0 - v25, v25);
}

REAL_INLINE ScaledPower scaled_power(double x) {
    double v0 = FUSED_MULTIPLY_ADD(x, 1.4426950408889634, 6755399441055744.0) - 6755399441055744.0;
    double v1 = FUSED_MULTIPLY_ADD(-v0, 0.6931471805598903, x);
    double v2 = v1 + 1.0;
    double v3 = FUSED_MULTIPLY_ADD(-v0, 5.497923018708371e-14, v1);
    double v4 = v3 * v3;
    double v5 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.6086622588118762e-10, v4, 2.5052071108803928e-08), v4,
        2.7557319247205175e-06);
    double v6 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v5, v4, 0.00019841269841263304), v4, 0.008333333333333333);
    double v7 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(2.0918129682872186e-09, v4, 2.755726330085884e-07), v4,
        2.4801587336421897e-05);
    double v8 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v7, v4, 0.0013888888888879082), v4, 0.04166666666666668);
    double v9 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v6, v4, 0.16666666666666666), v3, FUSED_MULTIPLY_ADD(v8, v4,
        0.5));
    double v10 = FUSED_MULTIPLY_ADD(v3 * v3, v9, FUSED_MULTIPLY_ADD(-v0, 5.497923018708371e-14, (1.0 - v2) + v1));
    return (ScaledPower){v2 + v10, v0};
}

/* exp(x); error 0.7. */
REAL_INLINE double exponential_of(double x) {
    double v0 = blend_doubles(x > 710.0, 710.0, blend_doubles(x < -746.0, -746.0, x));
    double v1 = FUSED_MULTIPLY_ADD(v0, 1.4426950408889634, 6755399441055744.0) - 6755399441055744.0;
    double v2 = FUSED_MULTIPLY_ADD(-v1, 0.6931471805598903, v0);
    double v3 = v2 + 1.0;
    double v4 = FUSED_MULTIPLY_ADD(-v1, 5.497923018708371e-14, v2);
    double v5 = v4 * v4;
    double v6 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.6086622588118762e-10, v5, 2.5052071108803928e-08), v5,
        2.7557319247205175e-06);
    double v7 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v6, v5, 0.00019841269841263304), v5, 0.008333333333333333);
    double v8 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(2.0918129682872186e-09, v5, 2.755726330085884e-07), v5,
        2.4801587336421897e-05);
    double v9 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v8, v5, 0.0013888888888879082), v5, 0.04166666666666668);
    double v10 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v7, v5, 0.16666666666666666), v4, FUSED_MULTIPLY_ADD(v9, v5,
        0.5));
    double v11 = FUSED_MULTIPLY_ADD(v4 * v4, v10, FUSED_MULTIPLY_ADD(-v1, 5.497923018708371e-14, (1.0 - v3) + v2));
    double v12 = ((v1 * 0.5) + 6755399441055744.0) - 6755399441055744.0;
    double v13 = (v3 + v11) * double_from_bits(bits_of_double(v12 + 6755399441056767.0) << 52);
    double v14 = double_from_bits(bits_of_double((v1 - v12) + 6755399441056767.0) << 52);
    return blend_doubles(x == x, v13 * v14, x + x);
}

/* 1 / (1 + exp(-x)); error 2. */
REAL_INLINE double logistic_of(double x) {
    double v0 = -x;
    double v1 = blend_doubles(v0 > 710.0, 710.0, blend_doubles(v0 < -746.0, -746.0, v0));
    double v2 = FUSED_MULTIPLY_ADD(v1, 1.4426950408889634, 6755399441055744.0) - 6755399441055744.0;
    double v3 = FUSED_MULTIPLY_ADD(-v2, 0.6931471805598903, v1);
    double v4 = v3 + 1.0;
    double v5 = FUSED_MULTIPLY_ADD(-v2, 5.497923018708371e-14, v3);
    double v6 = v5 * v5;
    double v7 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.6086622588118762e-10, v6, 2.5052071108803928e-08), v6,
        2.7557319247205175e-06);
    double v8 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v7, v6, 0.00019841269841263304), v6, 0.008333333333333333);
    double v9 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(2.0918129682872186e-09, v6, 2.755726330085884e-07), v6,
        2.4801587336421897e-05);
    double v10 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v9, v6, 0.0013888888888879082), v6, 0.04166666666666668);
    double v11 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v8, v6, 0.16666666666666666), v5, FUSED_MULTIPLY_ADD(v10, v6,
        0.5));
    double v12 = FUSED_MULTIPLY_ADD(v5 * v5, v11, FUSED_MULTIPLY_ADD(-v2, 5.497923018708371e-14, (1.0 - v4) + v3));
    double v13 = ((v2 * 0.5) + 6755399441055744.0) - 6755399441055744.0;
    double v14 = (v4 + v12) * double_from_bits(bits_of_double(v13 + 6755399441056767.0) << 52);
    double v15 = double_from_bits(bits_of_double((v2 - v13) + 6755399441056767.0) << 52);
    double v16 = blend_doubles(x == x, 1.0 / (blend_doubles(v0 == v0, v14 * v15, v0 + v0) + 1.0), x + x);
    return v16;
}

/* The hyperbolic tangent: a polynomial up to 0.9, 1 - 2 / (exp(2 x) + 1) beyond; error 1. */
REAL_INLINE double tanh_of(double x) {
    double v0 = fabs(x);
    double v1 = blend_doubles(v0 < 20.0, v0, 20.0) * 2.0;
    double v2 = FUSED_MULTIPLY_ADD(v1, 1.4426950408889634, 6755399441055744.0) - 6755399441055744.0;
    double v3 = FUSED_MULTIPLY_ADD(-v2, 0.6931471805598903, v1);
    double v4 = v3 + 1.0;
    double v5 = FUSED_MULTIPLY_ADD(-v2, 5.497923018708371e-14, v3);
    double v6 = v5 * v5;
    double v7 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.6086622588118762e-10, v6, 2.5052071108803928e-08), v6,
        2.7557319247205175e-06);
    double v8 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v7, v6, 0.00019841269841263304), v6, 0.008333333333333333);
    double v9 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(2.0918129682872186e-09, v6, 2.755726330085884e-07), v6,
        2.4801587336421897e-05);
    double v10 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v9, v6, 0.0013888888888879082), v6, 0.04166666666666668);
    double v11 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v8, v6, 0.16666666666666666), v5, FUSED_MULTIPLY_ADD(v10, v6,
        0.5));
    double v12 = FUSED_MULTIPLY_ADD(v5 * v5, v11, FUSED_MULTIPLY_ADD(-v2, 5.497923018708371e-14, (1.0 - v4) + v3));
    double v13 = (v4 + v12) * double_from_bits(bits_of_double(v2 + 6755399441056767.0) << 52);
    double v14 = v0 * v0;
    double v15 = v0 * v14;
    double v16 = v14 * v14;
    double v17 = FUSED_MULTIPLY_ADD(-4.0464592218791086e-07, v16, -5.68293820929945e-06);
    double v18 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v17, v16, -3.901665746054983e-05), v16,
        -0.0002391034689782428);
    double v19 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v18, v16, -0.001455833747908541), v16, -0.008863235527046522);
    double v20 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(4.736910822122482e-08, v16, 1.785107738695801e-06), v16,
        1.5396080668219666e-05);
    double v21 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v20, v16, 9.681926865811193e-05), v16, 0.0005900225663276461);
    double v22 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v21, v16, 0.003592127981623231), v16, 0.02186948853607723);
    double v23 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v19, v16, -0.053968253968253124), v14, FUSED_MULTIPLY_ADD(v22,
        v16, 0.13333333333333333));
    double v24 = FUSED_MULTIPLY_ADD(v15, -0.3333333333333333, v15 * FUSED_MULTIPLY_ADD(v14, v23,
        -1.850371707708594e-17));
    double v25 = copysign(blend_doubles(v0 < 0.9, v0 + v24, 1.0 - (2.0 / (v13 + 1.0))), x);
    return blend_doubles(x == x, v25, x + x);
}

/* exp(x) - 1; error 0.6. */
REAL_INLINE double exponential_minus_one_of(double x) {
    double v0 = blend_doubles(x > 710.0, 710.0, blend_doubles(x < -40.0, -40.0, x));
    double v1 = FUSED_MULTIPLY_ADD(v0, 1.4426950408889634, 6755399441055744.0) - 6755399441055744.0;
    double v2 = FUSED_MULTIPLY_ADD(-v1, 0.6931471805598903, v0);
    double v3 = FUSED_MULTIPLY_ADD(-v1, 5.497923018708371e-14, v2);
    double v4 = FUSED_MULTIPLY_ADD(-v1, 5.497923018708371e-14, v2 - v3);
    double v5 = v3 * v3;
    double v6 = v5 * 0.5;
    double v7 = v3 + v6;
    double v8 = v3 * v3;
    double v9 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(2.091467958547083e-09, v8, 2.755727366084684e-07), v8,
        2.480158732553376e-05);
    double v10 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v9, v8, 0.0013888888888883752), v8, 0.04166666666666667);
    double v11 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.6084322963222681e-10, v8, 2.5052078014151406e-08), v8,
        2.755731923994778e-06);
    double v12 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v11, v8, 0.00019841269841266418), v8, 0.008333333333333333);
    double v13 = FUSED_MULTIPLY_ADD(v10, v3, FUSED_MULTIPLY_ADD(v12, v8, 0.16666666666666666));
    double v14 = v4 + FUSED_MULTIPLY_ADD(v3, v4, FUSED_MULTIPLY_ADD(v3, v3, -v5) * 0.5);
    double v15 = double_from_bits(bits_of_double((v1 - 1.0) + 6755399441056767.0) << 52);
    double v16 = v15 + -0.5;
    double v17 = v16 - v15;
    double v18 = v15 * v7;
    double v19 = v16 + v18;
    double v20 = v19 - v16;
    double v21 = FUSED_MULTIPLY_ADD(v15, ((v3 - v7) + v6) + FUSED_MULTIPLY_ADD(v5 * v3, v13, v14), (v15 - (v16 - v17))
        + (-0.5 - v17));
    double v22 = blend_doubles(fabs(x) < 5.551115123125783e-17, x, (v19 + (((v16 - (v19 - v20)) + (v18 - v20)) + v21))
        * 2.0);
    return blend_doubles(x == x, v22, x + x);
}

/* The hyperbolic sine; error 0.6. */
REAL_INLINE double sinh_of(double x) {
    double v0 = fabs(x);
    double v1 = blend_doubles(v0 < 710.5, v0, 710.5);
    double v2 = FUSED_MULTIPLY_ADD(v1, 1.4426950408889634, 6755399441055744.0) - 6755399441055744.0;
    double v3 = FUSED_MULTIPLY_ADD(-v2, 0.6931471805598903, v1);
    double v4 = FUSED_MULTIPLY_ADD(-v2, 5.497923018708371e-14, v3);
    double v5 = FUSED_MULTIPLY_ADD(-v2, 5.497923018708371e-14, v3 - v4);
    double v6 = v4 * v4;
    double v7 = v6 * 0.5;
    double v8 = v4 + v7;
    double v9 = v4 * v4;
    double v10 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(2.091467958547083e-09, v9, 2.755727366084684e-07), v9,
        2.480158732553376e-05);
    double v11 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v10, v9, 0.0013888888888883752), v9, 0.04166666666666667);
    double v12 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.6084322963222681e-10, v9, 2.5052078014151406e-08), v9,
        2.755731923994778e-06);
    double v13 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v12, v9, 0.00019841269841266418), v9, 0.008333333333333333);
    double v14 = FUSED_MULTIPLY_ADD(v11, v4, FUSED_MULTIPLY_ADD(v13, v9, 0.16666666666666666));
    double v15 = v5 + FUSED_MULTIPLY_ADD(v4, v5, FUSED_MULTIPLY_ADD(v4, v4, -v6) * 0.5);
    double v16 = v8 + 1.0;
    double v17 = ((1.0 - v16) + v8) + (((v4 - v8) + v7) + FUSED_MULTIPLY_ADD(v6 * v4, v14, v15));
    double v18 = v16 + v17;
    double v19 = double_from_bits(bits_of_double((v2 - 2.0) + 6755399441056767.0) << 52);
    double v20 = v18 * v19;
    double v21 = ((v16 - v18) + v17) * v19;
    double v22 = 0.0625 / v20;
    double v23 = -1.0 * v22;
    double v24 = v20 + v23;
    double v25 = v24 - v20;
    double v26 = FUSED_MULTIPLY_ADD(-1.0, (FUSED_MULTIPLY_ADD(-v22, v20, 0.0625) + (0.0 - (v22 * v21))) / v20, v21);
    double v27 = blend_doubles(v0 < 710.5, copysign((v24 + (((v20 - (v24 - v25)) + (v23 - v25)) + v26)) * 2.0, x), x *
        INFINITY);
    return blend_doubles(v0 >= 3.725290298461914e-09, v27, x);
}

/* The hyperbolic cosine; error 0.55. */
REAL_INLINE double cosh_of(double x) {
    double v0 = fabs(x);
    double v1 = blend_doubles(v0 < 710.5, v0, 710.5);
    double v2 = FUSED_MULTIPLY_ADD(v1, 1.4426950408889634, 6755399441055744.0) - 6755399441055744.0;
    double v3 = FUSED_MULTIPLY_ADD(-v2, 0.6931471805598903, v1);
    double v4 = FUSED_MULTIPLY_ADD(-v2, 5.497923018708371e-14, v3);
    double v5 = FUSED_MULTIPLY_ADD(-v2, 5.497923018708371e-14, v3 - v4);
    double v6 = v4 * v4;
    double v7 = v6 * 0.5;
    double v8 = v4 + v7;
    double v9 = v4 * v4;
    double v10 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(2.091467958547083e-09, v9, 2.755727366084684e-07), v9,
        2.480158732553376e-05);
    double v11 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v10, v9, 0.0013888888888883752), v9, 0.04166666666666667);
    double v12 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.6084322963222681e-10, v9, 2.5052078014151406e-08), v9,
        2.755731923994778e-06);
    double v13 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v12, v9, 0.00019841269841266418), v9, 0.008333333333333333);
    double v14 = FUSED_MULTIPLY_ADD(v11, v4, FUSED_MULTIPLY_ADD(v13, v9, 0.16666666666666666));
    double v15 = v5 + FUSED_MULTIPLY_ADD(v4, v5, FUSED_MULTIPLY_ADD(v4, v4, -v6) * 0.5);
    double v16 = v8 + 1.0;
    double v17 = ((1.0 - v16) + v8) + (((v4 - v8) + v7) + FUSED_MULTIPLY_ADD(v6 * v4, v14, v15));
    double v18 = v16 + v17;
    double v19 = double_from_bits(bits_of_double((v2 - 2.0) + 6755399441056767.0) << 52);
    double v20 = v18 * v19;
    double v21 = ((v16 - v18) + v17) * v19;
    double v22 = 0.0625 / v20;
    double v23 = 1.0 * v22;
    double v24 = v20 + v23;
    double v25 = v24 - v20;
    double v26 = FUSED_MULTIPLY_ADD(1.0, (FUSED_MULTIPLY_ADD(-v22, v20, 0.0625) + (0.0 - (v22 * v21))) / v20, v21);
    double v27 = blend_doubles(v0 < 710.5, (v24 + (((v20 - (v24 - v25)) + (v23 - v25)) + v26)) * 2.0, INFINITY);
    return blend_doubles(x == x, v27, x + x);
}

/* The natural logarithm; error 0.55. */
REAL_INLINE double logarithm_of(double x) {
    int v0 = x < 2.2250738585072014e-308;
    uint64_t v1 = bits_of_double(blend_doubles(v0, x * 1.8014398509481984e+16, x)) + UINT64_C(0x95f619980c433);
    double v2 = double_from_bits((v1 & UINT64_C(0xfffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
    double v3 = double_from_bits((v1 >> 52) | UINT64_C(0x4330000000000000)) - 4503599627371519.0;
    double v4 = v2 - 1.0;
    uint64_t v5 = bits_of_double(-blend_doubles(v3 < 1022.0, v3, 1022.0) + 6755399441056767.0);
    double v6 = v4 + 2.0;
    double v7 = 1.0 / v6;
    double v8 = v4 * v7;
    double v9 = FUSED_MULTIPLY_ADD(1.0 - v8, 0.0 * double_from_bits(v5 << 52), -v8 * ((2.0 - v6) + v4));
    double v10 = v8 * v8;
    double v11 = v3 + blend_doubles(v0, -54.0, 0.0);
    double v12 = v11 * 0.6931471805598903;
    double v13 = v8 * 2.0;
    double v14 = v12 + v13;
    double v15 = v10 * v10;
    double v16 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.15331636699545695, v15, 0.22222211099711295), v15,
        0.39999999999899033);
    double v17 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.1461749869387011, v15, 0.18182891680439733), v15,
        0.28571428626190487);
    double v18 = FUSED_MULTIPLY_ADD(v16, v10, FUSED_MULTIPLY_ADD(v17, v15, 0.666666666666667));
    double v19 = FUSED_MULTIPLY_ADD(v8 * v10, v18, ((FUSED_MULTIPLY_ADD(-v8, v6, v4) + v9) * v7) * 2.0);
    double v20 = ((v12 - v14) + v13) + FUSED_MULTIPLY_ADD(v11, 5.497923018708371e-14, v19);
    double v21 = blend_doubles(x > 0.0, blend_doubles(x < INFINITY, v14 + v20, x + x), blend_doubles(x == 0.0,
        -INFINITY, blend_doubles(x == x, NAN, x + x)));
    return v21;
}

/* log(1 + x); error 0.55. */
REAL_INLINE double log_plus_one_of(double x) {
    double v0 = x + 1.0;
    double v1 = v0 - 1.0;
    uint64_t v2 = bits_of_double(v0) + UINT64_C(0x95f619980c433);
    double v3 = double_from_bits((v2 & UINT64_C(0xfffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
    double v4 = double_from_bits((v2 >> 52) | UINT64_C(0x4330000000000000)) - 4503599627371519.0;
    double v5 = v3 - 1.0;
    uint64_t v6 = bits_of_double(-blend_doubles(v4 < 1022.0, v4, 1022.0) + 6755399441056767.0);
    double v7 = v5 + 2.0;
    double v8 = 1.0 / v7;
    double v9 = v5 * v8;
    double v10 = FUSED_MULTIPLY_ADD(1.0 - v9, ((1.0 - (v0 - v1)) + (x - v1)) * double_from_bits(v6 << 52), -v9 * ((2.0
        - v7) + v5));
    double v11 = v9 * v9;
    double v12 = v4 + 0.0;
    double v13 = v12 * 0.6931471805598903;
    double v14 = v9 * 2.0;
    double v15 = v13 + v14;
    double v16 = v11 * v11;
    double v17 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.15331636699545695, v16, 0.22222211099711295), v16,
        0.39999999999899033);
    double v18 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.1461749869387011, v16, 0.18182891680439733), v16,
        0.28571428626190487);
    double v19 = FUSED_MULTIPLY_ADD(v17, v11, FUSED_MULTIPLY_ADD(v18, v16, 0.666666666666667));
    double v20 = FUSED_MULTIPLY_ADD(v9 * v11, v19, ((FUSED_MULTIPLY_ADD(-v9, v7, v5) + v10) * v8) * 2.0);
    double v21 = ((v13 - v15) + v14) + FUSED_MULTIPLY_ADD(v12, 5.497923018708371e-14, v20);
    double v22 = blend_doubles(fabs(x) < 9.094947017729282e-13, FUSED_MULTIPLY_ADD(x * -0.5, x, x), blend_doubles(x <
        INFINITY, v15 + v21, x + x));
    double v23 = blend_doubles(x > -1.0, v22, blend_doubles(x == -1.0, -INFINITY, blend_doubles(x == x, NAN, x + x)));
    return v23;
}

/* The inverse of the hyperbolic sine; error 0.6. */
REAL_INLINE double asinh_of(double x) {
    double v0 = fabs(x);
    int v1 = v0 >= 268435456.0;
    double v2 = blend_doubles(v1, 1.0, v0);
    double v3 = v2 * v2;
    double v4 = v3 + 1.0;
    double v5 = v4 - v3;
    double v6 = sqrt(v4);
    double v7 = FUSED_MULTIPLY_ADD(-v6, v6, v4) + (((v3 - (v4 - v5)) + (1.0 - v5)) + FUSED_MULTIPLY_ADD(v2, v2, -v3));
    double v8 = v6 + v2;
    double v9 = v8 - v6;
    double v10 = ((v6 - (v8 - v9)) + (v2 - v9)) + blend_doubles(v6 > 0.0, v7 / (v6 * 2.0), 0.0);
    uint64_t v11 = bits_of_double(blend_doubles(v1, v0, v8)) + UINT64_C(0x95f619980c433);
    double v12 = double_from_bits((v11 & UINT64_C(0xfffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
    double v13 = double_from_bits((v11 >> 52) | UINT64_C(0x4330000000000000)) - 4503599627371519.0;
    double v14 = v12 - 1.0;
    uint64_t v15 = bits_of_double(-blend_doubles(v13 < 1022.0, v13, 1022.0) + 6755399441056767.0);
    double v16 = v14 + 2.0;
    double v17 = 1.0 / v16;
    double v18 = v14 * v17;
    double v19 = FUSED_MULTIPLY_ADD(1.0 - v18, blend_doubles(v1, 0.0, v10) * double_from_bits(v15 << 52), -v18 * ((2.0
        - v16) + v14));
    double v20 = v18 * v18;
    double v21 = v13 + blend_doubles(v1, 1.0, 0.0);
    double v22 = v21 * 0.6931471805598903;
    double v23 = v18 * 2.0;
    double v24 = v22 + v23;
    double v25 = v20 * v20;
    double v26 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.15331636699545695, v25, 0.22222211099711295), v25,
        0.39999999999899033);
    double v27 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.1461749869387011, v25, 0.18182891680439733), v25,
        0.28571428626190487);
    double v28 = FUSED_MULTIPLY_ADD(v26, v20, FUSED_MULTIPLY_ADD(v27, v25, 0.666666666666667));
    double v29 = FUSED_MULTIPLY_ADD(v18 * v20, v28, ((FUSED_MULTIPLY_ADD(-v18, v16, v14) + v19) * v17) * 2.0);
    double v30 = ((v22 - v24) + v23) + FUSED_MULTIPLY_ADD(v21, 5.497923018708371e-14, v29);
    double v31 = blend_doubles((v0 >= 3.725290298461914e-09) & (v0 < INFINITY), copysign(v24 + v30, x), x);
    return v31;
}

/* The inverse of the hyperbolic cosine; error 0.65. */
REAL_INLINE double acosh_of(double x) {
    int v0 = x >= 268435456.0;
    double v1 = blend_doubles(v0, 1.0, x);
    double v2 = v1 * v1;
    double v3 = v2 + -1.0;
    double v4 = v3 - v2;
    double v5 = sqrt(v3);
    double v6 = FUSED_MULTIPLY_ADD(-v5, v5, v3) + (((v2 - (v3 - v4)) + (-1.0 - v4)) + FUSED_MULTIPLY_ADD(v1, v1,
        -v2));
    double v7 = v5 + v1;
    double v8 = v7 - v5;
    double v9 = ((v5 - (v7 - v8)) + (v1 - v8)) + blend_doubles(v5 > 0.0, v6 / (v5 * 2.0), 0.0);
    uint64_t v10 = bits_of_double(blend_doubles(v0, x, v7)) + UINT64_C(0x95f619980c433);
    double v11 = double_from_bits((v10 & UINT64_C(0xfffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
    double v12 = double_from_bits((v10 >> 52) | UINT64_C(0x4330000000000000)) - 4503599627371519.0;
    double v13 = v11 - 1.0;
    uint64_t v14 = bits_of_double(-blend_doubles(v12 < 1022.0, v12, 1022.0) + 6755399441056767.0);
    double v15 = v13 + 2.0;
    double v16 = 1.0 / v15;
    double v17 = v13 * v16;
    double v18 = FUSED_MULTIPLY_ADD(1.0 - v17, blend_doubles(v0, 0.0, v9) * double_from_bits(v14 << 52), -v17 * ((2.0
        - v15) + v13));
    double v19 = v17 * v17;
    double v20 = v12 + blend_doubles(v0, 1.0, 0.0);
    double v21 = v20 * 0.6931471805598903;
    double v22 = v17 * 2.0;
    double v23 = v21 + v22;
    double v24 = v19 * v19;
    double v25 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.15331636699545695, v24, 0.22222211099711295), v24,
        0.39999999999899033);
    double v26 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.1461749869387011, v24, 0.18182891680439733), v24,
        0.28571428626190487);
    double v27 = FUSED_MULTIPLY_ADD(v25, v19, FUSED_MULTIPLY_ADD(v26, v24, 0.666666666666667));
    double v28 = FUSED_MULTIPLY_ADD(v17 * v19, v27, ((FUSED_MULTIPLY_ADD(-v17, v15, v13) + v18) * v16) * 2.0);
    double v29 = ((v21 - v23) + v22) + FUSED_MULTIPLY_ADD(v20, 5.497923018708371e-14, v28);
    double v30 = blend_doubles(x >= 1.0, blend_doubles(x < INFINITY, v23 + v29, x + x), blend_doubles(x == x, NAN, x +
        x));
    return v30;
}

/* The inverse of the hyperbolic tangent; error 0.6. */
REAL_INLINE double atanh_of(double x) {
    double v0 = fabs(x);
    double v1 = v0 + 1.0;
    double v2 = v1 - 1.0;
    double v3 = -v0;
    double v4 = v3 + 1.0;
    double v5 = v4 - 1.0;
    double v6 = v1 / v4;
    double v7 = ((1.0 - (v1 - v2)) + (v0 - v2)) - (v6 * ((1.0 - (v4 - v5)) + (v3 - v5)));
    uint64_t v8 = bits_of_double(v6) + UINT64_C(0x95f619980c433);
    double v9 = double_from_bits((v8 & UINT64_C(0xfffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
    double v10 = double_from_bits((v8 >> 52) | UINT64_C(0x4330000000000000)) - 4503599627371519.0;
    double v11 = v9 - 1.0;
    uint64_t v12 = bits_of_double(-blend_doubles(v10 < 1022.0, v10, 1022.0) + 6755399441056767.0);
    double v13 = ((FUSED_MULTIPLY_ADD(-v6, v4, v1) + v7) / v4) * double_from_bits(v12 << 52);
    double v14 = v11 + 2.0;
    double v15 = 1.0 / v14;
    double v16 = v11 * v15;
    double v17 = FUSED_MULTIPLY_ADD(-v16, v14, v11) + FUSED_MULTIPLY_ADD(1.0 - v16, v13, -v16 * ((2.0 - v14) + v11));
    double v18 = v16 * v16;
    double v19 = v10 + 0.0;
    double v20 = v19 * 0.6931471805598903;
    double v21 = v16 * 2.0;
    double v22 = v20 + v21;
    double v23 = v18 * v18;
    double v24 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.15331636699545695, v23, 0.22222211099711295), v23,
        0.39999999999899033);
    double v25 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.1461749869387011, v23, 0.18182891680439733), v23,
        0.28571428626190487);
    double v26 = FUSED_MULTIPLY_ADD(v24, v18, FUSED_MULTIPLY_ADD(v25, v23, 0.666666666666667));
    double v27 = FUSED_MULTIPLY_ADD(v19, 5.497923018708371e-14, FUSED_MULTIPLY_ADD(v16 * v18, v26, (v17 * v15) *
        2.0));
    double v28 = blend_doubles(v0 == 1.0, INFINITY, (v22 + (((v20 - v22) + v21) + v27)) * 0.5);
    double v29 = blend_doubles(v0 <= 1.0, blend_doubles(v0 >= 3.725290298461914e-09, copysign(v28, x), x),
        blend_doubles(x == x, NAN, x + x));
    return v29;
}

/* x to the power of y; error 0.7. Special values are those of C99, annex F.9.4.4. */
REAL_INLINE double power_of(double x, double y) {
    double v0 = fabs(x);
    double v1 = fabs(y);
    int v2 = (v0 > 0.0) & (v0 < INFINITY);
    double v3 = blend_doubles(v2, v0, 1.0);
    int v4 = v3 < 2.2250738585072014e-308;
    uint64_t v5 = bits_of_double(blend_doubles(v4, v3 * 1.8014398509481984e+16, v3)) + UINT64_C(0x95f619980c433);
    double v6 = double_from_bits((v5 & UINT64_C(0xfffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd));
    double v7 = double_from_bits((v5 >> 52) | UINT64_C(0x4330000000000000)) - 4503599627371519.0;
    double v8 = v6 - 1.0;
    double v9 = v7 + blend_doubles(v4, -54.0, 0.0);
    double v10 = v8 + 2.0;
    double v11 = v10 - 2.0;
    double v12 = v8 / v10;
    double v13 = FUSED_MULTIPLY_ADD(-v12, v10, v8) + (0.0 - (v12 * ((2.0 - (v10 - v11)) + (v8 - v11))));
    double v14 = v13 / v10;
    double v15 = v12 * v12;
    double v16 = FUSED_MULTIPLY_ADD(v12 * 2.0, v14, FUSED_MULTIPLY_ADD(v12, v12, -v15));
    double v17 = v15 * v15;
    double v18 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.10617928942298642, v17, 0.11766053088734164), v17,
        0.1538461552543119);
    double v19 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.1047282035767488, v17, 0.13333314621003772), v17,
        0.18181818181298537);
    double v20 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v18, v17, 0.2222222222222295), v15, FUSED_MULTIPLY_ADD(v19,
        v17, 0.2857142857142857));
    double v21 = v15 * v20;
    double v22 = v21 + 0.4;
    double v23 = v15 * 0.6666666666666666;
    double v24 = FUSED_MULTIPLY_ADD(v15, 3.700743415417188e-17, v16 * 0.6666666666666666);
    double v25 = v15 * v15;
    double v26 = FUSED_MULTIPLY_ADD(v15, v15, -v25) + FUSED_MULTIPLY_ADD(v15, v16, v16 * v15);
    double v27 = v25 * v22;
    double v28 = FUSED_MULTIPLY_ADD(v25, ((0.4 - v22) + v21) + -2.2204460492503132e-17, v26 * v22);
    double v29 = v23 + v27;
    double v30 = (FUSED_MULTIPLY_ADD(v15, 0.6666666666666666, -v23) + v24) + (FUSED_MULTIPLY_ADD(v25, v22, -v27) +
        v28);
    double v31 = v12 * v29;
    double v32 = FUSED_MULTIPLY_ADD(v12, v29, -v31) + FUSED_MULTIPLY_ADD(v12, ((v23 - v29) + v27) + v30, v14 * v29);
    double v33 = v12 * 2.0;
    double v34 = v33 + v31;
    double v35 = v9 * 0.6931471805598903;
    double v36 = v35 + v34;
    double v37 = FUSED_MULTIPLY_ADD(v9, 5.497923018708371e-14, ((v33 - v34) + v31) + FUSED_MULTIPLY_ADD(v14, 2.0,
        v32));
    double v38 = ((v35 - v36) + v34) + v37;
    double v39 = v36 + v38;
    double v40 = blend_doubles(v2, v39, blend_doubles(v0 > 0.0, v0, -INFINITY));
    double v41 = y * v40;
    double v42 = FUSED_MULTIPLY_ADD(y, v40, -v41) + FUSED_MULTIPLY_ADD(y, (v36 - v39) + v38, 0.0 * v40);
    double v43 = blend_doubles(fabs(v41) < 750.0, v42, 0.0);
    double v44 = blend_doubles(v41 > 710.0, 710.0, blend_doubles(v41 < -746.0, -746.0, v41));
    double v45 = FUSED_MULTIPLY_ADD(v44, 1.4426950408889634, 6755399441055744.0) - 6755399441055744.0;
    double v46 = FUSED_MULTIPLY_ADD(-v45, 0.6931471805598903, v44);
    double v47 = v46 + 1.0;
    double v48 = FUSED_MULTIPLY_ADD(-v45, 5.497923018708371e-14, v46) + v43;
    double v49 = FUSED_MULTIPLY_ADD(-v45, 5.497923018708371e-14, (1.0 - v47) + v46) + v43;
    double v50 = v48 * v48;
    double v51 = FUSED_MULTIPLY_ADD(1.6086622588118762e-10, v50, 2.5052071108803928e-08);
    double v52 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v51, v50, 2.7557319247205175e-06), v50,
        0.00019841269841263304);
    double v53 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v52, v50, 0.008333333333333333), v50, 0.16666666666666666);
    double v54 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(2.0918129682872186e-09, v50, 2.755726330085884e-07), v50,
        2.4801587336421897e-05);
    double v55 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v54, v50, 0.0013888888888879082), v50, 0.04166666666666668);
    double v56 = FUSED_MULTIPLY_ADD(v48 * v48, FUSED_MULTIPLY_ADD(v53, v48, FUSED_MULTIPLY_ADD(v55, v50, 0.5)), v49);
    double v57 = ((v45 * 0.5) + 6755399441055744.0) - 6755399441055744.0;
    double v58 = (v47 + v56) * double_from_bits(bits_of_double(v57 + 6755399441056767.0) << 52);
    double v59 = double_from_bits(bits_of_double((v45 - v57) + 6755399441056767.0) << 52);
    double v60 = blend_doubles(v41 == v41, v58 * v59, v41 + v41);
    double v61 = fabs(y * 0.5);
    double v62 = blend_doubles(v1 < 4503599627370496.0, (v1 + 4503599627370496.0) - 4503599627370496.0, v1);
    int v63 = v62 == v1;
    double v64 = blend_doubles(v61 < 4503599627370496.0, (v61 + 4503599627370496.0) - 4503599627370496.0, v61);
    double v65 = blend_doubles(((x < 0.0) & (x > -INFINITY)) & !v63, NAN, blend_doubles(v63 & !(v64 == v61),
        copysign(v60, x), v60));
    double v66 = blend_doubles(((x == 1.0) | (y == 0.0)) | ((x == -1.0) & (v1 == INFINITY)), 1.0, blend_doubles((x ==
        x) & (y == y), v65, x + y));
    return v66;
}

/* The error function; error 1.1. */
REAL_INLINE double erf_of(double x) {
    double v0 = fabs(x);
    double v1 = v0 * v0;
    double v2 = v1 * v1;
    double v3 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(7.420130126131617e-11, v2, 1.478365393786114e-08), v2,
        1.6462070293796427e-06);
    double v4 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v3, v2, 0.0001205533296564953), v2, 0.005223977625441262);
    double v5 = FUSED_MULTIPLY_ADD(-1.2007134812344127e-09, v2, -1.6364594157391539e-07);
    double v6 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v5, v2, -1.4925649319697897e-05), v2, -0.00085483270232917);
    double v7 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v6, v2, -0.026866170645131224), v2, -0.37612638903183754);
    double v8 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v4, v2, 0.11283791670955126), v1, v7);
    double v9 = FUSED_MULTIPLY_ADD(v0, 0.1283791670955126, v0 * FUSED_MULTIPLY_ADD(v1, v8, -1.2420116002463032e-17));
    double v10 = blend_doubles(v0 > 28.0, 28.0, v0);
    double v11 = v10 + 4.0;
    double v12 = 4.0 / v11;
    double v13 = (FUSED_MULTIPLY_ADD(-v12, v11, 4.0) - (v12 * (v10 - (v11 - 4.0)))) * 0.25;
    double v14 = (v12 - 0.5) + (v12 * v13);
    double v15 = v14 * v14;
    double v16 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(-0.0032157115212610803, v15, 0.007856995115322788), v15,
        -0.013813505186662724);
    double v17 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v16, v15, 0.01922285505188966), v15, -0.0037220523234451426);
    double v18 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v17, v15, -0.11649350190457136), v15, 0.391171562323108);
    double v19 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v18, v15, 1.2221042385441538), v15, 1.323406351512078);
    double v20 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(-0.00016366596840580353, v15, 0.002489450667102091), v15,
        -0.011669237530273375);
    double v21 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v20, v15, 0.03862729584806945), v15, -0.09052817341931577);
    double v22 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v21, v15, 0.0359627350748277), v15, 0.8438417068871257);
    double v23 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v22, v15, 1.3920874979194542), v15, 1.0817076626264708);
    double v24 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v19, v15, 0.7732087022652371), v14, FUSED_MULTIPLY_ADD(v23,
        v15, 0.488274364540441));
    double v25 = v14 * v24;
    double v26 = v25 + 0.27399891525012277;
    double v27 = v10 * v10;
    double v28 = (6755399441055744.0 - (v27 * 1.4426950408889634)) - 6755399441055744.0;
    double v29 = FUSED_MULTIPLY_ADD(-v28, 0.6931471805598903, -v27) - FUSED_MULTIPLY_ADD(v10, v10, -v27);
    double v30 = FUSED_MULTIPLY_ADD(-v28, 5.497923018708371e-14, v29);
    double v31 = v30 * v30;
    double v32 = FUSED_MULTIPLY_ADD(1.6086622588118762e-10, v31, 2.5052071108803928e-08);
    double v33 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v32, v31, 2.7557319247205175e-06), v31,
        0.00019841269841263304);
    double v34 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v33, v31, 0.008333333333333333), v31, 0.16666666666666666);
    double v35 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(2.0918129682872186e-09, v31, 2.755726330085884e-07), v31,
        2.4801587336421897e-05);
    double v36 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v35, v31, 0.0013888888888879082), v31, 0.04166666666666668);
    double v37 = FUSED_MULTIPLY_ADD(v30 * v30, FUSED_MULTIPLY_ADD(v34, v30, FUSED_MULTIPLY_ADD(v36, v31, 0.5)), v30);
    double v38 = v26 * v12;
    double v39 = FUSED_MULTIPLY_ADD(v38, v13, (((0.27399891525012277 - v26) + v25) + 1.4393136278317438e-17) * v12);
    double v40 = FUSED_MULTIPLY_ADD(v26, v12, -v38) + v39;
    double v41 = v38 + FUSED_MULTIPLY_ADD(v38, v37, FUSED_MULTIPLY_ADD(v40, v37, v40));
    double v42 = ((v28 * 0.5) + 6755399441055744.0) - 6755399441055744.0;
    double v43 = v41 * double_from_bits(bits_of_double(v42 + 6755399441056767.0) << 52);
    double v44 = double_from_bits(bits_of_double((v28 - v42) + 6755399441056767.0) << 52);
    return copysign(blend_doubles(v0 < 0.75, v0 + v9, 1.0 - (v43 * v44)), x);
}

/* 1 - erf(x); error 3, where it is small. */
REAL_INLINE double erfc_of(double x) {
    double v0 = fabs(x);
    double v1 = blend_doubles(v0 > 28.0, 28.0, v0);
    double v2 = v1 + 4.0;
    double v3 = 4.0 / v2;
    double v4 = (FUSED_MULTIPLY_ADD(-v3, v2, 4.0) - (v3 * (v1 - (v2 - 4.0)))) * 0.25;
    double v5 = (v3 - 0.5) + (v3 * v4);
    double v6 = v5 * v5;
    double v7 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(-0.0032157115212610803, v6, 0.007856995115322788), v6,
        -0.013813505186662724);
    double v8 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v7, v6, 0.01922285505188966), v6, -0.0037220523234451426);
    double v9 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v8, v6, -0.11649350190457136), v6, 0.391171562323108);
    double v10 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v9, v6, 1.2221042385441538), v6, 1.323406351512078);
    double v11 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(-0.00016366596840580353, v6, 0.002489450667102091), v6,
        -0.011669237530273375);
    double v12 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v11, v6, 0.03862729584806945), v6, -0.09052817341931577);
    double v13 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v12, v6, 0.0359627350748277), v6, 0.8438417068871257);
    double v14 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v13, v6, 1.3920874979194542), v6, 1.0817076626264708);
    double v15 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v10, v6, 0.7732087022652371), v5, FUSED_MULTIPLY_ADD(v14, v6,
        0.488274364540441));
    double v16 = v5 * v15;
    double v17 = v16 + 0.27399891525012277;
    double v18 = v1 * v1;
    double v19 = (6755399441055744.0 - (v18 * 1.4426950408889634)) - 6755399441055744.0;
    double v20 = FUSED_MULTIPLY_ADD(-v19, 0.6931471805598903, -v18) - FUSED_MULTIPLY_ADD(v1, v1, -v18);
    double v21 = FUSED_MULTIPLY_ADD(-v19, 5.497923018708371e-14, v20);
    double v22 = v21 * v21;
    double v23 = FUSED_MULTIPLY_ADD(1.6086622588118762e-10, v22, 2.5052071108803928e-08);
    double v24 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v23, v22, 2.7557319247205175e-06), v22,
        0.00019841269841263304);
    double v25 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v24, v22, 0.008333333333333333), v22, 0.16666666666666666);
    double v26 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(2.0918129682872186e-09, v22, 2.755726330085884e-07), v22,
        2.4801587336421897e-05);
    double v27 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v26, v22, 0.0013888888888879082), v22, 0.04166666666666668);
    double v28 = FUSED_MULTIPLY_ADD(v21 * v21, FUSED_MULTIPLY_ADD(v25, v21, FUSED_MULTIPLY_ADD(v27, v22, 0.5)), v21);
    double v29 = v17 * v3;
    double v30 = FUSED_MULTIPLY_ADD(v29, v4, (((0.27399891525012277 - v17) + v16) + 1.4393136278317438e-17) * v3);
    double v31 = FUSED_MULTIPLY_ADD(v17, v3, -v29) + v30;
    double v32 = v29 + FUSED_MULTIPLY_ADD(v29, v28, FUSED_MULTIPLY_ADD(v31, v28, v31));
    double v33 = ((v19 * 0.5) + 6755399441055744.0) - 6755399441055744.0;
    double v34 = v32 * double_from_bits(bits_of_double(v33 + 6755399441056767.0) << 52);
    double v35 = double_from_bits(bits_of_double((v19 - v33) + 6755399441056767.0) << 52);
    double v36 = v34 * v35;
    double v37 = x * x;
    double v38 = v37 * v37;
    double v39 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(7.420130126131617e-11, v38, 1.478365393786114e-08), v38,
        1.6462070293796427e-06);
    double v40 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v39, v38, 0.0001205533296564953), v38, 0.005223977625441262);
    double v41 = FUSED_MULTIPLY_ADD(-1.2007134812344127e-09, v38, -1.6364594157391539e-07);
    double v42 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v41, v38, -1.4925649319697897e-05), v38, -0.00085483270232917);
    double v43 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v42, v38, -0.026866170645131224), v38, -0.37612638903183754);
    double v44 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v40, v38, 0.11283791670955126), v37, v43);
    double v45 = FUSED_MULTIPLY_ADD(x, 0.1283791670955126, x * FUSED_MULTIPLY_ADD(v37, v44, -1.2420116002463032e-17));
    double v46 = blend_doubles(v0 < 0.75, 1.0 - (x + v45), blend_doubles(x < 0.0, 2.0 - v36, v36));
    return v46;
}

/* erf_inv(x), for w = -log(1 - x^2), which is that of 0 unless |x| < 1. */
REAL_INLINE double erf_inv_of(double x, double w) {
    double v0 = fabs(x);
    double v1 = w - 2.5;
    double v2 = v1 * v1;
    double v3 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(-7.177495311532216e-20, v2, 4.145539926636719e-18), v2,
        -4.548056556046135e-17);
    double v4 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v3, v2, -7.889491910374859e-15), v2, 6.765343558331482e-13);
    double v5 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v4, v2, -2.9152934468350055e-11), v2, 4.2607921356588607e-10);
    double v6 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v5, v2, 4.3232723103675954e-08), v2, -4.3432281254945584e-06);
    double v7 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v6, v2, 0.00020359528755803895), v2, 0.00022692259238136944);
    double v8 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(3.4397118221917743e-19, v2, -3.700949862636189e-17), v2,
        2.0078470436443033e-15);
    double v9 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v8, v2, -5.638253552598092e-14), v2, -7.798689112465036e-13);
    double v10 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v9, v2, 1.9248962789022888e-10), v2, -1.1926367555678642e-08);
    double v11 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v10, v2, 3.706434114395641e-07), v2, 5.861990714456605e-06);
    double v12 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v11, v2, -0.0017616961267060039), v2, 0.24607297026321356);
    double v13 = FUSED_MULTIPLY_ADD(w, FUSED_MULTIPLY_ADD(v7, v1, v12), -3.8332932499128993e-17);
    double v14 = sqrt(w);
    double v15 = v14 - 3.0;
    double v16 = v15 * v15;
    double v17 = FUSED_MULTIPLY_ADD(-1.3132127732143907e-08, v16, 1.8018089802457178e-07);
    double v18 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v17, v16, -6.522485122896027e-07), v16,
        -1.6496030470246326e-06);
    double v19 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v18, v16, 2.193416823581826e-05), v16,
        -4.6460493875691996e-05);
    double v20 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v19, v16, -0.0002831243893821357), v16, 0.001483737339911718);
    double v21 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v20, v16, 0.005685182418104468), v16, 0.009445522011985764);
    double v22 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.346067838954316e-08, v16, -6.874075748257772e-08), v16,
        -7.52745814592708e-08);
    double v23 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v22, v16, 1.99770223499857e-06), v16, -5.946977609476817e-06);
    double v24 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v23, v16, -2.2873261096184918e-05), v16,
        0.00020551662581805793);
    double v25 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v24, v16, -0.00014889810762942838), v16,
        -0.003558794015551841);
    double v26 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v25, v16, -0.007643805570073247), v16, 1.0016752766933998);
    double v27 = FUSED_MULTIPLY_ADD(v15, FUSED_MULTIPLY_ADD(v21, v15, v26), 1.5047852583416206e-16);
    double v28 = v14 - 5.0;
    double v29 = v28 * v28;
    double v30 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(3.32180929690899e-13, v29, -2.2735221557301035e-11), v29,
        7.607972620432634e-11);
    double v31 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v30, v29, 1.3065169014942025e-09), v29, 7.829374259171906e-09);
    double v32 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v31, v29, 2.9014740163305535e-08), v29,
        2.2905391312355676e-07);
    double v33 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v32, v29, 4.526052368408665e-06), v29, 7.599527810568252e-05);
    double v34 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(6.219844974350822e-12, v29, 1.2966008975394952e-11), v29,
        -3.7698634494937485e-10);
    double v35 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v34, v29, -3.538480571987436e-09), v29,
        -1.5210814484597578e-08);
    double v36 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v35, v29, -6.757381514278001e-08), v29,
        -9.930252716414698e-07);
    double v37 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v36, v29, -1.9681771218447543e-05), v29,
        -0.0002150301197983227);
    double v38 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v33, v29, -0.00013871931838017738), v28,
        FUSED_MULTIPLY_ADD(v37, v29, 1.0103004648645448));
    int v39 = w >= 14.0;
    double v40 = blend_doubles(v39, FUSED_MULTIPLY_ADD(v28, v38, -8.25220929251163e-17), v27);
    double v41 = FUSED_MULTIPLY_ADD(x, blend_doubles(v39, 4.849906401408584, 2.8329767987282706), x * v40);
    double v42 = blend_doubles(w < 5.0, copysign(FUSED_MULTIPLY_ADD(x, 0.886226925452758, x * v13), x), v41);
    double v43 = blend_doubles(v0 < 1.0, v42, blend_doubles(v0 == 1.0, copysign(INFINITY, x), NAN));
    return v43;
}

/* The angle whose sine is x; error 0.6. */
REAL_INLINE double asin_of(double x) {
    double v0 = fabs(x);
    double v1 = v0 * v0;
    double v2 = -v1;
    double v3 = v2 + 1.0;
    double v4 = v3 - 1.0;
    double v5 = sqrt(v3);
    double v6 = FUSED_MULTIPLY_ADD(-v5, v5, v3) + (((1.0 - (v3 - v4)) + (v2 - v4)) - FUSED_MULTIPLY_ADD(v0, v0, -v1));
    double v7 = blend_doubles(v5 > 0.0, v6 / (v5 * 2.0), 0.0);
    int v8 = v0 > v5;
    double v9 = blend_doubles(v8, v5, v0);
    double v10 = blend_doubles(v8, v7, 0.0);
    double v11 = blend_doubles(v8, v0, v5);
    double v12 = blend_doubles(v8, 0.0, v7);
    int v13 = v9 > (v11 * 0.25);
    int v14 = v9 > (v11 * 0.75);
    double v15 = blend_doubles(v14, 1.0, blend_doubles(v13, 0.5, 0.0));
    double v16 = blend_doubles(v14, 0.7853981633974483, blend_doubles(v13, 0.4636476090008061, 0.0));
    double v17 = blend_doubles(v14, 3.061616997868383e-17, blend_doubles(v13, 2.2698777452961687e-17, 0.0));
    double v18 = -v15 * v11;
    double v19 = v9 + v18;
    double v20 = v19 - v9;
    double v21 = v15 * v9;
    double v22 = v11 + v21;
    double v23 = v22 - v11;
    double v24 = ((v9 - (v19 - v20)) + (v18 - v20)) + FUSED_MULTIPLY_ADD(-v15, v12, v10);
    double v25 = ((v11 - (v22 - v23)) + (v21 - v23)) + FUSED_MULTIPLY_ADD(v15, v10, v12);
    double v26 = v19 / v22;
    double v27 = v26 * v26;
    double v28 = v16 + v26;
    double v29 = v27 * v27;
    double v30 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.057529943904780285, v29, 0.07692017877237385), v29,
        0.11111111035986847);
    double v31 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(-0.041034266985419496, v29, -0.06658687414697743), v29,
        -0.09090902874969416);
    double v32 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v31, v29, -0.1428571428525851), v29, -0.3333333333333333);
    double v33 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v30, v29, 0.19999999999998933), v27, v32);
    double v34 = v17 + ((FUSED_MULTIPLY_ADD(-v26, v22, v19) + (v24 - (v26 * v25))) / v22);
    double v35 = blend_doubles(v8, 1.0, 0.0);
    double v36 = blend_doubles(v8, -1.0, 1.0);
    double v37 = v35 * 1.5707963267948966;
    double v38 = v36 * v28;
    double v39 = v37 + v38;
    double v40 = v39 - v37;
    double v41 = FUSED_MULTIPLY_ADD(v36, ((v16 - v28) + v26) + FUSED_MULTIPLY_ADD(v26 * v27, v33, v34), v35 *
        6.123233995736766e-17);
    double v42 = blend_doubles(v0 >= 3.725290298461914e-09, copysign(v39 + (((v37 - (v39 - v40)) + (v38 - v40)) +
        v41), x), x);
    return blend_doubles(v0 <= 1.0, v42, blend_doubles(x == x, NAN, x + x));
}

/* The angle whose cosine is x; error 0.8. */
REAL_INLINE double acos_of(double x) {
    double v0 = fabs(x);
    double v1 = v0 * v0;
    double v2 = -v1;
    double v3 = v2 + 1.0;
    double v4 = v3 - 1.0;
    double v5 = sqrt(v3);
    double v6 = FUSED_MULTIPLY_ADD(-v5, v5, v3) + (((1.0 - (v3 - v4)) + (v2 - v4)) - FUSED_MULTIPLY_ADD(v0, v0, -v1));
    double v7 = blend_doubles(v5 > 0.0, v6 / (v5 * 2.0), 0.0);
    int v8 = v0 > v5;
    double v9 = blend_doubles(v8, v5, v0);
    double v10 = blend_doubles(v8, v7, 0.0);
    double v11 = blend_doubles(v8, v0, v5);
    double v12 = blend_doubles(v8, 0.0, v7);
    int v13 = v9 > (v11 * 0.25);
    int v14 = v9 > (v11 * 0.75);
    double v15 = blend_doubles(v14, 1.0, blend_doubles(v13, 0.5, 0.0));
    double v16 = blend_doubles(v14, 0.7853981633974483, blend_doubles(v13, 0.4636476090008061, 0.0));
    double v17 = blend_doubles(v14, 3.061616997868383e-17, blend_doubles(v13, 2.2698777452961687e-17, 0.0));
    double v18 = -v15 * v11;
    double v19 = v9 + v18;
    double v20 = v19 - v9;
    double v21 = v15 * v9;
    double v22 = v11 + v21;
    double v23 = v22 - v11;
    double v24 = ((v9 - (v19 - v20)) + (v18 - v20)) + FUSED_MULTIPLY_ADD(-v15, v12, v10);
    double v25 = ((v11 - (v22 - v23)) + (v21 - v23)) + FUSED_MULTIPLY_ADD(v15, v10, v12);
    double v26 = v19 / v22;
    double v27 = v26 * v26;
    double v28 = v16 + v26;
    double v29 = v27 * v27;
    double v30 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.057529943904780285, v29, 0.07692017877237385), v29,
        0.11111111035986847);
    double v31 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(-0.041034266985419496, v29, -0.06658687414697743), v29,
        -0.09090902874969416);
    double v32 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v31, v29, -0.1428571428525851), v29, -0.3333333333333333);
    double v33 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v30, v29, 0.19999999999998933), v27, v32);
    double v34 = v17 + ((FUSED_MULTIPLY_ADD(-v26, v22, v19) + (v24 - (v26 * v25))) / v22);
    int v35 = x < 0.0;
    double v36 = blend_doubles(v8, blend_doubles(v35, 2.0, 0.0), 1.0);
    double v37 = blend_doubles(v35 ^ v8, 1.0, -1.0);
    double v38 = v36 * 1.5707963267948966;
    double v39 = v37 * v28;
    double v40 = v38 + v39;
    double v41 = v40 - v38;
    double v42 = FUSED_MULTIPLY_ADD(v37, ((v16 - v28) + v26) + FUSED_MULTIPLY_ADD(v26 * v27, v33, v34), v36 *
        6.123233995736766e-17);
    double v43 = blend_doubles(fabs(x) <= 1.0, v40 + (((v38 - (v40 - v41)) + (v39 - v41)) + v42), blend_doubles(x ==
        x, NAN, x + x));
    return v43;
}

/* The angle whose tangent is x; error 0.55. */
REAL_INLINE double atan_of(double x) {
    double v0 = blend_doubles(fabs(x) < 1.2676506002282294e+30, fabs(x), 1.2676506002282294e+30);
    int v1 = v0 > 1.0;
    double v2 = blend_doubles(v1, 1.0, v0);
    double v3 = blend_doubles(v1, v0, 1.0);
    int v4 = v2 > (v3 * 0.25);
    int v5 = v2 > (v3 * 0.75);
    double v6 = blend_doubles(v5, 1.0, blend_doubles(v4, 0.5, 0.0));
    double v7 = blend_doubles(v5, 0.7853981633974483, blend_doubles(v4, 0.4636476090008061, 0.0));
    double v8 = blend_doubles(v5, 3.061616997868383e-17, blend_doubles(v4, 2.2698777452961687e-17, 0.0));
    double v9 = -v6 * v3;
    double v10 = v2 + v9;
    double v11 = v10 - v2;
    double v12 = v6 * v2;
    double v13 = v3 + v12;
    double v14 = v13 - v3;
    double v15 = ((v2 - (v10 - v11)) + (v9 - v11)) + FUSED_MULTIPLY_ADD(-v6, 0.0, 0.0);
    double v16 = ((v3 - (v13 - v14)) + (v12 - v14)) + FUSED_MULTIPLY_ADD(v6, 0.0, 0.0);
    double v17 = v10 / v13;
    double v18 = v17 * v17;
    double v19 = v7 + v17;
    double v20 = v18 * v18;
    double v21 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.057529943904780285, v20, 0.07692017877237385), v20,
        0.11111111035986847);
    double v22 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(-0.041034266985419496, v20, -0.06658687414697743), v20,
        -0.09090902874969416);
    double v23 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v22, v20, -0.1428571428525851), v20, -0.3333333333333333);
    double v24 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v21, v20, 0.19999999999998933), v18, v23);
    double v25 = v8 + ((FUSED_MULTIPLY_ADD(-v17, v13, v10) + (v15 - (v17 * v16))) / v13);
    double v26 = blend_doubles(v1, 1.0, 0.0);
    double v27 = blend_doubles(v1, -1.0, 1.0);
    double v28 = v26 * 1.5707963267948966;
    double v29 = v27 * v19;
    double v30 = v28 + v29;
    double v31 = v30 - v28;
    double v32 = FUSED_MULTIPLY_ADD(v27, ((v7 - v19) + v17) + FUSED_MULTIPLY_ADD(v17 * v18, v24, v25), v26 *
        6.123233995736766e-17);
    double v33 = blend_doubles(x == x, copysign(v30 + (((v28 - (v30 - v31)) + (v29 - v31)) + v32), x), x + x);
    return blend_doubles(v0 >= 3.725290298461914e-09, v33, x);
}

/* The angle of the point (x, y); error 0.6. Special values are those of C99, annex F.9.1.4. */
REAL_INLINE double atan2_of(double y, double x) {
    double v0 = fabs(x);
    double v1 = fabs(y);
    int v2 = v1 > v0;
    int v3 = copysign(1.0, x) < 0.0;
    int v4 = (x == x) & (y == y);
    double v5 = blend_doubles(v2, v1, v0);
    double v6 = blend_doubles(v2, v0, v1);
    double v7 = blend_doubles(v5 < 1.1830521861667747e-271, 1.6069380442589903e+60, 1.0);
    double v8 = blend_doubles(v5 > 1.0715086071862673e+301, 6.223015277861142e-61, v7);
    int v9 = v5 == INFINITY;
    double v10 = blend_doubles(v9, blend_doubles(v6 == INFINITY, 1.0, 0.0), v6 * v8);
    double v11 = blend_doubles((v9 | (v5 == 0.0)) | !v4, 1.0, v5 * v8);
    int v12 = v10 > (v11 * 0.25);
    int v13 = v10 > (v11 * 0.75);
    double v14 = blend_doubles(v13, 1.0, blend_doubles(v12, 0.5, 0.0));
    double v15 = blend_doubles(v13, 0.7853981633974483, blend_doubles(v12, 0.4636476090008061, 0.0));
    double v16 = blend_doubles(v13, 3.061616997868383e-17, blend_doubles(v12, 2.2698777452961687e-17, 0.0));
    double v17 = -v14 * v11;
    double v18 = v10 + v17;
    double v19 = v18 - v10;
    double v20 = v14 * v10;
    double v21 = v11 + v20;
    double v22 = v21 - v11;
    double v23 = ((v10 - (v18 - v19)) + (v17 - v19)) + FUSED_MULTIPLY_ADD(-v14, 0.0, 0.0);
    double v24 = ((v11 - (v21 - v22)) + (v20 - v22)) + FUSED_MULTIPLY_ADD(v14, 0.0, 0.0);
    double v25 = v18 / v21;
    double v26 = v25 * v25;
    double v27 = v15 + v25;
    double v28 = v26 * v26;
    double v29 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.057529943904780285, v28, 0.07692017877237385), v28,
        0.11111111035986847);
    double v30 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(-0.041034266985419496, v28, -0.06658687414697743), v28,
        -0.09090902874969416);
    double v31 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v30, v28, -0.1428571428525851), v28, -0.3333333333333333);
    double v32 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v29, v28, 0.19999999999998933), v26, v31);
    double v33 = v16 + ((FUSED_MULTIPLY_ADD(-v25, v21, v18) + (v23 - (v25 * v24))) / v21);
    double v34 = blend_doubles(v2, 1.0, blend_doubles(v3, 2.0, 0.0));
    double v35 = blend_doubles(v2 ^ v3, -1.0, 1.0);
    double v36 = v34 * 1.5707963267948966;
    double v37 = v35 * v27;
    double v38 = v36 + v37;
    double v39 = v38 - v36;
    double v40 = FUSED_MULTIPLY_ADD(v35, ((v15 - v27) + v25) + FUSED_MULTIPLY_ADD(v25 * v26, v32, v33), v34 *
        6.123233995736766e-17);
    double v41 = v10 / v11;
    double v42 = blend_doubles((!v2 & !v3) & (v41 < 3.725290298461914e-09), v41, v38 + (((v36 - (v38 - v39)) + (v37 -
        v39)) + v40));
    return blend_doubles(v4, copysign(v42, y), x + y);
}

REAL_INLINE double cbrt_of(double x) {
    double v0 = fabs(x);
    int v1 = v0 < 2.2250738585072014e-308;
    uint64_t v2 = bits_of_double(blend_doubles(v1, v0 * 1.8014398509481984e+16, v0));
    double v3 = double_from_bits((v2 & UINT64_C(0xfffffffffffff)) + UINT64_C(0x3ff0000000000000));
    double v4 = double_from_bits((v2 >> 52) | UINT64_C(0x4330000000000000)) - 4503599627371519.0;
    double v5 = FUSED_MULTIPLY_ADD(v4, 0.3333333333333333, 6755399441055744.0) - 6755399441055744.0;
    double v6 = v4 - (v5 * 3.0);
    int v7 = v6 > 0.0;
    int v8 = v6 < 0.0;
    double v9 = v3 * v3;
    double v10 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(-0.10750263607045218, v9, -1.2521242275997846), v9,
        -1.9720591905396232);
    double v11 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.010066718649569128, v9, 0.49117031566066666), v9,
        1.9538182209261572);
    double v12 = FUSED_MULTIPLY_ADD(v10, v3, FUSED_MULTIPLY_ADD(v11, v9, 1.8766297241212762));
    double v13 = blend_doubles(v7, 0.7937005259840998, blend_doubles(v8, 1.2599210498948732, 1.0));
    double v14 = v12 * v13;
    double v15 = v3 * blend_doubles(v7, 2.0, blend_doubles(v8, 0.5, 1.0));
    double v16 = FUSED_MULTIPLY_ADD(-v15, (v14 * v14) * v14, 1.0);
    double v17 = FUSED_MULTIPLY_ADD(v14 * v16, FUSED_MULTIPLY_ADD(v16, 0.2222222222222222, 0.3333333333333333), v14);
    double v18 = v17 * v17;
    double v19 = v15 * v18;
    double v20 = v19 * v19;
    double v21 = FUSED_MULTIPLY_ADD(v20, v19, -v15) + (FUSED_MULTIPLY_ADD(v19, v19, -v20) * v19);
    uint64_t v22 = bits_of_double(blend_doubles(v1, v5 - 18.0, v5) + 6755399441056767.0) << 52;
    double v23 = FUSED_MULTIPLY_ADD(v21 * v18, -0.3333333333333333, v19) * double_from_bits(v22);
    return blend_doubles((v0 > 0.0) & (v0 < INFINITY), copysign(v23, x), x + x);
}

/* exp as 2^k * 2^t, as exact as f32 needs it: some 2^-49 is lost for the largest arguments. */
REAL_INLINE double single_exp_without_table(double x) {
    double v0 = FUSED_MULTIPLY_ADD(x, 1.4426950408889634, 6755399441055744.0);
    double v1 = FUSED_MULTIPLY_ADD(x, 1.4426950408889634, -(v0 - 6755399441055744.0));
    double v2 = v1 * v1;
    double v3 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(7.0716276672710415e-09, v2, 1.3215448732985857e-06), v2,
        0.00015403530428739626);
    double v4 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v3, v2, 0.00961812910761698), v2, 0.24022650695910078);
    double v5 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.0207030781192805e-07, v2, 1.52526679020531e-05), v2,
        0.001333355820765808);
    double v6 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v5, v2, 0.05550410866462249), v2, 0.6931471805599464);
    uint64_t v7 = bits_of_double(FUSED_MULTIPLY_ADD(v1, FUSED_MULTIPLY_ADD(v4, v1, v6), 1.0));
    return double_from_bits(v7 + (bits_of_double(v0) << 52));
}

/* The hyperbolic tangent without a table. */
REAL_INLINE double single_tanh(double x) {
    double v0 = fabs(x) * 2.0;
    double v1 = blend_doubles(v0 > 40.0, 40.0, v0);
    double v2 = FUSED_MULTIPLY_ADD(v1, 1.4426950408889634, 6755399441055744.0);
    double v3 = v2 - 6755399441055744.0;
    double v4 = FUSED_MULTIPLY_ADD(-v3, 2.3190468138462996e-17, FUSED_MULTIPLY_ADD(-v3, 0.6931471805599453, v1));
    double v5 = v4 * v4;
    double v6 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(1.6086622588118762e-10, v5, 2.5052071108803928e-08), v5,
        2.7557319247205175e-06);
    double v7 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v6, v5, 0.00019841269841263304), v5, 0.008333333333333333);
    double v8 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(2.0918129682872186e-09, v5, 2.755726330085884e-07), v5,
        2.4801587336421897e-05);
    double v9 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v8, v5, 0.0013888888888879082), v5, 0.04166666666666668);
    double v10 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v7, v5, 0.16666666666666666), v4, FUSED_MULTIPLY_ADD(v9, v5,
        0.5));
    double v11 = double_from_bits((bits_of_double(v2) + UINT64_C(0x3ff)) << 52);
    double v12 = FUSED_MULTIPLY_ADD(v11, FUSED_MULTIPLY_ADD(v4 * v4, v10, v4), v11 - 1.0);
    return copysign(v12 / (v12 + 2.0), x);
}

/* |x| less a multiple of pi / 2. */
REAL_INLINE ReducedAngle fast_reduced(float x) {
    double v0 = (double)fabsf(x);
    int v1 = v0 >= 1.8014398509481984e+16;
    int v2 = v0 >= 9.671406556917033e+24;
    double v3 = blend_doubles(v2, 2.2760100671971816e-18, blend_doubles(v1, 1.4681663246252086e-09,
        0.636619770899415));
    double v4 = blend_doubles(v2, 5.8812147387730434e-27, blend_doubles(v1, 2.2760100671971816e-18,
        1.4681663246252086e-09));
    double v5 = blend_doubles(v2, 1.0346868700836215e-35, blend_doubles(v1, 5.8812147387730434e-27,
        2.2760100671971816e-18));
    double v6 = blend_doubles(v2, 3.783256351091319e-45, blend_doubles(v1, 1.0346868700836215e-35,
        5.8812147387730434e-27));
    int v7 = v0 >= 5.192296858534828e+33;
    double v8 = v0 * blend_doubles(v7, 5.8812147387730434e-27, v3);
    double v9 = v0 * blend_doubles(v7, 1.0346868700836215e-35, v4);
    double v10 = FUSED_MULTIPLY_ADD(v8, 0.0625, 6755399441055744.0) - 6755399441055744.0;
    double v11 = FUSED_MULTIPLY_ADD(-v10, 16.0, v8);
    double v12 = FUSED_MULTIPLY_ADD(v9, 0.0625, 6755399441055744.0) - 6755399441055744.0;
    double v13 = FUSED_MULTIPLY_ADD(-v12, 16.0, v9);
    double v14 = FUSED_MULTIPLY_ADD(v11 + v13, 1.0, 6755399441055744.0);
    double v15 = ((v11 - (v14 - 6755399441055744.0)) + v13) + (v0 * blend_doubles(v7, 3.783256351091319e-45, v5));
    double v16 = (v15 + (v0 * blend_doubles(v7, 3.720474878517739e-53, v6))) * 1.5707963267948966;
    float v17 = (float)v16;
    return (ReducedAngle){v17, (float)(v16 - (double)v17), (uint32_t)bits_of_double(v14)};
}

REAL_INLINE float fast_exponential(float x) {
    float v0 = blend_floats(x > 89.0f, 89.0f, x);
    float v1 = blend_floats(v0 < -105.0f, -105.0f, v0);
    float v2 = FUSED_MULTIPLY_ADD_FLOATS(v1, 1.4426950216293335f, 12582912.0f);
    float v3 = v2 - 12582912.0f;
    float v4 = FUSED_MULTIPLY_ADD_FLOATS(-v3, 1.428606765330187e-06f, FUSED_MULTIPLY_ADD_FLOATS(-v3,
        0.693145751953125f, v1));
    float v5 = FUSED_MULTIPLY_ADD_FLOATS(0.001374508603475988f, v4, 0.008368955925107002f);
    float v6 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v5, v4, 0.04166965186595917f), v4,
        0.166665181517601f);
    float v7 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v6, v4, 0.49999988079071045f), v4, 1.0f);
    float v8 = float_from_bits(bits_of_float(v2));
    int v9 = v8 < 12582787.0f;
    uint32_t v10 = bits_of_float(blend_floats(v9, v8 + 149.0f, v8)) - bits_of_float(12582912.0f);
    uint32_t v11 = (uint32_t)((int32_t)v10 >> 1);
    float v12 = FUSED_MULTIPLY_ADD_FLOATS(v7, v4, 1.0f) * float_from_bits((v11 + UINT32_C(0x7f)) << 23);
    float v13 = v12 * float_from_bits(((v10 - v11) + UINT32_C(0x7f)) << 23);
    float v14 = blend_floats(v9, float_from_bits((uint32_t)(int32_t)rintf(blend_floats(v9, v13, 0.0f))), v13);
    return v14;
}

/* exp(x) - 1 as 2 (2^(k - 1) (1 + p) - 1 / 2), which does not overflow before the last step; error 0.81. */
REAL_INLINE float fast_exponential_minus_one(float x) {
    float v0 = blend_floats(x > 89.0f, 89.0f, x);
    float v1 = blend_floats(v0 < -18.0f, -18.0f, v0);
    float v2 = FUSED_MULTIPLY_ADD_FLOATS(v1 - 0.05889151617884636f, 1.4426950216293335f, 12582912.0f);
    float v3 = v2 - 12582912.0f;
    float v4 = FUSED_MULTIPLY_ADD_FLOATS(-v3, 0.693145751953125f, v1);
    float v5 = FUSED_MULTIPLY_ADD_FLOATS(-v3, 1.428606765330187e-06f, v4);
    float v6 = v5 * v5;
    float v7 = v5 * v5;
    float v8 = FUSED_MULTIPLY_ADD_FLOATS(0.0013919200282543898f, v7, 0.04166657477617264f);
    float v9 = FUSED_MULTIPLY_ADD_FLOATS(0.00020946668519172817f, v7, 0.008332020603120327f);
    float v10 = FUSED_MULTIPLY_ADD_FLOATS(v8, v5, FUSED_MULTIPLY_ADD_FLOATS(v9, v7, 0.16666670143604279f));
    float v11 = FUSED_MULTIPLY_ADD_FLOATS(v6 * v5, v10, FUSED_MULTIPLY_ADD_FLOATS(v6, 0.5f, -v3 *
        1.428606765330187e-06f));
    float v12 = float_from_bits(((bits_of_float(v2) - UINT32_C(0x1)) + UINT32_C(0x7f)) << 23);
    float v13 = v12 + -0.5f;
    float v14 = v12 * v4;
    float v15 = v13 + v14;
    float v16 = FUSED_MULTIPLY_ADD_FLOATS(v12, v11, ((v13 - v15) + v14) + ((v12 - v13) + -0.5f));
    float v17 = blend_floats(fabsf(x) < 2.9802322387695312e-08f, x, (v15 + v16) * 2.0f);
    return v17;
}

/* The hyperbolic tangent; error 0.91. */
REAL_INLINE float fast_tanh(float x) {
    float v0 = fabsf(x);
    float v1 = blend_floats(v0 > 10.0f, 10.0f, v0);
    float v2 = v1 * v1;
    float v3 = FUSED_MULTIPLY_ADD_FLOATS(-0.0003772155032493174f, v2, 0.002359371166676283f);
    float v4 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v3, v2, -0.008015559986233711f), v2,
        0.02152705192565918f);
    float v5 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v4, v2, -0.05389146879315376f), v2,
        0.13332495093345642f);
    float v6 = FUSED_MULTIPLY_ADD_FLOATS(v1, v2 * FUSED_MULTIPLY_ADD_FLOATS(v5, v2, -0.33333301544189453f), v1);
    float v7 = v1 * 2.0f;
    float v8 = FUSED_MULTIPLY_ADD_FLOATS(v7, 1.4426950216293335f, 12582912.0f);
    float v9 = v8 - 12582912.0f;
    float v10 = FUSED_MULTIPLY_ADD_FLOATS(-v9, 1.428606765330187e-06f, FUSED_MULTIPLY_ADD_FLOATS(-v9,
        0.693145751953125f, v7));
    float v11 = float_from_bits((bits_of_float(v8) + UINT32_C(0x7f)) << 23);
    float v12 = v10 * v10;
    float v13 = FUSED_MULTIPLY_ADD_FLOATS(0.008368955925107002f, v12, 0.166665181517601f);
    float v14 = FUSED_MULTIPLY_ADD_FLOATS(0.001374508603475988f, v12, 0.04166965186595917f);
    float v15 = FUSED_MULTIPLY_ADD_FLOATS(v13, v10, FUSED_MULTIPLY_ADD_FLOATS(v14, v12, 0.49999988079071045f));
    float v16 = FUSED_MULTIPLY_ADD_FLOATS(v11, FUSED_MULTIPLY_ADD_FLOATS(v10 * v10, v15, v10), v11 + 1.0f);
    return copysignf(blend_floats(v1 < 0.975f, v6, 1.0f - (2.0f / v16)), x);
}

/* The hyperbolic sine; error 0.83. */
REAL_INLINE float fast_sinh(float x) {
    float v0 = fabsf(x);
    float v1 = blend_floats(v0 > 89.5f, 89.5f, v0);
    float v2 = v1 * v1;
    float v3 = FUSED_MULTIPLY_ADD_FLOATS(2.7899839096789947e-06f, v2, 0.00019841665925923735f);
    float v4 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v3, v2, 0.008333315141499043f), v2,
        0.1666666716337204f);
    float v5 = FUSED_MULTIPLY_ADD_FLOATS(v1, 1.4426950216293335f, 12582912.0f);
    float v6 = v5 - 12582912.0f;
    float v7 = FUSED_MULTIPLY_ADD_FLOATS(-v6, 0.693145751953125f, v1);
    float v8 = FUSED_MULTIPLY_ADD_FLOATS(-v6, 1.428606765330187e-06f, v7);
    float v9 = v7 + 1.0f;
    float v10 = v8 * v8;
    float v11 = FUSED_MULTIPLY_ADD_FLOATS(0.008368955925107002f, v10, 0.166665181517601f);
    float v12 = FUSED_MULTIPLY_ADD_FLOATS(0.001374508603475988f, v10, 0.04166965186595917f);
    float v13 = FUSED_MULTIPLY_ADD_FLOATS(v11, v8, FUSED_MULTIPLY_ADD_FLOATS(v12, v10, 0.49999988079071045f));
    float v14 = FUSED_MULTIPLY_ADD_FLOATS(v8 * v8, v13, ((1.0f - v9) + v7) + (-v6 * 1.428606765330187e-06f));
    float v15 = v9 + v14;
    float v16 = float_from_bits(((bits_of_float(v5) - UINT32_C(0x2)) + UINT32_C(0x7f)) << 23);
    float v17 = v15 * v16;
    float v18 = blend_floats(v1 < 1.0f, FUSED_MULTIPLY_ADD_FLOATS(v1, v2 * v4, v1), (v17 + ((((v9 - v15) + v14) * v16)
        - (0.0625f / v17))) * 2.0f);
    return copysignf(v18, x);
}

/* The hyperbolic cosine; error 0.88. */
REAL_INLINE float fast_cosh(float x) {
    float v0 = fabsf(x);
    float v1 = blend_floats(v0 > 89.5f, 89.5f, v0);
    float v2 = FUSED_MULTIPLY_ADD_FLOATS(v1, 1.4426950216293335f, 12582912.0f);
    float v3 = v2 - 12582912.0f;
    float v4 = FUSED_MULTIPLY_ADD_FLOATS(-v3, 0.693145751953125f, v1);
    float v5 = FUSED_MULTIPLY_ADD_FLOATS(-v3, 1.428606765330187e-06f, v4);
    float v6 = v4 + 1.0f;
    float v7 = v5 * v5;
    float v8 = FUSED_MULTIPLY_ADD_FLOATS(0.008368955925107002f, v7, 0.166665181517601f);
    float v9 = FUSED_MULTIPLY_ADD_FLOATS(0.001374508603475988f, v7, 0.04166965186595917f);
    float v10 = FUSED_MULTIPLY_ADD_FLOATS(v8, v5, FUSED_MULTIPLY_ADD_FLOATS(v9, v7, 0.49999988079071045f));
    float v11 = FUSED_MULTIPLY_ADD_FLOATS(v5 * v5, v10, ((1.0f - v6) + v4) + (-v3 * 1.428606765330187e-06f));
    float v12 = v6 + v11;
    float v13 = float_from_bits(((bits_of_float(v2) - UINT32_C(0x2)) + UINT32_C(0x7f)) << 23);
    float v14 = v12 * v13;
    return (v14 + ((((v6 - v12) + v11) * v13) + (0.0625f / v14))) * 2.0f;
}

/* The natural logarithm; error 0.86. */
REAL_INLINE float fast_logarithm(float x) {
    int v0 = x < 1.1754943508222875e-38f;
    uint32_t v1 = bits_of_float(blend_floats(v0, x * 16777216.0f, x)) + UINT32_C(0x4afb0d);
    float v2 = float_from_bits((v1 >> 23) | UINT32_C(0x4b000000)) - 8388735.0f;
    float v3 = float_from_bits((v1 & UINT32_C(0x7fffff)) + UINT32_C(0x3f3504f3)) - 1.0f;
    float v4 = blend_floats(v0, v2 - 24.0f, v2);
    float v5 = v4 * 0.693145751953125f;
    float v6 = v5 + v3;
    float v7 = v3 * v3;
    float v8 = v3 * v3;
    float v9 = FUSED_MULTIPLY_ADD_FLOATS(-0.07353802770376205f, v8, -0.13203458487987518f);
    float v10 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v9, v8, -0.16621315479278564f), v8,
        -0.2500085234642029f);
    float v11 = FUSED_MULTIPLY_ADD_FLOATS(0.12615187466144562f, v8, 0.14228099584579468f);
    float v12 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v11, v8, 0.1999976634979248f), v8,
        0.3333335518836975f);
    float v13 = FUSED_MULTIPLY_ADD_FLOATS(v7 * v3, FUSED_MULTIPLY_ADD_FLOATS(v10, v3, v12),
        FUSED_MULTIPLY_ADD_FLOATS(v4, 1.428606765330187e-06f, (v5 - v6) + v3));
    float v14 = blend_floats(x == 0.0f, -INFINITY, v6 + FUSED_MULTIPLY_ADD_FLOATS(v7, -0.5f, v13));
    float v15 = blend_floats(x == INFINITY, INFINITY, blend_floats(x >= 0.0f, v14, NAN));
    return v15;
}

/* log(1 + x); error 0.87. With 1 + x = (1 + f) * 2^k, f = x * 2^-k + (2^-k - 1). */
REAL_INLINE float fast_log_plus_one(float x) {
    uint32_t v0 = ((bits_of_float(x + 1.0f) + UINT32_C(0x4afb0d)) >> 23) | UINT32_C(0x4b000000);
    float v1 = float_from_bits(v0) - 8388735.0f;
    float v2 = FUSED_MULTIPLY_ADD_FLOATS(float_from_bits(bits_of_float((1.0f - v1) + 12583039.0f) << 23), 0.5f,
        -1.0f);
    uint32_t v3 = bits_of_float(x) + ((bits_of_float(12582912.0f) - bits_of_float(v1 + 12582912.0f)) << 23);
    float v4 = float_from_bits(v3);
    float v5 = v2 + v4;
    float v6 = v5 - v2;
    float v7 = (v2 - (v5 - v6)) + (v4 - v6);
    float v8 = v1 * 0.693145751953125f;
    float v9 = v8 + v5;
    float v10 = FUSED_MULTIPLY_ADD_FLOATS(v1, 1.428606765330187e-06f, (v8 - v9) + v5) + FUSED_MULTIPLY_ADD_FLOATS(-v7,
        v5, v7);
    float v11 = v5 * v5;
    float v12 = v5 * v5;
    float v13 = FUSED_MULTIPLY_ADD_FLOATS(-0.07353802770376205f, v12, -0.13203458487987518f);
    float v14 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v13, v12, -0.16621315479278564f), v12,
        -0.2500085234642029f);
    float v15 = FUSED_MULTIPLY_ADD_FLOATS(0.12615187466144562f, v12, 0.14228099584579468f);
    float v16 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v15, v12, 0.1999976634979248f), v12,
        0.3333335518836975f);
    float v17 = FUSED_MULTIPLY_ADD_FLOATS(v11 * v5, FUSED_MULTIPLY_ADD_FLOATS(v14, v5, v16), v10);
    float v18 = blend_floats(x == -1.0f, -INFINITY, v9 + FUSED_MULTIPLY_ADD_FLOATS(v11, -0.5f, v17));
    float v19 = blend_floats(x == INFINITY, INFINITY, blend_floats(x >= -1.0f, v18, NAN));
    return blend_floats(x == 0.0f, x, v19);
}

/* x to the power of y; error 0.58. Special values are those of C99, annex F.9.4.4. */
REAL_INLINE float fast_power(float x, float y) {
    float v0 = fabsf(x);
    int v1 = v0 < 1.1754943508222875e-38f;
    uint32_t v2 = bits_of_float(blend_floats(v1, v0 * 16777216.0f, v0)) + UINT32_C(0x4afb0d);
    float v3 = float_from_bits((v2 >> 23) | UINT32_C(0x4b000000)) - 8388735.0f;
    float v4 = float_from_bits((v2 & UINT32_C(0x7fffff)) + UINT32_C(0x3f3504f3)) - 1.0f;
    float v5 = blend_floats(v0 == 0.0f, -INFINITY, blend_floats(v0 < INFINITY, blend_floats(v1, v3 - 24.0f, v3), v0));
    double v6 = (double)v4;
    double v7 = v6 * v6;
    double v8 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(-0.1414478821058739, v7, -0.14349039375280995), v7,
        -0.1802710257711494);
    double v9 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v8, v7, -0.24045433696411997), v7, -0.3606736553159396);
    double v10 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.07553790398013412, v7, 0.14495052999815844), v7,
        0.15878356832510718);
    double v11 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v10, v7, 0.20617283226751987), v7, 0.28853739437873954);
    double v12 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v11, v7, 0.4808983601762459), v7, 1.4426950408708794);
    double v13 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(v9, v7, -0.7213475209631551), v6, v12);
    double v14 = FUSED_MULTIPLY_ADD(v6, v13, (double)v5) * (double)y;
    double v15 = blend_doubles(v14 > 200.0, 200.0, v14);
    double v16 = blend_doubles(v15 < -200.0, -200.0, v15);
    double v17 = FUSED_MULTIPLY_ADD(v16, 1.0, 6755399441055744.0);
    double v18 = v16 - (v17 - 6755399441055744.0);
    double v19 = v18 * v18;
    double v20 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.0001545316294512069, v19, 0.009618082557277852), v19,
        0.24022650760568126);
    double v21 = FUSED_MULTIPLY_ADD(FUSED_MULTIPLY_ADD(0.0013390863364671234, v19, 0.05550357114219078), v19,
        0.6931471880262288);
    uint64_t v22 = bits_of_double(FUSED_MULTIPLY_ADD(v18, FUSED_MULTIPLY_ADD(v20, v18, v21), 1.0));
    float v23 = (float)double_from_bits(v22 + (bits_of_double(v17) << 52));
    float v24 = fabsf(y);
    int v25 = v24 < 8388608.0f;
    float v26 = blend_floats(v25, v24 + 8388608.0f, v24);
    int v27 = blend_floats(v25, v26 - 8388608.0f, v24) == v24;
    float v28 = blend_floats((v27 & (int)(bits_of_float(v26) & 1)) & (v24 < 16777216.0f), copysignf(v23, x), v23);
    int v29 = ((x == 1.0f) | (y == 0.0f)) | ((x == -1.0f) & (fabsf(y) == INFINITY));
    float v30 = blend_floats(v29, 1.0f, blend_floats(((x < 0.0f) & (x > -INFINITY)) & !v27, NAN, v28));
    return v30;
}

/* The error function; error 0.992. */
REAL_INLINE float fast_erf(float x) {
    float v0 = fabsf(x);
    float v1 = blend_floats(v0 > 4.0f, 4.0f, v0);
    float v2 = v1 * v1;
    float v3 = FUSED_MULTIPLY_ADD_FLOATS(7.842288323445246e-05f, v2, -0.0008006793214008212f);
    float v4 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v3, v2, 0.005187962669879198f), v2,
        -0.026853643357753754f);
    float v5 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v4, v2, 0.1128358244895935f), v2,
        -0.3761262595653534f);
    float v6 = FUSED_MULTIPLY_ADD_FLOATS(v1, FUSED_MULTIPLY_ADD_FLOATS(v5, v2, 0.12837916612625122f), v1);
    float v7 = FUSED_MULTIPLY_ADD_FLOATS(0.0001872797147370875f, v1, -0.0029562225099653006f);
    float v8 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v7, v1, 0.021871311590075493f), v1,
        -0.10317423194646835f);
    float v9 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v8, v1, -0.6380692720413208f), v1,
        -1.1271334886550903f);
    float v10 = FUSED_MULTIPLY_ADD_FLOATS(v9, v1, -0.0003308913728687912f);
    float v11 = FUSED_MULTIPLY_ADD_FLOATS(v10, 1.4426950216293335f, 12582912.0f);
    float v12 = v11 - 12582912.0f;
    float v13 = FUSED_MULTIPLY_ADD_FLOATS(-v12, 1.428606765330187e-06f, FUSED_MULTIPLY_ADD_FLOATS(-v12,
        0.693145751953125f, v10));
    float v14 = float_from_bits((bits_of_float(v11) + UINT32_C(0x7f)) << 23);
    float v15 = v13 * v13;
    float v16 = FUSED_MULTIPLY_ADD_FLOATS(0.008368955925107002f, v15, 0.166665181517601f);
    float v17 = FUSED_MULTIPLY_ADD_FLOATS(0.001374508603475988f, v15, 0.04166965186595917f);
    float v18 = FUSED_MULTIPLY_ADD_FLOATS(v16, v13, FUSED_MULTIPLY_ADD_FLOATS(v17, v15, 0.49999988079071045f));
    float v19 = FUSED_MULTIPLY_ADD_FLOATS(-v14, FUSED_MULTIPLY_ADD_FLOATS(v13 * v13, v18, v13), 1.0f - v14);
    return copysignf(blend_floats(v1 < 1.0f, v6, v19), x);
}

REAL_INLINE float fast_erfc(float x) {
    float v0 = x * x;
    float v1 = -x;
    float v2 = v1 + 1.0f;
    float v3 = FUSED_MULTIPLY_ADD_FLOATS(7.842288323445246e-05f, v0, -0.0008006793214008212f);
    float v4 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v3, v0, 0.005187962669879198f), v0,
        -0.026853643357753754f);
    float v5 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v4, v0, 0.1128358244895935f), v0,
        -0.3761262595653534f);
    float v6 = FUSED_MULTIPLY_ADD_FLOATS(-x, FUSED_MULTIPLY_ADD_FLOATS(v5, v0, 0.12837916612625122f), (1.0f - v2) +
        v1);
    float v7 = fabsf(x);
    float v8 = blend_floats(v7 > 10.1f, 10.1f, v7);
    float v9 = v8 * v8;
    float v10 = -v9;
    float v11 = FUSED_MULTIPLY_ADD_FLOATS(v10 - 0.05889151617884636f, 1.4426950216293335f, 12582912.0f);
    float v12 = v11 - 12582912.0f;
    float v13 = FUSED_MULTIPLY_ADD_FLOATS(-v12, 0.693145751953125f, v10);
    float v14 = (-v12 * 1.428606765330187e-06f) + -FUSED_MULTIPLY_ADD_FLOATS(v8, v8, -v9);
    float v15 = v13 + v14;
    float v16 = v15 * v15;
    float v17 = v13 + 1.0f;
    float v18 = v15 * v15;
    float v19 = FUSED_MULTIPLY_ADD_FLOATS(0.0013919200282543898f, v18, 0.04166657477617264f);
    float v20 = FUSED_MULTIPLY_ADD_FLOATS(0.00020946668519172817f, v18, 0.008332020603120327f);
    float v21 = FUSED_MULTIPLY_ADD_FLOATS(v19, v15, FUSED_MULTIPLY_ADD_FLOATS(v20, v18, 0.16666670143604279f));
    float v22 = FUSED_MULTIPLY_ADD_FLOATS(v16 * v15, v21, FUSED_MULTIPLY_ADD_FLOATS(v16, 0.5f, ((1.0f - v17) + v13) +
        v14));
    float v23 = (1.0f / (v8 + 1.5f)) - 0.265625f;
    float v24 = v23 * v23;
    float v25 = FUSED_MULTIPLY_ADD_FLOATS(16.49222755432129f, v24, -11.241355895996094f);
    float v26 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v25, v24, 5.289355278015137f), v24,
        -2.9830129146575928f);
    float v27 = FUSED_MULTIPLY_ADD_FLOATS(8.511116027832031f, v24, -1.2897177934646606f);
    float v28 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v27, v24, 0.026597263291478157f), v24,
        -1.4357744455337524f);
    float v29 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v26, v24, 0.21660779416561127f), v23,
        FUSED_MULTIPLY_ADD_FLOATS(v28, v24, 0.10911522805690765f));
    float v30 = FUSED_MULTIPLY_ADD_FLOATS(v17, v29, FUSED_MULTIPLY_ADD_FLOATS(v22, v29, v22));
    float v31 = v17 + v30;
    float v32 = v8 * 1.7724539041519165f;
    float v33 = v32 + 0.8125f;
    float v34 = 1.0f / v33;
    float v35 = v31 * v34;
    float v36 = ((v32 - v33) + 0.8125f) + FUSED_MULTIPLY_ADD_FLOATS(v8, 1.7724539041519165f, -v32);
    float v37 = FUSED_MULTIPLY_ADD_FLOATS(-v35, v33, v31) + FUSED_MULTIPLY_ADD_FLOATS(-v35, v36, (v17 - v31) + v30);
    float v38 = float_from_bits(bits_of_float(v11));
    int v39 = v38 < 12582787.0f;
    uint32_t v40 = bits_of_float(blend_floats(v39, v38 + 149.0f, v38)) - bits_of_float(12582912.0f);
    uint32_t v41 = (uint32_t)((int32_t)v40 >> 1);
    float v42 = FUSED_MULTIPLY_ADD_FLOATS(v37, v34, v35) * float_from_bits((v41 + UINT32_C(0x7f)) << 23);
    float v43 = v42 * float_from_bits(((v40 - v41) + UINT32_C(0x7f)) << 23);
    float v44 = float_from_bits((uint32_t)(int32_t)rintf(blend_floats(v39, v43, 0.0f)));
    float v45 = blend_floats(v39, v44, v43);
    float v46 = blend_floats(fabsf(x) < 0.7f, v2 + v6, blend_floats(x < 0.0f, 2.0f - v45, v45));
    return v46;
}

/* The inverse of the error function; error 0.8: x times a function of w = -log(1 - x^2), which is nearly linear in
   w up to 5, and in its root beyond. */
REAL_INLINE float fast_erf_inv(float x) {
    uint32_t v0 = bits_of_float(FUSED_MULTIPLY_ADD_FLOATS(-x, x, 1.0f)) + UINT32_C(0x4afb0d);
    float v1 = float_from_bits((v0 >> 23) | UINT32_C(0x4b000000)) - 8388735.0f;
    float v2 = float_from_bits((v0 & UINT32_C(0x7fffff)) + UINT32_C(0x3f3504f3)) - 1.0f;
    float v3 = v1 * 0.693145751953125f;
    float v4 = v3 + v2;
    float v5 = v2 * v2;
    float v6 = v2 * v2;
    float v7 = FUSED_MULTIPLY_ADD_FLOATS(-0.07353802770376205f, v6, -0.13203458487987518f);
    float v8 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v7, v6, -0.16621315479278564f), v6,
        -0.2500085234642029f);
    float v9 = FUSED_MULTIPLY_ADD_FLOATS(0.12615187466144562f, v6, 0.14228099584579468f);
    float v10 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v9, v6, 0.1999976634979248f), v6,
        0.3333335518836975f);
    float v11 = FUSED_MULTIPLY_ADD_FLOATS(v5 * v2, FUSED_MULTIPLY_ADD_FLOATS(v8, v2, v10),
        FUSED_MULTIPLY_ADD_FLOATS(v1, 1.428606765330187e-06f, (v3 - v4) + v2));
    float v12 = -v4;
    float v13 = -FUSED_MULTIPLY_ADD_FLOATS(v5, -0.5f, v11);
    float v14 = v12 + v13;
    float v15 = (v12 - v14) + v13;
    float v16 = v14 + -2.5f;
    float v17 = v16 - v14;
    float v18 = sqrtf(v14);
    float v19 = v18 - 3.25f;
    float v20 = FUSED_MULTIPLY_ADD_FLOATS(v18, -0.05469999834895134f, 0.33799999952316284f);
    int v21 = v14 < 5.0f;
    float v22 = blend_floats(v21, v16 * 0.25f, v19);
    float v23 = blend_floats(v21, (((v14 - (v16 - v17)) + (-2.5f - v17)) + v15) * 0.25f,
        (FUSED_MULTIPLY_ADD_FLOATS(-v18, v18, v14) + v15) * v20);
    float v24 = FUSED_MULTIPLY_ADD_FLOATS(-8.990612698767109e-09f, v16, 2.3100881207938073e-08f);
    float v25 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v24, v16, 4.689576087457681e-07f), v16,
        -3.4607990073709516e-06f);
    float v26 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v25, v16, -4.976296168024419e-06f), v16,
        0.00021833520440850407f);
    float v27 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v26, v16, -0.0012527196668088436f), v16,
        -0.004177370108664036f);
    float v28 = FUSED_MULTIPLY_ADD_FLOATS(0.00011824508692370728f, v19, -4.709811764769256e-05f);
    float v29 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v28, v19, -0.00041983884875662625f), v19,
        0.0009925783379003406f);
    float v30 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v29, v19, -0.0016557828057557344f), v19,
        0.0024826503358781338f);
    float v31 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v30, v19, -0.0037574535235762596f), v19,
        0.005371542647480965f);
    float v32 = blend_floats(v21, v16 * FUSED_MULTIPLY_ADD_FLOATS(v27, v16, -0.0033597240690141916f), v19 *
        FUSED_MULTIPLY_ADD_FLOATS(v31, v19, 0.005259294528514147f));
    float v33 = blend_floats(v21, 1.5014092922210693f, 3.083885431289673f);
    float v34 = v33 + v22;
    float v35 = blend_floats(v21, 5.8889721543664564e-08f, 1.792025443592138e-07f) + v23;
    float v36 = ((v33 - v34) + v22) + (v32 + v35);
    float v37 = v34 + v36;
    float v38 = fabsf(x);
    int v39 = v38 < 5.421010862427522e-20f;
    float v40 = blend_floats(v39, x * 1.8446744073709552e+19f, x);
    float v41 = v40 * v37;
    float v42 = FUSED_MULTIPLY_ADD_FLOATS(v40, (v34 - v37) + v36, FUSED_MULTIPLY_ADD_FLOATS(v40, v37, -v41));
    float v43 = v41 + v42;
    float v44 = blend_floats(v38 == 1.0f, INFINITY, blend_floats(v39, v43 * 5.421010862427522e-20f, v43));
    return blend_floats(v38 <= 1.0f, copysignf(v44, x), NAN);
}

/* The sine of a reduced x. */
REAL_INLINE float fast_sine(float x, ReducedAngle reduced) {
    float v0 = reduced.angle * reduced.angle;
    float v1 = v0 * 0.5f;
    float v2 = 1.0f - v1;
    float v3 = FUSED_MULTIPLY_ADD_FLOATS(2.746302470768569e-06f, v0, -0.00019844637427013367f);
    float v4 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v3, v0, 0.008333359844982624f), v0,
        -0.1666666716337204f);
    float v5 = reduced.angle + FUSED_MULTIPLY_ADD_FLOATS(reduced.angle * v0, v4, reduced.tail);
    float v6 = FUSED_MULTIPLY_ADD_FLOATS(-2.7762942522713274e-07f, v0, 2.4810226022964343e-05f);
    float v7 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v6, v0, -0.0013888949761167169f), v0,
        0.0416666679084301f);
    float v8 = FUSED_MULTIPLY_ADD_FLOATS(-reduced.angle, reduced.tail, (1.0f - v2) - v1);
    float v9 = blend_floats((int)(reduced.turns & 1), v2 + FUSED_MULTIPLY_ADD_FLOATS(v0 * v0, v7, v8), v5);
    uint32_t v10 = ((reduced.turns >> 1) << 31) ^ (bits_of_float(x) & UINT32_C(0x80000000));
    return blend_floats(x == 0.0f, x, float_from_bits(bits_of_float(v9) ^ v10));
}

/* The cosine of a reduced x. */
REAL_INLINE float fast_cosine(float x, ReducedAngle reduced) {
    float v0 = reduced.angle * reduced.angle;
    float v1 = v0 * 0.5f;
    float v2 = 1.0f - v1;
    float v3 = FUSED_MULTIPLY_ADD_FLOATS(2.746302470768569e-06f, v0, -0.00019844637427013367f);
    float v4 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v3, v0, 0.008333359844982624f), v0,
        -0.1666666716337204f);
    float v5 = reduced.angle + FUSED_MULTIPLY_ADD_FLOATS(reduced.angle * v0, v4, reduced.tail);
    float v6 = FUSED_MULTIPLY_ADD_FLOATS(-2.7762942522713274e-07f, v0, 2.4810226022964343e-05f);
    float v7 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v6, v0, -0.0013888949761167169f), v0,
        0.0416666679084301f);
    float v8 = FUSED_MULTIPLY_ADD_FLOATS(-reduced.angle, reduced.tail, (1.0f - v2) - v1);
    float v9 = blend_floats((int)(reduced.turns & 1), v5, v2 + FUSED_MULTIPLY_ADD_FLOATS(v0 * v0, v7, v8));
    float v10 = float_from_bits(bits_of_float(v9) ^ (((reduced.turns + UINT32_C(0x1)) >> 1) << 31));
    return v10;
}

/* The tangent of a reduced x. */
REAL_INLINE float fast_tangent(float x, ReducedAngle reduced) {
    float v0 = reduced.angle * reduced.angle;
    float v1 = reduced.angle * v0;
    float v2 = FUSED_MULTIPLY_ADD_FLOATS(reduced.angle, FUSED_MULTIPLY_ADD_FLOATS(reduced.angle, reduced.angle, -v0),
        FUSED_MULTIPLY_ADD_FLOATS(reduced.angle, v0, -v1));
    float v3 = FUSED_MULTIPLY_ADD_FLOATS(reduced.tail, v0 * FUSED_MULTIPLY_ADD_FLOATS(v0, 0.75f, 1.0f), reduced.tail);
    float v4 = FUSED_MULTIPLY_ADD_FLOATS(0.0031807501800358295f, v0, -0.00362855545245111f);
    float v5 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v4, v0, 0.0082626361399889f), v0,
        0.006505334284156561f);
    float v6 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v5, v0, 0.022544147446751595f), v0,
        0.05386320874094963f);
    float v7 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v6, v0, 0.13334116339683533f), v0,
        0.3333331346511841f);
    float v8 = FUSED_MULTIPLY_ADD_FLOATS(v1, v7, FUSED_MULTIPLY_ADD_FLOATS(v7, v2, v3));
    float v9 = reduced.angle + v8;
    float v10 = -1.0f / v9;
    float v11 = FUSED_MULTIPLY_ADD_FLOATS(v10, (reduced.angle - v9) + v8, FUSED_MULTIPLY_ADD_FLOATS(v10, v9, 1.0f));
    float v12 = blend_floats((int)(reduced.turns & 1), FUSED_MULTIPLY_ADD_FLOATS(v10, v11, v10), v9);
    float v13 = float_from_bits(bits_of_float(v12) ^ (bits_of_float(x) & UINT32_C(0x80000000)));
    return blend_floats(x == 0.0f, x, v13);
}

/* The angle whose sine is x; error 0.70. */
REAL_INLINE float fast_asin(float x) {
    float v0 = fabsf(x);
    int v1 = v0 > 0.5f;
    float v2 = (1.0f - v0) * 0.5f;
    float v3 = sqrtf(v2);
    float v4 = blend_floats(v1, v2, v0 * v0);
    float v5 = blend_floats(v1, v3, v0);
    float v6 = FUSED_MULTIPLY_ADD_FLOATS(-v3, v3, v2) / ((v3 * 2.0f) + 7.888609052210118e-31f);
    float v7 = FUSED_MULTIPLY_ADD_FLOATS(0.04210871458053589f, v4, 0.024211598560214043f);
    float v8 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v7, v4, 0.04546454921364784f), v4,
        0.0749533399939537f);
    float v9 = FUSED_MULTIPLY_ADD_FLOATS(v5 * v4, FUSED_MULTIPLY_ADD_FLOATS(v8, v4, 0.16666752099990845f),
        blend_floats(v1, v6, 0.0f));
    float v10 = v5 * -2.0f;
    float v11 = 1.570796251296997f + v10;
    float v12 = ((1.570796251296997f - v11) + v10) + (7.549790126404332e-08f + (v9 * -2.0f));
    return copysignf(blend_floats(v1, v11 + v12, v5 + v9), x);
}

/* The angle whose cosine is x; error 0.67. */
REAL_INLINE float fast_acos(float x) {
    float v0 = fabsf(x);
    int v1 = v0 > 0.5f;
    float v2 = (1.0f - v0) * 0.5f;
    float v3 = sqrtf(v2);
    float v4 = blend_floats(v1, v2, v0 * v0);
    float v5 = blend_floats(v1, v3, v0);
    float v6 = FUSED_MULTIPLY_ADD_FLOATS(-v3, v3, v2) / ((v3 * 2.0f) + 7.888609052210118e-31f);
    float v7 = FUSED_MULTIPLY_ADD_FLOATS(0.04210871458053589f, v4, 0.024211598560214043f);
    float v8 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v7, v4, 0.04546454921364784f), v4,
        0.0749533399939537f);
    float v9 = FUSED_MULTIPLY_ADD_FLOATS(v5 * v4, FUSED_MULTIPLY_ADD_FLOATS(v8, v4, 0.16666752099990845f),
        blend_floats(v1, v6, 0.0f));
    int v10 = x < 0.0f;
    float v11 = blend_floats(v1, blend_floats(v10, 3.141592502593994f, 0.0f), 1.570796251296997f);
    float v12 = blend_floats(v1, blend_floats(v10, 1.5099580252808664e-07f, 0.0f), 7.549790126404332e-08f);
    float v13 = blend_floats(v1, blend_floats(v10, -2.0f, 2.0f), blend_floats(v10, 1.0f, -1.0f));
    float v14 = v5 * v13;
    float v15 = v11 + v14;
    return v15 + (((v11 - v15) + v14) + (v12 + (v9 * v13)));
}

/* The angle whose tangent is x; error 0.92. */
REAL_INLINE float fast_atan(float x) {
    float v0 = fabsf(x);
    float v1 = blend_floats(v0 > 1.152921504606847e+18f, 1.152921504606847e+18f, v0);
    int v2 = v1 > 1.0f;
    float v3 = blend_floats(v2, 1.0f, v1);
    float v4 = blend_floats(v2, v1, 1.0f);
    float v5 = 1.0f / v4;
    float v6 = v3 * v5;
    float v7 = FUSED_MULTIPLY_ADD_FLOATS(-v6, v4, v3) * v5;
    float v8 = v6 * v6;
    float v9 = v6 * v8;
    float v10 = FUSED_MULTIPLY_ADD_FLOATS(v6, FUSED_MULTIPLY_ADD_FLOATS(v6, v6, -v8), FUSED_MULTIPLY_ADD_FLOATS(v6,
        v8, -v9));
    float v11 = FUSED_MULTIPLY_ADD_FLOATS(-0.001738973194733262f, v8, 0.010666740126907825f);
    float v12 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v11, v8, -0.030709004029631615f), v8,
        0.05747894197702408f);
    float v13 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v12, v8, -0.08374951034784317f), v8,
        0.10942219942808151f);
    float v14 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v13, v8, -0.1426229029893875f), v8,
        0.1999835968017578f);
    float v15 = FUSED_MULTIPLY_ADD_FLOATS(v14, v8, -0.33333292603492737f);
    float v16 = FUSED_MULTIPLY_ADD_FLOATS(v15, v10, FUSED_MULTIPLY_ADD_FLOATS(v8 * v7, -0.5f, v7));
    float v17 = blend_floats(v2, 1.570796251296997f, 0.0f);
    float v18 = blend_floats(v2, -1.0f, 1.0f);
    float v19 = v6 * v18;
    float v20 = v17 + v19;
    float v21 = ((v17 - v20) + v19) + (blend_floats(v2, 7.549790126404332e-08f, 0.0f) + (v16 * v18));
    return copysignf(v20 + FUSED_MULTIPLY_ADD_FLOATS(v9 * v18, v15, v21), x);
}

/* The angle of the point (x, y); error 0.91. Special values are those of C99, annex F.9.1.4. */
REAL_INLINE float fast_atan2(float y, float x) {
    float v0 = fabsf(y);
    float v1 = fabsf(x);
    int v2 = v0 > v1;
    int v3 = copysignf(1.0f, x) < 0.0f;
    float v4 = blend_floats(v2, v0, v1);
    float v5 = blend_floats(v2, v1, v0);
    int v6 = v4 == INFINITY;
    float v7 = blend_floats(v6 | (v4 == 0.0f), 1.0f, v4);
    float v8 = blend_floats(v7 > 1.2676506002282294e+30f, 5.421010862427522e-20f, blend_floats(v7 < 1099511627776.0f,
        1.8446744073709552e+19f, 1.0f));
    float v9 = blend_floats(v2, 1.570796251296997f, blend_floats(v3, 3.141592502593994f, 0.0f));
    float v10 = blend_floats(v2, 7.549790126404332e-08f, blend_floats(v3, 1.5099580252808664e-07f, 0.0f));
    float v11 = blend_floats(v2 ^ v3, -1.0f, 1.0f);
    float v12 = blend_floats(v6, blend_floats(v5 == INFINITY, 1.0f, v5 * 0.0f), v5) * v8;
    float v13 = v7 * v8;
    float v14 = 1.0f / v13;
    float v15 = v12 * v14;
    float v16 = FUSED_MULTIPLY_ADD_FLOATS(-v15, v13, v12) * v14;
    float v17 = v15 * v15;
    float v18 = v15 * v17;
    float v19 = FUSED_MULTIPLY_ADD_FLOATS(v15, FUSED_MULTIPLY_ADD_FLOATS(v15, v15, -v17),
        FUSED_MULTIPLY_ADD_FLOATS(v15, v17, -v18));
    float v20 = FUSED_MULTIPLY_ADD_FLOATS(-0.001738973194733262f, v17, 0.010666740126907825f);
    float v21 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v20, v17, -0.030709004029631615f), v17,
        0.05747894197702408f);
    float v22 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v21, v17, -0.08374951034784317f), v17,
        0.10942219942808151f);
    float v23 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v22, v17, -0.1426229029893875f), v17,
        0.1999835968017578f);
    float v24 = FUSED_MULTIPLY_ADD_FLOATS(v23, v17, -0.33333292603492737f);
    float v25 = FUSED_MULTIPLY_ADD_FLOATS(v24, v19, FUSED_MULTIPLY_ADD_FLOATS(v17 * v16, -0.5f, v16));
    float v26 = v15 * v11;
    float v27 = v9 + v26;
    float v28 = FUSED_MULTIPLY_ADD_FLOATS(v18 * v11, v24, ((v9 - v27) + v26) + (v10 + (v25 * v11)));
    return copysignf(v27 + v28, y);
}

/* The cubic root; error 0.51 ulps of f32. */
REAL_INLINE float fast_cbrt(float x) {
    float v0 = fabsf(x);
    int v1 = v0 < 1.1754943508222875e-38f;
    uint32_t v2 = bits_of_float(blend_floats(v1, v0 * 1.8014398509481984e+16f, v0));
    float v3 = float_from_bits((v2 & UINT32_C(0x7fffff)) + UINT32_C(0x3f800000));
    float v4 = float_from_bits((v2 >> 23) | UINT32_C(0x4b000000)) - 8388735.0f;
    float v5 = FUSED_MULTIPLY_ADD_FLOATS(v4, 0.3333333432674408f, 12582912.0f) - 12582912.0f;
    float v6 = v4 - (v5 * 3.0f);
    int v7 = v6 > 0.0f;
    int v8 = v6 < 0.0f;
    float v9 = v3 * v3;
    float v10 = FUSED_MULTIPLY_ADD_FLOATS(-0.016615789383649826f, v9, -0.5888549089431763f);
    float v11 = FUSED_MULTIPLY_ADD_FLOATS(0.1530354768037796f, v9, 1.2305855751037598f);
    float v12 = FUSED_MULTIPLY_ADD_FLOATS(FUSED_MULTIPLY_ADD_FLOATS(v10, v9, -1.5565117597579956f), v3,
        FUSED_MULTIPLY_ADD_FLOATS(v11, v9, 1.7783547639846802f));
    float v13 = blend_floats(v7, 0.7937005162239075f, blend_floats(v8, 1.2599210739135742f, 1.0f));
    float v14 = v12 * v13;
    float v15 = v3 * blend_floats(v7, 2.0f, blend_floats(v8, 0.5f, 1.0f));
    float v16 = v14 * v14;
    float v17 = v15 * v16;
    float v18 = v17 * v17;
    float v19 = FUSED_MULTIPLY_ADD_FLOATS(v18, v17, -v15) + (FUSED_MULTIPLY_ADD_FLOATS(v17, v17, -v18) * v17);
    float v20 = float_from_bits(bits_of_float(blend_floats(v1, v5 - 18.0f, v5) + 12583039.0f) << 23);
    float v21 = FUSED_MULTIPLY_ADD_FLOATS(v19 * v16, -0.3333333432674408f, v17) * v20;
    return blend_floats((v0 > 0.0f) & (v0 < INFINITY), copysignf(v21, x), x + x);
}

#endif
