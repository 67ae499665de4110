#include "extras/web/trainer.h"
#include "programs/report/glyph.h"

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

static void trace_batch(Trace *t, const TrilProgress *p, double loss) {
    t->open.step += p->step;
    t->open.seconds += p->seconds;
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
static void trace_held_out(Trace *t, const TrilProgress *p, double loss) {
    if (t->held_out_count == TRACE_LOSSES) {
        t->held_out_count /= 2;
        for (int i = 0; i < t->held_out_count; i++) t->held_out[i] = t->held_out[2 * i];
    }
    t->held_out[t->held_out_count++] = (TracePoint){p->step, p->seconds, loss};
}

/* ---- one rung ---- */

static bool write_line(Trainer *t, TrilError *error) {
    TrilSampling sampling = {.length = LINE_COLUMNS,
                             .temperature = 0.8,
                             .top_p = 1,
                             .seed = tril_training_options(t->training).seed,
                             .precision = "f32",
                             .threads = 1};
    GlyphLine line = {t->sample, sizeof t->sample, LINE_COLUMNS,
                      tril_tokenizer_has_bytes(tril_model_tokenizer(t->model))};
    *t->sample = 0;
    TrilStatus status = tril_generate(t->model, "", 0, &sampling, glyph_take, &line, error);
    return status == TRIL_OK || status == TRIL_STOPPED;
}

/* Evaluates on the held-out text: all of it if it is short. Then writes a line. */
static bool evaluate(Trainer *t, TrilError *error) {
    double loss;
    if (tril_training_estimate(t->training, HELD_OUT_CHARACTERS, &loss, error) != TRIL_OK)
        return false;
    TrilProgress progress = tril_training_progress(t->training);
    trace_held_out(&t->trace, &progress, loss);
    return write_line(t, error);
}

/* In the beginning more often: then the losses fall fastest. */
static bool evaluation_due(const Trainer *t, const TrilProgress *p) {
    int early = t->eval_every / 4;
    return p->step == p->steps || p->step % t->eval_every == 0 ||
           (p->step < 2 * t->eval_every && early > 0 && p->step % early == 0);
}

bool trainer_open(Trainer *t, TrilModel *model, TrilTraining *training, TrilError *error) {
    *t = (Trainer){.model = model, .training = training, .eval_every = 1, .trace.stride = 1};
    if (!training) return true;
    int steps = tril_training_progress(training).steps;
    if (steps > EVALUATIONS) t->eval_every = steps / EVALUATIONS;
    return evaluate(t, error);
}

void trainer_close(Trainer *t) {
    tril_training_close(t->training);
    tril_model_free(t->model);
    *t = (Trainer){0};
}

bool trainer_done(const Trainer *t) {
    if (!t->training) return false;
    TrilProgress progress = tril_training_progress(t->training);
    return progress.step >= progress.steps;
}

bool trainer_step(Trainer *t, TrilError *error) {
    TrilStep step;
    if (tril_training_step(t->training, &step, error) != TRIL_OK) return false;
    TrilProgress progress = tril_training_progress(t->training);
    trace_batch(&t->trace, &progress, step.loss);
    return !evaluation_due(t, &progress) || evaluate(t, error);
}
