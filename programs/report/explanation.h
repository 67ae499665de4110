/* explanation.h - everything that happened on the way from a text to its next character, gathered
 * before anything is shown. */
#ifndef TRIL_PROGRAMS_REPORT_EXPLANATION_H
#define TRIL_PROGRAMS_REPORT_EXPLANATION_H

#include "base/error.h"
#include "programs/report/sheet.h"

/* A sum on the residual stream: x = x + the output of a branch of a block. */
typedef struct {
    int layer; /* its block, from 0 */
    TrilArray added, after;
    bool reads_past; /* the branch contains attention or a mean */
} Branch;

/* What one part of the model adds to the logit of the likeliest next character: "embed" (the
 * embedding; "embed wte" and "embed wpe" if it has a table of positions), "head 1.0" (layer.head),
 * "MLP 1", "bias 1" (of the output projection), "end biases" (of the last norm and the output
 * layer). */
typedef struct {
    Bar bar;
    int layer, head; /* -1: none */
} Part;

enum { LIKELIEST = 8 };

/* Borrows what belongs to the model and to the reading: the tokenizer, the ids, the logits, the
 * weights and arrays of the lines. Owns all else. */
typedef struct {
    TrilOptions sizes; /* of the model */
    const TrilTokenizer *tokenizer;
    const TrilReading *reading;
    const int32_t *ids; /* [T] */
    int T, V;
    TrilLine *lines;
    int line_count;
    Branch *branches; /* in order */
    int branch_count;
    int tail;            /* the first line after the last branch: there the stream becomes logits */
    const float *logits; /* [V], after the last character */
    double log_sum;      /* the logarithm of the sum of e^logit */
    Bar likeliest[LIKELIEST]; /* the next characters and their probabilities, the largest first */
    int likeliest_count;
    int first; /* the id of the likeliest */
    /* The logit lens (nostalgebraist, 2020), [branch_count + 1]: the probability of the likeliest
       character if the model ended after the embedding, after the first branch, and so on; the
       label has the character that would be the likeliest there. NULL: the lines of the tail cannot
       be computed for other inputs. */
    Bar *lens;
    /* The parts of the stream, each with what it adds to the logit of the likeliest character,
       above the mean of all logits. They sum to that logit minus the mean: the last norm divides
       all parts by the same number, so it is linear here (Elhage et al., "A Mathematical Framework
       for Transformer Circuits", 2021). None if there is no lens. */
    Part *parts; /* the largest first, by their absolute value */
    int part_count;
    double above_mean; /* the logit of the likeliest minus the mean of all logits */
} Explanation;

/* Gathers from a reading of tril_reading_trace. explanation_close releases what it owns. Fails
 * without memory; then there is nothing to release. */
bool explanation_open(Explanation *e, const TrilModel *model, const TrilReading *reading,
                      Error *err);
void explanation_close(Explanation *e);

/* Return the line whose output is that array, and the first line that reads it; -1: none. */
int explanation_maker(const Explanation *e, int array);
int explanation_reader(const Explanation *e, int array);

/* True if the line is a call of that layer. */
bool line_is(const TrilLine *line, const char *operation);

/* True if the line is attention; if it is that or the mean of the past, which is attention without
 * queries. */
bool line_has_heads(const TrilLine *line);
bool line_reads_past(const TrilLine *line);

/* Return the heads of a line of attention, and how many neighbours among them share their keys and
 * values; 1 for a mean. */
int line_heads(const TrilLine *line);
int line_sharing(const TrilLine *line);

/* Returns the row of a token. */
const float *line_row(const TrilArray *array, int t);

/* Returns the columns of an input of a line of attention that `head` reads: its queries (0), keys
 * (1) or values (2) [T, channels of the head]. A mean has values only. */
enum { QUERY, KEY, VALUE, ROLES };
TrilArray line_of_head(const TrilLine *line, int role, int head);

#endif
