/* Factorizations of one matrix, block by block, for one element type and vector width.

   The workspace has all panels of the matrix, then divisors (Cholesky) or a column (LU), then strips. A block is
   `linalg_block_panels` panels. Once it is factored, the other panels are brought up to date, each by itself. */

#define BLOCK_COLUMNS(p) (linalg_block_panels(p) * WIDTH)
/* Rows of a panel from which the products of earlier steps are subtracted together. */
#define EARLIER_ROWS 4

/* Items of a panel in the workspace. */
INLINE int64_t NAME(panel_items)(const int components, const Linalg *p) {
    return (p->order + WIDTH - 1) / WIDTH * WIDTH * ROW_ITEMS(components);
}

INLINE int64_t NAME(panel_count)(const Linalg *p) { return (p->columns + WIDTH - 1) / WIDTH; }

INLINE ITEM *NAME(panel_in)(const int components, const Linalg *p, char *workspace, int64_t panel) {
    return (ITEM *)workspace + panel * NAME(panel_items)(components, p);
}

/* The divisors of a Cholesky factor, or the column of pivots of LU. */
INLINE ITEM *NAME(pivot_scratch)(const int components, const Linalg *p, char *workspace) {
    return NAME(panel_in)(components, p, workspace, NAME(panel_count)(p));
}

INLINE ITEM *NAME(strips_of)(const int components, const Linalg *p, char *workspace) {
    return NAME(pivot_scratch)(components, p, workspace) + (p->order + LANES) * DIVISOR_ITEMS;
}

/* Bytes that factoring a problem takes. */
INLINE int64_t NAME(factor_bytes)(const int components, const Linalg *p) {
    int64_t strips = p->routine == LINALG_CHOLESKY
        ? NAME(strip_offset)(components, (p->order + STRIP_ROWS(components) - 1) / STRIP_ROWS(components))
        : (p->order + MAX_STRIP_ROWS) * BLOCK_COLUMNS(p) * components;
    int64_t middle = (p->order + LANES) * DIVISOR_ITEMS;
    return (NAME(panel_count)(p) * NAME(panel_items)(components, p) + middle + strips) * sizeof(ITEM);
}

/* Factor the block of a panel on the diagonal, whose first row is `first`. Appends its strips. Returns the row that
   has no factor, counted from 1, or 0. */
INLINE int64_t NAME(factor_diagonal)(
    const int components, int64_t order, int64_t first, ITEM *strips, ITEM *divisors, ITEM *panel) {
    const int height = STRIP_ROWS(components);
    int64_t end = order - first < WIDTH ? order : first + WIDTH;
    for (int64_t row = first; row < end; row += height) {
        int64_t rows = end - row < height ? end - row : height;
        ITEM *strip = strips + NAME(strip_offset)(components, row / height), *packed = strip;
        ITEM *block = panel + row * ROW_ITEMS(components);
        for (int64_t k = 0; k < row; k++)
            for (int64_t i = 0; i < height; i++, packed += components) {
                const ITEM *element = panel + k * ROW_ITEMS(components) + row - first + i;
                packed[0] = -element[0];
                if (components == 2) packed[1] = element[WIDTH];
            }
        if (row) NAME(tile)(components, strip, panel, row, block);
        for (int64_t i = 0; i < rows; i++, packed += height * components) {
            ITEM *pivot_row = block + i * ROW_ITEMS(components), *pivot = pivot_row + row - first + i;
            if (!(*pivot > 0)) return row + i + 1;
            ITEM root[2] = {SQRT(*pivot), 0}, *divisor = divisors + (row + i) * DIVISOR_ITEMS;
            NAME(describe_divisor)(1, root, divisor);
            NAME(divide_row)(components, pivot_row, divisor);
            pivot[0] = root[0];
            if (components == 2) pivot[WIDTH] = 0;
            for (int64_t below = i + 1; below < rows; below++) {
                packed[below * components] = -pivot[below - i];
                if (components == 2) packed[below * components + 1] = pivot[WIDTH + below - i];
                NAME(add_row)(
                    components, block + below * ROW_ITEMS(components), packed + below * components, pivot_row);
            }
        }
    }
    return 0;
}

/* Write the elements of x that the factorization does not: the other triangle. If it failed in a row: NaN everywhere
   if `zeros_other_triangle`, else a's elements from that row on, except the pivot that failed. */
INLINE void NAME(finish_factor)(const int components, const Linalg *p, int64_t problem, int64_t info) {
    int64_t row_stride = p->x.row_stride * components, column_stride = p->x.column_stride * components;
    ITEM *factor = (ITEM *)p->x.address + problem * p->x.problem_stride * components;
    const ITEM *a = (const ITEM *)p->a.address + problem * p->a.problem_stride * components;
    const int zeros = p->zeros_other_triangle;
    if (p->info) p->info[problem] = (int32_t)info;
    if (!info) {
        /* Along the contiguous dimension. */
        int is_by_columns = row_stride < column_stride;
        for (int64_t outer = 0; outer < p->order; outer++) {
            int64_t inner = is_by_columns ? outer + 1 : 0, count = is_by_columns ? p->order - inner : outer;
            int64_t at = outer * (row_stride + column_stride - components) + inner * components;
            for (int64_t item = at; item < at + count * components; item++) factor[item] = zeros ? 0 : a[item];
        }
        return;
    }
    for (int64_t row = 0; row < p->order; row++) {
        int64_t end = zeros || row + 1 >= info ? p->order : row;
        for (int64_t column = 0; column < end; column++) {
            if (!zeros && row == column && row + 1 == info) continue;
            for (int component = 0; component < components; component++) {
                int64_t at = row * row_stride + column * column_stride + component;
                factor[at] = zeros ? (ITEM)__builtin_nan("") : a[at];
            }
        }
    }
}

/* Factor the panels of the block whose first column is `first`. */
INLINE int64_t NAME(cholesky_block)(const int components, const Linalg *p, int64_t first, char *workspace) {
    ITEM *divisors = NAME(pivot_scratch)(components, p, workspace), *strips = NAME(strips_of)(components, p, workspace);
    int64_t end = p->order - first < BLOCK_COLUMNS(p) ? p->order : first + BLOCK_COLUMNS(p), info = 0;
    /* Without a factor the rows above are finished. */
    for (int64_t column = first; column < (info ? p->order : end); column += WIDTH) {
        ITEM *panel = NAME(panel_in)(components, p, workspace, column / WIDTH);
        NAME(substitute)(components, strips, divisors, first, info ? info - 1 : column, panel);
        if (!info) info = NAME(factor_diagonal)(components, p->order, column, strips, divisors, panel);
    }
    return info;
}

/* Exchange rows as some pivots tell. */
INLINE void NAME(exchange_rows)(
    const int components, const int32_t *pivots, int64_t first, int64_t end, ITEM *panel) {
    for (int64_t row = first; row < end; row++) {
        ITEM *one = panel + row * ROW_ITEMS(components), *other = panel + (pivots[row] - 1) * ROW_ITEMS(components);
        if (one == other) continue;
        UNROLL for (int number = 0; number < components * VECTORS; number++) {
            VECTOR values = LOAD(one + number * LANES);
            *(NAME(Unaligned) *)(one + number * LANES) = LOAD(other + number * LANES);
            *(NAME(Unaligned) *)(other + number * LANES) = values;
        }
    }
}

/* |re| + |im|, by which pivots are chosen, as LAPACK does. */
INLINE ITEM NAME(size_of)(const int components, ITEM re, ITEM im) {
    ITEM size = re < 0 ? -re : re;
    return components == 1 ? size : size + (im < 0 ? -im : im);
}

/* Copy a column of the rows from the pivot's on, whose steps all rows above have had, and return where its first largest
   element is, counted from the pivot's row. The imaginary components are `im_offset` items behind the real ones. */
INLINE int64_t NAME(copy_column)(
    const int components, const ITEM *from, int64_t rows, ITEM *column, int64_t im_offset, ITEM *largest) {
    int64_t pivot = 0;
    for (int64_t row = 0; row < rows; row++, from += ROW_ITEMS(components)) {
        ITEM re = from[0], im = components == 2 ? from[WIDTH] : 0, size = NAME(size_of)(components, re, im);
        column[row] = re;
        if (components == 2) column[im_offset + row] = im;
        if (row == 0 || size > *largest) *largest = size, pivot = row;
    }
    return pivot;
}

/* Divide a column by its first element. */
INLINE void NAME(divide_column)(const int components, int64_t rows, ITEM *column, int64_t im_offset) {
    VECTOR values[2];
    UNROLL for (int component = 0; component < components; component++) values[component] =
        BROADCAST(column[component * im_offset]);
    NAME(Divisor) by = NAME(divisor)(components, values);
    for (int64_t row = 0; row < rows; row += LANES) {
        UNROLL for (int component = 0; component < components; component++) values[component] =
            LOAD(column + component * im_offset + row);
        NAME(divide)(components, values, &by);
        UNROLL for (int component = 0; component < components; component++)
            *(NAME(Unaligned) *)(column + component * im_offset + row) = values[component];
    }
}

/* Subtract the products of a step from one vector of the rows below the pivot's: of the factors in `column`, which are
   stored in the lane of the pivot, and the pivot's row. Only lanes behind that one have products. */
INLINE void NAME(subtract_step)(
    const int components, int64_t rows, int number, int pivot_lane, const ITEM *column, int64_t im_offset,
    ITEM *pivot_row) {
    MASK_VECTOR is_pivots = {0}, is_behind = {0};
    VECTOR pivots[2];
    UNROLL for (int lane = 0; lane < LANES; lane++) {
        is_pivots[lane] = lane == pivot_lane ? -1 : 0;
        is_behind[lane] = lane > pivot_lane ? -1 : 0;
    }
    NAME(load_row_vector)(components, pivot_row, number, pivots);
    for (int64_t row = 1; row < rows; row++) {
        ITEM *to = pivot_row + row * ROW_ITEMS(components);
        VECTOR factor[2], negative[2], old[2], sum[2];
        NAME(load_row_vector)(components, to, number, old);
        UNROLL for (int component = 0; component < components; component++) {
            sum[component] = old[component];
            factor[component] = BROADCAST(column[component * im_offset + row]);
            negative[component] = -factor[component];
        }
        NAME(add_product)(components, sum, negative, pivots);
        UNROLL for (int component = 0; component < components; component++) {
            VECTOR kept = NAME(choose)(is_pivots, factor[component], old[component]);
            sum[component] = NAME(choose)(is_behind, sum[component], kept);
        }
        NAME(store_row_vector)(components, to, number, sum);
    }
}

/* Subtract from one vector of some rows the products of their factors of the first `steps` steps of a panel, and of the
   rows of these, which begin at `pivot_rows`. */
INLINE void NAME(subtract_earlier_steps)(
    const int components, const int rows, int number, int64_t steps, const ITEM *pivot_rows, ITEM *to) {
    VECTOR sums[EARLIER_ROWS][2], pivots[2], negative[2];
    UNROLL for (int row = 0; row < rows; row++)
        NAME(load_row_vector)(components, to + row * ROW_ITEMS(components), number, sums[row]);
    for (int64_t step = 0; step < steps; step++) {
        NAME(load_row_vector)(components, pivot_rows + step * ROW_ITEMS(components), number, pivots);
        UNROLL for (int row = 0; row < rows; row++) {
            const ITEM *factor = to + row * ROW_ITEMS(components) + step;
            UNROLL for (int component = 0; component < components; component++) negative[component] =
                -BROADCAST(factor[component * WIDTH]);
            NAME(add_product)(components, sums[row], negative, pivots);
        }
    }
    UNROLL for (int row = 0; row < rows; row++)
        NAME(store_row_vector)(components, to + row * ROW_ITEMS(components), number, sums[row]);
}

/* Subtract from one vector of the rows of a panel the products of all steps whose pivots are in vectors before it. */
INLINE void NAME(subtract_earlier_vectors)(const int components, int64_t rows, int number, ITEM *pivot_rows) {
    int64_t steps = number * LANES, row = 1;
    for (; row < steps && row < rows; row++)
        NAME(subtract_earlier_steps)(
            components, 1, number, row, pivot_rows, pivot_rows + row * ROW_ITEMS(components));
    for (; row + EARLIER_ROWS <= rows; row += EARLIER_ROWS)
        NAME(subtract_earlier_steps)(
            components, EARLIER_ROWS, number, steps, pivot_rows, pivot_rows + row * ROW_ITEMS(components));
    for (; row < rows; row++)
        NAME(subtract_earlier_steps)(
            components, 1, number, steps, pivot_rows, pivot_rows + row * ROW_ITEMS(components));
}

/* Factor a panel, whose first column is `first`, by `steps` pivots, vector by vector. `column` has memory for one
   column. Returns the first pivot that is zero, counted from 1, or 0. */
INLINE int64_t NAME(factor_panel)(
    const int components, int64_t rows, int64_t first, int64_t steps, ITEM *panel, int32_t *pivots, ITEM *column) {
    int64_t info = 0, im_offset = rows + LANES;
    ITEM *first_row = panel + first * ROW_ITEMS(components);
    for (int number = 0; number < VECTORS; number++) {
        if (number) NAME(subtract_earlier_vectors)(components, rows - first, number, first_row);
        for (int lane = 0; lane < LANES && number * LANES + lane < steps; lane++) {
            int64_t row = first + number * LANES + lane;
            ITEM *pivot_row = panel + row * ROW_ITEMS(components), largest;
            int64_t pivot = NAME(copy_column)(
                components, pivot_row + number * LANES + lane, rows - row, column, im_offset, &largest);
            pivots[row] = (int32_t)(row + pivot + 1);
            NAME(exchange_rows)(components, pivots, row, row + 1, panel);
            UNROLL for (int component = 0; component < components; component++) {
                ITEM *values = column + component * im_offset, chosen = values[pivot];
                values[pivot] = values[0], values[0] = chosen;
            }
            if (largest == 0) {
                if (!info) info = row + 1;
            } else {
                NAME(divide_column)(components, rows - row, column, im_offset);
            }
            NAME(subtract_step)(components, rows - row, number, lane, column, im_offset, pivot_row);
        }
    }
    return info;
}

/* Copy the lower factors of a block to strips, each with `k_size` columns. */
INLINE void NAME(pack_block)(
    const int components, const Linalg *p, int64_t first, int64_t k_size, char *workspace) {
    const int height = STRIP_ROWS(components);
    ITEM *strip = NAME(strips_of)(components, p, workspace);
    for (int64_t row = first; row < p->order; row += height)
        for (int64_t k = 0; k < k_size; k += WIDTH) {
            int64_t columns = k_size - k < WIDTH ? k_size - k : WIDTH;
            const ITEM *from = NAME(panel_in)(components, p, workspace, (first + k) / WIDTH)
                + row * ROW_ITEMS(components);
            for (int64_t lane = 0; lane < columns; lane++, strip += height * components)
                UNROLL for (int i = 0; i < height; i++)
                    UNROLL for (int component = 0; component < components; component++)
                        strip[i * components + component] =
                            -from[i * ROW_ITEMS(components) + component * WIDTH + lane];
        }
}

/* Bring a panel up to date: solve for the rows of the block, and subtract its products from those below. */
INLINE void NAME(update_panel)(
    const int components, const Linalg *p, int64_t first, int64_t k_size, int64_t index, char *workspace) {
    const int height = STRIP_ROWS(components);
    const ITEM *strip = NAME(strips_of)(components, p, workspace);
    ITEM *panel = NAME(panel_in)(components, p, workspace, index), *top = panel + first * ROW_ITEMS(components);
    for (int64_t row = first; row < p->order; row += height, strip += k_size * height * components) {
        int64_t above = row - first, rows = k_size - above < height ? k_size - above : height;
        ITEM *to = panel + row * ROW_ITEMS(components);
        if (above) NAME(tile)(components, strip, top, above < k_size ? above : k_size, to);
        if (above < k_size) NAME(solve_triangle)(components, strip + above * height * components, 0, rows, to);
    }
}

/* Factor the panels of the block whose first column is `first`. */
INLINE int64_t NAME(lu_block)(
    const int components, const Linalg *p, int64_t problem, int64_t first, char *workspace) {
    int64_t pivot_count = p->order < p->columns ? p->order : p->columns, info = 0, panels = NAME(panel_count)(p);
    int64_t end = pivot_count - first < BLOCK_COLUMNS(p) ? pivot_count : first + BLOCK_COLUMNS(p);
    int32_t *pivots = p->pivots + problem * pivot_count;
    for (int64_t column = first; column < end; column += WIDTH) {
        int64_t index = column / WIDTH, steps = end - column < WIDTH ? end - column : WIDTH;
        if (column > first) {
            NAME(pack_block)(components, p, first, column - first, workspace);
            NAME(update_panel)(components, p, first, column - first, index, workspace);
        }
        int64_t zero = NAME(factor_panel)(
            components, p->order, column, steps, NAME(panel_in)(components, p, workspace, index), pivots,
            NAME(pivot_scratch)(components, p, workspace));
        if (!info) info = zero;
        for (int64_t other = 0; other < panels; other++)
            if (other != index)
                NAME(exchange_rows)(
                    components, pivots, column, column + steps, NAME(panel_in)(components, p, workspace, other));
    }
    if (end < p->columns) NAME(pack_block)(components, p, first, end - first, workspace);
    return info;
}

/* Load the panels of a problem; for a Cholesky factor only what is above the diagonal's end. */
INLINE void NAME(load)(const int components, const Linalg *p, int64_t problem, char *workspace) {
    LinalgMatrix a = linalg_problem(&p->a, problem, components * sizeof(ITEM));
    for (int64_t column = 0; column < p->columns; column += WIDTH) {
        int64_t columns = p->columns - column < WIDTH ? p->columns - column : WIDTH;
        NAME(load_panel)(
            components, &a, 0, p->routine == LINALG_CHOLESKY ? column + columns : p->order, column, columns,
            NAME(panel_in)(components, p, workspace, column / WIDTH));
    }
}

/* Factor a block; see `LinalgFunctions`. */
INLINE int64_t NAME(factor_block)(
    const int components, const Linalg *p, int64_t problem, int64_t first, char *workspace) {
    return p->routine == LINALG_CHOLESKY ? NAME(cholesky_block)(components, p, first, workspace)
                                         : NAME(lu_block)(components, p, problem, first, workspace);
}

/* Bring some panels up to date with a block. */
INLINE void NAME(update)(
    const int components, const Linalg *p, int64_t first, int64_t first_panel, int64_t end_panel, char *workspace) {
    int64_t pivot_count = p->order < p->columns ? p->order : p->columns;
    int64_t end = pivot_count - first < BLOCK_COLUMNS(p) ? pivot_count : first + BLOCK_COLUMNS(p);
    const ITEM *divisors = NAME(pivot_scratch)(components, p, workspace);
    const ITEM *strips = NAME(strips_of)(components, p, workspace);
    for (int64_t index = first_panel; index < end_panel; index++)
        if (p->routine == LINALG_CHOLESKY)
            NAME(substitute)(
                components, strips, divisors, first, end, NAME(panel_in)(components, p, workspace, index));
        else
            NAME(update_panel)(components, p, first, end - first, index, workspace);
}

/* Store the panels of a problem. */
INLINE void NAME(store)(const int components, const Linalg *p, int64_t problem, int64_t info, char *workspace) {
    LinalgMatrix x = linalg_problem(&p->x, problem, components * sizeof(ITEM));
    int64_t is_triangle = p->routine == LINALG_CHOLESKY;
    for (int64_t column = 0; column < p->columns; column += WIDTH) {
        int64_t columns = p->columns - column < WIDTH ? p->columns - column : WIDTH;
        NAME(store_panel)(
            components, &x, 0, is_triangle ? column + columns : p->order, column, columns,
            is_triangle ? column : p->order, NAME(panel_in)(components, p, workspace, column / WIDTH));
    }
    if (is_triangle) NAME(finish_factor)(components, p, problem, info);
    else p->info[problem] = (int32_t)info;
}
