/* The loops of convolutions for all element types and one instruction set. `convolution_tasks.h` includes this once
   for each, and defines CONV_LEVEL, CONV_TARGET, CONV_VECTOR_BYTES, CONV_VECTORS (of a tile, at most), CONV_FULL_ROWS
   (of a tile of so many vectors, whose sums fill the registers), CONV_STREAM if there are nontemporal stores, and
   CONV_FMA_<type> for floats: types without it have no loops. If there are masked accesses, CONV_LOAD_PARTIAL and
   CONV_STORE_PARTIAL too. */

#ifdef CONV_FMA_FLOAT32
#define CONV_ITEM float
#define CONV_ITEM_BYTES 4
#define CONV_ITEM_NAME float32
#define CONV_FMA CONV_FMA_FLOAT32
#define CONV_WINOGRAD
#include "convolution_loops.h"
#undef CONV_WINOGRAD
#endif

#ifdef CONV_FMA_FLOAT64
#define CONV_ITEM double
#define CONV_ITEM_BYTES 8
#define CONV_ITEM_NAME float64
#define CONV_FMA CONV_FMA_FLOAT64
#include "convolution_loops.h"
#endif

#define CONV_ITEM uint32_t
#define CONV_ITEM_BYTES 4
#define CONV_ITEM_NAME int32
#include "convolution_loops.h"

#define CONV_ITEM uint64_t
#define CONV_ITEM_BYTES 8
#define CONV_ITEM_NAME int64
#include "convolution_loops.h"

#undef CONV_LEVEL
#undef CONV_TARGET
#undef CONV_VECTOR_BYTES
#undef CONV_VECTORS
#undef CONV_FULL_ROWS
#undef CONV_STREAM
#undef CONV_FMA_FLOAT32
#undef CONV_FMA_FLOAT64
#undef CONV_LOAD_PARTIAL
#undef CONV_STORE_PARTIAL
