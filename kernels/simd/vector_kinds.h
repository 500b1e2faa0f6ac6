/* Includes the file VECTOR_CODE once for each element type and vector width of this processor's family. The
   functions are named FAMILY(...): on x86-64 FAMILY(wide_float_...), and the same with double, uint32 and uint64, for
   vectors of 64 bytes, FAMILY(float_...) and so on for vectors of 32 bytes, FAMILY(narrow_float_...) and so on for
   vectors of 16 bytes, on processors without fused multiply-add; elsewhere FAMILY(float_...) and so on for vectors of
   16 bytes.

   Defined for that file: ITEM, LANES, VECTOR_BYTES, CODE (the attributes of functions), INLINE, NAME(name); the
   types VECTOR, NAME(Unaligned) (a vector) and NAME(Item), of which the last two need no alignment; and on vectors
   LOAD(address), BROADCAST(item), FMA(a, b, sum), which is rounded once and modulo two to the width of integers,
   LOAD_PARTIAL(address, count), which loads the first elements and zeros, and STORE_PARTIAL(address, count,
   vector). HAS_INTEGER_ITEMS is defined for integers. */

#ifndef NIMBLEHLO_VECTOR_KINDS_H
#define NIMBLEHLO_VECTOR_KINDS_H

#include <stdint.h>

#include "unroll.h"

#ifdef __x86_64__

#include <immintrin.h>

#include "software_fma.h"

/* Masks of the first elements: those of `count` begin `count` before the end of the ones. */
static const int32_t vector_masks_of_4[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
static const int64_t vector_masks_of_8[8] = {-1, -1, -1, -1};

#else

#include <arm_neon.h>

#endif
#endif

#define INLINE static inline CODE __attribute__((always_inline))
#define VECTOR NAME(Vector)
#define LOAD(address) ((VECTOR)*(const NAME(Unaligned) *)(address))
#define BROADCAST(item) ((item) - (VECTOR){0})

#ifdef __x86_64__

#define VECTOR_BYTES 64
#define CODE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#define MASK(count) ((1u << (count)) - 1)
#define LOAD_PARTIAL(address, count)                                                        \
    (sizeof(ITEM) == 4 ? (VECTOR)_mm512_maskz_loadu_epi32((__mmask16)MASK(count), address) \
                       : (VECTOR)_mm512_maskz_loadu_epi64((__mmask8)MASK(count), address))
#define STORE_PARTIAL(address, count, sum)                                                           \
    (sizeof(ITEM) == 4 ? _mm512_mask_storeu_epi32(address, (__mmask16)MASK(count), (__m512i)(sum)) \
                       : _mm512_mask_storeu_epi64(address, (__mmask8)MASK(count), (__m512i)(sum)))

#define ITEM float
#define LANES 16
#define NAME(name) FAMILY(wide_float_##name)
#define FMA(a, b, sum) (VECTOR)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(sum))
#include "vector_kind.h"

#define ITEM double
#define LANES 8
#define NAME(name) FAMILY(wide_double_##name)
#define FMA(a, b, sum) (VECTOR)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(sum))
#include "vector_kind.h"

#define ITEM uint32_t
#define LANES 16
#define NAME(name) FAMILY(wide_uint32_##name)
#include "vector_kind.h"

#define ITEM uint64_t
#define LANES 8
#define NAME(name) FAMILY(wide_uint64_##name)
#include "vector_kind.h"

#undef VECTOR_BYTES
#undef CODE
#undef MASK
#undef LOAD_PARTIAL
#undef STORE_PARTIAL
#define VECTOR_BYTES 32
#define CODE __attribute__((target("avx2,fma")))
#define MASK(count) \
    _mm256_loadu_si256((const __m256i *)(sizeof(ITEM) == 4 ? (const void *)(vector_masks_of_4 + 8 - (count)) \
                                                         : (const void *)(vector_masks_of_8 + 4 - (count))))
#define LOAD_PARTIAL(address, count)                                                              \
    (sizeof(ITEM) == 4 ? (VECTOR)_mm256_maskload_epi32((const int *)(address), MASK(count)) \
                       : (VECTOR)_mm256_maskload_epi64((const long long *)(address), MASK(count)))
#define STORE_PARTIAL(address, count, sum)                                                            \
    (sizeof(ITEM) == 4 ? _mm256_maskstore_epi32((int *)(address), MASK(count), (__m256i)(sum)) \
                       : _mm256_maskstore_epi64((long long *)(address), MASK(count), (__m256i)(sum)))

#define ITEM float
#define LANES 8
#define NAME(name) FAMILY(float_##name)
#define FMA(a, b, sum) (VECTOR)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(sum))
#include "vector_kind.h"

#define ITEM double
#define LANES 4
#define NAME(name) FAMILY(double_##name)
#define FMA(a, b, sum) (VECTOR)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(sum))
#include "vector_kind.h"

#define ITEM uint32_t
#define LANES 8
#define NAME(name) FAMILY(uint32_##name)
#include "vector_kind.h"

#define ITEM uint64_t
#define LANES 4
#define NAME(name) FAMILY(uint64_##name)
#include "vector_kind.h"

#undef VECTOR_BYTES
#undef CODE
#undef MASK
#undef LOAD_PARTIAL
#undef STORE_PARTIAL
#endif

#define VECTOR_BYTES 16
#define CODE
#define LOAD_PARTIAL(address, count) NAME(load_partial)(address, count)
#define STORE_PARTIAL(address, count, sum) __builtin_memcpy(address, &(sum), (count) * sizeof(ITEM))

#ifdef __x86_64__
#define KIND(name) FAMILY(narrow_##name)
#define FMA_FLOAT(a, b, sum) (VECTOR)software_fma_float((__m128)(a), (__m128)(b), (__m128)(sum))
#define FMA_DOUBLE(a, b, sum) (VECTOR)software_fma_double((__m128d)(a), (__m128d)(b), (__m128d)(sum))
#else
#define KIND(name) FAMILY(name)
#define FMA_FLOAT(a, b, sum) (VECTOR)vfmaq_f32((float32x4_t)(sum), (float32x4_t)(a), (float32x4_t)(b))
#define FMA_DOUBLE(a, b, sum) (VECTOR)vfmaq_f64((float64x2_t)(sum), (float64x2_t)(a), (float64x2_t)(b))
#endif

#define ITEM float
#define LANES 4
#define NAME(name) KIND(float_##name)
#define FMA FMA_FLOAT
#include "vector_kind.h"

#define ITEM double
#define LANES 2
#define NAME(name) KIND(double_##name)
#define FMA FMA_DOUBLE
#include "vector_kind.h"

#define ITEM uint32_t
#define LANES 4
#define NAME(name) KIND(uint32_##name)
#include "vector_kind.h"

#define ITEM uint64_t
#define LANES 2
#define NAME(name) KIND(uint64_##name)
#include "vector_kind.h"

#undef KIND
#undef FMA_FLOAT
#undef FMA_DOUBLE
#undef VECTOR_BYTES
#undef CODE
#undef LOAD_PARTIAL
#undef STORE_PARTIAL
#undef INLINE
#undef VECTOR
#undef LOAD
#undef BROADCAST
#undef FAMILY
#undef VECTOR_CODE
