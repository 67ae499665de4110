/* train.c - the trainings of tril.h. */
#include "base/memory.h"
#include "formats/trained.h"
#include "library/handles.h"
#include "library/training.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char text_name[] = "the text", precision_f32[] = "f32", precision_bf16[] = "bf16";

struct TrilTraining {
    TrilModel *model; /* borrowed */
    Corpus corpus;
    Files files; /* only the name of the rung: nothing is written unasked */
    Plan plan;
    Training training;
    double weight_decay; /* negative: the rung's own */
};

/* ---- options ---- */

TrilOptions tril_options(void) {
    const Request empty = request_empty(), usual = request_new(&empty);
    return (TrilOptions){.batch = usual.batch,
                         .dropout = -1,
                         .weight_decay = -1,
                         .held_out = usual.held_out,
                         .precision = usual.precision,
                         .seed = usual.seed};
}

static bool in_range(double x, double least, double most, const char *what, Error *err) {
    return (x >= least && x <= most) || fail(err, "%s is %g to %g, not %g", what, least, most, x);
}

/* The ranges are those of ./train. */
static bool check_options(const TrilOptions *o, Error *err) {
    const double rate = 10, decay = 10, share = 0.99, margin = 1e-6;
    return in_range(o->steps, 0, 1e9, "the number of steps", err) &&
           in_range(o->batch, 1, 65536, "the batch", err) &&
           (o->dropout < 0 || in_range(o->dropout, 0, share, "the dropout", err)) &&
           in_range(o->learning_rate, 0, rate, "the learning rate", err) &&
           (o->weight_decay < 0 || in_range(o->weight_decay, 0, decay, "the weight decay", err)) &&
           in_range(o->held_out, margin, 1 - margin, "the held-out share", err);
}

static bool choose_precision(const char *name, const char **precision, Error *err) {
    static const char *const names[] = {"auto", precision_f32, precision_bf16};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *precision = names[i];
        if (strcmp(name, names[i]) == 0) return true;
    }
    return fail(err, "the precision is auto, f32 or bf16, not '%.64s'", name);
}

/* What ./train would be asked for. */
static bool request_of(Request *request, const TrilModel *model, const TrilOptions *o, Error *err) {
    const Config *config = &model->model.config;
    Request asked = request_empty();
    if (!check_options(o, err) || !threads_wanted(o->threads, &asked.threads, err) ||
        !choose_precision(o->precision, &asked.precision, err))
        return false;
    asked.model = request_rung(config->model, strlen(config->model));
    asked.init = model->taught ? "the model" : NULL;
    asked.bytes = vocab_of(model)->bytes;
    asked.steps = o->steps;
    asked.steps_open = o->steps == 0;
    asked.batch = o->batch;
    asked.sizes = *config;
    asked.sizes.dropout = o->dropout < 0 ? -1 : o->dropout;
    asked.learning_rate = o->learning_rate > 0 ? o->learning_rate : -1;
    asked.weight_decay = o->weight_decay < 0 ? -1 : o->weight_decay;
    asked.held_out = o->held_out;
    asked.seed = o->seed;
    asked.has_seed = true;
    *request = request_new(&asked);
    return true;
}

/* ---- opening ---- */

/* Reads the text with the ids of the model. */
static bool read_text(Corpus *corpus, const Vocab *vocab, const char *text, size_t length,
                      double held_out, int context, Error *err) {
    int32_t *ids;
    size_t count;
    if (!corpus_make(corpus, text_name, text, length, vocab->bytes, held_out, context, vocab, err))
        return false;
    if (corpus->vocab.size == vocab->size) return true;
    corpus_free(corpus);
    if (vocab_encode(vocab, text_name, text, length, &ids, &count, err)) memory_free(ids);
    return false; /* there is a character that it does not know: the message says which */
}

/* Decides what is open, and begins. */
static TrilStatus begin(TrilTraining *t, const Request *request, bool resumed, Error *err) {
    Model *model = &t->model->model;
    Memory any;
    t->files.names[0] = request->model;
    t->files.rungs = 1;
    t->weight_decay = request->weight_decay;
    if (!plan_make(&t->plan, request, &t->files, &t->corpus, NULL, resumed, err) ||
        !run_estimate(&t->plan.rungs[0].config, &t->plan.run, &any, err))
        return TRIL_ARGUMENT;
    const Sizes sizes = {t->plan.rungs[0].config, t->plan.run.batch};
    if (!sizes_fit(&sizes, &t->plan.run, &t->corpus, NULL, resumed, err)) return TRIL_NO_MEMORY;
    model->config.dropout = sizes.config.dropout;
    return training_open(&t->training, model, &t->corpus, &t->plan.run, &t->plan.rungs[0].recipe,
                         t->plan.steps, err)
               ? TRIL_OK
               : TRIL_ARGUMENT;
}

/* The file of the model says from now on what it was trained with. */
static void mark(TrilTraining *t) {
    TrilModel *model = t->model;
    model->in_training = model->taught = true;
    model->seed = t->plan.run.seed;
    model->text = t->corpus.digest;
    model->step = t->training.progress.step;
    model->validation = NAN;
}

void tril_training_close(TrilTraining *t) {
    if (!t) return;
    training_close(&t->training);
    corpus_free(&t->corpus);
    t->model->in_training = false;
    memory_free(t);
}

static TrilStatus open_training(TrilTraining **training, TrilModel *model, const char *text,
                                size_t length, const TrilOptions *options, Error *err) {
    Request request;
    TrilTraining *t;
    if (!given(model, "the model", err) || !given(text, text_name, err) ||
        !given(options, "the options", err) || !given(options->precision, "the precision", err) ||
        !request_of(&request, model, options, err))
        return TRIL_ARGUMENT;
    if (model->in_training) {
        fail(err, "the model is in training already");
        return TRIL_ARGUMENT;
    }
    if (!memory_alloc(&t, 1, sizeof *t, "the training", err)) return TRIL_NO_MEMORY;
    t->model = model;
    bool read = read_text(&t->corpus, vocab_of(model), text, length, request.held_out,
                          model->model.config.T, err);
    TrilStatus status = read ? begin(t, &request, false, err) : TRIL_TEXT;
    if (status == TRIL_OK) {
        mark(t);
        *training = t;
    } else {
        tril_training_close(t);
    }
    return status;
}

TrilStatus tril_training_open(TrilTraining **training, TrilModel *model, const char *text,
                              size_t length, const TrilOptions *options, TrilError *error) {
    Error err = {0};
    if (!given(training, "the place for the training", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    *training = NULL;
    TrilStatus status = open_training(training, model, text, length, options, &err);
    return status == TRIL_OK ? status : refusal(status, &err, error);
}

TrilOptions tril_training_options(const TrilTraining *t) {
    const RunOptions *run = &t->plan.run;
    return (TrilOptions){.steps = t->training.steps,
                         .batch = run->batch,
                         .dropout = t->model->model.config.dropout,
                         .learning_rate = t->training.recipe.peak.learning_rate,
                         .weight_decay = t->weight_decay,
                         .held_out = (double)(t->corpus.length - t->corpus.train) /
                                     (double)t->corpus.length,
                         .precision = run->precision == BFLOAT16 ? precision_bf16 : precision_f32,
                         .threads = run->threads,
                         .seed = run->seed};
}

int tril_training_done(const TrilTraining *t) {
    return t->training.progress.step;
}

/* ---- steps ---- */

static TrilStatus take_step(TrilTraining *t, TrilStep *step, Error *err) {
    Step taken;
    double rate;
    if (training_done(&t->training)) {
        fail(err, "all %d steps are taken", t->training.steps);
        return TRIL_ARGUMENT;
    }
    if (!training_step(&t->training, &taken, &rate, err)) return TRIL_DIVERGED;
    t->model->step = t->training.progress.step;
    t->model->validation = NAN;
    *step = (TrilStep){.step = t->model->step,
                       .steps = t->training.steps,
                       .loss = taken.loss,
                       .learning_rate = rate,
                       .norm = taken.norm,
                       .seconds = t->training.progress.step_seconds};
    return TRIL_OK;
}

TrilStatus tril_training_step(TrilTraining *training, TrilStep *step, TrilError *error) {
    Error err = {0};
    TrilStep own;
    if (!given(training, "the training", &err)) return refusal(TRIL_ARGUMENT, &err, error);
    TrilStatus status = take_step(training, step ? step : &own, &err);
    return status == TRIL_OK ? status : refusal(status, &err, error);
}

TrilStatus tril_training_run(TrilTraining *training, TrilOnStep on_step, void *user,
                             TrilError *error) {
    Error err = {0};
    TrilStatus status = TRIL_OK;
    if (!given(training, "the training", &err)) return refusal(TRIL_ARGUMENT, &err, error);
    while (status == TRIL_OK && !training_done(&training->training)) {
        TrilStep step;
        status = take_step(training, &step, &err);
        if (status == TRIL_OK && on_step && on_step(&step, user) != 0) {
            fail(&err, "stopped after step %d of %d", step.step, step.steps);
            status = TRIL_STOPPED;
        }
    }
    return status == TRIL_OK ? status : refusal(status, &err, error);
}

TrilStatus tril_training_evaluate(TrilTraining *training, double *nats, TrilError *error) {
    Error err = {0};
    if (!given(training, "the training", &err) || !given(nats, "the place for the loss", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    if (!training_evaluate(&training->training, 1, nats, &err))
        return refusal(TRIL_DIVERGED, &err, error);
    training->model->validation = *nats;
    return TRIL_OK;
}

/* ---- states ---- */

TrilStatus tril_training_save(TrilTraining *t, const char *path, TrilError *error) {
    Error err = {0};
    if (!given(t, "the training", &err) || !given(path, "the path", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    return save_state(path, t->training.workers.run, &t->plan, &t->corpus, &t->training.progress,
                      NULL, 0, &err)
               ? TRIL_OK
               : refusal(TRIL_FILE, &err, error);
}

/* Makes a model of the state's, which then has none. */
static bool take_model(TrilModel **model, State *state, const char *path, Error *err) {
    Vocab vocab;
    if (!trained_vocab(&state->checkpoint, path, &vocab, err)) return false;
    bool ok = model_wrap(model, &state->checkpoint.model, &vocab, err);
    state->checkpoint.model = (Model){0};
    return ok;
}

/* The request of the state. */
static bool request_of_state(Request *request, const State *state, int threads, const char *path,
                             Error *err) {
    if (!request_parse(request, state->words, err)) return false;
    if (!request->model || strcmp(request->model, state->checkpoint.model.config.model) != 0 ||
        request->ladder || request->time > 0)
        return fail(err, "%s: is the state of --time or --ladder, which ./train --resume continues",
                    path);
    request->threads = threads;
    return true;
}

/* Its rates may have begun to fall earlier than planned. */
static void go_on(TrilTraining *t, const State *state) {
    const Progress *p = &state->progress;
    const Checkpoint *checkpoint = &state->checkpoint;
    training_restore(&t->training, p, checkpoint->first_moments, checkpoint->second_moments);
    if (p->decay_start <= 0) return;
    recipe_set_cooldown(&t->training.recipe, p->decay_start, p->decay_end);
    if (p->decay_end < t->training.steps) t->training.steps = (int)p->decay_end;
}

/* Fills t, whose model it makes. */
static TrilStatus resume(TrilTraining *t, State *state, const char *path, const char *text,
                         size_t length, int threads, Error *err) {
    Request request;
    if (!request_of_state(&request, state, threads, path, err) ||
        !take_model(&t->model, state, path, err))
        return TRIL_FILE;
    if (!read_text(&t->corpus, vocab_of(t->model), text, length, request.held_out,
                   t->model->model.config.T, err))
        return TRIL_TEXT;
    if (t->corpus.digest != state->text) {
        fail(err, "%s: is the state of a training on another text", path);
        return TRIL_TEXT;
    }
    TrilStatus status = begin(t, &request, true, err);
    if (status == TRIL_OK) go_on(t, state);
    return status;
}

static TrilStatus resume_training(TrilTraining **training, TrilModel **model, const char *path,
                                  const char *text, size_t length, int threads, Error *err) {
    TrilTraining *t;
    State *state; /* too large for a small stack */
    if (!given(path, "the path", err) || !given(text, text_name, err) ||
        !threads_wanted(threads, &threads, err))
        return TRIL_ARGUMENT;
    if (!memory_alloc(&state, 1, sizeof *state, "the state", err)) return TRIL_NO_MEMORY;
    TrilStatus status = TRIL_NO_MEMORY;
    if (!memory_alloc(&t, 1, sizeof *t, "the training", err)) goto done;
    status = state_load(state, path, err) ? resume(t, state, path, text, length, threads, err)
                                          : TRIL_FILE;
    state_free(state);
    if (status == TRIL_OK) {
        mark(t);
        *training = t;
        *model = t->model;
        goto done;
    }
    training_close(&t->training);
    corpus_free(&t->corpus);
    tril_model_free(t->model);
    memory_free(t);
done:
    memory_free(state);
    return status;
}

TrilStatus tril_training_resume(TrilTraining **training, TrilModel **model, const char *path,
                                const char *text, size_t length, int threads, TrilError *error) {
    Error err = {0};
    if (!given(training, "the place for the training", &err) ||
        !given(model, "the place for the model", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    *training = NULL;
    *model = NULL;
    TrilStatus status = resume_training(training, model, path, text, length, threads, &err);
    return status == TRIL_OK ? status : refusal(status, &err, error);
}
