/* What the functions of f64 and of complex<f64> share: instruction sets, and operations that C has no name for. */

#ifndef NIMBLEHLO_REAL_ARITHMETIC_H
#define NIMBLEHLO_REAL_ARITHMETIC_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "simd/processor_level.h"

#ifdef __GNUC__
#define REAL_INLINE static inline __attribute__((always_inline))
#define FUSED_MULTIPLY_ADD(a, b, c) __builtin_fma(a, b, c)
#define FUSED_MULTIPLY_ADD_FLOATS(a, b, c) __builtin_fmaf(a, b, c)
#else
#define REAL_INLINE static inline
#define FUSED_MULTIPLY_ADD(a, b, c) fma(a, b, c)
#define FUSED_MULTIPLY_ADD_FLOATS(a, b, c) fmaf(a, b, c)
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

/* The bits of a number as an integer, the number with some bits, and one of two numbers, selected without a branch. */
#define BITS_OF(type, integer)                                                                   \
    REAL_INLINE integer bits_of_##type(type number) {                                            \
        integer bits;                                                                            \
        memcpy(&bits, &number, sizeof bits);                                                     \
        return bits;                                                                             \
    }                                                                                            \
    REAL_INLINE type type##_from_bits(integer bits) {                                            \
        type number;                                                                             \
        memcpy(&number, &bits, sizeof number);                                                   \
        return number;                                                                           \
    }                                                                                            \
    REAL_INLINE type blend_##type##s(int is_first, type first, type second) {                    \
        integer mask = -(integer)is_first;                                                       \
        return type##_from_bits((bits_of_##type(first) & mask) | (bits_of_##type(second) & ~mask)); \
    }

BITS_OF(double, uint64_t)
BITS_OF(float, uint32_t)

typedef struct {
    double real, imaginary;
} ComplexNumber;

/* Copy items of `itemsize` bytes between strides. */
REAL_INLINE void copy_items(
    char *to, intptr_t to_stride, const char *from, intptr_t from_stride, intptr_t itemsize, intptr_t count) {
    if (to_stride == itemsize && from_stride == itemsize) memcpy(to, from, count * itemsize);
    else for (intptr_t i = 0; i < count; i++) memcpy(to + i * to_stride, from + i * from_stride, itemsize);
}

#endif
