/* erf and erfc of f64.

   Below 3/4, erf is a polynomial; from there on erfc is exp(-x^2) times a function that changes little, a polynomial in
   t = 4 / (4 + x). What roundings of x^2, of t and of the products leave is computed as well: errors of erf stay about
   one ulp, those of erfc below three, where it is small. Each step is rounded as written, multiply-adds once: results
   have the same bits on every processor and in every kind of vectors. */

#ifndef NIMBLEHLO_ERROR_FUNCTIONS_H
#define NIMBLEHLO_ERROR_FUNCTIONS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "error_function_coefficients.h"

/* Elements that lie apart are copied side by side so many at a time. */
enum { ERROR_FUNCTION_BLOCK = 256 };

#ifdef __GNUC__
#define ERROR_FUNCTION_INLINE static inline __attribute__((always_inline))
#define FUSED_MULTIPLY_ADD(a, b, c) __builtin_fma(a, b, c)
#else
#define ERROR_FUNCTION_INLINE static inline
#define FUSED_MULTIPLY_ADD(a, b, c) fma(a, b, c)
#endif

/* 2^k, for whole k from -1022 to 1023: what is added moves k to the last bits, and the exponent's bias with it. */
ERROR_FUNCTION_INLINE double power_of_two(double k) {
    double moved = k + (0x1.8p52 + 1023);
    int64_t bits;
    memcpy(&bits, &moved, sizeof bits);
    bits = (int64_t)((uint64_t)bits << 52);
    memcpy(&moved, &bits, sizeof moved);
    return moved;
}

/* One of two numbers, without a branch. */
ERROR_FUNCTION_INLINE double chosen(int is_first, double first, double second) {
    int64_t mask = -(int64_t)is_first, bits, others;
    memcpy(&bits, &first, sizeof bits);
    memcpy(&others, &second, sizeof others);
    bits = (bits & mask) | (others & ~mask);
    memcpy(&first, &bits, sizeof first);
    return first;
}

/* A step of Horner's rule for the place `at`; `sum` is what the steps before have come to. */
#define HORNER_STEP(coefficient) sum = FUSED_MULTIPLY_ADD(sum, at, coefficient);

/* erf(x), for |x| < 3/4. */
ERROR_FUNCTION_INLINE double small_erf(double x) {
    double at = x * x, sum = 0;
    ERF_TERMS(HORNER_STEP)
    return x + FUSED_MULTIPLY_ADD(x, ERF_SLOPE, x * FUSED_MULTIPLY_ADD(at, sum, ERF_SLOPE_REST));
}

/* erfc(x), for x >= 3/4. */
ERROR_FUNCTION_INLINE double large_erfc(double x) {
    /* Beyond, it is 0. */
    x = chosen(x > 28, 28, x);
    double below = x + 4, t = 4 / below;
    /* What is left of t, as a part of it. */
    double t_rest = (FUSED_MULTIPLY_ADD(-t, below, 4) - t * (x - (below - 4))) * 0.25;
    double at = (t - 0.5) + t * t_rest, sum = 0;
    ERFC_TERMS(HORNER_STEP)
    double rising = at * sum, scaled = ERFC_MIDDLE + rising;
    double scaled_rest = ((ERFC_MIDDLE - scaled) + rising) + ERFC_MIDDLE_REST;
    /* exp(-x^2) = 2^k (1 + grown). */
    double square = x * x, square_rest = FUSED_MULTIPLY_ADD(x, x, -square);
    double k = (0x1.8p52 - square * INVERSE_LOG_OF_2) - 0x1.8p52;
    double r = FUSED_MULTIPLY_ADD(-k, LOG_OF_2_REST, FUSED_MULTIPLY_ADD(-k, LOG_OF_2, -square) - square_rest);
    at = r, sum = 0;
    EXP_TERMS(HORNER_STEP)
    double grown = FUSED_MULTIPLY_ADD(r * r, sum, r);
    double product = scaled * t, rest = FUSED_MULTIPLY_ADD(scaled, t, -product);
    rest += FUSED_MULTIPLY_ADD(product, t_rest, scaled_rest * t);
    product += FUSED_MULTIPLY_ADD(product, grown, FUSED_MULTIPLY_ADD(rest, grown, rest));
    /* In two steps: 2^k alone may be no number. */
    double half = (k * 0.5 + 0x1.8p52) - 0x1.8p52;
    return product * power_of_two(half) * power_of_two(k - half);
}

ERROR_FUNCTION_INLINE double erf_of(double x) {
    double size = fabs(x);
    return copysign(chosen(size < 0.75, small_erf(size), 1 - large_erfc(size)), x);
}

ERROR_FUNCTION_INLINE double erfc_of(double x) {
    double size = fabs(x), tail = large_erfc(size);
    return chosen(size < 0.75, 1 - small_erf(x), chosen(x < 0, 2 - tail, tail));
}

/* Values side by side. */
typedef void (*ErrorFunction)(const double *from, double *to, intptr_t count);

#define ERROR_FUNCTION(name, code, function)                                                \
    code static void name(const double *from, double *to, intptr_t count) {                 \
        for (intptr_t place = 0; place < count; place++) to[place] = function(from[place]); \
    }

#define ERROR_FUNCTIONS(kind, code)          \
    ERROR_FUNCTION(erf_##kind, code, erf_of) \
    ERROR_FUNCTION(erfc_##kind, code, erfc_of)

ERROR_FUNCTIONS(plain, )
#if defined(__GNUC__) && defined(__x86_64__)
ERROR_FUNCTIONS(wide, __attribute__((target("avx512f,avx512dq,avx512vl,fma,prefer-vector-width=512"))))
ERROR_FUNCTIONS(fused, __attribute__((target("avx2,fma"))))
#endif

/* The function for this processor. */
static ErrorFunction error_function(int is_complement) {
#if defined(__GNUC__) && defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return is_complement ? erfc_wide : erf_wide;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return is_complement ? erfc_fused : erf_fused;
#endif
    return is_complement ? erfc_plain : erf_plain;
}

/* A loop of NumPy's form; `data` is the place of an ErrorFunction. */
static void error_function_loop(char **pointers, const intptr_t *count, const intptr_t *steps, void *data) {
    ErrorFunction function = *(ErrorFunction *)data;
    const char *from = pointers[0];
    char *to = pointers[1];
    double values[ERROR_FUNCTION_BLOCK];
    if (steps[0] == sizeof(double) && steps[1] == sizeof(double)) {
        function((const double *)from, (double *)to, *count);
        return;
    }
    for (intptr_t first = 0, here; first < *count; first += here) {
        here = *count - first < ERROR_FUNCTION_BLOCK ? *count - first : ERROR_FUNCTION_BLOCK;
        for (intptr_t place = 0; place < here; place++, from += steps[0]) memcpy(values + place, from, sizeof(double));
        function(values, values, here);
        for (intptr_t place = 0; place < here; place++, to += steps[1]) memcpy(to, values + place, sizeof(double));
    }
}

#undef HORNER_STEP

#endif
