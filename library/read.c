/* read.c - what a model makes of a text: its loss, its predictions, and what its heads attend to.
 */
#include "base/memory.h"
#include "library/handles.h"

#include <math.h>

/* ---- the loss on a text ---- */

/* Removes the ids that are -1. Returns how many ids stay. */
static size_t drop_unknown(int32_t *ids, size_t count) {
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (ids[i] >= 0) ids[known++] = ids[i];
    return known;
}

/* Names the first unknown character. */
static bool refuse_unknown(const Vocab *vocab, const char *text, size_t length, size_t unknown,
                           Error *err) {
    int32_t *ids;
    size_t count;
    Error first;
    if (vocab_encode(vocab, "the text", text, length, &ids, &count, &first)) memory_free(ids);
    return fail(err, "%s (%zu in all)", first.text, unknown);
}

/* The unknown ids are counted already. */
static bool score_ids(TrilScore *score, const TrilModel *model, const int32_t *ids, size_t known,
                      TrilUnknown unknown, const RunOptions *options, Error *err) {
    Run *run;
    if (known < 2)
        return fail(err, "the text: too short: a score needs two characters that the model knows");
    if (!run_open(&run, to_read(model), options, err)) return false;
    score->nats = run_evaluate(run, ids, known, 1);
    run_close(run);
    if (unknown != TRIL_UNIFORM) return true;
    double predicted = (double)(known - 1), others = (double)score->unknown;
    double cost = log((double)model->model.config.V + 1);
    score->nats = (predicted * score->nats + others * cost) / (predicted + others);
    return true;
}

TrilScoring tril_scoring(void) {
    return (TrilScoring){.precision = "f32"};
}

/* Windows of the model's context, many at once. */
static bool read_scoring(RunOptions *options, const TrilModel *model, const TrilScoring *s,
                         Error *err) {
    enum { WINDOWS = 16 };
    *options = (RunOptions){.batch = WINDOWS, .length = model->model.config.T, .frozen = true};
    return given(s, "the scoring", err) &&
           ((s->unknown >= TRIL_REFUSE && s->unknown <= TRIL_UNIFORM) ||
            fail(err, "there is no way %d to treat unknown characters", (int)s->unknown)) &&
           precision_read(&options->precision, s->precision, err) &&
           threads_wanted(s->threads, &options->threads, err);
}

TrilStatus tril_score(const TrilModel *model, const char *text, size_t length,
                      const TrilScoring *scoring, TrilScore *score, TrilError *error) {
    Error err = {0};
    RunOptions options;
    int32_t *ids;
    if (!given(model, "the model", &err) || !given(text, "the text", &err) ||
        !given(score, "the place for the score", &err) ||
        !read_scoring(&options, model, scoring, &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    *score = (TrilScore){0};
    const Vocab *vocab = vocab_of(model);
    if (!vocab_encode_known(vocab, "the text", text, length, &ids, &score->characters, &err))
        return refusal(TRIL_TEXT, &err, error);
    size_t known = drop_unknown(ids, score->characters);
    score->unknown = score->characters - known;
    bool ok = score->unknown > 0 && scoring->unknown == TRIL_REFUSE
                  ? refuse_unknown(vocab, text, length, score->unknown, &err)
                  : score_ids(score, model, ids, known, scoring->unknown, &options, &err);
    memory_free(ids);
    return ok ? TRIL_OK : refusal(TRIL_TEXT, &err, error);
}

TrilStatus tril_evaluate(const TrilModel *model, const char *text, size_t length, int threads,
                         double *nats, TrilError *error) {
    Error err = {0};
    TrilScoring scoring = tril_scoring();
    TrilScore score = {0};
    if (!given(nats, "the place for the loss", &err)) return refusal(TRIL_ARGUMENT, &err, error);
    scoring.threads = threads;
    TrilStatus status = tril_score(model, text, length, &scoring, &score, error);
    if (status == TRIL_OK) *nats = score.nats;
    return status;
}

/* ---- reading ---- */

struct TrilReading {
    Run *run;
    int32_t *ids; /* all of the text's; owned */
    size_t first; /* of them that was read */
    int tokens;   /* read */
    int V;
    const float *logits;
};

void tril_reading_close(TrilReading *r) {
    if (!r) return;
    run_close(r->run);
    memory_free(r->ids);
    memory_free(r);
}

static TrilStatus read_text(TrilReading *r, const TrilModel *model, const char *text, size_t length,
                            int threads, Error *err) {
    const size_t T = (size_t)model->model.config.T;
    size_t count;
    if (!vocab_encode(vocab_of(model), "the text", text, length, &r->ids, &count, err))
        return TRIL_TEXT;
    if (count == 0) {
        fail(err, "the text: is empty");
        return TRIL_TEXT;
    }
    r->tokens = (int)(count < T ? count : T);
    RunOptions options = {.batch = 1, .length = r->tokens, .frozen = true, .threads = threads};
    if (!run_open(&r->run, to_read(model), &options, err)) return TRIL_ARGUMENT;
    r->V = vocab_of(model)->size;
    r->first = count - (size_t)r->tokens;
    r->logits = run_forward(r->run, r->ids + r->first, 1, r->tokens, 0);
    return TRIL_OK;
}

TrilStatus tril_reading_open(TrilReading **reading, const TrilModel *model, const char *text,
                             size_t length, int threads, TrilError *error) {
    Error err = {0};
    TrilReading *r;
    if (!given(reading, "the place for the reading", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    *reading = NULL;
    if (!given(model, "the model", &err) || !given(text, "the text", &err) ||
        !threads_wanted(threads, &threads, &err) ||
        !memory_alloc(&r, 1, sizeof *r, "the reading", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    TrilStatus status = read_text(r, model, text, length, threads, &err);
    if (status == TRIL_OK) {
        *reading = r;
        return status;
    }
    tril_reading_close(r);
    return refusal(status, &err, error);
}

int tril_reading_tokens(const TrilReading *reading) {
    return reading->tokens;
}

const float *tril_reading_logits(const TrilReading *reading) {
    return reading->logits;
}

/* The logarithm of the softmax's sum. */
static double log_sum(const float *logits, int V) {
    float most = logits[0];
    for (int v = 1; v < V; v++)
        if (logits[v] > most) most = logits[v];
    double sum = exp((double)logits[0] - (double)most);
    for (int v = 1; v < V; v++) sum += exp((double)logits[v] - (double)most);
    return (double)most + log(sum);
}

double tril_reading_loss(const TrilReading *reading) {
    double sum = 0;
    for (int t = 0; t + 1 < reading->tokens; t++) {
        const float *row = reading->logits + (size_t)t * (size_t)reading->V;
        int32_t next = reading->ids[reading->first + (size_t)t + 1];
        sum += log_sum(row, reading->V) - (double)row[next];
    }
    return reading->tokens > 1 ? sum / (reading->tokens - 1) : NAN;
}

void tril_reading_heads(const TrilReading *reading, int *layers, int *heads) {
    AttentionView any;
    int in_all = 0, in_each = 0;
    while (run_attention(reading->run, in_all, 0, &any)) in_all++;
    while (in_all > 0 && run_attention(reading->run, 0, in_each, &any)) in_each++;
    if (layers) *layers = in_all;
    if (heads) *heads = in_each;
}

TrilStatus tril_reading_attention(const TrilReading *reading, int layer, int head, float *weights,
                                  size_t capacity, TrilError *error) {
    Error err = {0};
    AttentionView view;
    if (!given(reading, "the reading", &err) || !given(weights, "the place for the weights", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    const size_t T = (size_t)reading->tokens;
    if ((T * T > capacity &&
         !fail(&err, "the map has %zu numbers, and there is room for %zu", T * T, capacity)) ||
        (!run_attention(reading->run, layer, head, &view) &&
         !fail(&err, "there is no head %d in layer %d", head, layer)))
        return refusal(TRIL_ARGUMENT, &err, error);
    for (int t = 0; t < reading->tokens; t++) attention_weights(&view, t, weights + (size_t)t * T);
    return TRIL_OK;
}
