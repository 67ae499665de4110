/* explanation_trace.c - how the prediction grows along the residual stream: the logits after each
 * branch, and what each part of the model adds to the logit of the likeliest character. */
#include "programs/report/explanation.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the logit lens ---- */

/* The widest array of the tail. */
static size_t widest(const Explanation *e) {
    size_t width = (size_t)e->lines[0].output.width;
    for (int i = e->tail; i < e->line_count; i++)
        if ((size_t)e->lines[i].output.width > width) width = (size_t)e->lines[i].output.width;
    return width;
}

/* Computes the tail on a state x of the stream, which it overwrites; y is scratch. NULL: the tail
 * is no chain of linear layers and norms. */
static const float *apply_tail(const Explanation *e, float *x, float *y) {
    for (int i = e->tail; i < e->line_count; i++) {
        bool chain = e->lines[i].inputs[0].number == e->lines[i - 1].output.number;
        if (!chain || e->lines[i].heads > 1 || !tril_reading_apply(e->reading, i, x, y))
            return NULL;
        float *read = x;
        x = y;
        y = read;
    }
    return x;
}

/* The stream after `branch` branches. */
static const TrilArray *state_of(const Explanation *e, int branch) {
    return branch ? &e->branches[branch - 1].after : &e->lines[0].output;
}

static bool look(Explanation *e, float *x, float *y) {
    for (int b = 0; b <= e->branch_count; b++) {
        const TrilArray *state = state_of(e, b);
        memcpy(x, line_row(state, e->T - 1), (size_t)state->width * sizeof *x);
        const float *logits = apply_tail(e, x, y);
        if (!logits) return false;
        explanation_softmax(logits, e->V, e->lens + (size_t)b * (size_t)e->V);
    }
    return true;
}

/* ---- parts ---- */

/* What a norm multiplies the last character's x by, less its mean: 1 / the standard deviation. */
static double scale_of(const TrilLine *line, int last) {
    const bool centred = line_is(line, "layernorm");
    const float *x = line_row(&line->inputs[0], last);
    const int n = line->inputs[0].width;
    double mean = 0, variance = 0;
    for (int c = 0; c < n && centred; c++) mean += (double)x[c] / n;
    for (int c = 0; c < n; c++) variance += ((double)x[c] - mean) * ((double)x[c] - mean) / n;
    return 1 / sqrt(variance + (centred ? 1e-5 : 1e-6));
}

/* The gradient of the likeliest character's logit, above the mean of all logits, in the stream;
 * through the norms as if they divided by a constant. g [widest] is written, d [widest] is scratch.
 * Returns what the biases on the way add. */
static double pull_back(const Explanation *e, double *g, double *d) {
    double biases = 0;
    for (int v = 0; v < e->V; v++) g[v] = (v == e->order[0]) - 1.0 / e->V;
    for (int i = e->line_count - 1; i >= e->tail; i--) {
        const TrilLine *line = &e->lines[i];
        const float *w = line->weights[0].data, *b = line->weights[1].data;
        int in = line->inputs[0].width, out = line->output.width;
        for (int o = 0; o < out && b; o++) biases += g[o] * (double)b[o];
        memcpy(d, g, (size_t)out * sizeof *d);
        if (line_is(line, "linear")) {
            memset(g, 0, (size_t)in * sizeof *g);
            for (size_t o = 0; o < (size_t)out; o++)
                for (size_t c = 0; c < (size_t)in; c++)
                    g[c] += d[o] * (double)w[o * (size_t)in + c];
        } else {
            bool centred = line_is(line, "layernorm");
            double scale = scale_of(line, e->T - 1), mean = 0;
            for (int c = 0; c < in; c++) mean += (g[c] = scale * (double)w[c] * d[c]) / in;
            for (int c = 0; c < in && centred; c++) g[c] -= mean;
        }
    }
    return biases;
}

static double dot(const double *g, const float *x, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += g[i] * (double)x[i];
    return sum;
}

static void add_part(Explanation *e, const char *name, int layer, int head, double logit) {
    Part *part = &e->parts[e->part_count++];
    *part = (Part){.layer = layer, .head = head, .logit = logit};
    snprintf(part->name, sizeof part->name, "%s", name);
}

static void add_embedding(Explanation *e, const double *g) {
    const TrilLine *line = &e->lines[0];
    int C = line->output.width, last = e->T - 1;
    const float *tokens = line->weights[0].data, *positions = line->weights[1].data;
    size_t id = (size_t)e->ids[last];
    add_part(e, positions ? "embed wte" : "embed", -1, -1, dot(g, tokens + id * (size_t)C, C));
    if (positions)
        add_part(e, "embed wpe", -1, -1, dot(g, positions + (size_t)last * (size_t)C, C));
}

/* The heads share the columns of the projection: each is multiplied by its own. */
static void add_heads(Explanation *e, const Branch *b, const double *g) {
    const TrilLine *past = &e->lines[b->attention], *linear = &e->lines[b->projection];
    const float *w = linear->weights[0].data, *bias = linear->weights[1].data;
    const float *context = line_row(&past->output, e->T - 1);
    int heads = line_heads(past), in = past->output.width, out = b->added.width;
    int size = in / heads;
    char name[PART_NAME];
    for (int h = 0; h < heads; h++) {
        double sum = 0;
        for (int o = 0; o < out; o++)
            for (int i = h * size; i < (h + 1) * size; i++)
                sum += g[o] * (double)w[(size_t)o * (size_t)in + (size_t)i] * (double)context[i];
        if (line_is(past, "mean"))
            snprintf(name, sizeof name, "mean %d", b->layer);
        else
            snprintf(name, sizeof name, "head %d.%d", b->layer, h);
        add_part(e, name, b->layer, h, sum);
    }
    snprintf(name, sizeof name, "bias %d", b->layer);
    if (bias) add_part(e, name, b->layer, -1, dot(g, bias, out));
}

static void add_branch(Explanation *e, const Branch *b, const double *g) {
    char name[PART_NAME];
    snprintf(name, sizeof name, "%s %d", b->reads_past ? "attn" : "MLP", b->layer);
    add_part(e, name, b->layer, -1, dot(g, line_row(&b->added, e->T - 1), b->added.width));
}

static void divide(Explanation *e, double *g, double *scratch) {
    double biases = pull_back(e, g, scratch), mean = 0;
    add_embedding(e, g);
    for (int i = 0; i < e->branch_count; i++)
        if (e->branches[i].attention >= 0)
            add_heads(e, &e->branches[i], g);
        else
            add_branch(e, &e->branches[i], g);
    bool any = false;
    for (int i = e->tail; i < e->line_count; i++) any = any || e->lines[i].weights[1].data;
    if (any) add_part(e, "end biases", -1, -1, biases);
    for (int v = 0; v < e->V; v++) mean += (double)e->logits[v] / e->V;
    e->above_mean = (double)e->logits[e->order[0]] - mean;
}

static int compare_parts(const void *one, const void *other) {
    const Part *a = one, *b = other;
    double x = fabs(a->logit), y = fabs(b->logit);
    return (x < y) - (x > y);
}

static int count_parts(const Explanation *e) {
    int count = 3;
    for (int i = 0; i < e->branch_count; i++)
        count +=
            e->branches[i].attention < 0 ? 1 : line_heads(&e->lines[e->branches[i].attention]) + 1;
    return count;
}

bool explanation_trace(Explanation *e, Error *err) {
    size_t states = (size_t)e->branch_count + 1, width = widest(e);
    float *x = NULL, *y = NULL;
    double *g = NULL, *d = NULL;
    bool ok = memory_alloc(&e->lens, states * (size_t)e->V, sizeof(double), "the lens", err) &&
              memory_alloc(&e->parts, (size_t)count_parts(e), sizeof(Part), "the lens", err) &&
              memory_alloc(&x, width, sizeof *x, "the lens", err) &&
              memory_alloc(&y, width, sizeof *y, "the lens", err) &&
              memory_alloc(&g, width, sizeof *g, "the lens", err) &&
              memory_alloc(&d, width, sizeof *d, "the lens", err);
    if (ok && line_is(&e->lines[0], "embedding") && e->branch_count > 0 && look(e, x, y)) {
        divide(e, g, d);
        qsort(e->parts, (size_t)e->part_count, sizeof *e->parts, compare_parts);
    } else {
        memory_free(e->lens);
        e->lens = NULL;
    }
    memory_free(x);
    memory_free(y);
    memory_free(g);
    memory_free(d);
    return ok;
}
