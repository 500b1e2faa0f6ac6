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
#if defined(__GNUC__) && defined(__x86_64__)
REAL_FUNCTIONS(wide, __attribute__((target("avx512f,avx512dq,avx512vl,fma,prefer-vector-width=512"))))
REAL_FUNCTIONS(fused, __attribute__((target("avx2,fma"))))
#endif

/* The functions for this processor, in the order above. */
static const RealFunction *real_functions(void) {
#if defined(__GNUC__) && defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return wide_functions;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return fused_functions;
#endif
    return plain_functions;
}

/* A loop of NumPy's form; `data` is the place of a RealFunction. */
static void real_function_loop(char **pointers, const intptr_t *count, const intptr_t *steps, void *data) {
    RealFunction function = *(const RealFunction *)data;
    const char *from = pointers[0];
    char *to = pointers[1];
    double values[REAL_FUNCTION_BLOCK];
    for (intptr_t first = 0, here; first < *count; first += here) {
        here = *count - first < REAL_FUNCTION_BLOCK ? *count - first : REAL_FUNCTION_BLOCK;
        if (steps[0] == sizeof(double)) memcpy(values, from, here * sizeof(double));
        else for (intptr_t place = 0; place < here; place++) memcpy(values + place, from + place * steps[0], sizeof(double));
        function(values, here);
        if (steps[1] == sizeof(double)) memcpy(to, values, here * sizeof(double));
        else for (intptr_t place = 0; place < here; place++) memcpy(to + place * steps[1], values + place, sizeof(double));
        from += here * steps[0];
        to += here * steps[1];
    }
}

#endif
