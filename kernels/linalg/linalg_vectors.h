/* Arithmetic of decompositions for one element type and vector width: `vector_kinds.h` includes this for each.

   An element has one component, or two: its real and its imaginary one, in vectors of their own. Functions of both take
   `components`, which the compiler knows. */

#ifndef HAS_INTEGER_ITEMS

#if LANES * 4 == VECTOR_BYTES
typedef int32_t NAME(Mask) __attribute__((vector_size(VECTOR_BYTES)));
#else
typedef int64_t NAME(Mask) __attribute__((vector_size(VECTOR_BYTES)));
#endif

#define MASK_VECTOR NAME(Mask)
#define SQRT(number) (sizeof(ITEM) == 4 ? (ITEM)__builtin_sqrtf((float)(number)) : (ITEM)__builtin_sqrt(number))

INLINE VECTOR NAME(choose)(MASK_VECTOR mask, VECTOR yes, VECTOR no) {
    return (VECTOR)((mask & (MASK_VECTOR)yes) | (~mask & (MASK_VECTOR)no));
}

/* Lanes whose reciprocal is a normal number, so that a product with it has the digits of a quotient. */
INLINE MASK_VECTOR NAME(is_regular)(VECTOR reciprocal) {
    VECTOR min_normal = BROADCAST((ITEM)(sizeof(ITEM) == 4 ? 0x1p-126 : 0x1p-1022));
    VECTOR max_invertible = BROADCAST((ITEM)(sizeof(ITEM) == 4 ? 0x1p126 : 0x1p1022));
    VECTOR magnitude = NAME(choose)((MASK_VECTOR)(reciprocal < (VECTOR){0}), -reciprocal, reciprocal);
    return (MASK_VECTOR)((magnitude >= min_normal) & (magnitude <= max_invertible));
}

/* `number / divisor` by its reciprocal, corrected once; infinities and NaN are as of the product. */
INLINE VECTOR NAME(corrected)(VECTOR number, VECTOR divisor, VECTOR reciprocal) {
    VECTOR quotient = number * reciprocal, remainder = FMA(-quotient, divisor, number);
    VECTOR corrected = FMA(remainder, reciprocal, quotient);
    return NAME(choose)((MASK_VECTOR)(corrected == corrected), corrected, quotient);
}

/* Divisors and what quotients by them take: see `linalg.h`. */
typedef struct {
    VECTOR divisor, reciprocal[2];
    MASK_VECTOR is_regular;
    int are_regular;
} NAME(Divisor);

/* A real divisor. */
INLINE NAME(Divisor) NAME(real_divisor)(VECTOR divisor) {
    NAME(Divisor) result = {.divisor = divisor};
    result.reciprocal[0] = BROADCAST((ITEM)1) / divisor;
    result.is_regular = NAME(is_regular)(result.reciprocal[0]);
    result.are_regular = 1;
    UNROLL for (int lane = 0; lane < LANES; lane++) result.are_regular &= result.is_regular[lane] != 0;
    return result;
}

/* The reciprocal of a complex number, by the quotient of its smaller component and its greater one.
   Source: R. L. Smith, "Algorithm 116: Complex division", Communications of the ACM 5(8), 1962. */
INLINE NAME(Divisor) NAME(complex_divisor)(VECTOR re, VECTOR im) {
    NAME(Divisor) result = {.divisor = re};
    VECTOR zero = {0}, re_size = NAME(choose)((MASK_VECTOR)(re < zero), -re, re);
    VECTOR im_size = NAME(choose)((MASK_VECTOR)(im < zero), -im, im);
    MASK_VECTOR is_re_greater = (MASK_VECTOR)(re_size >= im_size);
    VECTOR greater = NAME(choose)(is_re_greater, re, im), smaller = NAME(choose)(is_re_greater, im, re);
    VECTOR ratio = smaller / greater, denominator = FMA(smaller, ratio, greater);
    VECTOR first = BROADCAST((ITEM)1) / denominator, second = ratio / denominator;
    result.reciprocal[0] = NAME(choose)(is_re_greater, first, second);
    result.reciprocal[1] = -NAME(choose)(is_re_greater, second, first);
    return result;
}

/* Divide elements by a real divisor, component by component. */
INLINE void NAME(divide_by_real)(const int components, VECTOR *element, const NAME(Divisor) *by) {
    UNROLL for (int component = 0; component < components; component++) {
        VECTOR quotient = NAME(corrected)(element[component], by->divisor, by->reciprocal[0]);
        if (!by->are_regular) quotient = NAME(choose)(by->is_regular, quotient, element[component] / by->divisor);
        element[component] = quotient;
    }
}

/* Divide elements by a divisor of their kind. */
INLINE void NAME(divide)(const int components, VECTOR *element, const NAME(Divisor) *by) {
    if (components == 1) {
        NAME(divide_by_real)(1, element, by);
        return;
    }
    VECTOR re = element[0], im = element[1];
    element[0] = FMA(re, by->reciprocal[0], -(im * by->reciprocal[1]));
    element[1] = FMA(re, by->reciprocal[1], im * by->reciprocal[0]);
}

INLINE NAME(Divisor) NAME(divisor)(const int components, const VECTOR *element) {
    return components == 1 ? NAME(real_divisor)(element[0]) : NAME(complex_divisor)(element[0], element[1]);
}

/* sum + factor * element, of which `factor` is the negative of what the caller subtracts. */
INLINE void NAME(add_product)(const int components, VECTOR *sum, const VECTOR *factor, const VECTOR *element) {
    sum[0] = FMA(factor[0], element[0], sum[0]);
    if (components == 2) {
        sum[0] = FMA(-factor[1], element[1], sum[0]);
        sum[1] = FMA(factor[0], element[1], sum[1]);
        sum[1] = FMA(factor[1], element[0], sum[1]);
    }
}

#include "linalg/linalg_panels.h"
#include "linalg/linalg_blocks.h"
#include "linalg/linalg_lanes.h"

/* The functions of `LinalgFunctions` for one number of components. */
#define LINALG_CODE(components, suffix)                                                                              \
    static CODE void NAME(load_##suffix)(const Linalg *p, int64_t problem, char *workspace) {                        \
        NAME(load)(components, p, problem, workspace);                                                               \
    }                                                                                                                \
    static CODE int64_t NAME(factor_block_##suffix)(                                                                 \
        const Linalg *p, int64_t problem, int64_t first, char *workspace) {                                          \
        return NAME(factor_block)(components, p, problem, first, workspace);                                         \
    }                                                                                                                \
    static CODE void NAME(update_##suffix)(                                                                          \
        const Linalg *p, int64_t first, int64_t first_panel, int64_t end_panel, char *workspace) {                   \
        NAME(update)(components, p, first, first_panel, end_panel, workspace);                                       \
    }                                                                                                                \
    static CODE void NAME(store_##suffix)(const Linalg *p, int64_t problem, int64_t info, char *workspace) {         \
        NAME(store)(components, p, problem, info, workspace);                                                        \
    }                                                                                                                \
    static CODE void NAME(factor_lanes_##suffix)(const Linalg *p, int64_t problem, int64_t count, char *workspace) { \
        NAME(factor_lanes)(components, p, problem, count, workspace);                                                \
    }                                                                                                                \
    static CODE void NAME(prepare_##suffix)(const Linalg *p, int64_t problem, char *workspace) {                     \
        NAME(prepare)(components, p, problem, workspace);                                                            \
    }                                                                                                                \
    static CODE void NAME(solve_##suffix)(                                                                           \
        const Linalg *p, int64_t problem, int64_t first, int64_t end, const char *packed, char *workspace) {         \
        NAME(solve)(components, p, problem, first, end, packed, workspace);                                          \
    }                                                                                                                \
    static CODE void NAME(solve_single_##suffix)(const Linalg *p, int64_t problem, char *workspace) {                \
        NAME(solve_single)(components, p, problem, workspace);                                                       \
    }                                                                                                                \
    static CODE void NAME(solve_lanes_##suffix)(const Linalg *p, int64_t problem, int64_t count, char *workspace) {  \
        NAME(solve_problems_in_lanes)(components, p, problem, count, workspace);                                     \
    }                                                                                                                \
    static CODE int64_t NAME(bytes_##suffix)(const Linalg *p) {                                                      \
        return p->routine == LINALG_TRIANGULAR_SOLVE ? NAME(solve_bytes)(components, p)                              \
                                                     : NAME(factor_bytes)(components, p);                            \
    }

LINALG_CODE(1, real)
LINALG_CODE(2, complex)

#undef LINALG_CODE
#undef MASK_VECTOR
#undef SQRT
#undef VECTORS
#undef WIDTH
#undef STRIP_ROWS
#undef COPIED_ROWS
#undef SINGLE_ROWS
#undef SCALAR_FMA
#undef MAX_STRIP_ROWS
#undef ROW_ITEMS
#undef DIVISOR_ITEMS
#undef LANE_COLUMNS
#undef BLOCK_COLUMNS
#undef EARLIER_ROWS
#endif
