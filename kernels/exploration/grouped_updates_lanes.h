/* Some elements' updates for grouped_updates.h, of the type GROUPED_VALUE; in a name GROUPED_NAME. */

/* Apply the updates of elements that have `count` each, `lanes` from `first` on. */
static void GROUPED_NAME(grouped_lanes)(
    const struct grouped_updates *own, int64_t first, int32_t count, const int32_t *strides, int lanes) {
    const GROUPED_VALUE *values[GROUPED_LANES], *initials = own->initials;
    GROUPED_VALUE *totals = own->totals, *result = own->result, folded[GROUPED_LANES];
    int32_t places[GROUPED_LANES], steps[GROUPED_LANES];
    for (int lane = 0; lane < lanes; lane++) {
        places[lane] = own->order == GROUPED_REVERSE ? count - 1 : 0;
        steps[lane] = own->order == GROUPED_REVERSE ? count - 1 : 1;
        if (own->order == GROUPED_SHUFFLED)
            grouped_way(own->elements[first + lane], own->mixed, count, strides, &places[lane], &steps[lane]);
        folded[lane] = initials[first + lane];
        values[lane] = (const GROUPED_VALUE *)own->values + own->bounds[first + lane];
    }
    if (count == 2) { /* Both orders' values are known. */
        for (int lane = 0; lane < lanes; lane++) folded[lane] = values[lane][places[lane]];
        count = 0;
    }
    for (int32_t left = 0; left < count; left++) {
        for (int lane = 0; lane < lanes; lane++) {
            GROUPED_VALUE value = values[lane][places[lane]];
            folded[lane] = own->multiplies ? folded[lane] * value : folded[lane] + value;
            places[lane] += steps[lane]; /* Both are below 2^31 - 1 together: the sum does not wrap. */
            places[lane] -= places[lane] >= count ? count : 0;
        }
    }
    for (int lane = 0; lane < lanes; lane++) totals[first + lane] = folded[lane];
    if (result)
        for (int lane = 0; lane < lanes; lane++) result[own->elements[first + lane]] = folded[lane];
}
