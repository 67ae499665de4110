/* drawn.h - tests of many cases, most at or beside a threshold, by one digest of all results: its
 * value stands in the test, and changes with any of them. */
#ifndef TRIL_DRAWN_H
#define TRIL_DRAWN_H

#include "tests/support.h"
#include "base/digest.h"
#include "base/random.h"

#include <inttypes.h>

/* Each place draws anew in each case, in whatever order a compiler evaluates them. */
static uint64_t drawn_case;
enum { FIRST_PLACE = __COUNTER__ };

static inline double one_of(uint64_t place, const double *numbers, size_t count) {
    return numbers[random_bits(drawn_case, place) % count];
}
#define NUMBERS(...) (const double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double)
#define DRAW(...)    one_of(__COUNTER__ - FIRST_PLACE, NUMBERS(__VA_ARGS__))

/* A multiple of a hundredth of `end`. */
#define DRAW_BELOW(end) \
    ((end)*floor(100 * random_uniform(drawn_case, __COUNTER__ - FIRST_PLACE)) / 100)

static inline void add_numbers(Digest *digest, const double *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char text[32];
        snprintf(text, sizeof text, isnan(numbers[i]) ? "- " : "%.5g ", numbers[i]);
        digest_add(digest, text, strlen(text));
    }
}
#define ADD(digest, ...) add_numbers(digest, NUMBERS(__VA_ARGS__))

static inline void expect_digest(const Digest *digest, uint64_t expected) {
    if (digest_value(digest) != expected) fail_msg("0x%016" PRIx64, digest_value(digest));
}

#endif
