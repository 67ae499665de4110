/* batch.c - which stretches of the text a step sees. */
#include "data/data.h"
#include "base/random.h"

#include <string.h>

void batch_random(const int32_t *ids, size_t length, int B, int T, uint64_t seed, uint64_t step,
                  int32_t *inputs, int32_t *targets) {
    uint64_t key = random_key(seed, RANDOM_BATCHES, step);
    size_t row = (size_t)T;
    for (int b = 0; b < B; b++) {
        size_t start = (size_t)(random_uniform(key, (uint64_t)b) * (double)(length - row));
        memcpy(inputs + (size_t)b * row, ids + start, row * sizeof *ids);
        memcpy(targets + (size_t)b * row, ids + start + 1, row * sizeof *ids);
    }
}
