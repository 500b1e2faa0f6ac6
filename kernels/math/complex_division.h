/* Quotients of complex<f64>: Smith's formula, and the results of annex G of C99 where that gives NaN. */

#ifndef NIMBLEHLO_COMPLEX_DIVISION_H
#define NIMBLEHLO_COMPLEX_DIVISION_H

#include "real_arithmetic.h"

/* Elements are copied to the L1 cache this many at a time. */
enum { QUOTIENT_BLOCK = 256 };

/* The reciprocal of a number of at least this magnitude does not overflow. */
#define TINY_DIVISOR 0x1p-1000

/* The quotient by Smith's formula. A divisor of two zeros gives NaN. */
REAL_INLINE ComplexNumber smith_quotient(ComplexNumber lhs, ComplexNumber rhs) {
    int by_real = fabs(rhs.real) >= fabs(rhs.imaginary);
    double major = blend_doubles(by_real, rhs.real, rhs.imaginary), minor = blend_doubles(by_real, rhs.imaginary, rhs.real);
    double first = blend_doubles(by_real, lhs.real, lhs.imaginary), second = blend_doubles(by_real, lhs.imaginary, lhs.real);
    double ratio = minor / major, scale = 1 / (major + minor * ratio), product = first * ratio;
    ComplexNumber quotient = {
        (first + second * ratio) * scale, blend_doubles(by_real, second - product, product - second) * scale
    };
    return quotient;
}

REAL_INLINE int is_finite(ComplexNumber number) {
    return (fabs(number.real) < INFINITY) & (fabs(number.imaginary) < INFINITY);
}

/* 1 with the sign of an infinite component; 0 for a finite one. */
REAL_INLINE double infinity_sign(double component) {
    return copysign(isinf(component) != 0, component);
}

/* lhs conj(rhs) times a number. */
REAL_INLINE ComplexNumber scaled_product(ComplexNumber lhs, ComplexNumber rhs, double scale) {
    ComplexNumber product = {
        scale * (lhs.real * rhs.real + lhs.imaginary * rhs.imaginary),
        scale * (lhs.imaginary * rhs.real - lhs.real * rhs.imaginary)
    };
    return product;
}

/* A quotient whose components may be NaN; if both are, it is infinite or zero where annex G says so. */
static ComplexNumber quotient_by_annex_g(ComplexNumber quotient, ComplexNumber lhs, ComplexNumber rhs) {
    if (!isnan(quotient.real) || !isnan(quotient.imaginary)) return quotient;
    ComplexNumber lhs_signs = { infinity_sign(lhs.real), infinity_sign(lhs.imaginary) };
    ComplexNumber rhs_signs = { infinity_sign(rhs.real), infinity_sign(rhs.imaginary) };
    if (rhs.real == 0 && rhs.imaginary == 0 && !(isnan(lhs.real) && isnan(lhs.imaginary))) {
        double infinity = copysign(INFINITY, rhs.real);
        ComplexNumber infinite = { infinity * lhs.real, infinity * lhs.imaginary };
        return infinite;
    }
    if ((isinf(lhs.real) || isinf(lhs.imaginary)) && is_finite(rhs)) return scaled_product(lhs_signs, rhs, INFINITY);
    if ((isinf(rhs.real) || isinf(rhs.imaginary)) && is_finite(lhs)) return scaled_product(lhs, rhs_signs, 0);
    return quotient;
}

/* Smith's formula for a divisor that may be zero. */
static ComplexNumber plain_quotient(ComplexNumber lhs, ComplexNumber rhs) {
    if (rhs.real == 0 && rhs.imaginary == 0) {
        ComplexNumber quotient = { lhs.real / fabs(rhs.real), lhs.imaginary / fabs(rhs.real) };
        return quotient;
    }
    return smith_quotient(lhs, rhs);
}

/* A fourth of a number, computed as a complex product: both components of an infinite number may become NaN. */
static ComplexNumber quarter(ComplexNumber number) {
    ComplexNumber product = {
        number.real * 0.25 - number.imaginary * 0.0, number.real * 0.0 + number.imaginary * 0.25
    };
    return product;
}

REAL_INLINE ComplexNumber divide_by_real(ComplexNumber number, double divisor) {
    ComplexNumber quotient = { number.real / divisor, number.imaginary / divisor };
    return quotient;
}

/* The quotient if Smith's formula gives no finite one: the divisor's modulus may have overflowed, or its reciprocal. */
static ComplexNumber rescaled_quotient(ComplexNumber lhs, ComplexNumber rhs) {
    double divisor = fmax(fabs(rhs.real), fabs(rhs.imaginary)), dividend = fmax(fabs(lhs.real), fabs(lhs.imaginary));
    ComplexNumber quotient;
    if (0 < divisor && divisor < TINY_DIVISOR) {
        double scale = dividend < 1 ? TINY_DIVISOR : 1;
        quotient = smith_quotient(divide_by_real(lhs, scale), divide_by_real(rhs, TINY_DIVISOR));
        quotient = divide_by_real(quotient, TINY_DIVISOR / scale);
    } else {
        quotient = plain_quotient(lhs, rhs);
        if (isnan(quotient.real) || isnan(quotient.imaginary)) quotient = plain_quotient(quarter(lhs), quarter(rhs));
    }
    return quotient_by_annex_g(quotient, lhs, rhs);
}

/* Replace `count` dividends by the quotients. */
REAL_INLINE void divide_all(ComplexNumber *lhs, const ComplexNumber *rhs, intptr_t count) {
    ComplexNumber quotients[QUOTIENT_BLOCK];
    int all_are_finite = 1;
    for (intptr_t i = 0; i < count; i++) {
        quotients[i] = smith_quotient(lhs[i], rhs[i]);
        all_are_finite &= is_finite(quotients[i]);
    }
    if (!all_are_finite)
        for (intptr_t i = 0; i < count; i++)
            if (!is_finite(quotients[i])) quotients[i] = rescaled_quotient(lhs[i], rhs[i]);
    memcpy(lhs, quotients, count * sizeof(ComplexNumber));
}

typedef void (*ComplexQuotients)(ComplexNumber *lhs, const ComplexNumber *rhs, intptr_t count);

#define COMPLEX_QUOTIENTS(level, code)                                                              \
    code static void divide_##level(ComplexNumber *lhs, const ComplexNumber *rhs, intptr_t count) { \
        divide_all(lhs, rhs, count);                                                                \
    }

COMPLEX_QUOTIENTS(plain, )
#if HAS_LEVELS
COMPLEX_QUOTIENTS(fused, FUSED_CODE)
COMPLEX_QUOTIENTS(wide, WIDE_CODE)
#endif

/* The function for this processor. */
static ComplexQuotients complex_quotients(void) {
    switch (best_level()) {
#if HAS_LEVELS
    case WIDE_LEVEL: return divide_wide;
    case FUSED_LEVEL: return divide_fused;
#endif
    default: return divide_plain;
    }
}

/* Inner loops of ufuncs: of quotients, where `data` points to a ComplexQuotients, and of `quotient_by_annex_g`. */
static void divide_loop(char **pointers, const intptr_t *count, const intptr_t *strides, void *data) {
    ComplexQuotients divide = *(const ComplexQuotients *)data;
    const intptr_t itemsize = sizeof(ComplexNumber);
    ComplexNumber lhs[QUOTIENT_BLOCK], rhs[QUOTIENT_BLOCK];
    for (intptr_t first = 0, block_count; first < *count; first += block_count) {
        block_count = *count - first < QUOTIENT_BLOCK ? *count - first : QUOTIENT_BLOCK;
        copy_items((char *)lhs, itemsize, pointers[0] + first * strides[0], strides[0], itemsize, block_count);
        copy_items((char *)rhs, itemsize, pointers[1] + first * strides[1], strides[1], itemsize, block_count);
        divide(lhs, rhs, block_count);
        copy_items(pointers[2] + first * strides[2], strides[2], (const char *)lhs, itemsize, itemsize, block_count);
    }
}

static void annex_g_loop(char **pointers, const intptr_t *count, const intptr_t *strides, void *data) {
    (void)data;
    for (intptr_t i = 0; i < *count; i++) {
        ComplexNumber arguments[3];
        for (int number = 0; number < 3; number++)
            memcpy(&arguments[number], pointers[number] + i * strides[number], sizeof(ComplexNumber));
        ComplexNumber quotient = quotient_by_annex_g(arguments[0], arguments[1], arguments[2]);
        memcpy(pointers[3] + i * strides[3], &quotient, sizeof quotient);
    }
}

#endif
