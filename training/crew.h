/* crew.h - a model in training, alone or on several processes (base/world.h).
 *
 * The first process leads: it alone reads and writes files, talks, and decides what is done next.
 * The others follow: each has a copy of the text and of the model, does its part of whatever the
 * first one calls, and sees no file. Alone, all this is calls of model.h. */
#ifndef TRIL_CREW_H
#define TRIL_CREW_H

#include "base/world.h"
#include "data/data.h"
#include "model/model.h"

typedef struct {
    Run *run; /* the caller may use it for what is not shared: text to read along */
    Model *model;
    RunOptions options;
    const int32_t *ids; /* the text */
    size_t train;       /* so many of its ids are trained on */
    int32_t *inputs, *targets;
    /* of the steps so far: how many, how long they took, and what was sent and waited for */
    int steps;
    double seconds;
    Traffic traffic;
} Crew;

/* All processes, before all else: are they of the same program? Refused: another one, or another
 * build, among them. */
bool crew_meet(Error *err);

/* Gives the others a copy of the text. Once, before crew_open. Refused: no memory, of any process.
 */
bool crew_hand_out(const Corpus *corpus, Error *err);

/* Gives the others a copy of the model and opens a run of it on each; one crew at a time. The model
 * is borrowed, and so is the corpus, which was handed out. Refused: no memory, of any process, or
 * other kernels than the first one's, which would round otherwise. On failure there is nothing to
 * close. */
bool crew_open(Crew *crew, Model *model, const RunOptions *options, const Corpus *corpus,
               Error *err);
void crew_close(Crew *crew);

/* Goes on after `step` updates, with the moments of then: run_restore for all. */
void crew_restore(Crew *crew, uint64_t step, const float *first_moments,
                  const float *second_moments);

typedef struct {
    double loss; /* of the batch, before the step */
    double norm; /* of the gradient; NaN where the loss is not finite, and no step was taken */
} Step;

/* Batch number `step` forward, its loss backward, and an update. */
Step crew_step(Crew *crew, uint64_t step, const Optimizer *optimizer);

/* run_evaluate on `count` ids of the text from `from` on; NaN if a person interrupted it for the
 * second time (training/interruption.h). Refused: weights that are not the same on
 * all processes, as they are if memory, messages and programs are sound. */
bool crew_evaluate(Crew *crew, size_t from, size_t count, size_t every, double *loss, Error *err);

/* Has the run's moments complete here, as they are to be saved. */
void crew_collect(Crew *crew);

/* What the other processes call instead of all that: returns when the first one has ended. */
void crew_follow(void);

/* The first one ends, whatever it has been doing. */
void crew_dismiss(void);

#endif
