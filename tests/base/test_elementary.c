/* test_elementary.c - the elementary functions beside those of the C library, and a few of their
 * values to the last bit. */
#include "tests/support.h"
#include "base/elementary.h"
#include "base/random.h"

enum { POINTS = 200000 };

/* A random number between a and b. */
static double between(double a, double b, int i) {
    return a + (b - a) * random_uniform(7, (uint64_t)i);
}

/* The distance of `x` from `truth` in units in the last place of `truth`. */
static double units_apart(double x, double truth) {
    int exponent;
    frexp(truth, &exponent);
    return fabs(x - truth) / ldexp(1, exponent - 53);
}

TEST(logarithm) {
    double worst = 0;
    for (int i = 0; i < POINTS; i++) {
        double near = between(0.5, 2, i), far = exp(between(-700, 700, i));
        worst = fmax(worst, units_apart(natural_logarithm(near), log(near)));
        worst = fmax(worst, units_apart(natural_logarithm(far), log(far)));
    }
    if (!(worst <= 2)) fail_msg("%g units", worst);
    assert_true(natural_logarithm(1) == 0 && natural_logarithm(0) == -INFINITY);
    assert_true(natural_logarithm(INFINITY) == INFINITY);
    assert_true(isnan(natural_logarithm(-1)) && isnan(natural_logarithm(NAN)));
}

TEST(exponential) {
    double worst = 0;
    for (int i = 0; i < POINTS; i++) {
        double near = between(-1, 1, i), far = between(-708, 709, i);
        worst = fmax(worst, units_apart(natural_exponential(near), exp(near)));
        worst = fmax(worst, units_apart(natural_exponential(far), exp(far)));
    }
    if (!(worst <= 2)) fail_msg("%g units", worst);
    assert_true(natural_exponential(0) == 1 && natural_exponential(-1000) == 0);
    assert_true(natural_exponential(-INFINITY) == 0 && natural_exponential(INFINITY) == INFINITY);
    assert_true(natural_exponential(1000) == INFINITY && isnan(natural_exponential(NAN)));
}

/* The powers that rotary positions and AdamW take. */
TEST(power) {
    for (int i = 0; i < 64; i++)
        assert_near(power(10000, -i / 64.0) / pow(10000, -i / 64.0), 1, 4e-15);
    for (int step = 1; step < 5000; step++) {
        assert_near(power(0.9, step), pow(0.9, step), 1e-15);
        assert_near(power(0.99, step), pow(0.99, step), 1e-15);
    }
}

TEST(cosine_and_sine) {
    skip_without(EXACT_COSINES);
    for (int i = 0; i < POINTS; i++) {
        double angle = i % 2 ? between(-4, 7, i) : between(-1048575, 1048575, i), c, s;
        cosine_and_sine(angle, &c, &s);
        assert_near(c, cos(angle), 0x1p-52);
        assert_near(s, sin(angle), 0x1p-52);
    }
}

/* These do not depend on the C library, the compiler or the processor. */
TEST(bits) {
    double c, s;
    cosine_and_sine(100, &c, &s);
    assert_true(natural_logarithm(10) == 0x1.26bb1bbb55516p+1);
    assert_true(natural_exponential(1) == 0x1.5bf0a8b14576ap+1);
    assert_true(power(10000, -0.25) == 0x1.9999999999998p-4);
    assert_true(c == 0x1.b981dbf665fep-1 && s == -0x1.03425b78c4db8p-1);
}
