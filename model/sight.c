/* sight.c - a look inside: what attention did in the last pass, made again by its definition. */
#include "model/run.h"

#include <math.h>
#include <string.h>

bool run_head(const Run *run, int layer, int head, HeadView *view) {
    const Rung *rung = run->model->rung;
    const Config *c = &run->model->config;
    if (!rung->sight || layer < 0 || layer >= c->L || head < 0) return false;
    Sight s;
    rung->sight(run, layer, &s);
    if (head >= s.shape.NH) return false;
    size_t of_k = (size_t)head * (size_t)s.shape.dk, of_v = (size_t)head * (size_t)s.shape.dv;
    *view = (HeadView){.T = run->T,
                       .dk = s.shape.dk,
                       .dv = s.shape.dv,
                       .query = s.q ? s.q + of_k : NULL,
                       .key = s.q ? s.k + of_k : NULL,
                       .value = s.v + of_v,
                       .context = s.att + of_v,
                       .query_row = s.shape.q_row,
                       .key_row = s.shape.k_row,
                       .value_row = s.shape.v_row,
                       .context_row = s.shape.out_row,
                       .scale = s.shape.scale,
                       .projection = s.projection.w + of_v,
                       .bias = s.bias.w,
                       .projection_row = (size_t)s.shape.NH * (size_t)s.shape.dv};
    return true;
}

void head_scores(const HeadView *head, int t, float *scores) {
    const float *query = head->query + (size_t)t * head->query_row;
    for (int s = 0; s < head->T; s++) {
        const float *key = head->key + (size_t)s * head->key_row;
        double score = 0;
        for (int i = 0; i < head->dk; i++) score += (double)query[i] * (double)key[i];
        scores[s] = (float)score;
    }
}

void head_weights(const HeadView *head, int t, float *weights) {
    if (head->query)
        head_scores(head, t, weights);
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
