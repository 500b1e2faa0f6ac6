/* Comparisons for schedule_differences.h, for the type GROUPED_VALUE with bits of type GROUPED_BITS; functions are
   named GROUPED_NAME. */

/* For each schedule the first element that differs and the one that differs most, their indices, and the distance. */
struct GROUPED_NAME(grouped_lane_extremes) {
    GROUPED_BITS first[GROUPED_LANES], first_index[GROUPED_LANES], largest[GROUPED_LANES], largest_index[GROUPED_LANES];
    GROUPED_BITS distance[GROUPED_LANES];
};

typedef void (*GROUPED_NAME(grouped_apply_function))(
    const struct grouped_updates *updates, int64_t number, int32_t count, const struct grouped_schedules *schedules,
    const int32_t *strides, GROUPED_VALUE *totals);

/* Compute an element's values under some schedules. */
static void GROUPED_NAME(grouped_apply_schedules)(
    const struct grouped_updates *updates, int64_t number, int32_t count, const struct grouped_schedules *schedules,
    const int32_t *strides, GROUPED_VALUE *totals) {
    const GROUPED_VALUE *values = (const GROUPED_VALUE *)updates->values + updates->bounds[number];
    int32_t positions[GROUPED_LANES], increments[GROUPED_LANES];
    grouped_schedule_orders(schedules, updates->elements[number], count, strides, positions, increments);
    for (int lane = 0; lane < GROUPED_LANES; lane++)
        totals[lane] = count == 2 ? values[positions[lane]] : ((const GROUPED_VALUE *)updates->initials)[number];
    if (count == 2) return; /* The results of both orders are stored. */
    for (int32_t step = 0; step < count; step++) {
        for (int lane = 0; lane < GROUPED_LANES; lane++) {
            GROUPED_VALUE value = values[positions[lane]];
            totals[lane] = updates->multiplies ? totals[lane] * value : totals[lane] + value;
            positions[lane] += increments[lane];
            positions[lane] -= positions[lane] >= count ? count : 0;
        }
    }
}

typedef void (*GROUPED_NAME(grouped_widen_function))(
    const GROUPED_VALUE *totals, int64_t vectors, GROUPED_VALUE *minimum, GROUPED_VALUE *maximum);

/* Extend a range by some values, ignoring NaNs. */
static void GROUPED_NAME(grouped_widen)(
    const GROUPED_VALUE *totals, int64_t vectors, GROUPED_VALUE *minimum, GROUPED_VALUE *maximum) {
    GROUPED_VALUE low = *minimum, high = *maximum;
    for (int64_t lane = 0; lane < vectors * GROUPED_LANES; lane++) {
        low = (totals[lane] < low) | (low != low) ? totals[lane] : low;
        high = (totals[lane] > high) | (high != high) ? totals[lane] : high;
    }
    *minimum = low;
    *maximum = high;
}

/* Record the differences of an element's values under some schedules from the plain one. Returns whether any
   differs. All NaNs are equal, and have the largest distance from numbers. */
static GROUPED_INLINE int GROUPED_NAME(grouped_record_differences)(
    const GROUPED_VALUE *totals, GROUPED_VALUE plain, GROUPED_BITS element, GROUPED_BITS index,
    struct GROUPED_NAME(grouped_lane_extremes) *extremes_of_lanes) {
    const GROUPED_BITS sign = (GROUPED_BITS)1 << (8 * sizeof(GROUPED_BITS) - 1), zero = 0;
    GROUPED_BITS bits[GROUPED_LANES], plain_bits, any_differs = 0;
    memcpy(bits, totals, sizeof bits);
    memcpy(&plain_bits, &plain, sizeof plain_bits);
    const GROUPED_BITS plain_magnitude = plain_bits & ~sign, plain_is_nan = plain_magnitude > GROUPED_INFINITY;
    for (int lane = 0; lane < GROUPED_LANES; lane++) {
        GROUPED_BITS magnitude = bits[lane] & ~sign, is_nan = magnitude > GROUPED_INFINITY;
        GROUPED_BITS distance = magnitude > plain_magnitude ? magnitude - plain_magnitude : plain_magnitude - magnitude;
        distance = (bits[lane] ^ plain_bits) & sign ? magnitude + plain_magnitude : distance;
        distance = is_nan | plain_is_nan ? ~zero : distance;
        GROUPED_BITS differs = (bits[lane] != plain_bits) & ~(is_nan & plain_is_nan);
        GROUPED_BITS is_first = differs & (element < extremes_of_lanes->first[lane]);
        GROUPED_BITS is_largest = differs & ((distance > extremes_of_lanes->distance[lane]) |
                                          ((distance == extremes_of_lanes->distance[lane]) & (element
                                              < extremes_of_lanes->largest[lane])));
        extremes_of_lanes->first[lane] = is_first ? element : extremes_of_lanes->first[lane];
        extremes_of_lanes->first_index[lane] = is_first ? index : extremes_of_lanes->first_index[lane];
        extremes_of_lanes->largest[lane] = is_largest ? element : extremes_of_lanes->largest[lane];
        extremes_of_lanes->largest_index[lane] = is_largest ? index : extremes_of_lanes->largest_index[lane];
        extremes_of_lanes->distance[lane] = is_largest ? distance : extremes_of_lanes->distance[lane];
        any_differs |= differs;
    }
    return any_differs != 0;
}

/* `grouped_compare`, by these functions. */
static GROUPED_INLINE void GROUPED_NAME(grouped_compare_by)(
    const struct grouped_comparison *comparison, int64_t begin, int64_t end, struct grouped_extremes *extremes,
    GROUPED_NAME(grouped_apply_function) apply_schedules, GROUPED_NAME(grouped_widen_function) widen) {
    const struct grouped_updates *updates = &comparison->updates;
    struct GROUPED_NAME(grouped_lane_extremes) extremes_of_lanes[GROUPED_MAX_VECTORS];
    GROUPED_VALUE *minimum = comparison->minimum, *maximum = comparison->maximum, totals[GROUPED_MAX_SCHEDULES];
    int32_t strides[GROUPED_STRIDES], divided_count = 0;
    memset(extremes_of_lanes, 0, sizeof extremes_of_lanes);
    for (int64_t vector = 0; vector < comparison->vectors; vector++)
        for (int lane = 0; lane < GROUPED_LANES; lane++)
            extremes_of_lanes[vector].first[lane] = extremes_of_lanes[vector].largest[lane] = ~(GROUPED_BITS)0;
    for (int64_t number = begin; number < end; number++) {
        int32_t count = updates->bounds[number + 1] - updates->bounds[number];
        GROUPED_VALUE plain = ((const GROUPED_VALUE *)updates->totals)[number];
        GROUPED_BITS element = (GROUPED_BITS)updates->elements[number];
        int differs = 0;
        if (count != divided_count) grouped_divide(divided_count = count, strides);
        for (int64_t vector = 0; vector < comparison->vectors; vector++) {
            GROUPED_VALUE *vector_totals = totals + vector * GROUPED_LANES;
            apply_schedules(updates, number, count, &comparison->schedules[vector], strides, vector_totals);
            differs |= GROUPED_NAME(grouped_record_differences)(
                vector_totals, plain, element, (GROUPED_BITS)number, &extremes_of_lanes[vector]);
        }
        comparison->differs[number] |= differs;
        widen(totals, comparison->vectors, &minimum[number], &maximum[number]);
    }
    for (int64_t vector = 0; vector < comparison->vectors; vector++)
        for (int lane = 0; lane < GROUPED_LANES; lane++, extremes++) {
            int differs = extremes_of_lanes[vector].first[lane] != ~(GROUPED_BITS)0;
            GROUPED_BITS distance = extremes_of_lanes[vector].distance[lane];
            extremes->first = differs ? (int64_t)extremes_of_lanes[vector].first_index[lane] : -1;
            extremes->largest = differs ? (int64_t)extremes_of_lanes[vector].largest_index[lane] : -1;
            extremes->distance = distance == ~(GROUPED_BITS)0 ? ~(uint64_t)0 : distance;
        }
}

static void GROUPED_NAME(grouped_compare)(
    const struct grouped_comparison *comparison, int64_t begin, int64_t end, struct grouped_extremes *extremes) {
    GROUPED_NAME(grouped_compare_by)(
        comparison, begin, end, extremes, GROUPED_NAME(grouped_apply_schedules), GROUPED_NAME(grouped_widen));
}
