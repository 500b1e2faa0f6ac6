/* Fourier transforms of f32 and f64 along lines: the tasks.

   Lines of an array are transformed side by side, one in each lane of a vector, so that the same arithmetic is done
   for each, whatever the vectors. A line takes a pass for each factor of its length, from one place to another and back
   (Stockham's order). A real line of even length is taken as pairs, which is half the work. Nothing is contracted, and
   the roots of unity are the exact ones, rounded: neither vectors nor threads nor a line's neighbours nor the machine
   change a bit of it. */

#ifndef NIMBLEHLO_FOURIER_H
#define NIMBLEHLO_FOURIER_H

#include <stdint.h>

#include "simd/unroll.h"

enum { FOURIER_COMPLEX, FOURIER_FROM_REAL, FOURIER_TO_REAL };
enum { FOURIER_MOST_RADIX = 31, FOURIER_MOST_PASSES = 24, FOURIER_MOST_PLACES = 64 };

/* How lines of `size` elements are transformed: by passes over `length` values, with `room` for them and one more.
   `table` has for each pass the factors that follow on its butterflies, then the roots of its radix; `halves` the
   roots for pairs. Steps between the values that are read and written are in bytes, `source_gap` from real to
   imaginary part in items. `is_whole` writes the second half of a real line's transform as well; `streams`: past the
   caches. */
typedef struct {
    int64_t kind, size, length, room, passes;
    int64_t radices[FOURIER_MOST_PASSES];
    const void *table, *halves;
    int64_t source_step, source_gap, target_step, is_inverse, is_whole, has_real_target, streams;
} Fourier;

/* What tasks read: task `t` does the blocks of lines from `t * size` on. Line `i` begins at `i / inner` outer and
   `i % inner` inner steps. `work` has `places` of `work_bytes` each; `busy` tells which are taken. */
typedef struct {
    const Fourier *transform;
    const char *source;
    char *target;
    int64_t item, lines, inner, source_outer, source_inner, target_outer, target_inner, blocks, size;
    char *work;
    int64_t work_bytes, places;
    uint8_t busy[FOURIER_MOST_PLACES];
} FourierRun;

#if defined(__clang__) ? __clang_major__ >= 12 : defined(__GNUC__) && __GNUC__ >= 12

/* Indices of shuffles of two vectors, for each lane: a step of exchanging the rows and columns of a square, and taking
   pairs apart and together. */
#define LOW(step, lane) ((lane) & (step) ? LANES + (lane) - (step) : (lane))
#define HIGH(step, lane) ((lane) & (step) ? LANES + (lane) : (lane) + (step))
#define APART(part, lane) (2 * (lane) + (part))
#define TOGETHER(part, lane) ((part) * LANES / 2 + (lane) / 2 + ((lane) & 1) * LANES)
#define FOR_2(index, by) index(by, 0), index(by, 1)
#define FOR_4(index, by) FOR_2(index, by), index(by, 2), index(by, 3)
#define FOR_8(index, by) FOR_4(index, by), index(by, 4), index(by, 5), index(by, 6), index(by, 7)
#define FOR_16(index, by)                                                                       \
    FOR_8(index, by), index(by, 8), index(by, 9), index(by, 10), index(by, 11), index(by, 12), \
        index(by, 13), index(by, 14), index(by, 15)

#ifdef __x86_64__

#include <immintrin.h>

#define ITEM float
#define LANES 16
#define FOR_LANES FOR_16
#define STREAM(to, row) _mm512_stream_ps((float *)(to), (__m512)(row))
#define CODE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define NAME(name) fourier_float_16_##name
#include "fft_passes.h"

#define ITEM double
#define LANES 8
#define FOR_LANES FOR_8
#define STREAM(to, row) _mm512_stream_pd((double *)(to), (__m512d)(row))
#define CODE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define NAME(name) fourier_double_8_##name
#include "fft_passes.h"

#define ITEM float
#define LANES 8
#define FOR_LANES FOR_8
#define CODE __attribute__((target("avx2")))
#define NAME(name) fourier_float_8_##name
#include "fft_passes.h"

#define ITEM double
#define LANES 4
#define FOR_LANES FOR_4
#define CODE __attribute__((target("avx2")))
#define NAME(name) fourier_double_4_##name
#include "fft_passes.h"

#endif

#define ITEM float
#define LANES 4
#define FOR_LANES FOR_4
#define CODE
#define NAME(name) fourier_float_4_##name
#include "fft_passes.h"

#define ITEM double
#define LANES 2
#define FOR_LANES FOR_2
#define CODE
#define NAME(name) fourier_double_2_##name
#include "fft_passes.h"

#define ITEM float
#define LANES 1
#define CODE
#define NAME(name) fourier_float_1_##name
#include "fft_passes.h"

#define ITEM double
#define LANES 1
#define CODE
#define NAME(name) fourier_double_1_##name
#include "fft_passes.h"

/* The bytes of a vector; 0 where there is no code for transforms. */
static int64_t fourier_vector_bytes(void) {
#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return 64;
    if (__builtin_cpu_supports("avx2")) return 32;
#endif
    return 16;
}

static void fourier_lines(
    const Fourier *f, int64_t item, int64_t lanes, char *work, const char *const *from, char *const *to) {
    int is_float = item == 4;
#ifdef __x86_64__
    if (is_float && lanes == 16) { fourier_float_16_lines(f, work, from, to); return; }
    if (is_float && lanes == 8) { fourier_float_8_lines(f, work, from, to); return; }
    if (!is_float && lanes == 8) { fourier_double_8_lines(f, work, from, to); return; }
    if (!is_float && lanes == 4) { fourier_double_4_lines(f, work, from, to); return; }
#endif
    if (lanes == 1) (is_float ? fourier_float_1_lines : fourier_double_1_lines)(f, work, from, to);
    else (is_float ? fourier_float_4_lines : fourier_double_2_lines)(f, work, from, to);
}

/* Do some blocks of lines; few lines one by one. */
static void fourier_task(int64_t task, void *closure) {
    FourierRun *run = closure;
    const char *from[16];
    char *to[16];
    int64_t lanes = fourier_vector_bytes() / run->item, place = 0;
    int64_t end = (task + 1) * run->size < run->blocks ? (task + 1) * run->size : run->blocks;
    while (__atomic_exchange_n(&run->busy[place], 1, __ATOMIC_ACQUIRE)) place = (place + 1) % run->places;
    char *work = run->work + place * run->work_bytes;
    for (int64_t block = task * run->size; block < end; block++) {
        int64_t first = block * lanes, count = run->lines - first < lanes ? run->lines - first : lanes;
        for (int64_t lane = 0; lane < lanes; lane++) {
            int64_t line = first + (lane < count ? lane : count - 1);
            int64_t outer = line / run->inner, inner = line % run->inner;
            from[lane] = run->source + outer * run->source_outer + inner * run->source_inner;
            to[lane] = run->target + outer * run->target_outer + inner * run->target_inner;
        }
        if (4 * count > lanes) fourier_lines(run->transform, run->item, lanes, work, from, to);
        else
            for (int64_t lane = 0; lane < count; lane++)
                fourier_lines(run->transform, run->item, 1, work, from + lane, to + lane);
    }
    __atomic_store_n(&run->busy[place], 0, __ATOMIC_RELEASE);
}

#else

static int64_t fourier_vector_bytes(void) { return 0; }
static void fourier_task(int64_t task, void *closure) { (void)task, (void)closure; }

#endif
#endif
