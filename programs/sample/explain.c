#include "base/escape.h"
#include "base/memory.h"
#include "base/terminal.h"
#include "programs/common.h"
#include "programs/glyph.h"
#include "programs/sample/lens.h"
#include "programs/sample/sample.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where an explanation is written, and the reading that it explains. */
typedef struct {
    FILE *out;
    int columns;
    const TrilTokenizer *tokenizer;
    const TrilReading *reading;
    int T, V, last; /* last: T - 1 */
    int first;      /* the likeliest next character */
    double chance;  /* its probability */
    Lens lens;
    const TrilLine *line; /* of attention; NULL in a rung without any */
    int head;
    double without; /* the probability of `first` without the head, or NaN if it is unknown */
    double *p;      /* [V]: a scratch of probabilities */
    float *weights; /* [T, T]: those of the head */
} Explanation;

/* ---- words and numbers ---- */

/* Writes a paragraph, its lines broken between words. */
__attribute__((format(printf, 2, 3))) static void say(const Explanation *e, const char *format,
                                                      ...) {
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    escape_words(e->out, text, 0, 0, e->columns);
    fputc('\n', e->out);
}

/* Returns the weights of the head by which token t attends to each. */
static const float *weights_of(const Explanation *e, int t) {
    return e->weights + (size_t)t * (size_t)e->T;
}

/* Returns the glyph of token t. */
static Glyph glyph_at(const Explanation *e, int t) {
    return glyph_of(e->tokenizer, e->reading->ids[t]);
}

/* Writes a number in a cell: with three decimals, or fewer if they do not fit. */
static void put_number(const Explanation *e, double value, int cell) {
    char text[32];
    int digits = 3;
    do snprintf(text, sizeof text, "%.*f", digits, value);
    while ((int)strlen(text) >= cell && digits-- > 0);
    if ((int)strlen(text) >= cell) snprintf(text, sizeof text, "%.0e", value);
    fprintf(e->out, "%*s", cell, text);
}

/* Writes a glyph at the right of a cell or, if `cell` is negative, at its left. */
static void put_glyph(const Explanation *e, Glyph glyph, int cell) {
    const int blanks = abs(cell) - glyph.columns;
    fprintf(e->out, "%*s%s%*s", cell > 0 ? blanks : 0, "", glyph.text, cell > 0 ? 0 : blanks, "");
}

/* The widths of a row's label and cells; those of a row of many. */
typedef struct {
    int label, cell;
} Widths;

static const Widths wide = {10, 8}, narrow = {8, 6};

/* Writes a row of `count` numbers, as many as fit. */
static void put_row(const Explanation *e, const char *label, Widths widths, const float *numbers,
                    int count) {
    static const char dots[] = " ...";
    const int room = e->columns - widths.label, all = room / widths.cell;
    const int fit = count > all ? (room - (int)strlen(dots)) / widths.cell : count;
    fprintf(e->out, "%-*s", widths.label, label);
    for (int i = 0; i < fit; i++) put_number(e, (double)numbers[i], widths.cell);
    fprintf(e->out, "%s\n", fit < count ? dots : "");
}

/* ---- the next character ---- */

static int likeliest_of(const double *p, int V) {
    int likeliest = 0;
    for (int v = 1; v < V; v++)
        if (p[v] > p[likeliest]) likeliest = v;
    return likeliest;
}

/* Sets e->p to the softmax of logits, and returns the likeliest character. */
static int softmax(Explanation *e, const float *logits) {
    double sum = 0;
    for (int v = 0; v < e->V; v++) e->p[v] = (double)logits[v];
    const int likeliest = likeliest_of(e->p, e->V);
    const double largest = e->p[likeliest];
    for (int v = 0; v < e->V; v++) sum += e->p[v] = exp(e->p[v] - largest);
    for (int v = 0; v < e->V; v++) e->p[v] /= sum;
    return likeliest;
}

static void write_next(Explanation *e, const char *rung) {
    enum { SHOWN = 8, LONGEST = 40, END = 30 };
    const int room = e->columns - 14, longest = room < LONGEST ? room : LONGEST;
    const int from = e->T > END ? e->T - END : 0;
    char end[END * sizeof(Glyph)];
    glyph_line(e->tokenizer, e->reading->ids + from, e->T - from, end, sizeof end);
    say(e, "%s after '%s': the likeliest next characters", rung, end);
    if (e->reading->skipped > 0)
        say(e, "(It reads only the last %s of the text.)", count_of(e->T, "character"));
    for (int i = 0; i < SHOWN && i < e->V; i++) {
        const int likeliest = likeliest_of(e->p, e->V);
        const double p = e->p[likeliest];
        fputs("  ", e->out);
        put_glyph(e, glyph_of(e->tokenizer, likeliest), -GLYPH_COLUMNS);
        fprintf(e->out, " %6.1f%%", 100 * p);
        for (int bar = 0; bar < (int)round(p * longest); bar++)
            fprintf(e->out, "%s█", bar == 0 ? "  " : "");
        fputc('\n', e->out);
        e->p[likeliest] = -1;
    }
}

/* ---- the head that matters ---- */

static bool fail_number(const char *option, const char *of, int number, int count, Error *err) {
    return count == 1
               ? fail(err, "--%s %d: the model has only %s 0", option, number, of)
               : fail(err, "--%s %d: the model has %ss 0 to %d", option, number, of, count - 1);
}

/* Sets e->line and e->head. ANY: those without which the probability of the likeliest character
 * would change most, as a ratio. Fails if the model does not have the others. */
static bool choose(Explanation *e, int layer, int head, Error *err) {
    const int layers = e->reading->layers, heads = e->reading->heads;
    const TrilLine *lines = e->lens.lines;
    double most = -1;
    if (layers == 0 && (layer >= 0 || head >= 0))
        return fail(err, "--layer and --head: the model has no attention");
    if (layer >= layers) return fail_number("layer", "block", layer, layers, err);
    if (head >= heads) return fail_number("head", "head", head, heads, err);
    for (const TrilLine *line = lines; line < lines + e->lens.count; line++) {
        if (!line->attends || (layer >= 0 && line->layer != layer)) continue;
        for (int h = 0; h < heads; h++) {
            if (head >= 0 && h != head) continue;
            const float *logits = lens_without(&e->lens, line, h);
            if (logits) softmax(e, logits);
            const double without = logits ? e->p[e->first] : NAN;
            const double change = logits ? fabs(log(e->chance / without)) : 0;
            if (!(change > most)) continue;
            most = change;
            e->line = line;
            e->head = h;
            e->without = without;
        }
    }
    return true;
}

/* Writes the map of the head: as many of the last characters as fit. */
static void write_map(Explanation *e) {
    enum { SQUARE = 4, ROWS = 12 };
    const TrilLine *line = e->line;
    const int fit = (e->columns - 2) / SQUARE, shown = fit < ROWS ? fit : ROWS;
    const int from = e->T > shown ? e->T - shown : 0;
    char name[64] = "The mean of the past", loss[96] = "";
    if (line->inputs[1].data)
        snprintf(name, sizeof name, "Block %d, head %d of %d", line->layer, e->head, line->heads);
    if (!isnan(e->without))
        snprintf(loss, sizeof loss, ": without it, '%s' would have %.1f%% in place of %.1f%%",
                 glyph_of(e->tokenizer, e->first).text, 100 * e->without, 100 * e->chance);
    fputc('\n', e->out);
    say(e, "%s%s. Each row shows where a character looks, in percent%s:", name, loss,
        from > 0 ? " (the last characters)" : "");
    fputs("  ", e->out);
    for (int s = from; s < e->T; s++) put_glyph(e, glyph_at(e, s), SQUARE);
    fputc('\n', e->out);
    for (int t = from; t < e->T; t++) {
        put_glyph(e, glyph_at(e, t), -GLYPH_COLUMNS);
        for (int s = from; s <= t; s++)
            fprintf(e->out, "%*.0f", SQUARE, 100 * (double)weights_of(e, t)[s]);
        fputc('\n', e->out);
    }
}

/* ---- one head in numbers ---- */

/* Returns the row of token t in an input of the head (0: queries, 1: keys, 2: values), and sets
 * *size to its channels. Neighboring heads may share keys and values. */
static const float *row_of(const Explanation *e, int input, int t, int *size) {
    const TrilArray *array = &e->line->inputs[input], *queries = &e->line->inputs[0];
    const int heads = e->line->heads;
    const int sharing = input > 0 ? queries->width / e->line->inputs[1].width : 1;
    *size = array->width * sharing / heads;
    return array->data + (size_t)t * array->row + e->head / sharing * *size;
}

/* Sets place[most] to the characters with the largest weights, in order, and returns how many. */
static int choose_places(const float *weights, int T, int most, int *place) {
    int count = 0;
    for (int t = 0; t < T; t++) {
        int before = 0; /* larger ones, and equal ones to the left */
        for (int s = 0; s < T; s++)
            before += s < t ? weights[s] >= weights[t] : weights[s] > weights[t];
        if (before < most) place[count++] = t;
    }
    return count;
}

/* Writes scores, weights and first values of the characters with the largest weights. */
static void write_sum(const Explanation *e, const float *query, int dk) {
    enum { MOST = 12 };
    const float *weights = weights_of(e, e->last);
    const int fit = (e->columns - narrow.label) / narrow.cell;
    float scores[MOST], chosen[MOST], values[MOST];
    int place[MOST], size;
    const int count = choose_places(weights, e->T, fit < MOST ? fit : MOST, place);
    fprintf(e->out, "%*s", narrow.label, "");
    for (int i = 0; i < count; i++) {
        put_glyph(e, glyph_at(e, place[i]), narrow.cell);
        scores[i] = (float)(dot_product(query, row_of(e, 1, place[i], &size), dk) / sqrt(dk));
        chosen[i] = weights[place[i]];
        values[i] = *row_of(e, 2, place[i], &size);
    }
    fputc('\n', e->out);
    put_row(e, "score", narrow, scores, count);
    put_row(e, "weight", narrow, chosen, count);
    put_row(e, "value[0]", narrow, values, count);
}

/* Writes one query times one key, the softmax of the scores, and the sum of the values. */
static void write_numbers(Explanation *e) {
    const float *weights = weights_of(e, e->last);
    const TrilArray *output = &e->line->output;
    int dk, dv, most = 0;
    for (int s = 1; s < e->T; s++)
        if (weights[s] > weights[most]) most = s;
    const float *query = row_of(e, 0, e->last, &dk), *key = row_of(e, 1, most, &dk);
    row_of(e, 2, most, &dv);
    const double sum = dot_product(query, key, dk);
    float *product = e->lens.x;
    for (int c = 0; c < dk; c++) product[c] = query[c] * key[c];
    fputc('\n', e->out);
    say(e, "There, the query of '%s' at position %d times the key of '%s' at %d:",
        glyph_at(e, e->last).text, e->last, glyph_at(e, most).text, most);
    put_row(e, "  query", wide, query, dk);
    put_row(e, "  key", wide, key, dk);
    put_row(e, "  product", wide, product, dk);
    say(e,
        "The sum of %s, %.3f, divided by the square root of %d, is the score %.3f. The softmax "
        "makes weights of the scores, and the output is the sum of the values by weight:",
        count_of(dk, "product"), sum, dk, sum / sqrt(dk));
    write_sum(e, query, dk);
    put_row(e, "  output", wide, lens_row(&e->lens, output) + e->head * dv, dv);
}

/* ---- the layers in between ---- */

static void write_stage(Explanation *e, const char *name, const float *logits) {
    const int id = softmax(e, logits);
    fprintf(e->out, "  %-12s  ", name);
    put_glyph(e, glyph_of(e->tokenizer, id), -GLYPH_COLUMNS);
    fprintf(e->out, " %6.1f%%  (%.1f%%)\n", 100 * e->p[id], 100 * e->p[e->first]);
}

/* Writes the prediction of each stage, or of every other if there are many. */
static void write_stages(Explanation *e) {
    enum { MANY = 16 };
    const int stages = e->lens.stage_count, step = stages > MANY ? 2 : 1;
    if (!lens_logits(&e->lens, 0)) return;
    const Glyph first = glyph_of(e->tokenizer, e->first);
    fputc('\n', e->out);
    say(e,
        "Prediction if the model ended after each row, and the probability of '%s':", first.text);
    for (int i = (stages - 1) % step; i < stages; i += step) {
        char name[STAGE_NAME];
        lens_name(&e->lens, i, name);
        write_stage(e, name, lens_logits(&e->lens, i));
    }
    if (e->lens.trusted)
        write_stage(e, "counts alone", lens_row(&e->lens, &e->lens.trusted->inputs[2]));
}

/* ---- the whole ---- */

static bool write_all(Explanation *e, const char *rung, int layer, int head, Error *err) {
    const float *logits = e->reading->logits + (size_t)e->last * (size_t)e->V;
    e->first = softmax(e, logits);
    e->chance = e->p[e->first];
    if (!choose(e, layer, head, err)) return false;
    softmax(e, logits);
    write_next(e, rung);
    if (e->line && tril_reading_attention(e->reading, e->line->layer, e->head, e->weights,
                                          (size_t)e->T * (size_t)e->T, err) != TRIL_OK)
        return false;
    if (e->line) write_map(e);
    if (e->line && e->line->inputs[1].data) write_numbers(e);
    write_stages(e);
    return true;
}

bool explain(FILE *out, int columns, const TrilModel *model, const TrilReading *reading, int layer,
             int head, Error *err) {
    const size_t T = (size_t)reading->tokens;
    Explanation e = {.out = out,
                     .columns = columns,
                     .tokenizer = tril_model_tokenizer(model),
                     .reading = reading,
                     .T = (int)T,
                     .last = (int)T - 1};
    e.V = e.tokenizer->size;
    bool ok = lens_open(&e.lens, reading, err) &&
              memory_alloc(&e.p, (size_t)e.V, sizeof *e.p, "the explanation", err) &&
              memory_alloc(&e.weights, T * T, sizeof *e.weights, "the explanation", err) &&
              write_all(&e, tril_model_sizes(model).rung, layer, head, err);
    lens_close(&e.lens);
    memory_free(e.p);
    memory_free(e.weights);
    return ok;
}

bool explain_text(const TrilModel *model, const Arguments *a, Error *err) {
    const int columns = terminal_columns(stdout, 80), least = 40;
    TrilReading *reading;
    const TrilStatus status =
        tril_reading_open(&reading, model, a->explain, strlen(a->explain), true, 1, err);
    if (status != TRIL_OK) return status == TRIL_TEXT && message_of(err, "--explain");
    const bool ok =
        explain(stdout, columns < least ? least : columns, model, reading, a->layer, a->head, err);
    tril_reading_close(reading);
    return ok;
}
