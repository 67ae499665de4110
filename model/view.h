/* view.h - the results of a forward pass: its lines, and the heads that attend. */
#ifndef TRIL_MODEL_VIEW_H
#define TRIL_MODEL_VIEW_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Run Run;

/* The results of one head of one block in the last run_forward, which must have had B = 1 and past
 * = 0. Rows of tokens are `_row` floats apart. The run owns the arrays; its next call overwrites
 * them. In `modern`, queries and keys are those after norm and rotation. */
typedef struct {
    int T, dk;                /* tokens; channels of the head's queries and keys */
    const float *query, *key; /* [T, dk], or NULL for the plain mean */
    size_t query_row, key_row;
    float scale; /* multiplies query . key before the softmax */
} AttentionView;

/* Sets *view. Returns false if the rung has no attention, or no such block or head. */
bool run_attention(const Run *run, int block, int head, AttentionView *view);

/* attention_scores: scores[T] = query[t] . key[s] for each token s, unscaled; needs a query.
 * attention_weights: weights[T] = the softmax of the scaled scores over s <= t, and 0 for s > t;
 * without a query, 1 / (t + 1) for s <= t. */
void attention_scores(const AttentionView *head, int t, float *scores);
void attention_weights(const AttentionView *head, int t, float *weights);

/* One line of a rung's forward pass: a call of a layer (model/layers/layers.h), and its arrays in
 * the last run_forward, which must have had B = 1 and past = 0, in a run with RunOptions.kept. The
 * lines of a pass, in order, are the whole computation from token ids to logits. */
typedef struct {
    int array;         /* number of the array, the same in all lines, or 0 */
    int offset, width; /* its columns: `width` of them from `offset` on */
    const float *data; /* [T, width]; rows of tokens are `row` floats apart; the run owns it */
    size_t row;
} LineArray;

enum { LINE_INPUTS = 3, LINE_OUTPUTS = 3, LINE_TENSORS = 2 };

typedef struct {
    const char *operation;        /* the layer's name in layers.h, e.g. "linear" or "attention" */
    const char *title, *equation; /* a heading for it, and its equation in plain symbols */
    int block;                    /* the transformer block it belongs to, from 0 */
    int NH; /* rows in a token: heads of attention and rotary positions, and of a norm
               of each head; else 0 or 1 */
    /* Inputs: attention: q, k, v; rotary: x, and for each position hs/2 cosines and hs/2 sines.
       Outputs: first the result; then the arrays that the layer saves, if any. */
    LineArray inputs[LINE_INPUTS], outputs[LINE_OUTPUTS];
    int tensors[LINE_TENSORS]; /* numbers of Model.tensors: weight and bias, or the tables of tokens
                                  and positions, or -1 */
} LineView;

/* Sets *line to line i, from 0, of the forward pass; false beyond the last. */
bool run_line(const Run *run, int i, LineView *line);

/* Computes a line again for another token: y[width of its output] from x[width of its input].
 * Returns false unless it is linear, layernorm or rmsnorm. */
bool run_line_apply(const Run *run, int i, const float *x, float *y);

#endif
