/* train.c - the trainings of tril.h: opened, and advanced. */
#include "base/memory.h"
#include "library/sizes.h"
#include "library/training.h"

#include <math.h>

static const char training_name[] = "the training", text_name[] = "the text";

/* ---- opening ---- */

TrilStatus training_begin(TrilTraining *t, const RunOptions *run, bool resumed, Error *err) {
    Model *model = &t->model->model;
    const Corpus *corpus = &t->text->corpus;
    Model *teacher = t->teacher ? to_read(t->teacher) : NULL;
    const Sizes sizes = {t->settings.config, run->batch};
    const Recipe recipe = settings_recipe(&t->settings);
    const double before = model->config.dropout;
    Memory any;
    if (!run_estimate(&t->settings.config, run, &any, err)) return TRIL_ARGUMENT;
    if (!sizes_fit(&sizes, run, corpus, teacher, resumed, err)) return TRIL_NO_MEMORY;
    model->config.dropout = t->settings.config.dropout;
    if (teacher) t->teacher_digest = model_digest(teacher);
    if (training_open(&t->training, model, corpus, run, &recipe, t->settings.steps, err) &&
        (!teacher || training_teach(&t->training, teacher, err)))
        return TRIL_OK;
    model->config.dropout = before;
    return TRIL_ARGUMENT;
}

void training_mark(TrilTraining *t) {
    TrilModel *model = t->model;
    model->in_training = model->taught = true;
    model->seed = t->settings.seed;
    model->text = t->text->corpus.digest;
    model->step = t->training.progress.step;
    model->validation = NAN;
}

void training_release(TrilTraining *t) {
    training_close(&t->training);
    tril_text_free(t->own);
    for (int i = 0; i < t->note_count; i++) {
        memory_free((char *)t->notes[i].key);
        memory_free((char *)t->notes[i].value);
    }
}

void tril_training_close(TrilTraining *t) {
    if (!t) return;
    training_release(t);
    t->model->in_training = false;
    memory_free(t);
}

bool text_suits(const TrilText *text, const TrilModel *model, Error *err) {
    const int context = model->model.config.T;
    if (!vocab_same(&text->corpus.vocab, vocab_of(model)))
        return fail(err, "the text was made with other ids than the model's");
    return text->corpus.train > (size_t)context ||
           fail(err, "the text: too short: a context of %d needs more than its %zu characters",
                context, text->corpus.train);
}

/* Decides what is open, and begins. */
static TrilStatus open_training(TrilTraining **training, TrilModel *model, const TrilText *text,
                                const TrilOptions *options, Error *err) {
    TrilTraining *t;
    RunOptions run;
    if (model->in_training || options->teacher == model) {
        fail(err, model->in_training ? "the model is in training already"
                                     : "the model cannot be its own teacher");
        return TRIL_ARGUMENT;
    }
    if (!memory_alloc(&t, 1, sizeof *t, training_name, err)) return TRIL_NO_MEMORY;
    t->model = model;
    t->text = text;
    t->teacher = options->teacher;
    TrilStatus status = TRIL_ARGUMENT;
    if (settings_from(&t->settings, &run, &model->model.config, options, err) &&
        teacher_fits(t->teacher, vocab_of(model), run.length, err)) {
        t->settings.bytes = vocab_of(model)->bytes;
        t->settings.held_out = text->held_out;
        settings_decide(&t->settings, text->corpus.train, model->taught);
        status = training_begin(t, &run, false, err);
    }
    if (status == TRIL_OK) {
        training_mark(t);
        *training = t;
    } else {
        tril_training_close(t);
    }
    return status;
}

/* Are the arguments there, and the options in their ranges? */
static bool check_arguments(TrilTraining **training, const TrilModel *model, const void *text,
                            const TrilOptions *options, Error *err) {
    Settings any;
    RunOptions run;
    if (!given(training, "the place for the training", err)) return false;
    *training = NULL;
    return given(model, "the model", err) && given(text, text_name, err) &&
           settings_from(&any, &run, &model->model.config, options, err);
}

TrilStatus tril_training_open(TrilTraining **training, TrilModel *model, const char *text,
                              size_t length, const TrilOptions *options, TrilError *error) {
    Error err = {0};
    TrilText *own;
    if (!check_arguments(training, model, text, options, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    if (!text_read(&own, vocab_of(model), text, length, options->held_out, model->model.config.T,
                   &err))
        return refusal(TRIL_TEXT, &err, error);
    TrilStatus status = open_training(training, model, own, options, &err);
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
    if (!check_arguments(training, model, text, options, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    if (!text_suits(text, model, &err)) return refusal(TRIL_TEXT, &err, error);
    TrilStatus status = open_training(training, model, text, options, &err);
    return status == TRIL_OK ? status : refusal(status, &err, error);
}

/* ---- how it is set, how far it has come ---- */

TrilOptions tril_training_options(const TrilTraining *t) {
    Settings settings = t->settings;
    settings.steps = t->training.steps;
    settings.learning_rate = t->training.recipe.peak.learning_rate;
    return options_from(&settings, t->training.workers.options.threads, t->teacher);
}

TrilMemory tril_training_memory(const TrilTraining *training) {
    const Memory memory = run_memory(training->training.workers.run);
    return memory_from(&memory);
}

const char *tril_training_kernels(const TrilTraining *training) {
    return run_kernels(training->training.workers.run);
}

int tril_training_done(const TrilTraining *training) {
    return training->training.progress.step;
}

int tril_training_window(const TrilTraining *training) {
    return training_window(&training->training);
}

TrilProgress progress_from(const Progress *p, int steps) {
    return (TrilProgress){.step = p->step,
                          .steps = steps,
                          .seconds = p->step_seconds,
                          .recent = p->recent_count > 0 ? p->recent : NAN,
                          .recent_steps = (int)p->recent_count,
                          .lowest = isfinite(p->lowest) ? p->lowest : NAN,
                          .lowest_step = (int)p->lowest_step,
                          .since_lowest = (int)p->evaluations_since_best,
                          .operations = p->compute,
                          .cooling = (int)p->decay_start,
                          .cooled = (int)p->decay_end};
}

TrilProgress tril_training_progress(const TrilTraining *training) {
    return progress_from(&training->training.progress, training->training.steps);
}

TrilStatus tril_training_set_steps(TrilTraining *t, int steps, TrilError *error) {
    Error err = {0};
    if (!given(t, training_name, &err) || !steps_in_range(steps, 1, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    const Progress *p = &t->training.progress;
    if (p->decay_start > 0 && steps > p->decay_end) steps = (int)p->decay_end;
    t->settings.steps = t->training.steps = steps;
    return TRIL_OK;
}

int tril_training_cool_down(TrilTraining *training) {
    return training_cool_down(&training->training);
}

void tril_training_set_stop(TrilTraining *training, TrilStop stop, void *user) {
    training->stop = stop;
    training->stop_user = user;
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
    const Progress *p = &t->training.progress;
    if (all_taken(t)) {
        fail(err, "all %d steps are taken", t->training.steps);
        return TRIL_ARGUMENT;
    }
    bool finite = training_step(&t->training, &taken, &rate);
    *step = (TrilStep){.step = p->step,
                       .steps = t->training.steps,
                       .loss = taken.loss,
                       .learning_rate = rate,
                       .norm = taken.norm,
                       .seconds = p->step_seconds};
    if (!finite) return diverged(t, p->step + 1, err);
    t->model->step = p->step;
    t->model->validation = NAN;
    return TRIL_OK;
}

TrilStatus tril_training_step(TrilTraining *training, TrilStep *step, TrilError *error) {
    Error err = {0};
    TrilStep own;
    if (!given(training, training_name, &err)) return refusal(TRIL_ARGUMENT, &err, error);
    TrilStatus status = take_step(training, step ? step : &own, &err);
    return status == TRIL_OK ? status : refusal(status, &err, error);
}

TrilStatus tril_training_run(TrilTraining *training, TrilOnStep on_step, void *user,
                             TrilError *error) {
    Error err = {0};
    TrilStatus status = TRIL_OK;
    if (!given(training, training_name, &err)) return refusal(TRIL_ARGUMENT, &err, error);
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
    Training *training = &t->training;
    Asking asking = {t->stop, t->stop_user, false};
    const Stop stop = {ask, &asking};
    if (!training_evaluate(training, every, &stop, nats, err)) return TRIL_ARGUMENT;
    if (isfinite(*nats)) return TRIL_OK;
    if (!asking.stopped) return diverged(t, training->progress.step, err);
    fail(err, "the evaluation was stopped");
    return TRIL_STOPPED;
}

TrilStatus tril_training_evaluate(TrilTraining *training, double *nats, TrilError *error) {
    Error err = {0};
    if (!given(training, training_name, &err) || !given(nats, "the place for the loss", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    TrilStatus status = evaluate(training, 1, nats, &err);
    if (status != TRIL_OK) return refusal(status, &err, error);
    training->model->validation = *nats;
    return status;
}

TrilStatus tril_training_estimate(TrilTraining *training, size_t characters, double *nats,
                                  TrilError *error) {
    Error err = {0};
    if (!given(training, training_name, &err) || !given(nats, "the place for the loss", &err) ||
        (characters < 1 && !fail(&err, "an evaluation reads a character or more")))
        return refusal(TRIL_ARGUMENT, &err, error);
    const Corpus *corpus = &training->text->corpus;
    size_t every = (corpus->length - corpus->train - 1) / characters + 1;
    TrilStatus status = evaluate(training, every, nats, &err);
    return status == TRIL_OK ? status : refusal(status, &err, error);
}

/* ---- where the time goes ---- */

TrilStatus tril_training_profile(TrilTraining *training, TrilError *error) {
    Error err = {0};
    if (!given(training, training_name, &err)) return refusal(TRIL_ARGUMENT, &err, error);
    return run_profile(training->training.workers.run, &err) ? TRIL_OK
                                                             : refusal(TRIL_NO_MEMORY, &err, error);
}

int tril_training_parts(const TrilTraining *training, TrilPart *parts, int capacity) {
    enum { MAX_PARTS = 64 };
    ProfileLine lines[MAX_PARTS];
    int most = capacity < MAX_PARTS ? capacity : MAX_PARTS;
    int count = run_profile_lines(training->training.workers.run, lines, most);
    for (int i = 0; i < count; i++)
        parts[i] = (TrilPart){lines[i].name, lines[i].seconds, lines[i].operations};
    return count;
}
