/* training.c - the rungs in training: sizes, steps, and their curves. */
#include "base/clock.h"
#include "extras/page/figure.h"
#include "extras/web/answer.h"
#include "extras/web/tab.h"
#include "extras/web/web.h"

#include <math.h>
#include <stdio.h>

static const char *rung_name(int rung, TrilError *error) {
    const char *name = rung < RUNGS ? tril_rung(rung) : NULL;
    if (!name) snprintf(error->text, sizeof error->text, "there is no rung %d", rung);
    return name;
}

void web_set_sizes(int layers, int heads, int width, int context, int batch, int steps,
                   double seed) {
    tab.options = tril_options();
    tab.options.layers = layers;
    tab.options.heads = heads;
    tab.options.width = width;
    tab.options.context = context;
    tab.options.steps = steps;
    tab.options.batch = batch;
    tab.options.dropout = 0;
    tab.options.precision = "f32";
    tab.options.threads = 1;
    tab.options.seed = (uint64_t)seed;
}

void web_set_dropout(double dropout) {
    tab.options.dropout = dropout;
}

/* Roughly, the multiply-adds of a step: forward and twice as much backward, of each weight and of
 * attention. */
static double work_of(double parameters) {
    const TrilOptions *o = &tab.options;
    double tokens = o->batch * o->context, attention = o->layers * o->context * o->width;
    return 3 * tokens * (parameters + attention);
}

int web_estimate(int rung) {
    Error err = {0};
    TrilError error;
    TrilEstimate e;
    tab.options.rung = rung_name(rung, &error);
    int vocabulary = tab.tokenizer ? tril_tokenizer_size(tab.tokenizer) : 1;
    if (!tab.options.rung || tril_estimate(&tab.options, vocabulary, &e, &error) != TRIL_OK)
        return answer_refusal(error.text);
    Buffer json = buffer_begin("the answer", &err);
    buffer_printf(&json, "{\"parameters\":%zu", e.parameters);
    answer_number(&json, "bytes", e.bytes);
    answer_number(&json, "work", work_of((double)e.parameters));
    buffer_printf(&json, "}");
    return answer_json(&json, &err);
}

static void add_progress(Buffer *json, const Trainer *t) {
    TrilProgress p = {.steps = (int)tab.options.steps, .recent = NAN, .lowest = NAN};
    const TrilOptions sizes = tril_model_sizes(t->model);
    double characters = 0;
    if (t->training) {
        p = tril_training_progress(t->training);
        characters = (double)p.step * tril_training_options(t->training).batch * sizes.context;
    }
    buffer_printf(json, ",\"step\":%d,\"steps\":%d", p.step, p.steps);
    answer_number(json, "loss", p.recent);
    answer_number(json, "lowest", p.lowest);
    answer_number(json, "seconds", p.seconds);
    answer_number(json, "characters", characters);
    buffer_printf(json, ",\"layers\":%g,\"heads\":%g,\"width\":%g,\"context\":%g", sizes.layers,
                  sizes.heads, sizes.width, sizes.context);
}

static void add_rung(Buffer *json, int i) {
    const Trainer *t = &tab.trainers[i];
    int last = t->trace.held_out_count - 1;
    buffer_printf(json, "{\"rung\":%d,\"parameters\":%zu,\"done\":%s", i,
                  tril_model_parameters(t->model), trainer_done(t) ? "true" : "false");
    add_progress(json, t);
    answer_number(json, "heldOut", last >= 0 ? t->trace.held_out[last].loss : NAN);
    answer_text(json, "sample", t->sample);
    answer_text(json, "failed", t->failed.text);
    buffer_printf(json, "}");
}

int web_rungs(void) {
    Error err = {0};
    bool any = false;
    Buffer json = buffer_begin("the answer", &err);
    buffer_printf(&json, "[");
    for (int i = 0; i < RUNGS; i++) {
        if (!tab.there[i]) continue;
        if (any) buffer_printf(&json, ",");
        add_rung(&json, i);
        any = true;
    }
    buffer_printf(&json, "]");
    return answer_json(&json, &err);
}

/* Makes a model of the rung, and begins to train it. */
static bool begin(Trainer *trainer, const char *rung, TrilError *error) {
    TrilModel *model;
    TrilTraining *training;
    tab.options.rung = rung;
    if (tril_model_make(&model, tab.tokenizer, &tab.options, error) != TRIL_OK) return false;
    if (tril_training_open_on(&training, model, tab.text, &tab.options, error) != TRIL_OK) {
        tril_model_free(model);
        return false;
    }
    if (trainer_open(trainer, model, training, error)) return true;
    trainer_close(trainer);
    return false;
}

int web_add(int rung) {
    TrilError error;
    const char *name = rung_name(rung, &error);
    if (!name) return answer_refusal(error.text);
    if (!tab.text) return answer_refusal("there is no text to train on");
    web_drop(rung);
    tab.there[rung] = begin(&tab.trainers[rung], name, &error);
    return tab.there[rung] ? web_rungs() : answer_refusal(error.text);
}

static bool can_go_on(int i) {
    return tab.there[i] && !trainer_done(&tab.trainers[i]) && !*tab.trainers[i].failed.text;
}

/* The rung that is furthest behind, in steps or in seconds; -1: all are done. */
static int next_rung(bool by_time) {
    int next = -1;
    double least = INFINITY;
    for (int i = 0; i < RUNGS; i++) {
        if (!can_go_on(i)) continue;
        TrilProgress p = tril_training_progress(tab.trainers[i].training);
        double so_far = by_time ? p.seconds : p.step;
        if (so_far < least) {
            least = so_far;
            next = i;
        }
    }
    return next;
}

int web_advance(double milliseconds, int by_time) {
    double end = clock_seconds() + milliseconds / 1000;
    int next = next_rung(by_time);
    while (next >= 0) {
        TrilError error;
        if (!trainer_step(&tab.trainers[next], &error)) tab.trainers[next].failed = error;
        if (clock_seconds() >= end) return 1;
        next = next_rung(by_time);
    }
    return 0;
}

void web_set_steps(int rung, int steps) {
    TrilError none;
    Trainer *trainer = tab_trainer(rung, &none);
    if (trainer && trainer->training) tril_training_set_steps(trainer->training, steps, &none);
}

/* ---- the chart ---- */

static int take_points(const Trace *t, bool by_time, bool held_out, Point *to) {
    const TracePoint *from = held_out ? t->held_out : t->batches;
    int count = held_out ? t->held_out_count : t->batch_count;
    for (int i = 0; i < count; i++)
        to[i] = (Point){by_time ? from[i].seconds : from[i].step, from[i].loss};
    return count;
}

static bool write_chart(FILE *out, const void *chart, Error *err) {
    (void)err;
    figure_chart(out, chart);
    return true;
}

int web_draw_losses(int height, int by_time) {
    enum { CURVES = 2 * RUNGS, NAME = 32 };
    static Point points[CURVES][TRACE_POINTS];
    static char names[CURVES][NAME];
    Curve curves[CURVES];
    int count = 0;
    for (int i = 0; i < CURVES; i++) {
        bool faint = i % 2;
        int rung = i / 2;
        if (!tab.there[rung]) continue;
        snprintf(names[i], NAME, "%s%s", tril_rung(rung), faint ? ", training" : "");
        curves[count++] =
            (Curve){.name = names[i],
                    .points = points[i],
                    .count = take_points(&tab.trainers[rung].trace, by_time, !faint, points[i]),
                    .colour = rung,
                    .faint = faint};
    }
    const Level levels[] = {{"uniform", tab.counts.uniform},
                            {"counted unigram", tab.counts.unigram},
                            {"counted bigram", tab.counts.bigram}};
    const Chart chart = {.id = "losses",
                         .title = "Loss, in nats per character: the lower, the better",
                         .x_name = by_time ? "seconds of training" : "steps",
                         .x_place = by_time ? "# s" : "step #",
                         .strong = "held-out text",
                         .faint = "training",
                         .curves = curves,
                         .levels = levels,
                         .curve_count = count,
                         .level_count = tab.text ? 3 : 0,
                         .height = height,
                         .decimals = 3,
                         .names = true};
    return answer_written(write_chart, &chart);
}
