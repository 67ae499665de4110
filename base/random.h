/* random.h - counter-based random numbers: the number at (key, index) is a hash of both.
 *
 * No generator state is carried. A key names a stream ("dropout of layer 3 at step 40 of seed 7"),
 * and an index names its element. So any thread can draw any element in any order and get the same
 * bits. The random state of a whole run is its seed and its step (Salmon et al., "Parallel Random
 * Numbers: As Easy as 1, 2, 3", 2011). The mixing function is the finalizer of SplitMix64 (Steele,
 * Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014). */
#ifndef TRIL_BASE_RANDOM_H
#define TRIL_BASE_RANDOM_H

#include <stdint.h>

/* The purpose of a stream. */
enum { RANDOM_WEIGHTS = 1, RANDOM_BATCHES, RANDOM_DROPOUT, RANDOM_SAMPLES };

/* Returns the key of a stream, which purpose and number identify within a seed. */
uint64_t random_key(uint64_t seed, uint64_t purpose, uint64_t number);

/* Returns 64 random bits. */
uint64_t random_bits(uint64_t key, uint64_t index);

/* Returns the new position of `index` in a random permutation of 0 to count - 1. (A Feistel network
 * of four rounds, repeated while the result is `count` or more: Black and Rogaway, "Ciphers with
 * Arbitrary Finite Domains", 2002.) */
uint64_t random_permuted(uint64_t key, uint64_t index, uint64_t count);

/* Returns a uniform number in [0, 1), a multiple of 2^-53. */
double random_uniform(uint64_t key, uint64_t index);

/* Returns a normal number of mean 0 and deviation 1 (Box and Muller, 1958). */
double random_normal(uint64_t key, uint64_t index);

#endif
