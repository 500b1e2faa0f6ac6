/* Loops that measure how fast this machine is. Threads begin a loop together, and each takes its own time.

   Every loop does work that any program has to do: so many bytes read and written, so many multiply-adds, and nothing
   that a program could do without. The fastest of several runs is the machine's rate: other load only slows a run. */

#ifndef NIMBLEHLO_RATES_H
#define NIMBLEHLO_RATES_H

#include <stdint.h>

#include "launch/monotonic_clock.h"
#include "simd/processor_level.h"

enum { RATE_READ, RATE_TRIAD, RATE_COPY, RATE_WRITE, RATE_INSTRUCTIONS, RATE_FUNCTIONS, RATE_GATHER };
enum { RATE_FLOAT, RATE_DOUBLE, RATE_INTEGER, RATE_BF16, RATE_INT8 };

/* CHAINS: independent sums, so that no instruction waits for the one before. VECTORS: vectors of an iteration.
   PREFETCH_BYTES: what is read ahead. WAIT_NANOSECONDS: how long a thread waits for the others. */
enum {
    RATE_CHAINS = 12, RATE_VECTORS = 8, RATE_PREFETCH_BYTES = 16384, RATE_WAIT_NANOSECONDS = 3000000,
    RATE_MAX_THREADS = 256
};

/* Not every element type has every loop. */
#define RATE_CODE __attribute__((unused)) CODE
#define FAMILY(name) rate_##name
#define VECTOR_CODE "rate_loops.h"
#include "simd/vector_kinds.h"

/* A loop and the times of each thread. `memory` has `thread_bytes` for each, which `moved_bytes` divide into arrays.
   `arrived` counts threads, `has_failed` tells that they did not run at the same time. */
typedef struct {
    int64_t kind, element, width, variant, moved_bytes, thread_bytes, degree, repeats, threads;
    char *memory;
    const int32_t *indices;
    int64_t index_count;
    int64_t arrived, has_failed;
    int64_t start[RATE_MAX_THREADS], end[RATE_MAX_THREADS];
} RateLoop;

#ifdef __x86_64__

#define DOTS_TARGET "avx512f,avx512bw,avx512vl,avx512bf16,avx512vnni"

/* Whether the processor multiplies pairs of bf16, or quadruples of int8, in one instruction. */
static int rate_has_dots(int element) {
    if (!may_use_extensions() || !has_avx512()) return 0;
    return element == RATE_INT8 ? __builtin_cpu_supports("avx512vnni") : __builtin_cpu_supports("avx512bf16");
}

static __attribute__((target(DOTS_TARGET))) void rate_dots(int element, int64_t repeats) {
    __m512i sums[RATE_CHAINS], ones = _mm512_set1_epi8(1);
    UNROLL for (int chain = 0; chain < RATE_CHAINS; chain++) sums[chain] = _mm512_setzero_si512();
    for (int64_t repeat = 0; repeat < repeats; repeat++)
        UNROLL for (int chain = 0; chain < RATE_CHAINS; chain++) {
            if (element == RATE_INT8) sums[chain] = _mm512_dpbusd_epi32(sums[chain], ones, ones);
            else sums[chain] = (__m512i)_mm512_dpbf16_ps((__m512)sums[chain], (__m512bh)ones, (__m512bh)ones);
            __asm__ volatile("" : "+v"(sums[chain]));
        }
}

#else

static int rate_has_dots(int element) { (void)element; return 0; }
static void rate_dots(int element, int64_t repeats) { (void)element, (void)repeats; }

#endif

/* The widest vectors of this processor, in bytes. */
static int rate_vector_bytes(void) {
#ifdef __x86_64__
    return has_avx512() ? 64 : has_avx2(1) ? 32 : 16;
#else
    return 16;
#endif
}

/* Loads of 4 bytes at indices. */
static void rate_gather(const RateLoop *loop, const char *memory) {
    const int32_t *table = (const int32_t *)memory;
    int64_t sums[4] = {0};
    for (int64_t repeat = 0; repeat < loop->repeats; repeat++)
        for (int64_t number = 0; number + 4 <= loop->index_count; number += 4)
            for (int v = 0; v < 4; v++) sums[v] += table[loop->indices[number + v]];
    __asm__ volatile("" : : "r"(sums[0] + sums[1] + sums[2] + sums[3]) : "memory");
}

#ifdef __x86_64__
#define RATE_BY_WIDTH(width, call)              \
    do {                                        \
        if ((width) == 64) rate_wide_##call;    \
        else if ((width) == 32) rate_##call;    \
        else rate_narrow_##call;                \
    } while (0)
#else
#define RATE_BY_WIDTH(width, call) rate_##call
#endif

/* Run a thread's loop. */
static void rate_run_loop(const RateLoop *loop, char *memory) {
    int width = (int)loop->width;
    int64_t repeats = loop->repeats;
    if (loop->kind == RATE_GATHER) rate_gather(loop, memory);
    else if (loop->kind == RATE_FUNCTIONS && loop->element == RATE_DOUBLE)
        RATE_BY_WIDTH(width, double_functions(memory, loop->moved_bytes, loop->degree, repeats));
    else if (loop->kind == RATE_FUNCTIONS)
        RATE_BY_WIDTH(width, float_functions(memory, loop->moved_bytes, loop->degree, repeats));
    else if (loop->kind != RATE_INSTRUCTIONS)
        RATE_BY_WIDTH(width, uint64_moves((int)loop->kind, (int)loop->variant, memory, loop->moved_bytes, repeats));
    else if (loop->element == RATE_FLOAT) RATE_BY_WIDTH(width, float_instructions(repeats));
    else if (loop->element == RATE_DOUBLE) RATE_BY_WIDTH(width, double_instructions(repeats));
    else if (loop->element == RATE_INTEGER) RATE_BY_WIDTH(width, uint32_instructions(repeats));
    else rate_dots((int)loop->element, repeats);
}

/* A task of the pool: begins when all threads have begun one. */
static void rate_task(int64_t task, void *closure) {
    RateLoop *loop = (RateLoop *)closure;
    int64_t begin = monotonic_nanoseconds();
    __atomic_fetch_add(&loop->arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&loop->arrived, __ATOMIC_ACQUIRE) < loop->threads)
        if (monotonic_nanoseconds() - begin > RATE_WAIT_NANOSECONDS) {
            __atomic_store_n(&loop->has_failed, 1, __ATOMIC_SEQ_CST);
            break;
        }
    loop->start[task] = monotonic_nanoseconds();
    if (!__atomic_load_n(&loop->has_failed, __ATOMIC_ACQUIRE)) rate_run_loop(loop, loop->memory + task * loop->thread_bytes);
    loop->end[task] = monotonic_nanoseconds();
}

/* A task that does nothing. */
static void rate_no_task(int64_t task, void *closure) { (void)task, (void)closure; }

#endif
