/* Elements' values under many schedules, compared with those under one. Lanes of vectors are schedules, all of which
   read the updates of one element. */

#ifndef NIMBLEHLO_SCHEDULE_DIFFERENCES_H
#define NIMBLEHLO_SCHEDULE_DIFFERENCES_H

#include <string.h>

#include "grouped_updates.h"

/* How many schedules are compared at a time. */
enum { GROUPED_MAX_SCHEDULES = 64, GROUPED_MAX_VECTORS = GROUPED_MAX_SCHEDULES / GROUPED_LANES };

/* Some schedules: the hashed keys and the orders. */
struct grouped_schedules {
    uint64_t hashed_key[GROUPED_LANES];
    int32_t orders[GROUPED_LANES];
};

/* The totals of `updates` are the ones to compare with; its result, key and order are not used. */
struct grouped_comparison {
    struct grouped_updates updates;
    int64_t vectors;
    struct grouped_schedules schedules[GROUPED_MAX_VECTORS];
    void *minimum, *maximum;
    uint8_t *differs;
};

/* Indices of the first element that differs and of the one that differs most, and its distance; negative where none
   differs. */
struct grouped_extremes {
    int64_t first, largest;
    uint64_t distance;
};

/* The first position and the stride of an element's updates under some schedules. */
static inline void grouped_schedule_orders(
    const struct grouped_schedules *schedules, int32_t element, int32_t count, const int32_t *strides,
    int32_t *positions, int32_t *increments) {
    for (int lane = 0; lane < GROUPED_LANES; lane++) {
        int is_reverse = schedules->orders[lane] == GROUPED_REVERSE;
        positions[lane] = is_reverse ? count - 1 : 0;
        increments[lane] = is_reverse ? count - 1 : 1;
        if (schedules->orders[lane] == GROUPED_SHUFFLED)
            grouped_update_order(element, schedules->hashed_key[lane], count, strides, &positions[lane],
                &increments[lane]);
    }
}

#define GROUPED_VALUE float
#define GROUPED_BITS uint32_t
#define GROUPED_INFINITY 0x7F800000u
#define GROUPED_NAME(name) name##_f32
#include "schedule_differences_lanes.h"
#undef GROUPED_VALUE
#undef GROUPED_BITS
#undef GROUPED_INFINITY
#undef GROUPED_NAME
#define GROUPED_VALUE double
#define GROUPED_BITS uint64_t
#define GROUPED_INFINITY 0x7FF0000000000000u
#define GROUPED_NAME(name) name##_f64
#include "schedule_differences_lanes.h"
#undef GROUPED_VALUE
#undef GROUPED_BITS
#undef GROUPED_INFINITY
#undef GROUPED_NAME

#if GROUPED_HAS_WIDE
#include "schedule_differences_wide.h"
#endif

/* Compare some elements, of float or double. */
static void grouped_compare(
    const struct grouped_comparison *comparison, int64_t begin, int64_t end, struct grouped_extremes *extremes,
        int is_double,
    int is_wide) {
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
    const struct grouped_comparison *comparison, struct grouped_extremes *joined,
        const struct grouped_extremes *later) {
    const int32_t *elements = comparison->updates.elements;
    for (int64_t schedule = 0; schedule < comparison->vectors * GROUPED_LANES; schedule++, joined++, later++) {
        if (later->first < 0) continue;
        if (joined->first < 0 || elements[later->first] < elements[joined->first]) joined->first = later->first;
        if (joined->largest < 0 || later->distance > joined->distance ||
            (later->distance == joined->distance && elements[later->largest] < elements[joined->largest])) {
            joined->largest = later->largest;
            joined->distance = later->distance;
        }
    }
}

#endif
