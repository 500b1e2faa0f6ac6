/* What functions of f64 and of pairs of them are made of. */

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

/* Code for instructions that not every processor has: of 512 bits, and of 256 bits with fused multiply-add. */
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
    __builtin_cpu_init();
    int is_fused = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    int is_wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
    if (is_fused) return is_wide && __builtin_cpu_supports("avx512vl") ? WIDE_LEVEL : FUSED_LEVEL;
#endif
    return PLAIN_LEVEL;
}

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

/* Copy items of so many bytes, which lie some bytes apart here and there. */
REAL_INLINE void copy_items(
    char *to, intptr_t to_step, const char *from, intptr_t from_step, intptr_t item, intptr_t count) {
    if (to_step == item && from_step == item) memcpy(to, from, count * item);
    else for (intptr_t place = 0; place < count; place++) memcpy(to + place * to_step, from + place * from_step, item);
}

#endif
