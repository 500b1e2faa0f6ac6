/* A product of matrices, a computation on the rows of its result, and a product with that: a task for each block of
   rows. Between the three steps the block stays in the task's workspace, so that it lies in the L2 cache and the
   results of the first two steps are never written to memory. Sums are added in the order of `matmul.h`. */

#ifndef NIMBLEHLO_ATTENTION_H
#define NIMBLEHLO_ATTENTION_H

#include "matmul/matmul.h"

/* Arguments of the task `rows`, at most: pointers to arrays, then three integers. */
enum { ATTENTION_MAX_ARGS = 64 };

/* `scores` is the first product; `output` is that of the weights, which the rows give, with the values, and is written
   transposed if `is_transposed`. `rows` computes some rows: of its `arg_count` arguments, the `scores_arg`-th is the
   address of all scores and the `weights_arg`-th that of all weights, [row, column], and the last three are its first
   row, the rows of a call, and the row after the last. A workspace has the memory for a product, then `scores_bytes`
   for a block of scores, as many for its weights, and `output_bytes` for a block that will be transposed. */
typedef struct {
    Matmul scores, output;
    void (*rows)(int64_t task, void *args);
    int64_t args[ATTENTION_MAX_ARGS];
    int64_t arg_count, scores_arg, weights_arg, is_transposed, scores_bytes, output_bytes;
} Attention;

#if (defined(__clang__) ? __clang_major__ >= 12 : defined(__GNUC__) && __GNUC__ >= 12) && \
    (defined(__x86_64__) || defined(__aarch64__))

static void attention_task(int64_t task, void *attention) {
    Attention *a = attention;
    Matmul *scores = &a->scores, *output = &a->output;
    int64_t vector_bytes = matmul_vector_bytes(), matrix = task / scores->row_blocks;
    int64_t first = task % scores->row_blocks * scores->row_block, itemsize = scores->itemsize;
    int64_t rows = scores->rows - first < scores->row_block ? scores->rows - first : scores->row_block;
    int64_t row = matrix * scores->rows + first, row_bytes = scores->columns * itemsize;
    int64_t slot = matmul_take_workspace(scores, 0), args[ATTENTION_MAX_ARGS];
    char *workspace = scores->workspace + slot * scores->workspace_bytes;
    char *output_block = workspace + scores->workspace_bytes - a->output_bytes;
    char *weights = output_block - a->scores_bytes, *block = weights - a->scores_bytes;
    char *to = output->result + matrix * output->rows * output->columns * itemsize;
    matmul_functions(scores, vector_bytes)->multiply_block(
        scores, matmul_matrix(scores, &scores->left, matrix) + first * scores->left.outer_stride,
        matmul_matrix(scores, &scores->right, matrix), block, rows, scores->columns, workspace, 0, 0, 0);
    memcpy(args, a->args, a->arg_count * sizeof(int64_t));
    args[a->scores_arg] = (int64_t)((intptr_t)block - row * row_bytes);
    args[a->weights_arg] = (int64_t)((intptr_t)weights - row * row_bytes);
    args[a->arg_count - 3] = row, args[a->arg_count - 2] = rows, args[a->arg_count - 1] = row + rows;
    a->rows(0, args);
    matmul_functions(output, vector_bytes)->multiply_block(
        output, weights, matmul_matrix(output, &output->right, matrix),
        a->is_transposed ? output_block : to + first * output->columns * itemsize, rows, output->columns, workspace, 0,
        0, 0);
    if (a->is_transposed)
        matmul_functions(output, vector_bytes)->mirror(
            output_block, output->columns * itemsize, rows, output->columns, to + first * itemsize,
            output->rows * itemsize);
    __atomic_store_n(&scores->workspace_busy[slot], 0, __ATOMIC_RELEASE);
}

#else

static void attention_task(int64_t task, void *attention) { (void)task, (void)attention; }

#endif
#endif
