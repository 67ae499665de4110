/* reading.c - reads a text with a model: predictions, attention, all intermediate results. */
#include "base/array.h"
#include "base/memory.h"
#include "base/number.h"
#include "library/handles.h"

#include <math.h>
#include <string.h>

/* A reading, of which tril.h declares the first member. */
typedef struct {
    TrilReading known;
    Run *run;
    bool traced;      /* the run keeps its lines */
    int32_t *ids;     /* the whole text; owned */
    int V;            /* size of the vocabulary */
    double *expected; /* [V]: scratch of the counted model, if there is one; owned */
} Reading;

static const Reading *own(const TrilReading *reading) {
    return (const Reading *)reading;
}

void tril_reading_close(TrilReading *reading) {
    Reading *r = (Reading *)reading;
    if (!r) return;
    run_close(r->run);
    memory_free(r->ids);
    memory_free(r->expected);
    memory_free(r);
}

/* Returns the mean loss on all characters read but the first. */
static double loss_of(const TrilReading *reading, int V) {
    double loss = 0;
    for (int t = 0; t + 1 < reading->tokens; t++) {
        const float *row = reading->logits + (size_t)t * (size_t)V;
        float most = row[0];
        for (int v = 1; v < V; v++)
            if (row[v] > most) most = row[v];
        double sum = exp((double)row[0] - (double)most);
        for (int v = 1; v < V; v++) sum += exp((double)row[v] - (double)most);
        loss += (double)most + log(sum) - (double)row[reading->ids[t + 1]];
    }
    return reading->tokens > 1 ? loss / (reading->tokens - 1) : NAN;
}

static bool read_text(Reading *r, const TrilModel *model, const char *text, size_t length,
                      int threads, Error *err) {
    TrilReading *known = &r->known;
    TrilLine line;
    size_t count;
    if (!vocab_prompt(&model->vocab, text, length, &r->ids, &count, err)) return false;
    known->tokens = (int)min_size(count, (size_t)model->model.config.T);
    known->skipped = count - (size_t)known->tokens;
    known->ids = r->ids + known->skipped;
    RunOptions options = {
        .batch = 1, .length = known->tokens, .threads = threads, .kept = r->traced};
    r->V = model->vocab.size;
    if (!run_open(&r->run, to_read(model), &options, err) ||
        (model->model.ngram &&
         !memory_alloc(&r->expected, (size_t)r->V, sizeof *r->expected, "the reading", err)))
        return false;
    known->logits = run_forward(r->run, known->ids, 1, known->tokens);
    for (int i = 0; run_line(r->run, i, &line); i++) {
        if (!line.attends) continue;
        known->layers = line.layer + 1;
        known->heads = line.heads;
    }
    known->loss = loss_of(known, r->V);
    return floats_finite(known->logits, (size_t)known->tokens * (size_t)r->V) || fail_diverged(err);
}

TrilStatus tril_reading_open(TrilReading **reading, const TrilModel *model, const char *text,
                             size_t length, bool traced, int threads, Error *err) {
    Reading *r;
    if (reading) *reading = NULL;
    if (!reading || !model || !text || !err) return null_argument(err);
    if (!threads_wanted(threads, &threads, err) ||
        !memory_alloc(&r, 1, sizeof *r, "the reading", err))
        return err->status;
    r->traced = traced;
    const bool ok = model_lock_shared(model, err) &&
                    model_unlock(model, read_text(r, model, text, length, threads, err));
    if (ok)
        *reading = &r->known;
    else
        tril_reading_close(&r->known);
    return result(ok, err);
}

/* ---- predictions ---- */

int tril_reading_match(const TrilReading *reading, int t) {
    const Reading *r = own(reading);
    return r->expected ? ngram_predict(run_model(r->run)->ngram, reading->ids + t, (size_t)t + 1,
                                       ALL_FOLDS, r->expected)
                       : 0;
}

/* ---- attention ---- */

/* Finds the line of a head, and checks that its map fits into `capacity` numbers. */
static bool find_head(const TrilReading *reading, int layer, int head, size_t capacity,
                      TrilLine *line, Error *err) {
    const size_t numbers = (size_t)reading->tokens * (size_t)reading->tokens;
    if (numbers > capacity)
        return fail(err, "the map has %zu numbers, but there is room for %zu", numbers, capacity);
    for (int i = 0; run_line(own(reading)->run, i, line); i++)
        if (line->attends && line->layer == layer && head >= 0 && head < line->heads) return true;
    return fail(err, "there is no head %d in layer %d", head, layer);
}

/* Writes query . key for the query of row t and the keys of all T rows; zeros for a mean, which has
 * neither. Neighboring heads may share their keys. Returns the factor before the softmax. */
static float write_scores(const TrilLine *line, int head, int t, int T, float *scores) {
    const TrilArray *q = &line->inputs[0], *k = &line->inputs[1];
    memset(scores, 0, (size_t)T * sizeof *scores);
    if (!k->data) return 1;
    const int dk = q->width / line->heads, sharing = q->width / k->width;
    const float *query = q->data + (size_t)t * q->row + head * dk;
    for (int s = 0; s < T; s++) {
        const float *key = k->data + (size_t)s * k->row + head / sharing * dk;
        double score = 0;
        for (int i = 0; i < dk; i++) score += (double)query[i] * (double)key[i];
        scores[s] = (float)score;
    }
    return 1.0f / sqrtf((float)dk);
}

/* Turns the scores of row t into the softmax of the scaled ones up to t, and 0 beyond. */
static void take_softmax(float *scores, float scale, int t, int T) {
    double sum = 0;
    float largest = scores[0];
    for (int s = 1; s <= t; s++) largest = fmaxf(largest, scores[s]);
    for (int s = 0; s <= t; s++) {
        scores[s] = expf(scale * (scores[s] - largest));
        sum += (double)scores[s];
    }
    for (int s = 0; s <= t; s++) scores[s] = (float)((double)scores[s] / sum);
    for (int s = t + 1; s < T; s++) scores[s] = 0;
}

TrilStatus tril_reading_attention(const TrilReading *reading, int layer, int head, float *weights,
                                  size_t capacity, Error *err) {
    TrilLine line;
    if (!reading || !weights || !err) return null_argument(err);
    if (!find_head(reading, layer, head, capacity, &line, err)) return err->status;
    for (int t = 0, T = reading->tokens; t < T; t++, weights += T)
        take_softmax(weights, write_scores(&line, head, t, T, weights), t, T);
    return TRIL_OK;
}

/* ---- line by line ---- */

bool tril_reading_line(const TrilReading *reading, int i, TrilLine *line) {
    return own(reading)->traced && run_line(own(reading)->run, i, line);
}
