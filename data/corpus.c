/* corpus.c - a text as ids, split into training and held-out parts; the windows of its batches. */
#include "data/data.h"
#include "base/array.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

/* Sets `distinct`, the number of ids that occur. */
static bool count_distinct(Corpus *corpus, Error *err) {
    bool *seen;
    if (!memory_alloc(&seen, (size_t)corpus->vocab.size, sizeof *seen, "the vocabulary", err))
        return false;
    for (size_t i = 0; i < corpus->characters; i++) {
        corpus->distinct += !seen[corpus->ids[i]];
        seen[corpus->ids[i]] = true;
    }
    memory_free(seen);
    return true;
}

/* Returns the characters to train on, of `length`. */
static size_t to_train_on(size_t length, double held_out) {
    return (size_t)((double)length * (1.0 - held_out));
}

/* Checks that both parts have something to predict. */
static bool check_parts(const Corpus *corpus, Error *err) {
    size_t rest = corpus->characters - corpus->trained_on;
    return (corpus->trained_on >= 2 && rest >= 2) ||
           fail_as(
               TRIL_TEXT, err,
               "too short: %zu character%s to train on and %zu held out, but each part needs at least "
               "2; use a longer text or hold out %s",
               corpus->trained_on, corpus->trained_on == 1 ? "" : "s", rest,
               corpus->trained_on < 2 ? "less" : "more");
}

bool corpus_make(Corpus *corpus, const Vocab *vocab, const char *text, size_t length,
                 double held_out, Error *err) {
    *corpus = (Corpus){.held_out = held_out, .digest = digest_bytes(text, length)};
    bool ok = vocab_copy(&corpus->vocab, vocab, err) &&
              vocab_encode(vocab, text, length, &corpus->ids, &corpus->characters, NULL, err) &&
              (corpus->characters > 0 || fail_as(TRIL_TEXT, err, "the text is empty"));
    corpus->returns = ok && vocab_id(vocab, '\r') == NO_ID && memchr(text, '\r', length);
    ok = ok && count_distinct(corpus, err);
    if (ok) corpus->trained_on = to_train_on(corpus->characters, held_out);
    ok = ok && check_parts(corpus, err);
    if (!ok) corpus_free(corpus);
    return ok;
}

/* Returns the number of characters in a text up to `most`, and sets *at to their bytes. Stops where
 * the text is none. */
static size_t count_characters(const char *text, size_t length, bool bytes, size_t most,
                               size_t *at) {
    const Vocab known = {.bytes = bytes};
    Characters characters = characters_of(&known, text, length);
    size_t count = 0;
    for (uint32_t code; count < most && characters_next(&characters, &code);) count++;
    *at = characters.at;
    return count;
}

/* Appends a part of a text to `joined`, and a newline. */
static void put_part(char *joined, size_t *length, const char *part, size_t size, bool newline) {
    memcpy(joined + *length, part, size);
    *length += size;
    /* a newline that follows must not be one with these */
    for (size_t at = *length; newline && at > 0 && joined[at - 1] == '\r'; at--)
        joined[at - 1] = '\n';
    if (newline) joined[(*length)++] = '\n';
}

/* Joins the beginnings of all texts, then their ends. The beginnings together have `train`
 * characters of `all`, as many as corpus_make will train on. Each sum of the first texts'
 * beginnings is rounded, not each beginning, so that they add up. */
static void join_parts(const char *const *texts, const size_t *lengths, int count, bool bytes,
                       size_t train, size_t all, char *joined, size_t *length) {
    const bool newline = !bytes && count > 1;
    const size_t newlines = newline ? (size_t)count : 0;
    const double own = (double)(train > newlines ? train - newlines : 0);
    for (int end = 0; end < 2; end++) {
        size_t seen = 0, before = 0;
        for (int i = 0; i < count; i++) {
            size_t cut, begin; /* begin: after the byte order mark */
            seen += count_characters(texts[i], lengths[i], bytes, SIZE_MAX, &cut);
            size_t now = (size_t)fmin(own * ((double)seen / (double)all), (double)seen);
            count_characters(texts[i], lengths[i], bytes, 0, &begin);
            count_characters(texts[i], lengths[i], bytes, now - before, &cut);
            size_t from = end ? cut : begin;
            put_part(joined, length, texts[i] + from, (end ? lengths[i] : cut) - from,
                     newline && !(end && i == count - 1));
            before = now;
        }
    }
}

bool corpus_join(const char *const *texts, const size_t *lengths, int count, bool bytes,
                 double *held_out, char *joined, size_t *length, int *which, Error *err) {
    size_t all = 0, last = 0, cut;
    *length = 0;
    for (*which = 0; *which < count; ++*which) {
        const char *text = texts[*which];
        all += last = count_characters(text, lengths[*which], bytes, SIZE_MAX, &cut);
        if (cut < lengths[*which]) /* fails, and says where */
            return vocab_build(&(Vocab){0}, text, lengths[*which], false, err);
    }
    if (!isnan(*held_out)) {
        const size_t newlines = !bytes && count > 1 ? 2 * (size_t)count - 1 : 0;
        const size_t train = to_train_on(all + newlines, *held_out);
        if (all > 0) join_parts(texts, lengths, count, bytes, train, all, joined, length);
        return true;
    }
    const size_t train = all - last + (bytes ? 0 : (size_t)count - 1);
    *which = train < 2 ? 0 : count - 1;
    if (train < 2)
        return fail_as(TRIL_TEXT, err, "too short: %zu character%s to train on; use a longer text",
                       train, train == 1 ? "" : "s");
    /* half a character keeps corpus_make from rounding to another one */
    *held_out = 1 - ((double)train + 0.5) / (double)(train + last);
    if (last < 2 || *held_out < HELD_OUT_MARGIN || *held_out > 1 - HELD_OUT_MARGIN)
        return fail_as(TRIL_TEXT, err,
                       "too %s to be held out: a length of %zu beside %zu characters to train on",
                       last < train ? "short" : "long", last, train);
    for (int i = 0; i < count; i++) {
        count_characters(texts[i], lengths[i], bytes, 0, &cut);
        put_part(joined, length, texts[i] + cut, lengths[i] - cut, !bytes && i < count - 1);
    }
    return true;
}

void corpus_free(Corpus *corpus) {
    vocab_free(&corpus->vocab);
    memory_free(corpus->ids);
    *corpus = (Corpus){0};
}

/* ---- batches ---- */

void batch_windows(size_t length, int B, int T, uint64_t seed, uint64_t step, int first, int count,
                   size_t *starts) {
    const size_t row = (size_t)T, places = length - row;
    const size_t windows = places < 2 * row ? 1 : places / row;
    const size_t offsets =
        places - (windows - 1) * row; /* where an epoch's first window may begin */
    for (int i = 0; i < count; i++) {
        const uint64_t number = step * (uint64_t)B + (uint64_t)(first + i),
                       key = random_key(seed, RANDOM_BATCHES, number / windows);
        starts[i] = (size_t)random_permuted(key, number % windows, windows) * row +
                    (size_t)(random_uniform(key, 0) * (double)offsets);
    }
}
