/* Updates of some elements for grouped_updates.h, for the type GROUPED_VALUE; functions are named GROUPED_NAME. */

/* Apply the updates of `lanes` elements from `first` on, each with `count` updates. */
static void GROUPED_NAME(grouped_lanes)(
    const struct grouped_updates *updates, int64_t first, int32_t count, const int32_t *strides, int lanes) {
    const GROUPED_VALUE *values[GROUPED_LANES], *initials = updates->initials;
    GROUPED_VALUE *totals = updates->totals, *result = updates->result, lane_totals[GROUPED_LANES];
    int32_t positions[GROUPED_LANES], increments[GROUPED_LANES];
    for (int lane = 0; lane < lanes; lane++) {
        positions[lane] = updates->order == GROUPED_REVERSE ? count - 1 : 0;
        increments[lane] = updates->order == GROUPED_REVERSE ? count - 1 : 1;
        if (updates->order == GROUPED_SHUFFLED)
            grouped_update_order(updates->elements[first + lane], updates->hashed_key, count, strides,
                &positions[lane], &increments[lane]);
        lane_totals[lane] = initials[first + lane];
        values[lane] = (const GROUPED_VALUE *)updates->values + updates->bounds[first + lane];
    }
    if (count == 2) { /* The results of both orders are stored. */
        for (int lane = 0; lane < lanes; lane++) lane_totals[lane] = values[lane][positions[lane]];
        count = 0;
    }
    for (int32_t remaining = 0; remaining < count; remaining++) {
        for (int lane = 0; lane < lanes; lane++) {
            GROUPED_VALUE value = values[lane][positions[lane]];
            lane_totals[lane] = updates->multiplies ? lane_totals[lane] * value : lane_totals[lane] + value;
            positions[lane] += increments[lane]; /* The sum is below 2^31 - 1: it does not wrap. */
            positions[lane] -= positions[lane] >= count ? count : 0;
        }
    }
    for (int lane = 0; lane < lanes; lane++) totals[first + lane] = lane_totals[lane];
    if (result)
        for (int lane = 0; lane < lanes; lane++) result[updates->elements[first + lane]] = lane_totals[lane];
}
