/* corpus.c - a text as ids, split into training and held-out parts. */
#include "data/data.h"
#include "base/digest.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

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

/* Returns the characters to train on, of `length`. */
static size_t trained_on(size_t length, double held_out) {
    return (size_t)((double)length * (1.0 - held_out));
}

static bool split(Corpus *corpus, double held_out, Error *err) {
    corpus->train = trained_on(corpus->length, held_out);
    size_t rest = corpus->length - corpus->train;
    return (corpus->train >= 2 && rest >= 2) ||
           fail(
               err,
               "too short: %zu characters, of which %zu train and %zu are held out; each part needs "
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

/* Returns the first place from `at` on that follows a newline, or `at` if there is none within
 * `most` ids. */
static size_t after_line(const Corpus *corpus, size_t at, size_t most) {
    const int newline = vocab_id(&corpus->vocab, '\n');
    for (size_t i = at > 0 ? at - 1 : at; i < at + most; i++)
        if (corpus->ids[i] == newline) return i + 1;
    return at;
}

bool corpus_spread(Corpus *corpus, Error *err) {
    enum { LEAST = 10, MOST = 50, LONG = 1000 }; /* pieces; ids held out of each in a long text */
    const size_t length = corpus->length, train = corpus->train, rest = length - train;
    const size_t pieces = rest < LEAST * LONG ? LEAST : rest > MOST * LONG ? MOST : rest / LONG;
    /* so near is a newline that no part of a piece becomes negative */
    const size_t near = (rest < train ? rest : train) / pieces / 4;
    size_t begin = 0, trained = 0;
    int32_t *ids;
    if (!memory_alloc(&ids, length, sizeof *ids, "the text", err)) return false;
    for (size_t i = 1; i <= pieces; i++) {
        const bool last = i == pieces;
        size_t end = last ? length : (size_t)((uint64_t)length * i / pieces);
        if (!last) end = after_line(corpus, end, near);
        size_t cut = begin + (size_t)((uint64_t)train * end / length) - trained;
        if (!last) cut = after_line(corpus, cut, near);
        memcpy(ids + trained, corpus->ids + begin, (cut - begin) * sizeof *ids);
        trained += cut - begin;
        memcpy(ids + train + cut - trained, corpus->ids + cut, (end - cut) * sizeof *ids);
        begin = end;
    }
    memory_free(corpus->ids);
    corpus->ids = ids;
    return true;
}

/* Counts the characters of a text. */
static bool count_characters(const char *text, size_t length, bool bytes, size_t *characters,
                             Error *err) {
    uint32_t code;
    *characters = bytes ? length : 0;
    for (size_t i = 0; i < length && !bytes; ++*characters) {
        int taken = utf8_decode(text + i, length - i, &code);
        if (taken <= 0) return vocab_build(&(Vocab){0}, text, length, false, err); /* says where */
        i += (size_t)taken;
    }
    return true;
}

/* Returns the bytes of the first characters of a text. */
static size_t bytes_of(const char *text, size_t characters, bool bytes) {
    uint32_t code;
    size_t at = bytes ? characters : 0;
    for (; characters > 0 && !bytes; characters--)
        at += (size_t)utf8_decode(text + at, UTF8_MAX, &code);
    return at;
}

bool corpus_join(const char *const *texts, const size_t *lengths, int count, bool bytes,
                 double held_out, char *joined, size_t *length, int *which, Error *err) {
    const bool newline = !bytes && count > 1;
    const size_t newlines = newline ? (size_t)count : 0;
    size_t all = 0, characters;
    *length = 0;
    for (*which = 0; *which < count; ++*which) {
        if (!count_characters(texts[*which], lengths[*which], bytes, &characters, err))
            return false;
        all += characters;
    }
    if (all == 0) return true;
    /* characters to train on: the beginnings' share of all, rounded for the sums, so that the parts
     * add up to the share of corpus_make */
    size_t train = trained_on(all + (newline ? 2 * newlines - 1 : 0), held_out);
    const double own = (double)(train > newlines ? train - newlines : 0);
    for (int end = 0; end < 2; end++) {
        size_t seen = 0, before = 0;
        for (int i = 0; i < count; i++) {
            count_characters(texts[i], lengths[i], bytes, &characters, err);
            seen += characters;
            size_t now = (size_t)fmin(own * ((double)seen / (double)all), (double)seen);
            size_t part = now - before < characters ? now - before : characters;
            size_t cut = bytes_of(texts[i], part, bytes), from = end ? cut : 0;
            size_t more = end ? lengths[i] - cut : cut;
            memcpy(joined + *length, texts[i] + from, more);
            *length += more;
            if (newline && !(end && i == count - 1)) joined[(*length)++] = '\n';
            before = now;
        }
    }
    return true;
}

void corpus_free(Corpus *corpus) {
    vocab_free(&corpus->vocab);
    memory_free(corpus->ids);
    *corpus = (Corpus){0};
}
