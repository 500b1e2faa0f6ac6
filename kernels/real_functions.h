/* Functions of f64 on arrays: loops for each level of instructions, and the form in which NumPy calls them. */

#ifndef NIMBLEHLO_REAL_FUNCTIONS_H
#define NIMBLEHLO_REAL_FUNCTIONS_H

#include "error_functions.h"
#include "trigonometric_functions.h"

/* Elements are copied side by side so many at a time, into the first cache. */
enum { REAL_FUNCTION_BLOCK = 256, REAL_FUNCTION_COUNT = 5 };

/* Puts its values in the place of at most REAL_FUNCTION_BLOCK arguments. */
typedef void (*RealFunction)(double *values, intptr_t count);

#define REAL_FUNCTION(name, kind, code) \
    code static void name##_##kind(double *values, intptr_t count) { name##_of_all(values, count); }

#define REAL_FUNCTIONS(kind, code)                                          \
    REAL_FUNCTION(erf, kind, code)                                          \
    REAL_FUNCTION(erfc, kind, code)                                         \
    REAL_FUNCTION(erf_inv, kind, code)                                      \
    REAL_FUNCTION(sine, kind, code)                                         \
    REAL_FUNCTION(cosine, kind, code)                                       \
    static const RealFunction kind##_functions[REAL_FUNCTION_COUNT] = {     \
        erf_##kind, erfc_##kind, erf_inv_##kind, sine_##kind, cosine_##kind \
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

/* A loop of NumPy's form; `data` is the place of a RealFunction. */
static void real_function_loop(char **pointers, const intptr_t *count, const intptr_t *steps, void *data) {
    RealFunction function = *(const RealFunction *)data;
    const intptr_t item = sizeof(double);
    double values[REAL_FUNCTION_BLOCK];
    for (intptr_t first = 0, here; first < *count; first += here) {
        here = *count - first < REAL_FUNCTION_BLOCK ? *count - first : REAL_FUNCTION_BLOCK;
        copy_items((char *)values, item, pointers[0] + first * steps[0], steps[0], item, here);
        function(values, here);
        copy_items(pointers[1] + first * steps[1], steps[1], (const char *)values, item, item, here);
    }
}

#endif
