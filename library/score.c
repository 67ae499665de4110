/* score.c - the loss of a model on a text. */
#include "base/memory.h"
#include "library/handles.h"
#include "library/batches.h"

#include <math.h>

/* Scores the known ids. */
static TrilStatus score_ids(TrilScore *score, const TrilModel *model, const int32_t *ids,
                            size_t known, const RunOptions *options, Error *err) {
    Run *run;
    if (known < 2) {
        const char *least = "a score needs at least 2";
        if (score->characters == 0)
            fail(err, "the text is empty");
        else if (score->unknown == 0)
            fail(err, "the text has only 1 character; %s", least);
        else
            fail(err, "the model knows only %zu of the text's %zu characters; %s", known,
                 score->characters, least);
        return TRIL_TEXT;
    }
    if (!run_open(&run, to_read(model), options, err)) return TRIL_ARGUMENT;
    score->nats = run_evaluate(run, (Windows){ids, known, 1, false}, NULL, NULL);
    run_close(run);
    return isfinite(score->nats) ? TRIL_OK : diverged_model(err);
}

TrilStatus tril_score(const TrilModel *model, const char *text, size_t length,
                      const char *precision, int threads, TrilScore *score, Error *err) {
    enum { WINDOWS = 16 }; /* windows of the model's context in a batch */
    int32_t *ids;
    if (!model || !text || !score || !err) return null_argument(err);
    RunOptions options = {.batch = WINDOWS, .length = model->model.config.T, .frozen = true};
    if (!precision_read(&options.precision, precision, err) ||
        !threads_wanted(threads, &options.threads, err))
        return failed(TRIL_ARGUMENT, err);
    *score = (TrilScore){0};
    const Vocab *vocab = &model->vocab;
    if (!vocab_encode(vocab, text, length, &ids, &score->characters, &score->unknown, err))
        return failed(TRIL_TEXT, err);
    size_t known = 0;
    for (size_t i = 0; i < score->characters; i++)
        if (ids[i] >= 0) ids[known++] = ids[i];
    TrilStatus status = model_read(model, err);
    if (status == TRIL_OK) {
        status = score_ids(score, model, ids, known, &options, err);
        model_leave(model);
    }
    memory_free(ids);
    return outcome(status == TRIL_OK, status, err);
}

/* ---- evaluation ---- */

TrilStatus tril_text_evaluate(const TrilText *text, const TrilModel *model, bool trained_on,
                              size_t characters, int batch, int threads, TrilStop stop, void *user,
                              double *nats, Error *err) {
    RunOptions options = {.batch = batch, .frozen = true};
    Batches batches = {0};
    Asking asking = {stop, user, false};
    if (!text || !model || !nats || !err) return null_argument(err);
    if (!in_range(batch, 1, 65536, "the batch", err) ||
        !threads_wanted(threads, &options.threads, err))
        return failed(TRIL_ARGUMENT, err);
    options.length = model->model.config.T;
    if (!text_suits(text, &model->vocab, 0, err)) return failed(TRIL_TEXT, err);
    TrilStatus status = model_read(model, err);
    if (status != TRIL_OK) return status;
    /* reads with counts of its own, in which each prediction leaves out its fold */
    Model read = model->model;
    bool ok =
        !trained_on || model_fold(&model->model, text->ids, corpus_counted(text), &read.ngram, err);
    ok = ok && batches_open(&batches, &read, &options, text, err) &&
         batches_evaluate(&batches, trained_on, characters, &asking, nats, err);
    batches_close(&batches);
    if (trained_on) ngram_free(read.ngram);
    model_leave(model);
    if (!ok) return failed(TRIL_ARGUMENT, err);
    ok = !asking.stopped || fail(err, "the evaluation was stopped");
    return outcome(ok, TRIL_STOPPED, err);
}
