/* corpus.c - a text as ids, split into training and held-out parts. */
#include "data/data.h"
#include "base/digest.h"
#include "base/memory.h"

static bool split(Corpus *corpus, const char *path, double held_out, int context, Error *err) {
    corpus->train = (size_t)((double)corpus->length * (1.0 - held_out));
    size_t rest = corpus->length - corpus->train;
    if (corpus->train > (size_t)context && rest >= 2) return true;
    return fail(err,
                "%s: too short: of its %zu characters %zu train and %zu validate, but a context "
                "of %d needs at least %d and 2; take a longer text or a smaller --context",
                path, corpus->length, corpus->train, rest, context, context + 1);
}

/* The number of byte values that occur. */
static int byte_values_in(const char *text, size_t length) {
    bool seen[256] = {false};
    int count = 0;
    for (size_t i = 0; i < length; i++) {
        count += !seen[(unsigned char)text[i]];
        seen[(unsigned char)text[i]] = true;
    }
    return count;
}

/* Adds the characters of `known`, if any, to the text's own vocabulary. */
static bool add_vocabulary(Corpus *corpus, const Vocab *known, Error *err) {
    if (!known) return true;
    Vocab own = corpus->vocab;
    bool ok = vocab_merge(&corpus->vocab, &own, known, err);
    vocab_free(&own);
    return ok;
}

uint64_t corpus_digest(const char *text, size_t length) {
    Digest digest = digest_start();
    digest_add(&digest, text, length);
    return digest_value(&digest);
}

bool corpus_make(Corpus *corpus, const char *name, const char *text, size_t length, bool bytes,
                 double held_out, int context, const Vocab *known, Error *err) {
    *corpus = (Corpus){0};
    bool ok = length > 0 || fail(err, "%s: is empty", name);
    ok = ok && vocab_build(&corpus->vocab, name, text, length, bytes, err);
    if (ok) corpus->distinct = bytes ? byte_values_in(text, length) : corpus->vocab.size;
    ok = ok && add_vocabulary(corpus, known, err);
    ok = ok && vocab_encode(&corpus->vocab, name, text, length, &corpus->ids, &corpus->length, err);
    ok = ok && split(corpus, name, held_out, context, err);
    corpus->digest = corpus_digest(text, length);
    if (!ok) corpus_free(corpus);
    return ok;
}

void corpus_free(Corpus *corpus) {
    vocab_free(&corpus->vocab);
    memory_free(corpus->ids);
    *corpus = (Corpus){0};
}
