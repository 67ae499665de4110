/* lens.h - the residual stream of a reading, after its last character: x is the embedding plus the
 * sums of attention and MLPs, and the final norm and output layer turn it into logits. Applied to
 * an earlier x, they predict as if the model ended there: the logit lens (nostalgebraist, 2020). */
#ifndef TRIL_PROGRAMS_SAMPLE_LENS_H
#define TRIL_PROGRAMS_SAMPLE_LENS_H

#include "base/error.h"
#include "library/tril.h"

typedef struct {
    TrilLine *lines; /* [count]; owned, as all arrays */
    int *stages;     /* [stage_count]: the lines that make x: the embedding, and each sum */
    int count, stage_count;
    const TrilLine *trusted; /* the line that adds the logits of counting, or NULL */
    int last;                /* the last character's row */
    float *x, *y;            /* scratch [the widest array] */
} Lens;

/* Opens a traced reading. Released by lens_close, even after a failure. Fails without memory. */
bool lens_open(Lens *lens, const TrilReading *reading, Error *err);
void lens_close(Lens *lens);

/* Writes the name of a stage: "embedding", "counts", or that of the layer that was added, such as
 * "attention 0" (of block 0), "mean 0", "MLP 0", or an own layer's. */
enum { STAGE_NAME = 24 };
void lens_name(const Lens *lens, int stage, char name[STAGE_NAME]);

/* Return the logits, valid until the next call, that the last steps make of x after a stage; of the
 * last x without the output of a head of a line that attends. (The outputs of later layers, which
 * read it, stay in x.) Return NULL if they read more than x, or if there is no sum. */
const float *lens_logits(Lens *lens, int stage);
const float *lens_without(Lens *lens, const TrilLine *attention, int head);

/* Returns the last character's row of an array. */
const float *lens_row(const Lens *lens, const TrilArray *array);

/* Returns the scalar product of a[n] and b[n]. */
double dot_product(const float *a, const float *b, int n);

#endif
