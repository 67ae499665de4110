#include "base/random.h"
#include "base/elementary.h"

#include <math.h>

static const double pi = 3.14159265358979323846;
static const uint64_t golden_gamma = 0x9E3779B97F4A7C15u; /* 2^64 / golden ratio, odd */

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint64_t random_bits(uint64_t key, uint64_t index) {
    return mix(key + (index + 1) * golden_gamma);
}

uint64_t random_key(uint64_t seed, uint64_t purpose, uint64_t number) {
    return random_bits(random_bits(mix(seed), purpose), number);
}

uint64_t random_permuted(uint64_t key, uint64_t index, uint64_t count) {
    int half = 1; /* half the bits of a number in the permutation */
    while (half < 32 && count > UINT64_C(1) << 2 * half) half++;
    uint64_t mask = (UINT64_C(1) << half) - 1;
    do {
        uint64_t left = index >> half, right = index & mask;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t next = left ^ (random_bits(random_bits(key, round), right) & mask);
            left = right;
            right = next;
        }
        index = left << half | right;
    } while (index >= count);
    return index;
}

double random_uniform(uint64_t key, uint64_t index) {
    return (double)(random_bits(key, index) >> 11) * 0x1p-53;
}

double random_normal(uint64_t key, uint64_t index) {
    /* 1 - u is in (0, 1], so the logarithm is finite. */
    double radius = sqrt(-2.0 * natural_logarithm(1.0 - random_uniform(key, 2 * index)));
    double cosine, sine;
    cosine_and_sine(2.0 * pi * random_uniform(key, 2 * index + 1), &cosine, &sine);
    return radius * cosine;
}
