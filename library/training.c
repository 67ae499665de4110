/* training.c - the training runs of tril.h, which the caller opens and advances step by step. */
#include "library/handles.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

/* ---- opening ---- */

/* Operations as docs/performance.md counts them: for a character 6 for each parameter (tables of
 * positions excluded, which are only looked up) plus 12 L C for each character of its window. */
static void count_operations(TrilTraining *t, const Model *model) {
    double parameters = (double)model->parameters;
    for (int i = 0; i < model->tensor_count; i++) {
        const char *name = model->tensors[i].name;
        if (strstr(name, "wpe") || strstr(name, "position"))
            parameters -= (double)model->tensors[i].size;
    }
    t->per_character = 6 * parameters;
    if (model_has_width(&model->config)) /* a bigram does not look back */
        t->per_pair = 12.0 * model->config.L * model->config.C;
}

static bool open_run(TrilTraining *t, const RunOptions *run, Error *err) {
    Model *model = &t->model->model;
    count_operations(t, model);
    if (!model_count(model, t->text->ids, corpus_counted(t->text), true, err)) return false;
    return batches_open(&t->batches, model, run, t->text, err);
}

/* Makes a training run of the model on the text with decided options, and opens its run. */
static bool make_training(TrilTraining **training, TrilModel *model, const TrilText *text,
                          const TrilOptions *options, Error *err) {
    TrilTraining *t;
    if (!memory_alloc(&t, 1, sizeof *t, "the training", err)) return false;
    t->model = model;
    t->text = text;
    t->options = *options;
    t->options.held_out = text->held_out;
    t->options.bytes = model->vocab.bytes;
    t->recipe = recipe_with(options->rung, options);
    t->progress = (TrilProgress){.steps = (int)options->steps,
                                 .loss = NAN,
                                 .recent = NAN,
                                 .lowest = NAN,
                                 .embedding_decay = NAN};
    const RunOptions run = options_run(options);
    if (open_run(t, &run, err)) {
        *training = t;
        return true;
    }
    batches_close(&t->batches);
    memory_free(t);
    return false;
}

void tril_training_close(TrilTraining *t) {
    if (!t) return;
    batches_close(&t->batches);
    t->model->in_training = false;
    memory_free(t);
}

/* Sets the recipe's windows and decay to those of the beginning of the training run. */
static void follow_beginning(TrilTraining *t) {
    t->recipe.windows_grow = t->progress.windows_grow;
    if (!isnan(t->progress.embedding_decay))
        t->recipe.peak.weight_decay = t->progress.embedding_decay;
}

/* Sets the recipe's cooldown: from step `cooldown_begin` to step `cooldown_end`. */
static void follow_cooldown(TrilTraining *t) {
    TrilProgress *p = &t->progress;
    t->recipe.cooldown = (p->cooldown_end - p->cooldown_begin) / p->cooldown_end;
    if (p->cooldown_end < p->steps) p->steps = p->cooldown_end;
}

/* Continues where the state of the model ended. */
static void restore(TrilTraining *t) {
    const TrilModel *model = t->model;
    const int steps = t->progress.steps;
    t->progress = model->progress;
    t->progress.steps = steps;
    run_restore(t->batches.run, (uint64_t)t->progress.step, model->moments[0], model->moments[1]);
    if (t->progress.cooldown_begin > 0) follow_cooldown(t);
}

/* Checks that this can be the training run of the state that the model was read from. */
static bool check_same(const TrilModel *model, const TrilText *text, Error *err) {
    if (text->digest != model->text)
        return fail_as(TRIL_TEXT, err, "the text is not the one that the state was trained on");
    return text->held_out == model->held_out ||
           fail_as(TRIL_TEXT, err,
                   "the state was trained with val = %g, but the text holds out %g; make the text "
                   "with the same share",
                   model->held_out, text->held_out);
}

static bool open_training(TrilTraining **training, TrilModel *model, const TrilText *text,
                          const TrilOptions *options, Error *err) {
    const bool resumes = model->moments[0], trained = model->trained && !resumes;
    const TrilOptions sizes = tril_model_sizes(model);
    TrilOptions decided = *options;
    double epochs;
    if (model->in_training) return fail(err, "the model is already being trained");
    if (!options_in_range(options, err) ||
        !text_suits(text, &model->vocab, model->model.config.T, err) ||
        (resumes && !check_same(model, text, err)))
        return false;
    tril_options_take_sizes(&decided, &sizes);
    if (tril_options_decide(&decided, text, trained, &epochs, err) != TRIL_OK ||
        !make_training(training, model, text, &decided, err))
        return false;
    TrilTraining *t = *training;
    if (resumes) {
        restore(t);
    } else {
        t->progress.windows_grow = tril_windows_grow(decided.rung, epochs, trained);
        if (t->recipe.own_decay)
            t->progress.embedding_decay = recipe_embedding_decay(&t->recipe, text->vocab.size,
                                                                 epochs, (double)text->trained_on);
    }
    follow_beginning(t);
    model_forget(model);
    model->in_training = model->trained = true;
    model->seed = decided.seed;
    model->text = text->digest;
    model->held_out = text->held_out;
    model->step = t->progress.step;
    model->validation = NAN;
    return true;
}

TrilStatus tril_training_open(TrilTraining **training, TrilModel *model, const TrilText *text,
                              const TrilOptions *options, Error *err) {
    if (training) *training = NULL;
    if (!training || !model || !text || !options || !err) return null_argument(err);
    return result(model_lock_exclusive(model, err) &&
                      model_unlock(model, open_training(training, model, text, options, err)),
                  err);
}

/* ---- settings and progress ---- */

TrilOptions tril_training_options(const TrilTraining *t) {
    TrilOptions options = t->options;
    options.steps = t->progress.steps;
    options.learning_rate = recipe_peak(&t->recipe, t->progress.steps);
    return options;
}

double tril_training_memory(const TrilTraining *t) {
    return run_memory(t->batches.run).all;
}

const char *tril_training_kernels(const TrilTraining *training) {
    return run_kernels(training->batches.run);
}

int tril_training_window(const TrilTraining *t) {
    return recipe_window(&t->recipe, t->batches.options.length, t->progress.step,
                         t->progress.steps);
}

TrilProgress tril_training_progress(const TrilTraining *training) {
    return training->progress;
}

static bool set_steps(TrilTraining *t, int steps, Error *err) {
    TrilProgress *p = &t->progress;
    if (!in_range(steps, 1, 1e9, "steps", err)) return false;
    if (steps < p->step)
        return fail(err, "steps: %d is less than the %d that are done", steps, p->step);
    if (p->cooldown_begin > 0 && steps > p->cooldown_end) steps = p->cooldown_end;
    t->options.steps = p->steps = steps;
    return true;
}

TrilStatus tril_training_set_steps(TrilTraining *t, int steps, Error *err) {
    if (!t || !err) return null_argument(err);
    return result(model_lock_exclusive(t->model, err) &&
                      model_unlock(t->model, set_steps(t, steps, err)),
                  err);
}

/* Assumes, as follow_cooldown does, that the rates fall linearly to zero: at a rate r, r / peak of
 * the fall is ahead. Another shape in recipe_step needs other lines here. */
static bool cool_down(TrilTraining *t) {
    TrilProgress *p = &t->progress;
    double share = t->recipe.cooldown;
    if (p->step < 1 || share <= 0 || share >= 1 || p->cooldown_begin > 0) return false;
    double length = p->lowest_step * share / (1 - share);
    double rate = recipe_step(&t->recipe, p->step, p->steps).learning_rate;
    double left = ceil(length * rate / t->recipe.peak.learning_rate);
    if (p->step + left >= p->steps) return false;
    p->cooldown_end = p->step + (int)left;
    p->cooldown_begin = fmax(1, p->cooldown_end - length); /* in the past if they fall already */
    follow_cooldown(t);
    return true;
}

bool tril_training_cool_down(TrilTraining *t) {
    return model_lock_exclusive(t->model, &(Error){0}) && model_unlock(t->model, cool_down(t));
}

/* ---- steps ---- */

static bool fail_step(const TrilTraining *t, int step, Error *err) {
    return fail_as(TRIL_DIVERGED, err, "%s: the loss is no longer a number at step %d",
                   t->model->model.config.model, step);
}

/* Forward, backward and an update. */
static bool update(TrilTraining *t, Error *err) {
    TrilProgress *p = &t->progress;
    if (p->step >= p->steps)
        return fail(err,
                    "the last step, %d, has been taken; resume with more steps to train further",
                    p->steps);
    int window = tril_training_window(t);
    double before = t->batches.seconds;
    Optimizer optimizer = recipe_step(&t->recipe, p->step, p->steps);
    const Step taken = batches_step(&t->batches, (uint64_t)p->step, window, &optimizer);
    const RunOptions *run = &t->batches.options;
    p->loss = taken.loss;
    p->norm = taken.norm;
    p->learning_rate = optimizer.learning_rate;
    if (!isfinite(taken.loss) || !isfinite(taken.norm)) return fail_step(t, p->step + 1, err);
    double sum = p->recent_steps > 0 ? p->recent * p->recent_steps : 0;
    p->step++;
    p->recent_steps++;
    p->recent = (sum + taken.loss) / p->recent_steps;
    p->operations += (double)run->batch * run->length * (t->per_character + window * t->per_pair);
    p->seconds += t->batches.seconds - before;
    t->model->step = p->step;
    t->model->validation = NAN;
    return true;
}

TrilStatus tril_training_step(TrilTraining *training, Error *err) {
    if (!training || !err) return null_argument(err);
    return result(model_lock_exclusive(training->model, err) &&
                      model_unlock(training->model, update(training, err)),
                  err);
}

/* ---- evaluations ---- */

static bool evaluate(TrilTraining *t, size_t characters, StopCheck *check, double *nats,
                     Error *err) {
    TrilProgress *p = &t->progress;
    if (!batches_evaluate(&t->batches, false, characters, check, nats, err)) return false;
    if (!isfinite(*nats)) return fail_step(t, p->step, err);
    if (characters == 0) t->model->validation = *nats;
    p->recent = NAN;
    p->recent_steps = 0;
    if (p->step > 0) p->since_lowest++;
    if (*nats >= p->lowest) return true;
    p->lowest = *nats;
    p->lowest_step = p->step;
    p->since_lowest = 0;
    return true;
}

TrilStatus tril_training_evaluate(TrilTraining *t, size_t characters, TrilStop stop, void *user,
                                  double *nats, Error *err) {
    StopCheck check = {stop, user, false};
    if (!t || !nats || !err) return null_argument(err);
    return result(model_lock_exclusive(t->model, err) &&
                      model_unlock(t->model, evaluate(t, characters, &check, nats, err)),
                  err);
}

/* ---- the profile ---- */

TrilStatus tril_training_profile(TrilTraining *training, Error *err) {
    if (!training || !err) return null_argument(err);
    return result(model_lock_exclusive(training->model, err) &&
                      model_unlock(training->model, run_profile(training->batches.run, err)),
                  err);
}

int tril_training_parts(const TrilTraining *training, TrilPart *parts, int capacity) {
    return run_profile_parts(training->batches.run, parts, capacity);
}
