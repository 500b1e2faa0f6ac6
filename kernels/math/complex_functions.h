/* Functions of complex<f64>, and their ufunc loops.

   Components are computed from the functions of f64, and from unevaluated sums of two numbers where digits would
   cancel. Squares are of components scaled by a power of two. Each operation is rounded as written, a fused
   multiply-add once: results have the same bits on every processor. Special values and branch cuts are those of C99,
   annex G.

   Sources: W. Kahan, "Branch cuts for complex elementary functions", 1987; T. E. Hull, T. F. Fairgrieve and
   P. T. P. Tang, "Implementing the complex arcsine and arccosine functions using exception handling", ACM Transactions
   on Mathematical Software 23(3), 1997. */

#ifndef NIMBLEHLO_COMPLEX_FUNCTIONS_H
#define NIMBLEHLO_COMPLEX_FUNCTIONS_H

#include "elementary_functions.h"
#include "large_angles.h"

/* Components above the first and below the second are scaled by the third, or its reciprocal, before they are squared;
   its square root is a power of two. */
#define LARGE_COMPONENT 0x1p500
#define SMALL_COMPONENT 0x1p-450
#define COMPONENT_SCALE 0x1p600
#define COMPONENT_SCALE_ROOT 0x1p300
#define COMPONENT_DOUBLINGS 600
/* Inverse functions of numbers from the first on are their asymptotes; of numbers below the second, the numbers. */
#define ASYMPTOTIC 0x1p60
#define TINY_COMPONENT 0x1p-28
/* From the first on, exp(x) may overflow where its product with a sine does not; from the second on, it always does.
   From the third on tanh is 1. */
#define MAX_PLAIN_EXPONENT 700
#define MAX_SCALED_EXPONENT 2200
#define MAX_TANH 22

/* The sine and the cosine, or the hyperbolic ones. */
typedef struct { DoubleDouble sine, cosine; } SinePair;

/* A complex number of double-doubles. */
typedef struct { DoubleDouble real, imaginary; } ComplexDoubleDouble;

static inline ComplexNumber complex_of(double real, double imaginary) {
    ComplexNumber number = {real, imaginary};
    return number;
}

REAL_INLINE DoubleDouble scaled_by(DoubleDouble value, double scale) {
    DoubleDouble result = {value.high * scale, value.low * scale};
    return result;
}

REAL_INLINE DoubleDouble magnitude_of(DoubleDouble value) { return value.high < 0 ? scaled_by(value, -1) : value; }

REAL_INLINE double scale_of(double largest) {
    return blend_doubles(largest > LARGE_COMPONENT, 1 / COMPONENT_SCALE, blend_doubles(largest < SMALL_COMPONENT, COMPONENT_SCALE, 1));
}

REAL_INLINE double larger_of(double first, double second) { return first > second ? first : second; }

REAL_INLINE double rounded(DoubleDouble value) { return value.high + value.low; }

/* The sine and cosine of an angle; NaN if it is not finite. */
REAL_INLINE SinePair sine_and_cosine(double angle) {
    if (!(fabs(angle) < INFINITY)) return (SinePair){{angle - angle, 0}, {angle - angle, 0}};
    Reduced reduced = reduce_any_by_half_pi(angle);
    int is_odd = (int)(reduced.quarter & 1);
    SinePair circular = {is_odd ? reduced.cosine : reduced.sine, is_odd ? reduced.sine : reduced.cosine};
    if (reduced.quarter & 2) circular.sine = scaled_by(circular.sine, -1);
    if ((reduced.quarter + 1) & 2) circular.cosine = scaled_by(circular.cosine, -1);
    return circular;
}

/* The hyperbolic sine and cosine, for |x| <= MAX_PLAIN_EXPONENT. */
REAL_INLINE SinePair hyperbolic_pair(double x) {
    double size = fabs(x);
    DoubleDouble sine = scaled_by(half_hyperbolic(size, -1), copysign(2, x));
    return (SinePair){size < TINY_HYPERBOLIC ? (DoubleDouble){x, 0} : sine, scaled_by(half_hyperbolic(size, 1), 2)};
}

/* The sum of the squares of two components, neither of which is too large or too small for that. */
REAL_INLINE DoubleDouble sum_of_squares(DoubleDouble first, DoubleDouble second) {
    return double_double_sum(double_double_product(first, first), double_double_product(second, second));
}

REAL_INLINE double modulus_of(ComplexNumber z) {
    double x = fabs(z.real), y = fabs(z.imaginary), scale = scale_of(larger_of(x, y));
    if ((x == INFINITY) | (y == INFINITY)) return INFINITY;
    if ((x != x) | (y != y)) return x + y;
    DoubleDouble root = square_root(sum_of_squares((DoubleDouble){x * scale, 0}, (DoubleDouble){y * scale, 0}));
    return rounded(root) / scale;
}

/* The square root of x + i |y| for finite numbers, whose components are not negative. */
REAL_INLINE ComplexDoubleDouble upper_root(DoubleDouble x, double y) {
    ComplexDoubleDouble root = {{0, 0}, {0, 0}};
    y = fabs(y);
    double largest = larger_of(fabs(x.high), y), scale = scale_of(largest);
    if (largest == 0) return root;
    DoubleDouble width = scaled_by(magnitude_of(x), scale), height = {y * scale, 0};
    DoubleDouble modulus = square_root(sum_of_squares(width, height));
    DoubleDouble longer = square_root(scaled_by(double_double_sum(modulus, width), 0.5));
    DoubleDouble shorter = quotient(height, scaled_by(longer, 2));
    double back = scale > 1 ? 1 / COMPONENT_SCALE_ROOT : scale < 1 ? COMPONENT_SCALE_ROOT : 1;
    longer = scaled_by(longer, back), shorter = scaled_by(shorter, back);
    root.real = x.high < 0 ? shorter : longer, root.imaginary = x.high < 0 ? longer : shorter;
    return root;
}

REAL_INLINE ComplexNumber square_root_of(ComplexNumber z) {
    double x = z.real, y = z.imaginary;
    if (fabs(y) == INFINITY) return complex_of(INFINITY, y);
    if (x == INFINITY) return complex_of(x, y == y ? copysign(0, y) : y);
    if (x == -INFINITY) return complex_of(y == y ? 0 : y, copysign(INFINITY, y));
    if ((x != x) | (y != y)) return complex_of(x + y, x + y);
    ComplexDoubleDouble root = upper_root((DoubleDouble){x, 0}, y);
    return complex_of(rounded(root.real), copysign(rounded(root.imaginary), y));
}

/* The logarithm of the modulus of 2^doublings (a + i b), for |a| >= |b|, neither too large or too small for their
   squares; `minus` and `plus` are a - 1 and a + 1, from which the logarithm of what is near 1 is computed. */
REAL_INLINE double logarithm_of_modulus(
    DoubleDouble a, DoubleDouble b, DoubleDouble minus, DoubleDouble plus, double doublings) {
    DoubleDouble square = sum_of_squares(a, b);
    if ((doublings == 0) & (square.high > 0.5) & (square.high < 2)) {
        DoubleDouble excess = double_double_sum(double_double_product(minus, plus), double_double_product(b, b));
        if (fabs(excess.high) < TINY_EXCESS)
            return 0.5 * (excess.high + FUSED_MULTIPLY_ADD(-0.5 * excess.high, excess.high, excess.low));
        square = exact_sum(1, excess.high);
        square.low += excess.low;
    }
    DoubleDouble total = double_double_logarithm(square, 2 * doublings);
    return 0.5 * rounded(total);
}

/* The logarithm of the modulus of 2^doublings (x + i y), where x is a double-double. */
REAL_INLINE double full_range_logarithm_of_modulus(DoubleDouble x, double y, double doublings) {
    x = magnitude_of(x), y = fabs(y);
    double largest = larger_of(x.high, y), scale = scale_of(largest);
    if ((x.high == INFINITY) | (y == INFINITY)) return INFINITY;
    if ((x.high != x.high) | (y != y)) return x.high + y;
    if (largest == 0) return -INFINITY;
    x = scaled_by(x, scale), y *= scale;
    doublings += scale > 1 ? -COMPONENT_DOUBLINGS : scale < 1 ? COMPONENT_DOUBLINGS : 0;
    DoubleDouble height = {y, 0}, minus = exact_sum(x.high, -1), plus = exact_sum(x.high, 1);
    minus = ordered_sum(minus.high, minus.low + x.low), plus.low += x.low;
    if (y > x.high) return logarithm_of_modulus(height, x, exact_sum(y, -1), exact_sum(y, 1), doublings);
    return logarithm_of_modulus(x, height, minus, plus, doublings);
}

REAL_INLINE ComplexNumber log_of(ComplexNumber z) {
    return complex_of(
        full_range_logarithm_of_modulus((DoubleDouble){z.real, 0}, z.imaginary, 0), atan2_of(z.imaginary, z.real));
}

REAL_INLINE ComplexNumber log1p_of(ComplexNumber z) {
    DoubleDouble x = exact_sum(1, z.real);
    if (!(fabs(z.real) < INFINITY)) x.low = 0;
    return complex_of(full_range_logarithm_of_modulus(x, z.imaginary, 0), atan2_of(z.imaginary, x.high));
}

/* exp(x) / 2 times a factor, for great x. */
REAL_INLINE double scaled_exponential(double x, double factor) {
    ScaledPower scaled = scaled_power(x < MAX_SCALED_EXPONENT ? x : MAX_SCALED_EXPONENT);
    return scalbn(scaled.power * factor, (int)scaled.exponent - 1);
}

/* cosh(x) cos(y) + i sinh(x) sin(y). */
REAL_INLINE ComplexNumber cosh_of_complex(ComplexNumber z) {
    double x = z.real, y = z.imaginary, size = fabs(x);
    if (y == 0) return complex_of(cosh_of(x), x == x ? y * copysign(1, x) : y);
    SinePair circular = sine_and_cosine(y);
    if (x == 0) return complex_of(circular.cosine.high, y - y == 0 ? x * circular.sine.high : x);
    if ((size == INFINITY) & !(y - y == 0)) return complex_of(INFINITY, y - y);
    if (x != x) return complex_of(x, x);
    if (size > MAX_PLAIN_EXPONENT)
        return complex_of(
            scaled_exponential(size, circular.cosine.high),
            scaled_exponential(size, copysign(1, x) * circular.sine.high));
    SinePair hyperbolic_of_x = hyperbolic_pair(x);
    return complex_of(
        rounded(double_double_product(hyperbolic_of_x.cosine, circular.cosine)),
        rounded(double_double_product(hyperbolic_of_x.sine, circular.sine)));
}

/* sinh(x) cos(y) + i cosh(x) sin(y). */
REAL_INLINE ComplexNumber sinh_of_complex(ComplexNumber z) {
    double x = z.real, y = z.imaginary, size = fabs(x);
    if (y == 0) return complex_of(sinh_of(x), y);
    SinePair circular = sine_and_cosine(y);
    if (x == 0) return complex_of(y - y == 0 ? x * circular.cosine.high : x, circular.sine.high);
    if ((size == INFINITY) & !(y - y == 0)) return complex_of(x, y - y);
    if (x != x) return complex_of(x, x);
    if (size > MAX_PLAIN_EXPONENT)
        return complex_of(
            scaled_exponential(size, copysign(1, x) * circular.cosine.high),
            scaled_exponential(size, circular.sine.high));
    SinePair hyperbolic_of_x = hyperbolic_pair(x);
    return complex_of(
        rounded(double_double_product(hyperbolic_of_x.sine, circular.cosine)),
        rounded(double_double_product(hyperbolic_of_x.cosine, circular.sine)));
}

/* (sinh(x) cosh(x) + i sin(y) cos(y)) / (sinh(x)^2 + cos(y)^2). */
REAL_INLINE ComplexNumber tanh_of_complex(ComplexNumber z) {
    double x = z.real, y = z.imaginary, size = fabs(x);
    if (y == 0) return complex_of(tanh_of(x), y);
    if ((size == INFINITY) & !(y - y == 0)) return complex_of(copysign(1, x), copysign(0, y));
    if ((x == 0) & !(y - y == 0)) return complex_of(x, y - y);
    SinePair circular = sine_and_cosine(y);
    DoubleDouble product = double_double_product(circular.sine, circular.cosine);
    if (size > MAX_TANH)
        return complex_of(
            y - y == 0 ? copysign(1, x) : y - y, 4 * rounded(product) * exponential_of(-2 * size));
    if (x != x) return complex_of(x, x);
    SinePair hyperbolic_of_x = hyperbolic_pair(x);
    DoubleDouble divisor = sum_of_squares(hyperbolic_of_x.sine, circular.cosine);
    double real = rounded(quotient(double_double_product(hyperbolic_of_x.sine, hyperbolic_of_x.cosine), divisor));
    return complex_of(x == 0 ? x : real, rounded(quotient(product, divisor)));
}

/* The function of i z, times -i: sin of sinh, tan of tanh, asin of asinh and the other way round. */
#define FROM_ROTATED(name, function)                                      \
    REAL_INLINE ComplexNumber name(ComplexNumber z) {                     \
        ComplexNumber value = function(complex_of(-z.imaginary, z.real)); \
        return complex_of(value.imaginary, -value.real);                  \
    }

FROM_ROTATED(sin_of_complex, sinh_of_complex)
FROM_ROTATED(tan_of_complex, tanh_of_complex)

REAL_INLINE ComplexNumber cos_of_complex(ComplexNumber z) {
    return cosh_of_complex(complex_of(-z.imaginary, z.real));
}

/* The real component of sqrt(1 - z) sqrt(1 + z), and the absolute value of the imaginary one of asin(z). Neither
   product's terms cancel. */
REAL_INLINE ComplexNumber asin_acos_of(ComplexNumber z) {
    double x = fabs(z.real), y = fabs(z.imaginary), largest = larger_of(x, y);
    if ((x == INFINITY) | (y == INFINITY)) return complex_of(y, INFINITY);
    if ((x != x) | (y != y)) return complex_of(x == 0 ? 1 : x + y, x + y);
    if (largest >= ASYMPTOTIC) return complex_of(y, full_range_logarithm_of_modulus((DoubleDouble){x, 0}, y, 1));
    if (largest < TINY_COMPONENT) return complex_of(1, y);
    ComplexDoubleDouble minus = upper_root(exact_sum(1, -x), y), plus = upper_root(exact_sum(1, x), y);
    DoubleDouble real = double_double_sum(
        double_double_product(minus.real, plus.real), double_double_product(minus.imaginary, plus.imaginary));
    DoubleDouble imaginary = double_double_sum(
        double_double_product(minus.real, plus.imaginary), double_double_product(minus.imaginary, plus.real));
    return complex_of(rounded(real), asinh_of(rounded(imaginary)));
}

REAL_INLINE ComplexNumber asin_of_complex(ComplexNumber z) {
    if ((fabs(z.real) < TINY_COMPONENT) & (fabs(z.imaginary) < TINY_COMPONENT)) return z;
    ComplexNumber components = asin_acos_of(z);
    double real = z.real == 0 ? z.real : atan2_of(z.real, components.real);
    return complex_of(real, copysign(components.imaginary, z.imaginary));
}

REAL_INLINE ComplexNumber acos_of_complex(ComplexNumber z) {
    ComplexNumber components = asin_acos_of(z);
    return complex_of(atan2_of(components.real, z.real), -copysign(components.imaginary, z.imaginary));
}

FROM_ROTATED(asinh_of_complex, asin_of_complex)

REAL_INLINE ComplexNumber acosh_of_complex(ComplexNumber z) {
    ComplexNumber components = asin_acos_of(z);
    return complex_of(components.imaginary, copysign(atan2_of(components.real, z.real), z.imaginary));
}

/* log((1 + z) / (1 - z)) / 2, by the quotient of the squared moduli less 1, 4 x / |1 - z|^2, for x >= 0. */
REAL_INLINE ComplexNumber atanh_of_complex(ComplexNumber z) {
    double x = fabs(z.real), y = fabs(z.imaginary), largest = larger_of(x, y), real;
    if ((x == INFINITY) | (y == INFINITY))
        return complex_of(copysign(0, z.real), y == y ? copysign(HALF_PI, z.imaginary) : y);
    if ((x != x) | (y != y)) return complex_of(x == 0 ? z.real : x + y, x + y);
    if (largest < TINY_COMPONENT) return z;
    if (largest >= ASYMPTOTIC) {
        double ratio = (x > y ? y : x) / largest;
        real = x / largest / FUSED_MULTIPLY_ADD(ratio, ratio, 1) / largest;
        return complex_of(copysign(real, z.real), copysign(HALF_PI, z.imaginary));
    }
    DoubleDouble below = exact_sum(1, -x), above = exact_sum(1, x);
    DoubleDouble height = {y, 0}, square = double_double_product(height, height);
    if ((x == 1) & (y < TINY_COMPONENT)) {
        real = y == 0 ? INFINITY : 0.5 * (LOG_OF_2 + LOG_OF_2_REST - logarithm_of(y));
    } else {
        DoubleDouble distance = double_double_sum(double_double_product(below, below), square);
        real = 0.25 * log_plus_one_of(4 * x / distance.high);
    }
    DoubleDouble cosine = double_double_sum(double_double_product(below, above), scaled_by(square, -1));
    double angle = 0.5 * atan2_of(2 * y, cosine.high);
    return complex_of(copysign(real, z.real), copysign(angle, z.imaginary));
}

FROM_ROTATED(atan_of_complex, atanh_of_complex)

/* Each function: the name of its ufunc, its own, and the type of its values. */
#define EACH_COMPLEX_FUNCTION(DO, level, code)                  \
    DO(modulus, modulus_of, double, level, code)                \
    DO(square_root, square_root_of, ComplexNumber, level, code) \
    DO(logarithm, log_of, ComplexNumber, level, code)           \
    DO(log_plus_one, log1p_of, ComplexNumber, level, code)      \
    DO(sinh, sinh_of_complex, ComplexNumber, level, code)       \
    DO(cosh, cosh_of_complex, ComplexNumber, level, code)       \
    DO(tanh, tanh_of_complex, ComplexNumber, level, code)       \
    DO(sine, sin_of_complex, ComplexNumber, level, code)        \
    DO(cosine, cos_of_complex, ComplexNumber, level, code)      \
    DO(tangent, tan_of_complex, ComplexNumber, level, code)     \
    DO(asin_acos, asin_acos_of, ComplexNumber, level, code)     \
    DO(asin, asin_of_complex, ComplexNumber, level, code)       \
    DO(acos, acos_of_complex, ComplexNumber, level, code)       \
    DO(asinh, asinh_of_complex, ComplexNumber, level, code)     \
    DO(acosh, acosh_of_complex, ComplexNumber, level, code)     \
    DO(atan, atan_of_complex, ComplexNumber, level, code)       \
    DO(atanh, atanh_of_complex, ComplexNumber, level, code)

/* The number of each function in tables. */
#define COMPLEX_NUMBER_OF(name, function, type, level, code) COMPLEX_##name,
enum { EACH_COMPLEX_FUNCTION(COMPLEX_NUMBER_OF, , ) COMPLEX_FUNCTION_COUNT };

/* NumPy's signature of an inner loop. */
typedef void (*ComplexLoop)(char **pointers, const intptr_t *count, const intptr_t *strides, void *data);

#define COMPLEX_LOOP(name, function, type, level, code)                                \
    code static void name##_##level##_loop(                                            \
        char **pointers, const intptr_t *count, const intptr_t *strides, void *data) { \
        (void)data;                                                                    \
        for (intptr_t i = 0; i < *count; i++) {                                        \
            ComplexNumber z;                                                           \
            memcpy(&z, pointers[0] + i * strides[0], sizeof z);                        \
            type value = function(z);                                                  \
            memcpy(pointers[1] + i * strides[1], &value, sizeof value);                \
        }                                                                              \
    }

#define LOOP_ENTRY(name, function, type, level, code) name##_##level##_loop,
#define COMPLEX_FUNCTIONS(level, code)               \
    EACH_COMPLEX_FUNCTION(COMPLEX_LOOP, level, code) \
    static const ComplexLoop level##_loops[] = {EACH_COMPLEX_FUNCTION(LOOP_ENTRY, level, code)};

COMPLEX_FUNCTIONS(plain, )
#if HAS_LEVELS
COMPLEX_FUNCTIONS(fused, FUSED_CODE)
#endif

/* The loops for this processor, by the functions' numbers. One number at a time gains nothing by wider vectors. */
static const ComplexLoop *complex_loops(void) {
#if HAS_LEVELS
    if (best_level() != PLAIN_LEVEL) return fused_loops;
#endif
    return plain_loops;
}

#endif
