/* fuzz_tokenizer.c - an accepted tokenizer.json gives distinct characters each id from 0 on
 * once. */
#include "tests/fuzz/fuzz.h"
#include "tests/support.h"
#include "extras/formats/tokenizer_json.h"
#include "base/memory.h"
#include "data/data.h"

#include <string.h>

static void check_vocabulary(const Vocab *vocab, const int32_t *rows) {
    static unsigned char taken[GUARDED];
    memset(taken, 0, (size_t)vocab->size);
    for (int id = 0; id < vocab->size; id++) {
        if (id > 0 && vocab->codes[id] <= vocab->codes[id - 1]) fuzz_fail("sorted characters");
        if (rows[id] < 0 || rows[id] >= vocab->size || taken[rows[id]]) fuzz_fail("a row for each");
        taken[rows[id]] = 1;
    }
}

void fuzz_tokenizer(const uint8_t *bytes, size_t length);

void fuzz_tokenizer(const uint8_t *bytes, size_t length) {
    Vocab vocab = {0};
    int32_t *rows = NULL;
    JsonValue *root;
    err = (Error){0};
    char *text = guarded(bytes, length);
    if (!text) return;
    if (json_read(&root, "file", tokenizer_claim, text, length, &err) &&
        tokenizer_read(&vocab, "file", root, &rows, &err)) {
        check_vocabulary(&vocab, rows);
    } else {
        if (strncmp(err.text, "file: ", 6) != 0 || strchr(err.text, '\n'))
            fuzz_fail("one sentence");
        if (vocab.codes || rows) fuzz_fail("nothing to release");
    }
    vocab_free(&vocab);
    memory_free(rows);
    memory_free(root);
}
