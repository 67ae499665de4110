/* view.h - the results of a forward pass, line by line. */
#ifndef TRIL_MODEL_VIEW_H
#define TRIL_MODEL_VIEW_H

#include "model/model.h"

typedef struct Run Run;

/* One line of a rung's forward pass: a call of a layer (model/layers/layers.h), and its arrays in
 * the last run_forward, which must have had B = 1 and past = 0, in a run with RunOptions.kept. The
 * lines of a pass, in order, are the whole computation from token ids to logits. */
typedef struct {
    int array;         /* number of the array, from 1, the same in all lines */
    int offset, width; /* its columns: `width` of them from `offset` on */
    const float *data; /* [T, width]; rows of tokens are `row` floats apart; the run owns it. NULL
                          beyond the last input */
    size_t row;
} LineArray;

enum { LINE_INPUTS = 3, LINE_TENSORS = 2 };

typedef struct {
    const char *operation;        /* the layer's name in layers.h, e.g. "linear" or "attention" */
    const char *title, *equation; /* a heading for it, and its equation in plain symbols */
    int block;                    /* the transformer block it belongs to, from 0 */
    int NH;       /* heads, of attention, rotary positions and norms: rows in a token */
    bool attends; /* Operation.attends; its inputs are then also complete without RunOptions.kept */
    /* attention: q, k, v; rotary: x, and for each position hs/2 cosines and hs/2 sines */
    LineArray inputs[LINE_INPUTS];
    LineArray output;
    const Tensor *tensors[LINE_TENSORS]; /* the model's: weight and bias, or the tables of tokens
                                            and positions; NULL without */
} LineView;

/* Sets *line to line i, from 0, of the forward pass; false beyond the last. */
bool run_line(const Run *run, int i, LineView *line);

/* Computes a line again for another token: y[width of its output] from x[width of its input].
 * Returns false unless it is linear, layernorm or rmsnorm. */
bool run_line_apply(const Run *run, int i, const float *x, float *y);

#endif
