/* Cholesky factors, LU factors and solutions of triangular systems of f32, f64 and complex numbers of these: the tasks.

   Order of operations. Cholesky factors and solutions are brought to one form each by strides alone: U of a = U^H U,
   and x of l x = b with a lower triangle l, from the first row on. LU factors have the first of the largest pivots of a
   column, by |re| + |im|. An element of the result is the given element, from which the products of its row and its
   column are subtracted in the order of k, each by a fused multiply-add, and then a square root or a quotient. A
   complex product takes four of these: re re, im im, re im, im re. A quotient by a real number d is the product with
   1 / d, corrected once: q + (x - q d) (1 / d); where 1 / d is subnormal, zero or infinite it is a division. A quotient
   by a complex number is the product with its reciprocal.
   Nothing else changes a bit: vector width, how many matrices are computed at once, blocks, memory layouts, threads.

   Many small matrices are computed in the lanes of vectors, one in each; others one by one, panel by panel, but for
   systems with one right side, whose rows are computed side by side. */

#ifndef NIMBLEHLO_LINALG_H
#define NIMBLEHLO_LINALG_H

#include <stdint.h>

#include "simd/processor_level.h"
#include "simd/zip.h"

enum { LINALG_CHOLESKY, LINALG_LU, LINALG_TRIANGULAR_SOLVE };

/* LANE_ORDER: the largest order, and the most columns, of matrices that are computed in lanes. LANE_BYTES: the largest
   workspace of these, which may be on the stack. BLOCK_PANELS: panels of a block. Cholesky factors from
   SMALL_BLOCKS_ORDER on have blocks of SMALL_BLOCK_PANELS: a single thread factors the panels of a block. */
enum {
    LINALG_LANE_ORDER = 32, LINALG_LANE_BYTES = 1 << 16, LINALG_BLOCK_PANELS = 4, LINALG_SMALL_BLOCK_PANELS = 2,
    LINALG_SMALL_BLOCKS_ORDER = 512
};

/* Matrices of consecutive problems. Strides are in elements. */
typedef struct {
    char *address;
    int64_t problem_stride, row_stride, column_stride;
    int is_conjugate;
} LinalgMatrix;

/* The arguments of tasks.

   a: the matrix that is factored, of `order` rows and `columns` columns, or the triangle, of `order` rows. b: the right
   sides of a triangular system, with `columns` columns. x: the factor, LU factors, or the solution. Strides of a
   Cholesky factor make it the upper triangle. zeros_other_triangle: of a Cholesky factor. 1 (stablehlo.cholesky): the
   other triangle of `x` is zeros, and `x` is NaN if there is no factor. 0 (LAPACK's potrf): `x` has the other triangle
   of `a`, and from the row that failed on all elements of `a` but the pivot's. info: for each problem the row without a
   factor, or the first pivot that is zero, counted from 1, or 0; may be NULL. pivots: for each step of LU the row that
   was exchanged, counted from 1.

   Task t does the work items from `t * items_per_task` on, in the t-th workspace. A work item is LANES problems, or
   one, or, where `packed` is not NULL, a panel of the only problem: of its right sides, with its triangle in `packed`,
   or of the matrix in `packed`, behind the block that begins at `first`. */
typedef struct {
    int64_t routine, kind, components, count, order, columns;
    int is_unit, zeros_other_triangle;
    LinalgMatrix a, b, x;
    int32_t *info, *pivots;
    int64_t first, work_items, items_per_task, workspace_bytes;
    char *workspace, *packed;
} Linalg;

/* Panels of a block. */
static inline int64_t linalg_block_panels(const Linalg *p) {
    int is_small = p->routine == LINALG_CHOLESKY && p->order >= LINALG_SMALL_BLOCKS_ORDER;
    return is_small ? LINALG_SMALL_BLOCK_PANELS : LINALG_BLOCK_PANELS;
}

static inline LinalgMatrix linalg_problem(const LinalgMatrix *matrix, int64_t problem, int64_t element_bytes) {
    LinalgMatrix result = *matrix;
    result.address += problem * matrix->problem_stride * element_bytes;
    return result;
}

#if (defined(__clang__) ? __clang_major__ >= 12 : defined(__GNUC__) && __GNUC__ >= 12) && \
    (defined(__x86_64__) || defined(__aarch64__))

#define VECTOR_CODE "linalg/linalg_vectors.h"
#define FAMILY(name) linalg_##name
#include "simd/vector_kinds.h"

/* The bytes of a vector. */
static int64_t linalg_vector_bytes(void) {
#ifdef __x86_64__
    if (has_avx512()) return 64;
    if (has_avx2(1)) return 32;
#endif
    return 16;
}

/* The functions of one element type and vector width. A matrix is loaded to a workspace, and factored block by block:
   `factor_block` returns the row that has no factor, or the first pivot that is zero, counted from 1, or 0; `update`
   then brings panels behind the block up to date. */
typedef struct {
    void (*load)(const Linalg *, int64_t problem, char *workspace);
    int64_t (*factor_block)(const Linalg *, int64_t problem, int64_t first, char *workspace);
    void (*update)(const Linalg *, int64_t first, int64_t first_panel, int64_t end_panel, char *workspace);
    void (*store)(const Linalg *, int64_t problem, int64_t info, char *workspace);
    void (*factor_lanes)(const Linalg *, int64_t problem, int64_t count, char *workspace);
    void (*prepare)(const Linalg *, int64_t problem, char *workspace);
    void (*solve)(
        const Linalg *, int64_t problem, int64_t first, int64_t end, const char *packed, char *workspace);
    void (*solve_single)(const Linalg *, int64_t problem, char *workspace);
    void (*solve_lanes)(const Linalg *, int64_t problem, int64_t count, char *workspace);
    int64_t (*bytes)(const Linalg *);
} LinalgFunctions;

#define LINALG_FUNCTIONS(name, suffix)                                                                            \
    {linalg_##name##_load_##suffix, linalg_##name##_factor_block_##suffix, linalg_##name##_update_##suffix,       \
     linalg_##name##_store_##suffix, linalg_##name##_factor_lanes_##suffix, linalg_##name##_prepare_##suffix,     \
     linalg_##name##_solve_##suffix, linalg_##name##_solve_single_##suffix, linalg_##name##_solve_lanes_##suffix, \
     linalg_##name##_bytes_##suffix}
#define LINALG_KIND(name) {LINALG_FUNCTIONS(name, real), LINALG_FUNCTIONS(name, complex)}

static const LinalgFunctions *linalg_functions(const Linalg *p) {
    static const LinalgFunctions functions[][2] = {LINALG_KIND(float), LINALG_KIND(double)};
#ifdef __x86_64__
    static const LinalgFunctions wide_functions[][2] = {LINALG_KIND(wide_float), LINALG_KIND(wide_double)};
    static const LinalgFunctions narrow_functions[][2] = {LINALG_KIND(narrow_float), LINALG_KIND(narrow_double)};
    if (linalg_vector_bytes() == 64) return &wide_functions[p->kind][p->components - 1];
    if (linalg_vector_bytes() == 16) return &narrow_functions[p->kind][p->components - 1];
#endif
    return &functions[p->kind][p->components - 1];
}

/* Whether systems have one right side. */
static int linalg_is_single(const Linalg *p) { return p->routine == LINALG_TRIANGULAR_SOLVE && p->columns == 1; }

static int64_t linalg_lanes(const Linalg *p) { return linalg_vector_bytes() / (p->kind ? 8 : 4); }

/* Bytes of a workspace of problems in lanes. */
static int64_t linalg_lane_bytes(const Linalg *p) {
    int64_t triangle = p->routine == LINALG_TRIANGULAR_SOLVE ? p->order * p->order : 0;
    return (triangle + p->order * p->columns) * p->components * linalg_vector_bytes();
}

/* Whether problems are computed in lanes. */
static int linalg_uses_lanes(const Linalg *p) {
    return p->order <= LINALG_LANE_ORDER && p->columns <= LINALG_LANE_ORDER && 2 * p->count >= linalg_lanes(p) &&
           linalg_lane_bytes(p) <= LINALG_LANE_BYTES;
}

/* Bytes of a workspace. */
static int64_t linalg_workspace_bytes(const Linalg *p) {
    return linalg_uses_lanes(p) ? linalg_lane_bytes(p) : linalg_functions(p)->bytes(p);
}

/* Problems of a work item, if it is no panel. */
static int64_t linalg_item_problems(const Linalg *p) { return linalg_uses_lanes(p) ? linalg_lanes(p) : 1; }

/* Columns of a panel, and of a block. */
static int64_t linalg_panel_columns(const Linalg *p) { return 2 * linalg_lanes(p); }
static int64_t linalg_block_columns(const Linalg *p) { return linalg_block_panels(p) * linalg_panel_columns(p); }

/* Pack the triangle of the only problem. */
static void linalg_pack(const Linalg *p) { linalg_functions(p)->prepare(p, 0, p->packed); }

/* Load the only problem, factor a block of it, and store it. */
static void linalg_load(const Linalg *p) { linalg_functions(p)->load(p, 0, p->packed); }
static int64_t linalg_factor_block(const Linalg *p) {
    return linalg_functions(p)->factor_block(p, 0, p->first, p->packed);
}
static void linalg_store(const Linalg *p, int64_t info) { linalg_functions(p)->store(p, 0, info, p->packed); }

/* The number of columns of a matrix that are factored. */
static int64_t linalg_steps(const Linalg *p) { return p->order < p->columns ? p->order : p->columns; }

/* The first panel behind the block that begins at column `first`, and the number of panels. */
static int64_t linalg_next_panel(const Linalg *p, int64_t first) {
    int64_t end = first + linalg_block_columns(p), width = linalg_panel_columns(p);
    return ((end < linalg_steps(p) ? end : linalg_steps(p)) + width - 1) / width;
}
static int64_t linalg_panels(const Linalg *p) {
    return (p->columns + linalg_panel_columns(p) - 1) / linalg_panel_columns(p);
}

/* Factor a problem. */
static void linalg_factor(const Linalg *p, int64_t problem, char *workspace) {
    const LinalgFunctions *functions = linalg_functions(p);
    int64_t info = 0;
    functions->load(p, problem, workspace);
    for (int64_t first = 0; first < linalg_steps(p); first += linalg_block_columns(p)) {
        int64_t block_info = functions->factor_block(p, problem, first, workspace);
        if (!info) info = block_info;
        if (info && p->routine == LINALG_CHOLESKY) break;
        functions->update(p, first, linalg_next_panel(p, first), linalg_panels(p), workspace);
    }
    functions->store(p, problem, info, workspace);
}

/* Do some work items that are panels. */
static void linalg_do_panels(const Linalg *p, int64_t first, int64_t end, char *workspace) {
    int64_t width = linalg_panel_columns(p), next = linalg_next_panel(p, p->first);
    if (p->routine == LINALG_TRIANGULAR_SOLVE)
        linalg_functions(p)->solve(
            p, 0, first * width, end * width < p->columns ? end * width : p->columns, p->packed, workspace);
    else
        linalg_functions(p)->update(p, p->first, next + first, next + end, p->packed);
}

static void linalg_task(int64_t task, void *closure) {
    const Linalg *p = closure;
    const LinalgFunctions *functions = linalg_functions(p);
    int64_t first = task * p->items_per_task, end = first + p->items_per_task, lanes = linalg_lanes(p);
    char *workspace = p->workspace + task * p->workspace_bytes;
    if (end > p->work_items) end = p->work_items;
    if (p->packed) {
        linalg_do_panels(p, first, end, workspace);
        return;
    }
    for (int64_t item = first; item < end; item++) {
        if (linalg_uses_lanes(p)) {
            int64_t problem = item * lanes, count = p->count - problem < lanes ? p->count - problem : lanes;
            if (p->routine == LINALG_TRIANGULAR_SOLVE) functions->solve_lanes(p, problem, count, workspace);
            else functions->factor_lanes(p, problem, count, workspace);
        } else if (linalg_is_single(p)) {
            functions->solve_single(p, item, workspace);
        } else if (p->routine == LINALG_TRIANGULAR_SOLVE) {
            functions->prepare(p, item, workspace);
            functions->solve(p, item, 0, p->columns, workspace, workspace);
        } else {
            linalg_factor(p, item, workspace);
        }
    }
}

#else

static int64_t linalg_vector_bytes(void) { return 0; }
static int64_t linalg_workspace_bytes(const Linalg *p) { return (void)p, 0; }
static int64_t linalg_item_problems(const Linalg *p) { return (void)p, 1; }
static int linalg_is_single(const Linalg *p) { return (void)p, 0; }
static int64_t linalg_panel_columns(const Linalg *p) { return (void)p, 1; }
static int64_t linalg_block_columns(const Linalg *p) { return (void)p, 1; }
static int64_t linalg_next_panel(const Linalg *p, int64_t first) { return (void)p, first; }
static int64_t linalg_panels(const Linalg *p) { return (void)p, 0; }
static int64_t linalg_steps(const Linalg *p) { return (void)p, 0; }
static void linalg_pack(const Linalg *p) { (void)p; }
static void linalg_load(const Linalg *p) { (void)p; }
static int64_t linalg_factor_block(const Linalg *p) { return (void)p, 0; }
static void linalg_store(const Linalg *p, int64_t info) { (void)p, (void)info; }
static void linalg_task(int64_t task, void *closure) { (void)task, (void)closure; }

#endif
#endif
