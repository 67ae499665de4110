/* steps.c - writes each layer in words and numbers. For the layer and head that are written out,
 * one number of each kind is computed from all of its inputs. */
#include "programs/report/explanation.h"
#include "base/array.h"

#include <stdio.h>
#include <math.h>
#include <string.h>

#define say(e, ...) sheet_say((e)->sheet, __VA_ARGS__)
#define SHOWN(x)    number((double)(x)).text

/* ---- vectors, and dot products written out ---- */

/* A vector with its label. */
typedef struct {
    const char *label;
    const float *vector;
} Row;

/* Returns the last token's row. */
static const float *last_of(const Explanation *e, const TrilArray *array) {
    return line_row(array, e->last);
}

static void show_table(Explanation *e, Table table) {
    e->sheet->kind->table(e->sheet, &table);
}

/* Shows row[rows], of `columns` columns each; rows <= TABLE_ROWS. */
static void show_rows(Explanation *e, int columns, int rows, const Row *row) {
    const char *labels[TABLE_ROWS];
    for (int r = 0; r < rows; r++) {
        labels[r] = row[r].label;
        memcpy(e->numbers + r * columns, row[r].vector, (size_t)columns * sizeof *e->numbers);
    }
    show_table(
        e, (Table){NULL, labels, e->numbers, (size_t)columns, rows, columns, .across = CHANNELS});
}

/* Shows the rows of all tokens or, once last_only is set, the last one. */
static void show_array(Explanation *e, const char *title, const TrilArray *array) {
    if (e->last_only)
        show_rows(e, array->width, 1, &(Row){title, last_of(e, array)});
    else
        show_table(e, (Table){title, NULL, array->data, array->row, e->T, array->width,
                              .across = CHANNELS});
}

/* Writes out a dot product: x and w [n], their products, and the sum with `bias`. Shows at most
 * `bands` lines of numbers, and the sum of the other products. `result` names the sum. */
static void show_dot(Explanation *e, Row x, Row w, size_t w_step, int n, const float *bias,
                     const char *result, int bands) {
    const SheetKind *kind = e->sheet->kind;
    const int fit = (e->sheet->columns - kind->label) / kind->number,
              shown = min_int(bands * fit, n);
    double sum = bias ? (double)*bias : 0, rest = 0;
    for (int i = 0; i < n; i++) {
        float factor = w.vector[(size_t)i * w_step];
        double product = (double)x.vector[i] * (double)factor;
        sum += product;
        if (i >= shown) {
            rest += product;
            continue;
        }
        e->numbers[i] = x.vector[i];
        e->numbers[shown + i] = factor;
        e->numbers[2 * shown + i] = (float)product;
    }
    const char *const labels[] = {x.label, w.label, "product"};
    show_table(e, (Table){NULL, labels, e->numbers, (size_t)shown, 3, shown, .across = WRAPPED});
    char others[64] = "", and_bias[64] = "";
    if (shown < n)
        snprintf(others, sizeof others, "The other %d products sum to %s. ", n - shown,
                 SHOWN(rest));
    if (bias) snprintf(and_bias, sizeof and_bias, ", plus the bias %s", SHOWN(*bias));
    say(e, "%sThe sum of all %d products%s: %s = %s.", others, n, and_bias, result, SHOWN(sum));
}

/* Writes out one output of a linear layer for the last token. The result is called name[index]. */
static void show_neuron(Explanation *e, int neuron, const char *x_label, const char *name,
                        int index, int bands) {
    const TrilArray *x = &e->line->inputs[0];
    const float *w = e->line->weights[0].data + (size_t)neuron * (size_t)x->width;
    const float *b = e->line->weights[1].data;
    char result[64];
    snprintf(result, sizeof result, "%s[%d]", name, index);
    show_dot(e, (Row){x_label, last_of(e, x)}, (Row){"weight", w}, 1, x->width,
             b ? b + neuron : NULL, result, bands);
}

/* ---- layers that change each vector by itself ---- */

static const char *const role_names[ROLES] = {"query", "key", "value"};

/* Returns true if the output of the line becomes the queries, keys or values of attention, perhaps
 * through norms of each head and rotations. Sets *columns to the columns that the head reads. */
static bool has_role(const Explanation *e, int role, TrilArray *columns) {
    for (int a = e->i + 1; a < e->line_count; a++) {
        const TrilLine *attention = &e->lines[a];
        if (!line_has_heads(attention)) continue;
        int heads = attention->heads / (role == QUERY ? 1 : line_sharing(attention));
        TrilLine reader = *attention; /* as if attention read the array itself */
        for (int m; (m = explanation_maker(e, reader.inputs[role].number)) >= e->i;
             reader.inputs[role] = e->lines[m].inputs[0]) {
            bool norm = line_is(&e->lines[m], "rmsnorm") || line_is(&e->lines[m], "layernorm");
            if (norm && e->lines[m].heads != heads)
                break; /* this norm is of the stream, not of a head */
            *columns = line_of_head(&reader, role, e->head);
            if (m == e->i) return true;
            if (!norm && !line_is(&e->lines[m], "rotary")) break;
        }
    }
    return false;
}

/* Returns the name of the line's first role, or NULL if it has none. Sets *columns to those of the
 * role, else to those of the output or of its first head. */
static const char *role_of(const Explanation *e, TrilArray *columns) {
    for (int role = 0; role < ROLES; role++)
        if (has_role(e, role, columns)) return role_names[role];
    *columns = e->line->output;
    if (e->line->heads > 1) columns->width /= e->line->heads;
    return NULL;
}

/* Writes the layer's heading and equation. `role` is a result of role_of. */
static void write_heading(Explanation *e, const char *role) {
    const char *title = e->line->title;
    const int name = (int)strcspn(title, ":");
    say(e, "## %.*s%s%s%s.\n%s.", name, title, role ? " of each " : "", role ? role : "",
        title + name, e->line->equation);
}

static void write_embedding(Explanation *e) {
    const TrilLine *line = e->line;
    const int C = line->output.width, id = e->ids[e->last];
    const float *token = line->weights[0].data + (size_t)id * (size_t)C;
    const float *positions = line->weights[1].data;
    char token_label[32], position_label[32];
    if (e->line_count == 1) { /* the bigram: the embedding is the table of logits */
        say(e,
            "## Logits: row %d of a table of %d x %d numbers.\n"
            "Row %d belongs to '%s'. It has a logit for each character that may follow. The "
            "characters before it do not matter, and neither does its position.",
            id, e->V, e->V, id, e->glyph);
        show_rows(e, C, 1, &(Row){"logits", token});
        return;
    }
    say(e, "## %s.", line->title);
    if (positions) {
        say(e, "x = wte[id] + wpe[position], rows of the tables %s and %s. For '%s':",
            line->weights[0].name, line->weights[1].name, e->glyph);
        snprintf(token_label, sizeof token_label, "wte[%d]", id);
        snprintf(position_label, sizeof position_label, "wpe[%d]", e->last);
        show_rows(e, C, 3,
                  (Row[]){{token_label, token},
                          {position_label, positions + (size_t)e->last * (size_t)C},
                          {"x", last_of(e, &line->output)}});
    } else {
        say(e, "x = wte[id], a row of the table %s. It does not depend on the position.",
            line->weights[0].name);
    }
    show_array(e, "x", &line->output);
}

static void write_norm(Explanation *e) {
    const TrilLine *line = e->line;
    TrilArray own;
    write_heading(e, role_of(e, &own));
    const int n = own.width;
    const float *x = last_of(e, &line->inputs[0]) + own.offset - line->output.offset;
    const float *y = last_of(e, &own), *w = line->weights[0].data, *b = line->weights[1].data;
    double mean = 0, variance = 0, squares = 0;
    for (int i = 0; i < n; i++) mean += (double)x[i] / n;
    for (int i = 0; i < n; i++) {
        variance += ((double)x[i] - mean) * ((double)x[i] - mean) / n;
        squares += (double)x[i] * (double)x[i] / n;
    }
    if (line_is(line, "layernorm"))
        say(e, "The %d numbers of '%s' have the mean %.6f and the variance %.6f:", n, e->glyph,
            mean, variance);
    else
        say(e, "The mean of the squares of the %d numbers of '%s' is %.6f:", n, e->glyph, squares);
    if (b)
        show_rows(e, n, 4, (Row[]){{"x", x}, {"weight", w}, {"bias", b}, {"y", y}});
    else
        show_rows(e, n, 3, (Row[]){{"x", x}, {"weight", w}, {"y", y}});
    if (!e->last_only) show_array(e, "y", &own);
}

static void write_rotary(Explanation *e) {
    TrilArray own;
    write_heading(e, role_of(e, &own));
    const int half = own.width / 2;
    const float *x = last_of(e, &e->line->inputs[0]) + own.offset - e->line->output.offset;
    const float *y = last_of(e, &own), *cosine = last_of(e, &e->line->inputs[1]);
    const Number a = number((double)x[0]), b = number((double)x[half]);
    say(e,
        "So the score of a query and a key depends on how far apart they are, not on where they "
        "stand. '%s' is at position %d, and n is %d: for i = 0 the angle is %d, its cosine %.3f "
        "and its sine %.3f, and (%s, %s) becomes (%s * cos - %s * sin, %s * cos + %s * sin) = (%s, "
        "%s).",
        e->glyph, e->last, own.width, e->last, (double)cosine[0], (double)cosine[half], a.text,
        b.text, a.text, b.text, b.text, a.text, SHOWN(y[0]), SHOWN(y[half]));
    show_array(e, "y", &own);
}

static void write_convolution(Explanation *e) {
    static const char *const labels[TABLE_ROWS] = {"tap 0", "tap 1", "tap 2", "tap 3"};
    const TrilLine *line = e->line;
    const TrilArray *x = &line->inputs[0];
    const int width = line->output.width, K = line->weights[0].rows;
    const float *taps = line->weights[0].data;
    char sum[256];
    write_heading(e, NULL);
    say(e, "The taps, learned weights of the last %d characters (%s):", K, line->weights[0].name);
    show_table(e, (Table){NULL, labels, taps, (size_t)width, min_int(K, TABLE_ROWS), width,
                          .across = CHANNELS});
    int length = snprintf(sum, sizeof sum, "%s", SHOWN(last_of(e, x)[0]));
    for (int k = 0; k < K && k <= e->last && length < (int)sizeof sum; k++)
        length += snprintf(sum + length, sizeof sum - (size_t)length, " + %s * %s",
                           SHOWN(taps[k * width]), SHOWN(line_row(x, e->last - k)[0]));
    say(e, "The first number of '%s' is x plus each tap times that character's x: %s = %s.",
        e->glyph, sum, SHOWN(last_of(e, &line->output)[0]));
    show_array(e, "y", &line->output);
}

/* Writes the likeliest characters after the last one, according to counting. */
static void write_counted(Explanation *e) {
    const TrilArray *roots = &e->line->output;
    const int match = tril_reading_match(e->reading, e->last);
    char matched[128];
    glyph_line(e->tokenizer, e->ids + e->T - match, match, match * GLYPH_COLUMNS, matched,
               sizeof matched);
    write_heading(e, NULL);
    if (match > 0)
        say(e,
            "The counted text contains the end of this text, '%s' (length %d). The likeliest "
            "characters after it:",
            matched, match);
    else
        say(e, "'%s' does not occur in the counted text. The likeliest characters:", e->glyph);
    for (int v = 0; v < e->V; v++) e->numbers[v] = 2 * logf(last_of(e, roots)[v]);
    const Ranking r = ranking(e->tokenizer, e->numbers);
    e->sheet->kind->bars(e->sheet, &(Bars){NULL, r.bars, r.count, .shares = true}, 1);
    show_array(e, "sqrt(p)", roots);
}

/* Writes the sum of the network's and counting's logits, and the predictions of each alone. */
static void write_trusted(Explanation *e) {
    const float *own = last_of(e, &e->line->inputs[0]), *z = last_of(e, &e->line->inputs[2]);
    const double trust = (double)*last_of(e, &e->line->inputs[1]),
                 mine = ranking(e->tokenizer, own).log_sum;
    const int first = e->next.ids[0];
    Bar counting[LIKELIEST], network[LIKELIEST];
    for (int i = 0; i < e->next.count; i++) {
        const int id = e->next.ids[i];
        counting[i] = network[i] = e->next.bars[i];
        counting[i].logit = (double)z[id];
        network[i].logit = (double)own[id];
        counting[i].value = exp(counting[i].logit);
        network[i].value = exp(network[i].logit - mine);
    }
    write_heading(e, NULL);
    say(e,
        "For '%s': %s + (1 + %s) * %s = %s. The likeliest next characters, as predicted by counting alone (with ln p), by the network alone (x) and by both together (y):",
        glyph_of(e->tokenizer, first).text, SHOWN(own[first]), SHOWN(trust), SHOWN(z[first]),
        SHOWN(last_of(e, &e->line->output)[first]));
    e->sheet->kind->bars(e->sheet,
                         (Bars[]){{"counting", counting, e->next.count, true, true},
                                  {"the network", network, e->next.count, true, true},
                                  {"together", e->next.bars, e->next.count, true, true}},
                         3);
}

/* Returns true if the line computes numbers from numbers, without weights: between the linear
 * layers of an MLP. With two inputs it is gated. */
static bool is_activation(const TrilLine *line) {
    return !line->weights[0].name && !line->attends && !line_is(line, "add") &&
           !line_is(line, "rotary") && !line_is(line, "counted") && !line_is(line, "trusted");
}

/* Returns how active a neuron is: its number y or, with a gate, how far that is from 0. */
static double activity(const TrilLine *activation, double y) {
    return activation->inputs[1].number == 0 ? y : fabs(y);
}

/* Returns the neuron that is most active for the last character, after its activation function. */
static int most_active(const Explanation *e, const TrilLine *activation) {
    const float *row = last_of(e, &activation->output);
    int most = 0;
    for (int c = 1; c < activation->output.width; c++)
        if (activity(activation, (double)row[c]) > activity(activation, (double)row[most]))
            most = c;
    return most;
}

/* Writes where a neuron is most active, by the characters that end there, if it is at least a tenth
 * as active as at the first. */
static void write_firing(Explanation *e, const TrilLine *activation, int neuron) {
    enum { MOST = 5, BEFORE = 5 };
    Bar bars[MOST + 1] = {{.value = 0}};
    int count = 0, at;
    for (int t = 0; t < e->T; t++) {
        Bar bar = {.value = (double)line_row(&activation->output, t)[neuron]};
        for (int s = t < BEFORE ? 0 : t - BEFORE; s <= t; s++) {
            const Glyph glyph = glyph_of(e->tokenizer, e->ids[s]);
            const size_t used = strlen(bar.label), more = strlen(glyph.text) + 1;
            if (used + more <= BAR_LABEL) memcpy(bar.label + used, glyph.text, more);
        }
        const double own = activity(activation, bar.value);
        for (at = count; at > 0 && activity(activation, bars[at - 1].value) < own; at--)
            bars[at] = bars[at - 1];
        bars[at] = bar;
        if (count < MOST) count++;
    }
    const double least = activity(activation, bars[0].value) / 10;
    while (count > 1 && activity(activation, bars[count - 1].value) < least) count--;
    e->sheet->kind->bars(e->sheet, &(Bars){NULL, bars, count, false, false}, 1);
}

/* Writes an activation, first where a neuron is active; or a layer without a function of its own
 * here. */
static void write_other(Explanation *e) {
    const TrilLine *line = e->line;
    const TrilArray *in = line->inputs;
    char call[96];
    if (is_activation(line)) {
        const int neuron = most_active(e, line);
        const Number z = number((double)last_of(e, &in[0])[neuron]);
        if (in[1].number == 0)
            snprintf(call, sizeof call, "%s(%s)", line->operation, z.text);
        else
            snprintf(call, sizeof call, line_is(line, "swiglu") ? "silu(%s) * %s" : "(%s, %s)",
                     z.text, SHOWN(last_of(e, &in[1])[neuron]));
        say(e,
            "## %s.\nNeuron %d is the most active one at '%s'. Of the %d characters read, it is most active "
            "after:",
            line->title, neuron, e->glyph, e->T);
        write_firing(e, line, neuron);
        say(e, "At '%s' it is %s = %s: %s.", e->glyph, call,
            SHOWN(last_of(e, &line->output)[neuron]), line->equation);
    } else
        write_heading(e, NULL);
    show_array(e, "y", &line->output);
}

static double length_of(const float *x, int n) {
    double squares = 0;
    for (int i = 0; i < n; i++) squares += (double)x[i] * (double)x[i];
    return sqrt(squares);
}

static void write_sum(Explanation *e) {
    const int n = e->line->output.width;
    const float *x = last_of(e, &e->line->inputs[0]), *added = last_of(e, &e->line->inputs[1]),
                *y = last_of(e, &e->line->output);
    write_heading(e, NULL);
    show_rows(e, n, 3, (Row[]){{"x", x}, {"added", added}, {"new x", y}});
    say(e, "Their lengths: %.3f, %.3f and %.3f.", length_of(x, n), length_of(added, n),
        length_of(y, n));
    if (!e->last_only) show_array(e, "x", &e->line->output);
}

void steps_in_short(Explanation *e, int from, int to) {
    for (int i = 0, shown = 0; i < e->branch_count; i++) {
        const Branch *b = &e->branches[i];
        const float *added = last_of(e, &b->added), *x = last_of(e, &b->after);
        const int n = b->after.width;
        if (b->layer < from || b->layer > to) continue;
        if (shown++ == 0 && from == to)
            say(e, "## Layer %d in short: the vectors that it adds to x of '%s'.", from, e->glyph);
        else if (shown == 1)
            say(e, "## Layers %d to %d in short: the vectors that they add to x of '%s'.", from, to,
                e->glyph);
        say(e, "Layer %d, %s: adds a vector of length %.3f; x then has length %.3f.", b->layer,
            b->reads_past ? "attention" : "MLP", length_of(added, n), length_of(x, n));
        show_rows(e, n, 2, (Row[]){{"added", added}, {"new x", x}});
    }
}

/* ---- linear layers, each by its part in the model ---- */

/* Writes queries, keys and values. One linear layer may make all three. */
static void write_query_key_value(Explanation *e) {
    static const char *const titles[ROLES] = {"Query", "Key", "Value"};
    static const char *const meanings[ROLES] = {"A query says what a character looks for. ",
                                                "A key says what a character offers. ",
                                                "A value says what a character passes on. "};
    TrilArray columns[ROLES] = {0};
    bool has[ROLES];
    int first = 0, count = 0, attention = e->i;
    for (int j = ROLES - 1; j >= 0; j--) {
        has[j] = has_role(e, j, &columns[j]);
        count += has[j];
        if (has[j]) first = j;
    }
    while (!line_has_heads(&e->lines[attention])) attention++;
    const int sharing = first == QUERY ? 1 : line_sharing(&e->lines[attention]),
              neighbor = e->head / sharing * sharing, row = columns[first].offset;
    const char *name = role_names[first];
    say(e, "## %s: each vector times a matrix.\n%s%s%s",
        count > 1 ? "Query, key and value" : titles[first], has[QUERY] ? meanings[QUERY] : "",
        has[KEY] ? meanings[KEY] : "", has[VALUE] ? meanings[VALUE] : "");
    if (sharing > 1)
        say(e, "Heads %d %s %d share their %ss.", neighbor, sharing > 2 ? "to" : "and",
            neighbor + sharing - 1, name);
    say(e,
        "The matrix is %s. Head %d has %d numbers of each %s; the first one, of '%s', is its "
        "vector times row %d of the matrix:",
        e->line->weights[0].name, e->head, columns[first].width, name, e->glyph, row);
    show_neuron(e, row, "vector", name, 0, first == QUERY || count > 1 ? 8 : 1);
    for (int j = first; j < ROLES; j++)
        if (has[j]) show_array(e, role_names[j], &columns[j]);
}

/* Writes a linear layer by its part in the model: one output in numbers, then all. */
static void write_linear(Explanation *e) {
    const TrilArray *output = &e->line->output;
    const char *matrix = e->line->weights[0].name, *name = "added";
    const int maker = explanation_maker(e, e->line->inputs[0].number),
              reader = explanation_reader(e, output->number);
    const TrilLine *from = &e->lines[maker < 0 ? e->i : maker],
                   *to = &e->lines[reader < 0 ? e->i : reader];
    TrilArray columns;
    if (e->i == e->line_count - 1 || (to == e->trusted && !explanation_trusts(e, e->i))) {
        const int first = e->next.ids[0];
        say(e,
            "## Logits%s: one for each of the %d characters.\n"
            "The matrix is %s; row n belongs to the character with id n. The higher its logit, the "
            "likelier it is to come next. %s '%s', id %d:",
            e->trusted ? " of the network" : "", e->V, matrix,
            e->trusted ? "After counting has added its own, the highest is that of"
                       : "The highest is that of",
            glyph_of(e->tokenizer, first).text, first);
        show_neuron(e, first, "y", "logit", first, 2);
        return;
    }
    if (role_of(e, &columns)) {
        write_query_key_value(e);
        return;
    }
    if (explanation_trusts(e, e->i)) {
        say(e,
            "## Trust: how far the network follows the counts here.\n"
            "The matrix is %s. The counts have the weight 1 + trust:",
            matrix);
        show_neuron(e, 0, "y", "trust", 0, 1);
        return;
    }
    if (explanation_reads_counts(e, e->i)) {
        say(e,
            "## Counts as vectors: sqrt(p) times a matrix.\n"
            "The matrix is %s; column n belongs to the character with id n. The first number of "
            "'%s', written out:",
            matrix, e->glyph);
        show_neuron(e, 0, "sqrt(p)", name, 0, 8);
    } else if (from->attends) { /* the heads' results, side by side */
        const bool heads = line_heads(from) > 1;
        const char *what = heads ? "heads" : line_has_heads(from) ? "head" : "mean";
        say(e,
            "## Output projection: the result of the %s times a matrix.\n"
            "The matrix is %s. %sFrom here on only '%s' is followed, since it is the one that "
            "predicts. The first number, written out:",
            what, matrix, heads ? "Each head fills its own numbers of the vector. " : "", e->glyph);
        show_neuron(e, 0, what, name, 0, 1);
    } else if (is_activation(to)) { /* the neurons of an MLP */
        const int neuron = most_active(e, to);
        const bool gated = to->inputs[1].number != 0;
        name = !gated ? "z" : to->inputs[0].number == output->number ? "gate" : "up";
        say(e,
            "## MLP%s%s: %d neurons, each a dot product with the vector.\n"
            "The matrix is %s; a row belongs to a neuron. Neuron %d, the most active one for '%s', "
            "written out:",
            gated ? ", " : "", gated ? name : "", output->width, matrix, neuron, e->glyph);
        show_neuron(e, neuron, "vector", name, neuron, 2);
    } else { /* the last matrix of a branch that is not attention */
        say(e,
            "## MLP, output: the neurons times a matrix.\n"
            "The matrix is %s. The first number, written out:",
            matrix);
        show_neuron(e, 0, "neurons", name, 0, 1);
    }
    show_array(e, name, output);
}

/* ---- attention ---- */

/* Shows numbers [T, T]. */
static void show_square(Explanation *e, const float *numbers, const char *masked) {
    const int T = e->T;
    show_table(e,
               (Table){NULL, NULL, numbers, (size_t)T, T, T, .across = TOKENS, .masked = masked});
}

/* Writes the scores, also scaled and masked. `weights` are those of the last token. */
static void write_scores(Explanation *e, const float *weights) {
    const TrilArray query = line_of_head(e->line, QUERY, e->head),
                    key = line_of_head(e->line, KEY, e->head);
    const size_t T = (size_t)e->T;
    const float scale = 1.0f / sqrtf((float)query.width);
    int most = 0; /* the token that the last one reads most */
    for (int t = 1; t <= e->last; t++)
        if (weights[t] > weights[most]) most = t;
    tril_reading_scores(e->reading, e->line->layer, e->head, e->square, T * T, NULL);
    say(e,
        "## Scores: query . key, of each character (row) with each (column).\nA high score means "
        "that the key offers what the query looks for.\nThe score of '%s', at position %d, with "
        "the character that it will read most, '%s' at position %d:",
        e->glyph, e->last, glyph_of(e->tokenizer, e->ids[most]).text, most);
    show_dot(e, (Row){"query", last_of(e, &query)}, (Row){"key", line_row(&key, most)}, 1,
             query.width, NULL, "score", 8);
    say(e, "All scores:");
    show_square(e, e->square, NULL);
    say(e,
        "## Scaled: each score times 1 / sqrt(%d) = %.4f.\nThe more numbers a query has, the "
        "larger its scores; with large scores, the softmax puts almost all its weight on one character.",
        query.width, (double)scale);
    for (size_t i = 0; i < T * T; i++) e->square[i] *= scale;
    show_square(e, e->square, NULL);
    say(e, "## Masked by the tril matrix: later characters get -inf.\n"
           "So no character sees those that it must predict.");
    show_square(e, e->square, "-inf");
}

static void write_attention(Explanation *e) {
    const TrilLine *line = e->line;
    const size_t T = (size_t)e->T;
    const bool mean = !line_has_heads(line);
    const TrilArray values = line_of_head(line, VALUE, e->head);
    for (int h = 0; h < line_heads(line); h++) {
        float *to = e->weights + (size_t)h * T * T;
        tril_reading_attention(e->reading, line->layer, h, to, T * T, NULL);
        e->maps[h] = (HeadMap){line->layer, mean ? NO_HEAD : h, to};
    }
    const float *weights = e->maps[e->head].weights, *last = weights + (T - 1) * T;
    if (!mean) write_scores(e, last);
    say(e, mean ? "## Mean of the past: the weights. Each row sums to 1.\n"
                  "All characters up to this one have the same weight. Here the value of a "
                  "character is its x."
                : "## Softmax: the weights. Each row sums to 1.\n"
                  "weight = e^score / the sum of e^score over the row.");
    show_square(e, weights, "0");
    say(e, "The weights as a map: a row is a character, and shows which characters it reads.");
    e->sheet->kind->maps(e->sheet, &e->maps[e->all_heads ? 0 : e->head],
                         e->all_heads ? line_heads(line) : 1);
    say(e,
        "## Weighted sum: each character mixes the values that it reads.\n"
        "The first number of '%s': its weights times the first number of each value.",
        e->glyph);
    show_dot(e, (Row){"weight", last}, (Row){"value[0]", values.data}, values.row, e->T, NULL,
             "sum[0]", 2);
    TrilArray sum = line->output;
    sum.data += e->head * values.width;
    sum.width = values.width;
    show_array(e, "sum", &sum);
    e->last_only = true;
}

/* ---- dispatch ---- */

void steps_line(Explanation *e, int i) {
    static const struct {
        const char *operation;
        void (*write)(Explanation *e);
    } layers[] = {
        {"embedding", write_embedding},     {"layernorm", write_norm}, {"rmsnorm", write_norm},
        {"convolution", write_convolution}, {"linear", write_linear},  {"rotary", write_rotary},
        {"attention", write_attention},     {"mean", write_attention}, {"add", write_sum},
        {"counted", write_counted},         {"trusted", write_trusted}};
    e->i = i;
    e->line = &e->lines[i];
    if (i >= e->tail && i > 0) e->last_only = true;
    for (size_t l = 0; l < sizeof layers / sizeof *layers; l++)
        if (line_is(e->line, layers[l].operation)) {
            layers[l].write(e);
            return;
        }
    write_other(e);
}
