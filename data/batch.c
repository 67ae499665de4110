/* batch.c - the windows of each step's batch. */
#include "data/data.h"
#include "base/random.h"

void batch_windows(size_t length, int B, int T, uint64_t seed, uint64_t step, int first, int count,
                   size_t *starts) {
    const size_t row = (size_t)T, places = length - row;
    const size_t windows = places < 2 * row ? 1 : places / row;
    const size_t offsets =
        places - (windows - 1) * row; /* where an epoch's first window may begin */
    for (int i = 0; i < count; i++) {
        const uint64_t number = step * (uint64_t)B + (uint64_t)(first + i),
                       key = random_key(seed, RANDOM_BATCHES, number / windows);
        starts[i] = (size_t)random_permuted(key, number % windows, windows) * row +
                    (size_t)(random_uniform(key, 0) * (double)offsets);
    }
}
