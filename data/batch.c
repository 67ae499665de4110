/* batch.c - the windows of the text in each step's batch. */
#include "data/data.h"
#include "base/memory.h"
#include "base/random.h"

#include <string.h>

/* Returns the index in the text of window `number` in the order of training, and sets *key to the
 * key of its epoch. */
static size_t window_of(uint64_t seed, uint64_t number, size_t windows, uint64_t *key) {
    *key = random_key(seed, RANDOM_BATCHES, number / windows);
    return (size_t)random_permuted(*key, number % windows, windows);
}

void batch_shuffled(const int32_t *ids, size_t length, int B, int T, uint64_t seed, uint64_t step,
                    int first, int count, int32_t *inputs, int32_t *targets, size_t *starts) {
    size_t row = (size_t)T, places = length - row, windows = places / row;
    if (windows == 0) windows = 1;
    size_t offsets = places - (windows - 1) * row; /* places where the first window may begin */
    for (size_t b = 0; b < (size_t)count; b++) {
        uint64_t key;
        size_t window = window_of(seed, step * (uint64_t)B + (uint64_t)first + b, windows, &key);
        size_t start = window * row + (size_t)(random_uniform(key, 0) * (double)offsets);
        memcpy(inputs + b * row, ids + start, row * sizeof *ids);
        memcpy(targets + b * row, ids + start + 1, row * sizeof *ids);
        starts[b] = start;
    }
}

/* ---- lists ---- */

/* Returns the end of the window that begins at `begin`. */
static size_t end_of(const int32_t *ids, size_t begin, int T) {
    size_t end = begin + 1;
    while (ids[end] != ids[0] && end - begin < (size_t)T) end++;
    return end;
}

size_t lines_count(const int32_t *ids, size_t length, int T) {
    size_t count = 0;
    for (size_t i = 0; i + 1 < length; i = end_of(ids, i, T)) count++;
    return count;
}

bool lines_cut(Lines *lines, const int32_t *ids, size_t length, int T, Error *err) {
    *lines = (Lines){.count = lines_count(ids, length, T)};
    if (!memory_alloc(&lines->begins, lines->count + 1, sizeof *lines->begins, "the lines", err))
        return false;
    for (size_t i = 0; i < lines->count; i++)
        lines->begins[i + 1] = end_of(ids, lines->begins[i], T);
    return true;
}

void lines_free(Lines *lines) {
    memory_free(lines->begins);
    *lines = (Lines){0};
}

int batch_lines(const Lines *lines, size_t windows, int B, uint64_t seed, uint64_t step, int first,
                int count, size_t *starts, size_t *ends) {
    size_t longest = 0;
    for (int b = 0; b < B; b++) {
        uint64_t key;
        size_t window = window_of(seed, step * (uint64_t)B + (uint64_t)b, windows, &key);
        size_t start = lines->begins[window], end = lines->begins[window + 1];
        if (end - start > longest) longest = end - start;
        if (b < first || b >= first + count) continue;
        starts[b - first] = start;
        ends[b - first] = end;
    }
    return (int)longest;
}
