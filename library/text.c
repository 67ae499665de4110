/* text.c - the tokenizers and texts of tril.h: characters, their ids, and counts of them. */
#include "base/memory.h"
#include "library/handles.h"
#include "model/counts.h"

#include <math.h>
#include <string.h>

/* ---- tokenizers ---- */

TrilStatus tril_tokenizer_make(TrilTokenizer **tokenizer, const char *text, size_t length,
                               Error *err) {
    if (tokenizer) *tokenizer = NULL;
    if (!tokenizer || !err) return null_argument(err);
    if (text && characters_of(&(Vocab){0}, text, length).at == length)
        return result(fail_as(TRIL_TEXT, err, "the text is empty"), err);
    if (!memory_alloc(tokenizer, 1, sizeof **tokenizer, "the tokenizer", err)) return err->status;
    if (vocab_build(*tokenizer, text, length, !text, err)) return TRIL_OK;
    memory_free(*tokenizer);
    *tokenizer = NULL;
    return err->status;
}

void tril_tokenizer_free(TrilTokenizer *tokenizer) {
    if (tokenizer) vocab_free(tokenizer);
    memory_free(tokenizer);
}

bool tril_tokenizer_same(const TrilTokenizer *one, const TrilTokenizer *other) {
    return one->bytes == other->bytes && one->size == other->size &&
           memcmp(one->codes, other->codes, (size_t)one->size * sizeof *one->codes) == 0;
}

TrilStatus tril_encode(const TrilTokenizer *tokenizer, const char *text, size_t length,
                       int32_t *ids, size_t capacity, size_t *count, Error *err) {
    int32_t *all;
    if (!tokenizer || !text || !count || !err) return null_argument(err);
    if (!vocab_encode(tokenizer, text, length, &all, count, NULL, err)) return err->status;
    bool fits = !ids || *count <= capacity ||
                fail(err, "the text has %zu ids, but there is room for %zu", *count, capacity);
    if (ids && fits && *count > 0) memcpy(ids, all, *count * sizeof *ids);
    memory_free(all);
    return result(fits, err);
}

TrilStatus tril_decode(const TrilTokenizer *tokenizer, const int32_t *ids, size_t count, char *text,
                       size_t capacity, size_t *length, Error *err) {
    if (!tokenizer || !length || (count > 0 && !ids) || (capacity > 0 && !text) || !err)
        return null_argument(err);
    size_t needed = 0;
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++) {
        char one[UTF8_MAX];
        ok = (ids[i] >= 0 && ids[i] < tokenizer->size) ||
             fail(err, "id %d is not from 0 to %d", (int)ids[i], tokenizer->size - 1);
        size_t bytes = ok ? (size_t)vocab_text(tokenizer, ids[i], one) : 0;
        if (needed + bytes <= capacity && bytes > 0) memcpy(text + needed, one, bytes);
        needed += bytes;
    }
    *length = needed;
    ok = ok && (needed <= capacity ||
                fail(err, "the text has %zu bytes, but there is room for %zu", needed, capacity));
    return result(ok, err);
}

/* ---- texts ---- */

TrilStatus tril_text_join(const char *const *texts, const size_t *lengths, int count, bool bytes,
                          double *held_out, char *joined, size_t *length, int *which, Error *err) {
    if (!texts || !lengths || !held_out || !joined || !length || !which || !err)
        return null_argument(err);
    if (!isnan(*held_out) &&
        !in_range(*held_out, HELD_OUT_MARGIN, 1 - HELD_OUT_MARGIN, "the held-out share", err))
        return err->status;
    bool ok = corpus_join(texts, lengths, count, bytes, held_out, joined, length, which, err);
    return result(ok, err);
}

TrilStatus tril_text_make(TrilText **text, const TrilTokenizer *tokenizer, const char *bytes,
                          size_t length, double held_out, Error *err) {
    if (text) *text = NULL;
    if (!text || !tokenizer || !bytes || !err) return null_argument(err);
    if (!in_range(held_out, HELD_OUT_MARGIN, 1 - HELD_OUT_MARGIN, "the held-out share", err) ||
        !memory_alloc(text, 1, sizeof **text, "the text", err))
        return err->status;
    if (corpus_make(*text, tokenizer, bytes, length, held_out, err)) return TRIL_OK;
    memory_free(*text);
    *text = NULL;
    return err->status;
}

bool text_suits(const TrilText *text, const Vocab *vocab, double context, Error *err) {
    if (!tril_tokenizer_same(&text->vocab, vocab))
        return fail_as(TRIL_TEXT, err, "the text was not encoded with the vocabulary of the model");
    return !((double)text->trained_on <= context) ||
           fail_as(TRIL_TEXT, err,
                   "too short for a context of %g: it has only %zu characters to train on", context,
                   text->trained_on);
}

void tril_text_free(TrilText *text) {
    if (text) corpus_free(text);
    memory_free(text);
}

TrilStatus tril_text_repeated(const TrilText *text, double *share, Error *err) {
    if (!text || !share || !err) return null_argument(err);
    return result(corpus_repeated(text, share, err), err);
}

TrilStatus tril_text_copied(const TrilText *text, const int32_t *ids, size_t count,
                            int32_t *longest, Error *err) {
    if (!text || !ids || !longest || !err) return null_argument(err);
    return result(corpus_copied(text, ids, count, longest, err), err);
}

TrilStatus tril_text_count(const TrilText *text, int context, TrilCounts *counts, Error *err) {
    if (!text || !counts || !err) return null_argument(err);
    if (!in_range(context, 1, MAX_TOKENS, "context", err)) return err->status;
    bool ok =
        count_losses(text->ids, corpus_counted(text), text->ids + text->trained_on,
                     text->characters - text->trained_on, text->vocab.size, context, counts, err);
    return result(ok, err);
}
