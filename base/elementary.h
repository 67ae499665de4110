/* elementary.h - elementary functions that give the same bits on every machine, unlike those of C
 * libraries, which differ in the last places.
 *
 * They only add, multiply and divide doubles, which IEEE 754 defines to the last bit. (sqrt is
 * defined as well, so it has no copy here.) Errors are relative unless said otherwise; one unit in
 * the last place is 2^-52. */
#ifndef TRIL_ELEMENTARY_H
#define TRIL_ELEMENTARY_H

/* ln x, with an error below 2 units in the last place; -infinity for 0, NaN below 0 and for NaN.
 * Not for subnormal numbers. */
double natural_logarithm(double x);

/* e^x, with an error below 2 units in the last place; 0 below -708, infinity above 709, NaN for
 * NaN. */
double natural_exponential(double x);

/* x^y for x > 0, as e^(y ln x): the error grows with |y ln x|, by as many units. */
double power(double x, double y);

/* The cosine and sine of `angle` radians, |angle| < 2^20, with absolute errors below 2^-52. */
void cosine_and_sine(double angle, double *cosine, double *sine);

#endif
