/* test_random.c - counter-based random numbers: the published generator, both distributions from
 * its bits, and the independence of streams. Every run has the same numbers. */
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

/* A uniform number is the upper 53 of a place's bits. Each normal number uses two of them alone: a
 * radius and an angle. */
TEST(distributions) {
    for (uint64_t i = 0; i < 1000; i++) {
        double u = (double)(random_bits(KEY, 2 * i) >> 11) * 0x1p-53;
        double v = (double)(random_bits(KEY, 2 * i + 1) >> 11) * 0x1p-53;
        assert_near(random_uniform(KEY, 2 * i), u, 0);
        assert_near(random_normal(KEY, i), sqrt(-2 * log(1 - u)) * cos(8 * atan(1) * v), 1e-12);
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

/* Each index has its own position, all are about as frequent, and another key has another order. */
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
