/* Programs on rows: loops over arrays, such as NumPy's, that run one after the other on a row at a time, so that what
   passes between them stays in the cache.

   Words of a program, all of them 64 bits: the number of rows and of columns, how many columns are computed at a time,
   how many units (a row's columns that are computed at a time) a task has; the rank of the rows, the number of values
   and of instructions; the sizes of the rows' dimensions; the values; the instructions. A program whose instructions
   reduce rows computes all columns of a row at a time.

   Words of a value: where it is, an offset in bytes or the bits of a constant, the step from column to column in bytes,
   the steps along the dimensions of the rows. Words of an instruction: its kind, the address of a loop and of the
   loop's data, whether it is done for all columns or once a row, the number of operands, three of them, the result. */

#ifndef NIMBLEHLO_ROW_PROGRAMS_H
#define NIMBLEHLO_ROW_PROGRAMS_H

#include <stdint.h>
#include <string.h>

/* NumPy's form of a loop: pointers, the number of elements, steps in bytes. */
typedef void (*RowLoop)(char **pointers, const intptr_t *count, const intptr_t *steps, void *data);

enum { ROW_ARRAYS = 32, ROW_MOST_VALUES = 96, ROW_SCRATCH_BYTES = 1 << 17 };

/* Where a value is, beside the number of an array. */
enum { ROW_SCRATCH = -1, ROW_CONSTANT = -2 };

enum { ROW_APPLY, ROW_FOLD, ROW_REDUCE, ROW_GREATEST, ROW_LEAST };

enum { ROW_VALUE_WORDS = 3, ROW_INSTRUCTION_WORDS = 9 };

struct RowValue { char *at; intptr_t step; };

/* Combine adjacent pairs, level by level, an odd last one being carried up. The room has space for as many items as
   there are pairs and half as many more. */
static void row_fold(RowLoop loop, void *data, struct RowValue operand, char *result, char *room, int64_t item,
                     intptr_t count) {
    char *rooms[2] = {room, room + (count / 2 + 1) * item};
    char *from = operand.at;
    intptr_t step = operand.step;
    for (int level = 0; count > 1; level++) {
        char *to = rooms[level % 2];
        char *pointers[3] = {from, from + step, to};
        intptr_t pairs = count / 2, steps[3] = {2 * step, 2 * step, item};
        loop(pointers, &pairs, steps, data);
        if (count % 2) memcpy(to + pairs * item, from + (count - 1) * step, item);
        from = to, step = item, count = pairs + count % 2;
    }
    memcpy(result, from, item);
}

static void row_reduce(RowLoop loop, void *data, struct RowValue operand, char *result, int64_t item, intptr_t count) {
    char *pointers[3] = {result, operand.at + operand.step, result};
    intptr_t rest = count - 1, steps[3] = {0, operand.step, 0};
    memcpy(result, operand.at, item);
    if (rest) loop(pointers, &rest, steps, data);
}

static int row_is_negative(const char *float_at, int64_t item) { return (unsigned char)float_at[item - 1] >> 7; }

/* Give a zero among floats its sign, for loops give either: the greatest is negative where all are, the least where
   any is. */
static void row_sign_zero(struct RowValue operand, char *result, int64_t item, intptr_t count, int is_least) {
    char sign = result[item - 1] & (char)0x80;
    for (int64_t byte = 0; byte < item; byte++)
        if (result[byte] != (byte == item - 1 ? sign : 0)) return;
    int negative = !is_least;
    for (intptr_t place = 0; place < count && negative != is_least; place++)
        negative = row_is_negative(operand.at + place * operand.step, item);
    result[item - 1] = negative ? (char)0x80 : 0;
}

static void row_run(const int64_t *instruction, const struct RowValue *values, intptr_t columns) {
    RowLoop loop = (RowLoop)(intptr_t)instruction[1];
    void *data = (void *)(intptr_t)instruction[2];
    intptr_t count = instruction[3] ? columns : 1;
    const int64_t *operands = instruction + 5;
    struct RowValue result = values[instruction[8]], first = values[operands[0]];
    if (instruction[0] == ROW_APPLY) {
        char *pointers[4];
        intptr_t steps[4];
        int64_t number = instruction[4];
        for (int64_t place = 0; place < number; place++) {
            pointers[place] = values[operands[place]].at;
            steps[place] = values[operands[place]].step;
        }
        pointers[number] = result.at, steps[number] = result.step;
        loop(pointers, &count, steps, data);
        return;
    }
    /* The second operand is the room of a fold, the third one the bytes of an item. */
    int64_t item = operands[2];
    if (instruction[0] == ROW_FOLD) {
        row_fold(loop, data, first, result.at, values[operands[1]].at, item, count);
        return;
    }
    row_reduce(loop, data, first, result.at, item, count);
    if (instruction[0] != ROW_REDUCE) row_sign_zero(first, result.at, item, count, instruction[0] == ROW_LEAST);
}

/* A task. Its closure: ROW_ARRAYS pointers, then the program. */
static void row_program(int64_t task, void *closure) {
    char **arrays = (char **)closure;
    int64_t *program = (int64_t *)closure + ROW_ARRAYS;
    const int64_t rows = program[0], columns = program[1], at_a_time = program[2], units_per_task = program[3];
    const int64_t rank = program[4], value_count = program[5], instruction_count = program[6];
    const int64_t *sizes = program + 7;
    int64_t *value_words = program + 7 + rank;
    const int64_t *instructions = value_words + value_count * (ROW_VALUE_WORDS + rank);
    const int64_t parts = (columns + at_a_time - 1) / at_a_time;
    const int64_t first = task * units_per_task;
    const int64_t last = first + units_per_task < rows * parts ? first + units_per_task : rows * parts;
    double scratch[ROW_SCRATCH_BYTES / sizeof(double)];
    struct RowValue values[ROW_MOST_VALUES];
    for (int64_t unit = first; unit < last; unit++) {
        const int64_t row = unit / parts, column = unit % parts * at_a_time;
        const int64_t count = columns - column < at_a_time ? columns - column : at_a_time;
        for (int64_t number = 0; number < value_count; number++) {
            int64_t *value = value_words + number * (ROW_VALUE_WORDS + rank);
            values[number].step = value[2];
            if (value[0] == ROW_CONSTANT) {
                values[number].at = (char *)(value + 1);
            } else if (value[0] == ROW_SCRATCH) {
                values[number].at = (char *)scratch + value[1];
            } else {
                char *at = arrays[value[0]] + value[1] + column * value[2];
                for (int64_t axis = rank - 1, rest = row; axis >= 0; rest /= sizes[axis], axis--)
                    at += rest % sizes[axis] * value[ROW_VALUE_WORDS + axis];
                values[number].at = at;
            }
        }
        for (int64_t number = 0; number < instruction_count; number++)
            row_run(instructions + number * ROW_INSTRUCTION_WORDS, values, count);
    }
}

/* Loops that NumPy has none of, or slow ones. */

/* Sums as NumPy's loop gives them; of adjacent pairs, as a fold asks for them, in vectors. */
#define ROW_SUM(NAME, TYPE)                                                                                            \
    static void NAME(char **pointers, const intptr_t *count, const intptr_t *steps, void *data) {                      \
        (void)data;                                                                                                    \
        intptr_t n = *count;                                                                                           \
        const intptr_t item = sizeof(TYPE);                                                                            \
        const char *a = pointers[0], *b = pointers[1];                                                                 \
        char *to = pointers[2];                                                                                        \
        if (b == a + item && steps[0] == 2 * item && steps[1] == 2 * item && steps[2] == item) {                       \
            const TYPE *pairs = (const TYPE *)a;                                                                       \
            TYPE *sums = (TYPE *)to;                                                                                   \
            for (intptr_t i = 0; i < n; i++) sums[i] = pairs[2 * i] + pairs[2 * i + 1];                                \
            return;                                                                                                    \
        }                                                                                                              \
        for (intptr_t i = 0; i < n; i++)                                                                               \
            *(TYPE *)(to + i * steps[2]) = *(const TYPE *)(a + i * steps[0]) + *(const TYPE *)(b + i * steps[1]);      \
    }

#define ROW_CAST(NAME, FROM, TO)                                                                                       \
    static void NAME(char **pointers, const intptr_t *count, const intptr_t *steps, void *data) {                      \
        (void)data;                                                                                                    \
        intptr_t n = *count;                                                                                           \
        if (steps[0] == sizeof(FROM) && steps[1] == sizeof(TO)) {                                                      \
            const FROM *from = (const FROM *)pointers[0];                                                              \
            TO *to = (TO *)pointers[1];                                                                                \
            for (intptr_t i = 0; i < n; i++) to[i] = (TO)from[i];                                                      \
            return;                                                                                                    \
        }                                                                                                              \
        for (intptr_t i = 0; i < n; i++)                                                                               \
            *(TO *)(pointers[1] + i * steps[1]) = (TO) * (const FROM *)(pointers[0] + i * steps[0]);                   \
    }

#define ROW_CHOICE(NAME, TYPE)                                                                                         \
    static void NAME(char **pointers, const intptr_t *count, const intptr_t *steps, void *data) {                      \
        (void)data;                                                                                                    \
        intptr_t n = *count;                                                                                           \
        if (steps[0] == 1 && steps[1] == sizeof(TYPE) && !steps[2] && steps[3] == sizeof(TYPE)) {                      \
            const uint8_t *pred = (const uint8_t *)pointers[0];                                                        \
            const TYPE *on_true = (const TYPE *)pointers[1], on_false = *(const TYPE *)pointers[2];                    \
            TYPE *to = (TYPE *)pointers[3];                                                                            \
            for (intptr_t i = 0; i < n; i++) to[i] = pred[i] ? on_true[i] : on_false;                                  \
            return;                                                                                                    \
        }                                                                                                              \
        for (intptr_t i = 0; i < n; i++) {                                                                             \
            int is_true = *(const uint8_t *)(pointers[0] + i * steps[0]) != 0;                                         \
            *(TYPE *)(pointers[3] + i * steps[3]) =                                                                    \
                *(const TYPE *)(is_true ? pointers[1] + i * steps[1] : pointers[2] + i * steps[2]);                    \
        }                                                                                                              \
    }

ROW_SUM(row_sum_f32, float)
ROW_SUM(row_sum_f64, double)
ROW_CAST(row_f32_to_f64, float, double)
ROW_CAST(row_f64_to_f32, double, float)
ROW_CAST(row_i32_to_f32, int32_t, float)
ROW_CAST(row_i32_to_f64, int32_t, double)
ROW_CAST(row_i8_to_f32, int8_t, float)
ROW_CAST(row_i8_to_i32, int8_t, int32_t)
ROW_CAST(row_copy_8, uint8_t, uint8_t)
ROW_CAST(row_copy_16, uint16_t, uint16_t)
ROW_CAST(row_copy_32, uint32_t, uint32_t)
ROW_CAST(row_copy_64, uint64_t, uint64_t)
ROW_CHOICE(row_choice_8, uint8_t)
ROW_CHOICE(row_choice_16, uint16_t)
ROW_CHOICE(row_choice_32, uint32_t)
ROW_CHOICE(row_choice_64, uint64_t)

#endif
