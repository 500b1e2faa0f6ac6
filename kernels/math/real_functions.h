/* Ufunc inner loops of functions of f64, and of f32, which are computed in f64 and rounded, for each instruction
   set. */

#ifndef NIMBLEHLO_REAL_FUNCTIONS_H
#define NIMBLEHLO_REAL_FUNCTIONS_H

#include "angle_functions.h"
#include "error_functions.h"
#include "exponential_functions.h"
#include "hyperbolic_functions.h"
#include "logarithm_functions.h"
#include "root_functions.h"
#include "single_functions.h"
#include "trigonometric_functions.h"

/* Elements that are computed at a time, in the L1 cache. */
enum { REAL_FUNCTION_BLOCK = 256, REAL_FUNCTION_COUNT = 21 };

/* NumPy's signature of an inner loop. */
typedef void (*RealLoop)(char **pointers, const intptr_t *count, const intptr_t *strides, void *data);
typedef struct { RealLoop of_f32, of_f64; } RealFunction;

#define REAL_COPIES(type)                                                                             \
    REAL_INLINE void read_##type(double *values, const char *from, intptr_t stride, intptr_t count) { \
        if (stride == sizeof(type))                                                                   \
            for (intptr_t i = 0; i < count; i++) values[i] = ((const type *)from)[i];                 \
        else                                                                                          \
            for (intptr_t i = 0; i < count; i++, from += stride) values[i] = *(const type *)from;     \
    }                                                                                                 \
    REAL_INLINE void write_##type(char *to, intptr_t stride, const double *values, intptr_t count) {  \
        if (stride == sizeof(type))                                                                   \
            for (intptr_t i = 0; i < count; i++) ((type *)to)[i] = (type)values[i];                   \
        else                                                                                          \
            for (intptr_t i = 0; i < count; i++, to += stride) *(type *)to = (type)values[i];         \
    }

REAL_COPIES(float)
REAL_COPIES(double)

#define REAL_LOOP(name, level, code, type)                                                             \
    code static void name##_##level##_##type(                                                          \
        char **pointers, const intptr_t *count, const intptr_t *strides, void *data) {                 \
        double values[REAL_FUNCTION_BLOCK];                                                            \
        (void)data;                                                                                    \
        for (intptr_t first = 0, block_count; first < *count; first += block_count) {                  \
            block_count = *count - first < REAL_FUNCTION_BLOCK ? *count - first : REAL_FUNCTION_BLOCK; \
            read_##type(values, pointers[0] + first * strides[0], strides[0], block_count);            \
            name##_of_all(values, block_count);                                                        \
            write_##type(pointers[1] + first * strides[1], strides[1], values, block_count);           \
        }                                                                                              \
    }

/* The loop of a function of `single_functions.h`. */
#define SINGLE_LOOP(name, level, code)                                                                 \
    code static void name##_##level##_float(                                                           \
        char **pointers, const intptr_t *count, const intptr_t *strides, void *data) {                 \
        const intptr_t itemsize = sizeof(float);                                                       \
        float values[REAL_FUNCTION_BLOCK];                                                             \
        (void)data;                                                                                    \
        for (intptr_t first = 0, block_count; first < *count; first += block_count) {                  \
            char *from = pointers[0] + first * strides[0], *to = pointers[1] + first * strides[1];     \
            block_count = *count - first < REAL_FUNCTION_BLOCK ? *count - first : REAL_FUNCTION_BLOCK; \
            if (strides[0] == itemsize && strides[1] == itemsize) {                                    \
                name##_of_singles((float *)to, (const float *)from, block_count);                      \
                continue;                                                                              \
            }                                                                                          \
            copy_items((char *)values, itemsize, from, strides[0], itemsize, block_count);             \
            name##_of_singles(values, values, block_count);                                            \
            copy_items(to, strides[1], (const char *)values, itemsize, itemsize, block_count);         \
        }                                                                                              \
    }

#define REAL_LOOPS(name, level, code) REAL_LOOP(name, level, code, float) REAL_LOOP(name, level, code, double)
#define SINGLE_LOOPS(name, level, code) SINGLE_LOOP(name, level, code) REAL_LOOP(name, level, code, double)
#define REAL_FUNCTION(name, level) { name##_##level##_float, name##_##level##_double }

#define REAL_FUNCTIONS(level, code)                                                                  \
    SINGLE_LOOPS(erf, level, code)                                                                   \
    SINGLE_LOOPS(erfc, level, code)                                                                  \
    REAL_LOOPS(erf_inv, level, code)                                                                 \
    REAL_LOOPS(sine, level, code)                                                                    \
    REAL_LOOPS(cosine, level, code)                                                                  \
    SINGLE_LOOPS(exponential, level, code)                                                           \
    SINGLE_LOOPS(logistic, level, code)                                                              \
    SINGLE_LOOPS(tanh, level, code)                                                                  \
    REAL_LOOPS(cbrt, level, code)                                                                    \
    REAL_LOOPS(logarithm, level, code)                                                               \
    REAL_LOOPS(log_plus_one, level, code)                                                            \
    REAL_LOOPS(exponential_minus_one, level, code)                                                   \
    REAL_LOOPS(tangent, level, code)                                                                 \
    REAL_LOOPS(sinh, level, code)                                                                    \
    REAL_LOOPS(cosh, level, code)                                                                    \
    REAL_LOOPS(asin, level, code)                                                                    \
    REAL_LOOPS(acos, level, code)                                                                    \
    REAL_LOOPS(atan, level, code)                                                                    \
    REAL_LOOPS(asinh, level, code)                                                                   \
    REAL_LOOPS(acosh, level, code)                                                                   \
    REAL_LOOPS(atanh, level, code)                                                                   \
    static const RealFunction level##_functions[REAL_FUNCTION_COUNT] = {                             \
        REAL_FUNCTION(erf, level), REAL_FUNCTION(erfc, level), REAL_FUNCTION(erf_inv, level),        \
        REAL_FUNCTION(sine, level), REAL_FUNCTION(cosine, level), REAL_FUNCTION(exponential, level), \
        REAL_FUNCTION(logistic, level), REAL_FUNCTION(tanh, level), REAL_FUNCTION(cbrt, level),      \
        REAL_FUNCTION(logarithm, level), REAL_FUNCTION(log_plus_one, level), REAL_FUNCTION(exponential_minus_one, level),\
        REAL_FUNCTION(tangent, level), REAL_FUNCTION(sinh, level), REAL_FUNCTION(cosh, level),       \
        REAL_FUNCTION(asin, level), REAL_FUNCTION(acos, level), REAL_FUNCTION(atan, level),          \
        REAL_FUNCTION(asinh, level), REAL_FUNCTION(acosh, level), REAL_FUNCTION(atanh, level),       \
    };

REAL_FUNCTIONS(plain, )
#if HAS_LEVELS
REAL_FUNCTIONS(fused, FUSED_CODE)
REAL_FUNCTIONS(wide, WIDE_CODE)
#endif

/* The functions for this processor, in the order above. */
static const RealFunction *real_functions(void) {
    switch (best_level()) {
#if HAS_LEVELS
    case WIDE_LEVEL: return wide_functions;
    case FUSED_LEVEL: return fused_functions;
#endif
    default: return plain_functions;
    }
}

#endif
