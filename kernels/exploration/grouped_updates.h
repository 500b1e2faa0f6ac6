/* Updates grouped by element, applied to many elements at a time; and elements' values under many schedules, compared
   with those under one. Loops over lanes become vectors, of elements or of schedules. */

#ifndef NIMBLEHLO_GROUPED_UPDATES_H
#define NIMBLEHLO_GROUPED_UPDATES_H

#include <stdint.h>
#include <string.h>

#include "simd/processor_level.h"

#if defined(__GNUC__) && !defined(__clang__)
/* Before a loop over lanes: GCC would unroll it instead of making it a vector. */
#define GROUPED_VECTOR _Pragma("GCC unroll 1")
#else
#define GROUPED_VECTOR
#endif

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

/* From `update_groups.combine_order_independent`: elements, their initial values, the indices of their first values,
   and the values. Results go to `totals` and, unless it is NULL, to the elements of `result`. `hashed_key` is the
   seed's contribution to the hash. */
struct grouped_updates {
    int64_t size;
    const int32_t *elements, *bounds;
    const void *initials, *values;
    void *totals, *result;
    uint64_t hashed_key;
    int order, multiplies;
};

static inline uint64_t grouped_hash_key(uint64_t key) { return key * grouped_factors[1] + 1; }

/* The hash of an element and of a seed, by its key. */
static GROUPED_INLINE uint64_t grouped_hash(int32_t element, uint64_t hashed_key) {
    uint64_t bits = (uint64_t)element * grouped_factors[0] + hashed_key;
    bits = (bits ^ (bits >> 30)) * grouped_factors[2];
    bits = (bits ^ (bits >> 27)) * grouped_factors[3];
    return bits ^ (bits >> 31);
}

/* The first position of `count` updates in an order. */
static GROUPED_INLINE int32_t grouped_first_position(int order, uint64_t hash, int32_t count) {
    int32_t shuffled = (int32_t)(((hash & 0xFFFFFFFFu) * (uint64_t)count) >> 32);
    return order == GROUPED_SHUFFLED ? shuffled : order == GROUPED_REVERSE ? count - 1 : 0;
}

/* The increment from one position to the next one, modulo `count`. */
static GROUPED_INLINE int32_t grouped_increment(int order, uint64_t hash, int32_t count, const int32_t *strides) {
    int32_t shuffled = strides[hash >> 60];
    return order == GROUPED_SHUFFLED ? shuffled : order == GROUPED_REVERSE ? count - 1 : 1;
}

/* The next position, modulo `count`. */
static GROUPED_INLINE int32_t grouped_next(int32_t position, int32_t increment, int32_t count) {
    uint32_t next = (uint32_t)position + (uint32_t)increment, wrapped = next - (uint32_t)count;
    return (int32_t)(wrapped < next ? wrapped : next);
}

/* The number of schedules that are compared at a time. */
enum { GROUPED_MAX_SCHEDULES = 64, GROUPED_MAX_VECTORS = GROUPED_MAX_SCHEDULES / GROUPED_LANES };

/* The totals of `updates` are the ones to compare with; its result, key and order are not used. `hashed_keys` and
   `orders` are those of GROUPED_LANES * `vectors` schedules. */
struct grouped_comparison {
    struct grouped_updates updates;
    int64_t vectors;
    const uint64_t *hashed_keys;
    const int32_t *orders;
    void *minimum, *maximum;
    uint8_t *differs;
};

/* Indices of the first element that differs and of the one that differs most, and its distance; negative where none
   differs. */
struct grouped_extremes {
    int64_t first, largest;
    uint64_t distance;
};

/* The first positions and the increments of an element under GROUPED_LANES schedules. */
static inline void grouped_schedule_orders(
    const uint64_t *hashed_keys, const int32_t *orders, int32_t element, int32_t count, const int32_t *strides,
    int32_t *positions, int32_t *increments) {
    for (int lane = 0; lane < GROUPED_LANES; lane++) {
        uint64_t hash = grouped_hash(element, hashed_keys[lane]);
        positions[lane] = grouped_first_position(orders[lane], hash, count);
        increments[lane] = grouped_increment(orders[lane], hash, count, strides);
    }
}

/* Reduce the strides modulo `count`: division is slow. */
static inline void grouped_divide(int32_t count, int32_t *strides) {
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

#define GROUPED_CODE
#define GROUPED_ORDERS grouped_schedule_orders
#define GROUPED_NAME(name) name##_f32
#define GROUPED_VALUE float
#define GROUPED_BITS uint32_t
#include "grouped_updates_kind.h"
#define GROUPED_NAME(name) name##_f64
#define GROUPED_VALUE double
#define GROUPED_BITS uint64_t
#include "grouped_updates_kind.h"
#undef GROUPED_CODE
#undef GROUPED_ORDERS

#if defined(__GNUC__) && defined(__x86_64__)
#define GROUPED_HAS_WIDE 1
#define GROUPED_CODE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#define GROUPED_ORDERS grouped_store_orders_wide
#define GROUPED_APPLY_SCHEDULES grouped_apply_schedules_f32_wide
#include "grouped_updates_wide.h"
#define GROUPED_NAME(name) name##_f32_wide
#define GROUPED_VALUE float
#define GROUPED_BITS uint32_t
#include "grouped_updates_kind.h"
#define GROUPED_NAME(name) name##_f64_wide
#define GROUPED_VALUE double
#define GROUPED_BITS uint64_t
#include "grouped_updates_kind.h"
#undef GROUPED_CODE
#undef GROUPED_ORDERS
#else
#define GROUPED_HAS_WIDE 0
#endif

/* Whether there are vectors of 512 bits. */
static int grouped_can_be_wide(void) {
#if GROUPED_HAS_WIDE
    return has_avx512();
#else
    return 0;
#endif
}

/* Apply the updates of some elements of float or double, sorted by their number of updates. */
static void grouped_apply(
    const struct grouped_updates *updates, int64_t begin, int64_t end, int is_double, int is_wide) {
#if GROUPED_HAS_WIDE
    if (is_wide) {
        (is_double ? grouped_apply_f64_wide : grouped_apply_f32_wide)(updates, begin, end);
        return;
    }
#endif
    (void)is_wide;
    (is_double ? grouped_apply_f64 : grouped_apply_f32)(updates, begin, end);
}

/* Compare some elements of float or double. */
static void grouped_compare(
    const struct grouped_comparison *comparison, int64_t begin, int64_t end, struct grouped_extremes *extremes,
    int is_double, int is_wide) {
#if GROUPED_HAS_WIDE
    if (is_wide) {
        (is_double ? grouped_compare_f64_wide : grouped_compare_f32_wide)(comparison, begin, end, extremes);
        return;
    }
#endif
    (void)is_wide;
    (is_double ? grouped_compare_f64 : grouped_compare_f32)(comparison, begin, end, extremes);
}

/* Merge the extremes of later elements. */
static void grouped_merge_extremes(
    const struct grouped_comparison *comparison, struct grouped_extremes *merged,
        const struct grouped_extremes *later) {
    const int32_t *elements = comparison->updates.elements;
    for (int64_t schedule = 0; schedule < comparison->vectors * GROUPED_LANES; schedule++, merged++, later++) {
        if (later->first < 0) continue;
        if (merged->first < 0 || elements[later->first] < elements[merged->first]) merged->first = later->first;
        if (merged->largest < 0 || later->distance > merged->distance ||
            (later->distance == merged->distance && elements[later->largest] < elements[merged->largest])) {
            merged->largest = later->largest;
            merged->distance = later->distance;
        }
    }
}

#endif
