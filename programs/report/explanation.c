#include "programs/report/explanation.h"
#include "base/array.h"
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
    for (int i = 0; i < e->line_count; i++)
        if (e->lines[i].output.number == array) return i;
    return NO_LINE;
}

int explanation_reader(const Explanation *e, int array) {
    for (int i = 0; i < e->line_count && array > 0; i++)
        for (int j = 0; j < TRIL_LINE_INPUTS; j++)
            if (e->lines[i].inputs[j].number == array) return i;
    return NO_LINE;
}

bool explanation_reads_counts(const Explanation *e, int i) {
    const int maker = i < 0 ? NO_LINE : explanation_maker(e, e->lines[i].inputs[0].number);
    return maker >= 0 && line_is(&e->lines[maker], "counted");
}

bool explanation_trusts(const Explanation *e, int i) {
    return e->trusted && e->lines[i].output.number == e->trusted->inputs[1].number;
}

/* Follows the residual stream from the embedding through its sums. */
static void find_branches(Explanation *e) {
    bool past = false; /* since the last sum */
    for (int i = e->line_count - 1; i >= 0; i--) {
        if (line_is(&e->lines[i], "embedding")) e->embedding = i;
        if (line_is(&e->lines[i], "trusted")) e->trusted = &e->lines[i];
    }
    int stream = e->lines[e->embedding].output.number;
    e->begin = e->tail = e->embedding + 1;
    for (int i = e->begin; i < e->line_count; i++) {
        const TrilLine *line = &e->lines[i];
        bool left = line->inputs[0].number == stream, right = line->inputs[1].number == stream;
        past = past || line->attends;
        if (!line_is(line, "add") || left == right) continue;
        const TrilArray added = line->inputs[left ? 1 : 0];
        const bool counts = explanation_reads_counts(e, explanation_maker(e, added.number));
        e->branches[e->branch_count++] =
            (Branch){counts ? NO_LAYER : line->layer, added, line->output, past};
        stream = line->output.number;
        e->tail = i + 1;
        if (counts) e->begin = i + 1;
        past = false;
    }
}

/* Writes the name of a branch. */
static void name_branch(const Branch *b, char name[BAR_LABEL]) {
    if (b->layer < 0)
        snprintf(name, BAR_LABEL, "count vectors");
    else
        snprintf(name, BAR_LABEL, "%s %d", b->reads_past ? "attn" : "MLP", b->layer);
}

/* ---- the next character ---- */

static Ranking rank(const float *logits, int V) {
    Ranking r = {.count = min_int(V, LIKELIEST)};
    /* values after v move down; among equal ones the first stays first */
    for (int v = 0; v < V; v++) {
        int at = min_int(v, LIKELIEST);
        for (; at > 0 && logits[v] > logits[r.ids[at - 1]]; at--)
            if (at < LIKELIEST) r.ids[at] = r.ids[at - 1];
        if (at < LIKELIEST) r.ids[at] = v;
    }
    const double largest = (double)logits[r.ids[0]];
    for (int v = 0; v < V; v++) r.log_sum += exp((double)logits[v] - largest);
    r.log_sum = largest + log(r.log_sum);
    return r;
}

Ranking ranking(const TrilTokenizer *tokenizer, const float *logits) {
    Ranking r = rank(logits, tril_tokenizer_size(tokenizer));
    for (int i = 0; i < r.count; i++) {
        const double logit = (double)logits[r.ids[i]];
        r.bars[i] = (Bar){.value = exp(logit - r.log_sum), .logit = logit};
        snprintf(r.bars[i].label, BAR_LABEL, "%s", glyph_padded(tokenizer, r.ids[i]).text);
    }
    return r;
}

Ranking ranking_of(const Explained *model) {
    const TrilTokenizer *tokenizer = tril_model_tokenizer(model->model);
    const size_t last = (size_t)tril_reading_tokens(model->reading) - 1;
    return ranking(tokenizer, tril_reading_logits(model->reading) +
                                  last * (size_t)tril_tokenizer_size(tokenizer));
}

/* ---- linear layers and norms, and their gradients ---- */

/* Computes the output y of a linear layer for another input x. */
static void push_linear(const TrilLine *line, const float *x, float *y) {
    const int in = line->inputs[0].width, out = line->output.width;
    const float *w = line->weights[0].data, *bias = line->weights[1].data;
    for (int o = 0; o < out; o++, w += in) {
        double sum = bias ? (double)bias[o] : 0;
        for (int c = 0; c < in; c++) sum += (double)w[c] * (double)x[c];
        y[o] = (float)sum;
    }
}

/* Computes the gradient g of a linear layer's input from d, that of its output. */
static void pull_linear(const TrilLine *line, const double *d, double *g) {
    const int in = line->inputs[0].width, out = line->output.width;
    const float *w = line->weights[0].data;
    for (int c = 0; c < in; c++) g[c] = 0;
    for (int o = 0; o < out; o++, w += in)
        for (int c = 0; c < in; c++) g[c] += d[o] * (double)w[c];
}

/* Returns the divisor of a norm for an input x. Sets *mean to the number that it subtracts. */
static double deviation_of(const TrilLine *line, const float *x, double *mean) {
    const bool centered = line_is(line, "layernorm");
    const int n = line->inputs[0].width;
    double variance = centered ? 1e-5 : 1e-6;
    *mean = 0;
    for (int c = 0; c < n && centered; c++) *mean += (double)x[c] / n;
    for (int c = 0; c < n; c++) variance += ((double)x[c] - *mean) * ((double)x[c] - *mean) / n;
    return sqrt(variance);
}

/* Computes the output y of a norm for another input x. */
static void push_norm(const TrilLine *line, const float *x, float *y) {
    const float *w = line->weights[0].data, *bias = line->weights[1].data;
    double mean, deviation = deviation_of(line, x, &mean);
    for (int c = 0; c < line->inputs[0].width; c++)
        y[c] = (float)(((double)x[c] - mean) / deviation * (double)w[c] +
                       (bias ? (double)bias[c] : 0));
}

/* Computes the gradient g of a norm's input at the last token from d, as if the norm multiplied by
 * a constant: 1 / the standard deviation of its input there. */
static void pull_norm(const TrilLine *line, int last, const double *d, double *g) {
    const float *w = line->weights[0].data;
    const int n = line->inputs[0].width;
    double mean, deviation = deviation_of(line, line_row(&line->inputs[0], last), &mean), shift = 0;
    for (int c = 0; c < n; c++) shift += (g[c] = (double)w[c] * d[c] / deviation) / n;
    for (int c = 0; c < n && line_is(line, "layernorm"); c++) g[c] -= shift;
}

/* ---- the logit lens ---- */

/* Computes the tail on a state x of the stream, which it overwrites; y is scratch. Returns NULL if
 * the tail is not a chain of linear layers and norms, perhaps with trusted counts at its end. */
static const float *apply_tail(const Explanation *e, float *x, float *y) {
    int current = e->lines[e->tail - 1].output.number;
    float trust = 0;
    for (int i = e->tail; i < e->line_count; i++) {
        const TrilLine *line = &e->lines[i];
        const bool trusts = explanation_trusts(e, i);
        if (line == e->trusted) {
            const float *z = line_row(&line->inputs[2], e->last);
            for (int v = 0; v < e->V; v++) x[v] += (1 + trust) * z[v];
            continue;
        }
        const bool norm = line_is(line, "layernorm") || line_is(line, "rmsnorm");
        if (line->inputs[0].number != current || line->heads > 1 ||
            !(norm || line_is(line, "linear")))
            return NULL;
        (norm ? push_norm : push_linear)(line, x, trusts ? &trust : y);
        if (trusts) continue;
        float *read = x;
        x = y;
        y = read;
        current = line->output.number;
    }
    return x;
}

/* Returns false if the tail cannot be computed. */
static bool fill_lens(Explanation *e, size_t widest) {
    for (int i = 0; i <= e->branch_count; i++) {
        const Branch *b = i > 0 ? &e->branches[i - 1] : NULL;
        const TrilArray *state = b ? &b->after : &e->lines[e->embedding].output;
        char name[BAR_LABEL] = "embed";
        memcpy(e->numbers, line_row(state, e->last), (size_t)state->width * sizeof(float));
        const float *logits = apply_tail(e, e->numbers, e->numbers + widest);
        if (!logits) return false;
        Ranking r = rank(logits, e->V);
        const Glyph glyph = glyph_padded(e->tokenizer, r.ids[0]);
        e->lens[i].value = exp((double)logits[e->next.ids[0]] - r.log_sum);
        if (b) name_branch(b, name);
        snprintf(e->lens[i].label, BAR_LABEL, "%s %.16s", glyph.text, name);
    }
    return true;
}

/* ---- parts ---- */

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

/* Adds a branch. A projection of attention or of a mean is added head by head, since the heads
 * share its columns. `scratch` has as many numbers as g. */
static void add_branch(Explanation *e, const Branch *b, const double *g, double *scratch) {
    const int linear = explanation_maker(e, b->added.number);
    const TrilLine *projection = linear < 0 ? NULL : &e->lines[linear];
    const int maker = projection && line_is(projection, "linear")
                          ? explanation_maker(e, projection->inputs[0].number)
                          : NO_LINE;
    if (maker < 0 || !e->lines[maker].attends) {
        char name[BAR_LABEL];
        name_branch(b, name);
        add_part(e, b->layer, NO_HEAD, dot(g, line_row(&b->added, e->last), b->added.width), "%s",
                 name);
        return;
    }
    const TrilLine *past = &e->lines[maker];
    const float *bias = projection->weights[1].data, *context = line_row(&past->output, e->last);
    const int heads = line_heads(past), size = past->output.width / heads;
    pull_linear(projection, g, scratch);
    for (int h = 0; h < heads; h++) {
        double sum = dot(scratch + h * size, context + h * size, size);
        if (line_has_heads(past))
            add_part(e, b->layer, h, sum, "head %d.%d", b->layer, h);
        else
            add_part(e, b->layer, h, sum, "mean %d", b->layer);
    }
    if (bias) add_part(e, b->layer, NO_HEAD, dot(g, bias, b->added.width), "bias %d", b->layer);
}

static int compare_parts(const void *one, const void *other) {
    const Part *a = one, *b = other;
    double x = fabs(a->bar.value), y = fabs(b->bar.value);
    return (x < y) - (x > y);
}

/* Follows the gradient of the likeliest character's logit, above the mean of all logits, back
 * through the tail, and divides that logit into parts. */
static void divide(Explanation *e, size_t widest) {
    double biases = 0, mean = 0, *g = e->gradients, *d = g + widest;
    bool has_biases = false;
    for (int v = 0; v < e->V; v++) {
        g[v] = (v == e->next.ids[0]) - 1.0 / e->V;
        mean += (double)e->logits[v] / e->V;
    }
    e->above_mean = (double)e->logits[e->next.ids[0]] - mean;
    for (int i = e->line_count - 1; i >= e->tail; i--) {
        const TrilLine *line = &e->lines[i];
        const float *bias = line->weights[1].data;
        if (line == e->trusted)
            add_part(e, NO_LAYER, NO_HEAD,
                     (1 + (double)*line_row(&line->inputs[1], e->last)) *
                         dot(g, line_row(&line->inputs[2], e->last), e->V),
                     "counted logits");
        if (line == e->trusted || explanation_trusts(e, i)) continue;
        if (bias) biases += dot(g, bias, line->output.width);
        has_biases = has_biases || bias;
        memcpy(d, g, (size_t)line->output.width * sizeof *d);
        if (line_is(line, "linear"))
            pull_linear(line, d, g);
        else
            pull_norm(line, e->last, d, g);
    }
    const TrilLine *embedding = &e->lines[e->embedding];
    const int C = embedding->output.width;
    const float *tokens = embedding->weights[0].data, *positions = embedding->weights[1].data;
    const double own = dot(g, tokens + (size_t)e->ids[e->last] * (size_t)C, C);
    add_part(e, NO_LAYER, NO_HEAD, own, positions ? "embed wte" : "embed");
    if (positions)
        add_part(e, NO_LAYER, NO_HEAD, dot(g, positions + (size_t)e->last * (size_t)C, C),
                 "embed wpe");
    for (int i = 0; i < e->branch_count; i++) add_branch(e, &e->branches[i], g, d);
    if (has_biases) add_part(e, NO_LAYER, NO_HEAD, biases, "end biases");
    qsort(e->parts, (size_t)e->part_count, sizeof *e->parts, compare_parts);
}

/* ---- opening ---- */

bool explanation_open(Explanation *e, Sheet *sheet, const Explained *model, Error *err) {
    const TrilTokenizer *tokenizer = tril_model_tokenizer(model->model);
    const size_t T = (size_t)tril_reading_tokens(model->reading);
    const int V = tril_tokenizer_size(tokenizer);
    size_t count = 0, parts = 4, heads = 1, widest = T;
    TrilLine line;
    *e = (Explanation){.sheet = sheet,
                       .sizes = tril_model_sizes(model->model),
                       .tokenizer = tokenizer,
                       .reading = model->reading,
                       .ids = tril_reading_ids(model->reading),
                       .T = (int)T,
                       .V = V,
                       .last = (int)T - 1,
                       .logits = tril_reading_logits(model->reading) + (T - 1) * (size_t)V,
                       .next = ranking_of(model)};
    while (tril_reading_line(e->reading, (int)count, &line)) {
        const size_t width = (size_t)line.output.width, own = (size_t)line_heads(&line);
        if (width > widest) widest = width;
        if (line.attends && own > heads) heads = own;
        parts += 2 + own; /* a part for each branch, or its heads, and its bias */
        count++;
    }
    static const char what[] = "the explanation";
    bool ok = memory_alloc(&e->lines, count, sizeof *e->lines, what, err) &&
              memory_alloc(&e->branches, count, sizeof *e->branches, what, err) &&
              memory_alloc(&e->lens, count + 1, sizeof *e->lens, what, err) &&
              memory_alloc(&e->parts, parts, sizeof *e->parts, what, err) &&
              memory_alloc(&e->glyphs, T, sizeof *e->glyphs, what, err) &&
              memory_alloc(&e->gradients, 2 * widest, sizeof *e->gradients, what, err) &&
              memory_alloc(&e->numbers, TABLE_ROWS * widest + (1 + heads) * T * T,
                           sizeof *e->numbers, what, err) &&
              memory_alloc(&e->maps, heads, sizeof *e->maps, what, err);
    if (!ok) {
        explanation_close(e);
        return false;
    }
    e->square = e->numbers + TABLE_ROWS * widest;
    e->weights = e->square + T * T;
    for (; tril_reading_line(e->reading, e->line_count, &line); e->line_count++)
        e->lines[e->line_count] = line;
    for (int t = 0; t < e->T; t++) e->glyphs[t] = glyph_padded(tokenizer, e->ids[t]);
    sheet->T = e->T;
    sheet->glyphs = e->glyphs;
    snprintf(e->glyph, sizeof e->glyph, "%s", glyph_of(tokenizer, e->ids[e->last]).text);
    find_branches(e);
    e->has_lens = line_is(&e->lines[e->embedding], "embedding") && e->branch_count > 0 &&
                  fill_lens(e, widest);
    if (e->has_lens) divide(e, widest);
    return true;
}

void explanation_close(Explanation *e) {
    memory_free(e->lines);
    memory_free(e->branches);
    memory_free(e->lens);
    memory_free(e->parts);
    e->sheet->glyphs = NULL;
    memory_free(e->glyphs);
    memory_free(e->gradients);
    memory_free(e->numbers);
    memory_free(e->maps);
    *e = (Explanation){0};
}
