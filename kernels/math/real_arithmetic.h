/* Arithmetic that the functions of f64 and of complex<f64> share. */

#ifndef NIMBLEHLO_REAL_ARITHMETIC_H
#define NIMBLEHLO_REAL_ARITHMETIC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "real_function_coefficients.h"
#include "simd/processor_level.h"

#ifdef __GNUC__
#define REAL_INLINE static inline __attribute__((always_inline))
#define FUSED_MULTIPLY_ADD(a, b, c) __builtin_fma(a, b, c)
#else
#define REAL_INLINE static inline
#define FUSED_MULTIPLY_ADD(a, b, c) fma(a, b, c)
#endif

/* Attributes of code for AVX-512, and for AVX2 with fused multiply-add. */
#if defined(__GNUC__) && defined(__x86_64__)
#define HAS_LEVELS 1
#define WIDE_CODE __attribute__((target("avx512f,avx512dq,avx512vl,fma,prefer-vector-width=512")))
#define FUSED_CODE __attribute__((target("avx2,fma")))
#else
#define HAS_LEVELS 0
#endif

enum { PLAIN_LEVEL, FUSED_LEVEL, WIDE_LEVEL };

/* The best level of this processor. */
static inline int best_level(void) {
#if HAS_LEVELS
    if (has_avx2(1)) return has_avx512() ? WIDE_LEVEL : FUSED_LEVEL;
#endif
    return PLAIN_LEVEL;
}

#define MIN_NORMAL 0x1p-1022

/* Adding this rounds a number to an integer, which is then in the last bits of the sum. */
#define ROUND_TO_INTEGER 0x1.8p52

/* A polynomial, by Horner's rule for even and odd powers separately, which halves the dependency chain. */
#define POLYNOMIAL(value, x, TERMS)                                   \
    double value;                                                     \
    {                                                                 \
        double x_squared = (x) * (x), last_sum, sum_before, next_sum; \
        TERMS(FIRST_TERMS, NEXT_TERM)                                 \
        value = FUSED_MULTIPLY_ADD(sum_before, x, last_sum);          \
    }
#define FIRST_TERMS(first, second) sum_before = first, last_sum = second;
#define NEXT_TERM(term) \
    next_sum = FUSED_MULTIPLY_ADD(sum_before, x_squared, term), sum_before = last_sum, last_sum = next_sum;

REAL_INLINE uint64_t bits_of(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

REAL_INLINE double double_from_bits(uint64_t bits) {
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* 2^k, for integers k from -1022 to 1023: the addition moves k and the exponent's bias to the last bits. */
REAL_INLINE double power_of_two(double k) { return double_from_bits(bits_of(k + (ROUND_TO_INTEGER + 1023)) << 52); }

/* Select one of two numbers without a branch. */
REAL_INLINE double blend(int is_first, double first, double second) {
    uint64_t mask = -(uint64_t)is_first;
    return double_from_bits((bits_of(first) & mask) | (bits_of(second) & ~mask));
}

/* The function that replaces each of some numbers by the value of a function. */
#define OF_ALL(name)                                                           \
    REAL_INLINE void name##_of_all(double *values, intptr_t count) {           \
        for (intptr_t i = 0; i < count; i++) values[i] = name##_of(values[i]); \
    }

/* A double-double: the unevaluated sum high + low, where low is small. It has about twice the digits of a double. */
typedef struct { double high, low; } DoubleDouble;

typedef struct {
    double real, imaginary;
} ComplexNumber;

/* first + second, without an error. */
REAL_INLINE DoubleDouble exact_sum(double first, double second) {
    double sum = first + second, second_part = sum - first;
    DoubleDouble result = {sum, (first - (sum - second_part)) + (second - second_part)};
    return result;
}

/* The same for |first| >= |second|, or first = 0. */
REAL_INLINE DoubleDouble ordered_sum(double first, double second) {
    double sum = first + second;
    DoubleDouble result = {sum, (first - sum) + second};
    return result;
}

REAL_INLINE DoubleDouble exact_square(double x) {
    double square = x * x;
    DoubleDouble result = {square, FUSED_MULTIPLY_ADD(x, x, -square)};
    return result;
}

REAL_INLINE DoubleDouble double_double_product(DoubleDouble first, DoubleDouble second) {
    double product = first.high * second.high, error = FUSED_MULTIPLY_ADD(first.high, second.high, -product);
    DoubleDouble result = {product, error + FUSED_MULTIPLY_ADD(first.high, second.low, first.low * second.high)};
    return result;
}

REAL_INLINE DoubleDouble double_double_sum(DoubleDouble first, DoubleDouble second) {
    DoubleDouble result = exact_sum(first.high, second.high);
    return ordered_sum(result.high, result.low + (first.low + second.low));
}

/* dividend / divisor. */
REAL_INLINE DoubleDouble quotient(DoubleDouble dividend, DoubleDouble divisor) {
    double high = dividend.high / divisor.high;
    double rest = FUSED_MULTIPLY_ADD(-high, divisor.high, dividend.high);
    DoubleDouble result = {high, (rest + (dividend.low - high * divisor.low)) / divisor.high};
    return result;
}

/* The square root of a double-double; 0 if it is 0. */
REAL_INLINE DoubleDouble square_root(DoubleDouble square) {
    double high = sqrt(square.high), rest = FUSED_MULTIPLY_ADD(-high, high, square.high) + square.low;
    DoubleDouble result = {high, blend(high > 0, rest / (2 * high), 0)};
    return result;
}

/* Copy items of `itemsize` bytes between strides. */
REAL_INLINE void copy_items(
    char *to, intptr_t to_stride, const char *from, intptr_t from_stride, intptr_t itemsize, intptr_t count) {
    if (to_stride == itemsize && from_stride == itemsize) memcpy(to, from, count * itemsize);
    else for (intptr_t i = 0; i < count; i++) memcpy(to + i * to_stride, from + i * from_stride, itemsize);
}

#endif
