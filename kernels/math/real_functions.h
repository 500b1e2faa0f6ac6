/* Functions of f64 on arrays, and of f32, which are computed in f64 and rounded: loops for each level of instructions, in
   the form in which NumPy calls them. */

#ifndef NIMBLEHLO_REAL_FUNCTIONS_H
#define NIMBLEHLO_REAL_FUNCTIONS_H

#include "error_functions.h"
#include "exponential_functions.h"
#include "root_functions.h"
#include "single_functions.h"
#include "trigonometric_functions.h"

/* Elements are computed so many at a time, in the first cache. */
enum { REAL_FUNCTION_BLOCK = 256, REAL_FUNCTION_COUNT = 9 };

/* Loops of NumPy's form. */
typedef void (*RealLoop)(char **pointers, const intptr_t *count, const intptr_t *steps, void *data);
typedef struct { RealLoop of_f32, of_f64; } RealFunction;

#define REAL_COPIES(type)                                                                                     \
    REAL_INLINE void read_##type(double *values, const char *from, intptr_t step, intptr_t count) {           \
        if (step == sizeof(type))                                                                             \
            for (intptr_t place = 0; place < count; place++) values[place] = ((const type *)from)[place];     \
        else                                                                                                  \
            for (intptr_t place = 0; place < count; place++, from += step) values[place] = *(const type *)from; \
    }                                                                                                         \
    REAL_INLINE void write_##type(char *to, intptr_t step, const double *values, intptr_t count) {            \
        if (step == sizeof(type))                                                                             \
            for (intptr_t place = 0; place < count; place++) ((type *)to)[place] = (type)values[place];       \
        else                                                                                                  \
            for (intptr_t place = 0; place < count; place++, to += step) *(type *)to = (type)values[place];   \
    }

REAL_COPIES(float)
REAL_COPIES(double)

#define REAL_LOOP(name, kind, code, type)                                                                 \
    code static void name##_##kind##_##type(                                                              \
        char **pointers, const intptr_t *count, const intptr_t *steps, void *data) {                      \
        double values[REAL_FUNCTION_BLOCK];                                                               \
        (void)data;                                                                                       \
        for (intptr_t first = 0, here; first < *count; first += here) {                                   \
            here = *count - first < REAL_FUNCTION_BLOCK ? *count - first : REAL_FUNCTION_BLOCK;           \
            read_##type(values, pointers[0] + first * steps[0], steps[0], here);                          \
            name##_of_all(values, here);                                                                  \
            write_##type(pointers[1] + first * steps[1], steps[1], values, here);                         \
        }                                                                                                 \
    }

/* The loop of a function that `single_functions.h` has. */
#define SINGLE_LOOP(name, kind, code)                                                                     \
    code static void name##_##kind##_float(                                                               \
        char **pointers, const intptr_t *count, const intptr_t *steps, void *data) {                      \
        const intptr_t item = sizeof(float);                                                              \
        float values[REAL_FUNCTION_BLOCK];                                                                \
        (void)data;                                                                                       \
        for (intptr_t first = 0, here; first < *count; first += here) {                                   \
            char *from = pointers[0] + first * steps[0], *to = pointers[1] + first * steps[1];            \
            here = *count - first < REAL_FUNCTION_BLOCK ? *count - first : REAL_FUNCTION_BLOCK;           \
            if (steps[0] == item && steps[1] == item) {                                                   \
                name##_of_singles((float *)to, (const float *)from, here);                                \
                continue;                                                                                 \
            }                                                                                             \
            copy_items((char *)values, item, from, steps[0], item, here);                                 \
            name##_of_singles(values, values, here);                                                      \
            copy_items(to, steps[1], (const char *)values, item, item, here);                             \
        }                                                                                                 \
    }

#define REAL_LOOPS(name, kind, code) REAL_LOOP(name, kind, code, float) REAL_LOOP(name, kind, code, double)
#define SINGLE_LOOPS(name, kind, code) SINGLE_LOOP(name, kind, code) REAL_LOOP(name, kind, code, double)
#define REAL_FUNCTION(name, kind) { name##_##kind##_float, name##_##kind##_double }

#define REAL_FUNCTIONS(kind, code)                                                                         \
    SINGLE_LOOPS(erf, kind, code)                                                                          \
    SINGLE_LOOPS(erfc, kind, code)                                                                         \
    REAL_LOOPS(erf_inv, kind, code)                                                                        \
    REAL_LOOPS(sine, kind, code)                                                                           \
    REAL_LOOPS(cosine, kind, code)                                                                         \
    SINGLE_LOOPS(exponential, kind, code)                                                                  \
    SINGLE_LOOPS(logistic, kind, code)                                                                     \
    SINGLE_LOOPS(tanh, kind, code)                                                                         \
    REAL_LOOPS(cbrt, kind, code)                                                                           \
    static const RealFunction kind##_functions[REAL_FUNCTION_COUNT] = {                                    \
        REAL_FUNCTION(erf, kind), REAL_FUNCTION(erfc, kind), REAL_FUNCTION(erf_inv, kind),                 \
        REAL_FUNCTION(sine, kind), REAL_FUNCTION(cosine, kind), REAL_FUNCTION(exponential, kind),          \
        REAL_FUNCTION(logistic, kind), REAL_FUNCTION(tanh, kind), REAL_FUNCTION(cbrt, kind),               \
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
