#include "programs/report/explanation.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

bool line_is(const TrilLine *line, const char *operation) {
    return strcmp(line->operation, operation) == 0;
}

bool line_reads_past(const TrilLine *line) {
    return line_is(line, "attention") || line_is(line, "mean");
}

int line_heads(const TrilLine *line) {
    return line->heads > 0 ? line->heads : 1;
}

int line_sharing(const TrilLine *line) {
    if (!line_has_heads(line)) return 1;
    int dk = line->inputs[0].width / line->heads;
    return line->heads / (line->inputs[1].width / dk);
}

bool line_has_heads(const TrilLine *line) {
    return line_reads_past(line) && !line_is(line, "mean");
}

const float *line_row(const TrilArray *array, int t) {
    return array->data + (size_t)t * array->row;
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

TrilArray line_columns(TrilArray array, int part, int parts) {
    int size = array.width / parts;
    array.offset += part * size;
    array.data += part * size;
    array.width = size;
    return array;
}

Head line_head(const TrilLine *line, int head) {
    int heads = line_heads(line), sharing = line_sharing(line);
    int shared = head / sharing, shares = heads / sharing; /* heads of keys and values */
    if (!line_has_heads(line)) return (Head){.value = line->inputs[0]};
    return (Head){.query = line_columns(line->inputs[0], head, heads),
                  .key = line_columns(line->inputs[1], shared, shares),
                  .value = line_columns(line->inputs[2], shared, shares)};
}

/* ---- gathering ---- */

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

static bool is_stream(const Explanation *e, int array) {
    bool found = array == e->lines[0].output.number;
    for (int i = 0; i < e->branch_count; i++) found = found || array == e->branches[i].after.number;
    return found;
}

/* Is there attention, or a mean, between the residual stream and the output of line i? The answers
 * for the lines before it are in `past`. */
static bool follows_past(const Explanation *e, const bool *past, int i) {
    bool follows = line_reads_past(&e->lines[i]);
    for (int j = 0; j < TRIL_LINE_INPUTS; j++) {
        int array = e->lines[i].inputs[j].number, maker = array ? explanation_maker(e, array) : -1;
        if (maker >= 0 && !is_stream(e, array)) follows = follows || past[maker];
    }
    return follows;
}

static Branch branch_of(const Explanation *e, const bool *past, int i, TrilArray before,
                        TrilArray added) {
    int linear = explanation_maker(e, added.number);
    Branch b = {.line = i,
                .layer = e->lines[i].layer,
                .before = before,
                .added = added,
                .after = e->lines[i].output,
                .attention = -1,
                .projection = -1,
                .reads_past = linear >= 0 && past[linear]};
    if (linear < 0 || !line_is(&e->lines[linear], "linear")) return b;
    int attention = explanation_maker(e, e->lines[linear].inputs[0].number);
    if (attention < 0 || !line_reads_past(&e->lines[attention])) return b;
    b.attention = attention;
    b.projection = linear;
    return b;
}

/* Follows the residual stream from the embedding through its sums. */
static bool find_branches(Explanation *e, Error *err) {
    TrilArray stream = e->lines[0].output;
    bool *past;
    if (!memory_alloc(&past, (size_t)e->line_count, sizeof *past, "the explanation", err))
        return false;
    e->tail = 1;
    for (int i = 1; i < e->line_count; i++) {
        const TrilLine *line = &e->lines[i];
        past[i] = follows_past(e, past, i);
        bool left = line->inputs[0].number == stream.number,
             right = line->inputs[1].number == stream.number;
        if (!line_is(line, "add") || left == right) continue;
        e->branches[e->branch_count++] =
            branch_of(e, past, i, line->inputs[left ? 0 : 1], line->inputs[left ? 1 : 0]);
        stream = line->output;
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
    bool ok = memory_alloc(&e->probabilities, (size_t)V, sizeof(double), "the explanation", err) &&
              memory_alloc(&e->order, (size_t)V, sizeof(int), "the explanation", err);
    if (ok) explanation_softmax(e->logits, V, e->probabilities);
    ok = ok && rank(e, err) && read_lines(e, err) && find_branches(e, err) &&
         explanation_trace(e, err);
    if (!ok) explanation_close(e);
    return ok;
}

void explanation_close(Explanation *e) {
    memory_free(e->lines);
    memory_free(e->branches);
    memory_free(e->probabilities);
    memory_free(e->order);
    memory_free(e->lens);
    memory_free(e->parts);
    *e = (Explanation){0};
}
