/* Fast Fourier transforms of f32 and f64 along one dimension: the tasks.

   The fibers of an array along the dimension are transformed side by side, one in each lane of a vector, so that
   every fiber sees the same arithmetic whatever the vector width. A fiber takes one pass for each factor of its
   length, from one buffer to another and back (Stockham's algorithm). A real fiber of even length is transformed as
   pairs, which halves the work. Nothing is contracted, and the roots of unity are correctly rounded: vector width,
   threads, other fibers and the machine change no bit. */

#ifndef NIMBLEHLO_FFT_H
#define NIMBLEHLO_FFT_H

#include <stdint.h>

#include "simd/processor_level.h"
#include "simd/unroll.h"

enum { FFT_COMPLEX, FFT_FROM_REAL, FFT_TO_REAL };
enum { FFT_MAX_RADIX = 31, FFT_MAX_PASSES = 24, FFT_MAX_WORKSPACES = 64 };

/* The plan by which fibers of `size` elements are transformed: by passes over `length` values, in buffers of
   `buffer_length`. `table` has for each pass the twiddle factors of its butterflies, then the roots of its radix;
   `real_roots` those for pairs. Strides between values are in bytes; `source_gap`, from real to imaginary component, is
   in items. With `is_full_spectrum` the second half of a real fiber's transform is written as well; with
   `is_nontemporal` whole aligned vectors bypass the caches where the code has such stores. */
typedef struct {
    int64_t kind, size, length, buffer_length, passes;
    int64_t radices[FFT_MAX_PASSES];
    const void *table, *real_roots;
    int64_t source_stride, source_gap, target_stride, is_inverse, is_full_spectrum, is_nontemporal, has_real_target;
} Fft;

/* The arguments of tasks: task `t` does the blocks of fibers from `t * blocks_per_task` on. Fiber `i` begins at `i /
   inner` outer and `i % inner` inner strides. `workspace` has `workspace_count` of `workspace_bytes` each;
   `workspace_busy` tells which are taken. */
typedef struct {
    const Fft *plan;
    const char *source;
    char *target;
    int64_t itemsize, fibers, inner, source_outer, source_inner, target_outer, target_inner, blocks, blocks_per_task;
    char *workspace;
    int64_t workspace_bytes, workspace_count;
    uint8_t workspace_busy[FFT_MAX_WORKSPACES];
} FftRun;

#if defined(__clang__) ? __clang_major__ >= 12 : defined(__GNUC__) && __GNUC__ >= 12

/* Shuffle indices of two vectors, for each lane: a step of transposing a square, deinterleaving and interleaving
   pairs. */
#define LOW(stride, lane) ((lane) & (stride) ? LANES + (lane) - (stride) : (lane))
#define HIGH(stride, lane) ((lane) & (stride) ? LANES + (lane) : (lane) + (stride))
#define DEINTERLEAVE(part, lane) (2 * (lane) + (part))
#define INTERLEAVE(part, lane) ((part) * LANES / 2 + (lane) / 2 + ((lane) & 1) * LANES)
#define FOR_2(index, by) index(by, 0), index(by, 1)
#define FOR_4(index, by) FOR_2(index, by), index(by, 2), index(by, 3)
#define FOR_8(index, by) FOR_4(index, by), index(by, 4), index(by, 5), index(by, 6), index(by, 7)
#define FOR_16(index, by)                                                                      \
    FOR_8(index, by), index(by, 8), index(by, 9), index(by, 10), index(by, 11), index(by, 12), \
        index(by, 13), index(by, 14), index(by, 15)

#ifdef __x86_64__

#include <immintrin.h>

#define STREAM_32(to, vector) _mm256_stream_si256((__m256i *)(to), (__m256i)(vector))
#define STREAM_64(to, vector) _mm512_stream_si512((__m512i *)(to), (__m512i)(vector))

#define ITEM float
#define LANES 16
#define FOR_LANES FOR_16
#define CODE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define STREAM STREAM_64
#define LOAD_LANES(others, mask, from) (VECTOR)_mm512_mask_loadu_ps(others, mask, from)
#define STORE_LANES(to, mask, vector) _mm512_mask_storeu_ps(to, mask, vector)
#define NAME(name) fft_float_16_##name
#include "fft_passes.h"

#define ITEM double
#define LANES 8
#define FOR_LANES FOR_8
#define CODE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define STREAM STREAM_64
#define LOAD_LANES(others, mask, from) (VECTOR)_mm512_mask_loadu_pd(others, mask, from)
#define STORE_LANES(to, mask, vector) _mm512_mask_storeu_pd(to, mask, vector)
#define NAME(name) fft_double_8_##name
#include "fft_passes.h"

#define ITEM float
#define LANES 8
#define FOR_LANES FOR_8
#define CODE __attribute__((target("avx2")))
#define STREAM STREAM_32
#define NAME(name) fft_float_8_##name
#include "fft_passes.h"

#define ITEM double
#define LANES 4
#define FOR_LANES FOR_4
#define CODE __attribute__((target("avx2")))
#define STREAM STREAM_32
#define NAME(name) fft_double_4_##name
#include "fft_passes.h"

#endif

#define ITEM float
#define LANES 4
#define FOR_LANES FOR_4
#define CODE
#define NAME(name) fft_float_4_##name
#include "fft_passes.h"

#define ITEM double
#define LANES 2
#define FOR_LANES FOR_2
#define CODE
#define NAME(name) fft_double_2_##name
#include "fft_passes.h"

#define ITEM float
#define LANES 1
#define CODE
#define NAME(name) fft_float_1_##name
#include "fft_passes.h"

#define ITEM double
#define LANES 1
#define CODE
#define NAME(name) fft_double_1_##name
#include "fft_passes.h"

/* The bytes of a vector; 0 where there is no code for transforms. */
static int64_t fft_vector_bytes(void) {
#ifdef __x86_64__
    if (has_avx512()) return 64;
    if (has_avx2(0)) return 32;
#endif
    return 16;
}

static void fft_transform_fibers(
    const Fft *f, int64_t itemsize, int64_t lanes, char *workspace, const char *const *from, char *const *to) {
    int is_float = itemsize == 4;
#ifdef __x86_64__
    if (is_float && lanes == 16) { fft_float_16_transform_fibers(f, workspace, from, to); return; }
    if (is_float && lanes == 8) { fft_float_8_transform_fibers(f, workspace, from, to); return; }
    if (!is_float && lanes == 8) { fft_double_8_transform_fibers(f, workspace, from, to); return; }
    if (!is_float && lanes == 4) { fft_double_4_transform_fibers(f, workspace, from, to); return; }
#endif
    if (lanes == 1) (is_float ? fft_float_1_transform_fibers : fft_double_1_transform_fibers)(
        f, workspace, from, to);
    else (is_float ? fft_float_4_transform_fibers : fft_double_2_transform_fibers)(f, workspace, from, to);
}

/* Transform some blocks of fibers; a block of few fibers one by one. */
static void fft_task(int64_t task, void *closure) {
    FftRun *run = closure;
    const char *from[16];
    char *to[16];
    int64_t lanes = fft_vector_bytes() / run->itemsize, slot = 0;
    int64_t end = (task + 1) * run->blocks_per_task < run->blocks ? (task + 1) * run->blocks_per_task : run->blocks;
    while (__atomic_exchange_n(&run->workspace_busy[slot], 1, __ATOMIC_ACQUIRE)) slot =
        (slot + 1) % run->workspace_count;
    char *workspace = run->workspace + slot * run->workspace_bytes;
    for (int64_t block = task * run->blocks_per_task; block < end; block++) {
        int64_t first = block * lanes, count = run->fibers - first < lanes ? run->fibers - first : lanes;
        for (int64_t lane = 0; lane < lanes; lane++) {
            int64_t fiber = first + (lane < count ? lane : count - 1);
            int64_t outer = fiber / run->inner, inner = fiber % run->inner;
            from[lane] = run->source + outer * run->source_outer + inner * run->source_inner;
            to[lane] = run->target + outer * run->target_outer + inner * run->target_inner;
        }
        if (4 * count > lanes) fft_transform_fibers(run->plan, run->itemsize, lanes, workspace, from, to);
        else
            for (int64_t lane = 0; lane < count; lane++)
                fft_transform_fibers(run->plan, run->itemsize, 1, workspace, from + lane, to + lane);
    }
#ifdef __x86_64__
    if (run->plan->is_nontemporal) _mm_sfence();
#endif
    __atomic_store_n(&run->workspace_busy[slot], 0, __ATOMIC_RELEASE);
}

#else

static int64_t fft_vector_bytes(void) { return 0; }
static void fft_task(int64_t task, void *closure) { (void)task, (void)closure; }

#endif
#endif
