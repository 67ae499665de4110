/* corpus.c - a text as ids, split into training and held-out parts. */
#include "data/data.h"
#include "base/digest.h"
#include "base/memory.h"

/* Sets `distinct`, the number of ids that occur. */
static bool count_distinct(Corpus *corpus, Error *err) {
    bool *seen;
    if (!memory_alloc(&seen, (size_t)corpus->vocab.size, sizeof *seen, "the vocabulary", err))
        return false;
    for (size_t i = 0; i < corpus->length; i++) {
        corpus->distinct += !seen[corpus->ids[i]];
        seen[corpus->ids[i]] = true;
    }
    memory_free(seen);
    return true;
}

static bool split(Corpus *corpus, double held_out, Error *err) {
    corpus->train = (size_t)((double)corpus->length * (1.0 - held_out));
    size_t rest = corpus->length - corpus->train;
    return (corpus->train >= 2 && rest >= 2) ||
           fail(err,
                "too short: %zu characters, of which %zu train and %zu validate; each part needs "
                "at least 2",
                corpus->length, corpus->train, rest);
}

uint64_t corpus_digest(const char *text, size_t length) {
    Digest digest = digest_start();
    digest_add(&digest, text, length);
    return digest_value(&digest);
}

bool corpus_make(Corpus *corpus, const Vocab *vocab, const char *text, size_t length,
                 double held_out, Error *err) {
    *corpus = (Corpus){.digest = corpus_digest(text, length)};
    bool ok = (length > 0 || fail(err, "the text is empty")) &&
              vocab_copy(&corpus->vocab, vocab, err) &&
              vocab_encode(vocab, text, length, &corpus->ids, &corpus->length, NULL, err) &&
              count_distinct(corpus, err) && split(corpus, held_out, err);
    if (!ok) corpus_free(corpus);
    return ok;
}

void corpus_free(Corpus *corpus) {
    vocab_free(&corpus->vocab);
    memory_free(corpus->ids);
    *corpus = (Corpus){0};
}
