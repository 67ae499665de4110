/* evaluate.c - the loss of a model on a part of a text, with all processes (base/world.h). */
#include "library/workers.h"
#include "library/handles.h"

/* A part of the ids of a text. */
typedef struct {
    size_t from, count, every;
} Part;

static Part part_of(const Corpus *corpus, bool trained_on, size_t characters) {
    Part part = {0, corpus->train, 1};
    if (!trained_on) part = (Part){corpus->train, corpus->length - corpus->train, 1};
    if (characters > 0) part.every = (part.count - 1) / characters + 1;
    return part;
}

static bool read_part(const TrilText *text, const TrilModel *model, const Part *part,
                      const RunOptions *options, const Stop *stop, double *nats, Error *err) {
    Workers workers = {0};
    bool ok = workers_open(&workers, to_read(model), options, &text->corpus, err) &&
              workers_evaluate(&workers, part->from, part->count, part->every, stop, nats, err);
    workers_close(&workers);
    return ok;
}

TrilStatus tril_text_evaluate(const TrilText *text, const TrilModel *model, int trained_on,
                              size_t characters, int batch, int threads, TrilStop stop, void *user,
                              double *nats, TrilError *error) {
    Error err = {0};
    RunOptions options = {.batch = batch};
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
    const Part part = part_of(&text->corpus, trained_on, characters);
    if (!read_part(text, model, &part, &options, &how, nats, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    if (!asking.stopped) return TRIL_OK;
    fail(&err, "the evaluation was stopped");
    return refusal(TRIL_STOPPED, &err, error);
}
