/* training.c - the rungs in training: sizes, steps, and their curves. */
#include "base/clock.h"
#include "report/figure.h"
#include "web/answer.h"
#include "web/tab.h"
#include "web/tril.h"

#include <math.h>
#include <string.h>

static bool check_rung(int rung, Error *err) {
    return (rung >= 0 && rung < MAX_RUNGS && model_name(rung)) ||
           fail(err, "there is no rung %d", rung);
}

void tril_set_sizes(int layers, int heads, int width, int context, int batch, int steps,
                    double seed) {
    Request empty = request_empty();
    empty.patience = 1;
    tab.asked = request_new(&empty);
    tab.asked.sizes = (Config){.L = layers, .NH = heads, .C = width, .T = context};
    tab.asked.batch = batch;
    tab.asked.steps = steps;
    tab.asked.eval_every = 0;
    tab.asked.seed = (uint64_t)seed;
    tab.asked.epochs = 0;
    tab.asked.precision = "f32";
    tab.asked.bytes = tab.as_bytes;
}

void tril_set_dropout(double dropout) {
    tab.asked.sizes.dropout = dropout;
}

static RunOptions run_options(const Request *request) {
    return (RunOptions){
        .batch = request->batch, .length = request->sizes.T, .training = true, .threads = 1};
}

/* Roughly, the multiply-adds of a step: forward and twice as much backward, of each weight and of
 * attention. */
static double work_of(const Config *config) {
    double tokens = (double)tab.asked.batch * config->T;
    double weights = (double)model_parameters(config);
    double attention = (double)config->L * config->T * config->C;
    return 3 * tokens * (weights + attention);
}

int tril_estimate(int rung) {
    Error err = {0};
    Memory m;
    Config config = tab.asked.sizes;
    RunOptions options = run_options(&tab.asked);
    if (!check_rung(rung, &err)) return answer_refusal(&err);
    snprintf(config.model, sizeof config.model, "%s", model_name(rung));
    config.V = tab.has_text ? tab.corpus.vocab.size : 1;
    if (!model_check(&config, &err) || !run_estimate(&config, &options, &m, &err))
        return answer_refusal(&err);
    JsonText json = json_begin("the answer", &err);
    json_printf(&json, "{\"parameters\":%zu", model_parameters(&config));
    answer_number(&json, "bytes",
                  (double)m.weights + (double)m.optimizer + (double)m.activations +
                      (double)m.threads);
    answer_number(&json, "work", work_of(&config));
    json_printf(&json, "}");
    return answer_json(&json, &err);
}

static void add_rung(JsonText *json, int i) {
    const Trainer *t = &tab.trainers[i];
    const Progress *p = &t->training.progress;
    int last = t->trace.held_out_count - 1;
    json_printf(json, "{\"rung\":%d,\"step\":%d,\"steps\":%d,\"parameters\":%zu,\"done\":%s", i,
                p->step, t->request.steps, t->model.parameters, trainer_done(t) ? "true" : "false");
    answer_number(json, "loss", p->recent_count > 0 ? p->recent : NAN);
    answer_number(json, "heldOut", last >= 0 ? t->trace.held_out[last].loss : NAN);
    answer_number(json, "lowest", p->lowest);
    answer_number(json, "seconds", p->step_seconds);
    answer_number(json, "characters", (double)p->step * t->request.batch * t->request.sizes.T);
    json_printf(json, ",\"layers\":%d,\"heads\":%d,\"width\":%d,\"context\":%d", t->model.config.L,
                t->model.config.NH, t->model.config.C, t->model.config.T);
    answer_text(json, "sample", t->sample);
    answer_text(json, "failed", t->failed.text);
    json_printf(json, "}");
}

int tril_rungs(void) {
    Error err = {0};
    bool any = false;
    JsonText json = json_begin("the answer", &err);
    json_printf(&json, "[");
    for (int i = 0; i < MAX_RUNGS; i++) {
        if (!tab.there[i]) continue;
        if (any) json_printf(&json, ",");
        add_rung(&json, i);
        any = true;
    }
    json_printf(&json, "]");
    return answer_json(&json, &err);
}

static bool check_text(Error *err) {
    int context = tab.asked.sizes.T;
    if (!tab.has_text) return fail(err, "there is no text to train on");
    return tab.corpus.train > (size_t)context ||
           fail(err, "the text is too short: a context of %d needs more than its %zu characters",
                context, tab.corpus.train);
}

int tril_add(int rung) {
    Error err = {0};
    Request request = tab.asked;
    if (!check_rung(rung, &err) || !check_text(&err)) return answer_refusal(&err);
    tril_drop(rung);
    request.model = model_name(rung);
    tab.there[rung] = trainer_open(&tab.trainers[rung], &request, &tab.corpus, NULL, NULL, &err);
    if (tab.there[rung]) return tril_rungs();
    trainer_close(&tab.trainers[rung]);
    return answer_refusal(&err);
}

static bool can_go_on(int i) {
    return tab.there[i] && !trainer_done(&tab.trainers[i]) && !*tab.trainers[i].failed.text;
}

/* The rung that is furthest behind, in steps or in seconds; -1: all are done. */
static int next_rung(bool by_time) {
    int next = -1;
    double least = INFINITY;
    for (int i = 0; i < MAX_RUNGS; i++) {
        if (!can_go_on(i)) continue;
        const Progress *p = &tab.trainers[i].training.progress;
        double so_far = by_time ? p->step_seconds : p->step;
        if (so_far < least) {
            least = so_far;
            next = i;
        }
    }
    return next;
}

int tril_advance(double milliseconds, int by_time) {
    double end = clock_seconds() + milliseconds / 1000;
    int next = next_rung(by_time);
    while (next >= 0) {
        Error err = {0};
        if (!trainer_step(&tab.trainers[next], &err)) tab.trainers[next].failed = err;
        if (clock_seconds() >= end) return 1;
        next = next_rung(by_time);
    }
    return 0;
}

void tril_set_steps(int rung, int steps) {
    Error none;
    Trainer *trainer = tab_trainer(rung, &none);
    if (trainer) trainer_set_steps(trainer, steps);
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

int tril_draw_losses(int height, int by_time) {
    enum { CURVES = 2 * MAX_RUNGS, NAME = 32 };
    static Point points[CURVES][TRACE_POINTS];
    static char names[CURVES][NAME];
    Curve curves[CURVES];
    int count = 0;
    for (int i = 0; i < CURVES; i++) {
        bool faint = i % 2;
        int rung = i / 2;
        if (!tab.there[rung]) continue;
        snprintf(names[i], NAME, "%s%s", model_name(rung), faint ? ", training" : "");
        curves[count++] =
            (Curve){.name = names[i],
                    .points = points[i],
                    .count = take_points(&tab.trainers[rung].trace, by_time, !faint, points[i]),
                    .colour = rung,
                    .faint = faint};
    }
    const Level levels[] = {{"uniform", tab.counts.uniform},
                            {"counted unigram", tab.counts.unigram_held_out},
                            {"counted bigram", tab.counts.bigram_held_out}};
    const Chart chart = {.id = "losses",
                         .title = "Loss, in nats per character: the lower, the better",
                         .x_name = by_time ? "seconds of training" : "steps",
                         .x_place = by_time ? "# s" : "step #",
                         .strong = "held-out text",
                         .faint = "training",
                         .curves = curves,
                         .levels = levels,
                         .curve_count = count,
                         .level_count = tab.corpus.length > 0 ? 3 : 0,
                         .height = height,
                         .decimals = 3,
                         .names = true};
    return answer_written(write_chart, &chart);
}
