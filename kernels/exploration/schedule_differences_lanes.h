/* Comparisons for schedule_differences.h of the type GROUPED_VALUE, whose bits are a GROUPED_WORD; in a name GROUPED_NAME. */

/* For each schedule the first element that differs, the one that differs most, their places, and by how much. */
struct GROUPED_NAME(grouped_found) {
    GROUPED_WORD first[GROUPED_LANES], first_place[GROUPED_LANES], most[GROUPED_LANES], most_place[GROUPED_LANES];
    GROUPED_WORD distance[GROUPED_LANES];
};

typedef void (*GROUPED_NAME(grouped_folding))(
    const struct grouped_updates *updates, int64_t number, int32_t count, const struct grouped_schedules *schedules,
    const int32_t *strides, GROUPED_VALUE *totals);

/* An element's values under some schedules. */
static void GROUPED_NAME(grouped_fold)(
    const struct grouped_updates *updates, int64_t number, int32_t count, const struct grouped_schedules *schedules,
    const int32_t *strides, GROUPED_VALUE *totals) {
    const GROUPED_VALUE *values = (const GROUPED_VALUE *)updates->values + updates->bounds[number];
    int32_t places[GROUPED_LANES], steps[GROUPED_LANES];
    grouped_schedule_ways(schedules, updates->elements[number], count, strides, places, steps);
    for (int lane = 0; lane < GROUPED_LANES; lane++)
        totals[lane] = count == 2 ? values[places[lane]] : ((const GROUPED_VALUE *)updates->initials)[number];
    if (count == 2) return; /* Both orders' values are known. */
    for (int32_t left = 0; left < count; left++) {
        for (int lane = 0; lane < GROUPED_LANES; lane++) {
            GROUPED_VALUE value = values[places[lane]];
            totals[lane] = updates->multiplies ? totals[lane] * value : totals[lane] + value;
            places[lane] += steps[lane];
            places[lane] -= places[lane] >= count ? count : 0;
        }
    }
}

typedef void (*GROUPED_NAME(grouped_widening))(
    const GROUPED_VALUE *totals, int64_t vectors, GROUPED_VALUE *least, GROUPED_VALUE *most);

/* Take some values into a range, NaNs aside. */
static void GROUPED_NAME(grouped_widen)(
    const GROUPED_VALUE *totals, int64_t vectors, GROUPED_VALUE *least, GROUPED_VALUE *most) {
    GROUPED_VALUE low = *least, high = *most;
    for (int64_t lane = 0; lane < vectors * GROUPED_LANES; lane++) {
        low = (totals[lane] < low) | (low != low) ? totals[lane] : low;
        high = (totals[lane] > high) | (high != high) ? totals[lane] : high;
    }
    *least = low;
    *most = high;
}

/* Take in an element's values under some schedules beside that of the plain one; whether some differ. Any NaN is equal
   to any other, and as far as can be from a number. */
static GROUPED_INLINE int GROUPED_NAME(grouped_look)(
    const GROUPED_VALUE *totals, GROUPED_VALUE plain, GROUPED_WORD element, GROUPED_WORD place,
    struct GROUPED_NAME(grouped_found) *found) {
    const GROUPED_WORD sign = (GROUPED_WORD)1 << (8 * sizeof(GROUPED_WORD) - 1), none = 0;
    GROUPED_WORD words[GROUPED_LANES], word, some = 0;
    memcpy(words, totals, sizeof words);
    memcpy(&word, &plain, sizeof word);
    const GROUPED_WORD other = word & ~sign, other_is_nan = other > GROUPED_INFINITY;
    for (int lane = 0; lane < GROUPED_LANES; lane++) {
        GROUPED_WORD one = words[lane] & ~sign, is_nan = one > GROUPED_INFINITY;
        GROUPED_WORD apart = one > other ? one - other : other - one;
        apart = (words[lane] ^ word) & sign ? one + other : apart;
        apart = is_nan | other_is_nan ? ~none : apart;
        GROUPED_WORD differs = (words[lane] != word) & ~(is_nan & other_is_nan);
        GROUPED_WORD is_first = differs & (element < found->first[lane]);
        GROUPED_WORD is_most = differs & ((apart > found->distance[lane]) |
                                          ((apart == found->distance[lane]) & (element < found->most[lane])));
        found->first[lane] = is_first ? element : found->first[lane];
        found->first_place[lane] = is_first ? place : found->first_place[lane];
        found->most[lane] = is_most ? element : found->most[lane];
        found->most_place[lane] = is_most ? place : found->most_place[lane];
        found->distance[lane] = is_most ? apart : found->distance[lane];
        some |= differs;
    }
    return some != 0;
}

/* As `grouped_compare`, by these functions. */
static GROUPED_INLINE void GROUPED_NAME(grouped_compare_by)(
    const struct grouped_spread *own, int64_t begin, int64_t end, struct grouped_extremes *extremes,
    GROUPED_NAME(grouped_folding) fold, GROUPED_NAME(grouped_widening) widen) {
    const struct grouped_updates *updates = &own->updates;
    struct GROUPED_NAME(grouped_found) found[GROUPED_MOST_VECTORS];
    GROUPED_VALUE *least = own->least, *most = own->most, totals[GROUPED_MOST_SCHEDULES];
    int32_t strides[GROUPED_STRIDES], known = 0;
    memset(found, 0, sizeof found);
    for (int64_t vector = 0; vector < own->vectors; vector++)
        for (int lane = 0; lane < GROUPED_LANES; lane++)
            found[vector].first[lane] = found[vector].most[lane] = ~(GROUPED_WORD)0;
    for (int64_t number = begin; number < end; number++) {
        int32_t count = updates->bounds[number + 1] - updates->bounds[number];
        GROUPED_VALUE plain = ((const GROUPED_VALUE *)updates->totals)[number];
        GROUPED_WORD element = (GROUPED_WORD)updates->elements[number];
        int differs = 0;
        if (count != known) grouped_divide(known = count, strides);
        for (int64_t vector = 0; vector < own->vectors; vector++) {
            GROUPED_VALUE *here = totals + vector * GROUPED_LANES;
            fold(updates, number, count, &own->schedules[vector], strides, here);
            differs |= GROUPED_NAME(grouped_look)(here, plain, element, (GROUPED_WORD)number, &found[vector]);
        }
        own->differs[number] |= differs;
        widen(totals, own->vectors, &least[number], &most[number]);
    }
    for (int64_t vector = 0; vector < own->vectors; vector++)
        for (int lane = 0; lane < GROUPED_LANES; lane++, extremes++) {
            int differs = found[vector].first[lane] != ~(GROUPED_WORD)0;
            GROUPED_WORD distance = found[vector].distance[lane];
            extremes->first = differs ? (int64_t)found[vector].first_place[lane] : -1;
            extremes->most = differs ? (int64_t)found[vector].most_place[lane] : -1;
            extremes->distance = distance == ~(GROUPED_WORD)0 ? ~(uint64_t)0 : distance;
        }
}

static void GROUPED_NAME(grouped_compare)(
    const struct grouped_spread *own, int64_t begin, int64_t end, struct grouped_extremes *extremes) {
    GROUPED_NAME(grouped_compare_by)(own, begin, end, extremes, GROUPED_NAME(grouped_fold), GROUPED_NAME(grouped_widen));
}
