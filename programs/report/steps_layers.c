/* steps_layers.c - the steps of embeddings, norms, convolutions and rotary positions. */
#include "programs/report/steps.h"

#include <math.h>
#include <stdio.h>

/* ---- embedding ---- */

static bool uses(const Steps *s, const char *operation) {
    for (int i = 0; i < s->e->line_count; i++)
        if (line_is(&s->e->lines[i], operation)) return true;
    return false;
}

/* The bigram: the embedding is the table of logits. */
static void write_table_of_logits(Steps *s, const float *row) {
    const Explanation *e = s->e;
    int id = e->ids[e->T - 1];
    sheet_heading(s->sheet, "Logits: row %d of a table of %d x %d numbers.", id, e->V, e->V);
    sheet_say(s->sheet,
              "Row %d belongs to '%s'. It has a logit for each character that may follow. The "
              "characters before it do not count, and neither does its position.",
              id, s->last);
    steps_rows(s, (const char *[]){"logits"}, &row, 1, e->V, CHANNELS);
}

/* The sum of the last character's two rows. */
static void write_sum_of_tables(Steps *s, const TrilLine *line, const float *token,
                                const float *position) {
    const Explanation *e = s->e;
    int last = e->T - 1, id = e->ids[last];
    char token_label[32], position_label[32];
    snprintf(token_label, sizeof token_label, "wte[%d]", id);
    snprintf(position_label, sizeof position_label, "wpe[%d]", last);
    const char *const labels[] = {token_label, position_label, "x"};
    const float *const rows[] = {token, position, line_row(&line->output, last)};
    sheet_say(s->sheet,
              "x = wte[id] + wpe[position]: a row of a table of characters (%s), plus a row of a "
              "table of positions (%s). So the same character has another x at another place. For "
              "'%s', id %d at position %d:",
              line->weights[0].name, line->weights[1].name, s->last, id, last);
    steps_rows(s, labels, rows, 3, line->output.width, CHANNELS);
    sheet_say(s->sheet, "x of each character:");
}

void steps_embedding(Steps *s, const TrilLine *line) {
    const Explanation *e = s->e;
    size_t C = (size_t)line->output.width, last = (size_t)e->T - 1;
    const float *token = line->weights[0].data + (size_t)e->ids[last] * C;
    const float *positions = line->weights[1].data;
    if (e->line_count == 1) {
        write_table_of_logits(s, token);
        return;
    }
    sheet_heading(s->sheet, "Embedding: each character becomes a vector x of %zu numbers.", C);
    if (positions)
        write_sum_of_tables(s, line, token, positions + last * C);
    else
        sheet_say(s->sheet, "x = wte[id]: a row of a table (%s). %s", line->weights[0].name,
                  uses(s, "rotary") ? "It does not depend on the position, which enters later, as "
                                      "a rotation of queries and keys."
                                    : "It does not depend on the position.");
    steps_vectors(s, NULL, &line->output, 0, (int)C);
}

/* ---- norms ---- */

/* Writes the norm of the n numbers of the last character out. */
static void write_norm_of_last(Steps *s, const TrilLine *line, int from, int n) {
    const Explanation *e = s->e;
    const float *x = line_row(&line->inputs[0], e->T - 1) + from;
    const float *y = line_row(&line->output, e->T - 1) + from;
    const float *w = line->weights[0].data, *b = line->weights[1].data;
    double mean = 0, variance = 0, squares = 0;
    for (int i = 0; i < n; i++) mean += (double)x[i] / n;
    for (int i = 0; i < n; i++) {
        variance += ((double)x[i] - mean) * ((double)x[i] - mean) / n;
        squares += (double)x[i] * (double)x[i] / n;
    }
    if (line_is(line, "layernorm"))
        sheet_say(s->sheet,
                  "y = (x - mean) / sqrt(variance + 0.00001) * weight + bias, with weight and bias "
                  "learned. The %d numbers of '%s' have the mean %.6f and the variance %.6f:",
                  n, s->last, mean, variance);
    else
        sheet_say(
            s->sheet,
            "y = x / sqrt(mean of x^2 + 0.000001) * weight, with the weight learned. The mean "
            "of the squares of the %d numbers of '%s' is %.6f:",
            n, s->last, squares);
    const float *const rows[] = {x, w, b ? b : y, y};
    const char *const labels[] = {"x", "weight", b ? "bias" : "y", "y"};
    steps_rows(s, labels, rows, b ? 4 : 3, n, CHANNELS);
}

void steps_norm(Steps *s, int i) {
    const TrilLine *line = &s->e->lines[i];
    TrilArray own;
    int n = line->output.width / line->heads, j = steps_role(s, i, &own);
    int from = j == NO_ROLE ? 0 : own.offset;
    if (j != NO_ROLE) {
        sheet_heading(s->sheet, "Norm of each %s: its length no longer counts.", role_names[j]);
    } else {
        sheet_heading(s->sheet, "%s: each x is brought to the same scale.",
                      i >= s->e->tail ? "Last norm" : "Norm");
    }
    write_norm_of_last(s, line, from, n);
    if (!s->last_only) {
        sheet_say(s->sheet, "y of each character:");
        steps_vectors(s, NULL, &line->output, from, n);
    }
}

/* ---- causal convolution ---- */

/* The first number of the last character, written out: y = x + tap * x + ... */
static void write_first_number(Steps *s, const TrilLine *line, int K) {
    char sum[256], x[NUMBER_SIZE], tap[NUMBER_SIZE];
    int last = s->e->T - 1, width = line->output.width;
    const float *taps = line->weights[0].data;
    sheet_number(x, (double)line_row(&line->inputs[0], last)[0]);
    int length = snprintf(sum, sizeof sum, "%s", x);
    for (int k = 0; k < K && k <= last; k++) {
        sheet_number(tap, (double)taps[k * width]);
        sheet_number(x, (double)line_row(&line->inputs[0], last - k)[0]);
        length += snprintf(sum + length, sizeof sum - (size_t)length, " + %s * %s", tap, x);
    }
    sheet_number(x, (double)line_row(&line->output, last)[0]);
    sheet_say(s->sheet,
              "The first number of '%s' is x plus each tap times that character's x: %s = %s.",
              s->last, sum, x);
}

void steps_convolution(Steps *s, const TrilLine *line) {
    int width = line->output.width, K = line->weights[0].rows;
    const float *taps = line->weights[0].data;
    char labels[TABLE_ROWS][NUMBER_SIZE];
    const char *label[TABLE_ROWS];
    const float *rows[TABLE_ROWS];
    int shown = K < TABLE_ROWS ? K : TABLE_ROWS;
    for (int k = 0; k < shown; k++) {
        snprintf(labels[k], sizeof labels[k], "tap %d", k);
        label[k] = labels[k];
        rows[k] = taps + k * width;
    }
    sheet_heading(s->sheet, "Convolution: each x takes a share of the characters before it.");
    sheet_say(
        s->sheet,
        "To each number of a character it adds the same number of the last %d characters, its own "
        "first, each times a learned weight, a tap (%s):",
        K, line->weights[0].name);
    steps_rows(s, label, rows, shown, width, CHANNELS);
    write_first_number(s, line, K);
    sheet_say(s->sheet, "y of %s:", s->last_only ? "the last character" : "each character");
    steps_vectors(s, s->last_only ? "y" : NULL, &line->output, 0, width);
}

/* ---- rotary positions ---- */

void steps_rotary(Steps *s, int i) {
    const TrilLine *line = &s->e->lines[i];
    TrilArray own;
    int hs = line->output.width / line->heads, half = hs / 2, last = s->e->T - 1;
    int role = steps_role(s, i, &own), from = role == NO_ROLE ? 0 : own.offset;
    const char *name = role == NO_ROLE ? "vector" : role_names[role];
    const float *x = line_row(&line->inputs[0], last) + from;
    const float *y = line_row(&line->output, last) + from;
    const float *cosine = line_row(&line->inputs[1], last);
    char a[NUMBER_SIZE], b[NUMBER_SIZE], c[NUMBER_SIZE], d[NUMBER_SIZE];
    sheet_heading(s->sheet, "Position: each %s is rotated.", name);
    sheet_number(a, (double)x[0]);
    sheet_number(b, (double)x[half]);
    sheet_number(c, (double)y[0]);
    sheet_number(d, (double)y[half]);
    sheet_say(s->sheet,
              "Numbers i and i + %d of a head are a point in a plane. It is rotated by the angle "
              "position / 10000^(2 * i / %d). So the score of a query and a key depends on how far "
              "apart they are, not on where they stand. '%s' is at position %d: for i = 0 the "
              "angle is %d, its cosine %.3f and its sine %.3f, and (%s, %s) becomes (%s * cos - "
              "%s * sin, %s * cos + %s * sin) = (%s, %s).",
              half, hs, s->last, last, last, (double)cosine[0], (double)cosine[half], a, b, a, b, b,
              a, c, d);
    steps_vectors(s, NULL, &line->output, from, hs);
}
