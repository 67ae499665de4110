/* test_random.c - counter-based random numbers: the published generator, the shape of both
 * distributions, and the independence of streams. Every run has the same numbers. Tolerances are
 * about four standard deviations. */
#include "tests/support.h"
#include "base/random.h"

/* Published values of SplitMix64 for this seed. */
enum { KEY = 1234567, KNOWN = 5 };
static const uint64_t published[KNOWN] = {6457827717110365317u, 3203168211198807973u,
                                          9817491932198370423u, 4593380528125082431u,
                                          16408922859458223821u};

/* A key's bits are those values, in any order of requests. */
TEST(random_bits) {
    for (uint64_t i = KNOWN; i-- > 0;) assert_true(random_bits(KEY, i) == published[i]);
    for (uint64_t i = 0; i < KNOWN; i++) assert_true(random_bits(KEY, i) == published[i]);
}

/* Each normal number uses two of them alone: a radius and an angle. */
TEST(random_pairs) {
    for (uint64_t i = 0; i < KNOWN / 2; i++) {
        double u = (double)(published[2 * i] >> 11) * 0x1p-53;
        double v = (double)(published[2 * i + 1] >> 11) * 0x1p-53;
        assert_near(random_uniform(KEY, 2 * i), u, 0);
        assert_near(random_normal(KEY, i), sqrt(-2 * log(1 - u)) * cos(8 * atan(1) * v), 1e-12);
    }
}

enum { MANY = 200000 };

TEST(random_uniform) {
    uint64_t key = random_key(1, RANDOM_DROPOUT, 2);
    double sum = 0, squares = 0, serial = 0, last = 0;
    int odd = 0, tenths[10] = {0};
    for (uint64_t i = 0; i < MANY; i++) {
        double u = random_uniform(key, i);
        assert_true(u >= 0 && u < 1);
        double whole = u * 0x1p53;
        assert_near(whole, floor(whole), 0);
        odd += fmod(whole, 2) > 0.5;
        tenths[(int)(10 * u)]++;
        sum += u;
        squares += (u - 0.5) * (u - 0.5);
        serial += (u - 0.5) * (last - 0.5);
        last = u;
    }
    assert_near(sum / MANY, 0.5, 0.0026);
    assert_near(squares / MANY, 1 / 12.0, 0.0007);
    assert_near(serial / MANY, 0, 0.00075);
    assert_near(odd, MANY / 2.0, 900);
    for (int i = 0; i < 10; i++) assert_near(tenths[i], MANY / 10.0, 540);
}

TEST(random_normal) {
    static const double beyond[] = {0.5, 0.158655, 0.022750, 0.0013499, 0.0000317};
    uint64_t key = random_key(1, RANDOM_WEIGHTS, 3);
    double moments[5] = {0}, serial = 0, last = 0;
    int above[5] = {0}, below[5] = {0};
    for (uint64_t i = 0; i < MANY; i++) {
        double z = random_normal(key, i), power = 1;
        assert_true(isfinite(z) && fabs(z) < 9);
        for (int m = 1; m < 5; m++) {
            moments[m] += power *= z;
            above[m] += z > m;
            below[m] += z < -m;
        }
        serial += z * last;
        last = z;
    }
    assert_near(moments[1] / MANY, 0, 0.009);
    assert_near(moments[2] / MANY, 1, 0.013);
    assert_near(moments[3] / MANY, 0, 0.035);
    assert_near(moments[4] / MANY, 3, 0.09);
    assert_near(serial / MANY, 0, 0.009);
    for (int m = 1; m < 5; m++) {
        double expected = MANY * beyond[m];
        assert_near(above[m], expected, 4 * sqrt(expected) + 1);
        assert_near(below[m], expected, 4 * sqrt(expected) + 1);
    }
}

/* Keys that differ by one in any part give uncorrelated streams, at any shift. */
TEST(random_keys) {
    enum {
        SEEDS = 5,
        PURPOSES = 4,
        NUMBERS = 10,
        KEYS = SEEDS * PURPOSES * NUMBERS,
        LENGTH = 1000
    };
    uint64_t keys[KEYS];
    for (uint64_t i = 0; i < KEYS; i++)
        keys[i] = random_key(i / (PURPOSES * NUMBERS), 1 + i / NUMBERS % PURPOSES, i % NUMBERS);
    static const int steps[] = {1, NUMBERS, PURPOSES * NUMBERS};
    for (int i = 0; i < KEYS; i++) {
        for (int j = 0; j < i; j++) assert_true(keys[i] != keys[j]);
        for (int k = 0; k < 3; k++) {
            uint64_t other = keys[(i + steps[k]) % KEYS];
            double products[3] = {0};
            for (uint64_t at = 1; at <= LENGTH; at++) {
                double u = random_uniform(keys[i], at) - 0.5;
                for (uint64_t lag = 0; lag < 3; lag++)
                    products[lag] += 12 * u * (random_uniform(other, at + lag - 1) - 0.5);
            }
            /* 1800 correlations of deviation 1 / sqrt(1000): the largest is near 3.4 deviations */
            for (int lag = 0; lag < 3; lag++) assert_near(products[lag] / LENGTH, 0, 0.15);
        }
    }
}

/* Each index gets its own position, every position is about equally frequent, and another key gives
 * another order. */
TEST(random_permuted) {
    enum { MAX = 70, KEYS = 2000 };
    for (uint64_t count = 1; count <= MAX; count += count < 20 ? 1 : 17) {
        int seen[MAX] = {0}, at_first[MAX] = {0};
        for (uint64_t key = 0; key < KEYS; key++) {
            for (uint64_t i = 0; i < count; i++) {
                uint64_t place = random_permuted(random_bits(3, key), i, count);
                assert_true(place < count);
                seen[place]++;
                at_first[place] += i == 0;
            }
            for (uint64_t i = 0; i < count; i++) assert_int_equal(seen[i], key + 1);
        }
        double expected = (double)KEYS / (double)count;
        for (uint64_t i = 0; i < count; i++) assert_near(at_first[i], expected, 5 * sqrt(expected));
    }
    assert_true(random_permuted(1, 5, UINT64_C(1) << 40) < UINT64_C(1) << 40);
}
