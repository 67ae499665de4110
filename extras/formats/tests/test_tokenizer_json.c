/* test_tokenizer_json.c - replays a corpus of tokenizer.json, as tests/test_fuzz.c does others. */
#include "tests/fuzz/fuzz.h"
#include "tests/support.h"

void fuzz_tokenizer(const uint8_t *bytes, size_t length);

static void test_corpus(void **state) {
    (void)state;
    fuzz_replay("extras/formats/tests/corpus/tokenizer", fuzz_tokenizer);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_corpus)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
