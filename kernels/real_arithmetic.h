/* What the functions of f64 in `error_functions.h` and `trigonometric_functions.h` are made of. */

#ifndef NIMBLEHLO_REAL_ARITHMETIC_H
#define NIMBLEHLO_REAL_ARITHMETIC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "real_function_coefficients.h"

#ifdef __GNUC__
#define REAL_INLINE static inline __attribute__((always_inline))
#define FUSED_MULTIPLY_ADD(a, b, c) __builtin_fma(a, b, c)
#else
#define REAL_INLINE static inline
#define FUSED_MULTIPLY_ADD(a, b, c) fma(a, b, c)
#endif

/* What is added to a number to round it to a whole one, which its last bits are then. */
#define TO_WHOLE 0x1.8p52

/* A polynomial, by Horner's rule for the even powers and for the odd ones: half as many steps wait for each other. */
#define POLYNOMIAL(value, place, TERMS)                                           \
    double value;                                                                 \
    {                                                                             \
        double place_squared = (place) * (place), last_sum, sum_before, next_sum; \
        TERMS(FIRST_TERMS, NEXT_TERM)                                             \
        value = FUSED_MULTIPLY_ADD(sum_before, place, last_sum);                  \
    }
#define FIRST_TERMS(first, second) sum_before = first, last_sum = second;
#define NEXT_TERM(term) \
    next_sum = FUSED_MULTIPLY_ADD(sum_before, place_squared, term), sum_before = last_sum, last_sum = next_sum;

REAL_INLINE uint64_t bits_of(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

REAL_INLINE double number_of(uint64_t bits) {
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* 2^k, for whole k from -1022 to 1023: what is added moves k to the last bits, and the exponent's bias with it. */
REAL_INLINE double power_of_two(double k) { return number_of(bits_of(k + (TO_WHOLE + 1023)) << 52); }

/* One of two numbers, without a branch. */
REAL_INLINE double chosen(int is_first, double first, double second) {
    uint64_t mask = -(uint64_t)is_first;
    return number_of((bits_of(first) & mask) | (bits_of(second) & ~mask));
}

#endif
