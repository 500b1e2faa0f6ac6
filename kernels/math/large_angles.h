/* Angles of f64 of any magnitude, less a multiple of pi/2.

   For magnitudes from MAX_REDUCED on the remainder is a product of integers with the digits of 2/pi that decide it. */

#ifndef NIMBLEHLO_LARGE_ANGLES_H
#define NIMBLEHLO_LARGE_ANGLES_H

#include "elementary_functions.h"

/* For MAX_REDUCED <= |x| < infinity. The product of x and 2/pi is needed modulo 4: of 2/pi only digits whose product is
   below 4 count, and 256 of these leave an error below 2^-200, where no remainder is below 2^-62. Source: M. H. Payne
   and R. N. Hanek, "Radian reduction for trigonometric functions", SIGNUM Newsletter 18(1), 1983. */
static Reduced reduce_large_by_half_pi(double x) {
    /* After a word of zeros the digits of 2/pi. */
    static const uint32_t digits[] = {
        0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a,
        0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41,
        0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf,
        0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08,
        0x56033046, 0xfc7b6bab, 0xf0cfbc20, 0x9af4361d,
    };
    const uint64_t one = (uint64_t)1 << 52;
    uint64_t mantissa = (bits_of_double(x) & (one - 1)) | one, carry = 0;
    /* |x| is mantissa 2^exponent; the digit at `first` of 2/pi 2^exponent has the weight 2. */
    int exponent = (int)(bits_of_double(x) >> 52 & 0x7ff) - 1075, first = exponent + 30, word = 0;
    uint32_t window[8], product[9] = {0};
    for (int i = 0; i < 8; i++) {
        const uint32_t *from = digits + first / 32 + i;
        window[i] = (uint32_t)(((uint64_t)from[0] << 32 | from[1]) >> (32 - first % 32));
    }
    for (int i = 7; i >= 0; i--, carry >>= 32) {
        carry += (mantissa & 0xffffffff) * window[i];
        product[i] = (uint32_t)carry;
    }
    carry = 0;
    for (int i = 6; i >= 0; i--, carry >>= 32) {
        carry += (mantissa >> 32) * window[i + 1] + product[i];
        product[i] = (uint32_t)carry;
    }
    uint64_t quarter = product[0] >> 30;
    for (int i = 0; i < 8; i++) product[i] = product[i] << 2 | product[i + 1] >> 30;
    double sign = 1;
    if (product[0] >> 31) {
        quarter++, sign = -1;
        for (int i = 0; i < 8; i++) product[i] = ~product[i];
    }
    while (word < 4 && !product[word]) word++;
    DoubleDouble fraction = ordered_sum(product[word] * 0x1p96, product[word + 1] * 0x1p64);
    fraction = ordered_sum(fraction.high, fraction.low + product[word + 2] * 0x1p32 + product[word + 3]);
    DoubleDouble half_pi = {HALF_PI, HALF_PI_NEXT}, angle = double_double_product(fraction, half_pi);
    double scale = sign * copysign(power_of_two(-32 * (word + 4)), x);
    angle = ordered_sum(angle.high * scale, angle.low * scale);
    return reduced_pair(x < 0 ? -quarter : quarter, angle.high, angle.low);
}

/* For |x| < infinity. */
REAL_INLINE Reduced reduce_any_by_half_pi(double x) {
    return fabs(x) < MAX_REDUCED ? reduce_by_half_pi(x) : reduce_large_by_half_pi(x);
}

#endif
