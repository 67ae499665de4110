/* batch.c - the windows that a text is cut into, and those of each step's batch. */
#include "data/data.h"
#include "base/memory.h"
#include "base/random.h"

/* Returns the end of the window that begins at `begin`. */
static size_t end_of(const int32_t *ids, size_t length, size_t begin, int T, bool list) {
    const size_t full = begin + (size_t)T;
    size_t end = full < length ? full : length - 1;
    for (size_t i = begin + 1; list && i < end; i++)
        if (ids[i] == ids[0]) end = i;
    return end;
}

size_t cut_count(const int32_t *ids, size_t length, int T, bool list) {
    size_t count = 0;
    for (size_t i = 0; i + 1 < length; i = end_of(ids, length, i, T, list)) count++;
    return count;
}

bool cut_text(Cut *cut, const int32_t *ids, size_t length, int T, bool list, Error *err) {
    *cut = (Cut){.count = cut_count(ids, length, T, list)};
    if (!memory_alloc(&cut->begins, cut->count + 1, sizeof *cut->begins, "the windows", err))
        return false;
    for (size_t i = 0; i < cut->count; i++)
        cut->begins[i + 1] = end_of(ids, length, cut->begins[i], T, list);
    return true;
}

void cut_free(Cut *cut) {
    memory_free(cut->begins);
    *cut = (Cut){0};
}

size_t batch_windows(const Cut *list, size_t length, int B, int T, uint64_t seed, uint64_t step,
                     int first, int count, size_t *starts, size_t *ends) {
    const size_t row = (size_t)T, places = length - row;
    const size_t windows = list ? list->count : places < 2 * row ? 1 : places / row;
    size_t before = 0;
    for (int b = 0; b < first + count; b++) {
        const uint64_t number = step * (uint64_t)B + (uint64_t)b,
                       key = random_key(seed, RANDOM_BATCHES, number / windows);
        const size_t window = (size_t)random_permuted(key, number % windows, windows);
        size_t start, end;
        if (list) {
            start = list->begins[window];
            end = list->begins[window + 1];
        } else { /* the first window of an epoch begins at one of these places */
            const size_t offsets = places - (windows - 1) * row;
            start = window * row + (size_t)(random_uniform(key, 0) * (double)offsets);
            end = start + row;
        }
        if (b < first) {
            before += end - start;
            continue;
        }
        starts[b - first] = start;
        ends[b - first] = end;
    }
    return before;
}
