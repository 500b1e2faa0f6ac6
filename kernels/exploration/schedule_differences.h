/* Elements' values under many schedules, compared with those under one: the updates of an element are near for all of
   them, and schedules lie side by side in vectors. */

#ifndef NIMBLEHLO_GROUPED_SPREAD_H
#define NIMBLEHLO_GROUPED_SPREAD_H

#include <string.h>

#include "grouped_updates.h"

/* So many schedules at most are compared at a time. */
enum { GROUPED_MOST_SCHEDULES = 64, GROUPED_MOST_VECTORS = GROUPED_MOST_SCHEDULES / GROUPED_LANES };

/* Some schedules: what their keys add to elements' bits, and their orders. */
struct grouped_schedules {
    uint64_t mixed[GROUPED_LANES];
    int32_t orders[GROUPED_LANES];
};

/* The totals of `updates` are those that others are compared with; there is no result, key or order. */
struct grouped_spread {
    struct grouped_updates updates;
    int64_t vectors;
    struct grouped_schedules schedules[GROUPED_MOST_VECTORS];
    void *least, *most;
    uint8_t *differs;
};

/* The places of the first element that differs and of the one that differs most, and by how much; places are negative
   where none differs. */
struct grouped_extremes {
    int64_t first, most;
    uint64_t distance;
};

/* Where each of some schedules begins with an element's updates, and how far the next ones are. */
static inline void grouped_schedule_ways(
    const struct grouped_schedules *schedules, int32_t element, int32_t count, const int32_t *strides,
    int32_t *places, int32_t *steps) {
    for (int lane = 0; lane < GROUPED_LANES; lane++) {
        int is_reverse = schedules->orders[lane] == GROUPED_REVERSE;
        places[lane] = is_reverse ? count - 1 : 0;
        steps[lane] = is_reverse ? count - 1 : 1;
        if (schedules->orders[lane] == GROUPED_SHUFFLED)
            grouped_way(element, schedules->mixed[lane], count, strides, &places[lane], &steps[lane]);
    }
}

#define GROUPED_VALUE float
#define GROUPED_WORD uint32_t
#define GROUPED_INFINITY 0x7F800000u
#define GROUPED_NAME(name) name##_f32
#include "schedule_differences_lanes.h"
#undef GROUPED_VALUE
#undef GROUPED_WORD
#undef GROUPED_INFINITY
#undef GROUPED_NAME
#define GROUPED_VALUE double
#define GROUPED_WORD uint64_t
#define GROUPED_INFINITY 0x7FF0000000000000u
#define GROUPED_NAME(name) name##_f64
#include "schedule_differences_lanes.h"
#undef GROUPED_VALUE
#undef GROUPED_WORD
#undef GROUPED_INFINITY
#undef GROUPED_NAME

#if GROUPED_HAS_WIDE
#include "schedule_differences_wide.h"
#endif

/* Compare some elements, of float or double. */
static void grouped_compare(
    const struct grouped_spread *own, int64_t begin, int64_t end, struct grouped_extremes *extremes, int is_double,
    int is_wide) {
#if GROUPED_HAS_WIDE
    if (is_wide) {
        (is_double ? grouped_compare_f64_wide : grouped_compare_f32_wide)(own, begin, end, extremes);
        return;
    }
#endif
    (void)is_wide;
    (is_double ? grouped_compare_f64 : grouped_compare_f32)(own, begin, end, extremes);
}

/* Take in the extremes of later elements. */
static void grouped_join(
    const struct grouped_spread *own, struct grouped_extremes *known, const struct grouped_extremes *others) {
    const int32_t *elements = own->updates.elements;
    for (int64_t schedule = 0; schedule < own->vectors * GROUPED_LANES; schedule++, known++, others++) {
        if (others->first < 0) continue;
        if (known->first < 0 || elements[others->first] < elements[known->first]) known->first = others->first;
        if (known->most < 0 || others->distance > known->distance ||
            (others->distance == known->distance && elements[others->most] < elements[known->most])) {
            known->most = others->most;
            known->distance = others->distance;
        }
    }
}

#endif
