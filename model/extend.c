/* extend.c - a larger vocabulary for a trained model. */
#include "model/model.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

/* A tensor before and after. A dimension whose size changes is the vocabulary's. */
typedef struct {
    const float *before;
    float *after;
    int rows_before, rows, columns_before, columns;
    const int32_t *sources; /* [V]: the earlier token, or -1 */
    uint64_t key;           /* of the noise */
} Extension;

static double mean(const float *first, int count, size_t stride) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += (double)first[(size_t)i * stride];
    return sum / count;
}

/* Writes the row `before`, with a mean in each new column. */
static void extend_row(const Extension *e, float *after, const float *before) {
    if (e->columns == e->columns_before) {
        memcpy(after, before, (size_t)e->columns * sizeof *after);
        return;
    }
    float unknown = (float)mean(before, e->columns_before, 1);
    for (int j = 0; j < e->columns; j++)
        after[j] = e->sources[j] < 0 ? unknown : before[e->sources[j]];
}

/* Writes the mean of all earlier rows, and in each new column the mean of that row. */
static void mean_row(const Extension *e, float *after) {
    bool wider = e->columns > e->columns_before;
    double sum = 0;
    for (int j = 0; j < e->columns; j++) {
        int source = wider ? e->sources[j] : j;
        if (source < 0) continue;
        double column = mean(e->before + source, e->rows_before, (size_t)e->columns_before);
        after[j] = (float)column;
        sum += column;
    }
    for (int j = 0; wider && j < e->columns; j++)
        if (e->sources[j] < 0) after[j] = (float)(sum / e->columns_before);
}

/* Returns the standard deviation of all earlier numbers. */
static double deviation(const Extension *e) {
    size_t count = (size_t)e->rows_before * (size_t)e->columns_before;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        double x = (double)e->before[i];
        sum += x;
        squares += x * x;
    }
    double variance = squares / (double)count - sum / (double)count * (sum / (double)count);
    return variance > 0 ? sqrt(variance) : 0;
}

/* Adds noise to the new rows of vectors, so that training can tell the new tokens apart. Logits and
 * biases, which need none, get none. */
static void add_noise(const Extension *e) {
    const double share = 0.5;
    if (e->columns == 1 || e->columns > e->columns_before) return;
    double scale = share * deviation(e);
    for (int i = 0; i < e->rows; i++)
        for (int j = 0; e->sources[i] < 0 && j < e->columns; j++) {
            size_t at = (size_t)i * (size_t)e->columns + (size_t)j;
            e->after[at] += (float)(scale * random_normal(e->key, at));
        }
}

/* Counts the same text with its new ids. */
static bool extend_counts(Model *larger, const Model *model, const int32_t *sources, Error *err) {
    int32_t *ids, *now;
    size_t count;
    if (!model->ngram) return true;
    const int32_t *before = ngram_text(model->ngram, &count);
    if (!memory_alloc(&ids, count, sizeof *ids, "the counts", err)) return false;
    bool ok = memory_alloc(&now, (size_t)model->config.V, sizeof *now, "the counts", err);
    for (int v = 0; ok && v < larger->config.V; v++)
        if (sources[v] >= 0) now[sources[v]] = v;
    for (size_t i = 0; ok && i < count; i++) ids[i] = now[before[i]];
    ok = ok && model_count(larger, ids, count, false, err);
    memory_free(now);
    memory_free(ids);
    return ok;
}

static void extend_tensor(const Extension *e) {
    bool taller = e->rows > e->rows_before;
    const float *first = NULL; /* the first new row: their means are the same */
    for (int i = 0; i < e->rows; i++) {
        float *row = e->after + (size_t)i * (size_t)e->columns;
        int source = taller ? e->sources[i] : i;
        if (source >= 0) {
            extend_row(e, row, e->before + (size_t)source * (size_t)e->columns_before);
        } else if (first) {
            memcpy(row, first, (size_t)e->columns * sizeof *row);
        } else {
            mean_row(e, row);
            first = row;
        }
    }
    if (taller) add_noise(e);
}

bool model_extend(Model *model, int V, const int32_t *sources, uint64_t seed, Error *err) {
    Config config = model->config;
    Model larger;
    config.V = V;
    if (!model_lay_out(&larger, &config, err)) return false;
    if (!model_allocate(&larger, err) || !extend_counts(&larger, model, sources, err)) {
        model_free(&larger);
        return false;
    }
    for (int i = 0; i < larger.tensor_count; i++) {
        const Tensor *before = &model->tensors[i], *after = &larger.tensors[i];
        extend_tensor(&(Extension){.before = model->weights + before->offset,
                                   .after = larger.weights + after->offset,
                                   .rows_before = before->shape[0],
                                   .rows = after->shape[0],
                                   .columns_before = before->shape[1],
                                   .columns = after->shape[1],
                                   .sources = sources,
                                   .key = random_key(seed, RANDOM_WEIGHTS, (uint64_t)i)});
    }
    model_free(model);
    *model = larger;
    return true;
}
