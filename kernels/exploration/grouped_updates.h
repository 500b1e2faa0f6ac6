/* Updates grouped by element, applied to many elements at a time. */

#ifndef NIMBLEHLO_GROUPED_UPDATES_H
#define NIMBLEHLO_GROUPED_UPDATES_H

#include <stdint.h>

#include "simd/processor_level.h"

#if defined(_MSC_VER)
#define GROUPED_INLINE __forceinline
#else
#define GROUPED_INLINE inline __attribute__((always_inline))
#endif

/* Elements whose updates are combined in parallel lanes: additions of one element depend on each other. */
enum { GROUPED_LANES = 16, GROUPED_STRIDES = 16 };

enum { GROUPED_FORWARD, GROUPED_REVERSE, GROUPED_SHUFFLED };

/* Strides of updates, before reduction modulo their number: primes, so that each update is visited once. */
static const uint32_t grouped_strides[GROUPED_STRIDES] = {
    2190947789u, 2301948041u, 2468911421u, 2556617729u, 2694076813u, 2831206211u, 3001871987u, 3094792297u,
    3250041787u, 3360475813u, 3501196571u, 3682081619u, 3814222513u, 3901690021u, 4058833151u, 4172924863u};

/* Multipliers of the hash: of the element and of the seed, then of the two rounds. */
static const uint64_t grouped_factors[4] = {
    0x9E3779B97F4A7C15u, 0xD1B54A32D192ED03u, 0xBF58476D1CE4E5B9u, 0x94D049BB133111EBu};

/* As `update_groups.settle` returns them: elements, their initial values, the indices of their first values, and the
   values. Results go to `totals` and, unless it is NULL, to the elements of `result`. `hashed_key` is the seed's
   contribution to the hash. */
struct grouped_updates {
    int64_t size;
    const int32_t *elements, *bounds;
    const void *initials, *values;
    void *totals, *result;
    uint64_t hashed_key;
    int order, multiplies;
};

static inline uint64_t grouped_hash_key(uint64_t key) { return key * grouped_factors[1] + 1; }

/* The first position and the stride of an element's `count` updates, by a hash. */
static inline void grouped_update_order(
    int32_t element, uint64_t hashed_key, int32_t count, const int32_t *strides, int32_t *position,
        int32_t *increment) {
    uint64_t bits = (uint64_t)element * grouped_factors[0] + hashed_key;
    bits = (bits ^ (bits >> 30)) * grouped_factors[2];
    bits = (bits ^ (bits >> 27)) * grouped_factors[3];
    bits ^= bits >> 31;
    *position = (int32_t)(((bits & 0xFFFFFFFFu) * (uint64_t)count) >> 32);
    *increment = strides[bits >> 60];
}

#define GROUPED_VALUE float
#define GROUPED_NAME(name) name##_f32
#include "grouped_updates_lanes.h"
#undef GROUPED_VALUE
#undef GROUPED_NAME
#define GROUPED_VALUE double
#define GROUPED_NAME(name) name##_f64
#include "grouped_updates_lanes.h"
#undef GROUPED_VALUE
#undef GROUPED_NAME

#if defined(__GNUC__) && defined(__x86_64__)
#include "grouped_updates_wide.h"
#define GROUPED_HAS_WIDE 1
#else
#define GROUPED_HAS_WIDE 0
#endif

typedef void (*grouped_lanes)(
    const struct grouped_updates *updates, int64_t first, int32_t count, const int32_t *strides, int lanes);

/* Whether there are vectors of 512 bits. */
static int grouped_can_be_wide(void) {
#if GROUPED_HAS_WIDE
    return has_avx512();
#else
    return 0;
#endif
}

/* The function for elements with equally many updates. */
static grouped_lanes grouped_select(int is_double, int is_wide) {
#if GROUPED_HAS_WIDE
    if (is_wide) return is_double ? grouped_lanes_f64_wide : grouped_lanes_f32_wide;
#endif
    (void)is_wide;
    return is_double ? grouped_lanes_f64 : grouped_lanes_f32;
}

/* Reduce the strides modulo `count`: division is slow. */
static void grouped_divide(int32_t count, int32_t *strides) {
    for (int number = 0; number < GROUPED_STRIDES; number++)
        strides[number] = (int32_t)(grouped_strides[number] % (uint32_t)count);
}

/* The first element of a chunk: chunks have about as many updates each. */
static int64_t grouped_chunk_begin(const struct grouped_updates *updates, int64_t chunk, int64_t chunks) {
    const int32_t *bounds = updates->bounds;
    int64_t wanted = bounds[0] + (bounds[updates->size] - bounds[0]) * chunk / chunks, low = 0, high = updates->size;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (bounds[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return chunk == chunks ? updates->size : low;
}

/* Apply the updates of some elements, sorted by their number of updates. */
static void grouped_apply(
    const struct grouped_updates *updates, int64_t first, int64_t end, int is_double, int is_wide) {
    grouped_lanes apply_lanes = grouped_select(is_double, is_wide);
    int32_t strides[GROUPED_STRIDES], divided_count = 0;
    while (first < end) {
        int32_t count = updates->bounds[first + 1] - updates->bounds[first];
        int lanes = 1;
        while (lanes < GROUPED_LANES && first + lanes < end &&
               updates->bounds[first + lanes + 1] - updates->bounds[first + lanes] == count)
            lanes++;
        if (count != divided_count) grouped_divide(divided_count = count, strides);
        apply_lanes(updates, first, count, strides, lanes);
        first += lanes;
    }
}

#endif
