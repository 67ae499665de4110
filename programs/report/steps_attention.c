/* steps_attention.c - the steps of attention: scores, scale, mask, softmax, weighted sum. */
#include "programs/report/steps.h"

#include <math.h>
#include <stdio.h>

static float *weights_of(const Steps *s, int head) {
    return s->weights + (size_t)head * (size_t)s->e->T * (size_t)s->e->T;
}

/* Computes the weights of all heads, and the scores of the one that is written out. */
static void compute(Steps *s, const TrilLine *line) {
    size_t T = (size_t)s->e->T;
    for (int h = 0; h < line_heads(line); h++) {
        tril_reading_attention(s->e->reading, line->layer, h, weights_of(s, h), T * T, NULL);
        s->maps[h].weights = weights_of(s, h);
        snprintf(s->maps[h].title, sizeof s->maps[h].title,
                 line_has_heads(line) ? "head %d" : "mean", h);
    }
    if (line_has_heads(line))
        tril_reading_scores(s->e->reading, line->layer, s->head, s->square, T * T, NULL);
}

static void show_square(Steps *s, const float *numbers, const char *masked) {
    Table table = {.numbers = numbers,
                   .row = (size_t)s->e->T,
                   .rows = s->e->T,
                   .columns = s->e->T,
                   .across = TOKENS,
                   .masked = masked};
    s->sheet->kind->table(s->sheet, &table);
}

/* The token that the last one reads most. */
static int most_read(const Steps *s) {
    int last = s->e->T - 1, most = 0;
    const float *weights = weights_of(s, s->head) + (size_t)last * (size_t)s->e->T;
    for (int t = 1; t <= last; t++)
        if (weights[t] > weights[most]) most = t;
    return most;
}

/* One score of the last character, written out. */
static void write_score(Steps *s, const Head *head) {
    enum { BANDS = 8 };
    int last = s->e->T - 1, key = most_read(s);
    char glyph[GLYPH_SIZE];
    glyph_of(s->e->tokenizer, s->e->ids[key], glyph);
    sheet_say(s->sheet,
              "The score of '%s', at position %d, with the character that it will read most, '%s' "
              "at position %d:",
              s->last, last, glyph, key);
    steps_dot(s, "query", line_row(&head->query, last), "key", line_row(&head->key, key), 1,
              head->query.width, NULL, "score", BANDS);
}

static void write_scores(Steps *s, const TrilLine *line) {
    const Head head = line_head(line, s->head);
    const int channels = head.query.width;
    const float scale = 1.0f / sqrtf((float)channels);
    sheet_heading(s->sheet, "Scores: query . key, of each character (row) with each (column).");
    sheet_say(s->sheet, "A high score: the key offers what the query looks for.");
    write_score(s, &head);
    sheet_say(s->sheet, "All scores:");
    show_square(s, s->square, NULL);
    sheet_heading(s->sheet, "Scaled: each score times 1 / sqrt(%d) = %.4f.", channels,
                  (double)scale);
    sheet_say(s->sheet,
              "The more numbers a query has, the larger its scores; the softmax of large scores "
              "takes nearly one character only.");
    for (size_t i = 0; i < (size_t)s->e->T * (size_t)s->e->T; i++) s->square[i] *= scale;
    show_square(s, s->square, NULL);
    sheet_heading(s->sheet, "Masked by the tril matrix: later characters get -inf.");
    sheet_say(s->sheet, "So no character sees those that it must predict.");
    show_square(s, s->square, "-inf");
}

/* The sum, with its first number for the last character written out. */
static void write_weighted_sum(Steps *s, const TrilLine *line) {
    const TrilArray values = line_head(line, s->head).value;
    size_t T = (size_t)s->e->T;
    sheet_heading(s->sheet, "Weighted sum of the values: what each character has read.");
    sheet_say(s->sheet,
              "The first number of '%s': its weights times the first number of each value.",
              s->last);
    steps_dot(s, "weight", weights_of(s, s->head) + (T - 1) * T, "value[0]", values.data,
              values.row, s->e->T, NULL, "sum[0]", 2);
    steps_vectors(s, "sum", &line->output, s->head * values.width, values.width);
}

static void write_steps(Steps *s, const TrilLine *line) {
    bool mean = line_is(line, "mean");
    if (!mean) write_scores(s, line);
    sheet_heading(s->sheet, "%s: the weights. Each row sums to 1.",
                  mean ? "Mean of the past" : "Softmax");
    sheet_say(s->sheet, "%s",
              mean ? "All characters up to this one have the same weight. Here the "
                     "value of a character is its x."
                   : "weight = e^score / the sum of e^score over the row.");
    show_square(s, weights_of(s, s->head), "0");
    sheet_say(s->sheet, "The weights as a map: a row is a character, and shows which characters it "
                        "reads.");
    if (s->all_heads)
        s->sheet->kind->maps(s->sheet, s->maps, line_heads(line));
    else
        s->sheet->kind->maps(s->sheet, &s->maps[s->head], 1);
    write_weighted_sum(s, line);
}

void steps_attention(Steps *s, int i) {
    const TrilLine *line = &s->e->lines[i];
    compute(s, line);
    write_steps(s, line);
}
