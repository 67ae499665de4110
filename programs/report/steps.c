#include "programs/report/steps.h"

#include <math.h>
#include <string.h>

/* ---- vectors, and dot products written out ---- */

const float *last_of(const Steps *s, const TrilArray *array) {
    return line_row(array, s->last);
}

void show_rows(Steps *s, int rows, const char *const *labels, const float *const *vectors,
               int columns) {
    for (int r = 0; r < rows; r++)
        memcpy(s->numbers + (size_t)r * (size_t)columns, vectors[r],
               (size_t)columns * sizeof *s->numbers);
    s->sheet->kind->table(s->sheet, &(Table){.labels = labels,
                                             .numbers = s->numbers,
                                             .row = (size_t)columns,
                                             .rows = rows,
                                             .columns = columns});
}

/* Shows the last token's row of an array. */
static void show_last(Steps *s, const char *label, const TrilArray *array) {
    const float *row = last_of(s, array);
    show_rows(s, 1, &label, &row, array->width);
}

/* Shows the rows of all tokens or, once last_only is set, the last one. */
static void show_array(Steps *s, const char *title, const TrilArray *array) {
    if (s->last_only)
        show_last(s, title, array);
    else
        s->sheet->kind->table(s->sheet, &(Table){.title = title,
                                                 .numbers = array->data,
                                                 .row = array->row,
                                                 .rows = s->e->T,
                                                 .columns = array->width});
}

/* Writes a dot product out: x and w [n], their products, and the sum with `bias`. Shows at most
 * `bands` lines of numbers, and the sum of the other products. `result` names the sum. */
static void show_dot(Steps *s, const char *x_label, const float *x, const char *w_label,
                     const float *w, size_t w_step, int n, const float *bias, const char *result,
                     int bands) {
    int shown = bands * s->sheet->fit_labelled < n ? bands * s->sheet->fit_labelled : n;
    double sum = bias ? (double)*bias : 0, rest = 0;
    for (int i = 0; i < n; i++) {
        double factor = (double)w[(size_t)i * w_step], product = (double)x[i] * factor;
        sum += product;
        if (i >= shown) {
            rest += product;
            continue;
        }
        s->numbers[i] = x[i];
        s->numbers[shown + i] = (float)factor;
        s->numbers[2 * shown + i] = (float)product;
    }
    s->sheet->kind->table(s->sheet,
                          &(Table){.labels = (const char *[]){x_label, w_label, "product"},
                                   .numbers = s->numbers,
                                   .row = (size_t)shown,
                                   .rows = 3,
                                   .columns = shown,
                                   .across = WRAPPED});
    char others[64] = "", and_bias[64] = "";
    if (shown < n)
        snprintf(others, sizeof others, " The other %d products sum to %s.", n - shown,
                 number(rest).text);
    if (bias) snprintf(and_bias, sizeof and_bias, ", plus the bias %s", number((double)*bias).text);
    sheet_say(s->sheet, TEXT, "%s The sum of all %d products%s: %s = %s.", others, n, and_bias,
              result, number(sum).text);
}

/* Writes out one output of a linear layer for the last token; name[index] is the result's. */
static void show_neuron(Steps *s, int neuron, const char *x_label, const char *name, int index,
                        int bands) {
    int in = s->line->inputs[0].width;
    const float *w = s->line->weights[0].data + (size_t)neuron * (size_t)in;
    const float *b = s->line->weights[1].data;
    char result[64];
    snprintf(result, sizeof result, "%s[%d]", name, index);
    show_dot(s, x_label, last_of(s, &s->line->inputs[0]), "weight", w, 1, in, b ? b + neuron : NULL,
             result, bands);
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

/* ---- embeddings ---- */

static void write_embedding(Steps *s) {
    const Explanation *e = s->e;
    const TrilLine *line = s->line;
    const int C = line->output.width, id = e->ids[s->last];
    const float *token = line->weights[0].data + (size_t)id * (size_t)C;
    const float *positions = line->weights[1].data;
    bool rotary = false;
    for (int i = 0; i < e->line_count; i++) rotary = rotary || line_is(&e->lines[i], "rotary");
    if (e->line_count == 1) { /* the bigram: the embedding is the table of logits */
        sheet_say(s->sheet, HEADING, "Logits: row %d of a table of %d x %d numbers.", id, e->V,
                  e->V);
        sheet_say(s->sheet, TEXT,
                  "Row %d belongs to '%s'. It has a logit for each character that may follow. The "
                  "characters before it do not count, and neither does its position.",
                  id, s->glyph);
        show_rows(s, 1, (const char *[]){"logits"}, &token, C);
        return;
    }
    sheet_say(s->sheet, HEADING, "Embedding: each character becomes a vector x of %d numbers.", C);
    if (positions) {
        char labels[2][32];
        snprintf(labels[0], sizeof labels[0], "wte[%d]", id);
        snprintf(labels[1], sizeof labels[1], "wpe[%d]", s->last);
        sheet_say(s->sheet, TEXT,
                  "x = wte[id] + wpe[position]: a row of a table of characters (%s), plus a row of "
                  "a table of positions (%s). So the same character has another x at another "
                  "place. For '%s', id %d at position %d:",
                  line->weights[0].name, line->weights[1].name, s->glyph, id, s->last);
        show_rows(s, 3, (const char *[]){labels[0], labels[1], "x"},
                  (const float *[]){token, positions + (size_t)s->last * (size_t)C,
                                    last_of(s, &line->output)},
                  C);
        sheet_say(s->sheet, TEXT, "x of each character:");
    } else {
        sheet_say(s->sheet, TEXT,
                  "x = wte[id]: a row of a table (%s). It does not depend on the "
                  "position%s.",
                  line->weights[0].name,
                  rotary ? ", which enters later, as a rotation of queries and keys" : "");
    }
    show_array(s, NULL, &line->output);
}

/* ---- layers that change each vector by itself ---- */

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
        sheet_say(s->sheet, HEADING, "Norm of each %s: its length no longer counts.", role);
    else
        sheet_say(s->sheet, HEADING, "%s: each x is brought to the same scale.",
                  s->i >= s->e->tail ? "Last norm" : "Norm");
    if (line_is(line, "layernorm"))
        sheet_say(s->sheet, TEXT,
                  "y = (x - mean) / sqrt(variance + 0.00001) * weight + bias, with weight and bias "
                  "learned. The %d numbers of '%s' have the mean %.6f and the variance %.6f:",
                  n, s->glyph, mean, variance);
    else
        sheet_say(
            s->sheet, TEXT,
            "y = x / sqrt(mean of x^2 + 0.000001) * weight, with the weight learned. The mean "
            "of the squares of the %d numbers of '%s' is %.6f:",
            n, s->glyph, squares);
    show_rows(s, b ? 4 : 3, (const char *[]){"x", "weight", b ? "bias" : "y", "y"},
              (const float *[]){x, w, b ? b : y, y}, n);
    if (s->last_only) return;
    sheet_say(s->sheet, TEXT, "y of each character:");
    show_array(s, NULL, &own);
}

static void write_rotary(Steps *s) {
    TrilArray own;
    const char *role = role_of(s, &own);
    const int half = own.width / 2;
    const float *x = last_of(s, &s->line->inputs[0]) + own.offset - s->line->output.offset;
    const float *y = last_of(s, &own), *cosine = last_of(s, &s->line->inputs[1]);
    const Number a = number((double)x[0]), b = number((double)x[half]);
    sheet_say(s->sheet, HEADING, "Position: each %s is rotated.", role ? role : "vector");
    sheet_say(s->sheet, TEXT,
              "Numbers i and i + %d of a head are a point in a plane. It is rotated by the angle "
              "position / 10000^(2 * i / %d). So the score of a query and a key depends on how far "
              "apart they are, not on where they stand. '%s' is at position %d: for i = 0 the "
              "angle is %d, its cosine %.3f and its sine %.3f, and (%s, %s) becomes (%s * cos - "
              "%s * sin, %s * cos + %s * sin) = (%s, %s).",
              half, own.width, s->glyph, s->last, s->last, (double)cosine[0], (double)cosine[half],
              a.text, b.text, a.text, b.text, b.text, a.text, number((double)y[0]).text,
              number((double)y[half]).text);
    show_array(s, NULL, &own);
}

static void write_convolution(Steps *s) {
    const TrilLine *line = s->line;
    const TrilArray *x = &line->inputs[0];
    const int width = line->output.width, K = line->weights[0].rows;
    char names[TABLE_ROWS][16], sum[256];
    const char *labels[TABLE_ROWS];
    const float *rows[TABLE_ROWS], *taps = line->weights[0].data;
    int shown = K < TABLE_ROWS ? K : TABLE_ROWS;
    for (int k = 0; k < shown; k++) {
        snprintf(names[k], sizeof names[k], "tap %d", k);
        labels[k] = names[k];
        rows[k] = taps + k * width;
    }
    sheet_say(s->sheet, HEADING, "Convolution: each x takes a share of the characters before it.");
    sheet_say(s->sheet, TEXT,
              "To each number of a character it adds the same number of the last %d characters, "
              "its own first, each times a learned weight, a tap (%s):",
              K, line->weights[0].name);
    show_rows(s, shown, labels, rows, width);
    int length = snprintf(sum, sizeof sum, "%s", number((double)last_of(s, x)[0]).text);
    for (int k = 0; k < K && k <= s->last && length < (int)sizeof sum; k++)
        length += snprintf(sum + length, sizeof sum - (size_t)length, " + %s * %s",
                           number((double)taps[k * width]).text,
                           number((double)line_row(x, s->last - k)[0]).text);
    sheet_say(s->sheet, TEXT,
              "The first number of '%s' is x plus each tap times that character's x: %s = %s.",
              s->glyph, sum, number((double)last_of(s, &line->output)[0]).text);
    sheet_say(s->sheet, TEXT, "y of %s:", s->last_only ? "the last character" : "each character");
    show_array(s, s->last_only ? "y" : NULL, &line->output);
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
    const TrilArray *in = s->line->inputs;
    const int neuron = most_active(s, s->line);
    const Number z = number((double)last_of(s, &in[0])[neuron]),
                 y = number((double)last_of(s, &s->line->output)[neuron]);
    if (line_is(s->line, "swiglu")) {
        sheet_say(s->sheet, HEADING, "SwiGLU: the gate decides how much of each neuron passes.");
        sheet_say(s->sheet, TEXT,
                  "y = silu(gate) * up, with silu(g) = g / (1 + e^-g). Neuron %d: silu(%s) * %s = "
                  "%s.",
                  neuron, z.text, number((double)last_of(s, &in[1])[neuron]).text, y.text);
    } else {
        sheet_say(s->sheet, HEADING, "GELU: small and negative numbers nearly become 0.");
        sheet_say(s->sheet, TEXT,
                  "y = z * (1 + tanh(sqrt(2 / pi) * (z + 0.044715 * z^3))) / 2. Neuron %d: "
                  "gelu(%s) = %s.",
                  neuron, z.text, y.text);
    }
    show_last(s, "y", &s->line->output);
}

double length_of(const float *x, int n) {
    double squares = 0;
    for (int i = 0; i < n; i++) squares += (double)x[i] * (double)x[i];
    return sqrt(squares);
}

static void write_sum(Steps *s) {
    const int n = s->line->output.width;
    const float *const rows[] = {last_of(s, &s->line->inputs[0]), last_of(s, &s->line->inputs[1]),
                                 last_of(s, &s->line->output)};
    sheet_say(s->sheet, HEADING, "Residual sum: what the branch computed is added to x.");
    show_rows(s, 3, (const char *[]){"x", "added", "new x"}, rows, n);
    sheet_say(s->sheet, TEXT, "Their lengths: %.3f, %.3f and %.3f.", length_of(rows[0], n),
              length_of(rows[1], n), length_of(rows[2], n));
}

/* ---- linear layers, each by its part in the model ---- */

/* Queries, keys and values: one linear layer may make all three. */
static void write_query_key_value(Steps *s, const char *name) {
    static const char *const titles[] = {"Query", "Key", "Value"};
    static const char *const says[] = {"A query says what a character looks for.",
                                       "A key says what a character offers.",
                                       "A value says what a character passes on."};
    TrilArray columns[ROLES];
    bool has[ROLES];
    int first = ROLES, roles = 0, attention = s->i;
    char meaning[256] = "";
    for (int j = ROLES - 1; j >= 0; j--) {
        has[j] = has_role(s, j, &columns[j]);
        roles += has[j];
        if (has[j]) first = j;
    }
    for (int j = first; j < ROLES; j++)
        if (has[j]) strcat(strcat(meaning, j > first ? " " : ""), says[j]);
    sheet_say(s->sheet, HEADING, "%s: each vector times a matrix.",
              roles > 1 ? "Query, key and value" : titles[first]);
    sheet_say(s->sheet, TEXT, "%s", meaning);
    while (!line_has_heads(&s->e->lines[attention])) attention++;
    int sharing = first == QUERY ? 1 : line_sharing(&s->e->lines[attention]);
    int neighbour = s->head / sharing * sharing;
    if (sharing > 1)
        sheet_say(s->sheet, TEXT, "Heads %d %s %d share their %ss.", neighbour,
                  sharing > 2 ? "to" : "and", neighbour + sharing - 1, name);
    int row = columns[first].offset;
    sheet_say(s->sheet, TEXT,
              "The matrix is %s. Head %d has %d numbers of each %s; the first one, of '%s', is "
              "its vector times row %d of the matrix:",
              s->line->weights[0].name, s->head, columns[first].width, name, s->glyph, row);
    show_neuron(s, row, "vector", name, 0, first == QUERY || roles > 1 ? 8 : 1);
    for (int j = first; j < ROLES; j++)
        if (has[j]) show_array(s, role_names[j], &columns[j]);
}

/* The heads' results, side by side, times a matrix: what attention adds to x. */
static void write_projection(Steps *s, const TrilLine *past) {
    const int heads = line_heads(past);
    const bool mean = !line_has_heads(past);
    sheet_say(s->sheet, HEADING, "Output projection: %s times a matrix.",
              heads > 1 ? "the heads, side by side,"
              : mean    ? "the mean"
                        : "the result of the head");
    sheet_say(s->sheet, TEXT,
              "The matrix is %s. %sFrom here on only '%s' is followed, since it is the one that "
              "predicts. The first number, written out:",
              s->line->weights[0].name,
              heads > 1 ? "Each head fills its own numbers of the vector. " : "", s->glyph);
    show_neuron(s, 0, mean ? "mean" : heads > 1 ? "heads" : "head", "added", 0, 1);
    show_last(s, "added", &s->line->output);
}

/* The neurons of an MLP, before their activation function. */
static void write_hidden(Steps *s, const TrilLine *activation) {
    const int neuron = most_active(s, activation), output = s->line->output.number;
    const bool gated = line_is(activation, "swiglu");
    const char *name = !gated ? "z" : activation->inputs[0].number == output ? "gate" : "up";
    sheet_say(s->sheet, HEADING, "MLP%s%s: %d neurons, each a dot product with the vector.",
              gated ? ", " : "", gated ? name : "", s->line->output.width);
    sheet_say(s->sheet, TEXT,
              "The matrix is %s; a row belongs to a neuron. Neuron %d, the most active one for "
              "'%s', written out:",
              s->line->weights[0].name, neuron, s->glyph);
    show_neuron(s, neuron, "vector", name, neuron, 2);
    show_last(s, name, &s->line->output);
}

/* The last matrix of a branch that is not attention. */
static void write_branch_end(Steps *s) {
    sheet_say(s->sheet, HEADING, "MLP, output: the neurons times a matrix.");
    sheet_say(s->sheet, TEXT,
              "The matrix is %s. The first number, written out:", s->line->weights[0].name);
    show_neuron(s, 0, "neurons", "added", 0, 1);
    show_last(s, "added", &s->line->output);
}

static void write_logits(Steps *s) {
    const int first = s->e->first;
    sheet_say(s->sheet, HEADING, "Logits: one for each of the %d characters.", s->e->V);
    sheet_say(s->sheet, TEXT,
              "The matrix is %s; row n belongs to the character with id n. The higher its logit, "
              "the likelier it is to come next. The highest is that of '%s', id %d:",
              s->line->weights[0].name, glyph_of(s->e->tokenizer, first).text, first);
    show_neuron(s, first, "y", "logit", first, 2);
}

static void write_linear(Steps *s) {
    const Explanation *e = s->e;
    const int maker = explanation_maker(e, s->line->inputs[0].number),
              reader = explanation_reader(e, s->line->output.number);
    const TrilLine *from = maker < 0 ? s->line : &e->lines[maker],
                   *to = reader < 0 ? s->line : &e->lines[reader];
    TrilArray columns;
    const char *role = role_of(s, &columns);
    if (s->i == e->line_count - 1)
        write_logits(s);
    else if (role)
        write_query_key_value(s, role);
    else if (line_reads_past(from))
        write_projection(s, from);
    else if (line_is(to, "gelu") || line_is(to, "swiglu"))
        write_hidden(s, to);
    else
        write_branch_end(s);
}

/* ---- attention ---- */

static void show_square(Steps *s, const float *numbers, const char *masked) {
    s->sheet->kind->table(s->sheet, &(Table){.numbers = numbers,
                                             .row = (size_t)s->e->T,
                                             .rows = s->e->T,
                                             .columns = s->e->T,
                                             .across = TOKENS,
                                             .masked = masked});
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
    sheet_say(s->sheet, HEADING,
              "Scores: query . key, of each character (row) with each (column).");
    sheet_say(s->sheet, TEXT, "A high score: the key offers what the query looks for.");
    sheet_say(s->sheet, TEXT,
              "The score of '%s', at position %d, with the character that it will read most, '%s' "
              "at position %d:",
              s->glyph, s->last, glyph_of(s->e->tokenizer, s->e->ids[most]).text, most);
    show_dot(s, "query", last_of(s, &query), "key", line_row(&key, most), 1, n, NULL, "score", 8);
    sheet_say(s->sheet, TEXT, "All scores:");
    show_square(s, s->square, NULL);
    sheet_say(s->sheet, HEADING, "Scaled: each score times 1 / sqrt(%d) = %.4f.", n, (double)scale);
    sheet_say(s->sheet, TEXT,
              "The more numbers a query has, the larger its scores; the softmax of large scores "
              "takes nearly one character only.");
    for (size_t i = 0; i < T * T; i++) s->square[i] *= scale;
    show_square(s, s->square, NULL);
    sheet_say(s->sheet, HEADING, "Masked by the tril matrix: later characters get -inf.");
    sheet_say(s->sheet, TEXT, "So no character sees those that it must predict.");
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
    sheet_say(s->sheet, HEADING, "%s: the weights. Each row sums to 1.",
              mean ? "Mean of the past" : "Softmax");
    sheet_say(s->sheet, TEXT, "%s",
              mean ? "All characters up to this one have the same weight. Here the value of a "
                     "character is its x."
                   : "weight = e^score / the sum of e^score over the row.");
    show_square(s, weights, "0");
    sheet_say(s->sheet, TEXT,
              "The weights as a map: a row is a character, and shows which characters it reads.");
    if (s->all_heads)
        s->sheet->kind->maps(s->sheet, s->maps, line_heads(line));
    else
        s->sheet->kind->maps(s->sheet, &s->maps[s->head], 1);
    sheet_say(s->sheet, HEADING, "Weighted sum of the values: what each character has read.");
    sheet_say(s->sheet, TEXT,
              "The first number of '%s': its weights times the first number of each value.",
              s->glyph);
    show_dot(s, "weight", last, "value[0]", values.data, values.row, s->e->T, NULL, "sum[0]", 2);
    TrilArray sum = line->output;
    sum.data += s->head * values.width;
    sum.width = values.width;
    show_array(s, "sum", &sum);
    s->last_only = true;
}

/* ---- all layers ---- */

/* How the layers are shown. */
static const struct {
    const char *operation;
    void (*write)(Steps *s);
} layers[] = {
    {"embedding", write_embedding},     {"layernorm", write_norm}, {"rmsnorm", write_norm},
    {"convolution", write_convolution}, {"linear", write_linear},  {"rotary", write_rotary},
    {"attention", write_attention},     {"mean", write_attention}, {"gelu", write_activation},
    {"swiglu", write_activation},       {"add", write_sum}};

void steps_line(Steps *s, int i) {
    s->i = i;
    s->line = &s->e->lines[i];
    if (i >= s->e->tail && i > 0) s->last_only = true;
    for (size_t l = 0; l < sizeof layers / sizeof *layers; l++)
        if (line_is(s->line, layers[l].operation)) {
            layers[l].write(s);
            return;
        }
    sheet_say(s->sheet, HEADING, "%s.", s->line->operation); /* another layer: its result */
    show_array(s, "y", &s->line->output);
}
