/* vocab.c - the sorted, numbered characters of a text. */
#include "data/data.h"
#include "base/memory.h"

#include <string.h>

static bool fail_utf8(const char *text, size_t offset, const char *hint, Error *err) {
    return fail(err, "byte 0x%02X at offset %zu is not valid UTF-8%s",
                (unsigned)(unsigned char)text[offset], offset, hint);
}

bool vocab_build(Vocab *vocab, const char *text, size_t length, bool bytes, Error *err) {
    return vocab_extend(vocab, &(Vocab){.bytes = bytes}, text, length, err);
}

/* A set of code points has a bit for each, because clearing and searching bytes would take longer
 * than the rest of a short program. */
static bool has(const uint64_t *set, uint32_t code) {
    return set[code / 64] >> code % 64 & 1;
}

static void add(uint64_t *set, uint32_t code) {
    set[code / 64] |= (uint64_t)1 << code % 64;
}

bool vocab_extend(Vocab *vocab, const Vocab *known, const char *text, size_t length, Error *err) {
    enum { BYTE_VALUES = 256, CODE_POINTS = 0x110000 };
    const size_t end = known->bytes ? BYTE_VALUES : length;
    uint32_t largest = known->size > 0 ? known->codes[known->size - 1] : 0; /* usually small */
    uint64_t *seen;
    *vocab = (Vocab){.bytes = known->bytes, .lines = known->lines};
    if (!memory_alloc(&seen, CODE_POINTS / 64, sizeof *seen, "the vocabulary", err)) return false;
    for (int id = 0; id < known->size; id++) add(seen, known->codes[id]);
    bool ok = true;
    for (size_t i = 0; i < end && ok;) {
        uint32_t code = (uint32_t)i;
        int taken = known->bytes ? 1 : utf8_decode(text + i, length - i, &code);
        ok = taken > 0 || fail_utf8(text, i, "; --bytes reads any file", err);
        if (ok) add(seen, code);
        if (code > largest) largest = code;
        i += (size_t)taken;
    }
    size_t count = 0;
    for (uint32_t code = 0; code <= largest; code++) count += has(seen, code);
    ok = ok && memory_alloc(&vocab->codes, count, sizeof *vocab->codes, "the vocabulary", err);
    for (uint32_t code = 0; ok && code <= largest; code++)
        if (has(seen, code)) vocab->codes[vocab->size++] = code;
    memory_free(seen);
    return ok;
}

bool vocab_same(const Vocab *a, const Vocab *b) {
    return a->bytes == b->bytes && a->lines == b->lines && a->size == b->size &&
           memcmp(a->codes, b->codes, (size_t)a->size * sizeof *a->codes) == 0;
}

bool vocab_copy(Vocab *copy, const Vocab *vocab, Error *err) {
    *copy = *vocab;
    if (!memory_alloc(&copy->codes, (size_t)vocab->size, sizeof *copy->codes, "the vocabulary",
                      err))
        return false;
    memcpy(copy->codes, vocab->codes, (size_t)vocab->size * sizeof *copy->codes);
    return true;
}

int vocab_id(const Vocab *vocab, uint32_t code) {
    int low = 0, high = vocab->size;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (vocab->codes[middle] < code)
            low = middle + 1;
        else
            high = middle;
    }
    return low < vocab->size && vocab->codes[low] == code ? low : NO_ID;
}

int vocab_start(const Vocab *vocab) {
    int id = vocab_id(vocab, '\n');
    if (id == NO_ID) id = vocab_id(vocab, ' ');
    return id == NO_ID ? 0 : id;
}

int vocab_text(const Vocab *vocab, int id, char text[UTF8_MAX]) {
    if (!vocab->bytes) return utf8_encode(vocab->codes[id], text);
    text[0] = (char)vocab->codes[id];
    return 1;
}

static bool fail_unknown(uint32_t code, size_t place, Error *err) {
    char text[UTF8_MAX + 1] = {0};
    utf8_encode(code, text);
    if (code < 0x20 || code == 0x7F)
        return fail(err,
                    "character %zu, control character U+%04X, is not in the model's vocabulary",
                    place + 1, (unsigned)code);
    return fail(err, "character %zu, '%s' (U+%04X), is not in the model's vocabulary", place + 1,
                text, (unsigned)code);
}

bool vocab_encode(const Vocab *vocab, const char *text, size_t length, int32_t **ids, size_t *count,
                  size_t *unknown, Error *err) {
    enum {
        FREQUENT = 128
    }; /* codes whose ids are found at once: a search takes most of the time */
    int frequent[FREQUENT];
    *count = 0;
    if (unknown) *unknown = 0;
    if (!memory_alloc_unset(ids, length + 2, sizeof **ids, "the text", err)) return false;
    for (uint32_t code = 0; code < FREQUENT; code++) frequent[code] = vocab_id(vocab, code);
    for (size_t i = 0; i < length;) {
        uint32_t code = (unsigned char)text[i];
        int taken = vocab->bytes ? 1 : utf8_decode(text + i, length - i, &code);
        int id = taken <= 0 ? NO_ID : code < FREQUENT ? frequent[code] : vocab_id(vocab, code);
        if (taken <= 0 || (id == NO_ID && !unknown)) {
            memory_free(*ids);
            *ids = NULL;
            return taken <= 0 ? fail_utf8(text, i, "", err) : fail_unknown(code, *count, err);
        }
        if (id == NO_ID) ++*unknown;
        (*ids)[(*count)++] = id;
        i += (size_t)taken;
    }
    return true;
}

void vocab_close_lines(const Vocab *vocab, int32_t *ids, size_t *count) {
    memmove(ids + 1, ids, *count * sizeof *ids);
    ids[0] = vocab_id(vocab, '\n');
    if (ids[*count] != ids[0]) ids[++*count] = ids[0];
    ++*count;
}

bool vocab_join(const Vocab *vocab, char **text, size_t *length, Error *err) {
    *length = 0;
    if (!memory_alloc(text, (size_t)vocab->size * UTF8_MAX, 1, "the vocabulary", err)) return false;
    for (int id = 0; id < vocab->size; id++)
        *length += (size_t)utf8_encode(vocab->codes[id], *text + *length);
    return true;
}

void vocab_free(Vocab *vocab) {
    memory_free(vocab->codes);
    *vocab = (Vocab){0};
}
