/* score.c - the loss of a model on a text. */
#include "base/memory.h"
#include "library/handles.h"
#include "library/workers.h"

#include <math.h>

/* Removes the ids that are -1. Returns how many ids stay. */
static size_t drop_unknown(int32_t *ids, size_t count) {
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (ids[i] >= 0) ids[known++] = ids[i];
    return known;
}

/* Names the first unknown character. */
static bool refuse_unknown(const Vocab *vocab, const char *text, size_t length, size_t unknown,
                           Error *err) {
    int32_t *ids;
    size_t count;
    Error first;
    if (vocab_encode(vocab, "the text", text, length, &ids, &count, &first)) memory_free(ids);
    return fail(err, "%s (%zu in all)", first.text, unknown);
}

/* The unknown ids are counted already. */
static TrilStatus score_ids(TrilScore *score, const TrilModel *model, const int32_t *ids,
                            size_t known, TrilUnknown unknown, const RunOptions *options,
                            Error *err) {
    Run *run;
    if (known < 2) {
        fail(err, "the text: too short: a score needs two characters that the model knows");
        return TRIL_TEXT;
    }
    if (!run_open(&run, to_read(model), options, err)) return TRIL_TEXT;
    score->nats = run_evaluate(run, ids, known, 1, NULL, NULL);
    run_close(run);
    const float nats = (float)score->nats;
    if (!are_finite(&nats, 1, err)) return TRIL_DIVERGED;
    if (unknown != TRIL_UNIFORM) return TRIL_OK;
    double predicted = (double)(known - 1), others = (double)score->unknown;
    double cost = log((double)model->model.config.V + 1);
    score->nats = (predicted * score->nats + others * cost) / (predicted + others);
    return TRIL_OK;
}

TrilScoring tril_scoring(void) {
    return (TrilScoring){.precision = "f32"};
}

/* Windows of the model's context, many at once. */
static bool read_scoring(RunOptions *options, const TrilModel *model, const TrilScoring *s,
                         Error *err) {
    enum { WINDOWS = 16 };
    *options = (RunOptions){.batch = WINDOWS, .length = model->model.config.T, .frozen = true};
    return given(s, "the scoring", err) &&
           ((s->unknown >= TRIL_REFUSE && s->unknown <= TRIL_UNIFORM) ||
            fail(err, "there is no way %d to treat unknown characters", (int)s->unknown)) &&
           precision_read(&options->precision, s->precision, err) &&
           threads_wanted(s->threads, &options->threads, err);
}

TrilStatus tril_score(const TrilModel *model, const char *text, size_t length,
                      const TrilScoring *scoring, TrilScore *score, TrilError *error) {
    Error err = {0};
    RunOptions options;
    int32_t *ids;
    if (!given(model, "the model", &err) || !given(text, "the text", &err) ||
        !given(score, "the place for the score", &err) ||
        !read_scoring(&options, model, scoring, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    *score = (TrilScore){0};
    const Vocab *vocab = vocab_of(model);
    if (!vocab_encode_known(vocab, "the text", text, length, &ids, &score->characters, &err))
        return refusal(TRIL_TEXT, &err, error);
    size_t known = drop_unknown(ids, score->characters);
    score->unknown = score->characters - known;
    TrilStatus status = TRIL_TEXT;
    if (score->unknown > 0 && scoring->unknown == TRIL_REFUSE)
        refuse_unknown(vocab, text, length, score->unknown, &err);
    else
        status = score_ids(score, model, ids, known, scoring->unknown, &options, &err);
    memory_free(ids);
    return outcome(status == TRIL_OK, status, &err, error);
}

TrilStatus tril_evaluate(const TrilModel *model, const char *text, size_t length, int threads,
                         double *nats, TrilError *error) {
    Error err = {0};
    TrilScoring scoring = tril_scoring();
    TrilScore score = {0};
    if (!given(nats, "the place for the loss", &err)) return refusal(TRIL_ARGUMENT, &err, error);
    scoring.threads = threads;
    TrilStatus status = tril_score(model, text, length, &scoring, &score, error);
    if (status == TRIL_OK) *nats = score.nats;
    return status;
}

/* ---- on a part of a text, with all processes (base/world.h) ---- */

TrilStatus tril_text_evaluate(const TrilText *text, const TrilModel *model, int trained_on,
                              size_t characters, int batch, int threads, TrilStop stop, void *user,
                              double *nats, TrilError *error) {
    Error err = {0};
    RunOptions options = {.batch = batch};
    Workers workers = {0};
    Asking asking = {stop, user, false};
    const Stop how = {ask, &asking};
    if (!given(text, "the text", &err) || !given(model, "the model", &err) ||
        !given(nats, "the place for the loss", &err) ||
        !in_range(batch, 1, 65536, "the batch", &err) ||
        !threads_wanted(threads, &options.threads, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    options.length = model->model.config.T;
    if (!vocab_same(&text->corpus.vocab, vocab_of(model))) {
        fail(&err, "the text was made with other ids than the model's");
        return refusal(TRIL_TEXT, &err, error);
    }
    const Corpus *c = &text->corpus;
    const size_t from = trained_on ? 0 : c->train,
                 count = (trained_on ? c->train : c->length) - from;
    const size_t every = characters > 0 ? (count - 1) / characters + 1 : 1;
    bool ok = workers_open(&workers, to_read(model), &options, c, &err) &&
              workers_evaluate(&workers, from, count, every, &how, nats, &err);
    workers_close(&workers);
    if (!ok) return refusal(TRIL_ARGUMENT, &err, error);
    ok = !asking.stopped || fail(&err, "the evaluation was stopped");
    return outcome(ok, TRIL_STOPPED, &err, error);
}
