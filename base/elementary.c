#include "base/elementary.h"
#include "base/array.h"

#include <stdint.h>

/* pi / 2 in parts, like ln2. */
static const double quarter_turn[] = {0x1.921fb54400000p+0, 0x1.0b4611a600000p-34,
                                      0x1.3198a2e037073p-69};

/* Returns the integer nearest to x, |x| < 2^51: 1.5 * 2^52 has no bits after the point. */
static double nearest(double x) {
    const double shift = 0x1.8p52;
    return x + shift - shift;
}

double power(double x, double y) {
    return natural_exponential(y * natural_logarithm(x));
}

/* angle = n pi/2 + r with |r| <= pi/4: the Taylor series of both functions at r, exchanged and
 * negated by the quarter turns. */
void cosine_and_sine(double angle, double *cosine, double *sine) {
    static const double of_cosine[] = {1,
                                       -1.0 / 2,
                                       1.0 / 24,
                                       -1.0 / 720,
                                       1.0 / 40320,
                                       -1.0 / 3628800,
                                       1.0 / 479001600,
                                       -1.0 / 87178291200,
                                       1.0 / 20922789888000};
    static const double of_sine[] = {
        -1.0 / 6,        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,
        -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
    double n = nearest(angle * 0.63661977236758134);
    double r = angle - n * quarter_turn[0] - n * quarter_turn[1] - n * quarter_turn[2];
    double square = r * r, c = polynomial_of(of_cosine, COUNT(of_cosine), square);
    double s = r + r * square * polynomial_of(of_sine, COUNT(of_sine), square);
    int quarter = (int)((int64_t)n & 3);
    *cosine = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
    *sine = quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
}
