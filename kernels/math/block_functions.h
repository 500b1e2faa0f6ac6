/* Functions of blocks of f64, and of f32, which are computed in f64 and rounded; fast ones are computed in f32.

   Loops are free of branches, so that compilers make them loops of vectors; where all numbers of a block allow it, they
   take a shorter function. Values do not depend on the numbers beside them. */

#ifndef NIMBLEHLO_BLOCK_FUNCTIONS_H
#define NIMBLEHLO_BLOCK_FUNCTIONS_H

#include "elementary_functions.h"
#include "large_angles.h"

/* Values of erf_inv that are computed together. */
enum { ERF_INV_BLOCK = 32 };

/* Whether the magnitudes of all of some numbers are below a limit. */
#define ALL_BELOW(type, magnitude)                                                          \
    REAL_INLINE int all_##type##s_below(const type *values, intptr_t count, type limit) {   \
        int any_is_out = 0;                                                                 \
        for (intptr_t i = 0; i < count; i++) any_is_out |= !(magnitude(values[i]) < limit); \
        return !any_is_out;                                                                 \
    }

ALL_BELOW(double, fabs)
ALL_BELOW(float, fabsf)

/* The function that replaces each of some numbers by the value of a function. */
#define OF_ALL(name)                                                           \
    REAL_INLINE void name##_of_all(double *values, intptr_t count) {           \
        for (intptr_t i = 0; i < count; i++) values[i] = name##_of(values[i]); \
    }

OF_ALL(tanh)
OF_ALL(exponential_minus_one)
OF_ALL(sinh)
OF_ALL(cosh)
OF_ALL(logarithm)
OF_ALL(log_plus_one)
OF_ALL(asinh)
OF_ALL(acosh)
OF_ALL(atanh)
OF_ALL(erf)
OF_ALL(erfc)
OF_ALL(cbrt)
OF_ALL(asin)
OF_ALL(acos)
OF_ALL(atan)

/* The same with a function of two numbers. */
#define OF_ALL_PAIRS(name)                                                                 \
    REAL_INLINE void name##_of_all(double *values, const double *others, intptr_t count) { \
        for (intptr_t i = 0; i < count; i++) values[i] = name##_of(values[i], others[i]);  \
    }

OF_ALL_PAIRS(power)
OF_ALL_PAIRS(atan2)

/* The same where `in_range` is the function for small magnitudes. */
#define OF_ALL_EXPONENTS(name, in_range)                                           \
    REAL_INLINE void name##_of_all(double *values, intptr_t count) {               \
        if (all_doubles_below(values, count, NORMAL_EXPONENTS))                    \
            for (intptr_t i = 0; i < count; i++) values[i] = in_range(values[i]);  \
        else                                                                       \
            for (intptr_t i = 0; i < count; i++) values[i] = name##_of(values[i]); \
    }

REAL_INLINE double logistic_in_range(double x) { return 1 / (1 + exponential_in_range(-x)); }

OF_ALL_EXPONENTS(exponential, exponential_in_range)
OF_ALL_EXPONENTS(logistic, logistic_in_range)

/* The same with a function of reduced angles. */
#define OF_ALL_ANGLES(name)                                                                              \
    REAL_INLINE void name##_of_all(double *values, intptr_t count) {                                     \
        if (all_doubles_below(values, count, MAX_REDUCED))                                               \
            for (intptr_t i = 0; i < count; i++)                                                         \
                values[i] = name##_of_reduced(values[i], reduce_by_half_pi(values[i]));                  \
        else                                                                                             \
            for (intptr_t i = 0; i < count; i++) {                                                       \
                double x = values[i];                                                                    \
                values[i] = fabs(x) < INFINITY ? name##_of_reduced(x, reduce_any_by_half_pi(x)) : x - x; \
            }                                                                                            \
    }

OF_ALL_ANGLES(sine)
OF_ALL_ANGLES(cosine)
OF_ALL_ANGLES(tangent)

REAL_INLINE void erf_inv_of_block(double *values, intptr_t count) {
    double w[ERF_INV_BLOCK];
    int all_are_central = 1;
    for (intptr_t i = 0; i < count; i++) {
        double x = values[i], inside = blend_doubles(fabs(x) < 1, x, 0);
        w[i] = minus_log(FUSED_MULTIPLY_ADD(-inside, inside, 1));
        all_are_central &= (w[i] < ERF_INV_NEAR_END) & (fabs(x) < 1);
    }
    if (all_are_central)
        for (intptr_t i = 0; i < count; i++) values[i] = erf_inv_center(values[i], w[i]);
    else
        for (intptr_t i = 0; i < count; i++) values[i] = erf_inv_of(values[i], w[i]);
}

REAL_INLINE void erf_inv_of_all(double *values, intptr_t count) {
    for (; count >= ERF_INV_BLOCK; count -= ERF_INV_BLOCK, values += ERF_INV_BLOCK)
        erf_inv_of_block(values, ERF_INV_BLOCK);
    erf_inv_of_block(values, count);
}

/* The function that writes the rounded values of a function for some numbers of f32. */
#define OF_SINGLES(name)                                                               \
    REAL_INLINE void name##_of_singles(float *to, const float *from, intptr_t count) { \
        for (intptr_t i = 0; i < count; i++) to[i] = (float)single_##name(from[i]);    \
    }

OF_SINGLES(tanh)
OF_SINGLES(erf)
OF_SINGLES(erfc)

/* The same where `in_range` is the function for small magnitudes. */
#define OF_SINGLE_EXPONENTS(name, in_range)                                             \
    REAL_INLINE void name##_of_singles(float *to, const float *from, intptr_t count) {  \
        if (all_floats_below(from, count, MAX_SINGLE_EXP))                              \
            for (intptr_t i = 0; i < count; i++) to[i] = (float)in_range(from[i]);      \
        else                                                                            \
            for (intptr_t i = 0; i < count; i++) to[i] = (float)single_##name(from[i]); \
    }

REAL_INLINE double single_logistic_in_range(double x) { return 1 / (1 + single_exp_without_table(-x)); }

OF_SINGLE_EXPONENTS(exponential, single_exp_without_table)
OF_SINGLE_EXPONENTS(logistic, single_logistic_in_range)

/* The same of a function in the arithmetic of f32. */
#define OF_FLOATS(name)                                                                \
    REAL_INLINE void name##_of_singles(float *to, const float *from, intptr_t count) { \
        for (intptr_t i = 0; i < count; i++) to[i] = name(from[i]);                    \
    }

OF_FLOATS(fast_erf)
OF_FLOATS(fast_erfc)
OF_FLOATS(fast_erf_inv)
OF_FLOATS(fast_exponential)
OF_FLOATS(fast_exponential_minus_one)
OF_FLOATS(fast_logarithm)
OF_FLOATS(fast_log_plus_one)
OF_FLOATS(fast_tanh)
OF_FLOATS(fast_sinh)
OF_FLOATS(fast_cosh)
OF_FLOATS(fast_asin)
OF_FLOATS(fast_acos)
OF_FLOATS(fast_atan)
OF_FLOATS(fast_cbrt)

/* The same of a function of reduced angles. */
#define OF_FLOAT_ANGLES(name)                                                                            \
    REAL_INLINE void name##_of_singles(float *to, const float *from, intptr_t count) {                   \
        for (intptr_t i = 0; i < count; i++) to[i] = name(from[i], fast_reduced(from[i]));               \
    }

OF_FLOAT_ANGLES(fast_sine)
OF_FLOAT_ANGLES(fast_cosine)
OF_FLOAT_ANGLES(fast_tangent)

/* The same of a function of two numbers, which replaces the first. */
#define OF_FLOAT_PAIRS(name)                                                                        \
    REAL_INLINE void name##_of_singles(float *values, const float *others, intptr_t count) {        \
        for (intptr_t i = 0; i < count; i++) values[i] = name(values[i], others[i]);                \
    }

OF_FLOAT_PAIRS(fast_power)
OF_FLOAT_PAIRS(fast_atan2)

#endif
