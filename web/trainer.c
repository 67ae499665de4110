#include "web/trainer.h"

#include <math.h>
#include <string.h>

enum { EVALUATIONS = 40, HELD_OUT_CHARACTERS = 8192 };

static const char diverged[] = "%s: the loss is no longer a number at step %d";

/* ---- the curves ---- */

/* Halves the number of points: joins neighbours. */
static void thin(Trace *t) {
    t->batch_count /= 2;
    t->stride *= 2;
    for (int i = 0; i < t->batch_count; i++) {
        TracePoint a = t->batches[2 * i], b = t->batches[2 * i + 1];
        t->batches[i] =
            (TracePoint){(a.step + b.step) / 2, (a.seconds + b.seconds) / 2, (a.loss + b.loss) / 2};
    }
}

static void trace_batch(Trace *t, const Progress *p, double loss) {
    t->open.step += p->step;
    t->open.seconds += p->step_seconds;
    t->open.loss += loss;
    if (++t->pending < t->stride) return;
    double n = t->pending;
    if (t->batch_count == TRACE_POINTS) thin(t);
    t->batches[t->batch_count++] =
        (TracePoint){t->open.step / n, t->open.seconds / n, t->open.loss / n};
    t->open = (TracePoint){0, 0, 0};
    t->pending = 0;
}

/* When all places are taken, every other point goes. */
static void trace_held_out(Trace *t, const Progress *p, double loss) {
    if (t->held_out_count == TRACE_LOSSES) {
        t->held_out_count /= 2;
        for (int i = 0; i < t->held_out_count; i++) t->held_out[i] = t->held_out[2 * i];
    }
    t->held_out[t->held_out_count++] = (TracePoint){p->step, p->step_seconds, loss};
}

/* ---- one rung ---- */

/* Evaluates on the held-out text: all of it if it is short, else on evenly spaced windows, the same
 * each time. Then writes a line. */
static bool evaluate(Trainer *t, Error *err) {
    const Corpus *corpus = t->corpus;
    Progress *p = &t->progress;
    size_t count = corpus->length - corpus->train;
    size_t every = (count + HELD_OUT_CHARACTERS - 1) / HELD_OUT_CHARACTERS;
    double loss;
    if (!workers_evaluate(&t->workers, corpus->train, count, every, &loss, err)) return false;
    if (!isfinite(loss)) return fail(err, diverged, t->request.model, p->step);
    sample_write(&t->writer, &corpus->vocab, t->request.seed, t->sample);
    trace_held_out(&t->trace, p, loss);
    if (loss < p->lowest) {
        p->lowest = p->best = loss;
        p->lowest_step = p->step;
    }
    p->recent = p->recent_count = 0;
    return true;
}

/* In the beginning more often: then the losses fall fastest. */
static bool evaluation_due(const Trainer *t) {
    int step = t->progress.step, early = t->request.eval_every / 4;
    return step == t->request.steps || step % t->request.eval_every == 0 ||
           (step < 2 * t->request.eval_every && early > 0 && step % early == 0);
}

/* Takes the weights of `init`, and goes on after its step if it has moments. */
static bool take_over(Trainer *t, const Checkpoint *init, const Progress *progress, Error *err) {
    const Config *has = &init->model.config, *wants = &t->model.config;
    if (has->V != wants->V || has->T != wants->T || has->L != wants->L || has->NH != wants->NH ||
        has->C != wants->C || has->NKV != wants->NKV || has->H != wants->H ||
        strcmp(has->model, wants->model) != 0)
        return fail(err, "%s: the model to start from is of other sizes", t->request.model);
    memcpy(t->model.weights, init->model.weights, t->model.weights_size * sizeof(float));
    if (!progress) return true;
    t->progress = *progress;
    workers_restore(&t->workers, (uint64_t)progress->step, init->first_moments,
                    init->second_moments);
    return true;
}

bool trainer_open(Trainer *t, const Request *request, const Corpus *corpus, const Checkpoint *init,
                  const Progress *progress, Error *err) {
    *t = (Trainer){.corpus = corpus,
                   .request = *request,
                   .recipe = recipe_of(request->model),
                   .progress = {.best = INFINITY, .lowest = INFINITY},
                   .trace.stride = 1};
    Config config = request->sizes;
    snprintf(config.model, sizeof config.model, "%s", request->model);
    config.V = corpus->vocab.size;
    RunOptions options = {.batch = request->batch,
                          .length = request->sizes.T,
                          .training = true,
                          .threads = 1,
                          .seed = request->seed};
    if (request->learning_rate > 0) recipe_set_learning_rate(&t->recipe, request->learning_rate);
    if (t->request.eval_every < 1)
        t->request.eval_every = request->steps / EVALUATIONS > 1 ? request->steps / EVALUATIONS : 1;
    return model_build(&t->model, &config, request->seed, err) &&
           workers_open(&t->workers, &t->model, &options, corpus, err) &&
           (!init || take_over(t, init, progress, err)) &&
           sample_open(&t->writer, t->workers.run, &t->model.config, err) &&
           (corpus->length == 0 || evaluate(t, err));
}

void trainer_close(Trainer *t) {
    workers_close(&t->workers);
    model_free(&t->model);
    sample_close(&t->writer);
    *t = (Trainer){0};
}

bool trainer_done(const Trainer *t) {
    return t->progress.step >= t->request.steps;
}

bool trainer_step(Trainer *t, Error *err) {
    Progress *p = &t->progress;
    double before = t->workers.seconds;
    Optimizer optimizer = recipe_step(&t->recipe, p->step, t->request.steps);
    Step step = workers_step(&t->workers, (uint64_t)p->step, &optimizer);
    if (!isfinite(step.loss) || !isfinite(step.norm))
        return fail(err, diverged, t->request.model, p->step + 1);
    p->step++;
    p->step_seconds += t->workers.seconds - before;
    p->seconds = p->step_seconds;
    p->recent = (p->recent * p->recent_count + step.loss) / (p->recent_count + 1);
    p->recent_count++;
    trace_batch(&t->trace, p, step.loss);
    return !evaluation_due(t) || evaluate(t, err);
}

bool trainer_save(Trainer *t, const char *path, Error *err) {
    Plan plan = {.run.seed = t->request.seed};
    request_write(&t->request, plan.words);
    return save_state(path, t->workers.run, &plan, t->corpus, &t->progress, NULL, 0, err);
}
