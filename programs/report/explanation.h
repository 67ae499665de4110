/* explanation.h - the computation of a model from a text to its next character. explanation.c
 * gathers it from a reading, steps.c writes each layer, explain.c the rest. */
#ifndef TRIL_PROGRAMS_REPORT_EXPLANATION_H
#define TRIL_PROGRAMS_REPORT_EXPLANATION_H

#include "base/error.h"
#include "programs/report/explain.h"

/* The likeliest next characters of a model. */
enum { LIKELIEST = 8 };
typedef struct {
    int ids[LIKELIEST]; /* the likeliest first */
    int count;
    double log_sum;      /* the logarithm of the sum of e^logit over all characters */
    Bar bars[LIKELIEST]; /* their probabilities and logits */
} Ranking;

/* Ranks characters by their logits, and by those after the last character of a reading. */
Ranking ranking(const TrilTokenizer *tokenizer, const float *logits);
Ranking ranking_of(const Explained *model);

/* A sum on the residual stream: x = x + the output of a branch of a block. */
typedef struct {
    int layer; /* the transformer block; NO_LAYER for the counts, which come before */
    TrilArray added, after;
    bool reads_past; /* the branch contains attention or a mean */
} Branch;

/* A part of the model: "embed" (the embedding; "embed wte" and "embed wpe" if it has a table of
 * positions), "count vectors" (of the counted probabilities), "head 1.0" (layer.head), "MLP 1",
 * "bias 1" (of the output projection), "end biases" (of the last norm and the output layer),
 * "counted logits" (those of counting, as far as trusted). Its bar is its share of the likeliest
 * logit. */
typedef struct {
    Bar bar;
    int layer, head; /* or NO_LAYER, NO_HEAD */
} Part;

enum { TABLE_ROWS = 4 };

/* Borrows the parts of the model and of the reading: the tokenizer, the ids, the logits, the
 * weights and arrays of the lines. Owns all else. */
typedef struct {
    Sheet *sheet;
    TrilOptions sizes; /* the model's */
    const TrilTokenizer *tokenizer;
    const TrilReading *reading;
    const int32_t *ids;  /* [T] */
    int T, V, last;      /* last: T - 1 */
    const float *logits; /* [V], after the last character */
    Ranking next;
    TrilLine *lines;
    int line_count;
    Branch *branches; /* in order */
    int branch_count;
    int embedding; /* the line of the embedding, or the first one */
    int begin;     /* the first line of the blocks */
    int tail;      /* the first line after the last branch: there the stream becomes logits */
    const TrilLine *trusted; /* the line that adds the logits of counting, if any */
    /* The logit lens (nostalgebraist, 2020), [branch_count + 1]: the probability of the likeliest
       character if the model ended after the embedding, after the first branch, and so on; the
       label has the character that would be the likeliest there. */
    Bar *lens;
    bool has_lens; /* the lines of the tail can be computed for other inputs */
    /* The parts of the stream, each with its share of the logit of the likeliest character, above
       the mean of all logits. They sum to that logit minus the mean: the last norm divides
       all parts by the same number, so it is linear here (Elhage et al., "A Mathematical Framework
       for Transformer Circuits", 2021). The trust is a fixed number, too. None without a lens. */
    Part *parts; /* the largest first, by their absolute value */
    int part_count;
    double above_mean; /* the logit of the likeliest minus the mean of all logits */
    int layer, head;   /* written out in numbers */
    bool all_heads;    /* maps of all heads, or of the one */
    bool last_only;    /* from here on, only the last character matters */
    int i;             /* the line that is being written */
    const TrilLine *line;
    char glyph[12];    /* the last character */
    Glyph *glyphs;     /* [T], padded */
    double *gradients; /* [2, widest array] */
    float *numbers;    /* [TABLE_ROWS, widest array], a table with labels; owns the next two */
    float *square;     /* scores [T, T] */
    float *weights;    /* [heads, T, T] */
    HeadMap *maps;     /* [heads] */
} Explanation;

/* Gathers an explanation, whose tokens become the sheet's. Released by explanation_close, which
 * takes them from the sheet. Fails without memory. */
bool explanation_open(Explanation *e, Sheet *sheet, const Explained *model, Error *err);
void explanation_close(Explanation *e);

/* Writes line i in the form of its layer. */
void steps_line(Explanation *e, int i);

/* Writes one line for each branch of the layers `from` to `to`. */
void steps_in_short(Explanation *e, int from, int to);

/* ---- lines ---- */

/* explanation_maker returns the line whose output is that array; explanation_reader, the first line
 * that reads it; or NO_LINE. */
enum { NO_LINE = -1 };
int explanation_maker(const Explanation *e, int array);
int explanation_reader(const Explanation *e, int array);

/* Returns true if the line is a linear layer that reads the counted probabilities (reads_counts),
 * or one that computes the trust (trusts). */
bool explanation_reads_counts(const Explanation *e, int i);
bool explanation_trusts(const Explanation *e, int i);

/* Returns true if the line is a call of that layer. */
bool line_is(const TrilLine *line, const char *operation);

/* Returns true for attention, but not for the mean of the past, which attends without queries. */
bool line_has_heads(const TrilLine *line);

/* Return the heads of a line of attention, and how many share keys and values. Both are 1 for a
 * mean. */
int line_heads(const TrilLine *line);
int line_sharing(const TrilLine *line);

/* Returns the row of a token. */
const float *line_row(const TrilArray *array, int t);

/* Returns the columns of an input of a line of attention that `head` reads: its queries, keys or
 * values [T, channels of the head]. A mean has values only. */
enum { QUERY, KEY, VALUE, ROLES };
TrilArray line_of_head(const TrilLine *line, int role, int head);

#endif
