/* reference.c - written to be read, not to be fast: every sum is a loop, every step an array. */
#include "tests/reference.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *zeros(int count) {
    double *numbers = calloc((size_t)count, sizeof *numbers);
    assert(numbers);
    return numbers;
}

void reference_open(Reference *reference, const Model *model) {
    reference->model = model;
    reference->weights = zeros((int)model->room);
    for (size_t i = 0; i < model->room; i++) reference->weights[i] = (double)model->weights[i];
}

void reference_close(Reference *reference) {
    free(reference->weights);
}

/* A tensor by its name, in which %d stands for the layer. */
static const double *tensor(const Reference *reference, const char *pattern, int layer) {
    char name[64];
    const char *mark = strstr(pattern, "%d");
    if (mark)
        snprintf(name, sizeof name, "%.*s%d%s", (int)(mark - pattern), pattern, layer, mark + 2);
    else
        snprintf(name, sizeof name, "%s", pattern);
    const Model *model = reference->model;
    for (int i = 0; i < model->tensor_count; i++)
        if (strcmp(model->tensors[i].name, name) == 0)
            return reference->weights + model->tensors[i].offset;
    fprintf(stderr, "no tensor %s\n", name);
    abort();
}

/* x[T,C] of one sequence: wte[id] + wpe[t] */
static double *embed(const int32_t *ids, const double *wte, const double *wpe, int T, int C) {
    double *x = zeros(T * C);
    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++) x[t * C + c] = wte[ids[t] * C + c] + wpe[t * C + c];
    return x;
}

/* y[T,OC] = x[T,C] w[OC,C]^T + b */
static double *linear(const double *x, const double *w, const double *b, int T, int C, int OC) {
    double *y = zeros(T * OC);
    for (int t = 0; t < T; t++)
        for (int o = 0; o < OC; o++) {
            y[t * OC + o] = b ? b[o] : 0;
            for (int c = 0; c < C; c++) y[t * OC + o] += x[t * C + c] * w[o * C + c];
        }
    return y;
}

/* out[T,C] of NH heads; q, k, v[T,C] */
static double *attend(const double *q, const double *k, const double *v, int T, int C, int NH) {
    double *out = zeros(T * C), *att = zeros(T);
    int hs = C / NH;
    for (int h = 0; h < NH; h++)
        for (int t = 0; t < T; t++) {
            double sum = 0;
            for (int s = 0; s <= t; s++) {
                double score = 0;
                for (int c = h * hs; c < (h + 1) * hs; c++) score += q[t * C + c] * k[s * C + c];
                att[s] = exp(score / sqrt(hs));
                sum += att[s];
            }
            for (int s = 0; s <= t; s++)
                for (int c = h * hs; c < (h + 1) * hs; c++)
                    out[t * C + c] += att[s] / sum * v[s * C + c];
        }
    free(att);
    return out;
}

/* Columns from `first` on of a matrix with `width` columns: a copy of C of them. */
static double *columns(const double *x, int T, int width, int first, int C) {
    double *y = zeros(T * C);
    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++) y[t * C + c] = x[t * width + first + c];
    return y;
}

static double *attend_fused(const double *qkv, int T, int C, int NH) {
    double *q = columns(qkv, T, 3 * C, 0, C), *k = columns(qkv, T, 3 * C, C, C);
    double *v = columns(qkv, T, 3 * C, 2 * C, C);
    double *out = attend(q, k, v, T, C, NH);
    free(q);
    free(k);
    free(v);
    return out;
}

static double *layernorm(const double *x, const double *w, const double *b, int T, int C) {
    double *y = zeros(T * C);
    for (int t = 0; t < T; t++) {
        double mean = 0, variance = 0;
        for (int c = 0; c < C; c++) mean += x[t * C + c] / C;
        for (int c = 0; c < C; c++) variance += pow(x[t * C + c] - mean, 2) / C;
        for (int c = 0; c < C; c++)
            y[t * C + c] = (x[t * C + c] - mean) / sqrt(variance + 1e-5) * w[c] + b[c];
    }
    return y;
}

static void gelu(double *x, int n) {
    for (int i = 0; i < n; i++)
        x[i] *= 0.5 * (1 + tanh(sqrt(2 / acos(-1.0)) * (x[i] + 0.044715 * pow(x[i], 3))));
}

/* x += y, and y is no longer needed. */
static void take_in(double *x, double *y, int n) {
    for (int i = 0; i < n; i++) x[i] += y[i];
    free(y);
}

/* ---- the rungs: the logits[T,V] of one sequence ---- */

static double *bigram(const Reference *r, const int32_t *ids, int T) {
    int V = r->model->config.V;
    const double *table = tensor(r, "token_embedding_table.weight", 0);
    double *logits = zeros(T * V);
    for (int t = 0; t < T; t++)
        for (int v = 0; v < V; v++) logits[t * V + v] = table[ids[t] * V + v];
    return logits;
}

static double *embed_tokens(const Reference *r, const int32_t *ids, int T) {
    return embed(ids, tensor(r, "token_embedding_table.weight", 0),
                 tensor(r, "position_embedding_table.weight", 0), T, r->model->config.C);
}

/* The linear head of the rungs below gpt; frees y. */
static double *read_out(const Reference *r, double *y, int T) {
    double *logits = linear(y, tensor(r, "lm_head.weight", 0), tensor(r, "lm_head.bias", 0), T,
                            r->model->config.C, r->model->config.V);
    free(y);
    return logits;
}

static double *average(const Reference *r, const int32_t *ids, int T) {
    int C = r->model->config.C;
    double *x = embed_tokens(r, ids, T), *mean = zeros(T * C);
    for (int t = 0; t < T; t++)
        for (int s = 0; s <= t; s++)
            for (int c = 0; c < C; c++) mean[t * C + c] += x[s * C + c] / (t + 1);
    take_in(x,
            linear(mean, tensor(r, "mean.proj.weight", 0), tensor(r, "mean.proj.bias", 0), T, C, C),
            T * C);
    free(mean);
    return read_out(r, x, T);
}

static double *head(const Reference *r, const int32_t *ids, int T) {
    int C = r->model->config.C;
    double *x = embed_tokens(r, ids, T);
    double *q = linear(x, tensor(r, "sa_head.query.weight", 0), NULL, T, C, C);
    double *k = linear(x, tensor(r, "sa_head.key.weight", 0), NULL, T, C, C);
    double *v = linear(x, tensor(r, "sa_head.value.weight", 0), NULL, T, C, C);
    double *att = attend(q, k, v, T, C, 1);
    take_in(x,
            linear(att, tensor(r, "sa_head.proj.weight", 0), tensor(r, "sa_head.proj.bias", 0), T,
                   C, C),
            T * C);
    free(q);
    free(k);
    free(v);
    free(att);
    return read_out(r, x, T);
}

static double *multihead(const Reference *r, const int32_t *ids, int T) {
    int C = r->model->config.C;
    double *x = embed_tokens(r, ids, T);
    double *qkv = linear(x, tensor(r, "sa_heads.qkv.weight", 0), NULL, T, C, 3 * C);
    double *att = attend_fused(qkv, T, C, r->model->config.NH);
    take_in(x,
            linear(att, tensor(r, "sa_heads.proj.weight", 0), tensor(r, "sa_heads.proj.bias", 0), T,
                   C, C),
            T * C);
    free(qkv);
    free(att);
    return read_out(r, x, T);
}

static void gpt_block(const Reference *r, double *x, int l, int T) {
    int C = r->model->config.C;
#define H(name) tensor(r, "transformer.h.%d." name, l)
    double *ln1 = layernorm(x, H("ln_1.weight"), H("ln_1.bias"), T, C);
    double *qkv = linear(ln1, H("attn.c_attn.weight"), H("attn.c_attn.bias"), T, C, 3 * C);
    double *att = attend_fused(qkv, T, C, r->model->config.NH);
    take_in(x, linear(att, H("attn.c_proj.weight"), H("attn.c_proj.bias"), T, C, C), T * C);
    double *ln2 = layernorm(x, H("ln_2.weight"), H("ln_2.bias"), T, C);
    double *fc = linear(ln2, H("mlp.c_fc.weight"), H("mlp.c_fc.bias"), T, C, 4 * C);
    gelu(fc, T * 4 * C);
    take_in(x, linear(fc, H("mlp.c_proj.weight"), H("mlp.c_proj.bias"), T, 4 * C, C), T * C);
#undef H
    free(ln1);
    free(qkv);
    free(att);
    free(ln2);
    free(fc);
}

static double *gpt(const Reference *r, const int32_t *ids, int T) {
    Config c = r->model->config;
    const double *wte = tensor(r, "transformer.wte.weight", 0);
    double *x = embed(ids, wte, tensor(r, "transformer.wpe.weight", 0), T, c.C);
    for (int l = 0; l < c.L; l++) gpt_block(r, x, l, T);
    double *lnf = layernorm(x, tensor(r, "transformer.ln_f.weight", 0),
                            tensor(r, "transformer.ln_f.bias", 0), T, c.C);
    double *logits = linear(lnf, wte, NULL, T, c.C, c.V);
    free(x);
    free(lnf);
    return logits;
}

static double *rmsnorm(const double *x, const double *w, int rows, int C) {
    double *y = zeros(rows * C);
    for (int t = 0; t < rows; t++) {
        double square = 0;
        for (int c = 0; c < C; c++) square += x[t * C + c] * x[t * C + c] / C;
        for (int c = 0; c < C; c++) y[t * C + c] = x[t * C + c] / sqrt(square + 1e-6) * w[c];
    }
    return y;
}

/* Queries or keys: a projection, a norm of each head, a turn of pairs by position. */
static double *rotary(const double *x, const double *w, const double *gain, int T, int C, int NH) {
    int hs = C / NH;
    double *raw = linear(x, w, NULL, T, C, C), *y = rmsnorm(raw, gain, T * NH, hs);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < NH; h++)
            for (int i = 0; i < hs / 2; i++) {
                double *first = &y[t * C + h * hs + i], *second = first + hs / 2;
                double angle = t * pow(10000, -2.0 * i / hs), kept = *first;
                *first = kept * cos(angle) - *second * sin(angle);
                *second = *second * cos(angle) + kept * sin(angle);
            }
    free(raw);
    return y;
}

static void modern_block(const Reference *r, double *x, int l, int T) {
    int C = r->model->config.C, NH = r->model->config.NH, H = (8 * C + 95) / 96 * 32;
#define L(name) tensor(r, "model.layers.%d." name ".weight", l)
    double *norm = rmsnorm(x, L("input_layernorm"), T, C);
    double *q = rotary(norm, L("self_attn.q_proj"), L("self_attn.q_norm"), T, C, NH);
    double *k = rotary(norm, L("self_attn.k_proj"), L("self_attn.k_norm"), T, C, NH);
    double *v = linear(norm, L("self_attn.v_proj"), NULL, T, C, C);
    double *att = attend(q, k, v, T, C, NH);
    take_in(x, linear(att, L("self_attn.o_proj"), NULL, T, C, C), T * C);
    double *norm2 = rmsnorm(x, L("post_attention_layernorm"), T, C);
    double *gate = linear(norm2, L("mlp.gate_proj"), NULL, T, C, H);
    double *up = linear(norm2, L("mlp.up_proj"), NULL, T, C, H);
    for (int i = 0; i < T * H; i++) gate[i] = gate[i] / (1 + exp(-gate[i])) * up[i];
    take_in(x, linear(gate, L("mlp.down_proj"), NULL, T, H, C), T * C);
#undef L
    free(norm);
    free(q);
    free(k);
    free(v);
    free(att);
    free(norm2);
    free(gate);
    free(up);
}

static double *modern(const Reference *r, const int32_t *ids, int T) {
    Config c = r->model->config;
    const double *table = tensor(r, "model.embed_tokens.weight", 0);
    double *x = zeros(T * c.C);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < c.C; i++) x[t * c.C + i] = table[ids[t] * c.C + i];
    for (int l = 0; l < c.L; l++) modern_block(r, x, l, T);
    double *norm = rmsnorm(x, tensor(r, "model.norm.weight", 0), T, c.C);
    double *logits = linear(norm, table, NULL, T, c.C, c.V);
    free(x);
    free(norm);
    return logits;
}

typedef double *Logits(const Reference *, const int32_t *, int);

static Logits *logits_of(const char *rung) {
    static const struct {
        const char *name;
        Logits *logits;
    } rungs[] = {{"bigram", bigram},       {"average", average}, {"head", head},
                 {"multihead", multihead}, {"gpt", gpt},         {"modern", modern}};
    for (size_t i = 0; i < sizeof rungs / sizeof *rungs; i++)
        if (strcmp(rungs[i].name, rung) == 0) return rungs[i].logits;
    return NULL;
}

bool reference_knows(const char *rung) {
    return logits_of(rung);
}

void reference_logits(const Reference *reference, const int32_t *ids, int B, int T,
                      double *logits) {
    int V = reference->model->config.V;
    for (int b = 0; b < B; b++) {
        double *one = logits_of(reference->model->config.model)(reference, ids + b * T, T);
        memcpy(logits + b * T * V, one, (size_t)(T * V) * sizeof *one);
        free(one);
    }
}

double reference_loss(const Reference *reference, const int32_t *ids, const int32_t *targets, int B,
                      int T) {
    int V = reference->model->config.V;
    double *logits = zeros(B * T * V), total = 0;
    reference_logits(reference, ids, B, T, logits);
    for (int n = 0; n < B * T; n++) {
        double sum = 0;
        for (int v = 0; v < V; v++) sum += exp(logits[n * V + v]);
        total += log(sum) - logits[n * V + targets[n]];
    }
    free(logits);
    return total / (B * T);
}
