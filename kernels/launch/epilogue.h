/* Elementwise code that a kernel applies to the blocks of its result, each while it is in the caches. */

#ifndef NIMBLEHLO_EPILOGUE_H
#define NIMBLEHLO_EPILOGUE_H

#include <stdint.h>
#include <string.h>

/* Arguments of the code, at most; those that say which elements it computes, between its pointers and its strides. */
enum { EPILOGUE_MAX_ARGS = 96, EPILOGUE_SIZES = 8 };

/* `code`: a task of a loop nest with two loops (`loops/nests/nest_emitter.py`). `args`: the addresses of the first
   elements of `pointers` arrays, EPILOGUE_SIZES integers, then strides. `row_strides`, `column_strides`: bytes from row
   to row and from column to column of each array. */
typedef struct {
    void (*code)(int64_t task, void *args);
    int64_t pointers, arg_count;
    int64_t args[EPILOGUE_MAX_ARGS], row_strides[EPILOGUE_MAX_ARGS], column_strides[EPILOGUE_MAX_ARGS];
} Epilogue;

/* Apply the code to some rows and columns. */
static inline void epilogue_apply(const Epilogue *e, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    int64_t args[EPILOGUE_MAX_ARGS];
    /* One block of all rows and columns, in one task. */
    const int64_t sizes[EPILOGUE_SIZES] = {1, 1, 1, 1, rows, columns, rows, columns};
    for (int64_t i = 0; i < e->pointers; i++)
        args[i] = e->args[i] + row * e->row_strides[i] + column * e->column_strides[i];
    memcpy(args + e->pointers, sizes, sizeof sizes);
    for (int64_t i = e->pointers + EPILOGUE_SIZES; i < e->arg_count; i++) args[i] = e->args[i];
    e->code(0, args);
}

#endif
