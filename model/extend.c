/* extend.c - a larger vocabulary for a trained model. */
#include "model/model.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/random.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Writes after[outer,count,inner]: index i in the middle is index sources[i] of
 * before[outer,earlier,inner] or, in place of NO_ID, the mean over all of them. */
static void extend_axis(float *after, const float *before, int outer, int earlier, int count,
                        int inner, const int32_t *sources) {
    for (int o = 0; o < outer; o++, before += (size_t)earlier * (size_t)inner) {
        const float *mean = after; /* the first new index's */
        bool known = false;
        for (int i = 0; i < count; i++, after += inner) {
            bool is_new = sources[i] == NO_ID;
            if (!is_new || known) {
                const float *same = is_new ? mean : before + sources[i] * (ptrdiff_t)inner;
                memcpy(after, same, (size_t)inner * sizeof *after);
                continue;
            }
            for (int j = 0; j < inner; j++) {
                double sum = 0;
                for (int k = 0; k < earlier; k++) sum += (double)before[k * (ptrdiff_t)inner + j];
                after[j] = (float)(sum / earlier);
            }
            mean = after;
            known = true;
        }
    }
}

/* Adds noise to the new rows of vectors, so that training can tell the new tokens apart, with half
 * the standard deviation of before[count]. */
static void add_noise(float *after, int rows, int columns, const int32_t *sources, uint64_t key,
                      const float *before, size_t count) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)before[i];
        squares += (double)before[i] * (double)before[i];
    }
    double mean = sum / (double)count, variance = squares / (double)count - mean * mean;
    double scale = variance > 0 ? 0.5 * sqrt(variance) : 0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; sources[i] == NO_ID && j < columns; j++) {
            size_t at = (size_t)i * (size_t)columns + (size_t)j;
            after[at] += (float)(scale * random_normal(key, at));
        }
}

/* Extends the dimensions of a tensor whose size changes: those are the dimensions of the
 * vocabulary. Logits and biases need no noise. */
static bool extend_tensor(const Tensor *before, const Tensor *after, const float *from, float *to,
                          const int32_t *sources, uint64_t key, Error *err) {
    int earlier = before->shape[0], rows = after->shape[0], columns = before->shape[1];
    float *taller = NULL;
    bool wider = after->shape[1] > columns;
    if (rows == earlier && !wider) {
        memcpy(to, from, after->size * sizeof *to);
    } else if (!wider) {
        extend_axis(to, from, 1, earlier, rows, columns, sources);
        if (columns > 1) add_noise(to, rows, columns, sources, key, from, before->size);
    } else if (rows == earlier) {
        extend_axis(to, from, rows, columns, after->shape[1], 1, sources);
    } else {
        if (!memory_alloc(&taller, after->size, sizeof *taller, "the model", err)) return false;
        extend_axis(taller, from, 1, earlier, rows, columns, sources);
        extend_axis(to, taller, rows, columns, after->shape[1], 1, sources);
        memory_free(taller);
    }
    return true;
}

/* Counts the same text with its new ids. */
static bool extend_counts(Model *larger, const Model *model, const int32_t *sources, Error *err) {
    int32_t *ids, *now;
    if (!model->ngram) return true;
    const NgramFacts text = ngram_facts(model->ngram);
    if (!memory_alloc(&ids, text.count, sizeof *ids, "the counts", err)) return false;
    bool ok = memory_alloc(&now, (size_t)model->config.V, sizeof *now, "the counts", err);
    for (int v = 0; ok && v < larger->config.V; v++)
        if (sources[v] != NO_ID) now[sources[v]] = v;
    for (size_t i = 0; ok && i < text.count; i++) ids[i] = now[text.ids[i]];
    ok = ok && model_count(larger, ids, text.count, false, err);
    memory_free(now);
    memory_free(ids);
    return ok;
}

bool model_extend(Model *model, int V, const int32_t *sources, uint64_t seed, Error *err) {
    Config config = model->config;
    Model larger;
    assert(V > config.V); /* the dimensions that grow are those of the vocabulary */
    config.V = V;
    if (!model_lay_out(&larger, &config, err)) return false;
    bool ok = model_allocate(&larger, err) && extend_counts(&larger, model, sources, err);
    for (int i = 0; ok && i < larger.tensor_count; i++) {
        const Tensor *before = &model->tensors[i], *after = &larger.tensors[i];
        ok = extend_tensor(before, after, model->weights + before->offset,
                           larger.weights + after->offset, sources,
                           random_key(seed, RANDOM_WEIGHTS, (uint64_t)i), err);
    }
    if (!ok) {
        model_free(&larger);
        return false;
    }
    model_free(model);
    *model = larger;
    return true;
}
