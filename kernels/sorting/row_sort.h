/* Sorts rows, a number of them a task, and gathers their elements from sorted positions. */

#ifndef NIMBLEHLO_ROW_SORT_H
#define NIMBLEHLO_ROW_SORT_H

#include <stdlib.h>

#include "sort_codes.h"

/* `first`: the first of `rows` rows, which follow each other. `lacks_memory`: whether a task could not allocate its
   scratch. */
typedef struct {
    SortedRow first;
    int64_t rows, rows_per_task, lacks_memory;
} RowSort;

static SortedRow row_at(const SortedRow *first, int64_t number) {
    SortedRow row = *first;
    int64_t offset = number * row.length;
    row.elements = (const char *)row.elements + offset * row.item_bytes;
    if (row.permutation) row.permutation += offset;
    if (row.values) row.values = (char *)row.values + offset * row.item_bytes;
    if (row.positions) row.positions += offset;
    return row;
}

/* Sorts the codes of a row in `values`. Returns nonzero if it lacks memory. */
static int sort_row_values(const SortedRow *row, void *scratch) {
    static const SortFunction functions[] = {sort_uint8, sort_uint16, sort_uint32, sort_uint64};
    const SortCodes *codes = row->codes;
    int has_shared_codes = codes->encode(&row->encoding, row->elements, row->length, row->values);
    if (functions[log2_bytes(row->item_bytes)](row->values, row->length, scratch)) return 1;
    codes->decode(&row->encoding, row->values, row->length, row->values);
    if (has_shared_codes) codes->restore(row);
    return 0;
}

static int sort_row_pairs(const SortedRow *row, uint64_t *pairs, void *scratch) {
    uint32_t halves[SORT_BLOCK];
    int has_shared_codes = 0;
    for (int64_t first = 0; first < row->length; first += SORT_BLOCK) {
        intptr_t count = row->length - first < SORT_BLOCK ? row->length - first : SORT_BLOCK;
        has_shared_codes |= row->codes->upper_halves(row, first, count, halves);
        for (intptr_t i = 0; i < count; i++) pairs[first + i] = (uint64_t)halves[i] << 32 | (uint64_t)(first + i);
    }
    if (sort_upper_half(pairs, row->length, scratch)) return 1;
    write_pairs(row, pairs, 0, row->length, has_shared_codes);
    return 0;
}

static void sort_rows_task(int64_t task, void *closure) {
    RowSort *s = closure;
    const int64_t length = s->first.length, end = (task + 1) * s->rows_per_task;
    const int64_t scratch_count = sorts_by_digits(length) ? length : 0, pair_count = s->first.positions ? length : 0;
    const int64_t number_bytes = s->first.positions ? 8 : s->first.item_bytes;
    char *scratch = malloc((scratch_count + pair_count) * number_bytes + 1);
    void *numbers = scratch_count ? scratch + pair_count * number_bytes : NULL;
    int fails = !scratch;
    for (int64_t number = task * s->rows_per_task; number < end && number < s->rows && !fails; number++) {
        SortedRow row = row_at(&s->first, number);
        fails = row.positions ? sort_row_pairs(&row, (uint64_t *)scratch, numbers) : sort_row_values(&row, numbers);
    }
    free(scratch);
    if (fails) s->lacks_memory = 1;
}

/* `source` has rows of `length` elements of `item_bytes` bytes; each of `size` elements of `result` a task, of `total`,
   becomes the element of its row at its position. */
typedef struct {
    int64_t item_bytes, length, total, size;
    const void *source;
    const uint32_t *positions;
    void *result;
} RowGather;

typedef struct { uint64_t halves[2]; } Item16;

#define GATHER_ROWS(Item) {                                                                     \
    const Item *source = g->source;                                                             \
    Item *result = g->result;                                                                   \
    for (int64_t i = task * g->size, row = i / length * length; i < end; row += length)         \
        for (const int64_t row_end = end < row + length ? end : row + length; i < row_end; i++) \
            result[i] = source[row + positions[i]];                                             \
    break;                                                                                      \
}

static void gather_rows_task(int64_t task, void *closure) {
    const RowGather *g = closure;
    const uint32_t *positions = g->positions;
    const int64_t length = g->length;
    const int64_t end = g->total < (task + 1) * g->size ? g->total : (task + 1) * g->size;
    switch (g->item_bytes) {
    case 1: GATHER_ROWS(uint8_t)
    case 2: GATHER_ROWS(uint16_t)
    case 4: GATHER_ROWS(uint32_t)
    case 8: GATHER_ROWS(uint64_t)
    default: GATHER_ROWS(Item16)
    }
}

#endif
