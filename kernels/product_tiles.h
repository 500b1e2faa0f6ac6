/* Products of matrices for one element type and one kind of vector: included by `matrix_product.h` for each.

   Defined before: ITEM, LANES, VECTORS (of a full tile), CODE (the attributes of functions), NAME(name), and on
   vectors REPEATED(item), FUSED(a, b, sum), and SOME(address, count) and LEAVE(address, count, vector), which read and
   write the first elements. */

typedef ITEM NAME(Vector) __attribute__((vector_size(LANES * sizeof(ITEM))));
typedef ITEM NAME(Loose) __attribute__((vector_size(LANES * sizeof(ITEM)), aligned(1), may_alias));
typedef ITEM NAME(Item) __attribute__((aligned(1), may_alias));

#define INLINE static inline CODE __attribute__((always_inline))
#define VECTOR NAME(Vector)
#define LOAD(address) ((VECTOR)*(const NAME(Loose) *)(address))
#define WIDTH (VECTORS * LANES)

#ifndef __x86_64__
/* The first elements, and zeros. */
INLINE VECTOR NAME(some)(const char *address, int count) {
    VECTOR some = {0};
    __builtin_memcpy(&some, address, count * sizeof(ITEM));
    return some;
}
#endif

/* Write the sums of one part for `rows` rows and `vectors` vectors of columns, both constants, or add them to what
   is there. Steps are in bytes. */
INLINE void NAME(tile)(
    int rows, int vectors, int adds, const char *left, int64_t row_step, int64_t term_step, const char *right,
    int64_t right_step, int64_t terms, char *to, int64_t to_step) {
    VECTOR sums[PRODUCT_ROWS][VECTORS];
    const char *lines[PRODUCT_ROWS];
    UNROLL for (int row = 0; row < rows; row++) {
        lines[row] = left + row * row_step;
        UNROLL for (int number = 0; number < vectors; number++) sums[row][number] = (VECTOR){0};
    }
    for (int64_t term = 0, along = 0; term < terms; term++, along += term_step, right += right_step) {
        VECTOR columns[VECTORS];
        UNROLL for (int number = 0; number < vectors; number++)
            columns[number] = LOAD(right + number * sizeof(VECTOR));
        UNROLL for (int row = 0; row < rows; row++) {
            VECTOR one = REPEATED(*(const NAME(Item) *)(lines[row] + along));
            UNROLL for (int number = 0; number < vectors; number++)
                sums[row][number] = FUSED(one, columns[number], sums[row][number]);
        }
    }
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int number = 0; number < vectors; number++) {
            char *place = to + row * to_step + number * sizeof(VECTOR);
            if (adds) sums[row][number] = LOAD(place) + sums[row][number];
            *(NAME(Loose) *)place = sums[row][number];
        }
}

#define TILE(rows, vectors)                                                                              \
    case (vectors) * 8 + (rows):                                                                         \
        NAME(tile)(rows, vectors, 0, left, row_step, term_step, right, right_step, terms, to, to_step);  \
        return
#define TILES(vectors) \
    TILE(1, vectors); TILE(2, vectors); TILE(3, vectors); TILE(4, vectors); TILE(5, vectors); TILE(6, vectors)
#if VECTORS == 4
#define ALL_TILES TILES(1); TILES(2); TILES(3); TILES(4);
#else
#define ALL_TILES TILES(1); TILES(2);
#endif

/* The tile of any size, written. */
static CODE void NAME(any_tile)(
    int64_t rows, int64_t vectors, const char *left, int64_t row_step, int64_t term_step, const char *right,
    int64_t right_step, int64_t terms, char *to, int64_t to_step) {
    switch (vectors * 8 + rows) {
        ALL_TILES
    }
}

/* Write or add up `rows` rows of a panel's `columns` columns. */
INLINE void NAME(strip)(
    int64_t rows, int64_t columns, int adds, const char *left, int64_t row_step, int64_t term_step,
    const char *right, int64_t right_step, int64_t terms, char *to, int64_t to_step) {
    ITEM sums[PRODUCT_ROWS][WIDTH] __attribute__((aligned(64)));
    int64_t vectors = (columns + LANES - 1) / LANES;
    if (rows == PRODUCT_ROWS && columns == WIDTH) {
        if (adds)
            NAME(tile)(PRODUCT_ROWS, VECTORS, 1, left, row_step, term_step, right, right_step, terms, to, to_step);
        else
            NAME(tile)(PRODUCT_ROWS, VECTORS, 0, left, row_step, term_step, right, right_step, terms, to, to_step);
    } else if (!adds && columns == vectors * LANES) {
        NAME(any_tile)(rows, vectors, left, row_step, term_step, right, right_step, terms, to, to_step);
    } else {
        NAME(any_tile)(rows, vectors, left, row_step, term_step, right, right_step, terms, (char *)sums, sizeof(sums[0]));
        for (int64_t row = 0; row < rows; row++) {
            NAME(Item) *place = (NAME(Item) *)(to + row * to_step);
            for (int64_t column = 0; column < columns; column++)
                place[column] = adds ? place[column] + sums[row][column] : sums[row][column];
        }
    }
}

/* The same for one part that is all, of which the last vector has `rest` columns. */
INLINE void NAME(small_tile)(
    int rows, int vectors, int rest, const char *left, int64_t row_step, int64_t term_step, const char *right,
    int64_t right_step, int64_t terms, char *to, int64_t to_step) {
    VECTOR sums[PRODUCT_ROWS][VECTORS];
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int number = 0; number < vectors; number++) sums[row][number] = (VECTOR){0};
    for (int64_t term = 0; term < terms; term++, left += term_step, right += right_step) {
        VECTOR columns[VECTORS];
        UNROLL for (int number = 0; number < vectors; number++) {
            const char *place = right + number * sizeof(VECTOR);
            columns[number] = number < vectors - 1 ? LOAD(place) : SOME(place, rest);
        }
        UNROLL for (int row = 0; row < rows; row++) {
            VECTOR one = REPEATED(*(const NAME(Item) *)(left + row * row_step));
            UNROLL for (int number = 0; number < vectors; number++)
                sums[row][number] = FUSED(one, columns[number], sums[row][number]);
        }
    }
    UNROLL for (int row = 0; row < rows; row++)
        UNROLL for (int number = 0; number < vectors; number++) {
            char *place = to + row * to_step + number * sizeof(VECTOR);
            if (number < vectors - 1) *(NAME(Loose) *)place = sums[row][number];
            else LEAVE(place, rest, sums[row][number]);
        }
}

#undef TILE
#define TILE(rows, vectors)                                                                                       \
    case (vectors) * 8 + (rows):                                                                                  \
        NAME(small_tile)(                                                                                         \
            rows, vectors, rest, line, row_step, p->left.term_step, right, p->right.term_step, p->terms, place,   \
            to_step);                                                                                             \
        break

/* Neighbouring small matrices, whose columns lie side by side and fit a tile. */
static CODE void NAME(multiply_small)(
    const MatrixProduct *p, const char *left, const char *right, char *to, int64_t count, int64_t left_step,
    int64_t right_step) {
    int64_t item = sizeof(ITEM), to_step = p->columns * item, row_step = p->left.line_step;
    int64_t vectors = (p->columns + LANES - 1) / LANES;
    int rest = (int)(p->columns - (vectors - 1) * LANES);
    for (; count > 0; count--, left += left_step, right += right_step)
        for (int64_t row = 0; row < p->rows; row += PRODUCT_ROWS) {
            int64_t rows = p->rows - row < PRODUCT_ROWS ? p->rows - row : PRODUCT_ROWS;
            const char *line = left + row * row_step;
            char *place = to;
            to += rows * to_step;
            switch (vectors * 8 + rows) {
                ALL_TILES
            }
        }
}

/* Every other item of the result is from `a` and from `b`: of their first halves, or of their second ones. */
INLINE VECTOR NAME(zip)(VECTOR a, VECTOR b, int is_second) {
#if LANES == 16
    return is_second ? __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
                     : __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
#elif LANES == 8
    return is_second ? __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
                     : __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
#elif LANES == 4
    return is_second ? __builtin_shufflevector(a, b, 2, 6, 3, 7) : __builtin_shufflevector(a, b, 0, 4, 1, 5);
#else
    return is_second ? __builtin_shufflevector(a, b, 1, 3) : __builtin_shufflevector(a, b, 0, 2);
#endif
}

/* Write LANES terms of LANES lines whose terms lie side by side. */
INLINE void NAME(turn)(const char *from, int64_t line_step, char *to, int64_t to_step) {
    VECTOR a[LANES], b[LANES];
    UNROLL for (int line = 0; line < LANES; line++) a[line] = LOAD(from + line * line_step);
    UNROLL for (int round = LANES; round > 1; round /= 2) {
        UNROLL for (int i = 0; i < LANES / 2; i++) {
            b[2 * i] = NAME(zip)(a[i], a[i + LANES / 2], 0);
            b[2 * i + 1] = NAME(zip)(a[i], a[i + LANES / 2], 1);
        }
        UNROLL for (int i = 0; i < LANES; i++) a[i] = b[i];
    }
    UNROLL for (int term = 0; term < LANES; term++) *(NAME(Loose) *)(to + term * to_step) = a[term];
}

/* Write a block with rows and columns exchanged. */
static CODE void NAME(mirror)(const char *from, int64_t step, int64_t rows, int64_t columns, char *to) {
    int64_t item = sizeof(ITEM), whole_rows = rows / LANES * LANES, whole_columns = columns / LANES * LANES;
    for (int64_t column = 0; column < whole_columns; column += LANES)
        for (int64_t row = 0; row < whole_rows; row += LANES)
            NAME(turn)(from + row * step + column * item, step, to + column * step + row * item, step);
    for (int64_t row = 0; row < rows; row++)
        for (int64_t column = row < whole_rows ? whole_columns : 0; column < columns; column++)
            *(NAME(Item) *)(to + column * step + row * item) = *(const NAME(Item) *)(from + row * step + column * item);
}

/* Write the columns of one part as panels: WIDTH columns each but for the last one, as whole vectors; for each term a
   row, behind the last column zeros. */
static CODE void NAME(pack)(
    const char *from, int64_t column_step, int64_t term_step, int64_t columns, int64_t terms, char *to) {
    int64_t item = sizeof(ITEM), whole = columns / LANES * LANES, turned = terms / LANES * LANES;
    if (column_step == item) turned = terms;
    else if (term_step != item) turned = 0;
    for (int64_t term = 0; term < terms; term += column_step == item ? 1 : LANES)
        for (int64_t column = 0; column < whole && term < turned; column += LANES) {
            int64_t panel = column / WIDTH * WIDTH;
            int64_t step = (columns - panel < WIDTH ? (columns - panel + LANES - 1) / LANES * LANES : WIDTH) * item;
            char *place = to + panel * terms * item + term * step + (column - panel) * item;
            const char *source = from + term * term_step + column * column_step;
            if (column_step == item) *(NAME(Loose) *)place = LOAD(source);
            else NAME(turn)(source, column_step, place, step);
        }
    for (int64_t panel = 0; panel < columns; panel += WIDTH, to += WIDTH * terms * item) {
        int64_t here = columns - panel < WIDTH ? columns - panel : WIDTH, width = (here + LANES - 1) / LANES * LANES;
        for (int64_t term = whole >= panel + width ? turned : 0; term < terms; term++) {
            ITEM *place = (ITEM *)to + term * width;
            const char *source = from + term * term_step + panel * column_step;
            for (int64_t column = term < turned ? whole - panel : 0; column < here; column++)
                place[column] = *(const NAME(Item) *)(source + column * column_step);
            for (int64_t column = here; column < width; column++) place[column] = 0;
        }
    }
}

/* Write some rows of one part as strips of PRODUCT_ROWS: for each term the rows' items side by side. */
static CODE void NAME(pack_rows)(
    const char *from, int64_t row_step, int64_t term_step, int64_t rows, int64_t terms, ITEM *to) {
    int64_t whole = row_step == sizeof(ITEM) ? rows / PRODUCT_ROWS * PRODUCT_ROWS : 0;
    for (int64_t term = 0; term < terms; term++)
        for (int64_t row = 0; row < whole; row += PRODUCT_ROWS)
            __builtin_memcpy(
                to + row * terms + PRODUCT_ROWS * term, from + term * term_step + row * sizeof(ITEM),
                PRODUCT_ROWS * sizeof(ITEM));
    for (int64_t row = whole; row < rows; row++) {
        ITEM *place = to + row / PRODUCT_ROWS * PRODUCT_ROWS * terms + row % PRODUCT_ROWS;
        for (int64_t term = 0; term < terms; term++)
            place[PRODUCT_ROWS * term] = *(const NAME(Item) *)(from + row * row_step + term * term_step);
    }
}

/* Multiply a block of rows with a block of columns, part by part; `work` holds one part of the columns, and behind
   it of some rows, where their terms do not lie side by side and are read often enough. */
static CODE void NAME(multiply_block)(
    const MatrixProduct *p, const char *left, const char *right, char *to, int64_t rows, int64_t columns, char *work) {
    int64_t item = sizeof(ITEM), to_step = p->columns * item;
    int64_t is_direct = p->right.line_step == item && rows <= PRODUCT_DIRECT_ROWS;
    /* What is left of whole vectors is always copied. */
    int64_t direct = is_direct ? (columns % LANES ? columns / WIDTH * WIDTH : columns) : 0;
    int64_t packs = p->left.term_step != item && columns > 2 * WIDTH, group = packs ? PRODUCT_GROUP : rows;
    ITEM *strips = (ITEM *)(work + PRODUCT_PART * ((columns + LANES - 1) / LANES * LANES) * item);
    for (int64_t first = 0; first < p->terms; first += PRODUCT_PART) {
        int64_t terms = p->terms - first < PRODUCT_PART ? p->terms - first : PRODUCT_PART;
        const char *line = left + first * p->left.term_step, *from = right + first * p->right.term_step;
        if (direct < columns)
            NAME(pack)(
                from + direct * p->right.line_step, p->right.line_step, p->right.term_step, columns - direct, terms, work);
        for (int64_t start = 0; start < rows; start += group) {
            int64_t end = start + group < rows ? start + group : rows;
            const char *source = line + start * p->left.line_step;
            if (packs) NAME(pack_rows)(source, p->left.line_step, p->left.term_step, end - start, terms, strips);
            for (int64_t column = 0; column < columns; column += WIDTH) {
                int64_t here = columns - column < WIDTH ? columns - column : WIDTH;
                const char *panel = column < direct ? from + column * item : work + (column - direct) * terms * item;
                int64_t step = column < direct ? p->right.term_step : (here + LANES - 1) / LANES * LANES * item;
                for (int64_t row = start; row < end; row += PRODUCT_ROWS) {
                    const char *strip = packs ? (const char *)(strips + (row - start) * terms)
                                              : line + row * p->left.line_step;
                    NAME(strip)(
                        end - row < PRODUCT_ROWS ? end - row : PRODUCT_ROWS, here, first > 0, strip,
                        packs ? item : p->left.line_step, packs ? PRODUCT_ROWS * item : p->left.term_step, panel, step,
                        terms, to + row * to_step + column * item, to_step);
                }
            }
        }
    }
}

#undef TILE
#undef TILES
#undef ALL_TILES
#undef INLINE
#undef VECTOR
#undef LOAD
#undef WIDTH
#undef ITEM
#undef LANES
#undef VECTORS
#undef CODE
#undef NAME
#undef REPEATED
#undef FUSED
#undef SOME
#undef LEAVE
