/* Decompositions of one matrix, panel by panel, for one element type and vector width.

   A panel is WIDTH columns of a matrix, row by row, the components of a row in vectors of their own. A strip is some
   rows of the left factor of products, negated: for each column k the strip's rows. The strip of a triangular matrix
   has the columns up to its last row, and its own triangle behind those. */

#define VECTORS 2
#define WIDTH (VECTORS * LANES)
#define STRIP_ROWS(components) ((VECTOR_BYTES == 64 ? 8 : 4) / (components))
#define MAX_STRIP_ROWS STRIP_ROWS(1)
#define ROW_ITEMS(components) ((components) * WIDTH)
/* Rows that are copied of a column at a time: a cache line of f32. */
#define COPIED_ROWS 16
/* Rows of a system with one right side that are computed at once. */
#define SINGLE_ROWS 16
#define SCALAR_FMA(a, b, c) (sizeof(ITEM) == 4 ? (ITEM)__builtin_fmaf(a, b, c) : (ITEM)__builtin_fma(a, b, c))
/* The divisor of a row, its reciprocal's components, and a number out of `NAME(DivisorKind)`. */
#define DIVISOR_ITEMS 4

enum NAME(DivisorKind) { NAME(irregular_real), NAME(regular_real), NAME(complex) };

/* Add the products of a strip and a panel to rows of a panel. */
INLINE void NAME(tile)(const int components, const ITEM *strip, const ITEM *panel, int64_t k_size, ITEM *to) {
    VECTOR sums[MAX_STRIP_ROWS][VECTORS];
    const int rows = STRIP_ROWS(components);
    UNROLL for (int row = 0; row < rows * components; row++)
        UNROLL for (int number = 0; number < VECTORS; number++) sums[row][number] =
            LOAD(to + (row * VECTORS + number) * LANES);
    for (int64_t k = 0; k < k_size; k++, strip += rows * components, panel += ROW_ITEMS(components)) {
        VECTOR columns[2][VECTORS];
        UNROLL for (int component = 0; component < components; component++)
            UNROLL for (int number = 0; number < VECTORS; number++) columns[component][number] =
                LOAD(panel + (component * VECTORS + number) * LANES);
        UNROLL for (int row = 0; row < rows; row++) {
            VECTOR re = BROADCAST(strip[row * components]);
            UNROLL for (int number = 0; number < VECTORS; number++)
                sums[row * components][number] = FMA(re, columns[0][number], sums[row * components][number]);
            if (components == 1) continue;
            VECTOR im = BROADCAST(strip[row * components + 1]);
            UNROLL for (int number = 0; number < VECTORS; number++) {
                VECTOR *re_sum = &sums[2 * row][number], *im_sum = &sums[2 * row + 1][number];
                *re_sum = FMA(-im, columns[1][number], *re_sum);
                *im_sum = FMA(re, columns[1][number], *im_sum);
                *im_sum = FMA(im, columns[0][number], *im_sum);
            }
        }
    }
    UNROLL for (int row = 0; row < rows * components; row++)
        UNROLL for (int number = 0; number < VECTORS; number++)
            *(NAME(Unaligned) *)(to + (row * VECTORS + number) * LANES) = sums[row][number];
}

/* Load one vector of a row. */
INLINE void NAME(load_row_vector)(const int components, const ITEM *row, int index, VECTOR *to) {
    UNROLL for (int component = 0; component < components; component++) to[component] =
        LOAD(row + (component * VECTORS + index) * LANES);
}

INLINE void NAME(store_row_vector)(const int components, ITEM *row, int index, const VECTOR *from) {
    UNROLL for (int component = 0; component < components; component++)
        *(NAME(Unaligned) *)(row + (component * VECTORS + index) * LANES) = from[component];
}

/* Add `factor`, negated already, times one row to another. */
INLINE void NAME(add_row)(const int components, ITEM *to, const ITEM *factor, const ITEM *row) {
    VECTOR factors[2], sum[2], values[2];
    UNROLL for (int component = 0; component < components; component++) factors[component] =
        BROADCAST(factor[component]);
    UNROLL for (int number = 0; number < VECTORS; number++) {
        NAME(load_row_vector)(components, row, number, values);
        NAME(load_row_vector)(components, to, number, sum);
        NAME(add_product)(components, sum, factors, values);
        NAME(store_row_vector)(components, to, number, sum);
    }
}

/* Describe a divisor, one element, for `divide_row`. */
INLINE void NAME(describe_divisor)(const int components, const ITEM *element, ITEM *divisor) {
    VECTOR values[2];
    UNROLL for (int component = 0; component < components; component++) values[component] =
        BROADCAST(element[component]);
    NAME(Divisor) by = NAME(divisor)(components, values);
    divisor[0] = element[0], divisor[1] = by.reciprocal[0][0];
    divisor[2] = components == 2 ? by.reciprocal[1][0] : 0;
    divisor[3] = components == 2 ? NAME(complex) : by.are_regular ? NAME(regular_real) : NAME(irregular_real);
}

INLINE NAME(Divisor) NAME(described_divisor)(const ITEM *divisor) {
    NAME(Divisor) by = {.divisor = BROADCAST(divisor[0])};
    by.reciprocal[0] = BROADCAST(divisor[1]), by.reciprocal[1] = BROADCAST(divisor[2]);
    by.are_regular = divisor[3] == NAME(regular_real);
    return by;
}

INLINE void NAME(divide_row)(const int components, ITEM *row, const ITEM *divisor) {
    NAME(Divisor) by = NAME(described_divisor)(divisor);
    UNROLL for (int number = 0; number < VECTORS; number++) {
        VECTOR values[2];
        NAME(load_row_vector)(components, row, number, values);
        if (divisor[3] == NAME(complex)) NAME(divide)(components, values, &by);
        else NAME(divide_by_real)(components, values, &by);
        NAME(store_row_vector)(components, row, number, values);
    }
}

/* Where the strip of some number of a triangular matrix begins. */
INLINE int64_t NAME(strip_offset)(const int components, int64_t strip) {
    return components * STRIP_ROWS(components) * STRIP_ROWS(components) * (strip * (strip + 1) / 2);
}

/* Solve with the triangle of a strip; without divisors its diagonal is ones. */
INLINE void NAME(solve_triangle)(
    const int components, const ITEM *triangle, const ITEM *divisors, int64_t rows, ITEM *to) {
    const int height = STRIP_ROWS(components);
    for (int64_t row = 0; row < rows; row++) {
        if (divisors) NAME(divide_row)(components, to + row * ROW_ITEMS(components), divisors + row * DIVISOR_ITEMS);
        for (int64_t below = row + 1; below < rows; below++)
            NAME(add_row)(
                components, to + below * ROW_ITEMS(components), triangle + (row * height + below) * components,
                to + row * ROW_ITEMS(components));
    }
}

/* Solve for the rows of a panel from `first` on, a multiple of the strips' rows, when those above are solved. */
INLINE void NAME(substitute)(
    const int components, const ITEM *strips, const ITEM *divisors, int64_t first, int64_t end, ITEM *panel) {
    const int height = STRIP_ROWS(components);
    for (int64_t row = first; row < end; row += height) {
        const ITEM *strip = strips + NAME(strip_offset)(components, row / height);
        ITEM *to = panel + row * ROW_ITEMS(components);
        if (row) NAME(tile)(components, strip, panel, row, to);
        NAME(solve_triangle)(
            components, strip + row * height * components, divisors ? divisors + row * DIVISOR_ITEMS : 0,
            end - row < height ? end - row : height, to);
    }
}

/* Copy columns of the rows of a strip, negated. Rows behind the last one are the last one again; what they give is not
   used. Strides are in items. */
INLINE void NAME(pack_strip)(
    const int components, const int is_full, const ITEM *from, int64_t row_stride, int64_t column_stride, int64_t rows,
    int64_t k_size, int is_conjugate, ITEM *strip) {
    const int height = STRIP_ROWS(components);
    for (int64_t k = 0; k < k_size; k++, strip += height * components, from += column_stride)
        UNROLL for (int row = 0; row < height; row++) {
            const ITEM *element = from + (is_full || row < rows ? row : rows - 1) * row_stride;
            strip[row * components] = -element[0];
            if (components == 2) strip[row * components + 1] = is_conjugate ? element[1] : -element[1];
        }
}

/* Copy the triangle of a matrix to strips and describe its diagonal. */
INLINE void NAME(pack_triangle)(
    const int components, const LinalgMatrix *matrix, int64_t order, ITEM *strips, ITEM *divisors) {
    const int height = STRIP_ROWS(components);
    const ITEM *from = (const ITEM *)matrix->address;
    int64_t row_stride = matrix->row_stride * components, column_stride = matrix->column_stride * components;
    for (int64_t first = 0; first < order; first += height) {
        int64_t rows = order - first < height ? order - first : height, k_size = first + rows;
        const ITEM *rows_from = from + first * row_stride;
        if (rows == height && row_stride == 1)
            NAME(pack_strip)(components, 1, rows_from, 1, column_stride, rows, k_size, matrix->is_conjugate, strips);
        else if (rows == height)
            NAME(pack_strip)(
                components, 1, rows_from, row_stride, column_stride, rows, k_size, matrix->is_conjugate, strips);
        else
            NAME(pack_strip)(
                components, 0, rows_from, row_stride, column_stride, rows, k_size, matrix->is_conjugate, strips);
        strips += k_size * height * components;
        for (int64_t row = first; row < first + rows && divisors; row++) {
            const ITEM *element = from + row * (row_stride + column_stride);
            ITEM diagonal[2] = {element[0], components == 1 ? 0 : matrix->is_conjugate ? -element[1] : element[1]};
            NAME(describe_divisor)(components, diagonal, divisors + row * DIVISOR_ITEMS);
        }
    }
}

/* Copy LANES vectors, each the next lane of as many vectors of the other matrix. Strides are in items. */
INLINE void NAME(transpose_square)(const ITEM *from, int64_t from_stride, ITEM *to, int64_t to_stride) {
    VECTOR rows[LANES];
    UNROLL for (int row = 0; row < LANES; row++) rows[row] = LOAD(from + row * from_stride);
    TRANSPOSE_VECTORS(VECTOR, LANES, rows)
    UNROLL for (int row = 0; row < LANES; row++) *(NAME(Unaligned) *)(to + row * to_stride) = rows[row];
}

/* Copy some rows of at most WIDTH columns, which need not be contiguous, to a panel: COPIED_ROWS of each column at a
   time, so that the cache lines of columns that are contiguous are read once. Columns behind the last one are zeros. */
INLINE void NAME(load_columns)(
    const int components, const ITEM *from, int64_t row_stride, int64_t column_stride, int is_conjugate, int64_t rows,
    int64_t columns, ITEM *panel) {
    for (int64_t first = 0; first < rows; first += COPIED_ROWS) {
        int64_t count = rows - first < COPIED_ROWS ? rows - first : COPIED_ROWS;
        ITEM *to = panel + first * ROW_ITEMS(components);
        int64_t lane = 0;
        if (components == 1 && row_stride == 1 && count == COPIED_ROWS)
            for (; lane + LANES <= columns; lane += LANES)
                for (int64_t row = 0; row < COPIED_ROWS; row += LANES)
                    NAME(transpose_square)(
                        from + first + row + lane * column_stride, column_stride, to + row * WIDTH + lane, WIDTH);
        for (; lane < columns; lane++) {
            const ITEM *element = from + first * row_stride + lane * column_stride;
            for (int64_t row = 0; row < count; row++, element += row_stride) {
                ITEM *item = to + row * ROW_ITEMS(components) + lane;
                item[0] = element[0];
                if (components == 2) item[WIDTH] = is_conjugate ? -element[1] : element[1];
            }
        }
        for (int64_t row = 0; row < count * components; row++)
            for (int64_t lane = columns; lane < WIDTH; lane++) to[row * WIDTH + lane] = 0;
    }
}

/* Copy some rows of at most WIDTH columns to a panel. Columns behind the last one are zeros. */
INLINE void NAME(load_panel)(
    const int components, const LinalgMatrix *matrix, int64_t first_row, int64_t rows, int64_t column, int64_t columns,
    ITEM *panel) {
    int64_t row_stride = matrix->row_stride * components, column_stride = matrix->column_stride * components;
    const ITEM *from = (const ITEM *)matrix->address + first_row * row_stride + column * column_stride;
    if (components != 1 || column_stride != 1 || columns != WIDTH) {
        NAME(load_columns)(
            components, from, row_stride, column_stride, matrix->is_conjugate, rows, columns, panel);
        return;
    }
    for (int64_t row = 0; row < rows; row++, from += row_stride, panel += ROW_ITEMS(components))
        UNROLL for (int number = 0; number < VECTORS; number++)
            *(NAME(Unaligned) *)(panel + number * LANES) = LOAD(from + number * LANES);
}

/* Copy rows of a panel to a matrix, COPIED_ROWS of each column at a time; of row i those columns from
   `i - first_diagonal` on. */
INLINE void NAME(store_columns)(
    const int components, ITEM *to, int64_t row_stride, int64_t column_stride, int is_conjugate, int64_t rows,
    int64_t columns, int64_t first_diagonal, const ITEM *panel) {
    for (int64_t first = 0; first < rows; first += COPIED_ROWS) {
        const ITEM *from = panel + first * ROW_ITEMS(components);
        int64_t lane = 0;
        while (lane < columns) {
            if (components == 1 && row_stride == 1 && lane % LANES == 0 && lane + LANES <= columns &&
                first + COPIED_ROWS <= rows && first + COPIED_ROWS <= lane + first_diagonal + 1) {
                for (int64_t row = 0; row < COPIED_ROWS; row += LANES)
                    NAME(transpose_square)(
                        from + row * WIDTH + lane, WIDTH, to + first + row + lane * column_stride, column_stride);
                lane += LANES;
                continue;
            }
            int64_t behind = lane + first_diagonal + 1 < rows ? lane + first_diagonal + 1 : rows;
            int64_t count = behind - first < COPIED_ROWS ? behind - first : COPIED_ROWS;
            ITEM *element = to + first * row_stride + lane * column_stride;
            for (int64_t row = 0; row < count; row++, element += row_stride) {
                const ITEM *item = from + row * ROW_ITEMS(components) + lane;
                element[0] = item[0];
                if (components == 2) element[1] = is_conjugate ? -item[WIDTH] : item[WIDTH];
            }
            lane++;
        }
    }
}

/* Copy rows of a panel to a matrix; of row i those columns from `i - first_diagonal` on. */
INLINE void NAME(store_panel)(
    const int components, const LinalgMatrix *matrix, int64_t first_row, int64_t rows, int64_t column, int64_t columns,
    int64_t first_diagonal, const ITEM *panel) {
    int64_t row_stride = matrix->row_stride * components, column_stride = matrix->column_stride * components;
    ITEM *to = (ITEM *)matrix->address + first_row * row_stride + column * column_stride;
    int64_t full = components != 1 || column_stride != 1 || columns != WIDTH ? 0
        : rows < first_diagonal + 1 ? rows : first_diagonal + 1;
    for (int64_t row = 0; row < full; row++, to += row_stride, panel += ROW_ITEMS(components))
        UNROLL for (int number = 0; number < VECTORS; number++)
            *(NAME(Unaligned) *)(to + number * LANES) = LOAD(panel + number * LANES);
    NAME(store_columns)(
        components, to, row_stride, column_stride, matrix->is_conjugate, rows - full, columns, first_diagonal - full,
        panel);
}

/* Where the parts of a workspace of one problem are: a panel, then divisors, then strips. */
INLINE ITEM *NAME(divisors_in)(const int components, int64_t order, char *workspace) {
    return (ITEM *)workspace + (order + WIDTH) * ROW_ITEMS(components);
}

/* Pack the triangle of a problem. */
INLINE void NAME(prepare)(const int components, const Linalg *p, int64_t problem, char *workspace) {
    LinalgMatrix a = linalg_problem(&p->a, problem, components * sizeof(ITEM));
    ITEM *divisors = NAME(divisors_in)(components, p->order, workspace);
    NAME(pack_triangle)(
        components, &a, p->order, divisors + p->order * DIVISOR_ITEMS, p->is_unit ? 0 : divisors);
}

/* Solve a problem, whose triangle is packed, for some columns. */
INLINE void NAME(solve)(
    const int components, const Linalg *p, int64_t problem, int64_t first, int64_t end, const char *packed,
    char *workspace) {
    LinalgMatrix b = linalg_problem(&p->b, problem, components * sizeof(ITEM));
    LinalgMatrix x = linalg_problem(&p->x, problem, components * sizeof(ITEM));
    const ITEM *divisors = NAME(divisors_in)(components, p->order, (char *)packed);
    const ITEM *strips = divisors + p->order * DIVISOR_ITEMS;
    ITEM *panel = (ITEM *)workspace;
    for (int64_t column = first; column < end; column += WIDTH) {
        int64_t columns = end - column < WIDTH ? end - column : WIDTH;
        NAME(load_panel)(components, &b, 0, p->order, column, columns, panel);
        NAME(substitute)(components, strips, p->is_unit ? 0 : divisors, 0, p->order, panel);
        NAME(store_panel)(components, &x, 0, p->order, column, columns, p->order, panel);
    }
}

/* Subtract from the elements of SINGLE_ROWS rows, components side by side, the products of the first `k_size` columns
   of a matrix and the solution. */
INLINE void NAME(subtract_from_rows)(
    const int components, const int is_contiguous, const ITEM *from, int64_t row_stride, int64_t column_stride,
    ITEM im_sign, int64_t k_size, const ITEM *x, ITEM *values) {
    ITEM sums[2][SINGLE_ROWS];
    UNROLL for (int row = 0; row < SINGLE_ROWS; row++)
        UNROLL for (int component = 0; component < components; component++)
            sums[component][row] = values[row * components + component];
    for (int64_t k = 0; k < k_size; k++, from += column_stride, x += components)
        UNROLL for (int row = 0; row < SINGLE_ROWS; row++) {
            const ITEM *element = from + row * (is_contiguous ? components : row_stride);
            ITEM re = -element[0];
            sums[0][row] = SCALAR_FMA(re, x[0], sums[0][row]);
            if (components == 1) continue;
            ITEM im = -im_sign * element[1];
            sums[0][row] = SCALAR_FMA(-im, x[1], sums[0][row]);
            sums[1][row] = SCALAR_FMA(re, x[1], sums[1][row]);
            sums[1][row] = SCALAR_FMA(im, x[0], sums[1][row]);
        }
    UNROLL for (int row = 0; row < SINGLE_ROWS; row++)
        UNROLL for (int component = 0; component < components; component++)
            values[row * components + component] = sums[component][row];
}

/* The same where neighbours in memory are in a row, tile by tile: the rows of a large matrix may be in the same set of
   the cache, which holds fewer of their lines. */
INLINE void NAME(subtract_tiles_from_rows)(
    const int components, const ITEM *from, int64_t row_stride, ITEM im_sign, int64_t k_size, const ITEM *x,
    ITEM *values) {
    ITEM tile[SINGLE_ROWS * SINGLE_ROWS * 2];
    const int width = SINGLE_ROWS * components;
    for (int64_t k = 0; k < k_size; k += SINGLE_ROWS, from += width, x += width) {
        UNROLL for (int row = 0; row < SINGLE_ROWS; row++)
            __builtin_memcpy(tile + row * width, from + row * row_stride, width * sizeof(ITEM));
        NAME(subtract_from_rows)(components, 0, tile, width, components, im_sign, SINGLE_ROWS, x, values);
    }
}

/* Divide an element by one on the diagonal. */
INLINE void NAME(divide_single)(const int components, ITEM *element, const ITEM *diagonal, ITEM im_sign) {
    VECTOR values[2], divisors[2];
    divisors[0] = BROADCAST(diagonal[0]), values[0] = BROADCAST(element[0]);
    if (components == 2) divisors[1] = BROADCAST(im_sign * diagonal[1]), values[1] = BROADCAST(element[1]);
    NAME(Divisor) by = NAME(divisor)(components, divisors);
    NAME(divide)(components, values, &by);
    UNROLL for (int component = 0; component < components; component++) element[component] = values[component][0];
}

/* Solve a problem with one right side, without copying its triangle. */
INLINE void NAME(solve_single)(const int components, const Linalg *p, int64_t problem, char *workspace) {
    LinalgMatrix a = linalg_problem(&p->a, problem, components * sizeof(ITEM));
    LinalgMatrix b = linalg_problem(&p->b, problem, components * sizeof(ITEM));
    LinalgMatrix x = linalg_problem(&p->x, problem, components * sizeof(ITEM));
    int64_t row_stride = a.row_stride * components, column_stride = a.column_stride * components;
    const ITEM *matrix = (const ITEM *)a.address;
    ITEM *values = (ITEM *)workspace, im_sign = a.is_conjugate ? -1 : 1;
    for (int64_t row = 0; row < p->order; row++)
        for (int component = 0; component < components; component++) values[row * components + component] =
            ((const ITEM *)b.address)[row * b.row_stride * components + component];
    for (int64_t first = 0; first < p->order; first += SINGLE_ROWS) {
        int64_t rows = p->order - first < SINGLE_ROWS ? p->order - first : SINGLE_ROWS;
        ITEM *block = values + first * components;
        const ITEM *from = matrix + first * row_stride;
        if (rows == SINGLE_ROWS && row_stride == components)
            NAME(subtract_from_rows)(components, 1, from, components, column_stride, im_sign, first, values, block);
        else if (rows == SINGLE_ROWS && column_stride == components)
            NAME(subtract_tiles_from_rows)(components, from, row_stride, im_sign, first, values, block);
        else if (rows == SINGLE_ROWS)
            NAME(subtract_from_rows)(components, 0, from, row_stride, column_stride, im_sign, first, values, block);
        for (int64_t row = 0; row < rows; row++) {
            const ITEM *factors = from + row * row_stride;
            ITEM *element = block + row * components;
            for (int64_t k = rows == SINGLE_ROWS ? first : 0; k < first + row; k++) {
                ITEM re = -factors[k * column_stride], *known = values + k * components;
                element[0] = SCALAR_FMA(re, known[0], element[0]);
                if (components == 1) continue;
                ITEM im = -im_sign * factors[k * column_stride + 1];
                element[0] = SCALAR_FMA(-im, known[1], element[0]);
                element[1] = SCALAR_FMA(re, known[1], element[1]);
                element[1] = SCALAR_FMA(im, known[0], element[1]);
            }
            if (!p->is_unit)
                NAME(divide_single)(components, element, factors + (first + row) * column_stride, im_sign);
        }
    }
    for (int64_t row = 0; row < p->order; row++)
        for (int component = 0; component < components; component++)
            ((ITEM *)x.address)[row * x.row_stride * components + component] = values[row * components + component];
}

/* Bytes that solving a problem takes. */
INLINE int64_t NAME(solve_bytes)(const int components, const Linalg *p) {
    if (p->columns == 1) return p->order * components * sizeof(ITEM);
    int64_t height = STRIP_ROWS(components), strips = (p->order + height - 1) / height;
    int64_t items = (p->order + WIDTH) * ROW_ITEMS(components) + p->order * DIVISOR_ITEMS;
    return (items + NAME(strip_offset)(components, strips)) * sizeof(ITEM);
}
