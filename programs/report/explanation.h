/* explanation.h - everything that happened on the way from a text to its next character, gathered
 * before anything is printed. */
#ifndef TRIL_PROGRAMS_REPORT_EXPLANATION_H
#define TRIL_PROGRAMS_REPORT_EXPLANATION_H

#include "base/error.h"
#include "library/tril.h"

#include <stdbool.h>

/* A sum on the residual stream: x = x + what a branch of a block computed. */
typedef struct {
    int line;  /* the sum */
    int layer; /* its block, from 0 */
    TrilArray before, added, after;
    int attention;   /* the line of the attention or mean whose output was projected and added;
                        -1: another branch, such as an MLP */
    int projection;  /* the linear layer between both; -1: the branch is not split by heads */
    bool reads_past; /* the branch contains attention or a mean */
} Branch;

enum { PART_NAME = 32 };

/* What one part of the model adds to the logit of the likeliest next character: "embed" (the
 * embedding; "embed wte" and "embed wpe" if it has a table of positions), "head 1.0" (layer.head),
 * "MLP 1", "bias 1" (of the output projection), "end biases" (of the last norm and the output
 * layer). */
typedef struct {
    char name[PART_NAME];
    int layer, head; /* -1: none */
    double logit;
} Part;

/* What belongs to the model and to the reading is borrowed: the tokenizer, the ids, the logits, the
 * weights and arrays of the lines. All else is owned. */
typedef struct {
    TrilSizes sizes; /* of the model */
    const TrilTokenizer *tokenizer;
    const TrilReading *reading;
    const int32_t *ids; /* [T] */
    int T, V;
    TrilLine *lines;
    int line_count;
    Branch *branches; /* in order */
    int branch_count;
    int tail; /* the first line after the last branch: from here on the stream becomes logits */
    const float *logits;   /* [V], after the last character */
    double *probabilities; /* [V], their softmax */
    int *order;            /* [V]: ids, the likeliest first */
    /* The logit lens (nostalgebraist, 2020): the probabilities [branch_count + 1, V] if the model
       ended after the embedding, after the first branch, and so on. NULL: the lines of the tail
       cannot be computed for other inputs. */
    double *lens;
    /* The parts of the stream, each with what it adds to the logit of order[0], above the mean of
       all logits. They sum to that logit minus the mean: the last norm divides all parts by the
       same number, so it is linear here (Elhage et al., "A Mathematical Framework for Transformer
       Circuits", 2021). None if there is no lens. */
    Part *parts; /* the largest first, by their absolute value */
    int part_count;
    double above_mean; /* the logit of order[0] minus the mean of all logits */
} Explanation;

/* Gathers from a reading of tril_reading_trace. explanation_close releases what it owns. Refused:
 * no memory; then there is nothing to release. */
bool explanation_open(Explanation *e, const TrilModel *model, const TrilReading *reading,
                      Error *err);
void explanation_close(Explanation *e);

/* The line whose first output is that array; -1: none. */
int explanation_maker(const Explanation *e, int array);

/* Is the line a call of that layer? */
bool line_is(const TrilLine *line, const char *operation);

/* Is the line attention, or the mean of the past, which is attention without queries? */
bool line_reads_past(const TrilLine *line);

/* The heads of a line of attention; 1 for a mean. line_has_heads: is it not a mean? */
int line_heads(const TrilLine *line);
bool line_has_heads(const TrilLine *line);

/* How many heads of a line of attention, neighbours, share their keys and values; of a mean 1. */
int line_sharing(const TrilLine *line);

/* The first line that reads that array; -1: none. */
int explanation_reader(const Explanation *e, int array);

/* The row of a token. */
const float *line_row(const TrilArray *array, int t);

/* Part number `part` of an array whose columns are divided into `parts` equal ones. */
TrilArray line_columns(TrilArray array, int part, int parts);

/* What one head of a line of attention reads: its columns of the line's inputs. Those of a mean are
 * values only. */
typedef struct {
    TrilArray query, key, value; /* [T, channels of the head] */
} Head;
Head line_head(const TrilLine *line, int head);

/* probabilities [V]: the softmax of logits [V]. */
void explanation_softmax(const float *logits, int V, double *probabilities);

/* Fills the lens and the parts. For explanation_open. Refused: no memory. */
bool explanation_trace(Explanation *e, Error *err);

#endif
