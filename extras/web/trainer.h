/* trainer.h - one rung in training, which the page advances step by step.
 *
 * Batches, rates, seeds and evaluations are those of ./train: the same settings give the same
 * losses. Two things differ, so that the page can be answered soon: of a long held-out text only
 * evenly spaced windows are read, and nothing ends a training early. */
#ifndef TRIL_EXTRAS_WEB_TRAINER_H
#define TRIL_EXTRAS_WEB_TRAINER_H

#include "library/tril.h"

#include <stdbool.h>

enum { TRACE_POINTS = 256, TRACE_LOSSES = 64, LINE_COLUMNS = 64, LINE_SIZE = 272 };

/* A point of a curve. */
typedef struct {
    double step, seconds, loss;
} TracePoint;

/* The losses so far: of batches, each point the mean of `stride` steps, and on the held-out text.
 */
typedef struct {
    TracePoint batches[TRACE_POINTS], held_out[TRACE_LOSSES];
    int batch_count, held_out_count;
    int stride, pending; /* steps in a point, and in `open`, which is not yet complete */
    TracePoint open;     /* sums */
} Trace;

typedef struct {
    TrilModel *model;       /* owned, as is the training */
    TrilTraining *training; /* NULL: the model can be looked at only */
    int eval_every;
    Trace trace;
    char sample[LINE_SIZE]; /* written at the last evaluation */
    TrilError failed;       /* why it cannot go on; empty: it can */
} Trainer;

/* Makes a trainer of a model and its training, which it takes over; without one the model can be
 * looked at only. Evaluates once. The caller releases it with trainer_close, also after a failure.
 * Refused: a loss that is not a number, no memory. */
bool trainer_open(Trainer *trainer, TrilModel *model, TrilTraining *training, TrilError *error);
void trainer_close(Trainer *trainer);

/* Takes a step, and evaluates if it is time. Refused: a loss or gradient that is no longer a
 * number. The trainer then cannot go on. */
bool trainer_step(Trainer *trainer, TrilError *error);

/* Are all steps taken? */
bool trainer_done(const Trainer *trainer);

#endif
