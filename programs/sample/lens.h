/* lens.h - the residual stream of a reading, after its last character: x is the embedding plus the
 * sums of attention and MLPs, and the last steps make logits of it. Applied to an earlier x, they
 * give the predictions of a model that ends there: the logit lens (nostalgebraist, 2020). */
#ifndef TRIL_PROGRAMS_SAMPLE_LENS_H
#define TRIL_PROGRAMS_SAMPLE_LENS_H

#include "base/error.h"
#include "library/tril.h"

/* Borrows the reading; owns its arrays. */
typedef struct {
    TrilLine *lines; /* [count] */
    int *sums;       /* [sum_count]: the lines at which the stream grows, in order */
    int count, sum_count;
    int embedding;           /* the line where the stream begins */
    const TrilLine *trusted; /* the line that adds the logits of counting, or NULL */
    int last, V;             /* the last character's row; the size of the vocabulary */
    float *x, *y;            /* scratch [the widest array] */
} Lens;

/* Opens a traced reading of a model. Released by lens_close, even after a failure. Fails without
 * memory. */
bool lens_open(Lens *lens, const TrilModel *model, const TrilReading *reading, Error *err);
void lens_close(Lens *lens);

/* Returns the number of stages: the embedding and each sum; 1 in a rung without a stream. */
int lens_stages(const Lens *lens);

/* Writes the name of a stage: "embedding", "attention 0" (of layer 0), "mean 0",
 * "MLP 0", or "counts". */
enum { STAGE_NAME = 24 };
void lens_name(const Lens *lens, int stage, char name[STAGE_NAME]);

/* Returns the logits [V], valid until the next call, that the last steps make of x after a stage.
 * Returns NULL if they read more than x. */
const float *lens_logits(Lens *lens, int stage);

/* Returns the line of a layer that attends or takes the mean of the past, or NULL. */
const TrilLine *lens_attention(const Lens *lens, int layer);

/* Returns the logits as lens_logits does, of x without the output of a head of that line. The
 * outputs of later layers, which read it, stay in x. */
const float *lens_without(Lens *lens, const TrilLine *attention, int head);

/* Returns the last character's row of an array. */
const float *lens_row(const Lens *lens, const TrilArray *array);

/* Returns the heads of a line that attends; a mean counts as one. */
int line_heads(const TrilLine *line);

#endif
