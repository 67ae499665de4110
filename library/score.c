/* score.c - the loss of a model on a text. */
#include "base/memory.h"
#include "library/handles.h"

#include <math.h>

/* Checks that there are ids to predict. */
static bool check_known(const TrilScore *score, size_t known, Error *err) {
    const char *least = "a score needs at least 2";
    if (known >= 2) return true;
    if (score->characters == 0) return fail_as(TRIL_TEXT, err, "the text is empty");
    if (score->unknown == 0)
        return fail_as(TRIL_TEXT, err, "the text has only 1 character; %s", least);
    return fail_as(TRIL_TEXT, err, "the model knows %zu of the text's %zu characters; %s", known,
                   score->characters, least);
}

static bool score_ids(TrilScore *score, const TrilModel *model, const int32_t *ids, size_t known,
                      const RunOptions *options, Error *err) {
    Run *run;
    if (!run_open(&run, to_read(model), options, err)) return false;
    score->nats = run_evaluate(run, (Windows){ids, known, 1, false}, NULL, NULL);
    run_close(run);
    return isfinite(score->nats) || fail_diverged(err);
}

TrilStatus tril_score(const TrilModel *model, const char *text, size_t length,
                      const char *precision, int threads, TrilScore *score, Error *err) {
    enum { WINDOWS = 16 }; /* windows of the model's context in a batch */
    int32_t *ids;
    size_t known = 0;
    if (!model || !text || !score || !err) return null_argument(err);
    RunOptions options = {.batch = WINDOWS, .length = model->model.config.T};
    *score = (TrilScore){0};
    if (!precision_read(&options.precision, precision, err) ||
        !threads_wanted(threads, &options.threads, err) ||
        !vocab_encode(&model->vocab, text, length, &ids, &score->characters, &score->unknown, err))
        return err->status;
    for (size_t i = 0; i < score->characters; i++)
        if (ids[i] >= 0) ids[known++] = ids[i];
    const bool ok = check_known(score, known, err) && model_lock_shared(model, err) &&
                    model_unlock(model, score_ids(score, model, ids, known, &options, err));
    memory_free(ids);
    return result(ok, err);
}

/* ---- evaluation ---- */

/* Reads the training part with counts of its own, in which each prediction leaves out its fold. */
static bool evaluate(const TrilModel *model, const TrilText *text, bool on_training_part,
                     size_t characters, const RunOptions *options, StopCheck *check, double *nats,
                     Error *err) {
    Model read = model->model;
    Batches batches = {0};
    const bool ok = (!on_training_part || model_fold(&model->model, text->ids, corpus_counted(text),
                                                     &read.ngram, err)) &&
                    batches_open(&batches, &read, options, text, err) &&
                    batches_evaluate(&batches, on_training_part, characters, check, nats, err);
    batches_close(&batches);
    if (on_training_part) ngram_free(read.ngram);
    return ok;
}

TrilStatus tril_text_evaluate(const TrilText *text, const TrilModel *model, bool on_training_part,
                              size_t characters, int batch, int threads, TrilStop stop, void *user,
                              double *nats, Error *err) {
    StopCheck check = {stop, user, false};
    if (!text || !model || !nats || !err) return null_argument(err);
    RunOptions options = {.batch = batch, .length = model->model.config.T};
    const bool ok = in_range(batch, 1, 65536, "the batch", err) &&
                    threads_wanted(threads, &options.threads, err) &&
                    text_suits(text, &model->vocab, 0, err) && model_lock_shared(model, err) &&
                    model_unlock(model, evaluate(model, text, on_training_part, characters,
                                                 &options, &check, nats, err));
    return result(ok, err);
}
