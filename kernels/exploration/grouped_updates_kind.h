/* Updates of some elements for grouped_updates.h, of the type GROUPED_VALUE with bits of type GROUPED_BITS; functions
   are named GROUPED_NAME and have the attribute GROUPED_CODE. */

/* Apply the updates of `lanes` elements from `first` on, each with `count` updates. */
static GROUPED_CODE void GROUPED_NAME(grouped_apply_lanes)(
    const struct grouped_updates *updates, int64_t first, int32_t count, const int32_t *strides, int lanes) {
    const GROUPED_VALUE *initials = updates->initials, *values = updates->values;
    GROUPED_VALUE *totals = updates->totals, *result = updates->result, lane_totals[GROUPED_LANES];
    int32_t begins[GROUPED_LANES], positions[GROUPED_LANES], increments[GROUPED_LANES];
    for (int lane = 0; lane < GROUPED_LANES; lane++) {
        int64_t number = first + (lane < lanes ? lane : 0); /* Unused lanes repeat the first one. */
        uint64_t hash = grouped_hash(updates->elements[number], updates->hashed_key);
        positions[lane] = grouped_first_position(updates->order, hash, count);
        increments[lane] = grouped_increment(updates->order, hash, count, strides);
        lane_totals[lane] = initials[number];
        begins[lane] = updates->bounds[number];
    }
    if (count == 2) { /* The results of both orders are stored. */
        for (int lane = 0; lane < GROUPED_LANES; lane++) lane_totals[lane] = values[begins[lane] + positions[lane]];
        count = 0;
    }
    for (int32_t remaining = 0; remaining < count; remaining++) {
        for (int lane = 0; lane < GROUPED_LANES; lane++) {
            GROUPED_VALUE value = values[begins[lane] + positions[lane]];
            lane_totals[lane] = updates->multiplies ? lane_totals[lane] * value : lane_totals[lane] + value;
            positions[lane] = grouped_next(positions[lane], increments[lane], count);
        }
    }
    for (int lane = 0; lane < lanes; lane++) totals[first + lane] = lane_totals[lane];
    if (result)
        for (int lane = 0; lane < lanes; lane++) result[updates->elements[first + lane]] = lane_totals[lane];
}

/* Apply the updates of some elements, sorted by their number of updates. */
static GROUPED_CODE void GROUPED_NAME(grouped_apply)(
    const struct grouped_updates *updates, int64_t first, int64_t end) {
    int32_t strides[GROUPED_STRIDES], divided_count = 0;
    while (first < end) {
        int32_t count = updates->bounds[first + 1] - updates->bounds[first];
        int lanes = 1;
        while (lanes < GROUPED_LANES && first + lanes < end &&
               updates->bounds[first + lanes + 1] - updates->bounds[first + lanes] == count)
            lanes++;
        if (count != divided_count) grouped_divide(divided_count = count, strides);
        GROUPED_NAME(grouped_apply_lanes)(updates, first, count, strides, lanes);
        first += lanes;
    }
}

/* For each schedule the first element that differs and the one that differs most, their indices, and the distance. */
struct GROUPED_NAME(grouped_lane_extremes) {
    GROUPED_BITS first[GROUPED_LANES], first_index[GROUPED_LANES], largest[GROUPED_LANES], largest_index[GROUPED_LANES];
    GROUPED_BITS distance[GROUPED_LANES];
};

#ifndef GROUPED_APPLY_SCHEDULES
#define GROUPED_APPLY_SCHEDULES GROUPED_NAME(grouped_apply_schedules)
/* Compute an element's values under some schedules. */
static GROUPED_CODE void GROUPED_NAME(grouped_apply_schedules)(
    const struct grouped_updates *updates, int64_t number, int32_t count, const uint64_t *hashed_keys,
    const int32_t *orders, const int32_t *strides, GROUPED_VALUE *totals) {
    const GROUPED_VALUE *values = (const GROUPED_VALUE *)updates->values + updates->bounds[number];
    int32_t positions[GROUPED_LANES], increments[GROUPED_LANES];
    GROUPED_ORDERS(hashed_keys, orders, updates->elements[number], count, strides, positions, increments);
    for (int lane = 0; lane < GROUPED_LANES; lane++)
        totals[lane] = count == 2 ? values[positions[lane]] : ((const GROUPED_VALUE *)updates->initials)[number];
    if (count == 2) return; /* The results of both orders are stored. */
    for (int32_t step = 0; step < count; step++) {
        for (int lane = 0; lane < GROUPED_LANES; lane++) {
            GROUPED_VALUE value = values[positions[lane]];
            totals[lane] = updates->multiplies ? totals[lane] * value : totals[lane] + value;
            positions[lane] = grouped_next(positions[lane], increments[lane], count);
        }
    }
}
#endif

/* The lesser or the greater of two values, ignoring a NaN in `bound`; a NaN in `value` is never less or greater. */
#define GROUPED_MINIMUM(value, bound) (((value) < (bound)) | ((bound) != (bound)) ? (value) : (bound))
#define GROUPED_MAXIMUM(value, bound) (((value) > (bound)) | ((bound) != (bound)) ? (value) : (bound))

/* Extend a range by some values, ignoring NaNs. */
static GROUPED_CODE void GROUPED_NAME(grouped_widen)(
    const GROUPED_VALUE *totals, int64_t vectors, GROUPED_VALUE *minimum, GROUPED_VALUE *maximum) {
    GROUPED_VALUE low[GROUPED_LANES], high[GROUPED_LANES];
    for (int lane = 0; lane < GROUPED_LANES; lane++) low[lane] = *minimum, high[lane] = *maximum;
    for (int64_t vector = 0; vector < vectors; vector++, totals += GROUPED_LANES)
        GROUPED_VECTOR
        for (int lane = 0; lane < GROUPED_LANES; lane++) {
            low[lane] = GROUPED_MINIMUM(totals[lane], low[lane]);
            high[lane] = GROUPED_MAXIMUM(totals[lane], high[lane]);
        }
    for (int half = GROUPED_LANES / 2; half; half /= 2)
        for (int lane = 0; lane < half; lane++) {
            low[lane] = GROUPED_MINIMUM(low[lane + half], low[lane]);
            high[lane] = GROUPED_MAXIMUM(high[lane + half], high[lane]);
        }
    *minimum = low[0];
    *maximum = high[0];
}

/* Record the differences of an element's values under some schedules from the reference one. Returns whether any
   differs. All NaNs are equal, and have the largest distance from numbers. */
static GROUPED_CODE int GROUPED_NAME(grouped_record_differences)(
    const GROUPED_VALUE *totals, GROUPED_VALUE reference, GROUPED_BITS element, GROUPED_BITS index,
    struct GROUPED_NAME(grouped_lane_extremes) *extremes_of_lanes) {
    const GROUPED_BITS sign = (GROUPED_BITS)1 << (8 * sizeof(GROUPED_BITS) - 1), zero = 0;
    const GROUPED_BITS infinity = (~zero >> 1) ^ (((GROUPED_BITS)1 << (sizeof(GROUPED_BITS) == 4 ? 23 : 52)) - 1);
    GROUPED_BITS bits[GROUPED_LANES], reference_bits, any_differs = 0;
    memcpy(bits, totals, sizeof bits);
    memcpy(&reference_bits, &reference, sizeof reference_bits);
    const GROUPED_BITS reference_magnitude = reference_bits & ~sign, reference_is_nan = reference_magnitude > infinity;
    for (int lane = 0; lane < GROUPED_LANES; lane++) {
        GROUPED_BITS magnitude = bits[lane] & ~sign, is_nan = magnitude > infinity;
        GROUPED_BITS distance =
            magnitude > reference_magnitude ? magnitude - reference_magnitude : reference_magnitude - magnitude;
        distance = (bits[lane] ^ reference_bits) & sign ? magnitude + reference_magnitude : distance;
        distance = is_nan | reference_is_nan ? ~zero : distance;
        GROUPED_BITS differs = (bits[lane] != reference_bits) & ~(is_nan & reference_is_nan);
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

static GROUPED_CODE void GROUPED_NAME(grouped_compare)(
    const struct grouped_comparison *comparison, int64_t begin, int64_t end, struct grouped_extremes *extremes) {
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
        GROUPED_VALUE reference = ((const GROUPED_VALUE *)updates->totals)[number];
        GROUPED_BITS element = (GROUPED_BITS)updates->elements[number];
        int differs = 0;
        if (count != divided_count) grouped_divide(divided_count = count, strides);
        for (int64_t vector = 0; vector < comparison->vectors; vector++) {
            GROUPED_VALUE *vector_totals = totals + vector * GROUPED_LANES;
            GROUPED_APPLY_SCHEDULES(
                updates, number, count, comparison->hashed_keys + vector * GROUPED_LANES,
                comparison->orders + vector * GROUPED_LANES, strides, vector_totals);
            differs |= GROUPED_NAME(grouped_record_differences)(
                vector_totals, reference, element, (GROUPED_BITS)number, &extremes_of_lanes[vector]);
        }
        comparison->differs[number] |= differs;
        GROUPED_NAME(grouped_widen)(totals, comparison->vectors, &minimum[number], &maximum[number]);
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

#undef GROUPED_NAME
#undef GROUPED_VALUE
#undef GROUPED_BITS
#undef GROUPED_MINIMUM
#undef GROUPED_MAXIMUM
#undef GROUPED_APPLY_SCHEDULES
