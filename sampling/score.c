#include "sampling/score.h"
#include "base/file.h"
#include "base/memory.h"

#include <math.h>

/* Removes the ids that are -1. Returns how many ids stay. */
static size_t drop_unknown(int32_t *ids, size_t count) {
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (ids[i] >= 0) ids[known++] = ids[i];
    return known;
}

/* Names the first unknown character. */
static bool refuse(const char *path, const char *text, size_t length, const Vocab *vocab,
                   size_t unknown, Error *err) {
    int32_t *ids;
    size_t count;
    Error first;
    if (vocab_encode(vocab, path, text, length, &ids, &count, &first)) memory_free(ids);
    return fail(
        err, "%.150s (%zu in all); --unknown skip leaves such out, --unknown uniform counts them",
        first.text, unknown);
}

bool score_tokens(double *nats, const int32_t *ids, size_t count, Model *model, int threads,
                  Precision precision, Error *err) {
    enum { WINDOWS = 16 }; /* in a batch */
    Run *run;
    RunOptions options = {.batch = WINDOWS,
                          .length = model->config.T,
                          .frozen = true,
                          .threads = threads,
                          .precision = precision};
    if (!run_open(&run, model, &options, err)) return false;
    *nats = run_evaluate(run, ids, count, 1);
    run_close(run);
    return true;
}

static bool score_ids(Score *score, const char *path, int32_t *ids, Model *model, Unknown unknown,
                      int threads, Precision precision, Error *err) {
    size_t known = drop_unknown(ids, score->characters);
    score->unknown = score->characters - known;
    if (known < 2)
        return fail(err, "%s: too short: a score needs two characters that the model knows", path);
    if (!score_tokens(&score->nats, ids, known, model, threads, precision, err)) return false;
    if (unknown != UNKNOWN_UNIFORM) return true;
    double predicted = (double)(known - 1), others = (double)score->unknown;
    double cost = log((double)model->config.V + 1);
    score->nats = (predicted * score->nats + others * cost) / (predicted + others);
    return true;
}

bool score_file(Score *score, const char *path, Model *model, const Vocab *vocab, Unknown unknown,
                int threads, Precision precision, Error *err) {
    char *text;
    size_t length, known = 0;
    int32_t *ids = NULL;
    *score = (Score){0};
    if (!file_read(path, &text, &length, err)) return false;
    bool ok = vocab_encode_known(vocab, path, text, length, &ids, &score->characters, err);
    for (size_t i = 0; ok && i < score->characters; i++) known += ids[i] >= 0;
    if (ok && unknown == UNKNOWN_REFUSE && known < score->characters)
        ok = refuse(path, text, length, vocab, score->characters - known, err);
    ok = ok && score_ids(score, path, ids, model, unknown, threads, precision, err);
    memory_free(ids);
    memory_free(text);
    return ok;
}
