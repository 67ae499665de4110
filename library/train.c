/* train.c - the trainings of tril.h. */
#include "base/memory.h"
#include "formats/trained.h"
#include "library/handles.h"
#include "training/training.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_STEPS = 1000000000 };

static const char text_name[] = "the text", precision_f32[] = "f32", precision_bf16[] = "bf16";

struct TrilTraining {
    TrilModel *model; /* borrowed */
    const TrilText *text;
    TrilText *own; /* that text, if it is released with the training; else NULL */
    Files files;   /* only the name of the rung: nothing is written unasked */
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

/* The ranges are those of ./train. */
static bool check_options(const TrilOptions *o, Error *err) {
    const double rate = 10, decay = 10, share = 0.99, margin = 1e-6;
    return in_range(o->steps, 0, MAX_STEPS, "the number of steps", err) &&
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
    Request asked = request_empty();
    if (!given(model, "the model", err) || !given(o, "the options", err) ||
        !given(o->precision, "the precision", err) || !check_options(o, err) ||
        !threads_wanted(o->threads, &asked.threads, err) ||
        !choose_precision(o->precision, &asked.precision, err))
        return false;
    const Config *config = &model->model.config;
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
    asked.patience = 1; /* ./train --resume shall not end early what would not have ended here */
    asked.seed = o->seed;
    asked.has_seed = true;
    *request = request_new(&asked);
    return true;
}

/* ---- opening ---- */

/* Decides what is open, and begins. */
static TrilStatus begin(TrilTraining *t, const Request *request, bool resumed, Error *err) {
    Model *model = &t->model->model;
    const Corpus *corpus = &t->text->corpus;
    Memory any;
    t->files.names[0] = request->model;
    t->files.rungs = 1;
    t->weight_decay = request->weight_decay;
    if (!plan_make(&t->plan, request, &t->files, corpus, NULL, resumed, err) ||
        !run_estimate(&t->plan.rungs[0].config, &t->plan.run, &any, err))
        return TRIL_ARGUMENT;
    const Sizes sizes = {t->plan.rungs[0].config, t->plan.run.batch};
    if (!sizes_fit(&sizes, &t->plan.run, corpus, NULL, resumed, err)) return TRIL_NO_MEMORY;
    model->config.dropout = sizes.config.dropout;
    return training_open(&t->training, model, corpus, &t->plan.run, &t->plan.rungs[0].recipe,
                         t->plan.steps, err)
               ? TRIL_OK
               : TRIL_ARGUMENT;
}

/* The file of the model says from now on what it was trained with. */
static void mark(TrilTraining *t) {
    TrilModel *model = t->model;
    model->in_training = model->taught = true;
    model->seed = t->plan.run.seed;
    model->text = t->text->corpus.digest;
    model->step = t->training.progress.step;
    model->validation = NAN;
}

void tril_training_close(TrilTraining *t) {
    if (!t) return;
    training_close(&t->training);
    tril_text_free(t->own);
    t->model->in_training = false;
    memory_free(t);
}

/* Does the text have the ids of the model, and is it long enough? */
static bool check_text(const TrilText *text, const TrilModel *model, Error *err) {
    const int context = model->model.config.T;
    if (!vocab_same(&text->corpus.vocab, vocab_of(model)))
        return fail(err, "the text was made with other ids than the model's");
    return text->corpus.train > (size_t)context ||
           fail(err, "the text is too short: a context of %d needs more than its %zu characters",
                context, text->corpus.train);
}

static TrilStatus open_training(TrilTraining **training, TrilModel *model, const TrilText *text,
                                const Request *request, Error *err) {
    TrilTraining *t;
    if (model->in_training) {
        fail(err, "the model is in training already");
        return TRIL_ARGUMENT;
    }
    if (!memory_alloc(&t, 1, sizeof *t, "the training", err)) return TRIL_NO_MEMORY;
    t->model = model;
    t->text = text;
    TrilStatus status = begin(t, request, false, err);
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
    Request request;
    TrilText *own;
    if (!given(training, "the place for the training", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    *training = NULL;
    if (!given(text, text_name, &err) || !request_of(&request, model, options, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    if (!text_read(&own, vocab_of(model), text, length, request.held_out, model->model.config.T,
                   &err))
        return refusal(TRIL_TEXT, &err, error);
    TrilStatus status = open_training(training, model, own, &request, &err);
    if (status == TRIL_OK) {
        (*training)->own = own;
        return status;
    }
    tril_text_free(own);
    return refusal(status, &err, error);
}

TrilStatus tril_training_open_on(TrilTraining **training, TrilModel *model, const TrilText *text,
                                 const TrilOptions *options, TrilError *error) {
    Error err = {0};
    Request request;
    if (!given(training, "the place for the training", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    *training = NULL;
    if (!given(text, text_name, &err) || !request_of(&request, model, options, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    if (!check_text(text, model, &err)) return refusal(TRIL_TEXT, &err, error);
    request.held_out = text->held_out;
    TrilStatus status = open_training(training, model, text, &request, &err);
    return status == TRIL_OK ? status : refusal(status, &err, error);
}

/* ---- how large, how far ---- */

TrilStatus tril_estimate(const TrilSizes *sizes, int vocabulary, const TrilOptions *options,
                         TrilEstimate *estimate, TrilError *error) {
    Error err = {0};
    Config config;
    RunOptions run = {.training = true};
    const char *precision;
    Memory m;
    if (!given(options, "the options", &err) ||
        !given(estimate, "the place for the estimate", &err) ||
        !sizes_read(sizes, vocabulary, &config, &err) || !check_options(options, &err) ||
        !given(options->precision, "the precision", &err) ||
        !choose_precision(options->precision, &precision, &err) ||
        !request_precision(precision, &run.precision, &err) ||
        !threads_wanted(options->threads, &run.threads, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    run.batch = options->batch;
    run.length = config.T;
    if (!run_estimate(&config, &run, &m, &err)) return refusal(TRIL_ARGUMENT, &err, error);
    *estimate = (TrilEstimate){.parameters = model_parameters(&config),
                               .bytes = (double)m.weights + (double)m.optimizer +
                                        (double)m.activations + (double)m.threads};
    return TRIL_OK;
}

TrilOptions tril_training_options(const TrilTraining *t) {
    const RunOptions *run = &t->plan.run;
    const Corpus *corpus = &t->text->corpus;
    return (TrilOptions){.steps = t->training.steps,
                         .batch = run->batch,
                         .dropout = t->model->model.config.dropout,
                         .learning_rate = t->training.recipe.peak.learning_rate,
                         .weight_decay = t->weight_decay,
                         .held_out =
                             (double)(corpus->length - corpus->train) / (double)corpus->length,
                         .precision = run->precision == BFLOAT16 ? precision_bf16 : precision_f32,
                         .threads = run->threads,
                         .seed = run->seed};
}

int tril_training_done(const TrilTraining *t) {
    return t->training.progress.step;
}

TrilProgress tril_training_progress(const TrilTraining *training) {
    const Progress *p = &training->training.progress;
    return (TrilProgress){.step = p->step,
                          .steps = training->training.steps,
                          .seconds = p->step_seconds,
                          .recent = p->recent_count > 0 ? p->recent : NAN,
                          .lowest = isfinite(p->lowest) ? p->lowest : NAN};
}

TrilStatus tril_training_set_steps(TrilTraining *t, int steps, TrilError *error) {
    Error err = {0};
    Request request;
    if (!given(t, "the training", &err) ||
        !in_range(steps, 1, MAX_STEPS, "the number of steps", &err) ||
        !request_parse(&request, t->plan.words, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    request.steps = steps; /* what the state says, too */
    request_write(&request, t->plan.words);
    t->training.steps = steps;
    return TRIL_OK;
}

/* ---- steps ---- */

static bool all_taken(const TrilTraining *t) {
    return t->training.progress.step >= t->training.steps;
}

static TrilStatus diverged(const TrilTraining *t, int step, Error *err) {
    fail(err, "%s: the loss is no longer a number at step %d", t->model->model.config.model, step);
    return TRIL_DIVERGED;
}

static TrilStatus take_step(TrilTraining *t, TrilStep *step, Error *err) {
    Step taken;
    double rate;
    Progress *p = &t->training.progress;
    double before = t->training.workers.seconds;
    if (all_taken(t)) {
        fail(err, "all %d steps are taken", t->training.steps);
        return TRIL_ARGUMENT;
    }
    if (!training_step(&t->training, &taken, &rate)) return diverged(t, p->step + 1, err);
    p->step_seconds += t->training.workers.seconds - before;
    p->seconds = p->step_seconds;
    t->model->step = p->step;
    t->model->validation = NAN;
    *step = (TrilStep){.step = t->model->step,
                       .steps = t->training.steps,
                       .loss = taken.loss,
                       .learning_rate = rate,
                       .norm = taken.norm,
                       .seconds = p->step_seconds};
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
    while (status == TRIL_OK && !all_taken(training)) {
        TrilStep step;
        status = take_step(training, &step, &err);
        if (status == TRIL_OK && on_step && on_step(&step, user) != 0) {
            fail(&err, "stopped after step %d of %d", step.step, step.steps);
            status = TRIL_STOPPED;
        }
    }
    return status == TRIL_OK ? status : refusal(status, &err, error);
}

/* Evaluates on one batch in `every`. */
static TrilStatus evaluate(TrilTraining *t, size_t every, double *nats, Error *err) {
    Progress *p = &t->training.progress;
    if (!training_evaluate(&t->training, every, nats, err)) return TRIL_DIVERGED;
    if (!isfinite(*nats)) return diverged(t, p->step, err);
    training_count_evaluation(&t->training, *nats);
    p->best = p->lowest;
    p->recent = p->recent_count = 0;
    return TRIL_OK;
}

TrilStatus tril_training_evaluate(TrilTraining *training, double *nats, TrilError *error) {
    Error err = {0};
    if (!given(training, "the training", &err) || !given(nats, "the place for the loss", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    TrilStatus status = evaluate(training, 1, nats, &err);
    if (status != TRIL_OK) return refusal(status, &err, error);
    training->model->validation = *nats;
    return status;
}

TrilStatus tril_training_estimate(TrilTraining *training, size_t characters, double *nats,
                                  TrilError *error) {
    Error err = {0};
    if (!given(training, "the training", &err) || !given(nats, "the place for the loss", &err) ||
        (characters < 1 && !fail(&err, "an evaluation reads a character or more")))
        return refusal(TRIL_ARGUMENT, &err, error);
    const Corpus *corpus = &training->text->corpus;
    size_t every = (corpus->length - corpus->train - 1) / characters + 1;
    TrilStatus status = evaluate(training, every, nats, &err);
    return status == TRIL_OK ? status : refusal(status, &err, error);
}

/* ---- states ---- */

TrilStatus tril_training_save(TrilTraining *t, const char *path, TrilError *error) {
    Error err = {0};
    if (!given(t, "the training", &err) || !given(path, "the path", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    return save_state(path, t->training.workers.run, &t->plan, &t->text->corpus,
                      &t->training.progress, NULL, 0, &err)
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
    if (state->teacher)
        return fail(err,
                    "%s: is the state of a training with --teacher, which ./train --resume "
                    "continues",
                    path);
    request->threads = threads;
    return true;
}

/* Its rates may have begun to fall earlier than planned. */
static void go_on(TrilTraining *t, const State *state) {
    const Progress *p = &t->training.progress;
    training_restore(&t->training, state);
    if (p->decay_start <= 0) return;
    training_follow_decay(&t->training);
    if (p->decay_end < t->training.steps) t->training.steps = (int)p->decay_end;
}

/* Where the text of a state comes from: bytes, or a text that is made already. */
typedef struct {
    const char *bytes;
    size_t length;
    const TrilText *made; /* NULL: the bytes */
} Source;

/* Sets the text of t, whose model is there. */
static bool take_text(TrilTraining *t, const Request *request, const Source *source, Error *err) {
    if (!source->made) {
        bool read = text_read(&t->own, vocab_of(t->model), source->bytes, source->length,
                              request->held_out, t->model->model.config.T, err);
        t->text = t->own;
        return read;
    }
    t->text = source->made;
    return check_text(source->made, t->model, err) &&
           (source->made->held_out == request->held_out ||
            fail(err, "the text holds out %g of its characters, and the state's %g",
                 source->made->held_out, request->held_out));
}

/* Fills t, whose model it makes. */
static TrilStatus resume(TrilTraining *t, State *state, const char *path, const Source *source,
                         int threads, Error *err) {
    Request request;
    if (!request_of_state(&request, state, threads, path, err) ||
        !take_model(&t->model, state, path, err))
        return TRIL_FILE;
    if (!take_text(t, &request, source, err)) return TRIL_TEXT;
    if (t->text->corpus.digest != state->text) {
        fail(err, "%s: is the state of a training on another text", path);
        return TRIL_TEXT;
    }
    TrilStatus status = begin(t, &request, true, err);
    if (status == TRIL_OK) go_on(t, state);
    return status;
}

static TrilStatus resume_training(TrilTraining **training, TrilModel **model, const char *path,
                                  const Source *source, int threads, Error *err) {
    TrilTraining *t;
    State *state; /* too large for a small stack */
    if (!given(path, "the path", err) ||
        !given(source->made ? (const void *)source->made : source->bytes, text_name, err) ||
        !threads_wanted(threads, &threads, err))
        return TRIL_ARGUMENT;
    if (!memory_alloc(&state, 1, sizeof *state, "the state", err)) return TRIL_NO_MEMORY;
    TrilStatus status = TRIL_NO_MEMORY;
    if (!memory_alloc(&t, 1, sizeof *t, "the training", err)) goto done;
    status =
        state_load(state, path, err) ? resume(t, state, path, source, threads, err) : TRIL_FILE;
    state_free(state);
    if (status == TRIL_OK) {
        mark(t);
        *training = t;
        *model = t->model;
        goto done;
    }
    training_close(&t->training);
    tril_text_free(t->own);
    tril_model_free(t->model);
    memory_free(t);
done:
    memory_free(state);
    return status;
}

static TrilStatus resume_on(TrilTraining **training, TrilModel **model, const char *path,
                            const Source *source, int threads, TrilError *error) {
    Error err = {0};
    if (!given(training, "the place for the training", &err) ||
        !given(model, "the place for the model", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    *training = NULL;
    *model = NULL;
    TrilStatus status = resume_training(training, model, path, source, threads, &err);
    return status == TRIL_OK ? status : refusal(status, &err, error);
}

TrilStatus tril_training_resume(TrilTraining **training, TrilModel **model, const char *path,
                                const char *text, size_t length, int threads, TrilError *error) {
    const Source source = {.bytes = text, .length = length};
    return resume_on(training, model, path, &source, threads, error);
}

TrilStatus tril_training_resume_on(TrilTraining **training, TrilModel **model, const char *path,
                                   const TrilText *text, int threads, TrilError *error) {
    const Source source = {.made = text};
    return resume_on(training, model, path, &source, threads, error);
}
