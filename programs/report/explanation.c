#include "programs/report/explanation.h"
#include "base/memory.h"

#include <stdio.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

bool line_is(const TrilLine *line, const char *operation) {
    return strcmp(line->operation, operation) == 0;
}

bool line_has_heads(const TrilLine *line) {
    return line_is(line, "attention");
}

bool line_reads_past(const TrilLine *line) {
    return line_has_heads(line) || line_is(line, "mean");
}

int line_heads(const TrilLine *line) {
    return line->heads > 0 ? line->heads : 1;
}

int line_sharing(const TrilLine *line) {
    return line_has_heads(line) ? line->inputs[QUERY].width / line->inputs[KEY].width : 1;
}

const float *line_row(const TrilArray *array, int t) {
    return array->data + (size_t)t * array->row;
}

TrilArray line_of_head(const TrilLine *line, int role, int head) {
    TrilArray array = line->inputs[line_has_heads(line) ? role : 0];
    int sharing = role == QUERY ? 1 : line_sharing(line);
    int size = array.width / (line_heads(line) / sharing), from = head / sharing * size;
    array.offset += from;
    array.data += from;
    array.width = size;
    return array;
}

int explanation_maker(const Explanation *e, int array) {
    for (int i = 0; i < e->line_count && array > 0; i++)
        if (e->lines[i].output.number == array) return i;
    return -1;
}

int explanation_reader(const Explanation *e, int array) {
    for (int i = 0; i < e->line_count && array > 0; i++)
        for (int j = 0; j < TRIL_LINE_INPUTS; j++)
            if (e->lines[i].inputs[j].number == array) return i;
    return -1;
}

/* ---- the residual stream ---- */

static bool read_lines(Explanation *e, Error *err) {
    TrilLine line;
    while (tril_reading_line(e->reading, e->line_count, &line)) e->line_count++;
    size_t count = (size_t)e->line_count;
    if (!memory_alloc(&e->lines, count, sizeof *e->lines, "the explanation", err) ||
        !memory_alloc(&e->branches, count, sizeof *e->branches, "the explanation", err))
        return false;
    for (int i = 0; i < e->line_count; i++) tril_reading_line(e->reading, i, &e->lines[i]);
    return true;
}

/* Follows the stream from the embedding through its sums. */
static void find_branches(Explanation *e) {
    int stream = e->lines[0].output.number;
    bool past = false; /* since the last sum */
    e->tail = 1;
    for (int i = 1; i < e->line_count; i++) {
        const TrilLine *line = &e->lines[i];
        bool left = line->inputs[0].number == stream, right = line->inputs[1].number == stream;
        past = past || line_reads_past(line);
        if (!line_is(line, "add") || left == right) continue;
        e->branches[e->branch_count++] = (Branch){.layer = line->layer,
                                                  .added = line->inputs[left ? 1 : 0],
                                                  .after = line->output,
                                                  .reads_past = past};
        stream = line->output.number;
        e->tail = i + 1;
        past = false;
    }
}

/* ---- the next character ---- */

static double log_sum(const float *logits, int V) {
    float largest = -INFINITY;
    double sum = 0;
    for (int v = 0; v < V; v++) largest = fmaxf(largest, logits[v]);
    for (int v = 0; v < V; v++) sum += exp((double)logits[v] - (double)largest);
    return (double)largest + log(sum);
}

/* True if a is likelier than b or, if both are equal, comes before it. */
static bool precedes(const float *logits, int a, int b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
}

static void rank(Explanation *e) {
    e->log_sum = log_sum(e->logits, e->V);
    e->likeliest_count = e->V < LIKELIEST ? e->V : LIKELIEST;
    for (int i = 0, before = -1; i < e->likeliest_count; i++) {
        int best = -1;
        for (int v = 0; v < e->V; v++)
            if ((before < 0 || precedes(e->logits, before, v)) &&
                (best < 0 || precedes(e->logits, v, best)))
                best = v;
        if (best < 0) best = i; /* NaN */
        if (i == 0) e->first = best;
        e->likeliest[i].logit = (double)e->logits[best];
        e->likeliest[i].value = exp((double)e->logits[best] - e->log_sum);
        snprintf(e->likeliest[i].label, sizeof e->likeliest[i].label, "%s",
                 glyph_padded(e->tokenizer, best).text);
        before = best;
    }
}

/* ---- the logit lens ---- */

/* Returns the width of the widest array of the tail. */
static size_t widest(const Explanation *e) {
    int width = e->lines[0].output.width;
    for (int i = e->tail; i < e->line_count; i++)
        if (e->lines[i].output.width > width) width = e->lines[i].output.width;
    return (size_t)width;
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

static bool look(Explanation *e, float *x, float *y) {
    for (int i = 0; i <= e->branch_count; i++) {
        const Branch *b = i > 0 ? &e->branches[i - 1] : NULL;
        const TrilArray *state = b ? &b->after : &e->lines[0].output;
        memcpy(x, line_row(state, e->T - 1), (size_t)state->width * sizeof *x);
        const float *logits = apply_tail(e, x, y);
        if (!logits) return false;
        int top = 0;
        for (int v = 1; v < e->V; v++)
            if (logits[v] > logits[top]) top = v;
        e->lens[i].value = exp((double)logits[e->first] - log_sum(logits, e->V));
        Glyph glyph = glyph_padded(e->tokenizer, top);
        if (b)
            snprintf(e->lens[i].label, BAR_LABEL, "%s %s %d", glyph.text,
                     b->reads_past ? "attn" : "MLP", b->layer);
        else
            snprintf(e->lens[i].label, BAR_LABEL, "%s embed", glyph.text);
    }
    return true;
}

/* ---- parts ---- */

/* Returns what a norm multiplies the last character's x by, less its mean: 1 / the standard
 * deviation. */
static double scale_of(const TrilLine *line, int last) {
    const bool centred = line_is(line, "layernorm");
    const float *x = line_row(&line->inputs[0], last);
    const int n = line->inputs[0].width;
    double mean = 0, variance = 0;
    for (int c = 0; c < n && centred; c++) mean += (double)x[c] / n;
    for (int c = 0; c < n; c++) variance += ((double)x[c] - mean) * ((double)x[c] - mean) / n;
    return 1 / sqrt(variance + (centred ? 1e-5 : 1e-6));
}

/* Computes the gradient of the likeliest character's logit, above the mean of all logits, in the
 * stream; through the norms as if they divided by a constant. g [widest] is written, d [widest] is
 * scratch. Adds what the biases on the way add to *biases; returns whether there are any. */
static bool pull_back(const Explanation *e, double *g, double *d, double *biases) {
    bool any = false;
    for (int v = 0; v < e->V; v++) g[v] = (v == e->first) - 1.0 / e->V;
    for (int i = e->line_count - 1; i >= e->tail; i--) {
        const TrilLine *line = &e->lines[i];
        const float *w = line->weights[0].data, *b = line->weights[1].data;
        int in = line->inputs[0].width, out = line->output.width;
        for (int o = 0; o < out && b; o++) *biases += g[o] * (double)b[o];
        any = any || b;
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
    return any;
}

static double dot(const double *g, const float *x, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += g[i] * (double)x[i];
    return sum;
}

__attribute__((format(printf, 5, 6))) static void add_part(Explanation *e, int layer, int head,
                                                           double logit, const char *name, ...) {
    Part *part = &e->parts[e->part_count++];
    *part = (Part){.bar.value = logit, .layer = layer, .head = head};
    va_list arguments;
    va_start(arguments, name);
    vsnprintf(part->bar.label, BAR_LABEL, name, arguments);
    va_end(arguments);
}

static void add_embedding(Explanation *e, const double *g) {
    const TrilLine *line = &e->lines[0];
    int C = line->output.width, last = e->T - 1;
    const float *tokens = line->weights[0].data, *positions = line->weights[1].data;
    double own = dot(g, tokens + (size_t)e->ids[last] * (size_t)C, C);
    add_part(e, -1, -1, own, positions ? "embed wte" : "embed");
    if (positions)
        add_part(e, -1, -1, dot(g, positions + (size_t)last * (size_t)C, C), "embed wpe");
}

/* Adds a branch: one that is the projection of attention or of a mean by its heads, which share the
 * columns of the projection. */
static void add_branch(Explanation *e, const Branch *b, const double *g) {
    const int last = e->T - 1, out = b->added.width, linear = explanation_maker(e, b->added.number);
    const TrilLine *projection = linear < 0 ? NULL : &e->lines[linear];
    const int maker = projection && line_is(projection, "linear")
                          ? explanation_maker(e, projection->inputs[0].number)
                          : -1;
    if (maker < 0 || !line_reads_past(&e->lines[maker])) {
        add_part(e, b->layer, -1, dot(g, line_row(&b->added, last), out), "%s %d",
                 b->reads_past ? "attn" : "MLP", b->layer);
        return;
    }
    const TrilLine *past = &e->lines[maker];
    const float *w = projection->weights[0].data, *bias = projection->weights[1].data;
    const float *context = line_row(&past->output, last);
    const int heads = line_heads(past), in = past->output.width, size = in / heads;
    for (int h = 0; h < heads; h++) {
        double sum = 0;
        for (int o = 0; o < out; o++)
            for (int i = h * size; i < (h + 1) * size; i++)
                sum += g[o] * (double)w[(size_t)o * (size_t)in + (size_t)i] * (double)context[i];
        if (line_has_heads(past))
            add_part(e, b->layer, h, sum, "head %d.%d", b->layer, h);
        else
            add_part(e, b->layer, h, sum, "mean %d", b->layer);
    }
    if (bias) add_part(e, b->layer, -1, dot(g, bias, out), "bias %d", b->layer);
}

static int compare_parts(const void *one, const void *other) {
    const Part *a = one, *b = other;
    double x = fabs(a->bar.value), y = fabs(b->bar.value);
    return (x < y) - (x > y);
}

static void divide(Explanation *e, double *g, double *scratch) {
    double biases = 0, mean = 0;
    bool any = pull_back(e, g, scratch, &biases);
    add_embedding(e, g);
    for (int i = 0; i < e->branch_count; i++) add_branch(e, &e->branches[i], g);
    if (any) add_part(e, -1, -1, biases, "end biases");
    for (int v = 0; v < e->V; v++) mean += (double)e->logits[v] / e->V;
    e->above_mean = (double)e->logits[e->first] - mean;
    qsort(e->parts, (size_t)e->part_count, sizeof *e->parts, compare_parts);
}

/* Fills the lens and the parts. */
static bool trace(Explanation *e, Error *err) {
    size_t states = (size_t)e->branch_count + 1, width = widest(e), parts = 3;
    float *x = NULL, *y = NULL;
    double *g = NULL, *d = NULL;
    for (int i = 0; i < e->line_count; i++) /* a part for each branch, or its heads, and its bias */
        parts += 2 + (size_t)line_heads(&e->lines[i]);
    bool ok = memory_alloc(&e->lens, states, sizeof *e->lens, "the lens", err) &&
              memory_alloc(&e->parts, parts, sizeof *e->parts, "the lens", err) &&
              memory_alloc(&x, width, sizeof *x, "the lens", err) &&
              memory_alloc(&y, width, sizeof *y, "the lens", err) &&
              memory_alloc(&g, width, sizeof *g, "the lens", err) &&
              memory_alloc(&d, width, sizeof *d, "the lens", err);
    if (ok && line_is(&e->lines[0], "embedding") && e->branch_count > 0 && look(e, x, y)) {
        divide(e, g, d);
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

/* ---- all ---- */

bool explanation_open(Explanation *e, const TrilModel *model, const TrilReading *reading,
                      Error *err) {
    const TrilTokenizer *tokenizer = tril_model_tokenizer(model);
    const int V = tril_tokenizer_size(tokenizer), T = tril_reading_tokens(reading);
    *e = (Explanation){.sizes = tril_model_sizes(model),
                       .tokenizer = tokenizer,
                       .reading = reading,
                       .ids = tril_reading_ids(reading),
                       .T = T,
                       .V = V,
                       .logits = tril_reading_logits(reading) + (size_t)(T - 1) * (size_t)V};
    rank(e);
    bool ok = read_lines(e, err);
    if (ok) find_branches(e);
    ok = ok && trace(e, err);
    if (!ok) explanation_close(e);
    return ok;
}

void explanation_close(Explanation *e) {
    memory_free(e->lines);
    memory_free(e->branches);
    memory_free(e->lens);
    memory_free(e->parts);
    *e = (Explanation){0};
}
