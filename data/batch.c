/* batch.c - the windows of the text in each step's batch. */
#include "data/data.h"
#include "base/random.h"

#include <string.h>

void batch_shuffled(const int32_t *ids, size_t length, int B, int T, uint64_t seed, uint64_t step,
                    int first, int count, int32_t *inputs, int32_t *targets, size_t *starts) {
    size_t row = (size_t)T, places = length - row, windows = places / row;
    if (windows == 0) windows = 1;
    size_t offsets = places - (windows - 1) * row; /* of the first window */
    for (size_t b = 0; b < (size_t)count; b++) {
        uint64_t number = step * (uint64_t)B + (uint64_t)first + b;
        uint64_t key = random_key(seed, RANDOM_BATCHES, number / windows); /* of the epoch */
        size_t window = (size_t)random_permuted(key, number % windows, windows);
        size_t start = window * row + (size_t)(random_uniform(key, 0) * (double)offsets);
        memcpy(inputs + b * row, ids + start, row * sizeof *ids);
        memcpy(targets + b * row, ids + start + 1, row * sizeof *ids);
        starts[b] = start;
    }
}
