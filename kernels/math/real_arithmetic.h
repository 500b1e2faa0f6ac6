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

/* Select one of two numbers without a branch. */
REAL_INLINE double blend(int is_first, double first, double second) {
    uint64_t mask = -(uint64_t)is_first;
    return double_from_bits((bits_of(first) & mask) | (bits_of(second) & ~mask));
}

REAL_INLINE uint32_t bits_of_float(float number) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

REAL_INLINE float float_from_bits(uint32_t bits) {
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* `blend` of numbers of f32. */
REAL_INLINE float blend_floats(int is_first, float first, float second) {
    uint32_t mask = -(uint32_t)is_first;
    return float_from_bits((bits_of_float(first) & mask) | (bits_of_float(second) & ~mask));
}

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
