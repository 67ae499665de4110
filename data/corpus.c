/* corpus.c - a text file as ids, split into training and held-out parts. */
#include "data/data.h"
#include "base/digest.h"
#include "base/file.h"
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

/* Replaces the text's own vocabulary by `known`, if that has all its characters. */
static bool take_vocabulary(Corpus *corpus, const Vocab *known, const char *path, Error *err) {
    if (!known) return true;
    if (!vocab_covers(known, &corpus->vocab, path, err)) return false;
    vocab_free(&corpus->vocab);
    return vocab_copy(&corpus->vocab, known, err);
}

static uint64_t digest_of(const char *text, size_t length) {
    Digest digest = digest_start();
    digest_add(&digest, text, length);
    return digest_value(&digest);
}

bool corpus_load(Corpus *corpus, const char *path, bool bytes, double held_out, int context,
                 const Vocab *known, Error *err) {
    *corpus = (Corpus){0};
    char *text;
    size_t length;
    if (!file_read(path, &text, &length, err)) return false;
    bool ok = length > 0 || fail(err, "%s: is empty", path);
    ok = ok && vocab_build(&corpus->vocab, path, text, length, bytes, err);
    ok = ok && take_vocabulary(corpus, known, path, err);
    ok = ok && vocab_encode(&corpus->vocab, path, text, length, &corpus->ids, &corpus->length, err);
    ok = ok && split(corpus, path, held_out, context, err);
    corpus->digest = digest_of(text, length);
    memory_free(text);
    if (!ok) corpus_free(corpus);
    return ok;
}

void corpus_free(Corpus *corpus) {
    vocab_free(&corpus->vocab);
    memory_free(corpus->ids);
    *corpus = (Corpus){0};
}

bool corpus_digest(const char *path, uint64_t *digest, Error *err) {
    char *text;
    size_t length;
    if (!file_read(path, &text, &length, err)) return false;
    *digest = digest_of(text, length);
    memory_free(text);
    return true;
}
