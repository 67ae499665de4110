/* trainer.h - one rung in training, which the page advances step by step.
 *
 * Batches, rates, seeds and evaluations are those of ./train: the same settings give the same
 * losses. Two things differ, so that the page can be answered soon: of a long held-out text only
 * evenly spaced windows are read, and nothing ends a training early. */
#ifndef TRIL_WEB_TRAINER_H
#define TRIL_WEB_TRAINER_H

#include "library/training.h"
#include "training/sample.h"

enum { TRACE_POINTS = 256, TRACE_LOSSES = 64 };

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
    const Corpus *corpus; /* borrowed */
    Request request;      /* what was asked for, as ./train would be */
    Model model;
    Training training; /* of `model` */
    SampleWriter writer;
    Trace trace;
    char sample[SAMPLE_SIZE]; /* written at the last evaluation */
    Error failed;             /* why it cannot go on; empty: it can */
} Trainer;

/* Makes the trainer of the rung `request->model` with these sizes, steps, batch and seed. Its
 * weights are random, or those of `init` if it is not NULL; with `progress`, it goes on after that
 * with the moments of `init`. Evaluates once, if the corpus has a text. The caller releases it with
 * trainer_close, also after a failure. Refused: what model_check and run_open refuse, `init` of
 * other sizes, no memory. */
bool trainer_open(Trainer *trainer, const Request *request, const Corpus *corpus,
                  const Checkpoint *init, const Progress *progress, Error *err);
void trainer_close(Trainer *trainer);

/* Takes a step, and evaluates if it is time. Refused: a loss or gradient that is no longer a
 * number. The trainer then cannot go on. */
bool trainer_step(Trainer *trainer, Error *err);

/* Are all steps taken? */
bool trainer_done(const Trainer *trainer);

/* Sets after how many steps it ends, which the rates follow. */
void trainer_set_steps(Trainer *trainer, int steps);

/* Writes the weights, the moments and the settings to the file `path`: a state, which ./train
 * --resume continues, and a checkpoint for all else that reads one. */
bool trainer_save(Trainer *trainer, const char *path, Error *err);

#endif
