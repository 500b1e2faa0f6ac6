/* The x86-64 instructions that C code may use: those of this processor, up to the level that NIMBLEHLO_CPU names.

   The levels are those of the x86-64 psABI: v2 (SSE4.2), v3 (AVX2, FMA), v4 (AVX-512 F, BW, DQ, VL); `native` has all
   instructions of the processor. `launch/processor.py` reads the same variable for generated code, and rejects other
   values. */

#ifndef NIMBLEHLO_PROCESSOR_LEVEL_H
#define NIMBLEHLO_PROCESSOR_LEVEL_H

#include <stdlib.h>
#include <string.h>

enum { LEVEL_UNKNOWN, LEVEL_V2 = 2, LEVEL_V3, LEVEL_V4, LEVEL_NATIVE };

/* The level that may be used at most. Threads may find it at the same time: all store the same number. */
static inline int max_level(void) {
    static int level = LEVEL_UNKNOWN;
    if (level == LEVEL_UNKNOWN) {
        const char *name = getenv("NIMBLEHLO_CPU");
        if (name && !strcmp(name, "x86-64-v2")) level = LEVEL_V2;
        else if (name && !strcmp(name, "x86-64-v3")) level = LEVEL_V3;
        else if (name && !strcmp(name, "x86-64-v4")) level = LEVEL_V4;
        else level = LEVEL_NATIVE;
    }
    return level;
}

#if defined(__GNUC__) && defined(__x86_64__)
/* Whether code may use AVX2, and FMA where `fused`. */
static inline int has_avx2(int fused) {
    __builtin_cpu_init();
    return max_level() >= LEVEL_V3 && __builtin_cpu_supports("avx2") && (!fused || __builtin_cpu_supports("fma"));
}

/* Whether code may use AVX-512 F, BW, DQ and VL. */
static inline int has_avx512(void) {
    __builtin_cpu_init();
    return max_level() >= LEVEL_V4 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

/* Whether code may use instructions that no level has, such as those of a matrix unit. */
static inline int may_use_extensions(void) { return max_level() == LEVEL_NATIVE; }

#endif
