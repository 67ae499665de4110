/* test_tokenizer_json.c - replays corpora of tokenizer.json and of whole folders, as
 * tests/library/test_fuzz.c does others. */
#include "tests/fuzz/fuzz.h"
#include "tests/support.h"

void fuzz_tokenizer(const uint8_t *bytes, size_t length);

void fuzz_folder(const uint8_t *bytes, size_t length);

TEST(corpus) {
    fuzz_replay("extras/formats/tests/corpus/tokenizer", fuzz_tokenizer);
    fuzz_replay("extras/formats/tests/corpus/folder", fuzz_folder);
}
