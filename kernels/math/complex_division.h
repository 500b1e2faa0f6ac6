/* Quotients of complex<f64>: Smith's formula, and what annex G of C99 says where that gives NaN. */

#ifndef NIMBLEHLO_COMPLEX_DIVISION_H
#define NIMBLEHLO_COMPLEX_DIVISION_H

#include "real_arithmetic.h"

typedef struct {
    double real, imaginary;
} ComplexNumber;

/* Elements are copied into the first cache so many at a time. */
enum { QUOTIENT_BLOCK = 256 };

/* 1 divided by a number that is not below it does not overflow. */
#define TINY_DIVISOR 0x1p-1000

/* The quotient by Smith's formula. A divisor of two zeros gives NaN. */
REAL_INLINE ComplexNumber smith_quotient(ComplexNumber lhs, ComplexNumber rhs) {
    int by_real = fabs(rhs.real) >= fabs(rhs.imaginary);
    double great = chosen(by_real, rhs.real, rhs.imaginary), small = chosen(by_real, rhs.imaginary, rhs.real);
    double first = chosen(by_real, lhs.real, lhs.imaginary), second = chosen(by_real, lhs.imaginary, lhs.real);
    double ratio = small / great, scale = 1 / (great + small * ratio), product = first * ratio;
    ComplexNumber quotient = {
        (first + second * ratio) * scale, chosen(by_real, second - product, product - second) * scale
    };
    return quotient;
}

REAL_INLINE int is_finite(ComplexNumber number) {
    return (fabs(number.real) < INFINITY) & (fabs(number.imaginary) < INFINITY);
}

/* The number of an infinite part: 1 with its sign; of another one 0. */
REAL_INLINE double infinite_unit(double part) { return copysign(isinf(part) != 0, part); }

/* lhs conj(rhs) times a number. */
REAL_INLINE ComplexNumber scaled_product(ComplexNumber lhs, ComplexNumber rhs, double scale) {
    ComplexNumber product = {
        scale * (lhs.real * rhs.real + lhs.imaginary * rhs.imaginary),
        scale * (lhs.imaginary * rhs.real - lhs.real * rhs.imaginary)
    };
    return product;
}

/* A quotient of which parts may be NaN; where both are, it is infinite or zero if annex G says so. */
static ComplexNumber quotient_by_annex_g(ComplexNumber quotient, ComplexNumber lhs, ComplexNumber rhs) {
    if (!isnan(quotient.real) || !isnan(quotient.imaginary)) return quotient;
    ComplexNumber lhs_units = { infinite_unit(lhs.real), infinite_unit(lhs.imaginary) };
    ComplexNumber rhs_units = { infinite_unit(rhs.real), infinite_unit(rhs.imaginary) };
    if (rhs.real == 0 && rhs.imaginary == 0 && !(isnan(lhs.real) && isnan(lhs.imaginary))) {
        double infinity = copysign(INFINITY, rhs.real);
        ComplexNumber infinite = { infinity * lhs.real, infinity * lhs.imaginary };
        return infinite;
    }
    if ((isinf(lhs.real) || isinf(lhs.imaginary)) && is_finite(rhs)) return scaled_product(lhs_units, rhs, INFINITY);
    if ((isinf(rhs.real) || isinf(rhs.imaginary)) && is_finite(lhs)) return scaled_product(lhs, rhs_units, 0);
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

/* A fourth of a number, as a product of complex ones: of an infinite number both parts become unclear. */
static ComplexNumber quarter(ComplexNumber number) {
    ComplexNumber product = {
        number.real * 0.25 - number.imaginary * 0.0, number.real * 0.0 + number.imaginary * 0.25
    };
    return product;
}

REAL_INLINE ComplexNumber divided(ComplexNumber number, double divisor) {
    ComplexNumber quotient = { number.real / divisor, number.imaginary / divisor };
    return quotient;
}

/* The quotient of numbers for which Smith's formula gives none that is finite: the divisor's modulus may have
   overflown, or 1 divided by it. */
static ComplexNumber unclear_quotient(ComplexNumber lhs, ComplexNumber rhs) {
    double divisor = fmax(fabs(rhs.real), fabs(rhs.imaginary)), dividend = fmax(fabs(lhs.real), fabs(lhs.imaginary));
    ComplexNumber quotient;
    if (0 < divisor && divisor < TINY_DIVISOR) {
        double scale = dividend < 1 ? TINY_DIVISOR : 1;
        quotient = smith_quotient(divided(lhs, scale), divided(rhs, TINY_DIVISOR));
        quotient = divided(quotient, TINY_DIVISOR / scale);
    } else {
        quotient = plain_quotient(lhs, rhs);
        if (isnan(quotient.real) || isnan(quotient.imaginary)) quotient = plain_quotient(quarter(lhs), quarter(rhs));
    }
    return quotient_by_annex_g(quotient, lhs, rhs);
}

/* Quotients of `count` numbers in the places of the dividends. */
REAL_INLINE void divide_all(ComplexNumber *lhs, const ComplexNumber *rhs, intptr_t count) {
    ComplexNumber quotients[QUOTIENT_BLOCK];
    int all_are_finite = 1;
    for (intptr_t place = 0; place < count; place++) {
        quotients[place] = smith_quotient(lhs[place], rhs[place]);
        all_are_finite &= is_finite(quotients[place]);
    }
    if (!all_are_finite)
        for (intptr_t place = 0; place < count; place++)
            if (!is_finite(quotients[place])) quotients[place] = unclear_quotient(lhs[place], rhs[place]);
    memcpy(lhs, quotients, count * sizeof(ComplexNumber));
}

typedef void (*ComplexQuotients)(ComplexNumber *lhs, const ComplexNumber *rhs, intptr_t count);

#define COMPLEX_QUOTIENTS(kind, code) \
    code static void divide_##kind(ComplexNumber *lhs, const ComplexNumber *rhs, intptr_t count) { \
        divide_all(lhs, rhs, count); \
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

/* Loops of NumPy's form: of quotients, `data` being the place of a ComplexQuotients, and of `quotient_by_annex_g`. */
static void divide_loop(char **pointers, const intptr_t *count, const intptr_t *steps, void *data) {
    ComplexQuotients divide = *(const ComplexQuotients *)data;
    const intptr_t item = sizeof(ComplexNumber);
    ComplexNumber lhs[QUOTIENT_BLOCK], rhs[QUOTIENT_BLOCK];
    for (intptr_t first = 0, here; first < *count; first += here) {
        here = *count - first < QUOTIENT_BLOCK ? *count - first : QUOTIENT_BLOCK;
        copy_items((char *)lhs, item, pointers[0] + first * steps[0], steps[0], item, here);
        copy_items((char *)rhs, item, pointers[1] + first * steps[1], steps[1], item, here);
        divide(lhs, rhs, here);
        copy_items(pointers[2] + first * steps[2], steps[2], (const char *)lhs, item, item, here);
    }
}

static void annex_g_loop(char **pointers, const intptr_t *count, const intptr_t *steps, void *data) {
    (void)data;
    for (intptr_t place = 0; place < *count; place++) {
        ComplexNumber given[3];
        for (int number = 0; number < 3; number++)
            memcpy(&given[number], pointers[number] + place * steps[number], sizeof(ComplexNumber));
        ComplexNumber quotient = quotient_by_annex_g(given[0], given[1], given[2]);
        memcpy(pointers[3] + place * steps[3], &quotient, sizeof quotient);
    }
}

#endif
