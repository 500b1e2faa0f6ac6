/* Updates that lie side by side for each element, applied to many elements at a time. */

#ifndef NIMBLEHLO_GROUPED_UPDATES_H
#define NIMBLEHLO_GROUPED_UPDATES_H

#include <stdint.h>

#if defined(_MSC_VER)
#define GROUPED_INLINE __forceinline
#else
#define GROUPED_INLINE inline __attribute__((always_inline))
#endif

/* Elements whose updates are combined side by side: one addition alone waits for the one before it. */
enum { GROUPED_LANES = 16, GROUPED_STRIDES = 16 };

enum { GROUPED_FORWARD, GROUPED_REVERSE, GROUPED_SHUFFLED };

/* How far the next update is, before division by their number: primes, so that each update is met once. */
static const uint32_t grouped_strides[GROUPED_STRIDES] = {
    2190947789u, 2301948041u, 2468911421u, 2556617729u, 2694076813u, 2831206211u, 3001871987u, 3094792297u,
    3250041787u, 3360475813u, 3501196571u, 3682081619u, 3814222513u, 3901690021u, 4058833151u, 4172924863u};

/* What makes bits of an element's number: the element's and the key's factor, then those of each step. */
static const uint64_t grouped_factors[4] = {
    0x9E3779B97F4A7C15u, 0xD1B54A32D192ED03u, 0xBF58476D1CE4E5B9u, 0x94D049BB133111EBu};

/* As `update_groups.settle` returns them: elements, what they are at first, where their updates begin, and these;
   the elements' values go to `totals` and, where it is not NULL, to their places in `result`. `mixed` is what a key
   adds to elements' bits. */
struct grouped_updates {
    int64_t size;
    const int32_t *elements, *bounds;
    const void *initials, *values;
    void *totals, *result;
    uint64_t mixed;
    int order, multiplies;
};

static inline uint64_t grouped_mixed(uint64_t key) { return key * grouped_factors[1] + 1; }

/* Where the updates of an element, of which it has `count`, begin and how far the next ones are. */
static inline void grouped_way(
    int32_t element, uint64_t mixed, int32_t count, const int32_t *strides, int32_t *place, int32_t *step) {
    uint64_t bits = (uint64_t)element * grouped_factors[0] + mixed;
    bits = (bits ^ (bits >> 30)) * grouped_factors[2];
    bits = (bits ^ (bits >> 27)) * grouped_factors[3];
    bits ^= bits >> 31;
    *place = (int32_t)(((bits & 0xFFFFFFFFu) * (uint64_t)count) >> 32);
    *step = strides[bits >> 60];
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
    const struct grouped_updates *own, int64_t first, int32_t count, const int32_t *strides, int lanes);

/* Whether there are vectors of 512 bits. */
static int grouped_can_be_wide(void) {
#if GROUPED_HAS_WIDE
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
    return 0;
#endif
}

/* The function that applies the updates of some elements with as many each. */
static grouped_lanes grouped_best(int is_double, int is_wide) {
#if GROUPED_HAS_WIDE
    if (is_wide) return is_double ? grouped_lanes_f64_wide : grouped_lanes_f32_wide;
#endif
    (void)is_wide;
    return is_double ? grouped_lanes_f64 : grouped_lanes_f32;
}

/* How far the next update is of an element with `count`: dividing takes long. */
static void grouped_divide(int32_t count, int32_t *strides) {
    for (int way = 0; way < GROUPED_STRIDES; way++)
        strides[way] = (int32_t)(grouped_strides[way] % (uint32_t)count);
}

/* Where a chunk of elements begins: chunks have about as many updates. */
static int64_t grouped_cut(const struct grouped_updates *own, int64_t chunk, int64_t chunks) {
    const int32_t *bounds = own->bounds;
    int64_t wanted = bounds[0] + (bounds[own->size] - bounds[0]) * chunk / chunks, low = 0, high = own->size;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (bounds[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return chunk == chunks ? own->size : low;
}

/* Apply the updates of some elements, of float or double; those with as many updates follow each other. */
static void grouped_apply(const struct grouped_updates *own, int64_t first, int64_t end, int is_double, int is_wide) {
    grouped_lanes best = grouped_best(is_double, is_wide);
    int32_t strides[GROUPED_STRIDES], known = 0;
    while (first < end) {
        int32_t count = own->bounds[first + 1] - own->bounds[first];
        int lanes = 1;
        while (lanes < GROUPED_LANES && first + lanes < end &&
               own->bounds[first + lanes + 1] - own->bounds[first + lanes] == count)
            lanes++;
        if (count != known) grouped_divide(known = count, strides);
        best(own, first, count, strides, lanes);
        first += lanes;
    }
}

#endif
