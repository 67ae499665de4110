/* steps_linear.c - the steps of linear layers, each by its part in the model, and of the activation
 * functions between them. */
#include "programs/report/steps.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One output of a linear layer for the last character, written out. */
static void write_neuron(Steps *s, const TrilLine *line, int neuron, const char *x_label,
                         const char *result, int bands) {
    const Explanation *e = s->e;
    int in = line->inputs[0].width;
    const float *w = line->weights[0].data + (size_t)neuron * (size_t)in;
    const float *b = line->weights[1].data;
    steps_dot(s, x_label, line_row(&line->inputs[0], e->T - 1), "weight", w, 1, in,
              b ? b + neuron : NULL, result, bands);
}

/* Says which heads share the keys or values of the one that is written out. */
static void say_sharing(const Steps *s, int i, int role) {
    const Explanation *e = s->e;
    while (!line_is(&e->lines[i], "attention")) i++;
    int sharing = role == QUERY ? 1 : line_sharing(&e->lines[i]);
    int first = s->head / sharing * sharing;
    if (sharing > 1)
        sheet_say(s->sheet, "Heads %d %s %d share their %ss.", first, sharing > 2 ? "to" : "and",
                  first + sharing - 1, role_names[role]);
}

/* Queries, keys and values: one linear layer may make all three. */
static void write_query_key_value(Steps *s, int i) {
    static const char *const says[] = {"A query says what a character looks for.",
                                       "A key says what a character offers.",
                                       "A value says what a character passes on."};
    enum { BANDS = 8 };
    const TrilLine *line = &s->e->lines[i];
    int first = NO_ROLE, roles = 0;
    TrilArray columns[ROLES];
    char meaning[256] = "";
    int length = 0;
    for (int j = 0; j < ROLES; j++) {
        if (!steps_has_role(s, i, j, &columns[j])) continue;
        if (first == NO_ROLE) first = j;
        roles++;
    }
    sheet_heading(s->sheet, "%s: each vector times a matrix.",
                  roles > 1    ? "Query, key and value"
                  : first == 0 ? "Query"
                  : first == 1 ? "Key"
                               : "Value");
    for (int j = 0; j < ROLES; j++)
        if (steps_has_role(s, i, j, NULL))
            length += snprintf(meaning + length, sizeof meaning - (size_t)length, "%s%s",
                               length > 0 ? " " : "", says[j]);
    sheet_say(s->sheet, "%s", meaning);
    say_sharing(s, i, first);
    int row = columns[first].offset;
    char result[64];
    snprintf(result, sizeof result, "%s[0]", role_names[first]);
    sheet_say(s->sheet,
              "The matrix is %s. Head %d has %d numbers of each %s; the first one, of '%s', is "
              "its vector times row %d of the matrix:",
              line->weights[0].name, s->head, columns[first].width, role_names[first], s->last,
              row);
    write_neuron(s, line, row, "vector", result, first == 0 || roles > 1 ? BANDS : 1);
    for (int j = 0; j < ROLES; j++)
        if (steps_has_role(s, i, j, &columns[j]))
            steps_vectors(s, role_names[j], &columns[j], 0, columns[j].width);
}

/* The heads' results, side by side, times a matrix: what attention adds to x. */
static void write_projection(Steps *s, int i) {
    const Explanation *e = s->e;
    const TrilLine *line = &e->lines[i];
    const TrilLine *past = &e->lines[explanation_maker(e, line->inputs[0].number)];
    int heads = line_heads(past);
    const char *label = !line_has_heads(past) ? "mean" : heads > 1 ? "heads" : "head";
    const float *added = line_row(&line->output, e->T - 1);
    sheet_heading(s->sheet, "Output projection: %s times a matrix.",
                  heads > 1              ? "the heads, side by side,"
                  : line_has_heads(past) ? "the result of the head"
                                         : "the mean");
    sheet_say(s->sheet,
              "The matrix is %s. %sFrom here on only '%s' is followed, since it is the one that "
              "predicts. The first number, written out:",
              line->weights[0].name,
              heads > 1 ? "Each head fills its own numbers of the vector. " : "", s->last);
    write_neuron(s, line, 0, label, "added[0]", 1);
    steps_rows(s, (const char *[]){"added"}, &added, 1, line->output.width, CHANNELS);
}

/* The neuron that is most active for the last character, after its activation function. */
static int most_active(const Steps *s, int activation) {
    const TrilArray *y = &s->e->lines[activation].output;
    const float *row = line_row(y, s->e->T - 1);
    int most = 0;
    for (int c = 1; c < y->width; c++)
        if (fabsf(row[c]) > fabsf(row[most])) most = c;
    return most;
}

static void write_hidden(Steps *s, int i, int activation) {
    const TrilLine *line = &s->e->lines[i], *next = &s->e->lines[activation];
    int neuron = most_active(s, activation);
    bool gated = line_is(next, "swiglu");
    const char *name = !gated ? "z" : next->inputs[0].number == line->output.number ? "gate" : "up";
    char result[64];
    snprintf(result, sizeof result, "%s[%d]", name, neuron);
    sheet_heading(s->sheet, "MLP%s%s: %d neurons, each a dot product with the vector.",
                  gated ? ", " : "", gated ? name : "", line->output.width);
    sheet_say(s->sheet,
              "The matrix is %s; a row belongs to a neuron. Neuron %d, the most active one for "
              "'%s', written out:",
              line->weights[0].name, neuron, s->last);
    write_neuron(s, line, neuron, "vector", result, 2);
    const float *row = line_row(&line->output, s->e->T - 1);
    steps_rows(s, (const char *[]){name}, &row, 1, line->output.width, CHANNELS);
}

void steps_activation(Steps *s, int i) {
    const TrilLine *line = &s->e->lines[i];
    int neuron = most_active(s, i), last = s->e->T - 1;
    bool gated = line_is(line, "swiglu");
    const float *y = line_row(&line->output, last);
    char a[NUMBER_SIZE], b[NUMBER_SIZE] = "", c[NUMBER_SIZE];
    sheet_number(a, (double)line_row(&line->inputs[0], last)[neuron]);
    if (gated) sheet_number(b, (double)line_row(&line->inputs[1], last)[neuron]);
    sheet_number(c, (double)y[neuron]);
    if (gated) {
        sheet_heading(s->sheet, "SwiGLU: the gate decides how much of each neuron passes.");
        sheet_say(s->sheet,
                  "y = silu(gate) * up, with silu(g) = g / (1 + e^-g). Neuron %d: silu(%s) * %s "
                  "= %s.",
                  neuron, a, b, c);
    } else {
        sheet_heading(s->sheet, "GELU: small and negative numbers nearly become 0.");
        sheet_say(
            s->sheet,
            "y = z * (1 + tanh(sqrt(2 / pi) * (z + 0.044715 * z^3))) / 2. Neuron %d: gelu(%s) = "
            "%s.",
            neuron, a, c);
    }
    steps_rows(s, (const char *[]){"y"}, &y, 1, line->output.width, CHANNELS);
}

/* The last matrix of a branch that is not attention. */
static void write_branch_end(Steps *s, int i) {
    const TrilLine *line = &s->e->lines[i];
    const float *row = line_row(&line->output, s->e->T - 1);
    sheet_heading(s->sheet, "MLP, output: the neurons times a matrix.");
    sheet_say(s->sheet, "The matrix is %s. The first number, written out:", line->weights[0].name);
    write_neuron(s, line, 0, "neurons", "added[0]", 1);
    steps_rows(s, (const char *[]){"added"}, &row, 1, line->output.width, CHANNELS);
}

static void write_logits(Steps *s, int i) {
    const Explanation *e = s->e;
    const TrilLine *line = &e->lines[i];
    char glyph[GLYPH_SIZE], result[64];
    int first = e->order[0];
    glyph_of(e->tokenizer, first, glyph);
    snprintf(result, sizeof result, "logit[%d]", first);
    sheet_heading(s->sheet, "Logits: one for each of the %d characters.", e->V);
    sheet_say(s->sheet,
              "The matrix is %s; row n belongs to the character with id n. The higher its logit, "
              "the likelier it is to come next. The highest is that of '%s', id %d:",
              line->weights[0].name, glyph, first);
    write_neuron(s, line, first, "y", result, 2);
}

void steps_linear(Steps *s, int i) {
    const Explanation *e = s->e;
    int output = e->lines[i].output.number, reader = explanation_reader(e, output);
    int maker = explanation_maker(e, e->lines[i].inputs[0].number);
    bool activated =
        reader >= 0 && (line_is(&e->lines[reader], "gelu") || line_is(&e->lines[reader], "swiglu"));
    if (i == e->line_count - 1)
        write_logits(s, i);
    else if (steps_role(s, i, NULL) != NO_ROLE)
        write_query_key_value(s, i);
    else if (maker >= 0 && line_reads_past(&e->lines[maker]))
        write_projection(s, i);
    else if (activated)
        write_hidden(s, i, reader);
    else
        write_branch_end(s, i);
}
