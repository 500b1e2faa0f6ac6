/* The transforms of LANES fibers side by side; fft.h includes this for each element type and vector width. It takes
   ITEM, LANES, CODE and NAME, and FOR_LANES for vectors, and undefines them.

   Complex values are pairs of vectors, of real and of imaginary components, with a lane for each fiber. */

#if LANES == 1
typedef ITEM NAME(vector);
#else
typedef ITEM NAME(vector) __attribute__((vector_size(LANES * sizeof(ITEM))));
#endif
#define VECTOR NAME(vector)
typedef struct { VECTOR re, im; } NAME(value);
#define VALUE NAME(value)

static inline CODE VALUE NAME(sum)(VALUE a, VALUE b) { return (VALUE){a.re + b.re, a.im + b.im}; }
static inline CODE VALUE NAME(difference)(VALUE a, VALUE b) { return (VALUE){a.re - b.re, a.im - b.im}; }
static inline CODE VALUE NAME(scaled)(VALUE a, ITEM factor) { return (VALUE){a.re * factor, a.im * factor}; }
/* a - ib and a + ib */
static inline CODE VALUE NAME(minus_i)(VALUE a, VALUE b) { return (VALUE){a.re + b.im, a.im - b.re}; }
static inline CODE VALUE NAME(plus_i)(VALUE a, VALUE b) { return (VALUE){a.re - b.im, a.im + b.re}; }
static inline CODE VALUE NAME(product)(VALUE a, const ITEM *root) {
    return (VALUE){a.re * root[0] - a.im * root[1], a.re * root[1] + a.im * root[0]};
}

static inline CODE __attribute__((always_inline)) void NAME(four)(VALUE *a) {
    VALUE even = NAME(sum)(a[0], a[2]), even_difference = NAME(difference)(a[0], a[2]);
    VALUE odd = NAME(sum)(a[1], a[3]), odd_difference = NAME(difference)(a[1], a[3]);
    a[0] = NAME(sum)(even, odd);
    a[1] = NAME(minus_i)(even_difference, odd_difference);
    a[2] = NAME(difference)(even, odd);
    a[3] = NAME(plus_i)(even_difference, odd_difference);
}

/* Sums of values times the real components of roots, and of others times the imaginary components. */
typedef struct { VALUE by_re, by_im; } NAME(products);
#define PRODUCTS NAME(products)

static inline CODE __attribute__((always_inline)) PRODUCTS NAME(products_of)(VALUE a, VALUE b, const ITEM *root) {
    return (PRODUCTS){NAME(scaled)(a, root[0]), NAME(scaled)(b, root[1])};
}
static inline CODE __attribute__((always_inline)) PRODUCTS NAME(add_products)(PRODUCTS a, PRODUCTS b) {
    return (PRODUCTS){NAME(sum)(a.by_re, b.by_re), NAME(sum)(a.by_im, b.by_im)};
}

/* The sums of `a[k]` and `b[k]` times the root number j * k, for k from 1 to `count`: pairs are added first, then
   pairs of these, and the sums of four in order. Short sums have small rounding errors. */
static inline CODE __attribute__((always_inline)) PRODUCTS NAME(sums_of_products)(
    const VALUE *a, const VALUE *b, const ITEM *roots, int64_t radix, int64_t j, int64_t count) {
    PRODUCTS total = {{{0}}};
    int64_t number = 0;
#define NEXT(k) NAME(products_of)(a[k], b[k], roots + 2 * (number += number + j < radix ? j : j - radix))
    for (int64_t k = 1; k <= count; k += 4) {
        PRODUCTS four = NEXT(k);
        if (k + 1 <= count) four = NAME(add_products)(four, NEXT(k + 1));
        if (k + 2 <= count) {
            PRODUCTS next_pair = NEXT(k + 2);
            if (k + 3 <= count) next_pair = NAME(add_products)(next_pair, NEXT(k + 3));
            four = NAME(add_products)(four, next_pair);
        }
        total = k == 1 ? four : NAME(add_products)(total, four);
    }
#undef NEXT
    return total;
}

/* Transform `radix` values in place; `roots` are those of a prime radix without code of its own. */
static inline CODE __attribute__((always_inline)) void NAME(butterfly)(VALUE *a, int64_t radix, const ITEM *roots) {
    if (radix == 2) {
        VALUE first = a[0];
        a[0] = NAME(sum)(first, a[1]);
        a[1] = NAME(difference)(first, a[1]);
    } else if (radix == 3) {
        VALUE pair_sum = NAME(sum)(a[1], a[2]), imaginary_sum = NAME(difference)(a[1], a[2]);
        VALUE middle = NAME(difference)(a[0], NAME(scaled)(pair_sum, (ITEM)0.5));
        imaginary_sum = NAME(scaled)(imaginary_sum, (ITEM)0.866025403784438646763723170752936183);
        a[0] = NAME(sum)(a[0], pair_sum);
        a[1] = NAME(minus_i)(middle, imaginary_sum);
        a[2] = NAME(plus_i)(middle, imaginary_sum);
    } else if (radix == 4) {
        NAME(four)(a);
    } else if (radix == 5) {
        const ITEM c1 = (ITEM)0.309016994374947424102293417182819059, c2 =
            (ITEM)-0.809016994374947424102293417182819059;
        const ITEM s1 = (ITEM)0.951056516295153572116439333379382143, s2 = (ITEM)0.587785252292473129168705954639072769;
        VALUE t1 = NAME(sum)(a[1], a[4]), t2 = NAME(sum)(a[2], a[3]);
        VALUE u1 = NAME(difference)(a[1], a[4]), u2 = NAME(difference)(a[2], a[3]);
        VALUE m1 = NAME(sum)(a[0], NAME(sum)(NAME(scaled)(t1, c1), NAME(scaled)(t2, c2)));
        VALUE m2 = NAME(sum)(a[0], NAME(sum)(NAME(scaled)(t1, c2), NAME(scaled)(t2, c1)));
        VALUE v1 = NAME(sum)(NAME(scaled)(u1, s1), NAME(scaled)(u2, s2));
        VALUE v2 = NAME(difference)(NAME(scaled)(u1, s2), NAME(scaled)(u2, s1));
        a[0] = NAME(sum)(a[0], NAME(sum)(t1, t2));
        a[1] = NAME(minus_i)(m1, v1);
        a[2] = NAME(minus_i)(m2, v2);
        a[3] = NAME(plus_i)(m2, v2);
        a[4] = NAME(plus_i)(m1, v1);
    } else if (radix == 8) {
        const ITEM half = (ITEM)0.707106781186547524400844362104849039;
        VALUE even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
        NAME(four)(even);
        NAME(four)(odd);
        odd[1] = (VALUE){(odd[1].re + odd[1].im) * half, (odd[1].im - odd[1].re) * half};
        odd[2] = (VALUE){odd[2].im, -odd[2].re};
        odd[3] = (VALUE){(odd[3].im - odd[3].re) * half, (-odd[3].re - odd[3].im) * half};
        UNROLL
        for (int k = 0; k < 4; k++) {
            a[k] = NAME(sum)(even[k], odd[k]);
            a[k + 4] = NAME(difference)(even[k], odd[k]);
        }
    } else {
        VALUE sums[FFT_MAX_RADIX / 2 + 1], differences[FFT_MAX_RADIX / 2 + 1], first = a[0];
        for (int64_t k = 1; k <= radix / 2; k++) {
            sums[k] = NAME(sum)(a[k], a[radix - k]);
            differences[k] = NAME(difference)(a[k], a[radix - k]);
            a[0] = NAME(sum)(a[0], sums[k]);
        }
        for (int64_t j = 1; j <= radix / 2; j++) {
            PRODUCTS pair_sum = NAME(sums_of_products)(sums, differences, roots, radix, j, radix / 2);
            VALUE middle = NAME(sum)(first, pair_sum.by_re), imaginary_sum = NAME(scaled)(pair_sum.by_im, -1);
            a[j] = NAME(minus_i)(middle, imaginary_sum);
            a[radix - j] = NAME(plus_i)(middle, imaginary_sum);
        }
    }
}

/* One pass: `groups` butterflies for each offset below `stride`, from `x` to `y`. */
static inline CODE __attribute__((always_inline)) void NAME(pass)(
    const VALUE *x, VALUE *y, int64_t radix, int64_t groups, int64_t stride, const ITEM *twiddles, const ITEM *roots) {
    for (int64_t group = 0; group < groups; group++) {
        const ITEM *factors = twiddles + 2 * group * (radix - 1);
        for (int64_t offset = 0; offset < stride; offset++) {
            VALUE a[FFT_MAX_RADIX];
            UNROLL
            for (int64_t k = 0; k < radix; k++) a[k] = x[offset + stride * (group + groups * k)];
            NAME(butterfly)(a, radix, roots);
            VALUE *to = y + offset + stride * radix * group;
            to[0] = a[0];
            UNROLL
            for (int64_t k = 1; k < radix; k++)
                to[stride * k] = group ? NAME(product)(a[k], factors + 2 * (k - 1)) : a[k];
        }
    }
}

/* Transform the fibers in `x`. Returns the buffer with the result: `x` or `y`. */
static CODE VALUE *NAME(run_passes)(const Fft *f, VALUE *x, VALUE *y) {
    int64_t stride = 1, remaining = f->length;
    const ITEM *table = f->table;
    for (int64_t number = 0; number < f->passes; number++) {
        int64_t radix = f->radices[number], groups = remaining / radix;
        const ITEM *roots = table + 2 * groups * (radix - 1);
        switch (radix) {
        case 2: NAME(pass)(x, y, 2, groups, stride, table, roots); break;
        case 3: NAME(pass)(x, y, 3, groups, stride, table, roots); break;
        case 4: NAME(pass)(x, y, 4, groups, stride, table, roots); break;
        case 5: NAME(pass)(x, y, 5, groups, stride, table, roots); break;
        case 8: NAME(pass)(x, y, 8, groups, stride, table, roots); break;
        default: NAME(pass)(x, y, radix, groups, stride, table, roots);
        }
        table = roots + 2 * radix;
        VALUE *output = y;
        y = x;
        x = output;
        stride *= radix;
        remaining = groups;
    }
    return x;
}

#if LANES > 1
#define SHUFFLED(a, b, index, by) __builtin_shufflevector(a, b, FOR_LANES(index, by))
#define TRANSPOSE_STEP(stride)                                    \
    for (int i = 0; i < LANES; i++)                               \
        if (!(i & stride)) {                                      \
            VECTOR low = rows[i], high = rows[i + stride];        \
            rows[i] = SHUFFLED(low, high, LOW, stride);           \
            rows[i + stride] = SHUFFLED(low, high, HIGH, stride); \
        }

/* Transpose a square. */
static inline CODE __attribute__((always_inline)) void NAME(transpose)(VECTOR *rows) {
    UNROLL TRANSPOSE_STEP(1)
#if LANES > 2
    UNROLL TRANSPOSE_STEP(2)
#endif
#if LANES > 4
    UNROLL TRANSPOSE_STEP(4)
#endif
#if LANES > 8
    UNROLL TRANSPOSE_STEP(8)
#endif
}

/* Load fibers of contiguous pairs by squares. Returns how many values were loaded. */
static CODE int64_t NAME(load_blocks)(VALUE *to, const char *const *fibers, int64_t count, int swapped) {
    int64_t k = 0;
    for (; k + LANES / 2 <= count; k += LANES / 2) {
        VECTOR rows[LANES];
        UNROLL
        for (int lane = 0; lane < LANES; lane++)
            __builtin_memcpy(&rows[lane], fibers[lane] + 2 * k * sizeof(ITEM), sizeof(VECTOR));
        NAME(transpose)(rows);
        UNROLL
        for (int i = 0; i < LANES; i += 2)
            to[k + i / 2] = swapped ? (VALUE){rows[i + 1], rows[i]} : (VALUE){rows[i], rows[i + 1]};
    }
    return k;
}

/* Load fibers of contiguous real items by squares. Returns how many values were loaded. */
static CODE int64_t NAME(load_real_blocks)(VALUE *to, const char *const *fibers, int64_t count) {
    int64_t k = 0;
    for (; k + LANES <= count; k += LANES) {
        VECTOR rows[LANES];
        UNROLL
        for (int lane = 0; lane < LANES; lane++)
            __builtin_memcpy(&rows[lane], fibers[lane] + k * sizeof(ITEM), sizeof(VECTOR));
        NAME(transpose)(rows);
        UNROLL
        for (int i = 0; i < LANES; i++) to[k + i] = (VALUE){rows[i], (VECTOR){0}};
    }
    return k;
}

static inline CODE __attribute__((always_inline)) void NAME(store_rows)(
    VECTOR *rows, char *const *fibers, int64_t offset, int64_t is_nontemporal) {
    NAME(transpose)(rows);
#ifdef STREAM
    if (is_nontemporal) {
        UNROLL
        for (int lane = 0; lane < LANES; lane++) STREAM(fibers[lane] + offset, rows[lane]);
        return;
    }
#else
    (void)is_nontemporal;
#endif
    UNROLL
    for (int lane = 0; lane < LANES; lane++) __builtin_memcpy(fibers[lane] + offset, &rows[lane], sizeof(VECTOR));
}

/* Store contiguous pairs. Returns how many values were stored. */
static CODE int64_t NAME(store_blocks)(
    const VALUE *values, int64_t computed, char *const *fibers, int64_t count, int swapped, int64_t is_nontemporal) {
    int64_t k = 0;
    for (; k + LANES / 2 <= count; k += LANES / 2) {
        VECTOR rows[LANES];
        UNROLL
        for (int i = 0; i < LANES; i += 2) {
            int64_t index = k + i / 2;
            VALUE value = values[index < computed ? index : count - index];
            rows[i] = swapped ? value.im : value.re;
            rows[i + 1] = swapped ? value.re : index < computed ? value.im : -value.im;
        }
        NAME(store_rows)(rows, fibers, 2 * k * sizeof(ITEM), is_nontemporal);
    }
    return k;
}

/* Store contiguous real items. Returns how many values were stored. */
static CODE int64_t NAME(store_real_blocks)(
    const VALUE *values, char *const *fibers, int64_t count, int swapped, int64_t is_nontemporal) {
    int64_t k = 0;
    for (; k + LANES <= count; k += LANES) {
        VECTOR rows[LANES];
        UNROLL
        for (int i = 0; i < LANES; i++) rows[i] = swapped ? values[k + i].im : values[k + i].re;
        NAME(store_rows)(rows, fibers, k * sizeof(ITEM), is_nontemporal);
    }
    return k;
}

/* Whether the fibers' first pairs are contiguous. */
static CODE int NAME(is_dense)(const char *const *fibers) {
    for (int lane = 1; lane < LANES; lane++)
        if (fibers[lane] != fibers[0] + 2 * lane * sizeof(ITEM)) return 0;
    return 1;
}

#ifdef LOAD_LANES
/* Fibers that lie side by side in up to two runs. `first` and `second` are where the first values of lane 0 would be
   if all fibers were in that run, and the masks are of the runs' items. Lanes from `lanes` on repeat a fiber. */
typedef struct { uintptr_t first, second; uint32_t first_mask, second_mask; int lanes; } NAME(runs);
#define RUNS NAME(runs)

/* Find the runs. Returns whether there are at most two. */
static CODE int NAME(find_runs)(const char *const *fibers, RUNS *runs) {
    const int64_t pair = 2 * sizeof(ITEM);
    int count = 1;
    while (count < LANES && fibers[count] == fibers[count - 1] + pair) count++;
    runs->first = (uintptr_t)fibers[0];
    runs->first_mask = (uint32_t)(((uint64_t)1 << 2 * count) - 1);
    runs->second = runs->first;
    runs->second_mask = 0;
    runs->lanes = count;
    if (count == LANES || fibers[count] == fibers[count - 1]) return 1;
    for (int lane = count + 1; lane < LANES; lane++)
        if (fibers[lane] != fibers[lane - 1] + pair) return 0;
    runs->second = (uintptr_t)fibers[count] - count * pair;
    runs->second_mask = (uint32_t)(((uint64_t)1 << 2 * LANES) - 1) & ~runs->first_mask;
    runs->lanes = LANES;
    return 1;
}

static inline CODE __attribute__((always_inline)) VECTOR NAME(load_runs)(const RUNS *runs, int64_t offset, int half) {
    int64_t bytes = offset + half * sizeof(VECTOR);
    VECTOR items = LOAD_LANES((VECTOR){0}, runs->first_mask >> half * LANES, (const void *)(runs->first + bytes));
    return LOAD_LANES(items, runs->second_mask >> half * LANES, (const void *)(runs->second + bytes));
}

static inline CODE __attribute__((always_inline)) void NAME(store_runs)(
    const RUNS *runs, int64_t offset, int half, VECTOR items) {
    int64_t bytes = offset + half * sizeof(VECTOR);
    STORE_LANES((void *)(runs->first + bytes), runs->first_mask >> half * LANES, items);
    STORE_LANES((void *)(runs->second + bytes), runs->second_mask >> half * LANES, items);
}
#endif
#endif

/* Load fibers of pairs of items, or of items with `is_real`; `swapped` exchanges real and imaginary components. */
static CODE void NAME(load)(
    const Fft *f, VALUE *to, const char *const *fibers, int64_t count, int is_real, int swapped) {
    int64_t begin = 0;
    int first_lane = 0;
#if LANES > 1
    if (is_real && f->source_stride == sizeof(ITEM)) {
        begin = NAME(load_real_blocks)(to, fibers, count);
    } else if (f->source_stride == 2 * sizeof(ITEM) && f->source_gap == 1 && !is_real) {
        begin = NAME(load_blocks)(to, fibers, count, swapped);
    } else if (!is_real && f->source_gap == 1 && NAME(is_dense)(fibers)) {
        for (; begin < count; begin++) {
            VECTOR pairs[2];
            __builtin_memcpy(pairs, fibers[0] + begin * f->source_stride, sizeof(pairs));
            VECTOR re = SHUFFLED(pairs[0], pairs[1], DEINTERLEAVE, 0), im =
                SHUFFLED(pairs[0], pairs[1], DEINTERLEAVE, 1);
            to[begin] = swapped ? (VALUE){im, re} : (VALUE){re, im};
        }
    }
#ifdef LOAD_LANES
    RUNS runs;
    if (!begin && !is_real && f->source_gap == 1 && NAME(find_runs)(fibers, &runs)) {
        for (int64_t k = 0; k < count; k++) {
            int64_t offset = k * f->source_stride;
            VECTOR low = NAME(load_runs)(&runs, offset, 0), high = NAME(load_runs)(&runs, offset, 1);
            VECTOR re = SHUFFLED(low, high, DEINTERLEAVE, 0), im = SHUFFLED(low, high, DEINTERLEAVE, 1);
            to[k] = swapped ? (VALUE){im, re} : (VALUE){re, im};
        }
        first_lane = runs.lanes;
    }
#endif
#endif
    for (int lane = first_lane; lane < LANES; lane++) {
        ITEM *lane_values = (ITEM *)to + lane;
        for (int64_t k = begin; k < count; k++) {
            const ITEM *from = (const ITEM *)(fibers[lane] + k * f->source_stride);
            lane_values[2 * LANES * k + LANES * swapped] = from[0];
            lane_values[2 * LANES * k + LANES * !swapped] = is_real ? 0 : from[f->source_gap];
        }
    }
}

/* Store `count` values of each fiber; those from `computed` on are the conjugates of the earlier ones, in reverse
   order. */
static CODE void NAME(store)(
    const Fft *f, const VALUE *values, int64_t computed, char *const *fibers, int64_t count, int swapped) {
    int64_t stored = 0;
#if LANES > 1
    int64_t is_nontemporal = f->is_nontemporal;
    for (int lane = 0; lane < LANES; lane++) is_nontemporal &= (uintptr_t)fibers[lane] % sizeof(VECTOR) == 0;
    if (f->has_real_target && f->target_stride == sizeof(ITEM)) {
        stored = NAME(store_real_blocks)(values, fibers, count, swapped, is_nontemporal);
    } else if (f->target_stride == 2 * sizeof(ITEM) && !f->has_real_target) {
        stored = NAME(store_blocks)(values, computed, fibers, count, swapped, is_nontemporal);
    } else if (computed == count && NAME(is_dense)((const char *const *)fibers)) {
        for (; stored < count; stored++) {
            VALUE value = values[stored];
            VECTOR re = swapped ? value.im : value.re, im = swapped ? value.re : value.im;
            VECTOR pairs[2] = {SHUFFLED(re, im, INTERLEAVE, 0), SHUFFLED(re, im, INTERLEAVE, 1)};
            __builtin_memcpy(fibers[0] + stored * f->target_stride, pairs, sizeof(pairs));
        }
    }
#ifdef LOAD_LANES
    RUNS runs;
    if (!stored && computed == count && !f->has_real_target && NAME(find_runs)((const char *const *)fibers, &runs)) {
        for (; stored < count; stored++) {
            int64_t offset = stored * f->target_stride;
            VALUE value = values[stored];
            VECTOR re = swapped ? value.im : value.re, im = swapped ? value.re : value.im;
            NAME(store_runs)(&runs, offset, 0, SHUFFLED(re, im, INTERLEAVE, 0));
            NAME(store_runs)(&runs, offset, 1, SHUFFLED(re, im, INTERLEAVE, 1));
        }
    }
#endif
#endif
    for (int lane = 0; lane < LANES; lane++) {
        for (int64_t k = stored; k < count; k++) {
            const ITEM *lane_values = (const ITEM *)(values + (k < computed ? k : count - k)) + lane;
            ITEM *to = (ITEM *)(fibers[lane] + k * f->target_stride);
            to[0] = lane_values[LANES * swapped];
            if (!f->has_real_target) to[1] = k < computed ? lane_values[LANES * !swapped] : -lane_values[LANES];
        }
    }
}

/* Compute the first half of real fibers' transforms from those of their even and odd values as pairs. */
static CODE void NAME(unpack_real)(const Fft *f, const VALUE *x, VALUE *y) {
    int64_t half = f->length;
    const ITEM *roots = f->real_roots;
    y[0] = (VALUE){x[0].re + x[0].im, (VECTOR){0}};
    y[half] = (VALUE){x[0].re - x[0].im, (VECTOR){0}};
    for (int64_t k = 1; k <= half / 2; k++) {
        VALUE a = x[k], b = {x[half - k].re, -x[half - k].im};
        VALUE even = NAME(scaled)(NAME(sum)(a, b), (ITEM)0.5), odd = NAME(scaled)(NAME(difference)(a, b), (ITEM)0.5);
        odd = NAME(product)(odd, roots + 2 * k);
        VALUE low = NAME(minus_i)(even, odd), high = NAME(plus_i)(even, odd);
        y[half - k] = (VALUE){high.re, -high.im};
        y[k] = low;
    }
}

/* The inverse of `unpack_real` but for a factor of two, with real and imaginary components exchanged. */
static CODE void NAME(pack_real)(const Fft *f, const VALUE *x, VALUE *y) {
    int64_t half = f->length;
    const ITEM *roots = f->real_roots;
    y[0] = (VALUE){x[0].re - x[half].re, x[0].re + x[half].re};
    for (int64_t k = 1; k <= half / 2; k++) {
        VALUE a = x[k], b = {x[half - k].re, -x[half - k].im};
        const ITEM root[2] = {roots[2 * k], -roots[2 * k + 1]};
        VALUE even = NAME(sum)(a, b), odd = NAME(product)(NAME(difference)(a, b), root);
        VALUE low = NAME(plus_i)(even, odd), high = NAME(minus_i)(even, odd);
        y[half - k] = (VALUE){-high.im, high.re};
        y[k] = (VALUE){low.im, low.re};
    }
}

static CODE void NAME(transform_fibers)(const Fft *f, char *workspace, const char *const *from, char *const *to) {
    VALUE *x = (VALUE *)workspace, *y = x + f->buffer_length;
    int64_t size = f->size, half = size / 2 + 1;
    int swapped = f->is_inverse;
    if (f->kind == FFT_COMPLEX) {
        NAME(load)(f, x, from, size, 0, swapped);
        x = NAME(run_passes)(f, x, y);
    } else if (f->kind == FFT_FROM_REAL && size % 2) {
        NAME(load)(f, x, from, size, 1, 0);
        x = NAME(run_passes)(f, x, y);
    } else if (f->kind == FFT_FROM_REAL) {
        NAME(load)(f, x, from, size / 2, 0, 0);
        VALUE *spectrum = NAME(run_passes)(f, x, y);
        x = spectrum == x ? y : x;
        NAME(unpack_real)(f, spectrum, x);
    } else {
        NAME(load)(f, x, from, half, 0, 0);
        if (size % 2) {
            for (int64_t k = 1; k < half; k++) {
                y[k] = (VALUE){x[k].im, x[k].re};
                y[size - k] = (VALUE){-x[k].im, x[k].re};
            }
            y[0] = (VALUE){(VECTOR){0}, x[0].re};
        } else {
            NAME(pack_real)(f, x, y);
        }
        x = NAME(run_passes)(f, y, x);
    }
    int64_t count = size, computed = size;
    if (f->kind == FFT_FROM_REAL) {
        count = f->is_full_spectrum ? size : half;
        computed = size % 2 && f->is_full_spectrum ? size : half;
    } else if (f->kind == FFT_TO_REAL && size % 2 == 0) {
        count = computed = size / 2;
    }
    if (swapped) {
        ITEM factor = (ITEM)(1.0 / (double)size);
        for (int64_t k = 0; k < count; k++) x[k] = NAME(scaled)(x[k], factor);
    }
    NAME(store)(f, x, computed, to, count, swapped);
}

#undef SHUFFLED
#undef STREAM
#undef LOAD_LANES
#undef STORE_LANES
#undef RUNS
#undef TRANSPOSE_STEP
#undef FOR_LANES
#undef VECTOR
#undef PRODUCTS
#undef VALUE
#undef ITEM
#undef LANES
#undef CODE
#undef NAME
