/* attention_view.c - shows what attention computed in the last pass, by its definition. */
#include "model/engine/run.h"

#include <math.h>
#include <string.h>

/* The instruction of attention, or of the plain mean, in a layer; NULL if there is none. */
static const Instruction *attention_in(const Program *p, int layer) {
    for (int i = 0; i < p->backward; i++)
        if (p->list[i].layer == layer && (p->list[i].operation == &attention_operation ||
                                          p->list[i].operation == &mean_operation))
            return &p->list[i];
    return NULL;
}

static size_t row_of(const Program *p, Array array) {
    return (size_t)p->arrays[array.id].width;
}

bool run_attention(const Run *run, int layer, int head, AttentionView *view) {
    const Program *p = &run->program;
    const Instruction *at = attention_in(p, layer);
    int NH = at && at->NH > 0 ? at->NH : 1; /* a mean has one head */
    if (!at || head < 0 || head >= NH) return false;
    bool mean = at->operation == &mean_operation;
    Array q = at->inputs[0], k = at->inputs[1], v = at->inputs[mean ? 0 : 2], att = at->outputs[0];
    int dk = mean ? 0 : q.width / NH, NKV = mean ? NH : k.width / dk;
    int dv = v.width / NKV, shared = head / (NH / NKV); /* the head of keys and values */
    *view = (AttentionView){.T = run->pass.T,
                            .dk = dk,
                            .dv = dv,
                            .query = mean ? NULL : run_array(run, q) + head * dk,
                            .key = mean ? NULL : run_array(run, k) + shared * dk,
                            .value = run_array(run, v) + shared * dv,
                            .context = run_array(run, att) + head * dv,
                            .query_row = row_of(p, q),
                            .key_row = row_of(p, k),
                            .value_row = row_of(p, v),
                            .context_row = row_of(p, att),
                            .scale = mean ? 0 : 1.0f / sqrtf((float)dk)};
    return true;
}

void attention_scores(const AttentionView *head, int t, float *scores) {
    const float *query = head->query + (size_t)t * head->query_row;
    for (int s = 0; s < head->T; s++) {
        const float *key = head->key + (size_t)s * head->key_row;
        double score = 0;
        for (int i = 0; i < head->dk; i++) score += (double)query[i] * (double)key[i];
        scores[s] = (float)score;
    }
}

void attention_weights(const AttentionView *head, int t, float *weights) {
    if (head->query)
        attention_scores(head, t, weights);
    else
        memset(weights, 0, (size_t)head->T * sizeof *weights);
    float largest = weights[0];
    double sum = 0;
    for (int s = 1; s <= t; s++) largest = fmaxf(largest, weights[s]);
    for (int s = 0; s <= t; s++) {
        weights[s] = expf(head->scale * (weights[s] - largest));
        sum += (double)weights[s];
    }
    for (int s = 0; s <= t; s++) weights[s] = (float)((double)weights[s] / sum);
    for (int s = t + 1; s < head->T; s++) weights[s] = 0;
}
