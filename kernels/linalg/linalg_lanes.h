/* Decompositions of LANES small matrices at once, each in a lane of its own, for one element type and vector width.
   The order of operations is that of `linalg_panels.h`. Elements of a matrix are vectors, row by row, components side
   by side. */

/* Columns of a row that are computed at once. */
#define LANE_COLUMNS 4

/* Copy matrices of consecutive problems to lanes; the last of `count` problems to all lanes behind it. A
   positive `triangle` means only what is on and right of the diagonal, a negative one what is on and left of it. */
INLINE void NAME(load_lanes)(
    const int components, const LinalgMatrix *matrix, int64_t rows, int64_t columns, int triangle, int64_t count,
    VECTOR *to) {
    int64_t row_stride = matrix->row_stride * components, column_stride = matrix->column_stride * components;
    ITEM *items = (ITEM *)to;
    for (int lane = 0; lane < LANES; lane++) {
        int64_t problem = lane < count ? lane : count - 1;
        const ITEM *from = (const ITEM *)matrix->address + problem * matrix->problem_stride * components;
        for (int64_t row = 0; row < rows; row++)
            for (int64_t column = triangle > 0 ? row : 0; column < (triangle < 0 ? row + 1 : columns); column++) {
                const ITEM *element = from + row * row_stride + column * column_stride;
                ITEM *item = items + (row * columns + column) * components * LANES + lane;
                item[0] = element[0];
                if (components == 2) item[LANES] = matrix->is_conjugate ? -element[1] : element[1];
            }
    }
}

INLINE void NAME(store_lanes)(
    const int components, const LinalgMatrix *matrix, int64_t rows, int64_t columns, int triangle, int64_t count,
    const VECTOR *from) {
    int64_t row_stride = matrix->row_stride * components, column_stride = matrix->column_stride * components;
    const ITEM *items = (const ITEM *)from;
    for (int64_t lane = 0; lane < count; lane++) {
        ITEM *to = (ITEM *)matrix->address + lane * matrix->problem_stride * components;
        for (int64_t row = 0; row < rows; row++)
            for (int64_t column = triangle > 0 ? row : 0; column < (triangle < 0 ? row + 1 : columns); column++) {
                ITEM *element = to + row * row_stride + column * column_stride;
                const ITEM *item = items + (row * columns + column) * components * LANES + lane;
                element[0] = item[0];
                if (components == 2) element[1] = matrix->is_conjugate ? -item[LANES] : item[LANES];
            }
    }
}

/* Subtract from `columns` elements of a row, at most LANE_COLUMNS, the products of a column of factors and the rows
   above. Distances of rows are in vectors. */
INLINE void NAME(subtract_products)(
    const int components, const int columns, const int is_conjugate, VECTOR *values, const VECTOR *factors,
    int64_t factor_stride, const VECTOR *above, int64_t above_stride, int64_t k_size) {
    VECTOR sums[LANE_COLUMNS * 2];
    UNROLL for (int i = 0; i < columns * components; i++) sums[i] = values[i];
    for (int64_t k = 0; k < k_size; k++, factors += factor_stride, above += above_stride) {
        VECTOR factor[2] = {-factors[0]};
        if (components == 2) factor[1] = is_conjugate ? factors[1] : -factors[1];
        UNROLL for (int column = 0; column < columns; column++)
            NAME(add_product)(components, sums + column * components, factor, above + column * components);
    }
    UNROLL for (int i = 0; i < columns * components; i++) values[i] = sums[i];
}

/* The same for a whole row from a column on. */
INLINE void NAME(reduce_row)(
    const int components, const int is_conjugate, VECTOR *row, int64_t first, int64_t columns, const VECTOR *factors,
    int64_t factor_stride, const VECTOR *above, int64_t k_size) {
    int64_t column = first, stride = columns * components;
    for (; column + LANE_COLUMNS <= columns; column += LANE_COLUMNS)
        NAME(subtract_products)(
            components, LANE_COLUMNS, is_conjugate, row + column * components, factors, factor_stride,
            above + column * components, stride, k_size);
    for (; column < columns; column++)
        NAME(subtract_products)(
            components, 1, is_conjugate, row + column * components, factors, factor_stride, above + column * components,
            stride, k_size);
}

/* Factor matrices; `info` gets for each lane the row that has no factor, counted from 1, or 0. */
INLINE void NAME(cholesky_lanes)(const int components, int64_t order, VECTOR *matrix, int64_t *info) {
    for (int lane = 0; lane < LANES; lane++) info[lane] = 0;
    for (int64_t row = 0; row < order; row++) {
        VECTOR *values = matrix + row * order * components, *pivot = values + row * components, root;
        NAME(reduce_row)(
            components, 1, values, row, order, matrix + row * components, order * components, matrix, row);
        for (int lane = 0; lane < LANES; lane++)
            if (!(pivot[0][lane] > 0) && !info[lane]) info[lane] = row + 1;
        UNROLL for (int lane = 0; lane < LANES; lane++) root[lane] = SQRT(pivot[0][lane]);
        /* A lane without a factor has its reduced pivot. */
        root = NAME(choose)((MASK_VECTOR)(pivot[0] > (VECTOR){0}), root, pivot[0]);
        NAME(Divisor) by = NAME(real_divisor)(root);
        for (int64_t column = row + 1; column < order; column++)
            NAME(divide_by_real)(components, values + column * components, &by);
        pivot[0] = root;
        if (components == 2) pivot[1] = (VECTOR){0};
    }
}

/* Solve with lower triangles for `columns` right sides. */
INLINE void NAME(solve_lanes)(
    const int components, int64_t order, int64_t columns, int is_unit, const VECTOR *matrix, VECTOR *x) {
    for (int64_t row = 0; row < order; row++) {
        VECTOR *values = x + row * columns * components;
        const VECTOR *factors = matrix + row * order * components;
        NAME(reduce_row)(components, 0, values, 0, columns, factors, components, x, row);
        if (is_unit) continue;
        NAME(Divisor) by = NAME(divisor)(components, factors + row * components);
        for (int64_t column = 0; column < columns; column++)
            NAME(divide)(components, values + column * components, &by);
    }
}

/* Factor matrices with partial pivoting. Lane l has the pivots of a matrix in the l-th row of `pivots`. `info` gets
   for each lane the first pivot that is zero, counted from 1, or 0. */
INLINE void NAME(lu_lanes)(
    const int components, int64_t rows, int64_t columns, VECTOR *matrix, int32_t *pivots, int64_t count,
    int64_t *info) {
    int64_t steps = rows < columns ? rows : columns, stride = columns * components;
    for (int lane = 0; lane < LANES; lane++) info[lane] = 0;
    for (int64_t step = 0; step < steps; step++) {
        VECTOR *pivot_row = matrix + step * stride, *diagonal = pivot_row + step * components, largest = {0};
        MASK_VECTOR pivot = {0}, is_zero;
        for (int64_t row = step; row < rows; row++) {
            VECTOR *element = matrix + row * stride + step * components, zero = {0};
            VECTOR size = NAME(choose)((MASK_VECTOR)(element[0] < zero), -element[0], element[0]);
            if (components == 2) size += NAME(choose)((MASK_VECTOR)(element[1] < zero), -element[1], element[1]);
            MASK_VECTOR is_larger = (MASK_VECTOR)(size > largest), index = ((MASK_VECTOR){0} + 1) * (int32_t)row;
            if (row == step) is_larger = ~(MASK_VECTOR){0};
            largest = NAME(choose)(is_larger, size, largest);
            pivot = (is_larger & index) | (~is_larger & pivot);
        }
        for (int64_t lane = 0; lane < LANES; lane++) {
            int64_t row = pivot[lane];
            if (lane < count) pivots[lane * steps + step] = (int32_t)row + 1;
            if (largest[lane] == 0 && !info[lane]) info[lane] = step + 1;
            if (row == step) continue;
            ITEM *one = (ITEM *)pivot_row + lane, *other = (ITEM *)(matrix + row * stride) + lane;
            for (int64_t i = 0; i < stride; i++) {
                ITEM value = one[i * LANES];
                one[i * LANES] = other[i * LANES], other[i * LANES] = value;
            }
        }
        is_zero = (MASK_VECTOR)(largest == (VECTOR){0});
        NAME(Divisor) by = NAME(divisor)(components, diagonal);
        for (int64_t row = step + 1; row < rows; row++) {
            VECTOR *values = matrix + row * stride, *factor = values + step * components, quotient[2], negative[2];
            UNROLL for (int component = 0; component < components; component++) quotient[component] =
                factor[component];
            NAME(divide)(components, quotient, &by);
            UNROLL for (int component = 0; component < components; component++) {
                factor[component] = NAME(choose)(is_zero, factor[component], quotient[component]);
                negative[component] = -factor[component];
            }
            for (int64_t column = step + 1; column < columns; column++)
                NAME(add_product)(
                    components, values + column * components, negative, pivot_row + column * components);
        }
    }
}

/* Factor consecutive problems, at most LANES. */
INLINE void NAME(factor_lanes)(const int components, const Linalg *p, int64_t problem, int64_t count, char *workspace) {
    LinalgMatrix a = linalg_problem(&p->a, problem, components * sizeof(ITEM));
    LinalgMatrix factor = linalg_problem(&p->x, problem, components * sizeof(ITEM));
    VECTOR *matrix = (VECTOR *)workspace;
    int64_t info[LANES], steps = p->order < p->columns ? p->order : p->columns;
    if (p->routine == LINALG_LU) {
        NAME(load_lanes)(components, &a, p->order, p->columns, 0, count, matrix);
        NAME(lu_lanes)(components, p->order, p->columns, matrix, p->pivots + problem * steps, count, info);
        NAME(store_lanes)(components, &factor, p->order, p->columns, 0, count, matrix);
        for (int64_t lane = 0; lane < count; lane++) p->info[problem + lane] = (int32_t)info[lane];
        return;
    }
    NAME(load_lanes)(components, &a, p->order, p->order, 1, count, matrix);
    NAME(cholesky_lanes)(components, p->order, matrix, info);
    NAME(store_lanes)(components, &factor, p->order, p->order, 1, count, matrix);
    for (int64_t lane = 0; lane < count; lane++) NAME(finish_factor)(components, p, problem + lane, info[lane]);
}

/* Solve consecutive problems, at most LANES. */
INLINE void NAME(solve_problems_in_lanes)(
    const int components, const Linalg *p, int64_t problem, int64_t count, char *workspace) {
    LinalgMatrix a = linalg_problem(&p->a, problem, components * sizeof(ITEM));
    LinalgMatrix b = linalg_problem(&p->b, problem, components * sizeof(ITEM));
    LinalgMatrix x = linalg_problem(&p->x, problem, components * sizeof(ITEM));
    VECTOR *matrix = (VECTOR *)workspace, *solutions = matrix + p->order * p->order * components;
    NAME(load_lanes)(components, &a, p->order, p->order, -1, count, matrix);
    NAME(load_lanes)(components, &b, p->order, p->columns, 0, count, solutions);
    NAME(solve_lanes)(components, p->order, p->columns, p->is_unit, matrix, solutions);
    NAME(store_lanes)(components, &x, p->order, p->columns, 0, count, solutions);
}
