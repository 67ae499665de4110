/* test_tokenizer_json.c - replays a corpus of tokenizer.json, as tests/library/test_fuzz.c does
 * others. */
#include "tests/fuzz/fuzz.h"
#include "tests/support.h"

void fuzz_tokenizer(const uint8_t *bytes, size_t length);

TEST(corpus) {
    fuzz_replay("extras/formats/tests/corpus/tokenizer", fuzz_tokenizer);
}
