/* elementary.h - elementary functions that give the same bits on every machine, unlike those of C
 * libraries, which differ in the last places.
 *
 * They only add, multiply and divide doubles, which IEEE 754 defines to the last bit. (sqrt is
 * defined as well, so it has no copy here.) Errors are relative unless said otherwise; one unit in
 * the last place is 2^-52. */
#ifndef TRIL_BASE_ELEMENTARY_H
#define TRIL_BASE_ELEMENTARY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ln 2 in parts; the first has 33 bits, so that its product with an integer of 20 bits is exact. */
static const double ln2[] = {0x1.62e42fef00000p-1, 0x1.473de6af278edp-34};

/* Returns ln x, with an error below 2 units in the last place; -infinity for 0, NaN below 0 and for
 * NaN. Not for subnormal numbers.
 *
 * x = 2^n m with m between sqrt(1/2) and sqrt(2). With f = m - 1 and s = f / (2 + f), ln m = 2
 * artanh s = 2 s + 2 s^3/3 + 2 s^5/5 + ..., and 2 s = f - s f. So ln m = f - s (f - 2 s^2/3 - ...),
 * whose leading term is exact. It has no branches: loops over it become vectors. */
static inline double natural_logarithm(double x) {
    static const double series[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                                    2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
    const uint64_t least = 0x3FE6A09E667F3BCE; /* the bits of the least m */
    uint64_t bits, of_m;
    memcpy(&bits, &x, sizeof bits);
    int n = (int)((int64_t)(bits - least) >> 52);
    of_m = bits - ((uint64_t)n << 52);
    double m, sum = 0;
    memcpy(&m, &of_m, sizeof m);
    double f = m - 1, s = f / (2 + f), square = s * s;
#pragma GCC unroll 11
    for (int i = 10; i >= 0; i--) sum = sum * square + series[i];
    double rest = s * (f - square * sum);
    double result = n * ln2[0] + (f - (rest - n * ln2[1]));
    return x > 0 ? x == (double)INFINITY ? x : result : x == 0 ? -(double)INFINITY : (double)NAN;
}

/* Returns c[0] + c[1] x + ... + c[count - 1] x^(count - 1). */
static inline double polynomial_of(const double *c, int count, double x) {
    double sum = c[count - 1];
#pragma GCC unroll 9
    for (int i = count - 2; i >= 0; i--) sum = sum * x + c[i];
    return sum;
}

/* Returns e^x, with an error below 2 units in the last place; 0 below -708, infinity above 709, NaN
 * for NaN.
 *
 * x = n ln 2 + r with |r| <= ln 2 / 2. e^r is its Taylor series; the processor sums even and odd
 * terms at the same time. A double near 1.5 * 2^52 has no bits after the point, so adding 1.5 *
 * 2^52 to x / ln 2 leaves n in the low bits of the sum. There are no branches here, either. */
static inline double natural_exponential(double x) {
    static const double even[] = {1.0 / 2,       1.0 / 24,        1.0 / 720,        1.0 / 40320,
                                  1.0 / 3628800, 1.0 / 479001600, 1.0 / 87178291200};
    static const double odd[] = {1.0 / 6,      1.0 / 120,      1.0 / 5040,
                                 1.0 / 362880, 1.0 / 39916800, 1.0 / 6227020800};
    const double rounder = 0x1.8p52;
    double shifted = x * 1.4426950408889634 + rounder, n = shifted - rounder, power_of_two;
    double r = x - n * ln2[0] - n * ln2[1], square = r * r;
    double rest = square * (polynomial_of(even, 7, square) + r * polynomial_of(odd, 6, square));
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    memcpy(&power_of_two, &bits, sizeof bits);
    double result = (1 + (r + rest)) * power_of_two;
    result = x < -708 ? 0 : result;
    result = x > 709 ? (double)INFINITY : result;
    return x != x ? x : result;
}

/* Returns x^y for x > 0, as e^(y ln x): the error grows by about |y ln x| units. */
double power(double x, double y);

/* Sets the cosine and sine of `angle` radians, |angle| < 2^20, with absolute errors below 2^-52. */
void cosine_and_sine(double angle, double *cosine, double *sine);

#endif
