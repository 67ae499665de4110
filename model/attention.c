/* attention.c - each token asks those before it, and takes a weighted mean of their values.
 *
 * One task is one head of one sequence; threads share out the tasks. A row of scores lives in the
 * thread's scratch for as long as its query needs it and is then forgotten: memory grows with T,
 * not with T x T, and the masked half is never computed. */
#include "model/layers.h"
#include "model/dropout.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Where one task's head lies. */
typedef struct {
    size_t q, key, v, out, lse; /* offsets of its first token */
} Head;

static Head head_of(const Attention *a, size_t task) {
    size_t T = (size_t)a->T, S = (size_t)(a->past + a->T);
    size_t batch = task / (size_t)a->NH, head = task % (size_t)a->NH;
    return (Head){.q = batch * T * a->q_row + head * (size_t)a->dk,
                  .key = batch * S * a->k_row + head * (size_t)a->dk,
                  .v = batch * S * a->v_row + head * (size_t)a->dv,
                  .out = batch * T * a->out_row + head * (size_t)a->dv,
                  .lse = task * T};
}

/* How many keys query t sees. */
static int seen(const Attention *a, int t) {
    return a->past + (a->causal ? t + 1 : a->T);
}

void attention_forward(const Kernels *k, float *out, float *lse, const float *q, const float *key,
                       const float *v, const Attention *a) {
    const Isa *isa = k->isa;
    assert(a->past == 0 || a->B == 1);
    float *att = k->rows[0];
    Share tasks = team_share(k, (size_t)a->B * (size_t)a->NH, 1);
    for (size_t task = tasks.begin; task < tasks.end; task++) {
        Head at = head_of(a, task);
        for (size_t t = 0; t < (size_t)a->T; t++) {
            int n = seen(a, (int)t);
            isa->dots(att, q + at.q + t * a->q_row, key + at.key, a->k_row, n, a->dk);
            lse[at.lse + t] = isa->softmax(att, att, a->scale, n);
            if (a->dropout.rate > 0) isa->dropout(att, att, dropout_row(a->dropout, at.lse + t), n);
            isa->combine(out + at.out + t * a->out_row, att, v + at.v, a->v_row, n, a->dv);
        }
    }
    team_barrier(k);
}

void attention_backward(const Kernels *k, float *dq, float *dkey, float *dv, const float *dout,
                        const float *out, const float *lse, const float *q, const float *key,
                        const float *v, const Attention *a) {
    const Isa *isa = k->isa;
    assert(a->past == 0);
    float *att = k->rows[0], *datt = k->rows[1];
    Share tasks = team_share(k, (size_t)a->B * (size_t)a->NH, 1);
    for (size_t task = tasks.begin; task < tasks.end; task++) {
        Head at = head_of(a, task);
        for (size_t t = 0; t < (size_t)a->T; t++) {
            memset(dkey + at.key + t * a->k_row, 0, (size_t)a->dk * sizeof *dkey);
            memset(dv + at.v + t * a->v_row, 0, (size_t)a->dv * sizeof *dv);
        }
        for (size_t t = 0; t < (size_t)a->T; t++) {
            int n = seen(a, (int)t);
            const float *query = q + at.q + t * a->q_row;
            const float *dto = dout + at.out + t * a->out_row;
            DropoutRow mask = dropout_row(a->dropout, at.lse + t);
            /* att again, and what the loss thinks of it */
            isa->dots(att, query, key + at.key, a->k_row, n, a->dk);
            isa->exponentials(att, att, a->scale, lse[at.lse + t], n);
            isa->dots(datt, dto, v + at.v, a->v_row, n, a->dv);
            if (a->dropout.rate > 0) isa->dropout(datt, datt, mask, n);
            /* sum_s att datt = dout . out, dropped out or not: shorter than the row */
            float mean = isa->dot(dto, out + at.out + t * a->out_row, (size_t)a->dv);
            isa->softmax_backward(datt, att, mean, a->scale, n);
            isa->combine(dq + at.q + t * a->q_row, datt, key + at.key, a->k_row, n, a->dk);
            isa->outer(dkey + at.key, a->k_row, datt, query, n, a->dk);
            if (a->dropout.rate > 0) isa->dropout(att, att, mask, n);
            isa->outer(dv + at.v, a->v_row, att, dto, n, a->dv);
        }
    }
    team_barrier(k);
}
