/* Ufunc inner loops of functions of f64, and of f32, which are computed in f64 and rounded, or those called fast in
   f32, for each instruction set; and the functions of f64 on a vector in a register, for generated code. */

#ifndef NIMBLEHLO_REAL_FUNCTIONS_H
#define NIMBLEHLO_REAL_FUNCTIONS_H

#include "block_functions.h"

/* Each function: the kind of its loops, and its name. */
#define EACH_REAL_FUNCTION(DO, level, code)                                                                 \
    DO(SINGLE, erf, level, code) DO(SINGLE, erfc, level, code) DO(REAL, erf_inv, level, code)               \
    DO(REAL, sine, level, code) DO(REAL, cosine, level, code) DO(SINGLE, exponential, level, code)          \
    DO(SINGLE, logistic, level, code) DO(SINGLE, tanh, level, code) DO(REAL, cbrt, level, code)             \
    DO(REAL, logarithm, level, code) DO(REAL, log_plus_one, level, code)                                    \
    DO(REAL, exponential_minus_one, level, code) DO(REAL, tangent, level, code) DO(REAL, sinh, level, code) \
    DO(REAL, cosh, level, code) DO(REAL, asin, level, code) DO(REAL, acos, level, code)                     \
    DO(REAL, atan, level, code) DO(REAL, asinh, level, code) DO(REAL, acosh, level, code)                   \
    DO(REAL, atanh, level, code) DO(BINARY, power, level, code) DO(BINARY, atan2, level, code)              \
    DO(FAST, fast_erf, level, code) DO(FAST, fast_erfc, level, code)                                        \
    DO(FAST, fast_exponential, level, code) DO(FAST, fast_exponential_minus_one, level, code)               \
    DO(FAST, fast_logarithm, level, code)                                                                   \
    DO(FAST, fast_log_plus_one, level, code) DO(FAST, fast_tanh, level, code)                               \
    DO(FAST, fast_sine, level, code) DO(FAST, fast_cosine, level, code)                                     \
    DO(FAST, fast_tangent, level, code) DO(FAST, fast_sinh, level, code) DO(FAST, fast_cosh, level, code)   \
    DO(FAST, fast_asin, level, code) DO(FAST, fast_acos, level, code) DO(FAST, fast_atan, level, code)      \
    DO(FAST, fast_cbrt, level, code) DO(FAST, fast_erf_inv, level, code)                                    \
    DO(FAST_BINARY, fast_power, level, code) DO(FAST_BINARY, fast_atan2, level, code)

/* The number of each function in tables. */
#define NUMBER_OF(kind, name, level, code) REAL_##name,
enum { EACH_REAL_FUNCTION(NUMBER_OF, , ) REAL_FUNCTION_COUNT };

/* Elements that are computed at a time, in the L1 cache. */
enum { REAL_FUNCTION_BLOCK = 256, VECTOR_WIDTHS = 4 };

/* NumPy's signature of an inner loop. */
typedef void (*RealLoop)(char **pointers, const intptr_t *count, const intptr_t *strides, void *data);

/* `of_f64` is NULL for a function of f32 alone. `of_lanes[n]` is the function from vectors of 2^n f64 to one, as the
   platform passes vectors, or NULL. */
typedef struct {
    RealLoop of_f32, of_f64;
    void *of_lanes[VECTOR_WIDTHS];
} RealFunction;

typedef double LanesOf1;
#if HAS_LEVELS
typedef double LanesOf2 __attribute__((vector_size(16)));
typedef double LanesOf4 __attribute__((vector_size(32)));
typedef double LanesOf8 __attribute__((vector_size(64)));
#endif

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

#define BINARY_LOOP(name, level, code, type)                                                           \
    code static void name##_##level##_##type(                                                          \
        char **pointers, const intptr_t *count, const intptr_t *strides, void *data) {                 \
        double values[REAL_FUNCTION_BLOCK], others[REAL_FUNCTION_BLOCK];                               \
        (void)data;                                                                                    \
        for (intptr_t first = 0, block_count; first < *count; first += block_count) {                  \
            block_count = *count - first < REAL_FUNCTION_BLOCK ? *count - first : REAL_FUNCTION_BLOCK; \
            read_##type(values, pointers[0] + first * strides[0], strides[0], block_count);            \
            read_##type(others, pointers[1] + first * strides[1], strides[1], block_count);            \
            name##_of_all(values, others, block_count);                                                \
            write_##type(pointers[2] + first * strides[2], strides[2], values, block_count);           \
        }                                                                                              \
    }

/* The loop of a function that has an algorithm of its own for f32. */
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

/* The loop of a function of two numbers of f32. */
#define SINGLE_BINARY_LOOP(name, level, code)                                                                       \
    code static void name##_##level##_float(                                                                        \
        char **pointers, const intptr_t *count, const intptr_t *strides, void *data) {                              \
        const intptr_t itemsize = sizeof(float);                                                                    \
        float values[REAL_FUNCTION_BLOCK], others[REAL_FUNCTION_BLOCK];                                             \
        (void)data;                                                                                                 \
        for (intptr_t first = 0, block_count; first < *count; first += block_count) {                               \
            const char *lhs = pointers[0] + first * strides[0], *rhs = pointers[1] + first * strides[1];            \
            block_count = *count - first < REAL_FUNCTION_BLOCK ? *count - first : REAL_FUNCTION_BLOCK;              \
            copy_items((char *)values, itemsize, lhs, strides[0], itemsize, block_count);                           \
            copy_items((char *)others, itemsize, rhs, strides[1], itemsize, block_count);                           \
            name##_of_singles(values, others, block_count);                                                         \
            copy_items(pointers[2] + first * strides[2], strides[2], (char *)values, itemsize, itemsize, block_count); \
        }                                                                                                           \
    }

/* The function of some lanes of a register. */
#define UNARY_LANES(name, level, code, lanes)                                  \
    code static LanesOf##lanes name##_##level##_of_##lanes(LanesOf##lanes x) { \
        double values[lanes];                                                  \
        memcpy(values, &x, sizeof x);                                          \
        name##_of_all(values, lanes);                                          \
        memcpy(&x, values, sizeof x);                                          \
        return x;                                                              \
    }

#define BINARY_LANES(name, level, code, lanes)                                                   \
    code static LanesOf##lanes name##_##level##_of_##lanes(LanesOf##lanes x, LanesOf##lanes y) { \
        double values[lanes], others[lanes];                                                     \
        memcpy(values, &x, sizeof x), memcpy(others, &y, sizeof y);                              \
        name##_of_all(values, others, lanes);                                                    \
        memcpy(&x, values, sizeof x);                                                            \
        return x;                                                                                \
    }

/* The vector widths of each processor level. */
#if HAS_LEVELS
#define LANES_OF_plain(LANES, name) LANES(name, plain, , 1) LANES(name, plain, , 2)
#define LANES_OF_fused(LANES, name) \
    LANES(name, fused, FUSED_CODE, 1) LANES(name, fused, FUSED_CODE, 2) LANES(name, fused, FUSED_CODE, 4)
#define LANES_OF_wide(LANES, name)                                  \
    LANES(name, wide, WIDE_CODE, 1) LANES(name, wide, WIDE_CODE, 2) \
    LANES(name, wide, WIDE_CODE, 4) LANES(name, wide, WIDE_CODE, 8)
#define LANE_TABLE_plain(name) { name##_plain_of_1, name##_plain_of_2 }
#define LANE_TABLE_fused(name) { name##_fused_of_1, name##_fused_of_2, name##_fused_of_4 }
#define LANE_TABLE_wide(name) { name##_wide_of_1, name##_wide_of_2, name##_wide_of_4, name##_wide_of_8 }
#else
#define LANES_OF_plain(LANES, name) LANES(name, plain, , 1)
#define LANE_TABLE_plain(name) { name##_plain_of_1 }
#endif

#define REAL_LOOPS(name, level, code) \
    REAL_LOOP(name, level, code, float) REAL_LOOP(name, level, code, double) LANES_OF_##level(UNARY_LANES, name)
#define SINGLE_LOOPS(name, level, code) \
    SINGLE_LOOP(name, level, code) REAL_LOOP(name, level, code, double) LANES_OF_##level(UNARY_LANES, name)
#define BINARY_LOOPS(name, level, code) \
    BINARY_LOOP(name, level, code, float) BINARY_LOOP(name, level, code, double) LANES_OF_##level(BINARY_LANES, name)
#define FAST_LOOPS(name, level, code) SINGLE_LOOP(name, level, code)
#define FAST_BINARY_LOOPS(name, level, code) SINGLE_BINARY_LOOP(name, level, code)
#define REAL_ENTRY(name, level) { name##_##level##_float, name##_##level##_double, LANE_TABLE_##level(name) }
#define SINGLE_ENTRY(name, level) REAL_ENTRY(name, level)
#define BINARY_ENTRY(name, level) REAL_ENTRY(name, level)
#define FAST_ENTRY(name, level) { name##_##level##_float, NULL, { NULL } }
#define FAST_BINARY_ENTRY(name, level) FAST_ENTRY(name, level)

#define DEFINE_LOOPS(kind, name, level, code) kind##_LOOPS(name, level, code)
#define TABLE_ENTRY(kind, name, level, code) kind##_ENTRY(name, level),
#define REAL_FUNCTIONS(level, code)               \
    EACH_REAL_FUNCTION(DEFINE_LOOPS, level, code) \
    static const RealFunction level##_functions[] = {EACH_REAL_FUNCTION(TABLE_ENTRY, level, code)};

REAL_FUNCTIONS(plain, )
#if HAS_LEVELS
REAL_FUNCTIONS(fused, FUSED_CODE)
REAL_FUNCTIONS(wide, WIDE_CODE)
#endif

/* The functions for this processor, by their numbers. */
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
