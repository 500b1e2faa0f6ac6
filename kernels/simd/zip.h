/* ZIP_<lanes>(a, b, is_second) interleaves the first halves of two vectors of so many lanes, or their second halves.

   TRANSPOSE_VECTORS(vector, lanes, rows) transposes an array of `lanes` vectors of as many lanes. `lanes` is a number. */

#ifndef NIMBLEHLO_ZIP_H
#define NIMBLEHLO_ZIP_H

#include "unroll.h"

#define ZIP_16(a, b, is_second)                                                                             \
    ((is_second) ? __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31) \
                 : __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23))
#define ZIP_8(a, b, is_second)                                             \
    ((is_second) ? __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15) \
                 : __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11))
#define ZIP_4(a, b, is_second) \
    ((is_second) ? __builtin_shufflevector(a, b, 2, 6, 3, 7) : __builtin_shufflevector(a, b, 0, 4, 1, 5))
#define ZIP_2(a, b, is_second) \
    ((is_second) ? __builtin_shufflevector(a, b, 1, 3) : __builtin_shufflevector(a, b, 0, 2))

/* The indirection expands `lanes`. */
#define TRANSPOSE_VECTORS(vector, lanes, rows) TRANSPOSE_VECTORS_OF(vector, lanes, rows)
#define TRANSPOSE_VECTORS_OF(vector, lanes, rows)                                       \
    UNROLL for (int round = (lanes); round > 1; round /= 2) {                           \
        vector zipped[lanes];                                                           \
        UNROLL for (int pair = 0; pair < (lanes) / 2; pair++) {                         \
            zipped[2 * pair] = ZIP_##lanes((rows)[pair], (rows)[pair + (lanes) / 2], 0); \
            zipped[2 * pair + 1] = ZIP_##lanes((rows)[pair], (rows)[pair + (lanes) / 2], 1); \
        }                                                                               \
        UNROLL for (int row = 0; row < (lanes); row++) (rows)[row] = zipped[row];       \
    }

#endif
