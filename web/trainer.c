#include "web/trainer.h"

#include <string.h>

enum { EVALUATIONS = 40, HELD_OUT_CHARACTERS = 8192 };

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
    size_t count = corpus->length - corpus->train;
    size_t every = (count + HELD_OUT_CHARACTERS - 1) / HELD_OUT_CHARACTERS;
    double loss;
    if (!training_evaluate(&t->training, every, &loss, err)) return false;
    sample_write(&t->writer, &corpus->vocab, t->request.seed, t->sample);
    trace_held_out(&t->trace, &t->training.progress, loss);
    return true;
}

/* In the beginning more often: then the losses fall fastest. */
static bool evaluation_due(const Trainer *t) {
    int step = t->training.progress.step, early = t->request.eval_every / 4;
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
    if (progress)
        training_restore(&t->training, progress, init->first_moments, init->second_moments);
    return true;
}

bool trainer_open(Trainer *t, const Request *request, const Corpus *corpus, const Checkpoint *init,
                  const Progress *progress, Error *err) {
    *t = (Trainer){.corpus = corpus, .request = *request, .trace.stride = 1};
    Recipe recipe = recipe_of(request->model);
    Config config = request->sizes;
    snprintf(config.model, sizeof config.model, "%s", request->model);
    config.V = corpus->vocab.size;
    RunOptions options = {.batch = request->batch,
                          .length = request->sizes.T,
                          .training = true,
                          .threads = 1,
                          .seed = request->seed};
    if (request->learning_rate > 0) recipe_set_learning_rate(&recipe, request->learning_rate);
    if (t->request.eval_every < 1)
        t->request.eval_every = request->steps / EVALUATIONS > 1 ? request->steps / EVALUATIONS : 1;
    return model_build(&t->model, &config, request->seed, err) &&
           training_open(&t->training, &t->model, corpus, &options, &recipe, request->steps, err) &&
           (!init || take_over(t, init, progress, err)) &&
           sample_open(&t->writer, t->training.workers.run, &t->model.config, err) &&
           (corpus->length == 0 || evaluate(t, err));
}

void trainer_close(Trainer *t) {
    training_close(&t->training);
    model_free(&t->model);
    sample_close(&t->writer);
    *t = (Trainer){0};
}

bool trainer_done(const Trainer *t) {
    return training_done(&t->training);
}

void trainer_set_steps(Trainer *t, int steps) {
    t->request.steps = t->training.steps = steps;
}

bool trainer_step(Trainer *t, Error *err) {
    Step step;
    double rate;
    if (!training_step(&t->training, &step, &rate, err)) return false;
    trace_batch(&t->trace, &t->training.progress, step.loss);
    return !evaluation_due(t) || evaluate(t, err);
}

bool trainer_save(Trainer *t, const char *path, Error *err) {
    Plan plan = {.run.seed = t->request.seed};
    request_write(&t->request, plan.words);
    return save_state(path, t->training.workers.run, &plan, t->corpus, &t->training.progress, NULL,
                      0, err);
}
