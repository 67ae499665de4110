#include "programs/report/steps.h"

#include <stdio.h>
#include <math.h>
#include <string.h>

/* ---- vectors, and dot products written out ---- */

/* A vector with its label. */
typedef struct {
    const char *label;
    const float *vector;
} Row;

/* Returns the last token's row. */
static const float *last_of(const Steps *s, const TrilArray *array) {
    return line_row(array, s->last);
}

void show_table(Steps *s, Table table) {
    s->sheet->kind->table(s->sheet, &table);
}

/* Shows rows of so many columns; rows <= TABLE_ROWS. */
static void show_rows(Steps *s, int columns, int rows, const Row *row) {
    const char *labels[TABLE_ROWS];
    for (int r = 0; r < rows; r++) {
        labels[r] = row[r].label;
        memcpy(s->numbers + r * columns, row[r].vector, (size_t)columns * sizeof *s->numbers);
    }
    show_table(
        s, (Table){NULL, labels, s->numbers, (size_t)columns, rows, columns, .across = CHANNELS});
}

/* Shows the last token's row of an array. */
static void show_last(Steps *s, const char *label, const TrilArray *array) {
    show_rows(s, array->width, 1, &(Row){label, last_of(s, array)});
}

/* Shows the rows of all tokens or, once last_only is set, the last one. */
static void show_array(Steps *s, const char *title, const TrilArray *array) {
    if (s->last_only)
        show_last(s, title, array);
    else
        show_table(s, (Table){title, NULL, array->data, array->row, s->e->T, array->width,
                              .across = CHANNELS});
}

/* Writes a dot product out: x and w [n], their products, and the sum with `bias`. Shows at most
 * `bands` lines of numbers, and the sum of the other products. `result` names the sum. */
static void show_dot(Steps *s, Row x, Row w, size_t w_step, int n, const float *bias,
                     const char *result, int bands) {
    int room = bands * s->sheet->kind->fit(s->sheet), shown = room < n ? room : n;
    double sum = bias ? (double)*bias : 0, rest = 0;
    for (int i = 0; i < n; i++) {
        float factor = w.vector[(size_t)i * w_step];
        double product = (double)x.vector[i] * (double)factor;
        sum += product;
        if (i >= shown) {
            rest += product;
            continue;
        }
        s->numbers[i] = x.vector[i];
        s->numbers[shown + i] = factor;
        s->numbers[2 * shown + i] = (float)product;
    }
    const char *const labels[] = {x.label, w.label, "product"};
    show_table(s, (Table){NULL, labels, s->numbers, (size_t)shown, 3, shown, .across = WRAPPED});
    char others[64] = "", and_bias[64] = "";
    if (shown < n)
        snprintf(others, sizeof others, " The other %d products sum to %s.", n - shown,
                 number(rest).text);
    if (bias) snprintf(and_bias, sizeof and_bias, ", plus the bias %s", number((double)*bias).text);
    sheet_say(s->sheet, "%s The sum of all %d products%s: %s = %s.", others, n, and_bias, result,
              number(sum).text);
}

/* Writes out one output of a linear layer for the last token; name[index] is the result's. */
static void show_neuron(Steps *s, int neuron, const char *x_label, const char *name, int index,
                        int bands) {
    const TrilArray *x = &s->line->inputs[0];
    const float *w = s->line->weights[0].data + (size_t)neuron * (size_t)x->width;
    const float *b = s->line->weights[1].data;
    char result[64];
    snprintf(result, sizeof result, "%s[%d]", name, index);
    show_dot(s, (Row){x_label, last_of(s, x)}, (Row){"weight", w}, 1, x->width,
             b ? b + neuron : NULL, result, bands);
}

/* ---- roles ---- */

static const char *const role_names[ROLES] = {"query", "key", "value"};

/* True if the output of the line becomes the queries, keys or values of attention, perhaps through
 * norms of each head and rotations. Sets *columns to those of it that the head reads. */
static bool has_role(const Steps *s, int role, TrilArray *columns) {
    const Explanation *e = s->e;
    for (int a = s->i + 1; a < e->line_count; a++) {
        const TrilLine *attention = &e->lines[a];
        if (!line_has_heads(attention)) continue;
        int heads = attention->heads / (role == QUERY ? 1 : line_sharing(attention));
        TrilLine reader = *attention; /* as if attention read the array itself */
        for (int m; (m = explanation_maker(e, reader.inputs[role].number)) >= s->i;
             reader.inputs[role] = e->lines[m].inputs[0]) {
            bool norm = line_is(&e->lines[m], "rmsnorm") || line_is(&e->lines[m], "layernorm");
            if (norm && e->lines[m].heads != heads) break; /* of the stream, not of heads */
            *columns = line_of_head(&reader, role, s->head);
            if (m == s->i) return true;
            if (!norm && !line_is(&e->lines[m], "rotary")) break;
        }
    }
    return false;
}

/* Returns the name of the line's first role, and sets *columns. NULL: it has none, and *columns are
 * those of the output, or of its first head. */
static const char *role_of(const Steps *s, TrilArray *columns) {
    for (int role = 0; role < ROLES; role++)
        if (has_role(s, role, columns)) return role_names[role];
    *columns = s->line->output;
    if (s->line->heads > 1) columns->width /= s->line->heads;
    return NULL;
}

/* ---- layers that change each vector by itself ---- */

static void write_embedding(Steps *s) {
    const Explanation *e = s->e;
    const TrilLine *line = s->line;
    const int C = line->output.width, id = e->ids[s->last];
    const float *token = line->weights[0].data + (size_t)id * (size_t)C;
    const float *positions = line->weights[1].data;
    char token_label[32], position_label[32];
    bool rotary = false;
    for (int i = 0; i < e->line_count; i++) rotary = rotary || line_is(&e->lines[i], "rotary");
    if (e->line_count == 1) { /* the bigram: the embedding is the table of logits */
        sheet_say(s->sheet,
                  "## Logits: row %d of a table of %d x %d numbers.\n"
                  "Row %d belongs to '%s'. It has a logit for each character that may follow. The "
                  "characters before it do not count, and neither does its position.",
                  id, e->V, e->V, id, s->glyph);
        show_rows(s, C, 1, &(Row){"logits", token});
        return;
    }
    sheet_say(s->sheet, "## Embedding: each character becomes a vector x of %d numbers.", C);
    if (positions) {
        sheet_say(s->sheet,
                  "x = wte[id] + wpe[position]: a row of a table of characters (%s), plus a row of "
                  "a table of positions (%s). So the same character has another x at another "
                  "place. For '%s', id %d at position %d:",
                  line->weights[0].name, line->weights[1].name, s->glyph, id, s->last);
        snprintf(token_label, sizeof token_label, "wte[%d]", id);
        snprintf(position_label, sizeof position_label, "wpe[%d]", s->last);
        show_rows(s, C, 3,
                  (Row[]){{token_label, token},
                          {position_label, positions + (size_t)s->last * (size_t)C},
                          {"x", last_of(s, &line->output)}});
        sheet_say(s->sheet, "x of each character:");
    } else {
        sheet_say(s->sheet,
                  "x = wte[id]: a row of a table (%s). It does not depend on the position%s.",
                  line->weights[0].name,
                  rotary ? ", which enters later, as a rotation of queries and keys" : "");
    }
    show_array(s, NULL, &line->output);
}

static void write_norm(Steps *s) {
    const TrilLine *line = s->line;
    TrilArray own;
    const char *role = role_of(s, &own);
    const int n = own.width;
    const float *x = last_of(s, &line->inputs[0]) + own.offset - line->output.offset;
    const float *y = last_of(s, &own), *w = line->weights[0].data, *b = line->weights[1].data;
    double mean = 0, variance = 0, squares = 0;
    for (int i = 0; i < n; i++) mean += (double)x[i] / n;
    for (int i = 0; i < n; i++) {
        variance += ((double)x[i] - mean) * ((double)x[i] - mean) / n;
        squares += (double)x[i] * (double)x[i] / n;
    }
    if (role)
        sheet_say(s->sheet, "## Norm of each %s: its length no longer counts.", role);
    else
        sheet_say(s->sheet, "## %s: each x is brought to the same scale.",
                  s->i >= s->e->tail ? "Last norm" : "Norm");
    if (line_is(line, "layernorm"))
        sheet_say(s->sheet,
                  "%s, with weight and bias learned. The %d numbers of '%s' have the mean %.6f and "
                  "the variance %.6f:",
                  line->equation, n, s->glyph, mean, variance);
    else
        sheet_say(
            s->sheet,
            "%s, with the weight learned. The mean of the squares of the %d numbers of '%s' is "
            "%.6f:",
            line->equation, n, s->glyph, squares);
    if (b)
        show_rows(s, n, 4, (Row[]){{"x", x}, {"weight", w}, {"bias", b}, {"y", y}});
    else
        show_rows(s, n, 3, (Row[]){{"x", x}, {"weight", w}, {"y", y}});
    if (s->last_only) return;
    sheet_say(s->sheet, "y of each character:");
    show_array(s, NULL, &own);
}

static void write_rotary(Steps *s) {
    TrilArray own;
    const char *role = role_of(s, &own);
    const int half = own.width / 2;
    const float *x = last_of(s, &s->line->inputs[0]) + own.offset - s->line->output.offset;
    const float *y = last_of(s, &own), *cosine = last_of(s, &s->line->inputs[1]);
    const Number a = number((double)x[0]), b = number((double)x[half]);
    sheet_say(s->sheet,
              "## Position: each %s is rotated.\n"
              "Numbers i and i + %d of a head are a point in a plane. It is rotated by the angle "
              "position / 10000^(2 * i / %d). So the score of a query and a key depends on how far "
              "apart they are, not on where they stand. '%s' is at position %d: for i = 0 the "
              "angle is %d, its cosine %.3f and its sine %.3f, and (%s, %s) becomes (%s * cos - "
              "%s * sin, %s * cos + %s * sin) = (%s, %s).",
              role ? role : "vector", half, own.width, s->glyph, s->last, s->last,
              (double)cosine[0], (double)cosine[half], a.text, b.text, a.text, b.text, b.text,
              a.text, number((double)y[0]).text, number((double)y[half]).text);
    show_array(s, NULL, &own);
}

/* True if the line computes numbers from numbers, without weights: between the linear layers of an
 * MLP. With two inputs it is gated. */
static bool is_activation(const TrilLine *line) {
    return !line->weights[0].name && !line_reads_past(line) && !line_is(line, "add") &&
           !line_is(line, "rotary");
}

/* Returns the neuron that is most active for the last character, after its activation function. */
static int most_active(const Steps *s, const TrilLine *activation) {
    const float *row = last_of(s, &activation->output);
    int most = 0;
    for (int c = 1; c < activation->output.width; c++)
        if (fabsf(row[c]) > fabsf(row[most])) most = c;
    return most;
}

static void write_activation(Steps *s) {
    const TrilLine *line = s->line;
    const TrilArray *in = line->inputs;
    const int neuron = most_active(s, line);
    const Number z = number((double)last_of(s, &in[0])[neuron]),
                 y = number((double)last_of(s, &line->output)[neuron]);
    char call[96];
    if (in[1].number == 0)
        snprintf(call, sizeof call, "%s(%s)", line->operation, z.text);
    else
        snprintf(call, sizeof call, line_is(line, "swiglu") ? "silu(%s) * %s" : "(%s, %s)", z.text,
                 number((double)last_of(s, &in[1])[neuron]).text);
    sheet_say(s->sheet, "## %s.\n%s. Neuron %d: %s = %s.", line->title, line->equation, neuron,
              call, y.text);
    show_last(s, "y", &line->output);
}

static double length_of(const float *x, int n) {
    double squares = 0;
    for (int i = 0; i < n; i++) squares += (double)x[i] * (double)x[i];
    return sqrt(squares);
}

static void write_sum(Steps *s) {
    const int n = s->line->output.width;
    const float *x = last_of(s, &s->line->inputs[0]), *added = last_of(s, &s->line->inputs[1]),
                *y = last_of(s, &s->line->output);
    sheet_say(s->sheet, "## %s.", s->line->title);
    show_rows(s, n, 3, (Row[]){{"x", x}, {"added", added}, {"new x", y}});
    sheet_say(s->sheet, "Their lengths: %.3f, %.3f and %.3f.", length_of(x, n), length_of(added, n),
              length_of(y, n));
}

void steps_in_short(Steps *s, int from, int to) {
    bool any = false;
    for (int i = 0; i < s->e->branch_count; i++) {
        const Branch *b = &s->e->branches[i];
        const float *added = last_of(s, &b->added), *x = last_of(s, &b->after);
        const int n = b->after.width;
        if (b->layer < from || b->layer > to) continue;
        if (!any && from == to)
            sheet_say(s->sheet, "## Layer %d in short: what it adds to x of '%s'.", from, s->glyph);
        else if (!any)
            sheet_say(s->sheet, "## Layers %d to %d in short: what they add to x of '%s'.", from,
                      to, s->glyph);
        any = true;
        sheet_say(s->sheet, "Layer %d, %s: adds a vector of length %.3f; x then has length %.3f.",
                  b->layer, b->reads_past ? "attention" : "MLP", length_of(added, n),
                  length_of(x, n));
        show_rows(s, n, 2, (Row[]){{"added", added}, {"new x", x}});
    }
}

/* ---- linear layers, each by its part in the model ---- */

/* Queries, keys and values: one linear layer may make all three. */
static void write_query_key_value(Steps *s) {
    static const struct {
        const char *title, *meaning;
    } roles[] = {{"Query", "A query says what a character looks for."},
                 {"Key", "A key says what a character offers."},
                 {"Value", "A value says what a character passes on."}};
    TrilArray columns[ROLES];
    bool has[ROLES];
    int first = ROLES, count = 0, attention = s->i;
    char meaning[256] = "";
    for (int j = ROLES - 1; j >= 0; j--) {
        has[j] = has_role(s, j, &columns[j]);
        count += has[j];
        if (has[j]) first = j;
    }
    for (int j = first; j < ROLES; j++)
        if (has[j]) {
            size_t used = strlen(meaning);
            snprintf(meaning + used, sizeof meaning - used, "%s%s", j > first ? " " : "",
                     roles[j].meaning);
        }
    sheet_say(s->sheet, "## %s: each vector times a matrix.\n%s",
              count > 1 ? "Query, key and value" : roles[first].title, meaning);
    while (!line_has_heads(&s->e->lines[attention])) attention++;
    int sharing = first == QUERY ? 1 : line_sharing(&s->e->lines[attention]);
    int neighbour = s->head / sharing * sharing, row = columns[first].offset;
    if (sharing > 1)
        sheet_say(s->sheet, "Heads %d %s %d share their %ss.", neighbour,
                  sharing > 2 ? "to" : "and", neighbour + sharing - 1, role_names[first]);
    sheet_say(s->sheet,
              "The matrix is %s. Head %d has %d numbers of each %s; the first one, of '%s', is "
              "its vector times row %d of the matrix:",
              s->line->weights[0].name, s->head, columns[first].width, role_names[first], s->glyph,
              row);
    show_neuron(s, row, "vector", role_names[first], 0, first == QUERY || count > 1 ? 8 : 1);
    for (int j = first; j < ROLES; j++)
        if (has[j]) show_array(s, role_names[j], &columns[j]);
}

/* Each case writes one output of the layer out, then shows all. */
static void write_linear(Steps *s) {
    const Explanation *e = s->e;
    const TrilArray *output = &s->line->output;
    const char *matrix = s->line->weights[0].name;
    const int maker = explanation_maker(e, s->line->inputs[0].number),
              reader = explanation_reader(e, output->number);
    const TrilLine *from = &e->lines[maker < 0 ? s->i : maker],
                   *to = &e->lines[reader < 0 ? s->i : reader];
    const bool gated = to->inputs[1].number != 0;
    TrilArray columns;
    if (s->i == e->line_count - 1) {
        sheet_say(s->sheet,
                  "## Logits: one for each of the %d characters.\n"
                  "The matrix is %s; row n belongs to the character with id n. The higher its "
                  "logit, the likelier it is to come next. The highest is that of '%s', id %d:",
                  e->V, matrix, glyph_of(e->tokenizer, e->first).text, e->first);
        show_neuron(s, e->first, "y", "logit", e->first, 2);
    } else if (role_of(s, &columns)) {
        write_query_key_value(s);
    } else if (line_reads_past(from)) { /* the heads' results, side by side */
        const bool heads = line_heads(from) > 1, mean = !line_has_heads(from);
        sheet_say(s->sheet,
                  "## Output projection: %s times a matrix.\n"
                  "The matrix is %s. %sFrom here on only '%s' is followed, since it is the one "
                  "that predicts. The first number, written out:",
                  heads  ? "the heads, side by side,"
                  : mean ? "the mean"
                         : "the result of the head",
                  matrix, heads ? "Each head fills its own numbers of the vector. " : "", s->glyph);
        show_neuron(s, 0, mean ? "mean" : heads ? "heads" : "head", "added", 0, 1);
        show_last(s, "added", output);
    } else if (is_activation(to)) { /* the neurons of an MLP */
        const int neuron = most_active(s, to);
        const char *name = !gated ? "z" : to->inputs[0].number == output->number ? "gate" : "up";
        sheet_say(s->sheet,
                  "## MLP%s%s: %d neurons, each a dot product with the vector.\n"
                  "The matrix is %s; a row belongs to a neuron. Neuron %d, the most active one for "
                  "'%s', written out:",
                  gated ? ", " : "", gated ? name : "", output->width, matrix, neuron, s->glyph);
        show_neuron(s, neuron, "vector", name, neuron, 2);
        show_last(s, name, output);
    } else { /* the last matrix of a branch that is not attention */
        sheet_say(s->sheet,
                  "## MLP, output: the neurons times a matrix.\n"
                  "The matrix is %s. The first number, written out:",
                  matrix);
        show_neuron(s, 0, "neurons", "added", 0, 1);
        show_last(s, "added", output);
    }
}

/* ---- layers that read other characters ---- */

static void write_convolution(Steps *s) {
    const TrilLine *line = s->line;
    const TrilArray *x = &line->inputs[0];
    const int width = line->output.width, K = line->weights[0].rows;
    const float *taps = line->weights[0].data;
    const char *const labels[TABLE_ROWS] = {"tap 0", "tap 1", "tap 2", "tap 3"};
    char sum[256];
    sheet_say(s->sheet,
              "## Convolution: each x takes a share of the characters before it.\n"
              "To each number of a character it adds the same number of the last %d characters, "
              "its own first, each times a learned weight, a tap (%s):",
              K, line->weights[0].name);
    show_table(s, (Table){NULL, labels, taps, (size_t)width, K < TABLE_ROWS ? K : TABLE_ROWS, width,
                          .across = CHANNELS});
    int length = snprintf(sum, sizeof sum, "%s", number((double)last_of(s, x)[0]).text);
    for (int k = 0; k < K && k <= s->last && length < (int)sizeof sum; k++)
        length += snprintf(sum + length, sizeof sum - (size_t)length, " + %s * %s",
                           number((double)taps[k * width]).text,
                           number((double)line_row(x, s->last - k)[0]).text);
    sheet_say(s->sheet,
              "The first number of '%s' is x plus each tap times that character's x: %s = %s.\n"
              "y of %s:",
              s->glyph, sum, number((double)last_of(s, &line->output)[0]).text,
              s->last_only ? "the last character" : "each character");
    show_array(s, s->last_only ? "y" : NULL, &line->output);
}

/* Shows numbers [T, T]. */
static void show_square(Steps *s, const float *numbers, const char *masked) {
    const int T = s->e->T;
    show_table(s,
               (Table){NULL, NULL, numbers, (size_t)T, T, T, .across = TOKENS, .masked = masked});
}

/* `weights`: of the last token. */
static void write_scores(Steps *s, const float *weights) {
    const TrilArray query = line_of_head(s->line, QUERY, s->head),
                    key = line_of_head(s->line, KEY, s->head);
    const size_t T = (size_t)s->e->T;
    const int n = query.width;
    const float scale = 1.0f / sqrtf((float)n);
    int most = 0; /* the token that the last one reads most */
    for (int t = 1; t <= s->last; t++)
        if (weights[t] > weights[most]) most = t;
    tril_reading_scores(s->e->reading, s->line->layer, s->head, s->square, T * T, NULL);
    sheet_say(s->sheet,
              "## Scores: query . key, of each character (row) with each (column).\n"
              "A high score: the key offers what the query looks for.\n"
              "The score of '%s', at position %d, with the character that it will read most, '%s' "
              "at position %d:",
              s->glyph, s->last, glyph_of(s->e->tokenizer, s->e->ids[most]).text, most);
    show_dot(s, (Row){"query", last_of(s, &query)}, (Row){"key", line_row(&key, most)}, 1, n, NULL,
             "score", 8);
    sheet_say(s->sheet, "All scores:");
    show_square(s, s->square, NULL);
    sheet_say(s->sheet,
              "## Scaled: each score times 1 / sqrt(%d) = %.4f.\n"
              "The more numbers a query has, the larger its scores; the softmax of large scores "
              "takes nearly one character only.",
              n, (double)scale);
    for (size_t i = 0; i < T * T; i++) s->square[i] *= scale;
    show_square(s, s->square, NULL);
    sheet_say(s->sheet, "## Masked by the tril matrix: later characters get -inf.\n"
                        "So no character sees those that it must predict.");
    show_square(s, s->square, "-inf");
}

static void write_attention(Steps *s) {
    const TrilLine *line = s->line;
    const size_t T = (size_t)s->e->T;
    const bool mean = !line_has_heads(line);
    const TrilArray values = line_of_head(line, VALUE, s->head);
    for (int h = 0; h < line_heads(line); h++) {
        float *to = s->weights + (size_t)h * T * T;
        tril_reading_attention(s->e->reading, line->layer, h, to, T * T, NULL);
        s->maps[h] = (HeadMap){line->layer, mean ? -1 : h, to};
    }
    const float *weights = s->maps[s->head].weights, *last = weights + (T - 1) * T;
    if (!mean) write_scores(s, last);
    sheet_say(s->sheet,
              mean ? "## Mean of the past: the weights. Each row sums to 1.\n"
                     "All characters up to this one have the same weight. Here the value of a "
                     "character is its x."
                   : "## Softmax: the weights. Each row sums to 1.\n"
                     "weight = e^score / the sum of e^score over the row.");
    show_square(s, weights, "0");
    sheet_say(s->sheet,
              "The weights as a map: a row is a character, and shows which characters it reads.");
    s->sheet->kind->maps(s->sheet, &s->maps[s->all_heads ? 0 : s->head],
                         s->all_heads ? line_heads(line) : 1);
    sheet_say(s->sheet,
              "## Weighted sum of the values: what each character has read.\n"
              "The first number of '%s': its weights times the first number of each value.",
              s->glyph);
    show_dot(s, (Row){"weight", last}, (Row){"value[0]", values.data}, values.row, s->e->T, NULL,
             "sum[0]", 2);
    TrilArray sum = line->output;
    sum.data += s->head * values.width;
    sum.width = values.width;
    show_array(s, "sum", &sum);
    s->last_only = true;
}

/* ---- all layers ---- */

/* How they are shown. */
static const struct {
    const char *operation;
    void (*write)(Steps *s);
} layers[] = {
    {"embedding", write_embedding},     {"layernorm", write_norm}, {"rmsnorm", write_norm},
    {"convolution", write_convolution}, {"linear", write_linear},  {"rotary", write_rotary},
    {"attention", write_attention},     {"mean", write_attention}, {"add", write_sum}};

void steps_line(Steps *s, int i) {
    s->i = i;
    s->line = &s->e->lines[i];
    if (i >= s->e->tail && i > 0) s->last_only = true;
    for (size_t l = 0; l < sizeof layers / sizeof *layers; l++)
        if (line_is(s->line, layers[l].operation)) {
            layers[l].write(s);
            return;
        }
    if (is_activation(s->line)) {
        write_activation(s);
        return;
    }
    sheet_say(s->sheet, "## %s.\n%s.", s->line->title, s->line->equation); /* another layer */
    show_array(s, "y", &s->line->output);
}
