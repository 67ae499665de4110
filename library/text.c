/* text.c - the texts of tril.h: ids, and what counting says of them. */
#include "base/memory.h"
#include "library/handles.h"
#include "model/counts.h"

static const char name[] = "the text";

bool text_read(TrilText **text, const Vocab *vocab, const char *bytes, size_t length,
               double held_out, int context, Error *err) {
    int32_t *ids;
    size_t count;
    if (!memory_alloc(text, 1, sizeof **text, name, err)) return false;
    Corpus *corpus = &(*text)->corpus;
    (*text)->held_out = held_out;
    if (corpus_make(corpus, name, bytes, length, vocab->bytes, held_out, context, vocab, err)) {
        if (corpus->vocab.size == vocab->size) return true;
        /* there is a character that it does not know: the message says which */
        if (vocab_encode(vocab, name, bytes, length, &ids, &count, err)) memory_free(ids);
    }
    tril_text_free(*text);
    *text = NULL;
    return false;
}

TrilStatus tril_text_make(TrilText **text, const TrilTokenizer *tokenizer, const char *bytes,
                          size_t length, double held_out, TrilError *error) {
    const int shortest = 1; /* context */
    const double margin = 1e-6;
    Error err = {0};
    if (text) *text = NULL;
    if (!given(text, "the place for the text", &err) || !given(tokenizer, "the tokenizer", &err) ||
        !given(bytes, name, &err) ||
        !in_range(held_out, margin, 1 - margin, "the held-out share", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    bool ok = text_read(text, &tokenizer->vocab, bytes, length, held_out, shortest, &err);
    return outcome(ok, TRIL_TEXT, &err, error);
}

void tril_text_free(TrilText *text) {
    if (text) corpus_free(&text->corpus);
    memory_free(text);
}

TrilExtent tril_text_extent(const TrilText *text) {
    const Corpus *c = &text->corpus;
    return (TrilExtent){c->length, c->train, c->distinct, c->digest};
}

const int32_t *tril_text_ids(const TrilText *text) {
    return text->corpus.ids;
}

uint64_t tril_digest(const char *text, size_t length) {
    return corpus_digest(text, length);
}

TrilStatus tril_text_count(const TrilText *text, TrilCounts *counts, TrilError *error) {
    Error err = {0};
    Counts found;
    if (!given(text, name, &err) || !given(counts, "the place for the counts", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    const Corpus *c = &text->corpus;
    if (!count_losses(c->ids, c->train, c->ids + c->train, c->length - c->train, c->vocab.size,
                      &found, &err))
        return refusal(TRIL_NO_MEMORY, &err, error);
    *counts = (TrilCounts){.characters = c->length,
                           .trained_on = c->train,
                           .uniform = found.uniform,
                           .unigram = found.unigram_held_out,
                           .bigram = found.bigram_held_out,
                           .own_unigram = found.unigram,
                           .own_bigram = found.bigram};
    return TRIL_OK;
}
