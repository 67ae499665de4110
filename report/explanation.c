#include "report/explanation.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

bool line_is(const LineView *line, const char *operation) {
    return strcmp(line->operation, operation) == 0;
}

bool line_reads_past(const LineView *line) {
    return line_is(line, "attention") || line_is(line, "mean");
}

int line_heads(const LineView *line) {
    return line->NH > 0 ? line->NH : 1;
}

int line_sharing(const LineView *line) {
    if (!line_has_heads(line)) return 1;
    int dk = line->inputs[0].width / line->NH;
    return line->NH / (line->inputs[1].width / dk);
}

bool line_has_heads(const LineView *line) {
    return line_reads_past(line) && !line_is(line, "mean");
}

const float *line_row(const LineArray *array, int t) {
    return array->data + (size_t)t * array->row;
}

const float *line_weights(const Explanation *e, const LineView *line, int place) {
    int tensor = line->tensors[place];
    return tensor < 0 ? NULL : e->model->weights + e->model->tensors[tensor].offset;
}

int explanation_maker(const Explanation *e, int array) {
    for (int i = 0; i < e->line_count && array > 0; i++)
        if (e->lines[i].outputs[0].array == array) return i;
    return -1;
}

int explanation_reader(const Explanation *e, int array) {
    for (int i = 0; i < e->line_count && array > 0; i++)
        for (int j = 0; j < LINE_INPUTS; j++)
            if (e->lines[i].inputs[j].array == array) return i;
    return -1;
}

AttentionView line_head(const LineView *line, int head, int T) {
    bool mean = line_is(line, "mean");
    const LineArray *q = &line->inputs[0], *k = &line->inputs[1], *out = &line->outputs[0];
    const LineArray *v = &line->inputs[mean ? 0 : 2];
    int heads = line_heads(line), sharing = line_sharing(line), shared = head / sharing;
    int dk = q->width / heads, dv = v->width / (heads / sharing);
    AttentionView view = {.T = T,
                          .dv = dv,
                          .value = v->data + shared * dv,
                          .value_row = v->row,
                          .context = out->data + head * dv,
                          .context_row = out->row};
    if (mean) return view;
    view.dk = dk;
    view.scale = 1.0f / sqrtf((float)dk);
    view.query = q->data + head * dk;
    view.query_row = q->row;
    view.key = k->data + shared * dk;
    view.key_row = k->row;
    return view;
}

/* ---- gathering ---- */

static bool read_lines(Explanation *e, Error *err) {
    LineView line;
    while (run_line(e->run, e->line_count, &line)) e->line_count++;
    size_t count = (size_t)e->line_count;
    if (!memory_alloc(&e->lines, count, sizeof *e->lines, "the explanation", err) ||
        !memory_alloc(&e->branches, count, sizeof *e->branches, "the explanation", err))
        return false;
    for (int i = 0; i < e->line_count; i++) run_line(e->run, i, &e->lines[i]);
    return true;
}

static bool is_stream(const Explanation *e, int array) {
    bool found = array == e->lines[0].outputs[0].array;
    for (int i = 0; i < e->branch_count; i++) found = found || array == e->branches[i].after.array;
    return found;
}

/* Is there attention, or a mean, between the residual stream and the output of line i? The answers
 * for the lines before it are in `past`. */
static bool follows_past(const Explanation *e, const bool *past, int i) {
    bool follows = line_reads_past(&e->lines[i]);
    for (int j = 0; j < LINE_INPUTS; j++) {
        int array = e->lines[i].inputs[j].array, maker = array ? explanation_maker(e, array) : -1;
        if (maker >= 0 && !is_stream(e, array)) follows = follows || past[maker];
    }
    return follows;
}

static Branch branch_of(const Explanation *e, const bool *past, int i, LineArray before,
                        LineArray added) {
    int linear = explanation_maker(e, added.array);
    Branch b = {.line = i,
                .layer = e->lines[i].layer,
                .before = before,
                .added = added,
                .after = e->lines[i].outputs[0],
                .attention = -1,
                .projection = -1,
                .reads_past = linear >= 0 && past[linear]};
    if (linear < 0 || !line_is(&e->lines[linear], "linear")) return b;
    int attention = explanation_maker(e, e->lines[linear].inputs[0].array);
    if (attention < 0 || !line_reads_past(&e->lines[attention])) return b;
    b.attention = attention;
    b.projection = linear;
    return b;
}

/* Follows the residual stream from the embedding through its sums. */
static bool find_branches(Explanation *e, Error *err) {
    LineArray stream = e->lines[0].outputs[0];
    bool *past;
    if (!memory_alloc(&past, (size_t)e->line_count, sizeof *past, "the explanation", err))
        return false;
    e->tail = 1;
    for (int i = 1; i < e->line_count; i++) {
        const LineView *line = &e->lines[i];
        past[i] = follows_past(e, past, i);
        bool left = line->inputs[0].array == stream.array,
             right = line->inputs[1].array == stream.array;
        if (!line_is(line, "add") || left == right) continue;
        e->branches[e->branch_count++] =
            branch_of(e, past, i, line->inputs[left ? 0 : 1], line->inputs[left ? 1 : 0]);
        stream = line->outputs[0];
        e->tail = i + 1;
    }
    memory_free(past);
    return true;
}

/* For qsort: where the likeliest come first, and equal ones by their ids. */
typedef struct {
    float logit;
    int id;
} Candidate;

static int compare_candidates(const void *one, const void *other) {
    const Candidate *a = one, *b = other;
    return a->logit != b->logit ? (a->logit < b->logit) - (a->logit > b->logit)
                                : (a->id > b->id) - (a->id < b->id);
}

static bool rank(Explanation *e, Error *err) {
    Candidate *candidates;
    size_t V = (size_t)e->V;
    if (!memory_alloc(&candidates, V, sizeof *candidates, "the explanation", err)) return false;
    for (int v = 0; v < e->V; v++) candidates[v] = (Candidate){e->logits[v], v};
    qsort(candidates, V, sizeof *candidates, compare_candidates);
    for (int v = 0; v < e->V; v++) e->order[v] = candidates[v].id;
    memory_free(candidates);
    return true;
}

void explanation_softmax(const float *logits, int V, double *probabilities) {
    double largest = (double)logits[0], sum = 0;
    for (int v = 1; v < V; v++)
        if ((double)logits[v] > largest) largest = (double)logits[v];
    for (int v = 0; v < V; v++) sum += probabilities[v] = exp((double)logits[v] - largest);
    for (int v = 0; v < V; v++) probabilities[v] /= sum;
}

bool explanation_open(Explanation *e, Model *model, const Vocab *vocab, const int32_t *ids, int T,
                      Error *err) {
    RunOptions options = {.batch = 1, .length = T, .frozen = true, .threads = 1, .kept = true};
    size_t V = (size_t)model->config.V;
    *e = (Explanation){.model = model, .vocab = vocab, .ids = ids, .T = T, .V = model->config.V};
    bool ok = run_open(&e->run, model, &options, err) &&
              memory_alloc(&e->probabilities, V, sizeof(double), "the explanation", err) &&
              memory_alloc(&e->order, V, sizeof(int), "the explanation", err);
    if (ok) {
        e->logits = run_forward(e->run, ids, 1, T, 0) + (size_t)(T - 1) * V;
        explanation_softmax(e->logits, e->V, e->probabilities);
        ok = rank(e, err) && read_lines(e, err) && find_branches(e, err) &&
             explanation_trace(e, err);
    }
    if (!ok) explanation_close(e);
    return ok;
}

void explanation_close(Explanation *e) {
    run_close(e->run);
    memory_free(e->lines);
    memory_free(e->branches);
    memory_free(e->probabilities);
    memory_free(e->order);
    memory_free(e->lens);
    memory_free(e->parts);
    *e = (Explanation){0};
}
