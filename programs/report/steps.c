/* steps.c - all steps of an explanation in order, and what they share. */
#include "programs/report/steps.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- shared by the steps ---- */

const char *const role_names[ROLES] = {"query", "key", "value"};

bool steps_has_role(const Steps *s, int i, int role, TrilArray *columns) {
    const Explanation *e = s->e;
    for (int a = i + 1; a < e->line_count; a++) {
        const TrilLine *attention = &e->lines[a];
        if (!line_is(attention, "attention")) continue;
        TrilArray x = attention->inputs[role];
        int sharing = role == QUERY ? 1 : line_sharing(attention),
            heads = attention->heads / sharing;
        for (int m; (m = explanation_maker(e, x.number)) >= i; x = e->lines[m].inputs[0]) {
            bool norm = line_is(&e->lines[m], "rmsnorm") || line_is(&e->lines[m], "layernorm");
            if (norm && e->lines[m].heads != heads) break; /* of the stream, not of heads */
            if (columns) *columns = line_columns(x, s->head / sharing, heads);
            if (m == i) return true;
            if (!norm && !line_is(&e->lines[m], "rotary")) break;
        }
    }
    return false;
}

int steps_role(const Steps *s, int i, TrilArray *columns) {
    for (int role = 0; role < ROLES; role++)
        if (steps_has_role(s, i, role, columns)) return role;
    return NO_ROLE;
}

void steps_rows(Steps *s, const char *const *labels, const float *const *vectors, int rows,
                int columns, Across across) {
    for (int r = 0; r < rows; r++)
        memcpy(s->numbers + (size_t)r * (size_t)columns, vectors[r],
               (size_t)columns * sizeof *s->numbers);
    Table table = {.labels = labels,
                   .numbers = s->numbers,
                   .row = (size_t)columns,
                   .rows = rows,
                   .columns = columns,
                   .across = across};
    s->sheet->kind->table(s->sheet, &table);
}

void steps_vectors(Steps *s, const char *title, const TrilArray *array, int from, int width) {
    Table table = {.title = title,
                   .numbers = array->data + from,
                   .row = array->row,
                   .rows = s->e->T,
                   .columns = width};
    const float *last = line_row(array, s->e->T - 1) + from;
    if (s->last_only)
        steps_rows(s, (const char *[]){title}, &last, 1, width, CHANNELS);
    else
        s->sheet->kind->table(s->sheet, &table);
}

void steps_dot(Steps *s, const char *x_label, const float *x, const char *w_label, const float *w,
               size_t w_step, int n, const float *bias, const char *result, int bands) {
    int shown = bands * s->sheet->fit_labelled < n ? bands * s->sheet->fit_labelled : n;
    size_t row = (size_t)shown;
    double sum = bias ? (double)*bias : 0, rest = 0;
    char end[NUMBER_SIZE], part[NUMBER_SIZE], constant[NUMBER_SIZE];
    for (int i = 0; i < n; i++) {
        double product = (double)x[i] * (double)w[(size_t)i * w_step];
        sum += product;
        if (i >= shown) {
            rest += product;
            continue;
        }
        s->numbers[i] = x[i];
        s->numbers[row + (size_t)i] = w[(size_t)i * w_step];
        s->numbers[2 * row + (size_t)i] = (float)product;
    }
    Table table = {.labels = (const char *[]){x_label, w_label, "product"},
                   .numbers = s->numbers,
                   .row = row,
                   .rows = 3,
                   .columns = shown,
                   .across = WRAPPED};
    s->sheet->kind->table(s->sheet, &table);
    sheet_number(end, sum);
    sheet_number(part, rest);
    sheet_number(constant, bias ? (double)*bias : 0);
    char others[64] = "", and_bias[64] = "";
    if (shown < n)
        snprintf(others, sizeof others, " The other %d products sum to %s.", n - shown, part);
    if (bias) snprintf(and_bias, sizeof and_bias, ", plus the bias %s", constant);
    sheet_say(s->sheet, "%s The sum of all %d products%s: %s = %s.", others, n, and_bias, result,
              end);
}

/* ---- the residual stream ---- */

static double length_of(const float *x, int n) {
    double squares = 0;
    for (int i = 0; i < n; i++) squares += (double)x[i] * (double)x[i];
    return sqrt(squares);
}

static void write_sum(Steps *s, int i) {
    const TrilLine *line = &s->e->lines[i];
    int last = s->e->T - 1, n = line->output.width;
    const float *const rows[] = {line_row(&line->inputs[0], last), line_row(&line->inputs[1], last),
                                 line_row(&line->output, last)};
    sheet_heading(s->sheet, "Residual sum: what the branch computed is added to x.");
    steps_rows(s, (const char *[]){"x", "added", "new x"}, rows, 3, n, CHANNELS);
    sheet_say(s->sheet, "Their lengths: %.3f, %.3f and %.3f.", length_of(rows[0], n),
              length_of(rows[1], n), length_of(rows[2], n));
}

/* A branch of a layer that is not written out. */
static void write_branch_in_short(Steps *s, const Branch *b) {
    int last = s->e->T - 1, n = b->after.width;
    const float *const rows[] = {line_row(&b->added, last), line_row(&b->after, last)};
    sheet_say(s->sheet, "Layer %d, %s: adds a vector of length %.3f; x then has length %.3f.",
              b->layer, b->reads_past ? "attention" : "MLP", length_of(rows[0], n),
              length_of(rows[1], n));
    steps_rows(s, (const char *[]){"added", "new x"}, rows, 2, n, CHANNELS);
}

/* The branches of the layers around the one that is written out. */
static void write_in_short(Steps *s, int from, int to) {
    const Explanation *e = s->e;
    bool any = false;
    for (int b = 0; b < e->branch_count; b++) {
        if (e->branches[b].layer < from || e->branches[b].layer > to) continue;
        if (!any && from == to)
            sheet_heading(s->sheet, "Layer %d in short: what it adds to x of '%s'.", from, s->last);
        else if (!any)
            sheet_heading(s->sheet, "Layers %d to %d in short: what they add to x of '%s'.", from,
                          to, s->last);
        any = true;
        write_branch_in_short(s, &e->branches[b]);
    }
}

/* ---- all lines ---- */

static void write_tokens(Steps *s) {
    const Explanation *e = s->e;
    sheet_heading(s->sheet, "Tokens: each character is a number, its id in the vocabulary of %d.",
                  e->V);
    for (int t = 0; t < e->T; t++) s->numbers[t] = (float)e->ids[t];
    Table table = {.labels = (const char *[]){"id"},
                   .numbers = s->numbers,
                   .row = (size_t)e->T,
                   .rows = 1,
                   .columns = e->T,
                   .across = TOKENS,
                   .whole = true};
    s->sheet->kind->table(s->sheet, &table);
}

/* A layer that the explanation has no words for: its result. */
static void write_other(Steps *s, const TrilLine *line) {
    sheet_heading(s->sheet, "%s.", line->operation);
    steps_vectors(s, "y", &line->output, 0, line->output.width);
}

static void write_line(Steps *s, int i) {
    const TrilLine *line = &s->e->lines[i];
    if (i >= s->e->tail && i > 0) s->last_only = true;
    if (line_reads_past(line))
        steps_attention(s, i);
    else if (line_is(line, "embedding"))
        steps_embedding(s, line);
    else if (line_is(line, "linear"))
        steps_linear(s, i);
    else if (line_is(line, "layernorm") || line_is(line, "rmsnorm"))
        steps_norm(s, i);
    else if (line_is(line, "convolution"))
        steps_convolution(s, line);
    else if (line_is(line, "rotary"))
        steps_rotary(s, i);
    else if (line_is(line, "gelu") || line_is(line, "swiglu"))
        steps_activation(s, i);
    else if (line_is(line, "add"))
        write_sum(s, i);
    else
        write_other(s, line);
    if (line_reads_past(line)) s->last_only = true;
}

void steps_write(Steps *s) {
    const Explanation *e = s->e;
    bool before = false;
    write_tokens(s);
    for (int i = 0; i < e->line_count; i++) {
        bool inside = i > 0 && i < e->tail;
        if (inside && !before) write_in_short(s, 0, s->layer - 1);
        if (!inside && before) write_in_short(s, s->layer + 1, e->sizes.layers - 1);
        before = inside;
        if (!inside || e->lines[i].layer == s->layer) write_line(s, i);
    }
    steps_next(s);
}

/* ---- memory ---- */

static int max_int(int a, int b) {
    return a > b ? a : b;
}

bool steps_open(Steps *s, const Explanation *e, Sheet *sheet, Error *err) {
    int widest = e->T, heads = 1, bars = max_int(e->branch_count + 1, e->part_count);
    for (int i = 0; i < e->line_count; i++) {
        widest = max_int(widest, e->lines[i].output.width);
        if (line_reads_past(&e->lines[i])) heads = max_int(heads, line_heads(&e->lines[i]));
    }
    size_t T = (size_t)e->T, n = (size_t)heads, b = (size_t)bars, numbers = (size_t)widest;
    *s = (Steps){.e = e, .sheet = sheet};
    glyph_of(e->tokenizer, e->ids[e->T - 1], s->last);
    return memory_alloc(&s->numbers, TABLE_ROWS * numbers, sizeof(float), "the steps", err) &&
           memory_alloc(&s->square, T * T, sizeof(float), "the steps", err) &&
           memory_alloc(&s->weights, T * T * n, sizeof(float), "the steps", err) &&
           memory_alloc(&s->maps, n, sizeof *s->maps, "the steps", err) &&
           memory_alloc(&s->labels, b, sizeof *s->labels, "the steps", err) &&
           memory_alloc(&s->values, b, sizeof(double), "the steps", err);
}

void steps_close(Steps *s) {
    memory_free(s->numbers);
    memory_free(s->square);
    memory_free(s->weights);
    memory_free(s->maps);
    memory_free(s->labels);
    memory_free(s->values);
}
