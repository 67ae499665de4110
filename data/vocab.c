/* vocab.c - the sorted, numbered characters of a text. */
#include "data/data.h"
#include "base/array.h"
#include "base/memory.h"

#include <string.h>

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
    Characters characters = characters_of(known, text, length);
    uint32_t largest = known->size > 0 ? known->codes[known->size - 1] : 0; /* usually small */
    uint64_t *seen;
    *vocab = (Vocab){.bytes = known->bytes};
    if (!memory_alloc(&seen, CODE_POINTS / 64, sizeof *seen, "the vocabulary", err)) return false;
    for (int id = 0; id < known->size; id++) add(seen, known->codes[id]);
    for (uint32_t code = 0; known->bytes && code < BYTE_VALUES; code++) add(seen, largest = code);
    for (uint32_t code; !known->bytes && characters_next(&characters, &code);) {
        add(seen, code);
        if (code > largest) largest = code;
    }
    bool ok = known->bytes || characters.at == length ||
              characters_fail(&characters, "; with 'bytes' any file can be read", err);
    size_t count = 0;
    for (uint32_t code = 0; code <= largest; code++) count += has(seen, code);
    ok = ok && memory_alloc(&vocab->codes, count, sizeof *vocab->codes, "the vocabulary", err);
    for (uint32_t code = 0; ok && code <= largest; code++)
        if (has(seen, code)) vocab->codes[vocab->size++] = code;
    memory_free(seen);
    return ok;
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

/* Fails because of a character. Lists the first ones of the vocabulary but the space and control
 * characters. */
static bool fail_unknown(const Vocab *vocab, uint32_t code, size_t place, Error *err) {
    enum { MOST = 96 }; /* all that ASCII prints */
    char text[UTF8_MAX + 1] = {0}, known[MOST * UTF8_MAX], *end = known;
    const bool control = code < 0x20 || code == 0x7F;
    int id = 0;
    utf8_encode(code, text);
    while (id < vocab->size && vocab->codes[id] <= ' ') id++;
    for (const int last = min_int(vocab->size, id + MOST); id < last; id++)
        end += utf8_encode(vocab->codes[id], end);
    return fail_as(TRIL_TEXT, err,
                   "character %zu, %s%s%sU+%04X%s, is not in the model's vocabulary: %.*s%s",
                   place + 1, control ? "control character " : "'", control ? "" : text,
                   control ? "" : "' (", (unsigned)code, control ? "" : ")", (int)(end - known),
                   known, id < vocab->size ? " ..." : "");
}

bool vocab_encode(const Vocab *vocab, const char *text, size_t length, int32_t **ids, size_t *count,
                  size_t *unknown, Error *err) {
    enum { FREQUENT = 128 }; /* codes whose ids are found at once: a search takes longest */
    Characters characters = characters_of(vocab, text, length);
    int frequent[FREQUENT];
    bool ok = true;
    *count = 0;
    if (unknown) *unknown = 0;
    if (!memory_alloc_unset(ids, length + 1, sizeof **ids, "the text", err)) return false;
    for (uint32_t code = 0; code < FREQUENT; code++) frequent[code] = vocab_id(vocab, code);
    for (uint32_t code; ok && characters_next(&characters, &code);) {
        const int id = code < FREQUENT ? frequent[code] : vocab_id(vocab, code);
        ok = id != NO_ID || unknown || fail_unknown(vocab, code, *count, err);
        if (id == NO_ID && unknown) ++*unknown;
        (*ids)[(*count)++] = id;
    }
    ok = ok && (characters.at == length || characters_fail(&characters, "", err));
    if (ok) return true;
    memory_free(*ids);
    *ids = NULL;
    return false;
}

/* vocab_encode leaves space for one more id. */
bool vocab_prompt(const Vocab *vocab, const char *text, size_t length, int32_t **ids, size_t *count,
                  Error *err) {
    if (!vocab_encode(vocab, text, length, ids, count, NULL, err)) return false;
    if (*count == 0) (*ids)[(*count)++] = vocab_start(vocab);
    return true;
}

bool vocab_join(const Vocab *vocab, char **text, size_t *length, Error *err) {
    *length = 0;
    if (!memory_alloc(text, (size_t)vocab->size * UTF8_MAX, 1, "the vocabulary", err)) return false;
    for (int id = 0; id < vocab->size; id++)
        *length += (size_t)utf8_encode(vocab->codes[id], *text + *length);
    return true;
}

bool vocab_split(Vocab *vocab, const char *text, size_t length, Error *err) {
    *vocab = (Vocab){0};
    if (!memory_alloc(&vocab->codes, length, sizeof *vocab->codes, "the vocabulary", err))
        return false;
    for (size_t i = 0; i < length;) {
        uint32_t *code = &vocab->codes[vocab->size];
        const int taken = utf8_decode(text + i, length - i, code);
        if (taken <= 0 || (vocab->size > 0 && *code <= code[-1])) {
            vocab_free(vocab);
            return fail(err, "byte %zu is no character beyond those before it", i + 1);
        }
        vocab->size++;
        i += (size_t)taken;
    }
    return true;
}

void vocab_free(Vocab *vocab) {
    memory_free(vocab->codes);
    *vocab = (Vocab){0};
}
