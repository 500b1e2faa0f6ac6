/* Ufunc programs: inner loops such as NumPy's that run one after the other on a row at a time, so that intermediate
   values stay in the cache.

   A program is an array of 64-bit integers: the number of rows and of columns, columns computed at a time, work
   items (a block of columns of a row) of a task; the rank of the rows, the number of values and of instructions; the
   sizes of the rows' dimensions; the values; the instructions. A program that reduces rows computes all columns of a
   row at a time.

   A value has: the number of its array, PROGRAM_SCRATCH or PROGRAM_CONSTANT; an offset in bytes, or the bits of a
   constant; the stride of columns in bytes; the strides of the dimensions of the rows. An instruction has: its kind,
   the address of a loop and of the loop's data, whether it runs for all columns or once a row, the number of operands,
   three operands, the result. */

#ifndef NIMBLEHLO_UFUNC_PROGRAM_H
#define NIMBLEHLO_UFUNC_PROGRAM_H

#include <stdint.h>
#include <string.h>

/* NumPy's signature of an inner loop: pointers, the number of elements, strides in bytes. */
typedef void (*UfuncLoop)(char **pointers, const intptr_t *count, const intptr_t *strides, void *data);

enum { PROGRAM_ARRAYS = 32, PROGRAM_MAX_VALUES = 96, PROGRAM_SCRATCH_BYTES = 1 << 17 };

/* Where a value is, instead of the number of an array. */
enum { PROGRAM_SCRATCH = -1, PROGRAM_CONSTANT = -2 };

enum { PROGRAM_APPLY, PROGRAM_TREE_REDUCE, PROGRAM_REDUCE, PROGRAM_MAXIMUM, PROGRAM_MINIMUM };

/* The fields of a value and of an instruction, in the order of the comment above. */
enum { VALUE_ARRAY, VALUE_OFFSET, VALUE_STRIDE, PROGRAM_VALUE_FIELDS };
enum {
    INSTRUCTION_KIND, INSTRUCTION_LOOP, INSTRUCTION_DATA, INSTRUCTION_IS_PER_COLUMN, INSTRUCTION_OPERAND_COUNT,
    INSTRUCTION_OPERANDS, INSTRUCTION_RESULT = INSTRUCTION_OPERANDS + 3, PROGRAM_INSTRUCTION_FIELDS
};

struct UfuncValue { char *address; intptr_t stride; };

/* Reduce adjacent pairs, level by level; an odd last value is carried up. `scratch` has space for as many items as
   there are pairs and half as many more. */
static void ufunc_tree_reduce(
    UfuncLoop loop, void *data, struct UfuncValue operand, char *result, char *scratch, int64_t itemsize,
    intptr_t count) {
    char *scratch_halves[2] = {scratch, scratch + (count / 2 + 1) * itemsize};
    char *from = operand.address;
    intptr_t stride = operand.stride;
    for (int level = 0; count > 1; level++) {
        char *to = scratch_halves[level % 2];
        char *pointers[3] = {from, from + stride, to};
        intptr_t pairs = count / 2, strides[3] = {2 * stride, 2 * stride, itemsize};
        loop(pointers, &pairs, strides, data);
        if (count % 2) memcpy(to + pairs * itemsize, from + (count - 1) * stride, itemsize);
        from = to, stride = itemsize, count = pairs + count % 2;
    }
    memcpy(result, from, itemsize);
}

static void ufunc_reduce(
    UfuncLoop loop, void *data, struct UfuncValue operand, char *result, int64_t itemsize, intptr_t count) {
    char *pointers[3] = {result, operand.address + operand.stride, result};
    intptr_t remaining = count - 1, strides[3] = {0, operand.stride, 0};
    memcpy(result, operand.address, itemsize);
    if (remaining) loop(pointers, &remaining, strides, data);
}

static int ufunc_is_negative(const char *address, int64_t itemsize) {
    return (unsigned char)address[itemsize - 1] >> 7;
}

/* Set the sign of a zero maximum or minimum of floats, since loops may return either zero: the maximum is negative
   if all operands are, the minimum if any is. */
static void ufunc_sign_zero(struct UfuncValue operand, char *result, int64_t itemsize, intptr_t count, int is_minimum) {
    char sign = result[itemsize - 1] & (char)0x80;
    for (int64_t byte = 0; byte < itemsize; byte++)
        if (result[byte] != (byte == itemsize - 1 ? sign : 0)) return;
    int negative = !is_minimum;
    for (intptr_t index = 0; index < count && negative != is_minimum; index++)
        negative = ufunc_is_negative(operand.address + index * operand.stride, itemsize);
    result[itemsize - 1] = negative ? (char)0x80 : 0;
}

static void ufunc_run(const int64_t *instruction, const struct UfuncValue *values, intptr_t columns) {
    const int64_t kind = instruction[INSTRUCTION_KIND];
    UfuncLoop loop = (UfuncLoop)(intptr_t)instruction[INSTRUCTION_LOOP];
    void *data = (void *)(intptr_t)instruction[INSTRUCTION_DATA];
    intptr_t count = instruction[INSTRUCTION_IS_PER_COLUMN] ? columns : 1;
    const int64_t *operands = instruction + INSTRUCTION_OPERANDS;
    struct UfuncValue result = values[instruction[INSTRUCTION_RESULT]], first = values[operands[0]];
    if (kind == PROGRAM_APPLY) {
        char *pointers[4];
        intptr_t strides[4];
        int64_t number = instruction[INSTRUCTION_OPERAND_COUNT];
        for (int64_t index = 0; index < number; index++) {
            pointers[index] = values[operands[index]].address;
            strides[index] = values[operands[index]].stride;
        }
        pointers[number] = result.address, strides[number] = result.stride;
        loop(pointers, &count, strides, data);
        return;
    }
    /* The second operand is the scratch memory of a tree reduction, the third one the bytes of an item. */
    int64_t itemsize = operands[2];
    if (kind == PROGRAM_TREE_REDUCE) {
        ufunc_tree_reduce(loop, data, first, result.address, values[operands[1]].address, itemsize, count);
        return;
    }
    ufunc_reduce(loop, data, first, result.address, itemsize, count);
    if (kind != PROGRAM_REDUCE) ufunc_sign_zero(first, result.address, itemsize, count, kind == PROGRAM_MINIMUM);
}

/* A task. Its closure: PROGRAM_ARRAYS pointers, then the program. */
static void ufunc_program(int64_t task, void *closure) {
    char **arrays = (char **)closure;
    int64_t *program = (int64_t *)closure + PROGRAM_ARRAYS;
    const int64_t rows = program[0], columns = program[1], block_columns = program[2], items_per_task = program[3];
    const int64_t rank = program[4], value_count = program[5], instruction_count = program[6];
    const int64_t *sizes = program + 7;
    int64_t *value_table = program + 7 + rank;
    const int64_t *instructions = value_table + value_count * (PROGRAM_VALUE_FIELDS + rank);
    const int64_t column_blocks = (columns + block_columns - 1) / block_columns;
    const int64_t first = task * items_per_task;
    const int64_t last = first + items_per_task < rows * column_blocks ? first + items_per_task : rows * column_blocks;
    double scratch[PROGRAM_SCRATCH_BYTES / sizeof(double)];
    struct UfuncValue values[PROGRAM_MAX_VALUES];
    for (int64_t work_item = first; work_item < last; work_item++) {
        const int64_t row = work_item / column_blocks, column = work_item % column_blocks * block_columns;
        const int64_t count = columns - column < block_columns ? columns - column : block_columns;
        for (int64_t number = 0; number < value_count; number++) {
            int64_t *value = value_table + number * (PROGRAM_VALUE_FIELDS + rank);
            values[number].stride = value[VALUE_STRIDE];
            if (value[VALUE_ARRAY] == PROGRAM_CONSTANT) {
                values[number].address = (char *)(value + VALUE_OFFSET);
            } else if (value[VALUE_ARRAY] == PROGRAM_SCRATCH) {
                values[number].address = (char *)scratch + value[VALUE_OFFSET];
            } else {
                char *address = arrays[value[VALUE_ARRAY]] + value[VALUE_OFFSET] + column * value[VALUE_STRIDE];
                for (int64_t axis = rank - 1, row_index = row; axis >= 0; row_index /= sizes[axis], axis--)
                    address += row_index % sizes[axis] * value[PROGRAM_VALUE_FIELDS + axis];
                values[number].address = address;
            }
        }
        for (int64_t number = 0; number < instruction_count; number++)
            ufunc_run(instructions + number * PROGRAM_INSTRUCTION_FIELDS, values, count);
    }
}

/* Loops that NumPy lacks or has slow ones of. */

/* Sums as NumPy's loop computes them; sums of adjacent pairs, as tree reductions call it, are vectorized. */
#define PROGRAM_SUM(NAME, TYPE)                                                                                        \
    static void NAME(char **pointers, const intptr_t *count, const intptr_t *strides, void *data) {                    \
        (void)data;                                                                                                    \
        intptr_t n = *count;                                                                                           \
        const intptr_t itemsize = sizeof(TYPE);                                                                        \
        const char *a = pointers[0], *b = pointers[1];                                                                 \
        char *to = pointers[2];                                                                                        \
        if (b == a + itemsize && strides[0] == 2 * itemsize && strides[1] == 2 * itemsize && strides[2] == itemsize) { \
            const TYPE *pairs = (const TYPE *)a;                                                                       \
            TYPE *sums = (TYPE *)to;                                                                                   \
            for (intptr_t i = 0; i < n; i++) sums[i] = pairs[2 * i] + pairs[2 * i + 1];                                \
            return;                                                                                                    \
        }                                                                                                              \
        for (intptr_t i = 0; i < n; i++)                                                                               \
            *(TYPE *)(to + i * strides[2]) =                                                                           \
                *(const TYPE *)(a + i * strides[0]) + *(const TYPE *)(b + i * strides[1]);                             \
    }

#define PROGRAM_CAST(NAME, FROM, TO)                                                                     \
    static void NAME(char **pointers, const intptr_t *count, const intptr_t *strides, void *data) {      \
        (void)data;                                                                                      \
        intptr_t n = *count;                                                                             \
        if (strides[0] == sizeof(FROM) && strides[1] == sizeof(TO)) {                                    \
            const FROM *from = (const FROM *)pointers[0];                                                \
            TO *to = (TO *)pointers[1];                                                                  \
            for (intptr_t i = 0; i < n; i++) to[i] = (TO)from[i];                                        \
            return;                                                                                      \
        }                                                                                                \
        for (intptr_t i = 0; i < n; i++)                                                                 \
            *(TO *)(pointers[1] + i * strides[1]) = (TO) * (const FROM *)(pointers[0] + i * strides[0]); \
    }

#define PROGRAM_SELECT(NAME, TYPE)                                                                        \
    static void NAME(char **pointers, const intptr_t *count, const intptr_t *strides, void *data) {       \
        (void)data;                                                                                       \
        intptr_t n = *count;                                                                              \
        if (strides[0] == 1 && strides[1] == sizeof(TYPE) && !strides[2] && strides[3] == sizeof(TYPE)) { \
            const uint8_t *pred = (const uint8_t *)pointers[0];                                           \
            const TYPE *on_true = (const TYPE *)pointers[1], on_false = *(const TYPE *)pointers[2];       \
            TYPE *to = (TYPE *)pointers[3];                                                               \
            for (intptr_t i = 0; i < n; i++) to[i] = pred[i] ? on_true[i] : on_false;                     \
            return;                                                                                       \
        }                                                                                                 \
        for (intptr_t i = 0; i < n; i++) {                                                                \
            int is_true = *(const uint8_t *)(pointers[0] + i * strides[0]) != 0;                          \
            *(TYPE *)(pointers[3] + i * strides[3]) =                                                     \
                *(const TYPE *)(is_true ? pointers[1] + i * strides[1] : pointers[2] + i * strides[2]);   \
        }                                                                                                 \
    }

PROGRAM_SUM(loop_sum_f32, float)
PROGRAM_SUM(loop_sum_f64, double)
PROGRAM_CAST(loop_f32_to_f64, float, double)
PROGRAM_CAST(loop_f64_to_f32, double, float)
PROGRAM_CAST(loop_i32_to_f32, int32_t, float)
PROGRAM_CAST(loop_i32_to_f64, int32_t, double)
PROGRAM_CAST(loop_i8_to_f32, int8_t, float)
PROGRAM_CAST(loop_i8_to_i32, int8_t, int32_t)
PROGRAM_CAST(loop_copy_8, uint8_t, uint8_t)
PROGRAM_CAST(loop_copy_16, uint16_t, uint16_t)
PROGRAM_CAST(loop_copy_32, uint32_t, uint32_t)
PROGRAM_CAST(loop_copy_64, uint64_t, uint64_t)
PROGRAM_SELECT(loop_select_8, uint8_t)
PROGRAM_SELECT(loop_select_16, uint16_t)
PROGRAM_SELECT(loop_select_32, uint32_t)
PROGRAM_SELECT(loop_select_64, uint64_t)

#endif
