/* Copies of arrays to row-major order, block by block.

   The last axis of the destination is contiguous there. Where it is not in the source, the axis that is nearest to it
   in the source's memory becomes the rows of a block, so that each cache line of the source is read once. */

#ifndef NIMBLEHLO_STRIDED_COPY_H
#define NIMBLEHLO_STRIDED_COPY_H

#include <stdint.h>
#include <string.h>

enum {
    STRIDED_COPY_MAX_RANK = 64,
    /* Rows and columns of a tile: a row has a cache line of f32 in either array. */
    STRIDED_COPY_TILE = 16,
};

/* Strides are in bytes. The axes are those that are neither `rows` nor `columns`, outermost first. An item is a block
   of STRIDED_COPY_TILE rows, or fewer at the end, at one index of the axes. */
typedef struct {
    const char *source;
    char *destination;
    int64_t rank;
    int64_t sizes[STRIDED_COPY_MAX_RANK];
    int64_t source_strides[STRIDED_COPY_MAX_RANK];
    int64_t destination_strides[STRIDED_COPY_MAX_RANK];
    int64_t rows, row_source_stride, row_destination_stride;
    int64_t columns, column_source_stride, itemsize;
    int64_t items, items_per_task, row_blocks;
} StridedCopy;

#define STRIDED_COPY_TILES(NAME, TYPE)                                                                                 \
    static void NAME(const StridedCopy *c, const char *source, char *destination, int64_t rows) {                      \
        const int64_t stride = c->column_source_stride;                                                                \
        for (int64_t first = 0; first < c->columns; first += STRIDED_COPY_TILE) {                                      \
            const int64_t left = c->columns - first, count = left < STRIDED_COPY_TILE ? left : STRIDED_COPY_TILE;      \
            for (int64_t row = 0; row < rows; row++) {                                                                 \
                const char *from = source + row * c->row_source_stride + first * stride;                               \
                TYPE *to = (TYPE *)(destination + row * c->row_destination_stride) + first;                            \
                for (int64_t column = 0; column < count; column++)                                                     \
                    to[column] = *(const TYPE *)(from + column * stride);                                              \
            }                                                                                                          \
        }                                                                                                              \
    }

typedef struct {
    uint64_t low, high;
} StridedCopyPair;

STRIDED_COPY_TILES(strided_copy_tiles_1, uint8_t)
STRIDED_COPY_TILES(strided_copy_tiles_2, uint16_t)
STRIDED_COPY_TILES(strided_copy_tiles_4, uint32_t)
STRIDED_COPY_TILES(strided_copy_tiles_8, uint64_t)
STRIDED_COPY_TILES(strided_copy_tiles_16, StridedCopyPair)

static void strided_copy_block(const StridedCopy *c, const char *source, char *destination, int64_t rows) {
    if (c->column_source_stride == c->itemsize) {
        for (int64_t row = 0; row < rows; row++)
            memcpy(destination + row * c->row_destination_stride, source + row * c->row_source_stride,
                   (size_t)(c->columns * c->itemsize));
        return;
    }
    switch (c->itemsize) {
    case 1: strided_copy_tiles_1(c, source, destination, rows); break;
    case 2: strided_copy_tiles_2(c, source, destination, rows); break;
    case 4: strided_copy_tiles_4(c, source, destination, rows); break;
    case 8: strided_copy_tiles_8(c, source, destination, rows); break;
    default: strided_copy_tiles_16(c, source, destination, rows); break;
    }
}

/* Copies the items of one task. */
static void strided_copy_task(int64_t task, void *copy) {
    const StridedCopy *c = (const StridedCopy *)copy;
    const int64_t first = task * c->items_per_task;
    const int64_t last = first + c->items_per_task < c->items ? first + c->items_per_task : c->items;
    for (int64_t item = first; item < last; item++) {
        const int64_t first_row = item % c->row_blocks * STRIDED_COPY_TILE, left = c->rows - first_row;
        int64_t index = item / c->row_blocks;
        const char *source = c->source + first_row * c->row_source_stride;
        char *destination = c->destination + first_row * c->row_destination_stride;
        for (int64_t axis = c->rank - 1; axis >= 0; axis--) {
            source += index % c->sizes[axis] * c->source_strides[axis];
            destination += index % c->sizes[axis] * c->destination_strides[axis];
            index /= c->sizes[axis];
        }
        strided_copy_block(c, source, destination, left < STRIDED_COPY_TILE ? left : STRIDED_COPY_TILE);
    }
}

#endif
