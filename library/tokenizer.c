/* tokenizer.c - the tokenizers of tril.h. */
#include "base/memory.h"
#include "library/handles.h"

#include <string.h>

/* Takes the vocabulary over, also on failure. */
static bool wrap(TrilTokenizer **tokenizer, Vocab *vocab, Error *err) {
    bool ok = memory_alloc(tokenizer, 1, sizeof **tokenizer, "the tokenizer", err);
    if (ok)
        (*tokenizer)->vocab = *vocab;
    else
        vocab_free(vocab);
    return ok;
}

static bool make(TrilTokenizer **tokenizer, const char *text, size_t length, bool bytes,
                 Error *err) {
    Vocab vocab;
    return vocab_build(&vocab, "the text", text, length, bytes, err) &&
           wrap(tokenizer, &vocab, err);
}

TrilStatus tril_tokenizer_make(TrilTokenizer **tokenizer, const char *text, size_t length,
                               TrilError *error) {
    Error err = {0};
    if (!given(tokenizer, "the place for the tokenizer", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    *tokenizer = NULL;
    bool ok = given(text, "the text", &err) && (length > 0 || fail(&err, "the text: is empty")) &&
              make(tokenizer, text, length, false, &err);
    return outcome(ok, TRIL_TEXT, &err, error);
}

TrilStatus tril_tokenizer_of_bytes(TrilTokenizer **tokenizer, TrilError *error) {
    Error err = {0};
    if (tokenizer) *tokenizer = NULL;
    bool ok = given(tokenizer, "the place for the tokenizer", &err) &&
              make(tokenizer, NULL, 0, true, &err);
    return outcome(ok, TRIL_ARGUMENT, &err, error);
}

TrilStatus tril_tokenizer_load(TrilTokenizer **tokenizer, const char *path, TrilError *error) {
    Error err = {0};
    Trained trained;
    if (!given(tokenizer, "the place for the tokenizer", &err) || !given(path, "the path", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    *tokenizer = NULL;
    if (!trained_load(&trained, path, &err)) return refusal(TRIL_FILE, &err, error);
    checkpoint_free(&trained.checkpoint);
    return outcome(wrap(tokenizer, &trained.vocab, &err), TRIL_FILE, &err, error);
}

TrilStatus tril_tokenizer_copy(TrilTokenizer **copy, const TrilTokenizer *tokenizer,
                               TrilError *error) {
    Error err = {0};
    Vocab vocab;
    if (copy) *copy = NULL;
    bool ok = given(copy, "the place for the tokenizer", &err) &&
              given(tokenizer, "the tokenizer", &err) &&
              vocab_copy(&vocab, &tokenizer->vocab, &err) && wrap(copy, &vocab, &err);
    return outcome(ok, TRIL_ARGUMENT, &err, error);
}

void tril_tokenizer_free(TrilTokenizer *tokenizer) {
    if (tokenizer) vocab_free(&tokenizer->vocab);
    memory_free(tokenizer);
}

int tril_tokenizer_size(const TrilTokenizer *tokenizer) {
    return tokenizer->vocab.size;
}

int tril_tokenizer_has_bytes(const TrilTokenizer *tokenizer) {
    return tokenizer->vocab.bytes;
}

int tril_tokenizer_same(const TrilTokenizer *one, const TrilTokenizer *other) {
    return vocab_same(&one->vocab, &other->vocab);
}

int32_t tril_tokenizer_start(const TrilTokenizer *tokenizer) {
    return vocab_start(&tokenizer->vocab);
}

TrilStatus tril_encode(const TrilTokenizer *tokenizer, const char *text, size_t length,
                       int32_t *ids, size_t capacity, size_t *count, TrilError *error) {
    Error err = {0};
    int32_t *all;
    if (!given(tokenizer, "the tokenizer", &err) || !given(text, "the text", &err) ||
        !given(count, "the place for the count", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    if (!vocab_encode(&tokenizer->vocab, "the text", text, length, &all, count, &err))
        return refusal(TRIL_TEXT, &err, error);
    bool fits = !ids || *count <= capacity ||
                fail(&err, "the text has %zu ids, and there is room for %zu", *count, capacity);
    if (ids && fits && *count > 0) memcpy(ids, all, *count * sizeof *ids);
    memory_free(all);
    return outcome(fits, TRIL_ARGUMENT, &err, error);
}

/* Sets *length to the bytes of the text of all ids. */
static bool measure(const Vocab *vocab, const int32_t *ids, size_t count, size_t *length,
                    Error *err) {
    char text[UTF8_MAX];
    *length = 0;
    for (size_t i = 0; i < count; i++) {
        if (ids[i] < 0 || ids[i] >= vocab->size)
            return fail(err, "id %d is not in the vocabulary of %d", (int)ids[i], vocab->size);
        *length += (size_t)vocab_text(vocab, ids[i], text);
    }
    return true;
}

TrilStatus tril_decode(const TrilTokenizer *tokenizer, const int32_t *ids, size_t count, char *text,
                       size_t capacity, size_t *length, TrilError *error) {
    Error err = {0};
    bool ok = given(tokenizer, "the tokenizer", &err) &&
              given(length, "the place for the length", &err) &&
              (count == 0 || given(ids, "the ids", &err)) &&
              (capacity == 0 || given(text, "the place for the text", &err)) &&
              measure(&tokenizer->vocab, ids, count, length, &err) &&
              (*length <= capacity ||
               fail(&err, "the text has %zu bytes, and there is room for %zu", *length, capacity));
    if (!ok) return refusal(TRIL_ARGUMENT, &err, error);
    for (size_t i = 0; i < count; i++) {
        char one[UTF8_MAX];
        int bytes = vocab_text(&tokenizer->vocab, ids[i], one);
        memcpy(text, one, (size_t)bytes);
        text += bytes;
    }
    return TRIL_OK;
}
