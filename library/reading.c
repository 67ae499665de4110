/* reading.c - reads a text with a model: predictions, attention, all intermediate results. */
#include "base/array.h"
#include "base/memory.h"
#include "library/handles.h"

#include <math.h>
#include <string.h>

struct TrilReading {
    Run *run;
    bool traced;         /* the run keeps its lines */
    int32_t *ids;        /* the text; owned */
    const int32_t *read; /* [tokens]: the last of them */
    size_t skipped;
    int tokens;
    int V;
    const float *logits;
    double *expected; /* [V]: scratch of the counted model, if there is one; owned */
};

void tril_reading_close(TrilReading *r) {
    if (!r) return;
    run_close(r->run);
    memory_free(r->ids);
    memory_free(r->expected);
    memory_free(r);
}

static TrilStatus read_text(TrilReading *r, const TrilModel *model, const char *text, size_t length,
                            int threads, Error *err) {
    const size_t T = (size_t)model->model.config.T;
    size_t count;
    if (!vocab_prompt(&model->vocab, text, length, &r->ids, &count, err)) return TRIL_TEXT;
    r->tokens = (int)min_size(count, T);
    r->read = r->ids + count - r->tokens;
    r->skipped = count - (size_t)r->tokens;
    RunOptions options = {
        .batch = 1, .length = r->tokens, .frozen = true, .threads = threads, .kept = r->traced};
    r->V = model->vocab.size;
    if (!run_open(&r->run, to_read(model), &options, err) ||
        (model->model.ngram &&
         !memory_alloc(&r->expected, (size_t)r->V, sizeof *r->expected, "the reading", err)))
        return TRIL_ARGUMENT;
    r->logits = run_forward(r->run, r->read, 1, r->tokens);
    return are_finite(r->logits, (size_t)r->tokens * (size_t)r->V) ? TRIL_OK : diverged_model(err);
}

TrilStatus tril_reading_open(TrilReading **reading, const TrilModel *model, const char *text,
                             size_t length, bool traced, int threads, Error *err) {
    TrilReading *r;
    if (reading) *reading = NULL;
    if (!reading || !model || !text || !err) return null_argument(err);
    if (!threads_wanted(threads, &threads, err) ||
        !memory_alloc(&r, 1, sizeof *r, "the reading", err))
        return failed(TRIL_ARGUMENT, err);
    r->traced = traced;
    TrilStatus status = model_read(model, err);
    if (status == TRIL_OK) {
        status = read_text(r, model, text, length, threads, err);
        model_leave(model);
    }
    if (status == TRIL_OK)
        *reading = r;
    else
        tril_reading_close(r);
    return outcome(status == TRIL_OK, status, err);
}

/* ---- the text ---- */

int tril_reading_tokens(const TrilReading *reading) {
    return reading->tokens;
}

const int32_t *tril_reading_ids(const TrilReading *reading) {
    return reading->read;
}

size_t tril_reading_skipped(const TrilReading *reading) {
    return reading->skipped;
}

/* ---- predictions ---- */

const float *tril_reading_logits(const TrilReading *reading) {
    return reading->logits;
}

double tril_reading_loss(const TrilReading *reading) {
    const int V = reading->V;
    double loss = 0;
    for (int t = 0; t + 1 < reading->tokens; t++) {
        const float *row = reading->logits + (size_t)t * (size_t)V;
        float most = row[0];
        for (int v = 1; v < V; v++)
            if (row[v] > most) most = row[v];
        double sum = exp((double)row[0] - (double)most);
        for (int v = 1; v < V; v++) sum += exp((double)row[v] - (double)most);
        loss += (double)most + log(sum) - (double)row[tril_reading_ids(reading)[t + 1]];
    }
    return reading->tokens > 1 ? loss / (reading->tokens - 1) : NAN;
}

int tril_reading_match(const TrilReading *r, int t) {
    return r->expected ? ngram_predict(run_model(r->run)->ngram, tril_reading_ids(r) + t,
                                       (size_t)t + 1, ALL_FOLDS, r->expected)
                       : 0;
}

/* ---- attention ---- */

static int heads_of(const TrilLine *line) {
    return line->heads > 0 ? line->heads : 1;
}

void tril_reading_heads(const TrilReading *reading, int *layers, int *heads) {
    TrilLine line;
    int in_all = 0, in_each = 0;
    for (int i = 0; run_line(reading->run, i, &line); i++) {
        if (!line.attends) continue;
        in_all = line.layer + 1;
        in_each = heads_of(&line);
    }
    if (layers) *layers = in_all;
    if (heads) *heads = in_each;
}

/* Finds the line of a head, and checks that its map fits into `capacity` numbers. */
static bool find_head(const TrilReading *reading, int layer, int head, size_t capacity,
                      TrilLine *line, Error *err) {
    const size_t numbers = (size_t)reading->tokens * (size_t)reading->tokens;
    if (numbers > capacity)
        return fail(err, "the map has %zu numbers, but there is room for %zu", numbers, capacity);
    for (int i = 0; run_line(reading->run, i, line); i++)
        if (line->attends && line->layer == layer && head >= 0 && head < heads_of(line))
            return true;
    return fail(err, "there is no head %d in layer %d", head, layer);
}

/* Writes query . key for the query of row t and the keys of all T rows; zeros for a mean, which has
 * neither. Neighboring heads may share their keys. Returns the factor before the softmax. */
static float write_scores(const TrilLine *line, int head, int t, int T, float *scores) {
    const TrilArray *q = &line->inputs[0], *k = &line->inputs[1];
    memset(scores, 0, (size_t)T * sizeof *scores);
    if (!k->data) return 1;
    const int dk = q->width / heads_of(line), sharing = q->width / k->width;
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
    if (!find_head(reading, layer, head, capacity, &line, err)) return failed(TRIL_ARGUMENT, err);
    for (int t = 0, T = reading->tokens; t < T; t++, weights += T)
        take_softmax(weights, write_scores(&line, head, t, T, weights), t, T);
    return TRIL_OK;
}

/* ---- line by line ---- */

bool tril_reading_line(const TrilReading *reading, int i, TrilLine *line) {
    return reading->traced && run_line(reading->run, i, line);
}
